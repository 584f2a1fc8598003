/* A collective begins.  Where the caller waits at once it is one of MPI's blocking functions, which are the faster
 * ones; where there is other work first, the nonblocking one of the same name.  Neither matches the other, so all ranks
 * have to choose alike: `overlap` of the collective says which. */
#include "table.h"

#include <string.h>

const char *const tn_mpi_i_kinds[TN_COMM_KINDS] = {
    [TN_COMM_ALLREDUCE] = "allreduce", [TN_COMM_BCAST] = "bcast",
    [TN_COMM_ALLGATHER] = "allgather", [TN_COMM_REDUCE_SCATTER] = "reduce_scatter",
    [TN_COMM_GATHER] = "gather",       [TN_COMM_SCATTER] = "scatter",
    [TN_COMM_ALLTOALL] = "all_to_all", [TN_COMM_SHIFT] = "shift",
    [TN_COMM_PERMUTE] = "ppermute",    [TN_COMM_SCAN] = "scan",
    [TN_COMM_BARRIER] = "barrier"};

/* ---- pieces that MPI can count ----------------------------------------------------------- */

/* Elements at .. at + n of what each rank has, or of each of the P parts of it. */
typedef struct part {
    int64_t at;
    int n;
    MPI_Datatype wide; /* those of one of P parts, as wide as all of it, and how many of them it is: */
    int wide_n;
} part;

int tn_mpi_i_wide(const call *k, int n, MPI_Datatype *wide) {
    MPI_Datatype some;
    int code = MPI_Type_contiguous(n, k->type, &some);
    if (code != MPI_SUCCESS) return code;
    code = MPI_Type_create_resized(some, 0, (MPI_Aint)((size_t)k->count * k->width), wide);
    (void)MPI_Type_free(&some);
    return code == MPI_SUCCESS ? MPI_Type_commit(wide) : code;
}

static bool in_parts(int kind) {
    return kind == TN_COMM_ALLGATHER || kind == TN_COMM_GATHER || kind == TN_COMM_SCATTER || kind == TN_COMM_ALLTOALL ||
           kind == TN_COMM_REDUCE_SCATTER;
}

/* Elements of one call of MPI's: what it counts within are all ranks' together. */
static int64_t piece(const call *k) {
    const int64_t most = in_parts(k->x->kind) ? k->m->most / k->size : k->m->most;
    return most ? most : 1;
}

/* ---- each kind, blocking where r is NULL ------------------------------------------------- */

static const char *in_at(const call *k, const part *p) { return k->in + (size_t)p->at * k->width; }
static char *out_at(const call *k, const part *p) { return k->out + (size_t)p->at * k->width; }

static int allreduce(call *k, const part *p) {
    MPI_Request *r = tn_mpi_i_next(k->q);
    return r ? MPI_Iallreduce(in_at(k, p), out_at(k, p), p->n, k->type, k->op, k->comm, r)
             : MPI_Allreduce(in_at(k, p), out_at(k, p), p->n, k->type, k->op, k->comm);
}

static int bcast(call *k, const part *p) {
    MPI_Request *r = tn_mpi_i_next(k->q);
    if (k->rank == k->x->root) memcpy(out_at(k, p), in_at(k, p), (size_t)p->n * k->width);
    return r ? MPI_Ibcast(out_at(k, p), p->n, k->type, k->x->root, k->comm, r)
             : MPI_Bcast(out_at(k, p), p->n, k->type, k->x->root, k->comm);
}

static int allgather(call *k, const part *p) {
    MPI_Request *r = tn_mpi_i_next(k->q);
    return r ? MPI_Iallgather(in_at(k, p), p->n, k->type, out_at(k, p), p->wide_n, p->wide, k->comm, r)
             : MPI_Allgather(in_at(k, p), p->n, k->type, out_at(k, p), p->wide_n, p->wide, k->comm);
}

static int gather(call *k, const part *p) {
    MPI_Request *r = tn_mpi_i_next(k->q);
    const int root = k->x->root;
    return r ? MPI_Igather(in_at(k, p), p->n, k->type, out_at(k, p), p->wide_n, p->wide, root, k->comm, r)
             : MPI_Gather(in_at(k, p), p->n, k->type, out_at(k, p), p->wide_n, p->wide, root, k->comm);
}

static int scatter(call *k, const part *p) {
    MPI_Request *r = tn_mpi_i_next(k->q);
    const int root = k->x->root;
    return r ? MPI_Iscatter(in_at(k, p), p->wide_n, p->wide, out_at(k, p), p->n, k->type, root, k->comm, r)
             : MPI_Scatter(in_at(k, p), p->wide_n, p->wide, out_at(k, p), p->n, k->type, root, k->comm);
}

static int all_to_all(call *k, const part *p) {
    MPI_Request *r = tn_mpi_i_next(k->q);
    return r ? MPI_Ialltoall(in_at(k, p), p->wide_n, p->wide, out_at(k, p), p->wide_n, p->wide, k->comm, r)
             : MPI_Alltoall(in_at(k, p), p->wide_n, p->wide, out_at(k, p), p->wide_n, p->wide, k->comm);
}

/* MPI joins no types but its own: a piece of each part is a reduction to its rank. */
static int reduce_to_each(call *k, const part *p) {
    int code = MPI_SUCCESS;
    for (int s = 0; s < k->size && code == MPI_SUCCESS; s++) {
        MPI_Request *r = tn_mpi_i_next(k->q);
        const char *from = in_at(k, p) + (size_t)s * (size_t)k->count * k->width;
        code = r ? MPI_Ireduce(from, out_at(k, p), p->n, k->type, k->op, s, k->comm, r)
                 : MPI_Reduce(from, out_at(k, p), p->n, k->type, k->op, s, k->comm);
    }
    return code;
}

static int reduce_scatter(call *k, const part *p) {
    if (p->n != k->count) return reduce_to_each(k, p);
    MPI_Request *r = tn_mpi_i_next(k->q);
    return r ? MPI_Ireduce_scatter_block(k->in, k->out, p->n, k->type, k->op, k->comm, r)
             : MPI_Reduce_scatter_block(k->in, k->out, p->n, k->type, k->op, k->comm);
}

static int scan(call *k, const part *p) {
    MPI_Request *r = tn_mpi_i_next(k->q);
    if (k->x->exclusive)
        return r ? MPI_Iexscan(in_at(k, p), out_at(k, p), p->n, k->type, k->op, k->comm, r)
                 : MPI_Exscan(in_at(k, p), out_at(k, p), p->n, k->type, k->op, k->comm);
    return r ? MPI_Iscan(in_at(k, p), out_at(k, p), p->n, k->type, k->op, k->comm, r)
             : MPI_Scan(in_at(k, p), out_at(k, p), p->n, k->type, k->op, k->comm);
}

static int (*const pieces_of[TN_COMM_KINDS])(call *, const part *) = {
    [TN_COMM_ALLREDUCE] = allreduce,           [TN_COMM_BCAST] = bcast,   [TN_COMM_ALLGATHER] = allgather,
    [TN_COMM_REDUCE_SCATTER] = reduce_scatter, [TN_COMM_GATHER] = gather, [TN_COMM_SCATTER] = scatter,
    [TN_COMM_ALLTOALL] = all_to_all,           [TN_COMM_SCAN] = scan};

static int in_pieces(call *k) {
    const int64_t most = piece(k);
    int code = MPI_SUCCESS;
    for (part p = {0}; p.at < k->count && code == MPI_SUCCESS; p.at += p.n) {
        p.n = p.wide_n = (int)(k->count - p.at < most ? k->count - p.at : most);
        p.wide = k->type;
        const bool cut = p.n != k->count && in_parts(k->x->kind) && k->x->kind != TN_COMM_REDUCE_SCATTER;
        if (cut) {
            p.wide_n = 1;
            code = tn_mpi_i_wide(k, p.n, &p.wide);
        }
        if (code == MPI_SUCCESS) code = pieces_of[k->x->kind](k, &p);
        if (cut) (void)MPI_Type_free(&p.wide);
    }
    return code;
}

static int barrier(call *k) {
    MPI_Request *r = tn_mpi_i_next(k->q);
    return r ? MPI_Ibarrier(k->comm, r) : MPI_Barrier(k->comm);
}

/* ---- what begins -------------------------------------------------------------------------- */

static bool between_two(int kind) { return kind == TN_COMM_SHIFT || kind == TN_COMM_PERMUTE; }

static bool ordered(const tn_collective *x) {
    if (!x->ordered) return false;
    const bool adds = x->kind == TN_COMM_REDUCE_SCATTER || x->kind == TN_COMM_SCAN ||
                      (x->kind == TN_COMM_ALLREDUCE && (x->op == TN_COMM_SUM || x->op == TN_COMM_PROD));
    return adds && (x->dtype == TN_F32 || x->dtype == TN_F64);
}

static int64_t requests(const call *k) {
    const int64_t pieces = k->count / piece(k) + 1;
    if (between_two(k->x->kind)) return 2 * pieces;
    return k->x->kind == TN_COMM_REDUCE_SCATTER && k->count > piece(k) ? k->size * pieces : pieces;
}

/* Results that no message brings. */
static void *zeros(const call *k, size_t *bytes) {
    const bool nothing = k->x->kind == TN_COMM_GATHER && k->rank != k->x->root;
    const bool first = k->x->kind == TN_COMM_SCAN && k->x->exclusive && k->rank == (k->x->reverse ? k->size - 1 : 0);
    *bytes = (size_t)k->count * k->width * (nothing ? (size_t)k->size : 1);
    return nothing || first ? k->out : NULL;
}

static int run(call *k) {
    if (between_two(k->x->kind)) return tn_mpi_i_neighbours(k);
    if (k->x->kind == TN_COMM_BARRIER) return barrier(k);
    return in_pieces(k);
}

static tn_status blocking(call *k) {
    size_t bytes;
    void *zero = zeros(k, &bytes);
    const int code = ordered(k->x) ? tn_mpi_i_ordered(k) : run(k);
    if (zero) memset(zero, 0, bytes);
    return tn_mpi_i_said(k->m, code, tn_mpi_i_kinds[k->x->kind]);
}

/* Without memory for a request it is waited for here, as other ranks have begun what only this matches. */
static tn_status at_once(call *k) {
    request q = {.room = (int)(sizeof q.few / sizeof q.few[0]), .what = tn_mpi_i_kinds[k->x->kind]};
    q.r = q.few;
    if (requests(k) > q.room) return tn_mpi_i_fail(k->m, TN_ENOMEM, "%s: out of memory", tn_mpi_i_kinds[k->x->kind]);
    k->q = &q;
    int code = run(k);
    if (code == MPI_SUCCESS) code = tn_mpi_i_finish(k->m, &q);
    size_t bytes;
    void *zero = zeros(k, &bytes);
    if (zero) memset(zero, 0, bytes);
    return tn_mpi_i_said(k->m, code, tn_mpi_i_kinds[k->x->kind]);
}

static tn_status begin(call *k, void **out) {
    k->q = tn_mpi_i_begin(k->m, tn_mpi_i_kinds[k->x->kind], requests(k));
    if (!k->q) return at_once(k);
    const int code = run(k);
    if (code != MPI_SUCCESS) return tn_mpi_i_said(k->m, code, k->q->what); /* what was begun of it stays */
    k->q->zero = between_two(k->x->kind) ? NULL : zeros(k, &k->q->zero_bytes);
    if (k->q->count)
        *out = k->q;
    else
        tn_mpi_i_done(k->m, k->q);
    return TN_OK;
}

/* One rank alone. */
static tn_status copy(call *k) {
    const tn_collective *x = k->x;
    if (between_two(x->kind)) return tn_mpi_i_said(k->m, tn_mpi_i_neighbours(k), tn_mpi_i_kinds[x->kind]);
    if (x->kind == TN_COMM_SCAN && x->exclusive)
        memset(k->out, 0, (size_t)k->count * k->width);
    else if (x->kind != TN_COMM_BARRIER)
        memcpy(k->out, k->in, (size_t)k->count * k->width);
    return TN_OK;
}

/* ---- what is refused ------------------------------------------------------------------------ */

static bool has_root(int kind) { return kind == TN_COMM_BCAST || kind == TN_COMM_GATHER || kind == TN_COMM_SCATTER; }

/* Ranks that stand twice among the sources (side 0) or the targets (1), or are none. */
static const char *bad_side(tn_mpi *m, const tn_collective *x, int size, int side) {
    char *seen = m->scratch;
    memset(seen, 0, (size_t)size);
    for (size_t i = 0; i < x->npairs; i++) {
        const int32_t r = x->pairs[2 * i + (size_t)side];
        if (r < 0 || r >= size) return "a pair names a rank that there is not";
        if (seen[r]++) return side ? "two pairs have one target" : "two pairs have one source";
    }
    return NULL;
}

static const char *bad_pairs(tn_mpi *m, const tn_collective *x, int size) {
    if (x->npairs && !x->pairs) return "the pairs are NULL";
    if (x->npairs > (size_t)size) return "there are more pairs than ranks";
    const char *why = bad_side(m, x, size, 0);
    return why ? why : bad_side(m, x, size, 1);
}

static const char *wrong(tn_mpi *m, const tn_collective *x, const void *in, const void *out) {
    if (!x->axes) return "it names no axis";
    if (x->axes >> m->naxes) return "the grid has not so many axes";
    if (x->kind == TN_COMM_BARRIER) return NULL;
    const group *g = &m->group[x->axes];
    if (x->dtype < 0 || x->dtype >= TN_NDTYPES) return "there is no such dtype";
    if (x->kind == TN_COMM_ALLREDUCE && (x->op < 0 || x->op > TN_COMM_MIN)) return "there is no such operation";
    if (x->count < 0) return "the count is negative";
    if (x->count > INT32_MAX && x->count > INT64_MAX / 8 / g->size)
        return "all ranks' elements together are more than memory can have";
    if (has_root(x->kind) && (x->root < 0 || x->root >= g->size)) return "there is no such root";
    const char *why = x->kind == TN_COMM_PERMUTE ? bad_pairs(m, x, g->size) : NULL;
    if (why || !x->count) return why;
    if (!out || (!in && !(x->kind == TN_COMM_SCATTER && g->rank != x->root))) return "an array is NULL";
    return in == out ? "operand and result are one array" : NULL;
}

static tn_status refused(tn_mpi *m, const tn_collective *x, const void *in, const void *out) {
    if (!x || x->size != sizeof *x) return tn_mpi_i_fail(m, TN_EINVAL, "start: the collective's size is not set");
    if (x->kind < 0 || x->kind >= TN_COMM_KINDS)
        return tn_mpi_i_fail(m, TN_EINVAL, "start: there is no collective %d", x->kind);
    if (!tn_mpi_i_here(m)) return tn_mpi_i_thread(m, tn_mpi_i_kinds[x->kind]);
    const char *why = wrong(m, x, in, out);
    return why ? tn_mpi_i_fail(m, TN_EINVAL, "%s: %s", tn_mpi_i_kinds[x->kind], why) : TN_OK;
}

/* What is asked for most, and is over soonest: a sum that is waited for. */
static bool plain(const tn_mpi *m, const tn_collective *x, const group *g) {
    return x->kind == TN_COMM_ALLREDUCE && !x->overlap && !x->ordered && !tn_mpi_i_never_blocks(m) &&
           g->comm != MPI_COMM_NULL && x->count <= m->most;
}

static tn_status start(tn_mpi *m, const tn_collective *x, const void *in, void *out, void **begun) {
    if (refused(m, x, in, out)) return TN_EINVAL;
    if (!x->count && x->kind != TN_COMM_BARRIER) return TN_OK;
    group *g = &m->group[x->axes];
    tn_mpi_i_begins(m, x);
    if (plain(m, x, g))
        return tn_mpi_i_said(
            m, MPI_Allreduce(in, out, (int)x->count, m->type[x->dtype], m->join[x->dtype][x->op], g->comm),
            tn_mpi_i_kinds[TN_COMM_ALLREDUCE]);
    call k = {.m = m, .x = x, .g = g, .size = g->size, .rank = g->rank, .in = in, .out = out, .count = x->count};
    if (x->kind != TN_COMM_BARRIER) k.width = tn_mpi_i_width(x->dtype);
    if (k.size == 1) return copy(&k);
    const bool reversed = x->kind == TN_COMM_SCAN && x->reverse && !ordered(x);
    if (tn_mpi_i_group(m, x->axes, reversed, &g)) return TN_EIO;
    k.comm = reversed ? g->reversed : g->comm;
    if (x->kind == TN_COMM_BARRIER) return x->overlap || tn_mpi_i_never_blocks(m) ? begin(&k, begun) : blocking(&k);
    k.type = m->type[x->dtype];
    k.op = m->join[x->dtype][x->kind == TN_COMM_ALLREDUCE ? x->op : TN_COMM_SUM];
    if (ordered(x) || !(x->overlap || tn_mpi_i_never_blocks(m))) return blocking(&k);
    return begin(&k, begun);
}

int tn_mpi_i_start(void *user, const tn_collective *x, const void *in, void *out, void **begun) {
    *begun = NULL;
    return (int)start(user, x, in, out, begun);
}
