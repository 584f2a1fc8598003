/* tn_check and tn_fn_parse: what the checker proves, and what only trying can show of the claims that a text makes. */
#include "control/linear_call.h"
#include "control/loops/loop.h"
#include "ir/seen.h"
#include "prims/ids.h"

/* A claim is tried by running; weighted operations that may take (tn_i_cost). */
static const double MOST_WORK = 1e7;

typedef struct claims {
    tn_i_seen tried, bounded; /* programs seen already */
    bool text;                /* the claims are a text's, which nobody has tried before */
} claims;

static bool each_program(const tn_i_eqn *e, claims *k, tn_i_seen *seen, bool (*visit)(const tn_fn *f, claims *k)) {
    for (uint32_t i = 0; e->params && i < e->params->n; i++) {
        const tn_fn *const *g;
        const uint32_t n = tn_i_programs(&e->params->v[i], &g);
        for (uint32_t j = 0; j < n; j++) {
            uint32_t number;
            bool fresh;
            if (!tn_i_seen_add(seen, g[j], &number, &fresh) || (fresh && !visit(g[j], k))) return false;
        }
    }
    return true;
}

/* ---- what a text may have run while it is read -------------------------------------------------- */

static bool too_long(const tn_i_eqn *e, tn_ctx *c, const char *why) {
    (void)tn_i_fail(c, TN_ELIMIT, e->loc, "%s: that ft is f's transpose cannot be tried while the text is read: %s",
                    e->prim->name, why);
    return false;
}

/* No loop in f runs as long as values tell. */
static bool ends(const tn_fn *f, claims *k) {
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        if (e->prim->id == TN_P_while || e->prim->id == TN_P_scan) {
            tn_i_loop_eqn l;
            tn_i_loop_of(e->prim, tn_i_p(e), e->nin, &l);
            if (l.is_while || l.length == TN_I_STEPS)
                return too_long(e, f->ctx, "the length of this loop is not known");
        }
        if (!each_program(e, k, &k->bounded, ends)) return false;
    }
    return true;
}

static bool affordable(const tn_i_eqn *e, const tn_fn *f, claims *k) {
    tn_i_cost cost;
    if (!ends(f, k) || !tn_i_fn_cost(f, &cost)) return false;
    if (cost.flops + cost.products + cost.bytes <= MOST_WORK) return true;
    return too_long(e, f->ctx, "it takes more than 1e7 operations");
}

/* What we print of a linear_call that came out of our own transformations needs no trial.  *failed after TN_ENOMEM. */
static bool is_own_transpose(const tn_fn *f, const tn_fn *ft, bool *failed) {
    f->ctx->status = TN_OK;
    tn_fn *t = tn_transpose(f);
    const bool same = t && tn_i_fn_equal(t, ft);
    *failed = !t && f->ctx->status == TN_ENOMEM;
    tn_i_fn_unref(t);
    return same;
}

/* ---- claims ------------------------------------------------------------------------------------------ */

static bool try_program(const tn_fn *f, claims *k) {
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        if (!each_program(e, k, &k->tried, try_program)) return false;
        const tn_i_param *p = tn_i_p(e);
        if (e->prim->id != TN_P_linear_call || p[2].kind != TN_K_NONE) continue; /* one_way: its transpose cannot run */
        bool failed = false;
        if (k->text && is_own_transpose(p[0].u.fn, p[1].u.fn, &failed)) continue;
        if (failed) return false;
        if (k->text && (!affordable(e, p[0].u.fn, k) || !affordable(e, p[1].u.fn, k))) return false;
        if (!tn_i_linear_call_check(p[0].u.fn, p[1].u.fn)) return false;
    }
    return true;
}

static bool claims_hold(const tn_fn *f, bool text) {
    claims k = {.text = text};
    const tn_status before = f->ctx->status;
    tn_i_seen_init(&k.tried, f->ctx);
    tn_i_seen_init(&k.bounded, f->ctx);
    const bool ok = try_program(f, &k);
    tn_i_seen_free(&k.tried);
    tn_i_seen_free(&k.bounded);
    if (ok) f->ctx->status = before;
    return ok;
}

tn_status tn_check(const tn_fn *f) {
    if (!tn_i_living(f)) return TN_EINVAL;
    return tn_i_check(f) && claims_hold(f, false) ? TN_OK : f->ctx->status;
}

tn_fn *tn_fn_parse(tn_ctx *c, const char *text, size_t n, const char *filename) {
    if (!c) return NULL;
    if (!text) {
        (void)tn_i_fail(c, TN_EINVAL, NULL, "tn_fn_parse: no text");
        return NULL;
    }
    tn_fn *f = tn_i_parse(c, text, n, filename);
    if (!f || claims_hold(f, true)) return f;
    tn_i_fn_unref(f);
    return NULL;
}
