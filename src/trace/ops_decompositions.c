/* Eigenvalues, singular values and their kin. */
#include "prims/ids.h"
#include "prims/linear/matrices.h"
#include "tansy/complex.h"
#include "tansy/decompositions.h"
#include "trace/trace.h"

static void close_many(tn_i_site *s, tn_i_var first, size_t n, tn_val *const *to) {
    tn_val out[4];
    tn_i_site_close_many(s, first, n, out);
    for (size_t j = 0; j < n; j++)
        if (to[j]) *to[j] = out[j];
}

static tn_i_var eigh(tn_i_site *s, tn_i_var x) {
    tn_i_args args;
    tn_i_args_init(&args, s, TN_P_eigh);
    tn_i_args_int(&args, "lower", true);
    return tn_i_args_emit(s, &args, 1, &x);
}

void tn_eigh_at(tn_val a, tn_val *w, tn_val *v, const char *file, int line) {
    tn_i_site s;
    tn_i_var x;
    tn_i_site_open(&s, "eigh", NULL, 1, &a, &x, 0, file, line);
    close_many(&s, eigh(&s, x), 2, (tn_val *const[]){v, w});
}

tn_val tn_eigvalsh_at(tn_val a, const char *file, int line) {
    tn_i_site s;
    tn_i_var x;
    tn_i_site_open(&s, "eigvalsh", NULL, 1, &a, &x, 0, file, line);
    const tn_i_var v = eigh(&s, x);
    return tn_i_site_close(&s, v == TN_NOVAR ? v : v + 1);
}

/* Its values, and its vectors if they are wanted. */
static void eig(const char *name, tn_val a, tn_val *const *to, bool vectors, const char *file, int line) {
    tn_i_site s;
    tn_i_args args;
    tn_i_var x;
    tn_i_site_open(&s, name, NULL, 1, &a, &x, 0, file, line);
    tn_i_args_init(&args, &s, TN_P_eig);
    tn_i_args_int(&args, "compute_vectors", vectors);
    close_many(&s, tn_i_args_emit(&s, &args, 1, &x), vectors ? 4 : 2, to);
}

void tn_eig_at(tn_val a, tn_complex *w, tn_complex *v, const char *file, int line) {
    tn_complex values, vectors;
    tn_val *const to[4] = {&values.re, &values.im, &vectors.re, &vectors.im};
    eig("eig", a, to, v != NULL, file, line);
    if (w) *w = values;
    if (v) *v = vectors;
}

tn_complex tn_eigvals_at(tn_val a, const char *file, int line) {
    tn_complex w;
    tn_val *const to[2] = {&w.re, &w.im};
    eig("eigvals", a, to, false, file, line);
    return w;
}

static bool known(tn_i_site *s, tn_factors how) {
    if (how == TN_FACTORS_REDUCED || how == TN_FACTORS_FULL) return true;
    (void)tn_i_site_fail(s, TN_EINVAL, -1, "how is %d: TN_FACTORS_REDUCED or TN_FACTORS_FULL", (int)how);
    return false;
}

void tn_qr_at(tn_val a, tn_factors how, tn_val *q, tn_val *r, const char *file, int line) {
    tn_i_site s;
    tn_i_args args;
    tn_i_var x, first = TN_NOVAR;
    tn_i_site_open(&s, "qr", NULL, 1, &a, &x, 0, file, line);
    if (known(&s, how)) {
        tn_i_args_init(&args, &s, TN_P_qr);
        tn_i_args_int(&args, "full_matrices", how);
        first = tn_i_args_emit(&s, &args, 1, &x);
    }
    close_many(&s, first, 2, (tn_val *const[]){q, r});
}

void tn_svd_at(tn_val a, tn_factors how, tn_val *u, tn_val *singular, tn_val *vt, const char *file, int line) {
    tn_i_site s;
    tn_i_args args;
    tn_i_var x, first = TN_NOVAR;
    const bool vectors = u || vt;
    tn_i_site_open(&s, "svd", NULL, 1, &a, &x, 0, file, line);
    if (known(&s, how)) {
        tn_i_args_init(&args, &s, TN_P_svd);
        tn_i_args_int(&args, "full_matrices", how);
        tn_i_args_int(&args, "compute_uv", vectors);
        first = tn_i_args_emit(&s, &args, 1, &x);
    }
    close_many(&s, first, vectors ? 3 : 1, (tn_val *const[]){singular, u, vt});
}

void tn_schur_at(tn_val a, tn_val *t, tn_val *q, const char *file, int line) {
    tn_i_site s;
    tn_i_args args;
    tn_i_var x;
    tn_i_site_open(&s, "schur", NULL, 1, &a, &x, 0, file, line);
    tn_i_args_init(&args, &s, TN_P_schur);
    tn_i_args_int(&args, "compute_schur_vectors", q != NULL);
    close_many(&s, tn_i_args_emit(&s, &args, 1, &x), q ? 2 : 1, (tn_val *const[]){t, q});
}

tn_val tn_pinv_at(tn_val a, const char *file, int line) {
    tn_i_site s;
    tn_i_var x;
    tn_i_site_open(&s, "pinv", NULL, 1, &a, &x, 0, file, line);
    return tn_i_site_close(&s, tn_i_do1(&s, TN_P_pinv, x));
}

/* As many rows in b as in a, and the same batch. */
static bool fits(tn_i_site *s, tn_i_var a, tn_i_var b) {
    const tn_type ta = *tn_i_site_type(s, a), tb = *tn_i_site_type(s, b);
    for (int d = 0; d < ta.rank - 1 && d < tb.rank; d++)
        if (tb.dim[d] != ta.dim[d]) {
            (void)tn_i_site_fail(s, TN_ETYPE, 1, "dimension %d is %lld, but operand 0's is %lld", d,
                                 (long long)tb.dim[d], (long long)ta.dim[d]);
            return false;
        }
    return true;
}

tn_val tn_lstsq_at(tn_val a, tn_val b, const char *file, int line) {
    const tn_val in[2] = {a, b};
    tn_i_site s;
    tn_i_var v[2];
    bool vectors;
    tn_i_site_open(&s, "lstsq", NULL, 2, in, v, 0, file, line);
    if (s.b->failed) return tn_i_site_close(&s, TN_NOVAR);
    const tn_i_var p = tn_i_do1(&s, TN_P_pinv, v[0]);
    if (p == TN_NOVAR || !fits(&s, v[0], v[1])) return tn_i_site_close(&s, TN_NOVAR);
    const tn_i_var c = tn_i_do_columns(&s, v[0], v[1], 1, &vectors);
    const tn_i_var x = tn_i_matrix_product(s.b, p, 1, c, 0);
    return tn_i_site_close(&s, tn_i_do_as_given(&s, x, vectors));
}
