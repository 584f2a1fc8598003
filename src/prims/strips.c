/* A strip over whole arrays. */
#include "prims/strips.h"

#define MAX_OPERANDS 4

/* The output's dimensions with those merged that every operand walks evenly:
 * dense arrays become one strip.  Dimension 0 is the innermost. */
typedef struct loops {
    int rank;
    int64_t size[TN_MAX_RANK + 1];
    int64_t stride[TN_MAX_RANK + 1][MAX_OPERANDS];
} loops;

static int64_t stride_of(const tn_i_arr *a, int d) { return a->type->rank == 0 ? 0 : a->stride[d]; }

static bool merges(const tn_i_kernel *k, const loops *l, int d) {
    const int last = l->rank - 1;
    if (l->rank == 0) return false;
    for (uint32_t i = 0; i < k->nin; i++)
        if (stride_of(&k->in[i], d) != l->stride[last][i] * l->size[last]) return false;
    return true;
}

static void plan(const tn_i_kernel *k, loops *l) {
    const tn_type *t = k->out[0].type;
    l->rank = 0;
    for (int d = t->rank - 1; d >= 0; d--) {
        if (t->dim[d] == 1) continue;
        if (merges(k, l, d)) {
            l->size[l->rank - 1] *= t->dim[d];
            continue;
        }
        l->size[l->rank] = t->dim[d];
        for (uint32_t i = 0; i < k->nin; i++) l->stride[l->rank][i] = stride_of(&k->in[i], d);
        l->rank++;
    }
    if (l->rank > 0) return;
    l->rank = 1;
    l->size[0] = 1;
    for (uint32_t i = 0; i < k->nin; i++) l->stride[0][i] = 0;
}

static const void *element(const tn_i_arr *a, int64_t at) {
    return (const char *)a->data + at * (int64_t)tn_i_dtype_size(a->type->dtype);
}

/* Steps the outer dimensions; false after the last place. */
static bool step(const tn_i_kernel *k, const loops *l, int64_t *index, int64_t *at) {
    for (int d = 1; d < l->rank; d++) {
        for (uint32_t i = 0; i < k->nin; i++) at[i] += l->stride[d][i];
        if (++index[d] < l->size[d]) return true;
        for (uint32_t i = 0; i < k->nin; i++) at[i] -= l->stride[d][i] * l->size[d];
        index[d] = 0;
    }
    return false;
}

tn_status tn_i_run_strip(const tn_i_kernel *k, tn_i_strip *strip) {
    if (k->nin > MAX_OPERANDS || !strip) return TN_EINVAL;
    if (tn_i_count(k->out[0].type) == 0) return TN_OK;
    loops l;
    plan(k, &l);
    int64_t index[TN_MAX_RANK + 1] = {0}, at[MAX_OPERANDS] = {0};
    char *out = k->out[0].data;
    const size_t bytes = (size_t)l.size[0] * tn_i_dtype_size(k->out[0].type->dtype);
    do {
        const void *in[MAX_OPERANDS] = {0};
        for (uint32_t i = 0; i < k->nin; i++) in[i] = element(&k->in[i], at[i]);
        strip(l.size[0], in, l.stride[0], out, 1);
        out += bytes;
    } while (step(k, &l, index, at));
    return TN_OK;
}

tn_i_strip *tn_i_scalar_body(const tn_i_query *q, const char **body) {
    const tn_prim *prim = q->prim;
    const uint32_t by = (uint32_t)prim->strip_operand;
    *body = NULL;
    if (!(prim->flags & TN_F_ELEMENTWISE) || q->nout != 1 || by >= q->nin) return NULL;
    if (prim->choose) return prim->choose(q, body);
    if (prim->kernel) return NULL;
    *body = prim->c_body[q->in[by]->dtype];
    return prim->strip[q->in[by]->dtype];
}

tn_status tn_i_chosen_kernel(const tn_i_kernel *k) {
    const tn_type *in[MAX_OPERANDS] = {0};
    tn_type out = *k->out[0].type;
    const char *body;
    for (uint32_t i = 0; i < k->nin && i < MAX_OPERANDS; i++) in[i] = k->in[i].type;
    const tn_i_query q = {.prim = k->prim, .p = k->p, .nin = k->nin, .nout = 1, .in = in, .out = &out};
    return tn_i_run_strip(k, k->prim->choose(&q, &body));
}
