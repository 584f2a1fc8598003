/* A stencil in blocks: neighbours' borders arrive while what reads none of them is computed, and all is, bit for bit,
 * what one rank computes of the whole. */
#include "sanitized.h"

#include <tansy.h>
#include <tansy/comm.h>
#include <tansy/loops.h>

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { MOST = 4, SECONDS = 60, STEPS = 3 };

static const char *const names[] = {"r", "c"};

typedef struct shape {
    int64_t grid[2];    /* ranks along r and c */
    int64_t n[3];       /* of a block */
    int rank, along[2]; /* dimensions that r and c cut; -1: none */
    int64_t width;      /* of a halo */
    tn_dtype dtype;
    int backend;
    bool loop, gradient, serial;
} shape;

/* ---- the program -------------------------------------------------------------------------------- */

/* The last, or first, rows of the neighbour; zeros where there is none. */
static tn_val halo(const shape *s, tn_val u, int axis, bool behind) {
    const int d = s->along[axis];
    const int64_t n = tn_dim(u, d), at = behind ? 0 : n - s->width;
    const tn_val rows = tn_slice_axis(u, at, at + s->width, 1, d);
    return s->serial ? tn_zeros_like(rows) : tn_shift(rows, names[axis], behind ? -1 : 1);
}

/* x[i - width] and x[i + width]. */
static tn_val neighbours(const shape *s, tn_val u, int axis) {
    const int d = s->along[axis];
    const int64_t n = tn_dim(u, d), w = s->width;
    const tn_val before[] = {halo(s, u, axis, false), tn_slice_axis(u, 0, n - w, 1, d)};
    const tn_val behind[] = {tn_slice_axis(u, w, n, 1, d), halo(s, u, axis, true)};
    return tn_sub(tn_concatenate(tn_vals_of(2, before), d), tn_mul(tn_concatenate(tn_vals_of(2, behind), d), 0.75));
}

static tn_val one_step(const shape *s, tn_val u) {
    tn_val sum = tn_mul(u, 0.5);
    for (int axis = 0; axis < 2; axis++)
        if (s->along[axis] >= 0) sum = tn_add(sum, neighbours(s, u, axis));
    return tn_add(tn_mul(sum, u), 0.25);
}

static void step(tn_val i, const tn_val *carry, tn_val *next, void *user) {
    (void)i;
    next[0] = one_step(user, carry[0]);
}

static tn_val later(const tn_val *in, void *user) {
    const shape *s = user;
    tn_val u = in[0];
    if (s->loop)
        tn_fori(NULL, 0, STEPS, step, user, 1, &u, &u, NULL);
    else
        u = one_step(s, u);
    return u;
}

/* Its vjp with the cotangent in[1]. */
static tn_fn *program(tn_ctx *c, const shape *s, tn_type t) {
    tn_fn *f = tn_trace(c, later, (void *)(uintptr_t)s, TN_ARGS(t));
    if (!f || !s->gradient) return f;
    tn_fn *g = tn_vjp(f, tn_wrt(0), NULL);
    tn_fn_free(f);
    return g;
}

/* ---- where steps stand -------------------------------------------------------------------------------- */

typedef struct order {
    bool started, hidden; /* loops between what starts and what waits */
    int waits;
} order;

static void look(void *user, const tn_step *s) {
    order *o = user;
    if (strcmp(s->primitive, "collective_start") == 0) o->started = true;
    if (o->started && strcmp(s->kind, "loops") == 0 && o->waits == 0) o->hidden = true;
    if (strcmp(s->primitive, "collective_wait") == 0) o->waits++;
}

/* ---- ranks ------------------------------------------------------------------------------------------------ */

typedef struct job {
    const shape *s;
    const tn_comm_ops *ops;
    tn_threads *threads;
    int rank;
    const void *x, *ct; /* of its block */
    void *y, *dx;
    order order;
    char error[512];
} job;

static tn_type type_of(const shape *s, bool whole) {
    int64_t n[3];
    for (int d = 0; d < s->rank; d++) {
        n[d] = s->n[d];
        for (int axis = 0; axis < 2 && whole; axis++) n[d] *= s->along[axis] == d ? s->grid[axis] : 1;
    }
    return tn_type_of(s->dtype, (size_t)s->rank, n);
}

static void compute(job *j, tn_ctx *c, tn_type t, const tn_comm_ops *ops) {
    const tn_compile_options o = {.size = sizeof o, .backend = j->s->backend, .comm = ops};
    tn_fn *f = program(c, j->s, t);
    tn_exec *e = f ? tn_compile(f, &o) : NULL;
    const tn_status status = !e               ? tn_last_status(c)
                             : j->s->gradient ? tn_call(e, (const void *[]){j->x, j->ct}, (void *[]){j->y, j->dx})
                                              : tn_call(e, (const void *[]){j->x}, (void *[]){j->y});
    if (status != TN_OK) (void)snprintf(j->error, sizeof j->error, "%s", e ? tn_exec_error(e) : tn_error(c));
    if (e) (void)tn_exec_steps(e, look, &j->order);
}

static void *run_rank(void *arg) {
    job *j = arg;
    const tn_ctx_options o = {.size = sizeof o, .grid = {2, names, j->s->grid}};
    tn_ctx *c = tn_ctx_new(&o);
    const char *axes = j->s->along[0] >= 0 && j->s->along[1] >= 0 ? "r,c" : j->s->along[0] >= 0 ? "r" : "c";
    if (c) compute(j, c, tn_varying(c, type_of(j->s, false), axes), j->ops);
    tn_ctx_free(c);
    tn_threads_leave(j->threads, j->rank);
    return NULL;
}

/* Copies between the whole and the block of a rank. */
static void cut(const shape *s, int rank, char *whole, char *block, bool out) {
    const size_t size = s->dtype == TN_F32 ? 4 : 8;
    const int64_t at[] = {rank / s->grid[1], rank % s->grid[1]};
    const tn_type t = type_of(s, true), b = type_of(s, false);
    int64_t total = 1;
    for (int d = 0; d < s->rank; d++) total *= b.dim[d];
    for (int64_t i = 0; i < total; i++) {
        int64_t rest = i, from = 0, by = 1;
        for (int d = s->rank; d-- > 0;) {
            int64_t k = rest % b.dim[d];
            rest /= b.dim[d];
            for (int axis = 0; axis < 2; axis++) k += s->along[axis] == d ? at[axis] * b.dim[d] : 0;
            from += k * by;
            by *= t.dim[d];
        }
        char *x = whole + (size_t)from * size, *y = block + (size_t)i * size;
        memcpy(out ? x : y, out ? y : x, size);
    }
}

static void fill(const shape *s, void *x, int64_t n, double phase) {
    for (int64_t i = 0; i < n; i++) {
        const double v = sin(phase + 1.7 * (double)i);
        if (s->dtype == TN_F32)
            ((float *)x)[i] = (float)v;
        else
            ((double *)x)[i] = v;
    }
}

static int64_t elements(tn_type t) {
    int64_t n = 1;
    for (int d = 0; d < t.rank; d++) n *= t.dim[d];
    return n;
}

static void together(const shape *s, int ranks, char *const *whole, bool *hidden) {
    const size_t size = s->dtype == TN_F32 ? 4 : 8, bytes = (size_t)elements(type_of(s, false)) * size;
    job j[MOST];
    pthread_t id[MOST];
    char *block[MOST][4];
    tn_ctx *c = tn_ctx_new(NULL);
    tn_threads *t = tn_threads_comm(c, &(tn_grid){2, names, s->grid}, SECONDS);
    assert_non_null(t);
    for (int r = 0; r < ranks; r++) {
        for (int k = 0; k < 4; k++) {
            assert_non_null(block[r][k] = calloc(bytes, 1));
            if (k < 2) cut(s, r, whole[k], block[r][k], false);
        }
        j[r] = (job){.s = s,
                     .ops = tn_threads_rank(t, r),
                     .threads = t,
                     .rank = r,
                     .x = block[r][0],
                     .ct = block[r][1],
                     .y = block[r][2],
                     .dx = block[r][3]};
        assert_int_equal(pthread_create(&id[r], NULL, run_rank, &j[r]), 0);
    }
    for (int r = 0; r < ranks; r++) assert_int_equal(pthread_join(id[r], NULL), 0);
    for (int r = 0; r < ranks; r++) {
        if (*j[r].error) fail_msg("rank %d: %s", r, j[r].error);
        for (int k = 2; k < 4; k++) cut(s, r, whole[k], block[r][k], true);
        *hidden &= j[r].order.hidden || j[r].order.waits == 0;
        for (int k = 0; k < 4; k++) free(block[r][k]);
    }
    tn_threads_free(t);
    tn_ctx_free(c);
}

/* Whether something ran meanwhile; what comes out is that of one rank. */
static bool is_serial(const shape *given) {
    shape s = *given;
    const int64_t n = elements(type_of(&s, true));
    const size_t size = s.dtype == TN_F32 ? 4 : 8, bytes = (size_t)n * size;
    char *own[4], *want[4];
    bool hidden = true;
    for (int k = 0; k < 4; k++) {
        assert_non_null(own[k] = calloc(bytes, 1));
        assert_non_null(want[k] = calloc(bytes, 1));
        if (k < 2) fill(&s, own[k], n, k + 0.25), memcpy(want[k], own[k], bytes);
    }
    together(&s, (int)(s.grid[0] * s.grid[1]), own, &hidden);
    s.serial = true;
    s.backend = TN_BACKEND_REFERENCE;
    tn_ctx *c = tn_ctx_new(NULL);
    job one = {.s = &s, .x = want[0], .ct = want[1], .y = want[2], .dx = want[3]};
    compute(&one, c, type_of(&s, true), NULL);
    if (*one.error) fail_msg("%s", one.error);
    for (int64_t i = 0; i < n; i++)
        for (int k = 2; k < 4; k++) {
            const double a = s.dtype == TN_F32 ? (double)((float *)own[k])[i] : ((double *)own[k])[i];
            const double b = s.dtype == TN_F32 ? (double)((float *)want[k])[i] : ((double *)want[k])[i];
            /* cotangents are summed in another order where blocks meet */
            if (k == 2 ? a != b : fabs(a - b) > (s.dtype == TN_F32 ? 1e-5 : 1e-13) * (1 + fabs(b)))
                fail_msg("[%d,%d,%d] on %dx%d, width %d, element %d of %s: %.17g and %.17g", (int)s.n[0], (int)s.n[1],
                         (int)s.n[2], (int)s.grid[0], (int)s.grid[1], (int)s.width, (int)i, k == 2 ? "y" : "dx", a, b);
        }
    tn_ctx_free(c);
    for (int k = 0; k < 4; k++) free(own[k]), free(want[k]);
    return hidden;
}

/* ---- one axis ------------------------------------------------------------------------------------------ */

static void test_one_axis(void **state) {
    (void)state;
    static const int64_t sizes[] = {1, 2, 3, 4, 5, 7, 16, 17, 65};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int rank = 1; rank <= 3; rank++)
            for (int d = 0; d < rank; d++)
                for (int64_t width = 1; width <= 2 && width <= sizes[i]; width++) {
                    shape s = {.grid = {3, 1},
                               .n = {4, 3, 5},
                               .rank = rank,
                               .along = {d, -1},
                               .width = width,
                               .dtype = (i + (size_t)d) % 2 ? TN_F32 : TN_F64,
                               .loop = (i + (size_t)rank) % 2,
                               .gradient = (i + (size_t)width) % 2};
                    s.n[d] = sizes[i];
                    (void)is_serial(&s);
                }
}

/* ---- what runs meanwhile ---------------------------------------------------------------------------------- */

static void test_hidden(void **state) {
    (void)state;
    for (int backend = 0; backend < 2; backend++)
        for (int loop = 0; loop < 2; loop++)
            for (int64_t width = 1; width <= 3; width++) {
                const shape s = {.grid = {2, 1},
                                 .n = {40, 33, 0},
                                 .rank = 2,
                                 .along = {0, -1},
                                 .width = width,
                                 .dtype = TN_F64,
                                 .loop = loop,
                                 .backend = backend ? TN_BACKEND_NATIVE : TN_BACKEND_DEFAULT};
                if (!is_serial(&s)) fail_msg("width %d: ranks wait before anything else is computed", (int)width);
            }
}

/* Rows are exchanged along one axis, columns along the other. */
static void test_two_axes(void **state) {
    (void)state;
    for (int64_t n = 1; n <= 12; n += n < 4 ? 1 : 4)
        for (int64_t m = 1; m <= 30; m += m < 3 ? 1 : 9)
            for (int k = 0; k < 4; k++) {
                const shape s = {.grid = {2, 2},
                                 .n = {n, m, 3},
                                 .rank = 2 + k / 2,
                                 .along = {0, 1},
                                 .width = 1,
                                 .dtype = k % 2 ? TN_F32 : TN_F64,
                                 .loop = k % 2,
                                 .gradient = k / 2};
                (void)is_serial(&s);
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_axis), cmocka_unit_test(test_hidden),
                                       cmocka_unit_test(test_two_axes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
