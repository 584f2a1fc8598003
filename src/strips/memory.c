/* Loads, stores and numbers of iterations, a strip at a time. */
#include "strips/inside.h"

#include <string.h>

static char *element(const tn_i_s_state *t, const tn_i_s_op *e) {
    char *array = e->data ? (char *)(uintptr_t)e->data : t->base[e->base];
    return array + tn_i_s_sum_of(t, e);
}

/* `by` and `to_by`: bytes from one to the next. */
#define COPY(T)                                                                                                 \
    for (int64_t i = 0; i < n; i++) *(T *)(void *)(to + i * to_by) = *(const T *)(const void *)(from + i * by); \
    break;
static void copy(int size, const char *from, int64_t by, char *to, int64_t to_by, int64_t n) {
    if (by == size && to_by == size) {
        memmove(to, from, (size_t)(n * size));
        return;
    }
    switch (size) {
    case 1: COPY(uint8_t)
    case 4: COPY(uint32_t)
    default: COPY(uint64_t)
    }
}
#undef COPY

void tn_i_s_copy(int size, const char *from, int64_t s, char *to, int64_t n) {
    copy(size, from, s * size, to, size, n);
}

/* ---- numbers of iterations ---- */

#define NUMBERS(T)                                                                 \
    for (int64_t i = 0; i < n; i++) ((T *)(void *)out)[i] = (T)(at + i * e->step); \
    break;
void tn_i_s_index(const tn_i_s_state *t, const tn_i_s_op *e) {
    const int64_t at = tn_i_s_sum_of(t, e), n = e->varies ? t->n : 1;
    char *out = tn_i_s_out(t, e);
    switch (e->dtype) {
    case TN_F64: NUMBERS(double)
    case TN_F32: NUMBERS(float)
    case TN_I32: NUMBERS(int32_t)
    case TN_U32: NUMBERS(uint32_t)
    default: NUMBERS(int64_t)
    }
}

void tn_i_s_within(const tn_i_s_state *t, const tn_i_s_op *e) {
    const int64_t at = tn_i_s_sum_of(t, e), n = e->varies ? t->n : 1;
    uint8_t *out = (uint8_t *)tn_i_s_out(t, e);
    for (int64_t i = 0; i < n; i++) {
        const int64_t x = at + i * e->step;
        out[i] = e->by <= x && (x < e->last || e->last == INT64_MAX);
    }
}

/* ---- memory ---- */

void tn_i_s_place(const tn_i_s_state *t, const tn_i_s_op *e) {
    const bool missing = !e->data && !t->base[e->base];
    *(char **)(void *)(t->reg + e->out) = missing && e->nin ? t->reg + e->in[0] : element(t, e);
}

/* Bytes to the element that index number i says: the nearest one that there is. */
static int64_t away(const tn_i_s_op *e, const char *index, int64_t i) {
    int64_t x =
        e->index == TN_I32 ? ((const int32_t *)(const void *)index)[i] : ((const int64_t *)(const void *)index)[i];
    x = x < 0 ? 0 : x > e->last ? e->last : x;
    return x * e->by;
}

static void move(int size, char *to, const char *from) {
    switch (size) {
    case 1: *to = *from; break;
    case 4: *(uint32_t *)(void *)to = *(const uint32_t *)(const void *)from; break;
    default: *(uint64_t *)(void *)to = *(const uint64_t *)(const void *)from; break;
    }
}

static void gather(const tn_i_s_op *e, const char *from, const char *index, const uint8_t *mask, const char *otherwise,
                   char *out, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (mask && !mask[i * e->s[1]])
            move(e->size, out + i * e->size, otherwise + i * e->s[2] * e->size);
        else
            move(e->size, out + i * e->size, from + i * e->step + (index ? away(e, index, i * e->s[0]) : 0));
}

void tn_i_s_load(const tn_i_s_state *t, const tn_i_s_op *e) {
    const char *from = element(t, e);
    char *out = tn_i_s_out(t, e);
    const int64_t n = e->varies ? t->n : 1;
    const bool indexed = e->index < TN_NDTYPES;
    if (!indexed && !e->masked) {
        if (n == 1)
            move(e->size, out, from);
        else
            copy(e->size, from, e->step, out, e->size, n);
        return;
    }
    gather(e, from, indexed ? tn_i_s_in(t, e, 0) : NULL, e->masked ? (const uint8_t *)tn_i_s_in(t, e, 1) : NULL,
           e->masked ? tn_i_s_in(t, e, 2) : NULL, out, n);
}

void tn_i_s_store(const tn_i_s_state *t, const tn_i_s_op *e) {
    if (!t->base[e->base]) return;
    char *to = element(t, e);
    const char *x = tn_i_s_in(t, e, 2);
    const int64_t n = e->varies ? t->n : 1;
    const bool indexed = e->index < TN_NDTYPES;
    if (!indexed && !e->masked) {
        copy(e->size, x, e->s[2] * e->size, to, e->step, n);
        return;
    }
    const char *index = indexed ? tn_i_s_in(t, e, 0) : NULL;
    const uint8_t *mask = e->masked ? (const uint8_t *)tn_i_s_in(t, e, 1) : NULL;
    for (int64_t i = 0; i < n; i++)
        if (!mask || mask[i * e->s[1]])
            move(e->size, to + i * e->step + (index ? away(e, index, i * e->s[0]) : 0), x + i * e->s[2] * e->size);
}
