/* What is alive in the arena: blocks are found again from the places of values, and counted over time. */
#include "plan/live.h"
#include "plan/loop.h"
#include "plan/replay.h"
#include "plan/pool.h"
#include "plan/stack.h"
#include "prims/prim.h"

#include <string.h>

#define NEVER UINT32_MAX

/* Memory shared by a value and all that view it or are written over it. */
typedef struct block {
    int64_t offset;
    size_t bytes;   /* of the value it was made for */
    uint32_t first; /* the equation that makes it */
    uint32_t last;  /* the last one that reads it; the number of equations: it is a result */
} block;

typedef struct survey {
    const tn_i_plan *p;
    const tn_fn *f;
    tn_i_live *out;
    uint32_t *last;     /* of each value: its last reader, or NEVER */
    uint32_t *block_of; /* of each value, or NEVER: out->range_of, as the first ranges are the blocks, in order */
    block *block;       /* at most one per value */
    uint32_t nblock;
} survey;

/* ---- who is read when ------------------------------------------------------------ */

/* As the planner sees it: an equation without effect that nothing reads does not run. */
static void last_readers(survey *s) {
    const tn_fn *f = s->f;
    memset(s->last, 0xFF, f->nval * sizeof *s->last);
    for (uint32_t j = 0; j < f->nout; j++) s->last[f->out[j]] = f->neqn;
    for (uint32_t i = f->neqn; i-- > 0;) {
        const tn_i_eqn *e = &f->eqn[i];
        bool runs = tn_i_eqn_effect(e);
        for (uint32_t j = 0; j < e->nout; j++) runs |= s->last[e->out + j] != NEVER;
        if (!runs) continue;
        for (uint32_t k = 0; k < e->nin; k++) {
            uint32_t *last = &s->last[tn_i_in(f, e)[k]];
            if (*last == NEVER) *last = i;
        }
        for (uint32_t j = 0; j < e->nout; j++)
            if (s->last[e->out + j] == NEVER) s->last[e->out + j] = i; /* made, and dropped at once */
    }
}

/* ---- blocks ------------------------------------------------------------------------ */

/* Room that the pool gives for so many bytes: a part of a shared block, or units of its own. */
static size_t room(size_t bytes) {
    return bytes <= 8 ? 8 : (bytes + (TN_ARENA_ALIGN - 1)) & ~(size_t)(TN_ARENA_ALIGN - 1);
}

static bool empty(const survey *s, tn_i_var v) { return tn_i_count(s->f->val[v].type) == 0; }

/* Operands are alive while an output is placed, so that a place in the block of one was taken over
 * from it.  Empty values have no memory, but one that is a view keeps its operand's, maybe at its end. */
static uint32_t taken_over(const survey *s, const tn_i_eqn *e, tn_i_var v, int64_t at) {
    const bool view = (e->prim->flags & TN_F_VIEW) && e->prim->view;
    for (uint32_t i = 0; i < e->nin; i++) {
        const tn_i_var x = tn_i_in(s->f, e)[i];
        const uint32_t b = s->block_of[x];
        if (b == NEVER || empty(s, x) || (empty(s, v) && !(view && i == 0))) continue;
        const block *k = &s->block[b];
        const int64_t end = k->offset + (int64_t)room(k->bytes);
        if (at >= k->offset && (at < end || (at == end && empty(s, v)))) return b;
    }
    return NEVER;
}

static void place(survey *s, uint32_t eqn, const tn_i_eqn *e, tn_i_var v) {
    int64_t at;
    if (s->last[v] == NEVER || !tn_i_place_arena(s->p, &s->p->place[v], &at)) return;
    const tn_i_var y = s->p->within && !empty(s, v) ? s->p->within[v] : TN_NOVAR;
    uint32_t b = y != TN_NOVAR ? s->block_of[y] : taken_over(s, e, v, at);
    if (b == NEVER && empty(s, v)) return;
    if (b == NEVER) {
        const tn_i_var whole = y != TN_NOVAR ? y : v;
        b = s->nblock++;
        s->block[b] = (block){.offset = y != TN_NOVAR ? s->p->place[y].offset : at,
                              .bytes = tn_i_memory_bytes(s->f->val[whole].type),
                              .first = eqn};
        s->block_of[whole] = b;
    }
    if (s->last[v] > s->block[b].last) s->block[b].last = s->last[v];
    s->block_of[v] = b;
}

/* ---- time ------------------------------------------------------------------------------ */

/* The pool hands out whole units, also for a part of one. */
static void reach(survey *s, int64_t offset, size_t bytes) {
    const size_t end = ((size_t)offset + bytes + (TN_ARENA_ALIGN - 1)) & ~(size_t)(TN_ARENA_ALIGN - 1);
    if (end > s->out->top) s->out->top = end;
}

static void note(survey *s, tn_i_live_kind kind, const block *b, size_t all) {
    s->out->range[s->out->nrange++] = (tn_i_live_range){
        .offset = b->offset, .bytes = b->bytes, .room = all, .first = b->first, .last = b->last, .kind = kind};
}

/* Differences modulo 2^n here; their running sums are bytes. */
static void count_block(survey *s, tn_i_live_kind kind, const block *b) {
    tn_i_live_step *step = s->out->step;
    const size_t all = room(b->bytes), padding = all - b->bytes;
    note(s, kind, b, all);
    reach(s, b->offset, all);
    step[b->first].values += b->bytes;
    step[b->first].padding += padding;
    if (b->last > b->first) step[b->first + 1].kept += all;
    if (b->last == s->f->neqn) return;
    step[b->last + 1].values -= b->bytes;
    step[b->last + 1].padding -= padding;
    if (b->last > b->first) step[b->last + 1].kept -= all;
}

/* Snapshots live from the loop that takes the first to the loop that brings states back. */
static void count_snapshots(survey *s) {
    for (size_t k = 0; k < s->p->ngroup; k++) {
        const tn_i_group *g = &s->p->group[k];
        block b = {.offset = g->memory, .bytes = g->memory_bytes, .first = g->eqn, .last = g->eqn};
        for (size_t j = 0; g->taken && j < k; j++)
            if (s->p->group[j].leads == k) b.first = s->p->group[j].eqn;
        if (b.bytes) count_block(s, TN_I_LIVE_SNAPSHOTS, &b);
    }
}

static void sum_over_time(tn_i_live *l) {
    for (size_t i = 1; i < l->n; i++) {
        l->step[i].values += l->step[i - 1].values;
        l->step[i].padding += l->step[i - 1].padding;
        l->step[i].kept += l->step[i - 1].kept;
    }
}

/* Memory of one equation only: never counted as kept, and never less than a unit. */
static void count_scratch(survey *s, uint32_t step, int64_t offset, size_t bytes) {
    const size_t all = bytes > 8 ? room(bytes) : TN_ARENA_ALIGN;
    const block b = {.offset = offset, .bytes = bytes, .first = step, .last = step};
    if (bytes == 0) return;
    reach(s, offset, all);
    note(s, TN_I_LIVE_SCRATCH, &b, all);
    s->out->step[step].scratch += bytes;
    s->out->step[step].padding += all - bytes;
}

/* What a loop carries is copied to its own outputs, and what is concatenated to parts of the result: these are
 * counted. */
static bool in_output(const survey *s, const tn_i_eqn *e, const tn_i_move *m) {
    for (uint32_t j = 0; j < e->nout; j++) {
        const tn_i_place *k = &s->p->place[e->out + j];
        const int64_t bytes = (int64_t)tn_i_memory_bytes(s->f->val[e->out + j].type);
        if (k->base == m->to.base && k->offset <= m->to.offset && m->to.offset < k->offset + bytes) return true;
    }
    return false;
}

static void count_copy(survey *s, uint32_t step, const tn_i_move *m) {
    const size_t bytes = tn_i_memory_bytes(s->f->val[m->v].type);
    const block b = {.offset = m->to.offset, .bytes = bytes, .first = step, .last = step};
    if (m->to.base != TN_BASE_ARENA) return;
    reach(s, m->to.offset, room(bytes));
    note(s, TN_I_LIVE_COPY, &b, room(bytes));
    s->out->step[step].scratch += bytes;
    s->out->step[step].padding += room(bytes) - bytes;
}

static bool kernel_scratch(survey *s, const tn_i_eqn *e, size_t *bytes) {
    tn_ctx *c = s->out->ctx;
    *bytes = 0;
    if (!e->prim->scratch) return true;
    const tn_type **in = tn_i_alloc_array(c, e->nin, sizeof *in);
    tn_type *out = tn_i_alloc_array(c, e->nout, sizeof *out);
    if (in && out) {
        for (uint32_t i = 0; i < e->nin; i++) in[i] = s->f->val[tn_i_in(s->f, e)[i]].type;
        for (uint32_t j = 0; j < e->nout; j++) out[j] = *s->f->val[e->out + j].type;
        const tn_i_query q = {
            .ctx = c, .prim = e->prim, .p = tn_i_p(e), .nin = e->nin, .nout = e->nout, .in = in, .out = out};
        *bytes = e->prim->scratch(&q);
    }
    const bool ok = in && out;
    tn_i_free(c, (void *)in, e->nin * sizeof *in);
    tn_i_free(c, out, e->nout * sizeof *out);
    return ok;
}

static bool count_steps(survey *s) {
    const tn_i_plan *p = s->p;
    for (size_t k = 0; k < p->nstep; k++) {
        const tn_i_step *t = &p->step[k];
        size_t bytes = 0;
        if (t->kind == TN_STEP_MOVE && !in_output(s, &s->f->eqn[t->eqn], &p->move[t->loop]))
            count_copy(s, t->eqn, &p->move[t->loop]);
        if (t->kind == TN_STEP_BODY) bytes = t->u.body->frame + t->u.body->bytes;
        if (t->kind == TN_STEP_NEST) bytes = t->u.nest->scratch;
        if (t->kind == TN_STEP_LOOP) bytes = p->loop[t->loop].bytes;
        if (t->kind == TN_STEP_GROUP) bytes = p->group[t->loop].bytes;
        if (t->kind == TN_STEP_BRANCH) bytes = p->fork[t->loop].bytes;
        if (t->kind == TN_STEP_KERNEL && !kernel_scratch(s, &s->f->eqn[t->eqn], &bytes)) return false;
        count_scratch(s, t->eqn, t->scratch, bytes);
    }
    for (size_t k = p->last_move; k < p->nmove; k++) count_copy(s, s->f->neqn, &p->move[k]);
    return true;
}

static void find_most(tn_i_live *l) {
    for (size_t i = 0; i < l->n; i++) {
        size_t bytes = tn_i_live_bytes(&l->step[i]);
        if (bytes <= l->most) continue;
        l->most = bytes;
        l->at = i;
    }
}

/* ---- the whole ---------------------------------------------------------------------------- */

static bool profile(survey *s) {
    const tn_fn *f = s->f;
    last_readers(s);
    memset(s->block_of, 0xFF, f->nval * sizeof *s->block_of);
    for (uint32_t i = 0; i < f->neqn; i++)
        for (uint32_t j = 0; j < f->eqn[i].nout; j++) place(s, i, &f->eqn[i], f->eqn[i].out + j);
    for (uint32_t b = 0; b < s->nblock; b++) count_block(s, TN_I_LIVE_VALUES, &s->block[b]);
    count_snapshots(s);
    sum_over_time(s->out);
    if (!count_steps(s)) return false;
    find_most(s->out);
    return true;
}

bool tn_i_live_of(const tn_i_plan *p, tn_i_live *out) {
    const tn_fn *f = p->f;
    tn_ctx *c = f->ctx;
    *out = (tn_i_live){.ctx = c, .n = (size_t)f->neqn + 1, .nval = f->nval};
    const bool counted = tn_i_add(p->nstep, p->nmove, &out->crange) && tn_i_add(out->crange, p->ngroup, &out->crange) &&
                         tn_i_add(out->crange, f->nval, &out->crange);
    if (!counted) return tn_i_fail(c, TN_EOVERFLOW, NULL, "the plan of the program is too large"), false;
    out->step = tn_i_alloc_array(c, out->n, sizeof *out->step);
    out->range = tn_i_alloc_array(c, out->crange, sizeof *out->range);
    out->range_of = tn_i_alloc_array(c, f->nval, sizeof *out->range_of);
    survey s = {.p = p,
                .f = f,
                .out = out,
                .last = tn_i_alloc_array(c, f->nval, sizeof *s.last),
                .block_of = out->range_of,
                .block = tn_i_alloc_array(c, f->nval, sizeof *s.block)};
    bool ok = out->step && out->range && s.last && s.block_of && s.block && profile(&s);
    tn_i_free(c, s.last, f->nval * sizeof *s.last);
    tn_i_free(c, s.block, f->nval * sizeof *s.block);
    if (!ok) tn_i_live_free(out);
    return ok;
}

void tn_i_live_free(tn_i_live *l) {
    if (l->step) tn_i_free(l->ctx, l->step, l->n * sizeof *l->step);
    if (l->range) tn_i_free(l->ctx, l->range, l->crange * sizeof *l->range);
    if (l->range_of) tn_i_free(l->ctx, l->range_of, l->nval * sizeof *l->range_of);
    *l = (tn_i_live){0};
}

/* ---- forward and backward -------------------------------------------------------------------- */

/* Behind the last equation that one of the first outputs is made by. */
static uint32_t outputs_known(const tn_fn *g, uint32_t outputs) {
    uint32_t end = 0;
    for (uint32_t j = 0; j < outputs; j++) {
        uint32_t def = g->val[g->out[j]].def;
        if (def < TN_DEF_LITERAL && def >= end) end = def + 1;
    }
    return end;
}

bool tn_i_backward_begins(const tn_fn *g, uint32_t outputs, uint32_t cotangents, uint32_t *eqn) {
    tn_ctx *c = g->ctx;
    bool *depends = tn_i_alloc(c, g->nval);
    if (!depends) return false;
    for (uint32_t i = g->nin - cotangents; i < g->nin; i++) depends[i] = true;
    const uint32_t known = outputs_known(g, outputs);
    uint32_t i = 0;
    for (; i < g->neqn; i++) {
        const tn_i_eqn *e = &g->eqn[i];
        bool late = false;
        for (uint32_t k = 0; k < e->nin; k++) late |= depends[tn_i_in(g, e)[k]];
        if (i >= known && (late || e->region != 0)) break;
        for (uint32_t j = 0; j < e->nout; j++) depends[e->out + j] = late;
    }
    *eqn = i;
    tn_i_free(c, depends, g->nval);
    return true;
}
