/* Dense arrays and the memory they live in, comparison, and random data. */
#ifndef LAWS_ARRAY_H
#define LAWS_ARRAY_H

#include "prims/prim.h"

/* Memory of one trial: released together. */
typedef struct laws_memory {
    struct laws_block *block;
    size_t used;
} laws_memory;

void *laws_alloc(laws_memory *m, size_t count, size_t size); /* zeroed */
void laws_release(laws_memory *m);                           /* everything; keeps room for more */
void laws_memory_drop(laws_memory *m);

typedef struct laws_array {
    tn_type type;
    void *data; /* row-major */
} laws_array;

laws_array laws_new(laws_memory *m, const tn_type *t);
/* An array with a dimension `?`, as the reference made it: moved into this memory. */
void laws_own_tree(laws_memory *m, laws_array *a);
laws_array laws_copy(laws_memory *m, const laws_array *a);
static inline size_t laws_bytes(const laws_array *a) { return tn_type_bytes(&a->type); }
static inline int64_t laws_count(const laws_array *a) { return tn_i_count(&a->type); }
static inline bool laws_is_float(const laws_array *a) { return tn_i_is_float(a->type.dtype); }

double laws_get(const laws_array *a, int64_t i);
void laws_put(laws_array *a, int64_t i, double x);

/* Floats uniform in [-1, 1] (rounded to the dtype); other dtypes zero. */
void laws_random(tn_i_rng *r, laws_array *a);
/* The same numbers as an f64 array; other dtypes shared. */
laws_array laws_widened(laws_memory *m, const laws_array *a);

/* First element whose bits differ (NaNs are equal), or -1. */
int64_t laws_bits_differ(const laws_array *a, const laws_array *b);
/* First element of a float array with |a - b| > tolerance * max(|a|, |b|, floor), or -1; equal
 * infinities and two NaNs agree.  Other dtypes: as above. */
int64_t laws_values_differ(const laws_array *a, const laws_array *b, double tolerance, double floor);
/* The same with |a - b| > slack besides, an f64 array (NULL: 0). */
int64_t laws_values_differ_more(const laws_array *a, const laws_array *b, double tolerance, double floor,
                                const laws_array *slack);
/* <a, b>, and the sum of the terms' sizes in *scale. */
double laws_dot(const laws_array *a, const laws_array *b, double *scale);
bool laws_finite(const laws_array *a);
/* Largest size of an element. */
double laws_largest(const laws_array *a);

#endif
