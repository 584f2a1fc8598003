/* Constants of programs within.  JAX prints their names, `{ lambda a:f64[4]; b:f64[]. let ..`, but neither their values
 * nor any operand for them.  So they become inputs of the program around, and at last of the main one.
 *
 * A constant is known by the place of its binder: two calls of one program have the same.  While a program is read, one
 * that comes from a program within is an equation that stands for it; then the program is written anew with inputs. */
#include "ir/parse.h"
#include "prims/ids.h"

#include <string.h>

/* ---- which a program has ---- */

bool tn_i_parse_own_constant(tn_i_parser *p, tn_i_scope *s, const tn_i_token *name, tn_i_var v) {
    if (!tn_i_grow(p->ctx, (void **)&s->constant, &s->cconstant, s->nconstant + 1, sizeof *s->constant)) return false;
    s->constant[s->nconstant++] =
        (tn_i_text_constant){.at = name->at, .type = tn_i_vtype(&s->b, v), .var = v, .eqn = TN_NOVAR};
    return true;
}

/* The program has those of the scope, its own first, as its first inputs. */
static bool remember(tn_i_parser *p, const tn_i_scope *s, const tn_fn *f) {
    const size_t first = p->nconstant;
    if (!s->nconstant) return true;
    if (!tn_i_grow(p->ctx, (void **)&p->constant, &p->cconstant, first + s->nconstant, sizeof *p->constant) ||
        !tn_i_grow(p->ctx, (void **)&p->closed, &p->cclosed, p->nclosed + 1, sizeof *p->closed))
        return false;
    for (size_t i = 0; i < s->nconstant; i++) p->constant[p->nconstant++] = s->constant[i];
    p->closed[p->nclosed++] = (tn_i_closed_text){.f = f, .first = first, .n = s->nconstant};
    return true;
}

/* The latest: a program that is gone may have been where f is. */
static const tn_i_closed_text *constants_of(const tn_i_parser *p, const tn_fn *f) {
    for (size_t i = p->nclosed; i-- > 0;)
        if (p->closed[i].f == f) return &p->closed[i];
    return NULL;
}

/* ---- where a program is called ---- */

/* The value that stands for a constant of a program within. */
static tn_i_var stand_in(tn_i_parser *p, tn_i_scope *s, const tn_i_text_constant *k) {
    for (size_t i = 0; i < s->nconstant; i++)
        if (s->constant[i].at == k->at) return s->constant[i].var;
    if (!tn_i_grow(p->ctx, (void **)&s->constant, &s->cconstant, s->nconstant + 1, sizeof *s->constant))
        return TN_NOVAR;
    const tn_i_var zero = tn_i_literal_i64(&s->b, k->type->dtype, 0);
    const tn_i_var v = tn_i_broadcast(&s->b, zero, k->type->rank, k->type->dim, NULL);
    if (v == TN_NOVAR) return v;
    s->constant[s->nconstant++] =
        (tn_i_text_constant){.at = k->at, .type = k->type, .var = v, .eqn = (uint32_t)s->b.neqn - 1};
    return v;
}

static const tn_fn *called(const tn_i_reading *r) {
    const int id = r->prim ? r->prim->id : -1;
    if (id != TN_P_call && id != TN_P_checkpoint && id != TN_P_scan) return NULL;
    for (uint32_t k = 0; k < r->nparam; k++)
        if (r->p[k].kind == TN_K_FN) return r->p[k].u.fn;
    return NULL;
}

/* Operands of a scan are constants in front as well. */
static void count_constants(tn_i_reading *r, size_t n) {
    for (uint32_t k = 0; k < r->nparam && r->prim->id == TN_P_scan; k++)
        if (strcmp(r->prim->params[k].name, "num_consts") == 0) r->p[k].u.i += (int64_t)n;
}

bool tn_i_parse_constants(tn_i_parser *p, tn_i_scope *s, tn_i_reading *r) {
    const tn_fn *f = called(r);
    const tn_i_closed_text *all = f ? constants_of(p, f) : NULL;
    const size_t given = p->noperand - r->operand0;
    if (!all || given + all->n != f->nin) return true;
    if (!tn_i_grow(p->ctx, (void **)&p->operand, &p->coperand, p->noperand + all->n, sizeof *p->operand)) return false;
    tn_i_operand *o = p->operand + r->operand0;
    for (size_t i = given; i-- > 0;) o[i + all->n] = o[i];
    p->noperand += all->n;
    for (size_t i = 0; i < all->n; i++) {
        o[i] = (tn_i_operand){.token = r->name, .dtype = -1, .z = TN_NOVAR};
        if ((o[i].var = stand_in(p, s, &p->constant[all->first + i])) == TN_NOVAR) return false;
    }
    count_constants(r, all->n);
    return true;
}

/* ---- the program with them ---- */

static bool stands_in(const tn_i_scope *s, uint32_t eqn) {
    for (size_t i = 0; i < s->nconstant; i++)
        if (s->constant[i].eqn == eqn) return true;
    return false;
}

static tn_fn *with_inputs(const tn_i_scope *s, const tn_fn *f, tn_i_var *map, tn_i_var *out) {
    tn_i_builder b;
    uint32_t own = 0;
    tn_i_builder_init(&b, f->ctx);
    b.raw = true;
    b.named_after = f;
    b.regions = f->regions;
    b.loc = f->loc;
    for (; own < s->nconstant && s->constant[own].eqn == TN_NOVAR; own++)
        map[own] = tn_i_input(&b, f->val[own].type, false);
    for (size_t i = own; i < s->nconstant; i++)
        map[f->eqn[s->constant[i].eqn].out] = tn_i_input(&b, s->constant[i].type, false);
    for (uint32_t i = own; i < f->nin; i++) map[i] = tn_i_input(&b, f->val[i].type, i >= f->nin - f->nlin);
    for (uint32_t i = 0; i < f->neqn && !b.failed; i++) {
        b.region = f->eqn[i].region;
        if (!stands_in(s, i)) tn_i_copy_eqn(&b, f, &f->eqn[i], map);
    }
    b.loc = f->loc;
    for (uint32_t j = 0; j < f->nout && !b.failed; j++) out[j] = tn_i_mapped(&b, f, map, f->out[j]);
    return tn_i_finish(&b, f->nout, out);
}

bool tn_i_parse_close(tn_i_parser *p, const tn_i_scope *s, const tn_fn **f) {
    const size_t n = s->nconstant;
    if (n && s->constant[n - 1].eqn != TN_NOVAR) { /* its own are inputs already */
        const tn_fn *old = *f;
        tn_i_var *map = tn_i_map_new(old), *out = tn_i_alloc_array(p->ctx, old->nout, sizeof *out);
        *f = map && out ? with_inputs(s, old, map, out) : NULL;
        tn_i_free(p->ctx, out, old->nout * sizeof *out);
        if (map) tn_i_map_free(old, map);
        tn_i_fn_unref(old);
    }
    return *f && remember(p, s, *f);
}
