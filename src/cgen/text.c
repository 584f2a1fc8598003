/* Lines, names and numbers. */
#include "cgen/inside.h"

#include "base/number.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- lines ---- */

static void indented(tn_i_cwriter *w, const char *fmt, va_list ap) {
    char text[4096];
    const int n = vsnprintf(text, sizeof text, fmt, ap);
    if (n < 0 || (size_t)n >= sizeof text) {
        w->failed = true;
        (void)tn_i_fail(w->p->ctx, TN_ELIMIT, NULL, "a line of C would be longer than %zu characters", sizeof text);
        return;
    }
    tn_i_text_put(w->t, "%*s%s", 4 * w->depth, "", text);
}

void tn_i_c_line(tn_i_cwriter *w, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    indented(w, fmt, ap);
    va_end(ap);
    tn_i_text_put(w->t, "\n");
}

void tn_i_c_open_brace(tn_i_cwriter *w, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    indented(w, fmt, ap);
    va_end(ap);
    tn_i_text_put(w->t, "{\n");
    w->depth++;
}

void tn_i_c_close_brace(tn_i_cwriter *w) {
    w->depth--;
    tn_i_c_line(w, "}");
}

/* ---- numbers ---- */

/* Sixteenths below 4096 are read exactly by whatever reads decimals; others are written by their bits. */
static bool plain(double x) { return fabs(x) < 4096 && x * 16 == floor(x * 16); }

static void put_hex(tn_i_text *t, double x, bool single) {
    int e;
    uint64_t bits;
    double m = frexp(fabs(x), &e);
    m *= 2; /* in [1, 2), but for 0 */
    memcpy(&bits, &m, sizeof bits);
    tn_i_text_put(t, "%s0x1.%013" PRIx64 "p%+d%s", signbit(x) ? "-" : "", bits & 0xFFFFFFFFFFFFFu, e - 1,
                  single ? "f" : "");
}

static void put_float(tn_i_text *t, double x, bool single) {
    char s[TN_I_NUMBER_TEXT];
    if (isnan(x))
        tn_i_text_put(t, single ? "NAN" : "(double)NAN");
    else if (isinf(x))
        tn_i_text_put(t, "%s%s", x < 0 ? "-" : "", single ? "INFINITY" : "(double)INFINITY");
    else if (plain(x)) {
        (void)tn_i_format_f64(s, x);
        tn_i_text_put(t, "%s%s", s, single ? "f" : "");
    } else
        put_hex(t, x, single);
}

void tn_i_c_literal(tn_i_text *t, int dtype, uint64_t bits) {
    double d;
    float f;
    const uint32_t half = (uint32_t)bits;
    const uint8_t byte = (uint8_t)bits;
    if (dtype == TN_F64)
        put_float(t, (memcpy(&d, &bits, sizeof d), d), false);
    else if (dtype == TN_F32)
        put_float(t, (memcpy(&f, &half, sizeof f), (double)f), true);
    else
        tn_i_c_number(t, dtype,
                      tn_i_dtype_size(dtype) == 8 ? (const void *)&bits
                      : dtype == TN_BOOL          ? &byte
                                                  : (const void *)&half);
}

/* ---- values ---- */

static const char *literal(tn_i_cwriter *w, const tn_i_l_op *o, char text[TN_C_NAME]) {
    tn_i_text t = {.ctx = w->p->ctx};
    tn_i_c_literal(&t, o->dtype, o->bits);
    const bool parens = t.at && (t.at[0] == '-' || (t.at[0] == '(' && strchr(t.at, ')')[1]));
    (void)snprintf(text, TN_C_NAME, parens ? "(%s)" : "%s", t.at ? t.at : "0");
    w->failed |= t.failed;
    tn_i_text_free(&t);
    return text;
}

const char *tn_i_c_array(tn_i_cwriter *w, uint32_t v, char text[TN_C_NAME]) {
    v = tn_i_c_root(w->p, v);
    const tn_i_cnote *n = &w->note[v];
    if (n->slot != TN_L_NONE)
        (void)snprintf(text, TN_C_NAME, "(s->%s + %" PRIu32 ")", tn_i_c_suffix(w->p->op[v].dtype), n->slot);
    else
        (void)snprintf(text, TN_C_NAME, "v%" PRIu32, n->label);
    return text;
}

/* An array where no loop over its block is open is one whose elements are all alike. */
const char *tn_i_c_value(tn_i_cwriter *w, uint32_t v, char text[TN_C_NAME]) {
    v = tn_i_c_root(w->p, v);
    const tn_i_l_op *o = &w->p->op[v];
    const tn_i_cnote *n = &w->note[v];
    const char *at = w->inside == TN_L_NONE ? "0" : "l";
    if (o->kind == TN_L_NUMBER) return literal(w, o, text);
    if (n->slot != TN_L_NONE && n->array)
        (void)snprintf(text, TN_C_NAME, "s->%s[%" PRIu32 " + %s]", tn_i_c_suffix(o->dtype), n->slot, at);
    else if (n->slot != TN_L_NONE)
        (void)snprintf(text, TN_C_NAME, "s->%s[%" PRIu32 "]", tn_i_c_suffix(o->dtype), n->slot);
    else if (n->array)
        (void)snprintf(text, TN_C_NAME, "v%" PRIu32 "[%s]", n->label, at);
    else
        (void)snprintf(text, TN_C_NAME, "v%" PRIu32, n->label);
    return text;
}

bool tn_i_c_wide(const tn_i_cwriter *w, uint32_t v) {
    const tn_i_cnote *n = &w->note[v];
    return n->wide && n->slot == TN_L_NONE && w->p->op[v].dtype == TN_BOOL && n->call != TN_C_STRIP;
}

static const char *type_of(const tn_i_cwriter *w, uint32_t v) {
    if (!tn_i_c_wide(w, v)) return tn_i_c_name(w->p->op[v].dtype);
    return w->note[v].wide == 8 ? "int64_t" : "int32_t";
}

const char *tn_i_c_define(tn_i_cwriter *w, uint32_t v, char text[TN_C_NAME]) {
    char name[TN_C_NAME];
    const tn_i_cnote *n = &w->note[v];
    (void)tn_i_c_value(w, v, name);
    if (n->slot != TN_L_NONE || n->array)
        (void)snprintf(text, TN_C_NAME, "%.60s = ", name);
    else
        (void)snprintf(text, TN_C_NAME, "const %s %.60s = ", type_of(w, v), name);
    return text;
}

void tn_i_c_declare(tn_i_cwriter *w, uint32_t v) {
    const tn_i_cnote *n = &w->note[v];
    const char *type = type_of(w, v);
    if (n->slot != TN_L_NONE) return;
    if (n->array)
        tn_i_c_line(w, "%s v%" PRIu32 "[%" PRId64 "];", type, n->label, tn_i_c_room(w, n->lanes));
    else
        tn_i_c_line(w, "%s v%" PRIu32 ";", type, n->label);
}

/* ---- affine expressions ---- */

/* Whether numbers of 64 bits suffice on the way: loops that nobody counts run less than 2^50 times. */
static bool fits(const tn_i_cwriter *w, const tn_i_l_affine *a) {
    const tn_i_l_term *t = tn_i_l_terms(w->p, a);
    double sum = fabs((double)a->at);
    for (uint32_t i = 0; i < a->n; i++) {
        const int64_t most = w->p->op[t[i].loop].hi;
        sum += fabs((double)t[i].by) * (most < INT64_C(1) << 50 ? (double)most : 0x1p50);
    }
    return sum < 0x1p62;
}

static size_t put_term(char *text, size_t k, int64_t by, bool first, const char *name) {
    const uint64_t size = by < 0 ? 0u - (uint64_t)by : (uint64_t)by;
    const char *sign = first ? (by < 0 ? "-" : "") : by < 0 ? " - " : " + ";
    const size_t room = TN_C_AFFINE - k;
    int n;
    if (!name)
        n = snprintf(text + k, room, "%s%" PRIu64, sign, size);
    else if (size == 1)
        n = snprintf(text + k, room, "%s%s", sign, name);
    else
        n = snprintf(text + k, room, "%s%" PRIu64 " * %s", sign, size, name);
    return k + (size_t)n;
}

static const char *wrapping(const tn_i_cwriter *w, const tn_i_l_affine *a, char text[TN_C_AFFINE]) {
    const tn_i_l_term *t = tn_i_l_terms(w->p, a);
    size_t k = (size_t)snprintf(text, TN_C_AFFINE, "(int64_t)(UINT64_C(%" PRIu64 ")", (uint64_t)a->at);
    for (uint32_t i = 0; i < a->n; i++)
        k += (size_t)snprintf(text + k, TN_C_AFFINE - k, " + UINT64_C(%" PRIu64 ") * (uint64_t)i%" PRIu32,
                              (uint64_t)t[i].by, w->note[t[i].loop].label);
    (void)snprintf(text + k, TN_C_AFFINE - k, ")");
    return text;
}

const char *tn_i_c_affine(tn_i_cwriter *w, const tn_i_l_affine *a, char text[TN_C_AFFINE]) {
    const tn_i_l_term *t = tn_i_l_terms(w->p, a);
    char name[16];
    size_t k = 0;
    if (!fits(w, a)) return wrapping(w, a, text);
    for (uint32_t i = 0; i < a->n; i++) {
        (void)snprintf(name, sizeof name, "i%" PRIu32, w->note[t[i].loop].label);
        k = put_term(text, k, t[i].by, i == 0, name);
    }
    if (a->at || a->n == 0) (void)put_term(text, k, a->at, a->n == 0, NULL);
    return text;
}

/* ---- arrays ---- */

const char *tn_i_c_pointer(tn_i_cwriter *w, uint32_t array, char text[TN_C_NAME]) {
    const tn_i_l_array *a = &w->p->array[array];
    const char *type = tn_i_c_name(a->dtype), *read = a->role == TN_L_IN || a->role == TN_L_CONST ? "const " : "";
    (void)snprintf(text, TN_C_NAME, "p%" PRIu32, array);
    if (w->seen[array]) return text;
    w->seen[array] = true;
    tn_i_text *t = &w->pointers;
    tn_i_text_put(t, "    %s%s *const p%" PRIu32 " = ", read, type, array);
    if (a->role != TN_L_CONST && a->at)
        tn_i_text_put(t, "(%s%s *)(%svoid *)(base[%" PRIu32 "] + %" PRId64 ");", read, type, read, a->base, a->at);
    else if (a->role != TN_L_CONST)
        tn_i_text_put(t, "(%s%s *)(%svoid *)base[%" PRIu32 "];", read, type, read, a->base);
    else if (w->g->native) {
        w->table = true;
        tn_i_text_put(t, "T[%" PRIu32 "];", tn_i_c_address(w->g, a->data));
    } else {
        w->failed |= !tn_i_c_constant(w->g, a->dtype, a->data, a->count, t);
        tn_i_text_put(t, ";");
    }
    tn_i_text_put(t, " /* %s */\n", a->name);
    return text;
}
