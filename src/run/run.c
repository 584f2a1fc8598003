#include "run/run.h"

#include "run/branch.h"
#include "run/profile.h"
#include "plan/strides.h"
#include "prims/ids.h"

#include <stdio.h>
#include <string.h>

/* ---- failures ------------------------------------------------------------------------- */

tn_status tn_i_run_fail(const tn_i_run *r, const tn_i_eqn *e, tn_status status, const char *why) {
    char place[512] = "";
    if (e && e->loc && e->loc->file[0])
        (void)snprintf(place, sizeof place, "%s:%u: ", e->loc->file, (unsigned)e->loc->line);
    (void)snprintf(r->message, r->size, "%s%s: %s", place, e ? e->prim->name : "a loop",
                   why[0] ? why : tn_status_text(status));
    return status;
}

tn_status tn_i_run_no_memory(const tn_i_run *r, const tn_i_eqn *e) {
    char why[128];
    (void)snprintf(why, sizeof why, "out of memory for stacks, which take %zu bytes now", r->stacks->bytes);
    return tn_i_run_fail(r, e, TN_ENOMEM, why);
}

/* ---- loop nests ------------------------------------------------------------------- */

/* Walks all loops but the innermost one; offsets are in elements. */
typedef struct walk {
    const int64_t *loop;
    uint32_t loops, arrays;
    int64_t at[TN_MAX_RANK];
    int64_t offset[TN_LOOP_ARRAYS];
} walk;

static bool advance(walk *w) {
    for (uint32_t d = w->loops - 1; d-- > 0;) {
        const int64_t *loop = w->loop + d * TN_LOOP_WIDTH(w->arrays);
        for (uint32_t k = 0; k < w->arrays; k++) w->offset[k] += loop[1 + k];
        if (++w->at[d] < loop[0]) return true;
        w->at[d] = 0;
        for (uint32_t k = 0; k < w->arrays; k++) w->offset[k] -= loop[0] * loop[1 + k];
    }
    return false;
}

static void run_strip(const tn_i_plan *p, const tn_i_step *s, const uintptr_t *base) {
    static const int64_t once[TN_LOOP_WIDTH(TN_LOOP_ARRAYS)] = {1};
    const tn_fn *f = p->f;
    const tn_i_eqn *e = &f->eqn[s->eqn];
    const tn_i_var *in = tn_i_in(f, e);
    const void *from[TN_LOOP_ARRAYS - 1];
    char *to = tn_i_address(base, &p->place[e->out]);
    for (uint32_t i = 0; i < e->nin; i++) from[i] = tn_i_address(base, &p->place[in[i]]);
    walk w = {.loop = p->number + s->loop, .loops = s->loops, .arrays = 1 + e->nin};
    const int64_t *inner = s->loops ? w.loop + (s->loops - 1u) * TN_LOOP_WIDTH(w.arrays) : once;
    if (s->loops <= 1) {
        s->u.strip(inner[0], from, inner + 2, to, inner[1]);
        return;
    }
    const char *first[TN_LOOP_ARRAYS - 1];
    int64_t size[TN_LOOP_ARRAYS] = {(int64_t)tn_i_dtype_size(f->val[e->out].type->dtype)};
    for (uint32_t i = 0; i < e->nin; i++) {
        first[i] = from[i];
        size[1 + i] = (int64_t)tn_i_dtype_size(f->val[in[i]].type->dtype);
    }
    do {
        for (uint32_t i = 0; i < e->nin; i++) from[i] = first[i] + w.offset[1 + i] * size[1 + i];
        s->u.strip(inner[0], from, inner + 2, to + w.offset[0] * size[0], inner[1]);
    } while (advance(&w));
}

/* ---- copies -------------------------------------------------------------------------- */

/* Handles are shared; what repeats becomes a stack of one entry. */
static tn_status run_stack_move(const tn_i_plan *p, const tn_i_move *m, const tn_i_run *r, const uintptr_t *base) {
    const tn_type *t = p->f->val[m->v].type;
    tn_i_handle *to = tn_i_address(base, &m->to);
    const void *from = tn_i_address(base, &m->from);
    const bool fresh = m->to.base < TN_BASE_ARGUMENTS + p->f->nin;
    if (to == from) return TN_OK;
    if (m->from.stride == TN_DENSE) {
        tn_i_stack_copy(r->stacks, t, from, to, fresh);
        return TN_OK;
    }
    if (!fresh) tn_i_stack_release(r->stacks, t, to);
    if (tn_i_stack_repeat(r->stacks, t, p->number + m->from.stride, from, to)) return TN_OK;
    return tn_i_run_no_memory(r, NULL);
}

tn_status tn_i_run_move(const tn_i_plan *p, const tn_i_move *m, const tn_i_run *r, const uintptr_t *base) {
    if (m->out != TN_NOVAR && !base[m->to.base]) return TN_OK; /* not wanted */
    if (m->stack) return run_stack_move(p, m, r, base);
    void *to = tn_i_address(base, &m->to);
    const void *from = tn_i_address(base, &m->from);
    if (to == from) return TN_OK; /* an output that is the input it shares memory with */
    const size_t size = tn_i_dtype_size(p->f->val[m->v].type->dtype);
    tn_i_walk_run(&m->walk, tn_i_copy_row(size), size, from, to);
    return TN_OK;
}

static void run_release(const tn_i_plan *p, const tn_i_release *k, const tn_i_run *r, const uintptr_t *base) {
    tn_i_handle *h = (tn_i_handle *)(base[TN_BASE_ARENA] + (uintptr_t)k->offset);
    tn_i_stack_release(r->stacks, p->f->val[k->v].type, h);
}

/* ---- kernels ---------------------------------------------------------------------------- */

/* ---- the spill file ---------------------------------------------------------------------- */

static tn_status run_transfer(const tn_i_plan *p, const tn_i_step *s, const tn_i_run *r, const uintptr_t *base) {
    const tn_i_transfer *t = &p->transfer[s->loop];
    uint64_t *sum = (uint64_t *)(base[TN_BASE_ARENA] + (uintptr_t)t->sum);
    void *memory = tn_i_address(base, &t->memory);
    const tn_i_eqn *e = &p->f->eqn[s->eqn];
    char why[TN_I_SPILL_TEXT];
    bool ok;
    if (s->kind == TN_STEP_SPILL)
        ok = tn_i_spill_write(r->file, r->file_at + t->file, memory, t->bytes, sum, why);
    else {
        e = &p->f->eqn[p->f->val[t->v].def]; /* not its reader */
        ok = tn_i_spill_read(r->file, r->file_at + t->file, memory, t->bytes, *sum, why);
        const tn_i_transfer *next = t->ahead == TN_NOVAR ? NULL : &p->transfer[t->ahead];
        if (ok && next) tn_i_spill_ahead(r->file, r->file_at + next->file, next->bytes);
    }
    return ok ? TN_OK : tn_i_run_fail(r, e, TN_EIO, why);
}

/* ---- nested programs ---------------------------------------------------------------------- */

tn_i_run tn_i_run_within(const tn_i_plan *p, const tn_i_run *r) {
    tn_i_run inner = *r;
    inner.skip = NULL;
    inner.file_at += p->own_spill;
    return inner;
}

/* Where an output goes; 0: not wanted, wherever in it that would be. */
static uintptr_t wanted(const uintptr_t *base, const tn_i_place *k) {
    return base[k->base] || k->base == TN_BASE_ABSOLUTE ? (uintptr_t)tn_i_address(base, k) : 0;
}

/* Recursion is bounded by TN_MAX_NEST: no program is nested deeper.  Its operands are at p->arg[arg] and on. */
static tn_status run_nested(const tn_i_plan *p, const tn_i_step *s, const tn_i_plan *body, size_t arg,
                            const tn_i_run *r, const uintptr_t *base) {
    const tn_i_eqn *e = &p->f->eqn[s->eqn];
    const tn_i_run inner = tn_i_run_within(p, r);
    uintptr_t *frame = (uintptr_t *)(base[TN_BASE_ARENA] + (uintptr_t)s->scratch), *at = frame + TN_BASE_ARGUMENTS;
    frame[TN_BASE_ABSOLUTE] = 0;
    frame[TN_BASE_ARENA] = (uintptr_t)frame + body->frame;
    for (uint32_t i = 0; i < body->f->nin; i++) *at++ = (uintptr_t)tn_i_address(base, &p->arg[arg + i]);
    for (uint32_t j = 0; j < e->nout; j++) *at++ = wanted(base, &p->place[e->out + j]);
    for (uint32_t j = 0; s->stacks && j < e->nout; j++) {
        const tn_type *t = p->f->val[e->out + j].type;
        if (p->place[e->out + j].base != TN_BASE_ARENA || tn_i_handles(t) == 0) continue;
        if (!tn_i_stack_new(r->stacks, t, tn_i_address(base, &p->place[e->out + j])))
            return tn_i_run_give_up(r, p, s, tn_i_run_no_memory(r, e));
    }
    return tn_i_run_plan(body, &inner, frame);
}

static tn_status run_body(const tn_i_plan *p, const tn_i_step *s, const tn_i_run *r, const uintptr_t *base) {
    return run_nested(p, s, s->u.body, s->loop, r, base);
}

static tn_status run_branch(const tn_i_plan *p, const tn_i_step *s, const tn_i_run *r, const uintptr_t *base) {
    const tn_i_fork *k = &p->fork[s->loop];
    const tn_i_eqn *e = &p->f->eqn[s->eqn];
    int64_t which = tn_i_chosen(p->f->val[tn_i_in(p->f, e)[0]].type, tn_i_address(base, &p->arg[k->arg]), k->n);
    tn_status status;
    if (!tn_i_run_agreed(r, s->axes, &which, &status)) return status;
    return run_nested(p, s, p->branch[k->branch + (uint32_t)which], (size_t)k->arg + 1, r, base);
}

static tn_status run_step(const tn_i_plan *p, const tn_i_run *r, uintptr_t *frame, size_t step) {
    const tn_i_step *s = &p->step[step];
    switch ((tn_i_step_kind)s->kind) {
    case TN_STEP_STRIP: run_strip(p, s, frame); break;
    case TN_STEP_KERNEL: return tn_i_run_kernel_step(p, s, r, frame);
    case TN_STEP_NEST: return tn_i_run_nest(s, frame);
    case TN_STEP_BODY: return run_body(p, s, r, frame);
    case TN_STEP_GROUP: return tn_i_run_group(p, s, r, frame);
    case TN_STEP_LOOP: return tn_i_run_loop(p, s, r, frame);
    case TN_STEP_MOVE: return tn_i_run_move(p, &p->move[s->loop], r, frame);
    case TN_STEP_BRANCH: return run_branch(p, s, r, frame);
    case TN_STEP_RELEASE: run_release(p, &p->release[s->loop], r, frame); break;
    case TN_STEP_SPILL:
    case TN_STEP_FETCH: return run_transfer(p, s, r, frame);
    }
    return TN_OK;
}

/* ---- with other ranks ------------------------------------------------------------------------- */

bool tn_i_run_agreed(const tn_i_run *r, uint32_t axes, int64_t *v, tn_status *status) {
    bool none = false;
    *status = axes && r->talk ? tn_i_agree(r->talk, axes, v, &none) : TN_OK;
    return *status == TN_OK && !none;
}

tn_status tn_i_run_give_up(const tn_i_run *r, const tn_i_plan *p, const tn_i_step *s, tn_status status) {
    status = tn_i_run_heard(r, s->axes, status);
    return status == TN_OK ? tn_i_drain_step(r->talk, p, s) : status;
}

/* A step that may speak to other ranks; what is not TN_OK ends the plan: it is not gone on with after a failure. */
static tn_status run_told(const tn_i_plan *p, const tn_i_run *r, uintptr_t *frame, size_t step) {
    enum { NOT_FURTHER = -1 };
    const tn_status status = run_step(p, r, frame, step);
    if (!p->step[step].axes || !r->talk) return status;
    *r->talk->next = step + 1;
    return status == TN_OK && r->talk->failed ? (tn_status)NOT_FURTHER : status;
}

static tn_status run_noted(const tn_i_plan *p, const tn_i_run *r, uintptr_t *frame, size_t step) {
    tn_i_profile_enter(p, r, step);
    const tn_status status = run_told(p, r, frame, step);
    tn_i_profile_leave(r);
    return status;
}

static tn_status leave(const tn_i_plan *p, const tn_i_run *r, uintptr_t *frame) {
    tn_status status = TN_OK;
    for (size_t i = p->last_move; i < p->nmove && status == TN_OK; i++)
        status = tn_i_run_move(p, &p->move[i], r, frame);
    for (size_t i = p->last_release; i < p->nrelease && status == TN_OK; i++) run_release(p, &p->release[i], r, frame);
    return status;
}

static tn_status run_steps(const tn_i_plan *p, const tn_i_run *r, uintptr_t *frame) {
    tn_status status = TN_OK;
    for (size_t i = 0; i < p->nstep && status == TN_OK; i++) {
        if (r->skip && tn_i_bit(r->skip, i)) continue;
        status = r->profile ? run_noted(p, r, frame, i) : run_told(p, r, frame, i);
    }
    return status == TN_OK ? leave(p, r, frame) : status;
}

/* A plan in which ranks speak: after a failure it is gone through to its end. */
static tn_status run_speaking(const tn_i_plan *p, const tn_i_run *r, uintptr_t *frame) {
    tn_i_talk *t = r->talk;
    size_t *outer = t->next, next = 0;
    if (t->failed) return tn_i_drain(t, p, 0);
    t->next = &next;
    tn_status status = run_steps(p, r, frame);
    t->next = outer;
    if (!t->failed) status = tn_i_run_heard(r, p->axes, status);
    return t->failed && !t->broken ? tn_i_drain(t, p, next) : status;
}

/* The segment that begins with step s, if it can run: all that it needs is there. */
static const tn_i_segment *ready(const tn_i_plan *p, const tn_i_run *r, const tn_i_step *s, const uintptr_t *frame) {
    const tn_i_segment *g = s->segment && !r->skip ? &p->segment[s->segment - 1] : NULL;
    return g && g->made.code && tn_i_made_for(&g->made, frame) ? g : NULL;
}

tn_status tn_i_run_plan(const tn_i_plan *p, const tn_i_run *r, uintptr_t *frame) {
    tn_status status = TN_OK;
    if (p->axes && r->talk) return run_speaking(p, r, frame);
    if (r->profile) return run_steps(p, r, frame);
    for (size_t i = 0; i < p->nstep && status == TN_OK; i++) {
        if (r->skip && tn_i_bit(r->skip, i)) continue;
        const tn_i_step *s = &p->step[i];
        const tn_i_segment *g = ready(p, r, s, frame);
        if (g) {
            status = tn_i_run_made(&g->made, r, frame, r->room);
            i += g->n - 1;
        } else
            status = s->kind == TN_STEP_NEST ? tn_i_run_nest(s, frame) : run_step(p, r, frame, i);
    }
    const bool leaves = p->last_move < p->nmove || p->last_release < p->nrelease;
    return status == TN_OK && leaves ? leave(p, r, frame) : status;
}

/* ---- outputs that are not wanted -------------------------------------------------------------- */

/* A stack that is not made is not given up either. */
static void mark_releases(const tn_i_plan *p, const uint8_t *wanted, uint8_t *skip) {
    for (size_t i = 0; i < p->nstep; i++) {
        if (p->step[i].kind != TN_STEP_RELEASE) continue;
        const tn_i_eqn *e = &p->f->eqn[p->f->val[p->release[p->step[i].loop].v].def];
        bool made = tn_i_eqn_effect(e);
        for (uint32_t j = 0; j < e->nout; j++) made |= tn_i_bit(wanted, e->out + j);
        skip[i / 8] = (uint8_t)(skip[i / 8] & ~(1u << i % 8));
        if (!made) tn_i_set_bit(skip, i);
    }
}

/* Whether ranks speak in a step of equation i, of which s is behind the last: also in loops that run beside its own. */
static bool speaks(const tn_i_plan *p, size_t s, uint32_t i) {
    for (; p->axes && s > 0 && p->step[s - 1].eqn == i; s--)
        if (p->step[s - 1].axes) return true;
    return false;
}

void tn_i_mark_unwanted(const tn_i_plan *p, void *const *out, uint8_t *wanted, uint8_t *skip) {
    const tn_fn *f = p->f;
    size_t s = p->nstep;
    memset(wanted, 0, ((size_t)f->nval + 7) / 8);
    memset(skip, 0, (p->nstep + 7) / 8);
    for (uint32_t j = 0; j < f->nout; j++)
        if (out[j]) tn_i_set_bit(wanted, f->out[j]);
    for (uint32_t i = f->neqn; i-- > 0;) {
        const tn_i_eqn *e = &f->eqn[i];
        bool live = tn_i_eqn_effect(e) || speaks(p, s, i);
        for (uint32_t j = 0; j < e->nout; j++) live |= tn_i_bit(wanted, e->out + j);
        for (uint32_t k = 0; live && k < e->nin; k++) tn_i_set_bit(wanted, tn_i_in(f, e)[k]);
        for (; s > 0 && p->step[s - 1].eqn == i; s--) {
            const tn_i_step *step = &p->step[s - 1]; /* what is fetched here others may read */
            bool want = step->kind == TN_STEP_FETCH ? tn_i_bit(wanted, p->transfer[step->loop].v) : live;
            if (!want) tn_i_set_bit(skip, s - 1);
        }
    }
    if (p->nrelease) mark_releases(p, wanted, skip);
}
