/* Operands: names, and literals, whose dtype and shape may follow from the others. */
#include "prims/linear/lineax_text.h"
#include "ir/parse.h"
#include "prims/forms.h"
#include "prims/ids.h"

static bool is_literal(const tn_i_token *t) {
    return t->kind == TN_T_NUMBER || tn_i_token_is(t, "True") || tn_i_token_is(t, "False");
}

/* After a number or truth value: its type, when written. */
static bool literal_type(tn_i_parser *p, tn_i_operand *o) {
    const tn_i_token at = p->tok;
    char word[TN_I_WORD_TEXT];
    uint64_t bits;
    tn_type t;
    if (!tn_i_accept(p, ":")) return true;
    if (!tn_i_parse_type(p, &t, &o->complex)) return false;
    if (t.rank) return tn_i_parse_fail(p, &at, "a literal has rank 0; write an array as constant[value=..]");
    o->dtype = t.dtype;
    if (!tn_i_parse_bits(&o->token, t.dtype, &bits))
        return tn_i_parse_fail(p, &o->token, "%s is no value of dtype %s", tn_i_word_text(word, &o->token),
                               tn_i_dtype_name(t.dtype));
    return true;
}

bool tn_i_parse_operand(tn_i_parser *p, const tn_i_scope *s, tn_i_operand *o) {
    char word[TN_I_WORD_TEXT];
    *o = (tn_i_operand){.token = p->tok, .var = TN_NOVAR, .dtype = -1, .z = TN_NOVAR};
    if (tn_i_token_is(&p->tok, "(") || tn_i_is_imaginary(&p->tok)) return tn_i_parse_complex_literal(p, o);
    if (is_literal(&p->tok)) {
        tn_i_next(p);
        return literal_type(p, o);
    }
    if (p->tok.kind != TN_T_NAME || tn_i_token_reserved(&p->tok)) return tn_i_unexpected(p, "an operand");
    const uint32_t v = tn_i_names_find(&s->names, p->tok.at, p->tok.n);
    if (v != TN_NOVAR)
        tn_i_name_operand(o, v);
    else if (!tn_i_is_dropped(&p->tok) || !tn_i_parse_dropped(s, o))
        return tn_i_parse_fail(p, &p->tok, "%s is not defined", tn_i_word_text(word, &p->tok));
    tn_i_next(p);
    return true;
}

/* `(1-2j)`: what else begins so is the left side of an equation, `()`. */
static bool complex_ahead(const tn_i_parser *p) {
    tn_i_lexer lex = p->lex;
    tn_i_token t;
    if (!tn_i_token_is(&p->tok, "(")) return false;
    tn_i_lex(&lex, &t);
    return t.kind == TN_T_NUMBER;
}

/* Does an equation begin here?  White space means nothing, so names that are new and lead to '=' do. */
static bool binders_ahead(const tn_i_parser *p, const tn_i_scope *s) {
    tn_i_lexer lex = p->lex;
    tn_i_token t = p->tok, after;
    tn_i_lex(&lex, &after);
    if (tn_i_token_is(&after, ":") || tn_i_token_is(&after, "=")) return true;
    if (tn_i_token_is(&after, "[") && t.kind == TN_T_NAME) return true; /* what has no outputs, as JAX prints it */
    if (tn_i_names_find(&s->names, t.at, t.n) != TN_NOVAR) return false;
    const bool dropped = tn_i_is_dropped(&t) && s->ndropped; /* as an operand types of the next equation may follow */
    for (t = after; t.kind == TN_T_NAME && !tn_i_token_reserved(&t); tn_i_lex(&lex, &t)) {
    }
    return tn_i_token_is(&t, "=") || (!dropped && tn_i_token_is(&t, ":"));
}

bool tn_i_parse_operands(tn_i_parser *p, tn_i_scope *s, tn_i_reading *r) {
    r->operand0 = p->noperand;
    for (bool number; (number = is_literal(&p->tok) || complex_ahead(p)) || p->tok.kind == TN_T_NAME;) {
        tn_i_operand o;
        if (!number && (tn_i_token_reserved(&p->tok) || tn_i_ends_body(p) || binders_ahead(p, s))) break;
        if (!tn_i_parse_operand(p, s, &o) ||
            !tn_i_grow(p->ctx, (void **)&p->operand, &p->coperand, p->noperand + 1, sizeof *p->operand))
            return false;
        p->operand[p->noperand++] = o;
    }
    if (p->noperand - r->operand0 > UINT32_MAX / 2) return tn_i_parse_fail(p, &r->name, "too many operands");
    return true;
}

/* ---- values --------------------------------------------------------------------------- */

static tn_i_var literal(tn_i_parser *p, tn_i_scope *s, const tn_i_operand *o, int dtype) {
    char word[TN_I_WORD_TEXT];
    uint64_t bits;
    if (tn_i_parse_bits(&o->token, dtype, &bits)) return tn_i_literal(&s->b, dtype, bits);
    (void)tn_i_parse_fail(p, &o->token, "%s is no value of dtype %s", tn_i_word_text(word, &o->token),
                          tn_i_dtype_name(dtype));
    return TN_NOVAR;
}

tn_i_var tn_i_parse_untyped(tn_i_parser *p, tn_i_scope *s, const tn_i_operand *o) {
    return literal(p, s, o, o->dtype >= 0 ? o->dtype : tn_i_spelled_dtype(&o->token));
}

/* What the operands that have a type tell of those that have none. */
typedef struct hints {
    int number, floating; /* dtypes, or -1 */
    tn_type shape;        /* of the operands together: JAX leaves scalars and size-1 dimensions to broadcasting */
} hints;

bool tn_i_parse_widen(tn_type *shape, const tn_type *t) {
    if (t->rank == 0) return true;
    if (shape->rank == 0) *shape = *t;
    if (shape->rank != t->rank) return false;
    for (int d = 0; d < t->rank; d++)
        if (shape->dim[d] == 1) shape->dim[d] = t->dim[d];
    return true;
}

static hints hints_of(const tn_i_parser *p, const tn_i_scope *s, const tn_i_reading *r) {
    hints h = {.number = -1, .floating = -1};
    for (size_t i = r->operand0; i < p->noperand; i++) {
        const tn_i_operand *o = &p->operand[i];
        const tn_type *t = o->var == TN_NOVAR ? NULL : tn_i_vtype(&s->b, o->var);
        const int dtype = t ? t->dtype : o->dtype;
        if (h.number < 0 && dtype != TN_BOOL) h.number = dtype;
        if (h.floating < 0 && tn_i_is_float(dtype)) h.floating = dtype;
        if (t) (void)tn_i_parse_widen(&h.shape, t);
    }
    return h;
}

/* A number takes the dtype of the operands beside it; only elementwise ones must all agree, so
 * elsewhere an integer stays one. */
static int literal_dtype(const tn_i_reading *r, const tn_i_operand *o, const hints *h) {
    const int spelled = tn_i_spelled_dtype(&o->token);
    if (o->dtype >= 0) return o->dtype;
    if (spelled == TN_BOOL) return spelled;
    if (!r->prim || r->prim->flags & TN_F_ELEMENTWISE) return h->number >= 0 ? h->number : spelled;
    return spelled == TN_F64 && h->floating >= 0 ? h->floating : spelled;
}

/* A predicate of select and the bounds of clamp may be scalars beside arrays; they stay as written. */
static bool may_be_scalar(const tn_i_reading *r, size_t i) {
    if (!r->prim) return false;
    return (tn_i_chooses(r->prim) && i == 0) || (r->prim->id == TN_P_clamp && i != 1);
}

tn_i_var tn_i_parse_spread(tn_i_scope *s, tn_i_var v, const tn_type *shape) {
    static const int64_t in_order[TN_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
    const tn_type *t = tn_i_vtype(&s->b, v);
    bool differs = t->rank == 0 && shape->rank > 0;
    if (t->rank && t->rank != shape->rank) return v;
    for (int d = 0; d < t->rank; d++) {
        if (t->dim[d] == shape->dim[d]) continue;
        if (t->dim[d] != 1) return v;
        differs = true;
    }
    return differs ? tn_i_broadcast(&s->b, v, shape->rank, shape->dim, in_order) : v;
}

bool tn_i_resolve_operands(tn_i_parser *p, tn_i_scope *s, tn_i_reading *r) {
    const hints h = hints_of(p, s, r);
    const bool elementwise = r->prim && r->prim->flags & TN_F_ELEMENTWISE;
    for (size_t i = r->operand0; i < p->noperand; i++) {
        tn_i_operand *o = &p->operand[i];
        if (o->dropped && r->prim == &tn_i_lineax_form) continue; /* which does not read all operands */
        if (o->dropped)
            return tn_i_parse_fail(p, &o->token, "_ stands for several values here: the text does not tell which");
        const bool written = o->var == TN_NOVAR;
        if (written) {
            o->var = literal(p, s, o, literal_dtype(r, o, &h));
            if (o->var == TN_NOVAR) return false;
        }
        if (elementwise && !may_be_scalar(r, i - r->operand0)) o->var = tn_i_parse_spread(s, o->var, &h.shape);
        if (o->var == TN_NOVAR) return false;
    }
    return true;
}
