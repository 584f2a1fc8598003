/* tn_call, tn_call_in: arguments in, steps, errors out.  Allocates nothing but tn_call's own workspace. */
#include "base/fp_mode.h"
#include "exec/exec.h"
#include "run/gemm_context.h"
#include "base/parallel.h"
#include "run/profile.h"
#include "run/replicated.h"

#include <stdio.h>
#include <string.h>
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#define ALONE __libc_single_threaded
#else
#define ALONE 0
#endif

/* ---- arguments -------------------------------------------------------------------- */

static tn_status bad_argument(tn_work *w, const char *what, uint32_t i, const tn_type *t, const char *why) {
    char text[TN_I_TYPE_TEXT];
    (void)snprintf(w->error, sizeof w->error, "%s %u (%s) %s", what, (unsigned)i, tn_i_type_text(text, t), why);
    return TN_EINVAL;
}

/* The usual arguments, quickly: false, and the frame is half done, where one of them is to be looked at. */
static inline bool enter(const tn_exec *e, uintptr_t *base, const void *const *in, void *const *out,
                         bool *some_absent) {
    const uint32_t nin = e->f->nin, nout = e->f->nout;
    const uint8_t *odd = e->odd;
    bool absent = false;
    if (!in && nin) return false;
    for (uint32_t i = 0; i < nin; i++) {
        const uintptr_t at = base[i] = (uintptr_t)in[i];
        if (!at || (at & odd[i])) return false;
    }
    for (uint32_t j = 0; j < nout; j++) {
        const uintptr_t at = base[nin + j] = (uintptr_t)out[j];
        absent |= !at;
        if (at & odd[nin + j]) return false;
    }
    *some_absent = absent;
    return true;
}

static tn_status refuse_input(tn_work *w, uint32_t i, const tn_type *t) {
    uintptr_t *base = w->frame + TN_BASE_ARGUMENTS;
    if (tn_i_count(t) == 0) {
        base[i] = (uintptr_t)w->arena; /* never read, but not NULL either */
        return TN_OK;
    }
    return bad_argument(w, "input", i, t, base[i] ? "is not aligned for its type" : "is NULL");
}

static tn_status check_inputs(tn_work *w, const void *const *in) {
    const tn_fn *f = w->exec->f;
    const uint8_t *odd = w->exec->odd;
    uintptr_t *base = w->frame + TN_BASE_ARGUMENTS;
    for (uint32_t i = 0; i < f->nin; i++) {
        const tn_type *t = f->val[i].type;
        base[i] = in ? (uintptr_t)in[i] : 0;
        if (base[i] && !(base[i] & odd[i])) continue;
        const tn_status status = refuse_input(w, i, t);
        if (status != TN_OK) return status;
    }
    return TN_OK;
}

static tn_status check_outputs(tn_work *w, void *const *out, bool *some_absent) {
    const tn_fn *f = w->exec->f;
    const uint8_t *odd = w->exec->odd + f->nin;
    uintptr_t *base = w->frame + TN_BASE_ARGUMENTS + f->nin;
    *some_absent = false;
    for (uint32_t j = 0; j < f->nout; j++) {
        const tn_type *t = f->val[f->out[j]].type;
        base[j] = (uintptr_t)out[j];
        *some_absent |= !out[j];
        if ((base[j] & odd[j]) && tn_i_count(t)) return bad_argument(w, "output", j, t, "is not aligned for its type");
    }
    return TN_OK;
}

/* One argument after the other: what is none, or says why. */
static tn_status check(tn_work *w, const void *const *in, void *const *out, bool *some_absent) {
    const tn_status status = check_inputs(w, in);
    return status == TN_OK ? check_outputs(w, out, some_absent) : status;
}

/* The steps to skip are worked out again only when other outputs are absent than the last time. */
static const uint8_t *skipped(tn_work *w, void *const *out) {
    const tn_fn *f = w->exec->f;
    bool same = w->marked;
    for (uint32_t j = 0; same && j < f->nout; j++) same = tn_i_bit(w->absent, j) == !out[j];
    if (same) return w->skip;
    memset(w->absent, 0, ((size_t)f->nout + 7) / 8);
    for (uint32_t j = 0; j < f->nout; j++)
        if (!out[j]) tn_i_set_bit(w->absent, j);
    tn_i_mark_unwanted(w->exec->plan, out, w->wanted, w->skip);
    w->marked = true;
    return w->skip;
}

/* ---- calls ---------------------------------------------------------------------------- */

static tn_status refuse(tn_work *w, const char *why) {
    (void)snprintf(w->error, sizeof w->error, "%s", why);
    return TN_EINVAL;
}

/* Checks arguments of which some are described, and makes arrays of pointers of them. */
static bool take(tn_work *w, const void *const **in, void *const **out) {
    const tn_exec *e = w->exec;
    const uint32_t nin = e->f->nin, nout = e->f->nout;
    bool moved = !w->apart;
    w->apart = false;
    if (!tn_i_take(e->argument, nin, "input", *in, w->given, &moved, w->error, sizeof w->error) ||
        !tn_i_take(e->argument + nin, nout, "output", (const void *const *)*out, w->given + nin, &moved, w->error,
                   sizeof w->error) ||
        (moved && !tn_i_apart(e->argument, nin, nout, w->given, w->error, sizeof w->error)))
        return false;
    w->apart = true;
    *in = w->given;
    *out = (void *const *)(uintptr_t)(w->given + nin);
    return true;
}

/* Before anything runs: arguments and the file. */
static tn_status begin(const tn_exec *e, tn_work *w, const void *const *in, void *const **out, bool *some_absent) {
    if (!*out && e->f->nout) return refuse(w, "the array of outputs is NULL");
    if ((tn_i_is_described(in, e->f->nin) || tn_i_is_described((const void *const *)*out, e->f->nout)) &&
        !take(w, &in, out))
        return TN_EINVAL;
    if (e->dir) tn_i_spill_mine(&w->file);
    if (e->dir && w->file.fd < 0) {
        tn_i_spill_reason(&w->file, w->error);
        return TN_EIO;
    }
    return enter(e, w->frame + TN_BASE_ARGUMENTS, in, *out, some_absent) ? TN_OK : check(w, in, *out, some_absent);
}

/* What is computed all the same is where the plan has a place for it. */
static void into_spares(const tn_exec *e, tn_work *w) {
    uintptr_t *const base = w->frame + TN_BASE_ARGUMENTS + e->f->nin;
    for (uint32_t j = 0; e->plan->spare && j < e->f->nout; j++)
        if (!base[j] && e->plan->spare[j] >= 0) base[j] = (uintptr_t)w->arena + (uintptr_t)e->plan->spare[j];
}

/* What is in the frame; talk: with other ranks, or NULL. */
static tn_status run(const tn_exec *e, tn_work *w, const uint8_t *skip, tn_i_talk *talk) {
    w->frame[TN_BASE_ABSOLUTE] = 0;
    w->frame[TN_BASE_ARENA] = (uintptr_t)w->arena;
    if (skip) into_spares(e, w);
    const tn_i_run r = {.skip = skip,
                        .threads = e->threads > 1 ? tn_i_gemm_threads(e->process, e->threads) : e->threads,
                        .observer = w->observer,
                        .message = w->error,
                        .size = sizeof w->error,
                        .file = &w->file,
                        .stacks = &w->stacks,
                        .talk = talk,
                        .room = (uintptr_t)w->all,
                        .profile = w->profile};
    const tn_i_fp_mode mode = tn_i_fp_enter_as(e->fp), usual = TN_FP_DEFAULT;
    const bool threads = r.threads > 1 && (mode != usual || e->fp != usual);
    if (threads) tn_i_threads_enter(e->process, (uint32_t)r.threads, e->fp);
    const tn_status status = e->all.made.code && !skip && !r.profile ? tn_i_run_made(&e->all.made, &r, w->frame, r.room)
                                                                     : tn_i_run_plan(e->plan, &r, w->frame);
    if (threads && e->fp != usual) tn_i_threads_enter(e->process, (uint32_t)r.threads, usual);
    tn_i_fp_leave_from(mode, tn_i_fp_mode_now());
    if (tn_i_stacks_used(&w->stacks)) tn_i_stacks_reset(&w->stacks);
    return status;
}

/* A rank that fails before it runs anything does with the others what they do. */
static tn_status talk_through(const tn_exec *e, tn_work *w, const tn_comm_ops *ops, const void *const *in,
                              void *const *out) {
    tn_i_talk t;
    bool some_absent = false;
    tn_i_talk_begin(&t, ops, e->drains);
    t.message = w->error;
    t.size = sizeof w->error;
    t.room = w->room;
    t.pending = w->pending;
    tn_status status = begin(e, w, in, &out, &some_absent);
    if (status != TN_OK) status = tn_i_talk_failed(&t, status);
    if (status == TN_OK && e->over) status = tn_i_replicated(&t, e->plan, e->over, w->frame + TN_BASE_ARGUMENTS);
    if (status == TN_OK && t.failed)
        status = tn_i_drain(&t, e->plan, 0);
    else if (status == TN_OK)
        status = run(e, w, some_absent ? skipped(w, out) : NULL, &t);
    return tn_i_talk_end(&t, status);
}

static tn_status refuse_alone(const tn_exec *e, tn_work *w) {
    const uint32_t all = (1u << e->ctx->grid.naxes) - 1;
    (void)snprintf(w->error, sizeof w->error, "the program speaks over %s (%lld ranks): give tn_compile_options.comm",
                   tn_i_axes_text(e->ctx, all), (long long)tn_i_ranks(e->ctx, all));
    return TN_EINVAL;
}

static tn_status call_speaking(const tn_exec *e, tn_work *w, const void *const *in, void *const *out) {
    tn_i_table *t = w->table ? w->table : e->table;
    if (!t) return e->alone ? talk_through(e, w, &e->alone->ops, in, out) : refuse_alone(e, w);
    if (!tn_i_table_enter(t)) {
        (void)snprintf(w->error, sizeof w->error, "another call uses the table of functions between ranks");
        return TN_EBUSY;
    }
    const tn_status status = talk_through(e, w, tn_i_table_ops(t), in, out);
    tn_i_table_leave(t);
    return status;
}

static tn_status call(const tn_exec *e, tn_work *w, const void *const *in, void *const *out) {
    if (e->speaks) return call_speaking(e, w, in, out);
    bool some_absent;
    const tn_status status = begin(e, w, in, &out, &some_absent);
    return status == TN_OK ? run(e, w, some_absent ? skipped(w, out) : NULL, NULL) : status;
}

static tn_status call_noted(const tn_exec *e, tn_work *w, const void *const *in, void *const *out) {
    if (!tn_i_profile_begin(w->profile)) {
        (void)snprintf(w->error, sizeof w->error, "another call uses the profile: each workspace has one of its own");
        return TN_EBUSY;
    }
    const tn_status status = call(e, w, in, out);
    tn_i_profile_end(w->profile);
    return status;
}

/* The usual call of what is loops over arrays alone, in the mode that it wants: all outputs are there, so what was made
 * of its nests has all that it needs.  False: nothing has run. */
static inline bool call_straight(const tn_exec *e, tn_work *w, const void *const *in, void *const *out,
                                 tn_status *status) {
    uintptr_t *frame = w->frame;
    const uintptr_t arena = (uintptr_t)w->arena;
    const tn_i_fp_mode mode = tn_i_fp_mode_now(); /* waits for what was computed before; what is checked goes on */
    bool some_absent;
    if (!out || tn_i_is_described(in, e->f->nin) || tn_i_is_described((const void *const *)out, e->f->nout) ||
        !enter(e, frame + TN_BASE_ARGUMENTS, in, out, &some_absent) || some_absent || mode != e->fp)
        return false;
    frame[TN_BASE_ARENA] = arena;
    if (e->all.made.code) {
        frame[TN_BASE_ABSOLUTE] = (uintptr_t)w->all;
        *status = e->all.made.code(e->all.made.run, (char *const *)(void *)frame);
        return true;
    }
    *status = TN_OK;
    const tn_i_step *s = e->plan->step;
    for (size_t n = e->plan->nstep; n > 0 && *status == TN_OK; n--, s++) {
        const tn_i_made *m = &s->u.nest->made;
        frame[TN_BASE_ABSOLUTE] = arena + (uintptr_t)s->scratch;
        *status = m->code(m->run, (char *const *)(void *)frame);
    }
    return true;
}

tn_status tn_call_in(const tn_exec *e, tn_work *w, const void *const *in, void *const *out) {
    if (!e || !w) return TN_EINVAL;
    if (w->exec != e) return refuse(w, "the workspace belongs to another executable");
    tn_status status;
    if (e->straight && !w->profile && call_straight(e, w, in, out, &status)) return status;
    return w->profile ? call_noted(e, w, in, out) : call(e, w, in, out);
}

static tn_status call_own(tn_exec *e, const void *const *in, void *const *out) {
    if (!e->own && !(e->own = tn_work_new(e, NULL, 0))) {
        (void)snprintf(e->error, sizeof e->error, "out of memory: a workspace of %zu bytes", e->work_bytes);
        return TN_ENOMEM;
    }
    e->own->observer = e->observer;
    e->own->profile = e->profile;
    return tn_call_in(e, e->own, in, out);
}

/* False: somebody is in it.  An exchange waits until all that was stored is seen by other processors, so in a process
 * of one thread, where nobody else can come in between, there is none. */
static bool enter_own(tn_exec *e) {
    if (!ALONE) return !atomic_exchange_explicit(&e->busy, true, memory_order_acquire);
    if (atomic_load_explicit(&e->busy, memory_order_relaxed)) return false;
    atomic_store_explicit(&e->busy, true, memory_order_relaxed);
    return true;
}

tn_status tn_call(tn_exec *e, const void *const *in, void *const *out) {
    if (!e) return TN_EINVAL;
    if (!enter_own(e)) return TN_EBUSY;
    tn_status status;
    if (!e->straight || !e->own || e->profile || !call_straight(e, e->own, in, out, &status))
        status = call_own(e, in, out);
    atomic_store_explicit(&e->busy, false, memory_order_release);
    return status;
}

const char *tn_work_error(const tn_work *w) { return w ? w->error : "no workspace"; }
const char *tn_exec_error(const tn_exec *e) { return !e ? "no executable" : e->own ? e->own->error : e->error; }
