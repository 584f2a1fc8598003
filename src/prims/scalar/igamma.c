/* igamma, igammac and their derivatives in a (values: incomplete_gamma.c). */
#include "prims/c_text.h"
#include "prims/rules.h"
#include "prims/sample.h"
#include "prims/scalar/special.h"
#include "prims/strips.h"

#include <math.h>

TN_STRIP2(igamma, f32, float, float, tn_i_igamma_f32(x, y))
TN_STRIP2(igamma, f64, double, double, tn_i_igamma(x, y))
TN_STRIP2(igammac, f32, float, float, tn_i_igammac_f32(x, y))
TN_STRIP2(igammac, f64, double, double, tn_i_igammac(x, y))

/* ---- orders ---- */

enum { ORDERS = 5 };

#define OF_ORDER(name, n)                                                \
    TN_STRIP2(name##_##n, f32, float, float, tn_i_##name##_f32(n, x, y)) \
    TN_STRIP2(name##_##n, f64, double, double, tn_i_##name(n, x, y))
#define OF_ORDERS(name) OF_ORDER(name, 1) OF_ORDER(name, 2) OF_ORDER(name, 3) OF_ORDER(name, 4) OF_ORDER(name, 5)
OF_ORDERS(igamma_grad_a)
OF_ORDERS(random_gamma_grad)

typedef struct of_order {
    tn_i_strip *strip[2];
    const char *body[2];
} of_order;
#define ROW(name)                                                      \
    {                                                                  \
        {name##_f32, name##_f64}, { name##_f32_body, name##_f64_body } \
    }
#define TABLE(name) \
    { ROW(name##_1), ROW(name##_2), ROW(name##_3), ROW(name##_4), ROW(name##_5) }

static int order_of(const tn_i_param *p) { return p[0].u.i > 1 ? (int)p[0].u.i : 1; }

static tn_i_strip *chosen(const of_order *table, const tn_i_query *q, const char **body) {
    const of_order *row = &table[order_of(q->p) - 1];
    const int wide = q->in[0]->dtype == TN_F64;
    *body = row->body[wide];
    return row->strip[wide];
}

static tn_i_strip *choose_igamma_grad_a(const tn_i_query *q, const char **body) {
    static const of_order table[ORDERS] = TABLE(igamma_grad_a);
    return chosen(table, q, body);
}

static tn_i_strip *choose_random_gamma_grad(const tn_i_query *q, const char **body) {
    static const of_order table[ORDERS] = TABLE(random_gamma_grad);
    return chosen(table, q, body);
}

static const tn_i_spec order_params[] = {{.name = "order", .kind = TN_K_INT, .otherwise = "1"}, {.name = NULL}};

static bool type_of_order(tn_i_query *q) {
    const tn_i_param *p = &q->p[0];
    if (p->kind == TN_K_INT && (p->u.i < 1 || p->u.i > ORDERS))
        return tn_i_type_fail(q, -1, "derivatives in a are there to order %d, not to order %lld", ORDERS,
                              (long long)p->u.i);
    return tn_i_type_elementwise(q);
}

/* ---- derivatives ---- */

/* log x - digamma(a): the derivative in a of the density's logarithm. */
static tn_i_var slope_of_log(tn_i_builder *b, tn_i_var a, tn_i_var x) {
    const tn_i_var l = tn_i_op1(b, TN_P_log, x), psi = tn_i_op1(b, TN_P_digamma, a);
    return tn_i_op2(b, TN_P_sub, l, psi);
}

/* The density x^(a-1) e^-x / Gamma(a), as JAX has it. */
static tn_i_var density(tn_i_builder *b, tn_i_var a, tn_i_var x) {
    const tn_i_var less = tn_i_plus(b, a, -1.0), l = tn_i_op1(b, TN_P_log, x);
    const tn_i_var product = tn_i_op2(b, TN_P_mul, less, l), power = tn_i_op2(b, TN_P_sub, product, x);
    const tn_i_var gamma = tn_i_op1(b, TN_P_lgamma, a);
    return tn_i_op1(b, TN_P_exp, tn_i_op2(b, TN_P_sub, power, gamma));
}

/* The n-th derivative of the density in a, over the density: Bell's polynomial of the derivatives of its logarithm. */
static tn_i_var density_slopes(tn_i_builder *b, int n, tn_i_var a, tn_i_var x) {
    tn_i_var slope[ORDERS], bell[ORDERS + 1];
    bell[0] = tn_i_number_like(b, x, 1.0);
    for (int m = 0; m < n; m++) {
        slope[m] = m == 0 ? slope_of_log(b, a, x)
                          : tn_i_op1(b, TN_P_neg, tn_i_op2(b, TN_P_polygamma, tn_i_number_like(b, a, m), a));
        tn_i_var sum = slope[m];
        double choose = m;
        for (int k = 1; k <= m; k++) { /* C(m, k) bell[k] slope[m - k] */
            sum = tn_i_op2(b, TN_P_add, sum, tn_i_times(b, tn_i_op2(b, TN_P_mul, bell[k], slope[m - k]), choose));
            choose *= (double)(m - k) / (k + 1);
        }
        bell[m + 1] = sum;
    }
    return bell[n];
}

static tn_i_var of_next_order(tn_i_rule *r, int prim) {
    const tn_i_param next = {.kind = TN_K_INT, .u.i = order_of(r->p) + 1};
    return tn_i_emit(r->b, tn_i_prim(r->b, prim), &next, 2, r->in);
}

static tn_i_var first_order(tn_i_rule *r) {
    const tn_i_param first = {.kind = TN_K_NONE};
    return tn_i_emit(r->b, tn_i_prim(r->b, TN_P_igamma_grad_a), &first, 2, r->in);
}

static tn_i_var partial_igamma_a(tn_i_rule *r, tn_i_var da) { return tn_i_mul_by(r, da, first_order(r)); }
static tn_i_var partial_igamma_x(tn_i_rule *r, tn_i_var dx) {
    return tn_i_mul_by(r, dx, density(r->b, r->in[0], r->in[1]));
}
static tn_i_var partial_igammac_a(tn_i_rule *r, tn_i_var da) {
    return tn_i_mul_by(r, da, tn_i_op1(r->b, TN_P_neg, first_order(r)));
}
static tn_i_var partial_igammac_x(tn_i_rule *r, tn_i_var dx) {
    return tn_i_mul_by(r, dx, tn_i_op1(r->b, TN_P_neg, density(r->b, r->in[0], r->in[1])));
}

static tn_i_var partial_grad_a(tn_i_rule *r, tn_i_var da) {
    return tn_i_mul_by(r, da, of_next_order(r, TN_P_igamma_grad_a));
}
static tn_i_var partial_grad_x(tn_i_rule *r, tn_i_var dx) {
    const tn_i_var slopes = density_slopes(r->b, order_of(r->p), r->in[0], r->in[1]);
    return tn_i_mul_by(r, dx, tn_i_op2(r->b, TN_P_mul, density(r->b, r->in[0], r->in[1]), slopes));
}

/* y = -P_n / p, P_n the n-th derivative of P in a, p the density. */
static tn_i_var partial_sample_a(tn_i_rule *r, tn_i_var da) {
    const tn_i_var l = slope_of_log(r->b, r->in[0], r->in[1]), next = of_next_order(r, TN_P_random_gamma_grad);
    return tn_i_mul_by(r, da, tn_i_fma(r->b, TN_FMA_RSUB, r->out[0], l, next));
}
static tn_i_var partial_sample_x(tn_i_rule *r, tn_i_var dx) {
    tn_i_builder *b = r->b;
    const tn_i_var slopes = density_slopes(b, order_of(r->p), r->in[0], r->in[1]);
    const tn_i_var ratio = tn_i_op2(b, TN_P_div, tn_i_plus(b, r->in[0], -1.0), r->in[1]);
    const tn_i_var more = tn_i_op2(b, TN_P_mul, r->out[0], tn_i_minus_from(b, 1.0, ratio));
    return tn_i_mul_by(r, dx, tn_i_op2(b, TN_P_sub, more, slopes));
}

static bool sample_of_order(tn_i_rng *r, int dtype, tn_i_case *c) {
    tn_i_case_shape(r, c, 0, dtype, 0, 4);
    tn_i_case_alike(c, 1, 0, dtype);
    c->p[0] = tn_i_pick(r, 0, 1) ? (tn_i_param){.kind = TN_K_INT, .u.i = tn_i_pick(r, 1, 2)}
                                 : (tn_i_param){.kind = TN_K_NONE};
    c->domain[0] = c->domain[1] = (tn_i_domain){.lo = 0.8, .hi = 4};
    return true;
}

const tn_prim tn_prim_igamma = {
    .id = TN_P_igamma,
    .name = "igamma",
    .c_helpers = tn_i_igamma_helpers,
    .doc = "igamma(a, x): P(a, x), the regularized incomplete gamma function; NaN where a < 0 or x < 0",
    .nin = 2,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE,
    .dtypes = TN_FLOATS,
    .type = tn_i_type_elementwise,
    .partial = {partial_igamma_a, partial_igamma_x},
    TN_FLOAT_STRIPS(igamma),
    TN_VECTOR(igamma),
    .weight = 16,
    .jvp_bound = 6.6,
    .domain = {{0.8, 4, 0, 0}, {0.8, 4, 0, 0}},
    .pole = TN_POLE_OUTSIDE(1, 0, INFINITY),
    .image = {0, 1},
};

const tn_prim tn_prim_igammac = {
    .id = TN_P_igammac,
    .name = "igammac",
    .c_helpers = tn_i_igamma_helpers,
    .doc = "igammac(a, x): Q(a, x) = 1 - igamma(a, x), exact where that is small",
    .nin = 2,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE,
    .dtypes = TN_FLOATS,
    .type = tn_i_type_elementwise,
    .partial = {partial_igammac_a, partial_igammac_x},
    TN_FLOAT_STRIPS(igammac),
    TN_VECTOR(igammac),
    .weight = 16,
    .jvp_bound = 6.85,
    .domain = {{0.8, 4, 0, 0}, {0.8, 4, 0, 0}},
    .pole = TN_POLE_OUTSIDE(1, 0, INFINITY),
    .image = {0, 1},
};

const tn_prim tn_prim_igamma_grad_a = {
    .id = TN_P_igamma_grad_a,
    .name = "igamma_grad_a",
    .c_helpers = tn_i_igamma_helpers,
    .doc = "igamma_grad_a(a, x): derivative of igamma in a, of the given order (1 to 5)",
    .nin = 2,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE,
    .dtypes = TN_FLOATS,
    .params = order_params,
    .type = type_of_order,
    .partial = {partial_grad_a, partial_grad_x},
    .choose = choose_igamma_grad_a,
    .kernel = tn_i_chosen_kernel,
    .weight = 16,
    .jvp_bound = 9.5,
    .sample = sample_of_order,
    .pole = TN_POLE_OUTSIDE(1, 0, INFINITY),
};

const tn_prim tn_prim_random_gamma_grad = {
    .id = TN_P_random_gamma_grad,
    .name = "random_gamma_grad",
    .c_helpers = tn_i_igamma_helpers,
    .doc = "random_gamma_grad(a, x): derivative in a of a sample x of Gamma(a, 1), which is -igamma_grad_a over the "
           "density",
    .nin = 2,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE,
    .dtypes = TN_FLOATS,
    .params = order_params,
    .type = type_of_order,
    .partial = {partial_sample_a, partial_sample_x},
    .choose = choose_random_gamma_grad,
    .kernel = tn_i_chosen_kernel,
    .weight = 16,
    .jvp_bound = 7.8,
    .sample = sample_of_order,
    .pole = TN_POLE_OUTSIDE(1, 0, INFINITY),
};
