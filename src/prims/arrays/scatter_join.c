/* Windows joined with what is there, at many places: scatter_mul scatter_min scatter_max. */
#include "prims/c_text.h"
#include "prims/folds/recur.h"
#include "prims/forms.h"
#include "prims/ids.h"
#include "prims/sample.h"
#include "prims/arrays/windows.h"

/* ---- kernels: an update joins by the primitive of two numbers ---- */

static void join(const tn_prim *prim, int dtype, int64_t n, const void *src, int64_t ss, void *dst, int64_t ds) {
    const void *const in[2] = {dst, src};
    const int64_t s[2] = {ds, ss};
    prim->strip[dtype](n, in, s, dst, ds);
}
#define JOIN_ROW(how, dtype)                                                                   \
    static void how##_##dtype(int64_t n, const void *src, int64_t ss, void *dst, int64_t ds) { \
        join(&tn_prim_##how, dtype, n, src, ss, dst, ds);                                      \
    }
#define JOIN_ROWS(how)    \
    JOIN_ROW(how, TN_F32) \
    JOIN_ROW(how, TN_F64) \
    JOIN_ROW(how, TN_I32) \
    JOIN_ROW(how, TN_I64) \
    JOIN_ROW(how, TN_U32)
#define ROWS_OF(how)                                                                                    \
    [TN_F32] = how##_TN_F32, [TN_F64] = how##_TN_F64, [TN_I32] = how##_TN_I32, [TN_I64] = how##_TN_I64, \
    [TN_U32] = how##_TN_U32
JOIN_ROWS(mul)
JOIN_ROWS(min)
JOIN_ROWS(max)
JOIN_ROW(min, TN_BOOL)
JOIN_ROW(max, TN_BOOL)

static tn_status kernel_mul(const tn_i_kernel *k) {
    static tn_i_row *const row[TN_NDTYPES] = {ROWS_OF(mul)};
    return tn_i_scatter_by(k, row[k->out->type->dtype]);
}
static tn_status kernel_min(const tn_i_kernel *k) {
    static tn_i_row *const row[TN_NDTYPES] = {ROWS_OF(min), [TN_BOOL] = min_TN_BOOL};
    return tn_i_scatter_by(k, row[k->out->type->dtype]);
}
static tn_status kernel_max(const tn_i_kernel *k) {
    static tn_i_row *const row[TN_NDTYPES] = {ROWS_OF(max), [TN_BOOL] = max_TN_BOOL};
    return tn_i_scatter_by(k, row[k->out->type->dtype]);
}

static void windows_mul(const tn_i_kernel *k, tn_i_window_form *f) { tn_i_scatter_form(k, TN_P_mul, f); }
static void windows_min(const tn_i_kernel *k, tn_i_window_form *f) { tn_i_scatter_form(k, TN_P_min, f); }
static void windows_max(const tn_i_kernel *k, tn_i_window_form *f) { tn_i_scatter_form(k, TN_P_max, f); }

static void c_join(const tn_i_c_kernel *k, const tn_prim *prim) {
    const int dtype = k->out[0].type->dtype;
    const char *type = tn_i_c_name(dtype);
    tn_i_scattered s;
    if (!tn_i_c_open_scattered(k, &s)) return;
    tn_i_text_put(k->t, "const %s x = *at, y = update;\n*at = (%s)(%s);\n", type, type, prim->c_body[dtype]);
    tn_i_c_close_scattered(k, &s);
}
static void c_mul(const tn_i_c_kernel *k) { c_join(k, &tn_prim_mul); }
static void c_min(const tn_i_c_kernel *k) { c_join(k, &tn_prim_min); }
static void c_max(const tn_i_c_kernel *k) { c_join(k, &tn_prim_max); }

/* ---- rules ---- */

static void cost_join(const tn_i_query *q, tn_i_cost *cost) {
    cost->flops += (double)tn_i_count(q->in[2]);
    cost->bytes += tn_i_bytes_of(q->in[1]) + 3 * tn_i_bytes_of(q->in[2]);
}

static tn_i_var simplify_join(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                              const tn_type *out) {
    (void)p, (void)nin, (void)out;
    return tn_i_count(tn_i_vtype(b, in[2])) == 0 ? in[0] : TN_NOVAR;
}

static tn_i_var simplify_mul(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                             const tn_type *out) {
    double k;
    if (tn_i_known_f64(b, in[2], &k) && k == 1.0) return in[0];
    return simplify_join(b, p, nin, in, out);
}

static void transpose_mul(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    tn_i_dnums d;
    tn_i_dnums_read(&d, &r->p[TN_SCATTER_DNUMS]);
    if (r->in[0] == TN_NOVAR) ct_in[0] = tn_i_scatter_alike(r->b, r->e, ct[0], r->in[1], r->in[2], &d);
}

/* Of a vector x: x[i]. */
static const tn_i_dnums ELEMENTS = {.n = {[TN_COLLAPSED] = 1, [TN_MAP] = 1}};
static tn_i_var elements(tn_i_builder *b, tn_i_var x, tn_i_var i) {
    const int64_t one = 1;
    return tn_i_gather(b, x, i, &ELEMENTS, &one, TN_CLIP, NULL);
}

static tn_i_var flat(tn_i_builder *b, tn_i_var x) {
    if (b->failed || x == TN_NOVAR) return TN_NOVAR;
    const int64_t n = tn_i_count(tn_i_vtype(b, x));
    return tn_i_reshape(b, x, 1, &n);
}

static tn_i_var column(tn_i_builder *b, tn_i_var x) {
    if (b->failed || x == TN_NOVAR) return TN_NOVAR;
    const int64_t shape[2] = {tn_i_count(tn_i_vtype(b, x)), 1};
    return tn_i_reshape(b, x, 2, shape);
}

/* Updates in the order of their places: each of `at` stands beside others of the same place. */
typedef struct ordered {
    tn_i_var at, from; /* the place; which update it is */
} ordered;

/* Those that are dropped are last: their place is behind all of the operand's. */
static ordered in_order(tn_i_rule *r, const tn_i_scatter_site *s) {
    tn_i_builder *b = r->b;
    const tn_type *x = r->in_type[0];
    const int64_t count = tn_i_count(x), n = tn_i_count(r->in_type[2]);
    const int dtype = count > INT32_MAX - 1 || n > INT32_MAX ? TN_I64 : TN_I32;
    const tn_i_var places = tn_i_reshape(b, tn_i_iota(b, dtype, 1, &count, 0), x->rank, x->dim);
    const tn_i_param behind = {.kind = TN_K_NUMBER, .n = TN_I64, .u.i = count};
    const tn_i_param p[3] = {{.kind = TN_K_INT}, {.kind = TN_K_BOOL, .u.i = 1}, {.kind = TN_K_INT, .u.i = 1}};
    tn_i_var in[2] = {flat(b, tn_i_scatter_read(r, s, places, &behind))};
    in[1] = tn_i_iota(b, dtype, 1, &n, 0);
    const tn_i_var at = tn_i_emit(b, tn_i_prim(b, TN_P_sort), p, 2, in);
    return (ordered){at, at == TN_NOVAR ? at : at + 1};
}

/* The product of those before (by 1) or behind (by -1) at the same place. */
static tn_i_var beside(tn_i_builder *b, tn_i_var at, tn_i_var u, int by) {
    if (b->failed || u == TN_NOVAR) return TN_NOVAR;
    const tn_type t = *tn_i_vtype(b, u);
    const tn_i_var zeros = tn_i_zeros(b, &t), ones = tn_i_number(b, &t, 1);
    const tn_i_var first = tn_i_op2(b, TN_P_ne, at, tn_i_shift(b, at, 0, by, -1));
    const tn_i_var a = tn_i_op3(b, TN_P_select, first, zeros, tn_i_shift(b, u, 0, by, 1));
    return tn_i_recurrence(b, a, tn_i_op3(b, TN_P_select, first, ones, zeros), 0, by < 0);
}

/* Where indices may meet: each tangent by the operand and the other updates of its place, exact at zeros. */
static tn_i_var of_many(tn_i_rule *r, const tn_i_scatter_site *s, tn_i_var du) {
    tn_i_builder *b = r->b;
    const ordered o = in_order(r, s);
    const tn_i_var at = column(b, o.at), from = column(b, o.from);
    const tn_i_var u = elements(b, flat(b, r->in[2]), from), x = elements(b, flat(b, r->in[0]), at);
    const tn_i_var others = tn_i_op2(b, TN_P_mul, beside(b, o.at, u, 1), beside(b, o.at, u, -1));
    const tn_i_var t = tn_i_op2(b, TN_P_mul, elements(b, flat(b, du), from), tn_i_op2(b, TN_P_mul, x, others));
    if (b->failed) return TN_NOVAR;
    const tn_type sums = tn_type_of((tn_dtype)r->in_type[0]->dtype, 1, (int64_t[]){tn_i_count(r->in_type[0])});
    const tn_i_var sum = tn_i_scatter_add(b, tn_i_zeros(b, &sums), at, t, &ELEMENTS, false);
    return tn_i_reshape(b, sum, r->in_type[0]->rank, r->in_type[0]->dim);
}

static tn_i_var partial_update(tn_i_rule *r, tn_i_var du) {
    tn_i_builder *b = r->b;
    const tn_i_scatter_site s = tn_i_scatter_site_of(r);
    if (tn_i_count(r->in_type[0]) == 0 || tn_i_count(r->in_type[2]) == 0) return TN_NOVAR;
    if (!s.unique) return of_many(r, &s, du);
    const tn_i_var sum = tn_i_scatter_add(b, tn_i_zeros(b, r->in_type[0]), r->in[1], du, &s.d, s.clip);
    return tn_i_op2(b, TN_P_mul, sum, r->in[0]);
}

/* The mean of the tangents of the operand and of those updates that are the extreme value. */
static void jvp_extreme(tn_i_rule *r, const tn_i_var *din, tn_i_var *dout) {
    tn_i_builder *b = r->b;
    const tn_type *x = r->in_type[0], *u = r->in_type[2];
    const tn_i_scatter_site s = tn_i_scatter_site_of(r);
    if (tn_i_count(x) == 0) return;
    if (tn_i_count(u) == 0) {
        dout[0] = din[0];
        return;
    }
    const tn_i_var here = tn_i_op2(b, TN_P_eq, r->in[0], r->out[0]),
                   there = tn_i_op2(b, TN_P_eq, r->in[2], tn_i_scatter_read(r, &s, r->out[0], NULL));
    const tn_i_var one = tn_i_convert(b, here, x->dtype), each = tn_i_convert(b, there, x->dtype);
    const tn_i_var count = tn_i_scatter_add(b, one, r->in[1], each, &s.d, s.clip);
    const tn_i_var zeros = tn_i_zeros(b, x);
    tn_i_var sum = din[0] == TN_NOVAR ? zeros : tn_i_op3(b, TN_P_select, here, din[0], zeros);
    if (din[2] != TN_NOVAR) {
        const tn_i_var taken = tn_i_op3(b, TN_P_select, there, din[2], tn_i_zeros(b, u));
        sum = tn_i_scatter_add(b, sum, r->in[1], taken, &s.d, s.clip);
    }
    dout[0] = tn_i_op2(b, TN_P_div, sum, count);
}

/* ---- test cases ---- */

static bool sample_extreme(tn_i_rng *r, int dtype, tn_i_case *c) {
    if (!tn_i_sample_scatter(r, dtype, c)) return false;
    c->domain[0] = c->domain[2] = (tn_i_domain){.at = TN_AT_TIES, .apart = 0.01};
    return true;
}

static tn_i_var written_scatter_mul(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in) {
    return tn_i_unsigned_places(b, TN_P_scatter_mul, p, nin, in, 1, 2);
}

const tn_prim tn_prim_scatter_mul = {
    .id = TN_P_scatter_mul,
    .name = "scatter_mul",
    .doc = "operand 0 times each update at its index vector, all of those that meet; windows not wholly inside are "
           "dropped, with mode=clip their starts are clamped; integers wrap; the derivative is exact at zeros; "
           "unique_indices promises that none meet",
    .nin = 3,
    .flags = TN_F_INPLACE,
    .dtypes = TN_NUMBERS,
    .params = tn_i_scatter_unique_spec,
    .type = tn_i_type_scatter,
    .linear = {TN_OPERAND(0)},
    .simplify = simplify_mul,
    .partial = {NULL, NULL, partial_update},
    .transpose = transpose_mul,
    .batch = tn_i_batch_scatter,
    .kernel = kernel_mul,
    .windows = windows_mul,
    .c_kernel = c_mul,
    .cost = cost_join,
    .jvp_bound = 60,
    .transpose_bound = 3,
    .sample = tn_i_sample_scatter_unique,
    .spread = TN_SPREAD_SUMS,
    .sums = tn_i_scatter_sums_by,
    .written = written_scatter_mul,
};

static tn_i_var written_scatter_min(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in) {
    return tn_i_unsigned_places(b, TN_P_scatter_min, p, nin, in, 1, 2);
}

const tn_prim tn_prim_scatter_min = {
    .id = TN_P_scatter_min,
    .name = "scatter_min",
    .doc = "the smaller of operand 0 and each update at its index vector, of bools the conjunction; windows not wholly "
           "inside are dropped, with mode=clip their starts are clamped; ties share the derivative, NaN wins",
    .nin = 3,
    .flags = TN_F_INPLACE | TN_F_ORDER,
    .dtypes = TN_ANY,
    .params = tn_i_scatter_spec,
    .type = tn_i_type_scatter,
    .simplify = simplify_join,
    .jvp = jvp_extreme,
    .batch = tn_i_batch_scatter,
    .kernel = kernel_min,
    .windows = windows_min,
    .c_kernel = c_min,
    .cost = cost_join,
    .jvp_bound = 24,
    .sample = sample_extreme,
    .spread = TN_SPREAD_SUMS,
    .sums = tn_i_scatter_sums_by,
    .written = written_scatter_min,
};

static tn_i_var written_scatter_max(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in) {
    return tn_i_unsigned_places(b, TN_P_scatter_max, p, nin, in, 1, 2);
}

const tn_prim tn_prim_scatter_max = {
    .id = TN_P_scatter_max,
    .name = "scatter_max",
    .doc = "the larger of operand 0 and each update at its index vector, of bools the disjunction; windows not wholly "
           "inside are dropped, with mode=clip their starts are clamped; ties share the derivative, NaN wins",
    .nin = 3,
    .flags = TN_F_INPLACE | TN_F_ORDER,
    .dtypes = TN_ANY,
    .params = tn_i_scatter_spec,
    .type = tn_i_type_scatter,
    .simplify = simplify_join,
    .jvp = jvp_extreme,
    .batch = tn_i_batch_scatter,
    .kernel = kernel_max,
    .windows = windows_max,
    .c_kernel = c_max,
    .cost = cost_join,
    .jvp_bound = 24,
    .sample = sample_extreme,
    .spread = TN_SPREAD_SUMS,
    .sums = tn_i_scatter_sums_by,
    .written = written_scatter_max,
};
