/* What goes wrong, and what is said then. */
#include <stdio.h>
#include <tansy.h>

static tn_val wrong_shape(const tn_val *in, void *user) {
    (void)user;
    return tn_sum(tn_matmul(in[0], in[1]));
}

static tn_val root(const tn_val *in, void *user) {
    (void)user;
    return tn_sum(tn_where(tn_gt(in[0], 0), tn_sqrt(in[0]), 0));
}

static tn_val watched(const tn_val *in, void *user) {
    tn_val y = tn_log(in[0]);
    tn_print(user, "log x", 1, &y);
    tn_assert(tn_all(tn_is_finite(y)), "x has to be positive");
    return tn_sum(y);
}

static void warn(void *user, const tn_lint_warning *w) {
    (void)user;
    printf("%s\n", w->message);
}

int main(void) {
    tn_ctx *c = tn_ctx_new(NULL);
    if (!tn_trace(c, wrong_shape, NULL, TN_ARGS(tn_f64(2, 3), tn_f64(2)))) printf("%s\n", tn_error(c));

    tn_fn *f = tn_trace(c, root, NULL, TN_ARGS(tn_f64(2)));
    if (tn_lint(f, warn, NULL)) return 1;
    tn_exec *plain = tn_compile(tn_grad(f, NULL, NULL), NULL);
    tn_exec *strict = tn_compile(tn_grad(f, NULL, NULL),
                                 &(tn_compile_options){.size = sizeof(tn_compile_options), .strict_zero = true});
    double x[2] = {0, 4}, dx[2];
    if (!plain || !strict || tn_call(plain, TN_INPUTS(x), TN_OUTPUTS(dx))) return 1;
    printf("plain  %s %g\n", dx[0] == dx[0] ? "0" : "NaN", dx[1]);
    if (tn_call(strict, TN_INPUTS(x), TN_OUTPUTS(dx))) return 1;
    printf("strict %g %g\n", dx[0], dx[1]);

    tn_exec *e =
        tn_compile(tn_trace(c, watched, c, TN_ARGS(tn_f64(2))),
                   &(tn_compile_options){
                       .size = sizeof(tn_compile_options), .observer = tn_observe_file, .observer_user = stdout});
    double good[2] = {1, 1}, bad[2] = {0, 1}, y;
    if (!e || tn_call(e, TN_INPUTS(good), TN_OUTPUTS(&y))) return 1;
    if (tn_call(e, TN_INPUTS(bad), TN_OUTPUTS(&y))) printf("%s\n", tn_exec_error(e));
    tn_ctx_free(c);
    return 0;
}
