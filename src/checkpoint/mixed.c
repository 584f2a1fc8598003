/* mixed:CHECKPOINTS: a slot holds a state to restart from or one step's record, which are as large.
 *
 * Where the state that enters n steps is at hand and s slots are free, the fewest steps f(n,s) that bring them back are
 *     n                                              where n <= s+1: all records but the last are kept; else
 *     min of  i + f(n-i, s-1) + f(i, s), 2 <= i < n  keep the state, go ahead, come back and give its slot free
 *         and 1 + f(n-1, s-1)                        keep the record.
 * The solution in closed form, found by looking at the differences of f and checked against this recurrence by the
 * tests: they grow by levels like Revolve's.  Level v brings the steps C(s+v-1,s) < n <= C(s+v,s).  It is a sequence of
 * *leaves*, stretches of steps whose records are kept at the same time: for each number k of slots taken, 0 <= k < s,
 * there are C(k+v-2, k) leaves of s-k steps, smallest k first.  A step of level v costs v, and each leaf that is begun
 * 1 more.  By Pascal's rule the leaves of (n, s) divide into those of (i, s) on level v-1, and those of (n-i, s-1) on
 * level v. */
#include "checkpoint/family.h"
#include "checkpoint/revolve.h"

typedef struct level {
    int64_t leaves; /* begun on levels 2.. */
    int64_t left;   /* the i of the split */
} level;

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* Of n > s+1 steps: O(s). */
static level level_of(int64_t n, int64_t s, uint64_t *work) {
    const int64_t v = tn_i_repeats(n, s, work);
    int64_t over = n - tn_i_binomial(s + v - 1, s); /* steps on level v, some */
    level l = {.leaves = tn_i_binomial(s + v - 2, s) - 1, .left = tn_i_binomial(s + v - 2, s)};
    for (int64_t k = 0; k < s; k++) {
        const int64_t size = s - k, leaves = tn_i_binomial(k + v - 2, k);
        const int64_t lefts = v > 2 ? tn_i_binomial(k + v - 3, k) : k == 0;
        const int64_t here = least(over, tn_i_times(leaves, size));
        if (work) *work += 1;
        l.left += least(here, tn_i_times(lefts, size));
        l.leaves += (here - 1) / size + 1;
        over -= here;
        if (!over) break;
    }
    return l;
}

/* f(n, s) - n. */
static int64_t advances(int64_t n, int64_t s) {
    if (n <= s + 1) return 0;
    const int64_t t = tn_i_advances(n, s);
    return t == INT64_MAX ? t : tn_i_plus(t + 1 - n, level_of(n, s, NULL).leaves);
}

static tn_i_choice decide(tn_i_schedule_run *run, int64_t n) {
    const tn_i_kept *top = run->count ? &run->kept[run->count - 1] : NULL;
    const int64_t below = run->count - (top && !top->record && top->step == run->at);
    const int64_t s = run->s->argument[0] - below;
    if (n <= s + 1) return (tn_i_choice){.keep = true};
    return (tn_i_choice){.ahead = level_of(n, s, &run->tally.work).left};
}

static tn_i_schedule_slots slots(const tn_i_schedule *s) {
    return (tn_i_schedule_slots){
        .memory = tn_i_at_most(s->argument[0], s->steps), .states = s->argument[0] < s->steps - 1, .records = true};
}

static tn_status count(const tn_i_schedule *s, int64_t steps, tn_i_schedule_tally *out) {
    *out = (tn_i_schedule_tally){.advances = advances(steps, s->argument[0]),
                                 .recorded = steps,
                                 .snapshots = tn_i_at_most(s->argument[0], steps)};
    return TN_OK;
}

const tn_i_family tn_i_mixed = {.name = "mixed",
                                .usage = "mixed:CHECKPOINTS",
                                .example = "mixed:3",
                                .known = true,
                                .decide = decide,
                                .slots = slots,
                                .count = count};
