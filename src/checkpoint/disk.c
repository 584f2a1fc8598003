/* disk_revolve:CHECKPOINTS,DISK: states in memory, and states on disk that cost something to write and read.
 *
 * A stretch of n steps is brought back in memory alone, by Revolve, at A(n) = n + t(n,s); or its first state is on
 * disk: O[m](n) = min A(n), w + P[m](n)                               m slots on disk are free; O[0] = A P[m](n) = min
 * A(n), min over 0 < j < n of  j + O[m-1](n-j) + r + P[m](j)        its first state is on one of m (H-Revolve's
 * recurrence, of two levels.)  These functions are piecewise linear with few pieces, and between breakpoints the sum of
 * two linear functions of j is least at an end: only breakpoints j of P[m], and j = n - a breakpoint of O[m-1], are
 * looked at.  So a table has pieces, not steps, and is exact.  Costs are integers: thousandths of a step. */
#include "checkpoint/family.h"
#include "checkpoint/revolve.h"

enum { UNIT = 1000 };
#define MOST_STEPS ((int64_t)1 << 22)
#define MOST_WORK  ((uint64_t)1 << 32)

/* A piecewise linear function on 1..at[n-1]: its breakpoints and ends. */
typedef struct pieces {
    int64_t *at, *value;
    size_t n, capacity[2];
} pieces;

typedef struct table {
    pieces p, o; /* P[m], O[m-1] */
} table;

/* While tables are made: all values at 0..steps, and what was looked at. */
typedef struct maker {
    const tn_i_schedule *s;
    int64_t *a, *p, *o; /* A, P[m], O[m-1] */
    uint64_t work;
} maker;

/* ---- functions of pieces -------------------------------------------------------------------------------- */

static bool add_piece(tn_ctx *c, pieces *f, int64_t at, int64_t value) {
    void *x = f->at, *y = f->value;
    const bool ok = tn_i_grow(c, &x, &f->capacity[0], f->n + 1, sizeof *f->at) &&
                    tn_i_grow(c, &y, &f->capacity[1], f->n + 1, sizeof *f->value);
    f->at = x;
    f->value = y;
    if (!ok) return false;
    f->at[f->n] = at;
    f->value[f->n++] = value;
    return true;
}

static void free_pieces(tn_ctx *c, pieces *f) {
    tn_i_free(c, f->at, f->capacity[0] * sizeof *f->at);
    tn_i_free(c, f->value, f->capacity[1] * sizeof *f->value);
}

/* Whether f bends at `at`, by its values up to at + 1. */
static bool bends(const int64_t *f, int64_t at) { return f[at + 1] - f[at] != f[at] - f[at - 1]; }

static int64_t value_at(const pieces *f, int64_t n, uint64_t *work) {
    size_t low = 0, high = f->n - 1; /* at[low] <= n <= at[high] */
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (f->at[middle] <= n)
            low = middle;
        else
            high = middle;
        *work += 1;
    }
    if (n == f->at[high]) return f->value[high];
    const int64_t slope = (f->value[high] - f->value[low]) / (f->at[high] - f->at[low]);
    return f->value[low] + slope * (n - f->at[low]);
}

/* ---- making the tables ------------------------------------------------------------------------------------- */

static int64_t in_memory(const tn_i_schedule *s, int64_t n) { return UNIT * (n + tn_i_advances(n, s->argument[0])); }

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* P[m](n), all of it below n and its pieces up to n - 2 being known.  Nearly all of planning is in these two loops,
 * which therefore ask for the least value alone, not where it is. */
static int64_t best_at(maker *k, const table *t, int64_t n) {
    const int64_t r = k->s->read_cost;
    int64_t best = k->a[n];
    for (size_t i = 0; i < t->p.n && t->p.at[i] < n; i++)
        best = least(best, t->p.at[i] * UNIT + k->o[n - t->p.at[i]] + r + t->p.value[i]);
    size_t i = 0;
    for (; i < t->o.n && t->o.at[i] < n; i++)
        best = least(best, (n - t->o.at[i]) * UNIT + t->o.value[i] + r + k->p[n - t->o.at[i]]);
    k->work += t->p.n + i;
    return best;
}

static tn_status too_much(const maker *k) {
    return tn_i_fail(
        k->s->ctx, TN_ELIMIT, NULL,
        "schedule '%s' for %lld steps: planning it would take too long; it takes less with fewer slots on disk "
        "or more in memory",
        k->s->text, (long long)k->s->steps);
}

/* The piece of f that ends at x - 1, and at the last x that one. */
static bool follow(const maker *k, pieces *to, const int64_t *f, int64_t x) {
    tn_ctx *c = k->s->ctx;
    if (x > 2 && bends(f, x - 1) && !add_piece(c, to, x - 1, f[x - 1])) return false;
    return (x > 1 && x < k->s->steps) || add_piece(c, to, x, f[x]);
}

/* P[m] from O[m-1], then O[m] in the place of that; *same: O did not change. */
static tn_status make_level(maker *k, table *t, bool *same) {
    const int64_t n = k->s->steps;
    for (int64_t x = 1; x <= n; x++)
        if (!follow(k, &t->o, k->o, x)) return TN_ENOMEM;
    for (int64_t x = 1; x <= n; x++) {
        k->p[x] = best_at(k, t, x);
        if (!follow(k, &t->p, k->p, x)) return TN_ENOMEM;
        if (k->work > MOST_WORK) return too_much(k);
    }
    *same = true;
    for (int64_t x = 1; x <= n; x++) {
        const int64_t o = least(k->p[x] + k->s->write_cost, k->a[x]);
        *same = *same && o == k->o[x];
        k->o[x] = o;
    }
    return TN_OK;
}

static table *new_level(tn_i_schedule *s) {
    void *grown = s->table;
    if (!tn_i_grow(s->ctx, &grown, &s->table_capacity, s->levels + 1, sizeof(table))) return NULL;
    s->table = grown;
    table *t = (table *)s->table + s->levels++;
    *t = (table){0};
    return t;
}

/* Level by level, until no further slot on disk would be used. */
static tn_status make_levels(maker *k, tn_i_schedule *s) {
    tn_status status = TN_OK;
    bool same = false;
    for (int64_t x = 1; x <= s->steps; x++) k->o[x] = k->a[x] = in_memory(s, x);
    while (status == TN_OK && !same && (int64_t)s->levels < s->argument[1]) {
        table *t = new_level(s);
        status = t ? make_level(k, t, &same) : TN_ENOMEM;
    }
    return status;
}

static tn_status prepare(tn_i_schedule *s) {
    const size_t n = (size_t)s->steps + 1;
    maker k = {.s = s};
    if (s->steps > MOST_STEPS)
        return tn_i_fail(s->ctx, TN_ELIMIT, NULL, "schedule '%s' takes at most %lld steps, not %lld", s->text,
                         (long long)MOST_STEPS, (long long)s->steps);
    if (!(k.a = tn_i_alloc_array(s->ctx, 3 * n, sizeof *k.a))) return TN_ENOMEM;
    k.p = k.a + n;
    k.o = k.p + n;
    const tn_status status = make_levels(&k, s);
    tn_i_free(s->ctx, k.a, 3 * n * sizeof *k.a);
    return status;
}

static void release(tn_i_schedule *s) {
    table *t = s->table;
    for (size_t i = 0; i < s->levels; i++) {
        free_pieces(s->ctx, &t[i].p);
        free_pieces(s->ctx, &t[i].o);
    }
    tn_i_free(s->ctx, t, s->table_capacity * sizeof(table));
}

/* ---- deciding by them ------------------------------------------------------------------------------------------ */

/* The last j that is best for n steps from a state on one of m slots on disk; 0: in memory is no worse. */
static int64_t split(const tn_i_schedule *s, int64_t m, int64_t n, uint64_t *work) {
    const table *t = (const table *)s->table + m - 1;
    int64_t best = in_memory(s, n), last = 0;
    for (int side = 0; side < 2; side++) {
        const pieces *f = side ? &t->o : &t->p, *g = side ? &t->p : &t->o;
        for (size_t i = 0; i < f->n && f->at[i] < n; i++) {
            const int64_t j = side ? n - f->at[i] : f->at[i];
            const int64_t x = j * UNIT + f->value[i] + s->read_cost + value_at(g, n - f->at[i], work);
            if (x < best || (x == best && last && j > last)) best = x, last = j;
            *work += 1;
        }
    }
    return last;
}

/* In memory when something above the latest state on disk is there already. */
static tn_i_choice decide(tn_i_schedule_run *run, int64_t n) {
    const tn_i_schedule *s = run->s;
    const tn_i_kept *top = run->count ? &run->kept[run->count - 1] : NULL;
    const bool here = top && top->step == run->at, memory = top && top->place == TN_I_MEMORY;
    const int64_t below = run->used[TN_I_MEMORY] - (here && memory), levels = (int64_t)s->levels;
    int64_t m = s->argument[1] - run->used[TN_I_DISK] + (here && !memory), j = 0;
    m = m < levels ? m : levels;
    if (!memory && m > 0) {
        const table *t = (const table *)s->table + m - 1;
        if (here || value_at(&t->p, n, &run->tally.work) + s->write_cost < in_memory(s, n))
            j = split(s, m, n, &run->tally.work);
    }
    if (j) return (tn_i_choice){.place = TN_I_DISK, .ahead = j};
    return (tn_i_choice){.ahead = tn_i_split(n, s->argument[0] - below, &run->tally.work)};
}

static tn_i_schedule_slots slots(const tn_i_schedule *s) {
    const int64_t n = s->steps;
    return (tn_i_schedule_slots){
        .memory = tn_i_at_most(s->argument[0], n), .disk = tn_i_at_most(s->argument[1], n), .states = true};
}

/* By doing it all but the steps. */
static tn_status count(const tn_i_schedule *s, int64_t steps, tn_i_schedule_tally *out) {
    const size_t bytes = tn_i_schedule_bytes(s);
    void *memory = steps > 0 ? tn_i_alloc(s->ctx, bytes) : NULL;
    *out = (tn_i_schedule_tally){0};
    if (steps <= 0) return TN_OK;
    if (!memory) return TN_ENOMEM;
    tn_i_schedule_run *run = tn_i_schedule_begin(s, memory);
    for (int64_t i = 0; i < steps - 1; i = run->next) (void)tn_i_schedule_forward(run, i);
    (void)tn_i_schedule_forward(run, steps - 1);
    run->tally.advances = steps - 1;
    tn_i_schedule_turn(run, steps);
    while (tn_i_schedule_next(run).kind != TN_I_DONE) {
    }
    *out = tn_i_schedule_tally_of(run);
    tn_i_free(s->ctx, memory, bytes);
    return TN_OK;
}

const tn_i_family tn_i_disk_revolve = {.name = "disk_revolve",
                                       .usage = "disk_revolve:CHECKPOINTS,DISK",
                                       .example = "disk_revolve:2,3",
                                       .known = true,
                                       .disk_costs = true,
                                       .decide = decide,
                                       .prepare = prepare,
                                       .release = release,
                                       .slots = slots,
                                       .count = count};
