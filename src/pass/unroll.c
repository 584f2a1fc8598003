/* Short loops inside a loop whose iterations follow one another are written out: what they keep in memory from one
 * iteration to the next then has addresses that are numbers, and can be in registers (promote.c).  So are those that
 * feed or ask reductions, where these are then fed and asked in one block alone (sums_straight.c).  So are, anywhere,
 * those over short rows of which both the best element and something else is wanted: rows are then as many as there are
 * lanes. */
#include "base/machine.h"
#include "pass/inside.h"

static bool is_loop(const tn_i_loops *p, uint32_t k, int64_t most, int64_t *n);

/* A loop of few iterations. */
static bool is_short(const tn_i_loops *p, uint32_t k, int64_t *n) { return is_loop(p, k, TN_M_UNROLL_ITERATIONS, n); }

/* What a reduction is made of. */
static bool reduces(const tn_i_l_op *o) {
    return o->kind == TN_L_REDUCE || o->kind == TN_L_INTO || o->kind == TN_L_TOTAL;
}

/* Straight operations, reductions, and loops that are short. */
static bool is_plain(const tn_i_loops *p, uint32_t first, uint32_t last) {
    int64_t n;
    for (uint32_t i = first; i < last; i++) {
        if (p->op[i].kind == TN_L_FOR) {
            if (!is_short(p, i, &n)) return false;
            i = p->op[i].to;
        } else if (!reduces(&p->op[i]) && !tn_i_l_straight(p, i, i + 1))
            return false;
    }
    return true;
}

/* A loop of at most so many iterations that nothing reads from.  What calls functions calls them for all iterations at
 * once. */
static bool is_loop(const tn_i_loops *p, uint32_t k, int64_t most, int64_t *n) {
    const tn_i_l_op *o = &p->op[k];
    const uint8_t behind = o->to + 1 < p->nop ? p->op[o->to + 1].kind : TN_L_END;
    return o->kind == TN_L_FOR && !o->vector && !o->parallel && tn_i_l_known_count(p, k, n) && *n <= most &&
           behind != TN_L_LAST && behind != TN_L_HALVES && is_plain(p, k + 1, o->to) &&
           (*n < 2 || !tn_i_l_calls(p, k + 1, o->to));
}

/* ---- reductions ---- */

typedef struct unroller {
    tn_i_l_copy c;
    uint32_t *around;
    bool *own;   /* of each array, for a loop: memory that is each iteration's own */
    bool *few;   /* of each REDUCE: loops between it and what feeds or asks it are all written out */
    bool inside; /* of a loop that is written out */
} unroller;

static bool written_out(const unroller *z, uint32_t k) {
    const tn_i_loops *p = z->c.p;
    int64_t n;
    if (!is_short(p, k, &n)) return false;
    for (uint32_t i = k + 1; i < p->op[k].to; i++) {
        const tn_i_l_op *o = &p->op[i];
        if (!z->few[o->kind == TN_L_REDUCE ? i : reduces(o) ? o->in[0] : k]) return false;
    }
    return true;
}

static bool reaches(const unroller *z, uint32_t k) {
    const uint32_t reduce = z->c.p->op[k].in[0];
    for (uint32_t i = z->around[k]; i != z->around[reduce]; i = z->around[i])
        if (!written_out(z, i)) return false;
    return true;
}

/* Each that is not may leave loops, and so other ones, as they are. */
static void find_few(unroller *z) {
    const tn_i_loops *p = z->c.p;
    bool changed = true;
    for (uint32_t k = 0; k < p->nop; k++) z->few[k] = true;
    while (changed) {
        changed = false;
        for (uint32_t k = 0; k < p->nop; k++) {
            const tn_i_l_op *o = &p->op[k];
            if (!reduces(o) || o->kind == TN_L_REDUCE || !z->few[o->in[0]] || reaches(z, k)) continue;
            z->few[o->in[0]] = false;
            changed = true;
        }
    }
}

/* ---- loops ---- */

/* An iteration of loop k touches what another one stores, or may, but for memory that is each iteration's own. */
static bool follows(const tn_i_loops *p, uint32_t k, bool *own) {
    const tn_i_l_op *o = &p->op[k];
    int64_t n = o->hi;
    if (o->kind != TN_L_FOR || o->vector || o->parallel) return false;
    return (!tn_i_l_known_count(p, k, &n) && n == INT64_MAX) ||
           (n > 1 && !tn_i_l_apart(p, k, n, tn_i_l_find_own(p, k, own) ? own : NULL));
}

/* Loop k has more iterations than are written out, none of which another one waits for: in what is inside of it
 * addresses are no numbers. */
static bool is_wide(const tn_i_loops *p, uint32_t k, bool *own) {
    int64_t n = p->op[k].hi;
    return p->op[k].kind == TN_L_FOR && tn_i_l_known_count(p, k, &n) && n > TN_M_UNROLL_ITERATIONS &&
           !follows(p, k, own);
}

/* Loop k, in a loop of several rows, feeds reductions of its own row, with and without places. */
static bool is_mixed_row(const unroller *z, uint32_t k, int64_t *n) {
    const tn_i_loops *p = z->c.p;
    const uint32_t rows = z->around[k], last = p->op[k].to;
    uint32_t places = 0, others = 0;
    int64_t m;
    if (p->op[k].kind != TN_L_FOR || rows == TN_L_NONE || p->op[rows].kind != TN_L_FOR) return false;
    if (!tn_i_l_known_count(p, rows, &m) || m < 2 || !is_loop(p, k, TN_M_SUM_OPERATIONS / (last - k), n) || *n < 2)
        return false;
    for (uint32_t i = k + 1; i < last; i++) {
        const tn_i_l_op *x = &p->op[i];
        if (tn_i_l_straight(p, i, i + 1)) continue;
        if (x->kind != TN_L_INTO || z->around[x->in[0]] != rows || x->at.n || p->op[x->in[0]].hi != 1) return false;
        *(p->op[x->in[0]].code > TN_FOLD_MIN ? &places : &others) += 1;
    }
    return places && others;
}

/* Loop k is written out; follow: it stands in a loop in which iterations follow one another. */
static bool is_written(const unroller *z, uint32_t k, bool follow, int64_t *n) {
    const tn_i_loops *p = z->c.p;
    if (!follow) return is_mixed_row(z, k, n);
    return written_out(z, k) && (z->inside || z->c.b->p->nop <= TN_M_UNROLL_OPERATIONS) && tn_i_l_known_count(p, k, n);
}

/* Copies operations first .. last - 1. */
static void copy(unroller *z, uint32_t first, uint32_t last, bool follow) {
    tn_i_l_copy *c = &z->c;
    const tn_i_loops *p = c->p;
    const bool inside = z->inside;
    for (uint32_t i = first; i < last && !c->b->failed; i++) {
        int64_t n;
        if (follow && is_wide(p, i, z->own)) {
            copy(z, i, p->op[i].to + 1, false);
            i = p->op[i].to;
            continue;
        }
        if (!is_written(z, i, follow, &n)) {
            tn_i_l_copy_op(c, i);
            continue;
        }
        z->inside = true;
        for (int64_t j = 0; j < n; j++) {
            tn_i_l_copy_loop(c, i, tn_i_affine_number(j));
            copy(z, i + 1, p->op[i].to, follow);
        }
        z->inside = inside;
        i = p->op[i].to;
    }
}

static void copy_all(unroller *z) {
    const tn_i_loops *p = z->c.p;
    for (uint32_t k = 0; k < p->nop; k++) {
        const uint32_t last = p->op[k].kind == TN_L_FOR ? p->op[k].to : k;
        copy(z, k, last + 1, follows(p, k, z->own));
        k = last;
    }
}

tn_i_loops *tn_i_pass_unroll(tn_i_loops *p, const tn_i_machine *m) {
    tn_i_l_builder b;
    unroller z = {.around = tn_i_l_around(p)};
    const size_t n = p->narray + 1u;
    (void)m;
    tn_i_l_begin(&b, p->ctx);
    z.own = tn_i_alloc_array(p->ctx, n, sizeof *z.own);
    z.few = tn_i_alloc_array(p->ctx, p->nop + 1u, sizeof *z.few);
    if (!z.own || !z.few || (p->nop && !z.around)) b.failed = true;
    if (tn_i_l_copy_begin(&z.c, &b, p)) {
        find_few(&z);
        copy_all(&z);
    }
    tn_i_l_copy_end(&z.c);
    if (z.own) tn_i_free(p->ctx, z.own, n * sizeof *z.own);
    if (z.few) tn_i_free(p->ctx, z.few, (p->nop + 1u) * sizeof *z.few);
    tn_i_l_around_drop(p, z.around);
    tn_i_l_free(p);
    return tn_i_l_end(&b);
}
