/* Equations of dtypes that texts of JAX have and programs have not (prims/narrow.h).  A value is held in a dtype of
 * programs, and the text's is known by its name while the text is read; behind an equation that may leave the dtype's
 * values its results become such again. */
#include "prims/narrow.h"
#include "base/number.h"
#include "ir/parse.h"

#include <math.h>
#include <string.h>

/* ---- what keeps the values of a dtype ---- */

/* Of short integers: these have all results of others in 32 bits, of which the low ones count. */
static const char *const wraps[] = {
    "add",         "sub",         "mul",         "neg",        "not",         "abs",  "sign",
    "integer_pow", "square",      "pow",         "shift_left", "div",         "rem",  "convert_element_type",
    "reduce_sum",  "reduce_prod", "cumsum",      "cumprod",    "dot_general", "iota", "scatter-add",
    "scatter_add", "scatter-mul", "scatter_mul", "add_any",    NULL};
/* Of all of them: results are operands, or say no more than truth values and places. */
static const char *const keeps[] = {"max",
                                    "min",
                                    "and",
                                    "or",
                                    "xor",
                                    "eq",
                                    "ne",
                                    "lt",
                                    "le",
                                    "gt",
                                    "ge",
                                    "clamp",
                                    "select_n",
                                    "sort",
                                    "argmax",
                                    "argmin",
                                    "reduce_max",
                                    "reduce_min",
                                    "reduce_and",
                                    "reduce_or",
                                    "reduce_xor",
                                    "cummax",
                                    "cummin",
                                    "broadcast_in_dim",
                                    "reshape",
                                    "squeeze",
                                    "expand_dims",
                                    "transpose",
                                    "rev",
                                    "slice",
                                    "pad",
                                    "concatenate",
                                    "split",
                                    "dynamic_slice",
                                    "dynamic_update_slice",
                                    "gather",
                                    "scatter",
                                    "scatter-min",
                                    "scatter_min",
                                    "scatter-max",
                                    "scatter_max",
                                    "stack",
                                    "tile",
                                    "name",
                                    "stop_gradient",
                                    "top_k",
                                    "call",
                                    "jit",
                                    "pjit",
                                    "closed_call",
                                    "core_call",
                                    "checkpoint",
                                    "remat",
                                    "remat2",
                                    "scan",
                                    "while",
                                    "cond",
                                    "custom_jvp_call",
                                    "optimization_barrier",
                                    "copy",
                                    "copy_p",
                                    "device_put",
                                    "bitcast_convert_type",
                                    "random_bits",
                                    NULL};
/* Of floats of 16 bits besides. */
static const char *const exact[] = {"neg", "abs", "sign", "floor", "ceil", "round", "is_finite", "real", NULL};
/* Of u64 as i64: a sign changes nothing. */
static const char *const same_bits[] = {"and",
                                        "or",
                                        "xor",
                                        "not",
                                        "shift_left",
                                        "shift_right_logical",
                                        "add",
                                        "sub",
                                        "mul",
                                        "neg",
                                        "eq",
                                        "ne",
                                        "broadcast_in_dim",
                                        "reshape",
                                        "squeeze",
                                        "expand_dims",
                                        "slice",
                                        "concatenate",
                                        "transpose",
                                        "rev",
                                        "pad",
                                        "split",
                                        "select_n",
                                        "dynamic_slice",
                                        "dynamic_update_slice",
                                        "bitcast_convert_type",
                                        "convert_element_type",
                                        "random_bits",
                                        "call",
                                        "jit",
                                        "pjit",
                                        "closed_call",
                                        "core_call",
                                        "scan",
                                        "while",
                                        "cond",
                                        "copy",
                                        "copy_p",
                                        "device_put",
                                        "optimization_barrier",
                                        NULL};

static bool is_in(const char *const *list, const tn_i_token *name) {
    for (; *list; list++)
        if (strlen(*list) == name->n && memcmp(*list, name->at, name->n) == 0) return true;
    return false;
}

/* ---- values ---- */

bool tn_i_parse_note_dtype(tn_i_parser *p, tn_i_scope *s, tn_i_var v, int narrow) {
    if (!narrow && v >= s->nnarrow) return true;
    const size_t old = s->nnarrow;
    if (v >= old) {
        if (!tn_i_grow(p->ctx, (void **)&s->narrow, &s->cnarrow, (size_t)v + 1, sizeof *s->narrow)) return false;
        s->nnarrow = (size_t)v + 1;
        memset(s->narrow + old, 0, s->nnarrow - old);
    }
    s->narrow[v] = (uint8_t)narrow;
    return true;
}

static int of_operand(const tn_i_scope *s, const tn_i_operand *o) {
    if (o->narrow) return o->narrow;
    return o->var != TN_NOVAR && o->var < s->nnarrow ? s->narrow[o->var] : 0;
}

/* ---- numbers ---- */

/* To nearest, ties to even, as one of 16 bits. */
static float rounded(double x, tn_i_format to) {
    const int least = 3 - (1 << (to.exponent - 1)), most = (1 << (to.exponent - 1)); /* exponents as of frexp */
    int e;
    if (x == 0 || !(fabs(x) < (double)INFINITY)) return (float)x;
    (void)frexp(x, &e);
    const double unit = ldexp(1, (e > least ? e : least) - to.mantissa - 1), n = fabs(x) / unit;
    double whole = floor(n);
    const double rest = n - whole;
    if (rest > 0.5 || (rest == 0.5 && fmod(whole, 2) == 1)) whole += 1;
    const double size = whole * unit;
    return (float)copysign(size < ldexp(1, most) ? size : (double)INFINITY, x);
}

static bool unsigned_bits(const tn_i_token *t, uint64_t *bits) {
    uint64_t x = 0;
    for (size_t i = 0; i < t->n; i++) {
        if (t->at[i] < '0' || t->at[i] > '9') return false;
        const uint64_t digit = (uint64_t)(t->at[i] - '0');
        if (x > (UINT64_MAX - digit) / 10) return false;
        x = 10 * x + digit;
    }
    *bits = x;
    return t->n > 0;
}

bool tn_i_parse_narrow_bits(const tn_i_token *t, int narrow, uint64_t *bits) {
    double x;
    uint32_t low;
    if (narrow == TN_I_U64) return unsigned_bits(t, bits);
    if (!tn_i_is_half(narrow)) return tn_i_parse_bits(t, tn_i_holder(narrow), bits);
    if (t->kind != TN_T_NUMBER || !tn_i_parse_f64(t->at, t->n, &x)) return false;
    const float y = rounded(x, tn_i_format_of(narrow));
    memcpy(&low, &y, sizeof low);
    *bits = low;
    return true;
}

/* ---- equations ---- */

static bool refuse(tn_i_parser *p, const tn_i_reading *r, int dtype) {
    char word[TN_I_WORD_TEXT];
    return tn_i_parse_fail(p, &r->name, "%s of %s", tn_i_word_text(word, &r->name), tn_i_narrow_name(dtype));
}

/* The narrow dtypes of an equation: bits by dtype. */
static unsigned dtypes_of(const tn_i_parser *p, const tn_i_scope *s, const tn_i_reading *r) {
    unsigned all = 0;
    for (size_t i = r->operand0; i < p->noperand; i++) {
        const int dtype = of_operand(s, &p->operand[i]);
        if (dtype) all |= 1u << (dtype - TN_I_U64);
    }
    for (size_t j = 0; j < r->nbinder; j++)
        if (p->binder[r->binder0 + j].narrow) all |= 1u << (p->binder[r->binder0 + j].narrow - TN_I_U64);
    return all;
}

static bool has(unsigned all, int dtype) { return all >> (dtype - TN_I_U64) & 1; }

/* An operand or result is of floats. */
static bool has_floats(const tn_i_parser *p, const tn_i_scope *s, const tn_i_reading *r) {
    const tn_i_operand *o = p->noperand > r->operand0 ? &p->operand[r->operand0] : NULL;
    const tn_type *left = r->nbinder ? p->binder[r->binder0].type : NULL;
    const int dtype = !o ? -1 : o->var != TN_NOVAR ? tn_i_vtype(&s->b, o->var)->dtype : o->dtype;
    return tn_i_is_float(dtype) || (left && tn_i_is_float(left->dtype));
}

static bool of_u64(tn_i_parser *p, const tn_i_scope *s, tn_i_reading *r) {
    const tn_i_operand *o = p->noperand > r->operand0 ? &p->operand[r->operand0] : NULL;
    const tn_prim *form = o && r->prim && of_operand(s, o) == TN_I_U64 ? tn_i_u64_form(r->prim->name) : NULL;
    const bool converts = tn_i_token_is(&r->name, "convert_element_type") && has_floats(p, s, r);
    if (form)
        r->prim = form;
    else if (!is_in(same_bits, &r->name) || converts)
        return refuse(p, r, TN_I_U64);
    return true;
}

/* What looks at bits that short integers have not, in 32, may be of one sign alone. */
static bool fits(const tn_i_reading *r, unsigned all) {
    const bool is_signed = has(all, TN_I_I8) || has(all, TN_I_I16);
    const bool is_unsigned = has(all, TN_I_U8) || has(all, TN_I_U16);
    if (tn_i_token_is(&r->name, "shift_right_arithmetic")) return !is_unsigned;
    const bool zeros = tn_i_token_is(&r->name, "shift_right_logical") || tn_i_token_is(&r->name, "population_count");
    return zeros && !is_signed;
}

/* The largest of nothing would be that of 32 bits. */
static bool of_nothing(const tn_i_parser *p, const tn_i_scope *s, const tn_i_reading *r) {
    const bool extreme = tn_i_token_is(&r->name, "reduce_max") || tn_i_token_is(&r->name, "reduce_min");
    if (!extreme || p->noperand == r->operand0 || p->operand[r->operand0].var == TN_NOVAR) return false;
    return tn_i_count(tn_i_vtype(&s->b, p->operand[r->operand0].var)) == 0;
}

/* Between floats of 16 bits and these bits alone. */
static bool cast(tn_i_parser *p, const tn_i_scope *s, tn_i_reading *r, int dtype) {
    const int from = p->noperand > r->operand0 ? of_operand(s, &p->operand[r->operand0]) : 0;
    const int to = r->nbinder ? p->binder[r->binder0].narrow : 0;
    const tn_prim *form = tn_i_half_bits_form(from, to);
    if (form) r->prim = form;
    return form || from == to || refuse(p, r, dtype);
}

bool tn_i_parse_narrow(tn_i_parser *p, const tn_i_scope *s, tn_i_reading *r) {
    const unsigned all = dtypes_of(p, s, r);
    const bool casts = tn_i_token_is(&r->name, "bitcast_convert_type");
    if (!all) return true;
    if (has(all, TN_I_U64) && !of_u64(p, s, r)) return false;
    const bool wrap = is_in(wraps, &r->name), keep = is_in(keeps, &r->name);
    for (int dtype = TN_I_BF16; dtype < TN_I_NARROW_END; dtype++) {
        if (!has(all, dtype)) continue;
        if (casts && !cast(p, s, r, dtype)) return false;
        const bool defined = tn_i_is_half(dtype) ? !tn_i_token_is(&r->name, "nextafter") : wrap || keep || fits(r, all);
        if (!defined || (tn_i_is_short(dtype) && of_nothing(p, s, r))) return refuse(p, r, dtype);
    }
    r->wraps = wrap;
    r->rounds = !keep && !is_in(exact, &r->name);
    return true;
}

tn_i_var tn_i_parse_narrowed(tn_i_scope *s, const tn_i_reading *r, int narrow, tn_i_var v) {
    const bool leaves = tn_i_is_half(narrow) ? r->rounds : r->wraps;
    return narrow && leaves ? tn_i_narrowed(&s->b, v, narrow) : v;
}
