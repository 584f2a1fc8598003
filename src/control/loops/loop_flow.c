/* What flows through a loop, step after step, until nothing changes: dependence, and linearity. */
#include "control/loops/loop.h"
#include "ir/depends.h"
#include "prims/ids.h"

#include <string.h>

/* Flags of the body's inputs from those of the operands; the step's number has none. */
static void inner_flags(const tn_i_loop_eqn *l, const uint8_t *in, uint8_t *inner) {
    if (l->index) inner[0] = 0;
    for (uint32_t i = l->index; i < l->body->nin; i++) inner[i] = in[tn_i_loop_operand(l, i)];
}

bool tn_i_loop_spread(tn_i_memo *m, const tn_i_loop_eqn *l, uint8_t *inner, uint8_t *out) {
    const uint32_t carry = tn_i_loop_inner(l, tn_i_loop_carry0(l));
    for (bool changed = true; changed;) {
        changed = false;
        if (!tn_i_depends_through(m, l->body, inner, out)) return false;
        for (uint32_t j = 0; j < l->ncarry; j++) {
            if ((out[j] | inner[carry + j]) == inner[carry + j]) continue;
            inner[carry + j] |= out[j];
            changed = true;
        }
    }
    for (uint32_t j = 0; j < l->ncarry; j++) out[j] |= inner[carry + j];
    return true;
}

/* The condition's inputs: its consts, then the carry. */
static void cond_flags(const tn_i_loop_eqn *l, const uint8_t *in, const uint8_t *inner, uint8_t *flags) {
    const uint32_t carry = tn_i_loop_inner(l, tn_i_loop_carry0(l));
    for (uint32_t i = 0; i < l->ncond; i++) flags[i] = in[i];
    for (uint32_t j = 0; j < l->ncarry; j++) flags[l->ncond + j] = inner[carry + j];
}

bool tn_i_loop_depends(tn_i_memo *m, const tn_i_eqn *e, const uint8_t *in, uint8_t *out) {
    tn_i_loop_eqn l;
    tn_i_loop_of(e->prim, tn_i_p(e), e->nin, &l);
    tn_i_arena a;
    tn_i_arena_init(&a, m->ctx);
    const size_t width = (size_t)l.body->nin + (l.cond ? l.cond->nin : 0) + 1;
    uint8_t *inner = tn_i_arena_alloc(&a, width), *given = tn_i_arena_alloc(&a, (size_t)l.body->nout + 1);
    uint8_t steps = l.counted ? in[0] : 0, *cond = inner ? inner + l.body->nin : NULL;
    bool ok = inner && given;
    if (ok) inner_flags(&l, in, inner);
    ok = ok && tn_i_loop_spread(m, &l, inner, given);
    if (ok && l.is_while) {
        cond_flags(&l, in, inner, cond);
        ok = tn_i_depends_through(m, l.cond, cond, &steps);
    }
    for (uint32_t j = 0; j < l.body->nout && ok; j++) out[j < l.ncarry ? j : j + l.count] = given[j] | steps;
    if (ok && l.count) out[l.ncarry] = steps;
    tn_i_arena_free(&a);
    return ok;
}

/* ---- linearity ----------------------------------------------------------------- */

static bool refuse(const tn_i_eqn *e, tn_ctx *c, uint32_t operand, const char *why) {
    (void)tn_i_fail(c, TN_ELINEAR, e->loc, "%s: operand %u, which is carried, %s", e->prim->name, (unsigned)operand,
                    why);
    return false;
}

/* What a carry is after a step, beside what it was before. */
static bool join(tn_ctx *c, const tn_i_eqn *e, uint32_t operand, uint8_t *carry, uint8_t out, bool *changed) {
    if (out == *carry || out == TN_ZERO) return true;
    if (*carry == TN_LINEAR)
        return refuse(e, c, operand, "is linear, but the step makes it depend on more than linear inputs");
    if (*carry == TN_NONLINEAR) return refuse(e, c, operand, "is not linear on entry, but the step makes it linear");
    *carry = out;
    *changed = true;
    return true;
}

static bool linear_steps(tn_ctx *c, const tn_i_eqn *e, const tn_i_loop_eqn *l, uint8_t *inner, uint8_t *given) {
    const uint32_t carry = tn_i_loop_inner(l, tn_i_loop_carry0(l));
    for (bool changed = true; changed;) {
        changed = false;
        if (!tn_i_check_linear(l->body, inner, given)) return false;
        for (uint32_t j = 0; j < l->ncarry; j++)
            if (!join(c, e, tn_i_loop_carry0(l) + j, &inner[carry + j], given[j], &changed)) return false;
    }
    for (uint32_t j = 0; j < l->ncarry; j++) given[j] = inner[carry + j];
    return true;
}

static bool linear_cond(tn_ctx *c, const tn_i_eqn *e, const tn_i_loop_eqn *l, const uint8_t *in, const uint8_t *inner,
                        uint8_t *cond) {
    uint8_t result = TN_NONLINEAR;
    if (!l->is_while) return true;
    cond_flags(l, in, inner, cond);
    if (!tn_i_check_linear(l->cond, cond, &result)) return false;
    if (result != TN_LINEAR) return true;
    (void)tn_i_fail(c, TN_ELINEAR, e->loc, "while: the condition depends on a linear input");
    return false;
}

bool tn_i_loop_linearity(const tn_fn *f, const tn_i_eqn *e, const uint8_t *in, uint8_t *out) {
    tn_i_loop_eqn l;
    tn_ctx *c = f->ctx;
    tn_i_loop_of(e->prim, tn_i_p(e), e->nin, &l);
    if (l.counted && in[0] == TN_LINEAR) {
        (void)tn_i_fail(c, TN_ELINEAR, e->loc, "scan: the number of steps depends on a linear input");
        return false;
    }
    tn_i_arena a;
    tn_i_arena_init(&a, c);
    const size_t width = (size_t)l.body->nin + (l.cond ? l.cond->nin : 0) + 1;
    uint8_t *inner = tn_i_arena_alloc(&a, width), *given = tn_i_arena_alloc(&a, (size_t)l.body->nout + 1);
    bool ok = inner && given;
    if (ok) inner_flags(&l, in, inner);
    ok = ok && linear_steps(c, e, &l, inner, given) && linear_cond(c, e, &l, in, inner, inner + l.body->nin);
    for (uint32_t j = 0; j < l.body->nout && ok; j++) out[j < l.ncarry ? j : j + l.count] = given[j];
    if (ok && l.count) out[l.ncarry] = TN_NONLINEAR;
    tn_i_arena_free(&a);
    return ok;
}

/* ---- where values come from ------------------------------------------------------- */

const tn_fn *tn_i_loop_inside(const tn_i_eqn *e, uint32_t output, tn_i_var *v) {
    tn_i_loop_eqn l;
    tn_i_loop_of(e->prim, tn_i_p(e), e->nin, &l);
    if (l.count && output == l.ncarry) return NULL;
    *v = l.body->out[output < l.ncarry ? output : output - l.count];
    return l.body;
}

uint32_t tn_i_loop_outside(const tn_i_eqn *e, uint32_t i) {
    tn_i_loop_eqn l;
    tn_i_loop_of(e->prim, tn_i_p(e), e->nin, &l);
    return i >= l.index && i < l.index + l.nconst ? tn_i_loop_operand(&l, i) : TN_NOVAR;
}

bool tn_i_loop_stacked(const tn_i_eqn *e, uint32_t output) {
    tn_i_loop_eqn l;
    tn_i_loop_of(e->prim, tn_i_p(e), e->nin, &l);
    return output >= tn_i_loop_y0(&l);
}

bool tn_i_loop_replayed(const tn_i_eqn *e, uint32_t output) {
    tn_i_loop_eqn l;
    tn_i_loop_of(e->prim, tn_i_p(e), e->nin, &l);
    return output >= tn_i_loop_y0(&l) && l.schedule && strcmp(l.schedule, "all_save") != 0;
}

uint32_t tn_i_loop_steps(const tn_i_eqn *e) {
    tn_i_loop_eqn l;
    tn_i_loop_of(e->prim, tn_i_p(e), e->nin, &l);
    return l.counted ? 0 : l.count ? e->nin + l.ncarry : TN_NOVAR;
}

bool tn_i_adds_entries(const tn_i_eqn *e, const tn_fn *body) {
    tn_i_scan s;
    if (e->prim->id != TN_P_scan || !tn_i_scan_read(tn_i_p(e), e->nin, &s)) return false;
    if (s.index || s.nconst || s.ncarry || body->neqn != 1 || body->nout != 1) return false;
    const tn_i_eqn *sum = &body->eqn[0];
    return sum->prim->id == TN_P_add && body->out[0] == sum->out && tn_i_in(body, sum)[0] < body->nin &&
           tn_i_in(body, sum)[1] < body->nin;
}

/* ---- cost ------------------------------------------------------------------------- */

void tn_i_loop_add_cost(tn_i_cost *sum, const tn_fn *f, double times) {
    tn_i_cost one = {0};
    tn_i_cost_nested(f, &one);
    sum->flops += times * one.flops;
    sum->transcendentals += times * one.transcendentals;
    sum->products += times * one.products;
    sum->bytes += times * one.bytes;
    sum->equations += times * one.equations;
}
