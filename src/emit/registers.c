/* Loops whose steps are numbers alone: what is carried, and all between, are variables of C.
 *
 * A place in the arena, or in the memory of a carry, is a variable by its base, offset and dtype; operands, entries and
 * results stay in memory.  So a step costs what it computes. */
#include "emit/nest_emit.h"
#include "emit/steps_emit.h"

#include <inttypes.h>
#include <string.h>

/* ---- places ------------------------------------------------------------------------- */

static bool is_carry(const tn_i_registers *g, uint32_t base) {
    const uint32_t in = base - g->carry, out = base - g->out;
    return in < g->ncarry || out < g->ncarry;
}

static bool is_variable(const tn_i_registers *g, uint32_t base) { return base == TN_BASE_ARENA || is_carry(g, base); }

static void note(tn_i_registers *g, uint32_t base, int64_t offset, int dtype) {
    for (size_t i = 0; i < g->n; i++)
        if (g->variable[i].base == base && g->variable[i].offset == offset && g->variable[i].dtype == dtype) return;
    if (!tn_i_grow(g->m->ctx, (void **)(void *)&g->variable, &g->room, g->n + 1, sizeof *g->variable)) {
        g->m->failed = true;
        return;
    }
    g->variable[g->n++] = (tn_i_variable){.base = base, .offset = offset, .dtype = dtype};
}

void tn_i_emit_element_at(tn_i_registers *g, uint32_t base, int64_t offset, int dtype) {
    tn_i_text *t = &g->m->text;
    const char *type = tn_i_c_type(dtype);
    if (is_variable(g, base)) {
        note(g, base, offset, dtype);
        tn_i_text_put(t, "%c%u_%" PRId64 "_%s", g->prefix, (unsigned)base, offset, type);
    } else if (base == TN_BASE_ABSOLUTE)
        tn_i_text_put(t, "*(%s *)T[%u]", type, (unsigned)tn_i_module_address(g->m, (const void *)(uintptr_t)offset));
    else
        tn_i_text_put(t, "*(%s *)(%cB%u + INT64_C(%" PRId64 "))", type, g->prefix, (unsigned)base, offset);
}

/* ---- which loops ------------------------------------------------------------------------ */

static bool one(const tn_type *t) { return !tn_i_has_steps(t) && tn_i_count(t) == 1; }

static bool moves_one(const tn_i_plan *p, const tn_i_move *k) { return !k->stack && one(p->f->val[k->v].type); }

static bool numbers_alone(tn_i_module *m, const tn_i_plan *p) {
    if (p->nrelease || p->nstep > 8) return false;
    for (size_t i = 0; i < p->nstep; i++) {
        const tn_i_step *s = &p->step[i];
        const bool numbers = s->kind == TN_STEP_NEST && s->u.nest->nloop == 0 && tn_i_nest_fits(m, p, s, s->u.nest);
        if (!numbers && (s->kind != TN_STEP_MOVE || !moves_one(p, &p->move[s->loop]))) return false;
    }
    for (size_t i = p->last_move; i < p->nmove; i++)
        if (!moves_one(p, &p->move[i])) return false;
    return true;
}

bool tn_i_in_registers(tn_i_module *m, const tn_i_loop *l) {
    const tn_i_loop_shape *s = &l->shape;
    const tn_fn *f = s->body;
    for (uint32_t j = 0; j < s->ncarry; j++)
        if (!one(f->val[s->index + s->nconst + j].type)) return false;
    return numbers_alone(m, l->body) && (!l->cond || numbers_alone(m, l->cond));
}

/* ---- a program ---------------------------------------------------------------------------- */

static void put_move(tn_i_registers *g, const tn_i_plan *p, const tn_i_move *k) {
    const int dtype = p->f->val[k->v].type->dtype;
    tn_i_emit_element_at(g, k->to.base, k->to.offset, dtype);
    tn_i_text_put(&g->m->text, " = ");
    tn_i_emit_element_at(g, k->from.base, k->from.offset, dtype);
    tn_i_text_put(&g->m->text, ";\n");
}

static void put_steps(tn_i_registers *g, const tn_i_plan *p) {
    for (size_t i = 0; i < p->nstep; i++)
        if (p->step[i].kind == TN_STEP_MOVE)
            put_move(g, p, &p->move[p->step[i].loop]);
        else
            tn_i_emit_nest_inline(g->m, g, p, &p->step[i], p->step[i].u.nest);
    for (size_t i = p->last_move; i < p->nmove; i++) put_move(g, p, &p->move[i]);
}

static void declare(tn_i_registers *g) {
    for (size_t i = 0; i < g->n; i++)
        tn_i_text_put(&g->m->text, "%s %c%u_%" PRId64 "_%s;\n", tn_i_c_type(g->variable[i].dtype), g->prefix,
                      (unsigned)g->variable[i].base, g->variable[i].offset, tn_i_c_type(g->variable[i].dtype));
}

/* ---- a loop ---------------------------------------------------------------------------------- */

typedef struct writer {
    tn_i_module *m;
    const tn_i_plan *p;
    const tn_i_loop *l;
    const tn_i_eqn *e;
    tn_i_registers body, cond;
} writer;

static int carry_dtype(const writer *w, uint32_t j) {
    const tn_i_loop_shape *s = &w->l->shape;
    return s->body->val[s->index + s->nconst + j].type->dtype;
}

static void put_pointer(writer *w, char prefix, uint32_t base, const tn_i_place *k) {
    tn_i_text_put(&w->m->text, "char *%cB%u = (char *)", prefix, (unsigned)base);
    tn_i_emit_address(w->m, k);
    tn_i_text_put(&w->m->text, ";\n");
}

/* Pointers to what stays in memory, and what is carried from there. */
static void enter(writer *w) {
    const tn_i_loop_shape *s = &w->l->shape;
    const tn_i_place *arg = w->p->arg + w->l->arg;
    const uint32_t first = TN_BASE_ARGUMENTS + s->index;
    if (s->index) tn_i_text_put(&w->m->text, "char *mB%u = (char *)&number;\n", (unsigned)TN_BASE_ARGUMENTS);
    for (uint32_t i = 0; i < s->nconst; i++) put_pointer(w, 'm', first + i, &arg[s->const0 + i]);
    for (uint32_t i = 0; i < s->nx; i++) put_pointer(w, 'm', first + s->nconst + s->ncarry + i, &arg[s->x0 + i]);
    for (uint32_t j = 0; j < s->ny; j++)
        put_pointer(w, 'm', w->body.out + s->ncarry + j, &w->p->place[w->e->out + s->y0 + j]);
    for (uint32_t i = 0; w->l->cond && i < s->ncond; i++) put_pointer(w, 'c', TN_BASE_ARGUMENTS + i, &arg[i]);
    if (w->l->cond)
        tn_i_text_put(&w->m->text, "b8 answer = 0; char *cB%u = (char *)&answer;\n",
                      (unsigned)(TN_BASE_ARGUMENTS + s->ncond + s->ncarry));
    for (uint32_t j = 0; j < s->ncarry; j++) {
        tn_i_emit_element_at(&w->body, w->body.carry + j, 0, carry_dtype(w, j));
        tn_i_text_put(&w->m->text, " = *(%s *)", tn_i_c_type(carry_dtype(w, j)));
        tn_i_emit_address(w->m, &arg[s->carry0 + j]);
        tn_i_text_put(&w->m->text, ";\n");
    }
}

static void move_on(writer *w, const char *times) {
    for (uint32_t k = 0; k < w->l->nmover; k++)
        if (w->l->mover[k].by)
            tn_i_text_put(&w->m->text, "mB%u += %s * INT64_C(%" PRId64 ");\n", (unsigned)w->l->mover[k].at, times,
                          w->l->mover[k].by);
}

static void put_body(writer *w) {
    put_steps(&w->body, w->l->body);
    for (uint32_t k = 0; k < w->l->npair; k++) {
        const uint32_t leaf = w->l->pair[k].leaf;
        tn_i_emit_element_at(&w->body, w->body.carry + leaf, 0, carry_dtype(w, leaf));
        tn_i_text_put(&w->m->text, " = ");
        tn_i_emit_element_at(&w->body, w->body.out + leaf, 0, carry_dtype(w, leaf));
        tn_i_text_put(&w->m->text, ";\n");
    }
}

/* What profiles are told in place of each step. */
static void note_steps(writer *w, const tn_i_plan *p, const char *times) {
    if (!w->m->profile) return;
    tn_i_text_put(&w->m->text, "((note_steps_fn *)T[%d])(R, (const struct plan *)T[%u], %s);\n", TN_TABLE_NOTE_STEPS,
                  (unsigned)tn_i_module_address(w->m, p), times);
}

static void put_counted(writer *w) {
    const tn_i_loop_shape *s = &w->l->shape;
    tn_i_text_put(&w->m->text, "const int64_t n = ");
    if (s->length == TN_I_STEPS) {
        tn_i_text_put(&w->m->text, "*(const int64_t *)");
        tn_i_emit_address(w->m, w->p->arg + w->l->arg);
    } else
        tn_i_text_put(&w->m->text, "INT64_C(%" PRId64 ")", s->length);
    tn_i_text_put(&w->m->text, ";\nif (n > 0) {\nnumber = %s;\n", s->reverse ? "n - 1" : "0");
    move_on(w, "number");
    tn_i_text_put(&w->m->text, "}\nfor (int64_t left = n; left > 0; left--) {\n");
    put_body(w);
    tn_i_text_put(&w->m->text, "number += %d;\n", s->reverse ? -1 : 1);
    move_on(w, s->reverse ? "-1" : "1");
    tn_i_text_put(&w->m->text, "}\n");
    note_steps(w, w->l->body, "n");
}

static void put_while(writer *w) {
    const tn_i_loop_shape *s = &w->l->shape;
    tn_i_text_put(&w->m->text, "for (number = 0;; number++) {\n");
    for (uint32_t j = 0; j < s->ncarry; j++) {
        tn_i_emit_element_at(&w->cond, w->cond.carry + j, 0, carry_dtype(w, j));
        tn_i_text_put(&w->m->text, " = ");
        tn_i_emit_element_at(&w->body, w->body.carry + j, 0, carry_dtype(w, j));
        tn_i_text_put(&w->m->text, ";\n");
    }
    put_steps(&w->cond, w->l->cond);
    tn_i_text_put(&w->m->text, "if (!answer) break;\n");
    put_body(w);
    tn_i_text_put(&w->m->text, "}\n");
    note_steps(w, w->l->body, "number");
    note_steps(w, w->l->cond, "number + 1");
    if (s->steps == TN_NOVAR) return;
    tn_i_text_put(&w->m->text, "*(int64_t *)");
    tn_i_emit_address(w->m, &w->p->place[w->e->out + s->steps]);
    tn_i_text_put(&w->m->text, " = number;\n");
}

static void leave(writer *w) {
    for (uint32_t j = 0; j < w->l->shape.ncarry; j++) {
        tn_i_text_put(&w->m->text, "*(%s *)", tn_i_c_type(carry_dtype(w, j)));
        tn_i_emit_address(w->m, &w->p->place[w->e->out + j]);
        tn_i_text_put(&w->m->text, " = ");
        tn_i_emit_element_at(&w->body, w->body.carry + j, 0, carry_dtype(w, j));
        tn_i_text_put(&w->m->text, ";\n");
    }
}

void tn_i_put_register_loop(tn_i_module *m, const tn_i_plan *p, const tn_i_loop *l, const tn_i_eqn *e) {
    const tn_i_loop_shape *s = &l->shape;
    writer w = {.m = m, .p = p, .l = l, .e = e};
    w.body = (tn_i_registers){.m = m,
                              .prefix = 'm',
                              .carry = TN_BASE_ARGUMENTS + s->index + s->nconst,
                              .out = TN_BASE_ARGUMENTS + s->body->nin,
                              .ncarry = s->ncarry};
    w.cond = (tn_i_registers){.m = m, .prefix = 'c', .carry = TN_BASE_ARGUMENTS + s->ncond, .ncarry = s->ncarry};
    w.cond.out = w.cond.carry; /* its answer is in memory */
    tn_i_text outside = m->text;
    m->text = (tn_i_text){.ctx = m->ctx}; /* declarations come first, and are known last */
    enter(&w);
    if (l->cond)
        put_while(&w);
    else
        put_counted(&w);
    leave(&w);
    tn_i_text inside = m->text;
    m->text = outside;
    m->text.failed |= inside.failed;
    tn_i_text_put(&m->text, "int64_t number = 0;\n");
    declare(&w.body);
    declare(&w.cond);
    tn_i_text_add(&m->text, inside.at ? inside.at : "", inside.n);
    tn_i_text_free(&inside);
    tn_i_free(m->ctx, w.body.variable, w.body.room * sizeof *w.body.variable);
    tn_i_free(m->ctx, w.cond.variable, w.cond.room * sizeof *w.cond.variable);
}
