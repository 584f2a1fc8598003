/* Zip archives whose members are stored as they are, as numpy.savez writes them, in memory and below 4 GiB. */
#ifndef TN_STRUCTS_ZIP_H
#define TN_STRUCTS_ZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The CRC of zip of n more bytes behind those of which it is `crc`; of none it is 0. */
uint32_t tn_i_crc32(uint32_t crc, const void *bytes, size_t n);

/* A member of an archive. */
typedef struct tn_i_zip_entry {
    uint32_t crc, size, at; /* at: of its header, from the archive's beginning */
} tn_i_zip_entry;

/* What stands in front of a member's bytes, without its name; what the directory has of it, likewise; and its end, for
 * n members and a directory of `size` bytes from `at` on.  They return how many bytes they wrote. */
enum { TN_I_ZIP_MOST = 46 };
size_t tn_i_zip_local(unsigned char *out, const tn_i_zip_entry *e, size_t name);
size_t tn_i_zip_central(unsigned char *out, const tn_i_zip_entry *e, size_t name);
size_t tn_i_zip_end(unsigned char *out, size_t n, uint32_t size, uint32_t at);

/* An archive that is read, member by member; a *why says what is wrong with it. */
typedef struct tn_i_zip {
    const unsigned char *file;
    size_t size, at; /* at: in its directory */
    size_t n;        /* members */
} tn_i_zip;
/* A member as it lies in the archive. */
typedef struct tn_i_zip_member {
    const char *name; /* `length` bytes, no zero behind them */
    size_t length;
    const unsigned char *data;
    size_t size;
    uint32_t crc; /* that its bytes should have */
} tn_i_zip_member;
bool tn_i_zip_open(tn_i_zip *z, const void *file, size_t size, const char **why);
/* The next of z->n members. */
bool tn_i_zip_next(tn_i_zip *z, tn_i_zip_member *m, const char **why);

#endif
