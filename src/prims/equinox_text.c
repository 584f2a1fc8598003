#include "prims/equinox_text.h"
#include "prims/scalar/complex.h"
#include "prims/ids.h"
#include "prims/arrays/shape.h"

#include <string.h>

static tn_i_var refuse(tn_i_builder *b, const char *name, const char *why) {
    tn_i_builder_fail(b, TN_ETYPE, "%s: %s", name, why);
    return TN_NOVAR;
}

/* ---- of all that is mapped ---- */

static tn_i_var of_all(tn_i_builder *b, const char *name, int reduction, uint32_t nin, const tn_i_var *in) {
    static const int64_t axes[TN_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
    if (nin != 1) return refuse(b, name, "takes one operand");
    const tn_i_param p = {.kind = TN_K_INTS, .n = (uint32_t)tn_i_vtype(b, in[0])->rank, .u.ints = axes};
    return p.n ? tn_i_emit(b, tn_i_prim(b, reduction), &p, 1, in) : in[0];
}

#define OF_ALL(form, reduction)                                                                              \
    static tn_i_var written_##form(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in) { \
        (void)p;                                                                                             \
        return of_all(b, #form, reduction, nin, in);                                                         \
    }                                                                                                        \
    const tn_prim tn_i_##form##_form = {.id = -1, .name = #form, .nin = 1, .written = written_##form};
OF_ALL(unvmap_any, TN_P_reduce_max)
OF_ALL(unvmap_all, TN_P_reduce_min)
OF_ALL(unvmap_max, TN_P_reduce_max)

/* ---- choices of loops that are mapped ---- */

/* Its predicate is true where it is one number: what was mapped is a select. */
static tn_i_var written_select(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in) {
    (void)p;
    return nin == 3 ? in[1] : refuse(b, "select_if_vmap", "takes three operands");
}
static const tn_i_spec select_params[] = {
    {.name = "makes_false_steps", .kind = TN_K_STR, .lists = TN_I_AS_WRITTEN, .otherwise = "no matter"},
    {.name = NULL}};
const tn_prim tn_i_select_if_vmap_form = {
    .id = -1, .name = "select_if_vmap", .nin = 3, .params = select_params, .written = written_select};

enum { STATIC, TREE, OPTIONS };
static const tn_i_spec set_params[] = {
    {.name = "i_static", .kind = TN_K_STR, .lists = TN_I_AS_WRITTEN, .otherwise = "None"},
    {.name = "i_treedef", .kind = TN_K_STR, .lists = TN_I_AS_WRITTEN},
    {.name = "kwargs", .kind = TN_K_STR, .lists = TN_I_AS_WRITTEN},
    {.name = "makes_false_steps", .kind = TN_K_STR, .lists = TN_I_AS_WRITTEN, .otherwise = "no matter"},
    {.name = NULL}};

/* From the end where it is negative. */
static tn_i_var from_front(tn_i_builder *b, tn_i_var i, int64_t n) {
    const tn_type t = *tn_i_vtype(b, i);
    const tn_i_var negative = tn_i_op2(b, TN_P_lt, i, tn_i_zeros(b, &t));
    return tn_i_op3(b, TN_P_select, negative, tn_i_op2(b, TN_P_add, i, tn_i_whole_number(b, &t, n)), i);
}

/* predicate, xs, x, i: xs with row i set to x. */
static tn_i_var written_set(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in) {
    const bool row = p[STATIC].kind == TN_K_NONE && strcmp(p[TREE].u.str, "PyTreeDef(*)") == 0;
    const int64_t one = 1;
    tn_i_dnums d = {.n = {0, 1, 1}};
    if (nin != 4 || !row || strcmp(p[OPTIONS].u.str, "()") != 0)
        return refuse(b, "maybe_set", "only what sets one row by its number is known");
    const tn_type t = *tn_i_vtype(b, in[1]), *i = tn_i_vtype(b, in[3]);
    if (t.rank == 0 || i->rank || !tn_i_is_int(i->dtype))
        return refuse(b, "maybe_set", "operand 3: is no number of a row");
    for (int k = 1; k < t.rank; k++) d.v[TN_WINDOW][d.n[TN_WINDOW]++] = k - 1;
    const tn_i_var at = tn_i_reshape(b, from_front(b, in[3], t.dim[0]), 1, &one);
    return tn_i_scatter(b, in[1], at, in[2], &d, false, false);
}
const tn_prim tn_i_maybe_set_form = {
    .id = -1, .name = "maybe_set", .nin = 4, .params = set_params, .written = written_set};

/* ---- errors ---- */

enum { CALLBACK, RESULTS };
static const tn_i_spec callback_params[] = {
    {.name = "callback", .kind = TN_K_STR, .lists = TN_I_AS_WRITTEN},
    {.name = "results", .kind = TN_K_TYPES},
    {.name = "result_avals", .kind = TN_K_STR, .lists = TN_I_AS_WRITTEN, .otherwise = "as on the left"},
    {.name = "vmap_method", .kind = TN_K_STR, .lists = TN_I_AS_WRITTEN, .otherwise = "no matter"},
    {.name = TN_I_COMPLEX_OPERANDS, .kind = TN_K_INTS, .otherwise = "those that are"},
    {.name = NULL}};

/* An assert that fails where the check does: behind it nobody sees the zeros. */
static uint32_t raises(tn_i_builder *b, const tn_i_param *types, uint32_t most, tn_i_var *out) {
    const tn_i_var no = tn_i_literal_i64(b, TN_BOOL, 0);
    tn_i_param message = {.kind = TN_K_STR};
    static const char text[] = "an error of Equinox (error_if)";
    if (!(message.u.str = tn_i_string(b->ctx, text, sizeof text - 1))) b->failed = true;
    (void)tn_i_emit(b, tn_i_prim(b, TN_P_assert), &message, 1, &no);
    for (uint32_t j = 0; j < types->n && j < most; j++) out[j] = tn_i_zeros(b, types->u.types[j]);
    return b->failed ? 0 : types->n;
}

static uint32_t written_callback(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in, uint32_t most,
                                 tn_i_var *out) {
    const uint32_t n = p[RESULTS].n;
    if (strstr(p[CALLBACK].u.str, "<function _error.<locals>.raises ")) return raises(b, &p[RESULTS], most, out);
    if (strstr(p[CALLBACK].u.str, "<function _error.<locals>.tpu_msg ") && n <= nin) {
        for (uint32_t j = 0; j < n && j < most; j++) out[j] = in[j];
        return n;
    }
    (void)refuse(b, "pure_callback", "a text does not hold the function of Python that it calls");
    return 0;
}
const tn_prim tn_i_callback_form = {
    .id = -1, .name = "pure_callback", .nin = -1, .params = callback_params, .written_many = written_callback};
