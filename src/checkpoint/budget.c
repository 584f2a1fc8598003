/* Which plans a memory budget tries, and which of them it takes. */
#include "checkpoint/budget.h"

#include "checkpoint/candidates.h"
#include "checkpoint/trials.h"
#include "checkpoint/policies.h"
#include "checkpoint/search.h"
#include "prims/prim.h"

#include <math.h>
#include <string.h>

bool tn_i_is_budget(const char *text) {
    const size_t n = strlen(TN_I_BUDGET);
    return strncmp(text, TN_I_BUDGET, n) == 0 && (text[n] == 0 || text[n] == ':');
}

bool tn_i_budget_bytes(const char *text, size_t *bytes) {
    const char *at = strchr(text, ':');
    *bytes = 0;
    if (!at || !at[1]) return false;
    for (at++; *at; at++) {
        if (*at < '0' || *at > '9') return false;
        if (!tn_i_mul(*bytes, 10, bytes) || !tn_i_add(*bytes, (size_t)(*at - '0'), bytes)) return false;
    }
    return true;
}

/* ---- what a plan saved --------------------------------------------------------------------- */

typedef struct tn_i_saved {
    uint8_t *save;
    uint32_t n;
} saved;

static void clear(tn_ctx *c, tn_i_saves *s) {
    for (size_t i = 0; i < s->n; i++) tn_i_free(c, s->of[i].save, s->of[i].n);
    s->n = 0;
}

static void saves_free(tn_ctx *c, tn_i_saves *s) {
    clear(c, s);
    tn_i_free(c, s->of, s->capacity * sizeof *s->of);
    *s = (tn_i_saves){0};
}

static bool append(tn_ctx *c, tn_i_saves *s, const uint8_t *save, uint32_t n) {
    if (!tn_i_grow(c, (void **)&s->of, &s->capacity, s->n + 1, sizeof *s->of)) return false;
    uint8_t *copy = tn_i_alloc(c, n);
    if (!copy) return false;
    memcpy(copy, save, n);
    s->of[s->n++] = (saved){copy, n};
    return true;
}

/* ---- trials ----------------------------------------------------------------------------------- */

/* A save set and what came of it. */
typedef struct tn_i_tried {
    uint8_t *save;
    uint32_t n;
    tn_i_trial trial;
} tried;

/* Many candidates choose the same set, which need not be planned again. */
static bool recalls(tn_i_search *s, const tn_i_boundary *q, const uint8_t *save) {
    for (size_t i = 0; s->recall && q->f->depth == 1 && i < s->ntried; i++)
        if (s->tried[i].n == q->f->nval && memcmp(s->tried[i].save, save, q->f->nval) == 0) s->same = &s->tried[i];
    return s->same != NULL;
}

/* Whatever is tried: a budget is weighed by each rank for itself. */
static void keep_spoken(const tn_i_boundary *q, uint8_t *save) {
    for (uint32_t i = 0; i < q->f->neqn && q->f->comm; i++) {
        const tn_i_eqn *e = &q->f->eqn[i];
        for (uint32_t j = 0; j < e->nout && tn_i_speaks(e); j++)
            if (q->known[e->out + j] && !save[e->out + j]) save[e->out + j] = TN_SAVE;
    }
}

static bool note(const tn_i_plan_by *how, const tn_i_boundary *q, uint8_t *save) {
    tn_i_search *s = how->user;
    if (!s->inner.plan(&s->inner, q, save)) return false;
    keep_spoken(q, save);
    return append(s->t->ctx, &s->saves, save, q->f->nval) && !recalls(s, q, save);
}

static bool keep_tried(tn_i_search *s) {
    if (!s->recall || s->same || s->saves.n != 1) return true;
    if (!tn_i_grow(s->t->ctx, (void **)&s->tried, &s->ctried, s->ntried + 1, sizeof *s->tried)) return false;
    const saved *x = &s->saves.of[0];
    uint8_t *copy = tn_i_alloc(s->t->ctx, x->n);
    if (!copy) return false;
    memcpy(copy, x->save, x->n);
    s->tried[s->ntried++] = (tried){copy, x->n, s->last};
    return true;
}

static void tried_free(tn_i_search *s) {
    for (size_t i = 0; i < s->ntried; i++) tn_i_free(s->t->ctx, s->tried[i].save, s->tried[i].n);
    tn_i_free(s->t->ctx, s->tried, s->ctried * sizeof *s->tried);
}

void tn_i_reschedule(tn_i_search *s) { s->untold = true; }

bool tn_i_tell(tn_i_search *s) {
    if (s->untold && !s->t->schedule(s->t->user, s->now)) return false;
    s->untold = false;
    return true;
}

static bool try_once(tn_i_search *s, const tn_i_plan_by *how) {
    s->same = NULL;
    if (!tn_i_tell(s)) return false;
    if (!s->t->attempt(s->t->user, how, &s->last)) {
        if (!s->same) return false;
        s->last = s->same->trial;
    }
    return keep_tried(s);
}

bool tn_i_better(const tn_i_trial *a, const tn_i_trial *b) {
    return a->work != b->work ? a->work < b->work : a->peak < b->peak;
}

/* Between the trials of every budget peaks may only grow, and time not fall below what a higher budget has. */
static bool takes(const tn_i_search *s) {
    const tn_i_budget *x = s->x;
    if (s->last.peak > s->bytes || (x->feasible && !tn_i_better(&s->last, &x->chosen))) return false;
    return !s->between || (s->last.peak >= x->chosen.peak && !tn_i_better(&s->last, &s->next));
}

static void take(tn_i_search *s) {
    tn_i_budget *x = s->x;
    const tn_i_saves worse = x->plan;
    x->feasible = true;
    x->chosen = s->last;
    x->plan = s->saves;
    s->saves = worse;
    if (x->nloop) memcpy((void *)x->schedule, (const void *)s->now, x->nloop * sizeof *x->schedule);
}

static bool remember(tn_i_search *s) {
    if (!s->x->nloop || s->between) return true;
    if (!tn_i_grow(s->t->ctx, (void **)&s->seen, &s->cseen, s->nseen + 1, sizeof *s->seen)) return false;
    s->seen[s->nseen++] = s->last;
    return true;
}

/* What came of a trial, which is the search's `last`. */
static bool account(tn_i_search *s) {
    tn_i_budget *x = s->x;
    if (!remember(s)) return false;
    if (x->trials++ == 0) x->full = s->last;
    if (s->last.peak < x->least && !s->between) x->least = s->last.peak;
    if ((s->took = takes(s))) take(s);
    return true;
}

bool tn_i_attempt(tn_i_search *s, const tn_i_plan_by *inner) {
    const tn_i_plan_by how = {.name = inner->name, .plan = note, .user = s};
    s->inner = *inner;
    s->took = false;
    clear(s->t->ctx, &s->saves);
    return try_once(s, &how) && account(s);
}

/* What was tried before is made again only if it is the best so far, for what it saves. */
bool tn_i_attempt_named(tn_i_search *s, const char *name) {
    tn_i_trials *before = s->x->nloop ? s->t->known : NULL;
    const bool known = before && tn_i_trials_find(before, name, s->now, &s->last);
    tn_i_plan_by how;
    if (known && !takes(s)) return account(s);
    if (!tn_i_plan_of_text(s->t->ctx, name, &how) || !tn_i_attempt(s, &how)) return false;
    return known || !before || tn_i_trials_add(before, name, s->now, &s->last);
}

/* ---- small programs: every save set -------------------------------------------------------------- */

/* *deep when there are too many values to decide on: nothing is known then. */
static bool try_paths(tn_i_search *s, bool *deep) {
    tn_i_path path = {0};
    const tn_i_plan_by how = {.name = TN_I_BUDGET, .plan = tn_i_plan_path, .user = &path};
    *deep = false;
    do {
        if (tn_i_attempt(s, &how)) continue;
        *deep = path.deep;
        return path.deep;
    } while (tn_i_path_next(&path));
    return true;
}

/* ---- large programs: candidates -------------------------------------------------------------------- */

static bool try_policies(tn_i_search *s) {
    static const char *const names[] = {"nothing_saveable", "dots_saveable", "dots_with_no_batch_dims_saveable",
                                        "min_cut",          "min_bytes",     "balanced"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!tn_i_attempt_named(s, names[i])) return false;
    return true;
}

static bool try_prices(tn_i_search *s, tn_i_multiplier *p) {
    const tn_i_plan_by how = {.name = TN_I_BUDGET, .plan = tn_i_plan_multiplier, .user = p};
    return tn_i_attempt(s, &how);
}

enum { PRICES = 24, PARTS = 8 };

/* The least work at each price; of all prices that tell anything the lines between two known corners of the
 * convex hull of (bytes, done again) come first to last. */
typedef struct hull {
    tn_i_multiplier at[PRICES];
    uint32_t n;
    double least_lambda; /* the price whose plan has the least peak */
    size_t least;
} hull;

static bool try_price(tn_i_search *s, hull *h, double lambda, uint32_t *index) {
    tn_i_multiplier *p = &h->at[h->n];
    *p = (tn_i_multiplier){.lambda = lambda, .budget = s->bytes};
    if (h->n == 0 && !s->x->nloop) p->residents = s->t->residents; /* no price bounds what schedules do */
    if (!try_prices(s, p)) return false;
    if (h->n == 0 || s->last.peak < h->least) {
        h->least = s->last.peak;
        h->least_lambda = lambda;
    }
    *index = h->n++;
    return true;
}

static bool try_hull(tn_i_search *s, hull *h) {
    uint32_t side[2 * PRICES + 1][2], tail = 0, index;
    if (!try_price(s, h, 0, &side[0][0]) || !try_price(s, h, TN_I_DEAREST, &side[0][1])) return false;
    tail = 1;
    for (uint32_t i = 0; i < tail && h->n < PRICES; i++) {
        const uint32_t cheap = side[i][0], dear = side[i][1];
        const tn_i_multiplier *a = &h->at[cheap], *b = &h->at[dear];
        if (!(b->again > a->again) || !(a->bytes > b->bytes)) continue;
        const double lambda = (b->again - a->again) / (a->bytes - b->bytes);
        if (!try_price(s, h, lambda, &index)) return false;
        const tn_i_multiplier *m = &h->at[index];
        if (m->again + lambda * m->bytes >= (a->again + lambda * a->bytes) * (1 - 1e-9)) continue;
        memcpy(side[tail++], (uint32_t[2]){cheap, index}, sizeof *side);
        memcpy(side[tail++], (uint32_t[2]){index, dear}, sizeof *side);
    }
    return true;
}

/* Corners of a hull are few where all values are alike (a chain of layers): between them, and below, are plans
 * that save one of several. */
static bool try_parts(tn_i_search *s, const hull *h) {
    static const uint32_t part[2][PARTS] = {{2, 3, 4, 6, 8, 12, 16, 32}, {2, 4, 6, 8, 16, 32, 64, 128}};
    const double from[2] = {TN_I_DEAREST, h->least_lambda};
    for (int k = 0; k < (h->least_lambda == TN_I_DEAREST ? 1 : 2); k++)
        for (uint32_t i = 0; i < 2 * PARTS; i++) {
            tn_i_multiplier p = {.lambda = from[k], .part = part[i % 2][i / 2], .evenly = i % 2 == 1};
            if (!try_prices(s, &p)) return false;
        }
    return true;
}

static bool try_candidates(tn_i_search *s) {
    hull h = {.n = 0};
    s->recall = s->x->nloop == 0;
    if (!try_policies(s) || !try_hull(s, &h) || !try_parts(s, &h)) return false;
    if (s->x->nloop) return tn_i_try_rungs(s);
    s->x->bound = h.at[0].bound;
    return true;
}

/* ---- the choice ------------------------------------------------------------------------------------- */

/* Every save set under every schedule; *deep where that is too much. */
static bool try_all(tn_i_search *s, bool *deep) {
    const uint32_t before = s->x->trials;
    *deep = false;
    if (!try_paths(s, deep)) return false;
    if (*deep || !s->x->nloop) return true;
    const size_t most = TN_I_EXACT_PLANS / (s->x->trials - before), n = tn_i_count_schedules(s, most);
    *deep = n > most;
    for (size_t k = 1; k < n && !*deep; k++)
        if (!tn_i_nth_schedules(s, k) || !try_paths(s, deep)) return false;
    return tn_i_fastest_schedules(s);
}

static bool begin(tn_i_search *s) {
    const tn_i_trier *t = s->t;
    if (!t->loops.n) return true;
    s->now = tn_i_alloc_array(t->ctx, t->loops.n, sizeof *s->now);
    s->x->schedule = tn_i_alloc_array(t->ctx, t->loops.n, sizeof *s->x->schedule);
    s->x->nloop = t->loops.n;
    return s->now && s->x->schedule && tn_i_fastest_schedules(s);
}

bool tn_i_budget_find(const tn_i_trier *t, size_t bytes, tn_i_budget *out) {
    *out = (tn_i_budget){.ctx = t->ctx, .least = SIZE_MAX};
    tn_i_search s = {.t = t, .bytes = bytes, .x = out};
    bool deep = t->large,
         ok = begin(&s) && tn_i_attempt_named(&s, "everything_saveable") && (deep || try_all(&s, &deep));
    if (ok && deep) ok = try_candidates(&s);
    out->exact = !deep;
    if (ok && out->feasible && out->exact) out->bound = fmax(0, out->chosen.work - out->full.work);
    saves_free(t->ctx, &s.saves);
    tried_free(&s);
    tn_i_free(t->ctx, (void *)s.now, t->loops.n * sizeof *s.now);
    tn_i_free(t->ctx, s.seen, s.cseen * sizeof *s.seen);
    if (!ok) tn_i_budget_free(out);
    return ok;
}

/* ---- the chosen plan ---------------------------------------------------------------------------------- */

static bool as_chosen(const tn_i_plan_by *how, const tn_i_boundary *q, uint8_t *save) {
    tn_i_budget *x = how->user;
    if (x->next >= x->plan.n || x->plan.of[x->next].n != q->f->nval) {
        (void)tn_i_fail(x->ctx, TN_EINVAL, NULL, "%s: this is another program than the one that was planned",
                        TN_I_BUDGET);
        return false;
    }
    memcpy(save, x->plan.of[x->next++].save, q->f->nval);
    return true;
}

tn_i_plan_by tn_i_budget_plan(tn_i_budget *x) {
    x->next = 0;
    return (tn_i_plan_by){.name = TN_I_BUDGET, .plan = as_chosen, .user = x};
}

void tn_i_budget_free(tn_i_budget *x) {
    if (x->ctx) {
        saves_free(x->ctx, &x->plan);
        tn_i_free(x->ctx, (void *)x->schedule, x->nloop * sizeof *x->schedule);
    }
    x->ctx = NULL;
}
