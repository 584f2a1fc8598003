/* Loop programs as machine code: what comes out is what the evaluator has, bit for bit but for which NaN, and nothing
 * is touched beside arrays, behind which there are pages that may not be.  For random programs, and for each kind of
 * loop, access and operation by itself.  Code for AVX-512 is decoded, and run where the processor has it. */
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
#include <sys/mman.h>
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
        char *map = mmap(NULL, g->bytes[b], PROT_NONE, MAP_PRIVATE | 0x20, -1, 0);
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

static void show_code(const tn_i_jit *j) {
    FILE *f = fopen("/tmp/jit_walk.bin", "wb");
    if (!f) return;
    fwrite(j->base, 1, j->bytes, f);
    fclose(f);
}

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
    const tn_i_jit_result r = tn_i_jit_compile(&code, p, NULL, &at, why);
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
    if (getenv("JIT_SHOW")) show(c, p, ""), show_code(&pages);
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
        show_code(&pages);
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
    if (refused * 20 > n) fail_msg("%u of %u programs are not compiled", refused, (unsigned)n);
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
                                     LOOP_FUNCTIONS | LOOP_VECTORS,
                                     LOOP_ALL & ~LOOP_REDUCTIONS};
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
    decoded(LOOP_ALL & ~LOOP_REDUCTIONS, from, n);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random), cmocka_unit_test(test_decoded)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
