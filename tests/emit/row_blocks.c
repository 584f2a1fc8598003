/* Programs over many rows, which run in blocks. */
#include "emit/written.h"

/* Rows enough for blocks (plan/row_blocks.c), and a few that are left. */
static tn_val regression(const tn_val *in, void *user) {
    (void)user;
    return tn_mean(tn_softplus(tn_mul(tn_neg(in[1]), tn_matmul(in[0], in[2]))));
}

static tn_val layer(const tn_val *in, void *user) {
    (void)user;
    const tn_val h = tn_tanh(tn_add(tn_matmul(in[0], in[1]), in[2]));
    return tn_mean(tn_square(tn_sum_axis(h, 1)));
}

void emit_row_blocks(emit_session *s) {
    const tn_ctx_options opt = {.size = sizeof opt, .check = 1};
    tn_ctx *c = tn_ctx_new(&opt);
    const tn_wrt_list *w = tn_wrt(2), *both = tn_wrt(1, 2);
    tn_fn *f = tn_trace(c, regression, NULL, 3, TN_TYPES(tn_f64(900, 400), tn_f64(900), tn_f64(400)));
    tn_fn *g = tn_trace(c, layer, NULL, 3, TN_TYPES(tn_f64(3001, 20), tn_f64(20, 40), tn_f64(40)));
    tn_fn *const made[] = {tn_grad(f, w, NULL), tn_hvp(f, w, NULL), tn_value_and_grad(g, both, NULL)};
    for (size_t k = 0; k < sizeof made / sizeof *made; k++) {
        laws_memory m = {NULL, 0};
        laws_trial t = {.memory = &m, .ctx = c, .rng = {s->seed}};
        if (!made[k]) {
            emit_wrong(s, "row_blocks", tn_error(c));
            continue;
        }
        laws_array *x = laws_alloc(&m, made[k]->nin + 1u, sizeof *x);
        for (uint32_t i = 0; i < made[k]->nin; i++) {
            x[i] = laws_new(&m, made[k]->val[i].type);
            laws_random(&t.rng, &x[i]);
        }
        if (!emit_add(s, "row_blocks", made[k], x)) emit_wrong(s, "row_blocks", "not written");
        laws_memory_drop(&m);
    }
    tn_ctx_free(c);
}
