/* tn_sparse_jacobian, tn_sparse_hessian: pattern, colouring, compressed evaluation, put together. */
#include "api/sparse.h"

#include "api/choose.h"
#include "api/probe.h"
#include "linearize/prune.h"
#include "prims/prim.h"
#include "sparse/evaluate.h"
#include "sparse/maps.h"
#include "transpose/transpose.h"

#include <string.h>

/* ---- what is asked for ----------------------------------------------------------------------- */

static bool options_are_valid(const tn_i_derivative *q) {
    const tn_sparse_options *o = &q->o;
    tn_ctx *c = q->given->ctx;
    if ((unsigned)o->format > TN_COO || (unsigned)o->triangle > TN_UPPER)
        return tn_i_fail(c, TN_EINVAL, NULL, "%s: format %d, triangle %d", q->who, (int)o->format, (int)o->triangle),
               false;
    if (o->triangle != TN_FULL && !q->hessian)
        return tn_i_fail(c, TN_EINVAL, NULL, "%s: a triangle of a Jacobian; triangles are of tn_sparse_hessian",
                         q->who),
               false;
    if (o->max_nnz < 0)
        return tn_i_fail(c, TN_EINVAL, NULL, "%s: max_nnz is %lld", q->who, (long long)o->max_nnz), false;
    if (!q->given->effect) return true;
    return tn_i_fail(c, TN_ERULE, tn_i_effect_loc(q->given), "%s: this effect would happen more than once", q->who),
           false;
}

/* ---- the pattern -------------------------------------------------------------------------------- */

static bool shape_fits(const tn_i_derivative *q, const tn_sparsity *s) {
    const int64_t rows = q->sides.row[q->sides.nout], columns = q->sides.col[q->sides.nwrt];
    if (s->rows == rows && s->columns == columns) return true;
    (void)tn_i_fail(s->ctx, TN_ETYPE, q->given->loc, "%s: the pattern is %lld x %lld, the derivative %lld x %lld",
                    q->who, (long long)s->rows, (long long)s->columns, (long long)rows, (long long)columns);
    return false;
}

/* A pattern of the caller's as a Hessian's. */
static tn_sparsity *as_symmetric(const tn_sparsity *s) {
    bool yes;
    if (!tn_i_sparsity_is_symmetric(s, &yes)) return NULL;
    if (!yes || s->symmetric) return tn_i_sparsity_ref(s);
    tn_sparsity *own = tn_sparsity_csr(s->ctx, s->rows, s->columns, s->ptr, s->ind);
    if (own) own->symmetric = true;
    return own;
}

/* At a point where most functions are defined; what they do not define there cannot be judged. */
static bool covers_somewhere(const tn_i_derivative *q, const tn_sparsity *s) {
    const tn_fn *f = q->f;
    tn_ctx *c = f->ctx;
    tn_i_rng rng = {20261123};
    void **x = tn_i_alloc_array(c, f->nin, sizeof *x);
    bool ok = x != NULL;
    for (uint32_t i = 0; ok && i < f->nin; i++) {
        const tn_type *t = f->val[i].type;
        const size_t bytes = tn_type_bytes(t);
        if (!(ok = (x[i] = tn_i_alloc(c, bytes)) != NULL)) break;
        if (q->o.known && q->o.known[i])
            memcpy(x[i], q->o.known[i], bytes);
        else if (tn_i_is_float(t->dtype))
            for (int64_t k = 0; k < tn_i_count(t); k++) tn_i_probe_set(t, x[i], k, tn_i_uniform(&rng, 0.1, 0.9));
    }
    ok = ok && tn_i_sparsity_covers(q->who, f, &q->w, q->wrt, q->skip, s, (const void *const *)x) == TN_OK;
    for (uint32_t i = 0; x && i < f->nin; i++) tn_i_free(c, x[i], tn_type_bytes(f->val[i].type));
    tn_i_free(c, x, f->nin * sizeof *x);
    return ok;
}

static tn_sparsity *pattern_of(const tn_i_derivative *q) {
    const tn_sparsity *given = q->o.sparsity;
    if (!given) {
        const tn_sparsity_options o = {.size = sizeof o, .known = q->o.known, .max_nnz = q->o.max_nnz};
        return q->hessian ? tn_hessian_sparsity(q->given, q->wrt, &o) : tn_jacobian_sparsity(q->given, q->wrt, &o);
    }
    if (given->ctx != q->f->ctx)
        return tn_i_fail(q->f->ctx, TN_EINVAL, NULL, "%s: the pattern is of another context", q->who), NULL;
    if (!shape_fits(q, given)) return NULL;
    if (q->f->ctx->check && !q->unchecked && !covers_somewhere(q, given)) return NULL;
    return q->hessian && !q->given->rules ? as_symmetric(given) : tn_i_sparsity_ref(given);
}

static bool is_constant(const tn_sparsity *s, int64_t e) { return s->constant && s->constant[e]; }

/* The entries of s that are not constant, as a pattern. */
static tn_sparsity *varying_part(const tn_sparsity *s) {
    tn_ctx *c = s->ctx;
    int64_t n = 0;
    for (int64_t e = 0; e < s->nnz; e++) n += !is_constant(s, e);
    int64_t *ptr = tn_i_alloc_array(c, (size_t)s->rows + 1, sizeof *ptr),
            *ind = n ? tn_i_alloc_array(c, (size_t)n, sizeof *ind) : NULL;
    if (!ptr || (n && !ind)) {
        tn_i_free(c, ptr, ((size_t)s->rows + 1) * sizeof *ptr);
        tn_i_free(c, ind, (size_t)n * sizeof *ind);
        return NULL;
    }
    for (int64_t i = 0, to = 0; i < s->rows; i++) {
        for (int64_t e = s->ptr[i]; e < s->ptr[i + 1]; e++)
            if (!is_constant(s, e)) ind[to++] = s->ind[e];
        ptr[i + 1] = to;
    }
    tn_sparsity *v = tn_i_sparsity_new(c, s->rows, s->columns, ptr, ind);
    if (v) v->symmetric = s->symmetric, v->local = s->local;
    return v;
}

/* ---- the program -------------------------------------------------------------------------------------- */

/* What a reverse colour costs, in forward colours.  Twice what the operations alone do: sums into arrays take the
 * vectors apart (four rows of the cart-pole took 1.6 times as long as five columns). */
static bool cost_of_reverse(const tn_fn *linear, double *ratio) {
    tn_i_cost forward = {0}, reverse = {0};
    tn_fn *back = tn_i_transpose_linear(linear);
    const bool ok = back && tn_i_fn_cost(linear, &forward) && tn_i_fn_cost(back, &reverse);
    tn_i_fn_unref(back);
    if (ok) *ratio = 2 * (reverse.flops + reverse.bytes + 1) / (forward.flops + forward.bytes + 1);
    return ok;
}

static tn_coloring *color(const tn_i_derivative *q, const tn_sparsity *s, const tn_fn *linear) {
    tn_coloring_options k = {.size = sizeof k};
    if (q->o.coloring && !tn_i_options(s->ctx, "tn_coloring_options", q->o.coloring, &k, sizeof k)) return NULL;
    if ((k.partition == TN_COLOR_STAR || k.partition == TN_COLOR_ACYCLIC) && !s->symmetric) {
        (void)tn_i_fail(s->ctx, TN_EINVAL, q->given->loc,
                        "%s: a star or acyclic colouring recovers entries from (i,j) or (j,i): only a Hessian without "
                        "rules of its own has them alike",
                        q->who);
        return NULL;
    }
    if (k.reverse_cost == 0 && !s->symmetric && !cost_of_reverse(linear, &k.reverse_cost)) return NULL;
    return tn_i_color(s, &k, s->symmetric);
}

static bool linearized(const tn_i_derivative *q, tn_i_parts *p) {
    const tn_policy *all = tn_policy_by_name("everything_saveable");
    tn_i_choice by;
    const bool ok = tn_i_choose(q->f, &q->w, q->o.policy ? q->o.policy : all, &by) &&
                    tn_i_linearize(by.f, q->w.n, q->w.index, &by.how, p);
    tn_i_choice_free(&by);
    return ok;
}

/* What is computed of s when the program runs, and how. */
typedef struct plan {
    tn_i_parts parts;
    tn_i_apart apart;
    tn_coloring *colors;
    int64_t *entry; /* of the values, as tn_i_compressed wants them */
    void *constant;
} plan;

static int64_t colors_in_all(const tn_coloring *k) { return k->forward + k->reverse; }

/* The parts of what is symmetric need not be: columns of the varying one have to be fewer than what s takes whole. */
static bool apart_pays(const tn_i_derivative *q, const tn_sparsity *s, plan *p, bool *yes) {
    *yes = !s->symmetric;
    if (*yes) return true;
    if (q->o.coloring && q->o.coloring->partition != TN_COLOR_AUTO) return true; /* of s, as the caller wants it */
    if (!(p->colors = color(q, s, p->parts.linear))) return false;
    const tn_coloring_options how = {.size = sizeof how, .partition = TN_COLOR_COLUMN};
    tn_coloring *k = tn_i_color(p->apart.varying, &how, false);
    *yes = k && colors_in_all(k) < colors_in_all(p->colors);
    tn_coloring_free(*yes ? p->colors : k);
    if (*yes) p->colors = k;
    return k != NULL;
}

/* What is constant of a pattern of the caller's, nobody knows. */
static bool may_be_apart(const tn_sparsity *s) { return s->ntypes && (!s->symmetric || s->constant); }

static bool chosen(const tn_i_derivative *q, const tn_sparsity *s, plan *p) {
    tn_fn *folded = NULL;
    bool pays = false;
    if (!linearized(q, &p->parts) || !(folded = tn_i_known_folded(&p->parts, q->o.known))) return false;
    tn_i_fn_unref(p->parts.linear);
    p->parts.linear = folded;
    if (may_be_apart(s) && !tn_i_constants_apart(q, s, &p->parts, &p->apart)) return false;
    if (p->apart.ctx && !apart_pays(q, s, p, &pays)) return false;
    if (!pays) {
        tn_i_apart_free(&p->apart);
        return p->colors || (p->colors = color(q, s, p->parts.linear)) != NULL;
    }
    tn_i_fn_unref(p->parts.linear);
    p->parts.linear = (tn_fn *)(uintptr_t)tn_i_fn_ref(p->apart.linear);
    return p->colors || (p->colors = color(q, p->apart.varying, p->apart.linear)) != NULL;
}

static bool ordered(const tn_sparsity *s, const int64_t *entry, int64_t nvalue, plan *p) {
    const tn_i_apart *a = &p->apart;
    const size_t size = tn_i_dtype_size(a->dtype);
    p->entry = tn_i_alloc_array(s->ctx, (size_t)nvalue, sizeof *p->entry);
    if (a->ctx) p->constant = tn_i_alloc_array(s->ctx, (size_t)nvalue, size);
    if (!p->entry || (a->ctx && !p->constant)) return false;
    for (int64_t k = 0; k < nvalue; k++) {
        p->entry[k] = a->ctx ? a->entry[entry[k]] : entry[k];
        if (a->ctx) memcpy((char *)p->constant + (size_t)k * size, (char *)a->constant + (size_t)entry[k] * size, size);
    }
    return true;
}

static tn_fn *compressed(const tn_i_derivative *q, const tn_sparsity *s, const int64_t *entry, int64_t nvalue) {
    plan p = {0};
    tn_fn *g = NULL;
    if (chosen(q, s, &p) && ordered(s, entry, nvalue, &p)) {
        const tn_i_compressed e = {.who = q->who,
                                   .f = q->f,
                                   .parts = &p.parts,
                                   .sides = &q->sides,
                                   .skip = q->skip,
                                   .colors = p.colors,
                                   .entry = p.entry,
                                   .constant = p.constant,
                                   .nvalue = nvalue,
                                   .symmetric = p.colors->pattern->symmetric,
                                   .with_value = q->o.with_value};
        g = tn_i_compressed_program(&e);
    }
    tn_i_free(s->ctx, p.entry, (size_t)nvalue * sizeof *p.entry);
    tn_i_free(s->ctx, p.constant, (size_t)nvalue * tn_i_dtype_size(p.apart.dtype));
    tn_coloring_free(p.colors);
    tn_i_apart_free(&p.apart);
    tn_i_parts_free(&p.parts);
    return g;
}

/* Where there is an entry for each row and column no colouring saves anything, but it would take long to find out. */
static bool is_dense(const tn_sparsity *s) {
    int64_t all;
    return s->nnz > 1 && tn_i_mul_i64(s->rows, s->columns, &all) && all == s->nnz;
}

/* Which entry, by row, each value is. */
static int64_t *listed(const tn_i_derivative *q, const tn_sparsity *s, int64_t *n, size_t *room) {
    const tn_i_sparse_order *o = tn_i_sparsity_order(s, q->o.format, q->o.triangle);
    int64_t *entry = o ? tn_i_alloc_array(s->ctx, *room = (size_t)o->room, sizeof *entry) : NULL;
    *n = 0;
    if (!entry) return NULL;
    const int64_t all = o->ptr[q->o.format == TN_CSC ? s->columns : s->rows];
    for (int64_t k = 0; k < all; k++)
        if (!q->o.varying_only || !is_constant(s, o->entry[k])) entry[(*n)++] = o->entry[k];
    return entry;
}

static tn_fn *program_of(const tn_i_derivative *q, tn_sparsity *s) {
    size_t room = 0;
    int64_t n, *entry = listed(q, s, &n, &room);
    tn_fn *g = NULL;
    if (entry && is_dense(s)) {
        const bool reverse = s->rows < s->columns;
        if (tn_i_sparsity_warn(s, q->given->loc,
                               "every row depends on every column: nothing is compressed, this is what %s makes",
                               q->hessian ? "tn_hessian"
                               : reverse  ? "tn_jacrev"
                                          : "tn_jacfwd"))
            g = tn_i_dense_program(q, reverse, s, entry, n);
    } else if (entry)
        g = compressed(q, s, entry, n);
    tn_i_free(s->ctx, entry, room * sizeof *entry);
    return tn_i_runnable(tn_i_prune(g));
}

static bool begin(tn_i_derivative *q) {
    if (!options_are_valid(q)) return false;
    if (q->hessian && !tn_i_scalar_output(q->who, q->given, false)) return false;
    tn_fn *f = tn_i_maps_opened(q->given);
    q->skip = q->hessian && q->o.with_value;
    if (!f || !q->hessian)
        q->f = f;
    else {
        q->f = q->skip ? tn_value_and_grad(f, q->wrt, NULL) : tn_grad(f, q->wrt, NULL);
        tn_i_fn_unref(f);
    }
    return q->f && tn_i_wrt_init(&q->w, q->who, q->f, q->wrt) &&
           tn_i_sides_init(&q->sides, q->who, q->f, q->w.n, q->w.index, q->skip);
}

tn_fn *tn_i_derivative_program(tn_i_derivative *q, tn_sparsity **pattern) {
    tn_sparsity *s = begin(q) ? pattern_of(q) : NULL, *out = NULL;
    tn_fn *g = s ? program_of(q, s) : NULL;
    if (g && pattern) {
        out = q->o.varying_only && s->constant ? varying_part(s) : tn_i_sparsity_ref(s);
        if (!out) {
            tn_i_fn_unref(g);
            g = NULL;
        }
        *pattern = out;
    }
    tn_sparsity_free(s);
    tn_i_sides_free(&q->sides);
    tn_i_wrt_free(&q->w);
    tn_i_fn_unref(q->f);
    return g;
}

static tn_fn *sparse(const char *who, const tn_fn *f, const tn_wrt_list *wrt, const tn_sparse_options *options,
                     bool hessian, tn_sparsity **pattern) {
    if (pattern) *pattern = NULL;
    if (!tn_i_living(f) || !tn_i_one_rank(who, f)) return NULL;
    tn_i_derivative q = {.who = who, .given = f, .wrt = wrt, .hessian = hessian};
    const void **known;
    if (!tn_i_options(f->ctx, "tn_sparse_options", options, &q.o, sizeof q.o)) return NULL;
    if (!tn_i_given_values(who, "known: ", f, q.o.known, &known)) return NULL;
    q.o.known = known;
    tn_fn *g = tn_i_derivative_program(&q, pattern);
    tn_i_given_free(f, known);
    return g;
}

tn_fn *tn_sparse_jacobian(const tn_fn *f, const tn_wrt_list *wrt, const tn_sparse_options *options,
                          tn_sparsity **pattern) {
    return sparse("tn_sparse_jacobian", f, wrt, options, false, pattern);
}

tn_fn *tn_sparse_hessian(const tn_fn *f, const tn_wrt_list *wrt, const tn_sparse_options *options,
                         tn_sparsity **pattern) {
    return sparse("tn_sparse_hessian", f, wrt, options, true, pattern);
}
