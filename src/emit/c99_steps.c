/* Steps of a plan, but nests and loops: kernels, copies, programs in programs, branches. */
#include "emit/c99.h"

#include <inttypes.h>
#include <string.h>

/* ---- copies --------------------------------------------------------------------------- */

void tn_i_c99_move(tn_i_c99 *w, const tn_i_plan *p, const tn_i_move *m) {
    tn_i_text *t = &w->t;
    if (m->stack) {
        tn_i_c99_stack_move(w, p, m);
        return;
    }
    if (m->walk.empty) return;
    tn_i_text_put(t, "{\nconst %s *const from = ", tn_i_c_name(p->f->val[m->v].type->dtype));
    tn_i_c99_pointer(w, t, p, m->v, &m->from, false);
    tn_i_text_put(t, ";\n%s *const to = ", tn_i_c_name(p->f->val[m->v].type->dtype));
    tn_i_c99_pointer(w, t, p, m->v, &m->to, true);
    tn_i_text_put(t, ";\n");
    tn_i_c_open(t, "i", m->walk.rank, m->walk.dim);
    tn_i_text_put(t, "to[");
    tn_i_c_at(t, "i", m->walk.rank, m->walk.dim, m->walk.dst);
    tn_i_text_put(t, "] = from[");
    tn_i_c_at(t, "i", m->walk.rank, m->walk.dim, m->walk.src);
    tn_i_text_put(t, "];\n");
    tn_i_c_close(t, m->walk.rank, m->walk.dim);
    tn_i_text_put(t, "}\n");
}

/* ---- kernels ------------------------------------------------------------------------------ */

static void describe(const tn_i_plan *p, tn_i_var v, tn_i_arr *a) {
    a->type = p->f->val[v].type;
    tn_i_c99_strides(p, a->type, &p->place[v], a->stride);
}

static void declare(tn_i_c99 *w, const tn_i_plan *p, const char *text, tn_i_var v, const char *base, uint32_t i,
                    bool write) {
    tn_i_text name = {.ctx = w->ctx};
    tn_i_text_put(&name, "%s%u", base, (unsigned)i);
    if (name.at && tn_i_c_names(text, name.at)) {
        const tn_type *t = p->f->val[v].type;
        tn_i_text_put(&w->t, "%s%s *const %s = ", write ? "" : "const ",
                      tn_i_c99_is_stack(t) ? "void" : tn_i_c_name(t->dtype), name.at);
        tn_i_c99_pointer(w, &w->t, p, v, &p->place[v], write);
        tn_i_text_put(&w->t, ";\n");
    }
    w->failed |= name.failed;
    tn_i_text_free(&name);
}

static void write_kernel(tn_i_c99 *w, const tn_i_plan *p, const tn_i_step *s, const tn_i_eqn *e, tn_i_text *text) {
    tn_i_arr *in = tn_i_alloc_array(w->ctx, (size_t)e->nin + e->nout + 1, sizeof *in);
    const char *why = NULL;
    if (!in) {
        w->failed = true;
        return;
    }
    tn_i_arr *const out = in + e->nin;
    for (uint32_t i = 0; i < e->nin; i++) describe(p, tn_i_in(p->f, e)[i], &in[i]);
    for (uint32_t j = 0; j < e->nout; j++) describe(p, e->out + j, &out[j]);
    const tn_i_c_kernel k = {.t = text,
                             .outside = &w->outside,
                             .prim = e->prim,
                             .p = tn_i_p(e),
                             .nin = e->nin,
                             .nout = e->nout,
                             .in = in,
                             .out = out,
                             .cblas = w->cblas,
                             .prefix = w->name,
                             .loc = e->loc,
                             .shared = &w->g.scratch,
                             .tells = &w->tells,
                             .why = &why};
    e->prim->c_kernel(&k);
    tn_i_free(w->ctx, in, ((size_t)e->nin + e->nout + 1) * sizeof *in);
    if (why) tn_i_c99_refuse(w, e, why);
    if (!text->at) return;
    tn_i_c_need(&w->g, e->prim->c_helpers, text->at);
    w->uses_cblas |= strstr(text->at, "cblas_") != NULL;
    tn_i_text_put(&w->t, w->quiet && e->nout == 0 ? "if (!quiet) {\n" : "{\n");
    for (uint32_t i = 0; i < e->nin; i++) declare(w, p, text->at, tn_i_in(p->f, e)[i], "in", i, false);
    for (uint32_t j = 0; j < e->nout; j++) declare(w, p, text->at, e->out + j, "out", j, true);
    if (tn_i_c_names(text->at, "scratch"))
        tn_i_text_put(&w->t, "unsigned char *const scratch = w + %" PRId64 ";\n", s->scratch);
    if (tn_i_c_names(text->at, "shared")) tn_i_text_put(&w->t, "unsigned char *const shared = s;\n");
    tn_i_text_add(&w->t, text->at, text->n);
    tn_i_text_put(&w->t, "}\n");
}

static void kernel(tn_i_c99 *w, const tn_i_plan *p, const tn_i_step *s) {
    const tn_i_eqn *e = &p->f->eqn[s->eqn];
    if (!e->prim->c_kernel) {
        tn_i_c99_refuse(w, e, "cannot be written as C");
        return;
    }
    tn_i_text text = {.ctx = w->ctx};
    write_kernel(w, p, s, e, &text);
    w->failed |= text.failed;
    tn_i_text_free(&text);
}

/* ---- programs in programs --------------------------------------------------------------------- */

void tn_i_c99_call(tn_i_c99 *w, const tn_i_plan *callee) {
    for (size_t i = 0; i < w->root->nnested; i++)
        if (w->root->nested[i] == callee && !w->called[i]) w->called[i] = 1;
    tn_i_text_put(&w->t, "status = ");
    tn_i_c99_function(w, &w->t, callee);
    tn_i_text_put(&w->t, "(");
}

void tn_i_c99_end_call(tn_i_c99 *w, int64_t arena, bool again) {
    tn_i_text_put(&w->t, "w + %" PRId64 ", s%s%s);\nif (status) return status;\n", arena, w->stacks ? ", stacks" : "",
                  !w->quiet ? ""
                  : again   ? ", 1"
                            : ", quiet");
}

static void call(tn_i_c99 *w, const tn_i_plan *p, const tn_i_step *s, const tn_i_plan *body, uint32_t first,
                 const tn_i_place *arg) {
    const tn_i_eqn *e = &p->f->eqn[s->eqn];
    for (uint32_t j = 0; s->stacks && j < e->nout; j++) tn_i_c99_stack_output(w, p, e->out + j);
    tn_i_c99_call(w, body);
    for (uint32_t i = 0; i < body->f->nin; i++) {
        tn_i_c99_pointer(w, &w->t, p, tn_i_in(p->f, e)[first + i], &arg[i], false);
        tn_i_text_put(&w->t, ", ");
    }
    for (uint32_t j = 0; j < e->nout; j++) {
        tn_i_c99_pointer(w, &w->t, p, e->out + j, &p->place[e->out + j], true);
        tn_i_text_put(&w->t, ", ");
    }
    tn_i_c99_end_call(w, s->scratch + (int64_t)body->frame, false);
}

static void branch(tn_i_c99 *w, const tn_i_plan *p, const tn_i_step *s) {
    const tn_i_fork *k = &p->fork[s->loop];
    const tn_i_eqn *e = &p->f->eqn[s->eqn];
    const tn_i_place *arg = p->arg + k->arg;
    const tn_i_var index = tn_i_in(p->f, e)[0];
    const bool is_bool = p->f->val[index].type->dtype == TN_BOOL;
    tn_i_text_put(&w->t, "{\nconst %s which = *", is_bool ? "uint8_t" : "int32_t");
    tn_i_c99_pointer(w, &w->t, p, index, arg, false);
    tn_i_text_put(&w->t, ";\n");
    for (uint32_t b = 0; b < k->n; b++) {
        if (b + 1 < k->n && is_bool)
            tn_i_text_put(&w->t, "%sif (!which) {\n", b ? " else " : "");
        else if (b + 1 < k->n)
            tn_i_text_put(&w->t, "%sif (which <= %u) {\n", b ? " else " : "", (unsigned)b);
        else
            tn_i_text_put(&w->t, "%s{\n", b ? " else " : "");
        call(w, p, s, p->branch[k->branch + b], 1, arg + 1);
        tn_i_text_put(&w->t, "}");
    }
    tn_i_text_put(&w->t, k->n == 1 ? "\n(void)which;\n}\n" : "\n}\n");
}

void tn_i_c99_step(tn_i_c99 *w, const tn_i_plan *p, const tn_i_step *s) {
    const tn_i_eqn *e = &p->f->eqn[s->eqn];
    if (s->kind != TN_STEP_NEST && s->kind != TN_STEP_MOVE && s->kind != TN_STEP_RELEASE) {
        tn_i_text_put(&w->t, "/* ");
        tn_i_c99_about(&w->t, e);
        tn_i_text_put(&w->t, " */\n");
    }
    switch ((tn_i_step_kind)s->kind) {
    case TN_STEP_STRIP: /* nothing is fused */ tn_i_c99_refuse(w, e, "is in no loops"); break;
    case TN_STEP_KERNEL: kernel(w, p, s); break;
    case TN_STEP_BODY: call(w, p, s, s->u.body, 0, p->arg ? p->arg + s->loop : NULL); break;
    case TN_STEP_NEST: tn_i_c99_nest(w, p, s, s->u.nest); break;
    case TN_STEP_LOOP: tn_i_c99_loop(w, p, s); break;
    case TN_STEP_GROUP: tn_i_c99_group(w, p, s); break;
    case TN_STEP_BRANCH: branch(w, p, s); break;
    case TN_STEP_RELEASE: tn_i_c99_stack_release(w, p, &p->release[s->loop]); break;
    case TN_STEP_MOVE: tn_i_c99_move(w, p, &p->move[s->loop]); break;
    case TN_STEP_SPILL:
    case TN_STEP_FETCH:
        tn_i_c99_refuse(w, e, "values in files (offload) cannot be written as C: another policy keeps them in memory");
        break;
    }
}
