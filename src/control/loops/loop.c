#include "control/loops/loop.h"

#include "checkpoint/schedule.h"
#include "prims/ids.h"

#include <string.h>

static uint32_t small(const tn_i_param *p) {
    return p->kind == TN_K_INT && p->u.i >= 0 && p->u.i < UINT32_MAX / 4 ? (uint32_t)p->u.i : UINT32_MAX / 4;
}

static bool truth(const tn_i_param *p) { return p->kind == TN_K_BOOL && p->u.i; }

bool tn_i_scan_read(const tn_i_param *p, uint32_t nin, tn_i_scan *s) {
    const uint32_t nconst = small(&p[TN_SCAN_CONSTS]), ncarry = small(&p[TN_SCAN_CARRY]);
    *s = (tn_i_scan){.body = p[TN_SCAN_PROGRAM].u.fn,
                     .counted = p[TN_SCAN_LENGTH].kind == TN_K_NONE,
                     .reverse = truth(&p[TN_SCAN_REVERSE]),
                     .index = truth(&p[TN_SCAN_INDEX]),
                     .nconst = nconst,
                     .ncarry = ncarry,
                     .schedule = p[TN_SCAN_SCHEDULE].kind == TN_K_STR ? p[TN_SCAN_SCHEDULE].u.str : NULL};
    s->length = s->counted ? TN_I_STEPS : p[TN_SCAN_LENGTH].u.i;
    s->const0 = s->counted;
    s->carry0 = s->const0 + nconst;
    s->x0 = s->carry0 + ncarry;
    if (s->x0 > nin || s->body->nout < ncarry) return false;
    s->nx = nin - s->x0;
    s->ny = s->body->nout - ncarry;
    return s->body->nin == tn_i_scan_inner(s, nin);
}

bool tn_i_while_read(const tn_i_param *p, uint32_t nin, tn_i_while *w) {
    *w = (tn_i_while){.cond = p[TN_WHILE_COND].u.fn,
                      .body = p[TN_WHILE_BODY].u.fn,
                      .index = truth(&p[TN_WHILE_INDEX]),
                      .count = truth(&p[TN_WHILE_COUNT]),
                      .ncond = small(&p[TN_WHILE_COND_CONSTS]),
                      .nconst = small(&p[TN_WHILE_BODY_CONSTS]),
                      .schedule = p[TN_WHILE_SCHEDULE].kind == TN_K_STR ? p[TN_WHILE_SCHEDULE].u.str : NULL};
    w->const0 = w->ncond;
    w->carry0 = w->const0 + w->nconst;
    if (w->carry0 > nin) return false;
    w->ncarry = nin - w->carry0;
    if (w->body->nout < w->ncarry) return false;
    w->ny = w->body->nout - w->ncarry;
    w->n_out = w->ncarry;
    w->y0 = w->ncarry + w->count;
    return w->cond->nin == w->ncond + w->ncarry && w->body->nin == tn_i_while_inner(w, nin);
}

void tn_i_loop_of(const tn_prim *prim, const tn_i_param *p, uint32_t nin, tn_i_loop_eqn *l) {
    if (prim->id == TN_P_while) {
        tn_i_while w;
        (void)tn_i_while_read(p, nin, &w);
        *l = (tn_i_loop_eqn){.is_while = true,
                             .index = w.index,
                             .count = w.count,
                             .length = TN_I_STEPS,
                             .body = w.body,
                             .cond = w.cond,
                             .ncond = w.ncond,
                             .nconst = w.nconst,
                             .ncarry = w.ncarry,
                             .ny = w.ny,
                             .schedule = w.schedule};
        return;
    }
    tn_i_scan s;
    (void)tn_i_scan_read(p, nin, &s);
    *l = (tn_i_loop_eqn){.counted = s.counted,
                         .index = s.index,
                         .reverse = s.reverse,
                         .length = s.length,
                         .body = s.body,
                         .nconst = s.nconst,
                         .ncarry = s.ncarry,
                         .nx = s.nx,
                         .ny = s.ny,
                         .schedule = s.schedule};
}

static tn_i_param flag(bool set) { return (tn_i_param){.kind = set ? TN_K_BOOL : TN_K_NONE, .u.i = set}; }
static tn_i_param number(uint32_t n) { return (tn_i_param){.kind = TN_K_INT, .u.i = n}; }

tn_i_var tn_i_loop_emit(tn_i_rule *r, const tn_i_loop_eqn *l, const tn_i_var *in) {
    const tn_i_param schedule = {.kind = l->schedule ? TN_K_STR : TN_K_NONE, .u.str = l->schedule};
    if (l->is_while) {
        const tn_i_param p[] = {[TN_WHILE_COND] = {.kind = TN_K_FN, .u.fn = l->cond},
                                [TN_WHILE_BODY] = {.kind = TN_K_FN, .u.fn = l->body},
                                [TN_WHILE_COND_CONSTS] = number(l->ncond),
                                [TN_WHILE_BODY_CONSTS] = number(l->nconst),
                                [TN_WHILE_INDEX] = flag(l->index),
                                [TN_WHILE_COUNT] = flag(l->count),
                                [TN_WHILE_SCHEDULE] = schedule};
        return tn_i_emit(r->b, tn_i_prim(r->b, TN_P_while), p, tn_i_loop_nin(l), in);
    }
    const tn_i_param p[] = {[TN_SCAN_PROGRAM] = {.kind = TN_K_FN, .u.fn = l->body},
                            [TN_SCAN_LENGTH] = {.kind = l->counted ? TN_K_NONE : TN_K_INT, .u.i = l->length},
                            [TN_SCAN_CONSTS] = number(l->nconst),
                            [TN_SCAN_CARRY] = number(l->ncarry),
                            [TN_SCAN_REVERSE] = flag(l->reverse),
                            [TN_SCAN_INDEX] = flag(l->index),
                            [TN_SCAN_SCHEDULE] = schedule};
    return tn_i_emit(r->b, tn_i_prim(r->b, TN_P_scan), p, tn_i_loop_nin(l), in);
}

bool tn_i_loop_schedule_fits(tn_i_query *q, const char *schedule, bool unknown_length) {
    char reason[sizeof q->ctx->message];
    if (!schedule) return true;
    const tn_status status = tn_i_schedule_check(q->ctx, schedule, unknown_length);
    if (status == TN_OK) return true;
    if (status != TN_EINVAL) return false;
    memcpy(reason, q->ctx->message, sizeof reason);
    return tn_i_type_fail(q, -1, "%s", reason);
}

bool tn_i_entry_type(const tn_type *t, tn_type *entry) {
    if (t->rank < 1) return false;
    *entry = tn_type_of((tn_dtype)t->dtype, (size_t)t->rank - 1, t->dim + 1);
    entry->varying = t->varying;
    return true;
}

bool tn_i_stack_type(const tn_type *entry, int64_t n, tn_type *t) {
    if (entry->rank >= TN_MAX_RANK) return false;
    *t = *entry;
    memmove(t->dim + 1, t->dim, (size_t)t->rank * sizeof *t->dim);
    t->dim[0] = n;
    t->rank++;
    return tn_i_type_valid(t);
}

/* ---- rewiring ------------------------------------------------------------------ */

static tn_i_var wired(tn_i_builder *b, const tn_i_wiring *w, uint32_t k, const tn_i_var *outs) {
    const uint32_t i = k & ~(TN_WIRE_INPUT | TN_WIRE_ZERO);
    if (k & TN_WIRE_INPUT) return i;
    if (k & TN_WIRE_ZERO) return tn_i_zeros(b, w->in[i]);
    return outs[k];
}

tn_fn *tn_i_rewire(const tn_fn *f, const tn_i_wiring *w) {
    tn_ctx *c = f->ctx;
    tn_i_builder b;
    tn_i_builder_init(&b, c);
    b.named_after = f;
    b.regions = f->regions;
    b.mixed = w->linear != NULL;
    tn_i_var *args = tn_i_alloc_array(c, f->nin, sizeof *args), *outs = tn_i_alloc_array(c, f->nout, sizeof *outs),
             *out = tn_i_alloc_array(c, w->nout, sizeof *out);
    tn_fn *g = NULL;
    if (args && outs && out) {
        for (uint32_t i = 0; i < w->nin; i++) (void)tn_i_input(&b, w->in[i], w->linear && w->linear[i]);
        for (uint32_t i = 0; i < f->nin; i++) args[i] = w->from[i];
        tn_i_inline(&b, f, args, outs);
        for (uint32_t j = 0; j < w->nout && !b.failed; j++) out[j] = wired(&b, w, w->out[j], outs);
        g = tn_i_finish(&b, w->nout, out);
    } else
        tn_i_builder_drop(&b);
    tn_i_free(c, args, f->nin * sizeof *args);
    tn_i_free(c, outs, f->nout * sizeof *outs);
    tn_i_free(c, out, w->nout * sizeof *out);
    return g;
}
