/* Random numbers as functions of a key: random_bits random_uniform random_normal random_split
 * random_fold_in.
 *
 * A key is two u32, or two i32 taken as bits; an operand of shape [.., 2] holds many, and keys made of it have its
 * dtype.  Element n (row-major) of a key's array comes from the Threefry words of counter n alone.  Keys and values are
 * those of JAX (its partitionable Threefry). */
#include "prims/c_text.h"
#include "prims/dims.h"
#include "prims/ids.h"
#include "prims/sample.h"
#include "prims/arrays/shape.h"
#include "prims/scalar/special.h"
#include "prims/threefry.h"

/* Weighted operations of one counter: 20 rounds of 3 (a rotation counted as one) and the additions between. */
enum { WORDS_FLOPS = 72, BLOCK = 256 };

/* ---- types and costs ------------------------------------------------------------- */

static bool keys_valid(tn_i_query *q) {
    const tn_type *t = q->in[0];
    if ((t->dtype == TN_I32 || t->dtype == TN_U32) && t->rank >= 1 && t->dim[t->rank - 1] == 2) return true;
    return tn_i_type_fail(q, 0, "a key is i32[2] or u32[2], many keys i32[..,2] or u32[..,2]");
}

/* The keys' dimensions without the last, then those given, then `more`. */
static bool output_for_keys(tn_i_query *q, int dtype, const tn_i_param *shape, const int64_t *more) {
    const tn_type *key = q->in[0];
    const uint32_t batch = (uint32_t)key->rank - 1, extra = more ? 1 : 0;
    int64_t dim[TN_MAX_RANK];
    if (!tn_i_rank_fits(q, batch + shape->n + extra)) return false;
    for (uint32_t i = 0; i < batch; i++) dim[i] = key->dim[i];
    for (uint32_t i = 0; i < shape->n; i++) dim[batch + i] = shape->u.ints[i];
    if (more) dim[batch + shape->n] = *more;
    return tn_i_output(q, dtype, (int)(batch + shape->n + extra), dim);
}

static bool type_numbers(tn_i_query *q) {
    if (!tn_i_params_given(q) || !keys_valid(q)) return false;
    const int64_t dtype = q->p[0].u.i;
    if (dtype < 0 || dtype >= TN_NDTYPES || !(q->prim->dtypes >> dtype & 1))
        return tn_i_type_fail(q, -1, "dtype must be %s", q->prim->dtypes == TN_INTS ? "one of integers" : "f32 or f64");
    return output_for_keys(q, (int)dtype, &q->p[1], NULL);
}

static bool type_split(tn_i_query *q) {
    const int64_t words = 2;
    return tn_i_params_given(q) && keys_valid(q) && output_for_keys(q, q->in[0]->dtype, &q->p[0], &words);
}

static bool type_fold_in(tn_i_query *q) {
    char text[TN_I_TYPE_TEXT];
    if (!keys_valid(q)) return false;
    tn_type data = *q->in[0];
    data.dim[--data.rank] = 0;
    if (!tn_type_equal(q->in[1], &data))
        return tn_i_type_fail(q, 1, "must be %s: a number for each key", tn_i_type_text(text, &data));
    return tn_i_output_type(q, q->in[0]);
}

/* Per element of the result: the words and what is made of them. */
static void cost_each(const tn_i_query *q, tn_i_cost *cost, double counters, double more) {
    tn_i_cost_copy(q, cost);
    cost->flops += counters * WORDS_FLOPS + (double)tn_i_count(&q->out[0]) * more;
}
static void cost_bits(const tn_i_query *q, tn_i_cost *cost) { cost_each(q, cost, (double)tn_i_count(&q->out[0]), 1); }
static void cost_uniform(const tn_i_query *q, tn_i_cost *cost) {
    cost_each(q, cost, (double)tn_i_count(&q->out[0]), 4);
}
static void cost_normal(const tn_i_query *q, tn_i_cost *cost) {
    cost_each(q, cost, (double)tn_i_count(&q->out[0]), 4 + 16 + 3);
    cost->transcendentals += (double)tn_i_count(&q->out[0]);
}
static void cost_keys(const tn_i_query *q, tn_i_cost *cost) {
    cost_each(q, cost, (double)tn_i_count(&q->out[0]) / 2, 0);
}

/* ---- kernels ------------------------------------------------------------------------ */

/* Makes n results of n pairs of words. */
typedef void maker(int64_t n, const uint32_t *a, const uint32_t *b, void *out);

static inline uint64_t both(uint32_t a, uint32_t b) { return (uint64_t)a << 32 | b; }

static void make_i32(int64_t n, const uint32_t *a, const uint32_t *b, void *out) {
    uint32_t *o = out;
    for (int64_t i = 0; i < n; i++) o[i] = a[i] ^ b[i];
}
static void make_i64(int64_t n, const uint32_t *a, const uint32_t *b, void *out) {
    uint64_t *o = out;
    for (int64_t i = 0; i < n; i++) o[i] = both(a[i], b[i]);
}
/* As many of the leading bits as [1, 2) has numbers, so that every value is equally likely. */
static inline float uniform_f32(uint32_t a, uint32_t b) { return (float)(int32_t)((a ^ b) >> 9) * 0x1p-23f; }
static inline double uniform_f64(uint32_t a, uint32_t b) { return (double)(int64_t)(both(a, b) >> 12) * 0x1p-52; }

static void make_uniform_f32(int64_t n, const uint32_t *a, const uint32_t *b, void *out) {
    float *o = out;
    for (int64_t i = 0; i < n; i++) o[i] = uniform_f32(a[i], b[i]);
}
static void make_uniform_f64(int64_t n, const uint32_t *a, const uint32_t *b, void *out) {
    double *o = out;
    for (int64_t i = 0; i < n; i++) o[i] = uniform_f64(a[i], b[i]);
}
/* The quantile of a number uniform in the open interval (-1, 1): its least value is the one after -1. */
static void make_normal_f32(int64_t n, const uint32_t *a, const uint32_t *b, void *out) {
    const float least = -1 + 0x1p-24f;
    float *o = out;
    for (int64_t i = 0; i < n; i++) o[i] = 0x1.6a09e6p+0f * tn_i_erf_inv_f32(2 * uniform_f32(a[i], b[i]) + least);
}
static void make_normal_f64(int64_t n, const uint32_t *a, const uint32_t *b, void *out) {
    const double least = -1 + 0x1p-53;
    double *o = out;
    for (int64_t i = 0; i < n; i++) o[i] = 0x1.6a09e667f3bcdp+0 * tn_i_erf_inv(2 * uniform_f64(a[i], b[i]) + least);
}
static void make_key(int64_t n, const uint32_t *a, const uint32_t *b, void *out) {
    uint32_t *o = out;
    for (int64_t i = 0; i < n; i++) {
        o[2 * i] = a[i];
        o[2 * i + 1] = b[i];
    }
}

static void words_from(tn_i_words key, uint64_t first, int64_t n, uint32_t *a, uint32_t *b) {
    for (int64_t i = 0; i < n; i++) {
        const uint64_t at = first + (uint64_t)i;
        const tn_i_words x = tn_i_threefry(key, (tn_i_words){(uint32_t)(at >> 32), (uint32_t)at});
        a[i] = x.a;
        b[i] = x.b;
    }
}

static tn_i_words key_at(const tn_i_arr *key, int64_t offset) {
    const int64_t step = key->stride[key->type->rank - 1];
    const uint32_t *k = tn_i_address(key, offset);
    return (tn_i_words){k[0], k[step]};
}

static tn_i_dims keys_of(const tn_i_arr *key) { return tn_i_dims_of(key, ~(1u << (key->type->rank - 1))); }

/* For each key, results of `size` bytes from counters 0, 1, .. */
static tn_status make_all(const tn_i_kernel *k, size_t size, maker *make) {
    const tn_i_dims keys = keys_of(&k->in[0]);
    const int64_t nkey = tn_i_dims_count(&keys), bytes = (int64_t)tn_type_bytes(k->out[0].type);
    if (bytes == 0) return TN_OK;
    const int64_t each = bytes / (int64_t)size / nkey;
    uint32_t a[BLOCK], b[BLOCK];
    char *out = k->out[0].data;
    tn_i_cursor at;
    tn_i_cursor_start(&at, &keys, 0);
    for (int64_t i = 0; i < nkey; i++, tn_i_cursor_next(&at)) {
        const tn_i_words key = key_at(&k->in[0], at.offset);
        for (int64_t first = 0; first < each; first += BLOCK) {
            const int64_t n = each - first < BLOCK ? each - first : BLOCK;
            words_from(key, (uint64_t)first, n, a, b);
            make(n, a, b, out);
            out += n * (int64_t)size;
        }
    }
    return TN_OK;
}

static tn_status kernel_bits(const tn_i_kernel *k) {
    return k->p[0].u.i != TN_I64 ? make_all(k, 4, make_i32) : make_all(k, 8, make_i64);
}
static tn_status kernel_uniform(const tn_i_kernel *k) {
    return k->p[0].u.i == TN_F32 ? make_all(k, 4, make_uniform_f32) : make_all(k, 8, make_uniform_f64);
}
static tn_status kernel_normal(const tn_i_kernel *k) {
    return k->p[0].u.i == TN_F32 ? make_all(k, 4, make_normal_f32) : make_all(k, 8, make_normal_f64);
}
static tn_status kernel_split(const tn_i_kernel *k) { return make_all(k, 8, make_key); }

static tn_status kernel_fold_in(const tn_i_kernel *k) {
    const tn_i_dims keys = keys_of(&k->in[0]), numbers = tn_i_dims_of(&k->in[1], UINT32_MAX);
    const int64_t nkey = tn_i_dims_count(&keys);
    uint32_t *out = k->out[0].data;
    tn_i_cursor at, data;
    tn_i_cursor_start(&at, &keys, 0);
    tn_i_cursor_start(&data, &numbers, 0);
    for (int64_t i = 0; i < nkey; i++, tn_i_cursor_next(&at), tn_i_cursor_next(&data)) {
        const uint32_t *number = tn_i_address(&k->in[1], data.offset);
        words_from(key_at(&k->in[0], at.offset), *number, 1, &out[2 * i], &out[2 * i + 1]);
    }
    return TN_OK;
}

/* ---- C text ---------------------------------------------------------------------------- */

/* Threefry of prims/threefry.h, on the words of one counter. */
TN_C_ONLY(
    threefry_text, static void threefry(uint32_t key0, uint32_t key1, uint64_t counter, uint32_t *x) {
        static const int turn[8] = {13, 15, 26, 6, 17, 29, 16, 24};
        const uint32_t key[3] = {key0, key1, key0 ^ key1 ^ 0x1BD11BDAu};
        x[0] = (uint32_t)(counter >> 32) + key[0];
        x[1] = (uint32_t)counter + key[1];
        for (uint32_t round = 0; round < 20; round++) {
            const int by = turn[round % 8];
            x[0] += x[1];
            x[1] = (x[1] << by | x[1] >> (32 - by)) ^ x[0];
            if (round % 4 < 3) continue;
            x[0] += key[(round / 4 + 1) % 3];
            x[1] += key[(round / 4 + 2) % 3] + round / 4 + 1;
        }
    })
TN_C_ONLY(
    both_text, static uint64_t both(const uint32_t *x) { return (uint64_t)x[0] << 32 | x[1]; })
TN_C_ONLY(
    uniform_f32_text,
    static float uniform_f32(const uint32_t *x) { return (float)(int32_t)((x[0] ^ x[1]) >> 9) * 0x1p-23f; })
TN_C_ONLY(
    uniform_f64_text,
    static double uniform_f64(const uint32_t *x) { return (double)(int64_t)(both(x) >> 12) * 0x1p-52; })
TN_C_ONLY(
    normal_f32_text, static float normal_f32(const uint32_t *x) {
        return 0x1.6a09e6p+0f * tn_i_erf_inv_f32(2 * uniform_f32(x) + (-1 + 0x1p-24f));
    })
TN_C_ONLY(
    normal_f64_text, static double normal_f64(const uint32_t *x) {
        return 0x1.6a09e667f3bcdp+0 * tn_i_erf_inv(2 * uniform_f64(x) + (-1 + 0x1p-53));
    })
static const tn_i_c_helper random_helpers[] = {{"threefry", threefry_text},
                                               {"both", both_text},
                                               {"uniform_f32", uniform_f32_text},
                                               {"uniform_f64", uniform_f64_text},
                                               {"normal_f32", normal_f32_text},
                                               {"normal_f64", normal_f64_text},
                                               {NULL, NULL}};

/* For each key, results that `each` makes of the words x and puts at `at`. */
static void c_make(const tn_i_c_kernel *k, int64_t words, const char *each) {
    const tn_type *key = k->in[0].type;
    const unsigned keys = ~(1u << (key->rank - 1));
    const int64_t total = tn_i_count(k->out[0].type) / words;
    int64_t nkey = 1;
    if (total == 0) return;
    for (int d = 0; d + 1 < key->rank; d++) nkey *= key->dim[d];
    tn_i_text_put(k->t, "int64_t at = 0;\n");
    tn_i_c_open_axes(k->t, "i", key, keys);
    tn_i_text_put(k->t, "const %s *const key = in0 + ", tn_i_c_name(key->dtype));
    tn_i_c_at_axes(k->t, "i", key, k->in[0].stride, keys);
    tn_i_text_put(k->t, ";\nfor (uint64_t n = 0; n < %lld; n++, at++) {\nuint32_t x[2];\n", (long long)(total / nkey));
    tn_i_text_put(k->t, "threefry((uint32_t)key[0], (uint32_t)key[%lld], n, x);\n%s}\n",
                  (long long)k->in[0].stride[key->rank - 1], each);
    tn_i_c_close_axes(k->t, key, keys);
}

static void c_bits(const tn_i_c_kernel *k) {
    c_make(k, 1,
           k->p[0].u.i == TN_I32   ? "out0[at] = (int32_t)(x[0] ^ x[1]);\n"
           : k->p[0].u.i == TN_U32 ? "out0[at] = x[0] ^ x[1];\n"
                                   : "out0[at] = (int64_t)both(x);\n");
}
static void c_uniform(const tn_i_c_kernel *k) {
    c_make(k, 1, k->p[0].u.i == TN_F32 ? "out0[at] = uniform_f32(x);\n" : "out0[at] = uniform_f64(x);\n");
}
static void c_normal(const tn_i_c_kernel *k) {
    c_make(k, 1, k->p[0].u.i == TN_F32 ? "out0[at] = normal_f32(x);\n" : "out0[at] = normal_f64(x);\n");
}
static void c_split(const tn_i_c_kernel *k) {
    c_make(k, 2,
           k->out[0].type->dtype == TN_U32 ? "out0[2 * at] = x[0];\nout0[2 * at + 1] = x[1];\n"
                                           : "out0[2 * at] = (int32_t)x[0];\nout0[2 * at + 1] = (int32_t)x[1];\n");
}

static void c_fold_in(const tn_i_c_kernel *k) {
    const tn_type *key = k->in[0].type;
    const unsigned keys = ~(1u << (key->rank - 1));
    tn_i_text_put(k->t, "int64_t at = 0;\n");
    tn_i_c_open_axes(k->t, "i", key, keys);
    tn_i_text_put(k->t, "const %s *const key = in0 + ", tn_i_c_name(key->dtype));
    tn_i_c_at_axes(k->t, "i", key, k->in[0].stride, keys);
    tn_i_text_put(k->t, ";\nuint32_t x[2];\nthreefry((uint32_t)key[0], (uint32_t)key[%lld], (uint32_t)in1[",
                  (long long)k->in[0].stride[key->rank - 1]);
    tn_i_c_at_arr(k->t, "i", &k->in[1]);
    const char *type = tn_i_c_name(key->dtype);
    tn_i_text_put(k->t, "], x);\nout0[at++] = (%s)x[0];\nout0[at++] = (%s)x[1];\n", type, type);
    tn_i_c_close_axes(k->t, key, keys);
}

/* ---- batching: a batch of keys is a dimension more of the keys ------------------------ */

static void batch_keys(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    tn_i_var in[2] = {TN_NOVAR, TN_NOVAR};
    for (uint32_t i = 0; i < r->nin; i++) in[i] = tn_i_batched_operand(r, batched, i);
    out[0] = tn_i_emit_like(r->b, r->e, in);
    out_batched[0] = true;
}

/* ---- test cases ------------------------------------------------------------------------ */

static void fill_bits(tn_i_rng *r, const tn_i_case *c, uint32_t i, void *data) {
    for (int64_t k = 0; k < tn_i_count(&c->in[i]); k++) ((uint32_t *)data)[k] = (uint32_t)tn_i_random(r);
}

static void sample_keys(tn_i_rng *r, int dtype, tn_i_case *c) {
    tn_i_case_shape(r, c, 0, dtype, 0, 1);
    c->in[0].dim[c->in[0].rank++] = 2;
    c->fill = fill_bits;
}

/* The shape as parameter k; now and then longer than a block of the kernel. */
static bool sample_shape(tn_i_rng *r, tn_i_case *c, uint32_t k) {
    tn_type t;
    tn_i_sample_shape(r, &t, TN_I32, 0, 2);
    if (t.rank == 1 && tn_i_pick(r, 0, 3) == 0) t.dim[0] = tn_i_pick(r, BLOCK - 2, 2 * BLOCK + 2);
    return tn_i_case_list(c, k, (uint32_t)t.rank, t.dim);
}

static bool sample_numbers(tn_i_rng *r, int dtype, tn_i_case *c) {
    sample_keys(r, tn_i_pick(r, 0, 1) ? TN_I32 : TN_U32, c);
    c->p[0] = (tn_i_param){.kind = TN_K_DTYPE, .u.i = dtype};
    return sample_shape(r, c, 1);
}

static bool sample_split(tn_i_rng *r, int dtype, tn_i_case *c) {
    sample_keys(r, dtype, c);
    return sample_shape(r, c, 0);
}

static bool sample_fold_in(tn_i_rng *r, int dtype, tn_i_case *c) {
    sample_keys(r, dtype, c);
    tn_i_case_alike(c, 1, 0, dtype);
    c->in[1].dim[--c->in[1].rank] = 0;
    return true;
}

/* ---- descriptors ------------------------------------------------------------------------ */

static const tn_i_spec numbers_params[] = {
    {.name = "dtype", .kind = TN_K_DTYPE}, {.name = "shape", .kind = TN_K_INTS}, {.name = NULL}};
static const tn_i_spec split_params[] = {{.name = "shape", .kind = TN_K_INTS}, {.name = NULL}};

const tn_prim tn_prim_random_bits = {
    .id = TN_P_random_bits,
    .name = "random_bits",
    .doc = "random integers, every bit pattern equally likely: a pure function of the key i32[..,2] or u32[..,2]; "
           "Threefry-2x32, 20 "
           "rounds",
    .nin = 1,
    .flags = TN_F_NODIFF,
    .dtypes = TN_INTS,
    .params = numbers_params,
    .type = type_numbers,
    .batch = batch_keys,
    .kernel = kernel_bits,
    .c_kernel = c_bits,
    .c_helpers = random_helpers,
    .cost = cost_bits,
    .jvp_bound = 1,
    .transpose_bound = 1,
    .sample = sample_numbers,
};

const tn_prim tn_prim_random_uniform = {
    .id = TN_P_random_uniform,
    .name = "random_uniform",
    .doc = "random numbers in [0, 1), multiples of 2^-23 (f32) or 2^-52: a pure function of the key i32[..,2] or "
           "u32[..,2]",
    .nin = 1,
    .flags = TN_F_NODIFF,
    .dtypes = TN_WIDE_FLOATS,
    .params = numbers_params,
    .type = type_numbers,
    .batch = batch_keys,
    .kernel = kernel_uniform,
    .c_kernel = c_uniform,
    .c_helpers = random_helpers,
    .cost = cost_uniform,
    .jvp_bound = 1,
    .transpose_bound = 1,
    .sample = sample_numbers,
};

const tn_prim tn_prim_random_normal = {
    .id = TN_P_random_normal,
    .name = "random_normal",
    .doc = "random numbers of mean 0 and variance 1, sqrt(2) erf_inv(u), u uniform in (-1, 1): a pure function of the "
           "key i32[..,2] or u32[..,2]",
    .nin = 1,
    .flags = TN_F_NODIFF,
    .dtypes = TN_WIDE_FLOATS,
    .params = numbers_params,
    .type = type_numbers,
    .batch = batch_keys,
    .kernel = kernel_normal,
    .c_kernel = c_normal,
    .c_helpers = random_helpers,
    .cost = cost_normal,
    .jvp_bound = 1,
    .transpose_bound = 1,
    .sample = sample_numbers,
};

const tn_prim tn_prim_random_split = {
    .id = TN_P_random_split,
    .name = "random_split",
    .doc = "an array of new keys, [..,shape,2], from each key i32[..,2] or u32[..,2]; key i is random_fold_in of i",
    .nin = 1,
    .flags = TN_F_NODIFF,
    .dtypes = 1u << TN_I32 | 1u << TN_U32,
    .params = split_params,
    .type = type_split,
    .batch = batch_keys,
    .kernel = kernel_split,
    .c_kernel = c_split,
    .c_helpers = random_helpers,
    .cost = cost_keys,
    .jvp_bound = 1,
    .transpose_bound = 1,
    .sample = sample_split,
};

const tn_prim tn_prim_random_fold_in = {
    .id = TN_P_random_fold_in,
    .name = "random_fold_in",
    .doc = "a new key from each key i32[..,2] or u32[..,2] and number [..] of its dtype: the Threefry words of that "
           "number",
    .nin = 2,
    .flags = TN_F_NODIFF,
    .dtypes = 1u << TN_I32 | 1u << TN_U32,
    .type = type_fold_in,
    .batch = batch_keys,
    .kernel = kernel_fold_in,
    .c_kernel = c_fold_in,
    .c_helpers = random_helpers,
    .cost = cost_keys,
    .jvp_bound = 1,
    .transpose_bound = 1,
    .sample = sample_fold_in,
};
