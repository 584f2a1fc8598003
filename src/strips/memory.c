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
    case 2: COPY(uint16_t)
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
    case 2: *(uint16_t *)(void *)to = *(const uint16_t *)(const void *)from; break;
    case 4: *(uint32_t *)(void *)to = *(const uint32_t *)(const void *)from; break;
    default: *(uint64_t *)(void *)to = *(const uint64_t *)(const void *)from; break;
    }
}

static void gather(const tn_i_s_op *e, const char *from, const char *index, const uint8_t *mask, const char *otherwise,
                   char *out, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (!mask || mask[i * e->s[1]])
            move(e->size, out + i * e->size, from + i * e->step + (index ? away(e, index, i * e->s[0]) : 0));
        else if (otherwise)
            move(e->size, out + i * e->size, otherwise + i * e->s[2] * e->size);
}

static void scatter(const tn_i_s_op *e, char *to, const char *index, const uint8_t *mask, const char *x, int64_t by,
                    int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (!mask || mask[i * e->s[1]])
            move(e->size, to + i * e->step + (index ? away(e, index, i * e->s[0]) : 0), x + i * by);
}

static const char *index_of(const tn_i_s_state *t, const tn_i_s_op *e) {
    return e->index < TN_NDTYPES ? tn_i_s_in(t, e, 0) : NULL;
}
static const uint8_t *mask_of(const tn_i_s_state *t, const tn_i_s_op *e) {
    return e->masked ? (const uint8_t *)tn_i_s_in(t, e, 1) : NULL;
}
static bool plain(const tn_i_s_op *e) { return e->index >= TN_NDTYPES && !e->masked; }

/* Elements of memory's dtype, behind room for those of its holder, which has 4 bytes; then these. */
static void load_held(const tn_i_s_state *t, const tn_i_s_op *e, char *out, int64_t n) {
    const char *from = element(t, e), *otherwise = e->masked ? tn_i_s_in(t, e, 2) : NULL;
    const uint8_t *mask = mask_of(t, e);
    char *raw = out + 4 * n;
    const bool in_place = plain(e) && (e->step == e->size || n == 1);
    const void *const in[1] = {in_place ? from : raw};
    if (!in_place) gather(e, from, index_of(t, e), mask, NULL, raw, n);
    e->strip(n, in, &(int64_t){1}, out, 1);
    for (int64_t i = 0; mask && i < n; i++)
        if (!mask[i * e->s[1]]) move(4, out + i * 4, otherwise + i * e->s[2] * 4);
}

void tn_i_s_load(const tn_i_s_state *t, const tn_i_s_op *e) {
    const char *from = element(t, e);
    char *out = tn_i_s_out(t, e);
    const int64_t n = e->varies ? t->n : 1;
    if (e->strip)
        load_held(t, e, out, n);
    else if (!plain(e))
        gather(e, from, index_of(t, e), mask_of(t, e), e->masked ? tn_i_s_in(t, e, 2) : NULL, out, n);
    else if (n == 1)
        move(e->size, out, from);
    else
        copy(e->size, from, e->step, out, e->size, n);
}

/* One after another: there may be several to one place. */
static void update(const tn_i_s_state *t, const tn_i_s_op *e, char *to, const char *x, int64_t n) {
    static const int64_t one[2] = {1, 1};
    const char *index = index_of(t, e);
    const uint8_t *mask = mask_of(t, e);
    for (int64_t i = 0; i < n; i++) {
        if (mask && !mask[i * e->s[1]]) continue;
        void *const at = to + i * e->step + (index ? away(e, index, i * e->s[0]) : 0);
        const void *const in[2] = {at, x + i * e->s[2] * e->size};
        e->strip(1, in, one, at, 1);
    }
}

void tn_i_s_store(const tn_i_s_state *t, const tn_i_s_op *e) {
    if (!t->base[e->base]) return;
    char *to = element(t, e), *room = t->reg + e->out;
    const void *x = tn_i_s_in(t, e, 2);
    const int64_t n = e->varies ? t->n : 1;
    if (e->update) {
        update(t, e, to, x, n);
        return;
    }
    const bool in_place = e->strip && plain(e) && (e->step == e->size || n == 1);
    int64_t by = e->s[2] * e->size;
    if (e->strip) {
        e->strip(n, &x, &e->s[2], in_place ? to : room, 1);
        x = room;
        by = e->size;
    }
    if (in_place) return;
    if (plain(e))
        copy(e->size, x, by, to, e->step, n);
    else
        scatter(e, to, index_of(t, e), mask_of(t, e), x, by, n);
}
