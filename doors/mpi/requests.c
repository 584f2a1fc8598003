/* What was begun, and its end.  Requests are kept for the next, so that only the first ones allocate. */
#include "table.h"

#include <stdlib.h>
#include <string.h>

static bool grow(request *q, int64_t n) {
    if (n <= q->room) return true;
    if (n > INT32_MAX) return false;
    MPI_Request *r = malloc((size_t)n * sizeof *r);
    if (!r) return false;
    if (q->r != q->few) free(q->r);
    q->r = r;
    q->room = (int)n;
    return true;
}

static request *another(void) {
    request *q = calloc(1, sizeof *q);
    if (!q) return NULL;
    q->r = q->few;
    q->room = (int)(sizeof q->few / sizeof q->few[0]);
    return q;
}

request *tn_mpi_i_begin(tn_mpi *m, const char *what, int64_t n) {
    request *q = m->spare;
    if (q)
        m->spare = q->next;
    else
        q = another();
    if (!q) return NULL;
    if (!grow(q, n)) {
        q->next = m->spare;
        m->spare = q;
        return NULL;
    }
    q->count = 0;
    q->code = MPI_SUCCESS;
    q->zero = NULL;
    q->what = what;
    q->next = m->begun;
    m->begun = q;
    return q;
}

void tn_mpi_i_done(tn_mpi *m, request *q) {
    request **p = &m->begun;
    while (*p != q) p = &(*p)->next;
    *p = q->next;
    q->next = m->spare;
    m->spare = q;
}

static bool begun(const tn_mpi *m, const request *q) {
    const request *p = m->begun;
    while (p && p != q) p = p->next;
    return p;
}

int tn_mpi_i_finish(tn_mpi *m, request *q) {
    int code = q->code;
    for (int i = 0; i < q->count && code == MPI_SUCCESS; i++) code = tn_mpi_i_wait_for(m, &q->r[i], q->what);
    return code;
}

static tn_status end(tn_mpi *m, request *q) {
    if (!q) return TN_OK;
    if (!tn_mpi_i_here(m)) return tn_mpi_i_thread(m, "wait");
    if (!begun(m, q)) return tn_mpi_i_fail(m, TN_EINVAL, "wait: there is no such request");
    const int code = tn_mpi_i_finish(m, q);
    if (code == TN_MPI_LATE) return TN_EIO; /* it is still under way, and may be waited for again */
    if (q->zero) memset(q->zero, 0, q->zero_bytes);
    const char *what = q->what;
    tn_mpi_i_done(m, q);
    return tn_mpi_i_said(m, code, what);
}

int tn_mpi_i_wait(void *user, void *r) { return (int)end(user, r); }

/* Asking about one that is not done makes MPI look after all. */
void tn_mpi_i_progress(void *user) {
    tn_mpi *m = user;
    if (!tn_mpi_i_here(m)) return;
    for (request *q = m->begun; q; q = q->next) {
        int done = 1;
        for (int i = 0; i < q->count && done && q->code == MPI_SUCCESS; i++)
            q->code = MPI_Test(&q->r[i], &done, MPI_STATUS_IGNORE);
        if (!done) return;
    }
}

static void free_list(request *q) {
    while (q) {
        request *next = q->next;
        if (q->r != q->few) free(q->r);
        free(q);
        q = next;
    }
}

void tn_mpi_i_requests_free(tn_mpi *m) {
    free_list(m->begun);
    free_list(m->spare);
    m->begun = m->spare = NULL;
}
