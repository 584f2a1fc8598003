/* Which iterations do not depend on each other. */
#include "loop/places.h"
#include "pass/inside.h"

#include <string.h>

uint32_t *tn_i_l_around(const tn_i_loops *p) {
    uint32_t *around = p->nop ? tn_i_alloc_array(p->ctx, p->nop, sizeof *around) : NULL, open = TN_L_NONE;
    for (uint32_t k = 0; around && k < p->nop; k++) {
        const tn_i_l_op *o = &p->op[k];
        if (o->kind == TN_L_END || o->kind == TN_L_ELSE) open = around[open];
        around[k] = open;
        if (o->kind == TN_L_FOR || o->kind == TN_L_IF || o->kind == TN_L_ELSE) open = k;
    }
    return around;
}

void tn_i_l_around_drop(const tn_i_loops *p, uint32_t *around) {
    if (around) tn_i_free(p->ctx, around, p->nop * sizeof *around);
}

bool *tn_i_l_halved(const tn_i_loops *p) {
    bool *is = tn_i_alloc_array(p->ctx, (size_t)p->nop + 1, sizeof *is);
    for (uint32_t k = 0; is && k < p->nop; k++)
        if (p->op[k].kind == TN_L_HALVES) is[p->op[k].in[0]] = true;
    return is;
}

void tn_i_l_halved_drop(const tn_i_loops *p, bool *is) {
    if (is) tn_i_free(p->ctx, is, ((size_t)p->nop + 1) * sizeof *is);
}

bool tn_i_l_straight(const tn_i_loops *p, uint32_t first, uint32_t last) {
    for (uint32_t k = first; k < last; k++) {
        const uint8_t kind = p->op[k].kind;
        if (kind > TN_L_LOAD && kind != TN_L_STORE) return false;
    }
    return true;
}

/* No other one of the loop feeds or asks the reduction of INTO or TOTAL k. */
static bool alone(const tn_i_loops *p, uint32_t first, uint32_t last, uint32_t k) {
    for (uint32_t i = first; i < last; i++)
        if (i != k && (p->op[i].kind == TN_L_INTO || p->op[i].kind == TN_L_TOTAL) && p->op[i].in[0] == p->op[k].in[0])
            return false;
    return true;
}

bool tn_i_l_reduces(const tn_i_loops *p, uint32_t k) {
    const uint32_t to = p->op[k].to;
    for (uint32_t i = k + 1; i < to; i++) {
        const tn_i_l_op *o = &p->op[i];
        if (o->kind != TN_L_INTO && o->kind != TN_L_TOTAL) {
            if (!tn_i_l_straight(p, i, i + 1)) return false;
            continue;
        }
        const int64_t by = tn_i_l_by(p, &o->at, k);
        if ((by != 0 && by != 1) || !alone(p, k + 1, to, i)) return false;
    }
    return true;
}

bool tn_i_l_calls(const tn_i_loops *p, uint32_t first, uint32_t last) {
    for (uint32_t k = first; k < last; k++)
        if (p->op[k].kind == TN_L_MAP && p->op[k].code == TN_L_fn) return true;
    return false;
}

int tn_i_l_widest(const tn_i_loops *p, uint32_t first, uint32_t last) {
    int widest = 1;
    for (uint32_t k = first; k < last; k++) {
        const tn_i_l_op *o = &p->op[k];
        if (o->kind != TN_L_MAP && o->kind != TN_L_LOAD && o->kind != TN_L_STORE && o->kind != TN_L_INDEX) continue;
        const int dtype = o->kind == TN_L_STORE ? p->array[o->which].dtype : o->dtype;
        const int size = (int)tn_i_dtype_size(dtype);
        if (size > widest) widest = size;
    }
    return widest;
}

/* ---- memory ---- */

bool tn_i_l_same_place(const tn_i_loops *p, const tn_i_l_op *x, const tn_i_l_op *y) {
    const tn_i_l_array *a = &p->array[x->which], *b = &p->array[y->which];
    tn_i_l_place s, t;
    return a->base == b->base && a->data == b->data && a->dtype == b->dtype && tn_i_l_place_of(p, x, &s) &&
           tn_i_l_place_of(p, y, &t) && s.index == t.index && s.by == t.by && s.last == t.last && s.e.at == t.e.at &&
           tn_i_l_same_terms(&s.e, &t.e, TN_L_NONE);
}

/* The store, and another access, of n iterations of loop k: no iteration touches what another one stores. */
static bool apart(const tn_i_loops *p, uint32_t k, int64_t n, const tn_i_l_op *store, const tn_i_l_op *other) {
    tn_i_l_place s, x;
    if (!tn_i_l_overlap(p, store->which, other->which)) return true;
    if (!tn_i_l_place_of(p, store, &s) || !tn_i_l_place_of(p, other, &x) || s.size != x.size) return false;
    if (s.index != x.index || (s.index != TN_L_NONE && (s.index > k || s.by != x.by || s.last != x.last))) return false;
    const int64_t by = tn_i_l_term_by(&s.e, k);
    if (by == 0 || by != tn_i_l_term_by(&x.e, k) || !tn_i_l_same_terms(&s.e, &x.e, k)) return false;
    const int64_t far = x.e.at - s.e.at;
    if (far % s.size) return false;
    return far == 0 || far % by || far / by >= n || far / by <= -n;
}

enum { OPERATIONS = 64 };

/* Value v changes in loop k, as is seen from so many operations. */
static bool moves(const tn_i_loops *p, uint32_t k, uint32_t v, int *fuel) {
    if (v == TN_L_NONE || v < k || --*fuel < 0) return false;
    const tn_i_l_op *o = &p->op[v];
    if (o->at.n && tn_i_l_by(p, &o->at, k)) return true;
    for (int i = 0; i < 3; i++)
        if (o->kind == TN_L_MAP || o->kind == TN_L_LOAD)
            if (moves(p, k, o->in[i], fuel)) return true;
    return false;
}

/* Updates in the order of iterations, to places of which some may be the same. */
static bool updates_in_order(const tn_i_loops *p, uint32_t k, const tn_i_l_op *o) {
    int fuel = OPERATIONS;
    return o->update && (tn_i_l_by(p, &o->at, k) || moves(p, k, o->in[0], &fuel));
}

static bool stores_apart(const tn_i_loops *p, uint32_t k, int64_t n, bool in_order) {
    for (uint32_t i = k + 1; i < p->op[k].to; i++) {
        const tn_i_l_op *s = &p->op[i];
        if (s->kind != TN_L_STORE) continue;
        for (uint32_t j = k + 1; j < p->op[k].to; j++) {
            const tn_i_l_op *x = &p->op[j];
            if (x->kind != TN_L_STORE && x->kind != TN_L_LOAD) continue;
            if (x == s && in_order && updates_in_order(p, k, s)) continue;
            if (tn_i_l_never_meet(p, k, s, x)) continue;
            if ((x != s && s->update && tn_i_l_overlap(p, s->which, x->which)) || !apart(p, k, n, s, x)) return false;
        }
    }
    return true;
}

bool tn_i_l_independent(const tn_i_loops *p, uint32_t k) {
    int64_t n;
    return tn_i_l_known_count(p, k, &n) && stores_apart(p, k, n, false);
}

bool tn_i_l_vectorizable(const tn_i_loops *p, uint32_t k) {
    int64_t n;
    return tn_i_l_known_count(p, k, &n) && stores_apart(p, k, n, true);
}

/* ---- whole iterations ---- */

static bool reach(int64_t by, int64_t last, int64_t *lo, int64_t *hi) {
    int64_t far;
    if (last < 0) last = 0;
    return tn_i_mul_i64(by, last, &far) && tn_i_add_i64(*(far < 0 ? lo : hi), far, far < 0 ? lo : hi);
}

/* The bytes [lo, hi) from its base that an access in loop k touches in iteration 0 of it and of all loops around;
 * false: not known. */
static bool span(const tn_i_loops *p, uint32_t k, const tn_i_l_place *z, int64_t *lo, int64_t *hi) {
    *lo = *hi = z->e.at;
    for (uint32_t i = 0; i < z->e.n; i++) {
        const uint32_t loop = z->e.term[i].loop;
        int64_t n = p->op[loop].hi;
        if (loop < k) continue;
        (void)tn_i_l_known_count(p, loop, &n);
        if (n == INT64_MAX || (loop != k && !reach(z->e.term[i].by, n - 1, lo, hi))) return false;
    }
    return (z->index == TN_L_NONE || reach(z->by, z->last, lo, hi)) && tn_i_add_i64(*hi, z->size, hi);
}

/* No iteration of loop k touches what another one stores: each has a stretch of memory of its own, or they take turns.
 */
static bool wholes_apart(const tn_i_loops *p, uint32_t k, int64_t n, const tn_i_l_op *store, const tn_i_l_op *other) {
    tn_i_l_place s, x;
    int64_t from[2], to[2], width, taken;
    if (!tn_i_l_overlap(p, store->which, other->which)) return true;
    if (!tn_i_l_place_of(p, store, &s) || !tn_i_l_place_of(p, other, &x) || !tn_i_l_same_around(&s.e, &x.e, k))
        return false;
    const int64_t by = tn_i_l_term_by(&s.e, k), step = tn_i_l_step_of(k + 1, &x, tn_i_l_step_of(k + 1, &s, 0));
    if (by == 0 || by != tn_i_l_term_by(&x.e, k) || !span(p, k, &s, &from[0], &to[0]) ||
        !span(p, k, &x, &from[1], &to[1]))
        return false;
    const int64_t lo = from[from[1] < from[0]], hi = to[to[1] > to[0]];
    if (tn_i_add_i64(hi, -lo, &width) && width <= tn_i_l_magnitude(by)) return true;
    return step && s.size == x.size && tn_i_l_magnitude(by) >= s.size && (x.e.at - s.e.at) % step == 0 &&
           tn_i_mul_i64(tn_i_l_magnitude(by), n, &taken) && taken <= step;
}

bool tn_i_l_apart(const tn_i_loops *p, uint32_t k, int64_t n, const bool *except) {
    for (uint32_t i = k + 1; i < p->op[k].to; i++) {
        const tn_i_l_op *s = &p->op[i];
        if (s->kind != TN_L_STORE || (except && except[s->which])) continue;
        for (uint32_t j = k + 1; j < p->op[k].to; j++) {
            const tn_i_l_op *x = &p->op[j];
            if ((x->kind == TN_L_STORE || x->kind == TN_L_LOAD) && !(except && except[x->which]) &&
                !wholes_apart(p, k, n, s, x))
                return false;
        }
    }
    return true;
}

bool tn_i_l_find_own(const tn_i_loops *p, uint32_t k, bool *own) {
    bool any = false;
    memset(own, 0, p->narray * sizeof *own);
    for (uint32_t i = k + 1; i < p->op[k].to; i++) {
        const tn_i_l_op *o = &p->op[i];
        if (o->kind != TN_L_STORE || tn_i_l_by(p, &o->at, k)) continue;
        if (p->array[o->which].role != TN_L_SCRATCH) return false;
        own[o->which] = any = true;
    }
    for (uint32_t i = 0; any && i < p->nop; i++) {
        const tn_i_l_op *o = &p->op[i];
        const bool inside = i > k && i < p->op[k].to;
        if ((o->kind == TN_L_LOAD || o->kind == TN_L_STORE) && own[o->which] && (!inside || tn_i_l_by(p, &o->at, k)))
            return false;
    }
    return true;
}

/* ---- integers that count loops ---------------------------------------------------------------------------- */

enum { FAR = 1 << 28 };

bool tn_i_l_near(const tn_i_loops *p, const tn_i_affine *e) {
    if (e->at <= -FAR || e->at >= FAR) return false;
    for (uint32_t i = 0; i < e->n; i++) {
        int64_t n;
        if (!tn_i_l_known_count(p, e->term[i].loop, &n) || n >= FAR || e->term[i].by > FAR / (n + 1) ||
            e->term[i].by < -FAR / (n + 1))
            return false;
    }
    return true;
}

bool tn_i_l_affine_value(tn_i_l_builder *b, const tn_i_loops *p, uint32_t v, int depth, tn_i_affine *e) {
    const tn_i_l_op *o = &p->op[v];
    tn_i_affine y;
    if (depth == 0 || (o->dtype != TN_I32 && o->dtype != TN_I64)) return false;
    if (o->kind == TN_L_NUMBER) {
        *e = tn_i_affine_number(o->dtype == TN_I32 ? (int32_t)o->bits : (int64_t)o->bits);
        return tn_i_l_near(p, e);
    }
    if (o->kind == TN_L_INDEX) {
        *e = tn_i_l_affine_of(p, &o->at);
        return e->n <= 2 && tn_i_l_near(p, e);
    }
    if (o->kind != TN_L_MAP || (o->code != TN_L_add && o->code != TN_L_sub)) return false;
    if (!tn_i_l_affine_value(b, p, o->in[0], depth - 1, e) || !tn_i_l_affine_value(b, p, o->in[1], depth - 1, &y) ||
        e->n + y.n > 4)
        return false;
    *e = tn_i_affine_add(b, *e, o->code == TN_L_add ? 1 : -1, y);
    return tn_i_l_near(p, e);
}
