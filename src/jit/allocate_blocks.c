/* Loops and branches: paths that meet have the same numbers in the same registers.
 *
 * A loop's head decides which registers hold what, its end and each way out restore that.  The paths of a branch end as
 * the first of them did; of one without ELSE, as it began.  What leaves a register in a block has its place on the
 * stack by then for good, unless another path keeps it in the register: then its place does not count (the trail). */
#include "base/machine.h"
#include "jit/allocate.h"

#include <string.h>

static bool grow(tn_i_allocator *a, void *p, size_t *capacity, size_t want, size_t size) {
    void *q;
    if (a->m->failed) return false;
    memcpy(&q, p, sizeof q);
    a->m->failed = !tn_i_grow(a->m->ctx, &q, capacity, want, size);
    memcpy(p, &q, sizeof q);
    return !a->m->failed;
}

static tn_i_a_block *push(tn_i_allocator *a, int kind) {
    if (!grow(a, &a->block, &a->cblock, a->nblock + 1, sizeof *a->block)) return NULL;
    tn_i_a_block *b = &a->block[a->nblock++];
    b->kind = (uint8_t)(kind - TN_M_COPY);
    b->other = false;
    b->trail = b->middle = a->ntrail;
    b->again = tn_i_code_label(a->c);
    b->out = tn_i_code_label(a->c);
    return b;
}

/* Registers hold this from here on, as far as it is still needed. */
static void restore(tn_i_allocator *a, const tn_i_reg holder[TN_A_ALL]) {
    for (unsigned r = 0; r < TN_A_ALL; r++)
        if (a->holder[r] != TN_REG_NONE) tn_i_a_let_go(a, r);
    for (unsigned r = 0; r < TN_A_ALL; r++)
        if (holder[r] != TN_REG_NONE && tn_i_a_alive(a, holder[r])) tn_i_a_hold(a, r, holder[r]);
}

/* Of what one path of several has put on the stack counts what is in no register now. */
static void settle(tn_i_allocator *a, size_t from) {
    size_t n = from;
    for (size_t i = from; i < a->ntrail; i++) {
        const tn_i_reg v = a->trail[i];
        a->state[v].valid = a->state[v].reg == TN_A_NOWHERE && a->state[v].slot >= 0;
        if (a->state[v].valid && a->nblock > 1) a->trail[n++] = v;
    }
    a->ntrail = n;
}

/* What is wanted at the end of a path, from what is needed still. */
static void arrive(tn_i_allocator *a, const tn_i_reg holder[TN_A_ALL]) {
    tn_i_reg want[TN_A_ALL];
    for (unsigned r = 0; r < TN_A_ALL; r++)
        want[r] = holder[r] != TN_REG_NONE && tn_i_a_alive(a, holder[r]) ? holder[r] : TN_REG_NONE;
    tn_i_a_move_all(a, want);
}

/* ---- loops -------------------------------------------------------------------------------------- */

enum { BEST = 32 };

typedef struct chosen {
    tn_i_reg value[BEST];
    uint32_t uses[BEST];
    unsigned n;
} chosen;

/* Keeps the `most` values that are used most. */
static void consider(chosen *b, unsigned most, tn_i_reg v, uint32_t uses) {
    unsigned i = b->n;
    if (most == 0 || (i == most && b->uses[i - 1] >= uses)) return;
    for (unsigned k = 0; k < b->n; k++)
        if (b->value[k] == v) return; /* it was listed twice */
    if (i == most)
        i--;
    else
        b->n++;
    for (; i > 0 && b->uses[i - 1] < uses; i--) {
        b->value[i] = b->value[i - 1];
        b->uses[i] = b->uses[i - 1];
    }
    b->value[i] = v;
    b->uses[i] = uses;
}

static bool is_in(const chosen *b, tn_i_reg v) {
    for (unsigned i = 0; i < b->n; i++)
        if (b->value[i] == v) return true;
    return false;
}

/* Registers of a class that what comes from outside may have in the loop, beside what the loop needs itself: where not
 * all of it has one, also for the operands of an instruction that memory has. */
enum { LOADED = 2 };
static unsigned room(const tn_i_allocator *a, const tn_i_m_loop *l, int class) {
    const unsigned all = (unsigned)__builtin_popcountll(a->all[class]);
    const unsigned inside = l->most[class] > l->head[class] ? l->most[class] - l->head[class] : 0;
    if (l->calls && class != TN_CLASS_G) return 0;
    const unsigned there = l->calls ? (unsigned)__builtin_popcountll(a->all[class] & TN_A_KEPT) : all;
    const unsigned needed = inside + (l->most[class] > there ? (unsigned)LOADED : 0);
    const unsigned left = there > needed ? there - needed : 0;
    return left > BEST ? BEST : left;
}

static void choose(tn_i_allocator *a, const tn_i_m_loop *l, int class, chosen *b) {
    const unsigned most = room(a, l, class);
    b->n = 0;
    for (uint32_t k = l->links; k != TN_REG_NONE; k = a->m->link[k].next) {
        const tn_i_reg v = a->m->link[k].value;
        const tn_i_m_value *x = &a->m->value[v];
        if (x->class != class || (a->state[v].reg == TN_A_NOWHERE && !tn_i_a_in_memory(a, v))) continue;
        if (x->constant && class == TN_CLASS_G) continue;
        consider(b, most, v, a->m->link[k].uses * (x->carried ? TN_M_CARRIED_WEIGHT : 1));
    }
    /* what the loop does not read, where there is room */
    for (unsigned r = 0; r < TN_A_ALL; r++)
        if (a->holder[r] != TN_REG_NONE && a->all[class] >> r & 1) consider(b, most, a->holder[r], 0);
}

static void keep_chosen(tn_i_allocator *a, const tn_i_m_loop *l, int class) {
    chosen b;
    choose(a, l, class, &b);
    for (unsigned r = 0; r < TN_A_ALL; r++)
        if (a->holder[r] != TN_REG_NONE && a->all[class] >> r & 1 && !is_in(&b, a->holder[r]))
            tn_i_a_release(a, (uint64_t)1 << r);
    if (l->calls) a->blocked = ~TN_A_KEPT;
    for (unsigned i = 0; i < b.n; i++) {
        const unsigned r = a->state[b.value[i]].reg;
        if (r != TN_A_NOWHERE && !(a->blocked >> r & 1)) continue;
        const unsigned to = tn_i_a_free(a, class);
        if (to == TN_A_NOWHERE || b.uses[i] == 0) {
            if (r != TN_A_NOWHERE) tn_i_a_release(a, (uint64_t)1 << r);
            continue;
        }
        if (r == TN_A_NOWHERE)
            tn_i_a_load(a, to, b.value[i]);
        else {
            tn_i_a_copy(a, to, r, a->m->value[b.value[i]].bytes);
            tn_i_a_let_go(a, r);
        }
        tn_i_a_hold(a, to, b.value[i]);
    }
    a->blocked = 0;
}

/* Whether it is written again in the loop. */
static bool changes(const tn_i_allocator *a, tn_i_reg v, const tn_i_m_loop *l) {
    if (!a->m->value[v].carried) return false;
    for (uint32_t i = a->state[v].at; i < a->state[v].end && a->event[i] >> 1 < l->end; i++)
        if (a->event[i] & 1) return true;
    return false;
}

/* A carry that is not read in the loop needs its register at the head alone; one that is read nowhere has none. */
static void begin_pairs(tn_i_allocator *a, const tn_i_m_loop *l, tn_i_a_block *b) {
    for (uint32_t k = l->pairs; k != TN_REG_NONE; k = a->m->pair[k].next) {
        const tn_i_reg c = a->m->pair[k].carry;
        tn_i_a_state *s = &a->state[c];
        tn_i_a_consume(a, c);
        if (tn_i_a_alive(a, c)) continue;
        if (s->at + 1 >= s->end && s->home != TN_A_NOWHERE) {
            b->before[s->home] = TN_REG_NONE;
            s->home = TN_A_NOWHERE;
        }
        tn_i_a_dies(a, c);
    }
}

/* What is in registers at the head of the innermost loop. */
static void mark_head(tn_i_allocator *a) {
    size_t i = a->nblock;
    while (i > 0 && a->block[i - 1].kind != TN_M_LOOP - TN_M_COPY) i--;
    for (unsigned r = 0; r < TN_A_ALL && i > 0; r++)
        if (a->block[i - 1].before[r] != TN_REG_NONE) a->state[a->block[i - 1].before[r]].head = a->block[i - 1].loop;
}

static bool is_innermost(const tn_i_machine *m, uint32_t loop) {
    return loop + 1 >= m->nloop || m->loop[loop + 1].outer != loop;
}

static void open_loop(tn_i_allocator *a, const tn_i_mi *in) {
    const tn_i_m_loop *l = &a->m->loop[in->imm];
    for (int class = 0; class < 3; class ++) keep_chosen(a, l, class);
    tn_i_a_block *b = push(a, TN_M_LOOP);
    if (!b) return;
    b->loop = (uint32_t)in->imm;
    memcpy(b->before, a->holder, sizeof b->before);
    for (unsigned r = 0; r < TN_A_ALL; r++) {
        const tn_i_reg v = a->holder[r];
        if (v == TN_REG_NONE || !changes(a, v, l)) continue;
        a->state[v].valid = false;
        if (a->m->value[v].loop == b->loop) a->state[v].home = (uint8_t)r;
    }
    begin_pairs(a, l, b);
    mark_head(a);
    if (in->cc != TN_CC_NONE) tn_i_x86_jump_if(a->c, (tn_i_x86_cc)in->cc, b->out);
    tn_i_code_align(a->c, is_innermost(a->m, (uint32_t)in->imm) ? TN_M_LOOP_ALIGN : 16);
    tn_i_code_place(a->c, b->again);
}

/* Carries that live on the stack at the head. */
static void store_pairs(tn_i_allocator *a, const tn_i_m_loop *l) {
    for (uint32_t k = l->pairs; k != TN_REG_NONE; k = a->m->pair[k].next) {
        const tn_i_reg c = a->m->pair[k].carry, v = a->m->pair[k].value;
        if (a->state[c].home != TN_A_NOWHERE || a->state[c].slot < 0 || a->state[v].slot == a->state[c].slot) continue;
        unsigned r = a->state[v].reg;
        if (r == TN_A_NOWHERE) {
            r = tn_i_a_free(a, a->m->value[v].class);
            if (r == TN_A_NOWHERE) { /* by way of one that is needed and comes back */
                r = a->m->value[v].class == TN_CLASS_V   ? TN_A_V
                    : a->m->value[v].class == TN_CLASS_K ? TN_A_K + 1
                                                         : TN_RAX;
                if (r != TN_RAX) tn_i_a_store(a, a->holder[r]), tn_i_a_let_go(a, r);
            }
            tn_i_a_load(a, r, v);
        }
        tn_i_a_save(a, r, c);
    }
}

static void store_changed(tn_i_allocator *a, const tn_i_m_loop *l, const tn_i_a_block *b) {
    for (uint32_t k = l->links; k != TN_REG_NONE; k = a->m->link[k].next) {
        const tn_i_reg v = a->m->link[k].value;
        const tn_i_a_state *s = &a->state[v];
        if (!a->m->value[v].carried || a->m->value[v].loop == b->loop || s->valid || s->reg == TN_A_NOWHERE) continue;
        bool held = false;
        for (unsigned r = 0; r < TN_A_ALL && !held; r++) held = b->before[r] == v;
        if (!held) tn_i_a_store(a, v);
    }
}

/* The head's registers, with carries become what is next. */
static void arrive_again(tn_i_allocator *a, const tn_i_m_loop *l, const tn_i_a_block *b) {
    tn_i_reg want[TN_A_ALL];
    for (unsigned r = 0; r < TN_A_ALL; r++) {
        const tn_i_reg v = b->before[r];
        const bool own = v != TN_REG_NONE && a->m->value[v].loop == b->loop;
        want[r] = v == TN_REG_NONE || own || !tn_i_a_alive(a, v) ? TN_REG_NONE : v;
    }
    for (uint32_t k = l->pairs; k != TN_REG_NONE; k = a->m->pair[k].next) {
        const unsigned home = a->state[a->m->pair[k].carry].home;
        if (home != TN_A_NOWHERE) want[home] = a->m->pair[k].value;
    }
    tn_i_a_move_all(a, want);
}

static void consume_again(tn_i_allocator *a, const tn_i_m_loop *l) {
    const tn_i_machine *m = a->m;
    for (uint32_t k = l->links; k != TN_REG_NONE; k = m->link[k].next)
        if (m->value[m->link[k].value].loop != m->link[k].loop) tn_i_a_consume(a, m->link[k].value);
    for (uint32_t k = l->pairs; k != TN_REG_NONE; k = m->pair[k].next) tn_i_a_consume(a, m->pair[k].value);
    for (uint32_t k = l->pairs; k != TN_REG_NONE; k = m->pair[k].next) {
        tn_i_a_consume(a, m->pair[k].carry);
        a->state[m->pair[k].carry].valid = a->state[m->pair[k].carry].home == TN_A_NOWHERE;
    }
}

static void bury(tn_i_allocator *a, const tn_i_m_loop *l) {
    const tn_i_machine *m = a->m;
    for (uint32_t k = l->links; k != TN_REG_NONE; k = m->link[k].next)
        if (!tn_i_a_alive(a, m->link[k].value)) tn_i_a_dies(a, m->link[k].value);
    for (uint32_t k = l->pairs; k != TN_REG_NONE; k = m->pair[k].next) {
        if (!tn_i_a_alive(a, m->pair[k].value)) tn_i_a_dies(a, m->pair[k].value);
        if (!tn_i_a_alive(a, m->pair[k].carry)) tn_i_a_dies(a, m->pair[k].carry);
    }
}

static void close_loop(tn_i_allocator *a, const tn_i_mi *in) {
    tn_i_a_block *b = &a->block[a->nblock - 1];
    const tn_i_m_loop *l = &a->m->loop[in->imm];
    store_changed(a, l, b);
    store_pairs(a, l);
    arrive_again(a, l, b);
    if (in->cc == TN_CC_NONE)
        tn_i_x86_jump(a->c, b->again);
    else
        tn_i_x86_jump_if(a->c, (tn_i_x86_cc)in->cc, b->again);
    tn_i_code_place(a->c, b->out);
    consume_again(a, l);
    restore(a, b->before);
    bury(a, l);
    settle(a, b->trail);
    a->nblock--;
    mark_head(a);
}

/* Out of the loop, with its head's registers: none of them has changed at the head, but a carry that nobody reads may
 * be gone. */
static void leave_loop(tn_i_allocator *a, const tn_i_mi *in) {
    size_t i = a->nblock;
    while (i > 0 && (a->block[i - 1].kind != TN_M_LOOP - TN_M_COPY || a->block[i - 1].loop != (uint32_t)in->imm)) i--;
    if (i == 0) return;
    const tn_i_jit_label stay = tn_i_code_label(a->c), out = a->block[i - 1].out;
    tn_i_x86_jump_if(a->c, (tn_i_x86_cc)(in->cc ^ 1), stay);
    arrive(a, a->block[i - 1].before);
    tn_i_x86_jump(a->c, out);
    tn_i_code_place(a->c, stay);
    for (uint32_t k = a->m->loop[in->imm].kept; k != TN_REG_NONE; k = a->m->link[k].next) {
        tn_i_a_consume(a, a->m->link[k].value);
        if (!tn_i_a_alive(a, a->m->link[k].value)) tn_i_a_dies(a, a->m->link[k].value);
    }
}

/* ---- branches -------------------------------------------------------------------------------------- */

static void open_if(tn_i_allocator *a, const tn_i_mi *in) {
    tn_i_a_block *b = push(a, TN_M_IF);
    if (!b) return;
    memcpy(b->before, a->holder, sizeof b->before);
    tn_i_x86_jump_if(a->c, (tn_i_x86_cc)in->cc, b->again);
}

static void other_branch(tn_i_allocator *a) {
    tn_i_a_block *b = &a->block[a->nblock - 1];
    memcpy(b->then, a->holder, sizeof b->then);
    b->other = true;
    tn_i_x86_jump(a->c, b->out);
    tn_i_code_place(a->c, b->again);
    restore(a, b->before);
    for (size_t i = b->trail; i < a->ntrail; i++) a->state[a->trail[i]].valid = false;
    b->middle = a->ntrail;
}

/* What the other path has on the stack alone. */
static void store_others(tn_i_allocator *a, const tn_i_a_block *b) {
    for (unsigned r = 0; r < TN_A_ALL; r++) {
        const tn_i_reg v = a->holder[r];
        bool held = v == TN_REG_NONE || !tn_i_a_alive(a, v);
        for (unsigned s = 0; s < TN_A_ALL && !held; s++) held = b->then[s] == v;
        if (!held) tn_i_a_store(a, v);
    }
}

static void close_if(tn_i_allocator *a) {
    tn_i_a_block *b = &a->block[a->nblock - 1];
    if (b->other) store_others(a, b);
    const tn_i_reg *target = b->other ? b->then : b->before;
    arrive(a, target);
    restore(a, target);
    settle(a, b->trail);
    tn_i_code_place(a->c, b->out);
    if (!b->other) tn_i_code_place(a->c, b->again);
    a->nblock--;
}

void tn_i_a_block_op(tn_i_allocator *a, const tn_i_mi *in) {
    switch (in->op) {
    case TN_M_LOOP: open_loop(a, in); break;
    case TN_M_AGAIN: close_loop(a, in); break;
    case TN_M_LEAVE: leave_loop(a, in); break;
    case TN_M_IF: open_if(a, in); break;
    case TN_M_ELSE: other_branch(a); break;
    default: close_if(a); break;
    }
}
