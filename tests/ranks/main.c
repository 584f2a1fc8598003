/* usage: ranks [--n N] [--seed S] [--orders K] [--grid RANKS] [--mutants 1]
 *
 * Random programs on ranks that are threads.  For each program h, its derivatives up to order K among them:
 *   - everything varies as docs/mpi.md says, tangents and cotangents as what they are of;
 *   - what is replicated has the same bits on all ranks;
 *   - <ct, J v> = <J' ct, v>, varying values summed over the ranks and replicated ones counted once;
 *   - J v is what central differences of all ranks' h say (order 1).
 * A failure prints a seed: --n 1 --seed S has it again.  With --mutants rules are broken, one at a time, and each must
 * be noticed in N programs. */
#include "prims/ids.h"
#include "ranks.h"
#include "ranks_i.h"

#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ORDERS = 3, ARRAYS = 48 };

static const tn_prim *const *registry = tn_i_registry;
static bool quiet;

static void say(const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    if (!quiet) (void)vprintf(format, ap);
    va_end(ap);
}

typedef struct array {
    uint32_t over;
    double x[RANKS_N];
    size_t n;
} array;

/* What one rank found of a program of one order. */
typedef struct found {
    size_t nin, nout;
    array v[ARRAYS], ct[ARRAYS], y[ARRAYS], dy[ARRAYS], back[ARRAYS];
    double slope[ARRAYS][RANKS_N]; /* by differences, of order 1 */
} found;

typedef struct rank {
    tn_threads *threads;
    int number;
    const tn_comm_ops *ops;
    ranks_case k;
    int orders, done;
    bool differences;
    char why[1200];
    found of[ORDERS];
} rank;

/* ---- data ----------------------------------------------------------------------------------- */

/* The same on ranks that differ along other axes only. */
static void fill(const rank *r, uint64_t what, uint32_t over, size_t n, double *x) {
    uint64_t at = r->k.seed * 31 + what;
    for (size_t a = 0; a < r->k.grid.naxes; a++)
        at = at * 1000003 + (over >> a & 1 ? (uint64_t)r->ops->index[a] + 1 : 0);
    ranks_rng g = {at};
    for (size_t i = 0; i < n; i++) x[i] = ranks_uniform(&g);
}

static bool fail(rank *r, const char *what, const char *why) {
    (void)snprintf(r->why, sizeof r->why, "%s: %s", what, why);
    return false;
}

/* ---- running -------------------------------------------------------------------------------- */

static bool run(rank *r, const char *what, tn_fn *f, const double *const *in, double *const *out) {
    const tn_compile_options o = {
        .size = sizeof o, .comm = r->ops, .backend = r->k.seed % 3 == 0 ? TN_BACKEND_REFERENCE : TN_BACKEND_DEFAULT};
    tn_exec *e = tn_compile(f, &o);
    if (!e) return fail(r, what, tn_error(tn_fn_ctx(f)));
    const tn_status s = tn_call(e, (const void *const *)in, (void *const *)out);
    if (s != TN_OK) (void)fail(r, what, tn_exec_error(e));
    tn_exec_free(e);
    return s == TN_OK;
}

static bool described(rank *r, tn_ctx *c, const tn_type *t, array *a) {
    a->n = tn_type_elements(t);
    a->over = ranks_over(c, &r->k, t);
    return a->n <= RANKS_N || fail(r, "generator", "an array is too large");
}

static bool same_marks(rank *r, const char *what, const tn_fn *g, size_t j, uint32_t want) {
    char have[64], text[160], names[32];
    const tn_type t = tn_fn_output_type(g, j);
    if (ranks_over(tn_fn_ctx(g), &r->k, &t) == want) return true;
    (void)tn_type_print(&t, have, sizeof have);
    (void)snprintf(text, sizeof text, "output %zu is %s, should vary over (%s)", j, have,
                   ranks_names(&r->k, want, names));
    return fail(r, what, text);
}

static bool near(double x, double y, double within) { return fabs(x - y) <= within * (1 + fabs(y)); }

/* h, its jvp and its vjp, at one point. */
static bool try_program(rank *r, tn_ctx *c, tn_fn *h, tn_fn *jvp, tn_fn *vjp, int order) {
    found *z = &r->of[order];
    array x[ARRAYS];
    const double *in[2 * ARRAYS];
    double *out[2 * ARRAYS], scrap[ARRAYS][RANKS_N];
    char text[160];
    z->nin = tn_fn_inputs(h);
    z->nout = tn_fn_outputs(h);
    if (z->nin > ARRAYS || z->nout > ARRAYS) return fail(r, "generator", "too many arrays");
    for (size_t i = 0; i < z->nin; i++) {
        const tn_type t = tn_fn_input_type(h, i);
        if (!described(r, c, &t, &x[i])) return false;
        z->v[i] = z->back[i] = x[i];
        fill(r, 100 * (uint64_t)order + i, x[i].over, x[i].n, x[i].x);
        fill(r, 10000 + 100 * (uint64_t)order + i, x[i].over, x[i].n, z->v[i].x);
        if (!same_marks(r, "vjp", vjp, z->nout + i, x[i].over)) return false;
    }
    for (size_t j = 0; j < z->nout; j++) {
        const tn_type t = tn_fn_output_type(h, j);
        if (!described(r, c, &t, &z->y[j])) return false;
        z->dy[j] = z->ct[j] = z->y[j];
        fill(r, 20000 + 100 * (uint64_t)order + j, z->ct[j].over, z->ct[j].n, z->ct[j].x);
        if (!same_marks(r, "jvp", jvp, z->nout + j, z->y[j].over) || !same_marks(r, "vjp", vjp, j, z->y[j].over) ||
            !same_marks(r, "jvp", jvp, j, z->y[j].over))
            return false;
    }
    for (size_t i = 0; i < z->nin; i++) {
        in[i] = x[i].x;
        in[z->nin + i] = z->v[i].x;
    }
    for (size_t j = 0; j < z->nout; j++) {
        out[j] = z->y[j].x;
        out[z->nout + j] = z->dy[j].x;
    }
    if (!run(r, "jvp", jvp, in, out)) return false;
    for (size_t j = 0; j < z->nout; j++) {
        in[z->nin + j] = z->ct[j].x;
        out[j] = scrap[j];
    }
    for (size_t i = 0; i < z->nin; i++) out[z->nout + i] = z->back[i].x;
    if (!run(r, "vjp", vjp, in, out)) return false;
    for (size_t j = 0; j < z->nout; j++)
        for (size_t e = 0; e < z->y[j].n; e++)
            if (!near(scrap[j][e], z->y[j].x[e], 1e-12)) {
                (void)snprintf(text, sizeof text, "its value %zu is %.17g, that of jvp %.17g, in order %d", j,
                               scrap[j][e], z->y[j].x[e], order + 1);
                return fail(r, "vjp", text);
            }
    for (int side = -1; side <= 1 && order == 0 && r->differences; side += 2) {
        const double by = side * 1e-5;
        array moved[ARRAYS];
        for (size_t i = 0; i < z->nin; i++) {
            moved[i] = x[i];
            for (size_t e = 0; e < x[i].n; e++) moved[i].x[e] += by * z->v[i].x[e];
            in[i] = moved[i].x;
        }
        for (size_t j = 0; j < z->nout; j++) out[j] = scrap[j];
        if (!run(r, "program", h, in, out)) return false;
        for (size_t j = 0; j < z->nout; j++)
            for (size_t e = 0; e < z->y[j].n; e++) z->slope[j][e] += scrap[j][e] / (2 * by);
    }
    return true;
}

static bool orders(rank *r, tn_ctx *c, tn_fn *h) {
    static const char *const policy[] = {"min_cut", "everything_saveable", "nothing_saveable", "balanced", "min_bytes"};
    tn_fn *own = NULL;
    bool ok = true;
    for (int o = 0; ok && o < r->orders; o++) {
        const tn_policy p = {.size = sizeof p, .name = policy[(r->k.seed / 7 + (uint64_t)o) % 5]};
        tn_fn *jvp = tn_jvp(h, NULL), *vjp = jvp ? tn_vjp(h, NULL, &p) : NULL;
        ok = vjp ? true : fail(r, jvp ? "vjp" : "jvp", tn_error(c));
        if (ok && tn_fn_inputs(vjp) > ARRAYS) r->orders = o + 1;
        ok = ok && try_program(r, c, h, jvp, vjp, o);
        if (ok) r->done = o + 1;
        tn_fn_free(jvp);
        tn_fn_free(own);
        own = h = vjp;
    }
    tn_fn_free(own);
    return ok;
}

static void *work(void *user) {
    rank *r = user;
    const tn_ctx_options o = {.size = sizeof o, .check = 1, .grid = r->k.grid};
    tn_ctx *c = tn_i_ctx_new(&o, registry);
    tn_fn *f = c ? ranks_program(c, &r->k) : NULL;
    if (!f)
        (void)fail(r, "trace", c ? tn_error(c) : "no memory");
    else {
        bool ok = true;
        for (size_t j = 0; ok && j < r->k.nout; j++) ok = same_marks(r, "program", f, j, r->k.out[j]);
        if (ok) (void)orders(r, c, f);
    }
    tn_fn_free(f);
    tn_ctx_free(c);
    tn_threads_leave(r->threads, r->number);
    return NULL;
}

/* ---- the law ---------------------------------------------------------------------------------- */

/* Ranks that stand at 0 along all axes that are not `over`. */
static bool counts(const rank *r, uint32_t over) {
    for (size_t a = 0; a < r->k.grid.naxes; a++)
        if (!(over >> a & 1) && r->ops->index[a]) return false;
    return true;
}

static double product(const rank *r, const array *a, const array *b, size_t n, double *scale) {
    double sum = 0;
    for (int k = 0; k < r->k.ranks; k++)
        for (size_t i = 0; i < n; i++) {
            const array *x = (const array *)((const char *)&a[i] + (size_t)k * sizeof(rank)),
                        *y = (const array *)((const char *)&b[i] + (size_t)k * sizeof(rank));
            for (size_t e = 0; e < x->n && counts(&r[k], x->over); e++) {
                sum += x->x[e] * y->x[e];
                *scale += fabs(x->x[e] * y->x[e]);
            }
        }
    return sum;
}

static bool replicated(const rank *r, const array *a, size_t n, const char *what) {
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < r->k.ranks; k++)
            for (int m = 0; m < k; m++) {
                bool one = true; /* the ranks differ along other axes only */
                for (size_t x = 0; x < r->k.grid.naxes; x++)
                    one &= !(a[i].over >> x & 1) || r[k].ops->index[x] == r[m].ops->index[x];
                const array *p = (const array *)((const char *)&a[i] + (size_t)k * sizeof(rank)),
                            *q = (const array *)((const char *)&a[i] + (size_t)m * sizeof(rank));
                if (!one || memcmp(p->x, q->x, p->n * sizeof *p->x) == 0) continue;
                say("seed %llu: %s %zu is replicated, and differs between ranks %d and %d: %g %g\n",
                    (unsigned long long)r->k.seed, what, i, m, k, q->x[0], p->x[0]);
                return false;
            }
    return true;
}

static bool judge(const rank *r, int order) {
    const found *z = &r->of[order];
    double scale = 1e-300;
    const double forward = product(r, z->ct, z->dy, z->nout, &scale), back = product(r, z->back, z->v, z->nin, &scale);
    if (!(fabs(forward - back) <= 1e-11 * scale + 1e-13)) {
        say("seed %llu, order %d: <ct, J v> = %.17g, <J' ct, v> = %.17g\n", (unsigned long long)r->k.seed, order + 1,
            forward, back);
        return false;
    }
    for (int k = 0; k < r->k.ranks && order == 0 && r->differences; k++)
        for (size_t j = 0; j < z->nout; j++)
            for (size_t e = 0; e < z->y[j].n; e++) {
                const double d = r[k].of[0].dy[j].x[e], s = r[k].of[0].slope[j][e];
                if (near(s, d, 1e-6)) continue;
                say("seed %llu: output %zu on rank %d: jvp %.12g, differences %.12g\n", (unsigned long long)r->k.seed,
                    j, k, d, s);
                return false;
            }
    return replicated(r, z->y, z->nout, "output") && replicated(r, z->dy, z->nout, "tangent") &&
           replicated(r, z->back, z->nin, "cotangent");
}

static bool try_seed(uint64_t seed, int norders, int only, long *programs) {
    static rank r[RANKS_MOST];
    ranks_case k;
    pthread_t thread[RANKS_MOST];
    ranks_case_of(seed, &k);
    if (only && k.ranks != only) return true;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_threads *t = tn_threads_comm(c, &k.grid, 10);
    if (!t) {
        say("seed %llu: %s\n", (unsigned long long)seed, tn_error(c));
        tn_ctx_free(c);
        return false;
    }
    memset(r, 0, sizeof r);
    for (int i = 0; i < k.ranks; i++) {
        r[i] = (rank){.threads = t, .number = i, .ops = tn_threads_rank(t, i), .orders = norders, .differences = true};
        ranks_case_of(seed, &r[i].k);
    }
    for (int i = 1; i < k.ranks; i++) (void)pthread_create(&thread[i], NULL, work, &r[i]);
    (void)work(&r[0]);
    for (int i = 1; i < k.ranks; i++) (void)pthread_join(thread[i], NULL);
    bool ok = true;
    for (int i = 0; i < k.ranks && ok; i++)
        if (r[i].why[0]) {
            say("seed %llu, rank %d of %d: %s\n", (unsigned long long)seed, i, k.ranks, r[i].why);
            ok = false;
        }
    for (int o = 0; ok && o < r[0].done; o++) ok = judge(r, o);
    *programs += r[0].done;
    tn_threads_free(t);
    tn_ctx_free(c);
    return ok;
}

/* How many of the mutants are noticed. */
static long notice(unsigned long long seed, long n, int norders) {
    const tn_prim *table[TN_NPRIMS];
    long noticed = 0, programs = 0;
    quiet = true;
    for (size_t m = 0; m < ranks_mutants(); m++) {
        const char *what = ranks_mutant(m, table);
        bool held = true;
        registry = table;
        for (long i = 0; i < n && held; i++) held = try_seed(seed + (unsigned long long)i, norders, 0, &programs);
        noticed += !held;
        if (held) (void)printf("not noticed in %ld programs: %s\n", n, what);
    }
    return noticed;
}

int main(int argc, char **argv) {
    long n = 300, norders = 3, only = 0, passed = 0, failed = 0, programs = 0;
    unsigned long long seed = 1;
    bool mutants = false;
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 == argc) return 2;
        if (strcmp(argv[i], "--n") == 0)
            n = strtol(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--seed") == 0)
            seed = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--orders") == 0)
            norders = strtol(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--grid") == 0)
            only = strtol(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--mutants") == 0)
            mutants = strtol(argv[i + 1], NULL, 10) != 0;
        else
            return 2;
    }
    if (mutants) {
        passed = notice(seed, n, (int)norders);
        failed = (long)ranks_mutants() - passed;
        (void)printf("%ld passed, %ld failed\n", passed, failed);
        return failed != 0;
    }
    if (norders < 1 || norders > ORDERS) return 2;
    for (long i = 0; i < n; i++) {
        const bool ok = try_seed(seed + (unsigned long long)i, (int)norders, (int)only, &programs);
        passed += ok;
        failed += !ok;
    }
    (void)printf("%ld programs and derivatives\n%ld passed, %ld failed\n", programs, passed, failed);
    return failed != 0;
}
