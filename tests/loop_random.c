#include "loop_random.h"
#include "loop/inside.h"
#include "prims/ids.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VALUES = 256, STATEMENTS = 60, WORK = 20000, ARRAYS = 32 };

typedef struct known_value {
    uint32_t id;
    uint8_t dtype, depth;
} known_value;

typedef struct known_loop {
    uint32_t id;
    int64_t most; /* iterations, at most */
} known_loop;

typedef struct maker {
    tn_i_l_builder b;
    tn_i_rng *r;
    unsigned what;
    known_value value[VALUES];
    uint32_t nvalue;
    known_loop loop[8];
    uint32_t nloop, depth;
    int64_t work; /* how often the innermost block runs, at most */
    int left;     /* statements */
    uint32_t kernel;
    /* in a vector or parallel loop: what is stored, at which address alone; else TN_L_NONE */
    uint32_t target;
    tn_i_affine place;
    bool vector;
    uint32_t outside;     /* in a parallel loop: values before this one are not seen */
    bool quiet;           /* nothing is stored for now */
    uint32_t mask, index; /* in a loop that asks the same bool, at the same index, in each iteration; else TN_L_NONE */
} maker;

static int64_t pick(maker *m, int64_t lo, int64_t hi) { return tn_i_pick(m->r, lo, hi); }
static bool chance(maker *m, int n) { return pick(m, 1, n) == 1; }

/* ---- values ---- */

static uint32_t know(maker *m, uint32_t id) {
    if (m->b.failed) return id;
    if (m->nvalue == VALUES) memmove(m->value, m->value + 1, --m->nvalue * sizeof *m->value);
    m->value[m->nvalue++] = (known_value){id, m->b.p->op[id].dtype, (uint8_t)m->depth};
    return id;
}

static uint64_t any_bits(maker *m, int dtype) {
    static const double special[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1e-310, 1e300, 1, -1, 0.5};
    double d = chance(m, 6) ? special[pick(m, 0, 9)] : tn_i_uniform(m->r, -2, 2);
    float f = (float)d;
    uint64_t bits = 0;
    switch (dtype) {
    case TN_F64: memcpy(&bits, &d, sizeof d); break;
    case TN_F32: memcpy(&bits, &f, sizeof f); break;
    case TN_BOOL: bits = (uint64_t)pick(m, 0, 1); break;
    default: bits = chance(m, 8) ? tn_i_random(m->r) : (uint64_t)pick(m, -5, 40); break;
    }
    return dtype == TN_I32 || dtype == TN_U32 ? (uint32_t)bits : bits;
}

/* A value of the dtype: the last ones most often. */
static uint32_t some(maker *m, int dtype) {
    uint32_t found[VALUES], n = 0;
    for (uint32_t i = m->nvalue; i-- > 0;)
        if (m->value[i].dtype == dtype && m->value[i].id >= m->outside) found[n++] = m->value[i].id;
    if (n == 0 || chance(m, 12)) return know(m, tn_i_l_number(&m->b, dtype, any_bits(m, dtype)));
    return found[pick(m, 0, chance(m, 2) ? n - 1 : n < 4 ? n - 1 : 3)];
}

static int any_dtype(maker *m) {
    static const uint8_t dtypes[] = {TN_F64, TN_F64, TN_F64, TN_F32, TN_I64, TN_I32, TN_U32, TN_BOOL};
    return dtypes[pick(m, 0, 7)];
}

/* ---- addresses ---- */

/* An affine expression with values in [0, room). */
static tn_i_affine inside(maker *m, int64_t room) {
    tn_i_affine e = {0};
    int64_t top = 0;
    for (uint32_t i = m->nloop; i-- > 0;) {
        if (m->loop[i].most < 1 || chance(m, 4)) continue;
        const int64_t span = m->loop[i].most - 1, by = chance(m, 3) ? pick(m, 1, 3) : 1;
        if (top + by * span >= room) continue;
        top += by * span;
        const bool backwards = chance(m, 5);
        e = tn_i_affine_term(&m->b, e, m->loop[i].id, backwards ? -by : by);
        if (backwards) e.at += by * span;
    }
    e.at += pick(m, 0, room - 1 - top);
    return e;
}

static uint32_t array_of(maker *m, int dtype, bool written) {
    const tn_i_loops *p = m->b.p;
    uint32_t found[ARRAYS], n = 0;
    for (uint32_t i = 0; i < p->narray && n < ARRAYS; i++) {
        const tn_i_l_array *a = &p->array[i];
        if (tn_i_holder(a->dtype) != dtype || a->count == 0) continue;
        if (written && (a->role == TN_L_IN || a->role == TN_L_CONST)) continue;
        if (m->target != TN_L_NONE && (written ? i != m->target : tn_i_l_overlap(p, i, m->target))) continue;
        found[n++] = i;
    }
    return n ? found[pick(m, 0, n - 1)] : TN_L_NONE;
}

static tn_i_l_where where(maker *m, uint32_t array) {
    tn_i_l_where w = {.array = array};
    const int64_t n = m->b.p->array[array].count;
    if (chance(m, 5)) {
        w.indexed = true;
        w.index = m->index != TN_L_NONE && chance(m, 2) ? m->index : some(m, chance(m, 2) ? TN_I64 : TN_I32);
        w.last = pick(m, 0, n - 1);
        w.by = chance(m, 3) || w.last == 0 ? 1 : pick(m, 1, (n - 1) / w.last);
        if (w.by * w.last >= n) w.by = 1;
        w.e = inside(m, n - w.by * w.last);
        if (chance(m, 3)) {
            w.e.at += w.by * w.last;
            w.by = -w.by;
        }
    } else
        w.e = inside(m, n);
    if (chance(m, m->mask != TN_L_NONE ? 2 : 5)) {
        w.masked = true;
        w.mask = m->mask != TN_L_NONE && !chance(m, 4) ? m->mask : some(m, TN_BOOL);
        w.otherwise = some(m, tn_i_holder(m->b.p->array[array].dtype));
    }
    return w;
}

/* A load outside of the array but where a condition says that it is not: as operands in a box are read. */
static void boxed_load(maker *m, uint32_t array) {
    const known_loop *l = m->nloop ? &m->loop[pick(m, 0, m->nloop - 1)] : NULL;
    const int64_t n = m->b.p->array[array].count, from = pick(m, -3, 3);
    tn_i_l_where w = {.array = array, .e = tn_i_affine_number(from < 0 ? from : n + from), .masked = true};
    if (l) w.e = tn_i_affine_loop(l->id, 1, from);
    w.mask = know(m, tn_i_l_within(&m->b, 0, w.e, n));
    w.otherwise = some(m, tn_i_holder(m->b.p->array[array].dtype));
    know(m, tn_i_l_load(&m->b, &w));
}

/* ---- statements ---- */

/* Which NaN it is nobody says. */
static uint32_t no_nan(maker *m, int dtype, uint32_t x) {
    if (!tn_i_is_float(dtype)) return x;
    const uint32_t p = tn_i_l_map(&m->b, TN_L_eq, x, x, TN_L_NONE);
    return tn_i_l_map(&m->b, TN_L_select, p, x, tn_i_l_number(&m->b, dtype, 0));
}

static void operation(maker *m) {
    const int code = (int)pick(m, 0, TN_L_fn - 1), dtype = any_dtype(m);
    const tn_i_l_row *row = &tn_i_l_rows[code];
    if (!(row->dtypes >> dtype & 1)) return;
    if (code == TN_L_convert) {
        const uint32_t x = some(m, dtype);
        const int to = any_dtype(m);
        if (to == TN_U32 ? tn_i_is_float(dtype) : dtype == TN_U32 && tn_i_is_float(to)) return;
        know(m, tn_i_l_convert(&m->b, to, x));
        return;
    }
    if (code == TN_L_bits) {
        static const uint8_t other[] = {
            [TN_I32] = TN_F32, [TN_I64] = TN_F64, [TN_F32] = TN_I32, [TN_F64] = TN_I64, [TN_U32] = TN_F32};
        know(m, tn_i_l_bits(&m->b, other[dtype], no_nan(m, dtype, some(m, dtype))));
        return;
    }
    if (code == TN_L_rem && tn_i_is_float(dtype) && !(m->what & LOOP_FUNCTIONS)) return;
    const uint32_t x = some(m, code == TN_L_select ? TN_BOOL : dtype), y = some(m, dtype), z = some(m, dtype);
    know(m, tn_i_l_map(&m->b, (tn_i_l_code)code, code == TN_L_signbit ? no_nan(m, dtype, x) : x, y, z));
}

static void function(maker *m) {
    static const int prims[] = {TN_P_exp, TN_P_tanh, TN_P_sin, TN_P_log1p, TN_P_lgamma, TN_P_logistic, TN_P_atan2};
    const int prim = prims[pick(m, 0, 6)], dtype = chance(m, 3) ? TN_F32 : TN_F64;
    for (int64_t n = chance(m, 8) ? pick(m, 2, 9) : 1; n > 0; n--) { /* one of another, too */
        const uint32_t in[2] = {some(m, dtype), some(m, dtype)};
        know(m, tn_i_l_fn(&m->b, dtype, prim, 0, (uint32_t)m->b.ctx->prims[prim]->nin, in));
    }
}

static void read(maker *m) {
    const uint32_t a = array_of(m, any_dtype(m), false);
    if (a == TN_L_NONE) return;
    if (chance(m, 4)) {
        boxed_load(m, a);
        return;
    }
    const tn_i_l_where w = where(m, a);
    know(m, tn_i_l_load(&m->b, &w));
}

static bool updates(const maker *m, uint32_t array) {
    const int dtype = m->b.p->array[array].dtype;
    return dtype != TN_BOOL && !tn_i_is_held(dtype);
}

static void update(maker *m, const tn_i_l_where *w) {
    static const tn_i_l_code codes[] = {TN_L_add, TN_L_mul, TN_L_max, TN_L_min};
    tn_i_l_update(&m->b, w, codes[pick(m, 0, 3)], some(m, m->b.p->array[w->array].dtype));
}

/* Columns of rows of which each is found often. */
static void update_rows(maker *m, tn_i_l_where *w) {
    const int64_t count = m->b.p->array[m->target].count, width = pick(m, 2, 3);
    w->by = width;
    if (w->last >= count / width) w->last = count / width - 1;
    for (int64_t c = 0; c < width; c++) {
        w->e = tn_i_affine_number(c);
        update(m, w);
    }
}

/* In a vector loop, of an array that nothing else touches: a place for each iteration, or few for all of them. */
static void update_target(maker *m, uint32_t loop, int64_t n) {
    const int64_t count = m->b.p->array[m->target].count;
    tn_i_l_where w = {.array = m->target, .e = m->place, .masked = chance(m, 3)};
    if (w.masked) w.mask = some(m, TN_BOOL);
    if (chance(m, 2)) { /* of 0 .. 5, each often */
        const int dtype = chance(m, 2) ? TN_I32 : TN_I64;
        const uint32_t i = tn_i_l_index(&m->b, dtype, tn_i_affine_loop(loop, pick(m, 1, 7), pick(m, -9, 9)));
        const int64_t most = count - 1 < 5 ? count - 1 : 5;
        w.indexed = true;
        w.index = tn_i_l_map(&m->b, TN_L_and, i, tn_i_l_number(&m->b, dtype, 7), TN_L_NONE);
        w.last = pick(m, 0, most);
        if (count >= 3 && chance(m, 2)) {
            update_rows(m, &w);
            return;
        }
        w.by = w.last && chance(m, 3) ? most / w.last : 1;
        w.e = tn_i_affine_number(pick(m, 0, count - 1 - w.by * w.last));
    } else if (count > n && m->place.term[0].by > 0) {
        w.indexed = true;
        w.index = some(m, TN_I64);
        w.last = pick(m, 0, count - n);
        w.by = 1;
    }
    update(m, &w);
}

static void write(maker *m) {
    if (m->quiet) return;
    if (m->target != TN_L_NONE) {
        tn_i_l_where w = {.array = m->target, .e = m->place, .masked = chance(m, 4)};
        if (w.masked) w.mask = some(m, TN_BOOL);
        tn_i_l_store(&m->b, &w, some(m, tn_i_holder(m->b.p->array[m->target].dtype)));
        return;
    }
    const uint32_t a = array_of(m, any_dtype(m), true);
    if (a == TN_L_NONE) return;
    const tn_i_l_where w = where(m, a);
    if (updates(m, a) && chance(m, 4))
        update(m, &w);
    else
        tn_i_l_store(&m->b, &w, some(m, tn_i_holder(m->b.p->array[a].dtype)));
}

static void call(maker *m) {
    const uint32_t from = array_of(m, TN_F64, false), to = array_of(m, TN_F64, true);
    if (from == TN_L_NONE || to == TN_L_NONE || tn_i_l_overlap(m->b.p, from, to)) return;
    const int64_t n = m->b.p->array[from].count, k = m->b.p->array[to].count, both = pick(m, 0, n < k ? n : k);
    const tn_i_affine x = inside(m, n - both + 1), y = inside(m, k - both + 1);
    const bool all = chance(m, 3); /* what was there does not count */
    tn_i_l_call(&m->b, m->kernel);
    tn_i_l_call_array(&m->b, TN_L_READ, from, x, both);
    tn_i_l_call_array(&m->b, all ? TN_L_WRITE : TN_L_UPDATE, to, y, both);
    tn_i_l_call_integer(&m->b, tn_i_affine_number(both));
    tn_i_l_call_integer(&m->b, inside(m, 1000));
    tn_i_l_call_integer(&m->b, tn_i_affine_number(all));
}

/* ---- blocks ---- */

static void block(maker *m, int n);

static void leave(maker *m) {
    m->depth--;
    while (m->nvalue > 0 && m->value[m->nvalue - 1].depth > m->depth) m->nvalue--;
}

static int64_t size(maker *m) {
    static const int64_t sizes[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33, 65};
    for (;;) {
        const int64_t n = chance(m, 30) && m->work == 1 ? 1300 : sizes[pick(m, chance(m, 10) ? 0 : 1, 12)];
        if (n * m->work <= WORK) return n;
    }
}

static uint32_t open_loop(maker *m, int64_t n) {
    uint32_t k;
    const known_loop *outer = m->nloop ? &m->loop[m->nloop - 1] : NULL;
    if (outer && outer->most > 1 && !m->vector && chance(m, 4)) /* the last one is shorter */
        k = tn_i_l_for_up_to(&m->b, n, tn_i_affine_loop(outer->id, -n, n * outer->most - n / 2), TN_L_NONE);
    else if (m->outside == 0 && !m->vector && chance(m, 6))
        k = tn_i_l_for_up_to(&m->b, n, tn_i_affine_number(pick(m, -1, 2)), some(m, TN_I64));
    else
        k = tn_i_l_for_n(&m->b, n);
    m->loop[m->nloop++] = (known_loop){k, n};
    m->depth++;
    if (chance(m, 6)) tn_i_l_set_unroll(&m->b, k, (int)pick(m, 1, 4));
    return k;
}

static void close_loop(maker *m) {
    tn_i_l_close(&m->b);
    m->nloop--;
    leave(m);
}

static void plain_loop(maker *m) {
    const int64_t n = size(m), work = m->work;
    (void)open_loop(m, n);
    m->work *= n ? n : 1;
    block(m, 5);
    m->work = work;
    close_loop(m);
}

static void uniform_loop(maker *m) {
    const int64_t n = size(m), work = m->work;
    m->mask = some(m, TN_BOOL);
    m->index = some(m, chance(m, 2) ? TN_I64 : TN_I32);
    (void)open_loop(m, n);
    m->work *= n ? n : 1;
    for (int64_t k = pick(m, 1, 6); k > 0 && !m->b.failed; k--) {
        const int64_t kind = pick(m, 0, 3);
        (kind == 0 ? operation : kind == 1 ? read : write)(m);
    }
    m->mask = m->index = TN_L_NONE;
    m->work = work;
    close_loop(m);
}

/* A loop with carries; sometimes it is left, or has no count. */
static void carrying_loop(maker *m) {
    const int64_t n = size(m), work = m->work;
    uint32_t carry[3], next[3];
    const int ncarry = (int)pick(m, 1, 3);
    const bool open = chance(m, 4) && !m->vector;
    uint32_t first[3];
    for (int i = 0; i < ncarry; i++) first[i] = some(m, any_dtype(m));
    if (open) {
        m->loop[m->nloop++] = (known_loop){tn_i_l_for_ever(&m->b), 0};
        m->depth++;
    } else
        (void)open_loop(m, n);
    m->work *= n ? n : 1;
    for (int i = 0; i < ncarry; i++) carry[i] = know(m, tn_i_l_carry(&m->b, first[i]));
    if (open || (chance(m, 4) && !m->vector)) {
        if (chance(m, 3)) block(m, 2);
        uint32_t go = tn_i_l_within(&m->b, INT64_MIN, tn_i_affine_loop(m->loop[m->nloop - 1].id, 1, 0), n);
        const uint32_t too = chance(m, 2) ? some(m, TN_BOOL) : TN_L_NONE;
        if (too != TN_L_NONE) go = tn_i_l_map(&m->b, TN_L_and, know(m, go), too, TN_L_NONE);
        tn_i_l_while(&m->b, go);
    }
    block(m, 4);
    for (int i = 0; i < ncarry && !m->b.failed; i++) next[i] = some(m, m->b.p->op[carry[i]].dtype);
    for (int i = 0; i < ncarry && !m->b.failed; i++) tn_i_l_next(&m->b, carry[i], next[i]);
    m->work = work;
    close_loop(m);
    for (int i = 0; i < ncarry; i++)
        if (chance(m, 2)) know(m, tn_i_l_last(&m->b, carry[i]));
}

/* Whose iterations do not depend on each other: they store one array, each where no other does and nobody loads. */
static void independent_loop(maker *m, bool vector) {
    const int64_t n = size(m), work = m->work;
    const uint32_t array = array_of(m, any_dtype(m), true), outside = m->outside;
    const bool halves = vector && n >= 2 && n <= 64 && (n & (n - 1)) == 0;
    if (array == TN_L_NONE || m->b.p->array[array].count < n || n == 0) return;
    uint32_t k;
    if (halves || !vector) {
        k = tn_i_l_for_n(&m->b, n);
        m->loop[m->nloop++] = (known_loop){k, n};
        m->depth++;
    } else
        k = open_loop(m, n);
    if (vector)
        tn_i_l_set_vector(&m->b, k, 1 << pick(m, 1, 4));
    else {
        tn_i_l_set_parallel(&m->b, k);
        m->outside = k + 1;
    }
    m->target = array;
    m->place = chance(m, 3) ? tn_i_affine_loop(k, -1, m->b.p->array[array].count - 1) : tn_i_affine_loop(k, 1, 0);
    m->vector = vector;
    m->work *= n;
    m->quiet = vector && updates(m, array) && chance(m, 3);
    block(m, 6);
    if (m->quiet)
        update_target(m, k, n);
    else
        write(m);
    m->quiet = false;
    const uint32_t x = some(m, TN_F64);
    m->work = work;
    m->target = TN_L_NONE;
    m->vector = false;
    m->outside = outside;
    close_loop(m);
    if (halves && !m->b.failed && x > k) {
        /* only what stands in the loop itself */
        bool direct = true;
        for (uint32_t i = k + 1, d = 0; i <= x; i++) {
            const uint8_t kind = m->b.p->op[i].kind;
            d += kind == TN_L_FOR || kind == TN_L_IF;
            if (i == x) direct = d == 0;
            d -= kind == TN_L_END;
        }
        if (direct) know(m, tn_i_l_halves(&m->b, (int)pick(m, TN_FOLD_SUM, TN_FOLD_MIN), x));
    }
}

static void branch(maker *m) {
    uint32_t p = some(m, TN_BOOL), x, y;
    if (m->nloop && chance(m, 2)) {
        const known_loop *l = &m->loop[pick(m, 0, m->nloop - 1)];
        const int64_t from = pick(m, -1, 3), to = pick(m, 2, 20);
        p = know(m, tn_i_l_within(&m->b, from, tn_i_affine_loop(l->id, 1, 0), to));
    }
    const int dtype = any_dtype(m);
    const uint32_t outer = some(m, dtype);
    tn_i_l_if(&m->b, p);
    m->depth++;
    block(m, 3);
    x = m->b.failed ? outer : know(m, tn_i_l_number(&m->b, dtype, any_bits(m, dtype)));
    leave(m);
    y = outer;
    if (chance(m, 2)) {
        tn_i_l_else(&m->b);
        m->depth++;
        block(m, 3);
        const uint32_t q = some(m, TN_BOOL), one = some(m, dtype), other = some(m, dtype);
        y = know(m, tn_i_l_map(&m->b, TN_L_select, q, one, other));
        leave(m);
    }
    tn_i_l_close(&m->b);
    know(m, tn_i_l_join(&m->b, x, y));
}

/* Loops whose elements go into sums: of numbers of several kinds, one or a row of them. */
static void reduction(maker *m) {
    const int dtype = any_dtype(m), fold = (int)pick(m, dtype == TN_BOOL ? TN_FOLD_MAX : TN_FOLD_SUM, TN_FOLD_ARGMIN);
    const int64_t count = chance(m, 2) ? 1 : pick(m, 2, 9), work = m->work;
    const uint32_t r = tn_i_l_reduce(&m->b, fold, dtype, count);
    const int loops = (int)pick(m, 1, 2);
    int opened = 0;
    for (; opened < loops && m->nloop < 6; opened++) {
        const int64_t n = size(m);
        (void)open_loop(m, n);
        m->work *= n ? n : 1;
    }
    block(m, 3);
    const uint32_t x = some(m, dtype);
    tn_i_l_into(&m->b, r, inside(m, count), x);
    while (opened-- > 0) close_loop(m);
    m->work = work;
    const int index = chance(m, 2) ? TN_I64 : TN_I32;
    know(m, tn_i_l_total(&m->b, r, inside(m, count), index));
}

static void statement(maker *m) {
    const int64_t kind = pick(m, 0, 19);
    const bool room = m->depth < 5 && m->nloop < 5 && m->left > 4;
    m->left--;
    if (kind < 8)
        operation(m);
    else if (kind < 11)
        read(m);
    else if (kind < 13)
        write(m);
    else if (kind == 13) {
        const int dtype = any_dtype(m);
        if (dtype != TN_BOOL) know(m, tn_i_l_index(&m->b, dtype, inside(m, 1000)));
    } else if (kind == 14 && m->what & LOOP_FUNCTIONS)
        function(m);
    else if (kind == 15 && m->what & LOOP_CALLS && !m->vector && m->target == TN_L_NONE)
        call(m);
    else if (kind == 16 && room && m->what & LOOP_BRANCHES && !m->vector)
        branch(m);
    else if (kind == 17 && room && m->what & LOOP_REDUCTIONS && !m->vector && m->target == TN_L_NONE)
        reduction(m);
    else if (kind == 18 && room && m->what & LOOP_CARRIES)
        carrying_loop(m);
    else if (room && m->target == TN_L_NONE && m->what & LOOP_VECTORS && chance(m, 3))
        independent_loop(m, true);
    else if (room && m->target == TN_L_NONE && m->depth == 0 && m->what & LOOP_PARALLEL && chance(m, 3))
        independent_loop(m, false);
    else if (room)
        (chance(m, 2) ? uniform_loop : plain_loop)(m);
}

static void block(maker *m, int n) {
    for (int64_t k = pick(m, 0, n); k > 0 && !m->b.failed; k--) statement(m);
}

/* ---- the program ---- */

static tn_status rotate(const void *data, const tn_i_l_run *run, char *const *at, const int64_t *number) {
    const int64_t n = number[0];
    (void)data, (void)run;
    for (int64_t i = 0; i < n; i++) {
        double x, y;
        memcpy(&x, at[0] + (i + number[1]) % n * 8, sizeof x);
        memcpy(&y, at[1] + i * 8, sizeof y);
        y = y > x && !number[2] ? y : x;
        memcpy(at[1] + i * 8, &y, sizeof y);
    }
    return TN_OK;
}

const tn_i_l_kernel loop_random_kernel = {"rotate", rotate, NULL};

static void arrays(maker *m) {
    static const int64_t counts[] = {1, 3, 8, 17, 40, 70, 200};
    static const uint16_t halves[3] = {0x3c00, 0x8001, 0x7bff};
    double numbers[5];
    uint32_t base = 0;
    for (int dtype = 0; dtype < TN_NDTYPES; dtype++) {
        (void)tn_i_l_array_new(&m->b, "x", dtype, TN_L_IN, counts[pick(m, 0, 6)], base++, 0, 0);
        const int64_t n = counts[pick(m, 1, 6)], more = pick(m, 0, 2);
        const int role = chance(m, 4) ? TN_L_TEMP : TN_L_INOUT;
        (void)tn_i_l_array_new(&m->b, "y", dtype, role, n, base, more * (int64_t)tn_i_dtype_size(dtype), 0);
        if (chance(m, 3)) /* a part of it */
            (void)tn_i_l_array_new(&m->b, "part", dtype, TN_L_INOUT, n / 2 + 1, base, 0, 0);
        base++;
    }
    for (int i = 0; i < 5; i++) numbers[i] = tn_i_uniform(m->r, -2, 2);
    (void)tn_i_l_const(&m->b, "c", TN_F64, 5, numbers, true);
    (void)tn_i_l_const(&m->b, "h", TN_F16, 3, halves, true);
    tn_i_l_arena(&m->b, base, 0);
    const uint32_t t = tn_i_l_scratch(&m->b, "t", TN_F64, counts[pick(m, 0, 6)], 0);
    if (m->b.failed) return;
    const uint32_t i = tn_i_l_for_n(&m->b, m->b.p->array[t].count);
    tn_i_l_store_at(&m->b, t, tn_i_affine_loop(i, 1, 0), tn_i_l_index(&m->b, TN_F64, tn_i_affine_loop(i, 3, -7)));
    tn_i_l_close(&m->b);
}

tn_i_loops *loop_random(tn_ctx *c, tn_i_rng *r, unsigned what) {
    maker *m = calloc(1, sizeof *m);
    if (!m) return NULL;
    m->r = r;
    m->what = what;
    m->work = 1;
    m->left = STATEMENTS;
    m->target = m->mask = m->index = TN_L_NONE;
    tn_i_l_begin(&m->b, c);
    arrays(m);
    m->kernel = tn_i_l_kernel_new(&m->b, loop_random_kernel.name, loop_random_kernel.run, NULL);
    while (m->left > 0 && !m->b.failed) statement(m);
    tn_i_loops *p = tn_i_l_end(&m->b);
    free(m);
    return p;
}

/* ---- memory ---- */

static void fill(maker *m, const tn_i_l_array *a, char *at) {
    for (int64_t i = 0; i < a->count; i++) {
        const bool half = tn_i_is_half(a->dtype) && chance(m, 4);
        const uint64_t bits = half ? tn_i_random(m->r) : any_bits(m, tn_i_holder(a->dtype));
        if (half)
            memcpy(at + (size_t)i * 2, &bits, 2);
        else
            tn_i_l_put(a->dtype, at, i, bits);
    }
}

static bool reserve(loop_memory *m, uint32_t n) {
    *m =
        (loop_memory){.n = n, .base = calloc(n ? n : 1, sizeof *m->base), .bytes = calloc(n ? n : 1, sizeof *m->bytes)};
    if (m->base && m->bytes) return true;
    loop_memory_free(m);
    return false;
}

static bool obtain(loop_memory *m) {
    for (uint32_t i = 0; i < m->n; i++) {
        m->bytes[i] = (m->bytes[i] + 64) / 64 * 64;
        if (!(m->base[i] = aligned_alloc(64, m->bytes[i]))) return false;
        memset(m->base[i], 0, m->bytes[i]);
    }
    return true;
}

bool loop_memory_new(loop_memory *m, const tn_i_loops *p, tn_i_rng *r) {
    maker z = {.r = r};
    if (!reserve(m, p->nbase)) return false;
    for (uint32_t i = 0; i < p->narray; i++) {
        const tn_i_l_array *a = &p->array[i];
        if (a->role == TN_L_CONST) continue;
        const size_t end = (size_t)a->at + (size_t)a->count * tn_i_dtype_size(a->dtype);
        if (end > m->bytes[a->base]) m->bytes[a->base] = end;
    }
    if (p->arena != TN_L_NONE) m->bytes[p->arena] = (size_t)p->bytes;
    if (!obtain(m)) return false;
    for (uint32_t i = 0; i < p->narray; i++) {
        const tn_i_l_array *a = &p->array[i];
        if (a->role == TN_L_IN || a->role == TN_L_INOUT || a->role == TN_L_TEMP) fill(&z, a, m->base[a->base] + a->at);
    }
    return true;
}

bool loop_memory_like(loop_memory *m, const loop_memory *other) {
    if (!reserve(m, other->n)) return false;
    memcpy(m->bytes, other->bytes, m->n * sizeof *m->bytes);
    for (uint32_t i = 0; i < m->n; i++) {
        if (!(m->base[i] = aligned_alloc(64, m->bytes[i]))) return false;
        memcpy(m->base[i], other->base[i], m->bytes[i]);
    }
    return true;
}

void loop_memory_free(loop_memory *m) {
    for (uint32_t i = 0; m->base && i < m->n; i++) free(m->base[i]);
    free(m->base);
    free(m->bytes);
    *m = (loop_memory){0};
}

static bool alike(int dtype, const char *a, const char *b) {
    if (memcmp(a, b, tn_i_dtype_size(dtype)) == 0) return true;
    return tn_i_is_float(dtype) && isnan(tn_i_element(dtype, a)) && isnan(tn_i_element(dtype, b));
}

bool loop_memory_same(const tn_i_loops *p, const loop_memory *a, const loop_memory *b, uint32_t *array, int64_t *at) {
    for (uint32_t i = 0; i < p->narray; i++) {
        const tn_i_l_array *x = &p->array[i];
        if (x->role != TN_L_OUT && x->role != TN_L_INOUT) continue;
        const size_t size = tn_i_dtype_size(x->dtype);
        for (int64_t k = 0; k < x->count; k++) {
            const size_t to = (size_t)x->at + (size_t)k * size;
            if (alike(x->dtype, a->base[x->base] + to, b->base[x->base] + to)) continue;
            *array = i;
            *at = k;
            return false;
        }
    }
    return true;
}
