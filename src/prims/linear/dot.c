/* dot_general: products over any contracting and batch dimensions.  dot_run.c computes them. */
#include "prims/scalar/complex.h"
#include "prims/dims.h"
#include "prims/linear/dot.h"
#include "prims/linear/dot_text.h"
#include "prims/ids.h"
#include "prims/rules.h"
#include "prims/sample.h"
#include "prims/arrays/shape.h"

#include <string.h>

static const tn_i_spec params[] = {
    {.name = "dimension_numbers", .kind = TN_K_LISTS, .lists = 4},
    {.name = "preferred_element_type", .kind = TN_K_DTYPE, .otherwise = "the dtype of the operands"},
    {.name = NULL}};

/* As the parameter's integers: four lengths, then lhs and rhs contracting, lhs and rhs batch dimensions. */
#define DOTS_INTS (4 + 4 * TN_MAX_RANK)

static uint32_t write_dots(const tn_i_dots *d, int64_t *v) {
    uint32_t n = 4;
    for (int i = 0; i < 2; i++) {
        v[i] = d->ncontract;
        v[2 + i] = d->nbatch;
    }
    for (int i = 0; i < 2; i++)
        for (uint32_t j = 0; j < d->ncontract; j++) v[n++] = d->contract[i][j];
    for (int i = 0; i < 2; i++)
        for (uint32_t j = 0; j < d->nbatch; j++) v[n++] = d->batch[i][j];
    return n;
}

tn_i_dots tn_i_dots_read(const tn_i_param *p) {
    tn_i_dots d;
    memset(&d, 0, sizeof d);
    for (uint32_t i = 0; i < 2; i++) {
        const int64_t *contract = tn_i_list(p, 4, i, &d.ncontract);
        memcpy(d.contract[i], contract, d.ncontract * sizeof *contract);
        const int64_t *batch = tn_i_list(p, 4, 2 + i, &d.nbatch);
        memcpy(d.batch[i], batch, d.nbatch * sizeof *batch);
    }
    return d;
}

tn_i_var tn_i_dot_general(tn_i_builder *b, tn_i_var lhs, tn_i_var rhs, const tn_i_dots *d) {
    int64_t v[DOTS_INTS];
    const uint32_t n = write_dots(d, v);
    const tn_i_param p[2] = {{.kind = TN_K_LISTS, .n = n, .u.ints = v}, {.kind = TN_K_NONE}};
    const tn_i_var in[2] = {lhs, rhs};
    return tn_i_emit(b, tn_i_prim(b, TN_P_dot_general), p, 2, in);
}

unsigned tn_i_dots_contracted(const tn_i_dots *d, int side) { return tn_i_axis_set(d->ncontract, d->contract[side]); }
unsigned tn_i_dots_batches(const tn_i_dots *d, int side) { return tn_i_axis_set(d->nbatch, d->batch[side]); }
unsigned tn_i_dots_taken(const tn_i_dots *d, int side) {
    return tn_i_dots_contracted(d, side) | tn_i_dots_batches(d, side);
}

/* The dimensions of a type in the set, in order; returns their number. */
static uint32_t dims_in(const tn_type *t, unsigned set, int64_t *dims) {
    uint32_t n = 0;
    for (int i = 0; i < t->rank; i++)
        if (set >> i & 1) dims[n++] = i;
    return n;
}

/* ---- type ------------------------------------------------------------------------ */

static bool lists_valid(tn_i_query *q) {
    const tn_i_param *p = &q->p[0];
    int64_t total = 4;
    for (int i = 0; i < 4; i++) {
        if (p->n < 4 || p->u.ints[i] < 0 || p->u.ints[i] > 2 * TN_MAX_RANK)
            return tn_i_type_fail(q, -1, "dimension_numbers is no (contracting, batch) pair of pairs of dimensions");
        total += p->u.ints[i];
    }
    if (total != (int64_t)p->n) return tn_i_type_fail(q, -1, "dimension_numbers has lists of a wrong length");
    for (uint32_t side = 0; side < 2; side++) {
        uint32_t nc, nb;
        const int64_t *contract = tn_i_list(p, 4, side, &nc), *batch = tn_i_list(p, 4, 2 + side, &nb);
        int64_t both[4 * TN_MAX_RANK];
        memcpy(both, contract, nc * sizeof *both);
        memcpy(both + nc, batch, nb * sizeof *both);
        if (!tn_i_axes_valid(q, side ? "dimension_numbers of operand 1" : "dimension_numbers of operand 0", nc + nb,
                             both, q->in[side]->rank, false))
            return false;
    }
    return true;
}

static bool pairs_match(tn_i_query *q, uint32_t list, const char *what) {
    uint32_t n, m;
    const int64_t *l = tn_i_list(&q->p[0], 4, list, &n), *r = tn_i_list(&q->p[0], 4, list + 1, &m);
    if (n != m)
        return tn_i_type_fail(q, -1, "operand 0 has %u %s dimensions and operand 1 has %u", (unsigned)n, what,
                              (unsigned)m);
    for (uint32_t i = 0; i < n; i++)
        if (q->in[0]->dim[l[i]] != q->in[1]->dim[r[i]])
            return tn_i_type_fail(
                q, -1, "%s dimension %lld of operand 0 has size %lld, but its partner %lld of operand 1 has %lld", what,
                (long long)l[i], (long long)q->in[0]->dim[l[i]], (long long)r[i], (long long)q->in[1]->dim[r[i]]);
    return true;
}

static bool type_dot(tn_i_query *q) {
    if (!tn_i_admits(q) || !tn_i_same_dtype(q, 1) || !tn_i_params_given(q) || !lists_valid(q)) return false;
    if (!pairs_match(q, 0, "contracting") || !pairs_match(q, 2, "batch")) return false;
    const int dtype = q->in[0]->dtype;
    if (q->p[1].kind == TN_K_DTYPE && q->p[1].u.i != dtype)
        return tn_i_type_fail(q, -1, "preferred_element_type must be the operands' dtype %s", tn_i_dtype_name(dtype));
    const tn_i_dots d = tn_i_dots_read(&q->p[0]);
    int64_t dim[2 * TN_MAX_RANK], free[TN_MAX_RANK];
    int rank = 0;
    for (uint32_t i = 0; i < d.nbatch; i++) dim[rank++] = q->in[0]->dim[d.batch[0][i]];
    for (int side = 0; side < 2; side++) {
        const uint32_t n = dims_in(q->in[side], ~tn_i_dots_taken(&d, side), free);
        for (uint32_t i = 0; i < n; i++) dim[rank++] = q->in[side]->dim[free[i]];
    }
    return tn_i_output(q, dtype, rank, dim);
}

static void cost_dot(const tn_i_query *q, tn_i_cost *cost) {
    const tn_i_dots d = tn_i_dots_read(&q->p[0]);
    double products = (double)tn_i_count(&q->out[0]);
    for (uint32_t i = 0; i < d.ncontract; i++) products *= (double)q->in[0]->dim[d.contract[0][i]];
    tn_i_cost_copy(q, cost);
    cost->products += products;
    cost->flops += 2 * products;
}

/* ---- rules ---------------------------------------------------------------------------- */

static bool is_identity(uint32_t n, const int64_t *perm) {
    for (uint32_t i = 0; i < n; i++)
        if (perm[i] != (int64_t)i) return false;
    return true;
}

/* perm[d]: where dimension d of operand `side` stands in the product of the cotangent and the other
 * operand: batch dimensions, then the operand's free ones and the contracted ones in the order of
 * their partners, or the other way round. */
static void places(const tn_i_dots *d, int side, const tn_type *t, const tn_type *other, bool free_first,
                   int64_t *perm) {
    int64_t free[TN_MAX_RANK];
    const uint32_t nfree = dims_in(t, ~tn_i_dots_taken(d, side), free);
    uint32_t at = 0;
    for (uint32_t i = 0; i < d->nbatch; i++) perm[d->batch[side][i]] = at++;
    for (int turn = 0; turn < 2; turn++) {
        if ((turn == 0) == free_first) {
            for (uint32_t i = 0; i < nfree; i++) perm[free[i]] = at++;
            continue;
        }
        for (int partner = 0; partner < other->rank; partner++)
            for (uint32_t i = 0; i < d->ncontract; i++)
                if (d->contract[1 - side][i] == partner) perm[d->contract[side][i]] = at++;
    }
}

/* The cotangent times the other operand over that one's free dimensions.  Of the two orders of
 * that product the one is taken that needs no permutation, if there is one. */
static tn_i_var transpose_side(tn_i_rule *r, tn_i_var ct, int side) {
    const tn_i_dots d = tn_i_dots_read(&r->p[0]);
    const tn_type *t = r->in_type[side], *other = r->in_type[1 - side];
    int64_t perm[2][TN_MAX_RANK];
    places(&d, side, t, other, true, perm[0]);
    places(&d, side, t, other, false, perm[1]);
    const uint32_t rank = (uint32_t)t->rank;
    const int second = !is_identity(rank, perm[0]) && is_identity(rank, perm[1]); /* the other operand comes first */
    const int from = second; /* position of the cotangent among the operands */
    int64_t free[TN_MAX_RANK];
    const uint32_t nfree = dims_in(other, ~tn_i_dots_taken(&d, 1 - side), free);
    const uint32_t mine = rank - d.ncontract - d.nbatch;
    tn_i_dots e = {.ncontract = nfree, .nbatch = d.nbatch};
    for (uint32_t i = 0; i < nfree; i++) {
        e.contract[from][i] = (int64_t)(d.nbatch + i + (side == 0 ? mine : 0));
        e.contract[1 - from][i] = free[i];
    }
    for (uint32_t i = 0; i < d.nbatch; i++) {
        e.batch[from][i] = (int64_t)i;
        e.batch[1 - from][i] = d.batch[1 - side][i];
    }
    const tn_i_var in[2] = {second ? r->in[1 - side] : ct, second ? ct : r->in[1 - side]};
    const tn_i_var v = tn_i_dot_general(r->b, in[0], in[1], &e);
    return is_identity(rank, perm[second]) ? v : tn_i_permute(r->b, v, perm[second]);
}

static void transpose_dot(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    for (int side = 0; side < 2; side++)
        if (r->in[side] == TN_NOVAR) ct_in[side] = transpose_side(r, ct[0], side);
}

/* Both batched: one more batch dimension.  One: one more free dimension, moved to the front. */
static void batch_dot(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    tn_i_dots d = tn_i_dots_read(&r->p[0]);
    const uint32_t nb = d.nbatch;
    uint32_t at = batched[0] && batched[1] ? 0 : nb;
    if (!batched[0]) at += (uint32_t)r->in_type[0]->rank - d.ncontract - nb;
    for (int side = 0; side < 2; side++) {
        int64_t v[TN_MAX_RANK];
        if (!batched[side]) continue;
        for (uint32_t i = 0; i < d.ncontract; i++) d.contract[side][i]++;
        const uint32_t n = tn_i_behind_batch(nb, d.batch[side], batched[0] && batched[1] ? 0 : -1, v);
        memcpy(d.batch[side], v, n * sizeof *v); /* no more than the dimensions of the batched operand */
        d.nbatch = n;
    }
    const tn_i_var v = tn_i_dot_general(r->b, r->in[0], r->in[1], &d);
    out_batched[0] = true;
    out[0] = v;
    if (at == 0 || v == TN_NOVAR) return;
    int64_t perm[TN_MAX_RANK];
    for (uint32_t i = 0; i <= (uint32_t)r->out_type[0]->rank; i++)
        perm[i] = i == 0 ? (int64_t)at : (int64_t)(i <= at ? i - 1 : i);
    out[0] = tn_i_permute(r->b, v, perm);
}

/* ---- samples ----------------------------------------------------------------------------- */

/* A random order of 0..n-1. */
static void shuffle(tn_i_rng *r, uint32_t n, int64_t *v) {
    for (uint32_t i = 0; i < n; i++) {
        const int64_t j = tn_i_pick(r, 0, i);
        v[i] = v[j];
        v[j] = i;
    }
}

static bool sample_dot(tn_i_rng *r, int dtype, tn_i_case *c) {
    uint32_t kinds[4]; /* batch, contracting, free of lhs, free of rhs */
    int64_t size[TN_MAX_RANK], place[2][TN_MAX_RANK];
    for (int i = 0; i < 4; i++) kinds[i] = (uint32_t)tn_i_pick(r, 0, i == 0 ? 1 : 2);
    for (int i = 0; i < TN_MAX_RANK; i++) size[i] = tn_i_pick(r, 0, 19) ? tn_i_pick(r, 1, i < 3 ? 3 : 2) : 0;
    const uint32_t shared = kinds[0] + kinds[1];
    tn_i_dots d = {.ncontract = kinds[1], .nbatch = kinds[0]};
    c->nin = 2;
    for (uint32_t side = 0; side < 2; side++) {
        tn_type *t = &c->in[side];
        const uint32_t rank = shared + kinds[2 + side];
        *t = (tn_type){.dtype = dtype, .rank = (int32_t)rank};
        shuffle(r, rank, place[side]);
        for (uint32_t i = 0; i < rank; i++) {
            t->dim[place[side][i]] = i < shared ? size[i] : size[i + 2 * side];
            if (i < kinds[0])
                d.batch[side][i] = place[side][i];
            else if (i < shared)
                d.contract[side][i - kinds[0]] = place[side][i];
        }
    }
    int64_t v[DOTS_INTS];
    const uint32_t n = write_dots(&d, v);
    if (!tn_i_case_list(c, 0, n, v)) return false;
    c->p[0].kind = TN_K_LISTS;
    c->p[1] = tn_i_pick(r, 0, 1) ? (tn_i_param){.kind = TN_K_DTYPE, .u.i = dtype} : (tn_i_param){.kind = TN_K_NONE};
    return true;
}

/* 1 where both indices of a square are equal, else 0, as the basis of a Jacobian is made. */
static bool is_basis(const tn_i_builder *b, tn_i_var v) {
    const tn_type *t = tn_i_vtype(b, v);
    const tn_i_eqn *e = tn_i_made_by(b, v, TN_P_convert_element_type);
    if (t->rank != 2 || t->dim[0] != t->dim[1] || t->dim[0] < 2 || !tn_i_is_float(t->dtype) || !e) return false;
    if (!(e = tn_i_made_by(b, b->pool[e->in], TN_P_eq))) return false;
    const tn_i_eqn *x = tn_i_made_by(b, b->pool[e->in], TN_P_iota), *y = tn_i_made_by(b, b->pool[e->in + 1], TN_P_iota);
    return x && y && tn_i_p(x)[2].u.i != tn_i_p(y)[2].u.i;
}

enum { MOST_FACTORS = 4 };

/* v is a basis times vectors, which are broadcast: its diagonal is their product. */
static bool is_diagonal(const tn_i_builder *b, tn_i_var v, tn_i_var *factor, uint32_t *n) {
    *n = 0;
    while (!is_basis(b, v)) {
        const tn_i_eqn *e = tn_i_made_by(b, v, TN_P_mul), *x = NULL;
        int k = 0;
        if (!e || *n == MOST_FACTORS) return false;
        for (; k < 2; k++) {
            x = tn_i_made_by(b, b->pool[e->in + (uint32_t)k], TN_P_broadcast_in_dim);
            if (x && tn_i_vtype(b, b->pool[x->in])->rank == 1) break;
        }
        if (k == 2 || tn_i_vtype(b, v)->rank != 2 || tn_i_vtype(b, b->pool[x->in])->dim[0] == 1) return false;
        factor[(*n)++] = b->pool[x->in];
        v = b->pool[e->in + 1 - (uint32_t)k];
    }
    return true;
}

/* The product of a matrix of a linear program with a basis is the matrix, and with a diagonal one its rows times
 * numbers: what is 0 in the basis is no tangent. */
static tn_i_var simplify_dot_general(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                                     const tn_type *out) {
    (void)nin;
    const tn_i_dots d = tn_i_dots_read(p);
    const tn_type to = *out; /* emitting moves it */
    if (!b->linear || d.ncontract != 1 || d.nbatch || p[1].kind != TN_K_NONE) return TN_NOVAR;
    for (int side = 0; side < 2; side++) {
        tn_i_var factor[MOST_FACTORS];
        uint32_t factors;
        if (!is_diagonal(b, in[side], factor, &factors)) continue;
        const tn_type *t = tn_i_vtype(b, in[1 - side]);
        const int64_t axis = d.contract[1 - side][0], along = side == 0 ? 0 : t->rank - 1;
        int64_t perm[TN_MAX_RANK];
        int n = 0;
        if (side == 0) perm[n++] = axis;
        for (int k = 0; k < t->rank; k++)
            if (k != axis) perm[n++] = k;
        if (side == 1) perm[n++] = axis;
        const tn_i_var x = tn_i_permute(b, in[1 - side], perm);
        if (factors == 0) return x;
        tn_i_var y = factor[factors - 1]; /* the first that the basis was multiplied by */
        for (uint32_t k = factors - 1; k-- > 0;) y = tn_i_op2(b, TN_P_mul, y, factor[k]);
        return tn_i_op2(b, TN_P_mul, tn_i_broadcast(b, y, to.rank, to.dim, &along), x);
    }
    return TN_NOVAR;
}

static bool sums_dot(const tn_i_query *q, uint32_t operand, tn_i_sums *s) {
    const tn_i_dots d = tn_i_dots_read(q->p);
    const int me = (int)operand, other = 1 - me;
    int64_t stride[2][TN_MAX_RANK], to[TN_MAX_RANK];
    int at = (int)d.nbatch;
    for (int i = 0; i < 2; i++) tn_i_dense_strides(q->in[i], stride[i]);
    tn_i_dense_strides(q->out, to);
    for (uint32_t k = 0; k < d.nbatch; k++)
        tn_i_sums_loop(s, false, q->out->dim[k], to[k], stride[me][d.batch[me][k]], stride[other][d.batch[other][k]]);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < q->in[i]->rank; j++) {
            if (tn_i_dots_taken(&d, i) >> j & 1) continue;
            tn_i_sums_loop(s, false, q->out->dim[at], to[at], i == me ? stride[i][j] : 0, i == me ? 0 : stride[i][j]);
            at++;
        }
    for (uint32_t k = 0; k < d.ncontract; k++)
        tn_i_sums_loop(s, true, q->in[me]->dim[d.contract[me][k]], 0, stride[me][d.contract[me][k]],
                       stride[other][d.contract[other][k]]);
    s->factor = other;
    return true;
}

/* Products of operands as they are in the dtype of the result. */
static tn_i_var written_dot(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in) {
    const int dtype = p[1].kind == TN_K_DTYPE ? (int)p[1].u.i : TN_BOOL;
    if (b->failed || nin != 2 || dtype == TN_BOOL) return TN_NOVAR;
    for (uint32_t i = 0; i < 2; i++) {
        const int own = tn_i_vtype(b, in[i])->dtype;
        const bool alike = tn_i_is_float(own) ? tn_i_is_float(dtype) : tn_i_is_int(own) && tn_i_is_int(dtype);
        if (!alike || tn_i_dtype_size(own) > tn_i_dtype_size(dtype)) return TN_NOVAR;
    }
    const tn_i_var x = tn_i_convert(b, in[0], dtype), y = tn_i_convert(b, in[1], dtype);
    const tn_i_var both[2] = {x, y};
    return tn_i_emit(b, tn_i_prim(b, TN_P_dot_general), p, 2, both);
}

const tn_prim tn_prim_dot_general = {
    .id = TN_P_dot_general,
    .name = "dot_general",
    .doc = "sum of products over the contracting dimensions; result: batch, free of operand 0, free of operand 1; "
           "integers wrap",
    .nin = 2,
    .flags = TN_F_COSTLY,
    .dtypes = TN_NUMBERS,
    .params = params,
    .type = type_dot,
    .linear = {TN_OPERAND(0), TN_OPERAND(1)},
    .transpose = transpose_dot,
    .batch = batch_dot,
    .kernel = tn_i_dot_kernel,
    .c_kernel = tn_i_c_dot,
    .scratch = tn_i_dot_scratch,
    .cost = cost_dot,
    .simplify = simplify_dot_general,
    .jvp_bound = 7,
    .transpose_bound = 4,
    .sample = sample_dot,
    .spread = TN_SPREAD_SUMS,
    .sums = sums_dot,
    .complex = tn_i_complex_of_product,
    .written = written_dot,
};
