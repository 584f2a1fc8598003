#include "loop/places.h"

bool tn_i_l_place_of(const tn_i_loops *p, const tn_i_l_op *o, tn_i_l_place *z) {
    const tn_i_l_array *a = &p->array[o->which];
    const tn_i_affine e = tn_i_l_affine_of(p, &o->at);
    *z = (tn_i_l_place){.index = o->in[0], .size = (int64_t)tn_i_dtype_size(a->dtype)};
    z->e.n = e.n;
    if (!tn_i_mul_i64(e.at, z->size, &z->e.at) || !tn_i_add_i64(z->e.at, a->at, &z->e.at)) return false;
    for (uint32_t i = 0; i < e.n; i++) {
        z->e.term[i].loop = e.term[i].loop;
        if (!tn_i_mul_i64(e.term[i].by, z->size, &z->e.term[i].by)) return false;
    }
    z->by = o->lo * z->size;
    z->last = o->hi;
    return true;
}

int64_t tn_i_l_term_by(const tn_i_affine *e, uint32_t loop) {
    for (uint32_t i = 0; i < e->n; i++)
        if (e->term[i].loop == loop) return e->term[i].by;
    return 0;
}

/* Those of loop k and, with `inside`, of loops behind it may be others. */
static bool same_but(const tn_i_affine *x, const tn_i_affine *y, uint32_t k, bool inside) {
    for (int turn = 0; turn < 2; turn++) {
        const tn_i_affine *a = turn ? y : x, *b = turn ? x : y;
        for (uint32_t i = 0; i < a->n; i++) {
            const uint32_t loop = a->term[i].loop;
            if (loop != k && !(inside && loop > k) && tn_i_l_term_by(b, loop) != a->term[i].by) return false;
        }
    }
    return true;
}

bool tn_i_l_same_terms(const tn_i_affine *x, const tn_i_affine *y, uint32_t k) { return same_but(x, y, k, false); }
bool tn_i_l_same_around(const tn_i_affine *x, const tn_i_affine *y, uint32_t k) { return same_but(x, y, k, true); }

static int64_t divisor(int64_t x, int64_t y) {
    while (y) {
        const int64_t rest = x % y;
        x = y;
        y = rest;
    }
    return x;
}

int64_t tn_i_l_step_of(uint32_t k, const tn_i_l_place *z, int64_t step) {
    for (uint32_t i = 0; i < z->e.n; i++)
        if (z->e.term[i].loop >= k) step = divisor(tn_i_l_magnitude(z->e.term[i].by), step);
    return z->index == TN_L_NONE ? step : divisor(tn_i_l_magnitude(z->by), step);
}

bool tn_i_l_never_meet(const tn_i_loops *p, uint32_t k, const tn_i_l_op *a, const tn_i_l_op *b) {
    tn_i_l_place x, y;
    if (!tn_i_l_overlap(p, a->which, b->which)) return true;
    if (!tn_i_l_place_of(p, a, &x) || !tn_i_l_place_of(p, b, &y) || x.size != y.size) return false;
    if (!tn_i_l_same_around(&x.e, &y.e, k)) return false;
    const int64_t step = tn_i_l_step_of(k, &x, tn_i_l_step_of(k, &y, 0)), far = y.e.at - x.e.at;
    return step && step % x.size == 0 && far % x.size == 0 && far % step != 0;
}
