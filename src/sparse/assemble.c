#include "sparse/assemble.h"

#include "prims/ids.h"
#include "prims/arrays/shape.h"

#include <string.h>

tn_i_var tn_i_positions(tn_i_builder *b, int64_t n, const int64_t *at, int64_t bound) {
    tn_ctx *c = b->ctx;
    const bool narrow = bound <= INT32_MAX;
    const tn_type t = {.dtype = narrow ? TN_I32 : TN_I64, .rank = 2, .dim = {n, 1}};
    if (b->failed) return TN_NOVAR;
    if (!narrow) return tn_i_constant(b, &t, at);
    int32_t *small = tn_i_alloc_array(c, (size_t)n, sizeof *small);
    tn_i_var k = TN_NOVAR;
    if (small) {
        for (int64_t i = 0; i < n; i++) small[i] = (int32_t)at[i];
        k = tn_i_constant(b, &t, small);
    } else
        b->failed = true;
    tn_i_free(c, small, (size_t)n * sizeof *small);
    return k;
}

static const tn_i_dnums BY_ELEMENT = {.n = {[TN_COLLAPSED] = 1, [TN_MAP] = 1}};

tn_i_var tn_i_taken(tn_i_builder *b, tn_i_var x, int64_t n, const int64_t *at) {
    static const int64_t one = 1;
    if (b->failed) return TN_NOVAR;
    const tn_i_var indices = tn_i_positions(b, n, at, tn_i_vtype(b, x)->dim[0]);
    return tn_i_gather(b, x, indices, &BY_ELEMENT, &one, TN_CLIP, NULL);
}

tn_i_var tn_i_added_into(tn_i_builder *b, tn_i_var u, tn_i_var x, const int64_t *into) {
    if (b->failed) return TN_NOVAR;
    const int64_t n = tn_i_vtype(b, x)->dim[0], bound = tn_i_vtype(b, u)->dim[0];
    return tn_i_scatter_add(b, u, tn_i_positions(b, n, into, bound), x, &BY_ELEMENT, false);
}

/* ---- values ------------------------------------------------------------------------------------------ */

typedef struct assembly {
    tn_i_builder *b;
    const tn_type *t;
    tn_i_var x;
    int64_t n, size; /* values, elements of x */
    const int64_t *at;
    const void *constant;
} assembly;

static bool in_place(const assembly *a) {
    if (a->n != a->size) return false;
    for (int64_t k = 0; k < a->n; k++)
        if (a->at[k] != k) return false;
    return true;
}

static bool adds(const assembly *a) {
    if (!a->constant) return false;
    for (int64_t k = 0; k < a->n; k++)
        if (tn_i_element(a->t->dtype, (const char *)a->constant + k * (int64_t)tn_i_dtype_size(a->t->dtype)) != 0)
            return true;
    return false;
}

static int64_t taken(const assembly *a) {
    int64_t n = 0;
    for (int64_t k = 0; k < a->n; k++) n += a->at[k] >= 0;
    return n;
}

/* Where each element of x goes, n: nowhere; false: one goes to two places. */
static bool inverted(const assembly *a, int64_t *into) {
    for (int64_t i = 0; i < a->size; i++) into[i] = a->n;
    for (int64_t k = 0; k < a->n; k++) {
        if (a->at[k] < 0) continue;
        if (into[a->at[k]] < a->n) return false;
        into[a->at[k]] = k;
    }
    return true;
}

/* Few of many values are computed: they are added where they stand. */
static tn_i_var added(const assembly *a, tn_i_var constants) {
    int64_t *into = tn_i_alloc_array(a->b->ctx, (size_t)a->size, sizeof *into);
    tn_i_var v = TN_NOVAR;
    if (!into)
        a->b->failed = true;
    else if (inverted(a, into))
        v = tn_i_added_into(a->b, constants, a->x, into);
    tn_i_free(a->b->ctx, into, (size_t)a->size * sizeof *into);
    return v;
}

/* ---- rows that are alike ------------------------------------------------------------------------------- */

enum { LONGEST_ROW = 64, FEWEST_ROWS = 16 };

/* at[q * length + j] = at[j] + q * step. */
static bool repeats(const assembly *a, int64_t length, int64_t step) {
    for (int64_t k = length; k < a->n; k++)
        if (a->at[k] != a->at[k - length] + step) return false;
    return true;
}

/* The length of such rows, 0: there are none. */
static int64_t row_length(const assembly *a, int64_t *step) {
    for (int64_t length = 1; length <= LONGEST_ROW && length * FEWEST_ROWS <= a->n; length++) {
        *step = a->at[length] - a->at[0];
        if (a->n % length == 0 && *step > 0 && repeats(a, length, *step)) return length;
    }
    return 0;
}

/* Each place in the row is a slice: loops that know where everything goes, and no indices. */
static tn_i_var by_slices(const assembly *a, int64_t length, int64_t step) {
    tn_i_builder *b = a->b;
    const int64_t rows = a->n / length, column[2] = {rows, 1};
    tn_i_var part[LONGEST_ROW];
    for (int64_t j = 0; j < length; j++) {
        const int64_t start = a->at[j], limit = start + (rows - 1) * step + 1;
        part[j] = tn_i_reshape(b, tn_i_slice(b, a->x, &start, &limit, step == 1 ? NULL : &step), 2, column);
    }
    const tn_i_var all = length == 1 ? part[0] : tn_i_concatenate(b, (uint32_t)length, part, 1);
    return tn_i_reshape(b, all, 1, &a->n);
}

/* x at its places, 0 elsewhere. */
static tn_i_var gathered(const assembly *a) {
    static const int64_t one = 1;
    int64_t step;
    const int64_t length = taken(a) == a->n ? row_length(a, &step) : 0;
    if (length) return by_slices(a, length, step);
    if (taken(a) == a->n) return tn_i_taken(a->b, a->x, a->n, a->at);
    if (a->b->failed) return TN_NOVAR;
    return tn_i_gather(a->b, a->x, tn_i_positions(a->b, a->n, a->at, a->size), &BY_ELEMENT, &one, TN_FILL,
                       &tn_i_fill_zero);
}

tn_i_var tn_i_assembled(tn_i_builder *b, const tn_type *t, tn_i_var x, const int64_t *at, const void *constant) {
    if (b->failed) return TN_NOVAR;
    assembly a = {.b = b, .t = t, .x = x, .n = t->dim[0], .at = at, .constant = constant};
    if (x != TN_NOVAR) a.size = tn_i_vtype(b, x)->dim[0];
    const bool some = adds(&a);
    if (!taken(&a)) return some ? tn_i_constant(b, t, constant) : tn_i_zeros(b, t);
    if (!some) return in_place(&a) ? x : gathered(&a);
    const tn_i_var constants = tn_i_constant(b, t, constant);
    const tn_i_var v = a.size <= a.n / 2 ? added(&a, constants) : TN_NOVAR;
    return v != TN_NOVAR || b->failed ? v : tn_i_op2(b, TN_P_add, gathered(&a), constants);
}
