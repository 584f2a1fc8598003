/* Equations in the order in which outputs need them: each right in front of what first reads it, so that few values
 * wait.  What computes many columns at once, one step of all of them after the other, becomes one column after the
 * other. */
#include "base/machine.h"
#include "opt/columns.h"
#include "opt/fuse.h"

#include "prims/ids.h"

#include <string.h>

typedef struct search {
    const tn_fn *f;
    tn_i_var *root; /* in this order */
    size_t nroot, croot;
    uint32_t *order, norder; /* equations */
    uint8_t *seen;
    uint32_t *stack, *next; /* equations that wait for their operands; the operand of each that is looked at */
    uint32_t *last;         /* of each value: where it is read last */
} search;

/* Output by output, of each its columns, or row by row of a last dimension that is outermost; or all side by side. */
typedef enum manner { ALONG, ACROSS, SIDE_BY_SIDE } manner;

static bool add_root(search *s, tn_i_var v) {
    if (!tn_i_grow(s->f->ctx, (void **)&s->root, &s->croot, s->nroot + 1, sizeof *s->root)) return false;
    s->root[s->nroot++] = v;
    return true;
}

/* The columns that output j is made of, row-major or, `across`, with its last dimension outermost. */
static bool add_roots(search *s, uint32_t j, bool across) {
    const tn_fn *f = s->f;
    const tn_type *t = f->val[f->out[j]].type;
    tn_i_var v = f->out[j];
    while (f->val[v].def < f->neqn && (f->eqn[f->val[v].def].prim->flags & TN_F_VIEW) && f->eqn[f->val[v].def].nin == 1)
        v = tn_i_in(f, &f->eqn[f->val[v].def])[0];
    const uint32_t def = f->val[v].def;
    if (def >= f->neqn || f->eqn[def].prim->id != TN_P_concatenate) return add_root(s, v);
    const tn_i_eqn *e = &f->eqn[def];
    const int64_t last = t->rank ? t->dim[t->rank - 1] : 1;
    const uint32_t wide = last > 0 && last < e->nin ? (uint32_t)last : 1;
    if (e->nin % wide) across = false;
    for (uint32_t k = 0; k < e->nin; k++) {
        const uint32_t rows = e->nin / wide, at = across ? k % rows * wide + k / rows : k;
        if (!add_root(s, tn_i_in(f, e)[at])) return false;
    }
    return add_root(s, v);
}

static void push(search *s, uint32_t *depth, tn_i_var v) {
    const uint32_t def = s->f->val[v].def;
    if (def >= s->f->neqn || s->seen[def]) return;
    s->seen[def] = 1;
    s->stack[*depth] = def;
    s->next[(*depth)++] = 0;
}

static void visit(search *s, tn_i_var v) {
    uint32_t depth = 0;
    push(s, &depth, v);
    while (depth) {
        const uint32_t i = s->stack[depth - 1];
        const tn_i_eqn *e = &s->f->eqn[i];
        if (s->next[depth - 1] < e->nin)
            push(s, &depth, tn_i_in(s->f, e)[s->next[depth - 1]++]);
        else {
            s->order[s->norder++] = i;
            depth--;
        }
    }
}

/* Depth first, output by output. */
static bool by_output(search *s, bool across) {
    const tn_fn *f = s->f;
    memset(s->seen, 0, f->neqn);
    s->nroot = 0;
    for (uint32_t j = 0; j < f->nout; j++)
        if (!add_roots(s, j, across) || !add_root(s, f->out[j])) return false;
    for (size_t k = 0; k < s->nroot; k++) visit(s, s->root[k]);
    return true;
}

/* In which stage each equation is, by how many are in front of it on the longest way from the inputs; the last. */
static uint32_t find_stages(search *s, uint32_t *stage) {
    const tn_fn *f = s->f;
    uint32_t most = 0;
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        stage[i] = 0;
        for (uint32_t k = 0; k < e->nin; k++) {
            const uint32_t def = f->val[tn_i_in(f, e)[k]].def;
            if (def < f->neqn && stage[def] >= stage[i]) stage[i] = stage[def] + 1;
        }
        if (stage[i] > most) most = stage[i];
    }
    for (uint32_t i = 0; i < f->neqn; i++) stage[i] /= TN_M_SCHEDULED_STAGE;
    return most / TN_M_SCHEDULED_STAGE;
}

/* All outputs side by side: what several of them read at one stage, such as tangents in several directions of what is
 * computed along with them, is read by all before the next stage. */
static void by_stage(search *s) {
    const tn_fn *f = s->f;
    uint32_t *const stage = s->stack, *const at = s->next;
    const uint32_t most = find_stages(s, stage);
    memset(at, 0, ((size_t)f->neqn + 1) * sizeof *at);
    for (uint32_t i = 0; i < f->neqn; i++) at[stage[i] + 1]++;
    for (uint32_t d = 0; d < most; d++) at[d + 1] += at[d];
    for (uint32_t i = 0; i < f->neqn; i++) s->order[at[stage[i]]++] = i;
    s->norder = f->neqn;
}

/* How many values that are computed wait at most, in that order; UINT32_MAX after an error. */
static uint32_t walk(search *s, manner how) {
    const tn_fn *f = s->f;
    uint32_t live = 0, most = 0;
    s->norder = 0;
    if (how == SIDE_BY_SIDE)
        by_stage(s);
    else if (!by_output(s, how == ACROSS))
        return UINT32_MAX;
    memset(s->last, 0, f->nval * sizeof *s->last);
    for (uint32_t k = 0; k < s->norder; k++) {
        const tn_i_eqn *e = &f->eqn[s->order[k]];
        for (uint32_t n = 0; n < e->nin; n++) s->last[tn_i_in(f, e)[n]] = k;
    }
    for (uint32_t k = 0; k < s->norder; k++) {
        const tn_i_eqn *e = &f->eqn[s->order[k]];
        if (!(e->prim->flags & TN_F_ELEMENTWISE)) continue;
        if (++live > most) most = live;
        for (uint32_t n = 0; n < e->nin; n++) {
            const tn_i_var v = tn_i_in(f, e)[n];
            const bool again = n && tn_i_in(f, e)[n - 1] == v;
            if (f->val[v].def < f->neqn && s->last[v] == k && !again) live -= live > 0;
        }
    }
    return most;
}

tn_fn *tn_i_depth_first(const tn_fn *f) {
    tn_ctx *c = f->ctx;
    search s = {.f = f,
                .order = tn_i_alloc_array(c, f->neqn, sizeof *s.order),
                .seen = tn_i_alloc(c, f->neqn),
                .stack = tn_i_alloc_array(c, f->neqn, sizeof *s.stack),
                .next = tn_i_alloc_array(c, (size_t)f->neqn + 1, sizeof *s.next),
                .last = tn_i_alloc_array(c, f->nval, sizeof *s.last)};
    tn_fn *g = NULL;
    if (s.order && s.seen && s.stack && s.next && s.last) {
        static const manner by[] = {ACROSS, ALONG, SIDE_BY_SIDE}; /* of equals the first */
        uint32_t least = UINT32_MAX, most = 0;
        manner best = ACROSS;
        for (size_t k = 0; k < sizeof by / sizeof *by && most != UINT32_MAX; k++)
            if ((most = walk(&s, by[k])) < least) least = most, best = by[k];
        if (most != UINT32_MAX && walk(&s, best) != UINT32_MAX) g = tn_i_reordered(f, s.order, s.norder);
    }
    tn_i_free(c, s.root, s.croot * sizeof *s.root);
    tn_i_free(c, s.order, f->neqn * sizeof *s.order);
    tn_i_free(c, s.seen, f->neqn);
    tn_i_free(c, s.stack, f->neqn * sizeof *s.stack);
    tn_i_free(c, s.next, ((size_t)f->neqn + 1) * sizeof *s.next);
    tn_i_free(c, s.last, f->nval * sizeof *s.last);
    return g;
}
