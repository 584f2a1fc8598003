/* Equations of complex arrays: a text has them (JAX's), programs have those of their parts (prims/scalar/complex.h).
 *
 * A complex name stands for a pair of values, or for one, [.., 2], that enters or leaves a program; either is made of
 * the other where it is first asked for. */
#include "ir/parse.h"
#include "prims/forms.h"
#include "prims/ids.h"

#include <string.h>

static const tn_i_complex none = {TN_NOVAR, TN_NOVAR};

const tn_type *tn_i_parse_pairs_type(tn_i_parser *p, const tn_type *t) {
    tn_type pairs = *t;
    pairs.dim[pairs.rank++] = 2;
    return tn_i_type(p->ctx, &pairs);
}

/* ---- values ------------------------------------------------------------------------------------- */

bool tn_i_parse_complex_value(tn_i_parser *p, tn_i_scope *s, tn_i_var pairs, tn_i_complex parts, uint32_t *name) {
    if (!tn_i_grow(p->ctx, (void **)&s->z, &s->cz, s->nz + 1, sizeof *s->z)) return false;
    *name = (uint32_t)s->nz | TN_I_COMPLEX_NAME;
    s->z[s->nz++] = (tn_i_complex_value){.pairs = pairs, .parts = parts};
    return true;
}

static tn_i_var pairs_of(tn_i_scope *s, uint32_t z) {
    tn_i_complex_value *v = &s->z[z];
    if (v->pairs == TN_NOVAR) v->pairs = tn_i_complex_join(&s->b, v->parts);
    return v->pairs;
}

static tn_i_complex parts_of(tn_i_scope *s, uint32_t z) {
    tn_i_complex_value *v = &s->z[z];
    if (v->parts.re == TN_NOVAR) v->parts = tn_i_complex_parts(&s->b, v->pairs);
    return v->parts;
}

bool tn_i_parse_parts_are(const tn_i_scope *s, uint32_t z, const tn_type *t) {
    const tn_i_complex_value *v = &s->z[z];
    if (v->parts.re != TN_NOVAR) return tn_i_vtype(&s->b, v->parts.re) == t;
    const tn_type *pairs = tn_i_vtype(&s->b, v->pairs);
    return t && pairs->dtype == t->dtype && pairs->rank == t->rank + 1 &&
           memcmp(pairs->dim, t->dim, (size_t)t->rank * sizeof *t->dim) == 0;
}

/* ---- literals ------------------------------------------------------------------------------------- */

bool tn_i_is_imaginary(const tn_i_token *t) { return t->kind == TN_T_NUMBER && t->n > 1 && t->at[t->n - 1] == 'j'; }

/* Without the j. */
static bool imaginary(tn_i_parser *p, tn_i_token *out) {
    if (!tn_i_is_imaginary(&p->tok)) return tn_i_unexpected(p, "an imaginary part, as in (1.0-2.0j)");
    *out = p->tok;
    out->n--;
    tn_i_next(p);
    return true;
}

bool tn_i_parse_complex_literal(tn_i_parser *p, tn_i_operand *o) {
    tn_type t;
    bool complex = true;
    const tn_i_token zero = {.kind = TN_T_NUMBER, .at = "0", .n = 1, .line = p->tok.line, .col = p->tok.col};
    o->complex = true;
    o->token = o->imaginary = zero;
    if (tn_i_accept(p, "(")) {
        if (!tn_i_is_imaginary(&p->tok)) {
            if (p->tok.kind != TN_T_NUMBER) return tn_i_unexpected(p, "a number");
            o->token = p->tok;
            tn_i_next(p);
        }
        if (!imaginary(p, &o->imaginary) || !tn_i_expect(p, ")")) return false;
    } else if (!imaginary(p, &o->imaginary))
        return false;
    if (!tn_i_accept(p, ":")) return true;
    const tn_i_token at = p->tok;
    if (!tn_i_parse_type(p, &t, &complex)) return false;
    if (t.rank || !complex) return tn_i_parse_fail(p, &at, "a complex literal is c64[] or c128[]");
    o->dtype = t.dtype;
    return true;
}

static tn_i_var part_of_literal(tn_i_parser *p, tn_i_scope *s, const tn_i_token *t, int dtype) {
    char word[TN_I_WORD_TEXT];
    uint64_t bits;
    if (tn_i_parse_bits(t, dtype, &bits)) return tn_i_literal(&s->b, dtype, bits);
    (void)tn_i_parse_fail(p, t, "%s is no value of dtype %s", tn_i_word_text(word, t), tn_i_dtype_name(dtype));
    return TN_NOVAR;
}

/* A real number is one without an imaginary part. */
static tn_i_complex literal(tn_i_parser *p, tn_i_scope *s, const tn_i_operand *o, int dtype) {
    tn_i_complex z;
    z.re = part_of_literal(p, s, &o->token, dtype);
    if (z.re == TN_NOVAR) return none;
    z.im = o->imaginary.n ? part_of_literal(p, s, &o->imaginary, dtype) : tn_i_literal_f64(&s->b, dtype, 0);
    return z;
}

tn_i_var tn_i_parse_complex_operand(tn_i_parser *p, tn_i_scope *s, const tn_i_operand *o) {
    if (o->z != TN_NOVAR) return pairs_of(s, o->z);
    const tn_i_complex z = literal(p, s, o, o->dtype < 0 ? TN_F64 : o->dtype);
    return z.im == TN_NOVAR ? TN_NOVAR : tn_i_complex_join(&s->b, z);
}

/* ---- equations ---------------------------------------------------------------------------------------- */

static bool has_programs(const tn_i_reading *r) {
    for (uint32_t k = 0; k < r->nparam; k++)
        if (r->p[k].kind == TN_K_FN || r->p[k].kind == TN_K_FNS) return true;
    return false;
}

static bool is_complex(const tn_i_operand *o) { return o->z != TN_NOVAR || o->complex; }

/* The parameter of a form that takes pairs, and asks which operands are; else r->nparam. */
static uint32_t asks_for_complex(const tn_i_reading *r) {
    uint32_t k = 0;
    while (k < r->nparam && strcmp(r->prim->params[k].name, TN_I_COMPLEX_OPERANDS) != 0) k++;
    return k;
}

bool tn_i_parse_is_complex(const tn_i_parser *p, const tn_i_reading *r) {
    bool some = false;
    if (has_programs(r) || asks_for_complex(r) < r->nparam) return false;
    if (r->prim && r->prim->id < 0 && r->prim->complex && !r->prim->written) return true;
    for (size_t i = r->operand0; i < p->noperand; i++) some |= is_complex(&p->operand[i]);
    for (size_t j = 0; j < r->nbinder; j++) some |= p->binder[r->binder0 + j].complex;
    return some;
}

/* Where complex operands stand, for forms that ask. */
static bool note_complex(tn_i_parser *p, tn_i_reading *r) {
    const uint32_t k = asks_for_complex(r);
    if (k == r->nparam) return true;
    r->at[k] = p->nints;
    r->p[k] = (tn_i_param){.kind = TN_K_INTS};
    for (size_t i = r->operand0; i < p->noperand; i++) {
        if (!is_complex(&p->operand[i])) continue;
        if (!tn_i_parse_push_int(p, (int64_t)(p->noperand - 1 - i))) return false;
        r->p[k].n++;
    }
    return true;
}

bool tn_i_parse_pair_operands(tn_i_parser *p, tn_i_scope *s, tn_i_reading *r) {
    if (!note_complex(p, r)) return false;
    for (size_t i = r->operand0; i < p->noperand; i++) {
        tn_i_operand *o = &p->operand[i];
        if (is_complex(o) && (o->var = tn_i_parse_complex_operand(p, s, o)) == TN_NOVAR) return false;
        o->z = TN_NOVAR;
    }
    return true;
}

/* What a literal without a dtype has: the parts' of the first complex operand, else of the result. */
static int parts_dtype(const tn_i_parser *p, tn_i_scope *s, const tn_i_reading *r) {
    for (size_t i = r->operand0; i < p->noperand; i++) {
        const tn_i_operand *o = &p->operand[i];
        const tn_i_var re = o->z != TN_NOVAR ? parts_of(s, o->z).re : TN_NOVAR;
        if (re != TN_NOVAR) return tn_i_vtype(&s->b, re)->dtype;
        if (o->complex && o->dtype >= 0) return o->dtype;
    }
    const tn_type *left = r->nbinder ? p->binder[r->binder0].type : NULL;
    return left && tn_i_is_float(left->dtype) ? left->dtype : TN_F64;
}

static tn_i_complex operand(tn_i_parser *p, tn_i_scope *s, const tn_i_reading *r, tn_i_operand *o, int dtype) {
    if (o->z != TN_NOVAR) return parts_of(s, o->z);
    if (o->var != TN_NOVAR) return tn_i_not_complex(o->var);
    const bool number = o->token.kind == TN_T_NUMBER && o->dtype < 0;
    const bool elementwise = !r->prim || r->prim->flags & TN_F_ELEMENTWISE;
    if (o->complex || (elementwise && number)) return literal(p, s, o, o->dtype < 0 ? dtype : o->dtype);
    const bool part = number && r->prim == &tn_i_complex_form;
    return tn_i_not_complex(part ? part_of_literal(p, s, &o->token, dtype) : tn_i_parse_untyped(p, s, o));
}

/* Scalars beside arrays, and dimensions of 1 beside others, in the shape of these. */
static tn_i_complex spread(tn_i_scope *s, tn_i_complex z, const tn_type *shape) {
    z.re = tn_i_parse_spread(s, z.re, shape);
    if (tn_i_is_complex(z)) z.im = tn_i_parse_spread(s, z.im, shape);
    return z;
}

static uint32_t emit(tn_i_parser *p, tn_i_scope *s, tn_i_reading *r, uint32_t nin, tn_i_complex *in,
                     tn_i_complex *out) {
    const int dtype = parts_dtype(p, s, r);
    tn_type shape = {0};
    for (uint32_t i = 0; i < nin; i++) {
        tn_i_operand *o = &p->operand[r->operand0 + i];
        in[i] = operand(p, s, r, o, dtype);
        if (in[i].re == TN_NOVAR) return 0;
        o->var = in[i].re; /* its type counts where parameters follow from it */
        (void)tn_i_parse_widen(&shape, tn_i_vtype(&s->b, in[i].re));
    }
    const bool elementwise = r->prim && (r->prim->flags & TN_F_ELEMENTWISE || r->prim == &tn_i_complex_form);
    for (uint32_t i = 0; i < nin && elementwise; i++)
        if (!tn_i_chooses(r->prim) || i > 0) in[i] = spread(s, in[i], &shape);
    if (!tn_i_complete_params(p, s, r)) return 0;
    if (!r->prim && nin <= TN_I_COMPLEX_RESULTS) {
        for (uint32_t i = 0; i < nin; i++) out[i] = in[i];
        return nin;
    }
    if (!r->prim || r->prim->written_many || nin > TN_I_COMPLEX_RESULTS || r->nbinder > TN_I_COMPLEX_RESULTS) {
        (void)tn_i_parse_fail(p, &r->name, "%s is not defined for complex operands", r->prim ? r->prim->name : "copy");
        return 0;
    }
    return tn_i_complex_emit(&s->b, r->prim, r->p, nin, in, TN_I_COMPLEX_RESULTS, out);
}

uint32_t tn_i_parse_complex_equation(tn_i_parser *p, tn_i_scope *s, tn_i_reading *r, tn_i_complex *out) {
    const size_t nin = p->noperand - r->operand0;
    tn_i_complex *in = tn_i_alloc_array(p->ctx, nin, sizeof *in);
    const uint32_t n = in ? emit(p, s, r, (uint32_t)nin, in, out) : 0;
    tn_i_free(p->ctx, in, nin * sizeof *in);
    return s->b.failed ? 0 : n;
}
