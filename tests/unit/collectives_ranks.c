/* The values of collectives and of their derivatives on ranks that are threads: exact ones, of every operator. */
#include "tracing.h"

#include <tansy/comm.h>
#include <tansy/ops.h>

#include <pthread.h>
#include <stdio.h>

enum { MOST = 8, ROOM = 16 };

/* ---- ranks ------------------------------------------------------------------------------ */

/* One of them, and what it is given and finds. */
typedef struct rank {
    tn_threads *t;
    const tn_grid *grid;
    const char *text;
    tn_fn *(*derive)(const tn_fn *f);
    int k;
    size_t nin, nout;
    double in[2][ROOM], out[3][ROOM];
    char why[512];
} rank;

static bool run_in(tn_ctx *c, rank *r) {
    const tn_compile_options o = {.size = sizeof o, .comm = tn_threads_rank(r->t, r->k)};
    const void *in[2] = {r->in[0], r->in[1]};
    void *out[3] = {r->out[0], r->out[1], r->out[2]};
    tn_fn *f = tn_fn_parse(c, r->text, strlen(r->text), "test.tn"), *g = f && r->derive ? r->derive(f) : f;
    tn_exec *e = g ? tn_compile(g, &o) : NULL;
    if (!e) {
        (void)snprintf(r->why, sizeof r->why, "%s", tn_error(c));
        return false;
    }
    const tn_status s = tn_call(e, in, out);
    if (s != TN_OK) (void)snprintf(r->why, sizeof r->why, "%s", tn_exec_error(e));
    tn_exec_free(e);
    return s == TN_OK;
}

static void *run_rank(void *arg) {
    rank *r = arg;
    const tn_ctx_options opt = {.size = sizeof opt, .check = 1, .grid = *r->grid};
    tn_ctx *c = tn_ctx_new(&opt);
    if (c) (void)run_in(c, r);
    tn_ctx_free(c);
    tn_threads_leave(r->t, r->k);
    return NULL;
}

/* Runs what `derive` makes of the text, or the text itself, on all ranks. */
static void run_ranks(const tn_grid *grid, int n, const char *text, tn_fn *(*derive)(const tn_fn *f), rank *r) {
    tn_ctx *c = checked();
    tn_threads *t = tn_threads_comm(c, grid, 0);
    pthread_t id[MOST];
    assert_non_null(t);
    for (int k = 0; k < n; k++) {
        r[k].t = t;
        r[k].grid = grid;
        r[k].k = k;
        r[k].text = text;
        r[k].derive = derive;
        assert_int_equal(pthread_create(&id[k], NULL, run_rank, &r[k]), 0);
    }
    for (int k = 0; k < n; k++) assert_int_equal(pthread_join(id[k], NULL), 0);
    for (int k = 0; k < n; k++)
        if (r[k].why[0]) fail_msg("rank %d: %s", k, r[k].why);
    tn_threads_free(t);
    tn_ctx_free(c);
}

static tn_grid line(const int64_t *w) {
    static const char *const name[] = {"w"};
    return (tn_grid){1, name, w};
}

/* ---- derivatives by name ------------------------------------------------------------------ */

static tn_fn *jvp(const tn_fn *f) { return tn_jvp(f, NULL); }
static tn_fn *vjp(const tn_fn *f) { return tn_vjp(f, NULL, NULL); }
static tn_fn *grad(const tn_fn *f) { return tn_grad(f, NULL, NULL); }
static tn_fn *hvp(const tn_fn *f) {
    tn_fn *g = tn_grad(f, NULL, NULL);
    return g ? tn_jvp(g, NULL) : NULL;
}

/* ---- each primitive, on three ranks --------------------------------------------------------- */

/* x_r = [r+1, 10(r+1)]; X_r[s] = (r+1)(s+1); Z_r[s] = 10r+s */
static double x_of(int r, int i) { return i ? 10.0 * (r + 1) : r + 1.0; }
static double X_of(int r, int s) { return (r + 1.0) * (s + 1); }
static double Z_of(int r, int s) { return 10.0 * r + s; }

static const struct value {
    const char *in, *equation;
    double (*of)(int r, int i);
    size_t nin, nout;
    double want[3][6]; /* of each rank */
} values[] = {
    {"f64[2]{V:w}", "psum[axes=w] x", x_of, 2, 2, {{6, 60}, {6, 60}, {6, 60}}},
    {"f64[2]{V:w}", "psum[axes=w ordered=True] x", x_of, 2, 2, {{6, 60}, {6, 60}, {6, 60}}},
    {"f64[2]{V:w}", "pmax[axes=w] x", x_of, 2, 2, {{3, 30}, {3, 30}, {3, 30}}},
    {"f64[2]{V:w}", "pmin[axes=w] x", x_of, 2, 2, {{1, 10}, {1, 10}, {1, 10}}},
    {"f64[2]{V:w}", "pprod[axes=w] x", x_of, 2, 2, {{6, 6000}, {6, 6000}, {6, 6000}}},
    {"f64[2]{V:w}", "pick[axes=w root=1] x", x_of, 2, 2, {{2, 20}, {2, 20}, {2, 20}}},
    {"f64[2]{V:w}", "psum[axes=w] x z = place[axes=w root=1] y", x_of, 2, 2, {{0, 0}, {6, 60}, {0, 0}}},
    {"f64[2]{V:w}",
     "all_gather[axes=w] x",
     x_of,
     2,
     6,
     {{1, 10, 2, 20, 3, 30}, {1, 10, 2, 20, 3, 30}, {1, 10, 2, 20, 3, 30}}},
    {"f64[2]{V:w}", "all_gather[axes=w] x z = own[axes=w] y", x_of, 2, 2, {{1, 10}, {2, 20}, {3, 30}}},
    {"f64[3]{V:w}", "reduce_scatter[axes=w] x", X_of, 3, 1, {{6}, {12}, {18}}},
    {"f64[2]{V:w}", "gather_to[axes=w root=2] x", x_of, 2, 6, {{0}, {0}, {1, 10, 2, 20, 3, 30}}},
    {"f64[3]{V:w}", "scatter_from[axes=w root=1] x", X_of, 3, 1, {{2}, {4}, {6}}},
    {"f64[3]{V:w}", "all_to_all[axes=w] x", Z_of, 3, 3, {{0, 10, 20}, {1, 11, 21}, {2, 12, 22}}},
    {"f64[2]{V:w}", "shift[axes=w by=1] x", x_of, 2, 2, {{0, 0}, {1, 10}, {2, 20}}},
    {"f64[2]{V:w}", "shift[axes=w by=-2] x", x_of, 2, 2, {{3, 30}, {0, 0}, {0, 0}}},
    {"f64[2]{V:w}", "shift[axes=w by=3] x", x_of, 2, 2, {{0}, {0}, {0}}},
    {"f64[2]{V:w}", "shift[axes=w by=1 wrap=True] x", x_of, 2, 2, {{3, 30}, {1, 10}, {2, 20}}},
    {"f64[2]{V:w}", "shift[axes=w by=-4 wrap=True] x", x_of, 2, 2, {{2, 20}, {3, 30}, {1, 10}}},
    {"f64[2]{V:w}", "ppermute[axes=w pairs=((0, 2), (1, 1))] x", x_of, 2, 2, {{0, 0}, {2, 20}, {1, 10}}},
    {"f64[2]{V:w}", "pscan[axes=w] x", x_of, 2, 2, {{1, 10}, {3, 30}, {6, 60}}},
    {"f64[2]{V:w}", "pscan[axes=w exclusive=True] x", x_of, 2, 2, {{0, 0}, {1, 10}, {3, 30}}},
    {"f64[2]{V:w}", "pscan[axes=w reverse=True] x", x_of, 2, 2, {{6, 60}, {5, 50}, {3, 30}}},
    {"f64[2]{V:w}", "pscan[axes=w exclusive=True reverse=True] x", x_of, 2, 2, {{5, 50}, {3, 30}, {0, 0}}},
};

/* "x:TYPE . let y = .. in (y,)"; a second equation's result is z. */
static const char *program(char text[512], const char *grid, const char *in, const char *equation) {
    (void)snprintf(text, 512, "grid (%s)\n{ lambda x:%s . let y = %s in (%s,) }", grid, in, equation,
                   strstr(equation, " z = ") ? "z" : "y");
    return text;
}

static void exact_values(void **state) {
    (void)state;
    const int64_t three = 3;
    const tn_grid grid = line(&three);
    for (size_t i = 0; i < COUNT(values); i++) {
        char text[512];
        rank r[MOST] = {{0}};
        for (int k = 0; k < 3; k++)
            for (size_t j = 0; j < values[i].nin; j++) r[k].in[0][j] = values[i].of(k, (int)j);
        run_ranks(&grid, 3, program(text, "w=3", values[i].in, values[i].equation), NULL, r);
        for (int k = 0; k < 3; k++)
            for (size_t j = 0; j < values[i].nout; j++)
                if (r[k].out[0][j] != values[i].want[k][j])
                    fail_msg("%s: rank %d has %g at %zu, not %g", values[i].equation, k, r[k].out[0][j], j,
                             values[i].want[k][j]);
    }
}

/* Whether all ranks hold what comes out, by its type. */
static bool replicated(const char *text, bool input) {
    tn_ctx *c = checked();
    tn_fn *f = tn_fn_parse(c, text, strlen(text), "test.tn");
    assert_non_null(f);
    const tn_type t = input ? tn_fn_input_type(f, 0) : tn_fn_output_type(f, 0);
    tn_ctx_free(c);
    return !t.varying;
}

/* Summed over the ranks what varies, counted once what is replicated. */
static double inner(bool once, size_t n, const rank *r, size_t a, double v[MOST][ROOM]) {
    double sum = 0;
    for (int k = 0; k < (once ? 1 : 3); k++)
        for (size_t j = 0; j < n; j++) sum += r[k].out[a][j] * v[k][j];
    return sum;
}

/* <ct, J v> = <J' ct, v>, where pairs of places and what they hold are told apart. */
static void adjoints(void **state) {
    (void)state;
    const int64_t three = 3;
    const tn_grid grid = line(&three);
    for (size_t i = 0; i < COUNT(values); i++) {
        char text[512];
        double v[MOST][ROOM], ct[MOST][ROOM];
        rank r[MOST] = {{0}}, s[MOST] = {{0}};
        program(text, "w=3", values[i].in, values[i].equation);
        const bool in = replicated(text, true), out = replicated(text, false);
        for (int k = 0; k < 3; k++)
            for (size_t j = 0; j < ROOM; j++) {
                v[k][j] = sin(1.0 + (double)j + 7 * (in ? 0 : k));
                ct[k][j] = cos(2.0 + 3 * (double)j + 5 * (out ? 0 : k));
            }
        for (int k = 0; k < 3; k++) {
            for (size_t j = 0; j < values[i].nin; j++) r[k].in[0][j] = s[k].in[0][j] = values[i].of(in ? 0 : k, (int)j);
            memcpy(r[k].in[1], v[k], sizeof v[k]);
            memcpy(s[k].in[1], ct[k], sizeof ct[k]);
        }
        run_ranks(&grid, 3, text, jvp, r);
        run_ranks(&grid, 3, text, vjp, s);
        const double a = inner(out, values[i].nout, r, 1, ct), b = inner(in, values[i].nin, s, 1, v);
        if (!(fabs(a - b) <= 1e-14 * fmax(1, fabs(a)))) fail_msg("%s: %.17g, %.17g", values[i].equation, a, b);
    }
}

/* ---- what is not linear ---------------------------------------------------------------------- */

static void gradients_of(const char *equation, const double x[4], const double want[4]) {
    const int64_t four = 4;
    const tn_grid grid = line(&four);
    rank r[MOST] = {{0}};
    char text[512];
    for (int k = 0; k < 4; k++) r[k].in[0][0] = x[k];
    run_ranks(&grid, 4, program(text, "w=4", "f64[]{V:w}", equation), grad, r);
    for (int k = 0; k < 4; k++)
        if (fabs(r[k].out[0][0] - want[k]) > 1e-14)
            fail_msg("%s: rank %d has %g, not %g", equation, k, r[k].out[0][0], want[k]);
}

static void ties_and_zeros(void **state) {
    (void)state;
    gradients_of("pmax[axes=w] x", P(1, 5, 2, 3), P(0, 1, 0, 0));
    gradients_of("pmax[axes=w] x", P(5, 1, 5, 2), P(0.5, 0, 0.5, 0));
    gradients_of("pmin[axes=w] x", P(2, 2, 2, 2), P(0.25, 0.25, 0.25, 0.25));
    gradients_of("pprod[axes=w] x", P(2, 3, 5, 7), P(105, 70, 42, 30));
    gradients_of("pprod[axes=w] x", P(2, 0, 2, 2), P(0, 8, 0, 0));
    gradients_of("pprod[axes=w] x", P(2, 0, 2, 0), P(0, 0, 0, 0));
}

/* The second derivative of a product in a direction: d/dx_i x0 x1 x2 x3 along v is the sum over j of v_j times the
 * other two; with zeros among them. */
static void products_twice(void **state) {
    (void)state;
    const int64_t four = 4;
    const tn_grid grid = line(&four);
    const double x[4] = {2, 0, 3, 0}, v[4] = {1, 10, 100, 1000};
    rank r[MOST] = {{0}};
    for (int k = 0; k < 4; k++) {
        r[k].in[0][0] = x[k];
        r[k].in[1][0] = v[k];
    }
    run_ranks(&grid, 4, "grid (w=4)\n{ lambda x:f64[]{V:w} . let y = pprod[axes=w] x in (y,) }", hvp, r);
    for (int i = 0; i < 4; i++) {
        double want = 0;
        for (int j = 0; j < 4; j++) {
            double others = 1;
            for (int k = 0; k < 4; k++)
                if (k != i && k != j) others *= x[k];
            if (j != i) want += v[j] * others;
        }
        if (fabs(r[i].out[1][0] - want) > 1e-11) fail_msg("rank %d has %g, not %g", i, r[i].out[1][0], want);
    }
}

/* NaN of any rank is the largest and the smallest. */
static void nan_wins(void **state) {
    (void)state;
    const int64_t three = 3;
    const tn_grid grid = line(&three);
    for (int at = 0; at < 3; at++) {
        rank r[MOST] = {{0}};
        for (int k = 0; k < 3; k++) r[k].in[0][0] = k == at ? (double)NAN : (double)k;
        run_ranks(&grid, 3,
                  "grid (w=3)\n{ lambda x:f64[]{V:w} . let y = pmax[axes=w] x\n z = pmin[axes=w] x in (y, z) }", NULL,
                  r);
        for (int k = 0; k < 3; k++) assert_true(isnan(r[k].out[0][0]) && isnan(r[k].out[1][0]));
    }
}

/* ---- the program that untyped systems get wrong ------------------------------------------------- */

static void the_trap(void **state) {
    (void)state;
    static const char body[] =
        "{ lambda x:f64[3]{V:w} . let\n s = psum[axes=w] x\n q = mul s s\n h = reduce_sum[axes=(0,)] q\n"
        "k = axis_index[axes=w]\n f = convert_element_type[new_dtype=f64] k\n g = add f 1.0\n v = pvary[axes=w] h\n"
        "m = mul g v\n l = psum[axes=w] m in (l,) }";
    static const double loss[4] = {5, 105, 756, 3320}, h_ones[4] = {2, 12, 36, 80};
    static const double slope[4][3] = {{0, 2, 4}, {6, 18, 30}, {36, 72, 108}, {120, 200, 280}};
    for (int n = 1; n <= 4; n++) {
        const int64_t extent = n;
        const tn_grid grid = line(&extent);
        char text[1024];
        rank value[MOST] = {{0}}, once[MOST] = {{0}}, twice[MOST] = {{0}};
        (void)snprintf(text, sizeof text, "grid (w=%d)\n%s", n, body);
        for (int k = 0; k < n; k++)
            for (int i = 0; i < 3; i++) {
                value[k].in[0][i] = once[k].in[0][i] = twice[k].in[0][i] = k + i;
                twice[k].in[1][i] = 1;
            }
        run_ranks(&grid, n, text, NULL, value);
        run_ranks(&grid, n, text, grad, once);
        run_ranks(&grid, n, text, hvp, twice);
        for (int k = 0; k < n; k++) {
            assert_true(value[k].out[0][0] == loss[n - 1]);
            for (int i = 0; i < 3; i++) {
                assert_true(once[k].out[0][i] == slope[n - 1][i]);
                assert_true(twice[k].out[1][i] == h_ones[n - 1]);
            }
        }
    }
}

/* ---- two axes --------------------------------------------------------------------------------------- */

/* Ranks are numbered along the axes that are named, the last one fastest. */
static void two_axes(void **state) {
    (void)state;
    const char *const name[] = {"r", "c"};
    const int64_t extent[] = {2, 3};
    const tn_grid grid = {2, name, extent};
    static const char text[] = "grid (r=2, c=3)\n{ lambda x:f64[]{V:(r,c)} . let\n"
                               "a = all_gather[axes=(r,c)] x\n b = psum[axes=c] x\n d = all_gather[axes=r] b\n"
                               "s = shift[axes=c by=1] x\n t = all_gather[axes=(r,c)] s in (a, d, t) }";
    static const double t[6] = {0, 1, 2, 0, 4, 5};
    rank q[MOST] = {{0}};
    for (int k = 0; k < 6; k++) q[k].in[0][0] = k + 1;
    run_ranks(&grid, 6, text, NULL, q);
    for (int k = 0; k < 6; k++) {
        for (int j = 0; j < 6; j++) assert_true(q[k].out[0][j] == j + 1 && q[k].out[2][j] == t[j]);
        assert_true(q[k].out[1][0] == 6 && q[k].out[1][1] == 15);
    }
    rank i[MOST] = {{0}};
    run_ranks(&grid, 6,
              "grid (r=2, c=3)\n{ lambda x:f64[]{V:(r,c)} . let\n i = axis_index[axes=(r,c)]\n j = axis_index[axes=c]\n"
              "y = convert_element_type[new_dtype=f64] i\n z = convert_element_type[new_dtype=f64] j\n"
              "() = barrier[axes=r]\n w = pick[axes=(r,c) root=4] y in (y, z, w) }",
              NULL, i);
    for (int k = 0; k < 6; k++) assert_true(i[k].out[0][0] == k && i[k].out[1][0] == k % 3 && i[k].out[2][0] == 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_values),   cmocka_unit_test(adjoints), cmocka_unit_test(ties_and_zeros),
        cmocka_unit_test(products_twice), cmocka_unit_test(nan_wins), cmocka_unit_test(the_trap),
        cmocka_unit_test(two_axes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
