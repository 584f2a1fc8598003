/* Index vectors of several entries as one index: where they place windows by the first dimensions of an array alone,
 * these are one dimension, of which an entry is computed by loops of all windows together.  Kernels have a loop for one
 * index, and what is gathered by one a nest can compute (lookup.c).
 *
 *     gather, scatter, scatter_add .. of x[m, n, ..] at (i, j)        the same of x[m n, ..] at i n + j
 *
 * Dimensions of a window that have one element there, at an index, are left out of it.
 *
 * Of few windows the kernels' loops are parts of others (lower/windows.c), and an array that is written in place stays
 * what it is. */
#include "base/machine.h"
#include "opt/fuse.h"
#include "opt/lookup.h"
#include "opt/space.h"
#include "prims/ids.h"
#include "prims/rules.h"
#include "prims/arrays/windows.h"

#include <string.h>

/* Of gather; a scatter has its own (prims/arrays/windows.h), the same first one. */
enum { DNUMS, SIZES, MODE, FILL };

static bool places_windows(const tn_i_eqn *e) {
    switch (e->prim->id) {
    case TN_P_gather:
    case TN_P_scatter:
    case TN_P_scatter_add:
    case TN_P_scatter_mul:
    case TN_P_scatter_min:
    case TN_P_scatter_max: return true;
    default: return false;
    }
}

/* Window sizes of e by dimensions of x, its array, and the type of all windows. */
static const tn_type *windows_of(const tn_fn *f, const tn_i_eqn *e, const tn_i_dnums *d, int64_t *sizes) {
    const tn_type *x = f->val[tn_i_in(f, e)[0]].type;
    if (e->prim->id == TN_P_gather) {
        memcpy(sizes, tn_i_p(e)[SIZES].u.ints, (size_t)x->rank * sizeof *sizes);
        return f->val[e->out].type;
    }
    const tn_type *windows = f->val[tn_i_in(f, e)[2]].type;
    tn_i_window_sizes(d, x, windows, sizes);
    return windows;
}

/* Of the first dimensions of the array, those that index vectors have entries of, and where windows have one element;
 * how many elements they have.  0: they are other ones, or there is nothing to do. */
static int64_t indexed(const tn_type *x, const tn_i_dnums *d, const int64_t *sizes, int dtype) {
    const uint32_t m = d->n[TN_MAP];
    int64_t n = 1;
    bool some = m > 1;
    for (uint32_t c = 0; c < m; c++) {
        if (d->v[TN_MAP][c] >= (int64_t)m || sizes[c] != 1 || x->dim[c] < 1 || !tn_i_mul_i64(n, x->dim[c], &n))
            return 0;
        some |= tn_i_in_window(d, c);
    }
    return !some || (dtype == TN_I32 && n > INT32_MAX) ? 0 : n;
}

static bool is_flattened(const tn_fn *f, const tn_i_eqn *e, tn_i_dnums *d, int64_t *sizes) {
    if (!places_windows(e) || !tn_i_space_admits(f, e)) return false;
    const tn_i_var *in = tn_i_in(f, e);
    for (uint32_t i = 0; i < e->nin; i++)
        if (f->val[in[i]].type->varying) return false;
    tn_i_dnums_read(d, &tn_i_p(e)[DNUMS]);
    const tn_type *indices = f->val[in[1]].type;
    const int64_t m = d->n[TN_MAP];
    if (m == 0 || d->n[TN_OPERAND_BATCH]) return false;
    (void)windows_of(f, e, d, sizes);
    if (!indexed(f->val[in[0]].type, d, sizes, indices->dtype)) return false;
    return e->prim->id != TN_P_gather || tn_i_in_a_row(f, in[0]); /* a scatter's result is a copy */
}

/* x as type t, in which some of its dimensions are one; one number everywhere, as mostly in derivatives, is that. */
static tn_i_var flattened(tn_i_builder *b, tn_i_var x, const tn_type *t) {
    const tn_i_eqn *e = tn_i_def(b, x);
    if (e && e->prim->id == TN_P_broadcast_in_dim && tn_i_vtype(b, b->pool[e->in])->rank == 0)
        return tn_i_broadcast(b, b->pool[e->in], t->rank, t->dim, NULL);
    return tn_i_reshape(b, x, t->rank, t->dim);
}

/* Those of windows that go without the first m dimensions of x, and the type of these windows. */
static tn_i_dnums without(const tn_i_dnums *d, int rank, const tn_type *windows, tn_type *t) {
    tn_i_dnums z = *d;
    const int64_t m = d->n[TN_MAP];
    bool gone[TN_MAX_RANK] = {false};
    uint32_t j = 0;
    z.n[TN_WINDOW] = 0;
    for (int i = 0; i < rank; i++) {
        if (!tn_i_in_window(d, i)) continue;
        if (i < (int)d->n[TN_MAP])
            gone[d->v[TN_WINDOW][j]] = true;
        else
            z.v[TN_WINDOW][z.n[TN_WINDOW]++] = d->v[TN_WINDOW][j];
        j++;
    }
    *t = (tn_type){.dtype = windows->dtype};
    for (int k = 0; k < windows->rank; k++)
        if (!gone[k]) t->dim[t->rank++] = windows->dim[k];
    for (uint32_t k = 0; k < z.n[TN_WINDOW]; k++) {
        int64_t before = 0;
        for (int64_t i = 0; i < z.v[TN_WINDOW][k]; i++) before += gone[i];
        z.v[TN_WINDOW][k] -= before;
    }
    z.n[TN_COLLAPSED] = z.n[TN_MAP] = 1;
    z.v[TN_COLLAPSED][0] = z.v[TN_MAP][0] = 0;
    for (uint32_t k = 0; k < d->n[TN_COLLAPSED]; k++) /* others, of which windows have the first element */
        if (d->v[TN_COLLAPSED][k] >= m) z.v[TN_COLLAPSED][z.n[TN_COLLAPSED]++] = d->v[TN_COLLAPSED][k] - m + 1;
    return z;
}

/* One index of each vector, as index vectors of one entry. */
static tn_i_var one_index(tn_i_builder *b, const tn_type *x, const tn_i_dnums *d, const int64_t *sizes,
                          tn_i_var indices, bool clips) {
    tn_type first = {.rank = (int)d->n[TN_MAP]};
    int64_t stride[TN_MAX_RANK];
    memcpy(first.dim, x->dim, d->n[TN_MAP] * sizeof *x->dim);
    tn_i_dense_strides(&first, stride);
    const tn_i_var index = tn_i_flat_index(b, x, sizes, stride, d, indices, clips);
    tn_type t = *tn_i_vtype(b, index);
    t.dim[t.rank] = 1;
    return tn_i_reshape(b, index, t.rank + 1, t.dim);
}

/* Of type x, with one dimension for the first `m`. */
static tn_type merged(const tn_type *x, uint32_t m, int64_t n) {
    tn_type t = {.dtype = x->dtype, .rank = x->rank - (int)m + 1, .dim = {n}};
    for (int k = 1; k < t.rank; k++) t.dim[k] = x->dim[k + (int)m - 1];
    return t;
}

static bool put(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, tn_i_var *map, const void *with) {
    const tn_i_var *in = tn_i_in(f, e);
    const tn_i_param *p = tn_i_p(e);
    int64_t sizes[TN_MAX_RANK] = {0};
    tn_i_dnums d;
    tn_type w;
    (void)with;
    if (!is_flattened(f, e, &d, sizes)) return false;
    const bool gathers = e->prim->id == TN_P_gather, clips = gathers ? p[MODE].u.i != TN_FILL : tn_i_scatter_clips(p);
    const uint32_t m = d.n[TN_MAP];
    const tn_type x = *f->val[in[0]].type, *windows = windows_of(f, e, &d, sizes);
    const tn_type t = merged(&x, m, indexed(&x, &d, sizes, f->val[in[1]].type->dtype));
    const tn_i_dnums one = without(&d, x.rank, windows, &w);
    const tn_i_var index = one_index(b, &x, &d, sizes, tn_i_mapped(b, f, map, in[1]), clips);
    const tn_i_var flat = flattened(b, tn_i_mapped(b, f, map, in[0]), &t);
    if (gathers) {
        const tn_i_var y = tn_i_gather(b, flat, index, &one, sizes + m - 1, (int)p[MODE].u.i, &p[FILL]);
        map[e->out] = tn_i_reshape(b, y, windows->rank, windows->dim);
        return true;
    }
    const tn_i_var u = tn_i_reshape(b, tn_i_mapped(b, f, map, in[2]), w.rank, w.dim);
    map[e->out] = tn_i_reshape(b, tn_i_scatter_alike(b, e, flat, index, u, &one), x.rank, x.dim);
    return true;
}

tn_fn *tn_i_flat_indices(const tn_fn *f) {
    tn_i_dnums d;
    int64_t sizes[TN_MAX_RANK];
    bool any = false;
    for (uint32_t i = 0; i < f->neqn && !any; i++) any = is_flattened(f, &f->eqn[i], &d, sizes);
    return any ? tn_i_rewritten(f, NULL, f->neqn, put, NULL) : (tn_fn *)(uintptr_t)tn_i_fn_ref(f);
}
