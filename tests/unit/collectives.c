/* What ranks exchange, as programs have it: types and what varies, transposes and derivatives as text, batches,
 * identities, messages, plans that repeat nothing, and the values on a grid of one rank. */
#include "tracing.h"

#include <tansy/comm.h>
#include <tansy/ops.h>

#include <stdio.h>
#include <stdlib.h>

static tn_ctx *on_grid(size_t naxes, const char *const *name, const int64_t *extent) {
    const tn_ctx_options opt = {.size = sizeof opt, .check = 1, .grid = {naxes, name, extent}};
    tn_ctx *c = tn_ctx_new(&opt);
    assert_non_null(c);
    return c;
}

static tn_ctx *on(int64_t w) { return on_grid(1, (const char *const[]){"w"}, &w); }

static tn_fn *parsed(tn_ctx *c, const char *text) {
    tn_fn *f = tn_fn_parse(c, text, strlen(text), "test.tn");
    if (!f) fail_msg("%s\n%s", text, tn_error(c));
    return f;
}

/* The text of f is `want`: white space in front of its lines does not count. */
static void is_text(const tn_fn *f, const char *want) {
    char *text = tn_fn_print(f, NULL), *to = text;
    assert_non_null(text);
    for (const char *at = text; *at;) {
        while (*at == ' ') at++;
        while (*at && *at != '\n') *to++ = *at++;
        if (*at) *to++ = *at++;
    }
    *to = 0;
    if (strcmp(text, want) != 0) fail_msg("%s\nis not\n%s", text, want);
    tn_text_free(tn_fn_ctx(f), text);
}

/* ---- transposes ----------------------------------------------------------------------------- */

#define GRID "grid (r=2, w=4)\n"

static const struct linear {
    const char *in, *equation, *transposed;
} linears[] = {
    {"f64[3]{V:w}", "psum[axes=w] x", "{ lambda | a:f64[3] . let\nb:f64[3]{V:w} = pvary[axes=w] a\nin (b,) }\n"},
    {"f64[3]{V:(r,w)}", "psum[axes=w ordered=True] x",
     "{ lambda | a:f64[3]{V:r} . let\nb:f64[3]{V:(r,w)} = pvary[axes=w] a\nin (b,) }\n"},
    {"f64[]{V:(r,w)}", "psum[axes=(r,w)] x",
     "{ lambda | a:f64[] . let\nb:f64[]{V:(r,w)} = pvary[axes=(r,w)] a\nin (b,) }\n"},
    {"f32[3]", "pvary[axes=w] x", "{ lambda | a:f32[3]{V:w} . let\nb:f32[3] = psum[axes=w] a\nin (b,) }\n"},
    {"f64[3]{V:r}", "pvary[axes=w] x",
     "{ lambda | a:f64[3]{V:(r,w)} . let\nb:f64[3]{V:r} = psum[axes=w] a\nin (b,) }\n"},
    {"f64[3]{V:w}", "pick[axes=w root=1] x",
     "{ lambda | a:f64[3] . let\nb:f64[3]{V:w} = place[axes=w root=1] a\nin (b,) }\n"},
    {"f64[3]{V:r}", "place[axes=w root=3] x",
     "{ lambda | a:f64[3]{V:(r,w)} . let\nb:f64[3]{V:r} = pick[axes=w root=3] a\nin (b,) }\n"},
    {"f64[3]{V:w}", "all_gather[axes=w] x", "{ lambda | a:f64[4,3] . let\nb:f64[3]{V:w} = own[axes=w] a\nin (b,) }\n"},
    {"f64[]{V:(r,w)}", "all_gather[axes=(r,w) size=8] x",
     "{ lambda | a:f64[8] . let\nb:f64[]{V:(r,w)} = own[axes=(r,w) size=8] a\nin (b,) }\n"},
    {"f64[8,3]", "own[axes=(r,w)] x",
     "{ lambda | a:f64[3]{V:(r,w)} . let\nb:f64[8,3] = all_gather[axes=(r,w)] a\nin (b,) }\n"},
    {"f64[4,3]{V:w}", "reduce_scatter[axes=w] x",
     "{ lambda | a:f64[3]{V:w} . let\nb:f64[4,3] = all_gather[axes=w] a\nc:f64[4,3]{V:w} = pvary[axes=w] b\n"
     "in (c,) }\n"},
    {"f64[3]{V:w}", "gather_to[axes=w root=2] x",
     "{ lambda | a:f64[4,3]{V:w} . let\nb:f64[3]{V:w} = scatter_from[axes=w root=2] a\nin (b,) }\n"},
    {"f64[4,3]{V:w}", "scatter_from[axes=w root=2 size=4] x",
     "{ lambda | a:f64[3]{V:w} . let\nb:f64[4,3]{V:w} = gather_to[axes=w root=2 size=4] a\nin (b,) }\n"},
    {"f64[4,3]{V:w}", "all_to_all[axes=w] x",
     "{ lambda | a:f64[4,3]{V:w} . let\nb:f64[4,3]{V:w} = all_to_all[axes=w] a\nin (b,) }\n"},
    {"f64[3]{V:w}", "shift[axes=w by=1] x",
     "{ lambda | a:f64[3]{V:w} . let\nb:f64[3]{V:w} = shift[axes=w by=-1] a\nin (b,) }\n"},
    {"f64[3]{V:(r,w)}", "shift[axes=r by=-2 wrap=True] x",
     "{ lambda | a:f64[3]{V:(r,w)} . let\nb:f64[3]{V:(r,w)} = shift[axes=r by=2 wrap=True] a\nin (b,) }\n"},
    {"f64[3]{V:w}", "ppermute[axes=w pairs=((0, 1), (3, 0))] x",
     "{ lambda | a:f64[3]{V:w} . let\nb:f64[3]{V:w} = ppermute[axes=w pairs=((1, 0), (0, 3))] a\nin (b,) }\n"},
    {"f64[3]{V:w}", "pscan[axes=w] x",
     "{ lambda | a:f64[3]{V:w} . let\nb:f64[3]{V:w} = pscan[axes=w reverse=True] a\nin (b,) }\n"},
    {"f64[3]{V:w}", "pscan[axes=w exclusive=True reverse=True] x",
     "{ lambda | a:f64[3]{V:w} . let\nb:f64[3]{V:w} = pscan[axes=w exclusive=True] a\nin (b,) }\n"},
};

static tn_fn *of_equation(tn_ctx *c, const char *in, const char *equation, bool linear) {
    char text[512];
    (void)snprintf(text, sizeof text, GRID "{ lambda %s x:%s . let y = %s in (y,) }", linear ? "|" : "", in, equation);
    return parsed(c, text);
}

/* Twice transposed it is a program of the same map: but for reduce_scatter, whose transpose is of two equations, and
 * for how sums are added, the same equation. */
static void transposes(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(linears); i++) {
        tn_ctx *c = checked();
        char want[512];
        tn_fn *f = of_equation(c, linears[i].in, linears[i].equation, true);
        tn_fn *g = tn_transpose(f), *h = g ? tn_transpose(g) : NULL;
        if (!h) fail_msg("%s: %s", linears[i].equation, tn_error(c));
        (void)snprintf(want, sizeof want, GRID "%s", linears[i].transposed);
        is_text(g, want);
        const tn_type in = tn_fn_input_type(f, 0), twice = tn_fn_input_type(h, 0);
        assert_true(tn_type_equal(&in, &twice));
        assert_ptr_equal(in.varying, twice.varying);
        if (!strstr(linears[i].equation, "ordered=True")) {
            char *a = tn_fn_print(f, NULL), *b = tn_fn_print(h, NULL);
            assert_string_equal(a, b);
            tn_text_free(c, a);
            tn_text_free(c, b);
        }
        tn_ctx_free(c);
    }
}

/* Tangents and cotangents vary as what they are of. */
static void derivatives_vary_alike(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(linears); i++) {
        tn_ctx *c = checked();
        tn_fn *f = of_equation(c, linears[i].in, linears[i].equation, false);
        tn_fn *jvp = tn_jvp(f, NULL), *vjp = tn_vjp(f, NULL, NULL), *both = vjp ? tn_jvp(vjp, NULL) : NULL;
        if (!jvp || !both) fail_msg("%s: %s", linears[i].equation, tn_error(c));
        const tn_type x = tn_fn_input_type(f, 0), y = tn_fn_output_type(f, 0);
        const tn_type t[4] = {tn_fn_input_type(jvp, 1), tn_fn_output_type(jvp, 1), tn_fn_output_type(vjp, 1),
                              tn_fn_input_type(vjp, 1)};
        for (int k = 0; k < 4; k++) assert_ptr_equal(t[k].varying, k % 2 ? y.varying : x.varying);
        tn_ctx_free(c);
    }
}

/* Ranks exchange whole batches: P stays in front. */
static void batches(void **state) {
    (void)state;
    static const struct {
        const char *in, *equation, *batched;
    } cases[] = {
        {"f64[3]{V:w}", "psum[axes=w] x", "{ lambda a:f64[5,3]{V:w} . let\nb:f64[5,3] = psum[axes=w] a\nin (b,) }\n"},
        {"f64[]{V:w}", "all_gather[axes=w] x",
         "{ lambda a:f64[5]{V:w} . let\nb:f64[4,5] = all_gather[axes=w] a\n"
         "c:f64[5,4] = transpose[permutation=(1, 0)] b\nin (c,) }\n"},
        {"f64[4,3]", "own[axes=w] x",
         "{ lambda a:f64[5,4,3] . let\nb:f64[4,5,3] = transpose[permutation=(1, 0, 2)] a\n"
         "c:f64[5,3]{V:w} = own[axes=w] b\nin (c,) }\n"},
        {"f64[4,3]{V:w}", "reduce_scatter[axes=w] x",
         "{ lambda a:f64[5,4,3]{V:w} . let\nb:f64[4,5,3]{V:w} = transpose[permutation=(1, 0, 2)] a\n"
         "c:f64[5,3]{V:w} = reduce_scatter[axes=w] b\nin (c,) }\n"},
        {"f64[4,3]{V:w}", "all_to_all[axes=w] x",
         "{ lambda a:f64[5,4,3]{V:w} . let\nb:f64[4,5,3]{V:w} = transpose[permutation=(1, 0, 2)] a\n"
         "c:f64[4,5,3]{V:w} = all_to_all[axes=w] b\nd:f64[5,4,3]{V:w} = transpose[permutation=(1, 0, 2)] c\n"
         "in (d,) }\n"},
        {"f64[3]{V:w}", "gather_to[axes=w root=1] x",
         "{ lambda a:f64[5,3]{V:w} . let\nb:f64[4,5,3]{V:w} = gather_to[axes=w root=1] a\n"
         "c:f64[5,4,3]{V:w} = transpose[permutation=(1, 0, 2)] b\nin (c,) }\n"},
        {"i32[]{V:w}", "pmax[axes=w] x", "{ lambda a:i32[5]{V:w} . let\nb:i32[5] = pmax[axes=w] a\nin (b,) }\n"},
        {"f64[3]{V:w}", "shift[axes=w by=1] x",
         "{ lambda a:f64[5,3]{V:w} . let\nb:f64[5,3]{V:w} = shift[axes=w by=1] a\nin (b,) }\n"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        tn_ctx *c = checked();
        char want[512];
        tn_fn *g = tn_vmap(of_equation(c, cases[i].in, cases[i].equation, false), 5, NULL, NULL);
        if (!g) fail_msg("%s: %s", cases[i].equation, tn_error(c));
        (void)snprintf(want, sizeof want, GRID "%s", cases[i].batched);
        is_text(g, want);
        tn_ctx_free(c);
    }
}

/* ---- what is not linear ------------------------------------------------------------------- */

static void extremes(void **state) {
    (void)state;
    tn_ctx *c = checked();
    is_text(tn_jvp(of_equation(c, "f64[3]{V:w}", "pmax[axes=w] x", false), NULL),
            GRID "{ lambda a:f64[3]{V:w} b:f64[3]{V:w} . let\n"
                 "c:f64[3] = pmax[axes=w] a\n"
                 "d:f64[3]{V:w} = pvary[axes=w] c\n"
                 "e:bool[3]{V:w} = eq a d\n"
                 "f:f64[3] = broadcast_in_dim[shape=(3,) broadcast_dimensions=()] 0.0:f64[]\n"
                 "g:f64[3]{V:w} = pvary[axes=w] f\n"
                 "h:f64[3]{V:w} = convert_element_type[new_dtype=f64] e\n"
                 "i:f64[3] = psum[axes=w] h\n"
                 "j:f64[3]{V:w} = select e b g\n"
                 "k:f64[3] = psum[axes=w] j\n"
                 "l:f64[3] = div[linear=True] k i\n"
                 "in (c, l) }\n");
    is_text(tn_vjp(of_equation(c, "f64[]{V:(r,w)}", "pmin[axes=r] x", false), NULL, NULL),
            GRID "{ lambda a:f64[]{V:(r,w)} b:f64[]{V:w} . let\n"
                 "c:f64[]{V:w} = pmin[axes=r] a\n"
                 "d:f64[]{V:(r,w)} = pvary[axes=r] c\n"
                 "e:bool[]{V:(r,w)} = eq a d\n"
                 "f:f64[]{V:(r,w)} = convert_element_type[new_dtype=f64] e\n"
                 "g:f64[]{V:w} = psum[axes=r] f\n"
                 "h:f64[]{V:w} = div[linear=True] b g\n"
                 "i:f64[]{V:(r,w)} = pvary[axes=r] h\n"
                 "j:f64[]{V:(r,w)} = select e i 0.0:f64[]\n"
                 "in (c, j) }\n");
    is_text(tn_vjp(of_equation(c, "f64[2,3]{V:w}", "pprod[axes=w] x", false), NULL, NULL),
            GRID "{ lambda a:f64[2,3]{V:w} b:f64[2,3] . let\n"
                 "c:f64[2,3] = pprod[axes=w] a\n"
                 "d:f64[6]{V:w} = reshape[new_sizes=(6,)] a\n"
                 "e:f64[4,6] = all_gather[axes=w] d\n"
                 "f:f64[4,6] = pad[padding_config=((1, -1, 0), (0, 0, 0))] e 1.0:f64[]\n"
                 "g:f64[4,6] = cumprod[axis=0 reverse=False] f\n"
                 "h:f64[4,6] = pad[padding_config=((-1, 1, 0), (0, 0, 0))] e 1.0:f64[]\n"
                 "i:f64[4,6] = cumprod[axis=0 reverse=True] h\n"
                 "j:f64[4,6] = mul g i\n"
                 "k:f64[6]{V:w} = own[axes=w] j\n"
                 "l:f64[2,3]{V:w} = pvary[axes=w] b\n"
                 "m:f64[2,3]{V:w} = reshape[new_sizes=(2, 3)] k\n"
                 "n:f64[2,3]{V:w} = mul[linear=True] l m\n"
                 "in (c, n) }\n");
    tn_fn *whole = of_equation(c, "f64[1,1,1,1,1,1,1,3]{V:w}", "pprod[axes=w] x", false); /* no room for P in front */
    assert_non_null(tn_vjp(whole, NULL, NULL));
    tn_ctx_free(c);
}

/* ---- messages -------------------------------------------------------------------------------- */

static void refusals(void **state) {
    (void)state;
    static const struct {
        const char *in, *equation, *why;
    } cases[] = {
        {"f64[3]", "psum[axes=w] x",
         "psum: operand 0 is replicated over w: the sum would be 4 times it (write 4*x, or tn_vary it)"},
        {"f64[3]{V:w}", "psum[axes=(r,w)] x",
         "psum: operand 0 is replicated over r: the sum would be 2 times it (write 2*x, or tn_vary it)"},
        {"f64[3]", "psum[axes=(r,w)] x", "replicated over (r,w): the sum would be 8 times it"},
        {"bool[3]{V:w}", "psum[axes=w] x", "psum is not defined for bool"},
        {"f64[3]", "pick[axes=w root=0] x", "pick: operand 0 is replicated over w; tn_vary it first"},
        {"f64[3]", "all_gather[axes=w] x", "all_gather: operand 0 is replicated over w; tn_vary it first"},
        {"f64[4]", "reduce_scatter[axes=w] x", "reduce_scatter: operand 0 is replicated over w; tn_vary it first"},
        {"f64[3]", "gather_to[axes=w root=0] x", "gather_to: operand 0 is replicated over w; tn_vary it first"},
        {"f64[4]", "scatter_from[axes=w root=0] x", "scatter_from: operand 0 is replicated over w; tn_vary it first"},
        {"f64[4]", "all_to_all[axes=w] x", "all_to_all: operand 0 is replicated over w; tn_vary it first"},
        {"f64[3]", "shift[axes=w by=1] x", "shift: operand 0 is replicated over w; tn_vary it first"},
        {"f64[3]", "ppermute[axes=w pairs=((0, 1),)] x", "ppermute: operand 0 is replicated over w; tn_vary it first"},
        {"f64[3]", "pscan[axes=w] x", "pscan: operand 0 is replicated over w; tn_vary it first"},
        {"f64[3]{V:r}", "pmax[axes=(r,w)] x", "pmax: operand 0 is replicated over w; tn_vary it first"},
        {"f64[3]", "pmin[axes=w] x", "pmin: operand 0 is replicated over w; tn_vary it first"},
        {"f64[3]", "pprod[axes=w] x", "pprod: operand 0 is replicated over w; tn_vary it first"},
        {"f64[3]{V:w}", "pvary[axes=w] x", "pvary: operand 0 varies over w already"},
        {"f64[3]{V:w}", "place[axes=(r,w) root=0] x", "place: operand 0 varies over w already"},
        {"f64[4]{V:w}", "own[axes=w] x", "own: operand 0 varies over w already"},
        {"f64[3]{V:w}", "all_gather[axes=w size=3] x", "all_gather: size=3, but axis w of the grid has 4 ranks"},
        {"f64[4]{V:(r,w)}", "all_to_all[axes=(r,w) size=4] x",
         "all_to_all: size=4, but axes (r,w) of the grid have 8 ranks"},
        {"f64[3]", "own[axes=w] x", "own: operand 0: has 3 entries, one for each rank, but axis w of the grid has 4"},
        {"f64[]", "own[axes=w] x", "own: operand 0: has no first dimension, one entry for each rank"},
        {"f64[3]{V:w}", "reduce_scatter[axes=w] x", "reduce_scatter: operand 0: has 3 entries"},
        {"f64[3]{V:w}", "scatter_from[axes=w root=0] x", "scatter_from: operand 0: has 3 entries"},
        {"f64[1,1,1,1,1,1,1,1]{V:w}", "all_gather[axes=w] x",
         "all_gather: operand 0: of rank 8 has no room for a dimension of ranks"},
        {"f64[1,1,1,1,1,1,1,1]{V:w}", "gather_to[axes=w root=0] x",
         "gather_to: operand 0: of rank 8 has no room for a dimension of ranks"},
        {"f64[3]{V:w}", "pick[axes=w root=4] x", "pick: root=4, but axis w of the grid has 4 ranks, from 0 on"},
        {"f64[3]", "place[axes=w root=-1] x", "place: root=-1, but axis w of the grid has 4 ranks, from 0 on"},
        {"f64[3]{V:(r,w)}", "shift[axes=(r,w) by=1] x", "shift: is along one axis, not (r,w)"},
        {"f64[3]{V:(r,w)}", "pscan[axes=(r,w)] x", "pscan: is along one axis, not (r,w)"},
        {"f64[3]{V:(r,w)}", "ppermute[axes=(r,w) pairs=()] x", "ppermute: is along one axis, not (r,w)"},
        {"f64[3]{V:w}", "shift[axes=w by=3000000000] x", "shift: by=3000000000 is further than there may be ranks"},
        {"f64[3]{V:w}", "ppermute[axes=w pairs=((0, 4),)] x",
         "ppermute: pairs: there is no rank 4, axis w of the grid has 4"},
        {"f64[3]{V:w}", "ppermute[axes=w pairs=((0, 1), (0, 2))] x", "ppermute: pairs: rank 0 is a source twice"},
        {"f64[3]{V:w}", "ppermute[axes=w pairs=((0, 1), (2, 1))] x", "ppermute: pairs: rank 1 is a target twice"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[512];
        tn_ctx *c = checked();
        (void)snprintf(text, sizeof text, GRID "{ lambda x:%s . let\n y = %s in (y,) }", cases[i].in,
                       cases[i].equation);
        assert_null(tn_fn_parse(c, text, strlen(text), "heat.tn"));
        assert_int_equal(tn_last_status(c), TN_ETYPE);
        if (!strstr(tn_error(c), cases[i].why) || !strstr(tn_error(c), "heat.tn:3:"))
            fail_msg("\"%s\" does not say \"%s\"", tn_error(c), cases[i].why);
        tn_ctx_free(c);
    }
}

/* ---- operators -------------------------------------------------------------------------------- */

static void all_operators(const tn_val *x, tn_val *y, void *user) {
    tn_ctx *c = user;
    const tn_val v = x[0], r = x[1], e = x[2];
    size_t n = 0;
    y[n++] = tn_psum(v, "w");
    y[n++] = tn_psum(v, "w", TN_ORDERED);
    y[n++] = tn_pmean(v, "w");
    y[n++] = tn_vary(r, "w");
    y[n++] = tn_vary(v, "r,w");
    y[n++] = tn_pick(v, "w", 1);
    y[n++] = tn_place(r, "w", 2);
    y[n++] = tn_all_gather(v, "w");
    y[n++] = tn_own(tn_psum(e, "w"), "w");
    y[n++] = tn_reduce_scatter(e, "w");
    y[n++] = tn_gather_to(v, "w", 3);
    y[n++] = tn_scatter_from(e, "w", 3);
    y[n++] = tn_all_to_all(e, "w");
    y[n++] = tn_shift(v, "w", -1);
    y[n++] = tn_shift(v, "w", 1, TN_WRAP);
    y[n++] = tn_ppermute(v, "w", 0, 1, 1, 0);
    y[n++] = tn_pscan(v, "w");
    y[n++] = tn_pscan(v, "w", TN_EXCLUSIVE);
    y[n++] = tn_pscan(v, "w", TN_REVERSE);
    y[n++] = tn_pscan(v, "w", TN_EXCLUSIVE | TN_REVERSE);
    y[n++] = tn_pmax(v, "w");
    y[n++] = tn_pmin(v, "w");
    y[n++] = tn_pprod(v, "w");
    y[n++] = tn_axis_index(c, "r,w");
    tn_barrier(c, "w");
    assert_int_equal(n, 24);
    assert_int_equal(tn_axis_size(c, "w"), 4);
    assert_int_equal(tn_axis_size(c, "(r,w)"), 8);
}

static const char *const axes_rw[] = {"r", "w"};
static const int64_t extent_rw[] = {2, 4};

static void operators(void **state) {
    (void)state;
    tn_ctx *c = on_grid(2, axes_rw, extent_rw);
    const tn_type in[3] = {tn_varying(c, tn_f64(3), "w"), tn_f64(3), tn_varying(c, tn_f64(4, 3), "w")};
    tn_fn *f = tn_trace_many(c, all_operators, c, 3, in, 24);
    if (!f) fail_msg("%s", tn_error(c));
    is_text(f, GRID "{ lambda a:f64[3]{V:w} b:f64[3] c:f64[4,3]{V:w} . let\n"
                    "d:f64[3] = psum[axes=w] a\n"
                    "e:f64[3] = psum[axes=w ordered=True] a\n"
                    "f:f64[3] = broadcast_in_dim[shape=(3,) broadcast_dimensions=()] 4.0:f64[]\n"
                    "g:f64[3] = div d f\n"
                    "h:f64[3]{V:w} = pvary[axes=w] b\n"
                    "i:f64[3]{V:(r,w)} = pvary[axes=r] a\n"
                    "j:f64[3] = pick[axes=w root=1] a\n"
                    "k:f64[3]{V:w} = place[axes=w root=2] b\n"
                    "l:f64[4,3] = all_gather[axes=w] a\n"
                    "m:f64[4,3] = psum[axes=w] c\n"
                    "n:f64[3]{V:w} = own[axes=w] m\n"
                    "o:f64[3]{V:w} = reduce_scatter[axes=w] c\n"
                    "p:f64[4,3]{V:w} = gather_to[axes=w root=3] a\n"
                    "q:f64[3]{V:w} = scatter_from[axes=w root=3] c\n"
                    "r:f64[4,3]{V:w} = all_to_all[axes=w] c\n"
                    "s:f64[3]{V:w} = shift[axes=w by=-1] a\n"
                    "t:f64[3]{V:w} = shift[axes=w by=1 wrap=True] a\n"
                    "u:f64[3]{V:w} = ppermute[axes=w pairs=((0, 1), (1, 0))] a\n"
                    "v:f64[3]{V:w} = pscan[axes=w] a\n"
                    "w:f64[3]{V:w} = pscan[axes=w exclusive=True] a\n"
                    "x:f64[3]{V:w} = pscan[axes=w reverse=True] a\n"
                    "y:f64[3]{V:w} = pscan[axes=w exclusive=True reverse=True] a\n"
                    "z:f64[3] = pmax[axes=w] a\n"
                    "aa:f64[3] = pmin[axes=w] a\n"
                    "ab:f64[3] = pprod[axes=w] a\n"
                    "ac:i64[]{V:(r,w)} = axis_index[axes=(r,w)]\n"
                    "() = barrier[axes=w]\n"
                    "in (d, e, g, h, i, j, k, l, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac) }\n");
    tn_ctx_free(c);
}

static tn_val bad_axis(const tn_val *x, void *user) { return tn_psum(x[0], user); }

static tn_val bad_psum_flag(const tn_val *x, void *axes) { return tn_psum(x[0], axes, TN_REVERSE); }
static tn_val bad_shift_flag(const tn_val *x, void *axes) { return tn_shift(x[0], axes, 1, true); }
static tn_val bad_pscan_flag(const tn_val *x, void *axes) { return tn_pscan(x[0], axes, TN_EXCLUSIVE | TN_WRAP); }

static void unknown_flags_are_refused(void **state) {
    (void)state;
    static const struct {
        tn_trace_fn f;
        const char *why;
    } cases[] = {{bad_psum_flag, "psum: flags: 0x4 is not among those it takes, 0x20"},
                 {bad_shift_flag, "shift: flags: 0x1 is not among those it takes, 0x10"},
                 {bad_pscan_flag, "pscan: flags: 0x10 is not among those it takes, 0xc"}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        tn_ctx *c = on_grid(2, axes_rw, extent_rw);
        const tn_type in = tn_varying(c, tn_f64(3), "w");
        assert_null(tn_trace(c, cases[i].f, "w", 1, &in));
        assert_int_equal(tn_last_status(c), TN_EINVAL);
        if (!strstr(tn_error(c), cases[i].why)) fail_msg("\"%s\" does not say \"%s\"", tn_error(c), cases[i].why);
        tn_ctx_free(c);
    }
}

static void operators_refuse(void **state) {
    (void)state;
    static const struct {
        const char *axes, *why;
    } cases[] = {{"q", "psum: axes \"q\": there is no such axis (the grid's are (r,w))"},
                 {"w,w", "psum: axes \"w,w\": an axis stands there twice"},
                 {"", "psum: axes \"\": names no axis"},
                 {NULL, "psum: the names of the axes are NULL"}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        tn_ctx *c = on_grid(2, axes_rw, extent_rw);
        const tn_type in = tn_varying(c, tn_f64(3), "w");
        assert_null(tn_trace(c, bad_axis, (void *)(uintptr_t)cases[i].axes, 1, &in));
        assert_int_equal(tn_last_status(c), TN_EINVAL);
        if (!strstr(tn_error(c), cases[i].why) || !strstr(tn_error(c), "collectives.c:"))
            fail_msg("\"%s\" does not say \"%s\"", tn_error(c), cases[i].why);
        tn_ctx_free(c);
    }
    tn_ctx *c = checked();
    assert_int_equal(tn_axis_size(c, "w"), 0);
    assert_int_equal(tn_last_status(c), TN_EINVAL);
    assert_int_equal(tn_axis_size(NULL, "w"), 0);
    tn_ctx_free(c);
}

/* ---- identities ---------------------------------------------------------------------------- */

static void identities_of(const tn_val *x, tn_val *y, void *user) {
    (void)user;
    const tn_val v = x[0], r = x[1];
    size_t n = 0;
    y[n++] = tn_own(tn_all_gather(v, "w"), "w");
    y[n++] = tn_all_gather(tn_own(x[2], "w"), "w");
    y[n++] = tn_pick(tn_vary(r, "w"), "w", 1);
    y[n++] = tn_pick(tn_vary(r, "r,w"), "w", 1);
    y[n++] = tn_pick(tn_place(r, "w", 1), "w", 1);
    y[n++] = tn_vary(tn_vary(r, "r"), "w");
    y[n++] = tn_scatter_from(tn_gather_to(v, "w", 2), "w", 2);
    y[n++] = tn_all_to_all(tn_all_to_all(x[3], "w"), "w");
    y[n++] = tn_shift(v, "w", 0);
    y[n++] = tn_pick(tn_place(r, "w", 1), "w", 0); /* zeros of another rank: stays */
    y[n++] = tn_psum(tn_vary(r, "w"), "w");        /* stays: who wants 4 r writes so */
    assert_int_equal(n, 11);
}

static void identities(void **state) {
    (void)state;
    tn_ctx *c = on_grid(2, axes_rw, extent_rw);
    const tn_type in[4] = {tn_varying(c, tn_f64(3), "w"), tn_f64(3), tn_f64(4, 3), tn_varying(c, tn_f64(4, 3), "w")};
    tn_fn *f = tn_trace_many(c, identities_of, NULL, 4, in, 11);
    if (!f) fail_msg("%s", tn_error(c));
    is_text(f, GRID "{ lambda a:f64[3]{V:w} b:f64[3] c:f64[4,3] d:f64[4,3]{V:w} . let\n"
                    "e:f64[3]{V:w} = pvary[axes=w] b\n"
                    "f:f64[3]{V:(r,w)} = pvary[axes=(r,w)] b\n"
                    "g:f64[3]{V:r} = pvary[axes=r] b\n"
                    "h:f64[3]{V:w} = place[axes=w root=1] b\n"
                    "i:f64[3] = pick[axes=w root=0] h\n"
                    "j:f64[3] = psum[axes=w] e\n"
                    "in (a, c, b, g, b, f, a, d, a, i, j) }\n");
    tn_ctx_free(c);
}

/* What is gathered for all and read again by each rank sends back sums of its own part alone. */
static void sums_are_scattered(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = parsed(c, "grid (w=4)\n{ lambda | x:f64[3]{V:w} . let\n"
                         "a = all_gather[axes=w] x\nb = pvary[axes=w] a in (b,) }");
    is_text(tn_transpose(f), "grid (w=4)\n{ lambda | a:f64[4,3]{V:w} . let\n"
                             "b:f64[3]{V:w} = reduce_scatter[axes=w] a\nin (b,) }\n");
    f = parsed(c, "grid (w=4)\n{ lambda | x:f64[3]{V:w} . let\n"
                  "a = pick[axes=w root=1] x\nb = pvary[axes=w] a in (b,) }"); /* reduced to rank 1 */
    is_text(tn_transpose(f), "grid (w=4)\n{ lambda | a:f64[3]{V:w} . let\n"
                             "b:f64[3] = psum[axes=w] a\nc:f64[3]{V:w} = place[axes=w root=1] b\nin (c,) }\n");
    tn_ctx_free(c);
}

/* ---- plans ----------------------------------------------------------------------------------- */

static size_t occurrences(const tn_fn *f, const char *word) {
    char *text = tn_fn_print(f, NULL);
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at++) n++;
    tn_text_free(tn_fn_ctx(f), text);
    return n;
}

/* Sums of many numbers, of which cheap functions are to be kept or computed again. */
static const char sums[] = "grid (w=4)\n"
                           "{ lambda x:f64[100000]{V:w} . let\n"
                           "a = mul x x\n b = psum[axes=w] a\n c = sin b\n d = pvary[axes=w] c\n e = mul d x\n"
                           "f = shift[axes=w by=1] e\n g = sin f\n h = reduce_sum[axes=(0,)] g\n"
                           "y = psum[axes=w] h in (y,) }";
static const char nested[] = "grid (w=4)\n"
                             "{ lambda x:f64[100000]{V:w} . let\n"
                             "a = call[name=\"f\" program={ lambda x:f64[100000]{V:w} . let\n"
                             "b = pmax[axes=w] x\n c = psum[axes=w] x\n d = mul b c\n e = sin d in (e,) }] x\n"
                             "f = sin a\n g = reduce_sum[axes=(0,)] f in (g,) }";

/* Many such sums: to have them again takes less memory than to keep them. */
static const char several[] = "grid (w=4)\n"
                              "{ lambda x:f64[100000]{V:w} . let\n"
                              "a = sin x\n b = psum[axes=w] a\n c = sin b\n d = reduce_sum[axes=(0,)] c\n"
                              "e = cos x\n f = psum[axes=w] e\n g = sin f\n h = reduce_sum[axes=(0,)] g\n"
                              "i = exp x\n j = psum[axes=w] i\n k = sin j\n l = reduce_sum[axes=(0,)] k\n"
                              "m = tanh x\n n = psum[axes=w] m\n o = sin n\n p = reduce_sum[axes=(0,)] o\n"
                              "q = mul d h\n r = mul l p\n y = add q r in (y,) }";

static size_t messages(tn_ctx *c, const char *text, const char *policy) {
    const tn_policy p = {.size = sizeof p, .name = policy};
    tn_fn *f = tn_vjp(parsed(c, text), NULL, &p);
    if (!f) fail_msg("%s: %s", policy, tn_error(c));
    return occurrences(f, "psum[") + occurrences(f, "shift[") + occurrences(f, "pmax[");
}

/* The same in the least memory that any plan takes. */
static size_t messages_in_least(tn_ctx *c, const char *text) {
    char name[64];
    tn_budget_report r = {.size = sizeof r};
    assert_int_equal(tn_memory_budget(parsed(c, text), NULL, (size_t)1 << 30, &r), TN_OK);
    assert_true(r.least_bytes < r.full_bytes); /* so that something is computed again */
    (void)snprintf(name, sizeof name, "memory_budget:%zu", r.least_bytes);
    return messages(c, text, name);
}

static void plans_repeat_no_message(void **state) {
    (void)state;
    static const char *const weighed[] = {"everything_saveable", "min_cut", "min_bytes", "balanced",
                                          "memory_budget:99999999"};
    enum { SUMS = 3 + 2, NESTED = 2 + 1 }; /* back: of the shift, and of what psums' results made */
    for (size_t i = 0; i < COUNT(weighed); i++) {
        tn_ctx *c = checked();
        assert_int_equal(messages(c, sums, weighed[i]), SUMS);
        assert_int_equal(messages(c, nested, weighed[i]), NESTED);
        tn_ctx_free(c);
    }
    tn_ctx *c = checked();
    assert_int_equal(messages_in_least(c, several), 4);
    assert_int_equal(messages(c, several, "nothing_saveable"), 4 + 4); /* who says so has them repeated */
    tn_ctx_free(c);
}

/* A barrier is met once, by the primal values. */
static void barriers_stay(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = parsed(c, "grid (w=4)\n{ lambda x:f64[]{V:w} . let\n y = sin x\n () = barrier[axes=w]\n"
                         "z = psum[axes=w] y in (z,) }");
    tn_linearized l;
    assert_int_equal(occurrences(f, "barrier["), 1);
    assert_int_equal(occurrences(tn_grad(f, NULL, NULL), "barrier["), 1);
    assert_int_equal(occurrences(tn_vmap(f, 3, NULL, NULL), "barrier["), 1);
    l = tn_linearize(f, NULL, NULL);
    assert_int_equal(occurrences(l.primal, "barrier["), 1);
    assert_int_equal(occurrences(l.linear, "barrier["), 0);
    tn_ctx_free(c);
}

/* ---- one rank ------------------------------------------------------------------------------------ */

/* Nothing is exchanged, and no table is needed. */
static void one_rank(void **state) {
    (void)state;
    static const struct {
        const char *in, *equation;
        double want[2];
    } cases[] = {
        {"f64[2]{V:w}", "psum[axes=w] x", {3, 5}},
        {"f64[2]", "pvary[axes=w] x", {3, 5}},
        {"f64[2]{V:w}", "pick[axes=w root=0] x", {3, 5}},
        {"f64[2]", "place[axes=w root=0] x", {3, 5}},
        {"f64[2]{V:w}", "all_gather[axes=w] x", {3, 5}},
        {"f64[1,2]", "own[axes=w] x", {3, 5}},
        {"f64[1,2]{V:w}", "reduce_scatter[axes=w] x", {3, 5}},
        {"f64[2]{V:w}", "gather_to[axes=w root=0] x", {3, 5}},
        {"f64[1,2]{V:w}", "scatter_from[axes=w root=0] x", {3, 5}},
        {"f64[1,2]{V:w}", "all_to_all[axes=w] x", {3, 5}},
        {"f64[2]{V:w}", "shift[axes=w by=1] x", {0, 0}},
        {"f64[2]{V:w}", "shift[axes=w by=0] x", {3, 5}},
        {"f64[2]{V:w}", "shift[axes=w by=-7 wrap=True] x", {3, 5}},
        {"f64[2]{V:w}", "ppermute[axes=w pairs=()] x", {0, 0}},
        {"f64[2]{V:w}", "ppermute[axes=w pairs=((0, 0),)] x", {3, 5}},
        {"f64[2]{V:w}", "pscan[axes=w] x", {3, 5}},
        {"f64[2]{V:w}", "pscan[axes=w exclusive=True] x", {0, 0}},
        {"f64[2]{V:w}", "pmax[axes=w] x", {3, 5}},
        {"f64[2]{V:w}", "pmin[axes=w] x", {3, 5}},
        {"f64[2]{V:w}", "pprod[axes=w] x", {3, 5}},
    };
    const double x[2] = {3, 5}, d[2] = {0.5, -2};
    for (size_t i = 0; i < COUNT(cases); i++) {
        tn_ctx *c = checked();
        char text[512];
        double y[2], y2[2], dy[2], back[2];
        (void)snprintf(text, sizeof text, "grid (w=1)\n{ lambda x:%s . let\n y = %s in (y,) }", cases[i].in,
                       cases[i].equation);
        tn_fn *f = parsed(c, text);
        run(f, (const void *const[]){x}, (void *const[]){y});
        close_to(y, cases[i].want, 2, 0);
        run(tn_jvp(f, NULL), (const void *const[]){x, d}, (void *const[]){y2, dy});
        run(tn_vjp(f, NULL, NULL), (const void *const[]){x, d}, (void *const[]){y2, back});
        for (int k = 0; k < 2; k++) {
            const double slope = cases[i].want[k] != 0 ? d[k] : 0;
            close_to(&dy[k], &slope, 1, 0);
            close_to(&back[k], &slope, 1, 0);
        }
        tn_ctx_free(c);
    }
    tn_ctx *c = on(1);
    int64_t k = 7;
    run(parsed(c, "grid (w=1)\n{ lambda . let () = barrier[axes=w]\n k = axis_index[axes=w] in (k,) }"), NULL,
        (void *const[]){&k});
    assert_int_equal(k, 0);
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transposes),
        cmocka_unit_test(derivatives_vary_alike),
        cmocka_unit_test(batches),
        cmocka_unit_test(extremes),
        cmocka_unit_test(refusals),
        cmocka_unit_test(operators),
        cmocka_unit_test(operators_refuse),
        cmocka_unit_test(unknown_flags_are_refused),
        cmocka_unit_test(identities),
        cmocka_unit_test(sums_are_scattered),
        cmocka_unit_test(plans_repeat_no_message),
        cmocka_unit_test(barriers_stay),
        cmocka_unit_test(one_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
