/* Running loops, from text: carries, entries, stacks, memory, errors.  Rules of loops are tested elsewhere. */
#include "exec/exec.h"
#include "unit/meter.h"
#include "plan/live.h"
#include "plan/loop.h"
#include "tracing.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define IN(...)  ((const void *const[]){__VA_ARGS__})
#define OUT(...) ((void *const[]){__VA_ARGS__})

/* ---- contexts that count and fail ---------------------------------------------------------- */

static tn_ctx *counting_context(meter *m) {
    *m = (meter){0};
    return tn_ctx_new(
        &(tn_ctx_options){.size = sizeof(tn_ctx_options), .realloc = metered_realloc, .user = m, .check = 1});
}

#ifdef __GNUC__
__attribute__((format(printf, 2, 3)))
#endif
static tn_fn *
parse(tn_ctx *c, const char *fmt, ...) {
    char text[8192];
    va_list ap;
    va_start(ap, fmt);
    const int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    assert_in_range(n, 1, sizeof text - 1);
    tn_fn *f = tn_fn_parse(c, text, (size_t)n, "test.tn");
    if (!f) fail_msg("%s", tn_error(c));
    return f;
}

/* The picture of memory knows all of it. */
static void check_picture(const tn_exec *e) {
    tn_i_live l;
    assert_true(tn_i_live_of(e->plan, &l));
    assert_int_equal(l.top, tn_exec_bytes(e));
    assert_true(l.most <= l.top);
    tn_i_live_free(&l);
}

static tn_exec *compile(const tn_fn *f, const tn_compile_options *o) {
    tn_exec *e = tn_compile(f, o);
    if (!e) fail_msg("%s", tn_error(tn_fn_ctx(f)));
    check_picture(e);
    return e;
}

static void call(tn_exec *e, const void *const *in, void *const *out) {
    if (tn_call(e, in, out) != TN_OK) fail_msg("%s", tn_exec_error(e));
    assert_null(e->own->stacks.living);
}

static void call_once(const tn_fn *f, const void *const *in, void *const *out) {
    tn_exec *e = compile(f, NULL);
    call(e, in, out);
    tn_exec_free(e);
}

static double seconds(void) { return (double)clock() / CLOCKS_PER_SEC; }

/* Carries with two buffers in the plans of f's loops, those within loops too. */
static uint32_t pairs(const tn_exec *e) {
    uint32_t n = 0;
    for (size_t i = 0; i < e->plan->nloop; i++) n += e->plan->loop[i].npair;
    for (size_t k = 0; k < e->plan->nnested; k++)
        for (size_t i = 0; i < e->plan->nested[k]->nloop; i++) n += e->plan->nested[k]->loop[i].npair;
    return n;
}

/* ---- every dtype --------------------------------------------------------------------------- */

static double element(int dtype, const void *p, int64_t i) {
    return tn_i_element(dtype, (const char *)p + i * (int64_t)tn_i_dtype_size(dtype));
}

static void put(int dtype, void *p, int64_t i, int x) {
    tn_i_element_set(dtype, (char *)p + i * (int64_t)tn_i_dtype_size(dtype), x);
}

/* A running sum (bool: parity) over an array, in both directions, with what entered and the step's number as
 * entries; or, `counted`, through stacks, which a last loop writes into arrays. */
static tn_fn *running_sum(tn_ctx *c, int dtype, bool reverse, bool counted) {
    const char *t = tn_i_dtype_name(dtype), *op = dtype == TN_BOOL ? "xor" : "add", *way = reverse ? "True" : "False";
    if (!counted)
        return parse(c,
                     "{ lambda n:i64[] a:%s[3] xs:%s[7,3] js:i64[7] . let s:%s[3] ys:%s[7,3] is:i64[7] = "
                     "scan[program={ lambda i:i64[] a:%s[3] x:%s[3] . let b:%s[3] = %s a x in (b, a, i) } length=7 "
                     "num_consts=0 num_carry=1 reverse=%s index=True] a xs in (s, ys, is) }",
                     t, t, t, t, t, t, t, op, way);
    return parse(c,
                 "{ lambda n:i64[] a:%s[3] xs:%s[7,3] js:i64[7] . let zs:%s[?,3] = scan[program={ lambda i:i64[] "
                 "xs:%s[7,3] . let o:i64[] = sub i i x:%s[1,3] = dynamic_slice[slice_sizes=(1,3)] xs i o "
                 "y:%s[3] = reshape[new_sizes=(3,)] x in (y) } num_consts=1 num_carry=0 index=True] n xs "
                 "s:%s[3] ys:%s[?,3] is:i64[?] = scan[program={ lambda i:i64[] a:%s[3] x:%s[3] . let b:%s[3] = %s a x "
                 "in (b, a, i) } num_consts=0 num_carry=1 reverse=%s index=True] n a zs "
                 "us:%s[7,3] ks:i64[7] = scan[program={ lambda i:i64[] us:%s[7,3] ks:i64[7] y:%s[3] k:i64[] . let "
                 "o:i64[] = sub i i z:%s[1,3] = reshape[new_sizes=(1,3)] y v:%s[7,3] = dynamic_update_slice us z i o "
                 "l:i64[1] = reshape[new_sizes=(1,)] k m:i64[7] = dynamic_update_slice ks l i in (v, m) } num_consts=0 "
                 "num_carry=2 index=True] n xs js ys is in (s, us, ks) }",
                 t, t, t, t, t, t, t, t, t, t, t, op, way, t, t, t, t, t);
}

static void test_dtypes(void **state) {
    (void)state;
    tn_ctx *c = checked();
    for (int dtype = 0; dtype < TN_NDTYPES; dtype++)
        for (int way = 0; way < 4; way++) {
            const bool reverse = way & 1;
            tn_fn *f = running_sum(c, dtype, reverse, way & 2);
            _Alignas(8) unsigned char a[24], xs[168], s[24], ys[168];
            int64_t is[7], js[7] = {0};
            int want[3] = {1, 2, 3};
            for (int k = 0; k < 3; k++) put(dtype, a, k, want[k]);
            for (int k = 0; k < 21; k++) put(dtype, xs, k, k % 5);
            call_once(f, IN((int64_t[]){7}, a, xs, js), OUT(s, ys, is));
            for (int i = 0; i < 7; i++) {
                const int at = reverse ? 6 - i : i;
                assert_int_equal(is[at], at);
                for (int k = 0; k < 3; k++) {
                    if (dtype == TN_BOOL) want[k] = (want[k] != 0);
                    assert_true(element(dtype, ys, 3 * at + k) == want[k]);
                    const int x = (3 * at + k) % 5;
                    want[k] = dtype == TN_BOOL ? want[k] ^ (x != 0) : want[k] + x;
                }
            }
            for (int k = 0; k < 3; k++) assert_true(element(dtype, s, k) == want[k]);
            tn_fn_free(f);
        }
    tn_ctx_free(c);
}

/* ---- carries ------------------------------------------------------------------------------------ */

/* What enters as one leaf and leaves as another, as two, or as an entry too; a const that becomes a carry. */
static void test_carries_that_change_places(void **state) {
    (void)state;
    tn_ctx *c = checked();
    static const char text[] =
        "{ lambda a:f64[2] b:f64[2] . let"
        "  p:f64[2] q:f64[2] = scan[program={ lambda a:f64[2] b:f64[2] . let in (b, a) } length=%d num_consts=0 "
        "num_carry=2] a b"
        "  r:f64[2] = scan[program={ lambda k:f64[2] c:f64[2] . let in (k) } length=%d num_consts=1 num_carry=1] a b"
        "  s:f64[2] t:f64[2] us:f64[%d,2] = scan[program={ lambda k:f64[2] c:f64[2] . let v:f64[2] = add k c in (v, v, "
        "v) } length=%d num_consts=0 num_carry=2] a b"
        "  u:f64[2] = scan[program={ lambda k:f64[2] c:f64[2] . let v:f64[2] = add k c in (v) } length=%d num_consts=1 "
        "num_carry=1] a a"
        "  x:f64[2] y:f64[2] zs:f64[%d,2] = scan[program={ lambda a:f64[2] b:f64[2] . let c:f64[2] = add a b in (b, c, "
        "a) } length=%d num_consts=0 num_carry=2] a b"
        "  in (p, q, r, s, t, us, u, x, y, zs) }";
    const double a[2] = {1, 2}, b[2] = {3, 5};
    for (int n = 0; n < 6; n++) {
        tn_fn *f = parse(c, text, n, n, n, n, n, n, n);
        double o[10][12];
        call_once(f, IN(a, b), OUT(o[0], o[1], o[2], o[3], o[4], o[5], o[6], o[7], o[8], o[9]));
        for (int k = 0; k < 2; k++) {
            double s = a[k], t = b[k], x = a[k], y = b[k];
            assert_true(o[0][k] == (n % 2 ? b : a)[k] && o[1][k] == (n % 2 ? a : b)[k]);
            assert_true(o[2][k] == (n ? a : b)[k] && o[6][k] == a[k] * (n + 1));
            for (int i = 0; i < n; i++) {
                assert_true(o[9][2 * i + k] == x);
                const double z = x + y;
                x = y, y = z;
                s = t = s + t;
                assert_true(o[5][2 * i + k] == s);
            }
            assert_true(o[3][k] == s && o[4][k] == t && o[7][k] == x && o[8][k] == y);
        }
        tn_fn_free(f);
    }
    tn_ctx_free(c);
}

#define UPDATE(type, op)                                                                                \
    "i:i64[] a:" type " . let u:f64[1] = dynamic_slice[slice_sizes=(1,)] a i v:f64[1] = " op " b:" type \
    " = dynamic_update_slice a v i in (b) }"

/* Updates of an array in place take time by the element, also through loops within loops; the arena does not grow. */
static void test_in_place(void **state) {
    (void)state;
    enum { N = 1000000 };
    tn_ctx *c = checked();
    tn_fn *f = parse(
        c, "{ lambda a:f64[1000000] . let"
           " b:f64[1000000] = scan[program={ lambda " UPDATE(
               "f64[1000000]", "add u 1.0:f64[]") " length=10000 num_consts=0 num_carry=1 index=True] a in (b) }");
    tn_fn *g =
        parse(c, "{ lambda a:f64[1000000] . let"
                 " d:f64[1000000] = scan[program={ lambda a:f64[1000000] . let"
                 " c:f64[1000000] = scan[program={ lambda a:f64[1000000] . let"
                 " b:f64[1000000] = scan[program={ lambda " UPDATE(
                     "f64[1000000]", "add u 1.0:f64[]") " length=10 num_consts=0 num_carry=1 index=True] a in (b) } "
                                                        "length=10 num_consts=0 num_carry=1]"
                                                        " a in (c) } length=100 num_consts=0 num_carry=1] a in (d) }");
    double *a = calloc(N, sizeof *a), *b = calloc(N, sizeof *b);
    assert_true(a && b);
    for (int k = 0; k < 2; k++) {
        tn_exec *e = compile(k ? g : f, NULL);
        assert_int_equal(pairs(e), 0);
        assert_in_range(tn_exec_bytes(e), 0, 4096);
        assert_int_equal(tn_exec_bytes_per_step(e), 0);
        const double from = seconds();
        call(e, IN(a), OUT(b));
        assert_true(seconds() - from < 0.5); /* copies of the array would take 10 s */
        for (int i = 0; i < N; i++) assert_true(b[i] == (k ? i < 10 ? 1000 : 0 : i < 10000 ? 1 : 0));
        tn_exec_free(e);
    }
    free(a);
    free(b);
    tn_ctx_free(c);
}

/* A carry that is read after it could be written over has two buffers, and no more. */
static void test_two_buffers(void **state) {
    (void)state;
    enum { N = 1000 };
    tn_ctx *c = checked();
    tn_fn *f = parse(c, "{ lambda a:f64[1000] . let b:f64[1000] s:f64[] = scan[program={ lambda a:f64[1000] s:f64[] . "
                        "let b:f64[1000] = add a 1.0:f64[] c:f64[1000] = mul a b t:f64[] = reduce_sum[axes=(0,)] c "
                        "u:f64[] = add s t in (b, u) } length=9 num_consts=0 num_carry=2] a 0.0:f64[] in (b, s) }");
    static double a[N], b[N];
    double s, want = 0;
    for (int i = 0; i < N; i++) a[i] = i % 7;
    for (int k = 0; k < 9; k++)
        for (int i = 0; i < N; i++) want += (a[i] + k) * (a[i] + k + 1);
    tn_exec *fused = compile(f, NULL); /* each element is read before it is written over */
    assert_int_equal(pairs(fused), 0);
    tn_exec_free(fused);
    const tn_compile_options alone = {.size = sizeof alone, .backend = TN_BACKEND_REFERENCE};
    tn_exec *e = compile(f, &alone);
    assert_int_equal(pairs(e), 1);
    assert_in_range(tn_exec_bytes(e), 2 * 8 * N, 2 * 8 * N + 1024); /* c is where a step found a */
    call(e, IN(a), OUT(b, &s));
    assert_true(s == want);
    for (int i = 0; i < N; i++) assert_true(b[i] == a[i] + 9);
    tn_exec_free(e);
    tn_ctx_free(c);
}

/* ---- entries ------------------------------------------------------------------------------------- */

/* Arrays that are scanned over as they lie: transposed, repeated, upside down; columns given by the caller. */
static void test_views(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = parse(c, "{ lambda a:f64[3,4] b:f64[3] . let t:f64[4,3] = transpose[permutation=(1,0)] a"
                        " u:f64[4,3] = broadcast_in_dim[shape=(4,3) broadcast_dimensions=(1,)] b"
                        " v:f64[4,3] = rev[dimensions=(0,)] t"
                        " z:f64[3] = broadcast_in_dim[shape=(3,) broadcast_dimensions=()] 0.0:f64[]"
                        " s:f64[3] ys:f64[4,3] = scan[program={ lambda k:f64[3] s:f64[3] x:f64[3] y:f64[3] w:f64[3] . "
                        "let p:f64[3] = mul x y q:f64[3] = add p w r:f64[3] = add s q o:f64[3] = mul r k in (r, o) } "
                        "length=4 num_consts=1 num_carry=1] b z t u v in (s, ys) }");
    const double a[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, b[3] = {1, 10, 100};
    double flipped[12], s[3], ys[12];
    for (int i = 0; i < 12; i++) flipped[i % 4 * 3 + i / 4] = a[i];
    const int64_t columns[] = {1, 3};
    for (int k = 0; k < 2; k++) {
        tn_exec *e =
            compile(f, &(tn_compile_options){.size = sizeof(tn_compile_options),
                                             .in_strides = (const int64_t *const[]){k ? columns : NULL, NULL}});
        call(e, IN(k ? flipped : a, b), OUT(s, ys));
        for (int j = 0; j < 3; j++) {
            double want = 0;
            for (int i = 0; i < 4; i++) {
                want += a[4 * j + i] * b[j] + a[4 * j + 3 - i];
                assert_true(ys[3 * i + j] == want * b[j]);
            }
            assert_true(s[j] == want);
        }
        tn_exec_free(e);
    }
    tn_ctx_free(c);
}

/* No steps: what is carried comes out, and outputs without elements are not touched; so do arrays without elements. */
static void test_nothing(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = parse(c, "{ lambda n:i64[] a:f64[2] e:f64[0] . let"
                        " b:f64[2] = scan[program={ lambda a:f64[2] . let b:f64[2] = neg a in (b) } num_consts=0 "
                        "num_carry=1] n a"
                        " c:f64[2] ys:f64[0,2] = scan[program={ lambda a:f64[2] . let b:f64[2] = neg a in (b, b) } "
                        "length=0 num_consts=0 num_carry=1] a"
                        " g:f64[0] zs:f64[5,0] = scan[program={ lambda a:f64[0] . let b:f64[0] = neg a in (b, b) } "
                        "length=5 num_consts=0 num_carry=1] e"
                        " h:f64[0] m:i64[] ws:f64[?,0] = while[cond={ lambda i:f64[0] . let in (False:bool[]) } "
                        "body={ lambda a:f64[0] . let b:f64[0] = neg a in (b, b) } cond_nconsts=0 body_nconsts=0 "
                        "count=True] e"
                        " k:f64[0] = scan[program={ lambda a:f64[0] w:f64[0] . let in (w) } num_consts=0 num_carry=1] "
                        "n e ws in (b, c, ys, g, zs, h, m, k) }");
    double b[2], d[2];
    int64_t m = 7;
    tn_exec *e = compile(f, NULL);
    for (int64_t n = -3; n < 3; n++) {
        call(e, IN(&n, P(1, 2), NULL), OUT(b, d, NULL, NULL, NULL, NULL, &m, NULL));
        assert_true(b[1] == (n == 1 ? -2 : 2) && d[1] == 2 && m == 0);
    }
    tn_exec_free(e);
    tn_ctx_free(c);
}

/* ---- stacks ------------------------------------------------------------------------------------- */

/* A while that doubles what is carried, until a sum is reached, and loops over its stacks, one of them backwards. */
static const char doubling[] =
    "{ lambda a:f64[2] m:f64[] . let"
    "  w:f64[2] k:i64[] ys:f64[?,2] zs:f64[?] = while[cond={ lambda m:f64[] x:f64[2] . let s:f64[] = "
    "reduce_sum[axes=(0,)] x g:bool[] = lt s m in (g) } body={ lambda x:f64[2] . let y:f64[2] = add x 1.0:f64[] "
    "s:f64[] "
    "= reduce_sum[axes=(0,)] x in (y, x, s) } cond_nconsts=1 body_nconsts=0 count=True] m a"
    "  t:f64[2] us:f64[?,2] = scan[program={ lambda c:f64[2] x:f64[2] z:f64[] . let d:f64[2] = mul c 0.5:f64[] "
    "e:f64[2] "
    "= add d x in (e, e) } num_consts=0 num_carry=1 reverse=True] k a ys zs"
    "  one:f64[?,2] = broadcast_in_dim[shape=(?,2) broadcast_dimensions=()] 1.0:f64[]"
    "  r:f64[2] = scan[program={ lambda c:f64[2] x:f64[2] z:f64[2] . let d:f64[2] = add c x e:f64[2] = add d z in (e) "
    "} "
    "num_consts=0 num_carry=1] k a us one"
    "  in (w, k, t, r) }";

static void assert_doubled(const double *a, double m, const double *w, int64_t n, const double *t, const double *r) {
    double sum = a[0] + a[1];
    int64_t steps = 0;
    for (; sum < m; steps++) sum += 2;
    assert_int_equal(n, steps);
    for (int k = 0; k < 2; k++) {
        double c = a[k], all = a[k];
        for (int64_t i = steps; i-- > 0;) {
            c = c * 0.5 + (a[k] + (double)i);
            all += c + 1;
        }
        assert_true(w[k] == a[k] + (double)steps && t[k] == c);
        assert_true(fabs(r[k] - all) <= 1e-9 * fabs(all));
    }
}

/* From none to pages of them; memory is kept for the next call, and is what the steps need and a page for each stack.
 */
static void test_stacks(void **state) {
    (void)state;
    meter m;
    tn_ctx *c = counting_context(&m);
    tn_fn *f = parse(c, "%s", doubling);
    tn_exec *e = compile(f, NULL);
    assert_int_equal(tn_exec_bytes_per_step(e), 5 * 8); /* ys, zs and us at one time */
    const double a[2] = {1, 2};
    double w[2], t[2], r[2];
    int64_t n;
    for (double end = 0; end < 3e5; end = 4 * end + 3) {
        call(e, IN(a, &end), OUT(w, &n, t, r));
        assert_doubled(a, end, w, n, t, r);
        assert_in_range(e->own->stacks.bytes, 0, 5 * 8 * (size_t)n + 3 * (65536 + 4096) + 65536);
    }
    const size_t calls = m.calls, bytes = e->own->stacks.bytes;
    for (double end = 3; end < 5e4; end *= 9) call(e, IN(a, &end), OUT(w, &n, t, r));
    assert_int_equal(m.calls, calls);
    assert_int_equal(e->own->stacks.bytes, bytes);
    tn_exec_free(e);
    tn_fn_free(f);
    tn_ctx_free(c);
    assert_int_equal(m.living, 0);
}

/* Where memory ends the call fails, and the next one is as good as ever. */
static void test_stack_limits(void **state) {
    (void)state;
    meter m;
    tn_ctx *c = counting_context(&m);
    tn_fn *f = parse(c, "%s", doubling);
    const double a[2] = {1, 2}, few = 100, many = 2e6;
    double w[2], t[2], r[2];
    int64_t n;
    tn_exec *e = compile(f, &(tn_compile_options){.size = sizeof(tn_compile_options), .stack_limit = 1 << 20});
    for (int k = 0; k < 3; k++) {
        assert_int_equal(tn_call(e, IN(a, &many), OUT(w, &n, t, r)), TN_ENOMEM);
        assert_non_null(strstr(tn_exec_error(e), "while: out of memory for stacks, which take "));
        assert_in_range(e->own->stacks.bytes, 0, 1 << 20);
        call(e, IN(a, &few), OUT(w, &n, t, r));
        assert_doubled(a, few, w, n, t, r);
    }
    for (size_t spare = 0; spare <= 1 << 20; spare += 1 << 18) { /* the caller's memory */
        const size_t bytes = tn_work_bytes(e) + spare;
        unsigned char *memory = malloc(bytes + 1);
        assert_non_null(memory);
        tn_work *work = tn_work_new(e, memory + 1, bytes);
        assert_non_null(work);
        for (int k = 0; k < 3; k++) {
            assert_int_equal(tn_call_in(e, work, IN(a, &many), OUT(w, &n, t, r)), TN_ENOMEM);
            assert_int_equal(tn_call_in(e, work, IN(a, &few), OUT(w, &n, t, r)), spare ? TN_OK : TN_ENOMEM);
            if (spare) assert_doubled(a, few, w, n, t, r);
        }
        tn_work_free(work);
        free(memory);
    }
    tn_exec_free(e);
    e = compile(f, NULL);
    m.calls = 0;
    for (size_t at = 1;; at++) {
        m.fail_at = m.calls + at;
        const tn_status s = tn_call(e, IN(a, &few), OUT(w, &n, t, r));
        const bool over = m.calls < m.fail_at;
        m.fail_at = 0;
        if (over) break;
        assert_int_equal(s, TN_ENOMEM);
        assert_true(at < 100);
        tn_exec_free(e);
        e = compile(f, NULL);
    }
    call(e, IN(a, &few), OUT(w, &n, t, r));
    assert_doubled(a, few, w, n, t, r);
    tn_exec_free(e);
    tn_fn_free(f);
    tn_ctx_free(c);
    assert_int_equal(m.living, 0);
}

/* Loops within loops: an array of stacks, and a stack of stacks, share pages. */
static void test_stacks_of_stacks(void **state) {
    (void)state;
    tn_ctx *c = checked();
    static const char text[] =
        "{ lambda n:i64[] a:f64[] m:f64[] . let"
        "  r:f64[] ks:i64[%s] yss:f64[%s,?,3] = scan[program={ lambda m:f64[] c:f64[] . let"
        "    w:f64[] k:i64[] ys:f64[?,3] = while[cond={ lambda m:f64[] x:f64[] . let g:bool[] = lt x m in (g) } body={ "
        "lambda x:f64[] . let y:f64[] = mul x 2.0:f64[] v:f64[3] = broadcast_in_dim[shape=(3,) "
        "broadcast_dimensions=()] x in (y, v) } cond_nconsts=1 body_nconsts=0 count=True] m c"
        "    d:f64[] = add c 0.125:f64[] in (d, k, ys) } %s num_consts=1 num_carry=1] %s m a"
        "  z:f64[3] = broadcast_in_dim[shape=(3,) broadcast_dimensions=()] 0.0:f64[]"
        "  zss:f64[%s,?,3] = call[name=\"same\" program={ lambda yss:f64[%s,?,3] . let in (yss) }] yss"
        "  oss:f64[%s,?,3] = call[name=\"ones\" program={ lambda . let o:f64[%s,?,3] = broadcast_in_dim[shape=(%s,?,3) "
        "broadcast_dimensions=()] 1.0:f64[] in (o) }]"
        "  t:f64[3] i:i64[] = scan[program={ lambda c:f64[3] i:i64[] k:i64[] ys:f64[?,3] zs:f64[?,3] os:f64[?,3] . let"
        "    e:f64[3] = scan[program={ lambda c:f64[3] y:f64[3] z:f64[3] o:f64[3] . let d:f64[3] = mul c 0.5:f64[] "
        "e:f64[3] = add d y f:f64[3] = add e z g:f64[3] = add f o in (g) } num_consts=0 num_carry=1 reverse=True] k c "
        "ys "
        "zs os"
        "    j:i64[] = add i k in (e, j) } %s num_consts=0 num_carry=2 reverse=True] %s z 0:i64[] ks yss zss oss"
        "  in (r, t, i) }";
    for (int k = 0; k < 2; k++) {
        const char *n = k ? "?" : "1000", *length = k ? "" : "length=1000", *count = k ? "n" : "";
        tn_fn *f = parse(c, text, n, n, length, count, n, n, n, n, n, length, count);
        const int64_t steps = 1000;
        const double a = 1, m = 1000;
        double r, t[3], want = 0, from = a + 0.125 * 999;
        int64_t i, all = 0;
        for (int64_t s = 0; s < steps; s++, from -= 0.125) {
            int inner = 0;
            for (double x = from; x < m; x *= 2) inner++;
            for (int j = inner; j-- > 0;) want = want * 0.5 + 2 * ldexp(from, j) + 1;
            all += inner;
        }
        tn_exec *e = compile(f, NULL);
        for (int again = 0; again < 2; again++) {
            call(e, IN(&steps, &a, &m), OUT(&r, t, &i));
            assert_true(r == a + 0.125 * 1000);
            assert_int_equal(i, all);
            close_to(t, P(want, want, want), 3, 1e-12);
            /* 24 bytes an entry, one chain; as a stack of stacks its handles and counts are in pages too */
            assert_in_range(e->own->stacks.bytes, 24 * (size_t)all, 24 * (size_t)all + (k ? 5u : 2u) * (65536 + 1024));
        }
        tn_exec_free(e);
        tn_fn_free(f);
    }
    tn_ctx_free(c);
}

/* Entries of every size: pages of one entry, and of thousands. */
static void test_entry_sizes(void **state) {
    (void)state;
    tn_ctx *c = checked();
    static const int size[] = {1, 3, 100, 1500, 100000, 700000};
    double *a = malloc(700000 * sizeof *a), *b = malloc(700000 * sizeof *b);
    assert_true(a && b);
    for (size_t k = 0; k < COUNT(size); k++) {
        const int64_t n = size[k] < 1000 ? 3000 : 9;
        tn_fn *f =
            parse(c,
                  "{ lambda n:i64[] a:f64[%d] . let b:f64[%d] ys:f64[?,%d] = scan[program={ lambda a:f64[%d] . let"
                  " b:f64[%d] = add a 1.0:f64[] in (b, a) } num_consts=0 num_carry=1] n a c:f64[%d] = "
                  "scan[program={ lambda c:f64[%d] y:f64[%d] . let d:f64[%d] = sub y c in (d) } num_consts=0 "
                  "num_carry=1 reverse=True] n b ys in (c) }",
                  size[k], size[k], size[k], size[k], size[k], size[k], size[k], size[k], size[k]);
        for (int i = 0; i < size[k]; i++) a[i] = i % 10;
        tn_exec *e = compile(f, NULL);
        const size_t entry = 8 * (size_t)size[k], page = entry > 4 << 20 ? entry : 4 << 20;
        assert_int_equal(tn_exec_bytes_per_step(e), entry);
        call(e, IN(&n, a), OUT(b));
        for (int i = 0; i < size[k]; i++) {
            double want = a[i] + (double)n;
            for (int64_t s = n; s-- > 0;) want = a[i] + (double)s - want;
            assert_true(b[i] == want);
        }
        assert_in_range(e->own->stacks.bytes, entry * (size_t)n, entry * (size_t)n + page + 65536);
        tn_exec_free(e);
        tn_fn_free(f);
    }
    free(a);
    free(b);
    tn_ctx_free(c);
}

/* ---- calls ---------------------------------------------------------------------------------------- */

/* What is not wanted is not run; a stack that is not made is not given up. */
static void test_unwanted(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f =
        parse(c, "{ lambda n:i64[] a:f64[] . let"
                 " b:f64[] ys:f64[?] = scan[program={ lambda a:f64[] . let b:f64[] = add a 1.0:f64[] in (b, a) } "
                 "num_consts=0 num_carry=1] n a"
                 " c:f64[] = scan[program={ lambda c:f64[] y:f64[] . let d:f64[] = add c y in (d) } num_consts=0 "
                 "num_carry=1] n a ys"
                 " d:f64[] = sin a in (b, c, d) }");
    tn_exec *e = compile(f, NULL);
    const int64_t n = 4;
    for (int k = 0; k < 16; k++) {
        double o[3] = {-1, -1, -1};
        call(e, IN(&n, P(1)), OUT(k & 1 ? &o[0] : NULL, k & 2 ? &o[1] : NULL, k & 4 ? &o[2] : NULL));
        assert_true(o[0] == (k & 1 ? 5 : -1) && o[1] == (k & 2 ? 11 : -1) && (o[2] == -1) == !(k & 4));
    }
    tn_exec_free(e);
    tn_ctx_free(c);
}

typedef struct record {
    double seen[16];
    int n;
} record;

static int note(void *user, const tn_effect *e) {
    record *r = user;
    if (r->n < 16 && e->n) r->seen[r->n++] = *(const double *)e->array[0].data;
    return 0;
}

/* Effects of steps are heard in the order of the steps, and an assertion that fails ends all loops around it. */
static void test_effects(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f =
        parse(c, "{ lambda a:f64[] . let\n b:f64[] = scan[program={ lambda a:f64[] . let\n b:f64[] = "
                 "scan[program={ lambda a:f64[] . let\n () = print[message=\"a\"] a\n p:bool[] = lt a 5.0:f64[]\n"
                 " () = assert[message=\"small\"] p\n b:f64[] = add a 1.0:f64[] in (b) } length=2 num_consts=0 "
                 "num_carry=1] a in (b) } length=3 num_consts=0 num_carry=1] a in (b) }");
    record r = {.n = 0};
    tn_exec *e =
        compile(f, &(tn_compile_options){.size = sizeof(tn_compile_options), .observer = note, .observer_user = &r});
    double b;
    call(e, IN(P(-1)), OUT(&b));
    for (int i = 0; i < r.n; i++) assert_true(r.seen[i] == i - 1);
    assert_true(b == 5 && r.n == 6);
    assert_int_equal(tn_call(e, IN(P(2)), OUT(&b)), TN_EASSERT);
    assert_non_null(strstr(tn_exec_error(e), "test.tn:6: assert: small"));
    tn_exec_free(e);
    tn_ctx_free(c);
}

/* A value of the body that waits in the spill file, at each step, in loops within loops. */
static void test_spill(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f =
        parse(c, "{ lambda a:f64[50] . let b:f64[50] = scan[program={ lambda a:f64[50] . let s:f64[50] = mul a "
                 "2.0:f64[] o:f64[50] = offload s b:f64[50] = scan[program={ lambda a:f64[50] . let t:f64[50] = "
                 "add a 1.0:f64[] p:f64[50] = offload t u:f64[50] = neg a v:f64[50] = add u p w:f64[50] = add a v"
                 " in (w) } length=3 num_consts=0 num_carry=1] a d:f64[50] = add b o in (d) } length=4 "
                 "num_consts=0 num_carry=1] a in (b) }");
    tn_exec *e = compile(f, &(tn_compile_options){.size = sizeof(tn_compile_options), .spill_dir = "/tmp"});
    assert_true(tn_exec_spill_bytes(e) >= 800);
    double a[50], b[50];
    for (int i = 0; i < 50; i++) a[i] = i;
    call(e, IN(a), OUT(b));
    for (int i = 0; i < 50; i++) {
        double want = i;
        for (int k = 0; k < 4; k++) want = want + 3 + 2 * want;
        assert_true(b[i] == want);
    }
    tn_exec_free(e);
    tn_ctx_free(c);
}

/* ---- what is refused --------------------------------------------------------------------------- */

static void test_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *error;
    } row[] = {
        {"{ lambda n:i64[] xs:f64[?] . let c:f64[] = scan[program={ lambda c:f64[] x:f64[] . let in (x) } num_consts=0 "
         "num_carry=1] n 0.0:f64[] xs in (c) }",
         "tn_compile: input 1 (f64[?]) has a length that a loop finds when it runs"},
        {"{ lambda n:i64[] a:f64[] . let\n b:f64[] ys:f64[?] = scan[program={ lambda a:f64[] . let b:f64[] = neg a in "
         "(b, a) } num_consts=0 num_carry=1] n a in (b, ys) }",
         "test.tn:2:22: tn_compile: output 1 (f64[?]) has a length that a loop finds when it runs"},
    };
    tn_ctx *c = checked();
    for (size_t i = 0; i < COUNT(row); i++) {
        tn_fn *f = parse(c, "%s", row[i].text);
        assert_null(tn_compile(f, NULL));
        assert_int_equal(tn_last_status(c), TN_EINVAL);
        if (!strstr(tn_error(c), row[i].error)) fail_msg("%s", tn_error(c));
        tn_fn_free(f);
    }
    /* a count that is not the stack's */
    tn_fn *f =
        parse(c, "{ lambda n:i64[] m:i64[] a:f64[] . let b:f64[] ys:f64[?] = scan[program={ lambda a:f64[] . let "
                 "b:f64[] = neg a in (b, a) } num_consts=0 num_carry=1] n a c:f64[] = scan[program={ lambda "
                 "c:f64[] y:f64[] . let in (y) } num_consts=0 num_carry=1] m b ys in (c) }");
    tn_exec *e = compile(f, NULL);
    double b;
    assert_int_equal(tn_call(e, IN((int64_t[]){3}, (int64_t[]){4}, P(1)), OUT(&b)), TN_EINVAL);
    assert_non_null(strstr(tn_exec_error(e), "scan: runs for more steps than a stack that it reads is long"));
    call(e, IN((int64_t[]){3}, (int64_t[]){2}, P(1)), OUT(&b));
    assert_true(b == -1);
    tn_exec_free(e);
    tn_ctx_free(c);
}

/* A step costs little more than what it runs. */
static void test_overhead(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f =
        parse(c, "{ lambda n:i64[] a:f64[] . let b:f64[] ys:f64[?] = scan[program={ lambda a:f64[] . let b:f64[] "
                 "= mul a 0.5:f64[] in (b, a) } num_consts=0 num_carry=1] n a c:f64[] = scan[program={ lambda "
                 "c:f64[] y:f64[] . let d:f64[] = add c y in (d) } num_consts=0 num_carry=1 reverse=True] n b ys "
                 "in (c) }");
    tn_exec *e = compile(f, NULL);
    const int64_t n = 200000;
    double b;
    const double from = seconds();
    call(e, IN(&n, P(1)), OUT(&b));
    assert_true(seconds() - from < 2); /* about 0.01 s */
    close_to(&b, P(2), 1, 1e-12);
    tn_exec_free(e);
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dtypes),      cmocka_unit_test(test_carries_that_change_places),
        cmocka_unit_test(test_in_place),    cmocka_unit_test(test_two_buffers),
        cmocka_unit_test(test_views),       cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_stacks),      cmocka_unit_test(test_stack_limits),
        cmocka_unit_test(test_entry_sizes), cmocka_unit_test(test_stacks_of_stacks),
        cmocka_unit_test(test_unwanted),    cmocka_unit_test(test_effects),
        cmocka_unit_test(test_spill),       cmocka_unit_test(test_refused),
        cmocka_unit_test(test_overhead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
