/* Good collectives and their texts. */
#include "comm/collective.h"

#include <stdio.h>
#include <string.h>

/* ---- ranks and elements -------------------------------------------------------------- */

int64_t tn_i_comm_ranks(const tn_comm_ops *t, uint32_t axes, int64_t *me) {
    int64_t n = 1, k = 0;
    for (int a = 0; a < t->naxes; a++)
        if (axes >> a & 1) {
            n *= t->extent[a];
            k = k * t->extent[a] + t->index[a];
        }
    if (me) *me = k;
    return n;
}

static bool operand_has_pieces(int kind) {
    return kind == TN_COMM_REDUCE_SCATTER || kind == TN_COMM_SCATTER || kind == TN_COMM_ALLTOALL;
}
static bool result_has_pieces(int kind) {
    return kind == TN_COMM_ALLGATHER || kind == TN_COMM_GATHER || kind == TN_COMM_ALLTOALL;
}

int64_t tn_i_operand_count(const tn_collective *x, int64_t ranks) {
    return x->kind == TN_COMM_BARRIER ? 0 : x->count * (operand_has_pieces(x->kind) ? ranks : 1);
}
int64_t tn_i_result_count(const tn_collective *x, int64_t ranks) {
    return x->kind == TN_COMM_BARRIER ? 0 : x->count * (result_has_pieces(x->kind) ? ranks : 1);
}

/* ---- what is good ---------------------------------------------------------------------- */

static const char *bad_members(const tn_comm_ops *t, const tn_collective *x) {
    if (x->size != sizeof *x) return "its size is not set, or is another version's";
    if (x->kind < 0 || x->kind >= TN_COMM_KINDS) return "there is no such kind";
    if (!x->axes) return "it names no axis";
    if (x->axes >> t->naxes) return "it names an axis that the grid has not";
    if (x->kind == TN_COMM_BARRIER) return NULL;
    if (x->dtype < 0 || x->dtype >= TN_I_OWN_DTYPES) return "there is no such dtype";
    if (x->count < 0) return "its count is negative";
    if (x->kind == TN_COMM_ALLREDUCE && (x->op < TN_COMM_SUM || x->op > TN_COMM_MIN)) return "there is no such op";
    return NULL;
}

/* Whether a rank stands twice among the sources (at 0) or targets (at 1), looked at a few thousand ranks at a time. */
static bool twice(const tn_collective *x, int at, int64_t ranks) {
    enum { WINDOW = 4096 };
    for (int64_t low = 0; low < ranks; low += WINDOW) {
        uint64_t seen[WINDOW / 64] = {0};
        for (size_t p = 0; p < x->npairs; p++) {
            const int64_t r = x->pairs[2 * p + (size_t)at] - low;
            if (r < 0 || r >= WINDOW) continue;
            if (seen[r / 64] >> r % 64 & 1) return true;
            seen[r / 64] |= (uint64_t)1 << r % 64;
        }
    }
    return false;
}

static const char *bad_pairs(const tn_collective *x, int64_t ranks) {
    if (x->npairs && !x->pairs) return "its pairs are NULL";
    if (x->npairs > (uint64_t)ranks) return "it has more pairs than ranks";
    for (size_t i = 0; i < 2 * x->npairs; i++)
        if (x->pairs[i] < 0 || x->pairs[i] >= ranks) return "a pair has a rank that is not there";
    if (twice(x, 0, ranks)) return "two pairs have one source";
    return twice(x, 1, ranks) ? "two pairs have one target" : NULL;
}

static const char *bad_parameters(const tn_collective *x, int64_t ranks) {
    size_t bytes;
    const bool rooted = x->kind == TN_COMM_BCAST || x->kind == TN_COMM_GATHER || x->kind == TN_COMM_SCATTER;
    if (rooted && (x->root < 0 || x->root >= ranks)) return "its root is not among the ranks of its axes";
    if (x->kind != TN_COMM_BARRIER && (!tn_i_mul((size_t)x->count, (size_t)ranks, &bytes) ||
                                       !tn_i_mul(bytes, tn_i_dtype_size(x->dtype), &bytes) || bytes > PTRDIFF_MAX))
        return "all ranks' elements together are more than memory can have";
    return x->kind == TN_COMM_PERMUTE ? bad_pairs(x, ranks) : NULL;
}

bool tn_i_collective_good(const tn_comm_ops *t, const tn_collective *x, const void *in, const void *out, char *why,
                          size_t n) {
    char text[TN_I_COLLECTIVE_TEXT];
    const char *bad = x ? bad_members(t, x) : "it is NULL";
    if (bad) {
        (void)snprintf(why, n, "a collective is refused: %s", bad);
        return false;
    }
    int64_t me;
    const int64_t ranks = tn_i_comm_ranks(t, x->axes, &me);
    const bool unread = x->kind == TN_COMM_SCATTER && me != x->root;
    bad = bad_parameters(x, ranks);
    if (!bad && !in && !unread && tn_i_operand_count(x, ranks)) bad = "its operand is NULL";
    if (!bad && !out && tn_i_result_count(x, ranks)) bad = "its result is NULL";
    if (bad) (void)snprintf(why, n, "%s is refused: %s", tn_i_collective_text(t, x, text), bad);
    return !bad;
}

/* ---- text -------------------------------------------------------------------------------- */

static const char *name(const tn_collective *x) {
    static const char *const names[TN_COMM_KINDS] = {"psum",      "pick",         "all_gather", "reduce_scatter",
                                                     "gather_to", "scatter_from", "all_to_all", "shift",
                                                     "ppermute",  "pscan",        "barrier"};
    static const char *const joined[] = {"psum", "pprod", "pmax", "pmin"};
    return x->kind == TN_COMM_ALLREDUCE ? joined[x->op & 3] : names[x->kind];
}

typedef struct writer {
    char *buf;
    size_t at;
} writer;

static void put(writer *w, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    const int n = vsnprintf(w->buf + w->at, TN_I_COLLECTIVE_TEXT - w->at, format, ap);
    va_end(ap);
    w->at += n > 0 ? (size_t)n : 0;
    if (w->at >= TN_I_COLLECTIVE_TEXT) w->at = TN_I_COLLECTIVE_TEXT - 1;
}

static void put_parameters(writer *w, const tn_collective *x) {
    const bool rooted = x->kind == TN_COMM_BCAST || x->kind == TN_COMM_GATHER || x->kind == TN_COMM_SCATTER;
    const bool adds = x->kind == TN_COMM_ALLREDUCE || x->kind == TN_COMM_REDUCE_SCATTER || x->kind == TN_COMM_SCAN;
    if (rooted) put(w, " root=%d", x->root);
    if (x->kind == TN_COMM_SHIFT) put(w, " by=%d%s", x->by, x->wrap ? " wrap" : "");
    if (x->kind == TN_COMM_SCAN) put(w, "%s%s", x->exclusive ? " exclusive" : "", x->reverse ? " reverse" : "");
    if (x->kind == TN_COMM_PERMUTE) put(w, " of %zu pairs", x->npairs);
    if (adds && x->ordered) put(w, " ordered");
}

const char *tn_i_collective_text(const tn_comm_ops *t, const tn_collective *x, char buf[TN_I_COLLECTIVE_TEXT]) {
    writer w = {.buf = buf};
    const bool several = (x->axes & (x->axes - 1)) != 0;
    put(&w, "%s", name(x));
    if (x->kind != TN_COMM_BARRIER) put(&w, " %s[%lld]", tn_i_dtype_name(x->dtype), (long long)x->count);
    put_parameters(&w, x);
    put(&w, several ? " over (" : " over ");
    for (int a = 0, k = 0; a < t->naxes; a++)
        if (x->axes >> a & 1) put(&w, "%s%s", k++ ? "," : "", t->name[a]);
    if (several) put(&w, ")");
    return buf;
}
