/* overlap_add of a product that is not there yet: windows of one operand times the other, backwards.
 *
 * What a product of windows and a kernel has for a cotangent is, window by window, the cotangent of the result times
 * the kernel, overlapping and added up: an array larger than its result by the elements of a window.  With sum over k
 * of x[h - k] y[k] = sum over k of windows(pad(x))[h, k] y[n - 1 - k] it is never there: a product with windows, as the
 * first one was. */
#include "prims/linear/dot.h"
#include "prims/ids.h"
#include "prims/rules.h"
#include "prims/arrays/shape.h"
#include "prims/arrays/sliding.h"

/* Dimension `at` of a product: of which operand, and which of its dimensions; not a batch dimension. */
typedef struct place {
    int side;
    int64_t axis;
} place;

typedef struct found {
    const tn_i_eqn *dot;
    tn_i_dots d;
    tn_i_var in[2];
    place of[TN_MAX_RANK]; /* of each dimension of what is added */
    int over;              /* the operand that dimensions over windows are of; those within are of the other */
    uint32_t n;
    int64_t size[TN_MAX_RANK], dilation[TN_MAX_RANK];
} found;

/* Dimensions of the product in their order: batch, free of operand 0, free of operand 1. */
static void places_of(const tn_i_builder *b, const tn_i_dots *d, const tn_i_var in[2], place *at) {
    int n = 0;
    for (uint32_t i = 0; i < d->nbatch; i++) at[n++] = (place){-1, (int64_t)i};
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < tn_i_vtype(b, in[side])->rank; i++)
            if (!(tn_i_dots_taken(d, side) >> i & 1)) at[n++] = (place){side, i};
}

/* Windows one element apart, all dimensions over them of one operand, those within of the other. */
static bool find(const tn_i_builder *b, const tn_i_param *p, tn_i_var u, found *f) {
    place at[2 * TN_MAX_RANK];
    const int64_t *dims = tn_i_ints(p, 0), rank = tn_i_vtype(b, u)->rank - (int64_t)p[0].n;
    const tn_i_eqn *turn = tn_i_made_by(b, u, TN_P_transpose);
    f->dot = tn_i_made_by(b, turn ? b->pool[turn->in] : u, TN_P_dot_general);
    if (!f->dot || tn_i_p(f->dot)[1].kind != TN_K_NONE) return false;
    for (int side = 0; side < 2; side++) f->in[side] = b->pool[f->dot->in + (uint32_t)side];
    f->d = tn_i_dots_read(tn_i_p(f->dot));
    f->n = p[0].n;
    places_of(b, &f->d, f->in, at);
    for (int i = 0; i < tn_i_vtype(b, u)->rank; i++) f->of[i] = at[turn ? tn_i_ints(tn_i_p(turn), 0)[i] : i];
    f->over = f->of[dims[0]].side;
    for (uint32_t j = 0; j < f->n; j++) {
        f->size[j] = tn_i_ints(p, 1)[j];
        f->dilation[j] = tn_i_ints(p, 3)[j];
        if (tn_i_ints(p, 2)[j] != 1 || f->of[dims[j]].side != f->over || f->of[rank + j].side != 1 - f->over)
            return false;
    }
    return f->over >= 0 && tn_i_vtype(b, f->in[f->over])->rank + (int)f->n <= TN_MAX_RANK;
}

/* Zeros around make more windows: not more than twice as many as there were.  And an element of a window is read for
 * each that is contracted, where before one for each of the kernel's other dimensions was written, read and added. */
static bool pays(const tn_i_builder *b, const tn_i_param *p, tn_i_var u, const tn_type *out, const found *f) {
    double more = 1, contracted = 1, left = 1;
    const tn_type *kernel = tn_i_vtype(b, f->in[1 - f->over]);
    for (uint32_t j = 0; j < f->n; j++) {
        const int64_t i = tn_i_ints(p, 0)[j], n = tn_i_vtype(b, u)->dim[i];
        if (n == 0) return false;
        more *= (double)out->dim[i] / (double)n;
        left /= (double)f->size[j];
    }
    for (uint32_t k = 0; k < f->d.ncontract; k++) contracted *= (double)kernel->dim[f->d.contract[1 - f->over][k]];
    for (int i = 0; i < kernel->rank; i++)
        if (!(tn_i_dots_taken(&f->d, 1 - f->over) >> i & 1)) left *= (double)kernel->dim[i];
    return more <= 2 && (contracted == 1 || 2 * contracted <= left);
}

/* The operand with zeros around, in windows. */
static tn_i_var windows(tn_i_builder *b, const tn_i_param *p, const found *f) {
    const tn_i_var x = f->in[f->over];
    int64_t config[3 * TN_MAX_RANK] = {0};
    tn_i_sliding w = {.n = f->n};
    for (uint32_t j = 0; j < f->n; j++) {
        const int64_t axis = f->of[tn_i_ints(p, 0)[j]].axis, span = (f->size[j] - 1) * f->dilation[j];
        config[3 * axis] = config[3 * axis + 1] = span;
        w.dims[j] = axis;
        w.sizes[j] = f->size[j];
        w.strides[j] = 1;
        w.dilation[j] = f->dilation[j];
    }
    const tn_i_var zero = tn_i_literal_f64(b, tn_i_vtype(b, x)->dtype, 0);
    return tn_i_sliding_windows(b, tn_i_pad(b, x, zero, config), &w);
}

/* Where the dimensions of the result are in the product of windows and kernel. */
static void order(const found *f, const tn_i_builder *b, const tn_i_dots *d, const tn_i_var in[2], int rank,
                  int64_t *perm) {
    place at[2 * TN_MAX_RANK];
    places_of(b, d, in, at);
    for (int i = 0; i < rank; i++)
        for (int k = 0; k < rank; k++)
            if (at[k].side == f->of[i].side && at[k].axis == f->of[i].axis) perm[i] = k;
}

tn_i_var tn_i_overlap_of_product(tn_i_builder *b, const tn_i_param *p, tn_i_var u, const tn_type *out) {
    found f;
    const tn_type to = *out;
    if (p[0].n == 0 || !find(b, p, u, &f) || !pays(b, p, u, out, &f)) return TN_NOVAR;
    const int over = f.over, rank = tn_i_vtype(b, f.in[over])->rank;
    int64_t within[TN_MAX_RANK], perm[TN_MAX_RANK];
    tn_i_var in[2];
    for (uint32_t j = 0; j < f.n; j++) {
        within[j] = f.of[to.rank + (int)j].axis;
        f.d.contract[over][f.d.ncontract] = rank + (int)j;
        f.d.contract[1 - over][f.d.ncontract++] = within[j];
    }
    in[over] = windows(b, p, &f);
    in[1 - over] = tn_i_rev(b, f.in[1 - over], f.n, within);
    if (in[0] == TN_NOVAR || in[1] == TN_NOVAR) return TN_NOVAR;
    order(&f, b, &f.d, in, to.rank, perm);
    return tn_i_permute(b, tn_i_dot_general(b, in[0], in[1], &f.d), perm);
}
