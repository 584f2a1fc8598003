/* Rows that follow one another in memory, gone through as one: of 50 numbers a row, four rows are 25 vectors, each
 * aligned where the first is, so that no store touches two lines of the cache and none goes by a mask.  A vector in
 * which one row ends and the next begins is a *seam*: it has the one row's numbers in its first lanes and the other's
 * behind.  Where the first row is not aligned, rows are gone through one by one. */
#include "emit/nest_emit.h"

#include <inttypes.h>

enum { MOST_TEXT = 128, MOST_UNROLLED = 12 };

static int64_t row_stride(const tn_i_nest_writer *w, uint32_t array) {
    return w->n->array[array].stride[w->n->nloop - 2];
}

static int64_t common_divisor(int64_t a, int64_t b) { return b ? common_divisor(b, a % b) : a; }

/* Rows that are whole vectors together. */
static int64_t rows_at_once(const tn_i_nest_writer *w) { return w->lanes / common_divisor(w->inner, w->lanes); }

/* Dense rows, a row that is the same for all of them, or a number of each; of what a row is computed with, no more. */
static bool goes_through(const tn_i_nest_writer *w, const tn_i_nest_op *o) {
    if (!tn_i_of_elements(w, o)) return o->level == TN_NEST_ONCE && o->kind != TN_NEST_STORE;
    if (o->kind == TN_NEST_MAP || o->kind == TN_NEST_NUMBER) return true;
    if (o->kind != TN_NEST_LOAD && o->kind != TN_NEST_STORE) return false;
    const int64_t by = w->n->array[o->array].stride[w->n->nloop - 1], next = row_stride(w, o->array);
    if (o->kind == TN_NEST_LOAD && (by == 0 || next == 0)) return true;
    return by == 1 && next == w->inner;
}

bool tn_i_rows_are_flat(const tn_i_nest_writer *w) {
    const tn_i_nest *n = w->n;
    if (!tn_i_aligns_rows(w) || w->cut || n->nouter + 2 > n->nloop) return false;
    const int64_t rows = rows_at_once(w);
    for (uint32_t i = 0; i < n->nop; i++)
        if (!goes_through(w, &n->op[i])) return false;
    return rows > 1 && rows * n->nop <= MOST_TEXT && n->size[n->nloop - 2] >= 2 * rows;
}

static bool is_of_row(const tn_i_nest_writer *w, uint32_t op) {
    const tn_i_nest_op *o = &w->n->op[op];
    return o->kind == TN_NEST_LOAD && o->level == TN_NEST_ELEMENT && w->n->array[o->array].stride[w->n->nloop - 1] == 0;
}

/* h1_2: number 1 of row 2. */
static void numbers_of_rows(tn_i_nest_writer *w, int64_t rows) {
    char type[16];
    for (uint32_t i = 0; i < w->n->nop; i++) {
        if (!is_of_row(w, i)) continue;
        const tn_i_nest_op *o = &w->n->op[i];
        tn_i_vector_type(w, i, type);
        for (int64_t r = 0; r < rows; r++)
            tn_i_text_put(w->t, "const %s h%u_%d = %s_all(((const %s *)q%u)[INT64_C(%" PRId64 ")]);\n", type,
                          (unsigned)i, (int)r, type, tn_i_c_type(o->dtype), (unsigned)o->array,
                          r * row_stride(w, o->array));
    }
}

/* Numbers h1 of row r, or, in a seam, of it and the next one. */
static void take_numbers(tn_i_nest_writer *w, int64_t r, int64_t seam) {
    char type[16];
    for (uint32_t i = 0; i < w->n->nop; i++) {
        if (!is_of_row(w, i)) continue;
        tn_i_vector_type(w, i, type);
        tn_i_text_put(w->t, "const %s h%u = ", type, (unsigned)i);
        if (seam)
            tn_i_text_put(w->t, "%s_keep(h%u_%d, %d, h%u_%d);\n", type, (unsigned)i, (int)r, (int)seam, (unsigned)i,
                          (int)r + 1);
        else
            tn_i_text_put(w->t, "h%u_%d;\n", (unsigned)i, (int)r);
    }
}

/* A vector at the end of row r: the next row begins in it, or, behind the last one, nothing does. */
static void one_end(tn_i_nest_writer *w, int64_t r, int64_t end, bool last) {
    const int64_t some = end % w->lanes;
    const tn_i_piece k = {.count = last ? some : w->lanes};
    if (!some) return;
    w->flat.seam = last ? 0 : some;
    tn_i_text_put(w->t, "{\nconst int64_t i = INT64_C(%" PRId64 ");\n", end - some);
    take_numbers(w, r, w->flat.seam);
    tn_i_emit_pieces(w, 0, 1, &k);
    tn_i_text_put(w->t, "}\n");
    w->flat.seam = 0;
}

static void one_row(tn_i_nest_writer *w, int64_t r, bool last) {
    const tn_i_piece whole = {.count = w->lanes};
    const int64_t begin = r * w->inner, end = begin + w->inner;
    const int64_t first = (begin + w->lanes - 1) / w->lanes * w->lanes;
    w->flat.row = begin;
    tn_i_text_put(w->t, "{\n");
    take_numbers(w, r, 0);
    if (w->inner / w->lanes <= MOST_UNROLLED) tn_i_text_put(w->t, "UNROLL ");
    tn_i_text_put(w->t, "for (int64_t i = INT64_C(%" PRId64 "); i < INT64_C(%" PRId64 "); i += %d) {\n", first,
                  end / w->lanes * w->lanes, w->lanes);
    tn_i_emit_pieces(w, 0, 1, &whole);
    tn_i_text_put(w->t, "}\n}\n");
    one_end(w, r, end, last);
}

/* So many rows, from row `done` on. */
static void some_rows(tn_i_nest_writer *w, int64_t rows) {
    const uint32_t d = w->n->nloop - 2;
    tn_i_text_put(w->t, "const int64_t i%u = done;\n", (unsigned)d);
    tn_i_move_arrays(w, d + 1);
    numbers_of_rows(w, rows);
    w->flat.on = true;
    for (int64_t r = 0; r < rows; r++) one_row(w, r, r + 1 == rows);
    w->flat.on = false;
}

void tn_i_emit_flat_rows(tn_i_nest_writer *w) {
    const uint32_t d = w->n->nloop - 2;
    const int64_t rows = rows_at_once(w), left = w->n->size[d] % rows;
    tn_i_text_put(w->t, "int64_t done = 0;\n{\n");
    tn_i_move_arrays(w, d);
    tn_i_text_put(w->t, "if ((uintptr_t)q%u %% 64 == 0) {\nfor (; done < INT64_C(%" PRId64 "); done += %d) {\n",
                  (unsigned)tn_i_first_store(w), w->n->size[d] - left, (int)rows);
    some_rows(w, rows);
    tn_i_text_put(w->t, "}\n");
    if (left) {
        some_rows(w, left);
        tn_i_text_put(w->t, "done += %d;\n", (int)left);
    }
    tn_i_text_put(w->t, "}\n}\n");
}

/* A row that is the same for all: from where this one begins, or its end and its beginning. */
bool tn_i_emit_flat_load(tn_i_nest_writer *w, uint32_t op, const char *type, const tn_i_piece *piece) {
    const tn_i_nest_op *o = &w->n->op[op];
    const char *element = tn_i_c_type(o->dtype);
    const unsigned k = o->array;
    if (!w->flat.on || is_of_row(w, op) || row_stride(w, k) != 0) return false;
    if (piece->count < w->lanes)
        tn_i_text_put(w->t, "%s_some((const %s *)q%u + (j%d - INT64_C(%" PRId64 ")), 1, %d)", type, element, k, w->u,
                      w->flat.row, (int)piece->count);
    else if (!w->flat.seam)
        tn_i_text_put(w->t, "%s_load((const %s *)q%u + (j%d - INT64_C(%" PRId64 ")))", type, element, k, w->u,
                      w->flat.row);
    else
        tn_i_text_put(w->t,
                      "%s_box((const %s *)q%u, 1, INT64_C(%" PRId64
                      "), 0, %d, %s_some((const %s *)q%u + INT64_C(%" PRId64 "), 1, %d))",
                      type, element, k, -w->flat.seam, w->lanes, type, element, k, w->inner - w->flat.seam,
                      (int)w->flat.seam);
    return true;
}
