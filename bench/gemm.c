/* Products: Tansy's, BLIS called directly, and OpenBLAS where it is, in turn in one process; one JSON line each.
 *
 *     gemm [MOST]      square matrices up to MOST (2048), vectors, thin ones, batches, and matrices times their
 * transpose
 *
 * BLIS_ARCH_TYPE=25 measures a machine that BLIS knows nothing of.  OPENBLAS=FILE.so names a library that is not found
 * by itself (also the one inside of NumPy).  Processor time, one thread; 9 medians, each of enough calls. */
#include "measure.h"
#include "prims/linear/gemm.h"
#include "prims/linear/product.h"

#include <dlfcn.h>
#include <math.h>
#include <stdint.h>

/* ---- other libraries -------------------------------------------------------------------- */

/* Fortran's interface, with integers of 32 or 64 bits. */
typedef struct peer {
    const char *name;
    void *function[2]; /* f32, f64 */
    bool wide;
} peer;

static bool find(peer *p, void *library, const char *f32, const char *f64, bool wide) {
    p->function[0] = dlsym(library, f32);
    p->function[1] = dlsym(library, f64);
    p->wide = wide;
    return p->function[0] && p->function[1];
}

static bool open_peer(peer *p, const char *name, const char *file) {
    void *library = file ? dlopen(file, RTLD_NOW | RTLD_LOCAL) : NULL;
    p->name = name;
    return library && (find(p, library, "sgemm_", "dgemm_", false) ||
                       find(p, library, "scipy_sgemm_64_", "scipy_dgemm_64_", true));
}

typedef void narrow_gemm(const char *, const char *, const int32_t *, const int32_t *, const int32_t *, const void *,
                         const void *, const int32_t *, const void *, const int32_t *, const void *, void *,
                         const int32_t *);
typedef void wide_gemm(const char *, const char *, const int64_t *, const int64_t *, const int64_t *, const void *,
                       const void *, const int64_t *, const void *, const int64_t *, const void *, void *,
                       const int64_t *);

/* c' = b' a': those functions store matrices by columns. */
static void call_peer(const peer *p, const tn_i_products *w) {
    const int side = w->dtype == TN_F64;
    const double one = 1, zero = 0;
    const float one_f32 = 1, zero_f32 = 0;
    const void *alpha = side ? (const void *)&one : &one_f32, *beta = side ? (const void *)&zero : &zero_f32;
    const bool ta = w->a.cs != 1 && w->k > 1, tb = w->b.cs != 1 && w->n > 1;
    const int64_t lda = ta ? w->a.cs : w->a.rs, ldb = tb ? w->b.cs : w->b.rs;
    if (p->wide) {
        wide_gemm *f;
        memcpy(&f, &p->function[side], sizeof f);
        f(tb ? "T" : "N", ta ? "T" : "N", &w->n, &w->m, &w->k, alpha, w->b.data, &ldb, w->a.data, &lda, beta, w->c.data,
          &w->c.rs);
    } else {
        narrow_gemm *f;
        memcpy(&f, &p->function[side], sizeof f);
        const int32_t m = (int32_t)w->m, n = (int32_t)w->n, k = (int32_t)w->k, la = (int32_t)lda, lb = (int32_t)ldb,
                      lc = (int32_t)w->c.rs;
        f(tb ? "T" : "N", ta ? "T" : "N", &n, &m, &k, alpha, w->b.data, &lb, w->a.data, &la, beta, w->c.data, &lc);
    }
}

/* ---- measuring ---------------------------------------------------------------------------- */

enum { TANSY, BLIS, OPENBLAS, VARIANTS, RUNS = 9 };
static peer peers[VARIANTS];
static bool there[VARIANTS];

static void call(int variant, const tn_i_products *w) {
    if (variant == TANSY) {
        tn_i_multiply_all(1, w);
        return;
    }
    tn_i_products one = *w;
    const int64_t size = (int64_t)tn_i_dtype_size(w->dtype);
    for (int64_t i = 0; i < w->count; i++) {
        call_peer(&peers[variant], &one);
        one.a.data = (char *)one.a.data + w->anext * size;
        one.b.data = (char *)one.b.data + w->bnext * size;
        one.c.data = (char *)one.c.data + w->cnext * size;
    }
}

static double timed(int variant, const tn_i_products *w, int64_t calls) {
    const double start = now();
    for (int64_t i = 0; i < calls; i++) call(variant, w);
    return (now() - start) / (double)calls;
}

static void measure(const char *workload, const tn_i_products *w) {
    static const char *const name[VARIANTS] = {"tansy", "blis", "openblas"};
    double t[VARIANTS][RUNS];
    int64_t calls[VARIANTS];
    for (int v = 0; v < VARIANTS; v++) {
        if (!there[v]) continue;
        (void)timed(v, w, 1);
        const double once = timed(v, w, 3);
        calls[v] = once > 2e-3 ? 1 : (int64_t)(2e-3 / (once > 1e-8 ? once : 1e-8)) + 1;
    }
    for (int r = 0; r < RUNS; r++)
        for (int v = 0; v < VARIANTS; v++)
            if (there[v]) t[v][r] = timed(v, w, calls[v]);
    for (int v = 0; v < VARIANTS; v++) {
        if (!there[v]) continue;
        const double s = median(t[v], RUNS), flops = 2.0 * (double)(w->m * w->n * w->k * w->count);
        printf(
            "{\"workload\":\"%s\",\"variant\":\"%s\",\"m\":%lld,\"n\":%lld,\"k\":%lld,\"count\":%lld,\"dtype\":\"%s\","
            "\"kernels\":\"%s\",\"median_s\":%.4g,\"min_s\":%.4g,\"gflops\":%.2f}\n",
            workload, name[v], (long long)w->m, (long long)w->n, (long long)w->k, (long long)w->count,
            w->dtype == TN_F64 ? "float64" : "float32", tn_i_gemm_kernels(), s, t[v][0], flops / t[v][0] / 1e9);
    }
    (void)fflush(stdout);
}

/* ---- workloads ------------------------------------------------------------------------------ */

static void *a, *b, *c;

static tn_i_products product(int dtype, int64_t m, int64_t n, int64_t k, bool ta, bool tb) {
    return (tn_i_products){.dtype = dtype,
                           .m = m,
                           .n = n,
                           .k = k,
                           .count = 1,
                           .a = {a, ta ? 1 : k, ta ? m : 1},
                           .b = {b, tb ? 1 : n, tb ? k : 1},
                           .c = {c, n, 1}};
}

static void all_of(int dtype, int64_t most) {
    static const int64_t sizes[] = {4, 8, 16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 1024, 2048};
    static const int64_t thin[][3] = {{256, 10, 512}, {256, 512, 10}, {512, 10, 256}, {1000, 25, 10}, {10000, 25, 10}};
    static const int64_t tiny[][3] = {{3, 3, 3}, {2, 15, 3}, {4, 4, 4}, {3, 1, 3}, {10, 10, 10}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && sizes[i] <= most; i++) {
        const tn_i_products w = product(dtype, sizes[i], sizes[i], sizes[i], false, false);
        measure("gemm", &w);
    }
    for (size_t i = 0; i < sizeof thin / sizeof *thin; i++) {
        const tn_i_products w = product(dtype, thin[i][0], thin[i][1], thin[i][2], false, false);
        measure("gemm_thin", &w);
    }
    for (int64_t n = 10; n <= 2000; n = n < 100 ? n * 10 : n < 500 ? 500 : n * 4) {
        tn_i_products w = product(dtype, n, 1, n, false, false);
        measure("gemv_rows", &w);
        w = product(dtype, n, 1, n, true, false);
        measure("gemv_columns", &w);
        w = product(dtype, 1, 1, n * n, false, false);
        measure("dot", &w);
        w = product(dtype, n, n, 1, false, false);
        measure("ger", &w);
    }
    for (int64_t n = 64; n <= most && n <= 1024; n *= 2) {
        tn_i_products w = product(dtype, n, n, 2 * n, false, true);
        w.b.data = w.a.data;
        measure("gram", &w);
    }
    for (size_t i = 0; i < sizeof tiny / sizeof *tiny; i++) {
        tn_i_products w = product(dtype, tiny[i][0], tiny[i][1], tiny[i][2], false, false);
        w.count = 1000;
        w.anext = w.m * w.k;
        w.bnext = w.k * w.n;
        w.cnext = w.m * w.n;
        measure("batch", &w);
    }
}

int main(int argc, char **argv) {
    const int64_t most = argc > 1 ? atoi(argv[1]) : 2048, room = most < 2048 ? 2048 : most;
    const size_t bytes = (size_t)(room * room * 2) * sizeof(double);
    (void)tn_blis_select();
    (void)setenv("OPENBLAS_NUM_THREADS", "1", 1);
    there[TANSY] = true;
    there[BLIS] = open_peer(&peers[BLIS], "blis", "libblis.so.4");
    there[OPENBLAS] = open_peer(&peers[OPENBLAS], "openblas", getenv("OPENBLAS")) ||
                      open_peer(&peers[OPENBLAS], "openblas", "libopenblas.so.0");
    a = aligned_alloc(64, bytes);
    b = aligned_alloc(64, bytes);
    c = aligned_alloc(64, bytes);
    if (!a || !b || !c) return 1;
    for (int dtype = TN_F32; dtype <= TN_F64; dtype++) {
        for (size_t i = 0; i < bytes / tn_i_dtype_size(dtype); i++) {
            if (dtype == TN_F64)
                ((double *)a)[i] = ((double *)b)[i] = 1 / (double)(i % 1000 + 1);
            else
                ((float *)a)[i] = ((float *)b)[i] = 1 / (float)(i % 1000 + 1);
        }
        all_of(dtype, most);
    }
    free(a);
    free(b);
    free(c);
    return 0;
}
