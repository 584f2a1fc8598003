/* Registers to and from memory and each other. */
#include "jit/allocate.h"

#include <string.h>

static tn_i_x86_rm slot(const tn_i_allocator *a, tn_i_reg v) {
    return tn_i_x86_at(TN_RSP, a->m->area + a->state[v].slot);
}

tn_i_x86_rm tn_i_a_memory(const tn_i_allocator *a, tn_i_reg v) {
    const tn_i_m_value *x = &a->m->value[v];
    return x->constant ? tn_i_x86_pool(x->pool) : slot(a, v);
}

void tn_i_a_copy(tn_i_allocator *a, unsigned to, unsigned from, unsigned bytes) {
    const unsigned t = tn_i_a_number(to), f = tn_i_a_number(from);
    if (to == from) return;
    if (to < TN_A_V)
        tn_i_x86_g2(a->c, TN_X_mov, t, tn_i_x86_r(f));
    else if (to >= TN_A_K)
        tn_i_x86_v2(a->c, TN_X_kmovq, 0, t, tn_i_x86_r(f));
    else
        tn_i_x86_v2(a->c, TN_X_vmovaps, bytes < 16 ? 16 : bytes, t, tn_i_x86_r(f));
}

static unsigned load_op(unsigned bytes) { return bytes == 4 ? TN_X_vmovss : bytes == 8 ? TN_X_vmovsd : TN_X_vmovups; }
static unsigned store_op(unsigned bytes) {
    return bytes == 4 ? TN_X_vmovss_to : bytes == 8 ? TN_X_vmovsd_to : TN_X_vmovups_to;
}

void tn_i_a_load(tn_i_allocator *a, unsigned to, tn_i_reg v) {
    const tn_i_m_value *x = &a->m->value[v];
    const unsigned t = tn_i_a_number(to), size = x->bytes < 16 ? 16 : x->bytes;
    if (x->class == TN_CLASS_G && x->constant)
        tn_i_x86_set(a->c, t, x->number);
    else if (x->class == TN_CLASS_G)
        tn_i_x86_g2(a->c, TN_X_mov, t, slot(a, v));
    else if (x->class == TN_CLASS_K)
        tn_i_x86_v2(a->c, TN_X_kmovq, 0, t, tn_i_a_memory(a, v));
    else if (x->constant && x->number == 1 && t < 16) /* of 16 bytes: the others are zeros as well */
        tn_i_x86_v3(a->c, TN_X_vxorps, 16, t, t, tn_i_x86_r(t));
    else if (x->constant && x->number == 2 && t < 16 && size <= 32)
        tn_i_x86_v3(a->c, TN_X_vpcmpeqd, size, t, t, tn_i_x86_r(t));
    else
        tn_i_x86_v2(a->c, load_op(x->bytes), size, t, tn_i_a_memory(a, v));
}

void tn_i_a_save(tn_i_allocator *a, unsigned from, tn_i_reg slot_of) {
    const tn_i_m_value *x = &a->m->value[slot_of];
    const unsigned f = tn_i_a_number(from);
    if (x->class == TN_CLASS_G)
        tn_i_x86_g2(a->c, TN_X_mov_to, f, slot(a, slot_of));
    else if (x->class == TN_CLASS_K)
        tn_i_x86_v2(a->c, TN_X_kmovq_to, 0, f, slot(a, slot_of));
    else
        tn_i_x86_v2(a->c, store_op(x->bytes), x->bytes < 16 ? 16 : x->bytes, f, slot(a, slot_of));
}

/* Flags stay as they are. */
static void exchange(tn_i_allocator *a, unsigned x, unsigned y) {
    const unsigned p = tn_i_a_number(x), q = tn_i_a_number(y);
    if (x < TN_A_V) {
        tn_i_x86_g2(a->c, TN_X_mov, TN_RAX, tn_i_x86_r(p));
        tn_i_x86_g2(a->c, TN_X_mov, p, tn_i_x86_r(q));
        tn_i_x86_g2(a->c, TN_X_mov, q, tn_i_x86_r(TN_RAX));
        return;
    }
    const unsigned op = x >= TN_A_K ? TN_X_kxorq : TN_X_vxorps, size = x >= TN_A_K ? 0 : a->m->wide ? 64 : 32;
    tn_i_x86_v3(a->c, op, size, p, p, tn_i_x86_r(q));
    tn_i_x86_v3(a->c, op, size, q, q, tn_i_x86_r(p));
    tn_i_x86_v3(a->c, op, size, p, p, tn_i_x86_r(q));
}

/* Moves between registers: from[r] is where what is to be in r is now; those in which nobody reads go first, what is
 * left are circles. */
static void permute(tn_i_allocator *a, uint8_t from[TN_A_ALL], const uint8_t bytes[TN_A_ALL]) {
    uint8_t readers[TN_A_ALL] = {0}, ready[TN_A_ALL];
    unsigned n = 0;
    for (unsigned r = 0; r < TN_A_ALL; r++)
        if (from[r] != TN_A_NOWHERE) readers[from[r]]++;
    for (unsigned r = 0; r < TN_A_ALL; r++)
        if (from[r] != TN_A_NOWHERE && !readers[r]) ready[n++] = (uint8_t)r;
    while (n > 0) {
        const unsigned r = ready[--n], f = from[r];
        tn_i_a_copy(a, r, f, bytes[r]);
        from[r] = TN_A_NOWHERE;
        if (--readers[f] == 0 && from[f] != TN_A_NOWHERE) ready[n++] = (uint8_t)f;
    }
    for (unsigned r = 0; r < TN_A_ALL; r++)
        if (from[r] != TN_A_NOWHERE) { /* then r has what it wants, and what was in r is in f */
            const unsigned f = from[r];
            exchange(a, r, f);
            from[r] = TN_A_NOWHERE;
            for (unsigned s = 0; s < TN_A_ALL; s++)
                if (from[s] == r) from[s] = (uint8_t)(s == f ? TN_A_NOWHERE : f);
        }
}

void tn_i_a_move_all(tn_i_allocator *a, const tn_i_reg want[TN_A_ALL]) {
    uint8_t from[TN_A_ALL], bytes[TN_A_ALL] = {0};
    for (unsigned r = 0; r < TN_A_ALL; r++) {
        const tn_i_reg v = want[r];
        from[r] = TN_A_NOWHERE;
        if (v == TN_REG_NONE || a->state[v].reg == TN_A_NOWHERE || a->state[v].reg == r) continue;
        from[r] = a->state[v].reg;
        bytes[r] = a->m->value[v].bytes;
    }
    /* what stays is read by itself */
    permute(a, from, bytes);
    for (unsigned r = 0; r < TN_A_ALL; r++)
        if (want[r] != TN_REG_NONE && a->state[want[r]].reg == TN_A_NOWHERE) {
            if (!tn_i_a_in_memory(a, want[r])) tn_i_m_refuse(a->m, "a register is read that nothing was written to");
            if (!a->m->failed) tn_i_a_load(a, r, want[r]);
        }
}
