/* Kernels that work in blocks, on both sides of these: factorizations, solves, products, scans. */
#include "emit/written.h"

#include <stdio.h>

typedef struct sizes {
    tn_ctx *c;
    tn_dtype dtype;
    int64_t n, m; /* matrices n x n, right-hand sides n x m */
} sizes;

enum { MATRIX, SOLVES, PRODUCTS, SCANS, KINDS, MOST_OUT = 16 };

/* Far from singular, also with a diagonal of ones. */
static tn_val regular(const sizes *z, tn_val x) {
    return tn_add(tn_div(x, (double)(4 * z->n)), tn_mul(2.0, tn_eye(z->c, z->dtype, z->n, z->n)));
}

static void matrix(const tn_val *in, tn_val *out, void *user) {
    const sizes *z = user;
    const tn_val a = regular(z, in[0]), s = tn_matmul(a, tn_matrix_transpose(a));
    out[0] = tn_cholesky(s);
    out[1] = tn_solve(a, in[1]);
    tn_lu(a, &out[2], NULL, &out[3]);
    out[4] = tn_lu_solve(out[2], out[3], in[1], TN_SOLVE_TRANSPOSED);
    const tn_val tall = tn_add(tn_div(in[1], (double)(4 * z->n)), tn_mul(2.0, tn_eye(z->c, z->dtype, z->n, z->m)));
    tn_lu(tall, &out[5], NULL, &out[6]);
    tn_lu(tn_matrix_transpose(tall), &out[7], &out[8], NULL);
}

static void solves(const tn_val *in, tn_val *out, void *user) {
    const sizes *z = user;
    const tn_val a = regular(z, in[0]);
    for (int how = 0; how < 16; how++)
        out[how] = tn_triangular_solve(a, how & TN_SOLVE_RIGHT ? tn_matrix_transpose(in[1]) : in[1], how);
}

static void products(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    const tn_val x = tn_abs(in[0]), y = tn_abs(in[1]); /* sums that do not cancel are compared closely */
    out[0] = tn_matmul(x, x);
    out[1] = tn_matmul(tn_matrix_transpose(x), y);
    out[2] = tn_matmul(tn_matrix_transpose(y), tn_matrix_transpose(x));
    out[3] = tn_einsum("ij,kj,k->i", tn_vals(x, x, tn_sum_axis(y, 1)));
    out[4] = tn_einsum("ab,cd,ac->bd", tn_vals(x, x, x));
    const tn_val batch = tn_stack(tn_vals(x, tn_matrix_transpose(x)), 0);
    out[5] = tn_einsum("bij,bjk->bik", tn_vals(batch, batch));
    out[6] = tn_einsum("bij,bij->b", tn_vals(batch, batch)); /* sums over two dimensions */
}

static void scans(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    const tn_val x = in[0], bounded = tn_div(x, 8.0);
    for (int axis = 0; axis < 2; axis++) {
        out[5 * axis] = tn_cumsum(x, axis);
        out[5 * axis + 1] = tn_cumprod(tn_tanh(x), axis);
        out[5 * axis + 2] = tn_cummax(x, axis);
        out[5 * axis + 3] = tn_cumlogsumexp(x, axis);
        out[5 * axis + 4] = tn_linear_recurrence(bounded, x, axis);
    }
}

static void add(emit_session *s, const sizes *z, int kind) {
    static const struct {
        const char *name;
        tn_trace_many_fn f;
        size_t outputs;
    } of[KINDS] = {
        {"factorizations", matrix, 9}, {"solves", solves, 16}, {"products", products, 7}, {"scans", scans, 10}};
    const tn_type in[2] = {{.dtype = (int32_t)z->dtype, .rank = 2, .dim = {z->n, z->n}},
                           {.dtype = (int32_t)z->dtype, .rank = 2, .dim = {z->n, z->m}}};
    laws_memory m = {NULL, 0};
    laws_trial t = {.memory = &m, .ctx = z->c, .rng = {s->seed + (uint64_t)(z->n + kind)}};
    char what[64];
    (void)snprintf(what, sizeof what, "%s of %d x %d", of[kind].name, (int)z->n, (int)z->m);
    tn_fn *f = tn_trace_many(z->c, of[kind].f, (void *)(uintptr_t)z, 2, in, of[kind].outputs);
    if (!f) {
        emit_wrong(s, what, tn_error(z->c));
        return;
    }
    laws_array x[2];
    for (uint32_t i = 0; i < 2; i++) {
        x[i] = laws_new(&m, f->val[i].type);
        laws_random(&t.rng, &x[i]);
    }
    const size_t at = s->n;
    if (!emit_add(s, what, f, x)) emit_wrong(s, what, "not written");
    s->at[at].first = true;
    laws_memory_drop(&m);
}

void emit_sizes(emit_session *s) {
    static const int64_t size[][2] = {{33, 1}, {33, 2}, {100, 7}, {129, 65}, {300, 100}};
    for (size_t k = 0; k < sizeof size / sizeof *size; k++)
        for (int d = TN_F32; d <= TN_F64; d++)
            for (int kind = 0; kind < KINDS; kind++) {
                const tn_ctx_options opt = {.size = sizeof opt};
                tn_ctx *c = tn_ctx_new(&opt);
                const sizes z = {.c = c, .dtype = (tn_dtype)d, .n = size[k][0], .m = size[k][1]};
                add(s, &z, kind);
                tn_ctx_free(c);
            }
}
