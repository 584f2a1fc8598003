/* Loop programs as C: random ones mean what they do in the evaluator, bit for bit, compiled as strictly as a compiler
 * can be told to, in both flavours, by gcc and clang, whole and cut into many functions; files link with each other.
 *
 * What computes functions: for C99 the C library, at -O0 and -O1, where -fno-builtin keeps the compiler from computing
 * them itself, of constants, with another last bit. */
#include "amount.h"
#include "cgen/cgen.h"
#include "loop_random.h"
#include "prims/ids.h"
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

enum { MOST = 400 };

typedef struct file {
    tn_i_cgen g;
    const char *name;
    tn_i_loops *p[MOST];
    loop_memory before[MOST], after[MOST];
    uint64_t seed[MOST];
    uint32_t n;
    bool rotates; /* the kernel is written */
} file;

/* What C99 calls for a kernel, written by hand. */
static const char rotate[] = "static int rotate(char *const *at, const int64_t *number) {\n"
                             "    const int64_t n = number[0];\n"
                             "    for (int64_t i = 0; i < n; i++) {\n"
                             "        double x, y;\n"
                             "        memcpy(&x, at[0] + (i + number[1]) % n * 8, sizeof x);\n"
                             "        memcpy(&y, at[1] + i * 8, sizeof y);\n"
                             "        y = y > x && !number[2] ? y : x;\n"
                             "        memcpy(at[1] + i * 8, &y, sizeof y);\n"
                             "    }\n    return 0;\n}\n";

static bool kernel(void *user, const tn_i_l_kernel *k, tn_i_text *name) {
    file *f = user;
    if (!f->rotates) tn_i_text_put(&f->g.helpers, "%s", rotate);
    f->rotates = true;
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
    f->g.user = f;
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

/* Parts the other way round. */
static tn_status backwards(const tn_i_l_run *run, char *const *base, int64_t n, tn_i_l_part *part) {
    tn_status status = TN_OK;
    while (n-- > 0 && status == TN_OK) status = part(run, base, n);
    return status;
}

static tn_status run_one(const file *f, uint32_t k, void *library, char *const *base) {
    const tn_i_l_run nobody = {.share = k % 2 ? backwards : NULL, .table = f->g.table};
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

/* What the programs' own arrays need: reductions are on the stack. */
static size_t arena_of(const file *f) {
    size_t most = 0;
    for (uint32_t k = 0; k < f->n; k++)
        if ((size_t)f->p[k]->bytes > most) most = (size_t)f->p[k]->bytes;
    return most;
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
        if (f->p[k]->arena != TN_L_NONE) assert_true(f->g.native || f->g.scratch <= arena_of(f));
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

/* ---- what is compiled and run ---- */

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

/* Both files as one library. */
static void check_portable(const char *cc, file *a, file *b, const char *to) {
    char from[256], one[64], two[64];
    (void)snprintf(one, sizeof one, "%s/%s.c", dir, a->name);
    (void)snprintf(two, sizeof two, "%s/%s.c", dir, b->name);
    write_file(a, one);
    write_file(b, two);
    (void)snprintf(from, sizeof from, "%s %s", one, two);
    compile(cc, STRICT " -O1", from, to);
    check_names(to);
    void *library = load(to);
    run_all(a, library, cc);
    run_all(b, library, cc);
    (void)dlclose(library);
}

static void check_native(const char *cc, file *f, const char *to) {
    char flags[512] = "-fPIC -shared", path[64];
    const char *flag[24];
    (void)snprintf(path, sizeof path, "%s/%s.c", dir, f->name);
    write_file(f, path);
    tn_i_cgen_flags(f->g.isa, flag);
    for (int i = 0; flag[i]; i++) strcat(strcat(flags, " "), flag[i]);
    compile(cc, flags, path, to);
    void *library = load(to);
    run_all(f, library, cc);
    (void)dlclose(library);
}

static file *new_file(const char *name, bool native, tn_i_isa isa, uint32_t piece) {
    file *f = malloc(sizeof *f);
    assert_non_null(f);
    begin(f, name, native, isa, piece);
    return f;
}

static void free_file(file *f) {
    drop(f);
    free(f);
}

/* ---- random programs ---- */

static void random_portable(void **state) {
    (void)state;
    file *a = new_file("whole", false, TN_ISA_PLAIN, 0), *b = new_file("cut", false, TN_ISA_PLAIN, 10);
    fill(a, 1, (uint32_t)amount(100, 15));
    fill(b, 1001, (uint32_t)amount(100, 15));
    check_portable("gcc", a, b, "gcc.so");
    if (answers("clang-16 --version")) check_portable("clang-16", a, b, "clang.so");
    free_file(a);
    free_file(b);
}

static void native_of(const char *cc, tn_i_isa isa, uint32_t piece, uint64_t seed, uint32_t n, bool accurate) {
    char to[64];
    file *f = new_file("native", true, isa, piece);
    f->g.accurate = accurate;
    fill(f, seed, n);
    (void)snprintf(to, sizeof to, "native%llu.so", (unsigned long long)seed);
    check_native(cc, f, to);
    free_file(f);
}

static void random_native(void **state) {
    (void)state;
    const tn_i_isa isa = tn_i_isa_best();
    const uint32_t few = (uint32_t)amount(30, 5);
    native_of("gcc", isa, 0, 2001, (uint32_t)amount(60, 10), false);
    native_of("gcc", isa, 12, 3001, few, true);
    native_of("gcc", TN_ISA_PLAIN, 0, 4001, few, false);
    if (answers("clang-16 --version")) native_of("clang-16", isa, 0, 5001, few, false);
}

/* ---- vector loops of every length ---- */

/* Loops, branches, halves and functions of both dtypes inside; what is alike in all iterations. */
static tn_i_loops *vector_loop(int n, bool known) {
    char text[4000], count[32];
    (void)snprintf(count, sizeof count, known ? "%d" : "min(%d, %d - o)", n, n);
    (void)snprintf(text, sizeof text,
                   "loop {\n array x: f64[71] in base 0\n array w: f32[71] in base 1\n array k: i64[71] in base 2\n"
                   "array y: f64[71] inout base 3\n array z: f32[71] inout base 4\n array b: bool[71] inout base 5\n"
                   "array m: i32[71] inout base 6\n two: f64 = number 2.5\n"
                   "for o < 3 {\n for i < %s vector 8 {\n"
                   "a: f64 = load x[i]\n q: f32 = load w[i]\n r: i64 = load k[i]\n same: f64 = load x[o]\n"
                   "alike: f64 = fn tanh same\n"
                   "for j < 4 {\n c: f64 = carry a\n p: bool = within 1 <= j + o < 4\n t: f64 = fn tanh c\n"
                   "if p {\n e: f64 = fn exp t\n e1: f64 = mul e alike\n} else {\n d: f64 = fn digamma c\n}\n"
                   "g: f64 = join e1 d\n v: f64 = add g t\n next c = v\n}\n"
                   "l: f64 = last c\n h: f64 = halves sum v\n s: f32 = fn sin q\n s1: f32 = load z[i]\n"
                   "s2: f32 = fn atan2 s s1\n"
                   "pw: f64 = fn pow a two\n bb: bool = lt l h\n f: f64 = add pw h\n r1: i32 = convert r\n"
                   "pick: f64 = load x[clamp(r, 70)] where bb else two\n f1: f64 = add f pick\n"
                   "store y[i] = f1\n store z[i] = s2 where bb\n store b[i] = bb\n store m[i] = r1\n}\n}\n}\n",
                   count);
    return tn_i_l_parse(ctx, text, strlen(text), "text", NULL, 0);
}

static void some_lengths(file *f, size_t each) {
    static const int n[] = {0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 70, 71};
    for (size_t i = 0; i < 2 * sizeof n / sizeof *n; i += each) {
        tn_i_rng r = {i + 1};
        add(f, vector_loop(n[i / 2], i % 2), (uint64_t)n[i / 2], &r);
    }
}

static void lengths(void **state) {
    (void)state;
    file *a = new_file("lengths", false, TN_ISA_PLAIN, 0), *b = new_file("lengthscut", false, TN_ISA_PLAIN, 8),
         *n = new_file("lengthsnative", true, tn_i_isa_best(), 0),
         *m = new_file("lengthsnativecut", true, tn_i_isa_best(), 8);
    some_lengths(a, (size_t)amount(3, 14));
    some_lengths(b, 7);
    some_lengths(n, (size_t)amount(1, 6));
    some_lengths(m, 7);
    check_portable("gcc", a, b, "lengths.so");
    check_native("gcc", n, "lengthsnative.so");
    check_native("gcc", m, "lengthsnativecut.so");
    free_file(a);
    free_file(b);
    free_file(n);
    free_file(m);
}

/* ---- elementwise primitives ---- */

static bool converts(int id) { return id == TN_P_convert_element_type || id == TN_P_bitcast_convert_type; }

static bool takes(const tn_prim *prim, int dtype, int64_t param) {
    if (prim->id == TN_P_bitcast_convert_type)
        return dtype != TN_BOOL && param != TN_BOOL && tn_i_dtype_size(dtype) == tn_i_dtype_size((int)param);
    return (prim->flags & TN_F_ELEMENTWISE) && prim->dtypes >> dtype & 1 && (param >= 0 || tn_i_is_float(dtype));
}

static tn_i_loops *elementwise(const tn_prim *prim, int dtype, int64_t param) {
    const tn_i_param p = {.kind = prim->params ? prim->params[0].kind : TN_K_NONE, .u.i = param};
    const bool compares = prim->type == tn_i_type_compare || prim->id == TN_P_is_finite;
    const int result = compares ? TN_BOOL : converts(prim->id) ? (int)param : dtype;
    uint32_t x[3], v[3];
    tn_i_l_builder b;
    tn_i_l_begin(&b, ctx);
    for (int i = 0; i < prim->nin; i++)
        x[i] = tn_i_l_array_new(&b, "x", prim->id == TN_P_select && i == 0 ? TN_BOOL : dtype, TN_L_IN, 200, (uint32_t)i,
                                0, 0);
    const uint32_t y = tn_i_l_array_new(&b, "y", result, TN_L_INOUT, 200, (uint32_t)prim->nin, 0, 0);
    const uint32_t loop = tn_i_l_for_n(&b, 200);
    const tn_i_affine at = tn_i_affine_loop(loop, 1, 0);
    tn_i_l_set_vector(&b, loop, 8);
    for (int i = 0; i < prim->nin; i++) v[i] = tn_i_l_load_at(&b, x[i], at);
    tn_i_l_store_at(&b, y, at, tn_i_l_elementwise(&b, prim, &p, result, (uint32_t)prim->nin, v));
    tn_i_l_close(&b);
    return tn_i_l_end(&b);
}

static void all_primitives(file *f) {
    for (int id = 0; id < TN_NPRIMS; id++) {
        const tn_prim *prim = ctx->prims[id];
        int64_t lo = 0, hi = 0;
        if (!in_turn((size_t)id, 2)) continue;
        if (id == TN_P_round) hi = 1;
        if (id == TN_P_fma || id == TN_P_strict_fma) hi = 2;
        if (converts(id)) hi = TN_I_OWN_DTYPES - 1;
        if (id == TN_P_integer_pow) lo = -3, hi = 5;
        for (int dtype = 0; dtype < TN_I_OWN_DTYPES; dtype++)
            for (int64_t param = lo; param <= hi; param++) {
                tn_i_rng r = {(uint64_t)id};
                if (takes(prim, dtype, param)) add(f, elementwise(prim, dtype, param), (uint64_t)id, &r);
            }
    }
}

static void primitives(void **state) {
    (void)state;
    file *a = new_file("primitives", false, TN_ISA_PLAIN, 0), *b = new_file("none", false, TN_ISA_PLAIN, 0),
         *n = new_file("primitivesnative", true, tn_i_isa_best(), 0);
    all_primitives(a);
    all_primitives(n);
    fill(b, 7001, 20);
    assert_true(a->n > (size_t)amount(150, 60));
    check_portable("gcc", a, b, "primitives.so");
    check_native("gcc", n, "primitivesnative.so");
    free_file(a);
    free_file(b);
    free_file(n);
}

/* ---- long programs, and what is refused ---- */

static void long_programs(void **state) {
    (void)state;
    tn_i_l_builder b;
    tn_i_rng r = {5};
    enum { N = 5 * TN_CGEN_PIECE };
    static uint32_t v[N];
    file *f = new_file("straight", true, tn_i_isa_best(), 0);
    tn_i_l_begin(&b, ctx);
    const uint32_t x = tn_i_l_array_new(&b, "x", TN_F64, TN_L_IN, 8, 0, 0, 0),
                   y = tn_i_l_array_new(&b, "y", TN_F64, TN_L_INOUT, 8, 1, 0, 0);
    for (int i = 0; i < 8; i++) v[i] = tn_i_l_load_at(&b, x, tn_i_affine_number(i));
    const int length = amount(N, 3 * TN_CGEN_PIECE);
    for (int i = 8; i < length; i++) {
        const int64_t one = tn_i_pick(&r, 0, i - 1), two = tn_i_pick(&r, i < 40 ? 0 : i - 40, i - 1);
        v[i] = tn_i_l_map(&b, i % 3 ? TN_L_sub : TN_L_mul, v[one], v[two], TN_L_NONE);
    }
    for (int i = 0; i < 8; i++) tn_i_l_store_at(&b, y, tn_i_affine_number(i), v[length - 1 - i]);
    add(f, tn_i_l_end(&b), 0, &r);
    size_t lines = 0, longest = 0, functions = 0;
    for (const char *s = f->g.functions.at; *s; s++) {
        lines += *s == '\n';
        if (s[0] != '\n' || s[1] != '}') continue;
        functions++;
        longest = lines > longest ? lines : longest;
        lines = 0;
    }
    assert_true(functions > (size_t)amount(4, 2));
    assert_true(longest < 2 * TN_CGEN_PIECE);
    check_native("gcc", f, "straight.so");
    free_file(f);
}

/* A loop whose body is many functions: what is from outside is read early in it, and must last for the next iteration.
 */
static tn_i_loops *long_loop(tn_i_rng *r, bool vector) {
    tn_i_l_builder b;
    uint32_t v[300], carry[2];
    tn_i_l_begin(&b, ctx);
    const uint32_t x = tn_i_l_array_new(&b, "x", TN_F64, TN_L_IN, 80, 0, 0, 0),
                   y = tn_i_l_array_new(&b, "y", TN_F64, TN_L_INOUT, 80, 1, 0, 0);
    uint32_t around = TN_L_NONE;
    if (vector) {
        around = tn_i_l_for_n(&b, tn_i_pick(r, 1, 80));
        tn_i_l_set_vector(&b, around, 8);
    }
    for (int i = 0; i < 20; i++)
        v[i] = tn_i_l_load_at(&b, x, vector && i % 2 ? tn_i_affine_loop(around, 1, 0) : tn_i_affine_number(i));
    const uint32_t loop = tn_i_l_for_n(&b, 3);
    for (int i = 0; i < 2; i++) carry[i] = v[20 + i] = tn_i_l_carry(&b, v[i]);
    for (int i = 22; i < 300; i++) {
        const int64_t last = i - 1, from = i < 60 ? 0 : i - 30;
        const tn_i_l_code code = i % 3 ? TN_L_sub : i % 2 ? TN_L_fold_max : TN_L_mul;
        v[i] = i % 50 == 0 ? tn_i_l_index(&b, TN_F64, tn_i_affine_loop(loop, 2, i))
                           : tn_i_l_map(&b, code, v[tn_i_pick(r, from, last)], v[tn_i_pick(r, from, last)], TN_L_NONE);
    }
    tn_i_l_next(&b, carry[0], v[299]);
    tn_i_l_next(&b, carry[1], v[20]);
    tn_i_l_close(&b);
    const uint32_t sum = tn_i_l_map(&b, TN_L_add, tn_i_l_last(&b, carry[0]), v[19], TN_L_NONE);
    tn_i_l_store_at(&b, y, vector ? tn_i_affine_loop(around, 1, 0) : tn_i_affine_number(3), sum);
    if (vector) tn_i_l_close(&b);
    return tn_i_l_end(&b);
}

static void long_loops(void **state) {
    (void)state;
    file *a = new_file("loops", false, TN_ISA_PLAIN, 9), *b = new_file("longer", false, TN_ISA_PLAIN, 60);
    for (uint64_t k = 0; k < 12; k++) {
        tn_i_rng r = {k};
        add(a, long_loop(&r, k % 2), k, &r);
        add(b, long_loop(&r, k % 2), k, &r);
    }
    check_portable("gcc", a, b, "loops.so");
    free_file(a);
    free_file(b);
}

static void refused(void **state) {
    (void)state;
    const char *const text[] = {
        "loop {\n array y: f64[1] out base 0\n array x: f64[1] in base 1\n call nobody(read x[0 : "
        "1], write y[0 : 1])\n}",
        "loop {\n array x: f64[1] in base 0\n array y: f64[1] out base 1\n r: f64 = reduce sum "
        "100000\nfor i < 100000 {\n v: f64 = load x[0]\n into r[i] = v\n}\nt: f64 = total r[3]\n"
        "store y[0] = t\n}"};
    const char *const why[] = {"nobody: there is no such kernel", "100000000 bytes", ""};
    for (int i = 0; i < 2; i++) {
        tn_i_cgen g = {.ctx = ctx, .native = true, .isa = TN_ISA_PLAIN};
        tn_i_loops *p = tn_i_l_parse(ctx, text[i], strlen(text[i]), "text", NULL, 0);
        assert_non_null(p);
        assert_true(tn_i_l_check(p));
        assert_false(tn_i_cgen_add(&g, "f", p));
        if (!strstr(tn_error(ctx), i ? "of the stack" : why[i])) fail_msg("%s", tn_error(ctx));
        tn_i_cgen_free(&g);
        tn_i_l_free(p);
    }
}

/* What the first kernel that fails returns ends the program, out of functions and parts, too. */
static tn_status fails(const void *data, const tn_i_l_run *run, char *const *at, const int64_t *number) {
    (void)data, (void)run;
    memcpy(at[0], &(double){(double)number[0]}, 8);
    return number[0] == 2 ? TN_ECALLBACK : TN_OK;
}

static void kernels_fail(void **state) {
    (void)state;
    static const char text[] = "loop {\n array y: f64[4] inout base 0\n for i < 4 parallel {\n for j < 1 {\n"
                               "call fails(update y[i : 1], i)\n}\n}\n}";
    const tn_i_l_kernel k = {.name = tn_i_string(ctx, "fails", 5), .run = fails};
    for (uint32_t piece = 1; piece < 1000; piece += 500) {
        double y[4] = {-1, -1, -1, -1};
        file *f = new_file("fails", true, TN_ISA_PLAIN, piece);
        f->p[0] = tn_i_l_parse(ctx, text, strlen(text), "text", &k, 1);
        assert_non_null(f->p[0]);
        assert_true(tn_i_cgen_add(&f->g, "fails", f->p[0]));
        char to[32];
        (void)snprintf(to, sizeof to, "fails%u.so", piece);
        check_native("gcc", f, to);
        void *library = load(to);
        char *base[2] = {(char *)y, (char *)(void *)f->g.table};
        assert_int_equal(run_one(f, 0, library, base), TN_ECALLBACK);
        assert_true(y[1] == 1 && y[2] == 2 && y[3] == -1);
        (void)dlclose(library);
        tn_i_l_free(f->p[0]);
        free_file(f);
    }
}

/* Reductions that would be too much for the stack of a small machine are behind the program's scratch arrays. */
static void states_apart(void **state) {
    (void)state;
    enum { N = 1000, MORE = 64 };
    static const char text[] =
        "loop {\n array x: f64[1000] in base 0\n array y: f64[1000] out base 1\n"
        " array w: f64[8] scratch base 2\n arena 64 base 2\n r: f64 = reduce sum 1000\n s: f64 = reduce argmax 1000\n"
        "for i < 1000 {\n for k < 3 {\n v: f64 = load x[i]\n u: f64 = add v v\n into r[i] = u\n into s[i] = v\n"
        " store w[k] = u\n}\n}\nfor j < 1000 {\n t: f64 = total r[j]\n a: i64 = total s[j]\n c: f64 = convert a\n"
        " b: f64 = add t c\n store y[j] = b\n}\n}";
    for (uint32_t piece = 3; piece < 1000; piece += 900) {
        static double x[N], y[N];
        char name[32], path[64];
        (void)snprintf(path, sizeof path, "%s/apart%u.c", dir, piece);
        file *f = new_file("apart", false, TN_ISA_PLAIN, piece);
        tn_i_loops *p = f->p[0] = tn_i_l_parse(ctx, text, strlen(text), "text", NULL, 0);
        if (!p || !tn_i_l_check(p)) fail_msg("%s", tn_error(ctx));
        f->n = 1;
        (void)snprintf(name, sizeof name, "%s_0", f->name);
        if (!tn_i_cgen_add(&f->g, name, p)) fail_msg("%s", tn_error(ctx));
        assert_true(f->g.scratch > (size_t)p->bytes + N * 8 * 18);
        write_file(f, path);
        (void)snprintf(name, sizeof name, "apart%u.so", piece);
        compile("gcc", STRICT " -O1 -Wframe-larger-than=4096", path, name);
        void *library = load(name);
        unsigned char *room = malloc(f->g.scratch + MORE);
        assert_non_null(room);
        memset(room, 0xAB, f->g.scratch + MORE);
        for (int i = 0; i < N; i++) x[i] = i, y[i] = -1;
        char *base[3] = {(char *)x, (char *)y, (char *)room};
        assert_int_equal(run_one(f, 0, library, base), TN_OK);
        for (int i = 0; i < N; i++) assert_true(y[i] == 6.0 * i);
        for (int i = 0; i < MORE; i++) assert_int_equal(room[f->g.scratch + (size_t)i], 0xAB);
        free(room);
        (void)dlclose(library);
        free_file(f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_portable), cmocka_unit_test(random_native), cmocka_unit_test(lengths),
        cmocka_unit_test(primitives),      cmocka_unit_test(long_programs), cmocka_unit_test(long_loops),
        cmocka_unit_test(refused),         cmocka_unit_test(kernels_fail),  cmocka_unit_test(states_apart)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
