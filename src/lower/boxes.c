/* Kernels that move elements (prims/arrays/boxes.h) as loops: a nest for each box, which loads and stores. */
#include "prims/arrays/boxes.h"

#include "lower/nest_i.h"
#include "plan/strides.h"

#include <string.h>

typedef struct boxes {
    tn_i_moved_boxes boxes;
    const tn_i_lower_part *w;
    const tn_i_eqn *e;
} boxes;

static tn_i_lower_side side(const boxes *z, tn_i_var v, bool out, int64_t first, const int64_t *stride) {
    tn_i_lower_side s = tn_i_lower_side_of(z->w, z->w->p->f->val[v].type, &z->w->p->place[v], out);
    s.e = tn_i_affine_add(z->w->b, s.e, 1, tn_i_affine_number(first));
    memcpy(s.stride, stride, sizeof s.stride);
    return s;
}

static void move(tn_i_moved_boxes *to, const tn_i_moved_box *box) {
    const boxes *z = (const boxes *)to;
    for (int d = 0; d < box->rank; d++)
        if (box->dim[d] == 0) return;
    if (z->w->b->failed) return;
    const tn_i_lower_side x = side(z, tn_i_in(z->w->p->f, z->e)[box->in], false, box->from, box->src),
                          y = side(z, z->e->out + box->out, true, box->to, box->dst);
    tn_i_lower_elements(z->w->b, box->rank, box->dim, x, y);
}

void tn_i_lower_boxes(const tn_i_lower_part *w, const tn_i_step *s) {
    const tn_i_plan *p = w->p;
    const tn_i_eqn *e = &p->f->eqn[s->eqn];
    const size_t n = (size_t)e->nin + e->nout;
    boxes z = {.boxes = {move}, .w = w, .e = e};
    tn_i_arr *in = tn_i_alloc_array(w->b->ctx, n, sizeof *in), *out = in ? in + e->nin : NULL;
    if (!in) {
        w->b->failed = true;
        return;
    }
    for (uint32_t i = 0; i < e->nin; i++) {
        const tn_i_var v = tn_i_in(p->f, e)[i];
        in[i] = (tn_i_arr){.type = p->f->val[v].type};
        tn_i_place_strides_of(p, in[i].type, &p->place[v], in[i].stride);
    }
    for (uint32_t j = 0; j < e->nout; j++) out[j] = (tn_i_arr){.type = p->f->val[e->out + j].type};
    const tn_i_kernel k = {.prim = e->prim, .p = tn_i_p(e), .nin = e->nin, .nout = e->nout, .in = in, .out = out};
    e->prim->boxes(&k, &z.boxes);
    tn_i_free(w->b->ctx, in, n * sizeof *in);
}
