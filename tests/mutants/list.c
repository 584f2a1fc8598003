/* What can be broken in a primitive, found by looking at its descriptor and at its samples. */
#include "mutants/mutant.h"

#include "laws/case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const part_name[NPARTS] = {[PART_NONE] = "unbroken",
                                              [PART_PARTIAL] = "partial",
                                              [PART_JVP] = "jvp, output",
                                              [PART_PRIMAL] = "jvp, primal output",
                                              [PART_ZERO] = "derivative",
                                              [PART_TRANSPOSE] = "transpose, operand",
                                              [PART_BATCH] = "batching, output",
                                              [PART_LINEAR] = "linear",
                                              [PART_LINEARITY] = "linearity",
                                              [PART_STRIP] = "strip",
                                              [PART_KERNEL] = "kernel, output",
                                              [PART_VIEW] = "view",
                                              [PART_SIMPLIFY] = "simplification",
                                              [PART_COMMUTES] = "operands",
                                              [PART_SPLIT] = "split, output",
                                              [PART_PRUNE] = "prune, output",
                                              [PART_EFFECT] = "effect"};
static const char *const how_name[] = {[NEGATED] = "negated",
                                       [SCALED] = "scaled",
                                       [ONE] = "wrong in its last element",
                                       [STRIDED] = "wrong when strided",
                                       [ROTATED] = "with lanes rotated",
                                       [DROPPED] = "(a set) not declared",
                                       [ADDED] = "(an operand) declared alone",
                                       [JOINED] = "(an operand) declared jointly",
                                       [PERMITTED] = "always granted",
                                       [REFUSED] = "always refused",
                                       [DENIED] = "not passed on",
                                       [STUCK] = "of the first element only",
                                       [MISSED] = "left out",
                                       [DECLARED] = "wrongly declared"};
static const char *const declared_name[NPARTS] = {
    [PART_ZERO] = "zero", [PART_COMMUTES] = "swapped", [PART_EFFECT] = "none"};

void mutant_init(mutant *m, const tn_prim *prim, mutant_part part, mutant_damage how, int index, int dtype) {
    memset(m, 0, sizeof *m);
    m->prim = *prim;
    m->prim.original = prim;
    m->part = part;
    m->how = how;
    m->index = index;
    m->dtype = dtype;
    const char *what = how == DECLARED ? declared_name[part] : how_name[how];
    char number[16] = "", of_dtype[16] = "";
    if (index >= 0) (void)snprintf(number, sizeof number, " %d", index);
    if (dtype >= 0) (void)snprintf(of_dtype, sizeof of_dtype, " of %s", tn_i_dtype_name(dtype));
    (void)snprintf(m->name, sizeof m->name, "%s: %s%s%s %s", prim->name, part_name[part], number, of_dtype,
                   part == PART_NONE ? "" : what);
}

static mutant *add(mutants *list, const tn_prim *prim, mutant_part part, mutant_damage how, int index, int dtype) {
    if (list->n == list->room) {
        const size_t room = list->room ? 2 * list->room : 64;
        mutant *v = realloc(list->v, room * sizeof *v);
        if (!v) exit(2);
        list->v = v;
        list->room = room;
    }
    mutant_init(&list->v[list->n], prim, part, how, index, dtype);
    return &list->v[list->n++];
}

/* ---- samples --------------------------------------------------------------------------------- */

/* An equation without outputs: its program's are its operands. */
static void effect_shape(shape *s, const tn_fn *f) {
    s->effect = true;
    for (uint32_t i = 0; i < f->nin; i++)
        *(tn_i_is_float(f->val[i].type->dtype) ? &s->real_in[i] : &s->whole_in[i]) = true;
    if (tn_i_count(f->val[0].type)) s->dtypes |= 1u << f->val[0].type->dtype;
}

static void look(shape *s, const tn_prim *prim, const tn_fn *f) {
    if (f->nin > s->nin) s->nin = f->nin;
    if (f->neqn && f->eqn[0].nout == 0) {
        effect_shape(s, f);
        return;
    }
    if (f->nout > s->nout) s->nout = f->nout;
    for (uint32_t i = 0; i < f->nin; i++)
        *(tn_i_is_float(f->val[i].type->dtype) ? &s->real_in[i] : &s->whole_in[i]) = true;
    for (uint32_t j = 0; j < f->nout && j < 64; j++) s->real_out[j] |= tn_i_is_float(f->val[f->out[j]].type->dtype);
    const tn_type *out = f->val[f->out[0]].type, *in = f->nin ? f->val[0].type : out;
    if (tn_i_count(out)) s->dtypes |= 1u << in->dtype;
    if (f->nin > (uint32_t)prim->strip_operand) s->result[f->val[prim->strip_operand].type->dtype] = out->dtype;
}

static shape shape_of(const tn_prim *prim) {
    enum { SAMPLES = 60 };
    shape s;
    memset(&s, 0, sizeof s);
    for (int d = 0; d < TN_NDTYPES; d++)
        for (uint64_t k = 0; k < SAMPLES && (prim->dtypes >> d & 1); k++) {
            tn_ctx *ctx = tn_i_ctx_new(NULL, tn_i_registry);
            tn_i_rng r = {k};
            tn_i_case c;
            if (laws_case_draw(ctx, prim, d, &r, &c)) {
                const tn_fn *f = laws_case_program(prim, &c, 0);
                if (f) look(&s, prim, f);
                laws_case_free(&c);
            }
            tn_ctx_free(ctx);
        }
    return s;
}

/* ---- rules ------------------------------------------------------------------------------------- */

static bool declared(const tn_prim *prim, uint32_t i) { return ((prim->linear[0] | prim->linear[1]) >> i & 1) != 0; }

static void both(mutants *list, const tn_prim *prim, mutant_part part, uint32_t i) {
    (void)add(list, prim, part, NEGATED, (int)i, -1);
    (void)add(list, prim, part, SCALED, (int)i, -1);
}

/* Operands or outputs that no sample has, only programs made of samples: they are broken together. */
static void behind(mutants *list, const mutant *control, mutant_part part, uint32_t n) {
    if (n >= 64 || !(control->reached[part] >> n)) return;
    mutant *m = add(list, control->prim.original, part, NEGATED, (int)n, -1);
    m->behind = true;
    (void)snprintf(m->name, sizeof m->name, "%s: %s %u and on negated", m->prim.name, part_name[part], (unsigned)n);
}

static void derivatives(mutants *list, const mutant *control, const shape *s) {
    const tn_prim *prim = control->prim.original;
    for (uint32_t i = 0; i < 3; i++)
        if (prim->partial[i]) both(list, prim, PART_PARTIAL, i);
    for (uint32_t j = 0; j < s->nout && j < 64; j++) {
        if (prim->jvp && s->real_out[j]) both(list, prim, PART_JVP, j);
        if (prim->flags & TN_F_OWN_PRIMAL) (void)add(list, prim, PART_PRIMAL, NEGATED, (int)j, -1);
    }
    for (uint32_t i = 0; i < s->nin && i < 64 && prim->transpose; i++)
        if (s->real_in[i] && (prim->linearity || declared(prim, i))) both(list, prim, PART_TRANSPOSE, i);
    behind(list, control, PART_JVP, s->nout);
    behind(list, control, PART_PRIMAL, s->nout);
    behind(list, control, PART_TRANSPOSE, s->nin);
    if (prim->nin != 0 && !(prim->flags & TN_F_NODIFF)) (void)add(list, prim, PART_ZERO, DECLARED, -1, -1);
}

static void linear(mutants *list, const tn_prim *prim, const shape *s) {
    for (int k = 0; k < 2 && prim->linear[k]; k++) (void)add(list, prim, PART_LINEAR, DROPPED, k, -1);
    if (prim->linearity) {
        (void)add(list, prim, PART_LINEARITY, PERMITTED, -1, -1);
        if (prim->nin) (void)add(list, prim, PART_LINEARITY, REFUSED, -1, -1);
        if (!(prim->flags & TN_F_NODIFF)) (void)add(list, prim, PART_LINEARITY, DENIED, -1, -1);
        return;
    }
    for (uint32_t i = 0; i < s->nin && i < 32; i++) {
        if (!s->real_in[i]) continue; /* no linear value can stand there */
        if (!declared(prim, i) && !prim->linear[1]) (void)add(list, prim, PART_LINEAR, ADDED, (int)i, -1);
        if (prim->linear[0] && !(prim->linear[0] >> i & 1)) (void)add(list, prim, PART_LINEAR, JOINED, (int)i, -1);
    }
}

static void programs(mutants *list, const mutant *control, const shape *s) {
    const tn_prim *prim = control->prim.original;
    for (uint32_t j = 0; j < s->nout && j < 64; j++) {
        if (prim->nin != 0) {
            (void)add(list, prim, PART_BATCH, NEGATED, (int)j, -1);
            (void)add(list, prim, PART_BATCH, ROTATED, (int)j, -1);
        }
        if (prim->split) (void)add(list, prim, PART_SPLIT, NEGATED, (int)j, -1);
        if (prim->prune) (void)add(list, prim, PART_PRUNE, NEGATED, (int)j, -1);
    }
    behind(list, control, PART_BATCH, s->nout);
    behind(list, control, PART_SPLIT, s->nout);
    behind(list, control, PART_PRUNE, s->nout);
    if (prim->simplify) (void)add(list, prim, PART_SIMPLIFY, NEGATED, -1, -1);
    if (prim->nin == 2 && (prim->flags & TN_F_ELEMENTWISE) && !(prim->flags & TN_F_COMMUTES))
        (void)add(list, prim, PART_COMMUTES, DECLARED, -1, -1);
}

/* Kernels of dtypes that are computed with as another one never run (control/widen.c). */
static bool runs(const tn_prim *prim, const shape *s, int d) {
    return s->dtypes >> d & 1 && (tn_i_holder(d) == d || prim->flags & TN_F_STORED);
}

static void effects(mutants *list, const tn_prim *prim, const shape *s) {
    if (!s->effect) return;
    (void)add(list, prim, PART_EFFECT, DECLARED, -1, -1);
    (void)add(list, prim, PART_BATCH, MISSED, -1, -1);
    for (int d = 0; d < TN_NDTYPES; d++) {
        if (!runs(prim, s, d)) continue;
        (void)add(list, prim, PART_KERNEL, MISSED, -1, d);
        (void)add(list, prim, PART_KERNEL, STRIDED, -1, d);
    }
}

static void kernels(mutants *list, const tn_prim *prim, const shape *s) {
    static const mutant_damage ways[] = {SCALED, ONE, STRIDED};
    for (int d = 0; d < TN_NDTYPES; d++)
        for (int k = 0; k < (prim->nin ? 3 : 2); k++) {
            /* of held dtypes strips only move what is in memory, an element at a time: law `held` */
            if (!prim->kernel && prim->strip[d] && !tn_i_is_held(d))
                add(list, prim, PART_STRIP, ways[k], -1, d)->result = s->result[d];
            for (uint32_t j = 0; j < s->nout && prim->kernel && runs(prim, s, d); j++)
                (void)add(list, prim, PART_KERNEL, ways[k], (int)j, d);
        }
    if (prim->view) (void)add(list, prim, PART_VIEW, STUCK, -1, -1);
}

void mutants_of(mutants *list, const mutant *control) {
    const tn_prim *prim = control->prim.original;
    const shape s = shape_of(prim);
    derivatives(list, control, &s);
    linear(list, prim, &s);
    programs(list, control, &s);
    kernels(list, prim, &s);
    effects(list, prim, &s);
}
