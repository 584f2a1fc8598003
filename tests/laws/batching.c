/* vmap is a loop of calls. */
#include "laws/case.h"
#include "laws/derive.h"
#include "laws/table.h"

#include <math.h>
#include <string.h>

typedef struct axes {
    int64_t size;
    int *in, *out;
} axes;

/* Whether output j of f depends on any mapped input. */
static bool *depends(laws_trial *t, const tn_fn *f, const int *in) {
    bool *d = laws_alloc(t->memory, f->nval + 1u, sizeof *d), *out = laws_alloc(t->memory, f->nout + 1u, sizeof *out);
    for (uint32_t i = 0; i < f->nin; i++) d[i] = in[i] != TN_NOT_MAPPED;
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        bool any = false;
        for (uint32_t k = 0; k < e->nin; k++) any |= d[tn_i_in(f, e)[k]];
        for (uint32_t j = 0; j < e->nout; j++) d[e->out + j] = any;
    }
    for (uint32_t j = 0; j < f->nout; j++) out[j] = d[f->out[j]];
    return out;
}

static void draw(laws_trial *t, const tn_fn *f, axes *a) {
    a->size = tn_i_pick(&t->rng, 0, 9) ? tn_i_pick(&t->rng, 1, 4) : 0;
    a->in = laws_alloc(t->memory, f->nin + 1u, sizeof *a->in);
    a->out = laws_alloc(t->memory, f->nout + 1u, sizeof *a->out);
    for (uint32_t i = 0; i < f->nin; i++)
        a->in[i] = tn_i_pick(&t->rng, 0, 3) ? (int)tn_i_pick(&t->rng, 0, f->val[i].type->rank) : TN_NOT_MAPPED;
    const bool *mapped = depends(t, f, a->in);
    for (uint32_t j = 0; j < f->nout; j++) {
        const int rank = f->val[f->out[j]].type->rank;
        a->out[j] = (int)tn_i_pick(&t->rng, mapped[j] ? 0 : TN_NOT_MAPPED, rank);
    }
}

static tn_type mapped_type(const tn_type *t, int axis, int64_t size) {
    tn_type m = *t;
    if (axis == TN_NOT_MAPPED) return m;
    memmove(m.dim + axis + 1, m.dim + axis, (size_t)(m.rank - axis) * sizeof *m.dim);
    m.dim[axis] = size;
    m.rank++;
    return m;
}

/* Copies lane k of `all` to or from `one`. */
static void lane(laws_array *all, laws_array *one, int axis, int64_t k, bool into) {
    if (axis == TN_NOT_MAPPED) {
        if (!into) memcpy(one->data, all->data, laws_bytes(one));
        return;
    }
    size_t inner = tn_i_dtype_size(one->type.dtype), outer = 1;
    for (int d = 0; d < one->type.rank; d++) *(d < axis ? &outer : &inner) *= (size_t)one->type.dim[d];
    const size_t step = inner * (size_t)all->type.dim[axis];
    for (size_t o = 0; o < outer && inner; o++) {
        char *at = (char *)all->data + o * step + (size_t)k * inner, *other = (char *)one->data + o * inner;
        if (into)
            memcpy(at, other, inner);
        else
            memcpy(other, at, inner);
    }
}

/* One point of the domain: drawn anew for a primitive; a generated program's own, moved a little. */
static const laws_array *point(laws_trial *t) {
    if (t->prim) return laws_case_data(t->memory, t->prim, t->c, &t->rng);
    laws_array *x = laws_alloc(t->memory, t->f->nin + 1u, sizeof *x);
    for (uint32_t i = 0; i < t->f->nin; i++) {
        x[i] = laws_copy(t->memory, &t->x[i]);
        for (int64_t k = 0; k < laws_count(&x[i]); k++)
            laws_put(&x[i], k,
                     laws_is_float(&x[i]) ? laws_get(&x[i], k) + tn_i_uniform(&t->rng, -0.01, 0.01)
                                          : (double)tn_i_pick(&t->rng, -4, 4));
    }
    return x;
}

/* Inputs of f mapped over `a`, every lane another point; f itself may be the trial's program
 * mapped over `inner`. */
static laws_array *lanes_of(laws_trial *t, const tn_fn *f, const axes *a, const axes *inner) {
    laws_array *all = laws_alloc(t->memory, f->nin + 1u, sizeof *all);
    for (uint32_t i = 0; i < f->nin; i++) {
        const tn_type type = mapped_type(f->val[i].type, a->in[i], a->size);
        all[i] = laws_new(t->memory, &type);
    }
    for (int64_t k = 0; k < a->size || k == 0; k++) {
        const laws_array *one = inner ? lanes_of(t, t->f, inner, NULL) : point(t);
        for (uint32_t i = 0; i < f->nin; i++) {
            laws_array x = one[i];
            if (a->in[i] == TN_NOT_MAPPED && k == 0) memcpy(all[i].data, x.data, laws_bytes(&x));
            if (a->in[i] != TN_NOT_MAPPED && k < a->size) lane(&all[i], &x, a->in[i], k, true);
        }
    }
    return all;
}

static bool products(const tn_fn *f) {
    tn_i_cost c;
    return tn_i_fn_cost(f, &c) && c.products > 0;
}

static bool compare_lane(laws_trial *t, const tn_fn *f, const laws_array *want, const laws_array *got) {
    if (!products(f)) return laws_same_bits(t, "lane: output", want, got, f->nout);
    return laws_agree(t, "lane: output", want, got, f->nout, laws_rounding(f), 1e-3);
}

static bool loop_of_calls(laws_trial *t, const tn_fn *f, const axes *a, const axes *inner) {
    const tn_fn *g = laws_made(t, tn_vmap(f, a->size, a->in, a->out), "vmap");
    if (!g) return false;
    t->shown = g;
    laws_array *all = lanes_of(t, f, a, inner), *y = laws_run_new(t, g, all);
    laws_array *one = laws_alloc(t->memory, f->nin + 1u, sizeof *one),
               *part = laws_alloc(t->memory, f->nout + 1u, sizeof *part);
    if (!y) return false;
    for (uint32_t i = 0; i < f->nin; i++) one[i] = laws_new(t->memory, f->val[i].type);
    for (uint32_t j = 0; j < f->nout; j++) {
        const tn_type type = mapped_type(f->val[f->out[j]].type, a->out[j], a->size);
        if (!tn_type_equal(&type, &y[j].type)) {
            laws_fail(t, "vmap: output %u has another type than the axes say", (unsigned)j);
            return false;
        }
        part[j] = laws_new(t->memory, f->val[f->out[j]].type);
    }
    for (int64_t k = 0; k < a->size; k++) {
        for (uint32_t i = 0; i < f->nin; i++) lane(&all[i], &one[i], a->in[i], k, false);
        const laws_array *want = laws_run_new(t, f, one);
        for (uint32_t j = 0; want && j < f->nout; j++) lane(&y[j], &part[j], a->out[j], k, false);
        if (!want || !compare_lane(t, f, want, part)) return false;
    }
    t->shown = NULL;
    return true;
}

void laws_vmap(laws_trial *t) {
    axes a;
    draw(t, t->f, &a);
    (void)loop_of_calls(t, t->f, &a, NULL);
}

static bool rank_left(const tn_fn *f) {
    for (uint32_t v = 0; v < f->nval; v++)
        if (f->val[v].type->rank == TN_MAX_RANK) return false;
    return true;
}

/* vmap of and in vmap. */
void laws_vmap_twice(laws_trial *t) {
    axes a, b;
    draw(t, t->f, &a);
    const tn_fn *g = laws_made(t, tn_vmap(t->f, a.size, a.in, a.out), "vmap");
    if (!g || !rank_left(g)) return;
    draw(t, g, &b);
    (void)loop_of_calls(t, g, &b, &a);
}

/* The gradient of a sum of lanes has the lanes' gradients, and vmap of grad is a loop of grads. */
void laws_vmap_grad(laws_trial *t) {
    laws_wrt w;
    const tn_fn *s = laws_scalar(t, t->f),
                *g = s ? laws_made(t, tn_grad(s, laws_wrt_all(t->f, &w), NULL), "grad") : NULL;
    if (!g) return;
    axes a = {.size = tn_i_pick(&t->rng, 1, 3),
              .in = laws_alloc(t->memory, g->nin + 1u, sizeof(int)),
              .out = laws_alloc(t->memory, g->nout + 1u, sizeof(int))};
    if (!loop_of_calls(t, g, &a, NULL)) return;
    const tn_fn *lanes = laws_made(t, tn_vmap(s, a.size, NULL, NULL), "vmap");
    const tn_fn *gg = lanes ? laws_made(t, tn_vmap(g, a.size, NULL, NULL), "vmap of grad") : NULL;
    if (!gg) return;
    tn_i_builder b;
    tn_i_builder_init(&b, t->ctx);
    tn_i_var *in = laws_alloc(t->memory, s->nin + 1u, sizeof *in), sum = TN_NOVAR;
    const int64_t axis = 0;
    for (uint32_t i = 0; i < s->nin; i++) in[i] = tn_i_input(&b, lanes->val[i].type, false);
    tn_i_inline(&b, lanes, in, &sum);
    sum = tn_i_reduce_sum(&b, sum, 1, &axis);
    const tn_fn *total = laws_made(t, tn_i_finish(&b, 1, &sum), "the sum of lanes");
    const tn_fn *back = total ? laws_made(t, tn_grad(total, &w.list, NULL), "grad of vmap") : NULL;
    if (!back) return;
    const laws_array *x = lanes_of(t, t->f, &a, NULL), *p = laws_run_new(t, gg, x),
                     *q = p ? laws_run_new(t, back, x) : NULL;
    t->shown = back;
    if (q) (void)laws_agree(t, "vmap of grad and grad of vmap: input", p, q, back->nout, laws_rounding(s), 1e-2);
}
