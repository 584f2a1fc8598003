/* Chains of slice_add run as loops: the same bits, signs of zeros and NaNs included, and no kernels where slices lie
 * apart and are most of their array. */
#include "prims/prim.h"
#include "tracing.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 64 };

static tn_exec *compiled(tn_fn *f, int backend) {
    const tn_compile_options o = {.size = sizeof o, .backend = backend};
    tn_exec *e = tn_compile(f, &o);
    if (!e) fail_msg("%s", tn_error(tn_fn_ctx(f)));
    return e;
}

static void count_step(void *user, const tn_step *s) { *(int *)user += strcmp(s->primitive, "slice_add") == 0; }

static int kernels(tn_fn *f) {
    tn_exec *e = compiled(f, 0);
    int n = 0;
    assert_int_equal(tn_exec_steps(e, count_step, &n), TN_OK);
    tn_exec_free(e);
    return n;
}

static tn_fn *parsed(tn_ctx *c, const char *text) {
    tn_fn *f = tn_fn_parse(c, text, strlen(text), "slices");
    if (!f) fail_msg("%s", tn_error(c));
    return f;
}

/* Columns of an array of 20 rows, in any order; a term in between; and what stays in place. */
static void test_kernels(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int kernels;
    } cases[] = {{"{ lambda a:f64[20,1] b:f64[20,1] c:f64[20,1] . let\n"
                  "  z:f64[20,4] = broadcast_in_dim[shape=(20, 4) broadcast_dimensions=()] 0.0\n"
                  "  d:f64[20,4] = slice_add[start_indices=(0, 3) limit_indices=(20, 4)] z a\n"
                  "  e:f64[20,4] = slice_add[start_indices=(0, 2) limit_indices=(20, 3)] d b\n"
                  "  f:f64[20,4] = slice_add[start_indices=(0, 1) limit_indices=(20, 2)] e c\n"
                  "in (f,) }",
                  0},
                 {"{ lambda x:f64[20,4] a:f64[20,1] b:f64[20,1] c:f64[20,4] . let\n"
                  "  z:f64[20,4] = broadcast_in_dim[shape=(20, 4) broadcast_dimensions=()] 0.0\n"
                  "  d:f64[20,4] = slice_add[start_indices=(0, 0) limit_indices=(20, 1)] z a\n"
                  "  e:f64[20,4] = add d x\n"
                  "  f:f64[20,4] = slice_add[start_indices=(0, 2) limit_indices=(20, 3)] e b\n"
                  "in (f,) }",
                  0},
                 {"{ lambda x:f64[20,40] a:f64[20,1] b:f64[20,1] . let\n" /* a twentieth of it */
                  "  d:f64[20,40] = slice_add[start_indices=(0, 0) limit_indices=(20, 1)] x a\n"
                  "  e:f64[20,40] = slice_add[start_indices=(0, 2) limit_indices=(20, 3)] d b\n"
                  "in (e,) }",
                  2},
                 {"{ lambda x:f64[20,8] a:f64[20,2] b:f64[20,2] . let\n" /* these overlap */
                  "  d:f64[20,8] = slice_add[start_indices=(0, 0) limit_indices=(20, 2)] x a\n"
                  "  e:f64[20,8] = slice_add[start_indices=(0, 1) limit_indices=(20, 3)] d b\n"
                  "in (e,) }",
                  2}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        tn_ctx *c = checked();
        const int n = kernels(parsed(c, cases[i].text));
        if (n != cases[i].kernels) fail_msg("case %zu: %d kernels", i, n);
        tn_ctx_free(c);
    }
}

/* ---- random chains ------------------------------------------------------------------------------------------- */

/* A program as text, line by line; values are v0, v1, .. */
typedef struct text {
    tn_i_rng r;
    char s[16384];
    size_t n;
    int v;
    const char *dtype;
    int rank;
    int64_t dim[3];
} text;

static void put(text *t, const char *fmt, ...) {
    va_list a;
    va_start(a, fmt);
    t->n += (size_t)vsnprintf(t->s + t->n, sizeof t->s - t->n, fmt, a);
    va_end(a);
    assert_true(t->n < sizeof t->s);
}

static void put_dims(text *t, int axis, int64_t at) {
    for (int d = 0; d < t->rank; d++) put(t, "%s%lld", d ? "," : "", (long long)(d == axis ? at : t->dim[d]));
}

static void put_list(text *t, const char *name, int axis, int64_t at, int64_t other, bool sizes) {
    put(t, "%s=(", name);
    for (int d = 0; d < t->rank; d++)
        put(t, "%lld,%s", (long long)(d == axis ? at : sizes ? t->dim[d] : other), d + 1 < t->rank ? " " : "");
    put(t, ")");
}

/* A new value of the type of all but for its size along an axis; its number. */
static int define(text *t, int axis, int64_t size) {
    put(t, "  v%d:%s[", t->v, t->dtype);
    put_dims(t, axis, size);
    put(t, "] = ");
    return t->v++;
}

static int pick(text *t, int64_t low, int64_t high) { return (int)tn_i_pick(&t->r, low, high); }

/* Elements from .. from + size along an axis of one of the inputs, or what is computed of them. */
static int window(text *t, int axis, int64_t from, int64_t size) {
    int v = define(t, axis, size);
    put(t, "slice[");
    put_list(t, "start_indices", axis, from, 0, false);
    put(t, " ");
    put_list(t, "limit_indices", axis, from + size, 0, true);
    put(t, "] v%d\n", pick(t, 0, 2));
    if (pick(t, 0, 1)) return v;
    const int u = define(t, axis, size);
    put(t, "neg v%d\n", v);
    return u;
}

static int slice_add_at(text *t, int x, int axis, int64_t from, int64_t size) {
    const int64_t n = t->dim[axis];
    const int u = window(t, axis, from, size), v = define(t, axis, n);
    put(t, "slice_add[");
    put_list(t, "start_indices", axis, from, 0, false);
    put(t, " ");
    put_list(t, "limit_indices", axis, from + size, 0, true);
    put(t, "] v%d v%d\n", x, u);
    return v;
}

static int slice_add(text *t, int x, int axis) {
    const int64_t n = t->dim[axis], from = pick(t, 0, n - 1), most = n - from > 3 ? 3 : n - from;
    return slice_add_at(t, x, axis, from, pick(t, 1, most));
}

/* Many windows of one element each, in any order; a few of them twice. */
static int many_windows(text *t, int x) {
    const int64_t n = t->dim[0], step = 1 + 2 * pick(t, 0, 3), first = pick(t, 0, n - 1);
    for (int64_t k = 0; k < n; k++) {
        x = slice_add_at(t, x, 0, (first + k * step) % n, 1);
        if (pick(t, 0, 29) == 0) x = slice_add(t, x, 0);
    }
    return x;
}

static int add(text *t, int x, int y) {
    const int v = define(t, 0, t->dim[0]);
    put(t, "add v%d v%d\n", x, y);
    return v;
}

/* Windows are added to zeros or to an input, most of them along one axis, terms in between, and some values read twice.
 */
static void write_program(text *t) {
    static const char *const dtypes[] = {"f64", "f64", "f32", "i32"};
    t->dtype = dtypes[pick(t, 0, 3)];
    t->rank = pick(t, 1, 3);
    for (int d = 0; d < t->rank; d++) t->dim[d] = pick(t, 1, d == 1 ? 9 : 5);
    const bool many = pick(t, 0, 7) == 0;
    if (many) t->rank = 1, t->dim[0] = pick(t, 17, 40);
    put(t, "{ lambda");
    for (; t->v < 3; t->v++) {
        put(t, " v%d:%s[", t->v, t->dtype);
        put_dims(t, 0, t->dim[0]);
        put(t, "]");
    }
    put(t, " . let\n");
    const int zeros = define(t, 0, t->dim[0]);
    put(t, "broadcast_in_dim[");
    put_list(t, "shape", 0, t->dim[0], 0, true);
    put(t, " broadcast_dimensions=()] %s\n", t->dtype[0] == 'i' ? "0:i32[]" : t->dtype[1] == '3' ? "0.0:f32[]" : "0.0");
    int x = pick(t, 0, 1) ? zeros : 0, kept = x;
    const int along = pick(t, 0, t->rank - 1);
    if (many) x = many_windows(t, x);
    for (int k = many ? 0 : pick(t, 1, 8); k > 0; k--) {
        x = slice_add(t, x, pick(t, 0, 9) ? along : pick(t, 0, t->rank - 1));
        if (pick(t, 0, 4) == 0) x = pick(t, 0, 1) ? add(t, x, 1) : add(t, 2, x);
        if (pick(t, 0, 9) == 0) kept = x;
    }
    if (pick(t, 0, 2) == 0) x = add(t, x, kept);
    put(t, "in (v%d,) }", x);
}

/* Bit for bit; of NaNs, that they are. */
static bool same(const tn_type *t, const void *x, const void *y) {
    const size_t size = tn_type_bytes(t), width = t->dtype == TN_F64 ? 8 : 4;
    for (size_t i = 0; i < size; i += width) {
        const char *a = (const char *)x + i, *b = (const char *)y + i;
        if (memcmp(a, b, width) == 0) continue;
        double u, v;
        float p, q;
        memcpy(&p, a, 4), memcpy(&q, b, 4);
        if (width == 8) memcpy(&u, a, 8), memcpy(&v, b, 8);
        if (t->dtype == TN_F32 && isnan(p) && isnan(q)) continue;
        if (t->dtype == TN_F64 && isnan(u) && isnan(v)) continue;
        return false;
    }
    return true;
}

static void test_random(void **state) {
    (void)state;
    static const double specials[] = {0.0, -0.0, 1.5, -2.25, INFINITY, -INFINITY, NAN, 1e300};
    int without = 0;
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        text *t = calloc(1, sizeof *t);
        union {
            double f64[MOST * 4];
            float f32[MOST * 4];
            int32_t i32[MOST * 4];
        } in[3], out[2];
        t->r.state = seed;
        write_program(t);
        for (int k = 0; k < 3; k++)
            for (int i = 0; i < MOST * 4; i++) {
                const double x = specials[tn_i_pick(&t->r, 0, seed % 3 ? 3 : 7)];
                if (t->dtype[0] == 'i')
                    in[k].i32[i] = (int32_t)tn_i_pick(&t->r, -5, 5);
                else if (t->dtype[1] == '3')
                    in[k].f32[i] = (float)x;
                else
                    in[k].f64[i] = x;
            }
        tn_ctx *c = checked();
        tn_fn *f = parsed(c, t->s);
        const tn_type type = tn_fn_output_type(f, 0);
        assert_true(tn_type_bytes(&type) <= sizeof out[0]);
        for (int which = 0; which < 2; which++) {
            tn_exec *e = compiled(f, which ? TN_BACKEND_REFERENCE : 0);
            assert_int_equal(tn_call(e, (const void *[]){in, in + 1, in + 2}, (void *[]){&out[which]}), TN_OK);
            tn_exec_free(e);
        }
        without += kernels(f) == 0;
        if (!same(&type, &out[0], &out[1])) fail_msg("seed %llu:\n%s", (unsigned long long)seed, t->s);
        tn_ctx_free(c);
        free(t);
    }
    if (without < 500) fail_msg("only %d programs without kernels", without);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kernels), cmocka_unit_test(test_random)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
