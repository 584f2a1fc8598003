/* Running loops: frames are set up once, and from step to step only the addresses change that must. */
#include "run/profile.h"
#include "run/run.h"
#include "plan/stack.h"

#include <string.h>

typedef struct running {
    const tn_i_plan *p;
    const tn_i_loop *l;
    uint32_t axes; /* over which ranks speak in it */
    const tn_i_eqn *e;
    const uintptr_t *base; /* of the program that the loop is in */
    tn_i_run inner;
    uintptr_t *body, *cond; /* frames */
    int64_t *number;        /* of the step */
    tn_i_cursor *cursor;
} running;

static uintptr_t operand(const running *w, uint32_t i) {
    return (uintptr_t)tn_i_address(w->base, &w->p->arg[w->l->arg + i]);
}

static uintptr_t output(const running *w, uint32_t j) {
    return (uintptr_t)tn_i_address(w->base, &w->p->place[w->e->out + j]);
}

/* ---- frames -------------------------------------------------------------------------- */

static int64_t *counts_of(const running *w) { return (int64_t *)(void *)((char *)w->body + w->l->counts) + 1; }

static void enter_body(running *w, uintptr_t arena) {
    const tn_i_loop_shape *s = &w->l->shape;
    uintptr_t *at = w->body + TN_BASE_ARGUMENTS;
    w->body[TN_BASE_ABSOLUTE] = 0;
    w->body[TN_BASE_ARENA] = arena;
    if (w->l->counts) counts_of(w)[-1] = (intptr_t)counts_of(w);
    if (s->index) *at++ = (uintptr_t)w->number;
    for (uint32_t i = s->const0; i < s->x0 + s->nx; i++) *at++ = operand(w, i);
    for (uint32_t j = 0; j < s->ncarry; j++) *at++ = operand(w, s->carry0 + j);
    for (uint32_t j = 0; j < s->ny; j++) *at++ = output(w, s->y0 + j);
}

static void enter_cond(running *w, uintptr_t arena, uintptr_t answer) {
    const tn_i_loop_shape *s = &w->l->shape;
    uintptr_t *at = w->cond + TN_BASE_ARGUMENTS;
    w->cond[TN_BASE_ABSOLUTE] = 0;
    w->cond[TN_BASE_ARENA] = arena;
    for (uint32_t i = 0; i < s->ncond; i++) *at++ = operand(w, i);
    for (uint32_t j = 0; j < s->ncarry; j++) *at++ = operand(w, s->carry0 + j);
    *at = answer;
}

static void enter_pairs(running *w, uintptr_t scratch) {
    const tn_i_loop_shape *s = &w->l->shape;
    for (uint32_t k = 0; k < w->l->npair; k++)
        w->body[TN_BASE_ARGUMENTS + s->body->nin + w->l->pair[k].leaf] = scratch + w->l->pair[k].second;
}

static uint32_t carry_at(const running *w, uint32_t leaf) {
    return TN_BASE_ARGUMENTS + w->l->shape.index + w->l->shape.nconst + leaf;
}

/* ---- from step to step -------------------------------------------------------------------- */

static uintptr_t *carry_in(const running *w, uint32_t k) { return &w->body[carry_at(w, w->l->pair[k].leaf)]; }

static uintptr_t *carry_out(const running *w, uint32_t k) {
    return &w->body[TN_BASE_ARGUMENTS + w->l->shape.body->nin + w->l->pair[k].leaf];
}

/* Where the step leaves the carries of which there is an array: as its next entry, if there is one. */
static void aim(const running *w, int64_t left, int64_t by) {
    for (uint32_t k = 0; k < w->l->npair; k++) {
        const tn_i_pair *pair = &w->l->pair[k];
        if (pair->stacked == TN_NOVAR) continue;
        const tn_i_mover *m = &w->l->mover[pair->stacked];
        const uintptr_t home = output(w, pair->leaf);
        *carry_out(w, k) = left > 1                  ? w->body[m->at] + (uintptr_t)(by * m->by)
                           : *carry_in(w, k) != home ? home
                                                     : (uintptr_t)w->body + pair->second;
    }
}

static void exchange(running *w) {
    for (uint32_t k = 0; k < w->l->npair; k++) {
        uintptr_t *in = carry_in(w, k), *out = carry_out(w, k);
        const uintptr_t was = *in;
        *in = *out;
        *out = was;
    }
}

/* ---- stacks ------------------------------------------------------------------------------ */

/* Those in the arena begin here; what is in an output of the program around, or an entry of it, has begun there. */
static bool begin_stacks(const running *w) {
    const tn_i_loop_shape *s = &w->l->shape;
    for (uint32_t j = s->y0; w->l->stacks && j < s->y0 + s->ny; j++) {
        const tn_type *t = w->p->f->val[w->e->out + j].type;
        if (w->p->place[w->e->out + j].base != TN_BASE_ARENA || tn_i_handles(t) == 0) continue;
        if (!tn_i_stack_new(w->inner.stacks, t, (tn_i_handle *)output(w, j))) return false;
    }
    return true;
}

static void enter_cursors(const running *w) {
    for (uint32_t k = 0, n = 0; n < w->l->ncursor; k++) {
        const tn_i_mover *m = &w->l->mover[k];
        if (m->stack) w->cursor[n++] = (tn_i_cursor){.h = (const tn_i_handle *)w->body[m->at]};
    }
}

static bool extend(const running *w, const tn_i_mover *m, int64_t n) {
    return m->out == TN_NOVAR || tn_i_stack_extend(w->inner.stacks, (tn_i_handle *)output(w, m->out), n);
}

/* Room for n entries of each stack that is made, and n to be read of each that is not. */
static tn_status claim(const running *w, int64_t n) {
    for (uint32_t k = 0, c = 0; c < w->l->ncursor; k++) {
        const tn_i_mover *m = &w->l->mover[k];
        if (!m->stack) continue;
        if (!extend(w, m, n)) return tn_i_run_no_memory(&w->inner, w->e);
        if (w->cursor[c++].h->count < n)
            return tn_i_run_fail(&w->inner, w->e, TN_EINVAL, "runs for more steps than a stack that it reads is long");
    }
    return TN_OK;
}

/* ---- from entry to entry ------------------------------------------------------------------- */

/* To entry i, for walking on in one direction. */
static void seek(running *w, int64_t i, int64_t by) {
    tn_i_cursor *c = w->cursor;
    for (uint32_t k = 0; k < w->l->nmover; k++) {
        const tn_i_mover *m = &w->l->mover[k];
        if (m->stack) {
            tn_i_cursor_seek(c, i, by);
            w->body[m->at] = (uintptr_t)c++->at;
        } else
            w->body[m->at] += (uintptr_t)(i * m->by);
    }
}

static void move_on(running *w, int64_t by) {
    tn_i_cursor *c = w->cursor;
    for (uint32_t k = 0; k < w->l->nmover; k++) {
        const tn_i_mover *m = &w->l->mover[k];
        if (m->stack) {
            tn_i_cursor_move(c, by);
            w->body[m->at] = (uintptr_t)c++->at;
        } else
            w->body[m->at] += (uintptr_t)(by * m->by);
    }
}

/* What is in a second buffer goes where the outputs are. */
static void leave(running *w) {
    for (uint32_t k = 0; k < w->l->npair; k++) {
        const tn_i_pair *pair = &w->l->pair[k];
        const uintptr_t at = w->body[carry_at(w, pair->leaf)], to = output(w, pair->leaf);
        if (at != to && pair->bytes) memcpy((void *)to, (const void *)at, pair->bytes);
    }
}

/* A sum, say, of arrays that repeat one entry for ever, as zeros do that stand for a stack: so does what it makes. */
static bool is_endless(const running *w, int64_t n) {
    const tn_i_loop_shape *s = &w->l->shape;
    return n == INT64_MAX && s->length == TN_I_STEPS && !s->index && s->ncarry == 0 && s->nx > 0;
}

static tn_status run_endless(running *w) {
    for (uint32_t k = 0, c = 0; k < w->l->ncursor; k++) {
        const tn_i_mover *m = &w->l->mover[k];
        if (m->stack && m->out == TN_NOVAR && w->cursor[c].h->count < INT64_MAX)
            return tn_i_run_fail(&w->inner, w->e, TN_EINVAL, "runs for more steps than a stack that it reads is long");
        c += m->stack;
    }
    tn_status status = claim(w, 1);
    if (status != TN_OK) return status;
    seek(w, 0, 1);
    if ((status = tn_i_run_plan(w->l->body, &w->inner, w->body)) != TN_OK) return status;
    for (uint32_t k = 0; k < w->l->ncursor; k++) {
        const uint32_t j = w->l->mover[k].out;
        if (!w->l->mover[k].stack || j == TN_NOVAR) continue;
        if (!tn_i_stack_forever(w->inner.stacks, w->p->f->val[w->e->out + j].type, (tn_i_handle *)output(w, j)))
            return tn_i_run_no_memory(&w->inner, w->e);
    }
    return TN_OK;
}

/* ---- as one loop program (lower/loop.c) ------------------------------------------------------ */

static tn_status run_made(const running *w) {
    const uint32_t n = w->l->size.counters;
    if (n) memset(counts_of(w) + 2, 0, n * sizeof(int64_t));
    return tn_i_run_made(&w->l->made, &w->inner, w->body, (uintptr_t)w->body + w->l->scratch);
}

/* The body has run so many steps, the condition as often or `more` often, and what is in them as often as was
 * counted. */
static void note_steps(const running *w, int64_t steps, int64_t more) {
    const int64_t *counter = w->l->counts ? counts_of(w) + 2 : NULL;
    if (w->l->cond) counter = tn_i_profile_steps(&w->inner, w->l->cond, steps + more, counter);
    (void)tn_i_profile_steps(&w->inner, w->l->body, steps, counter);
}

/* The frame has where arrays of entries begin, and what is carried ends where it began. */
static tn_status run_all(const running *w) {
    const tn_status status = run_made(w);
    note_steps(w, w->l->shape.length, 0);
    return status;
}

/* Whether entries are where the program takes them to be: one that stands for all is not. */
static bool entries_walk(const running *w) {
    for (uint32_t k = 0, c = 0; c < w->l->ncursor; k++) {
        const tn_i_mover *m = &w->l->mover[k];
        if (!m->stack) continue;
        const tn_i_chain *h = w->cursor[c++].h->chain;
        if (h->repeat || h->entry != (size_t)m->entry) return false;
    }
    return true;
}

/* So many steps at once: as the program can do, and as the pages that cursors walk have entries. */
static int64_t at_once(const running *w, int64_t left) {
    int64_t n = left < w->l->most ? left : w->l->most;
    for (uint32_t c = 0; c < w->l->ncursor; c++)
        if (w->cursor[c].left < n - 1) n = w->cursor[c].left + 1;
    return n;
}

/* Backwards, entries are told from the first one in memory on that there would be of as many steps as can be. */
static void move_entries(const running *w, int64_t n) {
    for (uint32_t k = 0; k < w->l->nmover; k++) {
        const tn_i_mover *m = &w->l->mover[k];
        if (w->body[m->at]) w->body[m->at] += (uintptr_t)(n * m->entry);
    }
}

static void skip_entries(const running *w, int64_t by, int64_t n) {
    for (uint32_t k = 0; k < w->l->nmover; k++)
        if (!w->l->mover[k].stack) w->body[w->l->mover[k].at] += (uintptr_t)(by * n * w->l->mover[k].by);
    for (uint32_t c = 0; c < w->l->ncursor; c++) tn_i_cursor_skip(&w->cursor[c], by, n);
}

/* Entries have been sought. */
static tn_status run_some(running *w, int64_t n, int64_t by) {
    int64_t *counts = counts_of(w);
    for (int64_t left = n;;) {
        const int64_t some = counts[0] = at_once(w, left), back = by < 0 ? w->l->most - 1 : 0;
        counts[1] = *w->number;
        move_entries(w, -back);
        const tn_status status = run_made(w);
        move_entries(w, back);
        note_steps(w, some, 0);
        left -= some;
        if (left == 0 || status != TN_OK) return status;
        *w->number = counts[1] + by * some;
        skip_entries(w, by, some - 1);
        move_on(w, by);
    }
}

static tn_status run_while_all(running *w) {
    int64_t *counts = counts_of(w);
    const tn_status status = run_made(w);
    *w->number = counts[0];
    note_steps(w, counts[0], 1);
    return status;
}

/* To what the cursors are at. */
static void point(const running *w) {
    const tn_i_cursor *c = w->cursor;
    for (uint32_t k = 0; k < w->l->nmover; k++)
        if (w->l->mover[k].stack) w->body[w->l->mover[k].at] = (uintptr_t)c++->at;
}

/* How many entries there is room for behind those that the cursors are at, in the pages that are there. */
static int64_t room_left(const running *w) {
    int64_t n = w->l->most;
    for (uint32_t c = 0; c < w->l->ncursor; c++)
        if (w->cursor[c].left < n) n = w->cursor[c].left;
    return n;
}

static void shorten(const running *w, int64_t n) {
    for (uint32_t k = 0; k < w->l->nmover; k++) {
        const tn_i_mover *m = &w->l->mover[k];
        if (m->stack && m->out != TN_NOVAR) tn_i_stack_shorten((tn_i_handle *)output(w, m->out), n);
    }
}

/* The steps behind one that has left entries, as far as there is room for theirs: *more, or to the last one. */
static tn_status run_while_some(running *w, int64_t n, bool *more) {
    int64_t *counts = counts_of(w);
    tn_status status = claim(w, n);
    if (status != TN_OK) return status;
    counts[0] = n;
    counts[1] = 0;
    move_entries(w, 1);
    status = run_made(w);
    const int64_t done = counts[1];
    *more = done == n;
    note_steps(w, done, !*more);
    shorten(w, n - done);
    *w->number += done;
    move_entries(w, -1);
    skip_entries(w, 1, done);
    point(w);
    return status;
}

static bool is_made(const running *w, tn_i_whole whole) {
    const bool timed = w->inner.profile && w->l->size.calls; /* kernel by kernel */
    return w->l->whole == whole && tn_i_made_for(&w->l->made, w->body) && !timed;
}

/* ---- step by step -------------------------------------------------------------------------------- */

static tn_status run_counted(running *w, int64_t n) {
    if (is_made(w, TN_WHOLE_ALL)) return run_all(w);
    if (is_endless(w, n)) return run_endless(w);
    const int64_t by = w->l->shape.reverse ? -1 : 1;
    tn_status status = n > 0 ? claim(w, n) : TN_OK;
    if (n <= 0) return status;
    if (status != TN_OK) {
        status = tn_i_run_heard(&w->inner, w->axes, status);
        return status == TN_OK ? tn_i_drain_steps(w->inner.talk, w->l->body, n) : status;
    }
    *w->number = w->l->shape.reverse ? n - 1 : 0;
    seek(w, *w->number, by);
    if (is_made(w, TN_WHOLE_SOME) && entries_walk(w)) return run_some(w, n, by);
    for (int64_t left = n;; move_on(w, by)) {
        aim(w, left, by);
        status = tn_i_run_plan(w->l->body, &w->inner, w->body);
        if (status != TN_OK) return status;
        exchange(w);
        *w->number += by;
        if (--left == 0) return TN_OK;
    }
}

/* Makes room for one more entry of each stack. */
static tn_status push(running *w) {
    const tn_status status = claim(w, 1);
    if (status != TN_OK) return status;
    if (*w->number == 0)
        seek(w, 0, 1);
    else
        move_on(w, 1);
    return TN_OK;
}

static tn_status heard(const running *w, tn_status status) { return tn_i_run_heard(&w->inner, w->axes, status); }

/* Without a place for what it would make it only says what others wait for. */
static tn_status run_body(running *w) {
    if (w->axes && tn_i_run_failed(&w->inner)) return tn_i_drain(w->inner.talk, w->l->body, 0);
    return tn_i_run_plan(w->l->body, &w->inner, w->body);
}

static tn_status run_steps(running *w, const unsigned char *answer) {
    const tn_i_loop_shape *s = &w->l->shape;
    tn_status status;
    for (*w->number = 0;;) {
        const int64_t room = *w->number && is_made(w, TN_WHILE_SOME) && entries_walk(w) ? room_left(w) : 0;
        bool goes_on = true;
        if (room > 0 && ((status = run_while_some(w, room, &goes_on)) != TN_OK || !goes_on)) return status;
        for (uint32_t k = 0; k < w->l->npair; k++)
            w->cond[TN_BASE_ARGUMENTS + s->ncond + w->l->pair[k].leaf] = w->body[carry_at(w, w->l->pair[k].leaf)];
        status = heard(w, tn_i_run_plan(w->l->cond, &w->inner, w->cond));
        if (status != TN_OK) return status;
        int64_t more = *answer != 0;
        if (!tn_i_run_agreed(&w->inner, w->axes, &more, &status)) return status;
        if (!more) return TN_OK;
        if (s->ny) status = heard(w, push(w));
        if (status == TN_OK) status = heard(w, run_body(w));
        if (status != TN_OK) return status;
        exchange(w);
        ++*w->number;
    }
}

static tn_status run_while(running *w, const unsigned char *answer) {
    const uint32_t steps = w->l->shape.steps;
    const tn_status status = is_made(w, TN_WHILE_ALL) ? run_while_all(w) : run_steps(w, answer);
    if (status == TN_OK && steps != TN_NOVAR) memcpy((void *)output(w, steps), w->number, sizeof *w->number);
    return status;
}

tn_status tn_i_run_loop(const tn_i_plan *p, const tn_i_step *s, const tn_i_run *r, const uintptr_t *base) {
    const tn_i_loop *l = &p->loop[s->loop];
    const uintptr_t scratch = base[TN_BASE_ARENA] + (uintptr_t)s->scratch;
    running w = {.p = p,
                 .l = l,
                 .axes = s->axes,
                 .e = &p->f->eqn[s->eqn],
                 .base = base,
                 .inner = tn_i_run_within(p, r),
                 .body = (uintptr_t *)scratch,
                 .cond = (uintptr_t *)(scratch + l->cond_frame),
                 .number = (int64_t *)(scratch + l->number),
                 .cursor = (tn_i_cursor *)(scratch + l->cursor)};
    const uintptr_t answer = scratch + l->answer;
    enter_body(&w, scratch + l->arena);
    enter_pairs(&w, scratch);
    if (!begin_stacks(&w)) return tn_i_run_give_up(r, p, s, tn_i_run_no_memory(r, w.e));
    enter_cursors(&w);
    int64_t n = l->shape.length;
    tn_status status;
    if (l->cond) {
        enter_cond(&w, scratch + l->arena, answer);
        status = run_while(&w, (const unsigned char *)answer);
    } else {
        const bool found = n == TN_I_STEPS;
        if (found) memcpy(&n, (const void *)operand(&w, 0), sizeof n);
        if (found && !tn_i_run_agreed(r, s->axes, &n, &status)) return status;
        status = run_counted(&w, n);
    }
    if (status == TN_OK && !(s->axes && tn_i_run_failed(r))) leave(&w);
    return status;
}
