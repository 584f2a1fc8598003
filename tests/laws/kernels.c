/* Kernels: any layout, no byte outside, the same bits every time, whatever the data. */
#include "laws/derive.h"
#include "laws/table.h"

#include "prims/ids.h"
#include "prims/arrays/layout.h"
#include "prims/strips.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 64, FILL = 0xA5 };

/* The operands and results of one run. */
typedef struct stage {
    tn_i_arr *in, *out;
    unsigned char **room; /* where operand i lies, `span` bytes */
    size_t *span;
} stage;

static bool has_kernel(const tn_prim *prim) {
    return !prim->body && !prim->expand && !(prim->flags & TN_F_LOOP) && prim->id != TN_P_external_call;
}

/* Of the primitive; its program gives operands back when there are none. */
static uint32_t outputs(const tn_fn *f) { return f->eqn[0].nout; }

static tn_status run(laws_trial *t, const stage *s) {
    const tn_fn *f = t->f;
    const tn_i_eqn *e = &f->eqn[0];
    const tn_prim *prim = e->prim;
    const tn_type **in_type = laws_alloc(t->memory, f->nin + 1u, sizeof *in_type);
    tn_type *out_type = laws_alloc(t->memory, e->nout + 1u, sizeof *out_type);
    for (uint32_t i = 0; i < f->nin; i++) in_type[i] = f->val[i].type;
    for (uint32_t j = 0; j < e->nout; j++) out_type[j] = *f->val[e->out + j].type;
    const tn_i_query q = {
        .ctx = t->ctx, .prim = prim, .p = tn_i_p(e), .nin = f->nin, .nout = e->nout, .in = in_type, .out = out_type};
    void *scratch = prim->scratch ? laws_alloc(t->memory, prim->scratch(&q) + 1, 1) : NULL;
    char message[256] = "";
    const tn_i_kernel k = {.prim = prim,
                           .p = tn_i_p(e),
                           .nin = f->nin,
                           .nout = e->nout,
                           .in = s->in,
                           .out = s->out,
                           .scratch = scratch,
                           .threads = 1,
                           .message = message};
    if (prim->kernel) return prim->kernel(&k);
    return tn_i_run_strip(&k, prim->strip[in_type[prim->strip_operand]->dtype]);
}

/* ---- layouts -------------------------------------------------------------------------- */

static void stage_new(laws_trial *t, stage *s) {
    const tn_fn *f = t->f;
    *s = (stage){.in = laws_alloc(t->memory, f->nin + 1u, sizeof *s->in),
                 .out = laws_alloc(t->memory, outputs(f) + 1u, sizeof *s->out),
                 .room = laws_alloc(t->memory, f->nin + 1u, sizeof *s->room),
                 .span = laws_alloc(t->memory, f->nin + 1u, sizeof *s->span)};
    for (uint32_t j = 0; j < outputs(f); j++) {
        const tn_type *type = f->val[f->out[j]].type;
        const size_t bytes = tn_type_bytes(type);
        unsigned char *room = laws_alloc(t->memory, bytes + 2 * GUARD, 1);
        memset(room, FILL, bytes + 2 * GUARD);
        s->out[j] = (tn_i_arr){.type = type, .data = room + GUARD};
        tn_i_dense_strides(type, s->out[j].stride);
    }
}

static void dense_operand(laws_trial *t, stage *s, uint32_t i, const laws_array *x) {
    const laws_array copy = laws_copy(t->memory, x);
    s->room[i] = copy.data;
    s->span[i] = laws_bytes(x);
    s->in[i] = (tn_i_arr){.type = t->f->val[i].type, .data = copy.data};
    tn_i_dense_strides(s->in[i].type, s->in[i].stride);
}

static ptrdiff_t at_index(const tn_i_arr *a, const int64_t *index) {
    int64_t offset = 0;
    for (int d = 0; d < a->type->rank; d++) offset += index[d] * a->stride[d];
    return (ptrdiff_t)offset * (ptrdiff_t)tn_i_dtype_size(a->type->dtype);
}

static void next(const tn_type *t, int64_t *index) {
    for (int d = t->rank - 1; d >= 0 && ++index[d] == t->dim[d]; d--) index[d] = 0;
}

/* Dimensions in any order, with gaps, backwards, some repeated (then x changes with it). */
static void strided_operand(laws_trial *t, stage *s, uint32_t i, laws_array *x) {
    const tn_type *type = t->f->val[i].type;
    const size_t size = tn_i_dtype_size(type->dtype);
    tn_i_arr *a = &s->in[i];
    *a = (tn_i_arr){.type = type};
    int order[TN_MAX_RANK];
    int64_t step = 1, first = 0, index[TN_MAX_RANK] = {0};
    for (int d = 0; d < type->rank; d++) {
        const int at = (int)tn_i_pick(&t->rng, 0, d);
        order[d] = order[at];
        order[at] = d;
    }
    for (int k = 0; k < type->rank; k++) {
        const int64_t n = type->dim[order[k]] > 0 ? type->dim[order[k]] : 1, kind = tn_i_pick(&t->rng, 0, 5);
        a->stride[order[k]] = kind == 0 ? 0 : kind == 1 ? -step : step;
        if (kind == 1) first += (n - 1) * step;
        if (kind != 0) step *= n + (kind == 2);
    }
    s->span[i] = (size_t)step * size;
    s->room[i] = laws_alloc(t->memory, s->span[i] + 1, 1);
    memset(s->room[i], FILL, s->span[i]);
    if (type->dtype == TN_BOOL) memset(s->room[i], 1, s->span[i]);
    a->data = s->room[i] + (size_t)first * size;
    for (int64_t k = 0; k < laws_count(x); k++, next(type, index))
        memcpy((char *)a->data + at_index(a, index), (char *)x->data + (size_t)k * size, size);
    memset(index, 0, sizeof index);
    for (int64_t k = 0; k < laws_count(x); k++, next(type, index))
        memcpy((char *)x->data + (size_t)k * size, (char *)a->data + at_index(a, index), size);
}

/* ---- statements --------------------------------------------------------------------------- */

static bool guards_hold(laws_trial *t, const stage *s) {
    for (uint32_t j = 0; j < outputs(t->f); j++) {
        const unsigned char *before = (const unsigned char *)s->out[j].data - GUARD;
        const unsigned char *behind = (const unsigned char *)s->out[j].data + tn_type_bytes(s->out[j].type);
        for (int k = 0; k < GUARD; k++)
            if (before[k] != FILL || behind[k] != FILL) {
                laws_fail(t, "the kernel wrote outside output %u", (unsigned)j);
                return false;
            }
    }
    return true;
}

/* Runs and checks that nothing outside the outputs changed. */
static bool run_guarded(laws_trial *t, const stage *s, tn_status *status) {
    unsigned char **copy = laws_alloc(t->memory, t->f->nin + 1u, sizeof *copy);
    for (uint32_t i = 0; i < t->f->nin; i++) {
        copy[i] = laws_alloc(t->memory, s->span[i] + 1, 1);
        memcpy(copy[i], s->room[i], s->span[i]);
    }
    *status = run(t, s);
    for (uint32_t i = 0; i < t->f->nin; i++)
        if (memcmp(copy[i], s->room[i], s->span[i]) != 0) {
            laws_fail(t, "the kernel wrote to operand %u", (unsigned)i);
            return false;
        }
    return guards_hold(t, s);
}

static bool same_outputs(laws_trial *t, const stage *a, const stage *b, const char *what) {
    tn_i_cost c;
    const bool products = tn_i_fn_cost(t->f, &c) && c.products > 0;
    for (uint32_t j = 0; j < outputs(t->f); j++) {
        const laws_array x = {*a->out[j].type, a->out[j].data}, y = {*b->out[j].type, b->out[j].data};
        if (products ? !laws_agree(t, what, &x, &y, 1, laws_rounding(t->f), 1e-3) : !laws_same_bits(t, what, &x, &y, 1))
            return false;
    }
    return true;
}

static bool statuses_agree(laws_trial *t, tn_status a, tn_status b) {
    if (a != b) laws_fail(t, "statuses %d and %d", (int)a, (int)b);
    return a == b && a == TN_OK;
}

void laws_layouts(laws_trial *t) {
    if (!has_kernel(t->prim)) return;
    stage a, b;
    tn_status sa, sb;
    stage_new(t, &a);
    stage_new(t, &b);
    for (uint32_t i = 0; i < t->f->nin; i++) {
        laws_array x = laws_copy(t->memory, &t->x[i]);
        strided_operand(t, &b, i, &x);
        dense_operand(t, &a, i, &x);
    }
    if (!run_guarded(t, &a, &sa) || !run_guarded(t, &b, &sb) || !statuses_agree(t, sa, sb)) return;
    if (!same_outputs(t, &a, &b, "dense and strided operands: output")) return;
    const tn_type *in = t->f->nin ? t->f->val[0].type : NULL,
                  *out = outputs(t->f) ? t->f->val[t->f->out[0]].type : NULL;
    if (!(t->prim->flags & TN_F_INPLACE) || !in || !out || tn_type_bytes(in) != tn_type_bytes(out)) return;
    stage c = a;
    c.out = laws_alloc(t->memory, outputs(t->f) + 1u, sizeof *c.out);
    memcpy(c.out, a.out, outputs(t->f) * sizeof *c.out);
    c.out[0].data = a.in[0].data;
    (void)statuses_agree(t, run(t, &c), TN_OK);
    (void)same_outputs(t, &b, &c, "over operand 0: output");
}

/* ---- hostile data ------------------------------------------------------------------------- */

static void hostile(laws_trial *t, laws_array *x) {
    static const double reals[] = {0.0,
                                   -0.0,
                                   1,
                                   -1,
                                   0.5,
                                   2,
                                   INFINITY,
                                   -INFINITY,
                                   NAN,
                                   1e300,
                                   -1e300,
                                   1e-310,
                                   -1e-40,
                                   3e38,
                                   -0.3,
                                   0.999,
                                   2147483648.0,
                                   3000000000.75,
                                   4294967295.0,
                                   4294967295.5,
                                   4294967296.0,
                                   -9223372036854775808.0};
    static const int64_t wholes[] = {0,
                                     1,
                                     -1,
                                     2,
                                     -2,
                                     3,
                                     7,
                                     -5,
                                     INT32_MAX,
                                     INT32_MIN,
                                     INT64_MAX,
                                     INT64_MIN,
                                     INT64_C(1) << 32,
                                     UINT32_MAX,
                                     (INT64_C(1) << 53) + 1,
                                     -(INT64_C(1) << 53) - 1,
                                     INT64_MAX - 511,
                                     INT64_MAX - 512,
                                     INT64_C(0x7FFFFFFF00000001),
                                     INT64_C(-0x123456789ABCDEF)};
    enum { REALS = sizeof reals / sizeof *reals, WHOLES = sizeof wholes / sizeof *wholes };
    for (int64_t k = 0; k < laws_count(x); k++) {
        const int64_t w = wholes[tn_i_pick(&t->rng, 0, WHOLES - 1)];
        switch (x->type.dtype) {
        case TN_BOOL: ((uint8_t *)x->data)[k] = (uint8_t)(w & 1); break;
        case TN_U32: ((uint32_t *)x->data)[k] = (uint32_t)w; break;
        case TN_I32:
            ((int32_t *)x->data)[k] = (int32_t)(uint32_t)((uint64_t)w >> (w > INT32_MAX || w < INT32_MIN ? 32 : 0));
            break;
        case TN_I64: ((int64_t *)x->data)[k] = w; break;
        case TN_I8:
        case TN_U8:
        case TN_I16:
        case TN_U16:
        case TN_U64:
            tn_i_put_bits(x->type.dtype, (char *)x->data + k * (int64_t)tn_i_dtype_size(x->type.dtype), (uint64_t)w);
            break;
        default: laws_put(x, k, reals[tn_i_pick(&t->rng, 0, REALS - 1)]);
        }
    }
}

laws_array *laws_hostile(laws_trial *t, const tn_fn *f) {
    laws_array *x = laws_alloc(t->memory, f->nin + 1u, sizeof *x);
    for (uint32_t i = 0; i < f->nin; i++) {
        x[i] = laws_new(t->memory, f->val[i].type);
        hostile(t, &x[i]);
    }
    return x;
}

void laws_hostile_data(laws_trial *t) {
    if (!has_kernel(t->prim)) return;
    stage a, b;
    tn_status sa, sb;
    const laws_array *x = laws_hostile(t, t->f);
    stage_new(t, &a);
    stage_new(t, &b);
    for (uint32_t i = 0; i < t->f->nin; i++) {
        const laws_array *from = tn_i_pick(&t->rng, 0, 2) ? &x[i] : &t->x[i];
        dense_operand(t, &a, i, from);
        dense_operand(t, &b, i, from);
    }
    if (!run_guarded(t, &a, &sa) || !run_guarded(t, &b, &sb)) return;
    if (sa != sb) laws_fail(t, "statuses %d and %d of the same data", (int)sa, (int)sb);
    for (uint32_t j = 0; j < outputs(t->f) && sa == TN_OK; j++) {
        const laws_array p = {*a.out[j].type, a.out[j].data}, q = {*b.out[j].type, b.out[j].data};
        if (!laws_same_bits(t, "run twice: output", &p, &q, 1)) return;
        for (int64_t k = 0; k < laws_count(&p) && p.type.dtype == TN_BOOL; k++)
            if (((const uint8_t *)p.data)[k] > 1)
                laws_fail(t, "output %u holds a bool that is neither 0 nor 1", (unsigned)j);
    }
}
