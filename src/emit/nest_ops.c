/* Operations of a nest on vectors of elements.
 *
 * The value of operation 5 is `v5`, of bool a mask; of a number that vectors read `w5`, in every lane.  `j` is the
 * index of the first lane in the innermost loop, q3 the address of array 3 there at index 0. */
#include "emit/nest_emit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int dtype_of(const tn_i_nest_writer *w, uint32_t op) { return w->n->op[op].dtype; }

void tn_i_vector_type(const tn_i_nest_writer *w, uint32_t op, char *text) {
    const int dtype = dtype_of(w, op);
    if (dtype == TN_BOOL)
        (void)sprintf(text, "i%dx%d", 8 * w->mask[op], w->lanes);
    else
        (void)sprintf(text, "%sx%d", tn_i_c_type(dtype), w->lanes);
}

static bool elementwise(const tn_i_nest_writer *w, uint32_t op) {
    return w->n->op[op].level == TN_NEST_ELEMENT && w->n->op[op].kind != TN_NEST_REDUCE;
}

/* The name of an operand, a mask brought to integers of `mask` bytes. */
static void operand(tn_i_nest_writer *w, uint32_t op, int mask) {
    const bool converts = dtype_of(w, op) == TN_BOOL && mask && mask != w->mask[op];
    if (converts) tn_i_text_put(w->t, "__builtin_convertvector(");
    if (elementwise(w, op))
        tn_i_text_put(w->t, "v%u_%d", (unsigned)op, w->u);
    else
        tn_i_text_put(w->t, "w%u", (unsigned)op);
    if (converts) tn_i_text_put(w->t, ", i%dx%d)", 8 * mask, w->lanes);
}

void tn_i_put_vector(tn_i_nest_writer *w, uint32_t op) { operand(w, op, 0); }

void tn_i_emit_spread(tn_i_nest_writer *w, uint32_t op) {
    char type[16];
    if (!w->spread[op]) return;
    tn_i_vector_type(w, op, type);
    tn_i_text_put(w->t, "const %s w%u = %s_%s(s%u);\n", type, (unsigned)op, type,
                  dtype_of(w, op) == TN_BOOL ? "true" : "all", (unsigned)op);
}

/* ---- memory --------------------------------------------------------------------------- */

static int64_t inner_stride(const tn_i_nest_writer *w, uint32_t array) {
    return w->n->array[array].stride[w->n->nloop - 1];
}

/* What a box is read as outside. */
static void put_outside(tn_i_nest_writer *w, const tn_i_nest_op *o) {
    if (o->nin)
        tn_i_text_put(w->t, "v%u_%d", (unsigned)o->in[0], w->u);
    else
        tn_i_text_put(w->t, "w%u", (unsigned)w->n->array[o->array].fill);
}

static void load_box(tn_i_nest_writer *w, uint32_t op, const char *type, int64_t by) {
    const tn_i_nest_op *o = &w->n->op[op];
    const tn_i_nest_array *a = &w->n->array[o->array];
    const uint32_t d = w->n->nloop - 1;
    const int64_t lo = a->lo[d], hi = a->hi[d];
    const bool mask = o->dtype == TN_BOOL;
    tn_i_text_put(w->t,
                  "%s_%s((const %s *)q%u, INT64_C(%" PRId64 "), j%d, in%u ? INT64_C(%" PRId64
                  ") : 0, in%u ? INT64_C(%" PRId64 ") : 0, ",
                  type, mask ? "boxed" : "box", tn_i_c_type(o->dtype), (unsigned)o->array, by, w->u, (unsigned)o->array,
                  lo, (unsigned)o->array, hi);
    put_outside(w, o);
    tn_i_text_put(w->t, ")");
}

/* Where no box of the innermost loop begins or ends. */
static void load_plain(tn_i_nest_writer *w, uint32_t op, const char *type, int64_t by) {
    const tn_i_nest_op *o = &w->n->op[op];
    const tn_i_nest_array *a = &w->n->array[o->array];
    const uint32_t d = w->n->nloop - 1, k = o->array;
    const char *element = tn_i_c_type(o->dtype);
    if (a->lo[d] <= w->plain_lo && a->hi[d] >= w->plain_hi) {
        tn_i_text_put(w->t, "in%u ? ", (unsigned)k);
        if (o->dtype == TN_BOOL)
            tn_i_text_put(w->t, "%s_bytes((const %s *)q%u + j%d * INT64_C(%" PRId64 "), INT64_C(%" PRId64 "), %d)",
                          type, element, (unsigned)k, w->u, by, by, w->lanes);
        else if (by == 1)
            tn_i_text_put(w->t, "%s_load((const %s *)q%u + j%d)", type, element, (unsigned)k, w->u);
        else
            tn_i_text_put(w->t, "%s_every((const %s *)q%u + j%d * INT64_C(%" PRId64 "), INT64_C(%" PRId64 "))", type,
                          element, (unsigned)k, w->u, by, by);
        tn_i_text_put(w->t, " : ");
    }
    put_outside(w, o);
}

/* How many elements of a piece are there, and ")". */
static void put_count(tn_i_nest_writer *w, const tn_i_piece *k, const char *behind) {
    if (k->some)
        tn_i_text_put(w->t, "%s%s", k->some, behind);
    else
        tn_i_text_put(w->t, "%d%s", (int)k->count, behind);
}

/* The same for all elements of the innermost loop, which store nothing to where it is. */
static bool stays(const tn_i_nest_writer *w, uint32_t op) {
    const tn_i_nest_op *o = &w->n->op[op];
    return o->kind == TN_NEST_LOAD && o->level == TN_NEST_ELEMENT && o->dtype != TN_BOOL &&
           !w->n->array[o->array].boxed && inner_stride(w, o->array) == 0;
}

void tn_i_emit_stays(tn_i_nest_writer *w, uint32_t phase) {
    for (uint32_t i = 0; i < w->n->nop; i++) {
        const tn_i_nest_op *o = &w->n->op[i];
        char type[16];
        if (o->phase != phase || !stays(w, i)) continue;
        tn_i_vector_type(w, i, type);
        tn_i_text_put(w->t, "const %s h%u = %s_all(*(const %s *)q%u);\n", type, (unsigned)i, type,
                      tn_i_c_type(o->dtype), (unsigned)o->array);
    }
}

static void emit_load(tn_i_nest_writer *w, uint32_t op, const tn_i_piece *k) {
    const tn_i_nest_op *o = &w->n->op[op];
    const bool mask = o->dtype == TN_BOOL, whole = k->count == w->lanes;
    const int64_t by = inner_stride(w, o->array);
    const char *element = tn_i_c_type(o->dtype);
    char type[16];
    tn_i_vector_type(w, op, type);
    tn_i_text_put(w->t, "const %s v%u_%d = ", type, (unsigned)op, w->u);
    if (tn_i_emit_flat_load(w, op, type, k))
        ;
    else if (w->n->array[o->array].boxed && w->plain)
        load_plain(w, op, type, by);
    else if (w->n->array[o->array].boxed)
        load_box(w, op, type, by);
    else if (whole && by == 1)
        tn_i_text_put(w->t, "%s_%s((const %s *)q%u + j%d)", type, mask ? "mask" : "load", element, (unsigned)o->array,
                      w->u);
    else if (stays(w, op))
        tn_i_text_put(w->t, "h%u", (unsigned)op);
    else if (whole && !mask)
        tn_i_text_put(w->t, "%s_every((const %s *)q%u + j%d * INT64_C(%" PRId64 "), INT64_C(%" PRId64 "))", type,
                      element, (unsigned)o->array, w->u, by, by);
    else {
        tn_i_text_put(w->t, "%s_%s((const %s *)q%u + j%d * INT64_C(%" PRId64 "), INT64_C(%" PRId64 "), ", type,
                      mask ? "bytes" : "some", element, (unsigned)o->array, w->u, by, by);
        put_count(w, k, ")");
    }
    tn_i_text_put(w->t, ";\n");
}

/* `at`: the clipped indices of a lookup, in memory, also of lanes that are not there. */
void tn_i_emit_indices(tn_i_nest_writer *w, uint32_t op) {
    const tn_i_nest_op *o = &w->n->op[op];
    const int64_t most = dtype_of(w, o->in[0]) == TN_I32 && o->first > INT32_MAX ? INT32_MAX : o->first;
    char type[16];
    tn_i_vector_type(w, o->in[0], type);
    tn_i_text_put(w->t, "%s at[%d]; %s_store(at, %s_clip(", tn_i_c_type(dtype_of(w, o->in[0])), w->lanes, type, type);
    operand(w, o->in[0], 0);
    tn_i_text_put(w->t, ", INT64_C(%" PRId64 ")));\n", most);
}

static void emit_lookup(tn_i_nest_writer *w, uint32_t op) {
    const tn_i_nest_op *o = &w->n->op[op];
    const bool mask = o->dtype == TN_BOOL;
    char type[16];
    tn_i_vector_type(w, op, type);
    tn_i_text_put(w->t, "%s v%u_%d; { ", type, (unsigned)op, w->u);
    tn_i_emit_indices(w, op);
    tn_i_text_put(w->t, "UNROLL for (int l = 0; l < %d; l++) v%u_%d[l] = ", w->lanes, (unsigned)op, w->u);
    if (o->fills) {
        operand(w, o->in[0], 0);
        tn_i_text_put(w->t, "[l] != at[l] ? %s", mask ? "-" : "");
        tn_i_emit_number(w->t, o->dtype, o->bits);
        tn_i_text_put(w->t, " : ");
    }
    tn_i_text_put(w->t, "%s((const %s *)q%u)[(int64_t)at[l] * INT64_C(%" PRId64 ")]; }\n", mask ? "-" : "",
                  tn_i_c_type(o->dtype), (unsigned)o->array, o->by);
}

static void emit_store(tn_i_nest_writer *w, const tn_i_nest_op *o, const tn_i_piece *k) {
    const uint32_t from = o->in[0];
    const bool mask = dtype_of(w, from) == TN_BOOL;
    const int64_t by = inner_stride(w, o->array);
    const char *element = tn_i_c_type(dtype_of(w, from));
    char type[16];
    if (w->n->op[from].kind == TN_NEST_REDUCE && !tn_i_of_row(w->n, &w->n->op[from])) return;
    tn_i_vector_type(w, from, type);
    tn_i_emit_guard(w, o->array);
    if (k->count == w->lanes && by == 1)
        tn_i_text_put(w->t, "%s_%s((%s *)q%u + j%d, ", type, mask ? "unmask" : "store", element, (unsigned)o->array,
                      w->u);
    else {
        tn_i_text_put(w->t, "%s_%s((%s *)q%u + j%d * INT64_C(%" PRId64 "), INT64_C(%" PRId64 "), ", type,
                      mask ? "unbytes" : "put", element, (unsigned)o->array, w->u, by, by);
        put_count(w, k, ", ");
    }
    operand(w, from, 0);
    tn_i_text_put(w->t, ");\n");
}

/* Values of earlier phases wait in rows of bytes, or of numbers. */
static void emit_keep(tn_i_nest_writer *w, uint32_t op) {
    const bool mask = dtype_of(w, op) == TN_BOOL;
    char type[16];
    tn_i_vector_type(w, op, type);
    tn_i_text_put(w->t, "%s_%s((%s *)r%u + e + j%d, v%u_%d);\n", type, mask ? "unmask" : "store",
                  tn_i_c_type(dtype_of(w, op)), (unsigned)op, w->u, (unsigned)op, w->u);
}

static void emit_kept(tn_i_nest_writer *w, uint32_t op) {
    const bool mask = dtype_of(w, op) == TN_BOOL;
    char type[16];
    tn_i_vector_type(w, op, type);
    tn_i_text_put(w->t, "const %s v%u_%d = %s_%s((const %s *)r%u + e + j%d);\n", type, (unsigned)op, w->u, type,
                  mask ? "mask" : "load", tn_i_c_type(dtype_of(w, op)), (unsigned)op, w->u);
}

static void emit_iota(tn_i_nest_writer *w, uint32_t op) {
    const tn_i_nest_op *o = &w->n->op[op];
    char type[16];
    tn_i_vector_type(w, op, type);
    if (o->loop + 1u == w->n->nloop)
        tn_i_text_put(w->t,
                      "const %s v%u_%d = __builtin_convertvector(i64x%d_count(j%d) * INT64_C(%" PRId64
                      ") + INT64_C(%" PRId64 "), %s);\n",
                      type, (unsigned)op, w->u, w->lanes, w->u, o->by, o->first, type);
    else
        tn_i_text_put(w->t, "const %s v%u_%d = %s_all((%s)(i%u * INT64_C(%" PRId64 ") + INT64_C(%" PRId64 ")));\n",
                      type, (unsigned)op, w->u, type, tn_i_c_type(o->dtype), (unsigned)o->loop, o->by, o->first);
}

/* ---- bodies ---------------------------------------------------------------------------- */

static const char *const operand_name[3] = {"x", "y", "z"};

/* Masks take part in a body as integers of the size of the numbers in it. */
static int common_mask(const tn_i_nest_writer *w, const tn_i_nest_op *o) {
    for (uint32_t i = 0; i < o->nin; i++)
        if (dtype_of(w, o->in[i]) != TN_BOOL) return (int)tn_i_dtype_size(dtype_of(w, o->in[i]));
    return w->mask[o->in[0]];
}

/* What a body calls, of vectors: fma, and what negates one of its operands. */
static const struct {
    const char *number, *vector;
} fused[] = {{"fma(x, y, -z)", "_fms(x, y, z)"},
             {"fmaf(x, y, -z)", "_fms(x, y, z)"},
             {"fma(-x, y, z)", "_fnma(x, y, z)"},
             {"fmaf(-x, y, z)", "_fnma(x, y, z)"},
             {"fma(", "_fma("},
             {"fmaf(", "_fma("}};

static size_t put_fused(tn_i_text *t, const char *type, const char *body) {
    for (size_t i = 0; i < sizeof fused / sizeof *fused; i++) {
        const size_t length = strlen(fused[i].number);
        if (strncmp(body, fused[i].number, length) != 0) continue;
        tn_i_text_put(t, "%s%s", type, fused[i].vector);
        return length;
    }
    return 0;
}

/* Without casts between integers, which wrap as they are (-fwrapv), and suffixes of numbers. */
static void put_body(tn_i_text *t, const char *type, const char *body) {
    static const char *const cast[] = {"(uint32_t)", "(uint64_t)", "(int32_t)", "(int64_t)"};
    while (*body) {
        size_t skip = body[0] == 'u' ? 1 : 0;
        for (size_t i = 0; i < sizeof cast / sizeof *cast; i++)
            if (strncmp(body, cast[i], strlen(cast[i])) == 0) skip = strlen(cast[i]);
        if (!skip) skip = put_fused(t, type, body);
        if (!skip) tn_i_text_add(t, body, 1);
        body += skip ? skip : 1;
    }
}

static void vector_body(tn_i_nest_writer *w, uint32_t op, const char *body) {
    const tn_i_nest_op *o = &w->n->op[op];
    const int mask = common_mask(w, o), of = dtype_of(w, o->in[o->eqn->prim->strip_operand]);
    char type[16], from[16];
    tn_i_vector_type(w, op, type);
    tn_i_text_put(w->t, "%s v%u_%d; {", type, (unsigned)op, w->u);
    for (uint32_t i = 0; i < o->nin; i++) {
        if (dtype_of(w, o->in[i]) == TN_BOOL)
            (void)sprintf(from, "i%dx%d", 8 * mask, w->lanes);
        else
            tn_i_vector_type(w, o->in[i], from);
        tn_i_text_put(w->t, " const %s %s = ", from, operand_name[i]);
        operand(w, o->in[i], mask);
        tn_i_text_put(w->t, ";");
    }
    const bool converts = o->dtype != TN_BOOL && o->dtype != of;
    tn_i_text_put(w->t, converts ? " v%u_%d = __builtin_convertvector(" : " v%u_%d = (", (unsigned)op, w->u);
    put_body(w->t, type, body);
    if (converts)
        tn_i_text_put(w->t, ", %s); }\n", type);
    else
        tn_i_text_put(w->t, "); }\n");
}

/* A vector as an array of its lanes; of bool bytes. */
static void lanes_of(tn_i_nest_writer *w, uint32_t op, const char *name) {
    const char *element = tn_i_c_type(dtype_of(w, op));
    char type[16];
    tn_i_vector_type(w, op, type);
    tn_i_text_put(w->t, " %s %s[%d]; %s_%s(%s, ", element, name, w->lanes, type,
                  dtype_of(w, op) == TN_BOOL ? "unmask" : "store", name);
    operand(w, op, 0);
    tn_i_text_put(w->t, ");");
}

static void from_lanes(tn_i_nest_writer *w, uint32_t op) {
    char type[16];
    tn_i_vector_type(w, op, type);
    tn_i_text_put(w->t, " v%u_%d = %s_%s(o); }\n", (unsigned)op, w->u, type,
                  dtype_of(w, op) == TN_BOOL ? "mask" : "load");
}

static void lane_body(tn_i_nest_writer *w, uint32_t op, const char *body) {
    static const char *const array[3] = {"xs", "ys", "zs"};
    const tn_i_nest_op *o = &w->n->op[op];
    char type[16];
    tn_i_vector_type(w, op, type);
    tn_i_text_put(w->t, "%s v%u_%d; {", type, (unsigned)op, w->u);
    for (uint32_t i = 0; i < o->nin; i++) lanes_of(w, o->in[i], array[i]);
    tn_i_text_put(w->t, " %s o[%d]; for (int l = 0; l < %d; l++) {", tn_i_c_type(o->dtype), w->lanes, w->lanes);
    for (uint32_t i = 0; i < o->nin; i++)
        tn_i_text_put(w->t, " const %s %s = %s[l];", tn_i_c_type(dtype_of(w, o->in[i])), operand_name[i], array[i]);
    tn_i_text_put(w->t, " o[l] = (%s)(%s); }", tn_i_c_type(o->dtype), body);
    from_lanes(w, op);
}

/* What only the library has is called for the lanes that are there. */
static void strip_body(tn_i_nest_writer *w, uint32_t op, const tn_i_piece *k) {
    static const char *const array[3] = {"xs", "ys", "zs"};
    const tn_i_nest_op *o = &w->n->op[op];
    char type[16];
    tn_i_vector_type(w, op, type);
    tn_i_text_put(w->t, "%s v%u_%d; {", type, (unsigned)op, w->u);
    for (uint32_t i = 0; i < o->nin; i++) lanes_of(w, o->in[i], array[i]);
    tn_i_text_put(w->t, " %s o[%d] = {0}; const void *const in[] = {", tn_i_c_type(o->dtype), w->lanes);
    for (uint32_t i = 0; i < o->nin; i++) tn_i_text_put(w->t, "%s%s", i ? ", " : "", array[i]);
    tn_i_text_put(w->t, "}; const int64_t by[] = {1, 1, 1}; fn%u(%d, in, by, o, 1);", (unsigned)op, (int)k->count);
    from_lanes(w, op);
}

/* A function of more lanes is given each of them more than once. */
static void function_body(tn_i_nest_writer *w, uint32_t op, const tn_i_body_text *b) {
    const tn_i_nest_op *o = &w->n->op[op];
    const char *element = tn_i_c_type(o->dtype);
    char type[16];
    tn_i_vector_type(w, op, type);
    w->m->lanes |= 1u << b->lanes;
    if (b->lanes == w->lanes) {
        tn_i_text_put(w->t, "const %s v%u_%d = fn%u(", type, (unsigned)op, w->u, (unsigned)op);
        for (uint32_t i = 0; i < o->nin; i++) {
            if (i) tn_i_text_put(w->t, ", ");
            operand(w, o->in[i], 0);
        }
        tn_i_text_put(w->t, ");\n");
        return;
    }
    static const char *const of[2] = {"x", "y"};
    tn_i_text_put(w->t, "%s v%u_%d; { union { %s v; %sx%d f; } x = {.f = {0}}, y = {.f = {0}};\n", type, (unsigned)op,
                  w->u, type, element, b->lanes);
    for (uint32_t i = 0; i < o->nin; i++) {
        tn_i_text_put(w->t, "%s.v = ", of[i]);
        operand(w, o->in[i], 0);
        tn_i_text_put(w->t, "; %s.f = REPEAT(%s.f, i%d, %d, %d);\n", of[i], of[i], 8 * (int)tn_i_dtype_size(o->dtype),
                      b->lanes, w->lanes - 1);
    }
    tn_i_text_put(w->t, "x.f = fn%u(x.f%s); v%u_%d = x.v; }\n", (unsigned)op, o->nin > 1 ? ", y.f" : "", (unsigned)op,
                  w->u);
}

static void emit_map(tn_i_nest_writer *w, uint32_t op, const tn_i_piece *k) {
    tn_i_body_text b;
    tn_i_body_of(w->m, w->n, &w->n->op[op], &b);
    switch (b.kind) {
    case TN_BODY_FUNCTION: function_body(w, op, &b); break;
    case TN_BODY_VECTOR: vector_body(w, op, b.vector); break;
    case TN_BODY_SCALAR: lane_body(w, op, b.scalar); break;
    case TN_BODY_STRIP: strip_body(w, op, k); break;
    }
}

/* ---- a piece of the loop ------------------------------------------------------------------ */

/* Values of earlier phases that this one reads. */
static void emit_all_kept(tn_i_nest_writer *w, uint32_t phase) {
    bool need[TN_NEST_OPS] = {false};
    for (uint32_t i = 0; i < w->n->nop; i++) {
        const tn_i_nest_op *o = &w->n->op[i];
        if (o->phase != phase || !tn_i_of_elements(w, o)) continue;
        for (uint32_t k = 0; k < o->nin; k++) {
            const tn_i_nest_op *from = &w->n->op[o->in[k]];
            need[o->in[k]] |= w->carried[o->in[k]] && from->phase < phase;
        }
    }
    for (uint32_t i = 0; i < w->n->nop; i++)
        if (need[i]) emit_kept(w, i);
}

static void emit_one(tn_i_nest_writer *w, uint32_t op, const tn_i_piece *k) {
    const tn_i_nest_op *o = &w->n->op[op];
    if (tn_i_emit_block(w, op, k)) {
        if (w->carried[op]) emit_keep(w, op);
        return;
    }
    switch ((tn_i_nest_kind)o->kind) {
    case TN_NEST_LOAD: emit_load(w, op, k); break;
    case TN_NEST_IOTA: emit_iota(w, op); break;
    case TN_NEST_MAP: emit_map(w, op, k); break;
    case TN_NEST_LOOKUP: emit_lookup(w, op); break;
    case TN_NEST_REDUCE: tn_i_sum_add(w, op, k); break;
    case TN_NEST_STORE: emit_store(w, o, k); break;
    case TN_NEST_NUMBER: break;
    }
    if (w->carried[op]) emit_keep(w, op);
}

/* A sum over several arrays, without calls: it takes as long as memory does. */
static bool only_reads(const tn_i_nest_writer *w, uint32_t phase) {
    int loads = 0;
    for (uint32_t i = 0; i < w->n->nop; i++) {
        const tn_i_nest_op *o = &w->n->op[i];
        if (o->phase != phase || !tn_i_of_elements(w, o)) continue;
        if (o->kind == TN_NEST_STORE || w->address[i]) return false;
        loads += o->kind == TN_NEST_LOAD && inner_stride(w, o->array) != 0;
    }
    return loads > 1;
}

void tn_i_emit_operation(tn_i_nest_writer *w, uint32_t op, const tn_i_piece *k) {
    emit_one(w, op, k);
    tn_i_emit_blocks_behind(w, op, k);
}

/* While one vector waits for its last result, the next ones are worked on. */
static void by_operations(tn_i_nest_writer *w, uint32_t phase, int n, const tn_i_piece *k) {
    for (w->u = 0; w->u < n; w->u++) emit_all_kept(w, phase);
    for (uint32_t i = 0; i < w->n->nop; i++)
        if (w->n->op[i].phase == phase && tn_i_of_elements(w, &w->n->op[i]))
            for (w->u = 0; w->u < n; w->u++) tn_i_emit_operation(w, i, &k[w->u]);
}

static void one_vector(tn_i_nest_writer *w, uint32_t phase, bool stores, const tn_i_piece *k) {
    for (uint32_t i = 0; i < w->n->nop; i++) {
        const tn_i_nest_op *o = &w->n->op[i];
        if (o->phase == phase && tn_i_of_elements(w, o) && (o->kind == TN_NEST_STORE) == stores)
            tn_i_emit_operation(w, i, k);
    }
}

/* Loads that are spread among arithmetic wait less for memory than loads side by side, which took 1.35 times as long in
 * a sum over two arrays of 80 MB.  Stores come last: no load then waits for one that may be to its own place. */
static void by_vectors(tn_i_nest_writer *w, uint32_t phase, int n, const tn_i_piece *k) {
    for (w->u = 0; w->u < n; w->u++) {
        emit_all_kept(w, phase);
        if (w->behind.on)
            tn_i_behind_vector(w, phase, &k[w->u]);
        else
            one_vector(w, phase, false, &k[w->u]);
    }
    for (w->u = 0; w->u < n; w->u++) one_vector(w, phase, true, &k[w->u]);
}

void tn_i_emit_pieces(tn_i_nest_writer *w, uint32_t phase, int n, const tn_i_piece *k) {
    const int each = w->leaf.vectors ? w->leaf.vectors : n;
    for (int u = 0; u < n; u++)
        tn_i_text_put(w->t, "const int64_t j%d = i + %d;\n", u, u / each * TN_LEAF + u % each * w->lanes);
    tn_i_emit_prefetch(w, phase, n, k);
    (w->behind.on || only_reads(w, phase) ? by_vectors : by_operations)(w, phase, n, k);
}
