/* online:CHECKPOINTS: the number of steps is not known while the loop runs, so states are kept that may be overwritten
 * later.
 *
 * Forward, up to step (s+1)(s+2)/2 - 2, slots are filled as Stumm and Walther do: within 2 advances of what Revolve
 * would have needed had it known.  After that a state is kept at every stride, a stride being 1/s of the steps so far,
 * in place of the one that leaves the smallest gap. In reverse, states that only crowd are given up first: with slots
 * P[0] = 0 < P[1] < .. the steps between P[k] and P[k+1] are brought back by Revolve with the s-k slots that are then
 * free, so the best subset of P is a shortest path, F[m][j] = min over i < j of F[m-1][i] + t(P[j]-P[i], s-m+1).
 * Keeping P[0] alone is one of them: never more than Revolve's advances and the N of the forward pass. */
#include "checkpoint/family.h"
#include "checkpoint/revolve.h"

/* Above this many slots the table of F is not worth its memory, and the only subsets are P[0] and all. */
enum { MOST_PLANNED = 256 };

typedef struct online {
    int64_t slot, length, pause; /* Stumm and Walther: written next; slots of this round; the step that ends it */
    bool saving;                 /* not between rounds */
    bool sorted;                 /* `kept` is in order: from the first stride on */
    int64_t filled;              /* slots in use */
    int64_t *step;               /* in each slot, while not sorted */
    int64_t *before, *now;       /* rows F[m-1] and F[m] */
    uint16_t *from;              /* [m][j]: the i */
} online;

static int64_t slots_of(const tn_i_schedule *s) {
    const bool fewer = s->steps != TN_I_UNKNOWN && s->steps < s->argument[0];
    return !fewer ? s->argument[0] : s->steps > 1 ? s->steps : 1;
}

static bool planned(int64_t slots) { return slots > 1 && slots <= MOST_PLANNED; }

/* (s+1)(s+2)/2 - 1: the first step that is not Stumm and Walther's. */
static int64_t rounds_end(int64_t s) { return tn_i_binomial(s + 2, 2) - 1; }

/* ---- memory ------------------------------------------------------------------------------------------- */

static bool own_bytes(const tn_i_schedule *s, size_t *bytes) {
    const size_t n = (size_t)slots_of(s);
    size_t more = 0;
    if (planned((int64_t)n)) more = 2 * (n + 1) * sizeof(int64_t) + (n + 1) * (n + 1) * sizeof(uint16_t);
    return tn_i_mul(n, sizeof(int64_t), bytes) && tn_i_add(*bytes, sizeof(online) + more, bytes);
}

static void begin(tn_i_schedule_run *run) {
    online *o = run->own;
    const int64_t n = slots_of(run->s);
    *o = (online){.length = n, .pause = n, .saving = true, .step = (int64_t *)(o + 1)};
    if (!planned(n)) return;
    o->before = o->step + n;
    o->now = o->before + n + 1;
    o->from = (uint16_t *)(o->now + n + 1);
}

/* ---- forward -------------------------------------------------------------------------------------------- */

/* What slot, if any, a step of Stumm and Walther's is kept in. */
static int64_t round_slot(online *o, int64_t step) {
    int64_t slot = TN_I_UNKNOWN;
    if (o->saving) {
        slot = o->slot++;
        o->step[slot] = step;
        if (slot == o->filled) o->filled++;
        if (o->slot > o->length) o->slot = 1;
    }
    if (step + 1 == o->pause) o->saving = false;
    if (step == o->pause) {
        o->pause += o->length--;
        o->slot = o->length;
        o->saving = o->length > 0;
    }
    return slot;
}

static void swap(tn_i_kept *a, tn_i_kept *b) {
    const tn_i_kept c = *a;
    *a = *b;
    *b = c;
}

static void sift(tn_i_kept *k, int64_t at, int64_t n) {
    for (int64_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && k[child + 1].step > k[child].step) child++;
        if (k[at].step >= k[child].step) return;
        swap(&k[at], &k[child]);
    }
}

/* The slots by their steps; in place, because nothing may be allocated. */
static void sort(tn_i_schedule_run *run) {
    online *o = run->own;
    tn_i_kept *k = run->kept;
    const int64_t n = o->filled;
    o->sorted = true;
    run->count = n;
    for (int64_t i = 0; i < n; i++) k[i] = (tn_i_kept){.step = o->step[i], .slot = i};
    for (int64_t i = n / 2; i-- > 0;) sift(k, i, n);
    for (int64_t end = n; end-- > 1;) {
        swap(&k[0], &k[end]);
        sift(k, 0, end);
    }
}

/* The first step x after `step` with x - last >= max(1, x div s), for s >= 2.  x - x div s does not fall, and is `last`
 * first at x = q*s + r where last = q*(s-1) + r, or one before that where r = 0. */
static int64_t stride_end(int64_t s, int64_t last, int64_t step) {
    const int64_t q = last / (s - 1), r = last % (s - 1);
    int64_t x = tn_i_plus(tn_i_times(q, s), r) - (r == 0);
    if (x <= last) x = last + 1;
    return x > step ? x : step + 1;
}

/* The slot of the state whose neighbours are closest to each other, the later of equals; the end counts as the last's
 * neighbour. */
static int64_t give_up(tn_i_schedule_run *run, int64_t end) {
    int64_t worst = 1, gap = INT64_MAX;
    tn_i_kept *k = run->kept;
    for (int64_t i = 1; i < run->count; i++) {
        const int64_t after = i + 1 < run->count ? k[i + 1].step : end;
        if (after - k[i - 1].step <= gap) worst = i, gap = after - k[i - 1].step;
    }
    const int64_t slot = k[worst].slot;
    run->tally.work += (uint64_t)run->count;
    for (int64_t i = worst + 1; i < run->count; i++) k[i - 1] = k[i];
    run->count--;
    return slot;
}

static int64_t stride_slot(tn_i_schedule_run *run, int64_t step) {
    online *o = run->own;
    const int64_t s = slots_of(run->s);
    if (!o->sorted) sort(run);
    if (s == 1) {
        run->next = INT64_MAX;
        return TN_I_UNKNOWN;
    }
    const int64_t last = run->kept[run->count - 1].step, stride = step / s > 1 ? step / s : 1;
    int64_t slot = TN_I_UNKNOWN;
    if (step - last >= stride) {
        slot = run->count == s ? give_up(run, step) : o->filled++;
        run->kept[run->count++] = (tn_i_kept){.step = step, .slot = slot};
    }
    run->next = stride_end(s, run->kept[run->count - 1].step, step);
    return slot;
}

/* run->next: the next step that has to be told. */
static tn_i_act forward(tn_i_schedule_run *run, int64_t i) {
    online *o = run->own;
    const int64_t s = slots_of(run->s);
    int64_t slot = TN_I_UNKNOWN;
    run->tally.work++;
    if (i < rounds_end(s)) {
        slot = round_slot(o, i);
        run->next = i + 1;
    } else if (i >= run->next) {
        slot = stride_slot(run, i);
    }
    tn_i_tally_peak(run, o->filled, 0);
    if (slot == TN_I_UNKNOWN) return (tn_i_act){.kind = TN_I_NONE, .step = i};
    return (tn_i_act){.kind = TN_I_STORE, .slot = slot, .step = i};
}

/* ---- what crowds ------------------------------------------------------------------------------------------ */

static int64_t position(const tn_i_schedule_run *run, int64_t k) {
    return k < run->count ? run->kept[k].step : run->steps;
}

/* F[m][j] for j in low..high, whose i are in first..last.  t is convex, so the best i does not fall while j grows: the
 * one of the middle j bounds those of both halves. */
static void row(tn_i_schedule_run *run, int64_t m, int64_t low, int64_t high, int64_t first, int64_t last) {
    const online *o = run->own;
    if (low > high) return;
    const int64_t j = low + (high - low) / 2, slots = slots_of(run->s) - m + 1;
    int64_t best = INT64_MAX, from = first;
    for (int64_t i = first; i <= last && i < j; i++) {
        const int64_t t = tn_i_advances(position(run, j) - position(run, i), slots), f = tn_i_plus(o->before[i], t);
        if (f < best) best = f, from = i;
        run->tally.work++;
    }
    o->now[j] = best;
    o->from[m * (run->count + 1) + j] = (uint16_t)from;
    row(run, m, low, j - 1, first, from);
    row(run, m, j + 1, high, from, last);
}

/* How many states the best subset has; o->from then leads back through it. */
static int64_t shortest(tn_i_schedule_run *run) {
    online *o = run->own;
    const int64_t n = run->count;
    int64_t best = INT64_MAX, chosen = 1;
    for (int64_t j = 0; j <= n; j++) o->before[j] = j ? INT64_MAX : 0;
    for (int64_t m = 1; m <= n; m++) {
        row(run, m, m, n, m - 1, n - 1);
        if (o->now[n] < best) best = o->now[n], chosen = m;
        for (int64_t j = 0; j <= n; j++) o->before[j] = j < m ? INT64_MAX : o->now[j];
    }
    return chosen;
}

/* Advances of the reverse pass as things stand. */
static int64_t to_come(const tn_i_schedule_run *run) {
    int64_t sum = 0;
    for (int64_t k = 0; k < run->count; k++) {
        const int64_t gap = position(run, k + 1) - position(run, k);
        sum = tn_i_plus(sum, tn_i_advances(gap, slots_of(run->s) - k));
    }
    return sum;
}

/* Moves the states of the best subset, marked by their place in it, to the front, in order; the others behind them, so
 * that their slots are free. */
static void prune(tn_i_schedule_run *run) {
    const online *o = run->own;
    const int64_t n = run->count;
    int64_t chosen = 1;
    if (n <= 1 || run->steps <= rounds_end(slots_of(run->s))) return;
    if (!o->from) {
        if (to_come(run) > tn_i_advances(run->steps, slots_of(run->s))) run->count = 1;
        return;
    }
    chosen = shortest(run);
    for (int64_t m = chosen, j = n; m >= 1; m--) {
        j = o->from[m * (n + 1) + j];
        o->now[m - 1] = j;
    }
    for (int64_t m = 0; m < chosen; m++) run->kept[m] = run->kept[o->now[m]];
    run->count = chosen;
}

/* The slots of what is kept first, then all others. */
static void turn(tn_i_schedule_run *run) {
    online *o = run->own;
    const int64_t s = slots_of(run->s);
    if (!o->sorted) sort(run);
    prune(run);
    for (int64_t k = 0; k < s; k++) o->step[k] = 0;
    for (int64_t k = 0; k < run->count; k++) {
        run->id[k] = run->kept[k].slot;
        o->step[run->id[k]] = 1;
    }
    int64_t free = run->count;
    for (int64_t k = 0; k < s; k++)
        if (!o->step[k]) run->id[free++] = k;
    run->used[TN_I_MEMORY] = run->count;
}

/* ---- the family ---------------------------------------------------------------------------------------------- */

static tn_i_choice decide(tn_i_schedule_run *run, int64_t n) {
    const tn_i_kept *top = run->count ? &run->kept[run->count - 1] : NULL;
    const int64_t below = run->count - (top && top->step == run->at);
    return (tn_i_choice){.ahead = tn_i_split(n, slots_of(run->s) - below, &run->tally.work)};
}

static tn_i_schedule_slots slots(const tn_i_schedule *s) {
    return (tn_i_schedule_slots){.memory = slots_of(s), .states = true};
}

/* Runs the forward pass from one state kept to the next; the rest is in closed form. */
static tn_status count(const tn_i_schedule *s, int64_t steps, tn_i_schedule_tally *out) {
    const size_t bytes = tn_i_schedule_bytes(s);
    void *memory = steps > 0 ? tn_i_alloc(s->ctx, bytes) : NULL;
    *out = (tn_i_schedule_tally){0};
    if (steps <= 0) return TN_OK;
    if (!memory) return TN_ENOMEM;
    tn_i_schedule_run *run = tn_i_schedule_begin(s, memory);
    for (int64_t i = 0; i < steps; i = run->next) (void)forward(run, i);
    tn_i_schedule_turn(run, steps);
    out->advances = tn_i_plus(steps, to_come(run));
    out->recorded = steps;
    out->snapshots = run->tally.snapshots;
    for (int64_t k = 0; k < run->count; k++) {
        const int64_t gap = position(run, k + 1) - position(run, k);
        const int64_t here = k + (gap > 1 ? tn_i_at_most(slots_of(s) - k, gap) : 1);
        if (here > out->snapshots) out->snapshots = here;
    }
    tn_i_free(s->ctx, memory, bytes);
    return TN_OK;
}

const tn_i_family tn_i_online = {.name = "online",
                                 .usage = "online:CHECKPOINTS",
                                 .example = "online:3",
                                 .decide = decide,
                                 .forward = forward,
                                 .skips = true,
                                 .turn = turn,
                                 .own_bytes = own_bytes,
                                 .begin = begin,
                                 .slots = slots,
                                 .count = count};
