/* Which outputs of a program depend on some of its inputs, through nested programs too. */
#include "ir/depends.h"

#include "prims/prim.h"

#include <string.h>

static const char kind;

static bool through_equation(tn_i_memo *m, const tn_fn *f, const tn_i_eqn *e, uint8_t *value, uint8_t *operand) {
    uint8_t any = 0;
    for (uint32_t i = 0; i < e->nin; i++) any |= operand[i] = value[tn_i_in(f, e)[i]];
    memset(value + e->out, any, e->nout);
    return !any || tn_i_depends(m, e, operand, value + e->out);
}

static const tn_i_memo_entry *through_program(tn_i_memo *m, const tn_fn *f, const uint8_t *in) {
    tn_ctx *c = m->ctx;
    uint32_t most = 1;
    for (uint32_t i = 0; i < f->neqn; i++) most = f->eqn[i].nin > most ? f->eqn[i].nin : most;
    uint8_t *value = tn_i_alloc(c, f->nval), *operand = tn_i_alloc(c, most), *out = tn_i_alloc(c, f->nout);
    bool ok = value && operand && out;
    if (ok) memcpy(value, in, f->nin);
    for (uint32_t i = 0; i < f->neqn && ok; i++) ok = through_equation(m, f, &f->eqn[i], value, operand);
    for (uint32_t j = 0; j < f->nout && ok; j++) out[j] = value[f->out[j]];
    const tn_i_memo_entry *e = ok ? tn_i_memo_add(m, &kind, f, in, f->nin, NULL, NULL, out, f->nout) : NULL;
    tn_i_free(c, value, f->nval);
    tn_i_free(c, operand, most);
    tn_i_free(c, out, f->nout);
    return e;
}

bool tn_i_depends_through(tn_i_memo *m, const tn_fn *f, const uint8_t *in, uint8_t *out) {
    const tn_i_memo_entry *known = tn_i_memo_find(m, &kind, f, in, f->nin);
    if (!known) known = through_program(m, f, in);
    if (known && f->nout) memcpy(out, known->flags, f->nout);
    return known != NULL;
}

bool tn_i_depends(tn_i_memo *m, const tn_i_eqn *e, const uint8_t *in, uint8_t *out) {
    if (e->prim->depends) return e->prim->depends(m, e, in, out);
    if (!e->prim->split || !e->prim->body) {
        uint8_t any = 0;
        for (uint32_t i = 0; i < e->nin; i++) any |= in[i];
        memset(out, any, e->nout);
        return true;
    }
    return tn_i_depends_through(m, e->params->v[e->prim->body - 1].u.fn, in, out);
}
