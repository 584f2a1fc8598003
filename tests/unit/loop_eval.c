/* What loop programs mean: against results by hand, against the reference backend's reductions and the primitives'
 * scalar bodies, bit for bit; and random programs, which mean the same read from their text, copied, strip-mined, and
 * with independent iterations the other way round. */
#include "loop_random.h"
#include "prims/ids.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tn_ctx *ctx;

static int setup(void **state) {
    (void)state;
    ctx = tn_ctx_new(NULL);
    return ctx ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    tn_ctx_free(ctx);
    return 0;
}

static tn_i_loops *program(const char *text, const tn_i_l_kernel *kernel, size_t n) {
    tn_i_loops *p = tn_i_l_parse(ctx, text, strlen(text), "text", kernel, n);
    if (!p || !tn_i_l_check(p)) fail_msg("%s\n%s", text, tn_error(ctx));
    return p;
}

static void run(const char *text, char *const *base) {
    tn_i_loops *p = program(text, NULL, 0);
    if (tn_i_l_eval(p, base, NULL) != TN_OK) fail_msg("%s", tn_error(ctx));
    tn_i_l_free(p);
}

#define BASES(...) \
    (char *[]) { __VA_ARGS__ }
#define AT(x) ((char *)(x))

/* ---- by hand ---- */

static void loops_and_carries(void **state) {
    (void)state;
    double x = 2, root = 0;
    int64_t steps = 0, fib[2] = {0};
    run("loop {\n array x: f64[1] in base 0\n array y: f64[1] out base 1\n array n: i64[1] out base 2\n"
        "a: f64 = load x[0]\nhalf: f64 = number 0.5\neps: f64 = number 1e-15\nzero: i64 = number 0\none: i64 = number "
        "1\n"
        "for i {\n r: f64 = carry a\n k: i64 = carry zero\n rr: f64 = mul r r\n d: f64 = sub rr a\n e: f64 = abs d\n"
        "go: bool = gt e eps\n while go\n q: f64 = div a r\n s: f64 = add r q\n t: f64 = mul half s\n k1: i64 = add k "
        "one\n"
        "next r = t\n next k = k1\n}\nroot: f64 = last r\nsteps: i64 = last k\nstore y[0] = root\nstore n[0] = "
        "steps\n}",
        BASES(AT(&x), AT(&root), AT(&steps)));
    assert_true(fabs(root - sqrt(2)) < 1e-15);
    assert_int_equal(steps, 5);
    /* both carries at once; not at all */
    run("loop {\n array f: i64[2] out base 0\n a: i64 = number 0\n b: i64 = number 1\n"
        "for i < 10 {\n x: i64 = carry a\n y: i64 = carry b\n z: i64 = add x y\n next x = y\n next y = z\n}\n"
        "l: i64 = last x\nstore f[0] = l\nfor j < 0 {\n u: i64 = carry b\n next u = a\n}\nm: i64 = last u\nstore f[1] "
        "= m\n}",
        BASES(AT(fib)));
    assert_int_equal(fib[0], 55);
    assert_int_equal(fib[1], 1);
}

static void memory(void **state) {
    (void)state;
    double x[4] = {1, 2, 3, 4}, y[6] = {0}, z[4] = {0};
    int64_t n[4] = {-7, 2, 99, 1};
    run("loop {\n array x: f64[4] in base 0\n array n: i64[4] in base 1\n array y: f64[6] out base 2\n array z: f64[4] "
        "inout base 3\n"
        "zero: f64 = number 0\nlow: i64 = number 0\ntop: i64 = number 3\n"
        "for i < 6 {\n p: bool = within 1 <= i < 5\n v: f64 = load x[i - 1] where p else zero\n store y[-i + 5] = "
        "v\n}\n"
        "for i2 < 4 {\n k: i64 = load n[i2]\n v2: f64 = load x[clamp(k, 3)]\n a: bool = ge k low\n b: bool = le k "
        "top\n c: bool = and a b\n"
        "store z[-clamp(k, 3) + 3] = v2 where c\n}\n}",
        BASES(AT(x), AT(n), AT(y), AT(z)));
    assert_memory_equal(y, ((double[]){0, 4, 3, 2, 1, 0}), sizeof y);
    assert_memory_equal(z, ((double[]){0, 3, 2, 0}), sizeof z);
}

static void branches(void **state) {
    (void)state;
    double x[3] = {-1, 0, 2}, y[3] = {0};
    run("loop {\n array x: f64[3] in base 0\n array y: f64[3] out base 1\n zero: f64 = number 0\n"
        "for i < 3 {\n v: f64 = load x[i]\n p: bool = lt v zero\n if p {\n a: f64 = neg v\n} else {\n b: f64 = add v "
        "v\n}\n"
        "c: f64 = join a b\n if p {\n d: f64 = add c c\n}\n e: f64 = join d c\n store y[i] = e\n}\n}",
        BASES(AT(x), AT(y)));
    assert_memory_equal(y, ((double[]){2, 0, 4}), sizeof y);
}

static tn_status fails(const void *data, const tn_i_l_run *r, char *const *at, const int64_t *number) {
    (void)data, (void)r;
    ((double *)(void *)at[0])[0] += 1;
    return number[0] == 2 ? TN_ECALLBACK : TN_OK;
}

static void calls_fail(void **state) {
    (void)state;
    const tn_i_l_kernel kernel = {"count", fails, NULL};
    double y[2] = {0};
    tn_i_loops *p = program(
        "loop {\n array y: f64[2] inout base 0\n one: f64 = number 1\nfor i < 9 {\n call count(update y[1 : 1], i)\n}\n"
        "store y[0] = one\n}",
        &kernel, 1);
    assert_int_equal(tn_i_l_eval(p, BASES(AT(y)), NULL), TN_ECALLBACK);
    assert_true(y[0] == 0 && y[1] == 3);
    tn_i_l_free(p);
    p = program("loop {\n call unknown(3)\n}", &kernel, 1);
    assert_int_equal(tn_i_l_eval(p, NULL, NULL), TN_ERULE);
    tn_i_l_free(p);
}

/* ---- reductions: those of the reference backend ---- */

enum { MOST = 5000 };

static void reduced(const char *fold, const char *dtype, int64_t n, void *x, void *out, size_t size) {
    const bool arg = strncmp(fold, "arg", 3) == 0;
    char text[512], one[64] = {0};
    snprintf(text, sizeof text, "{ lambda x:%s[%d] . let s:%s[] = %s%s[axes=(0,)%s] x in (s,) }", dtype, (int)n,
             arg ? "i64" : dtype, arg ? "" : "reduce_", fold, arg ? " index_dtype=int64" : "");
    tn_fn *f = tn_fn_parse(ctx, text, strlen(text), "test.tn");
    if (!f) fail_msg("%s", tn_error(ctx));
    const tn_compile_options o = {.size = sizeof o, .backend = TN_BACKEND_REFERENCE};
    tn_exec *e = tn_compile(f, &o);
    if (!e) fail_msg("%s", tn_error(ctx));
    assert_int_equal(tn_call(e, (const void *const[]){x}, (void *const[]){one}), TN_OK);
    memcpy(out, one, size);
    tn_exec_free(e);
    tn_fn_free(f);
}

static void in_this_order(void **state) {
    (void)state;
    static const char *const folds[] = {"sum", "prod", "max", "min", "argmax", "argmin"};
    static const int64_t sizes[] = {1, 2, 15, 16, 17, 100, 511, 512, 513, 1024, 1537, 3584, MOST};
    tn_i_rng r = {7};
    for (int d = 0; d < 4; d++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (int f = 0; f < 6; f++) {
                static const uint8_t dtypes[] = {TN_F64, TN_F32, TN_I64, TN_I32};
                const int dtype = dtypes[d];
                const char *name = tn_i_dtype_name(dtype);
                _Alignas(64) static char x[MOST * 8];
                char text[512], got[8] = {0}, want[8] = {0};
                for (int64_t i = 0; i < sizes[s]; i++) {
                    double v = tn_i_uniform(&r, 0.5, 1.5);
                    float w = (float)v;
                    int64_t k = tn_i_pick(&r, -100, 100);
                    if (f >= 2 && tn_i_pick(&r, 0, 3000) == 0) v = NAN, w = NAN;
                    if (f >= 2 && tn_i_pick(&r, 0, 3) == 0) v = tn_i_pick(&r, 0, 1) ? -0.0 : 0.0, w = (float)v;
                    memcpy(x + i * (int64_t)tn_i_dtype_size(dtype),
                           dtype == TN_F64   ? (void *)&v
                           : dtype == TN_F32 ? (void *)&w
                                             : (void *)&k,
                           tn_i_dtype_size(dtype));
                }
                const size_t size = f >= 4 ? 8 : tn_i_dtype_size(dtype);
                snprintf(text, sizeof text,
                         "loop {\n array x: %s[%d] in base 0\n array y: %s[1] out base 1\n r: %s = reduce %s\n for i < "
                         "%d {\n"
                         " v: %s = load x[i]\n into r = v\n}\n s: %s = total r\n store y[0] = s\n}",
                         name, (int)sizes[s], f >= 4 ? "i64" : name, name, folds[f], (int)sizes[s], name,
                         f >= 4 ? "i64" : name);
                run(text, BASES(x, got));
                reduced(folds[f], name, sizes[s], x, want, size);
                if (memcmp(got, want, size) != 0) fail_msg("%s of %d %s", folds[f], (int)sizes[s], name);
            }
}

/* Many at once, empty ones, and one that is looked at in between. */
static void rows_of_sums(void **state) {
    (void)state;
    double x[6] = {1, 2, 3, 4, 5, 6}, y[3], z[3];
    run("loop {\n array x: f64[6] in base 0\n array y: f64[3] out base 1\n array z: f64[3] out base 2\n r: f64 = "
        "reduce prod 4\n"
        "for i < 2 {\n for j < 3 {\n v: f64 = load x[3 i + j]\n into r[j] = v\n}\n"
        "for j2 < 3 {\n t: f64 = total r[j2]\n p: bool = within i < 1\n store y[j2] = t where p\n store z[j2] = "
        "t\n}\n}\n"
        "e: f64 = total r[3]\nstore y[2] = e\n}",
        BASES(AT(x), AT(y), AT(z)));
    assert_memory_equal(y, ((double[]){1, 2, 1}), sizeof y);
    assert_memory_equal(z, ((double[]){4, 10, 18}), sizeof z);
}

/* Written out in loops: a leaf of 512. */
static void lanes(void **state) {
    (void)state;
    static double x[512];
    double y[2];
    tn_i_rng r = {3};
    for (int i = 0; i < 512; i++) x[i] = tn_i_uniform(&r, -1, 1);
    run("loop {\n array x: f64[512] in base 0\n array y: f64[2] out base 1\n zero: f64 = number 0\n"
        "for l < 16 vector 16 {\n for i < 32 {\n a: f64 = carry zero\n v: f64 = load x[16 i + l]\n b: f64 = add a v\n "
        "next a = b\n}\n"
        "s: f64 = last a\n}\nh: f64 = halves sum s\nstore y[0] = h\n"
        "q: f64 = reduce sum\nfor k < 512 {\n w: f64 = load x[k]\n into q = w\n}\nt: f64 = total q\nstore y[1] = t\n}",
        BASES(AT(x), AT(y)));
    assert_memory_equal(&y[0], &y[1], 8);
}

/* ---- elementwise primitives ---- */

static uint64_t number_of(tn_i_rng *r, int dtype) {
    static const double special[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1, -1, 0.5, 2.5, -3.5, 1e300, 1e-310};
    const double d = tn_i_pick(r, 0, 2) ? tn_i_uniform(r, -3, 3) : special[tn_i_pick(r, 0, 11)];
    const float f = (float)d;
    uint64_t bits = 0;
    if (dtype == TN_F64) return memcpy(&bits, &d, 8), bits;
    if (dtype == TN_F32) return memcpy(&bits, &f, 4), bits;
    if (dtype == TN_BOOL) return (uint64_t)tn_i_pick(r, 0, 1);
    bits = tn_i_pick(r, 0, 3) ? (uint64_t)tn_i_pick(r, -4, 4)
                              : (uint64_t)(int64_t[]){INT64_MIN, INT64_MAX, INT32_MIN, INT32_MAX}[tn_i_pick(r, 0, 3)];
    return dtype == TN_I32 || dtype == TN_U32 ? (uint32_t)bits : bits;
}

static bool is_nan(int dtype, uint64_t bits) {
    double d;
    float f;
    if (dtype == TN_F64) return memcpy(&d, &bits, 8), d != d;
    if (dtype == TN_F32) return memcpy(&f, &bits, 4), f != f;
    return false;
}

static bool converts(int id) { return id == TN_P_convert_element_type || id == TN_P_bitcast_convert_type; }

static bool as_wide(int a, int b) { return a != TN_BOOL && b != TN_BOOL && tn_i_dtype_size(a) == tn_i_dtype_size(b); }

static void same_as_primitive(const tn_prim *prim, int64_t param, int dtype, tn_i_rng *r) {
    const tn_i_param p = {.kind = prim->params ? prim->params[0].kind : TN_K_NONE, .u.i = param};
    tn_type type[3], out;
    const tn_type *in[3];
    uint64_t x[3], want = 0, got = 0;
    tn_i_arr arr[3] = {{0}}, to = {.type = &out, .data = &want};
    char why[256];
    const int mask = prim->id == TN_P_select ? 0 : -1;
    for (int i = 0; i < prim->nin; i++) {
        type[i] = tn_type_of(i == mask ? TN_BOOL : (tn_dtype)dtype, 0, NULL);
        in[i] = &type[i];
        x[i] = number_of(r, type[i].dtype);
        arr[i] = (tn_i_arr){.type = in[i], .data = &x[i]};
    }
    const bool compares = prim->type == tn_i_type_compare || prim->id == TN_P_is_finite;
    out = tn_type_of(compares ? TN_BOOL : converts(prim->id) ? (tn_dtype)param : (tn_dtype)dtype, 0, NULL);
    const tn_i_query q = {
        .ctx = ctx, .prim = prim, .p = &p, .nin = (uint32_t)prim->nin, .nout = 1, .in = in, .out = &out};
    const char *body;
    tn_i_strip *strip = tn_i_scalar_body(&q, &body);
    const tn_i_kernel k = {
        .prim = prim, .p = &p, .nin = q.nin, .nout = 1, .in = arr, .out = &to, .threads = 1, .message = why};
    if (strip)
        strip(1, (const void *const[]){&x[0], &x[1], &x[2]}, (const int64_t[]){1, 1, 1}, &want, 1);
    else
        assert_int_equal(prim->kernel(&k), TN_OK);
    tn_i_l_builder b;
    tn_i_l_begin(&b, ctx);
    const uint32_t y = tn_i_l_array_new(&b, "y", out.dtype, TN_L_OUT, 1, 0, 0, 0);
    uint32_t v[3];
    for (int i = 0; i < prim->nin; i++) v[i] = tn_i_l_number(&b, type[i].dtype, x[i]);
    tn_i_l_store_at(&b, y, tn_i_affine_number(0), tn_i_l_elementwise(&b, prim, &p, out.dtype, q.nin, v));
    tn_i_loops *made = tn_i_l_end(&b);
    if (!made || !tn_i_l_check(made)) fail_msg("%s of %s: %s", prim->name, tn_i_dtype_name(dtype), tn_error(ctx));
    assert_int_equal(tn_i_l_eval(made, BASES(AT(&got)), NULL), TN_OK);
    tn_i_l_free(made);
    if (got != want && !(is_nan(out.dtype, got) && is_nan(out.dtype, want)))
        fail_msg("%s(%lld) of %s: %llx %llx %llx gives %llx, not %llx", prim->name, (long long)param,
                 tn_i_dtype_name(dtype), (unsigned long long)x[0], (unsigned long long)x[1], (unsigned long long)x[2],
                 (unsigned long long)got, (unsigned long long)want);
}

static void each_primitive(void **state) {
    (void)state;
    tn_i_rng r = {11};
    int seen = 0;
    for (int id = 0; id < TN_NPRIMS; id++) {
        const tn_prim *prim = ctx->prims[id];
        if (!(prim->flags & TN_F_ELEMENTWISE)) continue;
        seen++;
        int64_t lo = 0, hi = 0;
        if (prim->id == TN_P_round) hi = 1;
        if (prim->id == TN_P_fma || prim->id == TN_P_strict_fma) hi = 2;
        if (converts(prim->id)) hi = TN_I_OWN_DTYPES - 1;
        if (prim->id == TN_P_integer_pow) lo = -18, hi = 18;
        for (int dtype = 0; dtype < TN_I_OWN_DTYPES; dtype++)
            for (int64_t param = lo; prim->dtypes >> dtype & 1 && param <= hi; param++)
                for (int k = 0; k < 150; k++)
                    if (prim->id == TN_P_bitcast_convert_type ? as_wide(dtype, (int)param)
                                                              : param >= 0 || tn_i_is_float(dtype))
                        same_as_primitive(prim, param, dtype, &r);
    }
    assert_true(seen > 50);
}

/* ---- random programs ---- */

static void strip_mine(tn_i_l_copy *c, uint32_t *k) {
    const tn_i_l_op *o = &c->p->op[*k], *behind = o->kind == TN_L_FOR ? &c->p->op[o->to + 1] : NULL;
    int64_t n;
    bool plain = behind && !o->vector && !o->parallel && tn_i_l_known_count(c->p, *k, &n) && n > 1 &&
                 (o->to + 1 == c->p->nop || behind->kind != TN_L_HALVES);
    for (uint32_t i = *k + 1, d = 0; plain && i < o->to; i++) {
        d += c->p->op[i].kind == TN_L_FOR;
        if (d == 0 && (c->p->op[i].kind == TN_L_CARRY || c->p->op[i].kind == TN_L_WHILE)) plain = false;
        d -= c->p->op[i].kind == TN_L_END && c->p->op[c->p->op[i].to].kind == TN_L_FOR;
    }
    if (!plain) {
        tn_i_l_copy_op(c, (*k)++);
        return;
    }
    const uint32_t outer = tn_i_l_for_n(c->b, (n + 3) / 4);
    const uint32_t inner = tn_i_l_for_up_to(c->b, 4, tn_i_affine_loop(outer, -4, n), TN_L_NONE);
    tn_i_l_copy_loop(c, *k, tn_i_affine_term(c->b, tn_i_affine_loop(outer, 4, 0), inner, 1));
    tn_i_l_copy_ops(c, *k + 1, o->to);
    tn_i_l_close(c->b);
    tn_i_l_close(c->b);
    *k = o->to + 1;
}

static tn_i_loops *copied(const tn_i_loops *p, bool strips) {
    tn_i_l_builder b;
    tn_i_l_copy c;
    tn_i_l_begin(&b, ctx);
    if (tn_i_l_copy_begin(&c, &b, p))
        for (uint32_t k = 0; k < p->nop && !b.failed;) {
            if (strips)
                strip_mine(&c, &k);
            else
                tn_i_l_copy_op(&c, k++);
        }
    tn_i_l_copy_end(&c);
    return tn_i_l_end(&b);
}

static void means(const tn_i_loops *p, const loop_memory *before, const loop_memory *after, const char *what,
                  uint64_t seed, bool backwards) {
    const tn_i_l_eval_options o = {.backwards = backwards};
    loop_memory m;
    uint32_t array;
    int64_t at;
    if (!p) fail_msg("%s, seed %llu: %s", what, (unsigned long long)seed, tn_error(ctx));
    if (!tn_i_l_check(p)) fail_msg("%s, seed %llu: %s", what, (unsigned long long)seed, tn_error(ctx));
    assert_true(loop_memory_like(&m, before));
    if (tn_i_l_eval(p, m.base, &o) != TN_OK)
        fail_msg("%s, seed %llu: %s", what, (unsigned long long)seed, tn_error(ctx));
    if (!loop_memory_same(p, &m, after, &array, &at)) {
        char *text = tn_i_l_print(p, NULL);
        fail_msg("%s, seed %llu: %s[%lld] differs\n%s", what, (unsigned long long)seed, p->array[array].name,
                 (long long)at, text);
    }
    loop_memory_free(&m);
}

static void random_programs(void **state) {
    (void)state;
    size_t ops = 0, kinds[TN_L_END + 1] = {0};
    for (uint64_t seed = 1; seed <= 400; seed++) {
        tn_i_rng r = {seed};
        size_t n, again;
        loop_memory before, after;
        tn_i_loops *p = loop_random(ctx, &r, LOOP_ALL);
        if (!p || !tn_i_l_check(p)) fail_msg("seed %llu: %s", (unsigned long long)seed, tn_error(ctx));
        assert_true(loop_memory_new(&before, p, &r) && loop_memory_like(&after, &before));
        if (tn_i_l_eval(p, after.base, NULL) != TN_OK)
            fail_msg("seed %llu: %s", (unsigned long long)seed, tn_error(ctx));
        ops += p->nop;
        for (uint32_t k = 0; k < p->nop; k++) kinds[p->op[k].kind]++;
        char *text = tn_i_l_print(p, &n), *same;
        tn_i_loops *q = tn_i_l_parse(ctx, text, n, "printed", &loop_random_kernel, 1);
        means(q, &before, &after, "its text", seed, false);
        same = tn_i_l_print(q, &again);
        assert_string_equal(text, same);
        tn_text_free(ctx, same);
        tn_i_l_free(q);
        q = copied(p, false);
        same = q ? tn_i_l_print(q, &again) : NULL;
        assert_non_null(same);
        assert_string_equal(text, same);
        tn_text_free(ctx, same);
        tn_i_l_free(q);
        q = copied(p, true);
        means(q, &before, &after, "in strips", seed, false);
        tn_i_l_free(q);
        means(p, &before, &after, "backwards", seed, true);
        tn_text_free(ctx, text);
        loop_memory_free(&before);
        loop_memory_free(&after);
        tn_i_l_free(p);
    }
    for (int k = 0; k <= TN_L_END; k++)
        if (kinds[k] < 10) fail_msg("of kind %d there are %zu among %zu operations", k, kinds[k], ops);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(loops_and_carries),
                                       cmocka_unit_test(memory),
                                       cmocka_unit_test(branches),
                                       cmocka_unit_test(calls_fail),
                                       cmocka_unit_test(in_this_order),
                                       cmocka_unit_test(rows_of_sums),
                                       cmocka_unit_test(lanes),
                                       cmocka_unit_test(each_primitive),
                                       cmocka_unit_test(random_programs)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
