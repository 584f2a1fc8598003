/* Planning a program and its nested programs. */
#include "plan/row_blocks.h"
#include "opt/fuse.h"
#include "plan/planner.h"
#include "plan/strides.h"
#include "prims/linear/dot.h"
#include "plan/speech.h"
#include "prims/ids.h"

#include <string.h>

/* ---- liveness ----------------------------------------------------------------------- */

static bool is_view(const tn_i_eqn *e) { return (e->prim->flags & TN_F_VIEW) && e->nin > 0 && e->nout == 1; }

static void note_uses(tn_i_planner *z, uint32_t i) {
    const tn_i_eqn *e = &z->f->eqn[i];
    const tn_i_var *in = tn_i_in(z->f, e);
    for (uint32_t k = 0; k < e->nin; k++) {
        z->uses[in[k]]++;
        if (z->last[in[k]] < i + 1) z->last[in[k]] = i + 1;
    }
    if (is_view(e)) {
        if (z->last[in[0]] < z->last[e->out]) z->last[in[0]] = z->last[e->out];
    } else if (e->prim->kernel && (e->prim->flags & TN_F_INPLACE) && e->nin && z->rewritten[in[0]] == 0)
        z->rewritten[in[0]] = i + 1;
    const tn_i_group *g = tn_i_group_of(z, i);
    for (uint32_t k = 0; g && k < g->nactor; k++) {
        const tn_i_actor *a = &g->actor[k];
        for (uint32_t j = 0; j < a->nin; j++) {
            const tn_i_var v = tn_i_in(z->f, &z->f->eqn[a->eqn])[j];
            if (!a->reads[j]) continue;
            z->uses[v]++;
            if (z->last[v] < i + 1) z->last[v] = i + 1;
        }
    }
    tn_i_loop_shape s;
    if (!tn_i_loop_read(e, &s)) return;
    for (uint32_t j = 0; j < s.ncarry; j++)
        if (z->rewritten[in[s.carry0 + j]] == 0) z->rewritten[in[s.carry0 + j]] = i + 1;
}

/* The operand in whose memory the result of e is, or may be by what its kernel does; TN_NOVAR: none. */
static tn_i_var made_over(const tn_fn *f, const tn_i_eqn *e) {
    if (e->nout != 1 || e->nin == 0) return TN_NOVAR;
    const tn_i_var v = tn_i_in(f, e)[0];
    const bool in_place = e->prim->kernel && (e->prim->flags & (TN_F_INPLACE | TN_F_COMM)) == TN_F_INPLACE &&
                          f->val[v].type == f->val[e->out].type;
    return e->prim->id == TN_P_reshape || in_place ? v : TN_NOVAR;
}

/* What output j is a reshape of, or is made of in place, and nothing else reads, is made where the output goes. */
static void see_through(tn_i_planner *z, uint32_t j) {
    const tn_fn *f = z->f;
    const int64_t *stride = z->layout->out ? z->layout->out[j] : NULL;
    tn_i_var v = f->out[j];
    if (j < z->layout->ncarry || (stride && !tn_i_strides_dense(f->val[v].type, stride))) return;
    while (f->val[v].def < f->neqn && z->uses[v] == 1 && z->out_of[v] == j) {
        v = made_over(f, &f->eqn[f->val[v].def]);
        if (v == TN_NOVAR || f->val[v].def >= f->neqn || z->uses[v] != 1 || z->out_of[v] != TN_NOVAR) return;
        if (tn_i_has_steps(f->val[v].type) || f->eqn[f->val[v].def].prim->flags & TN_F_OFFLOAD) return;
        z->out_of[v] = j;
    }
}

static void count_uses(tn_i_planner *z) {
    const tn_fn *f = z->f;
    for (uint32_t j = f->nout; j-- > 0;) {
        z->uses[f->out[j]]++;
        z->out_of[f->out[j]] = j;
        z->last[f->out[j]] = UINT32_MAX;
    }
    for (uint32_t i = f->neqn; i-- > 0;) {
        const tn_i_eqn *e = &f->eqn[i];
        bool live = tn_i_eqn_effect(e);
        for (uint32_t j = 0; j < e->nout; j++) live |= z->uses[e->out + j] != 0;
        z->live[i] = live;
        if (!live) continue;
        if (e->nin > z->most_in) z->most_in = e->nin;
        if (e->nout > z->most_out) z->most_out = e->nout;
        note_uses(z, i);
    }
    for (uint32_t j = 0; j < f->nout; j++) see_through(z, j);
}

/* ---- one program ---------------------------------------------------------------------- */

static bool planner_alloc(tn_i_planner *z) {
    tn_ctx *c = z->ctx;
    const tn_fn *f = z->f;
    z->live = tn_i_alloc(c, f->neqn);
    z->uses = tn_i_alloc_array(c, f->nval, sizeof *z->uses);
    z->block_of = tn_i_alloc_array(c, f->nval, sizeof *z->block_of);
    z->out_of = tn_i_alloc_array(c, f->nval, sizeof *z->out_of);
    z->last = tn_i_alloc_array(c, f->nval, sizeof *z->last);
    z->rewritten = tn_i_alloc_array(c, f->nval, sizeof *z->rewritten);
    z->p->place = tn_i_alloc_array(c, f->nval, sizeof *z->p->place);
    if (!z->live || !z->uses || !z->block_of || !z->out_of || !z->last || !z->rewritten || !z->p->place) return false;
    memset(z->block_of, 0xFF, f->nval * sizeof *z->block_of);
    memset(z->out_of, 0xFF, f->nval * sizeof *z->out_of);
    if (!tn_i_replay_init(z)) return false;
    count_uses(z);
    if (!tn_i_find_joins(z)) return false;
    z->in_type = tn_i_alloc_array(c, z->most_in, sizeof *z->in_type);
    z->out_type = tn_i_alloc_array(c, z->most_out, sizeof *z->out_type);
    return z->in_type && z->out_type && tn_i_spill_init(z);
}

static void planner_drop(tn_i_planner *z) {
    tn_ctx *c = z->ctx;
    const tn_fn *f = z->f;
    tn_i_free(c, z->live, f->neqn);
    tn_i_free(c, z->uses, f->nval * sizeof *z->uses);
    tn_i_free(c, z->block_of, f->nval * sizeof *z->block_of);
    tn_i_free(c, z->out_of, f->nval * sizeof *z->out_of);
    tn_i_free(c, z->last, f->nval * sizeof *z->last);
    tn_i_free(c, z->rewritten, f->nval * sizeof *z->rewritten);
    tn_i_free(c, z->join, f->nval * sizeof *z->join);
    tn_i_free(c, (void *)z->in_type, z->most_in * sizeof *z->in_type);
    tn_i_free(c, z->out_type, z->most_out * sizeof *z->out_type);
    tn_i_free(c, z->block, z->cblock * sizeof *z->block);
    tn_i_replay_drop(z);
    tn_i_spill_drop(z);
    tn_i_pool_drop(&z->pool);
    tn_i_free(c, z, sizeof *z);
}

static bool align_up(size_t *n) {
    if (!tn_i_add(*n, TN_ARENA_ALIGN - 1, n)) return false;
    *n &= ~(size_t)(TN_ARENA_ALIGN - 1);
    return true;
}

static bool frame_bytes(tn_i_planner *z) {
    tn_i_plan *p = z->p;
    size_t bases = TN_BASE_ARGUMENTS + (size_t)z->f->nin + z->f->nout, bytes;
    if (tn_i_mul(bases, sizeof(uintptr_t), &p->arrays) && align_up(&p->arrays) &&
        tn_i_mul(p->narr, sizeof(tn_i_arr), &bytes) && align_up(&bytes) && tn_i_add(p->arrays, bytes, &p->frame))
        return true;
    (void)tn_i_fail(z->ctx, TN_EOVERFLOW, z->f->loc, "the workspace of the program overflows the address space");
    return false;
}

/* Which carries of a loop's body stay where they are. */
static bool note_kept(tn_i_planner *z) {
    tn_i_plan *p = z->p;
    const uint32_t n = z->layout->ncarry;
    if (n == 0) return true;
    if (!(p->kept = tn_i_alloc(z->ctx, n))) return false;
    p->ncarry = n;
    for (uint32_t j = 0; j < n; j++) p->kept[j] = tn_i_place_kept(z, j);
    return true;
}

static bool plan_program(tn_i_planner *z) {
    if (!planner_alloc(z) || !tn_i_place_inputs(z)) return false;
    tn_i_place_literals(z);
    for (uint32_t i = 0; i < z->f->neqn; i++)
        if (z->live[i] && !tn_i_step_equation(z, i)) return false;
    if (!tn_i_step_results(z)) return false;
    tn_i_nests_placed(z);
    if (!tn_i_find_triangles(z) || !tn_i_find_products(z)) return false;
    z->p->bytes = tn_i_pool_bytes(&z->pool);
    return note_kept(z) && tn_i_spill_finish(z) && frame_bytes(z);
}

/* Forgets what was planned, but for the plans of nested programs. */
static void plan_empty(tn_ctx *c, tn_i_plan *p) {
    if (p->f) tn_i_free(c, p->place, p->f->nval * sizeof *p->place);
    if (p->f) tn_i_free(c, p->within, p->f->nval * sizeof *p->within);
    tn_i_free(c, p->step, p->cstep * sizeof *p->step);
    tn_i_free(c, p->move, p->cmove * sizeof *p->move);
    tn_i_free(c, p->arg, p->carg * sizeof *p->arg);
    tn_i_free(c, p->release, p->crelease * sizeof *p->release);
    for (size_t i = 0; i < p->ngroup; i++) tn_i_group_drop(c, &p->group[i]);
    tn_i_free(c, p->group, p->cgroup * sizeof *p->group);
    for (size_t i = 0; i < p->nnest; i++) tn_i_nest_free(c, p->nest[i]);
    tn_i_free(c, p->nest, p->cnest * sizeof *p->nest);
    for (size_t i = 0; i < p->nloop; i++) tn_i_loop_drop(c, &p->loop[i]);
    tn_i_free(c, p->loop, p->cloop * sizeof *p->loop);
    tn_i_free(c, p->segment, p->csegment * sizeof *p->segment);
    tn_i_free(c, p->product, p->cproduct * sizeof *p->product);
    tn_i_free(c, p->kept, p->ncarry);
    if (p->f) tn_i_free(c, p->spare, p->f->nout * sizeof *p->spare);
    tn_i_free(c, p->transfer, p->ctransfer * sizeof *p->transfer);
    tn_i_free(c, p->number, p->cnumber * sizeof *p->number);
    tn_i_free(c, p->fork, p->cfork * sizeof *p->fork);
    tn_i_free(c, (void *)p->branch, p->cbranch * sizeof *p->branch);
    *p = (tn_i_plan){.f = p->f,
                     .of = p->of,
                     .apart = p->apart,
                     .plain = p->plain,
                     .accurate = p->accurate,
                     .emitted = p->emitted,
                     .threads = p->threads,
                     .nested = p->nested,
                     .nnested = p->nnested,
                     .cnested = p->cnested,
                     .slot = p->slot,
                     .cslot = p->cslot,
                     .key = p->key,
                     .nkey = p->nkey};
}

static tn_i_planner *planner_new(tn_i_plan *p, tn_i_plan *root, const tn_i_layout *layout) {
    tn_i_planner *z = tn_i_alloc(p->of->ctx, sizeof *z);
    if (!z) return NULL;
    *z = (tn_i_planner){.ctx = p->of->ctx, .f = p->f, .layout = layout, .p = p, .root = root, .waited = TN_NOVAR};
    tn_i_pool_init(&z->pool, z->ctx);
    return z;
}

/* Once more, with the blocks where they are in `log`; *taken: they are the same ones, and there. */
static bool plan_again(tn_i_plan *p, tn_i_plan *root, const tn_i_layout *layout, const tn_i_pool_log *log,
                       bool *taken) {
    plan_empty(p->of->ctx, p);
    tn_i_planner *z = planner_new(p, root, layout);
    if (!z) return false;
    z->pool.given = log;
    const bool ok = plan_program(z);
    *taken = ok && (!log || tn_i_pool_same(log, &z->pool.log));
    planner_drop(z);
    return ok;
}

/* Lives are known when a program is planned.  Where that gives places that need less, it is planned for these. */
static bool plan_packed(tn_i_plan *p, tn_i_plan *root, const tn_i_layout *layout) {
    tn_i_planner *z = planner_new(p, root, layout);
    if (!z) return false;
    bool ok = plan_program(z), taken;
    tn_i_pool_log log = z->pool.log;
    /* a group owns the programs of its nested plans, which outlive it in root */
    const bool packed = ok && p->ngroup == 0 && tn_i_pool_pack(&log, z->pool.top);
    z->pool.log = (tn_i_pool_log){0};
    planner_drop(z);
    if (packed) {
        ok = plan_again(p, root, layout, &log, &taken);
        if (ok && !taken) ok = plan_again(p, root, layout, NULL, &taken);
    }
    tn_i_pool_log_drop(p->of->ctx, &log);
    return ok;
}

/* With operands of concatenations where these have them, unless that takes more memory. */
static bool plan_in_order(tn_i_plan *p, tn_i_plan *root, const tn_i_layout *layout) {
    p->apart = false;
    if (!plan_packed(p, root, layout)) return false;
    if (!p->within) return true;
    const size_t bytes = p->bytes;
    p->apart = true;
    plan_empty(p->of->ctx, p);
    if (!plan_packed(p, root, layout)) return false;
    if (p->bytes < bytes) return true;
    p->apart = false;
    plan_empty(p->of->ctx, p);
    return plan_packed(p, root, layout);
}

/* Puts another program in place of the one that is planned. */
static void plan_instead(tn_i_plan *p, const tn_fn *f) {
    plan_empty(p->of->ctx, p);
    if (p->f != p->of) tn_i_fn_unref(p->f);
    p->f = f;
}

/* In the order of the program, or in the one that is made for low peaks, if its peak is lower. */
static bool make_plan(tn_i_plan *p, tn_i_plan *root, const tn_i_layout *layout) {
    p->plain = root->plain;
    p->f = p->plain ? p->of : tn_i_fuse(p->of);
    if (!p->f || !plan_in_order(p, root, layout)) return false;
    if (p->plain) return true;
    const tn_fn *as_is = tn_i_fn_ref(p->f), *ordered = tn_i_low_peak(p->f);
    const size_t bytes = p->bytes;
    bool ok = ordered != NULL;
    if (ok && ordered != as_is) {
        plan_instead(p, tn_i_fn_ref(ordered));
        ok = plan_in_order(p, root, layout);
        if (ok && p->bytes >= bytes) {
            plan_instead(p, tn_i_fn_ref(as_is));
            ok = plan_in_order(p, root, layout);
        }
    }
    tn_i_fn_unref(ordered);
    tn_i_fn_unref(as_is);
    return ok;
}

bool tn_i_plan_writes(const tn_i_plan *p, uint32_t i) {
    const uint32_t base = TN_BASE_ARGUMENTS + i;
    for (size_t k = 0; k < p->nstep; k++) {
        const tn_i_eqn *e = &p->f->eqn[p->step[k].eqn];
        for (uint32_t j = 0; j < e->nout; j++)
            if (p->place[e->out + j].base == base) return true;
    }
    for (size_t k = 0; k < p->nmove; k++)
        if (p->move[k].to.base == base) return true;
    for (size_t k = 0; k < p->ntransfer; k++)
        if (p->transfer[k].memory.base == base) return true;
    return false;
}

/* ---- nested programs --------------------------------------------------------------------- */

/* All layouts of one program follow each other in the table: there are at most TN_MAX_LAYOUTS + 1. */
static size_t home(const tn_i_plan *root, const tn_fn *f) {
    return (size_t)tn_i_hash_u64(0, (uint64_t)(uintptr_t)f) & (root->cslot - 1);
}

tn_i_variant tn_i_variant_find(const tn_i_plan *root, const tn_fn *f, const int64_t *key, size_t nkey) {
    tn_i_variant w = {0};
    if (!root->cslot) return w;
    unsigned seen = 0;
    for (size_t at = home(root, f); root->slot[at]; at = (at + 1) & (root->cslot - 1)) {
        const tn_i_plan *p = root->nested[root->slot[at] - 1];
        if (p->of != f || p->plain != root->plain) continue;
        if (p->nkey == nkey && (nkey == 0 || memcmp(p->key, key, nkey * sizeof *key) == 0)) w.plan = p;
        seen++;
    }
    w.full = seen >= TN_MAX_LAYOUTS;
    return w;
}

static void enter(tn_i_plan *root, size_t index) {
    size_t at = home(root, root->nested[index]->of);
    while (root->slot[at]) at = (at + 1) & (root->cslot - 1);
    root->slot[at] = (uint32_t)(index + 1);
}

static bool grow_table(tn_ctx *c, tn_i_plan *root) {
    if (2 * (root->nnested + 1) <= root->cslot) return true;
    size_t capacity = root->cslot ? 2 * root->cslot : 16;
    uint32_t *slot = tn_i_alloc_array(c, capacity, sizeof *slot);
    if (!slot) return false;
    tn_i_free(c, root->slot, root->cslot * sizeof *slot);
    root->slot = slot;
    root->cslot = capacity;
    for (size_t i = 0; i < root->nnested; i++) enter(root, i);
    return true;
}

static void plan_drop(tn_ctx *c, tn_i_plan *p) {
    plan_empty(c, p);
    tn_i_free(c, p->nested, p->cnested * sizeof *p->nested);
    tn_i_free(c, p->slot, p->cslot * sizeof *p->slot);
    tn_i_free(c, (void *)(uintptr_t)p->key, p->nkey * sizeof *p->key);
    if (p->f != p->of) tn_i_fn_unref(p->f);
    tn_i_free(c, p, sizeof *p);
}

static tn_i_plan *plan_alloc(const tn_fn *f) {
    tn_i_plan *p = tn_i_alloc(f->ctx, sizeof *p);
    if (p) *p = (tn_i_plan){.of = f};
    return p;
}

/* Entered in the table once it is whole: a program cannot hold itself. */
const tn_i_plan *tn_i_variant_new(tn_i_plan *root, const tn_fn *f, const int64_t *key, size_t nkey, uint32_t carry0,
                                  uint32_t ncarry) {
    tn_ctx *c = f->ctx;
    int64_t *copy = tn_i_alloc_array(c, nkey, sizeof *copy);
    tn_i_plan *p = copy ? plan_alloc(f) : NULL;
    if (!p) {
        tn_i_free(c, copy, nkey * sizeof *copy);
        return NULL;
    }
    if (nkey) memcpy(copy, key, nkey * sizeof *copy);
    p->key = copy;
    p->nkey = nkey;
    p->emitted = root->emitted;
    const tn_i_layout layout = {.in = copy, .nested = true, .carry0 = carry0, .ncarry = ncarry};
    if (!make_plan(p, root, &layout) || !grow_table(c, root) ||
        !tn_i_grow(c, (void **)&root->nested, &root->cnested, root->nnested + 1, sizeof *root->nested)) {
        plan_drop(c, p);
        return NULL;
    }
    tn_i_note_speech(p);
    root->nested[root->nnested++] = p;
    enter(root, root->nnested - 1);
    return p;
}

/* ---- the outermost program ------------------------------------------------------------------ */

static void set_options(tn_i_plan *p, const tn_i_layout *layout) {
    p->plain = layout->plain;
    p->accurate = layout->accurate;
    p->emitted = layout->handles;
    p->threads = layout->threads;
}

/* p, or what is planned of f, a reference that is taken over, instead of p's program, where that takes little more
 * memory; NULL after an error. */
static tn_i_plan *instead(tn_i_plan *p, const tn_fn *f, const tn_i_layout *layout) {
    tn_i_plan *q = f && f != p->f ? plan_alloc(p->of) : NULL;
    if (!q) {
        const bool same = f == p->f;
        tn_i_fn_unref(f);
        return same ? p : NULL;
    }
    set_options(q, layout);
    q->f = f;
    const bool ok = plan_in_order(q, q, layout);
    if (ok && q->bytes <= p->bytes + TN_M_ROW_BLOCK_ARENA) return q;
    tn_i_plan_free(p->of->ctx, q);
    return ok ? p : NULL;
}

/* p, or what is planned of its program in blocks of rows.  Blocks in blocks have the arena that is reported without. */
static tn_i_plan *in_row_blocks(tn_i_plan *p, const tn_i_layout *layout) {
    if (p->plain || p->threads > 1 || p->of->ctx->whole) return p; /* a block is too little for threads to share */
    return instead(p, tn_i_row_blocks(p->f), layout);
}

tn_i_plan *tn_i_plan_new(const tn_fn *f, const tn_i_layout *layout) {
    static const tn_i_layout row_major = {0};
    tn_i_plan *p = plan_alloc(f);
    if (!p) return NULL;
    if (!layout) layout = &row_major;
    set_options(p, layout);
    tn_i_plan *q = make_plan(p, p, layout) ? in_row_blocks(p, layout) : NULL;
    if (q != p) tn_i_plan_free(f->ctx, p);
    if (q) tn_i_note_speech(q);
    return q;
}

tn_i_plan *tn_i_plan_plain(const tn_fn *f) {
    const tn_i_layout layout = {.plain = true};
    return tn_i_plan_new(f, &layout);
}

void tn_i_plan_free(tn_ctx *c, tn_i_plan *p) {
    if (!p) return;
    for (size_t i = 0; i < p->nnested; i++) plan_drop(c, p->nested[i]);
    plan_drop(c, p);
}
