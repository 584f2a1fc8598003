/* Factorizations and solves of small matrices as what nests compute: each element is an array over the batch, made by
 * the operations of the kernels in their order (prims/linear/lu_kernels.c, prims/linear/linalg.c,
 * prims/linear/product.c), a pivot's row is chosen by selects.  A kernel's call takes longer than they do, a batch of
 * them is computed by vectors, and a loop that solves small systems every step is one loop program.
 *
 * Where a kernel stops, at a pivot of 0 or at a matrix that is not positive, here are selects. */
#include "base/machine.h"
#include "opt/fuse.h"
#include "prims/ids.h"
#include "prims/linear/matrices.h"
#include "prims/rules.h"
#include "prims/arrays/shape.h"

#include <math.h>

typedef struct elements {
    int64_t rows, columns;
    tn_i_var at[TN_M_FACTOR_ROWS * TN_M_FACTOR_ROWS];
} elements;

typedef struct solving {
    tn_i_builder *b;
    tn_type one;   /* of an element: [batch.., 1, 1] */
    tn_type index; /* likewise, i32 */
} solving;

/* ---- elements ---------------------------------------------------------------------------------------------- */

static tn_i_var two(const solving *s, int prim, tn_i_var x, tn_i_var y) { return tn_i_op2(s->b, prim, x, y); }

static tn_i_var choose(const solving *s, tn_i_var p, tn_i_var x, tn_i_var y) {
    return x == y ? x : tn_i_op3(s->b, TN_P_select, p, x, y);
}

/* x - y z, rounded twice. */
static tn_i_var less(const solving *s, tn_i_var x, tn_i_var y, tn_i_var z) {
    return two(s, TN_P_sub, x, two(s, TN_P_mul, y, z));
}

static tn_i_var whole(const solving *s, int64_t k) { return tn_i_whole_number(s->b, &s->index, k); }

static tn_i_var *at(elements *a, int64_t i, int64_t j) { return &a->at[i * a->columns + j]; }

static void take(const solving *s, tn_i_var x, elements *a) {
    const tn_type t = *tn_i_vtype(s->b, x);
    a->rows = t.dim[t.rank - 2];
    a->columns = t.dim[t.rank - 1];
    for (int64_t i = 0; i < a->rows; i++) {
        const tn_i_var row = tn_i_slice_dimension(s->b, x, t.rank - 2, i, 1, 1);
        for (int64_t j = 0; j < a->columns; j++) *at(a, i, j) = tn_i_slice_dimension(s->b, row, t.rank - 1, j, 1, 1);
    }
}

static tn_i_var put_together(const solving *s, const elements *a) {
    tn_type t = s->one;
    const int64_t n = a->rows * a->columns;
    const tn_i_var all = n == 1 ? a->at[0] : tn_i_concatenate(s->b, (uint32_t)n, a->at, t.rank - 1);
    t.dim[t.rank - 2] = a->rows;
    t.dim[t.rank - 1] = a->columns;
    return tn_i_reshape(s->b, all, t.rank, t.dim);
}

/* Of a permutation [batch.., n]. */
static void take_order(const solving *s, tn_i_var x, int64_t n, tn_i_var *order) {
    const int last = tn_i_vtype(s->b, x)->rank - 1;
    for (int64_t i = 0; i < n; i++)
        order[i] = tn_i_reshape(s->b, tn_i_slice_dimension(s->b, x, last, i, 1, 1), s->one.rank, s->one.dim);
}

static tn_i_var put_order(const solving *s, const tn_i_var *order, int64_t n) {
    tn_i_var flat[TN_M_FACTOR_ROWS];
    for (int64_t i = 0; i < n; i++) flat[i] = tn_i_reshape(s->b, order[i], s->one.rank - 1, s->one.dim);
    return n == 1 ? flat[0] : tn_i_concatenate(s->b, (uint32_t)n, flat, s->one.rank - 2);
}

/* ---- solves ------------------------------------------------------------------------------------------------ */

/* x of a x = b in the place of b, a triangular; row i of a is its column i where it is `turned`. */
static void solve(const solving *s, elements *a, bool turned, bool lower, bool unit, elements *x) {
    const int64_t n = x->rows;
    for (int64_t k = 0; k < n; k++) {
        const int64_t i = lower ? k : n - 1 - k;
        for (int64_t c = 0; c < x->columns; c++) {
            tn_i_var z = *at(x, i, c);
            for (int64_t l = 0; l < k; l++) {
                const int64_t j = lower ? l : n - 1 - l;
                z = less(s, z, turned ? *at(a, j, i) : *at(a, i, j), *at(x, j, c));
            }
            *at(x, i, c) = unit ? z : two(s, TN_P_div, z, *at(a, i, i));
        }
    }
}

static void turn(elements *x) {
    const elements y = *x;
    x->rows = y.columns;
    x->columns = y.rows;
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t j = 0; j < x->columns; j++) *at(x, i, j) = y.at[j * y.columns + i];
}

static tn_i_var triangular(const solving *s, const tn_i_param *p, tn_i_var a, tn_i_var b) {
    const bool left = p[TN_LEFT_SIDE].u.i != 0, transposed = (p[TN_TRANSPOSE_A].u.i != 0) == left;
    elements m, x;
    take(s, a, &m);
    take(s, b, &x);
    if (!left) turn(&x);
    solve(s, &m, transposed, (p[TN_LOWER].u.i != 0) != transposed, p[TN_UNIT_DIAGONAL].u.i != 0, &x);
    if (!left) turn(&x);
    return put_together(s, &x);
}

/* ---- lu ----------------------------------------------------------------------------------------------------- */

/* The first of the largest in column j, of rows from j on. */
static tn_i_var find_pivot(const solving *s, elements *a, int64_t j) {
    tn_i_var best = tn_i_op1(s->b, TN_P_abs, *at(a, j, j)), where = whole(s, j);
    for (int64_t i = j + 1; i < a->rows; i++) {
        const tn_i_var x = tn_i_op1(s->b, TN_P_abs, *at(a, i, j)), larger = two(s, TN_P_gt, x, best);
        best = choose(s, larger, x, best);
        where = choose(s, larger, whole(s, i), where);
    }
    return where;
}

static void exchange(const solving *s, tn_i_var pivot, int64_t j, elements *a, tn_i_var *order) {
    elements old = *a;
    const tn_i_var first = order[j];
    for (int64_t i = j + 1; i < a->rows; i++) {
        const tn_i_var is = two(s, TN_P_eq, pivot, whole(s, i));
        for (int64_t c = 0; c < a->columns; c++) {
            *at(a, j, c) = choose(s, is, *at(&old, i, c), *at(a, j, c));
            *at(a, i, c) = choose(s, is, *at(&old, j, c), *at(&old, i, c));
        }
        const tn_i_var was = order[i];
        order[i] = choose(s, is, first, was);
        order[j] = choose(s, is, was, order[j]);
    }
}

static void eliminate(const solving *s, elements *a, int64_t j) {
    const tn_i_var none = two(s, TN_P_eq, *at(a, j, j), tn_i_number(s->b, &s->one, 0));
    for (int64_t i = j + 1; i < a->rows; i++) {
        const tn_i_var was = *at(a, i, j), factor = two(s, TN_P_div, was, *at(a, j, j));
        *at(a, i, j) = choose(s, none, was, factor);
        for (int64_t c = j + 1; c < a->columns; c++)
            *at(a, i, c) = choose(s, none, *at(a, i, c), less(s, *at(a, i, c), factor, *at(a, j, c)));
    }
}

static void factor_lu(const solving *s, elements *a, tn_i_var *pivots, tn_i_var *order) {
    for (int64_t j = 0; j < a->rows; j++) order[j] = whole(s, j);
    for (int64_t j = 0; j < a->rows; j++) {
        pivots[j] = find_pivot(s, a, j);
        exchange(s, pivots[j], j, a, order);
        eliminate(s, a, j);
    }
}

/* Whether it is a permutation. */
static tn_i_var is_order(const solving *s, const tn_i_var *order, int64_t n) {
    tn_i_var ok = TN_NOVAR;
    for (int64_t i = 0; i < n; i++) {
        const tn_i_var from = two(s, TN_P_ge, order[i], whole(s, 0)), to = two(s, TN_P_lt, order[i], whole(s, n));
        tn_i_var one = two(s, TN_P_and, from, to);
        for (int64_t k = 0; k < i; k++) one = two(s, TN_P_and, one, two(s, TN_P_ne, order[i], order[k]));
        ok = ok == TN_NOVAR ? one : two(s, TN_P_and, ok, one);
    }
    return ok;
}

/* Row i of the result is row order[i] of x; back: the other way round. */
static void permute(const solving *s, const tn_i_var *order, bool back, elements *x) {
    elements old = *x;
    const int64_t n = x->rows;
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 1; k < n; k++) {
            const int64_t to = back ? k : i;
            const tn_i_var is = two(s, TN_P_eq, order[to], whole(s, back ? i : k));
            for (int64_t c = 0; c < x->columns; c++) {
                tn_i_var *z = at(x, i, c);
                *z = choose(s, is, *at(&old, k, c), k == 1 ? *at(&old, 0, c) : *z);
            }
        }
}

static void solve_factored(const solving *s, elements *lu, const tn_i_var *order, bool transposed, elements *x) {
    if (!transposed) permute(s, order, false, x);
    solve(s, lu, transposed, true, !transposed, x);
    solve(s, lu, transposed, false, transposed, x);
    if (transposed) permute(s, order, true, x);
}

static tn_i_var by_factors(const solving *s, bool transposed, bool known, tn_i_var a, tn_i_var order, tn_i_var b) {
    elements lu, x;
    tn_i_var rows[TN_M_FACTOR_ROWS];
    take(s, a, &lu);
    take(s, b, &x);
    take_order(s, order, lu.rows, rows);
    solve_factored(s, &lu, rows, transposed, &x);
    const tn_i_var ok = known ? TN_NOVAR : is_order(s, rows, lu.rows), nan = tn_i_number(s->b, &s->one, NAN);
    for (int64_t i = 0; !known && i < x.rows * x.columns; i++) x.at[i] = choose(s, ok, x.at[i], nan);
    return put_together(s, &x);
}

static tn_i_var linear(const solving *s, tn_i_var a, tn_i_var b) {
    elements lu, x;
    tn_i_var pivots[TN_M_FACTOR_ROWS], order[TN_M_FACTOR_ROWS];
    take(s, a, &lu);
    take(s, b, &x);
    factor_lu(s, &lu, pivots, order);
    solve_factored(s, &lu, order, false, &x);
    return put_together(s, &x);
}

/* ---- cholesky ----------------------------------------------------------------------------------------------- */

static tn_i_var cholesky(const solving *s, tn_i_var x) {
    const tn_i_var zero = tn_i_number(s->b, &s->one, 0), nan = tn_i_number(s->b, &s->one, NAN);
    tn_i_var ok = TN_NOVAR;
    elements a;
    take(s, x, &a);
    for (int64_t i = 0; i < a.rows; i++)
        for (int64_t j = 0; j <= i; j++) {
            tn_i_var sum = *at(&a, i, j);
            for (int64_t k = 0; k < j; k++) sum = less(s, sum, *at(&a, i, k), *at(&a, j, k));
            if (j < i) {
                *at(&a, i, j) = two(s, TN_P_div, sum, *at(&a, j, j));
                continue;
            }
            const tn_i_var positive = two(s, TN_P_gt, sum, zero);
            ok = ok == TN_NOVAR ? positive : two(s, TN_P_and, ok, positive);
            *at(&a, i, i) = tn_i_op1(s->b, TN_P_sqrt, sum);
        }
    for (int64_t i = 0; i < a.rows; i++)
        for (int64_t j = 0; j < a.rows; j++) *at(&a, i, j) = j > i ? zero : choose(s, ok, *at(&a, i, j), nan);
    return put_together(s, &a);
}

/* ---- which --------------------------------------------------------------------------------------------------- */

/* Equations at most; 0: it stays a kernel. */
static int64_t size_of(const tn_fn *f, const tn_i_eqn *e) {
    switch (e->prim->id) {
    case TN_P_triangular_solve:
    case TN_P_cholesky:
    case TN_P_lu:
    case TN_P_lu_solve:
    case TN_P_linear_solve: break;
    default: return 0;
    }
    const tn_type *a = f->val[tn_i_in(f, e)[0]].type, *out = f->val[e->out].type;
    if (a->varying || out->varying || tn_i_count(a) == 0 || tn_i_count(out) == 0) return 0;
    const int64_t n = a->dim[a->rank - 1], rows = out->dim[out->rank - 2], columns = out->dim[out->rank - 1];
    if (n > TN_M_FACTOR_ROWS || rows > TN_M_FACTOR_ROWS || columns > TN_M_FACTOR_ROWS) return 0;
    const int64_t half = n * (n - 1) / 2, lu = half * (7 + 2 * n) + half * (2 * n - 1), vectors = rows * columns / n;
    if (e->prim->id == TN_P_lu && (e->nin > 1 || a->dim[a->rank - 2] != n)) return 0;
    int64_t all = 0;
    switch (e->prim->id) {
    case TN_P_triangular_solve: all = vectors * (2 * half + n); break;
    case TN_P_cholesky: all = n * (n + 1) * (n + 2) / 3 + 2 * n; break;
    case TN_P_lu: all = lu; break;
    case TN_P_lu_solve: all = vectors * (4 * half + n * n + n) + n * n + half * 2 + 4 * n; break;
    default: all = lu + vectors * (4 * half + n * n + n) + n * n; break;
    }
    return all <= TN_M_FACTOR_EQUATIONS ? all : 0;
}

static bool put(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, tn_i_var *map, const void *with) {
    (void)with;
    if (size_of(f, e) == 0) return false;
    const tn_i_var *in = tn_i_in(f, e), x = tn_i_mapped(b, f, map, in[0]),
                   y = e->nin > 1 ? tn_i_mapped(b, f, map, in[1]) : TN_NOVAR,
                   z = e->nin > 2 ? tn_i_mapped(b, f, map, in[2]) : TN_NOVAR;
    solving s = {.b = b, .one = *f->val[in[0]].type};
    if (b->failed) return true; /* x has no rows */
    s.one.dim[s.one.rank - 1] = s.one.dim[s.one.rank - 2] = 1;
    s.index = s.one;
    s.index.dtype = TN_I32;
    switch (e->prim->id) {
    case TN_P_triangular_solve: map[e->out] = triangular(&s, tn_i_p(e), x, y); break;
    case TN_P_cholesky: map[e->out] = cholesky(&s, x); break;
    case TN_P_linear_solve: map[e->out] = linear(&s, x, y); break;
    case TN_P_lu_solve: {
        const uint32_t def = f->val[in[1]].def;
        const bool known = def < f->neqn && f->eqn[def].prim->id == TN_P_lu;
        map[e->out] = by_factors(&s, tn_i_p(e)[0].u.i != 0, known, x, y, z);
        break;
    }
    default: {
        elements a;
        tn_i_var pivots[TN_M_FACTOR_ROWS], order[TN_M_FACTOR_ROWS];
        take(&s, x, &a);
        factor_lu(&s, &a, pivots, order);
        map[e->out] = put_together(&s, &a);
        map[e->out + 1] = put_order(&s, pivots, a.rows);
        map[e->out + 2] = put_order(&s, order, a.rows);
        break;
    }
    }
    return true;
}

tn_fn *tn_i_small_factors(const tn_fn *f) {
    int64_t all = 0;
    for (uint32_t i = 0; i < f->neqn && all <= TN_M_LONG_PROGRAM; i++) all += size_of(f, &f->eqn[i]);
    return all > 0 && all <= TN_M_LONG_PROGRAM ? tn_i_rewritten(f, NULL, f->neqn, put, NULL)
                                               : (tn_fn *)(uintptr_t)tn_i_fn_ref(f);
}
