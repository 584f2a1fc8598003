/* Sets of columns: what elements of values depend on, with the coefficients that are known.
 *
 * A value's pattern is an array of row numbers, one an element, of one table that all values share: a move copies
 * numbers and touches no row, a row that is broadcast is one row.  Rows are immutable; row 0 is empty. */
#ifndef TN_ROWS_H
#define TN_ROWS_H

#include "base/base.h"

/* Rows that have columns of their own have them one after the other, in the order of the rows; others share those of a
 * row before them. */
typedef struct tn_i_set_row {
    int64_t at;      /* its columns, ascending, begin at col[at] */
    int64_t value;   /* its coefficients begin at value[value]; -1: none is known */
    int32_t n;       /* columns */
    int32_t varying; /* the row of the same columns without coefficients; 0: not made yet */
} tn_i_set_row;

/* What was made of two rows lately. */
typedef struct tn_i_row_pair {
    int32_t a, b, row;
    uint32_t of; /* 0: of none; TN_I_UNION; a higher number: of one equation, with its coefficients */
} tn_i_row_pair;
enum { TN_I_UNION = 1, TN_I_PAIR_BITS = 10 };

typedef struct tn_i_rowset {
    tn_ctx *ctx;
    int64_t columns;
    int64_t limit; /* entries that one equation may make */
    size_t mark;   /* what there was before this equation */
    bool full;     /* it made more */
    tn_i_set_row *row;
    int32_t *col;
    double *value; /* NaN: varies, or its value is not known */
    size_t nrow, ncol, nvalue, crow, ccol, cvalue;
    tn_i_row_pair *pair; /* 2^TN_I_PAIR_BITS of them, by tn_i_row_pair_of */
    uint32_t equation;   /* the last number of one */
    /* for sums: which columns were seen, by a number that grows, and their coefficients */
    uint32_t *seen, stamp;
    double *sum;
    int32_t *list;
} tn_i_rowset;

/* columns: at most INT32_MAX - 1; elements: about as many will get rows. */
bool tn_i_rowset_init(tn_i_rowset *s, tn_ctx *c, int64_t columns, int64_t elements, int64_t limit);
void tn_i_rowset_free(tn_i_rowset *s);

/* All of these: -1 after an error (or with s->full). */

/* The row of one column with coefficient 1. */
int32_t tn_i_row_unit(tn_i_rowset *s, int64_t column);
/* The same columns without coefficients. */
int32_t tn_i_row_varying(tn_i_rowset *s, int32_t r);
/* The union without coefficients; one of the two where that has all columns. */
int32_t tn_i_row_union(tn_i_rowset *s, int32_t a, int32_t b);
/* Either of n rows; steps of 0 take the first one again and again.  false after an error. */
bool tn_i_row_varying_all(tn_i_rowset *s, int64_t n, const int32_t *r, int64_t step, int32_t *to);
bool tn_i_row_union_all(tn_i_rowset *s, int64_t n, const int32_t *a, int64_t astep, const int32_t *b, int64_t bstep,
                        int32_t *to);

/* Where what is made of a and b is kept. */
static inline tn_i_row_pair *tn_i_row_pair_of(const tn_i_rowset *s, int32_t a, int32_t b) {
    const uint32_t h = ((uint32_t)a * 2654435761u ^ (uint32_t)b) * 2246822519u;
    return &s->pair[h >> (32 - TN_I_PAIR_BITS)];
}
static inline bool tn_i_row_pair_is(const tn_i_row_pair *p, int32_t a, int32_t b, uint32_t of) {
    return p->a == a && p->b == b && p->of == of;
}
/* A number for the pairs of one equation. */
uint32_t tn_i_row_equation(tn_i_rowset *s);
/* Rows have other numbers now. */
void tn_i_row_pairs_forget(tn_i_rowset *s);

/* Room for a row of up to n columns, and coefficients, behind those there are; then the row of the first n of them. */
bool tn_i_row_room(tn_i_rowset *s, int64_t n, bool values);
int32_t tn_i_row_push(tn_i_rowset *s, int64_t n, bool values);
/* The columns of r with n coefficients of their own, which tn_i_row_room has made room for. */
int32_t tn_i_row_valued(tn_i_rowset *s, int32_t r);

/* A sum of rows: begin, add.., end.  `exact`: keeps coefficients, which are rounded to f32 with `narrow`. */
typedef struct tn_i_row_sum {
    tn_i_rowset *s;
    int32_t n, first; /* columns so far; the row while there is one only */
    bool exact, narrow, several;
} tn_i_row_sum;
bool tn_i_row_sum_begin(tn_i_row_sum *k, tn_i_rowset *s, bool exact, bool narrow);
void tn_i_row_sum_add(tn_i_row_sum *k, int32_t r, double factor); /* factor NaN: varies */
int32_t tn_i_row_sum_end(tn_i_row_sum *k);

#endif
