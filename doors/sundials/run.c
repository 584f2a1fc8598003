/* One program: compiled, run with a solver's vectors, looked at for what is not finite. */
#include "system.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

static const char *const names[PROGRAM_COUNT] = {
    "f",
    "the explicit part",
    "g",
    "the Jacobian",
    "the Jacobian's product",
    "the sensitivity's right-hand side",
    "the sensitivities' right-hand side",
    "the backward right-hand side",
    "the backward Jacobian's product",
    "the backward quadrature",
};

tn_status tn_sundials_i_program(tn_sundials *s, int which, const tn_fn *p, size_t lead, size_t tail) {
    program *r = &s->p[which];
    const tn_type y = tn_fn_output_type(p, 0);
    r->name = names[which];
    r->lead = lead;
    r->tail = tail;
    r->count = (int64_t)tn_type_elements(&y);
    r->in = calloc(lead + s->parameters + tail + 1, sizeof *r->in);
    if (!r->in) return tn_sundials_i_fail(s, TN_ENOMEM, "out of memory");
    r->exec = tn_compile(p, s->compile);
    r->work = r->exec ? tn_work_new(r->exec, NULL, 0) : NULL;
    return r->work ? TN_OK : tn_sundials_i_lost(s, p, r->name);
}

void tn_sundials_i_program_free(program *p) {
    tn_work_free(p->work);
    tn_exec_free(p->exec);
    free(p->in);
    *p = (program){0};
}

static void name_element(tn_sundials *s, const program *p, int64_t k, double value) {
    const char *what = isnan(value) ? "not a number" : "infinite"; /* printf has a sign for either */
    if (p == &s->p[PROGRAM_JACOBIAN])
        (void)tn_sundials_i_fail(s, TN_ECALLBACK, "%s: its entry in row %lld, column %lld is %s", p->name,
                                 (long long)s->row[k], (long long)s->column[k], what);
    else
        (void)tn_sundials_i_fail(s, TN_ECALLBACK, "%s: its element %lld is %s", p->name, (long long)k, what);
}

int tn_sundials_i_run(tn_sundials *s, int which, const void *const *lead, const void *const *tail, double *out) {
    program *p = &s->p[which];
    if (s->parameters && !s->ready)
        return tn_sundials_i_fail(s, TN_EINVAL, "the parameters have no values: tn_sundials_parameters"), -1;
    for (size_t i = 0; i < p->lead; i++) p->in[i] = lead[i];
    for (size_t i = 0; i < p->tail; i++) p->in[p->lead + s->parameters + i] = tail[i];
    p->runs++;
    const tn_status status = tn_call_in(p->exec, p->work, p->in, (void *[]){out});
    if (status) return tn_sundials_i_fail(s, status, "%s: %s", p->name, tn_work_error(p->work)), -1;
    for (int64_t k = 0; k < p->count; k++) {
        if (isfinite(out[k])) continue;
        name_element(s, p, k, out[k]);
        s->not_finite++;
        return 1;
    }
    return 0;
}

double *tn_sundials_i_elements(tn_sundials *s, const char *what, N_Vector v, int64_t n) {
    if (!v) return tn_sundials_i_fail(s, TN_EINVAL, "%s: there is no vector", what), NULL;
    /* A vector in several processes has an array too, of a part of its elements. */
    const N_Vector_ID id = N_VGetVectorID(v);
    double *x = NULL;
    if (id == SUNDIALS_NVEC_SERIAL || id == SUNDIALS_NVEC_OPENMP || id == SUNDIALS_NVEC_PTHREADS)
        x = N_VGetArrayPointer(v);
    if (!x)
        return tn_sundials_i_fail(s, TN_EINVAL, "%s: a vector that is not serial, OpenMP's or Pthreads'", what), NULL;
    if (N_VGetLength(v) == n) return x;
    (void)tn_sundials_i_fail(s, TN_ETYPE, "%s: a vector of %lld elements, where there are %lld", what,
                             (long long)N_VGetLength(v), (long long)n);
    return NULL;
}
