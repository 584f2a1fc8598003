/* Chains of operations in whole programs: random ones of cheap operations, of more values than there are
 * registers, slots or ends, against the reference, bit for bit, at lengths around blocks, leaves and tiles; of arrays
 * and of neighbours in them; with results that nobody wants, and such as are written over operands. */
#include "amount.h"
#include "unit/tracing.h"

#include "plan/nest.h"
#include "prims/prim.h"
#include "tansy/ops.h"

#include <stdlib.h>

enum { INPUTS = 5, OUTPUTS = 4, VALUES = 200, LONGEST = 3 * 8 * TN_LEAF + 700 };

typedef struct shape {
    tn_i_rng rng;
    int64_t operations, near; /* how far back operands are taken from */
    bool shifts;              /* inputs are read at other places too, with zeros or the other end beyond theirs */
} shape;

static tn_val operation(tn_i_rng *rng, tn_val x, tn_val y, tn_val z) {
    switch (tn_i_pick(rng, 0, 15)) {
    case 0: return tn_sub(x, y);
    case 1: return tn_mul(x, y);
    case 2: return tn_div(x, tn_add(tn_square(y), 1));
    case 3: return tn_maximum(x, y);
    case 4: return tn_minimum(x, y);
    case 5: return tn_neg(x);
    case 6: return tn_sqrt(tn_abs(x));
    case 7: return tn_mul(0.25, tn_integer_pow(x, (int)tn_i_pick(rng, 2, 4)));
    case 8: return tn_integer_pow(tn_add(tn_abs(x), 1), -1);
    case 9: return tn_sub(z, tn_mul(x, y));
    case 10: return tn_sub(tn_mul(x, y), z);
    case 11: return tn_add(tn_mul(x, x), y);
    case 12: return tn_mul(0.5, tn_add(x, y));
    default: return tn_add(tn_mul(tn_mul(x, 0.5), y), z);
    }
}

/* x[i + by], as slices and pads, or round a ring. */
static tn_val neighbour(tn_i_rng *rng, tn_val x) {
    const int64_t n = tn_dim(x, 0), by = tn_i_pick(rng, 1, n > 3 ? 3 : n);
    switch (tn_i_pick(rng, 0, 3)) {
    case 0: return tn_pad(tn_slice_axis(x, by, n, 1, 0), 0, tn_ints(0), tn_ints(by), tn_ints());
    case 1: return tn_pad(tn_slice_axis(x, 0, n - by, 1, 0), -0.0, tn_ints(by), tn_ints(0), tn_ints());
    case 2: return tn_roll(x, tn_i_pick(rng, 0, 1) ? by : -by, 0);
    default: return x;
    }
}

/* The last input is one number.  Values near the end and some others are kept, or summed. */
static void any_program(const tn_val *in, tn_val *out, void *user) {
    shape *s = user;
    tn_val v[VALUES + INPUTS];
    int64_t n = INPUTS;
    memcpy(v, in, INPUTS * sizeof *v);
    for (int k = 0; s->shifts && k < 3; k++) v[k] = neighbour(&s->rng, in[k]);
    for (int64_t i = 0; i < s->operations; i++) {
        const int64_t far = tn_i_pick(&s->rng, 0, 3) ? s->near : n;
        tn_val x[3];
        for (int k = 0; k < 3; k++) x[k] = v[tn_i_pick(&s->rng, n > far ? n - far : 0, n - 1)];
        v[n++] = operation(&s->rng, x[0], x[1], x[2]);
    }
    const tn_val x = in[tn_i_pick(&s->rng, 0, 3)], y = in[tn_i_pick(&s->rng, 0, 3)];
    out[0] = tn_add(v[n - 1], x);
    out[1] = tn_add(v[tn_i_pick(&s->rng, 0, n - 1)], x);
    out[2] = tn_sum(tn_add(v[n - 1], y));
    out[3] = tn_sum(tn_mul(x, v[tn_i_pick(&s->rng, INPUTS, n - 1)]));
}

static void same(tn_dtype dtype, const char *got, const char *want, int64_t n, int64_t seed, int out) {
    const size_t size = tn_i_dtype_size((int)dtype);
    for (int64_t i = 0; i < n; i++) {
        const char *a = got + (size_t)i * size, *b = want + (size_t)i * size;
        double x, y;
        float f, g;
        memcpy(&f, a, 4), memcpy(&g, b, 4);
        if (dtype == TN_F32)
            x = (double)f, y = (double)g;
        else
            memcpy(&x, a, 8), memcpy(&y, b, 8);
        if (memcmp(a, b, size) == 0 || (isnan(x) && isnan(y))) continue;
        fail_msg("program %lld, output %d, element %lld of %lld: %.17g, not %.17g", (long long)seed, out, (long long)i,
                 (long long)n, x, y);
    }
}

/* Memory that begins at an odd element, with nothing of ours behind its end. */
static char *memory(tn_i_rng *rng, tn_dtype dtype, int64_t n, bool fill) {
    const size_t size = tn_i_dtype_size((int)dtype);
    char *m = malloc((size_t)(n + 3) * size);
    assert_non_null(m);
    for (int64_t i = 0; i < n + 3; i++) {
        const double x = fill ? tn_i_uniform(rng, -1.5, 1.5) : 77;
        const float f = (float)x;
        memcpy(m + (size_t)i * size, dtype == TN_F32 ? (const void *)&f : (const void *)&x, size);
    }
    return m;
}

/* A program's arguments; results by default and of the reference. */
typedef struct arguments {
    tn_dtype dtype;
    int64_t n, seed;
    char *in[INPUTS], *out[2][OUTPUTS];
    const void *from[INPUTS];
    void *to[2][OUTPUTS];
} arguments;

static void call(const tn_fn *f, int backend, const int *alias, const void *const *in, void *const *out) {
    const tn_compile_options o = {.size = sizeof o, .backend = backend, .alias = alias};
    tn_exec *e = tn_compile(f, &o);
    if (!e) fail_msg("%s", tn_error(tn_fn_ctx(f)));
    assert_int_equal(tn_call(e, in, out), TN_OK);
    assert_int_equal(tn_call(e, in, out), TN_OK);
    tn_exec_free(e);
}

static void make_arguments(arguments *a, tn_i_rng *rng) {
    const size_t size = tn_i_dtype_size((int)a->dtype);
    for (int k = 0; k < INPUTS; k++) {
        a->in[k] = memory(rng, a->dtype, k < INPUTS - 1 ? a->n : 1, true);
        a->from[k] = a->in[k] + (size_t)(k % 3) * size;
    }
    for (int b = 0; b < 2; b++)
        for (int k = 0; k < OUTPUTS; k++) {
            a->out[b][k] = memory(rng, a->dtype, k < 2 ? a->n : 1, false);
            a->to[b][k] = a->out[b][k] + (size_t)((k + 1) % 3) * size;
        }
}

static void drop_arguments(arguments *a) {
    for (int k = 0; k < INPUTS; k++) free(a->in[k]);
    for (int k = 0; k < OUTPUTS; k++) free(a->out[0][k]), free(a->out[1][k]);
}

static void compare(const arguments *a) {
    for (int k = 0; k < OUTPUTS; k++) same(a->dtype, a->out[0][k], a->out[1][k], (k < 2 ? a->n : 1) + 3, a->seed, k);
}

/* Those that are not wanted are not written either. */
static void some_outputs(arguments *a, const tn_fn *f, tn_i_rng *rng) {
    arguments b = {.dtype = a->dtype, .n = a->n, .seed = a->seed};
    void *to[OUTPUTS];
    make_arguments(&b, rng);
    for (int k = 0; k < OUTPUTS; k++) {
        const bool wanted = tn_i_pick(rng, 0, 1);
        to[k] = wanted ? b.to[0][k] : NULL;
        const size_t bytes = (size_t)((k < 2 ? a->n : 1) + 3) * tn_i_dtype_size((int)a->dtype);
        if (wanted) memcpy(b.out[1][k], a->out[1][k], bytes);
    }
    call(f, TN_BACKEND_DEFAULT, NULL, a->from, to);
    compare(&b);
    drop_arguments(&b);
}

/* Both arrays are written over operands i and j, of which the call gets copies. */
static void over_operands(arguments *a, const tn_fn *f, int i, int j) {
    const int alias[OUTPUTS] = {i, j, -1, -1};
    const tn_compile_options o = {.size = sizeof o, .alias = alias};
    const size_t bytes = (size_t)a->n * tn_i_dtype_size((int)a->dtype);
    const void *from[INPUTS];
    memcpy(from, a->from, sizeof from);
    for (int k = 0; k < 2; k++) {
        if (alias[k] < 0) continue;
        if (bytes) memcpy(a->to[0][k], a->from[alias[k]], bytes);
        from[alias[k]] = a->to[0][k];
    }
    tn_exec *e = tn_compile(f, &o);
    if (!e) fail_msg("%s", tn_error(tn_fn_ctx(f)));
    assert_int_equal(tn_call(e, from, a->to[0]), TN_OK);
    tn_exec_free(e);
    compare(a);
}

static void one_program(tn_ctx *c, tn_dtype dtype, int64_t n, int64_t seed, bool shifts) {
    shape s = {.rng = {(uint64_t)seed}, .operations = 1, .shifts = shifts && n > 0};
    const tn_type number = tn_type_of(dtype, 0, NULL), array = tn_type_of(dtype, 1, &n);
    const tn_type type[INPUTS] = {array, array, array, array, number};
    arguments a = {.dtype = dtype, .n = n, .seed = seed};
    s.operations = tn_i_pick(&s.rng, 1, seed % 5 ? 40 : VALUES);
    s.near = tn_i_pick(&s.rng, 1, seed % 3 ? 4 : 40);
    make_arguments(&a, &s.rng);
    tn_fn *f = tn_trace_many(c, any_program, &s, INPUTS, type, OUTPUTS);
    if (!f) fail_msg("%s", tn_error(c));
    call(f, TN_BACKEND_DEFAULT, NULL, a.from, a.to[0]);
    call(f, TN_BACKEND_REFERENCE, NULL, a.from, a.to[1]);
    compare(&a);
    some_outputs(&a, f, &s.rng);
    for (int k = 0; k < 4; k++) over_operands(&a, f, k, (k + 1 + (int)(seed % 3)) % 4);
    drop_arguments(&a);
}

static void random_programs(void **unused) {
    static const int64_t length[] = {0,   1,   5,   16,   17,   63,   64,   100,  128,  129,     511,
                                     512, 513, 700, 1000, 1024, 1025, 2100, 4096, 4097, LONGEST, 9 * TN_LEAF};
    (void)unused;
    for (int64_t seed = 0; seed < 400; seed += SANITIZED ? 7 : 1) {
        tn_ctx *c = tn_ctx_new(NULL);
        assert_non_null(c);
        one_program(c, seed % 2 ? TN_F32 : TN_F64, length[(size_t)seed / 2 % COUNT(length)], seed, false);
        one_program(c, seed % 2 ? TN_F64 : TN_F32, length[(size_t)seed / 2 % COUNT(length)], seed, true);
        tn_ctx_free(c);
    }
}

/* The first result, which may be written over an operand that others have made, comes before the second one, for which
 * that operand is read early. */
static void early_readers(const tn_val *outer, tn_val *out, void *user) {
    shape *s = user;
    tn_val in[INPUTS], u[3], w, z;
    memcpy(in, outer, sizeof in);
    w = in[0] = tn_cumsum(outer[0], 0);
    for (int k = 0; k < 3; k++) u[k] = operation(&s->rng, in[0], in[tn_i_pick(&s->rng, 0, 3)], in[k + 1]);
    for (int64_t k = tn_i_pick(&s->rng, 0, 5); k >= 0; k--)
        w = operation(&s->rng, w, in[tn_i_pick(&s->rng, 1, 3)], in[tn_i_pick(&s->rng, 0, 3)]);
    out[0] = tn_cumsum(tn_add(w, in[0]), 0);
    z = u[0];
    for (int64_t k = tn_i_pick(&s->rng, 0, 5); k >= 0; k--)
        z = operation(&s->rng, z, u[tn_i_pick(&s->rng, 0, 2)], in[tn_i_pick(&s->rng, 1, 3)]);
    out[1] = tn_add(z, u[tn_i_pick(&s->rng, 0, 2)]);
    for (int k = 2; k < OUTPUTS; k++) out[k] = tn_mul(in[4], k);
}

static void written_over(void **unused) {
    static const int64_t length[] = {20, 64, 200, 700, 1000};
    (void)unused;
    for (int64_t seed = 0; seed < 500; seed++) {
        const int64_t n = length[(size_t)seed % COUNT(length)];
        const tn_dtype dtype = seed % 2 ? TN_F32 : TN_F64;
        const tn_type number = tn_type_of(dtype, 0, NULL), array = tn_type_of(dtype, 1, &n);
        const tn_type type[INPUTS] = {array, array, array, array, number};
        tn_ctx *c = tn_ctx_new(NULL);
        shape s = {.rng = {(uint64_t)seed}};
        arguments a = {.dtype = dtype, .n = n, .seed = seed};
        make_arguments(&a, &s.rng);
        tn_fn *f = tn_trace_many(c, early_readers, &s, INPUTS, type, OUTPUTS);
        if (!f) fail_msg("%s", tn_error(c));
        call(f, TN_BACKEND_REFERENCE, NULL, a.from, a.to[1]);
        over_operands(&a, f, 0, -1);
        drop_arguments(&a);
        tn_ctx_free(c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_programs), cmocka_unit_test(written_over)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
