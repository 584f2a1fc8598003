/* Memory of nests: arrays, boxes, lookups, and elements that are other numbers than the rest of their rows. */
#include "lower/nest_i.h"
#include "plan/plan.h"

#include <stdio.h>

/* ---- arrays ---------------------------------------------------------------------------------------- */

static bool extent(const tn_i_nest *n, const tn_i_nest_array *a, int64_t *lo, int64_t *hi) {
    *lo = *hi = 0;
    for (uint32_t l = 0; l < n->nloop; l++) {
        const int64_t first = a->boxed ? a->lo[l] : 0, last = (a->boxed ? a->hi[l] : n->size[l]) - 1;
        int64_t x, y;
        if (last < first) return false;
        if (!tn_i_mul_i64(first, a->stride[l], &x) || !tn_i_mul_i64(last, a->stride[l], &y)) return false;
        if (!tn_i_add_i64(*lo, x < y ? x : y, lo) || !tn_i_add_i64(*hi, x < y ? y : x, hi)) return false;
    }
    return true;
}

static void extents(tn_i_lowering *w) {
    const tn_i_nest *n = w->n;
    for (uint32_t i = 0; i < n->narray; i++) {
        tn_i_lower_extent *x = &w->extent[i];
        *x = (tn_i_lower_extent){0};
        x->none = !extent(n, &n->array[i], &x->lo, &x->hi);
    }
    for (uint32_t i = 0; i < n->nop; i++) {
        const tn_i_nest_op *o = &n->op[i];
        if (o->kind == TN_NEST_STORE) w->extent[o->array].stored = true;
        if (o->kind != TN_NEST_LOOKUP) continue;
        tn_i_lower_extent *x = &w->extent[o->array];
        int64_t lo, hi;
        const int64_t far = o->by * o->first;
        if (!extent(n, &n->array[o->array], &lo, &hi)) continue;
        if (far < 0 && lo + far < x->lo) x->lo = lo + far;
        if (far > 0 && hi + far > x->hi) x->hi = hi + far;
    }
}

static uint32_t alignment(const tn_i_nest_array *a, const tn_i_lower_place *q, int64_t at) {
    uint32_t align = (uint32_t)tn_i_dtype_size(a->dtype);
    while (q->base == TN_BASE_ARENA && q->n == 0 && align < 64 && (q->at + at) % (2 * align) == 0) align *= 2;
    return align;
}

static void add_array(tn_i_lowering *w, uint32_t i) {
    const tn_i_nest *n = w->n;
    const tn_i_nest_array *a = &n->array[i];
    const int64_t size = (int64_t)tn_i_dtype_size(a->dtype);
    const tn_i_lower_extent *x = &w->extent[i];
    char name[24];
    w->array[i] = TN_L_NONE;
    if (x->none) return; /* all of it lies outside of its box */
    const int64_t at = a->at + x->lo * size;
    const tn_i_lower_place q = tn_i_lower_entry(w->frame, a->base);
    (void)snprintf(name, sizeof name, a->arg < n->nin ? "in%u" : "out%u",
                   (unsigned)(a->arg < n->nin ? a->arg : a->arg - n->nin));
    w->array[i] = tn_i_lower_array(w->b, &q, name, a->dtype, x->stored ? TN_L_OUT : TN_L_IN, x->hi - x->lo + 1, at,
                                   alignment(a, &q, at));
}

bool tn_i_lower_arrays(tn_i_lowering *w) {
    extents(w);
    for (uint32_t i = 0; i < w->n->narray; i++) add_array(w, i);
    return !w->b->failed;
}

tn_i_affine tn_i_lower_address(tn_i_lowering *w, const tn_i_nest_array *a, uint32_t array, uint32_t mask) {
    const tn_i_lower_place q = tn_i_lower_entry(w->frame, a->base);
    tn_i_affine e = tn_i_lower_first(w->b, &q, a->dtype);
    e.at -= w->extent[array].lo;
    for (uint32_t l = 0; l < w->n->nloop; l++)
        if (a->stride[l] && mask >> l & 1) e = tn_i_affine_add(w->b, e, a->stride[l], w->index[l]);
    return e;
}

/* ---- loads ------------------------------------------------------------------------------------------ */

static uint32_t two(tn_i_l_builder *b, tn_i_l_code code, uint32_t x, uint32_t y) {
    return tn_i_l_map(b, code, x, y, TN_L_NONE);
}

static uint32_t inside(tn_i_lowering *w, const tn_i_nest_array *a) {
    uint32_t mask = TN_L_NONE;
    for (uint32_t l = 0; l < w->n->nloop; l++) {
        if (a->lo[l] <= 0 && a->hi[l] >= w->n->size[l]) continue;
        const int64_t lo = a->lo[l] <= 0 ? INT64_MIN : a->lo[l], hi = a->hi[l] >= w->n->size[l] ? INT64_MAX : a->hi[l];
        const uint32_t p = tn_i_l_within(w->b, lo, w->index[l], hi);
        mask = mask == TN_L_NONE ? p : two(w->b, TN_L_and, mask, p);
    }
    return mask;
}

/* Loops that are not open move no such load. */
static uint32_t open_loops(const tn_i_nest *n, const tn_i_nest_op *o) {
    const uint32_t all = (1u << n->nloop) - 1;
    return o->level == TN_NEST_ELEMENT ? all : o->level == TN_NEST_ROW ? (1u << n->nouter) - 1 : 0;
}

uint32_t tn_i_lower_load(tn_i_lowering *w, const tn_i_nest_op *o) {
    const tn_i_nest_array *a = &w->n->array[o->array];
    const uint32_t otherwise = a->boxed ? w->value[o->nin ? o->in[0] : a->fill] : TN_L_NONE;
    if (w->array[o->array] == TN_L_NONE) return otherwise;
    const tn_i_affine e = tn_i_lower_address(w, a, o->array, open_loops(w->n, o));
    const uint32_t array = w->array[o->array], mask = a->boxed ? inside(w, a) : TN_L_NONE;
    if (mask == TN_L_NONE) return tn_i_l_load_at(w->b, array, e);
    return tn_i_l_load(w->b,
                       &(tn_i_l_where){.array = array, .e = e, .masked = true, .mask = mask, .otherwise = otherwise});
}

uint32_t tn_i_lower_is_index(tn_i_l_builder *b, uint32_t x, int64_t last) {
    if (b->failed) return TN_L_NONE;
    if (b->p->op[x].dtype == TN_I32) /* without a sign, one comparison says both */
        return two(b, TN_L_le, tn_i_l_convert(b, TN_U32, x),
                   tn_i_l_number(b, TN_U32, last > INT32_MAX ? INT32_MAX : (uint32_t)last));
    return two(b, TN_L_and, two(b, TN_L_ge, x, tn_i_l_number(b, TN_I64, 0)),
               two(b, TN_L_le, x, tn_i_l_number(b, TN_I64, (uint64_t)last)));
}

uint32_t tn_i_lower_lookup(tn_i_lowering *w, const tn_i_nest_op *o) {
    const uint32_t index = w->value[o->in[0]];
    tn_i_l_where at = {.array = w->array[o->array],
                       .e = tn_i_lower_address(w, &w->n->array[o->array], o->array, open_loops(w->n, o)),
                       .indexed = true,
                       .index = index,
                       .by = o->by,
                       .last = o->first,
                       .masked = o->fills};
    if (o->fills) {
        at.mask = tn_i_lower_is_index(w->b, index, o->first);
        at.otherwise = tn_i_l_number(w->b, o->dtype, o->bits);
    }
    return tn_i_l_load(w->b, &at);
}

/* ---- hot elements ------------------------------------------------------------------------------------------- */

static void put_hot(tn_i_lowering *w, const tn_i_nest_one_hot *s) {
    const tn_i_nest *n = w->n;
    const uint32_t last = n->nloop - 1, rows = (1u << last) - 1;
    const tn_i_nest_array *to = &n->array[s->store];
    for (uint32_t l = 0; l < last; l++) w->index[l] = tn_i_affine_loop(tn_i_l_for_n(w->b, n->size[l]), 1, 0);
    const uint32_t column =
        tn_i_l_load_at(w->b, w->array[s->column], tn_i_lower_address(w, &n->array[s->column], s->column, rows));
    const uint32_t value =
        tn_i_l_load_at(w->b, w->array[s->value], tn_i_lower_address(w, &n->array[s->value], s->value, rows));
    const tn_i_l_where at = {.array = w->array[s->store],
                             .e = tn_i_lower_address(w, to, s->store, rows),
                             .indexed = true,
                             .index = column,
                             .by = to->stride[last],
                             .last = n->size[last] - 1,
                             .masked = true,
                             .mask = tn_i_lower_is_index(w->b, column, n->size[last] - 1)};
    tn_i_l_store(w->b, &at, value);
    for (uint32_t l = 0; l < last; l++) tn_i_l_close(w->b);
}

void tn_i_lower_one_hot(tn_i_lowering *w) {
    for (uint32_t i = 0; i < w->n->nhot; i++) put_hot(w, &w->n->hot[i]);
}
