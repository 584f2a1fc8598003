#include "laws/generator.h"

#include "laws/case.h"
#include "laws/derive.h"
#include "laws/generator_i.h"
#include "laws/laws.h"
#include "prims/ids.h"
#include "prims/sample.h"

#include <math.h>
#include <string.h>

static int64_t pick(laws_gen *g, int64_t lo, int64_t hi) { return tn_i_pick(g->r, lo, hi); }
static bool chance(laws_gen *g, int64_t of) { return pick(g, 1, of) == 1; }
static const tn_type *type_of(const laws_gen *g, tn_i_var v) { return tn_i_vtype(&g->b, v); }

void laws_gen_keep(laws_gen *g, tn_i_var v) {
    if (v == TN_NOVAR || g->b.failed) return;
    const bool real = tn_i_is_float(type_of(g, v)->dtype);
    tn_i_var *pool = real ? g->real : g->whole;
    uint32_t *n = real ? &g->nreal : &g->nwhole;
    if (*n < LAWS_POOL)
        pool[(*n)++] = v;
    else
        pool[pick(g, 0, LAWS_POOL - 1)] = v;
}

/* Later values more often than earlier ones, so that programs are deep. */
tn_i_var laws_gen_real(laws_gen *g) {
    const int64_t a = pick(g, 0, g->nreal - 1), b = pick(g, 0, g->nreal - 1);
    return g->real[a > b ? a : b];
}

/* ---- fitting a value to an operand ------------------------------------------------------ */

static tn_i_var slice_flat(laws_gen *g, tn_i_var v, int64_t from, int64_t n) {
    const int64_t to = from + n;
    const tn_i_param p[3] = {
        {.kind = TN_K_INTS, .n = 1, .u.ints = &from}, {.kind = TN_K_INTS, .n = 1, .u.ints = &to}, {.kind = TN_K_NONE}};
    return tn_i_emit(&g->b, tn_i_prim(&g->b, TN_P_slice), p, 1, &v);
}

tn_i_var laws_gen_fit(laws_gen *g, tn_i_var v, const tn_type *want) {
    const int64_t have = tn_i_count(type_of(g, v)), need = tn_i_count(want);
    if (type_of(g, v)->rank == want->rank && memcmp(type_of(g, v)->dim, want->dim, sizeof want->dim) == 0) return v;
    if (have == 0 || need == 0) {
        tn_type t = *want;
        t.dtype = type_of(g, v)->dtype;
        return tn_i_number(&g->b, &t, 0.5);
    }
    tn_i_var flat = tn_i_reshape(&g->b, v, 1, &have);
    enum { MOST_PARTS = TN_MAX_RANK * 32 };
    if (have < need && (chance(g, 2) || need > have * MOST_PARTS)) {
        flat = tn_i_reshape(&g->b, slice_flat(g, flat, pick(g, 0, have - 1), 1), 0, NULL);
        return tn_i_broadcast(&g->b, flat, want->rank, want->dim, NULL);
    }
    if (have < need) {
        tn_i_var parts[MOST_PARTS];
        const int64_t times = (need + have - 1) / have;
        const tn_i_param axis = {.kind = TN_K_INT, .u.i = 0};
        for (int64_t k = 0; k < times; k++) parts[k] = flat;
        flat = tn_i_emit(&g->b, tn_i_prim(&g->b, TN_P_concatenate), &axis, (uint32_t)times, parts);
    }
    const int64_t now = have < need ? tn_i_count(type_of(g, flat)) : have;
    return tn_i_reshape(&g->b, slice_flat(g, flat, pick(g, 0, now - need), need), want->rank, want->dim);
}

/* Into [lo, hi], smoothly. */
static tn_i_var fit_range(laws_gen *g, tn_i_var v, double lo, double hi) {
    static const int bounded[] = {TN_P_sin, TN_P_cos, TN_P_tanh};
    const tn_i_var u = tn_i_op1(&g->b, bounded[pick(g, 0, 2)], v);
    const tn_i_var scaled = tn_i_op2(&g->b, TN_P_mul, u, tn_i_number_like(&g->b, u, (hi - lo) / 2));
    return tn_i_op2(&g->b, TN_P_add, scaled, tn_i_number_like(&g->b, u, (hi + lo) / 2));
}

/* Where a small move could meet a kink: the sampler's own data, moved by less than that. */
static tn_i_var fit_near(laws_gen *g, tn_i_var v, const laws_array *data, double reach) {
    const tn_i_var base = tn_i_constant(&g->b, &data->type, data->data);
    const tn_i_var u = tn_i_op1(&g->b, TN_P_sin, v);
    return tn_i_op2(&g->b, TN_P_add, base, tn_i_op2(&g->b, TN_P_mul, u, tn_i_number_like(&g->b, u, reach)));
}

static tn_i_var real_operand(laws_gen *g, const tn_prim *prim, const tn_i_case *c, const laws_array *data, uint32_t i) {
    const tn_i_domain *d = &c->domain[i];
    if (laws_is_fixed(prim, i)) return tn_i_constant(&g->b, &data[i].type, data[i].data);
    tn_i_var v = tn_i_convert(&g->b, laws_gen_real(g), c->in[i].dtype);
    v = laws_gen_fit(g, v, &c->in[i]);
    if (c->fill || d->at) return fit_near(g, v, &data[i], c->fill ? 0.005 : fmin(d->apart / 4, 0.02));
    if (d->lo == 0 && d->hi == 0) return fit_range(g, v, -2, 2);
    return fit_range(g, v, d->lo, d->hi);
}

/* Bools that stay as they are around the point; integers from the sampler or from the pool. */
static tn_i_var whole_operand(laws_gen *g, const tn_i_case *c, const laws_array *data, uint32_t i) {
    const tn_type *want = &c->in[i];
    const bool told = want->dtype == TN_BOOL && c->fill; /* what an assert asserts */
    if (told || chance(g, 2) || g->nwhole == 0) return tn_i_constant(&g->b, want, data[i].data);
    tn_i_var v = tn_i_convert(&g->b, g->whole[pick(g, 0, g->nwhole - 1)], want->dtype);
    return laws_gen_fit(g, v, want);
}

tn_i_var laws_gen_whole(laws_gen *g, int64_t lo, int64_t hi) {
    const tn_type whole = tn_type_of(TN_I64, 0, NULL);
    if (g->nwhole == 0 || chance(g, 3)) return tn_i_literal_i64(&g->b, TN_I64, pick(g, lo, hi));
    const tn_i_var v = tn_i_convert(&g->b, g->whole[pick(g, 0, g->nwhole - 1)], TN_I64);
    return tn_i_op3(&g->b, TN_P_clamp, tn_i_literal_i64(&g->b, TN_I64, lo), laws_gen_fit(g, v, &whole),
                    tn_i_literal_i64(&g->b, TN_I64, hi));
}

/* ---- one equation -------------------------------------------------------------------------- */

/* Whole results as floats too: small ones, that f32 holds exactly. */
static void keep_whole(laws_gen *g, tn_i_var v) {
    laws_gen_keep(g, v);
    const int dtype = type_of(g, v)->dtype;
    if (tn_i_is_int(dtype)) {
        const tn_i_var lo = tn_i_literal_i64(&g->b, dtype, -3), hi = tn_i_literal_i64(&g->b, dtype, 3);
        v = tn_i_op3(&g->b, TN_P_clamp, lo, v, hi);
    }
    laws_gen_keep(g, tn_i_convert(&g->b, v, g->dtype));
}

/* Differences see through stop_gradient, two values at random are not the same, bits of a NaN
 * are nobody's promise, and user code has no f64 copy. */
static bool suits(const laws_gen *g, const tn_prim *prim, int dtype) {
    return prim->id != TN_P_stop_gradient && prim->id != TN_P_bitcast_convert_type && !(prim->flags & TN_F_EITHER) &&
           !laws_of_ranks(prim) && !laws_by_lapack(prim) && (prim->dtypes >> dtype & 1) &&
           !(prim->id == TN_P_external_call && (dtype == TN_F32 || g->dtype == TN_F32));
}

static int any_dtype(laws_gen *g) {
    if (!chance(g, 4)) return g->dtype;
    return (int)pick(g, 0, TN_NDTYPES - 1);
}

static void equation(laws_gen *g, const tn_prim *prim, int dtype) {
    tn_i_case *c = laws_alloc(g->m, 1, sizeof *c);
    if (!laws_case_draw(g->ctx, prim, dtype, g->r, c)) {
        g->b.failed = true;
        return;
    }
    const laws_array *data = laws_case_data(g->m, prim, c, g->r);
    tn_i_var in[TN_CASE_MAX];
    for (uint32_t i = 0; i < c->nin; i++)
        in[i] = tn_i_is_float(c->in[i].dtype) ? real_operand(g, prim, c, data, i) : whole_operand(g, c, data, i);
    const size_t before = g->b.neqn;
    const tn_i_var out = tn_i_emit(&g->b, prim, c->p, c->nin, in);
    const tn_i_eqn *e = tn_i_def(&g->b, out);
    const bool none = g->b.neqn > before && g->b.eqn[g->b.neqn - 1].nout == 0;
    const uint32_t nout = none ? 0 : e && e->out == out ? e->nout : 1; /* simplified: one value */
    for (uint32_t j = 0; j < nout && !g->b.failed; j++) {
        if (tn_i_is_float(type_of(g, out + j)->dtype))
            laws_gen_keep(g, out + j);
        else
            keep_whole(g, out + j);
    }
    laws_case_free(c);
}

/* A name for a value that is there, so that what follows may depend on the named one. */
static void name_one(laws_gen *g) {
    static const char *const names[] = {"a", "b", "c"};
    const tn_i_param p = {.kind = TN_K_STR, .u.str = tn_i_string(g->ctx, names[pick(g, 0, 2)], 1)};
    const tn_i_var v = laws_gen_real(g);
    laws_gen_keep(g, tn_i_emit(&g->b, tn_i_prim(&g->b, TN_P_name), &p, 1, &v));
}

/* What policies look at comes more often than among all primitives. */
static void step(laws_gen *g) {
    if (chance(g, 10)) {
        name_one(g);
        return;
    }
    if (chance(g, 10)) {
        (void)laws_generate_nested(g, tn_i_prim(&g->b, TN_P_checkpoint));
        return;
    }
    if (chance(g, 12)) {
        (void)laws_generate_loop(g, tn_i_prim(&g->b, chance(g, 2) ? TN_P_scan : TN_P_while));
        return;
    }
    if (chance(g, 12)) {
        laws_generate_complex(g);
        return;
    }
    for (int tries = 0; tries < 100; tries++) {
        const tn_prim *prim = g->ctx->prims[pick(g, 0, TN_NPRIMS - 1)];
        const int dtype = any_dtype(g);
        if (!suits(g, prim, dtype)) continue;
        if (!laws_generate_nested(g, prim) && !laws_generate_loop(g, prim)) equation(g, prim, dtype);
        return;
    }
}

/* ---- programs --------------------------------------------------------------------------------- */

static const tn_fn *finish(laws_gen *g) {
    tn_i_var out[3];
    uint32_t n = (uint32_t)pick(g, 1, 3);
    if (g->b.failed) {
        tn_i_builder_drop(&g->b);
        return NULL;
    }
    out[0] = g->real[g->nreal - 1];
    for (uint32_t j = 1; j < n; j++) out[j] = laws_gen_real(g);
    return tn_i_finish(&g->b, n, out);
}

static laws_gen *generate(laws_gen *outer, uint32_t nin, const tn_type *in, int steps) {
    laws_gen *g = laws_alloc(outer->m, 1, sizeof *g);
    *g = (laws_gen){.ctx = outer->ctx, .m = outer->m, .r = outer->r, .dtype = outer->dtype, .depth = outer->depth + 1};
    tn_i_builder_init(&g->b, g->ctx);
    g->b.raw = chance(g, 4);
    for (uint32_t i = 0; i < nin; i++) laws_gen_keep(g, tn_i_input(&g->b, &in[i], false));
    g->b.loc = tn_i_loc_of(g->ctx, "generated.c", 1, 0, "");
    for (int k = 0; k < steps && !g->b.failed; k++) step(g);
    return g;
}

const tn_fn *laws_generate_over(laws_gen *outer, uint32_t nin, const tn_type *in, int steps) {
    return finish(generate(outer, nin, in, steps));
}

const tn_fn *laws_generate_to(laws_gen *outer, uint32_t nin, const tn_type *in, int steps, uint32_t nout,
                              const tn_type *out) {
    laws_gen *g = generate(outer, nin, in, steps);
    tn_i_var *v = laws_alloc(g->m, nout + 1u, sizeof *v);
    for (uint32_t j = 0; j < nout && !g->b.failed; j++) {
        const tn_i_var x = tn_i_convert(&g->b, laws_gen_real(g), out[j].dtype);
        v[j] = fit_range(g, laws_gen_fit(g, x, &out[j]), -1, 1);
    }
    return tn_i_finish(&g->b, nout, v);
}

const tn_fn *laws_generate(tn_ctx *c, laws_memory *m, tn_i_rng *r, int dtype, laws_array **x) {
    laws_gen outer = {.ctx = c, .m = m, .r = r, .dtype = dtype};
    tn_type in[4];
    const uint32_t reals = (uint32_t)pick(&outer, 1, 3), nin = reals + (uint32_t)pick(&outer, 0, 1);
    for (uint32_t i = 0; i < nin; i++) {
        do tn_i_sample_shape(r, &in[i], i < reals ? dtype : TN_I32, 0, 3);
        while (i == 0 && tn_i_count(&in[i]) == 0);
    }
    *x = laws_alloc(m, nin + 1u, sizeof **x);
    for (uint32_t i = 0; i < nin; i++) {
        (*x)[i] = laws_new(m, &in[i]);
        for (int64_t k = 0; k < tn_i_count(&in[i]); k++)
            laws_put(&(*x)[i], k, i < reals ? tn_i_uniform(r, -2, 2) : (double)tn_i_pick(r, -4, 4));
    }
    return laws_generate_over(&outer, nin, in, (int)pick(&outer, 2, 7));
}
