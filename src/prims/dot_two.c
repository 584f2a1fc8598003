/* One matrix times two vectors, one product after the other in a program: in one pass over the matrix. */
#include "prims/dot.h"
#include "prims/gemm.h"

/* Up to so many rows products have other kernels. */
enum { FEW_ROWS = 48 };

/* The side on which the matrix is, whose rows are contiguous and summed over; -1: it is no such product. */
static int matrix_side(const tn_i_kernel *k) {
    const tn_i_dots d = tn_i_dots_read(k->p);
    const tn_i_arr *in = k->in;
    if (d.ncontract != 1 || d.nbatch || !tn_i_is_float(in[0].type->dtype)) return -1;
    const int side = in[0].type->rank == 2 ? 0 : 1;
    if (in[side].type->rank != 2 || in[1 - side].type->rank != 1) return -1;
    const int64_t along = d.contract[side][0];
    const bool dots = in[side].stride[along] == 1 && in[1 - side].stride[0] == 1;
    if (!dots || in[side].type->dim[1 - along] <= FEW_ROWS || in[side].type->dim[along] < 2) return -1;
    return tn_i_dot_in_parts(k->p, in[0].type, in[1].type) ? -1 : side;
}

static bool same_matrix(const tn_i_arr *a, const tn_i_arr *b) {
    return a->type == b->type && a->data == b->data && a->stride[0] == b->stride[0] && a->stride[1] == b->stride[1];
}

bool tn_i_dot_two(const tn_i_kernel *k, const tn_i_kernel *l) {
    const int side = matrix_side(k);
    if (side < 0 || matrix_side(l) != side || !same_matrix(&k->in[side], &l->in[side])) return false;
    const int64_t along = tn_i_dots_read(k->p).contract[side][0];
    if (tn_i_dots_read(l->p).contract[side][0] != along) return false;
    const tn_i_arr *a = &k->in[side];
    const void *const x[2] = {k->in[1 - side].data, l->in[1 - side].data};
    void *const y[2] = {k->out[0].data, l->out[0].data};
    return tn_i_gemm_two(a->type->dtype, a->type->dim[along], a->type->dim[1 - along], x, a->data, a->stride[1 - along],
                         y);
}
