/* Sites: the place of one operator, its operands as variables, its result as a value. */
#include "trace/trace.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- values --------------------------------------------------------------------- */

static int64_t seal(const tn_val *x) {
    const uint64_t k = tn_i_hash_u64((uint64_t)(uintptr_t)x->ctx, (uint64_t)x->trace << 32 | x->id);
    return (int64_t)(k >> 1);
}

tn_val tn_i_value(tn_ctx *c, uint32_t trace, tn_i_var v) {
    tn_val x = {.ctx = c, .trace = trace, .id = v};
    x.num.i = seal(&x);
    return x;
}

bool tn_i_value_sound(const tn_val *x) { return x->ctx ? x->num.i == seal(x) : x->trace <= 4; }

tn_ctx *tn_i_ctx_of(tn_ctx *c, size_t n, const tn_val *x) {
    for (size_t i = 0; x && i < n && !c; i++)
        if (tn_i_value_sound(&x[i])) c = x[i].ctx;
    return c;
}

/* ---- opening ------------------------------------------------------------------- */

static const tn_i_loc *place(tn_ctx *c, const char *file, int line) {
    return tn_i_loc_of(c, file ? file : "", line > 0 ? (uint32_t)line : 0, 0, c->scope);
}

void tn_i_site_begin(tn_i_site *s, const char *name, tn_ctx *c, const char *file, int line) {
    *s = (tn_i_site){.name = name, .line = line > 0 ? (uint32_t)line : 0};
    s->none = (tn_i_builder){.ctx = c, .failed = true};
    s->b = &s->none;
    s->failed = true;
    if (!c) return;
    s->t = c->trace;
    if (!s->t) {
        (void)tn_i_fail(c, TN_EINVAL, place(c, file, line),
                        "%s: no trace is active; operators work inside a callback of tn_trace", name);
        return;
    }
    s->b = &s->t->b;
    s->failed = s->b->failed;
    if (s->failed) return;
    s->b->loc = place(c, file, line);
    if (!s->b->loc) s->b->failed = true;
}

void tn_i_site_open(tn_i_site *s, const char *name, tn_ctx *c, size_t n, const tn_val *x, tn_i_var *v, uint32_t numbers,
                    const char *file, int line) {
    tn_i_site_begin(s, name, tn_i_ctx_of(c, n, x), file, line);
    for (size_t i = 0; i < n; i++) v[i] = TN_NOVAR;
    if (n && !x) {
        (void)tn_i_site_fail(s, TN_EINVAL, -1, "the operands are NULL");
        return;
    }
    s->x = x;
    s->v = v;
    s->n = n;
    for (size_t i = 0; i < n; i++) {
        bool number = tn_i_is_number(&x[i]);
        if (!number || i >= 32 || !(numbers >> i & 1)) v[i] = tn_i_site_resolve(s, &x[i], (int)i);
    }
}

void tn_i_site_open_many(tn_i_site *s, const char *name, tn_ctx *c, size_t n, const tn_val *x, size_t more,
                         const char *file, int line) {
    if (n > INT32_MAX || more > INT32_MAX) {
        tn_i_site_begin(s, name, c, file, line);
        (void)tn_i_site_fail(s, TN_EINVAL, -1, "too many operands or results");
        return;
    }
    c = tn_i_ctx_of(c, n, x);
    tn_i_site_begin(s, name, c, file, line);
    if (!c) return;
    const size_t room = n + more + 1; /* own is never 0, also where there are no operands */
    tn_i_var *v = tn_i_alloc_array(c, room, sizeof *v);
    if (!v) {
        s->b->failed = true;
        return;
    }
    bool failed = s->failed;
    tn_i_site_open(s, name, c, n, x, v, 0, file, line);
    s->failed = failed;
    s->own = room;
}

/* ---- closing ------------------------------------------------------------------- */

/* A failure inside a composition names the primitive; the user wrote the composition. */
static void keep_error(tn_i_site *s) {
    tn_ctx *c = s->b->ctx;
    char mark[80];
    (void)snprintf(mark, sizeof mark, "%s: ", s->name);
    if (!strstr(c->message, mark)) (void)tn_i_fail(c, c->status, NULL, "%s, in %s", c->message, s->name);
    tn_i_trace_keep_error(s->t);
}

static void finish(tn_i_site *s) {
    if (s->t && s->b->failed && !s->failed && !s->t->reported) keep_error(s);
    if (s->own) tn_i_free(s->b->ctx, s->v, s->own * sizeof *s->v);
    s->own = 0;
}

static bool all_sound(const tn_i_site *s) {
    for (size_t i = 0; i < s->n; i++)
        if (!tn_i_value_sound(&s->x[i])) return false;
    return true;
}

/* Poison without a trace says in `num` why there is none: an operand that was never set, or no context. */
static tn_val value(const tn_i_site *s, tn_i_var v) {
    if (!s->t) return (tn_val){.id = s->line, .num.i = !all_sound(s)};
    return tn_i_value(s->b->ctx, s->t->serial, s->b->failed ? TN_NOVAR : v);
}

tn_val tn_i_site_close(tn_i_site *s, tn_i_var result) {
    finish(s);
    return value(s, result);
}

void tn_i_site_close_many(tn_i_site *s, tn_i_var first, size_t n, tn_val *out) {
    finish(s);
    for (size_t j = 0; out && j < n; j++) out[j] = value(s, first == TN_NOVAR ? first : first + (tn_i_var)j);
}

/* ---- failing ------------------------------------------------------------------- */

static void describe(const tn_i_site *s, size_t i, char *text, size_t room) {
    char type[TN_I_TYPE_TEXT];
    const tn_val *x = &s->x[i];
    const tn_type t = s->v[i] != TN_NOVAR ? *tn_i_site_type(s, s->v[i]) : tn_val_type(*x);
    if (tn_i_type_valid(&t))
        (void)snprintf(text, room, "%s", tn_i_type_text(type, &t));
    else if (!tn_i_is_number(x))
        (void)snprintf(text, room, "?");
    else if (x->trace == 1)
        (void)snprintf(text, room, "number %.17g", x->num.d);
    else if (x->trace == 4)
        (void)snprintf(text, room, "number %llu", (unsigned long long)(uint64_t)x->num.i);
    else
        (void)snprintf(text, room, "number %lld", (long long)x->num.i);
}

static void describe_all(const tn_i_site *s, char *text, size_t room) {
    size_t at = 0;
    text[0] = 0;
    for (size_t i = 0; i < s->n && i < 6 && at < room; i++) {
        char one[TN_I_TYPE_TEXT];
        describe(s, i, one, sizeof one);
        at += (size_t)snprintf(text + at, room - at, "%s%s", i ? ", " : " (operands: ", one);
    }
    if (at && at < room) (void)snprintf(text + at, room - at, "%s", s->n > 6 ? ", ...)" : ")");
}

tn_i_var tn_i_site_fail(tn_i_site *s, tn_status status, int operand, const char *fmt, ...) {
    if (s->b->failed) return TN_NOVAR;
    char reason[384], which[32] = "", operands[384];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(reason, sizeof reason, fmt, ap);
    va_end(ap);
    if (operand >= 0) (void)snprintf(which, sizeof which, "operand %d: ", operand);
    describe_all(s, operands, sizeof operands);
    tn_i_builder_fail(s->b, status, "%s: %s%s%s", s->name, which, reason, operands);
    return TN_NOVAR;
}

/* ---- operands -------------------------------------------------------------------- */

static tn_i_trace *owner(tn_i_trace *t, uint32_t serial) {
    while (t && t->serial != serial) t = t->parent;
    return t;
}

/* Where the table has, or would have, the outer value. */
static size_t captured_slot(const tn_i_trace *t, const uint32_t *table, size_t capacity, const tn_val *x) {
    size_t at = tn_i_hash_u64(x->trace, x->id) & (capacity - 1);
    while (table[at]) {
        const tn_val *have = &t->capture[table[at] - 1].outer;
        if (have->trace == x->trace && have->id == x->id) break;
        at = (at + 1) & (capacity - 1);
    }
    return at;
}

static bool grow_captured(tn_i_trace *t) {
    tn_ctx *c = t->b.ctx;
    if (!tn_i_grow(c, (void **)(void *)&t->capture, &t->ccapture, t->ncapture + 1, sizeof *t->capture)) return false;
    if (2 * (t->ncapture + 1) <= t->ccaptured) return true;
    size_t capacity = t->ccaptured ? 2 * t->ccaptured : 16;
    uint32_t *table = tn_i_alloc_array(c, capacity, sizeof *table);
    if (!table) return false;
    for (size_t i = 0; i < t->ncapture; i++)
        table[captured_slot(t, table, capacity, &t->capture[i].outer)] = (uint32_t)(i + 1);
    tn_i_free(c, t->captured, t->ccaptured * sizeof *t->captured);
    t->captured = table;
    t->ccaptured = capacity;
    return true;
}

/* x of an enclosing trace as an input of t.  A number is made again instead. */
static tn_i_var capture(tn_i_trace *t, const tn_i_trace *from, const tn_val *x) {
    uint64_t bits;
    tn_type type = *from->b.val[x->id].type;
    if (tn_i_known_scalar(&from->b, x->id, &bits)) {
        tn_i_var v = tn_i_literal(&t->b, type.dtype, bits);
        return type.rank ? tn_i_broadcast(&t->b, v, type.rank, type.dim, NULL) : v;
    }
    if (!grow_captured(t) || !tn_i_axes_of(t->b.ctx, tn_i_over(&type) | t->over, &type.varying)) {
        t->b.failed = true;
        return TN_NOVAR;
    }
    size_t at = captured_slot(t, t->captured, t->ccaptured, x);
    if (t->captured[at]) return t->capture[t->captured[at] - 1].inner;
    tn_i_var v = tn_i_input(&t->b, &type, false);
    if (v == TN_NOVAR) return v;
    t->capture[t->ncapture++] = (tn_i_capture){.outer = *x, .inner = v};
    t->captured[at] = (uint32_t)t->ncapture;
    return v;
}

static tn_i_var refuse(tn_i_site *s, const tn_val *x, int operand) {
    if (!tn_i_value_sound(x))
        return tn_i_site_fail(s, TN_EINVAL, operand, "is not a traced value: its memory was never set, or is gone");
    if (tn_i_is_number(x)) return tn_i_site_fail(s, TN_EINVAL, operand, "is a plain number where an array is needed");
    if (x->ctx) return tn_i_site_fail(s, TN_EINVAL, operand, "belongs to another context");
    if (x->id && x->num.i)
        return tn_i_site_fail(s, TN_EINVAL, operand, "is made in line %u of a value that was never set",
                              (unsigned)x->id);
    if (x->id)
        return tn_i_site_fail(
            s, TN_EINVAL, operand,
            "is not a traced value: what made it in line %u was given NULL for the context, and no array of "
            "the trace to find it by",
            (unsigned)x->id);
    return tn_i_site_fail(s, TN_EINVAL, operand,
                          "is not a traced value (it was never set, or stands behind the last input)");
}

tn_i_var tn_i_site_resolve(tn_i_site *s, const tn_val *x, int operand) {
    tn_i_trace *t = s->t;
    if (!t || s->b->failed) return TN_NOVAR;
    if (x->ctx != s->b->ctx || !tn_i_value_sound(x)) return refuse(s, x, operand);
    tn_i_trace *from = owner(t, x->trace);
    if (!from) return tn_i_site_fail(s, TN_EINVAL, operand, "is a value of a trace that has ended");
    if (from->b.failed) { /* its error is the one to report */
        (void)tn_i_fail(x->ctx, from->status, NULL, "%s", from->message);
        tn_i_trace_adopt_error(t);
        return TN_NOVAR;
    }
    for (const tn_i_trace *u = t; u != from; u = u->parent)
        if (u->closed)
            return tn_i_site_fail(s, TN_EINVAL, operand,
                                  "is a value of an enclosing trace, which %s does not take; pass it as an argument",
                                  u->closed);
    return from == t ? x->id : capture(t, from, x);
}

/* ---- plain numbers ----------------------------------------------------------------- */

static tn_i_var bad_number(tn_i_site *s, size_t i, int dtype) {
    const tn_val *x = &s->x[i];
    char text[64];
    describe(s, i, text, sizeof text);
    return tn_i_site_fail(s, TN_ETYPE, (int)i, "%s is not representable in %s%s", text, tn_i_dtype_name(dtype),
                          x->trace == 1 && !tn_i_is_float(dtype) ? "; use tn_convert on the array" : "");
}

static tn_i_var float_number(tn_i_site *s, size_t i, int dtype) {
    const tn_val *x = &s->x[i];
    double d = x->trace == 1 ? x->num.d : x->trace == 4 ? (double)(uint64_t)x->num.i : (double)x->num.i;
    unsigned char at[8];
    tn_i_element_set(dtype, at, d);
    if (isfinite(d) && isinf(tn_i_element(dtype, at))) return bad_number(s, i, dtype);
    return tn_i_literal_f64(s->b, dtype, d);
}

static bool fits(int dtype, int64_t k, bool natural) {
    const int width = (int)tn_i_dtype_size(dtype) * 8;
    if (tn_i_is_unsigned(dtype) && k < 0 && !natural) return false;
    if (width == 64) return true;
    return tn_i_is_unsigned(dtype) ? k >> width == 0 : k >> (width - 1) == 0 || k >> (width - 1) == -1;
}

static tn_i_var integer_number(tn_i_site *s, size_t i, int dtype) {
    const tn_val *x = &s->x[i];
    int64_t k = x->num.i;
    if (x->trace == 4 && k < 0 && dtype != TN_U64) return bad_number(s, i, dtype); /* beyond INT64_MAX */
    if (x->trace == 1) {
        if (!(x->num.d >= -0x1p63 && x->num.d < 0x1p63) || x->num.d != trunc(x->num.d)) return bad_number(s, i, dtype);
        k = (int64_t)x->num.d;
    }
    if (dtype != TN_BOOL && !fits(dtype, k, x->trace == 4)) return bad_number(s, i, dtype);
    if (dtype == TN_BOOL && k != 0 && k != 1) return bad_number(s, i, dtype);
    return tn_i_literal_i64(s->b, dtype, k);
}

void tn_i_site_number(tn_i_site *s, size_t i, int dtype) {
    if (s->b->failed || !tn_i_is_number(&s->x[i]) || s->v[i] != TN_NOVAR) return;
    s->v[i] = tn_i_is_float(dtype) ? float_number(s, i, dtype) : integer_number(s, i, dtype);
}

tn_val tn_number_self(tn_val x) { return x; }
tn_val tn_number_f64(double x) { return (tn_val){.trace = 1, .num.d = x}; }
tn_val tn_number_i64(int64_t x) { return (tn_val){.trace = 2, .num.i = x}; }
tn_val tn_number_bool(bool x) { return (tn_val){.trace = 3, .num.i = x}; }

tn_val tn_number_u64(uint64_t x) {
    tn_val v = {.trace = 4};
    memcpy(&v.num.i, &x, sizeof x);
    return v;
}

/* ---- axes and lists ------------------------------------------------------------------ */

tn_int_list tn_ints_of(size_t n, const int64_t *v) { return (tn_int_list){n, v}; }
tn_val_list tn_vals_of(size_t n, const tn_val *v) { return (tn_val_list){n, v}; }

bool tn_i_site_axis(tn_i_site *s, int64_t axis, int rank, int *out) {
    *out = 0;
    if (s->b->failed) return false;
    if (axis < -rank || axis >= rank) {
        (void)tn_i_site_fail(s, TN_EINVAL, -1, "axis %lld is out of range for rank %d", (long long)axis, rank);
        return false;
    }
    *out = (int)(axis < 0 ? axis + rank : axis);
    return true;
}

bool tn_i_site_flags(tn_i_site *s, tn_flags flags, tn_flags takes) {
    if (!s->b->failed && flags & ~takes)
        (void)tn_i_site_fail(s, TN_EINVAL, -1, "flags: 0x%x is not among those it takes, 0x%x", flags & ~takes, takes);
    return !s->b->failed;
}

bool tn_i_site_axes(tn_i_site *s, tn_int_list axes, int rank, uint32_t *set) {
    *set = 0;
    for (size_t i = 0; i < axes.n; i++) {
        int axis;
        if (!tn_i_site_axis(s, axes.v[i], rank, &axis)) return false;
        if (*set >> axis & 1) {
            (void)tn_i_site_fail(s, TN_EINVAL, -1, "axis %d is given twice", axis);
            return false;
        }
        *set |= 1u << axis;
    }
    return !s->b->failed;
}

/* ---- what a value is ------------------------------------------------------------------- */

tn_ctx *tn_val_ctx(tn_val x) { return tn_i_ctx_of(NULL, 1, &x); }

tn_type tn_val_type(tn_val x) {
    const tn_ctx *c = tn_i_ctx_of(NULL, 1, &x);
    const tn_i_trace *t = c ? owner(c->trace, x.trace) : NULL;
    if (!t || x.id >= t->b.nval) return tn_type_of(TN_BOOL, TN_MAX_RANK + 1, NULL);
    return *t->b.val[x.id].type;
}

int tn_rank(tn_val x) { return tn_val_type(x).rank; }

int64_t tn_dim(tn_val x, int axis) {
    tn_type t = tn_val_type(x);
    if (axis < 0) axis += t.rank;
    return t.rank >= 0 && axis >= 0 && axis < t.rank ? t.dim[axis] : -1;
}

int64_t tn_size(tn_val x) {
    tn_type t = tn_val_type(x);
    return tn_i_type_valid(&t) ? tn_i_count(&t) : -1;
}
