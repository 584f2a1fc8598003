/* What stands in C for the scalar body of a primitive. */
#include "emit/emit.h"
#include "vec/vec.h"

#include <string.h>

const char *tn_i_c_type(int dtype) {
    static const char *const name[TN_NDTYPES] = {
        [TN_BOOL] = "b8", [TN_I32] = "i32", [TN_I64] = "i64", [TN_F32] = "f32", [TN_F64] = "f64", [TN_U32] = "u32"};
    return name[dtype];
}

/* ---- what an expression needs -------------------------------------------------------- */

static bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool digit(char c) { return c >= '0' && c <= '9'; }

/* The name that begins at s; its end. */
static const char *name_end(const char *s) {
    while (letter(*s) || digit(*s)) s++;
    return s;
}

static bool is(const char *s, const char *end, const char *name) {
    return strlen(name) == (size_t)(end - s) && strncmp(s, name, strlen(name)) == 0;
}

static bool among(const char *s, const char *end, const char *const *names) {
    for (; *names; names++)
        if (is(s, end, *names)) return true;
    return false;
}

/* Whether all names in a body are its operands, types, numbers and functions that the prelude makes instructions of. */
static bool self_contained(const char *body) {
    static const char *const known[] = {
        "x",         "y",        "z",     "sqrt",      "sqrtf",     "fabs",      "fabsf",     "floor",
        "floorf",    "ceil",     "ceilf", "rint",      "rintf",     "trunc",     "truncf",    "copysign",
        "copysignf", "isfinite", "isnan", "signbit",   "int32_t",   "int64_t",   "uint32_t",  "uint64_t",
        "uint8_t",   "double",   "float", "INT32_MAX", "INT32_MIN", "INT64_MAX", "INT64_MIN", "UINT32_MAX",
        "NAN",       "INFINITY", "fma",   "fmaf",      NULL};
    for (const char *s = body; *s;) {
        if (digit(*s) || (*s == '.' && digit(s[1]))) { /* a number, with its suffix */
            while (letter(*s) || digit(*s) || *s == '.' || ((*s == '+' || *s == '-') && (s[-1] == 'p' || s[-1] == 'e')))
                s++;
        } else if (letter(*s)) {
            const char *end = name_end(s);
            if (!among(s, end, known)) return false;
            s = end;
        } else
            s++;
    }
    return true;
}

/* Whether a body is an expression of vectors as it stands, once casts between integers are left out: operands and
 * operators, neither a choice nor a call but of fma. */
static bool of_vectors(const char *body) {
    static const char *const known[] = {"x",        "y", "z",   "int32_t", "int64_t", "uint32_t",
                                        "uint64_t", "u", "fma", "fmaf",    NULL};
    for (const char *s = body; *s;) {
        if (letter(*s)) {
            const char *end = name_end(s);
            if (!among(s, end, known)) return false;
            s = end;
        } else if (*s == '?' || *s == '.' || (*s == '!' && s[1] != '=') || (*s == '&' && s[1] == '&') ||
                   (*s == '|' && s[1] == '|') || *s == '%')
            return false;
        else
            s++;
    }
    return true;
}

/* ---- bodies --------------------------------------------------------------------------- */

/* An equation's primitive asked about numbers of its operands' dtypes. */
static tn_i_strip *scalar_body(const tn_i_module *m, const tn_i_nest *n, const tn_i_nest_op *op, const char **body) {
    tn_type in[4] = {{0}}, out = {.dtype = op->dtype};
    const tn_type *types[4];
    for (uint32_t i = 0; i < op->nin && i < 4; i++) {
        in[i].dtype = n->op[op->in[i]].dtype;
        types[i] = &in[i];
    }
    const tn_i_query q = {.ctx = m->ctx,
                          .prim = op->eqn->prim,
                          .p = tn_i_p(op->eqn),
                          .nin = op->nin,
                          .nout = 1,
                          .in = types,
                          .out = &out};
    return tn_i_scalar_body(&q, body);
}

/* The function of vectors that the interpreter calls too. */
static const void *function_of(const tn_i_module *m, const tn_i_nest *n, const tn_i_nest_op *op) {
    const char *name = op->eqn->prim->vector[op->dtype];
    for (uint32_t i = 0; i < op->nin; i++)
        if (n->op[op->in[i]].dtype != op->dtype) return NULL;
    if (!name || op->nin > 2) return NULL;
    const tn_i_vec v = tn_i_vec_math(name, m->isa, n->accurate);
    return v.itself ? (const void *)(uintptr_t)v.itself() : NULL;
}

static bool divides(const char *body) { return strchr(body, '/') != NULL; }

/* False and true are 0 and -1 in masks: order and arithmetic are not the same for them. */
static bool fits_masks(const tn_i_nest *n, const tn_i_nest_op *op, const char *body) {
    const bool compares = strpbrk(body, "<>") || strstr(body, "!=") || strstr(body, "==");
    bool masks = false;
    for (uint32_t i = 0; i < op->nin; i++) masks |= n->op[op->in[i]].dtype == TN_BOOL;
    if (compares && op->dtype != TN_BOOL) return false;
    return !masks || (op->dtype == TN_BOOL && !strpbrk(body, "<>+-*"));
}

void tn_i_body_of(const tn_i_module *m, const tn_i_nest *n, const tn_i_nest_op *op, tn_i_body_text *out) {
    const tn_prim *prim = op->eqn->prim;
    const int dtype = n->op[op->in[prim->strip_operand]].dtype;
    *out = (tn_i_body_text){.kind = TN_BODY_STRIP};
    out->strip = scalar_body(m, n, op, &out->scalar);
    const char *body = out->scalar;
    if (body && !self_contained(body)) out->scalar = NULL;
    if (out->scalar) out->kind = TN_BODY_SCALAR;
    if (body && of_vectors(body) && (tn_i_is_float(dtype) || !divides(body)) && fits_masks(n, op, body))
        out->vector = body;
    if (body && dtype == TN_BOOL && op->dtype != TN_BOOL && strcmp(body, "x") == 0) out->vector = "-x"; /* of a mask */
    if (prim->lanes[dtype]) out->vector = prim->lanes[dtype];
    if (out->vector) out->kind = TN_BODY_VECTOR;
    out->function = function_of(m, n, op);
    out->lanes = m->bytes / (int)tn_i_dtype_size(op->dtype);
    if (out->function) out->kind = TN_BODY_FUNCTION;
}
