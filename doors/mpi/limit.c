/* A time limit for waits, for debugging: who has waited too long says where the others are.
 *
 * Each rank writes down what it does in memory that others can read without its help (a window of MPI's); it is read
 * where somebody's time is up.  What the network does not bring within a second is not known. */
#include "table.h"

#include <stdio.h>
#include <string.h>

static const char *kind_name(const report *r) {
    return r->kind >= 0 && r->kind < TN_COMM_KINDS ? tn_mpi_i_kinds[r->kind] : "?";
}

/* ---- what this rank does ------------------------------------------------------------------ */

static int64_t sum_of(const report *r) { return r->number * 31 + r->count * 7 + r->kind * 3 + r->waits + 1; }

static void publish(tn_mpi *m, const report *now) {
    *m->own = *now;
    m->own->sum = sum_of(now);
    (void)MPI_Win_sync(m->window);
}

void tn_mpi_i_begins(tn_mpi *m, const tn_collective *x) {
    if (m->limit <= 0) return;
    const report now = {.number = m->own->number + 1, .count = x->count, .kind = x->kind};
    publish(m, &now);
}

static void waits(tn_mpi *m, bool yes) {
    report now = *m->own;
    now.waits = yes;
    publish(m, &now);
}

/* ---- what the others do --------------------------------------------------------------------- */

static bool ask(const tn_mpi *m, int rank, report *r) {
    MPI_Request q;
    const double start = MPI_Wtime();
    int done = 0;
    if (MPI_Rget(r, (int)sizeof *r, MPI_BYTE, rank, 0, (int)sizeof *r, MPI_BYTE, m->window, &q) != MPI_SUCCESS)
        return false;
    while (!done && MPI_Wtime() - start < 1)
        if (MPI_Test(&q, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
    return done && r->sum == sum_of(r);
}

static int tell(const report *r, int rank, char *to, size_t n) {
    if (!r->number) return snprintf(to, n, "; rank %d has begun none", rank);
    return snprintf(to, n,
                    r->waits ? "; rank %d waits in %s [%lld] (communication %lld)"
                             : "; rank %d has begun none since %s [%lld] (communication %lld)",
                    rank, kind_name(r), (long long)r->count, (long long)r->number);
}

/* Ranks that are elsewhere: in another communication, or in none. */
static tn_status late(tn_mpi *m, const char *what) {
    char text[768];
    int at = 0, named = 0;
    const report mine = *m->own;
    text[0] = 0;
    for (int r = 0; r < m->size && named <= TN_MPI_NAMED; r++) {
        report *other = &m->seen[named];
        if (r == m->rank) continue;
        if (!ask(m, r, other)) {
            *other = (report){0};
            at += snprintf(text + at, sizeof text - (size_t)at, "; where rank %d is is not known", r);
        } else if (other->waits && other->number == mine.number)
            continue;
        else if (named < TN_MPI_NAMED)
            at += tell(other, r, text + at, sizeof text - (size_t)at);
        else
            at += snprintf(text + at, sizeof text - (size_t)at, "; and others");
        if (at >= (int)sizeof text) at = (int)sizeof text - 1;
        named++;
    }
    return tn_mpi_i_fail(m, TN_EIO, "rank %d has waited %g s in %s [%lld] (communication %lld)%s", m->rank, m->limit,
                         what, (long long)mine.count, (long long)mine.number, text);
}

int tn_mpi_i_wait_for(tn_mpi *m, MPI_Request *r, const char *what) {
    if (m->limit <= 0) return MPI_Wait(r, MPI_STATUS_IGNORE);
    const double start = MPI_Wtime();
    int done = 0, code = MPI_Test(r, &done, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS || done) return code;
    waits(m, true);
    while (code == MPI_SUCCESS && !done && MPI_Wtime() - start < m->limit) code = MPI_Test(r, &done, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS && !done) {
        (void)late(m, what);
        return TN_MPI_LATE;
    }
    waits(m, false);
    return code;
}

/* ---- on and off --------------------------------------------------------------------------------- */

/* Communicators of all sets of axes: making one waits for all its ranks. */
static tn_status groups(tn_mpi *m) {
    for (uint32_t axes = 1; axes < 1u << m->naxes; axes++) {
        group *g;
        if ((axes & m->wide) != axes) continue;
        if (tn_mpi_i_group(m, axes, false, &g) || tn_mpi_i_group(m, axes, true, &g)) return TN_EIO;
    }
    return TN_OK;
}

static tn_status window(tn_mpi *m) {
    int code = MPI_Win_allocate((MPI_Aint)sizeof(report), 1, MPI_INFO_NULL, m->comm, &m->own, &m->window);
    if (code == MPI_SUCCESS) code = MPI_Win_set_errhandler(m->window, MPI_ERRORS_RETURN);
    if (code == MPI_SUCCESS) code = MPI_Win_lock_all(MPI_MODE_NOCHECK, m->window);
    if (code != MPI_SUCCESS) return tn_mpi_i_said(m, code, "tn_mpi_limit");
    const report none = {0};
    publish(m, &none);
    return tn_mpi_i_said(m, MPI_Barrier(m->comm), "tn_mpi_limit");
}

void tn_mpi_i_limit_free(tn_mpi *m) {
    if (m->window == MPI_WIN_NULL) return;
    (void)MPI_Win_unlock_all(m->window);
    (void)MPI_Win_free(&m->window);
    m->own = NULL;
}

tn_status tn_mpi_limit(tn_mpi *m, double seconds) {
    if (!m || m->status) return m ? m->status : TN_EINVAL;
    if (!(seconds >= 0)) return tn_mpi_i_fail(m, TN_EINVAL, "tn_mpi_limit: %g seconds are no limit", seconds);
    if (!tn_mpi_i_here(m)) return tn_mpi_i_thread(m, "tn_mpi_limit");
    double least[2] = {seconds, -seconds}, all[2];
    const tn_status agreed =
        tn_mpi_i_said(m, MPI_Allreduce(least, all, 2, MPI_DOUBLE, MPI_MIN, m->comm), "tn_mpi_limit");
    if (agreed) return agreed;
    if (all[0] != -all[1])
        return tn_mpi_i_fail(m, TN_EINVAL, "tn_mpi_limit: the ranks were given different limits, from %g to %g s",
                             all[0], -all[1]);
    tn_status status = TN_OK;
    if (seconds > 0 && m->window == MPI_WIN_NULL) status = window(m);
    if (seconds > 0 && !status) status = groups(m);
    if (!status) m->limit = seconds;
    return status;
}
