/* all_save and periodic:K, whose slots follow from the step's number alone. */
#include "checkpoint/family.h"
#include "checkpoint/revolve.h"

/* ---- all_save: record i in slot i ------------------------------------------------------------------- */

static tn_i_act save_forward(tn_i_schedule_run *run, int64_t i) {
    tn_i_tally_peak(run, i + 1, 0);
    return (tn_i_act){.kind = TN_I_KEEP, .slot = i, .step = i};
}

static tn_i_act save_next(tn_i_schedule_run *run) {
    if (run->target < 0) return (tn_i_act){.kind = TN_I_DONE};
    const int64_t i = run->target--;
    return (tn_i_act){.kind = TN_I_USE, .slot = i, .step = i, .last = true};
}

static tn_i_act save_next_many(tn_i_schedule_run *run) {
    tn_i_act a = save_next(run);
    if (a.kind == TN_I_USE) a.n = 1 + a.step;
    if (a.kind == TN_I_USE) run->target = -1;
    return a;
}

static tn_i_schedule_slots save_slots(const tn_i_schedule *s) {
    return (tn_i_schedule_slots){.memory = s->steps, .every = 1, .records = true};
}

static tn_status save_count(const tn_i_schedule *s, int64_t steps, tn_i_schedule_tally *out) {
    (void)s;
    *out = (tn_i_schedule_tally){.recorded = steps, .snapshots = steps};
    return TN_OK;
}

const tn_i_family tn_i_all_save = {.name = "all_save",
                                   .usage = "all_save",
                                   .example = "all_save",
                                   .forward = save_forward,
                                   .next = save_next,
                                   .next_many = save_next_many,
                                   .slots = save_slots,
                                   .count = save_count};

/* ---- periodic: each K-th state, then block by block, each advanced through once -------------------------
 *
 * Slot 0 holds the initial state, slots 1..K-2 the states inside of the block that is being brought back (but for its
 * last, which is recorded at once), and those behind them the states that enter blocks 1, 2 ..  Where the steps are
 * known, the forward pass keeps the last block's inner states itself, and records the last step. */

static int64_t inner(int64_t k) { return k > 2 ? k - 2 : 0; }

static int64_t entry_slot(int64_t block, int64_t k) { return block ? inner(k) + block : 0; }

/* Storing or restoring the state that enters a step. */
static tn_i_act stored(const tn_i_schedule_run *run, tn_i_act_kind kind, int64_t step) {
    const int64_t k = run->s->argument[0], in = step % k;
    return (tn_i_act){.kind = kind, .slot = in ? in : entry_slot(step / k, k), .step = step};
}

static tn_i_act forward(tn_i_schedule_run *run, int64_t i) {
    const int64_t k = run->s->argument[0], n = run->steps;
    const bool known = n != TN_I_UNKNOWN, last_block = known && i / k == (n - 1) / k;
    run->next = last_block ? i - i % k : TN_I_UNKNOWN; /* the block whose inner states are there */
    if (known && i == n - 1) {
        run->recorded = true;
        return (tn_i_act){.kind = TN_I_RECORD, .slot = TN_I_WORKING, .step = i};
    }
    if (i % k && !last_block) return (tn_i_act){.kind = TN_I_NONE, .step = i};
    tn_i_tally_peak(run, i / k + 1 + i % k, 0);
    return stored(run, TN_I_STORE, i);
}

/* run->next: the first step of the block whose inner states are there; run->at: the working state while they are made.
 */
static tn_i_act next(tn_i_schedule_run *run) {
    if (run->target < 0) return (tn_i_act){.kind = TN_I_DONE};
    const int64_t k = run->s->argument[0], j = run->target, start = j - j % k;
    if (run->recorded || run->at == j) {
        const bool recorded = run->recorded;
        run->recorded = false;
        run->at = TN_I_UNKNOWN;
        run->target--;
        return (tn_i_act){.kind = recorded ? TN_I_USE : TN_I_RECORD, .slot = TN_I_WORKING, .step = j, .last = recorded};
    }
    if (run->at == TN_I_UNKNOWN) {
        const bool there = run->next == start;
        tn_i_act a = stored(run, TN_I_RESTORE, there ? j : start);
        a.last = there || j == start;
        run->at = a.step;
        run->ahead = 1;
        run->next = start;
        return a;
    }
    if (!run->ahead) {
        run->ahead = 1;
        tn_i_tally_peak(run, start / k + 1 + run->at - start, 0);
        return stored(run, TN_I_STORE, run->at);
    }
    run->ahead = ++run->at == j;
    return (tn_i_act){.kind = TN_I_ADVANCE, .step = run->at - 1, .n = 1};
}

/* The rest of the block, where it is stored; what of it has been. */
static tn_i_act next_many(tn_i_schedule_run *run) {
    tn_i_act a = next(run);
    const int64_t k = run->s->argument[0], j = run->target, start = j - j % k;
    if (a.kind == TN_I_USE) a.n = 1;
    if (a.kind == TN_I_STORE) {
        a.n = j - run->at;
        run->at = j;
        tn_i_tally_peak(run, start / k + j - start, 0);
    }
    if (a.kind == TN_I_RESTORE && run->at == j) {
        for (a.n = 1; a.step - a.n >= start && stored(run, a.kind, a.step - a.n).slot == a.slot - a.n;) a.n++;
        run->target -= a.n;
        run->at = TN_I_UNKNOWN;
    }
    return a;
}

static int64_t peak(int64_t k, int64_t steps, bool known) {
    if (steps <= 0) return 0;
    const int64_t blocks = (steps - 1) / k + 1, last = steps - (blocks - 1) * k;
    const int64_t full = blocks > 1 ? blocks - 1 + inner(k) : 0;
    const int64_t end = known && last == 1 ? blocks - 1 : blocks + inner(last);
    return full > end ? full : end;
}

static tn_i_schedule_slots slots(const tn_i_schedule *s) {
    const int64_t k = s->argument[0], steps = s->steps;
    tn_i_schedule_slots x = {.memory = steps, .every = k, .states = true};
    if (steps > 0) {
        const int64_t blocks = (steps - 1) / k + 1;
        x.memory = blocks == 1 ? peak(k, steps, true) : entry_slot(blocks - 1, k) + (steps - (blocks - 1) * k > 1);
    }
    return x;
}

static tn_status count(const tn_i_schedule *s, int64_t steps, tn_i_schedule_tally *out) {
    const int64_t k = s->argument[0];
    const bool known = s->steps != TN_I_UNKNOWN;
    *out = (tn_i_schedule_tally){.recorded = steps, .snapshots = peak(k, steps, known)};
    if (steps <= 0) return TN_OK;
    const int64_t before = (steps - 1) / k, last = steps - before * k;
    const int64_t again = before * (k - 1); /* below steps */
    out->advances = known ? tn_i_plus(steps - 1, again) : tn_i_plus(tn_i_plus(steps, again), last - 1);
    return TN_OK;
}

const tn_i_family tn_i_periodic = {.name = "periodic",
                                   .usage = "periodic:K",
                                   .example = "periodic:3",
                                   .forward = forward,
                                   .next = next,
                                   .next_many = next_many,
                                   .slots = slots,
                                   .count = count};
