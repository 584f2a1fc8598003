/* Registers: one walk forwards over the list, with the uses that are still to come (jit/machine.h). */
#include "base/machine.h"
#include "jit/allocate.h"

#include <string.h>

/* ---- what is to come -------------------------------------------------------------------------- */

/* Three walks: events are counted, written, and with what is to come known, so is what is alive. */
enum { COUNT, WRITE, LIVE };

typedef struct events {
    tn_i_allocator *a;
    int walk;
    uint32_t position;
    uint32_t alive[3];
} events;

/* From here on v waits for a read; a carry does not between its last read in the loop and the end. */
static void live(events *z, tn_i_reg v, bool counts, bool defined) {
    tn_i_a_state *s = &z->a->state[v];
    uint32_t *alive = &z->alive[z->a->m->value[v].class];
    if (s->at == s->end && !counts) return; /* nobody reads it */
    *alive += s->home || (counts && defined);
    s->home = 0;
    if (!counts) return;
    s->at++;
    *alive -= s->at == s->end || z->a->event[s->at] & 1;
}

static void event(events *z, tn_i_reg v, bool defined) {
    tn_i_a_state *s = &z->a->state[v];
    const bool counts = !defined || z->a->m->value[v].carried;
    if (z->walk == LIVE)
        live(z, v, counts, defined);
    else if (z->walk == COUNT)
        s->end += counts;
    else if (counts)
        z->a->event[s->at++] = z->position << 1 | defined;
}

/* A carry is not alive at the end of its own loop, where it becomes another number. */
static bool crosses(const tn_i_machine *m, const tn_i_m_link *l) { return m->value[l->value].loop != l->loop; }

static void events_of(events *z, const tn_i_mi *in) {
    const tn_i_machine *m = z->a->m;
    tn_i_reg use[8];
    for (unsigned n = tn_i_m_uses(in, use); n-- > 0;) event(z, use[n], false);
    if (in->op == TN_M_LOOP) /* where they have a place, also those that are read behind the loop alone */
        for (uint32_t k = m->loop[in->imm].pairs; k != TN_REG_NONE; k = m->pair[k].next)
            event(z, m->pair[k].carry, false);
    if (in->op == TN_M_AGAIN) {
        const tn_i_m_loop *l = &m->loop[in->imm];
        for (uint32_t k = l->links; k != TN_REG_NONE; k = m->link[k].next)
            if (crosses(m, &m->link[k])) event(z, m->link[k].value, false);
        for (uint32_t k = l->pairs; k != TN_REG_NONE; k = m->pair[k].next) event(z, m->pair[k].value, false);
        for (uint32_t k = l->pairs; k != TN_REG_NONE; k = m->pair[k].next) event(z, m->pair[k].carry, true);
    }
    if (in->op == TN_M_LEAVE)
        for (uint32_t k = m->loop[in->imm].kept; k != TN_REG_NONE; k = m->link[k].next)
            event(z, m->link[k].value, false);
    if (in->flags & TN_MI_R && tn_i_is_virtual(in->r)) event(z, in->r, true);
    if (in->flags & TN_MI_M && tn_i_is_virtual(in->m)) event(z, in->m, true);
    if (in->op == TN_M_BEGIN) event(z, in->v, true);
}

static void walk_events(events *z, int walk) {
    const tn_i_machine *m = z->a->m;
    z->walk = walk;
    uint32_t open = TN_REG_NONE;
    for (z->position = 0; z->position < m->nin; z->position++) {
        const tn_i_mi *in = &m->in[z->position];
        if (in->op == TN_M_LOOP && z->walk == LIVE) {
            memcpy(m->loop[in->imm].head, z->alive, sizeof z->alive);
            open = (uint32_t)in->imm;
        }
        events_of(z, in);
        if (z->walk != LIVE || open == TN_REG_NONE) continue;
        tn_i_m_loop *l = &m->loop[open];
        for (int c = 0; c < 3; c++)
            if (z->alive[c] > l->most[c]) l->most[c] = z->alive[c];
        if (in->op != TN_M_AGAIN) continue;
        open = l->outer;
        for (int c = 0; c < 3 && open != TN_REG_NONE; c++)
            if (l->most[c] > m->loop[open].most[c]) m->loop[open].most[c] = l->most[c];
    }
}

bool tn_i_a_find_events(tn_i_allocator *a) {
    events z = {.a = a};
    const size_t n = a->m->nvalue;
    size_t total = 0;
    for (size_t v = 0; v < n; v++)
        a->state[v] = (tn_i_a_state){.slot = -1, .reg = TN_A_NOWHERE, .home = 1, .head = TN_REG_NONE};
    walk_events(&z, COUNT);
    for (size_t v = 0; v < n; v++) {
        const uint32_t count = a->state[v].end;
        a->state[v].at = (uint32_t)total;
        total += count;
        a->state[v].end = (uint32_t)total;
        if (total > UINT32_MAX / 2) return tn_i_m_refuse(a->m, "the program is too long"), false;
    }
    a->nevent = total ? total : 1;
    if (!(a->event = tn_i_alloc_array(a->m->ctx, a->nevent, sizeof *a->event))) return a->m->failed = true, false;
    walk_events(&z, WRITE);
    for (size_t v = 0; v < n; v++) a->state[v].at = v ? a->state[v - 1].end : 0;
    walk_events(&z, LIVE);
    for (size_t v = 0; v < n; v++) {
        a->state[v].at = v ? a->state[v - 1].end : 0;
        a->state[v].home = TN_A_NOWHERE;
    }
    return true;
}

/* The use, or definition, at this position is over. */
void tn_i_a_consume(tn_i_allocator *a, tn_i_reg v) {
    if (a->state[v].at < a->state[v].end) a->state[v].at++;
}

/* ---- registers ------------------------------------------------------------------------------------ */

void tn_i_a_hold(tn_i_allocator *a, unsigned r, tn_i_reg v) {
    a->holder[r] = v;
    a->state[v].reg = (uint8_t)r;
    if (r < TN_A_V) a->used |= (uint64_t)1 << r;
}

void tn_i_a_let_go(tn_i_allocator *a, unsigned r) {
    const tn_i_reg v = a->holder[r];
    if (v != TN_REG_NONE && a->state[v].reg == r) a->state[v].reg = TN_A_NOWHERE;
    a->holder[r] = TN_REG_NONE;
}

static int slot_class(unsigned bytes) { return bytes <= 8 ? 0 : bytes <= 16 ? 1 : bytes <= 32 ? 2 : 3; }

static bool grow(tn_i_allocator *a, void *p, size_t *capacity, size_t want, size_t size) {
    void *q;
    if (a->m->failed) return false;
    memcpy(&q, p, sizeof q);
    a->m->failed = !tn_i_grow(a->m->ctx, &q, capacity, want, size);
    memcpy(p, &q, sizeof q);
    return !a->m->failed;
}

void tn_i_a_dies(tn_i_allocator *a, tn_i_reg v) {
    tn_i_a_state *s = &a->state[v];
    if (s->reg != TN_A_NOWHERE) tn_i_a_let_go(a, s->reg);
    if (s->slot < 0 || s->at != s->end) return; /* a carry that is written again keeps its slot */
    if (s->ahead) {
        s->slot = -1;
        s->valid = s->ahead = false;
        return;
    }
    const int k = slot_class(a->m->value[v].bytes);
    if (grow(a, &a->vacant[k], &a->cvacant[k], a->nvacant[k] + 1, sizeof *a->vacant[k]))
        a->vacant[k][a->nvacant[k]++] = s->slot;
    s->slot = -1;
    s->valid = false;
}

enum { MOST_FRAME = 1 << 19 };
static void need_slot(tn_i_allocator *a, tn_i_reg v) {
    const int k = slot_class(a->m->value[v].bytes);
    const int32_t bytes = 8 << k;
    if (a->state[v].slot >= 0) return;
    if (a->usable[k]) {
        int32_t *const last = &a->vacant[k][--a->usable[k]];
        a->state[v].slot = *last;
        *last = a->vacant[k][--a->nvacant[k]];
        return;
    }
    const int32_t at = (a->frame + bytes - 1) / bytes * bytes;
    a->state[v].slot = at;
    a->frame = at + bytes;
    if (a->frame > MOST_FRAME) tn_i_m_refuse(a->m, "more numbers are needed at once than the stack is for");
}

void tn_i_a_store(tn_i_allocator *a, tn_i_reg v) {
    if (tn_i_a_in_memory(a, v) || a->m->failed) return;
    need_slot(a, v);
    tn_i_a_save(a, a->state[v].reg, v);
    a->state[v].valid = true;
    if (a->nblock && grow(a, &a->trail, &a->ctrail, a->ntrail + 1, sizeof *a->trail)) a->trail[a->ntrail++] = v;
}

static unsigned lowest(uint64_t set) { return (unsigned)__builtin_ctzll(set); }

unsigned tn_i_a_free(tn_i_allocator *a, int class) {
    const uint64_t set = a->all[class] & ~a->blocked & ~a->pinned;
    /* those that calls keep are for functions with calls */
    const uint64_t first = class == TN_CLASS_G ? a->m->calls ? TN_A_KEPT : ~TN_A_KEPT : ~(uint64_t)0;
    for (uint64_t left = set & first; left; left &= left - 1)
        if (a->holder[lowest(left)] == TN_REG_NONE) return lowest(left);
    for (uint64_t left = set & ~first; left; left &= left - 1)
        if (a->holder[lowest(left)] == TN_REG_NONE) return lowest(left);
    return TN_A_NOWHERE;
}

/* Whether v, for which the end of a loop at `position` waits, is in no register there: the head of the innermost loop
 * has it in none, and it is not what a carry becomes. */
static bool idle_at(const tn_i_allocator *a, tn_i_reg v, uint32_t position) {
    const tn_i_mi *in = &a->m->in[position];
    if (in->op != TN_M_AGAIN || a->nblock == 0) return false;
    const tn_i_a_block *b = &a->block[a->nblock - 1];
    const tn_i_reg like = a->m->value[v].like;
    if (b->kind != TN_M_LOOP - TN_M_COPY || b->loop != (uint32_t)in->imm || a->state[v].head == b->loop) return false;
    return like == TN_REG_NONE || a->m->value[like].loop != b->loop;
}

/* When v has to be in a register, from this event of it on. */
uint32_t tn_i_a_again(const tn_i_allocator *a, tn_i_reg v, uint32_t event) {
    if (event >= a->state[v].end || a->event[event] & 1) return UINT32_MAX;
    const uint32_t position = a->event[event] >> 1;
    return idle_at(a, v, position) ? UINT32_MAX : position;
}

/* Of those in registers that is given up which is read last, and of such one that memory has. */
unsigned tn_i_a_take(tn_i_allocator *a, int class) {
    const unsigned free = tn_i_a_free(a, class);
    if (free != TN_A_NOWHERE) return free;
    unsigned best = TN_A_NOWHERE;
    uint32_t far = 0;
    for (uint64_t left = a->all[class] & ~a->blocked & ~a->pinned; left; left &= left - 1) {
        const unsigned r = lowest(left);
        const tn_i_reg v = a->holder[r];
        const uint32_t next = tn_i_a_again(a, v, a->state[v].at);
        const bool better =
            next > far || (next == far && tn_i_a_in_memory(a, v) && !tn_i_a_in_memory(a, a->holder[best]));
        if (best != TN_A_NOWHERE && !better) continue;
        best = r;
        far = next;
    }
    if (best == TN_A_NOWHERE) {
        tn_i_m_refuse(a->m, "an instruction needs more registers than there are");
        return class == TN_CLASS_V ? TN_A_V : class == TN_CLASS_K ? TN_A_K + 1 : TN_RBX;
    }
    tn_i_a_store(a, a->holder[best]);
    tn_i_a_let_go(a, best);
    return best;
}

unsigned tn_i_a_fetch(tn_i_allocator *a, tn_i_reg v) {
    unsigned r = a->state[v].reg;
    if (r == TN_A_NOWHERE) {
        if (!tn_i_a_in_memory(a, v)) tn_i_m_refuse(a->m, "a register is read that nothing was written to");
        r = tn_i_a_take(a, a->m->value[v].class);
        if (!a->m->failed) tn_i_a_load(a, r, v);
        tn_i_a_hold(a, r, v);
    }
    a->pinned |= (uint64_t)1 << r;
    return r;
}

void tn_i_a_release(tn_i_allocator *a, uint64_t which) {
    for (uint64_t left = which; left; left &= left - 1) {
        const unsigned r = lowest(left);
        if (a->holder[r] == TN_REG_NONE) continue;
        if (tn_i_a_alive(a, a->holder[r])) tn_i_a_store(a, a->holder[r]);
        tn_i_a_let_go(a, r);
    }
}

/* ---- operands --------------------------------------------------------------------------------------- */

unsigned tn_i_a_reads(const tn_i_mi *in) {
    if (in->op == TN_M_FMA) return in->size;
    if (in->op >= TN_X_GENERAL) {
        static const uint8_t whole = TN_GEN_M | TN_GEN_R;
        const unsigned row = in->op - (unsigned)TN_X_GENERAL;
        if (row >= TN_X_GENERALS) return 0;
        const uint8_t flags = tn_i_x86_gen_forms[tn_i_x86_gen_rows[row].form].flags;
        return (flags & whole) == whole ? in->size : 0;
    }
    const tn_i_x86_row *r = &tn_i_x86_rows[in->op];
    const uint8_t flags = tn_i_x86_forms[r->form].flags;
    const unsigned size = r->sizes & (r->sizes - 1) ? in->size : r->sizes * 16u;
    return flags & TN_FORM_M && flags & TN_FORM_R ? tn_i_x86_memory(r, size, false) : 0;
}

/* Whether m stays in memory as an operand. */
bool tn_i_a_stays(const tn_i_allocator *a, const tn_i_mi *in, tn_i_reg v) {
    if (a->state[v].reg != TN_A_NOWHERE || in->flags & (TN_MI_M | TN_MI_MEM) || !tn_i_a_in_memory(a, v)) return false;
    const unsigned bytes = tn_i_a_reads(in),
                   there = a->m->value[v].constant ? a->m->value[v].bytes : 8u << slot_class(a->m->value[v].bytes);
    if (bytes == 0 || bytes > there || (in->v == v) + (in->s == v) + (in->m == v) > 1 || in->tie == v) return false;
    const tn_i_a_state *s = &a->state[v];
    if (a->m->value[v].class == TN_CLASS_G && a->m->value[v].constant) return true;
    const uint32_t again = tn_i_a_again(a, v, s->at + 1);
    return again - a->position > TN_M_SPILL_SOON || again == UINT32_MAX;
}

tn_i_x86_rm tn_i_a_address(tn_i_allocator *a, const tn_i_mi *in) {
    const bool vector = in->op < TN_X_VECTORS && tn_i_x86_forms[tn_i_x86_rows[in->op].form].flags & TN_FORM_V;
    unsigned base = in->base & 15, index = TN_NO_REGISTER;
    int32_t disp = in->disp;
    if (tn_i_is_virtual(in->base)) base = tn_i_a_fetch(a, in->base);
    if (tn_i_is_virtual(in->index)) index = tn_i_a_fetch(a, in->index) - (vector ? TN_A_V : 0u);
    if (in->index != TN_REG_NONE && !tn_i_is_virtual(in->index)) index = in->index & 31;
    return tn_i_x86_in(base, index, in->scale ? in->scale : 1, disp);
}

typedef struct operands {
    unsigned r, v, s, k, tie;
    tn_i_x86_rm m;
} operands;

static unsigned fetch(tn_i_allocator *a, tn_i_reg v) {
    return v == TN_REG_NONE ? 0 : tn_i_is_virtual(v) ? tn_i_a_fetch(a, v) : v & 31;
}

static void fetch_rm(tn_i_allocator *a, const tn_i_mi *in, operands *o) {
    if (in->flags & TN_MI_MEM)
        o->m = tn_i_a_address(a, in);
    else if (in->m == TN_REG_NONE)
        o->m = tn_i_x86_r(0);
    else if (!tn_i_is_virtual(in->m))
        o->m = tn_i_x86_r(in->m & 31);
    else if (in->flags & TN_MI_M)
        return;
    else if (tn_i_a_stays(a, in, in->m))
        o->m = tn_i_a_memory(a, in->m);
    else
        o->m = tn_i_x86_r(tn_i_a_number(tn_i_a_fetch(a, in->m)));
}

/* What is read for the last time is free. */
void tn_i_a_consume_uses(tn_i_allocator *a, const tn_i_mi *in) {
    tn_i_reg use[8];
    const unsigned n = tn_i_m_uses(in, use);
    for (unsigned i = 0; i < n; i++) tn_i_a_consume(a, use[i]);
    for (unsigned i = 0; i < n; i++)
        if (!tn_i_a_alive(a, use[i]) && use[i] != in->tie) tn_i_a_dies(a, use[i]);
    a->pinned = 0;
}

/* A register for the result, before its operands are given up where it may not be one of theirs. */
unsigned tn_i_a_result(tn_i_allocator *a, tn_i_reg v) {
    const tn_i_reg like = a->m->value[v].like;
    const int class = a->m->value[v].class;
    if (like != TN_REG_NONE) {
        const unsigned home = a->state[like].home;
        if (home != TN_A_NOWHERE && a->holder[home] == TN_REG_NONE && !(a->pinned >> home & 1) &&
            !(a->blocked >> home & 1))
            return home;
    }
    return tn_i_a_take(a, class);
}

/* A carry that lives on the stack, and that nobody reads any more before it is written again, is written at once. */
static void write_ahead(tn_i_allocator *a, unsigned r, tn_i_reg v) {
    const tn_i_m_value *x = &a->m->value[v];
    const tn_i_reg c = x->like;
    if (c == TN_REG_NONE || x->carried || a->nblock == 0 || a->m->failed) return;
    const tn_i_a_block *b = &a->block[a->nblock - 1];
    const tn_i_a_state *s = &a->state[c];
    if (b->kind != TN_M_LOOP - TN_M_COPY || b->loop != a->m->value[c].loop || s->home != TN_A_NOWHERE) return;
    if (s->slot < 0 || s->reg != TN_A_NOWHERE || tn_i_a_alive(a, c) || s->at == s->end) return;
    if (a->state[v].slot >= 0 || a->m->value[c].bytes != x->bytes) return;
    tn_i_a_save(a, r, c);
    a->state[v].slot = s->slot;
    a->state[v].valid = a->state[v].ahead = true;
}

void tn_i_a_defined(tn_i_allocator *a, unsigned r, tn_i_reg v) {
    tn_i_a_state *s = &a->state[v];
    if (s->reg != TN_A_NOWHERE && s->reg != r) tn_i_a_let_go(a, s->reg);
    tn_i_a_hold(a, r, v);
    s->valid = false;
    if (a->m->value[v].carried) tn_i_a_consume(a, v);
    if (!tn_i_a_alive(a, v))
        tn_i_a_dies(a, v);
    else
        write_ahead(a, r, v);
}

static bool useless(const tn_i_allocator *a, const tn_i_mi *in) {
    const tn_i_reg r = in->flags & TN_MI_R ? in->r : in->m;
    return in->flags & TN_MI_PURE && tn_i_is_virtual(r) && a->state[r].at == a->state[r].end;
}

/* r is what tie was: in its register if that is read for the last time. */
static unsigned tied(tn_i_allocator *a, const tn_i_mi *in, unsigned tie) {
    const bool last = a->state[in->tie].at + 1 == a->state[in->tie].end ||
                      (a->state[in->tie].at + 1 < a->state[in->tie].end && a->event[a->state[in->tie].at + 1] & 1);
    const bool other = in->v == in->tie || in->m == in->tie || in->s == in->tie;
    if (in->r == in->tie || (last && !other && !a->m->value[in->tie].constant)) return tie;
    const unsigned r = tn_i_a_result(a, in->r);
    tn_i_a_copy(a, r, tie, a->m->value[in->r].bytes);
    return r;
}

static void emit(tn_i_allocator *a, const tn_i_mi *in, const operands *o) {
    if (in->op >= TN_X_GENERAL) {
        tn_i_x86_general(a->c, &(tn_i_x86_gen){.op = in->op,
                                               .size = in->size,
                                               .reg = (uint8_t)tn_i_a_number(o->r),
                                               .cc = in->cc,
                                               .imm = in->imm,
                                               .rm = o->m});
        return;
    }
    const bool number = tn_i_x86_forms[tn_i_x86_rows[in->op].form].flags & TN_FORM_S, in_v = in->flags & TN_MI_IN_V;
    tn_i_x86_vector(a->c, &(tn_i_x86_vec){.op = in->op,
                                          .size = in->size,
                                          .reg = (uint8_t)(in_v ? 0 : tn_i_a_number(o->r)),
                                          .v = (uint8_t)tn_i_a_number(in_v ? o->r : o->v),
                                          .k = (uint8_t)tn_i_a_number(o->k),
                                          .zero = in->flags & TN_MI_ZERO,
                                          .imm = number ? (uint8_t)tn_i_a_number(o->s) : (uint8_t)in->imm,
                                          .rm = o->m});
}

void tn_i_a_instruction(tn_i_allocator *a, const tn_i_mi *given) {
    tn_i_mi in = *given;
    operands o = {0};
    const bool r = in.flags & TN_MI_R && tn_i_is_virtual(in.r), m = in.flags & TN_MI_M && tn_i_is_virtual(in.m);
    if (useless(a, &in)) {
        tn_i_a_consume_uses(a, &in);
        if (tn_i_is_virtual(in.tie) && !tn_i_a_alive(a, in.tie)) tn_i_a_dies(a, in.tie);
        return;
    }
    if (in.flags & TN_MI_SWAP && tn_i_is_virtual(in.v) && tn_i_is_virtual(in.m) && a->state[in.v].reg == TN_A_NOWHERE &&
        a->state[in.m].reg != TN_A_NOWHERE) {
        in.v = given->m;
        in.m = given->v;
    }
    o.v = fetch(a, in.v);
    o.s = fetch(a, in.s);
    o.k = fetch(a, in.k);
    o.tie = fetch(a, in.tie);
    if (!(in.flags & TN_MI_R)) o.r = fetch(a, in.r);
    fetch_rm(a, &in, &o);
    const bool early = in.flags & TN_MI_EARLY || tn_i_is_virtual(in.tie);
    if (r && early) o.r = tn_i_is_virtual(in.tie) ? tied(a, &in, o.tie) : tn_i_a_result(a, in.r);
    if (r && early) a->pinned |= (uint64_t)1 << o.r;
    tn_i_a_consume_uses(a, &in);
    if (tn_i_is_virtual(in.tie) && in.tie != in.r && !tn_i_a_alive(a, in.tie)) tn_i_a_dies(a, in.tie);
    if (r && !early) o.r = tn_i_a_result(a, in.r);
    if (in.flags & TN_MI_R && !r) o.r = in.r & 31;
    if (m) o.m = tn_i_x86_r(tn_i_a_number(o.s = tn_i_a_result(a, in.m)));
    if (!a->m->failed) emit(a, &in, &o);
    if (r) tn_i_a_defined(a, o.r, in.r);
    if (m) tn_i_a_defined(a, o.s, in.m);
    a->pinned = 0;
}
