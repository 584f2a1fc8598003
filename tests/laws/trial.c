#include "laws/trial.h"

#include "laws/case.h"
#include "laws/copy64.h"
#include "laws/derive.h"
#include "laws/generator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- making ---------------------------------------------------------------------- */

static uint64_t mixed(uint64_t seed, const char *what, int64_t k) {
    return tn_i_hash_u64(tn_i_hash(seed, what, strlen(what)), (uint64_t)k);
}

/* A case whose parameters hold callbacks has no copy; its sampler makes the f64 one. */
static const tn_fn *case_f64(laws_trial *t, tn_i_rng r) {
    tn_i_case *c = laws_alloc(t->memory, 1, sizeof *c);
    if (!laws_case_draw(t->ctx, t->prim, TN_F64, &r, c)) return NULL;
    const tn_fn *f = laws_case_program(t->prim, c, 0);
    laws_case_free(c);
    return f;
}

static bool init_primitive(laws_trial *t, tn_i_rng r) {
    const tn_i_rng start = r;
    tn_i_case *c = laws_alloc(t->memory, 1, sizeof *c);
    t->c = c;
    if (!laws_case_draw(t->ctx, t->prim, t->dtype, &r, c)) return false;
    if (!(t->f = laws_case_program(t->prim, c, 0))) return false;
    t->x = laws_case_data(t->memory, t->prim, c, &r);
    t->f64 = laws_copy_f64(t->f);
    if (!t->f64) t->f64 = case_f64(t, start);
    return t->f64 != NULL;
}

static bool init_generated(laws_trial *t, tn_i_rng r) {
    t->f = laws_generate(t->ctx, t->memory, &r, t->dtype, &t->x);
    t->f64 = t->f ? laws_copy_f64(t->f) : NULL;
    return t->f64 != NULL;
}

bool laws_trial_init(laws_trial *t, const laws_options *o, const tn_prim *prim, int dtype, uint64_t seed, int attempt) {
    laws_memory *m = t->memory;
    const tn_ctx_options opt = {.size = sizeof opt, .check = 1};
    *t = (laws_trial){.memory = m, .prim = prim, .dtype = dtype, .backend = o->backend, .seed = seed};
    laws_release(m);
    t->ctx = tn_i_ctx_new(&opt, o->registry);
    if (!t->ctx) return false;
    t->ctx->nests = o->nests;
    const char *name = prim ? prim->name : "generated";
    const tn_i_rng r = {mixed(seed, name, dtype * 1000 + attempt)};
    if (prim ? init_primitive(t, r) : init_generated(t, r)) return true;
    laws_fail(t, "no case can be made: %s", tn_error(t->ctx));
    return false;
}

void laws_trial_free(laws_trial *t) {
    if (t->c) laws_case_free((tn_i_case *)(uintptr_t)t->c);
    tn_ctx_free(t->ctx);
    t->ctx = NULL;
}

static void run(laws_trial *t, const laws_law *law) {
    t->rng = (tn_i_rng){mixed(t->seed, law->name, 0)};
    t->failed = t->redraw = t->refused = false;
    t->shown = NULL;
    t->ratio = t->used = 0;
    tn_error_clear(t->ctx);
    law->run(t);
    if (t->failed || t->refused) t->redraw = false;
}

/* Nobody chose a generated program's equations so that f32 keeps its digits, or so that no NaN
 * hides inside (pow(NaN, 0) = 1).  When the same program obeys the law in f64, with f64's
 * tolerance, another point is drawn (and counted); primitives alone have no such excuse. */
static bool unsuitable(const laws_trial *t, const laws_law *law) {
    if (t->prim || !(law->flags & LAWS_ROUNDED)) return false;
    const void **in = laws_alloc(t->memory, t->f->nin + 1u, sizeof *in);
    for (uint32_t i = 0; i < t->f->nin; i++) in[i] = t->x[i].data;
    if (!tn_naive_finite(t->f, in)) return true;
    if (t->f64 == t->f) return false;
    laws_trial wide = *t;
    wide.f = t->f64;
    wide.x = laws_widened_all(&wide, t->x, t->f->nin);
    run(&wide, law);
    return !wide.failed;
}

void laws_trial_run(laws_trial *t, const laws_law *law) {
    run(t, law);
    if (!t->failed || !unsuitable(t, law)) return;
    t->failed = false;
    t->redraw = true;
}

/* ---- for laws ----------------------------------------------------------------------- */

void laws_fail(laws_trial *t, const char *fmt, ...) {
    if (t->failed) return;
    t->failed = true;
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(t->why, sizeof t->why, fmt, ap);
    va_end(ap);
}

const tn_fn *laws_made(laws_trial *t, const tn_fn *f, const char *how) {
    if (!f) {
        if (!laws_refused(t)) laws_fail(t, "%s failed: %s", how, tn_error(t->ctx));
        return NULL;
    }
    if (tn_check(f) == TN_OK) return f;
    t->shown = f;
    laws_fail(t, "%s made a program that the checker rejects: %s", how, tn_error(t->ctx));
    return NULL;
}

static bool run_program(laws_trial *t, const tn_fn *f, const laws_array *x, laws_array *out, tn_naive_errors *off) {
    const void **in = laws_alloc(t->memory, f->nin + 1u, sizeof *in);
    void **to = laws_alloc(t->memory, f->nout + 1u, sizeof *to);
    for (uint32_t i = 0; i < f->nin; i++) {
        if (!tn_type_equal(&x[i].type, f->val[i].type)) {
            t->shown = f;
            laws_fail(t, "input %u has another type than the transformation's signature says", (unsigned)i);
            return false;
        }
        in[i] = x[i].data;
    }
    for (uint32_t j = 0; j < f->nout; j++) {
        out[j] = laws_new(t->memory, f->val[f->out[j]].type);
        to[j] = out[j].data;
    }
    const tn_status s = tn_naive_run_off(f, in, to, off);
    for (uint32_t j = 0; j < f->nout; j++)
        if (tn_i_has_steps(&out[j].type)) laws_own_tree(t->memory, &out[j]);
    if (s == TN_OK) return true;
    t->shown = f;
    laws_fail(t, "running the program: %s", tn_status_text(s));
    return false;
}

bool laws_run_as_written(laws_trial *t, const tn_fn *f, const laws_array *x, laws_array *out) {
    return run_program(t, f, x, out, NULL);
}

bool laws_run_as_written_off(laws_trial *t, const tn_fn *f, const laws_array *x, laws_array *out,
                             tn_naive_errors *off) {
    return run_program(t, f, x, out, off);
}

bool laws_run(laws_trial *t, const tn_fn *f, const laws_array *x, laws_array *out) {
    return laws_run_off(t, f, x, out, NULL);
}

bool laws_run_off(laws_trial *t, const tn_fn *f, const laws_array *x, laws_array *out, tn_naive_errors *off) {
    const tn_fn *g = tn_i_contracted(f);
    if (!g) laws_fail(t, "contraction: %s", tn_error(t->ctx));
    const bool ok = g && run_program(t, g, x, out, off);
    if (t->shown == g) t->shown = f; /* g is gone */
    tn_i_fn_unref(g);
    return ok;
}

laws_array *laws_run_new(laws_trial *t, const tn_fn *f, const laws_array *x) {
    laws_array *out = laws_alloc(t->memory, f->nout + 1u, sizeof *out);
    return laws_run(t, f, x, out) ? out : NULL;
}

/* ---- telling ---------------------------------------------------------------------------- */

static void print_program(const tn_fn *f) {
    size_t n;
    char *text = tn_fn_print(f, &n);
    if (text) (void)printf("%s\n", text);
    tn_text_free(f->ctx, text);
}

void laws_trial_print(const laws_trial *t, const laws_law *law, bool program) {
    (void)printf("law %s %s %s seed %llu: %s\n", law->name, t->prim ? t->prim->name : "generated",
                 tn_i_dtype_name(t->dtype), (unsigned long long)t->seed, t->why);
    if (!program) return;
    if (t->f) print_program(t->f);
    for (uint32_t i = 0; t->f && t->x && i < t->f->nin && i < 4; i++) {
        (void)printf("  input %u:", (unsigned)i);
        for (int64_t k = 0; k < laws_count(&t->x[i]) && k < 8; k++) (void)printf(" %.17g", laws_get(&t->x[i], k));
        (void)printf("%s\n", laws_count(&t->x[i]) > 8 ? " ..." : "");
    }
    if (t->shown && t->shown != t->f) {
        (void)printf("  where it fails:\n");
        print_program(t->shown);
    }
}
