/* Parameters as structs, in C++17. */
#include <tansy.h>

#include <cstdio>
#include <memory>

#define LAYER(F) F(f64, w, 3, 2) F(f64, b, 2)
TN_STRUCT(layer, LAYER);
#define NET(F) F(struct, layer, hidden, 2) F(bool, on) F(f32, empty, 0) F(i64, seen, 2)
TN_STRUCT(net, NET);
static_assert(layer_arrays == 2 && net_arrays == 7, "arrays of nested structs count");
static_assert(sizeof(net_vals) == net_arrays * sizeof(tn_val), "values follow each other");

static tn_val loss(const tn_val *in, void *) {
    const layer_vals *p = TN_STRUCT_VALS(layer, in);
    return tn_sum(tn_square(tn_add(tn_matmul(in[layer_arrays], p->w), p->b)));
}

int main() {
    tn_ctx *c = tn_ctx_new(nullptr);
    const tn_fn *f = tn_trace(c, loss, nullptr, TN_STRUCT_ARGS(layer, tn_f64(3)));
    tn_exec *e = tn_compile(tn_value_and_grad(f, TN_STRUCT_WRT(layer, 0), nullptr), nullptr);
    const layer p = {{{1, 0}, {0, 1}, {0, 0}}, {0, 1}};
    const double x[3] = {1, 2, 3};
    auto d = std::make_unique<layer>();
    double y = 0;
    bool ok =
        e && tn_call(e, TN_INPUTS(TN_STRUCT_IN(layer, &p), x), TN_OUTPUTS(&y, TN_STRUCT_OUT(layer, d.get()))) == TN_OK;
    ok = ok && y == 10 && d->b[0] == 2 && d->b[1] == 6 && d->w[2][1] == 18;
    ok = ok && tn_struct_flat(&layer_struct, d.get(), TN_F64) == d.get() &&
         tn_struct_find(&net_struct, "hidden[1].b") == 3;
    if (!ok) std::fprintf(stderr, "%s\n", tn_error(c));
    tn_ctx_free(c);
    return !ok;
}
