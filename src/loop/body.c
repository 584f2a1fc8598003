/* What computes an operation: which body, or kernel, of which primitive. */
#include "loop/inside.h"

/* A primitive's question for one number each. */
typedef struct question {
    tn_i_query q;
    tn_i_param param;
    tn_type type[4];
    const tn_type *in[3];
} question;

static const tn_prim *prim_of(const tn_i_loops *p, const tn_i_l_op *o) {
    const int prim = o->code == TN_L_fn ? (int)o->which : tn_i_l_rows[o->code].prim;
    return prim < 0 ? NULL : p->ctx->prims[prim];
}

static bool ask(const tn_i_loops *p, const tn_i_l_op *o, question *z) {
    const tn_prim *prim = prim_of(p, o);
    if (!prim) return false;
    const int nin = o->kind == TN_L_STORE ? 2 : o->nin; /* of an update, both of its dtype */
    for (int i = 0; i < nin; i++) {
        z->type[i] = tn_type_of((tn_dtype)(nin == o->nin ? p->op[o->in[i]].dtype : o->dtype), 0, NULL);
        z->in[i] = &z->type[i];
    }
    z->type[3] = tn_type_of((tn_dtype)o->dtype, 0, NULL);
    z->param.u.i = o->code == TN_L_fn ? o->lo : o->code == TN_L_convert ? o->dtype : tn_i_l_rows[o->code].param;
    z->param.kind = prim->params ? prim->params[0].kind : TN_K_NONE;
    z->q = (tn_i_query){
        .ctx = p->ctx, .prim = prim, .p = &z->param, .nin = (uint32_t)nin, .nout = 1, .in = z->in, .out = &z->type[3]};
    return true;
}

tn_i_strip *tn_i_l_body(const tn_i_loops *p, const tn_i_l_op *o) {
    question z;
    const char *text;
    return ask(p, o, &z) ? tn_i_scalar_body(&z.q, &text) : NULL;
}

const char *tn_i_l_vector_name(const tn_i_loops *p, const tn_i_l_op *o) {
    const tn_prim *prim = prim_of(p, o);
    for (int i = 0; prim && i < o->nin; i++)
        if (p->op[o->in[i]].dtype != o->dtype) return NULL;
    return prim ? prim->vector[o->dtype] : NULL;
}

bool tn_i_l_same_function(const tn_i_loops *p, uint32_t k, uint32_t j) {
    const tn_i_l_op *a = &p->op[k], *b = &p->op[j];
    return a->kind == TN_L_MAP && b->kind == TN_L_MAP && a->code == b->code && a->which == b->which && a->lo == b->lo &&
           a->dtype == b->dtype && tn_i_l_vector_name(p, a) && tn_i_l_vector_name(p, b);
}

uint32_t tn_i_l_together(const tn_i_loops *p, uint32_t k, uint32_t last) {
    uint32_t j = k;
    for (; j < last && tn_i_l_same_function(p, k, j); j++)
        for (int i = 0; i < p->op[j].nin; i++)
            if (p->op[j].in[i] >= k) return j - k;
    return j - k;
}

tn_status tn_i_l_by_kernel(const tn_i_loops *p, const tn_i_l_op *o, uint64_t *in, uint64_t *out) {
    question z;
    tn_i_arr x[3] = {{0}}, y = {0};
    char why[256] = "";
    if (!ask(p, o, &z) || !z.q.prim->kernel) return TN_ERULE;
    for (int i = 0; i < o->nin; i++) x[i] = (tn_i_arr){.type = &z.type[i], .data = &in[i]};
    y = (tn_i_arr){.type = &z.type[3], .data = out};
    const tn_i_kernel call = {
        .prim = z.q.prim, .p = z.q.p, .nin = o->nin, .nout = 1, .in = x, .out = &y, .threads = 1, .message = why};
    *out = 0;
    return z.q.prim->kernel(&call);
}
