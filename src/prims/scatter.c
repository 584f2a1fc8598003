/* Windows written at many places: scatter. */
#include "prims/c_text.h"
#include "prims/sample.h"
#include "prims/windows.h"

enum { DNUMS, MODE, UNIQUE };
static const char *const modes[] = {"drop", "clip", NULL};
static const tn_i_spec params[] = {{.name = "dimension_numbers",
                                    .kind = TN_K_LISTS,
                                    .lists = TN_NDNUMS,
                                    .record = "ScatterDimensionNumbers",
                                    .fields = tn_i_scatter_fields},
                                   {.name = "mode", .kind = TN_K_SYM, .otherwise = "drop", .symbols = modes},
                                   {.name = "unique_indices", .kind = TN_K_BOOL, .otherwise = "False"},
                                   {.name = NULL}};

static bool clips(const tn_i_param *p) { return p[MODE].kind == TN_K_SYM && p[MODE].u.i == 1; }
static bool promised(const tn_i_param *p) { return p[UNIQUE].kind == TN_K_BOOL && p[UNIQUE].u.i; }

static bool type_scatter(tn_i_query *q) {
    tn_i_dnums d;
    int rank;
    if (!tn_i_params_given(q)) return false;
    if (q->p[MODE].kind == TN_K_SYM && (q->p[MODE].u.i < 0 || q->p[MODE].u.i > 1))
        return tn_i_type_fail(q, -1, "mode must be drop or clip");
    return tn_i_dnums_valid(q, &d, &rank) && tn_i_updates_valid(q, &d, rank) && tn_i_output_type(q, q->in[0]);
}

/* The windows over result and updates, and the loops over one of them. */
static int windows_of(const tn_i_param *p, const tn_i_arr *out, const tn_i_arr *indices, const tn_i_arr *updates,
                      tn_i_windows *w, int64_t *dim, int64_t *to, int64_t *from) {
    int64_t sizes[TN_MAX_RANK];
    tn_i_dnums d;
    int rank;
    tn_i_dnums_read(&d, &p[DNUMS]);
    tn_i_window_sizes(&d, out->type, updates->type, sizes);
    tn_i_window_strides(&d, sizes, out, updates, &rank, dim, to, from);
    tn_i_windows_init(w, &d, sizes, out, indices, updates);
    return rank;
}

static tn_status kernel_scatter(const tn_i_kernel *k) {
    const tn_i_arr *updates = &k->in[2];
    const size_t size = tn_i_dtype_size(k->out->type->dtype);
    const bool clip = clips(k->p);
    int64_t dim[TN_MAX_RANK], from[TN_MAX_RANK], to[TN_MAX_RANK];
    tn_i_arr out = *k->out;
    tn_i_windows w;
    tn_i_walk copy;
    if (out.data != k->in[0].data) tn_i_copy_array(&k->in[0], &out);
    if (tn_i_count(updates->type) == 0) return TN_OK;
    tn_i_dense_strides(out.type, out.stride);
    const int rank = windows_of(k->p, &out, &k->in[1], updates, &w, dim, to, from);
    tn_i_walk_init(&copy, rank, dim, from, to);
    while (tn_i_windows_next(&w))
        if (clip ? !w.too_large : w.inside)
            tn_i_walk_run(&copy, tn_i_copy_row(size), size, tn_i_at(updates->data, size, w.to),
                          tn_i_at_mut(out.data, size, w.from));
    return TN_OK;
}

static void c_scatter(const tn_i_c_kernel *k) {
    const bool clip = clips(k->p);
    int64_t dim[TN_MAX_RANK], from[TN_MAX_RANK], to[TN_MAX_RANK];
    tn_i_windows w;
    tn_i_c_copy_operand(k);
    if (tn_i_count(k->in[2].type) == 0) return;
    const int rank = windows_of(k->p, &k->out[0], &k->in[1], &k->in[2], &w, dim, to, from);
    if (clip && w.too_large) return;
    tn_i_c_open_windows(k, &w, !clip);
    if (!clip) tn_i_text_put(k->t, "if (inside) {\n");
    tn_i_c_open(k->t, "i", rank, dim);
    tn_i_text_put(k->t, "out0[from + ");
    tn_i_c_at(k->t, "i", rank, dim, to);
    tn_i_text_put(k->t, "] = in2[to + ");
    tn_i_c_at(k->t, "i", rank, dim, from);
    tn_i_text_put(k->t, "];\n");
    tn_i_c_close(k->t, rank, dim);
    if (!clip) tn_i_text_put(k->t, "}\n");
    tn_i_c_close(k->t, w.rank, w.dim);
}

static tn_i_var simplify_scatter(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                                 const tn_type *out) {
    (void)p, (void)nin, (void)out;
    uint64_t x, y;
    if (tn_i_count(tn_i_vtype(b, in[2])) == 0) return in[0];
    return tn_i_known_scalar(b, in[0], &x) && tn_i_known_scalar(b, in[2], &y) && x == y ? in[0] : TN_NOVAR;
}

/* ---- transposition ---- */

typedef struct scatter_site {
    tn_i_dnums d;
    int64_t sizes[TN_MAX_RANK];
    bool clip, unique, fits; /* fits: windows fit in the operand, so that gather takes them */
} scatter_site;

static scatter_site site_of(const tn_i_rule *r) {
    const tn_type *in = r->in_type[0], *updates = r->in_type[2];
    scatter_site s = {.clip = clips(r->p), .unique = promised(r->p), .fits = true};
    int64_t windows = 1;
    tn_i_dnums_read(&s.d, &r->p[DNUMS]);
    tn_i_window_sizes(&s.d, in, updates, s.sizes);
    for (uint32_t i = 0; i < s.d.n[TN_COLLAPSED]; i++) s.fits &= in->dim[s.d.v[TN_COLLAPSED][i]] > 0;
    for (int i = 0; i + 1 < r->in_type[1]->rank; i++)
        if (!tn_i_dnums_has(&s.d, TN_INDEX_BATCH, i)) windows *= r->in_type[1]->dim[i] > 1 ? 2 : 1;
    s.unique |= windows == 1;
    return s;
}

static tn_i_var read_windows(tn_i_rule *r, const scatter_site *s, tn_i_var x, const tn_i_param *fill) {
    return tn_i_gather(r->b, x, r->in[1], &s->d, s->sizes, s->clip ? TN_CLIP : TN_FILL, s->clip ? NULL : fill);
}

/* Whether each update is the one that stays: their numbers are scattered, and read again. */
static tn_i_var stays(tn_i_rule *r, const scatter_site *s) {
    tn_i_builder *b = r->b;
    const tn_type *updates = r->in_type[2];
    const int64_t n = tn_i_count(updates);
    tn_type whole = *r->in_type[0];
    whole.dtype = n > INT32_MAX ? TN_I64 : TN_I32;
    const tn_i_var line = tn_i_iota(b, whole.dtype, 1, &n, 0);
    const tn_i_var number = tn_i_reshape(b, line, updates->rank, updates->dim);
    const tn_i_var none = tn_i_whole_number(b, &whole, -1);
    const tn_i_var last = tn_i_scatter(b, none, r->in[1], number, &s->d, s->clip, false);
    return tn_i_op2(b, TN_P_eq, read_windows(r, s, last, NULL), number);
}

/* The windows are read before they are cleared, so that clearing may happen in place. */
static void transpose_scatter(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    tn_i_builder *b = r->b;
    const scatter_site s = site_of(r);
    const tn_i_var zeros = tn_i_zeros(b, r->in_type[2]);
    if (r->in[2] == TN_NOVAR) {
        ct_in[2] = s.fits ? read_windows(r, &s, ct[0], &tn_i_fill_zero) : zeros;
        if (s.fits && !s.unique) {
            const tn_i_var mask = stays(r, &s);
            ct_in[2] = tn_i_op3(b, TN_P_select, mask, ct_in[2], zeros);
        }
    }
    if (r->in[0] == TN_NOVAR) ct_in[0] = tn_i_scatter(b, ct[0], r->in[1], zeros, &s.d, s.clip, s.unique);
}

static void batch_scatter(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    tn_i_dnums d, front;
    tn_i_dnums_read(&d, &r->p[DNUMS]);
    tn_i_dnums_batch(&front, &d, true, batched[1]);
    const tn_i_var x = tn_i_batched_operand(r, batched, 0), updates = tn_i_batched_operand(r, batched, 2);
    *out = tn_i_scatter(r->b, x, r->in[1], updates, &front, clips(r->p), promised(r->p));
    *out_batched = true;
}

/* In place: touches the windows only. */
static void cost_scatter(const tn_i_query *q, tn_i_cost *cost) {
    cost->bytes += tn_i_bytes_of(q->in[1]) + 2 * tn_i_bytes_of(q->in[2]);
}

/* Uniqueness is promised where there is one window, in each of a batch. */
static bool sample_scatter(tn_i_rng *r, int dtype, tn_i_case *c) {
    int64_t sizes[TN_MAX_RANK], windows = 1;
    tn_i_dnums d;
    if (!tn_i_sample_windows(r, dtype, c, false, sizes, &c->in[2])) return false;
    c->nin = 3;
    tn_i_dnums_read(&d, &c->p[DNUMS]);
    for (int i = 0; i + 1 < c->in[1].rank; i++)
        if (!tn_i_dnums_has(&d, TN_INDEX_BATCH, i)) windows *= c->in[1].dim[i];
    const int64_t mode = tn_i_pick(r, -1, 1);
    c->p[MODE] = (tn_i_param){.kind = mode < 0 ? TN_K_NONE : TN_K_SYM, .u.i = mode < 0 ? 0 : mode};
    c->p[UNIQUE] = (tn_i_param){.kind = TN_K_NONE};
    if (tn_i_pick(r, 0, 1)) c->p[UNIQUE] = (tn_i_param){.kind = TN_K_BOOL, .u.i = windows <= 1};
    return true;
}

/* What an element of operand 0 is for, the indices say. */
static bool sums_scatter(const tn_i_query *q, uint32_t operand, tn_i_sums *s) {
    const bool found = tn_i_scatter_sums(q, operand, s);
    s->factor = -2;
    return found;
}

const tn_prim tn_prim_scatter = {
    .id = TN_P_scatter,
    .name = "scatter",
    .doc =
        "operand 0 with each update written at its index vector, the last of those that meet stays; windows not wholly "
        "inside are dropped, with mode=clip their starts are clamped; unique_indices promises that none meet",
    .nin = 3,
    .flags = TN_F_INPLACE,
    .dtypes = TN_ANY,
    .params = params,
    .type = type_scatter,
    .linear = {TN_OPERAND(0) | TN_OPERAND(2)},
    .simplify = simplify_scatter,
    .transpose = transpose_scatter,
    .batch = batch_scatter,
    .kernel = kernel_scatter,
    .c_kernel = c_scatter,
    .cost = cost_scatter,
    .jvp_bound = 3,
    .transpose_bound = 12,
    .sample = sample_scatter,
    .spread = TN_SPREAD_MOVES,
    .sums = sums_scatter,
};
