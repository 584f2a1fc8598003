/* Reductions become loops: leaves of lanes, and a counter of leaves, in the one order that loop/loop.h lays down.
 *
 * Which way depends on how its loops stand to each other: tn_i_summing_kind.  Of one straight loop the lanes are a
 * vector, and what they come to stays in registers; else they are in scratch memory.  So are those of a REDUCE that
 * loops one behind the other feed.  One that is fed within an IF, or within loops of unknown length, stays what it is.
 */
#include "base/machine.h"
#include "pass/sums.h"

uint32_t tn_i_summing_fold(tn_i_summing *z, const tn_i_reduction *r, uint32_t x, uint32_t y) {
    return tn_i_l_map(z->c.b, tn_i_l_fold_code(r->fold, r->dtype), x, y, TN_L_NONE);
}

uint32_t tn_i_summing_identity(tn_i_summing *z, const tn_i_reduction *r) {
    const int fold = r->fold == TN_FOLD_ARGMAX ? TN_FOLD_MAX : r->fold == TN_FOLD_ARGMIN ? TN_FOLD_MIN : r->fold;
    return tn_i_l_number(z->c.b, r->dtype, tn_i_l_identity(fold, r->dtype));
}

int64_t tn_i_summing_levels(int64_t leaves) {
    int64_t n = 1;
    while (leaves >>= 1) n++;
    return n;
}

tn_i_affine tn_i_summing_element(tn_i_summing *z, const tn_i_reduction *r, uint32_t loops) {
    tn_i_affine e = tn_i_affine_number(r->base);
    int64_t by = 1;
    for (uint32_t i = r->nloop; i-- > 0;) {
        if (r->kept[i]) continue;
        if (i < loops) e = tn_i_affine_add(z->c.b, e, by, tn_i_l_copied_loop(&z->c, r->loop[i]));
        if (!tn_i_mul_i64(by, r->size[i], &by)) return e;
    }
    return e;
}

/* ---- what there is ------------------------------------------------------------------------------------- */

/* The next INTO from operation k on. */
static bool find_into(const tn_i_loops *p, tn_i_reduction *r, uint32_t k) {
    for (r->into = TN_L_NONE; k < p->nop && r->into == TN_L_NONE; k++)
        if (p->op[k].kind == TN_L_INTO && p->op[k].in[0] == r->reduce) r->into = k;
    return r->into != TN_L_NONE;
}

/* The loops between, outermost first: known counts, no carries. */
static bool find_loops(const tn_i_summing *z, tn_i_reduction *r) {
    const tn_i_loops *p = z->p;
    uint32_t reversed[TN_SUMMING_LOOPS], n = 0;
    for (uint32_t k = z->around[r->into]; k != z->around[r->reduce]; k = z->around[k]) {
        const tn_i_l_op *o = &p->op[k];
        if (n == TN_SUMMING_LOOPS || o->kind != TN_L_FOR || o->vector || o->parallel) return false;
        if (p->op[k + 1].kind == TN_L_CARRY) return false;
        for (uint32_t i = k + 1; i < o->to; i++)
            if (p->op[i].kind == TN_L_WHILE) return false; /* of this loop or of one within: rare */
        reversed[n++] = k;
    }
    r->nloop = n;
    for (uint32_t i = 0; i < n; i++) {
        r->loop[i] = reversed[n - 1 - i];
        if (!tn_i_l_known_count(p, r->loop[i], &r->size[i]) || r->size[i] < 1) return false;
    }
    return n > 0;
}

/* Results are counted row-major by some of the loops. */
static bool find_kept(const tn_i_loops *p, tn_i_reduction *r) {
    const tn_i_l_affine *at = &p->op[r->into].at;
    int64_t by = 1;
    uint32_t terms = 0;
    r->n = 1;
    for (uint32_t i = r->nloop; i-- > 0;) {
        const int64_t step = tn_i_l_by(p, at, r->loop[i]);
        r->kept[i] = step != 0;
        if (step && step != by) return false;
        if (!tn_i_mul_i64(step ? by : r->n, r->size[i], step ? &by : &r->n)) return false;
        terms += step != 0;
    }
    return at->at == 0 && terms == at->n && by == r->count && r->n < INT64_MAX / 2 && r->n / 16 < INT64_MAX / r->count;
}

static bool totals_behind(const tn_i_loops *p, const tn_i_reduction *r) {
    for (uint32_t k = r->reduce + 1; k < p->op[r->loop[0]].to; k++)
        if (p->op[k].kind == TN_L_TOTAL && p->op[k].in[0] == r->reduce) return false;
    return true;
}

/* The body of loop k is straight but for what goes into reductions of that loop alone, or into lanes of columns. */
static bool straight_row(const tn_i_summing *z, uint32_t k) {
    const tn_i_loops *p = z->p;
    uint32_t n = 0;
    for (uint32_t i = k + 1; i < p->op[k].to; i++) {
        const tn_i_l_op *o = &p->op[i];
        if (o->kind != TN_L_INTO) {
            if (!tn_i_l_straight(p, i, i + 1)) return false;
            continue;
        }
        const tn_i_l_op *r = &p->op[o->in[0]];
        if (z->which[o->in[0]] && z->of[z->which[o->in[0]] - 1].split) continue;
        if (o->at.n || r->hi != 1 || z->around[o->in[0]] != z->around[k] || ++n > TN_SUMMING_TOGETHER) return false;
    }
    return n > 0 && tn_i_l_independent(p, k);
}

static uint8_t kind_of(const tn_i_summing *z, const tn_i_reduction *r) {
    bool columns = !r->kept[0], kept = false;
    for (uint32_t i = 0; i < r->nloop; i++) {
        if (kept && !r->kept[i]) columns = false;
        kept |= r->kept[i];
    }
    if (r->nloop == 1 && !kept && r->count == 1 && straight_row(z, r->loop[0])) return TN_SUMMING_ROW;
    if (r->fold > TN_FOLD_MIN) return TN_SUMMING_ARG;
    if (kept || r->count > 1) return columns && kept ? TN_SUMMING_COLUMNS : TN_SUMMING_EACH;
    for (uint32_t i = r->loop[r->nloop - 1] + 1; i < r->into; i++) /* one INTO a loop */
        if (z->p->op[i].kind == TN_L_INTO) return TN_SUMMING_EACH;
    return TN_SUMMING_BUFFER;
}

/* Of two in one innermost loop the first is a BUFFER, the other one not: the loop is cut for one of them. */
static bool other_buffer(const tn_i_summing *z, const tn_i_reduction *r) {
    for (uint32_t i = 0; i < z->nof; i++)
        if (z->of[i].kind == TN_SUMMING_BUFFER && z->of[i].loop[z->of[i].nloop - 1] == r->loop[r->nloop - 1])
            return true;
    return false;
}

/* Not where three copies of what is in it would be too many. */
static bool splittable(const tn_i_summing *z, const tn_i_reduction *r) {
    uint32_t reduced = 0;
    for (uint32_t i = 0; i < r->nloop; i++) reduced += !r->kept[i];
    return r->kind == TN_SUMMING_COLUMNS && reduced == 1 && z->p->op[r->loop[0]].to - r->loop[0] < TN_M_SUM_OPERATIONS;
}

/* The row is made of elements of four bytes or more, which vectors load from different rows as well. */
static bool loads_wide(const tn_i_loops *p, const tn_i_reduction *r) {
    bool wide = true;
    for (uint32_t i = r->loop[0]; i < p->op[r->loop[0]].to; i++)
        wide &= p->op[i].kind != TN_L_LOAD || tn_i_dtype_size(p->array[p->op[i].which].dtype) >= 4;
    return wide;
}

/* The best of a short row is looked for one by one: which it is does not depend on the order, and rows beside it, where
 * there are some, are lanes (vectorize.c), so that lanes of its own pay in longer ones only.  Nor does what few bools
 * come to, of which there are no vectors. */
static bool one_by_one(const tn_i_summing *z, const tn_i_reduction *r) {
    enum { SHORT = 2 * TN_LANES, SHORT_BESIDE = 8 * TN_LANES, FEW_BOOLS = 4 };
    const uint32_t rows = z->around[r->reduce];
    int64_t n = 1;
    if (rows != TN_L_NONE && z->p->op[rows].kind == TN_L_FOR && !tn_i_l_known_count(z->p, rows, &n)) n = 1;
    return tn_i_summing_arg(r) ? r->n <= (n < TN_LANES || !loads_wide(z->p, r) ? SHORT : SHORT_BESIDE)
                               : r->dtype == TN_BOOL && r->n < FEW_BOOLS;
}

static void one_lane(const tn_i_summing *z, tn_i_reduction *r) {
    bool alone = r->kind == TN_SUMMING_ROW && one_by_one(z, r);
    for (uint32_t i = 0; i < z->nof; i++) {
        const tn_i_reduction *other = &z->of[i];
        if (other->kind != TN_SUMMING_ROW || other->loop[0] != r->loop[0]) continue;
        alone &= one_by_one(z, other) && tn_i_summing_arg(other) == tn_i_summing_arg(r);
    }
    if (alone) r->lanes = 1;
}

static void note(tn_i_summing *z, const tn_i_reduction *r) {
    z->of[z->nof++] = *r;
    z->which[r->reduce] = z->which[r->into] = z->nof;
}

static void lanes_of(tn_i_reduction *r) {
    r->before = (r->n - 1) / TN_LEAF;
    r->lanes = r->n < TN_LANES ? r->n : TN_LANES;
}

static void find_one(tn_i_summing *z, tn_i_reduction *r) {
    lanes_of(r);
    r->kind = kind_of(z, r);
    if (r->kind == TN_SUMMING_BUFFER && other_buffer(z, r)) r->kind = TN_SUMMING_EACH;
    while (r->kind == TN_SUMMING_ROW && r->lanes & (r->lanes - 1)) r->lanes++; /* those of a vector */
    r->split = splittable(z, r);
    r->by_columns = tn_i_summing_by_columns(z, r);
    note(z, r);
}

static bool is_fed(const tn_i_summing *z, tn_i_reduction *r) {
    return find_loops(z, r) && find_kept(z->p, r) && totals_behind(z->p, r);
}

/* Loops one behind the other feed one result: each goes on where the one before it has ended. */
static void find_more(tn_i_summing *z, tn_i_reduction *r) {
    const uint32_t first = z->nof;
    int64_t all = 0;
    bool buffers = true, fits = r->count == 1 && r->fold <= TN_FOLD_MIN;
    uint32_t end = r->reduce;
    for (bool some = true; some && fits; some = find_into(z->p, r, r->into + 1)) {
        fits = is_fed(z, r) && r->loop[0] > end;
        if (!fits) break;
        end = z->p->op[r->loop[0]].to;
        r->base = all;
        r->more = true;
        r->kind = kind_of(z, r);
        buffers &= r->kind != TN_SUMMING_EACH && !other_buffer(z, r);
        fits = tn_i_add_i64(all, r->n, &all);
        note(z, r);
    }
    if (!fits) { /* it stays */
        z->which[r->reduce] = 0;
        while (z->nof > first) z->which[z->of[--z->nof].into] = 0;
        return;
    }
    z->of[z->nof - 1].more = false;
    for (uint32_t i = first; i < z->nof; i++) {
        z->of[i].n = all;
        z->of[i].kind = buffers ? TN_SUMMING_BUFFER : TN_SUMMING_EACH;
        lanes_of(&z->of[i]);
    }
}

static void find(tn_i_summing *z) {
    for (uint32_t k = 0; k < z->p->nop; k++) {
        const tn_i_l_op *o = &z->p->op[k];
        if (o->kind != TN_L_REDUCE) continue;
        tn_i_reduction r = {.reduce = k, .fold = o->code, .dtype = o->dtype, .count = o->hi}, other = r;
        if (!find_into(z->p, &r, k + 1)) continue;
        if (find_into(z->p, &other, r.into + 1))
            find_more(z, &r);
        else if (is_fed(z, &r))
            find_one(z, &r);
    }
    for (uint32_t i = 0; i < z->nof; i++) one_lane(z, &z->of[i]);
}

/* ---- the walk -------------------------------------------------------------------------------------------- */

static uint32_t innermost_reduced(const tn_i_reduction *r) {
    uint32_t i = r->nloop;
    while (i > 0 && r->kept[i - 1]) i--;
    return i ? r->loop[i - 1] : TN_L_NONE;
}

static void at_loop(tn_i_summing *z, uint32_t k, bool opens) {
    for (uint32_t i = 0; i < z->nof; i++) {
        tn_i_reduction *r = &z->of[i];
        if (r->kind != TN_SUMMING_COLUMNS || r->split || innermost_reduced(r) != k) continue;
        if (opens)
            tn_i_summing_open(z, r);
        else
            tn_i_summing_close(z, r);
    }
}

static void behind_loop(tn_i_summing *z, uint32_t k) {
    for (uint32_t i = 0; i < z->nof; i++)
        if (z->of[i].loop[0] == k && z->of[i].kind != TN_SUMMING_ROW && !z->of[i].more)
            tn_i_summing_finish(z, &z->of[i]);
}

static bool is_row(const tn_i_summing *z, uint32_t k) {
    for (uint32_t i = 0; i < z->nof; i++)
        if (z->of[i].kind == TN_SUMMING_ROW && z->of[i].loop[0] == k) return true;
    return false;
}

static bool is_split(const tn_i_summing *z, uint32_t k) {
    for (uint32_t i = 0; i < z->nof; i++)
        if (z->of[i].split && z->of[i].loop[0] == k) return true;
    return false;
}

static tn_i_reduction *columns_of(const tn_i_summing *z, uint32_t k) {
    for (uint32_t i = 0; i < z->nof; i++)
        if (z->of[i].by_columns && z->of[i].loop[0] == k) return &z->of[i];
    return NULL;
}

static tn_i_reduction *buffer_of(const tn_i_summing *z, uint32_t k) {
    for (uint32_t i = 0; i < z->nof; i++)
        if (z->of[i].kind == TN_SUMMING_BUFFER && z->of[i].loop[z->of[i].nloop - 1] == k) return &z->of[i];
    return NULL;
}

static void copy_range(tn_i_summing *z, uint32_t first, uint32_t last);

static void inside_of(tn_i_summing *z, uint32_t k) {
    at_loop(z, k, true);
    copy_range(z, k + 1, z->p->op[k].to);
    at_loop(z, k, false);
}

static void copy_loop(tn_i_summing *z, uint32_t k) {
    tn_i_reduction *r = buffer_of(z, k), *columns = columns_of(z, k);
    if (is_row(z, k))
        tn_i_summing_row(z, k);
    else if (columns)
        tn_i_summing_columns(z, columns);
    else if (is_split(z, k))
        tn_i_summing_split(z, k, inside_of);
    else if (r)
        tn_i_summing_chunks(z, r, inside_of);
    else {
        tn_i_l_copy_op(&z->c, k);
        inside_of(z, k);
        tn_i_l_close(z->c.b);
    }
    behind_loop(z, k);
}

/* All that feed it have the same memory. */
static void begin(tn_i_summing *z, tn_i_reduction *r) {
    tn_i_summing_begin(z, r);
    for (uint32_t i = 0; i < z->nof; i++)
        if (z->of[i].reduce == r->reduce) z->of[i].lane = r->lane, z->of[i].stack = r->stack;
}

static void copy_range(tn_i_summing *z, uint32_t first, uint32_t last) {
    for (uint32_t k = first; k < last && !z->c.b->failed; k++) {
        const tn_i_l_op *o = &z->p->op[k];
        tn_i_reduction *r = z->which[k] ? &z->of[z->which[k] - 1] : NULL;
        if (o->kind == TN_L_TOTAL && z->which[o->in[0]])
            z->c.value[k] = tn_i_summing_total(z, &z->of[z->which[o->in[0]] - 1], o);
        else if (o->kind == TN_L_REDUCE && r)
            begin(z, r);
        else if (o->kind == TN_L_INTO && r)
            tn_i_summing_into(z, r);
        else if (o->kind == TN_L_FOR && z->p->op[k + 1].kind != TN_L_CARRY && !o->vector && !o->parallel) {
            copy_loop(z, k);
            k = o->to;
        } else
            tn_i_l_copy_op(&z->c, k);
    }
}

static uint32_t count_fed(const tn_i_loops *p) {
    uint32_t n = 0;
    for (uint32_t k = 0; k < p->nop; k++) n += p->op[k].kind == TN_L_INTO;
    return n;
}

tn_i_loops *tn_i_pass_sums(tn_i_loops *p, const tn_i_machine *m) {
    const uint32_t n = count_fed(p);
    if (n == 0 || m->strips) return p;
    tn_i_l_builder b;
    tn_i_summing z = {.p = p, .m = m};
    tn_i_l_begin(&b, p->ctx);
    z.around = tn_i_l_around(p);
    z.which = tn_i_alloc_array(p->ctx, p->nop, sizeof *z.which);
    z.of = tn_i_alloc_array(p->ctx, n, sizeof *z.of);
    if (!z.around || !z.which || !z.of)
        b.failed = true;
    else
        find(&z);
    if (tn_i_l_copy_begin(&z.c, &b, p)) copy_range(&z, 0, p->nop);
    tn_i_l_copy_end(&z.c);
    if (z.which) tn_i_free(p->ctx, z.which, p->nop * sizeof *z.which);
    if (z.of) tn_i_free(p->ctx, z.of, n * sizeof *z.of);
    tn_i_l_around_drop(p, z.around);
    tn_i_l_free(p);
    return tn_i_l_end(&b);
}
