/* What nobody reads is dropped; and loads that become operands: a vector that is loaded, and read by one instruction
 * soon after, is read from memory by that instruction itself, where nothing is written in between. */
#include "base/machine.h"
#include "jit/allocate.h"

typedef struct user {
    uint32_t at, count;
} user;

static void count(user *u, tn_i_reg v, uint32_t at) {
    if (u[v].count++ == 0) u[v].at = at;
}

/* From the end: what nobody reads is nothing, and reads nothing. */
static void count_all(const tn_i_machine *m, user *u) {
    for (size_t i = 0; i < m->npair; i++) count(u, m->pair[i].value, (uint32_t)m->nin);
    for (uint32_t i = (uint32_t)m->nin; i-- > 0;) {
        tn_i_mi *in = &m->in[i];
        tn_i_reg use[8];
        const tn_i_reg made = in->flags & TN_MI_R ? in->r : in->m;
        if (in->flags & TN_MI_PURE && tn_i_is_virtual(made) && u[made].count == 0)
            *in = tn_i_m_blank(TN_M_NONE, 0);
        else
            for (unsigned n = tn_i_m_uses(in, use); n-- > 0;) count(u, use[n], i);
    }
}

/* What memory may be different behind, or registers of addresses. */
static bool separates(const tn_i_mi *in) {
    if (in->flags & TN_MI_WRITES || (tn_i_is_virtual(in->tie) && in->tie == in->r)) return true;
    return in->op >= TN_M_LABEL;
}

static bool loads(const tn_i_machine *m, const tn_i_mi *in) {
    if (!(in->flags & TN_MI_MEM) || in->k != TN_REG_NONE || !tn_i_is_virtual(in->base)) return false;
    return (in->op == TN_X_vmovss || in->op == TN_X_vmovsd || in->op == TN_X_vmovups) &&
           m->value[in->r].class == TN_CLASS_V;
}

/* Bytes of memory: of a register that is longer the others are zeros. */
static unsigned loaded(const tn_i_mi *load) {
    return load->op == TN_X_vmovss ? 4 : load->op == TN_X_vmovsd ? 8 : load->size;
}

/* v is, or becomes, the operand that may be memory. */
static bool takes(tn_i_mi *in, tn_i_reg v, unsigned bytes) {
    const unsigned reads = tn_i_a_reads(in);
    if (in->flags & (TN_MI_MEM | TN_MI_M) || reads == 0 || reads > bytes || in->tie == v) return false;
    if (in->op == TN_M_FMA) return true;
    if (in->m != v && in->flags & TN_MI_SWAP && in->v == v) {
        in->v = in->m;
        in->m = v;
    }
    return in->m == v;
}

static void take(tn_i_mi *in, const tn_i_mi *load) {
    if (in->op == TN_M_FMA) {
        if (in->v == load->r) {
            in->v = in->m;
            in->m = load->r;
        }
        if (in->m == load->r)
            in->m = TN_REG_NONE;
        else
            in->s = TN_REG_NONE;
    } else
        in->m = TN_REG_NONE;
    in->flags |= TN_MI_MEM;
    in->base = load->base;
    in->index = load->index;
    in->scale = load->scale;
    in->disp = load->disp;
}

bool tn_i_a_fold(tn_i_machine *m) {
    const size_t n = m->nvalue + 1;
    user *u = tn_i_alloc_array(m->ctx, n, sizeof *u);
    uint32_t *block = u ? tn_i_alloc_array(m->ctx, m->nin + 1, sizeof *block) : NULL;
    if (block) {
        count_all(m, u);
        for (uint32_t i = 0, b = 0; i < m->nin; i++) block[i] = b += separates(&m->in[i]);
        for (uint32_t i = 0; i < m->nin; i++) {
            tn_i_mi *load = &m->in[i];
            if (!loads(m, load) || u[load->r].count != 1 || u[load->r].at >= m->nin) continue;
            tn_i_mi *to = &m->in[u[load->r].at];
            const bool before = separates(to); /* what it writes comes after what it reads */
            if (to - load > TN_M_FOLD_NEAR || block[u[load->r].at] - before != block[i]) continue;
            if (!takes(to, load->r, loaded(load))) continue;
            take(to, load);
            *load = tn_i_m_blank(TN_M_NONE, 0);
        }
        tn_i_free(m->ctx, block, (m->nin + 1) * sizeof *block);
    }
    if (u) tn_i_free(m->ctx, u, n * sizeof *u);
    if (!block) m->failed = true;
    return block != NULL;
}
