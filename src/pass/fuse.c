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
 * them goes in front, other loops too, where nothing in it waits for the earlier loop: that fills what the later one
 * adds to, say. */
#include "loop/places.h"
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
        if (s->kind != TN_L_STORE || tn_i_l_never_meet(q, first - 1, s, x)) continue;
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

/* Whether what access i, behind the loops that there are, touches none of them touches, but where all of them read. */
static bool apart(const fuser *z, uint32_t i) {
    const tn_i_loops *p = z->p;
    const tn_i_l_op *o = &p->op[i];
    for (uint32_t l = 0; l < z->n; l++)
        for (uint32_t j = z->loop[l]; j < p->op[z->loop[l]].to; j++) {
            const tn_i_l_op *x = &p->op[j];
            const bool touch = x->kind == TN_L_STORE || (x->kind == TN_L_LOAD && o->kind == TN_L_STORE);
            if (touch && tn_i_l_overlap(p, x->which, o->which)) return false;
        }
    return true;
}

/* What stands in front of loop k, from operation `from` on, may stand in front of the loops that there are. */
static bool moves_ahead(const fuser *z, uint32_t from, uint32_t k) {
    for (uint32_t i = from; i < k; i++)
        if ((z->p->op[i].kind == TN_L_STORE || z->p->op[i].kind == TN_L_LOAD) && !apart(z, i)) return false;
    return true;
}

/* What is behind the operation at k, or behind the loop that begins there; TN_L_NONE: it stays where it is. */
static uint32_t behind(const fuser *z, uint32_t k) {
    const tn_i_loops *p = z->p;
    int64_t n;
    if (p->op[k].kind != TN_L_FOR) return tn_i_l_straight(p, k, k + 1) ? k + 1 : TN_L_NONE;
    return plain(p, k, &n) && moves_ahead(z, k, p->op[k].to) ? p->op[k].to + 1 : TN_L_NONE;
}

/* The next loop, from operation k on, if it may be one with those that there are; TN_L_NONE: there is none. */
static uint32_t next_loop(const fuser *z, uint32_t k, int64_t n) {
    const tn_i_loops *p = z->p;
    const uint32_t from = p->op[z->loop[z->n - 1]].to + 1;
    int64_t m;
    for (; z->n < MOST && k < p->nop && p->op[k].kind != TN_L_END; k = behind(z, k)) {
        const uint32_t last = p->op[k].kind == TN_L_FOR ? p->op[k].to : k;
        if (last - z->loop[0] > MOST_OPERATIONS) break;
        if (plain(p, k, &m) && m == n) return moves_ahead(z, from, k) ? k : TN_L_NONE;
    }
    return TN_L_NONE;
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
    z->loop[0] = k;
    z->n = 1;
    for (uint32_t next = z->p->op[k].to + 1; !z->c.b->failed && (next = next_loop(z, next, n)) != TN_L_NONE;) {
        z->loop[z->n++] = next;
        if (fits(z))
            next = z->p->op[next].to + 1;
        else {
            z->n--;
            next = behind(z, next);
        }
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
