/* Shape and index primitives: what they refuse, strided operands, views, indices out of bounds,
 * and cotangents accumulated in place. */
#include "prims/ids.h"
#include "prims/sample.h"
#include "prims/arrays/shape.h"

#include <setjmp.h>
#include <stdarg.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static tn_fn *parse(tn_ctx *c, const char *text) {
    tn_fn *f = tn_fn_parse(c, text, strlen(text), "f.tn");
    if (!f) fail_msg("%s\n%s", tn_error(c), text);
    return f;
}

static void run(const tn_fn *f, const void *const *in, void *const *out) {
    tn_exec *e = tn_compile(f, NULL);
    if (!e) fail_msg("%s", tn_error(tn_fn_ctx(f)));
    assert_int_equal(tn_call(e, in, out), TN_OK);
    tn_exec_free(e);
}

/* ---- type rules ------------------------------------------------------------------- */

static void refused(const char *inputs, const char *equation, const char *message) {
    char text[1024];
    tn_ctx *c = tn_ctx_new(NULL);
    (void)snprintf(text, sizeof text, "{ lambda %s . let\n  r = %s\n  in (r,) }", inputs, equation);
    if (tn_fn_parse(c, text, strlen(text), "f.tn")) fail_msg("accepted: %s", text);
    if (tn_last_status(c) != TN_ETYPE || !strstr(tn_error(c), message))
        fail_msg("expected '%s', got %d '%s'\n%s", message, (int)tn_last_status(c), tn_error(c), text);
    tn_ctx_free(c);
}

#define HUGE_DIM "4611686018427387904"

static void test_shape_refusals(void **state) {
    (void)state;
    refused("x:f64[3]", "broadcast_in_dim[shape=(2, 4) broadcast_dimensions=(1,)] x",
            "operand 0: dimension 0 of size 3 cannot become dimension 1 of size 4");
    refused("x:f64[3]", "broadcast_in_dim[shape=(3, 3) broadcast_dimensions=(2,)] x",
            "broadcast_dimensions: 2 is no dimension of an array of rank 2");
    refused("x:f64[3,3]", "broadcast_in_dim[shape=(3, 3) broadcast_dimensions=(1, 0)] x",
            "broadcast_dimensions must be increasing");
    refused("x:f64[3,3]", "broadcast_in_dim[shape=(3, 3) broadcast_dimensions=(1, 1)] x",
            "broadcast_dimensions: dimension 1 is repeated");
    refused("x:f64[3]", "broadcast_in_dim[shape=(3,) broadcast_dimensions=()] x",
            "broadcast_dimensions has length 0, but the rank of the operand is 1");
    refused("x:f64[]", "broadcast_in_dim[shape=(" HUGE_DIM ", 4) broadcast_dimensions=()] x", "overflows");
    refused("x:f64[]", "broadcast_in_dim[shape=(1,1,1,1,1,1,1,1,1) broadcast_dimensions=()] x", "rank 9 (at most 8)");
    refused("x:f64[3,4]", "reshape[new_sizes=(5, 2)] x", "operand 0: 12 elements cannot become f64[5,2]");
    refused("x:f64[3,4]", "reshape[new_sizes=(-3, -4)] x", "overflows or is negative");
    refused("x:f64[3,4]", "reshape[new_sizes=(" HUGE_DIM ", " HUGE_DIM ")] x", "overflows or is negative");
    refused("x:f64[3,4]", "transpose[permutation=(0, 0)] x", "permutation: dimension 0 is repeated");
    refused("x:f64[3,4]", "transpose[permutation=(1,)] x",
            "permutation has length 1, but the rank of the operand is 2");
    refused("x:f64[3,4]", "transpose[permutation=(1, -1)] x", "permutation: -1 is no dimension of an array of rank 2");
    refused("x:f64[3,4]", "rev[dimensions=(0, 0)] x", "dimensions: dimension 0 is repeated");
    refused("x:f64[3,4]", "rev[dimensions=(2,)] x", "dimensions: 2 is no dimension of an array of rank 2");
    refused("x:f64[]", "iota[dtype=i32 shape=(3,) dimension=1]", "dimension: 1 is no dimension of an array of rank 1");
    refused("x:f64[]", "iota[dtype=bool shape=(3,) dimension=0]", "dtype must be i32, i64, u32, f32 or f64");
}

static void test_slicing_refusals(void **state) {
    (void)state;
    refused("x:f64[3,4]", "slice[start_indices=(0,) limit_indices=(2,)] x",
            "start_indices has length 1, but the rank of the operand is 2");
    refused("x:f64[3]", "slice[start_indices=(2,) limit_indices=(1,)] x",
            "operand 0: 2:1 is no range of dimension 0 of size 3");
    refused("x:f64[3]", "slice[start_indices=(-1,) limit_indices=(1,)] x", "-1:1 is no range of dimension 0 of size 3");
    refused("x:f64[3]", "slice[start_indices=(0,) limit_indices=(4,)] x", "0:4 is no range of dimension 0 of size 3");
    refused("x:f64[3]", "slice[start_indices=(0,) limit_indices=(3,) strides=(0,)] x", "strides: 0 is not positive");
    refused("x:f64[3]", "pad[padding_config=((-2, -2, 0),)] x 0.0:f64[]",
            "operand 0: negative padding removes more than dimension 0 has");
    refused("x:f64[3]", "pad[padding_config=((0, 0, -1),)] x 0.0:f64[]", "interior padding -1 is negative");
    refused("x:f64[3]", "pad[padding_config=((0, 0, 2305843009213693951),)] x 0.0:f64[]", "overflows");
    refused("x:f64[3]", "pad[padding_config=((" HUGE_DIM ", 0, 0),)] x 0.0:f64[]", "out of range");
    refused("x:f64[3]", "pad[padding_config=((0, 0, 0), (0, 0, 0))] x 0.0:f64[]",
            "padding_config has length 6, but three times the rank of the operand is 3");
    refused("x:f64[3] y:f64[1]", "pad[padding_config=((0, 0, 0),)] x y",
            "operand 1: the padding value must be a scalar");
    refused("x:f64[3] y:i32[]", "pad[padding_config=((0, 0, 0),)] x y", "operand 1: dtype i32 differs from f64");
    refused("x:f64[3,4] y:f64[4,4]", "concatenate[dimension=1] x y",
            "operand 1: differs from operand 0, f64[3,4], in more than dimension 1");
    refused("x:f64[3] y:f32[3]", "concatenate[dimension=0] x y", "operand 1: dtype f32 differs from f64");
    refused("x:f64[] y:f64[]", "concatenate[dimension=0] x y", "dimension: 0 is no dimension of an array of rank 0");
    refused("x:f64[5]", "split[sizes=(2, 2) axis=0] x", "operand 0: sizes leave 1 of dimension 0");
    refused("x:f64[5]", "split[sizes=(4, 2) axis=0] x", "operand 0: sizes add up to more than dimension 0");
    refused("x:f64[5]", "split[sizes=(6, -1) axis=0] x", "operand 0: sizes add up to more than dimension 0");
    refused("x:f64[5]", "split[sizes=(-1, 6) axis=0] x", "sizes: -1 is negative");
    refused("x:f64[5]", "split[sizes=(5,) axis=1] x", "axis: 1 is no dimension of an array of rank 1");
}

#define GATHER(dims, rest) "gather[dimension_numbers=GatherDimensionNumbers(" dims ") " rest "] x i"
#define SCATTER(dims)      "scatter_add[dimension_numbers=ScatterDimensionNumbers(" dims ")] x i u"
#define ROWS                                                                                        \
    "offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,), operand_batching_dims=(), " \
    "start_indices_batching_dims=()"
#define ADD_ROWS                                                                              \
    "update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,), " \
    "operand_batching_dims=(), scatter_indices_batching_dims=()"

static void test_index_refusals(void **state) {
    (void)state;
    refused("x:f64[3,4] i:i32[]", "dynamic_slice[slice_sizes=(1, 1)] x i",
            "takes one start index per dimension of operand 0 (2), not 1");
    refused("x:f64[3] i:f64[]", "dynamic_slice[slice_sizes=(1,)] x i",
            "operand 1: a start index must be a scalar of dtype i32 or i64");
    refused("x:f64[3] i:i32[1]", "dynamic_slice[slice_sizes=(1,)] x i",
            "operand 1: a start index must be a scalar of dtype i32 or i64");
    refused("x:f64[3,3] i:i32[] j:i64[]", "dynamic_slice[slice_sizes=(1, 1)] x i j",
            "operand 2: start indices must have the same dtype");
    refused("x:f64[3] i:i32[]", "dynamic_slice[slice_sizes=(4,)] x i", "dimension 0 of size 3 has no slice of size 4");
    refused("x:f64[3] i:i32[]", "dynamic_slice[slice_sizes=(-1,)] x i", "has no slice of size -1");
    refused("x:f64[3] u:f64[4] i:i32[]", "dynamic_update_slice x u i",
            "operand 1: dimension 0 is larger than that of operand 0");
    refused("x:f64[3] u:f64[] i:i32[]", "dynamic_update_slice x u i",
            "operand 1: the update must have the rank of operand 0, 1");
    refused("x:f64[3] u:f32[1] i:i32[]", "dynamic_update_slice x u i", "operand 1: dtype f32 differs from f64");
    refused("x:f64[3,4] i:f32[2,1]", GATHER(ROWS, "slice_sizes=(1, 4) mode=clip"),
            "operand 1: indices must be i32 or i64");
    refused("x:f64[3,4] i:i32[2,2]", GATHER(ROWS, "slice_sizes=(1, 4) mode=clip"),
            "operand 1: index vectors have length 2, but start_index_map has length 1");
    refused("x:f64[3,4] i:i32[2,1]", GATHER(ROWS, "slice_sizes=(2, 4) mode=clip"),
            "dimension 0 is in collapsed_slice_dims, so its size must be 1, not 2");
    refused("x:f64[3,4] i:i32[2,1]", GATHER(ROWS, "slice_sizes=(1, 5) mode=clip"),
            "dimension 1 of size 4 has no slice of size 5");
    refused("x:f64[0,4] i:i32[2,1]", GATHER(ROWS, "slice_sizes=(1, 4) mode=clip"),
            "dimension 0 of size 0 has no slice of size 1");
    refused("x:f64[3,4,2] i:i32[2,1]", GATHER(ROWS, "slice_sizes=(1, 4, 2) mode=clip"), "list 2 dimensions together");
    refused("x:bool[3,4] i:i32[2,1]", GATHER(ROWS, "slice_sizes=(1, 4) mode=fill fill_value=2"),
            "fill_value: 2 is no bool");
    refused("x:f64[3,4] i:i32[3,1]",
            GATHER("offset_dims=(1,), collapsed_slice_dims=(), start_index_map=(0,), operand_batching_dims=(0,), "
                   "start_indices_batching_dims=(0,)",
                   "slice_sizes=(1, 4) mode=clip"),
            "start_index_map and operand_batching_dims share dimension 0");
    refused("x:f64[3,4] i:i32[2,1]",
            GATHER("offset_dims=(1,), collapsed_slice_dims=(), start_index_map=(1,), operand_batching_dims=(0,), "
                   "start_indices_batching_dims=(0,)",
                   "slice_sizes=(1, 4) mode=clip"),
            "operand 1: batching dimension 0 differs in size from dimension 0 of operand 0");
    refused("x:f64[3,4] i:i32[2,1] u:f64[2,5]", SCATTER(ADD_ROWS),
            "operand 2: a window of size 5 is larger than dimension 1 of operand 0, 4");
    refused("x:f64[3,4] i:i32[2,1] u:f64[3,4]", SCATTER(ADD_ROWS),
            "operand 2: dimension 0 has size 3, but dimension 0 of the indices has 2");
    refused("x:f64[3,4] i:i32[2,1] u:f64[4]", SCATTER(ADD_ROWS), "operand 2: has rank 1");
    refused("x:f64[3,4] i:i32[2,1] u:f32[2,4]", SCATTER(ADD_ROWS), "operand 2: dtype f32 differs from f64");
    refused("x:bool[3,4] i:i32[2,1] u:bool[2,4]", SCATTER(ADD_ROWS), "not defined for bool");
}

/* Parameters that no text can spell. */
static void test_malformed_parameters(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    static const int64_t longer[] = {9, 0, 0, 0, 0, 1}, negative[] = {-1, 0, 0, 0, 0}, sizes[] = {1};
    const tn_type x = tn_f64(3), i = tn_i32(1);
    for (int k = 0; k < 4; k++) {
        tn_i_param p[4] = {{.kind = TN_K_LISTS, .n = k == 0 ? 6 : 5, .u.ints = k == 0 ? longer : negative},
                           {.kind = TN_K_INTS, .n = 1, .u.ints = sizes},
                           {.kind = TN_K_SYM, .u.i = TN_CLIP},
                           {.kind = TN_K_NONE}};
        if (k == 2) p[0].n = 4;
        if (k == 3) p[0].kind = TN_K_NONE;
        tn_i_builder b;
        tn_i_builder_init(&b, c);
        const tn_i_var in[2] = {tn_i_input(&b, &x, false), tn_i_input(&b, &i, false)};
        assert_int_equal(tn_i_emit(&b, tn_i_prim(&b, TN_P_gather), p, 2, in), TN_NOVAR);
        assert_int_equal(tn_last_status(c), TN_ETYPE);
        assert_non_null(strstr(tn_error(c), k == 0   ? "offset_dims is longer than 8"
                                            : k == 3 ? "dimension_numbers is missing"
                                                     : "malformed"));
        tn_i_builder_drop(&b);
    }
    tn_ctx_free(c);
}

/* ---- kernels ------------------------------------------------------------------------ */

static const int shape_prims[] = {TN_P_constant,    TN_P_iota,          TN_P_broadcast_in_dim,
                                  TN_P_reshape,     TN_P_transpose,     TN_P_rev,
                                  TN_P_slice,       TN_P_pad,           TN_P_concatenate,
                                  TN_P_split,       TN_P_dynamic_slice, TN_P_dynamic_update_slice,
                                  TN_P_gather,      TN_P_scatter_add,   TN_P_scatter,
                                  TN_P_scatter_mul, TN_P_scatter_min,   TN_P_scatter_max,
                                  TN_P_slice_add};

/* A drawn case: its types and dense operands. */
typedef struct drawn {
    const tn_prim *prim;
    tn_i_case c;
    const tn_type *type[TN_CASE_MAX];
    void *data[TN_CASE_MAX];
    tn_type out[8];
    uint32_t nout;
} drawn;

static tn_i_query query(drawn *d) {
    return (tn_i_query){
        .ctx = d->c.ctx, .prim = d->prim, .p = d->c.p, .nin = d->c.nin, .nout = 8, .in = d->type, .out = d->out};
}

static drawn *draw(tn_ctx *ctx, tn_i_rng *r, const tn_prim *prim, int dtype) {
    drawn *d = calloc(1, sizeof *d);
    d->prim = prim;
    d->c.ctx = ctx;
    assert_true(prim->sample(r, dtype, &d->c));
    for (uint32_t i = 0; i < d->c.nin; i++) {
        d->type[i] = &d->c.in[i];
        d->data[i] = calloc(1, tn_type_bytes(d->type[i]) + 1);
        tn_i_fill_domain(r, &d->c, i, d->data[i]);
    }
    tn_i_query q = query(d);
    if (!prim->type(&q)) fail_msg("%s", tn_error(ctx));
    d->nout = q.nout;
    return d;
}

static void discard(drawn *d) {
    for (uint32_t i = 0; i < d->c.nin; i++) free(d->data[i]);
    for (int k = 0; k < 2; k++)
        if (d->c.blobs[k]) tn_i_blob_unref(d->c.ctx, d->c.blobs[k]);
    free(d);
}

static tn_i_arr dense(const tn_type *t, void *data) {
    tn_i_arr a = {.type = t, .data = data};
    tn_i_dense_strides(t, a.stride);
    return a;
}

/* The same array with its dimensions backwards in memory, every second element used, some of them backwards. */
static tn_i_arr scattered(tn_i_rng *r, const tn_type *t, void *data, void **room) {
    const size_t size = tn_i_dtype_size(t->dtype);
    const tn_i_arr from = dense(t, data);
    tn_i_arr a = {.type = t};
    int64_t span = 2, first = 0;
    for (int i = 0; i < t->rank; i++) {
        a.stride[i] = span;
        span *= t->dim[i] ? t->dim[i] : 1;
        if (t->dim[i] == 0 || tn_i_pick(r, 0, 1)) continue;
        first += a.stride[i] * (t->dim[i] - 1);
        a.stride[i] = -a.stride[i];
    }
    *room = calloc((size_t)span, size);
    a.data = tn_i_at_mut(*room, size, first);
    tn_i_walk w;
    tn_i_walk_init(&w, t->rank, t->dim, from.stride, a.stride);
    tn_i_walk_run(&w, tn_i_copy_row(size), size, data, a.data);
    return a;
}

static void apply(drawn *d, const tn_i_arr *in, tn_i_arr *out) {
    char message[256];
    const tn_i_kernel k = {.prim = d->prim,
                           .p = d->c.p,
                           .nin = d->c.nin,
                           .nout = d->nout,
                           .in = in,
                           .out = out,
                           .threads = 1,
                           .message = message};
    assert_int_equal(d->prim->kernel(&k), TN_OK);
}

static void outputs(drawn *d, tn_i_arr *out, int junk) {
    for (uint32_t j = 0; j < d->nout; j++) {
        const size_t n = tn_type_bytes(&d->out[j]);
        out[j] = dense(&d->out[j], malloc(n + 1));
        memset(out[j].data, junk, n);
    }
}

static void equal_outputs(const drawn *d, const tn_i_arr *a, const tn_i_arr *b) {
    for (uint32_t j = 0; j < d->nout; j++)
        if (memcmp(a[j].data, b[j].data, tn_type_bytes(&d->out[j])) != 0)
            fail_msg("%s: output %u differs", d->prim->name, (unsigned)j);
}

static void check_view(drawn *d, const tn_i_arr *in, const tn_i_arr *want, bool must) {
    const tn_i_query q = query(d);
    tn_i_arr view = {.type = &d->out[0]};
    int64_t offset = 0;
    if (!d->prim->view(&q, in, &view, &offset)) {
        if (must) fail_msg("%s of a dense array is no view", d->prim->name);
        return;
    }
    view.data = tn_i_at_mut(in->data, tn_i_dtype_size(in->type->dtype), offset);
    tn_i_arr got[1];
    outputs(d, got, 0x5A);
    tn_i_copy_array(&view, got);
    equal_outputs(d, got, want);
    free(got[0].data);
}

static void check_in_place(drawn *d, const tn_i_arr *in, const tn_i_arr *want) {
    tn_i_arr got[1], changed[TN_CASE_MAX];
    outputs(d, got, 0);
    memcpy(got[0].data, d->data[0], tn_type_bytes(&d->out[0]));
    memcpy(changed, in, sizeof changed);
    changed[0] = got[0];
    apply(d, changed, got);
    equal_outputs(d, got, want);
    free(got[0].data);
}

static void check_case(tn_i_rng *r, drawn *d) {
    tn_i_arr plain[TN_CASE_MAX], strided[TN_CASE_MAX], want[8], got[8];
    void *room[TN_CASE_MAX];
    for (uint32_t i = 0; i < d->c.nin; i++) {
        plain[i] = dense(d->type[i], d->data[i]);
        strided[i] = scattered(r, d->type[i], d->data[i], &room[i]);
    }
    outputs(d, want, 0xA5);
    outputs(d, got, 0x5A);
    apply(d, plain, want);
    apply(d, strided, got);
    equal_outputs(d, got, want);
    if (d->prim->flags & TN_F_VIEW) {
        check_view(d, &plain[0], want, true);
        check_view(d, &strided[0], want, false);
    }
    if (d->prim->flags & TN_F_INPLACE) check_in_place(d, strided, want);
    for (uint32_t i = 0; i < d->c.nin; i++) free(room[i]);
    for (uint32_t j = 0; j < d->nout; j++) {
        free(want[j].data);
        free(got[j].data);
    }
}

static void test_strided_operands_and_views(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_i_rng r = {7};
    for (size_t k = 0; k < sizeof shape_prims / sizeof *shape_prims; k++)
        for (int dtype = 0; dtype < TN_I_OWN_DTYPES; dtype++)
            for (int n = 0; n < 60; n++) {
                const tn_prim *prim = c->prims[shape_prims[k]];
                if (!(prim->dtypes >> dtype & 1)) continue;
                drawn *d = draw(c, &r, prim, dtype);
                check_case(&r, d);
                discard(d);
            }
    tn_ctx_free(c);
}

/* ---- indices out of bounds -------------------------------------------------------------- */

static void test_dynamic_clamps(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = parse(c, "{ lambda x:f64[5] u:f64[2] i:i64[] . let a = dynamic_slice[slice_sizes=(2,)] x i\n"
                        " b = dynamic_update_slice x u i in (a, b) }");
    const double x[5] = {1, 2, 3, 4, 5}, u[2] = {-0.0, 9};
    static const int64_t index[] = {INT64_MIN, -1, 0, 2, 3, 4, INT64_MAX};
    static const int start[] = {0, 0, 0, 2, 3, 3, 3};
    for (int k = 0; k < 7; k++) {
        double a[2], b[5];
        run(f, (const void *[]){x, u, &index[k]}, (void *[]){a, b});
        assert_true(a[0] == start[k] + 1 && a[1] == start[k] + 2);
        for (int i = 0; i < 5; i++) {
            const double want = i == start[k] ? u[0] : i == start[k] + 1 ? u[1] : x[i];
            assert_memory_equal(&b[i], &want, sizeof want);
        }
    }
    tn_ctx_free(c);
}

static void test_gather_modes(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    char text[1024];
    static const char *const mode[] = {"mode=clip", "mode=fill", "mode=fill fill_value=7"};
    const int64_t index[4] = {INT64_MIN, 1, 3, INT64_MAX};
    const double x[3] = {10, 20, 30};
    const double want[3][4] = {{10, 20, 30, 30}, {NAN, 20, NAN, NAN}, {7, 20, 7, 7}};
    for (int k = 0; k < 3; k++) {
        double y[4];
        (void)snprintf(text, sizeof text,
                       "{ lambda x:f64[3] i:i64[4,1] . let a = gather[dimension_numbers=GatherDimensionNumbers("
                       "offset_dims=(), collapsed_slice_dims=(0,), start_index_map=(0,), operand_batching_dims=(), "
                       "start_indices_batching_dims=()) slice_sizes=(1,) %s] x i in (a,) }",
                       mode[k]);
        run(parse(c, text), (const void *[]){x, index}, (void *[]){y});
        for (int i = 0; i < 4; i++) assert_true(y[i] == want[k][i] || (isnan(y[i]) && isnan(want[k][i])));
    }
    tn_ctx_free(c);
}

static void test_gather_default_fill(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    char text[1024];
    static const char *const dtype[] = {"bool", "i32", "i64"};
    const int32_t index[1] = {5};
    const int64_t x = 0;
    const int64_t want[] = {1, INT32_MIN, INT64_MIN};
    for (int k = 0; k < 3; k++) {
        int64_t y = 0;
        (void)snprintf(text, sizeof text,
                       "{ lambda x:%s[1] i:i32[1] . let a = gather[dimension_numbers=GatherDimensionNumbers("
                       "offset_dims=(), collapsed_slice_dims=(0,), start_index_map=(0,), operand_batching_dims=(), "
                       "start_indices_batching_dims=()) slice_sizes=(1,) mode=fill] x i in (a,) }",
                       dtype[k]);
        run(parse(c, text), (const void *[]){&x, index}, (void *[]){&y});
        assert_true(k == 1 ? (int32_t)y == want[k] : y == want[k]);
    }
    tn_ctx_free(c);
}

/* A window that is partly outside is dropped as a whole; integers wrap. */
static void test_scatter_drops(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = parse(
        c, "{ lambda x:i32[4] i:i32[5,1] u:i32[5,2] . let a = scatter_add[dimension_numbers=ScatterDimensionNumbers("
           "update_window_dims=(1,), inserted_window_dims=(), scatter_dims_to_operand_dims=(0,), "
           "operand_batching_dims=(), scatter_indices_batching_dims=())] x i u in (a,) }");
    const int32_t x[4] = {INT32_MAX, 0, 0, 0}, i[5] = {INT32_MIN, -1, 0, 3, 2}, u[10] = {1, 1, 1, 1, 1, 2, 1, 1, 5, 6};
    const int32_t want[4] = {INT32_MIN, 2, 5, 6};
    int32_t y[4];
    run(f, (const void *[]){x, i, u}, (void *[]){y});
    assert_memory_equal(y, want, sizeof want);
    tn_ctx_free(c);
}

/* With a start per lane the bits are those of the lanes alone. */
static void test_batched_updates_keep_bits(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = parse(c, "{ lambda x:f64[3] u:f64[1] i:i32[] . let a = dynamic_update_slice x u i in (a,) }");
    tn_fn *g = tn_vmap(f, 4, NULL, NULL);
    assert_non_null(g);
    const double x[12] = {-0.0, NAN, 1, INFINITY, -0.0, 0.0, 1, 2, 3, -0.0, -0.0, -0.0},
                 u[4] = {-0.0, 0.0, NAN, -INFINITY};
    const int32_t i[4] = {1, 0, INT32_MAX, -7};
    const int place[4] = {1, 0, 2, 0};
    double y[12];
    run(g, (const void *[]){x, u, i}, (void *[]){y});
    for (int k = 0; k < 12; k++) {
        const double want = k % 3 == place[k / 3] ? u[k / 3] : x[k];
        assert_true(isnan(want) ? isnan(y[k]) : y[k] == want && signbit(y[k]) == signbit(want));
    }
    tn_ctx_free(c);
}

/* ---- accumulation in place ------------------------------------------------------------------ */

/* sum over i of x[i]^2, every x[i] read by an equation of its own: by slice, or by dynamic_slice at start + i. */
static tn_fn *reads(tn_ctx *c, int n, bool dynamic) {
    tn_i_builder b;
    tn_i_builder_init(&b, c);
    const tn_type t = tn_f64(n), one = tn_i32();
    tn_i_var x = tn_i_input(&b, &t, false), start = tn_i_input(&b, &one, false), sum = tn_i_literal_f64(&b, TN_F64, 0);
    for (int k = 0; k < n; k++) {
        const int64_t from = k, to = k + 1, size = 1;
        tn_i_var at = tn_i_op2(&b, TN_P_add, start, tn_i_literal_i64(&b, TN_I32, k));
        tn_i_var v = dynamic ? tn_i_dynamic_slice(&b, x, &at, &size) : tn_i_slice(&b, x, &from, &to, NULL);
        v = tn_i_reshape(&b, v, 0, NULL);
        sum = tn_i_op2(&b, TN_P_add, sum, tn_i_op2(&b, TN_P_mul, v, v));
    }
    tn_fn *f = tn_i_finish(&b, 1, &sum);
    if (!f) fail_msg("%s", tn_error(c));
    return f;
}

static double gradient_bytes(int n, bool dynamic) {
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *g = tn_grad(reads(c, n, dynamic), tn_wrt(0), NULL);
    if (!g) fail_msg("%s", tn_error(c));
    tn_cost_report cost = {.size = sizeof cost};
    assert_int_equal(tn_cost(g, &cost), TN_OK);
    double *x = calloc((size_t)n, sizeof *x), *y = calloc((size_t)n, sizeof *y);
    const int32_t zero = 0;
    for (int i = 0; i < n; i++) x[i] = i - 3;
    run(g, (const void *[]){x, &zero}, (void *[]){y});
    for (int i = 0; i < n; i++) assert_true(y[i] == 2 * x[i]);
    free(x);
    free(y);
    tn_ctx_free(c);
    return cost.bytes;
}

static void test_reads_cost_what_they_read(void **state) {
    (void)state;
    for (int dynamic = 0; dynamic < 2; dynamic++) {
        const double small = gradient_bytes(50, dynamic != 0), large = gradient_bytes(500, dynamic != 0);
        assert_true(large < 10.5 * small);
    }
}

/* Slices [start, limit) in steps of `stride` along one axis of x. */
typedef struct slices {
    int dtype, rank, axis, n;
    int64_t start[3], limit[3], stride[3];
} slices;

enum { LONG = 11, SHORT = 3, MOST = LONG * SHORT * SHORT };

static char *put_list(char *at, const slices *s, const char *name, int64_t along, int64_t other) {
    at += sprintf(at, "%s=(", name);
    for (int d = 0; d < s->rank; d++) at += sprintf(at, "%lld,", (long long)(d == s->axis ? along : other));
    return at + sprintf(at, ") ");
}

static tn_fn *slices_of(tn_ctx *c, const slices *s) {
    char text[2048], *at = text;
    at += sprintf(at, "{ lambda | x:%s[", s->dtype == TN_F32 ? "f32" : "f64");
    for (int d = 0; d < s->rank; d++) at += sprintf(at, "%s%d", d ? "," : "", d == s->axis ? LONG : SHORT);
    at += sprintf(at, "] . let");
    for (int k = 0; k < s->n; k++) {
        at += sprintf(at, "\n  s%d = slice[", k);
        at = put_list(at, s, "start_indices", s->start[k], 0);
        at = put_list(at, s, "limit_indices", s->limit[k], SHORT);
        at = put_list(at, s, "strides", s->stride[k], 1);
        at += sprintf(at, "] x");
    }
    at += sprintf(at, "\n  in (");
    for (int k = 0; k < s->n; k++) at += sprintf(at, "s%d,", k);
    sprintf(at, ") }");
    return parse(c, text);
}

/* What element i of the sum is when the cotangent of each slice is 1, 2, .... */
static double added(const slices *s, int64_t i) {
    int64_t inner = 1;
    double sum = 0;
    for (int d = s->axis + 1; d < s->rank; d++) inner *= SHORT;
    const int64_t at = i / inner % LONG, before = i / inner / LONG;
    for (int k = 0; k < s->n; k++) {
        const int64_t size = s->limit[k] > s->start[k] ? (s->limit[k] - s->start[k] - 1) / s->stride[k] + 1 : 0;
        const int64_t from = at - s->start[k], j = from / s->stride[k];
        if (from >= 0 && from % s->stride[k] == 0 && j < size)
            sum += (double)(1 + (before * size + j) * inner + i % inner);
    }
    return sum;
}

static void put_number(int dtype, void *to, int64_t i, double x) {
    if (dtype == TN_F32)
        ((float *)to)[i] = (float)x;
    else
        ((double *)to)[i] = x;
}

static void check_sum(tn_fn *t, const slices *s) {
    double ct[MOST], got[MOST], want[MOST];
    const tn_type type = tn_fn_output_type(t, 0);
    for (int64_t i = 0; i < MOST; i++) put_number(s->dtype, ct, i, (double)(i + 1));
    for (int64_t i = 0; i < tn_i_count(&type); i++) put_number(s->dtype, want, i, added(s, i));
    for (int backend = TN_BACKEND_DEFAULT; backend <= TN_BACKEND_REFERENCE; backend++) {
        const tn_compile_options o = {.size = sizeof o, .backend = backend};
        tn_exec *e = tn_compile(t, &o);
        assert_non_null(e);
        memset(got, 0xFF, sizeof got);
        assert_int_equal(tn_call(e, (const void *[]){ct, ct, ct}, (void *[]){got}), TN_OK);
        assert_memory_equal(got, want, tn_type_bytes(&type));
        tn_exec_free(e);
    }
}

static double bytes_of(const tn_fn *f) {
    tn_cost_report cost = {.size = sizeof cost};
    assert_int_equal(tn_cost(f, &cost), TN_OK);
    return cost.bytes;
}

/* The transpose of slices of one value: an equation for each beside the zeros that they are added to, no indices, and
 * the bytes of what was read, half as much again, and of the value. */
static void check_slices(const slices *s) {
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = slices_of(c, s), *t = tn_transpose(f);
    assert_non_null(t);
    char *text = tn_fn_print(t, NULL);
    static const char *const none[] = {"scatter_add", "iota", "constant", "i64", "i32"};
    for (size_t k = 0; k < sizeof none / sizeof *none; k++) assert_null(strstr(text, none[k]));
    tn_text_free(c, text);
    const tn_type type = tn_fn_output_type(t, 0);
    assert_true(tn_fn_equations(t) <= (size_t)s->n + 1);
    assert_true(bytes_of(t) <= 1.5 * bytes_of(f) + (double)tn_type_bytes(&type) + 16);
    check_sum(t, s);
    tn_ctx_free(c);
}

static void test_slices_are_added_in_place(void **state) {
    (void)state;
    for (int dtype = TN_F32; dtype <= TN_F64; dtype++)
        for (int rank = 1; rank <= 3; rank++)
            for (int axis = 0; axis < rank; axis++)
                for (int64_t stride = 1; stride <= 5; stride++)
                    for (int n = 1; n <= 3; n++) {
                        const int64_t last = 7 * stride % LONG;
                        check_slices(&(slices){dtype, rank, axis, n, .start = {stride % 3, 0, last},
                                               .limit = {LONG, LONG - 1, last + 1},
                                               .stride = {stride, stride > 2 ? stride - 1 : stride, stride}});
                    }
    check_slices(&(slices){TN_F64, 1, 0, 2, .start = {0, 5}, .limit = {LONG, 5}, .stride = {1, 2}});
    check_slices(&(slices){TN_F64, 1, 0, 2, .start = {0, 1}, .limit = {10, 10}, .stride = {2, 2}});
}

/* A scatter_add at one place that is known is added to a slice. */
static void test_known_place(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = parse(c, "{ lambda x:f64[7,5] . let\n"
                        " i:i64[2] = constant[value=[2, 3]]\n"
                        " g:f64[4] = gather[dimension_numbers=GatherDimensionNumbers(offset_dims=(0,), "
                        "collapsed_slice_dims=(1,), start_index_map=(0, 1), operand_batching_dims=(), "
                        "start_indices_batching_dims=()) slice_sizes=(4, 1) mode=fill fill_value=0] x i\n"
                        " s:f64[] = reduce_sum[axes=(0,)] g in (s,) }");
    tn_fn *g = tn_grad(f, NULL, NULL);
    assert_non_null(g);
    char *text = tn_fn_print(g, NULL);
    assert_null(strstr(text, "scatter_add"));
    assert_non_null(strstr(text, "slice_add[start_indices=(2, 3) limit_indices=(6, 4)]"));
    tn_text_free(c, text);
    double x[35] = {0}, y[35];
    run(g, (const void *[]){x}, (void *[]){y});
    for (int i = 0; i < 35; i++) assert_true(y[i] == (i % 5 == 3 && i / 5 >= 2 && i / 5 < 6));
    tn_ctx_free(c);
}

/* Padding is summed under a mask, so that large cotangents of the operand do not swallow it. */
static void test_cotangent_of_padding(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *t =
        tn_transpose(parse(c, "{ lambda | x:f64[3] v:f64[] . let a = pad[padding_config=((1, -1, 1),)] x v in (a,) }"));
    assert_non_null(t);
    const double ct[5] = {1, 1e300, 2, INFINITY, 4};
    double x[3], v;
    run(t, (const void *[]){ct}, (void *[]){x, &v});
    assert_true(x[0] == 1e300 && x[1] == INFINITY && x[2] == 0 && v == 7);
    tn_ctx_free(c);
}

/* Filling with NaN is no linear operation; its tangent fills with 0. */
static void test_gather_linearity(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    static const char linear[] =
        "{ lambda i:i32[1] | x:f64[3] . let\n a = gather[dimension_numbers=GatherDimensionNumbers("
        "offset_dims=(), collapsed_slice_dims=(0,), start_index_map=(0,), operand_batching_dims=(), "
        "start_indices_batching_dims=()) slice_sizes=(1,) mode=fill] x i\n in (a,) }";
    assert_null(tn_fn_parse(c, linear, strlen(linear), "f.tn"));
    assert_int_equal(tn_last_status(c), TN_ELINEAR);
    assert_non_null(strstr(tn_error(c), "gather: operand 0: not linear with mode=fill, unless fill_value=0"));
    char plain[sizeof linear];
    memcpy(plain, linear, sizeof linear);
    *strchr(plain, '|') = ' ';
    tn_fn *j = tn_jvp(parse(c, plain), NULL);
    assert_non_null(j);
    const double x[3] = {1, 2, 3}, dx[3] = {4, 5, 6};
    double y, dy;
    run(j, (const void *[]){(const int32_t[]){9}, x, dx}, (void *[]){&y, &dy});
    assert_true(isnan(y) && dy == 0);
    run(j, (const void *[]){(const int32_t[]){1}, x, dx}, (void *[]){&y, &dy});
    assert_true(y == 2 && dy == 5);
    tn_ctx_free(c);
}

/* ---- simplification --------------------------------------------------------------------------- */

static size_t equations(const char *text) {
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = parse(c, text), *g;
    tn_i_builder b;
    tn_i_var in[4], out[4];
    tn_i_builder_init(&b, c);
    for (uint32_t i = 0; i < f->nin; i++) in[i] = tn_i_input(&b, f->val[i].type, false);
    tn_i_inline(&b, f, in, out);
    g = tn_i_finish(&b, f->nout, out);
    if (!g) fail_msg("%s", tn_error(c));
    const size_t n = tn_fn_equations(g);
    tn_ctx_free(c);
    return n;
}

static void test_simplify(void **state) {
    (void)state;
    assert_int_equal(equations("{ lambda x:f64[2,3] . let a = transpose[permutation=(1, 0)] x b = "
                               "transpose[permutation=(1, 0)] a in (b,) }"),
                     0);
    assert_int_equal(
        equations("{ lambda x:f64[2,3] . let a = reshape[new_sizes=(6,)] x b = reshape[new_sizes=(3, 2)] a in (b,) }"),
        1);
    assert_int_equal(
        equations("{ lambda x:f64[2,3] . let a = reshape[new_sizes=(6,)] x b = reshape[new_sizes=(2, 3)] a in (b,) }"),
        0);
    assert_int_equal(
        equations("{ lambda x:f64[3] . let a = rev[dimensions=(0,)] x b = rev[dimensions=(0,)] a in (b,) }"), 0);
    assert_int_equal(
        equations("{ lambda x:f64[3] . let a = slice[start_indices=(0,) limit_indices=(3,) strides=(1,)] x in (a,) }"),
        0);
    assert_int_equal(equations("{ lambda x:f64[3] . let a = pad[padding_config=((0, 0, 0),)] x 1.0:f64[] in (a,) }"),
                     0);
    assert_int_equal(equations("{ lambda x:f64[3] . let a = concatenate[dimension=0] x in (a,) }"), 0);
    assert_int_equal(equations("{ lambda x:f64[3] y:f64[2] . let a = concatenate[dimension=0] x y\n"
                               " b = slice[start_indices=(3,) limit_indices=(5,)] a in (b,) }"),
                     0);
    assert_int_equal(
        equations("{ lambda i:i32[] . let a = broadcast_in_dim[shape=(3,4) broadcast_dimensions=()] 2.0:f64[]\n"
                  " b = reshape[new_sizes=(12,)] a c = rev[dimensions=(0,)] b d = dynamic_slice[slice_sizes=(5,)] c i\n"
                  " e = pad[padding_config=((1, 1, 0),)] d 2.0:f64[] f = concatenate[dimension=0] e e in (f,) }"),
        1);
    assert_int_equal(equations("{ lambda x:f64[3] . let a = broadcast_in_dim[shape=(2,3) broadcast_dimensions=(1,)] x\n"
                               " b = broadcast_in_dim[shape=(4,2,3) broadcast_dimensions=(1, 2)] a c = "
                               "transpose[permutation=(1, 0, 2)] b in (c,) }"),
                     1);
    assert_int_equal(equations("{ lambda x:f64[5] . let a = dynamic_slice[slice_sizes=(2,)] x 9:i32[]\n"
                               " b = slice[start_indices=(3,) limit_indices=(5,)] x in (a, b) }"),
                     1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shape_refusals),
        cmocka_unit_test(test_slicing_refusals),
        cmocka_unit_test(test_index_refusals),
        cmocka_unit_test(test_malformed_parameters),
        cmocka_unit_test(test_strided_operands_and_views),
        cmocka_unit_test(test_dynamic_clamps),
        cmocka_unit_test(test_gather_modes),
        cmocka_unit_test(test_gather_default_fill),
        cmocka_unit_test(test_scatter_drops),
        cmocka_unit_test(test_batched_updates_keep_bits),
        cmocka_unit_test(test_reads_cost_what_they_read),
        cmocka_unit_test(test_slices_are_added_in_place),
        cmocka_unit_test(test_known_place),
        cmocka_unit_test(test_cotangent_of_padding),
        cmocka_unit_test(test_gather_linearity),
        cmocka_unit_test(test_simplify),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
