/* Kernels that scan along an axis (prims/folds/lanes.h) as loops: over the lanes, and in each of them from element to
 * element with what the ones before have come to as a carry.  As the kernels do, strictly in order, sums, products and
 * recurrences of floats in f64; the first element is no step. */
#include "lower/nest_i.h"

#include "plan/planner.h"
#include "prims/folds/lanes.h"

typedef struct scan {
    tn_i_l_builder *b;
    const tn_prim *prim;
    int dtype, wide; /* of elements, and of what is carried */
    tn_i_lower_side x, factor, y;
    int axis;
    bool reverse;
} scan;

static tn_i_affine at_lane(const scan *z, const tn_i_lower_side *s, const tn_type *t, const uint32_t *loop) {
    tn_i_affine e = s->e;
    for (int d = 0; d < t->rank; d++)
        if (loop[d] != TN_L_NONE && s->stride[d]) e = tn_i_affine_term(z->b, e, loop[d], s->stride[d]);
    return e;
}

/* Element `step` along the axis of the lane at e, or the one that is `step` steps behind loop's. */
static tn_i_affine along(const scan *z, const tn_i_lower_side *s, tn_i_affine e, int64_t n, uint32_t loop,
                         int64_t step) {
    const int64_t by = s->stride[z->axis], place = z->reverse ? n - 1 - step : step;
    e = tn_i_affine_add(z->b, e, 1, tn_i_affine_number(place * by));
    return loop == TN_L_NONE || !by ? e : tn_i_affine_term(z->b, e, loop, z->reverse ? -by : by);
}

static uint32_t load(const scan *z, const tn_i_lower_side *s, tn_i_affine e) {
    const uint32_t x = tn_i_l_load_at(z->b, s->array, e);
    return z->wide == z->dtype ? x : tn_i_l_convert(z->b, z->wide, x);
}

static void store(const scan *z, tn_i_affine e, uint32_t y) {
    tn_i_l_store_at(z->b, z->y.array, e, z->wide == z->dtype ? y : tn_i_l_convert(z->b, z->dtype, y));
}

/* What the first element makes: x, and in sums 0 + x. */
static uint32_t begin(const scan *z, uint32_t x) {
    if (z->prim->scan != TN_FOLD_SUM || !tn_i_is_float(z->wide)) return x;
    return tn_i_l_map(z->b, TN_L_add, tn_i_l_number(z->b, z->wide, 0), x, TN_L_NONE);
}

static void lane(const scan *z, const tn_type *t, const uint32_t *loop) {
    tn_i_l_builder *b = z->b;
    const bool recurs = z->prim->scan == TN_SCAN_RECURRENCE;
    const int64_t n = t->dim[z->axis];
    const tn_i_affine x = at_lane(z, &z->x, t, loop), y = at_lane(z, &z->y, t, loop),
                      a = recurs ? at_lane(z, &z->factor, t, loop) : x;
    const uint32_t first = begin(z, load(z, &z->x, along(z, &z->x, x, n, TN_L_NONE, 0)));
    store(z, along(z, &z->y, y, n, TN_L_NONE, 0), first);
    if (n < 2) return;
    const uint32_t step = tn_i_l_for_n(b, n - 1), was = tn_i_l_carry(b, first);
    const uint32_t now = load(z, &z->x, along(z, &z->x, x, n, step, 1));
    const uint32_t made =
        recurs ? tn_i_l_map(b, TN_L_fma, load(z, &z->factor, along(z, &z->factor, a, n, step, 1)), was, now)
               : tn_i_l_map(b, tn_i_l_fold_code(z->prim->scan, z->wide), was, now, TN_L_NONE);
    store(z, along(z, &z->y, y, n, step, 1), made);
    tn_i_l_next(b, was, made);
    tn_i_l_close(b);
}

void tn_i_lower_scan(const tn_i_lower_part *w, const tn_i_step *s) {
    const tn_i_plan *p = w->p;
    const tn_i_eqn *e = &p->f->eqn[s->eqn];
    const tn_i_var *in = tn_i_in(p->f, e);
    const tn_type *t = p->f->val[e->out].type;
    uint32_t loop[TN_MAX_RANK], open = 0;
    scan z = {.b = w->b, .prim = e->prim, .dtype = t->dtype, .wide = t->dtype};
    const bool recurs = e->prim->scan == TN_SCAN_RECURRENCE,
               ordered = e->prim->scan == TN_FOLD_MAX || e->prim->scan == TN_FOLD_MIN;
    if (tn_i_count(t) == 0) return;
    if (t->dtype == TN_F32 && !ordered) z.wide = TN_F64;
    z.axis = (int)tn_i_p(e)[TN_SCAN_AXIS].u.i;
    z.reverse = tn_i_p(e)[TN_SCAN_REVERSE].u.i != 0;
    z.x = tn_i_lower_side_of(w, t, &p->place[in[recurs]], false);
    if (recurs) z.factor = tn_i_lower_side_of(w, t, &p->place[in[0]], false);
    z.y = tn_i_lower_side_of(w, t, &p->place[e->out], true);
    for (int d = 0; d < t->rank; d++) {
        loop[d] = d != z.axis && t->dim[d] > 1 ? tn_i_l_for_n(w->b, t->dim[d]) : TN_L_NONE;
        open += loop[d] != TN_L_NONE;
    }
    if (!w->b->failed) lane(&z, t, loop);
    while (open-- > 0) tn_i_l_close(w->b);
}
