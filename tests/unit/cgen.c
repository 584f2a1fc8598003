/* Loop programs as C: random ones mean what they do in the evaluator, bit for bit, compiled as strictly as a compiler
 * can be told to, in both flavours, by gcc and clang, whole and cut into many functions; files link with each other.
 *
 * What computes functions: for C99 the C library, at -O0 and -O1, where -fno-builtin keeps the compiler from computing
 * them itself, of constants, with another last bit. */
#include "cgen/cgen.h"
#include "loop_random.h"
#include "vec/vec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static tn_ctx *ctx;
static char dir[] = "/tmp/tansy-cgen-XXXXXX";

static int setup(void **state) {
    (void)state;
    ctx = tn_ctx_new(NULL);
    return ctx && mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state) {
    char command[64];
    (void)state;
    tn_ctx_free(ctx);
    (void)snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command);
}

#define STRICT "-std=c99 -pedantic -Wall -Wextra -Werror -fno-builtin -fPIC -shared"

static bool answers(const char *command) {
    char all[600];
    (void)snprintf(all, sizeof all, "%s >/dev/null 2>&1", command);
    return system(all) == 0;
}

/* ---- files ---- */

enum { MOST = 200 };

typedef struct file {
    tn_i_cgen g;
    const char *name;
    tn_i_loops *p[MOST];
    loop_memory before[MOST], after[MOST];
    uint64_t seed[MOST];
    uint32_t n;
} file;

/* What C99 calls for a kernel, written by hand. */
static const char rotate[] = "static int rotate(char *const *at, const int64_t *number) {\n"
                             "    const int64_t n = number[0];\n"
                             "    for (int64_t i = 0; i < n; i++) {\n"
                             "        double x, y;\n"
                             "        memcpy(&x, at[0] + (i + number[1]) % n * 8, sizeof x);\n"
                             "        memcpy(&y, at[1] + i * 8, sizeof y);\n"
                             "        y = y > x ? y : x;\n"
                             "        memcpy(at[1] + i * 8, &y, sizeof y);\n"
                             "    }\n    return 0;\n}\n";

static bool kernel(void *user, const tn_i_l_kernel *k, tn_i_text *name) {
    (void)user;
    tn_i_text_put(name, "%s", k->name);
    return true;
}

static tn_i_strip *function(void *user, const char *name) {
    const file *f = user;
    return tn_i_vec_math(name, f->g.isa, f->g.accurate).strip;
}

static void begin(file *f, const char *name, bool native, tn_i_isa isa, uint32_t piece) {
    *f = (file){.name = name, .g = {.ctx = ctx, .native = native, .isa = isa, .piece = piece}};
    f->g.kernel = kernel;
    if (native) return;
    f->g.functions.ctx = f->g.helpers.ctx = f->g.list.ctx = ctx;
    tn_i_text_put(&f->g.functions, "%s", rotate);
}

/* Adds p, with what it is to compute. */
static void add(file *f, tn_i_loops *p, uint64_t seed, tn_i_rng *r) {
    char name[64];
    const tn_i_l_eval_options o = {.function = f->g.native ? function : NULL, .user = f};
    const uint32_t k = f->n++;
    if (!p || !tn_i_l_check(p)) fail_msg("seed %llu: %s", (unsigned long long)seed, tn_error(ctx));
    f->p[k] = p;
    f->seed[k] = seed;
    assert_true(loop_memory_new(&f->before[k], p, r) && loop_memory_like(&f->after[k], &f->before[k]));
    if (tn_i_l_eval(p, f->after[k].base, &o) != TN_OK)
        fail_msg("seed %llu: %s", (unsigned long long)seed, tn_error(ctx));
    (void)snprintf(name, sizeof name, "%s_%u", f->name, k);
    if (!tn_i_cgen_add(&f->g, name, p)) fail_msg("seed %llu: %s", (unsigned long long)seed, tn_error(ctx));
}

static void write_file(file *f, const char *path) {
    tn_i_text text = {.ctx = ctx};
    assert_true(tn_i_cgen_file(&f->g, &text));
    for (uint32_t k = 0; k < f->n && !f->g.native; k++)
        tn_i_text_put(&text,
                      "int run_%s_%u(char *const *base);\nint run_%s_%u(char *const *base) { return %s_%u(base); }\n",
                      f->name, k, f->name, k, f->name, k);
    FILE *to = fopen(path, "w");
    assert_non_null(to);
    assert_int_equal(fwrite(text.at, 1, text.n, to), text.n);
    assert_int_equal(fclose(to), 0);
    tn_i_text_free(&text);
}

/* ---- running ---- */

static tn_status run_one(const file *f, uint32_t k, void *library, char *const *base) {
    static const tn_i_l_run nobody = {0};
    char name[64];
    if (f->g.native) {
        tn_i_l_compiled *const *all = dlsym(library, "tansy_programs");
        assert_non_null(all);
        return all[k](&nobody, base);
    }
    int (*call)(char *const *);
    (void)snprintf(name, sizeof name, "run_%s_%u", f->name, k);
    *(void **)(void *)&call = dlsym(library, name);
    assert_non_null(call);
    return (tn_status)call(base);
}

static void run_all(const file *f, void *library, const char *how) {
    for (uint32_t k = 0; k < f->n; k++) {
        loop_memory m;
        uint32_t array;
        int64_t at;
        assert_true(loop_memory_like(&m, &f->before[k]));
        char **base = calloc(m.n + 1u, sizeof *base);
        assert_non_null(base);
        memcpy(base, m.base, m.n * sizeof *base);
        base[f->p[k]->nbase] = (char *)(void *)f->g.table;
        assert_int_equal(run_one(f, k, library, base), TN_OK);
        if (!loop_memory_same(f->p[k], &m, &f->after[k], &array, &at)) {
            char *text = tn_i_l_print(f->p[k], NULL);
            fail_msg("%s: program %u, seed %llu: %s[%lld] differs\n%s", how, k, (unsigned long long)f->seed[k],
                     f->p[k]->array[array].name, (long long)at, text);
        }
        free(base);
        loop_memory_free(&m);
    }
}

static void drop(file *f) {
    for (uint32_t k = 0; k < f->n; k++) {
        tn_i_l_free(f->p[k]);
        loop_memory_free(&f->before[k]);
        loop_memory_free(&f->after[k]);
    }
    tn_i_cgen_free(&f->g);
}

static void compile(const char *cc, const char *flags, const char *from, const char *to) {
    char command[2048];
    (void)snprintf(command, sizeof command, "%s %s -o %s/%s %s -lm", cc, flags, dir, to, from);
    if (system(command) != 0) fail_msg("%s", command);
}

static void *load(const char *name) {
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) fail_msg("%s", dlerror());
    return library;
}

static void fill(file *f, uint64_t from, uint32_t n) {
    for (uint64_t seed = from; seed < from + n; seed++) {
        tn_i_rng r = {seed};
        tn_i_loops *p = loop_random(ctx, &r, LOOP_ALL);
        add(f, p, seed, &r);
    }
}

/* ---- C99 ---- */

/* Two files in one library: nothing but what the test itself adds has a name for others. */
static void check_names(const char *name) {
    char command[256], line[256];
    (void)snprintf(command, sizeof command, "nm -D --defined-only %s/%s | sed 's/.* //'", dir, name);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        if (strncmp(line, "run_", 4) != 0) fail_msg("%s is not static", line);
    assert_int_equal(pclose(f), 0);
}

static void portable(void **state) {
    (void)state;
    file *a = calloc(1, sizeof *a), *b = calloc(1, sizeof *b);
    char from[256], one[64], two[64];
    assert_true(a && b);
    begin(a, "whole", false, TN_ISA_PLAIN, 0);
    begin(b, "cut", false, TN_ISA_PLAIN, 10);
    fill(a, 1, 100);
    fill(b, 1001, 100);
    (void)snprintf(one, sizeof one, "%s/whole.c", dir);
    (void)snprintf(two, sizeof two, "%s/cut.c", dir);
    write_file(a, one);
    write_file(b, two);
    (void)snprintf(from, sizeof from, "%s %s", one, two);
    compile("gcc", STRICT " -O1", from, "gcc.so");
    check_names("gcc.so");
    void *library = load("gcc.so");
    run_all(a, library, "gcc -O1");
    run_all(b, library, "gcc -O1, in pieces");
    (void)dlclose(library);
    if (answers("clang-16 --version")) {
        compile("clang-16", STRICT " -O1", from, "clang.so");
        library = load("clang.so");
        run_all(a, library, "clang -O1");
        run_all(b, library, "clang -O1, in pieces");
        (void)dlclose(library);
    }
    drop(a);
    drop(b);
    free(a);
    free(b);
}

/* ---- native ---- */

static void native_of(const char *cc, tn_i_isa isa, uint32_t piece, uint64_t seed, uint32_t n, bool accurate) {
    file *f = calloc(1, sizeof *f);
    char flags[512] = "-fPIC -shared", path[64], to[64];
    const char *flag[24];
    assert_non_null(f);
    begin(f, "native", true, isa, piece);
    f->g.accurate = accurate;
    fill(f, seed, n);
    (void)snprintf(path, sizeof path, "%s/native.c", dir);
    (void)snprintf(to, sizeof to, "native%llu.so", (unsigned long long)seed);
    write_file(f, path);
    tn_i_cgen_flags(isa, flag);
    for (int i = 0; flag[i]; i++) strcat(strcat(flags, " "), flag[i]);
    compile(cc, flags, path, to);
    void *library = load(to);
    run_all(f, library, cc);
    (void)dlclose(library);
    drop(f);
    free(f);
}

static void native(void **state) {
    (void)state;
    const tn_i_isa isa = tn_i_isa_best();
    native_of("gcc", isa, 0, 2001, 60, false);
    native_of("gcc", isa, 12, 3001, 30, true);
    native_of("gcc", TN_ISA_PLAIN, 0, 4001, 30, false);
    if (answers("clang-16 --version")) native_of("clang-16", isa, 0, 5001, 30, false);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(portable), cmocka_unit_test(native)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
