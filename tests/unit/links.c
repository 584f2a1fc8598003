/* Chains of the interpreter in whole programs: random ones of cheap operations, of more values than there are
 * registers, slots or ends, against the reference, bit for bit, at lengths around blocks, leaves and tiles. */
#include "unit/tracing.h"

#include "exec/nest.h"
#include "prims/prim.h"
#include "tansy/ops.h"

#include <stdlib.h>

enum { INPUTS = 5, OUTPUTS = 4, VALUES = 200, LONGEST = 3 * 8 * TN_LEAF + 700 };

typedef struct shape {
    tn_i_rng rng;
    int64_t operations, near; /* how far back operands are taken from */
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

/* The last input is one number.  Values near the end and some others are kept, or summed. */
static void any_program(const tn_val *in, tn_val *out, void *user) {
    shape *s = user;
    tn_val v[VALUES + INPUTS];
    int64_t n = INPUTS;
    memcpy(v, in, INPUTS * sizeof *v);
    for (int64_t i = 0; i < s->operations; i++) {
        const int64_t far = tn_i_pick(&s->rng, 0, 3) ? s->near : n;
        tn_val x[3];
        for (int k = 0; k < 3; k++) x[k] = v[tn_i_pick(&s->rng, n > far ? n - far : 0, n - 1)];
        v[n++] = operation(&s->rng, x[0], x[1], x[2]);
    }
    out[0] = tn_add(v[n - 1], in[0]);
    out[1] = tn_add(v[tn_i_pick(&s->rng, 0, n - 1)], in[0]);
    out[2] = tn_sum(tn_add(v[n - 1], in[1]));
    out[3] = tn_sum(tn_mul(in[0], v[tn_i_pick(&s->rng, INPUTS, n - 1)]));
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

static void call(const tn_fn *f, int backend, const void *const *in, void *const *out) {
    const tn_compile_options o = {.size = sizeof o, .backend = backend};
    tn_exec *e = tn_compile(f, &o);
    if (!e) fail_msg("%s", tn_error(tn_fn_ctx(f)));
    assert_int_equal(tn_call(e, in, out), TN_OK);
    tn_exec_free(e);
}

static void one_program(tn_ctx *c, tn_dtype dtype, int64_t n, int64_t seed) {
    shape s = {.rng = {(uint64_t)seed}, .operations = 1};
    const size_t size = tn_i_dtype_size((int)dtype);
    const tn_type number = tn_type_of(dtype, 0, NULL), array = tn_type_of(dtype, 1, &n);
    const tn_type type[INPUTS] = {array, array, array, array, number};
    char *in[INPUTS], *got[OUTPUTS], *want[OUTPUTS];
    const void *from[INPUTS];
    void *to[2][OUTPUTS];
    s.operations = tn_i_pick(&s.rng, 1, seed % 5 ? 40 : VALUES);
    s.near = tn_i_pick(&s.rng, 1, seed % 3 ? 4 : 40);
    for (int k = 0; k < INPUTS; k++) {
        in[k] = memory(&s.rng, dtype, k < INPUTS - 1 ? n : 1, true);
        from[k] = in[k] + (size_t)(k % 3) * size;
    }
    for (int k = 0; k < OUTPUTS; k++) {
        got[k] = memory(&s.rng, dtype, k < 2 ? n : 1, false);
        want[k] = memory(&s.rng, dtype, k < 2 ? n : 1, false);
        to[0][k] = got[k] + (size_t)((k + 1) % 3) * size;
        to[1][k] = want[k] + (size_t)((k + 1) % 3) * size;
    }
    tn_fn *f = tn_trace_many(c, any_program, &s, INPUTS, type, OUTPUTS);
    if (!f) fail_msg("%s", tn_error(c));
    call(f, TN_BACKEND_INTERPRETER, from, to[0]);
    call(f, TN_BACKEND_REFERENCE, from, to[1]);
    for (int k = 0; k < OUTPUTS; k++) same(dtype, got[k], want[k], (k < 2 ? n : 1) + 3, seed, k);
    for (int k = 0; k < INPUTS; k++) free(in[k]);
    for (int k = 0; k < OUTPUTS; k++) free(got[k]), free(want[k]);
}

static void random_programs(void **unused) {
    static const int64_t length[] = {0,   1,   5,   16,   17,   63,   64,   100,  128,  129,     511,
                                     512, 513, 700, 1000, 1024, 1025, 2100, 4096, 4097, LONGEST, 9 * TN_LEAF};
    (void)unused;
    for (int64_t seed = 0; seed < 400; seed++) {
        tn_ctx *c = tn_ctx_new(NULL);
        assert_non_null(c);
        one_program(c, seed % 2 ? TN_F32 : TN_F64, length[(size_t)seed / 2 % COUNT(length)], seed);
        tn_ctx_free(c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_programs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
