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
    p->closed[p->nclosed++] = (tn_i_closed_text){.f = tn_i_fn_ref(f), .first = first, .n = s->nconstant};
    return true;
}

static const tn_i_closed_text *constants_of(const tn_i_parser *p, const tn_fn *f) {
    for (size_t i = 0; i < p->nclosed; i++)
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

/* Operands for all of them, in front of operand `at`. */
static bool insert(tn_i_parser *p, tn_i_scope *s, const tn_i_reading *r, size_t at, const tn_i_closed_text *all) {
    if (!tn_i_grow(p->ctx, (void **)&p->operand, &p->coperand, p->noperand + all->n, sizeof *p->operand)) return false;
    for (size_t i = p->noperand; i-- > r->operand0 + at;) p->operand[i + all->n] = p->operand[i];
    p->noperand += all->n;
    for (size_t i = 0; i < all->n; i++) {
        tn_i_operand *o = &p->operand[r->operand0 + at + i];
        *o = (tn_i_operand){.token = r->name, .dtype = -1, .z = TN_NOVAR};
        if ((o->var = stand_in(p, s, &p->constant[all->first + i])) == TN_NOVAR) return false;
    }
    return true;
}

static tn_i_param *param(tn_i_reading *r, const char *name) {
    for (uint32_t k = 0; k < r->nparam; k++)
        if (strcmp(r->prim->params[k].name, name) == 0) return &r->p[k];
    return NULL;
}

/* Of a call, and of a scan, where they are constants as well. */
static bool of_program(tn_i_parser *p, tn_i_scope *s, tn_i_reading *r) {
    const tn_i_param *f = param(r, "program");
    tn_i_param *count = param(r, "num_consts");
    const tn_i_closed_text *all = f && f->kind == TN_K_FN ? constants_of(p, f->u.fn) : NULL;
    if (!all || p->noperand - r->operand0 + all->n != f->u.fn->nin) return true;
    if (count) count->u.i += (int64_t)all->n;
    return insert(p, s, r, 0, all);
}

/* Of the condition first, then of the body, each in front of their own. */
static bool of_while(tn_i_parser *p, tn_i_scope *s, tn_i_reading *r) {
    const char *const names[2][2] = {{"cond", "cond_nconsts"}, {"body", "body_nconsts"}};
    const int64_t given = (int64_t)(p->noperand - r->operand0),
                  consts[2] = {param(r, names[0][1])->u.i, param(r, names[1][1])->u.i};
    int64_t at = 0;
    for (int k = 0; k < 2; k++) {
        const tn_i_param *f = param(r, names[k][0]);
        const tn_i_closed_text *all = f->kind == TN_K_FN ? constants_of(p, f->u.fn) : NULL;
        const int64_t n = all ? (int64_t)all->n : 0;
        if (at < 0 || at > (int64_t)(p->noperand - r->operand0)) return true;
        if (n && given - consts[1 - k] + n == (int64_t)f->u.fn->nin) {
            if (!insert(p, s, r, (size_t)at, all)) return false;
            param(r, names[k][1])->u.i += n;
        }
        at = param(r, names[0][1])->u.i;
    }
    return true;
}

/* ---- branches, which all take the constants of all ---- */

/* f, which has constants of its own, of which n are known, and `given` inputs: over those of all. */
static tn_fn *over_all(const tn_i_parser *p, const tn_fn *f, const tn_i_closed_text *own, const tn_i_closed_text *all,
                       size_t n, size_t given) {
    const size_t room = n + given + f->nin + f->nout;
    tn_ctx *c = p->ctx;
    tn_i_var *in = tn_i_alloc_array(c, room, sizeof *in);
    tn_i_builder b;
    if (!in) return NULL;
    tn_i_var *args = in + n + given, *out = args + f->nin;
    const size_t known = f->nin - given;
    tn_i_builder_init(&b, c);
    b.raw = true;
    b.named_after = f;
    b.regions = f->regions;
    for (size_t i = 0; i < n; i++) in[i] = tn_i_input(&b, p->constant[all->first + i].type, false);
    for (size_t i = 0; i < given; i++) in[n + i] = tn_i_input(&b, f->val[known + i].type, false);
    for (size_t i = 0; i < known; i++)
        for (size_t k = 0; k < n; k++)
            if (p->constant[own->first + i].at == p->constant[all->first + k].at) args[i] = in[k];
    for (size_t i = 0; i < given; i++) args[known + i] = in[n + i];
    tn_i_inline(&b, f, args, out);
    tn_fn *g = tn_i_finish(&b, f->nout, out);
    tn_i_free(c, in, room * sizeof *in);
    return g;
}

/* The constants of all branches, each once, as those of one program. */
static bool unite(tn_i_parser *p, const tn_i_param *branches, size_t given, tn_i_closed_text *all) {
    *all = (tn_i_closed_text){.f = NULL, .first = p->nconstant};
    for (uint32_t j = 0; j < branches->n; j++) {
        const tn_fn *f = branches->u.fns[j];
        const tn_i_closed_text *own = constants_of(p, f);
        for (size_t i = 0; own && own->n + given == f->nin && i < own->n; i++) {
            const tn_i_text_constant k = p->constant[own->first + i];
            bool there = false;
            for (size_t m = all->first; m < p->nconstant; m++) there |= p->constant[m].at == k.at;
            if (there) continue;
            if (!tn_i_grow(p->ctx, (void **)&p->constant, &p->cconstant, p->nconstant + 1, sizeof *p->constant))
                return false;
            p->constant[p->nconstant++] = k;
        }
    }
    all->n = p->nconstant - all->first;
    return true;
}

static bool of_branches(tn_i_parser *p, tn_i_scope *s, tn_i_reading *r) {
    tn_i_param *branches = param(r, "branches");
    if (branches->kind != TN_K_FNS || p->noperand == r->operand0) return true;
    const size_t given = p->noperand - r->operand0 - 1;
    tn_i_closed_text all;
    if (!unite(p, branches, given, &all)) return false;
    for (uint32_t j = 0; all.n && j < branches->n; j++) {
        const tn_fn **f = (const tn_fn **)(uintptr_t)&branches->u.fns[j], *old = *f;
        const tn_i_closed_text *own = constants_of(p, old);
        if (old->nin < given || (old->nin > given && (!own || own->n + given != old->nin))) return true; /* as it is */
        if (!(*f = over_all(p, old, own, &all, all.n, given))) {
            *f = old;
            return false;
        }
        tn_i_fn_unref(old);
    }
    return !all.n || insert(p, s, r, 1, &all);
}

bool tn_i_parse_constants(tn_i_parser *p, tn_i_scope *s, tn_i_reading *r) {
    if (!p->nclosed || !r->prim) return true;
    switch (r->prim->id) {
    case TN_P_call:
    case TN_P_checkpoint:
    case TN_P_scan: return of_program(p, s, r);
    case TN_P_while: return of_while(p, s, r);
    case TN_P_cond: return of_branches(p, s, r);
    default: return true;
    }
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
