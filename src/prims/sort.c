/* sort: by one or more keys along a dimension. */
#include "base/machine.h"
#include "prims/c_text.h"
#include "prims/complex.h"
#include "prims/dims.h"
#include "prims/ids.h"
#include "prims/sample.h"
#include "prims/shape.h"

#include <math.h>
#include <string.h>

static const tn_i_spec params[] = {{.name = "dimension", .kind = TN_K_INT},
                                   {.name = "is_stable", .kind = TN_K_BOOL},
                                   {.name = "num_keys", .kind = TN_K_INT},
                                   {.name = NULL}};

static bool type_sort(tn_i_query *q) {
    char text[TN_I_TYPE_TEXT];
    if (!tn_i_params_given(q)) return false;
    if (q->nin == 0) return tn_i_type_fail(q, -1, "needs an operand");
    if (!tn_i_axes_valid(q, "dimension", 1, &q->p[0].u.i, q->in[0]->rank, false)) return false;
    if (q->p[2].u.i < 1 || q->p[2].u.i > (int64_t)q->nin)
        return tn_i_type_fail(q, -1, "num_keys %lld is not in 1..%u", (long long)q->p[2].u.i, (unsigned)q->nin);
    for (uint32_t i = 1; i < q->nin; i++) {
        tn_type t = *q->in[i];
        t.dtype = q->in[0]->dtype;
        if (!tn_type_equal(&t, q->in[0]))
            return tn_i_type_fail(q, (int)i, "shape differs from %s", tn_i_type_text(text, q->in[0]));
    }
    if (!tn_i_outputs(q, q->nin)) return false;
    for (uint32_t i = 0; i < q->nin; i++) q->out[i] = *q->in[i];
    return true;
}

static void cost_sort(const tn_i_query *q, tn_i_cost *cost) {
    const int64_t length = q->in[0]->dim[q->p[0].u.i];
    tn_i_cost_copy(q, cost);
    cost->flops += (double)tn_i_count(q->in[0]) * (1 + ceil(log2(length > 1 ? (double)length : 1.0)));
}

/* ---- kernel ---------------------------------------------------------------------- */

TN_C_TEXT(
    entry_text, typedef struct entry {
        uint64_t key; /* first key, as an unsigned number of the same order */
        int64_t from;
    } entry;)

TN_C_TEXT(
    lane_text, typedef struct lane {
        int64_t n;
        uint32_t more;        /* further keys */
        const uint64_t *keys; /* n of each */
    } lane;)

static uint64_t ordered(bool is_float, tn_i_wide x) {
    const uint64_t top = UINT64_C(1) << 63;
    if (!is_float) return x.u ^ top;
    if (x.d != x.d) return UINT64_MAX;
    if (x.d == 0) return top; /* -0 and 0 are equal */
    return x.u & top ? ~x.u : x.u | top;
}

static void load_keys(const tn_i_arr *x, const void *data, int64_t stride, int64_t n, uint64_t *keys, size_t step) {
    tn_i_wide part[128];
    const bool is_float = tn_i_is_float(x->type->dtype);
    for (int64_t first = 0; first < n; first += 128) {
        const int64_t m = n - first < 128 ? n - first : 128;
        tn_i_load(x->type->dtype, data, first * stride, stride, m, part);
        for (int64_t i = 0; i < m; i++) keys[(size_t)(first + i) * step] = ordered(is_float, part[i]);
    }
}

TN_C_TEXT(
    after_text, static bool after(const lane *c, entry a, entry b) {
        if (a.key != b.key) return a.key > b.key;
        for (uint32_t k = 0; k < c->more; k++) {
            const uint64_t *keys = c->keys + (size_t)k * (size_t)c->n;
            if (keys[a.from] != keys[b.from]) return keys[a.from] > keys[b.from];
        }
        return false;
    })

TN_C_TEXT(
    insertion_sort_text, static void insertion_sort(const lane *c, entry *x, int64_t n) {
        for (int64_t i = 1; i < n; i++) {
            const entry e = x[i];
            int64_t j = i;
            for (; j > 0 && after(c, x[j - 1], e); j--) x[j] = x[j - 1];
            x[j] = e;
        }
    })

/* Merges x[lo..mid) and x[mid..hi) into y; equal ones keep their order. */
TN_C_TEXT(
    merge_text, static void merge(const lane *c, const entry *x, entry *y, int64_t lo, int64_t mid, int64_t hi) {
        int64_t i = lo, j = mid;
        for (int64_t k = lo; k < hi; k++) y[k] = i < mid && (j == hi || !after(c, x[i], x[j])) ? x[i++] : x[j++];
    })

/* Stable; the result is in x or in y, which is returned. */
TN_C_TEXT(
    merge_sort_text, static const entry *merge_sort(const lane *c, entry *x, entry *y) {
        const int64_t run = 16, n = c->n;
        for (int64_t lo = 0; lo < n; lo += run) insertion_sort(c, x + lo, n - lo < run ? n - lo : run);
        for (int64_t width = run; width < n; width *= 2) {
            for (int64_t lo = 0; lo < n; lo += 2 * width) {
                const int64_t mid = n - lo < width ? n : lo + width, hi = n - lo < 2 * width ? n : lo + 2 * width;
                merge(c, x, y, lo, mid, hi);
            }
            entry *swap = x;
            x = y;
            y = swap;
        }
        return x;
    })

/* By one byte of the keys after the other, the last one first: each pass keeps the order of equal ones.  Bytes that all
 * keys share have none, as those that f32 has not. */
static const entry *digit_sort(int64_t n, entry *x, entry *y) {
    enum { DIGITS = 8, VALUES = 256 };
    int64_t count[DIGITS][VALUES] = {{0}};
    int shift[DIGITS], digits = 0;
    uint64_t differ = 0;
    for (int64_t i = 0; i < n; i++) differ |= x[i].key ^ x->key;
    for (int d = 0; d < DIGITS; d++)
        if (differ >> 8 * d & (VALUES - 1)) shift[digits++] = 8 * d;
    for (int64_t i = 0; i < n; i++)
        for (int d = 0; d < digits; d++) count[d][x[i].key >> shift[d] & (VALUES - 1)]++;
    for (int d = 0; d < digits; d++) {
        int64_t *const at = count[d], sum = 0;
        for (int v = 0; v < VALUES; v++) {
            const int64_t here = at[v];
            at[v] = sum;
            sum += here;
        }
        for (int64_t i = 0; i < n; i++) y[at[x[i].key >> shift[d] & (VALUES - 1)]++] = x[i];
        entry *swap = x;
        x = y;
        y = swap;
    }
    return x;
}

static void permute(const tn_i_arr *x, const void *from, int64_t fs, void *to, int64_t ts, const entry *order,
                    int64_t n) {
    const size_t size = tn_i_dtype_size(x->type->dtype);
    const char *src = from;
    char *dst = to;
    for (int64_t i = 0; i < n; i++) {
        const char *s = src + order[i].from * fs * (int64_t)size;
        char *d = dst + i * ts * (int64_t)size;
        if (size == 8)
            memcpy(d, s, 8);
        else if (size == 4)
            memcpy(d, s, 4);
        else
            *d = *s;
    }
}

static tn_status kernel_sort(const tn_i_kernel *k) {
    const tn_type *t = k->in[0].type;
    const int axis = (int)k->p[0].u.i;
    const int64_t n = t->dim[axis], total = tn_i_count(t);
    if (total == 0) return TN_OK;
    entry *x = k->scratch, *y = x + n;
    uint64_t *keys = (uint64_t *)(void *)(y + n);
    const lane c = {.n = n, .more = (uint32_t)k->p[2].u.i - 1, .keys = keys};
    int64_t dense[TN_MAX_RANK];
    tn_i_dense_strides(t, dense);
    for (int64_t at = 0; at < total / n; at++) {
        tn_i_cursor cur;
        for (uint32_t j = 0; j <= c.more; j++) {
            const tn_i_dims kept = tn_i_dims_of(&k->in[j], ~(1u << axis));
            tn_i_cursor_start(&cur, &kept, at);
            load_keys(&k->in[j], tn_i_address(&k->in[j], cur.offset), k->in[j].stride[axis], n,
                      j ? keys + (size_t)(j - 1) * (size_t)n : &x->key, j ? 1 : sizeof *x / sizeof x->key);
        }
        for (int64_t i = 0; i < n; i++) x[i].from = i;
        const entry *order = c.more == 0 && n >= TN_M_SORT_DIGITS ? digit_sort(n, x, y) : merge_sort(&c, x, y);
        for (uint32_t j = 0; j < k->nin; j++) {
            const tn_i_dims kept = tn_i_dims_of(&k->in[j], ~(1u << axis));
            tn_i_cursor_start(&cur, &kept, at);
            const int64_t first = at / dense[axis] * dense[axis] * n + at % dense[axis];
            permute(&k->in[j], tn_i_address(&k->in[j], cur.offset), k->in[j].stride[axis],
                    tn_i_address(&k->out[j], first), dense[axis], order, n);
        }
    }
    return TN_OK;
}

static size_t scratch_sort(const tn_i_query *q) {
    const size_t n = (size_t)q->in[0]->dim[q->p[0].u.i], keys = (size_t)q->p[2].u.i - 1;
    size_t entries, more, bytes;
    if (!tn_i_mul(n, 2 * sizeof(entry), &entries) || !tn_i_mul(n, keys, &more) ||
        !tn_i_mul(more, sizeof(uint64_t), &more) || !tn_i_add(entries, more, &bytes))
        return SIZE_MAX;
    return bytes;
}

/* ---- rules ------------------------------------------------------------------------ */

/* x[.., index[.., i, ..], ..] along an axis; both of the same shape. */
static tn_i_var take_along(tn_i_builder *b, tn_i_var x, tn_i_var index, int axis) {
    if (b->failed) return TN_NOVAR;
    const tn_type shape = *tn_i_vtype(b, x);
    tn_type t = shape;
    if (t.rank == TN_MAX_RANK) { /* indices need one more dimension: join those before and after the axis */
        int64_t outer = 1, inner = 1;
        for (int i = 0; i < axis; i++) outer *= t.dim[i]; /* x is not empty: no product exceeds its size */
        for (int i = axis + 1; i < t.rank; i++) inner *= t.dim[i];
        const int64_t three[3] = {outer, t.dim[axis], inner};
        t = tn_type_of((tn_dtype)t.dtype, 3, three);
        axis = 1;
        x = tn_i_reshape(b, x, 3, t.dim);
    }
    tn_i_dnums d;
    memset(&d, 0, sizeof d);
    int64_t sizes[TN_MAX_RANK], column[TN_MAX_RANK];
    for (int i = 0; i < t.rank; i++) {
        sizes[i] = 1;
        column[i] = t.dim[i];
        if (i == axis) continue;
        d.v[TN_OPERAND_BATCH][d.n[TN_OPERAND_BATCH]++] = i;
        d.v[TN_INDEX_BATCH][d.n[TN_INDEX_BATCH]++] = i;
    }
    d.n[TN_COLLAPSED] = d.n[TN_MAP] = 1;
    d.v[TN_COLLAPSED][0] = d.v[TN_MAP][0] = axis;
    column[t.rank] = 1;
    const tn_i_var y = tn_i_gather(b, x, tn_i_reshape(b, index, t.rank + 1, column), &d, sizes, TN_CLIP, NULL);
    return t.rank == shape.rank ? y : tn_i_reshape(b, y, shape.rank, shape.dim);
}

/* Sorts positions along with the operands and takes the tangents from there. */
static void jvp_sort(tn_i_rule *r, const tn_i_var *din, tn_i_var *dout) {
    tn_i_builder *b = r->b;
    const tn_type *t = r->in_type[0];
    const int axis = (int)r->p[0].u.i;
    tn_i_var *in = tn_i_alloc_array(b->ctx, r->nin + (size_t)1, sizeof *in);
    if (!in) {
        b->failed = true;
        return;
    }
    memcpy(in, r->in, r->nin * sizeof *in);
    in[r->nin] = tn_i_iota(b, t->dim[axis] > INT32_MAX ? TN_I64 : TN_I32, t->rank, t->dim, axis);
    const tn_i_var sorted = tn_i_emit(b, r->e->prim, r->p, r->nin + 1, in);
    tn_i_free(b->ctx, in, (r->nin + (size_t)1) * sizeof *in);
    for (uint32_t j = 0; j < r->nin && sorted != TN_NOVAR; j++) {
        r->out[j] = sorted + j;
        if (din[j] != TN_NOVAR && tn_i_count(t) > 0) dout[j] = take_along(b, din[j], sorted + r->nin, axis);
    }
}

static void batch_sort(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    tn_i_builder *b = r->b;
    tn_i_var *in = tn_i_alloc_array(b->ctx, r->nin, sizeof *in);
    if (!in) {
        b->failed = true;
        return;
    }
    for (uint32_t i = 0; i < r->nin; i++) in[i] = tn_i_batched_operand(r, batched, i);
    const tn_i_param p[3] = {{.kind = TN_K_INT, .u.i = r->p[0].u.i + 1}, r->p[1], r->p[2]};
    const tn_i_var sorted = tn_i_emit(b, r->e->prim, p, r->nin, in);
    tn_i_free(b->ctx, in, r->nin * sizeof *in);
    for (uint32_t j = 0; j < r->nout; j++) {
        out[j] = sorted == TN_NOVAR ? TN_NOVAR : sorted + j;
        out_batched[j] = true;
    }
}

static bool sample_sort(tn_i_rng *r, int dtype, tn_i_case *c) {
    tn_i_case_shape(r, c, 0, dtype, 1, 3);
    const uint32_t n = (uint32_t)tn_i_pick(r, 1, 3);
    for (uint32_t i = 1; i < n; i++) tn_i_case_alike(c, i, 0, tn_i_pick(r, 0, 1) ? dtype : TN_I32);
    c->p[0] = (tn_i_param){.kind = TN_K_INT, .u.i = tn_i_pick(r, 0, c->in[0].rank - 1)};
    c->p[1] = (tn_i_param){.kind = TN_K_BOOL, .u.i = tn_i_pick(r, 0, 1)};
    c->p[2] = (tn_i_param){.kind = TN_K_INT, .u.i = tn_i_pick(r, 1, n)};
    c->fill = tn_i_fill_apart;
    return true;
}

/* ---- C text ---- */

/* A key as an unsigned number of the same order. */
TN_C_ONLY(
    order_float_text, static uint64_t order_float(double x) {
        const uint64_t top = UINT64_C(1) << 63;
        uint64_t u;
        if (x != x) return UINT64_MAX;
        if (x == 0) return top;
        memcpy(&u, &x, sizeof u);
        return u & top ? ~u : u | top;
    })
TN_C_ONLY(
    order_int_text, static uint64_t order_int(int64_t x) { return (uint64_t)x ^ UINT64_C(1) << 63; })
static const tn_i_c_helper sort_helpers[] = {
    {"entry", entry_text},
    {"lane", lane_text},
    {"after", after_text},
    {"insertion_sort", insertion_sort_text},
    {"merge", merge_text},
    {"merge_sort", merge_sort_text},
    {"order_float", order_float_text},
    {"order_int", order_int_text},
    {NULL, NULL},
};

static void c_sort(const tn_i_c_kernel *k) {
    const tn_type *t = k->in[0].type;
    const int axis = (int)k->p[0].u.i;
    const long long n = (long long)t->dim[axis];
    const uint32_t more = (uint32_t)k->p[2].u.i - 1;
    const unsigned others = ~(1u << axis);
    if (tn_i_count(t) == 0) return;
    tn_i_text_put(k->t, "entry *const x = (entry *)(void *)scratch;\nentry *const y = x + %lld;\n", n);
    tn_i_text_put(k->t, "uint64_t *const keys = (uint64_t *)(void *)(y + %lld);\n", n);
    tn_i_text_put(k->t, "const lane c = {%lld, %u, keys};\n", n, (unsigned)more);
    tn_i_c_open_axes(k->t, "i", t, others);
    tn_i_text_put(k->t, "for (int64_t j = 0; j < %lld; j++) {\nx[j].from = j;\n", n);
    for (uint32_t m = 0; m <= more; m++) {
        const bool floats = tn_i_is_float(k->in[m].type->dtype);
        if (m == 0)
            tn_i_text_put(k->t, "x[j].key = ");
        else
            tn_i_text_put(k->t, "keys[%lld + j] = ", (long long)(m - 1) * n);
        tn_i_text_put(k->t, "%s(in%u[j * (%lld) + ", floats ? "order_float" : "order_int", (unsigned)m,
                      (long long)k->in[m].stride[axis]);
        tn_i_c_at_axes(k->t, "i", t, k->in[m].stride, others);
        tn_i_text_put(k->t, "]);\n");
    }
    tn_i_text_put(k->t, "}\nconst entry *const order = merge_sort(&c, x, y);\nfor (int64_t j = 0; j < %lld; j++) {\n",
                  n);
    for (uint32_t m = 0; m < k->nin; m++) {
        tn_i_text_put(k->t, "out%u[j * %lld + ", (unsigned)m, (long long)k->out[m].stride[axis]);
        tn_i_c_at_axes(k->t, "i", t, k->out[m].stride, others);
        tn_i_text_put(k->t, "] = in%u[order[j].from * (%lld) + ", (unsigned)m, (long long)k->in[m].stride[axis]);
        tn_i_c_at_axes(k->t, "i", t, k->in[m].stride, others);
        tn_i_text_put(k->t, "];\n");
    }
    tn_i_text_put(k->t, "}\n");
    tn_i_c_close_axes(k->t, t, others);
}

const tn_prim tn_prim_sort = {
    .id = TN_P_sort,
    .name = "sort",
    .doc = "sorts along a dimension by the first num_keys operands, always stably; NaN last, -0 equals 0; tangents "
           "move along",
    .nin = -1,
    .flags = TN_F_OWN_PRIMAL | TN_F_COSTLY | TN_F_ORDER,
    .dtypes = TN_ANY,
    .params = params,
    .type = type_sort,
    .jvp = jvp_sort,
    .batch = batch_sort,
    .kernel = kernel_sort,
    .complex_many = tn_i_complex_of_sort,
    .c_kernel = c_sort,
    .c_helpers = sort_helpers,
    .scratch = scratch_sort,
    .cost = cost_sort,
    .jvp_bound = 8,
    .domain = {{.at = TN_AT_TIES, .apart = 0.01}, {.at = TN_AT_TIES, .apart = 0.01}, {.at = TN_AT_TIES, .apart = 0.01}},
    .sample = sample_sort,
};
