/* How good is the code that loop programs become in memory (src/jit), and what does it cost to make?  Chains, sums in
 * their order, a recurrent cell, and straight-line programs of 10^3 to 10^5 scalar operations, beside the same in C:
 * vectors by gcc -O3, scalar programs by cc -O1, each for AVX2.  One JSON line each; where the bits differ, the exit
 * status is 1. */
#include "jit/jit.h"
#include "measure.h"
#include "vec/vec.h"

#include <dlfcn.h>
#include <math.h>
#include <stdarg.h>
#include <unistd.h>

enum { HOLDS = 15, PIECE = 1024 };
static bool differs;

/* ---- programs as text ---------------------------------------------------------------------------------- */

typedef struct text {
    char *at;
    size_t n, room;
} text;

static void put(text *t, const char *format, ...) {
    va_list ap;
    if (t->n + PIECE > t->room) t->at = realloc(t->at, t->room = 2 * t->room + 4096);
    if (!t->at) abort();
    va_start(ap, format);
    t->n += (size_t)vsnprintf(t->at + t->n, PIECE, format, ap);
    va_end(ap);
}

typedef struct code {
    tn_ctx *ctx;
    tn_i_loops *p;
    tn_i_jit pages;
    tn_i_l_compiled *run;
    double made; /* seconds, the cheapest of several */
} code;

static code compiled(const text *t) {
    code c = {.ctx = tn_ctx_new(NULL)};
    char why[TN_JIT_WHY];
    c.p = tn_i_l_parse(c.ctx, t->at, t->n, "bench", NULL, 0);
    if (!c.p || !tn_i_l_check(c.p)) fprintf(stderr, "%s\n", tn_error(c.ctx)), exit(2);
    for (int i = 0; i < 5; i++) {
        tn_i_code buffer;
        tn_i_jit_label at;
        if (c.run) tn_i_jit_drop(c.ctx, &c.pages);
        const double begin = now();
        tn_i_code_begin(&buffer, c.ctx, tn_i_isa_best());
        if (tn_i_jit_compile(&buffer, c.p, NULL, &at, why) != TN_JIT_OK ||
            tn_i_jit_seal(&buffer, &c.pages, why) != TN_JIT_OK)
            fprintf(stderr, "%s %s\n", why, tn_error(c.ctx)), exit(2);
        const double s = now() - begin;
        c.run = tn_i_jit_program(&c.pages, &buffer, at);
        tn_i_code_drop(&buffer);
        if (i == 0 || s < c.made) c.made = s;
    }
    return c;
}

static void drop(code *c) {
    tn_i_jit_drop(c->ctx, &c->pages);
    tn_i_l_free(c->p);
    tn_ctx_free(c->ctx);
}

/* ---- measuring -------------------------------------------------------------------------------------------- */

typedef void by_hand(char *const *base);
static const tn_i_l_run nobody;

static double held(const code *c, by_hand *f, char *const *base, int64_t times) {
    const double begin = now();
    for (int64_t i = 0; i < times; i++) {
        if (c)
            (void)c->run(&nobody, base);
        else
            f(base);
    }
    return (now() - begin) / (double)times;
}

/* Of both, in turn: the cheapest. */
static void compare(const char *name, const code *c, by_hand *f, char *const *base, char *const *other, size_t out,
                    size_t bytes, double operations) {
    double mine = 1e9, theirs = 1e9;
    (void)c->run(&nobody, base);
    f(other);
    const bool same = memcmp(base[out], other[out], bytes) == 0;
    differs = differs || !same;
    int64_t times = 1;
    while (held(c, f, base, times) * (double)times < 0.004) times *= 2;
    for (int i = 0; i < HOLDS; i++) {
        const double a = held(c, f, base, times), b = held(NULL, f, base, times);
        mine = a < mine ? a : mine;
        theirs = b < theirs ? b : theirs;
    }
    printf("{\"name\": \"%s\", \"ns\": %.1f, \"c_ns\": %.1f, \"ratio\": %.2f, \"made_us\": %.1f, \"ops\": %.0f, "
           "\"made_ns_per_op\": %.0f, \"same\": %s}\n",
           name, mine * 1e9, theirs * 1e9, mine / theirs, c->made * 1e6, operations, c->made * 1e9 / operations,
           same ? "true" : "false");
}

/* ---- chains ------------------------------------------------------------------------------------------------- */

#define AVX2 __attribute__((target("avx2,fma")))
static const double A[8] = {0.9, 1.1, 0.7, 1.3, 0.8, 1.2, 0.6, 1.05},
                    B[8] = {0.1, -0.2, 0.3, 0.05, -0.1, 0.2, 0.4, 0.01};
enum { SMALL = 1024, LARGE = 131072 };

AVX2 static void chain(const double *restrict x, double *restrict y, int n) {
    for (int i = 0; i < n; i++) {
        double v = x[i];
        for (int k = 0; k < 8; k++) v = __builtin_fma(v, A[k], B[k]);
        y[i] = v;
    }
}
AVX2 static void chain_small(char *const *base) { chain((double *)(void *)base[0], (double *)(void *)base[1], SMALL); }
AVX2 static void chain_large(char *const *base) { chain((double *)(void *)base[0], (double *)(void *)base[1], LARGE); }

static void bench_chain(const char *name, int n, int width, by_hand *f, char *const *base, char *const *other) {
    text t = {0};
    put(&t, "loop {\narray x: f64[%d] in base 0\narray y: f64[%d] out base 1\n", n, n);
    for (int k = 0; k < 8; k++) put(&t, "a%d: f64 = number %.17g\nb%d: f64 = number %.17g\n", k, A[k], k, B[k]);
    put(&t, "for i < %d vector %d {\nv0: f64 = load x[i]\n", n, width);
    for (int k = 0; k < 8; k++) put(&t, "v%d: f64 = fma v%d a%d b%d\n", k + 1, k, k, k);
    put(&t, "store y[i] = v8\n}\n}\n");
    code c = compiled(&t);
    compare(name, &c, f, base, other, 1, (size_t)n * 8, 18);
    drop(&c);
    free(t.at);
}

/* ---- sums in their order: 16 lanes, leaves of 512 -------------------------------------------------------------- */

AVX2 static void sum_hand(char *const *base) {
    typedef double v4 __attribute__((vector_size(32)));
    const v4 *x = (const v4 *)(void *)base[0];
    double *y = (double *)(void *)base[1];
    for (int i = 0; i < LARGE / 512; i++) {
        v4 a = {0}, b = {0}, c = {0}, d = {0};
        for (int k = 0; k < 32; k++, x += 4) a += x[0] * x[0], b += x[1] * x[1], c += x[2] * x[2], d += x[3] * x[3];
        a = (a + c) + (b + d);
        y[i] = (a[0] + a[2]) + (a[1] + a[3]);
    }
}

static void bench_sum(char *const *base, char *const *other) {
    text t = {0};
    put(&t,
        "loop {\narray x: f64[%d] in base 0\narray y: f64[%d] out base 1\nzero: f64 = number 0\nfor l < %d {\n"
        "for i < 16 vector 16 {\nfor k < 32 {\nc: f64 = carry zero\nv: f64 = load x[512 l + 16 k + i]\nw: f64 = mul v "
        "v\n"
        "s: f64 = add c w\nnext c = s\n}\nr: f64 = last c\n}\nh: f64 = halves sum r\nstore y[l] = h\n}\n}\n",
        LARGE, LARGE / 512, LARGE / 512);
    code c = compiled(&t);
    compare("sums of squares, leaves of 512, 131072", &c, sum_hand, base, other, 1, LARGE / 512 * 8, 12);
    drop(&c);
    free(t.at);
}

/* ---- a recurrent cell: h = a W h + x, 8 units -------------------------------------------------------------------- */

enum { STEPS = 1000, UNITS = 8 };
AVX2 static void cell_hand(char *const *base) {
    const double *x = (const double *)(void *)base[0], *w = (const double *)(void *)base[2];
    double *h = (double *)(void *)base[1], g[UNITS];
    for (int i = 0; i < UNITS; i++) h[i] = 0;
    for (int t = 0; t < STEPS; t++) {
        for (int i = 0; i < UNITS; i++) {
            double s = x[UNITS * t + i];
            for (int k = 0; k < UNITS; k++) s = __builtin_fma(w[UNITS * k + i], h[k], s);
            g[i] = s * 0.5;
        }
        for (int i = 0; i < UNITS; i++) h[i] = g[i];
    }
}

static void bench_cell(char *const *base, char *const *other) {
    text t = {0};
    put(&t,
        "loop {\narray x: f64[%d] in base 0\narray h: f64[8] inout base 1\narray w: f64[64] in base 2\narray g: f64[8] "
        "scratch "
        "base 3\narena 64 base 3\nhalf: f64 = number 0.5\nzero: f64 = number 0\n"
        "for z < 8 vector 8 {\nstore h[z] = zero\n}\nfor t < %d {\n"
        "for i < 8 vector 8 {\ns: f64 = load x[8 t + i]\nfor k < 8 unroll 8 {\nc: f64 = carry s\na: f64 = load w[8 k + "
        "i]\n"
        "b: f64 = load h[k]\nd: f64 = fma a b c\nnext c = d\n}\nl: f64 = last c\ne: f64 = mul l half\nstore g[i] = "
        "e\n}\n"
        "for j < 8 vector 8 {\nq: f64 = load g[j]\nstore h[j] = q\n}\n}\n}\n",
        STEPS * UNITS, STEPS);
    code c = compiled(&t);
    compare("cell of 8 units, 1000 steps", &c, cell_hand, base, other, 1, UNITS * 8, 30);
    drop(&c);
    free(t.at);
}

/* ---- straight-line programs ----------------------------------------------------------------------------------------
 */

static uint64_t state = 88172645463325252u;
static int pick(int n) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (int)(state % (uint64_t)n);
}

/* n operations: of numbers that were made lately, or long ago. */
static void straight(text *t, text *c, int n) {
    enum { IN = 64 };
    put(t, "loop {\narray x: f64[%d] in base 0\narray y: f64[%d] out base 1\n", IN, IN);
    put(c, "void f(char *const *base) {\nconst double *x = (const double *)base[0];\ndouble *y = (double *)base[1];\n");
    for (int i = 0; i < IN; i++) {
        put(t, "v%d: f64 = load x[%d]\n", i, i);
        put(c, "const double v%d = x[%d];\n", i, i);
    }
    for (int i = IN; i < IN + n; i++) {
        const int a = i - 1 - pick(pick(4) ? 8 : IN), b = i - 1 - pick(pick(16) ? 40 : IN), k = pick(4);
        static const char *const op[] = {"add", "sub", "mul", "add"}, sign[] = {'+', '-', '*', '+'};
        if (pick(5) == 0) {
            put(t, "c%d: f64 = number %.17g\nv%d: f64 = mul v%d c%d\n", i, 0.5 + i * 1e-5, i, a, i);
            put(c, "const double v%d = v%d * %.17g;\n", i, a, 0.5 + i * 1e-5);
            continue;
        }
        put(t, "v%d: f64 = %s v%d v%d\n", i, op[k], a, b);
        put(c, "const double v%d = v%d %c v%d;\n", i, a, sign[k], b);
    }
    for (int i = 0; i < IN; i++) {
        put(t, "store y[%d] = v%d\n", i, n + i);
        put(c, "y[%d] = v%d;\n", i, n + i);
    }
    put(t, "}\n");
    put(c, "}\n");
}

static void bench_straight(int n, char *const *base, char *const *other) {
    char source[64], library[64], command[256], name[64];
    text t = {0}, c = {0};
    straight(&t, &c, n);
    snprintf(source, sizeof source, "/tmp/tansy_jit_%ld.c", (long)getpid());
    snprintf(library, sizeof library, "/tmp/tansy_jit_%ld_%d.so", (long)getpid(), n);
    FILE *f = fopen(source, "w");
    if (!f) exit(2);
    fwrite(c.at, 1, c.n, f);
    fclose(f);
    snprintf(command, sizeof command, "cc -O1 -mavx2 -ffp-contract=off -shared -fPIC -o %s %s", library, source);
    if (system(command) != 0) exit(2);
    void *d = dlopen(library, RTLD_NOW);
    by_hand *hand = NULL;
    void *symbol = d ? dlsym(d, "f") : NULL;
    memcpy(&hand, &symbol, sizeof hand);
    if (!hand) exit(2);
    code made = compiled(&t);
    snprintf(name, sizeof name, "straight scalar code, %d operations", n);
    compare(name, &made, hand, base, other, 1, 64 * 8, n);
    drop(&made);
    dlclose(d);
    (void)unlink(source);
    (void)unlink(library);
    free(t.at);
    free(c.at);
}

int main(void) {
    char *base[4], *other[4];
    if (tn_i_isa_best() < TN_ISA_AVX2) return 0;
    for (int i = 0; i < 4; i++) {
        base[i] = aligned_alloc(64, LARGE * 8);
        other[i] = aligned_alloc(64, LARGE * 8);
        if (!base[i] || !other[i]) return 2;
        for (int k = 0; k < LARGE; k++) {
            const double v = i == 2 ? 0.1 * (pick(100) - 50) / 50 : 1 + 1e-3 * pick(1000);
            memcpy(base[i] + k * 8, &v, 8);
        }
        memcpy(other[i], base[i], LARGE * 8);
    }
    bench_chain("chain of 8 fma, 1024", SMALL, 16, chain_small, base, other);
    bench_chain("chain of 8 fma, 131072", LARGE, 16, chain_large, base, other);
    bench_sum(base, other);
    bench_cell(base, other);
    bench_straight(751, base, other);
    bench_straight(7395, base, other);
    bench_straight(73349, base, other);
    return differs;
}
