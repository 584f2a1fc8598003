/* What communications cost in compiled programs: a loop of them beside the same loop of MPI's own calls, less the same
 * loop without any; and one sum of a million numbers.  One JSON line each, from rank 0.
 *
 *     mpirun -n 2 programs        (make bench-mpi; a processor for each rank, and nothing else on them)
 *
 * Wall time of the slowest rank: medians of 11 batches, all alternating. */
#include "../measure.h"

#include <tansy.h>
#include <tansy/loops.h>
#include <tansy/mpi.h>

#include <math.h>

enum { BATCHES = 11, STEPS = 1000 };

static int rank, size;

typedef struct program {
    tn_exec *e;
    double *in, *out;
} program;

static void stop(const char *why) {
    fprintf(stderr, "%s\n", why);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* ---- programs ---------------------------------------------------------------------------------- */

static void step_psum(tn_val i, const tn_val *x, tn_val *next, void *user) {
    (void)i, (void)user;
    next[0] = tn_mul(tn_vary(tn_psum(x[0], "w"), "w"), 1.0 / size);
}
static void step_shift(tn_val i, const tn_val *x, tn_val *next, void *user) {
    (void)i, (void)user;
    next[0] = tn_mul(tn_shift(x[0], "w", 1, TN_WRAP), 1.0 / size);
}
static void step_alone(tn_val i, const tn_val *x, tn_val *next, void *user) {
    (void)i, (void)user;
    next[0] = tn_mul(x[0], 1.0 / size);
}

static void loop(const tn_val *in, tn_val *out, void *user) {
    tn_fori_fn *step = user;
    tn_fori(NULL, 0, STEPS, *step, NULL, 1, in, out, NULL);
}
static void sum(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    out[0] = tn_psum(in[0], "w");
}

static program make(tn_ctx *c, const tn_mpi *m, tn_trace_many_fn f, void *user, int64_t n) {
    tn_fn *p = tn_trace_spmd(c, f, user, 1, &(tn_type){.dtype = TN_F64, .rank = 1, .dim = {n}}, TN_AXES("w"), 1);
    program q = {.in = calloc((size_t)n, sizeof(double)), .out = calloc((size_t)n, sizeof(double))};
    q.e = p ? tn_compile(p, &(tn_compile_options){.size = sizeof(tn_compile_options),
                                                  .comm = tn_mpi_ops(m),
                                                  .check_replicated = -1})
            : NULL;
    if (!q.e || !q.in || !q.out) stop(tn_error(c));
    return q;
}

static void drop(program *q) {
    tn_exec_free(q->e);
    free(q->in);
    free(q->out);
}

static void run(const program *q) {
    if (tn_call(q->e, (const void *[]){q->in}, (void *[]){q->out})) stop(tn_exec_error(q->e));
}

/* ---- the same by hand ---------------------------------------------------------------------------- */

static void by_hand(const program *q, bool shift, int64_t n, int steps) {
    const int next = (rank + 1) % size, last = (rank + size - 1) % size;
    for (int k = 0; k < steps; k++) {
        if (shift)
            MPI_Sendrecv(q->in, (int)n, MPI_DOUBLE, next, 1, q->out, (int)n, MPI_DOUBLE, last, 1, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
        else
            MPI_Allreduce(q->in, q->out, (int)n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
}

/* ---- time ------------------------------------------------------------------------------------------ */

static double slowest(double took) {
    double all;
    MPI_Allreduce(&took, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all * 1e6;
}

static double begin(void) {
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Wtime();
}

static void in_a_loop(tn_ctx *c, const tn_mpi *m, const char *name, bool shift, int64_t n) {
    tn_fori_fn with = shift ? step_shift : step_psum, without = step_alone;
    program p = make(c, m, loop, &with, n), alone = make(c, m, loop, &without, n);
    double a[BATCHES], b[BATCHES], h[BATCHES];
    run(&p);
    for (int i = 0; i < BATCHES; i++) {
        double t = begin();
        run(&p);
        a[i] = slowest(MPI_Wtime() - t) / STEPS;
        t = begin();
        run(&alone);
        b[i] = slowest(MPI_Wtime() - t) / STEPS;
        t = begin();
        by_hand(&p, shift, n, STEPS);
        h[i] = slowest(MPI_Wtime() - t) / STEPS;
    }
    const double program_us = median(a, BATCHES), loop_us = median(b, BATCHES), mpi_us = median(h, BATCHES);
    if (rank == 0)
        printf("{\"name\": \"%s in a loop\", \"ranks\": %d, \"bytes\": %lld, \"mpi_us\": %.3f, \"program_us\": %.3f, "
               "\"loop_us\": %.3f, \"over_us\": %.3f}\n",
               name, size, (long long)(8 * n), mpi_us, program_us, loop_us, program_us - loop_us - mpi_us);
    (void)fflush(stdout);
    drop(&p);
    drop(&alone);
}

static void once(tn_ctx *c, const tn_mpi *m, int64_t n) {
    program p = make(c, m, sum, NULL, n);
    double a[BATCHES], h[BATCHES];
    run(&p);
    for (int i = 0; i < BATCHES; i++) {
        double t = begin();
        for (int k = 0; k < 5; k++) run(&p);
        a[i] = slowest(MPI_Wtime() - t) / 5;
        t = begin();
        by_hand(&p, false, n, 5);
        h[i] = slowest(MPI_Wtime() - t) / 5;
    }
    const double program_us = median(a, BATCHES), mpi_us = median(h, BATCHES);
    if (rank == 0)
        printf(
            "{\"name\": \"psum\", \"ranks\": %d, \"bytes\": %lld, \"mpi_us\": %.3f, \"program_us\": %.3f, \"ratio\": "
            "%.3f}\n",
            size, (long long)(8 * n), mpi_us, program_us, program_us / mpi_us);
    (void)fflush(stdout);
    drop(&p);
}

int main(void) {
    tn_mpi *m = tn_mpi_world(NULL);
    if (tn_mpi_status(m)) {
        fprintf(stderr, "%s\n", tn_mpi_error(m));
        return 1;
    }
    rank = tn_mpi_rank(m), size = (int)tn_mpi_grid(m).extent[0];
    tn_ctx *c = tn_ctx_new(&(tn_ctx_options){.size = sizeof(tn_ctx_options), .grid = tn_mpi_grid(m)});
    if (!c) stop("out of memory");
    in_a_loop(c, m, "psum", false, 1);
    in_a_loop(c, m, "psum", false, 128);
    in_a_loop(c, m, "shift", true, 1);
    in_a_loop(c, m, "shift", true, 128);
    once(c, m, 1);
    once(c, m, 1000000);
    tn_ctx_free(c);
    tn_mpi_free(m);
    return 0;
}
