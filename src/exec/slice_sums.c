/* slice_add where the slice has no strides and is most of the array, or the array is tiny, as the sum of the array and
 * the padded slice: a nest reads that through loops, among others of its kind, and needs no pass of its own.  What is
 * padded is -0, which changes no bit of what it is added to.  Tiny arrays one after another, likewise, are a sum of
 * padded ones.
 *
 * Two of them whose slices are the two parts of the array, as of what is turned round a ring, as the sum of the array
 * and the parts side by side: each element has had one number added.  Where the first is added to zeros, another term
 * may stand between the two, as derivatives add them up in any order: ((0 + w) + x) + u is (0 + x) + (w, u) to the bit.
 */
#include "exec/fuse.h"
#include "exec/plan.h"
#include "prims/shape.h"

#include <string.h>

enum { MOST_TIMES = 2 /* as large as the window */, TINY = TN_LANES /* elements */, PIECES = 3 };

typedef struct sums {
    const tn_fn *f;
    uint32_t *uses;  /* of each value */
    uint32_t *first; /* of each equation: the one whose window lies beside its own, plus 1 */
    uint8_t *moved;  /* of each equation: its window is added by another */
} sums;

bool tn_i_window_of(const tn_fn *f, const tn_i_eqn *e, int64_t *config) {
    if (e->prim->id != TN_P_slice_add) return false;
    const tn_type *x = f->val[tn_i_in(f, e)[0]].type, *u = f->val[tn_i_in(f, e)[1]].type;
    if (tn_i_count(u) == 0) return false;
    for (int d = 0; d < x->rank; d++) {
        tn_i_slice_padding(tn_i_p(e), x, u, d, config + 3 * d);
        if (config[3 * d + 2]) return false;
    }
    return true;
}

static bool large(const tn_fn *f, const tn_i_eqn *e) {
    const tn_i_var *in = tn_i_in(f, e);
    const int64_t all = tn_i_count(f->val[in[0]].type);
    return tn_i_count(f->val[in[1]].type) >= all / MOST_TIMES || all <= TINY;
}

static void add_window(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, const int64_t *config, tn_i_var *map) {
    const tn_i_var x = tn_i_mapped(b, f, map, tn_i_in(f, e)[0]), u = tn_i_mapped(b, f, map, tn_i_in(f, e)[1]);
    const int dtype = f->val[tn_i_in(f, e)[0]].type->dtype;
    const tn_i_var zero = tn_i_literal_f64(b, dtype, tn_i_is_float(dtype) ? -0.0 : 0.0);
    b->loc = e->loc;
    map[e->out] = tn_i_op2(b, TN_P_add, x, tn_i_pad(b, u, zero, config));
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

static bool is_zeros(const tn_fn *f, tn_i_var v) {
    const uint32_t def = f->val[v].def;
    if (def >= f->neqn) return false;
    const tn_i_eqn *e = &f->eqn[def];
    return e->prim->walks && e->nin == 1 && tn_i_is_literal(f, tn_i_in(f, e)[0]) && f->val[tn_i_in(f, e)[0]].bits == 0;
}

/* The slice_add that made v, when its window lies beside that of `config` and nothing else reads it; else NULL. */
static const tn_i_eqn *part_of(const sums *s, tn_i_var v, const int64_t *config) {
    const uint32_t def = s->f->val[v].def;
    int64_t its[3 * TN_MAX_RANK];
    if (def >= s->f->neqn || s->uses[v] != 1 || s->moved[def] || s->first[def]) return NULL;
    if (!tn_i_window_of(s->f, &s->f->eqn[def], its)) return NULL;
    return side_by_side(s->f->val[v].type, its, config) >= 0 ? &s->f->eqn[def] : NULL;
}

/* The one before e, or a term before it that is added to zeros. */
static const tn_i_eqn *other_part(const sums *s, const tn_i_eqn *e, const int64_t *config) {
    const tn_i_var v = tn_i_in(s->f, e)[0];
    const uint32_t def = s->f->val[v].def;
    const tn_i_eqn *k = part_of(s, v, config);
    if (k || def >= s->f->neqn || s->uses[v] != 1 || s->f->eqn[def].prim->id != TN_P_add) return k;
    for (uint32_t i = 0; i < 2 && !k; i++) {
        k = part_of(s, tn_i_in(s->f, &s->f->eqn[def])[i], config);
        if (k && !is_zeros(s->f, tn_i_in(s->f, k)[0])) k = NULL;
    }
    return k;
}

static void find_pairs(sums *s) {
    int64_t config[3 * TN_MAX_RANK];
    for (uint32_t i = 0; i < s->f->neqn; i++) {
        const tn_i_eqn *e = &s->f->eqn[i];
        if (!tn_i_window_of(s->f, e, config)) continue;
        const tn_i_eqn *k = other_part(s, e, config);
        if (!k) continue;
        s->first[i] = (uint32_t)(k - s->f->eqn) + 1;
        s->moved[k - s->f->eqn] = 1;
    }
}

/* Of e and the one before it. */
static void add_parts(tn_i_builder *b, const sums *s, const tn_i_eqn *e, const int64_t *config, tn_i_var *map) {
    const tn_fn *f = s->f;
    int64_t before[3 * TN_MAX_RANK];
    const tn_i_eqn *k = &f->eqn[s->first[e - f->eqn] - 1];
    (void)tn_i_window_of(f, k, before);
    const tn_i_var x = tn_i_mapped(b, f, map, tn_i_in(f, e)[0]);
    const tn_i_var one = tn_i_mapped(b, f, map, tn_i_in(f, k)[1]), other = tn_i_mapped(b, f, map, tn_i_in(f, e)[1]);
    const int along = side_by_side(f->val[e->out].type, before, config);
    const bool first = before[3 * along] == 0;
    const tn_i_var in[2] = {first ? one : other, first ? other : one};
    b->loc = e->loc;
    map[e->out] = tn_i_op2(b, TN_P_add, x, tn_i_concatenate(b, 2, in, along));
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

static bool put(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, tn_i_var *map, const void *with) {
    const sums *s = with;
    int64_t config[3 * TN_MAX_RANK];
    if (is_tiny_row(f, e))
        add_pieces(b, f, e, map);
    else if (!tn_i_window_of(f, e, config))
        return false;
    else if (s->moved[e - f->eqn])
        map[e->out] = tn_i_mapped(b, f, map, tn_i_in(f, e)[0]);
    else if (s->first[e - f->eqn])
        add_parts(b, s, e, config, map);
    else if (large(f, e))
        add_window(b, f, e, config, map);
    else
        return false;
    return true;
}

static tn_fn *rewrite(const tn_fn *f) {
    tn_ctx *c = f->ctx;
    sums s = {.f = f,
              .uses = tn_i_alloc_array(c, f->nval, sizeof *s.uses),
              .first = tn_i_alloc_array(c, f->neqn, sizeof *s.first),
              .moved = tn_i_alloc(c, f->neqn)};
    tn_fn *g = NULL;
    if (s.uses && s.first && s.moved) {
        count_uses(f, s.uses);
        find_pairs(&s);
        g = tn_i_rewritten(f, NULL, f->neqn, put, &s);
    }
    tn_i_free(c, s.uses, f->nval * sizeof *s.uses);
    tn_i_free(c, s.first, f->neqn * sizeof *s.first);
    tn_i_free(c, s.moved, f->neqn);
    return g;
}

tn_fn *tn_i_slices_summed(const tn_fn *f) {
    int64_t config[3 * TN_MAX_RANK];
    for (uint32_t i = 0; i < f->neqn; i++)
        if ((tn_i_window_of(f, &f->eqn[i], config) && large(f, &f->eqn[i])) || is_tiny_row(f, &f->eqn[i]))
            return rewrite(f);
    return (tn_fn *)(uintptr_t)tn_i_fn_ref(f);
}
