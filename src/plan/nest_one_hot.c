/* One-hot stores of a nest: where an element of each row is another number than the rest of it computes, as
 *
 *     store select(j == column[row], value[row], x)        for each element j
 *
 * says, x is stored, and then, once all loops have run, value[row] to column[row]: no element compares its place. */
#include "plan/draft.h"
#include "prims/ids.h"

#include <string.h>

/* A number of the row in memory. */
static bool is_of_row(const tn_i_nest *n, const tn_i_nest_op *o) {
    const tn_i_nest_array *a = o->kind == TN_NEST_LOAD ? &n->array[o->array] : NULL;
    return a && !a->boxed && o->nin == 0 && a->stride[n->nloop - 1] == 0;
}

static bool is_column(const tn_i_nest *n, const tn_i_nest_op *o) {
    return o->kind == TN_NEST_IOTA && o->loop == n->nloop - 1 && o->by == 1 && o->first == 0;
}

/* No output is written over its memory before all loops have run. */
static bool stays(const tn_i_nest *n, const tn_i_draft *d, const bool *over, uint32_t array) {
    const uint32_t arg = n->array[array].arg;
    if (arg >= n->nin) return false;
    for (uint32_t j = 0; over && j < n->nout; j++)
        if (over[j] && tn_type_bytes(d->f->val[d->f->out[j]].type) == tn_type_bytes(d->f->val[arg].type)) return false;
    return true;
}

/* The STORE `o` as one of a hot element. */
static bool hot_store(const tn_i_nest *n, const tn_i_draft *d, const bool *over, const tn_i_nest_op *o,
                      tn_i_nest_one_hot *s, uint32_t *rest) {
    if (o->kind != TN_NEST_STORE || o->level != TN_NEST_ELEMENT || n->array[o->array].stride[n->nloop - 1] == 0)
        return false;
    const tn_i_nest_op *x = &n->op[o->in[0]];
    if (x->kind != TN_NEST_MAP || !(x->eqn->prim->flags & TN_F_CHOOSES) || x->nin != 3) return false;
    const tn_i_nest_op *eq = &n->op[x->in[0]], *value = &n->op[x->in[1]];
    if (eq->kind != TN_NEST_MAP || eq->eqn->prim->id != TN_P_eq || !is_of_row(n, value)) return false;
    const uint32_t k = is_column(n, &n->op[eq->in[0]]);
    const tn_i_nest_op *at = &n->op[eq->in[k]];
    if (!is_column(n, &n->op[eq->in[1 - k]]) || at->dtype != TN_I64 || !is_of_row(n, at)) return false;
    *s = (tn_i_nest_one_hot){.store = o->array, .column = at->array, .value = value->array};
    *rest = x->in[2];
    return stays(n, d, over, s->column) && stays(n, d, over, s->value);
}

/* Nothing but stores reads operation i. */
static bool only_stored(const tn_i_nest *n, uint32_t i) {
    for (uint32_t k = i + 1; k < n->nop; k++)
        for (uint32_t q = 0; q < n->op[k].nin; q++)
            if (n->op[k].in[q] == i && n->op[k].kind != TN_NEST_STORE) return false;
    return true;
}

static void drop_unread(tn_i_nest *n) {
    uint32_t to[TN_NEST_OPS], kept = 0;
    bool read[TN_NEST_OPS] = {false};
    for (uint32_t i = n->nop; i-- > 0;) {
        const tn_i_nest_op *o = &n->op[i];
        read[i] |= o->kind == TN_NEST_STORE;
        if (!read[i]) continue;
        for (uint32_t k = 0; k < o->nin; k++) read[o->in[k]] = true;
        if (o->kind == TN_NEST_LOAD && n->array[o->array].boxed) read[n->array[o->array].fill] = true;
    }
    for (uint32_t i = 0; i < n->nop; i++) {
        to[i] = kept;
        if (!read[i]) continue;
        tn_i_nest_op o = n->op[i];
        for (uint32_t k = 0; k < o.nin; k++) o.in[k] = to[o.in[k]];
        n->op[kept++] = o;
    }
    for (uint32_t k = 0; k < n->narray; k++)
        if (n->array[k].boxed) n->array[k].fill = to[n->array[k].fill];
    n->nop = kept;
}

bool tn_i_nest_find_one_hot(tn_ctx *c, tn_i_nest *n, const tn_i_draft *d, const bool *over) {
    tn_i_nest_one_hot found[TN_NEST_ONE_HOT];
    if (n->nloop < 2 || n->nop > TN_NEST_OPS) return true;
    for (uint32_t i = 0; i < n->nop && n->nhot < TN_NEST_ONE_HOT; i++) {
        uint32_t rest;
        tn_i_nest_op *o = &n->op[i];
        if (!hot_store(n, d, over, o, &found[n->nhot], &rest) || !only_stored(n, o->in[0])) continue;
        o->in[0] = rest;
        n->nhot++;
    }
    if (n->nhot == 0) return true;
    if (!(n->hot = tn_i_alloc_array(c, n->nhot, sizeof *n->hot))) {
        n->nhot = 0;
        return false;
    }
    memcpy(n->hot, found, n->nhot * sizeof *found);
    drop_unread(n);
    return true;
}
