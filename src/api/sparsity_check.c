/* Whether a pattern covers a derivative at a point: its entries times random tangents against jvps.
 *
 * An entry that is missing adds to one that is there, or to none: either way its row differs.  Rows that differ are
 * suspects, by rounding or because they are wrong; their gradients tell. */
#include "api/args.h"
#include "api/probe.h"
#include "prims/prim.h"
#include "api/sparse.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef struct checker {
    const char *who;
    const tn_fn *f;
    const tn_wrt_list *wrt;
    uint32_t skip; /* float outputs that are no rows */
    const tn_sparsity *s;
    tn_i_sides sides;
    tn_i_probe values, jvp, vjp;
    double *v;     /* tangents: columns */
    double *got;   /* jvp: rows */
    bool *suspect; /* rows */
    const void *const *x;
} checker;

/* Takes f over. */
static tn_i_probe made(tn_fn **f, bool *ok) {
    tn_i_probe p = {0};
    tn_fn *here = *f ? tn_i_in_memory(*f) : NULL;
    tn_i_fn_unref(*f);
    *f = here;
    *ok = *ok && here && tn_i_probe_init(&p, here, NULL);
    return p;
}

static void place(const checker *q, tn_i_probe *p) {
    for (uint32_t i = 0; i < q->f->nin; i++) {
        const size_t bytes = tn_type_bytes(q->f->val[i].type);
        if (bytes) memcpy(p->in[i], q->x[i], bytes);
    }
}

/* Elements of n arrays of types t from `to[0]` on, as numbers. */
static void spread(const tn_type *const *t, const int64_t *first, uint32_t n, void *const *to, const double *v) {
    for (uint32_t k = 0; k < n; k++)
        for (int64_t i = first[k]; i < first[k + 1]; i++) tn_i_probe_set(t[k], to[k], i - first[k], v[i]);
}

static void gathered(const tn_type *const *t, const int64_t *first, uint32_t n, void *const *from, double *v) {
    for (uint32_t k = 0; k < n; k++)
        for (int64_t i = first[k]; i < first[k + 1]; i++) v[i] = tn_i_probe_get(t[k], from[k], i - first[k]);
}

/* One pair of random tangents: rows whose sums differ by more than rounding become suspects. */
static tn_status compare(checker *q, uint64_t *seed) {
    const int64_t rows = q->s->rows, columns = q->s->columns;
    const tn_type *t = q->values.f->val[q->values.f->out[0]].type;
    tn_i_rng rng = {*seed};
    for (int64_t j = 0; j < columns; j++) q->v[j] = tn_i_uniform(&rng, 0.5, 1.5) * (tn_i_pick(&rng, 0, 1) ? 1 : -1);
    *seed = rng.state;
    spread(q->sides.wrt, q->sides.col, q->sides.nwrt, q->jvp.in + q->f->nin, q->v);
    const tn_status status = tn_i_probe_run(&q->jvp);
    if (status != TN_OK) return status;
    gathered(q->sides.out, q->sides.row, q->sides.nout, q->jvp.out + q->f->nout + q->skip, q->got);
    const double eps = q->sides.dtype == TN_F32 ? FLT_EPSILON : DBL_EPSILON;
    for (int64_t i = 0; i < rows; i++) {
        double sum = 0, scale = fabs(q->got[i]);
        for (int64_t e = q->s->ptr[i]; e < q->s->ptr[i + 1]; e++) {
            const double term = tn_i_probe_get(t, q->values.out[0], e) * q->v[q->s->ind[e]];
            sum += term;
            scale += fabs(term);
        }
        q->suspect[i] |= fabs(sum - q->got[i]) > 64 * eps * scale;
    }
    return TN_OK;
}

static bool has(const tn_sparsity *s, int64_t i, int64_t j) {
    int64_t lo = s->ptr[i], hi = s->ptr[i + 1];
    while (lo < hi) {
        const int64_t mid = lo + (hi - lo) / 2;
        if (s->ind[mid] == j) return true;
        if (s->ind[mid] < j)
            lo = mid + 1;
        else
            hi = mid;
    }
    return false;
}

/* Row i's gradient has nothing outside of the pattern. */
static tn_status row_is_covered(checker *q, int64_t i) {
    void **ct = q->vjp.in + q->f->nin;
    for (int64_t r = 0; r < q->s->rows; r++) q->got[r] = r == i;
    for (uint32_t k = 0; k < q->skip; k++) memset(ct[k], 0, tn_type_bytes(q->vjp.f->val[q->f->nin + k].type));
    spread(q->sides.out, q->sides.row, q->sides.nout, ct + q->skip, q->got);
    const tn_status status = tn_i_probe_run(&q->vjp);
    if (status != TN_OK) return status;
    gathered(q->sides.wrt, q->sides.col, q->sides.nwrt, q->vjp.out + q->f->nout, q->v);
    for (int64_t j = 0; j < q->s->columns; j++)
        if (q->v[j] != 0 && isfinite(q->v[j]) && !has(q->s, i, j))
            return tn_i_fail(q->f->ctx, TN_EINVAL, q->f->loc,
                             "%s: the pattern lacks entry (%lld, %lld), which is %.6g here", q->who, (long long)i,
                             (long long)j, q->v[j]);
    return TN_OK;
}

static tn_fn *entries(const checker *q) {
    tn_i_derivative d = {.who = q->who,
                         .given = q->f,
                         .wrt = q->wrt,
                         .unchecked = true,
                         .skip = q->skip,
                         .o = {.size = sizeof d.o, .sparsity = q->s}};
    return tn_i_derivative_program(&d, NULL);
}

static tn_status run(checker *q) {
    bool ok = true;
    tn_fn *values = entries(q), *jvp = values ? tn_jvp(q->f, q->wrt) : NULL, *vjp = NULL;
    q->values = made(&values, &ok);
    q->jvp = made(&jvp, &ok);
    tn_status status = ok ? TN_OK : tn_last_status(q->f->ctx);
    if (ok) {
        uint64_t seed = 18;
        place(q, &q->values);
        place(q, &q->jvp);
        status = tn_i_probe_run(&q->values);
        for (int k = 0; k < 2 && status == TN_OK; k++) status = compare(q, &seed);
    }
    for (int64_t i = 0; i < q->s->rows && status == TN_OK; i++) {
        if (!q->suspect[i]) continue;
        if (!vjp) {
            vjp = tn_vjp(q->f, q->wrt, NULL);
            q->vjp = made(&vjp, &ok);
            if (ok) place(q, &q->vjp);
        }
        status = ok ? row_is_covered(q, i) : tn_last_status(q->f->ctx);
    }
    tn_i_probe_free(&q->values);
    tn_i_probe_free(&q->jvp);
    tn_i_probe_free(&q->vjp);
    tn_i_fn_unref(values);
    tn_i_fn_unref(jvp);
    tn_i_fn_unref(vjp);
    return status;
}

static tn_status shapes(const checker *q) {
    const int64_t rows = q->sides.row[q->sides.nout], columns = q->sides.col[q->sides.nwrt];
    if (q->s->rows == rows && q->s->columns == columns) return TN_OK;
    return tn_i_fail(q->f->ctx, TN_ETYPE, q->f->loc, "%s: the pattern is %lld x %lld, the Jacobian %lld x %lld", q->who,
                     (long long)q->s->rows, (long long)q->s->columns, (long long)rows, (long long)columns);
}

tn_status tn_i_sparsity_covers(const char *who, const tn_fn *f, const tn_i_wrt *w, const tn_wrt_list *wrt,
                               uint32_t skip, const tn_sparsity *s, const void *const *x) {
    tn_ctx *c = f->ctx;
    checker q = {.who = who, .f = f, .wrt = wrt, .skip = skip, .s = s, .x = x};
    if (!tn_i_sides_init(&q.sides, who, f, w->n, w->index, skip)) return tn_last_status(c);
    tn_status status = shapes(&q);
    if (status == TN_OK) {
        q.v = tn_i_alloc_array(c, (size_t)s->columns, sizeof *q.v);
        q.got = tn_i_alloc_array(c, (size_t)s->rows, sizeof *q.got);
        q.suspect = tn_i_alloc_array(c, (size_t)s->rows, sizeof *q.suspect);
        status = q.v && q.got && q.suspect ? run(&q) : tn_last_status(c);
        tn_i_free(c, q.v, (size_t)s->columns * sizeof *q.v);
        tn_i_free(c, q.got, (size_t)s->rows * sizeof *q.got);
        tn_i_free(c, q.suspect, (size_t)s->rows * sizeof *q.suspect);
    }
    tn_i_sides_free(&q.sides);
    return status;
}

tn_status tn_sparsity_check(const tn_fn *f, const tn_wrt_list *wrt, const tn_sparsity *s, const void *const *x) {
    static const char who[] = "tn_sparsity_check";
    tn_i_wrt w;
    if (!tn_i_living(f)) return TN_EINVAL;
    if (!s || !x || s->ctx != f->ctx)
        return tn_i_fail(f->ctx, TN_EINVAL, NULL, !s || !x ? "%s: NULL" : "%s: the pattern is of another context", who);
    const void **at;
    if (!tn_i_given_values(who, "", f, x, &at)) return tn_last_status(f->ctx);
    tn_status status = TN_OK;
    for (uint32_t i = 0; i < f->nin && status == TN_OK; i++)
        if (!at[i] && tn_type_bytes(f->val[i].type))
            status = tn_i_fail(f->ctx, TN_EINVAL, NULL, "%s: input %u is NULL", who, (unsigned)i);
    if (status == TN_OK) status = tn_i_wrt_init(&w, who, f, wrt) ? TN_OK : tn_last_status(f->ctx);
    if (status == TN_OK) {
        status = tn_i_sparsity_covers(who, f, &w, wrt, 0, s, at);
        tn_i_wrt_free(&w);
    }
    tn_i_given_free(f, at);
    return status;
}
