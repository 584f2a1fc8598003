/* Loop programs as machine code: what comes out is what the evaluator has, bit for bit but for which NaN, and nothing
 * is touched beside arrays, behind which there are pages that may not be.  For random programs, and for each kind of
 * loop, access and operation by itself.  Code for AVX-512 is decoded, and run where the processor has it. */
#include "amount.h"
#include "jit/jit.h"
#include "loop_random.h"
#include "vec/vec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static tn_i_strip *function(void *user, const char *name) {
    const tn_i_isa *isa = user;
    return tn_i_vec_math(name, *isa, false).strip;
}

/* ---- memory with a page behind it ------------------------------------------------------------------ */

typedef struct guarded {
    loop_memory m; /* base: those of `map` */
    char **map;
    size_t *bytes;
} guarded;

static size_t page(void) { return (size_t)sysconf(_SC_PAGESIZE); }

/* The bytes that arrays have in base b. */
static size_t extent(const tn_i_loops *p, uint32_t b) {
    size_t most = 0;
    for (uint32_t i = 0; i < p->narray; i++) {
        const tn_i_l_array *a = &p->array[i];
        const size_t end = (size_t)a->at + (size_t)a->count * tn_i_dtype_size(a->dtype);
        if (a->base == b && end > most) most = end;
    }
    return most;
}

static void guard(guarded *g, const tn_i_loops *p, const loop_memory *like) {
    g->m = (loop_memory){like->n, calloc(like->n + 1, sizeof(char *)), NULL};
    g->map = calloc(like->n + 1, sizeof(char *));
    g->bytes = calloc(like->n + 1, sizeof(size_t));
    for (uint32_t b = 0; b < like->n; b++) {
        const size_t n = extent(p, b), inside = (n / page() + 1) * page();
        g->bytes[b] = inside + 2 * page();
        const int zeros = open("/dev/zero", O_RDWR);
        char *map = mmap(NULL, g->bytes[b], PROT_NONE, MAP_PRIVATE, zeros, 0);
        (void)close(zeros);
        assert_true(map != MAP_FAILED && mprotect(map + page(), inside, PROT_READ | PROT_WRITE) == 0);
        g->map[b] = map;
        g->m.base[b] = map + page() + inside - n;
        memcpy(g->m.base[b], like->base[b], n);
    }
}

static void unguard(guarded *g) {
    for (uint32_t b = 0; b < g->m.n; b++) munmap(g->map[b], g->bytes[b]);
    free(g->m.base);
    free(g->map);
    free(g->bytes);
}

/* ---- the law ----------------------------------------------------------------------------------------- */

static void show(tn_ctx *c, const tn_i_loops *p, const char *what) {
    size_t n;
    char *text = tn_i_l_print(p, &n);
    fprintf(stderr, "%s\n%s\n", what, text ? text : tn_error(c));
    tn_text_free(c, text);
}

static bool bounds; /* is every access looked at */

static bool agrees(tn_ctx *c, const tn_i_loops *p, tn_i_isa isa, const loop_memory *start, bool *compiled) {
    static const tn_i_l_run nobody = {0};
    tn_i_code code;
    tn_i_jit pages;
    tn_i_jit_label at;
    char why[TN_JIT_WHY];
    loop_memory want;
    guarded got;
    uint32_t array = 0;
    int64_t element = 0;
    const tn_i_l_eval_options o = {.function = function, .user = &isa};
    tn_i_code_begin(&code, c, isa);
    const tn_i_jit_options options = {.bounds = bounds};
    const tn_i_jit_result r = tn_i_jit_compile(&code, p, &options, &at, why);
    *compiled = r == TN_JIT_OK;
    if (r == TN_JIT_NONE) {
        if (getenv("JIT_SHOW")) print_error("not compiled: %s\n", why), show(c, p, "");
        tn_i_code_drop(&code);
        return true;
    }
    if (r == TN_JIT_ERROR) show(c, p, tn_error(c));
    assert_int_equal(r, TN_JIT_OK);
    assert_int_equal(tn_i_jit_seal(&code, &pages, why), TN_JIT_OK);
    tn_i_l_compiled *f = tn_i_jit_program(&pages, &code, at);
    tn_i_code_drop(&code);
    assert_true(loop_memory_like(&want, start));
    guard(&got, p, start);
    assert_int_equal(tn_i_l_eval(p, want.base, &o), TN_OK);
    assert_int_equal(f(&nobody, got.m.base), TN_OK);
    const bool same = loop_memory_same(p, &want, &got.m, &array, &element);
    if (!same) {
        char what[200];
        const tn_i_l_array *a = &p->array[array];
        uint64_t w = 0, g = 0;
        const size_t size = tn_i_dtype_size(a->dtype), to = (size_t)a->at + (size_t)element * size;
        memcpy(&w, want.base[a->base] + to, size);
        memcpy(&g, got.m.base[a->base] + to, size);
        snprintf(what, sizeof what, "%s[%lld]: %llx, not %llx", a->name, (long long)element, (unsigned long long)g,
                 (unsigned long long)w);
        show(c, p, what);
        for (uint32_t i = 0; getenv("JIT_SHOW") && i < p->narray; i++) {
            const tn_i_l_array *b = &p->array[i];
            const size_t bytes = tn_i_dtype_size(b->dtype);
            w = 0;
            if (b->role == TN_L_CONST || element >= b->count) continue;
            memcpy(&w, want.base[b->base] + (size_t)b->at + (size_t)element * bytes, bytes);
            fprintf(stderr, "%s[%lld] = %llx\n", b->name, (long long)element, (unsigned long long)w);
        }
    }
    unguard(&got);
    loop_memory_free(&want);
    tn_i_jit_drop(c, &pages);
    return same;
}

static void random_programs(tn_i_isa isa, unsigned what, uint64_t from, uint64_t n) {
    unsigned refused = 0;
    for (uint64_t seed = from; seed < from + n; seed++) {
        tn_ctx *c = tn_ctx_new(NULL);
        tn_i_rng r = {seed * 7919 + what}, s = {seed};
        loop_memory start;
        bool compiled;
        bounds = seed % 4 == 0;
        if (getenv("JIT_SHOW")) print_error("seed %llu\n", (unsigned long long)seed);
        tn_i_loops *p = loop_random(c, &r, what);
        assert_non_null(p);
        assert_true(loop_memory_new(&start, p, &s));
        if (!agrees(c, p, isa, &start, &compiled)) fail_msg("seed %llu, what %u", (unsigned long long)seed, what);
        refused += !compiled;
        loop_memory_free(&start);
        tn_i_l_free(p);
        tn_ctx_free(c);
    }
    if (refused) fail_msg("%u of %u programs are not compiled", refused, (unsigned)n);
}

/* ---- each operation, of each dtype, in vectors of each width, with each number of elements ------------------ */

static const uint8_t dtypes[] = {TN_BOOL, TN_I32, TN_I64, TN_F32, TN_F64, TN_U32, TN_I8,
                                 TN_I16,  TN_U8,  TN_U16, TN_U64, TN_F16, TN_BF16};

/* Which NaN it is nobody says. */
static uint32_t no_nan(tn_i_l_builder *b, int dtype, uint32_t x) {
    if (!tn_i_is_float(dtype)) return x;
    const uint32_t p = tn_i_l_map(b, TN_L_eq, x, x, TN_L_NONE);
    return tn_i_l_map(b, TN_L_select, p, x, tn_i_l_number(b, dtype, 0));
}

typedef struct maker {
    tn_i_l_builder b;
    uint32_t in[3][TN_NDTYPES], mask, count, loop, bases;
    int64_t stride;
    int indexed; /* by numbers of this dtype, or 0 */
} maker;

enum { MOST = 71, STRIDES = 3 };

static void arrays(maker *m) {
    uint32_t base = 0;
    const int64_t far = MOST * STRIDES;
    memset(m->in, 0xff, sizeof m->in);
    m->mask = tn_i_l_array_new(&m->b, "mask", TN_BOOL, TN_L_IN, far, base++, 0, 0);
    m->count = tn_i_l_array_new(&m->b, "count", TN_I64, TN_L_IN, 1, base++, 0, 0);
    m->bases = base;
}

/* Made where it is read: what is there is filled with random numbers. */
static uint32_t input(maker *m, int i, int dtype) {
    static const char *const names[3] = {"x", "y", "z"};
    if (m->in[i][dtype] == TN_L_NONE)
        m->in[i][dtype] = tn_i_l_array_new(&m->b, names[i], dtype, TN_L_IN, MOST * STRIDES, m->bases++, 0, 0);
    return m->in[i][dtype];
}

/* n iterations: known, or read from memory; in vectors, or one by one. */
static void open_loop(maker *m, int width, int64_t n, bool known) {
    if (known)
        m->loop = tn_i_l_for_n(&m->b, n);
    else
        m->loop = tn_i_l_for_up_to(&m->b, MOST, tn_i_affine_number(0),
                                   tn_i_l_load_at(&m->b, m->count, tn_i_affine_number(0)));
    if (width) tn_i_l_set_vector(&m->b, m->loop, width);
}

static tn_i_affine at(const maker *m) {
    const int64_t by = m->stride;
    return tn_i_affine_loop(m->loop, by, by < 0 ? -by * (MOST - 1) : by == 0 ? 5 : 0);
}

static uint32_t operand(maker *m, int i, int dtype, bool masked) {
    tn_i_l_where w = {.array = input(m, i, dtype), .e = at(m), .masked = masked};
    if (masked) {
        w.mask = tn_i_l_load_at(&m->b, m->mask, at(m));
        w.otherwise = tn_i_l_load_at(&m->b, input(m, 2, dtype), tn_i_affine_number(3));
    }
    if (m->indexed && i < 2) {
        w.indexed = true;
        w.index = tn_i_l_load_at(&m->b, input(m, i, m->indexed), at(m));
        w.by = i == 0 ? 1 : -3;
        w.last = 40;
        if (i) w.e.at += 120;
    }
    return tn_i_l_load(&m->b, &w);
}

/* Into memory of the dtype, if that holds such numbers. */
static void result(maker *m, uint32_t x, int memory, bool masked) {
    const int64_t by = m->stride ? m->stride : 1;
    const int own = m->b.p->op[x].dtype, dtype = tn_i_holder(memory) == own ? memory : own;
    tn_i_l_where w = {.masked = masked};
    w.array = tn_i_l_array_new(&m->b, "out", dtype, TN_L_INOUT, MOST * STRIDES, m->bases++, 0, 0);
    w.e = tn_i_affine_loop(m->loop, by, by < 0 ? -by * (MOST - 1) : 0);
    if (masked) w.mask = tn_i_l_load_at(&m->b, m->mask, tn_i_affine_loop(m->loop, 1, 2));
    tn_i_l_store(&m->b, &w, x);
}

static void fill(tn_ctx *c, const tn_i_loops *p, int64_t n, tn_i_isa isa, uint64_t seed) {
    tn_i_rng r = {seed};
    loop_memory start;
    bool compiled;
    assert_true(loop_memory_new(&start, p, &r));
    for (uint32_t i = 0; i < p->narray; i++)
        if (strcmp(p->array[i].name, "count") == 0) memcpy(start.base[p->array[i].base], &n, 8);
    if (!agrees(c, p, isa, &start, &compiled)) fail_msg("n = %lld", (long long)n);
    assert_true(compiled);
    loop_memory_free(&start);
}

/* All operations of a dtype that go well with each other, in one loop. */
static void operations(maker *m, int memory, bool masked) {
    const int dtype = tn_i_holder(memory);
    const uint32_t x = operand(m, 0, memory, masked), y = operand(m, 1, memory, false),
                   z = operand(m, 2, memory, masked);
    const uint32_t p = operand(m, 1, TN_BOOL, false);
    for (int code = 0; code < TN_L_fn; code++) {
        const tn_i_l_row *row = &tn_i_l_rows[code];
        if (!(row->dtypes >> dtype & 1) || code == TN_L_bits || code == TN_L_convert) continue;
        const bool choice = code == TN_L_select;
        result(m,
               tn_i_l_map(&m->b, (tn_i_l_code)code,
                          choice                 ? p
                          : code == TN_L_signbit ? no_nan(&m->b, dtype, x)
                                                 : x,
                          choice ? x : y, choice ? y : z),
               memory, masked);
    }
    for (unsigned d = 0; d < TN_I_OWN_DTYPES; d++)
        if (d == TN_U32 ? !tn_i_is_float(dtype) : dtype != TN_U32 || !tn_i_is_float((int)d))
            result(m, tn_i_l_convert(&m->b, (int)d, x), memory, masked);
}

static void each_operation(tn_i_isa isa, int dtype, int width, int64_t stride, int64_t n, bool known, bool masked) {
    tn_ctx *c = tn_ctx_new(NULL);
    maker *m = calloc(1, sizeof *m);
    tn_i_l_begin(&m->b, c);
    m->stride = stride;
    if (stride >= -1 && stride <= 1 && n % 3 == 0) m->indexed = n & 1 ? TN_I32 : TN_I64;
    arrays(m);
    open_loop(m, width, n, known);
    operations(m, dtype, masked);
    tn_i_l_close(&m->b);
    tn_i_loops *p = tn_i_l_end(&m->b);
    if (!p) fail_msg("%s", tn_error(c));
    fill(c, p, n, isa, (uint64_t)(n * 31 + width));
    tn_i_l_free(p);
    free(m);
    tn_ctx_free(c);
}

static void test_operations(void **state) {
    static const int widths[] = {0, 2, 4, 8, 16, 32, 64};
    (void)state;
    const tn_i_isa isa = tn_i_isa_best();
    if (isa < TN_ISA_AVX2) skip();
    for (unsigned d = 0; d < sizeof dtypes; d++)
        for (unsigned i = 0; i < 7; i++)
            for (int64_t n = 0; n < MOST; n += n < 20 || n > 60 ? 1 : 7)
                for (unsigned k = 0; k < 4; k++) {
                    if (!in_share(d + i + (size_t)n + k, 8)) continue;
                    const int64_t strides[] = {1, 1, -1, n % 7 - 3};
                    each_operation(isa, dtypes[d], widths[i], strides[k], n, (n + k) & 1, k == 1 || n % 5 == 0);
                }
}

/* ---- columns side by side ------------------------------------------------------------------------------- */

/* Loads and stores of columns of one array of rows in any order, among them the same one twice, what was just stored,
 * and stores where a mask says so: an iteration has its row for itself, within which the order counts. */
static void columns(tn_i_isa isa, int dtype, int width, int64_t n, bool known, uint64_t seed) {
    tn_ctx *c = tn_ctx_new(NULL);
    tn_i_rng r = {seed};
    maker *m = calloc(1, sizeof *m);
    const int64_t row = tn_i_pick(&r, 2, 9), steps = tn_i_pick(&r, 4, 30);
    tn_i_l_begin(&m->b, c);
    arrays(m);
    const uint32_t x = tn_i_l_array_new(&m->b, "x", dtype, TN_L_INOUT, MOST * row, m->bases++, 0, 0);
    open_loop(m, width, n, known);
    uint32_t value[32], values = 0, mask = TN_L_NONE;
    value[values++] = tn_i_l_load_at(&m->b, input(m, 0, dtype), tn_i_affine_loop(m->loop, 1, 0));
    mask = tn_i_l_load_at(&m->b, m->mask, tn_i_affine_loop(m->loop, 1, 0));
    for (int64_t k = 0; k < steps; k++) {
        const int64_t column = tn_i_pick(&r, 0, 2) ? k % row : tn_i_pick(&r, 0, row - 1);
        const tn_i_affine e = tn_i_affine_loop(m->loop, row, column);
        const uint32_t v = value[tn_i_pick(&r, 0, values - 1)];
        tn_i_l_where w = {.array = x, .e = e, .masked = tn_i_pick(&r, 0, 9) == 0, .mask = mask};
        const bool runs = seed % 3 == 0; /* all that is loaded is loaded first */
        if (runs ? k < steps / 2 : tn_i_pick(&r, 0, 1))
            value[values++] = tn_i_l_map(&m->b, TN_L_add, tn_i_l_load_at(&m->b, x, e), v, TN_L_NONE);
        else
            tn_i_l_store(&m->b, &w, v);
    }
    tn_i_l_close(&m->b);
    tn_i_loops *p = tn_i_l_end(&m->b);
    if (!p) fail_msg("%s", tn_error(c));
    bounds = seed % 16 == 0;
    fill(c, p, n, isa, seed);
    bounds = false;
    tn_i_l_free(p);
    free(m);
    tn_ctx_free(c);
}

static void test_columns(void **state) {
    static const int widths[] = {0, 2, 4, 8, 16, 32, 64};
    (void)state;
    if (tn_i_isa_best() < TN_ISA_AVX2) skip();
    for (int isa = TN_ISA_AVX2; isa <= (int)tn_i_isa_best(); isa++)
        for (unsigned d = 0; d < sizeof dtypes; d++)
            for (unsigned i = 0; i < 7 && dtypes[d] != TN_BOOL; i++)
                for (int64_t n = 0; n < 42; n++)
                    for (uint64_t k = 0; k < 4; k++)
                        if (in_share((size_t)isa + d + i + (size_t)n + k, 8))
                            columns((tn_i_isa)isa, dtypes[d], widths[i], n, k & 1, k + 4 * (uint64_t)n + 1000 * i);
}

/* ---- bounds -------------------------------------------------------------------------------------------------- */

/* Whether this program, which no checker saw, is stopped before it touches what is not its own. */
static bool stopped(const char *text) {
    tn_ctx *c = tn_ctx_new(NULL);
    tn_i_code code;
    tn_i_jit pages;
    tn_i_jit_label at;
    char why[TN_JIT_WHY];
    static const tn_i_l_run nobody = {0};
    static _Alignas(64) double memory[64];
    char *base[] = {(char *)memory};
    tn_i_loops *p = tn_i_l_parse(c, text, strlen(text), "text", NULL, 0);
    if (!p) fail_msg("%s", tn_error(c));
    tn_i_code_begin(&code, c, tn_i_isa_best());
    assert_int_equal(tn_i_jit_compile(&code, p, &(tn_i_jit_options){.bounds = true}, &at, why), TN_JIT_OK);
    assert_int_equal(tn_i_jit_seal(&code, &pages, why), TN_JIT_OK);
    (void)fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        (void)signal(SIGILL, SIG_DFL);
        (void)tn_i_jit_program(&pages, &code, at)(&nobody, base);
        _exit(0);
    }
    int status = 0;
    assert_true(waitpid(child, &status, 0) == child);
    tn_i_code_drop(&code);
    tn_i_jit_drop(c, &pages);
    tn_i_l_free(p);
    tn_ctx_free(c);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGILL;
}

static void test_bounds(void **state) {
    static const char head[] = "loop {\narray x: f64[10] inout base 0 at 16\n";
    static const char *const fine[] = {"for i < 10 {\nv: f64 = load x[i]\nstore x[-i + 9] = v\n}\n",
                                       "for i < 10 vector 8 {\nv: f64 = load x[i]\nstore x[i] = v\n}\n",
                                       "for i < 5 vector 4 {\nv: f64 = load x[2 i]\nstore x[2 i + 1] = v\n}\n"};
    static const char *const wrong[] = {"for i < 11 {\nv: f64 = load x[i]\nstore x[0] = v\n}\n",
                                        "v: f64 = load x[-1]\nstore x[0] = v\n",
                                        "for i < 11 vector 8 {\nv: f64 = load x[i]\nstore x[0] = v\n}\n",
                                        "for i < 10 vector 8 {\nv: f64 = load x[i + 1]\nstore x[i] = v\n}\n",
                                        "for i < 8 vector 8 {\nv: f64 = load x[i]\nstore x[-i + 6] = v\n}\n"};
    char text[400];
    (void)state;
    if (tn_i_isa_best() < TN_ISA_AVX2) skip();
    for (unsigned i = 0; i < sizeof fine / sizeof *fine; i++) {
        (void)snprintf(text, sizeof text, "%s%s}", head, fine[i]);
        if (stopped(text)) fail_msg("%s", text);
    }
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        (void)snprintf(text, sizeof text, "%s%s}", head, wrong[i]);
        if (!stopped(text)) fail_msg("%s", text);
    }
}

/* ---- without memory ---------------------------------------------------------------------------------------- */

typedef struct purse {
    bool counts;
    uint64_t left;
} purse;

static void *sparing(void *user, void *p, size_t old, size_t n) {
    purse *z = user;
    (void)old;
    if (n == 0) return free(p), NULL;
    if (z->counts && z->left-- == 0) return z->left = 0, NULL;
    return realloc(p, n);
}

/* Each allocation fails once: that is an error, and nothing else. */
static void test_no_memory(void **state) {
    (void)state;
    purse z = {0};
    tn_ctx_options o = {.size = sizeof o, .realloc = sparing, .user = &z};
    tn_ctx *c = tn_ctx_new(&o);
    assert_non_null(c);
    c->tight = true;
    for (uint64_t seed = 1; seed < 6; seed++) {
        tn_i_rng r = {seed * 104729};
        tn_i_loops *p = loop_random(c, &r, LOOP_ALL);
        assert_non_null(p);
        const size_t before = tn_ctx_bytes(c);
        tn_i_jit_result result = TN_JIT_ERROR;
        for (uint64_t k = 0; result != TN_JIT_OK; k += 1 + k / 40) {
            tn_i_code code;
            tn_i_jit_label at;
            char why[TN_JIT_WHY];
            z = (purse){true, k};
            tn_i_code_begin(&code, c, TN_ISA_AVX2);
            result = tn_i_jit_compile(&code, p, NULL, &at, why);
            z.counts = false;
            if (result == TN_JIT_ERROR) assert_int_equal(tn_last_status(c), TN_ENOMEM);
            assert_int_not_equal(result, TN_JIT_NONE);
            tn_i_code_drop(&code);
            assert_int_equal(tn_ctx_bytes(c), before);
        }
        tn_i_l_free(p);
    }
    tn_ctx_free(c);
}

/* ---- code that this processor may not have -------------------------------------------------------------- */

/* Adds the code of n random programs to a buffer for AVX-512; what it is made of objdump knows. */
static void decoded(unsigned what, uint64_t from, uint64_t n) {
    char path[] = "/tmp/tansy_jit_XXXXXX", command[200], line[256];
    tn_ctx *c = tn_ctx_new(NULL);
    tn_i_code code;
    char why[TN_JIT_WHY];
    tn_i_code_begin(&code, c, TN_ISA_AVX512);
    for (uint64_t seed = from; seed < from + n; seed++) {
        tn_i_rng r = {seed * 7919 + what};
        tn_i_jit_label at;
        tn_i_loops *p = loop_random(c, &r, what);
        assert_non_null(p);
        const tn_i_jit_result result = tn_i_jit_compile(&code, p, NULL, &at, why);
        if (result == TN_JIT_ERROR) show(c, p, tn_error(c));
        assert_int_not_equal(result, TN_JIT_ERROR);
        tn_i_l_free(p);
    }
    assert_true(tn_i_code_finish(&code));
    const int file = mkstemp(path);
    assert_true(file >= 0 && write(file, code.text, code.length) == (ssize_t)code.length);
    (void)snprintf(command, sizeof command, "objdump -D -b binary -m i386:x86-64 %s 2>/dev/null", path);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    unsigned lines = 0;
    while (fgets(line, sizeof line, f)) {
        lines++;
        if (strstr(line, "(bad)") || strstr(line, "{bad}")) fail_msg("%s", line);
    }
    (void)pclose(f);
    (void)close(file);
    (void)unlink(path);
    if (lines < n) (void)fprintf(stderr, "SKIPPED: there is no objdump\n");
    tn_i_code_drop(&code);
    tn_ctx_free(c);
}

static const char *number_of(const char *name, const char *otherwise) {
    const char *x = getenv(name);
    return x ? x : otherwise;
}

static void test_random(void **state) {
    static const unsigned kinds[] = {0,
                                     LOOP_CARRIES,
                                     LOOP_BRANCHES,
                                     LOOP_VECTORS,
                                     LOOP_VECTORS | LOOP_CARRIES,
                                     LOOP_CALLS | LOOP_PARALLEL,
                                     LOOP_REDUCTIONS,
                                     LOOP_FUNCTIONS | LOOP_VECTORS,
                                     LOOP_ALL};
    (void)state;
    const uint64_t from = (uint64_t)atoll(number_of("JIT_FROM", "1")), n = (uint64_t)atoll(number_of("JIT_N", "150"));
    const char *only = getenv("JIT_KIND");
    if (tn_i_isa_best() < TN_ISA_AVX2) skip();
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!only || atoi(only) == (int)i) random_programs(TN_ISA_AVX2, kinds[i], from, n);
    if (tn_i_isa_best() == TN_ISA_AVX512)
        for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) random_programs(TN_ISA_AVX512, kinds[i], from, n);
}

static void test_decoded(void **state) {
    (void)state;
    const uint64_t from = (uint64_t)atoll(number_of("JIT_FROM", "1")), n = (uint64_t)atoll(number_of("JIT_N", "150"));
    decoded(LOOP_VECTORS | LOOP_CARRIES, from, n);
    decoded(LOOP_ALL, from, n);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_operations), cmocka_unit_test(test_columns),
                                       cmocka_unit_test(test_no_memory),  cmocka_unit_test(test_bounds),
                                       cmocka_unit_test(test_random),     cmocka_unit_test(test_decoded)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
