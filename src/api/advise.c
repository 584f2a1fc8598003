/* tn_advise: what reverse mode would take under other policies, schedules and adjoints.  Each way is made and measured
 * as a memory budget measures its plans (api/choose.h); here they are listed, ordered and told. */
#include "api/choose.h"
#include "control/loops/reschedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 64, MOST_SLOTS = 999, BISECTIONS = 12 };

typedef struct adviser {
    const tn_fn *f;
    tn_ctx *ctx;
    const tn_wrt_list *wrt;
    tn_advise_options opt;
    tn_i_auto_loops_of loops; /* of f */
    const char **text;        /* of each, where schedules are tried */
    tn_advice *row;
    size_t n, room;
    tn_status first; /* of the first way that cannot be had */
    char message[sizeof((tn_ctx){0}.message)];
} adviser;

static const char *intern(tn_ctx *c, const char *text) { return tn_i_string(c, text, strlen(text)); }

/* ---- what a way is called ------------------------------------------------------------------- */

static const char *shown(const char *schedule) { return schedule ? schedule : "none"; }

/* One text that all loops have, or all of them; NULL after an error. */
static const char *schedules_of(tn_ctx *c, const tn_i_auto_loops_of *l) {
    size_t bytes = 1, at = 0;
    bool same = true;
    for (size_t i = 0; i < l->n; i++) {
        bytes += strlen(shown(l->loop[i].schedule)) + 1;
        same &= strcmp(shown(l->loop[i].schedule), shown(l->loop[0].schedule)) == 0;
    }
    if (l->n == 0 || same) return l->n ? intern(c, shown(l->loop[0].schedule)) : "";
    char *text = tn_i_alloc(c, bytes);
    for (size_t i = 0; text && i < l->n; i++) {
        const char *one = shown(l->loop[i].schedule);
        if (i) text[at++] = ' ';
        memcpy(text + at, one, strlen(one));
        at += strlen(one);
    }
    const char *all = text ? tn_i_string(c, text, at) : NULL;
    tn_i_free(c, text, bytes);
    return all;
}

/* What a solve in a loop with this schedule is called; "": nothing.  NULL after an error. */
static const char *adjoint_of(tn_ctx *c, const char *schedules) {
    char text[TEXT];
    const char *colon = strchr(schedules, ':');
    if (strchr(schedules, ' ')) return "";
    if (strcmp(schedules, "all_save") == 0) return "AllSave";
    if (strcmp(schedules, "none") == 0) return "Direct";
    if (!colon || (strncmp(schedules, "revolve", 7) != 0 && strncmp(schedules, "online", 6) != 0)) return "";
    (void)snprintf(text, sizeof text, "RecursiveCheckpoint%.32s", colon);
    return intern(c, text);
}

/* ---- one way ---------------------------------------------------------------------------------- */

/* Steps as schedules count them. */
static bool count_steps(const adviser *a, const tn_i_auto_loops_of *l, tn_advice *row) {
    for (size_t i = 0; i < l->n; i++) {
        const bool unknown = l->loop[i].steps < 0;
        const int64_t steps = unknown ? a->opt.steps : l->loop[i].steps;
        const tn_schedule_options o = {.size = sizeof o, .unknown = unknown};
        tn_schedule_counts k = {.size = sizeof k, .recorded = steps};
        if (!l->loop[i].outermost) continue;
        if (l->loop[i].schedule && tn_schedule_cost(a->ctx, l->loop[i].schedule, steps, &o, &k) != TN_OK) return false;
        row->advances += (double)k.advances;
        row->recorded += (double)k.recorded;
    }
    return true;
}

/* What g takes under the policy; with a budget, h is g with the schedules that it chose. */
static bool measure(const adviser *a, const tn_fn *g, const char *policy, tn_i_trial *t, const tn_fn **h) {
    const tn_policy named = {.size = sizeof named, .name = policy};
    tn_i_wrt w;
    tn_i_choice x;
    *h = NULL;
    if (!tn_i_wrt_init(&w, "advise", g, a->wrt)) return false;
    bool ok = tn_i_choose(g, &w, &named, &x);
    if (ok) {
        tn_fn *jvp = tn_i_budgets(&named) ? NULL : tn_i_jvp_for_split(x.f, w.n, w.index);
        if (tn_i_budgets(&named)) {
            *t = x.budget.chosen;
            *h = x.budget.nloop ? tn_i_rescheduled(g, x.budget.schedule) : tn_i_fn_ref(g);
            ok = *h != NULL;
        } else {
            ok = jvp && tn_i_measure_reverse(x.f, jvp, &x.how, t);
        }
        tn_i_fn_unref(jvp);
        tn_i_choice_free(&x);
    }
    tn_i_wrt_free(&w);
    return ok;
}

static bool describe(const adviser *a, const tn_fn *g, const tn_i_trial *t, tn_advice *row) {
    tn_i_auto_loops_of l;
    if (!tn_i_all_loops(g, &l)) return false;
    const char *schedules = schedules_of(a->ctx, &l);
    const bool ok = schedules && count_steps(a, &l, row);
    tn_i_auto_loops_free(a->ctx, &l);
    if (!ok) return false;
    row->schedules = schedules;
    if (!row->adjoint) row->adjoint = schedules[0] ? adjoint_of(a->ctx, schedules) : "";
    row->bytes_per_step = (double)t->per_step;
    row->bytes = (double)t->peak + row->bytes_per_step * (double)a->opt.steps;
    row->spill_bytes = (double)t->spill;
    row->ns = t->work;
    row->fits = a->opt.bytes == 0 || row->bytes <= (double)a->opt.bytes;
    return row->adjoint != NULL;
}

static bool out_of_memory(const tn_ctx *c) { return c->status == TN_ENOMEM; }

/* A way that cannot be had is told; false where nothing more can be. */
static bool cannot(adviser *a, tn_advice *row) {
    if (out_of_memory(a->ctx)) return false;
    if (a->first == TN_OK) {
        a->first = a->ctx->status;
        memcpy(a->message, a->ctx->message, sizeof a->message);
    }
    *row = (tn_advice){.size = sizeof *row,
                       .policy = row->policy,
                       .schedules = row->schedules,
                       .adjoint = row->adjoint ? row->adjoint : "",
                       .error = intern(a->ctx, a->ctx->message)};
    tn_error_clear(a->ctx);
    return row->error != NULL;
}

/* Adds a row.  g NULL: the program could not be made. */
static bool try_program(adviser *a, const tn_fn *g, const char *policy, const char *adjoint) {
    tn_advice row = {
        .size = sizeof row, .policy = intern(a->ctx, policy), .schedules = "", .adjoint = adjoint, .error = ""};
    tn_i_trial t;
    const tn_fn *h = NULL;
    if (!row.policy || !tn_i_grow(a->ctx, (void **)(void *)&a->row, &a->room, a->n + 1, sizeof *a->row)) return false;
    const bool ok = g && measure(a, g, policy, &t, &h) && describe(a, h ? h : g, &t, &row);
    tn_i_fn_unref(h);
    if (!ok && !cannot(a, &row)) return false;
    a->row[a->n++] = row;
    return true;
}

/* ---- schedules ---------------------------------------------------------------------------------------- */

/* The same for all loops, as far as their lengths let them: known and unknown.  slots 0: without an argument. */
static bool set_schedules(adviser *a, const char *known, const char *unknown, int64_t slots) {
    char text[TEXT];
    for (size_t i = 0; i < a->loops.n; i++) {
        const int64_t steps = a->loops.loop[i].steps, most = steps > 1 ? steps - 1 : 1;
        const char *family = steps < 0 ? unknown : known;
        const int64_t n = steps < 0 || slots < most ? slots : most;
        if (slots == 0)
            (void)snprintf(text, sizeof text, "%s", family);
        else if (strcmp(family, "disk_revolve") == 0)
            (void)snprintf(text, sizeof text, "%s:%lld,%lld", family, (long long)n, (long long)a->opt.disk);
        else
            (void)snprintf(text, sizeof text, "%s:%lld", family, (long long)n);
        if (!(a->text[i] = intern(a->ctx, text))) return false;
    }
    return true;
}

static bool try_schedules(adviser *a, const char *policy, const char *known, const char *unknown, int64_t slots) {
    if (!set_schedules(a, known, unknown, slots)) return false;
    tn_fn *g = tn_i_all_rescheduled(a->f, a->text);
    const bool ok = try_program(a, g, policy, NULL);
    tn_i_fn_unref(g);
    return ok;
}

/* As many slots as any loop can use. */
static int64_t most_slots(const adviser *a) {
    int64_t most = 1;
    for (size_t i = 0; i < a->loops.n; i++) {
        const int64_t steps = a->loops.loop[i].steps, n = steps < 0 ? MOST_SLOTS : steps - 1;
        if (n > most) most = n;
    }
    return most;
}

static int64_t fewer(int64_t slots) { return slots <= 4 ? slots - 1 : slots / 2; }

/* Slots from many to one; where those of a rung fit and those above do not, some between them. */
static bool try_slots(adviser *a, const char *policy, const char *family, bool between) {
    int64_t above = 0, below = 0;
    for (int64_t n = most_slots(a); n > 0; n = fewer(n)) {
        if (!try_schedules(a, policy, family, "online", n)) return false;
        const tn_advice *last = &a->row[a->n - 1];
        if (last->error[0]) continue;
        if (last->fits && above && !below) below = n;
        if (!last->fits) above = n;
    }
    for (int k = 0; between && below && k < BISECTIONS && above - below > 1; k++) {
        const int64_t n = below + (above - below) / 2;
        if (!try_schedules(a, policy, family, "online", n)) return false;
        if (a->row[a->n - 1].fits)
            below = n;
        else
            above = n;
    }
    return true;
}

static bool any_known(const adviser *a) {
    for (size_t i = 0; i < a->loops.n; i++)
        if (a->loops.loop[i].steps >= 0) return true;
    return false;
}

static bool try_loops(adviser *a) {
    static const char *const policy[] = {"min_cut", "everything_saveable", "nothing_saveable"};
    if (a->loops.n == 0) return true;
    for (size_t k = 0; k < sizeof policy / sizeof *policy; k++)
        if (!try_schedules(a, policy[k], "all_save", "all_save", 0) || !try_slots(a, policy[k], "revolve", k == 0) ||
            !try_schedules(a, policy[k], "nothing", "nothing", 0))
            return false;
    if (any_known(a) && !try_slots(a, policy[0], "mixed", true)) return false;
    return !any_known(a) || a->opt.disk == 0 || try_slots(a, policy[0], "disk_revolve", true);
}

/* ---- policies and adjoints -------------------------------------------------------------------------------- */

static bool try_policies(adviser *a) {
    const tn_policy *p;
    char budget[TEXT];
    bool arguments;
    for (size_t i = 0; (p = tn_policy_at(i, &arguments)) != NULL; i++)
        if (!arguments && !try_program(a, a->f, p->name, NULL)) return false;
    (void)snprintf(budget, sizeof budget, "memory_budget:%zu", a->opt.bytes);
    return a->opt.bytes == 0 || try_program(a, a->f, budget, NULL);
}

static bool try_adjoints(adviser *a) {
    static const char *const adjoint[] = {"Direct",
                                          "AllSave",
                                          "RecursiveCheckpoint:300",
                                          "RecursiveCheckpoint:100",
                                          "RecursiveCheckpoint:30",
                                          "RecursiveCheckpoint:10",
                                          "RecursiveCheckpoint:3",
                                          "RecursiveCheckpoint:1",
                                          "Backsolve"};
    for (size_t k = 0; a->opt.solve && k < sizeof adjoint / sizeof *adjoint; k++) {
        tn_fn *g = a->opt.solve(a->opt.user, adjoint[k]);
        if (g && g->ctx != a->ctx)
            return tn_i_fail(a->ctx, TN_EINVAL, NULL, "tn_advise: `solve` has made a program in another context") ==
                   TN_OK;
        const bool ok = try_program(a, g, "min_cut", adjoint[k]);
        tn_fn_free(g);
        if (!ok) return false;
    }
    return true;
}

/* ---- telling ------------------------------------------------------------------------------------------------ */

static int compare(double x, double y) { return (x > y) - (x < y); }

/* Ways that fit, others, those that cannot be had; of each the fastest first, of equals that of fewest bytes. */
static int by_merit(const void *p, const void *q) {
    const tn_advice *a = p, *b = q;
    const int x = a->error[0] ? 2 : !a->fits, y = b->error[0] ? 2 : !b->fits;
    if (x != y) return x - y;
    if (a->ns != b->ns) return compare(a->ns, b->ns);
    if (a->bytes != b->bytes) return compare(a->bytes, b->bytes);
    const int policy = strcmp(a->policy, b->policy);
    return policy ? policy : strcmp(a->schedules, b->schedules);
}

static tn_status tell(const adviser *a, tn_advice_fn fn, void *user) {
    bool any = false;
    for (size_t i = 0; i < a->n; i++) any |= !a->row[i].error[0];
    if (!any) return tn_i_fail(a->ctx, a->first, NULL, "%s", a->message);
    qsort(a->row, a->n, sizeof *a->row, by_merit);
    a->row[0].best = a->row[0].fits;
    for (size_t i = 0; i < a->n; i++) fn(user, &a->row[i]);
    return TN_OK;
}

static bool begin(adviser *a) {
    if (!tn_i_all_loops(a->f, &a->loops)) return false;
    return a->loops.n == 0 || (a->text = tn_i_alloc_array(a->ctx, a->loops.n, sizeof *a->text));
}

static tn_status advise(adviser *a, tn_advice_fn fn, void *user) {
    const bool ok = begin(a) && try_policies(a) && try_loops(a) && try_adjoints(a);
    const tn_status status = ok ? tell(a, fn, user) : a->ctx->status;
    tn_i_free(a->ctx, (void *)a->text, a->loops.n * sizeof *a->text);
    tn_i_auto_loops_free(a->ctx, &a->loops);
    tn_i_free(a->ctx, a->row, a->room * sizeof *a->row);
    return status;
}

tn_status tn_advise(const tn_fn *f, const tn_wrt_list *wrt, const tn_advise_options *opt, tn_advice_fn fn, void *user) {
    if (!tn_i_living(f)) return TN_EINVAL;
    adviser a = {.f = f, .ctx = f->ctx, .wrt = wrt, .opt = {.size = sizeof a.opt}};
    tn_i_wrt w;
    if (!fn) return tn_i_fail(f->ctx, TN_EINVAL, NULL, "tn_advise: no function to tell");
    if (!tn_i_options(f->ctx, "tn_advise_options", opt, &a.opt, sizeof a.opt)) return f->ctx->status;
    if (a.opt.steps < 0 || a.opt.disk < 0)
        return tn_i_fail(f->ctx, TN_EINVAL, NULL, "tn_advise: %s is negative", a.opt.steps < 0 ? "steps" : "disk");
    if (a.opt.steps == 0) a.opt.steps = 1000;
    if (!tn_i_wrt_init(&w, "advise", f, wrt)) return f->ctx->status;
    tn_i_wrt_free(&w);
    return advise(&a, fn, user);
}
