/* Type rules that many primitives share. */
#include "prims/prim.h"

#include <string.h>

bool tn_i_output(tn_i_query *q, int dtype, int rank, const int64_t *dims) {
    tn_type t;
    memset(&t, 0, sizeof t);
    t.dtype = dtype;
    t.rank = rank;
    if (rank < 0 || rank > TN_MAX_RANK)
        return tn_i_type_fail(q, -1, "the result would have rank %d (at most %d)", rank, TN_MAX_RANK);
    for (int i = 0; i < rank; i++) t.dim[i] = dims[i];
    return tn_i_output_type(q, &t);
}

bool tn_i_output_type(tn_i_query *q, const tn_type *t) {
    char text[TN_I_TYPE_TEXT];
    if (!tn_i_type_valid(t)) {
        (void)tn_i_type_fail(q, -1, "the size of the result %s overflows or is negative", tn_i_type_text(text, t));
        return false;
    }
    tn_type copy = *t;
    if (!tn_i_outputs(q, 1)) return false;
    q->out[0] = copy;
    return true;
}

static bool admitted(tn_i_query *q, int i) {
    if (q->prim->dtypes >> q->in[i]->dtype & 1) return true;
    return tn_i_type_fail(q, i, "%s is not defined for %s", q->prim->name, tn_i_dtype_name(q->in[i]->dtype));
}

static bool same_operands(tn_i_query *q) {
    char text[TN_I_TYPE_TEXT];
    if (q->nin == 0) return tn_i_type_fail(q, -1, "needs an operand");
    if (!admitted(q, 0)) return false;
    for (uint32_t i = 1; i < q->nin; i++) {
        if (q->in[i]->dtype != q->in[0]->dtype)
            return tn_i_type_fail(q, (int)i, "dtype %s differs from %s; use convert_element_type (tn_convert)",
                                  tn_i_dtype_name(q->in[i]->dtype), tn_i_dtype_name(q->in[0]->dtype));
        if (!tn_type_equal(q->in[i], q->in[0]))
            return tn_i_type_fail(q, (int)i, "shape differs from %s; broadcasting is explicit (broadcast_in_dim)",
                                  tn_i_type_text(text, q->in[0]));
    }
    return true;
}

bool tn_i_type_elementwise(tn_i_query *q) { return same_operands(q) && tn_i_output_type(q, q->in[0]); }

bool tn_i_type_compare(tn_i_query *q) {
    return same_operands(q) && tn_i_output(q, TN_BOOL, q->in[0]->rank, q->in[0]->dim);
}

/* ---- what varies ------------------------------------------------------------------------ */

bool tn_i_type_over(tn_i_query *q, const tn_i_val *val, const tn_i_var *in) {
    uint32_t all = 0, first = 0;
    const tn_axes *axes;
    if (!q->ctx->grid.naxes || q->prim->flags & TN_F_OVER) return true;
    for (uint32_t i = 0; i < q->nin; i++) all |= tn_i_over(q->in[i]);
    for (uint32_t i = 0; i < q->nin; i++) {
        const uint32_t lacks = all & ~tn_i_over(q->in[i]);
        if (!lacks || val[in[i]].def == TN_DEF_LITERAL) continue;
        while (!(tn_i_over(q->in[first]) & lacks)) first++;
        return tn_i_type_fail(q, -1, "operand %u is replicated over %s, operand %u varies (pvary)", (unsigned)i,
                              tn_i_axes_text(q->ctx, lacks), (unsigned)first);
    }
    if (!tn_i_axes_of(q->ctx, all, &axes)) return false;
    for (uint32_t j = 0; j < q->nout; j++) q->out[j].varying = axes;
    return true;
}

bool tn_i_fits(tn_i_query *q, uint32_t i, const tn_type *want) {
    const uint32_t have = tn_i_over(q->in[i]), over = tn_i_over(want);
    if (!tn_type_equal(q->in[i], want)) return false;
    if (have == over) return true;
    if (!q->vary || have & ~over) return false;
    q->vary[i] |= over & ~have;
    return true;
}
