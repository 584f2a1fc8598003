/* Arithmetic: a primitive's scalar body, in place, or in a function where it reads an operand twice; native: functions
 * of vectors, and what only the library has. */
#include "cgen/inside.h"
#include "loop/inside.h"
#include "prims/held.h"
#include "vec/vec.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- bodies ---- */

/* Those that no primitive has, in the language of prims/c_text.h. */
static const char *own_body(int code, int from) {
    const bool wide = tn_i_dtype_size(from) == 8;
    const int memory = tn_i_l_fits(code);
    if (memory >= 0) return tn_i_held_bodies_of(memory)->as.text;
    switch (code) {
    case TN_L_fold_max: return "y > x || y != y ? y : x";
    case TN_L_fold_min: return "y < x || y != y ? y : x";
    case TN_L_shl: return wide ? "(uint64_t)x << ((uint64_t)y & 63)" : "(uint32_t)x << ((uint32_t)y & 31)";
    case TN_L_shr: return wide ? "(uint64_t)x >> ((uint64_t)y & 63)" : "(uint32_t)x >> ((uint32_t)y & 31)";
    case TN_L_ctz: return wide ? "tn_i_zeros((uint64_t)x, 64)" : "tn_i_zeros((uint32_t)x, 32)";
    case TN_L_signbit: return "signbit(x) != 0";
    /* of bools; as comparisons with a constant, compilers say that they are always true */
    case TN_L_lt: return "(!x) & y";
    case TN_L_le: return "(!x) | y";
    case TN_L_gt: return "x & (!y)";
    case TN_L_ge: return "x | (!y)";
    default:
        return from == TN_F64   ? "tn_i_f64_as_i64(x)"
               : from == TN_F32 ? "tn_i_f32_as_i32(x)"
               : from == TN_I64 ? "tn_i_i64_as_f64(x)"
                                : "tn_i_i32_as_f32(x)";
    }
}

TN_C_ONLY(
    zeros, static int tn_i_zeros(uint64_t x, int width) {
        int n = 0;
        for (int h = width / 2; h; h /= 2)
            if (!(x & ((UINT64_C(1) << h) - 1))) {
                n += h;
                x >>= h;
            }
        return x & 1 ? n : width;
    })
#define AS(name, from, to)                    \
    TN_C_ONLY(                                \
        name, static to tn_i_##name(from x) { \
            to y;                             \
            memcpy(&y, &x, sizeof y);         \
            return y;                         \
        })
AS(f64_as_i64, double, int64_t)
AS(i64_as_f64, int64_t, double)
AS(f32_as_i32, float, int32_t)
AS(i32_as_f32, int32_t, float)
static const tn_i_c_helper own_helpers[] = {{"tn_i_zeros", zeros},           {"tn_i_f64_as_i64", f64_as_i64},
                                            {"tn_i_i64_as_f64", i64_as_f64}, {"tn_i_f32_as_i32", f32_as_i32},
                                            {"tn_i_i32_as_f32", i32_as_f32}, {NULL, NULL}};

/* Native text begins with the first (file.c). */
#define NATIVE_HELPERS (own_helpers + 1)

/* What a MAP is computed with. */
typedef struct body {
    const tn_prim *prim; /* NULL: none */
    const char *text;    /* NULL: none */
    char libm[32];       /* the call that stands for it, or "" */
    tn_i_strip *strip;
} body;

static const tn_i_c_helper *helpers_of(const tn_i_cwriter *w, uint32_t k, const body *b) {
    if (tn_i_l_fits(w->p->op[k].code) >= 0) return tn_i_half_helpers;
    return b->prim ? b->prim->c_helpers : w->g->native ? NATIVE_HELPERS : own_helpers;
}

/* A function of vectors of three operands is a strip to all back ends. */
static void set_vector_strip(const tn_i_cwriter *w, const tn_i_l_op *o, body *b) {
    const char *name = b->prim->vector[o->dtype];
    for (int i = 0; i < o->nin; i++)
        if (w->p->op[o->in[i]].dtype != o->dtype) return;
    const tn_i_vec v = name ? tn_i_vec_math(name, w->g->isa, w->g->accurate) : (tn_i_vec){.strip = NULL};
    if (v.strip) b->strip = v.strip;
}

/* Of an update: what is there, and what is given. */
static int operands_of(const tn_i_l_op *o) { return o->kind == TN_L_STORE ? 2 : o->nin; }
static int dtype_of(const tn_i_cwriter *w, const tn_i_l_op *o, int i) {
    return o->kind == TN_L_STORE ? o->dtype : w->p->op[o->in[i]].dtype;
}

static body body_of(const tn_i_cwriter *w, uint32_t k) {
    const tn_i_l_op *o = &w->p->op[k];
    const int id = o->code == TN_L_fn ? (int)o->which : tn_i_l_rows[o->code].prim, nin = operands_of(o);
    const int from = nin ? dtype_of(w, o, 0) : o->dtype;
    const bool ordered = o->code == TN_L_lt || o->code == TN_L_le || o->code == TN_L_gt || o->code == TN_L_ge;
    if (id < 0 || (ordered && from == TN_BOOL)) return (body){.text = own_body(o->code, from)};
    body b = {.prim = w->p->ctx->prims[id]};
    tn_type type[3], out = tn_type_of((tn_dtype)o->dtype, 0, NULL);
    const tn_type *in[3];
    for (int i = 0; i < nin; i++) {
        type[i] = tn_type_of((tn_dtype)dtype_of(w, o, i), 0, NULL);
        in[i] = &type[i];
    }
    const tn_i_param param = {.kind = b.prim->params ? b.prim->params[0].kind : TN_K_NONE,
                              .u.i = o->code == TN_L_fn        ? o->lo
                                     : o->code == TN_L_convert ? o->dtype
                                                               : tn_i_l_rows[o->code].param};
    const tn_i_query q = {
        .ctx = w->p->ctx, .prim = b.prim, .p = &param, .nin = (uint32_t)nin, .nout = 1, .in = in, .out = &out};
    b.strip = tn_i_scalar_body(&q, &b.text);
    if (w->g->native && o->nin == 3) set_vector_strip(w, o, &b);
    if (w->g->libm && o->nin <= 2 && tn_i_c_in_libm(b.prim->vector[o->dtype])) {
        (void)snprintf(b.libm, sizeof b.libm, o->nin == 1 ? "%s(x)" : "%s(x, y)", b.prim->vector[o->dtype]);
        for (int i = 0; i < o->nin; i++)
            if (in[i]->dtype != o->dtype) b.libm[0] = 0;
    }
    return b;
}

static const char *text_of(const body *b) { return b->libm[0] ? b->libm : b->text; }

/* The function of vectors that every back end calls. */
static const void *vector_of(const tn_i_cwriter *w, uint32_t k, const tn_prim *prim) {
    const tn_i_l_op *o = &w->p->op[k];
    const char *name = prim ? prim->vector[o->dtype] : NULL;
    for (int i = 0; i < o->nin; i++)
        if (w->p->op[o->in[i]].dtype != o->dtype) return NULL;
    if (!name || o->nin > 2) return NULL;
    const tn_i_vec v = tn_i_vec_math(name, w->g->isa, w->g->accurate);
    return v.itself ? (const void *)(uintptr_t)v.itself() : NULL;
}

/* ---- what native text has ---- */

static bool self_contained(const char *text) {
    static const char *const functions[] = {"sqrt",  "sqrtf", "fabs",    "fabsf",    "floor",  "floorf",   "ceil",
                                            "ceilf", "rint",  "rintf",   "trunc",    "truncf", "copysign", "copysignf",
                                            "fma",   "fmaf",  "signbit", "isfinite", "isnan",  NULL};
    for (const char *s = text; *s; s++) { /* names in front of a parenthesis */
        size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
        if (n == 0) continue;
        if (s[n] == '(' && strncmp(s, "tn_i_", 5) != 0) {
            bool known = false;
            for (int i = 0; functions[i]; i++) known |= strlen(functions[i]) == n && !strncmp(s, functions[i], n);
            if (!known) return false;
        } else if (s[n] == '(')
            return false;
        s += n - 1;
    }
    return true;
}

uint8_t tn_i_c_way(const tn_i_cwriter *w, uint32_t k) {
    const body b = body_of(w, k);
    if (!w->g->native || !b.prim) return TN_C_PLACE;
    if (vector_of(w, k, b.prim)) return TN_C_VECTOR;
    return b.text && self_contained(b.text) ? TN_C_PLACE : TN_C_STRIP;
}

/* ---- in place ---- */

/* An operand is read twice: compilers warn of numbers that are compared with themselves, and literals are long. */
static bool reads_again(const tn_i_cwriter *w, const tn_i_l_op *o, const char *text) {
    int n[3] = {0};
    for (int i = 0; i < o->nin && strpbrk(text, "<>"); i++) /* nor is anything below an unsigned 0 */
        if (w->p->op[o->in[i]].dtype == TN_U32 && w->p->op[o->in[i]].kind == TN_L_NUMBER) return true;
    for (const char *s = text; *s; s++) {
        const size_t all = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.");
        if (all == 1 && *s >= 'x' && *s <= 'z') n[*s - 'x']++;
        if (all) s += all - 1;
    }
    for (int i = 0; i < o->nin && strpbrk(text, "<>=&|^"); i++)
        for (int j = 0; j < i; j++)
            if (o->in[i] == o->in[j]) return true;
    return n[0] > 1 || n[1] > 1 || n[2] > 1;
}

/* "tansy_max_of_f64", "tansy_convert_of_f64_i32". */
static void function_name(const tn_i_cwriter *w, uint32_t k, const body *b, char text[TN_C_NAME]) {
    const tn_i_l_op *o = &w->p->op[k];
    const int from = dtype_of(w, o, o->code == TN_L_select);
    const char *name = o->code == TN_L_fn ? b->prim->name : tn_i_l_rows[o->code].name;
    char param[24] = "";
    if (o->code == TN_L_fn && o->lo) (void)snprintf(param, sizeof param, "_p%" PRIu64, (uint64_t)o->lo);
    (void)snprintf(text, TN_C_NAME, "tansy_%.40s_of_%s%s%s%s", name, tn_i_c_suffix(from), from == o->dtype ? "" : "_",
                   from == o->dtype ? "" : tn_i_c_suffix(o->dtype), param);
}

static void write_function(tn_i_cwriter *w, uint32_t k, const body *b, const char *name) {
    const tn_i_l_op *o = &w->p->op[k];
    tn_i_cgen *g = w->g;
    tn_i_text text = {.ctx = g->ctx};
    if (!tn_i_c_once(g, name)) return;
    tn_i_c_put(&text, text_of(b), o->dtype, NULL);
    tn_i_c_need(g, helpers_of(w, k, b), text.at);
    tn_i_text_put(&g->helpers, "#ifndef TANSY_HAS_%s\n#define TANSY_HAS_%s\nstatic inline %s %s(", name, name,
                  tn_i_c_name(o->dtype), name);
    for (int i = 0; i < operands_of(o); i++)
        tn_i_text_put(&g->helpers, "%s%s %c", i ? ", " : "", tn_i_c_name(dtype_of(w, o, i)), 'x' + i);
    tn_i_text_put(&g->helpers, ") {\n    return (%s)(%s);\n}\n#endif\n", tn_i_c_name(o->dtype),
                  text.at ? text.at : "0");
    w->failed |= text.failed;
    tn_i_text_free(&text);
}

static void in_place(tn_i_cwriter *w, uint32_t k, const body *b) {
    const tn_i_l_op *o = &w->p->op[k];
    char value[3][TN_C_NAME], define[TN_C_NAME], function[TN_C_NAME];
    const char *const name[3] = {value[0], value[1], value[2]};
    for (int i = 0; i < o->nin; i++) (void)tn_i_c_value(w, o->in[i], value[i]);
    (void)tn_i_c_define(w, k, define);
    if (reads_again(w, o, text_of(b))) {
        function_name(w, k, b, function);
        write_function(w, k, b, function);
        tn_i_c_line(w, "%s%s(%s%s%s%s%s);", define, function, value[0], o->nin > 1 ? ", " : "",
                    o->nin > 1 ? value[1] : "", o->nin > 2 ? ", " : "", o->nin > 2 ? value[2] : "");
        return;
    }
    tn_i_text text = {.ctx = w->g->ctx};
    tn_i_c_put(&text, text_of(b), o->dtype, name);
    tn_i_c_need(w->g, helpers_of(w, k, b), text.at);
    const bool cast = tn_i_is_int(o->dtype) || o->code == TN_L_convert;
    if (text.at && cast)
        tn_i_c_line(w, "%s(%s)(%s);", define, tn_i_c_name(o->dtype), text.at);
    else if (text.at)
        tn_i_c_line(w, "%s%s;", define, text.at);
    w->failed |= text.failed;
    tn_i_text_free(&text);
}

void tn_i_c_updated(tn_i_cwriter *w, uint32_t k, const char *there, const char *given, tn_i_text *t) {
    const body b = body_of(w, k);
    char function[TN_C_NAME];
    function_name(w, k, &b, function);
    write_function(w, k, &b, function);
    tn_i_text_put(t, "%s(%s, %s)", function, there, given);
}

/* ---- native: numbers ---- */

static int lanes_of(const tn_i_cwriter *w, int dtype) {
    return tn_i_isa_bytes(w->g->isa) / (int)tn_i_dtype_size(dtype);
}

/* Each lane of a vector is the number: what a function makes of it does not depend on where it stands. */
static void one_by_vector(tn_i_cwriter *w, uint32_t k, const void *f) {
    const tn_i_l_op *o = &w->p->op[k];
    char x[TN_C_NAME], y[TN_C_NAME], define[TN_C_NAME];
    (void)tn_i_c_define(w, k, define);
    (void)tn_i_c_value(w, o->in[0], x);
    if (o->nin > 1) (void)tn_i_c_value(w, o->in[1], y);
    tn_i_c_line(w, "%stansy_one%d_%sx%d(T[%" PRIu32 "], %s%s%s);", define, o->nin, tn_i_c_suffix(o->dtype),
                lanes_of(w, o->dtype), tn_i_c_address(w->g, f), x, o->nin > 1 ? ", " : "", o->nin > 1 ? y : "");
}

/* Functions k .. k + n - 1, side by side. */
static void some_by_vector(tn_i_cwriter *w, uint32_t k, uint32_t n, const void *f) {
    const tn_i_l_op *o = &w->p->op[k];
    const char *type = tn_i_c_name(o->dtype);
    const int lanes = lanes_of(w, o->dtype);
    char x[TN_C_NAME];
    for (uint32_t j = k; j < k + n; j++) tn_i_c_declare(w, j);
    tn_i_c_open_brace(w, "%s", "");
    for (int i = 0; i < o->nin; i++) {
        tn_i_c_line(w, "%s x%d[%d];", type, i, lanes);
        for (uint32_t j = 0; j < n; j++)
            tn_i_c_line(w, "x%d[%" PRIu32 "] = %s;", i, j, tn_i_c_value(w, w->p->op[k + j].in[i], x));
    }
    tn_i_c_line(w, "%s y[%d];", type, lanes);
    tn_i_c_line(w, "tansy_all%d_%sx%d(T[%" PRIu32 "], %" PRIu32 ", x0, %sy);", o->nin, tn_i_c_suffix(o->dtype), lanes,
                tn_i_c_address(w->g, f), n, o->nin > 1 ? "x1, " : "");
    for (uint32_t j = 0; j < n; j++) tn_i_c_line(w, "%s = y[%" PRIu32 "];", tn_i_c_value(w, k + j, x), j);
    tn_i_c_close_brace(w);
}

uint32_t tn_i_c_functions(tn_i_cwriter *w, uint32_t k, uint32_t last) {
    uint32_t n = w->note[k].call == TN_C_VECTOR && w->p->op[k].nin <= 2 ? tn_i_l_together(w->p, k, last) : 1;
    const uint32_t most = (uint32_t)lanes_of(w, w->p->op[k].dtype);
    if (n > most) n = most;
    for (uint32_t j = k + 1; j < k + n; j++)
        if (!w->note[j].needed || w->note[j].call != TN_C_VECTOR || w->at[j] != TN_L_NONE) n = j - k;
    if (n < 2) return k;
    w->table = true;
    some_by_vector(w, k, n, vector_of(w, k, body_of(w, k).prim));
    return k + n;
}

static void one_by_strip(tn_i_cwriter *w, uint32_t k, tn_i_strip *strip) {
    const tn_i_l_op *o = &w->p->op[k];
    char x[TN_C_NAME], out[TN_C_NAME];
    tn_i_c_declare(w, k);
    (void)tn_i_c_value(w, k, out);
    tn_i_c_open_brace(w, "%s", "");
    for (int i = 0; i < o->nin; i++)
        tn_i_c_line(w, "const %s x%d = %s;", tn_i_c_name(w->p->op[o->in[i]].dtype), i, tn_i_c_value(w, o->in[i], x));
    tn_i_c_line(w, "((strip_fn *)T[%" PRIu32 "])(1, (const void *const[]){&x0%s%s}, ones, &%s, 1);",
                tn_i_c_address(w->g, (const void *)(uintptr_t)strip), o->nin > 1 ? ", &x1" : "",
                o->nin > 2 ? ", &x2" : "", out);
    tn_i_c_close_brace(w);
}

/* ---- native: a block ---- */

/* The operand as an array of the block. */
static void spread(tn_i_cwriter *w, uint32_t k, int i, char text[TN_C_NAME]) {
    const uint32_t v = tn_i_c_root(w->p, w->p->op[k].in[i]), loop = w->note[k].lanes;
    char x[TN_C_NAME];
    if (w->note[v].array && !tn_i_c_wide(w, v)) {
        (void)tn_i_c_array(w, v, text);
        return;
    }
    (void)snprintf(text, TN_C_NAME, "x%d", i);
    tn_i_c_line(w, "%s x%d[%" PRId64 "];", tn_i_c_name(w->p->op[v].dtype), i, tn_i_c_room(w, loop));
    tn_i_c_open_lanes(w, loop, false);
    tn_i_c_line(w, "x%d[l] = %s;", i, tn_i_c_value(w, v, x));
    tn_i_c_close_lanes(w);
}

void tn_i_c_call_block(tn_i_cwriter *w, uint32_t k) {
    const tn_i_l_op *o = &w->p->op[k];
    const body b = body_of(w, k);
    char x[3][TN_C_NAME], out[TN_C_NAME], count[TN_C_NAME];
    const void *f = w->note[k].call == TN_C_VECTOR ? vector_of(w, k, b.prim) : (const void *)(uintptr_t)b.strip;
    bool only;
    const int64_t n = tn_i_c_block(w, w->note[k].lanes, &only);
    (void)snprintf(count, sizeof count, only ? "%" PRId64 : "m%" PRId64,
                   only ? n : (int64_t)w->note[w->note[k].lanes].label);
    if (!f) {
        w->failed = true;
        (void)tn_i_fail(w->p->ctx, TN_ERULE, NULL, "%s has no text in C", b.prim->name);
        return;
    }
    w->table = true;
    tn_i_c_declare(w, k);
    tn_i_c_open_brace(w, "%s", "");
    for (int i = 0; i < o->nin; i++) spread(w, k, i, x[i]);
    (void)tn_i_c_array(w, k, out);
    if (w->note[k].call == TN_C_VECTOR)
        tn_i_c_line(w, "tansy_all%d_%sx%d(T[%" PRIu32 "], %s, %s%s%s, %s);", o->nin, tn_i_c_suffix(o->dtype),
                    lanes_of(w, o->dtype), tn_i_c_address(w->g, f), count, x[0], o->nin > 1 ? ", " : "",
                    o->nin > 1 ? x[1] : "", out);
    else
        tn_i_c_line(w, "((strip_fn *)T[%" PRIu32 "])(%s, (const void *const[]){%s%s%s%s%s}, ones, %s, 1);",
                    tn_i_c_address(w->g, f), count, x[0], o->nin > 1 ? ", " : "", o->nin > 1 ? x[1] : "",
                    o->nin > 2 ? ", " : "", o->nin > 2 ? x[2] : "", out);
    tn_i_c_close_brace(w);
}

/* ---- the statement ---- */

void tn_i_c_map(tn_i_cwriter *w, uint32_t k) {
    const body b = body_of(w, k);
    if (w->note[k].call == TN_C_PLACE && b.text)
        in_place(w, k, &b);
    else if (w->note[k].call == TN_C_VECTOR) {
        w->table = true;
        one_by_vector(w, k, vector_of(w, k, b.prim));
    } else if (w->note[k].call == TN_C_STRIP && b.strip) {
        w->table = true;
        one_by_strip(w, k, b.strip);
    } else {
        w->failed = true;
        (void)tn_i_fail(w->p->ctx, TN_ERULE, NULL, "%s has no text in C", b.prim->name);
    }
}
