/* What is not as asked is refused where it is used: options whose size was never set or that a later version knows,
 * names that no table has, and programs beyond a context's limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <tansy.h>
#include <tansy/comm.h>
#include <tansy/emit.h>
#include <tansy/krylov.h>
#include <tansy/ode.h>
#include <tansy/optim.h>
#include <tansy/sparse.h>

#include <stdio.h>
#include <string.h>

static tn_val square(const tn_val *in, void *user) {
    (void)user;
    return tn_mul(in[0], in[0]);
}

static tn_fn *traced(tn_ctx *c) { return tn_trace(c, square, NULL, 1, TN_TYPES(tn_f64())); }

static void says(tn_ctx *c, tn_status status, const char *what) {
    if (tn_last_status(c) != status || !strstr(tn_error(c), what))
        fail_msg("expected %d '%s', got %d '%s'", (int)status, what, (int)tn_last_status(c), tn_error(c));
    tn_error_clear(c);
}

/* ---- sizes ---------------------------------------------------------------------------------- */

static void doubles(tn_val i, const tn_val *carry, tn_val *next, void *user) {
    (void)i, (void)user;
    next[0] = tn_add(carry[0], carry[0]);
}

static void one_step(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    (void)x, (void)y, (void)user;
    next[0] = carry[0];
}
static tn_val scanned(const tn_val *in, void *user) {
    tn_scan_args a = *(const tn_scan_args *)user;
    tn_val out = in[0];
    a.init = in;
    a.carry = &out;
    tn_scan_at(NULL, one_step, NULL, &a, __FILE__, __LINE__);
    return out;
}
static tn_val loop(const tn_val *in, void *user) {
    tn_val out;
    tn_fori(in[0].ctx, 0, 3, doubles, NULL, 1, in, &out, user);
    return out;
}

static tn_val region(const tn_val *in, void *user) { return tn_checkpoint(square, user, NULL, 1, in); }

static int external(void *user, const void *const *in, void *const *out) {
    (void)user, (void)in, (void)out;
    return 0;
}

static void field(tn_val t, const tn_val *y, const tn_val *p, tn_val *dy, void *user) {
    (void)t, (void)p, (void)user;
    dy[0] = y[0];
}

static tn_val solved(const tn_val *in, void *user) {
    const tn_ode_problem p = {
        .size = sizeof p, .field = field, .nstate = 1, .y0 = in, .t0 = TN_VAL(0), .t1 = TN_VAL(1)};
    tn_val y;
    tn_ode_solution s = {.size = sizeof s, .y = &y};
    tn_ode_solve(&p, user, &s);
    return y;
}

static void advised(void *user, const tn_advice *a) { (void)user, (void)a; }

static void refused(tn_ctx *c, const void *made, const char *what) {
    assert_null(made);
    says(c, TN_EINVAL, what);
}

/* Every struct of options, as {0} with its size, then without. */
static void sizes(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = traced(c);
    const tn_compile_options compile = {.backend = TN_BACKEND_REFERENCE};
    refused(c, tn_compile(f, &compile),
            "tn_compile_options: its size is not set (0): write tn_compile_options options");
    const tn_policy policy = {.name = "nothing_saveable"};
    refused(c, tn_grad(f, NULL, &policy), "tn_policy: its size is not set");
    refused(c, tn_vjp(f, NULL, &policy), "tn_policy: its size is not set");
    refused(c, tn_linearize(f, NULL, &policy).primal, "tn_policy: its size is not set");
    refused(c, tn_saved_residuals(f, NULL, &policy), "tn_policy: its size is not set");
    refused(c, tn_trace(c, region, (void *)(uintptr_t)&policy, 1, TN_TYPES(tn_f64())),
            "tn_policy: its size is not set");
    const tn_loop_options schedule = {.schedule = "nothing"};
    refused(c, tn_trace(c, loop, (void *)(uintptr_t)&schedule, 1, TN_TYPES(tn_f64())),
            "tn_loop_options: its size is not set");
    const tn_scan_args scan = {.ncarry = 1, .length = 3};
    refused(c, tn_trace(c, scanned, (void *)(uintptr_t)&scan, 1, TN_TYPES(tn_f64())),
            "tn_scan_args: its size is not set");
    const tn_advise_options advice = {.bytes = 1};
    assert_int_equal(tn_advise(f, NULL, &advice, advised, NULL), TN_EINVAL);
    says(c, TN_EINVAL, "tn_advise_options: its size is not set");
    const tn_check_options check = {.tolerance = 1};
    const double x = 1;
    assert_int_equal(tn_check_grads(f, TN_INPUTS(&x), NULL, &check), TN_EINVAL);
    says(c, TN_EINVAL, "tn_check_options: its size is not set");
    const tn_external_spec spec = {.name = "e", .fn = external};
    assert_int_equal(tn_external_register(c, &spec), TN_EINVAL);
    says(c, TN_EINVAL, "tn_external_spec: its size is not set");
    const tn_emit_c_options emit = {.name = "g"};
    char *source, *header;
    assert_int_equal(tn_emit_c(f, &emit, &source, &header), TN_EINVAL);
    says(c, TN_EINVAL, "tn_emit_c_options: its size is not set");
    const tn_schedule_options cost = {.state_bytes = 8};
    tn_schedule_counts counts = {.size = sizeof counts};
    assert_int_equal(tn_schedule_cost(c, "nothing", 3, &cost, &counts), TN_EINVAL);
    says(c, TN_EINVAL, "tn_schedule_options: its size is not set");
    const tn_ode_options ode = {.rtol = 1e-3};
    refused(c, tn_trace(c, solved, (void *)(uintptr_t)&ode, 1, TN_TYPES(tn_f64())), "size");
    /* reports, which the library writes */
    tn_cost_report report = {0};
    assert_int_equal(tn_cost(f, &report), TN_EINVAL);
    says(c, TN_EINVAL, "size is not set");
    tn_budget_report budget = {0};
    assert_int_equal(tn_memory_budget(f, NULL, 100, &budget), TN_EINVAL);
    says(c, TN_EINVAL, "size is not set");
    tn_memory_report memory = {0};
    assert_int_equal(tn_memory_profile(f, NULL, NULL, &memory, NULL, NULL), TN_EINVAL);
    says(c, TN_EINVAL, "size is not set");
    tn_schedule_counts none = {0};
    assert_int_equal(tn_schedule_cost(c, "nothing", 3, NULL, &none), TN_EINVAL);
    tn_profile_totals profiled = {0};
    assert_int_equal(tn_profile_total(tn_profile_new(tn_compile(f, NULL)), &profiled), TN_EINVAL);
    says(c, TN_EINVAL, "size is not set");
    tn_residual_totals totals = {0};
    assert_int_equal(tn_residuals_total(tn_saved_residuals(f, NULL, NULL), &totals), TN_EINVAL);
    says(c, TN_EINVAL, "size is not set");
    tn_ctx_free(c);
}

static tn_val iterated(const tn_val *in, void *user) { return tn_cg(square, NULL, in[0], user, NULL); }
static tn_val told(const tn_val *in, void *user) { return tn_gmres(square, NULL, in[0], NULL, user); }

/* Of tansy/krylov.h, tansy/optim.h, tansy/sparse.h and tansy/comm.h. */
static void more_sizes(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = traced(c);
    const tn_optim sgd = {.rate = {.value = 0.1}};
    refused(c, tn_optim_step(f, NULL, &sgd, NULL), "tn_optim: its size is not set");
    tn_krylov_options iterate = {.tol = 1e-3};
    refused(c, tn_trace(c, iterated, &iterate, 1, TN_TYPES(tn_f64())), "tn_krylov_options: its size is not set");
    tn_krylov_info info = {0};
    refused(c, tn_trace(c, told, &info, 1, TN_TYPES(tn_f64())), "tn_krylov_info: its size is not set");
    const tn_sparsity_options found = {.max_nnz = 3};
    refused(c, tn_jacobian_sparsity(f, NULL, &found), "tn_sparsity_options: its size is not set");
    refused(c, tn_hessian_sparsity(f, NULL, &found), "tn_sparsity_options: its size is not set");
    tn_sparsity *s = tn_jacobian_sparsity(f, NULL, NULL), *pattern = NULL;
    tn_sparsity_arrays entries = {0};
    assert_int_equal(tn_sparsity_view(s, TN_CSR, TN_FULL, &entries), TN_EINVAL);
    says(c, TN_EINVAL, "size is not set");
    const tn_coloring_options rows = {.partition = TN_COLOR_ROW};
    refused(c, tn_color(s, &rows), "tn_coloring_options: its size is not set");
    tn_coloring_arrays colors = {0};
    assert_int_equal(tn_coloring_view(tn_color(s, NULL), &colors), TN_EINVAL);
    says(c, TN_EINVAL, "size is not set");
    tn_sparse_options sparse = {.with_value = true};
    refused(c, tn_sparse_jacobian(f, NULL, &sparse, &pattern), "tn_sparse_options: its size is not set");
    refused(c, tn_sparse_hessian(f, NULL, &sparse, &pattern), "tn_sparse_options: its size is not set");
    sparse = (tn_sparse_options){.size = sizeof sparse, .coloring = &rows};
    refused(c, tn_sparse_jacobian(f, NULL, &sparse, &pattern), "tn_coloring_options: its size is not set");
    const tn_policy policy = {.name = "nothing_saveable"};
    sparse = (tn_sparse_options){.size = sizeof sparse, .policy = &policy};
    refused(c, tn_sparse_jacobian(f, NULL, &sparse, &pattern), "tn_policy: its size is not set");
    const tn_comm_ops table = {.naxes = 0};
    const tn_compile_options by = {.size = sizeof by, .comm = &table};
    refused(c, tn_compile(f, &by), "its size is not set");
    const char *const name[] = {"w"};
    const int64_t one = 1;
    tn_threads *t = tn_threads_comm(c, &(tn_grid){1, name, &one}, 0);
    const tn_comm_ops *ops = tn_threads_rank(t, 0);
    const tn_collective sum = {.kind = TN_COMM_ALLREDUCE, .dtype = TN_F64, .count = 1, .axes = 1};
    const double x = 1;
    double y;
    void *request;
    assert_int_equal(ops->start(ops->user, &sum, &x, &y, &request), TN_EINVAL);
    assert_non_null(strstr(ops->error(ops->user), "size is not set"));
    tn_ctx_free(c);
}

/* What an enum of options has not is refused with its number. */
static void kinds(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = traced(c);
    tn_sparsity *s = tn_jacobian_sparsity(f, NULL, NULL), *pattern = NULL;
    tn_sparsity_arrays entries = {.size = sizeof entries};
    assert_int_equal(tn_sparsity_view(s, (tn_sparse_format)7, TN_FULL, &entries), TN_EINVAL);
    says(c, TN_EINVAL, "format 7");
    assert_int_equal(tn_sparsity_view(s, TN_CSR, (tn_triangle)7, &entries), TN_EINVAL);
    says(c, TN_EINVAL, "triangle 7");
    tn_coloring_options colors = {.size = sizeof colors, .partition = (tn_partition)17};
    refused(c, tn_color(s, &colors), "partition 17");
    colors = (tn_coloring_options){.size = sizeof colors, .order = (tn_color_order)99};
    refused(c, tn_color(s, &colors), "order 99");
    const tn_sparse_options sparse = {.size = sizeof sparse, .format = (tn_sparse_format)9};
    refused(c, tn_sparse_jacobian(f, NULL, &sparse, &pattern), "format 9");
    refused(c, tn_sparse_hessian(f, NULL, &sparse, &pattern), "format 9");
    tn_ctx_free(c);
}

/* A later version's struct: what this one knows is read; what it does not know must not be wanted. */
static void later_versions(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = traced(c);
    struct {
        tn_compile_options known;
        int64_t later;
    } o = {.known = {.size = sizeof o}};
    tn_exec *e = tn_compile(f, &o.known);
    assert_non_null(e);
    tn_exec_free(e);
    o.later = 1;
    refused(c, tn_compile(f, &o.known), "members that this version of the library does not know");
    tn_ctx_free(c);
}

/* There is a context to ask why; it makes nothing. */
static void contexts(void **state) {
    (void)state;
    const tn_ctx_options o = {.threads = 2};
    tn_ctx *c = tn_ctx_new(&o);
    assert_non_null(c);
    says(c, TN_EINVAL,
         "tn_ctx_options: its size is not set (0): write tn_ctx_options options = {.size = sizeof options");
    refused(c, traced(c), "tn_ctx_options: its size is not set");
    static const char text[] = "{ lambda x:f64[] . let in (x,) }";
    refused(c, tn_fn_parse(c, text, strlen(text), "f"), "tn_ctx_options: its size is not set");
    tn_ctx_free(c);
}

/* ---- names ----------------------------------------------------------------------------------- */

static void names(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = traced(c);
    refused(c, tn_grad(f, NULL, tn_policy_by_name("everthing_saveable")),
            "there is no policy named 'everthing_saveable'; did you mean 'everything_saveable'?");
    refused(c, tn_vjp(f, NULL, tn_policy_by_name("Min_cut")), "did you mean 'min_cut'?");
    refused(c, tn_vjp(f, NULL, tn_policy_by_name("save_only_these_name:a,b")), "did you mean 'save_only_these_names'?");
    refused(c, tn_vjp(f, NULL, tn_policy_by_name("gzip")), "there is no policy named 'gzip'");
    refused(c, tn_vjp(f, NULL, tn_policy_by_name("memory_budgte:100")), "did you mean 'memory_budget'?");
    refused(c, tn_vjp(f, NULL, tn_policy_by_name(NULL)), "neither a name nor a callback");
    tn_fn *g = tn_vjp(f, NULL, tn_policy_by_name("save_only_these_names:a,b")); /* with its arguments */
    assert_non_null(g);
    assert_null(tn_trace(c, region, (void *)(uintptr_t)tn_policy_by_name("dots_savable"), 1, TN_TYPES(tn_f64())));
    says(c, TN_ETYPE, "did you mean 'dots_saveable'?");
    const tn_loop_options schedule = {.size = sizeof schedule, .schedule = "revolv:3"};
    assert_null(tn_trace(c, loop, (void *)(uintptr_t)&schedule, 1, TN_TYPES(tn_f64())));
    says(c, TN_ETYPE, "did you mean 'revolve'?");
    tn_schedule_counts counts = {.size = sizeof counts};
    assert_int_equal(tn_schedule_cost(c, "al_save", 3, NULL, &counts), TN_EINVAL);
    says(c, TN_EINVAL, "did you mean 'all_save'?");
    const tn_ode_options solver = {.size = sizeof solver, .solver = "tsit5"};
    refused(c, tn_trace(c, solved, (void *)(uintptr_t)&solver, 1, TN_TYPES(tn_f64())), "did you mean 'Tsit5'?");
    const tn_ode_options adjoint = {.size = sizeof adjoint, .adjoint = "RecursiveCheckpoints:4"};
    refused(c, tn_trace(c, solved, (void *)(uintptr_t)&adjoint, 1, TN_TYPES(tn_f64())),
            "did you mean 'RecursiveCheckpoint'?");
    static const char text[] = "{ lambda x:f64[] . let y:f64[] = sinn x in (y,) }";
    assert_null(tn_fn_parse(c, text, strlen(text), "f"));
    says(c, TN_EPARSE, "did you mean 'sin'?");
    const tn_compile_options backend = {.size = sizeof backend, .backend = 99}, math = {.size = sizeof math, .math = 9};
    assert_null(tn_compile(f, &backend));
    says(c, TN_EINVAL, "backend");
    assert_null(tn_compile(f, &math));
    says(c, TN_EINVAL, "math");
    tn_ctx_free(c);
}

/* A program's text opens no file: a region's policy names none. */
static void files(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    static const char text[] =
        "{ lambda x:f64[3] . let y:f64[3] = checkpoint[name=\"r\" policy=\"min_cut:costs=/dev/zero\" "
        "program={ lambda x:f64[3] . let a:f64[3] = sin x in (a,) }] x in (y,) }";
    assert_null(tn_fn_parse(c, text, strlen(text), "f"));
    says(c, TN_ETYPE, "names a file");
    assert_null(tn_trace(c, region, (void *)(uintptr_t)tn_policy_by_name("min_cut:costs=x"), 1, TN_TYPES(tn_f64())));
    says(c, TN_ETYPE, "names a file");
    tn_ctx_free(c);
}

/* ---- limits ------------------------------------------------------------------------------------ */

static tn_fn *parsed(tn_ctx *c, const char *text) { return tn_fn_parse(c, text, strlen(text), "f"); }

#define CALL(inner) "y:f64[] = call[name=\"g\" program={ lambda x:f64[] . let " inner " in (y,) }] x"
static void limits(void **state) {
    (void)state;
    const tn_ctx_options o = {.size = sizeof o, .max_equations = 3, .max_nesting = 2, .max_bytes = 1 << 20};
    tn_ctx *c = tn_ctx_new(&o);
    tn_fn *f = parsed(c, "{ lambda x:f64[] . let a = sin x b = sin a y = sin b in (y,) }");
    assert_non_null(f);
    assert_null(parsed(c, "{ lambda x:f64[] . let a = sin x b = sin a d = sin b y = sin d in (y,) }"));
    says(c, TN_ELIMIT, "max_equations");
    assert_null(tn_vjp(f, NULL, NULL));
    says(c, TN_ELIMIT, "max_equations");
    assert_non_null(parsed(c, "{ lambda x:f64[] . let " CALL("y = sin x") " in (y,) }"));
    assert_null(parsed(c, "{ lambda x:f64[] . let " CALL(CALL("y = sin x")) " in (y,) }"));
    assert_true(tn_last_status(c) == TN_EPARSE || tn_last_status(c) == TN_ELIMIT);
    says(c, tn_last_status(c), "nested deeper than 2");
    tn_fn *large =
        parsed(c, "{ lambda x:f64[1000000] . let a = rev[dimensions=(0,)] x b = sort[dimension=0 is_stable=True "
                  "num_keys=1] a in (b,) }");
    if (!large) fail_msg("%s", tn_error(c));
    tn_exec *e = tn_compile(large, NULL);
    double *data = test_malloc(1000000 * sizeof *data);
    memset(data, 0, 1000000 * sizeof *data);
    const tn_status s = e ? tn_call(e, TN_INPUTS(data), TN_OUTPUTS(data)) : tn_last_status(c);
    assert_int_equal(s, TN_ENOMEM);
    assert_true(tn_ctx_peak_bytes(c) <= 1 << 20);
    test_free(data);
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sizes),    cmocka_unit_test(more_sizes),
                                       cmocka_unit_test(kinds),    cmocka_unit_test(later_versions),
                                       cmocka_unit_test(contexts), cmocka_unit_test(names),
                                       cmocka_unit_test(files),    cmocka_unit_test(limits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
