/* Reductions over parts of dimensions, as of blocks, groups and windows side by side, of what is computed in the shape
 * before: the same bits as the reference, and no array between. */
#include "amount.h"
#include "unit/tracing.h"

#include "tansy/ops.h"

#include <stdlib.h>

enum { FOLDS = 5, SHAPES = 10 };

/* A shape, what it is split into, and over which of these. */
static const struct blocks {
    int rank, split_rank, axes;
    int64_t dim[3], split[6], over[4];
} all_blocks[SHAPES] = {
    {2, 4, 2, {6, 8}, {3, 2, 4, 2}, {1, 3}},
    {2, 4, 2, {6, 8}, {3, 2, 4, 2}, {0, 2}},
    {3, 5, 2, {3, 4, 6}, {3, 2, 2, 3, 2}, {2, 4}},
    {1, 2, 1, {70}, {35, 2}, {1}},
    {1, 2, 1, {70}, {2, 35}, {0}},
    {1, 3, 2, {60}, {3, 10, 2}, {0, 2}},
    {2, 3, 1, {5, 64}, {5, 4, 16}, {1}},
    {2, 4, 3, {16, 128}, {4, 4, 2, 64}, {0, 1, 2}},
    {2, 6, 3, {8, 27}, {2, 2, 2, 3, 3, 3}, {1, 3, 5}},
    {2, 4, 2, {1, 34}, {1, 1, 17, 2}, {1, 3}},
};

typedef struct block {
    const struct blocks *b;
    int fold, how;
} block;

static tn_val folded(tn_val x, int fold, tn_int_list axes) {
    switch (fold) {
    case 0: return tn_sum_axes(x, axes);
    case 1: return tn_max_axes(x, axes);
    case 2: return tn_min_axes(x, axes);
    case 3: return tn_prod_axes(x, axes);
    default: return tn_sub(tn_sum_axes(tn_square(x), axes), tn_max_axes(x, axes));
    }
}

/* in: x, a row that is repeated, and a number.  What is split is computed of all of them, of an iota and of a
 * condition; once it is read by somebody else, too. */
static void program(const tn_val *in, tn_val *out, void *user) {
    const block *k = user;
    const struct blocks *b = k->b;
    tn_val y = tn_add(tn_mul(in[0], in[2]), in[1]);
    if (k->how & 1) y = tn_where(tn_gt(y, in[0]), tn_maximum(y, in[2]), in[0]);
    if (k->how & 2)
        y = tn_add(y, tn_convert(tn_iota(tn_val_ctx(y), tn_val_type(y), b->rank - 1), (tn_dtype)tn_val_type(y).dtype));
    const tn_val z = tn_reshape_at(y, tn_ints_of((size_t)b->split_rank, b->split), __FILE__, __LINE__);
    out[0] = folded(z, k->fold, tn_ints_of((size_t)b->axes, b->over));
    out[1] = k->how & 4 ? tn_neg(y) : tn_sum(y);
}

static void fill(tn_dtype dtype, void *x, int64_t n, int from) {
    for (int64_t i = 0; i < n; i++) {
        const double v = i % 11 == 3 ? -0.0 : sin((double)(i + from));
        if (dtype == TN_F64) ((double *)x)[i] = v;
        if (dtype == TN_F32) ((float *)x)[i] = (float)v;
        if (dtype == TN_I32) ((int32_t *)x)[i] = (int32_t)(20 * v);
    }
}

enum { MOST = 16 * 128 };

static void called(const tn_fn *f, int backend, char out[2][8 * MOST], const void *const *in) {
    const tn_compile_options o = {.size = sizeof o, .backend = backend};
    tn_exec *e = tn_compile(f, &o);
    if (!e) fail_msg("%s", tn_error(tn_fn_ctx(f)));
    memset(out, 0x55, 2 * sizeof *out);
    assert_int_equal(tn_call(e, in, (void *const[]){out[0], out[1]}), TN_OK);
    tn_exec_free(e);
}

static void one(tn_dtype dtype, const block *k) {
    static char x[8 * MOST], row[8 * MOST], number[8], want[2][8 * MOST], got[2][8 * MOST];
    static const int backends[] = {TN_BACKEND_DEFAULT, TN_BACKEND_STRIPS};
    const struct blocks *b = k->b;
    tn_ctx *c = checked();
    const tn_type in[] = {tn_type_of(dtype, (size_t)b->rank, b->dim), tn_type_of(dtype, 1, &b->dim[b->rank - 1]),
                          tn_type_of(dtype, 0, NULL)};
    fill(dtype, x, MOST, 1), fill(dtype, row, MOST, 5), fill(dtype, number, 1, 2);
    tn_fn *f = tn_trace_many(c, program, (void *)(uintptr_t)k, 3, in, 2);
    if (!f) fail_msg("%s", tn_error(c));
    called(f, TN_BACKEND_REFERENCE, want, (const void *const[]){x, row, number});
    for (size_t i = 0; i < COUNT(backends); i++) {
        called(f, backends[i], got, (const void *const[]){x, row, number});
        if (memcmp(got, want, sizeof got) != 0)
            fail_msg("shape %d, fold %d, how %d, %s: not the reference's bits", (int)(b - all_blocks), k->fold, k->how,
                     i ? "strips" : "by default");
    }
    tn_ctx_free(c);
}

static void same_bits(void **state) {
    static const tn_dtype dtypes[] = {TN_F64, TN_F32, TN_I32};
    (void)state;
    for (size_t s = 0; s < SHAPES; s++)
        for (int fold = 0; fold < FOLDS; fold++)
            for (int how = 0; how < 8; how++)
                for (size_t d = 0; d < COUNT(dtypes); d++)
                    if (in_share(s + (size_t)fold + (size_t)how + d, 2))
                        one(dtypes[d], &(block){&all_blocks[s], fold, how});
}

/* What is computed in front of the reshape is in no array of its own. */
static void pooled(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    const tn_val y = tn_relu(tn_add(tn_mul(in[0], 2.0), in[1]));
    out[0] = tn_max_axes(tn_reshape(y, 30, 2, 50, 2), tn_ints(1, 3));
}
static void count(void *user, const tn_step *s) {
    (void)s;
    ++*(int *)user;
}

static void one_step(void **state) {
    (void)state;
    int steps = 0;
    tn_ctx *c = checked();
    tn_fn *f = tn_trace_many(c, pooled, NULL, 2, TN_TYPES(tn_f64(60, 100), tn_f64(100)), 1);
    tn_exec *e = tn_compile(f, NULL);
    if (!e) fail_msg("%s", tn_error(c));
    assert_int_equal(tn_exec_steps(e, count, &steps), TN_OK);
    assert_int_equal(steps, 1);
    assert_int_equal(tn_exec_bytes(e) < 60 * 100 * 8, 1);
    tn_exec_free(e);
    tn_ctx_free(c);
}

/* A function of the sum of each row, summed: more rows than wait at a time are stretches and a rest, loops one behind
 * the other that feed one sum.  Of an operation that not every row is alike for, too. */
static void of_rows(const tn_val *in, tn_val *out, void *user) {
    tn_val x = in[0];
    if (*(int *)user) x = tn_sub(tn_roll(x, 1, 0), x);
    const tn_val r = tn_sqrt(tn_sum_axes(tn_square(x), tn_ints(1)));
    out[0] = tn_sum(r);
    out[1] = tn_neg(r);
}

static void same_bits_of_rows(void **state) {
    static const int64_t sizes[] = {1, 15, 511, 513, 4095, 4096, 4097, 4608, 5000, 8192, 8193, 12800};
    static const int backends[] = {TN_BACKEND_DEFAULT, TN_BACKEND_STRIPS};
    (void)state;
    for (size_t s = 0; s < COUNT(sizes); s++)
        for (int how = 0; how < 4; how++) {
            const tn_dtype dtype = how & 2 ? TN_F32 : TN_F64;
            const size_t rows = (size_t)sizes[s], bytes = 8 * rows;
            int rolled = how & 1;
            tn_ctx *c = checked();
            const tn_type in = tn_type_of(dtype, 2, (const int64_t[]){sizes[s], 3});
            tn_fn *f = tn_trace_many(c, of_rows, &rolled, 1, &in, 2);
            if (!f) fail_msg("%s", tn_error(c));
            char *x = malloc(3 * bytes), *want = calloc(2, bytes), *got = calloc(2, bytes);
            fill(dtype, x, 3 * (int64_t)rows, 1);
            for (int k = -1; k < (int)COUNT(backends); k++) {
                char *out = k < 0 ? want : got;
                tn_exec *e =
                    tn_compile(f, &(tn_compile_options){.size = sizeof(tn_compile_options),
                                                        .backend = k < 0 ? TN_BACKEND_REFERENCE : backends[k]});
                if (!e) fail_msg("%s", tn_error(c));
                assert_int_equal(tn_call(e, (const void *const[]){x}, (void *const[]){out, out + bytes}), TN_OK);
                tn_exec_free(e);
                if (memcmp(want, out, 2 * bytes) != 0) fail_msg("%d rows, how %d, %d", (int)rows, how, k);
            }
            free(x), free(want), free(got);
            tn_ctx_free(c);
        }
}

/* Where the best of a row is, alone and with what else is asked of the row: of equals the first, NaN before all. */
static void best_of_rows(const tn_val *in, tn_val *out, void *user) {
    const int how = *(int *)user;
    const tn_val x = tn_sub(in[0], tn_mul(in[1], in[0])), i = tn_argmax(x, 1);
    out[0] = how & 1 ? tn_add(i, tn_argmin(how & 2 ? tn_convert(x, TN_F32) : x, 1)) : i;
    out[1] = how & 2 ? tn_max_axes(x, tn_ints(1)) : tn_neg(in[0]);
    if (how & 4) out[1] = tn_add(tn_sum_axes(x, tn_ints(1)), tn_min_axes(x, tn_ints(1)));
}

static void hard(tn_dtype dtype, void *x, int64_t n) {
    static const double numbers[] = {1, -0.0, 0, 3, 3, -2, INFINITY, 3, -INFINITY, 0.5, NAN};
    const int most = dtype == TN_I32 ? 6 : 11;
    for (int64_t i = 0; i < n; i++) {
        const double v = i % 37 == 36 ? numbers[most - 1] : numbers[(i * i + i / 7) % (most - 1)];
        if (dtype == TN_F64) ((double *)x)[i] = v;
        if (dtype == TN_F32) ((float *)x)[i] = (float)v;
        if (dtype == TN_I32) ((int32_t *)x)[i] = (int32_t)v;
    }
}

static void places_of_rows(void **state) {
    static const tn_dtype dtypes[] = {TN_F64, TN_F32, TN_I32};
    static const int backends[] = {TN_BACKEND_DEFAULT, TN_BACKEND_STRIPS};
    static const int64_t rows[] = {1, 2, 7, 33}, widths[] = {1, 2, 7, 16, 31, 33, 64, 100, 128, 129};
    static char x[8 * 33 * 129], number[8], want[2][8 * 33 * 129], got[2][8 * 33 * 129];
    (void)state;
    for (size_t k = 0; k < 3 * COUNT(rows) * COUNT(widths) * 8; k++) {
        const tn_dtype dtype = dtypes[k % 3];
        int how = (int)(k / 3 % 8);
        const int64_t n[2] = {rows[k / 24 % COUNT(rows)], widths[k / 24 / COUNT(rows)]};
        tn_ctx *c = checked();
        const tn_type in[] = {tn_type_of(dtype, 2, n), tn_type_of(dtype, 0, NULL)};
        tn_fn *f = tn_trace_many(c, best_of_rows, &how, 2, in, 2);
        if (!f) fail_msg("%s", tn_error(c));
        hard(dtype, x, n[0] * n[1]);
        memset(number, 0, sizeof number);
        for (int b = -1; b < (int)COUNT(backends); b++) {
            char(*out)[8 * 33 * 129] = b < 0 ? want : got;
            tn_exec *e = tn_compile(f, &(tn_compile_options){.size = sizeof(tn_compile_options),
                                                             .backend = b < 0 ? TN_BACKEND_REFERENCE : backends[b]});
            if (!e) fail_msg("%s", tn_error(c));
            memset(out, 0, sizeof want);
            assert_int_equal(tn_call(e, (const void *const[]){x, number}, (void *const[]){out[0], out[1]}), TN_OK);
            tn_exec_free(e);
            if (b >= 0 && memcmp(want[0], got[0], sizeof *got) != 0)
                fail_msg("%d x %d, dtype %d, how %d, %d", (int)n[0], (int)n[1], (int)dtype, how, b);
        }
        tn_ctx_free(c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(places_of_rows), cmocka_unit_test(same_bits),
                                       cmocka_unit_test(same_bits_of_rows), cmocka_unit_test(one_step)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
