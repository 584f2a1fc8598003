/* fma: a product and a sum, rounded once.
 *
 * Sums and differences with a product in them become fmas where that is decided (ir/strict.c), by add's and sub's own
 * rule: here is what an fma is.  strict_fma is its form under strict_zero, as in strict.c. */
#include "prims/ids.h"
#include "prims/rules.h"
#include "prims/sample.h"
#include "prims/strips.h"

#include <math.h>

#define FORMS(name, f32_add, f32_sub, f32_rsub, f64_add, f64_sub, f64_rsub) \
    TN_STRIP3(name##_add, f32, float, float, float, float, f32_add)         \
    TN_STRIP3(name##_sub, f32, float, float, float, float, f32_sub)         \
    TN_STRIP3(name##_rsub, f32, float, float, float, float, f32_rsub)       \
    TN_STRIP3(name##_add, f64, double, double, double, double, f64_add)     \
    TN_STRIP3(name##_sub, f64, double, double, double, double, f64_sub)     \
    TN_STRIP3(name##_rsub, f64, double, double, double, double, f64_rsub)

/* clang-format off */
FORMS(fma, fmaf(x, y, z), fmaf(x, y, -z), fmaf(-x, y, z), fma(x, y, z), fma(x, y, -z), fma(-x, y, z))
FORMS(strict_fma, (x != 0 && y != 0) || x * y == x * y ? fmaf(x, y, z) : 0 + z,
      (x != 0 && y != 0) || x * y == x * y ? fmaf(x, y, -z) : 0 - z,
      (x != 0 && y != 0) || x * y == x * y ? fmaf(-x, y, z) : z - 0,
      (x != 0 && y != 0) || x * y == x * y ? fma(x, y, z) : 0 + z,
      (x != 0 && y != 0) || x * y == x * y ? fma(x, y, -z) : 0 - z,
      (x != 0 && y != 0) || x * y == x * y ? fma(-x, y, z) : z - 0)
/* clang-format on */

typedef struct entry {
    tn_i_strip *strip;
    const char *body;
} entry;

static const char *const forms[] = {[TN_FMA_ADD] = "add", [TN_FMA_SUB] = "sub", [TN_FMA_RSUB] = "rsub", NULL};
static const tn_i_spec fma_params[] = {{.name = "form", .kind = TN_K_SYM, .symbols = forms}, {.name = NULL}};

#define OF(name, suffix) \
    { name##_##suffix, name##_##suffix##_body }
#define TABLE(name)                                                         \
    {                                                                       \
        {OF(name##_add, f32), OF(name##_sub, f32), OF(name##_rsub, f32)}, { \
            OF(name##_add, f64), OF(name##_sub, f64), OF(name##_rsub, f64)  \
        }                                                                   \
    }

static tn_i_strip *chosen(const entry (*table)[3], const tn_i_query *q, const char **body) {
    const entry *f = &table[q->in[0]->dtype == TN_F64][q->p[0].u.i];
    *body = f->body;
    return f->strip;
}

static tn_i_strip *choose_fma(const tn_i_query *q, const char **body) {
    static const entry table[2][3] = TABLE(fma);
    return chosen(table, q, body);
}

static tn_i_strip *choose_strict_fma(const tn_i_query *q, const char **body) {
    static const entry table[2][3] = TABLE(strict_fma);
    return chosen(table, q, body);
}

static bool type_fma(tn_i_query *q) {
    if (q->p[0].u.i < TN_FMA_ADD || q->p[0].u.i > TN_FMA_RSUB) return tn_i_type_fail(q, -1, "unknown form");
    return tn_i_type_elementwise(q);
}

tn_i_var tn_i_fma(tn_i_builder *b, tn_i_fma_form form, tn_i_var x, tn_i_var y, tn_i_var z) {
    const tn_i_param p = {.kind = TN_K_SYM, .u.i = form};
    const tn_i_var in[3] = {x, y, z};
    return tn_i_emit(b, tn_i_prim(b, TN_P_fma), &p, 3, in);
}

/* ---- rules --------------------------------------------------------------------------------- */

static tn_i_fma_form form_of(const tn_i_rule *r) { return (tn_i_fma_form)r->p[0].u.i; }
static int product_of(const tn_i_rule *r) { return r->e->prim->id == TN_P_strict_fma ? TN_P_strict_mul : TN_P_mul; }

static tn_i_var negated(tn_i_rule *r, bool negate, tn_i_var x) { return negate ? tn_i_op1(r->b, TN_P_neg, x) : x; }

/* Of x*x as square has it: one product. */
static tn_i_var tangent_of_product(tn_i_rule *r, const tn_i_var *din) {
    const int product = product_of(r);
    tn_i_builder *b = r->b;
    if (r->in[0] == r->in[1] && din[0] == din[1] && din[0] != TN_NOVAR)
        return tn_i_op2(b, product, din[0], tn_i_op2(b, TN_P_add, r->in[0], r->in[0]));
    tn_i_var t = TN_NOVAR;
    for (int i = 0; i < 2; i++) {
        if (din[i] == TN_NOVAR) continue;
        const tn_i_var d = tn_i_op2(b, product, din[i], r->in[1 - i]);
        t = t == TN_NOVAR ? d : tn_i_op2(b, TN_P_add, t, d);
    }
    return t;
}

/* The product's tangent and dz, with the signs of the form. */
static void jvp_fma(tn_i_rule *r, const tn_i_var *din, tn_i_var *dout) {
    const tn_i_fma_form form = form_of(r);
    const tn_i_var dz = din[2], t = tangent_of_product(r, din);
    if (t == TN_NOVAR)
        dout[0] = negated(r, form == TN_FMA_SUB, dz);
    else if (dz == TN_NOVAR)
        dout[0] = negated(r, form == TN_FMA_RSUB, t);
    else if (form == TN_FMA_ADD)
        dout[0] = tn_i_op2(r->b, TN_P_add, t, dz);
    else
        dout[0] = form == TN_FMA_SUB ? tn_i_op2(r->b, TN_P_sub, t, dz) : tn_i_op2(r->b, TN_P_sub, dz, t);
}

static void transpose_fma(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    const tn_i_fma_form form = form_of(r);
    for (int i = 0; i < 2; i++)
        if (r->in[i] == TN_NOVAR)
            ct_in[i] = negated(r, form == TN_FMA_RSUB, tn_i_op2(r->b, product_of(r), ct[0], r->in[1 - i]));
    if (r->in[2] == TN_NOVAR) ct_in[2] = negated(r, form == TN_FMA_SUB, ct[0]);
}

static bool sample_fma(tn_i_rng *r, int dtype, tn_i_case *c) {
    tn_i_case_shape(r, c, 0, dtype, 0, 4);
    tn_i_case_alike(c, 1, 0, dtype);
    tn_i_case_alike(c, 2, 0, dtype);
    c->p[0] = (tn_i_param){.kind = TN_K_SYM, .u.i = tn_i_pick(r, TN_FMA_ADD, TN_FMA_RSUB)};
    return true;
}

static tn_i_remains remains(const tn_i_param *p, unsigned zeros, bool drops, int product) {
    if (drops && zeros & (TN_OPERAND(0) | TN_OPERAND(1)))
        return (tn_i_remains){.kind = TN_REMAINS_OPERAND, .operand = 2, .negative = p[0].u.i == TN_FMA_SUB};
    if (!(zeros & TN_OPERAND(2))) return (tn_i_remains){.kind = TN_REMAINS_UNKNOWN};
    return (tn_i_remains){.kind = TN_REMAINS_PRODUCT, .product = product, .negative = p[0].u.i == TN_FMA_RSUB};
}

static tn_i_remains fma_without(const tn_i_param *p, unsigned zeros, bool linear) {
    return remains(p, zeros, linear, TN_P_mul);
}

/* Its product is 0 wherever a factor is. */
static tn_i_remains strict_fma_without(const tn_i_param *p, unsigned zeros, bool linear) {
    (void)linear;
    return remains(p, zeros, true, TN_P_strict_mul);
}

/* What fma and strict_fma have in common. */
#define FMA(NAME, CHOOSE)                                                                                             \
    .id = TN_P_##NAME, .name = #NAME, .nin = 3, .flags = TN_F_ELEMENTWISE | TN_F_INPLACE, .dtypes = TN_FLOATS,        \
    .params = fma_params, .type = type_fma, .linear = {TN_OPERAND(0) | TN_OPERAND(2), TN_OPERAND(1) | TN_OPERAND(2)}, \
    .jvp = jvp_fma, .transpose = transpose_fma, .choose = CHOOSE, .kernel = tn_i_chosen_kernel, .weight = 2,          \
    .jvp_bound = 4, .transpose_bound = 2, .sample = sample_fma

const tn_prim tn_prim_fma = {
    FMA(fma, choose_fma),
    .doc = "by form x*y + z (add), x*y - z (sub) or z - x*y (rsub), rounded once",
    .strict = 1 + TN_P_strict_fma,
    .without = fma_without,
};

const tn_prim tn_prim_strict_fma = {
    FMA(strict_fma, choose_strict_fma),
    .doc = "fma whose product is 0 where a 0 meets an infinity or a NaN",
    .without = strict_fma_without,
};
