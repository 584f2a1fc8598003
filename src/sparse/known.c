/* Values that depend on nothing that may change. */
#include "prims/arrays/layout.h"
#include "prims/strips.h"
#include "sparse/walk.h"

#include <string.h>

tn_i_shared *tn_i_shared_new(tn_ctx *c, size_t bytes) {
    size_t all;
    if (!tn_i_add(bytes, sizeof(tn_i_shared), &all)) return (void)tn_i_alloc_array(c, SIZE_MAX, 2), NULL;
    tn_i_shared *b = tn_i_alloc_raw(c, all);
    if (b) *b = (tn_i_shared){.refs = 1, .bytes = all};
    return b;
}

tn_i_shared *tn_i_shared_ref(tn_i_shared *b) {
    if (b) b->refs++;
    return b;
}

void tn_i_shared_unref(tn_ctx *c, tn_i_shared *b) {
    if (!b || --b->refs) return;
    if (b->next) {
        b->next->prev = b->prev;
        b->prev->next = b->next;
    }
    tn_i_free(c, b, b->bytes);
}

void tn_i_spread_val_free(tn_ctx *c, tn_i_spread_val *v) {
    tn_i_shared_unref(c, v->rows);
    tn_i_shared_unref(c, v->known);
    *v = (tn_i_spread_val){0};
}

tn_i_spread_val tn_i_spread_val_ref(const tn_i_spread_val *v) {
    return (tn_i_spread_val){.rows = tn_i_shared_ref(v->rows), .known = tn_i_shared_ref(v->known), .local = v->local};
}

tn_i_arr tn_i_dense_arr(const tn_type *t, void *data) {
    tn_i_arr a = {.type = t, .data = data};
    tn_i_dense_strides(t, a.stride);
    return a;
}

bool tn_i_run_kernel(tn_ctx *c, const tn_prim *prim, const tn_i_param *p, uint32_t nin, const tn_i_arr *in,
                     uint32_t nout, tn_i_arr *out, bool *done) {
    char message[256];
    tn_i_kernel k = {
        .prim = prim, .p = p, .nin = nin, .nout = nout, .in = in, .out = out, .threads = 1, .message = message};
    size_t scratch = 0;
    *done = false;
    for (uint32_t i = 0; i < nin; i++)
        if (tn_i_is_held(in[i].type->dtype)) return true; /* what is computed as another dtype has no kernel */
    for (uint32_t j = 0; j < nout; j++)
        if (tn_i_is_held(out[j].type->dtype)) return true;
    if (prim->scratch) {
        const tn_type **types = tn_i_alloc_array(c, (size_t)nin + 1, sizeof *types);
        tn_type *results = tn_i_alloc_array(c, (size_t)nout + 1, sizeof *results);
        for (uint32_t i = 0; types && i < nin; i++) types[i] = in[i].type;
        for (uint32_t j = 0; results && j < nout; j++) results[j] = *out[j].type;
        const tn_i_query q = {.ctx = c, .prim = prim, .p = p, .nin = nin, .nout = nout, .in = types, .out = results};
        const bool ok = types && results;
        if (ok) scratch = prim->scratch(&q);
        tn_i_free(c, types, ((size_t)nin + 1) * sizeof *types);
        tn_i_free(c, results, ((size_t)nout + 1) * sizeof *results);
        if (!ok) return false;
        if (scratch > TN_KNOWN_BYTES) return true;
    }
    char *room = scratch ? tn_i_alloc_raw(c, scratch + 64) : NULL;
    if (scratch && !room) return false;
    if (room) k.scratch = room + (64 - (uintptr_t)room % 64) % 64;
    *done = prim->kernel ? prim->kernel(&k) == TN_OK
                         : tn_i_run_strip(&k, prim->strip[in[prim->strip_operand].type->dtype]) == TN_OK;
    if (room) tn_i_free(c, room, scratch + 64);
    return true;
}

static bool computable(const tn_i_spread_eqn *q) {
    const tn_prim *p = q->e->prim;
    if ((p->flags & (TN_F_RULES | TN_F_LOOP)) || (p->effect && p->effect(tn_i_p(q->e))) || p->body) return false;
    if (!p->kernel && !((p->flags & TN_F_ELEMENTWISE) && q->e->nout == 1)) return false;
    if (p->unrunnable && p->unrunnable(tn_i_p(q->e))) return false;
    for (uint32_t j = 0; j < q->e->nout; j++) {
        const tn_type *t = tn_i_spread_out(q, j);
        if (tn_i_has_steps(t) || tn_type_bytes(t) > TN_KNOWN_BYTES) return false;
    }
    for (uint32_t i = 0; i < q->e->nin; i++)
        if (tn_i_has_steps(q->in_type[i])) return false;
    return true;
}

bool tn_i_know(tn_i_spread_eqn *q) {
    const tn_i_eqn *e = q->e;
    tn_ctx *c = q->w->ctx;
    bool local = false, done = false, ok = true;
    for (uint32_t i = 0; i < e->nin; i++) {
        if (!q->in[i].known) return true;
        local |= q->in[i].local;
    }
    if (e->nout == 0 || !computable(q)) return true;
    tn_i_arr *in = tn_i_alloc_array(c, (size_t)e->nin + e->nout, sizeof *in), *out = in ? in + e->nin : NULL;
    if (!in) return false;
    for (uint32_t i = 0; i < e->nin; i++) in[i] = tn_i_dense_arr(q->in_type[i], tn_i_shared_data(q->in[i].known));
    for (uint32_t j = 0; j < e->nout && ok; j++) {
        const tn_type *t = tn_i_spread_out(q, j);
        q->out[j].known = tn_i_shared_new(c, tn_type_bytes(t));
        q->out[j].local = local;
        ok = q->out[j].known != NULL;
        if (ok) out[j] = tn_i_dense_arr(t, tn_i_shared_data(q->out[j].known));
    }
    ok = ok && tn_i_run_kernel(c, e->prim, tn_i_p(e), e->nin, in, e->nout, out, &done);
    for (uint32_t j = 0; j < e->nout && !done; j++) tn_i_spread_val_free(c, &q->out[j]);
    tn_i_free(c, in, ((size_t)e->nin + e->nout) * sizeof *in);
    return ok;
}
