#include "prims/arrays/order.h"
#include "base/machine.h"

#include <string.h>

/* ---- keys ---- */

void tn_i_load_keys(const tn_i_arr *x, const void *data, int64_t stride, int64_t n, uint64_t *keys, size_t step) {
    tn_i_wide part[128];
    const bool is_float = tn_i_is_float(x->type->dtype);
    for (int64_t first = 0; first < n; first += 128) {
        const int64_t m = n - first < 128 ? n - first : 128;
        tn_i_load(x->type->dtype, data, first * stride, stride, m, part);
        for (int64_t i = 0; i < m; i++) keys[(size_t)(first + i) * step] = tn_i_ordered(is_float, part[i]);
    }
}

void tn_i_move_entries(const tn_i_arr *x, const void *from, int64_t fs, void *to, int64_t ts, const tn_i_keyed *order,
                       int64_t n) {
    const size_t size = tn_i_dtype_size(x->type->dtype);
    const char *src = from;
    char *dst = to;
    for (int64_t i = 0; i < n; i++) {
        const char *s = src + order[i].from * fs * (int64_t)size;
        char *d = dst + i * ts * (int64_t)size;
        if (size == 8)
            memcpy(d, s, 8);
        else if (size == 4)
            memcpy(d, s, 4);
        else
            *d = *s;
    }
}

/* ---- sorting ---- */

TN_C_TEXT(
    after_text, static bool after(const tn_i_lane *c, tn_i_keyed a, tn_i_keyed b) {
        if (a.key != b.key) return a.key > b.key;
        for (uint32_t k = 0; k < c->more; k++) {
            const uint64_t *keys = c->keys + (size_t)k * (size_t)c->n;
            if (keys[a.from] != keys[b.from]) return keys[a.from] > keys[b.from];
        }
        return false;
    })

TN_C_TEXT(
    insertion_sort_text, static void insertion_sort(const tn_i_lane *c, tn_i_keyed *x, int64_t n) {
        for (int64_t i = 1; i < n; i++) {
            const tn_i_keyed e = x[i];
            int64_t j = i;
            for (; j > 0 && after(c, x[j - 1], e); j--) x[j] = x[j - 1];
            x[j] = e;
        }
    })

/* Merges x[lo..mid) and x[mid..hi) into y; equal ones keep their order. */
TN_C_TEXT(
    merge_text,
    static void merge(const tn_i_lane *c, const tn_i_keyed *x, tn_i_keyed *y, int64_t lo, int64_t mid, int64_t hi) {
        int64_t i = lo, j = mid;
        for (int64_t k = lo; k < hi; k++) y[k] = i < mid && (j == hi || !after(c, x[i], x[j])) ? x[i++] : x[j++];
    })

/* Stable; the result is in x or in y, which is returned. */
TN_C_TEXT(
    merge_sort_text, static const tn_i_keyed *merge_sort(const tn_i_lane *c, tn_i_keyed *x, tn_i_keyed *y) {
        const int64_t run = 16, n = c->n;
        for (int64_t lo = 0; lo < n; lo += run) insertion_sort(c, x + lo, n - lo < run ? n - lo : run);
        for (int64_t width = run; width < n; width *= 2) {
            for (int64_t lo = 0; lo < n; lo += 2 * width) {
                const int64_t mid = n - lo < width ? n : lo + width, hi = n - lo < 2 * width ? n : lo + 2 * width;
                merge(c, x, y, lo, mid, hi);
            }
            tn_i_keyed *swap = x;
            x = y;
            y = swap;
        }
        return x;
    })

/* By one byte of the keys after the other, the last one first: each pass keeps the order of equal ones.  Bytes that all
 * keys share have none, as those that f32 has not. */
static const tn_i_keyed *digit_sort(int64_t n, tn_i_keyed *x, tn_i_keyed *y) {
    enum { DIGITS = 8, VALUES = 256 };
    int64_t count[DIGITS][VALUES] = {{0}};
    int shift[DIGITS], digits = 0;
    uint64_t differ = 0;
    for (int64_t i = 0; i < n; i++) differ |= x[i].key ^ x->key;
    for (int d = 0; d < DIGITS; d++)
        if (differ >> 8 * d & (VALUES - 1)) shift[digits++] = 8 * d;
    for (int64_t i = 0; i < n; i++)
        for (int d = 0; d < digits; d++) count[d][x[i].key >> shift[d] & (VALUES - 1)]++;
    for (int d = 0; d < digits; d++) {
        int64_t *const at = count[d], sum = 0;
        for (int v = 0; v < VALUES; v++) {
            const int64_t here = at[v];
            at[v] = sum;
            sum += here;
        }
        for (int64_t i = 0; i < n; i++) y[at[x[i].key >> shift[d] & (VALUES - 1)]++] = x[i];
        tn_i_keyed *swap = x;
        x = y;
        y = swap;
    }
    return x;
}

/* Each where so many stand before it: every two are compared once, and nothing branches on keys. */
static const tn_i_keyed *rank_sort(int64_t n, const tn_i_keyed *x, tn_i_keyed *y) {
    uint32_t before[TN_M_SORT_RANKS];
    for (int64_t i = 0; i < n; i++) {
        const uint64_t key = x[i].key;
        uint32_t mine = 0;
        for (int64_t j = 0; j < i; j++) {
            const uint32_t behind = x[j].key > key;
            before[j] += behind;
            mine += !behind;
        }
        before[i] = mine;
    }
    for (int64_t i = 0; i < n; i++) y[before[i]] = x[i];
    return y;
}

const tn_i_keyed *tn_i_sort_entries(const tn_i_lane *c, tn_i_keyed *x, tn_i_keyed *y) {
    if (c->more == 0 && c->n <= TN_M_SORT_RANKS) return rank_sort(c->n, x, y);
    return c->more == 0 && c->n >= TN_M_SORT_DIGITS ? digit_sort(c->n, x, y) : merge_sort(c, x, y);
}

/* ---- the first ones ---- */

TN_C_TEXT(
    insert_text, void tn_i_insert_entries(tn_i_keyed *x, int64_t k, int64_t sorted, int64_t n) {
        for (int64_t i = sorted; i < n; i++) {
            const tn_i_keyed e = x[i];
            int64_t j = i < k ? i : k;
            if (j == k && e.key >= x[k - 1].key) continue;
            if (j == k) j--; /* the last one goes */
            for (; j > 0 && x[j - 1].key > e.key; j--) x[j] = x[j - 1];
            x[j] = e;
        }
    })

/* The digits of a key that decide whether an entry is one of the first: all entries that have less there, and `equal`
 * of those that have just this. */
TN_C_TEXT(
    tn_i_cut_text, typedef struct tn_i_cut {
        uint64_t mask, digits;
        int64_t equal;
    } tn_i_cut;)

/* One more byte, and where to look on; done when all that have these digits are wanted. */
TN_C_TEXT(
    narrow_text, static bool narrow(const tn_i_keyed *x, int64_t n, int shift, tn_i_cut *c) {
        int64_t count[256] = {0};
        int v = 0;
        for (int64_t i = 0; i < n; i++) count[x[i].key >> shift & 255] += (x[i].key & c->mask) == c->digits;
        for (; c->equal > count[v]; v++) c->equal -= count[v];
        c->mask |= (uint64_t)255 << shift;
        c->digits |= (uint64_t)v << shift;
        return c->equal == count[v];
    })

/* A byte of the keys after the other, the first one first: the work does not depend on how the entries stand. */
TN_C_TEXT(
    find_cut_text, static tn_i_cut find_cut(const tn_i_keyed *x, int64_t k, int64_t n) {
        tn_i_cut c = {0, 0, k};
        uint64_t differ = 0;
        bool done = k == n;
        for (int64_t i = 0; i < n; i++) differ |= x[i].key ^ x->key;
        for (int shift = 56; shift >= 0 && !done; shift -= 8)
            if (differ >> shift & 255)
                done = narrow(x, n, shift, &c);
            else {
                c.mask |= (uint64_t)255 << shift;
                c.digits |= x->key & (uint64_t)255 << shift;
            }
        return c;
    })

TN_C_TEXT(
    select_text, uint64_t tn_i_select_entries(tn_i_keyed *x, int64_t k, int64_t n) {
        tn_i_cut c = find_cut(x, k, n);
        uint64_t most = 0;
        for (int64_t i = 0, to = 0; to < k; i++) {
            const tn_i_keyed e = x[i];
            const uint64_t digits = e.key & c.mask;
            if (digits > c.digits || (digits == c.digits && c.equal-- <= 0)) continue;
            x[to++] = e;
            most = e.key > most ? e.key : most;
        }
        return most;
    })

/* ---- C text ---- */

/* A key as an unsigned number of the same order. */
TN_C_ONLY(
    order_float_text, static uint64_t tn_i_order_float(double x) {
        const uint64_t top = UINT64_C(1) << 63;
        uint64_t u;
        if (x != x) return UINT64_MAX;
        if (x == 0) return top;
        memcpy(&u, &x, sizeof u);
        return u & top ? ~u : u | top;
    })
TN_C_ONLY(
    order_int_text, static uint64_t tn_i_order_int(int64_t x) { return (uint64_t)x ^ UINT64_C(1) << 63; })
const tn_i_c_helper tn_i_order_helpers[] = {
    {"tn_i_keyed", tn_i_keyed_text},
    {"tn_i_lane", tn_i_lane_text},
    {"after", after_text},
    {"insertion_sort", insertion_sort_text},
    {"merge", merge_text},
    {"merge_sort", merge_sort_text},
    {"tn_i_insert_entries", insert_text},
    {"tn_i_cut", tn_i_cut_text},
    {"narrow", narrow_text},
    {"find_cut", find_cut_text},
    {"tn_i_select_entries", select_text},
    {"tn_i_order_float", order_float_text},
    {"tn_i_order_int", order_int_text},
    {NULL, NULL},
};
