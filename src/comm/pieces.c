/* What is moved in a meeting, piece by piece.  Where ranks' arrays are joined, piece k is a k-th of the elements, for
 * all ranks: in the order of ranks, so that all have the same bits.  Else it is the result of rank k. */
#include "comm/join.h"
#include "comm/threads.h"

#include <string.h>

/* ---- elements -------------------------------------------------------------------------- */

typedef struct span {
    int64_t at, n;
} span;

static span share(int64_t count, int64_t k, int64_t of) {
    const int64_t each = count / of, more = count % of;
    return (span){each * k + (k < more ? k : more), each + (k < more)};
}

static size_t bytes_of(const tn_i_meeting *m, int64_t n) { return (size_t)n * tn_i_dtype_size(m->x.dtype); }
static const char *operand(const tn_i_meeting *m, int64_t k, int64_t at) {
    return (const char *)m->member[k].in + bytes_of(m, at);
}
static char *result(const tn_i_meeting *m, int64_t k, int64_t at) { return (char *)m->member[k].out + bytes_of(m, at); }

static void move(const tn_i_meeting *m, int64_t to, int64_t to_at, int64_t from, int64_t from_at, int64_t n) {
    if (n) memcpy(result(m, to, to_at), operand(m, from, from_at), bytes_of(m, n));
}
static void clear(const tn_i_meeting *m, int64_t k, int64_t at, int64_t n) {
    if (n) memset(result(m, k, at), 0, bytes_of(m, n));
}

/* ---- joined ------------------------------------------------------------------------------ */

/* As many elements as stay in the first cache while ranks are joined. */
enum { AT_ONCE = 1024 };

static void reduce_all(const tn_i_meeting *m, span s) {
    for (int64_t at = s.at, end = s.at + s.n; at < end; at += AT_ONCE) {
        const int64_t n = end - at < AT_ONCE ? end - at : AT_ONCE;
        move(m, 0, at, 0, at, n);
        for (int64_t k = 1; k < m->ranks; k++)
            tn_i_join(m->x.dtype, m->x.op, result(m, 0, at), operand(m, k, at), (size_t)n);
        for (int64_t k = 1; k < m->ranks; k++) memcpy(result(m, k, at), result(m, 0, at), bytes_of(m, n));
    }
}

static void reduce_to(const tn_i_meeting *m, int64_t k) {
    const int64_t n = m->x.count;
    move(m, k, 0, 0, k * n, n);
    for (int64_t from = 1; from < m->ranks && n; from++)
        tn_i_join(m->x.dtype, TN_COMM_SUM, result(m, k, 0), operand(m, from, k * n), (size_t)n);
}

/* The result of a rank is that of the one before, joined with an operand: its own, or where `exclusive` that one's. */
static void scan(const tn_i_meeting *m, span s) {
    const int64_t last = m->ranks - 1;
    for (int64_t i = 0; i <= last && s.n; i++) {
        const int64_t k = m->x.reverse ? last - i : i, before = m->x.reverse ? k + 1 : k - 1;
        const int64_t from = m->x.exclusive ? before : k;
        if (i == 0 && m->x.exclusive)
            clear(m, k, s.at, s.n);
        else if (i == 0 || (i == 1 && m->x.exclusive))
            move(m, k, s.at, from, s.at, s.n);
        else {
            memcpy(result(m, k, s.at), result(m, before, s.at), bytes_of(m, s.n));
            tn_i_join(m->x.dtype, TN_COMM_SUM, result(m, k, s.at), operand(m, from, s.at), (size_t)s.n);
        }
    }
}

/* ---- moved ------------------------------------------------------------------------------- */

static void gather(const tn_i_meeting *m, int64_t k) {
    for (int64_t from = 0; from < m->ranks; from++) move(m, k, from * m->x.count, from, 0, m->x.count);
}

static void from_rank(const tn_i_meeting *m, int64_t k, int64_t from) {
    if (from < 0 || from >= m->ranks)
        clear(m, k, 0, m->x.count);
    else
        move(m, k, 0, from, 0, m->x.count);
}

static void shift(const tn_i_meeting *m, int64_t k) {
    const int64_t from = k - m->x.by, wrapped = from % m->ranks;
    from_rank(m, k, m->x.wrap ? wrapped + (wrapped < 0 ? m->ranks : 0) : from);
}

void tn_i_meeting_piece(tn_i_meeting *m, int64_t k) {
    const int64_t n = m->x.count;
    switch (m->x.kind) {
    case TN_COMM_ALLREDUCE: reduce_all(m, share(n, k, m->ranks)); break;
    case TN_COMM_SCAN: scan(m, share(n, k, m->ranks)); break;
    case TN_COMM_REDUCE_SCATTER: reduce_to(m, k); break;
    case TN_COMM_BCAST: from_rank(m, k, m->x.root); break;
    case TN_COMM_ALLGATHER: gather(m, k); break;
    case TN_COMM_GATHER:
        if (k == m->x.root)
            gather(m, k);
        else
            clear(m, k, 0, m->ranks * n);
        break;
    case TN_COMM_SCATTER: move(m, k, 0, m->x.root, k * n, n); break;
    case TN_COMM_ALLTOALL:
        for (int64_t from = 0; from < m->ranks; from++) move(m, k, from * n, from, k * n, n);
        break;
    case TN_COMM_SHIFT: shift(m, k); break;
    case TN_COMM_PERMUTE: from_rank(m, k, m->member[k].source); break;
    default: break; /* a barrier moves nothing */
    }
}
