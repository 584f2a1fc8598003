/* Tridiagonal systems, by scans over their rows: elimination with partial pivoting, whose rows have a third diagonal
 * where two were exchanged (LAPACK's gtsv), and back substitution.  The solve of a custom_linear_solve. */
#include "tansy/decompositions.h"
#include "tansy/loops.h"
#include "tansy/ops.h"
#include "tansy/rules.h"

#include <stddef.h>

enum { LOWER, DIAGONAL, UPPER, RIGHT, PARTS }; /* operands; of a row: its entries from the diagonal on, and the right */
enum { PIVOT, NEXT, AFTER };

/* Without the last `less` and the first `more` entries. */
static tn_val part(tn_val x, int64_t more, int64_t less) {
    return tn_slice_axis(x, more, tn_val_type(x).dim[0] - less, 1, 0);
}

/* One number a row, beside the rows of x. */
static tn_val column(tn_val of, tn_val x) { return tn_val_type(x).rank == 2 ? tn_expand_dims(of, 1) : of; }

static tn_val shifted(tn_val x, int64_t forth) {
    const tn_type t = tn_val_type(x);
    const int64_t lo[2] = {forth, 0}, hi[2] = {-forth, 0};
    const size_t rank = (size_t)t.rank;
    return tn_pad(x, 0.0, tn_ints_of(rank, lo), tn_ints_of(rank, hi), tn_ints_of(0, NULL));
}

/* a x: entries outside of the matrix are cut, not multiplied by 0. */
static tn_val product(const tn_val *in, void *user) {
    const tn_val x = in[RIGHT];
    const int64_t n = tn_val_type(x).dim[0];
    (void)user;
    tn_val y = tn_mul(column(in[DIAGONAL], x), x);
    if (n == 1) return y;
    const tn_val below = tn_mul(column(part(in[LOWER], 1, 0), x), part(x, 0, 1));
    const tn_val above = tn_mul(column(part(in[UPPER], 0, 1), x), part(x, 1, 0));
    const int64_t one[2] = {1, 0}, none[2] = {0, 0};
    const size_t rank = (size_t)tn_val_type(x).rank;
    y = tn_add(y, tn_pad(below, 0.0, tn_ints_of(rank, one), tn_ints_of(rank, none), tn_ints_of(0, NULL)));
    return tn_add(y, tn_pad(above, 0.0, tn_ints_of(rank, none), tn_ints_of(rank, one), tn_ints_of(0, NULL)));
}

/* row: what is left of one, its diagonal, the next entry and its right; below: the next row as it is. */
static void eliminate(const tn_val *row, const tn_val *below, tn_val *next, tn_val *upper, void *user) {
    (void)user;
    const tn_val stays = tn_ge(tn_abs(row[0]), tn_abs(below[LOWER]));
    upper[PIVOT] = tn_where(stays, row[0], below[LOWER]);
    upper[NEXT] = tn_where(stays, row[1], below[DIAGONAL]);
    upper[AFTER] = tn_where(stays, 0.0, below[UPPER]);
    upper[RIGHT] = tn_where(stays, row[2], below[RIGHT]);
    const tn_val factor = tn_div(tn_where(stays, below[LOWER], row[0]), upper[PIVOT]);
    next[0] = tn_sub(tn_where(stays, below[DIAGONAL], row[1]), tn_mul(factor, upper[NEXT]));
    next[1] = tn_sub(tn_where(stays, below[UPPER], 0.0), tn_mul(factor, upper[AFTER]));
    next[2] = tn_sub(tn_where(stays, below[RIGHT], row[2]), tn_mul(factor, upper[RIGHT]));
}

static void substitute(const tn_val *known, const tn_val *upper, tn_val *next, tn_val *x, void *user) {
    (void)user;
    const tn_val rest = tn_sub(upper[RIGHT], tn_mul(upper[NEXT], known[0]));
    x[0] = tn_div(tn_sub(rest, tn_mul(upper[AFTER], known[1])), upper[PIVOT]);
    next[0] = x[0];
    next[1] = known[0];
}

static tn_val solve(const tn_val *in, void *user) {
    const tn_val b = in[RIGHT];
    tn_ctx *c = tn_val_ctx(b);
    if (tn_val_type(b).dim[0] == 1) return tn_div(b, column(in[DIAGONAL], b));
    const tn_val upper =
        tn_concatenate(tn_vals(part(in[UPPER], 0, 1), tn_zeros_like(tn_slice_axis(in[UPPER], 0, 1, 1, 0))), 0);
    const tn_val below[PARTS] = {part(in[LOWER], 1, 0), part(in[DIAGONAL], 1, 0), part(upper, 1, 0), part(b, 1, 0)};
    const tn_val first[3] = {tn_at(in[DIAGONAL], 0), tn_at(upper, 0), tn_at(b, 0)};
    tn_val last[3], rows[PARTS], x;
    tn_scan(c, eliminate, user, .ncarry = 3, .init = first, .carry = last, .nx = PARTS, .xs = below, .ny = PARTS,
            .ys = rows);
    const tn_val end = tn_div(last[2], last[0]), known[2] = {end, tn_zeros_like(end)};
    tn_val left[2];
    tn_scan(c, substitute, user, .ncarry = 2, .init = known, .carry = left, .nx = PARTS, .xs = rows, .ny = 1, .ys = &x,
            .reverse = true);
    return tn_concatenate(tn_vals(x, tn_expand_dims(end, 0)), 0);
}

/* The diagonals of a', of which an end is not read either. */
static tn_val transpose_solve(const tn_val *in, void *user) {
    tn_val turned[PARTS] = {in[LOWER], in[DIAGONAL], in[UPPER], in[RIGHT]};
    if (tn_val_type(in[RIGHT]).dim[0] > 1) {
        turned[LOWER] = shifted(in[UPPER], 1);
        turned[UPPER] = shifted(in[LOWER], -1);
    }
    return solve(turned, user);
}

static const char *wrong(const tn_val *in) {
    const tn_type b = tn_val_type(in[RIGHT]);
    if (b.rank < 1 || b.rank > 2) return "b is neither a vector nor a matrix";
    if (b.dtype != TN_F32 && b.dtype != TN_F64) return "b is not of floats";
    for (int i = LOWER; i < RIGHT; i++) {
        const tn_type t = tn_val_type(in[i]);
        if (t.dtype != b.dtype) return "the diagonals and b are of different dtypes";
        if (t.rank != 1 || t.dim[0] != b.dim[0]) return "a diagonal is no vector of as many entries as b has rows";
    }
    return NULL;
}

tn_val tn_tridiagonal_solve_at(tn_val dl, tn_val d, tn_val du, tn_val b, const char *file, int line) {
    const tn_val in[PARTS] = {dl, d, du, b};
    tn_ctx *c = tn_val_ctx(b);
    const char *why = c ? wrong(in) : NULL;
    if (why) return tn_fail_at(c, TN_ETYPE, "tridiagonal_solve", why, file, line);
    if (c && tn_val_type(b).dim[0] == 0) return b;
    return tn_custom_linear_solve_at(product, solve, transpose_solve, NULL, RIGHT, in, b, file, line);
}
