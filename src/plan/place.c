/* Where values live: views, memory that dies under an equation, the caller's outputs, the arena. */
#include "plan/planner.h"
#include "plan/strides.h"

#include <string.h>

/* ---- strides of values -------------------------------------------------------------- */

void tn_i_place_strides_of(const tn_i_plan *p, const tn_type *t, const tn_i_place *k, int64_t stride[TN_MAX_RANK]) {
    memset(stride, 0, TN_MAX_RANK * sizeof *stride);
    if (k->stride == TN_DENSE)
        tn_i_dense_strides(t, stride);
    else
        memcpy(stride, p->number + k->stride, (size_t)t->rank * sizeof *stride);
}

void tn_i_place_strides(const tn_i_planner *z, tn_i_var v, int64_t stride[TN_MAX_RANK]) {
    tn_i_place_strides_of(z->p, z->f->val[v].type, &z->p->place[v], stride);
}

bool tn_i_place_with(tn_i_planner *z, const tn_type *t, int64_t *stride, tn_i_place *place) {
    tn_i_plan *p = z->p;
    tn_i_normalize(t, stride);
    place->stride = TN_DENSE;
    if (tn_i_strides_dense(t, stride)) return true;
    size_t n = p->nnumber + (size_t)t->rank;
    if (n >= TN_DENSE) return tn_i_fail(z->ctx, TN_ELIMIT, NULL, "the plan of the program has too many views"), false;
    if (!tn_i_grow(z->ctx, (void **)&p->number, &p->cnumber, n, sizeof *p->number)) return false;
    memcpy(p->number + p->nnumber, stride, (size_t)t->rank * sizeof *stride);
    place->stride = (uint32_t)p->nnumber;
    p->nnumber = n;
    return true;
}

bool tn_i_place_arena(const tn_i_plan *p, const tn_i_place *k, int64_t *offset) {
    const uint32_t j = k->base - TN_BASE_ARGUMENTS - p->f->nin;
    const bool spare = p->spare && k->base >= TN_BASE_ARGUMENTS + p->f->nin && p->spare[j] >= 0;
    *offset = k->offset + (spare ? p->spare[j] : 0);
    return spare || k->base == TN_BASE_ARENA;
}

/* The memory of a carry is a block like any other, but of the loop's. */
static bool own_carry(tn_i_planner *z, uint32_t i) {
    const tn_type *t = z->f->val[i].type;
    if (i < z->layout->carry0 || i - z->layout->carry0 >= z->layout->ncarry || tn_i_empty(t)) return true;
    if (!tn_i_grow(z->ctx, (void **)&z->block, &z->cblock, z->nblock + 1, sizeof *z->block)) return false;
    z->block_of[i] = (uint32_t)z->nblock;
    z->block[z->nblock++] =
        (tn_i_block){.bytes = tn_type_bytes(t), .refs = z->uses[i], .stack = TN_NOVAR, .base = TN_BASE_ARGUMENTS + i};
    return true;
}

static bool handles_given(const tn_type *t, const int64_t *stride) {
    for (int i = 0; i < t->rank; i++)
        if (t->dim[i] == TN_I_STEPS) return stride[i] == TN_I_STEPS;
    return false;
}

size_t tn_i_place_key(const tn_i_planner *z, const tn_type *t, const tn_i_place *k, int64_t *key) {
    if (k->stride == TN_DENSE)
        tn_i_dense_strides(t, key);
    else
        memcpy(key, z->p->number + k->stride, (size_t)t->rank * sizeof *key);
    tn_i_normalize(t, key);
    for (int i = 0; i < t->rank; i++)
        if (t->dim[i] == TN_I_STEPS) key[i] = k->stride == TN_DENSE ? TN_I_STEPS : 0;
    return (size_t)t->rank;
}

bool tn_i_place_inputs(tn_i_planner *z) {
    const int64_t *at = z->layout->in;
    for (uint32_t i = 0; i < z->f->nin; i++) {
        const tn_type *t = z->f->val[i].type;
        tn_i_place *k = &z->p->place[i];
        *k = (tn_i_place){.base = TN_BASE_ARGUMENTS + i, .stride = TN_DENSE};
        if (!own_carry(z, i)) return false;
        if (!at) continue;
        int64_t stride[TN_MAX_RANK];
        memcpy(stride, at, (size_t)t->rank * sizeof *stride);
        at += t->rank;
        if (!tn_i_empty(t) && !handles_given(t, stride) && !tn_i_place_with(z, t, stride, k)) return false;
    }
    return true;
}

void tn_i_place_literals(tn_i_planner *z) {
    for (uint32_t v = z->f->nin; v < z->f->nval; v++)
        if (tn_i_is_literal(z->f, v))
            z->p->place[v] = (tn_i_place){
                .offset = (int64_t)(uintptr_t)&z->f->val[v].bits, .base = TN_BASE_ABSOLUTE, .stride = TN_DENSE};
}

/* ---- blocks ------------------------------------------------------------------------- */

bool tn_i_block_new(tn_i_planner *z, size_t bytes, uint32_t refs, uint32_t *block) {
    if (!tn_i_grow(z->ctx, (void **)&z->block, &z->cblock, z->nblock + 1, sizeof *z->block)) return false;
    tn_i_block *b = &z->block[z->nblock];
    *b = (tn_i_block){.bytes = bytes, .refs = refs, .stack = TN_NOVAR, .base = TN_BASE_ARENA};
    if (!tn_i_pool_take(&z->pool, bytes, &b->slot)) return false;
    *block = (uint32_t)z->nblock++;
    return true;
}

void tn_i_block_release(tn_i_planner *z, uint32_t block) {
    if (z->block[block].base == TN_BASE_ARENA) tn_i_pool_give(&z->pool, &z->block[block].slot);
}

/* Stacks are counted while they are alive, and what nested programs need at one time on top. */
void tn_i_count_steps(tn_i_planner *z, size_t nested) {
    size_t most;
    if (!tn_i_add(z->steps_now, nested, &most)) most = SIZE_MAX;
    if (most > z->p->per_step) z->p->per_step = most;
}

size_t tn_i_per_step(const tn_type *t) {
    size_t bytes;
    return tn_i_mul((size_t)tn_i_handles(t), tn_i_entry_bytes(t), &bytes) ? bytes : SIZE_MAX;
}

static bool add_release(tn_i_planner *z, uint32_t block) {
    tn_i_plan *p = z->p;
    if (!tn_i_grow(z->ctx, (void **)&p->release, &p->crelease, p->nrelease + 1, sizeof *p->release)) return false;
    p->release[p->nrelease++] =
        (tn_i_release){.offset = (int64_t)z->block[block].slot.offset, .v = z->block[block].stack};
    return true;
}

bool tn_i_block_dead(tn_i_planner *z, uint32_t block, uint32_t eqn) {
    const tn_i_var v = z->block[block].stack;
    tn_i_block_release(z, block);
    if (v == TN_NOVAR) return true;
    z->steps_now -= tn_i_per_step(z->f->val[v].type);
    const tn_i_step s = {.eqn = eqn, .kind = TN_STEP_RELEASE, .loop = (uint32_t)z->p->nrelease};
    return add_release(z, block) && tn_i_step_add(z, &s);
}

bool tn_i_place_last(tn_i_planner *z) {
    z->p->last_release = z->p->nrelease;
    for (uint32_t b = 0; b < z->nblock && z->layout->nested; b++)
        if (z->block[b].stack != TN_NOVAR && z->block[b].refs && !add_release(z, b)) return false;
    return true;
}

/* v fills its block, row-major. */
static bool whole(const tn_i_planner *z, tn_i_var v) {
    uint32_t b = z->block_of[v];
    const tn_i_place *k = &z->p->place[v];
    return b != TN_NOBLOCK && k->stride == TN_DENSE && k->base == z->block[b].base &&
           k->offset == (int64_t)z->block[b].slot.offset && tn_i_memory_bytes(z->f->val[v].type) == z->block[b].bytes;
}

/* e reads each element of operand i, whole in its block, before it writes that element of output j, and not after.
 * Strips do; a nest tells; a kernel must say that it can. */
static bool reads_first(const tn_i_planner *z, const tn_i_eqn *e, uint32_t j, uint32_t i) {
    if (!whole(z, tn_i_in(z->f, e)[i])) return false;
    if (z->draft) return tn_i_draft_replaces(z->draft, j, i);
    return (e->prim->flags & TN_F_ELEMENTWISE) || i == 0;
}

/* Every use to come of operand i's block is an operand of e that output j may overwrite. */
static bool dies_here(const tn_i_planner *z, const tn_i_eqn *e, uint32_t j, uint32_t i) {
    const tn_i_var *in = tn_i_in(z->f, e);
    uint32_t b = z->block_of[in[i]], n = 0;
    for (uint32_t k = 0; k < e->nin; k++) {
        if (z->block_of[in[k]] != b) continue;
        n++;
        if (k != i && (!(z->draft || e->prim->flags & TN_F_ELEMENTWISE) || !reads_first(z, e, j, k))) return false;
    }
    return z->block[b].refs == n;
}

/* The block of an operand that output j may be written over, or TN_NOBLOCK. */
static uint32_t overwritten(const tn_i_planner *z, const tn_i_eqn *e, uint32_t j) {
    const tn_type *t = z->f->val[e->out + j].type;
    const bool any = z->draft || ((e->prim->flags & TN_F_ELEMENTWISE) && !e->prim->kernel);
    if (z->uses[e->out + j] == 0 || (j && !z->draft)) return TN_NOBLOCK;
    if (!any && (tn_i_body(e) || !(e->prim->flags & TN_F_INPLACE))) return TN_NOBLOCK;
    for (uint32_t i = 0; i < (any ? e->nin : 1) && i < e->nin; i++) {
        tn_i_var v = tn_i_in(z->f, e)[i];
        const tn_type *s = z->f->val[v].type;
        if (whole(z, v) && tn_i_count(s) == tn_i_count(t) && tn_i_dtype_size(s->dtype) == tn_i_dtype_size(t->dtype) &&
            reads_first(z, e, j, i) && dies_here(z, e, j, i))
            return z->block_of[v];
    }
    return TN_NOBLOCK;
}

/* The block of the carry that output j of a loop begins with, where nothing reads it any more. */
static uint32_t taken_over(const tn_i_planner *z, const tn_i_eqn *e, uint32_t j) {
    tn_i_loop_shape s;
    if (!tn_i_loop_read(e, &s) || j >= s.ncarry || z->uses[e->out + j] == 0) return TN_NOBLOCK;
    tn_i_var v = tn_i_in(z->f, e)[s.carry0 + j];
    return whole(z, v) && dies_here(z, e, j, s.carry0 + j) ? z->block_of[v] : TN_NOBLOCK;
}

/* ---- outputs of equations ------------------------------------------------------------- */

static bool dense_output(const tn_i_planner *z, uint32_t j) {
    const int64_t *stride = z->layout->out ? z->layout->out[j] : NULL;
    return !stride || tn_i_strides_dense(z->f->val[z->f->out[j]].type, stride);
}

bool tn_i_always_runs(const tn_i_planner *z, const tn_i_eqn *e) {
    const tn_i_group *g = tn_i_group_of(z, (uint32_t)(e - z->f->eqn));
    bool speaks = false;
    for (uint32_t k = 0; g && k < g->nactor; k++)
        for (int i = 0; i < TN_STEPS_OF; i++) speaks |= g->actor[k].fn[i] && g->actor[k].fn[i]->comm;
    return speaks || tn_i_eqn_effect(e);
}

static bool carried(const tn_i_eqn *e, tn_i_var v) {
    tn_i_loop_shape s;
    return tn_i_loop_read(e, &s) && v - e->out < s.ncarry;
}

/* May be computed straight into the caller's memory.  That may be shared with an input that is still read, unless the
 * program is nested; and the arena, which is aligned, is the better place for what each step of a loop reads and
 * writes. */
static bool outside(const tn_i_planner *z, const tn_i_eqn *e, tn_i_var v) {
    const uint32_t j = z->out_of[v];
    if (j == TN_NOVAR) return false;
    if (z->layout->nested || (z->layout->handles && tn_i_has_steps(z->f->val[v].type))) return true;
    if (e->nout > 1 && carried(e, v)) return false;
    return !(z->layout->alias && z->layout->alias[j] >= 0) && dense_output(z, j);
}

/* So that it needs no place of its own: it is not computed at all when the caller's memory is absent (NULL). */
static bool direct(const tn_i_planner *z, const tn_i_eqn *e, tn_i_var v) {
    if (!outside(z, e, v)) return false;
    if (z->layout->nested || z->layout->handles) return true;
    if (z->uses[v] != 1) return false;
    for (uint32_t j = 0; j < e->nout && !z->draft; j++)
        if (e->out + j != v && z->uses[e->out + j]) return false;
    return !tn_i_always_runs(z, e) || (e->prim->flags & TN_F_COMM); /* that has a place for what nobody wants */
}

/* One of its own, for calls that give none. */
static bool place_spare(tn_i_planner *z, tn_i_var v) {
    const uint32_t nout = z->f->nout;
    uint32_t b;
    if (!tn_i_block_new(z, tn_i_memory_bytes(z->f->val[v].type), 1, &b)) return false;
    if (!z->p->spare) {
        z->p->spare = tn_i_alloc_array(z->ctx, nout, sizeof *z->p->spare);
        for (uint32_t j = 0; z->p->spare && j < nout; j++) z->p->spare[j] = -1;
    }
    if (z->p->spare) z->p->spare[z->out_of[v]] = (int64_t)z->block[b].slot.offset;
    return z->p->spare != NULL;
}

/* A step of a loop leaves this carry where it entered. */
static bool own_memory(const tn_i_planner *z, tn_i_var v, uint32_t block) {
    const uint32_t j = z->out_of[v];
    return block != TN_NOBLOCK && j < z->layout->ncarry &&
           z->block[block].base == TN_BASE_ARGUMENTS + z->layout->carry0 + j;
}

bool tn_i_place_kept(const tn_i_planner *z, uint32_t j) {
    if (j >= z->layout->ncarry) return false;
    const tn_i_place *k = &z->p->place[z->f->out[j]];
    return tn_i_empty(z->f->val[z->f->out[j]].type) ||
           (k->base == TN_BASE_ARGUMENTS + z->layout->carry0 + j && k->offset == 0 && k->stride == TN_DENSE);
}

/* In the memory of a concatenation that v is to be part of, or that is v, taken when the first of its parts is made. */
static bool place_joined(tn_i_planner *z, tn_i_var v, bool *done) {
    int64_t offset;
    const tn_i_var y = tn_i_join_of(z, v, &offset);
    if (y == TN_NOVAR) return true;
    const tn_i_eqn *e = &z->f->eqn[z->f->val[y].def];
    const bool straight = direct(z, e, y);
    if (y == v && (straight || z->block_of[y] == TN_NOBLOCK)) return true;
    tn_i_place k = {.base = TN_BASE_ARGUMENTS + z->f->nin + z->out_of[y], .offset = offset, .stride = TN_DENSE};
    if (!straight) {
        if (z->block_of[y] == TN_NOBLOCK &&
            !tn_i_block_new(z, tn_i_memory_bytes(z->f->val[y].type), 0, &z->block_of[y]))
            return false;
        const uint32_t b = z->block_of[y];
        z->block_of[v] = b;
        z->block[b].refs += z->uses[v];
        k.base = z->block[b].base;
        k.offset += (int64_t)z->block[b].slot.offset;
    }
    z->p->place[v] = k;
    z->p->within[v] = y;
    *done = true;
    return true;
}

static bool place_output(tn_i_planner *z, const tn_i_eqn *e, uint32_t j) {
    tn_i_var v = e->out + j;
    const tn_type *t = z->f->val[v].type;
    tn_i_place *k = &z->p->place[v];
    *k = (tn_i_place){.base = TN_BASE_ARENA, .stride = TN_DENSE};
    if (tn_i_again(z, v)) k->base = TN_BASE_ABSOLUTE; /* it has no memory */
    if (tn_i_empty(t) || tn_i_again(z, v)) return true;
    bool done = false;
    if (!place_joined(z, v, &done)) return false;
    if (done) return true;
    uint32_t b = (e->prim->flags & TN_F_LOOP) ? taken_over(z, e, j) : overwritten(z, e, j);
    const bool straight = direct(z, e, v);
    if ((straight && !own_memory(z, v, b)) || (b == TN_NOBLOCK && outside(z, e, v) && !tn_i_has_steps(t))) {
        if (!straight && !place_spare(z, v)) return false;
        k->base = TN_BASE_ARGUMENTS + z->f->nin + z->out_of[v];
        return true;
    }
    if (b != TN_NOBLOCK)
        z->block[b].refs += z->uses[v];
    else {
        if (!tn_i_block_new(z, tn_i_memory_bytes(t), z->uses[v], &b)) return false;
        if (tn_i_has_steps(t)) {
            z->block[b].stack = v;
            z->steps_now += tn_i_per_step(t);
            tn_i_count_steps(z, 0);
        }
    }
    z->block_of[v] = b;
    k->base = z->block[b].base;
    k->offset = (int64_t)z->block[b].slot.offset;
    return true;
}

bool tn_i_place_outputs(tn_i_planner *z, const tn_i_eqn *e) {
    for (uint32_t j = 0; j < e->nout; j++)
        if (!place_output(z, e, j)) return false;
    return true;
}

/* ---- views ------------------------------------------------------------------------------ */

tn_i_query tn_i_planner_query(tn_i_planner *z, const tn_i_eqn *e) {
    for (uint32_t i = 0; i < e->nin; i++) z->in_type[i] = z->f->val[tn_i_in(z->f, e)[i]].type;
    for (uint32_t j = 0; j < e->nout; j++) z->out_type[j] = *z->f->val[e->out + j].type;
    return (tn_i_query){.ctx = z->ctx,
                        .prim = e->prim,
                        .p = tn_i_p(e),
                        .nin = e->nin,
                        .nout = e->nout,
                        .in = z->in_type,
                        .out = z->out_type};
}

/* v is in x's memory, at place k. */
static void share(tn_i_planner *z, tn_i_var v, tn_i_var x, const tn_i_place *k) {
    z->p->place[v] = *k;
    z->block_of[v] = z->block_of[x];
    if (z->block_of[v] != TN_NOBLOCK) z->block[z->block_of[v]].refs += z->uses[v];
}

/* v, a small part of x, is read after the equation that could write its result over x: as a view it would
 * have all of x kept, and copied at each update of a loop, so it is copied itself. */
static bool outlives(const tn_i_planner *z, tn_i_var v, tn_i_var x) {
    const uint32_t over = z->rewritten[x];
    return over && z->last[v] > over && z->block_of[x] != TN_NOBLOCK &&
           tn_type_bytes(z->f->val[v].type) <= tn_type_bytes(z->f->val[x].type) / 4;
}

/* Storage of an equation that only looks at its operand differently, or that is an array already. */
bool tn_i_place_view(tn_i_planner *z, const tn_i_eqn *e, bool *done) {
    const void *data = tn_i_constant_data(e);
    tn_i_var v = e->out;
    *done = data != NULL;
    if (data) {
        z->p->place[v] = (tn_i_place){.offset = (int64_t)(uintptr_t)data, .base = TN_BASE_ABSOLUTE, .stride = TN_DENSE};
        return true;
    }
    if (e->nin == 0 || e->nout != 1) return true;
    tn_i_var x = tn_i_in(z->f, e)[0];
    if (tn_i_empty(z->f->val[x].type)) return true;
    if (e->prim->flags & TN_F_OFFLOAD) { /* not spilled: nothing but its operand */
        *done = true;
        share(z, v, x, &z->p->place[x]);
        return true;
    }
    if (!(e->prim->flags & TN_F_VIEW) || !e->prim->view) return true;
    if (outlives(z, v, x)) return true;
    if (tn_i_has_steps(z->f->val[x].type) && z->p->place[x].stride == TN_DENSE) return true; /* handles */
    tn_i_query q = tn_i_planner_query(z, e);
    tn_i_arr in = {.type = z->f->val[x].type}, out = {.type = z->f->val[v].type};
    int64_t offset = 0;
    tn_i_place_strides(z, x, in.stride);
    if (!e->prim->view(&q, &in, &out, &offset)) return true;
    tn_i_place k = z->p->place[x];
    k.offset += offset * (int64_t)tn_i_dtype_size(in.type->dtype);
    if (!tn_i_place_with(z, out.type, out.stride, &k)) return false;
    share(z, v, x, &k);
    *done = true;
    return true;
}
