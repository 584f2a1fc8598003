/* One elementwise equation while its rows are made (elementwise.c), with their coefficients (coefficients.c). */
#ifndef TN_SPARSE_ELEMENTWISE_H
#define TN_SPARSE_ELEMENTWISE_H

#include "sparse/walk.h"

enum { TN_I_MOST_FACTORS = 4 };

typedef struct tn_i_elementwise {
    tn_i_spread_eqn *q;
    tn_i_rowset *set;
    uint32_t n, of[TN_I_MOST_FACTORS]; /* operands that depend on columns */
    const int32_t *rows[TN_I_MOST_FACTORS];
    int64_t step[TN_I_MOST_FACTORS];    /* 0: of rank 0, which repeats */
    int32_t *masked[TN_I_MOST_FACTORS]; /* their rows, where some of them count for nothing */
    int64_t count;
    uint32_t linear;                 /* the set of operands that it is jointly linear in, with all of `of` */
    bool uniform[TN_I_MOST_FACTORS]; /* per operand: known, and one number for all elements */
    bool exact, same;                /* coefficients are computed; elements of the same rows have the same row */
    bool arrays;                     /* some factor is not one number */
    bool guessed; /* factors are not known, and 1 stands for them: only what is plain[] has coefficients */
    bool plain[TN_I_MOST_FACTORS];
    /* entries to be computed: those of operand i, of its dtype, and where the results go */
    void *chunk[TN_I_MOST_FACTORS + 1];
    double *entry[TN_I_MOST_FACTORS]; /* of operand of[m] */
    int64_t *element;                 /* of the result, that each is of, where factors are arrays */
    int64_t room, filled, first;      /* values first.. of the set */
} tn_i_elementwise;

static inline bool tn_i_elementwise_linear(const tn_i_elementwise *k, uint32_t i) {
    return k->linear == TN_ALL || (k->linear >> i & 1);
}

void tn_i_store_number(int dtype, void *at, int64_t i, double x); /* of a float dtype */
double tn_i_load_number(int dtype, const void *at, int64_t i);
/* A factor that is not known: one of three numbers that are tried. */
void tn_i_store_guess(int dtype, void *at, int which);

/* Room for entries; to be freed whatever happens. */
bool tn_i_coefficients_begin(tn_i_elementwise *k);
/* The union of the rows id[] of element i; -1 after an error. */
int32_t tn_i_coefficients_row(tn_i_elementwise *k, int64_t i, const int32_t *id);
/* Computes what rows have not got yet. */
bool tn_i_coefficients_flush(tn_i_elementwise *k);
void tn_i_coefficients_free(tn_i_elementwise *k);

#endif
