/* Walking by decisions: a stack of what is kept; each wanted step is reached from the latest state kept before it, and
 * on the way the family decides what else is kept.  What is above the wanted step is of no use any more. */
#include "checkpoint/family.h"

void tn_i_tally_peak(tn_i_schedule_run *run, int64_t memory, int64_t disk) {
    tn_i_schedule_tally *t = &run->tally;
    if (memory > t->snapshots) t->snapshots = memory;
    if (disk > t->on_disk) t->on_disk = disk;
}

tn_i_act tn_i_tallied(tn_i_schedule_run *run, tn_i_act a) {
    tn_i_schedule_tally *t = &run->tally;
    const bool disk = a.place == TN_I_DISK;
    if (a.kind == TN_I_ADVANCE) t->advances += a.n;
    if (a.kind == TN_I_KEEP || a.kind == TN_I_RECORD) t->recorded++;
    if (a.kind == TN_I_STORE && disk) t->writes++;
    if (a.kind == TN_I_RESTORE && disk) t->reads++;
    return a;
}

void tn_i_walk_push(tn_i_schedule_run *run, int64_t step, tn_i_medium place, bool record) {
    const int64_t k = run->used[place]++;
    run->kept[run->count++] =
        (tn_i_kept){.step = step, .slot = place == TN_I_MEMORY ? run->id[k] : k, .place = place, .record = record};
    tn_i_tally_peak(run, run->used[TN_I_MEMORY], run->used[TN_I_DISK]);
}

static void pop(tn_i_schedule_run *run) { run->used[run->kept[--run->count].place]--; }

static tn_i_kept *top(tn_i_schedule_run *run) { return run->count ? &run->kept[run->count - 1] : NULL; }

/* Whether the choice wants the state here kept that is the latest one kept. */
static bool is_here(const tn_i_kept *k, int64_t at, const tn_i_choice *c) {
    return k && !c->keep && !k->record && k->step == at && k->place == c->place;
}

/* Keeps what the choice says of step `at`. */
static tn_i_act keep(tn_i_schedule_run *run, const tn_i_choice *c) {
    const tn_i_medium place = c->keep ? TN_I_MEMORY : c->place;
    tn_i_walk_push(run, run->at, place, c->keep);
    const tn_i_kept *k = top(run);
    run->ahead = c->keep ? 0 : c->ahead;
    return (tn_i_act){.kind = c->keep ? TN_I_KEEP : TN_I_STORE, .place = place, .slot = k->slot, .step = k->step};
}

tn_i_act tn_i_walk_forward(tn_i_schedule_run *run, int64_t i) {
    const int64_t n = run->steps - i;
    run->at = i;
    if (n == 1) {
        run->recorded = true;
        return (tn_i_act){.kind = TN_I_RECORD, .slot = TN_I_WORKING, .step = i};
    }
    if (i < run->next) return (tn_i_act){.kind = TN_I_NONE, .step = i};
    const tn_i_choice c = run->s->family->decide(run, n);
    run->next = i + (c.keep ? 1 : c.ahead);
    return keep(run, &c);
}

/* The working state is `at`, below or at the target. */
static tn_i_act go_on(tn_i_schedule_run *run) {
    const int64_t n = run->target + 1 - run->at, from = run->at;
    if (n == 1) {
        run->at = TN_I_UNKNOWN;
        return (tn_i_act){.kind = TN_I_RECORD, .slot = TN_I_WORKING, .step = run->target--};
    }
    if (!run->ahead) {
        const tn_i_choice c = run->s->family->decide(run, n);
        if (!is_here(top(run), run->at, &c)) {
            const tn_i_act a = keep(run, &c);
            run->at += c.keep;
            return a;
        }
        run->ahead = c.ahead;
    }
    run->at += run->ahead;
    const tn_i_act a = {.kind = TN_I_ADVANCE, .step = from, .n = run->ahead};
    run->ahead = 0;
    return a;
}

/* Back to the latest state that is kept: given up when it is not kept for another time. */
static tn_i_act restore(tn_i_schedule_run *run) {
    const tn_i_kept k = *top(run);
    tn_i_act a = {.kind = TN_I_RESTORE, .place = k.place, .slot = k.slot, .step = k.step, .last = true};
    run->at = k.step;
    run->ahead = 0;
    if (run->target > k.step) {
        const tn_i_choice c = run->s->family->decide(run, run->target + 1 - k.step);
        a.last = !is_here(&k, run->at, &c);
        if (!a.last) run->ahead = c.ahead;
    }
    if (a.last) pop(run);
    return a;
}

tn_i_act tn_i_walk_next(tn_i_schedule_run *run) {
    if (run->target < 0) return (tn_i_act){.kind = TN_I_DONE};
    if (run->recorded) {
        run->recorded = false;
        run->at = TN_I_UNKNOWN;
        return (tn_i_act){.kind = TN_I_USE, .slot = TN_I_WORKING, .step = run->target--, .last = true};
    }
    if (run->at != TN_I_UNKNOWN) return go_on(run);
    while (run->count && top(run)->step > run->target) pop(run);
    if (!top(run)->record) return restore(run);
    const tn_i_kept k = *top(run);
    pop(run);
    run->target--;
    return (tn_i_act){.kind = TN_I_USE, .place = k.place, .slot = k.slot, .step = k.step, .last = true};
}

/* ---- many at once ---------------------------------------------------------------------------------------- */

/* The slot that something in memory would be kept in next. */
static int64_t next_slot(const tn_i_schedule_run *run) { return run->id[run->used[TN_I_MEMORY]]; }

/* Whether what is kept next is again a state, or a record, in that slot; it is kept then. */
static bool keeps_on(tn_i_schedule_run *run, tn_i_act_kind kind, int64_t slot) {
    const int64_t n = run->target + 1 - run->at;
    if (n == 1) return false;
    const tn_i_choice c = run->s->family->decide(run, n);
    if (c.keep != (kind == TN_I_KEEP) || (!c.keep && c.place != TN_I_MEMORY) || next_slot(run) != slot) return false;
    (void)keep(run, &c);
    return true;
}

/* Behind a STORE: its step is done, and those behind that are stored first too. */
static int64_t store_on(tn_i_schedule_run *run, int64_t slot) {
    int64_t n = 0;
    do {
        n++;
        run->at++;
        run->ahead--;
    } while (!run->ahead && keeps_on(run, TN_I_STORE, slot + n));
    return n;
}

static int64_t keep_on(tn_i_schedule_run *run, int64_t slot) {
    int64_t n = 1;
    for (; keeps_on(run, TN_I_KEEP, slot + n); n++) run->at++;
    return n;
}

/* Whether what is wanted next is a state, or a record, in that slot; it is given up then. */
static bool brings_on(tn_i_schedule_run *run, bool record, int64_t slot) {
    while (run->count && top(run)->step > run->target) pop(run);
    const tn_i_kept *k = top(run);
    if (!k || k->record != record || k->place != TN_I_MEMORY || k->step != run->target || k->slot != slot) return false;
    pop(run);
    run->target--;
    return true;
}

/* Behind a RESTORE or a USE. */
static int64_t bring_on(tn_i_schedule_run *run, bool record, int64_t slot) {
    int64_t n = 1;
    while (run->target >= 0 && brings_on(run, record, slot - n)) n++;
    return n;
}

static int64_t restore_on(tn_i_schedule_run *run, int64_t slot) {
    if (run->at != run->target) return 0;
    run->at = TN_I_UNKNOWN;
    run->target--;
    return bring_on(run, false, slot);
}

tn_i_act tn_i_walk_next_many(tn_i_schedule_run *run) {
    tn_i_act a = tn_i_walk_next(run);
    const bool memory = a.place == TN_I_MEMORY;
    if (a.kind == TN_I_STORE) a.n = memory && run->at != run->target ? store_on(run, a.slot) : 0;
    if (a.kind == TN_I_RESTORE) a.n = memory ? restore_on(run, a.slot) : 0;
    if (a.kind == TN_I_KEEP) a.n = keep_on(run, a.slot);
    if (a.kind == TN_I_USE) a.n = a.slot == TN_I_WORKING ? 1 : bring_on(run, true, a.slot);
    return a;
}
