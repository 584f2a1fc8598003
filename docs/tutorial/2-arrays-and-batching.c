/* Distances of points, for one point and for many. */
#include <stdio.h>
#include <tansy.h>

/* in: x[3], points[5,3] -> the distance from x to the nearest of them, smoothly */
static tn_val nearest(const tn_val *in, void *user) {
    (void)user;
    tn_val apart = tn_sub(in[1], in[0]); /* [5,3] - [3]: x is repeated for each row */
    tn_val squares = tn_sum_axis(tn_square(apart), 1);
    return tn_neg(tn_logsumexp(tn_neg(squares), 0));
}

int main(void) {
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *one = tn_grad(tn_trace(c, nearest, NULL, TN_ARGS(tn_f64(3), tn_f64(5, 3))), tn_wrt(0), NULL);
    tn_fn *many = tn_vmap(one, 2, (const int[]){0, TN_NOT_MAPPED}, NULL); /* x[2,3], the same points */
    tn_exec *e = tn_compile(many, NULL);
    if (!e) {
        fprintf(stderr, "%s\n", tn_error(c));
        return 1;
    }

    double x[2][3] = {{0, 0, 0}, {1, 1, 1}}, points[5][3], dx[2][3];
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 3; j++) points[i][j] = 0.5 * i + 0.1 * j;
    if (tn_call(e, TN_INPUTS(x, points), TN_OUTPUTS(dx))) {
        fprintf(stderr, "%s\n", tn_exec_error(e));
        return 1;
    }
    for (int i = 0; i < 2; i++) printf("%9.6f %9.6f %9.6f\n", dx[i][0], dx[i][1], dx[i][2]);
    tn_ctx_free(c);
    return 0;
}
