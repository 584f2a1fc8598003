/* Running kernel steps: by the walk over a plan, which finds their arrays in its table of addresses, and called by loop
 * programs, which give the addresses (lower/calls.c). */
#include "run/run.h"

#include "loop/loop.h"
#include "plan/planner.h"
#include "plan/strides.h"
#include "prims/ids.h"
#include "prims/linear/dot.h"
#include "prims/ranks/collective_run.h"

#include <string.h>

/* ---- as they are described ------------------------------------------------------------------ */

static void describe(const tn_i_plan *p, tn_i_var v, void *data, tn_i_arr *a) {
    const tn_i_place *k = &p->place[v];
    a->type = p->f->val[v].type;
    a->data = data;
    memset(a->stride, 0, sizeof a->stride);
    if (k->stride == TN_DENSE)
        tn_i_dense_strides(a->type, a->stride);
    else
        memcpy(a->stride, p->number + k->stride, (size_t)a->type->rank * sizeof *a->stride);
}

/* Of what is in an entry of an array: bytes to its place in the next one. */
static int64_t to_next_entry(const tn_i_plan *p, tn_i_var v) {
    return (int64_t)tn_type_bytes(p->f->val[p->place[v].base - TN_BASE_ARGUMENTS].type);
}

/* *k is set part by part: a whole one would be read again, to be copied, before it is in memory. */
static void describe_kernel(const tn_i_plan *p, const tn_i_step *s, const tn_i_run *r, tn_i_arr *in, void *scratch,
                            char *message, tn_i_kernel *k) {
    const tn_i_eqn *e = &p->f->eqn[s->eqn];
    k->prim = e->prim;
    k->p = tn_i_p(e);
    k->nin = e->nin;
    k->nout = e->nout;
    k->in = in;
    k->out = in + e->nin;
    k->scratch = scratch;
    k->threads = r->threads;
    k->message = message;
    k->loc = e->loc;
    k->observer = &r->observer;
    k->comm = r->talk ? r->talk->ops : NULL;
    k->triangle = s->triangle;
    for (uint32_t i = 0; i < 2; i++) k->ahead[i] = s->ahead >> i & 1 ? to_next_entry(p, tn_i_in(p->f, e)[i]) : 0;
}

/* A collective has started, or was waited for. */
static void note_message(tn_i_talk *t, const tn_i_eqn *e, const tn_i_kernel *k, tn_status status) {
    if (status != TN_OK) t->broken = true;
    if (e->prim->id == TN_P_collective_start && status == TN_OK)
        tn_i_talk_started(t, *(const int64_t *)k->out[1].data);
    else if (tn_i_waits(e))
        tn_i_talk_waited(t, *(const int64_t *)k->in[1].data);
}

/* Operands and outputs are described in `in` and behind. */
static tn_status run_described(const tn_i_plan *p, const tn_i_step *s, const tn_i_run *r, tn_i_arr *in, void *scratch) {
    const tn_i_eqn *e = &p->f->eqn[s->eqn];
    char message[256];
    tn_i_kernel k;
    message[0] = message[sizeof message - 1] = 0;
    describe_kernel(p, s, r, in, scratch, message, &k);
    tn_status status = e->prim->kernel(&k);
    message[sizeof message - 1] = 0;
    if (s->axes && r->talk) note_message(r->talk, e, &k, status);
    return status == TN_OK ? TN_OK : tn_i_run_fail(r, e, status, message);
}

/* ---- products ------------------------------------------------------------------------------- */

/* Of the operands and the result. */
static void run_product(const tn_i_plan *p, const tn_i_step *s, int threads, void *const *at) {
    const tn_i_product *q = &p->product[s->loop];
    const tn_i_by_dots *d = &q->dots;
    if (d->kernel)
        d->kernel(d->k, d->n, at[d->turned], at[!d->turned], d->bcs, false, at[2], d->ys);
    else
        tn_i_multiply_at(&q->all, threads, at[0], at[1], at[2]);
}

/* One matrix times two vectors, in one pass over the matrix; at[3] and on are the second's. */
static void run_two(const tn_i_plan *p, const tn_i_step *s, int threads, void *const *at) {
    tn_i_by_dots d;
    if (!tn_i_gemm_two(&p->product[s[0].loop].all, &p->product[s[1].loop].all,
                       &d)) { /* as a plan that finds two rules out */
        run_product(p, s, threads, at);
        run_product(p, s + 1, threads, at + 3);
        return;
    }
    const void *const x[2] = {at[d.turned], at[3 + d.turned]};
    void *const y[2] = {at[2], at[5]};
    d.two(d.k, d.n, x, at[!d.turned], d.bcs, y);
}

/* ---- of a plan ------------------------------------------------------------------------------- */

/* Whether the step runs, of those of the outermost plan. */
static bool is_wanted(const tn_i_plan *p, const tn_i_step *s, const tn_i_run *r) {
    return !r->skip || !tn_i_bit(r->skip, (size_t)(s - p->step));
}

static tn_status run_one(const tn_i_plan *p, const tn_i_step *s, const tn_i_run *r, uintptr_t *base) {
    const tn_i_eqn *e = &p->f->eqn[s->eqn];
    if (r->quiet && e->nout == 0) return TN_OK;
    tn_i_arr *in = (tn_i_arr *)(void *)((char *)base + p->arrays), *out = in + e->nin;
    for (uint32_t i = 0; i < e->nin; i++) {
        const tn_i_var v = tn_i_in(p->f, e)[i];
        describe(p, v, tn_i_address(base, &p->place[v]), &in[i]);
    }
    for (uint32_t j = 0; j < e->nout; j++) describe(p, e->out + j, tn_i_address(base, &p->place[e->out + j]), &out[j]);
    if (s->axes && e->nout && !base[p->place[e->out].base]) out->data = r->talk ? r->talk->room : NULL;
    return run_described(p, s, r, in, (void *)(base[TN_BASE_ARENA] + (uintptr_t)s->scratch));
}

static void find_product(const tn_i_plan *p, const tn_i_step *s, const uintptr_t *base, void **at) {
    const tn_i_eqn *e = &p->f->eqn[s->eqn];
    for (uint32_t i = 0; i < 2; i++) at[i] = tn_i_address(base, &p->place[tn_i_in(p->f, e)[i]]);
    at[2] = tn_i_address(base, &p->place[e->out]);
}

tn_status tn_i_run_kernel_step(const tn_i_plan *p, const tn_i_step *s, const tn_i_run *r, uintptr_t *base) {
    void *at[6];
    if (!s->at_once) return run_one(p, s, r, base);
    find_product(p, s, base, at);
    if (s->leads && is_wanted(p, s + 1, r)) {
        find_product(p, s + 1, base, at + 3);
        run_two(p, s, r->threads, at);
    } else if (!s->follows || !is_wanted(p, s - 1, r))
        run_product(p, s, r->threads, at);
    return TN_OK;
}

/* ---- called ---------------------------------------------------------------------------------- */

/* The table's first entry is of the loop program's own memory while that runs. */
static tn_status run_group(const tn_i_plan *p, const tn_i_step *s, const tn_i_run *r, uintptr_t *base) {
    const uintptr_t was = base[TN_BASE_ABSOLUTE];
    base[TN_BASE_ABSOLUTE] = 0;
    const tn_status status = tn_i_run_group(p, s, r, base);
    base[TN_BASE_ABSOLUTE] = was;
    return status;
}

tn_status tn_i_run_called(const void *data, const struct tn_i_l_run *run, char *const *at, const int64_t *number) {
    const tn_i_plan *p = data;
    const tn_i_step *s = &p->step[number[0]];
    const tn_i_run *r = run->call;
    const tn_i_eqn *e = &p->f->eqn[s->eqn];
    void *const *address = (void *const *)(const void *)at;
    if (s->kind == TN_STEP_GROUP) return run_group(p, s, r, run->frame);
    if (s->at_once) {
        (s->leads ? run_two : run_product)(p, s, r->threads, address);
        return TN_OK;
    }
    if (r->quiet && e->nout == 0) return TN_OK;
    tn_i_arr all[TN_CALLED_ARRAYS];
    for (uint32_t i = 0; i < e->nin; i++) describe(p, tn_i_in(p->f, e)[i], *address++, &all[i]);
    for (uint32_t j = 0; j < e->nout; j++) describe(p, e->out + j, *address++, &all[e->nin + j]);
    return run_described(p, s, r, all, s->nscratch ? *address : NULL);
}
