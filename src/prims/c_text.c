/* What kernels' C text is made of. */
#include "prims/c_text.h"
#include "base/number.h"
#include "prims/arrays/boxes.h"
#include "prims/arrays/layout.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

const char *tn_i_c_name(int dtype) {
    static const char *const name[TN_NDTYPES] = {
        [TN_BOOL] = "uint8_t", [TN_I32] = "int32_t",  [TN_I64] = "int64_t",  [TN_F32] = "float",  [TN_F64] = "double",
        [TN_U32] = "uint32_t", [TN_I8] = "int8_t",    [TN_I16] = "int16_t",  [TN_U8] = "uint8_t", [TN_U16] = "uint16_t",
        [TN_U64] = "uint64_t", [TN_F16] = "uint16_t", [TN_BF16] = "uint16_t"};
    return name[dtype];
}

const char *tn_i_c_suffix(int dtype) {
    static const char *const name[TN_NDTYPES] = {
        [TN_BOOL] = "b8", [TN_I32] = "i32", [TN_I64] = "i64", [TN_F32] = "f32", [TN_F64] = "f64", [TN_U32] = "u32"};
    return name[dtype] ? name[dtype] : tn_i_dtype_name(dtype);
}

/* ---- numbers ---------------------------------------------------------------------- */

static void put_float(tn_i_text *t, double x, bool single) {
    char s[TN_I_NUMBER_TEXT];
    if (isnan(x)) {
        tn_i_text_put(t, single ? "NAN" : "(double)NAN");
    } else if (isinf(x)) {
        tn_i_text_put(t, "%s%s", x < 0 ? "-" : "", single ? "INFINITY" : "(double)INFINITY");
    } else {
        (void)(single ? tn_i_format_f32(s, (float)x) : tn_i_format_f64(s, x));
        tn_i_text_put(t, "%s%s", s, single ? "f" : "");
    }
}

static void put_integer(tn_i_text *t, int64_t x, bool wide) {
    if (!wide && x == INT32_MIN)
        tn_i_text_put(t, "(-2147483647 - 1)");
    else if (!wide)
        tn_i_text_put(t, "%" PRId64, x);
    else if (x == INT64_MIN)
        tn_i_text_put(t, "(-INT64_C(9223372036854775807) - 1)");
    else
        tn_i_text_put(t, "INT64_C(%" PRId64 ")", x);
}

void tn_i_c_number(tn_i_text *t, int dtype, const void *at) {
    double d;
    float f;
    int64_t l;
    int32_t i;
    uint32_t u;
    switch (dtype) {
    case TN_F64: put_float(t, (memcpy(&d, at, sizeof d), d), false); break;
    case TN_F32: put_float(t, (memcpy(&f, at, sizeof f), (double)f), true); break;
    case TN_I64: put_integer(t, (memcpy(&l, at, sizeof l), l), true); break;
    case TN_I32: put_integer(t, (memcpy(&i, at, sizeof i), i), false); break;
    case TN_U32: tn_i_text_put(t, "%" PRIu32 "u", (memcpy(&u, at, sizeof u), u)); break;
    case TN_U64: tn_i_text_put(t, "UINT64_C(%" PRIu64 ")", tn_i_bits_at(dtype, at)); break;
    case TN_BOOL: tn_i_text_put(t, "%d", *(const uint8_t *)at != 0); break;
    default: /* halves as their bits */
        tn_i_text_put(t, "%d", tn_i_is_half(dtype) ? (int)tn_i_bits_at(dtype, at) : (int)tn_i_element(dtype, at));
    }
}

/* ---- loops -------------------------------------------------------------------------- */

void tn_i_c_open(tn_i_text *t, const char *prefix, int rank, const int64_t *dim) {
    for (int d = 0; d < rank; d++)
        if (dim[d] != 1)
            tn_i_text_put(t, "for (int64_t %s%d = 0; %s%d < %" PRId64 "; %s%d++) {\n", prefix, d, prefix, d, dim[d],
                          prefix, d);
}

void tn_i_c_close(tn_i_text *t, int rank, const int64_t *dim) {
    for (int d = 0; d < rank; d++)
        if (dim[d] != 1) tn_i_text_put(t, "}\n");
}

void tn_i_c_at(tn_i_text *t, const char *prefix, int rank, const int64_t *dim, const int64_t *stride) {
    bool some = false;
    for (int d = 0; d < rank; d++) {
        if (dim[d] == 1 || stride[d] == 0) continue;
        const char *sign = stride[d] < 0 ? (some ? " - " : "-") : some ? " + " : "";
        const uint64_t by = stride[d] < 0 ? 0 - (uint64_t)stride[d] : (uint64_t)stride[d];
        tn_i_text_put(t, "%s%s%d", sign, prefix, d);
        if (by != 1) tn_i_text_put(t, " * %" PRIu64, by);
        some = true;
    }
    if (!some) tn_i_text_put(t, "0");
}

/* The dimensions in the set; others become of size 1. */
static void choose(const tn_type *x, unsigned axes, int64_t *dim) {
    for (int d = 0; d < x->rank; d++) dim[d] = axes >> d & 1 ? x->dim[d] : 1;
}

void tn_i_c_open_axes(tn_i_text *t, const char *prefix, const tn_type *x, unsigned axes) {
    int64_t dim[TN_MAX_RANK];
    choose(x, axes, dim);
    tn_i_c_open(t, prefix, x->rank, dim);
}

void tn_i_c_close_axes(tn_i_text *t, const tn_type *x, unsigned axes) {
    int64_t dim[TN_MAX_RANK];
    choose(x, axes, dim);
    tn_i_c_close(t, x->rank, dim);
}

void tn_i_c_at_axes(tn_i_text *t, const char *prefix, const tn_type *x, const int64_t *stride, unsigned axes) {
    int64_t dim[TN_MAX_RANK];
    choose(x, axes, dim);
    tn_i_c_at(t, prefix, x->rank, dim, stride);
}

typedef struct writer {
    tn_i_moved_boxes boxes;
    tn_i_text *t;
} writer;

static void first_of(tn_i_text *t, const char *name, uint32_t i, int64_t first) {
    tn_i_text_put(t, "%s%u[", name, (unsigned)i);
    if (first) tn_i_text_put(t, "%" PRId64 " + ", first);
}

static void write_box(tn_i_moved_boxes *z, const tn_i_moved_box *box) {
    tn_i_text *t = ((const writer *)z)->t;
    for (int d = 0; d < box->rank; d++)
        if (box->dim[d] == 0) return;
    tn_i_c_open(t, "i", box->rank, box->dim);
    first_of(t, "out", box->out, box->to);
    tn_i_c_at(t, "i", box->rank, box->dim, box->dst);
    tn_i_text_put(t, "] = ");
    first_of(t, "in", box->in, box->from);
    tn_i_c_at(t, "i", box->rank, box->dim, box->src);
    tn_i_text_put(t, "];\n");
    tn_i_c_close(t, box->rank, box->dim);
}

void tn_i_c_box_kernel(const tn_i_c_kernel *k) {
    writer w = {{write_box}, k->t};
    const tn_i_kernel run = {
        .prim = k->prim, .p = k->p, .nin = k->nin, .nout = k->nout, .in = k->in, .out = (tn_i_arr *)(uintptr_t)k->out};
    k->prim->boxes(&run, &w.boxes);
}

void tn_i_c_copy_operand(const tn_i_c_kernel *k) {
    const tn_type *t = k->out[0].type;
    tn_i_text_put(k->t, "if (out0 != in0) {\n");
    tn_i_c_open_arr(k->t, "i", t);
    tn_i_text_put(k->t, "out0[");
    tn_i_c_at_arr(k->t, "i", &k->out[0]);
    tn_i_text_put(k->t, "] = in0[");
    tn_i_c_at_arr(k->t, "i", &k->in[0]);
    tn_i_text_put(k->t, "];\n");
    tn_i_c_close(k->t, t->rank, t->dim);
    tn_i_text_put(k->t, "}\n");
}

void tn_i_c_chosen_kernel(const tn_i_c_kernel *k) {
    const tn_type *in = k->in[0].type;
    tn_type out = *k->out[0].type;
    const tn_i_query q = {.prim = k->prim, .p = k->p, .nin = 1, .nout = 1, .in = &in, .out = &out};
    const char *body = NULL;
    if (!k->prim->choose(&q, &body) || !body) {
        *k->why = "cannot be written as C";
        return;
    }
    tn_i_c_open_arr(k->t, "i", &out);
    tn_i_text_put(k->t, "const %s x = in0[", tn_i_c_name(in->dtype));
    tn_i_c_at_arr(k->t, "i", &k->in[0]);
    tn_i_text_put(k->t, "];\nout0[");
    tn_i_c_at_arr(k->t, "i", &k->out[0]);
    tn_i_text_put(k->t, "] = (%s)(%s);\n", tn_i_c_name(out.dtype), body);
    tn_i_c_close(k->t, out.rank, out.dim);
}
