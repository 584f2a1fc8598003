/* Columns while they are made (columns.c): of each value of the program its cells, one for each index of its short
 * dimensions; columns_moves.c makes those of what moves. */
#ifndef TANSY_OPT_COLUMNS_CELLS_H
#define TANSY_OPT_COLUMNS_CELLS_H

#include "opt/columns_fit.h"
#include "opt/equations.h"

/* A column, or an element that is the same in all its places. */
typedef struct tn_i_cell {
    tn_i_var v;
    bool wide; /* of its array's long dimensions, else of rank 0 */
    bool none; /* a 0 of the linear program */
} tn_i_cell;

typedef struct tn_i_cells {
    const tn_fn *f;
    tn_i_builder *b;
    tn_i_long l;
    int64_t places; /* the most elements of a column */
    tn_i_cell *cell;
    size_t ncell, ccell;
    size_t *first; /* of each value of f */
    tn_i_var *map; /* of each value of f that is in memory as it was */
} tn_i_cells;

static inline const tn_type *tn_i_cell_type(const tn_fn *f, tn_i_var v) { return f->val[v].type; }

static inline int64_t tn_i_cell_count(const tn_i_cells *c, tn_i_var v) {
    return tn_i_columns_width(tn_i_cell_type(c->f, v), c->l);
}

static inline tn_i_cell *tn_i_cells_of(const tn_i_cells *c, tn_i_var v) { return c->cell + c->first[v]; }

/* Of column k, which has one index of each short dimension: that, and 0 in long ones; and back. */
void tn_i_cell_index(const tn_i_cells *c, const tn_type *t, int64_t k, int64_t *index);
int64_t tn_i_cell_column(const tn_i_cells *c, const tn_type *t, const int64_t *index);

/* x as an array of type `to`, if it is not one. */
tn_i_var tn_i_cell_widened(const tn_i_cells *c, tn_i_cell x, const tn_type *to);

bool tn_i_cell_known_zero(const tn_i_cells *c, tn_i_cell x);

/* x + y, without what is left out. */
tn_i_cell tn_i_cell_sum(tn_i_cells *c, tn_i_cell x, tn_i_cell y);

/* The place of long dimension d among those of t. */
int tn_i_cell_place(const tn_i_cells *c, const tn_type *t, int64_t d);

/* The cells of e's output: of slices, concatenations, transposes, broadcasts and reshapes; of paddings; of sums of a
 * slice. */
void tn_i_cells_move(tn_i_cells *c, const tn_i_eqn *e);
void tn_i_cells_pad(tn_i_cells *c, const tn_i_eqn *e);
void tn_i_cells_slice_add(tn_i_cells *c, const tn_i_eqn *e);

#endif
