/* Lineax's `linear_solve`: operands are the arrays of a linear operator, of what its solver has made of it, and the
 * right-hand sides; which these are, and what the operator and solver are, is in the text of its tree of Python
 * objects.
 *
 * Operators are matrices, three diagonals, or functions, which the text has the programs of: a matrix is made of them.
 * The solution is that of the system, whichever solver was to find it: one of as many equations as unknowns by
 * `linear_solve`, others by `pinv`.  Complex arrays are their parts, [.., 2], and their systems those of parts.  What
 * the solver has made of the operator is not read; its result is that it succeeded, at once. */
#include "prims/linear/lineax_text.h"
#include "ir/memo.h"
#include "prims/scalar/complex.h"
#include "prims/composed_text.h"
#include "prims/ids.h"
#include "prims/linear/matrices.h"
#include "prims/arrays/shape.h"
#include "vmap/vmap.h"

#include <string.h>

enum { FLATTEN, STATIC, TREE, RESULTS, COMPLEX };
static const tn_i_spec specs[] = {
    {.name = "flatten", .kind = TN_K_STR, .lists = TN_I_AS_WRITTEN, .otherwise = "no matter"},
    {.name = "static", .kind = TN_K_FN, .lists = TN_I_FIRST, .otherwise = "no program"},
    {.name = "treedef", .kind = TN_K_STR, .lists = TN_I_AS_WRITTEN},
    {.name = "results", .kind = TN_K_TYPES},
    {.name = TN_I_COMPLEX_OPERANDS, .kind = TN_K_INTS, .otherwise = "those that are"},
    {.name = NULL}};

typedef struct solving {
    tn_i_builder *b;
    const char *tree;
    const tn_fn *f; /* of a function: constants.., x -> right-hand sides..; NULL: it is none */
    const tn_type *x;
    uint32_t nin, nrhs;
    const tn_i_var *in;
    bool complex; /* operand 0 is */
} solving;

static bool refuse(const solving *s, const char *why) {
    tn_i_builder_fail(s->b, TN_ETYPE, "linear_solve: %s", why);
    return false;
}

/* Operands that are dropped values are known to no one (parse_dropped.c). */
static bool known(const solving *s, uint32_t first, uint32_t n) {
    for (uint32_t i = first; i < first + n; i++)
        if (s->in[i] == TN_NOVAR) return refuse(s, "the text does not tell what one of its operands is");
    return true;
}

/* ---- the operator as a matrix ---- */

static bool is_operator(const solving *s, const char *kind) {
    static const char head[] = "PyTreeDef((CustomNode(";
    return strncmp(s->tree, head, sizeof head - 1) == 0 && strncmp(s->tree + sizeof head - 1, kind, strlen(kind)) == 0;
}

/* [n, 1] of an array of n elements. */
static tn_i_var as_column(tn_i_builder *b, tn_i_var x) {
    if (b->failed || x == TN_NOVAR) return TN_NOVAR;
    const int64_t shape[2] = {tn_i_count(tn_i_vtype(b, x)), 1};
    return tn_i_reshape(b, x, 2, shape);
}

/* Row i of the result, of the shape of x behind it, is the i-th unit vector. */
static tn_i_var units(const solving *s) {
    const int64_t n = tn_i_count(s->x), flat[2] = {n, n};
    int64_t shape[TN_MAX_RANK + 1] = {n};
    if (s->x->rank == TN_MAX_RANK) return refuse(s, "the operator's input has too many dimensions"), TN_NOVAR;
    const tn_i_var row = tn_i_iota(s->b, TN_I64, 2, flat, 0), column = tn_i_iota(s->b, TN_I64, 2, flat, 1);
    const tn_i_var one = tn_i_convert(s->b, tn_i_op2(s->b, TN_P_eq, row, column), s->x->dtype);
    memcpy(shape + 1, s->x->dim, (size_t)s->x->rank * sizeof *shape);
    return tn_i_reshape(s->b, one, s->x->rank + 1, shape);
}

/* Columns, which are the function's values at unit vectors. */
static tn_i_var columns(const solving *s, tn_i_var *args, tn_i_var *out, bool *batched) {
    const uint32_t consts = s->f->nin - 1;
    const int64_t n = tn_i_count(s->x);
    tn_i_memo memo;
    for (uint32_t i = 0; i < consts; i++) args[i] = s->in[i];
    args[consts] = units(s);
    if (args[consts] == TN_NOVAR) return TN_NOVAR;
    batched[consts] = true;
    tn_i_memo_init(&memo, s->b->ctx);
    tn_fn *g = tn_i_vmap(s->f, n, batched, true, NULL, &memo);
    if (g)
        tn_i_inline(s->b, g, args, out);
    else
        s->b->failed = true;
    tn_i_fn_unref(g);
    tn_i_memo_free(&memo);
    for (uint32_t j = 0; j < s->nrhs && !s->b->failed; j++) {
        const int64_t shape[2] = {n, n ? tn_i_count(tn_i_vtype(s->b, out[j])) / n : 0};
        out[j] = tn_i_reshape(s->b, out[j], 2, shape);
    }
    if (s->b->failed) return TN_NOVAR;
    return tn_i_matrix_transpose(s->b, s->nrhs == 1 ? out[0] : tn_i_concatenate(s->b, s->nrhs, out, 1));
}

static tn_i_var of_function(const solving *s) {
    const uint32_t nin = s->f->nin, nout = s->f->nout;
    if (nin == 0 || nin - 1 + nout > s->nin || s->f->effect || !tn_type_equal(s->f->val[nin - 1].type, s->x))
        return refuse(s, "the operator's program does not fit its operands"), TN_NOVAR;
    if (!known(s, 0, nin - 1)) return TN_NOVAR;
    for (uint32_t i = 0; i + 1 < nin; i++)
        if (!tn_type_equal(s->f->val[i].type, tn_i_vtype(s->b, s->in[i])))
            return refuse(s, "a constant of the operator's program is of another type"), TN_NOVAR;
    tn_i_var *args = tn_i_alloc_array(s->b->ctx, (size_t)nin + nout, sizeof *args), a = TN_NOVAR;
    bool *batched = tn_i_alloc_array(s->b->ctx, nin, sizeof *batched);
    if (args && batched)
        a = columns(s, args, args + nin, batched);
    else
        s->b->failed = true;
    tn_i_free(s->b->ctx, args, ((size_t)nin + nout) * sizeof *args);
    tn_i_free(s->b->ctx, batched, nin * sizeof *batched);
    return a;
}

/* Diagonal, lower and upper one, these shorter by one: as JAX's tridiagonal_solve takes them. */
static tn_i_var by_elimination(const solving *s, tn_i_var rhs) {
    if (s->nin < 4 || !known(s, 0, 3) || rhs == TN_NOVAR) return TN_NOVAR;
    const tn_type t = *tn_i_vtype(s->b, s->in[1]);
    tn_type one = t;
    if (t.rank != 1) return refuse(s, "the operator has no diagonals"), TN_NOVAR;
    one.dim[0] = 1;
    const tn_i_var zero = tn_i_zeros(s->b, &one), lower[2] = {zero, s->in[1]}, upper[2] = {s->in[2], zero};
    const tn_i_var in[4] = {tn_i_concatenate(s->b, 2, lower, 0), s->in[0], tn_i_concatenate(s->b, 2, upper, 0), rhs};
    return tn_i_tridiagonal_solve_form.written(s->b, NULL, 4, in);
}

static tn_i_var operator_of(const solving *s) {
    if (is_operator(s, "FunctionLinearOperator[") && s->f) return of_function(s);
    if (!is_operator(s, "MatrixLinearOperator["))
        return refuse(s, "of Lineax's operators a text has matrices, diagonals and functions"), TN_NOVAR;
    if (!known(s, 0, 1)) return TN_NOVAR;
    if (tn_i_vtype(s->b, s->in[0])->rank != 2 + s->complex) return refuse(s, "the operator is no matrix"), TN_NOVAR;
    return s->complex ? tn_i_complex_of_elements(s->b, tn_i_complex_parts(s->b, s->in[0])) : s->in[0];
}

/* ---- the solution ---- */

/* Right-hand sides stand behind what the solver has made; nothing is behind them but an empty dictionary. */
static tn_i_var right_side(const solving *s, tn_i_var *room) {
    const uint32_t first = s->nin - s->nrhs;
    if (!strstr(s->tree, s->nrhs == 1 ? ", *, {}, CustomNode(" : "*), {}, CustomNode("))
        return refuse(s, "options of a solver are not known"), TN_NOVAR;
    if (!known(s, first, s->nrhs)) return TN_NOVAR;
    for (uint32_t j = 0; j < s->nrhs; j++) room[j] = as_column(s->b, s->in[first + j]);
    return s->nrhs == 1 ? room[0] : tn_i_concatenate(s->b, s->nrhs, room, 0);
}

static tn_i_var by_matrix(const solving *s, tn_i_var rhs) {
    const tn_i_var a = operator_of(s);
    tn_i_var x;
    if (a == TN_NOVAR || s->b->failed) return TN_NOVAR;
    const tn_type t = *tn_i_vtype(s->b, a);
    if (t.dim[0] != tn_i_vtype(s->b, rhs)->dim[0] || t.dim[1] != tn_i_count(s->x))
        return refuse(s, "the operator does not fit the right-hand side"), TN_NOVAR;
    const tn_i_var in[2] = {a, rhs};
    if (t.dim[0] == t.dim[1])
        x = tn_i_emit(s->b, tn_i_prim(s->b, TN_P_linear_solve), NULL, 2, in);
    else
        x = tn_i_matrix_product(s->b, tn_i_op1(s->b, TN_P_pinv, a), 1, rhs, 0);
    return x;
}

static tn_i_var solution(const solving *s) {
    tn_i_var *room = tn_i_alloc_array(s->b->ctx, s->nrhs, sizeof *room), x;
    if (!room) s->b->failed = true;
    const tn_i_var rhs = room ? right_side(s, room) : TN_NOVAR;
    tn_i_free(s->b->ctx, room, s->nrhs * sizeof *room);
    if (rhs == TN_NOVAR || s->b->failed) return TN_NOVAR;
    x = is_operator(s, "TridiagonalLinearOperator[") ? by_elimination(s, rhs) : by_matrix(s, rhs);
    return x == TN_NOVAR || s->b->failed ? TN_NOVAR : tn_i_reshape(s->b, x, s->x->rank, s->x->dim);
}

static uint32_t written(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in, uint32_t most,
                        tn_i_var *out) {
    const uint32_t n = p[RESULTS].n;
    solving s = {.b = b, .tree = p[TREE].u.str, .nin = nin, .in = in, .nrhs = 1};
    if (b->failed) return 0;
    for (uint32_t i = 0; p[COMPLEX].kind != TN_K_NONE && i < p[COMPLEX].n; i++)
        s.complex |= p[COMPLEX].u.ints[i] == (int64_t)nin - 1;
    if (p[STATIC].kind == TN_K_FN) s.f = p[STATIC].u.fn;
    if (s.f) s.nrhs = s.f->nout;
    if (!n || nin < 1 + s.nrhs) return refuse(&s, "takes an operator and a right-hand side"), 0;
    s.x = p[RESULTS].u.types[0];
    const tn_i_var x = solution(&s);
    if (x == TN_NOVAR) return 0;
    for (uint32_t j = 0; j < n && j < most; j++) out[j] = j ? tn_i_zeros(b, p[RESULTS].u.types[j]) : x;
    return b->failed ? 0 : n;
}

const tn_prim tn_i_lineax_form = {
    .id = -1, .name = "linear_solve", .nin = -1, .params = specs, .written_many = written};
