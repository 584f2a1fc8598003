/* Products of which one triangle alone is wanted.  `mirror` reads the upper triangle of its operand; what is made
 * element by element is wanted where what it makes is; a transpose wants the other triangle. So, from the last equation
 * back to the first, it is known what of each value is wanted, and products are told (prims/linear/gemm.h): they leave
 * out tiles of the result that lie beside the triangle.  Elements that are wanted have the bits of the whole product.
 *
 * Values are taken as rows of matrices of n x n elements in memory, whatever their dimensions. */
#include "plan/nest.h"
#include "plan/planner.h"
#include "prims/linear/dot.h"
#include "prims/ids.h"
#include "prims/arrays/shape.h"

/* Of a value: nothing so far, a triangle of its matrices, or (n = 0) all. */
typedef struct want {
    bool read;
    tn_i_triangle triangle;
    int64_t n;
} want;

static const want all = {.read = true};

static void join(want *w, want more) {
    if (!w->read)
        *w = more;
    else if (more.read && (w->triangle != more.triangle || w->n != more.n))
        *w = all;
}

static tn_i_triangle other(tn_i_triangle t) { return t == TN_ABOVE ? TN_BELOW : TN_ABOVE; }

static bool find_wants(tn_ctx *c, const tn_fn *f, want *of);

/* What the inputs of a fused program are wanted of, where outputs of it are wanted of a triangle. */
static bool want_inside(tn_ctx *c, const tn_fn *f, const tn_i_eqn *e, want *of) {
    const tn_fn *body = tn_i_body(e);
    want *inside = tn_i_alloc_array(c, body->nval, sizeof *inside);
    bool ok = inside != NULL;
    for (uint32_t j = 0; ok && j < body->nout; j++) join(&inside[body->out[j]], of[e->out + j]);
    ok = ok && find_wants(c, body, inside);
    for (uint32_t i = 0; ok && i < body->nin; i++) join(&of[tn_i_in(f, e)[i]], inside[i]);
    tn_i_free(c, inside, body->nval * sizeof *inside);
    return ok;
}

/* Of operand i of an equation with one output, of which a triangle is wanted. */
static want operand_want(const tn_fn *f, const tn_i_eqn *e, uint32_t i, want w) {
    const tn_type *t = f->val[e->out].type, *x = f->val[tn_i_in(f, e)[i]].type;
    if (e->prim->flags & TN_F_ELEMENTWISE) return tn_i_count(x) == tn_i_count(t) ? w : all;
    if (e->prim->id == TN_P_reshape) return w;
    if (e->prim->id == TN_P_transpose && t->rank == 2 && t->dim[0] == w.n && tn_i_ints(tn_i_p(e), 0)[0] == 1)
        return (want){true, other(w.triangle), w.n};
    return all;
}

static bool find_wants(tn_ctx *c, const tn_fn *f, want *of) {
    for (uint32_t k = f->neqn; k-- > 0;) {
        const tn_i_eqn *e = &f->eqn[k];
        bool some = false;
        for (uint32_t j = 0; j < e->nout; j++) some |= of[e->out + j].read && of[e->out + j].n > 0;
        if (some && e->prim->id == TN_P_fused) {
            if (!want_inside(c, f, e, of)) return false;
            continue;
        }
        for (uint32_t i = 0; i < e->nin; i++) {
            want w = all;
            if (e->prim->id == TN_P_mirror) {
                const tn_type *t = f->val[e->out].type;
                w = (want){true, TN_ABOVE, t->dim[t->rank - 1]};
            } else if (some && e->nout == 1) {
                w = operand_want(f, e, i, of[e->out]);
            }
            join(&of[tn_i_in(f, e)[i]], w);
        }
    }
    return true;
}

static bool mirrors(const tn_fn *f) {
    bool some = false;
    for (uint32_t k = 0; k < f->neqn && !some; k++) some = f->eqn[k].prim->id == TN_P_mirror;
    return some;
}

/* Elements of the last dimensions of a product's result, those of its right operand. */
static int64_t columns_of(const tn_fn *f, const tn_i_eqn *e) {
    const tn_i_dots d = tn_i_dots_read(tn_i_p(e));
    const tn_type *t = f->val[tn_i_in(f, e)[1]].type;
    int64_t n = 1;
    for (int i = 0; i < t->rank; i++)
        if (!(tn_i_dots_taken(&d, 1) >> i & 1)) n *= t->dim[i];
    return n;
}

/* A nest over such a matrix that stores no other elements, and sums nothing. */
static void tell_nest(const tn_fn *f, const tn_i_eqn *e, const want *of, tn_i_nest *n) {
    bool upper = n->nloop == 2 && n->nphase == 1 && n->size[0] == n->size[1];
    for (uint32_t j = 0; j < e->nout; j++) {
        const want *w = &of[e->out + j];
        upper &= w->read && w->triangle == TN_ABOVE && w->n == n->size[0] && f->val[e->out + j].type->rank == 2;
    }
    for (uint32_t i = 0; upper && i < n->nop; i++) {
        const tn_i_nest_op *o = &n->op[i];
        if (o->kind == TN_NEST_REDUCE) upper = false;
        if (o->kind == TN_NEST_STORE) upper = n->array[o->array].stride[1] == 1;
    }
    n->upper = upper;
}

/* requires: the steps are made.  Cost: linear, and nothing in programs without `mirror`. */
bool tn_i_find_triangles(tn_i_planner *z) {
    const tn_fn *f = z->f;
    if (z->root->plain || !mirrors(f)) return true;
    want *of = tn_i_alloc_array(z->ctx, f->nval, sizeof *of);
    if (!of) return false;
    for (uint32_t j = 0; j < f->nout; j++) of[f->out[j]] = all;
    const bool ok = find_wants(z->ctx, f, of);
    for (size_t i = z->p->nstep; ok && i-- > 0;) {
        tn_i_step *s = &z->p->step[i];
        const tn_i_eqn *e = &f->eqn[s->eqn];
        if (s->kind == TN_STEP_NEST) tell_nest(f, e, of, z->p->nest[s->loop]);
        if (s->kind != TN_STEP_KERNEL || e->prim->id != TN_P_dot_general || !of[e->out].read) continue;
        if (of[e->out].n > 0 && columns_of(f, e) == of[e->out].n) s->triangle = (uint8_t)of[e->out].triangle;
    }
    tn_i_free(z->ctx, of, f->nval * sizeof *of);
    return ok;
}
