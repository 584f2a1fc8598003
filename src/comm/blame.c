/* What goes wrong between ranks, and who is named. */
#include "comm/threads.h"

#include <stdio.h>

int tn_i_blame(tn_threads *t, int status, const char *format, ...) {
    if (!t->failed) {
        va_list ap;
        va_start(ap, format);
        (void)vsnprintf(t->why, sizeof t->why, format, ap);
        va_end(ap);
        t->failed = status;
        (void)pthread_cond_broadcast(&t->changed);
    }
    return t->failed;
}

/* ---- texts ------------------------------------------------------------------------------- */

typedef struct words {
    char text[TN_I_COLLECTIVE_TEXT + 128];
} words;

/* "psum f64[10] over w (communication 17)" */
static words numbered(const tn_i_thread_rank *r, const tn_collective *x, uint64_t number) {
    char text[TN_I_COLLECTIVE_TEXT];
    words w;
    (void)snprintf(w.text, sizeof w.text, "%s (communication %llu)", tn_i_collective_text(&r->ops, x, text),
                   (unsigned long long)number);
    return w;
}

static int64_t place_in(const tn_i_thread_rank *r, const tn_i_meeting *m) {
    int64_t k;
    (void)tn_i_comm_ranks(&r->ops, m->x.axes, &k);
    return k;
}

static words meeting_of(const tn_i_thread_rank *r, const tn_i_meeting *m) {
    return numbered(r, &m->x, m->member[place_in(r, m)].number);
}

/* What a rank does that others wait for: "has left", "waits in ", "psum .." */
static const char *does_what(const tn_i_thread_rank *r) {
    if (r->left) return "has left";
    if (r->waits) return "waits in ";
    return r->begun ? "has begun no other since " : "has begun no communication";
}
static words in_what(const tn_i_thread_rank *r) {
    if (!r->left && r->waits) return meeting_of(r, r->waits);
    return !r->left && r->begun ? numbered(r, &r->last, r->begun) : (words){""};
}

/* ---- who is missing ------------------------------------------------------------------------ */

static tn_i_thread_rank *member(tn_threads *t, const tn_i_meeting *m, int64_t k) {
    return &t->rank[tn_i_member_rank(t, m->x.axes, m->first, k)];
}

/* "rank 2 .. in psum f64[10] over w (communication 17) for rank 0 (and 2 others), which has left" */
static int blame_missing(tn_i_thread_rank *r, const tn_i_meeting *m, int status, const char *does,
                         const tn_i_thread_rank *for_whom) {
    char others[48] = "";
    const int64_t more = m->ranks - m->here - 1;
    if (more > 0) (void)snprintf(others, sizeof others, " (and %lld other%s)", (long long)more, more > 1 ? "s" : "");
    return tn_i_blame(r->all, status, "rank %lld %s in %s for rank %lld%s, which %s%s", (long long)r->number, does,
                      meeting_of(r, m).text, (long long)for_whom->number, others, does_what(for_whom),
                      in_what(for_whom).text);
}

int tn_i_blame_late(tn_i_thread_rank *r, const tn_i_meeting *m) {
    char does[64];
    (void)snprintf(does, sizeof does, "has waited %g s", r->all->seconds);
    for (int64_t k = 0; k < m->ranks; k++)
        if (!m->member[k].number) return blame_missing(r, m, TN_EIO, does, member(r->all, m, k));
    return TN_OK;
}

int tn_i_blame_left(tn_i_thread_rank *r, const tn_i_meeting *m) {
    for (int64_t k = 0; k < m->ranks; k++)
        if (!m->member[k].number && member(r->all, m, k)->left)
            return blame_missing(r, m, TN_EIO, "waits", member(r->all, m, k));
    return TN_OK;
}

/* ---- ranks that wait for each other ----------------------------------------------------------- */

static bool stuck(const tn_i_thread_rank *r) { return r->waits && !atomic_load(&r->waits->ready); }

/* Who sleeps in a meeting that is not ready waits for all that have not come: each of them, if it sleeps as well, waits
 * for others.  Depth first from r; whoever leads back to r closes a circle, in which nobody can come any more. */
int tn_i_blame_circle(tn_i_thread_rank *r, const tn_i_meeting *m) {
    tn_threads *t = r->all;
    size_t depth = 0;
    t->path[depth++] = r;
    t->search++;
    while (depth) {
        const tn_i_meeting *in = t->path[--depth]->waits;
        for (int64_t k = 0; k < in->ranks; k++) {
            tn_i_thread_rank *to = in->member[k].number ? NULL : member(t, in, k);
            if (!to || !stuck(to)) continue;
            if (to == r) {
                for (int64_t i = 0; i < m->ranks; i++)
                    if (!m->member[i].number && stuck(member(t, m, i)))
                        return blame_missing(r, m, TN_EINVAL, "waits", member(t, m, i));
            }
            if (to->looked == t->search) continue;
            to->looked = t->search;
            t->path[depth++] = to;
        }
    }
    return TN_OK;
}

/* ---- ranks that begin something else ------------------------------------------------------------ */

int tn_i_blame_other(tn_i_thread_rank *r, const tn_i_meeting *m, const tn_collective *x) {
    const words mine = numbered(r, x, r->begun);
    for (int64_t k = 0; k < m->ranks; k++) {
        if (!m->member[k].number) continue;
        const tn_i_thread_rank *other = member(r->all, m, k);
        const words theirs = meeting_of(other, m);
        const bool pairs = x->kind == TN_COMM_PERMUTE && m->x.kind == TN_COMM_PERMUTE && x->npairs == m->x.npairs &&
                           x->count == m->x.count && x->dtype == m->x.dtype;
        return tn_i_blame(r->all, TN_EINVAL, "rank %lld begins %s, where rank %lld has begun %s%s",
                          (long long)r->number, mine.text, (long long)other->number, theirs.text,
                          pairs ? ": the pairs differ" : "");
    }
    return TN_OK;
}
