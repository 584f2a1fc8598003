/* Loop-invariant code motion, for scans and whiles: the step's equations over constants alone are emitted where the
 * loop stands, and their results are constants of the loop. Derivatives are taken of what comes out: cotangents of a
 * view of a constant are then summed as views, and put together once, behind the loop.
 *
 * What is in no step, or may fail where there is no step, stays; so does what has an effect, what a policy has computed
 * again (a region), and what an equation outside would contract (its bits are decided by what made its operands). */
#include "base/machine.h"
#include "control/loops/invariant.h"

#include "checkpoint/cost_model.h"
#include "control/loops/loop.h"
#include "ir/seen.h"
#include "prims/ids.h"

#include <string.h>

/* bytes: a result that is kept whatever it is made of, to be derived or run; how many equations may move, at most, for
 * each one that there is, because programs that many loops share move out of each. */
enum { NUMBER = 16, MOVES = 16 };

typedef struct walk {
    tn_i_memo memo;
    tn_i_motion motion;
    size_t moves; /* left */
} walk;

/* A program of a loop, and the place where the loop stands. */
typedef struct program {
    walk *w;
    const tn_fn *f;
    tn_i_builder *b;
    tn_i_var *outside;   /* of each value: the same one there, or TN_NOVAR */
    double *base;        /* bytes of what it is made of that are kept anyway */
    uint8_t *needed;     /* inside */
    uint8_t *keeps;      /* of each value: it may be a constant of the loop */
    bool certain;        /* there is a step */
    uint32_t first, end; /* inputs that are constants */
} program;

static const char kind;

static tn_fn *reference(const tn_fn *f) { return (tn_fn *)(uintptr_t)tn_i_fn_ref(f); }

/* ---- what may leave -------------------------------------------------------------------------- */

static bool has_effect(const tn_i_eqn *e) { return e->prim->effect && e->prim->effect(tn_i_p(e)); }

static bool is_loop(const tn_i_eqn *e) { return e->prim->id == TN_P_scan || e->prim->id == TN_P_while; }

/* Whether it runs programs or a user's functions, which may fail or take any time. */
static bool runs_others(const tn_i_eqn *e) {
    const tn_fn *const *g;
    bool any = false;
    for (uint32_t k = 0; e->params && k < e->params->n; k++)
        any |= e->params->v[k].kind == TN_K_PTR || tn_i_programs(&e->params->v[k], &g) > 0;
    return any;
}

/* Whether a cotangent of zero gives cotangents of zero: linear in its floats, with finite factors. */
static bool zero_to_zero(const program *m, const tn_i_eqn *e) {
    const tn_i_var *in = tn_i_in(m->f, e);
    bool floats = false;
    for (uint32_t j = 0; j < e->nout; j++) floats |= tn_i_is_float(m->f->val[e->out + j].type->dtype);
    if (!floats) return true;
    for (int k = 0; k < 2 && e->prim->linear[k]; k++) {
        bool all = true;
        for (uint32_t i = 0; i < e->nin; i++) {
            const bool member = e->prim->linear[k] == TN_ALL || (i < 32 && (e->prim->linear[k] >> i & 1));
            const tn_i_val *v = &m->f->val[in[i]];
            all &= member || !tn_i_is_float(v->type->dtype);
        }
        if (all) return true;
    }
    return false;
}

static bool outside(const program *m, const tn_i_eqn *e) {
    const tn_i_var *in = tn_i_in(m->f, e);
    for (uint32_t i = 0; i < e->nin; i++)
        if (!tn_i_is_literal(m->f, in[i]) && m->outside[in[i]] == TN_NOVAR) return false;
    return true;
}

/* A zero is one of each program, like a literal: as a constant of the loop it would be a value, of which nothing says
 * that what adds to it is linear. */
static bool stays_zero(const program *m, tn_i_var v) { return m->w->motion == TN_I_TO_DERIVE && m->f->val[v].zero; }

static bool movable(const program *m, const tn_i_eqn *e) {
    if (e->region || has_effect(e) || !e->nout || !outside(m, e)) return false;
    for (uint32_t j = 0; j < e->nout; j++)
        if (stays_zero(m, e->out + j) || tn_i_has_steps(m->f->val[e->out + j].type)) return false;
    for (uint32_t i = 0; i < e->nin; i++)
        if (tn_i_has_steps(m->f->val[tn_i_in(m->f, e)[i]].type)) return false;
    if (m->certain) return true;
    return !runs_others(e) && (m->w->motion == TN_I_TO_RUN || zero_to_zero(m, e));
}

/* Whether e would be contracted where the loop stands. */
static bool contracts(const program *m, const tn_i_eqn *e) {
    enum { MOST = 2 };
    tn_i_var in[MOST];
    if (!m->b->ctx->contract || !e->prim->contract || e->nin > MOST) return false;
    for (uint32_t i = 0; i < e->nin; i++) in[i] = tn_i_mapped(m->b, m->f, m->outside, tn_i_in(m->f, e)[i]);
    return e->prim->contract(m->b, in, false) != TN_NOVAR;
}

/* ---- what is worth it -------------------------------------------------------------------------- */

static double made_of(const program *m, const tn_i_eqn *e) {
    const tn_i_var *in = tn_i_in(m->f, e);
    double bytes = 0;
    for (uint32_t i = 0; i < e->nin; i++)
        if (!tn_i_is_literal(m->f, in[i]) && (i == 0 || in[i] != in[i - 1])) bytes += m->base[in[i]];
    return bytes;
}

/* Larger than what it is made of: kept where that is cheaper than to make it again, which takes memory as well. */
static bool dear(const program *m, const tn_i_eqn *e, bool *is) {
    const tn_i_cost_model *k = &tn_i_shipped_costs;
    double again, keep = 0;
    *is = false;
    if (!(e->prim->flags & TN_F_COSTLY)) return true;
    if (!tn_i_recompute_ns(k, m->f, e, &again)) return false;
    for (uint32_t j = 0; j < e->nout; j++) {
        const tn_type *t = m->f->val[e->out + j].type;
        keep += tn_i_save_ns(k, t, tn_i_level_of(k, (double)tn_type_bytes(t)), false);
    }
    *is = again > keep;
    return true;
}

/* Zeros are linear, but only where it is seen that they are zeros: an input does not tell. */
static bool are_zeros(const program *m, const tn_i_eqn *e) {
    return m->w->motion == TN_I_TO_DERIVE && e->nout && m->f->val[e->out].zero;
}

static bool weigh(program *m, const tn_i_eqn *e) {
    const double of = made_of(m, e), few = m->w->motion == TN_I_TO_RUN ? TN_M_HOISTED_BYTES : NUMBER;
    double bytes = 0;
    bool keeps = false;
    for (uint32_t j = 0; j < e->nout; j++) bytes += (double)tn_type_bytes(m->f->val[e->out + j].type);
    if (are_zeros(m, e))
        keeps = false;
    else if (e->prim->local ||
             e->prim->flags &
                 TN_F_COMM) /* whatever the sizes are, which may be others on other ranks: once is less than often */
        keeps = true;
    else if (e->nin && bytes <= (of > few ? of : few))
        keeps = true;
    else if (e->nin && !dear(m, e, &keeps))
        return false;
    for (uint32_t j = 0; j < e->nout; j++) {
        m->keeps[e->out + j] = keeps;
        m->base[e->out + j] = keeps ? (double)tn_type_bytes(m->f->val[e->out + j].type) : of;
    }
    return true;
}

/* ---- out of the program --------------------------------------------------------------------------- */

/* All that may leave is emitted; what is then not read is dead there. */
static bool move_out(program *m, const tn_i_var *operand) {
    const tn_fn *f = m->f;
    for (uint32_t i = m->first; i < m->end; i++) {
        m->outside[i] = operand[i - m->first];
        m->base[i] = (double)tn_type_bytes(f->val[i].type);
    }
    for (uint32_t i = 0; i < f->neqn && m->w->moves && !m->b->failed; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        if (!movable(m, e) || contracts(m, e)) continue;
        m->w->moves--;
        tn_i_copy_eqn(m->b, f, e, m->outside);
        if (!m->b->failed && !weigh(m, e)) m->b->failed = true;
    }
    return !m->b->failed;
}

static bool stays(const program *m, const tn_i_eqn *e) {
    bool needed = has_effect(e);
    for (uint32_t j = 0; j < e->nout; j++) needed |= m->needed[e->out + j] && !m->keeps[e->out + j];
    return needed;
}

/* What the equations that stay read; false: none moves. */
static bool find_needed(program *m) {
    const tn_fn *f = m->f;
    bool any = false;
    for (uint32_t j = 0; j < f->nout; j++) m->needed[f->out[j]] = 1;
    for (uint32_t i = f->neqn; i-- > 0;) {
        const tn_i_eqn *e = &f->eqn[i];
        const uint32_t n = stays(m, e) ? e->nin : 0;
        for (uint32_t k = 0; k < n; k++) m->needed[tn_i_in(f, e)[k]] = 1;
    }
    for (uint32_t v = f->nin; v < f->nval; v++) any |= m->keeps[v] && m->needed[v];
    return any;
}

static void input(const program *m, tn_i_builder *b, tn_i_var *map, tn_i_var v) {
    map[v] = tn_i_input(b, m->f->val[v].type, m->f->mixed && m->f->val[v].linear);
}

/* What stays, with constants that are read and, behind them, values from outside: their operands are in `to`. */
static tn_fn *rest(const program *m, tn_i_var *to, uint32_t *n) {
    const tn_fn *f = m->f;
    tn_i_builder b;
    tn_i_var *map = tn_i_map_new(f), *out = tn_i_alloc_array(f->ctx, f->nout, sizeof *out);
    tn_i_builder_init(&b, f->ctx);
    b.named_after = f;
    b.regions = f->regions;
    b.mixed = f->mixed;
    b.failed = !map || !out;
    for (uint32_t i = 0; i < m->first && !b.failed; i++) input(m, &b, map, i);
    for (tn_i_var v = m->first; v < f->nval && !b.failed; v++) {
        if (!m->needed[v] || !(v < m->end || (v >= f->nin && m->keeps[v]))) continue;
        input(m, &b, map, v);
        to[(*n)++] = m->outside[v];
    }
    for (uint32_t i = m->end; i < f->nin && !b.failed; i++) input(m, &b, map, i);
    for (uint32_t i = 0; i < f->neqn && !b.failed; i++) {
        if (!stays(m, &f->eqn[i])) continue;
        b.region = f->eqn[i].region;
        tn_i_copy_eqn(&b, f, &f->eqn[i], map);
    }
    b.region = 0;
    for (uint32_t j = 0; j < f->nout && !b.failed; j++) out[j] = tn_i_mapped(&b, f, map, f->out[j]);
    tn_fn *g = tn_i_finish(&b, f->nout, out);
    if (map) tn_i_map_free(f, map);
    tn_i_free(f->ctx, out, f->nout * sizeof *out);
    return g;
}

/* f, whose inputs first..first + *n are constants, operand[..*n]: what stays of it, a new reference, with as many
 * operands in *to, which the caller releases with room for them. */
static tn_fn *without(walk *w, tn_i_builder *b, const tn_fn *f, bool certain, uint32_t first, uint32_t *n,
                      tn_i_var *operand, tn_i_arena *a, tn_i_var **to) {
    program m = {.w = w, .f = f, .b = b, .certain = certain, .first = first, .end = first + *n};
    *to = operand;
    if (!*n || (f->nlin && !f->mixed)) return reference(f);
    m.outside = tn_i_map_new(f);
    m.base = tn_i_arena_alloc(a, ((size_t)f->nval + 1) * sizeof *m.base);
    m.needed = tn_i_arena_alloc(a, (size_t)f->nval + 1);
    m.keeps = tn_i_arena_alloc(a, (size_t)f->nval + 1);
    *to = tn_i_arena_alloc(a, ((size_t)f->nval + 1) * sizeof **to);
    tn_fn *g = NULL;
    if (m.outside && m.base && m.needed && m.keeps && *to && move_out(&m, operand)) {
        if (find_needed(&m)) {
            *n = 0;
            g = rest(&m, *to, n);
        } else {
            *to = operand;
            g = reference(f);
        }
    }
    if (m.outside) tn_i_map_free(f, m.outside);
    return g;
}

/* ---- the walk ------------------------------------------------------------------------------------- */

typedef struct copy {
    walk *w;
    const tn_fn *f;
    tn_i_builder b;
    tn_i_var *map;
} copy;

/* Of the memo. */
static const tn_fn *moved(walk *w, const tn_fn *f);

/* Puts n operands in front of `at`. */
static uint32_t put(tn_i_var *all, uint32_t at, const tn_i_var *from, uint32_t n) {
    if (n) memcpy(all + at, from, n * sizeof *from);
    return at + n;
}

/* The loop l over `in`, whose programs have been looked at, with what leaves them in front of it. */
static tn_i_var emit_loop(copy *k, const tn_i_loop_eqn *l, tn_i_var *in) {
    tn_i_loop_eqn to = *l;
    tn_i_rule r = {.b = &k->b};
    const tn_i_loc *loc = k->b.loc;
    tn_i_arena a;
    tn_i_var *conds = in, *consts = in + tn_i_loop_const0(l), v = TN_NOVAR;
    const uint32_t carries = tn_i_loop_nin(l) - tn_i_loop_carry0(l);
    tn_i_arena_init(&a, k->f->ctx);
    tn_fn *cond = l->cond ? without(k->w, &k->b, l->cond, true, 0, &to.ncond, in, &a, &conds) : NULL;
    tn_fn *body = !l->cond || cond
                      ? without(k->w, &k->b, l->body, l->length > 0, l->index, &to.nconst, consts, &a, &consts)
                      : NULL;
    tn_i_var *all = body ? tn_i_arena_alloc(&a, ((size_t)to.ncond + to.nconst + carries + 2) * sizeof *all) : NULL;
    if (all) {
        uint32_t n = put(all, 0, conds, l->is_while ? to.ncond : l->counted);
        n = put(all, n, consts, to.nconst);
        (void)put(all, n, in + tn_i_loop_carry0(l), carries);
        to.body = body;
        to.cond = cond;
        k->b.loc = loc;
        v = tn_i_loop_emit(&r, &to, all);
    } else
        k->b.failed = true;
    tn_i_fn_unref(cond);
    tn_i_fn_unref(body);
    tn_i_arena_free(&a);
    return v;
}

/* Programs that e runs, with what leaves the loops in them; `list` is room for those of a list. */
static bool nested(walk *w, const tn_i_eqn *e, tn_i_param *p, const tn_fn **list) {
    for (uint32_t k = 0; k < e->params->n; k++) {
        p[k] = e->params->v[k];
        if (p[k].kind == TN_K_FN && (e->prim->body == (int)k + 1 || e->prim->flags & TN_F_LOOP)) {
            if ((p[k].u.fn = moved(w, p[k].u.fn)) == NULL) return false;
        } else if (p[k].kind == TN_K_FNS && e->prim->flags & TN_F_LOOP) {
            const tn_fn *const *from = p[k].u.fns;
            p[k].u.fns = list;
            for (uint32_t i = 0; i < p[k].n; i++)
                if ((*list++ = moved(w, from[i])) == NULL) return false;
        }
    }
    return true;
}

static void copy_programs(copy *k, const tn_i_eqn *e, uint32_t n) {
    tn_ctx *c = k->f->ctx;
    tn_i_param p[TN_MAX_PARAMS];
    tn_i_loop_eqn l;
    const tn_fn **list = tn_i_alloc_array(c, n, sizeof *list);
    tn_i_var *in = tn_i_alloc_array(c, e->nin, sizeof *in), v = TN_NOVAR;
    if (!list || !in || !nested(k->w, e, p, list)) k->b.failed = true;
    for (uint32_t i = 0; i < e->nin && !k->b.failed; i++) in[i] = tn_i_mapped(&k->b, k->f, k->map, tn_i_in(k->f, e)[i]);
    if (!k->b.failed && is_loop(e)) {
        tn_i_loop_of(e->prim, p, e->nin, &l);
        v = emit_loop(k, &l, in);
    } else if (!k->b.failed)
        v = tn_i_emit(&k->b, e->prim, p, e->nin, in);
    for (uint32_t j = 0; j < e->nout && v != TN_NOVAR; j++) k->map[e->out + j] = v + j;
    tn_i_free(c, (void *)list, n * sizeof *list);
    tn_i_free(c, in, e->nin * sizeof *in);
}

static void step(copy *k, const tn_i_eqn *e) {
    const tn_fn *const *g;
    uint32_t n = 0;
    k->b.region = e->region;
    for (uint32_t i = 0; e->params && i < e->params->n; i++) n += tn_i_programs(&e->params->v[i], &g);
    if (n) {
        k->b.loc = e->loc;
        copy_programs(k, e, n);
    } else
        tn_i_copy_eqn(&k->b, k->f, e, k->map);
}

static tn_fn *rebuilt(walk *w, const tn_fn *f) {
    copy k = {.w = w, .f = f, .map = tn_i_map_new(f)};
    tn_i_var *out = tn_i_alloc_array(f->ctx, f->nout, sizeof *out);
    tn_i_builder_init(&k.b, f->ctx);
    k.b.named_after = f;
    k.b.regions = f->regions;
    k.b.mixed = f->mixed;
    k.b.failed = !k.map || !out;
    for (uint32_t i = 0; i < f->nin && !k.b.failed; i++)
        k.map[i] = tn_i_input(&k.b, f->val[i].type, (f->mixed || f->nlin) && f->val[i].linear);
    for (uint32_t i = 0; i < f->neqn && !k.b.failed; i++) step(&k, &f->eqn[i]);
    k.b.region = 0;
    for (uint32_t j = 0; j < f->nout && !k.b.failed; j++) out[j] = tn_i_mapped(&k.b, f, k.map, f->out[j]);
    tn_fn *g = tn_i_finish(&k.b, f->nout, out);
    if (k.map) tn_i_map_free(f, k.map);
    tn_i_free(f->ctx, out, f->nout * sizeof *out);
    return g;
}

static const tn_fn *moved(walk *w, const tn_fn *f) {
    bool found;
    const tn_i_memo_entry *e = tn_i_memo_find(&w->memo, &kind, f, NULL, 0);
    if (e) return e->result[0];
    if (f->depth < 2)
        found = false;
    else if (!tn_i_any_equation(f, is_loop, &found))
        return NULL;
    tn_fn *g = found ? rebuilt(w, f) : reference(f);
    e = g ? tn_i_memo_add(&w->memo, &kind, f, NULL, 0, g, NULL, NULL, 0) : NULL;
    return e ? e->result[0] : NULL;
}

/* Equations of f and of all programs in it, each once. */
static bool count(const tn_fn *f, size_t *n) {
    tn_i_seen seen;
    uint32_t number;
    bool fresh;
    const tn_fn *const *g;
    tn_i_seen_init(&seen, f->ctx);
    bool ok = tn_i_seen_add(&seen, f, &number, &fresh);
    for (size_t k = 0; ok && k < seen.n; k++) {
        const tn_fn *h = seen.fn[k];
        *n += h->neqn;
        for (uint32_t i = 0; i < h->neqn; i++)
            for (uint32_t j = 0; ok && h->eqn[i].params && j < h->eqn[i].params->n; j++)
                for (uint32_t q = tn_i_programs(&h->eqn[i].params->v[j], &g); ok && q > 0; q--)
                    ok = tn_i_seen_add(&seen, g[q - 1], &number, &fresh);
    }
    tn_i_seen_free(&seen);
    return ok;
}

tn_fn *tn_i_invariants_outside(const tn_fn *f, tn_i_motion motion) {
    walk w = {.motion = motion};
    bool found = false;
    size_t equations = 0;
    if (f->depth > 1 && !tn_i_any_equation(f, is_loop, &found)) return NULL;
    if (!found) return reference(f);
    if (!count(f, &equations)) return NULL;
    w.moves = MOVES * equations;
    tn_i_memo_init(&w.memo, f->ctx);
    const tn_fn *g = moved(&w, f);
    tn_fn *own = g ? reference(g) : NULL;
    tn_i_memo_free(&w.memo);
    return own;
}

tn_fn *tn_i_to_derive(const tn_fn *f) {
    tn_fn *once = tn_i_contracted(f), *g = once ? tn_i_invariants_outside(once, TN_I_TO_DERIVE) : NULL;
    tn_i_fn_unref(once);
    return g;
}
