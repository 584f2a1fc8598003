/* scatter_add of one window at a known place, where the window is most of the array or the array is tiny, as the sum of
 * the array and the padded window: a nest reads that through loops, among others of its kind, and needs no pass of its
 * own.  What is padded is -0, which changes no bit of what it is added to.  Tiny arrays one after another, likewise,
 * are a sum of padded ones.
 *
 * Two of them whose windows are the two parts of the array, as of what is turned round a ring, as the sum of the array
 * and the parts side by side: each element has had one number added. */
#include "exec/fuse.h"
#include "exec/plan.h"
#include "prims/shape.h"

#include <string.h>

enum { MOST_TIMES = 2 /* as large as the window */, TINY = TN_LANES /* elements */, PIECES = 3 };

/* Element i of a constant vector, or false. */
static bool known_index(const tn_fn *f, tn_i_var v, int64_t i, int64_t *x) {
    const uint32_t def = f->val[v].def;
    const tn_type *t = f->val[v].type;
    const void *data = def < f->neqn ? tn_i_constant_data(&f->eqn[def]) : NULL;
    if (!data || t->rank != 1) return false;
    *x = t->dtype == TN_I64 ? ((const int64_t *)data)[i] : (int64_t)((const int32_t *)data)[i];
    return true;
}

bool tn_i_known_window(const tn_fn *f, const tn_i_eqn *e, int64_t *config, int64_t *sizes) {
    if (e->prim->id != TN_P_scatter_add) return false;
    const tn_i_var *in = tn_i_in(f, e);
    const tn_type *x = f->val[in[0]].type, *u = f->val[in[2]].type;
    tn_i_dnums d;
    int64_t start[TN_MAX_RANK] = {0};
    if (tn_i_count(u) == 0) return false;
    tn_i_dnums_read(&d, &tn_i_p(e)[0]);
    if (d.n[TN_WINDOW] != (uint32_t)u->rank || d.n[TN_OPERAND_BATCH] || d.n[TN_INDEX_BATCH]) return false;
    for (uint32_t k = 0; k < d.n[TN_MAP]; k++)
        if (!known_index(f, in[1], k, &start[d.v[TN_MAP][k]])) return false;
    for (int i = 0, at = 0; i < x->rank; i++) {
        sizes[i] = 1;
        bool inserted = false;
        for (uint32_t k = 0; k < d.n[TN_COLLAPSED]; k++) inserted |= d.v[TN_COLLAPSED][k] == i;
        if (!inserted) sizes[i] = u->dim[at++];
        if (start[i] < 0 || start[i] > x->dim[i] - sizes[i]) return false;
        config[3 * i] = start[i];
        config[3 * i + 1] = x->dim[i] - sizes[i] - start[i];
        config[3 * i + 2] = 0;
    }
    return true;
}

static bool large(const tn_fn *f, const tn_i_eqn *e) {
    const tn_i_var *in = tn_i_in(f, e);
    const int64_t all = tn_i_count(f->val[in[0]].type);
    return tn_i_count(f->val[in[2]].type) >= all / MOST_TIMES || all <= TINY;
}

/* The window of e in the shape of what it is added to. */
static tn_i_var update(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, const int64_t *sizes, tn_i_var *map) {
    const tn_i_var *in = tn_i_in(f, e), u = tn_i_mapped(b, f, map, in[2]);
    const int rank = f->val[in[0]].type->rank;
    return f->val[in[2]].type->rank == rank ? u : tn_i_reshape(b, u, rank, sizes);
}

static void add_window(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, const int64_t *config, const int64_t *sizes,
                       tn_i_var *map) {
    const tn_i_var x = tn_i_mapped(b, f, map, tn_i_in(f, e)[0]);
    const int dtype = f->val[tn_i_in(f, e)[0]].type->dtype;
    const tn_i_var zero = tn_i_literal_f64(b, dtype, tn_i_is_float(dtype) ? -0.0 : 0.0);
    b->loc = e->loc;
    map[e->out] = tn_i_op2(b, TN_P_add, x, tn_i_pad(b, update(b, f, e, sizes, map), zero, config));
}

/* ---- two parts ------------------------------------------------------------------------- */

/* The dimension along which two windows lie beside each other and are all of an array; -1: they do not. */
static int side_by_side(const tn_type *t, const int64_t *a, const int64_t *b) {
    int along = -1;
    for (int d = 0; d < t->rank; d++) {
        const int64_t *x = a + 3 * d, *y = b + 3 * d;
        if (x[0] == 0 && x[1] == 0 && y[0] == 0 && y[1] == 0) continue;
        const bool first = x[0] == 0 && y[1] == 0 && x[1] == t->dim[d] - y[0];
        const bool second = y[0] == 0 && x[1] == 0 && y[1] == t->dim[d] - x[0];
        if (along >= 0 || !(first || second)) return -1;
        along = d;
    }
    return along;
}

/* The scatter_add before e, when nothing else reads it and both are parts of one array; else NULL. */
static const tn_i_eqn *other_part(const tn_fn *f, const tn_i_eqn *e, const uint32_t *uses, int64_t *before,
                                  int64_t *sizes, const int64_t *config) {
    const tn_i_var v = tn_i_in(f, e)[0];
    const uint32_t def = f->val[v].def;
    if (def >= f->neqn || uses[v] != 1 || !tn_i_known_window(f, &f->eqn[def], before, sizes)) return NULL;
    return side_by_side(f->val[v].type, before, config) >= 0 ? &f->eqn[def] : NULL;
}

/* Of e and the one before it; false: e stands alone. */
static bool add_parts(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, const int64_t *config, const int64_t *sizes,
                      uint32_t *uses, tn_i_var *map) {
    int64_t before[3 * TN_MAX_RANK], its[TN_MAX_RANK];
    const tn_i_eqn *k = other_part(f, e, uses, before, its, config);
    if (!k) return false;
    const tn_i_var x = tn_i_mapped(b, f, map, tn_i_in(f, k)[0]);
    const tn_i_var one = update(b, f, k, its, map), other = update(b, f, e, sizes, map);
    const int along = side_by_side(f->val[e->out].type, before, config);
    const bool first = before[3 * along] == 0;
    const tn_i_var in[2] = {first ? one : other, first ? other : one};
    b->loc = e->loc;
    map[e->out] = tn_i_op2(b, TN_P_add, x, tn_i_concatenate(b, 2, in, along));
    uses[e->out] = 0; /* is no part of a further pair */
    return true;
}

static void count_uses(const tn_fn *f, uint32_t *uses) {
    for (uint32_t i = 0; i < f->neqn; i++)
        for (uint32_t k = 0; k < f->eqn[i].nin; k++) uses[tn_i_in(f, &f->eqn[i])[k]]++;
    for (uint32_t j = 0; j < f->nout; j++) uses[f->out[j]]++;
}

/* ---- programs ---------------------------------------------------------------------------- */

static bool is_tiny_row(const tn_fn *f, const tn_i_eqn *e) {
    const tn_type *t = f->val[e->out].type;
    if (e->prim->id != TN_P_concatenate || e->nin < 2 || e->nin > PIECES) return false;
    for (uint32_t k = 0; k < e->nin; k++)
        if (tn_i_count(f->val[tn_i_in(f, e)[k]].type) == 0) return false;
    return tn_i_is_float(t->dtype) && tn_i_count(t) <= TINY;
}

static void add_pieces(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, tn_i_var *map) {
    const tn_type *t = f->val[e->out].type;
    const int64_t axis = tn_i_p(e)[0].u.i;
    const tn_i_var zero = tn_i_literal_f64(b, t->dtype, -0.0);
    int64_t config[3 * TN_MAX_RANK] = {0}, before = 0;
    tn_i_var sum = TN_NOVAR;
    b->loc = e->loc;
    for (uint32_t k = 0; k < e->nin; k++) {
        const tn_i_var in = tn_i_in(f, e)[k];
        const int64_t size = f->val[in].type->dim[axis];
        config[3 * axis] = before;
        config[3 * axis + 1] = t->dim[axis] - size - before;
        before += size;
        const tn_i_var piece = tn_i_pad(b, tn_i_mapped(b, f, map, in), zero, config);
        sum = sum == TN_NOVAR ? piece : tn_i_op2(b, TN_P_add, sum, piece);
    }
    map[e->out] = sum;
}

static void rewrite_eqn(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, uint32_t *uses, tn_i_var *map) {
    int64_t config[3 * TN_MAX_RANK], sizes[TN_MAX_RANK];
    b->region = e->region;
    if (is_tiny_row(f, e))
        add_pieces(b, f, e, map);
    else if (!tn_i_known_window(f, e, config, sizes))
        tn_i_copy_eqn(b, f, e, map);
    else if (add_parts(b, f, e, config, sizes, uses, map))
        return;
    else if (large(f, e))
        add_window(b, f, e, config, sizes, map);
    else
        tn_i_copy_eqn(b, f, e, map);
}

static tn_fn *rewrite(const tn_fn *f) {
    tn_i_builder b;
    tn_i_var *map = tn_i_map_new(f), *out = tn_i_alloc_array(f->ctx, f->nout, sizeof *out);
    uint32_t *uses = tn_i_alloc_array(f->ctx, f->nval, sizeof *uses);
    if (uses) count_uses(f, uses);
    tn_i_builder_init(&b, f->ctx);
    b.raw = true;
    b.named_after = f;
    for (uint32_t i = 0; map && i < f->nin; i++) map[i] = tn_i_input(&b, f->val[i].type, false);
    for (uint32_t i = 0; map && out && uses && i < f->neqn && !b.failed; i++) rewrite_eqn(&b, f, &f->eqn[i], uses, map);
    tn_fn *g = NULL;
    if (map && out && uses) {
        for (uint32_t j = 0; j < f->nout && !b.failed; j++) out[j] = tn_i_mapped(&b, f, map, f->out[j]);
        g = tn_i_finish(&b, f->nout, out);
    } else
        tn_i_builder_drop(&b);
    if (map) tn_i_map_free(f, map);
    tn_i_free(f->ctx, uses, f->nval * sizeof *uses);
    tn_i_free(f->ctx, out, f->nout * sizeof *out);
    return g;
}

tn_fn *tn_i_unscattered(const tn_fn *f) {
    int64_t config[3 * TN_MAX_RANK], sizes[TN_MAX_RANK];
    for (uint32_t i = 0; i < f->neqn; i++)
        if ((tn_i_known_window(f, &f->eqn[i], config, sizes) && large(f, &f->eqn[i])) || is_tiny_row(f, &f->eqn[i]))
            return rewrite(f);
    return (tn_fn *)(uintptr_t)tn_i_fn_ref(f);
}
