/* Text of programs: what is printed, what is taken, what is refused and how that is said. */
#include "ir/ir.h"
#include "prims/ids.h"

#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static tn_fn *parse(tn_ctx *c, const char *text) { return tn_fn_parse(c, text, strlen(text), "f.tn"); }

static tn_fn *parse_ok(tn_ctx *c, const char *text) {
    tn_fn *f = parse(c, text);
    if (!f) fail_msg("%s\n%s", tn_error(c), text);
    return f;
}

static char *printed(tn_ctx *c, const char *text) {
    tn_fn *f = parse_ok(c, text);
    size_t n;
    char *out = tn_fn_print(f, &n);
    assert_non_null(out);
    assert_int_equal(n, strlen(out));
    tn_fn_free(f);
    return out;
}

/* `text` prints as `expected`, which prints as itself; nothing stays allocated. */
static void prints_as(const char *text, const char *expected) {
    tn_ctx *c = tn_ctx_new(NULL);
    char *once = printed(c, text);
    assert_string_equal(once, expected);
    char *twice = printed(c, once);
    assert_string_equal(twice, expected);
    tn_text_free(c, once);
    tn_text_free(c, twice);
    assert_null(c->fns);
    tn_ctx_free(c);
}

static void prints_itself(const char *text) { prints_as(text, text); }

static void refused(const char *text, tn_status status, const char *message) {
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = parse(c, text);
    if (f) fail_msg("accepted: %s", text);
    if (tn_last_status(c) != status || !strstr(tn_error(c), message))
        fail_msg("expected %d '%s', got %d '%s' for\n%s", (int)status, message, (int)tn_last_status(c), tn_error(c),
                 text);
    assert_null(c->fns);
    f = parse(c, "{ lambda a:f64[] . let in (a,) }");
    assert_non_null(f); /* the context is as good as before */
    tn_ctx_free(c);
}

/* ---- printing -------------------------------------------------------------------- */

static void test_design_sample(void **state) {
    (void)state;
    prints_as("{ lambda x:f64[3] | dx:f64[3] . let\n"
              "    c:f64[3] = constant[value=[0.5, 1.0, 2.0]]\n"
              "    a:f64[3] = mul c dx\n"
              "    b:f64[3] = cos x\n"
              "    t:f64[3] = mul b a\n"
              "    s:f64[] = reduce_sum[axes=(0,)] t\n"
              "  in (s,) }\n",
              "{ lambda a:f64[3] | b:f64[3] . let\n"
              "    c:f64[3] = constant[value=[0.5, 1.0, 2.0]]\n"
              "    d:f64[3] = mul c b\n"
              "    e:f64[3] = cos a\n"
              "    f:f64[3] = mul e d\n"
              "    g:f64[] = reduce_sum[axes=(0,)] f\n"
              "  in (g,) }\n");
}

static void test_empty_parts(void **state) {
    (void)state;
    prints_itself("{ lambda . let\n  in () }\n");
    prints_itself("{ lambda | a:f64[] . let\n  in (a,) }\n");
    prints_itself("{ lambda . let\n  in (1.0:f64[], 2:i32[], -3:i64[], True:bool[], 0.1:f32[]) }\n");
}

static void test_parameters(void **state) {
    (void)state;
    prints_itself(
        "{ lambda a:f64[3,4] b:f64[4,3] c:i32[2,1] d:f64[2,3] . let\n"
        "    e:f64[5,3,4] = broadcast_in_dim[shape=(5, 3, 4) broadcast_dimensions=(1, 2)] a\n"
        "    f:f64[3,3] = dot_general[dimension_numbers=(((1,), (0,)), ((), ()))] a b\n"
        "    g:f64[5,6] = pad[padding_config=((1, 1, 0), (0, -1, 1))] a 0.0:f64[]\n"
        "    h:f64[2,4] = gather[dimension_numbers=GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), "
        "start_index_map=(0,), operand_batching_dims=(), start_indices_batching_dims=()) slice_sizes=(1, 4) mode=fill] "
        "a c\n"
        "    i:f32[3,4] = convert_element_type[new_dtype=f32] a\n"
        "    j:f64[2,4] = slice[start_indices=(0, 0) limit_indices=(3, 4) strides=(2, 1)] a\n"
        "    k:f64[3,2] l:f64[3,2] = split[sizes=(2, 2) axis=1] a\n"
        "    m:f64[3] = reduce_sum[region=7 axes=(1,)] a\n"
        "    n:f64[3,4] = mul[region=2] a a\n"
        "  in (e, f, g, h, i, j, k, l, m, n) }\n");
}

static void test_nested(void **state) {
    (void)state;
    prints_itself("{ lambda a:f64[2] . let\n"
                  "    b:f64[2] = call[\n"
                  "        name=\"f \\\"q\\\" \\\\ \\x0a\"\n"
                  "        program={ lambda a:f64[2] . let\n"
                  "            b:f64[2] = linear_call[\n"
                  "                f={ lambda | a:f64[2] . let\n"
                  "                    b:f64[2] = neg a\n"
                  "                  in (b,) }\n"
                  "                ft={ lambda | a:f64[2] . let\n"
                  "                    b:f64[2] = neg a\n"
                  "                  in (b,) }\n"
                  "              ] a\n"
                  "          in (b,) }\n"
                  "      ] a\n"
                  "  in (b,) }\n");
}

/* What is used twice stands in front, once. */
static void test_shared(void **state) {
    (void)state;
    const char *text = "let p1 = { lambda a:f64[] . let\n    b:f64[] = sin a\n  in (b,) } in\n"
                       "let p2 = { lambda a:f64[] . let\n"
                       "    b:f64[] = call[\n        name=\"f\"\n        program=p1\n      ] a\n"
                       "    c:f64[] = call[\n        name=\"f\"\n        program=p1\n      ] b\n"
                       "  in (c,) } in\n"
                       "{ lambda a:f64[] . let\n"
                       "    b:f64[] = call[\n        name=\"g\"\n        program=p2\n      ] a\n"
                       "    c:f64[] = call[\n        name=\"g\"\n        program=p2\n      ] b\n"
                       "  in (c,) }\n";
    prints_itself(text);
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = parse_ok(c, text);
    assert_ptr_equal(tn_i_p(&f->eqn[0])[1].u.fn, tn_i_p(&f->eqn[1])[1].u.fn);
    tn_ctx_free(c);
}

static void add_name(char *out, size_t n, int k) {
    char name[8];
    size_t at = sizeof name - 1;
    name[at] = 0;
    for (k++; k; k = (k - 1) / 26) name[--at] = (char)('a' + (k - 1) % 26);
    (void)snprintf(out, n, "%s", name + at);
}

/* Names run a .. z, aa .. and leave out the reserved words. */
static void test_names(void **state) {
    (void)state;
    enum { N = 10000 };
    static char text[N * 24];
    size_t at = (size_t)sprintf(text, "{ lambda x:f64[] . let\n");
    for (int i = 0; i < N; i++) at += (size_t)sprintf(text + at, " v%d = neg %s%d\n", i, i ? "v" : "x #", i - 1);
    (void)strcpy(text + at, " in (x,) }");
    tn_ctx *c = tn_ctx_new(NULL);
    char *out = printed(c, text), *line = strchr(out, '\n') + 1;
    int skipped = 0;
    for (int i = 0; i < N; i++, line = strchr(line, '\n') + 1) {
        char want[8], got[8];
        for (;; skipped++) {
            add_name(want, sizeof want, i + 1 + skipped);
            if (strcmp(want, "in") && strcmp(want, "inf") && strcmp(want, "let") && strcmp(want, "nan")) break;
        }
        assert_int_equal(sscanf(line, " %7[a-z]:", got), 1);
        assert_string_equal(got, want);
    }
    assert_int_equal(skipped, 4);
    tn_text_free(c, out);
    tn_ctx_free(c);
}

/* ---- numbers --------------------------------------------------------------------- */

static void test_numbers(void **state) {
    (void)state;
    prints_itself("{ lambda . let\n"
                  "    a:f64[9] = constant[value=[0.1, -0.0, 5e-324, 1.7976931348623157e+308, inf, -inf, nan, "
                  "nan:0xfff8000000000000, nan:0x7ff0000000000001]]\n"
                  "    b:f32[4] = constant[value=[0.1, 1e-45, 3.4028235e+38, nan:0x7fc00001]]\n"
                  "    c:i32[2] = constant[value=[-2147483648, 2147483647]]\n"
                  "    d:i64[2] = constant[value=[-9223372036854775808, 9223372036854775807]]\n"
                  "    e:bool[2,1] = constant[value=[[True], [False]]]\n"
                  "    f:f64[2,2,2] = constant[value=[[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]]]\n"
                  "    g:f64[0,3] = constant[value=[]]\n"
                  "    h:f64[3,0] = constant[value=[]]\n"
                  "  in (a, b, c, d, e, f, g, h, -0.0:f64[], 1e-45:f32[], nan:0x7fc00001:f32[]) }\n");
    prints_as("{ lambda . let a:f64[2,0] = constant[value=[[], []]] b = constant[value=[[1, 2], [3, 0x1p-1]]]"
              " c = constant[value=[True]] d = constant[value=[1, 5000000000]] in (a, b, c, d, 0x1.8p+1, 7) }",
              "{ lambda . let\n    a:f64[2,0] = constant[value=[]]\n    b:f64[2,2] = constant[value=[[1.0, 2.0], [3.0, "
              "0.5]]]\n"
              "    c:bool[1] = constant[value=[True]]\n    d:i64[2] = constant[value=[1, 5000000000]]\n"
              "  in (a, b, c, d, 3.0:f64[], 7:i32[]) }\n");
}

static void check_bits(tn_ctx *c, tn_type type, const void *data) {
    const tn_type *t = &type;
    tn_i_builder b;
    tn_i_builder_init(&b, c);
    tn_i_var v = tn_i_constant(&b, t, data);
    tn_fn *f = tn_i_finish(&b, 1, &v);
    assert_non_null(f);
    size_t n;
    char *text = tn_fn_print(f, &n);
    tn_fn *g = tn_fn_parse(c, text, n, NULL);
    if (!g) fail_msg("%s", tn_error(c));
    assert_memory_equal(tn_i_blob_data(tn_i_p(&g->eqn[0])->u.blob), data, tn_type_bytes(t));
    assert_true(tn_i_fn_equal(f, g));
    tn_text_free(c, text);
    tn_fn_free(f);
    tn_fn_free(g);
}

static void test_every_bit(void **state) {
    (void)state;
    enum { N = 4000 };
    static uint64_t d[N];
    static uint32_t s[N];
    tn_i_rng rng = {.state = 7};
    for (int i = 0; i < N; i++) {
        d[i] = tn_i_random(&rng);
        s[i] = (uint32_t)tn_i_random(&rng);
        if (i % 5 == 0) d[i] |= 0x7FF0000000000000u, s[i] |= 0x7F800000u; /* NaNs with every payload */
        if (i % 7 == 0) d[i] &= 0x800FFFFFFFFFFFFFu, s[i] &= 0x807FFFFFu; /* subnormals */
    }
    tn_ctx *c = tn_ctx_new(NULL);
    check_bits(c, tn_f64(4, N / 4), d);
    check_bits(c, tn_i64(N), d);
    check_bits(c, tn_f32(N / 2, 2), s);
    check_bits(c, tn_i32(N), s);
    tn_ctx_free(c);
}

static void test_locale(void **state) {
    (void)state;
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8"};
    bool comma = false;
    for (size_t i = 0; i < sizeof names / sizeof *names && !comma; i++)
        comma = setlocale(LC_ALL, names[i]) && *localeconv()->decimal_point == ',';
    if (!comma) skip();
    prints_itself("{ lambda a:f64[1] . let\n    b:f64[1] = constant[value=[0.5]]\n    c:f64[1] = mul a b\n  in (c, "
                  "1.25:f64[]) }\n");
    (void)setlocale(LC_ALL, "C");
}

/* ---- JAX's forms ------------------------------------------------------------------ */

#define F3 "{ lambda a:f64[3] . let\n    "

static void test_jax_layout(void **state) {
    (void)state;
    prints_as("{ lambda a:f64[3] ; b:f64[]. let in (a,) }", "{ lambda a:f64[3] b:f64[] . let\n  in (a,) }\n");
    prints_as("{lambda;a:float64[ 3 ].let b=neg a in(b)}", F3 "b:f64[3] = neg a\n  in (b,) }\n");
    prints_as("# a comment\n{ lambda a:f64[3]; | . # another\n let _:f64[3] = neg a # }\n in (a,) }",
              F3 "b:f64[3] = neg a\n  in (a,) }\n");
    prints_as("{ lambda ; a:f64[4]. let\n b c:f64[3] = split[\n  axis=0\n  sizes=(1, 3)\n] a d = exp2[accuracy=None] b "
              "in (d, c) }",
              "{ lambda a:f64[4] . let\n    b:f64[1] c:f64[3] = split[sizes=(1, 3) axis=0] a\n    d:f64[1] = exp2 b\n  "
              "in (d, c) }\n");
}

static void test_jax_literals(void **state) {
    (void)state;
#define BROADCAST "    b:f64[3] = broadcast_in_dim[shape=(3,) broadcast_dimensions=()] "
    prints_as("{ lambda ; a:f64[3]. let b:f64[3] = mul 2.0:f64[] a in (b,) }",
              "{ lambda a:f64[3] . let\n" BROADCAST "2.0:f64[]\n    c:f64[3] = mul b a\n  in (c,) }\n");
    prints_as("{ lambda ; a:f64[3]. let b:f64[3] = pow a 2 in (b,) }",
              "{ lambda a:f64[3] . let\n" BROADCAST "2.0:f64[]\n    c:f64[3] = pow a b\n  in (c,) }\n");
    prints_as("{ lambda ; a:f32[]. let b = add a -inf c = sub a 1 in (b, c) }",
              "{ lambda a:f32[] . let\n    b:f32[] = add a -inf:f32[]\n    c:f32[] = sub a 1.0:f32[]\n  in (b, c) }\n");
    prints_as("{ lambda ; a:f64[2]. let b = pad[padding_config=((0,1,0),)] a 0.0 in (b,) }",
              "{ lambda a:f64[2] . let\n    b:f64[3] = pad[padding_config=((0, 1, 0),)] a 0.0:f64[]\n  in (b,) }\n");
    prints_as("{ lambda ; a:f64[3]. let b = dynamic_slice[slice_sizes=(2,)] a 1 in (b,) }",
              F3 "b:f64[2] = dynamic_slice[slice_sizes=(2,)] a 1:i32[]\n  in (b,) }\n");
}

static void test_jax_primitives(void **state) {
    (void)state;
    prints_as("{ lambda p:bool[3] a:f64[3] b:f64[3] . let c = select_n p a b in (c,) }",
              "{ lambda a:bool[3] b:f64[3] c:f64[3] . let\n    d:f64[3] = select a c b\n  in (d,) }\n");
    prints_as("{ lambda p:bool[] a:f64[3] b:f64[3] . let c = select_n p a b in (c,) }",
              "{ lambda a:bool[] b:f64[3] c:f64[3] . let\n"
              "    d:f64[3] = select a c b\n  in (d,) }\n");
    prints_as(
        "{ lambda ; a:f64[5] i:i32[2,1] u:f64[2]. let b = scatter-add[dimension_numbers=ScatterDimensionNumbers("
        "update_window_dims=(), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,)) indices_are_sorted=False "
        "mode=GatherScatterMode.FILL_OR_DROP unique_indices=False update_consts=() update_jaxpr=None] a i u in (b,) }",
        "{ lambda a:f64[5] b:i32[2,1] c:f64[2] . let\n    d:f64[5] = "
        "scatter_add[dimension_numbers=ScatterDimensionNumbers("
        "update_window_dims=(), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,), "
        "operand_batching_dims=(), "
        "scatter_indices_batching_dims=()) mode=drop] a b c\n  in (d,) }\n");
    prints_as(
        "{ lambda ; a:f64[5] i:i32[2,1] u:f64[2]. let b = scatter[dimension_numbers=ScatterDimensionNumbers("
        "update_window_dims=(), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,)) indices_are_sorted=False "
        "mode=GatherScatterMode.CLIP unique_indices=True update_consts=() update_jaxpr=None] a i u in (b,) }",
        "{ lambda a:f64[5] b:i32[2,1] c:f64[2] . let\n    d:f64[5] = "
        "scatter[dimension_numbers=ScatterDimensionNumbers("
        "update_window_dims=(), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,), "
        "operand_batching_dims=(), "
        "scatter_indices_batching_dims=()) mode=clip unique_indices=True] a b c\n  in (d,) }\n");
    static const char *const joins[][2] = {{"mul", " unique_indices=False"}, {"min", ""}, {"max", ""}};
    for (int i = 0; i < 3; i++) {
        char text[1024], want[1024];
        (void)snprintf(text, sizeof text,
                       "{ lambda ; a:f64[5] i:i32[2,1] u:f64[2]. let b:f64[5] = scatter-%s[\n"
                       "dimension_numbers=ScatterDimensionNumbers(update_window_dims=(), inserted_window_dims=(0,), "
                       "scatter_dims_to_operand_dims=(0,))\nindices_are_sorted=False\n"
                       "mode=GatherScatterMode.FILL_OR_DROP\nunique_indices=False\nupdate_consts=()\n"
                       "update_jaxpr={ lambda ; v:f64[] w:f64[]. let\n  x:f64[] = %s v w\nin (x,) }\n] a i u in (b,) }",
                       joins[i][0], joins[i][0]);
        (void)snprintf(want, sizeof want,
                       "{ lambda a:f64[5] b:i32[2,1] c:f64[2] . let\n    d:f64[5] = "
                       "scatter_%s[dimension_numbers=ScatterDimensionNumbers("
                       "update_window_dims=(), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,), "
                       "operand_batching_dims=(), scatter_indices_batching_dims=()) mode=drop%s] a b c\n  in (d,) }\n",
                       joins[i][0], joins[i][1]);
        prints_as(text, want);
    }
    prints_as(
        "{ lambda ; a:f64[5] i:i32[2,1] u:f64[2]. let b = scatter-sub[dimension_numbers=ScatterDimensionNumbers("
        "update_window_dims=(), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,)) indices_are_sorted=False "
        "mode=GatherScatterMode.CLIP unique_indices=True update_consts=() update_jaxpr=None] a i u in (b,) }",
        "{ lambda a:f64[5] b:i32[2,1] c:f64[2] . let\n    d:f64[2] = neg c\n    e:f64[5] = "
        "scatter_add[dimension_numbers=ScatterDimensionNumbers("
        "update_window_dims=(), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,), "
        "operand_batching_dims=(), scatter_indices_batching_dims=()) mode=clip] a b d\n  in (e,) }\n");
    prints_as(
        "{ lambda ; a:f64[5] i:i32[2,1]. let b = gather[mode=1 fill_value=None slice_sizes=(1,) dimension_numbers="
        "GatherDimensionNumbers(start_index_map=(0,), offset_dims=(), collapsed_slice_dims=(0,))] a i in (b,) }",
        "{ lambda a:f64[5] b:i32[2,1] . let\n    c:f64[2] = "
        "gather[dimension_numbers=GatherDimensionNumbers(offset_dims=(), "
        "collapsed_slice_dims=(0,), start_index_map=(0,), operand_batching_dims=(), start_indices_batching_dims=()) "
        "slice_sizes=(1,) mode=clip] a b\n  in (c,) }\n");
    prints_as("{ lambda ; a:f32[2,3] b:f32[3]. let c:f32[2] = dot_general[dimension_numbers=(([1], [0]), ([], [])) "
              "out_sharding=None "
              "precision=(Precision.DEFAULT, <x at 0x7f>) preferred_element_type=float32] a b in (c,) }",
              "{ lambda a:f32[2,3] b:f32[3] . let\n    c:f32[2] = dot_general[dimension_numbers=(((1,), (0,)), ((), "
              "())) preferred_element_type=f32] a b\n"
              "  in (c,) }\n");
    prints_as(
        "{ lambda ; a:f64[3]. let b:f64[3] = pjit[name=<lambda> donated_invars=(False,) "
        "in_shardings=(UnspecifiedValue(),) "
        "keep_unused=False inline=False jaxpr={ lambda ; a:f64[3]. let b:f64[3] = copy_p a in (b,) }] a in (b,) }",
        F3 "b:f64[3] = call[\n        name=\"<lambda>\"\n        program={ lambda a:f64[3] . let\n          in (a,) }\n"
           "      ] a\n  in (b,) }\n");
    prints_as(
        "{ lambda ; a:f64[1,3,1]. let b:f64[3] = squeeze[dimensions=(0, 2)] a c:f64[3] = add_any b b in (c,) }",
        "{ lambda a:f64[1,3,1] . let\n    b:f64[3] = reshape[new_sizes=(3,)] a\n    c:f64[3] = add b b\n  in (c,) }\n");
    prints_as("{ lambda ; a:f64[3]. let b:i32[] = argmax[axes=(0,) index_dtype=int32] a c:f64[3] = clamp 0.0 a 1.0 "
              "d:f64[3] = round[rounding_method=RoundingMethod.TO_NEAREST_EVEN] c in (b, d) }",
              F3 "b:i32[] = argmax[axes=(0,) index_dtype=i32] a\n"
                 "    c:f64[3] = clamp 0.0:f64[] a 1.0:f64[]\n    d:f64[3] = round[rounding_method=TO_NEAREST_EVEN] "
                 "c\n  in (b, d) }\n");
}

#define IN "{ lambda a:f64[3] b:f64[4] . let\n "

static void test_jax_numbers(void **state) {
    (void)state;
    prints_as("{ lambda ; a:f64[3]. let b:f64[2] = slice[limit_indices=(np.int64(2),) start_indices=(np.int32(0),) "
              "strides=None] a in (b,) }",
              F3 "b:f64[2] = slice[start_indices=(0,) limit_indices=(2,)] a\n  in (b,) }\n");
    prints_as("{ lambda ; a:f64[3,2]. let b:f64[3] = reduce_sum[axes=(np.int64(1),)] a in (b,) }",
              "{ lambda a:f64[3,2] . let\n    b:f64[3] = reduce_sum[axes=(1,)] a\n  in (b,) }\n");
    refused(IN "c = reduce_sum[axes=(np.int64(0] a in (c,) }", TN_EPARSE, "expected ')', not ']'");
    refused(IN "c = reduce_sum[axes=(np.(0),)] a in (c,) }", TN_EPARSE, "expected a dtype of NumPy");
    refused(IN "c = reduce_sum[axes=(np.int64(a),)] a in (c,) }", TN_EPARSE, "expected an integer");
}

/* Programs with names may be used in front of where they are defined, but not by themselves. */
static void test_programs_ahead(void **state) {
    (void)state;
#define CALL(name) "{ lambda ; a:f64[]. let b:f64[] = jit[name=x jaxpr=" name "] a in (b,) } in "
#define MAIN       "{ lambda ; a:f64[]. let b:f64[] = jit[name=x jaxpr=f] a c:f64[] = jit[name=x jaxpr=g] b in (c,) }"
    static const char sine[] = "let g = { lambda ; a:f64[]. let b:f64[] = sin a in (b,) } in ";
    char behind[800], in_front[800];
    (void)snprintf(in_front, sizeof in_front, "%slet h = " CALL("g") "let f = " CALL("h") MAIN, sine);
    (void)snprintf(behind, sizeof behind, "let f = " CALL("h") "let h = " CALL("g") "%s" MAIN, sine);
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = tn_fn_parse(c, in_front, strlen(in_front), "f.tn");
    if (!f) fail_msg("%s", tn_error(c));
    size_t n;
    char *text = tn_fn_print(f, &n);
    assert_non_null(text);
    prints_as(behind, text);
    tn_text_free(c, text);
    tn_fn_free(f);
    tn_ctx_free(c);
    refused("let f = " CALL("f") MAIN, TN_EPARSE, "f.tn:1:60: there is no program 'f'");
    refused("let f = " CALL("g") "let g = " CALL("f") MAIN, TN_EPARSE, "there is no program 'f'");
    refused("let f = " CALL("g") "let g = " CALL("h") "let g = " CALL("h") MAIN, TN_EPARSE, "there is no program 'h'");
    refused("let f = " CALL("g") MAIN, TN_EPARSE, "there is no program 'g'");
    refused("let f = " CALL("g") "let g = { lambda ; a:f64[]. let in (a,) } let" MAIN, TN_EPARSE, "expected 'in'");
}

/* A text has names of constants within, but no values: they are inputs. */
static void test_constants_within(void **state) {
    (void)state;
    prints_as("let f = { lambda k:f64[2]; a:f64[2]. let b:f64[2] = mul k a in (b,) } in\n"
              "{ lambda ; x:f64[2]. let y:f64[2] = jit[name=f jaxpr=f] x z:f64[2] = jit[name=g jaxpr={ lambda ; "
              "c:f64[2]. let d:f64[2] = jit[name=f jaxpr=f] c in (d,) }] y\n"
              "  u:f64[1,2] = broadcast_in_dim[broadcast_dimensions=(1,)] z\n"
              "  w:f64[] = scan[jaxpr={ lambda k:f64[2]; a:f64[] b:f64[2]. let c:f64[2] = mul k b d:f64[] = "
              "reduce_sum[axes=(0,)] c e:f64[] = add a d in (e,) } num_consts=0 num_carry=1 length=1 reverse=False "
              "linear=(False,)] 0.0:f64[] u in (z, w) }\n",
              "let p1 = { lambda a:f64[2] b:f64[2] . let\n"
              "    c:f64[2] = mul a b\n"
              "  in (c,) } in\n"
              "{ lambda a:f64[2] b:f64[2] c:f64[2] . let\n"
              "    d:f64[2] = call[\n"
              "        name=\"f\"\n"
              "        program=p1\n"
              "      ] a c\n"
              "    e:f64[2] = call[\n"
              "        name=\"g\"\n"
              "        program={ lambda a:f64[2] b:f64[2] . let\n"
              "            c:f64[2] = call[\n"
              "                name=\"f\"\n"
              "                program=p1\n"
              "              ] a b\n"
              "          in (c,) }\n"
              "      ] a d\n"
              "    f:f64[1,2] = broadcast_in_dim[shape=(1, 2) broadcast_dimensions=(1,)] e\n"
              "    g:f64[] = scan[\n"
              "        program={ lambda a:f64[2] b:f64[] c:f64[2] . let\n"
              "            d:f64[2] = mul a c\n"
              "            e:f64[] = reduce_sum[axes=(0,)] d\n"
              "            f:f64[] = add b e\n"
              "          in (f,) }\n"
              "        length=1\n"
              "        num_consts=1\n"
              "        num_carry=1\n"
              "        reverse=False\n"
              "      ] b 0.0:f64[] f\n"
              "  in (e, g) }\n");
    /* branches take those of each other */
    prints_as(
        "{ lambda ; i:i32[] x:f64[]. let y:f64[] = cond[branches=({ lambda k:f64[]; a:f64[]. let b:f64[] = mul k a "
        "in (b,) } { lambda ; a:f64[]. let in (a,) } { lambda m:f64[]; a:f64[]. let b:f64[] = add m a in (b,) })] "
        "i x in (y,) }",
        "{ lambda a:f64[] b:f64[] c:i32[] d:f64[] . let\n"
        "    e:f64[] = cond[\n"
        "        branches=(\n"
        "          { lambda a:f64[] b:f64[] c:f64[] . let\n"
        "              d:f64[] = mul a c\n"
        "            in (d,) },\n"
        "          { lambda a:f64[] b:f64[] c:f64[] . let\n"
        "            in (c,) },\n"
        "          { lambda a:f64[] b:f64[] c:f64[] . let\n"
        "              d:f64[] = add b c\n"
        "            in (d,) }\n"
        "        )\n"
        "      ] c a b d\n"
        "  in (e,) }\n");
    prints_as("{ lambda ; x:f64[] l:f64[]. let y:f64[] = while[cond_jaxpr={ lambda k:f64[]; l:f64[] x:f64[]. let "
              "a:f64[] = add k l; b:bool[] = lt x a in (b,) } cond_nconsts=1 body_jaxpr={ lambda m:f64[]; x:f64[]. let "
              "a:f64[] = add x m in (a,) } body_nconsts=0] l x in (y,) }",
              "{ lambda a:f64[] b:f64[] c:f64[] d:f64[] . let\n    e:f64[] = while[\n        cond={ lambda a:f64[] "
              "b:f64[] c:f64[] . let\n            d:f64[] = add a b\n            e:bool[] = lt c d\n          in (e,) "
              "}\n        body={ lambda a:f64[] b:f64[] . let\n            c:f64[] = add b a\n          in (c,) }\n"
              "        cond_nconsts=2\n        body_nconsts=1\n      ] a d b c\n  in (e,) }\n");
    refused("let f = { lambda k:f64[]; a:f64[]. let b:f64[] = mul k a in (b,) } in "
            "{ lambda ; x:f64[]. let y:f64[] = jit[name=f jaxpr=f] in (y,) }",
            TN_ETYPE, "the program takes 2 inputs, not 0");
}

/* JAX reads what a call drops by the name `_` in the program that is called. */
static void test_dropped(void **state) {
    (void)state;
    prints_as("{ lambda a:f64[] . let _:f64[] = sin a; b:f64[] = cos _ in (b,) }",
              "{ lambda a:f64[] . let\n    b:f64[] = sin a\n    c:f64[] = cos b\n  in (c,) }\n");
    prints_as("{ lambda a:f64[] . let b:f64[] _:i32[] _:f64[] = jit[name=f jaxpr={ lambda ; a:f64[]. let\n"
              "_:f64[] = sin a; _:i32[] = convert_element_type[new_dtype=int32] a in (a, _, _) }] a in (b,) }",
              "{ lambda a:f64[] . let\n    b:f64[] c:i32[] d:f64[] = call[\n        name=\"f\"\n"
              "        program={ lambda a:f64[] . let\n            b:f64[] = sin a\n"
              "            c:i32[] = convert_element_type[new_dtype=i32] a\n          in (a, c, b) }\n      ] a\n"
              "  in (b,) }\n");
    refused("{ lambda a:f64[] . let b:f64[] = cos _ in (b,) }", TN_EPARSE, "'_' is not defined");
    refused("{ lambda a:f64[] . let _:f64[] = sin a; _:f64[] = cos a; b:f64[] = cos _ in (b,) }", TN_EPARSE,
            "_ stands for several values");
    /* of two of one type the outer may drop either, but not read it */
    refused(
        "{ lambda a:f64[] . let _:f64[] = jit[name=f jaxpr={ lambda ; a:f64[]. let _:f64[] = sin a; _:f64[] = cos a "
        "in (_,) }] a; b:f64[] = sin _ in (b,) }",
        TN_EPARSE, "_ stands for several values");
}

/* JAX names variables by all words, its keywords among them. */
static void test_keywords_as_names(void **state) {
    (void)state;
    prints_as("{ lambda ; in:f64[3] let:f64[3]. let lambda:f64[3] = add in let stack:f64[3] = mul in lambda in ("
              "in, let, lambda, stack) }",
              "{ lambda a:f64[3] b:f64[3] . let\n    c:f64[3] = add a b\n    d:f64[3] = mul a c\n"
              "  in (a, b, c, d) }\n");
    /* an operand `in` in front of what has no outputs, and of the end */
    prints_as("{ lambda in:f64[] . let a = sin in () = print[message=\"x\"] in in (in, a) }",
              "{ lambda a:f64[] . let\n    b:f64[] = sin a\n    () = print[message=\"x\"] a\n  in (a, b) }\n");
    prints_as(
        "let in = { lambda let:f64[] . let in (let) } in { lambda in:f64[] . let let = call[name=\"f\" program=in] "
        "in in (let) }",
        "{ lambda a:f64[] . let\n    b:f64[] = call[\n        name=\"f\"\n        program={ lambda a:f64[] . let\n"
        "          in (a,) }\n      ] a\n  in (b,) }\n");
}

#define WINDOWS                                                                                                  \
    "dimension_numbers=GatherDimensionNumbers(offset_dims=(), collapsed_slice_dims=(0,), start_index_map=(0,), " \
    "operand_batching_dims=(), start_indices_batching_dims=()) slice_sizes=(1,) mode=fill"

/* The operand's dtype, how the value is written, how it prints. */
static void fills(const char *dtype, const char *value, const char *prints) {
    char text[512], expected[512];
    (void)snprintf(text, sizeof text,
                   "{ lambda a:%s[3] i:i32[2,1] . let b = gather[" WINDOWS " fill_value=%s] a i in (b) }", dtype,
                   value);
    (void)snprintf(expected, sizeof expected,
                   "{ lambda a:%s[3] b:i32[2,1] . let\n    c:%s[2] = gather[" WINDOWS
                   " fill_value=%s] a b\n  in (c,) }\n",
                   dtype, dtype, prints);
    prints_as(text, expected);
}

static void fills_not(const char *dtype, const char *value, tn_status status, const char *message) {
    char text[512];
    (void)snprintf(text, sizeof text,
                   "{ lambda a:%s[3] i:i32[2,1] . let b = gather[" WINDOWS " fill_value=%s] a i in (b) }", dtype,
                   value);
    refused(text, status, message);
}

/* What is outside, of every dtype: the program's value there. */
static void gives(double value, const char *text) {
    tn_ctx *c = tn_ctx_new(NULL);
    char whole[512];
    (void)snprintf(whole, sizeof whole,
                   "{ lambda a:f64[3] i:i32[2,1] . let b = gather[" WINDOWS " fill_value=%s] a i in (b) }", text);
    tn_fn *f = parse_ok(c, whole);
    tn_exec *e = tn_compile(f, NULL);
    assert_non_null(e);
    const double a[3] = {1, 2, 3};
    const int32_t at[2] = {1, 7};
    double out[2] = {0};
    assert_int_equal(tn_call(e, (const void *[]){a, at}, (void *[]){out}), TN_OK);
    assert_true(out[0] == 2 && (out[1] == value || (out[1] != out[1] && value != value)));
    tn_exec_free(e);
    tn_fn_free(f);
    tn_ctx_free(c);
}

static void test_fill_values(void **state) {
    (void)state;
    fills("f64", "1.5", "1.5");
    fills("f64", "-inf", "-inf");
    fills("f64", "nan", "nan");
    fills("f64", "2", "2");
    fills("f32", "0.1", "0.1");
    fills("i64", "9223372036854775807", "9223372036854775807");
    fills("i32", "-2147483648", "-2147483648");
    fills("bool", "True", "True");
    fills("bool", "0", "0");
    fills_not("i32", "2147483648", TN_ETYPE, "fill_value: 2147483648 is no i32");
    fills_not("i64", "0.5", TN_ETYPE, "fill_value: 0.5 is no i64");
    fills_not("bool", "2", TN_ETYPE, "fill_value: 2 is no bool");
    fills_not("f64", "True", TN_ETYPE, "fill_value: True is no f64");
    fills_not("f32", "1e300", TN_ETYPE, "fill_value: 1.0000000000000001e+300 is no f32");
    fills_not("f64", "x", TN_EPARSE, "expected a number, not 'x'");
    fills_not("f64", "1x", TN_EPARSE, "'1x' is no number");
    gives(-2.5, "-2.5");
    gives(0, "-0.0");
    gives(NAN, "None");
    gives(INFINITY, "inf");
}

/* `name=(..)` in the list of primitives: what holds when it is not given.  Each may be left out, and prints so. */
static void test_optional_parameters(void **state) {
    (void)state;
    prints_itself("{ lambda a:f64[2,2] b:f64[2,1] . let\n    c:f64[2,1] = triangular_solve[left_side=True lower=True "
                  "transpose_a=False unit_diagonal=False] a b\n  in (c,) }\n");
    for (int id = 0; id < TN_NPRIMS; id++)
        for (const tn_i_spec *s = tn_i_registry[id]->params; s && s->name; s++) {
            if (s->otherwise && !*s->otherwise) fail_msg("%s: %s", tn_i_registry[id]->name, s->name);
            if (s->kind == TN_K_PTR) assert_non_null(s->otherwise); /* no text has it */
        }
}

static void test_batched_while(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = parse_ok(c, "{ lambda ; a:f64[3,2] n:i32[3] k:i32[3]. let b:i32[3] d:f64[3,2] = while[cond_nconsts=1 "
                           "cond_jaxpr={ lambda ; n:i32[3] i:i32[3] x:f64[3,2]. let p:bool[3] = lt i n in (p,) } "
                           "body_nconsts=1 body_jaxpr={ lambda ; s:f64[3,2] i:i32[3] x:f64[3,2]. let "
                           "j:i32[3] = add i 1:i32[] y:f64[3,2] = mul x s in (j, y) }] n a k a in (b, d) }");
    tn_exec *e = tn_compile(f, NULL);
    assert_non_null(e);
    const double a[6] = {2, 3, 4, 5, 6, 7};
    const int32_t n[3] = {3, 0, 1}, k[3] = {0, 0, 0};
    int32_t i[3];
    double x[6];
    assert_int_equal(tn_call(e, (const void *[]){a, n, k}, (void *[]){i, x}), TN_OK);
    const double expected[6] = {16, 81, 4, 5, 36, 49};
    for (int j = 0; j < 3; j++) assert_int_equal(i[j], n[j]);
    for (int j = 0; j < 6; j++) assert_true(x[j] == expected[j]);
    tn_exec_free(e);
    tn_fn_free(f);
    tn_ctx_free(c);
    refused(
        "{ lambda a:f64[3] . let b:f64[3] = while[cond_nconsts=0 cond={ lambda x:f64[3] . let p = lt x 1.0 in (p) } "
        "body_nconsts=0 body={ lambda x:f64[3] . let in (2.0:f64[]) }] a in (b) }",
        TN_ETYPE, "the condition's program must give one bool[]");
}

static void test_logical_reductions(void **state) {
    (void)state;
    prints_as(
        "{ lambda ; a:bool[3]. let b:bool[] = reduce_or[axes=(0,) out_sharding=None] a c:bool[] = reduce_and[axes=(0,)"
        "] a in (b, c) }",
        "{ lambda a:bool[3] . let\n    b:bool[] = reduce_max[axes=(0,)] a\n    c:bool[] = reduce_min[axes=(0,)] a\n"
        "  in (b, c) }\n");
}

static void test_left_out(void **state) {
    (void)state;
    prints_as("{ lambda a:f64[4] . let b:f64[3,4] = broadcast_in_dim[broadcast_dimensions=(1,) weak_type=False "
              "sharding=None] a "
              "c:f64[12] = reshape[dimensions=None] b d:f32[12] = convert_element_type c in (d,) }",
              "{ lambda a:f64[4] . let\n    b:f64[3,4] = broadcast_in_dim[shape=(3, 4) broadcast_dimensions=(1,)] a\n"
              "    c:f64[12] = reshape[new_sizes=(12,)] b\n    d:f32[12] = convert_element_type[new_dtype=f32] c\n  in "
              "(d,) }\n");
    prints_as("{ lambda a:f64[4] . let b = slice[strides=None limit_indices=[2] start_indices=[0]] a in (b,) }",
              "{ lambda a:f64[4] . let\n    b:f64[2] = slice[start_indices=(0,) limit_indices=(2,)] a\n  in (b,) }\n");
    /* what has no outputs; equations of one line */
    prints_as(
        "{ lambda ; a:f64[]. let d:f64[] = cos a\ncustom_jvp_call[name=f call_jaxpr={ lambda ; . let  in () } jvp=f "
        "symbolic_zeros=False]\n"
        "b:f64[] = sin a; c:f64[] = cos b in (c,) }",
        "{ lambda a:f64[] . let\n    b:f64[] = cos a\n    () = call[\n        name=\"f\"\n        program={ lambda . "
        "let\n          "
        "in () }\n      ]\n"
        "    c:f64[] = sin a\n    d:f64[] = cos c\n  in (d,) }\n");
}

/* ---- what is refused ---------------------------------------------------------------- */

static void test_syntax_errors(void **state) {
    (void)state;
    refused("", TN_EPARSE, "f.tn:1:1: expected '{', not the end of the text");
    refused("{ lambda a . let in (a,) }", TN_EPARSE, "f.tn:1:10: input 'a' needs a type");
    refused("{ lambda a:f64[3] . let in (a,)", TN_EPARSE, "f.tn:1:32: expected '}', not the end");
    refused("{ lambda a:f64[3] . let in (a,) } x", TN_EPARSE, "f.tn:1:35: expected the end of the text, not 'x'");
    refused("{ lambda a:f64[3] a:f64[] . let in () }", TN_EPARSE, "f.tn:1:19: 'a' is defined twice");
    refused("{ lambda True:f64[3] . let in () }", TN_EPARSE, "f.tn:1:10: expected a name, not 'True'");
    refused("{ lambda a:f64[3] . let in a }", TN_EPARSE, "f.tn:1:30: expected a name, not '}'");
    refused("{ lambda a:f8[3] . let in () }", TN_EPARSE, "expected a dtype");
    refused("{ lambda a:stack[3] . let in () }", TN_EPARSE, "'stack' is reserved");
    refused("{ lambda a:f64[-3] . let in () }", TN_EPARSE, "a dimension is negative");
    refused("{ lambda a:f64[1,1,1,1,1,1,1,1,1] . let in () }", TN_EPARSE, "a rank above 8");
    refused("{ lambda a:f64[4000000000,4000000000] . let in () }", TN_EPARSE, "overflows");
    refused("{ lambda a:f64[99999999999999999999] . let in () }", TN_EPARSE, "is not an integer, or too large");
    refused(IN "c = sin q\n in (c,) }", TN_EPARSE, "f.tn:2:10: 'q' is not defined");
    refused(IN "c = sin a c = sin a in (c,) }", TN_EPARSE, "f.tn:2:12: 'c' is defined twice");
    refused(IN "c = sinn a in (c,) }", TN_EPARSE, "f.tn:2:6: there is no primitive 'sinn'");
    refused(IN "c = sin a in (d,) }", TN_EPARSE, "'d' is not defined");
    refused(IN "c = sin _ in (c,) }", TN_EPARSE, "'_' is not defined");
    refused(IN "c = sin[speed=3] a in (c,) }", TN_EPARSE, "f.tn:2:10: sin has no parameter 'speed'");
    refused(IN "c = name[name=\"x] a in (c,) }", TN_EPARSE, "a string without an end");
    refused(IN "c = name[name=\"\\q\"] a in (c,) }", TN_EPARSE, "a bad escape");
    refused(IN "c d = sin a in (c,) }", TN_EPARSE, "'sin' has 1 output, not 2");
    refused(IN "c:f64[4] = sin a in (c,) }", TN_EPARSE, "f.tn:2:2: 'c' is declared f64[4], but is f64[3]");
    refused("\x01\xff{", TN_EPARSE, "not '?'");
}

static void test_parameter_errors(void **state) {
    (void)state;
    refused(IN "c = reduce_sum a in (c,) }", TN_EPARSE, "reduce_sum needs the parameter axes");
    refused(IN "c = reduce_sum[axes=(0,) axes=(0,)] a in (c,) }", TN_EPARSE, "parameter 'axes' is given twice");
    refused(IN "c = sin[region=1 region=2] a in (c,) }", TN_EPARSE, "parameter 'region' is given twice");
    refused(IN "c = sin[linear=False linear=False] a in (c,) }", TN_EPARSE, "parameter 'linear' is given twice");
    refused(IN "c = reduce_sum[axes=0] a in (c,) }", TN_EPARSE, "expected a tuple, not '0'");
    refused(IN "c = reduce_sum[axes=(0] a in (c,) }", TN_EPARSE, "expected ',', not ']'");
    refused(IN "c = reduce_sum[region=-1 axes=(0,)] a in (c,) }", TN_EPARSE, "a region is a number");
    refused(IN "c = broadcast_in_dim[shape=(3,)] a in (c,) }", TN_EPARSE, "needs the parameter broadcast_dimensions");
    refused(IN "c:f64[3] = reshape[dimensions=(1,)] a in (c,) }", TN_ETYPE, "permutation");
    refused(IN "c:f64[3] = squeeze[dimensions=(0,) axes=(0,)] a in (c,) }", TN_EPARSE, "has no parameter 'axes'");
    refused(IN "c:f64[1000000000] = constant[value=[1.0]] in (c,) }", TN_EPARSE, "fewer elements");
    refused(IN "c:f64[2] = constant[value=[1.0]] in (c,) }", TN_EPARSE, "a list is shorter than f64[2]");
    refused(IN "c:f64[2] = constant[value=[1.0, 2.0, 3.0]] in (c,) }", TN_EPARSE, "does not end as f64[2]");
    refused(IN "c:i32[1] = constant[value=[1.5]] in (c,) }", TN_EPARSE, "'1.5' is no value of dtype i32");
    refused(IN "c:i32[1] = constant[value=[2147483648]] in (c,) }", TN_EPARSE, "is no value of dtype i32");
    refused(IN "c:f64[1] = constant[value=[1x5]] in (c,) }", TN_EPARSE, "'1x5' is no value of dtype f64");
    refused(IN "c = constant[value=[[1],[1,2]]] in (c,) }", TN_EPARSE, "does not end as");
    refused(IN "c = constant[value=[[[[[[[[[1]]]]]]]]]] in (c,) }", TN_EPARSE, "deeper than 8");
    refused(IN "c = call[name=\"f\" program=p] a in (c,) }", TN_EPARSE, "there is no program 'p'");
    refused(IN "c = custom_vjp_call[name=f] a in (c,) }", TN_EPARSE, "a text does not hold its rule");
    refused(IN "c = mul 2.0:f64[3] a in (c,) }", TN_EPARSE, "a literal has rank 0");
    refused(IN "c = mul 2.5:i32[] a in (c,) }", TN_EPARSE, "'2.5' is no value of dtype i32");
}

static void test_type_errors(void **state) {
    (void)state;
    refused(IN "c = add a b\n in (c,) }", TN_ETYPE, "f.tn:2:6: add: operand 1: ");
    refused(IN "c = add a\n in (c,) }", TN_ETYPE, "f.tn:2:6: add: takes 2 operands, not 1");
    refused("{ lambda a:i32[] . let c = sin a in (c,) }", TN_ETYPE, "sin: operand 0");
    refused("{ lambda a:f64[65536,65536,65536] . let\n c:f64[65536,65536,65536,65536] = "
            "broadcast_in_dim[broadcast_dimensions=(0,1,2)] a"
            " in (c,) }",
            TN_EPARSE, "overflows");
}

/* `depth` programs inside each other. */
static char *nest(int depth) {
    char *text = malloc((size_t)depth * 80 + 80);
    size_t at = 0;
    for (int i = 1; i < depth; i++) at += (size_t)sprintf(text + at, "{lambda a:f64[].let b=call[name=\"f\" program=");
    at += (size_t)sprintf(text + at, "{lambda a:f64[].let b=sin a in(b)}");
    for (int i = 1; i < depth; i++) at += (size_t)sprintf(text + at, "]a in(b)}");
    return text;
}

static void test_nesting(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    char *text = nest(TN_MAX_NEST), *deeper = nest(TN_MAX_NEST + 1), *hostile = nest(20000);
    char *once = printed(c, text), *twice = printed(c, once);
    assert_string_equal(once, twice);
    tn_text_free(c, once);
    tn_text_free(c, twice);
    tn_ctx_free(c);
    refused(deeper, TN_EPARSE, "programs are nested deeper than 256");
    refused(hostile, TN_EPARSE, "programs are nested deeper than 256");
    free(text);
    free(deeper);
    free(hostile);
}

/* Doubling at each of 200 levels: 2^200 calls, 200 programs. */
static void test_shared_is_linear(void **state) {
    (void)state;
    static char text[200 * 200];
    size_t at = (size_t)sprintf(text, "let p0 = {lambda|a:f64[].let b=neg a in(b)} in\n");
    for (int i = 1; i < 200; i++)
        at += (size_t)sprintf(
            text + at,
            "let p%d = {lambda|a:f64[].let b=call[name=\"f\" program=p%d]a c=call[name=\"f\" program=p%d]b in(c)} in\n",
            i, i - 1, i - 1);
    (void)sprintf(text + at, "{lambda|a:f64[].let b=call[name=\"f\" program=p199]a in(b)}");
    tn_ctx *c = tn_ctx_new(NULL);
    char *once = printed(c, text), *twice = printed(c, once);
    assert_string_equal(once, twice);
    tn_i_cost cost;
    tn_fn *f = parse_ok(c, text);
    assert_true(tn_i_fn_cost(f, &cost));
    double calls = 1;
    for (int i = 1; i < 200; i++) calls *= 2;
    assert_true(cost.flops == calls && cost.equations == calls);
    tn_text_free(c, once);
    tn_text_free(c, twice);
    tn_ctx_free(c);
}

static void test_garbage(void **state) {
    (void)state;
    enum { N = 1 << 20 };
    char *text = malloc(N);
    tn_ctx *c = tn_ctx_new(NULL);
    const char marks[] = "{}[]()<>=:;|.,\"'#\n lambda let in 1.0 nan a:f64[3] -\\";
    tn_i_rng rng = {.state = 3};
    for (size_t n = 1; n <= N; n *= 2) {
        for (size_t i = 0; i < n; i++) text[i] = marks[tn_i_random(&rng) % (sizeof marks - 1)];
        assert_null(tn_fn_parse(c, text, n, NULL));
        memset(text, (int)(marks[n % 17]), n);
        assert_null(tn_fn_parse(c, text, n, NULL));
    }
    assert_null(c->fns);
    assert_null(tn_fn_parse(c, NULL, 3, NULL));
    assert_int_equal(tn_last_status(c), TN_EINVAL);
    assert_null(tn_fn_parse(NULL, text, 3, NULL));
    assert_null(tn_fn_print(NULL, NULL));
    tn_ctx_free(c);
    free(text);
}

/* ---- size --------------------------------------------------------------------------- */

static void test_large(void **state) {
    (void)state;
    enum { N = 200000 };
    char *text = malloc((size_t)N * 64);
    size_t at = (size_t)sprintf(text, "{ lambda v0:f64[8] . let\n"), n;
    for (int i = 1; i < N; i++)
        at += (size_t)sprintf(
            text + at, i % 2 ? " v%d = sin v%d\n" : " v%d:f64[8] = slice[start_indices=(0,) limit_indices=(8,)] v%d\n",
            i, i - 1);
    at += (size_t)sprintf(text + at, " in (v%d,) }", N - 1);
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = tn_fn_parse(c, text, at, NULL);
    assert_non_null(f);
    char *out = tn_fn_print(f, &n);
    tn_fn *g = tn_fn_parse(c, out, n, NULL);
    assert_true(tn_i_fn_equal(f, g));
    assert_true(tn_ctx_peak_bytes(c) < (size_t)N * 1000);
    tn_text_free(c, out);
    tn_ctx_free(c);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_design_sample),
        cmocka_unit_test(test_empty_parts),
        cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_nested),
        cmocka_unit_test(test_shared),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_every_bit),
        cmocka_unit_test(test_locale),
        cmocka_unit_test(test_jax_layout),
        cmocka_unit_test(test_jax_literals),
        cmocka_unit_test(test_jax_primitives),
        cmocka_unit_test(test_jax_numbers),
        cmocka_unit_test(test_programs_ahead),
        cmocka_unit_test(test_left_out),
        cmocka_unit_test(test_syntax_errors),
        cmocka_unit_test(test_parameter_errors),
        cmocka_unit_test(test_type_errors),
        cmocka_unit_test(test_nesting),
        cmocka_unit_test(test_shared_is_linear),
        cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_keywords_as_names),
        cmocka_unit_test(test_constants_within),
        cmocka_unit_test(test_dropped),
        cmocka_unit_test(test_fill_values),
        cmocka_unit_test(test_optional_parameters),
        cmocka_unit_test(test_batched_while),
        cmocka_unit_test(test_logical_reductions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
