#include "checkpoint/script.h"

typedef struct writer {
    tn_i_script *k;
    size_t most;
    bool failed, too_long;
} writer;

static void add(writer *w, tn_i_act_kind kind, const tn_i_act *a, int64_t n) {
    tn_i_script *k = w->k;
    w->too_long |= k->nline == w->most;
    if (w->failed || w->too_long) return;
    w->failed = !tn_i_grow(k->ctx, (void **)(void *)&k->line, &k->cline, k->nline + 1, sizeof *k->line);
    if (w->failed) return;
    k->line[k->nline++] = (tn_i_line){.kind = (uint8_t)kind,
                                      .place = (uint8_t)a->place,
                                      .slot = (int32_t)a->slot,
                                      .step = (int32_t)a->step,
                                      .n = (int32_t)n};
}

static void add_plain(writer *w, const tn_i_act *a) {
    tn_i_line *last = w->k->nline ? &w->k->line[w->k->nline - 1] : NULL;
    if (last && last->kind == TN_I_ADVANCE)
        last->n++;
    else
        add(w, TN_I_ADVANCE, a, 1);
}

static void write_forward(writer *w, tn_i_schedule_run *run) {
    for (int64_t i = 0; i < w->k->steps && !w->failed && !w->too_long; i++) {
        const tn_i_act a = tn_i_schedule_forward(run, i);
        const bool recorded = a.kind == TN_I_KEEP || a.kind == TN_I_RECORD;
        if (a.kind != TN_I_NONE) add(w, a.kind, &a, 1);
        if (!recorded) add_plain(w, &(tn_i_act){.step = i});
    }
    w->k->back = w->k->nline;
}

static void write_back(writer *w, tn_i_schedule_run *run) {
    tn_i_schedule_turn(run, w->k->steps);
    while (!w->failed && !w->too_long) {
        const tn_i_act a = tn_i_schedule_next(run);
        if (a.kind == TN_I_DONE) return;
        add(w, a.kind, &a, a.n);
    }
}

bool tn_i_script_new(const tn_i_schedule *s, int64_t steps, size_t most, tn_i_script **out) {
    tn_ctx *c = tn_i_schedule_context(s);
    const size_t bytes = tn_i_schedule_bytes(s);
    *out = NULL;
    if ((uint64_t)steps > most) return true;
    writer w = {.k = tn_i_alloc(c, sizeof *w.k), .most = most};
    void *memory = tn_i_alloc(c, bytes);
    w.failed = !w.k || !memory;
    if (w.k) *w.k = (tn_i_script){.ctx = c, .steps = steps};
    if (!w.failed) {
        tn_i_schedule_run *run = tn_i_schedule_begin(s, memory);
        write_forward(&w, run);
        if (!w.failed && !w.too_long) write_back(&w, run);
    }
    tn_i_free(c, memory, bytes);
    if (w.failed || w.too_long)
        tn_i_script_free(w.k);
    else
        *out = w.k;
    return !w.failed;
}

void tn_i_script_free(tn_i_script *k) {
    if (!k) return;
    tn_i_free(k->ctx, k->line, k->cline * sizeof *k->line);
    tn_i_free(k->ctx, k, sizeof *k);
}

/* ---- following one, many actions at once ------------------------------------------------------------------ */

static const tn_i_line *end_of(const tn_i_script *k) { return k->line ? k->line + k->nline : NULL; }

static tn_i_act act_of(const tn_i_line *l) {
    return (tn_i_act){.kind = l->kind, .place = l->place, .slot = l->slot, .step = l->step};
}

static bool is_at(const tn_i_script *k, const tn_i_line *l, tn_i_act_kind kind, int64_t slot) {
    return l < end_of(k) && l->kind == kind && l->place == TN_I_MEMORY && l->slot == slot;
}

static bool is_kind(const tn_i_script *k, const tn_i_line *l, tn_i_act_kind kind) {
    return l < end_of(k) && l->kind == kind;
}

/* What is left of steps, n at most. */
static int64_t read_steps(tn_i_reading *at, int64_t n) {
    const int64_t left = at->line->n - at->done, some = left < n ? left : n;
    at->done += some;
    if (some == left) *at = (tn_i_reading){.line = at->line + 1};
    return some;
}

/* STOREs, each with one step behind it: n at most. */
static int64_t read_stores(const tn_i_script *k, tn_i_reading *at, int64_t n) {
    const int64_t slot = at->line->slot;
    int64_t some = 0;
    while (some < n && !at->done && is_at(k, at->line, TN_I_STORE, slot + some) &&
           is_kind(k, at->line + 1, TN_I_ADVANCE)) {
        at->line++;
        some += read_steps(at, 1);
    }
    return some;
}

/* Lines of a kind, each followed by one of kind `then`, unless that is NONE; slots go by 1 or -1. */
static int64_t read_lines(const tn_i_script *k, tn_i_reading *at, tn_i_act_kind then, int64_t by, int64_t n) {
    const tn_i_act_kind kind = at->line->kind;
    const int64_t slot = at->line->slot;
    int64_t some = 0;
    while (some < n && is_at(k, at->line, kind, slot + by * some) &&
           (then == TN_I_NONE || is_kind(k, at->line + 1, then))) {
        at->line += then == TN_I_NONE ? 1 : 2;
        some++;
    }
    return some;
}

tn_i_act tn_i_script_forward_many(const tn_i_script *k, tn_i_reading *at, int64_t n) {
    tn_i_act a = act_of(at->line);
    if (a.kind == TN_I_ADVANCE) {
        a.kind = TN_I_NONE;
        a.n = read_steps(at, n);
    } else if (a.kind == TN_I_KEEP) {
        a.n = read_lines(k, at, TN_I_NONE, 1, n);
    } else if (a.kind == TN_I_STORE && a.place == TN_I_MEMORY) {
        a.n = read_stores(k, at, n);
    } else {
        at->line++;
        a.n = a.kind == TN_I_STORE ? read_steps(at, 1) : 1;
    }
    return a;
}

tn_i_act tn_i_script_next_many(const tn_i_script *k, tn_i_reading *at) {
    if (at->line == end_of(k)) return (tn_i_act){.kind = TN_I_DONE};
    tn_i_act a = act_of(at->line);
    const tn_i_line *first = at->line;
    if (a.kind == TN_I_ADVANCE) {
        a.step += at->done;
        a.n = read_steps(at, INT64_MAX);
        return a;
    }
    if (a.kind == TN_I_STORE && a.place == TN_I_MEMORY) a.n = read_stores(k, at, INT64_MAX);
    if (a.kind == TN_I_RESTORE) a.n = read_lines(k, at, TN_I_RECORD, -1, INT64_MAX);
    if (a.kind == TN_I_KEEP) a.n = read_lines(k, at, TN_I_NONE, 1, INT64_MAX);
    if (a.kind == TN_I_USE) a.n = read_lines(k, at, TN_I_NONE, -1, a.slot == TN_I_WORKING ? 1 : INT64_MAX);
    if (at->line == first) at->line++;
    return a;
}
