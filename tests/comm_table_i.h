/* What the files of the check of tables share: one collective on its way, between guarded arrays. */
#ifndef TN_COMM_TABLE_I_H
#define TN_COMM_TABLE_I_H

#include "comm_table.h"

#include <stddef.h>

enum { MEMBERS = 64, DTYPES = TN_U32 + 1 };

/* Ranks along a set of axes: how many, which of them this one is, and their places in the whole grid. */
typedef struct group {
    uint32_t axes;
    int ranks, me;
    int64_t world[MEMBERS];
} group;

typedef struct checker {
    const tn_comm_ops *t;
    FILE *log;
    int64_t world, most;
    group g; /* of the axes that are tried now */
    int failures;
    bool stop; /* a collective failed: no other can be tried */
} checker;

/* What operands hold: small numbers whose sums and products are exact, or those that round. */
typedef enum values { EXACT, ROUNDED } values;

typedef struct flight {
    tn_collective x;
    group g;
    values how;
    unsigned char *in, *out; /* behind 64 bytes of guard, in front of as many */
    size_t in_bytes, out_bytes;
    void *request;
    bool begun;
} flight;

group group_of(const checker *q, uint32_t axes);
tn_collective collective(const checker *q, int kind, int dtype, int64_t count);
void wrong(checker *q, const tn_collective *x, const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 3, 4)))
#endif
    ;

size_t dtype_bytes(int dtype);
double element(int dtype, const void *a, int64_t i);
void set_element(int dtype, void *a, int64_t i, double to);
/* What rank m of the group has at i of its operand, and what has to come out at i here, computed in its dtype. */
double operand(const flight *f, int m, int64_t i);
double expected(const flight *f, int64_t i);

/* Begins x; then waits, and compares each element with what is expected: bits where `how` is EXACT or the order of
 * sums is said, else to rounding. */
bool take_off(checker *q, flight *f, const tn_collective *x, values how);
void land(checker *q, flight *f);
void run(checker *q, const tn_collective *x, values how);
/* Moves raw arrays; false after a failure. */
bool exchange(checker *q, const tn_collective *x, const void *in, void *out);
/* All ranks of the group have the same bytes. */
void same_bits(checker *q, const tn_collective *x, const void *p, size_t bytes);

void check_exact_table(checker *q);
void check_numbers(checker *q);
void check_overlap(checker *q);

#endif
