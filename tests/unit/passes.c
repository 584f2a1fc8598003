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
#include "amount.h"
#include "sanitized.h"

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

/* A text, or, of NULL, a random one. */
static tn_i_loops *program(tn_ctx *c, const char *text, uint64_t seed) {
    tn_i_rng r = {seed};
    tn_i_loops *p = text ? tn_i_l_parse(c, text, strlen(text), "passes.c", NULL, 0) : loop_random(c, &r, LOOP_ALL);
    if (!p) fail_msg("%s", c->message);
    return p;
}

static void check(tn_ctx *c, const char *text, uint64_t seed) {
    const tn_i_machine m = {
        .vector = 16 << seed % 3, .threads = (int)(seed % 5) + 1, .worth = 1, .strips = seed % 3 == 2};
    tn_i_loops *p = program(c, text, seed), *all = program(c, text, seed);
    tn_i_rng r = {seed + 1};
    loop_memory before, want;
    if (getenv("TN_LOOP_SEED")) fputs(tn_i_l_print(p, &(size_t){0}), stderr);
    assert_true(loop_memory_new(&before, p, &r));
    assert_true(loop_memory_like(&want, &before));
    run(p, &want, false, seed, "nothing");
    for (const tn_i_pass *k = tn_i_pipeline; k->name; k++) {
        tn_i_loops *q = k->run(program(c, text, seed), &m);
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

/* Each text with memory, and a machine, for each of the seeds below `seeds`. */
static void each(const char *const *text, size_t n, uint64_t seeds) {
    tn_ctx *c = tn_ctx_new(NULL);
    for (size_t i = 0; i < n; i++)
        for (uint64_t seed = 1; seed < seeds && (n < 4 || in_turn(i, 2));
             seed += SANITIZED ? 9 : (uint64_t)amount(1, 4))
            check(c, text[i], seed);
    tn_ctx_free(c);
}

static void random_programs(void **unused) {
    const uint64_t only = number_of("TN_LOOP_SEED", 0),
                   n = only ? 1 : number_of("TN_LOOPS", SANITIZED ? 10 : (uint64_t)amount(300, 50));
    tn_ctx *c = tn_ctx_new(NULL);
    (void)unused;
    for (uint64_t seed = only ? only : 1; seed < (only ? only : 1) + n; seed++) check(c, NULL, seed);
    tn_ctx_free(c);
}

/* What loops keep in memory, and what may be the same memory: cells that are loaded first, stored first, stored twice;
 * touched as a part of an array, by an index, under a condition, in another block, as another dtype; and loops that are
 * left in front of a store, behind it, or between two of them, in the first iteration too. */
#define CELLS(body)                                                                                               \
    "loop {\n array x: f64[8] inout base 0\n array y: f64[4] inout base 0 at 16\n array z: f32[8] inout base 0\n" \
    " array u: f64[40] inout base 1\n array k: i64[40] in base 2\n"                                               \
    " nothing: f64 = number -0.0\n zero: f64 = number 0.0\n half: f64 = number 0.5\n for i < 9 {\n" body "\n }\n}"

static void cells(void **unused) {
    static const char *const texts[] = {
        CELLS("a: f64 = load x[3]\n b: f64 = load u[i]\n c: f64 = fma a half b\n store x[3] = c"),
        CELLS("b: f64 = load u[i]\n store x[3] = b\n a: f64 = load x[3]\n c: f64 = add a half\n store x[3] = c\n"
              " store u[i + 10] = a"),
        CELLS("a: f64 = load x[3]\n b: f64 = load y[1]\n c: f64 = fma a half b\n store y[1] = c\n d: f64 = load x[3]\n"
              " store u[i] = d"),
        CELLS("a: f64 = load x[3]\n b: f64 = add a half\n store x[3] = b\n for j < 3 {\n c: f64 = load y[j]\n"
              " store u[3 i + j] = c\n }"),
        CELLS("a: f64 = load x[3]\n b: f64 = add a half\n store x[3] = b\n c: f32 = load z[6]\n d: f64 = convert c\n"
              " store u[i] = d"),
        CELLS("a: f64 = load x[3]\n b: f64 = add a half\n store x[3] = b\n n: i64 = load k[i]\n"
              " c: f64 = load x[clamp(n, 7)]\n store u[i] = c"),
        CELLS("a: f64 = load x[3]\n b: f64 = add a half\n store x[3] = b\n m: bool = within i < 4\n"
              " store y[1] = half where m"),
        CELLS("a: f64 = load x[3]\n b: f64 = add a half\n store x[3] = b\n m: bool = lt half a\n if m {\n"
              " store y[1] = zero\n }"),
        CELLS("for j < 3 {\n a: f64 = load x[j]\n b: f64 = load x[j + 1]\n c: f64 = fma a half b\n store x[j] = c\n }"),
        CELLS("for j < 2 {\n m: bool = within 1 <= j < 2\n a: f64 = load x[j] where m else half\n b: f64 = add a "
              "nothing\n"
              " c: f64 = add zero b\n d: f64 = mul c nothing\n e: f64 = add d zero\n f: f64 = add nothing d\n"
              " store x[j] = b where m\n store u[2 i + j] = e\n store u[2 i + j + 20] = f\n }"),
        CELLS("m: bool = within i < 5\n while m\n a: f64 = load x[3]\n b: f64 = add a half\n store x[3] = b"),
        CELLS("a: f64 = load x[3]\n b: f64 = add a half\n store x[3] = b\n m: bool = within i < 5\n while m"),
        CELLS("a: f64 = load x[3]\n b: f64 = add a half\n store x[3] = b\n m: bool = within i < 0\n while m\n"
              " store x[3] = a"),
        CELLS("a: f64 = load u[i]\n store x[3] = a\n m: bool = within i < 5\n while m\n b: f64 = load x[3]\n"
              " store x[5] = b"),
        CELLS("a: f64 = load u[i]\n store x[3] = a\n m: bool = within i < 5\n while m\n b: f64 = add a half\n"
              " store x[3] = b"),
        CELLS("m: bool = within i < 0\n while m\n a: f64 = load u[i]\n store x[3] = a\n b: f64 = add a half\n"
              " store x[3] = b"),
        CELLS("for j {\n a: f64 = load x[3]\n b: f64 = add a half\n store x[3] = b\n m: bool = within j < 4\n"
              " while m\n c: f64 = load y[0]\n d: f64 = add c b\n store y[0] = d\n }"),
    };
    (void)unused;
    each(texts, sizeof texts / sizeof *texts, 8);
}

/* Functions of numbers: of each other's results, with other operands, of two dtypes and of two numbers, more than a
 * vector has and more than wait; and memory that is read and written between them. */
#define FUNCTIONS(body)                                                                                           \
    "loop {\n array x: f64[8] inout base 0\n array y: f64[4] inout base 0 at 16\n array z: f32[8] inout base 1\n" \
    " array u: f64[90] inout base 2\n a: f64 = load x[0]\n b: f64 = load x[1]\n c: f64 = load x[3]\n" body "\n}"
#define SIN3 " p: f64 = fn sin a\n q: f64 = fn sin b\n r: f64 = fn sin p\n"

static void functions(void **unused) {
    static const char *const texts[] = {
        FUNCTIONS(SIN3 " s: f64 = add q r\n t: f64 = fn sin s\n store x[0] = t"),
        FUNCTIONS(SIN3 " store x[3] = p\n s: f64 = load x[3]\n t: f64 = fn sin s\n store x[0] = t"),
        FUNCTIONS(SIN3 " store x[3] = r\n s: f64 = load y[1]\n t: f64 = fn exp s\n store x[0] = t"),
        FUNCTIONS(SIN3 " store x[3] = r\n store x[3] = a\n s: f64 = load x[4]\n store x[4] = q"),
        FUNCTIONS(SIN3 " s: f64 = load x[3]\n store x[3] = r\n t: f64 = fn sin s\n store x[4] = t"),
        FUNCTIONS(SIN3 " n: i64 = convert c\n m: bool = lt a b\n"
                       " s: f64 = load x[clamp(n, 7)] where m else r\n store y[1] = s\n"
                       " store x[4] = q"),
        FUNCTIONS(" e: f32 = load z[0]\n f: f32 = load z[1]\n g: f32 = fn sin e\n" SIN3
                  " h: f32 = fn sin f\n i: f64 = fn atan2 p q\n j: f64 = fn atan2 a r\n k: f32 = mul g h\n"
                  " l: f64 = add i j\n store z[1] = k\n store u[3] = l"),
        FUNCTIONS(" for i < 9 {\n v: f64 = load u[i]\n w: f64 = load u[i + 1]\n k: f64 = fn exp v\n l: f64 = fn exp w\n"
                  " store u[i + 2] = k\n n: f64 = load u[i + 3]\n o: f64 = fn exp n\n d: f64 = add l o\n"
                  " store u[i] = d\n }"),
    };
    (void)unused;
    each(texts, sizeof texts / sizeof *texts, 8);
}

/* Scratch arrays that may be the same memory, and those that look so: they keep what an iteration before has stored. */
#define SHARED(before, first, second)                                                                        \
    "loop {\n array x: f64[90] inout base 0\n array k: i64[40] in base 1\n array s: f64[8] scratch base 2\n" \
    " array t: f64[8] scratch base 2 at 64\n array q: f32[16] scratch base 2 at 128\n arena 192 base 2\n"    \
    " zero: f64 = number 0.0\n half: f64 = number 0.5\n" before " for i < 7 {\n" first second "\n }\n}"
#define FILL(n, array, by)                                                                                            \
    " for a" n " < 8 {\n b" n ": f64 = load x[9 i + a" n "]\n c" n ": f64 = " by " b" n " half\n store " array "[a" n \
    "] = c" n "\n }\n"
#define READ(n, array, place)                                                                                \
    " for d" n " < 8 {\n e" n ": f64 = load " array "[d" n "]\n f" n ": f64 = load x[" place "d" n "]\n g" n \
    ": f64 = add e" n " f" n "\n store x[" place "d" n "] = g" n "\n }\n"
#define S      FILL("1", "s", "mul") READ("1", "s", "9 i + 1 + ")
#define T      FILL("2", "t", "add") READ("2", "t", "80 + ")
#define FIRST  " m: bool = within i < 1\n"
#define STORED "b: f64 = load x[a]\n store s[a] = b"

static const char *const shared[] = {
    SHARED("", S, T), SHARED("", S READ("3", "s", ""), T),
    SHARED("", S,
           " for a < 16 {\n b: f64 = load x[a]\n c: f32 = convert b\n store q[a] = c\n }\n for d < 8 {\n "
           "e: f32 = load q[2 d]\n f: f64 = convert e\n store x[9 i + d] = f\n }\n")};

/* Of these the first iteration stores all of s, and later ones do not. */
static const char *const kept[] = {
    SHARED("", FIRST " if m {\n" FILL("1", "s", "mul") " }\n" READ("1", "s", ""), T),
    SHARED("", FIRST " for a < 8 {\n b: f64 = load x[a]\n store s[a] = b where m\n }\n" READ("1", "s", ""), T),
    SHARED("", FIRST " for a < 8 {\n while m\n " STORED "\n }\n" READ("1", "s", ""), T),
    SHARED("", " for a < min(8, -8 i + 8) {\n " STORED "\n }\n" READ("1", "s", ""), T),
    SHARED("", " b: f64 = load x[i]\n store s[i] = b\n e: f64 = load s[0]\n store x[i + 20] = e\n", T),
    SHARED("",
           " for a < 8 {\n n: i64 = index a + 100 i\n b: f64 = load x[a]\n store s[clamp(n, 7)] = b\n }\n" READ(
               "1", "s", ""),
           T),
    SHARED("",
           FIRST
           " for a < 8 {\n b: f64 = load s[a]\n c: f64 = select m zero b\n store x[a] = c\n }\n" FILL("1", "s", "mul"),
           T),
    SHARED("", FILL("1", "s", "mul"), FILL("2", "t", "add") READ("1", "s", "") READ("2", "t", "80 + "))};

static int64_t bytes_of(const char *text, bool after) {
    tn_ctx *c = tn_ctx_new(NULL);
    const tn_i_machine m = {.vector = 32, .threads = 1};
    tn_i_loops *p = program(c, text, 0);
    if (after) p = tn_i_pass_share(p, &m);
    assert_non_null(p);
    const int64_t bytes = p->bytes;
    tn_i_l_free(p);
    tn_ctx_free(c);
    return bytes;
}

static void scratch_arrays(void **unused) {
    (void)unused;
    each(shared, sizeof shared / sizeof *shared, 8);
    each(kept, sizeof kept / sizeof *kept, 8);
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
        assert_true(bytes_of(shared[i], true) <= 128 && bytes_of(shared[i], false) == 192);
}

/* Stores to scratch memory: read as it is, as another array, by a load that nobody needs, and not at all. */
#define FORGOTTEN(body)                                                                                              \
    "loop {\n array x: f64[90] inout base 0\n array s: f64[8] scratch base 2\n array q: f32[16] scratch base 2\n"    \
    " array t: f64[8] scratch base 2 at 64\n arena 128 base 2\n for i < 8 {\n a: f64 = load x[i]\n store s[i] = a\n" \
    " store t[i] = a\n" body " }\n}"

static const struct {
    const char *text;
    int stores; /* that are left */
} forgotten[] = {{FORGOTTEN(" store x[i + 20] = a\n"), 1},
                 {FORGOTTEN(" b: f64 = load s[i]\n store x[i + 30] = b\n"), 2},
                 {FORGOTTEN(" b: f32 = load q[2 i]\n c: f64 = convert b\n store x[i + 30] = c\n"), 2},
                 {FORGOTTEN(" b: f64 = load s[i]\n c: f64 = add b b\n store x[i + 20] = a\n"), 1},
                 {FORGOTTEN(" b: f64 = load s[i]\n store t[i] = b\n store x[i + 20] = a\n"), 1},
                 {FORGOTTEN(" b: f64 = load s[i]\n update add t[i] = b\n c: f64 = load t[i]\n store x[i] = c\n"), 4}};

static void forgotten_stores(void **unused) {
    (void)unused;
    for (size_t i = 0; i < sizeof forgotten / sizeof *forgotten; i++) {
        each(&forgotten[i].text, 1, 4);
        tn_ctx *c = tn_ctx_new(NULL);
        const tn_i_machine m = {.vector = 32, .threads = 1};
        tn_i_loops *p = tn_i_pass_dead(program(c, forgotten[i].text, 0), &m);
        int stores = 0;
        assert_non_null(p);
        for (uint32_t k = 0; k < p->nop; k++) stores += p->op[k].kind == TN_L_STORE;
        assert_int_equal(stores, forgotten[i].stores);
        tn_i_l_free(p);
        tn_ctx_free(c);
    }
}

/* Updates: of places that are a number, an element of each iteration, computed and met often or not at all; beside
 * what else touches the array, in loops in a row, and what a loop keeps in memory. */
#define UPDATES(loop, body)                                                                                           \
    "loop {\n array x: f64[90] inout base 0\n array y: f64[40] inout base 1\n array n: i32[90] in base 2\n"           \
    " array z: f64[40] inout base 3\n array k: i64[40] inout base 4\n three: i64 = number 3\n for h < 3 {\n for i < " \
    "20" loop " {\n a: f64 = load x[i + h]\n p: i32 = load n[i]\n m: bool = lt a a\n" body "\n }\n }\n}"

static void updates(void **unused) {
    static const char *const texts[] = {
        UPDATES("", " update add y[3] = a"),
        UPDATES("", " for j < 3 {\n store z[2 i] = a\n }\n for q < 3 {\n update add z[2 i] = a\n }\n"),
        UPDATES("", " update add y[i + h] = a"),
        UPDATES("", " update mul y[-i + 30] = a where m"),
        UPDATES("", " update add y[clamp(p, 5)] = a"),
        UPDATES("", " q: bool = ge a a\n update max y[2 clamp(p, 15)] = a where q"),
        UPDATES("", " update min y[i + clamp(p, 15)] = a"),
        UPDATES("", " update add y[i + clamp(three, 9)] = a"),
        UPDATES("", " update add y[clamp(three, 9)] = a"),
        UPDATES("", " update add y[clamp(p, 5)] = a\n update mul y[clamp(p, 7)] = a"),
        UPDATES("", " update add y[clamp(p, 5)] = a\n b: f64 = load y[i]\n store z[i] = b"),
        UPDATES("", " store y[i] = a\n update add y[i] = a\n b: f64 = load y[i]\n store z[i] = b"),
        UPDATES("", " update add x[i + 1] = a\n store z[i] = a"),
        UPDATES("",
                " b: f64 = mul a a\n store z[i] = b\n }\n for j < 20 {\n c: f64 = load z[j]\n r: i32 = load n[j + 3]\n"
                " update add y[clamp(r, 9)] = c"),
        UPDATES("", " b: f64 = mul a a\n store z[i] = b\n }\n for j < 20 {\n c: f64 = load z[j]\n"
                    " update add z[j + 1] = c"),
        UPDATES("", " update add z[i] = a\n }\n for j < 20 {\n c: f64 = load z[j]\n store y[j] = c"),
        UPDATES("", " w: i64 = convert p\n update add k[clamp(w, 11)] = w\n update min k[i + 15] = three"),
        UPDATES("", " for j < 9 {\n update add y[j + 2 clamp(p, 12)] = a\n }\n"),
        UPDATES(
            "",
            " b: f64 = load y[3]\n store z[i] = b\n update add y[3] = a\n c: f64 = load y[3]\n store z[i + 20] = c"),
    };
    (void)unused;
    each(texts, sizeof texts / sizeof *texts, 6);
}

/* Of the loop over i, as the pass leaves it. */
static bool becomes_vector(const char *text) {
    tn_ctx *c = tn_ctx_new(NULL);
    const tn_i_machine m = {.vector = 32, .threads = 1};
    tn_i_loops *p = tn_i_pass_vectorize(program(c, text, 0), &m);
    bool is = false;
    assert_non_null(p);
    for (uint32_t k = 0; k < p->nop; k++) is |= p->op[k].kind == TN_L_FOR && p->op[k].vector;
    tn_i_l_free(p);
    tn_ctx_free(c);
    return is;
}

/* A loop that stores, what is between, and one that loads what is stored and scatters it; the loops that are left. */
#define BETWEEN(between, at)                                                                                    \
    "loop {\n array x: f64[40] inout base 0\n array t: f64[40] inout base 1\n array y: f64[10] inout base 2\n"  \
    " array n: i32[40] in base 3\n array u: f64[40] inout base 4\n zero: f64 = number 0.0\n"                    \
    " for i < 40 {\n a: f64 = load x[i]\n g: f64 = load u[i]\n b: f64 = mul a g\n store t[i] = b\n }\n" between \
    " for j < 40 {\n c: f64 = load t[j]\n p: i32 = load n[j]\n update add " at " = c\n }\n}"
#define FILL_Y(k) "for " k " < 10 {\n store y[" k "] = zero\n }\n"

static size_t loops_of(const char *text, tn_i_loops *(*pass)(tn_i_loops *p, const tn_i_machine *m)) {
    tn_ctx *c = tn_ctx_new(NULL);
    const tn_i_machine m = {.vector = 32, .threads = 1};
    tn_i_loops *p = pass(program(c, text, 0), &m);
    size_t n = 0;
    assert_non_null(p);
    for (uint32_t k = 0; k < p->nop; k++) n += p->op[k].kind == TN_L_FOR;
    tn_i_l_free(p);
    tn_ctx_free(c);
    return n;
}

static void loops_between(void **unused) {
    static const struct {
        const char *text;
        size_t loops;
    } cases[] = {
        {BETWEEN("", "y[clamp(p, 9)]"), 1},
        {BETWEEN(FILL_Y("k"), "y[clamp(p, 9)]"), 2},
        {BETWEEN(FILL_Y("k") FILL_Y("l"), "y[clamp(p, 9)]"), 3},
        {BETWEEN("for k < 40 {\n store u[k] = zero\n }\n" FILL_Y("l"), "y[clamp(p, 9)]"),
         4}, /* what the first one loads */
        {BETWEEN("for k < 40 {\n d: f64 = load x[k]\n e: f64 = mul d d\n update add y[3] = e\n }\n", "y[clamp(p, 9)]"),
         2},
        {BETWEEN("for k < 10 {\n d: f64 = load t[k + 3]\n store y[k] = d\n }\n", "y[clamp(p, 9)]"),
         3}, /* what it stores */
        {BETWEEN("for k < 10 {\n store t[k] = zero\n }\n", "y[clamp(p, 9)]"), 3},
        {BETWEEN("d: f64 = load t[3]\n store y[2] = d\n", "y[clamp(p, 9)]"), 2},
        {BETWEEN(FILL_Y("k"), "x[clamp(p, 9)]"), 3}, /* what the first one loads is written */
        {BETWEEN(FILL_Y("k"), "t[clamp(p, 9)]"), 3},
    };
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        each(&cases[i].text, 1, 6);
        const size_t n = loops_of(cases[i].text, tn_i_pass_fuse);
        if (n != cases[i].loops) fail_msg("case %zu: %zu loops, not %zu", i, n, cases[i].loops);
    }
}

/* Rows of 4 in steps that follow one another: written out where addresses become numbers, and where rows do. */
#define ROWS_OF_4(rows, next)                                                                                   \
    "loop {\n array x: f64[40] inout base 0\n array t: f64[4] scratch base 1\n arena 32 base 1\n for s < 9 {\n" \
    " for r < " rows " {\n for j < 4 {\n a: f64 = load x[4 r + j]\n b: f64 = mul a a\n store t[j] = b\n }\n"    \
    " for k < 4 {\n c: f64 = load t[k]\n d: f64 = add c c\n store x[4 r + k" next "] = d\n }\n }\n }\n}"

static void rows_written_out(void **unused) {
    static const struct {
        const char *text;
        size_t loops;
    } cases[] = {{ROWS_OF_4("7", ""), 4}, {ROWS_OF_4("4", ""), 1}, {ROWS_OF_4("7", " + 4"), 2}};
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        each(&cases[i].text, 1, 6);
        const size_t n = loops_of(cases[i].text, tn_i_pass_unroll);
        if (n != cases[i].loops) fail_msg("case %zu: %zu loops, not %zu", i, n, cases[i].loops);
    }
}

/* Products with a matrix of few rows in steps that follow one another, sums in the block of their steps, and such that
 * loops between have more iterations than are written out. */
#define STEPS_OF_SUMS(dtype, fold, rows, columns)                                                                \
    "loop {\n array x: " dtype "[64] inout base 0\n array w: " dtype "[64] in base 1\n for s < 9 {\n"            \
    " r: " dtype " = reduce " fold " 4\n q: " dtype " = reduce " fold "\n for i < " rows " {\n for j < " columns \
    " {\n a: " dtype " = load x[j]\n b: " dtype " = load w[" columns " i + j]\n c: " dtype " = sub a b\n"        \
    " into r[i] = c\n into q = b\n }\n }\n for k < 4 {\n t: " dtype " = total r[k]\n store x[k] = t\n }\n"       \
    " u: " dtype " = total q\n store x[4] = u\n }\n}"
#define ALL_FOLDS(dtype, rows, columns)                                                      \
    STEPS_OF_SUMS(dtype, "sum", rows, columns), STEPS_OF_SUMS(dtype, "prod", rows, columns), \
        STEPS_OF_SUMS(dtype, "max", rows, columns), STEPS_OF_SUMS(dtype, "min", rows, columns)

static size_t reductions_left(const char *text) {
    tn_ctx *c = tn_ctx_new(NULL);
    const tn_i_machine m = {.vector = 32, .threads = 1};
    tn_i_loops *p = tn_i_pass_sums_straight(tn_i_pass_unroll(program(c, text, 0), &m), &m);
    size_t n = 0;
    assert_non_null(p);
    for (uint32_t k = 0; k < p->nop; k++) n += p->op[k].kind == TN_L_REDUCE;
    tn_i_l_free(p);
    tn_ctx_free(c);
    return n;
}

static void sums_in_steps(void **unused) {
    static const char *const texts[] = {ALL_FOLDS("f64", "1", "1"), ALL_FOLDS("f32", "2", "3"),
                                        ALL_FOLDS("f64", "3", "3"), ALL_FOLDS("i32", "4", "4"),
                                        ALL_FOLDS("f32", "4", "4"), ALL_FOLDS("f64", "4", "4")};
    static const char *const wide[] = {ALL_FOLDS("f64", "4", "5"), ALL_FOLDS("f32", "3", "17"),
                                       STEPS_OF_SUMS("f64", "argmax", "3", "3")};
    (void)unused;
    each(texts, sizeof texts / sizeof *texts, 6);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) assert_int_equal(reductions_left(texts[i]), 0);
    for (size_t i = 0; i < sizeof wide / sizeof *wide - 1; i++) {
        each(&wide[i], 1, 6);
        assert_int_equal(reductions_left(wide[i]), 2);
    }
}

/* Many elements of several sums in one block. */
static void sums_in_a_block(void **unused) {
    static const int64_t lengths[] = {1, 2, 3, 5, 16, 17, 33, 100, 512, 513};
    enum { RESULTS = 3, ROOM = 1 << 16 };
    char *text = malloc(ROOM);
    (void)unused;
    assert_non_null(text);
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
        int n = snprintf(text, ROOM,
                         "loop {\n array x: f64[600] in base 0\n array y: f64[3] out base 1\n r: f64 = reduce sum 3\n");
        for (int64_t i = 0; i < lengths[l]; i++)
            n += snprintf(text + n, (size_t)(ROOM - n), " a%d: f64 = load x[%d]\n into r[%d] = a%d\n", (int)i, (int)i,
                          (int)(i * i % RESULTS), (int)i);
        for (int k = 0; k < RESULTS; k++)
            n += snprintf(text + n, (size_t)(ROOM - n), " t%d: f64 = total r[%d]\n store y[%d] = t%d\n", k, k, k, k);
        (void)snprintf(text + n, (size_t)(ROOM - n), "}");
        each((const char *const[]){text}, 1, 2);
        assert_int_equal(reductions_left(text), lengths[l] > 512);
    }
    free(text);
}

/* Sums over some of the loops of a nest, over results within, beside and around them: what stays in memory is what
 * stood there before, and each result is reduced on its own. */
#define NEST(dtype, fold, a, b, c, d, at, count)                                                              \
    "loop {\n array x: " dtype "[20000] in base 0\n array y: " dtype "[" count "] out base 1\n r: " dtype     \
    " = reduce " fold " " count "\n q: " dtype " = reduce sum " count "\n for i < " a " {\n for j < " b       \
    " {\n for k < " c " {\n for l < " d " {\n u: " dtype " = load x[" b " i + " c " j + 3 k + l]\n v: " dtype \
    " = mul u u\n into r[" at "] = u\n into q[" at "] = v\n }\n }\n }\n }\n for m < " count " {\n t: " dtype  \
    " = total r[m]\n w: " dtype " = total q[m]\n z: " dtype " = add t w\n store y[m] = z\n }\n}"
static void loops_over_results(void **unused) {
    static const char *const texts[] = {
        NEST("f64", "sum", "5", "7", "30", "40", "j", "7"),
        NEST("f32", "max", "5", "7", "30", "40", "j", "7"),
        NEST("i32", "sum", "40", "3", "40", "5", "5 j + l", "15"),
        NEST("f64", "prod", "3", "2", "2", "300", "2 j + k", "4"),
        NEST("f64", "min", "40", "3", "5", "9", "45 j + 9 k + l", "135"),
        NEST("f32", "sum", "3", "20", "4", "30", "4 i + k", "12"),
        NEST("f64", "sum", "2", "7", "2", "2", "j", "7"),
        NEST("f64", "sum", "600", "3", "2", "1", "j", "3"),
    };
    (void)unused;
    each(texts, sizeof texts / sizeof *texts, 3);
}

/* What the block has loaded or stored is loaded again: as it is, after a store elsewhere, one that may be there, one
 * that is there in part, an update, one under a condition, and a loop that stores. */
#define AGAIN(between, from)                                                                                  \
    "loop {\n array x: f64[20] inout base 0\n array half: f32[8] inout base 0\n array y: f64[9] out base 1\n" \
    " p: i64 = number 3\n yes: bool = within 1 < 2\n for i < 9 {\n a: f64 = load x[i]\n b: f64 = mul a a\n"   \
    " store x[i + 9] = b\n" between "\n c: f64 = load x[" from "]\n d: f64 = add c b\n store y[i] = d\n }\n}"
static size_t loads_left(const char *text) {
    tn_ctx *c = tn_ctx_new(NULL);
    tn_i_loops *p = tn_i_pass_dead(tn_i_pass_cse(program(c, text, 0), NULL), NULL);
    size_t n = 0;
    assert_non_null(p);
    for (uint32_t k = 0; k < p->nop; k++) n += p->op[k].kind == TN_L_LOAD;
    tn_i_l_free(p);
    tn_ctx_free(c);
    return n;
}

static void loads_again(void **unused) {
    static const struct {
        const char *text;
        size_t loads;
    } cases[] = {
        {AGAIN("", "i"), 1},
        {AGAIN("", "i + 9"), 1},
        {AGAIN("", "i + 8"), 2},
        {AGAIN("store x[i + 10] = a", "i + 9"), 1},
        {AGAIN("store x[i + 9] = a", "i + 9"), 1},
        {AGAIN("store x[4] = a", "i + 9"), 2},
        {AGAIN("store x[clamp(p, 9)] = a", "i"), 2},
        {AGAIN("store x[i + 9] = a where yes", "i + 9"), 2},
        {AGAIN("update add x[i + 9] = a", "i + 9"), 2},
        {AGAIN("update add x[i + 8] = a", "i + 9"), 1},
        {AGAIN("h: f32 = convert a\n store half[3] = h", "i"), 2},
        {AGAIN("for k < 5 {\n store x[k] = a\n }", "i"), 2},
        {AGAIN("if yes {\n store x[i] = b\n }", "i"), 2},
    };
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        each(&cases[i].text, 1, 6);
        const size_t n = loads_left(cases[i].text);
        if (n != cases[i].loads) fail_msg("case %zu: %zu loads, not %zu", i, n, cases[i].loads);
    }
}

static void vectors_of_updates(void **unused) {
    (void)unused;
    assert_true(becomes_vector(UPDATES("", " update add y[clamp(p, 5)] = a")));
    assert_true(becomes_vector(UPDATES("", " update add y[i + clamp(three, 9)] = a")));
    assert_false(becomes_vector(UPDATES("", " update add y[3] = a")));
    assert_false(becomes_vector(UPDATES("", " update add y[clamp(three, 9)] = a")));
    assert_false(becomes_vector(UPDATES("", " update add y[clamp(p, 5)] = a\n b: f64 = load y[i]\n store z[i] = b")));
    assert_false(becomes_vector(UPDATES("", " update add y[clamp(p, 5)] = a\n update mul y[clamp(p, 7)] = a")));
}

/* Conditions on the numbers of loops: every comparison, of loops and constants, of 32 bits that wrap, and constants
 * that are true in one stretch, in two, everywhere and nowhere. */
#define COMPARED(dtype, x, code, y)                                                                                   \
    "loop {\n array x: f64[90] inout base 0\n array y: bool[90] out base 1\n zero: f64 = number 0.0\n"                \
    " n: i64 = number 5\n m: i32 = number -3\n for i < 9 {\n for j < 40 {\n a: " dtype " = " x "\n b: " dtype " = " y \
    "\n c: bool = " code " a b\n store y[2 j + i] = c\n d: f64 = load x[j + i]\n e: f64 = select c d zero\n"          \
    " store x[j + i + 3] = e\n }\n }\n}"
#define CONSTANT(data, at)                                                                                         \
    "loop {\n array x: f64[90] inout base 0\n array k: bool[40] const {" data "}\n zero: f64 = number 0.0\n"       \
    " for i < 2 {\n for j < 20 {\n c: bool = load k[" at "]\n d: f64 = load x[j + i]\n e: f64 = select c d zero\n" \
    " store x[j + i + 40] = e\n }\n }\n}"
#define TEN(x) x ", " x ", " x ", " x ", " x ", " x ", " x ", " x ", " x ", " x

static void conditions(void **unused) {
    static const char *const texts[] = {
        COMPARED("i64", "index j", "lt", "add n n"),
        COMPARED("i64", "index j", "le", "index 3 i"),
        COMPARED("i64", "index j + 7", "gt", "add n n"),
        COMPARED("i64", "index -j + 20", "ge", "index i"),
        COMPARED("i64", "index j", "eq", "index 2 i + 1"),
        COMPARED("i64", "index j", "ne", "index 2 i + 1"),
        COMPARED("i32", "index j + 2147483640", "lt", "add m m"),
        COMPARED("i32", "index -j + 10", "ge", "sub m m"),
        COMPARED("f64", "index j", "lt", "index 2 i"),
        COMPARED("f64", "index j", "ge", "number 5.5"),
        COMPARED("u32", "index j - 20", "lt", "index 2 i"),
        CONSTANT(TEN("0") ", " TEN("1") ", " TEN("1") ", " TEN("0"), "j + 20 i"),
        CONSTANT(TEN("1") ", " TEN("0") ", " TEN("0") ", " TEN("0"), "2 j + i"),
        CONSTANT(TEN("0") ", " TEN("0") ", " TEN("0") ", " TEN("1"), "-2 j - i + 39"),
        CONSTANT(TEN("1") ", " TEN("0") ", " TEN("0") ", " TEN("1"), "j + 20 i"),
        CONSTANT(TEN("1") ", " TEN("1") ", " TEN("1") ", " TEN("1"), "j + 20 i"),
        CONSTANT(TEN("0") ", " TEN("0") ", " TEN("0") ", " TEN("0"), "j + 20 i"),
    };
    (void)unused;
    each(texts, sizeof texts / sizeof *texts, 4);
}

/* Loops one behind another, of which the later one loads what the earlier one stores: the same element, one that
 * another iteration stores, one that was stored twice, under a condition, as another dtype or in another array; and
 * what stands between them, vectors, and more of them than go together. */
#define LOOPS(first, between, second)                                                                                  \
    "loop {\n array x: f64[80] inout base 0\n array y: f64[40] inout base 0 at 160\n array z: f32[80] inout base 1\n"  \
    " array u: f64[90] inout base 2\n array o: f64[20] out base 3\n for h < 3 {\n for i < 20 {\n a: f64 = load u[i + " \
    "h]\n b: f64 = neg a\n"                                                                                            \
    " c: f32 = convert a\n m: bool = lt a b\n" first "\n }\n" between " for j < 20 {\n" second "\n }\n }\n}"

static void loops_in_a_row(void **unused) {
    static const char *const texts[] = {
        LOOPS(" store x[i] = b", "", " d: f64 = load x[j]\n e: f64 = add d d\n store o[j] = e"),
        LOOPS(" store x[i] = b", "",
              " d: f64 = load x[j]\n e: f64 = load x[j + 1]\n f: f64 = add d e\n store o[j] = f"),
        LOOPS(" store x[i] = b", "",
              " d: f64 = load x[j]\n e: f64 = load x[j + 20]\n f: f64 = add d e\n store x[j] = f"),
        LOOPS(" store x[i + 20] = b", "",
              " d: f64 = load y[j]\n store y[j] = d\n e: f64 = load x[j + 20]\n store o[j] = e"),
        LOOPS(" store x[i] = b\n store x[i] = a", "",
              " d: f64 = load x[j]\n store x[j] = d\n e: f64 = load x[j]\n store o[j] = e"),
        LOOPS(" store x[i] = a\n store x[i] = b where m", "", " d: f64 = load x[j]\n store o[j] = d"),
        LOOPS(
            " store x[i] = b", "",
            " t: f64 = number 0.5\n w: bool = within 3 <= j < 9\n d: f64 = load x[j] where w else t\n store o[j] = d"),
        LOOPS(" store z[i] = c", "", " d: f32 = load z[j]\n e: f64 = convert d\n store o[j] = e"),
        LOOPS(" store x[i] = b", " s: f64 = load x[3]\n", " d: f64 = load x[j]\n e: f64 = add d s\n store o[j] = e"),
        LOOPS(" store x[i] = b", " s: f64 = load u[3]\n", " d: f64 = load x[j]\n e: f64 = add d s\n store o[j] = e"),
        LOOPS(" store x[i] = b", "  s: f64 = load u[7]\n store x[3] = s\n", " d: f64 = load x[j]\n store o[j] = d"),
        LOOPS(" store x[i] = b", "", " d: f64 = load x[j]\n store u[j + 1] = d"),
        LOOPS(" store x[i] = b", "", " d: f64 = load x[-j + 19]\n store o[j] = d"),
        LOOPS(" store x[i] = b",
              " for k < 20 vector 4 {\n g: f64 = load x[k]\n q: f64 = mul g g\n store x[k + 40] = q\n }\n",
              " d: f64 = load x[j + 40]\n e: f64 = load x[j]\n f: f64 = add d e\n store o[j] = f"),
    };
    (void)unused;
    each(texts, sizeof texts / sizeof *texts, 6);
}

/* Functions behind the sums of rows: few rows and more than wait; of one total and of several; and what else of the row
 * they need: loads, also of what the loop stores before or behind them, indices, what was computed in front. */
#define ROWS(n, front, body, behind)                                                                                  \
    "loop {\n array x: f64[48000] inout base 0\n array u: f64[6000] inout base 1\n array w: f32[6000] inout base 2\n" \
    " for i < " n " {\n" front " r: f64 = reduce sum\n for j < 7 {\n x: f64 = load x[7 i + j]\n" body                 \
    " into r = x\n }\n"                                                                                               \
    " t: f64 = total r\n" behind "\n }\n}"
#define OF_ROWS(n)                                                                                                \
    ROWS(n, "", "", " y: f64 = fn exp t\n store u[i] = y"),                                                       \
        ROWS(n, " a: f64 = load u[i]\n", "", " b: f64 = mul a t\n y: f64 = fn sin b\n store u[i] = y"),           \
        ROWS(n, " a: f64 = load u[i]\n b: f64 = neg a\n store u[i] = b\n", "",                                    \
             " c: f64 = mul a t\n y: f64 = fn sin c\n store x[7 i] = y"),                                         \
        ROWS(n, " s: f64 = reduce max\n", " into s = x\n",                                                        \
             " m: f64 = total s\n k: f64 = index 2 i\n a: f64 = fn exp m\n b: f64 = add a t\n c: f64 = mul b k\n" \
             " y: f64 = fn sin c\n store u[i] = y"),                                                              \
        ROWS(n, " a: f64 = load u[i]\n b: f64 = fn exp a\n", "",                                                  \
             " c: f64 = mul b t\n y: f64 = fn sin c\n store u[i] = y"),                                           \
        ROWS(n, " s: f64 = reduce argmax\n", " into s = x\n",                                                     \
             " k: i64 = total s\n g: f64 = load x[7 i + clamp(k, 6)]\n y: f64 = fn exp g\n store u[i] = y"),      \
        ROWS(n, " e: f32 = load w[i]\n", "",                                                                      \
             " c: f32 = convert t\n d: f32 = mul e c\n y: f32 = fn sin d\n store w[i] = y")

static void rows_of_functions(void **unused) {
    static const char *const texts[] = {OF_ROWS("2"), OF_ROWS("9"), OF_ROWS("100"), OF_ROWS("4099")};
    (void)unused;
    each(texts, sizeof texts / sizeof *texts, 4);
}

/* Likewise, what goes into sums of all rows: one, several, with and without a function, and one that is fed twice. */
#define INTO_ALL(n, more, tail)                                                                              \
    "loop {\n array x: f64[100000] in base 0\n array y: f64[5000] out base 1\n array z: f64[3] out base 2\n" \
    " s: f64 = reduce sum\n u: f64 = reduce max\n v: f64 = reduce sum 2\n for k < 2 {\n for i < " n          \
    " {\n r: f64 = reduce sum\n for j < 11 {\n a: f64 = load x[11 i + j + k]\n into r = a\n" more            \
    " }\n t: f64 = total r\n" tail " }\n }\n p: f64 = total s\n q: f64 = total u\n w: f64 = total v[1]\n"    \
    " store z[0] = p\n store z[1] = q\n store z[2] = w\n}"
#define INTO_ALLS(n)                                                                                         \
    INTO_ALL(n, "", " e: f64 = fn sin t\n into s = e\n"), INTO_ALL(n, "", " into s = t\n"),                  \
        INTO_ALL(n, "", " e: f64 = fn sin t\n into s = e\n f: f64 = neg e\n into u = f\n store y[i] = f\n"), \
        INTO_ALL(n, " into s = a\n", " e: f64 = fn sin t\n into u = e\n"),                                   \
        INTO_ALL(n, "", " e: f64 = fn sin t\n into v[k] = e\n into s = t\n"),                                \
        INTO_ALL(n, " into s = a\n", " e: f64 = mul t t\n into s = e\n into u = e\n")

static void sums_of_rows(void **unused) {
    static const char *const texts[] = {INTO_ALLS("2"), INTO_ALLS("9"), INTO_ALLS("100"), INTO_ALLS("4099")};
    (void)unused;
    each(texts, sizeof texts / sizeof *texts, 4);
}

/* Each iteration of a row of functions that is longer than what waits: u[i] is that of u[i + 7] and of u[i]'s last. */
static void many_functions(void **unused) {
    char text[16384];
    size_t n = (size_t)snprintf(text, sizeof text, "loop {\n array u: f64[90] inout base 0\n");
    tn_ctx *c = tn_ctx_new(NULL);
    (void)unused;
    for (int i = 0; i < 80; i++)
        n += (size_t)snprintf(
            text + n, sizeof text - n,
            " a%d: f64 = load u[%d]\n b%d: f64 = fn sin a%d\n c%d: f64 = fn exp b%d\n store u[%d] = c%d\n", i, i + 7, i,
            i, i, i % 3 ? i : i / 2, i, i);
    (void)snprintf(text + n, sizeof text - n, "}");
    for (uint64_t seed = 1; seed < 8; seed++) check(c, text, seed);
    tn_ctx_free(c);
}

/* Sums of columns: of few rows and many, with what is stored on the way, alone in their loop and not. */
#define COLUMNS(rows, fold, type, body, more)                                                                       \
    "loop {\n array x: " type "[6000] in base 0\n array y: " type "[6000] out base 1\n array z: " type              \
    "[11] out base 2\n array k: i64[6000] in base 3\n r: " type " = reduce " fold " 11\n for i < " rows " {\n" more \
    " for j < 11 {\n a: " type " = load x[11 i + j]\n" body " into r[j] = b\n }\n }\n for c < 11 {\n t: " type      \
    " = total r[c]\n store z[c] = t\n }\n}"
#define OF(rows)                                                                                                \
    COLUMNS(rows, "sum", "f64", "b: f64 = mul a a\n", ""), COLUMNS(rows, "max", "f32", "b: f32 = neg a\n", ""), \
        COLUMNS(rows, "prod", "i64", "b: i64 = add a a\n", ""),                                                 \
        COLUMNS(rows, "sum", "f32", "b: f32 = mul a a\n store y[11 i + j] = b\n", ""),                          \
        COLUMNS(rows, "sum", "f32", "b: f32 = mul a a\n store y[i + j] = b\n", ""),                             \
        COLUMNS(rows, "sum", "f64", "b: f64 = mul a f\n", " f: f64 = load x[i]\n"),                             \
        COLUMNS(rows, "sum", "f64", "n: i64 = load k[11 i + j]\n b: f64 = convert n\n", "")

static void columns(void **unused) {
    static const char *const texts[] = {OF("2"),  OF("7"),  OF("15"),  OF("16"), OF("17"),
                                        OF("33"), OF("50"), OF("512"), OF("513")};
    (void)unused;
    each(texts, sizeof texts / sizeof *texts, 4);
}

/* More columns than one strip has, in one loop and in two. */
#define WIDE(rows, columns, fold, body)                                                                         \
    "loop {\n array x: f32[90000] in base 0\n array y: f32[90000] out base 1\n array z: f32[1000] out base 2\n" \
    " array w: f32[200] in base 3\n array k: i64[200] inout base 4\n r: f32 = reduce " fold " " columns         \
    "\n for i < " rows " {\n for j < " columns " {\n a: f32 = load x[" columns " i + j]\n m: f32 = load w[j]\n" \
    " b: f32 = sub a m\n" body " into r[j] = b\n }\n }\n for c < " columns                                      \
    " {\n t: f32 = total r[c]\n store z[c] = t\n }\n}"

static void strips_of_columns(void **unused) {
    static const char *const texts[] = {
        WIDE("3", "70", "sum", ""),
        WIDE("16", "127", "max", ""),
        WIDE("50", "129", "sum", " store y[129 i + j] = b\n"),
        WIDE("130", "200", "prod", ""),
        WIDE("513", "150", "sum", " store y[150 i + j] = b\n"),
        WIDE("600", "64", "sum", " n: i64 = load k[j]\n"),
        WIDE("1100", "80", "min", ""),
    };
    (void)unused;
    each(texts, sizeof texts / sizeof *texts, 4);
}

/* One array summed over several of its axes at once: by rows, by columns of a slab, by columns of all of it, which
 * fission takes apart where the elements stay in memory as they are, and has few rows.  `outer`, `inner` stand in the
 * loop over slabs and in the innermost one. */
#define AXES(slabs, outer, inner)                                                                                     \
    "loop {\n array x: f64[30000] inout base 0\n array y: f64[30000] out base 1\n array z: f64[600] out base 2\n"     \
    " array s: f64[8000] out base 3\n array t: f64[4000] out base 4\n array n: i64[600] in base 5\n"                  \
    " half: f64 = number 0.5\n r0: f64 = reduce sum 35\n r3: f64 = reduce max 7\n for i < " slabs " {\n" outer        \
    " r1: f64 = reduce prod 7\n for j < 5 {\n r2: f64 = reduce sum\n for k < 7 {\n"                                   \
    " v: f64 = load x[35 i + 7 j + k]\n into r0[7 j + k] = v\n into r1[k] = v\n into r2 = v\n into r3[k] = v\n" inner \
    " }\n b: f64 = total r2\n store s[5 i + j] = b\n }\n for l < 7 {\n c: f64 = total r1[l]\n"                        \
    " store t[7 i + l] = c\n }\n }\n for e < 35 {\n d: f64 = total r0[e]\n store z[e] = d\n }\n for f < 7 {\n"        \
    " g: f64 = total r3[f]\n store z[f + 40] = g\n }\n}"

static void axes(void **unused) {
    static const char *const texts[] = {
        AXES("2", "", ""),
        AXES("7", "", ""),
        AXES("40", "", ""),
        AXES("512", "", ""),
        AXES("513", "", ""),
        AXES("40", "", " w: f64 = mul v v\n store y[35 i + 7 j + k] = w\n"),
        AXES("40", "", " store x[35 i + 7 j + k + 1] = half\n"),
        AXES("40", " store x[35 i] = half\n", ""),
        AXES("40", " m: i64 = load n[i]\n for w < min(3, m) {\n store z[w + 50] = half\n }\n", ""),
        AXES("40", " w: f64 = total r0[3]\n store y[i] = w\n", ""),
        AXES("40", " into r0[2] = half\n", ""),
        AXES("40", " q: bool = within i < 20\n while q\n", ""),
        AXES("40", " q: bool = within i < 20\n if q {\n into r3[1] = half\n }\n", ""),
    };
    (void)unused;
    each(texts, sizeof texts / sizeof *texts, 4);
}

/* Matrices of which few diagonals are not like the rest: places that meet, that are outside, that two loops count; what
 * is loaded and stored there alone; and loops that are to stay as they are. */
#define DIAGONALS(rows, columns, body)                                                                            \
    "loop {\n array x: f64[3000] in base 0\n array y: f64[3000] inout base 1\n array k: i64[100] in base 2\n"     \
    " one: i32 = number 1\n half: f64 = number 0.5\n nothing: f64 = number 0.0\n far: i32 = number 2147483647\n"  \
    " for i < " rows " {\n for j < " columns " {\n a: i32 = index j\n b: i32 = index i\n d: bool = eq a b\n" body \
    " }\n }\n}"

static void diagonals(void **unused) {
    static const char *const texts[] = {
        DIAGONALS("40", "40", " c: f64 = convert d\n store y[40 i + j] = c\n"),
        DIAGONALS("20", "60", " c: f64 = convert d\n l: f64 = load x[i]\n m: f64 = mul c l\n store y[60 i + j] = m\n"),
        DIAGONALS("60", "20", " l: f64 = load x[20 i + j]\n m: f64 = select d l half\n store y[20 i + j] = m\n"),
        DIAGONALS("40", "50",
                  " e: i32 = add b one\n f: bool = eq a e\n c: f64 = convert f\n g: f64 = convert d\n"
                  " l: f64 = load x[j]\n m: f64 = fma c l g\n store y[50 i + j] = m\n"),
        DIAGONALS("40", "50",
                  " e: i32 = index 3 i - 7\n f: bool = eq e a\n c: f64 = convert f\n g: f64 = convert d\n"
                  " l: f64 = load x[j]\n m: f64 = fma c l g\n store y[50 i + j] = m\n"),
        DIAGONALS("40", "50",
                  " e: i32 = sub one a\n f: bool = eq e b\n n: bool = not f\n l: f64 = load x[50 i + j] where n else "
                  "half\n store y[50 i + j] = l\n"),
        DIAGONALS("40", "40", " store y[40 i + j] = half where d\n"),
        DIAGONALS("40", "40",
                  " q: bool = within 3 <= j < 30\n l: f64 = load x[40 i + j - 3] where q else half\n"
                  " m: f64 = select d nothing l\n store y[40 i + j] = m\n"),
        DIAGONALS("20", "50",
                  " n: i64 = load k[j]\n l: f64 = load x[50 i + 2 clamp(n, 20)]\n m: f64 = select d l half\n"
                  " store y[50 i + j] = m\n"),
        DIAGONALS("40", "40", " l: f64 = load y[40 i + j]\n m: f64 = select d l half\n store y[40 i + j] = m\n"),
        DIAGONALS("40", "40", " e: i32 = add a far\n f: bool = eq e b\n c: f64 = convert f\n store y[40 i + j] = c\n"),
        DIAGONALS("40", "40", " e: i32 = index 2 j\n f: bool = eq e b\n c: f64 = convert f\n store y[40 i + j] = c\n"),
        DIAGONALS("40", "40", " c: f64 = convert d\n g: f64 = add c half\n update add y[40 i + j] = g\n"),
        DIAGONALS("5", "15", " c: f64 = convert d\n store y[15 i + j] = c\n"),
    };
    (void)unused;
    each(texts, sizeof texts / sizeof *texts, 4);
}

/* A loop that calls functions runs over eight vectors at a time while its code is short, over fewer the longer it is.
 */
static void widths(void **unused) {
    (void)unused;
    static const struct {
        int operations, vector;
    } cases[] = {{3, 64}, {120, 64}, {200, 32}, {400, 16}, {900, 8}, {3000, 8}};
    const tn_i_machine m = {.vector = 64, .threads = 1, .worth = 1};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        tn_ctx *c = tn_ctx_new(NULL);
        const size_t room = 64 * (size_t)cases[k].operations + 1000;
        char *text = malloc(room), want[40];
        size_t at = (size_t)snprintf(text, room,
                                     "loop {\n  array in0: f64[600] in base 2\n  array out0: f64[600] out base 1\n"
                                     "  for i0 < 600 {\n    v0: f64 = load in0[i0]\n    v1: f64 = fn sin v0\n");
        int v = 1;
        for (; v + 2 < cases[k].operations; v++)
            at += (size_t)snprintf(text + at, room - at, "    v%d: f64 = add v%d v0\n", v + 1, v);
        (void)snprintf(text + at, room - at, "    store out0[i0] = v%d\n  }\n}\n", v);
        tn_i_loops *p = tn_i_pass_vectorize(program(c, text, 0), &m);
        size_t n;
        char *after = tn_i_l_print(p, &n);
        (void)snprintf(want, sizeof want, "vector %d {", cases[k].vector);
        if (!after || !strstr(after, want)) fail_msg("%d operations: no %s", cases[k].operations, want);
        tn_text_free(c, after);
        tn_i_l_free(p);
        free(text);
        tn_ctx_free(c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_programs),
                                       cmocka_unit_test(cells),
                                       cmocka_unit_test(functions),
                                       cmocka_unit_test(scratch_arrays),
                                       cmocka_unit_test(forgotten_stores),
                                       cmocka_unit_test(updates),
                                       cmocka_unit_test(loops_between),
                                       cmocka_unit_test(rows_written_out),
                                       cmocka_unit_test(sums_in_steps),
                                       cmocka_unit_test(sums_in_a_block),
                                       cmocka_unit_test(loads_again),
                                       cmocka_unit_test(loops_over_results),
                                       cmocka_unit_test(vectors_of_updates),
                                       cmocka_unit_test(conditions),
                                       cmocka_unit_test(loops_in_a_row),
                                       cmocka_unit_test(rows_of_functions),
                                       cmocka_unit_test(sums_of_rows),
                                       cmocka_unit_test(many_functions),
                                       cmocka_unit_test(columns),
                                       cmocka_unit_test(strips_of_columns),
                                       cmocka_unit_test(axes),
                                       cmocka_unit_test(diagonals),
                                       cmocka_unit_test(widths)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
