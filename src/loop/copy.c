/* Copying what a pass does not change. */
#include "loop/inside.h"

#include <string.h>

struct tn_i_l_moved {
    uint32_t loop;
    tn_i_affine e;
};

static void copy_array(tn_i_l_builder *b, const tn_i_l_array *a) {
    if (a->role == TN_L_CONST)
        (void)tn_i_l_const(b, a->name, a->dtype, a->count, a->data, a->own);
    else
        (void)tn_i_l_array_as(b, *a);
}

bool tn_i_l_copy_begin(tn_i_l_copy *c, tn_i_l_builder *b, const tn_i_loops *p) {
    *c = (tn_i_l_copy){.b = b, .p = p};
    if (b->failed) return false;
    if (p->nop && !(c->value = tn_i_alloc_array(b->ctx, p->nop, sizeof *c->value))) b->failed = true;
    if (!b->failed && p->nop) memset(c->value, 0xff, p->nop * sizeof *c->value);
    if (p->arena != TN_L_NONE) tn_i_l_arena(b, p->arena, p->bytes);
    for (uint32_t i = 0; !b->failed && i < p->narray; i++) copy_array(b, &p->array[i]);
    for (uint32_t i = 0; !b->failed && i < p->nkernel; i++) {
        /* kernels that are alike keep indices of their own */
        tn_i_loops *q = b->p;
        if (!tn_i_grow(b->ctx, (void **)(void *)&q->kernel, &q->ckernel, (size_t)q->nkernel + 1, sizeof *q->kernel))
            b->failed = true;
        else
            q->kernel[q->nkernel++] = p->kernel[i];
    }
    if (!b->failed && b->p->nbase < p->nbase) b->p->nbase = p->nbase;
    return !b->failed;
}

/* ---- copies that are the same ---- */

static bool same_affine(const tn_i_l_affine *a, const tn_i_l_affine *b) {
    return a->at == b->at && a->n == b->n && (a->n == 0 || a->first == b->first);
}

static bool same_op(const tn_i_l_op *a, const tn_i_l_op *b) {
    return a->kind == b->kind && a->dtype == b->dtype && a->code == b->code && a->nin == b->nin &&
           a->unroll == b->unroll && a->vector == b->vector && a->parallel == b->parallel && a->update == b->update &&
           a->in[0] == b->in[0] && a->in[1] == b->in[1] && a->in[2] == b->in[2] && a->which == b->which &&
           a->to == b->to && a->arg == b->arg && a->narg == b->narg && same_affine(&a->at, &b->at) && a->lo == b->lo &&
           a->hi == b->hi && a->bits == b->bits;
}

static bool same_array(const tn_i_l_array *a, const tn_i_l_array *b) {
    return a->dtype == b->dtype && a->role == b->role && a->align == b->align && a->count == b->count &&
           a->base == b->base && a->at == b->at && a->name == b->name;
}

static bool same_arg(const tn_i_l_arg *a, const tn_i_l_arg *b) {
    return a->access == b->access && a->array == b->array && a->count == b->count && same_affine(&a->at, &b->at);
}

/* Whether p is what it was copied from, which has been checked: most passes have nothing to do in most programs. */
static bool same(const tn_i_loops *p, const tn_i_loops *q) {
    bool is = q && p->nop == q->nop && p->narray == q->narray && p->nkernel == q->nkernel && p->nbase == q->nbase &&
              p->nterm == q->nterm && p->narg == q->narg && p->arena == q->arena && p->bytes == q->bytes;
    for (size_t i = 0; is && i < p->nop; i++) is = same_op(&p->op[i], &q->op[i]);
    for (size_t i = 0; is && i < p->narray; i++) is = same_array(&p->array[i], &q->array[i]);
    for (size_t i = 0; is && i < p->nterm; i++)
        is = p->term[i].loop == q->term[i].loop && p->term[i].by == q->term[i].by;
    for (size_t i = 0; is && i < p->narg; i++) is = same_arg(&p->arg[i], &q->arg[i]);
    return is;
}

void tn_i_l_copy_end(tn_i_l_copy *c) {
    if (c->b->ctx->check && !c->b->failed && same(c->b->p, c->p)) c->b->copied = c->p->nop;
    if (c->value) tn_i_free(c->b->ctx, c->value, c->p->nop * sizeof *c->value);
    tn_i_free(c->b->ctx, c->moved, c->cmoved * sizeof *c->moved);
    *c = (tn_i_l_copy){.b = c->b};
}

void tn_i_l_copy_loop(tn_i_l_copy *c, uint32_t loop, tn_i_affine e) {
    if (c->b->failed) return;
    if (!tn_i_grow(c->b->ctx, (void **)(void *)&c->moved, &c->cmoved, c->nmoved + 1, sizeof *c->moved)) {
        c->b->failed = true;
        return;
    }
    c->moved[c->nmoved++] = (struct tn_i_l_moved){loop, e};
    c->value[loop] = TN_L_NONE;
}

tn_i_affine tn_i_l_copied_loop(tn_i_l_copy *c, uint32_t loop) {
    if (c->b->failed) return tn_i_affine_number(0);
    if (c->value[loop] != TN_L_NONE) return tn_i_affine_loop(c->value[loop], 1, 0);
    for (size_t m = c->nmoved; m > 0; m--)
        if (c->moved[m - 1].loop == loop) return c->moved[m - 1].e;
    tn_i_l_fail(c->b, TN_ERULE, "a pass copies what counts a loop that it has not copied");
    return tn_i_affine_number(0);
}

tn_i_affine tn_i_l_copy_affine(tn_i_l_copy *c, const tn_i_l_affine *a) {
    tn_i_affine e = tn_i_affine_number(a->at);
    const tn_i_l_term *t = tn_i_l_terms(c->p, a);
    for (uint32_t i = 0; i < a->n && !c->b->failed; i++)
        e = tn_i_affine_add(c->b, e, t[i].by, tn_i_l_copied_loop(c, t[i].loop));
    return e;
}

static uint32_t operand(tn_i_l_copy *c, uint32_t k) {
    if (k == TN_L_NONE) return k;
    if (c->value[k] == TN_L_NONE)
        tn_i_l_fail(c->b, TN_ERULE, "a pass copies what reads a value that it has not copied");
    return c->value[k];
}

static void copy_arguments(tn_i_l_copy *c, const tn_i_l_op *o) {
    for (uint32_t i = 0; i < o->narg; i++) {
        const tn_i_l_arg *a = &c->p->arg[o->arg + i];
        const tn_i_affine e = tn_i_l_copy_affine(c, &a->at);
        if (a->access == TN_L_INTEGER)
            tn_i_l_call_integer(c->b, e);
        else
            tn_i_l_call_array(c->b, a->access, a->array, e, a->count);
    }
}

/* What counts loops that are copied as they are, in their order. */
static bool copy_terms(tn_i_l_copy *c, tn_i_l_affine *a) {
    tn_i_loops *q = c->b->p;
    const tn_i_l_term *t = tn_i_l_terms(c->p, a);
    for (uint32_t i = 0; i < a->n; i++) {
        const uint32_t loop = c->value[t[i].loop];
        if (loop == TN_L_NONE || (i && loop <= c->value[t[i - 1].loop])) return false;
    }
    if (a->n == 0) return true;
    if (q->nterm > UINT32_MAX - a->n ||
        !tn_i_grow(c->b->ctx, (void **)(void *)&q->term, &q->cterm, q->nterm + a->n, sizeof *q->term)) {
        c->b->failed = true;
        return false;
    }
    a->first = (uint32_t)q->nterm;
    for (uint32_t i = 0; i < a->n; i++) q->term[q->nterm++] = (tn_i_l_term){c->value[t[i].loop], t[i].by};
    return true;
}

/* Most operations: no affine expression is made of what they count. */
static bool copy_plain(tn_i_l_copy *c, uint32_t k) {
    tn_i_l_op o = c->p->op[k];
    if (o.kind >= TN_L_CALL || !copy_terms(c, &o.at)) return false;
    for (int i = 0; i < 3; i++) o.in[i] = operand(c, o.in[i]);
    c->value[k] = tn_i_l_emit(c->b, o, NULL);
    return true;
}

void tn_i_l_copy_op(tn_i_l_copy *c, uint32_t k) {
    if (c->b->failed || copy_plain(c, k)) return;
    tn_i_l_op o = c->p->op[k];
    const tn_i_affine e = tn_i_l_copy_affine(c, &o.at);
    for (int i = 0; i < 3; i++) o.in[i] = operand(c, o.in[i]);
    switch (o.kind) {
    case TN_L_FOR:
        c->value[k] = tn_i_l_for_up_to(c->b, o.hi, e, o.in[0]);
        if (c->b->failed) return;
        tn_i_l_op *loop = &c->b->p->op[c->value[k]];
        loop->unroll = o.unroll;
        loop->vector = o.vector;
        loop->parallel = o.parallel;
        return;
    case TN_L_IF: tn_i_l_if(c->b, o.in[0]); return;
    case TN_L_ELSE: tn_i_l_else(c->b); return;
    case TN_L_END: tn_i_l_close(c->b); return;
    case TN_L_CALL:
        tn_i_l_call(c->b, o.which);
        copy_arguments(c, &c->p->op[k]);
        return;
    default: c->value[k] = tn_i_l_emit(c->b, o, &e); return;
    }
}

void tn_i_l_copy_ops(tn_i_l_copy *c, uint32_t first, uint32_t last) {
    for (uint32_t k = first; k < last && !c->b->failed; k++) tn_i_l_copy_op(c, k);
}
