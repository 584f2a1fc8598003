/* scan and while as loops of C: the body is a function, carries change places. */
#include "emit/c99.h"
#include "plan/loop.h"

#include <inttypes.h>

typedef struct writer {
    tn_i_c99 *w;
    tn_i_text *t;
    const tn_i_plan *p;
    const tn_i_step *s;
    const tn_i_loop *l;
    const tn_i_eqn *e;
} writer;

const tn_i_pair *tn_i_c99_pair(const tn_i_loop *l, uint32_t leaf) {
    for (uint32_t i = 0; i < l->npair; i++)
        if (l->pair[i].leaf == leaf) return &l->pair[i];
    return NULL;
}

static void put_operand(writer *k, uint32_t i, bool write) {
    tn_i_c99_pointer(k->w, k->t, k->p, tn_i_in(k->p->f, k->e)[i], &k->p->arg[k->l->arg + i], write);
}

static void put_output(writer *k, uint32_t j) {
    tn_i_c99_pointer(k->w, k->t, k->p, k->e->out + j, &k->p->place[k->e->out + j], true);
}

/* Carry j as it enters a step, or where it leaves it. */
static void put_carry(writer *k, uint32_t j, bool leaves) {
    if (tn_i_c99_pair(k->l, j))
        tn_i_text_put(k->t, "%s%u", leaves ? "next" : "carry", (unsigned)j);
    else
        put_operand(k, k->l->shape.carry0 + j, leaves);
}

static const tn_i_mover *mover_of(const writer *k, uint32_t arg, uint32_t out) {
    for (uint32_t i = 0; i < k->l->nmover; i++)
        if (k->l->mover[i].arg == arg && k->l->mover[i].out == out) return &k->l->mover[i];
    return NULL;
}

static void put_array(writer *k, uint32_t arg, uint32_t out) {
    if (arg != TN_NOVAR)
        put_operand(k, arg, false);
    else
        put_output(k, out);
}

static int64_t unit(const writer *k, uint32_t arg, uint32_t out) {
    if (arg != TN_NOVAR) return tn_i_c99_unit(k->p, tn_i_in(k->p->f, k->e)[arg], &k->p->arg[k->l->arg + arg]);
    return tn_i_c99_unit(k->p, k->e->out + out, &k->p->place[k->e->out + out]);
}

/* The entry of this step. */
static void put_entry(writer *k, uint32_t arg, uint32_t out) {
    const tn_i_mover *m = mover_of(k, arg, out);
    if (m->stack) tn_i_text_put(k->t, "tansy_entry(");
    put_array(k, arg, out);
    if (m->stack) tn_i_text_put(k->t, ", step)");
    if (m->by) tn_i_text_put(k->t, " + step * (%" PRId64 ")", m->by / unit(k, arg, out));
}

/* Room for so many more entries of each stack that is made, and as many to be read of each that is not. */
static void claim(writer *k, const char *n) {
    for (uint32_t i = 0; i < k->l->nmover; i++) {
        const tn_i_mover *m = &k->l->mover[i];
        if (!m->stack) continue;
        tn_i_text_put(k->t, m->out == TN_NOVAR ? "if ((" : "status = tansy_extend(stacks, ");
        put_array(k, m->arg, m->out);
        tn_i_text_put(k->t, m->out == TN_NOVAR ? ")->count < %s) return 4;\n" : ", %s);\nif (status) return status;\n",
                      n);
    }
}

static void call_body(writer *k) {
    const tn_i_loop_shape *s = &k->l->shape;
    tn_i_c99_call(k->w, k->l->body);
    if (s->index) tn_i_text_put(k->t, "&step, ");
    for (uint32_t i = s->const0; i < s->const0 + s->nconst; i++) put_operand(k, i, false), tn_i_text_put(k->t, ", ");
    for (uint32_t j = 0; j < s->ncarry; j++) put_carry(k, j, false), tn_i_text_put(k->t, ", ");
    for (uint32_t i = 0; i < s->nx; i++) put_entry(k, s->x0 + i, TN_NOVAR), tn_i_text_put(k->t, ", ");
    for (uint32_t j = 0; j < s->ncarry; j++) put_carry(k, j, true), tn_i_text_put(k->t, ", ");
    for (uint32_t j = 0; j < s->ny; j++) put_entry(k, TN_NOVAR, s->y0 + j), tn_i_text_put(k->t, ", ");
    tn_i_c99_end_call(k->w, k->s->scratch + (int64_t)k->l->arena, false);
}

static const char *carry_type(const writer *k, uint32_t j) {
    return tn_i_c_name(k->p->f->val[k->e->out + j].type->dtype);
}

static void declare_pairs(writer *k) {
    for (uint32_t i = 0; i < k->l->npair; i++) {
        const tn_i_pair *pair = &k->l->pair[i];
        const char *type = carry_type(k, pair->leaf);
        tn_i_text_put(k->t, "%s *carry%u = ", type, (unsigned)pair->leaf);
        put_operand(k, k->l->shape.carry0 + pair->leaf, true);
        tn_i_text_put(k->t, ";\n%s *next%u = (%s *)(void *)(w + %" PRId64 ");\n", type, (unsigned)pair->leaf, type,
                      k->s->scratch + (int64_t)pair->second);
    }
}

static void exchange(writer *k) {
    for (uint32_t i = 0; i < k->l->npair; i++) {
        const unsigned j = k->l->pair[i].leaf;
        tn_i_text_put(k->t, "{\n%s *const was%u = carry%u;\ncarry%u = next%u;\nnext%u = was%u;\n}\n", carry_type(k, j),
                      j, j, j, j, j, j);
    }
}

static void leave(writer *k) {
    for (uint32_t i = 0; i < k->l->npair; i++) {
        const tn_i_pair *pair = &k->l->pair[i];
        if (!pair->bytes) continue;
        tn_i_text_put(k->t, "if (carry%u != ", (unsigned)pair->leaf);
        put_output(k, pair->leaf);
        tn_i_text_put(k->t, ") memcpy(");
        put_output(k, pair->leaf);
        tn_i_text_put(k->t, ", carry%u, %zu);\n", (unsigned)pair->leaf, pair->bytes);
    }
}

/* All arrays repeat one entry for ever, as zeros do that stand for a stack: so does what is made of them. */
static void write_endless(writer *k) {
    tn_i_text_put(k->t, "if (steps == INT64_MAX) {\nconst int64_t step = 0;\n");
    for (uint32_t i = 0; i < k->l->nmover; i++) {
        if (!k->l->mover[i].stack || k->l->mover[i].out != TN_NOVAR) continue;
        tn_i_text_put(k->t, "if ((");
        put_array(k, k->l->mover[i].arg, TN_NOVAR);
        tn_i_text_put(k->t, ")->count < steps) return 4;\n");
    }
    claim(k, "1");
    call_body(k);
    for (uint32_t i = 0; i < k->l->nmover; i++) {
        if (!k->l->mover[i].stack || k->l->mover[i].out == TN_NOVAR) continue;
        tn_i_c99_count_pages(k->w, k->p->f->val[k->e->out + k->l->mover[i].out].type);
        tn_i_text_put(k->t, "status = tansy_forever(stacks, ");
        put_output(k, k->l->mover[i].out);
        tn_i_text_put(k->t, ");\nif (status) return status;\n");
    }
    tn_i_text_put(k->t, "(void)step;\n} else {\n");
}

static void write_scan(writer *k) {
    const tn_i_loop_shape *s = &k->l->shape;
    const bool endless = s->length == TN_I_STEPS && !s->index && s->ncarry == 0 && s->nx > 0;
    tn_i_text_put(k->t, "const int64_t steps = ");
    if (s->length == TN_I_STEPS) {
        tn_i_text_put(k->t, "*");
        put_operand(k, 0, false);
        tn_i_text_put(k->t, ";\n");
    } else
        tn_i_text_put(k->t, "%" PRId64 ";\n", s->length);
    if (endless) write_endless(k);
    claim(k, "steps");
    tn_i_text_put(k->t, s->reverse ? "for (int64_t step = steps - 1; step >= 0; step--) {\n"
                                   : "for (int64_t step = 0; step < steps; step++) {\n");
    call_body(k);
    exchange(k);
    tn_i_text_put(k->t, endless ? "}\n}\n" : "}\n");
}

static void write_while(writer *k) {
    const tn_i_loop_shape *s = &k->l->shape;
    tn_i_text_put(k->t, "int64_t step;\nfor (step = 0;; step++) {\nuint8_t more = 0;\n");
    tn_i_c99_call(k->w, k->l->cond);
    for (uint32_t i = 0; i < s->ncond; i++) put_operand(k, i, false), tn_i_text_put(k->t, ", ");
    for (uint32_t j = 0; j < s->ncarry; j++) put_carry(k, j, false), tn_i_text_put(k->t, ", ");
    tn_i_text_put(k->t, "&more, ");
    tn_i_c99_end_call(k->w, k->s->scratch + (int64_t)k->l->arena, false);
    tn_i_text_put(k->t, "if (!more) break;\n");
    claim(k, "1");
    call_body(k);
    exchange(k);
    tn_i_text_put(k->t, s->steps == TN_NOVAR ? "}\n(void)step;\n" : "}\n");
    if (s->steps == TN_NOVAR) return;
    tn_i_text_put(k->t, "*");
    put_output(k, s->steps);
    tn_i_text_put(k->t, " = step;\n");
}

void tn_i_c99_loop(tn_i_c99 *w, const tn_i_plan *p, const tn_i_step *s) {
    writer k = {.w = w, .t = &w->t, .p = p, .s = s, .l = &p->loop[s->loop], .e = &p->f->eqn[s->eqn]};
    if (tn_i_c99_whole(k.l)) {
        tn_i_c99_whole_loop(w, p, s);
        return;
    }
    tn_i_text_put(k.t, "{\n");
    for (uint32_t j = 0; k.l->stacks && j < k.l->shape.ny; j++)
        tn_i_c99_stack_output(w, p, k.e->out + k.l->shape.y0 + j);
    declare_pairs(&k);
    if (k.l->cond)
        write_while(&k);
    else
        write_scan(&k);
    leave(&k);
    tn_i_text_put(k.t, "}\n");
}
