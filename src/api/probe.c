#include "api/probe.h"

#include "api/args.h"

#include "prims/prim.h"

#include <math.h>
#include <string.h>

bool tn_i_probe_init(tn_i_probe *p, const tn_fn *f, const char *spill_dir) {
    tn_ctx *c = f->ctx;
    const tn_compile_options o = {.size = sizeof o, .spill_dir = spill_dir};
    *p = (tn_i_probe){0};
    if (!tn_i_one_rank("a trial at points of one's own choice", f)) return false;
    *p = (tn_i_probe){.f = f, .exec = tn_compile(f, &o)};
    if (!p->exec) return false;
    p->in = tn_i_alloc_array(c, f->nin, sizeof *p->in);
    p->out = tn_i_alloc_array(c, f->nout, sizeof *p->out);
    bool ok = p->in && p->out;
    for (uint32_t i = 0; ok && i < f->nin; i++) ok = (p->in[i] = tn_i_alloc(c, tn_type_bytes(f->val[i].type))) != NULL;
    for (uint32_t j = 0; ok && j < f->nout; j++)
        ok = (p->out[j] = tn_i_alloc(c, tn_type_bytes(f->val[f->out[j]].type))) != NULL;
    if (!ok) tn_i_probe_free(p);
    return ok;
}

void tn_i_probe_free(tn_i_probe *p) {
    if (!p->f) return;
    const tn_fn *f = p->f;
    for (uint32_t i = 0; p->in && i < f->nin; i++) tn_i_free(f->ctx, p->in[i], tn_type_bytes(f->val[i].type));
    for (uint32_t j = 0; p->out && j < f->nout; j++)
        tn_i_free(f->ctx, p->out[j], tn_type_bytes(f->val[f->out[j]].type));
    tn_i_free(f->ctx, p->in, f->nin * sizeof *p->in);
    tn_i_free(f->ctx, p->out, f->nout * sizeof *p->out);
    tn_exec_free(p->exec);
    *p = (tn_i_probe){0};
}

tn_status tn_i_probe_run(tn_i_probe *p) {
    tn_status s = tn_call(p->exec, (const void *const *)p->in, p->out);
    if (s != TN_OK) (void)tn_i_fail(p->f->ctx, s, NULL, "%s", tn_exec_error(p->exec));
    return s;
}

double tn_i_probe_get(const tn_type *t, const void *data, int64_t k) {
    return tn_i_element(t->dtype, (const char *)data + k * (int64_t)tn_i_dtype_size(t->dtype));
}

void tn_i_probe_set(const tn_type *t, void *data, int64_t k, double x) {
    tn_i_element_set(t->dtype, (char *)data + k * (int64_t)tn_i_dtype_size(t->dtype), x);
}

void tn_i_probe_random(const tn_type *t, void *data, uint64_t *seed) {
    tn_i_rng rng = {*seed};
    for (int64_t k = 0, n = tn_i_count(t); k < n; k++) tn_i_probe_set(t, data, k, tn_i_uniform(&rng, -1, 1));
    *seed = rng.state;
}

double tn_i_probe_dot(const tn_type *t, const void *x, const void *y, double *scale) {
    double sum = 0;
    for (int64_t k = 0, n = tn_i_count(t); k < n; k++) {
        double term = tn_i_probe_get(t, x, k) * tn_i_probe_get(t, y, k);
        sum += term;
        *scale += fabs(term);
    }
    return sum;
}
