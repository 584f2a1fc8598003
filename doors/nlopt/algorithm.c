/* NLopt's names, and its handle for one of them. */
#include "solver.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- names --------------------------------------------------------------------- */

static char lower(char c) { return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c); }

static int least(int a, int b) { return a < b ? a : b; }

/* How many letters of a are to be changed, added or left out until it is b, which is short. */
static int distance(const char *a, const char *b) {
    int row[64];
    const int n = (int)strlen(b);
    if (n >= 64) return 64;
    for (int j = 0; j <= n; j++) row[j] = j;
    for (int i = 0; i < 64 && a[i]; i++) {
        int corner = row[0];
        row[0] = i + 1;
        for (int j = 0; j < n; j++) {
            const int changed = corner + (lower(a[i]) != lower(b[j]));
            corner = row[j + 1];
            row[j + 1] = least(changed, 1 + least(row[j], row[j + 1]));
        }
    }
    return row[n];
}

/* "StoGO (NOT COMPILED)": of those in C++ that a build may leave out. */
static bool left_out(int a) { return strstr(nlopt_algorithm_name((nlopt_algorithm)a), "NOT COMPILED"); }
static const char *name_of(int a) { return nlopt_algorithm_to_string((nlopt_algorithm)a); }

/* -1: there is none; *nearest is the name that is most like it. */
static int number_of(const char *name, const char **nearest) {
    int best = INT32_MAX;
    if (strncmp(name, "NLOPT_", 6) == 0) name += 6;
    for (int a = 0; a < NLOPT_NUM_ALGORITHMS; a++) {
        const char *other = name_of(a);
        if (!other || left_out(a)) continue;
        if (strcmp(name, other) == 0) return a;
        const int d = distance(name, other);
        if (d < best) *nearest = other;
        best = least(d, best);
    }
    return -1;
}

static tn_status named(tn_nlopt *s, const char *what, const char *name, int *a) {
    const char *nearest = "";
    *a = number_of(name, &nearest);
    if (*a >= 0) return TN_OK;
    return tn_nlopt_i_fail(s, TN_EINVAL, "NLopt has no %s \"%.80s\"; the nearest name is \"%s\"", what, name, nearest);
}

/* The second letter of "LD_SLSQP" says that it takes derivatives. */
static bool takes_derivatives(int a) { return name_of(a)[1] == 'D'; }
static bool is_global(int a) { return name_of(a)[0] == 'G'; }
static bool has_local(int a) { return strstr(name_of(a), "AUGLAG") || strstr(name_of(a), "MLSL"); }
/* Without a letter it is the local algorithm that says it. */
static bool needs_local(int a) {
    const char *name = name_of(a);
    return strncmp(name, "AUGLAG", 6) == 0 || strncmp(name, "G_MLSL", 6) == 0;
}

tn_status tn_nlopt_i_algorithm(tn_nlopt *s) {
    const tn_nlopt_options *o = &s->options;
    int a, local = -1;
    if (named(s, "algorithm", o->algorithm, &a)) return s->status;
    if (o->local && named(s, "local algorithm", o->local, &local)) return s->status;
    if (o->local && !has_local(a))
        return tn_nlopt_i_fail(s, TN_EINVAL, "%s leaves nothing to a local algorithm", name_of(a));
    if (!o->local && needs_local(a)) return tn_nlopt_i_fail(s, TN_EINVAL, "%s needs a local algorithm", name_of(a));
    if (local >= 0 && (is_global(local) || has_local(local)))
        return tn_nlopt_i_fail(s, TN_EINVAL, "%s is no local algorithm for %s", name_of(local), name_of(a));
    s->global = is_global(a);
    s->gradients = takes_derivatives(a) || (local >= 0 && takes_derivatives(local));
    if (s->global && !o->max_evaluations && !(o->max_seconds > 0) && !o->stop_value)
        return tn_nlopt_i_fail(s, TN_EINVAL, "nothing ends %s: it needs max_evaluations, max_seconds or stop_value",
                               name_of(a));
    return TN_OK;
}

/* ---- sizes ----------------------------------------------------------------------- */

/* NLopt counts its work arrays in int.  Most have some n x n numbers, SLSQP's the most: 8.5 n^2 + 3 m n. */
tn_status tn_nlopt_i_room(tn_nlopt *s) {
    static const char *const lists[] = {"LD_LBFGS", "LD_TNEWTON", "LD_VAR", "LD_MMA", "LD_CCSAQ"};
    const double n = (double)s->n + 2, m = (double)(s->inequalities + s->equations) + 2;
    const char *which[] = {s->options.algorithm, s->options.local ? s->options.local : s->options.algorithm};
    bool square = false;
    for (int k = 0; k < 2; k++) {
        const char *nearest, *name = name_of(number_of(which[k], &nearest));
        bool list = has_local(number_of(which[k], &nearest)) && s->options.local;
        for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
            list = list || strncmp(name, lists[i], strlen(lists[i])) == 0;
        square = square || !list;
    }
    const double numbers = square ? 9 * n * n + 3 * m * n : 64 * (n + m) + m * n;
    if (numbers <= INT32_MAX) return TN_OK;
    return tn_nlopt_i_fail(
        s, TN_ELIMIT,
        "%lld variables and %lld rows of constraints are more than %s's arrays, counted in 32 bits, have "
        "room for: libtansy-ipopt is for large problems",
        (long long)s->n, (long long)(s->inequalities + s->equations), s->options.algorithm);
}

/* ---- the handle -------------------------------------------------------------------- */

static tn_status refuses(tn_nlopt *s, nlopt_opt opt, nlopt_result code, const char *what) {
    if (code >= 0) return TN_OK;
    if (code == NLOPT_OUT_OF_MEMORY) return tn_nlopt_i_fail(s, TN_ENOMEM, "out of memory");
    const char *why = nlopt_get_errmsg(opt);
    return tn_nlopt_i_fail(s, TN_EINVAL, "NLopt refuses %s for %s: %s", what, s->options.algorithm,
                           why ? why : "it gives no reason");
}

static tn_status tolerances(tn_nlopt *s, nlopt_opt opt) {
    const tn_nlopt_options *o = &s->options;
    const bool none = o->ftol_rel <= 0 && o->ftol_abs <= 0 && o->xtol_rel <= 0 && o->xtol_abs <= 0;
    return refuses(s, opt, nlopt_set_ftol_rel(opt, o->ftol_rel), "ftol_rel") ||
                   refuses(s, opt, nlopt_set_ftol_abs(opt, o->ftol_abs), "ftol_abs") ||
                   refuses(s, opt, nlopt_set_xtol_rel(opt, none ? 1e-8 : o->xtol_rel), "xtol_rel") ||
                   refuses(s, opt, nlopt_set_xtol_abs1(opt, none ? 1e-12 : o->xtol_abs), "xtol_abs")
               ? s->status
               : TN_OK;
}

static tn_status local(tn_nlopt *s) {
    const char *nearest;
    if (!s->options.local) return TN_OK;
    const nlopt_opt l = nlopt_create((nlopt_algorithm)number_of(s->options.local, &nearest), (unsigned)s->n);
    if (!l) return tn_nlopt_i_fail(s, TN_ENOMEM, "out of memory");
    if (!tolerances(s, l)) (void)refuses(s, s->opt, nlopt_set_local_optimizer(s->opt, l), "the local algorithm");
    nlopt_destroy(l);
    return s->status;
}

typedef nlopt_result (*add)(nlopt_opt opt, unsigned m, nlopt_mfunc f, void *user, const double *tol);

static tn_status constraints(tn_nlopt *s, add to, nlopt_mfunc f, int64_t m, const char *what) {
    if (!m) return TN_OK;
    double *tol = malloc((size_t)m * sizeof *tol);
    if (!tol) return tn_nlopt_i_fail(s, TN_ENOMEM, "out of memory");
    for (int64_t i = 0; i < m; i++) tol[i] = s->options.constraint_tol;
    const nlopt_result code = to(s->opt, (unsigned)m, f, s, tol);
    free(tol);
    return refuses(s, s->opt, code, what);
}

/* With one variable that is free, whatever the tolerances. */
static bool never_ends(const tn_nlopt *s) {
    int64_t free = 0;
    for (int64_t i = 0; i < s->n; i++) free += s->low[i] < s->high[i];
    return free == 1 && strstr(s->options.local ? s->options.local : s->options.algorithm, "LN_PRAXIS");
}

tn_status tn_nlopt_i_handle(tn_nlopt *s) {
    const tn_nlopt_options *o = &s->options;
    const char *nearest;
    if (never_ends(s)) return tn_nlopt_i_fail(s, TN_EINVAL, "LN_PRAXIS does not end with one variable");
    s->opt = nlopt_create((nlopt_algorithm)number_of(o->algorithm, &nearest), (unsigned)s->n);
    if (!s->opt) return tn_nlopt_i_fail(s, TN_ENOMEM, "out of memory");
    const nlopt_opt opt = s->opt;
    if (refuses(s, opt, nlopt_set_min_objective(opt, tn_nlopt_i_f, s), "f") ||
        refuses(s, opt, nlopt_set_lower_bounds(opt, s->low), "lower bounds") ||
        refuses(s, opt, nlopt_set_upper_bounds(opt, s->high), "upper bounds") ||
        constraints(s, nlopt_add_inequality_mconstraint, tn_nlopt_i_g, s->inequalities, "inequalities") ||
        constraints(s, nlopt_add_equality_mconstraint, tn_nlopt_i_h, s->equations, "equations") ||
        refuses(s, opt, nlopt_set_maxeval(opt, o->max_evaluations), "max_evaluations") ||
        refuses(s, opt, nlopt_set_maxtime(opt, o->max_seconds), "max_seconds") ||
        refuses(s, opt, nlopt_set_stopval(opt, o->stop_value ? *o->stop_value : -HUGE_VAL), "stop_value") ||
        tolerances(s, opt))
        return s->status;
    return local(s);
}
