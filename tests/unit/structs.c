/* Parameters as C structs: descriptions, programs of them, calls, flat arrays, files. */
#include <tansy.h>
#include <tansy/optim.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cache_dir.h"

enum { N = 3 };
#define LAYER(F) F(f64, w, N, 2) F(f64, b, 2)
TN_STRUCT(layer, LAYER);
#define NET(F)                  \
    F(f64, scale)               \
    F(struct, layer, first)     \
    F(struct, layer, others, 2) \
    F(f64, none, 2, 0)          \
    F(f32, narrow, 3)           \
    F(bool, on, 2)              \
    F(i32, label, 2)            \
    F(i64, seen)                \
    F(f64, eight, 1, 1, 2, 1, 1, 1, 1, 2)
TN_STRUCT(net, NET);
/* The state of an optimizer is one of structs. */
#define ADAM(F) F(i64, count) F(struct, layer, m) F(struct, layer, v)
TN_STRUCT(adam, ADAM);
#define SINGLE(F) F(f32, w, 2, 2) F(f32, b)
TN_STRUCT(single, SINGLE);
#define NO_FLOATS(F) F(i32, k, 2)
TN_STRUCT(no_floats, NO_FLOATS);

/* A struct that there was before: one member is not described, one is flat. */
typedef struct legacy {
    double w[N * 2];
    const char *title;
    long long seen;
    float q[2];
} legacy;
#define LEGACY(F) F(f64, w, N, 2) F(i64, seen) F(f32, q, 2)
TN_STRUCT_FIELDS(legacy, LEGACY);

static void says(tn_ctx *c, tn_status status, const char *what) {
    if (tn_last_status(c) != status || !strstr(tn_error(c), what))
        fail_msg("expected %d '%s', got %d '%s'", (int)status, what, (int)tn_last_status(c), tn_error(c));
    tn_error_clear(c);
}

static tn_ctx *checked(void) {
    tn_ctx *c = tn_ctx_new(&(tn_ctx_options){.size = sizeof(tn_ctx_options), .check = 1});
    assert_non_null(c);
    return c;
}

static tn_exec *compiled(tn_ctx *c, tn_fn *f) {
    tn_exec *e = tn_compile(f, NULL);
    if (!e) fail_msg("%s", tn_error(c));
    return e;
}

/* ---- descriptions --------------------------------------------------------------------------- */

static void described(void **state) {
    (void)state;
    static const struct {
        const char *name, *type;
        size_t offset;
    } want[] = {
        {"scale", "f64[]", offsetof(net, scale)},
        {"first.w", "f64[3,2]", offsetof(net, first.w)},
        {"first.b", "f64[2]", offsetof(net, first.b)},
        {"others[0].w", "f64[3,2]", offsetof(net, others)},
        {"others[0].b", "f64[2]", offsetof(net, others) + offsetof(layer, b)},
        {"others[1].w", "f64[3,2]", offsetof(net, others) + sizeof(layer)},
        {"others[1].b", "f64[2]", offsetof(net, others) + sizeof(layer) + offsetof(layer, b)},
        {"none", "f64[2,0]", offsetof(net, none)},
        {"narrow", "f32[3]", offsetof(net, narrow)},
        {"on", "bool[2]", offsetof(net, on)},
        {"label", "i32[2]", offsetof(net, label)},
        {"seen", "i64[]", offsetof(net, seen)},
        {"eight", "f64[1,1,2,1,1,1,1,2]", offsetof(net, eight)},
    };
    const size_t n = sizeof want / sizeof want[0];
    tn_type types[net_arrays];
    assert_int_equal(net_arrays, n);
    assert_int_equal(sizeof(net_vals), n * sizeof(tn_val));
    assert_int_equal(tn_struct_arrays(&net_struct), n);
    assert_int_equal(tn_struct_types(&net_struct, types), n);
    for (size_t i = 0; i < n; i++) {
        char text[TN_TYPE_TEXT], name[64];
        const tn_type t = tn_struct_type(&net_struct, i);
        (void)tn_type_print(&t, text, sizeof text);
        assert_string_equal(text, want[i].type);
        assert_true(tn_type_equal(&t, &types[i]));
        assert_int_equal(tn_struct_name(&net_struct, i, name, sizeof name), strlen(want[i].name));
        assert_string_equal(name, want[i].name);
        assert_int_equal(tn_struct_find(&net_struct, want[i].name), i);
        assert_int_equal(tn_struct_offset(&net_struct, i), want[i].offset);
    }
    assert_int_equal(sizeof(((net *)0)->eight), 4 * sizeof(double));
}

static void asked_for_what_is_not_there(void **state) {
    (void)state;
    char name[8] = "left";
    static const char *const others[] = {"",         "first",    "first.",      "first.w.",
                                         "first.c",  "others.w", "others[2].w", "others[0]w",
                                         "scale[0]", "scal",     "scales"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_int_equal(tn_struct_find(&net_struct, others[i]), SIZE_MAX);
    assert_int_equal(tn_struct_find(&net_struct, NULL), SIZE_MAX);
    assert_int_equal(tn_struct_offset(&net_struct, net_arrays), SIZE_MAX);
    assert_int_equal(tn_struct_name(&net_struct, net_arrays, name, sizeof name), 0);
    assert_string_equal(name, "");
    const tn_type t = tn_struct_type(&net_struct, net_arrays);
    assert_int_equal(tn_type_elements(&t), SIZE_MAX);
    assert_int_equal(tn_struct_name(&net_struct, 3, name, sizeof name), strlen("others[0].w"));
    assert_string_equal(name, "others[");
    assert_int_equal(tn_struct_name(&net_struct, 3, NULL, 0), strlen("others[0].w"));
}

/* One that contains itself. */
static const tn_field itself[1];
static const tn_struct loop = {"loop", 16, 1, itself};
static const tn_field itself[] = {{"itself", 0, {.rank = 0}, &loop}};

static void wrong_descriptions(void **state) {
    (void)state;
    tn_ctx *c = checked();
    static const tn_type f64 = {.dtype = TN_F64}, bad = {.dtype = 77}, two = {.dtype = TN_F64, .rank = 1, .dim = {2}};
    static const tn_type plane = {.rank = 2, .dim = {2, 2}};
    static const tn_field ok[] = {{"x", 0, {.dtype = TN_F64}, NULL}};
    static const tn_struct inner = {"inner", 8, 1, ok};
    const struct {
        tn_field field[2];
        const char *text;
    } list[] = {
        {{{NULL, 0, f64, NULL}, {"y", 8, f64, NULL}}, "s: a field has no name"},
        {{{"", 0, f64, NULL}, {"y", 8, f64, NULL}}, "s: a field has no name"},
        {{{"x", 0, bad, NULL}, {"y", 8, f64, NULL}}, "s.x: its type"},
        {{{"x", 4, f64, NULL}, {"y", 16, f64, NULL}}, "s.x: its offset is not aligned"},
        {{{"x", 0, two, NULL}, {"y", 8, f64, NULL}}, "s.y: begins before the field in front of it ends"},
        {{{"x", 8, f64, NULL}, {"y", 0, f64, NULL}}, "s.y: begins before"},
        {{{"x", 0, f64, NULL}, {"y", 24, two, NULL}}, "s.y: ends behind the struct"},
        {{{"x", 0, f64, NULL}, {"y", SIZE_MAX - 7, two, NULL}}, "s.y: ends behind the struct"},
        {{{"x", 0, plane, &inner}, {"y", 32, f64, NULL}}, "s.x: structs nest alone"},
        {{{"x", 0, f64, NULL}, {"y", 8, f64, &loop}}, "loop: structs are nested more than 16 deep"},
    };
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        const tn_struct s = {"s", 32, 2, list[i].field};
        char room[32] = {0};
        double flat[4];
        assert_int_equal(tn_struct_check(c, &s), TN_EINVAL);
        says(c, TN_EINVAL, list[i].text);
        assert_int_equal(tn_struct_arrays(&s), 0);
        assert_int_equal(tn_struct_types(&s, NULL), 0);
        assert_int_equal(tn_struct_floats(&s), 0);
        assert_null(tn_struct_flat(&s, room, TN_F64));
        assert_int_equal(tn_struct_gather(c, &s, room, TN_F64, 0, flat), TN_EINVAL);
        says(c, TN_EINVAL, list[i].text);
        assert_int_equal(tn_struct_save(c, &s, room, "nowhere.npz"), TN_EINVAL);
        says(c, TN_EINVAL, list[i].text);
        assert_int_equal(tn_struct_load(c, &s, room, "nowhere.npz"), TN_EINVAL);
        says(c, TN_EINVAL, list[i].text);
    }
    const tn_struct empty = {"empty", 8, 0, ok};
    assert_int_equal(tn_struct_check(c, &empty), TN_EINVAL);
    says(c, TN_EINVAL, "empty has no fields");
    assert_int_equal(tn_struct_check(c, NULL), TN_EINVAL);
    says(c, TN_EINVAL, "NULL");
    assert_int_equal(tn_struct_check(c, &net_struct), TN_OK);
    tn_ctx_free(c);
}

/* ---- programs --------------------------------------------------------------------------------- */

/* A layer, x [3] -> a number that depends on all of it. */
static tn_val loss(const tn_val *in, void *user) {
    (void)user;
    const layer_vals *p = TN_STRUCT_VALS(layer, in);
    const tn_val y = tn_tanh(tn_add(tn_matmul(in[layer_arrays], p->w), p->b));
    return tn_sum(tn_square(tn_sub(y, tn_number_f64(0.25))));
}

static layer begin(void) {
    layer p;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < 2; j++) p.w[i][j] = 0.1 * (i + 1) - 0.2 * j;
    p.b[0] = 0.05, p.b[1] = -0.3;
    return p;
}
static const double x[N] = {1, -2, 0.5};

static tn_fn *traced(tn_ctx *c) {
    tn_fn *f = tn_trace(c, loss, NULL, TN_STRUCT_ARGS(layer, tn_f64(N)));
    if (!f) fail_msg("%s", tn_error(c));
    return f;
}

/* One pointer for each struct is what pointers to its arrays are. */
static void called(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *g = tn_value_and_grad(traced(c), TN_STRUCT_WRT(layer, 0), NULL);
    tn_exec *e = compiled(c, g);
    const layer p = begin();
    layer one = {0}, all;
    double y[2], dw[N][2], db[2];
    assert_int_equal(tn_fn_outputs(g), 1 + layer_arrays);
    assert_int_equal(tn_call(e, TN_INPUTS(TN_STRUCT_IN(layer, &p), x), TN_OUTPUTS(&y[0], TN_STRUCT_OUT(layer, &one))),
                     TN_OK);
    assert_int_equal(tn_call(e, TN_INPUTS(p.w, p.b, x), TN_OUTPUTS(&y[1], dw, db)), TN_OK);
    assert_memory_equal(&y[0], &y[1], sizeof y[0]);
    assert_memory_equal(one.w, dw, sizeof dw);
    assert_memory_equal(one.b, db, sizeof db);
    assert_true(fabs(dw[0][0]) > 1e-3);
    all = one;
    memset(&one, 0, sizeof one);
    tn_work *w = tn_work_new(e, NULL, 0);
    assert_int_equal(tn_call_in(e, w, TN_INPUTS(TN_STRUCT_FLOATS_IN(layer, &p), x),
                                TN_OUTPUTS(NULL, TN_STRUCT_FLOATS_OUT(layer, &one))),
                     TN_OK);
    assert_memory_equal(&one, &all, sizeof all);
    assert_int_equal(
        tn_call(e, TN_INPUTS(TN_STRUCT_IN(layer, &p), x), TN_OUTPUTS(&y[1], TN_STRUCT_OUT(layer, (layer *)NULL))),
        TN_OK);
    assert_int_equal(tn_check_grads(traced(c), TN_INPUTS(TN_STRUCT_IN(layer, &p), x), NULL, NULL), TN_OK);
    tn_ctx_free(c);
}

/* Every dtype, rank 0, nested structs, nothing at all. */
static void same(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    const net_vals *p = TN_STRUCT_VALS(net, in);
    net_vals *q = TN_STRUCT_VALS(net, out);
    *q = *p;
    q->scale = tn_add(p->scale, 1);
    q->others[1].b = tn_mul(p->others[1].b, p->scale);
    q->narrow = tn_mul(p->narrow, 2);
    q->on = tn_not(p->on);
    q->label = tn_add(p->label, 1);
}

static net filled(void) {
    net p;
    memset(&p, 0, sizeof p);
    p.scale = 3;
    for (int i = 0; i < 2; i++) {
        p.first.b[i] = i + 0.5;
        p.others[1].b[i] = 2 + i;
        p.narrow[i] = 1.5f + (float)i;
        p.label[i] = 7 + i;
        p.eight[0][0][i][0][0][0][0][1] = 9 + i;
    }
    for (int i = 0; i < N; i++) p.others[0].w[i][1] = 0.25 * i;
    p.on[1] = true;
    p.seen = INT64_C(1) << 40;
    return p;
}

static void every_kind(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_exec *e = compiled(c, tn_trace_many(c, same, NULL, TN_STRUCT_ARGS(net), net_arrays));
    const net p = filled();
    net q, want = p;
    memset(&q, 0, sizeof q);
    assert_int_equal(tn_call(e, TN_INPUTS(TN_STRUCT_IN(net, &p)), TN_OUTPUTS(TN_STRUCT_OUT(net, &q))), TN_OK);
    want.scale = 4;
    for (int i = 0; i < 2; i++) {
        want.others[1].b[i] *= 3;
        want.on[i] = !want.on[i];
        want.label[i]++;
    }
    for (int i = 0; i < 3; i++) want.narrow[i] *= 2;
    assert_memory_equal(&q, &want, sizeof q);
    tn_ctx_free(c);
}

/* Gradients are those of the floats: nine arrays of 13. */
static tn_val some(const tn_val *in, void *user) {
    (void)user;
    const net_vals *p = TN_STRUCT_VALS(net, in);
    return tn_add(tn_sum(tn_mul(p->others[1].b, p->scale)), tn_convert(tn_sum(tn_square(p->narrow)), TN_F64));
}

static void gradients(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *g = tn_grad(tn_trace(c, some, NULL, TN_STRUCT_ARGS(net)), TN_STRUCT_WRT(net, 0), NULL);
    tn_exec *e = compiled(c, g);
    const net p = filled();
    net d = filled();
    assert_int_equal(tn_fn_outputs(g), 10);
    assert_int_equal(tn_call(e, TN_INPUTS(TN_STRUCT_IN(net, &p)), TN_OUTPUTS(TN_STRUCT_FLOATS_OUT(net, &d))), TN_OK);
    assert_true(d.scale == 5 && d.others[1].b[0] == 3 && d.first.b[1] == 0 && d.narrow[1] == 5.0f);
    assert_true(d.on[1] && d.label[1] == 8 && d.seen == p.seen); /* as they were */
    assert_int_equal(tn_call(e, TN_INPUTS(TN_STRUCT_IN(net, &p)), TN_OUTPUTS(TN_STRUCT_OUT(net, &d))), TN_EINVAL);
    assert_non_null(strstr(tn_exec_error(e), "13 outputs are given, the program has 10"));
    tn_ctx_free(c);
}

/* An optimizer of all fields, in place, and its state a struct: the loss falls, and the struct is what arrays are. */
static void optimized(void **state) {
    (void)state;
    tn_ctx *c = checked();
    const tn_optim o = {.size = sizeof o, .rule = TN_ADAM, .rate = {.value = 0.05}};
    tn_type params[layer_arrays], states[TN_OPTIM_STATES(layer_arrays)];
    assert_int_equal(tn_optim_state(&o, tn_struct_types(&layer_struct, params), params, states), adam_arrays);
    for (size_t i = 0; i < adam_arrays; i++) {
        const tn_type t = tn_struct_type(&adam_struct, i);
        assert_true(tn_type_equal(&t, &states[i]));
    }
    enum { IN = layer_arrays + 1 };
    int alias[1 + layer_arrays + adam_arrays] = {-1};
    for (int i = 0; i < layer_arrays; i++) alias[1 + i] = i;
    for (int i = 0; i < adam_arrays; i++) alias[1 + layer_arrays + i] = IN + i;
    tn_fn *step = tn_optim_step(traced(c), TN_STRUCT_WRT(layer, 0), &o, NULL);
    tn_exec *e = tn_compile(step, &(tn_compile_options){.size = sizeof(tn_compile_options), .alias = alias});
    if (!e) fail_msg("%s", tn_error(c));
    layer p = begin();
    adam a = {0};
    double first = 0, y = 0;
    for (int k = 0; k < 50; k++) {
        assert_int_equal(tn_call(e, TN_INPUTS(TN_STRUCT_IN(layer, &p), x, TN_STRUCT_IN(adam, &a)),
                                 TN_OUTPUTS(&y, TN_STRUCT_OUT(layer, &p), TN_STRUCT_OUT(adam, &a))),
                         TN_OK);
        if (k == 0) first = y;
    }
    assert_true(a.count == 50 && a.v.w[0][0] > 0 && y < first / 10);
    tn_ctx_free(c);
}

static void existing_structs(void **state) {
    (void)state;
    legacy s = {.title = "kept", .seen = 3};
    char name[8];
    assert_int_equal(legacy_arrays, 3);
    assert_int_equal(tn_struct_offset(&legacy_struct, 1), offsetof(legacy, seen));
    assert_int_equal(tn_struct_name(&legacy_struct, 2, name, sizeof name), 1);
    assert_null(tn_struct_flat(&legacy_struct, &s, TN_F64));
    assert_int_equal(tn_struct_floats(&legacy_struct), 8);
    const tn_type t = tn_struct_type(&legacy_struct, 0);
    assert_true(t.rank == 2 && t.dim[0] == N && t.dim[1] == 2);
}

/* ---- refused calls ------------------------------------------------------------------------------ */

#define OTHER(F) F(f64, w, 2, N) F(f64, b, 2)
TN_STRUCT(other, OTHER);
#define FLOATS32(F) F(f32, w, N, 2) F(f64, b, 2)
TN_STRUCT(floats32, FLOATS32);

static void refused_calls(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_exec *e = compiled(c, tn_value_and_grad(traced(c), TN_STRUCT_WRT(layer, 0), NULL));
    layer p = begin(), d = {0};
    other q = {0};
    floats32 r = {0};
    net big;
    double y = 4;
    memset(&big, 0, sizeof big);
    const tn_struct_in nothing = {NULL, &p, TN_STRUCT_ALL};
    const tn_field field = {"x", 0, {.dtype = 99}, NULL};
    const tn_struct bad = {"bad", 8, 1, &field};
    const tn_struct_in wrong = {&bad, &p, TN_STRUCT_ALL};
#define REFUSED(in, out, text)                                                 \
    do {                                                                       \
        assert_int_equal(tn_call(e, in, out), TN_EINVAL);                      \
        if (!strstr(tn_exec_error(e), text)) fail_msg("%s", tn_exec_error(e)); \
        assert_true(y == 4 && d.w[0][0] == 0);                                 \
    } while (0)
    REFUSED(TN_INPUTS(TN_STRUCT_IN(other, &q), x), TN_OUTPUTS(&y, TN_STRUCT_OUT(layer, &d)),
            "input 0 (f64[3,2]) is given other.w, which is f64[2,3]");
    REFUSED(TN_INPUTS(TN_STRUCT_IN(floats32, &r), x), TN_OUTPUTS(&y, TN_STRUCT_OUT(layer, &d)),
            "input 0 (f64[3,2]) is given floats32.w, which is f32[3,2]");
    REFUSED(TN_INPUTS(x, TN_STRUCT_IN(layer, &p)), TN_OUTPUTS(&y, TN_STRUCT_OUT(layer, &d)),
            "input 0 (f64[3,2]) takes 48 bytes and is given an array of 24");
    REFUSED(TN_INPUTS(TN_STRUCT_IN(layer, &p)), TN_OUTPUTS(&y, TN_STRUCT_OUT(layer, &d)),
            "2 inputs are given, the program has 3: input 2 (f64[3]) is missing");
    REFUSED(TN_INPUTS(TN_STRUCT_IN(net, &big), x), TN_OUTPUTS(&y, TN_STRUCT_OUT(layer, &d)),
            "14 inputs are given, the program has 3");
    REFUSED(TN_INPUTS(TN_STRUCT_IN(layer, &p), x), TN_OUTPUTS(&y, TN_STRUCT_OUT(other, &q)),
            "output 1 (f64[3,2]) is given other.w, which is f64[2,3]");
    REFUSED(TN_INPUTS(TN_STRUCT_IN(layer, &p), x), TN_OUTPUTS(&y, TN_STRUCT_OUT(layer, &p)),
            "output 1 (f64[3,2]) shares memory with input 0");
    REFUSED(TN_INPUTS(TN_STRUCT_IN(layer, (const layer *)NULL), x), TN_OUTPUTS(&y, TN_STRUCT_OUT(layer, &d)),
            "input 0");
    REFUSED(TN_INPUTS(&nothing, x), TN_OUTPUTS(&y, TN_STRUCT_OUT(layer, &d)),
            "input 0: the description of the struct is NULL");
    REFUSED(TN_INPUTS(&wrong, x), TN_OUTPUTS(&y, TN_STRUCT_OUT(layer, &d)), "input 0: bad.x: its type");
#undef REFUSED
    const void *at[3];
    char why[200];
    const tn_type types[3] = {tn_f64(N, 2), tn_f64(2), tn_f64(N)};
    assert_int_equal(tn_take_arguments(3, types, TN_INPUTS(TN_STRUCT_IN(layer, &p), x), at, why, sizeof why), TN_OK);
    assert_true(at[0] == p.w && at[1] == p.b && at[2] == x);
    assert_int_equal(tn_take_arguments(3, types, TN_INPUTS(TN_STRUCT_IN(other, &q), x), at, why, sizeof why),
                     TN_EINVAL);
    assert_non_null(strstr(why, "argument 0 (f64[3,2]) is given other.w"));
    tn_ctx_free(c);
}

/* Wrong descriptions do not become fewer inputs, or all. */
static void refused_lists(void **state) {
    (void)state;
    tn_ctx *c = checked();
    const tn_field field = {"x", 0, {.dtype = 99}, NULL};
    const tn_struct bad = {"bad", 8, 1, &field};
    tn_type types[4];
    int index[2];
    tn_wrt_list list;
    assert_null(tn_trace(c, loss, NULL, 2, tn_struct_args(&bad, types, 1, TN_TYPES(tn_f64()))));
    says(c, TN_EINVAL, "TN_TYPES has 0 types");
    assert_null(tn_trace(c, loss, NULL, 2, tn_struct_args(&layer_struct, types, 32, TN_TYPES(tn_f64()))));
    says(c, TN_EINVAL, "TN_TYPES has 0 types");
    assert_null(tn_trace(c, loss, NULL, 4, tn_struct_args(&layer_struct, types, 1, TN_TYPES(tn_f64()))));
    says(c, TN_EINVAL, "TN_TYPES has 3 types");
    assert_null(tn_grad(traced(c), tn_struct_wrt(&bad, 0, index, &list), NULL));
    says(c, TN_EINVAL, "wrt names input -1");
    assert_null(tn_grad(traced(c), tn_struct_wrt(&layer_struct, SIZE_MAX - 1, index, &list), NULL));
    says(c, TN_EINVAL, "wrt names input -1");
    assert_null(tn_struct_wrt(&layer_struct, 0, NULL, &list));
    assert_null(tn_struct_wrt(&layer_struct, 0, index, NULL));
    assert_int_equal(tn_struct_wrt(&no_floats_struct, 0, index, &list)->n, 0);
    assert_int_equal(tn_struct_wrt(&layer_struct, 5, index, &list)->n, 2);
    assert_true(index[0] == 5 && index[1] == 6);
    tn_ctx_free(c);
}

/* ---- flat arrays ----------------------------------------------------------------------------------- */

static void flat_memory(void **state) {
    (void)state;
    tn_ctx *c = checked();
    layer p = begin(), q;
    net big = filled(), again = filled();
    single s = {{{1, 2}, {3, 4}}, 5};
    double flat[28];
    float narrow[28];
    assert_ptr_equal(tn_struct_flat(&layer_struct, &p, TN_F64), &p.w[0][0]);
    assert_null(tn_struct_flat(&layer_struct, &p, TN_F32));
    assert_null(tn_struct_flat(&layer_struct, NULL, TN_F64));
    assert_ptr_equal(tn_struct_flat(&single_struct, &s, TN_F32), &s.w[0][0]);
    assert_null(tn_struct_flat(&net_struct, &big, TN_F64));
    assert_null(tn_struct_flat(&no_floats_struct, &big, TN_F64));
    assert_int_equal(tn_struct_floats(&layer_struct), 8);
    assert_int_equal(tn_struct_floats(&no_floats_struct), 0);
    assert_int_equal(tn_struct_floats(&net_struct), 1 + 8 + 16 + 3 + 4);
    assert_int_equal(tn_struct_gather(c, &layer_struct, &p, TN_F64, 8, flat), TN_OK);
    assert_memory_equal(flat, &p, sizeof p);
    assert_int_equal(tn_struct_scatter(c, &layer_struct, &q, TN_F64, 8, flat), TN_OK);
    assert_memory_equal(&q, &p, sizeof p);

    double all[32];
    assert_int_equal(tn_struct_gather(c, &net_struct, &big, TN_F64, 32, all), TN_OK);
    assert_true(all[0] == 3 && all[7] == 0.5 && all[25] == 1.5 && all[26] == 2.5 && all[31] == 10);
    for (int i = 0; i < 32; i++) all[i] += 1;
    all[25] = 1 / 3.0;
    assert_int_equal(tn_struct_scatter(c, &net_struct, &again, TN_F64, 32, all), TN_OK);
    assert_true(again.scale == 4 && again.narrow[0] == (float)(1 / 3.0) && again.narrow[1] == 3.5f);
    assert_true(again.seen == big.seen && again.label[0] == 7 && again.on[1]);
    assert_int_equal(tn_struct_gather(c, &layer_struct, &p, TN_F32, 8, narrow), TN_OK);
    assert_true(narrow[0] == (float)p.w[0][0] && narrow[7] == (float)p.b[1]);
    assert_int_equal(tn_struct_scatter(c, &layer_struct, &q, TN_F32, 8, narrow), TN_OK);
    assert_true(q.b[1] == (double)narrow[7]);

    assert_int_equal(tn_struct_gather(c, &layer_struct, &p, TN_F64, 7, flat), TN_EINVAL);
    says(c, TN_EINVAL, "struct_gather: the flat array has 7 elements, layer has 8 floats");
    assert_int_equal(tn_struct_scatter(c, &layer_struct, &p, TN_I64, 8, flat), TN_EINVAL);
    says(c, TN_EINVAL, "struct_scatter: the flat array's dtype");
    assert_int_equal(tn_struct_scatter(c, &layer_struct, NULL, TN_F64, 8, flat), TN_EINVAL);
    says(c, TN_EINVAL, "NULL");
    assert_int_equal(tn_struct_gather(c, &layer_struct, &p, TN_F64, 8, NULL), TN_EINVAL);
    assert_int_equal(tn_struct_gather(NULL, &layer_struct, &p, TN_F64, 8, flat), TN_EINVAL);
    assert_int_equal(tn_struct_gather(c, &no_floats_struct, NULL, TN_F64, 0, NULL), TN_OK);
    tn_ctx_free(c);
}

/* x [8 + 3] flat -> the loss of a layer: what an optimizer of one array minimizes. */
static tn_val flat_loss(const tn_val *in, void *user) {
    tn_val all[layer_arrays + 1] = {{0}};
    tn_struct_unravel(&layer_struct, in[0], all);
    all[layer_arrays] = in[1];
    return loss(all, user);
}

static void flat_in_a_trace(void **state) {
    (void)state;
    tn_ctx *c = checked();
    layer p = begin(), d, flat;
    double y[2];
    tn_exec *e = compiled(c, tn_value_and_grad(traced(c), TN_STRUCT_WRT(layer, 0), NULL));
    tn_exec *g =
        compiled(c, tn_value_and_grad(tn_trace(c, flat_loss, NULL, TN_ARGS(tn_f64(8), tn_f64(N))), tn_wrt(0), NULL));
    assert_int_equal(tn_call(e, TN_INPUTS(TN_STRUCT_IN(layer, &p), x), TN_OUTPUTS(&y[0], TN_STRUCT_OUT(layer, &d))),
                     TN_OK);
    assert_int_equal(tn_call(g, TN_INPUTS((double *)tn_struct_flat(&layer_struct, &p, TN_F64), x),
                             TN_OUTPUTS(&y[1], (double *)tn_struct_flat(&layer_struct, &flat, TN_F64))),
                     TN_OK);
    assert_memory_equal(&y[0], &y[1], sizeof y[0]);
    assert_memory_equal(&d, &flat, sizeof d);
    tn_ctx_free(c);
}

/* The arrays of a net -> its floats as one vector; and those again, doubled. */
static void there_and_back(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    out[0] = tn_struct_ravel(&net_struct, in);
    memcpy(out + 1, in, net_arrays * sizeof *in);
    tn_struct_unravel(&net_struct, tn_mul(out[0], 2), out + 1);
}

static void raveled(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = tn_trace_many(c, there_and_back, NULL, TN_STRUCT_ARGS(net), 1 + net_arrays);
    tn_exec *e = compiled(c, f);
    const net p = filled();
    net q;
    double flat[32], want[32];
    memset(&q, 0, sizeof q);
    assert_int_equal(tn_call(e, TN_INPUTS(TN_STRUCT_IN(net, &p)), TN_OUTPUTS(flat, TN_STRUCT_OUT(net, &q))), TN_OK);
    assert_int_equal(tn_struct_gather(c, &net_struct, &p, TN_F64, 32, want), TN_OK);
    assert_memory_equal(flat, want, sizeof flat);
    assert_true(q.scale == 6 && q.narrow[1] == 5.0f && q.seen == p.seen && q.label[1] == 8 &&
                q.eight[0][0][1][0][0][0][0][1] == 20);
    tn_ctx_free(c);
}

/* Of f32 alone it is f32. */
static tn_val narrow_vector(const tn_val *in, void *user) {
    (void)user;
    return tn_struct_ravel(&single_struct, in);
}
static tn_val ravel_wrong(const tn_val *in, void *user) { return tn_struct_ravel(user, in); }
static tn_val unravel_wrong(const tn_val *in, void *user) {
    tn_val out[layer_arrays] = {{0}};
    tn_struct_unravel(user, in[0], out);
    return out[0];
}
static tn_val unravel_nowhere(const tn_val *in, void *user) {
    tn_struct_unravel(user, in[0], NULL);
    return in[0];
}

static void refused_in_a_trace(void **state) {
    (void)state;
    tn_ctx *c = checked();
    void *of_layer = (void *)(uintptr_t)&layer_struct, *of_none = (void *)(uintptr_t)&no_floats_struct;
    const tn_fn *f = tn_trace(c, narrow_vector, NULL, TN_STRUCT_ARGS(single));
    const tn_type t = tn_fn_output_type(f, 0);
    assert_true(t.dtype == TN_F32 && t.rank == 1 && t.dim[0] == 5);
    assert_null(tn_trace(c, ravel_wrong, of_layer, TN_STRUCT_ARGS(other)));
    says(c, TN_ETYPE, "struct_ravel: layer.w: expected f64[3,2], the value is f64[2,3]");
    assert_null(tn_trace(c, ravel_wrong, of_none, TN_STRUCT_ARGS(no_floats)));
    says(c, TN_EINVAL, "struct_ravel: the struct has no arrays of floats");
    assert_null(tn_trace(c, ravel_wrong, NULL, TN_ARGS(tn_f64(8))));
    says(c, TN_EINVAL, "struct_ravel: the description of the struct is NULL");
    assert_null(tn_trace(c, unravel_wrong, of_layer, TN_ARGS(tn_f64(7))));
    says(c, TN_ETYPE, "layer has 8 floats: expected a vector of so many, the value is f64[7]");
    assert_null(tn_trace(c, unravel_wrong, of_layer, TN_ARGS(tn_i32(8))));
    says(c, TN_ETYPE, "the value is i32[8]");
    assert_null(tn_trace(c, unravel_wrong, NULL, TN_ARGS(tn_f64(8))));
    says(c, TN_EINVAL, "struct_unravel: the description of the struct is NULL");
    assert_null(tn_trace(c, unravel_nowhere, of_layer, TN_ARGS(tn_f64(8))));
    says(c, TN_EINVAL, "struct_unravel: the values are NULL");
    const tn_val poison = tn_struct_ravel(&layer_struct, NULL);
    assert_null(tn_val_ctx(poison));
    tn_ctx_free(c);
}

/* ---- files --------------------------------------------------------------------------------------------- */

static char folder[64], archive[80];

static int make_folder(void **state) {
    (void)state;
    strcpy(folder, "/tmp/tansy-structs-XXXXXX");
    if (!mkdtemp(folder)) return 1;
    (void)snprintf(archive, sizeof archive, "%s/p.npz", folder);
    return 0;
}

static int drop_folder(void **state) {
    (void)state;
    cache_dir_remove(folder);
    return 0;
}

static size_t slurp(const char *path, unsigned char *bytes, size_t room) {
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    const size_t n = fread(bytes, 1, room, f);
    (void)fclose(f);
    assert_true(n < room);
    return n;
}

static void spill(const char *path, const unsigned char *bytes, size_t n) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static void saved_and_loaded(void **state) {
    (void)state;
    tn_ctx *c = checked();
    const net p = filled();
    const char *const path[] = {archive, folder};
    for (int k = 0; k < 2; k++) {
        net q;
        memset(&q, 0, sizeof q);
        const size_t before = tn_ctx_bytes(c);
        if (tn_struct_save(c, &net_struct, &p, path[k])) fail_msg("%s", tn_error(c));
        if (tn_struct_load(c, &net_struct, &q, path[k])) fail_msg("%s", tn_error(c));
        assert_memory_equal(&p, &q, sizeof p);
        assert_int_equal(tn_ctx_bytes(c), before);
    }
    tn_ctx_free(c);
}

/* Each member of an archive is a file that the folder has, byte by byte, behind 30 bytes and its name. */
static void archives_of_files(void **state) {
    (void)state;
    tn_ctx *c = checked();
    static unsigned char zip[1 << 14], npy[1 << 12];
    const net p = filled();
    assert_int_equal(tn_struct_save(c, &net_struct, &p, archive), TN_OK);
    assert_int_equal(tn_struct_save(c, &net_struct, &p, folder), TN_OK);
    const size_t size = slurp(archive, zip, sizeof zip);
    size_t at = 0;
    for (size_t i = 0; i < net_arrays; i++) {
        char name[64], path[160];
        const size_t n = tn_struct_name(&net_struct, i, name, sizeof name);
        (void)snprintf(path, sizeof path, "%s/%s.npy", folder, name);
        const size_t bytes = slurp(path, npy, sizeof npy);
        assert_memory_equal(zip + at, "PK\3\4", 4);
        assert_memory_equal(zip + at + 30, name, n);
        assert_memory_equal(zip + at + 34 + n, npy, bytes);
        at += 34 + n + bytes;
    }
    assert_true(at < size);
    assert_memory_equal(zip + at, "PK\1\2", 4);
    assert_memory_equal(zip + size - 22, "PK\5\6", 4);
    tn_ctx_free(c);
}

/* Each byte has a meaning: where it is another one, what is read is as it was, or refused. */
static void damaged(void **state) {
    (void)state;
    tn_ctx *c = checked();
    /* numpy.savez("p.npz", w=.., b=..) of two arrays f32[2,2] and f32[]: big-endian and column-major where it may be.
     */
    static unsigned char zip[1 << 12];
    const single p = {{{1, 2}, {3, 4}}, 5};
    single q;
    memset(&q, 0, sizeof q);
    assert_int_equal(tn_struct_save(c, &single_struct, &p, archive), TN_OK);
    const size_t n = slurp(archive, zip, sizeof zip);
    for (size_t i = 0; i < n; i++) {
        const unsigned char was = zip[i];
        zip[i] ^= 0x11;
        spill(archive, zip, n);
        memset(&q, 0, sizeof q);
        if (tn_struct_load(c, &single_struct, &q, archive) == TN_OK)
            assert_memory_equal(&q, &p, sizeof p); /* a date, a version */
        else
            assert_true(q.b == 0 && q.w[0][0] == 0 && tn_error(c)[0] && tn_last_status(c) == TN_EINVAL);
        zip[i] = was;
    }
    for (size_t i = 0; i < n; i++) { /* all that is shorter is refused */
        spill(archive, zip, i);
        assert_int_equal(tn_struct_load(c, &single_struct, &q, archive), TN_EINVAL);
    }
    tn_ctx_free(c);
}

static void refused_files(void **state) {
    (void)state;
    tn_ctx *c = checked();
    layer p = begin(), q = {0};
    other o = {0};
    net big = filled();
    char path[160];
    static unsigned char zip[1 << 14];
    assert_int_equal(tn_struct_save(c, &layer_struct, &p, archive), TN_OK);
    assert_int_equal(tn_struct_save(c, &layer_struct, &p, folder), TN_OK);
    for (int k = 0; k < 2; k++) {
        assert_int_equal(tn_struct_load(c, &other_struct, &o, k ? folder : archive), TN_EINVAL);
        says(c, TN_EINVAL, "other.w: expected f64[2,3], the file has f64[3,2]");
        assert_int_equal(tn_struct_load(c, &net_struct, &big, k ? folder : archive), TN_EINVAL);
        says(c, TN_EINVAL, k ? "net.scale: there is no such file" : "net.scale: the file does not have it");
    }
    assert_int_equal(tn_struct_save(c, &single_struct, &(single){.b = 1}, archive), TN_OK);
    assert_int_equal(tn_struct_load(c, &layer_struct, &q, archive), TN_EINVAL);
    says(c, TN_EINVAL, "layer.w: expected f64[3,2], the file has f32[2,2]");
    assert_int_equal(tn_struct_save(c, &net_struct, &big, archive), TN_OK);
    assert_int_equal(tn_struct_load(c, &layer_struct, &q, archive), TN_EINVAL);
    says(c, TN_EINVAL, "it has 'scale', which layer has not");
    assert_true(q.w[0][0] == 0);

    size_t n = slurp(archive, zip, sizeof zip), at = n - 22;
    assert_memory_equal(zip + at, "PK\5\6", 4);
    at = zip[at + 16] | (size_t)zip[at + 17] << 8;
    zip[at + 10] = 8; /* deflated */
    spill(archive, zip, n);
    assert_int_equal(tn_struct_load(c, &net_struct, &big, archive), TN_EINVAL);
    says(c, TN_EINVAL, "compressed");
    zip[at + 10] = 0;
    zip[n - 23 - 200] ^= 0;  /* as it was */
    const double number = 3; /* net.scale */
    size_t k = 0;
    while (memcmp(zip + k, &number, sizeof number) != 0) k++;
    zip[k] ^= 1;
    spill(archive, zip, n);
    assert_int_equal(tn_struct_load(c, &net_struct, &big, archive), TN_EINVAL);
    says(c, TN_EINVAL, "net.scale: the file is damaged");

    (void)snprintf(path, sizeof path, "%s/not/there.npz", folder);
    assert_int_equal(tn_struct_save(c, &layer_struct, &p, path), TN_EIO);
    says(c, TN_EIO, "there.npz: No such file");
    assert_int_equal(tn_struct_load(c, &layer_struct, &q, path), TN_EIO);
    says(c, TN_EIO, "struct_load");
    (void)snprintf(path, sizeof path, "%s/not", folder);
    assert_int_equal(tn_struct_save(c, &layer_struct, &p, path), TN_EIO);
    says(c, TN_EIO, "w.npy: No such file");
    if (access("/dev/full", W_OK) == 0) {
        (void)snprintf(path, sizeof path, "%s/scale.npy", folder);
        assert_int_equal(symlink("/dev/full", path), 0);
        assert_int_equal(tn_struct_save(c, &net_struct, &big, folder), TN_EIO);
        says(c, TN_EIO, "scale.npy: No space");
        assert_int_equal(unlink(archive), 0);
        assert_int_equal(symlink("/dev/full", archive), 0);
        assert_int_equal(tn_struct_save(c, &net_struct, &big, archive), TN_EIO);
        says(c, TN_EIO, "p.npz: No space");
    }
    assert_int_equal(tn_struct_save(c, &layer_struct, NULL, archive), TN_EINVAL);
    says(c, TN_EINVAL, "the struct is NULL");
    assert_int_equal(tn_struct_load(c, &layer_struct, &q, NULL), TN_EINVAL);
    says(c, TN_EINVAL, "the path is NULL");
    assert_int_equal(tn_struct_save(NULL, &layer_struct, &p, archive), TN_EINVAL);
    tn_ctx_free(c);
}

/* Each allocation fails in turn; what is loaded is all or nothing. */
static void *scarce(void *user, void *p, size_t old_size, size_t new_size) {
    int *left = user;
    (void)old_size;
    if (new_size == 0) {
        free(p);
        return NULL;
    }
    return *left > 0 && --*left == 0 ? NULL : realloc(p, new_size);
}

static void without_memory(void **state) {
    (void)state;
    const net p = filled();
    int left = 0, failures = 0;
    tn_ctx *c = tn_ctx_new(&(tn_ctx_options){.size = sizeof(tn_ctx_options), .realloc = scarce, .user = &left});
    for (int k = 1; k < 100; k++) {
        net q;
        memset(&q, 0, sizeof q);
        left = k;
        const tn_status s = tn_struct_save(c, &net_struct, &p, archive);
        const tn_status t = s ? s : tn_struct_load(c, &net_struct, &q, archive);
        if (left > 0) break;
        assert_int_equal(t, TN_ENOMEM);
        assert_true(q.scale == 0);
        failures++;
    }
    assert_true(failures >= 4);
    left = 0;
    assert_int_equal(tn_struct_save(c, &net_struct, &p, archive), TN_OK);
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(described),
        cmocka_unit_test(asked_for_what_is_not_there),
        cmocka_unit_test(wrong_descriptions),
        cmocka_unit_test(called),
        cmocka_unit_test(every_kind),
        cmocka_unit_test(gradients),
        cmocka_unit_test(optimized),
        cmocka_unit_test(existing_structs),
        cmocka_unit_test(refused_calls),
        cmocka_unit_test(refused_lists),
        cmocka_unit_test(flat_memory),
        cmocka_unit_test(flat_in_a_trace),
        cmocka_unit_test(raveled),
        cmocka_unit_test(refused_in_a_trace),
        cmocka_unit_test_setup_teardown(saved_and_loaded, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(archives_of_files, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(damaged, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(refused_files, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(without_memory, make_folder, drop_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
