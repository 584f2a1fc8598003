/* Small concatenations that nests read, as what nests compute; and what is put together where it is read, but is read
 * by others as well, in memory.
 *
 *     concatenate                                        a choice among its operands, each padded
 *     what leaves the program, or is reshaped, and is
 *     put together where it is read                      a copy of it */
#include "base/machine.h"
#include "opt/fuse.h"
#include "opt/space.h"
#include "prims/ids.h"
#include "prims/rules.h"
#include "prims/arrays/shape.h"

#include <string.h>

static bool small(const tn_fn *f, tn_i_var v) {
    return tn_i_count(f->val[v].type) >= 1 && tn_i_count(f->val[v].type) <= TN_M_MOVE_ELEMENTS;
}

static bool admits(const tn_fn *f, const tn_i_eqn *e) {
    for (uint32_t k = 0; k < e->nin; k++)
        if (f->val[tn_i_in(f, e)[k]].type->varying) return false;
    return e->nout == 1 && !f->val[e->out].type->varying && tn_i_space_admits(f, e);
}

/* The same, in memory. */
static tn_i_var copied(tn_i_builder *b, tn_i_var x) {
    const tn_i_param same = {.kind = TN_K_DTYPE, .u.i = x == TN_NOVAR ? TN_F64 : tn_i_vtype(b, x)->dtype};
    return tn_i_emit(b, tn_i_prim(b, TN_P_convert_element_type), &same, 1, &x);
}

/* ---- put together ---- */

/* Elements from .. to of dimension d, of all of shape t. */
static tn_i_var mask_of(tn_i_builder *b, const tn_type *t, int64_t d, int64_t from, int64_t to) {
    const tn_type line = {.dtype = TN_BOOL, .rank = 1, .dim = {t->dim[d]}};
    uint8_t is[TN_M_MOVE_ELEMENTS];
    for (int64_t i = 0; i < t->dim[d]; i++) is[i] = i >= from && i < to;
    return tn_i_broadcast(b, tn_i_constant(b, &line, is), t->rank, t->dim, &d);
}

/* Runs that are too short for parts of a nest (opt/space.c): each operand over all, and a choice. */
static bool put_joined(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, tn_i_var *map) {
    const tn_type t = *f->val[e->out].type;
    const int64_t along = tn_i_p(e)[0].u.i;
    const tn_i_var zero = tn_i_literal_f64(b, t.dtype, 0);
    int64_t at = 0;
    tn_i_var y = TN_NOVAR;
    if (e->nin < 2 || e->nin > TN_M_MOVE_JOINED || tn_i_space_joins(f, e) || tn_i_space_weaves(f, e)) return false;
    for (uint32_t k = 0; k < e->nin; k++) {
        int64_t config[3 * TN_MAX_RANK] = {0};
        const int64_t n = f->val[tn_i_in(f, e)[k]].type->dim[along];
        config[3 * along] = at;
        config[3 * along + 1] = t.dim[along] - at - n;
        const tn_i_var x = tn_i_pad(b, tn_i_mapped(b, f, map, tn_i_in(f, e)[k]), zero, config);
        y = k ? tn_i_op3(b, TN_P_select, mask_of(b, &t, along, at, at + n), x, y) : x;
        at += n;
    }
    map[e->out] = y;
    return true;
}

/* Put together where nests read it, and by a kernel or a copy where others do. */
static bool made_where_read(const tn_fn *f, const tn_i_eqn *e) {
    switch (e->prim->id) {
    case TN_P_pad:
    case TN_P_iota:
    case TN_P_broadcast_in_dim:
    case TN_P_rev: return tn_i_space_admits(f, e);
    case TN_P_concatenate: return tn_i_space_joins(f, e) && !tn_i_space_weaves(f, e);
    default: return false;
    }
}

/* What loops take, but what is repeated, which they copy to where it goes; and what there are no views of. */
static bool read_by_others(const tn_fn *f, const tn_i_eqn *e, tn_i_var v) {
    const uint32_t def = f->val[v].def;
    if (def >= f->neqn) return false;
    const int id = f->eqn[def].prim->id;
    return (e->prim->flags & TN_F_LOOP && id == TN_P_iota) ||
           (e->prim->flags & (TN_F_LOOP | TN_F_VIEW) && (id == TN_P_pad || id == TN_P_concatenate));
}

enum { OUTPUT = 1, ELSEWHERE = 2, NEST = 4 }; /* who reads a value: what leaves, others, equations that nests compute */

/* Backwards: whose readers put it together with others, or are views of it, is read by theirs. */
static void find_nests(const tn_fn *f, uint8_t *leaves) {
    for (uint32_t i = f->neqn; i-- > 0;) {
        const tn_i_eqn *e = &f->eqn[i];
        bool read = tn_i_space_computes(f, e);
        if (!read && (e->prim->flags & TN_F_VIEW || e->prim->id == TN_P_concatenate))
            for (uint32_t j = 0; j < e->nout; j++) read |= (leaves[e->out + j] & NEST) != 0;
        for (uint32_t k = 0; k < e->nin && read; k++) leaves[tn_i_in(f, e)[k]] |= NEST;
    }
}

static uint8_t *find_leaves(const tn_fn *f) {
    uint8_t *leaves = tn_i_alloc(f->ctx, f->nval);
    if (!leaves) return NULL;
    memset(leaves, 0, f->nval);
    for (uint32_t j = 0; j < f->nout; j++) leaves[f->out[j]] = OUTPUT;
    for (uint32_t i = 0; i < f->neqn; i++)
        for (uint32_t k = 0; k < f->eqn[i].nin; k++) {
            const tn_i_var v = tn_i_in(f, &f->eqn[i])[k];
            if (read_by_others(f, &f->eqn[i], v)) leaves[v] |= ELSEWHERE;
        }
    find_nests(f, leaves);
    return leaves;
}

/* An iota, which no nest has to make. */
static tn_i_var counted(tn_i_builder *b, const tn_i_eqn *e, const tn_type *t) {
    int64_t after = 1;
    uint64_t x[TN_M_MOVE_ELEMENTS];
    const int dimension = (int)tn_i_p(e)[2].u.i;
    const size_t size = tn_i_dtype_size(t->dtype);
    if (t->dtype == TN_BOOL) return TN_NOVAR;
    for (int d = dimension + 1; d < t->rank; d++) after *= t->dim[d];
    for (int64_t i = 0; i < tn_i_count(t); i++)
        tn_i_element_set(t->dtype, (char *)x + (size_t)i * size, (double)(i / after % t->dim[dimension]));
    return tn_i_constant(b, t, x);
}

typedef struct moves {
    const uint8_t *leaves; /* of each value */
} moves;

static bool is_copied(const tn_fn *f, const tn_i_eqn *e, const moves *z) {
    const int id = e->prim->id; /* iotas become constants, and parts of a large array are made where they go */
    const uint8_t leaves = z->leaves[e->out] & (OUTPUT | ELSEWHERE);
    const bool any = leaves & OUTPUT && id != TN_P_iota && id != TN_P_concatenate;
    return leaves && (any || small(f, e->out)) && made_where_read(f, e);
}

static bool is_joined(const tn_fn *f, const tn_i_eqn *e, const moves *z) {
    return e->prim->id == TN_P_concatenate && small(f, e->out) && z->leaves[e->out] & NEST;
}

static bool put(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, tn_i_var *map, const void *with) {
    const moves *z = with;
    if (!admits(f, e)) return false;
    if (is_joined(f, e, z) && put_joined(b, f, e, map)) return true;
    if (!is_copied(f, e, z)) return false;
    const tn_i_var numbers = e->prim->id == TN_P_iota ? counted(b, e, f->val[e->out].type) : TN_NOVAR;
    tn_i_copy_eqn(b, f, e, map);
    map[e->out] = numbers == TN_NOVAR ? copied(b, map[e->out]) : numbers;
    return true;
}

tn_fn *tn_i_small_moves(const tn_fn *f) {
    const moves z = {.leaves = find_leaves(f)};
    uint32_t n = 0;
    if (!z.leaves) return NULL;
    for (uint32_t i = 0; i < f->neqn; i++)
        n += admits(f, &f->eqn[i]) && (is_joined(f, &f->eqn[i], &z) || is_copied(f, &f->eqn[i], &z));
    tn_fn *g = n && n <= TN_M_MOVES ? tn_i_rewritten(f, NULL, f->neqn, put, &z) : (tn_fn *)(uintptr_t)tn_i_fn_ref(f);
    tn_i_free(f->ctx, (void *)(uintptr_t)z.leaves, f->nval);
    return g;
}
