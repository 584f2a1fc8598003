/* Sums of columns, columns first: where all that a loop over rows has is loops over columns that store nothing, behind
 * what it computes of the row without functions.
 *
 *     for a strip of columns:
 *       for each leaf:
 *         a vector loop over them: for a few lanes at a time: for each round: fold in the rows of these lanes
 *         another one: lanes by halves
 *
 * So lanes are carries and not in memory, and of each row that is read a strip is next to each other: a vector alone
 * would have each row fetch another line, and with long rows another page.  A strip is as many vectors as fit a quarter
 * of the registers, and as many lanes go together as then have a carry each.  Lanes of a strip that do not all go
 * together wait in memory.  Few short rows are near however they are read: a strip is one vector, and nothing waits. */
#include "base/machine.h"
#include "pass/sums.h"

enum { STRIP = 64 /* iterations of a vector loop, at most */ };

typedef struct columns {
    tn_i_summing *z;
    tn_i_reduction *r;
    uint32_t inner;        /* the loop over columns that are next to each other */
    uint32_t fixed;        /* of operations behind it, bit by bit: it is the same in all rows */
    int64_t vector, width; /* columns of a vector, and of a strip */
    int64_t beside;        /* lanes that go together */
    uint32_t lanes;        /* the array in which they wait */
    int64_t n;             /* columns of this strip, */
    tn_i_affine first;     /* from this one on; */
    tn_i_affine at, in;    /* where the result of one goes, and its number in the strip */
} columns;

/* ---- whether --------------------------------------------------------------------------------------------- */

/* All that it reduces is no more than so many bytes. */
static bool within(const tn_i_reduction *r, int64_t most) {
    return r->n <= most / (int64_t)tn_i_dtype_size(r->dtype) / r->count;
}

/* Operations first .. last - 1 are straight, but for the reduction's own. */
static bool stores_nothing(const tn_i_loops *p, const tn_i_reduction *r, uint32_t first, uint32_t last) {
    for (uint32_t i = first; i < last; i++)
        if (i != r->into && (!tn_i_l_straight(p, i, i + 1) || p->op[i].kind == TN_L_STORE)) return false;
    return true;
}

bool tn_i_summing_by_columns(const tn_i_summing *z, const tn_i_reduction *r) {
    const tn_i_loops *p = z->p;
    if (!r->split || r->kept[0] || r->nloop < 2) return false;
    for (uint32_t i = 1; i < r->nloop; i++)
        if ((i > 1 && r->loop[i] != r->loop[i - 1] + 1) || p->op[r->loop[i]].to + 1 != p->op[r->loop[i - 1]].to)
            return false;
    const uint32_t row = r->loop[0] + 1, behind = r->loop[1], inner = r->loop[r->nloop - 1], end = p->op[inner].to;
    if (end - inner + behind - row > TN_M_SUM_COLUMN_OPERATIONS) return false;
    if (!stores_nothing(p, r, row, behind) || tn_i_l_calls(p, row, behind)) return false;
    return stores_nothing(p, r, inner + 1, end);
}

/* ---- what is the same in all rows -------------------------------------------------------------------------- */

static bool is_fixed(const columns *s, uint32_t i) {
    const tn_i_loops *p = s->z->p;
    const tn_i_l_op *o = &p->op[i];
    if (i == s->r->into || tn_i_l_by(p, &o->at, s->r->loop[0])) return false;
    for (int j = 0; j < 3; j++) {
        const uint32_t x = o->in[j];
        if (x == TN_L_NONE || x < s->r->loop[0]) continue;
        if (x < s->inner || !(s->fixed >> (x - s->inner) & 1)) return false;
    }
    return true;
}

/* Returns how many of them are columns of numbers. */
static int find_fixed(columns *s) {
    const tn_i_loops *p = s->z->p;
    int n = 0;
    _Static_assert(TN_M_SUM_COLUMN_OPERATIONS < 32, "a bit each");
    for (uint32_t i = s->inner + 1; i < p->op[s->inner].to; i++) {
        if (!is_fixed(s, i)) continue;
        s->fixed |= 1u << (i - s->inner);
        n += p->op[i].kind == TN_L_LOAD && tn_i_l_by(p, &p->op[i].at, s->inner);
    }
    return n;
}

/* ---- how many go together ---------------------------------------------------------------------------------- */

/* Beside carries there are an element of each vector, what is made of it, and what is the same in all rows; of
 * functions, which leave nothing in registers, one lane is as good as several. */
static void measure(columns *s) {
    const tn_i_loops *p = s->z->p;
    const tn_i_machine *m = s->z->m;
    const uint32_t end = p->op[s->inner].to;
    const int64_t all = s->r->size[s->r->nloop - 1], registers = m->vector == 64 ? 32 : 16;
    const int fixed = find_fixed(s);
    s->vector = m->vector / tn_i_l_widest(p, s->inner + 1, end);
    s->width = s->vector * registers / 4 < STRIP ? s->vector * registers / 4 : STRIP;
    if (all < 2 * s->width && within(s->r, TN_M_SUM_COLUMNS_NEAR)) s->width = s->vector;
    const int64_t one = all < s->width ? all : s->width,
                  most = registers / ((one + s->vector - 1) / s->vector) - 2 - fixed;
    s->beside = 1;
    while (!tn_i_l_calls(p, s->inner + 1, end) && s->beside < s->r->lanes && 2 * s->beside <= most) s->beside *= 2;
}

/* ---- rows ---------------------------------------------------------------------------------------------------- */

static void copy(columns *s, bool fixed) {
    for (uint32_t i = s->inner + 1; i < s->z->p->op[s->inner].to; i++)
        if (i != s->r->into && fixed == (s->fixed >> (i - s->inner) & 1)) tn_i_l_copy_op(&s->z->c, i);
}

/* The element of a row, in the columns that are open. */
static uint32_t element(columns *s, tn_i_affine row) {
    tn_i_l_copy_loop(&s->z->c, s->r->loop[0], row);
    tn_i_l_copy_ops(&s->z->c, s->r->loop[0] + 1, s->r->loop[1]);
    copy(s, false);
    return s->z->c.b->failed ? TN_L_NONE : s->z->c.value[s->z->p->op[s->r->into].in[1]];
}

static void fold_rows(columns *s, tn_i_affine first, int64_t n, uint32_t *x) {
    tn_i_l_builder *b = s->z->c.b;
    for (int64_t l = 0; l < n && !b->failed; l++)
        x[l] = tn_i_summing_fold(s->z, s->r, x[l], element(s, tn_i_affine_add(b, first, 1, tn_i_affine_number(l))));
}

/* n lanes, whose first row is `first`, of so many rounds. */
static void fold_rounds(columns *s, tn_i_affine first, int64_t n, int64_t rounds, uint32_t *x) {
    tn_i_l_builder *b = s->z->c.b;
    uint32_t carry[TN_LANES];
    for (int64_t l = 0; l < n; l++) x[l] = tn_i_summing_identity(s->z, s->r);
    if (rounds == 1) {
        fold_rows(s, first, n, x);
        return;
    }
    const uint32_t loop = tn_i_l_for_n(b, rounds);
    for (int64_t l = 0; l < n; l++) x[l] = carry[l] = tn_i_l_carry(b, x[l]);
    fold_rows(s, tn_i_affine_term(b, first, loop, TN_LANES), n, x);
    for (int64_t l = 0; l < n; l++) tn_i_l_next(b, carry[l], x[l]);
    tn_i_l_close(b);
    for (int64_t l = 0; l < n; l++) x[l] = tn_i_l_last(b, carry[l]);
}

/* ---- lanes --------------------------------------------------------------------------------------------------- */

static tn_i_affine waiting(columns *s, tn_i_affine lane) { return tn_i_affine_add(s->z->c.b, s->in, s->n, lane); }

static void waiting_lanes(columns *s, tn_i_affine first, tn_i_affine lane, int64_t n, int64_t rounds) {
    tn_i_l_builder *b = s->z->c.b;
    uint32_t x[TN_LANES];
    fold_rounds(s, tn_i_affine_add(b, first, 1, lane), n, rounds, x);
    for (int64_t l = 0; l < n; l++)
        tn_i_l_store_at(b, s->lanes, waiting(s, tn_i_affine_add(b, lane, 1, tn_i_affine_number(l))), x[l]);
}

/* Lanes from .. to - 1, of so many rounds each; x: where they stay, or NULL. */
static void some_lanes(columns *s, tn_i_affine first, int64_t from, int64_t to, int64_t rounds, uint32_t *x) {
    tn_i_l_builder *b = s->z->c.b;
    const int64_t groups = (to - from) / s->beside, rest = (to - from) % s->beside;
    if (to == from || rounds == 0) return;
    if (x) {
        fold_rounds(s, tn_i_affine_add(b, first, 1, tn_i_affine_number(from)), to - from, rounds, x + from);
        return;
    }
    if (groups) {
        const uint32_t loop = tn_i_l_for_n(b, groups);
        waiting_lanes(s, first, tn_i_affine_loop(loop, s->beside, from), s->beside, rounds);
        tn_i_l_close(b);
    }
    if (rest) waiting_lanes(s, first, tn_i_affine_number(from + groups * s->beside), rest, rounds);
}

/* ---- leaves -------------------------------------------------------------------------------------------------- */

static void open_strip(columns *s, int64_t width) {
    tn_i_l_builder *b = s->z->c.b;
    const uint32_t loop = tn_i_l_for_n(b, s->n);
    while (width > 2 && width / 2 >= s->n) width /= 2;
    if (s->n > 1) tn_i_l_set_vector(b, loop, (int)width);
    tn_i_l_copy_loop(&s->z->c, s->inner, tn_i_affine_term(b, s->first, loop, 1));
    tn_i_l_copy_loop(&s->z->c, s->r->loop[0], tn_i_affine_number(0));
    s->in = tn_i_affine_loop(loop, 1, 0);
    s->at = tn_i_l_copy_affine(&s->z->c, &s->z->p->op[s->r->into].at);
}

/* What lanes come to enters the counter as leaf number next - 1, or is the last one. */
static void halve(columns *s, uint32_t *x, int64_t lanes, uint32_t next) {
    for (int64_t h = TN_LANES / 2; h > 0; h /= 2)
        for (int64_t l = 0; l < h && l + h < lanes; l++) x[l] = tn_i_summing_fold(s->z, s->r, x[l], x[l + h]);
    if (next != TN_L_NONE)
        tn_i_summing_enter(s->z, s->r, s->at, next, x[0]);
    else {
        const uint32_t all = tn_i_summing_join(s->z, s->r, s->at, s->r->before, x[0]);
        tn_i_l_store_at(s->z->c.b, s->r->lane, s->at, all);
    }
}

/* Rows first .. first + count - 1, no more than a leaf. */
static void leaf(columns *s, tn_i_affine first, int64_t count, uint32_t next) {
    tn_i_l_builder *b = s->z->c.b;
    const int64_t rounds = count / TN_LANES, more = count % TN_LANES, lanes = rounds ? TN_LANES : more;
    const bool together = lanes <= s->beside;
    uint32_t x[TN_LANES];
    open_strip(s, s->width);
    copy(s, true);
    some_lanes(s, first, 0, more, rounds + 1, together ? x : NULL);
    some_lanes(s, first, more, lanes, rounds, together ? x : NULL);
    if (!together) {
        tn_i_l_close(b);
        open_strip(s, s->vector);
        for (int64_t l = 0; l < lanes; l++) x[l] = tn_i_l_load_at(b, s->lanes, waiting(s, tn_i_affine_number(l)));
    }
    halve(s, x, lanes, next);
    tn_i_l_close(b);
}

/* n columns from `first` on. */
static void strip(columns *s, tn_i_affine first, int64_t n) {
    tn_i_l_builder *b = s->z->c.b;
    const int64_t before = s->r->before;
    s->first = first;
    s->n = n;
    if (before) {
        const uint32_t loop = tn_i_l_for_n(b, before);
        const uint32_t next = tn_i_l_index(b, TN_I64, tn_i_affine_loop(loop, 1, 1));
        leaf(s, tn_i_affine_loop(loop, TN_LEAF, 0), TN_LEAF, next);
        tn_i_l_close(b);
    }
    leaf(s, tn_i_affine_number(before * TN_LEAF), s->r->n - before * TN_LEAF, TN_L_NONE);
}

/* Where nothing waits, or there are not many, one loop has them all. */
static void strips(columns *s) {
    tn_i_l_builder *b = s->z->c.b;
    const int64_t all = s->r->size[s->r->nloop - 1], whole = all / s->width;
    const bool waits = s->beside < s->r->lanes, many = waits && whole > 1;
    if (waits) s->lanes = tn_i_l_scratch(b, "waiting", s->r->dtype, s->r->lanes * (many ? s->width : all), 0);
    if (!many) {
        strip(s, tn_i_affine_number(0), all);
        return;
    }
    const uint32_t loop = tn_i_l_for_n(b, whole);
    strip(s, tn_i_affine_loop(loop, s->width, 0), s->width);
    tn_i_l_close(b);
    if (all % s->width) strip(s, tn_i_affine_number(whole * s->width), all % s->width);
}

void tn_i_summing_columns(tn_i_summing *z, tn_i_reduction *r) {
    columns s = {.z = z, .r = r, .inner = r->loop[r->nloop - 1], .lanes = TN_L_NONE};
    for (uint32_t i = 1; i + 1 < r->nloop; i++)
        tn_i_l_copy_loop(&z->c, r->loop[i], tn_i_affine_loop(tn_i_l_for_n(z->c.b, r->size[i]), 1, 0));
    measure(&s);
    if (!z->c.b->failed) strips(&s);
    for (uint32_t i = 1; i + 1 < r->nloop; i++) tn_i_l_close(z->c.b);
}
