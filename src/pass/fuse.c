/* Loops one behind another that run equally often are one loop, where the later one loads what the earlier one stores:
 * the value itself is then at hand, and memory is written and not read.
 *
 *     for i0 < 7 { .. store t[i0] = v3 }
 *     for i1 < 7 {                                for i0 < 7 { .. store t[i0] = v3
 *       v4 = load t[i1]                   ->          v5 = sqrt v3
 *       v5 = sqrt v4                                  store y[i0] = v5 }
 *       store y[i1] = v5 }
 *
 * Of straight operations, whose iterations do not depend on each other, in the one loop either.  What stands between
 * them goes in front. */
#include "pass/inside.h"

enum { MOST = 8 /* loops */, MOST_OPERATIONS = 512 };

typedef struct fuser {
    const tn_i_loops *p;
    tn_i_l_copy c;
    uint32_t loop[MOST], n; /* that are to be one */
    bool forwarded;         /* the last of them loads what another one stored */
} fuser;

static bool plain(const tn_i_loops *p, uint32_t k, int64_t *n) {
    const tn_i_l_op *o = &p->op[k];
    const uint8_t behind = o->to + 1 < p->nop ? p->op[o->to + 1].kind : TN_L_END;
    return o->kind == TN_L_FOR && !o->parallel && !o->unroll && tn_i_l_known_count(p, k, n) && *n > 1 &&
           tn_i_l_straight(p, k + 1, o->to) && behind != TN_L_LAST && behind != TN_L_HALVES;
}

/* What a load of the new program has is what the last store to that memory stored, of the operations from `first` on.
 */
static uint32_t forwarded(const tn_i_loops *q, uint32_t first, uint32_t load) {
    const tn_i_l_op *x = &q->op[load];
    for (uint32_t i = load; i-- > first;) {
        const tn_i_l_op *s = &q->op[i];
        if (s->kind != TN_L_STORE || !tn_i_l_overlap(q, s->which, x->which)) continue;
        return s->in[1] == TN_L_NONE && x->in[1] == TN_L_NONE && tn_i_l_same_place(q, s, x) ? s->in[2] : TN_L_NONE;
    }
    return TN_L_NONE;
}

static void copy_body(fuser *z, uint32_t k, uint32_t first) {
    const tn_i_loops *p = z->p;
    z->forwarded = false;
    for (uint32_t i = k + 1; i < p->op[k].to && !z->c.b->failed; i++) {
        tn_i_l_copy_op(&z->c, i);
        if (p->op[i].kind != TN_L_LOAD || z->c.b->failed) continue;
        const uint32_t x = forwarded(z->c.b->p, first, z->c.value[i]);
        if (x == TN_L_NONE) continue;
        z->c.value[i] = tn_i_l_in_memory(z->c.b, p->array[p->op[i].which].dtype, x);
        z->forwarded = true;
    }
}

/* The loops as one; where that begins. */
static uint32_t write_one(fuser *z) {
    tn_i_l_builder *b = z->c.b;
    int64_t n = 0;
    for (uint32_t i = 1; i < z->n; i++) tn_i_l_copy_ops(&z->c, z->p->op[z->loop[i - 1]].to + 1, z->loop[i]);
    (void)tn_i_l_known_count(z->p, z->loop[0], &n);
    const uint32_t loop = tn_i_l_for_n(b, n);
    int vector = 0;
    for (uint32_t i = 0; i < z->n && !b->failed; i++) {
        if (z->p->op[z->loop[i]].vector > vector) vector = z->p->op[z->loop[i]].vector;
        tn_i_l_copy_loop(&z->c, z->loop[i], tn_i_affine_loop(loop, 1, 0));
        copy_body(z, z->loop[i], loop + 1);
    }
    if (vector) tn_i_l_set_vector(b, loop, vector);
    tn_i_l_close(b);
    return loop;
}

/* What stands in front of loop k, behind those that there are, may stand in front of these. */
static bool moves_ahead(const fuser *z, uint32_t k) {
    const tn_i_loops *p = z->p;
    for (uint32_t i = p->op[z->loop[z->n - 1]].to + 1; i < k; i++) {
        const tn_i_l_op *o = &p->op[i];
        if (o->kind == TN_L_STORE) return false;
        for (uint32_t j = z->loop[0]; o->kind == TN_L_LOAD && j < i; j++)
            if (p->op[j].kind == TN_L_STORE && tn_i_l_overlap(p, p->op[j].which, o->which)) return false;
    }
    return true;
}

/* The next loop, if it may be one with those that there are; TN_L_NONE: there is none. */
static uint32_t next_loop(const fuser *z, int64_t n) {
    const tn_i_loops *p = z->p;
    uint32_t k = p->op[z->loop[z->n - 1]].to + 1;
    int64_t m;
    while (k < p->nop && p->op[k].kind != TN_L_FOR && tn_i_l_straight(p, k, k + 1)) k++;
    if (z->n == MOST || k >= p->nop || !plain(p, k, &m) || m != n || p->op[k].to - z->loop[0] > MOST_OPERATIONS)
        return TN_L_NONE;
    return moves_ahead(z, k) ? k : TN_L_NONE;
}

/* Whether they are better one loop.  The program is as it was before. */
static bool fits(fuser *z) {
    tn_i_loops *q = z->c.b->p;
    const uint32_t nop = q->nop;
    const size_t nterm = q->nterm, nmoved = z->c.nmoved;
    const uint32_t loop = write_one(z);
    const bool is = !z->c.b->failed && z->forwarded && tn_i_l_vectorizable(q, loop);
    q->nop = nop;
    q->nterm = nterm;
    z->c.nmoved = nmoved;
    return is;
}

/* Loop k, and those that are one with it; returns what is behind them. */
static uint32_t fuse(fuser *z, uint32_t k, int64_t n) {
    uint32_t next;
    z->loop[0] = k;
    z->n = 1;
    while (!z->c.b->failed && (next = next_loop(z, n)) != TN_L_NONE) {
        z->loop[z->n++] = next;
        if (fits(z)) continue;
        z->n--;
        break;
    }
    const uint32_t to = z->p->op[z->loop[z->n - 1]].to + 1;
    if (z->n > 1)
        (void)write_one(z);
    else
        tn_i_l_copy_ops(&z->c, k, to);
    return to;
}

tn_i_loops *tn_i_pass_fuse(tn_i_loops *p, const tn_i_machine *m) {
    if (m->strips) return p;
    tn_i_l_builder b;
    fuser z = {.p = p};
    tn_i_l_begin(&b, p->ctx);
    if (tn_i_l_copy_begin(&z.c, &b, p))
        for (uint32_t k = 0; k < p->nop && !b.failed;) {
            int64_t n;
            if (plain(p, k, &n))
                k = fuse(&z, k, n);
            else
                tn_i_l_copy_op(&z.c, k++);
        }
    tn_i_l_copy_end(&z.c);
    tn_i_l_free(p);
    return tn_i_l_end(&b);
}
