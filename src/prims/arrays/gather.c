/* Windows read and added to at many places: gather scatter_add. */
#include "base/machine.h"
#include "prims/c_text.h"
#include "prims/scalar/complex.h"
#include "prims/forms.h"
#include "prims/ids.h"
#include "prims/sample.h"
#include "prims/arrays/windows.h"

#include <math.h>
#include <string.h>

/* ---- gather ---- */
enum { GATHER_DNUMS, GATHER_SIZES, GATHER_MODE, GATHER_FILL };
static const char *const gather_fields[] = {"offset_dims", "collapsed_slice_dims", "start_index_map",
                                            "operand_batching_dims", "start_indices_batching_dims"};
static const char *const gather_modes[] = {"clip", "fill", NULL};
static const tn_i_spec gather_params[] = {
    {.name = "dimension_numbers",
     .kind = TN_K_LISTS,
     .lists = TN_NDNUMS,
     .record = "GatherDimensionNumbers",
     .fields = gather_fields},
    {.name = "slice_sizes", .kind = TN_K_INTS},
    {.name = "mode", .kind = TN_K_SYM, .symbols = gather_modes},
    {.name = "fill_value",
     .kind = TN_K_NUMBER,
     .otherwise = "nan, the least signed integer, the greatest unsigned one or True"},
    {.name = NULL}};

static bool sizes_valid(tn_i_query *q, const tn_i_dnums *d) {
    const tn_type *in = q->in[0];
    const int64_t *sizes = tn_i_ints(q->p, GATHER_SIZES);
    if (!tn_i_length_is(q, GATHER_SIZES, (uint32_t)in->rank, "the rank of operand 0")) return false;
    for (uint32_t j = TN_COLLAPSED; j <= TN_OPERAND_BATCH; j++)
        for (uint32_t i = 0; j != TN_MAP && i < d->n[j]; i++)
            if (sizes[d->v[j][i]] != 1)
                return tn_i_type_fail(q, -1, "slice_sizes: dimension %lld is in %s, so its size must be 1, not %lld",
                                      (long long)d->v[j][i], gather_fields[j], (long long)sizes[d->v[j][i]]);
    for (int i = 0; i < in->rank; i++) {
        /* a batch of size 0 has no windows that could be too large */
        const bool batch = tn_i_dnums_has(d, TN_OPERAND_BATCH, i);
        if (sizes[i] < 0 || (!batch && sizes[i] > in->dim[i]))
            return tn_i_type_fail(q, 0, "slice_sizes: dimension %d of size %lld has no slice of size %lld", i,
                                  (long long)in->dim[i], (long long)sizes[i]);
    }
    return true;
}

const tn_i_param tn_i_fill_zero = {.kind = TN_K_NUMBER, .n = TN_I64};

/* The bytes of fill_value as a number of this dtype, or of JAX's default of it; false: it has no such number. */
static bool fill_bits(const tn_i_param *x, int dtype, uint64_t *bits) {
    const bool given = x->kind != TN_K_NONE, whole = x->n == TN_I64;
    const int64_t i = x->u.i;
    double d = NAN;
    if (given && whole) d = (double)i;
    if (given && x->n == TN_F64) memcpy(&d, &x->u.i, sizeof d);
    unsigned char at[8];
    if (tn_i_is_float(dtype)) {
        tn_i_element_set(dtype, at, d);
        *bits = tn_i_bits_at(dtype, at);
        return !given || (x->n != TN_BOOL && (isinf(d) || !isinf(tn_i_element(dtype, at))));
    }
    *bits = tn_i_extreme_bits(dtype, dtype == TN_BOOL || tn_i_is_unsigned(dtype));
    if (!given) return true;
    tn_i_put_bits(dtype, at, dtype == TN_BOOL ? i != 0 : (uint64_t)i);
    *bits = tn_i_bits_at(dtype, at);
    const bool fits =
        dtype == TN_U64 ? i >= 0 : tn_i_element(dtype, at) == (double)i && (i >= 0) == (tn_i_element(dtype, at) >= 0);
    return (whole && fits) || (dtype == TN_BOOL && x->n == TN_BOOL);
}

static bool refuse_fill(tn_i_query *q) {
    const tn_i_param *x = &q->p[GATHER_FILL];
    const char *name = tn_i_dtype_name(q->in[0]->dtype);
    double d;
    memcpy(&d, &x->u.i, sizeof d);
    if (x->n == TN_BOOL) return tn_i_type_fail(q, -1, "fill_value: %s is no %s", x->u.i ? "True" : "False", name);
    if (x->n == TN_I64) return tn_i_type_fail(q, -1, "fill_value: %lld is no %s", (long long)x->u.i, name);
    return tn_i_type_fail(q, -1, "fill_value: %.17g is no %s", d, name);
}

static bool fill_valid(tn_i_query *q) {
    uint64_t bits;
    if (q->p[GATHER_MODE].u.i != TN_CLIP && q->p[GATHER_MODE].u.i != TN_FILL)
        return tn_i_type_fail(q, -1, "mode must be clip or fill");
    return fill_bits(&q->p[GATHER_FILL], q->in[0]->dtype, &bits) || refuse_fill(q);
}

static bool type_gather(tn_i_query *q) {
    tn_i_dnums d;
    int rank;
    if (!tn_i_params_given(q) || !tn_i_dnums_valid(q, &d, &rank) || !sizes_valid(q, &d) || !fill_valid(q)) return false;
    int64_t dim[TN_MAX_RANK], window[TN_MAX_RANK];
    uint32_t n = 0, at = 0;
    for (int i = 0; i < q->in[0]->rank; i++)
        if (tn_i_in_window(&d, i)) window[n++] = tn_i_ints(q->p, GATHER_SIZES)[i];
    for (int i = 0; i < rank; i++) {
        if (at < n && d.v[TN_WINDOW][at] == i)
            dim[i] = window[at++];
        else
            dim[i] = q->in[1]->dim[i - (int)at];
    }
    return tn_i_output(q, q->in[0]->dtype, rank, dim);
}

/* What stands for a window outside: fill_value, or JAX's default of the dtype. */
uint64_t tn_i_gather_fill(const tn_i_param *p, int dtype) {
    uint64_t bits;
    (void)fill_bits(&p[GATHER_FILL], dtype, &bits); /* the type rule has seen it */
    return bits;
}

/* A run of windows; fill: what stands for those outside, or NULL: they are held inside. */
typedef void gather_run(const tn_i_windows *w, const tn_i_walk *copy, const void *indices, const void *operand,
                        const void *fill, void *windows);

#define GATHER_RUN(type, index)                                                                                      \
    static void gather_##type##_##index(const tn_i_windows *w, const tn_i_walk *copy, const void *indices,           \
                                        const void *operand, const void *fill, void *windows) {                      \
        const index *at = indices;                                                                                   \
        const type *in = operand;                                                                                    \
        type *out = windows, blank = 0;                                                                              \
        const int inner = w->rank - 1;                                                                               \
        const int64_t n = copy->rank ? copy->dim[0] : 1, from = copy->rank ? copy->src[0] : 0,                       \
                      to = copy->rank ? copy->dst[0] : 0, last = w->last[0];                                         \
        const int64_t by = w->index_stride[inner], ahead = w->operand_stride[inner], next = w->window_stride[inner], \
                      stride = w->column_operand[0];                                                                 \
        if (fill) memcpy(&blank, fill, sizeof blank);                                                                \
        const int64_t count = w->dim[inner];                                                                         \
        const bool row = n > 3 && from == 1 && to == 1;                                                              \
        if (n == 1 && by == 1 && ahead == 0 && next == 1 && stride == 1 && !fill) {                                  \
            for (int64_t i = 0; i < count; i++) {                                                                    \
                const int64_t x = (int64_t)at[i];                                                                    \
                out[i] = in[x < 0 ? 0 : x > last ? last : x];                                                        \
            }                                                                                                        \
            return;                                                                                                  \
        }                                                                                                            \
        for (int64_t i = 0; i < count; i++, at += by, in += ahead, out += next) {                                    \
            int64_t x = (int64_t)*at;                                                                                \
            const bool outside = (uint64_t)x > (uint64_t)last;                                                       \
            if (outside) x = x < 0 ? 0 : last;                                                                       \
            if (outside && fill)                                                                                     \
                for (int64_t j = 0; j < n; j++) out[j * to] = blank;                                                 \
            else if (row)                                                                                            \
                memcpy(out, in + x * stride, (size_t)n * sizeof *out);                                               \
            else                                                                                                     \
                for (int64_t j = 0; j < n; j++) out[j * to] = in[x * stride + j * from];                             \
        }                                                                                                            \
    }
GATHER_RUN(uint32_t, int32_t)
GATHER_RUN(uint32_t, int64_t)
GATHER_RUN(uint64_t, int32_t)
GATHER_RUN(uint64_t, int64_t)

/* Many short windows, each chosen by one index, as of a table's rows; false: others. */
static bool gather_rows(tn_i_windows w, const tn_i_walk *copy, const tn_i_arr *in, const tn_i_arr *out,
                        const void *fill) {
    const bool narrow = w.indices->type->dtype == TN_I32;
    const size_t size = tn_i_dtype_size(in->type->dtype), wide = narrow ? 4 : 8;
    if (w.columns != 1 || w.too_large || copy->empty || size < 4) return false;
    if (copy->rank > 1 || (copy->rank == 1 && copy->dim[0] > TN_M_GATHER_ROW)) return false;
    gather_run *run = narrow ? gather_uint64_t_int32_t : gather_uint64_t_int64_t;
    if (size == 4) run = narrow ? gather_uint32_t_int32_t : gather_uint32_t_int64_t;
    tn_i_windows_merge(&w);
    for (int64_t i = 0; i < tn_i_window_runs(&w); i++) {
        const tn_i_window_run r = tn_i_window_run_at(&w, i);
        run(&w, copy, tn_i_at(w.indices->data, wide, r.index), tn_i_at(in->data, size, r.operand), fill,
            tn_i_at_mut(out->data, size, r.window));
    }
    return true;
}

static tn_status kernel_gather(const tn_i_kernel *k) {
    const tn_i_arr *in = &k->in[0];
    const size_t size = tn_i_dtype_size(in->type->dtype);
    const int64_t *sizes = tn_i_ints(k->p, GATHER_SIZES), none[TN_MAX_RANK] = {0};
    const uint64_t bits = tn_i_gather_fill(k->p, in->type->dtype);
    int64_t dim[TN_MAX_RANK], from[TN_MAX_RANK], to[TN_MAX_RANK];
    unsigned char fill[8] = {0};
    tn_i_arr out = *k->out;
    tn_i_dnums d;
    tn_i_windows w;
    tn_i_walk copy, blank;
    int rank;
    const bool clip = k->p[GATHER_MODE].u.i == TN_CLIP;
    if (tn_i_count(out.type) == 0) return TN_OK;
    memcpy(fill, &bits, sizeof fill); /* a literal's bits are its bytes in memory order */
    tn_i_dense_strides(out.type, out.stride);
    tn_i_dnums_read(&d, &k->p[GATHER_DNUMS]);
    tn_i_window_strides(&d, sizes, in, &out, &rank, dim, from, to);
    tn_i_walk_init(&copy, rank, dim, from, to);
    tn_i_walk_init(&blank, rank, dim, none, to);
    tn_i_windows_init(&w, &d, sizes, in, &k->in[1], &out);
    if (gather_rows(w, &copy, in, &out, clip ? NULL : fill)) return TN_OK;
    while (tn_i_windows_next(&w)) {
        void *target = tn_i_at_mut(out.data, size, w.to);
        if (clip || w.inside)
            tn_i_walk_run(&copy, tn_i_copy_row(size), size, tn_i_at(in->data, size, w.from), target);
        else
            tn_i_walk_run(&blank, tn_i_copy_row(size), size, fill, target);
    }
    return TN_OK;
}

static void windows_gather(const tn_i_kernel *k, tn_i_window_form *f) {
    const tn_i_arr *in = &k->in[0];
    const int64_t *sizes = tn_i_ints(k->p, GATHER_SIZES);
    tn_i_dnums d;
    tn_i_windows w;
    *f = (tn_i_window_form){.how = TN_WINDOWS_READ, .none = true};
    if (tn_i_count(k->out->type) == 0) return;
    tn_i_dnums_read(&d, &k->p[GATHER_DNUMS]);
    tn_i_windows_init(&w, &d, sizes, in, &k->in[1], k->out);
    tn_i_window_form_of(&w, 1, f);
    tn_i_window_strides(&d, sizes, in, k->out, &f->inner, f->size, f->in_place, f->in_window);
    f->clip = k->p[GATHER_MODE].u.i == TN_CLIP;
    f->fill = tn_i_gather_fill(k->p, in->type->dtype);
}

/* Filling with anything but 0 is not linear. */
static bool fills_zero(const tn_i_param *p) {
    const tn_i_param *x = &p[GATHER_FILL];
    uint64_t bits;
    if (p[GATHER_MODE].u.i == TN_CLIP) return true;
    memcpy(&bits, &x->u.i, sizeof bits);
    return x->kind != TN_K_NONE && tn_i_zero_bits((int)x->n, bits);
}

static bool linearity_gather(const tn_fn *f, const tn_i_eqn *e, const uint8_t *in, uint8_t *out) {
    out[0] = TN_NONLINEAR;
    if (in[1] == TN_LINEAR) {
        (void)tn_i_fail(f->ctx, TN_ELINEAR, e->loc, "gather: operand 1: indices may not depend on a linear input");
        return false;
    }
    if (in[0] == TN_NONLINEAR) return true;
    if (fills_zero(tn_i_p(e))) {
        out[0] = in[0];
        return true;
    }
    if (in[0] == TN_ZERO) return true;
    (void)tn_i_fail(f->ctx, TN_ELINEAR, e->loc, "gather: operand 0: not linear with mode=fill, unless fill_value=0");
    return false;
}

static tn_i_var simplify_gather(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                                const tn_type *out) {
    (void)nin;
    uint64_t bits;
    if (!tn_i_known_scalar(b, in[0], &bits)) return TN_NOVAR;
    return p[GATHER_MODE].u.i == TN_CLIP || bits == tn_i_gather_fill(p, out->dtype) ? tn_i_respread(b, in[0], out)
                                                                                    : TN_NOVAR;
}

/* What fills the primal is constant, so its tangent is 0. */
static void jvp_gather(tn_i_rule *r, const tn_i_var *din, tn_i_var *dout) {
    tn_i_dnums d;
    tn_i_dnums_read(&d, &r->p[GATHER_DNUMS]);
    if (din[0] == TN_NOVAR) {
        dout[0] = TN_NOVAR;
        return;
    }
    const bool clip = r->p[GATHER_MODE].u.i == TN_CLIP;
    dout[0] = tn_i_gather(r->b, din[0], r->in[1], &d, tn_i_ints(r->p, GATHER_SIZES), clip ? TN_CLIP : TN_FILL,
                          clip ? NULL : &tn_i_fill_zero);
}

static void transpose_gather(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    tn_i_dnums d;
    if (!fills_zero(r->p)) {
        tn_i_rule_fail(r, TN_ELINEAR, 0, "not linear with mode=fill, unless fill_value=0");
        return;
    }
    tn_i_dnums_read(&d, &r->p[GATHER_DNUMS]);
    ct_in[0] = tn_i_scatter_add(r->b, tn_i_accumulated(r), r->in[1], ct[0], &d, r->p[GATHER_MODE].u.i == TN_CLIP);
}

static void batch_gather(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    tn_i_dnums d, front;
    tn_i_dnums_read(&d, &r->p[GATHER_DNUMS]);
    tn_i_dnums_batch(&front, &d, batched[0], batched[1]);
    int64_t sizes[TN_MAX_RANK + 1];
    const int up = batched[0] ? 1 : 0;
    sizes[0] = batched[1] ? 1 : r->batch;
    for (uint32_t i = 0; i < r->p[GATHER_SIZES].n; i++) sizes[up + (int)i] = tn_i_ints(r->p, GATHER_SIZES)[i];
    *out = tn_i_gather(r->b, r->in[0], r->in[1], &front, sizes, (int)r->p[GATHER_MODE].u.i, &r->p[GATHER_FILL]);
    *out_batched = true;
}

/* Touches the windows only. */
static void cost_gather(const tn_i_query *q, tn_i_cost *cost) {
    cost->bytes += tn_i_bytes_of(q->in[1]) + 2 * tn_i_bytes_of(&q->out[0]);
}

static tn_i_param sample_fill(tn_i_rng *r, int dtype) {
    const int64_t x = dtype == TN_BOOL ? tn_i_pick(r, 0, 1) : tn_i_pick(r, tn_i_is_unsigned(dtype) ? 0 : -3, 3);
    const double half = (double)x / 2;
    tn_i_param p = {.kind = TN_K_NUMBER, .n = TN_I64, .u.i = x};
    if (!tn_i_is_float(dtype) || tn_i_pick(r, 0, 1)) return p;
    p.n = TN_F64;
    memcpy(&p.u.i, &half, sizeof half);
    return p;
}

/* A default filling (NaN for floats) is only drawn with indices that are inside, where the laws can see. */
static bool sample_gather(tn_i_rng *r, int dtype, tn_i_case *c) {
    tn_type windows;
    int64_t sizes[TN_MAX_RANK];
    if (!tn_i_sample_windows(r, dtype, c, true, sizes, &windows)) return false;
    tn_i_dnums d;
    tn_i_dnums_read(&d, &c->p[GATHER_DNUMS]);
    int64_t last = 1000;
    for (uint32_t k = 0; k < d.n[TN_MAP]; k++) {
        const int64_t x = c->in[0].dim[d.v[TN_MAP][k]] - sizes[d.v[TN_MAP][k]];
        if (x < last) last = x;
    }
    const int64_t kind = tn_i_pick(r, 0, 3);
    c->p[GATHER_MODE] = (tn_i_param){.kind = TN_K_SYM, .u.i = kind < 2 ? TN_CLIP : TN_FILL};
    c->p[GATHER_FILL] = (tn_i_param){.kind = TN_K_NONE};
    if (kind == 2) c->p[GATHER_FILL] = sample_fill(r, dtype);
    if (kind == 3)
        c->domain[1] = (tn_i_domain){.lo = -0.5, .hi = (double)last + 0.5}; /* lo = hi = 0 would mean the default */
    return tn_i_case_list(c, GATHER_SIZES, (uint32_t)c->in[0].rank, sizes);
}

/* ---- C text ---- */

void tn_i_c_open_windows(const tn_i_c_kernel *k, const tn_i_windows *w, bool inside) {
    tn_i_c_open(k->t, "w", w->rank, w->dim);
    tn_i_text_put(k->t, "const int64_t to = ");
    tn_i_c_at(k->t, "w", w->rank, w->dim, w->window_stride);
    tn_i_text_put(k->t, ";\nint64_t from = ");
    tn_i_c_at(k->t, "w", w->rank, w->dim, w->operand_stride);
    if (inside) tn_i_text_put(k->t, ";\nint inside = %d", !w->too_large);
    tn_i_text_put(k->t, ";\n");
    for (uint32_t c = 0; c < w->columns; c++) {
        tn_i_text_put(k->t, "{\nint64_t x = in1[%lld + ", (long long)((int64_t)c * w->column_stride));
        tn_i_c_at(k->t, "w", w->rank, w->dim, w->index_stride);
        const char *note = inside ? "{ x = %lld; inside = 0; }" : "x = %lld;";
        tn_i_text_put(k->t, "];\nif (x < 0) ");
        tn_i_text_put(k->t, note, 0LL);
        tn_i_text_put(k->t, "\nif (x > %lld) ", (long long)w->last[c]);
        tn_i_text_put(k->t, note, (long long)w->last[c]);
        tn_i_text_put(k->t, "\nfrom += x * (%lld);\n}\n", (long long)w->column_operand[c]);
    }
}

static void c_gather(const tn_i_c_kernel *k) {
    const int64_t *sizes = tn_i_ints(k->p, GATHER_SIZES);
    const uint64_t bits = tn_i_gather_fill(k->p, k->in[0].type->dtype);
    const bool clip = k->p[GATHER_MODE].u.i == TN_CLIP;
    int64_t dim[TN_MAX_RANK], from[TN_MAX_RANK], to[TN_MAX_RANK];
    tn_i_dnums d;
    tn_i_windows w;
    int rank;
    tn_i_dnums_read(&d, &k->p[GATHER_DNUMS]);
    tn_i_window_strides(&d, sizes, &k->in[0], &k->out[0], &rank, dim, from, to);
    tn_i_windows_init(&w, &d, sizes, &k->in[0], &k->in[1], &k->out[0]);
    tn_i_c_open_windows(k, &w, !clip);
    tn_i_c_open(k->t, "i", rank, dim);
    tn_i_text_put(k->t, "out0[to + ");
    tn_i_c_at(k->t, "i", rank, dim, to);
    tn_i_text_put(k->t, clip ? "] = in0[from + " : "] = inside ? in0[from + ");
    tn_i_c_at(k->t, "i", rank, dim, from);
    if (clip)
        tn_i_text_put(k->t, "];\n");
    else {
        tn_i_text_put(k->t, "] : ");
        tn_i_c_number(k->t, k->in[0].type->dtype, &bits);
        tn_i_text_put(k->t, ";\n");
    }
    tn_i_c_close(k->t, rank, dim);
    tn_i_c_close(k->t, w.rank, w.dim);
}

/* Wherever the windows are. */
static bool sums_gather(const tn_i_query *q, uint32_t operand, tn_i_sums *s) {
    const tn_type *in = q->in[0];
    const int64_t *sizes = tn_i_ints(q->p, GATHER_SIZES);
    int64_t from[TN_MAX_RANK], to[TN_MAX_RANK], anywhere = 0;
    uint32_t window = 0, batch = 0;
    tn_i_dnums d;
    tn_i_dnums_read(&d, &q->p[GATHER_DNUMS]);
    tn_i_dense_strides(in, from);
    tn_i_dense_strides(q->out, to);
    for (int i = 0; i < in->rank; i++)
        if (tn_i_dnums_has(&d, TN_MAP, i) && sizes[i] < in->dim[i]) anywhere |= 1 << i;
    for (int i = 0; i < in->rank; i++)
        if (tn_i_in_window(&d, i)) {
            tn_i_sums_loop(s, false, sizes[i], to[d.v[TN_WINDOW][window]], anywhere >> i & 1 ? 0 : from[i], 0);
            window++;
        }
    for (int i = 0; i < q->out->rank; i++) {
        if (tn_i_dnums_has(&d, TN_WINDOW, i)) continue;
        int64_t paired = 0;
        for (uint32_t k = 0; k < d.n[TN_INDEX_BATCH]; k++)
            if (d.v[TN_INDEX_BATCH][k] == batch) paired = from[d.v[TN_OPERAND_BATCH][k]];
        tn_i_sums_loop(s, false, q->out->dim[i], to[i], paired, 0);
        batch++;
    }
    for (int i = 0; i < in->rank; i++)
        if (anywhere >> i & 1) tn_i_sums_loop(s, true, in->dim[i], 0, from[i], 0);
    s->factor = -2;
    return operand == 0;
}

static tn_i_var written_gather(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in) {
    return tn_i_unsigned_places(b, TN_P_gather, p, nin, in, 1, 2);
}

const tn_prim tn_prim_gather = {
    .id = TN_P_gather,
    .name = "gather",
    .doc = "windows of slice_sizes at the index vectors; mode=clip clamps starts, mode=fill gives fill_value for "
           "windows not "
           "wholly inside (default NaN, the least integer, of u32 the greatest, True)",
    .nin = 2,
    .dtypes = TN_ANY,
    .params = gather_params,
    .type = type_gather,
    .linearity = linearity_gather,
    .simplify = simplify_gather,
    .jvp = jvp_gather,
    .transpose = transpose_gather,
    .batch = batch_gather,
    .kernel = kernel_gather,
    .windows = windows_gather,
    .c_kernel = c_gather,
    .cost = cost_gather,
    .jvp_bound = 2,
    .transpose_bound = 3,
    .sample = sample_gather,
    .spread = TN_SPREAD_MOVES,
    .sums = sums_gather,
    .written = written_gather,
    .complex = tn_i_complex_of_parts,
};

/* ---- scatter_add ---- */

static bool type_scatter_add(tn_i_query *q) {
    if (q->in[0]->dtype == TN_BOOL) return tn_i_type_fail(q, 0, "scatter_add is not defined for bool");
    return tn_i_type_scatter(q);
}

static tn_status kernel_scatter_add(const tn_i_kernel *k) {
    return tn_i_scatter_elements(k, true) ? TN_OK : tn_i_scatter_by(k, tn_i_add_row(k->out->type->dtype));
}

static void windows_scatter_add(const tn_i_kernel *k, tn_i_window_form *f) { tn_i_scatter_form(k, TN_P_add, f); }

/* Element i of an index vector, where it is known. */
static bool known_index(const tn_i_builder *b, tn_i_var v, uint32_t i, int64_t *x) {
    const tn_type *t = tn_i_vtype(b, v);
    const tn_i_eqn *e = tn_i_def(b, v);
    const void *data = e && e->prim->id == TN_P_constant ? tn_i_blob_data(tn_i_p(e)[0].u.blob) : NULL;
    uint64_t bits;
    if (data)
        *x = t->dtype == TN_I32 ? ((const int32_t *)data)[i] : ((const int64_t *)data)[i];
    else if (tn_i_known_scalar(b, v, &bits))
        *x = t->dtype == TN_I32 ? (int32_t)(uint32_t)bits : (int64_t)bits;
    else
        return false;
    return true;
}

/* One update at a place that is known and inside is added to a slice. */
static tn_i_var at_known_place(tn_i_builder *b, const tn_i_param *p, const tn_i_var *in) {
    const tn_type of = *tn_i_vtype(b, in[0]), update = *tn_i_vtype(b, in[2]);
    int64_t start[TN_MAX_RANK] = {0}, limit[TN_MAX_RANK], sizes[TN_MAX_RANK];
    tn_i_dnums d;
    tn_i_dnums_read(&d, &p[TN_SCATTER_DNUMS]);
    if (d.n[TN_WINDOW] != (uint32_t)update.rank || d.n[TN_INDEX_BATCH]) return TN_NOVAR;
    for (uint32_t c = 0; c < d.n[TN_MAP]; c++)
        if (!known_index(b, in[1], c, &start[d.v[TN_MAP][c]])) return TN_NOVAR;
    tn_i_window_sizes(&d, &of, &update, sizes);
    for (int i = 0; i < of.rank; i++) {
        const int64_t last = of.dim[i] - sizes[i];
        if (last < 0 || (!tn_i_scatter_clips(p) && (start[i] < 0 || start[i] > last))) return TN_NOVAR;
        start[i] = start[i] < 0 ? 0 : start[i] > last ? last : start[i];
        limit[i] = start[i] + sizes[i];
    }
    return tn_i_slice_add(b, in[0], tn_i_reshape(b, in[2], of.rank, sizes), start, limit, NULL);
}

/* x + 0 is x but for the sign of a zero, which linear programs do not keep. */
static tn_i_var simplify_scatter_add(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                                     const tn_type *out) {
    (void)nin;
    double k;
    if (tn_i_count(tn_i_vtype(b, in[2])) == 0) return in[0];
    if (b->val[in[0]].linear && tn_i_is_zero(b, in[2])) return in[0];
    if (tn_i_is_int(out->dtype) && tn_i_known_f64(b, in[2], &k) && k == 0.0) return in[0];
    return at_known_place(b, p, in);
}

static void jvp_scatter_add(tn_i_rule *r, const tn_i_var *din, tn_i_var *dout) {
    tn_i_dnums d;
    tn_i_dnums_read(&d, &r->p[TN_SCATTER_DNUMS]);
    dout[0] = din[0];
    if (din[2] == TN_NOVAR) return;
    tn_i_var x = din[0] != TN_NOVAR ? din[0] : tn_i_zeros(r->b, r->in_type[0]);
    dout[0] = tn_i_scatter_add(r->b, x, r->in[1], din[2], &d, tn_i_scatter_clips(r->p));
}

static void transpose_scatter_add(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    const tn_i_scatter_site s = tn_i_scatter_site_of(r);
    if (r->in[2] == TN_NOVAR)
        ct_in[2] = s.fits ? tn_i_scatter_read(r, &s, ct[0], &tn_i_fill_zero) : tn_i_zeros(r->b, r->in_type[2]);
    if (r->in[0] == TN_NOVAR) ct_in[0] = ct[0];
}

/* In place: touches the windows only. */
static void cost_scatter_add(const tn_i_query *q, tn_i_cost *cost) {
    cost->flops += (double)tn_i_count(q->in[2]);
    cost->bytes += tn_i_bytes_of(q->in[1]) + 3 * tn_i_bytes_of(q->in[2]);
}

static void c_scatter_add(const tn_i_c_kernel *k) {
    const int dtype = k->out[0].type->dtype;
    const char *u = tn_i_is_float(dtype) ? tn_i_c_name(dtype) : tn_i_dtype_size(dtype) == 4 ? "uint32_t" : "uint64_t";
    tn_i_scattered s;
    if (!tn_i_c_open_scattered(k, &s)) return;
    tn_i_text_put(k->t, "*at = (%s)((%s)*at + (%s)update);\n", tn_i_c_name(dtype), u, u);
    tn_i_c_close_scattered(k, &s);
}

static void places_scatter_add(const tn_i_kernel *k, int64_t *at) {
    const tn_type *t = k->in[2].type;
    const int64_t n = tn_i_count(t);
    tn_i_arr updates = k->in[2], out = *k->out;
    tn_i_scattered s;
    for (int64_t i = 0; i < n; i++) at[i] = -1;
    if (n == 0) return;
    tn_i_dense_strides(t, updates.stride);
    tn_i_dense_strides(out.type, out.stride);
    tn_i_scattered_init(&s, k->p, &out, &k->in[1], &updates);
    const tn_type window = tn_type_of(TN_BOOL, (size_t)s.rank, s.dim);
    const int64_t m = tn_i_count(&window);
    while (tn_i_scattered_next(&s))
        for (int64_t i = 0; i < m; i++) {
            int64_t rest = i, u = s.w.to, v = s.w.from;
            for (int j = s.rank; j-- > 0; rest /= s.dim[j]) {
                u += rest % s.dim[j] * s.from[j];
                v += rest % s.dim[j] * s.to[j];
            }
            at[u] = v;
        }
}

static tn_i_var written_scatter_add(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in) {
    return tn_i_unsigned_places(b, TN_P_scatter_add, p, nin, in, 1, 2);
}

const tn_prim tn_prim_scatter_add = {
    .id = TN_P_scatter_add,
    .name = "scatter_add",
    .doc =
        "operand 0 with each update added at its index vector; windows not wholly inside are dropped, with mode=clip "
        "their starts are clamped; integers wrap",
    .nin = 3,
    .flags = TN_F_INPLACE,
    .dtypes = TN_NUMBERS,
    .params = tn_i_scatter_spec,
    .type = type_scatter_add,
    .linear = {TN_OPERAND(0) | TN_OPERAND(2)},
    .simplify = simplify_scatter_add,
    .jvp = jvp_scatter_add,
    .transpose = transpose_scatter_add,
    .batch = tn_i_batch_scatter,
    .kernel = kernel_scatter_add,
    .windows = windows_scatter_add,
    .c_kernel = c_scatter_add,
    .cost = cost_scatter_add,
    .jvp_bound = 3,
    .transpose_bound = 3,
    .sample = tn_i_sample_scatter,
    .spread = TN_SPREAD_ADDS,
    .sums = tn_i_scatter_sums,
    .places = places_scatter_add,
    .written = written_scatter_add,
};

static tn_i_var written_scatter_sub(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in) {
    if (nin != 3) {
        tn_i_builder_fail(b, TN_ETYPE, "scatter-sub: %u operands, not 3", (unsigned)nin);
        return TN_NOVAR;
    }
    const tn_i_var operands[3] = {in[0], in[1], tn_i_op1(b, TN_P_neg, in[2])};
    return b->failed ? TN_NOVAR : tn_i_emit(b, tn_i_prim(b, TN_P_scatter_add), p, 3, operands);
}
const tn_prim tn_i_scatter_sub_form = {
    .id = -1, .name = "scatter-sub", .nin = 3, .params = tn_i_scatter_spec, .written = written_scatter_sub};
