/* Programs over a grid of ranks, in C++17. */
#include <tansy/comm.h>

#include <cstdio>

static void total(const tn_val *in, tn_val *out, void *) { out[0] = tn_psum(tn_add(in[0], in[1]), "w"); }

int main() {
    const char *const name[] = {"w"};
    const int64_t one = 1;
    auto options = tn_sized<tn_ctx_options>();
    options.grid = {1, name, &one};
    tn_ctx *c = tn_ctx_new(&options);
    const tn_fn *f = tn_trace_spmd(c, total, nullptr, TN_ARGS(tn_f64(2), tn_f64(2)), TN_AXES("w", NULL), 1);
    tn_exec *e = f ? tn_compile(f, nullptr) : nullptr;
    const double x[2] = {1, 2}, y[2] = {3, 4};
    double z[2] = {0};
    bool ok = e && tn_call(e, TN_INPUTS(x, y), TN_OUTPUTS(z)) == TN_OK && z[0] == 4 && z[1] == 6;
    if (!ok) std::fprintf(stderr, "%s\n", tn_error(c));
    ok = ok && !tn_trace_spmd(c, total, nullptr, TN_ARGS(tn_f64(2), tn_f64(2)), TN_AXES("w"), 1);
    tn_ctx_free(c);
    return !ok;
}
