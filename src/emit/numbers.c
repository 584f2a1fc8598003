/* Operations of a nest on one number: literals, values of rows, programs of scalars.
 *
 * The value of operation 5 is `s5`; of bool it is 0 or 1. */
#include "emit/nest_emit.h"

#include <inttypes.h>

void tn_i_emit_number(tn_i_text *t, int dtype, uint64_t bits) {
    switch (dtype) {
    case TN_F64: tn_i_text_put(t, "f64_bits(0x%" PRIx64 "ull)", bits); break;
    case TN_F32: tn_i_text_put(t, "f32_bits(0x%" PRIx32 "u)", (uint32_t)bits); break;
    case TN_I64: tn_i_text_put(t, "(int64_t)0x%" PRIx64 "ull", bits); break;
    case TN_I32: tn_i_text_put(t, "(int32_t)0x%" PRIx32 "u", (uint32_t)bits); break;
    case TN_U32: tn_i_text_put(t, "0x%" PRIx32 "u", (uint32_t)bits); break;
    default: tn_i_text_put(t, "%d", (bits & 0xff) != 0); break;
    }
}

/* The index of loop d as C knows it: the row's and the outer inner loops' variables are i0, i1, ... */
static void emit_iota(tn_i_nest_writer *w, const tn_i_nest_op *o) {
    if (o->loop < w->n->nloop)
        tn_i_text_put(w->t, "(%s)(i%u * INT64_C(%" PRId64 ") + INT64_C(%" PRId64 "))", tn_i_c_type(o->dtype),
                      (unsigned)o->loop, o->by, o->first);
    else
        tn_i_text_put(w->t, "(%s)INT64_C(%" PRId64 ")", tn_i_c_type(o->dtype), o->first);
}

static void emit_load(tn_i_nest_writer *w, uint32_t op) {
    const tn_i_nest_op *o = &w->n->op[op];
    const tn_i_nest_array *a = &w->n->array[o->array];
    const char *type = tn_i_c_type(o->dtype);
    tn_i_text_put(w->t, "const %s s%u = ", type, (unsigned)op);
    if (a->boxed) tn_i_text_put(w->t, "in%u ? ", (unsigned)o->array);
    tn_i_emit_element(w, o->array);
    if (a->boxed) tn_i_text_put(w->t, " : s%u", (unsigned)(o->nin ? o->in[0] : a->fill));
    tn_i_text_put(w->t, ";\n");
}

static void emit_lookup(tn_i_nest_writer *w, uint32_t op) {
    const tn_i_nest_op *o = &w->n->op[op];
    const char *type = tn_i_c_type(o->dtype);
    tn_i_text_put(w->t, "const %s s%u = ", type, (unsigned)op);
    if (o->fills) {
        tn_i_text_put(w->t, "s%u < 0 || s%u > INT64_C(%" PRId64 ") ? ", (unsigned)o->in[0], (unsigned)o->in[0],
                      o->first);
        tn_i_emit_number(w->t, o->dtype, o->bits);
        tn_i_text_put(w->t, " : ");
    }
    tn_i_text_put(w->t, "((const %s *)q%u)[CLIP(s%u, INT64_C(%" PRId64 ")) * INT64_C(%" PRId64 ")];\n", type,
                  (unsigned)o->array, (unsigned)o->in[0], o->first, o->by);
}

static const char *const operand_name[3] = {"x", "y", "z"};

/* The body in a block of its own, where its operands have the names that it gives them. */
static void emit_body(tn_i_nest_writer *w, uint32_t op, const tn_i_body_text *b) {
    const tn_i_nest_op *o = &w->n->op[op];
    const char *type = tn_i_c_type(o->dtype);
    tn_i_text_put(w->t, "%s s%u; {", type, (unsigned)op);
    for (uint32_t i = 0; i < o->nin; i++)
        tn_i_text_put(w->t, " const %s %s = s%u;", tn_i_c_type(w->n->op[o->in[i]].dtype), operand_name[i],
                      (unsigned)o->in[i]);
    tn_i_text_put(w->t, " s%u = (%s)(%s); }\n", (unsigned)op, type, b->scalar);
}

/* The first lane of a vector function. */
static void emit_function(tn_i_nest_writer *w, uint32_t op, const tn_i_body_text *b) {
    const tn_i_nest_op *o = &w->n->op[op];
    const char *type = tn_i_c_type(o->dtype);
    w->m->lanes |= 1u << b->lanes;
    tn_i_text_put(w->t, "const %s s%u = fn%u(", type, (unsigned)op, (unsigned)op);
    for (uint32_t i = 0; i < o->nin; i++)
        tn_i_text_put(w->t, "%s%sx%d_all(s%u)", i ? ", " : "", type, b->lanes, (unsigned)o->in[i]);
    tn_i_text_put(w->t, ")[0];\n");
}

/* Calls of one function that do not wait for each other share its lanes. */
static void emit_function_of(tn_i_nest_writer *w, const uint32_t *ops, int n) {
    const tn_i_nest_op *o = &w->n->op[ops[0]];
    const char *type = tn_i_c_type(o->dtype);
    const int lanes = w->m->bytes / (int)tn_i_dtype_size(o->dtype);
    tn_i_text_put(w->t, "const %sx%d g%u = fn%u(", type, lanes, (unsigned)ops[0], (unsigned)ops[0]);
    for (uint32_t i = 0; i < o->nin; i++) {
        tn_i_text_put(w->t, "%s(%sx%d){", i ? ", " : "", type, lanes);
        for (int k = 0; k < lanes; k++)
            tn_i_text_put(w->t, "%ss%u", k ? ", " : "", (unsigned)w->n->op[ops[k < n ? k : 0]].in[i]);
        tn_i_text_put(w->t, "}");
    }
    tn_i_text_put(w->t, ");\n");
    for (int k = 0; k < n; k++)
        tn_i_text_put(w->t, "const %s s%u = g%u[%d];\n", type, (unsigned)ops[k], (unsigned)ops[0], k);
}

static void emit_strip(tn_i_nest_writer *w, uint32_t op) {
    const tn_i_nest_op *o = &w->n->op[op];
    tn_i_text_put(w->t, "%s s%u; { const void *const in[] = {", tn_i_c_type(o->dtype), (unsigned)op);
    for (uint32_t i = 0; i < o->nin; i++) tn_i_text_put(w->t, "%s&s%u", i ? ", " : "", (unsigned)o->in[i]);
    tn_i_text_put(w->t, "}; const int64_t by[] = {0, 0, 0}; fn%u(1, in, by, &s%u, 1); }\n", (unsigned)op, (unsigned)op);
}

static void emit_map(tn_i_nest_writer *w, uint32_t op) {
    tn_i_body_text b;
    tn_i_body_of(w->m, w->n, &w->n->op[op], &b);
    if (b.function)
        emit_function(w, op, &b);
    else if (b.scalar)
        emit_body(w, op, &b);
    else
        emit_strip(w, op);
}

static void emit_store(tn_i_nest_writer *w, const tn_i_nest_op *o) {
    const tn_i_nest_op *from = &w->n->op[o->in[0]];
    if (from->kind == TN_NEST_REDUCE && !tn_i_of_row(w->n, from)) return; /* in front of the end */
    tn_i_emit_guard(w, o->array);
    tn_i_emit_element(w, o->array);
    tn_i_text_put(w->t, " = s%u;\n", (unsigned)o->in[0]);
}

void tn_i_emit_scalar(tn_i_nest_writer *w, uint32_t op) {
    const tn_i_nest_op *o = &w->n->op[op];
    switch ((tn_i_nest_kind)o->kind) {
    case TN_NEST_LOAD: emit_load(w, op); break;
    case TN_NEST_NUMBER:
        tn_i_text_put(w->t, "const %s s%u = ", tn_i_c_type(o->dtype), (unsigned)op);
        tn_i_emit_number(w->t, o->dtype, o->bits);
        tn_i_text_put(w->t, ";\n");
        break;
    case TN_NEST_IOTA:
        tn_i_text_put(w->t, "const %s s%u = ", tn_i_c_type(o->dtype), (unsigned)op);
        emit_iota(w, o);
        tn_i_text_put(w->t, ";\n");
        break;
    case TN_NEST_MAP: emit_map(w, op); break;
    case TN_NEST_LOOKUP: emit_lookup(w, op); break;
    case TN_NEST_REDUCE:
        if (!tn_i_of_row(w->n, o)) tn_i_sum_add_number(w, op);
        break;
    case TN_NEST_STORE: emit_store(w, o); break;
    }
}

/* ---- programs of numbers ---------------------------------------------------------------- */

static bool calls_function(const tn_i_nest_writer *w, uint32_t op) { return w->address[op] && w->function[op]; }

/* How many calls of vector functions an operation waits for, one behind the other. */
static uint32_t depths(const tn_i_nest_writer *w, uint16_t *depth) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < w->n->nop; i++) {
        const tn_i_nest_op *o = &w->n->op[i];
        depth[i] = 0;
        for (uint32_t k = 0; k < o->nin; k++) {
            const uint16_t d = (uint16_t)(depth[o->in[k]] + calls_function(w, o->in[k]));
            if (d > depth[i]) depth[i] = d;
        }
        if (depth[i] > most) most = depth[i];
    }
    return most;
}

static void emit_calls(tn_i_nest_writer *w, uint32_t depth, const uint16_t *depths) {
    bool done[TN_NEST_OPS] = {false};
    for (uint32_t i = 0; i < w->n->nop; i++) {
        if (!calls_function(w, i) || depths[i] != depth || done[i]) continue;
        const int lanes = w->m->bytes / (int)tn_i_dtype_size(w->n->op[i].dtype);
        uint32_t ops[16];
        int n = 0;
        for (uint32_t k = i; k < w->n->nop && n < lanes; k++) {
            if (w->address[k] != w->address[i] || !calls_function(w, k) || depths[k] != depth || done[k]) continue;
            done[k] = true;
            ops[n++] = k;
        }
        emit_function_of(w, ops, n);
    }
}

void tn_i_emit_numbers(tn_i_nest_writer *w) {
    uint16_t depth[TN_NEST_OPS];
    const uint32_t most = depths(w, depth);
    for (uint32_t d = 0; d <= most; d++) {
        for (uint32_t i = 0; i < w->n->nop; i++)
            if ((w->n->op[i].kind == TN_NEST_LOAD ? d == 0 : depth[i] == d) && !calls_function(w, i) &&
                w->n->op[i].kind != TN_NEST_STORE)
                tn_i_emit_scalar(w, i);
        emit_calls(w, d, depth);
    }
    for (uint32_t i = 0; i < w->n->nop; i++)
        if (w->n->op[i].kind == TN_NEST_STORE) tn_i_emit_scalar(w, i);
}
