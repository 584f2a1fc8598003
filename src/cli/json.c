#include "cli/json.h"

#include "base/base.h"
#include "base/number.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

typedef struct cursor {
    const char *begin, *at, *end;
    tn_i_json_error *error;
} cursor;

typedef struct token {
    const char *text;
    size_t n;
} token;

/* Longer words are cut in messages. */
#define SHOWN 32

#ifdef __GNUC__
__attribute__((format(printf, 3, 4)))
#endif
static bool
fail_at(cursor *c, const char *at, const char *fmt, ...) {
    va_list ap;
    c->error->at = (size_t)(at - c->begin);
    va_start(ap, fmt);
    (void)vsnprintf(c->error->text, sizeof c->error->text, fmt, ap);
    va_end(ap);
    return false;
}

static int shown(token t) { return t.n < SHOWN ? (int)t.n : SHOWN; }

static void skip_space(cursor *c) {
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\n' || *c->at == '\t' || *c->at == '\r')) c->at++;
}

/* Every character a number or a JSON word can have. */
static bool is_word(char ch) {
    return (ch >= '0' && ch <= '9') || (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || ch == '+' || ch == '-' ||
           ch == '.' || ch == ':' || ch == '_';
}

static token take_word(cursor *c) {
    token t = {c->at, 0};
    while (c->at < c->end && is_word(*c->at)) c->at++;
    t.n = (size_t)(c->at - t.text);
    return t;
}

static bool is(token t, const char *word) { return t.n == strlen(word) && memcmp(t.text, word, t.n) == 0; }

static bool is_bool(token t) { return is(t, "true") || is(t, "false"); }

/* A NaN's bits are those of f64 or of f32. */
static bool is_real(token t) {
    double full;
    float single;
    return tn_i_parse_f64(t.text, t.n, &full) || tn_i_parse_f32(t.text, t.n, &single);
}

/* What a scan knows: extents of the lists closed so far (-1: none at that
 * depth yet), the items of those still open, and the kinds of elements met. */
typedef struct scan {
    int depth, rank; /* rank -1: no element and no empty list yet */
    int64_t dim[TN_MAX_RANK], items[TN_MAX_RANK];
    bool bools, integers, floats;
} scan;

static bool scan_word(cursor *c, scan *s) {
    const char *start = c->at;
    const token t = take_word(c);
    int64_t integer;
    if (t.n == 0) {
        if (start == c->end) return fail_at(c, start, "the text ends where a number or a list should stand");
        const unsigned char ch = (unsigned char)*start;
        if (ch < ' ' || ch > '~') return fail_at(c, start, "byte 0x%02x where a number or a list should stand", ch);
        return fail_at(c, start, "'%c' where a number or a list should stand", ch);
    }
    if (is_bool(t))
        s->bools = true;
    else if (tn_i_parse_i64(t.text, t.n, &integer))
        s->integers = true;
    else if (is_real(t))
        s->floats = true;
    else
        return fail_at(c, start, "'%.*s' is not a number", shown(t), t.text);
    if (s->rank < 0) s->rank = s->depth;
    return s->depth == s->rank || fail_at(c, start, "a number where a list should stand: lists must nest evenly");
}

static bool scan_open(cursor *c, scan *s) {
    if (s->depth == TN_MAX_RANK) return fail_at(c, c->at, "lists nest deeper than %d", TN_MAX_RANK);
    if (s->depth == s->rank) return fail_at(c, c->at, "a list where a number should stand: lists must nest evenly");
    s->items[s->depth++] = 0;
    c->at++;
    return true;
}

static bool scan_close(cursor *c, scan *s) {
    const int d = --s->depth;
    const int64_t items = s->items[d];
    if (s->dim[d] >= 0 && s->dim[d] != items)
        return fail_at(c, c->at, "a list of %" PRId64 " after lists of %" PRId64 ": lists must be equally long", items,
                       s->dim[d]);
    if (items == 0 && s->rank >= 0 && s->rank != d + 1)
        return fail_at(c, c->at, "an empty list where lists nest deeper: lists must nest evenly");
    if (items == 0) s->rank = d + 1;
    s->dim[d] = items;
    c->at++;
    return true;
}

/* One complete value at depth 0. */
static bool scan_value(cursor *c, scan *s) {
    for (;;) {
        skip_space(c);
        if (c->at < c->end && *c->at == '[') {
            if (!scan_open(c, s)) return false;
            skip_space(c);
            if (c->at == c->end || *c->at != ']') continue;
            if (!scan_close(c, s)) return false;
        } else if (!scan_word(c, s)) {
            return false;
        }
        for (;;) { /* behind a value: lists end here until one goes on */
            if (s->depth == 0) return true;
            s->items[s->depth - 1]++;
            skip_space(c);
            if (c->at < c->end && *c->at == ',') break;
            if (c->at == c->end || *c->at != ']') return fail_at(c, c->at, "',' or ']' should stand here");
            if (!scan_close(c, s)) return false;
        }
        c->at++;
    }
}

bool tn_i_json_scan(const char *text, size_t n, tn_type *type, tn_i_json_error *error) {
    cursor c = {text, text, text + n, error};
    scan s = {.rank = -1};
    for (int d = 0; d < TN_MAX_RANK; d++) s.dim[d] = -1;
    memset(type, 0, sizeof *type);
    memset(error, 0, sizeof *error);
    if (!scan_value(&c, &s)) return false;
    skip_space(&c);
    if (c.at != c.end) return fail_at(&c, c.at, "something follows the array");
    const bool mixed = s.floats || (s.bools && s.integers);
    type->dtype = mixed ? TN_F64 : s.bools ? TN_BOOL : s.integers ? TN_I64 : TN_F64;
    type->rank = s.rank;
    for (int d = 0; d < s.rank; d++) type->dim[d] = s.dim[d];
    return true;
}

static bool shape_fits(const tn_type *given, const tn_type *want) {
    for (int d = 0; d < given->rank; d++) {
        if (d == want->rank || given->dim[d] != want->dim[d]) return false;
        if (given->dim[d] == 0 && d + 1 == given->rank) return true;
    }
    return given->rank == want->rank;
}

/* Of a word that is a number or a bool. */
static bool spells_integer(token t) {
    for (size_t i = 0; i < t.n; i++)
        if ((t.text[i] < '0' || t.text[i] > '9') && !(i == 0 && (t.text[i] == '-' || t.text[i] == '+'))) return false;
    return true;
}

static bool store_integer(cursor *c, token t, int dtype, void *out) {
    uint64_t bits;
    if (!spells_integer(t))
        return fail_at(c, t.text, "%.*s is not an integer, and the input is %s", shown(t), t.text,
                       tn_i_dtype_name(dtype));
    if (!tn_i_whole_bits(dtype, t.text, t.n, &bits))
        return fail_at(c, t.text, "%.*s does not fit %s", shown(t), t.text, tn_i_dtype_name(dtype));
    tn_i_put_bits(dtype, out, bits);
    return true;
}

static bool store_bool(cursor *c, token t, unsigned char *out) {
    *out = is(t, "true") || is(t, "1");
    return *out || is(t, "false") || is(t, "0") ||
           fail_at(c, t.text, "%.*s is neither true nor false", shown(t), t.text);
}

static bool store_float(cursor *c, token t, int dtype, void *out) {
    uint64_t bits;
    if (!tn_i_float_bits(dtype, t.text, t.n, &bits))
        return fail_at(c, t.text, "%.*s is not a number of %s", shown(t), t.text, tn_i_dtype_name(dtype));
    tn_i_put_bits(dtype, out, bits);
    return true;
}

bool tn_i_json_read(const char *text, size_t n, const tn_type *want, void *out, tn_i_json_error *error) {
    tn_type given;
    char given_text[TN_I_TYPE_TEXT], want_text[TN_I_TYPE_TEXT];
    if (!tn_i_json_scan(text, n, &given, error)) return false;
    cursor c = {text, text, text + n, error};
    if (!shape_fits(&given, want)) {
        const char *shape = strchr(tn_i_type_text(given_text, &given), '[');
        return fail_at(&c, text, "the array has shape %.80s, but %.80s is wanted", shape ? shape : "[]",
                       tn_i_type_text(want_text, want));
    }
    unsigned char *to = out;
    for (size_t i = tn_type_elements(&given); i > 0; i--, to += tn_i_dtype_size(want->dtype)) {
        while (!is_word(*c.at)) c.at++; /* brackets and commas, already checked */
        const token t = take_word(&c);
        const bool ok = tn_i_is_float(want->dtype) ? store_float(&c, t, want->dtype, to)
                        : tn_i_is_int(want->dtype) ? store_integer(&c, t, want->dtype, to)
                                                   : store_bool(&c, t, to);
        if (!ok) return false;
    }
    return true;
}

static void write_element(FILE *f, int dtype, const unsigned char *at, int digits) {
    char text[TN_I_NUMBER_TEXT];
    const double x = tn_i_element(dtype, at);
    if (dtype == TN_BOOL) {
        (void)fputs(*at ? "true" : "false", f);
    } else if (tn_i_is_int(dtype)) {
        (void)tn_i_element_text(text, dtype, at);
        (void)fputs(text, f);
    } else if (digits && isfinite(x)) {
        (void)fprintf(f, "%.*g", digits, x);
    } else {
        (void)tn_i_format_json_f64(text, x);
        (void)fputs(text, f);
    }
}

bool tn_i_json_put(FILE *f, const tn_type *type, const void *data, int digits) {
    const unsigned char *at = data;
    int rank = 0; /* a list behind it is empty when it is not the whole rank */
    size_t count = 1, row[TN_MAX_RANK];
    while (rank < type->rank && type->dim[rank] != 0) count *= (size_t)type->dim[rank++];
    const bool empty = rank < type->rank;
    for (int d = rank; d-- > 0;) row[d] = (size_t)type->dim[d] * (d + 1 < rank ? row[d + 1] : 1);
    for (size_t i = 0; i < count; i++) {
        if (i) (void)fputs(", ", f);
        for (int d = 0; d < rank; d++)
            if (i % row[d] == 0) (void)fputc('[', f);
        if (empty) {
            (void)fputs("[]", f);
        } else {
            write_element(f, type->dtype, at, digits);
            at += tn_i_dtype_size(type->dtype);
        }
        for (int d = rank; d-- > 0;)
            if ((i + 1) % row[d] == 0) (void)fputc(']', f);
    }
    return !ferror(f);
}

bool tn_i_json_write(FILE *f, const tn_type *type, const void *data) {
    return tn_i_json_put(f, type, data, 0) && fputc('\n', f) != EOF;
}

void tn_i_json_text(FILE *f, const char *text) {
    (void)fputc('"', f);
    for (const unsigned char *s = (const unsigned char *)text; *s; s++) {
        if (*s == '"' || *s == '\\')
            (void)fprintf(f, "\\%c", *s);
        else if (*s < 0x20)
            (void)fprintf(f, "\\u%04x", *s);
        else
            (void)fputc(*s, f);
    }
    (void)fputc('"', f);
}
