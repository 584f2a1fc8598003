/* Loops as users write them: what becomes of the callbacks, what they compute, and where errors point. */
#include "unit/tracing.h"

#include "tansy/loops.h"

#include <stddef.h>
#include <stdio.h>

#define ZERO ((tn_val[]){TN_VAL(0.0)})

static tn_fn *traced(tn_ctx *c, tn_trace_many_fn f, size_t nin, const tn_type *in, size_t nout) {
    tn_fn *p = tn_trace_many(c, f, c, nin, in, nout);
    if (!p) fail_msg("%s", tn_error(c));
    assert_int_equal(tn_check(p), TN_OK);
    return p;
}

/* The text that f prints, which reads back as f. */
static void prints(tn_trace_many_fn f, size_t nin, const tn_type *in, size_t nout, const char *expected) {
    tn_ctx *c = checked();
    tn_fn *p = traced(c, f, nin, in, nout), *q;
    size_t n;
    char *text = tn_fn_print(p, &n);
    assert_string_equal(text, expected);
    q = tn_fn_parse(c, text, n, NULL);
    if (!q) fail_msg("%s", tn_error(c));
    assert_true(tn_i_fn_equal(p, q));
    tn_text_free(c, text);
    tn_ctx_free(c);
}

/* ---- what users write ------------------------------------------------------------------ */

static void add_entry(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    (void)user;
    y[0] = next[0] = tn_add(carry[0], x[0]);
}

/* in[0] -> its sums so far, its total */
static void cumulative(const tn_val *in, tn_val *out, void *user) {
    tn_scan(user, add_entry, NULL, .ncarry = 1, .init = ZERO, .nx = 1, .xs = in, .carry = &out[1], .ny = 1,
            .ys = &out[0]);
}

static void cumulative_backwards(const tn_val *in, tn_val *out, void *user) {
    const tn_loop_options o = {.size = sizeof o, .reverse = true, .schedule = "all_save"};
    tn_scan(user, add_entry, NULL, .ncarry = 1, .init = ZERO, .nx = 1, .xs = in, .length = 4, .carry = &out[1], .ny = 1,
            .ys = &out[0], .reverse = o.reverse, .schedule = o.schedule);
}

/* h <- tanh(W h + U x + b), with W, U, b captured */
static void rnn_step(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    const tn_val *w = user;
    const tn_val ux = tn_matmul(w[1], x[0]); /* one after the other: the order of arguments is the compiler's choice */
    const tn_val h = tn_add(tn_matmul(w[0], carry[0]), ux);
    next[0] = y[0] = tn_tanh(tn_add(h, w[2]));
}

static void rnn(const tn_val *in, tn_val *out, void *user) {
    const tn_val zeros = tn_zeros_like(in[2]);
    tn_scan(user, rnn_step, (void *)(uintptr_t)in, .ncarry = 1, .init = &zeros, .nx = 1, .xs = &in[3], .ny = 1,
            .ys = out);
}

/* Newton's iteration for the square root of a captured value. */
static tn_val not_there(const tn_val *in, void *user) {
    const tn_val *a = user;
    return tn_gt(tn_abs(tn_sub(tn_square(in[0]), *a)), 1e-12);
}

static void newton(const tn_val *in, tn_val *out, void *user) {
    const tn_val *a = user;
    out[0] = tn_mul(0.5, tn_add(in[0], tn_div(*a, in[0])));
    out[1] = tn_add(in[1], 1);
}

static void square_root(const tn_val *in, tn_val *out, void *user) {
    const tn_val init[] = {TN_VAL(1.0), TN_VAL(0)};
    tn_while_loop(user, not_there, newton, (void *)(uintptr_t)in, 2, init, out, NULL);
}

/* sum of i x over 3 <= i < 7 */
static void add_multiple(tn_val i, const tn_val *carry, tn_val *next, void *user) {
    const tn_val *x = user;
    next[0] = tn_add(carry[0], tn_mul(tn_convert(i, TN_F64), *x));
}

static void multiples(const tn_val *in, tn_val *out, void *user) {
    tn_fori(user, 3, 7, add_multiple, (void *)(uintptr_t)in, 1, ZERO, out, NULL);
}

/* The same with bounds that are inputs. */
static void multiples_between(const tn_val *in, tn_val *out, void *user) {
    tn_fori(user, in[1], in[2], add_multiple, (void *)(uintptr_t)in, 1, ZERO, out, NULL);
}

static void multiples_to(const tn_val *in, tn_val *out, void *user) {
    tn_fori(user, 0, in[1], add_multiple, (void *)(uintptr_t)in, 1, ZERO, out, NULL);
}

/* A table of products i * j * x by a loop in a loop: the inner step uses both numbers and the outermost value. */
typedef struct outer_step {
    tn_ctx *c;
    tn_val x, i;
} outer_step;

static void inner(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    const outer_step *o = user;
    (void)carry, (void)x, (void)next;
    y[0] = tn_mul(tn_convert(tn_mul(o->i, tn_loop_step(o->c)), TN_F64), o->x);
}

static void outer(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    outer_step *o = user;
    (void)carry, (void)x, (void)next;
    o->i = tn_loop_step(o->c);
    tn_scan(o->c, inner, o, .length = 3, .ny = 1, .ys = y);
}

static void table(const tn_val *in, tn_val *out, void *user) {
    outer_step o = {.c = user, .x = in[0]};
    tn_scan(user, outer, &o, .length = 2, .ny = 1, .ys = out);
}

/* ---- structure ----------------------------------------------------------------------------- */

static void test_structure(void **state) {
    (void)state;
    prints(cumulative, 1, TN_TYPES(tn_f32(4)), 2,
           "{ lambda a:f32[4] . let\n"
           "    b:f32[] c:f32[4] = scan[\n"
           "        program={ lambda a:f32[] b:f32[] . let\n"
           "            c:f32[] = add a b\n"
           "          in (c, c) }\n"
           "        length=4\n"
           "        num_consts=0\n"
           "        num_carry=1\n"
           "      ] 0.0:f32[] a\n"
           "  in (c, b) }\n");
    prints(cumulative_backwards, 1, TN_TYPES(tn_f64(4)), 2,
           "{ lambda a:f64[4] . let\n"
           "    b:f64[] c:f64[4] = scan[\n"
           "        program={ lambda a:f64[] b:f64[] . let\n"
           "            c:f64[] = add a b\n"
           "          in (c, c) }\n"
           "        length=4\n"
           "        num_consts=0\n"
           "        num_carry=1\n"
           "        reverse=True\n"
           "        schedule=\"all_save\"\n"
           "      ] 0.0:f64[] a\n"
           "  in (c, b) }\n");
    prints(rnn, 4, TN_TYPES(tn_f64(2, 2), tn_f64(2, 3), tn_f64(2), tn_f64(5, 3)), 1,
           "{ lambda a:f64[2,2] b:f64[2,3] c:f64[2] d:f64[5,3] . let\n"
           "    e:f64[2] = broadcast_in_dim[shape=(2,) broadcast_dimensions=()] 0.0:f64[]\n"
           "    f:f64[2] g:f64[5,2] = scan[\n"
           "        program={ lambda a:f64[2,3] b:f64[2,2] c:f64[2] d:f64[2] e:f64[3] . let\n"
           "            f:f64[2] = dot_general[dimension_numbers=(((1,), (0,)), ((), ()))] a e\n"
           "            g:f64[2] = dot_general[dimension_numbers=(((1,), (0,)), ((), ()))] b d\n"
           "            h:f64[2] = add f g\n"
           "            i:f64[2] = add c h\n"
           "            j:f64[2] = tanh i\n"
           "          in (j, j) }\n"
           "        length=5\n"
           "        num_consts=3\n"
           "        num_carry=1\n"
           "      ] b a c e d\n"
           "  in (g,) }\n");
    prints(square_root, 1, TN_TYPES(tn_f64()), 2,
           "{ lambda a:f64[] . let\n"
           "    b:f64[] c:i64[] = while[\n"
           "        cond={ lambda a:f64[] b:f64[] c:i64[] . let\n"
           "            d:f64[] = square b\n"
           "            e:f64[] = sub d a\n"
           "            f:f64[] = abs e\n"
           "            g:bool[] = gt f 1e-12:f64[]\n"
           "          in (g,) }\n"
           "        body={ lambda a:f64[] b:f64[] c:i64[] . let\n"
           "            d:f64[] = div a b\n"
           "            e:f64[] = add b d\n"
           "            f:f64[] = mul e 0.5:f64[]\n"
           "            g:i64[] = add c 1:i64[]\n"
           "          in (f, g) }\n"
           "        cond_nconsts=1\n"
           "        body_nconsts=1\n"
           "      ] a a 1.0:f64[] 0:i64[]\n"
           "  in (b, c) }\n");
    prints(multiples, 1, TN_TYPES(tn_f64()), 1,
           "{ lambda a:f64[] . let\n"
           "    b:f64[] = scan[\n"
           "        program={ lambda a:i64[] b:f64[] c:f64[] . let\n"
           "            d:i64[] = add a 3:i64[]\n"
           "            e:f64[] = convert_element_type[new_dtype=f64] d\n"
           "            f:f64[] = mul b e\n"
           "            g:f64[] = add c f\n"
           "          in (g,) }\n"
           "        length=4\n"
           "        num_consts=1\n"
           "        num_carry=1\n"
           "        index=True\n"
           "      ] a 0.0:f64[]\n"
           "  in (b,) }\n");
    prints(multiples_between, 3, TN_TYPES(tn_f64(), tn_i64(), tn_i32()), 1,
           "{ lambda a:f64[] b:i64[] c:i32[] . let\n"
           "    d:i64[] = convert_element_type[new_dtype=i64] c\n"
           "    e:i64[] = sub d b\n"
           "    f:f64[] = scan[\n"
           "        program={ lambda a:i64[] b:i64[] c:f64[] d:f64[] . let\n"
           "            e:i64[] = add a b\n"
           "            f:f64[] = convert_element_type[new_dtype=f64] e\n"
           "            g:f64[] = mul c f\n"
           "            h:f64[] = add d g\n"
           "          in (h,) }\n"
           "        num_consts=2\n"
           "        num_carry=1\n"
           "        index=True\n"
           "      ] e b a 0.0:f64[]\n"
           "  in (f,) }\n");
    prints(multiples_to, 2, TN_TYPES(tn_f64(), tn_i64()), 1,
           "{ lambda a:f64[] b:i64[] . let\n"
           "    c:f64[] = scan[\n"
           "        program={ lambda a:i64[] b:f64[] c:f64[] . let\n"
           "            d:f64[] = convert_element_type[new_dtype=f64] a\n"
           "            e:f64[] = mul b d\n"
           "            f:f64[] = add c e\n"
           "          in (f,) }\n"
           "        num_consts=1\n"
           "        num_carry=1\n"
           "        index=True\n"
           "      ] b a 0.0:f64[]\n"
           "  in (c,) }\n");
    prints(table, 1, TN_TYPES(tn_f64()), 1,
           "{ lambda a:f64[] . let\n"
           "    b:f64[2,3] = scan[\n"
           "        program={ lambda a:i64[] b:f64[] . let\n"
           "            c:f64[3] = scan[\n"
           "                program={ lambda a:i64[] b:i64[] c:f64[] . let\n"
           "                    d:i64[] = mul a b\n"
           "                    e:f64[] = convert_element_type[new_dtype=f64] d\n"
           "                    f:f64[] = mul c e\n"
           "                  in (f,) }\n"
           "                length=3\n"
           "                num_consts=2\n"
           "                num_carry=0\n"
           "                index=True\n"
           "              ] a b\n"
           "          in (c,) }\n"
           "        length=2\n"
           "        num_consts=1\n"
           "        num_carry=0\n"
           "        index=True\n"
           "      ] a\n"
           "  in (b,) }\n");
}

/* ---- what they compute -------------------------------------------------------------------- */

static void computes(tn_trace_many_fn f, size_t nin, const tn_type *in, const void *const *x, size_t nout,
                     const size_t *n, const double *const *want) {
    tn_ctx *c = checked();
    tn_fn *p = traced(c, f, nin, in, nout);
    double y[4][32];
    void *out[4] = {y[0], y[1], y[2], y[3]};
    run(p, x, out);
    for (size_t j = 0; j < nout; j++)
        if (want[j]) close_to(y[j], want[j], n[j], 1e-12);
    const tn_check_options o = {.size = sizeof o};
    if (tn_check_grads(p, x, NULL, &o) != TN_OK) fail_msg("%s", tn_error(c));
    tn_ctx_free(c);
}

#define SIZES(...)  ((const size_t[]){__VA_ARGS__})
#define ARRAYS(...) ((const double *const[]){__VA_ARGS__})

/* The same in C. */
static void plain_rnn(const double w[2][2], const double u[2][3], const double b[2], const double x[5][3],
                      double y[5][2]) {
    double h[2] = {0, 0};
    for (int t = 0; t < 5; t++) {
        for (int i = 0; i < 2; i++) {
            double z = b[i] + w[i][0] * h[0] + w[i][1] * h[1];
            for (int k = 0; k < 3; k++) z += u[i][k] * x[t][k];
            y[t][i] = tanh(z);
        }
        memcpy(h, y[t], sizeof h);
    }
}

static void test_values(void **state) {
    (void)state;
    computes(cumulative, 1, TN_TYPES(tn_f64(4)), TN_INPUTS(P(1, 2, -4, 0.5)), 2, SIZES(4, 1),
             ARRAYS(P(1, 3, -1, -0.5), P(-0.5)));
    computes(cumulative_backwards, 1, TN_TYPES(tn_f64(4)), TN_INPUTS(P(1, 2, -4, 0.5)), 2, SIZES(4, 1),
             ARRAYS(P(-0.5, -1.5, -3.5, 0.5), P(-0.5)));
    static const double w[2][2] = {{0.5, -1}, {0.25, 2}}, u[2][3] = {{1, 0, -0.5}, {0.5, 0.25, -1}}, b[2] = {0.1, -0.2};
    static const double x[5][3] = {{1, 2, 3}, {-1, 0.5, 0}, {0, 0, 1}, {2, -1, 0.5}, {0.3, 0.2, 0.1}};
    double y[5][2];
    plain_rnn(w, u, b, x, y);
    computes(rnn, 4, TN_TYPES(tn_f64(2, 2), tn_f64(2, 3), tn_f64(2), tn_f64(5, 3)), TN_INPUTS(w, u, b, x), 1, SIZES(10),
             ARRAYS(&y[0][0]));
    computes(square_root, 1, TN_TYPES(tn_f64()), TN_INPUTS(P(2)), 2, SIZES(1), ARRAYS(P(sqrt(2)), NULL));
    computes(multiples, 1, TN_TYPES(tn_f64()), TN_INPUTS(P(0.5)), 1, SIZES(1), ARRAYS(P(9)));
    for (int64_t lower = -1; lower < 4; lower++) /* sums that are 0 are exactly so */
        for (int32_t upper = -2; upper < 4; upper++) {
            double sum = 0, upto = 0;
            for (int64_t i = lower; i < upper; i++) sum += 0.5 * (double)i;
            for (int64_t i = 0; i < lower; i++) upto += 0.5 * (double)i;
            computes(multiples_between, 3, TN_TYPES(tn_f64(), tn_i64(), tn_i32()), TN_INPUTS(P(0.5), &lower, &upper), 1,
                     SIZES(1), ARRAYS(P(sum)));
            computes(multiples_to, 2, TN_TYPES(tn_f64(), tn_i64()), TN_INPUTS(P(0.5), &lower), 1, SIZES(1),
                     ARRAYS(P(upto)));
        }
    computes(table, 1, TN_TYPES(tn_f64()), TN_INPUTS(P(1.5)), 1, SIZES(6), ARRAYS(P(0, 0, 0, 0, 1.5, 3)));
}

/* The derivative of Newton's iteration is that of the root that it found. */
static tn_val root_alone(const tn_val *in, void *user) {
    tn_val out[2];
    square_root(in, out, user);
    return out[0];
}

static void test_derivative_of_newton(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = tn_trace(c, root_alone, c, 1, TN_TYPES(tn_f64()));
    tn_fn *g = tn_grad(f, NULL, NULL), *h = tn_grad(g, NULL, NULL), *forward = tn_jvp(g, NULL);
    double first, second, again[2];
    run(g, TN_INPUTS(P(2)), TN_OUTPUTS(&first));
    run(h, TN_INPUTS(P(2)), TN_OUTPUTS(&second));
    run(forward, TN_INPUTS(P(2), P(1)), TN_OUTPUTS(&again[0], &again[1]));
    close_to(&first, P(0.5 / sqrt(2)), 1, 1e-12);
    close_to(&second, P(-0.25 * pow(2, -1.5)), 1, 1e-9);
    close_to(again, P(first, second), 2, 1e-12);
    tn_ctx_free(c);
}

/* ---- any number of arrays of any dtype ------------------------------------------------------- */

enum { MANY = 40 };

/* Carries change places with xs; everything else stays. */
static void exchange(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    (void)user;
    for (int i = 0; i < MANY; i++) {
        next[i] = x[i];
        y[i] = carry[i];
    }
}

static void many(const tn_val *in, tn_val *out, void *user) {
    tn_scan(user, exchange, NULL, .ncarry = MANY, .init = in, .nx = MANY, .xs = in + MANY, .length = 3, .carry = out,
            .ny = MANY, .ys = out + MANY);
}

static void test_many(void **state) {
    (void)state;
    tn_type in[2 * MANY];
    for (int i = 0; i < MANY; i++) {
        in[i] = tn_type_of((tn_dtype)(i % TN_NDTYPES), (size_t)(i % 3), (const int64_t[]){i % 4, 2});
        in[MANY + i] = tn_type_of((tn_dtype)(i % TN_NDTYPES), (size_t)(i % 3) + 1, (const int64_t[]){3, i % 4, 2});
    }
    tn_ctx *c = checked();
    tn_fn *f = traced(c, many, 2 * MANY, in, 2 * MANY);
    for (uint32_t j = 0; j < 2 * MANY; j++) {
        const tn_type t = tn_fn_output_type(f, j);
        assert_true(tn_type_equal(&t, &in[j]));
    }
    tn_ctx_free(c);
}

/* Numbers as initial carries: by their spelling, floating ones as the first float array. */
static void keep_all(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    (void)x, (void)y, (void)user;
    memcpy(next, carry, 4 * sizeof *next);
}

static void numbers(const tn_val *in, tn_val *out, void *user) {
    out[0] = TN_VAL(0), out[1] = TN_VAL(2.5), out[2] = TN_VAL((bool)true), out[3] = in[0];
    tn_scan(user, keep_all, NULL, .ncarry = 4, .init = out, .length = 1, .carry = out); /* results over the operands */
}

static void test_numbers(void **state) {
    (void)state;
    tn_ctx *c = checked();
    for (int k = 0; k < 2; k++) {
        const tn_type want[] = {tn_i64(), k ? tn_f32() : tn_f64(), tn_bool(), k ? tn_f32(2) : tn_i32(2)};
        tn_fn *f = traced(c, numbers, 1, &want[3], 4);
        for (uint32_t j = 0; j < 4; j++) {
            const tn_type t = tn_fn_output_type(f, j);
            assert_true(tn_type_equal(&t, &want[j]));
        }
    }
    tn_ctx_free(c);
}

/* ---- errors ------------------------------------------------------------------------------------ */

static int the_line;
#define HERE (the_line = __LINE__)

/* Tracing f fails so, at the line that f noted. */
static void fails(tn_trace_many_fn f, tn_status status, const char *message) {
    tn_ctx *c = checked();
    char place[64];
    assert_null(tn_trace_many(c, f, c, 2, TN_TYPES(tn_f64(3), tn_f32(4)), 1));
    if (!strstr(tn_error(c), message)) fail_msg("%s\nis not\n%s", tn_error(c), message);
    (void)snprintf(place, sizeof place, "loops_api.c:%d: ", the_line);
    if (!strstr(tn_error(c), place)) fail_msg("%s\nis not at\n%s", tn_error(c), place);
    assert_int_equal(tn_last_status(c), status);
    tn_ctx_free(c);
}

static void to_float(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    (void)x, (void)y, (void)user;
    next[0] = carry[0];
    next[1] = tn_convert(carry[1], TN_F32);
}
static void dtype_changes(const tn_val *in, tn_val *out, void *user) {
    tn_val both[] = {in[0], in[0]};
    tn_scan(user, to_float, NULL, .ncarry = 2, .init = both, .length = 5, .carry = both), HERE;
    out[0] = both[0];
}

static void grow(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    out[0] = tn_concatenate(tn_vals(in[0], in[0]), 0);
}
static tn_val always(const tn_val *in, void *user) { return (void)in, tn_full(user, tn_bool(), true); }
static void shape_changes(const tn_val *in, tn_val *out, void *user) {
    tn_while_loop(user, always, grow, NULL, 1, in, out, NULL), HERE;
}

static void whole_to_float(tn_val i, const tn_val *carry, tn_val *next, void *user) {
    (void)carry, (void)user;
    next[0] = tn_convert(i, TN_F64);
}
static void number_changes(const tn_val *in, tn_val *out, void *user) {
    (void)in;
    tn_fori(user, 0, 5, whole_to_float, NULL, 1, (tn_val[]){TN_VAL(0)}, out, NULL), HERE;
}

static void lengths_differ(const tn_val *in, tn_val *out, void *user) {
    (void)out;
    tn_scan(user, add_entry, NULL, .ncarry = 1, .init = ZERO, .nx = 2, .xs = in, .ny = 1), HERE;
}
static void length_differs(const tn_val *in, tn_val *out, void *user) {
    (void)out;
    tn_scan(user, add_entry, NULL, .ncarry = 1, .init = ZERO, .nx = 1, .xs = in, .length = 4, .ny = 1), HERE;
}
static void no_length(const tn_val *in, tn_val *out, void *user) {
    tn_scan(user, add_entry, NULL, .ncarry = 1, .init = in, .carry = out), HERE;
}
static void negative_length(const tn_val *in, tn_val *out, void *user) {
    tn_scan(user, add_entry, NULL, .ncarry = 1, .init = in, .length = -7, .carry = out), HERE;
}
static void no_entries(const tn_val *in, tn_val *out, void *user) {
    (void)out;
    const tn_val x = tn_sum(in[0]);
    tn_scan(user, add_entry, NULL, .ncarry = 1, .init = ZERO, .nx = 1, .xs = &x, .length = 1, .ny = 1), HERE;
}
static void number_entries(const tn_val *in, tn_val *out, void *user) {
    (void)out;
    (void)in;
    tn_scan(user, add_entry, NULL, .ncarry = 1, .init = ZERO, .nx = 1, .xs = ZERO, .length = 1, .ny = 1), HERE;
}

static void no_callback(const tn_val *in, tn_val *out, void *user) {
    tn_scan(user, NULL, NULL, .ncarry = 1, .init = in, .length = 1, .carry = out), HERE;
}
static void no_condition(const tn_val *in, tn_val *out, void *user) {
    tn_while_loop(user, NULL, grow, NULL, 1, in, out, NULL), HERE;
}
static void no_body(const tn_val *in, tn_val *out, void *user) {
    tn_while_loop(user, always, NULL, NULL, 1, in, out, NULL), HERE;
}
static void no_step(const tn_val *in, tn_val *out, void *user) {
    tn_fori(user, 0, 1, NULL, NULL, 1, in, out, NULL), HERE;
}
static void no_init(const tn_val *in, tn_val *out, void *user) {
    (void)in;
    tn_fori(user, 0, 1, add_multiple, NULL, 1, NULL, out, NULL), HERE;
}
static void no_xs(const tn_val *in, tn_val *out, void *user) {
    tn_scan(user, add_entry, NULL, .ncarry = 1, .init = in, .nx = 1, .length = 3, .carry = out), HERE;
}

static void rank_eight(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    (void)carry, (void)x, (void)next;
    y[0] = tn_zeros(user, tn_f64(1, 1, 1, 1, 1, 1, 1, 1));
}
static void too_high(const tn_val *in, tn_val *out, void *user) {
    (void)in;
    tn_scan(user, rank_eight, user, .length = 2, .ny = 1, .ys = out), HERE;
}
static void emit_carry(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    (void)x, (void)user;
    next[0] = y[0] = carry[0];
}
static void too_large(const tn_val *in, tn_val *out, void *user) {
    tn_scan(user, emit_carry, NULL, .ncarry = 1, .init = in, .length = INT64_MAX / 16, .ny = 1, .ys = out), HERE;
}

static void keep_one(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    out[0] = in[0];
}
static void bad_schedule(const tn_val *in, tn_val *out, void *user) {
    (void)out;
    const char *s = "revolve:0";
    tn_scan(user, add_entry, NULL, .ncarry = 1, .init = ZERO, .nx = 1, .xs = in, .ny = 1, .schedule = s), HERE;
}
static void wrong_schedule(const tn_val *in, tn_val *out, void *user) {
    const tn_loop_options o = {.size = sizeof o, .schedule = "revolve:2"};
    tn_while_loop(user, always, keep_one, user, 1, in, out, &o), HERE;
}

static tn_val not_bool(const tn_val *in, void *user) { return (void)user, tn_sum(in[0]); }
static void condition_float(const tn_val *in, tn_val *out, void *user) {
    tn_while_loop(user, not_bool, keep_one, NULL, 1, in, out, NULL), HERE;
}
static tn_val each_positive(const tn_val *in, void *user) { return (void)user, tn_gt(in[0], 0.0); }
static void condition_array(const tn_val *in, tn_val *out, void *user) {
    tn_while_loop(user, each_positive, keep_one, NULL, 1, in, out, NULL), HERE;
}
static void reversed_while(const tn_val *in, tn_val *out, void *user) {
    const tn_loop_options o = {.size = sizeof o, .reverse = true};
    tn_while_loop(user, always, keep_one, NULL, 1, in, out, &o), HERE;
}

static void returns_number(tn_val i, const tn_val *carry, tn_val *next, void *user) {
    (void)i, (void)user;
    next[0] = carry[0];
    next[1] = TN_VAL(1.0);
}
static void plain_result(const tn_val *in, tn_val *out, void *user) {
    tn_fori(user, 0, 1, returns_number, NULL, 2, (tn_val[]){in[0], in[1]}, (tn_val[]){in[0], in[0]}, NULL), HERE;
    out[0] = in[0];
}
static void sets_nothing(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    (void)x, (void)y, (void)user;
    next[0] = carry[0];
}
static void unset_result(const tn_val *in, tn_val *out, void *user) {
    tn_scan(user, sets_nothing, NULL, .ncarry = 1, .init = in, .length = 1, .ny = 1, .ys = out), HERE;
}

static void float_bound(const tn_val *in, tn_val *out, void *user) {
    tn_fori(user, 0, tn_sum(in[0]), add_multiple, NULL, 1, ZERO, out, NULL), HERE;
}
static void half_bound(const tn_val *in, tn_val *out, void *user) {
    (void)in;
    tn_fori(user, 0.5, 3, add_multiple, NULL, 1, ZERO, out, NULL), HERE;
}
static void too_many_steps(const tn_val *in, tn_val *out, void *user) {
    (void)in;
    tn_fori(user, -2, INT64_MAX, add_multiple, NULL, 1, ZERO, out, NULL), HERE;
}

static void step_outside(const tn_val *in, tn_val *out, void *user) {
    (void)in;
    out[0] = tn_loop_step(user), HERE;
}
static tn_val step_in_condition(const tn_val *in, void *user) {
    (void)in;
    return HERE, tn_lt(tn_loop_step(user), 3);
}
static void conditional_step(const tn_val *in, tn_val *out, void *user) {
    tn_while_loop(user, step_in_condition, keep_one, user, 1, in, out, NULL);
}

static void mismatch(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    (void)x, (void)y;
    next[0] = tn_add(carry[0], *(const tn_val *)user), HERE;
}
static void inside(const tn_val *in, tn_val *out, void *user) {
    tn_scan(user, mismatch, (void *)(uintptr_t)&in[1], .ncarry = 1, .init = in, .length = 1, .carry = out);
}

static void test_errors(void **state) {
    (void)state;
    fails(dtype_changes, TN_ETYPE, "scan: carry 1 enters the step as f64[3] and leaves it as f32[3] (made at ");
    fails(shape_changes, TN_ETYPE, "while_loop: carry 0 enters the step as f64[3] and leaves it as f64[6] (made at ");
    fails(number_changes, TN_ETYPE, "fori: carry 0 enters the step as i64[] and leaves it as f64[]");
    fails(lengths_differ, TN_EINVAL, "scan: operand 2: xs 1 has 4 entries where the loop has 3 steps");
    fails(length_differs, TN_EINVAL, "scan: operand 1: xs 0 has 3 entries where the loop has 4 steps");
    fails(no_length, TN_EINVAL, "scan: without xs a length is needed");
    fails(negative_length, TN_EINVAL, "scan: the length -7 is negative");
    fails(no_entries, TN_ETYPE, "scan: operand 1: xs 0 has rank 0");
    fails(number_entries, TN_EINVAL, "scan: operand 1: is a plain number where an array is needed");
    fails(no_callback, TN_EINVAL, "scan: the callback is NULL");
    fails(no_condition, TN_EINVAL, "while_loop: the condition is NULL");
    fails(no_body, TN_EINVAL, "while_loop: the body is NULL");
    fails(no_step, TN_EINVAL, "fori: the callback is NULL");
    fails(no_init, TN_EINVAL, "fori: the initial carries are NULL");
    fails(no_xs, TN_EINVAL, "scan: the xs are NULL");
    fails(too_high, TN_ETYPE, "scan: y 0 of the step is f64[1,1,1,1,1,1,1,1] (made at ");
    fails(too_large, TN_ETYPE, "scan: y 0 of the step is f64[3], and 576460752303423487 of them are too large");
    fails(bad_schedule, TN_ETYPE, "scan: 'revolve:0' is not 'revolve:CHECKPOINTS'");
    fails(wrong_schedule, TN_ETYPE, "while: schedule 'revolve:2' wants to know the number of steps");
    fails(condition_float, TN_ETYPE, "while_loop: the condition is f64[] (made at ");
    fails(condition_array, TN_ETYPE, "while_loop: the condition is bool[3] (made at ");
    fails(reversed_while, TN_EINVAL, "while_loop: a loop of unknown length has no last step");
    fails(plain_result, TN_EINVAL, "carry 1 of the step: a plain number has no dtype");
    fails(unset_result, TN_EINVAL, "y 0 of the step: is not a traced value (it was never set");
    fails(float_bound, TN_ETYPE, "fori: the upper bound is f64[], not i64[] or i32[]");
    fails(half_bound, TN_ETYPE, "fori: operand 0: number 0.5 is not representable in i64");
    fails(too_many_steps, TN_EOVERFLOW, "fori: there are too many numbers from -2 to 9223372036854775807");
    fails(step_outside, TN_EINVAL, "loop_step: no step of a loop is being traced");
    fails(conditional_step, TN_EINVAL, "loop_step: a condition has no step");
    fails(inside, TN_ETYPE, "add: operand 1: dtype f32 differs from f64");
}

/* A context comes from the operands; where there is none, results are poison that knows its line. */
static void without_context(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    tn_scan(NULL, add_entry, NULL, .ncarry = 1, .init = ZERO, .nx = 1, .xs = in, .ny = 1, .ys = out);
}
static void without_anything(const tn_val *in, tn_val *out, void *user) {
    (void)in, (void)user;
    tn_fori(NULL, 0, 3, whole_to_float, NULL, 1, ZERO, out, NULL), HERE;
}

static void test_context(void **state) {
    (void)state;
    tn_ctx *c = checked();
    char line[64];
    (void)traced(c, without_context, 1, TN_TYPES(tn_f64(3)), 1);
    assert_null(tn_trace_many(c, without_anything, NULL, 1, TN_TYPES(tn_f64(3)), 1));
    (void)snprintf(line, sizeof line, "what made it in line %d was given NULL for the context", the_line);
    if (!strstr(tn_error(c), line)) fail_msg("%s", tn_error(c));
    const tn_val v = tn_loop_step(c); /* no trace at all */
    assert_null(v.ctx);
    assert_non_null(strstr(tn_error(c), "no trace is active"));
    tn_ctx_free(c);
}

/* Options of an older, smaller library. */
static void older(const tn_val *in, tn_val *out, void *user) {
    const tn_scan_args a = {.size = offsetof(tn_scan_args, schedule),
                            .ncarry = 1,
                            .init = ZERO,
                            .carry = &out[1],
                            .nx = 1,
                            .xs = in,
                            .ny = 1,
                            .ys = &out[0],
                            .length = 4,
                            .reverse = true,
                            .schedule = (const char *)1};
    tn_scan_at(user, add_entry, NULL, &a, __FILE__, __LINE__);
}

/* No steps, which has to be said, and arguments that cannot be. */
static void twice(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    (void)x, (void)y, (void)user;
    next[0] = tn_mul(carry[0], 2.0);
}
static void no_steps(const tn_val *in, tn_val *out, void *user) {
    tn_scan(user, twice, NULL, .ncarry = 1, .init = in, .length = TN_NO_STEPS, .carry = out);
}
static void no_arguments(const tn_val *in, tn_val *out, void *user) {
    (void)in, (void)out;
    tn_scan_at(user, add_entry, NULL, NULL, __FILE__, __LINE__);
}
static void no_size(const tn_val *in, tn_val *out, void *user) {
    const tn_scan_args a = {.ncarry = 1, .init = in, .carry = out, .length = 3};
    tn_scan_at(user, add_entry, NULL, &a, __FILE__, __LINE__);
}

static void test_options(void **state) {
    (void)state;
    tn_ctx *c = checked();
    double x = 3, y = 0;
    tn_exec *e = tn_compile(traced(c, no_steps, 1, TN_TYPES(tn_f64()), 1), NULL);
    assert_non_null(e);
    assert_int_equal(tn_call(e, TN_INPUTS(&x), TN_OUTPUTS(&y)), TN_OK);
    assert_true(y >= x && y <= x);
    assert_null(tn_trace_many(c, no_arguments, c, 1, TN_TYPES(tn_f64()), 1));
    assert_non_null(strstr(tn_error(c), "the arguments are NULL"));
    assert_null(tn_trace_many(c, no_size, c, 1, TN_TYPES(tn_f64()), 1));
    assert_int_equal(tn_last_status(c), TN_EINVAL);
    assert_non_null(strstr(tn_error(c), "scan: "));
    tn_error_clear(c);
    tn_fn *f = traced(c, older, 1, TN_TYPES(tn_f64(4)), 2);
    char *text = tn_fn_print(f, NULL);
    assert_non_null(strstr(text, "reverse=True"));
    assert_null(strstr(text, "schedule"));
    tn_text_free(c, text);
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_structure), cmocka_unit_test(test_values),  cmocka_unit_test(test_derivative_of_newton),
        cmocka_unit_test(test_many),      cmocka_unit_test(test_numbers), cmocka_unit_test(test_errors),
        cmocka_unit_test(test_context),   cmocka_unit_test(test_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
