/* A solve: starts, what NLopt's answer means. */
#include "solver.h"

#include <math.h>
#include <string.h>

/* ---- starts --------------------------------------------------------------------- */

static tn_status refused(tn_nlopt *s, const tn_nlopt_start *start) {
    if (start->size != sizeof *start) return tn_nlopt_i_fail(s, TN_EINVAL, "the start's size is not set");
    for (int64_t i = 0; start->x && i < s->n; i++)
        if (!isfinite(start->x[i]) || start->x[i] < s->low[i] || start->x[i] > s->high[i])
            return tn_nlopt_i_fail(s, TN_EINVAL, "variable %lld begins at %g, with bounds of %g and %g", (long long)i,
                                   start->x[i], s->low[i], s->high[i]);
    if (s->parameters && !start->p)
        return tn_nlopt_i_fail(s, TN_EINVAL, "there are %zu parameters, and the start has none", s->parameters);
    char why[512];
    if (tn_take_arguments(s->parameters, s->type, start->p, s->given, why, sizeof why))
        return tn_nlopt_i_fail(s, TN_EINVAL, "parameters: %s", why);
    for (size_t i = 0; i < s->parameters; i++)
        if (!s->given[i]) return tn_nlopt_i_fail(s, TN_EINVAL, "parameter %zu is NULL", i);
    return TN_OK;
}

/* x may be that of the last result. */
static void begin(tn_nlopt *s, const tn_nlopt_start *start) {
    for (int64_t i = 0; i < s->n; i++) s->best[i] = start->x ? start->x[i] : fmin(fmax(0, s->low[i]), s->high[i]);
    for (int i = 0; i < DERIVED_COUNT; i++) {
        derived *d = &s->d[i];
        d->state = STALE;
        d->runs = 0;
        for (size_t k = 0; d->in && k < s->parameters; k++) d->in[s->variables + k] = s->given[k];
    }
    s->point = false;
    s->failed = TN_OK;
    s->why[0] = 0;
    s->evaluations = 0;
    s->objective = NAN;
    s->status = TN_OK;
    s->message[0] = 0;
    (void)nlopt_set_force_stop(s->opt, 0);
}

/* ---- the end ---------------------------------------------------------------------- */

static void at_the_end(tn_nlopt *s, int which, double *out, int64_t m) {
    const bool known = m && tn_nlopt_i_value(s, which);
    for (int64_t i = 0; i < m; i++) {
        out[i] = known ? s->d[which].value[i] : NAN;
        const double off = which == DERIVED_H ? fabs(out[i]) : out[i];
        if (!(off <= s->infeasibility) && !isnan(s->infeasibility)) s->infeasibility = off;
    }
}

/* A cancelled solve ends somewhere, too. */
static void end(tn_nlopt *s) {
    const tn_status failed = s->failed;
    if (failed == TN_ECANCELLED) s->failed = TN_OK;
    tn_nlopt_i_go_to(s, s->best);
    s->infeasibility = 0;
    at_the_end(s, DERIVED_G, s->g, s->inequalities);
    at_the_end(s, DERIVED_H, s->h, s->equations);
    if (failed) s->failed = failed;
}

typedef struct answer {
    int code;
    tn_status status;
    const char *name, *sentence;
} answer;

static const answer answers[] = {
    {NLOPT_SUCCESS, TN_OK, "SUCCESS", ""},
    {NLOPT_STOPVAL_REACHED, TN_OK, "STOPVAL_REACHED", ""},
    {NLOPT_FTOL_REACHED, TN_OK, "FTOL_REACHED", ""},
    {NLOPT_XTOL_REACHED, TN_OK, "XTOL_REACHED", ""},
    {NLOPT_MAXEVAL_REACHED, TN_ELIMIT, "MAXEVAL_REACHED", "the evaluations are used up"},
    {NLOPT_MAXTIME_REACHED, TN_ELIMIT, "MAXTIME_REACHED", "the time is used up"},
    {NLOPT_FAILURE, TN_ELIMIT, "FAILURE", "it gives up"},
    {NLOPT_INVALID_ARGS, TN_EINVAL, "INVALID_ARGS", "it refuses the problem"},
    {NLOPT_OUT_OF_MEMORY, TN_ENOMEM, "OUT_OF_MEMORY", "out of memory"},
    {NLOPT_ROUNDOFF_LIMITED, TN_ELIMIT, "ROUNDOFF_LIMITED", "round-off limits progress"},
    {NLOPT_FORCED_STOP, TN_ECANCELLED, "FORCED_STOP", "stopped by the caller"},
};

static const answer *meaning(int code) {
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++)
        if (answers[i].code == code) return &answers[i];
    static const answer unknown = {0, TN_ELIMIT, "unknown", "it says something new"};
    return &unknown;
}

/* What a global algorithm is given it uses up. */
static bool used_up(const tn_nlopt *s, int code) {
    return s->global && (code == NLOPT_MAXEVAL_REACHED || code == NLOPT_MAXTIME_REACHED);
}

static tn_status feasible(tn_nlopt *s, const answer *a) {
    if (s->infeasibility <= s->options.constraint_tol) return TN_OK;
    int64_t i = 0;
    while (i < s->inequalities && s->g[i] < s->infeasibility) i++;
    const bool equation = i == s->inequalities;
    for (i = equation ? 0 : i; equation && i < s->equations && fabs(s->h[i]) < s->infeasibility;) i++;
    return tn_nlopt_i_fail(s, TN_ELIMIT, "NLopt: ended (%s, after %lld evaluations) where row %lld of %s is %g",
                           a->name, (long long)s->evaluations, (long long)i, equation ? "h" : "g",
                           equation ? s->h[i] : s->g[i]);
}

static tn_status verdict(tn_nlopt *s, const answer *a) {
    if (s->failed && s->failed != TN_ECANCELLED) return tn_nlopt_i_fail(s, s->failed, "%s", s->why);
    const tn_status status = s->failed ? s->failed : used_up(s, a->code) ? TN_OK : a->status;
    if (status == TN_OK) return feasible(s, a);
    const char *why = a->code == NLOPT_FORCED_STOP ? NULL : nlopt_get_errmsg(s->opt);
    return tn_nlopt_i_fail(s, status, "NLopt: %s (%s, after %lld evaluations)%s%s",
                           s->failed ? "stopped by the caller" : a->sentence, a->name, (long long)s->evaluations,
                           why ? ": " : "", why ? why : "");
}

static void report(const tn_nlopt *s, int code, tn_nlopt_result *out) {
    if (!out) return;
    *out = (tn_nlopt_result){
        .size = sizeof *out,
        .objective = s->objective,
        .x = s->best,
        .g = s->g,
        .h = s->h,
        .infeasibility = s->infeasibility,
        .code = code,
        .text = meaning(code)->name,
        .evaluations = s->evaluations,
        .f_runs = s->d[DERIVED_F].runs,
        .gradient_runs = s->d[DERIVED_GRADIENT].runs,
        .g_runs = s->d[DERIVED_G].runs,
        .g_jacobian_runs = s->d[DERIVED_G_JACOBIAN].runs,
        .h_runs = s->d[DERIVED_H].runs,
        .h_jacobian_runs = s->d[DERIVED_H_JACOBIAN].runs,
    };
}

tn_status tn_nlopt_solve(tn_nlopt *s, const tn_nlopt_start *start, tn_nlopt_result *out) {
    const tn_nlopt_start nothing = {.size = sizeof nothing};
    if (!s) return TN_ENOMEM;
    if (s->refused) return s->status;
    if (out && out->size != sizeof *out) return tn_nlopt_i_fail(s, TN_EINVAL, "the result's size is not set");
    if (!start) start = &nothing;
    if (refused(s, start)) return s->status;
    begin(s, start);
    const int code = (int)nlopt_optimize(s->opt, s->best, &s->objective);
    end(s);
    report(s, code, out);
    return verdict(s, meaning(code));
}
