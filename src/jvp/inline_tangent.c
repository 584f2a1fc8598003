/* A custom rule's linear program, emitted where some tangents are symbolic zeros. */
#include "jvp/jvp.h"

#include "prims/prim.h"

typedef struct state {
    tn_i_builder *b;
    const tn_fn *f;
    tn_i_var *map;
    uint8_t *linear; /* depends on a linear input of f (which may be a symbolic zero here) */
} state;

/* A linear equation of symbolic zeros only is a symbolic zero; among others zeros are written out. */
static void emit(state *s, const tn_i_eqn *e) {
    const tn_i_var *in = tn_i_in(s->f, e);
    bool linear = false, some = false;
    for (uint32_t i = 0; i < e->nin; i++) {
        linear |= s->linear[in[i]] != 0;
        some |= s->linear[in[i]] && s->map[in[i]] != TN_NOVAR;
    }
    for (uint32_t j = 0; j < e->nout; j++) s->linear[e->out + j] = linear;
    if (linear && !some) return;
    s->b->loc = e->loc;
    for (uint32_t i = 0; i < e->nin; i++)
        if (s->linear[in[i]] && s->map[in[i]] == TN_NOVAR) s->map[in[i]] = tn_i_zeros(s->b, s->f->val[in[i]].type);
    tn_i_copy_eqn(s->b, s->f, e, s->map);
}

void tn_i_inline_tangent(tn_i_builder *b, const tn_fn *f, const tn_i_var *args, tn_i_var *outs) {
    for (uint32_t j = 0; j < f->nout; j++) outs[j] = TN_NOVAR;
    if (b->failed) return;
    state s = {.b = b, .f = f, .map = tn_i_map_new(f), .linear = tn_i_alloc(f->ctx, f->nval)};
    const tn_i_loc *loc = b->loc;
    uint32_t region = b->region, base = b->regions - 1;
    if (!s.map || !s.linear) b->failed = true;
    for (uint32_t i = 0; i < f->nin && !b->failed; i++) {
        s.map[i] = args[i];
        s.linear[i] = i >= f->nin - f->nlin;
    }
    for (uint32_t i = 0; i < f->neqn && !b->failed; i++) {
        b->region = f->eqn[i].region ? base + f->eqn[i].region : region;
        emit(&s, &f->eqn[i]);
    }
    for (uint32_t j = 0; j < f->nout && !b->failed; j++) {
        tn_i_var v = f->out[j];
        outs[j] = s.linear[v] || f->val[v].zero ? s.map[v] : tn_i_mapped(b, f, s.map, v);
    }
    b->region = region;
    b->loc = loc;
    if (s.map) tn_i_map_free(f, s.map);
    tn_i_free(f->ctx, s.linear, f->nval);
}
