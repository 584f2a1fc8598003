#include "prims/frame.h"

#include <string.h>

bool tn_i_frame_init(tn_i_frame *w, tn_i_builder *b, const tn_fn *f, tn_i_memo *memo) {
    tn_ctx *c = b->ctx;
    size_t n = 1;
    for (uint32_t i = 0; i < f->neqn; i++) {
        if (f->eqn[i].nin > n) n = f->eqn[i].nin;
        if (f->eqn[i].nout > n) n = f->eqn[i].nout;
    }
    *w = (tn_i_frame){.width = n};
    w->in = tn_i_alloc_array(c, n, sizeof *w->in);
    w->out = tn_i_alloc_array(c, n, sizeof *w->out);
    w->a = tn_i_alloc_array(c, n, sizeof *w->a);
    w->c = tn_i_alloc_array(c, n, sizeof *w->c);
    w->in_type = tn_i_alloc_array(c, n, sizeof *w->in_type);
    w->out_type = tn_i_alloc_array(c, n, sizeof *w->out_type);
    w->flag = tn_i_alloc_array(c, n, sizeof *w->flag);
    w->mark = tn_i_alloc_array(c, n, sizeof *w->mark);
    w->r = (tn_i_rule){
        .b = b, .f = f, .in = w->in, .out = w->out, .in_type = w->in_type, .out_type = w->out_type, .memo = memo};
    if (w->in && w->out && w->a && w->c && w->in_type && w->out_type && w->flag && w->mark) return true;
    b->failed = true;
    return false;
}

void tn_i_frame_free(tn_i_frame *w) {
    if (!w->r.b) return;
    tn_ctx *c = w->r.b->ctx;
    size_t n = w->width;
    tn_i_free(c, w->in, n * sizeof *w->in);
    tn_i_free(c, w->out, n * sizeof *w->out);
    tn_i_free(c, w->a, n * sizeof *w->a);
    tn_i_free(c, w->c, n * sizeof *w->c);
    tn_i_free(c, (void *)w->in_type, n * sizeof *w->in_type);
    tn_i_free(c, (void *)w->out_type, n * sizeof *w->out_type);
    tn_i_free(c, w->flag, n * sizeof *w->flag);
    tn_i_free(c, w->mark, n * sizeof *w->mark);
}

void tn_i_frame_enter(tn_i_frame *w, const tn_i_eqn *e) {
    tn_i_rule *r = &w->r;
    r->e = e;
    r->p = tn_i_p(e);
    r->nin = e->nin;
    r->nout = e->nout;
    for (uint32_t i = 0; i < e->nin; i++) w->in_type[i] = r->f->val[tn_i_in(r->f, e)[i]].type;
    for (uint32_t j = 0; j < e->nout; j++) w->out_type[j] = r->f->val[e->out + j].type;
    r->b->loc = e->loc;
    r->b->region = e->region;
    r->b->linear = tn_i_of_linear(r->f, e); /* its partials are linear in its operand too */
    if (e->region >= r->b->regions) r->b->regions = e->region + 1;
}
