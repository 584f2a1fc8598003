/* The examples obey the laws of work, all of them under every policy, and the report says what differs. */
#include "checkpoint/policies.h"
#include "laws/derive.h"
#include "laws/table.h"

#include <glob.h>
#include <math.h>
#include <stdio.h>

static char *contents(laws_trial *t, const char *path, size_t *n) {
    FILE *file = fopen(path, "rb");
    enum { MOST = 1 << 20 };
    char *text = laws_alloc(t->memory, MOST, 1);
    *n = file ? fread(text, 1, MOST, file) : 0;
    if (file) (void)fclose(file);
    return text;
}

static bool flops_of(laws_trial *t, const tn_fn *f, double *flops) {
    tn_cost_report r = {.size = sizeof r};
    if (!f || tn_cost(f, &r) != TN_OK) {
        laws_fail(t, "cost: %s", tn_error(t->ctx));
        return false;
    }
    *flops = r.flops;
    return true;
}

static bool measured(laws_trial *t, const tn_fn *f, const char *name, double *flops, double *again) {
    const tn_policy policy = {.size = sizeof policy, .name = name};
    tn_residuals *r = tn_saved_residuals(f, NULL, &policy);
    tn_residual_totals totals = {.size = sizeof totals};
    const bool ok = r && tn_residuals_total(r, &totals) == TN_OK;
    tn_residuals_free(r);
    if (!ok) laws_fail(t, "report: %s", tn_error(t->ctx));
    *again = totals.recomputed_flops;
    return ok && flops_of(t, laws_made(t, tn_vjp(f, NULL, &policy), name), flops);
}

/* Forward values are computed once, plus exactly what the report says. */
static void as_reported(laws_trial *t, const tn_fn *f) {
    double least = 0, none = 0, flops, again;
    for (size_t i = 0; tn_i_policy_text(i) && !t->failed; i++) {
        if (!measured(t, f, tn_i_policy_text(i), &flops, &again)) return;
        if (i == 0) least = flops, none = again; /* everything_saveable */
        if (fabs((flops - least) - (again - none)) <= 1e-9 * flops) continue;
        laws_fail(t, "%s: %g flops more than with everything saved; the report says %g", tn_i_policy_text(i),
                  flops - least, again - none);
    }
}

static void one(laws_trial *t, const char *path) {
    size_t n;
    const char *text = contents(t, path, &n);
    const tn_fn *f = tn_fn_parse(t->ctx, text, n, path);
    if (!f && tn_last_status(t->ctx) == TN_ELINEAR) return; /* the README shows this error */
    if (!f) laws_fail(t, "%s", tn_error(t->ctx));
    if (!f || f->nlin) return; /* a linear program has no derivative but itself */
    t->f = f;
    laws_work_everywhere(t);
    if (!t->failed) laws_recompute(t);
    if (!t->failed) as_reported(t, f);
}

void laws_examples(laws_trial *t) {
    static const char *const where[] = {"examples/*.tn", "tests/costs/*.tn", "tests/golden/jax/*.tn"};
    for (size_t k = 0; k < sizeof where / sizeof *where; k++) {
        glob_t found;
        if (glob(where[k], 0, NULL, &found) != 0) {
            laws_fail(t, "no %s: the laws run in the project's folder", where[k]);
            return;
        }
        for (size_t i = 0; i < found.gl_pathc && !t->failed; i++) one(t, found.gl_pathv[i]);
        globfree(&found);
    }
}
