/* scan: a loop of known length, or of a length that an operand tells (docs/loops.md). */
#include "control/vary.h"
#include "control/loops/loop.h"
#include "control/loops/loop_sample.h"
#include "prims/ids.h"
#include "prims/sample.h"
#include "prims/strips.h"

static const tn_i_spec specs[] = {{.name = "program", .kind = TN_K_FN},
                                  {.name = "length", .kind = TN_K_INT, .otherwise = "that of the xs"},
                                  {.name = "num_consts", .kind = TN_K_INT},
                                  {.name = "num_carry", .kind = TN_K_INT},
                                  {.name = "reverse", .kind = TN_K_BOOL, .otherwise = "False"},
                                  {.name = "index", .kind = TN_K_BOOL, .otherwise = "False"},
                                  {.name = "schedule", .kind = TN_K_STR, .otherwise = "all_save"},
                                  {0}};

static bool scalar_i64(const tn_type *t) { return t->dtype == TN_I64 && t->rank == 0; }

/* ---- types --------------------------------------------------------------------- */

static bool type_inputs(tn_i_query *q, const tn_i_scan *s) {
    char text[TN_I_TYPE_TEXT];
    tn_type x;
    if (s->counted && !scalar_i64(q->in[0])) return tn_i_type_fail(q, 0, "the number of steps is an i64[]");
    if (s->index && !scalar_i64(s->body->val[0].type))
        return tn_i_type_fail(q, -1, "the program's first input, the step's number, is an i64[]");
    for (uint32_t i = s->const0; i < q->nin; i++) {
        const tn_type *want = s->body->val[tn_i_scan_inner(s, i)].type, *have = q->in[i];
        tn_type all;
        if (i >= s->x0) {
            if (!tn_i_entry_type(have, &x)) return tn_i_type_fail(q, (int)i, "is scanned over, but has rank 0");
            if (have->dim[0] != s->length)
                return tn_i_type_fail(q, (int)i, "is scanned over, but its first dimension is not the loop's length");
            if (tn_type_equal(want, &x)) { /* what it may have to vary over is the array's */
                all = *have;
                all.varying = want->varying;
                want = &all;
            }
        }
        if (!tn_i_fits(q, i, want))
            return tn_i_type_fail(q, (int)i, "the program takes %s", tn_i_type_text(text, want));
    }
    return true;
}

static bool type_scan(tn_i_query *q) {
    tn_i_scan s;
    char text[TN_I_TYPE_TEXT], carried[TN_I_TYPE_TEXT];
    if (!tn_i_scan_read(q->p, q->nin, &s))
        return tn_i_type_fail(q, -1,
                              "the program has %u inputs and %u outputs, which do not fit %lld consts and %lld carries",
                              (unsigned)q->p[TN_SCAN_PROGRAM].u.fn->nin, (unsigned)q->p[TN_SCAN_PROGRAM].u.fn->nout,
                              (long long)q->p[TN_SCAN_CONSTS].u.i, (long long)q->p[TN_SCAN_CARRY].u.i);
    if (!s.counted && s.length < 0) return tn_i_type_fail(q, -1, "the length is negative");
    if (!tn_i_loop_schedule_fits(q, s.schedule, s.counted)) return false;
    if (!type_inputs(q, &s) || !tn_i_outputs(q, s.body->nout)) return false;
    const tn_i_decided steps = {s.body, s.index, "the number of steps", "body", "stop at different steps"};
    if (s.counted && !tn_i_decided_over(q, &steps, tn_i_over(q->in[0]))) return false;
    for (uint32_t j = 0; j < s.body->nout; j++) {
        const tn_type *t = s.body->val[s.body->out[j]].type;
        if (j < s.ncarry && !tn_i_type_same(t, s.body->val[tn_i_scan_inner(&s, s.carry0 + j)].type))
            return tn_i_type_fail(q, (int)(s.carry0 + j), "is carried: enters as %s, leaves the step as %s",
                                  tn_i_type_text(carried, q->in[s.carry0 + j]), tn_i_type_text(text, t));
        if (j < s.ncarry)
            q->out[j] = *t;
        else if (!tn_i_stack_type(t, s.length, &q->out[j]))
            return tn_i_type_fail(q, -1, "entries of type %s cannot be stacked: rank or size", tn_i_type_text(text, t));
    }
    return true;
}

static bool effect(const tn_i_param *p) { return p[TN_SCAN_PROGRAM].u.fn->effect; }

/* Of all steps; of one where the number is found when it runs. */
static void cost(const tn_i_query *q, tn_i_cost *sum) {
    const double steps = q->p[TN_SCAN_LENGTH].kind == TN_K_NONE ? 1 : (double)q->p[TN_SCAN_LENGTH].u.i;
    sum->equations = 0;
    tn_i_loop_add_cost(sum, q->p[TN_SCAN_PROGRAM].u.fn, steps);
}

const tn_prim tn_prim_scan = {
    .id = TN_P_scan,
    .name = "scan",
    .doc = "runs a program once per step, a carry from step to step, over entries of arrays",
    .nin = -1,
    .flags = TN_F_OWN_PRIMAL | TN_F_LOOP | TN_F_STEPS | TN_F_COSTLY | TN_F_OVER,
    .dtypes = TN_ANY,
    .params = specs,
    .type = type_scan,
    .linearity = tn_i_loop_linearity,
    .depends = tn_i_loop_depends,
    .needs = tn_i_loop_needs,
    .jvp = tn_i_loop_jvp,
    .transpose = tn_i_scan_transpose,
    .batch = tn_i_loop_batch,
    .split = tn_i_loop_split,
    .prune = tn_i_loop_prune,
    .inside = tn_i_loop_inside,
    .outside = tn_i_loop_outside,
    .stacked = tn_i_loop_stacked,
    .replayed = tn_i_loop_replayed,
    .steps = tn_i_loop_steps,
    .effect = effect,
    .cost = cost,
    .jvp_bound = 5,
    .transpose_bound = 5,
    .sample = tn_i_sample_scan,
};
