/* Sparse derivatives in C++17. */
#include <tansy/sparse.h>

#include <cstdio>
#include <vector>

/* y[i] = x[i]^2 x[i+1] */
static tn_val chain(const tn_val *in, void *) {
    const tn_val x = in[0];
    return tn_mul(tn_square(x), tn_roll(x, -1, 0));
}
static tn_val energy(const tn_val *in, void *user) { return tn_sum(chain(in, user)); }

static bool jacobian(tn_ctx *c) {
    const tn_fn *f = tn_trace(c, chain, nullptr, TN_ARGS(tn_f64(5)));
    auto colors = tn_sized<tn_coloring_options>();
    colors.partition = TN_COLOR_COLUMN;
    auto options = tn_sized<tn_sparse_options>();
    options.format = TN_CSC;
    options.coloring = &colors;
    tn_sparsity *s = nullptr;
    const tn_fn *j = tn_sparse_jacobian(f, tn_wrt(0), &options, &s);
    tn_exec *e = tn_compile(j, nullptr);
    const tn_sparsity_arrays a = tn_sparsity_view(s, TN_CSC);
    std::vector<double> values(static_cast<size_t>(a.nnz));
    const double x[5] = {1, 2, 3, 4, 5};
    if (!e || a.nnz != 10 || tn_call(e, TN_RAW_INPUTS(x), TN_RAW_OUTPUTS(values.data())) != TN_OK) return false;
    return values[0] == 4 && values[1] == 25; /* dy0/dx0 = 2 x0 x1, dy4/dx0 = x4^2 */
}

static bool coloring(tn_ctx *c) {
    const tn_fn *f = tn_trace(c, energy, nullptr, TN_ARGS(tn_f64(4)));
    tn_sparsity *s = tn_hessian_sparsity(f, nullptr, nullptr);
    tn_coloring *k = tn_color(s, nullptr);
    const tn_coloring_arrays a = tn_coloring_view(k);
    return a.forward == 3 && a.column && tn_sparsity_view(s).nnz == 12 &&
           tn_sparsity_view(s, TN_COO, TN_LOWER).nnz == 8;
}

int main() {
    tn_ctx *c = tn_ctx_new(nullptr);
    const bool ok = jacobian(c) && coloring(c);
    if (!ok) std::fprintf(stderr, "%s\n", tn_error(c));
    tn_ctx_free(c);
    return !ok;
}
