/* Reading the text of loop programs: what parse_tokens.c has for parse.c. */
#ifndef TN_LOOPS_PARSE_H
#define TN_LOOPS_PARSE_H

#include "ir/lex.h"
#include "loop/inside.h"

typedef struct tn_i_read_name {
    const char *name; /* interned */
    uint32_t k;
} tn_i_read_name;

typedef struct tn_i_reader {
    tn_ctx *ctx;
    const char *file;
    tn_i_lexer lexer;
    tn_i_token token; /* not yet read */
    tn_i_l_builder b;
    tn_i_read_name *slot; /* a hash table */
    size_t nslot, nbound;
    const tn_i_l_kernel *kernel;
    size_t nkernel;
} tn_i_reader;

/* After an error (b.failed) nothing is read any more, and functions return anything. */
bool tn_i_read_wrong(tn_i_reader *z, const char *fmt, ...) /* at the token; false */
#ifdef __GNUC__
    __attribute__((format(printf, 2, 3)))
#endif
    ;
void tn_i_read_advance(tn_i_reader *z);
bool tn_i_read_next_is(const tn_i_reader *z, const char *word);
bool tn_i_read_accept(tn_i_reader *z, const char *word);
bool tn_i_read_expect(tn_i_reader *z, const char *word);
const char *tn_i_read_word(tn_i_reader *z, const char *what); /* interned */
int64_t tn_i_read_integer(tn_i_reader *z);
int64_t tn_i_read_integer_in(tn_i_reader *z, int64_t lo, int64_t hi);
uint64_t tn_i_read_number(tn_i_reader *z, int dtype);
int tn_i_read_one_of(tn_i_reader *z, const char *what, int n, const char *(*name)(int i));

void tn_i_read_bind(tn_i_reader *z, const char *name, uint32_t k);
uint32_t tn_i_read_named(tn_i_reader *z, const char *what);
uint32_t tn_i_read_value(tn_i_reader *z);
uint32_t tn_i_read_array_named(tn_i_reader *z);

/* What else may stand in an affine expression: clamp(value, last), where that is told, or a value. */
typedef struct tn_i_read_index {
    uint32_t value; /* TN_L_NONE: none */
    int64_t by, last;
} tn_i_read_index;
tn_i_affine tn_i_read_affine(tn_i_reader *z, tn_i_read_index *x, bool clamps);

#endif
