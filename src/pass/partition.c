/* Loops are split where a condition on their number changes, so that in each part it is known: loads of padded arrays
 * need no mask but at the edges (Halide's PartitionLoops).
 *
 * A loop is split where a WITHIN in it counts no other loop; not one that carries, may be left, or is counted in a
 * REDUCE from outside, which the pass for sums looks for in one piece; a short innermost one keeps its masks, unless
 * each part fills a vector. */
#include "base/machine.h"
#include "pass/inside.h"

#include <string.h>

enum { CUTS = 8 };
enum { UNKNOWN, FALSE_, TRUE_ };

typedef struct partition {
    const tn_i_loops *p;
    tn_i_l_copy c;
    uint8_t *known; /* of each bool */
    bool *halved;
    int vector;            /* bytes */
    int64_t *first, *last; /* of each FOR that is one number: which iterations the part has */
} partition;

/* ---- where ---- */

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

/* The first iteration i with by i + at >= bound (by > 0), or with by i + at < bound (by < 0). */
static int64_t crossing(int64_t by, int64_t at, int64_t bound) {
    if (by > 0) return -floor_div(at - bound, by);
    return floor_div(at - bound, -by) + 1;
}

static uint32_t insert(int64_t *at, uint32_t n, int64_t x, int64_t size) {
    uint32_t i = n;
    if (x <= 0 || x >= size || n == CUTS) return n;
    while (i > 0 && at[i - 1] > x) i--;
    if (i > 0 && at[i - 1] == x) return n;
    memmove(at + i + 1, at + i, (n - i) * sizeof *at);
    at[i] = x;
    return n + 1;
}

/* Of a WITHIN that counts loop k alone, and from numbers that can be told apart. */
static bool counts(const tn_i_loops *p, const tn_i_l_op *o, uint32_t k) {
    enum { FAR = 1 << 30 };
    return o->kind == TN_L_WITHIN && o->at.n == 1 && p->term[o->at.first].loop == k && o->at.at > -(int64_t)FAR * FAR &&
           o->at.at < (int64_t)FAR * FAR;
}

static bool bounded(int64_t bound) { return bound > INT64_MIN / 4 && bound < INT64_MAX / 4; }

static uint32_t find_cuts(const tn_i_loops *p, uint32_t k, int64_t n, int64_t *at) {
    uint32_t cuts = 0;
    for (uint32_t i = k + 1; i < p->op[k].to; i++) {
        const tn_i_l_op *o = &p->op[i];
        if (!counts(p, o, k)) continue;
        const int64_t by = p->term[o->at.first].by;
        if (bounded(o->lo)) cuts = insert(at, cuts, crossing(by, o->at.at, o->lo), n);
        if (bounded(o->hi)) cuts = insert(at, cuts, crossing(by, o->at.at, o->hi), n);
    }
    return cuts;
}

static bool splittable(const tn_i_loops *p, uint32_t k, int64_t *n, bool *is_short) {
    const tn_i_l_op *o = &p->op[k];
    const uint8_t behind = o->to + 1 < p->nop ? p->op[o->to + 1].kind : TN_L_END;
    bool inner = true;
    if (!tn_i_l_known_count(p, k, n) || o->vector || o->parallel || *n < 2) return false;
    if (p->op[k + 1].kind == TN_L_CARRY || behind == TN_L_LAST || behind == TN_L_HALVES) return false;
    for (uint32_t i = k + 1; i < o->to; i++) {
        const tn_i_l_op *x = &p->op[i];
        if (x->kind == TN_L_WHILE) return false;
        if (x->kind == TN_L_INTO && x->in[0] < k) return false;
        inner &= x->kind != TN_L_FOR;
    }
    *is_short = inner && *n < TN_M_SHORT_LOOP;
    return true;
}

/* Parts from cut[0] on, up to cut[n]. */
static bool fill_vectors(const partition *z, uint32_t k, const int64_t *cut, uint32_t n) {
    const int lanes = z->vector / tn_i_l_widest(z->p, k + 1, z->p->op[k].to);
    for (uint32_t i = 0; i < n; i++)
        if (cut[i + 1] - cut[i] < lanes) return false;
    return true;
}

/* ---- what is known in a part ---- */

static uint8_t within(const partition *z, const tn_i_l_op *o) {
    if (o->at.n == 0) return o->lo <= o->at.at && (o->at.at < o->hi || o->hi == INT64_MAX) ? TRUE_ : FALSE_;
    const tn_i_l_term *t = z->p->term + o->at.first;
    if (o->at.n != 1 || z->last[t->loop] == 0 || !counts(z->p, o, t->loop)) return UNKNOWN;
    const int64_t a = o->at.at + t->by * z->first[t->loop], b = o->at.at + t->by * (z->last[t->loop] - 1);
    const int64_t least = a < b ? a : b, most = a < b ? b : a;
    if (o->lo <= least && (most < o->hi || o->hi == INT64_MAX)) return TRUE_;
    return (most < o->lo || (least >= o->hi && o->hi != INT64_MAX)) ? FALSE_ : UNKNOWN;
}

static uint8_t both(uint8_t x, uint8_t y) {
    return x == FALSE_ || y == FALSE_ ? FALSE_ : x == TRUE_ && y == TRUE_ ? TRUE_ : UNKNOWN;
}

static void put_known(partition *z, uint32_t k, uint8_t known) {
    z->known[k] = known;
    z->c.value[k] = tn_i_l_number(z->c.b, TN_BOOL, known == TRUE_);
}

/* A float that adds nothing to any other: -0.0. */
static bool is_nothing(const partition *z, uint32_t v) {
    const tn_i_l_op *o = &z->p->op[v];
    if (o->kind != TN_L_NUMBER || !tn_i_is_float(o->dtype)) return false;
    return o->bits == (o->dtype == TN_F64 ? UINT64_C(1) << 63 : UINT64_C(1) << 31);
}

/* Operation k, which may be less than it was; false: nothing is known of it. */
static bool copy_less(partition *z, uint32_t k) {
    const tn_i_l_op *o = &z->p->op[k];
    uint32_t *value = z->c.value;
    if (z->halved[k]) return false;
    const uint8_t mask =
        (o->kind == TN_L_LOAD || o->kind == TN_L_STORE) && o->in[1] != TN_L_NONE ? z->known[o->in[1]] : UNKNOWN;
    if (o->kind == TN_L_WITHIN) {
        const uint8_t known = within(z, o);
        if (known) put_known(z, k, known);
        return known != UNKNOWN;
    }
    if (o->kind == TN_L_NUMBER && o->dtype == TN_BOOL) {
        put_known(z, k, o->bits & 1 ? TRUE_ : FALSE_);
        return true;
    }
    if (o->kind == TN_L_MAP && o->code == TN_L_convert && z->known[o->in[0]]) {
        value[k] = tn_i_l_number_f64(z->c.b, o->dtype, z->known[o->in[0]] == TRUE_);
        return true;
    }
    if (o->kind == TN_L_MAP && o->code == TN_L_and && o->dtype == TN_BOOL) {
        const uint8_t x = z->known[o->in[0]], y = z->known[o->in[1]];
        const uint8_t known = both(x, y);
        if (known)
            put_known(z, k, known);
        else if (x == TRUE_ || y == TRUE_)
            value[k] = value[o->in[x == TRUE_]];
        return known || x == TRUE_ || y == TRUE_;
    }
    if (o->kind == TN_L_MAP && o->code == TN_L_add && (is_nothing(z, o->in[0]) || is_nothing(z, o->in[1]))) {
        value[k] = value[o->in[is_nothing(z, o->in[0])]];
        return true;
    }
    if (o->kind == TN_L_MAP && o->code == TN_L_select && z->known[o->in[0]]) {
        value[k] = value[o->in[z->known[o->in[0]] == TRUE_ ? 1 : 2]];
        return true;
    }
    if (mask == FALSE_) {
        if (o->kind == TN_L_LOAD) value[k] = value[o->in[2]];
        return true;
    }
    if (mask != TRUE_) return false;
    tn_i_l_where at = {.array = o->which, .e = tn_i_l_copy_affine(&z->c, &o->at)};
    at.indexed = o->in[0] != TN_L_NONE;
    if (at.indexed) at.index = value[o->in[0]], at.by = o->lo, at.last = o->hi;
    if (o->kind == TN_L_LOAD)
        value[k] = tn_i_l_load(z->c.b, &at);
    else
        tn_i_l_store_like(z->c.b, o, &at, value[o->in[2]]);
    return true;
}

/* ---- parts ---- */

static void copy_range(partition *z, uint32_t first, uint32_t last);

/* Iterations first .. last - 1 of loop k. */
static void copy_part(partition *z, uint32_t k, int64_t first, int64_t last) {
    const bool one = last - first == 1;
    tn_i_affine i = tn_i_affine_number(first);
    if (!one) i = tn_i_affine_term(z->c.b, i, tn_i_l_for_n(z->c.b, last - first), 1);
    tn_i_l_copy_loop(&z->c, k, i);
    z->first[k] = first;
    z->last[k] = last;
    copy_range(z, k + 1, z->p->op[k].to);
    z->last[k] = 0;
    if (!one) tn_i_l_close(z->c.b);
}

static bool copy_parts(partition *z, uint32_t k) {
    int64_t n, cut[CUTS + 2];
    bool is_short;
    if (z->c.b->failed || z->c.b->p->nop > TN_M_PARTITION_OPERATIONS || !splittable(z->p, k, &n, &is_short))
        return false;
    const uint32_t cuts = find_cuts(z->p, k, n, cut + 1);
    if (cuts == 0) return false;
    cut[0] = 0;
    cut[cuts + 1] = n;
    if (is_short && !fill_vectors(z, k, cut, cuts + 1)) return false;
    for (uint32_t i = 0; i <= cuts; i++) copy_part(z, k, cut[i], cut[i + 1]);
    return true;
}

static void copy_range(partition *z, uint32_t first, uint32_t last) {
    for (uint32_t k = first; k < last && !z->c.b->failed; k++) {
        z->known[k] = UNKNOWN;
        if (z->p->op[k].kind == TN_L_FOR && copy_parts(z, k))
            k = z->p->op[k].to;
        else if (!copy_less(z, k))
            tn_i_l_copy_op(&z->c, k);
    }
}

tn_i_loops *tn_i_pass_partition(tn_i_loops *p, const tn_i_machine *m) {
    tn_i_l_builder b;
    partition z = {.p = p, .vector = m->vector};
    tn_i_l_begin(&b, p->ctx);
    if (p->nop) {
        z.known = tn_i_alloc_array(p->ctx, p->nop, 1);
        z.first = tn_i_alloc_array(p->ctx, p->nop, 2 * sizeof *z.first);
        if (!z.known || !z.first) b.failed = true;
    }
    if (!(z.halved = tn_i_l_halved(p))) b.failed = true;
    if (!b.failed) z.last = z.first + p->nop;
    if (tn_i_l_copy_begin(&z.c, &b, p)) copy_range(&z, 0, p->nop);
    tn_i_l_copy_end(&z.c);
    tn_i_l_halved_drop(p, z.halved);
    if (z.known) tn_i_free(p->ctx, z.known, p->nop);
    if (z.first) tn_i_free(p->ctx, z.first, p->nop * 2 * sizeof *z.first);
    tn_i_l_free(p);
    return tn_i_l_end(&b);
}
