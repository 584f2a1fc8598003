#include "prims/arrays/largest.h"
#include "base/machine.h"

/* Elements that are compared at a time. */
enum { BLOCK = 32 };

tn_i_largest tn_i_largest_way(int64_t n, int64_t k) {
    const int64_t room = 2 * k + TN_M_TOP_ROOM;
    if (k <= TN_M_TOP_LIST) return (tn_i_largest){TN_LISTED, k + BLOCK};
    if (k > n / 2) return (tn_i_largest){TN_SORTED, 2 * n};
    return (tn_i_largest){TN_SIFTED, room < n ? room : n};
}

/* ---- which elements come into question ---- */

typedef struct places {
    int64_t n, at[BLOCK];
} places;

#define SOME_LARGER(any, x, least)             \
    int any = 0; /* of a block side by side */ \
    for (int64_t i = 0; i < BLOCK; i++) any |= !((x)[i] <= (least))

/* The elements of the next block from `from` on in which some are larger than that at `than`, or NaN: where they are.
 * The end of that block, or of the row when there is none. */
#define LARGER(NAME, T)                                                                                  \
    static int64_t NAME(const void *data, int64_t s, int64_t from, int64_t n, int64_t than, places *p) { \
        const T *const x = data, least = x[than * s];                                                    \
        int64_t m;                                                                                       \
        p->n = 0;                                                                                        \
        for (; from < n && p->n == 0; from += m) {                                                       \
            m = n - from < BLOCK ? n - from : BLOCK;                                                     \
            if (s == 1 && m == BLOCK) {                                                                  \
                SOME_LARGER(any, x + from, least);                                                       \
                if (!any) continue;                                                                      \
            }                                                                                            \
            for (int64_t i = 0; i < m; i++) {                                                            \
                p->at[p->n] = from + i;                                                                  \
                p->n += !(x[(from + i) * s] <= least);                                                   \
            }                                                                                            \
        }                                                                                                \
        return from;                                                                                     \
    }
LARGER(larger_f64, double)
LARGER(larger_f32, float)
LARGER(larger_i64, int64_t)
LARGER(larger_i32, int32_t)
LARGER(larger_u32, uint32_t)
LARGER(larger_bool, uint8_t)

/* ---- one row ---- */

/* A row, and the entries of those that may be among its first. */
typedef struct row {
    const tn_i_arr *of;
    const void *data;
    int64_t stride, n, k;
    tn_i_largest way;
    tn_i_keyed *x;
    int64_t have;    /* entries */
    tn_i_keyed last; /* of the k that were left when they were sifted last */
} row;

static int64_t larger(const row *r, int64_t from, places *p) {
    switch (r->of->type->dtype) {
    case TN_BOOL: return larger_bool(r->data, r->stride, from, r->n, r->last.from, p);
    case TN_I32: return larger_i32(r->data, r->stride, from, r->n, r->last.from, p);
    case TN_U32: return larger_u32(r->data, r->stride, from, r->n, r->last.from, p);
    case TN_I64: return larger_i64(r->data, r->stride, from, r->n, r->last.from, p);
    case TN_F32: return larger_f32(r->data, r->stride, from, r->n, r->last.from, p);
    default: return larger_f64(r->data, r->stride, from, r->n, r->last.from, p);
    }
}

/* e, that comes behind all of x, into the list x of k, of which the last one goes. */
static inline void insert(tn_i_keyed *x, int64_t k, tn_i_keyed e) {
    int64_t j = k - 1;
    if (e.key >= x[j].key) return;
    for (; j > 0 && x[j - 1].key > e.key; j--) x[j] = x[j - 1];
    x[j] = e;
}

/* The list with all elements from `from` on. */
#define LISTED(NAME, T, IS_FLOAT, MEMBER)                                                               \
    static void NAME(const row *r, int64_t from) {                                                      \
        const T *const x = r->data;                                                                     \
        const tn_i_keyed *last = &r->x[r->k - 1];                                                       \
        T least = x[last->from * r->stride];                                                            \
        for (int64_t m; from < r->n && last->key > 0; from += m) {                                      \
            m = r->n - from < BLOCK ? r->n - from : BLOCK;                                              \
            if (r->stride == 1 && m == BLOCK) {                                                         \
                SOME_LARGER(any, x + from, least);                                                      \
                if (!any) continue;                                                                     \
            }                                                                                           \
            for (int64_t i = from; i < from + m; i++) {                                                 \
                const T v = x[i * r->stride];                                                           \
                if (v <= least) continue;                                                               \
                insert(r->x, r->k, (tn_i_keyed){~tn_i_ordered(IS_FLOAT, (tn_i_wide){.MEMBER = v}), i}); \
                least = x[last->from * r->stride];                                                      \
            }                                                                                           \
        }                                                                                               \
    }
LISTED(listed_f64, double, true, d)
LISTED(listed_f32, float, true, d)
LISTED(listed_i64, int64_t, false, i)
LISTED(listed_i32, int32_t, false, i)
LISTED(listed_u32, uint32_t, false, i)
LISTED(listed_bool, uint8_t, false, i)

static void list_all(const row *r, int64_t from) {
    switch (r->of->type->dtype) {
    case TN_BOOL: listed_bool(r, from); return;
    case TN_I32: listed_i32(r, from); return;
    case TN_U32: listed_u32(r, from); return;
    case TN_I64: listed_i64(r, from); return;
    case TN_F32: listed_f32(r, from); return;
    default: listed_f64(r, from); return;
    }
}

static void take_first(row *r, int64_t n) {
    tn_i_load_keys(r->of, r->data, r->stride, n, &r->x->key, sizeof *r->x / sizeof r->x->key);
    for (int64_t i = 0; i < n; i++) r->x[i] = (tn_i_keyed){~r->x[i].key, i};
    r->have = n;
}

static void take(row *r, int64_t at) {
    tn_i_wide value;
    tn_i_load(r->of->type->dtype, r->data, at * r->stride, 1, 1, &value);
    const uint64_t key = ~tn_i_ordered(tn_i_is_float(r->of->type->dtype), value);
    if (key < r->last.key) r->x[r->have++] = (tn_i_keyed){key, at};
}

static void sift(row *r) {
    const uint64_t last = tn_i_select_entries(r->x, r->k, r->have);
    for (int64_t i = 0; i < r->k; i++)
        if (r->x[i].key == last) r->last = r->x[i];
    r->have = r->k;
}

/* Nothing comes before the least key, that of NaN or the largest integer. */
static void look_through(row *r, int64_t from) {
    places p;
    while (from < r->n && r->last.key > 0) {
        from = larger(r, from, &p);
        for (int64_t i = 0; i < p.n; i++) take(r, p.at[i]);
        if (r->way.room - r->have < BLOCK) sift(r);
    }
    if (r->have > r->k) sift(r);
}

const tn_i_keyed *tn_i_largest_of(const tn_i_arr *x, const void *data, int64_t stride, int64_t n, int64_t k,
                                  tn_i_keyed *room) {
    row r = {.of = x, .data = data, .stride = stride, .n = n, .k = k, .way = tn_i_largest_way(n, k), .x = room};
    const tn_i_lane whole = {.n = n}, first = {.n = k};
    const int64_t start = r.way.by == TN_SORTED ? n : r.way.by == TN_LISTED ? k : r.way.room;
    take_first(&r, start);
    if (r.way.by == TN_LISTED) {
        tn_i_insert_entries(room, k, 0, k);
        list_all(&r, k);
        return room;
    }
    if (r.way.by == TN_SORTED) return tn_i_sort_entries(&whole, room, room + n);
    sift(&r);
    look_through(&r, start);
    return tn_i_sort_entries(&first, room, room + k);
}
