#include "api/args.h"

#include "exec/described.h"

#include "plan/loop.h"
#include "ir/memo.h"
#include "prims/prim.h"

static bool check_wrt(const tn_i_wrt *w, const char *who, const tn_fn *f) {
    for (uint32_t k = 0; k < w->n; k++) {
        uint32_t i = w->index[k];
        char text[TN_I_TYPE_TEXT];
        if (!tn_i_is_float(f->val[i].type->dtype)) {
            (void)tn_i_fail(f->ctx, TN_EINVAL, f->loc, "%s: input %u is %s; only floats are differentiated", who,
                            (unsigned)i, tn_i_type_text(text, f->val[i].type));
            return false;
        }
        for (uint32_t j = 0; j < k; j++)
            if (w->index[j] == i) {
                (void)tn_i_fail(f->ctx, TN_EINVAL, f->loc, "%s: input %u stands twice in wrt", who, (unsigned)i);
                return false;
            }
    }
    return true;
}

bool tn_i_wrt_init(tn_i_wrt *w, const char *who, const tn_fn *f, const tn_wrt_list *wrt) {
    *w = (tn_i_wrt){.ctx = f->ctx};
    if (wrt && wrt->n > f->nin) {
        (void)tn_i_fail(f->ctx, TN_EINVAL, f->loc, "%s: wrt lists %zu inputs, the program has %u", who, wrt->n,
                        (unsigned)f->nin);
        return false;
    }
    w->room = f->nin;
    w->index = tn_i_alloc_array(f->ctx, w->room, sizeof *w->index);
    if (!w->index) return false;
    for (uint32_t i = 0; !wrt && i < f->nin; i++)
        if (tn_i_is_float(f->val[i].type->dtype)) w->index[w->n++] = i;
    for (size_t k = 0; wrt && k < wrt->n; k++) {
        if (wrt->index[k] < 0 || (uint32_t)wrt->index[k] >= f->nin) {
            (void)tn_i_fail(f->ctx, TN_EINVAL, f->loc, "%s: wrt names input %d, the program has %u", who, wrt->index[k],
                            (unsigned)f->nin);
            tn_i_wrt_free(w);
            return false;
        }
        w->index[w->n++] = (uint32_t)wrt->index[k];
    }
    if (wrt && !check_wrt(w, who, f)) {
        tn_i_wrt_free(w);
        return false;
    }
    return true;
}

void tn_i_wrt_free(tn_i_wrt *w) {
    if (w->index) tn_i_free(w->ctx, w->index, w->room * sizeof *w->index);
    w->index = NULL;
}

/* Equations of a program and of those within that cannot run: what holds the first, and why. */
typedef struct search {
    tn_i_memo seen;
    bool stacks; /* only those that would carry an array as long as a loop */
    const tn_i_eqn *found;
    bool failed;
} search;

static bool carries_stack(const tn_fn *f, const tn_i_eqn *e) {
    tn_i_loop_shape s;
    for (uint32_t j = 0; tn_i_loop_read(e, &s) && j < s.ncarry; j++)
        if (tn_i_has_steps(f->val[e->out + j].type)) return true;
    return false;
}

static const char *unrunnable(const tn_i_eqn *e) { return e->prim->unrunnable ? e->prim->unrunnable(tn_i_p(e)) : NULL; }

/* As deep as programs nest; each of them once. */
static void look_through(search *z, const tn_fn *f) {
    static const char kind = 0;
    if (tn_i_memo_find(&z->seen, &kind, f, NULL, 0)) return;
    z->failed = !tn_i_memo_add(&z->seen, &kind, f, NULL, 0, NULL, NULL, NULL, 0);
    for (uint32_t i = 0; i < f->neqn && !z->found && !z->failed; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        if (z->stacks ? carries_stack(f, e) : unrunnable(e) != NULL) z->found = e;
        for (uint32_t k = 0; e->params && k < e->params->n; k++) {
            const tn_fn *const *g;
            const uint32_t n = tn_i_programs(&e->params->v[k], &g);
            for (uint32_t j = 0; j < n && !z->found && !z->failed; j++) look_through(z, g[j]);
        }
    }
}

/* In *e; false after TN_ENOMEM. */
static bool find(const tn_fn *f, bool stacks, const tn_i_eqn **e) {
    search z = {.stacks = stacks};
    tn_i_memo_init(&z.seen, f->ctx);
    look_through(&z, f);
    tn_i_memo_free(&z.seen);
    *e = z.found;
    return !z.failed;
}

/* What is planned in f's place may have taken such loops apart; false after an error. */
static bool carries_no_stack(const tn_fn *f) {
    const tn_i_eqn *e;
    if (!find(f, true, &e)) return false;
    if (!e) return true;
    tn_fn *g = tn_i_prepared(f);
    const bool ok = g && find(g, true, &e);
    if (ok && e)
        (void)tn_i_fail(f->ctx, TN_ERULE, e->loc, "%s: carries an array whose length a loop finds when it runs",
                        e->prim->name);
    tn_i_fn_unref(g);
    return ok && !e;
}

static bool has_callbacks(const tn_fn *f) {
    const tn_i_eqn *e;
    if (!find(f, false, &e)) return false;
    if (!e) return true;
    if (e->params && tn_i_p(e)->kind == TN_K_STR)
        (void)tn_i_fail(f->ctx, TN_ERULE, e->loc, "%s '%s': %s", e->prim->name, tn_i_p(e)->u.str, unrunnable(e));
    else
        (void)tn_i_fail(f->ctx, TN_ERULE, e->loc, "%s: %s", e->prim->name, unrunnable(e));
    return false;
}

tn_fn *tn_i_runnable(tn_fn *f) {
    if (!f || (carries_no_stack(f) && has_callbacks(f))) return f;
    tn_i_fn_unref(f);
    return NULL;
}

bool tn_i_scalar_output(const char *who, const tn_fn *f, bool aux) {
    char text[TN_I_TYPE_TEXT];
    if (f->nout == 0 || (!aux && f->nout != 1)) {
        (void)tn_i_fail(f->ctx, TN_EINVAL, f->loc, "%s: the program has %u outputs; a gradient wants %s", who,
                        (unsigned)f->nout, aux ? "at least one" : "exactly one");
        return false;
    }
    const tn_type *t = f->val[f->out[0]].type;
    if (t->varying) {
        (void)tn_i_fail(f->ctx, TN_EINVAL, f->loc,
                        "%s: output 0 varies over %s, so there is no one value to differentiate: psum it, or give "
                        "cotangents to tn_vjp",
                        who, t->varying->text);
        return false;
    }
    if (t->rank == 0 && tn_i_is_float(t->dtype)) return true;
    (void)tn_i_fail(f->ctx, TN_EINVAL, f->loc, "%s: output 0 is %s; a gradient wants a float scalar", who,
                    tn_i_type_text(text, t));
    return false;
}

bool tn_i_one_rank(const char *who, const tn_fn *f) {
    if (!f->varies && !f->comm) return true;
    (void)tn_i_fail(f->ctx, TN_EINVAL, f->loc, "%s: the program runs on many ranks, and this is for those of one", who);
    return false;
}

bool tn_i_given_values(const char *who, const char *what, const tn_fn *f, const void *const *given, const void ***at) {
    char why[512];
    bool moved;
    *at = NULL;
    if (!given) return true;
    tn_i_argument *a = tn_i_alloc_array(f->ctx, f->nin, sizeof *a);
    *at = tn_i_alloc_array(f->ctx, f->nin, sizeof **at);
    bool ok = a && *at;
    for (uint32_t i = 0; ok && i < f->nin; i++) a[i] = tn_i_argument_of(f->val[i].type, NULL);
    if (ok && !tn_i_take(a, f->nin, "input", given, *at, &moved, why, sizeof why)) {
        (void)tn_i_fail(f->ctx, TN_EINVAL, f->loc, "%s: %s%s", who, what, why);
        ok = false;
    }
    tn_i_free(f->ctx, a, f->nin * sizeof *a);
    if (ok) return true;
    tn_i_given_free(f, *at);
    *at = NULL;
    return false;
}

void tn_i_given_free(const tn_fn *f, const void **at) {
    if (at) tn_i_free(f->ctx, (void *)at, f->nin * sizeof *at);
}
