/* Reductions whose lanes, counters or best elements are in memory. */
#include "pass/sums.h"

static uint32_t two(tn_i_summing *z, tn_i_l_code code, uint32_t x, uint32_t y) {
    return tn_i_l_map(z->c.b, code, x, y, TN_L_NONE);
}

static uint32_t i64(tn_i_summing *z, int64_t x) { return tn_i_l_number(z->c.b, TN_I64, (uint64_t)x); }

static bool in_leaves(const tn_i_reduction *r) { return r->kind == TN_SUMMING_COLUMNS || r->kind == TN_SUMMING_EACH; }

/* A loop over numbers of a dtype that do not depend on each other. */
static uint32_t vector_loop(tn_i_summing *z, int64_t n, int dtype) {
    const uint32_t loop = tn_i_l_for_n(z->c.b, n);
    if (n > 1) tn_i_l_set_vector(z->c.b, loop, z->m->vector / (int)tn_i_dtype_size(dtype));
    return loop;
}

static void fill(tn_i_summing *z, const tn_i_reduction *r, uint32_t array, int64_t n) {
    const uint32_t x = tn_i_summing_identity(z, r), loop = vector_loop(z, n, r->dtype);
    tn_i_l_store_at(z->c.b, array, tn_i_affine_loop(loop, 1, 0), x);
    tn_i_l_close(z->c.b);
}

static int where_of(const tn_i_reduction *r) { return tn_i_summing_where(r->n, r->dtype); }

/* Of a row each lane has its own. */
static int64_t bests(const tn_i_reduction *r) { return r->kind == TN_SUMMING_ROW ? r->lanes : r->count; }

/* Lane by lane, `count` results each; levels likewise. */
static void make_arrays(tn_i_summing *z, tn_i_reduction *r) {
    const int64_t full = r->n / TN_LEAF;
    const bool buffer = r->kind == TN_SUMMING_BUFFER;
    if (r->kind == TN_SUMMING_ROW && !tn_i_summing_arg(r)) {
        if (r->before > 2) r->stack = tn_i_l_scratch(z->c.b, "leaves", r->dtype, tn_i_summing_levels(r->before + 1), 0);
        return;
    }
    if (tn_i_summing_alone(r)) return;
    if (tn_i_summing_arg(r)) {
        r->lane = tn_i_l_scratch(z->c.b, "best", r->dtype, bests(r), 0);
        r->stack = tn_i_l_scratch(z->c.b, "where", where_of(r), bests(r), 0);
        return;
    }
    r->lane = tn_i_l_scratch(z->c.b,
                             buffer          ? "elements"
                             : r->by_columns ? "totals"
                                             : "lanes",
                             r->dtype,
                             buffer          ? (r->n < TN_LEAF ? r->n : 2 * TN_LEAF)
                             : r->by_columns ? r->count
                                             : r->lanes * r->count,
                             0);
    const int64_t leaves = buffer ? full : r->before;
    if (leaves) r->stack = tn_i_l_scratch(z->c.b, "leaves", r->dtype, tn_i_summing_levels(r->before + 1) * r->count, 0);
}

void tn_i_summing_begin(tn_i_summing *z, tn_i_reduction *r) {
    make_arrays(z, r);
    if (in_leaves(r) && r->before == 0 && !r->split) fill(z, r, r->lane, r->lanes * r->count);
    if (!tn_i_summing_arg(r) || tn_i_summing_alone(r)) return;
    fill(z, r, r->lane, bests(r));
    const int where = where_of(r);
    const uint32_t zero = tn_i_l_number(z->c.b, where, 0), loop = vector_loop(z, bests(r), where);
    tn_i_l_store_at(z->c.b, r->stack, tn_i_affine_loop(loop, 1, 0), zero);
    tn_i_l_close(z->c.b);
}

/* ---- lanes ---- */

/* Element e is the first, or the last, of a leaf before the last. */
static uint32_t leaf_begins(tn_i_summing *z, tn_i_affine e) {
    const uint32_t i = two(z, TN_L_and, tn_i_l_index(z->c.b, TN_I64, e), i64(z, TN_LEAF - 1));
    return two(z, TN_L_eq, i, i64(z, 0));
}

static uint32_t leaf_ends(tn_i_summing *z, const tn_i_reduction *r, tn_i_affine e) {
    const uint32_t i = two(z, TN_L_and, tn_i_l_index(z->c.b, TN_I64, e), i64(z, TN_LEAF - 1));
    const uint32_t ends = two(z, TN_L_eq, i, i64(z, TN_LEAF - 1));
    return two(z, TN_L_and, ends, tn_i_l_within(z->c.b, INT64_MIN, e, r->before * TN_LEAF));
}

static uint32_t leaf_next(tn_i_summing *z, tn_i_affine e) {
    const uint32_t shift = i64(z, 9), i = tn_i_l_index(z->c.b, TN_I64, e);
    _Static_assert(TN_LEAF == 1 << 9, "a leaf's number");
    return two(z, TN_L_add, two(z, TN_L_shr, i, shift), i64(z, 1));
}

/* Lanes of result `at` by halves. */
static uint32_t halve(tn_i_summing *z, const tn_i_reduction *r, tn_i_affine at) {
    uint32_t x[TN_LANES];
    for (int64_t l = 0; l < r->lanes; l++)
        x[l] = tn_i_l_load_at(z->c.b, r->lane, tn_i_affine_add(z->c.b, at, r->count, tn_i_affine_number(l)));
    for (int64_t h = TN_LANES / 2; h > 0; h /= 2)
        for (int64_t l = 0; l < h && l + h < r->lanes; l++) x[l] = tn_i_summing_fold(z, r, x[l], x[l + h]);
    return x[0];
}

static tn_i_affine result_of(tn_i_summing *z, const tn_i_reduction *r) {
    return tn_i_l_copy_affine(&z->c, &z->p->op[r->into].at);
}

void tn_i_summing_open(tn_i_summing *z, tn_i_reduction *r) {
    const tn_i_affine e = tn_i_summing_element(z, r, r->nloop);
    if (r->before) {
        tn_i_l_if(z->c.b, leaf_begins(z, e));
        fill(z, r, r->lane, r->lanes * r->count);
        tn_i_l_close(z->c.b);
    }
    r->here = two(z, TN_L_and, tn_i_l_index(z->c.b, TN_I64, e), i64(z, TN_LANES - 1));
}

void tn_i_summing_close(tn_i_summing *z, tn_i_reduction *r) {
    if (!r->before) return;
    const tn_i_affine e = tn_i_summing_element(z, r, r->nloop);
    tn_i_l_if(z->c.b, leaf_ends(z, r, e));
    const uint32_t next = leaf_next(z, e), loop = vector_loop(z, r->count, r->dtype);
    const tn_i_affine at = tn_i_affine_loop(loop, 1, 0);
    tn_i_summing_enter(z, r, at, next, halve(z, r, at));
    tn_i_l_close(z->c.b);
    tn_i_l_close(z->c.b);
}

static void into_lane(tn_i_summing *z, const tn_i_reduction *r, uint32_t lane, tn_i_affine at, uint32_t x) {
    const tn_i_l_where to = {
        .array = r->lane, .e = at, .indexed = true, .index = lane, .by = r->count, .last = r->lanes - 1};
    tn_i_l_store(z->c.b, &to, tn_i_summing_fold(z, r, tn_i_l_load(z->c.b, &to), x));
}

void tn_i_summing_into_split(tn_i_summing *z, const tn_i_reduction *r, uint32_t mask) {
    const uint32_t x = z->c.value[z->p->op[r->into].in[1]];
    const bool masked = mask != TN_L_NONE;
    const tn_i_l_where to = {.array = r->lane,
                             .e = tn_i_affine_add(z->c.b, result_of(z, r), r->count, r->lane_of),
                             .masked = masked,
                             .mask = mask,
                             .otherwise = masked ? tn_i_summing_identity(z, r) : TN_L_NONE};
    tn_i_l_store(z->c.b, &to, tn_i_summing_fold(z, r, tn_i_l_load(z->c.b, &to), x));
}

static void into_each(tn_i_summing *z, const tn_i_reduction *r, uint32_t x) {
    tn_i_l_builder *b = z->c.b;
    const tn_i_affine e = tn_i_summing_element(z, r, r->nloop), at = result_of(z, r);
    if (r->before) {
        tn_i_l_if(b, leaf_begins(z, e));
        const uint32_t identity = tn_i_summing_identity(z, r), loop = tn_i_l_for_n(b, r->lanes);
        tn_i_l_store_at(b, r->lane, tn_i_affine_term(b, at, loop, r->count), identity);
        tn_i_l_close(b);
        tn_i_l_close(b);
    }
    into_lane(z, r, two(z, TN_L_and, tn_i_l_index(b, TN_I64, e), i64(z, TN_LANES - 1)), at, x);
    if (!r->before) return;
    tn_i_l_if(b, leaf_ends(z, r, e));
    tn_i_summing_enter(z, r, at, leaf_next(z, e), halve(z, r, at));
    tn_i_l_close(b);
}

/* ---- leaves, rounds, lanes ---- */

typedef void loop_body(tn_i_summing *z, uint32_t k);

/* Iterations at .. at + lanes - 1 of loop k, one for each lane from the first on. */
static void lanes_of(tn_i_summing *z, uint32_t k, tn_i_affine at, int64_t lanes, loop_body *body) {
    const uint32_t loop = tn_i_l_for_n(z->c.b, lanes);
    tn_i_l_copy_loop(&z->c, k, tn_i_affine_term(z->c.b, at, loop, 1));
    for (uint32_t i = 0; i < z->nof; i++)
        if (z->of[i].split && z->of[i].loop[0] == k) z->of[i].lane_of = tn_i_affine_loop(loop, 1, 0);
    body(z, k);
    tn_i_l_close(z->c.b);
}

static void one_leaf(tn_i_summing *z, uint32_t k, tn_i_affine at, int64_t count, loop_body *body) {
    tn_i_l_builder *b = z->c.b;
    const int64_t rounds = count / TN_LANES, rest = count % TN_LANES;
    for (uint32_t i = 0; i < z->nof; i++) {
        tn_i_reduction *r = &z->of[i];
        if (r->split && r->loop[0] == k) fill(z, r, r->lane, r->lanes * r->count);
    }
    if (rounds) {
        const uint32_t loop = tn_i_l_for_n(b, rounds);
        lanes_of(z, k, tn_i_affine_term(b, at, loop, TN_LANES), TN_LANES, body);
        tn_i_l_close(b);
    }
    if (rest) lanes_of(z, k, tn_i_affine_add(b, at, rounds * TN_LANES, tn_i_affine_number(1)), rest, body);
}

void tn_i_summing_split(tn_i_summing *z, uint32_t k, loop_body *body) {
    tn_i_l_builder *b = z->c.b;
    int64_t n = 0;
    (void)tn_i_l_known_count(z->p, k, &n);
    const int64_t before = (n - 1) / TN_LEAF;
    if (before) {
        const uint32_t leaf = tn_i_l_for_n(b, before);
        one_leaf(z, k, tn_i_affine_loop(leaf, TN_LEAF, 0), TN_LEAF, body);
        const uint32_t next = tn_i_l_index(b, TN_I64, tn_i_affine_loop(leaf, 1, 1));
        for (uint32_t i = 0; i < z->nof; i++) {
            tn_i_reduction *r = &z->of[i];
            if (!r->split || r->loop[0] != k) continue;
            const tn_i_affine at = tn_i_affine_loop(vector_loop(z, r->count, r->dtype), 1, 0);
            tn_i_summing_enter(z, r, at, next, halve(z, r, at));
            tn_i_l_close(b);
        }
        tn_i_l_close(b);
    }
    one_leaf(z, k, tn_i_affine_number(before * TN_LEAF), n - before * TN_LEAF, body);
}

/* ---- the best ---- */

static tn_i_best either(tn_i_l_builder *b, uint32_t p, tn_i_best x, tn_i_best y) {
    return (tn_i_best){tn_i_l_map(b, TN_L_select, p, x.x, y.x), tn_i_l_map(b, TN_L_select, p, x.at, y.at)};
}

tn_i_best tn_i_summing_best(tn_i_l_builder *b, int fold, int dtype, tn_i_best best, tn_i_best next) {
    const bool most = fold == TN_FOLD_ARGMAX;
    if (!tn_i_is_float(dtype))
        return either(b, tn_i_l_map(b, most ? TN_L_gt : TN_L_lt, next.x, best.x, TN_L_NONE), next, best);
    const uint32_t behind = tn_i_l_map(b, most ? TN_L_le : TN_L_ge, next.x, best.x, TN_L_NONE),
                   nan = tn_i_l_map(b, TN_L_ne, best.x, best.x, TN_L_NONE);
    return either(b, tn_i_l_map(b, TN_L_or, behind, nan, TN_L_NONE), best, next);
}

static tn_i_best load_best(tn_i_summing *z, const tn_i_reduction *r, tn_i_affine at) {
    return (tn_i_best){tn_i_l_load_at(z->c.b, r->lane, at), tn_i_l_load_at(z->c.b, r->stack, at)};
}

static void into_best(tn_i_summing *z, const tn_i_reduction *r, uint32_t x) {
    tn_i_l_builder *b = z->c.b;
    const tn_i_affine at = result_of(z, r);
    const tn_i_best next = {x, tn_i_l_index(b, where_of(r), tn_i_summing_element(z, r, r->nloop))},
                    best = tn_i_summing_best(b, r->fold, r->dtype, load_best(z, r, at), next);
    tn_i_l_store_at(b, r->lane, at, best.x);
    tn_i_l_store_at(b, r->stack, at, best.at);
}

/* Which lane has it: of equals, or NaNs, the first element. */
static uint32_t best_lane(tn_i_summing *z, const tn_i_reduction *r) {
    tn_i_l_builder *b = z->c.b;
    tn_i_best lane[TN_LANES];
    for (int64_t l = 0; l < r->lanes; l++) lane[l] = load_best(z, r, tn_i_affine_number(l));
    for (int64_t h = TN_LANES / 2; h > 0; h /= 2)
        for (int64_t l = 0; l < h && l + h < r->lanes; l++) {
            const uint32_t first = two(z, TN_L_lt, lane[l].at, lane[l + h].at);
            lane[l] = tn_i_summing_best(b, r->fold, r->dtype, either(b, first, lane[l], lane[l + h]),
                                        either(b, first, lane[l + h], lane[l]));
        }
    return lane[0].at;
}

/* ---- elements in a buffer ---- */

static void buffer_body(tn_i_summing *z, tn_i_reduction *const *r, uint32_t n, tn_i_affine at, uint32_t mask,
                        uint32_t *x) {
    const bool masked = mask != TN_L_NONE;
    const tn_i_l_where from = {.array = r[0]->lane,
                               .e = at,
                               .masked = masked,
                               .mask = mask,
                               .otherwise = masked ? tn_i_summing_identity(z, r[0]) : TN_L_NONE};
    (void)n;
    x[0] = tn_i_l_load(z->c.b, &from);
}

/* A leaf that is complete enters the counter, and what is behind it goes to the front; end: where the chunk ended. */
static void drain(tn_i_summing *z, tn_i_reduction *r, tn_i_affine first, uint32_t end) {
    tn_i_l_builder *b = z->c.b;
    uint32_t x;
    tn_i_l_if(b, two(z, TN_L_ge, end, i64(z, TN_LEAF)));
    tn_i_summing_leaf(z, &r, 1, tn_i_affine_number(0), TN_LEAF, buffer_body, &x);
    tn_i_summing_enter(z, r, tn_i_affine_number(0), leaf_next(z, first), x);
    const uint32_t loop = tn_i_l_for_up_to(b, TN_LEAF, tn_i_affine_number(-TN_LEAF), end);
    tn_i_l_set_vector(b, loop, z->m->vector / (int)tn_i_dtype_size(r->dtype));
    tn_i_l_store_at(b, r->lane, tn_i_affine_loop(loop, 1, 0),
                    tn_i_l_load_at(b, r->lane, tn_i_affine_loop(loop, 1, TN_LEAF)));
    tn_i_l_close(b);
    tn_i_l_close(b);
}

/* Iterations `at` on, count of them, of the innermost loop, whose first element is number `first`. */
static void chunk(tn_i_summing *z, tn_i_reduction *r, tn_i_affine at, tn_i_affine first, int64_t count,
                  void (*body)(tn_i_summing *z, uint32_t k)) {
    tn_i_l_builder *b = z->c.b;
    const uint32_t loop = r->loop[r->nloop - 1];
    r->here = two(z, TN_L_and, tn_i_l_index(b, TN_I64, first), i64(z, TN_LEAF - 1));
    const uint32_t end = r->n / TN_LEAF ? two(z, TN_L_add, r->here, i64(z, count)) : 0;
    const uint32_t made = tn_i_l_for_n(b, count);
    tn_i_l_copy_loop(&z->c, loop, tn_i_affine_term(b, at, made, 1));
    r->total = made;
    body(z, loop);
    tn_i_l_close(b);
    if (r->n / TN_LEAF) drain(z, r, first, end);
}

void tn_i_summing_chunks(tn_i_summing *z, tn_i_reduction *r, void (*body)(tn_i_summing *z, uint32_t k)) {
    tn_i_l_builder *b = z->c.b;
    const int64_t n = r->size[r->nloop - 1], whole = n / TN_LEAF, rest = n % TN_LEAF;
    const tn_i_affine first = tn_i_summing_element(z, r, r->nloop - 1);
    if (whole) {
        const uint32_t loop = tn_i_l_for_n(b, whole);
        chunk(z, r, tn_i_affine_loop(loop, TN_LEAF, 0), tn_i_affine_term(b, first, loop, TN_LEAF), TN_LEAF, body);
        tn_i_l_close(b);
    }
    const tn_i_affine at = tn_i_affine_number(whole * TN_LEAF);
    if (rest) chunk(z, r, at, tn_i_affine_add(b, first, 1, at), rest, body);
}

static void into_buffer(tn_i_summing *z, const tn_i_reduction *r, uint32_t x) {
    const bool one = r->n < TN_LEAF; /* all of them are there at once */
    tn_i_affine e = one ? tn_i_summing_element(z, r, r->nloop) : tn_i_affine_loop(r->total, 1, 0);
    const tn_i_l_where to = {.array = r->lane, .e = e, .indexed = !one, .index = r->here, .by = 1, .last = TN_LEAF - 1};
    tn_i_l_store(z->c.b, &to, x);
}

/* ---- for all kinds ---- */

void tn_i_summing_into(tn_i_summing *z, tn_i_reduction *r) {
    const uint32_t x = z->c.value[z->p->op[r->into].in[1]];
    if (z->c.b->failed) return;
    if (r->kind == TN_SUMMING_COLUMNS && r->split) tn_i_summing_into_split(z, r, TN_L_NONE);
    if (r->kind == TN_SUMMING_COLUMNS && !r->split) into_lane(z, r, r->here, result_of(z, r), x);
    if (r->kind == TN_SUMMING_EACH) into_each(z, r, x);
    if (r->kind == TN_SUMMING_BUFFER) into_buffer(z, r, x);
    if (r->kind == TN_SUMMING_ARG) into_best(z, r, x);
}

void tn_i_summing_finish(tn_i_summing *z, tn_i_reduction *r) {
    tn_i_l_builder *b = z->c.b;
    if (r->kind == TN_SUMMING_BUFFER) {
        const int64_t full = r->n / TN_LEAF, rest = r->n % TN_LEAF;
        uint32_t x = TN_L_NONE;
        if (rest) tn_i_summing_leaf(z, &r, 1, tn_i_affine_number(0), rest, buffer_body, &x);
        r->total = tn_i_summing_join(z, r, tn_i_affine_number(0), full, x);
        return;
    }
    if (!in_leaves(r) || r->by_columns) return;
    const uint32_t loop = vector_loop(z, r->count, r->dtype);
    const tn_i_affine at = tn_i_affine_loop(loop, 1, 0);
    tn_i_l_store_at(b, r->lane, at, tn_i_summing_join(z, r, at, r->before, halve(z, r, at)));
    tn_i_l_close(b);
}

uint32_t tn_i_summing_total(tn_i_summing *z, tn_i_reduction *r, const tn_i_l_op *o) {
    const bool row = r->kind == TN_SUMMING_ROW;
    if ((row && !tn_i_summing_arg(r)) || r->kind == TN_SUMMING_BUFFER) return r->total;
    const tn_i_affine at = tn_i_l_copy_affine(&z->c, &o->at);
    if (in_leaves(r)) return tn_i_l_load_at(z->c.b, r->lane, at);
    const uint32_t where = tn_i_summing_alone(r) ? r->total
                           : row                 ? best_lane(z, r)
                                                 : tn_i_l_load_at(z->c.b, r->stack, at);
    return o->dtype == where_of(r) ? where : tn_i_l_convert(z->c.b, o->dtype, where);
}
