/* Programs over many short rows run as columns: the same values on every backend, few passes over memory, and nothing
 * multiplied by the zeros of a basis. */
#include "amount.h"
#include "opt/columns.h"
#include "opt/fuse.h"
#include "prims/ids.h"
#include "tracing.h"

#include <stdio.h>
#include <stdlib.h>

enum { N = 37, IN = 7, OUT = 2 };

static tn_val cross(tn_val a, tn_val b) {
    return tn_sub(tn_mul(tn_roll(a, -1, 0), tn_roll(b, -2, 0)), tn_mul(tn_roll(a, -2, 0), tn_roll(b, -1, 0)));
}

/* x: [7] -> [2] */
static tn_val few(const tn_val *in, void *user) {
    (void)user;
    const tn_val a = tn_slice_axis(in[0], 0, 3, 1, 0), b = tn_slice_axis(in[0], 3, 6, 1, 0), s = tn_at(in[0], 6);
    const tn_val norm = tn_sqrt(tn_sum_squares(a)), c = tn_div(cross(tn_div(a, norm), tn_sin(b)), tn_add(2, s));
    const tn_val two = tn_slice_axis(c, 0, 2, 1, 0);
    return tn_add(tn_mul(two, tn_exp(tn_neg(tn_square(s)))), tn_div(tn_sum(tn_mul(a, b)), norm));
}

static uint32_t count(const tn_fn *f, int id) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->neqn; i++) n += f->eqn[i].prim->id == id;
    return n;
}

static void call(tn_fn *f, int backend, const void *in, void *out) {
    const tn_compile_options o = {.size = sizeof o, .backend = backend};
    tn_exec *e = tn_compile(f, &o);
    if (!e) fail_msg("%s", tn_error(tn_fn_ctx(f)));
    assert_int_equal(tn_call(e, (const void *[]){in}, (void *[]){out}), TN_OK);
    tn_exec_free(e);
}

static tn_fn *derivative(tn_ctx *c, int kind, tn_fn **one) {
    tn_fn *f = tn_trace(c, few, NULL, 1, TN_TYPES(tn_f64(IN)));
    *one = kind == 0 ? f : kind == 1 ? tn_jacfwd(f, NULL, 0) : tn_jacrev(f, NULL, NULL, 0);
    return tn_vmap(*one, N, NULL, NULL);
}

static void test_values(void **state) {
    (void)state;
    double x[N * IN], got[N * OUT * IN], native[N * OUT * IN], want[N * OUT * IN], row[OUT * IN];
    for (int i = 0; i < N * IN; i++) x[i] = sin(i + 1.0);
    for (int kind = 0; kind < 3; kind++) {
        tn_ctx *c = checked();
        tn_fn *one, *f = derivative(c, kind, &one);
        const size_t width = kind ? OUT * IN : OUT;
        assert_non_null(f);
        call(f, TN_BACKEND_DEFAULT, x, got);
        call(f, TN_BACKEND_NATIVE, x, native);
        call(f, TN_BACKEND_REFERENCE, x, want);
        close_to(got, want, N * width, 1e-14);
        assert_memory_equal(got, native, N * width * sizeof *got);
        for (int i = 0; i < N; i++) { /* alone, where there are no columns */
            call(one, TN_BACKEND_REFERENCE, x + i * IN, row);
            close_to(got + (size_t)i * width, row, width, 1e-14);
        }
        tn_ctx_free(c);
    }
}

static void test_form(void **state) {
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        tn_ctx *c = checked();
        tn_fn *one, *f = derivative(c, kind, &one), *g = tn_i_columns(f), *h = tn_i_fuse(f);
        assert_non_null(g);
        assert_non_null(h);
        assert_true(count(f, TN_P_concatenate) >= 4);
        assert_int_equal(count(g, TN_P_concatenate), 1); /* the output */
        assert_int_equal(count(g, TN_P_reduce_sum), 0);
        assert_int_equal(count(g, TN_P_scatter_add), 0);
        assert_in_range(count(h, TN_P_fused), 1, 2);
        tn_i_fn_unref(g);
        tn_i_fn_unref(h);
        tn_ctx_free(c);
    }
}

/* Others stay as they are: rows too long, too few concatenations, sums over the batch, too many columns. */
static void test_others(void **state) {
    static const char *const programs[] = {
        "{ lambda x:f64[7,3] . let y:f64[7,3] = sin x z:f64[7] = reduce_sum[axes=(1,)] y in (z,) }",
        "{ lambda x:f64[40,3] . let y:f64[3] = reduce_sum[axes=(0,)] x a:f64[6] = concatenate[dimension=0] y y "
        "b:f64[12] = concatenate[dimension=0] a a c:f64[24] = concatenate[dimension=0] b b in (c,) }",
        "{ lambda x:f64[40,50] . let a:f64[40,100] = concatenate[dimension=1] x x "
        "b:f64[40,200] = concatenate[dimension=1] a a c:f64[40,400] = concatenate[dimension=1] b b in (c,) }",
        "{ lambda x:f64[400,2,3,4] . let y:f64[400,2,3,4] = mul x x z:f64[400,2,3] = reduce_sum[axes=(3,)] y in (z,) }",
        "{ lambda x:f64[400,8] . let y:f64[400,8] = mul x x z:f64[400] = reduce_sum[axes=(1,)] y in (z,) }"};
    (void)state;
    for (size_t i = 0; i < COUNT(programs); i++) {
        tn_ctx *c = checked();
        tn_fn *f = tn_fn_parse(c, programs[i], strlen(programs[i]), "test.tn");
        if (!f) fail_msg("%s", tn_error(c));
        tn_fn *g = tn_i_columns(f);
        assert_ptr_equal(f, g);
        tn_i_fn_unref(g);
        tn_ctx_free(c);
    }
}

/* Sums of rows keep their order, whatever the width, and that of zeros is +0. */
static void test_sums(void **state) {
    enum { WIDE = 40 };
    (void)state;
    tn_ctx *c = checked();
    const char *const text =
        "{ lambda x:f64[37,40] . let a:f64[37,20] = slice[start_indices=(0, 0) limit_indices=(37, 20)] x "
        "b:f64[37,20] = slice[start_indices=(0, 20) limit_indices=(37, 40)] x "
        "y:f64[37,40] = concatenate[dimension=1] b a p:f64[37,40] = concatenate[dimension=1] a b "
        "q:f64[37,40] = concatenate[dimension=1] b b z:f64[37,40] = mul y p w:f64[37,40] = mul z q "
        "s:f64[37] = reduce_sum[axes=(1,)] w in (s,) }";
    tn_fn *f = tn_fn_parse(c, text, strlen(text), "test.tn");
    if (!f) fail_msg("%s", tn_error(c));
    double x[N * WIDE], got[N], want[N];
    for (int i = 0; i < N * WIDE; i++) x[i] = i < WIDE ? -0.0 : 1 / (1 + fabs(sin(i)));
    tn_fn *g = tn_i_columns(f);
    assert_int_equal(count(g, TN_P_reduce_sum), 0);
    tn_i_fn_unref(g);
    call(f, TN_BACKEND_DEFAULT, x, got);
    call(f, TN_BACKEND_REFERENCE, x, want);
    assert_memory_equal(got, want, sizeof got);
    assert_false(signbit(got[0]));
    tn_ctx_free(c);
}

static tn_val linear(const tn_val *in, void *user) {
    (void)user;
    return tn_mul(tn_sin(in[0]), tn_matmul(in[0], in[1]));
}

/* The Jacobian of a product is the matrix, and no product. */
static void test_basis(void **state) {
    enum { M = 9 };
    (void)state;
    for (int reverse = 0; reverse < 2; reverse++) {
        tn_ctx *c = checked();
        tn_fn *f = tn_trace(c, linear, NULL, 2, TN_TYPES(tn_f64(M), tn_f64(M, M)));
        tn_fn *j = reverse ? tn_jacrev(f, tn_wrt(0), NULL, 0) : tn_jacfwd(f, tn_wrt(0), 0);
        assert_non_null(j);
        assert_int_equal(count(j, TN_P_dot_general), 1);
        double x[M], w[M * M], got[M * M], y[M] = {0};
        for (int i = 0; i < M; i++) x[i] = cos(i);
        for (int i = 0; i < M * M; i++) w[i] = sin(i);
        tn_exec *e = tn_compile(j, NULL);
        assert_non_null(e);
        assert_int_equal(tn_call(e, (const void *[]){x, w}, (void *[]){got}), TN_OK);
        for (int i = 0; i < M; i++)
            for (int k = 0; k < M; k++) y[i] += x[k] * w[k * M + i];
        for (int i = 0; i < M; i++)
            for (int k = 0; k < M; k++) {
                const double want = sin(x[i]) * w[k * M + i] + (i == k ? cos(x[i]) * y[i] : 0);
                close_to(&got[i * M + k], &want, 1, 1e-13);
            }
        tn_exec_free(e);
        tn_ctx_free(c);
    }
}

/* ---- positions, and pairs of them ---------------------------------------------------------------- */

enum { PLACES = 90 };

/* x: [n,3] or, with the short dimension first, [3,n] -> the forces of all pairs, of x's shape */
static tn_val forces(const tn_val *in, void *user) {
    const bool last = *(const bool *)user;
    const tn_val x = in[0], d = last ? tn_sub(tn_expand_dims(x, 1), tn_expand_dims(x, 0))
                                     : tn_sub(tn_expand_dims(x, 2), tn_expand_dims(x, 1));
    const tn_val r = tn_sqrt(tn_add(tn_sum_axis(tn_mul(d, d), last ? 2 : 0, TN_KEEPDIMS), 0.01));
    return tn_sum_axis(tn_mul(d, tn_integer_pow(r, -3)), last ? 1 : 2);
}
static tn_val potential(const tn_val *in, void *user) {
    const tn_val f = forces(in, user);
    return tn_sum(tn_mul(f, f));
}

/* Wherever the short dimension stands: one pass over the pairs, none of which is in memory, and the same bits. */
static void test_pairs(void **state) {
    (void)state;
    double x[3 * PLACES], got[3 * PLACES], native[3 * PLACES], want[3 * PLACES];
    for (int i = 0; i < 3 * PLACES; i++) x[i] = sin(3.0 * i);
    for (int kind = 0; kind < 4; kind++) {
        tn_ctx *c = checked();
        bool last = kind & 1;
        tn_fn *f =
            tn_trace(c, kind & 2 ? potential : forces, &last, TN_ARGS(last ? tn_f64(PLACES, 3) : tn_f64(3, PLACES)));
        tn_fn *g = kind & 2 ? tn_grad(f, NULL, NULL) : f;
        if (!g) fail_msg("%s", tn_error(c));
        call(g, TN_BACKEND_DEFAULT, x, got);
        call(g, TN_BACKEND_NATIVE, x, native);
        call(g, TN_BACKEND_REFERENCE, x, want);
        assert_memory_equal(got, want, sizeof got);
        assert_memory_equal(got, native, sizeof got);
        tn_exec *e = tn_compile(g, NULL);
        assert_non_null(e);
        assert_true(tn_exec_bytes(e) < sizeof(double) * PLACES * PLACES);
        tn_ctx_free(c);
    }
}

/* ---- random programs ---------------------------------------------------------------------------- */

enum { MOST = 24, EQUATIONS = 14, MOST_ELEMENTS = 1 << 15 };

static int64_t elements(tn_val v) {
    const tn_type t = tn_val_type(v);
    int64_t n = 1;
    for (int d = 0; d < t.rank; d++) n *= t.dim[d];
    return n;
}

/* Random numbers, and whether rows of batches are joined and split rather than positions paired. */
typedef struct source {
    tn_i_rng r;
    bool rows;
} source;

static int64_t choice(source *s) {
    static const int64_t of_rows[] = {0, 1, 8, 8, 9, 10, 10, 10, 12};
    return s->rows ? of_rows[tn_i_pick(&s->r, 0, COUNT(of_rows) - 1)] : tn_i_pick(&s->r, 0, 12);
}

/* One more value, of x and, where it has its shape, of y; an operation that does not suit gives x. */
static tn_val more(source *s, tn_val x, tn_val y) {
    tn_i_rng *r = &s->r;
    const tn_type t = tn_val_type(x), u = tn_val_type(y);
    const int axis = t.rank ? (int)tn_i_pick(r, 0, t.rank - 1) : 0;
    const int64_t dim = t.rank ? t.dim[axis] : 0;
    switch (choice(s)) {
    case 0: return tn_sqrt(tn_abs(x));
    case 1:
    case 2: return tn_type_equal(&t, &u) ? tn_add(x, tn_mul(y, 0.5)) : tn_square(x);
    case 3:
    case 4: /* pairs along an axis */
        if (!t.rank || t.rank > 3 || elements(x) * dim > MOST_ELEMENTS) return x;
        return tn_sub(tn_expand_dims(x, axis), tn_expand_dims(x, axis + 1));
    case 5:
    case 6: return t.rank ? tn_sum_axis(x, axis, tn_i_pick(r, 0, 1) ? TN_KEEPDIMS : 0) : x;
    case 7: return t.rank ? tn_max_axis(x, axis) : x;
    case 8: return t.rank > 1 ? tn_swapaxes(x, axis, (axis + 1) % t.rank) : x;
    case 9:
        return dim > 1 && !(s->rows && dim == 17) ? tn_slice_axis(x, tn_i_pick(r, 0, 1), dim, tn_i_pick(r, 1, 2), axis)
                                                  : x;
    case 10: return t.rank && elements(x) * 2 <= MOST_ELEMENTS ? tn_concatenate(tn_vals(x, tn_mul(x, -1.5)), axis) : x;
    case 12: /* a product for each index of the first dimension, with a vector or a matrix; of longer ones the order
                depends on strides */
        if (t.rank && t.dim[t.rank - 1] > 7) return x;
        if (t.rank == 2) return tn_einsum("ni,ni->n", tn_vals(x, tn_mul(x, 0.25)));
        return t.rank == 3 && t.dim[1] <= 5 ? tn_einsum("nij,nkj->nik", tn_vals(x, tn_mul(x, 0.25))) : x;
    default: /* the first two dimensions as one, or a new one in front */
        if (t.rank == 2 && t.dim[0] <= 8 && t.dim[1] <= 8) return tn_reshape(x, t.dim[0] * t.dim[1]);
        return t.rank < 4 ? tn_expand_dims(x, 0) : x;
    }
}

static tn_val any_program(const tn_val *in, void *user) {
    source *s = user;
    tn_i_rng *r = &s->r;
    tn_val v[MOST] = {in[0], in[1]};
    int n = 2;
    while (n < EQUATIONS) {
        const int a = (int)tn_i_pick(r, n > 4 ? n - 4 : 0, n - 1), b = (int)tn_i_pick(r, 0, n - 1);
        v[n] = more(s, v[a], v[b]);
        n++;
    }
    return tn_square(v[n - 1]);
}

static tn_type any_shape(source *s) {
    static const int64_t few[] = {1, 2, 17, 17};
    tn_i_rng *r = &s->r;
    if (s->rows) return tn_f64(17, few[tn_i_pick(r, 0, 3)]);
    static const int64_t sizes[] = {1, 2, 3, 5, 9, 17, 17, 70};
    tn_type t = {.dtype = TN_F64, .rank = (int32_t)tn_i_pick(r, 1, 3)};
    for (int d = 0; d < t.rank; d++) t.dim[d] = sizes[tn_i_pick(r, 0, t.rank < 3 ? 7 : 5)];
    return t;
}

static double *result(tn_fn *f, int backend, const double *x) {
    const tn_type t = tn_fn_output_type(f, 0);
    double *y = calloc(tn_type_bytes(&t) + 1, 1);
    const tn_compile_options o = {.size = sizeof o, .backend = backend};
    tn_exec *e = tn_compile(f, &o);
    if (!e) fail_msg("%s", tn_error(tn_fn_ctx(f)));
    assert_int_equal(tn_call(e, (const void *[]){x, x + 1}, (void *[]){y}), TN_OK);
    return y;
}

static void test_random(void **state) {
    (void)state;
    static double x[MOST_ELEMENTS];
    for (int i = 0; i < MOST_ELEMENTS; i++) x[i] = sin(1.7 * i);
    int changed[2] = {0};
    for (uint64_t seed = 1; seed <= (uint64_t)amount(12000, 3000); seed++) {
        source s = {{.state = seed}, seed & 1};
        const tn_type a = any_shape(&s), b = any_shape(&s);
        tn_ctx *c = checked();
        tn_fn *f = tn_trace(c, any_program, &s, TN_ARGS(a, b));
        if (!f) fail_msg("seed %llu: %s", (unsigned long long)seed, tn_error(c));
        const tn_type t = tn_fn_output_type(f, 0);
        tn_fn *g = tn_i_columns(f);
        assert_non_null(g);
        changed[s.rows] += g != f;
        tn_i_fn_unref(g);
        double *got = result(f, TN_BACKEND_DEFAULT, x), *want = result(f, TN_BACKEND_REFERENCE, x);
        if (memcmp(got, want, tn_type_bytes(&t)) != 0) fail_msg("seed %llu", (unsigned long long)seed);
        free(got);
        free(want);
        tn_ctx_free(c);
    }
    if (changed[0] < amount(100, 25) || changed[1] < amount(25, 6))
        fail_msg("only %d and %d programs over columns", changed[0], changed[1]);
}

/* ---- beside calls, and merged ------------------------------------------------------------------------- */

static void same_bits(tn_fn *f, size_t n) {
    double x[N * IN], got[N * IN], native[N * IN], want[N * IN];
    assert_true(n <= N * IN);
    for (int i = 0; i < N * IN; i++) x[i] = sin(i + 1.0);
    call(f, TN_BACKEND_DEFAULT, x, got);
    call(f, TN_BACKEND_NATIVE, x, native);
    call(f, TN_BACKEND_REFERENCE, x, want);
    close_to(got, want, n, 1e-14);
    assert_memory_equal(got, native, n * sizeof *got);
}

/* Rows of several results under each other, the results beside each other: as a Jacobian has its colours. */
static tn_val merged(const tn_val *in, void *user) {
    tn_val part[3], y = tn_apply(user, 1, in);
    for (int k = 0; k < 3; k++, y = tn_sin(y)) part[k] = tn_reshape(y, N * OUT, 1);
    return tn_ravel(tn_concatenate(tn_vals(part[0], part[1], part[2]), 1));
}

static void test_merged(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *one, *all = derivative(c, 0, &one), *f = tn_trace(c, merged, all, 1, TN_TYPES(tn_f64(N, IN)));
    if (!f) fail_msg("%s", tn_error(c));
    tn_fn *h = tn_i_fuse(f);
    assert_non_null(h);
    assert_int_equal(count(h, TN_P_concatenate), 0);
    assert_int_equal(count(h, TN_P_fused), 1);
    tn_i_fn_unref(h);
    same_bits(f, (size_t)3 * N * OUT);
    tn_ctx_free(c);
}

/* A program that is called twice reads several columns, and a constant as it is. */
static tn_val calling(const tn_val *in, void *user) {
    double weight[N * OUT];
    for (int i = 0; i < N * OUT; i++) weight[i] = 1 / (i + 1.0);
    const tn_val x = in[0], a = tn_roll(tn_sin(x), 1, 1), b = tn_roll(tn_mul(a, x), 2, 1), d = tn_roll(tn_cos(b), 3, 1);
    const tn_val first = tn_apply(user, 1, &b), second = tn_apply(user, 1, &d);
    const tn_val w = tn_constant(tn_val_ctx(x), tn_f64(N * OUT), weight);
    return tn_add(tn_ravel(second), tn_mul(tn_ravel(first), w));
}

static void test_calls(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *one, *all = derivative(c, 0, &one), *f = tn_trace(c, calling, all, 1, TN_TYPES(tn_f64(N, IN)));
    if (!f) fail_msg("%s", tn_error(c));
    tn_fn *g = tn_i_columns(f);
    assert_non_null(g);
    assert_ptr_not_equal(f, g);
    assert_int_equal(count(g, TN_P_call), 2);
    tn_i_fn_unref(g);
    same_bits(f, (size_t)N * OUT);
    tn_ctx_free(c);
}

/* ---- the order ------------------------------------------------------------------------------------------ */

enum { LONG = 120 };

/* A chain, and tangents in three directions. */
static tn_val chain(const tn_val *in, void *user) {
    (void)user;
    tn_val x = in[0], t[3] = {in[0], tn_square(in[0]), tn_neg(in[0])};
    for (int i = 0; i < LONG; i++) {
        const tn_val by = tn_cos(x);
        x = tn_sin(x);
        for (int k = 0; k < 3; k++) t[k] = tn_mul(by, t[k]);
    }
    return tn_stack(tn_vals(x, t[0], t[1], t[2]), 0);
}

/* Values that are computed and read later, at most. */
static uint32_t waiting(const tn_fn *f) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < f->neqn; i++) {
        uint32_t n = 0;
        for (uint32_t v = f->nin; v < f->eqn[i].out; v++) {
            bool later = false;
            for (uint32_t j = i; j < f->neqn && f->val[v].def < i; j++)
                for (uint32_t k = 0; k < f->eqn[j].nin; k++) later |= tn_i_in(f, &f->eqn[j])[k] == v;
            n += later;
        }
        if (n > most) most = n;
    }
    return most;
}

static void test_stages(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = tn_trace(c, chain, NULL, 1, TN_TYPES(tn_f64(N)));
    if (!f) fail_msg("%s", tn_error(c));
    tn_fn *g = tn_i_depth_first(f);
    assert_non_null(g);
    assert_int_equal(g->neqn, f->neqn);
    assert_in_range(waiting(g), 4, 40); /* output by output all of LONG wait */
    tn_i_fn_unref(g);
    tn_ctx_free(c);
}

/* Places in rows of their own, some of them outside: bits of the reference, and no gather or scatter is left. */
static void test_places(void **state) {
    static const char *const gathers =
        "{ lambda x:%s[40,3,2] i:i32[40,4,2,1] u:%s[40,4,2] . let a:%s[40,4,2] = gather[dimension_numbers="
        "GatherDimensionNumbers(offset_dims=(), collapsed_slice_dims=(1,), start_index_map=(1,), "
        "operand_batching_dims=(0, 2), start_indices_batching_dims=(0, 2)) slice_sizes=(1, 1, 1) mode=%s] x i "
        "b:%s[40,4,2] = mul a u c:%s[40,2] = reduce_sum[axes=(1,)] b in (c,) }";
    static const char *const scatters =
        "{ lambda x:%s[40,3,2] i:i32[40,4,2,1] u:%s[40,4,2] . let a:%s[40,3,2] = %s[dimension_numbers="
        "ScatterDimensionNumbers(update_window_dims=(), inserted_window_dims=(1,), scatter_dims_to_operand_dims=(1,), "
        "operand_batching_dims=(0, 2), scatter_indices_batching_dims=(0, 2)) mode=%s] x i u "
        "b:%s[40,3,2] = mul a a c:%s[40,2] = reduce_sum[axes=(1,)] b in (c,) }";
    static const char *const modes[] = {"clip", "fill"}, *const names[] = {"f64", "f32", "i32"},
                             *const ops[] = {"gather", "scatter", "scatter_add"};
    (void)state;
    for (int k = 0; k < 18; k++) {
        const char *const t = names[k % 3], *const mode = modes[k / 3 % 2], *const op = ops[k / 6];
        char text[1024];
        double x[240], u[320], got[80] = {0}, want[80] = {0};
        int32_t index[320], whole[320], whole_x[240];
        float half[320], half_x[240];
        if (k / 6 == 0)
            (void)snprintf(text, sizeof text, gathers, t, t, t, mode, t, t);
        else
            (void)snprintf(text, sizeof text, scatters, t, t, t, op, k / 3 % 2 ? "drop" : mode, t, t);
        for (int i = 0; i < 320; i++) {
            index[i] = (i * 7) % 6 - 1;
            half[i] = (float)(u[i] = sin(i));
            whole[i] = i * 77;
        }
        for (int i = 0; i < 240; i++) {
            half_x[i] = (float)(x[i] = cos(i));
            whole_x[i] = 3 * i - 100;
        }
        tn_ctx *c = checked();
        tn_fn *f = tn_fn_parse(c, text, strlen(text), "test.tn");
        if (!f) fail_msg("%s", tn_error(c));
        tn_fn *g = tn_i_columns(f);
        assert_int_equal(count(g, TN_P_gather) + count(g, TN_P_scatter) + count(g, TN_P_scatter_add), 0);
        tn_i_fn_unref(g);
        const void *in[3] = {k % 3 == 0   ? (const void *)x
                             : k % 3 == 1 ? (const void *)half_x
                                          : whole_x,
                             index,
                             k % 3 == 0   ? (const void *)u
                             : k % 3 == 1 ? (const void *)half
                                          : whole};
        for (int r = 0; r < 2; r++) {
            const tn_compile_options o = {.size = sizeof o, .backend = r ? TN_BACKEND_REFERENCE : TN_BACKEND_DEFAULT};
            tn_exec *e = tn_compile(f, &o);
            if (!e) fail_msg("%s", tn_error(c));
            assert_int_equal(tn_call(e, in, (void *[]){r ? (void *)want : got}), TN_OK);
            tn_exec_free(e);
        }
        if (memcmp(got, want, sizeof got) != 0) fail_msg("%s %s %s: bits differ", op, mode, t);
        tn_ctx_free(c);
    }
}

/* ---- what is rolled ------------------------------------------------------------------------------------ */

typedef struct rolled {
    int rank, axis, shift;
    int64_t dim[3];
} rolled;

/* Of points in a ring, or on a torus: the first and the last few of a long dimension go to its other end. */
static tn_val ring(const tn_val *in, void *user) {
    const rolled *k = user;
    const int last = k->rank - 1;
    const tn_val x = in[0], y = tn_roll(x, k->shift, k->axis), d = tn_sub(y, x);
    const tn_val cross = tn_mul(tn_slice_axis(x, 0, 1, 1, last), tn_slice_axis(y, 1, 2, 1, last));
    return tn_add(tn_sum(tn_sqrt(tn_add(tn_sum_axes(tn_square(d), tn_ints(last)), 0.5))), tn_square(tn_sum(cross)));
}

static void agrees(tn_fn *f, size_t n, const rolled *k) {
    double *x = calloc(n, sizeof *x), *got = calloc(n, sizeof *x), *want = calloc(n, sizeof *x);
    for (size_t i = 0; i < n; i++) x[i] = sin((double)i + 1);
    call(f, TN_BACKEND_DEFAULT, x, got);
    call(f, TN_BACKEND_REFERENCE, x, want);
    for (size_t i = 0; i < n; i++)
        if (!(fabs(got[i] - want[i]) <= 1e-12 * (1 + fabs(want[i]))))
            fail_msg("rolled by %d along %d, element %zu: %g for %g", k->shift, k->axis, i, got[i], want[i]);
    free(x), free(got), free(want);
}

static void test_rolled(void **state) {
    static const rolled all[] = {{2, 0, 1, {37, 3}},     {2, 0, -1, {400, 2}},    {2, 0, 2, {40, 3}},
                                 {2, 0, -3, {33, 2}},    {2, 0, 12, {37, 2}},     {3, 0, 1, {37, 12, 2}},
                                 {3, 1, 1, {12, 37, 2}}, {3, 1, -2, {37, 20, 3}}, {3, 0, -1, {3, 37, 2}},
                                 {2, 0, 1, {9, 2}}};
    (void)state;
    for (size_t i = 0; i < COUNT(all); i++) {
        const rolled *k = &all[i];
        tn_ctx *c = checked();
        const tn_type t = tn_type_of(TN_F64, (size_t)k->rank, k->dim);
        tn_fn *f = tn_trace(c, ring, (void *)(uintptr_t)k, 1, &t), *g = tn_grad(f, NULL, NULL);
        if (!g) fail_msg("%s", tn_error(c));
        agrees(f, tn_type_elements(&t), k);
        agrees(g, tn_type_elements(&t), k);
        if (i < 2) { /* few passes, and nothing that is put together first */
            tn_fn *h = tn_i_fuse(g);
            assert_non_null(h);
            assert_in_range(count(h, TN_P_fused), 1, 4);
            assert_int_equal(count(h, TN_P_concatenate) + count(h, TN_P_slice_add), 0);
            tn_i_fn_unref(h);
        }
        tn_ctx_free(c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rolled), cmocka_unit_test(test_values), cmocka_unit_test(test_form),
        cmocka_unit_test(test_others), cmocka_unit_test(test_sums),   cmocka_unit_test(test_basis),
        cmocka_unit_test(test_pairs),  cmocka_unit_test(test_random), cmocka_unit_test(test_merged),
        cmocka_unit_test(test_calls),  cmocka_unit_test(test_stages), cmocka_unit_test(test_places)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
