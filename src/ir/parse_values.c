/* Types, numbers, strings and arrays. */
#include "base/number.h"
#include "ir/parse.h"
#include "prims/scalar/complex.h"

#include <string.h>

/* ---- types ---------------------------------------------------------------------- */

static int dtype_of(const tn_i_token *t) {
    static const struct {
        const char *name;
        int dtype;
    } names[] = {{"f64", TN_F64},         {"f32", TN_F32},          {"i32", TN_I32},    {"i64", TN_I64},
                 {"bool", TN_BOOL},       {"u32", TN_U32},          {"uint32", TN_U32}, {"float64", TN_F64},
                 {"float32", TN_F32},     {"int32", TN_I32},        {"int64", TN_I64},  {"bool_", TN_BOOL},
                 {"u64", TN_U64},         {"uint64", TN_U64},       {"bf16", TN_BF16},  {"bfloat16", TN_BF16},
                 {"f16", TN_F16},         {"float16", TN_F16},      {"i8", TN_I8},      {"int8", TN_I8},
                 {"i16", TN_I16},         {"int16", TN_I16},        {"u8", TN_U8},      {"uint8", TN_U8},
                 {"u16", TN_U16},         {"uint16", TN_U16},       {"c64", TN_I_C64},  {"c128", TN_I_C128},
                 {"complex64", TN_I_C64}, {"complex128", TN_I_C128}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (tn_i_token_is(t, names[i].name)) return names[i].dtype;
    return -1;
}

bool tn_i_parse_dtype(tn_i_parser *p, int *dtype) {
    *dtype = dtype_of(&p->tok);
    if (*dtype < 0) {
        if (tn_i_token_is(&p->tok, "stack"))
            return tn_i_parse_fail(p, &p->tok, "the type 'stack' is reserved for loops");
        return tn_i_unexpected(p,
                               "a dtype (f64, f32, f16, bf16, i64, i32, i16, i8, u64, u32, u16, u8, bool, c128, c64)");
    }
    tn_i_next(p);
    return true;
}

/* An axis of the grid, as JAX quotes it too. */
static bool one_axis(tn_i_parser *p, int64_t *bits) {
    char word[TN_I_WORD_TEXT];
    const tn_i_token t = p->tok;
    if (t.kind != TN_T_NAME && t.kind != TN_T_STRING) return tn_i_unexpected(p, "an axis of the grid");
    const size_t quotes = t.kind == TN_T_STRING && t.n >= 2 ? 1 : 0;
    const int a = tn_i_axis(p->ctx, t.at + quotes, t.n - 2 * quotes);
    if (a < 0)
        return tn_i_parse_fail(p, &t, "%s is no axis of the grid%s", tn_i_word_text(word, &t),
                               p->ctx->grid.naxes ? "" : ", which there is none of: `grid (w=4)` goes in front");
    if (*bits >> a & 1) return tn_i_parse_fail(p, &t, "axis %s stands there twice", tn_i_word_text(word, &t));
    *bits |= (int64_t)1 << a;
    tn_i_next(p);
    return true;
}

bool tn_i_parse_axes(tn_i_parser *p, int64_t *bits) {
    *bits = 0;
    if (!tn_i_accept(p, "(")) return one_axis(p, bits);
    do {
        if (!one_axis(p, bits)) return false;
        if (!tn_i_token_is(&p->tok, ")") && !tn_i_expect(p, ",")) return false;
    } while (!tn_i_accept(p, ")"));
    return true;
}

/* `{V:w}` */
static bool varying(tn_i_parser *p, tn_type *t) {
    int64_t bits;
    if (!tn_i_token_is(&p->tok, "{")) return true;
    tn_i_next(p);
    return tn_i_expect(p, "V") && tn_i_expect(p, ":") && tn_i_parse_axes(p, &bits) && tn_i_expect(p, "}") &&
           tn_i_axes_of(p->ctx, (uint32_t)bits, &t->varying);
}

/* JAX's key<fry>: two words. */
static bool element(tn_i_parser *p, int *dtype) {
    char word[TN_I_WORD_TEXT];
    p->of_keys = tn_i_token_is(&p->tok, "key");
    if (!p->of_keys) return tn_i_parse_dtype(p, dtype);
    *dtype = TN_U32;
    tn_i_next(p);
    if (!tn_i_expect(p, "<")) return false;
    if (!tn_i_token_is(&p->tok, "fry"))
        return tn_i_parse_fail(p, &p->tok, "keys of %s: there are those of fry alone", tn_i_word_text(word, &p->tok));
    tn_i_next(p);
    return tn_i_expect(p, ">");
}

bool tn_i_parse_type(tn_i_parser *p, tn_type *t, bool *complex) {
    const tn_i_token start = p->tok;
    int dtype;
    memset(t, 0, sizeof *t);
    if (!element(p, &dtype) || !tn_i_expect(p, "[")) return false;
    const int parts = tn_i_complex_dtype(dtype);
    t->dtype = parts < 0 ? dtype : parts;
    if (complex) *complex = parts >= 0;
    while (!tn_i_accept(p, "]")) {
        int64_t dim;
        const tn_i_token at = p->tok;
        if (t->rank && !tn_i_expect(p, ",")) return false;
        const bool steps = tn_i_accept(p, "?");
        if (!steps && !tn_i_parse_int(p, &dim)) return false;
        if (steps) dim = TN_I_STEPS;
        if (!steps && dim < 0) return tn_i_parse_fail(p, &at, "a dimension is negative");
        if (t->rank == TN_MAX_RANK) return tn_i_parse_fail(p, &start, "a rank above %d", TN_MAX_RANK);
        t->dim[t->rank++] = dim;
    }
    if (parts >= 0 && t->rank == TN_MAX_RANK)
        return tn_i_parse_fail(p, &start, "a complex array has at most %d dimensions", TN_MAX_RANK - 1);
    if (p->of_keys && t->rank == TN_MAX_RANK)
        return tn_i_parse_fail(p, &start, "an array of keys has at most %d dimensions", TN_MAX_RANK - 1);
    if ((parts >= 0 && !complex) || p->of_keys) t->dim[t->rank++] = 2;
    if (!tn_i_type_valid(t)) return tn_i_parse_fail(p, &start, "the size of the type overflows");
    return varying(p, t);
}

bool tn_i_type_of_text(tn_ctx *c, const char *text, tn_type *t) {
    tn_i_parser *p = tn_i_alloc(c, sizeof *p);
    if (!p) return false;
    *p = (tn_i_parser){.ctx = c, .file = "type"};
    tn_i_lex_start(&p->lex, text, strlen(text));
    tn_i_next(p);
    const bool ok =
        tn_i_parse_type(p, t, NULL) && (p->tok.kind == TN_T_END || tn_i_unexpected(p, "the end of the type"));
    tn_i_free(c, p, sizeof *p);
    return ok;
}

/* ---- numbers -------------------------------------------------------------------- */

bool tn_i_parse_boxed(tn_i_parser *p, bool *is) {
    *is = p->tok.kind == TN_T_NAME && tn_i_accept(p, "np");
    if (!*is) return true;
    if (!tn_i_expect(p, ".")) return false;
    if (p->tok.kind != TN_T_NAME) return tn_i_unexpected(p, "a dtype of NumPy");
    tn_i_next(p);
    return tn_i_expect(p, "(");
}

bool tn_i_parse_unboxed(tn_i_parser *p, bool is) { return !is || tn_i_expect(p, ")"); }

bool tn_i_parse_int(tn_i_parser *p, int64_t *out) {
    bool boxed;
    if (!tn_i_parse_boxed(p, &boxed)) return false;
    if (p->tok.kind != TN_T_NUMBER) return tn_i_unexpected(p, "an integer");
    if (!tn_i_parse_i64(p->tok.at, p->tok.n, out)) {
        char word[TN_I_WORD_TEXT];
        return tn_i_parse_fail(p, &p->tok, "%s is not an integer, or too large", tn_i_word_text(word, &p->tok));
    }
    tn_i_next(p);
    return tn_i_parse_unboxed(p, boxed);
}

bool tn_i_parse_bits(const tn_i_token *t, int dtype, uint64_t *bits) {
    if (dtype == TN_BOOL) {
        *bits = tn_i_token_is(t, "True");
        return *bits || tn_i_token_is(t, "False");
    }
    if (t->kind != TN_T_NUMBER) return false;
    return tn_i_is_float(dtype) ? tn_i_float_bits(dtype, t->at, t->n, bits) : tn_i_whole_bits(dtype, t->at, t->n, bits);
}

int tn_i_spelled_dtype(const tn_i_token *t) {
    int64_t x;
    if (t->kind == TN_T_NAME) return TN_BOOL;
    if (!tn_i_parse_i64(t->at, t->n, &x)) return TN_F64;
    return x < INT32_MIN || x > INT32_MAX ? TN_I64 : TN_I32;
}

/* ---- strings -------------------------------------------------------------------- */

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* One character of a string, or -1 for an escape that there is not. */
static int unescape(const char **at, const char *end) {
    const char c = *(*at)++;
    if (c != '\\') return (unsigned char)c;
    const char e = *(*at)++; /* the lexer ends no string after a backslash */
    switch (e) {
    case 'n': return '\n';
    case 't': return '\t';
    case 'r': return '\r';
    case 'x':
        if (end - *at < 2 || hex_digit((*at)[0]) < 0 || hex_digit((*at)[1]) < 0) return -1;
        *at += 2;
        return hex_digit((*at)[-2]) * 16 + hex_digit((*at)[-1]);
    default: return e == '\\' || e == '"' || e == '\'' ? e : -1;
    }
}

static bool quoted(tn_i_parser *p, const char **out) {
    const tn_i_token t = p->tok;
    const char *at = t.at + 1, *end = t.at + t.n - 1;
    char *text = tn_i_alloc(p->ctx, t.n);
    size_t n = 0;
    if (!text) return false;
    bool ok = true;
    while (ok && at < end) {
        const int c = unescape(&at, end);
        ok = c > 0;
        text[n++] = (char)c;
    }
    if (ok)
        *out = tn_i_string(p->ctx, text, n);
    else
        (void)tn_i_parse_fail(p, &t, "a bad escape or a zero byte in a string");
    tn_i_free(p->ctx, text, t.n);
    tn_i_next(p);
    return ok && *out;
}

/* JAX writes names bare: name=f, name=<lambda>. */
bool tn_i_parse_string(tn_i_parser *p, const char **out) {
    if (p->tok.kind == TN_T_STRING) return quoted(p, out);
    const char *start = p->tok.at;
    const bool angle = tn_i_accept(p, "<");
    if (p->tok.kind != TN_T_NAME) return tn_i_unexpected(p, "a string");
    const char *end = p->tok.at + p->tok.n;
    tn_i_next(p);
    if (angle) {
        end = p->tok.at + p->tok.n;
        if (!tn_i_expect(p, ">")) return false;
    }
    *out = tn_i_string(p->ctx, start, (size_t)(end - start));
    return *out != NULL;
}

/* ---- arrays --------------------------------------------------------------------- */

static bool is_value(const tn_i_token *t) {
    return t->kind == TN_T_NUMBER || tn_i_token_is(t, "True") || tn_i_token_is(t, "False");
}

/* The type of the list that comes next: lengths of the first row of each depth, widest dtype. */
static bool infer(tn_i_parser *p, tn_type *t) {
    const tn_i_lexer lex = p->lex;
    const tn_i_token tok = p->tok;
    int depth = 0, spelled = TN_BOOL;
    bool closed[TN_MAX_RANK + 1] = {false}, any = false;
    memset(t, 0, sizeof *t);
    do {
        if (tn_i_accept(p, "[")) {
            if (depth == TN_MAX_RANK)
                return tn_i_parse_fail(p, &p->tok, "lists are nested deeper than %d", TN_MAX_RANK);
            if (depth && !closed[depth - 1]) t->dim[depth - 1]++;
            depth++;
            if (depth > t->rank) t->rank = depth;
        } else if (depth && tn_i_accept(p, "]")) {
            closed[--depth] = true;
        } else if (is_value(&p->tok)) {
            const int d = tn_i_spelled_dtype(&p->tok);
            any = true;
            if (d > spelled) spelled = d;
            if (depth && !closed[depth - 1]) t->dim[depth - 1]++;
            tn_i_next(p);
        } else if (!depth || !tn_i_accept(p, ",")) {
            return tn_i_unexpected(p, "a number or a list");
        }
    } while (depth > 0);
    t->dtype = any ? spelled : TN_F64;
    p->lex = lex;
    p->tok = tok;
    return true;
}

static bool put_element(tn_i_parser *p, const tn_type *t, char *data, int64_t k) {
    const size_t size = tn_i_dtype_size(t->dtype);
    char word[TN_I_WORD_TEXT];
    uint64_t bits;
    if (!is_value(&p->tok)) return tn_i_unexpected(p, "a number");
    if (!tn_i_parse_bits(&p->tok, t->dtype, &bits))
        return tn_i_parse_fail(p, &p->tok, "%s is no value of dtype %s", tn_i_word_text(word, &p->tok),
                               tn_i_dtype_name(t->dtype));
    tn_i_put_bits(t->dtype, data + (size_t)k * size, bits);
    tn_i_next(p);
    return true;
}

/* Elements of dimension `k` on, from element *at on. */
static bool fill(tn_i_parser *p, const tn_type *t, int k, char *data, int64_t *at) {
    if (k == t->rank) return put_element(p, t, data, (*at)++);
    char text[TN_I_TYPE_TEXT];
    if (!tn_i_expect(p, "[")) return false;
    for (int64_t i = 0; i < t->dim[k]; i++) {
        if (tn_i_token_is(&p->tok, "]") || (i && !tn_i_expect(p, ",")))
            return tn_i_parse_fail(p, &p->tok, "a list is shorter than %s says", tn_i_type_text(text, t));
        if (!fill(p, t, k + 1, data, at)) return false;
    }
    (void)tn_i_accept(p, ",");
    if (!tn_i_accept(p, "]"))
        return tn_i_parse_fail(p, &p->tok, "a list does not end as %s says", tn_i_type_text(text, t));
    return true;
}

/* `[]` stands for every array without elements. */
static bool accept_empty(tn_i_parser *p, const tn_type *t) {
    const tn_i_lexer lex = p->lex;
    const tn_i_token tok = p->tok;
    if (t->rank && tn_i_count(t) == 0 && tn_i_accept(p, "[") && tn_i_accept(p, "]")) return true;
    p->lex = lex;
    p->tok = tok;
    return false;
}

bool tn_i_parse_array(tn_i_parser *p, const tn_type *type, tn_i_blob **out) {
    tn_type t;
    char text[TN_I_TYPE_TEXT];
    if (type)
        t = *type;
    else if (!infer(p, &t))
        return false;
    if (!tn_i_type_valid(&t)) return tn_i_parse_fail(p, &p->tok, "the size of the array overflows");
    /* an element takes a byte at least: no type makes room for more than the text holds */
    if (tn_i_count(&t) > p->lex.end - p->tok.at)
        return tn_i_parse_fail(p, &p->tok, "the text has fewer elements than %s", tn_i_type_text(text, &t));
    tn_i_blob *k = tn_i_blob_new(p->ctx, &t);
    if (!k) return false;
    int64_t at = 0;
    const bool ok = accept_empty(p, &t) || fill(p, &t, 0, tn_i_blob_data(k), &at);
    tn_i_blob_seal(k);
    if (ok)
        *out = k;
    else
        tn_i_blob_unref(p->ctx, k);
    return ok;
}
