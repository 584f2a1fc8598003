/* Loops over results go outside of loops over elements, where a nest has nothing but reductions: each result is then a
 * reduction of its own, whose lanes are in registers, and not one of many whose lanes are in memory (loop interchange).
 *
 *     r0 = reduce sum 7                                   for c < 7 {
 *     for b < 50 { for c < 7 { for i < 300 {                r0 = reduce sum
 *       v0 = load x[2100 b + 300 c + i]                     for b < 50 { for i < 300 {
 *       into r0[c] = v0 } } }                       ->        v0 = load x[2100 b + 300 c + i]
 *     ..                                                      into r0 = v0 } }
 *     v1 = total r0[c]                                      v1 = total r0; store totals[c] = v1 }
 *                                                         .. v1 = load totals[c]
 *
 * Loops over results that are innermost stay there: these lie side by side, and are vectors (sums_columns.c).  Few
 * elements of a result, as of blocks of 2 x 2, are written out instead: then all loops over results go outside, and are
 * vectors (sums_straight.c). */
#include "base/machine.h"
#include "pass/inside.h"

enum { MOST_LOOPS = TN_L_TERMS, MOST_SUMS = 16, NONE = -1 };

/* Perfectly nested loops around the INTOs of reductions that stand in front of them. */
typedef struct nest {
    uint32_t loop[MOST_LOOPS], n, side; /* loops from `side` on are innermost, over results */
    bool kept[MOST_LOOPS];              /* which are over results */
    int64_t size[MOST_LOOPS];
    uint32_t into[MOST_SUMS], ninto;
    int64_t beside, elements; /* results side by side; elements of each, as far as they are few */
    bool few;                 /* these are written out */
} nest;

typedef struct interchange {
    const tn_i_loops *p;
    tn_i_l_copy c;
    uint32_t *around, *totals; /* totals: of each REDUCE, the array that has its results, or TN_L_NONE */
} interchange;

/* ---- which ---- */

/* From loop k on; false: it is not such. */
static bool find_loops(const tn_i_loops *p, uint32_t k, nest *z) {
    for (z->n = 0;; k++) {
        const tn_i_l_op *o = &p->op[k];
        if (o->kind != TN_L_FOR) break;
        if (z->n == MOST_LOOPS || o->vector || o->parallel || !tn_i_l_known_count(p, k, &z->size[z->n])) return false;
        if (z->size[z->n] < 1 || (z->n && o->to + 1 != p->op[z->loop[z->n - 1]].to)) return false;
        z->loop[z->n++] = k;
    }
    return z->n > 2;
}

/* Values, loads, and INTOs of REDUCEs in front of the nest, each of its own. */
static bool find_sums(const interchange *x, nest *z) {
    const tn_i_loops *p = x->p;
    const uint32_t inner = z->loop[z->n - 1];
    z->ninto = 0;
    for (uint32_t k = inner + 1; k < p->op[inner].to; k++) {
        const tn_i_l_op *o = &p->op[k];
        if (o->kind != TN_L_INTO) {
            if (o->kind == TN_L_STORE || !tn_i_l_straight(p, k, k + 1)) return false;
            continue;
        }
        if (z->ninto == MOST_SUMS || x->around[o->in[0]] != x->around[z->loop[0]]) return false;
        if (p->op[o->in[0]].code > TN_FOLD_MIN) return false;
        z->into[z->ninto++] = k;
    }
    return z->ninto > 0;
}

/* Nothing else feeds them, and they are asked behind the nest. */
static bool has_all(const tn_i_loops *p, const nest *z, uint32_t reduce) {
    const uint32_t end = p->op[z->loop[0]].to;
    uint32_t fed = 0;
    for (uint32_t k = reduce + 1; k < p->nop; k++) {
        if (p->op[k].in[0] != reduce) continue;
        fed += p->op[k].kind == TN_L_INTO;
        if (p->op[k].kind == TN_L_TOTAL && k < end) return false;
    }
    return fed == 1;
}

/* Results are counted row-major by some of the loops, the same of all. */
static bool find_kept(const tn_i_loops *p, nest *z) {
    for (uint32_t i = 0; i < z->ninto; i++) {
        const tn_i_l_op *o = &p->op[z->into[i]];
        int64_t by = 1;
        uint32_t terms = 0;
        for (uint32_t l = z->n; l-- > 0;) {
            const int64_t step = tn_i_l_by(p, &o->at, z->loop[l]);
            if (i && z->kept[l] != (step != 0)) return false;
            z->kept[l] = step != 0;
            if (step && step != by) return false;
            if (step && !tn_i_mul_i64(by, z->size[l], &by)) return false;
            terms += step != 0;
        }
        if (o->at.at != 0 || terms != o->at.n || by != p->op[o->in[0]].hi || !has_all(p, z, o->in[0])) return false;
    }
    return true;
}

/* Elements are written out where they are no more than lanes, or results are side by side; and no longer than sums. */
static bool are_few(const tn_i_loops *p, const nest *z) {
    const uint32_t inner = z->loop[z->n - 1];
    return z->elements <= (z->side < z->n ? TN_LEAF : TN_LANES) &&
           (int64_t)(p->op[inner].to - inner) * z->elements <= TN_M_SUM_OPERATIONS;
}

/* A loop over results stands within one over elements, and around another one; or several of these around results. */
static bool is_better(const tn_i_loops *p, nest *z) {
    uint32_t reduced = 0;
    bool some = false;
    z->beside = z->elements = 1;
    for (z->side = z->n; z->side > 0 && z->kept[z->side - 1]; z->side--) z->beside *= z->size[z->side - 1];
    for (uint32_t l = 0; l < z->side; l++) {
        if (!z->kept[l] && z->elements <= TN_LEAF) z->elements *= z->size[l];
        some |= z->kept[l] && reduced;
        reduced += !z->kept[l];
    }
    z->few = are_few(p, z) && (some || (reduced > 1 && z->side < z->n));
    if (z->few) z->side = z->n, z->beside = 1;
    return z->few || (some && z->elements > TN_LANES);
}

static bool is_such(const interchange *x, uint32_t k, nest *z) {
    return x->p->op[k].kind == TN_L_FOR && find_loops(x->p, k, z) && find_sums(x, z) && find_kept(x->p, z) &&
           is_better(x->p, z);
}

/* ---- the new one ---- */

static uint32_t open_loops(interchange *x, const nest *z, uint32_t from, uint32_t to, int kept) {
    uint32_t n = 0;
    for (uint32_t l = from; l < to; l++) {
        if (kept != NONE && z->kept[l] != kept) continue;
        tn_i_l_copy_loop(&x->c, z->loop[l], tn_i_affine_loop(tn_i_l_for_n(x->c.b, z->size[l]), 1, 0));
        n++;
    }
    return n;
}

static void close_loops(interchange *x, uint32_t n) {
    while (n-- > 0) tn_i_l_close(x->c.b);
}

/* The number of the result among those side by side. */
static tn_i_affine beside(interchange *x, const nest *z, uint32_t into) {
    tn_i_affine e = tn_i_affine_number(0);
    for (uint32_t l = z->side; l < z->n; l++)
        e = tn_i_affine_add(x->c.b, e, tn_i_l_by(x->p, &x->p->op[into].at, z->loop[l]),
                            tn_i_l_copied_loop(&x->c, z->loop[l]));
    return e;
}

/* The body in the loops, or for the element, that is open. */
static void write_body(interchange *x, const nest *z, const uint32_t *reduce) {
    const uint32_t inner = z->loop[z->n - 1];
    for (uint32_t k = inner + 1, i = 0; k < x->p->op[inner].to && !x->c.b->failed; k++)
        if (i < z->ninto && k == z->into[i]) {
            tn_i_l_into(x->c.b, reduce[i], beside(x, z, k), x->c.value[x->p->op[k].in[1]]);
            i++;
        } else
            tn_i_l_copy_op(&x->c, k);
}

static void write_out(interchange *x, const nest *z, const uint32_t *reduce) {
    for (int64_t i = 0; i < z->elements && !x->c.b->failed; i++) {
        int64_t at = i;
        for (uint32_t l = z->n; l-- > 0;) {
            if (z->kept[l]) continue;
            tn_i_l_copy_loop(&x->c, z->loop[l], tn_i_affine_number(at % z->size[l]));
            at /= z->size[l];
        }
        write_body(x, z, reduce);
    }
}

static void write_loops(interchange *x, const nest *z, const uint32_t *reduce) {
    const uint32_t n = open_loops(x, z, 0, z->side, false) + open_loops(x, z, z->side, z->n, NONE);
    if (!x->c.b->failed) write_body(x, z, reduce);
    close_loops(x, n);
}

static void write_nest(interchange *x, const nest *z) {
    tn_i_l_builder *b = x->c.b;
    uint32_t reduce[MOST_SUMS];
    for (uint32_t i = 0; i < z->ninto; i++) {
        const uint32_t r = x->p->op[z->into[i]].in[0];
        x->totals[r] = tn_i_l_scratch(b, "totals", x->p->op[r].dtype, x->p->op[r].hi, 0);
    }
    const uint32_t results = open_loops(x, z, 0, z->side, true);
    for (uint32_t i = 0; i < z->ninto; i++) {
        const tn_i_l_op *r = &x->p->op[x->p->op[z->into[i]].in[0]];
        reduce[i] = tn_i_l_reduce(b, r->code, r->dtype, z->beside);
    }
    if (z->few)
        write_out(x, z, reduce);
    else
        write_loops(x, z, reduce);
    const uint32_t side = open_loops(x, z, z->side, z->n, NONE);
    for (uint32_t i = 0; i < z->ninto && !b->failed; i++) {
        const tn_i_l_op *o = &x->p->op[z->into[i]];
        const uint32_t v = tn_i_l_total(b, reduce[i], beside(x, z, z->into[i]), x->p->op[o->in[0]].dtype);
        tn_i_l_store_at(b, x->totals[o->in[0]], tn_i_l_copy_affine(&x->c, &o->at), v);
    }
    close_loops(x, side + results);
}

/* ---- the walk ---- */

/* REDUCEs of nests that become others are none any more. */
static void find(interchange *x, bool *gone) {
    nest z;
    for (uint32_t k = 0; k < x->p->nop; k++)
        for (uint32_t i = 0; is_such(x, k, &z) && i < z.ninto; i++) gone[x->p->op[z.into[i]].in[0]] = true;
}

static void copy(interchange *x, const bool *gone) {
    const tn_i_loops *p = x->p;
    nest z;
    for (uint32_t k = 0; k < p->nop && !x->c.b->failed; k++) {
        const tn_i_l_op *o = &p->op[k];
        if (o->kind == TN_L_REDUCE && gone[k]) continue;
        if (o->kind == TN_L_TOTAL && x->totals[o->in[0]] != TN_L_NONE)
            x->c.value[k] = tn_i_l_load_at(x->c.b, x->totals[o->in[0]], tn_i_l_copy_affine(&x->c, &o->at));
        else if (is_such(x, k, &z)) {
            write_nest(x, &z);
            k = o->to;
        } else
            tn_i_l_copy_op(&x->c, k);
    }
}

tn_i_loops *tn_i_pass_interchange(tn_i_loops *p, const tn_i_machine *m) {
    tn_i_l_builder b;
    interchange x = {.p = p};
    uint32_t n = 0;
    for (uint32_t k = 0; k < p->nop; k++) n += p->op[k].kind == TN_L_REDUCE;
    if (n == 0 || m->strips) return p;
    bool *gone = tn_i_alloc(p->ctx, p->nop);
    x.totals = tn_i_alloc_array(p->ctx, p->nop, sizeof *x.totals);
    x.around = tn_i_l_around(p);
    tn_i_l_begin(&b, p->ctx);
    for (uint32_t k = 0; x.totals && k < p->nop; k++) x.totals[k] = TN_L_NONE;
    if (!gone || !x.totals || !x.around)
        b.failed = true;
    else
        find(&x, gone);
    if (tn_i_l_copy_begin(&x.c, &b, p)) copy(&x, gone);
    tn_i_l_copy_end(&x.c);
    if (gone) tn_i_free(p->ctx, gone, p->nop);
    if (x.totals) tn_i_free(p->ctx, x.totals, p->nop * sizeof *x.totals);
    tn_i_l_around_drop(p, x.around);
    tn_i_l_free(p);
    return tn_i_l_end(&b);
}
