/* Matrices that are something else at one element of a row, the hot element: what one_hot.c, one_hot_sets.c and
 * one_hot_at.c share.
 */
#ifndef TN_ONE_HOT_H
#define TN_ONE_HOT_H

#include "opt/fuse.h"

/* A constant's and a value's runs, and at most what parts of such come to. */
enum {
    TN_ONE_HOT_RUNS = 4,
    TN_ONE_HOT_MORE_RUNS = 2 * TN_ONE_HOT_RUNS + 2,
    TN_ONE_HOT_OPERANDS = 8,
    TN_ONE_HOT_FACTS = 64
};

/* ---- sets of hot elements (one_hot_sets.c) ------------------------------------------------------------- */

/* Rows whose hot elements are each one column further than the one before, or that have none. */
typedef struct tn_i_one_hot_run {
    int64_t first, count, column; /* -1: none */
} tn_i_one_hot_run;

/* At most one hot element in a row, and in a column; runs cover all rows, and none could be joined with the next. */
typedef struct tn_i_one_hot_set {
    int64_t rows, columns;
    uint32_t n;
    tn_i_one_hot_run run[TN_ONE_HOT_MORE_RUNS];
} tn_i_one_hot_set;

/* Each false where a row or a column would have several hot elements, or there would be too many runs.
 * The elements of a constant matrix that are not 0; false, too, where there is none. */
bool tn_i_one_hot_of_constant(const tn_type *t, const void *data, tn_i_one_hot_set *out);
/* The hot elements of both, of one shape. */
bool tn_i_one_hot_of_both(const tn_i_one_hot_set *a, const tn_i_one_hot_set *b, tn_i_one_hot_set *out);
/* Those of a matrix that lies in one of rows x columns, its first element at (row, column), or outside. */
bool tn_i_one_hot_placed(const tn_i_one_hot_set *a, int64_t row, int64_t column, int64_t rows, int64_t columns,
                         tn_i_one_hot_set *out);
bool tn_i_one_hot_turned(const tn_i_one_hot_set *a, tn_i_one_hot_set *out);
bool tn_i_one_hot_same(const tn_i_one_hot_set *a, const tn_i_one_hot_set *b);
/* The column of the hot element in a row; -1: none. */
int64_t tn_i_one_hot_column(const tn_i_one_hot_set *a, int64_t row);

/* ---- programs ---------------------------------------------------------------------------------- */

/* Elements of matrices elsewhere: element (i, j) is (i - row[k], j - column[k]) of operand in[k], if that is one of it,
 * (j, i) of it where `turned`. */
typedef struct tn_i_one_hot_moves {
    uint32_t n;
    tn_i_var in[TN_ONE_HOT_OPERANDS];
    int64_t row[TN_ONE_HOT_OPERANDS], column[TN_ONE_HOT_OPERANDS];
    bool turned;
    bool added;    /* operand 1 is added to operand 0 */
    uint64_t fill; /* what is in no operand */
} tn_i_one_hot_moves;

typedef struct tn_i_one_hot_pattern {
    tn_i_one_hot_set set;
    tn_i_var column; /* of each element: where its row's hot element is */
    tn_i_var here;   /* whether it is one, for nests that are made together */
    tn_i_var *at;    /* of each value: a vector of what it is at the hot elements, a row each */
} tn_i_one_hot_pattern;

typedef struct tn_i_one_hot {
    const tn_fn *f;
    tn_i_builder *b;
    uint8_t *live;    /* of each equation */
    uint8_t *of;      /* of each value: the pattern that it is computed of, plus 1; 0: none, or all of it is needed */
    uint8_t *zero;    /* of these: it is 0 where there are no hot elements; of others: everywhere */
    uint16_t *deep;   /* of each value: it can be had at hot elements, by as many steps; 0: it cannot */
    uint8_t *waits;   /* of each value: it is written when it is wanted, behind as many others; 0: in its place */
    tn_i_var *wanted; /* values that are computed of a pattern, and that other equations, or outputs, read */
    uint32_t nwanted, next;
    tn_i_var *map;  /* all of a value */
    tn_i_var *rest; /* what it is where there are no hot elements */
    tn_i_one_hot_pattern *pattern;
    size_t npattern, cpattern;
} tn_i_one_hot;

static inline const tn_i_eqn *tn_i_one_hot_def(const tn_i_one_hot *s, tn_i_var v) {
    const uint32_t def = s->f->val[v].def;
    return def < s->f->neqn ? &s->f->eqn[def] : NULL;
}

static inline const tn_type *tn_i_one_hot_type(const tn_i_one_hot *s, tn_i_var v) { return s->f->val[v].type; }

/* The number of a pattern; false after TN_ENOMEM. */
bool tn_i_one_hot_pattern_of(tn_i_one_hot *s, const tn_i_one_hot_set *set, uint32_t *number);
bool tn_i_one_hot_elementwise(const tn_i_eqn *e);
/* Whether e does no more than this. */
bool tn_i_one_hot_moved(const tn_i_one_hot *s, const tn_i_eqn *e, tn_i_one_hot_moves *m);
/* All of a value, in the new program. */
tn_i_var tn_i_one_hot_whole(tn_i_one_hot *s, tn_i_var v);

/* Whether v, whose operands have been asked for, can be had at hot elements, and by how many steps (one_hot_at.c). */
uint16_t tn_i_one_hot_deep(const tn_i_one_hot *s, tn_i_var v);
/* What v, of which that is so, is at the hot elements of a pattern. */
tn_i_var tn_i_one_hot_at(tn_i_one_hot *s, uint32_t number, tn_i_var v);

#endif
