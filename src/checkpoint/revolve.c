/* revolve:CHECKPOINTS and nothing: provably fewest advances where the number of steps is known (Griewank and Walther).
 */
#include "checkpoint/revolve.h"

#include "checkpoint/family.h"

int64_t tn_i_plus(int64_t a, int64_t b) {
    int64_t sum;
    return tn_i_add_i64(a, b, &sum) ? sum : INT64_MAX;
}

int64_t tn_i_times(int64_t a, int64_t b) {
    int64_t product;
    return tn_i_mul_i64(a, b, &product) ? product : INT64_MAX;
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* c*(n+i)/i is whole but may pass 2^63 on the way: with c = q*i + rest it is q*(n+i) + rest*(n+i)/i, and rest < i is
 * small, because c grows at least as fast as C(2i, i). */
int64_t tn_i_binomial(int64_t n, int64_t k) {
    if (k < 0 || k > n) return 0;
    const int64_t few = least(k, n - k), base = n - few;
    int64_t c = 1;
    for (int64_t i = 1; i <= few && c < INT64_MAX; i++) {
        const int64_t rest = tn_i_times(c % i, base + i);
        c = tn_i_plus(tn_i_times(c / i, base + i), rest / i);
    }
    return c;
}

static int64_t reach(int64_t s, int64_t r, uint64_t *work) {
    if (work) *work += 1 + (uint64_t)least(least(s, r), 64);
    return tn_i_binomial(s + r, s);
}

/* The usual case, without a search: r of a few rounds, one quotient each.  *before is reach(s, r - 1) = C(s + r - 1,
 * s). false: more rounds, or numbers whose products may not fit. */
static bool few_repeats(int64_t n, int64_t s, int64_t *r, int64_t *before, uint64_t *work) {
    enum { MOST_ROUNDS = 16 };
    const int64_t most = (int64_t)1 << 30;
    int64_t c = 1;
    if (n > most || s > most) return false;
    for (*r = 0; c < n && *r < MOST_ROUNDS;) {
        *before = c;
        ++*r;
        c = c * (s + *r) / *r;
    }
    if (work) *work += (uint64_t)*r;
    return c >= n;
}

int64_t tn_i_repeats(int64_t n, int64_t s, uint64_t *work) {
    int64_t low = 0, high = 1; /* reach(low) < n, unless low is 0 */
    if (n <= 1) return 0;
    if (s == 1) return n - 1;
    if (s >= n) return 1;
    int64_t r, before;
    if (few_repeats(n, s, &r, &before, work)) return r;
    while (reach(s, high, work) < n) low = high, high *= 2;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (reach(s, middle, work) < n)
            low = middle;
        else
            high = middle;
    }
    return high;
}

int64_t tn_i_advances(int64_t n, int64_t s) {
    if (n <= 1) return 0;
    s = least(s, n - 1);
    const int64_t r = tn_i_repeats(n, s, NULL), all = tn_i_times(r, n);
    return all == INT64_MAX ? all : all - tn_i_binomial(s + r, s + 1);
}

int64_t tn_i_split(int64_t n, int64_t s, uint64_t *work) {
    if (s <= 1) return n - 1;
    if (s >= n - 1) return 1;
    int64_t r, before = 1, rest; /* rest: what the slots but one bring back in r - 1 rounds, C(s + r - 2, s - 1) */
    if (few_repeats(n, s, &r, &before, work))
        rest = before * s / (s + r - 1);
    else {
        r = tn_i_repeats(n, s, work);
        before = tn_i_binomial(s + r - 1, s);
        rest = tn_i_binomial(s + r - 2, s - 1);
    }
    const int64_t most = least(n - 1, before);
    return n - rest >= 1 ? least(most, n - rest) : most;
}

/* ---- the families ------------------------------------------------------------------------------------ */

/* The state here takes one of the slots that nothing below holds. */
static tn_i_choice decide(tn_i_schedule_run *run, int64_t n) {
    const tn_i_kept *top = run->count ? &run->kept[run->count - 1] : NULL;
    const int64_t below = run->count - (top && top->step == run->at);
    return (tn_i_choice){.ahead = tn_i_split(n, run->s->argument[0] - below, &run->tally.work)};
}

static tn_i_schedule_slots slots(const tn_i_schedule *s) {
    return (tn_i_schedule_slots){.memory = tn_i_at_most(s->argument[0], s->steps), .states = true};
}

static tn_status count(const tn_i_schedule *s, int64_t steps, tn_i_schedule_tally *out) {
    *out = (tn_i_schedule_tally){.advances = tn_i_advances(steps, s->argument[0]),
                                 .recorded = steps,
                                 .snapshots = tn_i_at_most(s->argument[0], steps)};
    return TN_OK;
}

const tn_i_family tn_i_revolve = {.name = "revolve",
                                  .usage = "revolve:CHECKPOINTS",
                                  .example = "revolve:3",
                                  .known = true,
                                  .decide = decide,
                                  .slots = slots,
                                  .count = count};

/* ---- nothing: from the start each time ----------------------------------------------------------------
 *
 * Its one slot is argument[0], as every schedule without arguments has it.  Steps may be unknown: the forward pass then
 * does them all, without a record of the last one. */

static tn_i_act start_only(tn_i_schedule_run *run, int64_t i) {
    if (run->steps != TN_I_UNKNOWN) return tn_i_walk_forward(run, i);
    if (i) return (tn_i_act){.kind = TN_I_NONE, .step = i};
    tn_i_walk_push(run, 0, TN_I_MEMORY, false);
    return (tn_i_act){.kind = TN_I_STORE, .slot = run->kept[0].slot};
}

static tn_i_schedule_slots one_slot(const tn_i_schedule *s) {
    return (tn_i_schedule_slots){.memory = s->steps == TN_I_UNKNOWN ? 1 : tn_i_at_most(1, s->steps), .states = true};
}

static tn_status count_from_start(const tn_i_schedule *s, int64_t steps, tn_i_schedule_tally *out) {
    const bool unknown = s->steps == TN_I_UNKNOWN;
    *out = (tn_i_schedule_tally){.advances = tn_i_plus(tn_i_advances(steps, 1), unknown ? steps : 0),
                                 .recorded = steps,
                                 .snapshots = unknown ? steps > 0 : tn_i_at_most(1, steps)};
    return TN_OK;
}

const tn_i_family tn_i_nothing = {.name = "nothing",
                                  .usage = "nothing",
                                  .example = "nothing",
                                  .decide = decide,
                                  .forward = start_only,
                                  .slots = one_slot,
                                  .count = count_from_start};
