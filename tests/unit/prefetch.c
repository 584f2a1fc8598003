/* Fetching what the next step of a loop reads: which products do, and that no bit depends on it. */
#include "unit/tracing.h"

#include "plan/plan.h"
#include "prims/linear/product.h"
#include "tansy/loops.h"
#include "tansy/ops.h"

#include <stdlib.h>

/* ---- which steps ------------------------------------------------------------------------------------------------ */

typedef struct row {
    const char *name;
    size_t marked; /* steps of the body */
    int64_t length, m, n;
    tn_dtype dtype;
    enum { TWICE, BACKWARDS, ONCE, PAIR } how;
} row;

typedef struct user {
    tn_ctx *c;
    const row *r;
    tn_val w;
} user;

/* carry g; entry A: g + A' tanh((A w)^2), or the like */
static void twice(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *data) {
    const user *u = data;
    (void)y;
    const tn_val p = u->r->how == ONCE ? carry[0] : tn_matmul(x[0], u->w);
    const tn_val q = u->r->how == PAIR ? tn_matmul(x[0], carry[0]) : p;
    const tn_val s = tn_tanh(tn_mul(p, q));
    next[0] = tn_add(carry[0], tn_matmul(s, x[0]));
}

/* in: A [length, m, n], w [n] */
static void loop(const tn_val *in, tn_val *out, void *data) {
    user *u = data;
    const tn_loop_options o = {.size = sizeof o, .reverse = u->r->how == BACKWARDS};
    const tn_val zeros = tn_zeros_like(in[1]);
    u->w = in[1];
    tn_scan(u->c, twice, u, .ncarry = 1, .init = &zeros, .nx = 1, .xs = in, .carry = out, .reverse = o.reverse);
}

static const row rows[] = {
    {"twice", 1, 40, 128, 100, TN_F64, TWICE},
    {"f32, odd", 1, 43, 127, 131, TN_F32, TWICE},
    {"backwards", 0, 40, 128, 100, TN_F64, BACKWARDS},
    {"once", 0, 40, 100, 100, TN_F64, ONCE},
    {"small entries", 0, 400, 60, 100, TN_F64, TWICE},
    {"large entries", 0, 3, 1100, 128, TN_F64, TWICE},
    {"all in the cache", 0, 10, 128, 100, TN_F64, TWICE},
    {"two products in one pass", 0, 40, 128, 100, TN_F64, PAIR},
    {"no columns", 0, 10, 128, 0, TN_F64, TWICE},
};

static tn_fn *made(tn_ctx *c, const row *r) {
    const tn_type in[] = {tn_type_of(r->dtype, 3, (const int64_t[]){r->length, r->m, r->n}),
                          tn_type_of(r->dtype, 1, &r->n)};
    tn_fn *f = tn_trace_many(c, loop, &(user){.c = c, .r = r}, 2, in, 1);
    if (!f) fail_msg("%s: %s", r->name, tn_error(c));
    return f;
}

static void which(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        tn_ctx *c = checked();
        tn_fn *g = tn_i_prepared(made(c, &rows[i]));
        tn_i_plan *p = g ? tn_i_plan_new(g, NULL) : NULL;
        if (!p) fail_msg("%s", tn_error(c));
        size_t marked = 0;
        for (size_t k = 0; k < p->nnested; k++)
            for (size_t s = 0; s < p->nested[k]->nstep; s++) marked += p->nested[k]->step[s].ahead != 0;
        if (marked != rows[i].marked) fail_msg("%s: %zu steps, not %zu", rows[i].name, marked, rows[i].marked);
        tn_i_plan_free(c, p);
        tn_fn_free(g);
        tn_ctx_free(c);
    }
}

/* ---- bits -------------------------------------------------------------------------------------------------------- */

static void run_on(const tn_fn *f, int backend, const void *const *in, void *out) {
    const tn_compile_options o = {.size = sizeof o, .backend = backend};
    tn_exec *e = tn_compile(f, &o);
    if (!e) fail_msg("%s", tn_error(tn_fn_ctx(f)));
    assert_int_equal(tn_call(e, in, &out), TN_OK);
    tn_exec_free(e);
}

/* Entries in the user's memory, which ends with the last one. */
static void backends(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        const row *r = &rows[i];
        const size_t size = tn_i_dtype_size((int)r->dtype), n = (size_t)(r->length * r->m * r->n);
        tn_ctx *c = checked();
        const tn_fn *f = made(c, r);
        char *a = malloc(n * size + 1), *w = malloc((size_t)r->n * size + 1);
        double got[2][131] = {{0}};
        for (size_t k = 0; k < n + (size_t)r->n; k++) {
            const double x = 0.01 * (double)((int)(k * 2654435761u % 401) - 200);
            void *to = k < n ? a + k * size : w + (k - n) * size;
            if (r->dtype == TN_F64)
                memcpy(to, &x, size);
            else
                memcpy(to, &(float){(float)x}, size);
        }
        run_on(f, TN_BACKEND_DEFAULT, (const void *const[]){a, w}, got[0]);
        run_on(f, TN_BACKEND_NATIVE, (const void *const[]){a, w}, got[1]);
        assert_memory_equal(got[0], got[1], sizeof got[0]);
        run_on(f, TN_BACKEND_REFERENCE, (const void *const[]){a, w}, got[1]);
        for (int64_t k = 0; k < r->n; k++) {
            const double x = r->dtype == TN_F64 ? got[0][k] : (double)((float *)got[0])[k];
            const double y = r->dtype == TN_F64 ? got[1][k] : (double)((float *)got[1])[k];
            if (!(fabs(x - y) <= (r->dtype == TN_F64 ? 1e-11 : 1e-2) * (1 + fabs(y)))) fail_msg("%s", r->name);
        }
        free(a);
        free(w);
        tn_ctx_free(c);
    }
}

/* Of any shape and layout, and whatever lies ahead. */
static void products(void **state) {
    (void)state;
    static const int64_t shapes[][3] = {{1, 500, 128}, {1, 7, 60}, {501, 1, 65}, {1, 3000, 9}, {1, 50, 1}, {9, 9, 9}};
    static double a[500 * 200], b[500 * 200], c[3000], d[3000];
    for (size_t i = 0; i < COUNT(a); i++) {
        a[i] = 0.1 * (double)(i % 37) - 1.7;
        b[i] = 0.3 * (double)(i % 29) - 4;
    }
    for (size_t i = 0; i < 8 * COUNT(shapes); i++) {
        const int64_t m = shapes[i / 8][0], n = shapes[i / 8][1], k = shapes[i / 8][2];
        tn_i_products w = {.dtype = i % 2 ? TN_F64 : TN_F32,
                           .m = m,
                           .n = n,
                           .k = k,
                           .count = 1,
                           .a = {a, i & 2 ? 1 : k, i & 2 ? m : 1},
                           .b = {b, i & 4 ? 1 : n, i & 4 ? k : 1},
                           .c = {c, n, 1}};
        tn_i_multiply_all(1, &w);
        w.aahead = m * k * 8;
        w.bahead = INT64_C(1) << 40;
        w.c.data = d;
        tn_i_multiply_all(1, &w);
        assert_memory_equal(c, d, (size_t)(m * n) * tn_i_dtype_size(w.dtype));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(which), cmocka_unit_test(backends), cmocka_unit_test(products)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
