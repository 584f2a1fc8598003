/* The hand-written side of the benchmarks, a file each: what a careful C programmer would write for this very problem.
 * Single pass where one will do, explicit vectors, nothing allocated inside: scratch is the caller's.  Outputs are
 * written, inputs are never changed.  All arrays are dense and row-major. */
#ifndef BENCH_BY_HAND_H
#define BENCH_BY_HAND_H

#include <stddef.h>
#include <stdint.h>

/* machine.c: what the processor can do: flops of `rounds` rounds of multiply-adds in registers, and z = x + y / 2. */
double c_machine_fma(long rounds);
void c_machine_triad(long n, const double *x, const double *y, double *z);

/* chain.c: sum(tanh(sin(x) exp(-x^2) + x)) and its gradient. */
void c_chain_f_f32(long n, const float *x, float *y);
void c_chain_f_f64(long n, const double *x, double *y);
void c_chain_grad_f32(long n, const float *x, float *g);
void c_chain_grad_f64(long n, const double *x, double *g);

/* cheap.c: v = x, four times v = v x + y, v = v y - x; the sum of v, and its gradients. */
void c_cheap_f_f32(long n, const float *x, const float *y, float *s);
void c_cheap_f_f64(long n, const double *x, const double *y, double *s);
void c_cheap_grad_f32(long n, const float *x, const float *y, float *gx, float *gy);
void c_cheap_grad_f64(long n, const double *x, const double *y, double *gx, double *gy);

/* rosenbrock.c: sum of 100 (x[i+1] - x[i]^2)^2 + (1 - x[i])^2. */
void c_rosenbrock_f(long n, const double *x, double *y);
void c_rosenbrock_grad(long n, const double *x, double *g);
void c_rosenbrock_hvp(long n, const double *x, const double *v, double *h);

/* poly9.c: the sum of c[0] + .. + c[9] x^9 over x, and its derivative with respect to c[2]. */
void c_poly9(long n, const double *c, const double *x, double *value, double *grad);

/* burgers.c: tests/recurrent.h's equation, n a multiple of 8.  A row of states or of work has BURGERS_EDGES more than n
 * numbers, so that the ring's ends have neighbours and rows do not lie at multiples of 4096 bytes from each other, and
 * is aligned to 64 bytes: work has two, states steps + 1.  The gradient keeps every state; before it `extra` steps run
 * whose result is not used. */
enum { BURGERS_EDGES = 256 };
void c_burgers_f(long n, long steps, const double *u0, double *work, double *y);
void c_burgers_grad(long n, long steps, long extra, const double *u0, double *states, double *work, double *g);

/* tsit5.c: y' = -0.1 y + 0.1 sin(0.2 t) or y' = -0.1 y^3 + .., steps of 0.1; the gradient of sum y(T).
 * value NULL: not wanted.  states: [steps, n]. */
void c_tsit5_linear(long n, long steps, const float *y0, float *work, float *value, float *grad);
void c_tsit5_cubic(long n, long steps, const float *y0, float *states, float *work, float *grad);

/* scalar.c: sum over i of sin(x[i]) x[i+1] + exp(-x[i]^2) / (1 + x[i+2]^2), indices modulo 10: loops over ten numbers
 * (what a compiler makes of it), and in vectors. */
void c_scalar_grad(const double *x, double *g);
void c_scalar_grad_vectors(const double *x, double *g);

/* jacobian.c: F(x) = tanh(W x) sin(roll(x, 1)) of 50 numbers; its Jacobian, and the Hessian of the sum of F^2.
 * work: of doubles, aligned to 64 bytes. */
enum { JACOBIAN_N = 50, JACOBIAN_WORK = 64 * 64 * 3 };
void c_jacobian(const double *w, const double *x, double *j);
void c_hessian(const double *w, const double *x, double *work, double *h);

/* products.c: c = alpha a b + beta c by BLIS, one thread; strides of rows and columns, of c's rows. */
void c_product_f32(long m, long n, long k, float alpha, const float *a, long ars, long acs, const float *b, long brs,
                   long bcs, float beta, float *c, long crs);
void c_product_f64(long m, long n, long k, double alpha, const double *a, long ars, long acs, const double *b, long brs,
                   long bcs, double beta, double *c, long crs);
const char *c_products(void); /* what BLIS takes this processor for */

/* mlp.c: a step of gradient descent for 784-512-512-10, tanh, cross-entropy, a batch of 256, rate 0.01. */
enum { MLP_BATCH = 256, MLP_DEPTH = 3, MLP_WORK = 256 * (512 * 4 + 10 * 2) + 784 * 512 };
void c_mlp_step(const float *const *w, const float *const *b, const float *x, const int32_t *label, float *work,
                float *const *new_w, float *const *new_b);

/* logreg.c: the mean of softplus(-y A w), A [m, n]; in one pass over A, and with two products as a library of
 * products has them (work: 2 m). */
void c_logreg_f(long m, long n, const double *a, const double *y, const double *w, double *value);
void c_logreg_grad(long m, long n, const double *a, const double *y, const double *w, double *g);
void c_logreg_hvp(long m, long n, const double *a, const double *y, const double *w, const double *v, double *h);
void c_logreg_grad_products(long m, long n, const double *a, const double *y, const double *w, double *work, double *g);
void c_logreg_hvp_products(long m, long n, const double *a, const double *y, const double *w, const double *v,
                           double *work, double *h);

/* gmm.c: ADBench's Gaussian mixture: value and gradient, point by point, and with two products. */
typedef struct c_gmm {
    long d, k, n;
    const double *alpha, *mean, *icf, *x; /* [k], [k, d], [k, d (d + 1) / 2], [n, d] */
    double gamma;
    long m;
} c_gmm;
size_t c_gmm_work(const c_gmm *p); /* doubles, aligned to 64 bytes */
void c_gmm_products(const c_gmm *p, double *work, double *value, double *alpha, double *mean, double *icf);
void c_gmm_direct(const c_gmm *p, double *work, double *value, double *alpha, double *mean, double *icf);

/* bundle.c: ADBench's bundle adjustment: two rows of 15 numbers for each observation, and -2 w. */
typedef struct c_bundle {
    long p;
    const double *camera, *point, *weight, *feature; /* [.., 11], [.., 3], [p], [p, 2] */
    const int32_t *index;                            /* [2, p]: camera, point */
} c_bundle;
void c_bundle_jacobian(const c_bundle *b, double *rows, double *weights);

/* bratu.c: the Jacobian of Bratu's problem on a grid, its values by row; work: side^2 numbers. */
typedef struct c_bratu {
    long side;
    double lambda;
    const double *u;
    double *work, *values;
} c_bratu;
void c_bratu_jacobian(const c_bratu *b);

#endif
