#include "checkpoint/script.h"

typedef struct writer {
    tn_i_script *k;
    bool failed, too_long;
} writer;

static void add(writer *w, tn_i_act_kind kind, const tn_i_act *a, int64_t n) {
    tn_i_script *k = w->k;
    w->too_long |= k->nline == TN_I_MOST_LINES;
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

bool tn_i_script_new(const tn_i_schedule *s, int64_t steps, tn_i_script **out) {
    tn_ctx *c = tn_i_schedule_context(s);
    const size_t bytes = tn_i_schedule_bytes(s);
    *out = NULL;
    if (steps > TN_I_MOST_LINES) return true;
    writer w = {.k = tn_i_alloc(c, sizeof *w.k)};
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
