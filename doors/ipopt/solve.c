/* A solve: starts, warm starts, what Ipopt's answer means. */
#include "solver.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- options ------------------------------------------------------------------- */

/* Ipopt's arguments are not const, though it writes nothing there. */
static bool text(tn_ipopt *s, const char *name, const char *value) {
    char n[64], v[64];
    (void)snprintf(n, sizeof n, "%s", name);
    (void)snprintf(v, sizeof v, "%s", value);
    return AddIpoptStrOption(s->problem, n, v);
}

static bool number(tn_ipopt *s, const char *name, double value) {
    char n[64];
    (void)snprintf(n, sizeof n, "%s", name);
    return AddIpoptNumOption(s->problem, n, value);
}

static bool whole(tn_ipopt *s, const char *name, int value) {
    char n[64];
    (void)snprintf(n, sizeof n, "%s", name);
    return AddIpoptIntOption(s->problem, n, value);
}

tn_status tn_ipopt_i_options(tn_ipopt *s) {
    const tn_ipopt_options *o = &s->options;
    /* Without a name Ipopt would read ipopt.opt where the process happens to be. */
    bool ok = text(s, "option_file_name", "") && whole(s, "print_level", o->print_level);
    if (o->print_level == 0) ok = ok && text(s, "sb", "yes");
    if (o->tol > 0) ok = ok && number(s, "tol", o->tol);
    if (o->max_iter) ok = ok && whole(s, "max_iter", o->max_iter < 0 ? 0 : o->max_iter);
    if (o->limited_memory) ok = ok && text(s, "hessian_approximation", "limited-memory");
    return ok ? TN_OK : tn_ipopt_i_fail(s, TN_EINVAL, "Ipopt refuses its options");
}

/* A warm start has to stay where it is: Ipopt would push it from the bounds, and begin with a barrier of 0.1. */
static bool temperature(tn_ipopt *s, bool warm) {
    static const char *const pushes[] = {"warm_start_bound_push", "warm_start_bound_frac",
                                         "warm_start_slack_bound_push", "warm_start_slack_bound_frac",
                                         "warm_start_mult_bound_push"};
    bool ok = true;
    if (warm) {
        for (size_t i = 0; i < sizeof pushes / sizeof pushes[0]; i++) ok = ok && number(s, pushes[i], 1e-9);
        ok = ok && number(s, "mu_init", s->options.warm_start_mu > 0 ? s->options.warm_start_mu : 1e-6);
    } else if (s->warm) {
        ok = number(s, "mu_init", 0.1);
    }
    ok = ok && (warm || s->warm ? text(s, "warm_start_init_point", warm ? "yes" : "no") : true);
    s->warm = warm;
    return ok;
}

/* ---- starts --------------------------------------------------------------------- */

static bool finite(int64_t n, const double *x) {
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

/* Multipliers: 1 all, 0 none, -1 some. */
static int multipliers(const tn_ipopt *s, const tn_ipopt_start *start) {
    const bool lambda = start->lambda || s->m == 0;
    if (lambda && start->zl && start->zu) return 1;
    return start->lambda || start->zl || start->zu ? -1 : 0;
}

static tn_status refused(tn_ipopt *s, const tn_ipopt_start *start) {
    if (start->size != sizeof *start) return tn_ipopt_i_fail(s, TN_EINVAL, "the start's size is not set");
    if (start->x && !finite(s->n, start->x)) return tn_ipopt_i_fail(s, TN_EINVAL, "the start is not finite");
    if (s->parameters && !start->p)
        return tn_ipopt_i_fail(s, TN_EINVAL, "there are %zu parameters, and the start has none", s->parameters);
    char why[512];
    if (tn_take_arguments(s->parameters, s->type, start->p, s->given, why, sizeof why))
        return tn_ipopt_i_fail(s, TN_EINVAL, "parameters: %s", why);
    for (size_t i = 0; i < s->parameters; i++)
        if (!s->given[i]) return tn_ipopt_i_fail(s, TN_EINVAL, "parameter %zu is NULL", i);
    if (multipliers(s, start) < 0)
        return tn_ipopt_i_fail(s, TN_EINVAL, "a warm start has all of lambda, zl and zu, a cold one none");
    return TN_OK;
}

/* They may be those of the last result, in place. */
static void numbers(double *to, const double *from, int64_t n) {
    const size_t bytes = (size_t)n * sizeof *to;
    if (from)
        memmove(to, from, bytes);
    else
        memset(to, 0, bytes);
}

static void begin(tn_ipopt *s, const tn_ipopt_start *start) {
    numbers(s->best, start->x, s->n);
    numbers(s->multipliers, start->lambda, s->m);
    numbers(s->zl, start->zl, s->n);
    numbers(s->zu, start->zu, s->n);
    for (int i = 0; i < DERIVED_COUNT; i++) {
        derived *d = &s->d[i];
        d->state = STALE;
        d->runs = 0;
        for (size_t k = 0; d->in && k < s->parameters; k++) d->in[s->variables + k] = s->given[k];
    }
    s->point = s->cancelled = false;
    s->failed = TN_OK;
    s->why[0] = 0;
    s->iterations = 0;
    s->questions = s->not_finite = 0;
    s->objective = NAN;
    s->status = TN_OK;
    s->message[0] = 0;
}

/* ---- answers ---------------------------------------------------------------------- */

typedef struct answer {
    int code;
    tn_status status;
    const char *name, *sentence;
} answer;

static const answer answers[] = {
    {0, TN_OK, "Solve_Succeeded", ""},
    {1, TN_OK, "Solved_To_Acceptable_Level", ""},
    {6, TN_OK, "Feasible_Point_Found", ""},
    {2, TN_EINVAL, "Infeasible_Problem_Detected", "the constraints seem to contradict each other"},
    {3, TN_ELIMIT, "Search_Direction_Becomes_Too_Small", "the steps are too small to go on"},
    {4, TN_ELIMIT, "Diverging_Iterates", "the iterates diverge: the problem may have no lower bound"},
    {5, TN_ECANCELLED, "User_Requested_Stop", "stopped by the caller"},
    {-1, TN_ELIMIT, "Maximum_Iterations_Exceeded", "the iterations are used up"},
    {-2, TN_ELIMIT, "Restoration_Failed", "the restoration phase found no point to go on from"},
    {-3, TN_ELIMIT, "Error_In_Step_Computation", "no step could be computed"},
    {-4, TN_ELIMIT, "Maximum_CpuTime_Exceeded", "the processor time is used up"},
    {-5, TN_ELIMIT, "Maximum_WallTime_Exceeded", "the time is used up"},
    {-10, TN_EINVAL, "Not_Enough_Degrees_Of_Freedom", "there are more equations than free variables"},
    {-11, TN_EINVAL, "Invalid_Problem_Definition", "Ipopt refuses the problem"},
    {-12, TN_EINVAL, "Invalid_Option", "Ipopt refuses an option"},
    {-13, TN_ECALLBACK, "Invalid_Number_Detected", "a value or derivative is not finite"},
    {-100, TN_ECALLBACK, "Unrecoverable_Exception", "Ipopt failed"},
    {-101, TN_ECALLBACK, "NonIpopt_Exception_Thrown", "a library that Ipopt uses failed"},
    {-102, TN_ENOMEM, "Insufficient_Memory", "out of memory"},
    {-199, TN_ECALLBACK, "Internal_Error", "Ipopt failed"},
};

static const answer *meaning(int code) {
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++)
        if (answers[i].code == code) return &answers[i];
    static const answer unknown = {-199, TN_ECALLBACK, "unknown", "Ipopt says something new"};
    return &unknown;
}

static tn_status verdict(tn_ipopt *s, const answer *a) {
    if (s->failed) return tn_ipopt_i_fail(s, s->failed, "%s", s->why);
    if (a->status == TN_OK) return TN_OK;
    return tn_ipopt_i_fail(s, a->status, "Ipopt: %s (%s, after %d iterations)%s%s", a->sentence, a->name, s->iterations,
                           s->why[0] ? "; last, " : "", s->why);
}

static void report(const tn_ipopt *s, int code, tn_ipopt_result *out) {
    if (!out) return;
    *out = (tn_ipopt_result){
        .size = sizeof *out,
        .objective = s->objective,
        .x = s->best,
        .g = s->g,
        .lambda = s->multipliers,
        .zl = s->zl,
        .zu = s->zu,
        .iterations = s->iterations,
        .code = code,
        .text = meaning(code)->name,
        .f_runs = s->d[DERIVED_F].runs,
        .gradient_runs = s->d[DERIVED_GRADIENT].runs,
        .g_runs = s->d[DERIVED_G].runs,
        .jacobian_runs = s->d[DERIVED_JACOBIAN].runs,
        .hessian_runs = s->d[DERIVED_HESSIAN].runs,
        .questions = s->questions,
        .not_finite = s->not_finite,
    };
}

tn_status tn_ipopt_solve(tn_ipopt *s, const tn_ipopt_start *start, tn_ipopt_result *out) {
    const tn_ipopt_start zeros = {.size = sizeof zeros};
    if (!s) return TN_ENOMEM;
    if (s->refused) return s->status;
    if (out && out->size != sizeof *out) return tn_ipopt_i_fail(s, TN_EINVAL, "the result's size is not set");
    if (!start) start = &zeros;
    if (refused(s, start)) return s->status;
    begin(s, start);
    if (!temperature(s, multipliers(s, start) > 0)) return tn_ipopt_i_fail(s, TN_EINVAL, "Ipopt refuses its options");
    const int code = (int)IpoptSolve(s->problem, s->best, s->g, &s->objective, s->multipliers, s->zl, s->zu, s);
    report(s, code, out);
    return verdict(s, meaning(code));
}
