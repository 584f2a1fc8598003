/* Loops whose steps scatter, gather, or read and write at an index are one loop program, and have the reference's bits:
 * indices that meet, and that are outside; arrays of one element and of more than a vector; rows and elements. */
#include "prims/prim.h"
#include "tracing.h"

typedef enum kind { ADD, SET, MUL, MIN, MAX, TAKE, READ, WRITE, KINDS } kind;

enum { ELEMENTS = 600, STEPS = 5 };

typedef struct how {
    kind kind;
    tn_dtype dtype;
    int64_t n, m, d; /* rows of the array, of what is put there, elements of a row; 0: elements, not rows */
} how;

static tn_val put(const how *h, tn_val x, tn_val i, tn_val u) {
    switch (h->kind) {
    case ADD: return tn_at_add(x, i, u, 0);
    case SET: return tn_at_set(x, i, u, 0);
    case MUL: return tn_at_mul(x, i, u, 0);
    case MIN: return tn_at_min(x, i, u, 0);
    default: return tn_at_max(x, i, u, 0);
    }
}

/* A row, or an element, at the step's own index. */
static tn_val start(const how *h, tn_val x, tn_val i, tn_val u) {
    const tn_val at = tn_at(i, 0), zero = tn_mul(at, 0);
    const tn_val_list starts = h->d ? tn_vals(at, zero) : tn_vals(at);
    if (h->kind == WRITE) return tn_dynamic_update_slice(x, tn_slice_axis(u, 0, 1, 1, 0), starts);
    const tn_val row = tn_dynamic_slice(x, starts, h->d ? tn_ints(1, h->d) : tn_ints(1));
    return tn_add(x, row);
}

static void step(const tn_val *carry, const tn_val *xs, tn_val *next, tn_val *ys, void *user) {
    const how *h = user;
    const tn_val i = tn_add(carry[1], xs[0]); /* some are outside, and other ones in each step */
    (void)ys;
    next[1] = carry[1];
    next[2] = tn_add(carry[2], carry[2]);
    if (h->kind == READ || h->kind == WRITE)
        next[0] = start(h, carry[0], i, next[2]);
    else if (h->kind == TAKE)
        next[0] = tn_add(carry[0], tn_sum_axis(tn_take(carry[0], i, 0, TN_CLIP_INDICES), 0));
    else
        next[0] = put(h, carry[0], i, next[2]);
}

static tn_val loop(const tn_val *in, void *user) {
    const how *h = user;
    const tn_val init[3] = {in[0], in[1], in[2]}, xs = tn_arange(tn_val_ctx(in[0]), TN_I32, STEPS);
    tn_val last[3];
    (void)h;
    tn_scan(tn_val_ctx(in[0]), step, user, .ncarry = 3, .init = init, .nx = 1, .xs = &xs, .carry = last);
    return last[0];
}

/* Of the loop, which has no steps to tell where it is one program. */
static void count_kernels(void *user, const tn_step *s) {
    *(int *)user += strcmp(s->primitive, "scan") == 0 && strcmp(s->runner, "library") == 0;
}

static void compare(const how *h) {
    static uint64_t x[ELEMENTS], u[ELEMENTS], y[2][ELEMENTS];
    static int32_t at[ELEMENTS];
    tn_ctx *c = checked();
    const tn_type array = {.dtype = (int32_t)h->dtype, .rank = h->d ? 2 : 1, .dim = {h->n, h->d}};
    tn_type given = array;
    given.dim[0] = h->m;
    tn_fn *f = tn_trace(c, loop, (void *)(uintptr_t)h, 3, TN_TYPES(array, tn_i32(h->m), given));
    if (!f) fail_msg("kind %d: %s", h->kind, tn_error(c));
    for (int k = 0; k < ELEMENTS; k++) {
        tn_i_element_set((int)h->dtype, (char *)x + (size_t)k * tn_i_dtype_size((int)h->dtype), k % 7 - 2);
        tn_i_element_set((int)h->dtype, (char *)u + (size_t)k * tn_i_dtype_size((int)h->dtype), k % 5 + 1);
        at[k] = (int32_t)(k * 7 % (h->n + 4)) - 3;
    }
    for (int which = 0; which < 2; which++) {
        const tn_compile_options o = {.size = sizeof o, .backend = which ? TN_BACKEND_REFERENCE : TN_BACKEND_DEFAULT};
        tn_exec *e = tn_compile(f, &o);
        int kernels = 0;
        if (!e) fail_msg("%s", tn_error(c));
        assert_int_equal(tn_call(e, (const void *[]){x, at, u}, (void *[]){y[which]}), TN_OK);
        assert_int_equal(tn_exec_steps(e, count_kernels, &kernels), TN_OK);
        if (!which && kernels) fail_msg("kind %d, %lld: the loop goes step by step", h->kind, (long long)h->n);
        tn_exec_free(e);
    }
    if (memcmp(y[0], y[1], tn_type_bytes(&array)) != 0)
        fail_msg("kind %d, dtype %d, %lld, %lld, %lld", h->kind, (int)h->dtype, (long long)h->n, (long long)h->m,
                 (long long)h->d);
    tn_ctx_free(c);
}

static void test_loops(void **state) {
    static const tn_dtype dtypes[] = {TN_F32, TN_F64, TN_I32, TN_I64};
    static const int64_t rows[] = {1, 2, 7, 65}, row[] = {0, 1, 3, 9};
    (void)state;
    for (int k = 0; k < KINDS; k++)
        for (size_t t = 0; t < COUNT(dtypes); t++)
            for (size_t n = 0; n < COUNT(rows); n++)
                for (size_t m = 0; m < COUNT(rows); m++)
                    for (size_t d = 0; d < COUNT(row); d++)
                        compare(&(how){(kind)k, dtypes[t], rows[n], rows[m], row[d]});
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_loops)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
