/* Measures what plans compare (src/checkpoint/cost_model.h) on this machine, and writes it as a table, one
 * name and number a line, which `--policy min_cut:costs=FILE` reads:
 *
 *     calibrate >costs.txt
 *
 * The shipped table is constant, so that plans are the same everywhere; none is read unless it is named. */
#include "checkpoint/cost_model.h"
#include "prims/ids.h"
#include "vec/vec.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The least of several runs of some milliseconds, in ns. */
static double shortest(void (*run)(void *), void *with) {
    double best = HUGE_VAL, seconds = 0;
    size_t repeat = 1;
    for (int i = 0; i < 7;) {
        const double start = now();
        for (size_t k = 0; k < repeat; k++) run(with);
        seconds = now() - start;
        if (seconds < 2e-3) {
            repeat *= 2;
            continue;
        }
        best = fmin(best, seconds / (double)repeat);
        i++;
    }
    return 1e9 * best;
}

/* ---- memory --------------------------------------------------------------------------------------- */

typedef struct block {
    float *data;
    size_t n;
    volatile float sum;
} block;

static void read_all(void *with) {
    block *b = with;
    float s[16] = {0};
    for (size_t i = 0; i + 16 <= b->n; i += 16)
        for (size_t k = 0; k < 16; k++) s[k] += b->data[i + k];
    for (size_t k = 1; k < 16; k++) s[0] += s[k];
    b->sum = s[0];
}

static void write_all(void *with) {
    block *b = with;
    const float x = b->sum;
    for (size_t i = 0; i < b->n; i++) b->data[i] = x;
}

static const char *const LEVEL[TN_I_LEVELS] = {"l1", "l2", "l3", "dram"};

static bool memory(tn_i_cost_model *m) {
#ifdef _SC_LEVEL1_DCACHE_SIZE
    const int name[TN_I_LEVELS - 1] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE};
    for (int k = 0; k < TN_I_LEVELS - 1; k++) {
        const long bytes = sysconf(name[k]);
        if (bytes > 0) m->capacity[k] = (double)bytes;
    }
#endif
    for (int k = 0; k < TN_I_LEVELS; k++) {
        const double bytes = k < TN_I_DRAM ? m->capacity[k] / 2 : 2 * m->capacity[TN_I_DRAM - 1];
        block b = {.n = (size_t)fmin(bytes, 1 << 30) / sizeof(float)};
        b.data = calloc(b.n, sizeof *b.data);
        if (!b.data) return false;
        m->write[k] = shortest(write_all, &b) / (double)(b.n * sizeof(float));
        m->read[k] = shortest(read_all, &b) / (double)(b.n * sizeof(float));
        free(b.data);
    }
    return true;
}

/* ---- elements --------------------------------------------------------------------------------------- */

enum { ELEMENTS = 2048 };

typedef struct strip {
    tn_i_strip *run;
    float in[3][ELEMENTS], out[ELEMENTS];
} strip;

/* What fused equations run: the function of vectors, or the body compiled for the best instruction set. */
static tn_i_strip *kernel(const tn_prim *p) {
    const tn_i_isa isa = tn_i_isa_best();
    tn_i_vec v = {.strip = NULL};
    if (p->vector[TN_F32]) v = tn_i_vec_math(p->vector[TN_F32], isa, false);
    return v.strip ? v.strip : tn_i_vec_strip(p->strip[TN_F32], isa).strip;
}

static void run_strip(void *with) {
    strip *s = with;
    s->run(ELEMENTS, (const void *const[]){s->in[0], s->in[1], s->in[2]}, (const int64_t[]){1, 1, 1}, s->out, 1);
}

/* Of arguments that the laws test it on. */
static double element(const tn_prim *p, strip *s) {
    tn_i_rng r = {1};
    for (int i = 0; i < 3; i++) {
        const tn_i_domain *d = &p->domain[i];
        const bool whole = d->lo == 0 && d->hi == 0;
        for (int k = 0; k < ELEMENTS; k++) s->in[i][k] = (float)tn_i_uniform(&r, whole ? -2 : d->lo, whole ? 2 : d->hi);
    }
    s->run = kernel(p);
    return shortest(run_strip, s) / ELEMENTS;
}

/* A flop in registers is what an addition takes beyond its memory traffic. */
static bool elements(tn_i_cost_model *m) {
    strip *s = calloc(1, sizeof *s);
    if (!s) return false;
    m->flop = fmax(0.005, element(tn_i_registry[TN_P_add], s) - sizeof(float) * (2 * m->read[0] + m->write[0]));
    for (int id = 0; id < TN_NPRIMS; id++) {
        const tn_prim *p = tn_i_registry[id];
        m->element[id] = 0;
        if (p->flags & TN_F_ELEMENTWISE && p->weight >= 16 && p->strip[TN_F32]) m->element[id] = element(p, s);
    }
    free(s);
    return true;
}

/* ---- programs ----------------------------------------------------------------------------------------- */

enum { SCALARS = 1000, SQUARE = 512 };

static tn_val sums(const tn_val *in, void *user) {
    tn_val x = in[0];
    (void)user;
    for (int i = 0; i < SCALARS; i++) x = tn_mul(x, x);
    return x;
}
static tn_val product(const tn_val *in, void *user) { return (void)user, tn_matmul(in[0], in[0]); }

typedef struct call {
    tn_exec *exec;
    const void *in[1];
    void *out[1];
    bool failed;
} call;

static void run_call(void *with) {
    call *k = with;
    k->failed |= tn_call(k->exec, k->in, k->out) != TN_OK;
}

static bool program(tn_ctx *c, tn_val (*f)(const tn_val *in, void *user), tn_type type, double *ns) {
    tn_fn *g = tn_trace(c, f, NULL, 1, &type);
    call k = {.exec = g ? tn_compile(g, NULL) : NULL};
    const size_t n = tn_type_elements(&type);
    float *data = calloc(n, 2 * sizeof *data);
    bool ok = k.exec && data;
    if (ok) {
        for (size_t i = 0; i < n; i++) data[i] = 1;
        k.in[0] = data;
        k.out[0] = data + n;
        *ns = shortest(run_call, &k);
        ok = !k.failed;
    }
    free(data);
    tn_exec_free(k.exec);
    tn_fn_free(g);
    return ok;
}

static void print(const tn_i_cost_model *m) {
    printf("equation %.4g\nflop %.4g\nproduct %.4g\n", m->equation, m->flop, m->product);
    for (int k = 0; k < TN_I_LEVELS; k++)
        printf("read.%s %.4g\nwrite.%s %.4g\n", LEVEL[k], m->read[k], LEVEL[k], m->write[k]);
    for (int k = 0; k < TN_I_LEVELS - 1; k++) printf("capacity.%s %.0f\n", LEVEL[k], m->capacity[k]);
    for (int id = 0; id < TN_NPRIMS; id++)
        if (m->element[id] > 0) printf("element.%s %.4g\n", tn_i_registry[id]->name, m->element[id]);
}

int main(void) {
    tn_i_cost_model m = tn_i_shipped_costs;
    tn_ctx *c = tn_ctx_new(NULL);
    double scalars, square;
    const bool ok = c && memory(&m) && elements(&m) && program(c, sums, tn_f32(), &scalars) &&
                    program(c, product, tn_f32(SQUARE, SQUARE), &square);
    if (ok) {
        m.equation = scalars / SCALARS;
        m.product = square / ((double)SQUARE * SQUARE * SQUARE);
        print(&m);
    } else
        fprintf(stderr, "calibrate: %s\n", c ? tn_error(c) : "out of memory");
    tn_ctx_free(c);
    return !ok;
}
