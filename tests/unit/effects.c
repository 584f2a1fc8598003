/* print and assert: what is said, in which order, and exactly once whatever is made of the program. */
#include "unit/tracing.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- an observer that writes down ------------------------------------------------------------- */

typedef struct record {
    char text[4096];          /* "message f64[2]=1,2 ..;" for each effect */
    int calls, line, stop_at; /* line of the last one; stop at this call (0: never) */
    const char *file, *scope;
    size_t n;
} record;

static void add_number(char *to, size_t n, const tn_type *t, const void *data, int64_t k) {
    switch (t->dtype) {
    case TN_F64: (void)snprintf(to, n, "%g", ((const double *)data)[k]); break;
    case TN_F32: (void)snprintf(to, n, "%g", (double)((const float *)data)[k]); break;
    case TN_I64: (void)snprintf(to, n, "%lld", (long long)((const int64_t *)data)[k]); break;
    case TN_I32: (void)snprintf(to, n, "%d", (int)((const int32_t *)data)[k]); break;
    default: (void)snprintf(to, n, "%d", (int)((const uint8_t *)data)[k]); break;
    }
}

static void add(record *r, const char *s) {
    const size_t at = strlen(r->text);
    (void)snprintf(r->text + at, sizeof r->text - at, "%s", s);
}

static int write_down(void *user, const tn_effect *e) {
    record *r = user;
    char word[TN_I_TYPE_TEXT];
    assert_int_equal(e->size, sizeof *e);
    add(r, e->kind == TN_ASSERT ? "!" : "");
    add(r, e->message);
    for (size_t i = 0; i < e->n; i++) {
        const tn_type *t = e->array[i].type;
        add(r, i ? "," : " ");
        add(r, tn_i_type_text(word, t));
        for (int64_t k = 0; k < tn_i_count(t); k++) {
            add_number(word, sizeof word, t, e->array[i].data, k);
            add(r, k ? " " : "=");
            add(r, word);
        }
    }
    add(r, ";");
    r->line = e->line;
    r->file = e->file;
    r->scope = e->scope;
    r->n = e->n;
    return ++r->calls == r->stop_at ? 7 : 0;
}

/* One run of f with an observer; what it wrote is in r. */
static tn_status observed(const tn_fn *f, record *r, const void *const *in, void *const *out, char *message, size_t n) {
    assert_non_null(f);
    const tn_compile_options o = {.size = sizeof o, .observer = write_down, .observer_user = r};
    tn_exec *e = tn_compile(f, &o);
    if (!e) fail_msg("%s", tn_error(tn_fn_ctx(f)));
    const tn_status status = tn_call(e, in, out);
    if (message) (void)snprintf(message, n, "%s", tn_exec_error(e));
    tn_exec_free(e);
    return status;
}

/* f says `want` at x (and further inputs of ones), outputs unseen. */
static void says_at(const tn_fn *f, const double *x, const char *want) {
    if (!f) fail_msg("no program");
    const void *in[8];
    void *out[64];
    double *ones = malloc(4096 * sizeof *ones), *room = malloc(64 * 4096 * sizeof *room);
    assert_non_null(ones);
    assert_non_null(room);
    for (int i = 0; i < 4096; i++) ones[i] = 1;
    assert_true(f->nin <= 8 && f->nout <= 64);
    for (uint32_t i = 0; i < f->nin; i++) in[i] = i == 0 ? x : ones;
    for (uint32_t j = 0; j < f->nout; j++) out[j] = room + 4096 * j;
    record r = {.calls = 0};
    assert_int_equal(observed(f, &r, in, out, NULL, 0), TN_OK);
    assert_string_equal(r.text, want);
    memset(&r, 0, sizeof r); /* not wanted outputs change nothing */
    for (uint32_t j = 0; j < f->nout; j++) out[j] = NULL;
    assert_int_equal(observed(f, &r, in, out, NULL, 0), TN_OK);
    assert_string_equal(r.text, want);
    free(ones);
    free(room);
}

static void says(tn_ctx *c, const tn_fn *f, const char *want) {
    if (!f) fail_msg("%s", tn_error(c));
    says_at(f, P(2.0, 2.0, 2.0, 2.0), want);
}

/* ---- what is said -------------------------------------------------------------------------------- */

static void everything(const tn_val *in, tn_val *out, void *user) {
    int *line = user;
    tn_ctx *c = tn_val_ctx(in[0]);
    tn_print(c, "nothing", 0, NULL);
    tn_scope_push(c, "inner");
    *line = __LINE__ + 1;
    tn_print(c, "five", 5, in);
    tn_scope_pop(c);
    out[0] = tn_swapaxes(in[0], 0, 1);
    tn_print(c, "strided", 1, &out[0]);
}

static void test_what_is_said(void **state) {
    (void)state;
    tn_ctx *c = checked();
    int line = 0;
    tn_fn *f =
        tn_trace_many(c, everything, &line, 5, TN_TYPES(tn_f64(2, 2), tn_f32(2), tn_i64(), tn_i32(1), tn_bool(2)), 1);
    if (!f) fail_msg("%s", tn_error(c));
    const double x[4] = {1, 2, 3, 4.5};
    const float y[2] = {0.5f, -1};
    const int64_t z = -3;
    const int32_t w = 4;
    const uint8_t b[2] = {1, 0};
    double out[4];
    record r = {.calls = 0};
    assert_int_equal(observed(f, &r, TN_INPUTS(x, y, &z, &w, b), TN_OUTPUTS(out), NULL, 0), TN_OK);
    assert_string_equal(r.text, "nothing;five f64[2,2]=1 2 3 4.5,f32[2]=0.5 -1,i64[]=-3,i32[1]=4,bool[2]=1 0;"
                                "strided f64[2,2]=1 3 2 4.5;");
    memset(&r, 0, sizeof r);
    r.stop_at = 2;
    char message[256];
    assert_int_equal(observed(f, &r, TN_INPUTS(x, y, &z, &w, b), TN_OUTPUTS(out), message, sizeof message),
                     TN_ECALLBACK);
    assert_int_equal(r.calls, 2); /* and not the third */
    assert_int_equal(r.line, line);
    assert_non_null(strstr(r.file, "effects.c"));
    assert_string_equal(r.scope, "inner");
    char want[64];
    (void)snprintf(want, sizeof want, "effects.c:%d: print: the observer returned 7", line);
    if (!strstr(message, want)) fail_msg("%s", message);
    run(f, TN_INPUTS(x, y, &z, &w, b), TN_OUTPUTS(out)); /* nobody listens */
    assert_true(out[1] == 3);
    tn_ctx_free(c);
}

/* ---- exactly once, in order ------------------------------------------------------------------------ */

static tn_val inner(const tn_val *in, void *user) {
    (void)user;
    tn_print(tn_val_ctx(in[0]), "in", 1, in);
    tn_val y = tn_sin(tn_mul(in[0], in[0]));
    tn_print(tn_val_ctx(in[0]), "out", 0, NULL);
    return y;
}

static tn_val plain(const tn_val *in, void *user) {
    (void)user;
    tn_ctx *c = tn_val_ctx(in[0]);
    tn_print(c, "a", 1, in);
    tn_print(c, "a", 1, in); /* never merged with the first */
    tn_val y = tn_exp(in[0]), dead = tn_mul(in[0], 3.0);
    tn_print(c, "dead", 1, &dead);
    tn_assert(tn_lt(in[0], 100.0), "small");
    tn_val z = tn_sin(y);
    tn_print(c, "b", 0, NULL);
    return tn_mul(y, z);
}

static tn_val nested(const tn_val *in, void *user) {
    (void)user;
    tn_ctx *c = tn_val_ctx(in[0]);
    tn_print(c, "1", 0, NULL);
    tn_val y = tn_subfn("inner", inner, NULL, 1, in);
    tn_print(c, "2", 0, NULL);
    tn_val z = tn_subfn("inner", inner, NULL, 1, in);
    tn_print(c, "3", 0, NULL);
    return tn_mul(tn_exp(y), z);
}

static void whispers(const tn_val *in, tn_val *out, void *user) {
    (void)out, (void)user;
    tn_print(tn_val_ctx(in[0]), "void", 1, in);
}

/* A region with a call in it whose result the derivative needs, a region in a region, and a call without results. */
static tn_val deep(const tn_val *in, void *user) {
    const tn_policy *p = user;
    tn_val y = tn_subfn("inner", inner, NULL, 1, in);
    y = tn_checkpoint(inner, p, NULL, 1, &y);
    tn_subfn_many("void", whispers, NULL, 1, in, 0, NULL);
    return tn_sin(tn_mul(y, y));
}

static tn_val regions(const tn_val *in, void *user) {
    tn_val y = tn_checkpoint(deep, user, user, 1, in);
    tn_print(tn_val_ctx(y), "end", 0, NULL);
    return tn_sin(tn_mul(y, in[0]));
}

static tn_val identity_rule(const tn_val *in, void *user) {
    (void)user;
    return in[1];
}
static void forward_rule(const tn_val *in, tn_val *out, void *user) {
    out[0] = inner(in, user);
    out[1] = in[0];
}
static void backward_rule(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    out[0] = tn_mul(in[0], in[1]);
}

static tn_val custom(const tn_val *in, void *user) {
    (void)user;
    tn_val y = tn_custom_jvp(inner, identity_rule, NULL, 1, in);
    return tn_mul(y, tn_custom_vjp(inner, forward_rule, 1, backward_rule, NULL, 1, &y));
}

#define PLAIN   "a f64[]=2;a f64[]=2;dead f64[]=6;b;"
#define IN      "in f64[]=2;out;"
#define NESTED  "1;" IN "2;" IN "3;"
#define REGIONS IN "in f64[]=-0.756802;out;void f64[]=2;end;"
#define CUSTOM  IN "in f64[]=-0.756802;out;"

static const struct {
    tn_trace_fn f;
    const char *says;
} programs[] = {{plain, PLAIN}, {nested, NESTED}, {regions, REGIONS}, {custom, CUSTOM}};

static void everywhere(tn_ctx *c, const tn_fn *f, const tn_policy *p, const char *want) {
    says(c, f, want);
    says(c, tn_jvp(f, NULL), want);
    says(c, tn_vjp(f, NULL, p), want);
    tn_fn *g = tn_grad(f, NULL, p);
    says(c, g, want);
    says(c, tn_value_and_grad(f, NULL, p), want);
    says(c, tn_grad(g, NULL, p), want);
    says(c, tn_grad(tn_grad(g, NULL, p), NULL, p), want);
    says(c, tn_hvp(f, NULL, p), want);
    says(c, tn_jvp(g, NULL), want);
    says(c, tn_vjp(tn_jvp(f, NULL), NULL, p), want);
    says(c, tn_hessian(f, NULL, p, 0), want);
}

/* What a linear program has of effects: none, nor has its transpose. */
static void silent_linear(tn_ctx *c, const tn_fn *f, const tn_policy *p) {
    const tn_linearized l = tn_linearize(f, NULL, p);
    if (!l.linear) fail_msg("%s", tn_error(c));
    assert_true(l.primal->effect && !l.linear->effect);
    tn_fn *t = tn_transpose(l.linear);
    if (!t) fail_msg("%s", tn_error(c));
    assert_false(t->effect);
}

static void test_once(void **state) {
    (void)state;
    static const char *const policies[] = {NULL,
                                           "everything_saveable",
                                           "nothing_saveable",
                                           "dots_saveable",
                                           "dots_with_no_batch_dims_saveable",
                                           "save_only_these_names:a",
                                           "save_any_names_but_these:a",
                                           "save_anything_except_these_names:a",
                                           "save_from_either_policy:dots_saveable|nothing_saveable",
                                           "min_cut",
                                           "min_bytes",
                                           "balanced"};
    for (size_t k = 0; k < COUNT(policies); k++) {
        tn_ctx *c = checked();
        tn_policy named = {.size = sizeof named, .name = policies[k]}, *p = policies[k] ? &named : NULL;
        for (size_t i = 0; i < COUNT(programs); i++) {
            tn_fn *f = tn_trace(c, programs[i].f, p, 1, TN_TYPES(tn_f64()));
            if (!f) fail_msg("%s", tn_error(c));
            everywhere(c, f, p, programs[i].says);
            silent_linear(c, f, p);
        }
        tn_ctx_free(c);
    }
}

static tn_verdict never(void *user, const tn_candidate *v) {
    (void)user, (void)v;
    return TN_RECOMPUTE;
}

static void test_recomputation_is_quiet(void **state) {
    (void)state;
    tn_ctx *c = checked();
    const tn_policy nothing = {.size = sizeof nothing, .callback = never};
    for (size_t i = 0; i < COUNT(programs); i++) {
        tn_fn *f = tn_trace(c, programs[i].f, NULL, 1, TN_TYPES(tn_f64()));
        if (!f) fail_msg("%s", tn_error(c));
        says(c, tn_grad(f, NULL, &nothing), programs[i].says);
        /* and it is recomputation: nothing but inputs crosses, though calls with prints stand between */
        const tn_linearized l = tn_linearize(f, NULL, &nothing);
        if (!l.primal) fail_msg("%s", tn_error(c));
        for (uint32_t j = f->nout; j < l.primal->nout && programs[i].f != custom; j++)
            assert_true(l.primal->out[j] < l.primal->nin);
    }
    tn_ctx_free(c);
}

static void test_text_keeps_order(void **state) {
    (void)state;
    tn_ctx *c = checked();
    for (size_t i = 0; i < COUNT(programs); i++) {
        tn_fn *f = tn_grad(tn_trace(c, programs[i].f, NULL, 1, TN_TYPES(tn_f64())), NULL, NULL);
        if (!f) fail_msg("%s", tn_error(c));
        size_t n;
        char *text = tn_fn_print(f, &n);
        tn_fn *again = tn_fn_parse(c, text, n, "again.tn");
        says(c, again, programs[i].says);
        assert_true(tn_i_fn_equal(f, again));
        tn_text_free(c, text);
    }
    tn_ctx_free(c);
}

/* ---- batches --------------------------------------------------------------------------------------- */

static tn_val two(const tn_val *in, void *user) {
    (void)user;
    tn_print(tn_val_ctx(in[0]), "x y", 2, in);
    tn_assert(tn_lt(in[0], 3.0), "x < 3");
    return tn_mul(in[0], in[1]);
}

static void test_batches(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = tn_trace(c, two, NULL, 2, TN_TYPES(tn_f64(), tn_f64(2)));
    const int axes[2] = {0, TN_NOT_MAPPED};
    double out[12];
    record r = {.calls = 0};
    tn_fn *g = tn_vmap(f, 3, axes, NULL);
    assert_int_equal(observed(g, &r, TN_INPUTS(P(0, 1, 2), P(5, 6)), TN_OUTPUTS(out), NULL, 0), TN_OK);
    assert_string_equal(r.text, "x y f64[3]=0 1 2,f64[2]=5 6;");
    memset(&r, 0, sizeof r);
    char message[256];
    const tn_status status =
        observed(tn_vmap(tn_grad(tn_trace(c, plain, NULL, 1, TN_TYPES(tn_f64())), NULL, NULL), 2, NULL, NULL), &r,
                 TN_INPUTS(P(1, 2)), TN_OUTPUTS(out), NULL, 0);
    assert_int_equal(status, TN_OK);
    assert_string_equal(r.text, "a f64[2]=1 2;a f64[2]=1 2;dead f64[2]=3 6;b;");
    memset(&r, 0, sizeof r);
    assert_int_equal(observed(g, &r, TN_INPUTS(P(0, 4, 2), P(5, 6)), TN_OUTPUTS(out), message, sizeof message),
                     TN_EASSERT);
    assert_string_equal(r.text, "x y f64[3]=0 4 2,f64[2]=5 6;!x < 3 bool[3]=1 0 1;");
    if (!strstr(message, "assert: x < 3 (element 1 of 3)")) fail_msg("%s", message);
    tn_fn *none = tn_vmap(f, 0, axes, NULL);
    memset(&r, 0, sizeof r);
    assert_int_equal(observed(none, &r, TN_INPUTS(P(0), P(5, 6)), TN_OUTPUTS(out), NULL, 0), TN_OK);
    assert_string_equal(r.text, "x y f64[0],f64[2]=5 6;");
    tn_ctx_free(c);
}

/* Several inputs or outputs: each derivative beyond the first is made of the program without its effects. */
static void pair(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    tn_print(tn_val_ctx(in[0]), "pair", 2, in);
    tn_val y = tn_subfn("inner", inner, NULL, 1, in);
    out[0] = tn_mul(y, in[1]);
    out[1] = tn_add(y, in[1]);
}

static void test_jacobians(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = tn_trace_many(c, pair, NULL, 2, TN_TYPES(tn_f64(), tn_f64(3)), 2);
    const char *want = "pair f64[]=2,f64[3]=1 1 1;" IN;
    says(c, tn_jacfwd(f, NULL, 0), want);
    says(c, tn_jacfwd(f, NULL, 2), want);
    says(c, tn_jacrev(f, NULL, NULL, 0), want);
    says(c, tn_jacrev(f, NULL, NULL, 2), want);
    double plain_out[4][9], out[4][9];
    run(tn_jacrev(f, NULL, NULL, 0), TN_INPUTS(P(2), P(1, 1, 1)), TN_OUTPUTS(out[0], out[1], out[2], out[3]));
    run(tn_jacfwd(f, NULL, 0), TN_INPUTS(P(2), P(1, 1, 1)),
        TN_OUTPUTS(plain_out[0], plain_out[1], plain_out[2], plain_out[3]));
    close_to(out[0], plain_out[0], 3, 1e-15);
    close_to(out[3], plain_out[3], 9, 1e-15);
    tn_ctx_free(c);
}

/* ---- assertions --------------------------------------------------------------------------------------- */

static tn_val root(const tn_val *in, void *user) {
    int *line = user;
    tn_print(tn_val_ctx(in[0]), "before", 0, NULL);
    *line = __LINE__ + 1;
    tn_assert(tn_ge(in[0], 0.0), "no root of a negative number");
    tn_print(tn_val_ctx(in[0]), "after", 0, NULL);
    return tn_sqrt(in[0]);
}

static void test_assertions(void **state) {
    (void)state;
    tn_ctx *c = checked();
    int line = 0;
    tn_fn *f = tn_trace(c, root, &line, 1, TN_TYPES(tn_f64()));
    tn_fn *all[4] = {f, tn_grad(f, NULL, tn_policy_by_name("nothing_saveable")), tn_jvp(f, NULL),
                     tn_grad(tn_grad(f, NULL, NULL), NULL, NULL)};
    char want[128], message[256];
    (void)snprintf(want, sizeof want, "effects.c:%d: assert: no root of a negative number", line);
    for (int k = 0; k < 4; k++) {
        double y[2];
        record r = {.calls = 0};
        if (!all[k]) fail_msg("%s", tn_error(c));
        assert_int_equal(
            observed(all[k], &r, TN_RAW_INPUTS(P(-1), P(1)), TN_RAW_OUTPUTS(&y[0], &y[1]), message, sizeof message),
            TN_EASSERT);
        assert_string_equal(r.text, "before;!no root of a negative number bool[]=0;");
        assert_int_equal(r.line, line);
        if (!strstr(message, want)) fail_msg("%s", message);
        tn_exec *e = tn_compile(all[k], NULL); /* without an observer as well */
        assert_int_equal(tn_call(e, TN_RAW_INPUTS(P(-1), P(1)), TN_RAW_OUTPUTS(&y[0], &y[1])), TN_EASSERT);
        if (!strstr(tn_exec_error(e), want)) fail_msg("%s", tn_exec_error(e));
        assert_int_equal(tn_call(e, TN_RAW_INPUTS(P(4), P(1)), TN_RAW_OUTPUTS(&y[0], &y[1])), TN_OK);
        tn_exec_free(e);
        memset(&r, 0, sizeof r); /* whatever the observer returns */
        r.stop_at = 2;
        assert_int_equal(observed(all[k], &r, TN_RAW_INPUTS(P(-1), P(1)), TN_RAW_OUTPUTS(&y[0], &y[1]), NULL, 0),
                         TN_EASSERT);
    }
    assert_string_equal(tn_status_text(TN_EASSERT), "an assertion failed");
    tn_ctx_free(c);
}

/* ---- what is refused ------------------------------------------------------------------------------------- */

static int count_and_cube(void *user, const void *const *in, void *const *out) {
    const double x = *(const double *)in[0];
    ++*(int *)user;
    *(double *)out[0] = x * x * x;
    return 0;
}
static int slope(void *user, const void *const *in, void *const *out) {
    const double x = *(const double *)in[0];
    (void)user;
    *(double *)out[0] = 3 * x * x * *(const double *)in[1];
    return 0;
}

static void register_counted(tn_ctx *c, int *count) {
    const tn_type t = tn_f64();
    const tn_external_spec s = {.size = sizeof s,
                                .name = "counted",
                                .nin = 1,
                                .nout = 1,
                                .in = &t,
                                .out = &t,
                                .fn = count_and_cube,
                                .user = count,
                                .effect = true,
                                .jvp = slope,
                                .vjp = slope};
    assert_int_equal(tn_external_register(c, &s), TN_OK);
}

static int external_line;
static tn_val counted(const tn_val *in, void *user) {
    (void)user;
    external_line = __LINE__ + 1;
    tn_val y = tn_external(tn_val_ctx(in[0]), "counted", 1, in);
    tn_print(tn_val_ctx(y), "counted", 0, NULL);
    return y;
}
static tn_val needs_it(const tn_val *in, void *user) { return tn_sin(tn_mul(counted(in, user), in[0])); }
static tn_val needs_it_not(const tn_val *in, void *user) { return tn_add(counted(in, user), tn_sin(in[0])); }
static tn_val needs_it_deep(const tn_val *in, void *user) {
    tn_val y = tn_subfn("counted", counted, user, 1, in);
    return tn_sin(tn_mul(y, in[0]));
}
static tn_val needs_it_named(const tn_val *in, void *user) {
    tn_val y = tn_checkpoint_name(counted(in, user), "kept");
    return tn_sin(tn_mul(y, in[0]));
}

typedef struct region {
    tn_trace_fn f;
    const char *policy;
    bool refused;
} region;
static tn_val in_region(const tn_val *in, void *user) {
    const region *r = user;
    const tn_policy p = {.size = sizeof p, .name = r->policy};
    return tn_sin(tn_checkpoint(r->f, &p, NULL, 1, in));
}

static void test_refusals(void **state) {
    (void)state;
    static const region rows[] = {
        {needs_it, "nothing_saveable", true},
        {needs_it, "dots_saveable", true},
        {needs_it, "everything_saveable", false},
        {needs_it, "min_cut", false},
        {needs_it, "min_bytes", false},
        {needs_it_deep, "nothing_saveable", true},
        {needs_it_deep, "everything_saveable", false},
        {needs_it_not, "nothing_saveable", false}, /* nothing that the derivative needs depends on it */
        {needs_it_named, "save_only_these_names:kept", false},
        {needs_it_named, "save_only_these_names:other", true},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        tn_ctx *c = checked();
        int count = 0;
        double x = 0.3, y, dy;
        register_counted(c, &count);
        region row = rows[i];
        tn_fn *f = tn_trace(c, in_region, &row, 1, TN_TYPES(tn_f64()));
        if (!f) fail_msg("%s", tn_error(c));
        assert_non_null(tn_jvp(f, NULL)); /* computes nothing again */
        tn_fn *g = tn_value_and_grad(f, NULL, tn_policy_by_name("nothing_saveable"));
        if (row.refused) {
            char want[64];
            (void)snprintf(want, sizeof want, "effects.c:%d: ", external_line);
            assert_null(g);
            assert_int_equal(tn_last_status(c), TN_ERULE);
            if (!strstr(tn_error(c), want) || !strstr(tn_error(c), row.policy)) fail_msg("row %zu: %s", i, tn_error(c));
        } else {
            if (!g) fail_msg("row %zu: %s", i, tn_error(c));
            record r = {.calls = 0};
            assert_int_equal(observed(g, &r, TN_INPUTS(&x), TN_OUTPUTS(&y, &dy), NULL, 0), TN_OK);
            assert_int_equal(count, 1);
            assert_string_equal(r.text, "counted;");
        }
        /* at the boundary itself no policy makes it happen twice, and none is refused */
        count = 0;
        g = tn_value_and_grad(tn_trace(c, row.f, NULL, 1, TN_TYPES(tn_f64())), NULL,
                              tn_policy_by_name("nothing_saveable"));
        run(g, TN_INPUTS(&x), TN_OUTPUTS(&y, &dy));
        assert_int_equal(count, 1);
        tn_ctx_free(c);
    }
}

/* What has no float outputs needs no rules: derivatives call it once, whatever the schedule of its loop. */
static int count_calls(void *user, const void *const *in, void *const *out) {
    (void)in;
    *(int32_t *)out[0] = ++*(int *)user;
    return 0;
}
static int count_only(void *user, const void *const *in, void *const *out) {
    (void)in, (void)out;
    ++*(int *)user;
    return 0;
}
static void told_step(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    tn_val calls;
    (void)x, (void)y, (void)user;
    tn_external_many(tn_val_ctx(carry[0]), "tell", 1, carry, 1, &calls);
    tn_external_many(tn_val_ctx(carry[0]), "only", 1, carry, 0, NULL);
    next[0] = tn_add(tn_sin(carry[0]), tn_mul(tn_convert(calls, TN_F64), 0.0));
}
static tn_val told(const tn_val *in, void *user) {
    tn_val y;
    tn_scan(tn_val_ctx(in[0]), told_step, NULL, .ncarry = 1, .init = in, .carry = &y, .length = 12, .schedule = user);
    return y;
}

static void test_without_floats(void **state) {
    static const char *const schedules[] = {"all_save", "revolve:3", "periodic:4"};
    (void)state;
    for (size_t i = 0; i < COUNT(schedules); i++) {
        tn_ctx *c = checked();
        const tn_type x = tn_f64(), n = tn_i32();
        int told_n = 0, only_n = 0;
        tn_external_spec s = {.size = sizeof s,
                              .name = "tell",
                              .nin = 1,
                              .nout = 1,
                              .in = &x,
                              .out = &n,
                              .fn = count_calls,
                              .user = &told_n,
                              .effect = true};
        assert_int_equal(tn_external_register(c, &s), TN_OK);
        s.name = "only", s.nout = 0, s.fn = count_only, s.user = &only_n;
        assert_int_equal(tn_external_register(c, &s), TN_OK);
        tn_fn *f = tn_trace(c, told, (void *)(uintptr_t)schedules[i], 1, TN_TYPES(tn_f64()));
        if (!f) fail_msg("%s", tn_error(c));
        tn_fn *g = tn_value_and_grad(f, NULL, NULL), *h = tn_jvp(f, NULL);
        if (!g || !h) fail_msg("%s: %s", schedules[i], tn_error(c));
        double at = 0.7, dx = 1, y, dy, forward[2];
        run(g, TN_INPUTS(&at), TN_OUTPUTS(&y, &dy));
        assert_int_equal(told_n, 12);
        assert_int_equal(only_n, 12);
        run(h, TN_INPUTS(&at, &dx), TN_OUTPUTS(&forward[0], &forward[1]));
        assert_true(forward[0] == y && fabs(forward[1] - dy) < 1e-15);
        tn_ctx_free(c);
    }
}

static void two_outputs(const tn_val *in, tn_val *out, void *user) {
    out[0] = needs_it(in, user);
    out[1] = tn_mul(out[0], in[0]);
}

static tn_val print_tangent(const tn_val *in, void *user) {
    (void)user;
    tn_print(tn_val_ctx(in[0]), "tangent", 1, &in[1]);
    return in[1];
}
static tn_val linear_print(const tn_val *in, void *user) {
    (void)user;
    return tn_custom_jvp(inner, print_tangent, NULL, 1, in);
}
static tn_val print_residual(const tn_val *in, void *user) {
    (void)user;
    tn_print(tn_val_ctx(in[0]), "residual", 1, in);
    return tn_mul(in[0], in[1]);
}
static tn_val linear_effect(const tn_val *in, void *user) {
    return tn_linear_call(print_residual, print_residual, user, 1, in, in[0]);
}
static tn_val no_text(const tn_val *in, void *user) {
    (void)user;
    tn_print(tn_val_ctx(in[0]), NULL, 1, in);
    return in[0];
}
static tn_val not_bool(const tn_val *in, void *user) {
    (void)user;
    tn_assert(in[0], "is a number");
    return in[0];
}
static tn_val number(const tn_val *in, void *user) {
    (void)user;
    const tn_val x[2] = {in[0], tn_number_f64(1)};
    tn_print(tn_val_ctx(in[0]), "a number", 2, x);
    return in[0];
}

static void test_errors(void **state) {
    (void)state;
    static const struct {
        tn_trace_fn f;
        tn_status status;
        const char *says;
    } rows[] = {
        {linear_print, TN_ELINEAR, "print: operand 0 depends on a linear input, but print is not linear"},
        {linear_effect, TN_ETYPE, "linear_call: f and ft may not have effects"},
        {no_text, TN_EINVAL, "print: the text is NULL"},
        {not_bool, TN_ETYPE, "assert: operand 0: must be bool (operands: f64[])"},
        {number, TN_EINVAL, "print: operand 1: is a plain number where an array is needed"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        tn_ctx *c = checked();
        assert_null(tn_trace(c, rows[i].f, NULL, 1, TN_TYPES(tn_f64())));
        assert_int_equal(tn_last_status(c), rows[i].status);
        if (!strstr(tn_error(c), rows[i].says) || !strstr(tn_error(c), "effects.c:"))
            fail_msg("row %zu: %s", i, tn_error(c));
        tn_ctx_free(c);
    }
    tn_ctx *c = checked();
    int count = 0;
    register_counted(c, &count);
    tn_fn *f = tn_trace_many(c, two_outputs, NULL, 1, TN_TYPES(tn_f64()), 2);
    assert_null(tn_jacrev(f, NULL, NULL, 0)); /* one linearization an output */
    assert_int_equal(tn_last_status(c), TN_ERULE);
    if (!strstr(tn_error(c), "effects.c:") || !strstr(tn_error(c), "more than once")) fail_msg("%s", tn_error(c));
    assert_non_null(tn_jacfwd(f, NULL, 0)); /* one for the only input */
    assert_int_equal(tn_work_observe(NULL, write_down, NULL), TN_EINVAL);
    tn_ctx_free(c);
}

/* ---- threads ------------------------------------------------------------------------------------------------ */

enum { THREADS = 4, CALLS = 200 };

typedef struct job {
    tn_exec *exec;
    tn_work *work;
    double x;
    record r;
    int wrong;
} job;

static void *listen(void *arg) {
    job *j = arg;
    double y;
    char want[64];
    (void)snprintf(want, sizeof want, "in f64[]=%g;out;", j->x);
    (void)tn_work_observe(j->work, write_down, &j->r);
    for (int i = 0; i < CALLS; i++) {
        j->r.text[0] = 0;
        j->wrong += tn_call_in(j->exec, j->work, TN_INPUTS(&j->x), TN_OUTPUTS(&y)) != TN_OK;
        j->wrong += strcmp(j->r.text, want) != 0;
    }
    (void)tn_work_observe(j->work, NULL, NULL);
    j->wrong += tn_call_in(j->exec, j->work, TN_INPUTS(&j->x), TN_OUTPUTS(&y)) != TN_OK;
    return NULL;
}

static void test_threads(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_exec *e = tn_compile(tn_trace(c, inner, NULL, 1, TN_TYPES(tn_f64())), NULL);
    static job jobs[THREADS];
    pthread_t threads[THREADS];
    for (int k = 0; k < THREADS; k++) {
        jobs[k] = (job){.exec = e, .work = tn_work_new(e, NULL, 0), .x = k};
        assert_non_null(jobs[k].work);
    }
    for (int k = 0; k < THREADS; k++) assert_int_equal(pthread_create(&threads[k], NULL, listen, &jobs[k]), 0);
    for (int k = 0; k < THREADS; k++) {
        assert_int_equal(pthread_join(threads[k], NULL), 0);
        assert_int_equal(jobs[k].wrong, 0);
        assert_int_equal(jobs[k].r.calls, 2 * CALLS);
    }
    tn_ctx_free(c);
}

/* Options of an older, shorter struct have no observer. */
static void test_older_options(void **state) {
    (void)state;
    tn_ctx *c = checked();
    record r = {.calls = 0};
    const tn_compile_options o = {
        .size = offsetof(tn_compile_options, observer), .observer = write_down, .observer_user = &r};
    tn_exec *e = tn_compile(tn_trace(c, inner, NULL, 1, TN_TYPES(tn_f64())), &o);
    double y;
    assert_int_equal(tn_call(e, TN_INPUTS(P(1)), TN_OUTPUTS(&y)), TN_OK);
    assert_int_equal(r.calls, 0);
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_said),
        cmocka_unit_test(test_once),
        cmocka_unit_test(test_recomputation_is_quiet),
        cmocka_unit_test(test_text_keeps_order),
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_jacobians),
        cmocka_unit_test(test_assertions),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_without_floats),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_older_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
