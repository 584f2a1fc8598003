/* Elementwise equations of a basis, without it: the same values on every backend, the same bits in native code, and no
 * constant as large as the matrix; and stores of one other number in each row. */
#include "exec/exec.h"
#include "opt/fuse.h"
#include "prims/ids.h"
#include "tracing.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST = 70 };

typedef struct kind {
    int n, turn, dtype;
} kind;

static tn_val turned(const tn_val *in, void *user) {
    const kind *k = user;
    return tn_mul(tn_tanh(tn_matmul(in[0], in[1])), tn_sin(tn_roll(in[1], k->turn, 0)));
}

/* The same, of which the hot elements are turned when they have been computed. */
static tn_val turned_late(const tn_val *in, void *user) {
    const kind *k = user;
    return tn_mul(tn_roll(tn_sin(in[1]), k->turn, 0), tn_tanh(tn_matmul(in[0], in[1])));
}

/* Two terms that have no hot elements, which may be added between the two parts of what is turned. */
static tn_val turned_among(const tn_val *in, void *user) {
    return tn_add(tn_matmul(in[0], tn_square(in[1])), turned(in, user));
}

static tn_val squares(const tn_val *in, void *user) { return tn_sum_squares(turned(in, user)); }

/* Rows without a hot element in front and behind, and -x among what is added. */
static tn_val some_rows(const tn_val *in, void *user) {
    const kind *k = user;
    const tn_val x = tn_slice_axis(in[1], 2, k->n - 3, 1, 0), y = tn_mul(x, tn_cos(x));
    const tn_val rows[3] = {tn_slice_axis(in[1], 0, 2, 1, 0), tn_neg(y), tn_slice_axis(in[1], 0, 3, 1, 0)};
    return tn_add(tn_matmul(in[0], tn_square(in[1])), tn_concatenate((tn_val_list){3, rows}, 0));
}

static tn_val residual(const tn_val *in, void *user) {
    (void)user;
    return tn_add(in[1], tn_matmul(in[0], in[1]));
}

static tn_exec *compiled(const tn_fn *f, int backend) {
    const tn_compile_options o = {.size = sizeof o, .backend = backend};
    tn_exec *e = tn_compile(f, &o);
    if (!e) fail_msg("%s", tn_error(tn_fn_ctx(f)));
    return e;
}

static void call(const tn_fn *f, int backend, const void *const *in, void *out) {
    tn_exec *e = compiled(f, backend);
    memset(out, 0xEE, MOST * MOST * sizeof(double));
    assert_int_equal(tn_call(e, in, (void *[]){out}), TN_OK);
    tn_exec_free(e);
}

static void widen(int dtype, const void *x, size_t n, double *to) {
    for (size_t i = 0; i < n; i++) to[i] = dtype == TN_F64 ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

static void compare(const tn_fn *f, int dtype, int n) {
    static double w[MOST * MOST], x[MOST], got[MOST * MOST], native[MOST * MOST], want[MOST * MOST];
    static double wide[2][MOST * MOST];
    const void *const in[2] = {w, x};
    const size_t all = (size_t)n * (size_t)n;
    fill_sines(dtype, w, all, 0.7);
    fill_sines(dtype, x, (size_t)n, 1.3);
    call(f, TN_BACKEND_DEFAULT, in, got);
    call(f, TN_BACKEND_NATIVE, in, native);
    call(f, TN_BACKEND_REFERENCE, in, want);
    assert_memory_equal(got, native, all * tn_i_dtype_size(dtype));
    widen(dtype, got, all, wide[0]);
    widen(dtype, want, all, wide[1]);
    close_to(wide[0], wide[1], all, dtype == TN_F64 ? 1e-12 : 2e-4);
}

static tn_fn *derived(const tn_fn *g, int how) {
    tn_fn *d = how == 0   ? tn_jacfwd(g, tn_wrt(1), 0)
               : how == 1 ? tn_jacrev(g, tn_wrt(1), NULL, 0)
                          : tn_hessian(g, tn_wrt(1), NULL, 0);
    if (!d) fail_msg("%s", tn_error(tn_fn_ctx(g)));
    return d;
}

static tn_fn *derivative(tn_ctx *c, int how, tn_trace_fn f, kind *k) {
    const tn_type t[2] = {k->dtype == TN_F64 ? tn_f64(k->n, k->n) : tn_f32(k->n, k->n),
                          k->dtype == TN_F64 ? tn_f64(k->n) : tn_f32(k->n)};
    return derived(tn_trace(c, f, k, 2, t), how);
}

/* Constants of the planned program with as many elements as a matrix. */
static int matrices(const tn_fn *f) {
    tn_fn *g = tn_i_fuse(f);
    int some = 0;
    assert_non_null(g);
    for (uint32_t i = 0; i < g->neqn; i++)
        some += g->eqn[i].prim->id == TN_P_constant && g->val[g->eqn[i].out].type->rank == 2;
    tn_i_fn_unref(g);
    return some;
}

static void test_derivatives(void **state) {
    (void)state;
    static const kind cases[] = {{16, 1, TN_F64}, {17, -2, TN_F64}, {50, 1, TN_F64}, {64, 0, TN_F64},
                                 {31, 5, TN_F32}, {50, 1, TN_F32},  {3, 1, TN_F64},  {1, 0, TN_F64}};
    for (size_t i = 0; i < COUNT(cases); i++)
        for (int how = 0; how < 3; how++) {
            kind k = cases[i];
            tn_ctx *c = checked();
            const tn_fn *d = derivative(c, how, how == 2 ? squares : turned, &k);
            if (k.n >= 16 && matrices(d)) fail_msg("n %d turn %d how %d: a constant", k.n, k.turn, how);
            compare(d, k.dtype, k.n);
            tn_ctx_free(c);
        }
}

/* ---- orders ----------------------------------------------------------------------------------- */

enum { ORDERS = 8 };

static uint32_t below(uint64_t *seed, uint32_t n) {
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*seed >> 33) % n;
}

static bool is_ready(const tn_fn *f, const tn_i_eqn *e, const bool *done) {
    for (uint32_t k = 0; k < e->nin; k++) {
        const uint32_t def = f->val[tn_i_in(f, e)[k]].def;
        if (def < f->neqn && !done[def]) return false;
    }
    return true;
}

/* The same equations, each behind those that it reads. */
static tn_fn *permuted(const tn_fn *f, uint64_t *seed) {
    enum { MOST_EQNS = 512 };
    uint32_t order[MOST_EQNS], ready[MOST_EQNS];
    bool done[MOST_EQNS] = {false};
    assert_true(f->neqn <= MOST_EQNS);
    for (uint32_t n = 0; n < f->neqn; n++) {
        uint32_t some = 0;
        for (uint32_t i = 0; i < f->neqn; i++)
            if (!done[i] && is_ready(f, &f->eqn[i], done)) ready[some++] = i;
        done[order[n] = ready[below(seed, some)]] = true;
    }
    return tn_i_reordered(f, order, f->neqn);
}

static bool swap(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, tn_i_var *map, const void *with) {
    uint64_t *seed = (uint64_t *)(uintptr_t)with;
    const bool commutes = e->prim->flags & TN_F_COMMUTES || e->prim->id == TN_P_fma;
    tn_i_var in[3];
    if (!commutes || below(seed, 2)) return false;
    for (uint32_t k = 0; k < e->nin; k++) in[k < 2 ? 1 - k : k] = tn_i_mapped(b, f, map, tn_i_in(f, e)[k]);
    b->linear = e->linear;
    map[e->out] = tn_i_emit_like(b, e, in);
    b->linear = false;
    return true;
}

/* In another order, and with operands that commute swapped. */
static tn_fn *otherwise(const tn_fn *f, uint64_t *seed) {
    tn_fn *g = permuted(f, seed);
    assert_non_null(g);
    tn_fn *h = tn_i_rewritten(g, NULL, g->neqn, swap, seed);
    assert_non_null(h);
    tn_i_fn_unref(g);
    return h;
}

/* Of the traced program in order number `order`, and, of half of them, of its derivative in another order. */
static const tn_fn *in_order(tn_ctx *c, int how, tn_trace_fn f, kind *k, int order) {
    uint64_t seed = (uint64_t)order;
    const tn_type t[2] = {tn_f64(k->n, k->n), tn_f64(k->n)};
    const tn_fn *g = tn_trace(c, f, k, 2, t);
    assert_non_null(g);
    if (order) g = otherwise(g, &seed);
    const tn_fn *d = derived(g, how);
    return order % 2 ? otherwise(d, &seed) : d;
}

/* Nor does memory depend on the order by a matrix that is kept, unless several terms are matrices, which may wait. */
static void one_function(int how, tn_trace_fn f, kind k, bool run) {
    const bool waits = how == 2 || f == turned_among;
    static double w[MOST * MOST], x[MOST], got[MOST * MOST], want[MOST * MOST];
    const size_t all = (size_t)k.n * (size_t)k.n, matrix = all * sizeof(double);
    size_t least = SIZE_MAX, most = 0;
    fill_sines(TN_F64, w, all, 0.7);
    fill_sines(TN_F64, x, (size_t)k.n, 1.3);
    for (int order = 0; order < ORDERS; order++) {
        tn_ctx *c = checked();
        const tn_fn *d = in_order(c, how, f, &k, order);
        if (matrices(d)) fail_msg("n %d turn %d how %d order %d: a constant", k.n, k.turn, how, order);
        tn_exec *e = compiled(d, TN_BACKEND_DEFAULT);
        const size_t bytes = tn_exec_bytes(e);
        if (bytes < least) least = bytes;
        if (bytes > most) most = bytes;
        tn_exec_free(e);
        if (run) {
            call(d, TN_BACKEND_DEFAULT, (const void *[]){w, x}, got);
            call(d, TN_BACKEND_REFERENCE, (const void *[]){w, x}, want);
            close_to(got, want, all, 1e-12);
        }
        tn_ctx_free(c);
    }
    if (!waits && most - least >= matrix / 2)
        fail_msg("n %d turn %d how %d: %zu .. %zu bytes", k.n, k.turn, how, least, most);
}

static void test_orders(void **state) {
    (void)state;
    static const int sizes[] = {16, 50, 64}, turns[] = {0, 1, 5};
    static const tn_trace_fn functions[] = {turned, turned_late, turned_among};
    for (size_t i = 0; i < COUNT(sizes); i++)
        for (size_t j = 0; j < COUNT(turns); j++) {
            const kind k = {sizes[i], turns[j], TN_F64};
            for (size_t f = 0; f < COUNT(functions); f++)
                for (int how = 0; how < 2; how++) one_function(how, functions[f], k, k.n < 64);
            one_function(2, squares, k, k.n < 64);
        }
}

/* ---- what moves ----------------------------------------------------------------------------------- */

/* Zeros but for hot elements, cut, padded, joined and turned, and windows of them that are added; of odd sizes. */
static const char moving[] = "{ lambda x:T[21,26] y:T[26,21] u:T[26] . let"
                             " i:i64[21,26] = iota[dtype=i64 shape=(21, 26) dimension=0]"
                             " j:i64[21,26] = iota[dtype=i64 shape=(21, 26) dimension=1]"
                             " e:bool[21,26] = eq i j b:T[21,26] = convert_element_type[new_dtype=T] e"
                             " g:T[21,26] = broadcast_in_dim[shape=(21, 26) broadcast_dimensions=(1,)] u"
                             " s:T[21,26] = mul[linear=True] g b"
                             " c:T[17,19] = slice[start_indices=(2, 5) limit_indices=(19, 24)] s"
                             " p:T[21,26] = pad[padding_config=((3, 1, 0), (0, 7, 0))] c 0.0:T[]"
                             " xp:T[21,26] = add x p"
                             " l:T[21,4] = slice[start_indices=(0, 22) limit_indices=(21, 26)] s"
                             " r:T[21,22] = slice[start_indices=(0, 0) limit_indices=(21, 22)] s"
                             " k:T[21,26] = concatenate[dimension=1] l r"
                             " n:T[21,26] = neg k xk:T[21,26] = fma[form=rsub] x x n"
                             " t:T[26,21] = transpose[permutation=(1, 0)] k"
                             " a:T[11,21] = slice[start_indices=(15, 0) limit_indices=(26, 21)] t"
                             " z:T[15,21] = slice[start_indices=(0, 0) limit_indices=(15, 21)] t"
                             " q:T[26,21] = concatenate[dimension=0] a z"
                             " yq:T[26,21] = sub q y"
                             " w:T[21,26] = slice_add[start_indices=(3, 5) limit_indices=(20, 24)] x c"
                             " in (xp, xk, yq, w) }";

static void test_moves(void **state) {
    (void)state;
    enum { ALL = 21 * 26, OUTS = 4 };
    static double x[ALL], y[ALL], u[26], z[3][OUTS][ALL], wide[2][ALL];
    for (int dtype = TN_F32; dtype <= TN_F64; dtype++) {
        char text[sizeof moving + 256];
        size_t n = 0;
        for (const char *p = moving; *p; p++) { /* T is the type */
            if (*p == 'T' && p[1] != 'r') {
                memcpy(text + n, dtype == TN_F64 ? "f64" : "f32", 3);
                n += 3;
            } else
                text[n++] = *p;
        }
        tn_ctx *c = checked();
        tn_fn *f = tn_fn_parse(c, text, n, "moves.tn");
        if (!f) fail_msg("%s", tn_error(c));
        assert_int_equal(matrices(f), 0);
        fill_sines(dtype, x, ALL, 0.3);
        fill_sines(dtype, y, ALL, 0.9);
        fill_sines(dtype, u, 26, 1.7);
        for (int backend = 0; backend < 3; backend++) {
            tn_exec *e = compiled(f, backend);
            void *out[OUTS];
            for (int k = 0; k < OUTS; k++) out[k] = z[backend][k];
            assert_int_equal(tn_call(e, (const void *[]){x, y, u}, out), TN_OK);
            tn_exec_free(e);
        }
        assert_memory_equal(z[TN_BACKEND_DEFAULT], z[TN_BACKEND_NATIVE], sizeof z[0]);
        for (int k = 0; k < OUTS; k++) {
            widen(dtype, z[TN_BACKEND_DEFAULT][k], ALL, wide[0]);
            widen(dtype, z[TN_BACKEND_REFERENCE][k], ALL, wide[1]);
            for (int i = 0; i < ALL; i++) assert_true(wide[0][i] == wide[1][i]);
        }
        tn_ctx_free(c);
    }
}

/* ---- what is left out --------------------------------------------------------------------------- */

static void test_rows_without(void **state) {
    (void)state;
    for (int how = 0; how < 2; how++)
        for (int dtype = TN_F32; dtype <= TN_F64; dtype++) {
            kind k = {23, 0, dtype};
            tn_ctx *c = checked();
            compare(derivative(c, how, some_rows, &k), dtype, k.n);
            compare(derivative(c, how, residual, &k), dtype, k.n);
            tn_ctx_free(c);
        }
}

/* What is no hot element has nothing to do with the factors of the basis. */
static void test_left_out(void **state) {
    (void)state;
    enum { N = 20 };
    static double w[N * N], x[N], got[MOST * MOST];
    kind k = {N, 1, TN_F64};
    tn_ctx *c = checked();
    const tn_fn *d = derivative(c, 0, turned, &k);
    fill_sines(TN_F64, w, N * N, 0.1);
    fill_sines(TN_F64, x, N, 0.2);
    x[3] = INFINITY; /* cos x[3] is NaN: row 4, in which sin and W x are too */
    for (int i = 0; i < N; i++) w[i * N + 3] = 0.5;
    for (int backend = TN_BACKEND_DEFAULT; backend <= TN_BACKEND_NATIVE; backend++) {
        if (backend == TN_BACKEND_REFERENCE) continue;
        call(d, backend, (const void *[]){w, x}, got);
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                if (i != 4) assert_true(got[i * N + j] == got[i * N + j]);
    }
    tn_ctx_free(c);
}

/* ---- stores of hot elements -------------------------------------------------------------------- */

static const char program[] = "{ lambda x:f64[5,19,33] c:i64[5,19] v:f64[5,19] . let"
                              " i:i64[5,19,33] = iota[dtype=i64 shape=(5, 19, 33) dimension=2]"
                              " a:i64[5,19,33] = broadcast_in_dim[shape=(5, 19, 33) broadcast_dimensions=(0, 1)] c"
                              " b:f64[5,19,33] = broadcast_in_dim[shape=(5, 19, 33) broadcast_dimensions=(0, 1)] v"
                              " y:f64[5,19,33] = mul x x"
                              " e:bool[5,19,33] = eq i a"
                              " z:f64[5,19,33] = select e b y"
                              " s:f64[5,19] = reduce_sum[axes=(2,)] y"
                              " in (z, s) }";

static void test_stores(void **state) {
    (void)state;
    enum { ROWS = 5 * 19, N = 33 };
    static double x[ROWS * N], v[ROWS], z[3][ROWS * N], s[3][ROWS];
    static int64_t at[ROWS];
    tn_ctx *c = checked();
    tn_fn *f = tn_fn_parse(c, program, strlen(program), "one_hot.tn");
    if (!f) fail_msg("%s", tn_error(c));
    fill_sines(TN_F64, x, ROWS * N, 0.3);
    fill_sines(TN_F64, v, ROWS, 0.9);
    for (int i = 0; i < ROWS; i++) at[i] = i % 7 == 0 ? -1 : i % 11 == 0 ? N + i : (i * 5) % N;
    for (int backend = 0; backend < 3; backend++) {
        tn_exec *e = compiled(f, backend);
        assert_int_equal(tn_call(e, (const void *[]){x, at, v}, (void *[]){z[backend], s[backend]}), TN_OK);
        assert_int_equal(tn_call(e, (const void *[]){x, at, v}, (void *[]){NULL, s[backend]}), TN_OK);
        tn_exec_free(e);
        for (int i = 0; i < ROWS * N; i++) assert_true(z[backend][i] == (at[i / N] == i % N ? v[i / N] : x[i] * x[i]));
    }
    assert_memory_equal(s[TN_BACKEND_DEFAULT], s[TN_BACKEND_NATIVE], sizeof s[0]);
    tn_exec *e = compiled(f, TN_BACKEND_DEFAULT);
    uint32_t hot = 0;
    for (size_t i = 0; i < e->plan->nnest; i++) hot += e->plan->nest[i]->nhot;
    assert_int_equal(hot, 1);
    tn_exec_free(e);
    tn_ctx_free(c);
}

/* A nest of so few elements that it is run otherwise. */
static void test_tiny(void **state) {
    (void)state;
    static const char text[] = "{ lambda x:f64[2,5] c:i64[2] v:f64[2] . let"
                               " i:i64[2,5] = iota[dtype=i64 shape=(2, 5) dimension=1]"
                               " a:i64[2,5] = broadcast_in_dim[shape=(2, 5) broadcast_dimensions=(0,)] c"
                               " b:f64[2,5] = broadcast_in_dim[shape=(2, 5) broadcast_dimensions=(0,)] v"
                               " y:f64[2,5] = add x x e:bool[2,5] = eq i a z:f64[2,5] = select e b y in (z,) }";
    const double x[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, v[2] = {-1, -2};
    const int64_t at[2] = {4, 1};
    tn_ctx *c = checked();
    tn_fn *f = tn_fn_parse(c, text, strlen(text), "tiny.tn");
    if (!f) fail_msg("%s", tn_error(c));
    for (int backend = 0; backend < 3; backend++) {
        double z[10] = {0};
        tn_exec *e = compiled(f, backend);
        assert_int_equal(tn_call(e, (const void *[]){x, at, v}, (void *[]){z}), TN_OK);
        tn_exec_free(e);
        for (int i = 0; i < 10; i++) assert_true(z[i] == (at[i / 5] == i % 5 ? v[i / 5] : 2 * x[i]));
    }
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_derivatives), cmocka_unit_test(test_orders),
                                       cmocka_unit_test(test_moves),       cmocka_unit_test(test_rows_without),
                                       cmocka_unit_test(test_left_out),    cmocka_unit_test(test_stores),
                                       cmocka_unit_test(test_tiny)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
