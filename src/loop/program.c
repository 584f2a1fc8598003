/* What a loop program is asked about. */
#include "loop/inside.h"
#include "prims/ids.h"
#include "prims/strips.h"

#include <math.h>
#include <string.h>

#define NONE -1
#define SAME TN_L_SAME
#define BOOL TN_L_BOOL
#define ANY  TN_L_ANY
const tn_i_l_row tn_i_l_rows[TN_L_NCODES] = {
#define TN_L_OP(name, nin, dtypes, result, prim, param) {#name, nin, result, dtypes, prim, param},
#include "loop/ops.def"
#undef TN_L_OP
    {"fn", 0, TN_L_ANY, TN_ANY, -1, 0}};
#undef NONE
#undef SAME
#undef BOOL
#undef ANY

void tn_i_l_free(tn_i_loops *p) {
    if (!p) return;
    tn_ctx *c = p->ctx;
    tn_i_free(c, p->op, p->cop * sizeof *p->op);
    tn_i_free(c, p->array, p->carray * sizeof *p->array);
    tn_i_free(c, p->kernel, p->ckernel * sizeof *p->kernel);
    tn_i_free(c, p->term, p->cterm * sizeof *p->term);
    tn_i_free(c, p->arg, p->carg * sizeof *p->arg);
    tn_i_arena_free(&p->memory);
    tn_i_free(c, p, sizeof *p);
}

tn_i_affine tn_i_l_affine_of(const tn_i_loops *p, const tn_i_l_affine *a) {
    tn_i_affine e = {.at = a->at, .n = a->n};
    if (a->n) memcpy(e.term, p->term + a->first, a->n * sizeof *e.term);
    return e;
}

int64_t tn_i_l_by(const tn_i_loops *p, const tn_i_l_affine *a, uint32_t loop) {
    for (uint32_t i = 0; i < a->n; i++)
        if (p->term[a->first + i].loop == loop) return p->term[a->first + i].by;
    return 0;
}

bool tn_i_l_known_count(const tn_i_loops *p, uint32_t loop, int64_t *n) {
    const tn_i_l_op *o = &p->op[loop];
    if (o->in[0] != TN_L_NONE || o->at.n || o->hi == INT64_MAX) return false;
    *n = o->at.at < 0 ? 0 : o->at.at < o->hi ? o->at.at : o->hi;
    return true;
}

bool tn_i_l_no_sums(const tn_i_loops *p, uint32_t k) {
    for (uint32_t i = k + 1; i < p->op[k].to; i++)
        if (p->op[i].kind == TN_L_INTO || p->op[i].kind == TN_L_TOTAL) return false;
    return true;
}

bool tn_i_l_any_order(const tn_i_loops *p, uint32_t k) {
    for (uint32_t i = k + 1; i < p->op[k].to; i++)
        if (p->op[i].kind == TN_L_STORE && p->op[i].update) return false;
    return tn_i_l_no_sums(p, k);
}

bool tn_i_l_overlap(const tn_i_loops *p, uint32_t a, uint32_t b) {
    const tn_i_l_array *x = &p->array[a], *y = &p->array[b];
    if (a == b) return x->count > 0;
    if (x->base == TN_L_NONE || x->base != y->base || x->count == 0 || y->count == 0) return false;
    return x->at < y->at + y->count * (int64_t)tn_i_dtype_size(y->dtype) &&
           y->at < x->at + x->count * (int64_t)tn_i_dtype_size(x->dtype);
}

int tn_i_l_fits(int code) {
    for (int dtype = 0; dtype < TN_NDTYPES && code != TN_L_fn; dtype++)
        if ((int)tn_i_l_as(dtype) == code) return dtype;
    return -1;
}

tn_i_l_code tn_i_l_as(int dtype) {
    switch (dtype) {
    case TN_I8: return TN_L_as_i8;
    case TN_I16: return TN_L_as_i16;
    case TN_U8: return TN_L_as_u8;
    case TN_U16: return TN_L_as_u16;
    case TN_F16: return TN_L_as_f16;
    case TN_BF16: return TN_L_as_bf16;
    default: return TN_L_fn; /* memory has all of its holder's numbers */
    }
}

/* ---- folds ---- */

const char *tn_i_l_fold_name(int fold) {
    static const char *const names[] = {
        [TN_FOLD_NONE] = "none", [TN_FOLD_SUM] = "sum",       [TN_FOLD_PROD] = "prod",    [TN_FOLD_MAX] = "max",
        [TN_FOLD_MIN] = "min",   [TN_FOLD_ARGMAX] = "argmax", [TN_FOLD_ARGMIN] = "argmin"};
    return fold >= TN_FOLD_SUM && fold <= TN_FOLD_ARGMIN ? names[fold] : "none";
}

static uint64_t bits_of(int dtype, double f, int64_t i) {
    uint64_t bits = 0;
    const float g = (float)f;
    switch (dtype) {
    case TN_F64: memcpy(&bits, &f, sizeof f); break;
    case TN_F32: memcpy(&bits, &g, sizeof g); break;
    case TN_I64: bits = (uint64_t)i; break;
    case TN_I32:
    case TN_U32: bits = (uint32_t)i; break;
    default: bits = (uint8_t)i; break;
    }
    return bits;
}

uint64_t tn_i_l_identity(int fold, int dtype) {
    const bool small = dtype == TN_I32, logical = dtype == TN_BOOL, natural = logical || dtype == TN_U32;
    switch (fold) {
    case TN_FOLD_PROD: return bits_of(dtype, 1, 1);
    case TN_FOLD_MAX: return bits_of(dtype, -INFINITY, natural ? 0 : small ? INT32_MIN : INT64_MIN);
    case TN_FOLD_MIN:
        return bits_of(dtype, INFINITY, logical ? 1 : natural ? UINT32_MAX : small ? INT32_MAX : INT64_MAX);
    default: return bits_of(dtype, 0, 0);
    }
}

tn_i_l_code tn_i_l_fold_code(int fold, int dtype) {
    const bool greater = fold == TN_FOLD_MAX;
    if (fold == TN_FOLD_SUM) return TN_L_add;
    if (fold == TN_FOLD_PROD) return TN_L_mul;
    if (dtype == TN_BOOL) return greater ? TN_L_or : TN_L_and;
    if (tn_i_is_int(dtype)) return greater ? TN_L_max : TN_L_min;
    return greater ? TN_L_fold_max : TN_L_fold_min;
}

/* ---- elements ---- */

uint64_t tn_i_l_get(int dtype, const void *data, int64_t i) {
    uint64_t bits = 0;
    const size_t size = tn_i_dtype_size(dtype);
    memcpy(&bits, (const char *)data + (size_t)i * size, size);
    return tn_i_held_bits(dtype, bits);
}

void tn_i_l_put(int dtype, void *data, int64_t i, uint64_t bits) {
    const size_t size = tn_i_dtype_size(dtype);
    bits = tn_i_stored_bits(dtype, bits);
    memcpy((char *)data + (size_t)i * size, &bits, size);
}
