/* Row blocks (strip-mining): which programs run in them, that bits stay, and that less memory is taken. */
#include "amount.h"
#include "unit/meter.h"
#include "unit/tracing.h"

#include "plan/row_blocks.h"
#include "plan/loop.h"
#include "plan/plan.h"
#include "tansy/ops.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST = 10 };

/* ---- programs ---------------------------------------------------------------------------------------------- */

/* in: A [n, k], y [n], w [k] */
static tn_val logistic(const tn_val *in, void *user) {
    (void)user;
    const tn_val z = tn_matmul(in[0], in[2]); /* first: compilers evaluate arguments in orders of their own */
    return tn_mean(tn_softplus(tn_mul(tn_neg(in[1]), z)));
}

/* in: X [n, k], targets [n], W [k, h], b [h], v [h] */
static tn_val layers(const tn_val *in, void *user) {
    (void)user;
    const tn_val h = tn_tanh(tn_add(tn_matmul(in[0], in[2]), in[3]));
    return tn_sum(tn_square(tn_sub(tn_matmul(h, in[4]), in[1])));
}

/* in: X [n, d], L [k, d, d], means [k, d], weights [k] */
static tn_val mixture(const tn_val *in, void *user) {
    (void)user;
    const tn_type x = tn_val_type(in[0]), l = tn_val_type(in[1]);
    const int64_t n = x.dim[0], d = x.dim[1], k = l.dim[0];
    const tn_val r = tn_reshape(tn_matmul(in[0], tn_t(tn_reshape(in[1], k * d, d))), n, k, d);
    const tn_val squares = tn_sum_axis(tn_square(tn_sub(r, in[2])), 2);
    return tn_sum(tn_logsumexp(tn_sub(in[3], tn_mul(0.5, squares)), 1));
}

/* in: X [n, k]: centred, so that rows are read again behind a sum of all of them */
static tn_val centred(const tn_val *in, void *user) {
    (void)user;
    const tn_val mean = tn_mul(1.0 / 3000, tn_sum_axis(in[0], 0));
    return tn_sum(tn_square(tn_tanh(tn_sub(in[0], mean))));
}

/* in: X [n, k], Y [n, h] */
static tn_val gram(const tn_val *in, void *user) {
    (void)user;
    const tn_val x = tn_sin(in[0]);
    const tn_val y = tn_mul(in[1], tn_sum_axis(tn_square(x), 1, TN_KEEPDIMS));
    return tn_sum_squares(tn_einsum("nk,nh->kh", tn_vals(x, y)));
}

/* in: A [n, k], y [n], w [k], v [k]: two products of A, rows that are summed, and what repeats along the rows */
static tn_val weighted(const tn_val *in, void *user) {
    (void)user;
    const tn_val scale = tn_cos(in[3]);
    const tn_val z = tn_matmul(in[0], tn_mul(in[2], scale)), u = tn_matmul(in[3], tn_t(in[0]));
    const tn_val r = tn_sum_axis(tn_square(tn_mul(in[0], scale)), 1);
    return tn_mean(tn_mul(tn_tanh(tn_sub(z, in[1])), tn_add(tn_sqrt(tn_add(r, 1)), tn_sin(u))));
}

typedef tn_val program(const tn_val *in, void *user);
typedef enum kind { VALUE, GRAD, BOTH, HVP } kind;

static tn_fn *made(tn_ctx *c, program *f, kind k, size_t nin, const tn_type *in, const tn_wrt_list *wrt) {
    tn_fn *one = tn_trace(c, f, NULL, nin, in);
    if (!one) fail_msg("%s", tn_error(c));
    tn_fn *g = k == VALUE  ? one
               : k == GRAD ? tn_grad(one, wrt, NULL)
               : k == BOTH ? tn_value_and_grad(one, wrt, NULL)
                           : tn_hvp(one, wrt, NULL);
    if (!g) fail_msg("%s", tn_error(c));
    return g;
}

static tn_i_plan *planned(const tn_fn *f, const tn_i_layout *layout) {
    tn_fn *g = tn_i_prepared(f);
    tn_i_plan *p = g ? tn_i_plan_new(g, layout) : NULL;
    if (!p) fail_msg("%s", tn_error(f->ctx));
    tn_fn_free(g);
    return p;
}

/* Scans in the plan, and bytes of its arena. */
static size_t blocks(const tn_fn *f, size_t *bytes) {
    tn_i_plan *p = planned(f, NULL);
    size_t n = 0;
    for (size_t i = 0; i < p->nstep; i++) n += p->step[i].kind == TN_STEP_LOOP;
    *bytes = p->bytes;
    tn_i_plan_free(f->ctx, p);
    return n;
}

/* ---- running --------------------------------------------------------------------------------------------------- */

static void fill(const tn_type *t, void *p, uint64_t seed) {
    for (int64_t i = 0; i < tn_i_count(t); i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        const double x = (double)(seed >> 11) / 9007199254740992.0 * 2 - 1;
        if (t->dtype == TN_F64)
            ((double *)p)[i] = x;
        else
            ((float *)p)[i] = (float)x;
    }
}

typedef struct arrays {
    uint32_t nin, nout;
    void *in[MOST], *out[MOST];
    size_t bytes[MOST];
} arrays;

static arrays arrays_of(const tn_fn *f) {
    arrays a = {.nin = f->nin, .nout = f->nout};
    assert_true(a.nin <= MOST && a.nout <= MOST);
    for (uint32_t i = 0; i < a.nin; i++) {
        a.in[i] = malloc(tn_type_bytes(f->val[i].type) + 1);
        fill(f->val[i].type, a.in[i], i + 1);
    }
    for (uint32_t j = 0; j < a.nout; j++) {
        a.bytes[j] = tn_type_bytes(f->val[f->out[j]].type);
        a.out[j] = malloc(a.bytes[j] + 1);
    }
    return a;
}

static void arrays_free(arrays *a) {
    for (uint32_t i = 0; i < a->nin; i++) free(a->in[i]);
    for (uint32_t j = 0; j < a->nout; j++) free(a->out[j]);
}

/* f as it is compiled with or without blocks; its outputs are new. */
static size_t call(const tn_fn *f, arrays *a, const tn_compile_options *o, bool whole, void **out) {
    f->ctx->whole = whole;
    tn_exec *e = tn_compile(f, o);
    f->ctx->whole = false;
    if (!e) fail_msg("%s", tn_error(f->ctx));
    for (uint32_t j = 0; j < a->nout; j++) memset(out[j] = malloc(a->bytes[j] + 1), 0xA5, a->bytes[j]);
    for (int k = 0; k < 2; k++) /* the second time in used memory */
        if (tn_call(e, (const void *const *)a->in, out) != TN_OK) fail_msg("%s", tn_exec_error(e));
    const size_t bytes = tn_exec_bytes(e);
    tn_exec_free(e);
    return bytes;
}

static void same_bits(const arrays *a, void **x, void **y, const char *what) {
    for (uint32_t j = 0; j < a->nout; j++)
        if (memcmp(x[j], y[j], a->bytes[j]) != 0) fail_msg("%s: output %u has other bits", what, (unsigned)j);
}

static void drop(const arrays *a, void **out) {
    for (uint32_t j = 0; j < a->nout; j++) free(out[j]);
}

static void near(const arrays *a, const tn_fn *f, void **x, void **y, const char *what) {
    for (uint32_t j = 0; j < a->nout; j++) {
        const tn_type *t = f->val[f->out[j]].type;
        double worst = 0, scale = 0;
        for (int64_t i = 0; i < tn_i_count(t); i++) {
            const double u = t->dtype == TN_F64 ? ((double *)x[j])[i] : (double)((float *)x[j])[i];
            const double v = t->dtype == TN_F64 ? ((double *)y[j])[i] : (double)((float *)y[j])[i];
            worst = fmax(worst, fabs(u - v));
            scale = fmax(scale, fabs(v));
        }
        if (!(worst <= (t->dtype == TN_F64 ? 1e-12 : 1e-4) * scale))
            fail_msg("%s: output %u is off", what, (unsigned)j);
    }
}

/* The same bits with blocks and without, on both backends and by two threads; the reference's numbers. */
static void agree(const tn_fn *f, const char *what, bool native) {
    arrays a = arrays_of(f);
    void *with[MOST], *without[MOST], *other[MOST];
    const tn_compile_options plain = {.size = sizeof plain}, two = {.size = sizeof two, .threads = 2};
    const tn_compile_options by_c = {.size = sizeof by_c, .backend = TN_BACKEND_NATIVE};
    const tn_compile_options reference = {.size = sizeof reference, .backend = TN_BACKEND_REFERENCE};
    size_t bytes;
    (void)blocks(f, &bytes);
    assert_true(call(f, &a, &plain, false, with) == bytes);
    assert_true(bytes <= call(f, &a, &plain, true, without) + TN_M_ROW_BLOCK_ARENA);
    same_bits(&a, with, without, what);
    drop(&a, without);
    assert_true(call(f, &a, &two, false, other) + TN_M_ROW_BLOCK_ARENA >= bytes);
    same_bits(&a, with, other, what);
    drop(&a, other);
    if (native) {
        assert_true(call(f, &a, &by_c, false, other) == bytes);
        same_bits(&a, with, other, what);
        drop(&a, other);
    }
    (void)call(f, &a, &reference, false, other);
    near(&a, f, with, other, what);
    drop(&a, other);
    drop(&a, with);
    arrays_free(&a);
}

/* ---- which programs -------------------------------------------------------------------------------------------- */

typedef struct row {
    const char *name;
    program *f;
    kind kind;
    size_t blocks;   /* scans */
    int64_t n, k, h; /* rows, columns, and what is beside them */
    int dtype;
    bool native;
} row;

static tn_fn *made_of(tn_ctx *c, const row *r) {
    const int64_t n = r->n, k = r->k, h = r->h;
    const tn_dtype t = (tn_dtype)r->dtype;
#define T(...) tn_type_of(t, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (const int64_t[]){__VA_ARGS__})
    if (r->f == logistic) return made(c, r->f, r->kind, 3, (tn_type[]){T(n, k), T(n), T(k)}, tn_wrt(2));
    if (r->f == weighted) return made(c, r->f, r->kind, 4, (tn_type[]){T(n, k), T(n), T(k), T(k)}, tn_wrt(2));
    if (r->f == layers)
        return made(c, r->f, r->kind, 5, (tn_type[]){T(n, k), T(n), T(k, h), T(h), T(h)}, tn_wrt(2, 3, 4));
    if (r->f == mixture)
        return made(c, r->f, r->kind, 4, (tn_type[]){T(n, k), T(h, k, k), T(h, k), T(h)}, tn_wrt(1, 2, 3));
    if (r->f == centred) return made(c, r->f, r->kind, 1, (tn_type[]){T(n, k)}, tn_wrt(0));
    return made(c, r->f, r->kind, 2, (tn_type[]){T(n, k), T(n, h)}, tn_wrt(0, 1));
#undef T
}

static const row rows[] = {
    {"logistic, value: A is read once", logistic, VALUE, 0, 2000, 500, 0, TN_F64, false},
    {"logistic", logistic, GRAD, 1, 2000, 500, 0, TN_F64, true},
    {"logistic, f32", logistic, GRAD, 1, 4001, 300, 0, TN_F32, true},
    {"logistic, value too: terms leave", logistic, BOTH, 1, 2049, 300, 0, TN_F64, true},
    {"logistic, whole blocks", logistic, HVP, 1, 2048, 400, 0, TN_F64, true},
    {"logistic, hvp", logistic, HVP, 1, 1300, 501, 0, TN_F64, true},
    {"logistic, in the cache", logistic, HVP, 0, 2000, 50, 0, TN_F64, false},
    {"logistic, few rows", logistic, HVP, 0, 500, 2000, 0, TN_F64, false},
    {"logistic, rows too long for a block", logistic, GRAD, 0, 1100, 9000, 0, TN_F64, false},
    {"logistic, long rows", logistic, GRAD, 1, 1100, 800, 0, TN_F64, true},
    {"logistic, as many columns as rows of a block", logistic, GRAD, 1, 5000, 128, 0, TN_F64, true},
    {"logistic, a block in the first cache", logistic, HVP, 1, 30001, 49, 0, TN_F32, true},
    {"logistic, short rows, f64", logistic, GRAD, 1, 20000, 60, 0, TN_F64, true},
    {"logistic, rows too short", logistic, GRAD, 1, 20000, 48, 0, TN_F64, true},
    {"weighted", weighted, GRAD, 1, 3001, 200, 0, TN_F64, true},
    {"weighted, f32 hvp", weighted, HVP, 1, 5003, 150, 0, TN_F32, true},
    {"layers", layers, BOTH, 1, 5000, 20, 60, TN_F64, true},
    {"layers, f32", layers, GRAD, 1, 9217, 33, 80, TN_F32, false},
    {"layers, a product BLIS would take", layers, GRAD, 1, 30000, 10, 64, TN_F64, false},
    {"layers, panels", layers, BOTH, 1, 3500, 300, 512, TN_F32, true},
    {"layers, panels, few rows left", layers, VALUE, 1, 3112, 300, 512, TN_F32, false},
    {"layers, panels, f64", layers, VALUE, 1, 4097, 350, 400, TN_F64, true},
    {"layers, too few panels", layers, GRAD, 0, 2500, 300, 512, TN_F32, false},
    {"layers, panels too large", layers, VALUE, 0, 1600, 3300, 512, TN_F32, false},
    {"mixture", mixture, BOTH, 1, 1000, 10, 25, TN_F64, true},
    {"mixture, many blocks", mixture, BOTH, 1, 7681, 4, 16, TN_F64, false},
    {"mixture, f32", mixture, GRAD, 1, 3072, 10, 25, TN_F32, false},
    {"mixture, f32 hvp", mixture, HVP, 1, 2050, 8, 20, TN_F32, true},
    {"sums that rows read", centred, GRAD, 0, 3000, 100, 0, TN_F64, false},
    {"gram", gram, VALUE, 1, 20000, 40, 30, TN_F64, false},
    {"gram, rows that are read again behind a sum", gram, GRAD, 0, 20000, 40, 30, TN_F64, false},
    {"no rows", logistic, GRAD, 0, 0, 500, 0, TN_F64, false},
    {"no columns", logistic, GRAD, 0, 200000, 0, 0, TN_F64, false},
};

static void which(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        tn_ctx *c = checked();
        size_t bytes;
        const tn_fn *f = made_of(c, &rows[i]);
        const size_t n = blocks(f, &bytes);
        if (n != rows[i].blocks) fail_msg("%s: %zu blocks, not %zu", rows[i].name, n, rows[i].blocks);
        tn_ctx_free(c);
    }
}

static void bits(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (SANITIZED && !in_turn(i, 8)) continue; /* vectors are loaded by calls there */
        tn_ctx *c = checked();
        agree(made_of(c, &rows[i]), rows[i].name, rows[i].native);
        tn_ctx_free(c);
    }
}

/* ---- as they are called ------------------------------------------------------------------------------------------ */

static void absent_outputs(void **state) {
    (void)state;
    tn_ctx *c = checked();
    const tn_fn *f = made_of(c, &(row){"", layers, BOTH, 1, 5000, 20, 60, TN_F64, false});
    arrays a = arrays_of(f);
    tn_exec *e = tn_compile(f, NULL);
    void *some[MOST], *all[MOST];
    assert_non_null(e);
    assert_int_equal(tn_call(e, (const void *const *)a.in, a.out), TN_OK);
    for (uint32_t set = 0; set < 1u << a.nout; set++) {
        for (uint32_t j = 0; j < a.nout; j++) {
            memset(all[j] = malloc(a.bytes[j]), 0xA5, a.bytes[j]);
            some[j] = set >> j & 1 ? all[j] : NULL;
        }
        assert_int_equal(tn_call(e, (const void *const *)a.in, some), TN_OK);
        for (uint32_t j = 0; j < a.nout; j++)
            if (some[j] && memcmp(some[j], a.out[j], a.bytes[j]) != 0) fail_msg("output %u of set %u", j, set);
        drop(&a, all);
    }
    arrays_free(&a);
    tn_ctx_free(c);
}

/* A by columns, from the last row on, and with rows apart. */
static void strides(void **state) {
    (void)state;
    enum { N = 1200, K = 260 };
    tn_ctx *c = checked();
    const tn_fn *f = made_of(c, &(row){"", logistic, HVP, 1, N, K, 0, TN_F64, false});
    static const int64_t stride[][2] = {{1, N}, {-K, 1}, {2 * K, 1}, {2, 3 * N}, {0, 1}};
    arrays a = arrays_of(f);
    double *room = malloc((size_t)6 * N * K * sizeof *room), *const a_in = a.in[0];
    for (size_t i = 0; i < COUNT(stride); i++) {
        const int64_t *in[] = {stride[i], NULL, NULL, NULL};
        tn_compile_options o = {.size = sizeof o, .in_strides = in};
        void *with[MOST], *without[MOST];
        double *first = room + (stride[i][0] < 0 ? (N - 1) * K : 0);
        for (int64_t r = 0; r < N; r++)
            for (int64_t k = 0; k < K; k++) first[r * stride[i][0] + k * stride[i][1]] = a_in[r * K + k];
        a.in[0] = first;
        const size_t bytes = call(f, &a, &o, false, with);
        if (call(f, &a, &o, true, without) <= bytes) fail_msg("strides %zu: no blocks", i);
        same_bits(&a, with, without, "strides");
        drop(&a, with);
        o.backend = TN_BACKEND_NATIVE;
        if (call(f, &a, &o, false, with) != bytes) fail_msg("strides %zu: native code takes other memory", i);
        same_bits(&a, with, without, "strides, native");
        drop(&a, with);
        drop(&a, without);
    }
    a.in[0] = a_in;
    free(room);
    arrays_free(&a);
    tn_ctx_free(c);
}

static size_t programs(const tn_ctx *c) {
    size_t n = 0;
    for (const tn_fn *f = c->fns; f; f = f->next) n++;
    return n;
}

/* Each allocation of tn_compile fails in turn, and calls take none. */
static void memory(void **state) {
    (void)state;
    meter m = {.living = 0};
    const tn_ctx_options o = {.size = sizeof o, .realloc = metered_realloc, .user = &m};
    tn_ctx *c = tn_ctx_new(&o);
    assert_non_null(c);
    const tn_fn *f = made_of(c, &(row){"", mixture, BOTH, 1, 1000, 10, 25, TN_F64, false});
    arrays a = arrays_of(f);
    tn_exec *e = NULL;
    const size_t before = programs(c);
    size_t n = 0;
    while (!e) {
        n += tests_long() ? 1 : 1 + n / 40;
        m.fail_at = m.calls + n;
        e = tn_compile(f, NULL);
        if (!e) assert_int_equal(tn_last_status(c), TN_ENOMEM);
        if (!e && programs(c) != before) fail_msg("allocation %zu: %zu programs are left", n, programs(c) - before);
    }
    m.fail_at = 0;
    assert_true(n > 1000);
    assert_int_equal(tn_call(e, (const void *const *)a.in, a.out), TN_OK);
    const size_t calls = m.calls;
    assert_int_equal(tn_call(e, (const void *const *)a.in, a.out), TN_OK);
    assert_true(m.calls == calls);
    tn_exec_free(e);
    arrays_free(&a);
    tn_ctx_free(c);
    assert_true(m.living == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(which), cmocka_unit_test(bits),
                                       cmocka_unit_test(absent_outputs), cmocka_unit_test(strides),
                                       cmocka_unit_test(memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
