/* tn_compile and tn_call: layouts, aliases, absent outputs, workspaces, errors, lifetime.
 * Results against the naive evaluator are exec_random.c's; plans are plan.c's. */
#include "plan/plan.h"
#include "unit/meter.h"
#include "naive.h"
#include "prims/ids.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

/* ---- contexts that count and fail ----------------------------------------------------- */

static tn_ctx *context_that(meter *m, int contract) {
    *m = (meter){0};
    return tn_ctx_new(&(tn_ctx_options){
        .size = sizeof(tn_ctx_options), .realloc = metered_realloc, .user = m, .check = 1, .contract = contract});
}

static tn_ctx *counting_context(meter *m) { return context_that(m, 0); }

static tn_fn *parse(tn_ctx *c, const char *text) {
    tn_fn *f = tn_fn_parse(c, text, strlen(text), "test.tn");
    if (!f) print_error("%s\n", tn_error(c));
    assert_non_null(f);
    return f;
}

static tn_exec *compile(const tn_fn *f, const tn_compile_options *o) {
    tn_exec *e = tn_compile(f, o);
    if (!e) print_error("%s\n", tn_error(tn_fn_ctx(f)));
    assert_non_null(e);
    return e;
}

static void assert_call(tn_exec *e, const void *const *in, void *const *out) {
    tn_status s = tn_call(e, in, out);
    if (s) print_error("%s\n", tn_exec_error(e));
    assert_int_equal(s, TN_OK);
}

#define IN(...)  ((const void *const[]){__VA_ARGS__})
#define OUT(...) ((void *const[]){__VA_ARGS__})

/* ---- layouts ------------------------------------------------------------------------------ */

static void test_column_major(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = parse(
        c,
        "{ lambda a:f64[2,3] b:f64[3,2] . let t:f64[2,3] = transpose[permutation=(1, 0)] b"
        "  s:f64[2,3] = add a t d:f64[2,2] = dot_general[dimension_numbers=(((1,), (0,)), ((), ()))] a b in (s, d) }");
    const int64_t ac[] = {1, 2}, bc[] = {-1, 3}, oc[] = {1, 2};
    const double a[] = {1, 4, 2, 5, 3, 6}, b[] = {30, 20, 10, 60, 50, 40}; /* b upside down */
    double s[6], d[4];
    tn_exec *e = compile(f, &(tn_compile_options){.size = sizeof(tn_compile_options),
                                                  .in_strides = (const int64_t *const[]){ac, bc},
                                                  .out_strides = (const int64_t *const[]){oc, NULL}});
    assert_call(e, IN(a, b + 2), OUT(s, d));
    /* a = [1 2 3; 4 5 6], b = [10 40; 20 50; 30 60] */
    const double want[] = {11, 44, 22, 55, 33, 66}, product[] = {140, 320, 320, 770};
    assert_memory_equal(s, want, sizeof s);
    assert_memory_equal(d, product, sizeof d);
    tn_ctx_free(c);
}

static void test_rank_zero_and_no_elements(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = parse(
        c, "{ lambda x:f64[] z:f32[0,3] . let y:f64[] = mul x x w:f32[0,3] = neg z s:f32[3] = reduce_sum[axes=(0,)] w"
           " in (y, w, s, 2.5:f64[], z) }");
    tn_exec *e = compile(f, NULL);
    const double x = 3;
    double y = 0, k = 0;
    float s[3] = {9, 9, 9};
    assert_call(e, IN(&x, NULL), OUT(&y, NULL, s, &k, NULL));
    assert_true(y == 9 && k == 2.5 && s[0] == 0 && s[1] == 0 && s[2] == 0);
    char odd;
    assert_call(e, IN(&x, &odd), OUT(NULL, NULL, s, NULL, &odd)); /* of an array without elements no address is read */
    tn_fn *none = parse(c, "{ lambda . let in () }");
    assert_call(compile(none, NULL), NULL, NULL);
    tn_ctx_free(c);
}

static void test_natural_alignment(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = parse(
        c, "{ lambda x:f32[5] b:bool[5] . let n:f32[5] = neg x y:f32[5] = select b x n m:bool[5] = not b in (y, m) }");
    tn_exec *e = compile(f, NULL);
    _Alignas(64) unsigned char memory[160];
    for (size_t shift = 0; shift < 64; shift += 4) {
        float *x = (float *)(void *)(memory + shift), y[6];
        unsigned char *b = memory + 100 + shift / 4, m[5];
        for (int i = 0; i < 5; i++) {
            x[i] = (float)(i + 1);
            b[i] = i % 2 == 0;
        }
        assert_call(e, IN(x, b), OUT(y + 1, m));
        for (int i = 0; i < 5; i++)
            assert_true(y[1 + i] == (float)(i % 2 == 0 ? i + 1 : -i - 1) && m[i] == (i % 2 != 0));
    }
    float y[6];
    unsigned char m[5];
    assert_int_equal(tn_call(e, IN(memory + 2, memory), OUT(y, m)), TN_EINVAL);
    assert_string_equal(tn_exec_error(e), "input 0 (f32[5]) is not aligned for its type");
    assert_int_equal(tn_call(e, IN(memory, memory), OUT((char *)y + 1, m)), TN_EINVAL);
    assert_string_equal(tn_exec_error(e), "output 0 (f32[5]) is not aligned for its type");
    tn_ctx_free(c);
}

/* ---- outputs ---------------------------------------------------------------------------------- */

static void test_outputs_that_are_not_computed(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = parse(
        c,
        "{ lambda x:f64[2,2] . let t:f64[2,2] = transpose[permutation=(1, 0)] x k:f64[2] = constant[value=[7.0, 8.0]]"
        "  y:f64[2,2] = neg x u:f64[2,2] = transpose[permutation=(1, 0)] y"
        "  in (x, t, 1.5:f64[], k, y, y, u, x) }");
    tn_exec *e = compile(f, NULL);
    const double x[] = {1, 2, 3, 4};
    double o[8][4];
    assert_call(e, IN(x), OUT(o[0], o[1], o[2], o[3], o[4], o[5], o[6], o[7]));
    const double t[] = {1, 3, 2, 4}, y[] = {-1, -2, -3, -4}, u[] = {-1, -3, -2, -4};
    assert_memory_equal(o[0], x, sizeof x);
    assert_memory_equal(o[1], t, sizeof t);
    assert_true(o[2][0] == 1.5 && o[3][0] == 7 && o[3][1] == 8);
    assert_memory_equal(o[4], y, sizeof y);
    assert_memory_equal(o[5], y, sizeof y);
    assert_memory_equal(o[6], u, sizeof u);
    assert_memory_equal(o[7], x, sizeof x);
    tn_ctx_free(c);
}

static void test_swap_in_place(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = parse(c, "{ lambda a:f64[2] b:f64[2] . let r:f64[2] = rev[dimensions=(0,)] a in (b, r) }");
    const int alias[] = {0, 1};
    tn_exec *e = compile(f, &(tn_compile_options){.size = sizeof(tn_compile_options), .alias = alias});
    double a[] = {1, 2}, b[] = {3, 4};
    assert_call(e, IN(a, b), OUT(a, b));
    assert_true(a[0] == 3 && a[1] == 4 && b[0] == 2 && b[1] == 1);
    double x[2], y[2]; /* an alias allows sharing, it does not ask for it */
    assert_call(e, IN(a, b), OUT(x, y));
    assert_true(x[0] == 2 && x[1] == 1 && y[0] == 4 && y[1] == 3 && a[0] == 3 && b[0] == 2);
    assert_call(e, IN(a, b), OUT(NULL, b));
    assert_true(b[0] == 4 && b[1] == 3);
    tn_ctx_free(c);
}

/* ---- primitives that count ------------------------------------------------------------------------ */

typedef struct probe {
    int runs[4];
    tn_exec *busy;
    tn_status busy_status;
} probe;

static const tn_i_spec probe_params[] = {
    {.name = "probe", .kind = TN_K_PTR}, {.name = "which", .kind = TN_K_INT}, {.name = NULL}};

static probe *probe_of(const tn_i_param *p) { return (probe *)(uintptr_t)p[0].u.ptr; }

static bool probe_type(tn_i_query *q) { return tn_i_output_type(q, q->in[0]); }

static tn_status probe_kernel(const tn_i_kernel *k) {
    probe *p = probe_of(k->p);
    const int which = (int)k->p[1].u.i;
    if (which < 4) p->runs[which]++;
    if (p->busy) p->busy_status = tn_call(p->busy, NULL, NULL);
    if (which == 9) {
        strcpy(k->message, "nine is refused");
        return TN_ECALLBACK;
    }
    memcpy(k->out->data, k->in[0].data, tn_type_bytes(k->out->type));
    return TN_OK;
}

static bool probe_effect(const tn_i_param *p) { return p[1].u.i == 3; }

static const tn_prim probe_prim = {.id = TN_P_name,
                                   .name = "probe",
                                   .nin = 1,
                                   .params = probe_params,
                                   .type = probe_type,
                                   .kernel = probe_kernel,
                                   .effect = probe_effect};

static tn_i_var emit_probe(tn_i_builder *b, probe *p, int which, tn_i_var x) {
    const tn_i_param q[2] = {{.kind = TN_K_PTR, .u.ptr = p}, {.kind = TN_K_INT, .u.i = which}};
    return tn_i_emit(b, &probe_prim, q, 1, &x);
}

/* x -> (probe 0 of x, probe 1 of probe 2 of x, probe 2 of x), with an effect (3) nobody reads. */
static tn_fn *probe_program(tn_ctx *c, probe *p) {
    tn_i_builder b;
    tn_type t = tn_f64(3);
    tn_i_builder_init(&b, c);
    tn_i_var x = tn_i_input(&b, &t, false);
    tn_i_var v0 = emit_probe(&b, p, 0, x), v2 = emit_probe(&b, p, 2, x);
    (void)emit_probe(&b, p, 3, v2);
    tn_i_var v1 = emit_probe(&b, p, 1, v2);
    return tn_i_finish(&b, 3, (tn_i_var[]){v0, v1, v2});
}

static void test_absent_outputs(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    probe p = {.busy = NULL};
    tn_fn *f = probe_program(c, &p);
    assert_non_null(f);
    tn_exec *e = compile(f, NULL);
    const double x[] = {1, 2, 3};
    double y[3][3];
    static const struct {
        bool given[3];
        int runs[4];
    } rows[] = {{{1, 1, 1}, {1, 1, 1, 1}}, {{1, 0, 0}, {1, 0, 1, 1}}, {{0, 1, 0}, {0, 1, 1, 1}},
                {{0, 1, 0}, {0, 1, 1, 1}}, {{0, 0, 1}, {0, 0, 1, 1}}, {{0, 0, 0}, {0, 0, 1, 1}},
                {{1, 1, 1}, {1, 1, 1, 1}}, {{0, 0, 0}, {0, 0, 1, 1}}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        memset(&p, 0, sizeof p);
        memset(y, 0, sizeof y);
        void *out[3];
        for (int j = 0; j < 3; j++) out[j] = rows[i].given[j] ? y[j] : NULL;
        assert_call(e, IN(x), out);
        assert_memory_equal(p.runs, rows[i].runs, sizeof p.runs);
        for (int j = 0; j < 3; j++) assert_true(y[j][2] == (rows[i].given[j] ? 3 : 0));
    }
    tn_ctx_free(c);
}

static void test_effects_in_nested_programs(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    probe p = {.busy = NULL};
    tn_fn *f = probe_program(c, &p);
    tn_i_builder b;
    tn_type t = tn_f64(3);
    tn_i_builder_init(&b, c);
    tn_i_var x = tn_i_input(&b, &t, false);
    const tn_i_param q[2] = {{.kind = TN_K_STR, .u.str = tn_i_string(c, "f", 1)}, {.kind = TN_K_FN, .u.fn = f}};
    (void)tn_i_emit(&b, tn_i_prim(&b, TN_P_call), q, 1, &x);
    tn_i_var y = tn_i_op1(&b, TN_P_neg, x);
    tn_fn *g = tn_i_finish(&b, 1, &y);
    assert_non_null(g);
    tn_exec *e = compile(g, NULL);
    const double in[] = {1, 2, 3};
    double out[3];
    assert_call(e, IN(in), OUT(out));
    assert_call(e, IN(in), OUT(NULL));
    assert_int_equal(p.runs[3], 2);
    assert_true(out[0] == -1);
    tn_ctx_free(c);
}

/* An effect whose result is an output nobody wants, and one without elements. */
static void test_effects_without_results(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    probe p = {.busy = NULL};
    tn_i_builder b;
    const tn_type t = tn_f64(3), none = tn_f64(0);
    tn_i_builder_init(&b, c);
    tn_i_var x = tn_i_input(&b, &t, false), y = tn_i_input(&b, &none, false), out[2];
    out[0] = emit_probe(&b, &p, 3, x);
    out[1] = emit_probe(&b, &p, 3, y);
    tn_exec *e = compile(tn_i_finish(&b, 2, out), NULL);
    const double in[] = {1, 2, 3};
    double got[3] = {0};
    assert_call(e, IN(in, NULL), OUT(NULL, NULL));
    assert_int_equal(p.runs[3], 2);
    assert_call(e, IN(in, NULL), OUT(got, NULL));
    assert_int_equal(p.runs[3], 4);
    assert_true(got[2] == 3);
    tn_ctx_free(c);
}

/* ---- errors ------------------------------------------------------------------------------------------ */

static void test_busy(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    probe p = {.busy = NULL};
    tn_exec *e = compile(probe_program(c, &p), NULL);
    const double x[] = {1, 2, 3};
    p.busy = e; /* the kernel calls the executable it runs in */
    assert_call(e, IN(x), OUT(NULL, NULL, NULL));
    assert_int_equal(p.busy_status, TN_EBUSY);
    p.busy = NULL;
    assert_call(e, IN(x), OUT(NULL, NULL, NULL));
    tn_ctx_free(c);
}

static void test_failing_kernel(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    probe p = {.busy = NULL};
    tn_i_builder b;
    tn_type t = tn_f64(2);
    tn_i_builder_init(&b, c);
    tn_i_var x = tn_i_input(&b, &t, false);
    b.loc = tn_i_loc_of(c, "model.c", 42, 0, "");
    x = emit_probe(&b, &p, 9, x);
    x = emit_probe(&b, &p, 0, x);
    tn_fn *inner = tn_i_finish(&b, 1, &x);
    tn_i_builder_init(&b, c);
    x = tn_i_input(&b, &t, false);
    const tn_i_param q[2] = {{.kind = TN_K_STR, .u.str = tn_i_string(c, "f", 1)}, {.kind = TN_K_FN, .u.fn = inner}};
    x = tn_i_emit(&b, tn_i_prim(&b, TN_P_call), q, 1, &x);
    tn_exec *e = compile(tn_i_finish(&b, 1, &x), NULL);
    const double in[] = {1, 2};
    double out[2];
    assert_int_equal(tn_call(e, IN(in), OUT(out)), TN_ECALLBACK);
    assert_string_equal(tn_exec_error(e), "model.c:42: probe: nine is refused");
    assert_int_equal(p.runs[0], 0);    /* nothing runs after a failure */
    assert_call(e, IN(in), OUT(NULL)); /* what is not wanted cannot fail */
    tn_ctx_free(c);
}

static void test_bad_arguments(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = parse(c, "{ lambda x:f64[3] y:f64[3] . let z:f64[3] = add x y in (z,) }");
    tn_exec *e = compile(f, NULL), *other = compile(f, NULL);
    double x[3] = {1, 2, 3}, z[3];
    assert_int_equal(tn_call(e, IN(x, NULL), OUT(z)), TN_EINVAL);
    assert_string_equal(tn_exec_error(e), "input 1 (f64[3]) is NULL");
    assert_int_equal(tn_call(e, NULL, OUT(z)), TN_EINVAL);
    assert_int_equal(tn_call(e, IN(x, x), NULL), TN_EINVAL);
    assert_string_equal(tn_exec_error(e), "the array of outputs is NULL");
    assert_int_equal(tn_call(NULL, IN(x, x), OUT(z)), TN_EINVAL);
    tn_work *w = tn_work_new(other, NULL, 0);
    assert_int_equal(tn_call_in(e, w, IN(x, x), OUT(z)), TN_EINVAL);
    assert_string_equal(tn_work_error(w), "the workspace belongs to another executable");
    assert_int_equal(tn_call_in(e, NULL, IN(x, x), OUT(z)), TN_EINVAL);
    assert_null(tn_work_new(e, x, 8));
    assert_int_equal(tn_last_status(c), TN_EINVAL);
    assert_null(tn_work_new(NULL, NULL, 0));
    assert_null(tn_compile(NULL, NULL));
    assert_call(e, IN(x, x), OUT(z));
    assert_true(z[2] == 6);
    tn_ctx_free(c);
}

static void refused(const tn_fn *f, tn_compile_options o, const char *message) {
    o.size = sizeof o;
    assert_null(tn_compile(f, &o));
    assert_int_equal(tn_last_status(tn_fn_ctx(f)), TN_EINVAL);
    assert_string_equal(tn_error(tn_fn_ctx(f)), message);
}

static void test_bad_options(void **state) {
    (void)state;
    meter m;
    tn_ctx *c = counting_context(&m);
    tn_fn *f = parse(c, "{ lambda x:f64[2,3] i:i64[2,3] . let y:f64[2,3] = neg x in (y, x) }");
    const int64_t zero[] = {0, 1}, overlap[] = {1, 1}, far[] = {INT64_MAX / 8, 1}, least[] = {INT64_MIN, 1},
                  column[] = {1, 2};
    const int64_t *const outs[][2] = {{zero, NULL}, {NULL, overlap}, {far, NULL}, {NULL, column}};
    const int64_t *const ins[][2] = {{far, NULL}, {NULL, least}, {zero, zero}};
    const size_t before = m.living;
    refused(f, (tn_compile_options){.out_strides = outs[0]},
            "tn_compile: output 0: with its strides elements may overlap");
    refused(f, (tn_compile_options){.out_strides = outs[1]},
            "tn_compile: output 1: with its strides elements may overlap");
    refused(f, (tn_compile_options){.out_strides = outs[2]},
            "tn_compile: output 0: its strides overflow the address space");
    refused(f, (tn_compile_options){.in_strides = ins[0]},
            "tn_compile: input 0: its strides overflow the address space");
    refused(f, (tn_compile_options){.in_strides = ins[1]},
            "tn_compile: input 1: its strides overflow the address space");
    refused(f, (tn_compile_options){.alias = (const int[]){-1, 2}},
            "tn_compile: alias of output 1: there is no such input");
    refused(f, (tn_compile_options){.alias = (const int[]){1, -1}},
            "tn_compile: alias of output 0: the input has another type or other strides");
    refused(f, (tn_compile_options){.alias = (const int[]){-1, 0}, .out_strides = outs[3]},
            "tn_compile: alias of output 1: the input has another type or other strides");
    refused(f, (tn_compile_options){.alias = (const int[]){0, 0}},
            "tn_compile: alias of output 1: another output has the same alias");
    refused(f, (tn_compile_options){.threads = -1}, "tn_compile: threads is negative");
    assert_int_equal(m.living, before);
    /* an input may repeat its elements; an older caller's options are shorter */
    tn_exec *e = compile(f, &(tn_compile_options){.size = sizeof(tn_compile_options), .in_strides = ins[2]});
    const double x[] = {1, 2, 3};
    const int64_t i[] = {0, 0, 0};
    double y[6];
    assert_call(e, IN(x, i), OUT(y, NULL));
    assert_true(y[3] == -1 && y[5] == -3);
    tn_exec_free(e);
    tn_exec_free(compile(f, &(tn_compile_options){.size = sizeof(size_t), .threads = -1}));
    tn_ctx_free(c);
    assert_int_equal(m.living, 0);
}

static void test_sizes_beyond_memory(void **state) {
    (void)state;
    meter m;
    tn_ctx *c = counting_context(&m);
    tn_fn *f =
        parse(c, "{ lambda x:f64[] . let b:f64[288230376151711744] = broadcast_in_dim[shape=(288230376151711744,) "
                 "broadcast_dimensions=()] x"
                 "  y:f64[288230376151711744] = cumsum[axis=0 reverse=False] b z:f64[288230376151711744] = "
                 "cumsum[axis=0 reverse=True] b w:f64[288230376151711744] = add y z"
                 "  s:f64[] = reduce_sum[axes=(0,)] w in (s,) }");
    tn_exec *e = compile(f, NULL);
    double x = 1, s;
    assert_int_equal(tn_call(e, IN(&x), OUT(&s)), TN_ENOMEM);
    assert_non_null(strstr(tn_exec_error(e), "out of memory"));
    tn_fn *g = parse(
        c, "{ lambda x:f64[] . let b:f64[288230376151711744] = broadcast_in_dim[shape=(288230376151711744,) "
           "broadcast_dimensions=()] x"
           "  y:f64[288230376151711744] = cumsum[axis=0 reverse=False] b z:f64[288230376151711744] = cumsum[axis=0 "
           "reverse=True] b u:f64[288230376151711744] = cumprod[axis=0 reverse=False] b"
           "  v:f64[288230376151711744] = cumprod[axis=0 reverse=True] b t:f64[288230376151711744] = cummax[axis=0 "
           "reverse=False] b w:f64[288230376151711744] = add y z"
           "  w1:f64[288230376151711744] = add w u w2:f64[288230376151711744] = add w1 v w3:f64[288230376151711744] = "
           "add w2 t"
           "  s:f64[] = reduce_sum[axes=(0,)] w3 in (s,) }");
    assert_null(tn_compile(g, NULL));
    assert_int_equal(tn_last_status(c), TN_EOVERFLOW);
    tn_cost_report r = {.size = sizeof r};
    assert_int_equal(tn_cost(g, &r), TN_EOVERFLOW);
    tn_ctx_free(c);
}

/* ---- workspaces -------------------------------------------------------------------------------------------- */

static const char chain[] =
    "{ lambda x:f64[100] y:f64[100] . let a:f64[100] = sin x b:f64[100] = cos y c:f64[100] = mul a b"
    "  d:f64[100] = sub c a r:f64[10,10] = reshape[new_sizes=(10, 10)] d"
    "  e:f64[10,10] = dot_general[dimension_numbers=(((1,), (0,)), ((), ()))] r r s:f64[] = reduce_sum[axes=(0, 1)] e"
    "  f:f64[10] = reduce_sum[axes=(0,)] e in (s, f) }";

static void test_workspace_bytes(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = parse(c, chain);
    tn_exec *e = compile(f, NULL);
    assert_int_equal(tn_exec_bytes(e) % 64, 0);
    tn_cost_report r = {.size = sizeof r};
    assert_int_equal(tn_cost(f, &r), TN_OK);
    assert_true(r.peak_bytes == (double)tn_exec_bytes(e));
    const size_t bytes = tn_work_bytes(e), guard = 512;
    assert_true(bytes > tn_exec_bytes(e));
    double x[100], y[100], s[2], v[2][10];
    for (int i = 0; i < 100; i++) {
        x[i] = i;
        y[i] = -i;
    }
    for (size_t shift = 0; shift < 64; shift += 7) { /* any address will do */
        unsigned char *memory = malloc(bytes + 2 * guard);
        memset(memory, 0x5A, bytes + 2 * guard);
        tn_work *w = tn_work_new(e, memory + guard + shift, bytes);
        assert_non_null(w);
        assert_int_equal(tn_call_in(e, w, IN(x, y), OUT(&s[shift > 0], v[shift > 0])), TN_OK);
        for (size_t i = 0; i < guard + shift; i++) assert_int_equal(memory[i], 0x5A);
        for (size_t i = bytes + guard + shift; i < bytes + 2 * guard; i++) assert_int_equal(memory[i], 0x5A);
        tn_work_free(w);
        free(memory);
    }
    assert_memory_equal(&s[0], &s[1], sizeof s[0]);
    assert_memory_equal(v[0], v[1], sizeof v[0]);
    tn_ctx_free(c);
}

/* Two values of 100 doubles live at once: 832 bytes each when padded.  All of the arena is used, and no more. */
static void test_high_water(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = parse(c, "{ lambda x:f64[100] . let a:f64[100] = sin x b:f64[100] = cos x c:f64[100] = mul a b s:f64[] "
                        "= reduce_sum[axes=(0,)] c in (s,) }");
    const tn_compile_options alone = {.size = sizeof alone, .backend = TN_BACKEND_REFERENCE};
    tn_exec *e = compile(f, &alone);
    assert_int_equal(tn_exec_bytes(e), 2 * 832);
    const size_t bytes = tn_work_bytes(e);
    unsigned char *memory = malloc(bytes);
    memset(memory, 0x5A, bytes);
    double x[100], s;
    for (int i = 0; i < 100; i++) x[i] = i + 1;
    tn_work *w = tn_work_new(e, memory, bytes);
    assert_int_equal(tn_call_in(e, w, IN(x), OUT(&s)), TN_OK);
    size_t last = bytes;
    while (memory[last - 1] == 0x5A) last--;
    /* behind the last value: its padding, and what aligning the five parts at this very address left over */
    assert_in_range(bytes - last, 832 - 800, 832 - 800 + 5 * 64);
    free(memory);
    tn_ctx_free(c);
}

static void test_no_allocation_in_calls(void **state) {
    (void)state;
    meter m;
    tn_ctx *c = counting_context(&m);
    tn_fn *f = parse(c, chain);
    tn_exec *e = compile(f, NULL);
    double x[100] = {0}, s, v[10];
    assert_call(e, IN(x, x), OUT(&s, v));
    const size_t calls = m.calls;
    for (int k = 0; k < 5; k++) assert_call(e, IN(x, x), OUT(k & 1 ? &s : NULL, k & 2 ? v : NULL));
    assert_int_equal(m.calls, calls);
    unsigned char *memory = malloc(tn_work_bytes(e));
    tn_work *w = tn_work_new(e, memory, tn_work_bytes(e));
    assert_int_equal(tn_call_in(e, w, IN(x, x), OUT(&s, v)), TN_OK);
    assert_int_equal(m.calls, calls);
    free(memory);
    tn_ctx_free(c);
    assert_int_equal(m.living, 0);
}

/* ---- lifetime ------------------------------------------------------------------------------------------------- */

static void lifetime(int contract) {
    meter m;
    tn_ctx *c = context_that(&m, contract);
    tn_fn *f = parse(c, chain);
    tn_exec *a = compile(f, NULL), *b = compile(f, NULL);
    double x[100] = {0}, s, v[10];
    const size_t before = tn_ctx_bytes(c);
    tn_fn_free(f); /* the executables hold it, or what contraction made of it */
    if (contract < 0)
        assert_int_equal(tn_ctx_bytes(c), before);
    else
        assert_true(tn_ctx_bytes(c) < before);
    tn_work *w = tn_work_new(b, NULL, 0), *u = tn_work_new(b, NULL, 0);
    assert_call(a, IN(x, x), OUT(&s, v));
    tn_exec_free(b); /* its workspaces hold it */
    tn_work_free(u);
    assert_int_equal(tn_call_in(b, w, IN(x, x), OUT(&s, v)), TN_OK);
    tn_work_free(w);
    assert_call(a, IN(x, x), OUT(&s, v));
    tn_exec_free(a);
    tn_exec_free(NULL);
    tn_work_free(NULL);
    const size_t after = tn_ctx_bytes(c); /* what is interned stays, and is there the next time */
    assert_true(after < before);
    tn_fn *again = parse(c, chain);
    tn_exec *d = compile(again, NULL);
    tn_fn_free(again);
    tn_exec_free(d);
    assert_int_equal(tn_ctx_bytes(c), after);
    tn_exec *left = compile(parse(c, chain), NULL);
    assert_non_null(tn_work_new(left, NULL, 0));
    assert_call(left, IN(x, x), OUT(&s, v));
    tn_ctx_free(c); /* frees what was left */
    assert_int_equal(m.living, 0);
}

static void test_lifetime(void **state) {
    (void)state;
    lifetime(0);
    lifetime(-1);
}

static const char nested[] = "{ lambda x:f64[3,4] . let t:f64[4,3] = transpose[permutation=(1, 0)] x"
                             "  a:f64[4,3] = call[name=\"f\" program={ lambda x:f64[4,3] . let y:f64[4,3] = sin x "
                             "z:f64[4,3] = add y x in (z,) }] t"
                             "  u:f64[3,4] = transpose[permutation=(1, 0)] a v:f64[12] = reshape[new_sizes=(12,)] u"
                             "  s:f64[] = reduce_sum[axes=(0,)] v in (s, v) }";

/* Every allocation of compiling and of the first call fails once. */
static void test_failing_allocations(void **state) {
    (void)state;
    meter m;
    tn_ctx *c = counting_context(&m);
    tn_fn *f = parse(c, nested);
    const int alias[] = {-1, -1};
    const int64_t column[] = {1, 3};
    const tn_compile_options o = {.size = sizeof o, .alias = alias, .in_strides = (const int64_t *const[]){column}};
    double x[12] = {0.5, 1, 2}, s, v[12];
    const size_t living = m.living, bytes = tn_ctx_bytes(c);
    size_t failures = 0;
    for (size_t n = 1;; n++) {
        m.calls = 0;
        m.fail_at = n;
        tn_exec *e = tn_compile(f, &o);
        tn_status status = e ? tn_call(e, IN(x), OUT(&s, v)) : tn_last_status(c);
        const bool done = m.calls < n;
        m.fail_at = 0;
        assert_int_equal(status, done ? TN_OK : TN_ENOMEM);
        if (e) assert_call(e, IN(x), OUT(&s, v)); /* and then it works */
        tn_exec_free(e);
        assert_int_equal(m.living, living);
        assert_int_equal(tn_ctx_bytes(c), bytes);
        if (done) break;
        failures++;
    }
    assert_true(failures > 10);
    tn_ctx_free(c);
    assert_int_equal(m.living, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_column_major),
        cmocka_unit_test(test_rank_zero_and_no_elements),
        cmocka_unit_test(test_natural_alignment),
        cmocka_unit_test(test_outputs_that_are_not_computed),
        cmocka_unit_test(test_swap_in_place),
        cmocka_unit_test(test_absent_outputs),
        cmocka_unit_test(test_effects_in_nested_programs),
        cmocka_unit_test(test_effects_without_results),
        cmocka_unit_test(test_busy),
        cmocka_unit_test(test_failing_kernel),
        cmocka_unit_test(test_bad_arguments),
        cmocka_unit_test(test_bad_options),
        cmocka_unit_test(test_sizes_beyond_memory),
        cmocka_unit_test(test_workspace_bytes),
        cmocka_unit_test(test_high_water),
        cmocka_unit_test(test_no_allocation_in_calls),
        cmocka_unit_test(test_lifetime),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
