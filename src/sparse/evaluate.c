#include "sparse/evaluate.h"

#include "jvp/jvp.h"
#include "prims/arrays/shape.h"
#include "sparse/assemble.h"
#include "sparse/flat.h"
#include "sparse/seeds.h"
#include "sparse/substitute.h"
#include "transpose/transpose.h"
#include "vmap/vmap.h"

#include <string.h>

typedef struct evaluation {
    const tn_i_compressed *q;
    tn_ctx *ctx;
    tn_i_builder b;
    tn_i_var *x, *y, *args; /* inputs; outputs and residuals; residuals and seeds */
    tn_i_var *piece;        /* compressed derivatives, flat: by output, then by input */
    size_t nargs, npiece, cpiece;
    int64_t *at; /* of each entry, by row: where it stands in them */
} evaluation;

/* ---- seeds -------------------------------------------------------------------------------- */

/* More equations than this are one program over all colours, fewer, of seeds that are numbers, one for each; with calls
 * in place there may be more: else each colour is a call, and what is 0 in it is computed. */
enum { MOST_EQUATIONS = 1500, MOST_OPENED = 3000, MOST_APART = 32 };

/* color[0..n): [colors, t.shape], 1 where an element has the row's colour; of *bytes. */
static void *seed(evaluation *v, const tn_type *t, int64_t colors, const int32_t *color, size_t *bytes) {
    const int64_t n = tn_i_count(t);
    *bytes = 0;
    if (t->rank == TN_MAX_RANK || !tn_i_mul(tn_type_bytes(t), (size_t)colors, bytes)) {
        *bytes = 0;
        tn_i_builder_fail(&v->b, TN_ELIMIT, "%s: %lld seeds of %lld elements and rank %d", v->q->who, (long long)colors,
                          (long long)n, t->rank);
        return NULL;
    }
    unsigned char *data = tn_i_alloc(v->ctx, *bytes);
    if (!data) v->b.failed = true;
    for (int64_t i = 0; data && i < n; i++) {
        if (color[i] < 0) continue;
        const int64_t at = color[i] * n + i;
        tn_i_element_set(t->dtype, data + at * (int64_t)tn_i_dtype_size(t->dtype), 1);
    }
    return data;
}

static void free_seeds(tn_ctx *c, uint32_t n, void **data, size_t *bytes) {
    for (uint32_t k = 0; data && bytes && k < n; k++) tn_i_free(c, data[k], bytes[k]);
    tn_i_free(c, data, n * sizeof *data);
    tn_i_free(c, bytes, n * sizeof *bytes);
}

static bool seeded(evaluation *v, const tn_fn *linear, const tn_type *const *t, const int64_t *first, int64_t colors,
                   const int32_t *color, tn_i_seeded *out) {
    const uint32_t n = linear->nlin;
    void **data = tn_i_alloc_array(v->ctx, n, sizeof *data);
    size_t *bytes = tn_i_alloc_array(v->ctx, n, sizeof *bytes);
    bool ok = data && bytes;
    for (uint32_t k = 0; ok && k < n; k++) ok = (data[k] = seed(v, t[k], colors, color + first[k], &bytes[k])) != NULL;
    ok = ok && tn_i_seeds_through(linear, colors, data, out);
    free_seeds(v->ctx, n, data, bytes);
    return ok;
}

/* ---- the linear half, both ways ------------------------------------------------------------ */

/* Each colour by itself: what is 0 is left out, and products with 1. out: [nout][colors] */
static void apart(evaluation *v, const tn_i_seeded *s, tn_i_var *args, tn_i_var *out) {
    const tn_fn *f = s->behind;
    const uint32_t known = f->nin - f->nlin;
    tn_i_var *y = tn_i_alloc_array(v->ctx, f->nout, sizeof *y);
    if (!y) v->b.failed = true;
    for (int64_t c = 0; c < s->colors && !v->b.failed; c++) {
        for (uint32_t k = 0; k < s->nvalue; k++) {
            const char *data = (const char *)s->data[k] + (size_t)c * tn_type_bytes(s->type[k]);
            args[known + k] = tn_i_known_array(&v->b, s->type[k], data, true);
        }
        tn_i_inline_tangent(&v->b, f, args, y);
        for (uint32_t j = 0; j < f->nout && !v->b.failed; j++) {
            const tn_type *t = f->val[f->out[j]].type;
            const int64_t flat = tn_i_count(t);
            const tn_i_var x = y[j] == TN_NOVAR ? tn_i_zeros(&v->b, t) : y[j];
            out[(int64_t)j * s->colors + c] = tn_i_reshape(&v->b, x, 1, &flat);
        }
    }
    tn_i_free(v->ctx, y, f->nout * sizeof *y);
}

/* All colours at once. out: [nout] */
static void together(evaluation *v, const tn_i_seeded *s, tn_i_var *args, tn_i_var *out) {
    const tn_fn *f = s->behind;
    const uint32_t known = f->nin - f->nlin;
    bool *batched = tn_i_alloc_array(v->ctx, f->nin, sizeof *batched);
    if (!batched) v->b.failed = true;
    for (uint32_t k = 0; k < s->nvalue && !v->b.failed; k++) {
        tn_type t = *s->type[k];
        if (t.rank == TN_MAX_RANK) {
            tn_i_builder_fail(&v->b, TN_ELIMIT, "%s: seeds would have rank %d", v->q->who, TN_MAX_RANK + 1);
            break;
        }
        memmove(t.dim + 1, t.dim, (size_t)t.rank++ * sizeof *t.dim);
        t.dim[0] = s->colors;
        batched[known + k] = true;
        args[known + k] = tn_i_known_array(&v->b, &t, s->data[k], false);
    }
    tn_fn *mapped = v->b.failed ? NULL : tn_i_vmap(f, s->colors, batched, true, NULL, NULL);
    if (!mapped) v->b.failed = true;
    if (!v->b.failed) tn_i_inline(&v->b, mapped, args, out);
    for (uint32_t j = 0; j < f->nout && !v->b.failed; j++) {
        const int64_t flat = tn_i_count(tn_i_vtype(&v->b, out[j]));
        out[j] = tn_i_reshape(&v->b, out[j], 1, &flat);
    }
    tn_i_fn_unref(mapped);
    tn_i_free(v->ctx, batched, f->nin * sizeof *batched);
}

static bool few(const tn_i_seeded *s, bool opened) {
    return s->colors * s->behind->neqn <= (opened ? MOST_OPENED : MOST_EQUATIONS);
}

/* The linear program behind its seeds; *each: to be emitted for each colour by itself, if need be with calls in place,
 * as blocks that are mapped are: their seeds are numbers only inside. */
static bool chosen(evaluation *v, const tn_fn *linear, const tn_type *const *t, const int64_t *first, int64_t colors,
                   const int32_t *color, tn_i_seeded *s, bool *each) {
    tn_fn *once = tn_i_contracted(linear); /* as it is where no product is known: bits do not depend on seeds */
    tn_fn *flat = once && colors <= MOST_APART ? tn_i_flattened(once, MOST_OPENED / (size_t)colors) : NULL;
    bool ok = once && (flat || colors > MOST_APART);
    *each = false;
    if (ok && flat) {
        ok = seeded(v, flat, t, first, colors, color, s);
        *each = ok && few(s, flat != once) && tn_i_seeds_repeat(s);
        if (ok && !*each && flat != once) tn_i_seeded_free(s);
    }
    if (ok && !*each && flat != once) ok = seeded(v, once, t, first, colors, color, s);
    tn_i_fn_unref(flat);
    tn_i_fn_unref(once);
    return ok;
}

/* A map (residuals.. | n linear inputs) over one seed a colour; its outputs from `skip` on become pieces. */
static void push(evaluation *v, const tn_fn *linear, uint32_t skip, const tn_type *const *t, const int64_t *first,
                 int64_t colors, const int32_t *color) {
    tn_i_seeded s;
    bool each;
    if (!chosen(v, linear, t, first, colors, color, &s, &each)) {
        v->b.failed = true;
        return;
    }
    const tn_fn *f = s.behind;
    const int64_t parts = each ? colors : 1;
    const size_t nargs = (size_t)f->nin, nout = (size_t)f->nout * (size_t)parts;
    tn_i_var *args = tn_i_alloc_array(v->ctx, nargs, sizeof *args), *out = tn_i_alloc_array(v->ctx, nout, sizeof *out);
    if (args && out) {
        memcpy(args, v->args, (nargs - f->nlin) * sizeof *args);
        (each ? apart : together)(v, &s, args, out);
    } else
        v->b.failed = true;
    for (uint32_t j = skip; j < f->nout && !v->b.failed; j++)
        v->piece[v->npiece++] =
            parts == 1 ? out[j] : tn_i_concatenate(&v->b, (uint32_t)parts, out + (int64_t)j * parts, 0);
    tn_i_free(v->ctx, args, nargs * sizeof *args);
    tn_i_free(v->ctx, out, nout * sizeof *out);
    tn_i_seeded_free(&s);
}

/* The linear program without its first `skip` outputs. */
static tn_fn *rows_only(const tn_fn *linear, uint32_t skip) {
    tn_i_builder b;
    tn_i_builder_init(&b, linear->ctx);
    b.named_after = linear;
    tn_i_var *args = tn_i_alloc_array(linear->ctx, linear->nin, sizeof *args),
             *outs = tn_i_alloc_array(linear->ctx, linear->nout, sizeof *outs);
    tn_fn *g = NULL;
    if (args && outs) {
        for (uint32_t i = 0; i < linear->nin; i++)
            args[i] = tn_i_input(&b, linear->val[i].type, i >= linear->nin - linear->nlin);
        tn_i_inline(&b, linear, args, outs);
        g = tn_i_finish(&b, linear->nout - skip, outs + skip);
    } else
        tn_i_builder_drop(&b);
    tn_i_free(linear->ctx, args, linear->nin * sizeof *args);
    tn_i_free(linear->ctx, outs, linear->nout * sizeof *outs);
    return g;
}

static void push_both(evaluation *v) {
    const tn_i_compressed *q = v->q;
    const tn_coloring *k = q->colors;
    const tn_fn *linear = q->parts->linear;
    if (k->forward && !v->b.failed) push(v, linear, q->skip, q->sides->wrt, q->sides->col, k->forward, k->column);
    if (!k->reverse || v->b.failed) return;
    tn_fn *rows = rows_only(linear, q->skip), *back = rows ? tn_i_transpose_linear(rows) : NULL;
    if (back)
        push(v, back, 0, q->sides->out, q->sides->row, k->reverse, k->row);
    else
        v->b.failed = true;
    tn_i_fn_unref(rows);
    tn_i_fn_unref(back);
}

/* ---- entries --------------------------------------------------------------------------------- */

static tn_i_var joined(evaluation *v) {
    if (v->b.failed) return TN_NOVAR;
    return v->npiece == 1 ? v->piece[0] : tn_i_concatenate(&v->b, (uint32_t)v->npiece, v->piece, 0);
}

/* Entries that are what others leave of what is read of them become elements of a last piece. */
static void substitute(evaluation *v) {
    const tn_coloring *k = v->q->colors;
    tn_i_builder *b = &v->b;
    tn_i_substitution u;
    if (k->partition != TN_COLOR_ACYCLIC || b->failed) return;
    if (!tn_i_coloring_substitution(k, &u)) {
        b->failed = true;
        return;
    }
    const tn_i_var all = joined(v);
    int64_t *at = tn_i_alloc_array(v->ctx, (size_t)u.steps, sizeof *at);
    if (!at) b->failed = true;
    if (u.steps && !b->failed) {
        const int64_t before = tn_i_vtype(b, all)->dim[0];
        for (int64_t s = 0; s < u.steps; s++) at[s] = v->at[u.entry[s]];
        v->piece[v->npiece++] = tn_i_substituted(b, tn_i_taken(b, all, u.steps, at), &u);
        for (int64_t s = 0; s < u.steps; s++) v->at[u.entry[s]] = v->at[u.twin[s]] = before + s;
    }
    tn_i_free(v->ctx, at, (size_t)u.steps * sizeof *at);
    tn_i_substitution_free(&u);
}

static tn_i_var values(evaluation *v) {
    const tn_i_compressed *q = v->q;
    tn_i_builder *b = &v->b;
    const tn_type t = {.dtype = q->sides->dtype, .rank = 1, .dim = {q->nvalue}};
    if (!q->nvalue) return tn_i_zeros(b, &t);
    substitute(v);
    int64_t *at = tn_i_alloc_array(v->ctx, (size_t)q->nvalue, sizeof *at);
    if (!at) b->failed = true;
    for (int64_t k = 0; at && k < q->nvalue; k++) at[k] = q->entry[k] < 0 ? -1 : v->at[q->entry[k]];
    const tn_i_var out = at ? tn_i_assembled(b, &t, v->npiece ? joined(v) : TN_NOVAR, at, q->constant) : TN_NOVAR;
    tn_i_free(v->ctx, at, (size_t)q->nvalue * sizeof *at);
    return out;
}

/* ---- the program ------------------------------------------------------------------------------ */

static bool room(evaluation *v) {
    const tn_i_compressed *q = v->q;
    const tn_i_parts *p = q->parts;
    v->nargs = (size_t)p->nres + (q->sides->nwrt > p->linear->nout ? q->sides->nwrt : p->linear->nout);
    v->cpiece = (size_t)q->sides->nout + q->sides->nwrt + 1;
    v->x = tn_i_alloc_array(v->ctx, q->f->nin, sizeof *v->x);
    v->y = tn_i_alloc_array(v->ctx, (size_t)p->known->nout + 1, sizeof *v->y);
    v->args = tn_i_alloc_array(v->ctx, v->nargs, sizeof *v->args);
    v->piece = tn_i_alloc_array(v->ctx, v->cpiece, sizeof *v->piece);
    v->at = tn_i_alloc_array(v->ctx, (size_t)q->colors->pattern->nnz, sizeof *v->at);
    return v->x && v->y && v->args && v->piece && v->at;
}

static void release(evaluation *v) {
    tn_ctx *c = v->ctx;
    tn_i_free(c, v->x, v->q->f->nin * sizeof *v->x);
    tn_i_free(c, v->y, ((size_t)v->q->parts->known->nout + 1) * sizeof *v->y);
    tn_i_free(c, v->args, v->nargs * sizeof *v->args);
    tn_i_free(c, v->piece, v->cpiece * sizeof *v->piece);
    tn_i_free(c, v->at, (size_t)v->q->colors->pattern->nnz * sizeof *v->at);
}

static tn_fn *build(evaluation *v) {
    const tn_i_compressed *q = v->q;
    const tn_fn *f = q->f, *known = q->parts->known;
    tn_i_builder_init(&v->b, v->ctx);
    v->b.named_after = f;
    for (uint32_t i = 0; i < f->nin && !v->b.failed; i++) v->x[i] = tn_i_input(&v->b, f->val[i].type, false);
    if (!v->b.failed) tn_i_inline(&v->b, known, v->x, v->y);
    for (uint32_t k = 0; k < q->parts->nres; k++) v->args[k] = v->y[f->nout + k];
    if (q->nvalue) push_both(v);
    const uint32_t first = q->with_value ? f->nout : 0;
    v->y[first] = v->b.failed ? TN_NOVAR : values(v);
    return tn_i_finish(&v->b, first + 1, v->y);
}

tn_fn *tn_i_compressed_program(const tn_i_compressed *q) {
    evaluation v = {.q = q, .ctx = q->f->ctx};
    tn_fn *g = NULL;
    if (room(&v) && tn_i_recover(q->colors, q->sides, q->symmetric, v.at)) g = build(&v);
    release(&v);
    return g;
}
