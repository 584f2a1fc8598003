/* Loops that feed several reductions are cut, so that each part feeds those of one kind (loop fission).  Pass `sums`
 * has fast forms of such loops alone.
 *
 * An innermost loop: sums of a row stay, with those of columns of which the loop around is over the rows; for what goes
 * into any other one the elements wait in a buffer and have a loop of their own behind.  A loop over so few rows that
 * sums of its columns have one leaf each: those whose elements are in memory anyway have loops of their own behind, and
 * the other ones stay. */
#include "base/machine.h"
#include "loop/inside.h"
#include "pass/inside.h"

enum { MOST = 8 }; /* INTOs of a loop that move */

typedef struct fission {
    const tn_i_loops *p;
    tn_i_l_copy c;
    uint32_t *around;
    uint32_t move[MOST], buffer[MOST], nmove; /* of the loop that is looked at */
    uint32_t *behind;                         /* of an INTO: 1 + the loop over rows behind which it has its own; or 0 */
} fission;

/* Into what this loop alone reduces. */
static bool of_row(const fission *z, uint32_t k, const tn_i_l_op *into) {
    return into->at.n == 0 && z->p->op[into->in[0]].hi == 1 && z->around[into->in[0]] == z->around[k];
}

/* Of reduction `reduce` loop k has one INTO, and no TOTAL. */
static bool fed_once(const tn_i_loops *p, uint32_t k, uint32_t reduce) {
    uint32_t n = 0;
    for (uint32_t i = k + 1; i < p->op[k].to; i++) {
        const tn_i_l_op *o = &p->op[i];
        if (o->kind == TN_L_TOTAL && o->in[0] == reduce) return false;
        n += o->kind == TN_L_INTO && o->in[0] == reduce;
    }
    return n == 1;
}

/* Loops of a known count alone, around which nothing is carried. */
static bool plain(const tn_i_loops *p, uint32_t k, int64_t *n) {
    const tn_i_l_op *o = &p->op[k];
    return o->kind == TN_L_FOR && !o->vector && !o->parallel && tn_i_l_known_count(p, k, n) &&
           p->op[k + 1].kind != TN_L_CARRY;
}

/* Into columns, one for each iteration of loop k: pass `sums` has a lane of them for each row (tn_i_reduction.split).
 */
static bool of_columns(const fission *z, uint32_t k, const tn_i_l_op *into) {
    const tn_i_loops *p = z->p;
    const uint32_t rows = z->around[k];
    const tn_i_l_op *r = &p->op[into->in[0]];
    int64_t n, columns;
    return rows != TN_L_NONE && z->around[into->in[0]] == z->around[rows] && r->code <= TN_FOLD_MIN &&
           into->at.n == 1 && into->at.at == 0 && tn_i_l_by(p, &into->at, k) == 1 && plain(p, rows, &n) &&
           tn_i_l_known_count(p, k, &columns) && r->hi == columns && p->op[rows].to - rows < TN_M_SUM_OPERATIONS &&
           fed_once(p, rows, into->in[0]);
}

/* Which INTOs of loop k are to be moved; false: it stays as it is. */
static bool find(fission *z, uint32_t k, int64_t *n) {
    const tn_i_loops *p = z->p;
    const tn_i_l_op *o = &p->op[k];
    bool stays = false;
    z->nmove = 0;
    if (o->vector || o->parallel || !tn_i_l_known_count(p, k, n) || *n < 2) return false;
    for (uint32_t i = k + 1; i < o->to; i++)
        if (p->op[i].kind == TN_L_INTO && !z->behind[i] && of_row(z, k, &p->op[i])) stays = true;
    for (uint32_t i = k + 1; i < o->to; i++) {
        const tn_i_l_op *x = &p->op[i];
        if (x->kind != TN_L_INTO) {
            if (!tn_i_l_straight(p, i, i + 1)) return false;
            continue;
        }
        if (z->behind[i]) continue;
        if (of_row(z, k, x) || (stays && of_columns(z, k, x))) continue;
        if (z->nmove == MOST) return false;
        z->move[z->nmove++] = i;
    }
    if (!stays && z->nmove) z->nmove--; /* the last one has this loop alone */
    return z->nmove > 0;
}

static bool moves(const fission *z, uint32_t i, uint32_t *which) {
    for (*which = 0; *which < z->nmove; ++*which)
        if (z->move[*which] == i) return true;
    return false;
}

/* The element of an INTO is in memory, where nothing in loop k writes: it can be loaded again. */
static bool in_memory(const fission *z, uint32_t k, uint32_t into) {
    const tn_i_l_op *x = &z->p->op[z->p->op[into].in[1]];
    if (x->kind != TN_L_LOAD || x->in[0] != TN_L_NONE || x->in[1] != TN_L_NONE) return false;
    for (uint32_t i = k + 1; i < z->p->op[k].to; i++)
        if (z->p->op[i].kind == TN_L_STORE && tn_i_l_overlap(z->p, z->p->op[i].which, x->which)) return false;
    return true;
}

/* What is computed outside needs no buffer, either. */
static bool waits(const fission *z, uint32_t k, uint32_t which) {
    return z->p->op[z->move[which]].in[1] > k && !in_memory(z, k, z->move[which]);
}

/* The element of INTO `which` in its own loop. */
static uint32_t element(fission *z, uint32_t k, uint32_t which, uint32_t loop) {
    const uint32_t from = z->p->op[z->move[which]].in[1];
    if (waits(z, k, which)) return tn_i_l_load_at(z->c.b, z->buffer[which], tn_i_affine_loop(loop, 1, 0));
    if (from > k) tn_i_l_copy_op(&z->c, from);
    return z->c.value[from];
}

static void make_buffers(fission *z, uint32_t k, int64_t n) {
    for (uint32_t i = 0; i < z->nmove; i++) {
        const int dtype = z->p->op[z->p->op[z->move[i]].in[1]].dtype;
        if (waits(z, k, i)) z->buffer[i] = tn_i_l_scratch(z->c.b, "waiting", dtype, n < TN_WAITING ? n : TN_WAITING, 0);
    }
}

void tn_i_l_in_stretches(tn_i_l_builder *b, int64_t n, tn_i_l_stretch *each, void *with, uint32_t k) {
    const int64_t whole = n > TN_WAITING ? n / TN_WAITING : 0, rest = n - whole * TN_WAITING;
    if (whole) {
        const uint32_t loop = tn_i_l_for_n(b, whole);
        each(with, k, tn_i_affine_loop(loop, TN_WAITING, 0), TN_WAITING);
        tn_i_l_close(b);
    }
    if (rest) each(with, k, tn_i_affine_number(whole * TN_WAITING), rest);
}

/* Iterations at .. at + n - 1: the loop, then those of what has moved. */
static void copy_stretch(void *with, uint32_t k, tn_i_affine at, int64_t n) {
    fission *z = with;
    tn_i_l_builder *b = z->c.b;
    uint32_t which, loop = tn_i_l_for_n(b, n);
    tn_i_l_copy_loop(&z->c, k, tn_i_affine_term(b, at, loop, 1));
    for (uint32_t i = k + 1; i < z->p->op[k].to && !b->failed; i++) {
        if (z->behind[i]) continue;
        if (!moves(z, i, &which))
            tn_i_l_copy_op(&z->c, i);
        else if (waits(z, k, which))
            tn_i_l_store_at(b, z->buffer[which], tn_i_affine_loop(loop, 1, 0), z->c.value[z->p->op[i].in[1]]);
    }
    tn_i_l_close(b);
    for (uint32_t i = 0; i < z->nmove && !b->failed; i++) {
        const tn_i_l_op *o = &z->p->op[z->move[i]];
        loop = tn_i_l_for_n(b, n);
        tn_i_l_copy_loop(&z->c, k, tn_i_affine_term(b, at, loop, 1));
        const uint32_t x = element(z, k, i, loop);
        tn_i_l_into(b, z->c.value[o->in[0]], tn_i_l_copy_affine(&z->c, &o->at), x);
        tn_i_l_close(b);
    }
}

static void cut(fission *z, uint32_t k, int64_t n) {
    make_buffers(z, k, n);
    tn_i_l_in_stretches(z->c.b, n, copy_stretch, z, k);
}

/* ---- columns -------------------------------------------------------------------------------------------- */

/* Loop k is over the rows of columns that INTO i sums. */
static bool over_rows(const fission *z, uint32_t k, uint32_t i) {
    const tn_i_loops *p = z->p;
    const tn_i_l_op *o = &p->op[i];
    uint32_t inner = z->around[i];
    int64_t n;
    if (z->around[o->in[0]] != z->around[k] || inner == k || tn_i_l_by(p, &o->at, k)) return false;
    for (; inner != k; inner = z->around[inner])
        if (!plain(p, inner, &n) || !tn_i_l_by(p, &o->at, inner)) return false;
    return o->in[1] > k && in_memory(z, k, i) && fed_once(p, k, o->in[0]);
}

/* Which of loop k go behind it. */
static void find_columns(fission *z, uint32_t k) {
    const tn_i_loops *p = z->p;
    uint32_t last = TN_L_NONE;
    bool stays = false;
    int64_t n;
    if (!plain(p, k, &n) || n < 2 || n > TN_LEAF) return;
    for (uint32_t i = k + 1; i < p->op[k].to; i++)
        if (p->op[i].kind == TN_L_WHILE || p->op[i].kind == TN_L_CALL) return;
    for (uint32_t i = k + 1; i < p->op[k].to; i++) {
        const int kind = p->op[i].kind;
        if (kind == TN_L_STORE) stays = true;
        if (kind != TN_L_INTO || z->behind[i]) continue;
        if (over_rows(z, k, i))
            z->behind[last = i] = k + 1;
        else
            stays = true;
    }
    if (!stays && last != TN_L_NONE) z->behind[last] = 0;
}

/* Loops as those from k on around INTO i, of it alone. */
static void columns(fission *z, uint32_t k, uint32_t i) {
    tn_i_l_builder *b = z->c.b;
    const tn_i_l_op *o = &z->p->op[i];
    uint32_t loop[TN_L_DEPTH], depth = 0;
    for (uint32_t l = z->around[i]; l != z->around[k]; l = z->around[l]) loop[depth++] = l;
    for (uint32_t d = depth; d-- > 0;) {
        int64_t n = 0;
        (void)tn_i_l_known_count(z->p, loop[d], &n);
        tn_i_l_copy_loop(&z->c, loop[d], tn_i_affine_loop(tn_i_l_for_n(b, n), 1, 0));
    }
    tn_i_l_copy_op(&z->c, o->in[1]);
    tn_i_l_copy_op(&z->c, i);
    while (depth-- > 0) tn_i_l_close(b);
}

static void behind_loop(fission *z, uint32_t k) {
    for (uint32_t i = k + 1; i < z->p->op[k].to && !z->c.b->failed; i++)
        if (z->behind[i] == k + 1) columns(z, k, i);
}

/* ---- the walk --------------------------------------------------------------------------------------------- */

/* Operation k, or the loop that it opens; what is next. */
static uint32_t one(fission *z, uint32_t k) {
    const tn_i_l_op *o = &z->p->op[k];
    int64_t n;
    if (z->behind[k]) return k + 1;
    if (o->kind == TN_L_FOR) {
        find_columns(z, k);
        if (find(z, k, &n)) {
            cut(z, k, n);
            return o->to + 1;
        }
    }
    tn_i_l_copy_op(&z->c, k);
    if (o->kind == TN_L_END && z->p->op[o->to].kind == TN_L_FOR) behind_loop(z, o->to);
    return k + 1;
}

tn_i_loops *tn_i_pass_fission(tn_i_loops *p, const tn_i_machine *m) {
    if (m->strips) return p;
    tn_i_l_builder b;
    fission z = {.p = p};
    tn_i_l_begin(&b, p->ctx);
    z.around = tn_i_l_around(p);
    z.behind = p->nop ? tn_i_alloc_array(p->ctx, p->nop, sizeof *z.behind) : NULL;
    if (p->nop && (!z.around || !z.behind)) b.failed = true;
    if (tn_i_l_copy_begin(&z.c, &b, p))
        for (uint32_t k = 0; k < p->nop && !b.failed;) k = one(&z, k);
    tn_i_l_copy_end(&z.c);
    if (z.behind) tn_i_free(p->ctx, z.behind, p->nop * sizeof *z.behind);
    tn_i_l_around_drop(p, z.around);
    tn_i_l_free(p);
    return tn_i_l_end(&b);
}
