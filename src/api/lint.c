/* tn_lint: where the branch that a choice does not take has an infinite partial.
 *
 * The cotangent of that branch is 0, and 0 times infinity is NaN.  A choice (TN_F_CHOOSES) is looked at
 * backwards through elementwise equations and views; an equation with a pole (tn_i_pole) that the bounds of its
 * operands do not rule out is reported, unless its operand was chosen by the same condition before ("double
 * where").  What cannot be decided is not reported. */
#include "ir/seen.h"
#include "prims/bounds.h"
#include "prims/ids.h"
#include "prims/arrays/layout.h"

#include <stdio.h>
#include <string.h>

/* The most equations looked at for one branch, and for one operand; and copied for calls. */
enum { BRANCH = 10000, OPERAND = 1000, INLINED = 100000 };

/* A depth-first walk from a value to what it is made of, each value once. */
typedef struct walk {
    uint32_t *seen, serial; /* per value: the last walk that met it */
    tn_i_var *stack;
    size_t n, visited;
} walk;

typedef struct lint {
    const tn_fn *f;
    tn_lint_fn report;
    void *user;
    tn_i_range *range;
    uint8_t *active, *reported; /* per value; per equation */
    uint32_t *about, choice;    /* per value: the last choice by whose condition it is compared; the present one */
    walk branch, operand, condition;
} lint;

/* ---- one program without calls ---------------------------------------------------------- */

static const tn_fn *inlined(const tn_i_eqn *e) {
    return e->prim->flags & TN_F_INLINE ? tn_i_p(e)[e->prim->body - 1].u.fn : NULL;
}

static void flatten(tn_i_builder *b, const tn_fn *f, tn_i_var *map, size_t *budget);

/* Places inside stay, so that what is reported is there. */
static void flatten_call(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, tn_i_var *map, size_t *budget) {
    const tn_fn *g = inlined(e);
    tn_i_var *inner = tn_i_map_new(g);
    if (!inner) b->failed = true;
    for (uint32_t i = 0; i < e->nin && !b->failed; i++) inner[i] = tn_i_mapped(b, f, map, tn_i_in(f, e)[i]);
    if (!b->failed) flatten(b, g, inner, budget);
    for (uint32_t j = 0; j < e->nout && !b->failed; j++) map[e->out + j] = tn_i_mapped(b, g, inner, g->out[j]);
    if (inner) tn_i_map_free(g, inner);
}

static void flatten(tn_i_builder *b, const tn_fn *f, tn_i_var *map, size_t *budget) {
    for (uint32_t i = 0; i < f->neqn && !b->failed; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        b->region = 0; /* equal conditions are to be found equal */
        if (inlined(e) && *budget >= inlined(e)->neqn) {
            *budget -= inlined(e)->neqn;
            flatten_call(b, f, e, map, budget);
        } else
            tn_i_copy_eqn(b, f, e, map);
    }
}

static tn_fn *flat(const tn_fn *f, size_t *budget) {
    tn_i_builder b;
    tn_i_builder_init(&b, f->ctx);
    b.named_after = f;
    tn_i_var *map = tn_i_map_new(f), *out = tn_i_alloc_array(f->ctx, f->nout, sizeof *out);
    if (!map || !out) b.failed = true;
    for (uint32_t i = 0; i < f->nin && !b.failed; i++) map[i] = tn_i_input(&b, f->val[i].type, false);
    if (!b.failed) flatten(&b, f, map, budget);
    for (uint32_t j = 0; j < f->nout && !b.failed; j++) out[j] = tn_i_mapped(&b, f, map, f->out[j]);
    tn_fn *g = tn_i_finish(&b, f->nout, out);
    if (map) tn_i_map_free(f, map);
    tn_i_free(f->ctx, out, f->nout * sizeof *out);
    return g;
}

/* ---- bounds and activity ------------------------------------------------------------------- */

static tn_i_range of_data(const tn_i_blob *k) {
    const int dtype = k->type->dtype;
    const int64_t n = tn_i_count(k->type);
    tn_i_range r = {INFINITY, -INFINITY};
    if (n == 0 || !tn_i_is_float(dtype)) return tn_i_everything;
    for (int64_t i = 0; i < n; i++) {
        const double x = tn_i_element(dtype, (const char *)tn_i_blob_data(k) + i * (int64_t)tn_i_dtype_size(dtype));
        /* NaNs are passed over.  (fmin and fmax here end gcc 12 for arm64 with an internal error.) */
        if (x < r.lo) r.lo = x;
        if (x > r.hi) r.hi = x;
    }
    return r;
}

static tn_i_range range_of(const lint *k, const tn_i_eqn *e) {
    const bool data = e->nin == 0 && e->params && e->params->v[0].kind == TN_K_BLOB;
    return data ? of_data(e->params->v[0].u.blob) : tn_i_eqn_bounds(k->f, e, k->range);
}

/* What has a tangent when every float input has one. */
static void find_facts(lint *k) {
    const tn_fn *f = k->f;
    for (uint32_t v = 0; v < f->nval; v++) {
        k->range[v] = tn_i_is_literal(f, v) ? tn_i_literal_bounds(&f->val[v]) : tn_i_everything;
        k->active[v] = v < f->nin && tn_i_is_float(f->val[v].type->dtype);
    }
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        uint8_t active = 0;
        for (uint32_t n = 0; n < e->nin; n++) active |= k->active[tn_i_in(f, e)[n]];
        for (uint32_t j = 0; j < e->nout; j++) {
            const bool real = tn_i_is_float(f->val[e->out + j].type->dtype) && !(e->prim->flags & TN_F_NODIFF);
            k->active[e->out + j] = active && real;
            if (e->nout == 1) k->range[e->out] = range_of(k, e);
        }
    }
}

/* ---- walking back ------------------------------------------------------------------------------ */

static const tn_i_eqn *made_by(const lint *k, tn_i_var v) {
    const uint32_t def = k->f->val[v].def;
    return def < TN_DEF_LITERAL ? &k->f->eqn[def] : NULL;
}

static void begin(walk *w) {
    w->serial++;
    w->n = w->visited = 0;
}

static void visit(walk *w, tn_i_var v) {
    if (w->seen[v] == w->serial) return;
    w->seen[v] = w->serial;
    w->stack[w->n++] = v;
}

static void visit_operands(const lint *k, walk *w, const tn_i_eqn *e) {
    for (uint32_t i = 0; i < e->nin; i++) visit(w, tn_i_in(k->f, e)[i]);
}

static tn_i_var behind_views(const lint *k, tn_i_var v) {
    for (const tn_i_eqn *e = made_by(k, v); e && (e->prim->flags & TN_F_VIEW); e = made_by(k, v))
        v = tn_i_in(k->f, e)[0];
    return v;
}

/* v is what the choice e takes or replaces. */
static bool is_case(const lint *k, const tn_i_eqn *e, tn_i_var v) {
    for (uint32_t i = 1; i < e->nin; i++)
        if (behind_views(k, tn_i_in(k->f, e)[i]) == v) return true;
    return false;
}

/* The values that the condition of choice e compares: marked with `mark`; or (0) whether one is a case of e, or
 * compared by the present choice. */
static bool compares(lint *k, const tn_i_eqn *choice, uint32_t mark) {
    walk *w = &k->condition;
    begin(w);
    visit(w, tn_i_in(k->f, choice)[0]);
    while (w->n) {
        const tn_i_var v = w->stack[--w->n];
        const tn_i_eqn *e = made_by(k, v);
        const bool inside = k->f->val[v].type->dtype == TN_BOOL || (e && (e->prim->flags & TN_F_VIEW));
        if (tn_i_is_literal(k->f, v)) continue;
        if (e && e->nin && inside && ++w->visited < OPERAND)
            visit_operands(k, w, e);
        else if (mark)
            k->about[v] = mark;
        else if (k->about[v] == k->choice || is_case(k, choice, v))
            return true;
    }
    return false;
}

/* Whether v comes of a choice by what the present choice's condition compares, or by what it replaces, as in
 * where(x > 0, x, 1); also when that would take too long. */
static bool guarded(lint *k, tn_i_var v) {
    walk *w = &k->operand;
    begin(w);
    visit(w, v);
    while (w->n) {
        const tn_i_eqn *e = made_by(k, w->stack[--w->n]);
        if (!e) continue;
        if (++w->visited > OPERAND) return true;
        if ((e->prim->flags & TN_F_CHOOSES) && compares(k, e, 0)) return true;
        visit_operands(k, w, e);
    }
    return false;
}

static bool may_be_at(const tn_i_pole *p, tn_i_range r) {
    if (!p->outside) return r.lo <= p->hi && r.hi >= p->lo;
    return r.lo <= p->lo || (r.hi >= p->hi && isfinite(p->hi));
}

/* The operand of e at whose pole a partial of e may be, or -1. */
static int at_pole(lint *k, const tn_i_eqn *e) {
    const tn_i_pole *pole = &e->prim->pole;
    const tn_i_var *in = tn_i_in(k->f, e);
    tn_i_range few[4];
    int which = -1;
    if (!pole->operands || e->nin > 4 || !tn_i_is_float(k->f->val[e->out].type->dtype)) return -1;
    for (uint32_t i = 0; i < e->nin; i++) {
        few[i] = k->range[in[i]];
        if (!(pole->operands >> i & 1)) continue;
        if (!may_be_at(pole, few[i])) return -1;
        which = (int)i;
    }
    if (e->prim->no_pole && e->prim->no_pole(tn_i_p(e), few)) return -1;
    for (uint32_t i = 0; i < e->nin; i++)
        if ((pole->operands >> i & 1) && guarded(k, in[i])) return -1;
    return which;
}

/* ---- reports ------------------------------------------------------------------------------------ */

static int put_place(char *text, size_t n, const tn_i_loc *at) {
    if (!at || !at->file[0]) return 0;
    if (at->col) return snprintf(text, n, "%s:%u:%u", at->file, (unsigned)at->line, (unsigned)at->col);
    return snprintf(text, n, "%s:%u", at->file, (unsigned)at->line);
}

static void report(lint *k, const tn_i_eqn *e, int operand, const tn_i_eqn *choice) {
    char text[2048], where[512] = "", from[512] = "";
    (void)put_place(where, sizeof where, e->loc);
    (void)put_place(from, sizeof from, choice->loc);
    (void)snprintf(
        text, sizeof text,
        "%s%s%s: the derivative in operand %d may be infinite in the branch that %s%s%s%s does not take, and 0 "
        "times infinity is NaN; choose the operand by the same condition, too, or compile with strict_zero",
        where, where[0] ? ": warning: " : "", e->prim->name, operand, choice->prim->name, from[0] ? " (" : "", from,
        from[0] ? ")" : "");
    const tn_lint_warning w = {.size = sizeof w,
                               .primitive = e->prim->name,
                               .operand = operand,
                               .file = e->loc ? e->loc->file : "",
                               .line = e->loc ? (int)e->loc->line : 0,
                               .scope = e->loc ? e->loc->scope : "",
                               .message = text};
    k->report(k->user, &w);
}

/* One case of a choice, through what keeps elements apart.  Below another choice, that one is asked. */
static void look_at_branch(lint *k, const tn_i_eqn *choice, tn_i_var v) {
    walk *w = &k->branch;
    begin(w);
    visit(w, v);
    while (w->n) {
        const tn_i_var x = w->stack[--w->n];
        const tn_i_eqn *e = made_by(k, x);
        if (!e || !k->active[x] || (e->prim->flags & TN_F_CHOOSES) || ++w->visited > BRANCH) continue;
        const size_t i = (size_t)(e - k->f->eqn);
        const int operand = k->reported[i] ? -1 : at_pole(k, e);
        if (operand >= 0) {
            k->reported[i] = 1;
            report(k, e, operand, choice);
        }
        if (e->prim->flags & (TN_F_ELEMENTWISE | TN_F_VIEW)) visit_operands(k, w, e);
    }
}

static void look(lint *k) {
    find_facts(k);
    for (uint32_t i = 0; i < k->f->neqn; i++) {
        const tn_i_eqn *e = &k->f->eqn[i];
        if (!(e->prim->flags & TN_F_CHOOSES) || !k->active[e->out]) continue;
        const tn_i_var *in = tn_i_in(k->f, e);
        k->choice = i + 1;
        (void)compares(k, e, k->choice);
        for (uint32_t n = 1; n < e->nin; n++) look_at_branch(k, e, in[n]);
    }
}

/* ---- programs ------------------------------------------------------------------------------------ */

static bool walk_alloc(tn_ctx *c, walk *w, uint32_t n) {
    w->seen = tn_i_alloc_array(c, n, sizeof *w->seen);
    w->stack = tn_i_alloc_array(c, n, sizeof *w->stack);
    return w->seen && w->stack;
}

static void walk_free(tn_ctx *c, walk *w, uint32_t n) {
    tn_i_free(c, w->seen, n * sizeof *w->seen);
    tn_i_free(c, w->stack, n * sizeof *w->stack);
}

static bool lint_flat(const tn_fn *f, tn_lint_fn fn, void *user) {
    tn_ctx *c = f->ctx;
    const uint32_t n = f->nval;
    lint k = {.f = f, .report = fn, .user = user};
    k.range = tn_i_alloc_array(c, n, sizeof *k.range);
    k.about = tn_i_alloc_array(c, n, sizeof *k.about);
    k.active = tn_i_alloc(c, n);
    k.reported = tn_i_alloc(c, f->neqn);
    const bool walks = walk_alloc(c, &k.branch, n) && walk_alloc(c, &k.operand, n) && walk_alloc(c, &k.condition, n);
    const bool ok = k.range && k.about && k.active && k.reported && walks;
    if (ok) look(&k);
    tn_i_free(c, k.range, n * sizeof *k.range);
    tn_i_free(c, k.about, n * sizeof *k.about);
    tn_i_free(c, k.active, n);
    tn_i_free(c, k.reported, f->neqn);
    walk_free(c, &k.branch, n);
    walk_free(c, &k.operand, n);
    walk_free(c, &k.condition, n);
    return ok;
}

static bool lint_program(const tn_fn *f, tn_lint_fn fn, void *user, tn_i_seen *seen, size_t *budget);

/* Programs that could not be put in place are looked at alone, each once; those of rules are the user's word. */
static bool lint_nested(const tn_fn *f, tn_lint_fn fn, void *user, tn_i_seen *seen, size_t *budget) {
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        uint32_t number;
        bool fresh;
        if (!e->prim->split || !e->prim->body || tn_i_p(e)[e->prim->body - 1].kind != TN_K_FN) continue;
        const tn_fn *g = tn_i_p(e)[e->prim->body - 1].u.fn;
        if (!tn_i_seen_add(seen, g, &number, &fresh)) return false;
        if (fresh && !lint_program(g, fn, user, seen, budget)) return false;
    }
    return true;
}

static bool lint_program(const tn_fn *f, tn_lint_fn fn, void *user, tn_i_seen *seen, size_t *budget) {
    tn_fn *g = flat(f, budget);
    const bool ok = g && lint_flat(g, fn, user) && lint_nested(g, fn, user, seen, budget);
    tn_i_fn_unref(g);
    return ok;
}

/* ---- prints ---------------------------------------------------------------------------------------- */

/* The first print or progress of f and of the programs within. */
static bool find_print(const tn_fn *f, tn_i_seen *seen, const tn_i_eqn **found) {
    uint32_t number;
    bool fresh;
    if (!tn_i_seen_add(seen, f, &number, &fresh)) return false;
    for (uint32_t i = 0; fresh && f->effect && i < f->neqn && !*found; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        if (e->prim->id == TN_P_print || e->prim->id == TN_P_progress) *found = e;
        for (uint32_t k = 0; e->params && k < e->params->n; k++) {
            const tn_fn *const *g;
            const uint32_t n = tn_i_programs(&e->params->v[k], &g);
            for (uint32_t j = 0; j < n && !*found; j++)
                if (!find_print(g[j], seen, found)) return false;
        }
    }
    return true;
}

/* Who only prints may not know that nobody listens. */
static bool lint_prints(const tn_fn *f, tn_lint_fn fn, void *user) {
    char text[1024], where[512] = "";
    const tn_i_eqn *e = NULL;
    tn_i_seen seen;
    tn_i_seen_init(&seen, f->ctx);
    const bool ok = find_print(f, &seen, &e);
    tn_i_seen_free(&seen);
    if (!ok || !e) return ok;
    (void)put_place(where, sizeof where, e->loc);
    (void)snprintf(
        text, sizeof text,
        "%s%s%s: is told to the observer of a call alone, and passed over without one; tn_observe_file is one "
        "that writes to a FILE (this is said once)",
        where, where[0] ? ": warning: " : "", e->prim->name);
    const tn_lint_warning w = {.size = sizeof w,
                               .primitive = e->prim->name,
                               .operand = -1,
                               .file = e->loc ? e->loc->file : "",
                               .line = e->loc ? (int)e->loc->line : 0,
                               .scope = e->loc ? e->loc->scope : "",
                               .message = text};
    fn(user, &w);
    return true;
}

tn_status tn_lint(const tn_fn *f, tn_lint_fn fn, void *user) {
    if (!tn_i_living(f)) return TN_EINVAL;
    if (!fn) return tn_i_fail(f->ctx, TN_EINVAL, NULL, "tn_lint: no function to report to");
    tn_i_seen seen;
    size_t budget = INLINED;
    tn_i_seen_init(&seen, f->ctx);
    const bool ok = lint_program(f, fn, user, &seen, &budget);
    tn_i_seen_free(&seen);
    return ok && lint_prints(f, fn, user) ? TN_OK : f->ctx->status;
}
