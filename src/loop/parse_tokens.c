/* Loop programs from text: tokens, numbers, names, and affine expressions. */
#include "loop/parse.h"

#include "base/number.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool tn_i_read_wrong(tn_i_reader *z, const char *fmt, ...) {
    char why[160];
    va_list ap;
    if (z->b.failed) return false;
    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    const tn_i_loc loc = {.file = z->file, .line = z->token.line, .col = z->token.col, .scope = ""};
    (void)tn_i_fail(z->ctx, TN_EPARSE, &loc, "%s", why);
    z->b.failed = true;
    return false;
}

/* ---- tokens ---- */

void tn_i_read_advance(tn_i_reader *z) { tn_i_lex(&z->lexer, &z->token); }

bool tn_i_read_next_is(const tn_i_reader *z, const char *word) {
    return !z->b.failed && tn_i_token_is(&z->token, word);
}

bool tn_i_read_accept(tn_i_reader *z, const char *word) {
    if (!tn_i_read_next_is(z, word)) return false;
    tn_i_read_advance(z);
    return true;
}

bool tn_i_read_expect(tn_i_reader *z, const char *word) {
    if (z->b.failed) return false;
    return tn_i_read_accept(z, word) || tn_i_read_wrong(z, "expected `%s`", word);
}

const char *tn_i_read_word(tn_i_reader *z, const char *what) {
    if (z->b.failed) return NULL;
    if (z->token.kind != TN_T_NAME) {
        tn_i_read_wrong(z, "expected %s", what);
        return NULL;
    }
    const char *s = tn_i_string(z->ctx, z->token.at, z->token.n);
    if (!s) z->b.failed = true;
    tn_i_read_advance(z);
    return s;
}

int64_t tn_i_read_integer(tn_i_reader *z) {
    int64_t v = 0;
    if (z->b.failed) return 0;
    if (z->token.kind != TN_T_NUMBER || !tn_i_parse_i64(z->token.at, z->token.n, &v)) {
        tn_i_read_wrong(z, "expected an integer");
        return 0;
    }
    tn_i_read_advance(z);
    return v;
}

int64_t tn_i_read_integer_in(tn_i_reader *z, int64_t lo, int64_t hi) {
    const tn_i_token at = z->token;
    const int64_t v = tn_i_read_integer(z);
    if (!z->b.failed && (v < lo || v > hi)) {
        z->token = at;
        tn_i_read_wrong(z, "expected a number from %" PRId64 " to %" PRId64, lo, hi);
    }
    return v;
}

uint64_t tn_i_read_number(tn_i_reader *z, int dtype) {
    uint64_t bits = 0;
    double d;
    float f;
    if (z->b.failed) return 0;
    if (!tn_i_is_float(dtype)) {
        const int64_t v = tn_i_read_integer_in(z,
                                               dtype == TN_I64   ? INT64_MIN
                                               : dtype == TN_I32 ? INT32_MIN
                                                                 : 0,
                                               dtype == TN_I64   ? INT64_MAX
                                               : dtype == TN_I32 ? INT32_MAX
                                               : dtype == TN_U32 ? UINT32_MAX
                                                                 : 1);
        return dtype == TN_I32 ? (uint32_t)v : (uint64_t)v;
    }
    const bool ok = z->token.kind == TN_T_NUMBER && (dtype == TN_F64 ? tn_i_parse_f64(z->token.at, z->token.n, &d)
                                                                     : tn_i_parse_f32(z->token.at, z->token.n, &f));
    if (!ok) {
        tn_i_read_wrong(z, "expected a number");
        return 0;
    }
    if (dtype == TN_F64)
        memcpy(&bits, &d, sizeof d);
    else
        memcpy(&bits, &f, sizeof f);
    tn_i_read_advance(z);
    return bits;
}

int tn_i_read_one_of(tn_i_reader *z, const char *what, int n, const char *(*name)(int i)) {
    for (int i = 0; i < n; i++)
        if (tn_i_read_next_is(z, name(i))) {
            tn_i_read_advance(z);
            return i;
        }
    tn_i_read_wrong(z, "expected %s", what);
    return 0;
}

/* ---- names ---- */

static tn_i_read_name *find(const tn_i_reader *z, const char *name) {
    if (!z->nslot) return NULL;
    size_t i = (size_t)tn_i_hash_u64(0, (uint64_t)(uintptr_t)name) & (z->nslot - 1);
    while (z->slot[i].name && z->slot[i].name != name) i = (i + 1) & (z->nslot - 1);
    return &z->slot[i];
}

static bool grow_names(tn_i_reader *z) {
    tn_i_read_name *old = z->slot;
    const size_t n = z->nslot;
    z->nslot = n ? 2 * n : 64;
    if (!(z->slot = tn_i_alloc_array(z->ctx, z->nslot, sizeof *z->slot))) {
        z->slot = old;
        z->nslot = n;
        z->b.failed = true;
        return false;
    }
    for (size_t i = 0; i < n; i++)
        if (old[i].name) *find(z, old[i].name) = old[i];
    tn_i_free(z->ctx, old, n * sizeof *old);
    return true;
}

void tn_i_read_bind(tn_i_reader *z, const char *name, uint32_t k) {
    if (z->b.failed || (2 * z->nbound >= z->nslot && !grow_names(z))) return;
    tn_i_read_name *x = find(z, name);
    if (x->name) {
        tn_i_read_wrong(z, "%s is defined twice", name);
        return;
    }
    *x = (tn_i_read_name){name, k};
    z->nbound++;
}

uint32_t tn_i_read_named(tn_i_reader *z, const char *what) {
    const tn_i_token at = z->token;
    const char *name = tn_i_read_word(z, what);
    const tn_i_read_name *x = name ? find(z, name) : NULL;
    if (x && x->name) return x->k;
    if (!z->b.failed) {
        z->token = at;
        tn_i_read_wrong(z, "%s is not defined", name);
    }
    return TN_L_NONE;
}

uint32_t tn_i_read_value(tn_i_reader *z) {
    const tn_i_token at = z->token;
    const uint32_t k = tn_i_read_named(z, "a value");
    if (!z->b.failed && !tn_i_l_has_value(&z->b.p->op[k])) {
        z->token = at;
        tn_i_read_wrong(z, "this is no value");
    }
    return k;
}

uint32_t tn_i_read_array_named(tn_i_reader *z) {
    const tn_i_token at = z->token;
    const char *name = tn_i_read_word(z, "an array");
    if (z->b.failed) return TN_L_NONE;
    for (uint32_t i = 0; i < z->b.p->narray; i++)
        if (z->b.p->array[i].name == name) return i;
    z->token = at;
    tn_i_read_wrong(z, "there is no array %s", name);
    return TN_L_NONE;
}

/* ---- affine expressions ---- */

/* A name behind a factor: of a loop, or, where it may be, clamp(value, last) or a value. */
static void factor(tn_i_reader *z, int64_t by, tn_i_affine *e, tn_i_read_index *x, bool clamps) {
    if (x && clamps && tn_i_read_next_is(z, "clamp")) {
        if (x->value != TN_L_NONE) tn_i_read_wrong(z, "an address has one index");
        tn_i_read_advance(z);
        tn_i_read_expect(z, "(");
        const uint32_t v = tn_i_read_value(z);
        tn_i_read_expect(z, ",");
        *x = (tn_i_read_index){v, by, tn_i_read_integer(z)};
        tn_i_read_expect(z, ")");
        return;
    }
    const tn_i_token at = z->token;
    const uint32_t k = tn_i_read_named(z, "a loop");
    if (z->b.failed) return;
    if (z->b.p->op[k].kind == TN_L_FOR)
        *e = tn_i_affine_term(&z->b, *e, k, by);
    else if (x && !clamps && by == 1 && x->value == TN_L_NONE && tn_i_l_has_value(&z->b.p->op[k]))
        *x = (tn_i_read_index){k, 1, 0};
    else {
        z->token = at;
        tn_i_read_wrong(z, "this is no loop");
    }
}

/* A number that is not yet read, with the sign that stands in front of it apart. */
static bool digits(tn_i_reader *z, bool negative, int64_t *v) {
    char text[32];
    const size_t n = z->token.n;
    if (z->token.kind != TN_T_NUMBER || n > 30) return false;
    text[0] = '-';
    memcpy(text + negative, z->token.at, n);
    if (!tn_i_parse_i64(text, n + negative, v)) return false;
    tn_i_read_advance(z);
    return true;
}

tn_i_affine tn_i_read_affine(tn_i_reader *z, tn_i_read_index *x, bool clamps) {
    tn_i_affine e = {0};
    if (x) *x = (tn_i_read_index){.value = TN_L_NONE};
    for (bool first = true; !z->b.failed; first = false) {
        bool negative = false;
        if (tn_i_read_accept(z, "-"))
            negative = true;
        else if (!tn_i_read_accept(z, "+") && !first &&
                 !(z->token.kind == TN_T_NUMBER && (*z->token.at == '-' || *z->token.at == '+')))
            break;
        int64_t by = negative ? -1 : 1;
        const bool given = z->token.kind == TN_T_NUMBER;
        const uint32_t line = z->token.line;
        if (given && !digits(z, negative, &by)) tn_i_read_wrong(z, "expected an integer");
        if (z->token.kind == TN_T_NAME && (!given || z->token.line == line)) /* else it is the next statement */
            factor(z, by, &e, x, clamps);
        else if (given)
            e = tn_i_affine_add(&z->b, e, 1, tn_i_affine_number(by));
        else
            tn_i_read_wrong(z, "expected a number, or a loop");
    }
    return e;
}
