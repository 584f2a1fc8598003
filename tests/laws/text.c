/* Programs as text. */
#include "laws/derive.h"
#include "laws/table.h"

#include <string.h>

/* print, parse, print: the same text, an accepted program, the same bits. */
static const tn_fn *round_trip(laws_trial *t, const tn_fn *f) {
    size_t n, m;
    char *text = tn_fn_print(f, &n);
    if (!text) {
        laws_fail(t, "print failed: %s", tn_error(t->ctx));
        return NULL;
    }
    t->shown = f;
    const tn_fn *g = laws_made(t, tn_fn_parse(t->ctx, text, n, "round_trip.tn"), "parse");
    char *again = g ? tn_fn_print(g, &m) : NULL;
    if (again && (n != m || memcmp(text, again, n) != 0)) laws_fail(t, "printed again, the text differs");
    tn_text_free(t->ctx, text);
    tn_text_free(t->ctx, again);
    return t->failed ? NULL : g;
}

void laws_text(laws_trial *t) {
    const tn_fn *g = round_trip(t, t->f);
    const laws_array *y = g ? laws_run_new(t, t->f, t->x) : NULL, *again = y ? laws_run_new(t, g, t->x) : NULL;
    if (!again || !laws_same_bits(t, "parsed: output", y, again, g->nout)) return;
    laws_wrt w;
    if (laws_wrt_all(t->f, &w)->n == 0 || laws_float_outputs(t->f) == 0) return;
    const tn_linearized p = tn_linearize(t->f, &w.list, tn_policy_by_name("nothing_saveable"));
    if (!laws_made(t, p.primal, "linearize (primal)") || !laws_made(t, p.linear, "linearize (linear)")) return;
    if (!round_trip(t, p.primal) || !round_trip(t, p.linear)) return;
    const tn_fn *h = laws_made(t, tn_transpose(p.linear), "transpose");
    if (h) (void)round_trip(t, h);
}
