/* Sums of arrays as long as a loop (docs/loops.md): no equation but a loop takes them where only a run tells how long
 * that is, or where a schedule has each entry when it is read.  So that derivatives are the same programs under every
 * schedule, all sums of what loops stack are loops, until a program is planned (control/loops/settle.c). */
#include "ir/depends.h"
#include "prims/c_text.h"
#include "prims/ids.h"

#include <string.h>

/* The schedule of the loop that made v, or NULL. */
static const char *schedule_of(const tn_i_builder *b, tn_i_var v) {
    const tn_i_eqn *e = tn_i_def(b, v);
    for (uint32_t k = 0; e && e->prim->replayed && e->prim->params[k].name; k++)
        if (strcmp(e->prim->params[k].name, "schedule") == 0)
            return e->params->v[k].kind == TN_K_STR ? e->params->v[k].u.str : NULL;
    return NULL;
}

/* v is what a loop stacks. */
static bool stacked(const tn_i_builder *b, tn_i_var v) {
    const tn_i_eqn *e = tn_i_def(b, v);
    return e && e->prim->stacked && e->prim->stacked(e, v - e->out);
}

/* A stack that is not to be kept: neither is a sum with it. */
static bool replayed(const tn_i_builder *b, tn_i_var v) {
    const tn_i_eqn *e = tn_i_def(b, v);
    return e && e->prim->replayed && e->prim->replayed(e, v - e->out);
}

/* ---- steps ------------------------------------------------------------------------ */

static bool type_steps(tn_i_query *q) {
    if (q->in[0]->rank < 1 || q->in[0]->dim[0] != TN_I_STEPS)
        return tn_i_type_fail(q, 0, "its first dimension is not as long as a loop");
    return tn_i_output(q, TN_I64, 0, NULL);
}

/* What holds such an array begins with how long it is (plan/stack.h). */
static tn_status kernel_steps(const tn_i_kernel *k) {
    memcpy(k->out[0].data, k->in[0].data, sizeof(int64_t));
    return TN_OK;
}

static void c_steps(const tn_i_c_kernel *k) { tn_i_text_put(k->t, "memcpy(out0, in0, sizeof *out0);\n"); }

/* However the entries depend on linear inputs, how many there are does not. */
static bool linearity_steps(const tn_fn *f, const tn_i_eqn *e, const uint8_t *in, uint8_t *out) {
    (void)f;
    (void)e;
    (void)in;
    out[0] = TN_NONLINEAR;
    return true;
}

static bool depends_steps(struct tn_i_memo *m, const tn_i_eqn *e, const uint8_t *in, uint8_t *out) {
    (void)m;
    (void)e;
    out[0] = in[0] & TN_OF_LENGTH;
    return true;
}

static void batch_steps(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    (void)batched;
    out[0] = tn_i_emit_like(r->b, r->e, r->in);
    out_batched[0] = false;
}

static void cost_steps(const tn_i_query *q, tn_i_cost *cost) {
    (void)q;
    cost->bytes = 2 * sizeof(int64_t);
}

/* No case of the laws has an input that only loops make: tests/nesting has programs with it. */
const tn_prim tn_prim_steps = {
    .id = TN_P_steps,
    .name = "steps",
    .doc = "how many entries an array as long as a loop has",
    .nin = 1,
    .flags = TN_F_NODIFF | TN_F_STEPS | TN_F_NOFOLD,
    .type = type_steps,
    .linearity = linearity_steps,
    .depends = depends_steps,
    .batch = batch_steps,
    .spread = TN_SPREAD_NONE,
    .kernel = kernel_steps,
    .c_kernel = c_steps,
    .cost = cost_steps,
    .jvp_bound = 1,
    .transpose_bound = 1,
};

/* ---- sums ------------------------------------------------------------------------- */

/* The number of steps that v, which a loop of this builder made, is long; TN_NOVAR: it is not known here. */
static tn_i_var steps_of(const tn_i_builder *b, tn_i_var v) {
    const tn_i_eqn *e = tn_i_def(b, v);
    if (!e || !e->prim->steps) return TN_NOVAR;
    const uint32_t at = e->prim->steps(e);
    return at < e->nin ? b->pool[e->in + at] : at == TN_NOVAR ? at : e->out + (at - e->nin);
}

static bool counts_entries(const tn_i_builder *b, tn_i_var n) {
    const tn_i_eqn *e = tn_i_def(b, n);
    return e && (e->prim->id == TN_P_steps || e->prim->id == TN_P_min);
}

/* How many entries there are to add: as many as the loop had that made x or y, where that is known here; else as many
 * as both have.  Zeros that stand for a stack have no end, and neither has a sum of them (run/loop_run.c). */
static tn_i_var steps_of_both(tn_i_builder *b, tn_i_var x, tn_i_var y) {
    tn_i_var n = steps_of(b, x), m = steps_of(b, y);
    if (n != TN_NOVAR && !counts_entries(b, n)) return n;
    if (m != TN_NOVAR && !counts_entries(b, m)) return m;
    if (n == TN_NOVAR) n = tn_i_op1(b, TN_P_steps, x);
    if (m == TN_NOVAR) m = tn_i_op1(b, TN_P_steps, y);
    return b->failed ? TN_NOVAR : tn_i_op2(b, TN_P_min, n, m);
}

static tn_fn *sum_of_entries(tn_i_builder *outer, const tn_type *entry) {
    tn_i_builder b;
    tn_i_builder_init(&b, outer->ctx);
    b.loc = outer->loc;
    tn_i_var x = tn_i_input(&b, entry, false);
    tn_i_var y = tn_i_input(&b, entry, false);
    tn_i_var sum = tn_i_add_values(&b, x, y);
    return tn_i_finish(&b, 1, &sum);
}

tn_i_var tn_i_add_entries(tn_i_builder *b, tn_i_var x, tn_i_var y, const char *schedule) {
    const tn_type *t = tn_i_vtype(b, x);
    tn_type entry = tn_type_of((tn_dtype)t->dtype, (size_t)t->rank - 1, t->dim + 1);
    entry.varying = t->varying;
    const bool counted = t->dim[0] == TN_I_STEPS;
    const int64_t length = t->dim[0];
    tn_i_var in[3] = {counted ? steps_of_both(b, x, y) : x, counted ? x : y, y};
    if (b->failed) return TN_NOVAR;
    tn_fn *f = sum_of_entries(b, &entry);
    if (!f) {
        b->failed = true;
        return TN_NOVAR;
    }
    const tn_i_param none = {.kind = TN_K_NONE}, zero = {.kind = TN_K_INT};
    const tn_i_param p[TN_MAX_PARAMS] = {{.kind = TN_K_FN, .u.fn = f},
                                         counted ? none : (tn_i_param){.kind = TN_K_INT, .u.i = length},
                                         zero,
                                         zero,
                                         none,
                                         none,
                                         {.kind = schedule ? TN_K_STR : TN_K_NONE, .u.str = schedule}};
    tn_i_var v = tn_i_emit(b, tn_i_prim(b, TN_P_scan), p, counted ? 3 : 2, in);
    tn_i_fn_unref(f);
    return v;
}

tn_i_var tn_i_add_values(tn_i_builder *b, tn_i_var x, tn_i_var y) {
    if (b->failed || x == TN_NOVAR || y == TN_NOVAR) return TN_NOVAR;
    if (!tn_i_has_steps(tn_i_vtype(b, x)) && !stacked(b, x) && !stacked(b, y)) return tn_i_op2(b, TN_P_add, x, y);
    if (tn_i_is_zero(b, x)) return y;
    return tn_i_is_zero(b, y) ? x : tn_i_add_entries(b, x, y, schedule_of(b, replayed(b, x) ? x : y));
}
