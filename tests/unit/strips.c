/* Strips compute what tn_i_l_eval says, bit for bit: random loop programs as they are and after the passes that strips
 * are given, with room for strips of one iteration and of many, for each instruction set of this processor. */
#include "pass/pass.h"
#include "strips/strips.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loop_random.h"

static uint64_t number_of(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

static tn_i_strip *function(void *isa, const char *name) { return tn_i_vec_math(name, *(tn_i_isa *)isa, false).strip; }

typedef struct trial {
    tn_ctx *c;
    const loop_memory *before, *want;
    const tn_i_loops *first;
    uint64_t seed;
    unsigned fitted, ran;
} trial;

/* In memory like `before`, with as much room and not a byte more. */
static void check_one(trial *t, const tn_i_loops *p, tn_i_isa isa, size_t room, const char *what) {
    static const tn_i_l_run nobody = {0};
    loop_memory m;
    uint32_t array;
    int64_t at;
    bool fits;
    char *arena = NULL;
    tn_i_strips *s = tn_i_strips_new(p, isa, false, room, &fits);
    t->ran++;
    if (!s && fits) fail_msg("seed %llu, %s: %s", (unsigned long long)t->seed, what, t->c->message);
    if (!s) return;
    t->fitted++;
    assert_true(tn_i_strips_bytes(s) <= room && tn_i_strips_bytes(s) % 64 == 0);
    assert_true(loop_memory_like(&m, t->before));
    char **base = calloc((size_t)p->nbase + 1, sizeof *base);
    const size_t bytes = tn_i_strips_bytes(s) * (TN_L_HALVED + 1);
    char *memory = aligned_alloc(64, bytes + 64);
    memset(memory, 0xa5, bytes + 64);
    memcpy(base, m.base, m.n * sizeof *base);
    if (p->arena != TN_L_NONE) base[p->arena] = arena = aligned_alloc(64, ((size_t)p->bytes + 127) / 64 * 64);
    const tn_status status = tn_i_strips_run(s, &nobody, base, memory);
    if (status != TN_OK) fail_msg("seed %llu, %s: status %d", (unsigned long long)t->seed, what, (int)status);
    for (size_t i = tn_i_strips_bytes(s); i < bytes + 64; i++) assert_int_equal((unsigned char)memory[i], 0xa5);
    if (!loop_memory_same(t->first, &m, t->want, &array, &at)) {
        if (getenv("TN_LOOP_SEED")) fputs(tn_i_l_print(p, &(size_t){0}), stderr);
        fail_msg("seed %llu, %s, instruction set %d, room %zu: %s[%lld]", (unsigned long long)t->seed, what, (int)isa,
                 room, t->first->array[array].name, (long long)at);
    }
    free(arena);
    free(memory);
    free(base);
    loop_memory_free(&m);
    tn_i_strips_free(s);
}

static void check_rooms(trial *t, const tn_i_loops *p, tn_i_isa isa, const char *what) {
    static const size_t rooms[] = {256, 1024, 4096, 1 << 14, 1 << 24};
    if (!tn_i_l_check(p)) fail_msg("seed %llu, %s: %s", (unsigned long long)t->seed, what, t->c->message);
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) check_one(t, p, isa, rooms[i], what);
}

static tn_i_loops *program(tn_ctx *c, const char *text, uint64_t seed) {
    tn_i_rng r = {seed};
    tn_i_loops *p = text ? tn_i_l_parse(c, text, strlen(text), "strips.c", NULL, 0) : loop_random(c, &r, LOOP_ALL);
    if (!p) fail_msg("%s", c->message);
    return p;
}

static void check(trial *t, const char *text) {
    const tn_i_machine m = {.vector = 512, .threads = (int)(t->seed % 4), .worth = 1, .strips = true};
    for (int isa = TN_ISA_PLAIN; isa <= (int)tn_i_isa_best(); isa++) {
        tn_i_rng r = {t->seed + 1};
        loop_memory before, want;
        tn_i_loops *p = program(t->c, text, t->seed), *q = tn_i_passes(program(t->c, text, t->seed), &m, NULL);
        const tn_i_l_eval_options o = {.function = function, .user = &isa};
        if (!q) fail_msg("seed %llu: %s", (unsigned long long)t->seed, t->c->message);
        if (getenv("TN_LOOP_SEED")) fputs(tn_i_l_print(p, &(size_t){0}), stderr);
        assert_true(loop_memory_new(&before, p, &r) && loop_memory_like(&want, &before));
        if (tn_i_l_eval(p, want.base, &o) != TN_OK) fail_msg("%s", t->c->message);
        t->before = &before;
        t->want = &want;
        t->first = p;
        check_rooms(t, p, (tn_i_isa)isa, "as it is");
        check_rooms(t, q, (tn_i_isa)isa, "after passes");
        loop_memory_free(&before);
        loop_memory_free(&want);
        tn_i_l_free(q);
        tn_i_l_free(p);
    }
}

static void random_programs(void **unused) {
    const uint64_t only = number_of("TN_LOOP_SEED", 0), n = only ? 1 : number_of("TN_LOOPS", 400);
    trial t = {.c = tn_ctx_new(NULL)};
    (void)unused;
    for (t.seed = only ? only : 1; t.seed < (only ? only : 1) + n; t.seed++) check(&t, NULL);
    assert_true(only || t.fitted > t.ran / 2);
    tn_ctx_free(t.c);
}

/* Sums of every fold and dtype: of a row, of rows in columns, of columns fed one element a strip or a strip of them, of
 * leaves that are full, not full and empty. */
#define SUM(type, fold, n, m)                                                                                    \
    "loop {\n array x: " type "[4000] in base 0\n array y: " type "[40] out base 1\n array z: " type             \
    "[1] out base 2\n r: " type " = reduce " fold "\n c: " type " = reduce " fold " " #m "\n for i < " #n        \
    " {\n for j < " #m " {\n a: " type " = load x[" #m " i + j]\n into r = a\n into c[j] = a\n }\n }\n t: " type \
    " = total r\n store z[0] = t\n for k < " #m " {\n u: " type " = total c[k]\n store y[k] = u\n }\n}"
#define SIZES(type, fold)                                                                             \
    SUM(type, fold, 1, 1), SUM(type, fold, 17, 3), SUM(type, fold, 600, 5), SUM(type, fold, 100, 40), \
        SUM(type, fold, 4000, 1), SUM(type, fold, 1, 33), SUM(type, fold, 512, 7)

static void sums(void **unused) {
    static const char *const texts[] = {SIZES("f64", "sum"),  SIZES("f32", "sum"),  SIZES("f64", "prod"),
                                        SIZES("f32", "max"),  SIZES("f64", "min"),  SIZES("i32", "sum"),
                                        SIZES("i64", "prod"), SIZES("i64", "max"),  SIZES("u32", "min"),
                                        SIZES("bool", "max"), SIZES("bool", "min"), SIZES("f32", "prod")};
    trial t = {.c = tn_ctx_new(NULL)};
    (void)unused;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (t.seed = 1; t.seed < 4; t.seed++) check(&t, texts[i]);
    tn_ctx_free(t.c);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_programs), cmocka_unit_test(sums)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
