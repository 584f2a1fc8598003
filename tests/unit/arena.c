/* What reports say of an arena is what tn_compile plans, to the byte, by default and with native code. */
#include "tracing.h"

#include "cache_dir.h"

#include "prims/prim.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const files[] = {"examples/mlp.tn",
                                    "examples/wave.tn",
                                    "tests/costs/attention.tn",
                                    "tests/costs/chain.tn",
                                    "tests/costs/nested.tn",
                                    "tests/golden/jax/branches.tn",
                                    "tests/golden/jax/fori.tn",
                                    "tests/golden/jax/gather_scatter.tn",
                                    "tests/golden/jax/gaussian_nll.tn",
                                    "tests/golden/jax/heat.tn",
                                    "tests/golden/jax/newton.tn",
                                    "tests/golden/jax/padding.tn",
                                    "tests/golden/jax/reductions.tn",
                                    "tests/golden/jax/rnn.tn",
                                    "tests/golden/jax/sorting.tn",
                                    "tests/golden/jax/special.tn",
                                    "tests/golden/jax/stencil.tn"};
enum { NATIVE = 7 }; /* as many of them are compiled to machine code as well, which takes a second each */

static tn_fn *read_program(tn_ctx *c, const char *name) {
    static char text[1 << 16];
    FILE *in = fopen(name, "r");
    if (!in) fail_msg("%s", name);
    const size_t n = fread(text, 1, sizeof text, in);
    (void)fclose(in);
    assert_true(n > 0 && n < sizeof text);
    tn_fn *f = tn_fn_parse(c, text, n, name);
    if (!f) fail_msg("%s", tn_error(c));
    return f;
}

/* Arena and spill file as tn_cost has them and as they are. */
static size_t agreed(const tn_fn *f, const tn_compile_options *o, const char *name) {
    tn_cost_report k = {.size = sizeof k};
    const char *why;
    if (!f || tn_cost(f, &k) != TN_OK) fail_msg("%s: %s", name, f ? tn_error(tn_fn_ctx(f)) : "no program");
    tn_exec *e = tn_compile(f, o);
    if (!e) fail_msg("%s: %s", name, tn_error(tn_fn_ctx(f)));
    if (o->backend && tn_exec_backend(e, &why) != o->backend) fail_msg("%s: %s", name, why);
    const size_t bytes = tn_exec_bytes(e);
    if ((double)bytes != k.peak_bytes || (double)tn_exec_spill_bytes(e) != k.spill_bytes)
        fail_msg("%s: %zu and %zu bytes, not %.0f and %.0f", name, bytes, tn_exec_spill_bytes(e), k.peak_bytes,
                 k.spill_bytes);
    tn_exec_free(e);
    return bytes;
}

/* Its caller can hold what enters and leaves it: no array whose length a loop finds. */
static bool runs(const tn_fn *f) {
    for (uint32_t i = 0; i < f->nin + f->nout; i++)
        if (tn_i_has_steps(f->val[i < f->nin ? i : f->out[i - f->nin]].type)) return false;
    return true;
}

static void interpreted(void **state) {
    (void)state;
    const tn_compile_options o = {.size = sizeof o, .spill_dir = "/tmp"};
    int reports = 0, halves = 0, spilled = 0;
    for (size_t k = 0; k < COUNT(files); k++) {
        tn_ctx *c = checked();
        tn_fn *f = read_program(c, files[k]);
        (void)agreed(f, &o, files[k]);
        const tn_policy *p;
        bool arguments;
        for (size_t i = 0; (p = tn_policy_at(i, &arguments)) != NULL; i++) {
            if (arguments) continue;
            tn_residual_totals t = {.size = sizeof t};
            tn_residuals *r = tn_saved_residuals(f, NULL, p);
            if (!r || tn_residuals_total(r, &t) != TN_OK) fail_msg("%s: %s", files[k], tn_error(c));
            const tn_linearized l = tn_linearize(f, NULL, p);
            assert_true((double)agreed(tn_vjp(f, NULL, p), &o, files[k]) == t.peak_bytes);
            if (!l.primal) fail_msg("%s: %s", files[k], tn_error(c));
            if (runs(l.primal)) {
                assert_true((double)agreed(l.primal, &o, files[k]) == t.peak_forward_bytes);
                assert_true((double)agreed(tn_transpose(l.linear), &o, files[k]) == t.peak_backward_bytes);
                halves++;
            }
            spilled += t.offloaded_bytes > 0;
            reports++;
        }
        tn_ctx_free(c);
    }
    assert_true(reports >= 11 * (int)COUNT(files) && halves > reports / 2 && spilled > 0);
}

static void native(void **state) {
    (void)state;
    char dir[] = "/tmp/tansy-arena-XXXXXX";
    assert_non_null(mkdtemp(dir));
    const tn_compile_options o = {.size = sizeof o, .backend = TN_BACKEND_NATIVE, .cache_dir = dir};
    for (size_t k = 0; k < NATIVE; k++) {
        tn_ctx *c = checked();
        tn_fn *f = read_program(c, files[k]);
        (void)agreed(tn_vjp(f, NULL, NULL), &o, files[k]);
        tn_ctx_free(c);
    }
    cache_dir_remove(dir);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(interpreted), cmocka_unit_test(native)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
