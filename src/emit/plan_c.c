/* A plan as C: a function that runs its steps, those of its arithmetic in C and the others through the library. */
#include "emit/steps_emit.h"
#include "exec/strides.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { STEPS = 64 }; /* of one function: compilers take more than linear time for long ones */

/* ---- the table ------------------------------------------------------------------ */

uint32_t tn_i_module_address(tn_i_module *m, const void *p) {
    const size_t look = m->ntable < 256 ? m->ntable : 256;
    for (size_t i = TN_TABLE_FIRST; i < look; i++)
        if (m->table[i] == p) return (uint32_t)i;
    if (!tn_i_grow(m->ctx, (void **)(void *)&m->table, &m->ctable, m->ntable + TN_TABLE_FIRST + 1, sizeof *m->table)) {
        m->failed = true;
        return TN_TABLE_FIRST;
    }
    if (m->ntable == 0) m->ntable = TN_TABLE_FIRST;
    m->table[m->ntable] = p;
    return (uint32_t)m->ntable++;
}

bool tn_i_module_refuse(tn_i_module *m, uint8_t why) {
    m->why = why;
    return false;
}

void tn_i_module_free(tn_i_module *m) {
    tn_i_text_free(&m->text);
    tn_i_free(m->ctx, m->table, m->ctable * sizeof *m->table);
    m->table = NULL;
}

/* ---- strips as nests --------------------------------------------------------------- */

typedef struct strip_nest {
    tn_i_nest nest;
    tn_i_nest_op op[TN_LOOP_ARRAYS + 1];
    tn_i_nest_array array[TN_LOOP_ARRAYS];
} strip_nest;

static void add_operand(strip_nest *k, const tn_i_plan *p, const tn_i_step *s, const tn_i_eqn *e, uint32_t i) {
    const tn_i_val *v = &p->f->val[tn_i_in(p->f, e)[i]];
    tn_i_nest_array *a = &k->array[i];
    tn_i_nest_op *o = &k->op[i];
    *a = (tn_i_nest_array){.arg = i, .dtype = (uint8_t)v->type->dtype};
    *o = (tn_i_nest_op){.kind = TN_NEST_LOAD, .dtype = a->dtype, .array = i, .before = true};
    for (uint32_t d = 0; d < s->loops; d++) {
        a->stride[d] = p->number[s->loop + d * TN_LOOP_WIDTH(1 + e->nin) + 2 + i];
        if (a->stride[d]) o->level = TN_NEST_ELEMENT;
    }
    if (v->def == TN_DEF_LITERAL) *o = (tn_i_nest_op){.kind = TN_NEST_NUMBER, .dtype = a->dtype, .bits = v->bits};
}

/* The loops of a strip step as a nest of one operation. */
static void nest_of_strip(const tn_i_plan *p, const tn_i_step *s, strip_nest *k) {
    const tn_i_eqn *e = &p->f->eqn[s->eqn];
    const uint32_t width = TN_LOOP_WIDTH(1 + e->nin), out = e->nin;
    const uint8_t level = s->loops ? TN_NEST_ELEMENT : TN_NEST_ROW, dtype = (uint8_t)p->f->val[e->out].type->dtype;
    memset(k, 0, sizeof *k);
    k->nest = (tn_i_nest){.nloop = s->loops,
                          .rows = 1,
                          .row = 1,
                          .nop = e->nin + 2,
                          .narray = e->nin + 1,
                          .nphase = 1,
                          .op = k->op,
                          .array = k->array,
                          .nin = e->nin,
                          .nout = 1};
    for (uint32_t i = 0; i < e->nin; i++) add_operand(k, p, s, e, i);
    k->op[out] = (tn_i_nest_op){.kind = TN_NEST_MAP, .level = level, .dtype = dtype, .nin = (uint8_t)e->nin, .eqn = e};
    for (uint32_t i = 0; i < e->nin && i < 4; i++) k->op[out].in[i] = i;
    k->op[out + 1] =
        (tn_i_nest_op){.kind = TN_NEST_STORE, .level = level, .dtype = dtype, .nin = 1, .in = {out}, .array = out};
    k->array[out] = (tn_i_nest_array){.arg = out, .dtype = dtype};
    for (uint32_t d = 0; d < s->loops; d++) {
        k->nest.size[d] = p->number[s->loop + d * width];
        k->array[out].stride[d] = p->number[s->loop + d * width + 1];
        k->nest.row *= k->nest.size[d];
    }
}

/* Writes the function of a step that is arithmetic; false: the library runs it. */
static bool emit_function(tn_i_module *m, const tn_i_plan *p, const tn_i_step *s, uint32_t id) {
    if (s->kind == TN_STEP_NEST) return tn_i_emit_nest(m, id, p, s, s->u.nest);
    if (s->kind != TN_STEP_STRIP) return tn_i_module_refuse(m, TN_I_BY_LIBRARY);
    strip_nest k;
    nest_of_strip(p, s, &k);
    return tn_i_emit_nest(m, id, p, s, &k.nest);
}

/* ---- steps ---------------------------------------------------------------------------- */

enum { BY_LIBRARY, NEST, PROGRAM, MOVE, JOIN, PRODUCT };

/* A matrix times a vector: the kernel itself, with all numbers written down. */
static void put_dots(tn_i_module *m, const tn_i_plan *p, const tn_i_var v[3], const tn_i_by_dots *d) {
    tn_i_text_put(&m->text, "((dots_fn *)T[%u])(INT64_C(%" PRId64 "), INT64_C(%" PRId64 "), (const void *)",
                  (unsigned)tn_i_module_address(m, (const void *)(uintptr_t)d->kernel), d->k, d->n);
    tn_i_emit_address(m, &p->place[v[d->turned]]);
    tn_i_text_put(&m->text, ", (const void *)");
    tn_i_emit_address(m, &p->place[v[!d->turned]]);
    tn_i_text_put(&m->text, ", INT64_C(%" PRId64 "), 0, (void *)", d->bcs);
    tn_i_emit_address(m, &p->place[v[2]]);
    tn_i_text_put(&m->text, ", INT64_C(%" PRId64 "));\n", d->ys);
}

static void put_rows(tn_i_module *m, const tn_i_plan *p, const tn_i_var v[3], const tn_i_by_rows *r, bool accumulate) {
    tn_i_text_put(&m->text, "((rows_fn *)T[%u])(INT64_C(%" PRId64 "), INT64_C(%" PRId64 "), (const void *)",
                  (unsigned)tn_i_module_address(m, (const void *)(uintptr_t)r->kernel), r->k, r->n);
    tn_i_emit_address(m, &p->place[v[r->turned]]);
    tn_i_text_put(&m->text, ", INT64_C(%" PRId64 "), (const void *)", r->xs);
    tn_i_emit_address(m, &p->place[v[!r->turned]]);
    tn_i_text_put(&m->text, ", INT64_C(%" PRId64 "), %d, (void *)", r->brs, accumulate);
    tn_i_emit_address(m, &p->place[v[2]]);
    tn_i_text_put(&m->text, ", 0);\n");
}

/* A matrix times two vectors, likewise. */
static void put_two(tn_i_module *m, const tn_i_plan *p, const tn_i_step *s, const tn_i_by_dots *d) {
    const tn_i_eqn *e[2] = {&p->f->eqn[s[0].eqn], &p->f->eqn[s[1].eqn]};
    tn_i_text_put(&m->text, "{ const void *const x[2] = {(const void *)");
    for (int q = 0; q < 2; q++) {
        if (q) tn_i_text_put(&m->text, ", (const void *)");
        tn_i_emit_address(m, &p->place[tn_i_in(p->f, e[q])[d->turned]]);
    }
    tn_i_text_put(&m->text, "};\nvoid *const y[2] = {(void *)");
    for (int q = 0; q < 2; q++) {
        if (q) tn_i_text_put(&m->text, ", (void *)");
        tn_i_emit_address(m, &p->place[e[q]->out]);
    }
    tn_i_text_put(&m->text, "};\n((two_fn *)T[%u])(INT64_C(%" PRId64 "), INT64_C(%" PRId64 "), x, (const void *)",
                  (unsigned)tn_i_module_address(m, (const void *)(uintptr_t)d->two), d->k, d->n);
    tn_i_emit_address(m, &p->place[tn_i_in(p->f, e[0])[!d->turned]]);
    tn_i_text_put(&m->text, ", INT64_C(%" PRId64 "), y); }\n", d->bcs);
}

/* A product that is described already: no more than where its operands are. */
static void put_product(tn_i_module *m, const tn_i_plan *p, const tn_i_step *s) {
    const tn_i_eqn *e = &p->f->eqn[s->eqn];
    const tn_i_var v[3] = {tn_i_in(p->f, e)[0], tn_i_in(p->f, e)[1], e->out};
    tn_i_by_dots d;
    if (s->follows) return; /* the one before has done it */
    if (s->leads && tn_i_gemm_two(&p->product[s[0].loop], &p->product[s[1].loop], &d)) {
        put_two(m, p, s, &d);
        return;
    }
    if (tn_i_gemm_by_dots(&p->product[s->loop], &d)) {
        put_dots(m, p, v, &d);
        return;
    }
    tn_i_by_rows r;
    if (tn_i_gemm_by_rows(&p->product[s->loop], &r)) {
        put_rows(m, p, v, &r, s->onto);
        return;
    }
    tn_i_text_put(&m->text, "((product_fn *)T[%d])(T[%u], R->threads", TN_TABLE_PRODUCT,
                  (unsigned)tn_i_module_address(m, &p->product[s->loop]));
    for (int i = 0; i < 3; i++) {
        tn_i_text_put(&m->text, ", (void *)");
        tn_i_emit_address(m, &p->place[v[i]]);
    }
    tn_i_text_put(&m->text, ");\n");
}

static bool runs_a_program(const tn_i_step *s) {
    return s->kind == TN_STEP_GROUP || s->kind == TN_STEP_BODY || s->kind == TN_STEP_BRANCH || s->kind == TN_STEP_LOOP;
}

/* Writes the function of a step, if it has one. */
static bool emit_step(tn_i_module *m, tn_i_plan *p, size_t step, uint8_t *written) {
    tn_i_step *s = &p->step[step];
    s->native = TN_I_NATIVE;
    if (s->kind == TN_STEP_MOVE && tn_i_move_plain(p, &p->move[s->loop])) {
        *written = MOVE;
        return true;
    }
    if (tn_i_joins_runs(p, s)) {
        *written = JOIN;
        return true;
    }
    const bool pair = s->leads || s->follows; /* of the outermost program one may be wanted alone */
    if (s->kind == TN_STEP_KERNEL && s->at_once && !(pair && p == m->root)) {
        *written = PRODUCT;
        s->native = TN_I_BY_LIBRARY;
        return true;
    }
    if (runs_a_program(s))
        *written = tn_i_emit_program_step(m, m->nests, p, s) ? PROGRAM : BY_LIBRARY;
    else
        *written = emit_function(m, p, s, m->nests) ? NEST : BY_LIBRARY;
    if (!*written) s->native = m->why;
    if (*written) m->nests++;
    return !m->failed && !m->text.failed;
}

/* A step returns behind what is told of its end. */
static const char *returns(const tn_i_module *m) {
    return m->profile ? "noted = status; }\n" : "if (status) return status; }\n";
}

static void put_step(tn_i_module *m, const tn_i_plan *p, size_t step, uint8_t written, uint32_t *id) {
    if (written == MOVE)
        tn_i_emit_move(m, p, &p->move[p->step[step].loop]);
    else if (written == JOIN)
        tn_i_emit_joined(m, p, &p->step[step]);
    else if (written == PRODUCT)
        put_product(m, p, &p->step[step]);
    else if (written == NEST)
        tn_i_text_put(&m->text, "nest%u(T, F);\n", (unsigned)(*id)++);
    else if (written == PROGRAM)
        tn_i_text_put(&m->text, "{ const int status = step%u(P, R, F); %s", (unsigned)(*id)++, returns(m));
    else
        tn_i_text_put(&m->text, "{ const int status = ((step_fn *)T[%d])(P, R, F, %zu); %s", TN_TABLE_STEP, step,
                      returns(m));
}

static void call_step(tn_i_module *m, const tn_i_plan *p, size_t step, uint8_t written, bool outermost, uint32_t *id) {
    if (outermost)
        tn_i_text_put(&m->text, "if (!(R->skip && R->skip[%zu] >> %u & 1))\n", step / 8, (unsigned)(step % 8));
    if (!m->profile) {
        put_step(m, p, step, written, id);
        return;
    }
    tn_i_text_put(&m->text, "{\nint noted = 0;\n((note_enter_fn *)T[%d])(P, R, %zu);\n", TN_TABLE_NOTE_ENTER, step);
    put_step(m, p, step, written, id);
    tn_i_text_put(&m->text, "((note_leave_fn *)T[%d])(R);\nif (noted) return noted;\n}\n", TN_TABLE_NOTE_LEAVE);
}

/* A function for each STEPS steps, `part` by `part`. */
static bool emit_part(tn_i_module *m, tn_i_plan *p, uint32_t plan, size_t first, size_t end, bool outermost) {
    uint8_t written[STEPS];
    uint32_t id = m->nests;
    for (size_t i = first; i < end; i++)
        if (!emit_step(m, p, i, &written[i - first])) return false;
    tn_i_text_put(&m->text, "static int part%u_%zu(const struct plan *P, const struct run *R, uintptr_t *F) {\n",
                  (unsigned)plan, first);
    tn_i_text_put(&m->text, "const void *const *const T = P->table;\n");
    for (size_t i = first; i < end; i++) call_step(m, p, i, written[i - first], outermost, &id);
    tn_i_text_put(&m->text, "(void)T;\nreturn 0;\n}\n");
    return true;
}

static bool emit_plan(tn_i_module *m, tn_i_plan *p, uint32_t plan, bool outermost) {
    for (size_t i = 0; i < p->nstep; i += STEPS)
        if (!emit_part(m, p, plan, i, i + STEPS < p->nstep ? i + STEPS : p->nstep, outermost)) return false;
    tn_i_text_put(&m->text,
                  "static int plan%u(const struct plan *P, const struct run *R, uintptr_t *F) {\nint status = 0;\n",
                  (unsigned)plan);
    for (size_t i = 0; i < p->nstep; i += STEPS)
        tn_i_text_put(&m->text, "status = part%u_%zu(P, R, F);\nif (status) return status;\n", (unsigned)plan, i);
    bool plain = p->last_release == p->nrelease;
    for (size_t i = p->last_move; i < p->nmove; i++) plain &= tn_i_move_plain(p, &p->move[i]);
    tn_i_text_put(&m->text, "const void *const *const T = P->table; (void)T;\n");
    for (size_t i = p->last_move; plain && i < p->nmove; i++) tn_i_emit_move(m, p, &p->move[i]);
    if (!plain) tn_i_text_put(&m->text, "status = ((leave_fn *)P->table[%d])(P, R, F);\n", TN_TABLE_LEAVE);
    tn_i_text_put(&m->text, "return status;\n}\n");
    return !m->text.failed;
}

bool tn_i_emit_module(tn_i_module *m, tn_i_plan *root) {
    m->root = root;
    for (size_t i = 0; i <= root->nnested; i++)
        tn_i_text_put(&m->text, "static int plan%zu(const struct plan *P, const struct run *R, uintptr_t *F);\n", i);
    for (size_t i = 0; i < root->nnested; i++)
        if (!emit_plan(m, root->nested[i], (uint32_t)i + 1, false)) return false;
    if (!emit_plan(m, root, 0, true)) return false;
    tn_i_text_put(&m->text, "const void *const tansy_plans[] = {plan0");
    for (size_t i = 0; i < root->nnested; i++) tn_i_text_put(&m->text, ",\nplan%zu", i + 1);
    tn_i_text_put(&m->text, "};\n");
    return !m->failed && !m->text.failed;
}

/* ---- the whole text ---------------------------------------------------------------------- */

static void put_folds(tn_i_module *m, tn_i_text *t) {
    static const char *const name[] = {
        [TN_FOLD_SUM] = "SUM", [TN_FOLD_PROD] = "PROD", [TN_FOLD_MAX] = "MAX", [TN_FOLD_MIN] = "MIN"};
    for (int fold = TN_FOLD_SUM; fold <= TN_FOLD_MIN; fold++)
        for (int dtype = 0; dtype < TN_NDTYPES; dtype++) {
            const uint64_t bit = UINT64_C(1) << TN_EMIT_FOLD(fold, dtype);
            if (m->leaves & bit)
                tn_i_text_put(t, "LEAVES(%s, %s, %s)\n", tn_i_c_type(dtype), name[fold], tn_i_identity(fold, dtype));
            if (m->columns & bit)
                tn_i_text_put(t, "COLUMNS(%s, %s, %d)\n", tn_i_c_type(dtype), name[fold],
                              m->bytes / (int)tn_i_dtype_size(dtype));
        }
}

bool tn_i_module_text(tn_i_module *m, tn_i_text *t) {
    for (size_t i = 0; tn_i_prelude[i]; i++) tn_i_text_add(t, tn_i_prelude[i], strlen(tn_i_prelude[i]));
    for (int lanes = 1; lanes <= 16; lanes *= 2)
        if (m->lanes >> lanes & 1) tn_i_text_put(t, "LANES(%d)\n", lanes);
    put_folds(m, t);
    tn_i_text_add(t, m->text.at ? m->text.at : "", m->text.n);
    return !t->failed;
}
