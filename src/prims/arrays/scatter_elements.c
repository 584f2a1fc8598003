/* scatter and scatter_add of many single elements or rows, each at one index, as those of a sparse matrix, of the
 * points of a mesh, or of an embedding.
 *
 * The operand is copied in blocks just ahead of the first update that reaches them, so that where indices ascend a
 * block is still in the first cache when it is written to; one comparison an index says whether it is inside and
 * copied. */
#include "base/machine.h"
#include "prims/arrays/windows.h"

#include <string.h>

enum { HEAD = 64 /* indices */ };

typedef struct ahead {
    const char *from; /* NULL: all is there already */
    char *to;
    int64_t bytes, done;
    int64_t stride, last; /* bytes from index to index; the last index that is inside */
    int64_t span;         /* bytes from the first of a row to behind its last */
    int64_t ready;        /* indices from 0 on to which updates may go */
    bool clip;
} ahead;

static void copy_through(ahead *a, int64_t byte) {
    const int64_t end =
        byte >= a->bytes - TN_M_SCATTER_BLOCK ? a->bytes : (byte / TN_M_SCATTER_BLOCK + 1) * TN_M_SCATTER_BLOCK;
    memcpy(a->to + a->done, a->from + a->done, (size_t)(end - a->done));
    a->done = end;
    a->ready = end == a->bytes ? a->last + 1 : (end - a->span) / a->stride + 1;
}

/* Where an update goes whose index is not ready, copied by then; -1: nowhere. */
static int64_t reached(ahead *a, int64_t x) {
    if (a->clip) x = x < 0 ? 0 : x > a->last ? a->last : x;
    if (x < 0 || x > a->last) return -1;
    if (x >= a->ready) copy_through(a, x * a->stride + a->span - 1);
    return x;
}

/* Elements of a row, and how far apart they are in the result and in the updates. */
typedef struct row {
    int64_t n, to, from;
} row;

typedef void scatter_by(const tn_i_windows *w, ahead a, row r, const void *updates);

/* Single elements side by side, as most are, go by loops of their own up to an index that is not ready; where the first
 * of them go to one place after another, what is there waits in a register. */
#define PLAIN(type, index, operation)                                                      \
    const int64_t n = w->dim[w->rank - 1], head = n < HEAD ? n : HEAD;                     \
    int64_t again = 0;                                                                     \
    for (int64_t i = 1; i < head; i++) again += at[i] == at[i - 1];                        \
    const bool runs = 2 * again > head;                                                    \
    for (int64_t i = 0; i < n; i++) {                                                      \
        const uint64_t ready = (uint64_t)a.ready;                                          \
        while (runs && i < n && (uint64_t)(int64_t)at[i] < ready) {                        \
            const index x = at[i];                                                         \
            type sum = out[x];                                                             \
            for (; i < n && at[i] == x; i++) sum operation in[i];                          \
            out[x] = sum;                                                                  \
        }                                                                                  \
        for (; i < n && (uint64_t)(int64_t)at[i] < ready; i++) out[at[i]] operation in[i]; \
        const int64_t x = i < n ? reached(&a, (int64_t)at[i]) : -1;                        \
        if (x >= 0) out[x] operation in[i];                                                \
    }
#define ROWS(type, operation)                                                       \
    for (int64_t i = 0; i < w->dim[w->rank - 1]; i++) {                             \
        int64_t x = (int64_t)at[i * by];                                            \
        if ((uint64_t)x >= (uint64_t)a.ready && (x = reached(&a, x)) < 0) continue; \
        type *restrict const o = out + x * to;                                      \
        const type *restrict const u = in + i * from;                               \
        if (r.n == 1)                                                               \
            *o operation *u;                                                        \
        else if (dense)                                                             \
            for (int64_t j = 0; j < r.n; j++) o[j] operation u[j];                  \
        else                                                                        \
            for (int64_t j = 0; j < r.n; j++) o[j * r.to] operation u[j * r.from];  \
    }
#define SCATTER(name, type, index, operation)                                                         \
    static void name##_##type##_##index(const tn_i_windows *w, ahead a, row r, const void *updates) { \
        const index *at = w->indices->data;                                                           \
        const type *const in = updates;                                                               \
        type *const out = (type *)(void *)a.to;                                                       \
        const int64_t by = w->index_stride[w->rank - 1], to = w->column_operand[0],                   \
                      from = w->window_stride[w->rank - 1];                                           \
        const bool dense = r.to == 1 && r.from == 1;                                                  \
        if (r.n == 1 && by == 1 && to == 1 && from == 1) {                                            \
            PLAIN(type, index, operation)                                                             \
        } else {                                                                                      \
            ROWS(type, operation)                                                                     \
        }                                                                                             \
        if (a.done < a.bytes) copy_through(&a, a.bytes);                                              \
    }
#define SCATTER_BOTH(name, type, operation) \
    SCATTER(name, type, int32_t, operation) \
    SCATTER(name, type, int64_t, operation)
SCATTER_BOTH(add, float, +=)
SCATTER_BOTH(add, double, +=)
SCATTER_BOTH(add, uint32_t, +=)
SCATTER_BOTH(add, uint64_t, +=)
SCATTER_BOTH(set, uint8_t, =)
SCATTER_BOTH(set, uint32_t, =)
SCATTER_BOTH(set, uint64_t, =)

#define BY(name, type) \
    { name##_##type##_int32_t, name##_##type##_int64_t }
static scatter_by *const adders[TN_NDTYPES][2] = {[TN_F32] = BY(add, float),
                                                  [TN_F64] = BY(add, double),
                                                  [TN_I32] = BY(add, uint32_t),
                                                  [TN_U32] = BY(add, uint32_t),
                                                  [TN_I64] = BY(add, uint64_t)};
static scatter_by *const setters[TN_NDTYPES][2] = {
    [TN_F32] = BY(set, uint32_t), [TN_F64] = BY(set, uint64_t), [TN_I32] = BY(set, uint32_t),
    [TN_U32] = BY(set, uint32_t), [TN_I64] = BY(set, uint64_t), [TN_BOOL] = BY(set, uint8_t)};

static bool dense(const tn_i_arr *x) {
    int64_t stride[TN_MAX_RANK];
    tn_i_dense_strides(x->type, stride);
    for (int d = 0; d < x->type->rank; d++)
        if (x->type->dim[d] > 1 && x->stride[d] != stride[d]) return false;
    return true;
}

/* The dimensions of a window as one, if they are. */
static bool one_row(const tn_i_scattered *s, row *r) {
    *r = (row){.n = 1, .to = 1, .from = 1};
    for (int d = s->rank; d-- > 0;) {
        if (s->dim[d] == 1) continue;
        if (r->n == 1)
            *r = (row){.n = 1, .to = s->to[d], .from = s->from[d]};
        else if (s->to[d] != r->n * r->to || s->from[d] != r->n * r->from)
            return false;
        r->n *= s->dim[d];
    }
    return r->to > 0;
}

bool tn_i_scatter_elements(const tn_i_kernel *k, bool adds) {
    tn_i_arr out = *k->out;
    tn_i_scattered s;
    row r;
    scatter_by *const *by = (adds ? adders : setters)[out.type->dtype];
    if (tn_i_count(k->in[2].type) == 0 || !by[0]) return false;
    tn_i_dense_strides(out.type, out.stride);
    tn_i_scattered_init(&s, k->p, &out, &k->in[1], &k->in[2]);
    if (s.w.columns != 1 || s.w.too_large || !one_row(&s, &r)) return false;
    tn_i_windows_merge(&s.w);
    const int inner = s.w.rank - 1;
    if (s.w.operand_stride[inner]) return false;
    const int64_t size = (int64_t)tn_i_dtype_size(out.type->dtype);
    ahead a = {.from = k->in[0].data,
               .to = out.data,
               .bytes = (int64_t)tn_type_bytes(out.type),
               .stride = s.w.column_operand[0] * size,
               .last = s.w.last[0],
               .span = ((r.n - 1) * r.to + 1) * size,
               .clip = s.clip};
    const bool there = out.data == k->in[0].data, whole = !there && (inner || !dense(&k->in[0]));
    if (whole) tn_i_copy_array(&k->in[0], &out);
    if (there || whole) {
        a.done = a.bytes;
        a.ready = a.last + 1;
    }
    const bool wide = k->in[1].type->dtype != TN_I32;
    tn_i_arr indices = k->in[1];
    s.w.indices = &indices;
    for (int64_t i = 0; i < tn_i_window_runs(&s.w); i++) { /* the operand is there already, if there are several */
        const tn_i_window_run at = tn_i_window_run_at(&s.w, i);
        indices.data = tn_i_at_mut(k->in[1].data, wide ? 8 : 4, at.index);
        a.to = tn_i_at_mut(out.data, (size_t)size, at.operand);
        by[wide](&s.w, a, r, tn_i_at(k->in[2].data, (size_t)size, at.window));
    }
    return true;
}
