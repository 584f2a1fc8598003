/* How much faster ranks are together: a plate of 1024 x 1024 points in blocks of rows, one on each rank, beside the
 * same plate on one rank (the others wait), forward and with its gradient.  One JSON line each, from rank 0; `alone_us`
 * and `halo_us` are a rank's own steps without exchange, and what the exchange adds to them.
 *
 *     mpirun -n 2 heat2d        (make bench-mpi; a processor for each rank, and nothing else on them)
 *
 * Wall time of the slowest rank: medians of BATCHES, all alternating. */
#include "../measure.h"

#include <tansy.h>
#include <tansy/loops.h>
#include <tansy/mpi.h>

enum { N = 1024, STEPS = 40, BATCHES = 7 };

static int rank, size;

typedef struct program {
    tn_exec *e;
    double *in, *out;
} program;

static void stop(const char *why) {
    fprintf(stderr, "%s\n", why);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* ---- the program: examples/mpi/heat2d.c, in rows ---------------------------------------------------------- */

/* NULL: the plate ends where the block does. */
typedef struct plate {
    const char *axis;
} plate;

/* The row before the block, or behind it: zeros at the plate's end. */
static tn_val border(const plate *p, tn_val u, bool behind) {
    const int64_t n = tn_dim(u, 0), at = behind ? 0 : n - 1;
    const tn_val row = tn_slice_axis(u, at, at + 1, 1, 0);
    return p->axis ? tn_shift(row, p->axis, behind ? -1 : 1) : tn_zeros_like(row);
}

static tn_val across(tn_val u) {
    const int64_t n = tn_dim(u, 1);
    const tn_val none = tn_zeros_like(tn_slice_axis(u, 0, 1, 1, 1));
    const tn_val left[] = {none, tn_slice_axis(u, 0, n - 1, 1, 1)}, right[] = {tn_slice_axis(u, 1, n, 1, 1), none};
    return tn_add(tn_concatenate(tn_vals_of(2, left), 1), tn_concatenate(tn_vals_of(2, right), 1));
}

static tn_val along(const plate *p, tn_val u) {
    const int64_t n = tn_dim(u, 0);
    const tn_val above[] = {border(p, u, false), tn_slice_axis(u, 0, n - 1, 1, 0)};
    const tn_val below[] = {tn_slice_axis(u, 1, n, 1, 0), border(p, u, true)};
    return tn_add(tn_concatenate(tn_vals_of(2, above), 0), tn_concatenate(tn_vals_of(2, below), 0));
}

static void step(tn_val i, const tn_val *carry, tn_val *next, void *user) {
    (void)i;
    const tn_val u = carry[0], lap = tn_sub(tn_add(along(user, u), across(u)), tn_mul(u, 4.0));
    next[0] = tn_add(u, tn_mul(tn_sub(lap, tn_mul(tn_pow(u, 3), 0.1)), 0.2));
}

static tn_val later(const tn_val *in, void *user) {
    const tn_loop_options o = {.size = sizeof o, .schedule = "periodic:8"};
    tn_val u = in[0];
    tn_fori(NULL, 0, STEPS, step, user, 1, &u, &u, &o);
    return u;
}

static tn_val energy(const tn_val *in, void *user) {
    const plate *p = user;
    const tn_val sum = tn_sum_squares(later(in, user));
    return p->axis ? tn_psum(sum, p->axis) : sum;
}

static program make(tn_ctx *c, const tn_mpi *m, plate p, int64_t rows, bool gradient) {
    const tn_type block = p.axis ? tn_varying(c, tn_f64(rows, N), p.axis) : tn_f64(rows, N);
    tn_fn *f = tn_trace(c, gradient ? energy : later, &p, TN_ARGS(block));
    if (f && gradient) f = tn_grad(f, NULL, NULL);
    const tn_compile_options o = {
        .size = sizeof o, .backend = TN_BACKEND_NATIVE, .comm = p.axis ? tn_mpi_ops(m) : NULL, .check_replicated = -1};
    const size_t n = (size_t)rows * N;
    program q = {.in = calloc(n, sizeof(double)), .out = calloc(n, sizeof(double))};
    q.e = f ? tn_compile(f, &o) : NULL;
    if (!q.e || !q.in || !q.out) stop(tn_error(c));
    for (size_t i = 0; i < n; i++) q.in[i] = (double)(i % 97) / 97;
    return q;
}

static void drop(program *q) {
    tn_exec_free(q->e);
    free(q->in);
    free(q->out);
}

static double took(const program *q) {
    const double t = MPI_Wtime();
    if (tn_call(q->e, (const void *[]){q->in}, (void *[]){q->out})) stop(tn_exec_error(q->e));
    return (MPI_Wtime() - t) * 1e6 / STEPS;
}

/* ---- time -------------------------------------------------------------------------------------------------- */

static double slowest(double us) {
    double all;
    MPI_Allreduce(&us, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all;
}

/* Of the slowest rank of those that have a turn; the others wait. */
static double timed(const program *q, bool mine) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double us = mine ? took(q) : 0;
    return slowest(us);
}

static void compare(const tn_mpi *m, bool gradient) {
    tn_ctx *own = tn_ctx_new(NULL),
           *all = tn_ctx_new(&(tn_ctx_options){.size = sizeof(tn_ctx_options), .grid = tn_mpi_grid(m)});
    if (!own || !all) stop("out of memory");
    program whole = make(own, m, (plate){NULL}, N, gradient), part = make(own, m, (plate){NULL}, N / size, gradient),
            ranks = make(all, m, (plate){"w"}, N / size, gradient);
    double a[BATCHES], b[BATCHES], t[BATCHES];
    for (int i = -1; i < BATCHES; i++) { /* the first is not counted */
        const int k = i < 0 ? 0 : i;
        a[k] = timed(&whole, rank == 0);
        b[k] = timed(&part, true);
        t[k] = timed(&ranks, true);
    }
    const double one = median(a, BATCHES), alone = median(b, BATCHES), together = median(t, BATCHES);
    if (rank == 0)
        printf(
            "{\"name\": \"heat2d %d x %d%s\", \"ranks\": %d, \"one_us\": %.1f, \"ranks_us\": %.1f, \"speedup\": %.2f, "
            "\"alone_us\": %.1f, \"halo_us\": %.1f, \"alone_speedup\": %.2f}\n",
            N, N, gradient ? ", gradient" : "", size, one, together, one / together, alone, together - alone,
            one / alone);
    (void)fflush(stdout);
    drop(&whole);
    drop(&part);
    drop(&ranks);
    tn_ctx_free(own);
    tn_ctx_free(all);
}

int main(void) {
    tn_mpi *m = tn_mpi_world(NULL);
    if (tn_mpi_status(m)) {
        fprintf(stderr, "%s\n", tn_mpi_error(m));
        return 1;
    }
    rank = tn_mpi_rank(m), size = (int)tn_mpi_grid(m).extent[0];
    compare(m, false);
    compare(m, true);
    tn_mpi_free(m);
    return 0;
}
