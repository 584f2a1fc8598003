/* An order of the equations in which less is alive at one time: each right in front of what first reads it, and of the
 * operands of an equation first the one that takes most while it is made (Sethi and Ullman, "The generation of optimal
 * code for arithmetic expressions", 1970; exact for trees).  Programs come in the order in which they were written,
 * where much may be made early that is read late. */
#include "opt/fuse.h"
#include "plan/stack.h"

#include "prims/ranks/collective_run.h"

#include <string.h>

enum { MOST_OPERANDS = 64, LEAST_PART = 32 };

typedef struct search {
    const tn_fn *f;
    size_t *size, *need;     /* of each value: its bytes, and the most that is alive while it is made */
    uint32_t *order, norder; /* equations */
    uint8_t *seen;
    uint32_t *stack, *next; /* equations that wait for their operands; how many of each have been looked at */
    uint32_t *last;         /* of each value, or what it is a view of: when it is read last */
} search;

static bool has_effect(const tn_i_eqn *e) { return e->prim->effect && e->prim->effect(tn_i_p(e)); }

/* Loops that are replayed and values that are in a file have an order of their own. */
static bool may_move(const tn_fn *f) {
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        if (e->prim->flags & (TN_F_LOOP | TN_F_OFFLOAD) || e->nin > MOST_OPERANDS) return false;
        for (uint32_t v = e->out; v < e->out + e->nout; v++)
            if (tn_i_has_steps(f->val[v].type)) return false;
    }
    return f->neqn > 2;
}

static bool is_view(const tn_i_eqn *e) { return (e->prim->flags & TN_F_VIEW) && e->nin == 1 && e->nout == 1; }

static tn_i_var viewed(const tn_fn *f, tn_i_var v) {
    while (f->val[v].def < f->neqn && is_view(&f->eqn[f->val[v].def])) v = tn_i_in(f, &f->eqn[f->val[v].def])[0];
    return v;
}

static bool computed(const tn_fn *f, tn_i_var v) { return f->val[v].def < f->neqn; }

/* The operands of e, those first that take most on top of what they leave. */
static uint32_t by_need(const search *s, const tn_i_eqn *e, tn_i_var sorted[MOST_OPERANDS]) {
    uint32_t n = 0;
    for (uint32_t k = 0; k < e->nin; k++) {
        const tn_i_var v = tn_i_in(s->f, e)[k];
        if (!computed(s->f, v)) continue;
        uint32_t at = n++;
        for (; at > 0 && s->need[sorted[at - 1]] - s->size[sorted[at - 1]] < s->need[v] - s->size[v]; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = v;
    }
    return n;
}

/* As if each value were read once. */
static void find_needs(search *s) {
    const tn_fn *f = s->f;
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        tn_i_var in[MOST_OPERANDS];
        size_t before = 0, most = 0, made = 0;
        for (uint32_t v = e->out; v < e->out + e->nout; v++) {
            s->size[v] = is_view(e) ? s->size[tn_i_in(f, e)[0]] : tn_i_memory_bytes(f->val[v].type);
            made += s->size[v];
        }
        const uint32_t n = by_need(s, e, in);
        for (uint32_t k = 0; k < n; k++) {
            if (before + s->need[in[k]] > most) most = before + s->need[in[k]];
            before += s->size[in[k]];
        }
        if (!is_view(e) && before + made > most) most = before + made;
        for (uint32_t v = e->out; v < e->out + e->nout; v++) s->need[v] = most > s->size[v] ? most : s->size[v];
    }
}

static void push(search *s, uint32_t *depth, uint32_t eqn) {
    if (s->seen[eqn]) return;
    s->seen[eqn] = 1;
    s->stack[*depth] = eqn;
    s->next[(*depth)++] = 0;
}

static void visit(search *s, uint32_t eqn) {
    uint32_t depth = 0;
    push(s, &depth, eqn);
    while (depth) {
        const uint32_t i = s->stack[depth - 1];
        tn_i_var in[MOST_OPERANDS];
        const uint32_t n = by_need(s, &s->f->eqn[i], in), k = s->next[depth - 1]++;
        if (k < n)
            push(s, &depth, s->f->val[in[k]].def);
        else {
            s->order[s->norder++] = i;
            depth--;
        }
    }
}

/* Effects keep their order, but for waiting, which is done where somebody reads, or at the end. */
static void reorder(search *s) {
    const tn_fn *f = s->f;
    for (uint32_t i = 0; i < f->neqn; i++)
        if (has_effect(&f->eqn[i]) && !tn_i_waits(&f->eqn[i])) visit(s, i);
    for (uint32_t j = 0; j < f->nout; j++)
        if (computed(f, f->out[j])) visit(s, f->val[f->out[j]].def);
    for (uint32_t i = 0; i < f->neqn; i++)
        if (has_effect(&f->eqn[i])) visit(s, i);
}

/* The most bytes of computed values that are alive at one time, in this order; NULL: in that of the program. */
static size_t most_alive(search *s, const uint32_t *order, uint32_t n) {
    const tn_fn *f = s->f;
    size_t now = 0, most = 0;
    memset(s->last, 0, f->nval * sizeof *s->last);
    for (uint32_t k = 0; k < n; k++) {
        const tn_i_eqn *e = &f->eqn[order ? order[k] : k];
        for (uint32_t i = 0; i < e->nin; i++) s->last[viewed(f, tn_i_in(f, e)[i])] = k;
    }
    for (uint32_t j = 0; j < f->nout; j++) s->last[viewed(f, f->out[j])] = UINT32_MAX;
    for (uint32_t k = 0; k < n; k++) {
        const tn_i_eqn *e = &f->eqn[order ? order[k] : k];
        if (order || s->seen[k])
            for (uint32_t v = e->out; v < e->out + e->nout; v++) now += is_view(e) ? 0 : s->size[v];
        if (now > most) most = now;
        for (uint32_t i = 0; i < e->nin; i++) {
            const tn_i_var v = viewed(f, tn_i_in(f, e)[i]);
            if (!computed(f, v) || s->last[v] != k) continue;
            now -= s->size[v];
            s->last[v] = UINT32_MAX; /* once */
        }
    }
    return most;
}

const tn_fn *tn_i_low_peak(const tn_fn *f) {
    tn_ctx *c = f->ctx;
    if (!may_move(f)) return tn_i_fn_ref(f);
    search s = {.f = f,
                .size = tn_i_alloc_array(c, f->nval, sizeof *s.size),
                .need = tn_i_alloc_array(c, f->nval, sizeof *s.need),
                .order = tn_i_alloc_array(c, f->neqn, sizeof *s.order),
                .seen = tn_i_alloc(c, f->neqn),
                .stack = tn_i_alloc_array(c, f->neqn, sizeof *s.stack),
                .next = tn_i_alloc_array(c, f->neqn, sizeof *s.next),
                .last = tn_i_alloc_array(c, f->nval, sizeof *s.last)};
    const tn_fn *g = NULL;
    if (s.size && s.need && s.order && s.seen && s.stack && s.next && s.last) {
        memset(s.seen, 0, f->neqn);
        memset(s.size, 0, f->nval * sizeof *s.size);
        memset(s.need, 0, f->nval * sizeof *s.need);
        find_needs(&s);
        reorder(&s);
        const size_t as_is = most_alive(&s, NULL, f->neqn), late = most_alive(&s, s.order, s.norder);
        g = late < as_is && as_is - late > as_is / LEAST_PART ? tn_i_reordered(f, s.order, s.norder) : tn_i_fn_ref(f);
    }
    tn_i_free(c, s.size, f->nval * sizeof *s.size);
    tn_i_free(c, s.need, f->nval * sizeof *s.need);
    tn_i_free(c, s.order, f->neqn * sizeof *s.order);
    tn_i_free(c, s.seen, f->neqn);
    tn_i_free(c, s.stack, f->neqn * sizeof *s.stack);
    tn_i_free(c, s.next, f->neqn * sizeof *s.next);
    tn_i_free(c, s.last, f->nval * sizeof *s.last);
    return g;
}
