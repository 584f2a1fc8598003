/* Steps that run programs, as C: calls, choices and loops, whose frames are filled in by the text.
 *
 * What needs the library's stacks stays with the library (exec/run.c, exec/loop_run.c). */
#include "emit/steps_emit.h"

#include "exec/strides.h"

#include <inttypes.h>
#include <string.h>

void tn_i_emit_address(tn_i_module *m, const tn_i_place *k) {
    if (k->base == TN_BASE_ABSOLUTE)
        tn_i_text_put(&m->text, "(uintptr_t)T[%u]",
                      (unsigned)tn_i_module_address(m, (const void *)(uintptr_t)k->offset));
    else
        tn_i_text_put(&m->text, "(F[%u] + (uintptr_t)INT64_C(%" PRId64 "))", (unsigned)k->base, k->offset);
}

static uint32_t index_of(const tn_i_module *m, const tn_i_plan *p) {
    for (size_t i = 0; i < m->root->nnested; i++)
        if (m->root->nested[i] == p) return (uint32_t)i + 1;
    return 0;
}

void tn_i_emit_call(tn_i_module *m, const tn_i_plan *p, const char *run) {
    tn_i_text_put(&m->text, "plan%u((const struct plan *)T[%u], %s", (unsigned)index_of(m, p),
                  (unsigned)tn_i_module_address(m, p), run);
}

static void put_call(tn_i_module *m, const tn_i_plan *p, const char *frame) {
    tn_i_emit_call(m, p, "&inner");
    tn_i_text_put(&m->text, ", %s)", frame);
}

void tn_i_emit_inner(tn_i_module *m, const tn_i_plan *p) {
    tn_i_text_put(&m->text, "struct run inner = *R; inner.skip = 0; inner.file_at += %zuu;\n", p->own_spill);
}

static void put_entry(tn_i_module *m, const char *frame, uint32_t at, const tn_i_place *k) {
    tn_i_text_put(&m->text, "%s[%u] = ", frame, (unsigned)at);
    tn_i_emit_address(m, k);
    tn_i_text_put(&m->text, ";\n");
}

/* ---- copies ------------------------------------------------------------------------ */

bool tn_i_move_plain(const tn_i_plan *p, const tn_i_move *k) {
    const bool dense = k->from.stride == TN_DENSE && k->to.stride == TN_DENSE;
    return !k->stack && (dense || tn_i_count(p->f->val[k->v].type) == 1);
}

void tn_i_emit_move(tn_i_module *m, const tn_i_plan *p, const tn_i_move *k) {
    const tn_type *t = p->f->val[k->v].type;
    if (k->out != TN_NOVAR) tn_i_text_put(&m->text, "if (F[%u]) ", (unsigned)k->to.base);
    tn_i_text_put(&m->text, "{ const uintptr_t from = ");
    tn_i_emit_address(m, &k->from);
    tn_i_text_put(&m->text, ", to = ");
    tn_i_emit_address(m, &k->to);
    if (tn_i_count(t) == 1)
        tn_i_text_put(&m->text, "; *(%s *)to = *(const %s *)from; }\n", tn_i_c_type(t->dtype), tn_i_c_type(t->dtype));
    else
        tn_i_text_put(&m->text, "; if (from != to) memcpy((void *)to, (const void *)from, %zuu); }\n",
                      tn_type_bytes(t));
}

/* ---- a program, or one of several -------------------------------------------------- */

static void put_program(tn_i_module *m, const tn_i_plan *p, const tn_i_step *s, const tn_i_plan *body,
                        const tn_i_place *arg) {
    const tn_i_eqn *e = &p->f->eqn[s->eqn];
    tn_i_text_put(&m->text, "B[0] = 0; B[1] = (uintptr_t)B + %zuu;\n", body->frame);
    for (uint32_t i = 0; i < body->f->nin; i++) put_entry(m, "B", TN_BASE_ARGUMENTS + i, &arg[i]);
    for (uint32_t j = 0; j < e->nout; j++)
        put_entry(m, "B", TN_BASE_ARGUMENTS + body->f->nin + j, &p->place[e->out + j]);
    tn_i_text_put(&m->text, "status = ");
    put_call(m, body, "B");
    tn_i_text_put(&m->text, ";\n");
}

static void begin_nested(tn_i_module *m, const tn_i_plan *p, const tn_i_step *s) {
    tn_i_emit_inner(m, p);
    tn_i_text_put(&m->text, "uintptr_t *const B = (uintptr_t *)(F[1] + %" PRId64 "ll);\n", s->scratch);
}

static void put_branches(tn_i_module *m, const tn_i_plan *p, const tn_i_step *s) {
    const tn_i_fork *k = &p->fork[s->loop];
    const tn_i_place *arg = p->arg + k->arg;
    const tn_type *t = p->f->val[tn_i_in(p->f, &p->f->eqn[s->eqn])[0]].type;
    tn_i_text_put(&m->text, "const int64_t index = *(const %s *)", tn_i_c_type(t->dtype));
    tn_i_emit_address(m, arg);
    tn_i_text_put(&m->text, ";\n");
    for (uint32_t i = 0; i < k->n; i++) {
        if (i + 1 < k->n) tn_i_text_put(&m->text, "if (index <= %u) ", (unsigned)i);
        tn_i_text_put(&m->text, "{\n");
        put_program(m, p, s, p->branch[k->branch + i], arg + 1);
        tn_i_text_put(&m->text, i + 1 < k->n ? "} else " : "}\n");
    }
}

/* ---- loops ---------------------------------------------------------------------------- */

static bool in_memory(const tn_i_loop *l) { return l->ncursor == 0 && !l->stacks; }

static void enter_loop(tn_i_module *m, const tn_i_plan *p, const tn_i_loop *l, const tn_i_eqn *e) {
    const tn_i_loop_shape *s = &l->shape;
    const tn_i_place *arg = p->arg + l->arg;
    uint32_t at = TN_BASE_ARGUMENTS;
    tn_i_text_put(&m->text, "B[0] = 0; B[1] = S + %zuu;\n", l->arena);
    if (s->index) tn_i_text_put(&m->text, "B[%u] = (uintptr_t)number;\n", (unsigned)at++);
    for (uint32_t i = s->const0; i < s->x0 + s->nx; i++) put_entry(m, "B", at++, &arg[i]);
    for (uint32_t j = 0; j < s->ncarry; j++) put_entry(m, "B", at++, &arg[s->carry0 + j]);
    for (uint32_t j = 0; j < s->ny; j++) put_entry(m, "B", at++, &p->place[e->out + s->y0 + j]);
    for (uint32_t k = 0; k < l->npair; k++)
        tn_i_text_put(&m->text, "B[%u] = S + %zuu;\n", (unsigned)(TN_BASE_ARGUMENTS + s->body->nin + l->pair[k].leaf),
                      l->pair[k].second);
    if (!l->cond) return;
    at = TN_BASE_ARGUMENTS;
    tn_i_text_put(&m->text, "uintptr_t *const C = (uintptr_t *)(S + %zuu); b8 answer = 0;\n", l->cond_frame);
    tn_i_text_put(&m->text, "C[0] = 0; C[1] = S + %zuu;\n", l->arena);
    for (uint32_t i = 0; i < s->ncond; i++) put_entry(m, "C", at++, &arg[i]);
    for (uint32_t j = 0; j < s->ncarry; j++) put_entry(m, "C", at++, &arg[s->carry0 + j]);
    tn_i_text_put(&m->text, "C[%u] = (uintptr_t)&answer;\n", (unsigned)at);
}

static uint32_t carry_at(const tn_i_loop *l, uint32_t leaf) {
    return TN_BASE_ARGUMENTS + l->shape.index + l->shape.nconst + leaf;
}

static void exchange(tn_i_module *m, const tn_i_loop *l) {
    for (uint32_t k = 0; k < l->npair; k++)
        tn_i_text_put(&m->text, "{ const uintptr_t was = B[%u]; B[%u] = B[%u]; B[%u] = was; }\n",
                      (unsigned)carry_at(l, l->pair[k].leaf), (unsigned)carry_at(l, l->pair[k].leaf),
                      (unsigned)(TN_BASE_ARGUMENTS + l->shape.body->nin + l->pair[k].leaf),
                      (unsigned)(TN_BASE_ARGUMENTS + l->shape.body->nin + l->pair[k].leaf));
}

/* As `aim` of exec/loop_run.c. */
static void aim(tn_i_module *m, const tn_i_plan *p, const tn_i_loop *l, const tn_i_eqn *e) {
    for (uint32_t k = 0; k < l->npair; k++) {
        const tn_i_pair *pair = &l->pair[k];
        if (pair->stacked == TN_NOVAR) continue;
        const tn_i_mover *to = &l->mover[pair->stacked];
        tn_i_text_put(&m->text, "{ const uintptr_t home = ");
        tn_i_emit_address(m, &p->place[e->out + pair->leaf]);
        tn_i_text_put(&m->text,
                      ";\nB[%u] = left > 1 ? B[%u] + (uintptr_t)INT64_C(%" PRId64
                      ") : B[%u] != home ? home : S + %zuu; }\n",
                      (unsigned)(TN_BASE_ARGUMENTS + l->shape.body->nin + pair->leaf), (unsigned)to->at,
                      l->shape.reverse ? -to->by : to->by, (unsigned)carry_at(l, pair->leaf), pair->second);
    }
}

static void move(tn_i_module *m, const tn_i_loop *l, const char *times) {
    for (uint32_t k = 0; k < l->nmover; k++)
        if (l->mover[k].by)
            tn_i_text_put(&m->text, "B[%u] += (uintptr_t)(%s * INT64_C(%" PRId64 "));\n", (unsigned)l->mover[k].at,
                          times, l->mover[k].by);
}

static void put_counted(tn_i_module *m, const tn_i_plan *p, const tn_i_loop *l, const tn_i_eqn *e) {
    const tn_i_loop_shape *s = &l->shape;
    tn_i_text_put(&m->text, "const int64_t n = ");
    if (s->length == TN_I_STEPS) {
        tn_i_text_put(&m->text, "*(const int64_t *)");
        tn_i_emit_address(m, p->arg + l->arg);
    } else
        tn_i_text_put(&m->text, "INT64_C(%" PRId64 ")", s->length);
    tn_i_text_put(&m->text, ";\nif (n > 0) *number = %s;\n", s->reverse ? "n - 1" : "0");
    tn_i_text_put(&m->text, "if (n > 0) {\n");
    move(m, l, "*number");
    tn_i_text_put(&m->text, "}\nfor (int64_t left = n; left > 0; left--) {\n");
    aim(m, p, l, e);
    tn_i_text_put(&m->text, "status = ");
    put_call(m, l->body, "B");
    tn_i_text_put(&m->text, ";\nif (status) return status;\n");
    exchange(m, l);
    tn_i_text_put(&m->text, "*number += %d;\n", s->reverse ? -1 : 1);
    move(m, l, s->reverse ? "-1" : "1");
    tn_i_text_put(&m->text, "}\n");
}

static void put_while(tn_i_module *m, const tn_i_plan *p, const tn_i_loop *l, const tn_i_eqn *e) {
    const tn_i_loop_shape *s = &l->shape;
    tn_i_text_put(&m->text, "for (*number = 0;; ++*number) {\n");
    for (uint32_t k = 0; k < l->npair; k++)
        tn_i_text_put(&m->text, "C[%u] = B[%u];\n", (unsigned)(TN_BASE_ARGUMENTS + s->ncond + l->pair[k].leaf),
                      (unsigned)carry_at(l, l->pair[k].leaf));
    tn_i_text_put(&m->text, "status = ");
    put_call(m, l->cond, "C");
    tn_i_text_put(&m->text, ";\nif (status) return status;\nif (!answer) break;\nstatus = ");
    put_call(m, l->body, "B");
    tn_i_text_put(&m->text, ";\nif (status) return status;\n");
    exchange(m, l);
    tn_i_text_put(&m->text, "}\n");
    if (s->steps == TN_NOVAR) return;
    tn_i_text_put(&m->text, "*(int64_t *)");
    tn_i_emit_address(m, &p->place[e->out + s->steps]);
    tn_i_text_put(&m->text, " = *number;\n");
}

static void leave_loop(tn_i_module *m, const tn_i_plan *p, const tn_i_loop *l, const tn_i_eqn *e) {
    for (uint32_t k = 0; k < l->npair; k++) {
        if (!l->pair[k].bytes) continue;
        tn_i_text_put(&m->text, "{ const uintptr_t at = B[%u], to = ", (unsigned)carry_at(l, l->pair[k].leaf));
        tn_i_emit_address(m, &p->place[e->out + l->pair[k].leaf]);
        tn_i_text_put(&m->text, "; if (at != to) memcpy((void *)to, (const void *)at, %zuu); }\n", l->pair[k].bytes);
    }
}

static void put_loop(tn_i_module *m, const tn_i_plan *p, const tn_i_step *s) {
    const tn_i_loop *l = &p->loop[s->loop];
    const tn_i_eqn *e = &p->f->eqn[s->eqn];
    if (tn_i_in_registers(m, l)) {
        tn_i_put_register_loop(m, p, l, e);
        return;
    }
    tn_i_emit_inner(m, p);
    tn_i_text_put(&m->text,
                  "const uintptr_t S = F[1] + %" PRId64 "ll; uintptr_t *const B = (uintptr_t *)S;\n"
                  "int64_t *const number = (int64_t *)(S + %zuu);\n",
                  s->scratch, l->number);
    enter_loop(m, p, l, e);
    if (l->cond)
        put_while(m, p, l, e);
    else
        put_counted(m, p, l, e);
    leave_loop(m, p, l, e);
}

bool tn_i_emit_program_step(tn_i_module *m, uint32_t id, const tn_i_plan *p, const tn_i_step *s) {
    if (s->axes) return tn_i_module_refuse(m, TN_I_RANKS);
    if (s->kind == TN_STEP_GROUP && m->profile) return tn_i_module_refuse(m, TN_I_BY_LIBRARY); /* it counts */
    if (s->kind == TN_STEP_GROUP) return tn_i_emit_group(m, id, p, s);
    if (s->stacks || (s->kind == TN_STEP_LOOP && !in_memory(&p->loop[s->loop])))
        return tn_i_module_refuse(m, TN_I_STACKS);
    tn_i_text_put(&m->text, "static int step%u(const struct plan *P, const struct run *R, uintptr_t *F) {\n",
                  (unsigned)id);
    tn_i_text_put(&m->text, "const void *const *const T = P->table; int status = 0;\n");
    if (s->kind == TN_STEP_LOOP)
        put_loop(m, p, s);
    else {
        begin_nested(m, p, s);
        if (s->kind == TN_STEP_BODY)
            put_program(m, p, s, s->u.body, p->arg + s->loop);
        else
            put_branches(m, p, s);
    }
    tn_i_text_put(&m->text, "return status;\n}\n");
    return true;
}
