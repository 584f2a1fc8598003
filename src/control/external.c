/* external_call: opaque user code, with the user's jvp and vjp callbacks.
 *
 * An equation runs one of three callbacks (its `mode`): the function x.. -> y.., its
 * jvp (x.., dx..) -> dy.., or its vjp (x.., ct..) -> ct of x... The jvp is linear in dx
 * with the vjp as its transpose and the other way round; the derivative of a callback in x
 * is that of the external function registered as "NAME.jvp" or "NAME.vjp". */
#include "prims/c_text.h"
#include "prims/arrays/layout.h"
#include "control/external.h"

#include "control/nested.h"
#include "prims/ids.h"
#include "prims/strips.h"

#include "tansy/sparse.h"

#include <stdio.h>
#include <string.h>

typedef struct tn_i_external {
    struct tn_i_external *next;
    tn_external_spec spec;
    const tn_type **in, **out; /* interned */
    /* of spec.sparsity, if given: by row and by column */
    int64_t rows, columns, *ptr, *ind, *tptr, *tind;
} tn_i_external;

/* Operands of a function; a callback has at most 2 * MOST. */
enum { MOST = 128, ROOM = 2 * MOST };

enum { NAME, MODE, OUT, BATCH, EFFECT, LINEAR, BINDING };
enum { FN, JVP, VJP };

static const char *const modes[] = {"fn", "jvp", "vjp", NULL};
static const tn_i_spec specs[] = {{.name = "name", .kind = TN_K_STR},
                                  {.name = "mode", .kind = TN_K_SYM, .symbols = modes},
                                  {.name = "out", .kind = TN_K_TYPES},
                                  {.name = "batch", .kind = TN_K_INTS},
                                  {.name = "effect", .kind = TN_K_BOOL},
                                  {.name = "linear", .kind = TN_K_BOOL},
                                  {.name = "binding", .kind = TN_K_PTR, .otherwise = "none"},
                                  {0}};

/* ---- registration ---------------------------------------------------------------- */

static tn_i_external *find(const tn_ctx *c, const char *name) {
    tn_i_external *x = c->externals;
    while (x && strcmp(x->spec.name, name) != 0) x = x->next;
    return x;
}

static void free_order(tn_ctx *c, int64_t lines, int64_t *ptr, int64_t *ind) {
    if (ind) tn_i_free(c, ind, (size_t)ptr[lines] * sizeof *ind);
    if (ptr) tn_i_free(c, ptr, ((size_t)lines + 1) * sizeof *ptr);
}

static void free_external(tn_ctx *c, tn_i_external *x) {
    free_order(c, x->rows, x->ptr, x->ind);
    free_order(c, x->columns, x->tptr, x->tind);
    if (x->in) tn_i_free(c, (void *)x->in, x->spec.nin * sizeof *x->in);
    if (x->out) tn_i_free(c, (void *)x->out, x->spec.nout * sizeof *x->out);
    tn_i_free(c, x, sizeof *x);
}

static void free_externals(tn_ctx *c) {
    while (c->externals) {
        tn_i_external *x = c->externals;
        c->externals = x->next;
        free_external(c, x);
    }
}

static bool copy_order(tn_ctx *c, const tn_sparsity *s, tn_sparse_format format, int64_t lines, int64_t **ptr,
                       int64_t **ind) {
    tn_sparsity_arrays a = {.size = sizeof a};
    if (tn_sparsity_view(s, format, TN_FULL, &a) != TN_OK) return false;
    if (!(*ptr = tn_i_alloc_array(c, (size_t)lines + 1, sizeof **ptr))) return false;
    if (a.nnz && !(*ind = tn_i_alloc_array(c, (size_t)a.nnz, sizeof **ind))) return false;
    memcpy(*ptr, a.ptr, ((size_t)lines + 1) * sizeof **ptr);
    if (a.nnz) memcpy(*ind, a.ind, (size_t)a.nnz * sizeof **ind);
    return true;
}

/* Elements of those that are floats. */
static int64_t floats(size_t n, const tn_type *const *t) {
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        if (tn_i_is_float(t[i]->dtype)) sum += tn_i_count(t[i]);
    return sum;
}

static bool gives_floats(const tn_i_external *x) {
    for (size_t j = 0; j < x->spec.nout; j++)
        if (tn_i_is_float(x->out[j]->dtype)) return true;
    return false;
}

static tn_status copy_sparsity(tn_ctx *c, const tn_sparsity *s, tn_i_external *x) {
    tn_sparsity_arrays a = {.size = sizeof a};
    if (!s) return TN_OK;
    if (tn_sparsity_view(s, TN_CSR, TN_FULL, &a) != TN_OK) return TN_ENOMEM;
    const int64_t rows = floats(x->spec.nout, x->out), columns = floats(x->spec.nin, x->in);
    if (a.rows != rows || a.columns != columns)
        return tn_i_fail(c, TN_ETYPE, NULL,
                         "external function '%s': its sparsity is of %lld x %lld, but its Jacobian is %lld x %lld",
                         x->spec.name, (long long)a.rows, (long long)a.columns, (long long)rows, (long long)columns);
    x->rows = rows;
    x->columns = columns;
    return copy_order(c, s, TN_CSR, rows, &x->ptr, &x->ind) && copy_order(c, s, TN_CSC, columns, &x->tptr, &x->tind)
               ? TN_OK
               : TN_ENOMEM;
}

static tn_status copy_types(tn_ctx *c, const tn_external_spec *s, bool inputs, size_t n, const tn_type *t,
                            const tn_type **out) {
    char who[TN_I_TYPE_TEXT];
    (void)snprintf(who, sizeof who, "external function '%.200s'", s->name);
    if (!tn_i_given_types(c, NULL, who, inputs ? "input" : "output", n, t)) return c->status;
    for (size_t i = 0; i < n; i++)
        if (!(out[i] = tn_i_type(c, &t[i]))) return TN_ENOMEM;
    return TN_OK;
}

tn_status tn_external_register(tn_ctx *c, const tn_external_spec *given) {
    if (!c) return TN_EINVAL;
    tn_external_spec s = {.size = sizeof s};
    if (!tn_i_options(c, "tn_external_spec", given, &s, sizeof s)) return TN_EINVAL;
    if (!given || !s.name || !s.name[0] || !s.fn || (s.nin && !s.in) || (s.nout && !s.out))
        return tn_i_fail(c, TN_EINVAL, NULL, "tn_external_register: name, fn and the types must be given");
    if (s.nin > MOST || s.nout > MOST)
        return tn_i_fail(c, TN_ELIMIT, NULL, "external function '%s': at most %d inputs and outputs", s.name, MOST);
    if (find(c, s.name)) return tn_i_fail(c, TN_EINVAL, NULL, "external function '%s' is registered already", s.name);
    tn_i_external *x = tn_i_alloc(c, sizeof *x);
    if (!x) return TN_ENOMEM;
    x->spec = s;
    x->spec.in = x->spec.out = NULL;
    x->spec.sparsity = NULL;
    x->in = tn_i_alloc_array(c, s.nin, sizeof *x->in);
    x->out = tn_i_alloc_array(c, s.nout, sizeof *x->out);
    tn_status st = x->in && x->out ? copy_types(c, &s, true, s.nin, s.in, x->in) : TN_ENOMEM;
    if (st == TN_OK) st = copy_types(c, &s, false, s.nout, s.out, x->out);
    if (st == TN_OK) st = copy_sparsity(c, s.sparsity, x);
    if (st == TN_OK && !(x->spec.name = tn_i_string(c, s.name, strlen(s.name)))) st = TN_ENOMEM;
    if (st != TN_OK) {
        free_external(c, x);
        return st;
    }
    x->next = c->externals;
    c->externals = x;
    tn_i_on_teardown(c, free_externals);
    return TN_OK;
}

/* ---- signatures ------------------------------------------------------------------- */

static const tn_i_external *bound(const tn_i_param *p) { return p[BINDING].kind == TN_K_PTR ? p[BINDING].u.ptr : NULL; }

/* Visits the operand or output types of a mode, without batch. */
typedef struct signature {
    const tn_type *in[ROOM], *out[ROOM];
    uint32_t nin, nout;
} signature;

static void put(const tn_type **list, uint32_t *n, const tn_type *const *types, size_t count, bool floats_only) {
    for (size_t i = 0; i < count && *n < ROOM; i++)
        if (!floats_only || tn_i_is_float(types[i]->dtype)) list[(*n)++] = types[i];
}

static void sign(const tn_i_external *x, int mode, signature *s) {
    s->nin = s->nout = 0;
    put(s->in, &s->nin, x->in, x->spec.nin, false);
    if (mode == JVP) put(s->in, &s->nin, x->in, x->spec.nin, true);
    if (mode == VJP) put(s->in, &s->nin, x->out, x->spec.nout, true);
    if (mode == VJP)
        put(s->out, &s->nout, x->in, x->spec.nin, true);
    else
        put(s->out, &s->nout, x->out, x->spec.nout, mode == JVP);
}

/* t is `base` behind the batch dimensions. */
static bool is_batched_type(const tn_type *t, const tn_type *base, uint32_t nbatch, const int64_t *batch) {
    if (t->dtype != base->dtype || t->rank != base->rank + (int)nbatch) return false;
    for (uint32_t i = 0; i < nbatch; i++)
        if (t->dim[i] != batch[i]) return false;
    for (int i = 0; i < base->rank; i++)
        if (t->dim[(uint32_t)i + nbatch] != base->dim[i]) return false;
    return true;
}

static bool type_external(tn_i_query *q) {
    const tn_i_param *p = q->p;
    const tn_i_external *x = bound(p);
    char want[TN_I_TYPE_TEXT];
    if (x) {
        signature s;
        sign(x, (int)p[MODE].u.i, &s);
        if (q->nin != s.nin) return tn_i_type_fail(q, -1, "'%s' takes %u operands", p[NAME].u.str, (unsigned)s.nin);
        for (uint32_t i = 0; i < s.nin; i++)
            if (!is_batched_type(q->in[i], s.in[i], p[BATCH].n, p[BATCH].u.ints))
                return tn_i_type_fail(q, (int)i, "'%s' takes %s here", p[NAME].u.str, tn_i_type_text(want, s.in[i]));
        if (p[OUT].n != s.nout) return tn_i_type_fail(q, -1, "'%s' gives %u outputs", p[NAME].u.str, (unsigned)s.nout);
        for (uint32_t j = 0; j < s.nout; j++)
            if (!is_batched_type(p[OUT].u.types[j], s.out[j], p[BATCH].n, p[BATCH].u.ints))
                return tn_i_type_fail(q, -1, "output %u of '%s' is %s", (unsigned)j, p[NAME].u.str,
                                      tn_i_type_text(want, s.out[j]));
    }
    if (!tn_i_outputs(q, p[OUT].n)) return false;
    for (uint32_t j = 0; j < p[OUT].n; j++) q->out[j] = *p[OUT].u.types[j];
    return true;
}

static bool bind(tn_ctx *c, tn_i_param *p) {
    const tn_i_external *x = p[NAME].kind == TN_K_STR ? find(c, p[NAME].u.str) : NULL;
    p[BINDING] = x ? (tn_i_param){.kind = TN_K_PTR, .u.ptr = x} : (tn_i_param){.kind = TN_K_NONE};
    return true;
}

static bool has_effect(const tn_i_param *p) { return p[EFFECT].u.i != 0; }

static tn_external_fn callback(const tn_i_external *x, int64_t mode) {
    return mode == FN ? x->spec.fn : mode == JVP ? x->spec.jvp : x->spec.vjp;
}

static const char *unrunnable(const tn_i_param *p) {
    const tn_i_external *x = bound(p);
    if (!x) return "no external function of that name is registered";
    if (callback(x, p[MODE].u.i)) return NULL;
    return p[MODE].u.i == JVP ? "it has no jvp callback" : "it has no vjp callback";
}

/* ---- emitting ----------------------------------------------------------------------- */

static tn_i_var emit_types(tn_i_builder *b, const tn_i_external *x, int mode, bool effect, const tn_i_param *batch,
                           uint32_t nout, const tn_type *const *out, uint32_t nin, const tn_i_var *in) {
    const tn_i_param p[7] = {
        [NAME] = {.kind = TN_K_STR, .u.str = x->spec.name},
        [MODE] = {.kind = TN_K_SYM, .u.i = mode},
        [OUT] = {.kind = TN_K_TYPES, .n = nout, .u.types = out},
        [BATCH] = batch ? *batch : (tn_i_param){.kind = TN_K_INTS},
        [EFFECT] = {.kind = TN_K_BOOL, .u.i = effect},
        [LINEAR] = {.kind = TN_K_BOOL, .u.i = x->spec.linear},
        [BINDING] = {.kind = TN_K_PTR, .u.ptr = x},
    };
    return tn_i_emit(b, tn_i_prim(b, TN_P_external_call), p, nin, in);
}

/* The types of a mode with the batch in front, interned into out; false after TN_ENOMEM. */
static bool batched_types(tn_i_builder *b, const tn_i_param *batch, uint32_t n, const tn_type **out) {
    for (uint32_t j = 0; j < n && batch && batch->n; j++) {
        tn_type t = *out[j];
        if (t.rank + (int)batch->n > TN_MAX_RANK) {
            tn_i_builder_fail(b, TN_ELIMIT, "vmap: an operand of external_call would have rank above %d", TN_MAX_RANK);
            return false;
        }
        for (int d = t.rank; d-- > 0;) t.dim[(uint32_t)d + batch->n] = t.dim[d];
        for (uint32_t d = 0; d < batch->n; d++) t.dim[d] = batch->u.ints[d];
        t.rank += (int)batch->n;
        if (!tn_i_type_valid(&t)) {
            tn_i_builder_fail(b, TN_EOVERFLOW, "vmap: the batched size overflows");
            return false;
        }
        if (!(out[j] = tn_i_type(b->ctx, &t))) return false;
    }
    return true;
}

static tn_i_var emit_mode(tn_i_builder *b, const tn_i_external *x, int mode, bool effect, const tn_i_param *batch,
                          uint32_t nin, const tn_i_var *in, uint32_t *nout) {
    signature s;
    sign(x, mode, &s);
    if (nout) *nout = s.nout;
    if (!batched_types(b, batch, s.nout, s.out)) {
        b->failed = true;
        return TN_NOVAR;
    }
    return emit_types(b, x, mode, effect, batch, s.nout, s.out, nin, in);
}

tn_i_var tn_i_external_emit(tn_i_builder *b, const char *name, uint32_t nin, const tn_i_var *in, uint32_t *nout) {
    const tn_i_external *x = find(b->ctx, name);
    *nout = 0;
    if (!x) {
        tn_i_builder_fail(b, TN_ERULE, "external function '%s' is not registered (tn_external_register)", name);
        return TN_NOVAR;
    }
    return emit_mode(b, x, FN, x->spec.effect, NULL, nin, in, nout);
}

/* ---- derivatives ---------------------------------------------------------------------- */

static const tn_i_external *need(tn_i_rule *r) {
    const tn_i_external *x = bound(r->p);
    if (!x)
        tn_i_rule_fail(r, TN_ERULE, -1, "external function '%s' is not registered in this context", r->p[NAME].u.str);
    return x;
}

/* The callback of mode jvp or vjp as an external function of its own, asked for by name. */
static const tn_i_external *callback_named(tn_i_rule *r, const tn_i_external *x) {
    char name[512];
    (void)snprintf(name, sizeof name, "%s.%s", x->spec.name, modes[r->p[MODE].u.i]);
    const tn_i_external *y = find(r->b->ctx, name);
    if (!y || (!y->spec.jvp && !y->spec.vjp)) {
        tn_i_rule_fail(r, TN_ERULE, -1,
                       "the derivative of the %s callback of '%s' is needed: register it as external function '%s' "
                       "with a jvp or vjp",
                       modes[r->p[MODE].u.i], x->spec.name, name);
        return NULL;
    }
    return y;
}

/* dy = jvp callback at (x.., dx..), zeros written out. */
static void emit_jvp(tn_i_rule *r, const tn_i_external *x, const tn_i_var *din, tn_i_var *dout) {
    tn_i_var in[ROOM];
    uint32_t n = 0, k = 0;
    for (uint32_t i = 0; i < r->nin && n < ROOM; i++) in[n++] = r->in[i];
    for (uint32_t i = 0; i < r->nin && n < ROOM; i++)
        if (tn_i_is_float(r->in_type[i]->dtype))
            in[n++] = din[i] != TN_NOVAR ? din[i] : tn_i_zeros(r->b, r->in_type[i]);
    tn_i_var first = emit_mode(r->b, x, JVP, false, &r->p[BATCH], n, in, NULL);
    for (uint32_t j = 0; j < r->nout; j++)
        if (tn_i_is_float(r->out_type[j]->dtype)) dout[j] = first == TN_NOVAR ? first : first + k++;
}

/* A linear function on tangents: integers as they are. */
static void emit_linear(tn_i_rule *r, const tn_i_external *x, const tn_i_var *din, tn_i_var *dout) {
    tn_i_var in[ROOM];
    for (uint32_t i = 0; i < r->nin && i < ROOM; i++) {
        bool is_float = tn_i_is_float(r->in_type[i]->dtype);
        in[i] = !is_float ? r->in[i] : din[i] != TN_NOVAR ? din[i] : tn_i_zeros(r->b, r->in_type[i]);
    }
    tn_i_var first = emit_mode(r->b, x, FN, false, &r->p[BATCH], r->nin, in, NULL);
    for (uint32_t j = 0; j < r->nout; j++) dout[j] = first == TN_NOVAR ? first : first + j;
}

/* Modes jvp and vjp are linear in what follows the nx operands of the function. */
static void jvp_of_callback(tn_i_rule *r, const tn_i_external *x, const tn_i_var *din, tn_i_var *dout) {
    uint32_t nx = (uint32_t)x->spec.nin;
    bool in_x = false, in_tail = false;
    for (uint32_t i = 0; i < r->nin; i++) *(i < nx ? &in_x : &in_tail) |= din[i] != TN_NOVAR;
    if (in_x) {
        const tn_i_external *y = callback_named(r, x);
        if (y) emit_jvp(r, y, din, dout);
        return;
    }
    tn_i_var in[ROOM];
    for (uint32_t i = 0; i < r->nin && i < ROOM; i++)
        in[i] = i < nx ? r->in[i] : din[i] != TN_NOVAR ? din[i] : tn_i_zeros(r->b, r->in_type[i]);
    tn_i_var first = tn_i_emit_like(r->b, r->e, in);
    for (uint32_t j = 0; j < r->nout; j++) dout[j] = first == TN_NOVAR ? first : first + j;
}

static void jvp_external(tn_i_rule *r, const tn_i_var *din, tn_i_var *dout) {
    const tn_i_external *x = need(r);
    if (!x) return;
    if (r->p[MODE].u.i != FN)
        jvp_of_callback(r, x, din, dout);
    else if (x->spec.linear)
        emit_linear(r, x, din, dout);
    else if (x->spec.jvp || x->spec.vjp)
        emit_jvp(r, x, din, dout);
    else if (gives_floats(x))
        tn_i_rule_fail(r, TN_ERULE, -1, "external function '%s' has neither a jvp nor a vjp callback", x->spec.name);
}

/* The operand the linear part begins with, and which of the operands are linear. */
static bool linear_operand(const tn_i_external *x, const tn_i_param *p, uint32_t i, const tn_type *t) {
    if (p[MODE].u.i == FN) return x && x->spec.linear && tn_i_is_float(t->dtype);
    return x && i >= x->spec.nin;
}

static bool linearity(const tn_fn *f, const tn_i_eqn *e, const uint8_t *in, uint8_t *out) {
    const tn_i_param *p = e->params->v;
    const tn_i_external *x = bound(p);
    bool some = false, zero = true, any = false;
    for (uint32_t i = 0; i < e->nin; i++) some |= in[i] == TN_LINEAR;
    for (uint32_t i = 0; i < e->nin; i++) {
        bool member = linear_operand(x, p, i, f->val[tn_i_in(f, e)[i]].type);
        any |= member;
        if (member) zero &= in[i] == TN_ZERO;
        if (!some || (member ? in[i] != TN_NONLINEAR : in[i] != TN_LINEAR)) continue;
        (void)tn_i_fail(f->ctx, TN_ELINEAR, e->loc,
                        member ? "external_call '%s': operand %u does not depend on a linear input, but others do"
                               : "external_call '%s' is not linear in operand %u",
                        p[NAME].u.str, (unsigned)i);
        return false;
    }
    for (uint32_t j = 0; j < e->nout; j++) out[j] = some ? TN_LINEAR : any && zero ? TN_ZERO : TN_NONLINEAR;
    return true;
}

/* The transpose of a linear function's vjp is the function, whatever the point. */
static void transpose_linear_vjp(tn_i_rule *r, const tn_i_external *x, const tn_i_var *ct, tn_i_var *ct_in) {
    tn_i_var in[ROOM];
    uint32_t nx = (uint32_t)x->spec.nin, at = nx;
    for (uint32_t i = 0, j = 0; i < nx; i++) {
        in[i] = r->in[i];
        if (!tn_i_is_float(r->in_type[i]->dtype)) continue;
        in[i] = ct[j] != TN_NOVAR ? ct[j] : tn_i_zeros(r->b, r->out_type[j]);
        j++;
    }
    tn_i_var first = emit_mode(r->b, x, FN, false, &r->p[BATCH], nx, in, NULL);
    for (uint32_t k = 0; k < x->spec.nout && first != TN_NOVAR; k++)
        if (tn_i_is_float(x->out[k]->dtype)) ct_in[at++] = first + k;
}

static void transpose_external(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    const tn_i_external *x = need(r);
    if (!x) return;
    int mode = (int)r->p[MODE].u.i, back = mode == VJP ? JVP : VJP;
    if (mode == VJP && x->spec.linear) {
        transpose_linear_vjp(r, x, ct, ct_in);
        return;
    }
    if (back == VJP && !x->spec.vjp) {
        tn_i_rule_fail(r, TN_ERULE, -1, "external function '%s' has no vjp callback", x->spec.name);
        return;
    }
    tn_i_var in[ROOM];
    uint32_t n = 0, k = 0, nx = (uint32_t)x->spec.nin;
    for (uint32_t i = 0; i < nx && n < ROOM; i++)
        in[n++] = r->in[i] != TN_NOVAR ? r->in[i] : tn_i_zeros(r->b, r->in_type[i]);
    for (uint32_t j = 0; j < r->nout && n < ROOM; j++)
        if (tn_i_is_float(r->out_type[j]->dtype))
            in[n++] = ct[j] != TN_NOVAR ? ct[j] : tn_i_zeros(r->b, r->out_type[j]);
    tn_i_var first = emit_mode(r->b, x, back, false, &r->p[BATCH], n, in, NULL);
    for (uint32_t i = 0; i < r->nin && first != TN_NOVAR; i++)
        if (linear_operand(x, r->p, i, r->in_type[i])) ct_in[i] = first + k++;
}

static void batch_external(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    const tn_i_external *x = need(r);
    if (!x) return;
    tn_i_var in[ROOM];
    int64_t dims[TN_MAX_RANK + 1] = {r->batch};
    tn_i_param batch = {.kind = TN_K_INTS, .n = r->p[BATCH].n + 1, .u.ints = dims};
    if (r->p[BATCH].n) memcpy(dims + 1, r->p[BATCH].u.ints, r->p[BATCH].n * sizeof *dims);
    for (uint32_t i = 0; i < r->nin && i < ROOM; i++)
        in[i] = batched[i] ? r->in[i] : tn_i_batched(r->b, r->in[i], r->batch);
    if (r->b->failed) return;
    tn_i_var first = emit_mode(r->b, x, (int)r->p[MODE].u.i, has_effect(r->p), &batch, r->nin, in, NULL);
    for (uint32_t j = 0; j < r->nout; j++) {
        out[j] = first == TN_NOVAR ? first : first + j;
        out_batched[j] = true;
    }
}

/* ---- running ------------------------------------------------------------------------------ */

static size_t padded(size_t n) { return (n + 63) & ~(size_t)63; }

static size_t scratch_external(const tn_i_query *q) {
    size_t total = 0;
    for (uint32_t i = 0; i < q->nin; i++) {
        size_t n = tn_type_bytes(q->in[i]);
        if (n > SIZE_MAX - 64 || !tn_i_add(total, padded(n), &total)) return SIZE_MAX;
    }
    return total;
}

static bool dense(const tn_i_arr *a) {
    int64_t want = 1;
    for (int d = a->type->rank; d-- > 0;) {
        if (a->type->dim[d] > 1 && a->stride[d] != want) return false;
        want *= a->type->dim[d];
    }
    return true;
}

static void pack(const tn_i_arr *a, char *to) {
    const tn_type *t = a->type;
    size_t size = tn_i_dtype_size(t->dtype);
    int64_t n = tn_i_count(t), at[TN_MAX_RANK] = {0}, offset = 0;
    for (int64_t k = 0; k < n; k++) {
        memcpy(to + (size_t)k * size, (const char *)a->data + offset * (int64_t)size, size);
        for (int d = t->rank; d-- > 0;) {
            offset += a->stride[d];
            if (++at[d] < t->dim[d]) break;
            offset -= at[d] * a->stride[d];
            at[d] = 0;
        }
    }
}

static tn_status run_external(const tn_i_kernel *k) {
    const tn_i_external *x = bound(k->p);
    const char *why = unrunnable(k->p);
    if (why) {
        (void)snprintf(k->message, 256, "'%s' (%s): %s", k->p[NAME].u.str, modes[k->p[MODE].u.i], why);
        return TN_ECALLBACK;
    }
    const void *in[ROOM];
    void *out[ROOM];
    size_t in_step[ROOM], out_step[ROOM];
    int64_t elements = 1;
    for (uint32_t d = 0; d < k->p[BATCH].n; d++) elements *= k->p[BATCH].u.ints[d];
    if (elements == 0) return TN_OK;
    char *at = k->scratch;
    for (uint32_t i = 0; i < k->nin && i < ROOM; i++) {
        size_t bytes = tn_type_bytes(k->in[i].type);
        in[i] = k->in[i].data;
        in_step[i] = bytes / (size_t)elements;
        if (dense(&k->in[i])) continue;
        pack(&k->in[i], at);
        in[i] = at;
        at += padded(bytes);
    }
    for (uint32_t j = 0; j < k->nout && j < ROOM; j++) {
        out[j] = k->out[j].data;
        out_step[j] = tn_type_bytes(k->out[j].type) / (size_t)elements;
    }
    for (int64_t element = 0; element < elements; element++) {
        int status = callback(x, k->p[MODE].u.i)(x->spec.user, in, out);
        if (status) {
            (void)snprintf(k->message, 256, "'%s' (%s) returned %d", k->p[NAME].u.str, modes[k->p[MODE].u.i], status);
            return TN_ECALLBACK;
        }
        for (uint32_t i = 0; i < k->nin && i < ROOM; i++) in[i] = (const char *)in[i] + in_step[i];
        for (uint32_t j = 0; j < k->nout && j < ROOM; j++) out[j] = (char *)out[j] + out_step[j];
    }
    return TN_OK;
}

/* Opaque: counted by what it reads and writes. */
static void cost_external(const tn_i_query *q, tn_i_cost *cost) {
    *cost = (tn_i_cost){.equations = 1};
    for (uint32_t i = 0; i < q->nin; i++) cost->bytes += (double)tn_type_bytes(q->in[i]);
    for (uint32_t j = 0; j < q->nout; j++) cost->bytes += (double)tn_type_bytes(&q->out[j]);
    cost->flops = cost->bytes / 8;
}

/* ---- a case for the tests: y = x*x elementwise, with both callbacks ------------------------- */

#define SAMPLE(T, suffix)                                                                           \
    static int square_##suffix(void *user, const void *const *in, void *const *out) {               \
        const T *x = in[0];                                                                         \
        T *y = out[0];                                                                              \
        (void)user;                                                                                 \
        for (int i = 0; i < 3; i++) y[i] = x[i] * x[i];                                             \
        return 0;                                                                                   \
    }                                                                                               \
    static int slope_##suffix(void *user, const void *const *in, void *const *out) {                \
        const T *x = in[0], *d = in[1];                                                             \
        T *y = out[0];                                                                              \
        (void)user;                                                                                 \
        for (int i = 0; i < 3; i++) y[i] = (T)2 * x[i] * d[i];                                      \
        return 0;                                                                                   \
    }                                                                                               \
    /* the jvp (vjp) callback itself: 2 x d; its jvp: 2 (dx d + x dd); its vjp: (2 ct d, 2 ct x) */ \
    static int slope_jvp_##suffix(void *user, const void *const *in, void *const *out) {            \
        const T *x = in[0], *d = in[1], *dx = in[2], *dd = in[3];                                   \
        T *y = out[0];                                                                              \
        (void)user;                                                                                 \
        for (int i = 0; i < 3; i++) y[i] = (T)2 * (dx[i] * d[i] + x[i] * dd[i]);                    \
        return 0;                                                                                   \
    }                                                                                               \
    static int slope_vjp_##suffix(void *user, const void *const *in, void *const *out) {            \
        const T *x = in[0], *d = in[1], *ct = in[2];                                                \
        T *cx = out[0], *cd = out[1];                                                               \
        (void)user;                                                                                 \
        for (int i = 0; i < 3; i++) cx[i] = (T)2 * ct[i] * d[i], cd[i] = (T)2 * ct[i] * x[i];       \
        return 0;                                                                                   \
    }
SAMPLE(float, f32)
SAMPLE(double, f64)

static bool register_sample(tn_ctx *c, int dtype, const char *name, size_t nin, tn_external_fn fn, tn_external_fn jvp,
                            tn_external_fn vjp) {
    const int64_t dims[1] = {3};
    const tn_type t = tn_type_of((tn_dtype)dtype, 1, dims), in[2] = {t, t};
    const tn_external_spec s = {
        .size = sizeof s, .name = name, .nin = nin, .nout = 1, .in = in, .out = &t, .fn = fn, .jvp = jvp, .vjp = vjp};
    return find(c, name) || tn_external_register(c, &s) == TN_OK;
}

static bool sample_external(tn_i_rng *g, int dtype, tn_i_case *c) {
    (void)g;
    bool f32 = dtype == TN_F32;
    const char *name = f32 ? "sample_f32" : "sample_f64";
    tn_external_fn slope = f32 ? slope_f32 : slope_f64, sj = f32 ? slope_jvp_f32 : slope_jvp_f64,
                   sv = f32 ? slope_vjp_f32 : slope_vjp_f64;
    if (!register_sample(c->ctx, dtype, name, 1, f32 ? square_f32 : square_f64, slope, slope) ||
        !register_sample(c->ctx, dtype, f32 ? "sample_f32.jvp" : "sample_f64.jvp", 2, slope, sj, sv) ||
        !register_sample(c->ctx, dtype, f32 ? "sample_f32.vjp" : "sample_f64.vjp", 2, slope, sj, sv))
        return false;
    const tn_i_external *x = find(c->ctx, name);
    c->nin = 1;
    c->in[0] = *x->in[0];
    c->p[NAME] = (tn_i_param){.kind = TN_K_STR, .u.str = x->spec.name};
    c->p[MODE] = (tn_i_param){.kind = TN_K_SYM, .u.i = FN};
    c->p[OUT] = (tn_i_param){.kind = TN_K_TYPES, .n = 1, .u.types = x->out};
    c->p[BATCH] = (tn_i_param){.kind = TN_K_INTS};
    c->p[EFFECT] = c->p[LINEAR] = (tn_i_param){.kind = TN_K_BOOL};
    c->p[BINDING] = (tn_i_param){.kind = TN_K_PTR, .u.ptr = x};
    return true;
}

/* The function's name in C, with the mode: `cube.jvp` is cube_jvp, as the jvp callback of `cube` is. */
static bool c_name_of(const tn_i_c_kernel *k, char name[128]) {
    const char *s = k->p[NAME].u.str;
    const bool whole = snprintf(name, 128, "%s%s%s", s, k->p[MODE].u.i == FN ? "" : "_",
                                k->p[MODE].u.i == FN ? "" : modes[k->p[MODE].u.i]) < 128;
    for (char *c = name; *c; c++)
        if (*c == '.') *c = '_';
    return whole && !tn_i_c_refuses(name);
}

/* A function of the callback's name, without `user`. */
static void c_external(const tn_i_c_kernel *k) {
    char name[128];
    long long elements = 1;
    size_t at = 0;
    if (!c_name_of(k, name)) {
        *k->why = "the name of the function is none that a C program may define";
        return;
    }
    for (uint32_t d = 0; d < k->p[BATCH].n; d++) elements *= k->p[BATCH].u.ints[d];
    tn_i_text_put(k->outside, "extern int %s(const void *const *in, void *const *out);\n", name);
    if (elements == 0) return;
    for (uint32_t i = 0; i < k->nin; i++) {
        const tn_type *t = k->in[i].type;
        if (dense(&k->in[i])) continue;
        tn_i_arr copy = {.type = t};
        tn_i_dense_strides(t, copy.stride);
        tn_i_text_put(k->t, "%s *const copy%u = (%s *)(void *)(scratch + %zu);\n", tn_i_c_name(t->dtype), (unsigned)i,
                      tn_i_c_name(t->dtype), at);
        at += padded(tn_type_bytes(t));
        tn_i_c_open_arr(k->t, "i", t);
        tn_i_text_put(k->t, "copy%u[", (unsigned)i);
        tn_i_c_at_arr(k->t, "i", &copy);
        tn_i_text_put(k->t, "] = in%u[", (unsigned)i);
        tn_i_c_at_arr(k->t, "i", &k->in[i]);
        tn_i_text_put(k->t, "];\n");
        tn_i_c_close(k->t, t->rank, t->dim);
    }
    tn_i_text_put(k->t, "for (int64_t element = 0; element < %lld; element++) {\nconst void *const from[] = {",
                  elements);
    for (uint32_t i = 0; i < k->nin; i++)
        tn_i_text_put(k->t, "%s%u + element * %lld, ", dense(&k->in[i]) ? "in" : "copy", (unsigned)i,
                      (long long)tn_i_count(k->in[i].type) / elements);
    tn_i_text_put(k->t, "0};\nvoid *const to[] = {");
    for (uint32_t j = 0; j < k->nout; j++)
        tn_i_text_put(k->t, "out%u + element * %lld, ", (unsigned)j, (long long)tn_i_count(k->out[j].type) / elements);
    tn_i_text_put(k->t, "0};\nif (%s(from, to)) return 2;\n}\n", name);
}

/* The user's pattern, of the jvp, or of the vjp transposed. */
static bool entries_external(const tn_i_query *q, tn_i_entries *e) {
    const tn_i_external *x = bound(q->p);
    const int64_t mode = q->p[MODE].u.i;
    if (!x || !x->ptr || (mode == FN && !x->spec.linear)) return false;
    *e = (tn_i_entries){.first = mode == FN ? 0 : (uint32_t)x->spec.nin,
                        .batch = 1,
                        .ptr = mode == VJP ? x->tptr : x->ptr,
                        .ind = mode == VJP ? x->tind : x->ind};
    for (uint32_t i = 0; i < q->p[BATCH].n; i++) e->batch *= q->p[BATCH].u.ints[i];
    return true;
}

const tn_prim tn_prim_external_call = {
    .id = TN_P_external_call,
    .name = "external_call",
    .doc = "the user's C function, with the user's jvp and vjp",
    .nin = -1,
    .flags = TN_F_COSTLY | TN_F_RULES | TN_F_STORED,
    .dtypes = TN_WIDE_FLOATS,
    .params = specs,
    .type = type_external,
    .linearity = linearity,
    .jvp = jvp_external,
    .transpose = transpose_external,
    .batch = batch_external,
    .kernel = run_external,
    .c_kernel = c_external,
    .scratch = scratch_external,
    .bind = bind,
    .unrunnable = unrunnable,
    .entries = entries_external,
    .effect = has_effect,
    .cost = cost_external,
    .jvp_bound = 6,
    .transpose_bound = 4,
    .sample = sample_external,
};
