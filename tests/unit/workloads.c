/* What the policies make of three whole programs: bytes and evaluations, which no machine changes. */
#include "tracing.h"
#include "workloads.h"

#include "checkpoint/cost_model.h"

typedef struct counts {
    double bytes, transcendentals, products, ns;
} counts;

static counts plan(const tn_fn *f, const tn_wrt_list *wrt, const char *policy) {
    const tn_linearized l = tn_linearize(f, wrt, policy ? tn_policy_by_name(policy) : NULL);
    if (!l.primal) fail_msg("%s: %s", policy ? policy : "default", tn_error(tn_fn_ctx(f)));
    tn_cost_report primal = {.size = sizeof primal}, linear = {.size = sizeof linear};
    assert_int_equal(tn_cost(l.primal, &primal), TN_OK);
    assert_int_equal(tn_cost(l.linear, &linear), TN_OK);
    double forward, back;
    counts r = {.transcendentals = primal.transcendentals + linear.transcendentals,
                .products = primal.products + linear.products};
    assert_true(tn_i_planned_ns(&tn_i_shipped_costs, l.primal, &forward));
    assert_true(tn_i_planned_ns(&tn_i_shipped_costs, l.linear, &back));
    r.ns = forward + back + tn_i_residuals_ns(&tn_i_shipped_costs, l.primal, l.linear, &r.bytes);
    tn_fn_free(l.primal);
    tn_fn_free(l.linear);
    return r;
}

/* Residuals under everything_saveable, min_cut and balanced, with respect to the parameters and to everything;
 * transcendentals of both programs.  min_cut evaluates nothing twice.  The last scaling and shift of the transformer's
 * rows are one equation, an fma, which balanced makes again too; of erfc's derivative it keeps the exponential, and the
 * operand for what its square was rounded by. */
static const struct row {
    double everything, cut, even, transcendentals;
} rows[WORKLOADS][2] = {
    {{5767168, 3145728, 3145728, 5 * 131072}, {5767168, 3145728, 3145728, 5 * 131072}},
    {{23068672, 15728640, 15728640, 36 * 262144}, {33554432, 22020096, 22020096, 39 * 262144}},
    {{12861440, 4737024, 4737024, 2 * 262144}, {12861440, 4737024, 4737024, 2 * 262144}},
};

static void few_bytes_and_nothing_twice(void **state) {
    (void)state;
    for (int k = 0; k < WORKLOADS; k++)
        for (int all = 0; all < 2; all++) {
            const workload w = workload_of(k);
            const tn_wrt_list some = {w.nwrt, w.wrt}, *wrt = all ? NULL : &some;
            tn_ctx *c = tn_ctx_new(NULL);
            const tn_fn *f = tn_trace(c, w.f, NULL, w.nin, w.in);
            if (!f) fail_msg("%s: %s", w.name, tn_error(c));
            const struct row *row = &rows[k][all];
            const counts every = plan(f, wrt, "everything_saveable"), cut = plan(f, wrt, NULL),
                         even = plan(f, wrt, "balanced");
            if (every.bytes != row->everything)
                fail_msg("%s: everything_saveable keeps %.0f bytes, not %.0f", w.name, every.bytes, row->everything);
            assert_true(every.bytes == row->everything && every.transcendentals == row->transcendentals);
            assert_true(cut.bytes == row->cut && cut.transcendentals == row->transcendentals);
            if (even.bytes != row->even)
                fail_msg("%s: balanced keeps %.0f bytes, not %.0f", w.name, even.bytes, row->even);
            assert_true(even.bytes == row->even && even.transcendentals == row->transcendentals);
            assert_true(cut.products == every.products && even.products == every.products);
            assert_true(cut.bytes <= w.bytes);
            tn_ctx_free(c);
        }
}

/* No policy is modelled to be faster than the default, which is min_cut. */
static void nothing_is_cheaper(void **state) {
    (void)state;
    static const char *const other[] = {"everything_saveable",
                                        "nothing_saveable",
                                        "dots_saveable",
                                        "min_bytes",
                                        "dots_with_no_batch_dims_saveable",
                                        "balanced",
                                        "min_cut"};
    for (int k = 0; k < WORKLOADS; k++) {
        const workload w = workload_of(k);
        const tn_wrt_list wrt = {w.nwrt, w.wrt};
        tn_ctx *c = tn_ctx_new(NULL);
        const tn_fn *f = tn_trace(c, w.f, NULL, w.nin, w.in);
        if (!f) fail_msg("%s: %s", w.name, tn_error(c));
        const counts cut = plan(f, &wrt, NULL);
        for (size_t i = 0; i < COUNT(other); i++) {
            const counts r = plan(f, &wrt, other[i]);
            if (r.ns < cut.ns * (1 - 1e-9))
                fail_msg("%s: %s takes %g ns, the default %g", w.name, other[i], r.ns, cut.ns);
            if (i == COUNT(other) - 1) assert_true(r.bytes == cut.bytes && r.ns == cut.ns);
        }
        tn_ctx_free(c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(few_bytes_and_nothing_twice),
                                       cmocka_unit_test(nothing_is_cheaper)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
