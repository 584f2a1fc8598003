/* Programs of one matrix, or of its factors, over all dimensions in front by tn_vmap: each is traced for the operands
 * that an equation of a text has, and called. */
#include "prims/composed_text.h"
#include "control/nested.h"
#include "tansy/decompositions.h"
#include "tansy/loops.h"
#include "tansy/ops.h"

/* What a program is traced with: the equation's parameters. */
typedef struct composition {
    const char *name;
    tn_trace_many_fn trace;
    uint32_t nin, nout;
    int rank[4]; /* of the operands, without what is in front */
    const tn_i_param *p;
} composition;

/* ---- Householder's reflections, 1 - tau v v': v is below the diagonal, and 1 there ---- */

static tn_val places(tn_val x, int axis) {
    return tn_iota(tn_val_ctx(x), tn_type_of(TN_I64, 1, &tn_val_type(x).dim[axis]), 0);
}

/* Column k of a. */
static tn_val column_of(tn_val a, tn_val k) { return tn_sum_axis(tn_where(tn_eq(places(a, 1), k), a, 0.0), 1); }

static tn_val reflected(tn_val x, tn_val v, tn_val tau) { return tn_sub(x, tn_mul(tau, tn_outer(v, tn_matmul(v, x)))); }

static tn_val vector_of(tn_val a, tn_val k) {
    const tn_val at = places(a, 0);
    return tn_where(tn_eq(at, k), 1.0, tn_where(tn_gt(at, k), column_of(a, k), 0.0));
}

/* A reflection, and what is stored in place of the column that it is made of. */
typedef struct reflection {
    tn_val v, tau, stored;
} reflection;

/* LAPACK's, of column k from element `from` on: its sign turns, and what is 0 below it already is not reflected. */
static reflection reflection_of(tn_val a, tn_val k, tn_val from) {
    const tn_val at = places(a, 0);
    const tn_val here = tn_eq(at, from), below = tn_gt(at, from), old = column_of(a, k);
    const tn_val rest = tn_where(below, old, 0.0), alpha = tn_sum(tn_where(here, old, 0.0)),
                 square = tn_sum(tn_mul(rest, rest));
    const tn_val plain = tn_eq(square, 0.0);
    const tn_val size = tn_sqrt(tn_where(plain, 1.0, tn_add(tn_mul(alpha, alpha), square)));
    const tn_val beta = tn_where(tn_lt(alpha, 0.0), size, tn_neg(size));
    reflection r;
    r.tau = tn_where(plain, 0.0, tn_div(tn_sub(beta, alpha), beta));
    r.v = tn_where(here, 1.0, tn_div(rest, tn_where(plain, 1.0, tn_sub(alpha, beta))));
    r.stored = tn_where(below, tn_where(plain, 0.0, r.v), tn_where(here, tn_where(plain, alpha, beta), old));
    return r;
}

/* a's columns behind k are `turned`, and k itself is what is stored. */
static tn_val stored(tn_val a, tn_val k, const reflection *r, tn_val turned) {
    const tn_val columns = places(a, 1);
    return tn_where(tn_lt(columns, k), a, tn_where(tn_eq(columns, k), tn_expand_dims(r->stored, 1), turned));
}

static void reflect(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *tau, void *user) {
    const tn_val a = carry[0], k = tn_loop_step(tn_val_ctx(a));
    const reflection r = reflection_of(a, k, k);
    (void)x, (void)user;
    tau[0] = r.tau;
    next[0] = stored(a, k, &r, reflected(a, r.v, r.tau));
}

/* From both sides: LAPACK's gehrd. */
static void reflect_twice(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *tau, void *user) {
    const tn_val a = carry[0], k = tn_loop_step(tn_val_ctx(a));
    const reflection r = reflection_of(a, k, tn_add(k, 1));
    (void)x, (void)user;
    const tn_val left = reflected(a, r.v, r.tau);
    tau[0] = r.tau;
    next[0] = stored(a, k, &r, tn_sub(left, tn_mul(r.tau, tn_outer(tn_matmul(left, r.v), r.v))));
}

static void hessenberg(const tn_val *in, tn_val *out, void *user) {
    const int64_t n = tn_val_type(in[0]).dim[0];
    tn_scan(tn_val_ctx(in[0]), reflect_twice, user, .ncarry = 1, .init = in, .carry = out, .ny = 1, .ys = out + 1,
            .length = n > 1 ? n - 1 : TN_NO_STEPS);
}

static void geqrf(const tn_val *in, tn_val *out, void *user) {
    const tn_type t = tn_val_type(in[0]);
    const int64_t n = t.dim[0] < t.dim[1] ? t.dim[0] : t.dim[1];
    tn_scan(tn_val_ctx(in[0]), reflect, user, .ncarry = 1, .init = in, .carry = out, .ny = 1, .ys = out + 1,
            .length = n ? n : TN_NO_STEPS);
}

/* The reflections of a matrix and their factors. */
typedef struct reflections {
    tn_val a;
} reflections;

static void turn(const tn_val *carry, const tn_val *tau, tn_val *next, tn_val *y, void *user) {
    const reflections *q = user;
    (void)y;
    next[0] = reflected(carry[0], vector_of(q->a, tn_loop_step(tn_val_ctx(carry[0]))), tau[0]);
}

static tn_val turned(tn_val a, tn_val taus, tn_val x, bool last_first) {
    reflections q = {a};
    tn_val y;
    if (tn_val_type(taus).dim[0] == 0) return x;
    tn_scan(tn_val_ctx(a), turn, &q, .ncarry = 1, .init = &x, .carry = &y, .nx = 1, .xs = &taus, .reverse = last_first);
    return y;
}

/* The first columns of the product of the reflections. */
static void product(const tn_val *in, tn_val *out, void *user) {
    const tn_type t = tn_val_type(in[0]);
    (void)user;
    out[0] = turned(in[0], in[1], tn_eye(tn_val_ctx(in[0]), (tn_dtype)t.dtype, t.dim[0], t.dim[1]), true);
}

/* The whole product, or its transpose, times c, or c times it. */
enum { LEFT, TRANSPOSE };
static void ormqr(const tn_val *in, tn_val *out, void *user) {
    const composition *k = user;
    const bool left = k->p[LEFT].u.i, transpose = k->p[TRANSPOSE].u.i;
    const tn_val x = left ? in[2] : tn_swapaxes(in[2], 0, 1);
    const tn_val y = turned(in[0], in[1], x, transpose != left);
    out[0] = left ? y : tn_swapaxes(y, 0, 1);
}

/* ---- others ---- */

static void tridiagonal(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    out[0] = tn_tridiagonal_solve(in[0], in[1], in[2], in[3]);
}

/* Rows i and pivots[i] change places, one i after the other. */
static void exchange(const tn_val *carry, const tn_val *pivot, tn_val *next, tn_val *y, void *user) {
    const tn_val rows = carry[0], at = places(rows, 0), i = tn_loop_step(tn_val_ctx(rows));
    const tn_val j = tn_convert(pivot[0], TN_I64), here = tn_eq(at, i), there = tn_eq(at, j);
    (void)y, (void)user;
    const tn_val ith = tn_sum(tn_where(here, rows, 0)), jth = tn_sum(tn_where(there, rows, 0));
    next[0] = tn_where(there, ith, tn_where(here, jth, rows));
}

static void permutation(const tn_val *in, tn_val *out, void *user) {
    const composition *k = user;
    const tn_type t = tn_val_type(in[0]);
    const int64_t n = k->p[0].u.i;
    const tn_val rows = tn_iota(tn_val_ctx(in[0]), tn_type_of((tn_dtype)t.dtype, 1, &n), 0);
    out[0] = rows;
    if (t.dim[0])
        tn_scan(tn_val_ctx(in[0]), exchange, user, .ncarry = 1, .init = &rows, .carry = out, .nx = 1, .xs = in);
}

/* ---- equations ---- */

/* Dimensions in front of the operands' own are the same of all. */
static bool fits(tn_i_builder *b, const composition *k, uint32_t nin, const tn_i_var *in, int *front) {
    if (b->failed) return false;
    if (nin != k->nin) {
        tn_i_builder_fail(b, TN_ETYPE, "%s: takes %u operands, not %u", k->name, (unsigned)k->nin, (unsigned)nin);
        return false;
    }
    const tn_type *first = tn_i_vtype(b, in[0]);
    *front = first->rank - k->rank[0];
    for (uint32_t i = 0; i < nin; i++) {
        const tn_type *t = tn_i_vtype(b, in[i]);
        bool same = *front >= 0 && t->rank == *front + k->rank[i] && t->dtype == first->dtype;
        for (int d = 0; same && d < *front; d++) same = t->dim[d] == first->dim[d];
        if (same) continue;
        tn_i_builder_fail(b, TN_ETYPE,
                          "%s: operand %u: is not of the rank, sizes or dtype that it has beside operand 0", k->name,
                          (unsigned)i);
        return false;
    }
    return true;
}

static tn_fn *over_front(tn_fn *f, const tn_type *t, int front) {
    for (int d = front; f && d-- > 0;) {
        tn_fn *g = tn_vmap(f, t->dim[d], NULL, NULL);
        tn_i_fn_unref(f);
        f = g;
    }
    return f;
}

static tn_i_var called(tn_i_builder *b, composition *k, const tn_i_param *p, uint32_t nin, const tn_i_var *in) {
    tn_type type[4];
    int front;
    if (!fits(b, k, nin, in, &front)) return TN_NOVAR;
    k->p = p;
    for (uint32_t i = 0; i < nin; i++) {
        const tn_type *t = tn_i_vtype(b, in[i]);
        type[i] = tn_type_of((tn_dtype)t->dtype, (size_t)k->rank[i], t->dim + front);
    }
    tn_fn *f = tn_trace_many(b->ctx, k->trace, k, nin, type, k->nout);
    f = over_front(f, tn_i_vtype(b, in[0]), front);
    const tn_i_var out = f ? tn_i_called(b, f, in) : TN_NOVAR;
    if (!f) b->failed = true;
    tn_i_fn_unref(f);
    return out;
}

#define COMPOSED(form, text, specs, function, operands, results, ...)                                               \
    static tn_i_var written_##form(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in) {        \
        composition k = {.name = text, .trace = function, .nin = operands, .nout = results, .rank = {__VA_ARGS__}}; \
        return called(b, &k, p, nin, in);                                                                           \
    }                                                                                                               \
    const tn_prim tn_i_##form##_form = {                                                                            \
        .id = -1, .name = text, .nin = operands, .params = specs, .written = written_##form};

static const tn_i_spec ormqr_specs[] = {
    {.name = "left", .kind = TN_K_BOOL}, {.name = "transpose", .kind = TN_K_BOOL}, {.name = NULL}};
static const tn_i_spec permutation_specs[] = {{.name = "permutation_size", .kind = TN_K_INT}, {.name = NULL}};

COMPOSED(geqrf, "geqrf", NULL, geqrf, 1, 2, 2)
COMPOSED(hessenberg, "hessenberg", NULL, hessenberg, 1, 2, 2)
COMPOSED(householder_product, "householder_product", NULL, product, 2, 1, 2, 1)
COMPOSED(ormqr, "ormqr", ormqr_specs, ormqr, 3, 1, 2, 1, 2)
COMPOSED(tridiagonal_solve, "tridiagonal_solve", NULL, tridiagonal, 4, 1, 1, 1, 1, 2)
COMPOSED(pivots_to_permutation, "lu_pivots_to_permutation", permutation_specs, permutation, 1, 1, 1)
