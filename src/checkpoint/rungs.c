/* Schedules that a memory budget tries for loops with `auto`.
 *
 * Each loop has a ladder of schedules, from the one that keeps most to the one that keeps least.  A walk goes down the
 * ladders under one policy: a single loop's rung by rung, several loops' in the order in which their rungs, measured
 * one loop at a time, save most bytes for their time.  Walks are the same for every budget.  From the best rungs that
 * fit the search goes on upwards, halving: what it tries depends on the budget, but what it takes has ever higher
 * peaks, and no less time than what did not fit before (search.h: `next`), so that of two budgets the lower one has
 * neither a higher peak nor less time. */
#include "checkpoint/family.h"
#include "checkpoint/search.h"

#include <stdio.h>
#include <string.h>

enum { RUNGS = 64, STOPS = 24, ALONE = 8, LEAST_LIMIT = 64, MANY = 999, WALKS = 6 };

typedef struct rung {
    const char *family;
    int64_t argument; /* 0: none */
} rung;

static bool same_family(rung a, rung b) { return strcmp(a.family, b.family) == 0; }

typedef struct ladder {
    rung at[RUNGS];
    uint32_t n;
} ladder;

typedef struct walk {
    const char *policy, *family;
    ladder *ladder; /* one a loop */
    uint32_t *path; /* rungs of all loops, stop by stop */
    size_t n, room;
} walk;

/* Where the best so far was found. */
typedef struct found {
    const walk *walk;  /* NULL: not on a walk */
    rung *rung;        /* of each loop, as tried */
    size_t at, before; /* on its path, and the last stop tried above; equal where it is not on the path */
} found;

/* ---- schedules --------------------------------------------------------------------------- */

static bool set(tn_i_search *s, size_t i, rung r) {
    char text[64];
    const int n = r.argument ? snprintf(text, sizeof text, "%s:%lld", r.family, (long long)r.argument)
                             : snprintf(text, sizeof text, "%s", r.family);
    return (s->now[i] = tn_i_string(s->t->ctx, text, (size_t)n)) != NULL;
}

static void add(ladder *l, const char *family, int64_t argument) {
    if (l->n < RUNGS) l->at[l->n++] = (rung){family, argument};
}

static int64_t most_slots(const tn_i_auto_loop *l) {
    const int64_t most = l->steps < 0 ? MANY : l->steps - 1;
    return most < TN_I_MOST_SLOTS ? most : TN_I_MOST_SLOTS;
}

/* Slots from `most` down: one loop alone has more rungs. */
static void add_slots(ladder *l, const char *family, int64_t most, bool alone) {
    const int64_t all = alone ? 8 : 4;
    for (int64_t n = most; n > 0; n = n <= all ? n - 1 : alone ? n * 5 / 7 : n / 2) add(l, family, n);
}

static ladder ladder_of(const tn_i_search *s, const tn_i_auto_loop *l, const char *family, bool alone) {
    ladder x = {.n = 0};
    if (l->limit) {
        const int64_t limit = l->limit < INT64_MAX ? (int64_t)l->limit : INT64_MAX;
        for (int64_t n = limit; n >= LEAST_LIMIT && x.n < RUNGS - 1; n /= 2) add(&x, "auto", n);
        add(&x, "auto", 1);
    } else if (l->steps < 0 && !s->unbounded) {
        add_slots(&x, "online", most_slots(l), alone);
    } else {
        add(&x, "all_save", 0);
        if (l->steps > 1) {
            add_slots(&x, family, most_slots(l), alone);
            add(&x, "nothing", 0);
        }
    }
    return x;
}

/* ---- loops whose steps only a run tells ------------------------------------------------------- */

static bool save_all(const tn_i_plan_by *how, const tn_i_boundary *q, uint8_t *save) {
    (void)how;
    memset(save, 1, q->f->nval);
    return true;
}

/* What they add step by step when everything is saved, under a schedule of theirs. */
static bool measure_steps(tn_i_search *s, rung r, size_t *per_step) {
    const tn_i_plan_by how = {.name = TN_I_BUDGET, .plan = save_all};
    tn_i_trial t;
    for (size_t i = 0; i < s->x->nloop; i++) {
        const tn_i_auto_loop *l = &s->t->loops.loop[i];
        const ladder x = ladder_of(s, l, "revolve", true);
        if (!set(s, i, l->steps < 0 && !l->limit ? r : x.at[0])) return false;
    }
    tn_i_reschedule(s);
    if (!tn_i_tell(s) || !s->t->attempt(s->t->user, &how, &t)) return false;
    *per_step = t.per_step;
    return true;
}

static bool find_unbounded(tn_i_search *s) {
    bool any = false;
    size_t all = 0, few = 0;
    for (size_t i = 0; i < s->x->nloop; i++) any |= s->t->loops.loop[i].steps < 0 && !s->t->loops.loop[i].limit;
    if (!any) return true;
    if (!measure_steps(s, (rung){"all_save", 0}, &all) || !measure_steps(s, (rung){"online", 1}, &few)) return false;
    s->unbounded = all <= few;
    return true;
}

bool tn_i_fastest_schedules(tn_i_search *s) {
    if (s->x->trials == 0 && !find_unbounded(s)) return false;
    for (size_t i = 0; i < s->x->nloop; i++) {
        const ladder x = ladder_of(s, &s->t->loops.loop[i], "revolve", true);
        if (!set(s, i, x.at[0])) return false;
    }
    tn_i_reschedule(s);
    return true;
}

/* ---- every schedule -------------------------------------------------------------------------------- */

/* all_save, mixed and revolve with every number of slots, nothing. */
static size_t ways(const tn_i_search *s, const tn_i_auto_loop *l, size_t most) {
    if (l->limit || (l->steps < 0 && !s->unbounded)) return most + 1;
    if (l->steps < 2) return 1;
    return (uint64_t)l->steps > most ? most + 1 : 2 * (size_t)l->steps;
}

size_t tn_i_count_schedules(const tn_i_search *s, size_t most) {
    size_t n = 1;
    for (size_t i = 0; i < s->x->nloop && n <= most; i++)
        if (!tn_i_mul(n, ways(s, &s->t->loops.loop[i], most), &n)) return most + 1;
    return n <= most ? n : most + 1;
}

bool tn_i_nth_schedules(tn_i_search *s, size_t at) {
    for (size_t i = 0; i < s->x->nloop; i++) {
        const tn_i_auto_loop *l = &s->t->loops.loop[i];
        const size_t n = ways(s, l, SIZE_MAX / 4);
        const int64_t k = (int64_t)(at % n), half = n > 1 ? (int64_t)n / 2 : 1;
        const rung r = k == 0               ? (rung){"all_save", 0}
                       : k < half           ? (rung){"mixed", k}
                       : k + 1 < (int64_t)n ? (rung){"revolve", k - half + 1}
                                            : (rung){"nothing", 0};
        if (!set(s, i, r)) return false;
        at /= n;
    }
    tn_i_reschedule(s);
    return true;
}

/* ---- paths ------------------------------------------------------------------------------------------------ */

static bool try_these(tn_i_search *s, const walk *w, const rung *r) {
    for (size_t i = 0; i < s->x->nloop; i++)
        if (!set(s, i, r[i])) return false;
    tn_i_reschedule(s);
    return tn_i_attempt_named(s, w->policy);
}

static bool try_rungs(tn_i_search *s, const walk *w, const uint32_t *rungs, found *best) {
    for (size_t i = 0; i < s->x->nloop; i++)
        if (!set(s, i, w->ladder[i].at[rungs[i]])) return false;
    tn_i_reschedule(s);
    if (!tn_i_attempt_named(s, w->policy)) return false;
    if (!s->took) return true;
    for (size_t i = 0; i < s->x->nloop; i++) best->rung[i] = w->ladder[i].at[rungs[i]];
    best->walk = w;
    best->at = best->before = 0;
    return true;
}

static bool stop(tn_i_search *s, walk *w, const uint32_t *rungs) {
    const size_t k = s->x->nloop;
    if (!tn_i_grow(s->t->ctx, (void **)&w->path, &w->room, (w->n + 1) * k, sizeof *w->path)) return false;
    memcpy(w->path + w->n++ * k, rungs, k * sizeof *rungs);
    return true;
}

/* Each loop's rungs, the other loops halfway down. */
static bool measure_ladders(tn_i_search *s, walk *w, uint32_t *rungs, tn_i_trial (*t)[RUNGS], found *best) {
    const size_t k = s->x->nloop;
    for (size_t i = 0; i < k; i++) rungs[i] = w->ladder[i].n / 2;
    for (size_t i = 0; i < k; i++) {
        const uint32_t half = rungs[i], last = w->ladder[i].n - 1;
        for (rungs[i] = 0; rungs[i] <= last; rungs[i]++) {
            if (!try_rungs(s, w, rungs, best)) return false;
            t[i][rungs[i]] = s->last;
        }
        rungs[i] = half;
    }
    return true;
}

/* The fewest ns for a byte, of all steps down that are left. */
static bool cheapest(const tn_i_search *s, const walk *w, const uint32_t *rungs, tn_i_trial (*t)[RUNGS], size_t *loop,
                     uint32_t *to) {
    double least = 0;
    bool any = false;
    for (size_t i = 0; i < s->x->nloop; i++) {
        const tn_i_trial *from = &t[i][rungs[i]];
        for (uint32_t r = rungs[i] + 1; r < w->ladder[i].n; r++) {
            if (t[i][r].peak >= from->peak) continue;
            const double ratio = (t[i][r].work - from->work) / (double)(from->peak - t[i][r].peak);
            if (any && ratio >= least) continue;
            any = true;
            least = ratio;
            *loop = i;
            *to = r;
        }
    }
    return any;
}

static bool join_ladders(tn_i_search *s, walk *w, uint32_t *rungs, tn_i_trial (*t)[RUNGS]) {
    const size_t k = s->x->nloop;
    size_t loop = 0;
    uint32_t to = 0;
    bool end = true;
    memset(rungs, 0, k * sizeof *rungs);
    if (!stop(s, w, rungs)) return false;
    while (cheapest(s, w, rungs, t, &loop, &to)) {
        rungs[loop] = to;
        if (!stop(s, w, rungs)) return false;
    }
    for (size_t i = 0; i < k; i++) {
        end &= rungs[i] == w->ladder[i].n - 1;
        rungs[i] = w->ladder[i].n - 1;
    }
    return end || stop(s, w, rungs);
}

/* One loop, or too many to look at each: all go down together. */
static bool even_path(tn_i_search *s, walk *w, uint32_t *rungs) {
    uint32_t most = 0;
    for (size_t i = 0; i < s->x->nloop; i++) most = w->ladder[i].n > most ? w->ladder[i].n : most;
    for (uint32_t j = 0; j < most; j++) {
        for (size_t i = 0; i < s->x->nloop; i++)
            rungs[i] = most > 1 ? (uint32_t)((uint64_t)j * (w->ladder[i].n - 1) / (most - 1)) : 0;
        if (!stop(s, w, rungs)) return false;
    }
    return true;
}

static bool find_path(tn_i_search *s, walk *w, found *best) {
    tn_ctx *c = s->t->ctx;
    const size_t k = s->x->nloop;
    const bool even = k == 1 || k > ALONE;
    uint32_t *rungs = tn_i_alloc_array(c, k, sizeof *rungs);
    tn_i_trial(*t)[RUNGS] = even ? NULL : tn_i_alloc_array(c, k, sizeof *t);
    bool ok = rungs && (w->ladder = tn_i_alloc_array(c, k, sizeof *w->ladder)) != NULL && (even || t);
    for (size_t i = 0; ok && i < k; i++) w->ladder[i] = ladder_of(s, &s->t->loops.loop[i], w->family, k == 1);
    if (ok) ok = even ? even_path(s, w, rungs) : measure_ladders(s, w, rungs, t, best) && join_ladders(s, w, rungs, t);
    tn_i_free(c, rungs, k * sizeof *rungs);
    tn_i_free(c, t, k * sizeof *t);
    return ok;
}

/* ---- walks --------------------------------------------------------------------------------------------------- */

static bool go(tn_i_search *s, walk *w, found *best) {
    const size_t stops = w->n < STOPS ? w->n : STOPS;
    for (size_t m = 0; m < stops; m++) {
        const size_t at = stops > 1 ? m * (w->n - 1) / (stops - 1) : 0;
        const size_t before = m ? (m - 1) * (w->n - 1) / (stops - 1) : 0;
        if (!try_rungs(s, w, w->path + at * s->x->nloop, best)) return false;
        if (!s->took) continue;
        best->at = at;
        best->before = before;
    }
    return true;
}

/* Of all that is better than the best that fits, the least peak. */
static bool find_next(tn_i_search *s) {
    bool any = false;
    for (size_t i = 0; i < s->nseen; i++) {
        const tn_i_trial *t = &s->seen[i];
        if (!tn_i_better(t, &s->x->chosen)) continue;
        if (any && (t->peak > s->next.peak || (t->peak == s->next.peak && !tn_i_better(t, &s->next)))) continue;
        s->next = *t;
        any = true;
    }
    return any;
}

/* ---- between the stops --------------------------------------------------------------------------------------- */

/* Down the path from a stop that may not fit to one that does. */
static bool along_path(tn_i_search *s, found *best) {
    const walk *w = best->walk;
    size_t fits = best->at, not = best->before;
    while (fits - not > 1) {
        const size_t half = not +(fits - not ) / 2;
        if (!try_rungs(s, w, w->path + half * s->x->nloop, best)) return false;
        *(s->took ? &fits : &not ) = half;
    }
    best->at = fits;
    best->before = not ;
    return true;
}

static int64_t distance(rung from, rung to) {
    return same_family(from, to) && to.argument > from.argument ? to.argument - from.argument : 0;
}

/* Part `k` of `parts` of the way up. */
static rung part_way(rung from, rung to, int64_t k, int64_t parts) {
    if (distance(from, to))
        from.argument += (int64_t)((double)(to.argument - from.argument) * (double)k / (double)parts);
    return from;
}

/* From the best towards `to`, loops `first` to `last` together. */
static bool towards(tn_i_search *s, found *best, const rung *to, size_t first, size_t last, rung *r) {
    const size_t bytes = s->x->nloop * sizeof *r;
    rung *from = r + s->x->nloop;
    int64_t low = 0, high = 0, most = 1 << 20;
    memcpy(from, best->rung, bytes);
    for (size_t i = first; i <= last; i++) high = distance(from[i], to[i]) > high ? distance(from[i], to[i]) : high;
    if (high < most) most = high;
    high = most;
    while (high - low > 1) {
        const int64_t half = low + (high - low) / 2;
        memcpy(r, from, bytes);
        for (size_t i = first; i <= last; i++) r[i] = part_way(from[i], to[i], half, most);
        if (!try_these(s, best->walk, r)) return false;
        if (s->took) memcpy(best->rung, r, bytes);
        *(s->took ? &low : &high) = half;
    }
    return true;
}

/* One loop up its ladder. */
static bool upwards(tn_i_search *s, found *best, size_t loop, rung *r) {
    const ladder *l = &best->walk->ladder[loop];
    const size_t k = s->x->nloop;
    const rung here = best->rung[loop];
    uint32_t fits = 0, not = 0; /* the rungs from `fits` on are not above; those before `not` do not fit */
    while (fits < l->n && (!same_family(here, l->at[fits]) || distance(here, l->at[fits]))) fits++;
    while (not < fits) {
        const uint32_t half = not +(fits - not ) / 2;
        memcpy(r, best->rung, k * sizeof *r);
        r[loop] = l->at[half];
        if (!try_these(s, best->walk, r)) return false;
        if (s->took) memcpy(best->rung, r, k * sizeof *r);
        if (s->took)
            fits = half;
        else
            not = half + 1;
    }
    if (fits == 0) return true;
    memcpy(r + 2 * k, best->rung, k * sizeof *r);
    r[2 * k + loop] = l->at[fits - 1];
    return towards(s, best, r + 2 * k, loop, loop, r);
}

static bool go_between(tn_i_search *s, found *best) {
    const size_t k = s->x->nloop;
    rung *r = tn_i_alloc_array(s->t->ctx, 3 * k, sizeof *r);
    bool ok = r && along_path(s, best);
    for (size_t i = 0; ok && i < k; i++)
        r[2 * k + i] =
            best->at > best->before ? best->walk->ladder[i].at[best->walk->path[best->before * k + i]] : best->rung[i];
    ok = ok && towards(s, best, r + 2 * k, 0, k - 1, r);
    for (size_t i = 0; ok && i < k; i++) ok = upwards(s, best, i, r);
    tn_i_free(s->t->ctx, r, 3 * k * sizeof *r);
    return ok;
}

bool tn_i_try_rungs(tn_i_search *s) {
    walk walks[WALKS] = {{.policy = "everything_saveable", .family = "revolve"},
                         {.policy = "min_cut", .family = "revolve"},
                         {.policy = "min_bytes", .family = "revolve"},
                         {.policy = "min_cut", .family = "mixed"},
                         {.policy = "min_bytes", .family = "mixed"},
                         {.policy = "nothing_saveable", .family = "mixed"}};
    tn_ctx *c = s->t->ctx;
    found best = {.rung = tn_i_alloc_array(c, s->x->nloop, sizeof *best.rung)};
    bool ok = best.rung != NULL;
    for (size_t k = 0; ok && k < WALKS; k++) ok = find_path(s, &walks[k], &best) && go(s, &walks[k], &best);
    if (ok && s->x->feasible && best.walk && find_next(s)) {
        s->between = true;
        ok = go_between(s, &best);
        s->between = false;
    }
    for (size_t k = 0; k < WALKS; k++) {
        tn_i_free(c, walks[k].ladder, s->x->nloop * sizeof *walks[k].ladder);
        tn_i_free(c, walks[k].path, walks[k].room * sizeof *walks[k].path);
    }
    tn_i_free(c, best.rung, s->x->nloop * sizeof *best.rung);
    return ok;
}
