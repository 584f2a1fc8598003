/* What leaves a loop, counted: equations in steps, of gradients too (docs/loops.md, "What leaves a loop"). */
#include "control/loops/invariant.h"
#include "prims/prim.h"
#include "unit/tracing.h"

#include "tansy/loops.h"
#include "tansy/ops.h"

#include <stdio.h>
#include <stdlib.h>

/* Equations in programs of loops, at any depth, by name (NULL: all of them). */
static size_t in_steps(const tn_fn *f, const char *name, bool step) {
    size_t n = 0;
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        const tn_fn *const *g;
        n += step && (!name || strcmp(e->prim->name, name) == 0);
        for (uint32_t k = 0; e->params && k < e->params->n; k++) {
            const uint32_t programs = tn_i_programs(&e->params->v[k], &g);
            const bool loop = strcmp(e->prim->name, "scan") == 0 || strcmp(e->prim->name, "while") == 0;
            for (uint32_t j = 0; j < programs; j++) n += in_steps(g[j], name, step || loop);
        }
    }
    return n;
}

static tn_fn *made(tn_ctx *c, tn_fn *f) {
    if (!f) fail_msg("%s", tn_error(c));
    return f;
}

static tn_fn *parsed(tn_ctx *c, const char *text) { return made(c, tn_fn_parse(c, text, strlen(text), "test")); }

static tn_fn *moved(tn_ctx *c, const tn_fn *f, tn_i_motion motion) {
    tn_fn *once = made(c, tn_i_contracted(f));
    return made(c, tn_i_invariants_outside(once, motion));
}

/* ---- slices of weights: a cell with four gates ---------------------------------------------- */

enum { WIDTH = 4, STEPS = 6, WEIGHTS = 4 * WIDTH * WIDTH };

typedef struct cell {
    bool by_hand, counted;
    int64_t steps;
    tn_val w, gate[4];
} cell;

static void slices(cell *m) {
    for (int k = 0; k < 4; k++) m->gate[k] = tn_reshape(tn_slice_axis(m->w, k, k + 1, 1, 0), WIDTH, WIDTH);
}

static void cell_step(tn_val i, const tn_val *carry, tn_val *next, void *user) {
    cell m = *(cell *)user;
    tn_val z[4];
    (void)i;
    if (!m.by_hand) slices(&m);
    for (int k = 0; k < 4; k++) z[k] = tn_matmul(m.gate[k], carry[0]);
    next[1] = tn_add(tn_mul(tn_logistic(z[0]), carry[1]), tn_mul(tn_logistic(z[1]), tn_tanh(z[2])));
    next[0] = tn_mul(tn_logistic(z[3]), tn_tanh(next[1]));
}

static tn_val cell_loss(const tn_val *in, void *user) {
    cell *m = user;
    tn_val out[2];
    m->w = in[0];
    if (m->by_hand) slices(m);
    const tn_val n = m->counted ? in[2] : TN_VAL(m->steps);
    tn_fori(NULL, 0, n, cell_step, m, 2, (const tn_val[]){in[1], in[1]}, out, NULL);
    return tn_sum_squares(out[0]);
}

static tn_fn *cell_gradient(tn_ctx *c, cell *m) {
    tn_fn *f = made(c, tn_trace(c, cell_loss, m, 3, TN_TYPES(tn_f64(4, WIDTH, WIDTH), tn_f64(WIDTH), tn_i64())));
    return made(c, tn_grad(f, tn_wrt(0), NULL));
}

/* Steps of the gradient are those of slices that hands took out: nothing is scattered in them; the same bits. */
static void slices_leave_every_loop(void **state) {
    (void)state;
    double w[WEIGHTS], h[WIDTH], straight[WEIGHTS], by_hand[WEIGHTS];
    const int64_t n = STEPS;
    fill_sines(TN_F64, w, WEIGHTS, 0.7);
    fill_sines(TN_F64, h, WIDTH, 0.3);
    for (int counted = 0; counted < 2; counted++) {
        tn_ctx *c = checked();
        tn_fn *f = cell_gradient(c, &(cell){.counted = counted, .steps = STEPS});
        tn_fn *g = cell_gradient(c, &(cell){.by_hand = true, .counted = counted, .steps = STEPS});
        static const char *const views[] = {"slice", "reshape", "scatter_add", "pad"};
        for (size_t k = 0; k < COUNT(views); k++) assert_int_equal(in_steps(f, views[k], false), 0);
        assert_int_equal(in_steps(f, NULL, false), in_steps(g, NULL, false));
        run(f, TN_INPUTS(w, h, &n), TN_OUTPUTS(straight));
        run(g, TN_INPUTS(w, h, &n), TN_OUTPUTS(by_hand));
        assert_memory_equal(straight, by_hand, sizeof by_hand);
        tn_ctx_free(c);
    }
}

/* A linear program's loop: the transpose scatters once. */
static void slices_leave_linear_loops(void **state) {
    (void)state;
    tn_ctx *c = checked();
    const double x[3] = {1, 2, 3}, ct[1] = {2};
    double d[9];
    tn_fn *f = parsed(c, "{ lambda x:f64[3] | w:f64[9] . let\n"
                         "  z:f64[3] = broadcast_in_dim[shape=(3,) broadcast_dimensions=()] 0.0:f64[]\n"
                         "  y:f64[3] = scan[program={ lambda w:f64[9] c:f64[3] x:f64[] . let\n"
                         "      a:f64[3] = slice[start_indices=(3,) limit_indices=(6,)] w\n"
                         "      e:f64[3] = broadcast_in_dim[shape=(3,) broadcast_dimensions=()] x\n"
                         "      b:f64[3] = mul e a\n"
                         "      d:f64[3] = add c b in (d,) } length=3 num_consts=1 num_carry=1] w z x\n"
                         "  s:f64[] = reduce_sum[axes=(0,)] y\n  in (s,) }");
    tn_fn *t = made(c, tn_transpose(f));
    assert_int_equal(in_steps(f, "slice", false), 1);
    assert_int_equal(in_steps(t, "scatter_add", false) + in_steps(t, "pad", false), 0);
    run(t, TN_INPUTS(x, ct), TN_OUTPUTS(d));
    close_to(d, P(0, 0, 0, 12, 12, 12, 0, 0, 0), 9, 0);
    tn_ctx_free(c);
}

/* ---- what leaves, and what does not ------------------------------------------------------------ */

typedef struct motion_case {
    const char *what, *text;
    size_t run, derive; /* equations left in steps */
} motion_case;

#define LOOP(STEP, CONSTS, MORE)                                                                          \
    "{ lambda " CONSTS " x:f64[3] . let y:f64[3] = scan[program={ lambda " CONSTS " x:f64[3] . let " STEP \
    " z:f64[3] = mul x d in (z,) } " MORE "] c x in (y,) }"
#define COUNTED(STEP)                                                                                \
    "{ lambda n:i64[] c:f64[3] x:f64[3] . let y:f64[3] = scan[program={ lambda c:f64[3] x:f64[3] . " \
    "let " STEP " z:f64[3] = mul x d in (z,) } num_consts=1 num_carry=1] n c x in (y,) }"

static const motion_case cases[] = {
    {"a chain",
     LOOP("a:f64[3] = sin c b:f64[3] = exp a d:f64[3] = mul a b", "c:f64[3]", "length=4 num_consts=1 num_carry=1"), 1,
     1},
    {"a loop of no steps, when it runs: a slope may be infinite", COUNTED("d:f64[3] = log c"), 1, 2},
    {"but a view's is 1", COUNTED("d:f64[3] = rev[dimensions=(0,)] c"), 1, 1},
    {"more than it is made of",
     "{ lambda c:f64[] x:f64[80,80] . let y:f64[80,80] = scan[program={ "
     "lambda c:f64[] x:f64[80,80] . let d:f64[80,80] = broadcast_in_dim[shape=(80, 80) broadcast_dimensions=()] c "
     "z:f64[80,80] = mul x d in (z,) } length=4 num_consts=1 num_carry=1] c x in (y,) }",
     2, 2},
    {"a little more",
     LOOP("d:f64[3] = broadcast_in_dim[shape=(3,) broadcast_dimensions=()] c", "c:f64[]",
          "length=4 num_consts=1 num_carry=1"),
     1, 2},
    {"a sum of what stays",
     "{ lambda c:f64[80] x:f64[80,80] . let y:f64[80,80] = scan[program={ "
     "lambda c:f64[80] x:f64[80,80] . let d:f64[80,80] = broadcast_in_dim[shape=(80, 80) "
     "broadcast_dimensions=(0,)] c e:f64[80,80] = sin d s:f64[] = reduce_sum[axes=(0, 1)] e "
     "t:f64[80,80] = broadcast_in_dim[shape=(80, 80) broadcast_dimensions=()] s "
     "z:f64[80,80] = mul x t in (z,) } length=4 num_consts=1 num_carry=1] c x in (y,) }",
     2, 2},
    {"what is done again on purpose",
     LOOP("d:f64[3] = sin[region=1] c", "c:f64[3]", "length=4 num_consts=1 num_carry=1"), 2, 2},
    {"loops in loops",
     "{ lambda c:f64[3] x:f64[3] . let y:f64[3] = scan[program={ lambda c:f64[3] x:f64[3] . let "
     "z:f64[3] = scan[program={ lambda c:f64[3] x:f64[3] . let d:f64[3] = sin c z:f64[3] = mul x d in (z,) } "
     "length=2 num_consts=1 num_carry=1] c x in (z,) } length=4 num_consts=1 num_carry=1] c x in (y,) }",
     2, 2},
    {"a loop that is the same in every step",
     LOOP("d:f64[3] = scan[program={ lambda x:f64[3] . let d:f64[3] = sin x "
          "in (d,) } length=2 num_consts=0 num_carry=1] c",
          "c:f64[3]", "length=4 num_consts=1 num_carry=1"),
     2, 2},
    {"a while and its condition",
     "{ lambda t:f64[] c:f64[3] x:f64[3] . let y:f64[3] = while[cond={ lambda t:f64[] "
     "x:f64[3] . let a:f64[] = exp t s:f64[] = reduce_sum[axes=(0,)] x p:bool[] = lt s a in (p,) } body={ lambda "
     "c:f64[3] x:f64[3] . let d:f64[3] = exp c e:f64[3] = rev[dimensions=(0,)] c f:f64[3] = add e d "
     "z:f64[3] = add x f in (z,) } cond_nconsts=1 body_nconsts=1] t c x in (y,) }",
     3, 5},
};

static void is_counted(void **state) {
    (void)state;
    for (size_t k = 0; k < COUNT(cases); k++) {
        tn_ctx *c = checked();
        tn_fn *f = parsed(c, cases[k].text);
        const size_t run = in_steps(moved(c, f, TN_I_TO_RUN), NULL, false);
        const size_t derive = in_steps(moved(c, f, TN_I_TO_DERIVE), NULL, false);
        if (run != cases[k].run || derive != cases[k].derive)
            fail_msg("%s: %zu and %zu equations stay, not %zu and %zu", cases[k].what, run, derive, cases[k].run,
                     cases[k].derive);
        tn_ctx_free(c);
    }
}

/* The slope of log at 0 is infinite, and no step reads it. */
static void gradients_of_no_step(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = parsed(c, COUNTED("d:f64[3] = log c"));
    tn_fn *g = made(c, tn_vjp(f, tn_wrt(1), NULL));
    const int64_t n = 0;
    double y[3], d[3];
    run(g, TN_INPUTS(&n, P(0, 0, 0), P(1, 2, 3), P(1, 1, 1)), TN_OUTPUTS(y, d));
    close_to(y, P(1, 2, 3), 3, 0);
    close_to(d, P(0, 0, 0), 3, 0);
    tn_ctx_free(c);
}

static void step_that_prints(tn_val i, const tn_val *carry, tn_val *next, void *user) {
    const tn_val *c = user;
    (void)i;
    tn_print(NULL, "c", 1, c);
    next[0] = tn_mul(carry[0], tn_sin(*c));
}

static tn_val printing(const tn_val *in, void *user) {
    tn_val c = in[0], y;
    (void)user;
    tn_fori(NULL, 0, 3, step_that_prints, &c, 1, in, &y, NULL);
    return y;
}

static void effects_stay(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = made(c, tn_trace(c, printing, NULL, 1, TN_TYPES(tn_f64())));
    assert_int_equal(in_steps(f, "sin", false), 1);
    f = moved(c, f, TN_I_TO_RUN);
    assert_int_equal(in_steps(f, "sin", false), 0);
    assert_int_equal(in_steps(f, "print", false), 1);
    tn_ctx_free(c);
}

/* ---- cost ---------------------------------------------------------------------------------- */

enum { LEVELS = 16 };

/* Each level runs the one before in two loops, over other constants. */
static char *doubling(void) {
    char *text = malloc(1 << 16), *at = text;
    if (!text) return NULL;
    at += sprintf(at, "let f0 = { lambda c:f64[2] x:f64[2] . let a:f64[2] = sin c y:f64[2] = mul x a in (y,) } in\n");
    for (int k = 1; k <= LEVELS; k++)
        at += sprintf(at,
                      "let f%d = { lambda c:f64[2] x:f64[2] . let a:f64[2] = cos c b:f64[2] = exp c\n"
                      "  y:f64[2] = scan[program=f%d length=1 num_consts=1 num_carry=1] b x\n"
                      "  z:f64[2] = scan[program=f%d length=1 num_consts=1 num_carry=1] a y\n  in (z,) } in\n",
                      k, k - 1, k - 1);
    (void)sprintf(at, "{ lambda c:f64[2] x:f64[2] . let y:f64[2] = call[name=\"f\" program=f%d] c x in (y,) }\n",
                  LEVELS);
    return text;
}

static void the_work_is_linear(void **state) {
    (void)state;
    tn_ctx *c = checked();
    char *text = doubling();
    assert_non_null(text);
    tn_fn *f = parsed(c, text), *g = moved(c, f, TN_I_TO_RUN);
    size_t bytes;
    char *after = tn_i_print(g, &bytes);
    assert_non_null(after);
    if (bytes > 64 * strlen(text)) fail_msg("%zu characters of %zu", bytes, strlen(text));
    tn_i_free(c, after, bytes + 1);
    free(text);
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices_leave_every_loop),
        cmocka_unit_test(slices_leave_linear_loops),
        cmocka_unit_test(is_counted),
        cmocka_unit_test(gradients_of_no_step),
        cmocka_unit_test(effects_stay),
        cmocka_unit_test(the_work_is_linear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
