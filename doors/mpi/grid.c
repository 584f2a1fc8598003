/* tn_mpi_new: what is refused, extents, agreement of the ranks. */
#include "table.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

tn_status tn_mpi_i_fail(tn_mpi *m, tn_status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    (void)vsnprintf(m->message, sizeof m->message, format, args);
    va_end(args);
    return status;
}

tn_status tn_mpi_i_said(tn_mpi *m, int code, const char *what) {
    char text[MPI_MAX_ERROR_STRING + 1];
    int n = 0;
    if (code == MPI_SUCCESS) return TN_OK;
    if (code == TN_MPI_LATE) return TN_EIO;
    if (MPI_Error_string(code, text, &n) != MPI_SUCCESS) n = 0;
    text[n] = 0;
    return tn_mpi_i_fail(m, TN_EIO, "%s: MPI: %s", what, n ? text : "an error without a text");
}

static const char *level_name(int level) {
    return level == MPI_THREAD_SINGLE     ? "MPI_THREAD_SINGLE"
           : level == MPI_THREAD_FUNNELED ? "MPI_THREAD_FUNNELED"
                                          : "MPI_THREAD_SERIALIZED";
}

tn_status tn_mpi_i_thread(tn_mpi *m, const char *what) {
    return tn_mpi_i_fail(m, TN_EINVAL,
                         "%s: this is not the thread that initialized MPI, which has %s: only that one may communicate "
                         "(MPI_Init_thread with MPI_THREAD_SERIALIZED lets others)",
                         what, level_name(m->level));
}

/* ---- what keeps MPI from being asked at all ------------------------------------------------- */

static tn_status ready(tn_mpi *m, MPI_Comm comm) {
    int yes = 0, inter = 0;
    if (MPI_Initialized(&yes) != MPI_SUCCESS || !yes)
        return tn_mpi_i_fail(m, TN_EINVAL, "tn_mpi_new: MPI is not initialized (MPI_Init_thread, or tn_mpi_world)");
    if (MPI_Finalized(&yes) != MPI_SUCCESS || yes)
        return tn_mpi_i_fail(m, TN_EINVAL, "tn_mpi_new: MPI has been finalized");
    (void)MPI_Query_thread(&m->level);
    m->anywhere = m->level >= MPI_THREAD_SERIALIZED;
    m->thread = pthread_self();
    if (!m->anywhere && (MPI_Is_thread_main(&yes) != MPI_SUCCESS || !yes)) return tn_mpi_i_thread(m, "tn_mpi_new");
    if (comm == MPI_COMM_NULL) return tn_mpi_i_fail(m, TN_EINVAL, "tn_mpi_new: the communicator is MPI_COMM_NULL");
    if (MPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter)
        return tn_mpi_i_fail(m, TN_EINVAL, "tn_mpi_new: an intercommunicator has two groups, which are no grid");
    return TN_OK;
}

static tn_status own_communicator(tn_mpi *m, MPI_Comm comm) {
    int code = MPI_Comm_dup(comm, &m->comm);
    if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(m->comm, MPI_ERRORS_RETURN);
    if (code == MPI_SUCCESS) code = MPI_Comm_size(m->comm, &m->size);
    if (code == MPI_SUCCESS) code = MPI_Comm_rank(m->comm, &m->rank);
    return tn_mpi_i_said(m, code, "MPI_Comm_dup");
}

/* ---- the grid --------------------------------------------------------------------------------- */

static tn_status names(tn_mpi *m, const tn_grid *g) {
    if (g->naxes < 1 || g->naxes > TN_MPI_AXES)
        return tn_mpi_i_fail(m, TN_EINVAL, "tn_mpi_new: a grid has 1 to 8 axes, not %zu", g->naxes);
    if (!g->name) return tn_mpi_i_fail(m, TN_EINVAL, "tn_mpi_new: the axes have no names");
    for (size_t a = 0; a < g->naxes; a++) {
        const size_t n = g->name[a] ? strlen(g->name[a]) : 0;
        if (n < 1 || n >= TN_MPI_NAME)
            return tn_mpi_i_fail(m, TN_EINVAL, "tn_mpi_new: axis %zu has a name of %zu characters, not of 1 to 15", a,
                                 n);
        for (size_t b = 0; b < a; b++)
            if (strcmp(g->name[b], g->name[a]) == 0)
                return tn_mpi_i_fail(m, TN_EINVAL, "tn_mpi_new: axes %zu and %zu are both \"%s\"", b, a, g->name[a]);
        memcpy(m->names[a], g->name[a], n + 1);
        m->name[a] = m->names[a];
    }
    m->naxes = (int)g->naxes;
    return TN_OK;
}

/* "r=2, c=0" */
static const char *text_of(const tn_mpi *m, const tn_grid *g, char *text, size_t size) {
    size_t at = 0;
    for (int a = 0; a < m->naxes && at < size; a++)
        at += (size_t)snprintf(text + at, size - at, "%s%s=%lld", a ? ", " : "", m->name[a],
                               (long long)(g->extent ? g->extent[a] : 0));
    return text;
}

/* Given extents, and what MPI_Dims_create makes of those that are 0. */
static tn_status extents(tn_mpi *m, const tn_grid *g) {
    char text[TN_MPI_AXES * 40];
    int dims[TN_MPI_AXES], free_axes = 0;
    int64_t given = 1;
    for (int a = 0; a < m->naxes; a++) {
        const int64_t n = g->extent ? g->extent[a] : 0;
        if (n < 0 || n > INT_MAX)
            return tn_mpi_i_fail(m, TN_EINVAL, "tn_mpi_new: the extent of axis %s is %lld", m->name[a], (long long)n);
        dims[a] = (int)n;
        free_axes += n == 0;
        if (n && given <= INT_MAX) given *= n;
    }
    if (free_axes ? m->size % given != 0 : m->size != given)
        return tn_mpi_i_fail(m, TN_EINVAL, "tn_mpi_new: the grid (%s) has %s%lld ranks, the communicator %d",
                             text_of(m, g, text, sizeof text), free_axes ? "a multiple of " : "", (long long)given,
                             m->size);
    const int code = free_axes ? MPI_Dims_create(m->size, m->naxes, dims) : MPI_SUCCESS;
    for (int a = 0; a < m->naxes; a++) m->extent[a] = dims[a];
    return tn_mpi_i_said(m, code, "MPI_Dims_create");
}

static void place(tn_mpi *m) {
    int left = m->rank;
    for (int a = m->naxes; a--;) {
        m->index[a] = left % m->extent[a];
        left /= (int)m->extent[a];
        if (m->extent[a] > 1) m->wide |= 1u << a;
    }
}

static tn_status lay_out(tn_mpi *m, const tn_grid *g) {
    static const char *const one[] = {"w"};
    const tn_grid line = {1, one, NULL};
    if (!g) g = &line;
    tn_status s = names(m, g);
    if (!s) s = extents(m, g);
    if (s) return s;
    place(m);
    tn_mpi_i_groups_size(m);
    s = tn_mpi_i_operations(m);
    if (s) return s;
    return tn_mpi_i_ordered_room(m) ? TN_OK : tn_mpi_i_fail(m, TN_ENOMEM, "tn_mpi_new: out of memory");
}

/* ---- agreement ---------------------------------------------------------------------------------- */

static uint64_t hash(uint64_t h, const void *data, size_t n) {
    const unsigned char *p = data;
    while (n--) h = (h ^ *p++) * UINT64_C(0x100000001b3);
    return h;
}

static uint64_t hash_of(const tn_mpi *m) {
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (int a = 0; a < m->naxes; a++) {
        h = hash(h, m->names[a], strlen(m->names[a]) + 1);
        h = hash(h, &m->extent[a], sizeof m->extent[a]);
    }
    return h;
}

/* tn_status_text's: nothing of libtansy itself is used here, so that a program that has it inside can load this library
 * (tansy run --mpi). */
static const char *status_text(tn_status s) {
#define TN_STATUS_TEXT(name, code, text) \
    if (s == code) return text;
    TN_STATUS_LIST(TN_STATUS_TEXT)
#undef TN_STATUS_TEXT
    return "unknown status";
}

/* All ranks of comm come here, one without a grid, for lack of memory, too.  The largest of: the first rank that failed
 * (counted from the end) and its status; a hash of the grid and its complement, of which the largest are complements
 * where all grids are equal. */
static tn_status agree(tn_mpi *m, MPI_Comm comm, int size, int rank, tn_status own) {
    const uint64_t h = m && !own ? hash_of(m) : 0;
    uint64_t mine[3] = {own ? (uint64_t)(size - rank) << 8 | (uint64_t)own : 0, h, own ? 0 : ~h}, all[3];
    const int code = MPI_Allreduce(mine, all, 3, MPI_UINT64_T, MPI_MAX, comm);
    if (!m || own) return own;
    if (code != MPI_SUCCESS) return tn_mpi_i_said(m, code, "MPI_Allreduce");
    const tn_status other = (tn_status)(all[0] & 255);
    if (other)
        return tn_mpi_i_fail(m, other, "tn_mpi_new: rank %d refused the grid, or could not make it: %s",
                             size - (int)(all[0] >> 8), status_text(other));
    if (all[1] != ~all[2]) return tn_mpi_i_fail(m, TN_EINVAL, "tn_mpi_new: the ranks were given different grids");
    return TN_OK;
}

/* ---- making it ------------------------------------------------------------------------------------ */

static const char *said(void *user) { return ((tn_mpi *)user)->message; }

static void fill_table(tn_mpi *m) {
    m->ops = (tn_comm_ops){.size = sizeof m->ops,
                           .user = m,
                           .naxes = m->naxes,
                           .name = m->name,
                           .extent = m->extent,
                           .index = m->index,
                           .start = tn_mpi_i_start,
                           .wait = tn_mpi_i_wait,
                           .progress = tn_mpi_i_progress,
                           .error = said};
}

/* Without memory this rank still says so to the others, on the user's communicator: it has no other. */
static void out_of_memory(MPI_Comm comm) {
    tn_mpi none = {.comm = MPI_COMM_NULL};
    if (ready(&none, comm) || own_communicator(&none, comm)) return;
    (void)agree(NULL, none.comm, none.size, none.rank, TN_ENOMEM);
    (void)MPI_Comm_free(&none.comm);
}

tn_mpi *tn_mpi_new(MPI_Comm comm, const tn_grid *grid) {
    tn_mpi *m = calloc(1, sizeof *m);
    if (!m) {
        out_of_memory(comm);
        return NULL;
    }
    m->comm = MPI_COMM_NULL;
    m->max = m->min = MPI_OP_NULL;
    m->window = MPI_WIN_NULL;
    m->most = TN_MPI_MOST;
    tn_mpi_i_groups_size(m);
    m->status = ready(m, comm);
    if (!m->status) m->status = own_communicator(m, comm);
    if (!m->status) m->status = agree(m, m->comm, m->size, m->rank, lay_out(m, grid));
    if (!m->status) fill_table(m);
    return m;
}

void tn_mpi_free(tn_mpi *m) {
    if (!m) return;
    int begun = 0, ended = 0;
    (void)MPI_Initialized(&begun);
    (void)MPI_Finalized(&ended);
    if (begun && !ended) {
        tn_mpi_i_limit_free(m);
        tn_mpi_i_groups_free(m);
        tn_mpi_i_operations_free(m);
        if (m->comm != MPI_COMM_NULL) (void)MPI_Comm_free(&m->comm);
        if (m->finalize) (void)MPI_Finalize();
    }
    tn_mpi_i_requests_free(m);
    free(m->scratch);
    free(m);
}

/* ---- what it says ------------------------------------------------------------------------------------ */

tn_grid tn_mpi_grid(const tn_mpi *m) {
    if (!m || m->status) return (tn_grid){0};
    return (tn_grid){(size_t)m->naxes, m->name, m->extent};
}
const tn_comm_ops *tn_mpi_ops(const tn_mpi *m) { return !m || m->status ? NULL : &m->ops; }
int tn_mpi_rank(const tn_mpi *m) { return m ? m->rank : 0; }
tn_status tn_mpi_status(const tn_mpi *m) { return m ? m->status : TN_ENOMEM; }
const char *tn_mpi_error(const tn_mpi *m) { return m ? m->message : "out of memory"; }
