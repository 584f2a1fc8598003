/* Which programs become programs over columns, and what a column is. */
#ifndef TN_COLUMNS_FIT_H
#define TN_COLUMNS_FIT_H

#include "base/machine.h"
#include "prims/prim.h"

/* The most columns of an array, elements of one without long dimensions, and arrays that are joined in one equation. */
enum { MOST_JOINED = 64 };

/* Which dimensions are long: those of at least so many elements or, of a batch, the first one where it has just so
 * many.
 */
typedef struct tn_i_long {
    int64_t least;
    bool batch;
} tn_i_long;
static inline bool tn_i_is_long(tn_i_long l, const tn_type *t, int64_t d) {
    return l.batch ? d == 0 && t->dim[0] == l.least : t->dim[d] >= l.least;
}

/* Whether f becomes a program over columns, and then of which dimensions.  own (zeros so far): of each value, that an
 * equation of columns makes it. */
bool tn_i_columns_fit(const tn_fn *f, uint8_t *own, tn_i_long *l);

/* What may be a batch: the first dimension that most values have; false: none. */
bool tn_i_columns_batch(const tn_fn *f, int64_t *n);

/* A constant, or a literal that is repeated: made again where it is wanted as a whole. */
bool tn_i_columns_constant(const tn_fn *f, tn_i_var v);

/* A gather or scatter of single elements along short dimension `along` of its array, in rows of their own
 * (columns_places.c). */
typedef struct tn_i_row_places {
    int along;
    int8_t walk[TN_MAX_RANK]; /* of each other dimension of the array: the one of the indices that walks it */
    bool clips, fills;        /* indices are held inside; or what others are given is `bits`, as of a literal */
    uint64_t bits;
} tn_i_row_places;
bool tn_i_columns_places(const tn_fn *f, const tn_i_eqn *e, tn_i_long l, tn_i_row_places *p);

/* How many columns an array of type t has; the type of one of them. */
int64_t tn_i_columns_width(const tn_type *t, tn_i_long l);
tn_type tn_i_column_type(const tn_type *t, tn_i_long l);
/* Whether they are few enough. */
bool tn_i_few_columns(const tn_type *t, tn_i_long l);

#endif
