/* Broken kernels, strips and views. */
#include "mutants/mutant.h"

#include "prims/arrays/layout.h"

#include <string.h>

static mutant *of(const tn_prim *p) { return (mutant *)(uintptr_t)p; }

/* ---- broken elements ------------------------------------------------------------------------ */

/* Zeros are moved only where a single element is: scaled ones stay. */
static void damage_element(mutant *m, int dtype, void *at) {
    const float f = m->how == ONE ? 1e-3f : 0;
    const double d = m->how == ONE ? 1e-3 : 0;
    m->hits++;
    switch (dtype) {
    case TN_BOOL: *(uint8_t *)at = !*(uint8_t *)at; return;
    case TN_F32: *(float *)at = *(float *)at * 1.001f + f; return;
    case TN_F64: *(double *)at = *(double *)at * 1.001 + d; return;
    default: tn_i_put_bits(dtype, at, tn_i_bits_at(dtype, at) + 1); return; /* of a half its last place */
    }
}

static bool dense(const tn_i_arr *a) {
    int64_t want[TN_MAX_RANK];
    tn_i_dense_strides(a->type, want);
    for (int d = 0; d < a->type->rank; d++)
        if (a->type->dim[d] > 1 && a->stride[d] != want[d]) return false;
    return true;
}

/* ---- kernels ---------------------------------------------------------------------------------- */

/* Of what has no outputs: not run, or operand 0 taken for row-major. */
static tn_status effect(mutant *m, const tn_i_kernel *k) {
    tn_i_kernel broken = *k;
    broken.prim = m->prim.original;
    if (m->part != PART_KERNEL || k->nin == 0 || k->in[0].type->dtype != m->dtype) return broken.prim->kernel(&broken);
    if (m->how == MISSED) {
        m->hits++;
        return TN_OK;
    }
    tn_i_arr *in = (tn_i_arr *)(uintptr_t)k->in;
    const tn_i_arr first = in[0];
    m->hits += !dense(&first);
    tn_i_dense_strides(first.type, in[0].stride);
    const tn_status s = broken.prim->kernel(&broken);
    in[0] = first;
    return s;
}

static tn_status kernel(const tn_i_kernel *k) {
    if (k->nout == 0) return effect(of(k->prim), k);
    mutant *m = of(k->prim);
    tn_i_kernel true_one = *k;
    true_one.prim = m->prim.original;
    const int dtype = k->nin ? k->in[0].type->dtype : k->out[0].type->dtype;
    const tn_status s = m->prim.original->kernel(&true_one);
    if (s != TN_OK || m->part != PART_KERNEL || dtype != m->dtype || (uint32_t)m->index >= k->nout) return s;
    bool strided = false;
    for (uint32_t i = 0; i < k->nin; i++) strided |= !dense(&k->in[i]);
    if (m->how == STRIDED && !strided) return s;
    const tn_i_arr *out = &k->out[m->index];
    const int64_t n = tn_i_count(out->type);
    const size_t size = tn_i_dtype_size(out->type->dtype);
    for (int64_t i = m->how == ONE && n ? n - 1 : 0; i < n; i++)
        damage_element(m, out->type->dtype, (char *)out->data + (size_t)i * size);
    return s;
}

/* ---- strips ------------------------------------------------------------------------------------- */

/* Strips are not told their primitive: there is one mutant at a time. */
static mutant *running;

/* ONE: the last of several, so that calls with one element each are right. */
static void strip(int dtype, int64_t n, const void *const *in, const int64_t *s, void *out, int64_t so) {
    mutant *m = running;
    m->prim.original->strip[dtype](n, in, s, out, so);
    bool strided = false;
    for (int i = 0; i < m->prim.nin; i++) strided |= n > 1 && s[i] != 1;
    if (m->part != PART_STRIP || m->dtype != dtype || (m->how == ONE && n < 2) || (m->how == STRIDED && !strided))
        return;
    const int64_t size = (int64_t)tn_i_dtype_size(m->result);
    for (int64_t i = m->how == ONE ? n - 1 : 0; i < n; i++) damage_element(m, m->result, (char *)out + i * so * size);
}

#define STRIP(D)                                                                                       \
    static void strip_##D(int64_t n, const void *const *in, const int64_t *s, void *out, int64_t so) { \
        strip(D, n, in, s, out, so);                                                                   \
    }
STRIP(TN_BOOL)
STRIP(TN_I32)
STRIP(TN_I64)
STRIP(TN_U32)
STRIP(TN_F32)
STRIP(TN_F64)
STRIP(TN_I8)
STRIP(TN_U8)
STRIP(TN_I16)
STRIP(TN_U16)
STRIP(TN_F16)
STRIP(TN_BF16)
STRIP(TN_U64)

/* ---- views ---------------------------------------------------------------------------------------- */

static bool view(const tn_i_query *q, const tn_i_arr *in, tn_i_arr *out, int64_t *offset) {
    mutant *m = of(q->prim);
    tn_i_query true_one = *q;
    true_one.prim = m->prim.original;
    if (!m->prim.original->view(&true_one, in, out, offset)) return false;
    if (m->part == PART_VIEW) {
        m->hits++;
        memset(out->stride, 0, sizeof out->stride);
    }
    return true;
}

void mutant_wrap_kernels(mutant *m) {
    static tn_i_strip *const strips[TN_NDTYPES] = {
        [TN_BOOL] = strip_TN_BOOL, [TN_I32] = strip_TN_I32, [TN_I64] = strip_TN_I64, [TN_F32] = strip_TN_F32,
        [TN_F64] = strip_TN_F64,   [TN_U32] = strip_TN_U32, [TN_I8] = strip_TN_I8,   [TN_U8] = strip_TN_U8,
        [TN_I16] = strip_TN_I16,   [TN_U16] = strip_TN_U16, [TN_F16] = strip_TN_F16, [TN_BF16] = strip_TN_BF16,
        [TN_U64] = strip_TN_U64};
    tn_prim *p = &m->prim;
    if (p->kernel) p->kernel = kernel;
    if (p->view) p->view = view;
    for (int d = 0; d < TN_NDTYPES; d++)
        if (p->strip[d]) p->strip[d] = strips[d];
    running = m;
}
