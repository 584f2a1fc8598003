/* Many windows placed by index vectors of several entries (opt/flat_indices.c): the reference's bits for gather and
 * each scatter, with indices outside and indices that meet, whichever of the first dimensions which entry is of,
 * elements and rows; and gathers of elements are no kernel's. */
#include "prims/prim.h"
#include "tracing.h"

#include <stdarg.h>
#include <stdio.h>

enum { WINDOWS = 600, ELEMENTS = 6 * 7 * 5 * 3, OUT = WINDOWS * 3 /* the larger one */ };

static const char *const kinds[] = {"gather", "scatter", "scatter_add", "scatter_mul", "scatter_min", "scatter_max"};
static const char *const dtypes[] = {"f64", "f32", "i32"};
static const int numbers[] = {TN_F64, TN_F32, TN_I32};

typedef struct how {
    int kind, m, trailing, order; /* m: entries; trailing: a dimension behind; order: of the entries */
    int wide, clip, whole, dtype; /* whole: windows have all dimensions */
    int filled;                   /* the array is one number, everywhere */
} how;

typedef struct text {
    char s[1024];
    size_t n;
} text;

#ifdef __GNUC__
__attribute__((format(printf, 2, 3)))
#endif
static void
add(text *t, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    const int n = vsnprintf(t->s + t->n, sizeof t->s - t->n, fmt, ap);
    va_end(ap);
    assert_in_range(n, 0, sizeof t->s - t->n - 1);
    t->n += (size_t)n;
}

static void list(text *t, const char *name, const int *v, int n) {
    add(t, "%s=(", name);
    for (int i = 0; i < n; i++) add(t, "%d, ", v[i]);
    add(t, "), ");
}

static void write_program(const how *h, text *t) {
    static const int dim[] = {6, 7, 5}, dims[] = {0, 1, 2}, back[] = {2, 1, 0}, last[] = {2, 3, 4, 5};
    const char *type = dtypes[h->dtype], *is = h->kind ? "Scatter" : "Gather";
    const int *order = h->order == 0 ? dims : &back[3 - h->m];
    const int inside = h->whole ? h->m : 0;
    text x = {.n = 0}, u = {.n = 0}, sizes = {.n = 0}, shape = {.n = 0};
    add(&x, "%s[", type);
    for (int i = 0; i < h->m; i++) add(&shape, "%s%d", i ? "," : "", dim[i]);
    add(&shape, "%s", h->trailing ? ",3" : "");
    add(&x, "%s]", shape.s);
    add(&u, "%s[%d,%d", type, WINDOWS / 10, 10);
    for (int i = 0; i < inside; i++) add(&u, ",1");
    add(&u, "%s]", h->trailing ? ",3" : "");
    for (int i = 0; i < h->m; i++) add(&sizes, "1, ");
    add(t, "{ lambda x:%s k:%s[%d,%d,%d] u:%s . let ", x.s, h->wide ? "i64" : "i32", WINDOWS / 10, 10, h->m, u.s);
    if (h->filled) add(t, "z:%s = broadcast_in_dim[shape=(%s,) broadcast_dimensions=()] 2:%s[] ", x.s, shape.s, type);
    add(t, "y:%s = %s[dimension_numbers=%sDimensionNumbers(", h->kind ? x.s : u.s, kinds[h->kind], is);
    list(t, h->kind ? "update_window_dims" : "offset_dims", last, h->trailing + inside);
    list(t, h->kind ? "inserted_window_dims" : "collapsed_slice_dims", dims, h->m - inside);
    list(t, h->kind ? "scatter_dims_to_operand_dims" : "start_index_map", order, h->m);
    add(t, "operand_batching_dims=(), %s_indices_batching_dims=())", h->kind ? "scatter" : "start");
    if (!h->kind) add(t, " slice_sizes=(%s%s)", sizes.s, h->trailing ? "3, " : "");
    add(t, " mode=%s] %s k%s in (y) }",
        h->clip   ? "clip"
        : h->kind ? "drop"
                  : "fill",
        h->filled ? "z" : "x", h->kind ? " u" : "");
}

static void count_kernels(void *user, const tn_step *s) {
    *(int *)user += strcmp(s->runner, "library") == 0 || strcmp(s->runner, "strips") == 0;
}

static void fill(const how *h, void *x, int n, int by) {
    const size_t size = tn_i_dtype_size(numbers[h->dtype]);
    for (int i = 0; i < n; i++) tn_i_element_set(numbers[h->dtype], (char *)x + (size_t)i * size, i * by % 11 - 4);
}

static void compare(tn_ctx *c, const how *h) {
    static uint64_t x[ELEMENTS], u[OUT], y[2][OUT];
    static int64_t wide[3 * WINDOWS];
    static int32_t narrow[3 * WINDOWS];
    text t = {.n = 0};
    write_program(h, &t);
    tn_fn *f = tn_fn_parse(c, t.s, t.n, "test.tn");
    if (!f) fail_msg("%s\n%s", t.s, tn_error(c));
    fill(h, x, ELEMENTS, 7);
    fill(h, u, OUT, 5);
    memset(y, 0x55, sizeof y);
    for (int i = 0; i < h->m * WINDOWS; i++) wide[i] = narrow[i] = i * 37 % 19 % 11 - 2; /* some are outside */
    wide[5] = h->wide ? INT64_MIN : 0;
    wide[9] = INT64_MAX;
    narrow[5] = INT32_MIN;
    narrow[9] = INT32_MAX;
    for (int which = 0; which < 2; which++) {
        const tn_compile_options o = {.size = sizeof o, .backend = which ? TN_BACKEND_REFERENCE : TN_BACKEND_DEFAULT};
        tn_exec *e = tn_compile(f, &o);
        int others = 0;
        if (!e) fail_msg("%s\n%s", t.s, tn_error(c));
        assert_int_equal(tn_call(e, (const void *[]){x, h->wide ? (void *)wide : narrow, u}, (void *[]){y[which]}),
                         TN_OK);
        assert_int_equal(tn_exec_steps(e, count_kernels, &others), TN_OK);
        if (!which && tn_exec_backend(e, NULL) == TN_BACKEND_ASSEMBLER && !h->kind && !h->trailing && !h->filled &&
            others)
            fail_msg("a kernel gathers elements:\n%s", t.s);
        tn_exec_free(e);
    }
    if (memcmp(y[0], y[1], sizeof y[0]) != 0) fail_msg("other bits:\n%s", t.s);
    tn_fn_free(f);
}

static void test_all(void **state) {
    (void)state;
    tn_ctx *c = checked();
    for (int kind = 0; kind < (int)COUNT(kinds); kind++)
        for (int bits = 0; bits < 192; bits++)
            for (int dtype = 0; dtype < (int)COUNT(dtypes); dtype++)
                compare(c, &(how){.kind = kind,
                                  .m = 1 + bits % 3,
                                  .trailing = bits / 3 & 1,
                                  .order = bits / 3 >> 1 & 1,
                                  .wide = bits / 3 >> 2 & 1,
                                  .clip = bits / 3 >> 3 & 1,
                                  .whole = bits / 3 >> 4 & 1,
                                  .filled = bits / 3 >> 5 & 1,
                                  .dtype = dtype});
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
