/* Sums that are made where they begin: which steps add to what is there, that bits stay, and that memory goes. */
#include "unit/tracing.h"

#include "exec/plan.h"
#include "prims/product.h"
#include "tansy/loops.h"
#include "tansy/ops.h"

#include <stdlib.h>

enum { LENGTH = 5, MOST_COLUMNS = 2100 };

/* What a step does with a carry g, rows A and B of an entry, and a factor s for each row. */
typedef enum how { ONE, TURNED, TWO, TOGETHER, READ_AGAIN, PRODUCT_AGAIN, MORE_THAN_SUMS, MADE_HERE } how;

typedef struct row {
    const char *name;
    size_t adds; /* steps of the body that do */
    int64_t rows, n;
    tn_dtype dtype;
    how how;
    const int64_t *strides; /* of B; NULL: row-major */
    size_t beside;          /* of these steps: how many cannot add, and do so from memory of their own */
} row;

#define BY_COLUMNS ((const int64_t[]){8 * 300, 1, 8})

static const row rows[] = {
    {"one", 1, 8, 300, TN_F64, ONE, NULL, 0},
    {"one, f32", 1, 8, MOST_COLUMNS, TN_F32, ONE, NULL, 0},
    {"the product first", 1, 8, 301, TN_F32, TURNED, NULL, 0},
    {"two", 2, 8, 300, TN_F64, TWO, NULL, 0},
    {"all products, then all sums", 3, 8, 65, TN_F32, TOGETHER, NULL, 0},
    {"the second by columns: a sum of its own", 1, 8, 300, TN_F64, TWO, BY_COLUMNS, 0},
    {"the second of one sum by columns", 3, 8, 300, TN_F64, TOGETHER, BY_COLUMNS, 1},
    {"what the step has made", 2, 8, 300, TN_F64, MADE_HERE, NULL, 0},
    {"seven rows", 0, 7, 300, TN_F64, ONE, NULL, 0},
    {"sixteen rows", 0, 16, 300, TN_F64, ONE, NULL, 0},
    {"few columns", 0, 8, 48, TN_F64, ONE, NULL, 0},
    {"no columns", 0, 8, 0, TN_F64, ONE, NULL, 0},
    {"the sum's beginning is read again", 0, 8, 300, TN_F64, READ_AGAIN, NULL, 0},
    {"the product is read again", 0, 8, 300, TN_F64, PRODUCT_AGAIN, NULL, 0},
    {"more than sums", 0, 8, 300, TN_F64, MORE_THAN_SUMS, NULL, 0},
};

/* carry g; entries A, B, s */
static void step(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    const row *r = user;
    const tn_val g = carry[0], p = tn_matmul(x[2], x[0]);
    const tn_val q = r->how == TOGETHER ? tn_matmul(x[2], x[1]) : p, u = tn_matmul(tn_neg(x[2]), x[0]);
    tn_val sum = r->how == TURNED ? tn_add(p, g) : tn_add(g, p);
    if (r->how == TWO) sum = tn_add(sum, tn_matmul(x[2], x[1]));
    if (r->how == TOGETHER) sum = tn_add(u, tn_add(sum, q));
    if (r->how == MORE_THAN_SUMS) sum = tn_mul(0.5, sum);
    if (r->how == MADE_HERE) {
        const tn_val made = tn_add(p, tn_matmul(tn_neg(x[2]), x[1])), z = tn_matmul(x[0], made);
        sum = tn_add(g, tn_matmul(z, x[1]));
    }
    next[0] = sum;
    y[0] = r->how == READ_AGAIN ? tn_neg(g) : r->how == PRODUCT_AGAIN ? tn_neg(p) : tn_neg(x[2]);
}

/* in: A, B [LENGTH, rows, n], s [LENGTH, rows], g [n] */
static void loop(const tn_val *in, tn_val *out, void *user) {
    tn_scan(tn_val_ctx(in[0]), step, user, .ncarry = 1, .init = &in[3], .nx = 3, .xs = in, .carry = out, .ny = 1,
            .ys = out + 1);
}

static tn_fn *made(tn_ctx *c, const row *r) {
    const tn_type matrix = tn_type_of(r->dtype, 3, (const int64_t[]){LENGTH, r->rows, r->n});
    const tn_type in[] = {matrix, matrix, tn_type_of(r->dtype, 2, (const int64_t[]){LENGTH, r->rows}),
                          tn_type_of(r->dtype, 1, &r->n)};
    tn_fn *f = tn_trace_many(c, loop, (void *)(uintptr_t)r, 4, in, 2);
    if (!f) fail_msg("%s: %s", r->name, tn_error(c));
    return f;
}

static void on_each_row(void check(const row *r, tn_ctx *c, tn_fn *f)) {
    for (size_t i = 0; i < COUNT(rows); i++) {
        tn_ctx *c = checked();
        check(&rows[i], c, made(c, &rows[i]));
        tn_ctx_free(c);
    }
}

/* ---- which steps ------------------------------------------------------------------------------------------------- */

static void check_steps(const row *r, tn_ctx *c, tn_fn *f) {
    tn_fn *g = tn_i_prepared(f);
    int64_t in[3 + 3 + 2 + 1] = {r->rows * r->n, r->n, 1, r->rows * r->n, r->n, 1, r->rows, 1, 1};
    if (r->strides) memcpy(in + 3, r->strides, 3 * sizeof *in);
    const tn_i_layout layout = {.in = in}, emitted = {.handles = true};
    tn_i_plan *p = g ? tn_i_plan_new(g, &layout) : NULL, *q = g ? tn_i_plan_new(g, &emitted) : NULL;
    if (!p || !q) fail_msg("%s", tn_error(c));
    size_t adds = 0, beside = 0, bytes = 0;
    for (size_t k = 0; k < p->nnested; k++) {
        bytes += p->nested[k]->bytes;
        for (size_t s = 0; s < p->nested[k]->nstep; s++) {
            adds += p->nested[k]->step[s].onto;
            beside += p->nested[k]->step[s].onto && !p->nested[k]->step[s].at_once;
        }
    }
    const bool has = tn_i_gemm_in_eights((int)r->dtype, 100); /* kernels that add */
    if (adds != (has ? r->adds : 0)) fail_msg("%s: %zu steps add, not %zu", r->name, adds, r->adds);
    if (beside != (has ? r->beside : 0)) fail_msg("%s: %zu beside, not %zu", r->name, beside, r->beside);
    for (size_t k = 0; k < q->nnested; k++)
        for (size_t s = 0; s < q->nested[k]->nstep; s++) assert_false(q->nested[k]->step[s].onto);
    if (has && r->adds && !r->strides && r->how != MADE_HERE) /* the sum is where the carry is, no product anywhere */
        assert_in_range(bytes, 0, 256);
    tn_i_plan_free(c, p);
    tn_i_plan_free(c, q);
    tn_fn_free(g);
}

static void which(void **state) {
    (void)state;
    on_each_row(check_steps);
}

/* ---- bits ----------------------------------------------------------------------------------------------------- */

typedef struct arrays {
    void *in[4], *out[2];
    size_t bytes[2];
} arrays;

static void call(const tn_fn *f, int backend, const row *r, const arrays *a, bool first, bool second) {
    const int64_t *in[] = {NULL, r->strides, NULL, NULL};
    const tn_compile_options o = {.size = sizeof o, .backend = backend, .in_strides = in};
    tn_exec *e = tn_compile(f, &o);
    if (!e) fail_msg("%s", tn_error(tn_fn_ctx(f)));
    for (int j = 0; j < 2; j++) memset(a->out[j], 0xA5, a->bytes[j]);
    void *out[] = {first ? a->out[0] : NULL, second ? a->out[1] : NULL};
    for (int k = 0; k < 2; k++) /* the second time in used memory */
        if (tn_call(e, (const void *const *)a->in, out) != TN_OK) fail_msg("%s: %s", r->name, tn_exec_error(e));
    tn_exec_free(e);
}

static arrays arrays_of(const tn_fn *f) {
    arrays a;
    for (uint32_t i = 0; i < 4; i++) {
        const tn_type *t = f->val[i].type;
        a.in[i] = malloc(tn_type_bytes(t) + 1);
        fill_sines(t->dtype, a.in[i], (size_t)tn_i_count(t), 0.7 + i);
    }
    for (uint32_t j = 0; j < 2; j++) {
        a.bytes[j] = tn_type_bytes(f->val[f->out[j]].type);
        a.out[j] = malloc(a.bytes[j] + 1);
    }
    return a;
}

/* Those of the equations one by one, on all backends, whichever outputs are wanted; what came in stays. */
static void check_bits(const row *r, tn_ctx *c, tn_fn *f) {
    (void)c;
    const arrays a = arrays_of(f);
    void *want[2], *before = malloc(a.bytes[0] + 1);
    memcpy(before, a.in[3], a.bytes[0]);
    call(f, TN_BACKEND_REFERENCE, r, &a, true, true);
    for (int j = 0; j < 2; j++) memcpy(want[j] = malloc(a.bytes[j] + 1), a.out[j], a.bytes[j]);
    for (int k = 0; k < 2 * 3; k++) {
        const bool first = k % 3 != 1, second = k % 3 != 2;
        call(f, k < 3 ? TN_BACKEND_INTERPRETER : TN_BACKEND_NATIVE, r, &a, first, second);
        if (first && memcmp(a.out[0], want[0], a.bytes[0]) != 0) fail_msg("%s, %d: other bits", r->name, k);
        if (second && memcmp(a.out[1], want[1], a.bytes[1]) != 0) fail_msg("%s, %d: other bits", r->name, k);
        assert_memory_equal(a.in[3], before, a.bytes[0]);
    }
    for (int k = 0; k < 4; k++) free(a.in[k]);
    for (int j = 0; j < 2; j++) free(a.out[j]), free(want[j]);
    free(before);
}

static void bits(void **state) {
    (void)state;
    on_each_row(check_bits);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(which), cmocka_unit_test(bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
