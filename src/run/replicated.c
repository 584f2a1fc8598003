#include "run/replicated.h"

#include <stdio.h>
#include <string.h>

enum { AT_ONCE = 16 };

/* ---- the bits of an array ---------------------------------------------------------------- */

static uint64_t mix(uint64_t h, uint64_t x) {
    h = (h ^ x) * UINT64_C(0x9E3779B97F4A7C15);
    return h ^ h >> 29;
}

static uint64_t element(const char *at, size_t size) {
    uint64_t x = 0;
    memcpy(&x, at, size);
    return x;
}

/* Elements in row-major order, wherever they are. */
static uint64_t bits_of(const tn_type *t, const char *at, const int64_t *stride) {
    const size_t size = tn_i_dtype_size(t->dtype);
    const int64_t n = tn_i_count(t);
    int64_t i[TN_MAX_RANK] = {0};
    uint64_t h = (uint64_t)n;
    for (int64_t k = 0; k < n; k++) {
        h = mix(h, element(at, size));
        for (int d = t->rank; d-- > 0;) {
            at += stride[d] * (int64_t)size;
            if (++i[d] < t->dim[d]) break;
            at -= t->dim[d] * stride[d] * (int64_t)size;
            i[d] = 0;
        }
    }
    return h;
}

static uint64_t input_bits(const tn_i_plan *p, uint32_t i, const uintptr_t *base) {
    const tn_type *t = p->f->val[i].type;
    const tn_i_place *k = &p->place[i];
    int64_t dense[TN_MAX_RANK];
    tn_i_dense_strides(t, dense);
    return bits_of(t, (const char *)base[i], k->stride == TN_DENSE ? dense : p->number + k->stride);
}

/* ---- with other ranks ------------------------------------------------------------------------ */

/* The first rank along the axes whose bits are not those of the first that has not failed. */
static tn_status find(tn_i_talk *t, uint32_t axes, int64_t bits, int64_t first, int64_t *rank) {
    int64_t v[2] = {t->failed || bits == first ? INT64_MAX : t->rank, 0};
    const tn_collective x = {
        .size = sizeof x, .kind = TN_COMM_ALLREDUCE, .op = TN_COMM_MIN, .dtype = TN_I64, .count = 1, .axes = axes};
    return tn_i_say(t, &x, v, rank);
}

static tn_status lowest(tn_i_talk *t, uint32_t axes, int64_t bits, int64_t *first) {
    int64_t rank = t->failed ? INT64_MAX : t->rank, least, v;
    tn_collective x = {
        .size = sizeof x, .kind = TN_COMM_ALLREDUCE, .op = TN_COMM_MIN, .dtype = TN_I64, .count = 1, .axes = axes};
    tn_status status = tn_i_say(t, &x, &rank, &least);
    x.op = TN_COMM_MAX;
    v = rank == least ? bits : INT64_MIN;
    return status == TN_OK ? tn_i_say(t, &x, &v, first) : status;
}

static tn_status explain(tn_i_talk *t, const tn_i_plan *p, uint32_t i, uint32_t axes, int64_t bits) {
    int64_t first = 0, rank = 0;
    tn_status status = lowest(t, axes, bits, &first);
    if (status == TN_OK) status = find(t, axes, bits, first, &rank);
    if (status == TN_OK && t->status == TN_OK)
        (void)snprintf(t->message, t->size, "input %u is declared replicated over %s, but differs on rank %lld",
                       (unsigned)i, tn_i_axes_text(p->f->ctx, axes), (long long)rank);
    return status;
}

/* Inputs i.. that are replicated over these axes, a few at once; the first that differs in *bad, or TN_NOVAR. */
static tn_status compare(tn_i_talk *t, const tn_i_plan *p, const uint32_t *in, uint32_t n, uint32_t axes,
                         const uintptr_t *base, uint32_t *bad) {
    int64_t v[2 * AT_ONCE] = {0}, all[2 * AT_ONCE];
    const tn_collective x = {.size = sizeof x,
                             .kind = TN_COMM_ALLREDUCE,
                             .op = TN_COMM_MAX,
                             .dtype = TN_I64,
                             .count = 2 * (int64_t)n,
                             .axes = axes};
    for (uint32_t k = 0; k < n; k++) {
        const int64_t h = t->failed ? INT64_MIN : (int64_t)(input_bits(p, in[k], base) >> 1); /* not negative */
        v[2 * k] = h;
        v[2 * k + 1] = t->failed ? INT64_MIN : -h;
    }
    const tn_status status = tn_i_say(t, &x, v, all);
    for (uint32_t k = 0; k < n && status == TN_OK; k++) {
        if (all[2 * k] == -all[2 * k + 1] || all[2 * k] == INT64_MIN) continue; /* or all have failed */
        *bad = in[k];
        return explain(t, p, in[k], axes, v[2 * k]);
    }
    return status;
}

tn_status tn_i_replicated(tn_i_talk *t, const tn_i_plan *p, const uint32_t *over, const uintptr_t *base) {
    uint32_t some[AT_ONCE];
    tn_status status = TN_OK;
    for (uint32_t i = 0; i < p->f->nin && status == TN_OK;) {
        const uint32_t axes = over[i];
        uint32_t n = 0, bad = TN_NOVAR;
        while (i < p->f->nin && n < AT_ONCE && over[i] == axes) some[n++] = i++;
        if (axes) status = compare(t, p, some, n, axes, base, &bad);
        if (status == TN_OK && bad != TN_NOVAR) status = tn_i_talk_failed(t, TN_EINVAL);
    }
    return status;
}
