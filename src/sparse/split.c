/* Value by value, x = kx + vx: of kx all coefficients are known when the program is made.
 *
 *     add, moves, sums, a known factor:  k' = op(k), v' = op(v)        another factor r:  k' = 0, v' = r (k + v)
 *
 * Where k + v is computed anyway, since a factor wants it, it is what varies, and k is 0 from there on: so nothing is
 * computed twice.  An equation of several linear operands may pass one on as it is whatever its factors are (fma). */
#include "sparse/split.h"

#include "linearize/prune.h"
#include "prims/ids.h"

enum { KNOWN, UNKNOWN, LINEAR }; /* a value: made of constants; of residuals; of tangents */

typedef struct split {
    const tn_fn *f;
    uint8_t *is;     /* of each value, one of the above */
    bool *whole;     /* of each linear one: a factor wants all of it */
    tn_i_var *k, *v; /* in the builder; TN_NOVAR: 0.  Of others k is the value. */
    tn_i_builder b;
    tn_i_var *in;
    uint32_t most; /* operands of an equation */
} split;

static bool is_linear(const split *s, tn_i_var v) { return s->is[v] == LINEAR; }

static bool any(const split *s, const tn_i_eqn *e, uint8_t what) {
    for (uint32_t i = 0; i < e->nin; i++)
        if (s->is[tn_i_in(s->f, e)[i]] == what) return true;
    return false;
}

static bool takes_linear(const split *s, const tn_i_eqn *e) { return any(s, e, LINEAR); }

/* Something in e may be a factor that is not known; loops have results that are not linear, and count once. */
static bool has_factors(const split *s, const tn_i_eqn *e) {
    bool all = true;
    for (uint32_t j = 0; j < e->nout; j++) all &= is_linear(s, e->out + j);
    return !all || any(s, e, UNKNOWN);
}

/* What the values are. */
static void classify(split *s) {
    const tn_fn *f = s->f;
    for (uint32_t i = 0; i < f->nin; i++) s->is[i] = i < f->nin - f->nlin ? UNKNOWN : LINEAR;
    for (uint32_t k = 0; k < f->neqn; k++) {
        const tn_i_eqn *e = &f->eqn[k];
        const uint8_t is = any(s, e, LINEAR) ? LINEAR : any(s, e, UNKNOWN) ? UNKNOWN : KNOWN;
        for (uint32_t j = 0; j < e->nout; j++)
            s->is[e->out + j] = is == LINEAR && !f->val[e->out + j].linear ? UNKNOWN : is;
    }
}

/* The linear operand that e adds as it is, whatever its factors are; nin: none. */
static uint32_t passed_on(const split *s, const tn_i_eqn *e, bool *negative) {
    if (!e->prim->without || e->nin > 32) return e->nin;
    unsigned all = 0;
    for (uint32_t i = 0; i < e->nin; i++)
        if (is_linear(s, tn_i_in(s->f, e)[i])) all |= TN_OPERAND(i);
    for (uint32_t i = 0; i < e->nin; i++) {
        const unsigned others = all & ~TN_OPERAND(i);
        if (!(all & TN_OPERAND(i)) || !others) continue;
        const tn_i_remains r = e->prim->without(tn_i_p(e), others, true);
        *negative = r.negative;
        if (r.kind == TN_REMAINS_OPERAND && r.operand == i) return i;
    }
    return e->nin;
}

/* A factor wants all of an operand, or what is made of it. */
static void find_whole(split *s) {
    const tn_fn *f = s->f;
    for (uint32_t k = f->neqn; k-- > 0;) {
        const tn_i_eqn *e = &f->eqn[k];
        bool negative;
        if (!takes_linear(s, e)) continue;
        const bool wanted = has_factors(s, e);
        const uint32_t passed = wanted ? passed_on(s, e, &negative) : e->nin;
        bool of_result = false;
        for (uint32_t j = 0; j < e->nout; j++) of_result |= s->whole[e->out + j];
        for (uint32_t i = 0; i < e->nin; i++) {
            const tn_i_var v = tn_i_in(f, e)[i];
            if (is_linear(s, v) && (of_result || (wanted && i != passed))) s->whole[v] = true;
        }
    }
}

/* ---- emitting ------------------------------------------------------------------------------------- */

typedef enum part { CONSTANT, VARYING, BOTH } part;

/* The part of v; of what a factor wants at most one is there. */
static tn_i_var part_of(split *s, tn_i_var v, part p) {
    if (!is_linear(s, v)) return tn_i_mapped(&s->b, s->f, s->k, v);
    return p == VARYING || (p == BOTH && s->v[v] != TN_NOVAR) ? s->v[v] : s->k[v];
}

/* e over the parts of its linear operands, `other` of operand `but`; TN_NOVAR where all of them are 0. */
static tn_i_var emit(split *s, const tn_i_eqn *e, part p, uint32_t but, part other) {
    bool some = false;
    for (uint32_t i = 0; i < e->nin; i++) {
        const tn_i_var v = tn_i_in(s->f, e)[i];
        s->in[i] = part_of(s, v, i == but ? other : p);
        if (!is_linear(s, v)) continue;
        some |= s->in[i] != TN_NOVAR;
        if (s->in[i] == TN_NOVAR) s->in[i] = tn_i_zeros(&s->b, s->f->val[v].type);
    }
    return some ? tn_i_emit_like(&s->b, e, s->in) : TN_NOVAR;
}

static tn_i_var copied(split *s, const tn_i_eqn *e) {
    for (uint32_t i = 0; i < e->nin; i++) s->in[i] = part_of(s, tn_i_in(s->f, e)[i], BOTH);
    return tn_i_emit_like(&s->b, e, s->in);
}

static void results(const tn_i_eqn *e, tn_i_var *of, tn_i_var first) {
    for (uint32_t j = 0; j < e->nout; j++) of[e->out + j] = first == TN_NOVAR ? TN_NOVAR : first + j;
}

static bool all_one_part(const split *s, const tn_i_eqn *e) {
    bool k = false, v = false;
    for (uint32_t i = 0; i < e->nin; i++) {
        const tn_i_var x = tn_i_in(s->f, e)[i];
        if (!is_linear(s, x)) continue;
        k |= s->k[x] != TN_NOVAR;
        v |= s->v[x] != TN_NOVAR;
    }
    return !k || !v;
}

static bool wanted_whole(const split *s, const tn_i_eqn *e) {
    for (uint32_t j = 0; j < e->nout; j++)
        if (s->whole[e->out + j]) return true;
    return false;
}

static void step(split *s, const tn_i_eqn *e) {
    const uint32_t none = e->nin;
    bool negative = false;
    if (!takes_linear(s, e)) {
        results(e, s->k, copied(s, e));
        return;
    }
    const bool factors = has_factors(s, e);
    const uint32_t passed = factors ? passed_on(s, e, &negative) : none;
    if (factors && (passed == none || s->k[tn_i_in(s->f, e)[passed]] == TN_NOVAR || wanted_whole(s, e))) {
        results(e, s->v, emit(s, e, BOTH, none, BOTH));
        for (uint32_t j = 0; j < e->nout; j++)
            if (!is_linear(s, e->out + j)) s->k[e->out + j] = s->v[e->out + j];
        return;
    }
    if (factors) {
        const tn_i_var k = s->k[tn_i_in(s->f, e)[passed]];
        results(e, s->v, emit(s, e, BOTH, passed, VARYING));
        results(e, s->k, negative ? tn_i_op1(&s->b, TN_P_neg, k) : k);
        return;
    }
    if (!all_one_part(s, e) && wanted_whole(s, e)) { /* its operands are whole, too */
        results(e, s->v, emit(s, e, BOTH, none, BOTH));
        return;
    }
    results(e, s->k, emit(s, e, CONSTANT, none, CONSTANT));
    results(e, s->v, emit(s, e, VARYING, none, VARYING));
}

/* ---- the two programs ------------------------------------------------------------------------------- */

static void walk(split *s) {
    const tn_fn *f = s->f;
    tn_i_builder *b = &s->b;
    const uint32_t base = f->regions > 1 ? b->regions - 1 : 0;
    for (uint32_t k = 0; k < f->neqn && !b->failed; k++) {
        const tn_i_eqn *e = &f->eqn[k];
        b->region = e->region ? base + e->region : 0;
        b->loc = e->loc;
        b->linear = tn_i_of_linear(f, e);
        step(s, e);
    }
    b->region = 0;
    b->linear = false;
}

/* The part of f; *some: it is not 0. */
static tn_fn *half(split *s, part p, tn_i_var *out, bool *some) {
    const tn_fn *f = s->f;
    tn_i_builder *b = &s->b;
    tn_i_builder_init(b, f->ctx);
    b->named_after = f;
    for (uint32_t v = 0; v < f->nval; v++) s->k[v] = s->v[v] = TN_NOVAR;
    for (uint32_t i = 0; i < f->nin && !b->failed; i++) s->k[i] = tn_i_input(b, f->val[i].type, i >= f->nin - f->nlin);
    walk(s);
    *some = false;
    for (uint32_t j = 0; j < f->nout && !b->failed; j++) {
        const tn_i_var v = f->out[j];
        out[j] = is_linear(s, v) ? part_of(s, v, p) : TN_NOVAR; /* another one is 0 */
        *some |= out[j] != TN_NOVAR && !tn_i_is_zero(b, out[j]);
        if (out[j] == TN_NOVAR) out[j] = tn_i_zeros(b, f->val[v].type);
    }
    return tn_i_prune(tn_i_finish(b, f->nout, out));
}

static bool both(split *s, tn_i_var *out, tn_i_halves *h) {
    bool constant, varying;
    h->constant = half(s, CONSTANT, out, &constant);
    h->varying = h->constant ? half(s, VARYING, out, &varying) : NULL;
    if (h->varying && constant) return true;
    const bool ok = h->varying != NULL;
    tn_i_halves_free(h);
    return ok;
}

bool tn_i_split_linear(const tn_fn *f, tn_i_halves *out) {
    tn_ctx *c = f->ctx;
    split s = {.f = f, .most = 1};
    *out = (tn_i_halves){NULL, NULL};
    for (uint32_t k = 0; k < f->neqn; k++)
        if (f->eqn[k].nin > s.most) s.most = f->eqn[k].nin;
    s.is = tn_i_alloc(c, f->nval);
    s.whole = tn_i_alloc_array(c, f->nval, sizeof *s.whole);
    s.k = tn_i_alloc_array(c, f->nval, sizeof *s.k);
    s.v = tn_i_alloc_array(c, f->nval, sizeof *s.v);
    s.in = tn_i_alloc_array(c, s.most, sizeof *s.in);
    tn_i_var *outs = tn_i_alloc_array(c, f->nout, sizeof *outs);
    bool ok = s.is && s.whole && s.k && s.v && s.in && outs;
    if (ok) {
        classify(&s);
        find_whole(&s);
        ok = both(&s, outs, out);
    }
    tn_i_free(c, s.is, f->nval);
    tn_i_free(c, s.whole, f->nval * sizeof *s.whole);
    tn_i_free(c, s.k, f->nval * sizeof *s.k);
    tn_i_free(c, s.v, f->nval * sizeof *s.v);
    tn_i_free(c, s.in, s.most * sizeof *s.in);
    tn_i_free(c, outs, f->nout * sizeof *outs);
    return ok;
}

void tn_i_halves_free(tn_i_halves *h) {
    tn_i_fn_unref(h->constant);
    tn_i_fn_unref(h->varying);
    *h = (tn_i_halves){NULL, NULL};
}
