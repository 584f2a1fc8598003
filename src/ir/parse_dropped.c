/* `_`: what is on the left of an equation and dropped.  JAX names a value so in a program that a call runs where the
 * call's own result is dropped, and reads it there by that name. */
#include "ir/parse.h"

bool tn_i_parse_drop(tn_i_scope *s, uint32_t v, bool vague) {
    if (!tn_i_grow(s->b.ctx, (void **)&s->dropped, &s->cdropped, s->ndropped + 1, sizeof *s->dropped)) return false;
    s->dropped[s->ndropped++] = (tn_i_dropped){v, vague};
    return true;
}

bool tn_i_parse_dropped(const tn_i_scope *s, tn_i_operand *o) {
    o->dropped = s->ndropped > 1 || (s->ndropped && s->dropped[0].vague);
    if (s->ndropped && !o->dropped) tn_i_name_operand(o, s->dropped[0].value);
    return s->ndropped > 0;
}

/* Whether a value of the scope is what the caller's result is declared to be. */
static bool is_as_declared(const tn_i_scope *s, uint32_t v, const tn_i_binder *x) {
    if (!(v & TN_I_COMPLEX_NAME)) return !x->complex && tn_i_vtype(&s->b, v) == x->type;
    return x->complex && tn_i_parse_parts_are(s, v & ~TN_I_COMPLEX_NAME, x->type);
}

/* The first of its type; where there are more of them it matters to no one, as long as no one reads the caller's. */
bool tn_i_parse_dropped_output(tn_i_parser *p, tn_i_scope *s, size_t n, tn_i_operand *o) {
    const tn_i_binder *x = s->caller && n < s->caller->nbinder ? &p->binder[s->caller->binder0 + n] : NULL;
    bool vague = false, found = false;
    o->var = TN_NOVAR;
    for (size_t i = 0; x && n < 64 && tn_i_is_dropped(&x->name) && i < s->ndropped; i++) {
        if (!is_as_declared(s, s->dropped[i].value, x)) continue;
        vague |= s->dropped[i].vague || found;
        if (!found) tn_i_name_operand(o, s->dropped[i].value);
        found = true;
    }
    if (!found) return tn_i_parse_fail(p, &o->token, "_ stands for several values here: the text does not tell which");
    if (vague) s->caller->vague |= (uint64_t)1 << n;
    o->dropped = false;
    return true;
}
