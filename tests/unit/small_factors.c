/* Factorizations and solves of small matrices: nests compute them where they are small, kernels elsewhere, and the bits
 * are the same at all sizes around the limit, alone and in batches, in either layout; of matrices that have no such
 * factor, too, and of orders of rows that are none.  A loop that solves a small system every step is one loop program.
 */
#include <tansy.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "amount.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 12, BATCH = 3, COLUMNS = 3, ROOM = BATCH * ROWS * ROWS, KINDS = 8 };

static uint64_t seed;

static double draw(void) {
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (double)(int64_t)(seed >> 11) * 0x1p-52 - 1;
}

/* Of what kind the matrices are. */
static void fill_matrix(double *a, int n, int kind) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) a[i * n + j] = draw() + (i == j && kind != 1 ? n : 0);
    const int at = n / 2;
    switch (kind) {
    case 2: /* singular: a column of zeros of both signs */
        for (int i = 0; i < n; i++) a[i * n + at] = i % 2 ? -0.0 : 0.0;
        break;
    case 3: /* a zero pivot that others are not */
        for (int i = 0; i <= at; i++) a[i * n + i] = 0;
        break;
    case 4: a[(n - 1) * n + at] = NAN; break;
    case 5: a[at] = INFINITY; break;
    case 6: /* not positive, from the middle on */ a[at * n + at] = -1; break;
    case 7: /* equal pivots of both signs */
        for (int i = 0; i < n; i++) a[i * n] = i % 2 ? -1 : 1;
        break;
    default: break;
    }
}

static void narrow(void *to, const double *from, size_t n, bool f64) {
    for (size_t i = 0; i < n; i++)
        if (f64)
            ((double *)to)[i] = from[i];
        else
            ((float *)to)[i] = (float)from[i];
}

/* Which NaN it is nobody says. */
static void settle(void *at, size_t bytes, bool f64) {
    for (size_t i = 0; f64 && i * 8 < bytes; i++)
        if (isnan(((double *)at)[i])) ((double *)at)[i] = NAN;
    for (size_t i = 0; !f64 && i * 4 < bytes; i++)
        if (isnan(((float *)at)[i])) ((float *)at)[i] = NAN;
}

typedef struct input {
    double a[ROOM], b[ROOM];
    int32_t order[BATCH * ROWS];
    double wide[2][ROOM]; /* as the dtype has them */
} input;

static void fill(input *x, int n, int batch, int kind, bool f64) {
    for (int i = 0; i < batch; i++) {
        fill_matrix(x->a + i * n * n, n, kind);
        for (int j = 0; j < n; j++) x->order[i * n + j] = (int32_t)((j + i + kind) % n);
        if (kind == 4) x->order[i * n] = (int32_t)(i == 0 ? n : i == 1 ? -1 : x->order[i * n + n - 1]);
    }
    for (int i = 0; i < ROOM; i++) x->b[i] = draw();
    narrow(x->wide[0], x->a, ROOM, f64);
    narrow(x->wide[1], x->b, ROOM, f64);
}

static void compare(tn_ctx *c, const char *text, const input *x, bool f64) {
    static double out[2][3][ROOM];
    tn_fn *f = tn_fn_parse(c, text, strlen(text), "small");
    if (!f) fail_msg("%s\n%s", tn_error(c), text);
    for (int w = 0; w < 2; w++) {
        const tn_compile_options o = {.size = sizeof o, .backend = w ? 0 : TN_BACKEND_REFERENCE};
        tn_exec *e = tn_compile(f, &o);
        if (!e) fail_msg("%s", tn_error(c));
        memset(out[w], 0, sizeof out[w]);
        const void *const in[3] = {x->wide[0], x->wide[1], x->order};
        void *const outs[3] = {out[w][0], out[w][1], out[w][2]};
        if (tn_call(e, in, outs) != TN_OK) fail_msg("%s", tn_error(c));
        for (int j = 0; j < 3; j++) settle(out[w][j], sizeof out[w][j], f64);
        tn_exec_free(e);
    }
    for (int j = 0; j < 3; j++)
        if (memcmp(out[0][j], out[1][j], sizeof out[0][j])) fail_msg("output %d has other bits\n%s", j, text);
    tn_fn_free(f);
}

static const char *const programs[] = {
    "x = cholesky a in (x) }",
    "x y z = lu a in (x, y, z) }",
    "x = linear_solve a b in (x) }",
    "x = lu_solve[transposed=False] a p b in (x) }",
    "x = lu_solve[transposed=True] a p b in (x) }",
    "l q o = lu a x = lu_solve[transposed=False] l o b in (x) }",
    "x = triangular_solve[left_side=True lower=True transpose_a=False conjugate_a=False unit_diagonal=False] a b in "
    "(x) }",
    "x = triangular_solve[left_side=True lower=False transpose_a=False conjugate_a=False unit_diagonal=True] a b in "
    "(x) }",
    "x = triangular_solve[left_side=True lower=True transpose_a=True conjugate_a=False unit_diagonal=False] a b in (x) "
    "}",
    "x = triangular_solve[left_side=False lower=True transpose_a=False conjugate_a=False unit_diagonal=False] a c in "
    "(x) }",
    "x = triangular_solve[left_side=False lower=False transpose_a=True conjugate_a=False unit_diagonal=True] a c in "
    "(x) }",
};
enum { PROGRAMS = sizeof programs / sizeof *programs };

/* turned: matrices that are read across. */
static void check(tn_ctx *c, int n, int columns, int batch, bool f64, bool turned, const input *x) {
    const char *d = f64 ? "f64" : "f32", *dims = turned && batch ? "(0, 2, 1)" : "(1, 0)";
    char some[16] = "", head[400];
    if (batch) (void)snprintf(some, sizeof some, "%d,", batch);
    (void)snprintf(
        head, sizeof head,
        "{ lambda k:%s[%s%d,%d] b:%s[%s%d,%d] p:i32[%s%d] . let\n a = %s%s k\n c = transpose[permutation=%s] b\n", d,
        some, n, n, d, some, n, columns, some, n, turned ? "transpose[permutation=" : "copy",
        turned ? (batch ? "(0, 2, 1)]" : "(1, 0)]") : "", batch ? "(0, 2, 1)" : dims);
    for (size_t i = 0; i < PROGRAMS; i++) {
        char text[800];
        (void)snprintf(text, sizeof text, "%s %s", head, programs[i]);
        compare(c, text, x, f64);
    }
}

static void all_sizes(void **state) {
    static input x;
    (void)state;
    for (int n = 1; n <= ROWS; n++)
        for (int kind = 0; kind < KINDS; kind++) {
            if (SANITIZED && !in_share((size_t)(n + kind), 1)) continue;
            tn_ctx *c = tn_ctx_new(NULL);
            const bool f64 = (n + kind) % 3 != 0;
            seed = (uint64_t)(100 * n + kind);
            fill(&x, n, BATCH, kind, f64);
            for (int columns = 1; columns <= COLUMNS; columns += 2) {
                check(c, n, columns, 0, f64, kind % 2, &x);
                check(c, n, columns, BATCH, f64, n % 2, &x);
            }
            tn_ctx_free(c);
        }
}

/* ---- loops ---------------------------------------------------------------------------------------------- */

static void note(void *user, const tn_step *step) {
    if (!strcmp(step->runner, "assembler")) ((int *)user)[!strcmp(step->kind, "steps")]++;
}

static void in_loops(void **state) {
    static const char text[] =
        "{ lambda a:f64[3,3] x:f64[3] . let\n"
        "    y:f64[3] = scan[program={ lambda a:f64[3,3] x:f64[3] . let\n"
        "        b:f64[3,1] = reshape[new_sizes=(3, 1)] x\n        s:f64[3,1] = linear_solve a b\n"
        "        y:f64[3] = reshape[new_sizes=(3,)] s\n        z:f64[3] = sin y\n      in (z,) } length=20 "
        "num_consts=1 "
        "num_carry=1 reverse=False] a x\n    s:f64[] = reduce_sum[axes=(0,)] y\n  in (s,) }";
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = tn_fn_parse(c, text, sizeof text - 1, "steps");
    tn_fn *g = f ? tn_grad(f, tn_wrt(0, 1), NULL) : NULL;
    if (!g) fail_msg("%s", tn_error(c));
    tn_exec *e = tn_compile(g, NULL);
    int made[2] = {0};
    assert_int_equal(tn_exec_steps(e, note, made), TN_OK);
    if (made[0]) assert_int_equal(made[1], 2); /* forwards and back */
    tn_exec_free(e);
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_sizes), cmocka_unit_test(in_loops)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
