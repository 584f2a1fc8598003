/* Programs over many ranks, compiled and run: what they say and in which order, what is agreed, failures. */
#include "sanitized.h"

#include "prims/prim.h"

#include <tansy.h>
#include <tansy/comm.h>
#include <tansy/emit.h>

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { MOST = 4, SECONDS = 20 };

/* ---- a table of one process that remembers ------------------------------------------------------ */

enum { REMEMBERED = 4096 };

typedef struct fake {
    tn_comm_ops ops;
    int64_t index[1];
    size_t n;
    int kind[REMEMBERED];
    int64_t count[REMEMBERED];
    int fails_at; /* collective number that fails, -1: none */
} fake;

/* What goes out comes back: as good as any, where nobody looks at numbers. */
static int fake_start(void *user, const tn_collective *x, const void *in, void *out, void **request) {
    fake *f = user;
    const int64_t ranks = f->ops.extent[0];
    const bool from = x->kind == TN_COMM_ALLGATHER || x->kind == TN_COMM_GATHER;
    const bool pieces = x->kind == TN_COMM_ALLTOALL;
    const size_t bytes = (size_t)x->count * tn_i_dtype_size(x->dtype);
    *request = NULL;
    assert_true(f->n < REMEMBERED);
    f->kind[f->n] = x->kind;
    f->count[f->n] = x->count;
    if ((int)f->n++ == f->fails_at) return TN_EIO;
    for (int64_t k = 0; k < (from || pieces ? ranks : 1) && bytes; k++)
        memcpy((char *)out + (size_t)k * bytes, (const char *)in + (pieces ? (size_t)k * bytes : 0), bytes);
    return TN_OK;
}
static int fake_wait(void *user, void *request) {
    (void)user, (void)request;
    return TN_EINVAL;
}
static const char *fake_error(void *user) {
    (void)user;
    return "the line is dead";
}

static const char *const w_name[] = {"w"};
static const int64_t w_extent[] = {4};
static const tn_grid w4 = {1, w_name, w_extent};

static void fake_new(fake *f) {
    memset(f, 0, sizeof *f);
    f->index[0] = 1;
    f->fails_at = -1;
    f->ops = (tn_comm_ops){.size = sizeof f->ops,
                           .user = f,
                           .naxes = 1,
                           .name = w_name,
                           .extent = w_extent,
                           .index = f->index,
                           .start = fake_start,
                           .wait = fake_wait,
                           .error = fake_error};
}

static tn_ctx *context_of(const tn_grid *grid) {
    const tn_ctx_options o = {.size = sizeof o, .grid = *grid};
    tn_ctx *c = tn_ctx_new(&o);
    assert_non_null(c);
    return c;
}

static tn_fn *parsed(tn_ctx *c, const char *text) {
    tn_fn *f = tn_fn_parse(c, text, strlen(text), "t");
    if (!f) fail_msg("%s\n%s", tn_error(c), text);
    return f;
}

/* ---- the order of what is said ------------------------------------------------------------------- */

typedef struct random_text {
    char text[16384];
    size_t at;
    tn_i_rng rng;
    int values, kinds[64], nkinds; /* values a0..: f64[n] */
    int scalars;
} random_text;

static void put(random_text *t, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    t->at += (size_t)vsnprintf(t->text + t->at, sizeof t->text - t->at, fmt, ap);
    va_end(ap);
    assert_true(t->at < sizeof t->text);
}

static int any(random_text *t) { return (int)tn_i_pick(&t->rng, 0, t->values - 1); }

/* Local and other equations over arrays of n numbers.  All results are outputs, so that nothing is dead. */
static void random_program(random_text *t, uint64_t seed, int n) {
    t->rng.state = seed;
    t->at = 0;
    t->nkinds = 0;
    t->values = 2;
    put(t, "grid (w=4)\n{ lambda v0:f64[%d]{V:w} v1:f64[%d]{V:w} . let\n", n, n);
    const int steps = (int)tn_i_pick(&t->rng, 3, 14);
    for (int i = 0; i < steps; i++) {
        const int v = t->values, x = any(t), y = any(t), what = (int)tn_i_pick(&t->rng, 0, 6);
        const int by = (int)tn_i_pick(&t->rng, 1, 3);
        t->values++;
        switch (what) {
        case 0:
            put(t, " r%d:f64[%d] = psum[axes=w] v%d\n v%d:f64[%d]{V:w} = pvary[axes=w] r%d\n", v, n, x, v, n, v);
            t->kinds[t->nkinds++] = TN_COMM_ALLREDUCE;
            break;
        case 1:
            put(t, " v%d:f64[%d]{V:w} = shift[axes=w by=%d wrap=%s] v%d\n", v, n, by, by == 2 ? "True" : "False", x);
            t->kinds[t->nkinds++] = TN_COMM_SHIFT;
            break;
        case 2:
            put(t, " v%d:f64[%d]{V:w} = pscan[axes=w exclusive=False reverse=False] v%d\n", v, n, x);
            t->kinds[t->nkinds++] = TN_COMM_SCAN;
            break;
        case 3: put(t, " v%d:f64[%d]{V:w} = mul v%d v%d\n", v, n, x, y); break;
        case 4: put(t, " v%d:f64[%d]{V:w} = sin v%d\n", v, n, x); break;
        case 5:
            put(t,
                " s%d:f64[]{V:w} = reduce_sum[axes=(0,)] v%d\n q%d:f64[] = psum[axes=w] s%d\n"
                " p%d:f64[]{V:w} = pvary[axes=w] q%d\n b%d:f64[%d]{V:w} = broadcast_in_dim[shape=(%d,) "
                "broadcast_dimensions=()] p%d\n v%d:f64[%d]{V:w} = add b%d v%d\n",
                v, x, v, v, v, v, v, n, n, v, v, n, v, y);
            t->kinds[t->nkinds++] = TN_COMM_ALLREDUCE;
            break;
        default: put(t, " v%d:f64[%d]{V:w} = add v%d v%d\n", v, n, x, y); break;
        }
    }
    put(t, " in (");
    for (int i = 2; i < t->values; i++) put(t, "v%d%s", i, i + 1 < t->values ? ", " : ",");
    put(t, ") }\n");
}

/* What the table heard in a call with these outputs. */
static void call(tn_exec *e, fake *f, int n, int nout, unsigned wanted) {
    double *in[2], *out[32] = {0};
    for (int i = 0; i < 2; i++) {
        in[i] = malloc((size_t)n * sizeof **in);
        for (int k = 0; k < n; k++) in[i][k] = 0.1 * k + i;
    }
    for (int j = 0; j < nout; j++) out[j] = wanted >> j & 1 ? malloc((size_t)n * sizeof **out) : NULL;
    f->n = 0;
    if (tn_call(e, (const void *const *)in, (void *const *)out) != TN_OK) fail_msg("%s", tn_exec_error(e));
    for (int i = 0; i < 2; i++) free(in[i]);
    for (int j = 0; j < nout; j++) free(out[j]);
}

static int count_lines(const char *text) {
    int n = 0;
    for (; *text; text++) n += *text == '\n';
    return n;
}

/* With every backend, size and set of outputs the same collectives begin, in the order of the program; the last message
 * is that of the status. */
static void test_order(void **state) {
    (void)state;
    static const int sizes[] = {1, 90, 100, 5000};
    random_text *t = malloc(sizeof *t);
    fake *f = malloc(sizeof *f);
    for (uint64_t seed = 1; seed <= (SANITIZED ? 20 : 150); seed++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            random_program(t, seed, sizes[s]);
            tn_ctx *c = context_of(&w4);
            tn_fn *p = parsed(c, t->text);
            for (int backend = TN_BACKEND_DEFAULT; backend <= TN_BACKEND_NATIVE; backend++) {
                if (backend == TN_BACKEND_NATIVE && (seed % 25 || s != 1)) continue;
                fake_new(f);
                tn_exec *e = tn_compile(p, &(tn_compile_options){.size = sizeof(tn_compile_options),
                                                                 .backend = backend,
                                                                 .threads = seed % 3 == 0 ? 2 : 1,
                                                                 .check_replicated = -1,
                                                                 .comm = &f->ops});
                if (!e) fail_msg("%s", tn_error(c));
                const unsigned all = (1u << (t->values - 2)) - 1;
                const unsigned wanted[] = {all, 0, 1, all & 0x55555555, all & (unsigned)(seed * 2654435761u)};
                int merged = count_lines(tn_exec_communications(e)); /* equal ones are one */
                if (merged > t->nkinds) fail_msg("%d collectives of %d\n%s", merged, t->nkinds, t->text);
                for (size_t k = 0; k < sizeof wanted / sizeof *wanted; k++) {
                    call(e, f, sizes[s], t->values - 2, wanted[k]);
                    if ((int)f->n != merged + (merged > 0)) fail_msg("%d said, not %d\n%s", (int)f->n, merged, t->text);
                    for (int i = 0, at = 0; i < merged; i++, at++) { /* a subsequence of the program's */
                        while (at < t->nkinds && t->kinds[at] != f->kind[i]) at++;
                        if (at == t->nkinds) fail_msg("another order\n%s\n%s", t->text, tn_exec_communications(e));
                    }
                }
                tn_exec_free(e);
            }
            tn_fn_free(p);
            tn_ctx_free(c);
        }
    free(f);
    free(t);
}

/* ---- ranks in threads ---------------------------------------------------------------------------- */

typedef struct job job;
struct job {
    int rank;
    const tn_comm_ops *ops;
    tn_ctx *c;
    tn_status status;
    char error[1024];
    double out[8];
    void (*run)(job *j, const void *how);
    const void *how;
    tn_threads *threads;
};

static void *run_job(void *arg) {
    job *j = arg;
    j->run(j, j->how);
    tn_threads_leave(j->threads, j->rank);
    return NULL;
}

static void run_ranks(int ranks, job *j, void (*run)(job *, const void *), const void *how) {
    const int64_t extent[] = {ranks};
    const tn_grid grid = {1, w_name, extent};
    tn_ctx *c = tn_ctx_new(NULL);
    tn_threads *t = tn_threads_comm(c, &grid, SECONDS);
    pthread_t id[MOST];
    assert_non_null(t);
    for (int r = 0; r < ranks; r++) {
        j[r] = (job){
            .rank = r, .ops = tn_threads_rank(t, r), .c = context_of(&grid), .run = run, .how = how, .threads = t};
        assert_int_equal(pthread_create(&id[r], NULL, run_job, &j[r]), 0);
    }
    for (int r = 0; r < ranks; r++) assert_int_equal(pthread_join(id[r], NULL), 0);
    for (int r = 0; r < ranks; r++) tn_ctx_free(j[r].c);
    tn_threads_free(t);
    tn_ctx_free(c);
}

/* A program that each rank compiles and calls once, with x = rank + 1 everywhere. */
typedef struct program {
    const char *text, *other; /* other: that of rank `odd` */
    /* ranks, counted from 1; 0: none */
    int odd;
    int backend, on_failure, check;
    int null_input, shifted; /* the rank with a NULL input; whose second input is another one */
    int small;               /* the rank whose compilation is refused */
} program;

static int fails(void *user, const void *const *in, void *const *out) {
    (void)in;
    memset(out[0], 0, sizeof(double));
    return *(const int *)user;
}

static void run_program(job *j, const void *how) {
    const program *p = how;
    const int failing = 1 + j->rank == p->odd;
    const tn_type s = tn_type_of(TN_F64, 0, NULL);
    (void)tn_external_register(j->c, &(tn_external_spec){.size = sizeof(tn_external_spec),
                                                         .name = "may_fail",
                                                         .nin = 1,
                                                         .nout = 1,
                                                         .in = &s,
                                                         .out = &s,
                                                         .fn = fails,
                                                         .user = (void *)(uintptr_t)&failing});
    const char *text = p->other && 1 + j->rank == p->odd ? p->other : p->text;
    tn_fn *f = tn_fn_parse(j->c, text, strlen(text), "t");
    if (!f) {
        (void)snprintf(j->error, sizeof j->error, "%s", tn_error(j->c));
        j->status = tn_last_status(j->c);
    }
    tn_compile_options o = {.size = sizeof o, .backend = p->backend, .comm = j->ops};
    o.on_failure = p->on_failure;
    o.check_replicated = p->check ? p->check : -1;
    if (1 + j->rank == p->small) o.threads = -1; /* an option that is refused, on one rank */
    tn_exec *e = tn_compile(f, &o);
    if (!e) {
        (void)snprintf(j->error, sizeof j->error, "%s", tn_error(j->c));
        j->status = tn_last_status(j->c);
    } else {
        double x[8], y[8];
        for (int i = 0; i < 8; i++) {
            x[i] = j->rank + 1;
            y[i] = 1 + j->rank == p->shifted ? 3 : 2;
            j->out[i] = -1;
        }
        const void *in[] = {1 + j->rank == p->null_input ? NULL : x, y};
        void *out[] = {j->out};
        j->status = tn_call(e, in, out);
        (void)snprintf(j->error, sizeof j->error, "%s", tn_exec_error(e));
    }
    tn_exec_free(e);
    tn_fn_free(f);
}

#define PROGRAM(...) (&(program){__VA_ARGS__})

static void all_end(const program *p, int ranks, tn_status status, const char *message) {
    job j[MOST];
    run_ranks(ranks, j, run_program, p);
    for (int r = 0; r < ranks; r++) {
        if (j[r].status != status) fail_msg("rank %d: status %d: %s", r, (int)j[r].status, j[r].error);
        if (message && !strstr(j[r].error, message)) fail_msg("rank %d: %s", r, j[r].error);
        if (strcmp(j[r].error, j[0].error) != 0) fail_msg("rank %d: %s\nrank 0: %s", r, j[r].error, j[0].error);
    }
}

static const char sums[] = "grid (w=3)\n{ lambda a:f64[2]{V:w} b:f64[2] . let\n"
                           " c:f64[2] = psum[axes=w] a\n d:f64[2] = mul b c\n in (d,) }";

static void test_runs(void **state) {
    (void)state;
    for (int backend = TN_BACKEND_DEFAULT; backend <= TN_BACKEND_NATIVE; backend++)
        for (int check = -1; check <= 1; check += 2) {
            job j[MOST];
            run_ranks(3, j, run_program, PROGRAM(.text = sums, .backend = backend, .check = check));
            for (int r = 0; r < 3; r++) {
                if (j[r].status != TN_OK) fail_msg("%s", j[r].error);
                assert_true(j[r].out[0] == 12 && j[r].out[1] == 12 && j[r].out[2] == -1);
            }
        }
}

static void test_differences(void **state) {
    (void)state;
    static const char shifted[] = "grid (w=3)\n{ lambda a:f64[2]{V:w} b:f64[2] . let\n"
                                  " s:f64[2]{V:w} = shift[axes=w by=1 wrap=True] a\n c:f64[2] = psum[axes=w] s\n"
                                  " d:f64[2] = mul b c\n in (d,) }";
    static const char longer[] = "grid (w=3)\n{ lambda a:f64[2]{V:w} b:f64[2] . let\n c:f64[2] = psum[axes=w] a\n"
                                 " e:f64[2] = mul b c\n v:f64[2]{V:w} = pvary[axes=w] e\n"
                                 " t:f64[2]{V:w} = mul v a\n d:f64[2] = psum[axes=w] t\n in (d,) }";
    static const char none[] = "grid (w=3)\n{ lambda a:f64[2]{V:w} b:f64[2] . let\n d:f64[2] = sin b in (d,) }";
    all_end(PROGRAM(.text = sums, .other = shifted, .odd = 3), 3, TN_EINVAL,
            "rank 2 differs at communication 1: shift f64[2] by=1 wrap over w (t:3) there, psum f64[2] over w (t:3) on "
            "rank 0");
    all_end(PROGRAM(.text = sums, .other = longer, .odd = 2), 3, TN_EINVAL,
            "rank 1 differs at communication 2: psum f64[2] over w (t:7) there, nothing more on rank 0");
    all_end(PROGRAM(.text = sums, .other = none, .odd = 2), 3, TN_EINVAL,
            "rank 1 differs at communication 1: nothing more there");
    job j[MOST]; /* a rank without a program */
    run_ranks(3, j, run_program, PROGRAM(.text = sums, .other = "grid (w=3) { lambda a:f64[2] .", .odd = 2));
    assert_int_equal(j[1].status, TN_EPARSE);
    for (int r = 0; r < 3; r += 2) {
        assert_int_equal(j[r].status, TN_EINVAL);
        assert_string_equal(j[r].error, "rank 1: tn_compile: the program is NULL");
    }
    all_end(PROGRAM(.text = sums, .small = 2), 3, TN_EINVAL, "rank 1: tn_compile: threads is negative");
}

#define FAILS "external_call[name=\"may_fail\" mode=fn out=(f64[],) batch=() effect=False linear=False]"

static void test_failures(void **state) {
    (void)state;
    static const char straight[] =
        "grid (w=3)\n{ lambda a:f64[2]{V:w} b:f64[2] . let\n s:f64[]{V:w} = reduce_sum[axes=(0,)] a\n"
        " q:f64[] = psum[axes=w] s\n f:f64[]{V:w} = " FAILS " s\n"
        " g:f64[]{V:w} = shift[axes=w by=1 wrap=True] f\n h:f64[] = psum[axes=w] g\n r:f64[] = add h q\n in (r,) }";
    static const char loop[] =
        "grid (w=3)\n{ lambda a:f64[2]{V:w} b:f64[2] . let\n s:f64[]{V:w} = reduce_sum[axes=(0,)] a\n"
        " r:f64[]{V:w} = scan[length=7 reverse=False num_consts=0 num_carry=1 jaxpr={ lambda x:f64[]{V:w} . let\n"
        "  f:f64[]{V:w} = " FAILS " x\n  g:f64[]{V:w} = shift[axes=w by=1 wrap=True] f\n"
        " in (g,) }] s\n h:f64[] = psum[axes=w] r in (h,) }";
    static const char whiles[] =
        "grid (w=3)\n{ lambda a:f64[2]{V:w} b:f64[2] . let\n s:f64[]{V:w} = reduce_sum[axes=(0,)] a\n"
        " n:i64[] r:f64[]{V:w} = while[cond_nconsts=0 cond_jaxpr={ lambda n:i64[] x:f64[]{V:w} . let p:bool[] = lt n "
        "9:i64[] in (p,) } body_nconsts=0 body_jaxpr={ lambda n:i64[] x:f64[]{V:w} . let m:i64[] = add n 1:i64[]\n"
        "  f:f64[]{V:w} = " FAILS " x\n  g:f64[]{V:w} = shift[axes=w by=1 wrap=True] f\n"
        " in (m, g) }] 0:i64[] s\n h:f64[] = psum[axes=w] r in (h,) }";
    static const char branches[] =
        "grid (w=3)\n{ lambda a:f64[2]{V:w} b:f64[2] . let\n s:f64[]{V:w} = reduce_sum[axes=(0,)] a\n"
        " f:f64[]{V:w} = " FAILS " s\n q:f64[] = psum[axes=w] s\n p:bool[] = gt q 1.0:f64[]\n"
        " i:i32[] = convert_element_type[new_dtype=i32] p\n r:f64[]{V:w} = cond[branches=(\n"
        "  { lambda x:f64[]{V:w} . let y:f64[]{V:w} = sin x in (y,) }\n"
        "  { lambda x:f64[]{V:w} . let t:f64[]{V:w} = shift[axes=w by=1 wrap=True] x u:f64[]{V:w} = " FAILS
        " t v:f64[]{V:w} = shift[axes=w by=2 wrap=False] u in (v,) })] i f\n h:f64[] = psum[axes=w] r in (h,) }";
    const char *const texts[] = {straight, loop, whiles, branches};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int backend = TN_BACKEND_DEFAULT; backend <= TN_BACKEND_NATIVE; backend++) {
            all_end(PROGRAM(.text = texts[i], .backend = backend), 3, TN_OK, NULL);
            for (int odd = 0; odd < 3; odd++) {
                all_end(PROGRAM(.text = texts[i], .backend = backend, .odd = 1 + odd), 3, TN_ECALLBACK,
                        "external_call");
                all_end(PROGRAM(.text = texts[i], .backend = backend, .null_input = 1 + odd), 3, TN_EINVAL,
                        "input 0 (f64[2]) is NULL");
            }
        }
}

static void test_replicated(void **state) {
    (void)state;
    for (int odd = 1; odd < 3; odd++) {
        char text[128];
        (void)snprintf(text, sizeof text, "input 1 is declared replicated over w, but differs on rank %d", odd);
        all_end(PROGRAM(.text = sums, .check = 1, .shifted = 1 + odd), 3, TN_EINVAL, text);
    }
    all_end(PROGRAM(.text = sums, .check = 1, .shifted = 1), 3, TN_EINVAL, "but differs on rank 1");
    all_end(PROGRAM(.text = sums, .check = 1, .shifted = 3, .null_input = 2), 3, TN_EINVAL, NULL);
    all_end(PROGRAM(.text = sums, .check = 1), 3, TN_OK, NULL);
}

/* ---- every step of a derivative fails once -------------------------------------------------------- */

/* x, and y = x^2 / 8, with derivatives of its own: each call counts, and one fails. */
typedef struct counter {
    int calls, fails_at; /* from 1 on; 0: none */
} counter;

static int counted(counter *k) { return ++k->calls == k->fails_at; }
static int square(void *user, const void *const *in, void *const *out) {
    const double *x = in[0];
    *(double *)out[0] = *x * *x / 8;
    return counted(user);
}
static int product(void *user, const void *const *in, void *const *out) {
    const double *x = in[0], *d = in[1];
    *(double *)out[0] = *x * *d / 4;
    return counted(user);
}

typedef struct derived {
    const char *text, *schedule;
    int backend, odd, fails_at;
    size_t limit; /* of stacks, on rank odd; 0: none */
    int *calls;   /* of rank 0 */
} derived;

static void run_derived(job *j, const void *how) {
    const derived *d = how;
    counter k = {.fails_at = j->rank == d->odd ? d->fails_at : 0};
    char text[4096];
    const tn_type s = tn_type_of(TN_F64, 0, NULL);
    (void)tn_external_register(j->c, &(tn_external_spec){.size = sizeof(tn_external_spec),
                                                         .name = "may_fail",
                                                         .nin = 1,
                                                         .nout = 1,
                                                         .in = &s,
                                                         .out = &s,
                                                         .fn = square,
                                                         .jvp = product,
                                                         .vjp = product,
                                                         .user = &k});
    (void)snprintf(text, sizeof text, d->text, d->schedule);
    tn_fn *f = tn_fn_parse(j->c, text, strlen(text), "t");
    tn_fn *g =
        f ? tn_value_and_grad(f, NULL, &(tn_policy){.size = sizeof(tn_policy), .name = "nothing_saveable"}) : NULL;
    tn_exec *e = tn_compile(g, &(tn_compile_options){.size = sizeof(tn_compile_options),
                                                     .backend = d->backend,
                                                     .check_replicated = -1,
                                                     .stack_limit = j->rank == d->odd ? d->limit : 0,
                                                     .comm = j->ops});
    const double x = 0.5 + 0.1 * j->rank;
    const void *in[] = {&x};
    void *out[] = {&j->out[0], &j->out[1]};
    if (!e) {
        (void)snprintf(j->error, sizeof j->error, "%s", tn_error(j->c));
        j->status = tn_last_status(j->c);
    } else {
        j->status = tn_call(e, in, out);
        (void)snprintf(j->error, sizeof j->error, "%s", tn_exec_error(e));
    }
    if (d->calls && j->rank == 0) *d->calls = k.calls;
    tn_exec_free(e);
    tn_fn_free(g);
    tn_fn_free(f);
}

static void every_call_fails(const char *text, const char *schedule, int backend, double *gradient) {
    job j[MOST];
    int calls = 0;
    derived d = {.text = text, .schedule = schedule, .backend = backend, .calls = &calls};
    run_ranks(3, j, run_derived, &d);
    for (int r = 0; r < 3; r++)
        if (j[r].status != TN_OK) fail_msg("%s: rank %d: %s", schedule, r, j[r].error);
    for (int r = 0; r < 3; r++) {
        if (gradient[0] == 0) memcpy(&gradient[1 + r], &j[r].out[1], sizeof(double));
        if (!(fabs(gradient[1 + r] - j[r].out[1]) <= 1e-13 * fabs(gradient[1 + r])))
            fail_msg("%s: rank %d: %.17g, not %.17g", schedule, r, j[r].out[1], gradient[1 + r]);
    }
    gradient[0] = 1;
    d.calls = NULL;
    assert_true(calls > 5);
    for (d.fails_at = 1; d.fails_at <= calls; d.fails_at += SANITIZED ? 5 : 1) {
        d.odd = d.fails_at % 3;
        run_ranks(3, j, run_derived, &d);
        char who[32];
        (void)snprintf(who, sizeof who, "rank %d: ", d.odd);
        for (int r = 0; r < 3; r++)
            if (j[r].status != TN_ECALLBACK || strncmp(j[r].error, who, strlen(who)) != 0 ||
                strcmp(j[r].error, j[0].error) != 0)
                fail_msg("%s, call %d: rank %d: %s", schedule, d.fails_at, r, j[r].error);
    }
}

static const char scanned[] =
    "grid (w=3)\n{ lambda a:f64[]{V:w} . let\n"
    " r:f64[]{V:w} = scan[length=9 reverse=False num_consts=0 num_carry=1 schedule=\"%s\" jaxpr={ lambda x:f64[]{V:w} "
    ". "
    "let\n  f:f64[]{V:w} = " FAILS " x\n  g:f64[]{V:w} = shift[axes=w by=1 wrap=True] f\n  s:f64[]{V:w} = sin g\n"
    "  h:f64[]{V:w} = add x s\n in (h,) }] a\n h:f64[] = psum[axes=w] r in (h,) }";
static const char counted_while[] =
    "grid (w=3)\n{ lambda a:f64[]{V:w} . let\n"
    " n:i64[] r:f64[]{V:w} = while[schedule=\"%s\" cond_nconsts=0 cond_jaxpr={ lambda n:i64[] x:f64[]{V:w} . let "
    "u:f64[]{V:w} = abs x t:f64[] = psum[axes=w] u m:bool[] = lt t 1e3:f64[] k:bool[] = lt n 9:i64[] p:bool[] = and k "
    "m "
    "in (p,) } body_nconsts=0 body_jaxpr={ lambda n:i64[] x:f64[]{V:w} . let m:i64[] = add n 1:i64[]\n  f:f64[]{V:w} "
    "= " FAILS " x\n  g:f64[]{V:w} = shift[axes=w by=1 wrap=True] f\n  s:f64[]{V:w} = sin g\n  h:f64[]{V:w} = add x s\n"
    " in (m, h) }] 0:i64[] a\n h:f64[] = psum[axes=w] r in (h,) }";

/* Whatever outputs are wanted of a derivative with a schedule, ranks say the same. */
static void test_schedules_unwanted(void **state) {
    (void)state;
    static const char *const known[] = {"all_save", "revolve:3", "online:3"};
    static const char pure[] =
        "grid (w=4)\n{ lambda a:f64[]{V:w} b:f64[]{V:w} . let\n"
        " c:f64[]{V:w} r:f64[]{V:w} = scan[length=9 reverse=False num_consts=0 num_carry=2 schedule=\"%s\" jaxpr={ "
        "lambda y:f64[]{V:w} x:f64[]{V:w} . let\n  g:f64[]{V:w} = shift[axes=w by=1 wrap=True] x\n"
        "  s:f64[]{V:w} = sin g\n  h:f64[]{V:w} = mul x s\n  k:f64[]{V:w} = mul y h\n in (k, h) }] b a\n"
        " q:f64[]{V:w} = add c r h:f64[] = psum[axes=w] q in (h,) }";
    fake *f = malloc(sizeof *f);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        for (int pass = 0; pass < 2 * (TN_BACKEND_NATIVE + 1); pass++) {
            char text[4096];
            const int backend = pass / 2;
            (void)snprintf(text, sizeof text, pure, known[i]);
            fake_new(f);
            tn_ctx *c = context_of(&w4);
            /* with respect to b ranks speak only in what is brought back */
            const bool one = pass % 2 != 0;
            tn_fn *p = parsed(c, text),
                  *g = tn_value_and_grad(p, one ? &(tn_wrt_list){1, (const int[]){1}} : NULL, NULL);
            tn_exec *e = tn_compile(g, &(tn_compile_options){.size = sizeof(tn_compile_options),
                                                             .backend = backend,
                                                             .check_replicated = -1,
                                                             .comm = &f->ops});
            if (!e) fail_msg("%s", tn_error(c));
            size_t said = 0;
            for (unsigned wanted = one ? 4 : 8; wanted-- > 0;) {
                call(e, f, 1, one ? 2 : 3, wanted);
                if (!said) said = f->n;
                if (f->n != said || said < 10) fail_msg("%s: %zu said, not %zu", known[i], f->n, said);
            }
            tn_exec_free(e);
            tn_fn_free(g);
            tn_fn_free(p);
            tn_ctx_free(c);
        }
    free(f);
}

static void test_failing_derivatives(void **state) {
    (void)state;
    static const char *const known[] = {"all_save", "revolve:3", "mixed:3", "online:3", "periodic:4"};
    double gradient[4] = {0};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        for (int backend = TN_BACKEND_DEFAULT; backend <= TN_BACKEND_NATIVE; backend++)
            if (backend != TN_BACKEND_NATIVE || !SANITIZED) every_call_fails(scanned, known[i], backend, gradient);
}

static void test_failing_whiles(void **state) {
    (void)state;
    static const char *const unknown[] = {"all_save", "online:3", "periodic:4"};
    double gradient[4] = {0};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        for (int backend = TN_BACKEND_DEFAULT; backend <= TN_BACKEND_REFERENCE; backend++)
            every_call_fails(counted_while, unknown[i], backend, gradient);
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        for (int odd = 0; odd < 3; odd++) {
            job j[MOST];
            const derived d = {.text = counted_while, .schedule = unknown[i], .odd = odd, .limit = 1};
            run_ranks(3, j, run_derived, &d);
            for (int r = 0; r < 3; r++)
                if (j[r].status != j[0].status || strcmp(j[r].error, j[0].error) != 0 ||
                    (i == 0 && j[r].status != TN_ENOMEM))
                    fail_msg("%s without stacks: rank %d: %s", unknown[i], r, j[r].error);
        }
}

/* ---- one rank without memory ------------------------------------------------------------------------ */

typedef struct memory {
    long left; /* allocations until one fails; < 0: none does */
    bool failed;
} memory;

static void *starved(void *user, void *p, size_t old, size_t size) {
    memory *m = user;
    (void)old;
    if (size == 0) {
        free(p);
        return NULL;
    }
    if (m->left >= 0 && m->left-- == 0) {
        m->failed = true;
        return NULL;
    }
    return realloc(p, size);
}

typedef struct starving {
    long left;
    bool failed;
} starving;

static void run_starving(job *j, const void *how) {
    starving *s = (starving *)(uintptr_t)how;
    memory m = {.left = -1};
    const int64_t extent[] = {3};
    const tn_ctx_options o = {.size = sizeof o, .realloc = starved, .user = &m, .grid = {1, w_name, extent}};
    tn_ctx *c = tn_ctx_new(&o);
    tn_fn *f = tn_fn_parse(c, sums, strlen(sums), "t");
    if (j->rank == 1) m.left = s->left;
    tn_exec *e = tn_compile(f, &(tn_compile_options){.size = sizeof(tn_compile_options), .comm = j->ops});
    double x[2] = {1, 2}, y[2] = {3, 3};
    j->status = e ? tn_call(e, (const void *[]){x, y}, (void *[]){j->out}) : tn_last_status(c);
    (void)snprintf(j->error, sizeof j->error, "%s", e ? tn_exec_error(e) : tn_error(c));
    if (j->rank == 1) s->failed = m.failed;
    m.left = -1;
    tn_exec_free(e);
    tn_fn_free(f);
    tn_ctx_free(c);
}

static void test_starving(void **state) {
    (void)state;
    starving s = {.failed = true};
    for (s.left = 0; s.failed; s.left += SANITIZED ? 7 : 1) {
        job j[MOST];
        run_ranks(3, j, run_starving, &s);
        for (int r = 0; r < 3; r++)
            if (j[r].status != (s.failed ? TN_ENOMEM : TN_OK) || strcmp(j[r].error, j[0].error) != 0 ||
                (s.failed && strncmp(j[r].error, "rank 1: ", 8) != 0))
                fail_msg("allocation %ld: rank %d: %s", s.left, r, j[r].error);
    }
    assert_true(s.left > 20);
}

/* ---- tables ------------------------------------------------------------------------------------------ */

static void test_tables(void **state) {
    (void)state;
    static const char text[] = "grid (w=4)\n{ lambda a:f64[2]{V:w} . let c:f64[2] = psum[axes=w] a in (c,) }";
    fake *f = malloc(sizeof *f);
    fake_new(f);
    tn_ctx *c = context_of(&w4);
    tn_fn *p = parsed(c, text);
    double x[2] = {1, 2}, y[2];
    const void *in[] = {x};
    void *out[] = {y};
    tn_exec *e = tn_compile(p, NULL);
    assert_non_null(e);
    assert_int_equal(tn_call(e, in, out), TN_EINVAL);
    assert_string_equal(tn_exec_error(e), "the program speaks over w (4 ranks): give tn_compile_options.comm");
    assert_string_equal(tn_exec_communications(e), "psum f64[2] over w (t:2)\n");
    tn_work *w = tn_work_new(e, NULL, 0);
    assert_int_equal(tn_work_comm(w, &f->ops), TN_OK);
    assert_int_equal(tn_call_in(e, w, in, out), TN_OK);
    assert_true(y[0] == 1 && y[1] == 2);
    f->fails_at = (int)f->n;
    assert_int_equal(tn_call_in(e, w, in, out), TN_EIO);
    assert_non_null(strstr(tn_work_error(w), "the line is dead"));
    tn_comm_ops bad = f->ops;
    bad.size = 1;
    assert_int_equal(tn_work_comm(w, &bad), TN_EINVAL);
    bad = f->ops;
    bad.extent = (const int64_t[]){5};
    assert_int_equal(tn_work_comm(w, &bad), TN_EINVAL);
    assert_non_null(strstr(tn_error(c), "extents"));
    assert_int_equal(tn_work_comm(w, NULL), TN_OK);
    assert_int_equal(tn_call_in(e, w, in, out), TN_EINVAL);
    tn_work_free(w);
    tn_exec_free(e);
    char *source, *header;
    assert_int_equal(tn_emit_c(p, NULL, &source, &header), TN_ERULE);
    assert_non_null(strstr(tn_error(c), "programs over several ranks cannot be written as C"));
    tn_fn_free(p);
    tn_ctx_free(c);
    free(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_differences),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_replicated),
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_failing_derivatives),
        cmocka_unit_test(test_failing_whiles),
        cmocka_unit_test(test_starving),
        cmocka_unit_test(test_schedules_unwanted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
