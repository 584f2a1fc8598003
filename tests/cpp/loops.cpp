/* Loops in C++17: the callbacks may be lambdas that capture nothing. */
#include <tansy.h>

static tn_val loops(const tn_val *in, void *user) {
    tn_ctx *c = static_cast<tn_ctx *>(user);
    tn_val total, sums, root;
    const tn_val zero = TN_VAL(0.0);
    auto a = tn_sized<tn_scan_args>();
    a.ncarry = a.nx = a.ny = 1;
    a.init = &zero;
    a.xs = &in[0];
    a.carry = &total;
    a.ys = &sums;
    a.schedule = "all_save";
    tn_scan(
        c,
        [](const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *) {
            y[0] = next[0] = tn_add(carry[0], x[0]);
        },
        nullptr, &a);
    tn_while_loop(
        c, [](const tn_val *x, void *) { return tn_gt(x[0], 1.0); },
        [](const tn_val *x, tn_val *y, void *) { y[0] = tn_mul(x[0], 0.5); }, nullptr, 1, &total, &root, nullptr);
    tn_fori(
        c, 0, tn_dim(in[0], 0),
        [](tn_val i, const tn_val *x, tn_val *y, void *) { y[0] = tn_mul(x[0], tn_convert(i, TN_F64)); }, nullptr, 1,
        &root, &root, nullptr);
    tn_fori(
        c, in[1], 3,
        [](tn_val, const tn_val *x, tn_val *y, void *context) {
            y[0] = tn_add(x[0], tn_convert(tn_loop_step(static_cast<tn_ctx *>(context)), TN_F64));
        },
        c, 1, &root, &root, nullptr);
    return tn_add(root, tn_sum(sums));
}

int main() {
    tn_ctx *c = tn_ctx_new(nullptr);
    const tn_fn *f = tn_trace(c, loops, c, 2, TN_TYPES(tn_f64(4), tn_i64()));
    tn_ctx_free(c);
    return f == nullptr;
}
