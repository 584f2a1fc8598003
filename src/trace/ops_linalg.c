/* Linear systems. */
#include "prims/ids.h"
#include "trace/trace.h"

static bool open_floats(tn_i_site *s, const char *name, size_t n, const tn_val *in, tn_i_var *v, const char *file,
                        int line) {
    tn_i_site_open(s, name, NULL, n, in, v, 0, file, line);
    return !s->b->failed;
}

tn_i_var tn_i_do_columns(tn_i_site *s, tn_i_var a, tn_i_var b, int operand, bool *vectors) {
    const tn_type *ta = tn_i_site_type(s, a), tb = *tn_i_site_type(s, b);
    int64_t shape[TN_MAX_RANK];
    *vectors = tb.rank + 1 == ta->rank;
    if (ta->rank < 2) return tn_i_site_fail(s, TN_ETYPE, 0, "needs square matrices in the last two dimensions");
    if (!*vectors && tb.rank != ta->rank)
        return tn_i_site_fail(s, TN_ETYPE, operand, "has rank %d: vectors have %d, matrices %d", (int)tb.rank,
                              ta->rank - 1, (int)ta->rank);
    if (!*vectors) return b;
    for (int i = 0; i < tb.rank; i++) shape[i] = tb.dim[i];
    shape[tb.rank] = 1;
    return tn_i_do_reshape(s, b, tb.rank + 1, shape);
}

tn_i_var tn_i_do_as_given(tn_i_site *s, tn_i_var x, bool vectors) {
    if (x == TN_NOVAR || !vectors) return x;
    const tn_type t = *tn_i_site_type(s, x);
    return tn_i_do_reshape(s, x, t.rank - 1, t.dim);
}

tn_val tn_solve_at(tn_val a, tn_val b, const char *file, int line) {
    const tn_val in[2] = {a, b};
    tn_i_site s;
    tn_i_var v[2], x;
    bool vectors;
    if (!open_floats(&s, "solve", 2, in, v, file, line)) return tn_i_site_close(&s, TN_NOVAR);
    x = tn_i_do_columns(&s, v[0], v[1], 1, &vectors);
    if (x != TN_NOVAR) x = tn_i_emit(s.b, tn_i_prim(s.b, TN_P_linear_solve), NULL, 2, (const tn_i_var[]){v[0], x});
    return tn_i_site_close(&s, tn_i_do_as_given(&s, x, vectors));
}

void tn_lu_at(tn_val a, tn_val *lu, tn_val *pivots, tn_val *permutation, const char *file, int line) {
    tn_i_site s;
    tn_i_var v, first = TN_NOVAR;
    tn_val out[3], *const to[3] = {lu, pivots, permutation};
    if (open_floats(&s, "lu", 1, &a, &v, file, line)) first = tn_i_do1(&s, TN_P_lu, v);
    tn_i_site_close_many(&s, first, 3, out);
    for (int j = 0; j < 3; j++)
        if (to[j]) *to[j] = out[j];
}

tn_val tn_lu_solve_at(tn_val lu, tn_val permutation, tn_val b, int how, const char *file, int line) {
    const tn_val in[3] = {lu, permutation, b};
    tn_i_site s;
    tn_i_var v[3];
    tn_i_args args;
    bool vectors;
    if (!open_floats(&s, "lu_solve", 3, in, v, file, line)) return tn_i_site_close(&s, TN_NOVAR);
    if (how & ~TN_SOLVE_TRANSPOSED)
        return tn_i_site_close(&s, tn_i_site_fail(&s, TN_EINVAL, -1, "how is %d: TN_SOLVE_TRANSPOSED or 0", how));
    v[2] = tn_i_do_columns(&s, v[0], v[2], 2, &vectors);
    tn_i_args_init(&args, &s, TN_P_lu_solve);
    tn_i_args_int(&args, "transposed", how & TN_SOLVE_TRANSPOSED);
    return tn_i_site_close(&s, tn_i_do_as_given(&s, tn_i_args_emit(&s, &args, 3, v), vectors));
}

/* ---- triangular matrices -------------------------------------------------------------------- */

tn_val tn_cholesky_at(tn_val x, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    tn_i_site_open(&s, "cholesky", NULL, 1, &x, &v, 0, file, line);
    return tn_i_site_close(&s, tn_i_do1(&s, TN_P_cholesky, v));
}

/* Vectors are matrices of one column, or, on the right side, of one row. */
static tn_i_var triangular(tn_i_site *s, tn_i_var a, tn_i_var x, int how) {
    const tn_type *ta = tn_i_site_type(s, a), tx = *tn_i_site_type(s, x);
    const bool vectors = ta->rank >= 2 && tx.rank + 1 == ta->rank, right = how & TN_SOLVE_RIGHT;
    int64_t shape[TN_MAX_RANK];
    tn_i_args args;
    for (int i = 0; vectors && i < tx.rank; i++) shape[i] = tx.dim[i];
    if (vectors) {
        shape[tx.rank] = right ? tx.dim[tx.rank - 1] : 1;
        if (right) shape[tx.rank - 1] = 1;
        x = tn_i_do_reshape(s, x, tx.rank + 1, shape);
    }
    tn_i_args_init(&args, s, TN_P_triangular_solve);
    tn_i_args_int(&args, "left_side", !right);
    tn_i_args_int(&args, "lower", !(how & TN_SOLVE_UPPER));
    tn_i_args_int(&args, "transpose_a", (how & TN_SOLVE_TRANSPOSED) != 0);
    tn_i_args_int(&args, "conjugate_a", false);
    tn_i_args_int(&args, "unit_diagonal", (how & TN_SOLVE_UNIT_DIAGONAL) != 0);
    x = tn_i_args_emit(s, &args, 2, (const tn_i_var[]){a, x});
    return vectors && x != TN_NOVAR ? tn_i_do_reshape(s, x, tx.rank, tx.dim) : x;
}

tn_val tn_triangular_solve_at(tn_val a, tn_val b, int how, const char *file, int line) {
    const tn_val in[2] = {a, b};
    tn_i_site s;
    tn_i_var v[2];
    if (!open_floats(&s, "triangular_solve", 2, in, v, file, line)) return tn_i_site_close(&s, TN_NOVAR);
    if (how & ~(TN_SOLVE_UPPER | TN_SOLVE_RIGHT | TN_SOLVE_TRANSPOSED | TN_SOLVE_UNIT_DIAGONAL))
        return tn_i_site_close(&s,
                               tn_i_site_fail(&s, TN_EINVAL, -1, "how is %d, which is no sum of tn_solve_how", how));
    return tn_i_site_close(&s, triangular(&s, v[0], v[1], how));
}

tn_val tn_cholesky_solve_at(tn_val l, tn_val b, const char *file, int line) {
    const tn_val in[2] = {l, b};
    tn_i_site s;
    tn_i_var v[2], x;
    if (!open_floats(&s, "cholesky_solve", 2, in, v, file, line)) return tn_i_site_close(&s, TN_NOVAR);
    x = triangular(&s, v[0], v[1], TN_SOLVE_LOWER);
    if (x != TN_NOVAR) x = triangular(&s, v[0], x, TN_SOLVE_LOWER | TN_SOLVE_TRANSPOSED);
    return tn_i_site_close(&s, x);
}
