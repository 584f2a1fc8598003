/* Windows written at many places: scatter, and what it shares with scatter_add (gather.c) and others (scatter_join.c).
 */
#include "prims/c_text.h"
#include "prims/dims.h"
#include "prims/forms.h"
#include "prims/ids.h"
#include "prims/sample.h"
#include "prims/arrays/windows.h"

/* ---- what scatters have in common: types ---- */

static const char *const modes[] = {"drop", "clip", NULL};
static const char *const fields[TN_NDNUMS] = {"update_window_dims", "inserted_window_dims",
                                              "scatter_dims_to_operand_dims", "operand_batching_dims",
                                              "scatter_indices_batching_dims"};
#define DNUMS_AND_MODE                                                          \
    {.name = "dimension_numbers",                                               \
     .kind = TN_K_LISTS,                                                        \
     .lists = TN_NDNUMS,                                                        \
     .record = "ScatterDimensionNumbers",                                       \
     .fields = fields},                                                         \
    {                                                                           \
        .name = "mode", .kind = TN_K_SYM, .otherwise = "drop", .symbols = modes \
    }
const tn_i_spec tn_i_scatter_spec[] = {DNUMS_AND_MODE, {.name = NULL}};
const tn_i_spec tn_i_scatter_unique_spec[] = {
    DNUMS_AND_MODE, {.name = "unique_indices", .kind = TN_K_BOOL, .otherwise = "False"}, {.name = NULL}};

bool tn_i_scatter_clips(const tn_i_param *p) {
    return p[TN_SCATTER_MODE].kind == TN_K_SYM && p[TN_SCATTER_MODE].u.i == 1;
}

static bool promises(const tn_prim *prim) { return prim->params[TN_SCATTER_UNIQUE].name != NULL; }
static bool promised(const tn_prim *prim, const tn_i_param *p) {
    return promises(prim) && p[TN_SCATTER_UNIQUE].kind == TN_K_BOOL && p[TN_SCATTER_UNIQUE].u.i;
}

static bool updates_valid(tn_i_query *q, const tn_i_dnums *d, int rank) {
    const tn_type *in = q->in[0], *indices = q->in[1], *updates = q->in[2];
    if (!tn_i_same_dtype(q, 2)) return false;
    if (updates->rank != rank)
        return tn_i_type_fail(q, 2, "has rank %d; update_window_dims and indices make %d", updates->rank, rank);
    uint32_t at = 0;
    for (int i = 0; i < rank; i++) {
        if (at < d->n[TN_WINDOW] && d->v[TN_WINDOW][at] == i)
            at++;
        else if (updates->dim[i] != indices->dim[i - (int)at])
            return tn_i_type_fail(q, 2, "dimension %d has size %lld, but dimension %d of the indices has %lld", i,
                                  (long long)updates->dim[i], i - (int)at, (long long)indices->dim[i - (int)at]);
    }
    int64_t sizes[TN_MAX_RANK];
    tn_i_window_sizes(d, in, updates, sizes);
    for (int i = 0; i < in->rank; i++)
        if (tn_i_in_window(d, i) && sizes[i] > in->dim[i])
            return tn_i_type_fail(q, 2, "a window of size %lld is larger than dimension %d of operand 0, %lld",
                                  (long long)sizes[i], i, (long long)in->dim[i]);
    return true;
}

bool tn_i_type_scatter(tn_i_query *q) {
    tn_i_dnums d;
    int rank;
    if (!tn_i_params_given(q) || !tn_i_admits(q)) return false;
    const tn_i_param *mode = &q->p[TN_SCATTER_MODE];
    if (mode->kind == TN_K_SYM && (mode->u.i < 0 || mode->u.i > 1))
        return tn_i_type_fail(q, -1, "mode must be drop or clip");
    return tn_i_dnums_valid(q, &d, &rank) && updates_valid(q, &d, rank) && tn_i_output_type(q, q->in[0]);
}

/* ---- walking ---- */

void tn_i_scattered_init(tn_i_scattered *s, const tn_i_param *p, const tn_i_arr *out, const tn_i_arr *indices,
                         const tn_i_arr *updates) {
    int64_t sizes[TN_MAX_RANK];
    tn_i_dnums d;
    tn_i_dnums_read(&d, &p[TN_SCATTER_DNUMS]);
    tn_i_window_sizes(&d, out->type, updates->type, sizes);
    tn_i_window_strides(&d, sizes, out, updates, &s->rank, s->dim, s->to, s->from);
    tn_i_windows_init(&s->w, &d, sizes, out, indices, updates);
    s->clip = tn_i_scatter_clips(p);
}

bool tn_i_scattered_next(tn_i_scattered *s) {
    while (tn_i_windows_next(&s->w))
        if (s->clip ? !s->w.too_large : s->w.inside) return true;
    return false;
}

/* Operand 0 goes to the result, `out` (dense); false: there are no updates. */
static bool begin(tn_i_scattered *s, const tn_i_kernel *k, tn_i_arr *out) {
    *out = *k->out;
    if (out->data != k->in[0].data) tn_i_copy_array(&k->in[0], out);
    if (tn_i_count(k->in[2].type) == 0) return false;
    tn_i_dense_strides(out->type, out->stride);
    tn_i_scattered_init(s, k->p, out, &k->in[1], &k->in[2]);
    return true;
}

static void run(tn_i_scattered *s, const tn_i_arr *updates, const tn_i_arr *out, tn_i_row *row) {
    const size_t size = tn_i_dtype_size(out->type->dtype);
    tn_i_walk walk;
    tn_i_walk_init(&walk, s->rank, s->dim, s->from, s->to);
    while (tn_i_scattered_next(s))
        tn_i_walk_run(&walk, row, size, tn_i_at(updates->data, size, s->w.to), tn_i_at_mut(out->data, size, s->w.from));
}

tn_status tn_i_scatter_by(const tn_i_kernel *k, tn_i_row *row) {
    tn_i_arr out;
    tn_i_scattered s;
    if (begin(&s, k, &out)) run(&s, &k->in[2], &out, row);
    return TN_OK;
}

void tn_i_scatter_form(const tn_i_kernel *k, int how, tn_i_window_form *f) {
    tn_i_scattered s;
    *f = (tn_i_window_form){.how = how, .windows = 2, .none = true};
    if (tn_i_count(k->in[2].type) == 0) return;
    tn_i_scattered_init(&s, k->p, k->out, &k->in[1], &k->in[2]);
    tn_i_window_form_of(&s.w, 1, f);
    f->clip = s.clip;
    f->inner = s.rank;
    for (int i = 0; i < s.rank; i++) {
        f->size[i] = s.dim[i];
        f->in_place[i] = s.to[i];
        f->in_window[i] = s.from[i];
    }
}

/* ---- C text ---- */

bool tn_i_c_open_scattered(const tn_i_c_kernel *k, tn_i_scattered *s) {
    const char *type = tn_i_c_name(k->out[0].type->dtype);
    tn_i_c_copy_operand(k);
    if (tn_i_count(k->in[2].type) == 0) return false;
    tn_i_scattered_init(s, k->p, &k->out[0], &k->in[1], &k->in[2]);
    if (s->clip && s->w.too_large) return false;
    tn_i_c_open_windows(k, &s->w, !s->clip);
    if (!s->clip) tn_i_text_put(k->t, "if (inside) {\n");
    tn_i_c_open(k->t, "i", s->rank, s->dim);
    tn_i_text_put(k->t, "%s *const at = out0 + from + ", type);
    tn_i_c_at(k->t, "i", s->rank, s->dim, s->to);
    tn_i_text_put(k->t, ";\nconst %s update = in2[to + ", type);
    tn_i_c_at(k->t, "i", s->rank, s->dim, s->from);
    tn_i_text_put(k->t, "];\n");
    return true;
}

void tn_i_c_close_scattered(const tn_i_c_kernel *k, const tn_i_scattered *s) {
    tn_i_c_close(k->t, s->rank, s->dim);
    if (!s->clip) tn_i_text_put(k->t, "}\n");
    tn_i_c_close(k->t, s->w.rank, s->w.dim);
}

/* ---- rules ---- */

tn_i_scatter_site tn_i_scatter_site_of(const tn_i_rule *r) {
    const tn_type *in = r->in_type[0], *updates = r->in_type[2];
    tn_i_scatter_site s = {.clip = tn_i_scatter_clips(r->p), .unique = promised(r->e->prim, r->p), .fits = true};
    int64_t windows = 1;
    tn_i_dnums_read(&s.d, &r->p[TN_SCATTER_DNUMS]);
    tn_i_window_sizes(&s.d, in, updates, s.sizes);
    for (uint32_t i = 0; i < s.d.n[TN_COLLAPSED]; i++) s.fits &= in->dim[s.d.v[TN_COLLAPSED][i]] > 0;
    for (int i = 0; i + 1 < r->in_type[1]->rank; i++)
        if (!tn_i_dnums_has(&s.d, TN_INDEX_BATCH, i)) windows *= r->in_type[1]->dim[i] > 1 ? 2 : 1;
    s.unique |= windows == 1;
    return s;
}

tn_i_var tn_i_scatter_read(tn_i_rule *r, const tn_i_scatter_site *s, tn_i_var x, const tn_i_param *fill) {
    return tn_i_gather(r->b, x, r->in[1], &s->d, s->sizes, s->clip ? TN_CLIP : TN_FILL, s->clip ? NULL : fill);
}

void tn_i_batch_scatter(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    tn_i_dnums d, front;
    tn_i_dnums_read(&d, &r->p[TN_SCATTER_DNUMS]);
    tn_i_dnums_batch(&front, &d, true, batched[1]);
    const tn_i_var x = tn_i_batched_operand(r, batched, 0), updates = tn_i_batched_operand(r, batched, 2);
    *out = tn_i_scatter_alike(r->b, r->e, x, r->in[1], updates, &front);
    *out_batched = true;
}

/* Wherever the windows are. */
bool tn_i_scatter_sums(const tn_i_query *q, uint32_t operand, tn_i_sums *s) {
    const tn_type *of = q->out, *updates = q->in[2];
    int64_t sizes[TN_MAX_RANK], from[TN_MAX_RANK], to[TN_MAX_RANK], anywhere = 0;
    uint32_t window = 0, batch = 0;
    tn_i_dnums d;
    if (operand == 0) tn_i_sums_loop(s, false, tn_i_count(of), 1, 1, 0);
    if (operand != 2) return operand == 0;
    tn_i_dnums_read(&d, &q->p[TN_SCATTER_DNUMS]);
    tn_i_window_sizes(&d, of, updates, sizes);
    tn_i_dense_strides(updates, from);
    tn_i_dense_strides(of, to);
    for (int i = 0; i < of->rank; i++)
        if (tn_i_dnums_has(&d, TN_MAP, i) && sizes[i] < of->dim[i]) anywhere |= 1 << i;
    for (int i = 0; i < of->rank; i++) {
        const bool any = anywhere >> i & 1, inside = tn_i_in_window(&d, i);
        const int64_t stride = inside ? from[d.v[TN_WINDOW][window]] : 0;
        if (any) tn_i_sums_loop(s, false, of->dim[i], to[i], 0, 0);
        if (inside && !any) tn_i_sums_loop(s, false, sizes[i], to[i], stride, 0);
        window += inside;
    }
    for (int i = 0; i < updates->rank; i++) {
        if (tn_i_dnums_has(&d, TN_WINDOW, i)) continue;
        for (uint32_t k = 0; k < d.n[TN_INDEX_BATCH]; k++)
            if (d.v[TN_INDEX_BATCH][k] == batch)
                tn_i_sums_loop(s, false, updates->dim[i], to[d.v[TN_OPERAND_BATCH][k]], from[i], 0);
        batch++;
    }
    window = batch = 0;
    for (int i = 0; i < of->rank; i++) {
        if (!tn_i_in_window(&d, i)) continue;
        if (anywhere >> i & 1) tn_i_sums_loop(s, true, sizes[i], 0, from[d.v[TN_WINDOW][window]], 0);
        window++;
    }
    for (int i = 0; i < updates->rank; i++) {
        if (tn_i_dnums_has(&d, TN_WINDOW, i)) continue;
        bool paired = false;
        for (uint32_t k = 0; k < d.n[TN_INDEX_BATCH]; k++) paired |= d.v[TN_INDEX_BATCH][k] == batch;
        if (!paired) tn_i_sums_loop(s, true, updates->dim[i], 0, from[i], 0);
        batch++;
    }
    s->factor = -2;
    return true;
}

/* What an element of operand 0 is for, the indices say. */
bool tn_i_scatter_sums_by(const tn_i_query *q, uint32_t operand, tn_i_sums *s) {
    const bool found = tn_i_scatter_sums(q, operand, s);
    s->factor = -2;
    return found;
}

/* Starts are drawn inside and outside; uniqueness is promised where there is one window, in each of a batch. */
static bool sample(tn_i_rng *r, int dtype, tn_i_case *c, bool unique) {
    int64_t sizes[TN_MAX_RANK], windows = 1;
    tn_i_dnums d;
    if (!tn_i_sample_windows(r, dtype, c, false, sizes, &c->in[2])) return false;
    c->nin = 3;
    const int64_t mode = tn_i_pick(r, -1, 1);
    c->p[TN_SCATTER_MODE] = (tn_i_param){.kind = mode < 0 ? TN_K_NONE : TN_K_SYM, .u.i = mode < 0 ? 0 : mode};
    if (!unique) return true;
    tn_i_dnums_read(&d, &c->p[TN_SCATTER_DNUMS]);
    for (int i = 0; i + 1 < c->in[1].rank; i++)
        if (!tn_i_dnums_has(&d, TN_INDEX_BATCH, i)) windows *= c->in[1].dim[i];
    c->p[TN_SCATTER_UNIQUE] = (tn_i_param){.kind = TN_K_NONE};
    if (tn_i_pick(r, 0, 1)) c->p[TN_SCATTER_UNIQUE] = (tn_i_param){.kind = TN_K_BOOL, .u.i = windows <= 1};
    return true;
}

bool tn_i_sample_scatter(tn_i_rng *r, int dtype, tn_i_case *c) { return sample(r, dtype, c, false); }
bool tn_i_sample_scatter_unique(tn_i_rng *r, int dtype, tn_i_case *c) { return sample(r, dtype, c, true); }

/* ---- scatter ---- */

static tn_status kernel_scatter(const tn_i_kernel *k) {
    if (tn_i_scatter_elements(k, false)) return TN_OK;
    return tn_i_scatter_by(k, tn_i_copy_row(tn_i_dtype_size(k->out->type->dtype)));
}

static void windows_scatter(const tn_i_kernel *k, tn_i_window_form *f) { tn_i_scatter_form(k, TN_WINDOWS_WRITE, f); }

static void c_scatter(const tn_i_c_kernel *k) {
    tn_i_scattered s;
    if (!tn_i_c_open_scattered(k, &s)) return;
    tn_i_text_put(k->t, "*at = update;\n");
    tn_i_c_close_scattered(k, &s);
}

static tn_i_var simplify_scatter(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                                 const tn_type *out) {
    (void)p, (void)nin, (void)out;
    uint64_t x, y;
    if (tn_i_count(tn_i_vtype(b, in[2])) == 0) return in[0];
    return tn_i_known_scalar(b, in[0], &x) && tn_i_known_scalar(b, in[2], &y) && x == y ? in[0] : TN_NOVAR;
}

/* Whether each update is the one that stays: their numbers are scattered, and read again. */
static tn_i_var stays(tn_i_rule *r, const tn_i_scatter_site *s) {
    tn_i_builder *b = r->b;
    const tn_type *updates = r->in_type[2];
    const int64_t n = tn_i_count(updates);
    tn_type whole = *r->in_type[0];
    whole.dtype = n > INT32_MAX ? TN_I64 : TN_I32;
    const tn_i_var line = tn_i_iota(b, whole.dtype, 1, &n, 0);
    const tn_i_var number = tn_i_reshape(b, line, updates->rank, updates->dim);
    const tn_i_var none = tn_i_whole_number(b, &whole, -1);
    const tn_i_var last = tn_i_scatter(b, none, r->in[1], number, &s->d, s->clip, false);
    return tn_i_op2(b, TN_P_eq, tn_i_scatter_read(r, s, last, NULL), number);
}

/* The windows are read before they are cleared, so that clearing may happen in place. */
static void transpose_scatter(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    tn_i_builder *b = r->b;
    const tn_i_scatter_site s = tn_i_scatter_site_of(r);
    const tn_i_var zeros = tn_i_zeros(b, r->in_type[2]);
    if (r->in[2] == TN_NOVAR) {
        ct_in[2] = s.fits ? tn_i_scatter_read(r, &s, ct[0], &tn_i_fill_zero) : zeros;
        if (s.fits && !s.unique) {
            const tn_i_var mask = stays(r, &s);
            ct_in[2] = tn_i_op3(b, TN_P_select, mask, ct_in[2], zeros);
        }
    }
    if (r->in[0] == TN_NOVAR) ct_in[0] = tn_i_scatter(b, ct[0], r->in[1], zeros, &s.d, s.clip, s.unique);
}

/* In place: touches the windows only. */
static void cost_scatter(const tn_i_query *q, tn_i_cost *cost) {
    cost->bytes += tn_i_bytes_of(q->in[1]) + 2 * tn_i_bytes_of(q->in[2]);
}

static tn_i_var written_scatter(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in) {
    return tn_i_unsigned_places(b, TN_P_scatter, p, nin, in, 1, 2);
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
    .params = tn_i_scatter_unique_spec,
    .type = tn_i_type_scatter,
    .linear = {TN_OPERAND(0) | TN_OPERAND(2)},
    .simplify = simplify_scatter,
    .transpose = transpose_scatter,
    .batch = tn_i_batch_scatter,
    .kernel = kernel_scatter,
    .windows = windows_scatter,
    .c_kernel = c_scatter,
    .cost = cost_scatter,
    .jvp_bound = 3,
    .transpose_bound = 12,
    .sample = tn_i_sample_scatter_unique,
    .spread = TN_SPREAD_MOVES,
    .sums = tn_i_scatter_sums_by,
    .written = written_scatter,
};
