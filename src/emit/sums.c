/* Reductions in a nest, in the order of exec/nest.h. */
#include "emit/nest_emit.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const fold_name[] = {
    [TN_FOLD_SUM] = "SUM", [TN_FOLD_PROD] = "PROD", [TN_FOLD_MAX] = "MAX", [TN_FOLD_MIN] = "MIN"};

/* Of bool, integers 0 and 1 are folded. */
static int folded_dtype(const tn_i_nest_writer *w, const tn_i_nest_op *o) {
    const int dtype = w->n->op[o->in[0]].dtype;
    return dtype != TN_BOOL ? dtype : w->numbers || w->mask[o->in[0]] == 8 ? TN_I64 : TN_I32;
}

const char *tn_i_fold_macro(int fold) { return fold_name[fold]; }
const char *tn_i_sum_type(const tn_i_nest_writer *w, uint32_t op) {
    return tn_i_c_type(folded_dtype(w, &w->n->op[op]));
}

static const char *element(const tn_i_nest_writer *w, const tn_i_nest_op *o) { return tn_i_c_type(folded_dtype(w, o)); }

const char *tn_i_identity(int fold, int dtype) {
    if (fold == TN_FOLD_SUM) return "0";
    if (fold == TN_FOLD_PROD) return "1";
    if (tn_i_is_float(dtype)) return fold == TN_FOLD_MAX ? "-INFINITY" : "INFINITY";
    if (dtype == TN_I32) return fold == TN_FOLD_MAX ? "INT32_MIN" : "INT32_MAX";
    return fold == TN_FOLD_MAX ? "INT64_MIN" : "INT64_MAX";
}

static const char *identity(const tn_i_nest_writer *w, const tn_i_nest_op *o) {
    return tn_i_identity(o->fold, folded_dtype(w, o));
}

static bool finds(const tn_i_nest_op *o) { return o->fold == TN_FOLD_ARGMAX || o->fold == TN_FOLD_ARGMIN; }

/* ---- how each is written -------------------------------------------------------------- */

static int64_t count_loops(const tn_i_nest *n, uint32_t first, uint32_t end) {
    int64_t count = 1;
    for (uint32_t d = first; d < end; d++) count *= n->size[d];
    return count;
}

/* How many leading loops a mask is, or UINT32_MAX. */
static uint32_t leading(uint32_t over) {
    uint32_t led = 0;
    while (over >> led & 1) led++;
    return over >> led ? UINT32_MAX : led;
}

enum { STACK_BYTES = 32 << 10, ENTRIES = 40 };

/* Lanes that have elements; entries of the counter, which one leaf needs none of. */
static int64_t column_lanes(const tn_i_sum *s) { return s->n < 1 ? 1 : s->n < TN_LANES ? s->n : TN_LANES; }

static int64_t column_entries(const tn_i_sum *s) {
    int64_t leaves = (s->n - 1) / TN_LEAF + 1, levels = 1;
    if (leaves <= 1) return 0;
    for (; leaves > 1; leaves = (leaves + 1) / 2) levels++;
    return levels;
}

static size_t column_bytes(const tn_i_sum *s, size_t size) {
    return (size_t)(column_lanes(s) + column_entries(s)) * (size_t)s->q * size + 64;
}

/* Vectors of which some lanes are nobody's are loaded and stored whole, several times as fast as by a mask: so that
 * results of short rows, which are on the stack, have room for them.  What threads share is as dense as is planned. */
static void fill_up(const tn_i_nest_writer *w, tn_i_sum *s, uint32_t loops, size_t size) {
    const int64_t row = w->n->size[loops - 1], full = (row + w->lanes - 1) / w->lanes * w->lanes;
    s->run = loops < w->n->nloop || w->n->threads > 1 ? row : full;
    s->q = count_loops(w->n, s->led, loops - 1) * s->run;
    if (s->run == row || column_bytes(s, size) <= STACK_BYTES) return;
    s->q = s->q / s->run * row;
    s->run = row;
}

static bool plan_one(tn_i_nest_writer *w, const tn_i_nest_op *o, tn_i_sum *s, size_t *used) {
    const tn_i_nest *n = w->n;
    const uint32_t all = n->nloop == 32 ? UINT32_MAX : (1u << n->nloop) - 1, inner = tn_i_inner_mask(n);
    const uint32_t led = leading(o->over), loops = n->op[o->in[0]].level == TN_NEST_ELEMENT ? n->nloop : n->nouter;
    *s = (tn_i_sum){.kind = TN_SUM_LEAVES, .at = SIZE_MAX};
    if (o->over == inner && inner) {
        if (n->op[o->in[0]].level != TN_NEST_ELEMENT) return false;
        if (n->nloop - n->nouter == 1 && !finds(o)) s->kind = TN_SUM_LANES;
        return true;
    }
    if (o->over == all || (led == loops && led)) {
        s->total = true;
        return !finds(o);
    }
    if (led == UINT32_MAX || led == 0 || led > loops || finds(o)) return false;
    s->kind = TN_SUM_COLUMNS;
    s->led = led;
    s->n = count_loops(n, 0, led);
    fill_up(w, s, loops, tn_i_dtype_size(folded_dtype(w, o)));
    const size_t bytes = column_bytes(s, tn_i_dtype_size(folded_dtype(w, o)));
    if (bytes > STACK_BYTES) {
        s->at = *used;
        *used += (bytes + 63) & ~(size_t)63;
    }
    return true;
}

bool tn_i_sum_plan(tn_i_nest_writer *w) {
    size_t used = 0;
    for (uint32_t i = 0; i < w->n->nop; i++)
        if (w->n->op[i].kind == TN_NEST_REDUCE && !plan_one(w, &w->n->op[i], &w->sum[i], &used))
            return tn_i_module_refuse(w->m, TN_I_SUMS);
    w->buffers = used;
    return true;
}

/* ---- declarations ------------------------------------------------------------------------ */

static void use_leaves(tn_i_nest_writer *w, const tn_i_nest_op *o) {
    w->m->leaves |= UINT64_C(1) << TN_EMIT_FOLD(o->fold, folded_dtype(w, o));
}

static void declare_leaves(tn_i_nest_writer *w, uint32_t op) {
    const tn_i_nest_op *o = &w->n->op[op];
    if (finds(o)) {
        tn_i_text_put(w->t, "%s best%u = 0; int64_t found%u = -1, seen%u = 0;\n", element(w, o), (unsigned)op,
                      (unsigned)op, (unsigned)op);
        return;
    }
    use_leaves(w, o);
    tn_i_text_put(w->t, "%s_%s_leaves l%u; l%u.n = 0; l%u.m = 0; l%u.top = 0;\n", element(w, o), fold_name[o->fold],
                  (unsigned)op, (unsigned)op, (unsigned)op, (unsigned)op);
}

static void declare_columns(tn_i_nest_writer *w, uint32_t op) {
    const tn_i_nest_op *o = &w->n->op[op];
    const tn_i_sum *s = &w->sum[op];
    const char *type = element(w, o);
    w->m->columns |= UINT64_C(1) << TN_EMIT_FOLD(o->fold, folded_dtype(w, o));
    w->m->lanes |= 1u << (w->m->bytes / (int)tn_i_dtype_size(folded_dtype(w, o)));
    if (s->at == SIZE_MAX)
        tn_i_text_put(w->t, "%s a%u[%zu];\n", type, (unsigned)op,
                      column_bytes(s, tn_i_dtype_size(folded_dtype(w, o))) / tn_i_dtype_size(folded_dtype(w, o)));
    else
        tn_i_text_put(w->t, "%s *const a%u = (%s *)(S + %zu);\n", type, (unsigned)op, type, s->at);
    tn_i_text_put(w->t, "%s *const c%u = a%u + INT64_C(%" PRId64 "); uint64_t m%u = 0; int top%u = 0;\n", type,
                  (unsigned)op, (unsigned)op, column_entries(s) ? column_lanes(s) * s->q : INT64_C(0), (unsigned)op,
                  (unsigned)op);
}

void tn_i_sums_declare(tn_i_nest_writer *w) {
    for (uint32_t i = 0; i < w->n->nop; i++) {
        if (w->n->op[i].kind != TN_NEST_REDUCE) continue;
        if (w->sum[i].kind == TN_SUM_COLUMNS) declare_columns(w, i);
        if (w->sum[i].kind == TN_SUM_LEAVES && w->sum[i].total) declare_leaves(w, i);
    }
}

/* ---- lanes in registers ------------------------------------------------------------------------ */

static bool lanes_of_phase(const tn_i_nest_writer *w, uint32_t op, uint32_t phase) {
    const tn_i_nest_op *o = &w->n->op[op];
    return o->kind == TN_NEST_REDUCE && o->phase == phase && w->sum[op].kind == TN_SUM_LANES;
}

bool tn_i_has_leaf(const tn_i_nest_writer *w, uint32_t phase) {
    for (uint32_t i = 0; i < w->n->nop; i++)
        if (lanes_of_phase(w, i, phase)) return w->inner > TN_LEAF;
    return false;
}

void tn_i_sums_begin_row(tn_i_nest_writer *w, uint32_t phase) {
    for (uint32_t i = 0; i < w->n->nop; i++) {
        const tn_i_nest_op *o = &w->n->op[i];
        if (lanes_of_phase(w, i, phase) && w->inner > TN_LEAF)
            tn_i_text_put(w->t, "%s c%u[%d]; uint64_t m%u = 0; int top%u = 0;\n", element(w, o), (unsigned)i, ENTRIES,
                          (unsigned)i, (unsigned)i);
        if (lanes_of_phase(w, i, phase)) tn_i_text_put(w->t, "%s t%u;\n", element(w, o), (unsigned)i);
        if (o->kind == TN_NEST_REDUCE && o->phase == phase && w->sum[i].kind == TN_SUM_LEAVES && !w->sum[i].total)
            declare_leaves(w, i);
    }
}

static int vectors_of_leaf(const tn_i_nest_writer *w) { return TN_LANES / w->lanes; }

/* a5_0, a5_1, ...: the lanes of a leaf, behind them those of the next one. */
void tn_i_sums_begin_leaf(tn_i_nest_writer *w, uint32_t phase, int leaves) {
    for (uint32_t i = 0; i < w->n->nop; i++) {
        const tn_i_nest_op *o = &w->n->op[i];
        if (!lanes_of_phase(w, i, phase)) continue;
        for (int u = 0; u < leaves * vectors_of_leaf(w); u++)
            tn_i_text_put(w->t, "%sx%d a%u_%d = %sx%d_all(%s);\n", element(w, o), w->lanes, (unsigned)i, u,
                          element(w, o), w->lanes, identity(w, o));
    }
}

/* t5, what the lanes of a leaf come to; those are a5_0, ..., or begin with another. */
static void fold_leaf(tn_i_nest_writer *w, uint32_t op, const char *to, int first) {
    const tn_i_nest_op *o = &w->n->op[op];
    for (int half = vectors_of_leaf(w) / 2; half > 0; half /= 2)
        for (int u = first; u < first + half; u++)
            tn_i_text_put(w->t, "a%u_%d = V%s(a%u_%d, a%u_%d);\n", (unsigned)op, u, fold_name[o->fold], (unsigned)op, u,
                          (unsigned)op, u + half);
    tn_i_text_put(w->t, "FOLD(%s%u, a%u_%d, %s, %s, %d, V%s);\n", to, (unsigned)op, (unsigned)op, first, element(w, o),
                  tn_i_dtype_size(folded_dtype(w, o)) == 8 ? "i64" : "i32", w->lanes, fold_name[o->fold]);
}

/* Two leaves are one entry: a last one that is alone is joined to the entries before it as if it were two. */
void tn_i_sums_end_leaf(tn_i_nest_writer *w, uint32_t phase, const char *second) {
    for (uint32_t i = 0; i < w->n->nop; i++) {
        const tn_i_nest_op *o = &w->n->op[i];
        if (!lanes_of_phase(w, i, phase)) continue;
        fold_leaf(w, i, "t", 0);
        if (second) {
            tn_i_text_put(w->t, "if (%s) {\n%s b%u;\n", second, element(w, o), (unsigned)i);
            fold_leaf(w, i, "b", vectors_of_leaf(w));
            tn_i_text_put(w->t, "PUSH(c%u, top%u, m%u, %s(t%u, b%u), %s);\n} else\n", (unsigned)i, (unsigned)i,
                          (unsigned)i, fold_name[o->fold], (unsigned)i, (unsigned)i, fold_name[o->fold]);
        }
        if (w->inner > TN_LEAF)
            tn_i_text_put(w->t, "PUSH(c%u, top%u, m%u, t%u, %s);\n", (unsigned)i, (unsigned)i, (unsigned)i, (unsigned)i,
                          fold_name[o->fold]);
    }
}

static void end_leaves(tn_i_nest_writer *w, uint32_t op) {
    const tn_i_nest_op *o = &w->n->op[op];
    if (finds(o))
        tn_i_text_put(w->t, "const %s s%u = (%s)found%u;\n", tn_i_c_type(o->dtype), (unsigned)op, tn_i_c_type(o->dtype),
                      (unsigned)op);
    else
        tn_i_text_put(w->t, "const %s s%u = (%s)%s_%s_end(&l%u);\n", tn_i_c_type(o->dtype), (unsigned)op,
                      tn_i_c_type(o->dtype), element(w, o), fold_name[o->fold], (unsigned)op);
}

void tn_i_sums_end_row(tn_i_nest_writer *w, uint32_t phase) {
    for (uint32_t i = 0; i < w->n->nop; i++) {
        const tn_i_nest_op *o = &w->n->op[i];
        if (o->kind != TN_NEST_REDUCE || o->phase != phase) continue;
        if (lanes_of_phase(w, i, phase)) {
            if (w->inner > TN_LEAF)
                tn_i_text_put(w->t, "JOIN(c%u, top%u, %s); t%u = c%u[0];\n", (unsigned)i, (unsigned)i,
                              fold_name[o->fold], (unsigned)i, (unsigned)i);
            tn_i_text_put(w->t, "const %s s%u = (%s)t%u;\n", tn_i_c_type(o->dtype), (unsigned)i, tn_i_c_type(o->dtype),
                          (unsigned)i);
        } else if (w->sum[i].kind == TN_SUM_LEAVES && !w->sum[i].total)
            end_leaves(w, i);
        char from[16];
        (void)snprintf(from, sizeof from, "&s%u", (unsigned)i);
        if (!tn_i_of_row(w->n, o)) continue;
        if (tn_i_in_parts(w, i))
            tn_i_parts_put(w, i, from);
        else
            tn_i_emit_spread(w, i);
    }
}

/* ---- elements ----------------------------------------------------------------------------------- */

/* The first lane of each leaf begins with the identity. */
void tn_i_sums_enter(tn_i_nest_writer *w, uint32_t phase, bool rows) {
    for (uint32_t i = 0; i < w->n->nop; i++) {
        const tn_i_nest_op *o = &w->n->op[i];
        const tn_i_sum *s = &w->sum[i];
        if (o->kind != TN_NEST_REDUCE || o->phase != phase || s->kind != TN_SUM_COLUMNS) continue;
        if (rows != (w->n->op[o->in[0]].level != TN_NEST_ELEMENT)) continue;
        const uint32_t end = rows ? w->n->nouter : w->n->nloop - 1;
        tn_i_text_put(w->t, "const int64_t n%u = ", (unsigned)i);
        tn_i_emit_flat(w, 0, s->led);
        tn_i_text_put(w->t, " %% %d; const int fresh%u = n%u < %d;\n", TN_LEAF, (unsigned)i, (unsigned)i, TN_LANES);
        tn_i_text_put(w->t, "%s *const col%u = a%u + n%u %% %d * INT64_C(%" PRId64 ") + ", element(w, o), (unsigned)i,
                      (unsigned)i, (unsigned)i, TN_LANES, s->q);
        tn_i_emit_flat(w, s->led, end);
        tn_i_text_put(w->t, " * INT64_C(%" PRId64 ");\n", rows || s->led == w->n->nloop ? INT64_C(1) : s->run);
    }
}

/* Of an operand its value, or 0 and 1 for a mask. */
static void value(tn_i_nest_writer *w, const tn_i_nest_op *o) {
    const tn_i_nest_op *x = &w->n->op[o->in[0]];
    if (x->dtype == TN_BOOL) tn_i_text_put(w->t, "-");
    if (x->level == TN_NEST_ELEMENT && x->kind != TN_NEST_REDUCE)
        tn_i_text_put(w->t, "v%u_%d", (unsigned)o->in[0], w->u);
    else
        tn_i_text_put(w->t, "w%u", (unsigned)o->in[0]);
}

static void add_lanes(tn_i_nest_writer *w, uint32_t op, const tn_i_piece *k, const char *type) {
    const tn_i_nest_op *o = &w->n->op[op];
    const int each = w->leaf.vectors, leaf = each ? w->u / each : w->leaf.at;
    const int lane = leaf * vectors_of_leaf(w) + w->u % vectors_of_leaf(w);
    tn_i_text_put(w->t, "a%u_%d = V%s(a%u_%d, ", (unsigned)op, lane, fold_name[o->fold], (unsigned)op, lane);
    if (k->count < w->lanes) {
        tn_i_text_put(w->t, "%s_keep(", type);
        value(w, o);
        tn_i_text_put(w->t, ", %d, %s_all(%s))", (int)k->count, type, identity(w, o));
    } else
        value(w, o);
    tn_i_text_put(w->t, ");\n");
}

/* The first of the best; NaN is better than any number. */
static void add_found(tn_i_nest_writer *w, uint32_t op, const tn_i_piece *k, const char *type) {
    const tn_i_nest_op *o = &w->n->op[op];
    tn_i_text_put(w->t, "{ %s o[%d]; %s_store(o, ", element(w, o), w->lanes, type);
    value(w, o);
    tn_i_text_put(w->t,
                  "); for (int l = 0; l < %d; l++, seen%u++)\n"
                  "if (found%u < 0 || (best%u == best%u && (o[l] %c best%u || o[l] != o[l]))) best%u = o[l], found%u = "
                  "seen%u; }\n",
                  (int)k->count, (unsigned)op, (unsigned)op, (unsigned)op, (unsigned)op,
                  o->fold == TN_FOLD_ARGMAX ? '>' : '<', (unsigned)op, (unsigned)op, (unsigned)op, (unsigned)op);
}

static void add_columns(tn_i_nest_writer *w, uint32_t op, const tn_i_piece *k, const char *type) {
    const tn_i_nest_op *o = &w->n->op[op];
    if (k->count == w->lanes || w->sum[op].run > w->inner)
        tn_i_text_put(w->t, "%s_store(col%u + j%d, V%s((fresh%u ? %s_all(%s) : %s_load(col%u + j%d)), ", type,
                      (unsigned)op, w->u, fold_name[o->fold], (unsigned)op, type, identity(w, o), type, (unsigned)op,
                      w->u);
    else
        tn_i_text_put(w->t, "%s_put(col%u + j%d, 1, %d, V%s((fresh%u ? %s_all(%s) : %s_some(col%u + j%d, 1, %d)), ",
                      type, (unsigned)op, w->u, (int)k->count, fold_name[o->fold], (unsigned)op, type, identity(w, o),
                      type, (unsigned)op, w->u, (int)k->count);
    value(w, o);
    tn_i_text_put(w->t, "));\n");
}

void tn_i_sum_add(tn_i_nest_writer *w, uint32_t op, const tn_i_piece *k) {
    const tn_i_nest_op *o = &w->n->op[op];
    char type[16];
    (void)sprintf(type, "%sx%d", element(w, o), w->lanes);
    if (w->sum[op].kind == TN_SUM_LANES)
        add_lanes(w, op, k, type);
    else if (w->sum[op].kind == TN_SUM_COLUMNS)
        add_columns(w, op, k, type);
    else if (finds(o))
        add_found(w, op, k, type);
    else {
        tn_i_text_put(w->t, "%s_store(l%u.at + l%u.n, ", type, (unsigned)op, (unsigned)op);
        value(w, o);
        tn_i_text_put(w->t, "); l%u.n += %d; if (l%u.n >= %d) %s_%s_leaf(&l%u);\n", (unsigned)op, (int)k->count,
                      (unsigned)op, TN_LEAF, element(w, o), fold_name[o->fold], (unsigned)op);
    }
}

void tn_i_sum_add_number(tn_i_nest_writer *w, uint32_t op) {
    const tn_i_nest_op *o = &w->n->op[op];
    if (w->sum[op].kind == TN_SUM_COLUMNS)
        tn_i_text_put(w->t, "{ const %s x = fresh%u ? %s : *col%u, y = s%u; *col%u = %s(x, y); }\n", element(w, o),
                      (unsigned)op, identity(w, o), (unsigned)op, (unsigned)o->in[0], (unsigned)op, fold_name[o->fold]);
    else
        tn_i_text_put(w->t, "l%u.at[l%u.n++] = s%u; if (l%u.n >= %d) %s_%s_leaf(&l%u);\n", (unsigned)op, (unsigned)op,
                      (unsigned)o->in[0], (unsigned)op, TN_LEAF, element(w, o), fold_name[o->fold], (unsigned)op);
}

/* ---- results --------------------------------------------------------------------------------------- */

void tn_i_sums_leave_loop(tn_i_nest_writer *w, uint32_t loop) {
    for (uint32_t i = 0; i < w->n->nop; i++) {
        const tn_i_nest_op *o = &w->n->op[i];
        const tn_i_sum *s = &w->sum[i];
        if (o->kind != TN_NEST_REDUCE || s->kind != TN_SUM_COLUMNS || s->led != loop + 1) continue;
        tn_i_text_put(w->t, "{ const int64_t n = ");
        tn_i_emit_flat(w, 0, s->led);
        tn_i_text_put(w->t,
                      " + 1; if (n %% %d == 0 || n == INT64_C(%" PRId64 ")) %s_%s_columns(a%u, c%u, INT64_C(%" PRId64
                      "), (n - 1) %% %d + 1, &m%u, &top%u); }\n",
                      TN_LEAF, s->n, element(w, o), fold_name[o->fold], (unsigned)i, (unsigned)i, s->q, TN_LEAF,
                      (unsigned)i, (unsigned)i);
    }
}

/* Where the results of columns are, side by side. */
static void put_columns(tn_i_nest_writer *w, uint32_t op) {
    const tn_i_nest_op *o = &w->n->op[op];
    if (tn_i_in_parts(w, op))
        tn_i_text_put(w->t, "sum%u", (unsigned)op);
    else
        tn_i_text_put(w->t, "%s_%s_ended(c%u, INT64_C(%" PRId64 "), top%u)", element(w, o), fold_name[o->fold],
                      (unsigned)op, w->sum[op].q, (unsigned)op);
}

/* Stores the results of columns one after another, through the loops that are left. */
static void store_columns(tn_i_nest_writer *w, uint32_t op, const tn_i_nest_op *store) {
    const tn_i_nest_op *o = &w->n->op[op];
    const tn_i_sum *s = &w->sum[op];
    const tn_i_nest_array *a = &w->n->array[store->array];
    const uint32_t end = w->n->op[o->in[0]].level == TN_NEST_ELEMENT ? w->n->nloop : w->n->nouter;
    const char *type = tn_i_c_type(o->dtype);
    tn_i_text_put(w->t, "{ const %s *r = ", element(w, o));
    put_columns(w, op);
    tn_i_text_put(w->t, ";\n");
    for (uint32_t d = s->led; d < end; d++)
        tn_i_text_put(w->t, "for (int64_t i%u = 0; i%u < INT64_C(%" PRId64 "); i%u++)\n", (unsigned)d, (unsigned)d,
                      w->n->size[d], (unsigned)d);
    tn_i_text_put(w->t, "((%s *)p%u)[0", type, (unsigned)store->array);
    for (uint32_t d = s->led; d < end; d++)
        tn_i_text_put(w->t, " + i%u * INT64_C(%" PRId64 ")", (unsigned)d, a->stride[d]);
    tn_i_text_put(w->t, "] = (%s)r[", type);
    tn_i_emit_flat(w, s->led, end - 1);
    tn_i_text_put(w->t, " * INT64_C(%" PRId64 ") + i%u]; }\n", s->run, (unsigned)end - 1);
}

void tn_i_sums_end(tn_i_nest_writer *w) {
    for (uint32_t i = 0; i < w->n->nop; i++) {
        const tn_i_nest_op *store = &w->n->op[i];
        if (store->kind != TN_NEST_STORE) continue;
        const uint32_t op = store->in[0];
        const tn_i_nest_op *o = &w->n->op[op];
        if (o->kind != TN_NEST_REDUCE || tn_i_of_row(w->n, o)) continue;
        tn_i_emit_guard(w, store->array);
        if (w->sum[op].kind == TN_SUM_COLUMNS)
            store_columns(w, op, store);
        else {
            tn_i_text_put(w->t, "{ ");
            if (tn_i_in_parts(w, op))
                tn_i_text_put(w->t, "const %s s%u = *sum%u; ", tn_i_c_type(o->dtype), (unsigned)op, (unsigned)op);
            else
                end_leaves(w, op);
            tn_i_text_put(w->t, "*(%s *)p%u = s%u; }\n", tn_i_c_type(o->dtype), (unsigned)store->array, (unsigned)op);
        }
    }
}

/* Behind a piece: what its elements came to. */
void tn_i_sums_end_piece(tn_i_nest_writer *w) {
    for (uint32_t i = 0; i < w->n->nop; i++) {
        const tn_i_nest_op *o = &w->n->op[i];
        char from[96];
        if (!tn_i_in_parts(w, i) || tn_i_of_row(w->n, o)) continue;
        if (w->sum[i].kind == TN_SUM_COLUMNS)
            (void)snprintf(from, sizeof from, "%s_%s_ended(c%u, INT64_C(%" PRId64 "), top%u)", element(w, o),
                           fold_name[o->fold], (unsigned)i, w->sum[i].q, (unsigned)i);
        else {
            end_leaves(w, i);
            (void)snprintf(from, sizeof from, "&s%u", (unsigned)i);
        }
        tn_i_parts_put(w, i, from);
    }
}
