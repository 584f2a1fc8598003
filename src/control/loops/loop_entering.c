/* Fewer stacks of what enters a step.
 *
 * What enters step i is what step i - 1 left.  Where that is a function of carries that enter step i too, of consts and
 * of the number, and the policy would have it computed again, the linear step does so and needs no stack of it.  A
 * policy may go further (`across`): the residuals of step i - 1 are at hand as well, read from their stacks one entry
 * off. Those stacks are then read outside their entries' turn, so this is for loops of known length alone; and where a
 * schedule brings stacks back entry by entry it is no gain.  So such a carry is had in both ways (control/either.h),
 * until the program is planned.  What enters the first step is the loop's operand. */
#include "control/cond.h"
#include "control/either.h"
#include "control/loops/loop_split.h"

#include "prims/ids.h"
#include "prims/arrays/shape.h"

#include <string.h>

typedef tn_i_loop_halves work;
typedef tn_i_residual residual;

enum { KEPT, LEANT_ON, SPARED };

/* What a carry is made again from. */
typedef struct leaf {
    tn_i_var v; /* in the known step */
    enum { NUMBER_BEFORE, CONSTANT, SAME, ENTRY_BEFORE } as;
    uint32_t
        of; /* CONSTANT: the body's input; SAME, ENTRY_BEFORE: the residual that has it, at this step or the last */
    uint32_t at; /* the new linear step's input */
} leaf;

/* One spared residual. */
typedef struct recipe {
    uint32_t residual;
    tn_fn *branch[2]; /* initial, leaves.. -> the carry: made again; the initial one */
    leaf *leaf;
    uint32_t nleaf;
    bool across;      /* of entries of the step before: the residual stays beside it */
    uint32_t initial; /* the new linear step's input */
} recipe;

typedef struct spare {
    work *w;
    const tn_fn *known;
    const tn_i_plan_by *how;
    bool across;
    bool last;        /* what the last step leaves is asked for, of its own residuals */
    uint8_t *state;   /* per residual */
    tn_i_var *leaves; /* per residual: the known step's value that is this residual's in the next step, or TN_NOVAR */
    uint32_t *made;   /* per value of the known step: the STACKED or HOISTED residual that it is, or TN_NOVAR */
    uint8_t *want;    /* per value: the attempt's */
    recipe *recipe;
    uint32_t nrecipe;
} spare;

static uint32_t carry_in(const work *w) { return tn_i_loop_inner(&w->l, tn_i_loop_carry0(&w->l)); }

/* ---- what is at hand ------------------------------------------------------------------ */

/* Where the known step leaves carry j. */
static tn_i_var left(const work *w, uint32_t j) {
    uint32_t at = 0;
    for (uint32_t i = 0; i < j; i++) at += !w->out[i];
    return w->parts.known->out[at];
}

static bool begin(spare *s) {
    work *w = s->w;
    const tn_fn *f = s->known;
    s->state = tn_i_halves_room(w, w->nres, 1);
    s->leaves = tn_i_halves_room(w, w->nres, sizeof *s->leaves);
    s->made = tn_i_halves_room(w, f->nval, sizeof *s->made);
    s->want = tn_i_halves_room(w, f->nval, 1);
    s->recipe = tn_i_halves_room(w, w->nres, sizeof *s->recipe);
    if (w->r->b->failed) return false;
    for (uint32_t v = 0; v < f->nval; v++) s->made[v] = TN_NOVAR;
    for (uint32_t k = 0; k < w->parts.nres; k++) {
        const residual *r = &w->res[k];
        s->leaves[k] = r->from == TN_I_ENTERING ? left(w, r->at - carry_in(w)) : TN_NOVAR;
        if (r->spared) s->state[k] = SPARED;
        if (r->from == TN_I_STACKED || r->from == TN_I_HOISTED) s->made[f->out[r->at]] = k;
    }
    return true;
}

/* The residual that the known step's input i is; TN_NOVAR: none. */
static uint32_t residual_of_input(const spare *s, uint32_t i) {
    const work *w = s->w;
    for (uint32_t k = 0; k < w->parts.nres; k++)
        if (w->parts.from_input[k] == i) return k;
    return TN_NOVAR;
}

static bool entry_before(const spare *s, uint32_t k, const tn_type *entry, leaf *out) {
    if (!s->across || s->state[k] == SPARED || tn_i_has_steps(entry) || entry->rank == TN_MAX_RANK) return false;
    out->as = ENTRY_BEFORE;
    out->of = k;
    return true;
}

static bool input_leaf(const spare *s, uint32_t target, uint32_t i, leaf *out) {
    const work *w = s->w;
    const uint32_t at = w->known_at[i], k = residual_of_input(s, i);
    if (at < carry_in(w)) {
        out->as = at < w->l.index ? NUMBER_BEFORE : CONSTANT;
        out->of = at;
        return true;
    }
    if (k == TN_NOVAR || k == target || w->res[k].from != TN_I_ENTERING) return false;
    return entry_before(s, k, s->known->val[i].type, out);
}

/* Whether v of the step before is at hand in a step that makes residual `target` again. */
static bool find_leaf(const spare *s, uint32_t target, tn_i_var v, leaf *out) {
    const work *w = s->w;
    *out = (leaf){.v = v, .as = SAME};
    for (uint32_t k = 0; k < w->parts.nres; k++) {
        if (s->last || k == target || s->leaves[k] != v || s->state[k] == SPARED) continue;
        out->of = k;
        return true;
    }
    if (v < s->known->nin) return input_leaf(s, target, v, out);
    const uint32_t k = s->made[v];
    if (k == TN_NOVAR) return false;
    if (w->res[k].from == TN_I_STACKED) return entry_before(s, k, s->known->val[v].type, out);
    out->of = k;
    return true;
}

static bool has_effect(const tn_i_eqn *e) { return e->prim->effect && e->prim->effect(tn_i_p(e)); }

/* What v has to be made of: its leaves, and in want[] the equations' outputs.  false: not at hand. */
static bool find_leaves(spare *s, tn_i_var v, recipe *y) {
    const tn_fn *f = s->known;
    leaf *at = tn_i_halves_room(s->w, f->nval, sizeof *at);
    if (!at) return false;
    y->leaf = at;
    memset(s->want, 0, f->nval);
    s->want[v] = 1;
    for (uint32_t u = f->nval; u-- > 0;) {
        if (!s->want[u] || tn_i_is_literal(f, u)) continue;
        if (find_leaf(s, y->residual, u, &at[y->nleaf])) {
            s->want[u] = 0;
            y->nleaf++;
            continue;
        }
        const tn_i_eqn *e = f->val[u].def < TN_DEF_LITERAL ? &f->eqn[f->val[u].def] : NULL;
        if (!e || has_effect(e)) return false;
        for (uint32_t i = 0; i < e->nin; i++) s->want[tn_i_in(f, e)[i]] = 1;
    }
    return true;
}

/* ---- programs that make it ------------------------------------------------------------- */

/* Equations that the last search found. */
static void copy_wanted(const spare *s, tn_i_builder *b, tn_i_var *map) {
    const tn_fn *f = s->known;
    for (uint32_t i = 0; i < f->neqn && !b->failed; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        bool wanted = false;
        for (uint32_t j = 0; j < e->nout; j++) wanted |= s->want[e->out + j] && map[e->out + j] == TN_NOVAR;
        if (wanted) tn_i_copy_eqn(b, f, e, map);
    }
}

/* Of the leaves, which become inputs, the carry. */
static bool emit_again(spare *s, const recipe *y, tn_i_builder *b, tn_i_var *map, tn_i_var v, tn_i_var *again) {
    const tn_fn *f = s->known;
    for (uint32_t k = 0; k < y->nleaf; k++) map[y->leaf[k].v] = tn_i_input(b, f->val[y->leaf[k].v].type, false);
    copy_wanted(s, b, map);
    *again = b->failed ? TN_NOVAR : tn_i_mapped(b, f, map, v);
    return *again != TN_NOVAR;
}

typedef enum what { AGAIN, INITIAL, EITHER } what;

/* AGAIN, INITIAL: (initial, leaves..) -> one of the two carries; EITHER: (first, initial, leaves..) -> the one or the
 * other. */
static tn_fn *program(spare *s, const recipe *y, tn_i_var v, what which) {
    const tn_fn *f = s->known;
    static const tn_type flag = {.dtype = TN_BOOL};
    tn_i_builder b;
    tn_i_var *map = tn_i_map_new(f), first = TN_NOVAR, again, out;
    if (!map) return NULL;
    tn_i_builder_init(&b, f->ctx);
    b.named_after = f;
    b.regions = f->regions;
    b.loc = s->w->r->e->loc;
    if (which == EITHER) first = tn_i_input(&b, &flag, false);
    const tn_i_var initial = tn_i_input(&b, f->val[v].type, false);
    const bool ok = emit_again(s, y, &b, map, v, &again);
    out = which == INITIAL ? initial : again;
    if (ok && which == EITHER) out = tn_i_op3(&b, TN_P_select, first, initial, again);
    tn_fn *g = NULL;
    if (ok)
        g = tn_i_finish(&b, 1, &out);
    else
        tn_i_builder_drop(&b);
    tn_i_map_free(f, map);
    return g;
}

/* Whether the policy would have all of the carry computed again, given its leaves; not where nothing has to be. */
static bool policy_agrees(spare *s, const recipe *y, tn_i_var v, bool *agrees) {
    tn_fn *f = program(s, y, v, EITHER);
    uint8_t *sets = f ? tn_i_alloc_array(f->ctx, f->nval, 3) : NULL;
    bool ok = sets != NULL;
    if (ok) {
        uint8_t *known = sets, *needed = sets + f->nval, *save = sets + 2 * (size_t)f->nval;
        const tn_i_boundary q = {.f = f, .known = known, .needed = needed, .times = s->how->times};
        memset(known, 1, f->nval);
        const tn_i_var either = f->out[0]; /* a select: its condition is an input, and its cases are not the same */
        needed[tn_i_in(f, &f->eqn[f->val[either].def])[2]] = 1;
        ok = s->how->plan(s->how, &q, save);
        *agrees = true;
        for (tn_i_var u = f->nin; u < f->nval; u++)
            if (u != either && f->val[u].def < TN_DEF_LITERAL && save[u] != TN_RECOMPUTE) *agrees = false;
    }
    if (f) tn_i_free(f->ctx, sets, (size_t)f->nval * 3);
    tn_i_fn_unref(f);
    return ok;
}

/* ---- which are spared --------------------------------------------------------------------- */

static bool attempt(spare *s, uint32_t k) {
    const tn_i_var v = s->leaves[k];
    recipe y = {.residual = k};
    bool agrees = false;
    if (!find_leaves(s, v, &y)) return !s->w->r->b->failed;
    if (!policy_agrees(s, &y, v, &agrees)) return false;
    if (!agrees) return true;
    y.branch[0] = program(s, &y, v, AGAIN);
    y.branch[1] = y.branch[0] ? program(s, &y, v, INITIAL) : NULL;
    for (uint32_t i = 0; i < y.nleaf; i++) y.across |= y.leaf[i].as == ENTRY_BEFORE;
    s->recipe[s->nrecipe++] = y;
    if (!y.branch[1]) return false;
    s->state[k] = SPARED;
    for (uint32_t i = 0; i < y.nleaf; i++)
        if (y.leaf[i].as >= SAME) s->state[y.leaf[i].of] = LEANT_ON;
    return true;
}

/* The step has to be told from the first one: by its number. */
static bool find_recipes(spare *s) {
    const work *w = s->w;
    if (w->l.reverse && w->l.length == TN_I_STEPS) return true;
    for (uint32_t k = 0; k < w->nres; k++)
        if (w->res[k].from == TN_I_ENTERING && s->state[k] == KEPT && !attempt(s, k)) return false;
    return true;
}

/* ---- the linear step ------------------------------------------------------------------------ */

/* The step's inputs: residuals, among them new ones, then what is unknown. */
typedef struct inputs {
    residual *res;
    const tn_type **entry; /* of each, at one step */
    uint32_t n;
    uint32_t number;
} inputs;

static uint32_t add(inputs *x, tn_i_source from, uint32_t at, const tn_type *entry) {
    for (uint32_t k = 0; k < x->n; k++)
        if (x->res[k].from == from && x->res[k].at == at) return k;
    x->res[x->n] = (residual){.from = from, .at = at};
    x->entry[x->n] = entry;
    return x->n++;
}

static void add_leaf(const spare *s, inputs *x, leaf *y) {
    const tn_type *t = s->known->val[y->v].type;
    if (y->as == SAME) y->at = y->of;
    if (y->as == CONSTANT) y->at = add(x, TN_I_CONST, y->of, t);
    if (y->as == ENTRY_BEFORE) y->at = add(x, TN_I_WHOLE, y->of, t);
}

/* A residual that was there keeps its number. */
static bool find_inputs(spare *s, inputs *x) {
    static const tn_type number = {.dtype = TN_I64};
    work *w = s->w;
    size_t most = (size_t)w->nres + 1 + s->nrecipe;
    for (uint32_t i = 0; i < s->nrecipe; i++) most += s->recipe[i].nleaf;
    *x = (inputs){.res = tn_i_halves_room(w, most, sizeof *x->res),
                  .entry = tn_i_halves_room(w, most, sizeof *x->entry)};
    if (w->r->b->failed) return false;
    for (uint32_t k = 0; k < w->nres; k++) {
        x->res[k] = w->res[k];
        x->entry[k] = w->linear->val[k].type;
    }
    x->n = w->nres;
    for (uint32_t i = 0; i < s->nrecipe; i++) {
        recipe *y = &s->recipe[i];
        residual *k = &x->res[y->residual];
        y->initial = y->residual;
        k->spared = y->across;
        if (y->across)
            y->initial = add(x, TN_I_INITIAL, k->at, x->entry[y->residual]);
        else
            k->from = TN_I_INITIAL;
    }
    x->number = add(x, TN_I_NUMBER, 0, &number);
    for (uint32_t i = 0; i < s->nrecipe; i++)
        for (uint32_t j = 0; j < s->recipe[i].nleaf; j++) add_leaf(s, x, &s->recipe[i].leaf[j]);
    return true;
}

static void emit_inputs(const spare *s, const inputs *x, tn_i_builder *b) {
    const work *w = s->w;
    const tn_fn *f = w->linear;
    for (uint32_t k = 0; k < x->n && !b->failed; k++) {
        tn_type t = *x->entry[k];
        if (x->res[k].from == TN_I_WHOLE && !tn_i_stack_type(x->entry[k], w->l.length, &t)) b->failed = true;
        (void)tn_i_input(b, &t, false);
    }
    for (uint32_t i = w->nres; i < f->nin && !b->failed; i++)
        (void)tn_i_input(b, f->val[i].type, f->val[i].linear != 0);
}

static bool replayed(const work *w) { return w->l.schedule && strcmp(w->l.schedule, "all_save") != 0; }

/* The entry of the step before; in the first step, where it is not looked at, some entry. */
static tn_i_var emit_entry_before(tn_i_builder *b, tn_i_var stack, tn_i_var number_before) {
    if (b->failed || number_before == TN_NOVAR) return TN_NOVAR;
    const tn_type t = *tn_i_vtype(b, stack);
    int64_t size[TN_MAX_RANK];
    tn_i_var index[TN_MAX_RANK];
    for (int i = 0; i < t.rank; i++) {
        size[i] = i ? t.dim[i] : 1;
        index[i] = i ? tn_i_literal_i64(b, TN_I64, 0) : number_before;
    }
    const tn_i_var entry = tn_i_dynamic_slice(b, stack, index, size);
    return entry == TN_NOVAR ? entry : tn_i_reshape(b, entry, t.rank - 1, t.dim + 1);
}

static tn_i_var emit_recipe(spare *s, const inputs *x, tn_i_builder *b, const recipe *y) {
    const work *w = s->w;
    const int64_t first = w->l.reverse ? w->l.length - 1 : 0;
    const tn_i_var one = tn_i_literal_i64(b, TN_I64, 1), start = tn_i_literal_i64(b, TN_I64, first);
    const tn_i_var before = tn_i_op2(b, w->l.reverse ? TN_P_add : TN_P_sub, x->number, one);
    tn_i_var *in = tn_i_halves_room(s->w, (size_t)y->nleaf + 2, sizeof *in);
    if (!in) {
        b->failed = true;
        return TN_NOVAR;
    }
    in[0] = tn_i_op2(b, TN_P_eq, x->number, start);
    in[1] = y->initial;
    for (uint32_t i = 0; i < y->nleaf; i++) {
        const leaf *k = &y->leaf[i];
        in[2 + i] = k->as == NUMBER_BEFORE  ? before
                    : k->as == ENTRY_BEFORE ? emit_entry_before(b, k->at, before)
                                            : k->at;
    }
    const tn_fn *const branches[2] = {y->branch[0], y->branch[1]};
    const tn_i_param p = {.kind = TN_K_FNS, .n = 2, .u.fns = branches};
    const tn_i_var made = tn_i_emit(b, tn_i_prim(b, TN_P_cond), &p, y->nleaf + 2, in);
    return y->across ? tn_i_either(b, made, y->residual, replayed(w)) : made;
}

static tn_fn *linear_step(spare *s, const inputs *x) {
    work *w = s->w;
    const tn_fn *f = w->linear;
    tn_i_var *args = tn_i_halves_room(w, f->nin, sizeof *args), *out = tn_i_halves_room(w, f->nout, sizeof *out);
    if (w->r->b->failed) return NULL;
    tn_i_builder b;
    tn_i_builder_init(&b, f->ctx);
    b.named_after = f;
    b.regions = f->regions;
    b.loc = w->r->e->loc;
    emit_inputs(s, x, &b);
    for (uint32_t k = 0; k < f->nin; k++) args[k] = k < w->nres ? k : x->n + k - w->nres;
    for (uint32_t i = 0; i < s->nrecipe && !b.failed; i++)
        args[s->recipe[i].residual] = emit_recipe(s, x, &b, &s->recipe[i]);
    if (!b.failed) tn_i_inline(&b, f, args, out);
    return tn_i_finish(&b, f->nout, out);
}

static bool rebuild(spare *s) {
    work *w = s->w;
    inputs x;
    tn_fn *f = find_inputs(s, &x) ? linear_step(s, &x) : NULL;
    if (!f) return false;
    tn_i_fn_unref(w->linear);
    w->linear = f;
    w->res = x.res;
    w->nres = x.n;
    return true;
}

static bool entries_are_numbered(const work *w) { return w->l.length != TN_I_STEPS && w->l.length > 1; }

bool tn_i_loop_spare(work *w, const tn_i_plan_by *how) {
    spare s = {.w = w, .known = w->parts.known, .how = how, .across = how->across && entries_are_numbered(w)};
    bool ok = begin(&s) && find_recipes(&s) && (s.nrecipe == 0 || rebuild(&s));
    for (uint32_t i = 0; i < s.nrecipe; i++) {
        tn_i_fn_unref(s.recipe[i].branch[0]);
        tn_i_fn_unref(s.recipe[i].branch[1]);
    }
    return ok;
}

/* ---- what the loop leaves ---------------------------------------------------------------------- */

static tn_i_var emit_last_entry(const work *w, tn_i_var stack) {
    tn_i_builder *b = w->r->b;
    const tn_type t = *tn_i_vtype(b, stack);
    int64_t start[TN_MAX_RANK] = {w->l.reverse ? 0 : w->l.length - 1}, limit[TN_MAX_RANK];
    for (int i = 0; i < t.rank; i++) limit[i] = i ? t.dim[i] : start[0] + 1;
    const tn_i_var entry = tn_i_slice(b, stack, start, limit, NULL);
    return entry == TN_NOVAR ? entry : tn_i_reshape(b, entry, t.rank - 1, t.dim + 1);
}

static tn_i_var emit_last_leaf(const work *w, const leaf *y) {
    const residual *k = &w->res[y->of];
    switch (y->as) {
    case NUMBER_BEFORE: return tn_i_literal_i64(w->r->b, TN_I64, w->l.reverse ? 0 : w->l.length - 1);
    case CONSTANT: return w->r->in[tn_i_loop_operand(&w->l, y->of)];
    case SAME: return w->hoisted[k->place];
    default: return emit_last_entry(w, w->stack[k->place]);
    }
}

static bool emit_last(spare *s, const recipe *y, tn_i_var v, tn_i_var *out) {
    const tn_fn *f = s->known;
    tn_i_builder *b = s->w->r->b;
    tn_i_var *map = tn_i_map_new(f);
    if (!map) return false;
    for (uint32_t i = 0; i < y->nleaf; i++) map[y->leaf[i].v] = emit_last_leaf(s->w, &y->leaf[i]);
    copy_wanted(s, b, map);
    if (!b->failed) *out = tn_i_either(b, tn_i_mapped(b, f, map, v), *out, replayed(s->w));
    tn_i_map_free(f, map);
    return !b->failed;
}

bool tn_i_loop_last(work *w, const tn_i_plan_by *how, tn_i_var *out) {
    spare s = {.w = w, .known = w->parts.known, .how = how, .across = true, .last = true};
    if (!how->across || !entries_are_numbered(w)) return true;
    bool ok = begin(&s);
    for (uint32_t j = 0; ok && j < w->l.ncarry; j++) {
        recipe y = {.residual = TN_NOVAR};
        bool agrees = false;
        if (w->out[j] || tn_i_has_steps(s.known->val[left(w, j)].type)) continue;
        if (!find_leaves(&s, left(w, j), &y)) {
            ok = !w->r->b->failed;
            continue;
        }
        ok = policy_agrees(&s, &y, left(w, j), &agrees) && (!agrees || emit_last(&s, &y, left(w, j), &out[j]));
    }
    return ok;
}
