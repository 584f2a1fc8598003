/* Work is conserved: derivatives cost a constant times the program, whatever the sizes. */
#include "checkpoint/policies.h"
#include "laws/case.h"
#include "laws/derive.h"
#include "laws/table.h"
#include "prims/ids.h"

#include <math.h>

/* Weighted cost of an equation: its flops, but at least 1 per element moved.  Zeros that stand for
 * symbolic ones in a signature are nobody's work.  As a base of bounds (`whole`), operands count
 * with all their elements: a slice may be paid back by an array of its operand's size. */
static double weighted_equation(const tn_fn *f, const tn_i_eqn *e, bool whole);

static double weighted(const tn_fn *f, bool whole) {
    double sum = 0;
    for (uint32_t i = 0; i < f->neqn; i++) sum += weighted_equation(f, &f->eqn[i], whole);
    return sum;
}

/* Rules that the user gives may cost more than what they are rules of: bounds count them too. */
static double weighted_nested(const tn_i_eqn *e, bool whole) {
    double sum = 0;
    for (uint32_t k = 0; k < e->params->n; k++)
        if (e->params->v[k].kind == TN_K_FN && (whole || k + 1 == (uint32_t)e->prim->body))
            sum += weighted(e->params->v[k].u.fn, whole);
    return sum;
}

/* The largest of the programs of which it runs one. */
static double weighted_alternatives(uint32_t n, const tn_fn *const *f, bool whole) {
    double most = 0;
    for (uint32_t i = 0; i < n; i++) most = fmax(most, weighted(f[i], whole));
    return most;
}

/* What does not change from step to step leaves a loop, one of no steps as well: bounds count one step at least. */
static double one_step(const tn_i_eqn *e) {
    double sum = 0;
    for (uint32_t k = 0; e->params && k < e->params->n; k++)
        if (e->params->v[k].kind == TN_K_FN && e->params->v[k].u.fn) sum += weighted(e->params->v[k].u.fn, true);
    return sum;
}

static double weighted_equation(const tn_fn *f, const tn_i_eqn *e, bool whole) {
    const tn_fn *const *branch;
    const uint32_t n = tn_i_alternatives(e, &branch);
    if (e->nout && f->val[e->out].zero) return 0;
    if (n) return weighted_alternatives(n, branch, whole);
    if (e->prim->body) return weighted_nested(e, whole);
    tn_i_cost c;
    if (!tn_i_eqn_cost(f, e, &c)) return NAN;
    size_t size = 1;
    double elements = 0, bytes = 0,
           held = 0; /* as if they were their holder's: a bool beside a half is as little work */
    for (uint32_t k = 0; k < e->nin + e->nout; k++) {
        const tn_type *t = f->val[k < e->nin ? tn_i_in(f, e)[k] : e->out + (k - e->nin)].type;
        const size_t own = tn_i_dtype_size(tn_i_holder(t->dtype));
        elements += (double)tn_i_count(t);
        bytes += (double)tn_type_bytes(t);
        held += (double)tn_i_count(t) * (double)own;
        if (own > size) size = own;
    }
    if (bytes > 0) c.bytes *= held / bytes;
    return fmax(fmax(c.flops, c.bytes / (double)size), whole ? fmax(elements, one_step(e)) : 0);
}

/* Cotangents are summed: an addition (two elements read, one written) for each further use of a
 * linear value. */
static double summing(const tn_fn *f) {
    double sum = 0;
    for (uint32_t v = 0; v < f->nval; v++) {
        uint32_t uses = 0;
        for (uint32_t i = 0; i < f->npool && f->val[v].linear; i++) uses += f->pool[i] == v;
        for (uint32_t j = 0; j < f->nout && f->val[v].linear; j++) uses += f->out[j] == v;
        if (uses > 1) sum += 3.0 * (uses - 1) * (double)tn_i_count(f->val[v].type);
    }
    return sum;
}

static double allowed(const tn_fn *f, bool transposed) {
    double sum = transposed ? summing(f) : 0;
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        const bool forward = transposed && !(e->nout && f->val[e->out].linear); /* recomputed as it is */
        const double bound = forward ? 1 : transposed ? e->prim->transpose_bound : e->prim->jvp_bound;
        sum += bound * weighted_equation(f, e, true);
    }
    return sum;
}

/* Keeps the worst multiples seen in this trial. */
static void within(laws_trial *t, const char *what, const tn_fn *g, double base, double most) {
    const double cost = weighted(g, false);
    if (base > 0) t->ratio = fmax(t->ratio, cost / base);
    if (most > 0) t->used = fmax(t->used, cost / most);
    if (cost <= most * (1 + 1e-12)) return;
    t->shown = g;
    laws_fail(t, "%s costs %g, %.2f times the program's %g; at most %.2f times is allowed", what, cost, cost / base,
              base, most / base);
}

/* The trial's equation on longer arrays, where its parameters allow: multiples must not grow with
 * size.  NULL: they do not allow it. */
static const tn_fn *stretched(laws_trial *t) {
    static const int64_t lengths[] = {17, 100, 1000};
    tn_i_case c = *t->c;
    const int64_t length = lengths[tn_i_pick(&t->rng, 0, 2)], d = tn_i_pick(&t->rng, 0, 3);
    for (uint32_t i = 0; i < c.nin; i++) {
        if (d >= c.in[i].rank || c.in[i].dim[d] == 0) continue;
        c.in[i].dim[d] = length;
    }
    const tn_fn *f = laws_case_program(t->prim, &c, 0);
    tn_error_clear(t->ctx);
    return f;
}

/* Any row of the table: what is recomputed is part of the linear program, and paid back as it is. */
static tn_policy any_policy(laws_trial *t) {
    size_t n = 0;
    while (tn_i_policy_text(n)) n++;
    const size_t i = (size_t)tn_i_pick(&t->rng, 0, (int64_t)n - 1);
    return (tn_policy){.size = sizeof(tn_policy), .name = tn_i_policy_text(i)};
}

static void work_under(laws_trial *t, const tn_fn *f, const tn_policy *policy) {
    laws_wrt w;
    laws_wrt_all(f, &w);
    const tn_fn *g = laws_made(t, tn_jvp(f, &w.list), "jvp");
    const tn_linearized p = tn_linearize(f, &w.list, policy);
    if (!g || !laws_made(t, p.primal, "linearize (primal)") || !laws_made(t, p.linear, "linearize (linear)")) return;
    const tn_fn *back = laws_made(t, tn_transpose(p.linear), "transpose");
    if (!back || weighted(f, true) == 0) return; /* passing values through costs nothing that counts */
    /* Derivatives are of the program as it is simplified: of two sums, say, where one was written down. */
    const tn_fn *s = laws_simplified(t, f);
    if (s) within(t, "jvp", g, weighted(f, true), fmax(allowed(f, false), allowed(s, false)));
    if (weighted(p.linear, true) > 0)
        within(t, "the transpose", back, weighted(p.linear, true), allowed(p.linear, true));
}

void laws_work(laws_trial *t) {
    const tn_fn *f = t->prim && tn_i_pick(&t->rng, 0, 1) ? stretched(t) : t->f;
    const tn_policy policy = any_policy(t);
    work_under(t, f ? f : t->f, &policy);
}

void laws_work_everywhere(laws_trial *t) {
    for (size_t i = 0; tn_i_policy_text(i) && !t->failed; i++) {
        const tn_policy policy = {.size = sizeof policy, .name = tn_i_policy_text(i)};
        work_under(t, t->f, &policy);
    }
}

/* The pullback of a program does not read what it does not need: no equation of it has the size
 * of an inactive input, a thousand times larger than anything active. */
void laws_inactive(laws_trial *t) {
    tn_i_builder b;
    tn_i_builder_init(&b, t->ctx);
    const int64_t n = 100000, zero = 0, one = 1;
    const tn_type scalar = tn_type_of(TN_F64, 0, NULL), large = tn_type_of(TN_F64, 1, &n);
    const tn_i_var x = tn_i_input(&b, &scalar, false), c = tn_i_input(&b, &large, false);
    const tn_i_param p[3] = {
        {.kind = TN_K_INTS, .n = 1, .u.ints = &zero}, {.kind = TN_K_INTS, .n = 1, .u.ints = &one}, {.kind = TN_K_NONE}};
    const tn_i_var c0 = tn_i_reshape(&b, tn_i_emit(&b, tn_i_prim(&b, TN_P_slice), p, 1, &c), 0, NULL);
    const tn_i_var y = tn_i_op2(&b, TN_P_mul, c0, x);
    const tn_fn *f = laws_made(t, tn_i_finish(&b, 1, &y), "x c[0]");
    const int only[1] = {0};
    const tn_wrt_list wrt = {1, only};
    const tn_linearized l = f ? tn_linearize(f, &wrt, NULL) : (tn_linearized){NULL, NULL};
    const tn_fn *back =
        f && laws_made(t, l.linear, "linearize") ? laws_made(t, tn_transpose(l.linear), "transpose") : NULL;
    for (uint32_t v = 0; back && v < back->nval; v++)
        if (tn_i_count(back->val[v].type) > 1) laws_fail(t, "the pullback of x c[0] holds a value of c's size");
}

/* n scalar reads of an n-vector, and their transpose, cost O(n): the cotangent is one buffer. */
static double reads_cost(laws_trial *t, int64_t n) {
    tn_i_builder b;
    tn_i_builder_init(&b, t->ctx);
    const tn_type type = tn_type_of(TN_F64, 1, &n);
    const tn_i_var x = tn_i_input(&b, &type, false);
    tn_i_var sum = TN_NOVAR;
    for (int64_t i = 0; i < n; i++) {
        const int64_t end = i + 1;
        const tn_i_param p[3] = {{.kind = TN_K_INTS, .n = 1, .u.ints = &i},
                                 {.kind = TN_K_INTS, .n = 1, .u.ints = &end},
                                 {.kind = TN_K_NONE}};
        const tn_i_var one = tn_i_reshape(&b, tn_i_emit(&b, tn_i_prim(&b, TN_P_slice), p, 1, &x), 0, NULL),
                       y = tn_i_op1(&b, TN_P_sin, one);
        sum = sum == TN_NOVAR ? y : tn_i_op2(&b, TN_P_add, sum, y);
    }
    const tn_fn *f = laws_made(t, tn_i_finish(&b, 1, &sum), "n reads"),
                *g = f ? laws_made(t, tn_grad(f, NULL, NULL), "grad") : NULL;
    tn_i_cost c;
    return g && tn_i_fn_cost(g, &c) ? c.bytes + 8 * c.flops : 0;
}

void laws_reads(laws_trial *t) {
    const double a = reads_cost(t, 100), b = reads_cost(t, 1000);
    if (!t->failed && b > 11 * a)
        laws_fail(t, "the gradient of 100 scalar reads costs %g, that of 1000 costs %g", a, b);
}
