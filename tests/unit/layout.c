/* Copies between layouts: any order of dimensions, sizes around those of tiles, every size of an element. */
#include "prims/arrays/layout.h"
#include "prims/sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

static int64_t below(uint64_t *state, int64_t n) {
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (int64_t)((*state >> 33) % (uint64_t)n);
}

/* A source whose dimensions lie in memory in any order, some of them repeated (stride 0) or with gaps. */
static int64_t strides_of(uint64_t *seed, const tn_type *t, int64_t *stride) {
    int order[TN_MAX_RANK];
    int64_t all = 1;
    for (int d = 0; d < t->rank; d++) order[d] = d;
    for (int d = t->rank; d-- > 1;) {
        const int k = (int)below(seed, d + 1), x = order[d];
        order[d] = order[k];
        order[k] = x;
    }
    for (int d = 0; d < t->rank; d++) {
        const int k = order[d];
        stride[k] = below(seed, 8) ? all : 0;
        if (stride[k]) all = all * t->dim[k] + (below(seed, 4) ? 0 : 3);
    }
    return all > 0 ? all : 1;
}

static void check(uint64_t seed) {
    static const int64_t sizes[] = {1, 2, 3, 15, 16, 17, 33, 40, 0};
    static const tn_dtype dtypes[] = {TN_BOOL, TN_F32, TN_F64};
    tn_type t = {.dtype = (int32_t)dtypes[below(&seed, 3)], .rank = (int)below(&seed, 5)};
    int64_t n = 1, at[TN_MAX_RANK] = {0};
    for (int d = 0; d < t.rank; d++)
        n *= t.dim[d] = sizes[below(&seed, n > 2000 ? 3 : d == 0 && seed % 50 == 0 ? 9 : 8)];
    tn_i_arr in = {.type = &t}, out = {.type = &t};
    const size_t size = tn_i_dtype_size(t.dtype), room = (size_t)strides_of(&seed, &t, in.stride) * size;
    unsigned char *from = malloc(room), *to = calloc((size_t)n + 1, size);
    assert_non_null(from);
    assert_non_null(to);
    for (size_t i = 0; i < room; i++) from[i] = (unsigned char)below(&seed, 256);
    in.data = from;
    out.data = to;
    tn_i_copy_array(&in, &out);
    for (int64_t i = 0; i < n; i++) {
        int64_t source = 0;
        for (int d = 0; d < t.rank; d++) source += at[d] * in.stride[d];
        assert_memory_equal(to + (size_t)i * size, from + (size_t)source * size, size);
        for (int d = t.rank; d-- > 0;) {
            if (++at[d] < t.dim[d]) break;
            at[d] = 0;
        }
    }
    for (size_t i = 0; i < size; i++) assert_int_equal(to[(size_t)n * size + i], 0);
    free(from);
    free(to);
}

static void copies(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed < 3000; seed++) check(seed);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(copies)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
