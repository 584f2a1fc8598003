/* tn_vmap: axes of the caller's choice around the batch-first walk. */
#include "api/surgery.h"
#include "prims/prim.h"
#include "vmap/vmap.h"

typedef struct axes {
    const tn_fn *f;
    int64_t size;
    const int *in, *out;
    bool *batched;
    tn_i_var *args, *outs;
} axes;

static int in_axis(const axes *a, uint32_t i) { return a->in ? a->in[i] : 0; }
static int out_axis(const axes *a, uint32_t j) { return a->out ? a->out[j] : 0; }

static bool check_axes(axes *a) {
    const tn_fn *f = a->f;
    for (uint32_t i = 0; i < f->nin; i++) {
        int axis = in_axis(a, i), rank = f->val[i].type->rank;
        a->batched[i] = axis != TN_NOT_MAPPED;
        if (axis >= TN_NOT_MAPPED && axis <= rank) continue;
        (void)tn_i_fail(f->ctx, TN_EINVAL, f->loc,
                        "vmap: in_axes[%u] is %d; input %u has rank %d (0..%d or TN_NOT_MAPPED)", (unsigned)i, axis,
                        (unsigned)i, rank, rank);
        return false;
    }
    for (uint32_t j = 0; j < f->nout; j++) {
        int axis = out_axis(a, j), rank = f->val[f->out[j]].type->rank;
        if (axis >= TN_NOT_MAPPED && axis <= rank) continue;
        (void)tn_i_fail(f->ctx, TN_EINVAL, f->loc, "vmap: out_axes[%u] is %d; output %u has rank %d (0..%d)",
                        (unsigned)j, axis, (unsigned)j, rank, rank);
        return false;
    }
    return true;
}

static tn_i_var mapped_input(const axes *a, tn_i_builder *b, uint32_t i) {
    tn_type t = *a->f->val[i].type;
    int axis = in_axis(a, i);
    if (a->batched[i]) {
        if (t.rank == TN_MAX_RANK) {
            tn_i_builder_fail(b, TN_ELIMIT, "vmap: input %u already has rank %d", (unsigned)i, TN_MAX_RANK);
            return TN_NOVAR;
        }
        for (int d = t.rank; d > axis; d--) t.dim[d] = t.dim[d - 1];
        t.dim[axis] = a->size;
        t.rank++;
    }
    return tn_i_input(b, &t, i >= a->f->nin - a->f->nlin);
}

static tn_fn *wrap(const axes *a, const tn_fn *g, const bool *out_batched) {
    const tn_fn *f = a->f;
    tn_i_builder b;
    tn_i_builder_init(&b, f->ctx);
    b.named_after = f;
    for (uint32_t i = 0; i < f->nin; i++) a->args[i] = mapped_input(a, &b, i);
    for (uint32_t i = 0; i < f->nin && !b.failed; i++)
        if (a->batched[i]) a->args[i] = tn_i_move_axis(&b, a->args[i], in_axis(a, i), 0);
    tn_i_inline(&b, g, a->args, a->outs);
    for (uint32_t j = 0; j < f->nout && !b.failed; j++) {
        int axis = out_axis(a, j);
        if (axis == TN_NOT_MAPPED && out_batched[j])
            tn_i_builder_fail(&b, TN_EINVAL,
                              "vmap: output %u depends on a mapped input, so out_axes[%u] must be an axis", (unsigned)j,
                              (unsigned)j);
        if (axis == TN_NOT_MAPPED) continue;
        if (!out_batched[j]) a->outs[j] = tn_i_batched(&b, a->outs[j], a->size);
        a->outs[j] = tn_i_move_axis(&b, a->outs[j], 0, axis);
    }
    return tn_i_finish(&b, f->nout, a->outs);
}

tn_fn *tn_vmap(const tn_fn *f, int64_t size, const int *in_axes, const int *out_axes) {
    if (!tn_i_living(f)) return NULL;
    tn_ctx *c = f->ctx;
    if (size < 0) {
        (void)tn_i_fail(c, TN_EINVAL, f->loc, "vmap: size %lld is negative", (long long)size);
        return NULL;
    }
    axes a = {.f = f,
              .size = size,
              .in = in_axes,
              .out = out_axes,
              .batched = tn_i_alloc_array(c, f->nin, sizeof(bool)),
              .args = tn_i_alloc_array(c, f->nin, sizeof(tn_i_var)),
              .outs = tn_i_alloc_array(c, f->nout, sizeof(tn_i_var))};
    bool *out_batched = tn_i_alloc_array(c, f->nout, sizeof *out_batched);
    tn_fn *once = tn_i_contracted(f), *g = NULL, *h = NULL; /* a product that is not mapped is none once broadcast */
    if (once && a.batched && a.args && a.outs && out_batched && check_axes(&a)) {
        g = tn_i_vmap(once, size, a.batched, false, out_batched, NULL);
        h = g ? wrap(&a, g, out_batched) : NULL;
    }
    tn_i_fn_unref(once);
    tn_i_fn_unref(g);
    tn_i_free(c, a.batched, f->nin * sizeof(bool));
    tn_i_free(c, a.args, f->nin * sizeof(tn_i_var));
    tn_i_free(c, a.outs, f->nout * sizeof(tn_i_var));
    tn_i_free(c, out_batched, f->nout * sizeof *out_batched);
    return h;
}
