/* What the checker calls linear is linear, and is transposed as such. */
#include "laws/case.h"
#include "laws/derive.h"
#include "laws/table.h"
#include "prims/ids.h"

#include <math.h>
#include <string.h>

/* Inputs in the program's order: operands outside the set, then those in it. */
static laws_array *ordered(laws_trial *t, uint32_t set, const laws_array *nonlinear, const laws_array *linear) {
    laws_array *x = laws_alloc(t->memory, t->c->nin + 1u, sizeof *x);
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->c->nin; i++)
        if (!(set >> i & 1)) x[n++] = nonlinear[i];
    for (uint32_t i = 0; i < t->c->nin; i++)
        if (set >> i & 1) x[n++] = linear[i];
    return x;
}

static bool additive(laws_trial *t, const tn_fn *f, uint32_t set, const laws_array *u, const laws_array *v) {
    const double a = 1.5, b = -0.75; /* exact in f32 */
    laws_array *sum = laws_alloc(t->memory, t->c->nin + 1u, sizeof *sum);
    for (uint32_t i = 0; i < t->c->nin; i++) {
        sum[i] = laws_new(t->memory, &u[i].type);
        for (int64_t k = 0; k < laws_count(&u[i]); k++)
            laws_put(&sum[i], k, a * laws_get(&u[i], k) + b * laws_get(&v[i], k));
    }
    const laws_array *fu = laws_run_new(t, f, ordered(t, set, t->x, u)),
                     *fv = laws_run_new(t, f, ordered(t, set, t->x, v)),
                     *fs = laws_run_new(t, f, ordered(t, set, t->x, sum));
    if (!fu || !fv || !fs) return false;
    for (uint32_t j = 0; j < f->nout; j++) {
        laws_array want = laws_new(t->memory, &fs[j].type);
        if (!laws_is_float(&want)) continue;
        for (int64_t k = 0; k < laws_count(&want); k++)
            laws_put(&want, k, a * laws_get(&fu[j], k) + b * laws_get(&fv[j], k));
        if (!laws_finite(&want)) {
            laws_fail(t, "the checker calls operands %#x linear, but output %u is not finite", (unsigned)set,
                      (unsigned)j);
            return false;
        }
        if (!laws_agree(t, "the checker calls it linear, but f(1.5 u - 0.75 v) is not 1.5 f(u) - 0.75 f(v): output",
                        &fs[j], &want, 1, laws_rounding(f), 1))
            return false;
    }
    return true;
}

static void transposed(laws_trial *t, const tn_fn *f, uint32_t set, const laws_array *u) {
    const tn_fn *g = laws_made(t, tn_transpose(f), "transpose");
    if (!g) return;
    uint32_t n;
    const laws_array *ct = laws_cotangents(t, f, &n), *x = ordered(t, set, t->x, u);
    const laws_array *y = laws_run_new(t, f, x),
                     *back = y ? laws_run_new(t, g, laws_joined(t, x, f->nin - f->nlin, ct, n)) : NULL;
    if (!back) return;
    double a = 0, b = 0, scale = 0;
    for (uint32_t j = 0; j < f->nout; j++) a += laws_dot(&ct[j], &y[j], &scale);
    for (uint32_t i = 0; i < f->nlin; i++) b += laws_dot(&back[i], &x[f->nin - f->nlin + i], &scale);
    t->shown = g;
    if (!(fabs(a - b) <= laws_rounding(f) * fmax(scale, 1e-2)))
        laws_fail(t, "<ct, f u> = %.17g but <f' ct, u> = %.17g", a, b);
}

/* What the checker lets pass: the set is linear, and is transposed so. */
static void accepted(laws_trial *t, const tn_fn *f, uint32_t set) {
    if (f->neqn && f->eqn[0].nout == 0) {
        laws_fail(t, "the checker lets operands %#x be linear, but nothing comes out", (unsigned)set);
        return;
    }
    for (uint32_t j = 0; j < f->nout; j++)
        if (!tn_i_is_float(f->val[f->out[j]].type->dtype)) {
            laws_fail(t, "the checker lets operands %#x be linear, but output %u is no float", (unsigned)set,
                      (unsigned)j);
            return;
        }
    laws_array *u = laws_alloc(t->memory, t->c->nin + 1u, sizeof *u),
               *v = laws_alloc(t->memory, t->c->nin + 1u, sizeof *v);
    for (uint32_t i = 0; i < t->c->nin; i++) {
        u[i] = laws_new(t->memory, &t->c->in[i]);
        v[i] = laws_new(t->memory, &t->c->in[i]);
        laws_random(&t->rng, &u[i]);
        laws_random(&t->rng, &v[i]);
    }
    if (additive(t, f, set, u, v)) transposed(t, f, set, u);
}

/* Of what has no operands a rule tells zeros, which are linear: they may be added to what is. */
static void beside(laws_trial *t) {
    const tn_i_eqn *e = &t->f->eqn[0];
    const tn_type *type = t->f->val[e->out].type;
    bool zeros = true;
    tn_i_builder b;
    if (!tn_i_is_float(type->dtype)) return;
    const laws_array *y = laws_run_new(t, t->f, t->x);
    for (int64_t i = 0; y && i < laws_count(y); i++) zeros &= laws_get(y, i) == 0;
    tn_i_builder_init(&b, t->ctx);
    b.raw = true;
    const tn_i_var x = tn_i_input(&b, type, true);
    const tn_i_var sum = tn_i_op2(&b, TN_P_add, tn_i_emit(&b, t->prim, t->c->p, 0, NULL), x);
    const tn_fn *f = tn_i_finish(&b, 1, &sum);
    if (zeros != (f != NULL))
        laws_fail(t, "%s beside what is linear: %s", zeros ? "zeros" : "others", tn_error(t->ctx));
}

/* Every set of operands that the descriptor declares must be accepted; any other set that the
 * checker lets pass must be linear all the same.  Where a rule decides, several are tried. */
void laws_linear(laws_trial *t) {
    uint32_t floats = 0;
    if (t->prim->nin == 0 && t->prim->linearity) beside(t);
    for (uint32_t i = 0; i < t->c->nin; i++) floats |= tn_i_is_float(t->c->in[i].dtype) ? 1u << i : 0;
    for (int tries = t->prim->linearity ? 8 : 1; tries > 0 && !t->failed; tries--) {
        const int64_t which = tn_i_pick(&t->rng, 0, 3);
        const bool declared = which < 2 && t->prim->linear[which] && !t->prim->linearity;
        const uint32_t set = floats & (declared ? t->prim->linear[which] : (uint32_t)tn_i_random(&t->rng));
        if (!set) continue;
        const tn_fn *f = laws_case_linear(t->prim, t->c, set);
        if (f)
            accepted(t, f, set);
        else if (declared)
            laws_fail(t, "the checker refuses what the descriptor declares: %s", tn_error(t->ctx));
        else if (tn_last_status(t->ctx) != TN_ELINEAR && tn_last_status(t->ctx) != TN_EINVAL)
            laws_fail(t, "refused with another status: %s", tn_error(t->ctx));
    }
}

/* ---- nothing is forgotten ---------------------------------------------------------------------- */

/* Of each set of operands (of primitives that take any number: of all of them) whether a sample showed that it is not
 * linear, and how many could have. */
enum { SETS = 16, SAMPLES = 40, ENOUGH = 8 };
typedef struct evidence {
    bool refuted[SETS];
    int seen[SETS];
    int linear, accepted; /* of a primitive with a rule: sets that looked linear, and those that it accepts */
} evidence;

/* -1: the sample does not tell, 0: not linear, 1: as if it were. */
static int looks_linear(laws_trial *t, uint32_t set) {
    const double a = 1.5, b = -0.75;
    const tn_fn *f = laws_case_program(t->prim, t->c, 0);
    laws_array *x[3];
    const laws_array *y[3];
    for (int k = 0; k < 3; k++) x[k] = laws_alloc(t->memory, t->c->nin + 1u, sizeof **x);
    for (uint32_t i = 0; i < t->c->nin; i++)
        for (int k = 0; k < 3; k++) {
            x[k][i] = laws_copy(t->memory, &t->x[i]);
            if (!(set >> i & 1)) continue;
            laws_random(&t->rng, &x[k][i]);
            for (int64_t n = 0; k == 2 && n < laws_count(&x[k][i]); n++)
                laws_put(&x[k][i], n, a * laws_get(&x[0][i], n) + b * laws_get(&x[1][i], n));
        }
    for (int k = 0; k < 3; k++)
        if (!f || !(y[k] = laws_run_new(t, f, x[k])) || !laws_all_finite(y[k], f->nout)) return -1;
    int told = -1;
    for (uint32_t j = 0; j < f->nout; j++)
        for (int64_t n = 0; n < laws_count(&y[0][j]); n++) {
            if (t->prim->linearity && laws_bits_differ(&y[0][j], &y[1][j]) < 0) continue; /* of the others */
            const double p = a * laws_get(&y[0][j], n), q = b * laws_get(&y[1][j], n), sum = laws_get(&y[2][j], n);
            if (!laws_is_float(&y[0][j]) || !(fabs(p + q - sum) <= 1e-9 * (fabs(p) + fabs(q) + fabs(sum)))) return 0;
            told = 1;
        }
    return told;
}

static bool declares(const laws_trial *t, uint32_t set, uint32_t floats) {
    return set == (t->prim->linear[0] & floats) || set == (t->prim->linear[1] & floats);
}

static void collect(laws_trial *t, evidence *e) {
    const bool all = t->prim->nin < 0;
    uint32_t floats = 0;
    for (uint32_t i = 0; i < t->c->nin; i++) floats |= tn_i_is_float(t->c->in[i].dtype) ? 1u << i : 0;
    for (uint32_t s = 1; s < SETS; s++) {
        const uint32_t set = all ? floats : s;
        if (e->refuted[s] || !set || (set & ~floats) || (all && s > 1) || declares(t, set, floats)) continue;
        const int like = looks_linear(t, set);
        e->refuted[s] |= like == 0;
        e->seen[s] += like > 0;
    }
}

/* Where a rule decides, of each sample by itself. */
static void collect_by_rule(laws_trial *t, evidence *e) {
    uint32_t floats = 0;
    for (uint32_t i = 0; i < t->c->nin; i++) floats |= tn_i_is_float(t->c->in[i].dtype) ? 1u << i : 0;
    for (uint32_t set = floats; set; set = (set - 1) & floats) {
        if (looks_linear(t, set) != 1) continue;
        e->linear++;
        e->accepted += laws_case_linear(t->prim, t->c, set) != NULL;
        return;
    }
}

/* What every sample shows to be linear is declared.  Of `either` two values at random are not the same. */
void laws_declared(laws_trial *t) {
    evidence e = {.linear = 0};
    if (t->dtype != TN_F64 || t->prim->flags & (TN_F_NODIFF | TN_F_EITHER) || t->prim->nin > 4) return;
    for (int k = 0; k < SAMPLES && !t->failed; k++) {
        laws_trial one = *t;
        tn_i_case c;
        one.c = &c;
        if (!laws_case_draw(t->ctx, t->prim, t->dtype, &t->rng, &c)) return;
        one.x = laws_case_data(t->memory, t->prim, &c, &t->rng);
        one.rng = t->rng;
        if (t->prim->linearity)
            collect_by_rule(&one, &e);
        else
            collect(&one, &e);
        t->rng = one.rng;
        laws_case_free(&c);
    }
    if (e.linear >= ENOUGH && !e.accepted)
        laws_fail(t, "%d samples are linear in some operands, and the rule accepts none", e.linear);
    for (uint32_t s = 1; s < SETS && !t->failed; s++)
        if (!e.refuted[s] && e.seen[s] >= ENOUGH)
            laws_fail(t, "linear in operands %#x in each of %d samples, but not declared so", (unsigned)s, e.seen[s]);
}

/* ---- lengths --------------------------------------------------------------------------------------- */

/* `steps` takes nothing but what a loop has made: no primitive's case has it. */
void laws_lengths(laws_trial *t) {
    static const char text[] =
        "{ lambda n:i64[] | x:f64[] . let y:f64[] ys:f64[?] = scan[program={ lambda c:f64[] . let d:f64[] = add c c in "
        "(d, c) } num_consts=0 num_carry=1] n x m:i64[] = steps ys zs:f64[?] = scan[program={ lambda a:f64[] b:f64[] . "
        "let c:f64[] = add a b in (c,) } num_consts=0 num_carry=0] m ys ys r:f64[] = scan[program={ lambda a:f64[] "
        "b:f64[] . let c:f64[] = add a b in (c,) } num_consts=0 num_carry=1] n 0.0:f64[] zs in (r,) }";
    const tn_fn *f =
        laws_made(t, tn_fn_parse(t->ctx, text, strlen(text), "lengths.tn"), "a linear program with `steps`");
    if (!f) return;
    laws_array x[2] = {laws_new(t->memory, f->val[0].type), laws_new(t->memory, f->val[1].type)};
    *(int64_t *)x[0].data = tn_i_pick(&t->rng, 0, 5);
    laws_put(&x[1], 0, 0.75);
    const laws_array *y = laws_run_new(t, f, x);
    const double want = 2 * 0.75 * ((double)(1 << *(int64_t *)x[0].data) - 1);
    if (y && laws_get(&y[0], 0) != want) laws_fail(t, "%.17g, not %.17g", laws_get(&y[0], 0), want);
}
