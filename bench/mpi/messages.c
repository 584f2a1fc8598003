/* What messages cost: MPI's own calls, and the same through the table of libtansy-mpi, in turn in one run; then what a
 * message costs as latency and bytes.  One JSON line each, from rank 0.
 *
 *     mpirun -n 2 messages        (make bench-mpi; a processor for each rank, and nothing else on them)
 *
 * Wall time: medians of 11 batches of some milliseconds, MPI's and the table's alternating. */
#include "../measure.h"

#include <tansy/mpi.h>

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

enum { BATCHES = 11, MOST = 1 << 21 };

typedef struct bench {
    tn_mpi *m;
    const tn_comm_ops *t;
    int rank, size;
    tn_collective x;
    double *in, *out;
} bench;

typedef void (*call)(const bench *b);

/* ---- both ways ------------------------------------------------------------------------------ */

static void by_table(const bench *b) {
    void *request;
    int status = b->t->start(b->t->user, &b->x, b->in, b->out, &request);
    if (!status && request) status = b->t->wait(b->t->user, request);
    if (status) {
        fprintf(stderr, "%s\n", b->t->error(b->t->user));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void allreduce(const bench *b) {
    MPI_Allreduce(b->in, b->out, (int)b->x.count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
static void allreduce_begun(const bench *b) {
    MPI_Request r;
    MPI_Iallreduce(b->in, b->out, (int)b->x.count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}
static void sendrecv(const bench *b) {
    const int next = (b->rank + 1) % b->size, last = (b->rank + b->size - 1) % b->size;
    MPI_Sendrecv(b->in, (int)b->x.count, MPI_DOUBLE, next, 1, b->out, (int)b->x.count, MPI_DOUBLE, last, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void allgather(const bench *b) {
    MPI_Allgather(b->in, (int)b->x.count, MPI_DOUBLE, b->out, (int)b->x.count, MPI_DOUBLE, MPI_COMM_WORLD);
}
static void barrier(const bench *b) {
    (void)b;
    MPI_Barrier(MPI_COMM_WORLD);
}

/* ---- time ------------------------------------------------------------------------------------- */

/* Of one call, in microseconds; all ranks take the slowest one's. */
static double batch(const bench *b, call f, int calls) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (int i = 0; i < calls; i++) f(b);
    double took = (MPI_Wtime() - begin) * 1e6 / calls, slowest;
    MPI_Allreduce(&took, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
}

static int calls_of(const bench *b, call f) {
    double once = batch(b, f, 20);
    MPI_Bcast(&once, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    return (int)fmin(20000, fmax(5, 4000 / once));
}

typedef struct times {
    double mpi, table;
} times;

static times measure(const bench *b, call own) {
    double a[BATCHES], t[BATCHES];
    const int calls = calls_of(b, own);
    for (int i = 0; i < BATCHES; i++) {
        a[i] = batch(b, own, calls);
        t[i] = batch(b, by_table, calls);
    }
    return (times){median(a, BATCHES), median(t, BATCHES)};
}

static void row(bench *b, const char *name, call own, int kind, int64_t count, bool overlap) {
    b->x = (tn_collective){.size = sizeof b->x, .kind = kind, .dtype = TN_F64, .count = count, .axes = 1};
    b->x.by = 1;
    b->x.wrap = true;
    b->x.overlap = overlap;
    const times t = measure(b, own);
    if (b->rank == 0)
        printf("{\"name\": \"%s\", \"ranks\": %d, \"bytes\": %lld, \"mpi_us\": %.3f, \"table_us\": %.3f, \"over_us\": "
               "%.3f, \"ratio\": %.3f}\n",
               name, b->size, (long long)(8 * count), t.mpi, t.table, t.table - t.mpi, t.table / t.mpi);
    (void)fflush(stdout);
}

/* ---- latency and bytes ------------------------------------------------------------------------- */

/* alpha + n beta through what messages of `low` .. `high` bytes take, by least squares of relative errors. */
static void calibrate(bench *b, const char *name, call own, int kind, int64_t low, int64_t high) {
    double s1 = 0, sx = 0, sxx = 0, sy = 0, sxy = 0, worst = 0, n[32], us[32];
    int k = 0;
    b->x = (tn_collective){.size = sizeof b->x, .kind = kind, .dtype = TN_F64, .axes = 1, .by = 1, .wrap = true};
    for (int64_t bytes = low; bytes <= high; bytes *= 4, k++) {
        b->x.count = bytes / 8;
        n[k] = (double)bytes;
        us[k] = measure(b, own).mpi;
        const double w = 1 / (us[k] * us[k]);
        s1 += w, sx += w * n[k], sxx += w * n[k] * n[k], sy += w * us[k], sxy += w * n[k] * us[k];
    }
    const double beta = (s1 * sxy - sx * sy) / (s1 * sxx - sx * sx), alpha = (sy - beta * sx) / s1;
    for (int i = 0; i < k; i++) worst = fmax(worst, fabs(alpha + n[i] * beta - us[i]) / us[i]);
    if (b->rank == 0)
        printf("{\"name\": \"%s\", \"ranks\": %d, \"from_bytes\": %lld, \"to_bytes\": %lld, \"alpha_us\": %.3f, "
               "\"beta_ns_per_byte\": %.4f, \"worst_error\": %.2f}\n",
               name, b->size, (long long)low, (long long)high, alpha, beta * 1e3, worst);
    (void)fflush(stdout);
}

static void machine(const bench *b) {
    char cpu[128], library[MPI_MAX_LIBRARY_VERSION_STRING];
    int n;
    cpu_model(cpu, sizeof cpu);
    MPI_Get_library_version(library, &n);
    if (b->rank == 0)
        printf("{\"name\": \"machine\", \"cpu\": \"%s\", \"mpi\": \"%.*s\"}\n", cpu, (int)strcspn(library, ",\t\n"),
               library);
}

int main(void) {
    tn_mpi *m = tn_mpi_world(NULL);
    if (tn_mpi_status(m)) {
        fprintf(stderr, "%s\n", tn_mpi_error(m));
        return 1;
    }
    bench b = {.m = m, .t = tn_mpi_ops(m), .rank = tn_mpi_rank(m), .size = (int)tn_mpi_grid(m).extent[0]};
    b.in = calloc(MOST, sizeof *b.in), b.out = calloc((size_t)MOST * (size_t)b.size, sizeof *b.out);
    if (!b.in || !b.out) return 1;
    machine(&b);
    row(&b, "allreduce", allreduce, TN_COMM_ALLREDUCE, 1, false);
    row(&b, "allreduce", allreduce, TN_COMM_ALLREDUCE, 128, false);
    row(&b, "allreduce", allreduce, TN_COMM_ALLREDUCE, 1 << 17, false);
    row(&b, "allreduce", allreduce, TN_COMM_ALLREDUCE, 1000000, false);
    row(&b, "allreduce begun", allreduce_begun, TN_COMM_ALLREDUCE, 1, true);
    row(&b, "allreduce begun", allreduce_begun, TN_COMM_ALLREDUCE, 1000000, true);
    row(&b, "sendrecv", sendrecv, TN_COMM_SHIFT, 1, false);
    row(&b, "sendrecv", sendrecv, TN_COMM_SHIFT, 128, false);
    row(&b, "sendrecv", sendrecv, TN_COMM_SHIFT, 1 << 17, false);
    row(&b, "allgather", allgather, TN_COMM_ALLGATHER, 1, false);
    row(&b, "barrier", barrier, TN_COMM_BARRIER, 0, false);
    calibrate(&b, "sendrecv alpha + n beta", sendrecv, TN_COMM_SHIFT, 512, 4096);
    calibrate(&b, "sendrecv alpha + n beta", sendrecv, TN_COMM_SHIFT, 8192, 1 << 21);
    calibrate(&b, "allreduce alpha + n beta", allreduce, TN_COMM_ALLREDUCE, 8, 2048);
    calibrate(&b, "allreduce alpha + n beta", allreduce, TN_COMM_ALLREDUCE, 32768, 1 << 21);
    free(b.in);
    free(b.out);
    tn_mpi_free(m);
    return 0;
}
