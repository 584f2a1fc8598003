/* Programs of an element and of a neighbour of it, at any distance, in place or not: the same bits from all back ends.
 */
#include "compiled.h"

#include "cache_dir.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST = 3 * 1000 };

typedef struct kind {
    int dtype;
    int64_t rows, n, apart; /* rows 0: a vector */
} kind;

static char cache[] = "/tmp/tansy-behind-XXXXXX"; /* of native code */

/* ---- programs of x and y [rows, n] ------------------------------------------------------------- */

static tn_val part(const kind *k, tn_val x, int64_t from, int64_t left) {
    return tn_slice_axis(x, from, k->n - left, 1, k->rows > 0);
}

static tn_val padded(const kind *k, tn_val x, int64_t before, int64_t behind) {
    if (k->rows) return tn_pad(x, 0, tn_ints(0, before), tn_ints(0, behind), tn_ints());
    return tn_pad(x, 0, tn_ints(before), tn_ints(behind), tn_ints());
}

/* As a derivative of what has neighbours. */
static tn_val differences(const tn_val *in, void *user) {
    const kind *k = user;
    const tn_val l = part(k, in[0], 0, k->apart), r = part(k, in[0], k->apart, 0), m = part(k, in[1], 0, k->apart);
    const tn_val t = tn_mul(tn_add(tn_mul(l, r), m), tn_mul(l, 3));
    return tn_sub(padded(k, t, k->apart, 0), padded(k, t, 0, k->apart));
}

/* The same of neighbours of x and of elements two apart of y. */
static tn_val uneven(const tn_val *in, void *user) {
    const kind *k = user;
    tn_val t[2];
    for (int i = 0; i < 2; i++) {
        const tn_val x = part(k, in[0], 1 + i, 1 - i), y = part(k, in[1], 2 * i, 2 - 2 * i);
        t[i] = padded(k, tn_mul(tn_add(tn_mul(x, y), x), tn_sub(x, y)), 1, 1);
    }
    return tn_sub(t[0], t[1]);
}

static tn_val rosenbrock(const tn_val *in, void *user) {
    const kind *k = user;
    const tn_val l = part(k, in[0], 0, k->apart), r = part(k, in[0], k->apart, 0);
    return tn_sum(tn_add(tn_mul(100, tn_square(tn_sub(r, tn_square(l)))), tn_square(tn_sub(1, l))));
}

static tn_fn *made(tn_ctx *c, tn_fn *f) {
    if (!f) fail_msg("%s", tn_error(c));
    return f;
}

static tn_fn *program(tn_ctx *c, int which, kind *k) {
    const int64_t dim[2] = {k->rows ? k->rows : k->n, k->n};
    const tn_type t = tn_type_of((tn_dtype)k->dtype, k->rows ? 2 : 1, dim);
    if (which == 0) return made(c, tn_trace(c, differences, k, 2, (const tn_type[]){t, t}));
    if (which == 3) return made(c, tn_trace(c, uneven, k, 2, (const tn_type[]){t, t}));
    tn_fn *f = made(c, tn_trace(c, rosenbrock, k, 1, &t));
    return made(c, which == 1 ? tn_grad(f, NULL, NULL) : tn_hvp(f, NULL, NULL));
}

/* ---- running -------------------------------------------------------------------------------------- */

/* Into `out`, or, where `over` is an input, over a copy of it that is there. */
static void call(const tn_fn *f, int backend, int over, const void *x, const void *y, double *out) {
    const void *in[2] = {x, y};
    const tn_compile_options o = {
        .size = sizeof o, .backend = backend, .cache_dir = cache, .alias = over < 0 ? NULL : &over};
    tn_exec *e = tn_compile(f, &o);
    if (!e) fail_msg("%s", tn_error(tn_fn_ctx(f)));
    memset(out, 0, MOST * sizeof *out);
    if (over >= 0) {
        memcpy(out, in[over], tn_type_bytes(f->val[over].type));
        in[over] = out;
    }
    assert_int_equal(tn_call(e, in, (void *[]){out}), TN_OK);
    tn_exec_free(e);
}

static void check_program(int which, kind k) {
    static double x[MOST], y[MOST], want[MOST], out[MOST];
    tn_ctx *c = checked();
    tn_fn *f = program(c, which, &k);
    fill_sines(k.dtype, x, MOST, 0.7);
    fill_sines(k.dtype, y, MOST, 1.3);
    static const int backend[] = {TN_BACKEND_REFERENCE, TN_BACKEND_DEFAULT, TN_BACKEND_NATIVE};
    call(f, TN_BACKEND_REFERENCE, -1, x, y, want);
    for (int b = 0; b < 3; b++)
        for (int over = -1; over < (int)f->nin; over++) {
            call(f, backend[b], over, x, y, out);
            if (memcmp(want, out, sizeof want) != 0)
                fail_msg("program %d of %dx%d, %d apart, dtype %d: backend %d, over input %d, has other bits", which,
                         (int)k.rows, (int)k.n, (int)k.apart, k.dtype, backend[b], over);
        }
    tn_ctx_free(c);
}

static void test_programs(void **state) {
    static const kind kinds[] = {
        {TN_F64, 0, 1000, 1}, {TN_F64, 0, 999, 3},   {TN_F64, 0, 1000, 7}, {TN_F64, 0, 70, 7},
        {TN_F32, 0, 1000, 1}, {TN_F32, 0, 2771, 15}, {TN_F64, 0, 1000, 8}, {TN_F32, 0, 801, 16},
        {TN_F64, 0, 40, 1},   {TN_F64, 3, 500, 1},   {TN_F64, 0, 9, 2},    {TN_F64, 0, 2, 1},
    };
    (void)state;
    assert_non_null(mkdtemp(cache));
    for (int which = 0; which < 3; which++)
        for (size_t i = 0; i < COUNT(kinds); i++) check_program(which, kinds[i]);
    check_program(3, (kind){TN_F64, 0, 1000, 1});
    cache_dir_remove(cache);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_programs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
