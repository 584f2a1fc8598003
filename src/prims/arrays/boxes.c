#include "prims/arrays/boxes.h"

#include "base/machine.h"
#include "prims/arrays/layout.h"

#include <string.h>

void tn_i_box_of_operand(const tn_i_kernel *k, uint32_t in, uint32_t out, tn_i_moved_box *box) {
    const tn_type *t = k->in[in].type;
    *box = (tn_i_moved_box){.in = in, .out = out, .rank = t->rank};
    memcpy(box->dim, t->dim, sizeof box->dim);
    memcpy(box->src, k->in[in].stride, sizeof box->src);
    tn_i_dense_strides(k->out[out].type, box->dst);
}

void tn_i_view_boxes(const tn_i_kernel *k, tn_i_moved_boxes *to) {
    tn_type out = *k->out->type;
    const tn_type *in = k->in[0].type;
    const tn_i_query q = {.prim = k->prim, .p = k->p, .nin = 1, .nout = 1, .in = &in, .out = &out};
    tn_i_arr view = {.type = k->out->type};
    tn_i_moved_box box = {.rank = out.rank};
    (void)k->prim->view(&q, &k->in[0], &view, &box.from);
    memcpy(box.dim, out.dim, sizeof box.dim);
    memcpy(box.src, view.stride, sizeof box.src);
    tn_i_dense_strides(&out, box.dst);
    to->put(to, &box);
}

/* ---- the kernel -------------------------------------------------------------------------------------- */

typedef struct mover {
    tn_i_moved_boxes boxes;
    const tn_i_kernel *k;
    int64_t first, rows; /* of dimension 0, of each box; rows < 0: all of it */
} mover;

static void move(tn_i_moved_boxes *z, const tn_i_moved_box *box) {
    const mover *m = (const mover *)z;
    const tn_i_arr *in = &m->k->in[box->in], *out = &m->k->out[box->out];
    const size_t size = tn_i_dtype_size(out->type->dtype);
    int64_t from = box->from, to = box->to, dim[TN_MAX_RANK];
    memcpy(dim, box->dim, sizeof dim);
    if (m->rows >= 0) {
        dim[0] = m->rows;
        from += m->first * box->src[0];
        to += m->first * box->dst[0];
    }
    tn_i_walk w;
    tn_i_walk_init(&w, box->rank, dim, box->src, box->dst);
    tn_i_walk_run(&w, tn_i_copy_row(size), size, tn_i_at(in->data, size, from), tn_i_at_mut(out->data, size, to));
}

/* Whether all boxes stand side by side in the rows of one result, and what these are. */
typedef struct beside {
    tn_i_moved_boxes boxes;
    uint32_t n, out;
    bool are;
    int64_t rows, row; /* how many, and elements from one to the next */
} beside;

static void look(tn_i_moved_boxes *z, const tn_i_moved_box *box) {
    beside *s = (beside *)z;
    if (s->n++ == 0)
        *s = (beside){
            .boxes = s->boxes, .n = 1, .out = box->out, .are = box->rank > 0, .rows = box->dim[0], .row = box->dst[0]};
    s->are = s->are && box->rank > 0 && box->out == s->out && box->dim[0] == s->rows && box->dst[0] == s->row &&
             box->to < s->row;
}

/* Boxes beside each other write to the same lines of memory: a few rows at a time, which the cache holds. */
tn_status tn_i_box_kernel(const tn_i_kernel *k) {
    mover m = {.boxes = {move}, .k = k, .rows = -1};
    beside s = {.boxes = {look}};
    const int64_t all = tn_i_count(k->out->type), size = (int64_t)tn_i_dtype_size(k->out->type->dtype);
    if (k->nout == 1 && all > TN_M_JOIN_BYTES / size) k->prim->boxes(k, &s.boxes);
    if (s.n < 2 || !s.are || s.row == 0) {
        k->prim->boxes(k, &m.boxes);
        return TN_OK;
    }
    const int64_t some = s.row * size < TN_M_JOIN_BYTES ? TN_M_JOIN_BYTES / (s.row * size) : 1;
    for (; m.first < s.rows; m.first += some) {
        m.rows = some < s.rows - m.first ? some : s.rows - m.first;
        k->prim->boxes(k, &m.boxes);
    }
    return TN_OK;
}
