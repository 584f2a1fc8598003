/* Functions of rows are brought into loops of their own: where a loop over rows has loops, say those of a sum, and
 * functions of numbers behind them, or what goes into a sum of all rows, the totals of many rows wait in a buffer, and
 * what is left is a straight loop over these rows, which `vectorize` and `sums` make vectors of.
 *
 *     for i {                            for a stretch of rows:
 *       r = reduce sum                     for i { r = reduce sum; for j { .. into r = x }; waiting[i] = total r }
 *       for j { .. into r = x }            for i { y[i] = fn log waiting[i] }
 *       store y[i] = fn log (total r)
 *     }
 *
 * Iterations do not depend on each other, so that all the totals may come first.  What else of a row the functions need
 * is computed again: numbers, indices, loads of what the loop does not store, and operations on these. */
#include "loop/inside.h"
#include "pass/inside.h"

#include <string.h>

enum { MOST = 8 /* totals that wait */ };

typedef struct rows {
    const tn_i_loops *p;
    tn_i_l_copy c;
    bool *needed;         /* of each operation in front of the functions: they need it */
    uint32_t first, last; /* of the loop that is looked at: its straight end */
    uint32_t total[MOST], buffer[MOST], n;
} rows;

static bool is_function(const rows *z, uint32_t k) {
    const tn_i_l_op *o = &z->p->op[k];
    return o->kind == TN_L_MAP && tn_i_l_vector_name(z->p, o);
}

static bool stores_to(const tn_i_loops *p, uint32_t k, uint32_t array) {
    for (uint32_t i = k + 1; i < p->op[k].to; i++)
        if (p->op[i].kind == TN_L_STORE && tn_i_l_overlap(p, p->op[i].which, array)) return true;
    return false;
}

/* Operation i, in front of the functions of loop k, which need it: it waits, or is computed again. */
static bool take(rows *z, uint32_t k, uint32_t i) {
    const tn_i_l_op *o = &z->p->op[i];
    if (o->kind == TN_L_TOTAL) {
        if (z->n == MOST) return false;
        z->total[z->n++] = i;
        return true;
    }
    if (!tn_i_l_straight(z->p, i, i + 1) || tn_i_l_calls(z->p, i, i + 1)) return false;
    return o->kind != TN_L_LOAD || !stores_to(z->p, k, o->which);
}

/* What the straight end of loop k needs of what is in front of it. */
static bool find_needed(rows *z, uint32_t k) {
    z->n = 0;
    memset(z->needed + k, 0, (z->last - k) * sizeof *z->needed);
    for (uint32_t i = z->last; i-- > k + 1;) {
        if (i < z->first && !z->needed[i]) continue;
        if (i < z->first && !take(z, k, i)) return false;
        for (int j = 0; j < 3 && z->p->op[i].kind != TN_L_TOTAL; j++)
            if (z->p->op[i].in[j] != TN_L_NONE && z->p->op[i].in[j] > k) z->needed[z->p->op[i].in[j]] = true;
    }
    return true;
}

/* The INTO at i, at the end of loop k, is the only one of a reduction that is not of one row alone. */
static bool of_all_rows(const tn_i_loops *p, uint32_t k, uint32_t i) {
    const uint32_t reduce = p->op[i].in[0];
    if (p->op[i].kind != TN_L_INTO || reduce > k) return false;
    for (uint32_t j = k + 1; j < p->op[k].to; j++) {
        const tn_i_l_op *o = &p->op[j];
        if (j != i && (o->kind == TN_L_INTO || o->kind == TN_L_TOTAL) && o->in[0] == reduce) return false;
    }
    return true;
}

/* Loop k is over rows whose functions are to have a loop of their own. */
static bool find(rows *z, uint32_t k, int64_t *n) {
    const tn_i_loops *p = z->p;
    const tn_i_l_op *o = &p->op[k];
    bool functions = false, loops = false;
    if (o->vector || o->parallel || !tn_i_l_known_count(p, k, n) || *n < 2 || p->op[k + 1].kind == TN_L_CARRY)
        return false;
    z->last = z->first = o->to;
    for (; z->first > k + 1; z->first--) {
        const bool into = of_all_rows(p, k, z->first - 1);
        if (!into && !tn_i_l_straight(p, z->first - 1, z->first)) break;
        functions |= into || is_function(z, z->first - 1);
    }
    for (uint32_t i = k + 1; i < z->first; i++) {
        loops |= p->op[i].kind == TN_L_FOR;
        if (p->op[i].kind == TN_L_CALL || p->op[i].kind == TN_L_WHILE || p->op[i].vector) return false;
    }
    return functions && loops && find_needed(z, k) && tn_i_l_apart(p, k, *n, NULL);
}

static void make_buffers(rows *z, int64_t n) {
    for (uint32_t i = 0; i < z->n; i++)
        z->buffer[i] =
            tn_i_l_scratch(z->c.b, "waiting", z->p->op[z->total[i]].dtype, n < TN_WAITING ? n : TN_WAITING, 0);
}

/* Rows at .. at + n - 1. */
static void copy_stretch(void *with, uint32_t k, tn_i_affine at, int64_t n) {
    rows *z = with;
    tn_i_l_builder *b = z->c.b;
    uint32_t loop = tn_i_l_for_n(b, n);
    tn_i_l_copy_loop(&z->c, k, tn_i_affine_term(b, at, loop, 1));
    tn_i_l_copy_ops(&z->c, k + 1, z->first);
    for (uint32_t i = 0; i < z->n && !b->failed; i++)
        tn_i_l_store_at(b, z->buffer[i], tn_i_affine_loop(loop, 1, 0), z->c.value[z->total[i]]);
    tn_i_l_close(b);
    loop = tn_i_l_for_n(b, n);
    tn_i_l_copy_loop(&z->c, k, tn_i_affine_term(b, at, loop, 1));
    for (uint32_t i = 0; i < z->n && !b->failed; i++)
        z->c.value[z->total[i]] = tn_i_l_load_at(b, z->buffer[i], tn_i_affine_loop(loop, 1, 0));
    for (uint32_t i = k + 1; i < z->first && !b->failed; i++)
        if (z->needed[i] && z->p->op[i].kind != TN_L_TOTAL) tn_i_l_copy_op(&z->c, i);
    tn_i_l_copy_ops(&z->c, z->first, z->last);
    tn_i_l_close(b);
}

static void cut(rows *z, uint32_t k, int64_t n) {
    make_buffers(z, n);
    tn_i_l_in_stretches(z->c.b, n, copy_stretch, z, k);
}

tn_i_loops *tn_i_pass_rows(tn_i_loops *p, const tn_i_machine *m) {
    if (m->strips || p->nop == 0) return p;
    tn_i_l_builder b;
    rows z = {.p = p};
    tn_i_l_begin(&b, p->ctx);
    z.needed = tn_i_alloc_array(p->ctx, p->nop, sizeof *z.needed);
    if (!z.needed) b.failed = true;
    if (tn_i_l_copy_begin(&z.c, &b, p))
        for (uint32_t k = 0; k < p->nop && !b.failed; k++) {
            int64_t n;
            if (p->op[k].kind == TN_L_FOR && find(&z, k, &n)) {
                cut(&z, k, n);
                k = p->op[k].to;
            } else
                tn_i_l_copy_op(&z.c, k);
        }
    tn_i_l_copy_end(&z.c);
    if (z.needed) tn_i_free(p->ctx, z.needed, p->nop * sizeof *z.needed);
    tn_i_l_free(p);
    return tn_i_l_end(&b);
}
