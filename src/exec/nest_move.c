/* Loads and stores of nests that are not dense: along loops, a run of the innermost one after another. */
#include "exec/nest_code.h"

#include <string.h>

int64_t tn_i_walk_far(const tn_i_nest_walk *w, int64_t at) {
    int64_t offset = 0;
    for (uint32_t d = w->n - 1; d > 0; d--) {
        offset += at % w->size[d] * w->stride[d];
        at /= w->size[d];
    }
    return offset + at * w->stride[0];
}

/* ---- the place of a linear index ---- */

typedef struct cursor {
    const tn_i_nest_walk *w;
    int64_t index[TN_MAX_RANK + 1], offset;
} cursor;

static void cursor_start(cursor *c, const tn_i_nest_walk *w, int64_t at) {
    c->w = w;
    c->offset = 0;
    for (uint32_t d = w->n; d-- > 0;) {
        c->index[d] = d ? at % w->size[d] : at;
        c->offset += c->index[d] * w->stride[d];
        at = d ? at / w->size[d] : 0;
    }
}

/* Moves on by n, which stays within the innermost loop or reaches its end. */
static void cursor_advance(cursor *c, int64_t n) {
    uint32_t d = c->w->n - 1;
    c->index[d] += n;
    c->offset += n * c->w->stride[d];
    while (d > 0 && c->index[d] == c->w->size[d]) {
        c->offset -= c->index[d] * c->w->stride[d];
        c->index[d] = 0;
        d--;
        c->index[d]++;
        c->offset += c->w->stride[d];
    }
}

static int64_t run_of(const cursor *c, int64_t n) {
    const uint32_t d = c->w->n - 1;
    const int64_t left = c->w->size[d] - c->index[d];
    return d == 0 || n < left ? n : left;
}

/* ---- runs ---- */

#define COPY_RUN(T)                                            \
    {                                                          \
        const T *a = (const T *)(const void *)from;            \
        T *o = (T *)(void *)to;                                \
        for (int64_t i = 0; i < n; i++) o[i * so] = a[i * sa]; \
        break;                                                 \
    }

#define FILL_RUN(T)                                 \
    {                                               \
        const T x = *(const T *)(const void *)from; \
        T *o = (T *)(void *)to;                     \
        for (int64_t i = 0; i < n; i++) o[i] = x;   \
        break;                                      \
    }

static void fill_run(int size, const char *from, char *to, int64_t n) {
    switch (size) {
    case 1: FILL_RUN(uint8_t)
    case 4: FILL_RUN(uint32_t)
    default: FILL_RUN(uint64_t)
    }
}

static void copy_run(int size, const char *from, int64_t sa, char *to, int64_t so, int64_t n) {
    if (n <= 0) return;
    if (sa == 0 && so == 1) {
        fill_run(size, from, to, n);
        return;
    }
    if (sa == 1 && so == 1 && n * size >= 64) {
        memcpy(to, from, (size_t)(n * size));
        return;
    }
    switch (size) {
    case 1: COPY_RUN(uint8_t)
    case 4: COPY_RUN(uint32_t)
    default: COPY_RUN(uint64_t)
    }
}

void tn_i_repeat(int size, const char *from, char *to, int64_t n) { copy_run(size, from, 0, to, 1, n); }

/* The two innermost loops, the longer one inside, for `rows` whole rows of the innermost. */
static void copy_rows(int size, const char *from, const int64_t stride[2], char *to, int64_t rows, int64_t row) {
    if (stride[1] == 0)
        tn_i_vec_spread(size, tn_i_isa_best())(from, stride[0], rows, row, to);
    else if (rows > row)
        for (int64_t e = 0; e < row; e++)
            copy_run(size, from + e * stride[1] * size, stride[0], to + e * size, row, rows);
    else
        for (int64_t r = 0; r < rows; r++)
            copy_run(size, from + r * stride[0] * size, stride[1], to + r * row * size, 1, row);
}

void tn_i_walk_load(const tn_i_nest_walk *w, int size, const char *from, int64_t at, int64_t n, char *to) {
    cursor c;
    cursor_start(&c, w, at);
    const uint32_t d = w->n - 1;
    while (n > 0) {
        int64_t run = run_of(&c, n);
        if (d > 0 && c.index[d] == 0 && n >= 2 * w->size[d]) {
            int64_t rows = n / w->size[d], left = w->size[d - 1] - c.index[d - 1];
            if (d > 1 && rows > left) rows = left;
            copy_rows(size, from + c.offset * size, w->stride + d - 1, to, rows, w->size[d]);
            run = rows * w->size[d];
            cursor_start(&c, w, at + run);
        } else {
            copy_run(size, from + c.offset * size, w->stride[d], to, 1, run);
            cursor_advance(&c, run);
        }
        at += run;
        n -= run;
        to += run * size;
    }
}

void tn_i_walk_store(const tn_i_nest_walk *w, int size, char *to, int64_t at, int64_t n, const char *from,
                     int64_t step) {
    cursor c;
    cursor_start(&c, w, at);
    while (n > 0) {
        const int64_t run = run_of(&c, n);
        copy_run(size, from, step, to + c.offset * size, w->stride[w->n - 1], run);
        cursor_advance(&c, run);
        n -= run;
        from += run * size * step;
    }
}

/* ---- indices ---- */

#define IOTA_RUN(T)                                                                                      \
    {                                                                                                    \
        T *o = (T *)(void *)to;                                                                          \
        for (int64_t i = 0; i < run; i++) o[i] = (T)(first + by * (c.offset + i * w->stride[w->n - 1])); \
        break;                                                                                           \
    }

void tn_i_walk_iota(const tn_i_nest_walk *w, int dtype, int64_t by, int64_t first, int64_t at, int64_t n, char *to) {
    cursor c;
    cursor_start(&c, w, at);
    while (n > 0) {
        const int64_t run = run_of(&c, n);
        switch (dtype) {
        case TN_I32: IOTA_RUN(int32_t)
        case TN_I64: IOTA_RUN(int64_t)
        case TN_U32: IOTA_RUN(uint32_t)
        case TN_F32: IOTA_RUN(float)
        default: IOTA_RUN(double)
        }
        cursor_advance(&c, run);
        n -= run;
        to += run * (int64_t)tn_i_dtype_size(dtype);
    }
}

/* ---- boxes ---- */

static bool cuts(const tn_i_nest *n, const tn_i_nest_array *a, uint32_t loop) {
    return a->lo[loop] > 0 || a->hi[loop] < n->size[loop];
}

/* The loops that neither the box cuts nor memory interrupts are one, from loop d on. */
const char *tn_i_box_within(const tn_i_nest *nest, const tn_i_nest_array *a, uint32_t loops, const char *from,
                            int64_t at, int64_t n) {
    int64_t offset = 0, run = 1;
    uint32_t d = loops;
    if (loops == 0 || a->stride[loops - 1] != 1) return NULL;
    for (;;) {
        d--;
        if (d == 0 || cuts(nest, a, d) || a->stride[d - 1] != run * nest->size[d]) break;
        run *= nest->size[d];
    }
    const int64_t first = d ? at % (run * nest->size[d]) : at;
    if (first < a->lo[d] * run || first + n > a->hi[d] * run) return NULL;
    offset = first;
    at = (at - first) / (run * nest->size[d]);
    while (d-- > 0) {
        const int64_t i = d ? at % nest->size[d] : at;
        if (i < a->lo[d] || i >= a->hi[d]) return NULL;
        offset += i * a->stride[d];
        at /= nest->size[d];
    }
    return from + offset * (int64_t)tn_i_dtype_size(a->dtype);
}

/* All n elements from index `at` on lie outside: told where that is plain to see. */
bool tn_i_box_misses(const tn_i_nest *nest, const tn_i_nest_array *a, uint32_t loops, int64_t at, int64_t n) {
    int64_t run = 1;
    uint32_t d = loops;
    if (loops == 0) return false;
    while (--d > 0 && !cuts(nest, a, d)) run *= nest->size[d];
    const int64_t whole = run * nest->size[d], first = d ? at % whole : at;
    if (first + n > whole) return false;
    if (first >= a->hi[d] * run || first + n <= a->lo[d] * run) return true;
    at = (at - first) / whole;
    while (d-- > 0) {
        const int64_t i = d ? at % nest->size[d] : at;
        if (i < a->lo[d] || i >= a->hi[d]) return true;
        at /= nest->size[d];
    }
    return false;
}

/* What is there already needs no copy, and what nobody reads none either. */
static void outside(int size, const char *fill, int64_t step, char *to, int64_t n) {
    if (fill && fill != to) copy_run(size, fill, step, to, 1, n);
}

static int64_t clamp(int64_t x, int64_t lo, int64_t hi) { return x < lo ? lo : x > hi ? hi : x; }

/* `run` elements of the innermost loop `in` from index `first` on; from: where index 0 of it is, NULL outside. */
static void box_run(const tn_i_nest_array *a, uint32_t in, const char *from, int64_t first, int64_t run,
                    const char *fill, int64_t step, char *to) {
    const int size = (int)tn_i_dtype_size(a->dtype);
    const int64_t lo = from ? clamp(a->lo[in] - first, 0, run) : run, hi = clamp(a->hi[in] - first, lo, run);
    outside(size, fill, step, to, lo);
    if (hi > lo) copy_run(size, from + (first + lo) * a->stride[in] * size, a->stride[in], to + lo * size, 1, hi - lo);
    outside(size, fill ? fill + hi * step * size : NULL, step, to + hi * size, run - hi);
}

static void box_rows(const tn_i_nest *nest, const tn_i_nest_array *a, uint32_t loops, const char *from, int64_t at,
                     int64_t n, const char *fill, int64_t step, char *to) {
    const uint32_t in = loops - 1;
    const int size = (int)tn_i_dtype_size(a->dtype);
    tn_i_nest_walk w = {.n = loops};
    cursor c;
    for (uint32_t d = 0; d < loops; d++) w.size[d] = nest->size[d], w.stride[d] = a->stride[d];
    cursor_start(&c, &w, at);
    while (n > 0) {
        const int64_t run = run_of(&c, n), first = c.index[in];
        bool inside = true;
        for (uint32_t d = 0; d < nest->nloop; d++) {
            const int64_t index = d < in ? c.index[d] : 0; /* loops beyond `loops` do not move it */
            if (d != in) inside &= index >= a->lo[d] && index < a->hi[d];
        }
        box_run(a, in, inside ? from + (c.offset - first * a->stride[in]) * size : NULL, first, run, fill, step, to);
        cursor_advance(&c, run);
        n -= run;
        to += run * size;
        if (fill) fill += run * step * size;
    }
}

/* `loops` of the nest's loops, from the first one on, are walked by the linear index. */
void tn_i_box_load(const tn_i_nest *nest, const tn_i_nest_array *a, uint32_t loops, const char *from, int64_t at,
                   int64_t n, const char *fill, int64_t step, char *to) {
    const int size = (int)tn_i_dtype_size(a->dtype);
    if (nest->nloop == 1 && loops == 1)
        box_run(a, 0, from, at, n, fill, step, to);
    else if (loops)
        box_rows(nest, a, loops, from, at, n, fill, step, to);
    else { /* a load of no loop: inside or not */
        bool inside = true;
        for (uint32_t d = 0; d < nest->nloop; d++) inside &= a->lo[d] <= 0 && a->hi[d] > 0;
        if (inside)
            fill_run(size, from, to, n);
        else
            outside(size, fill, step, to, n);
    }
}

/* ---- looking up ---- */

#define LOOK_UP(T, I)                                                                   \
    {                                                                                   \
        const I *at = (const I *)(const void *)index;                                   \
        const T *a = (const T *)(const void *)table;                                    \
        T *o = (T *)(void *)to, fill;                                                   \
        memcpy(&fill, &e->s[3], sizeof fill);                                           \
        for (int64_t i = 0; i < n; i++) {                                               \
            const int64_t x = (int64_t)at[i * step], most = x > last ? last : x;        \
            o[i] = fills && (x < 0 || x > last) ? fill : a[(most < 0 ? 0 : most) * by]; \
        }                                                                               \
        break;                                                                          \
    }

#define LOOK_UP_BY(T)       \
    if (e->s[1] == 4)       \
        LOOK_UP(T, int32_t) \
    else                    \
        LOOK_UP(T, int64_t)

void tn_i_look_up(const tn_i_nest_instr *e, const char *table, const char *index, int64_t n, char *to) {
    const int64_t by = e->by, last = e->first, step = e->s[0];
    const bool fills = e->s[2];
    switch (e->size) {
    case 1: LOOK_UP_BY(uint8_t)
    case 4: LOOK_UP_BY(uint32_t)
    default: LOOK_UP_BY(uint64_t)
    }
}
