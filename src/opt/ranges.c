/* What indices are known to be: comparisons that always come out alike, the choices behind them, and bounds that are
 * kept already.
 *
 *     i = convert (floor (clamp 0 x 98));  j = select (lt i 0) (add i 100) i  ->  j = i
 *
 * as indices from the end are put right, where they come from a computation.  Of floats a range is that of those which
 * are no NaN, and is followed through what does not round alone. */
#include "opt/fuse.h"
#include "prims/bounds.h"
#include "prims/ids.h"
#include "prims/rules.h"

#include <string.h>

typedef tn_i_range range; /* all of a value's elements are in it, or NaN */

static const double exact = 9007199254740992.0; /* 2^53: integers up to here are doubles */

/* ---- of dtypes and numbers ------------------------------------------------------------------------------ */

static range all_of(int dtype) {
    switch (dtype) {
    case TN_BOOL: return (range){0, 1};
    case TN_I8: return (range){INT8_MIN, INT8_MAX};
    case TN_I16: return (range){INT16_MIN, INT16_MAX};
    case TN_I32: return (range){INT32_MIN, INT32_MAX};
    case TN_U8: return (range){0, UINT8_MAX};
    case TN_U16: return (range){0, UINT16_MAX};
    case TN_U32: return (range){0, UINT32_MAX};
    default: return (range){-INFINITY, INFINITY};
    }
}

/* r, or all that the dtype has where some of r is none of its numbers, or not told from others by a double. */
static range within(int dtype, range r) {
    const range all = all_of(dtype);
    const bool told = tn_i_is_float(dtype) || (r.lo >= -exact && r.hi <= exact);
    return r.lo >= all.lo && r.hi <= all.hi && told ? r : all; /* not, of NaNs */
}

static range joined(range a, range b) { return (range){fmin(a.lo, b.lo), fmax(a.hi, b.hi)}; }

/* ---- of equations ------------------------------------------------------------------------------------------ */

typedef struct ranges {
    const tn_fn *f;
    range *of; /* each value */
} ranges;

/* By a positive number: towards 0, and what is left, which has the sign of x. */
static range quotient(range a, double by) { return (range){trunc(a.lo / by), trunc(a.hi / by)}; }
static range rest(range a, double by) {
    return (range){a.lo < 0 ? fmax(a.lo, 1 - by) : 0, a.hi > 0 ? fmin(a.hi, by - 1) : 0};
}

/* What primitives say of numbers is so of integers, where it wraps nowhere (within), but for what is rounded to 0. */
static range of_integers(const ranges *z, const tn_i_eqn *e, range a, range b, int dtype) {
    const bool by = b.lo == b.hi && b.lo > 0 && a.lo > -INFINITY && a.hi < INFINITY;
    switch (e->prim->id) {
    case TN_P_div: return by ? quotient(a, b.lo) : all_of(dtype);
    case TN_P_rem: return by ? rest(a, b.lo) : all_of(dtype);
    case TN_P_and: return a.lo >= 0 && b.lo >= 0 ? (range){0, fmin(a.hi, b.hi)} : all_of(dtype);
    default: return tn_i_eqn_bounds(z->f, e, z->of);
    }
}

/* To an integer: towards 0, a NaN becomes 0. */
static range converted(int from, int to, range a) {
    if (tn_i_is_float(from) && !tn_i_is_float(to)) return joined((range){trunc(a.lo), trunc(a.hi)}, (range){0, 0});
    if (tn_i_is_float(from) || (tn_i_is_float(to) && to != TN_F64)) return all_of(to); /* it may round */
    return a;
}

static range of_bools(int id, range a, range b) {
    switch (id) {
    case TN_P_and: return (range){fmin(a.lo, b.lo), fmin(a.hi, b.hi)};
    case TN_P_or: return (range){fmax(a.lo, b.lo), fmax(a.hi, b.hi)};
    default: return (range){0, 1};
    }
}

/* Of integers: a NaN would compare otherwise. */
static range compared(int id, range a, range b) {
    const range yes = {1, 1}, no = {0, 0}, either = {0, 1};
    switch (id) {
    case TN_P_lt: return a.hi < b.lo ? yes : a.lo >= b.hi ? no : either;
    case TN_P_le: return a.hi <= b.lo ? yes : a.lo > b.hi ? no : either;
    case TN_P_gt: return a.lo > b.hi ? yes : a.hi <= b.lo ? no : either;
    case TN_P_ge: return a.lo >= b.hi ? yes : a.hi < b.lo ? no : either;
    case TN_P_eq: return a.lo == a.hi && b.lo == b.hi && a.lo == b.lo ? yes : a.hi < b.lo || a.lo > b.hi ? no : either;
    case TN_P_ne: return a.lo == a.hi && b.lo == b.hi && a.lo == b.lo ? no : a.hi < b.lo || a.lo > b.hi ? yes : either;
    default: return either;
    }
}

static range of_two_bools(const ranges *z, const tn_i_eqn *e, range a, range b) {
    const int from = z->f->val[tn_i_in(z->f, e)[0]].type->dtype;
    if (from == TN_BOOL) return of_bools(e->prim->id, a, b);
    return tn_i_is_int(from) ? compared(e->prim->id, a, b) : (range){0, 1};
}

static range counted(const tn_type *t, int64_t dimension) {
    return (range){0, fmax(0, (double)(t->dim[dimension] - 1))};
}

static range of_eqn(const ranges *z, const tn_i_eqn *e) {
    const tn_i_var *in = tn_i_in(z->f, e);
    const tn_type *t = z->f->val[e->out].type;
    const range first = e->nin ? z->of[in[0]] : all_of(t->dtype), second = e->nin > 1 ? z->of[in[1]] : first;
    if (e->nin && e->prim->flags & TN_F_VIEW && z->f->val[in[0]].type->dtype != t->dtype) return all_of(t->dtype);
    switch (e->prim->id) {
    case TN_P_iota: return tn_i_is_int(t->dtype) ? counted(t, tn_i_p(e)[2].u.i) : all_of(t->dtype);
    case TN_P_argmax:
    case TN_P_argmin: return (range){0, fmax(0, (double)(tn_i_count(z->f->val[in[0]].type) - 1))};
    case TN_P_floor: return (range){floor(first.lo), floor(first.hi)};
    case TN_P_ceil: return (range){ceil(first.lo), ceil(first.hi)};
    case TN_P_convert_element_type: return converted(z->f->val[in[0]].type->dtype, t->dtype, first);
    case TN_P_not: return t->dtype == TN_BOOL ? (range){1 - first.hi, 1 - first.lo} : all_of(t->dtype);
    case TN_P_select: return first.lo == first.hi ? z->of[in[first.lo > 0 ? 1 : 2]] : tn_i_eqn_bounds(z->f, e, z->of);
    case TN_P_clamp: /* nothing of these is rounded */
    case TN_P_max:
    case TN_P_min: return t->dtype == TN_BOOL ? (range){0, 1} : tn_i_eqn_bounds(z->f, e, z->of);
    default: break;
    }
    if (t->dtype == TN_BOOL && e->nin == 2) return of_two_bools(z, e, first, second);
    if (tn_i_is_int(t->dtype)) return of_integers(z, e, first, second, t->dtype);
    return e->prim->flags & TN_F_VIEW ? tn_i_eqn_bounds(z->f, e, z->of) : all_of(t->dtype);
}

static void find(ranges *z) {
    const tn_fn *f = z->f;
    for (tn_i_var v = 0; v < f->nval; v++)
        z->of[v] = tn_i_is_literal(f, v) ? within(f->val[v].type->dtype, tn_i_literal_bounds(&f->val[v]))
                                         : all_of(f->val[v].type->dtype);
    for (uint32_t i = 0; i < f->neqn; i++)
        if (f->eqn[i].nout == 1) {
            const int dtype = f->val[f->eqn[i].out].type->dtype;
            z->of[f->eqn[i].out] = within(dtype, of_eqn(z, &f->eqn[i]));
        }
}

/* ---- what follows ------------------------------------------------------------------------------------------- */

/* The operand that e always is; TN_NOVAR: none.  Integers alone have bounds that nothing is beyond. */
static tn_i_var always(const ranges *z, const tn_i_eqn *e) {
    const tn_i_var *in = tn_i_in(z->f, e);
    const range *of = z->of;
    const bool integers = tn_i_is_int(z->f->val[e->out].type->dtype);
    switch (e->prim->id) {
    case TN_P_select: return of[in[0]].lo != of[in[0]].hi ? TN_NOVAR : in[of[in[0]].lo > 0 ? 1 : 2];
    case TN_P_max: return !integers ? TN_NOVAR : of[in[0]].lo >= of[in[1]].hi ? in[0] : TN_NOVAR;
    case TN_P_min: return !integers ? TN_NOVAR : of[in[0]].hi <= of[in[1]].lo ? in[0] : TN_NOVAR;
    case TN_P_clamp: return integers && of[in[1]].lo >= of[in[0]].hi && of[in[1]].hi <= of[in[2]].lo ? in[1] : TN_NOVAR;
    default: return TN_NOVAR;
    }
}

static bool put(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, tn_i_var *map, const void *with) {
    const ranges *z = with;
    if (e->nout != 1) return false;
    const tn_type *t = f->val[e->out].type;
    const tn_i_var v = always(z, e);
    if (v != TN_NOVAR && tn_type_equal(f->val[v].type, t)) {
        map[e->out] = tn_i_mapped(b, f, map, v);
        return true;
    }
    if (t->dtype != TN_BOOL || e->prim->effect || z->of[e->out].lo != z->of[e->out].hi || e->nin != 2) return false;
    map[e->out] = tn_i_number(b, t, z->of[e->out].lo);
    return true;
}

static bool has_work(const ranges *z) {
    for (uint32_t i = 0; i < z->f->neqn; i++)
        if (z->f->eqn[i].nout == 1 && always(z, &z->f->eqn[i]) != TN_NOVAR) return true;
    return false;
}

tn_fn *tn_i_in_ranges(const tn_fn *f) {
    ranges z = {.f = f, .of = tn_i_alloc_array(f->ctx, f->nval, sizeof *z.of)};
    if (!z.of) return NULL;
    find(&z);
    tn_fn *g = has_work(&z) ? tn_i_rewritten(f, NULL, f->neqn, put, &z) : (tn_fn *)(uintptr_t)tn_i_fn_ref(f);
    tn_i_free(f->ctx, z.of, f->nval * sizeof *z.of);
    return g;
}
