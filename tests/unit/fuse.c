/* Which equations run in one nest, what is written where, and what fusion leaves alone. */
#include "plan/draft.h"
#include "opt/fuse.h"
#include "plan/plan.h"
#include "prims/ids.h"
#include "tansy/ops.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tn_fn *parse(tn_ctx *c, const char *text) {
    tn_fn *f = tn_i_parse(c, text, strlen(text), "fuse.tn");
    if (!f) print_error("%s\n", tn_error(c));
    assert_non_null(f);
    return f;
}

static tn_i_plan *plan(const tn_fn *f) {
    tn_i_plan *p = tn_i_plan_new(f, NULL);
    if (!p) print_error("%s\n", tn_error(f->ctx));
    assert_non_null(p);
    return p;
}

static size_t count(const tn_i_plan *p, tn_i_step_kind kind) {
    size_t n = 0;
    for (size_t i = 0; i < p->nstep; i++) n += p->step[i].kind == kind;
    return n;
}

typedef enum made { PROGRAM, GRAD, VALUE_AND_GRAD, HVP } made;

/* A program, or what is made of it, in so many nests and so many steps of other kinds; the last nest has so many
 * phases. */
typedef struct row {
    const char *name, *text;
    made made;
    size_t nests, others;
    uint32_t phases;
} row;

#define CHAIN                                                                                    \
    "{ lambda x:f64[1000] . let a:f64[1000] = sin x b:f64[1000] = tanh a c:f64[1000] = mul b x " \
    "s:f64[] = reduce_sum[axes=(0,)] c in (s,) }"
#define ROSENBROCK                                                                              \
    "{ lambda x:f64[1000] . let a:f64[999] = slice[start_indices=(0,) limit_indices=(999,)] x " \
    "b:f64[999] = slice[start_indices=(1,) limit_indices=(1000,)] x c:f64[999] = square a "     \
    "d:f64[999] = sub b c e:f64[999] = square d s:f64[] = reduce_sum[axes=(0,)] e in (s,) }"
#define EDGE(first, last)                                                                                     \
    "{ lambda u:f64[1000] . let p:f64[1002] = pad[padding_config=((1, 1, 0),)] u 0.5:f64[] "                  \
    "a:f64[1000] = slice[start_indices=(0,) limit_indices=(1000,)] p b:f64[1000] = slice[start_indices=(2,) " \
    "limit_indices=(1002,)] p c:f64[1000] = " first " z:f64[1000] = " last " in (c, z) }"
#define RING(more, out)                                                                                             \
    "{ lambda u:f64[1000] . let a:f64[999] = slice[start_indices=(1,) limit_indices=(1000,)] u "                    \
    "b:f64[1] = slice[start_indices=(0,) limit_indices=(1,)] u r:f64[1000] = concatenate[dimension=0] a b "         \
    "c:f64[1] = slice[start_indices=(999,) limit_indices=(1000,)] u d:f64[999] = slice[start_indices=(0,) "         \
    "limit_indices=(999,)] u l:f64[1000] = concatenate[dimension=0] c d h:f64[1000] = sub r l m:f64[1000] = mul u " \
    "h z:f64[1000] = sub u m " more " in (" out ",) }"
#define OVER_ROWS(v) "broadcast_in_dim[shape=(256, 10) broadcast_dimensions=(0,)] " v

static const row rows[] = {
    {"softmax",
     "{ lambda x:f64[256,10] . let m:f64[256] = reduce_max[axes=(1,)] x n:f64[256,10] = " OVER_ROWS(
         "m") " d:f64[256,10] = sub x n e:f64[256,10] = exp d s:f64[256] = reduce_sum[axes=(1,)] e t:f64[256,10] "
              "= " OVER_ROWS("s") " y:f64[256,10] = div e t in (y,) }",
     PROGRAM, 1, 0, 3},
    {"logsumexp, keeping the dimension",
     "{ lambda x:f64[256,10] . let m:f64[256] = reduce_max[axes=(1,)] x k:f64[256,1] = reshape[new_sizes=(256, 1)] m "
     "n:f64[256,10] = broadcast_in_dim[shape=(256, 10) broadcast_dimensions=(0, 1)] k d:f64[256,10] = sub x n "
     "e:f64[256,10] = exp d s:f64[256] = reduce_sum[axes=(1,)] e l:f64[256] = log s z:f64[256] = add l m in (z,) }",
     PROGRAM, 1, 0, 2},
    {"the mean of a loss of each row",
     "{ lambda x:f64[256,10] . let m:f64[256] = reduce_sum[axes=(1,)] x l:f64[256] = log m s:f64[] = "
     "reduce_sum[axes=(0,)] l in (s,) }",
     PROGRAM, 1, 0, 1},
    {"variance of a short vector",
     "{ lambda x:f64[2000] . let s:f64[] = reduce_sum[axes=(0,)] x m:f64[] = mul s 0.0005 n:f64[2000] = "
     "broadcast_in_dim[shape=(2000,) broadcast_dimensions=()] m d:f64[2000] = sub x n e:f64[2000] = square d "
     "v:f64[] = reduce_sum[axes=(0,)] e in (v,) }",
     PROGRAM, 1, 0, 2},
    {"variance of a long one",
     "{ lambda x:f64[30000] . let s:f64[] = reduce_sum[axes=(0,)] x m:f64[] = mul s 0.0005 n:f64[30000] = "
     "broadcast_in_dim[shape=(30000,) broadcast_dimensions=()] m d:f64[30000] = sub x n e:f64[30000] = square d "
     "v:f64[] = reduce_sum[axes=(0,)] e in (v,) }",
     PROGRAM, 2, 0, 1},
    {"layer norm",
     "{ lambda x:f64[256,10] g:f64[10] . let s:f64[256] = reduce_sum[axes=(1,)] x m:f64[256] = mul s s "
     "n:f64[256,10] = " OVER_ROWS("m") " d:f64[256,10] = sub x n e:f64[256,10] = square d v:f64[256] = "
                                       "reduce_sum[axes=(1,)] e r:f64[256] = rsqrt v q:f64[256,10] = " OVER_ROWS(
                                           "r") " y:f64[256,10] = mul d q "
                                                "h:f64[256,10] = broadcast_in_dim[shape=(256, 10) "
                                                "broadcast_dimensions=(1,)] g z:f64[256,10] = mul y h in (z,) }",
     PROGRAM, 1, 0, 3},
    {"columns and all of it beside each other",
     "{ lambda x:f64[40,30] . let e:f64[40,30] = exp x a:f64[30] = reduce_sum[axes=(0,)] e b:f64[] = "
     "reduce_max[axes=(0, 1)] e c:i64[40] = argmax[axes=(1,) index_dtype=i64] e in (a, b, c, e) }",
     PROGRAM, 1, 0, 1},
    {"a transposed reader",
     "{ lambda x:f64[40,30] y:f64[30,40] . let e:f64[40,30] = exp x t:f64[30,40] = transpose[permutation=(1, 0)] e "
     "z:f64[30,40] = add t y in (z,) }",
     PROGRAM, 1, 0, 1},
    {"numbers alone",
     "{ lambda x:f64[] y:f64[] . let a:f64[] = sin x b:f64[] = mul a y c:f64[] = integer_pow[y=5] b in (c, a) }",
     PROGRAM, 1, 0, 1},
    {"iota, conversion, rounding, choice",
     "{ lambda x:f64[50] . let i:i64[50] = iota[dtype=i64 shape=(50,) dimension=0] f:f64[50] = "
     "convert_element_type[new_dtype=f64] i r:f64[50] = round[rounding_method=TO_NEAREST_EVEN] x p:bool[50] = lt f r "
     "y:f64[50] = select p x f in (y,) }",
     PROGRAM, 1, 0, 1},
    {"a product between",
     "{ lambda x:f64[64,64] . let a:f64[64,64] = sin x b:f64[64,64] = dot_general[dimension_numbers=(([1], [0]), ([], "
     "[]))] a x c:f64[64,64] = cos b d:f64[64,64] = add c a in (d,) }",
     PROGRAM, 2, 1, 1},
    {"a chain", CHAIN, PROGRAM, 1, 0, 1},
    {"its gradient", CHAIN, GRAD, 1, 0, 1},
    {"both", CHAIN, VALUE_AND_GRAD, 1, 0, 1},
    {"Rosenbrock", ROSENBROCK, PROGRAM, 1, 0, 1},
    {"its gradient, without a scatter", ROSENBROCK, GRAD, 1, 0, 1},
    {"its second derivative", ROSENBROCK, HVP, 1, 0, 1},
    {"a stencil with an edge", EDGE("add a b", "add c u"), PROGRAM, 1, 0, 1},
    {"one that reads what was padded as well", EDGE("add a b", "slice[start_indices=(1,) limit_indices=(1001,)] p"),
     PROGRAM, 1, 1, 1},
    {"a step on a ring", RING("", "z"), PROGRAM, 1, 0, 1},
    {"its gradient", RING("q:f64[1000] = square z s:f64[] = reduce_sum[axes=(0,)] q", "s"), GRAD, 2, 0, 1},
};

static tn_fn *made_of(tn_ctx *c, const row *r) {
    tn_fn *f = parse(c, r->text);
    switch (r->made) {
    case GRAD: return tn_grad(f, NULL, NULL);
    case VALUE_AND_GRAD: return tn_value_and_grad(f, NULL, NULL);
    case HVP: return tn_hvp(f, NULL, NULL);
    default: return f;
    }
}

static void test_nests(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tn_ctx *c = tn_ctx_new(NULL);
        tn_fn *f = made_of(c, &rows[i]);
        assert_non_null(f);
        tn_i_plan *p = plan(f);
        const size_t nests = count(p, TN_STEP_NEST);
        if (nests != rows[i].nests || p->nstep - nests != rows[i].others ||
            p->nest[nests - 1]->nphase != rows[i].phases) {
            char text[1 << 13];
            (void)tn_i_plan_text(p, text, sizeof text);
            print_error("%s: %zu nests, %zu other steps, %u phases\n%s", rows[i].name, nests, p->nstep - nests,
                        (unsigned)p->nest[nests - 1]->nphase, text);
            fail();
        }
        tn_i_plan_free(c, p);
        tn_ctx_free(c);
    }
}

/* A fused program is a program: it prints, parses, and fusing it again changes nothing. */
static void test_text(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tn_ctx *c = tn_ctx_new(NULL);
        const tn_fn *f = made_of(c, &rows[i]), *g = tn_i_fuse(f), *again = tn_i_fuse(g);
        assert_non_null(again);
        assert_true(tn_i_fn_equal(g, again));
        size_t n;
        char *text = tn_fn_print(g, &n);
        const tn_fn *h = tn_i_parse(c, text, strlen(text), "again.tn");
        if (!h) print_error("%s\n%s\n", tn_error(c), text);
        assert_non_null(h);
        assert_true(tn_i_fn_equal(g, h));
        tn_text_free(c, text);
        tn_ctx_free(c);
    }
}

/* ---- many equations ---------------------------------------------------------------------- */

static tn_fn *long_chain(tn_ctx *c, uint32_t n, int64_t size) {
    tn_i_builder b;
    tn_i_builder_init(&b, c);
    const tn_type t = tn_type_of(TN_F64, 1, &size);
    const tn_i_var x = tn_i_input(&b, &t, false);
    tn_i_var y = x;
    for (uint32_t i = 0; i < n; i++) y = i % 2 ? tn_i_op2(&b, TN_P_mul, y, x) : tn_i_op1(&b, TN_P_sin, y);
    return tn_i_finish(&b, 1, &y);
}

static void test_long_chain(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = long_chain(c, 1000, 100);
    tn_i_plan *p = plan(f);
    assert_int_equal(count(p, TN_STEP_NEST), p->nstep);
    assert_in_range(p->nstep, 1, 4);
    for (size_t i = 0; i < p->nnest; i++) {
        assert_in_range(p->nest[i]->nop, 1, TN_NEST_OPS);
        assert_in_range(p->nest[i]->narray, 1, p->nest[i]->nloop ? TN_NEST_ARRAYS : TN_NEST_ARRAYS);
    }
    tn_i_plan_free(c, p);
    tn_ctx_free(c);
}

/* Many results: no nest has more arrays than it may. */
/* A sum of functions of joined arrays that are each read three times. */
static tn_fn *many_joined(tn_ctx *c, int n) {
    const int64_t half = 100;
    const tn_type t = tn_type_of(TN_F64, 1, &half);
    tn_i_builder b;
    tn_i_var sum = TN_NOVAR;
    tn_i_builder_init(&b, c);
    tn_i_var in[128];
    for (int i = 0; i < n; i++) in[i] = tn_i_input(&b, &t, false);
    for (int i = 0; i < n; i++) {
        const tn_i_var parts[2] = {in[i], in[(i + 1) % n]};
        const tn_i_param along = {.kind = TN_K_INT, .u.i = 0};
        const tn_i_var x = tn_i_emit(&b, tn_i_prim(&b, TN_P_concatenate), &along, 2, parts);
        const tn_i_var y = tn_i_op2(&b, TN_P_sub, tn_i_op1(&b, TN_P_sin, x), x), z = tn_i_op2(&b, TN_P_mul, y, x);
        sum = i ? tn_i_op2(&b, TN_P_add, sum, z) : z;
    }
    return tn_i_finish(&b, 1, &sum);
}

static void test_many_arrays(void **state) {
    (void)state;
    enum { N = 400 };
    tn_ctx *c = tn_ctx_new(NULL);
    tn_i_builder b;
    tn_i_builder_init(&b, c);
    const int64_t size = 64;
    const tn_type t = tn_type_of(TN_F64, 1, &size);
    tn_i_var in[N], out[N];
    for (int i = 0; i < N; i++) in[i] = tn_i_input(&b, &t, false);
    for (int i = 0; i < N; i++) out[i] = tn_i_op2(&b, TN_P_add, in[i], in[(i + 1) % N]);
    tn_fn *f = tn_i_finish(&b, N, out);
    tn_i_plan *p = plan(f);
    assert_in_range(p->nstep, 4, 8);
    for (size_t i = 0; i < p->nnest; i++) assert_in_range(p->nest[i]->narray, 1, TN_NEST_ARRAYS);
    tn_i_plan_free(c, p);
    for (int n = 10; n <= 128; n += 59) { /* one load for what is read three times, in one nest after the other */
        p = plan(many_joined(c, n));
        for (size_t i = 0; i < p->nnest; i++) assert_in_range(p->nest[i]->narray, 1, 2 * n + 2);
        tn_i_plan_free(c, p);
    }
    tn_ctx_free(c);
}

/* A pad of what is computed, and what is turned round a ring, is computed where it is read: to the bit, and in no
 * memory but tiles. */
static void test_padded(void **state) {
    (void)state;
    enum { N = 1000 };
    static const char *const text[] = {ROSENBROCK,
                                       RING("q:f64[1000] = square z s:f64[] = reduce_sum[axes=(0,)] q", "s")};
    static double x[N], want[N], got[N];
    for (int i = 0; i < N; i++) x[i] = sin(i) * (i % 7);
    for (size_t k = 0; k < 2; k++) {
        tn_ctx *c = tn_ctx_new(NULL);
        tn_fn *g = tn_grad(parse(c, text[k]), NULL, NULL);
        tn_compile_options o = {.size = sizeof o, .backend = TN_BACKEND_REFERENCE};
        tn_exec *reference = tn_compile(g, &o), *e = tn_compile(g, NULL);
        assert_non_null(reference);
        assert_non_null(e);
        assert_int_equal(tn_call(reference, (const void *const[]){x}, (void *const[]){want}), TN_OK);
        assert_int_equal(tn_call(e, (const void *const[]){x}, (void *const[]){got}), TN_OK);
        assert_memory_equal(got, want, sizeof want);
        assert_true(tn_exec_bytes(e) < 64 << 10); /* tiles */
        tn_exec_free(reference);
        tn_exec_free(e);
        tn_ctx_free(c);
    }
}

/* On a torus of n by m: what is around each element, along both dimensions. */
static tn_val torus(const tn_val *in, void *user) {
    (void)user;
    return tn_sum(tn_square(tn_mul(in[0], tn_sub(tn_roll(in[0], 1, 0), tn_roll(in[0], -1, 1)))));
}

static void test_edges(void **state) {
    (void)state;
    static const int size[][2] = {{2, 2}, {3, 40}, {2, 300}, {40, 600}, {301, 2}, {97, 5}, {64, 64}};
    enum { MOST = 24000 };
    static union numbers {
        double d[MOST];
        float f[MOST];
    } x, want, got;
    for (size_t k = 0; k < 2 * (sizeof size / sizeof *size); k++) {
        const int n = size[k / 2][0], m = size[k / 2][1];
        const size_t bytes = (size_t)(n * m) * (k % 2 ? 4 : 8);
        tn_ctx *c = tn_ctx_new(NULL);
        const tn_fn *f = tn_trace(c, torus, NULL, 1, TN_TYPES(k % 2 ? tn_f32(n, m) : tn_f64(n, m)));
        const tn_fn *g = tn_grad(f, NULL, NULL);
        for (int i = 0; i < n * m; i++)
            if (k % 2)
                x.f[i] = (float)sin(i);
            else
                x.d[i] = sin(i);
        for (int backend = TN_BACKEND_DEFAULT; backend <= TN_BACKEND_NATIVE; backend++) {
            const tn_compile_options o = {.size = sizeof o, .backend = backend};
            tn_exec *e = tn_compile(g, &o);
            assert_non_null(e);
            assert_int_equal(tn_call(e, (const void *const[]){&x}, (void *const[]){&got}), TN_OK);
            if (backend == TN_BACKEND_DEFAULT) want = got;
            assert_memory_equal(&got, &want, bytes);
            tn_exec_free(e);
        }
        tn_ctx_free(c);
    }
}

/* ---- memory -------------------------------------------------------------------------------- */

static void check_text(const char *program, const char *want) {
    tn_ctx *c = tn_ctx_new(NULL);
    tn_i_plan *p = plan(parse(c, program));
    char text[4096], line[256], got[4096] = "";
    (void)tn_i_plan_text(p, text, sizeof text);
    for (const char *at = text; *at;) { /* scratch memory is a matter of lowering: the first line is left out */
        size_t n = strcspn(at, "\n");
        (void)snprintf(line, sizeof line, "%.*s\n", (int)n, at);
        if (strncmp(line, "arena", 5) != 0) strcat(got, line);
        at += n + 1;
    }
    assert_string_equal(got, want);
    tn_i_plan_free(c, p);
    tn_ctx_free(c);
}

/* One nest may write over an operand that dies there, and not over one that a later phase reads again, or that is
 * walked otherwise. */
static void test_in_place(void **state) {
    (void)state;
    check_text("{ lambda x:f64[100] . let a:f64[100] = cumsum[axis=0 reverse=False] x b:f64[100] = sin a c:f64[100] = "
               "cumsum[axis=0 reverse=False] b in (c,) }",
               "cumsum @0 <- in0+0\nfused @0 <- @0; 100; 3 operations in 1 phases\ncumsum out0+0 <- @0\n");
    check_text(
        "{ lambda x:f64[40,5] . let a:f64[40,5] = cumsum[axis=0 reverse=False] x t:f64[5,40] = "
        "transpose[permutation=(1, 0)] a r:f64[5,40] = reshape[new_sizes=(5, 40)] a d:f64[5,40] = sub r t "
        "z:f64[5,40] = cumsum[axis=1 reverse=False] d in (z,) }",
        "cumsum @0 <- in0+0\nfused @1600 <- @0 @0(1,5); 5 40; 4 operations in 1 phases\ncumsum out0+0 <- @1600\n");
    check_text("{ lambda x:f64[40,5] . let a:f64[40,5] = cumsum[axis=0 reverse=False] x m:f64[40] = "
               "reduce_max[axes=(1,)] a n:f64[40,5] = broadcast_in_dim[shape=(40, 5) broadcast_dimensions=(0,)] m "
               "d:f64[40,5] = sub a n z:f64[40,5] = cumsum[axis=0 reverse=False] d in (z,) }",
               "cumsum @0 <- in0+0\nfused @0 <- @0; 40 | 5; 5 operations in 2 phases\ncumsum out0+0 <- @0\n");
}

/* Outputs that are not wanted are not written, and do not keep those that are from the caller's memory. */
static void test_not_wanted(void **state) {
    (void)state;
    enum { N = 1000 };
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = parse(c, "{ lambda x:f64[1000] . let a:f64[1000] = square x b:f64[1000] = neg a s:f64[] = "
                        "reduce_sum[axes=(0,)] b in (a, b, s) }");
    tn_exec *e = tn_compile(f, NULL);
    assert_non_null(e);
    double *x = malloc(N * sizeof *x), *a = malloc(N * sizeof *a), *b = malloc(N * sizeof *b), s;
    for (int i = 0; i < N; i++) x[i] = i;
    for (int absent = 0; absent < 8; absent++) {
        void *out[3] = {absent & 1 ? NULL : a, absent & 2 ? NULL : b, absent & 4 ? NULL : &s};
        for (int i = 0; i < N; i++) a[i] = b[i] = NAN;
        s = NAN;
        assert_int_equal(tn_call(e, (const void *const[]){x}, out), TN_OK);
        for (int i = 0; i < N; i++) {
            assert_true(absent & 1 ? isnan(a[i]) : a[i] == (double)i * i);
            assert_true(absent & 2 ? isnan(b[i]) : b[i] == -(double)i * i);
        }
        assert_true(absent & 4 ? isnan(s) : s == -332833500.0);
    }
    free(x), free(a), free(b);
    tn_exec_free(e);
    tn_ctx_free(c);
}

/* What is computed again stays where it is read, when it would be kept in memory from an earlier time on. */
static void test_recomputed_late(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = parse(
        c,
        "{ lambda x:f64[100] . let a:f64[100] = sin x b:f64[100] = exp a p:f64[100] = cumsum[axis=0 reverse=False] b "
        "q:f64[100] = cumsum[axis=0 reverse=False] p c:f64[100] = exp[region=1] a d:f64[100] = mul q c "
        "z:f64[100] = add d a in (z,) }");
    tn_i_plan *p = plan(f);
    assert_int_equal(count(p, TN_STEP_NEST), 2);
    const tn_fn *last = tn_i_body(&p->f->eqn[p->f->neqn - 1]);
    assert_non_null(last);
    assert_int_equal(last->neqn, 3); /* exp, mul and add */
    tn_i_plan_free(c, p);
    tn_ctx_free(c);
}

/* A `fused` that is no nest, written by hand, runs as a call. */
static void test_no_nest(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = parse(c, "{ lambda x:f64[3] . let y:f64[3] z:f64[3] = fused[name=\"\" program={ lambda x:f64[3] . let "
                        "a:f64[3] = cumsum[axis=0 reverse=False] x b:f64[3] = neg a in (a, b) }] x in (y, z) }");
    tn_exec *e = tn_compile(f, NULL);
    assert_non_null(e);
    const double x[3] = {1, 2, 3};
    double y[3], z[3];
    assert_int_equal(tn_call(e, (const void *const[]){x}, (void *const[]){y, z}), TN_OK);
    assert_true(y[2] == 6 && z[1] == -3);
    tn_exec_free(e);
    tn_ctx_free(c);
}

static void test_backends(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = parse(c, CHAIN);
    tn_compile_options o = {.size = sizeof o, .backend = TN_BACKEND_REFERENCE};
    tn_exec *e = tn_compile(f, &o);
    assert_non_null(e);
    assert_int_equal(tn_exec_bytes(e), 8000);
    tn_exec_free(e);
    o.backend = 17;
    assert_null(tn_compile(f, &o));
    assert_int_equal(tn_last_status(c), TN_EINVAL);
    tn_ctx_free(c);
}

/* Programs whose elements move, in so many nests and no other step or copy, in an arena below `bytes` and what
 * strips have of tiles at most. */
enum { TILES = 16 << 10 };
typedef struct movement {
    const char *name, *text;
    size_t nests, bytes;
} movement;

/* Two windows of the columns of x that are all of an array, the first added to zeros, TERM between them. */
#define WINDOWS(term)                                                                                   \
    "{ lambda x:f64[20,80] s:f64[40] . let o:f64[20,80] = broadcast_in_dim[shape=(20, 80) "             \
    "broadcast_dimensions=()] 0.0:f64[] a:f64[20,70] = slice[start_indices=(0, 10) limit_indices=(20, " \
    "80)] x b:f64[20,10] = slice[start_indices=(0, 0) limit_indices=(20, 10)] x "                       \
    "w:f64[20,80] = slice_add[start_indices=(0, 10) limit_indices=(20, 80)] o a " term                  \
    " z:f64[20,80] = slice_add[start_indices=(0, 0) limit_indices=(20, 10)] t b in (z,) }"

static const movement movements[] = {
    {"windows beside each other", WINDOWS("t:f64[20,80] = add w o"), 1, 12800},
    {"a term between windows", WINDOWS("y:f64[20,80] = neg x t:f64[20,80] = add y w"), 1, 12800},
    {"the other way", WINDOWS("y:f64[20,80] = mul x x t:f64[20,80] = add w y"), 1, 12800},
    {"computed between transposes",
     "{ lambda x:f64[40,40] s:f64[40] . let t:f64[40,40] = transpose[permutation=(1, 0)] x b:f64[40,40] = "
     "broadcast_in_dim[shape=(40, 40) broadcast_dimensions=(1,)] s y:f64[40,40] = mul t b z:f64[40,40] = "
     "transpose[permutation=(1, 0)] y in (z,) }",
     1, 12800},
    {"sliced between transposes",
     "{ lambda x:f64[40,40] s:f64[40] . let t:f64[40,40] = transpose[permutation=(1, 0)] x y:f64[40,40] = mul t t "
     "a:f64[40,20] = slice[start_indices=(0, 20) limit_indices=(40, 40)] y b:f64[40,20] = slice[start_indices=(0, 0) "
     "limit_indices=(40, 20)] y r:f64[40,40] = concatenate[dimension=1] a b z:f64[40,40] = "
     "transpose[permutation=(1, 0)] r w:f64[40,40] = add z z in (w,) }",
     1, 25600},
    {"columns of a matrix",
     "{ lambda x:f64[40,40] s:f64[40] . let a:f64[40] = mul s s b:f64[40] = add s s c:f64[40,1] = "
     "broadcast_in_dim[shape=(40, 1) broadcast_dimensions=(0,)] a d:f64[40,1] = broadcast_in_dim[shape=(40, 1) "
     "broadcast_dimensions=(0,)] b e:f64[40,1] = broadcast_in_dim[shape=(40, 1) broadcast_dimensions=()] 2.5:f64[] "
     "o:f64[40,3] = concatenate[dimension=1] c d e in (o,) }",
     1, 4096},
    {"a call",
     "{ lambda x:f64[40,40] s:f64[40] . let a:f64[40,40] = call[name=\"f\" program={ lambda x:f64[40,40] . let "
     "y:f64[40,40] = mul x x in (y,) }] x z:f64[40,40] = add a x in (z,) }",
     1, 12800},
    {"much of little, far from where it is read",
     "{ lambda x:f64[40,40] s:f64[40] . let b:f64[40,40] = broadcast_in_dim[shape=(40, 40) broadcast_dimensions=(1,)] "
     "s "
     "p:f64[40,40] = mul b b w:f64[40] = neg s c:f64[40,40] = broadcast_in_dim[shape=(40, 40) "
     "broadcast_dimensions=(1,)] w y:f64[40,40] = mul x c z:f64[40,40] = add p y in (z,) }",
     2, 12800},
};

static void run_movement(const tn_fn *f, int backend, const double *x, const double *s, double *out) {
    const tn_compile_options o = {.size = sizeof o, .backend = backend};
    tn_exec *e = tn_compile(f, &o);
    assert_non_null(e);
    assert_int_equal(tn_call(e, (const void *const[]){x, s}, (void *const[]){out}), TN_OK);
    tn_exec_free(e);
}

static void test_movements(void **state) {
    (void)state;
    static double x[1600], s[40], want[1600], got[1600];
    for (int i = 0; i < 1600; i++) x[i] = 0.1 * i - 3;
    for (int i = 0; i < 40; i++) s[i] = 1.0 / (i + 1);
    for (size_t k = 0; k < sizeof movements / sizeof *movements; k++) {
        tn_ctx *c = tn_ctx_new(NULL);
        const movement *m = &movements[k];
        tn_fn *f = parse(c, m->text);
        tn_i_plan *p = plan(f);
        const tn_type t = tn_fn_output_type(f, 0);
        if (count(p, TN_STEP_NEST) != m->nests || p->nstep != m->nests || p->nmove || p->bytes >= m->bytes + TILES)
            fail_msg("%s: %zu nests, %zu steps, %zu copies, %zu bytes", m->name, count(p, TN_STEP_NEST), p->nstep,
                     p->nmove, p->bytes);
        tn_i_plan_free(c, p);
        run_movement(f, TN_BACKEND_REFERENCE, x, s, want);
        run_movement(f, TN_BACKEND_DEFAULT, x, s, got);
        assert_memory_equal(got, want, tn_type_bytes(&t));
        run_movement(f, TN_BACKEND_NATIVE, x, s, got);
        assert_memory_equal(got, want, tn_type_bytes(&t));
        tn_ctx_free(c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_movements), cmocka_unit_test(test_nests),      cmocka_unit_test(test_padded),
        cmocka_unit_test(test_text),      cmocka_unit_test(test_long_chain), cmocka_unit_test(test_many_arrays),
        cmocka_unit_test(test_in_place),  cmocka_unit_test(test_not_wanted), cmocka_unit_test(test_recomputed_late),
        cmocka_unit_test(test_no_nest),   cmocka_unit_test(test_backends),   cmocka_unit_test(test_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
