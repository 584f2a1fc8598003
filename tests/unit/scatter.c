/* Scatters: what they refuse, updates that meet, indices outside, derivatives at zeros. */
#include "tansy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static tn_fn *parse(tn_ctx *c, const char *text) {
    tn_fn *f = tn_fn_parse(c, text, strlen(text), "f.tn");
    if (!f) fail_msg("%s\n%s", tn_error(c), text);
    return f;
}

static void run(const tn_fn *f, const void *const *in, void *const *out) {
    assert_non_null(f);
    tn_exec *e = tn_compile(f, NULL);
    if (!e) fail_msg("%s", tn_error(tn_fn_ctx(f)));
    assert_int_equal(tn_call(e, in, out), TN_OK);
    tn_exec_free(e);
}

/* Where windows meet the last one stays; one that is partly outside is dropped, or moved inside. */
static void test_scatter_writes_in_order(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    const int32_t x[4] = {7, 7, 7, 7}, i[4] = {0, 1, 9, -5}, u[8] = {1, 2, 3, 4, 5, 6, 8, 9};
    const int32_t want[2][4] = {{1, 3, 4, 7}, {8, 9, 5, 6}};
    for (int clip = 0; clip < 2; clip++) {
        char text[512];
        (void)snprintf(text, sizeof text,
                       "{ lambda x:i32[4] i:i32[4,1] u:i32[4,2] . let a = scatter[dimension_numbers="
                       "ScatterDimensionNumbers(update_window_dims=(1,), inserted_window_dims=(), "
                       "scatter_dims_to_operand_dims=(0,), operand_batching_dims=(), "
                       "scatter_indices_batching_dims=()) mode=%s] x i u in (a,) }",
                       clip ? "clip" : "drop");
        int32_t y[4];
        run(parse(c, text), (const void *[]){x, i, u}, (void *[]){y});
        assert_memory_equal(y, want[clip], sizeof y);
    }
    tn_ctx_free(c);
}

static tn_fn *scatter_of(tn_ctx *c, const char *name, const char *type, const char *extra) {
    char text[512];
    (void)snprintf(text, sizeof text,
                   "{ lambda x:%s[3] i:i32[5,1] u:%s[5] . let a = %s[dimension_numbers=ScatterDimensionNumbers("
                   "update_window_dims=(), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,), "
                   "operand_batching_dims=(), scatter_indices_batching_dims=())%s] x i u in (a,) }",
                   type, type, name, extra);
    return tn_fn_parse(c, text, strlen(text), "f.tn");
}

static void test_refusals(void **state) {
    (void)state;
    static const char *const wrong[][4] = {
        {"scatter_mul", "bool", "", "scatter_mul: operand 0"},
        {"scatter_add", "bool", "", "scatter_add is not defined for bool"},
        {"scatter_max", "f64", " mode=fill", "mode"},
        {"scatter_min", "f64", " unique_indices=7 mode=drop most=1", "most"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tn_ctx *c = tn_ctx_new(NULL);
        assert_null(scatter_of(c, wrong[i][0], wrong[i][1], wrong[i][2]));
        if (!strstr(tn_error(c), wrong[i][3])) fail_msg("expected '%s', got '%s'", wrong[i][3], tn_error(c));
        tn_ctx_free(c);
    }
}

/* All updates of a place take part; clip moves what is outside to the ends, drop leaves it out. */
static void test_scatters_join(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    static const char *const name[] = {"scatter_add", "scatter_mul", "scatter_min", "scatter_max"};
    const double x[3] = {1, 2, 3}, u[5] = {5, -4, 7, 2, 3};
    const int32_t i[5] = {0, 0, -1, 2, 9};
    const double want[4][2][3] = {
        {{2, 2, 5}, {9, 2, 8}}, {{-20, 2, 6}, {-140, 2, 18}}, {{-4, 2, 2}, {-4, 2, 2}}, {{5, 2, 3}, {7, 2, 3}}};
    for (int k = 0; k < 4; k++)
        for (int clip = 0; clip < 2; clip++) {
            double y[3];
            run(scatter_of(c, name[k], "f64", clip ? " mode=clip" : ""), (const void *[]){x, i, u}, (void *[]){y});
            assert_memory_equal(y, want[k][clip], sizeof y);
        }
    const uint8_t b[3] = {0, 1, 1}, v[5] = {1, 0, 1, 0, 1}, all[3] = {0, 1, 0}, any[3] = {1, 1, 1};
    uint8_t z[3];
    run(scatter_of(c, "scatter_min", "bool", ""), (const void *[]){b, i, v}, (void *[]){z});
    assert_memory_equal(z, all, sizeof z);
    run(scatter_of(c, "scatter_max", "bool", ""), (const void *[]){b, i, v}, (void *[]){z});
    assert_memory_equal(z, any, sizeof z);
    tn_ctx_free(c);
}

/* x u0 u1 at 0, both 0: the second derivative in them is x, in x and either it is 0. */
static void test_scatter_mul_at_zeros(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    const tn_fn *f = tn_vjp(scatter_of(c, "scatter_mul", "f64", ""), NULL, NULL);
    const double x[3] = {2, 1, 1}, u[5] = {0, 0, 3, 0, 5}, dx[3] = {0}, du[5] = {1, 0, 0, 0, 0}, ct[3] = {1, 1, 1};
    const double zero[3] = {0};
    const int32_t i[5] = {0, 0, 1, 2, 7};
    double y[3], gx[3], gu[5], ty[3], tx[3], tu[5];
    const tn_fn *g = tn_jvp(f, NULL);
    assert_non_null(g);
    run(g, (const void *[]){x, i, u, ct, dx, du, zero}, (void *[]){y, gx, gu, ty, tx, tu});
    assert_memory_equal(gx, ((double[]){0, 3, 0}), sizeof gx);
    assert_memory_equal(gu, ((double[]){0, 0, 1, 1, 0}), sizeof gu);
    assert_memory_equal(tx, zero, sizeof tx);
    assert_memory_equal(tu, ((double[]){0, 2, 0, 0, 0}), sizeof tu);
    tn_ctx_free(c);
}

/* Many single elements, whose operand is longer than any block of a copy: of each dtype and index dtype, in and out of
 * order and of range, along a column of three too, of an operand that is transposed, or an array of the program's own.
 */
enum { MANY = 5000, UPDATES = 3001, WIDTH = 3 };

typedef enum order { ASCENDING, DESCENDING, ANY, NORDERS } order;
typedef enum operand { PLAIN, OWN, COLUMN, TURNED, NOPERANDS } operand;

static int64_t index_of(order o, int64_t k, uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    const int64_t rough = (int64_t)(*state >> 16) % (MANY + 200) - 100;
    return o == ASCENDING ? k * 5 / 3 : o == DESCENDING ? MANY + 20 - k * 5 / 3 : rough;
}

static void put(const char *dtype, void *at, int64_t i, int64_t x) {
    if (!strcmp(dtype, "f32")) ((float *)at)[i] = (float)x;
    if (!strcmp(dtype, "f64")) ((double *)at)[i] = (double)x;
    if (!strcmp(dtype, "i32") || !strcmp(dtype, "u32")) ((int32_t *)at)[i] = (int32_t)x;
    if (!strcmp(dtype, "i64")) ((int64_t *)at)[i] = x;
    if (!strcmp(dtype, "bool")) ((uint8_t *)at)[i] = (uint8_t)(x & 1);
}

static void many(const char *dtype, bool adds, bool wide, bool clip, order o, operand how) {
    static int64_t x[MANY * WIDTH], u[UPDATES], at[UPDATES], y[MANY * WIDTH], want[MANY * WIDTH];
    static int64_t index[UPDATES], update[UPDATES], number[MANY * WIDTH];
    const bool column = how == COLUMN || how == TURNED, turned = how == TURNED;
    const int64_t n = column ? MANY * WIDTH : MANY, by = column ? WIDTH : 1;
    const size_t size = !strcmp(dtype, "bool") ? 1 : !strcmp(dtype + 1, "64") ? 8 : 4;
    uint32_t state = 7;
    for (int64_t i = 0; i < n; i++) number[i] = how == OWN ? 2 * (i % 100) : i % 100;
    for (int64_t k = 0; k < UPDATES; k++) {
        update[k] = 3 + k % 50;
        index[k] = index_of(o, k, &state);
        if (wide)
            at[k] = index[k];
        else
            ((int32_t *)at)[k] = (int32_t)index[k];
        put(dtype, u, k, update[k]);
    }
    for (int64_t i = 0; i < n; i++) put(dtype, x, turned ? i % WIDTH * MANY + i / WIDTH : i, i % 100);
    for (int64_t k = 0; k < UPDATES; k++) {
        int64_t i = index[k];
        if (clip) i = i < 0 ? 0 : i >= MANY ? MANY - 1 : i;
        if (i >= 0 && i < MANY) number[i * by] = (adds ? number[i * by] : 0) + update[k];
    }
    for (int64_t i = 0; i < n; i++) put(dtype, want, i, number[i]);
    char text[512];
    (void)snprintf(
        text, sizeof text,
        "{ lambda x:%s[%s] i:i%d[3001,1] u:%s[3001] . let %s b = %s[dimension_numbers=ScatterDimensionNumbers("
        "update_window_dims=(), inserted_window_dims=(0,%s), scatter_dims_to_operand_dims=(0,), "
        "operand_batching_dims=(), scatter_indices_batching_dims=()) mode=%s] %s i u in (b,) }",
        dtype,
        turned   ? "3,5000"
        : column ? "5000,3"
                 : "5000",
        wide ? 64 : 32, dtype,
        turned       ? "a = transpose[permutation=(1, 0)] x"
        : how == OWN ? "a = add x x"
                     : "",
        adds ? "scatter_add" : "scatter", column ? " 1" : "", clip ? "clip" : "drop", turned || how == OWN ? "a" : "x");
    tn_ctx *c = tn_ctx_new(NULL);
    run(parse(c, text), (const void *[]){x, at, u}, (void *[]){y});
    if (memcmp(y, want, (size_t)n * size) != 0) fail_msg("order %d, operand %d: %s", (int)o, (int)how, text);
    tn_ctx_free(c);
}

static void test_many_elements(void **state) {
    (void)state;
    static const char *const dtype[] = {"f32", "f64", "i32", "i64", "u32", "bool"};
    for (size_t d = 0; d < 6; d++)
        for (int which = 0; which < 8; which++)
            for (int o = 0; o < NORDERS; o++)
                for (int how = 0; how < NOPERANDS; how++) {
                    const bool adds = which & 1;
                    if (d == 5 && (adds || how == OWN)) continue;
                    many(dtype[d], adds, which & 2, which & 4, (order)o, (operand)how);
                }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_scatter_writes_in_order),
        cmocka_unit_test(test_scatters_join),
        cmocka_unit_test(test_many_elements),
        cmocka_unit_test(test_scatter_mul_at_zeros),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
