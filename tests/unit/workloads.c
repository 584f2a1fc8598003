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
    {{12861440, 4732928, 4732928, 2 * 262144}, {12861440, 4732928, 4732928, 2 * 262144}},
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

/* x times itself, `uses` times n; each use is the product of two matrices where they are `whole`, else one more
 * element. */
typedef struct passes {
    int steps, uses;
    bool whole;
} passes;

static tn_val through(const tn_val *in, void *user) {
    const passes *p = user;
    tn_val x = in[0], sum = in[0];
    for (int i = 0; i < p->steps; i++) x = tn_mul(x, in[0]);
    for (int i = 0; i < p->uses; i++) sum = p->whole ? tn_matmul(sum, x) : tn_add(sum, x);
    return sum;
}

static double modelled(passes p) {
    enum { N = 512 };
    tn_ctx *c = tn_ctx_new(NULL);
    const tn_type t = tn_f32(N, N);
    tn_fn *f = tn_trace(c, through, &p, 1, &t);
    double ns;
    assert_non_null(f);
    assert_true(tn_i_modelled_ns(&tn_i_shipped_costs, f, &ns));
    tn_fn_free(f);
    tn_ctx_free(c);
    return ns;
}

/* What fuses goes through memory once, however many equations it is; what a product reads is written, once. */
static void memory_is_counted_where_values_are_in_it(void **state) {
    (void)state;
    const tn_i_cost_model *m = &tn_i_shipped_costs;
    const double elements = 512 * 512, bytes = 4 * elements;
    const double one = m->equation + m->flop * elements, keep = bytes * (m->read[TN_I_L2] + m->write[TN_I_L2]);
    const double fused = modelled((passes){4, 2, false});
    assert_true(fabs(modelled((passes){5, 2, false}) - fused - one) < 1);
    const double whole = modelled((passes){4, 1, true});
    assert_true(fabs(modelled((passes){5, 1, true}) - whole - one) < 1);
    assert_true(whole - modelled((passes){0, 1, true}) >= 4 * one + keep);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(few_bytes_and_nothing_twice),
                                       cmocka_unit_test(nothing_is_cheaper),
                                       cmocka_unit_test(memory_is_counted_where_values_are_in_it)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
