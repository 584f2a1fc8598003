/* Progress of a solve: what the observer hears, once a step of the forward pass whatever is derived, and cancelling. */
#include "tansy/ode.h"
#include "unit/tracing.h"

typedef struct heard {
    int calls, stop_at;
    int64_t last;  /* the step */
    int64_t apart; /* every so many, or 0 where that is not looked at */
    double t, part;
    bool wrong;
} heard;

static int listen(void *user, const tn_effect *e) {
    heard *h = user;
    h->calls++;
    if (e->kind != TN_PROGRESS || strcmp(e->message, "ode_solve") != 0 || e->n != 3 ||
        !strstr(e->file, "ode_progress.c"))
        h->wrong = true;
    const int64_t step = *(const int64_t *)e->array[0].data;
    const double t = *(const double *)e->array[1].data, part = *(const double *)e->array[2].data;
    h->wrong |= h->apart && step != h->last + h->apart;
    h->wrong |= t < h->t || part < h->part; /* a rejected step leaves time where it was */
    h->last = step;
    h->t = t;
    h->part = part;
    return h->calls == h->stop_at;
}

static void cubic(tn_val t, const tn_val *y, const tn_val *p, tn_val *dy, void *user) {
    (void)t, (void)user;
    dy[0] = tn_mul(tn_neg(p[0]), tn_pow(y[0], 3));
}

/* in: y0 [n], p [] -> sum y(2), steps */
static void solved(const tn_val *in, tn_val *out, void *user) {
    tn_val y;
    tn_ode_problem p = {.size = sizeof p, .field = cubic, .nstate = 1, .y0 = in, .nparams = 1, .params = in + 1};
    tn_ode_solution s = {.size = sizeof s, .y = &y};
    p.t0 = tn_number_i64(1);
    p.t1 = tn_number_i64(3);
    tn_ode_solve(&p, user, &s);
    out[0] = tn_sum(y);
    out[1] = s.steps;
}
static tn_val loss(const tn_val *in, void *user) {
    tn_val out[2];
    solved(in, out, user);
    return out[0];
}
static const double y0[2] = {1, 2}, rate = 0.7;

static tn_status observed(const tn_fn *f, heard *h, const void *const *in, void *const *out, const char *want) {
    assert_non_null(f);
    const tn_compile_options o = {.size = sizeof o, .observer = listen, .observer_user = h};
    tn_exec *e = tn_compile(f, &o);
    if (!e) fail_msg("%s", tn_error(tn_fn_ctx(f)));
    const tn_status status = tn_call(e, in, out);
    if (want && !strstr(tn_exec_error(e), want)) fail_msg("%s", tn_exec_error(e));
    if (status == TN_ECANCELLED) { /* the next call begins anew */
        const int calls = h->calls;
        *h = (heard){.apart = h->apart};
        assert_int_equal(tn_call(e, in, out), TN_OK);
        assert_true(h->calls > calls);
    }
    tn_exec_free(e);
    assert_false(h->wrong);
    return status;
}

static tn_ode_options options(const char *adjoint, bool constant, int64_t every) {
    tn_ode_options o = {.size = sizeof o, .adjoint = adjoint, .progress = every};
    if (constant)
        o.steps = 60;
    else
        o.rtol = o.atol = 1e-9;
    return o;
}

static void every_so_many_steps_are_told(void **state) {
    (void)state;
    for (int constant = 0; constant < 2; constant++)
        for (int64_t every = 1; every <= 16; every += 5) {
            tn_ctx *c = checked();
            tn_ode_options o = options(NULL, constant, every);
            heard h = {.apart = every};
            double y;
            int64_t steps;
            tn_fn *f = tn_trace_many(c, solved, &o, 2, TN_TYPES(tn_f64(2), tn_f64()), 2);
            assert_int_equal(observed(f, &h, TN_INPUTS(y0, &rate), TN_OUTPUTS(&y, &steps), NULL), TN_OK);
            assert_true(steps > 20 && h.calls == steps / every && h.last == steps / every * every);
            if (every == 1) close_to(P(h.t, h.part), P(3, 1), 2, 1e-15);
            tn_ctx_free(c);
        }
}

/* Under derivatives the forward pass alone is heard, each step once, and replays never. */
static void derivatives_tell_each_step_once(void **state) {
    (void)state;
    static const char *const adjoint[] = {
        NULL, "RecursiveCheckpoint:3", "RecursiveCheckpoint:1", "AllSave", "Direct", "Backsolve", "ForwardMode"};
    for (size_t k = 0; k < COUNT(adjoint); k++)
        for (int constant = 0; constant < 2; constant++) {
            tn_ctx *c = checked();
            const bool back = k == 5, forth = k == 6;
            tn_ode_options o = options(adjoint[k], constant, 1);
            const tn_type *types = TN_TYPES(tn_f64(2), tn_f64());
            heard plain = {.apart = 1}, h = plain;
            double y[2], d[4];
            int64_t steps;
            tn_fn *f = tn_trace(c, loss, &o, 2, types);
            if (!f) fail_msg("%s", tn_error(c));
            (void)observed(tn_trace_many(c, solved, &o, 2, types, 2), &plain, TN_INPUTS(y0, &rate),
                           TN_OUTPUTS(y, &steps), NULL);
            assert_true(plain.calls == steps && steps > 20);
            if (!forth) {
                (void)observed(tn_grad(f, NULL, NULL), &h, TN_INPUTS(y0, &rate), TN_OUTPUTS(d, d + 2), NULL);
                assert_int_equal(h.calls, plain.calls);
            }
            if (!back) {
                h = (heard){.apart = 1};
                (void)observed(tn_jvp(f, NULL), &h, TN_INPUTS(y0, &rate, y0, &rate), TN_OUTPUTS(y, d), NULL);
                assert_int_equal(h.calls, plain.calls);
            }
            if (!back && !forth) {
                h = (heard){.apart = 1};
                tn_fn *hvp = tn_hvp(f, NULL, NULL);
                (void)observed(hvp, &h, TN_INPUTS(y0, &rate, y0, &rate), TN_OUTPUTS(d, d + 2), NULL);
                assert_int_equal(h.calls, plain.calls);
            }
            tn_ctx_free(c);
        }
}

/* Constant steps are the same in all batch elements. */
static void lanes_are_told_together(void **state) {
    (void)state;
    for (int constant = 0; constant < 2; constant++) {
        tn_ctx *c = checked();
        tn_ode_options o = options("AllSave", constant, 2);
        heard h = {.apart = 2};
        const double y[4] = {1, 2, 1, 5}, p[2] = {0.01, 2};
        double ct[4], ct_p[2];
        tn_fn *f = tn_trace(c, loss, &o, 2, TN_TYPES(tn_f64(2), tn_f64()));
        tn_fn *g = tn_vmap(tn_grad(f, NULL, NULL), 2, NULL, NULL);
        if (constant) {
            if (!g) fail_msg("%s", tn_error(c));
            (void)observed(g, &h, TN_INPUTS(y, p), TN_OUTPUTS(ct, ct_p), NULL);
            assert_true(h.calls == 30);
        } else { /* lanes of which each ends on its own are never passed to callbacks */
            assert_null(g);
            assert_non_null(strstr(tn_error(c), "has an effect"));
        }
        tn_ctx_free(c);
    }
}

static void observers_cancel(void **state) {
    (void)state;
    assert_string_equal(tn_status_text(TN_ECANCELLED), "cancelled");
    for (int constant = 0; constant < 2; constant++)
        for (int gradient = 0; gradient < 2; gradient++) {
            tn_ctx *c = checked();
            tn_ode_options o = options("RecursiveCheckpoint:4", constant, 3);
            heard h = {.apart = 3, .stop_at = 4};
            double d[3];
            tn_fn *f = tn_trace(c, loss, &o, 2, TN_TYPES(tn_f64(2), tn_f64()));
            if (gradient) f = tn_grad(f, NULL, NULL);
            assert_int_equal(observed(f, &h, TN_INPUTS(y0, &rate), gradient ? TN_OUTPUTS(d, d + 2) : TN_OUTPUTS(d),
                                      "ode_progress.c"),
                             TN_ECANCELLED);
            tn_ctx_free(c);
        }
}

/* ---- tn_progress by itself -------------------------------------------------------------------------------------- */

static tn_val bad(const tn_val *in, void *user) {
    const int which = *(const int *)user;
    tn_ctx *c = tn_val_ctx(in[0]);
    const tn_val many[8] = {in[0], in[0], in[0], in[0], in[0], in[0], in[0], in[0]};
    if (which == 0) tn_progress(c, NULL, in[0], 1, 0, NULL);
    if (which == 1) tn_progress(c, "x", in[0], 0, 0, NULL);
    if (which == 2) tn_progress(c, "x", in[0], 1, 8, many);
    if (which == 3) tn_progress(c, "x", in[1], 1, 0, NULL);
    return in[1];
}

static void wrong_arguments_are_refused(void **state) {
    (void)state;
    for (int which = 0; which < 4; which++) {
        tn_ctx *c = checked();
        assert_null(tn_trace(c, bad, &which, 2, TN_TYPES(tn_i64(), tn_f64())));
        assert_int_equal(tn_last_status(c), which == 3 ? TN_ETYPE : TN_EINVAL);
        if (!strstr(tn_error(c), "progress") || !strstr(tn_error(c), "ode_progress.c")) fail_msg("%s", tn_error(c));
        tn_ctx_free(c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_so_many_steps_are_told),
                                       cmocka_unit_test(derivatives_tell_each_step_once),
                                       cmocka_unit_test(lanes_are_told_together), cmocka_unit_test(observers_cancel),
                                       cmocka_unit_test(wrong_arguments_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
