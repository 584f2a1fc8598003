/* What the files of libtansy-mpi share.
 *
 * grid.c        tn_mpi_new: what is refused, extents, agreement of the ranks
 * world.c       MPI_COMM_WORLD, initialized here
 * group.c       communicators of sets of axes
 * joining.c     MPI's types and operations for ours
 * start.c       a collective begins: what is refused, which function of MPI's does it, in pieces
 * neighbours.c  shifts and permutations: messages between two
 * ordered.c     sums in the order of ranks
 * requests.c    what was begun, and its end
 * limit.c       how long that may take, and who is told what where it takes longer */
#ifndef TANSY_MPI_TABLE_H
#define TANSY_MPI_TABLE_H

#include <tansy/mpi.h>

#include <pthread.h>

#define TN_MPI_AXES 8
#define TN_MPI_NAME 16 /* bytes of an axis's name, as contexts have it */

/* MPI counts in int: elements of one call, of all ranks' pieces together. */
#define TN_MPI_MOST (INT64_C(1) << 30)

/* Ranks along a set of axes.  Made when first needed, by those ranks alone: others may not come here. */
typedef struct group {
    int size, rank;
    MPI_Comm comm, reversed; /* MPI_COMM_NULL until then */
} group;

/* A collective that was begun and not waited for. */
typedef struct request {
    struct request *next;
    int count, room;
    MPI_Request *r, few[4];
    int code;   /* MPI's, of a failure that progress found */
    void *zero; /* what is set to zero in the end */
    size_t zero_bytes;
    const char *what;
} request;

/* What a rank does, as others may read it. */
typedef struct report {
    int64_t number, count; /* of its communications: which one; elements */
    int64_t kind, waits, sum, unused[3]; /* sum: of all these, so that half of a report is none; a line of the cache */
} report;

/* A code of this library's beside MPI's: the message is there. */
#define TN_MPI_LATE (-1)

enum { TN_MPI_NAMED = 4 }; /* ranks that a message names */

struct tn_mpi {
    tn_status status;
    char message[1024];
    tn_comm_ops ops;
    bool finalize; /* MPI was initialized here */
    bool anywhere; /* in any thread: MPI_THREAD_SERIALIZED and more */
    int level;
    pthread_t thread; /* that MPI was initialized by, else */

    int naxes, size, rank; /* of all ranks */
    char names[TN_MPI_AXES][TN_MPI_NAME];
    const char *name[TN_MPI_AXES];
    int64_t extent[TN_MPI_AXES], index[TN_MPI_AXES];
    uint32_t wide; /* axes of more than one rank: other ones change no group */

    MPI_Comm comm; /* a duplicate of the user's */
    group group[1 << TN_MPI_AXES];
    MPI_Datatype type[TN_NDTYPES];
    MPI_Op max, min; /* of floats, with NaN */
    MPI_Op join[TN_NDTYPES][TN_COMM_MIN + 1];

    request *begun, *spare;
    void *scratch; /* of ordered sums */
    int64_t most;  /* TN_MPI_MOST, or less in tests */
    bool split;    /* in tests: as if everything overlapped */

    double limit; /* seconds of a wait; 0: none.  Then nothing blocks */
    MPI_Win window;
    report *own;                   /* in it */
    report seen[TN_MPI_NAMED + 1]; /* others', as they were read; MPI may still write here */
};
static inline bool tn_mpi_i_never_blocks(const tn_mpi *m) { return m->split || m->limit > 0; }

/* One collective on its way to MPI. */
typedef struct call {
    tn_mpi *m;
    const tn_collective *x;
    group *g;
    MPI_Comm comm; /* g's, or g's reversed */
    int size, rank;
    const char *in;
    char *out;
    int64_t count;
    size_t width; /* bytes of an element */
    MPI_Datatype type;
    MPI_Op op;
    request *q; /* NULL: MPI's blocking functions */
} call;

/* Sets the message, and for the grid itself the status; returns it. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
tn_status
tn_mpi_i_fail(tn_mpi *m, tn_status status, const char *format, ...);
/* The same of what MPI said: TN_EIO, or TN_OK where that is MPI_SUCCESS. */
tn_status tn_mpi_i_said(tn_mpi *m, int code, const char *what);

/* Whether MPI may be called in this thread; TN_EINVAL with the level. */
tn_status tn_mpi_i_thread(tn_mpi *m, const char *what);
static inline bool tn_mpi_i_here(const tn_mpi *m) { return m->anywhere || pthread_equal(m->thread, pthread_self()); }

/* The communicator of a set of axes with more than one rank, or that of its ranks from the last to the first. */
tn_status tn_mpi_i_group(tn_mpi *m, uint32_t axes, bool reversed, group **g);
void tn_mpi_i_groups_size(tn_mpi *m);
void tn_mpi_i_groups_free(tn_mpi *m);

tn_status tn_mpi_i_operations(tn_mpi *m);
void tn_mpi_i_operations_free(tn_mpi *m);
size_t tn_mpi_i_width(int dtype);
/* out[i] = a[i] op b[i] of two arrays, as OP_SUM and OP_PROD have it; out may be a or b. */
void tn_mpi_i_join(int dtype, int op, const void *a, const void *b, void *out, int64_t n);

int tn_mpi_i_start(void *user, const tn_collective *x, const void *in, void *out, void **begun);
int tn_mpi_i_neighbours(call *k); /* these return MPI's codes */
int tn_mpi_i_ordered(call *k);
/* n elements as wide as one of P parts of an operand, to be freed. */
int tn_mpi_i_wide(const call *k, int n, MPI_Datatype *wide);
bool tn_mpi_i_ordered_room(tn_mpi *m);

int tn_mpi_i_wait(void *user, void *request);
void tn_mpi_i_progress(void *user);
/* A request with room for n of MPI's; NULL without memory. */
request *tn_mpi_i_begin(tn_mpi *m, const char *what, int64_t n);
/* Where MPI puts the next of them; NULL where there is no request. */
static inline MPI_Request *tn_mpi_i_next(request *q) { return q ? &q->r[q->count++] : NULL; }
/* Waits for all of it; MPI's code, or TN_MPI_LATE. */
int tn_mpi_i_finish(tn_mpi *m, request *q);
/* Done, or nothing was begun: it is kept for the next. */
void tn_mpi_i_done(tn_mpi *m, request *q);
void tn_mpi_i_requests_free(tn_mpi *m);

/* limit.c */
void tn_mpi_i_begins(tn_mpi *m, const tn_collective *x);
int tn_mpi_i_wait_for(tn_mpi *m, MPI_Request *r, const char *what);
void tn_mpi_i_limit_free(tn_mpi *m);

extern const char *const tn_mpi_i_kinds[TN_COMM_KINDS];

#endif
