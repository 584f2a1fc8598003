/* The controller: in each step some descent on the plan, whose first force is then applied.
 *
 *     python mpc.py .  &&  cc -O2 main.c plan.c -lm -o mpc  &&  ./mpc */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"

#define STEPS 30

/* A step of descent with momentum (Adam); the cost before it. */
static double improve(double *forces, const double *x, double *mean, double *square, int t, void *work) {
    double cost, next[4], gradient[STEPS];
    if (plan(forces, x, &cost, next, gradient, work)) return NAN;
    for (int i = 0; i < STEPS; i++) {
        mean[i] = 0.9 * mean[i] + 0.1 * gradient[i];
        square[i] = 0.99 * square[i] + 0.01 * gradient[i] * gradient[i];
        forces[i] -= 0.2 * (mean[i] / (1 - pow(0.9, t))) / (sqrt(square[i] / (1 - pow(0.99, t))) + 1e-8);
    }
    return cost;
}

int main(void) {
    const size_t lines = (PLAN_WORK_BYTES + PLAN_WORK_ALIGN - 1) / PLAN_WORK_ALIGN;
    void *work = aligned_alloc(PLAN_WORK_ALIGN, lines * PLAN_WORK_ALIGN);
    if (!work) return 1;
    double x[4] = {0.5, 0.3, 0, 0}, next[4], gradient[STEPS], forces[STEPS] = {0}, cost = 0;
    for (int k = 0; k <= 240; k++) {
        double mean[STEPS] = {0}, square[STEPS] = {0};
        for (int t = 1; t <= (k ? 40 : 300); t++) cost = improve(forces, x, mean, square, t, work);
        if (k % 40 == 0) printf("%4.1f s  position %7.4f  angle %7.4f  cost %9.4f\n", k * 0.04, x[0], x[1], cost);
        if (plan(forces, x, &cost, next, gradient, work)) break;
        memcpy(x, next, sizeof x);
        memmove(forces, forces + 1, (STEPS - 1) * sizeof *forces); /* the plan, one step later */
    }
    free(work);
    return !(fabs(x[0]) < 0.05 && fabs(x[1]) < 0.05); /* at rest, and upright */
}
