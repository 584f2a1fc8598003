/* Values of elementwise primitives in every dtype, through their strips and
 * kernels: the edges where conventions decide, accuracy, strides. */
#include "prims/ids.h"
#include "prims/sample.h"
#include "prims/strips.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

/* ---- running one primitive -------------------------------------------------------- */

static tn_status run_arrays(int id, const tn_i_param *p, uint32_t nin, const tn_i_arr *in, tn_i_arr *out) {
    const tn_prim *prim = tn_i_registry[id];
    char message[256] = "";
    const tn_i_kernel k = {
        .prim = prim, .p = p, .nin = nin, .nout = 1, .in = in, .out = out, .threads = 1, .message = message};
    if (prim->kernel) return prim->kernel(&k);
    return tn_i_run_strip(&k, prim->strip[in[prim->strip_operand].type->dtype]);
}

/* Operands and result are vectors of n elements; a NULL operand ends the list. */
static void run(int id, const tn_i_param *p, int64_t n, int out_dtype, void *out, const int *dtype,
                const void *const *in) {
    tn_type type[4];
    tn_i_arr arr[4];
    uint32_t nin = 0;
    memset(arr, 0, sizeof arr);
    for (; nin < 3 && in[nin]; nin++) {
        type[nin] = tn_type_of((tn_dtype)dtype[nin], 1, &n);
        arr[nin] = (tn_i_arr){.type = &type[nin], .data = (void *)(uintptr_t)in[nin], .stride = {1}};
    }
    type[3] = tn_type_of((tn_dtype)out_dtype, 1, &n);
    arr[3] = (tn_i_arr){.type = &type[3], .data = out, .stride = {1}};
    assert_int_equal(run_arrays(id, p, nin, arr, &arr[3]), TN_OK);
}

static int32_t i32_of(int id, int32_t x, int32_t y) {
    int32_t out = 77;
    run(id, NULL, 1, TN_I32, &out, (const int[]){TN_I32, TN_I32},
        (const void *[]){&x, tn_i_registry[id]->nin > 1 ? &y : NULL, NULL});
    return out;
}

static int64_t i64_of(int id, int64_t x, int64_t y) {
    int64_t out = 77;
    run(id, NULL, 1, TN_I64, &out, (const int[]){TN_I64, TN_I64},
        (const void *[]){&x, tn_i_registry[id]->nin > 1 ? &y : NULL, NULL});
    return out;
}

static float f32_of(int id, float x, float y) {
    float out = 77;
    run(id, NULL, 1, TN_F32, &out, (const int[]){TN_F32, TN_F32},
        (const void *[]){&x, tn_i_registry[id]->nin > 1 ? &y : NULL, NULL});
    return out;
}

static double f64_of(int id, double x, double y) {
    double out = 77;
    run(id, NULL, 1, TN_F64, &out, (const int[]){TN_F64, TN_F64},
        (const void *[]){&x, tn_i_registry[id]->nin > 1 ? &y : NULL, NULL});
    return out;
}

/* The same number, sign of zero included; any NaN is the same as any other. */
static bool identical(double a, double b) { return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b)); }
#define assert_identical(a, b) assert_true(identical((double)(a), (double)(b)))

/* ---- integers ------------------------------------------------------------------------ */

static void integers_wrap(void **state) {
    (void)state;
    assert_int_equal(i32_of(TN_P_add, INT32_MAX, 1), INT32_MIN);
    assert_int_equal(i32_of(TN_P_sub, INT32_MIN, 1), INT32_MAX);
    assert_int_equal(i32_of(TN_P_mul, 65536, 65536), 0);
    assert_int_equal(i32_of(TN_P_mul, INT32_MIN, -1), INT32_MIN);
    assert_int_equal(i32_of(TN_P_neg, INT32_MIN, 0), INT32_MIN);
    assert_int_equal(i32_of(TN_P_abs, INT32_MIN, 0), INT32_MIN);
    assert_int_equal(i32_of(TN_P_abs, -5, 0), 5);
    assert_int_equal(i32_of(TN_P_square, 46341, 0), -2147479015);
    assert_true(i64_of(TN_P_add, INT64_MAX, 1) == INT64_MIN);
    assert_true(i64_of(TN_P_sub, INT64_MIN, 1) == INT64_MAX);
    assert_true(i64_of(TN_P_mul, INT64_C(1) << 32, INT64_C(1) << 32) == 0);
    assert_true(i64_of(TN_P_neg, INT64_MIN, 0) == INT64_MIN);
    assert_true(i64_of(TN_P_abs, INT64_MIN, 0) == INT64_MIN);
    assert_true(i64_of(TN_P_square, INT64_C(3037000500), 0) == INT64_C(-9223372036709301616));
    assert_int_equal(i32_of(TN_P_sign, INT32_MIN, 0), -1);
    assert_int_equal(i32_of(TN_P_sign, 0, 0), 0);
    assert_int_equal(i64_of(TN_P_sign, INT64_MAX, 0), 1);
}

static void integers_divide(void **state) {
    (void)state;
    static const struct {
        int32_t x, y, quotient, remainder;
    } row[] = {{7, 2, 3, 1},
               {-7, 2, -3, -1},
               {7, -2, -3, 1},
               {-7, -2, 3, -1},
               {5, 0, -1, 5},
               {-5, 0, -1, -5},
               {0, 0, -1, 0},
               {INT32_MIN, -1, INT32_MIN, 0},
               {9, -1, -9, 0},
               {INT32_MIN, 0, -1, INT32_MIN},
               {INT32_MIN, 1, INT32_MIN, 0}};
    for (size_t i = 0; i < COUNT(row); i++) {
        assert_int_equal(i32_of(TN_P_div, row[i].x, row[i].y), row[i].quotient);
        assert_int_equal(i32_of(TN_P_rem, row[i].x, row[i].y), row[i].remainder);
    }
    assert_true(i64_of(TN_P_div, INT64_MIN, -1) == INT64_MIN);
    assert_true(i64_of(TN_P_rem, INT64_MIN, -1) == 0);
    assert_true(i64_of(TN_P_div, INT64_MIN, 0) == -1);
    assert_true(i64_of(TN_P_rem, INT64_MIN, 0) == INT64_MIN);
    assert_true(i64_of(TN_P_div, -7, 2) == -3 && i64_of(TN_P_rem, -7, 2) == -1);
}

static void bits(void **state) {
    (void)state;
    assert_int_equal(i32_of(TN_P_and, -4, 7), 4);
    assert_int_equal(i32_of(TN_P_or, -4, 3), -1);
    assert_int_equal(i32_of(TN_P_xor, 5, -1), -6);
    assert_int_equal(i32_of(TN_P_not, 0, 0), -1);
    assert_true(i64_of(TN_P_not, INT64_MIN, 0) == INT64_MAX);
    assert_int_equal(i32_of(TN_P_shift_left, 3, 31), INT32_MIN);
    assert_int_equal(i32_of(TN_P_shift_left, 3, 32), 0);
    assert_int_equal(i32_of(TN_P_shift_left, 3, -1), 0);
    assert_int_equal(i32_of(TN_P_shift_right_logical, -1, 28), 15);
    assert_int_equal(i32_of(TN_P_shift_right_logical, -1, 32), 0);
    assert_int_equal(i32_of(TN_P_shift_right_arithmetic, -5, 1), -3);
    assert_int_equal(i32_of(TN_P_shift_right_arithmetic, INT32_MIN, INT32_MAX), -1);
    assert_int_equal(i32_of(TN_P_shift_right_arithmetic, INT32_MAX, INT32_MIN), 0);
    assert_true(i64_of(TN_P_shift_left, 1, 63) == INT64_MIN && i64_of(TN_P_shift_left, 1, 64) == 0);
    assert_true(i64_of(TN_P_shift_right_logical, INT64_MIN, 63) == 1);
    assert_true(i64_of(TN_P_shift_right_arithmetic, INT64_MIN, 62) == -2);
    assert_int_equal(i32_of(TN_P_population_count, -1, 0), 32);
    assert_int_equal(i32_of(TN_P_population_count, 0x10f0, 0), 5);
    assert_true(i64_of(TN_P_population_count, INT64_MAX, 0) == 63);
    assert_int_equal(i32_of(TN_P_clz, 0, 0), 32);
    assert_int_equal(i32_of(TN_P_clz, 1, 0), 31);
    assert_int_equal(i32_of(TN_P_clz, -1, 0), 0);
    assert_true(i64_of(TN_P_clz, 0, 0) == 64 && i64_of(TN_P_clz, 1, 0) == 63);
    const uint8_t x[4] = {0, 0, 1, 1}, y[4] = {0, 1, 0, 1};
    static const struct {
        int id;
        uint8_t out[4];
    } row[] = {{TN_P_and, {0, 0, 0, 1}}, {TN_P_or, {0, 1, 1, 1}}, {TN_P_xor, {0, 1, 1, 0}},
               {TN_P_eq, {1, 0, 0, 1}},  {TN_P_ne, {0, 1, 1, 0}}, {TN_P_lt, {0, 1, 0, 0}},
               {TN_P_le, {1, 1, 0, 1}},  {TN_P_gt, {0, 0, 1, 0}}, {TN_P_ge, {1, 0, 1, 1}}};
    for (size_t i = 0; i < COUNT(row); i++) {
        uint8_t out[4];
        run(row[i].id, NULL, 4, TN_BOOL, out, (const int[]){TN_BOOL, TN_BOOL}, (const void *[]){x, y, NULL});
        assert_memory_equal(out, row[i].out, 4);
    }
    uint8_t out[4];
    run(TN_P_not, NULL, 4, TN_BOOL, out, (const int[]){TN_BOOL}, (const void *[]){x, NULL});
    assert_memory_equal(out, ((const uint8_t[]){1, 1, 0, 0}), 4);
}

/* ---- floats: signed zeros, NaN ------------------------------------------------------------ */

static void extremes(void **state) {
    (void)state;
    static const double row[][4] = {/* x, y, max, min */
                                    {1, 2, 2, 1},
                                    {0.0, -0.0, 0.0, -0.0},
                                    {-0.0, 0.0, 0.0, -0.0},
                                    {-0.0, -0.0, -0.0, -0.0},
                                    {0.0, 0.0, 0.0, 0.0},
                                    {NAN, 1, NAN, NAN},
                                    {1, NAN, NAN, NAN},
                                    {NAN, INFINITY, NAN, NAN},
                                    {-INFINITY, NAN, NAN, NAN},
                                    {-INFINITY, 3, 3, -INFINITY},
                                    {INFINITY, INFINITY, INFINITY, INFINITY}};
    for (size_t i = 0; i < COUNT(row); i++) {
        assert_identical(f64_of(TN_P_max, row[i][0], row[i][1]), row[i][2]);
        assert_identical(f64_of(TN_P_min, row[i][0], row[i][1]), row[i][3]);
        assert_identical(f32_of(TN_P_max, (float)row[i][0], (float)row[i][1]), row[i][2]);
        assert_identical(f32_of(TN_P_min, (float)row[i][0], (float)row[i][1]), row[i][3]);
    }
    assert_int_equal(i32_of(TN_P_max, INT32_MIN, 3), 3);
    assert_true(i64_of(TN_P_min, INT64_MIN, 3) == INT64_MIN);
}

static void clamps(void **state) {
    (void)state;
    static const double row[][4] = {/* min, x, max, clamp */
                                    {0, -1, 1, 0},    {0, 2, 1, 1},       {0, 0.5, 1, 0.5},
                                    {0, NAN, 1, NAN}, {NAN, 0.5, 1, NAN}, {0, 0.5, NAN, NAN},
                                    {3, 1, 2, 2},     {3, 5, 2, 2},       {-INFINITY, 7, INFINITY, 7}};
    for (size_t i = 0; i < COUNT(row); i++) {
        double out;
        float narrow;
        const float min = (float)row[i][0], x = (float)row[i][1], max = (float)row[i][2];
        run(TN_P_clamp, NULL, 1, TN_F64, &out, (const int[]){TN_F64, TN_F64, TN_F64},
            (const void *[]){&row[i][0], &row[i][1], &row[i][2]});
        run(TN_P_clamp, NULL, 1, TN_F32, &narrow, (const int[]){TN_F32, TN_F32, TN_F32},
            (const void *[]){&min, &x, &max});
        assert_identical(out, row[i][3]);
        assert_identical(narrow, row[i][3]);
    }
    const int32_t min[3] = {-2, -2, 5}, x[3] = {-9, 9, 3}, max[3] = {2, 2, 4};
    int32_t out[3];
    run(TN_P_clamp, NULL, 3, TN_I32, out, (const int[]){TN_I32, TN_I32, TN_I32}, (const void *[]){min, x, max});
    assert_true(out[0] == -2 && out[1] == 2 && out[2] == 4);
}

static void zeros_and_signs(void **state) {
    (void)state;
    assert_identical(f64_of(TN_P_neg, 0.0, 0), -0.0);
    assert_identical(f64_of(TN_P_abs, -0.0, 0), 0.0);
    assert_identical(f64_of(TN_P_sign, -0.0, 0), -0.0);
    assert_identical(f64_of(TN_P_sign, NAN, 0), NAN);
    assert_identical(f64_of(TN_P_sign, -INFINITY, 0), -1.0);
    assert_identical(f32_of(TN_P_sign, 1e-40f, 0), 1.0);
    assert_identical(f64_of(TN_P_rem, -5.5, 2), -1.5);
    assert_identical(f64_of(TN_P_rem, 5.5, -2), 1.5);
    assert_identical(f64_of(TN_P_rem, -4, 2), -0.0);
    assert_identical(f64_of(TN_P_rem, 1, 0), NAN);
    assert_identical(f64_of(TN_P_rem, 1, INFINITY), 1);
    assert_identical(f64_of(TN_P_rsqrt, 0.0, 0), INFINITY);
    assert_identical(f64_of(TN_P_rsqrt, -1.0, 0), NAN);
    assert_identical(f64_of(TN_P_sqrt, -0.0, 0), -0.0);
    assert_identical(f64_of(TN_P_cbrt, -8.0, 0), -2.0);
    assert_identical(f64_of(TN_P_atan2, 0.0, -1.0), acos(-1.0));
    assert_identical(f64_of(TN_P_atan2, -0.0, 1.0), -0.0);
    assert_identical(f64_of(TN_P_log, -0.0, 0), -INFINITY);
    assert_identical(f64_of(TN_P_log1p, -1.0, 0), -INFINITY);
    assert_identical(f64_of(TN_P_logistic, -1e4, 0), 0.0);
    assert_identical(f64_of(TN_P_logistic, 1e4, 0), 1.0);
    assert_identical(f64_of(TN_P_erf_inv, 1.0, 0), INFINITY);
    assert_identical(f64_of(TN_P_lgamma, -2.0, 0), INFINITY);
    assert_identical(f64_of(TN_P_digamma, 0.0, 0), NAN);
    assert_true(fabs(f64_of(TN_P_polygamma, 1, 1) - 1.64493406684822643647) < 1e-15);
    assert_true(fabsf(f32_of(TN_P_polygamma, 2, 1) + 2.40411381f) < 1e-6f);
}

static void comparisons(void **state) {
    (void)state;
    const double x[6] = {NAN, 1, NAN, 0.0, INFINITY, 1}, y[6] = {1, NAN, NAN, -0.0, INFINITY, 2};
    static const struct {
        int id;
        uint8_t out[6];
    } row[] = {{TN_P_eq, {0, 0, 0, 1, 1, 0}}, {TN_P_ne, {1, 1, 1, 0, 0, 1}}, {TN_P_lt, {0, 0, 0, 0, 0, 1}},
               {TN_P_le, {0, 0, 0, 1, 1, 1}}, {TN_P_gt, {0, 0, 0, 0, 0, 0}}, {TN_P_ge, {0, 0, 0, 1, 1, 0}}};
    float fx[6], fy[6];
    for (int i = 0; i < 6; i++) {
        fx[i] = (float)x[i];
        fy[i] = (float)y[i];
    }
    for (size_t i = 0; i < COUNT(row); i++) {
        uint8_t out[6], narrow[6];
        run(row[i].id, NULL, 6, TN_BOOL, out, (const int[]){TN_F64, TN_F64}, (const void *[]){x, y, NULL});
        run(row[i].id, NULL, 6, TN_BOOL, narrow, (const int[]){TN_F32, TN_F32}, (const void *[]){fx, fy, NULL});
        assert_memory_equal(out, row[i].out, 6);
        assert_memory_equal(narrow, row[i].out, 6);
    }
    const int64_t a[3] = {INT64_MIN, 0, INT64_MAX}, b[3] = {INT64_MAX, 0, INT64_MIN};
    uint8_t out[6];
    run(TN_P_lt, NULL, 3, TN_BOOL, out, (const int[]){TN_I64, TN_I64}, (const void *[]){a, b, NULL});
    assert_memory_equal(out, ((const uint8_t[]){1, 0, 0}), 3);
    run(TN_P_is_finite, NULL, 6, TN_BOOL, out, (const int[]){TN_F64}, (const void *[]){x, NULL});
    assert_memory_equal(out, ((const uint8_t[]){0, 1, 0, 1, 0, 1}), 6);
    run(TN_P_is_finite, NULL, 6, TN_BOOL, out, (const int[]){TN_F32}, (const void *[]){fx, NULL});
    assert_memory_equal(out, ((const uint8_t[]){0, 1, 0, 1, 0, 1}), 6);
}

static void rounding(void **state) {
    (void)state;
    static const double x[] = {0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.4, -0.0, 2.6};
    static const double away[] = {1, 2, 3, -1, -2, -3, 0, -0.0, 3}, even[] = {0, 2, 2, -0.0, -2, -2, 0, -0.0, 3};
    for (int method = 0; method < 2; method++) {
        const tn_i_param p = {.kind = TN_K_SYM, .u.i = method};
        for (size_t i = 0; i < COUNT(x); i++) {
            double out;
            float narrow;
            const float fx = (float)x[i];
            run(TN_P_round, &p, 1, TN_F64, &out, (const int[]){TN_F64}, (const void *[]){&x[i], NULL});
            run(TN_P_round, &p, 1, TN_F32, &narrow, (const int[]){TN_F32}, (const void *[]){&fx, NULL});
            assert_identical(out, method ? even[i] : away[i]);
            assert_identical(narrow, method ? even[i] : away[i]);
        }
    }
    assert_identical(f64_of(TN_P_floor, -0.5, 0), -1.0);
    assert_identical(f64_of(TN_P_ceil, -0.5, 0), -0.0);
    assert_identical(f32_of(TN_P_floor, 2.5f, 0), 2.0);
    assert_identical(f32_of(TN_P_ceil, 2.5f, 0), 3.0);
}

/* ---- powers --------------------------------------------------------------------------------- */

static void integer_powers(void **state) {
    (void)state;
    for (int64_t y = -9; y <= 9; y++) {
        const tn_i_param p = {.kind = TN_K_INT, .u.i = y};
        const double x = -1.25;
        double exact = 1, out; /* -1.25^9 has 27 bits: no product rounds */
        for (int64_t i = 0; i < (y < 0 ? -y : y); i++) exact *= x;
        run(TN_P_integer_pow, &p, 1, TN_F64, &out, (const int[]){TN_F64}, (const void *[]){&x, NULL});
        assert_identical(out, y < 0 ? 1 / exact : exact);
        const float narrow_x = -1.5f;
        float narrow, narrow_exact = 1;
        for (int64_t i = 0; i < (y < 0 ? -y : y); i++) narrow_exact *= narrow_x;
        run(TN_P_integer_pow, &p, 1, TN_F32, &narrow, (const int[]){TN_F32}, (const void *[]){&narrow_x, NULL});
        assert_identical(narrow, y < 0 ? 1 / narrow_exact : narrow_exact);
        if (y < 0) continue;
        const int32_t i = -7;
        const int64_t j = 1000003;
        int32_t power = 1, i_out;
        int64_t j_out;
        uint64_t wide = 1;
        for (int64_t k = 0; k < y; k++) {
            power *= i;
            wide *= (uint64_t)j;
        }
        run(TN_P_integer_pow, &p, 1, TN_I32, &i_out, (const int[]){TN_I32}, (const void *[]){&i, NULL});
        run(TN_P_integer_pow, &p, 1, TN_I64, &j_out, (const int[]){TN_I64}, (const void *[]){&j, NULL});
        assert_int_equal(i_out, power);
        assert_true((uint64_t)j_out == wide);
    }
}

static double pow_whole(double x, int64_t y) {
    double out;
    run(TN_P_pow, NULL, 1, TN_F64, &out, (const int[]){TN_F64, TN_I64}, (const void *[]){&x, &y, NULL});
    if (y == (int32_t)y) {
        const int32_t narrow = (int32_t)y;
        double same;
        run(TN_P_pow, NULL, 1, TN_F64, &same, (const int[]){TN_F64, TN_I32}, (const void *[]){&x, &narrow, NULL});
        assert_identical(out, same);
    }
    return out;
}

static void powers_of_two_kinds(void **state) {
    (void)state;
    assert_identical(f64_of(TN_P_pow, NAN, 0.0), 1.0);
    assert_identical(f64_of(TN_P_pow, -8.0, 1.0 / 3), NAN);
    assert_identical(f64_of(TN_P_pow, -2.0, 3.0), -8.0);
    assert_identical(f64_of(TN_P_pow, 0.0, -1.0), INFINITY);
    assert_identical(f32_of(TN_P_pow, 2.0f, -2.0f), 0.25);
    assert_identical(pow_whole(-2, 3), -8);
    assert_identical(pow_whole(-0.0, -3), -INFINITY);
    assert_identical(pow_whole(-0.0, 2), 0.0);
    assert_identical(pow_whole(NAN, 0), 1);
    assert_identical(pow_whole(-1, INT64_MAX), -1); /* odd, though no double is */
    assert_identical(pow_whole(-1, INT64_MIN), 1);
    assert_identical(pow_whole(2, INT64_MIN), 0);
    const float x = -3;
    const int32_t y = 5;
    float out;
    run(TN_P_pow, NULL, 1, TN_F32, &out, (const int[]){TN_F32, TN_I32}, (const void *[]){&x, &y, NULL});
    assert_identical(out, -243);
}

/* ---- conversions --------------------------------------------------------------------------------- */

static void convert(int from, const void *x, int to, void *out) {
    const tn_i_param p = {.kind = TN_K_DTYPE, .u.i = to};
    run(TN_P_convert_element_type, &p, 1, to, out, (const int[]){from}, (const void *[]){x, NULL});
}

static void floats_to_integers_saturate(void **state) {
    (void)state;
    static const struct {
        double x;
        int32_t narrow;
        int64_t wide;
    } row[] = {{NAN, 0, 0},
               {INFINITY, INT32_MAX, INT64_MAX},
               {-INFINITY, INT32_MIN, INT64_MIN},
               {1.9, 1, 1},
               {-1.9, -1, -1},
               {-0.0, 0, 0},
               {0x1p31, INT32_MAX, INT64_C(1) << 31},
               {-0x1p31, INT32_MIN, -(INT64_C(1) << 31)},
               {-0x1p32, INT32_MIN, -(INT64_C(1) << 32)},
               {0x1p63, INT32_MAX, INT64_MAX},
               {-0x1p63, INT32_MIN, INT64_MIN},
               {-0x1p64, INT32_MIN, INT64_MIN}};
    for (size_t i = 0; i < COUNT(row); i++) {
        const float x = (float)row[i].x;
        int32_t narrow[2];
        int64_t wide[2];
        convert(TN_F64, &row[i].x, TN_I32, &narrow[0]);
        convert(TN_F32, &x, TN_I32, &narrow[1]);
        convert(TN_F64, &row[i].x, TN_I64, &wide[0]);
        convert(TN_F32, &x, TN_I64, &wide[1]);
        for (int k = 0; k < 2; k++) {
            assert_int_equal(narrow[k], row[i].narrow);
            assert_true(wide[k] == row[i].wide);
        }
    }
    int32_t out;
    const double below = 2147483647.5, above = -2147483648.5;
    convert(TN_F64, &below, TN_I32, &out);
    assert_int_equal(out, INT32_MAX);
    convert(TN_F64, &above, TN_I32, &out);
    assert_int_equal(out, INT32_MIN);
}

static void other_conversions(void **state) {
    (void)state;
    const double halves[4] = {0.0, -0.0, NAN, 0.25};
    const uint8_t truth[4] = {0, 0, 1, 1};
    for (int i = 0; i < 4; i++) {
        uint8_t out, narrow;
        const float x = (float)halves[i];
        convert(TN_F64, &halves[i], TN_BOOL, &out);
        convert(TN_F32, &x, TN_BOOL, &narrow);
        assert_int_equal(out, truth[i]);
        assert_int_equal(narrow, truth[i]);
    }
    const int64_t wide = (INT64_C(1) << 33) - 5;
    int32_t low;
    uint8_t bit;
    double d;
    float f;
    convert(TN_I64, &wide, TN_I32, &low);
    assert_int_equal(low, -5);
    convert(TN_I64, &wide, TN_BOOL, &bit);
    assert_int_equal(bit, 1);
    convert(TN_I64, &wide, TN_F64, &d);
    assert_identical(d, 0x1p33 - 5);
    convert(TN_I64, &wide, TN_F32, &f);
    assert_identical(f, 0x1p33);
    const double big = 1e300;
    convert(TN_F64, &big, TN_F32, &f);
    assert_identical(f, INFINITY);
    /* Every pair of dtypes carries a 1. */
    for (int from = 0; from < TN_I_OWN_DTYPES; from++)
        for (int to = 0; to < TN_I_OWN_DTYPES; to++) {
            union {
                double d;
                uint8_t byte[8];
            } x, out, expected;
            tn_i_put(from, &x, 0, 1);
            tn_i_put(to, &expected, 0, 1);
            convert(from, &x, to, &out);
            assert_memory_equal(&out, &expected, tn_i_dtype_size(to));
        }
}

/* ---- accuracy ---------------------------------------------------------------------------------------- */

typedef struct reference {
    int id;
    long double (*exact)(long double);
    double lo, hi;
} reference;

static long double exact_rsqrt(long double x) { return 1 / sqrtl(x); }
static long double exact_square(long double x) { return x * x; }
static long double exact_logistic(long double x) { return 1 / (1 + expl(-x)); }

static const reference references[] = {
    {TN_P_sqrt, sqrtl, 1e-3, 100},     {TN_P_rsqrt, exact_rsqrt, 1e-3, 100},
    {TN_P_cbrt, cbrtl, -100, 100},     {TN_P_square, exact_square, -9, 9},
    {TN_P_exp, expl, -50, 50},         {TN_P_exp2, exp2l, -50, 50},
    {TN_P_expm1, expm1l, -5, 5},       {TN_P_log, logl, 1e-3, 100},
    {TN_P_log1p, log1pl, -0.9, 10},    {TN_P_sin, sinl, -20, 20},
    {TN_P_cos, cosl, -20, 20},         {TN_P_tan, tanl, -20, 20},
    {TN_P_asin, asinl, -1, 1},         {TN_P_acos, acosl, -1, 1},
    {TN_P_atan, atanl, -20, 20},       {TN_P_sinh, sinhl, -20, 20},
    {TN_P_cosh, coshl, -20, 20},       {TN_P_tanh, tanhl, -5, 5},
    {TN_P_asinh, asinhl, -20, 20},     {TN_P_acosh, acoshl, 1, 20},
    {TN_P_atanh, atanhl, -0.99, 0.99}, {TN_P_erf, erfl, -3, 3},
    {TN_P_erfc, erfcl, -3, 9},         {TN_P_logistic, exact_logistic, -30, 30},
};

/* Units in the last place of the exact value, the C library's own errors included. */
static void functions_are_accurate(void **state) {
    (void)state;
    tn_i_rng r = {1};
    for (size_t i = 0; i < COUNT(references); i++) {
        const reference *f = &references[i];
        for (int k = 0; k < 2000; k++) {
            const double x = tn_i_uniform(&r, f->lo, f->hi);
            const float narrow = (float)x < (float)f->lo ? (float)f->lo : (float)x;
            const long double y = f->exact((long double)x), z = f->exact((long double)narrow);
            const double unit = nextafter(fabs((double)y), INFINITY) - fabs((double)y);
            const float narrow_unit = nextafterf(fabsf((float)z), INFINITY) - fabsf((float)z);
            const double error = (double)fabsl((long double)f64_of(f->id, x, 0) - y) / unit;
            const double narrow_error = (double)fabsl((long double)f32_of(f->id, narrow, 0) - z) / (double)narrow_unit;
            if (error > 4 || narrow_error > 4)
                fail_msg("%s(%.17g): %g and %g ulp", tn_i_registry[f->id]->name, x, error, narrow_error);
        }
    }
}

/* ---- arrays ---------------------------------------------------------------------------------------------- */

static void strides_are_followed(void **state) {
    (void)state;
    double x[2 * 3 * 4], out[24];
    for (int i = 0; i < 24; i++) x[i] = i;
    const tn_type t = tn_type_of(TN_F64, 3, (const int64_t[]){2, 3, 4});
    /* x itself; x with its last two dimensions exchanged and reversed; a column repeated. */
    const tn_i_arr in[2] = {{.type = &t, .data = x, .stride = {12, 4, 1}},
                            {.type = &t, .data = x + 11, .stride = {12, -1, -3}}};
    tn_i_arr to = {.type = &t, .data = out, .stride = {12, 4, 1}};
    assert_int_equal(run_arrays(TN_P_sub, NULL, 2, in, &to), TN_OK);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 4; k++)
                assert_identical(out[12 * i + 4 * j + k], x[12 * i + 4 * j + k] - x[12 * i + 11 - j - 3 * k]);
    const tn_i_arr repeated[2] = {{.type = &t, .data = x, .stride = {12, 4, 1}},
                                  {.type = &t, .data = x, .stride = {0, 4, 0}}};
    assert_int_equal(run_arrays(TN_P_add, NULL, 2, repeated, &to), TN_OK);
    for (int i = 0; i < 24; i++) assert_identical(out[i], x[i] + x[i % 12 / 4 * 4]);
}

static void scalars_and_empty_arrays(void **state) {
    (void)state;
    const double x[3] = {1, 2, 3}, y[3] = {4, 5, 6};
    double out[3] = {0};
    const uint8_t which = 0;
    const int64_t three = 3, none = 0;
    const tn_type scalar = tn_type_of(TN_BOOL, 0, NULL), t = tn_type_of(TN_F64, 1, &three),
                  empty = tn_type_of(TN_F64, 1, &none);
    const tn_i_arr in[3] = {{.type = &scalar, .data = (void *)(uintptr_t)&which},
                            {.type = &t, .data = (void *)(uintptr_t)x, .stride = {1}},
                            {.type = &t, .data = (void *)(uintptr_t)y, .stride = {1}}};
    tn_i_arr to = {.type = &t, .data = out, .stride = {1}};
    assert_int_equal(run_arrays(TN_P_select, NULL, 3, in, &to), TN_OK);
    assert_memory_equal(out, y, sizeof y);
    const tn_i_arr no[2] = {{.type = &empty, .data = NULL, .stride = {1}},
                            {.type = &empty, .data = NULL, .stride = {1}}};
    tn_i_arr nowhere = {.type = &empty, .data = NULL, .stride = {1}};
    assert_int_equal(run_arrays(TN_P_add, NULL, 2, no, &nowhere), TN_OK);
}

/* Exponents up to 16, of both signs, are products written down, in the order of the kernel's: native code needs no call
 * for them, and loops over arrays have the bits of the kernel. */
static void usual_exponents(void **state) {
    (void)state;
    const tn_type f32 = tn_type_of(TN_F32, 0, NULL), f64 = tn_type_of(TN_F64, 0, NULL);
    const double x[] = {0.75, -1.3, 3.1e-5, 7e30, -0.0, INFINITY, NAN, 1.0000001};
    enum { N = sizeof x / sizeof *x };
    for (int64_t y = -16; y <= 16; y++) {
        if (y >= 0 && y < 3) continue; /* 1, x and a square: no equation of this kind */
        const tn_i_param p[] = {{.kind = TN_K_INT, .u.i = y}};
        for (int wide = 0; wide < 2; wide++) {
            const tn_type *in = wide ? &f64 : &f32;
            const tn_i_query q = {.prim = &tn_prim_integer_pow, .p = p, .nin = 1, .nout = 1, .in = &in};
            const char *body = NULL;
            tn_i_strip *strip = tn_prim_integer_pow.choose(&q, &body);
            assert_non_null(strip);
            assert_non_null(body);
            float from[N], by_strip[N], by_kernel[N];
            double out[2][N];
            const int dtype = wide ? TN_F64 : TN_F32;
            for (int i = 0; i < N; i++) from[i] = (float)x[i];
            const void *at[2] = {wide ? (const void *)x : from, NULL};
            const int64_t stride[1] = {1};
            strip(N, at, stride, wide ? (void *)out[0] : by_strip, 1);
            run(TN_P_integer_pow, p, N, dtype, wide ? (void *)out[1] : by_kernel, (const int[]){dtype}, at);
            if (wide)
                assert_memory_equal(out[0], out[1], sizeof out[0]);
            else
                assert_memory_equal(by_strip, by_kernel, sizeof by_strip);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(usual_exponents),
        cmocka_unit_test(integers_wrap),
        cmocka_unit_test(integers_divide),
        cmocka_unit_test(bits),
        cmocka_unit_test(extremes),
        cmocka_unit_test(clamps),
        cmocka_unit_test(zeros_and_signs),
        cmocka_unit_test(comparisons),
        cmocka_unit_test(rounding),
        cmocka_unit_test(integer_powers),
        cmocka_unit_test(powers_of_two_kinds),
        cmocka_unit_test(floats_to_integers_saturate),
        cmocka_unit_test(other_conversions),
        cmocka_unit_test(functions_are_accurate),
        cmocka_unit_test(strides_are_followed),
        cmocka_unit_test(scalars_and_empty_arrays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
