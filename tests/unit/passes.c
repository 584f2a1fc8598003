/* Passes of loop programs: what each makes of a random one computes the same bits, forwards and backwards, alone and
 * behind the others. */
#include "pass/pass.h"

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

static void run(const tn_i_loops *p, const loop_memory *m, bool backwards, uint64_t seed, const char *what) {
    const tn_i_l_eval_options o = {.backwards = backwards};
    if (!tn_i_l_check(p)) fail_msg("seed %llu, %s: %s", (unsigned long long)seed, what, p->ctx->message);
    if (tn_i_l_eval(p, m->base, &o) != TN_OK)
        fail_msg("seed %llu, %s: %s", (unsigned long long)seed, what, p->ctx->message);
}

/* The program, made anew, in memory like `before`, gives what `want` has.  What is left of the arena may differ. */
static void compare(const tn_i_loops *p, const loop_memory *before, const loop_memory *want, const tn_i_loops *first,
                    uint64_t seed, const char *what) {
    for (int backwards = 0; backwards < 2; backwards++) {
        loop_memory m;
        uint32_t array;
        int64_t at;
        char *arena = NULL;
        assert_true(loop_memory_like(&m, before));
        char **base = calloc((size_t)p->nbase + 1, sizeof *base);
        memcpy(base, m.base, m.n * sizeof *base);
        if (p->arena != TN_L_NONE) base[p->arena] = arena = aligned_alloc(64, ((size_t)p->bytes + 127) / 64 * 64);
        run(p, &(loop_memory){.base = base}, backwards, seed, what);
        if (!loop_memory_same(first, &m, want, &array, &at)) {
            if (getenv("TN_LOOP_SEED")) fputs(tn_i_l_print(p, &(size_t){0}), stderr);
            fail_msg("seed %llu, after %s: %s[%lld]", (unsigned long long)seed, what, first->array[array].name,
                     (long long)at);
        }
        free(arena);
        free(base);
        loop_memory_free(&m);
    }
}

static tn_i_loops *program(tn_ctx *c, uint64_t seed) {
    tn_i_rng r = {seed};
    tn_i_loops *p = loop_random(c, &r, LOOP_ALL);
    assert_non_null(p);
    return p;
}

static void check(tn_ctx *c, uint64_t seed) {
    const tn_i_machine m = {.vector = 16 << seed % 3, .threads = (int)(seed % 5), .worth = 1};
    tn_i_loops *p = program(c, seed), *all = program(c, seed);
    tn_i_rng r = {seed + 1};
    loop_memory before, want;
    if (getenv("TN_LOOP_SEED")) fputs(tn_i_l_print(p, &(size_t){0}), stderr);
    assert_true(loop_memory_new(&before, p, &r));
    assert_true(loop_memory_like(&want, &before));
    run(p, &want, false, seed, "nothing");
    for (const tn_i_pass *k = tn_i_pipeline; k->name; k++) {
        tn_i_loops *q = k->run(program(c, seed), &m);
        all = k->run(all, &m);
        if (!q || !all) fail_msg("seed %llu, %s: %s", (unsigned long long)seed, k->name, c->message);
        compare(q, &before, &want, p, seed, k->name);
        compare(all, &before, &want, p, seed, k->name);
        tn_i_l_free(q);
    }
    tn_i_l_free(all);
    tn_i_l_free(p);
    loop_memory_free(&before);
    loop_memory_free(&want);
}

static void random_programs(void **unused) {
    const uint64_t only = number_of("TN_LOOP_SEED", 0), n = only ? 1 : number_of("TN_LOOPS", 300);
    tn_ctx *c = tn_ctx_new(NULL);
    (void)unused;
    for (uint64_t seed = only ? only : 1; seed < (only ? only : 1) + n; seed++) check(c, seed);
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_programs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
