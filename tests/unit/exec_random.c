/* Random programs, compiled and compared bit for bit with the naive evaluator: views of views, in-place
 * chains, nested programs, strided and absent and aliased arguments, workspaces at odd addresses. */
#include "plan/plan.h"
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

#define MOST 64

/* ---- programs ---------------------------------------------------------------------- */

typedef struct source {
    tn_i_rng *rng;
    tn_i_builder b;
    tn_i_var v[4 * MOST];
    uint32_t n;
    int depth;
} source;

static int64_t pick(source *s, int64_t lo, int64_t hi) { return tn_i_pick(s->rng, lo, hi); }
static const tn_type *type_of(source *s, tn_i_var v) { return tn_i_vtype(&s->b, v); }

static void add(source *s, tn_i_var v) {
    assert_int_not_equal(v, TN_NOVAR);
    if (s->n < 4 * MOST) s->v[s->n++] = v;
}

static tn_type random_type(tn_i_rng *r) {
    static const int64_t size[] = {2, 3, 4, 1, 6, 12, 40};
    static const tn_dtype dtype[] = {TN_F64, TN_F64, TN_F32, TN_I32, TN_I64, TN_BOOL};
    tn_type t = {.dtype = (int32_t)dtype[tn_i_pick(r, 0, 5)],
                 .rank = (int32_t)(tn_i_pick(r, 0, 7) ? tn_i_pick(r, 1, 3) : 0)};
    for (int i = 0; i < t.rank; i++) t.dim[i] = tn_i_pick(r, 0, 30) ? size[tn_i_pick(r, 0, i == 0 ? 6 : 4)] : 0;
    return t;
}

/* Often a late value, which nothing else uses yet. */
static tn_i_var any(source *s) { return s->v[pick(s, s->n > 4 && pick(s, 0, 1) ? s->n - 4 : 0, s->n - 1)]; }

/* A late value of the wanted kind, or TN_NOVAR. */
static tn_i_var find(source *s, bool (*fits)(const tn_type *t, const tn_type *want), const tn_type *want) {
    for (int k = 0; k < 40; k++) {
        tn_i_var v = any(s);
        if (fits(type_of(s, v), want)) return v;
    }
    return TN_NOVAR;
}

static bool same(const tn_type *t, const tn_type *want) { return tn_type_equal(t, want); }
static bool number(const tn_type *t, const tn_type *want) {
    (void)want;
    return t->dtype != TN_BOOL;
}
static bool index_like(const tn_type *t, const tn_type *want) {
    (void)want;
    return t->rank == 0 && t->dtype == TN_I32;
}
static bool vector(const tn_type *t, const tn_type *want) {
    (void)want;
    return t->rank == 1 && t->dtype != TN_BOOL;
}
static bool ranked(const tn_type *t, const tn_type *want) {
    (void)want;
    return t->rank > 0;
}

static void unary(source *s) {
    static const int op[] = {TN_P_neg, TN_P_abs, TN_P_square, TN_P_sign, TN_P_stop_gradient};
    tn_i_var x = find(s, number, NULL);
    if (x != TN_NOVAR) add(s, tn_i_op1(&s->b, op[pick(s, 0, 4)], x));
}

static void binary(source *s) {
    static const int op[] = {TN_P_add, TN_P_mul, TN_P_sub, TN_P_max, TN_P_lt};
    tn_i_var x = find(s, number, NULL);
    if (x == TN_NOVAR) return;
    tn_i_var y = find(s, same, type_of(s, x));
    tn_i_var z = tn_i_op2(&s->b, op[pick(s, 0, 4)], x, y == TN_NOVAR ? x : y);
    add(s, z);
    if (type_of(s, z)->dtype == TN_BOOL && y != TN_NOVAR) add(s, tn_i_op3(&s->b, TN_P_select, z, x, y));
}

static void convert(source *s) { add(s, tn_i_convert(&s->b, any(s), (int)pick(s, 0, TN_NDTYPES - 1))); }

static void permute(source *s) {
    tn_i_var x = find(s, ranked, NULL);
    if (x == TN_NOVAR) return;
    int64_t perm[TN_MAX_RANK];
    int rank = type_of(s, x)->rank;
    for (int i = 0; i < rank; i++) {
        int64_t j = pick(s, 0, i);
        perm[i] = perm[j];
        perm[j] = i;
    }
    add(s, tn_i_permute(&s->b, x, perm));
}

static void reshape(source *s) {
    tn_i_var x = any(s);
    tn_type t = *type_of(s, x);
    int64_t n = tn_i_count(&t), half = 2 + pick(s, 0, 1);
    const int64_t shape[3] = {n % half ? n : n / half, n % half ? 1 : half, 1};
    add(s, tn_i_reshape(&s->b, x, pick(s, 0, 3) ? (int)pick(s, 2, 3) : (n == 1 ? 0 : 2), shape));
}

static void broadcast(source *s) {
    tn_i_var x = any(s);
    tn_type t = *type_of(s, x);
    int64_t shape[TN_MAX_RANK], dims[TN_MAX_RANK];
    if (t.rank >= 4 || tn_i_count(&t) > 500) return;
    int64_t at = pick(s, 0, t.rank), extra = pick(s, 1, 3);
    for (int i = 0, k = 0; i <= t.rank; i++)
        if (i == at)
            shape[i] = extra;
        else {
            shape[i] = t.dim[k] == 1 ? extra : t.dim[k];
            dims[k++] = i;
        }
    add(s, tn_i_broadcast(&s->b, x, t.rank + 1, shape, dims));
}

static void slice(source *s) {
    tn_i_var x = find(s, ranked, NULL);
    if (x == TN_NOVAR) return;
    tn_type t = *type_of(s, x);
    int64_t start[TN_MAX_RANK], limit[TN_MAX_RANK], stride[TN_MAX_RANK];
    for (int i = 0; i < t.rank; i++) {
        start[i] = t.dim[i] ? pick(s, 0, t.dim[i] > 2 ? 2 : 0) : 0;
        limit[i] = t.dim[i] ? pick(s, start[i] + 1, t.dim[i]) : 0;
        stride[i] = pick(s, 1, 3);
    }
    add(s, tn_i_slice(&s->b, x, start, limit, pick(s, 0, 1) ? stride : NULL));
}

static void reverse(source *s) {
    tn_i_var x = find(s, ranked, NULL);
    if (x == TN_NOVAR) return;
    int64_t d = pick(s, 0, type_of(s, x)->rank - 1);
    add(s, tn_i_rev(&s->b, x, 1, &d));
}

static void reduce(source *s) {
    tn_i_var x = find(s, number, NULL);
    if (x == TN_NOVAR || type_of(s, x)->rank == 0) return;
    int64_t axis = pick(s, 0, type_of(s, x)->rank - 1);
    add(s, tn_i_reduce_sum(&s->b, x, 1, &axis));
}

static tn_i_var index_value(source *s) {
    tn_i_var i = pick(s, 0, 1) ? find(s, index_like, NULL) : TN_NOVAR;
    return i == TN_NOVAR ? tn_i_literal_i64(&s->b, TN_I32, pick(s, -1, 5)) : i;
}

static void dynamic(source *s) {
    tn_i_var x = find(s, ranked, NULL), index[TN_MAX_RANK];
    if (x == TN_NOVAR) return;
    tn_type t = *type_of(s, x);
    for (int i = 0; i < t.rank; i++) {
        index[i] = index_value(s);
        t.dim[i] = t.dim[i] ? pick(s, 1, t.dim[i]) : 0;
    }
    tn_i_var part = tn_i_dynamic_slice(&s->b, x, index, t.dim);
    add(s, part);
    if (pick(s, 0, 1)) add(s, tn_i_dynamic_update_slice(&s->b, x, part, index));
}

/* A chain that may be done in place, with a use of what it starts from now and then. */
static void scatter(source *s) {
    tn_i_var x = find(s, vector, NULL);
    if (x == TN_NOVAR) return;
    static const tn_i_dnums d = {.n = {[TN_COLLAPSED] = 1, [TN_MAP] = 1}};
    tn_type t = *type_of(s, x), it = tn_type_of(TN_I32, 2, (const int64_t[]){2, 1});
    tn_type ut = tn_type_of((tn_dtype)t.dtype, 1, (const int64_t[]){2});
    if (pick(s, 0, 1)) x = tn_i_zeros(&s->b, &t);
    for (int64_t k = pick(s, 1, 4); k > 0; k--) {
        const int32_t at[2] = {(int32_t)pick(s, -1, 12), (int32_t)pick(s, 0, 3)};
        tn_i_var u = find(s, same, &ut);
        if (u == TN_NOVAR) u = tn_i_number(&s->b, &ut, 3);
        x = tn_i_scatter_add(&s->b, x, tn_i_constant(&s->b, &it, at), u, &d, pick(s, 0, 1));
        if (pick(s, 0, 3) == 0) add(s, x);
    }
    add(s, x);
}

static void join(source *s) {
    tn_i_var in[3];
    in[0] = find(s, ranked, NULL);
    if (in[0] == TN_NOVAR || tn_i_count(type_of(s, in[0])) > 500) return;
    uint32_t n = 1;
    for (; n < 3; n++)
        if ((in[n] = find(s, same, type_of(s, in[0]))) == TN_NOVAR) in[n] = in[0];
    add(s, tn_i_concatenate(&s->b, n, in, pick(s, 0, type_of(s, in[0])->rank - 1)));
}

static void split(source *s) {
    tn_i_var x = find(s, ranked, NULL);
    if (x == TN_NOVAR) return;
    const int64_t axis = pick(s, 0, type_of(s, x)->rank - 1), n = type_of(s, x)->dim[axis], first = pick(s, 0, n);
    const int64_t sizes[2] = {first, n - first};
    const tn_i_param p[2] = {{.kind = TN_K_INTS, .n = 2, .u.ints = sizes}, {.kind = TN_K_INT, .u.i = axis}};
    tn_i_var v = tn_i_emit(&s->b, tn_i_prim(&s->b, TN_P_split), p, 1, &x);
    if (tn_i_def(&s->b, v) && tn_i_def(&s->b, v)->nout == 2) {
        add(s, v);
        add(s, v + 1);
    }
}

static void data(source *s) {
    tn_type t = random_type(s->rng);
    if (t.rank == 0) t.rank = 1, t.dim[0] = 3;
    unsigned char *bytes = calloc(tn_type_bytes(&t) + 1, 1);
    for (size_t i = 0; i < tn_type_bytes(&t); i += 8) { /* ones and zeros: what is computed of them is exact */
        const bool one = pick(s, 0, 1);
        const float f32 = one;
        const double f64 = one;
        if (t.dtype == TN_F32)
            memcpy(bytes + i, &f32, sizeof f32);
        else if (t.dtype == TN_F64)
            memcpy(bytes + i, &f64, sizeof f64);
        else
            bytes[i] = one;
    }
    add(s, tn_i_constant(&s->b, &t, bytes));
    free(bytes);
    if (pick(s, 0, 1)) add(s, tn_i_literal_i64(&s->b, (int)pick(s, 0, TN_NDTYPES - 1), pick(s, -1, 2)));
}

static tn_fn *random_program(tn_ctx *c, tn_i_rng *r, int depth, uint32_t nin, const tn_type *in);

static void nested(source *s) {
    if (s->depth >= 2) return;
    tn_i_var in[4];
    tn_type type[4];
    uint32_t n = (uint32_t)pick(s, 1, 4);
    for (uint32_t i = 0; i < n; i++) type[i] = *type_of(s, in[i] = any(s));
    tn_fn *f = random_program(s->b.ctx, s->rng, s->depth + 1, n, type);
    const tn_i_param p[2] = {{.kind = TN_K_STR, .u.str = tn_i_string(s->b.ctx, "f", 1)}, {.kind = TN_K_FN, .u.fn = f}};
    for (int64_t calls = pick(s, 1, 3); calls > 0; calls--) {
        tn_i_var v = tn_i_emit(&s->b, tn_i_prim(&s->b, TN_P_call), p, n, in);
        for (size_t j = 0; j < tn_fn_outputs(f); j++) add(s, v + (tn_i_var)j);
        for (uint32_t i = 0; i < n; i++) { /* the same program on other values, in other layouts */
            tn_i_var w = find(s, same, &type[i]);
            if (w != TN_NOVAR) in[i] = w;
        }
    }
    tn_fn_free(f);
}

static void grow(source *s, int64_t steps) {
    static void (*const make[])(source *) = {unary,   unary,   binary,    binary, binary,  convert, permute,
                                             permute, reshape, broadcast, slice,  reverse, reduce,  dynamic,
                                             scatter, join,    split,     data,   nested};
    while (steps-- > 0 && !s->b.failed) make[pick(s, 0, (int64_t)(sizeof make / sizeof *make) - 1)](s);
}

static tn_fn *random_program(tn_ctx *c, tn_i_rng *r, int depth, uint32_t nin, const tn_type *in) {
    source *s = calloc(1, sizeof *s);
    s->rng = r;
    s->depth = depth;
    tn_i_builder_init(&s->b, c);
    s->b.raw = pick(s, 0, 1); /* dead and repeated equations stay */
    for (uint32_t i = 0; i < nin; i++) add(s, tn_i_input(&s->b, &in[i], false));
    grow(s, depth ? pick(s, 1, 10) : pick(s, 1, MOST));
    tn_i_var out[6];
    uint32_t nout = (uint32_t)(pick(s, 0, 1) ? pick(s, 1, 2) : pick(s, 1, 6));
    for (uint32_t j = 0; j < nout; j++)
        out[j] = pick(s, 0, 3) ? s->v[s->n - 1 - (uint32_t)pick(s, 0, s->n > 8 ? 7 : s->n - 1)] : any(s);
    tn_fn *f = tn_i_finish(&s->b, nout, out);
    free(s);
    if (!f) print_error("%s\n", tn_error(c));
    assert_non_null(f);
    return f;
}

/* ---- arguments ----------------------------------------------------------------------------- */

/* A user's array: some strides, at an address that is aligned for its elements and no more. */
typedef struct array {
    tn_type type;
    size_t size, bytes;
    int64_t stride[TN_MAX_RANK];
    unsigned char *memory, *data;
} array;

static void random_layout(tn_i_rng *r, array *a, bool strided) {
    int order[TN_MAX_RANK];
    int64_t step = 1, low = 0;
    for (int i = 0; i < a->type.rank; i++) {
        int j = (int)tn_i_pick(r, 0, i);
        order[i] = order[j];
        order[j] = i;
    }
    tn_i_dense_strides(&a->type, a->stride);
    if (strided) {
        for (int k = 0; k < a->type.rank; k++) {
            int i = order[k];
            step *= tn_i_pick(r, 1, 2);
            a->stride[i] = tn_i_pick(r, 0, 3) ? step : -step;
            if (a->stride[i] < 0 && a->type.dim[i]) low += step * (a->type.dim[i] - 1);
            step *= a->type.dim[i] ? a->type.dim[i] : 1;
        }
    } else
        step = tn_i_count(&a->type) + 1;
    a->size = tn_i_dtype_size(a->type.dtype);
    a->bytes = ((size_t)step + 4) * a->size;
    a->memory = malloc(a->bytes + 64);
    memset(a->memory, 0xEE, a->bytes + 64);
    a->data = a->memory + a->size * (size_t)tn_i_pick(r, 0, 1) + (size_t)low * a->size;
}

static unsigned char *element(const array *a, int64_t k) {
    int64_t at = 0;
    for (int i = a->type.rank; i-- > 0;) {
        at += k % a->type.dim[i] * a->stride[i];
        k /= a->type.dim[i];
    }
    return a->data + at * (int64_t)a->size;
}

static void write_elements(const array *a, const void *dense) {
    for (int64_t k = 0; k < tn_i_count(&a->type); k++)
        memcpy(element(a, k), (const char *)dense + (size_t)k * a->size, a->size);
}

static void read_elements(const array *a, void *dense) {
    for (int64_t k = 0; k < tn_i_count(&a->type); k++)
        memcpy((char *)dense + (size_t)k * a->size, element(a, k), a->size);
}

static void *random_data(tn_i_rng *r, const tn_type *t) {
    const size_t n = (size_t)tn_i_count(t), size = tn_i_dtype_size(t->dtype);
    unsigned char *p = calloc(n + 1, size);
    for (size_t i = 0; i < n; i++) {
        const int64_t x = tn_i_pick(r, -4, 9);
        const double d = (double)x / 4;
        const float f = (float)d;
        const int32_t k = (int32_t)x;
        const unsigned char b = x > 2;
        const void *from = t->dtype == TN_F64   ? (const void *)&d
                           : t->dtype == TN_F32 ? (const void *)&f
                           : t->dtype == TN_I64 ? (const void *)&x
                           : t->dtype == TN_I32 ? (const void *)&k
                                                : (const void *)&b;
        memcpy(p + i * size, from, size);
    }
    return p;
}

/* ---- one comparison --------------------------------------------------------------------------- */

typedef struct trial {
    tn_fn *f;
    uint32_t nin, nout;
    void *x[6], *y[6], *got[6]; /* dense: arguments, expected and actual results */
    array in[6], out[6];
    const int64_t *in_strides[6], *out_strides[6];
    int alias[6];
    bool absent[6];
} trial;

static void choose_arguments(trial *t, tn_i_rng *r) {
    bool taken[6] = {false};
    for (uint32_t i = 0; i < t->nin; i++) {
        t->in[i].type = tn_fn_input_type(t->f, i);
        random_layout(r, &t->in[i], tn_i_pick(r, 0, 1));
        t->in_strides[i] = t->in[i].stride;
    }
    for (uint32_t j = 0; j < t->nout; j++) {
        t->out[j].type = tn_fn_output_type(t->f, j);
        random_layout(r, &t->out[j], tn_i_pick(r, 0, 1));
        t->alias[j] = -1;
        t->absent[j] = tn_i_pick(r, 0, 4) == 0;
        t->got[j] = calloc(tn_type_bytes(&t->out[j].type) + 8, 1);
        for (uint32_t i = 0; i < t->nin; i++) {
            if (taken[i] || !tn_type_equal(&t->in[i].type, &t->out[j].type) || tn_i_pick(r, 0, 1)) continue;
            taken[i] = true;
            t->alias[j] = (int)i;
            memcpy(t->out[j].stride, t->in[i].stride, sizeof t->in[i].stride);
            free(t->out[j].memory);
            t->out[j] = t->in[i]; /* the very same memory */
            t->out[j].memory = NULL;
            break;
        }
        t->out_strides[j] = t->out[j].stride;
    }
}

static void compare(const trial *t, uint64_t seed) {
    for (uint32_t j = 0; j < t->nout; j++) {
        if (t->absent[j]) continue;
        read_elements(&t->out[j], t->got[j]);
        if (memcmp(t->got[j], t->y[j], tn_type_bytes(&t->out[j].type)) == 0) continue;
        char text[1 << 14];
        tn_i_plan *p = tn_i_plan_new(t->f, NULL);
        (void)tn_i_plan_text(p, text, sizeof text);
        tn_i_plan_free(t->f->ctx, p);
        size_t n;
        print_error("seed %llu: output %u differs\n%s\n%s\n", (unsigned long long)seed, j, tn_fn_print(t->f, &n), text);
        fail();
    }
}

static void call(trial *t, tn_exec *e, tn_work *w, uint64_t seed) {
    const void *in[6];
    void *out[6];
    for (uint32_t i = 0; i < t->nin; i++) {
        write_elements(&t->in[i], t->x[i]);
        in[i] = t->in[i].data;
    }
    for (uint32_t j = 0; j < t->nout; j++) out[j] = t->absent[j] ? NULL : t->out[j].data;
    tn_status s = w ? tn_call_in(e, w, in, out) : tn_call(e, in, out);
    if (s != TN_OK) print_error("seed %llu: %s\n", (unsigned long long)seed, w ? tn_work_error(w) : tn_exec_error(e));
    assert_int_equal(s, TN_OK);
    compare(t, seed);
    for (uint32_t i = 0; i < t->nin; i++) { /* inputs that share no memory with outputs are as they were */
        bool shared = false;
        for (uint32_t j = 0; j < t->nout; j++) shared |= t->alias[j] == (int)i;
        if (shared) continue;
        void *dense = calloc(tn_type_bytes(&t->in[i].type) + 8, 1);
        read_elements(&t->in[i], dense);
        assert_memory_equal(dense, t->x[i], tn_type_bytes(&t->in[i].type));
        free(dense);
    }
}

static void call_several_times(trial *t, tn_i_rng *r, uint64_t seed) {
    const tn_compile_options o = {
        .size = sizeof o, .in_strides = t->in_strides, .out_strides = t->out_strides, .alias = t->alias};
    tn_exec *e = tn_compile(t->f, &o);
    if (!e) print_error("seed %llu: %s\n", (unsigned long long)seed, tn_error(t->f->ctx));
    assert_non_null(e);
    const size_t bytes = tn_work_bytes(e), guard = 256, shift = (size_t)tn_i_pick(r, 0, 63);
    unsigned char *memory = malloc(bytes + 2 * guard + shift);
    memset(memory, 0xA5, bytes + 2 * guard + shift);
    tn_work *w = tn_work_new(e, memory + guard + shift, bytes);
    assert_non_null(w);
    call(t, e, w, seed);
    call(t, e, w, seed);
    for (uint32_t j = 0; j < t->nout; j++) t->absent[j] = tn_i_pick(r, 0, 2) == 0;
    call(t, e, w, seed);
    call(t, e, NULL, seed);
    for (size_t k = 0; k < guard + shift; k++) assert_int_equal(memory[k], 0xA5);
    for (size_t k = 0; k < guard; k++) assert_int_equal(memory[guard + shift + bytes + k], 0xA5);
    free(memory);
    tn_exec_free(e);
}

static void one_trial(uint64_t seed) {
    tn_i_rng r = {.state = seed};
    tn_ctx *c = tn_ctx_new(&(tn_ctx_options){.size = sizeof(tn_ctx_options), .check = 1});
    trial t = {.nin = (uint32_t)tn_i_pick(&r, 1, 5)};
    tn_type type[6];
    for (uint32_t i = 0; i < t.nin; i++) type[i] = random_type(&r);
    t.f = random_program(c, &r, 0, t.nin, type);
    t.nout = (uint32_t)tn_fn_outputs(t.f);
    for (uint32_t i = 0; i < t.nin; i++) t.x[i] = random_data(&r, &type[i]);
    for (uint32_t j = 0; j < t.nout; j++) {
        tn_type y = tn_fn_output_type(t.f, j);
        t.y[j] = calloc(tn_type_bytes(&y) + 8, 1);
    }
    assert_int_equal(tn_naive_run(t.f, (const void *const *)t.x, t.y), TN_OK);
    choose_arguments(&t, &r);
    call_several_times(&t, &r, seed);
    for (uint32_t i = 0; i < t.nin; i++) {
        free(t.x[i]);
        free(t.in[i].memory);
    }
    for (uint32_t j = 0; j < t.nout; j++) {
        free(t.y[j]);
        free(t.got[j]);
        free(t.out[j].memory);
    }
    tn_ctx_free(c);
}

static void test_random_programs(void **state) {
    (void)state;
    const char *from = getenv("EXEC_SEED"), *count = getenv("EXEC_N");
    const uint64_t first = from ? strtoull(from, NULL, 10) : 1, n = count ? strtoull(count, NULL, 10) : 3000;
    for (uint64_t seed = first; seed < first + n; seed++) one_trial(seed);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_programs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
