/* A primitive of a dtype that is computed with as another one is that of a wide dtype, which holds all of its results,
 * with these wrapped or rounded: by C's casts, and by looking for the nearest of all floats of 16 bits. */
#include "laws/derive.h"
#include "laws/table.h"

#include "prims/ids.h"

#include <math.h>

static int wide_of(int dtype) { return tn_i_is_half(dtype) ? TN_F32 : tn_i_is_short(dtype) ? TN_I64 : dtype; }

/* What looks at bits that the dtype has not, or at its ends; tests/unit/dtypes.c has these, and u64. */
static bool is_told_elsewhere(const laws_trial *t) {
    static const int ids[] = {TN_P_shift_right_logical,
                              TN_P_shift_right_arithmetic,
                              TN_P_population_count,
                              TN_P_clz,
                              TN_P_bitcast_convert_type,
                              TN_P_random_bits,
                              TN_P_constant,
                              TN_P_gather};
    bool told = t->prim->fold == TN_FOLD_MAX || t->prim->fold == TN_FOLD_MIN; /* of nothing */
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        told |= t->prim->id == ids[i] && !(ids[i] == TN_P_gather && tn_i_is_half(t->dtype));
    if (t->prim->id == TN_P_convert_element_type) {
        const int from = t->dtype, to = (int)t->c->p[0].u.i;
        told |= from == TN_U64 || to == TN_U64 || (tn_i_is_float(from) && !tn_i_is_float(to));
    }
    return told || t->f->depth > 1 || t->prim->flags & TN_F_LOOP || t->prim->body;
}

static tn_type as(const tn_type *t, bool wide) {
    tn_type w = *t;
    if (wide) w.dtype = wide_of(w.dtype);
    return w;
}

static const tn_fn *program(laws_trial *t, bool wide) {
    const tn_i_case *c = t->c;
    tn_i_builder b;
    tn_i_param p[TN_MAX_PARAMS];
    tn_i_var in[TN_CASE_MAX];
    tn_i_builder_init(&b, t->ctx);
    b.raw = true;
    for (uint32_t k = 0; k < TN_MAX_PARAMS; k++) {
        p[k] = c->p[k];
        if (wide && p[k].kind == TN_K_DTYPE) p[k].u.i = wide_of((int)p[k].u.i);
    }
    for (uint32_t i = 0; i < c->nin; i++) {
        const tn_type type = as(&c->in[i], wide);
        in[i] = tn_i_input(&b, &type, false);
    }
    const tn_i_var first = tn_i_emit(&b, t->prim, p, c->nin, in);
    tn_i_var out[2 * TN_CASE_MAX];
    const uint32_t n = t->f->eqn[0].nout < TN_CASE_MAX ? t->f->eqn[0].nout : TN_CASE_MAX;
    for (uint32_t j = 0; j < n; j++) out[j] = first + j;
    /* what it is before memory, which has no room for more bits, has seen it */
    for (uint32_t j = 0; j < n; j++) out[n + j] = tn_i_convert(&b, out[j], wide_of(tn_i_vtype(&b, out[j])->dtype));
    return laws_made(t, tn_i_finish(&b, 2 * n, out), wide ? "in a wide dtype" : "as it is");
}

/* The bits of the nearest half: the neighbours of x are found by halving, the one with an even last bit where they are
 * as near.  Beyond the largest stands what the next one would be. */
static uint64_t nearest(int dtype, double x) {
    const uint16_t infinite = (uint16_t)tn_i_extreme_bits(dtype, true), sign = signbit(x) ? 0x8000 : 0;
    uint16_t low = 0, high = infinite;
    if (isinf(x)) return sign | infinite;
    while (high - low > 1) {
        const uint16_t middle = (uint16_t)((low + high) / 2);
        if (tn_i_of_half(dtype, middle) <= fabs(x))
            low = middle;
        else
            high = middle;
    }
    const double below = tn_i_of_half(dtype, low);
    const double above =
        high == infinite ? 2 * below - tn_i_of_half(dtype, (uint16_t)(low - 1)) : tn_i_of_half(dtype, high);
    const double down = fabs(x) - below, up = above - fabs(x);
    return (uint64_t)sign | (up < down || (up == down && low % 2) ? high : low);
}

static uint64_t wanted(int dtype, const laws_array *z, int64_t k) {
    const int64_t whole = z->type.dtype == TN_I64 ? ((const int64_t *)z->data)[k] : 0;
    switch (dtype) {
    case TN_I8: return (uint8_t)(int8_t)(uint8_t)(uint64_t)whole;
    case TN_U8: return (uint8_t)(uint64_t)whole;
    case TN_I16: return (uint16_t)(int16_t)(uint16_t)(uint64_t)whole;
    case TN_U16: return (uint16_t)(uint64_t)whole;
    default: return nearest(dtype, laws_get(z, k));
    }
}

static void same(laws_trial *t, uint32_t j, const laws_array *y, const laws_array *z) {
    const int dtype = y->type.dtype;
    if (wide_of(dtype) == dtype) {
        (void)laws_same_bits(t, "a result", y, z, 1);
        return;
    }
    for (int64_t k = 0; k < laws_count(y) && !t->failed; k++) {
        const char *at = (const char *)y->data + k * (int64_t)tn_i_dtype_size(dtype);
        if (tn_i_is_half(dtype) && isnan(laws_get(z, k)) && isnan(laws_get(y, k))) continue;
        if (tn_i_bits_at(dtype, at) != wanted(dtype, z, k))
            laws_fail(t, "result %u, element %lld: %g, and %g in the wide dtype", (unsigned)j, (long long)k,
                      laws_get(y, k), laws_get(z, k));
    }
}

/* So that results leave the dtype's values. */
static void any_bits(tn_i_rng *r, laws_array *x) {
    unsigned char *at = x->data;
    for (size_t i = 0; i < laws_bytes(x); i++) at[i] = (unsigned char)tn_i_pick(r, 0, 255);
}

void laws_held(laws_trial *t) {
    if (!t->f->held || wide_of(t->dtype) == t->dtype || t->f->eqn[0].nout == 0 || is_told_elsewhere(t)) return;
    const tn_fn *f = program(t, false), *g = f ? program(t, true) : NULL;
    if (!g) return;
    laws_array *x = laws_alloc(t->memory, f->nin + 1u, sizeof *x);
    laws_array *y = laws_alloc(t->memory, f->nout + 1u, sizeof *y), *z = laws_alloc(t->memory, f->nout + 1u, sizeof *z);
    laws_array *own = laws_alloc(t->memory, f->nin + 1u, sizeof *own);
    for (uint32_t i = 0; i < f->nin; i++) {
        x[i] = laws_new(t->memory, g->val[i].type);
        own[i] = laws_copy(t->memory, &t->x[i]);
        if (tn_i_is_short(own[i].type.dtype) && tn_i_pick(&t->rng, 0, 1)) any_bits(&t->rng, &own[i]);
        for (int64_t k = 0; k < laws_count(&x[i]); k++) laws_put(&x[i], k, laws_get(&own[i], k));
    }
    t->shown = f;
    if (!laws_run_as_written(t, f, own, y) || !laws_run_as_written(t, g, x, z)) return;
    const uint32_t n = f->nout / 2;
    for (uint32_t j = 0; j < n && !t->failed; j++) {
        same(t, j, &y[j], &z[j]);
        for (int64_t k = 0; k < laws_count(&y[j]) && !t->failed; k++) {
            const double stored = laws_get(&y[j], k), seen = laws_get(&y[n + j], k);
            if (stored != seen && !(isnan(stored) && isnan(seen)))
                laws_fail(t, "result %u, element %lld: %g, and %g for who reads it", (unsigned)j, (long long)k, stored,
                          seen);
        }
    }
}
