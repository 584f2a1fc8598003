/* Spill files: bytes that leave memory and come back unchanged, or with an error. */
#ifndef TN_SPILL_H
#define TN_SPILL_H

#include "base/base.h"

/* A file of one workspace.  It has no name from the moment it is open, so that nothing is left
 * behind however the process ends. */
typedef struct tn_i_spill_file {
    const char *dir;
    int fd;       /* -1: not open */
    int reason;   /* errno of the open that failed */
    long process; /* that opened it: a child of it needs a file of its own */
} tn_i_spill_file;

#define TN_I_SPILL_TEXT 512

/* Leaves fd -1 and a reason when it fails. */
void tn_i_spill_open(tn_i_spill_file *s, const char *dir);
void tn_i_spill_close(tn_i_spill_file *s);
/* In a child of the process that opened it: opens another, which the two do not share. */
void tn_i_spill_mine(tn_i_spill_file *s);
/* Why the file could not be opened. */
void tn_i_spill_reason(const tn_i_spill_file *s, char why[TN_I_SPILL_TEXT]);

/* n bytes at an offset, with a checksum of what they are and where; false with a reason. */
bool tn_i_spill_write(const tn_i_spill_file *s, uint64_t at, const void *data, size_t n, uint64_t *sum,
                      char why[TN_I_SPILL_TEXT]);
bool tn_i_spill_read(const tn_i_spill_file *s, uint64_t at, void *data, size_t n, uint64_t sum,
                     char why[TN_I_SPILL_TEXT]);
/* Says that these bytes will be read soon. */
void tn_i_spill_ahead(const tn_i_spill_file *s, uint64_t at, size_t n);

#endif
