/* Equations are taken in program order.  Each that can be computed in a nest joins one that is there already, or begins
 * a new one; every other is a step of its own, and stays in its order.  A nest stands where its first equation stood,
 * so what joins it moves up: what it reads must have been made by then.
 *
 * Views, pads, iota and constants are no steps.  A nest that reads its own values through them, or a number, an iota or
 * a pad of what is in memory, holds copies of them; other readers have them from memory, as ever.  What nests alone
 * read of a dtype that is held (prims/held.h) each of them loads itself. */
#include "base/machine.h"
#include "opt/fuse.h"
#include "opt/lookup.h"

#include "opt/columns.h"
#include "opt/equations.h"
#include "opt/space.h"
#include "prims/ids.h"

#include <string.h>

/* A nest, or an equation of its own. */
typedef struct step {
    bool nest;
    tn_i_space space;
    uint32_t first, last;       /* equations */
    uint32_t arrays, open, ops; /* operands; values that something else still needs; operations */
    double kept, saved;         /* bytes that equations which moved up to it make it keep, and need not be kept */
} step;

typedef struct fusion {
    tn_ctx *ctx;
    const tn_fn *f;
    uint8_t *live;                    /* of each equation */
    uint8_t *lazy;                    /* of each equation: no step */
    uint8_t *far;                     /* of each value: something else than what nests compute reads it */
    uint8_t *early;                   /* of each equation: it joined a nest behind which there were steps */
    uint8_t *late;                    /* of each equation: it must not */
    uint8_t *producer, *waits;        /* of each equation: it waits for its first reader; and does so now */
    uint32_t *next;                   /* of each equation: the next of its nest */
    uint32_t *at;                     /* of each equation: its step; of lazy ones the number of steps before it */
    uint32_t *ready;                  /* of each value: the first step that can read it from memory */
    uint32_t *left;                   /* of each value: uses that are not in the nest that computes it */
    uint32_t *seen, *seen_phase;      /* of each value: the nest that last took it as an operand, and when */
    int8_t (*seen_loop)[TN_MAX_RANK]; /* and as an array that these loops walk */
    tn_i_member *m;                   /* of each value */
    step *s;
    size_t n, c;
    size_t barrier;   /* steps from here on have only nests between them */
    uint32_t *latest; /* hash table: the last nest of a space, plus 1 */
    size_t nlatest;
} fusion;

/* ---- facts --------------------------------------------------------------------------- */

static const tn_i_var *operands(const fusion *z, const tn_i_eqn *e) { return tn_i_in(z->f, e); }

static bool loads(const fusion *z, const tn_i_eqn *e) { return tn_i_space_loads(z->f, e) && !z->far[e->out]; }

/* Without a step: views, and what nests make for themselves. */
static bool is_lazy(const fusion *z, const tn_i_eqn *e) {
    if (loads(z, e)) return true;
    if (e->prim->id == TN_P_constant || e->prim->id == TN_P_iota || e->prim->id == TN_P_pad)
        return tn_i_space_admits(z->f, e);
    if (tn_i_space_joins(z->f, e)) return true;
    return (e->prim->flags & TN_F_VIEW) && e->nin == 1 && tn_i_space_admits(z->f, e);
}

/* Which equations run, and how often their values are used. */
static void count_uses(fusion *z) {
    const tn_fn *f = z->f;
    memset(z->left, 0, f->nval * sizeof *z->left);
    for (uint32_t j = 0; j < f->nout; j++) z->left[f->out[j]]++;
    for (uint32_t i = f->neqn; i-- > 0;) {
        const tn_i_eqn *e = &f->eqn[i];
        bool live = tn_i_eqn_effect(e);
        for (uint32_t j = 0; j < e->nout; j++) live |= z->left[e->out + j] != 0;
        z->live[i] = live;
        for (uint32_t k = 0; live && k < e->nin; k++) z->left[operands(z, e)[k]]++;
    }
}

/* ---- joining --------------------------------------------------------------------------- */

static bool of_nest(const fusion *z, tn_i_var v, uint32_t nest) {
    return z->m[v].part >= TN_PART_ELEMENT && z->m[v].nest == nest;
}

/* v can be read in `nest`, from memory or because the nest makes it. */
static bool readable(const fusion *z, tn_i_var v, uint32_t nest) {
    return z->m[v].part == TN_PART_FREE || of_nest(z, v, nest) || z->ready[v] <= nest;
}

/* One use of v is inside the nest that computes it. */
static void use_inside(fusion *z, step *s, tn_i_var v) {
    while (--z->left[v] == 0) {
        const uint32_t def = z->f->val[v].def;
        if (!z->lazy[def]) {
            s->open--;
            return;
        }
        v = operands(z, &z->f->eqn[def])[0]; /* a view inside as well */
    }
}

/* Arrays of an operand, and as many operations. */
static uint32_t boxes(const fusion *z, tn_i_var v) {
    const uint32_t def = z->f->val[v].def;
    if (def < z->f->neqn && loads(z, &z->f->eqn[def])) return boxes(z, operands(z, &z->f->eqn[def])[0]);
    return z->m[v].part == TN_PART_PAD ? z->f->eqn[z->f->val[v].def].nin : 1;
}

static void use(fusion *z, step *s, tn_i_var v, uint32_t nest, uint32_t phase, const int8_t *loop) {
    s->ops++;
    if (of_nest(z, v, nest)) {
        s->ops--;
        use_inside(z, s, v);
        return;
    }
    if (z->m[v].part == TN_PART_FREE) return;
    s->ops += boxes(z, v) - 1;
    if (z->seen[v] != nest || memcmp(z->seen_loop[v], loop, TN_MAX_RANK) != 0)
        s->arrays += boxes(z, v);
    else if (z->seen_phase[v] == phase)
        s->ops--;
    z->seen[v] = nest;
    memcpy(z->seen_loop[v], loop, TN_MAX_RANK);
    z->seen_phase[v] = phase;
}

static const int8_t nowhere[TN_MAX_RANK] = {-2}; /* what is looked up in: its array is no other's */

static void enter(fusion *z, uint32_t i, uint32_t nest, const tn_i_space *space, const tn_i_member *out) {
    const tn_i_eqn *e = &z->f->eqn[i];
    step *s = &z->s[nest];
    s->space = *space;
    const bool looks_up = tn_i_may_look_up(e);
    for (uint32_t k = 0; k < e->nin; k++)
        use(z, s, operands(z, e)[k], nest, out->phase, looks_up && k == 0 ? nowhere : out->loop);
    s->ops++;
    s->open++;
    if (e->prim->id == TN_P_concatenate) s->ops += e->nin, s->arrays += e->nin;
    z->m[e->out] = *out;
    z->ready[e->out] = nest + 1;
    z->at[i] = nest;
    z->early[i] = nest + 1 != z->n;
    z->next[i] = TN_NOVAR;
    if (s->first != TN_NOVAR) z->next[s->last] = i;
    if (s->first == TN_NOVAR) s->first = i;
    s->last = i;
}

static bool try(fusion *z, uint32_t i, size_t nest) {
    if (nest >= z->n || !z->s[nest].nest) return false;
    const tn_i_eqn *e = &z->f->eqn[i];
    const step *s = &z->s[nest];
    tn_i_space space = s->space;
    tn_i_member out;
    for (uint32_t k = 0; k < e->nin; k++)
        if (!readable(z, operands(z, e)[k], (uint32_t)nest)) return false;
    if (z->late[i] && nest + 1 != z->n) return false;
    uint32_t arrays = 0;
    for (uint32_t k = 0; k < e->nin; k++) arrays += boxes(z, operands(z, e)[k]);
    if (e->prim->id == TN_P_concatenate) arrays *= 2; /* each is stored */
    if (s->arrays + s->open + arrays + 1 > TN_NEST_ARRAYS) return false;
    if (s->ops + s->open + arrays + e->nin + 2 > TN_NEST_OPS) return false;
    if (!tn_i_space_join(z->f, e, &space, z->m, (uint32_t)nest, &out)) return false;
    enter(z, i, (uint32_t)nest, &space, &out);
    return true;
}

/* ---- nests by space ------------------------------------------------------------------------ */

static uint32_t *slot_of(const fusion *z, const tn_i_space *s) {
    size_t at = (size_t)tn_i_hash(s->nloop, s->size, s->nloop * sizeof *s->size) & (z->nlatest - 1);
    while (z->latest[at]) {
        const tn_i_space *t = &z->s[z->latest[at] - 1].space;
        if (t->nloop == s->nloop && memcmp(t->size, s->size, s->nloop * sizeof *s->size) == 0) break;
        at = (at + 1) & (z->nlatest - 1);
    }
    return &z->latest[at];
}

static bool add_step(fusion *z, bool nest) {
    if (!tn_i_grow(z->ctx, (void **)&z->s, &z->c, z->n + 1, sizeof *z->s)) return false;
    z->s[z->n] = (step){.nest = nest, .first = TN_NOVAR, .last = TN_NOVAR};
    z->n++;
    return true;
}

static bool add_nest(fusion *z, uint32_t i) {
    tn_i_space space;
    tn_i_member out;
    const uint32_t nest = (uint32_t)z->n;
    tn_i_space_of(z->f, &z->f->eqn[i], &space);
    uint32_t *slot = slot_of(z, &space);
    if (!add_step(z, true) || !tn_i_space_join(z->f, &z->f->eqn[i], &space, z->m, nest, &out)) return false;
    enter(z, i, nest, &space, &out);
    *slot = nest + 1;
    return true;
}

static bool place(fusion *z, uint32_t i);
static void note_lazy(fusion *z, uint32_t i);

/* Operands of equation i that wait, also behind loads, go to where it will go, if they can. */
static bool call_operands(fusion *z, uint32_t i, uint32_t nest) {
    const tn_i_eqn *e = &z->f->eqn[i];
    for (uint32_t k = 0; k < e->nin; k++) {
        const uint32_t def = z->f->val[operands(z, e)[k]].def;
        if (def >= z->f->neqn) continue;
        if (z->lazy[def] && loads(z, &z->f->eqn[def])) {
            if (!call_operands(z, def, nest)) return false;
            note_lazy(z, def);
        }
        if (!z->waits[def]) continue;
        z->waits[def] = 0;
        if (nest != TN_NOVAR && call_operands(z, def, nest) && try(z, def, nest)) continue;
        if (!place(z, def)) return false;
    }
    return true;
}

/* The first step behind what makes the operands of equation i. */
static uint32_t ready_for(const fusion *z, uint32_t i) {
    const tn_i_eqn *e = &z->f->eqn[i];
    uint32_t ready = 0;
    for (uint32_t k = 0; k < e->nin; k++)
        if (z->m[operands(z, e)[k]].part != TN_PART_FREE && z->ready[operands(z, e)[k]] > ready)
            ready = z->ready[operands(z, e)[k]];
    return ready;
}

/* The nest that makes the operand that is made last, else one beside which it can run. */
static bool place(fusion *z, uint32_t i) {
    tn_i_space space;
    uint32_t ready = ready_for(z, i);
    if (!call_operands(z, i, ready - 1)) return false;
    ready = ready_for(z, i);
    if (ready && try(z, i, ready - 1)) return true;
    tn_i_space_of(z->f, &z->f->eqn[i], &space);
    const uint32_t latest = *slot_of(z, &space);
    if (latest > z->barrier && latest != ready && try(z, i, latest - 1)) return true;
    return add_nest(z, i);
}

/* ---- one pass -------------------------------------------------------------------------------- */

static void note_lazy(fusion *z, uint32_t i) {
    const tn_i_eqn *e = &z->f->eqn[i];
    uint32_t ready = 0, nest = TN_NOVAR;
    for (uint32_t k = 0; k < e->nin; k++) {
        const tn_i_var v = operands(z, e)[k];
        if (z->ready[v] > ready) ready = z->ready[v];
        if (k == 0) nest = z->m[v].nest;
    }
    z->ready[e->out] = ready;
    z->at[i] = (uint32_t)z->n;
    tn_i_space_lazy(z->f, e, nest == TN_NOVAR ? NULL : &z->s[nest].space, z->m, &z->m[e->out]);
}

static bool pass(fusion *z) {
    const tn_fn *f = z->f;
    z->n = z->barrier = 0;
    memset(z->waits, 0, f->neqn);
    memset(z->latest, 0, z->nlatest * sizeof *z->latest);
    memset(z->seen, 0xFF, f->nval * sizeof *z->seen);
    memset(z->ready, 0, f->nval * sizeof *z->ready);
    for (uint32_t v = 0; v < f->nval; v++)
        z->m[v] = (tn_i_member){.nest = TN_NOVAR, .part = tn_i_is_literal(f, v) ? TN_PART_FREE : TN_PART_NONE};
    count_uses(z);
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        if (!z->live[i]) continue;
        if ((z->lazy[i] = is_lazy(z, e)))
            note_lazy(z, i);
        else if (z->producer[i]) {
            z->waits[i] = 1;
            z->ready[e->out] = ready_for(z, i);
        } else if (tn_i_space_computes(f, e)) {
            if (!place(z, i)) return false;
        } else {
            if (!add_step(z, false)) return false;
            z->barrier = z->n;
            z->s[z->n - 1].first = z->s[z->n - 1].last = i;
            z->at[i] = (uint32_t)(z->n - 1);
            z->next[i] = TN_NOVAR;
            for (uint32_t j = 0; j < e->nout; j++) z->ready[e->out + j] = (uint32_t)z->n;
        }
    }
    return true;
}

/* The value of the nest that an equation of it reads as v. */
static tn_i_var behind_views(const fusion *z, tn_i_var v, uint32_t nest) {
    while (of_nest(z, v, nest) && z->lazy[z->f->val[v].def]) v = operands(z, &z->f->eqn[z->f->val[v].def])[0];
    return v;
}

/* What equations that moved up make is in memory from then on; what they read may not have to be.  Where that makes a
 * nest keep more than it would without them, they are not to move; whether there were any. */
static bool refuse_early(fusion *z, bool all) {
    const tn_fn *f = z->f;
    bool found = false;
    memset(z->seen, 0xFF, f->nval * sizeof *z->seen);
    for (size_t k = 0; k < z->n; k++) z->s[k].kept = z->s[k].saved = 0;
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        if (!z->live[i] || z->lazy[i] || !z->s[z->at[i]].nest || !z->early[i]) continue;
        step *s = &z->s[z->at[i]];
        if (z->left[e->out]) s->kept += (double)tn_type_bytes(f->val[e->out].type);
        for (uint32_t k = 0; k < e->nin; k++) {
            const tn_i_var v = behind_views(z, operands(z, e)[k], z->at[i]);
            if (!of_nest(z, v, z->at[i]) || z->early[f->val[v].def] || z->left[v] || z->seen[v] == 0) continue;
            z->seen[v] = 0;
            s->saved += (double)tn_type_bytes(f->val[v].type);
        }
    }
    for (uint32_t i = 0; i < f->neqn; i++) {
        if (!z->live[i] || z->lazy[i] || !z->s[z->at[i]].nest || !z->early[i]) continue;
        if (z->s[z->at[i]].kept <= z->s[z->at[i]].saved + TN_M_FUSE_SMALL) continue;
        z->late[i] = 1;
        found = true;
    }
    if (found && all) memset(z->late, 1, f->neqn);
    return found;
}

/* ---- the new program ----------------------------------------------------------------------------- */

typedef struct emission {
    fusion *z;
    tn_i_builder *b;      /* the new program */
    tn_i_var *map, *body; /* values in it, and in the body at hand */
    tn_i_var *list;       /* values that `body` maps */
    size_t nlist, clist;
    tn_i_var *arg; /* operands of the nest at hand */
    size_t narg, carg;
    uint32_t *when;  /* of each equation that is lazy: the step in front of which the new program needs it; or NOVAR */
    uint32_t *first; /* of each step, and the end: the first equation needed in front of it */
    uint32_t *link;  /* of each equation: the next needed there */
} emission;

/* What the nest makes for itself of e, a lazy equation that it reads. */
static bool copied(const fusion *z, tn_i_var v, uint32_t nest) {
    const uint32_t def = z->f->val[v].def;
    if (def >= z->f->neqn || !z->lazy[def]) return false;
    return loads(z, &z->f->eqn[def]) || z->m[v].part == TN_PART_FREE || z->m[v].part == TN_PART_PAD ||
           of_nest(z, v, nest);
}

static void need(emission *w, tn_i_var v, uint32_t when) {
    const uint32_t def = w->z->f->val[v].def;
    if (def < w->z->f->neqn && w->z->lazy[def] && w->when[def] > when) w->when[def] = when;
}

/* An operand of a nest: what it has from memory is needed in front of it. */
static void need_operand(emission *w, tn_i_var v, uint32_t nest) {
    const fusion *z = w->z;
    while (copied(z, v, nest)) {
        const tn_i_eqn *e = &z->f->eqn[z->f->val[v].def];
        if (z->m[v].part == TN_PART_PAD) {
            for (uint32_t k = 0; k < e->nin; k++) need(w, operands(z, e)[k], nest);
            return;
        }
        if (e->nin == 0) return;
        v = operands(z, e)[0];
    }
    if (!of_nest(z, v, nest)) need(w, v, nest);
}

/* When each lazy equation is needed: no later than it stood. */
static void find_needs(emission *w) {
    const fusion *z = w->z;
    const tn_fn *f = z->f;
    memset(w->when, 0xFF, f->neqn * sizeof *w->when);
    memset(w->first, 0xFF, (z->n + 1) * sizeof *w->first);
    for (uint32_t j = 0; j < f->nout; j++) need(w, f->out[j], (uint32_t)z->n);
    for (uint32_t i = f->neqn; i-- > 0;) {
        const tn_i_eqn *e = &f->eqn[i];
        if (!z->live[i] || (z->lazy[i] && w->when[i] == TN_NOVAR)) continue;
        if (!z->lazy[i] && z->s[z->at[i]].nest) {
            for (uint32_t k = 0; k < e->nin; k++) need_operand(w, operands(z, e)[k], z->at[i]);
            continue;
        }
        if (z->lazy[i] && z->at[i] < w->when[i]) w->when[i] = z->at[i];
        const uint32_t when = z->lazy[i] ? w->when[i] : z->at[i];
        for (uint32_t k = 0; k < e->nin; k++) need(w, operands(z, e)[k], when);
        if (!z->lazy[i]) continue;
        w->link[i] = w->first[when];
        w->first[when] = i;
    }
}

static bool remember(emission *w, tn_i_var v, tn_i_var is) {
    if (!tn_i_grow(w->z->ctx, (void **)&w->list, &w->clist, w->nlist + 1, sizeof *w->list)) return false;
    w->list[w->nlist++] = v;
    w->body[v] = is;
    return true;
}

/* v in memory is an input of the body. */
static bool take(emission *w, tn_i_builder *b, tn_i_var v) {
    if (tn_i_is_literal(w->z->f, v) || w->body[v] != TN_NOVAR) return true;
    for (size_t i = 0; i < w->narg; i++) /* views that the new program has once */
        if (w->map[w->arg[i]] == w->map[v]) return remember(w, v, w->body[w->arg[i]]);
    if (!tn_i_grow(w->z->ctx, (void **)&w->arg, &w->carg, w->narg + 1, sizeof *w->arg)) return false;
    w->arg[w->narg++] = v;
    return remember(w, v, tn_i_input(b, w->z->f->val[v].type, false));
}

/* The inputs that operand v of the nest wants. */
static bool take_inputs(emission *w, tn_i_builder *b, tn_i_var v, uint32_t nest) {
    const fusion *z = w->z;
    while (copied(z, v, nest)) {
        const tn_i_eqn *e = &z->f->eqn[z->f->val[v].def];
        if (z->m[v].part == TN_PART_PAD) {
            bool ok = true;
            for (uint32_t k = 0; ok && k < e->nin; k++) ok = take(w, b, operands(z, e)[k]);
            return ok;
        }
        if (e->nin == 0) return true;
        v = operands(z, e)[0];
    }
    return of_nest(z, v, nest) || take(w, b, v);
}

/* Copies of what the nest makes for itself; as deep as views of views are (MOST_VIEWS of space.c). */
static bool copy_lazy(emission *w, tn_i_builder *b, tn_i_var v, uint32_t nest) {
    const fusion *z = w->z;
    if (w->body[v] != TN_NOVAR || !copied(z, v, nest)) return true;
    const tn_i_eqn *e = &z->f->eqn[z->f->val[v].def];
    if (e->nin && z->m[v].part != TN_PART_PAD && !copy_lazy(w, b, operands(z, e)[0], nest)) return false;
    if (!remember(w, v, TN_NOVAR)) return false;
    tn_i_copy_eqn(b, z->f, e, w->body);
    for (uint32_t k = 0; k < e->nin; k++) /* literals */
        if (tn_i_is_literal(z->f, operands(z, e)[k]) && !remember(w, operands(z, e)[k], w->body[operands(z, e)[k]]))
            return false;
    return !b->failed;
}

static bool copy_computed(emission *w, tn_i_builder *b, const tn_i_eqn *e, uint32_t nest) {
    const fusion *z = w->z;
    for (uint32_t k = 0; k < e->nin; k++)
        if (!copy_lazy(w, b, operands(z, e)[k], nest)) return false;
    if (!remember(w, e->out, TN_NOVAR)) return false;
    tn_i_copy_eqn(b, z->f, e, w->body);
    for (uint32_t k = 0; k < e->nin; k++)
        if (tn_i_is_literal(z->f, operands(z, e)[k]) && !remember(w, operands(z, e)[k], w->body[operands(z, e)[k]]))
            return false;
    return !b->failed;
}

/* The body's outputs, each once: of equations that are equal the body keeps one. */
static uint32_t outputs_of(emission *w, uint32_t nest, tn_i_var *out) {
    const fusion *z = w->z;
    uint32_t n = 0;
    for (uint32_t i = z->s[nest].first; i != TN_NOVAR; i = z->next[i]) {
        const tn_i_var v = z->f->eqn[i].out;
        uint32_t k = 0;
        if (!z->left[v]) continue;
        while (k < n && out[k] != w->body[v]) k++;
        w->map[v] = k; /* until the equation is there */
        if (k == n) out[n++] = w->body[v];
    }
    return n;
}

static tn_fn *body_of(emission *w, uint32_t nest) {
    const fusion *z = w->z;
    tn_i_var out[TN_NEST_ARRAYS];
    tn_i_builder b;
    bool ok = true;
    tn_i_builder_init(&b, z->ctx);
    b.raw = b.numbered = true; /* what is computed again costs no memory less inside of a nest */
    for (uint32_t i = z->s[nest].first; ok && i != TN_NOVAR; i = z->next[i])
        for (uint32_t k = 0; ok && k < z->f->eqn[i].nin; k++)
            ok = take_inputs(w, &b, operands(z, &z->f->eqn[i])[k], nest);
    for (uint32_t i = z->s[nest].first; ok && i != TN_NOVAR; i = z->next[i])
        ok = copy_computed(w, &b, &z->f->eqn[i], nest);
    if (ok) return tn_i_finish(&b, outputs_of(w, nest, out), out);
    tn_i_builder_drop(&b);
    return NULL;
}

static bool emit_nest(emission *w, uint32_t nest) {
    fusion *z = w->z;
    const step *s = &z->s[nest];
    w->narg = 0;
    tn_fn *f = body_of(w, nest);
    for (size_t i = 0; i < w->nlist; i++) w->body[w->list[i]] = TN_NOVAR;
    w->nlist = 0;
    if (!f) return false;
    for (size_t i = 0; i < w->narg; i++) w->arg[i] = w->map[w->arg[i]];
    const tn_i_param p[2] = {{.kind = TN_K_STR, .u.str = tn_i_string(z->ctx, "", 0)}, {.kind = TN_K_FN, .u.fn = f}};
    w->b->region = z->f->eqn[s->first].region;
    w->b->loc = z->f->eqn[s->first].loc;
    const tn_i_var out = p[0].u.str ? tn_i_emit(w->b, tn_i_prim(w->b, TN_P_fused), p, f->nin, w->arg) : TN_NOVAR;
    tn_i_fn_unref(f);
    for (uint32_t i = s->first; out != TN_NOVAR && i != TN_NOVAR; i = z->next[i])
        if (z->left[z->f->eqn[i].out]) w->map[z->f->eqn[i].out] += out;
    return out != TN_NOVAR;
}

/* A view costs nothing, so that one for all that are equal does. */
static void emit_alone(emission *w, const tn_i_eqn *e) {
    const bool view = (e->prim->flags & TN_F_VIEW) && e->nin == 1;
    w->b->region = view ? 0 : e->region;
    w->b->numbered = view;
    tn_i_copy_eqn(w->b, w->z->f, e, w->map);
    w->b->numbered = false;
}

static bool emit_step(emission *w, uint32_t at) {
    const fusion *z = w->z;
    for (uint32_t i = w->first[at]; i != TN_NOVAR; i = w->link[i]) emit_alone(w, &z->f->eqn[i]);
    if (w->b->failed) return false; /* views that are not there look like one view */
    if (at == z->n) return true;
    if (z->s[at].nest) return emit_nest(w, at);
    emit_alone(w, &z->f->eqn[z->s[at].first]);
    return !w->b->failed;
}

static tn_fn *emit_all(emission *w) {
    const tn_fn *f = w->z->f;
    tn_i_builder *b = w->b;
    for (uint32_t i = 0; i < f->nin; i++) w->map[i] = tn_i_input(b, f->val[i].type, false);
    bool ok = true;
    for (size_t at = 0; ok && at <= w->z->n; at++) ok = emit_step(w, (uint32_t)at);
    tn_i_var *out = ok ? tn_i_alloc_array(w->z->ctx, f->nout, sizeof *out) : NULL;
    for (uint32_t j = 0; out && j < f->nout; j++) out[j] = tn_i_mapped(b, f, w->map, f->out[j]);
    tn_fn *g = NULL;
    if (out)
        g = tn_i_finish(b, f->nout, out);
    else
        tn_i_builder_drop(b);
    tn_i_free(w->z->ctx, out, f->nout * sizeof *out);
    return g;
}

static tn_fn *emit(fusion *z) {
    tn_ctx *c = z->ctx;
    const tn_fn *f = z->f;
    tn_i_builder b;
    emission w = {.z = z,
                  .b = &b,
                  .map = tn_i_map_new(f),
                  .body = tn_i_map_new(f),
                  .when = tn_i_alloc_array(c, f->neqn, sizeof *w.when),
                  .first = tn_i_alloc_array(c, z->n + 1, sizeof *w.first),
                  .link = tn_i_alloc_array(c, f->neqn, sizeof *w.link)};
    tn_fn *g = NULL;
    if (w.map && w.body && w.when && w.first && w.link) {
        find_needs(&w);
        tn_i_builder_init(&b, c);
        b.raw = true;
        b.named_after = f;
        g = emit_all(&w);
    }
    if (w.map) tn_i_map_free(f, w.map);
    if (w.body) tn_i_map_free(f, w.body);
    tn_i_free(c, w.when, f->neqn * sizeof *w.when);
    tn_i_free(c, w.first, (z->n + 1) * sizeof *w.first);
    tn_i_free(c, w.link, f->neqn * sizeof *w.link);
    tn_i_free(c, w.list, w.clist * sizeof *w.list);
    tn_i_free(c, w.arg, w.carg * sizeof *w.arg);
    return g;
}

/* ---- the whole ------------------------------------------------------------------------------------- */

static bool alloc(fusion *z) {
    tn_ctx *c = z->ctx;
    const tn_fn *f = z->f;
    z->nlatest = 16;
    while (z->nlatest < 2 * ((size_t)f->neqn + 1)) z->nlatest *= 2;
    return (z->live = tn_i_alloc(c, f->neqn)) && (z->lazy = tn_i_alloc(c, f->neqn)) &&
           (z->far = tn_i_alloc(c, f->nval)) && (z->producer = tn_i_alloc(c, f->neqn)) &&
           (z->waits = tn_i_alloc(c, f->neqn)) && (z->early = tn_i_alloc(c, f->neqn)) &&
           (z->late = tn_i_alloc(c, f->neqn)) && (z->next = tn_i_alloc_array(c, f->neqn, sizeof *z->next)) &&
           (z->at = tn_i_alloc_array(c, f->neqn, sizeof *z->at)) &&
           (z->ready = tn_i_alloc_array(c, f->nval, sizeof *z->ready)) &&
           (z->left = tn_i_alloc_array(c, f->nval, sizeof *z->left)) &&
           (z->seen = tn_i_alloc_array(c, f->nval, sizeof *z->seen)) &&
           (z->seen_phase = tn_i_alloc_array(c, f->nval, sizeof *z->seen_phase)) &&
           (z->seen_loop = tn_i_alloc_array(c, f->nval, sizeof *z->seen_loop)) &&
           (z->m = tn_i_alloc_array(c, f->nval, sizeof *z->m)) &&
           (z->latest = tn_i_alloc_array(c, z->nlatest, sizeof *z->latest));
}

static void drop(fusion *z) {
    tn_ctx *c = z->ctx;
    const tn_fn *f = z->f;
    tn_i_free(c, z->live, f->neqn);
    tn_i_free(c, z->lazy, f->neqn);
    tn_i_free(c, z->far, f->nval);
    tn_i_free(c, z->producer, f->neqn);
    tn_i_free(c, z->waits, f->neqn);
    tn_i_free(c, z->early, f->neqn);
    tn_i_free(c, z->late, f->neqn);
    tn_i_free(c, z->next, f->neqn * sizeof *z->next);
    tn_i_free(c, z->at, f->neqn * sizeof *z->at);
    tn_i_free(c, z->ready, f->nval * sizeof *z->ready);
    tn_i_free(c, z->left, f->nval * sizeof *z->left);
    tn_i_free(c, z->seen, f->nval * sizeof *z->seen);
    tn_i_free(c, z->seen_phase, f->nval * sizeof *z->seen_phase);
    tn_i_free(c, z->seen_loop, f->nval * sizeof *z->seen_loop);
    tn_i_free(c, z->m, f->nval * sizeof *z->m);
    tn_i_free(c, z->latest, z->nlatest * sizeof *z->latest);
    tn_i_free(c, z->s, z->c * sizeof *z->s);
}

static tn_fn *fuse(const tn_fn *f) {
    fusion z = {.ctx = f->ctx, .f = f};
    tn_fn *g = NULL;
    bool ok = alloc(&z);
    if (ok) tn_i_space_far(f, z.far);
    ok = ok && tn_i_producers(f, tn_i_space_computes, z.producer) && pass(&z);
    for (int k = 0; ok && k < TN_M_FUSE_TRIES && refuse_early(&z, k == TN_M_FUSE_TRIES - 2); k++) ok = pass(&z);
    if (ok) g = emit(&z);
    drop(&z);
    return g;
}

tn_fn *tn_i_fuse(const tn_fn *f) {
    static tn_fn *(*const pass[])(const tn_fn *) = {
        tn_i_inlined,        /* calls */
        tn_i_remainders,     /* of what is divided as well */
        tn_i_in_ranges,      /* what ranges of integers decide */
        tn_i_small_factors,  /* factorizations of small matrices */
        tn_i_columns,        /* short dimensions as arrays of their own */
        tn_i_small_products, /* products of a few numbers */
        tn_i_small_scans,    /* cumulative operations along a few elements */
        tn_i_small_sorts,    /* sorts of a few, the first few */
        tn_i_unjoined,       /* slices of what is joined */
        tn_i_fold_constants, /* what is known */
        tn_i_slices_summed,  /* slices that are added to an array */
        tn_i_unpadded,       /* slices of what is padded */
        tn_i_small_moves,    /* lookups, pads and joins of small arrays */
        tn_i_flat_indices,   /* index vectors as one index */
        tn_i_split_shapes,   /* what reductions read behind a reshape */
        tn_i_assign_layouts, /* orders of dimensions */
        tn_i_indexed,        /* what is computed from indices */
        tn_i_shifted,        /* what is padded or joined */
        tn_i_fold_constants, /* what is known */
        tn_i_split_one_hot,  /* rows of which one element counts */
        tn_i_hoisted,        /* small arrays of steps of their own */
        fuse,                /* nests */
        tn_i_recomputed,     /* cheap values where they are read */
    };
    tn_fn *g = (tn_fn *)(uintptr_t)tn_i_fn_ref(f);
    for (size_t k = 0; g && k < sizeof pass / sizeof *pass; k++) {
        tn_fn *next = pass[k](g);
        tn_i_fn_unref(g);
        g = next;
    }
    return g;
}
