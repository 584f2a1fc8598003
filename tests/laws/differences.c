#include "laws/differences.h"

#include "laws/copy64.h"

#include <math.h>

/* Samples keep at least 0.03 from kinks and from one another, so two of them may each move by
 * STEP.  Half of it four times over leaves differences with 13 digits. */
enum { LEVELS = 4 };
static const double STEP = 0.0125;

double laws_tolerance(const tn_fn *f) { return laws_holds_f32(f) ? 1e-4 : 1e-8; }

static void moved(laws_array *to, const laws_array *x, const laws_array *v, uint32_t n, double h) {
    for (uint32_t i = 0; i < n; i++) {
        if (!laws_is_float(&x[i]) || !v[i].data) continue;
        for (int64_t k = 0; k < laws_count(&x[i]); k++)
            laws_put(&to[i], k, laws_get(&x[i], k) + h * laws_get(&v[i], k));
    }
}

typedef struct table {
    double d[LEVELS][LEVELS];
} table;

/* The last diagonal entry; the estimate is what the last halving and the last order changed. */
static double extrapolate(table *d, double *error) {
    for (int i = 1; i < LEVELS; i++)
        for (int j = 1; j <= i; j++)
            d->d[i][j] = d->d[i][j - 1] + (d->d[i][j - 1] - d->d[i - 1][j - 1]) / (pow(4, j) - 1);
    const double best = d->d[LEVELS - 1][LEVELS - 1];
    *error = fmax(fabs(best - d->d[LEVELS - 1][LEVELS - 2]), fabs(best - d->d[LEVELS - 2][LEVELS - 2]));
    return best;
}

bool laws_differences(laws_trial *t, const tn_fn *f, const laws_array *x, const laws_array *v, laws_array *slope,
                      laws_array *error) {
    laws_memory *m = t->memory;
    laws_array *at = laws_alloc(m, f->nin + 1u, sizeof *at), *y[LEVELS][2];
    for (uint32_t i = 0; i < f->nin; i++) at[i] = laws_copy(m, &x[i]);
    for (int k = 0; k < LEVELS; k++)
        for (int s = 0; s < 2; s++) {
            moved(at, x, v, f->nin, ldexp(s ? -STEP : STEP, -k));
            if (!(y[k][s] = laws_run_new(t, f, at))) return false;
        }
    for (uint32_t j = 0; j < f->nout; j++) {
        tn_type type = *f->val[f->out[j]].type;
        const bool is_float = tn_i_is_float(type.dtype);
        type.dtype = TN_F64;
        slope[j] = laws_new(m, &type);
        error[j] = laws_new(m, &type);
        for (int64_t i = 0; is_float && i < laws_count(&slope[j]); i++) {
            table d;
            for (int k = 0; k < LEVELS; k++)
                d.d[k][0] = (laws_get(&y[k][0][j], i) - laws_get(&y[k][1][j], i)) / ldexp(2 * STEP, -k);
            double e;
            laws_put(&slope[j], i, extrapolate(&d, &e));
            laws_put(&error[j], i, e);
        }
    }
    return true;
}

int64_t laws_contradicts(laws_trial *t, const laws_array *dy, const laws_array *y, const laws_array *slope,
                         const laws_array *error, double tolerance) {
    for (int64_t i = 0; i < laws_count(dy); i++) {
        const double d = laws_get(dy, i), s = laws_get(slope, i), e = laws_get(error, i);
        const double allowed = tolerance * fmax(fmax(fabs(s), fabs(laws_get(y, i))), 1);
        if (!isfinite(laws_get(y, i)) || !isfinite(s) || 10 * e > allowed) {
            t->redraw = true;
            continue;
        }
        if (!(fabs(d - s) <= allowed + 10 * e)) return i;
    }
    return -1;
}
