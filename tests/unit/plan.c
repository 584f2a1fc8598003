/* Plans: the pool of offsets, loop nests, in-place chains, views, layouts of nested programs, and cost of planning. */
#include "plan/plan.h"
#include "plan/pool.h"
#include "plan/strides.h"
#include "naive.h"
#include "prims/ids.h"
#include "prims/arrays/shape.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- the pool ------------------------------------------------------------------------ */

typedef struct piece {
    tn_i_slot slot;
    size_t bytes;
} piece;

static void assert_apart(const piece *a, size_t n) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            assert_true(a[i].slot.offset + a[i].bytes <= a[j].slot.offset ||
                        a[j].slot.offset + a[j].bytes <= a[i].slot.offset);
}

/* Random takes and gives: pieces never overlap, are aligned and inside; once all are given back one block is left. */
static void test_pool(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    enum { MOST = 60 };
    piece held[MOST];
    for (uint64_t seed = 1; seed <= 40; seed++) {
        tn_i_rng r = {.state = seed};
        tn_i_pool p;
        size_t n = 0, now = 0, most = 0;
        tn_i_pool_init(&p, c);
        for (int step = 0; step < 400; step++) {
            if (n < MOST && tn_i_pick(&r, 0, 1)) {
                piece *k = &held[n++];
                k->bytes = (size_t)(tn_i_pick(&r, 0, 2) ? tn_i_pick(&r, 1, 5000) : tn_i_pick(&r, 1, 8));
                assert_true(tn_i_pool_take(&p, k->bytes, &k->slot));
                assert_int_equal(k->slot.offset % (k->bytes <= 8 ? 8 : 64), 0);
                assert_true(k->slot.offset + k->bytes <= tn_i_pool_bytes(&p));
                assert_apart(held, n);
                now += k->bytes;
            } else if (n) {
                size_t i = (size_t)tn_i_pick(&r, 0, (int64_t)n - 1);
                tn_i_pool_give(&p, &held[i].slot);
                now -= held[i].bytes;
                held[i] = held[--n];
            }
            if (now > most) most = now;
        }
        assert_true(tn_i_pool_bytes(&p) < 2 * most + 64 * MOST);
        while (n) tn_i_pool_give(&p, &held[--n].slot);
        size_t all = tn_i_pool_bytes(&p);
        tn_i_slot s;
        assert_true(tn_i_pool_take(&p, all, &s));
        assert_int_equal(s.offset, 0);
        assert_int_equal(tn_i_pool_bytes(&p), all);
        tn_i_pool_drop(&p);
    }
    tn_ctx_free(c);
}

static void test_pool_overflow(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_i_pool p;
    tn_i_slot s;
    tn_i_pool_init(&p, c);
    assert_true(tn_i_pool_take(&p, SIZE_MAX / 4, &s));
    assert_false(tn_i_pool_take(&p, SIZE_MAX / 4 + 128, &s));
    assert_int_equal(tn_last_status(c), TN_EOVERFLOW);
    assert_false(tn_i_pool_take(&p, SIZE_MAX, &s));
    tn_i_pool_drop(&p);
    tn_ctx_free(c);
}

/* ---- loop nests ----------------------------------------------------------------------------- */

/* All pairs of offsets of a nest, in its order. */
static size_t visit(const int64_t *loop, uint32_t loops, int64_t (*at)[2]) {
    int64_t index[TN_MAX_RANK] = {0}, offset[2] = {0, 0};
    size_t n = 0;
    for (;;) {
        at[n][0] = offset[0];
        at[n++][1] = offset[1];
        uint32_t d = loops;
        for (; d-- > 0;) {
            offset[0] += loop[3 * d + 1];
            offset[1] += loop[3 * d + 2];
            if (++index[d] < loop[3 * d]) break;
            offset[0] -= loop[3 * d] * loop[3 * d + 1];
            offset[1] -= loop[3 * d] * loop[3 * d + 2];
            index[d] = 0;
        }
        if (d == UINT32_MAX) return n;
    }
}

static int order(const void *x, const void *y) { return memcmp(x, y, 2 * sizeof(int64_t)); }

static void test_collapse(void **state) {
    (void)state;
    enum { MOST = 6 * 6 * 6 * 6 };
    static int64_t want[MOST][2], got[MOST][2];
    tn_i_rng r = {.state = 5};
    for (int round = 0; round < 2000; round++) {
        tn_type t = {.dtype = TN_F64, .rank = (int32_t)tn_i_pick(&r, 0, 4)};
        int64_t stride[2][TN_MAX_RANK] = {{0}}, plain[3 * TN_MAX_RANK], loop[3 * TN_MAX_RANK];
        for (int i = 0; i < t.rank; i++) t.dim[i] = tn_i_pick(&r, 1, 6);
        tn_i_dense_strides(&t, stride[0]);
        for (int i = 0; i < t.rank; i++) {
            stride[1][i] = tn_i_pick(&r, 0, 2) ? stride[0][i] : tn_i_pick(&r, -3, 3);
            plain[3 * i] = t.dim[i];
            plain[3 * i + 1] = stride[0][i];
            plain[3 * i + 2] = stride[1][i];
        }
        uint32_t loops = tn_i_collapse(&t, 2, (const int64_t(*)[TN_MAX_RANK])stride, loop);
        assert_true(loops <= (uint32_t)t.rank);
        size_t n = visit(plain, (uint32_t)t.rank, want);
        assert_int_equal(visit(loop, loops, got), n);
        qsort(want, n, sizeof *want, order);
        qsort(got, n, sizeof *got, order);
        assert_memory_equal(want, got, n * sizeof *want);
    }
    const tn_type t = tn_f64(1000, 2, 3);
    int64_t stride[2][TN_MAX_RANK] = {{6, 3, 1}, {1, 0, 0}}, loop[3 * TN_MAX_RANK];
    assert_int_equal(tn_i_collapse(&t, 2, (const int64_t(*)[TN_MAX_RANK])stride, loop), 2);
    assert_int_equal(loop[3], 1000); /* the long loop is the inner one */
    assert_int_equal(tn_i_collapse(&t, 1, (const int64_t(*)[TN_MAX_RANK])stride, loop), 1);
    assert_int_equal(loop[0], 6000);
}

/* ---- programs ---------------------------------------------------------------------------------- */

static tn_fn *parse(tn_ctx *c, const char *text) {
    tn_fn *f = tn_fn_parse(c, text, strlen(text), "test.tn");
    if (!f) print_error("%s\n", tn_error(c));
    assert_non_null(f);
    return f;
}

static void assert_plan(const char *program, const char *want) {
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = parse(c, program);
    tn_i_plan *p = tn_i_plan_plain(f);
    if (!p) print_error("%s\n", tn_error(c));
    assert_non_null(p);
    char text[2000];
    assert_int_equal(tn_i_plan_text(p, text, sizeof text), strlen(want));
    assert_string_equal(text, want);
    tn_i_plan_free(c, p);
    tn_ctx_free(c);
}

/* A dying operand is written over; what only a caller wants goes to the caller. */
static void test_in_place(void **state) {
    (void)state;
    assert_plan("{ lambda x:f64[100] . let a:f64[100] = sin x b:f64[100] = cos a c:f64[100] = add b a d:f64[100] = neg "
                "c in (d,) }",
                "arena 1664\n"
                "sin @0 <- in0+0; 1 loops\n"
                "cos @832 <- @0; 1 loops\n"
                "add @832 <- @832 @0; 1 loops\n"
                "neg out0+0 <- @832; 1 loops\n");
    /* not over another element size, not over what is read in another order, not over an input */
    assert_plan(
        "{ lambda x:f64[4,4] . let a:f64[4,4] = sin x t:f64[4,4] = transpose[permutation=(1, 0)] a b:f64[4,4] = mul a t"
        "  c:f32[4,4] = convert_element_type[new_dtype=f32] b d:f32[4,4] = neg c s:f32[4] = reduce_sum[axes=(0,)] d in "
        "(s,) }",
        "arena 256\n"
        "sin @0 <- in0+0; 1 loops\n"
        "mul @128 <- @0 @0(1,4); 2 loops\n"
        "convert_element_type @0 <- @128\n"
        "neg @0 <- @0; 1 loops\n"
        "reduce_sum out0+0 <- @0\n");
}

static void test_views(void **state) {
    (void)state;
    assert_plan(
        "{ lambda x:f64[2,6] . let a:f64[2,3] = slice[start_indices=(0, 1) limit_indices=(2, 6) strides=(1, 2)] x"
        "  b:f64[3,2] = transpose[permutation=(1, 0)] a c:f64[3,2] = rev[dimensions=(0,)] b"
        "  d:f64[3,2,5] = broadcast_in_dim[shape=(3, 2, 5) broadcast_dimensions=(0, 1)] c e:f64[3,2,5] = neg d"
        "  f:f64[6,5] = reshape[new_sizes=(6, 5)] e k:f64[2] = constant[value=[1.0, 2.0]] in (c, f, k, 1.0:f64[]) }",
        "arena 0\n"
        "neg out1+0 <- in0+40(-2,6,0); 3 loops\n" /* an output that is a reshape of it and all that is read of it */
        "copy out0+0 <- in0+40(-2,6)\n"
        "copy out2+0 <- data\n"
        "copy out3+0 <- data\n");
}

static void test_dead_equations_and_scalars(void **state) {
    (void)state;
    assert_plan("{ lambda x:f64[] y:f32[9] . let a:f64[] = sin x b:f64[] = cos x dead:f64[] = tan x c:f64[] = mul a b "
                "d:f64[] = add c a"
                "  e:f32[0] = slice[start_indices=(3,) limit_indices=(3,)] y f:f32[0] = sin e in (d, f) }",
                "arena 64\n"
                "sin @0 <- in0+0; 0 loops\n"
                "cos @8 <- in0+0; 0 loops\n"
                "mul @8 <- @0 @8; 0 loops\n"
                "add out0+0 <- @8 @0; 0 loops\n");
}

/* n reads of an n-vector transposed: one vector of zeros, then n updates in place. */
static tn_fn *scatter_chain(tn_ctx *c, int64_t n, bool from_input) {
    static const tn_i_dnums d = {.n = {[TN_COLLAPSED] = 1, [TN_MAP] = 1}};
    const tn_type t = tn_f64(n), ut = tn_f64(1);
    tn_i_builder b;
    tn_i_builder_init(&b, c);
    tn_i_var x = tn_i_input(&b, &t, false), u = tn_i_input(&b, &ut, false);
    tn_i_var sum = from_input ? x : tn_i_zeros(&b, &t);
    for (int64_t i = 0; i < n; i++) {
        const int32_t at = (int32_t)i;
        tn_type it = tn_i32(1, 1);
        sum = tn_i_scatter_add(&b, sum, tn_i_constant(&b, &it, &at), u, &d, false);
    }
    sum = tn_i_op1(&b, TN_P_neg, sum);
    return tn_i_finish(&b, 1, &sum);
}

static void test_scatter_chain(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    for (int from_input = 0; from_input < 2; from_input++) {
        tn_fn *f = scatter_chain(c, 2000, from_input);
        assert_non_null(f);
        tn_i_plan *p = tn_i_plan_plain(f);
        assert_int_equal(p->bytes, 16000);
        int copies = 0;
        for (size_t i = 0; i < p->nstep; i++) {
            const tn_i_eqn *e = &f->eqn[p->step[i].eqn];
            if (e->prim->id != TN_P_scatter_add) continue;
            const tn_i_place *from = &p->place[tn_i_in(f, e)[0]], *to = &p->place[e->out];
            copies += from->base != to->base || from->offset != to->offset || from->stride != to->stride;
        }
        assert_int_equal(copies, 1);
        tn_i_plan_free(c, p);
    }
    tn_ctx_free(c);
}

/* A value that is read later, or that a view of it is, is not updated in place. */
static void test_scatter_keeps_what_lives(void **state) {
    (void)state;
    static const char *const text[] = {
        "{ lambda x:f64[3] u:f64[1] i:i32[] . let a:f64[3] = sin x b:f64[3] = dynamic_update_slice a u i c:f64[3] = "
        "add a b in (c,) }",
        "{ lambda x:f64[3] u:f64[1] i:i32[] . let a:f64[3] = sin x r:f64[3] = rev[dimensions=(0,)] a \
           b:f64[3] = dynamic_update_slice a u i c:f64[3] = add r b in (c,) }",
        "{ lambda x:f64[3] u:f64[1] i:i32[] . let a:f64[3] = sin x b:f64[3] = dynamic_update_slice a a i c:f64[3] = "
        "neg b in (c,) }",
        "{ lambda x:f64[3] u:f64[1] i:i32[] . let a:f64[3] = sin x b:f64[3] = dynamic_update_slice a u i c:f64[3] = "
        "neg b in (c, a) }"};
    for (size_t k = 0; k < sizeof text / sizeof *text; k++) {
        tn_ctx *c = tn_ctx_new(NULL);
        tn_fn *f = parse(c, text[k]);
        tn_i_plan *p = tn_i_plan_plain(f);
        int seen = 0;
        for (uint32_t i = 0; i < f->neqn; i++) {
            const tn_i_eqn *e = &f->eqn[i];
            if (e->prim->id != TN_P_dynamic_update_slice) continue;
            assert_int_not_equal(p->place[tn_i_in(f, e)[0]].offset, p->place[e->out].offset);
            seen++;
        }
        assert_int_equal(seen, 1);
        tn_i_plan_free(c, p);
        tn_ctx_free(c);
    }
}

/* ---- nested programs ------------------------------------------------------------------------------- */

static void test_nested_views(void **state) {
    (void)state;
    assert_plan("{ lambda x:f64[3,4] . let t:f64[4,3] = transpose[permutation=(1, 0)] x"
                "  a:f64[4,3] = call[name=\"f\" program={ lambda x:f64[4,3] . let y:f64[4,3] = sin x z:f64[4,3] = add "
                "y x in (z,) }] t in (a,) }",
                "arena 192\n"
                "call out0+0 <- in0+0(1,4); plan of 128 bytes at @0\n");
}

/* Each level calls the next twice, with its arguments transposed and shuffled: exponentially many layouts. */
static tn_fn *hostile(tn_ctx *c, int depth) {
    enum { WIDTH = 12 };
    const tn_type t = tn_f64(3, 3);
    tn_fn *f = NULL;
    for (int level = 0; level < depth; level++) {
        tn_i_builder b;
        tn_i_var x[WIDTH], y[WIDTH], z[2];
        tn_i_builder_init(&b, c);
        for (int i = 0; i < WIDTH; i++) x[i] = tn_i_input(&b, &t, false);
        z[0] = x[0];
        z[1] = x[1];
        for (int k = 0; k < 2 && f; k++) {
            for (int i = 0; i < WIDTH; i++)
                y[(i + level) % WIDTH] = ((i * i + 3 * k * i + level * (k + 1)) % 7 < 3)
                                             ? tn_i_permute(&b, x[i], (const int64_t[]){1, 0})
                                             : x[i];
            const tn_i_param q[2] = {{.kind = TN_K_STR, .u.str = tn_i_string(c, "f", 1)}, {.kind = TN_K_FN, .u.fn = f}};
            z[k] = tn_i_emit(&b, tn_i_prim(&b, TN_P_call), q, WIDTH, y);
        }
        tn_i_var out = tn_i_op2(&b, TN_P_add, z[0], z[1]);
        tn_fn *g = tn_i_finish(&b, 1, &out);
        assert_non_null(g);
        tn_fn_free(f);
        f = g;
    }
    return f;
}

static void test_layouts_are_bounded(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    const int depth = 200;
    tn_fn *f = hostile(c, depth);
    tn_i_plan *p = tn_i_plan_plain(f);
    assert_non_null(p);
    assert_true(p->nnested <= (size_t)depth * (TN_MAX_LAYOUTS + 1));
    assert_true(p->nnested > (size_t)depth * TN_MAX_LAYOUTS / 2); /* the bound is met */
    tn_i_plan_free(c, p);

    /* where copies are made: the same numbers */
    f = hostile(c, 10);
    tn_exec *e = tn_compile(f, NULL);
    assert_non_null(e);
    double x[12][9], y[9], want[9];
    void *expected[1] = {want};
    const void *in[12];
    void *out[1] = {y};
    for (int i = 0; i < 12; i++) {
        for (int k = 0; k < 9; k++) x[i][k] = 10 * i + k;
        in[i] = x[i];
    }
    assert_int_equal(tn_call(e, in, out), TN_OK);
    assert_int_equal(tn_naive_run(f, in, expected), TN_OK);
    assert_memory_equal(y, want, sizeof y);
    tn_ctx_free(c);
}

/* Nested as deep as programs can be: planned and run. */
static void test_deepest_nesting(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    const tn_type t = tn_f64(20);
    tn_fn *f = NULL;
    for (int level = 0; level < TN_MAX_NEST; level++) {
        tn_i_builder b;
        tn_i_builder_init(&b, c);
        tn_i_var x = tn_i_input(&b, &t, false), one = tn_i_number(&b, &t, 1);
        const tn_i_param q[2] = {{.kind = TN_K_STR, .u.str = tn_i_string(c, "f", 1)}, {.kind = TN_K_FN, .u.fn = f}};
        tn_i_var y = f ? tn_i_emit(&b, tn_i_prim(&b, TN_P_call), q, 1, &x) : x;
        y = tn_i_op2(&b, TN_P_add, y, one);
        tn_fn *g = tn_i_finish(&b, 1, &y);
        assert_non_null(g);
        tn_fn_free(f);
        f = g;
    }
    tn_exec *e = tn_compile(f, NULL);
    assert_non_null(e);
    const double x[20] = {0.5};
    double y[20];
    assert_int_equal(tn_call(e, (const void *[]){x}, (void *[]){y}), TN_OK);
    assert_true(y[0] == 0.5 + TN_MAX_NEST && y[19] == TN_MAX_NEST);
    assert_true(tn_exec_bytes(e) <= TN_MAX_NEST * 512u);
    tn_ctx_free(c);
}

/* ---- a million equations ------------------------------------------------------------------------------ */

static double seconds(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Forward values that all stay alive until they are used in the opposite order, scalars and vectors. */
static tn_fn *long_program(tn_ctx *c, uint32_t half) {
    tn_i_builder b;
    const tn_type t = tn_f64(), vt = tn_f64(16);
    tn_i_var *v = malloc(half * sizeof *v);
    tn_i_builder_init(&b, c);
    tn_i_var x = tn_i_input(&b, &t, false), w = tn_i_input(&b, &vt, false);
    for (uint32_t i = 0; i < half; i++) {
        if (i % 4 == 3)
            v[i] = w = tn_i_op1(&b, TN_P_sin, w);
        else
            v[i] = x = tn_i_op1(&b, TN_P_sin, x);
    }
    for (uint32_t i = half; i-- > 0;) {
        if (i % 4 == 3)
            w = tn_i_op2(&b, TN_P_mul, w, v[i]);
        else
            x = tn_i_op2(&b, TN_P_mul, x, v[i]);
    }
    free(v);
    return tn_i_finish(&b, 2, (tn_i_var[]){x, w});
}

static void test_a_million_equations(void **state) {
    (void)state;
    const uint32_t half = 500000;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = long_program(c, half);
    assert_non_null(f);
    const size_t before = tn_ctx_bytes(c);
    const double start = seconds();
    tn_i_plan *p = tn_i_plan_plain(f);
    const double took = seconds() - start;
    assert_non_null(p);
    assert_true(took < 20);
    assert_true((double)(tn_ctx_bytes(c) - before) <= 1024.0 * 2 * half);
    assert_true((double)(tn_ctx_peak_bytes(c)) <= 2048.0 * 2 * half);
    /* three eighths of a million scalars of 8 bytes, one eighth of a million vectors of 128 */
    const double least = half * (0.75 * 8 + 0.25 * 128);
    assert_true((double)p->bytes >= least && (double)p->bytes < least * 1.01 + 1000);
    tn_i_plan_free(c, p);
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pool),
        cmocka_unit_test(test_pool_overflow),
        cmocka_unit_test(test_collapse),
        cmocka_unit_test(test_in_place),
        cmocka_unit_test(test_views),
        cmocka_unit_test(test_dead_equations_and_scalars),
        cmocka_unit_test(test_scatter_chain),
        cmocka_unit_test(test_scatter_keeps_what_lives),
        cmocka_unit_test(test_nested_views),
        cmocka_unit_test(test_layouts_are_bounded),
        cmocka_unit_test(test_deepest_nesting),
        cmocka_unit_test(test_a_million_equations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
