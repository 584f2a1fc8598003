/* Partial evaluation of loops: a known loop that stacks what the linear loop reads.
 *
 * requires: any loop; ensures: a known loop, and a linear scan of as many steps whose residuals are operands (consts
 * and xs of the known loop), values of consts alone, computed once outside, and stacks. */
#include "control/loops/loop_split.h"
#include "ir/depends.h"
#include "linearize/prune.h"

#include <string.h>

typedef tn_i_residual residual;
typedef tn_i_loop_halves work;

/* Steps that a plan counts on where only a run tells. */
#define MANY 1000.0

void *tn_i_halves_room(work *w, size_t n, size_t size) {
    void *p = tn_i_arena_alloc(&w->a, (n + 1) * size);
    if (!p) w->r->b->failed = true;
    return p;
}

static void *room(work *w, size_t n, size_t size) { return tn_i_halves_room(w, n, size); }

static uint32_t carry_in(const work *w) { return tn_i_loop_inner(&w->l, tn_i_loop_carry0(&w->l)); }
static uint32_t x_in(const work *w) { return carry_in(w) + w->l.ncarry; }

/* ---- what is known ------------------------------------------------------------- */

static bool find_unknown(work *w, const bool *unknown) {
    const tn_fn *f = w->l.body;
    w->unknown = room(w, f->nin, 1);
    w->flag = room(w, f->nin, sizeof *w->flag);
    w->out = room(w, f->nout, 1);
    w->known_at = room(w, f->nin, sizeof *w->known_at);
    w->known_of = room(w, f->nin, sizeof *w->known_of);
    if (w->r->b->failed) return false;
    for (uint32_t i = w->l.index; i < f->nin; i++) w->unknown[i] = unknown[tn_i_loop_operand(&w->l, i)];
    if (!tn_i_loop_spread(w->r->memo, &w->l, w->unknown, w->out)) return false;
    for (uint32_t i = 0; i < f->nin; i++) {
        w->flag[i] = w->unknown[i] != 0;
        w->known_of[i] = w->nknown;
        if (!w->unknown[i]) w->known_at[w->nknown++] = i;
    }
    for (uint32_t j = 0; j < f->nout; j++) w->nknown_out += !w->out[j];
    return true;
}

static bool split_body(work *w, const tn_i_plan_by *how) {
    const tn_fn *f = w->l.body;
    bool *linear = room(w, f->nout, sizeof *linear);
    if (!linear) return false;
    for (uint32_t j = 0; j < f->nout; j++) linear[j] = w->out[j] != 0;
    if (!tn_i_partial_eval(f, w->flag, linear, false, how, w->r->memo, &w->parts)) return false;
    w->linear = w->parts.linear;
    w->parts.linear = NULL;
    w->nres = w->parts.nres;
    return true;
}

/* ---- residuals ------------------------------------------------------------------ */

/* Per output of the known step: whether it is another one in another step. */
static uint8_t *find_variant(work *w) {
    const tn_fn *known = w->parts.known;
    uint8_t *in = room(w, known->nin, 1), *out = room(w, known->nout, 1);
    bool any = false;
    if (!in || !out) return NULL;
    for (uint32_t i = 0; i < known->nin; i++) {
        const uint32_t at = w->known_at[i];
        in[i] = at < w->l.index || at >= carry_in(w) ? TN_OF_LENGTH : 0;
        any |= in[i] != 0;
    }
    return !any || tn_i_depends_through(w->r->memo, known, in, out) ? out : NULL;
}

/* What takes an effect is another value in each step, whatever it depends on. */
static bool add_effects(work *w, uint8_t *variant) {
    const tn_fn *known = w->parts.known;
    const bool quiet = w->r->quiet;
    bool *used = room(w, known->nout, sizeof *used);
    for (uint32_t j = w->nknown_out; used && known->effect && j < known->nout; j++) {
        if (variant[j]) continue;
        used[j] = true;
        w->r->quiet = true;
        const tn_i_memo_entry *e = tn_i_nested_prune(w->r, known, used);
        w->r->quiet = quiet;
        used[j] = false;
        if (!e) return false;
        variant[j] = e->result[0]->effect ? TN_OF_LENGTH : 0;
    }
    return used != NULL;
}

static bool classify(work *w) {
    uint8_t *variant = find_variant(w);
    uint32_t made = w->nknown_out;
    w->res = room(w, w->nres, sizeof *w->res);
    if (!variant || !w->res || !add_effects(w, variant)) return false;
    for (uint32_t k = 0; k < w->nres; k++) {
        residual *s = &w->res[k];
        if (w->parts.from_input[k] == TN_NOVAR) {
            s->at = made++;
            s->from = variant[s->at] ? TN_I_STACKED : TN_I_HOISTED;
        } else {
            s->at = w->known_at[w->parts.from_input[k]];
            s->from = s->at < w->l.index    ? TN_I_NUMBER
                      : s->at < carry_in(w) ? TN_I_CONST
                      : s->at < x_in(w)     ? TN_I_ENTERING
                                            : TN_I_ENTRY;
        }
    }
    return true;
}

static void number(work *w) {
    for (uint32_t k = 0; k < w->nres; k++) {
        residual *s = &w->res[k];
        if (s->from == TN_I_HOISTED) s->place = w->nhoist++;
        if (s->from == TN_I_STACKED || s->from == TN_I_ENTERING) s->place = w->nstack++;
    }
}

/* What depends on consts alone is computed here, where the loop stands; without effects, which the steps have. */
static bool hoist(work *w) {
    const tn_fn *known = w->parts.known;
    tn_i_rule *r = w->r;
    bool *used = room(w, known->nout, sizeof *used);
    w->hoisted = room(w, w->nhoist, sizeof *w->hoisted);
    tn_i_var *args = room(w, known->nin, sizeof *args), *outs = room(w, known->nout, sizeof *outs);
    if (r->b->failed) return false;
    if (!w->nhoist) return true;
    for (uint32_t k = 0; k < w->nres; k++) used[w->res[k].at] |= w->res[k].from == TN_I_HOISTED;
    const bool quiet = r->quiet;
    r->quiet = true;
    const tn_i_memo_entry *e = tn_i_nested_prune(r, known, used);
    r->quiet = quiet;
    if (!e) return false;
    const uint32_t *to = tn_i_pruned_outputs(e), *from = tn_i_pruned_inputs(e, known->nout);
    for (uint32_t i = 0; i < known->nin; i++)
        if (from[i] != TN_NOVAR) args[from[i]] = r->in[tn_i_loop_operand(&w->l, w->known_at[i])];
    tn_i_inline(r->b, e->result[0], args, outs);
    for (uint32_t k = 0; k < w->nres; k++)
        if (w->res[k].from == TN_I_HOISTED) w->hoisted[w->res[k].place] = outs[to[w->res[k].at]];
    return !r->b->failed;
}

/* ---- the known loop --------------------------------------------------------------- */

static tn_fn *known_body(work *w) {
    const tn_fn *known = w->parts.known;
    const tn_type **type = room(w, known->nin, sizeof *type);
    uint32_t *from = room(w, known->nin, sizeof *from), *out = room(w, (size_t)w->nknown_out + w->nres, sizeof *out);
    if (w->r->b->failed) return NULL;
    tn_i_wiring k = {.nin = known->nin, .in = type, .from = from, .out = out};
    for (uint32_t i = 0; i < known->nin; i++) {
        from[i] = i;
        type[i] = known->val[i].type;
    }
    for (uint32_t j = 0; j < w->nknown_out; j++) out[k.nout++] = j;
    for (uint32_t s = 0; s < w->nres; s++) {
        const residual *res = &w->res[s];
        if (res->from == TN_I_STACKED) out[k.nout++] = res->at;
        if (res->from == TN_I_ENTERING) out[k.nout++] = TN_WIRE_INPUT | w->known_of[res->at];
    }
    return tn_i_rewire(known, &k);
}

/* The condition of the known carries: it depends on no other. */
static tn_fn *known_cond(work *w, const tn_i_loop_eqn *to) {
    static const bool used[1] = {true};
    const tn_fn *f = w->l.cond;
    const tn_i_memo_entry *e = tn_i_nested_prune(w->r, f, used);
    const size_t n = (size_t)to->ncond + to->ncarry;
    const tn_type **type = room(w, n, sizeof *type);
    uint32_t *wire = room(w, f->nin, sizeof *wire), next = 0;
    static const uint32_t out[1] = {0};
    if (!e || w->r->b->failed) return NULL;
    const uint32_t *from = tn_i_pruned_inputs(e, f->nout);
    for (uint32_t i = 0; i < f->nin; i++) {
        const bool known = i < w->l.ncond || !w->unknown[carry_in(w) + i - w->l.ncond];
        if (from[i] != TN_NOVAR && !known) {
            tn_i_rule_fail(w->r, TN_ELINEAR, -1, "the condition depends on a linear input");
            return NULL;
        }
        if (known) type[next] = f->val[i].type;
        if (from[i] != TN_NOVAR) wire[from[i]] = next;
        next += known;
    }
    const tn_i_wiring k = {.nin = next, .nout = 1, .in = type, .from = wire, .out = out};
    return tn_i_rewire(e->result[0], &k);
}

/* The known loop's outputs, in their places. */
static void known_results(work *w, const tn_i_var *v, tn_i_var *out) {
    const tn_i_loop_eqn *l = &w->l;
    for (uint32_t j = 0; j < l->ncarry; j++)
        if (!w->out[j]) out[j] = *v++;
    if (l->is_while) {
        w->count = *v++;
        if (l->count) out[l->ncarry] = w->count;
    }
    for (uint32_t j = 0; j < l->ny; j++)
        if (!w->out[l->ncarry + j]) out[tn_i_loop_y0(l) + j] = *v++;
    for (uint32_t k = 0; k < w->nstack; k++) w->stack[k] = *v++;
}

static bool emit_known(work *w, tn_i_var *out) {
    const tn_i_loop_eqn *l = &w->l;
    tn_i_rule *r = w->r;
    tn_i_loop_eqn to = *l;
    to.count = l->is_while;
    to.nconst = to.ncarry = to.nx = 0;
    tn_i_var *in = room(w, r->nin, sizeof *in);
    w->stack = room(w, w->nstack, sizeof *w->stack);
    if (r->b->failed) return false;
    uint32_t n = 0;
    for (uint32_t i = 0; i < tn_i_loop_const0(l); i++) in[n++] = r->in[i];
    for (uint32_t i = tn_i_loop_const0(l); i < r->nin; i++) {
        const uint32_t inner = tn_i_loop_inner(l, i);
        if (w->unknown[inner]) continue;
        in[n++] = r->in[i];
        to.nconst += inner < carry_in(w);
        to.ncarry += inner >= carry_in(w) && inner < x_in(w);
        to.nx += inner >= x_in(w);
    }
    w->count = l->counted ? r->in[0] : TN_NOVAR;
    if (!w->nknown_out && !w->nstack && !l->is_while && !w->parts.known->effect) return true;
    tn_fn *body = known_body(w), *cond = body && l->is_while ? known_cond(w, &to) : NULL;
    tn_i_var *v = body ? room(w, (size_t)body->nout + 1, sizeof *v) : NULL;
    bool ok = v && (cond || !l->is_while);
    if (ok) {
        to.body = body;
        to.cond = cond;
        to.ny = body->nout - to.ncarry;
        ok = tn_i_loop_emit_once(r, &to, w->nstack, in, v);
    }
    if (ok) known_results(w, v, out);
    tn_i_fn_unref(body);
    tn_i_fn_unref(cond);
    return ok;
}

/* ---- the linear loop ---------------------------------------------------------------- */

static bool constant_residual(const residual *s) {
    return s->from == TN_I_CONST || s->from == TN_I_HOISTED || s->from == TN_I_INITIAL || s->from == TN_I_WHOLE;
}

static tn_i_var residual_operand(const work *w, const residual *s) {
    switch (s->from) {
    case TN_I_HOISTED: return w->hoisted[s->place];
    case TN_I_STACKED:
    case TN_I_ENTERING: return w->stack[s->place];
    case TN_I_WHOLE: return w->stack[w->res[s->at].place];
    default: return w->r->in[tn_i_loop_operand(&w->l, s->at)];
    }
}

/* Inputs of the linear step in the order that a scan has them: number, consts, carry, entries. */
typedef struct layout {
    tn_i_loop_eqn to;
    tn_i_wiring k;
    const tn_type **type;
    uint32_t *from, *out;
    tn_i_var *in;
    uint32_t n;
} layout;

static void put(layout *y, const tn_fn *f, uint32_t input, tn_i_var operand) {
    y->from[input] = y->k.nin;
    y->type[y->k.nin++] = f->val[input].type;
    y->in[y->n++] = operand;
}

static void put_unknown(work *w, layout *y, uint32_t first, uint32_t end, uint32_t *next, uint32_t *count) {
    for (uint32_t i = first; i < end; i++) {
        if (!w->unknown[i]) continue;
        put(y, w->linear, (*next)++, w->r->in[tn_i_loop_operand(&w->l, i)]);
        ++*count;
    }
}

static void put_residuals(work *w, layout *y, bool constant, uint32_t *count) {
    for (uint32_t k = 0; k < w->nres; k++) {
        if (w->res[k].from == TN_I_NUMBER || constant_residual(&w->res[k]) != constant) continue;
        put(y, w->linear, k, residual_operand(w, &w->res[k]));
        ++*count;
    }
}

static bool lay_out(work *w, layout *y) {
    const tn_fn *f = w->linear;
    const tn_i_loop_eqn *l = &w->l;
    uint32_t next = w->nres;
    y->type = room(w, (size_t)f->nin, sizeof *y->type);
    y->from = room(w, f->nin, sizeof *y->from);
    y->out = room(w, f->nout, sizeof *y->out);
    y->in = room(w, (size_t)f->nin + 1, sizeof *y->in);
    if (w->r->b->failed) return false;
    y->to = (tn_i_loop_eqn){
        .counted = l->length == TN_I_STEPS, .length = l->length, .reverse = l->reverse, .schedule = l->schedule};
    if (y->to.counted) y->in[y->n++] = w->count;
    for (uint32_t k = 0; k < w->nres; k++) {
        if (w->res[k].from != TN_I_NUMBER) continue;
        y->from[k] = 0;
        y->type[0] = f->val[k].type;
        y->to.index = true;
        y->k.nin = 1;
    }
    put_residuals(w, y, true, &y->to.nconst);
    put_unknown(w, y, l->index, carry_in(w), &next, &y->to.nconst);
    put_unknown(w, y, carry_in(w), x_in(w), &next, &y->to.ncarry);
    put_residuals(w, y, false, &y->to.nx);
    put_unknown(w, y, x_in(w), l->body->nin, &next, &y->to.nx);
    for (uint32_t j = 0; j < f->nout; j++) y->out[j] = j;
    y->k.nout = f->nout;
    y->to.ny = f->nout - y->to.ncarry;
    y->k.in = y->type;
    y->k.from = y->from;
    y->k.out = y->out;
    return true;
}

static bool emit_linear(work *w, tn_i_var *out) {
    layout y = {0};
    if (w->linear->nout == 0) return true;
    if (!lay_out(w, &y)) return false;
    tn_fn *body = tn_i_rewire(w->linear, &y.k);
    y.to.body = body;
    tn_i_var v = body ? tn_i_loop_emit(w->r, &y.to, y.in) : TN_NOVAR;
    tn_i_fn_unref(body);
    if (v == TN_NOVAR) return false;
    for (uint32_t j = 0; j < w->l.body->nout; j++)
        if (w->out[j]) out[j < w->l.ncarry ? j : j + w->l.count] = v++;
    return true;
}

static bool split(work *w, const bool *unknown, tn_i_var *out, const tn_i_plan_by *how) {
    if (!find_unknown(w, unknown) || !split_body(w, how) || !classify(w) || !tn_i_loop_spare(w, how)) return false;
    number(w);
    return hoist(w) && emit_known(w, out) && tn_i_loop_last(w, how, out) && emit_linear(w, out);
}

void tn_i_loop_split(tn_i_rule *r, const bool *unknown, tn_i_var *out, const tn_i_plan_by *how) {
    work w = {.r = r};
    tn_i_plan_by steps = *how;
    tn_i_loop_of(r->e->prim, r->p, r->nin, &w.l);
    tn_i_arena_init(&w.a, r->b->ctx);
    steps.times = (how->times > 0 ? how->times : 1) * (w.l.length > 0 ? (double)w.l.length : MANY);
    if (!split(&w, unknown, out, &steps)) r->b->failed = true;
    tn_i_fn_unref(w.linear);
    tn_i_parts_free(&w.parts);
    tn_i_arena_free(&w.a);
}
