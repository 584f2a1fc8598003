/* Random numbers: published and recorded values, purity under every transformation, distributions. */
#include "unit/tracing.h"

#include "prims/threefry.h"

#include <stdlib.h>

/* ---- Threefry ------------------------------------------------------------------------------ */

/* The known answers of the Random123 library for threefry2x32 with 20 rounds. */
static void test_known_answers(void **state) {
    (void)state;
    static const tn_i_words rows[][3] = {
        /* counter, key, result */
        {{0, 0}, {0, 0}, {0x6b200159, 0x99ba4efe}},
        {{0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}, {0x1cb996fc, 0xbb002be7}},
        {{0x243f6a88, 0x85a308d3}, {0x13198a2e, 0x03707344}, {0xc4923a9c, 0x483df7a0}}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        const tn_i_words x = tn_i_threefry(rows[i][1], rows[i][0]);
        assert_true(x.a == rows[i][2].a && x.b == rows[i][2].b);
    }
}

/* ---- JAX's numbers ---------------------------------------------------------------------------- */

enum { LENGTH = 1001 }; /* more than a block of the kernel */
static const int place[4] = {0, 1, 500, 1000};

/* jax.random (0.10.2, x64) of jax.random.PRNGKey(seed): shape (1001,) at the places above;
 * split(key, 1001) there; fold_in(key, 2**32 - 3). */
static const struct {
    int64_t seed;
    int32_t key[2];
    int32_t bits[4];
    int64_t wide[4];
    float uniform[4];
    double uniform64[4];
    float normal[4];
    double normal64[4];
    int32_t split[4][2], folded[2];
} recorded[] = {
    {.seed = 0,
     .key = {0, 0},
     .bits = {-224768089, -91998574, -800678432, -673326879},
     .wide = {7719171245655871230, 3989946895414531357, 1069064213211679196, -7212806408759464408},
     .uniform = {0x1.e5349cp-1f, 0x1.f5086cp-1f, 0x1.a08d38p-1f, 0x1.afbbbp-1f},
     .uniform64 = {0x1.ac80056666e9p-2, 0x1.baf91c7e6ed88p-3, 0x1.dac2879bd21p-5, 0x1.37cded9298764p-1},
     .normal = {0x1.9f657ap+0f, 0x1.033bep+1f, 0x1.c845bp-1f, 0x1.02004cp+0f},
     .normal64 = {-0x1.a5909049a141dp-3, -0x1.91ccd1e1b7b4ap-1, -0x1.927a91a0b47f3p+0, 0x1.1b56070a034d5p-2},
     .split = {{1797259609, -1715843330}, {928981903, -841280227}, {248910908, -560952868}, {-1679362359, 1278946856}},
     .folded = {-1981375428, -313315403}},
    {.seed = 42,
     .key = {0, 42},
     .bits = {2098992034, -1375260455, -884821641, -1053046344},
     .wide = {7871734211187709741, 276886910877598708, -7103972457003143225, -3913427943450509379},
     .uniform = {0x1.f47048p-2f, 0x1.5c0e6p-1f, 0x1.96856p-1f, 0x1.82779p-1f},
     .uniform64 = {0x1.b4f8123c40884p-2, 0x1.ebd996d6e84p-7, 0x1.3ad33d60ac564p-1, 0x1.93616c0a1116ep-1},
     .normal = {-0x1.cfbe2ap-6f, 0x1.de57dp-2f, 0x1.a40272p-1f, 0x1.61247cp-1f},
     .normal64 = {-0x1.7a4a26c962159p-3, -0x1.15bccfaa7ba3ap+1, 0x1.2b1adde5395f6p-2, 0x1.99158e9431aeep-1},
     .split = {{1832780943, 270669613}, {64467757, -1378843660}, {-1654022480, 1445670855}, {-911165947, 143359933}},
     .folded = {-424716662, -19285194}},
    {.seed = -7,
     .key = {-1, -7},
     .bits = {1389436230, -2132738666, 406392291, -404800458},
     .wide = {9125530775632312482, 3641743566871130092, -5994210218170825613, 5506643170117860095},
     .uniform = {0x1.4b447p-2f, 0x1.01c1f8p-1f, 0x1.8390cp-4f, 0x1.cfbe78p-1f},
     .uniform64 = {0x1.fa919790b1d5cp-2, 0x1.945093d59357p-3, 0x1.59a0932169d28p-1, 0x1.31ae1b26aed2cp-2},
     .normal = {-0x1.d4ea36p-2f, 0x1.19fb66p-7f, -0x1.50157cp+0f, 0x1.50a5ccp+0f},
     .normal64 = {-0x1.b3aad5780a0f5p-7, -0x1.b3a5ed4a2dd55p-1, 0x1.d0cdcb68f6c5ap-2, -0x1.0eae63e3e4622p-1},
     .split =
         {{2124703204, 745896098}, {847909498, -1301614612}, {-1395635824, -1259781005}, {1282115273, -1414219009}},
     .folded = {-1199131994, -526083660}},
    {.seed = 1099511627781,
     .key = {256, 5},
     .bits = {-1438620466, 1147569684, -328754867, 1124291001},
     .wide = {3616354601704340375, 1361205111854300866, -5178069096708418342, -3880155194723026223},
     .uniform = {0x1.5480c8p-1f, 0x1.119a18p-2f, 0x1.d8cf3p-1f, 0x1.0c0d4p-2f},
     .uniform64 = {0x1.917efaccc37d8p-3, 0x1.2e3f8d656857p-4, 0x1.70479b2ea888ap-1, 0x1.944dd6d1124b6p-1},
     .normal = {0x1.b48092p-2f, -0x1.3e1fb4p-1f, 0x1.6dbfbcp+0f, -0x1.469adcp-1f},
     .normal64 = {-0x1.b630bd66dd053p-1, -0x1.72b84e6153683p+0, 0x1.29585f1c67b9ep-1, 0x1.9c4709bd70ec7p-1},
     .split = {{841998169, -1737507945}, {316930262, 1451589314}, {-1205613161, 1413764314}, {-903419032, -1994016047}},
     .folded = {1632819895, -448408573}},
};

static void everything(const tn_val *in, tn_val *out, void *user) {
    const int64_t *seed = user;
    tn_val key = seed ? tn_random_key(tn_val_ctx(in[0]), *seed) : in[0];
    out[0] = key;
    out[1] = tn_random_bits(key, tn_i32(LENGTH));
    out[2] = tn_random_bits(key, tn_i64(LENGTH));
    out[3] = tn_random_uniform(key, tn_f32(LENGTH));
    out[4] = tn_random_uniform(key, tn_f64(LENGTH));
    out[5] = tn_random_normal(key, tn_f32(LENGTH));
    out[6] = tn_random_normal(key, tn_f64(LENGTH));
    out[7] = tn_random_split(key, LENGTH);
    out[8] = tn_random_fold_in(key, -3);
}

typedef struct results {
    int32_t key[2], bits[LENGTH];
    int64_t wide[LENGTH];
    float uniform[LENGTH];
    double uniform64[LENGTH];
    float normal[LENGTH];
    double normal64[LENGTH];
    int32_t split[LENGTH][2], folded[2];
} results;

#define RESULTS(r)                                                                                                   \
    TN_OUTPUTS((r)->key, (r)->bits, (r)->wide, (r)->uniform, (r)->uniform64, (r)->normal, (r)->normal64, (r)->split, \
               (r)->folded)

static void test_values_of_jax(void **state) {
    (void)state;
    results *r = calloc(2, sizeof *r);
    assert_non_null(r);
    for (size_t i = 0; i < COUNT(recorded); i++) {
        tn_ctx *c = checked();
        int64_t seed = recorded[i].seed;
        tn_fn *known = tn_trace_many(c, everything, &seed, 1, TN_TYPES(tn_i32(2)), 9);
        tn_fn *given = tn_trace_many(c, everything, NULL, 1, TN_TYPES(tn_i32(2)), 9);
        if (!known || !given) fail_msg("%s", tn_error(c));
        run(known, TN_INPUTS(recorded[0].key), RESULTS(r));
        run(given, TN_INPUTS(recorded[i].key), RESULTS(r + 1));
        assert_memory_equal(r, r + 1, sizeof *r);
        assert_memory_equal(r->key, recorded[i].key, sizeof r->key);
        assert_memory_equal(r->folded, recorded[i].folded, sizeof r->folded);
        for (int k = 0; k < 4; k++) {
            const int at = place[k];
            assert_int_equal(r->bits[at], recorded[i].bits[k]);
            assert_true(r->wide[at] == recorded[i].wide[k]);
            assert_true(r->uniform[at] == recorded[i].uniform[k] && r->uniform64[at] == recorded[i].uniform64[k]);
            /* JAX's erf_inv has some ulp of its own */
            assert_true(fabs((double)(r->normal[at] / recorded[i].normal[k]) - 1) < 2e-6);
            assert_true(fabs(r->normal64[at] / recorded[i].normal64[k] - 1) < 1e-13);
            assert_memory_equal(r->split[at], recorded[i].split[k], sizeof r->split[at]);
        }
        tn_ctx_free(c);
    }
    free(r);
}

/* ---- keys ---------------------------------------------------------------------------------------- */

static void of_key(const tn_val *in, tn_val *out, void *user) { /* key i32[..,2], number i32[..] */
    (void)user;
    out[0] = tn_random_bits(in[0], tn_i64(3, 2));
    out[1] = tn_random_uniform(in[0], tn_f32());
    out[2] = tn_random_normal(in[0], tn_f64(2));
    out[3] = tn_random_split(in[0], 3);
    out[4] = tn_random_fold_in(in[0], in[1]);
}

typedef struct drawn {
    int64_t bits[6];
    float uniform;
    double normal[2];
    int32_t split[6], folded[2];
} drawn;

/* Results of `n` keys, as arrays of arrays, against `one` call after the other. */
static void same_as_loop(const tn_fn *many, const tn_fn *one, int n, const int32_t *keys, int key_step,
                         const int32_t *numbers, int number_step) {
    int64_t bits[4][6];
    float uniform[4];
    double normal[4][2];
    int32_t split[4][6], folded[4][2];
    run(many, TN_INPUTS(keys, numbers), TN_OUTPUTS(bits, uniform, normal, split, folded));
    for (int i = 0; i < n; i++) {
        drawn d;
        run(one, TN_INPUTS(keys + key_step * i, numbers + number_step * i),
            TN_OUTPUTS(d.bits, &d.uniform, d.normal, d.split, d.folded));
        if (key_step || i == 0) { /* else the results of the one key are not batched */
            assert_memory_equal(bits[i], d.bits, sizeof d.bits);
            assert_memory_equal(&uniform[i], &d.uniform, sizeof d.uniform);
            assert_memory_equal(normal[i], d.normal, sizeof d.normal);
            assert_memory_equal(split[i], d.split, sizeof d.split);
        }
        assert_memory_equal(folded[i], d.folded, sizeof d.folded);
    }
}

static void test_many_keys(void **state) {
    (void)state;
    tn_ctx *c = checked();
    const int32_t keys[4][2] = {{1, 2}, {-3, 4}, {0, 0}, {INT32_MIN, INT32_MAX}}, numbers[4] = {0, -1, 7, INT32_MIN};
    tn_fn *one = tn_trace_many(c, of_key, NULL, 2, TN_TYPES(tn_i32(2), tn_i32()), 5);
    tn_fn *batch = tn_trace_many(c, of_key, NULL, 2, TN_TYPES(tn_i32(4, 2), tn_i32(4)), 5);
    tn_fn *repeated = tn_trace_many(c, of_key, NULL, 2, TN_TYPES(tn_i32(2, 2, 2), tn_i32()), 5);
    if (!one || !batch || !repeated) fail_msg("%s", tn_error(c));
    const int key_only[2] = {0, TN_NOT_MAPPED}, number_only[2] = {TN_NOT_MAPPED, 0};
    const int unmapped[5] = {TN_NOT_MAPPED, TN_NOT_MAPPED, TN_NOT_MAPPED, TN_NOT_MAPPED, 0};
    same_as_loop(batch, one, 4, keys[0], 2, numbers, 1);
    same_as_loop(repeated, one, 4, keys[0], 2, numbers, 0);
    same_as_loop(tn_vmap(one, 4, NULL, NULL), one, 4, keys[0], 2, numbers, 1);
    same_as_loop(tn_vmap(one, 4, key_only, NULL), one, 4, keys[0], 2, numbers, 0);
    same_as_loop(tn_vmap(one, 4, number_only, unmapped), one, 4, keys[1], 0, numbers, 1);
    same_as_loop(tn_vmap(tn_vmap(one, 2, key_only, NULL), 2, key_only, NULL), one, 4, keys[0], 2, numbers, 0);
    tn_ctx_free(c);
}

static tn_val rows_of_split(const tn_val *in, void *user) {
    (void)user;
    tn_val keys = tn_random_split(in[0], 3), same = tn_eq(tn_at(keys, 0), tn_random_fold_in(in[0], 0));
    same = tn_and(same, tn_eq(tn_at(keys, 2), tn_random_fold_in(in[0], 2)));
    return tn_all(tn_and(same, tn_ne(tn_at(keys, 1), tn_at(keys, 2))));
}

static tn_val drawn_twice(const tn_val *in, void *user) {
    (void)user;
    return tn_sub(tn_random_normal(in[0], tn_f64(5)), tn_random_normal(in[0], tn_f64(5)));
}

static void test_equal_draws_are_one(void **state) {
    (void)state;
    tn_ctx *c = checked();
    uint8_t same = 0;
    run(tn_trace(c, rows_of_split, NULL, 1, TN_TYPES(tn_i32(2))), TN_INPUTS(((const int32_t[]){5, 6})),
        TN_OUTPUTS(&same));
    assert_int_equal(same, 1);
    tn_fn *f = tn_trace(c, drawn_twice, NULL, 1, TN_TYPES(tn_i32(2)));
    assert_non_null(f);
    assert_int_equal(f->neqn, 2); /* one draw and the difference */
    tn_ctx_free(c);
}

static void empty(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    out[0] = tn_random_normal(in[0], tn_f32(3, 0));
    out[1] = tn_random_split(in[0], 0);
    out[2] = tn_random_uniform(in[1], tn_f64(3)); /* no keys */
    out[3] = tn_random_fold_in(in[1], 1);
}

static void test_empty(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = tn_trace_many(c, empty, NULL, 2, TN_TYPES(tn_i32(2), tn_i32(0, 2)), 4);
    if (!f) fail_msg("%s", tn_error(c));
    const int32_t key[2] = {1, 2};
    char none[4] = {1, 2, 3, 4};
    run(f, TN_INPUTS(key, none), TN_OUTPUTS(none, none, none, none));
    assert_memory_equal(none, ((const char[]){1, 2, 3, 4}), 4);
    tn_ctx_free(c);
}

/* ---- errors ---------------------------------------------------------------------------------------- */

#define BAD(name, expression)                          \
    static tn_val name(const tn_val *in, void *user) { \
        (void)user;                                    \
        return expression;                             \
    }
BAD(float_key, tn_random_bits(in[1], tn_i32(3)))
BAD(long_key, tn_random_split(in[2], 3))
BAD(float_bits, tn_random_bits(in[0], tn_f32(3)))
BAD(whole_uniform, tn_random_uniform(in[0], tn_i32(3)))
BAD(bool_normal, tn_random_normal(in[0], tn_bool(3)))
BAD(negative_split, tn_random_split(in[0], -1))
BAD(negative_shape, tn_random_normal(in[0], tn_f32(-1)))
BAD(too_many, tn_random_uniform(in[0], tn_f64(INT64_MAX, 2)))
BAD(rank_nine, tn_random_uniform(in[3], tn_f64(1, 1, 1, 1, 1, 1, 1, 1)))
BAD(rank_nine_keys, tn_random_split(tn_random_split(in[4], 1), 1))
BAD(wide_number, tn_random_fold_in(in[0], in[5]))
BAD(half_number, tn_random_fold_in(in[0], 2.5))
BAD(more_numbers, tn_random_fold_in(in[0], in[2]))

static void test_errors(void **state) {
    (void)state;
    static const struct {
        tn_trace_fn f;
        const char *says;
    } rows[] = {
        {float_key,
         "random_bits: operand 0: a key is i32[2] or u32[2], many keys i32[..,2] or u32[..,2] (operands: f32[2])"},
        {long_key, "random_split: operand 0: a key is i32[2] or u32[2]"},
        {float_bits, "random_bits: dtype must be one of integers"},
        {whole_uniform, "random_uniform: dtype must be f32 or f64"},
        {bool_normal, "random_normal: dtype must be f32 or f64"},
        {negative_split, "random_split: the size of the result i32[-1,2] overflows or is negative"},
        {negative_shape, "random_normal: no valid type"},
        {too_many, "random_uniform: no valid type"},
        {rank_nine, "random_uniform: the result would have rank 9"},
        {rank_nine_keys, "random_split: the result would have rank 9"},
        {wide_number, "random_fold_in: operand 1: must be i32[]: a number for each key"},
        {half_number, "random_fold_in: operand 1:"},
        {more_numbers, "random_fold_in: operand 1: must be i32[]"},
    };
    const tn_type in[6] = {tn_i32(2), tn_f32(2), tn_i32(3), tn_i32(5, 2), tn_i32(1, 1, 1, 1, 1, 1, 2), tn_i64()};
    for (size_t i = 0; i < COUNT(rows); i++) {
        tn_ctx *c = checked();
        assert_null(tn_trace(c, rows[i].f, NULL, COUNT(in), in));
        if (!strstr(tn_error(c), rows[i].says) || !strstr(tn_error(c), "random.c:"))
            fail_msg("row %zu: %s", i, tn_error(c));
        tn_ctx_free(c);
    }
}

/* ---- derivatives ------------------------------------------------------------------------------------- */

enum { UNITS = 300 };

/* Dropout, noise and a random projection around weights w: the draws are residuals, or are drawn again. */
static tn_val noisy(const tn_val *in, void *user) { /* w f64[300], key */
    (void)user;
    tn_val keys = tn_random_split(in[1], 2), noise = tn_random_normal(tn_at(keys, 0), tn_f64(UNITS));
    tn_val kept = tn_lt(tn_random_uniform(tn_at(keys, 1), tn_f64(UNITS)), 0.75);
    tn_val h = tn_sin(tn_mul(in[0], tn_exp(noise)));
    return tn_sum(tn_mul(tn_where(kept, h, 0.0), noise));
}

static void draws(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    tn_val keys = tn_random_split(in[0], 2);
    out[0] = tn_random_normal(tn_at(keys, 0), tn_f64(UNITS));
    out[1] = tn_random_uniform(tn_at(keys, 1), tn_f64(UNITS));
}

/* The same in a region whose policy is its own: its name is `user`. */
static tn_val noisy_region(const tn_val *in, void *user) {
    const tn_policy p = {.size = sizeof p, .name = user};
    return tn_checkpoint(noisy, &p, NULL, 2, in);
}

/* Draws in the linear half, the two programs of a region included. */
static int draws_again(tn_fn *f, const tn_policy *policy) {
    const tn_linearized l = tn_linearize(f, tn_wrt(0), policy);
    if (!l.linear) fail_msg("%s", tn_error(tn_fn_ctx(f)));
    size_t n;
    char *text = tn_fn_print(l.linear, &n);
    int count = 0;
    for (const char *at = text; (at = strstr(at, "= random_")) != NULL; at++) count++;
    tn_text_free(tn_fn_ctx(f), text);
    return count;
}

static tn_verdict alternately(void *user, const tn_candidate *v) {
    (void)v;
    return ++*(int *)user % 2 ? TN_SAVE : TN_RECOMPUTE;
}

static void test_same_bits_under_policies(void **state) {
    (void)state;
    tn_ctx *c = checked();
    static char names[][64] = {"nothing_saveable",
                               "everything_saveable",
                               "dots_saveable",
                               "dots_with_no_batch_dims_saveable",
                               "save_only_these_names:a",
                               "save_any_names_but_these:a",
                               "save_anything_except_these_names:a",
                               "save_from_either_policy:dots_saveable|save_only_these_names:a",
                               "balanced",
                               "min_cut",
                               "min_bytes"};
    const int32_t key[2] = {11, -12};
    double w[UNITS], noise[UNITS], uniform[UNITS], want[UNITS], first[UNITS], got[UNITS];
    for (int i = 0; i < UNITS; i++) w[i] = 0.01 * i;
    run(tn_trace_many(c, draws, NULL, 1, TN_TYPES(tn_i32(2)), 2), TN_INPUTS(key), TN_OUTPUTS(noise, uniform));
    for (int i = 0; i < UNITS; i++)
        want[i] = uniform[i] < 0.75 ? noise[i] * cos(w[i] * exp(noise[i])) * exp(noise[i]) : 0;
    tn_fn *f = tn_trace(c, noisy, NULL, 2, TN_TYPES(tn_f64(UNITS), tn_i32(2)));
    if (!f) fail_msg("%s", tn_error(c));
    run(tn_grad(f, NULL, NULL), TN_INPUTS(w, key), TN_OUTPUTS(first));
    close_to(first, want, UNITS, 1e-13);
    int calls = 0;
    const tn_policy mixed = {.size = sizeof mixed, .callback = alternately, .user = &calls};
    run(tn_grad(f, NULL, &mixed), TN_INPUTS(w, key), TN_OUTPUTS(got));
    assert_memory_equal(got, first, sizeof first);
    for (size_t i = 0; i < COUNT(names); i++) {
        const tn_policy policy = {.size = sizeof policy, .name = names[i]};
        run(tn_grad(f, NULL, &policy), TN_INPUTS(w, key), TN_OUTPUTS(got));
        assert_memory_equal(got, first, sizeof first);
        tn_fn *g = tn_trace(c, noisy_region, names[i], 2, TN_TYPES(tn_f64(UNITS), tn_i32(2)));
        if (!g) fail_msg("%s", tn_error(c));
        run(tn_grad(g, NULL, &mixed), TN_INPUTS(w, key), TN_OUTPUTS(got));
        assert_memory_equal(got, first, sizeof first);
        if (i > 1) continue;
        assert_int_equal(draws_again(f, &policy), i == 0 ? 3 : 0); /* the split and both draws */
        assert_int_equal(draws_again(g, NULL), i == 0 ? 3 : 0);
    }
    assert_true(calls > 0);
    tn_ctx_free(c);
}

/* ---- distributions -------------------------------------------------------------------------------------- */

enum { MANY = 1000000 };

static void sample(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    out[0] = tn_convert(tn_random_normal(in[0], tn_f32(MANY)), TN_F64);
    out[1] = tn_random_normal(in[0], tn_f64(MANY));
    out[2] = tn_convert(tn_random_uniform(in[0], tn_f32(MANY)), TN_F64);
    out[3] = tn_random_uniform(in[0], tn_f64(MANY));
    out[4] = tn_random_bits(in[0], tn_i64(MANY));
}

/* A mean of 10^6 numbers whose standard deviation is `deviation`: 4.5 standard errors. */
static void near(double mean, double want, double deviation) {
    if (!(fabs(mean - want) < 4.5e-3 * deviation)) fail_msg("a mean is %.6g, expected %.6g", mean, want);
}

static void check_normal(const double *x) {
    double sum[4] = {0}, beyond = 0, neighbours = 0;
    for (int i = 0; i < MANY; i++) {
        for (int k = 0; k < 4; k++) sum[k] += pow(x[i], k + 1);
        beyond += fabs(x[i]) > 3;
        neighbours += i ? x[i] * x[i - 1] : 0;
    }
    near(sum[0] / MANY, 0, 1);
    near(sum[1] / MANY, 1, sqrt(2));
    near(sum[2] / MANY, 0, sqrt(15));
    near(sum[3] / MANY, 3, sqrt(96));
    near(beyond / MANY, erfc(3 / sqrt(2)), sqrt(erfc(3 / sqrt(2))));
    near(neighbours / MANY, 0, 1);
}

static void check_uniform(const double *x) {
    double sum[2] = {0}, least = 1, most = 0;
    int part[16] = {0};
    for (int i = 0; i < MANY; i++) {
        sum[0] += x[i];
        sum[1] += x[i] * x[i];
        least = fmin(least, x[i]);
        most = fmax(most, x[i]);
        part[(int)(16 * x[i])]++;
    }
    near(sum[0] / MANY, 0.5, sqrt(1.0 / 12));
    near(sum[1] / MANY, 1.0 / 3, sqrt(4.0 / 45));
    assert_true(least >= 0 && least < 2e-5 && most < 1 && most > 1 - 2e-5);
    for (int k = 0; k < 16; k++) near((double)part[k] / MANY, 1.0 / 16, sqrt(15) / 16);
}

static void test_distributions(void **state) {
    (void)state;
    tn_ctx *c = checked();
    double *x[4];
    int64_t *bits = malloc(MANY * sizeof *bits);
    for (int k = 0; k < 4; k++) assert_non_null(x[k] = malloc(MANY * sizeof *x[k]));
    assert_non_null(bits);
    run(tn_trace_many(c, sample, NULL, 1, TN_TYPES(tn_i32(2)), 5), TN_INPUTS(((const int32_t[]){0, 2024})),
        TN_OUTPUTS(x[0], x[1], x[2], x[3], bits));
    for (int k = 0; k < 2; k++) {
        check_normal(x[k]);
        check_uniform(x[2 + k]);
    }
    for (int b = 0; b < 64; b++) {
        int ones = 0;
        for (int i = 0; i < MANY; i++) ones += (int)((uint64_t)bits[i] >> b & 1);
        near((double)ones / MANY, 0.5, 0.5);
    }
    for (int k = 0; k < 4; k++) free(x[k]);
    free(bits);
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_answers),
        cmocka_unit_test(test_values_of_jax),
        cmocka_unit_test(test_many_keys),
        cmocka_unit_test(test_equal_draws_are_one),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_same_bits_under_policies),
        cmocka_unit_test(test_distributions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
