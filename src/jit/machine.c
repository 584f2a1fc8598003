/* The list of instructions on virtual registers, while it is written (jit/machine.h). */
#include "jit/machine.h"

#include <stdio.h>
#include <string.h>

void tn_i_m_begin(tn_i_machine *m, tn_i_code *code, char *why) {
    *m = (tn_i_machine){.ctx = code->ctx, .code = code, .why = why, .wide = code->isa == TN_ISA_AVX512};
    tn_i_m_clear(m);
}

void tn_i_m_drop(tn_i_machine *m) {
    tn_ctx *c = m->ctx;
    tn_i_free(c, m->in, m->cin * sizeof *m->in);
    tn_i_free(c, m->value, m->cvalue * sizeof *m->value);
    tn_i_free(c, m->link, m->clink * sizeof *m->link);
    tn_i_free(c, m->pair, m->cpair * sizeof *m->pair);
    tn_i_free(c, m->loop, m->cloop * sizeof *m->loop);
    tn_i_free(c, m->slot, m->cslot * sizeof *m->slot);
    *m = (tn_i_machine){.ctx = c};
}

void tn_i_m_clear(tn_i_machine *m) {
    m->nin = m->nvalue = m->nlink = m->npair = m->nloop = m->nconstant = 0;
    if (m->slot) memset(m->slot, 0, m->cslot * sizeof *m->slot);
    m->open = TN_REG_NONE;
    m->area = 0;
    m->nlabel = 0;
    m->calls = false;
}

void tn_i_m_refuse(tn_i_machine *m, const char *why) {
    if (!m->failed && !m->why[0]) (void)snprintf(m->why, TN_JIT_WHY, "%s", why);
    m->failed = true;
}

static bool grow(tn_i_machine *m, void *p, size_t *capacity, size_t want, size_t size) {
    void *q;
    if (m->failed) return false;
    memcpy(&q, p, sizeof q);
    m->failed = !tn_i_grow(m->ctx, &q, capacity, want, size);
    memcpy(p, &q, sizeof q);
    return !m->failed;
}

/* ---- registers ---------------------------------------------------------------------------- */

tn_i_reg tn_i_m_new(tn_i_machine *m, int class, unsigned bytes) {
    if (m->nvalue >= TN_REG_FIXED) tn_i_m_refuse(m, "the program is too long");
    if (!grow(m, &m->value, &m->cvalue, m->nvalue + 1, sizeof *m->value)) return 0;
    m->value[m->nvalue] = (tn_i_m_value){.class = (uint8_t) class,
                                         .bytes = (uint8_t)bytes,
                                         .like = TN_REG_NONE,
                                         .born = (uint32_t)m->nin,
                                         .link = TN_REG_NONE,
                                         .loop = TN_REG_NONE};
    return (tn_i_reg)m->nvalue++;
}

static uint64_t key_of(const tn_i_m_value *v) {
    const uint64_t what[2] = {(uint64_t)v->class << 32 | v->pool, (uint64_t)v->number};
    return tn_i_hash(7, what, sizeof what);
}

static size_t place_of(const tn_i_machine *m, const tn_i_m_value *v) {
    size_t i = (size_t)key_of(v) & (m->cslot - 1);
    while (m->slot[i]) {
        const tn_i_m_value *u = &m->value[m->slot[i] - 1];
        if (u->class == v->class && u->pool == v->pool && u->number == v->number) break;
        i = (i + 1) & (m->cslot - 1);
    }
    return i;
}

static bool more_slots(tn_i_machine *m) {
    const size_t before = m->cslot, now = before ? 2 * before : 64;
    if (m->failed || 2 * (m->nconstant + 1) <= before) return !m->failed;
    uint32_t *const old = m->slot, *const slot = tn_i_alloc_array(m->ctx, now, sizeof *slot);
    if (!slot) return m->failed = true, false;
    m->slot = slot;
    m->cslot = now;
    for (size_t i = 0; i < before; i++)
        if (old[i]) slot[place_of(m, &m->value[old[i] - 1])] = old[i];
    tn_i_free(m->ctx, old, before * sizeof *old);
    return true;
}

static tn_i_reg constant(tn_i_machine *m, tn_i_m_value v) {
    if (!more_slots(m)) return 0;
    const size_t i = place_of(m, &v);
    if (m->slot[i]) return m->slot[i] - 1;
    const tn_i_reg r = tn_i_m_new(m, v.class, v.bytes);
    if (m->failed) return 0;
    v.constant = true;
    v.like = v.link = v.loop = TN_REG_NONE;
    m->value[r] = v;
    m->slot[i] = r + 1;
    m->nconstant++;
    return r;
}

tn_i_reg tn_i_m_constant(tn_i_machine *m, const void *bytes, unsigned size) {
    const uint8_t *const byte = bytes;
    unsigned ones = 0, zeros = 0;
    while (ones < size && byte[ones] == 0xFF) ones++;
    while (ones + zeros < size && byte[ones + zeros] == 0) zeros++;
    const bool first = ones + zeros == size;
    const tn_i_jit_const pool = tn_i_code_constant_of(m->code, bytes, size);
    if (m->code->failed) m->failed = true;
    return constant(m, (tn_i_m_value){.class = TN_CLASS_V,
                                      .bytes = (uint8_t)size,
                                      .pool = pool,
                                      .number = !first       ? 0
                                                : ones == 0  ? 1
                                                : zeros == 0 ? 2
                                                             : -(int64_t)ones});
}

tn_i_reg tn_i_m_number(tn_i_machine *m, int class, int64_t x) {
    const tn_i_jit_const pool = tn_i_code_constant_of(m->code, &x, 8);
    if (m->code->failed) m->failed = true;
    return constant(m, (tn_i_m_value){.class = (uint8_t) class, .bytes = 8, .pool = pool, .number = x});
}

/* ---- instructions ----------------------------------------------------------------------------- */

unsigned tn_i_m_uses(const tn_i_mi *in, tn_i_reg use[8]) {
    unsigned n = 0;
    if (in->op == TN_M_BEGIN) return 0;
    const tn_i_reg all[] = {in->v, in->s, in->tie, in->k, in->base, in->index};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        if (tn_i_is_virtual(all[i])) use[n++] = all[i];
    if (tn_i_is_virtual(in->m) && !(in->flags & TN_MI_M)) use[n++] = in->m;
    if (tn_i_is_virtual(in->r) && !(in->flags & TN_MI_R)) use[n++] = in->r;
    return n;
}

/* What a loop reads from outside is alive until its end. */
void tn_i_m_use(tn_i_machine *m, tn_i_reg v) {
    if (m->failed) return;
    for (uint32_t l = m->open; l != TN_REG_NONE && m->value[v].born < m->loop[l].begin; l = m->loop[l].outer) {
        const uint32_t known = m->value[v].link;
        if (known != TN_REG_NONE && m->link[known].loop == l) {
            m->link[known].uses++;
            return;
        }
        if (!grow(m, &m->link, &m->clink, m->nlink + 1, sizeof *m->link)) return;
        m->link[m->nlink] = (tn_i_m_link){v, l, m->loop[l].links, 1};
        m->loop[l].links = (uint32_t)m->nlink;
        if (l == m->open) m->value[v].link = (uint32_t)m->nlink;
        m->nlink++;
    }
}

void tn_i_m_add(tn_i_machine *m, const tn_i_mi *in) {
    tn_i_reg use[8];
    if (m->nin >= (size_t)1 << 30) tn_i_m_refuse(m, "the program is too long");
    if (!grow(m, &m->in, &m->cin, m->nin + 1, sizeof *m->in)) return;
    m->in[m->nin++] = *in;
    for (unsigned i = tn_i_m_uses(in, use); i-- > 0;) tn_i_m_use(m, use[i]);
    if (in->op == TN_M_CALL || in->op == TN_M_CALL_LABEL || in->op == TN_M_FUNCTION) {
        m->calls = true;
        for (uint32_t l = m->open; l != TN_REG_NONE && !m->loop[l].calls; l = m->loop[l].outer) m->loop[l].calls = true;
    }
    if (in->op == TN_M_AGAIN && !m->failed) {
        m->loop[in->imm].end = (uint32_t)m->nin;
        m->open = m->loop[in->imm].outer;
    }
}

uint32_t tn_i_m_loop_new(tn_i_machine *m) {
    if (!grow(m, &m->loop, &m->cloop, m->nloop + 1, sizeof *m->loop)) return 0;
    m->loop[m->nloop] = (tn_i_m_loop){
        .outer = m->open, .begin = (uint32_t)m->nin, .links = TN_REG_NONE, .pairs = TN_REG_NONE, .kept = TN_REG_NONE};
    m->open = (uint32_t)m->nloop;
    return (uint32_t)m->nloop++;
}

void tn_i_m_carry(tn_i_machine *m, uint32_t loop, tn_i_reg carry, tn_i_reg next) {
    if (carry == next || !grow(m, &m->pair, &m->cpair, m->npair + 1, sizeof *m->pair)) return;
    m->pair[m->npair] = (tn_i_m_pair){carry, next, m->loop[loop].pairs};
    m->loop[loop].pairs = (uint32_t)m->npair++;
    if (!m->value[next].constant) m->value[next].like = carry;
    tn_i_m_use(m, next);
}

void tn_i_m_keep(tn_i_machine *m, uint32_t loop, tn_i_reg carry) {
    if (!grow(m, &m->link, &m->clink, m->nlink + 1, sizeof *m->link)) return;
    m->link[m->nlink] = (tn_i_m_link){carry, loop, m->loop[loop].kept, 1};
    m->loop[loop].kept = (uint32_t)m->nlink++;
}
