#include "exec/run.h"
#include "exec/strides.h"

#include <stdio.h>
#include <string.h>

static void *address(const uintptr_t *base, const tn_i_place *k) {
    return (void *)(base[k->base] + (uintptr_t)k->offset);
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
    char *to = address(base, &p->place[e->out]);
    for (uint32_t i = 0; i < e->nin; i++) from[i] = address(base, &p->place[in[i]]);
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

static void run_move(const tn_i_plan *p, const tn_i_move *m, const uintptr_t *base) {
    if (m->out != TN_NOVAR && !base[m->to.base]) return; /* not wanted */
    void *to = address(base, &m->to);
    const void *from = address(base, &m->from);
    if (to == from) return; /* an output that is the input it shares memory with */
    const size_t size = tn_i_dtype_size(p->f->val[m->v].type->dtype);
    tn_i_walk_run(&m->walk, tn_i_copy_row(size), size, from, to);
}

/* ---- kernels ---------------------------------------------------------------------------- */

static void describe(const tn_i_plan *p, const uintptr_t *base, tn_i_var v, tn_i_arr *a) {
    const tn_i_place *k = &p->place[v];
    a->type = p->f->val[v].type;
    a->data = address(base, k);
    memset(a->stride, 0, sizeof a->stride);
    if (k->stride == TN_DENSE)
        tn_i_dense_strides(a->type, a->stride);
    else
        memcpy(a->stride, p->number + k->stride, (size_t)a->type->rank * sizeof *a->stride);
}

static tn_status tell(const tn_i_run *r, const tn_i_eqn *e, tn_status status, const char *why) {
    char place[512] = "";
    if (e->loc && e->loc->file[0]) (void)snprintf(place, sizeof place, "%s:%u: ", e->loc->file, (unsigned)e->loc->line);
    (void)snprintf(r->message, r->size, "%s%s: %s", place, e->prim->name, why[0] ? why : tn_status_text(status));
    return status;
}

static tn_status run_kernel(const tn_i_plan *p, const tn_i_step *s, const tn_i_run *r, uintptr_t *base) {
    const tn_i_eqn *e = &p->f->eqn[s->eqn];
    tn_i_arr *in = (tn_i_arr *)(void *)((char *)base + p->arrays), *out = in + e->nin;
    char message[256] = "";
    for (uint32_t i = 0; i < e->nin; i++) describe(p, base, tn_i_in(p->f, e)[i], &in[i]);
    for (uint32_t j = 0; j < e->nout; j++) describe(p, base, e->out + j, &out[j]);
    const tn_i_kernel k = {.prim = e->prim,
                           .p = tn_i_p(e),
                           .nin = e->nin,
                           .nout = e->nout,
                           .in = in,
                           .out = out,
                           .scratch = (void *)(base[TN_BASE_ARENA] + (uintptr_t)s->scratch),
                           .threads = r->threads,
                           .message = message,
                           .loc = e->loc,
                           .observer = &r->observer};
    tn_status status = e->prim->kernel(&k);
    message[sizeof message - 1] = 0;
    return status == TN_OK ? TN_OK : tell(r, e, status, message);
}

/* ---- the spill file ---------------------------------------------------------------------- */

static tn_status run_transfer(const tn_i_plan *p, const tn_i_step *s, const tn_i_run *r, const uintptr_t *base) {
    const tn_i_transfer *t = &p->transfer[s->loop];
    uint64_t *sum = (uint64_t *)(base[TN_BASE_ARENA] + (uintptr_t)t->sum);
    void *memory = address(base, &t->memory);
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
    return ok ? TN_OK : tell(r, e, TN_EIO, why);
}

/* ---- nested programs ---------------------------------------------------------------------- */

/* Recursion is bounded by TN_MAX_NEST: no program is nested deeper. */
static tn_status run_body(const tn_i_plan *p, const tn_i_step *s, const tn_i_run *r, const uintptr_t *base) {
    const tn_i_eqn *e = &p->f->eqn[s->eqn];
    const tn_i_plan *body = s->u.body;
    const tn_i_run inner = {.threads = r->threads,
                            .observer = r->observer,
                            .message = r->message,
                            .size = r->size,
                            .file = r->file,
                            .file_at = r->file_at + p->own_spill};
    uintptr_t *frame = (uintptr_t *)(base[TN_BASE_ARENA] + (uintptr_t)s->scratch), *at = frame + TN_BASE_ARGUMENTS;
    frame[TN_BASE_ABSOLUTE] = 0;
    frame[TN_BASE_ARENA] = (uintptr_t)frame + body->frame;
    for (uint32_t i = 0; i < e->nin; i++) *at++ = (uintptr_t)address(base, &p->arg[s->loop + i]);
    for (uint32_t j = 0; j < e->nout; j++) *at++ = (uintptr_t)address(base, &p->place[e->out + j]);
    return tn_i_run_plan(body, &inner, frame);
}

tn_status tn_i_run_plan(const tn_i_plan *p, const tn_i_run *r, uintptr_t *frame) {
    tn_status status = TN_OK;
    for (size_t i = 0; i < p->nstep && status == TN_OK; i++) {
        const tn_i_step *s = &p->step[i];
        if (r->skip && tn_i_bit(r->skip, i)) continue;
        switch ((tn_i_step_kind)s->kind) {
        case TN_STEP_STRIP: run_strip(p, s, frame); break;
        case TN_STEP_KERNEL: status = run_kernel(p, s, r, frame); break;
        case TN_STEP_BODY: status = run_body(p, s, r, frame); break;
        case TN_STEP_MOVE: run_move(p, &p->move[s->loop], frame); break;
        case TN_STEP_SPILL:
        case TN_STEP_FETCH: status = run_transfer(p, s, r, frame); break;
        }
    }
    for (size_t i = p->last_move; i < p->nmove && status == TN_OK; i++) run_move(p, &p->move[i], frame);
    return status;
}

/* ---- outputs that are not wanted -------------------------------------------------------------- */

void tn_i_mark_unwanted(const tn_i_plan *p, void *const *out, uint8_t *wanted, uint8_t *skip) {
    const tn_fn *f = p->f;
    size_t s = p->nstep;
    memset(wanted, 0, ((size_t)f->nval + 7) / 8);
    memset(skip, 0, (p->nstep + 7) / 8);
    for (uint32_t j = 0; j < f->nout; j++)
        if (out[j]) tn_i_set_bit(wanted, f->out[j]);
    for (uint32_t i = f->neqn; i-- > 0;) {
        const tn_i_eqn *e = &f->eqn[i];
        bool live = tn_i_eqn_effect(e);
        for (uint32_t j = 0; j < e->nout; j++) live |= tn_i_bit(wanted, e->out + j);
        for (uint32_t k = 0; live && k < e->nin; k++) tn_i_set_bit(wanted, tn_i_in(f, e)[k]);
        for (; s > 0 && p->step[s - 1].eqn == i; s--) {
            const tn_i_step *step = &p->step[s - 1]; /* what is fetched here others may read */
            bool want = step->kind == TN_STEP_FETCH ? tn_i_bit(wanted, p->transfer[step->loop].v) : live;
            if (!want) tn_i_set_bit(skip, s - 1);
        }
    }
}
