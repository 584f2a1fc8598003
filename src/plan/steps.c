/* What runs: a strip, a kernel or a nested program per equation, and copies. */
#include "plan/planner.h"
#include "plan/strides.h"
#include "prims/ranks/collective_run.h"
#include "prims/ids.h"

#include <string.h>

static bool reserve_numbers(tn_i_planner *z, size_t more) {
    tn_i_plan *p = z->p;
    if (p->nnumber + more >= TN_DENSE)
        return tn_i_fail(z->ctx, TN_ELIMIT, NULL, "the plan of the program is too large"), false;
    return tn_i_grow(z->ctx, (void **)&p->number, &p->cnumber, p->nnumber + more, sizeof *p->number);
}

/* Appends the loops over t of `arrays` arrays with these strides. */
static bool add_loops(tn_i_planner *z, const tn_type *t, uint32_t arrays, const int64_t (*stride)[TN_MAX_RANK],
                      uint32_t *loop, uint32_t *loops) {
    tn_i_plan *p = z->p;
    if (!reserve_numbers(z, TN_MAX_RANK * TN_LOOP_WIDTH(arrays))) return false;
    *loop = (uint32_t)p->nnumber;
    *loops = tn_i_collapse(t, arrays, stride, p->number + p->nnumber);
    p->nnumber += *loops * TN_LOOP_WIDTH(arrays);
    return true;
}

bool tn_i_step_add(tn_i_planner *z, const tn_i_step *s) {
    tn_i_plan *p = z->p;
    if (!tn_i_grow(z->ctx, (void **)&p->step, &p->cstep, p->nstep + 1, sizeof *p->step)) return false;
    p->step[p->nstep++] = *s;
    return true;
}

static void strides_at(const tn_i_planner *z, const tn_type *t, const tn_i_place *k, int64_t *stride) {
    if (k->stride == TN_DENSE)
        tn_i_dense_strides(t, stride);
    else
        memcpy(stride, z->p->number + k->stride, (size_t)t->rank * sizeof *stride);
}

bool tn_i_move_add(tn_i_planner *z, tn_i_var v, const tn_i_place *from, const tn_i_place *to, uint32_t out) {
    tn_i_plan *p = z->p;
    const tn_type *t = z->f->val[v].type;
    int64_t stride[2][TN_MAX_RANK];
    tn_i_move m = {.from = *from, .to = *to, .v = v, .out = out, .stack = tn_i_has_steps(t)};
    if (!m.stack) {
        strides_at(z, t, from, stride[0]);
        strides_at(z, t, to, stride[1]);
        tn_i_walk_init(&m.walk, t->rank, t->dim, stride[0], stride[1]);
    }
    if (!tn_i_grow(z->ctx, (void **)&p->move, &p->cmove, p->nmove + 1, sizeof *p->move)) return false;
    p->move[p->nmove++] = m;
    return true;
}

bool tn_i_step_move(tn_i_planner *z, uint32_t eqn, tn_i_var v, const tn_i_place *from, const tn_i_place *to) {
    const tn_i_step s = {.eqn = eqn, .kind = TN_STEP_MOVE, .loop = (uint32_t)z->p->nmove};
    return tn_i_move_add(z, v, from, to, TN_NOVAR) && tn_i_step_add(z, &s);
}

/* ---- strips ----------------------------------------------------------------------- */

bool tn_i_cannot_run(const tn_i_planner *z, const tn_i_eqn *e, const char *why) {
    (void)tn_i_fail(z->ctx, TN_ERULE, e->loc, "%s: %s", e->prim->name, why);
    return false;
}

static bool add_strip(tn_i_planner *z, const tn_i_eqn *e, tn_i_step *s) {
    const tn_i_var *in = tn_i_in(z->f, e);
    const tn_type *t = z->f->val[e->out].type;
    int64_t stride[TN_LOOP_ARRAYS][TN_MAX_RANK];
    uint32_t loops;
    if (e->nin >= TN_LOOP_ARRAYS || (uint32_t)e->prim->strip_operand >= e->nin || e->nout != 1)
        return tn_i_cannot_run(z, e, "an elementwise primitive has 1 to 4 operands and one output");
    s->u.strip = e->prim->strip[z->f->val[in[e->prim->strip_operand]].type->dtype];
    if (!s->u.strip) return tn_i_cannot_run(z, e, "has no kernel for this dtype");
    tn_i_place_strides(z, e->out, stride[0]);
    for (uint32_t i = 0; i < e->nin; i++) tn_i_place_strides(z, in[i], stride[1 + i]);
    if (!add_loops(z, t, 1 + e->nin, (const int64_t(*)[TN_MAX_RANK])stride, &s->loop, &loops)) return false;
    s->kind = TN_STEP_STRIP;
    s->loops = (uint8_t)loops;
    return tn_i_step_add(z, s);
}

/* ---- kernels ------------------------------------------------------------------------ */

bool tn_i_step_scratch(tn_i_planner *z, size_t bytes, tn_i_step *s) {
    uint32_t b;
    if (bytes == 0) return true;
    if (!tn_i_block_new(z, bytes < TN_ARENA_ALIGN ? TN_ARENA_ALIGN : bytes, 0, &b)) return false;
    s->scratch = (int64_t)z->block[b].slot.offset;
    tn_i_block_release(z, b);
    return true;
}

static bool add_kernel(tn_i_planner *z, const tn_i_eqn *e, tn_i_step *s) {
    size_t bytes = 0;
    if (e->prim->scratch) {
        tn_i_query q = tn_i_planner_query(z, e);
        bytes = e->prim->scratch(&q);
        if (bytes == SIZE_MAX) {
            (void)tn_i_fail(z->ctx, TN_EOVERFLOW, e->loc, "%s: the size of its workspace overflows", e->prim->name);
            return false;
        }
    }
    if (!tn_i_step_scratch(z, bytes, s)) return false;
    s->nscratch = bytes;
    if (e->nin + e->nout > z->p->narr) z->p->narr = e->nin + e->nout;
    s->kind = TN_STEP_KERNEL;
    return tn_i_step_add(z, s);
}

/* ---- nested programs ------------------------------------------------------------------ */

bool tn_i_body_args_init(tn_i_planner *z, const tn_i_eqn *e, uint32_t first, tn_i_body_args *a) {
    *a = (tn_i_body_args){.place = tn_i_alloc_array(z->ctx, e->nin, sizeof *a->place),
                          .key = tn_i_alloc_array(z->ctx, (size_t)e->nin * TN_MAX_RANK, sizeof *a->key),
                          .copy = tn_i_alloc_array(z->ctx, e->nin, sizeof *a->copy),
                          .first = first};
    if (!a->place || !a->key || !a->copy) return false;
    for (uint32_t i = 0; i < e->nin; i++) {
        a->place[i] = z->p->place[tn_i_in(z->f, e)[i]];
        a->copy[i] = TN_NOBLOCK;
    }
    return true;
}

void tn_i_body_args_free(tn_i_planner *z, const tn_i_eqn *e, tn_i_body_args *a) {
    tn_i_free(z->ctx, a->place, e->nin * sizeof *a->place);
    tn_i_free(z->ctx, a->key, (size_t)e->nin * TN_MAX_RANK * sizeof *a->key);
    tn_i_free(z->ctx, a->copy, e->nin * sizeof *a->copy);
}

static void write_key(tn_i_planner *z, const tn_i_eqn *e, tn_i_body_args *a) {
    a->nkey = 0;
    for (uint32_t i = a->first; i < e->nin; i++) {
        const tn_type *t = z->f->val[tn_i_in(z->f, e)[i]].type;
        a->nkey += tn_i_place_key(z, t, &a->place[i], a->key + a->nkey);
    }
}

/* Copies the operands that are not row-major. */
static bool copy_operands(tn_i_planner *z, const tn_i_eqn *e, uint32_t eqn, tn_i_body_args *a) {
    for (uint32_t i = a->first; i < e->nin; i++) {
        tn_i_var v = tn_i_in(z->f, e)[i];
        if (a->place[i].stride == TN_DENSE || tn_i_empty(z->f->val[v].type) || tn_i_has_steps(z->f->val[v].type))
            continue;
        if (!tn_i_block_new(z, tn_type_bytes(z->f->val[v].type), 0, &a->copy[i])) return false;
        const tn_i_place to = {
            .offset = (int64_t)z->block[a->copy[i]].slot.offset, .base = TN_BASE_ARENA, .stride = TN_DENSE};
        if (!tn_i_step_move(z, eqn, v, &a->place[i], &to)) return false;
        a->place[i] = to;
    }
    write_key(z, e, a);
    return true;
}

bool tn_i_settle_operands(tn_i_planner *z, const tn_i_eqn *e, uint32_t eqn, uint32_t n, const tn_fn *const *f,
                          tn_i_body_args *a) {
    write_key(z, e, a);
    for (uint32_t k = 0; k < n; k++) {
        const tn_i_variant w = tn_i_variant_find(z->root, f[k], a->key, a->nkey);
        if (!w.plan && w.full) return copy_operands(z, e, eqn, a);
    }
    return true;
}

const tn_i_plan *tn_i_plan_nested(tn_i_planner *z, const tn_fn *f, const tn_i_body_args *a, size_t *bytes) {
    const tn_i_variant w = tn_i_variant_find(z->root, f, a->key, a->nkey);
    const tn_i_plan *p = w.plan ? w.plan : tn_i_variant_new(z->root, f, a->key, a->nkey, 0, 0);
    if (!p) return NULL;
    if (p->spill > z->nested_spill) z->nested_spill = p->spill;
    tn_i_count_steps(z, p->per_step);
    if (!tn_i_add(p->frame, p->bytes, bytes)) *bytes = SIZE_MAX;
    return p;
}

bool tn_i_add_arguments(tn_i_planner *z, const tn_i_eqn *e, size_t bytes, tn_i_body_args *a, tn_i_step *s,
                        uint32_t *arg) {
    tn_i_plan *p = z->p;
    if (!tn_i_step_scratch(z, bytes, s)) return false;
    if (!tn_i_grow(z->ctx, (void **)&p->arg, &p->carg, p->narg + e->nin, sizeof *p->arg)) return false;
    if (e->nin) memcpy(p->arg + p->narg, a->place, e->nin * sizeof *a->place);
    *arg = (uint32_t)p->narg;
    p->narg += e->nin;
    for (uint32_t j = 0; j < e->nout; j++)
        s->stacks |= p->place[e->out + j].base == TN_BASE_ARENA && tn_i_handles(z->f->val[e->out + j].type) > 0;
    for (uint32_t i = 0; i < e->nin; i++)
        if (a->copy[i] != TN_NOBLOCK) tn_i_block_release(z, a->copy[i]);
    return true;
}

static bool add_body(tn_i_planner *z, const tn_i_eqn *e, tn_i_step *s) {
    const tn_fn *f = tn_i_body(e);
    tn_i_body_args a;
    size_t bytes;
    if (f->nin != e->nin || f->nout != e->nout)
        return tn_i_cannot_run(z, e, "its program has other inputs or outputs than it");
    bool ok = tn_i_body_args_init(z, e, 0, &a) && tn_i_settle_operands(z, e, s->eqn, 1, &f, &a) &&
              (s->u.body = tn_i_plan_nested(z, f, &a, &bytes)) != NULL &&
              tn_i_add_arguments(z, e, bytes, &a, s, &s->loop);
    s->kind = TN_STEP_BODY;
    ok = ok && tn_i_step_add(z, s);
    tn_i_body_args_free(z, e, &a);
    return ok;
}

/* ---- equations --------------------------------------------------------------------------- */

static bool nothing_to_compute(const tn_i_planner *z, const tn_i_eqn *e) {
    for (uint32_t j = 0; j < e->nout; j++)
        if (!tn_i_empty(z->f->val[e->out + j].type)) return false;
    return !tn_i_always_runs(z, e);
}

/* Operands after their last use, and outputs that nothing uses. */
static bool release_dead(tn_i_planner *z, const tn_i_eqn *e, uint32_t eqn) {
    for (uint32_t i = 0; i < e->nin; i++) {
        uint32_t b = z->block_of[tn_i_in(z->f, e)[i]];
        tn_i_spill_used(z, tn_i_in(z->f, e)[i]);
        if (b != TN_NOBLOCK && --z->block[b].refs == 0 && !tn_i_block_dead(z, b, eqn)) return false;
    }
    const tn_i_group *g = tn_i_group_of(z, eqn);
    for (uint32_t k = 0; g && k < g->nactor; k++)
        for (uint32_t i = 0; i < g->actor[k].nin; i++) {
            if (!g->actor[k].reads[i]) continue;
            const tn_i_var v = tn_i_in(z->f, &z->f->eqn[g->actor[k].eqn])[i];
            const uint32_t b = z->block_of[v];
            tn_i_spill_used(z, v);
            if (b != TN_NOBLOCK && --z->block[b].refs == 0 && !tn_i_block_dead(z, b, eqn)) return false;
        }
    for (uint32_t j = 0; j < e->nout; j++) {
        uint32_t b = z->block_of[e->out + j];
        if (b != TN_NOBLOCK && z->uses[e->out + j] == 0 && !tn_i_block_dead(z, b, eqn)) return false;
    }
    return true;
}

/* What messages read and wrote, behind the equation that follows where they were waited for: some of that may run
 * before (interior.c). */
static bool release_waited(tn_i_planner *z, uint32_t eqn) {
    bool ok = true;
    for (uint32_t i = z->waited; ok && i < eqn; i++)
        if (z->live[i] && tn_i_waits(&z->f->eqn[i])) ok = release_dead(z, &z->f->eqn[i], i);
    z->waited = TN_NOVAR;
    return ok;
}

/* Nothing but loops, and what passes values on, knows arrays with `?` in memory. */
static bool only_passes(const tn_i_planner *z, const tn_i_eqn *e) {
    bool steps = false;
    for (uint32_t i = 0; i < e->nin; i++) steps |= tn_i_has_steps(z->f->val[tn_i_in(z->f, e)[i]].type);
    for (uint32_t j = 0; j < e->nout; j++) steps |= tn_i_has_steps(z->f->val[e->out + j].type);
    return !steps || e->prim->id == TN_P_steps || (!e->prim->kernel && (tn_i_body(e) || e->prim->flags & TN_F_LOOP)) ||
           tn_i_cannot_run(z, e, "an array whose length a loop finds when it runs can only be passed to loops");
}

/* A body that is no nest is run as it is. */
static bool add_fused(tn_i_planner *z, const tn_i_eqn *e, tn_i_step *s) {
    const bool plain = z->root->plain;
    bool done = false;
    if (!plain && !tn_i_step_nest(z, e, s, &done)) return false;
    if (done) return true;
    if (!tn_i_place_outputs(z, e)) return false;
    if (nothing_to_compute(z, e)) return true;
    z->root->plain = true;
    const bool ok = add_body(z, e, s);
    z->root->plain = plain;
    return ok;
}

static bool step_of(tn_i_planner *z, const tn_i_eqn *e, uint32_t eqn) {
    tn_i_step s = {.eqn = eqn};
    const tn_fn *const *branch;
    const char *why = e->prim->unrunnable ? e->prim->unrunnable(tn_i_p(e)) : NULL;
    if (why) return tn_i_cannot_run(z, e, why);
    if (!only_passes(z, e)) return false;
    bool done = false;
    if (e->prim->id == TN_P_fused) return add_fused(z, e, &s);
    if (!tn_i_place_outputs(z, e)) return false;
    if (nothing_to_compute(z, e)) return true;
    if (!tn_i_step_joined(z, e, eqn, &done)) return false;
    if (done) return true;
    if (e->prim->kernel) return add_kernel(z, e, &s);
    if (tn_i_body(e)) return add_body(z, e, &s);
    tn_i_group *g = tn_i_group_of(z, eqn);
    if (g) return tn_i_step_group(z, e, &s, g);
    if (tn_i_alternatives(e, &branch)) return tn_i_add_branches(z, e, &s);
    if (e->prim->flags & TN_F_LOOP) return tn_i_step_loop(z, e, &s);
    if (e->prim->flags & TN_F_ELEMENTWISE) return add_strip(z, e, &s);
    return tn_i_cannot_run(z, e, "has no kernel");
}

bool tn_i_step_equation(tn_i_planner *z, uint32_t eqn) {
    const tn_i_eqn *e = &z->f->eqn[eqn];
    bool done = tn_i_spills(z, e);
    if (!tn_i_spill_fetch(z, eqn) || (done && !tn_i_spill_equation(z, eqn))) return false;
    if (!done && !tn_i_place_view(z, e, &done)) return false;
    const bool view = done;
    if (!done && !step_of(z, e, eqn)) return false;
    if (tn_i_waits(e)) {
        if (z->waited == TN_NOVAR) z->waited = eqn;
        return true;
    }
    return release_dead(z, e, eqn) && (view || release_waited(z, eqn));
}

/* ---- results ------------------------------------------------------------------------------ */

/* Output j reads memory of an input that another output, or itself otherwise laid out, may overwrite. */
static bool endangered(const tn_i_planner *z, uint32_t j, const tn_i_place *from, const uint32_t *writer) {
    uint32_t i = from->base - TN_BASE_ARGUMENTS;
    if (from->base < TN_BASE_ARGUMENTS || i >= z->f->nin || writer[i] == TN_NOVAR) return false;
    return writer[i] != j || z->f->out[j] != i;
}

static bool result_place(tn_i_planner *z, uint32_t j, tn_i_place *to) {
    const tn_type *t = z->f->val[z->f->out[j]].type;
    const int64_t *given = z->layout->out ? z->layout->out[j] : NULL;
    *to = (tn_i_place){.base = TN_BASE_ARGUMENTS + z->f->nin + j, .stride = TN_DENSE};
    if (!given) return true;
    int64_t stride[TN_MAX_RANK];
    memcpy(stride, given, (size_t)t->rank * sizeof *stride);
    return tn_i_place_with(z, t, stride, to);
}

/* Copies of endangered outputs come before all others; from[j] is then the copy. */
static bool rescue(tn_i_planner *z, tn_i_place *from, uint32_t *writer) {
    if (!z->layout->alias) return true;
    for (uint32_t i = 0; i < z->f->nin; i++) writer[i] = TN_NOVAR;
    for (uint32_t j = 0; j < z->f->nout; j++)
        if (z->layout->alias[j] >= 0) writer[z->layout->alias[j]] = j;
    for (uint32_t j = 0; j < z->f->nout; j++) {
        tn_i_var v = z->f->out[j];
        uint32_t b;
        if (tn_i_empty(z->f->val[v].type) || !endangered(z, j, &from[j], writer)) continue;
        if (!tn_i_block_new(z, tn_i_memory_bytes(z->f->val[v].type), 0, &b)) return false;
        const tn_i_place to = {.offset = (int64_t)z->block[b].slot.offset, .base = TN_BASE_ARENA, .stride = TN_DENSE};
        if (!tn_i_move_add(z, v, &from[j], &to, TN_NOVAR)) return false;
        from[j] = to;
    }
    return true;
}

static bool copy_results(tn_i_planner *z, const tn_i_place *from) {
    for (uint32_t j = 0; j < z->f->nout; j++) {
        tn_i_var v = z->f->out[j];
        tn_i_place to;
        if (tn_i_empty(z->f->val[v].type)) continue;
        if (from[j].base == TN_BASE_ARGUMENTS + z->f->nin + j || tn_i_place_kept(z, j)) continue; /* computed there */
        if (!result_place(z, j, &to) || !tn_i_move_add(z, v, &from[j], &to, j)) return false;
    }
    return true;
}

bool tn_i_step_results(tn_i_planner *z) {
    uint32_t nin = z->f->nin, nout = z->f->nout;
    tn_i_place *from = tn_i_alloc_array(z->ctx, nout, sizeof *from);
    uint32_t *writer = tn_i_alloc_array(z->ctx, nin, sizeof *writer);
    z->p->last_move = z->p->nmove;
    bool ok = from && writer;
    for (uint32_t j = 0; ok && j < nout; j++) from[j] = z->p->place[z->f->out[j]];
    ok = ok && rescue(z, from, writer) && copy_results(z, from) && tn_i_place_last(z);
    tn_i_free(z->ctx, from, nout * sizeof *from);
    tn_i_free(z->ctx, writer, nin * sizeof *writer);
    return ok;
}
