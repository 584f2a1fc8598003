/* Reductions that no pass has written as lanes: elements are put into leaves, which are folded by calls (jit/sums.h).
 */
#include "jit/sums.h"
#include "jit/walk.h"

#include <stddef.h>

enum { MOST = 48 }; /* at once: more would fill the stack */

static int64_t address(void (*f)(void)) { return (int64_t)(intptr_t)f; }

/* rcx: the state of reduction [e] of `reduce`. */
static void find(tn_i_walk *w, uint32_t reduce, const tn_i_l_affine *e) {
    const tn_i_w_mem first = tn_i_w_stack((int32_t)w->note[reduce].loop);
    if (e->n == 0 && e->at == 0) {
        tn_i_w_fixed_load(w, TN_X_lea, 8, TN_RCX_, &first);
        return;
    }
    tn_i_w_affine(w, TN_RAX_, e);
    tn_i_w_general(w, TN_X_imul_i, 8, TN_RAX_, TN_RAX_, (int32_t)sizeof(tn_i_jit_sum));
    tn_i_w_fixed_load(w, TN_X_lea, 8, TN_RCX_, &first);
    tn_i_w_two(w, TN_X_add, 8, TN_RCX_, TN_RAX_);
}

void tn_i_w_reduce(tn_i_walk *w, uint32_t k) {
    const tn_i_l_op *o = tn_i_w_o(w, k);
    if (o->hi > MOST) {
        tn_i_w_refuse(w, "many reductions at once, not written as lanes (pass `sums`)");
        return;
    }
    if (w->note[k].loop == TN_L_NONE)
        w->note[k].loop = (uint32_t)tn_i_w_area(w, (int32_t)o->hi * (int32_t)sizeof(tn_i_jit_sum));
    const tn_i_w_mem first = tn_i_w_stack((int32_t)w->note[k].loop);
    tn_i_w_add(w, TN_M_RELEASE, 0, 0);
    tn_i_w_fixed_load(w, TN_X_lea, 8, tn_i_fixed(TN_RDI), &first);
    tn_i_w_set(w, tn_i_fixed(TN_RSI), o->hi);
    tn_i_w_set(w, TN_RDX_, o->code);
    tn_i_w_set(w, TN_RCX_, o->dtype);
    tn_i_w_set(w, tn_i_fixed(TN_R8), w->m.code->isa);
    tn_i_w_call_c(w, address((void (*)(void))tn_i_jit_empty));
}

/* The bits of x in rax. */
static void bits_of(tn_i_walk *w, int dtype, tn_i_reg x) {
    if (dtype == TN_BOOL)
        tn_i_w_bit(w, x);
    else
        tn_i_w_from_vector(w, tn_i_dtype_size(dtype) == 8 ? TN_X_vmovq_r : TN_X_vmovd_r, TN_RAX_, x);
}

static void into_arg(tn_i_walk *w, const tn_i_l_op *o) {
    find(w, o->in[0], &o->at);
    bits_of(w, o->dtype, tn_i_w_one(w, o->in[1]));
    tn_i_w_add(w, TN_M_RELEASE, 0, 0);
    tn_i_w_fixed_copy(w, TN_RDI, TN_RCX_);
    tn_i_w_fixed_copy(w, TN_RSI, TN_RAX_);
    tn_i_w_call_c(w, address((void (*)(void))tn_i_jit_arg));
}

void tn_i_w_into(tn_i_walk *w, uint32_t k) {
    const tn_i_l_op *o = tn_i_w_o(w, k);
    const int dtype = w->p->op[o->in[0]].dtype;
    if (w->p->op[o->in[0]].code >= TN_FOLD_ARGMAX) {
        into_arg(w, o);
        return;
    }
    const tn_i_w_mem n = tn_i_w_at(TN_RCX_, offsetof(tn_i_jit_sum, n));
    tn_i_w_mem element = {TN_RCX_, TN_RDX_, (uint8_t)tn_i_dtype_size(dtype), offsetof(tn_i_jit_sum, leaf)};
    find(w, o->in[0], &o->at);
    tn_i_w_fixed_load(w, TN_X_mov, 8, TN_RDX_, &n);
    tn_i_w_put_away(w, dtype, 1, &element, tn_i_w_one(w, o->in[1]), TN_REG_NONE, false);
    tn_i_w_imm(w, TN_X_add_i, 8, TN_RDX_, 1);
    tn_i_w_store_op(w, TN_X_mov_to, 8, TN_RDX_, &n, false);
    tn_i_w_imm(w, TN_X_cmp_i, 8, TN_RDX_, TN_LEAF);
    tn_i_w_add(w, TN_M_IF, TN_CC_NE, 0);
    tn_i_w_add(w, TN_M_RELEASE, 0, 0);
    tn_i_w_fixed_copy(w, TN_RDI, TN_RCX_);
    tn_i_w_call_c(w, address((void (*)(void))tn_i_jit_leaf));
    tn_i_w_add(w, TN_M_END, 0, 0);
}

void tn_i_w_total(tn_i_walk *w, uint32_t k) {
    const tn_i_l_op *o = tn_i_w_o(w, k);
    const tn_i_w_mem stack = tn_i_w_stack(tn_i_w_scratch(w, TN_W_X));
    find(w, o->in[0], &o->at);
    tn_i_w_add(w, TN_M_RELEASE, 0, 0);
    tn_i_w_fixed_copy(w, TN_RDI, TN_RCX_);
    tn_i_w_call_c(w, address((void (*)(void))tn_i_jit_total));
    tn_i_w_store_op(w, TN_X_mov_to, 8, TN_RAX_, &stack, false);
    tn_i_w_is(w, k, tn_i_w_get(w, o->dtype, 1, &stack, TN_REG_NONE));
}
