/* From the list to code: instructions of machine.h's own, calls, and the frame around a function.
 *
 *     rsp -> | area of sequences | slots | rsp as it was |   all of it begins at a multiple of 64 */
#include "jit/allocate.h"

#include <string.h>

enum { PAGE = 4096 };

/* ---- copies, numbers, fma ----------------------------------------------------------------------- */

static void copy_fixed(tn_i_allocator *a, const tn_i_mi *in) {
    if (!tn_i_is_virtual(in->r)) {
        tn_i_mi mov = *in;
        mov.op = TN_X_mov;
        mov.size = 8;
        mov.flags = TN_MI_R;
        tn_i_a_instruction(a, &mov);
        return;
    }
    const unsigned r = tn_i_a_result(a, in->r);
    tn_i_a_copy(a, r, in->m & 31, 8);
    tn_i_a_defined(a, r, in->r);
}

static void copy(tn_i_allocator *a, const tn_i_mi *in) {
    if (!tn_i_is_virtual(in->r) || !tn_i_is_virtual(in->m)) {
        copy_fixed(a, in);
        return;
    }
    const tn_i_reg v = in->m;
    const unsigned from = a->state[v].reg;
    tn_i_a_consume(a, v);
    const bool last = !tn_i_a_alive(a, v), wanted = a->state[in->r].at != a->state[in->r].end;
    if (wanted && last && from != TN_A_NOWHERE) {
        tn_i_a_dies(a, v);
        tn_i_a_defined(a, from, in->r);
        return;
    }
    if (from != TN_A_NOWHERE) a->pinned |= (uint64_t)1 << from;
    if (wanted) {
        const unsigned r = tn_i_a_result(a, in->r);
        if (from == TN_A_NOWHERE && !tn_i_a_in_memory(a, v))
            tn_i_m_refuse(a->m, "a register is read that nothing was written to");
        else if (from == TN_A_NOWHERE)
            tn_i_a_load(a, r, v);
        else
            tn_i_a_copy(a, r, from, a->m->value[in->r].bytes);
        if (last) tn_i_a_dies(a, v);
        tn_i_a_defined(a, r, in->r);
    } else if (last)
        tn_i_a_dies(a, v);
    a->pinned = 0;
}

static void set(tn_i_allocator *a, const tn_i_mi *in) {
    const bool constant = in->m != TN_REG_NONE;
    const int64_t x = constant ? a->m->value[in->m].number : in->imm;
    if (constant) {
        tn_i_a_consume(a, in->m);
        if (!tn_i_a_alive(a, in->m)) tn_i_a_dies(a, in->m);
    }
    if (!tn_i_is_virtual(in->r)) {
        tn_i_x86_set(a->c, in->r & 15, x);
        return;
    }
    const unsigned r = tn_i_a_result(a, in->r);
    tn_i_x86_set(a->c, r, x);
    tn_i_a_defined(a, r, in->r);
}

static void bump(tn_i_allocator *a, const tn_i_mi *in) {
    const unsigned r = tn_i_a_fetch(a, in->r);
    tn_i_x86_gi(a->c, TN_X_add_i, tn_i_x86_r(r), in->imm);
    tn_i_a_consume(a, in->r);
    tn_i_a_defined(a, r, in->r);
    a->pinned = 0;
}

/* Three instructions for each: which operand is overwritten, which may be memory. */
static unsigned fma_op(const tn_i_mi *in, int form) {
    static const uint16_t ops[3][3][4] = {
#define FORMS(name)                                                                             \
    {                                                                                           \
        {TN_X_##name##132ps, TN_X_##name##132pd, TN_X_##name##132ss, TN_X_##name##132sd},       \
            {TN_X_##name##213ps, TN_X_##name##213pd, TN_X_##name##213ss, TN_X_##name##213sd}, { \
            TN_X_##name##231ps, TN_X_##name##231pd, TN_X_##name##231ss, TN_X_##name##231sd      \
        }                                                                                       \
    }
        FORMS(vfmadd), FORMS(vfmsub), FORMS(vfnmadd)
#undef FORMS
    };
    const bool one = in->size <= 8, wide = one ? in->size == 8 : in->cc;
    return ops[in->imm][form][one * 2 + wide];
}

static bool dies_here(const tn_i_allocator *a, tn_i_reg v) {
    const tn_i_a_state *s = &a->state[v];
    return s->at + 1 == s->end || (s->at + 1 < s->end && a->event[s->at + 1] & 1);
}

/* The three factors: where each is, and whether its register is free afterwards. */
typedef struct factor {
    tn_i_reg of;
    bool memory, dies;
    unsigned reg;
} factor;

static factor factor_of(const tn_i_allocator *a, const tn_i_mi *in, tn_i_reg v, bool may) {
    factor f = {.of = v, .memory = v == TN_REG_NONE};
    const unsigned times = (unsigned)(in->v == v) + (in->m == v) + (in->s == v);
    if (f.memory) return f;
    f.memory = may && a->state[v].reg == TN_A_NOWHERE && tn_i_a_stays(a, in, v);
    f.dies = !f.memory && times == 1 && dies_here(a, v) && !a->m->value[v].constant;
    return f;
}

static tn_i_x86_rm factor_rm(tn_i_allocator *a, const tn_i_mi *in, const factor *f) {
    if (!f->memory) return tn_i_x86_r(tn_i_a_number(f->reg));
    return f->of == TN_REG_NONE ? tn_i_a_address(a, in) : tn_i_a_memory(a, f->of);
}

/* x y + z: the register that is overwritten is one that dies here, what is in memory comes last. */
static void multiply_add(tn_i_allocator *a, const tn_i_mi *in) {
    enum { F132, F213, F231 };
    if (a->state[in->r].at == a->state[in->r].end) {
        tn_i_a_consume_uses(a, in);
        return;
    }
    const bool may = !(in->flags & TN_MI_MEM);
    factor z = factor_of(a, in, in->s, may), y = factor_of(a, in, in->m, may && !z.memory),
           x = factor_of(a, in, in->v, may && !z.memory && !y.memory);
    if (x.memory) {
        const factor other = x;
        x = y;
        y = other;
    }
    x.reg = tn_i_a_fetch(a, x.of);
    if (!y.memory) y.reg = tn_i_a_fetch(a, y.of);
    if (!z.memory) z.reg = tn_i_a_fetch(a, z.of);
    int form;
    factor *d, *v, *m;
    if (z.memory || (!y.memory && !z.dies && (x.dies || y.dies))) { /* d = v d + rm */
        form = F213;
        d = x.dies || y.memory || !y.dies ? &x : &y;
        v = d == &x ? &y : &x;
        m = &z;
    } else if (y.memory && !z.dies && x.dies) { /* d = d rm + v */
        form = F132;
        d = &x;
        v = &z;
        m = &y;
    } else { /* d = v rm + d */
        form = F231;
        d = &z;
        v = &x;
        m = &y;
    }
    const tn_i_x86_rm rm = factor_rm(a, in, m);
    unsigned r = d->reg;
    if (!d->dies) {
        r = tn_i_a_result(a, in->r);
        tn_i_a_copy(a, r, d->reg, a->m->value[in->r].bytes);
    }
    tn_i_a_consume_uses(a, in);
    tn_i_x86_v3(a->c, fma_op(in, form), in->size < 16 ? 16 : in->size, tn_i_a_number(r), tn_i_a_number(v->reg), rm);
    tn_i_a_defined(a, r, in->r);
    a->pinned = 0;
}

/* ---- calls ------------------------------------------------------------------------------------------ */

static uint64_t lost(void) { return (((uint64_t)1 << TN_A_ALL) - 1) & ~(TN_A_KEPT | (uint64_t)1 << TN_RSP); }

static void call(tn_i_allocator *a, const tn_i_mi *in) {
    tn_i_x86_g0(a->c, TN_X_vzeroupper);
    if (in->op == TN_M_CALL_LABEL)
        tn_i_x86_call_label(a->c, (tn_i_jit_label)in->imm);
    else {
        tn_i_x86_g1(a->c, TN_X_call, tn_i_a_memory(a, in->m));
        tn_i_a_consume(a, in->m);
        if (!tn_i_a_alive(a, in->m)) tn_i_a_dies(a, in->m);
    }
    a->blocked = 0;
}

static void function(tn_i_allocator *a, const tn_i_mi *in) {
    tn_i_reg want[TN_A_ALL];
    for (unsigned r = 0; r < TN_A_ALL; r++) want[r] = TN_REG_NONE;
    tn_i_a_consume(a, in->v);
    tn_i_a_consume(a, in->s);
    if (in->m != TN_REG_NONE) tn_i_a_consume(a, in->m);
    for (unsigned r = 0; r < TN_A_ALL; r++) {
        const tn_i_reg v = a->holder[r];
        if (v != TN_REG_NONE && lost() >> r & 1 && tn_i_a_alive(a, v)) tn_i_a_store(a, v);
    }
    want[TN_A_V] = in->v;
    if (in->m != TN_REG_NONE) want[TN_A_V + 1] = in->m;
    tn_i_a_move_all(a, want);
    for (unsigned r = 0; r < TN_A_ALL; r++)
        if (a->holder[r] != TN_REG_NONE && lost() >> r & 1) tn_i_a_let_go(a, r);
    if (!tn_i_a_alive(a, in->v)) tn_i_a_dies(a, in->v);
    if (in->m != TN_REG_NONE && !tn_i_a_alive(a, in->m)) tn_i_a_dies(a, in->m);
    tn_i_x86_g1(a->c, TN_X_call, tn_i_a_memory(a, in->s));
    if (!tn_i_a_alive(a, in->s)) tn_i_a_dies(a, in->s);
    tn_i_a_defined(a, TN_A_V, in->r);
}

/* ---- the function ------------------------------------------------------------------------------------- */

static void begin(tn_i_allocator *a, const tn_i_mi *in) {
    tn_i_a_defined(a, TN_RDI, in->r);
    tn_i_a_defined(a, TN_RSI, in->v);
}

static void return_if(tn_i_allocator *a) {
    tn_i_x86_general(a->c, &(tn_i_x86_gen){.op = TN_X_test, .size = 4, .reg = TN_RAX, .rm = tn_i_x86_r(TN_RAX)});
    tn_i_x86_jump_if(a->c, TN_CC_NE, a->leave);
}

static void one(tn_i_allocator *a, const tn_i_mi *in) {
    switch (in->op) {
    case TN_M_NONE: break;
    case TN_M_COPY: copy(a, in); break;
    case TN_M_FMA: multiply_add(a, in); break;
    case TN_M_BUMP: bump(a, in); break;
    case TN_M_SET: set(a, in); break;
    case TN_M_TABLE: tn_i_x86_g2(a->c, TN_X_lea, in->r & 15, tn_i_x86_pool((tn_i_jit_const)in->imm)); break;
    case TN_M_ADDRESS: tn_i_x86_address(a->c, in->r & 15, (tn_i_jit_label)in->imm); break;
    case TN_M_LABEL: tn_i_code_place(a->c, a->label + (tn_i_jit_label)in->imm); break;
    case TN_M_JUMP: tn_i_x86_jump(a->c, a->label + (tn_i_jit_label)in->imm); break;
    case TN_M_JUMP_IF: tn_i_x86_jump_if(a->c, (tn_i_x86_cc)in->cc, a->label + (tn_i_jit_label)in->imm); break;
    case TN_M_BEGIN: begin(a, in); break;
    case TN_M_RELEASE:
        tn_i_a_release(a, lost());
        a->blocked = lost();
        break;
    case TN_M_CALL:
    case TN_M_CALL_LABEL: call(a, in); break;
    case TN_M_FUNCTION: function(a, in); break;
    case TN_M_RETURN: tn_i_x86_jump(a->c, a->leave); break;
    case TN_M_RETURN_IF: return_if(a); break;
    default:
        if (in->op >= TN_M_LOOP)
            tn_i_a_block_op(a, in);
        else
            tn_i_a_instruction(a, in);
    }
}

static const uint8_t kept[] = {TN_RBX, TN_RBP, TN_R12, TN_R13, TN_R14, TN_R15};
enum { NKEPT = sizeof kept };

/* The end comes first, as only then the frame is known. */
static void around(tn_i_allocator *a, tn_i_jit_label at) {
    const int32_t frame = (a->m->area + a->frame + 63) / 64 * 64;
    tn_i_code *c = a->c;
    tn_i_code_place(c, a->leave);
    tn_i_x86_g0(c, TN_X_vzeroupper);
    if (frame || a->m->calls) tn_i_x86_g2(c, TN_X_mov, TN_RSP, tn_i_x86_at(TN_RSP, frame));
    for (unsigned i = NKEPT; i-- > 0;)
        if (a->used >> kept[i] & 1) tn_i_x86_g1(c, TN_X_pop, tn_i_x86_r(kept[i]));
    tn_i_x86_g0(c, TN_X_ret);
    tn_i_code_align(c, 16);
    tn_i_code_place(c, at);
    for (unsigned i = 0; i < NKEPT; i++)
        if (a->used >> kept[i] & 1) tn_i_x86_g1(c, TN_X_push, tn_i_x86_r(kept[i]));
    if (frame || a->m->calls) {
        tn_i_x86_g2(c, TN_X_mov, TN_RAX, tn_i_x86_r(TN_RSP));
        tn_i_x86_gi(c, TN_X_and_i, tn_i_x86_r(TN_RSP), -64);
        for (int32_t page = PAGE; page < frame; page += PAGE) /* one after the other, so that a guard page is seen */
            tn_i_x86_general(
                c, &(tn_i_x86_gen){.op = TN_X_test, .size = 8, .reg = TN_RAX, .rm = tn_i_x86_at(TN_RSP, -page)});
        tn_i_x86_gi(c, TN_X_sub_i, tn_i_x86_r(TN_RSP), frame + 64);
        tn_i_x86_g2(c, TN_X_mov_to, TN_RAX, tn_i_x86_at(TN_RSP, frame));
    }
    tn_i_x86_jump(c, a->body);
}

static void drop(tn_i_allocator *a) {
    tn_ctx *c = a->m->ctx;
    tn_i_free(c, a->state, (a->m->nvalue + 1) * sizeof *a->state);
    tn_i_free(c, a->event, a->nevent * sizeof *a->event);
    tn_i_free(c, a->trail, a->ctrail * sizeof *a->trail);
    tn_i_free(c, a->block, a->cblock * sizeof *a->block);
    for (int k = 0; k < 4; k++) tn_i_free(c, a->vacant[k], a->cvacant[k] * sizeof *a->vacant[k]);
}

static void begin_code(tn_i_allocator *a) {
    tn_i_machine *m = a->m;
    for (unsigned r = 0; r < TN_A_ALL; r++) a->holder[r] = TN_REG_NONE;
    a->all[TN_CLASS_G] = 0xFFFF & ~TN_A_SEQUENCES;
    a->all[TN_CLASS_V] = (m->wide ? 0xFFFFFFFFull : 0xFFFFull) << TN_A_V;
    a->all[TN_CLASS_K] = m->wide ? (uint64_t)0xFE << TN_A_K : 0;
    a->body = tn_i_code_label(a->c);
    a->leave = tn_i_code_label(a->c);
    a->label = m->nlabel ? tn_i_code_label(a->c) : 0;
    for (uint32_t i = 1; i < m->nlabel; i++) (void)tn_i_code_label(a->c);
    tn_i_code_align(a->c, 16);
    tn_i_code_place(a->c, a->body);
}

bool tn_i_m_finish(tn_i_machine *m, tn_i_jit_label at) {
    tn_i_allocator a = {.m = m, .c = m->code};
    if (m->failed) return false;
    if (!(a.state = tn_i_alloc_array(m->ctx, m->nvalue + 1, sizeof *a.state)))
        m->failed = true;
    else if (tn_i_a_fold(m) && tn_i_a_find_events(&a)) {
        begin_code(&a);
        for (a.position = 0; a.position < m->nin && !m->failed && !m->code->failed; a.position++) {
            one(&a, &m->in[a.position]);
            memcpy(a.usable, a.nvacant, sizeof a.usable);
        }
        around(&a, at);
    }
    if (m->code->failed) m->failed = true;
    drop(&a);
    return !m->failed;
}
