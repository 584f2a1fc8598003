/* The checker: scoping, types, parameters, and linearity in the sense of the paper's type system.
 *
 * Nested programs are checked once each.  Where every program is checked as it is made (tn_ctx.check), those
 * inside were already. */
#include "ir/memo.h"
#include "ir/params.h"
#include "ir/seen.h"
#include "prims/prim.h"

#include <stdio.h>
#include <string.h>

#define SHORT_TEXT 512

/* "f64[3] = mul f64[3] f64[3]", cut where it is long. */
static const char *short_text(char buf[SHORT_TEXT], const tn_fn *f, const tn_i_eqn *e) {
    char type[TN_I_TYPE_TEXT];
    size_t at = 0;
    buf[0] = 0;
    for (uint32_t j = 0; j < e->nout && j < 3 && at < SHORT_TEXT; j++)
        at += (size_t)snprintf(buf + at, SHORT_TEXT - at, "%s ", tn_i_type_text(type, f->val[e->out + j].type));
    if (at < SHORT_TEXT)
        at += (size_t)snprintf(buf + at, SHORT_TEXT - at, "%s= %s", e->nout > 3 ? "... " : "", e->prim->name);
    for (uint32_t i = 0; i < e->nin && i < 4 && at < SHORT_TEXT; i++)
        at += (size_t)snprintf(buf + at, SHORT_TEXT - at, " %s", tn_i_type_text(type, f->val[tn_i_in(f, e)[i]].type));
    if (e->nin > 4 && at < SHORT_TEXT) (void)snprintf(buf + at, SHORT_TEXT - at, " ...");
    return buf;
}

static bool bad(const tn_fn *f, const tn_i_eqn *e, tn_status s, const char *fmt, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 4, 5)))
#endif
    ;
static bool bad(const tn_fn *f, const tn_i_eqn *e, tn_status s, const char *fmt, ...) {
    char reason[SHORT_TEXT], equation[SHORT_TEXT];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(reason, sizeof reason, fmt, ap);
    va_end(ap);
    (void)tn_i_fail(f->ctx, s, e->loc, "%s: %s (in %s)", e->prim->name, reason, short_text(equation, f, e));
    return false;
}

/* ---- scoping -------------------------------------------------------------------- */

static bool malformed(const tn_fn *f, const char *what) {
    (void)tn_i_fail(f->ctx, TN_EINVAL, f->loc, "malformed program: %s", what);
    return false;
}

/* Values are inputs, literals, or made by the equation they name. */
static bool check_values(const tn_fn *f) {
    if (f->nin > f->nval || f->nlin > f->nin) return malformed(f, "more inputs than values");
    for (uint32_t v = 0; v < f->nval; v++) {
        const tn_i_val *x = &f->val[v];
        if (!x->type || !tn_i_type_valid(x->type)) return malformed(f, "a value without a valid type");
        if ((x->def == TN_DEF_INPUT) != (v < f->nin)) return malformed(f, "inputs do not come first");
        if (x->def == TN_DEF_LITERAL && x->type->rank) return malformed(f, "a literal that is no scalar");
        if (x->def >= TN_DEF_LITERAL) continue;
        if (x->def >= f->neqn || v < f->eqn[x->def].out || v - f->eqn[x->def].out >= f->eqn[x->def].nout)
            return malformed(f, "a value that its equation does not make");
    }
    for (uint32_t j = 0; j < f->nout; j++)
        if (f->out[j] >= f->nval) return malformed(f, "an output that does not exist");
    return true;
}

static bool check_scope(const tn_fn *f, uint32_t index) {
    const tn_i_eqn *e = &f->eqn[index];
    if (e->nin > f->npool || e->in > f->npool - e->nin) return malformed(f, "operands outside the pool");
    if (e->nout > f->nval || (e->nout && e->out > f->nval - e->nout)) return malformed(f, "outputs that do not exist");
    for (uint32_t j = 0; j < e->nout; j++)
        if (f->val[e->out + j].def != index) return malformed(f, "an output that another equation makes");
    for (uint32_t i = 0; i < e->nin; i++) {
        const tn_i_var v = tn_i_in(f, e)[i];
        if (v >= f->nval) return malformed(f, "an operand that does not exist");
        if (f->val[v].def < TN_DEF_LITERAL && f->val[v].def >= index)
            return bad(f, e, TN_EINVAL, "operand %u is used before it is defined", (unsigned)i);
    }
    return true;
}

/* ---- types ---------------------------------------------------------------------- */

static bool check_params(const tn_fn *f, const tn_i_eqn *e) {
    const uint32_t n = tn_i_params_count(e->prim);
    if ((e->params ? e->params->n : 0) != n) return bad(f, e, TN_EINVAL, "has %u parameters", (unsigned)n);
    for (uint32_t k = 0; k < n; k++) {
        const tn_i_spec *spec = &e->prim->params[k];
        const tn_i_kind kind = e->params->v[k].kind;
        const bool absent = kind == TN_K_NONE && (spec->otherwise || spec->kind == TN_K_PTR);
        if (kind != spec->kind && !absent)
            return bad(f, e, TN_EINVAL, "parameter %s is missing or of another kind", spec->name);
    }
    return true;
}

/* Room for one equation's types. */
typedef struct room {
    const tn_type **in;
    tn_type *out;
    size_t cin, cout;
} room;

static bool grow_room(const tn_fn *f, room *r, const tn_i_eqn *e) {
    return tn_i_grow(f->ctx, (void **)(void *)&r->in, &r->cin, e->nin, sizeof *r->in) &&
           tn_i_grow(f->ctx, (void **)&r->out, &r->cout, e->nout, sizeof *r->out);
}

static void free_room(const tn_fn *f, room *r) {
    tn_i_free(f->ctx, (void *)r->in, r->cin * sizeof *r->in);
    tn_i_free(f->ctx, r->out, r->cout * sizeof *r->out);
}

/* The type rule gives the recorded types again. */
static bool check_types(const tn_fn *f, const tn_i_eqn *e, room *r) {
    char recorded[TN_I_TYPE_TEXT], inferred[TN_I_TYPE_TEXT];
    tn_ctx *c = f->ctx;
    if (!grow_room(f, r, e)) return false;
    for (uint32_t i = 0; i < e->nin; i++) r->in[i] = f->val[tn_i_in(f, e)[i]].type;
    if (e->prim->nin >= 0 && (uint32_t)e->prim->nin != e->nin)
        return bad(f, e, TN_ETYPE, "takes %d operands", e->prim->nin);
    tn_i_query q = {
        .ctx = c, .prim = e->prim, .p = tn_i_p(e), .nin = e->nin, .nout = e->nout, .in = r->in, .out = r->out};
    c->status = TN_OK;
    if (!e->prim->type(&q)) {
        if (c->status == TN_OK) return bad(f, e, TN_ETYPE, "has more outputs than the %u recorded", (unsigned)e->nout);
        (void)tn_i_fail(c, c->status, e->loc, "%s", c->message);
        return false;
    }
    if (q.nout != e->nout) return bad(f, e, TN_ETYPE, "has %u outputs, not %u", (unsigned)q.nout, (unsigned)e->nout);
    if (!tn_i_type_over(&q, f->val, tn_i_in(f, e))) {
        if (c->status != TN_OK) (void)tn_i_fail(c, c->status, e->loc, "%s", c->message);
        return false;
    }
    for (uint32_t j = 0; j < e->nout; j++)
        if (!tn_i_type_same(&q.out[j], f->val[e->out + j].type))
            return bad(f, e, TN_ETYPE, "output %u is %s, recorded as %s", (unsigned)j,
                       tn_i_type_text(inferred, &q.out[j]), tn_i_type_text(recorded, f->val[e->out + j].type));
    return true;
}

/* ---- linearity -------------------------------------------------------------------- */

static bool member(uint32_t set, uint32_t i) { return set == TN_ALL || (i < 32 && (set >> i & 1)); }

/* A linear image of zeros is zero. */
uint8_t tn_i_linear_image(const tn_i_eqn *e, const uint8_t *in) {
    for (uint32_t i = 0; i < e->nin; i++)
        if (in[i] == TN_LINEAR) return TN_LINEAR;
    for (int k = 0; k < 2 && e->prim->linear[k]; k++) {
        bool zero = false, all = true;
        for (uint32_t i = 0; i < e->nin; i++) {
            if (!member(e->prim->linear[k], i)) continue;
            zero = true;
            all = all && in[i] == TN_ZERO;
        }
        if (zero && all) return TN_ZERO;
    }
    return TN_NONLINEAR;
}

/* Are the linear operands all in this set, and its others zero?  Else *outside or *rest is one that is not. */
static bool joint(const tn_i_eqn *e, const uint8_t *in, uint32_t set, uint32_t *outside, uint32_t *rest) {
    *outside = *rest = UINT32_MAX;
    for (uint32_t i = e->nin; i-- > 0;) {
        if (in[i] == TN_LINEAR && !member(set, i)) *outside = i;
        if (in[i] == TN_NONLINEAR && member(set, i)) *rest = i;
    }
    return *outside == UINT32_MAX && *rest == UINT32_MAX;
}

static const char *set_text(char *buf, size_t n, uint32_t set, uint32_t nin) {
    size_t at = 0;
    uint32_t left = 0;
    for (uint32_t i = 0; i < nin; i++) left += member(set, i);
    if (set == TN_ALL) return "all operands";
    at = (size_t)snprintf(buf, n, "operand%s", left == 1 ? "" : "s");
    for (uint32_t i = 0, k = 0; i < nin && at < n; i++)
        if (member(set, i))
            at += (size_t)snprintf(buf + at, n - at, "%s %u", k++ ? (k == left ? " and" : ",") : "", (unsigned)i);
    return buf;
}

/* `first` is linear, and no set of the primitive's allows it: say why. */
static bool explain(const tn_fn *f, const tn_i_eqn *e, const uint8_t *in, uint32_t first) {
    const char *name = e->prim->name;
    char set[128];
    bool some = false;
    for (int k = 0; k < 2 && e->prim->linear[k]; k++) {
        uint32_t outside, rest;
        const uint32_t s = e->prim->linear[k];
        if (!member(s, first)) continue;
        some = true;
        (void)joint(e, in, s, &outside, &rest);
        if (outside != UINT32_MAX) {
            if (!e->prim->linear[1])
                return bad(f, e, TN_ELINEAR, "operand %u depends on a linear input, but %s is not linear in it",
                           (unsigned)outside, name);
            return bad(f, e, TN_ELINEAR,
                       "operands %u and %u both depend on linear inputs, but %s is linear in one at a time",
                       (unsigned)first, (unsigned)outside, name);
        }
        return bad(f, e, TN_ELINEAR, "operand %u is not linear, but operand %u is (%s is linear in %s%s)",
                   (unsigned)rest, (unsigned)first, name, set_text(set, sizeof set, s, e->nin), " jointly");
    }
    return bad(f, e, TN_ELINEAR, "operand %u depends on a linear input, but %s is not linear in %s", (unsigned)first,
               name, some || e->prim->linear[0] ? "it" : "any operand");
}

static bool linear_equation(const tn_fn *f, const tn_i_eqn *e, const uint8_t *in, uint8_t *out) {
    uint32_t first = 0, outside, rest;
    memset(out, TN_NONLINEAR, e->nout);
    if (e->prim->linearity) {
        tn_ctx *c = f->ctx;
        c->status = TN_OK;
        if (e->prim->linearity(f, e, in, out)) return true;
        return c->status != TN_OK ? false : bad(f, e, TN_ELINEAR, "is not linear in its linear operands");
    }
    memset(out, tn_i_linear_image(e, in), e->nout);
    while (first < e->nin && in[first] != TN_LINEAR) first++;
    if (first == e->nin) return true;
    for (int k = 0; k < 2 && e->prim->linear[k]; k++)
        if (joint(e, in, e->prim->linear[k], &outside, &rest)) return true;
    return explain(f, e, in, first);
}

/* Marks every value of f in `lin`; `in` is room for the most operands of an equation. */
static bool linear_values(const tn_fn *f, uint8_t *lin, uint8_t *in) {
    for (uint32_t v = f->nin; v < f->nval; v++)
        lin[v] =
            tn_i_is_literal(f, v) && tn_i_zero_bits(f->val[v].type->dtype, f->val[v].bits) ? TN_ZERO : TN_NONLINEAR;
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        for (uint32_t k = 0; k < e->nin; k++) in[k] = lin[tn_i_in(f, e)[k]];
        if (!linear_equation(f, e, in, lin + e->out)) return false;
    }
    return true;
}

static bool check_linear(const tn_fn *f, const uint8_t *in, uint8_t *out) {
    tn_ctx *c = f->ctx;
    uint32_t most = 0;
    for (uint32_t i = 0; i < f->neqn; i++) most = f->eqn[i].nin > most ? f->eqn[i].nin : most;
    uint8_t *lin = tn_i_alloc(c, f->nval), *operands = tn_i_alloc(c, most);
    bool ok = lin && operands;
    if (ok) {
        memcpy(lin, in, f->nin);
        ok = linear_values(f, lin, operands);
    }
    for (uint32_t j = 0; ok && j < f->nout; j++) out[j] = lin[f->out[j]];
    tn_i_free(c, lin, f->nval);
    tn_i_free(c, operands, most);
    return ok;
}

/* Nested programs come here again through their primitives; the context holds what is known of them. */
static bool check_linear_once(const tn_fn *f, const uint8_t *in, uint8_t *out) {
    static const char kind;
    tn_i_memo *memo = f->ctx->linearity;
    const tn_i_memo_entry *e = tn_i_memo_find(memo, &kind, f, in, f->nin);
    if (!e) {
        if (!check_linear(f, in, out)) return false;
        return tn_i_memo_add(memo, &kind, f, in, f->nin, NULL, NULL, out, f->nout) != NULL;
    }
    if (f->nout) memcpy(out, e->flags, f->nout);
    return true;
}

bool tn_i_check_linear(const tn_fn *f, const uint8_t *in, uint8_t *out) {
    tn_ctx *c = f->ctx;
    if (c->linearity) return check_linear_once(f, in, out);
    tn_i_memo memo;
    const tn_status before = c->status;
    tn_i_memo_init(&memo, c);
    c->linearity = &memo;
    const bool ok = check_linear(f, in, out);
    c->linearity = NULL;
    tn_i_memo_free(&memo);
    if (ok) c->status = before;
    return ok;
}

/* Every output of a linear program is linear in the linear inputs, or zero. */
static bool check_outputs(const tn_fn *f, const uint8_t *out) {
    for (uint32_t j = 0; j < f->nout; j++) {
        char equation[SHORT_TEXT];
        if (out[j] != TN_NONLINEAR) continue;
        const uint32_t def = f->val[f->out[j]].def;
        const bool made = def < TN_DEF_LITERAL;
        (void)tn_i_fail(f->ctx, TN_ELINEAR, made ? f->eqn[def].loc : f->loc, "output %u is not linear: %s%s",
                        (unsigned)j,
                        made                  ? "it does not depend on a linear input, in "
                        : def == TN_DEF_INPUT ? "it is an input that is not linear"
                                              : "it is a number other than zero",
                        made ? short_text(equation, f, &f->eqn[def]) : "");
        return false;
    }
    return true;
}

static bool check_linear_program(const tn_fn *f) {
    tn_ctx *c = f->ctx;
    if (!f->nlin) return true;
    uint8_t *in = tn_i_alloc(c, f->nin), *out = tn_i_alloc(c, f->nout);
    bool ok = in && out;
    for (uint32_t i = f->nin - f->nlin; ok && i < f->nin; i++) {
        in[i] = TN_LINEAR;
        if (tn_i_is_float(f->val[i].type->dtype)) continue;
        (void)tn_i_fail(c, TN_ELINEAR, f->loc, "linear input %u is not of a float dtype", (unsigned)i);
        ok = false;
    }
    ok = ok && tn_i_check_linear(f, in, out) && check_outputs(f, out);
    tn_i_free(c, in, f->nin);
    tn_i_free(c, out, f->nout);
    return ok;
}

/* ---- programs ---------------------------------------------------------------------- */

static bool check_program(const tn_fn *f, tn_i_seen *seen);

static bool check_nested(const tn_i_eqn *e, tn_i_seen *seen) {
    for (uint32_t k = 0; e->params && k < e->params->n; k++) {
        const tn_fn *const *g;
        const uint32_t n = tn_i_programs(&e->params->v[k], &g);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t number;
            bool fresh;
            if (!tn_i_seen_add(seen, g[i], &number, &fresh) || (fresh && !check_program(g[i], seen))) return false;
        }
    }
    return true;
}

static bool check_program(const tn_fn *f, tn_i_seen *seen) {
    room r = {0};
    bool ok = f->depth <= TN_MAX_NEST || malformed(f, "nested too deep");
    ok = ok && check_values(f);
    for (uint32_t i = 0; ok && i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        ok = check_scope(f, i) && check_params(f, e) && (f->ctx->check || check_nested(e, seen)) &&
             check_types(f, e, &r);
    }
    free_room(f, &r);
    return ok && check_linear_program(f);
}

bool tn_i_check(const tn_fn *f) {
    tn_ctx *c = f->ctx;
    const tn_status before = c->status;
    tn_i_seen seen;
    tn_i_seen_init(&seen, c);
    const bool ok = check_program(f, &seen);
    tn_i_seen_free(&seen);
    if (ok) c->status = before;
    return ok;
}
