/* Reductions in the one order that loop/loop.h lays down, strips of elements at a time.
 *
 * Of each result there is the number of its elements so far, 16 lanes, and the entries of the counter of leaves: lane l
 * of result j is number l * count + j of the lanes, so that results next to each other are fed at once. */
#include "strips/inside.h"

#include <string.h>

enum { ALIGN = 64, AT_ONCE = 64 };

int64_t tn_i_strips_levels(int64_t n) {
    int64_t levels = 1;
    for (n /= TN_LEAF; n; n /= 2) levels++;
    return levels;
}

static bool of_best(int fold) { return fold >= TN_FOLD_ARGMAX; }

/* Counts; of arg folds these, the best and where it is. */
static size_t counts_bytes(int64_t count, int fold) {
    return ((size_t)count * (of_best(fold) ? 3 : 1) * sizeof(int64_t) + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

bool tn_i_strips_sum_bytes(int64_t count, int64_t n, int fold, int dtype, size_t *bytes) {
    const size_t numbers = of_best(fold) ? 0 : (size_t)(TN_LANES + tn_i_strips_levels(n)) * tn_i_dtype_size(dtype);
    return count < INT64_MAX / 64 && tn_i_mul((size_t)count, numbers, bytes) &&
           tn_i_add(*bytes, counts_bytes(count, fold), bytes);
}

typedef struct state {
    const tn_i_s_sum *s;
    int64_t *count;
    char *lane, *entry;
} state;

static state of(const tn_i_s_state *t, const tn_i_s_op *e) {
    const tn_i_s_sum *s = &t->s->sum[e->slot];
    char *at = t->reg + s->area;
    state z = {s, (int64_t *)(void *)at, at + counts_bytes(s->count, s->fold), NULL};
    z.entry = z.lane + TN_LANES * s->count * s->size;
    return z;
}

void tn_i_s_empty(const tn_i_s_state *t, const tn_i_s_op *e) {
    const state z = of(t, e);
    memset(z.count, 0, (size_t)z.s->count * sizeof *z.count);
}

static char *lane(const state *z, int64_t l, int64_t j) { return z->lane + (l * z->s->count + j) * z->s->size; }
static char *entry(const state *z, int64_t m, int64_t j) { return z->entry + (m * z->s->count + j) * z->s->size; }

/* Results j .. j + n - 1 begin a leaf. */
static void begin(const state *z, int64_t j, int64_t n) {
    _Alignas(64) char none[TN_LANES * 8];
    z->s->of->begin(none);
    for (int64_t l = 0; l < TN_LANES; l++) tn_i_s_copy(z->s->size, none, 0, lane(z, l, j), n);
}

/* Their lanes by halves, n of them, `by` bytes from lane to lane; lane 0 has what they come to. */
static void halve(const tn_i_s_sum *s, char *x, int64_t by, int64_t n) {
    if (n == 1 && by == s->size) {
        s->of->halve(x);
        return;
    }
    for (int64_t h = TN_LANES / 2; h > 0; h /= 2)
        for (int64_t l = 0; l < h; l++) s->of->into(x + l * by, x + (l + h) * by, n);
}

/* Their leaves, which are full, become entries; there were so many before. */
static void enter(const state *z, int64_t j, int64_t n, uint64_t before) {
    const tn_i_s_sum *s = z->s;
    int height = __builtin_popcountll(before);
    const char *x = lane(z, 0, j);
    halve(s, lane(z, 0, j), s->count * s->size, n);
    for (uint64_t i = before; i & 1; i >>= 1) {
        s->of->into(entry(z, --height, j), x, n);
        x = entry(z, height, j);
    }
    if (x == lane(z, 0, j)) memcpy(entry(z, height, j), x, (size_t)(n * s->size));
}

static void counted(const state *z, int64_t j, int64_t n, int64_t more) {
    for (int64_t i = j; i < j + n; i++) z->count[i] += more;
    if (z->count[j] % TN_LEAF == 0) enter(z, j, n, (uint64_t)(z->count[j] / TN_LEAF - 1));
}

/* ---- elements ---- */

/* n elements of result j, one after another. */
static void into_one(const state *z, int64_t j, const char *x, int64_t n) {
    const tn_i_s_sum *s = z->s;
    while (n > 0) {
        const int64_t phase = z->count[j] % TN_LANES, left = TN_LEAF - z->count[j] % TN_LEAF;
        int64_t more = 1;
        if (left == TN_LEAF) begin(z, j, 1);
        if (s->count > 1)
            s->of->into(lane(z, phase, j), x, 1);
        else if (phase == 0 && n >= TN_LANES)
            s->of->lanes(z->lane, x, more = n - n % TN_LANES < left ? n - n % TN_LANES : left);
        else
            s->of->into(lane(z, phase, 0), x, more = n < TN_LANES - phase ? n : TN_LANES - phase);
        counted(z, j, 1, more);
        x += more * s->size;
        n -= more;
    }
}

/* The next element of each of results j .. j + n - 1. */
static void into_each(const state *z, int64_t j, const char *x, int64_t n) {
    while (n > 0) {
        int64_t some = 1;
        while (some < n && z->count[j + some] == z->count[j]) some++;
        if (z->count[j] % TN_LEAF == 0) begin(z, j, some);
        z->s->of->into(lane(z, z->count[j] % TN_LANES, j), x, some);
        counted(z, j, some, 1);
        x += some * z->s->size;
        j += some;
        n -= some;
    }
}

/* Likewise, where all have one count, which is the first one's. */
static void into_alike(const state *z, int64_t j, const char *x, int64_t n) {
    const int64_t count = z->count[0];
    if (count % TN_LEAF == 0) begin(z, j, n);
    z->s->of->into(lane(z, count % TN_LANES, j), x, n);
    if ((count + 1) % TN_LEAF == 0) enter(z, j, n, (uint64_t)(count / TN_LEAF));
    if (j + n == z->s->count) z->count[0]++;
}

/* Of arg folds: x replaces the best so far where it is greater (less), or the first that is no number. */
static void best(const state *z, int64_t j, const char *x) {
    const tn_i_s_sum *s = z->s;
    int64_t *count = z->count + j, *so_far = count + s->count, *at = so_far + s->count;
    uint64_t bits = 0;
    memcpy(&bits, x, s->size);
    if (tn_i_l_better(s->fold, s->dtype, *count == 0, (uint64_t)*so_far, bits)) {
        memcpy(so_far, &bits, sizeof bits);
        *at = *count;
    }
    ++*count;
}

void tn_i_s_into(const tn_i_s_state *t, const tn_i_s_op *e) {
    const state z = of(t, e);
    const int64_t j = tn_i_s_sum_of(t, e), n = e->varies ? t->n : 1;
    const char *x = tn_i_s_in(t, e, 0);
    if (!z.s->of)
        for (int64_t i = 0; i < n; i++) best(&z, j + i * e->step, x + i * z.s->size);
    else if (e->step && z.s->alike)
        into_alike(&z, j, x, n);
    else if (e->step)
        into_each(&z, j, x, n);
    else
        into_one(&z, j, x, n);
}

/* ---- results ---- */

/* What elements come to that are no whole leaf: the lanes are needed again. */
static void rest(const state *z, int64_t j, int64_t n, char *out) {
    const tn_i_s_sum *s = z->s;
    _Alignas(64) char x[TN_LANES * AT_ONCE * 8];
    for (int64_t l = 0; l < TN_LANES; l++) memcpy(x + l * n * s->size, lane(z, l, j), (size_t)(n * s->size));
    halve(s, x, n * s->size, n);
    memcpy(out, x, (size_t)(n * s->size));
}

/* Of results with `count` elements each. */
static void total(const state *z, int64_t j, int64_t n, int64_t count, char *out) {
    const tn_i_s_sum *s = z->s;
    _Alignas(64) char x[AT_ONCE * 8], none[TN_LANES * 8];
    const size_t bytes = (size_t)(n * s->size);
    int height = __builtin_popcountll((uint64_t)(count / TN_LEAF));
    if (count == 0) {
        s->of->begin(none);
        tn_i_s_copy(s->size, none, 0, out, n);
        return;
    }
    if (count % TN_LEAF)
        rest(z, j, n, out);
    else
        memcpy(out, entry(z, --height, j), bytes);
    while (height > 0) {
        memcpy(x, entry(z, --height, j), bytes);
        s->of->into(x, out, n);
        memcpy(out, x, bytes);
    }
}

static void where(const state *z, const tn_i_s_op *e, int64_t j, int64_t n, char *out) {
    const int64_t *at = z->count + 2 * z->s->count + j;
    for (int64_t i = 0; i < n; i++) {
        const int64_t x = z->count[j + i] ? at[i] : 0;
        if (e->dtype == TN_I32)
            ((int32_t *)(void *)out)[i] = (int32_t)x;
        else
            ((int64_t *)(void *)out)[i] = x;
    }
}

void tn_i_s_total(const tn_i_s_state *t, const tn_i_s_op *e) {
    const state z = of(t, e);
    int64_t j = tn_i_s_sum_of(t, e), n = e->varies ? t->n : 1;
    char *out = tn_i_s_out(t, e);
    if (!z.s->of) {
        where(&z, e, j, n, out);
        return;
    }
    while (n > 0) {
        const int64_t count = z.count[z.s->alike ? 0 : j];
        int64_t some = 1;
        while (some < n && some < AT_ONCE && (z.s->alike || z.count[j + some] == count)) some++;
        total(&z, j, some, count, out);
        out += some * z.s->size;
        j += some;
        n -= some;
    }
}
