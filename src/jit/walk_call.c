/* Calls: functions of vectors, scalar bodies, kernels. */
#include "jit/walk.h"
#include "loop/inside.h"
#include "vec/vec.h"

#include <stdio.h>

/* ---- functions of vectors ------------------------------------------------------------------------------------ */

/* x as a full vector: what stands in lanes beyond is like what stands in those there are. */
static tn_i_reg filled(tn_i_walk *w, int dtype, unsigned lanes, tn_i_reg x) {
    unsigned bytes = tn_i_w_bytes(w, dtype, lanes);
    if (lanes == 1) return tn_i_w_spread(w, dtype, x);
    if (lanes * tn_i_dtype_size(dtype) == 8) x = tn_i_w_put_of(w, TN_X_vpunpcklqdq, 16, 16, x, x, 0);
    for (; bytes < w->machine; bytes *= 2)
        x = bytes == 16 ? tn_i_w_put_of(w, TN_X_vinsertf128, 32, 32, x, x, 1)
                        : tn_i_w_put_of(w, TN_X_vinsertf64x4, 64, 64, x, x, 1);
    return x;
}

static tn_i_reg function(tn_i_walk *w, int64_t address, int dtype, unsigned lanes, tn_i_reg x, tn_i_reg y) {
    tn_i_mi in = tn_i_m_blank(TN_M_FUNCTION, 0);
    in.s = tn_i_m_number(&w->m, TN_CLASS_G, address);
    in.r = tn_i_m_new(&w->m, TN_CLASS_V, tn_i_w_bytes(w, dtype, lanes));
    in.v = x;
    in.m = y;
    in.flags = TN_MI_R | TN_MI_PURE;
    tn_i_m_add(&w->m, &in);
    return in.r;
}

/* ---- scalar bodies -------------------------------------------------------------------------------------------- */

static const tn_prim *prim_of(const tn_i_walk *w, const tn_i_l_op *o) {
    return w->ctx->prims[o->code == TN_L_fn ? o->which : (uint32_t)tn_i_l_rows[o->code].prim];
}

static void stack_address(tn_i_walk *w, unsigned to, int32_t at) {
    const tn_i_w_mem stack = tn_i_w_stack(at);
    tn_i_w_fixed_load(w, TN_X_lea, 8, tn_i_fixed(to), &stack);
}

static void put_on_stack(tn_i_walk *w, int32_t at, tn_i_reg r) {
    const tn_i_w_mem stack = tn_i_w_stack(at);
    tn_i_w_store_op(w, TN_X_mov_to, 8, r, &stack, false);
}

/* strip(lanes, in, strides, out, 1), operands and result on the stack. */
static tn_i_reg strip(tn_i_walk *w, const tn_i_l_op *o, tn_i_strip *f, unsigned lanes, const tn_i_reg in[3]) {
    static const int place[3] = {TN_W_X, TN_W_Y, TN_W_Z};
    const int32_t call = tn_i_w_scratch(w, TN_W_CALL);
    for (int i = 0; i < o->nin; i++) {
        const tn_i_w_mem at = tn_i_w_stack(tn_i_w_scratch(w, place[i]));
        tn_i_w_put_away(w, w->p->op[o->in[i]].dtype, lanes, &at, in[i], TN_REG_NONE, false);
    }
    tn_i_w_add(w, TN_M_RELEASE, 0, 0);
    tn_i_w_set(w, TN_RCX_, 1);
    for (int i = 0; i < o->nin; i++) {
        stack_address(w, TN_RAX, tn_i_w_scratch(w, place[i]));
        put_on_stack(w, call + i * 8, TN_RAX_);
        put_on_stack(w, call + 24 + i * 8, TN_RCX_);
    }
    tn_i_w_set(w, tn_i_fixed(TN_RDI), lanes);
    stack_address(w, TN_RSI, call);
    stack_address(w, TN_RDX, call + 24);
    stack_address(w, TN_RCX, tn_i_w_scratch(w, TN_W_AT));
    tn_i_w_set(w, tn_i_fixed(TN_R8), 1);
    tn_i_w_call_c(w, (int64_t)(intptr_t)f);
    const tn_i_w_mem out = tn_i_w_stack(tn_i_w_scratch(w, TN_W_AT));
    return tn_i_w_get(w, o->dtype, lanes, &out, TN_REG_NONE);
}

/* ---- fn -----------------------------------------------------------------------------------------------------------
 */

void tn_i_w_fn(tn_i_walk *w, uint32_t k) {
    const tn_i_l_op *o = tn_i_w_o(w, k);
    const tn_prim *prim = prim_of(w, o);
    const bool many = w->note[k].varies;
    const unsigned lanes = many ? w->lanes : 1;
    tn_i_strip *body = tn_i_l_body(w->p, o);
    const char *name = tn_i_l_vector_name(w->p, o);
    const tn_i_vec v = name ? tn_i_vec_math(name, w->m.code->isa, w->o->accurate) : (tn_i_vec){0};
    if (v.strip) body = v.strip;
    if (!body) {
        char why[TN_JIT_WHY];
        (void)snprintf(why, sizeof why, "%s has no scalar body", prim->name);
        tn_i_w_refuse(w, why);
        return;
    }
    const size_t at = w->npiece;
    for (unsigned i = 0; i < (many ? w->pieces : 1) && !w->m.failed; i++) {
        tn_i_reg in[3] = {TN_REG_NONE, TN_REG_NONE, TN_REG_NONE}, r;
        for (int j = 0; j < o->nin; j++) {
            in[j] = many ? tn_i_w_piece(w, o->in[j], i) : tn_i_w_one(w, o->in[j]);
            if (v.itself && (!many || w->note[o->in[j]].varies)) in[j] = filled(w, o->dtype, lanes, in[j]);
        }
        if (v.itself)
            r = function(w, (int64_t)(intptr_t)v.itself(), o->dtype, lanes, in[0], in[1]);
        else
            r = strip(w, o, body, lanes, in);
        if (many)
            tn_i_w_add_piece(w, r);
        else
            tn_i_w_is(w, k, r);
    }
    if (many) w->note[k].at = (tn_i_reg)at;
}

/* ---- functions of several numbers ---- */

/* The lowest elements of n registers, a power of two, side by side. */
static tn_i_reg beside(tn_i_walk *w, int dtype, unsigned n, const tn_i_reg *x) {
    if (n == 1) return x[0];
    const tn_i_reg low = beside(w, dtype, n / 2, x), high = beside(w, dtype, n / 2, x + n / 2);
    switch (n / 2 * (unsigned)tn_i_dtype_size(dtype)) {
    case 4: return tn_i_w_put_of(w, TN_X_vunpcklps, 16, 16, low, high, 0);
    case 8: return tn_i_w_put_of(w, TN_X_vpunpcklqdq, 16, 16, low, high, 0);
    case 16: return tn_i_w_put_of(w, TN_X_vinsertf128, 32, 32, low, high, 1);
    default: return tn_i_w_put_of(w, TN_X_vinsertf64x4, 64, 64, low, high, 1);
    }
}

/* Lanes 0 .. n - 1 of x, of `lanes`, are operations k, k + 1 .. */
static void apart(tn_i_walk *w, uint32_t k, unsigned n, int dtype, unsigned lanes, tn_i_reg x) {
    if (lanes == 1) {
        tn_i_w_is(w, k, x);
        return;
    }
    const unsigned half = lanes / 2;
    apart(w, k, n < half ? n : half, dtype, half, x);
    if (n > half) apart(w, k + half, n - half, dtype, half, tn_i_w_upper(w, dtype, half, x));
}

static tn_i_reg operands(tn_i_walk *w, uint32_t k, int i, unsigned n, unsigned lanes) {
    tn_i_reg x[TN_L_HALVED];
    for (unsigned j = 0; j < lanes; j++) x[j] = tn_i_w_one(w, tn_i_w_o(w, k + (j < n ? j : n - 1))->in[i]);
    const int dtype = tn_i_w_o(w, k)->dtype;
    return filled(w, dtype, lanes, beside(w, dtype, lanes, x));
}

uint32_t tn_i_w_fns(tn_i_walk *w, uint32_t k, uint32_t last) {
    const tn_i_l_op *o = tn_i_w_o(w, k);
    const char *name = o->kind == TN_L_MAP ? tn_i_l_vector_name(w->p, o) : NULL;
    const tn_i_vec v = name ? tn_i_vec_math(name, w->m.code->isa, w->o->accurate) : (tn_i_vec){0};
    const unsigned most = v.itself ? w->machine / (unsigned)tn_i_dtype_size(o->dtype) : 1;
    const uint32_t all = most > 1 && o->nin <= 2 ? tn_i_l_together(w->p, k, last) : 1;
    const unsigned n = all < most ? all : most;
    unsigned lanes = 2;
    if (n < 2) return k;
    while (lanes < n) lanes *= 2;
    const tn_i_reg x = operands(w, k, 0, n, lanes), y = o->nin == 2 ? operands(w, k, 1, n, lanes) : TN_REG_NONE;
    apart(w, k, n, o->dtype, lanes, function(w, (int64_t)(intptr_t)v.itself(), o->dtype, lanes, x, y));
    return k + n;
}

/* ---- kernels --------------------------------------------------------------------------------------------------------
 */

static void need_arguments(tn_i_walk *w) {
    uint32_t most = 1;
    if (w->arguments >= 0) return;
    for (uint32_t k = 0; k < w->p->nop; k++)
        if (w->p->op[k].kind == TN_L_CALL && w->p->op[k].narg > most) most = w->p->op[k].narg;
    if (most > 4096) tn_i_w_refuse(w, "a call of too many arguments");
    w->arguments = tn_i_w_area(w, w->m.failed ? 16 : (int32_t)most * 16);
}

void tn_i_w_call(tn_i_walk *w, uint32_t k) {
    const tn_i_l_op *o = tn_i_w_o(w, k);
    const tn_i_l_kernel *f = &w->p->kernel[o->which];
    if (!f->run) {
        tn_i_w_refuse(w, "a kernel is known by its name alone");
        return;
    }
    need_arguments(w);
    uint32_t arrays = 0, numbers = 0;
    for (uint32_t i = 0; i < o->narg; i++) arrays += w->p->arg[o->arg + i].access != TN_L_INTEGER;
    const int32_t number = w->arguments + (int32_t)arrays * 8;
    arrays = 0;
    for (uint32_t i = 0; i < o->narg && !w->m.failed; i++) {
        const tn_i_l_arg *a = &w->p->arg[o->arg + i];
        if (a->access == TN_L_INTEGER) {
            tn_i_w_affine(w, TN_RAX_, &a->at);
            put_on_stack(w, number + (int32_t)numbers++ * 8, TN_RAX_);
            continue;
        }
        tn_i_w_mem at;
        tn_i_w_address(w, a->array, &a->at, 0, &at);
        tn_i_w_bound(w, a->array, &at, a->count * (int64_t)tn_i_dtype_size(w->p->array[a->array].dtype));
        tn_i_w_fixed_load(w, TN_X_lea, 8, TN_RAX_, &at);
        put_on_stack(w, w->arguments + (int32_t)arrays++ * 8, TN_RAX_);
    }
    tn_i_w_add(w, TN_M_RELEASE, 0, 0);
    tn_i_w_set(w, tn_i_fixed(TN_RDI), (int64_t)(intptr_t)f->data);
    tn_i_w_fixed_copy(w, TN_RSI, w->run);
    stack_address(w, TN_RDX, w->arguments);
    stack_address(w, TN_RCX, number);
    tn_i_w_call_c(w, (int64_t)(intptr_t)f->run);
    tn_i_w_add(w, TN_M_RETURN_IF, 0, 0);
}
