/* How programs printed by JAX are spelled where that differs from ours. */
#include "prims/linear/lineax_text.h"
#include "ir/parse.h"
#include "prims/scalar/complex.h"
#include "prims/composed_text.h"
#include "prims/linear/conv.h"
#include "prims/equinox_text.h"
#include "prims/forms.h"
#include "prims/ids.h"
#include "prims/linear/linear_solve_text.h"
#include "prims/scalar/near.h"
#include "prims/folds/reduce_window.h"
#include "prims/arrays/windows.h"

#include <string.h>

const tn_i_jax *tn_i_jax_primitive(const tn_i_token *name) {
    static const tn_i_jax table[] = {
        {"scatter-add", TN_P_scatter_add, NULL, NULL},
        {"scatter-mul", TN_P_scatter_mul, NULL, NULL},
        {"scatter-min", TN_P_scatter_min, NULL, NULL},
        {"scatter-max", TN_P_scatter_max, NULL, NULL},
        {"add_any", TN_P_add, NULL, NULL},
        {"copy", -1, NULL, NULL},
        {"copy_p", -1, NULL, NULL},
        {"device_put", -1, NULL, NULL},
        {"optimization_barrier", -1, NULL, NULL},
        {"random_clone", -1, NULL, NULL},
        {"random_wrap", -1, NULL, NULL}, /* of keys, which are their words here */
        {"random_unwrap", -1, NULL, NULL},
        {"nonbatchable", -1, NULL, NULL}, /* Equinox's, for maps and transposition, as the next ones */
        {"nontraceable", -1, NULL, NULL},
        {"nondifferentiable_backward", -1, NULL, NULL},
        {"squeeze", TN_P_reshape, "dimensions", NULL},
        {"pjit", TN_P_call, NULL, "jaxpr"},
        {"jit", TN_P_call, NULL, "jaxpr"},
        {"closed_call", TN_P_call, NULL, "call_jaxpr"},
        {"custom_jvp_call", TN_P_call, NULL, "call_jaxpr"}, /* the rule is a Python function: not in the text */
        {"core_call", TN_P_call, NULL, "call_jaxpr"},
        {"remat2", TN_P_checkpoint, NULL, "jaxpr"},
        {"psum_invariant", TN_P_psum, NULL, NULL}, /* psum without types that vary is another map: docs/mpi.md */
        {"pbroadcast", TN_P_pvary, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strlen(table[i].name) == name->n && memcmp(table[i].name, name->at, name->n) == 0) return &table[i];
    return NULL;
}

const tn_prim *tn_i_jax_form(const tn_i_token *name) {
    static const tn_prim *const table[] = {&tn_i_conv_form,
                                           &tn_i_window_sum_form,
                                           &tn_i_window_prod_form,
                                           &tn_i_window_max_form,
                                           &tn_i_window_min_form,
                                           &tn_i_select_and_gather_form,
                                           &tn_i_select_and_scatter_form,
                                           &tn_i_scatter_sub_form,
                                           &tn_i_reduce_or_form,
                                           &tn_i_reduce_and_form,
                                           &tn_i_reduce_xor_form,
                                           &tn_i_lt_to_form,
                                           &tn_i_le_to_form,
                                           &tn_i_stack_form,
                                           &tn_i_tile_form,
                                           &tn_i_select_n_form,
                                           &tn_i_platform_index_form,
                                           &tn_i_random_seed_form,
                                           &tn_i_complex_form,
                                           &tn_i_conj_form,
                                           &tn_i_real_form,
                                           &tn_i_imag_form,
                                           &tn_i_nextafter_form,
                                           &tn_i_reduce_precision_form,
                                           &tn_i_unvmap_any_form,
                                           &tn_i_unvmap_all_form,
                                           &tn_i_unvmap_max_form,
                                           &tn_i_select_if_vmap_form,
                                           &tn_i_maybe_set_form,
                                           &tn_i_callback_form,
                                           &tn_i_geqrf_form,
                                           &tn_i_hessenberg_form,
                                           &tn_i_householder_product_form,
                                           &tn_i_ormqr_form,
                                           &tn_i_tridiagonal_solve_form,
                                           &tn_i_pivots_to_permutation_form};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (tn_i_token_is(name, table[i]->name)) return table[i];
    return NULL;
}

const tn_prim *tn_i_jax_form_by(const tn_prim *prim, const tn_i_token *param, const tn_i_token *value) {
    if (prim && prim->id == TN_P_reshape && tn_i_token_is(param, "dimensions") && !tn_i_token_is(value, "None"))
        return &tn_i_reshape_form;
    if (prim && prim->id == TN_P_linear_solve && tn_i_token_is(param, "flatten")) return &tn_i_lineax_form;
    if (prim && prim->id == TN_P_fft && tn_i_token_is(param, "fft_lengths")) return &tn_i_fft_form;
    if (prim && prim->id == TN_P_random_bits && tn_i_token_is(param, "bit_width")) return &tn_i_random_bits_form;
    const bool solve = prim && prim->id == TN_P_custom_linear_solve;
    return solve && (tn_i_token_is(param, "const_lengths") || tn_i_token_is(param, "jaxprs")) ? &tn_i_linear_solve_form
                                                                                              : NULL;
}

const char *tn_i_jax_param(const tn_prim *prim, const tn_i_token *name) {
    static const struct {
        int id;
        const char *jax, *ours;
    } table[] = {
        {TN_P_argmax, "axis", "axes"},
        {TN_P_argmin, "axis", "axes"},
        {TN_P_scan, "jaxpr", "program"},
        {TN_P_while, "cond_jaxpr", "cond"},
        {TN_P_while, "body_jaxpr", "body"},
        {TN_P_axis_index, "axis_name", "axes"},
        {TN_P_eig, "compute_right_eigenvectors", "compute_vectors"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].id == prim->id && tn_i_token_is(name, table[i].jax)) return table[i].ours;
    return NULL;
}

/* Parameters that change nothing here; `only`: values other than these are refused. */
static const char *const none[] = {"None", NULL}, *const no[] = {"False", NULL};
static const struct {
    const char *name;
    int id; /* of the one primitive that has it, or -1 */
    const char *const *only;
} ignored[] = {
    {"weak_type", -1, NULL},
    {"axis_index_groups", -1, none},
    {"sharding", -1, NULL},
    {"out_sharding", -1, NULL},
    {"accuracy", -1, NULL},
    {"input_dtype", -1, NULL}, /* conj's */
    {"precision", -1, NULL},
    {"linear", TN_P_cond, NULL},
    {"branches_platforms", TN_P_cond, NULL},
    {"linear", TN_P_scan, NULL},
    {"indices_are_sorted", -1, NULL},
    {"unique_indices", -1, NULL},
    {"update_jaxpr", TN_P_scatter, none}, /* scatter_apply has one */
    {"update_jaxpr", -1, NULL},
    {"update_consts", -1, NULL},
    {"dimensions", TN_P_reshape, none},
    {"algorithm", TN_P_eigh, NULL},
    {"algorithm", TN_P_svd, NULL},
    {"implementation", TN_P_eigh, NULL},
    {"implementation", TN_P_eig, NULL},
    {"enable_eigvec_derivs", TN_P_eig, NULL},
    {"select_callable", TN_P_schur, none},
    {"sort_eig_vals", TN_P_schur, no},
    {"compute_left_eigenvectors", TN_P_eig, no},
    {"sort_eigenvalues", TN_P_eigh, NULL}, /* they ascend in any case */
    {"subset_by_index", TN_P_eigh, none},
    {"subset_by_index", TN_P_svd, none},
    {"pivoting", TN_P_qr, no},
    {"perturb_singular", -1, no}, /* tridiagonal_solve's */
    {"use_magma", TN_P_qr, NULL},
    {"unroll", TN_P_scan, NULL},
    {"_split_transpose", TN_P_scan, NULL},
    {"differentiated", TN_P_checkpoint, NULL},
    {"prevent_cse", TN_P_checkpoint, NULL},
    {"jvp", TN_P_call, NULL},
    {"jvp_jaxpr_fun", TN_P_call, NULL},
    {"num_consts", TN_P_call, NULL},
    {"symbolic_zeros", TN_P_call, NULL},
    {"donated_invars", TN_P_call, NULL},
    {"inline", TN_P_call, NULL},
    {"keep_unused", TN_P_call, NULL},
    {"in_shardings", TN_P_call, NULL},
    {"out_shardings", TN_P_call, NULL},
    {"in_layouts", TN_P_call, NULL},
    {"out_layouts", TN_P_call, NULL},
    {"resource_env", TN_P_call, NULL},
    {"ctx_mesh", TN_P_call, NULL},
    {"compiler_options_kvs", TN_P_call, NULL},
};

bool tn_i_jax_ignored(const tn_prim *prim, const tn_i_token *name, const char *const **only) {
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++) {
        if ((ignored[i].id >= 0 && ignored[i].id != prim->id) || !tn_i_token_is(name, ignored[i].name)) continue;
        *only = ignored[i].only;
        return true;
    }
    return false;
}

static int symbol_index(const char *const *symbols, const char *s, size_t n) {
    for (int i = 0; symbols[i]; i++) {
        size_t k = 0;
        while (k < n && symbols[i][k] && (s[k] | 32) == (symbols[i][k] | 32)) k++;
        if (k == n && !symbols[i][k]) return i;
    }
    return -1;
}

int tn_i_jax_symbol(const tn_i_token *t, const char *const *symbols) {
    /* GatherScatterMode, RoundingMethod and FftType by name and number; what is promised to be in bounds may as well be
     * clipped or dropped */
    static const struct {
        const char *jax, *ours[4];
    } table[] = {
        {"0", {"AWAY_FROM_ZERO", "FFT"}}, {"1", {"clip", "TO_NEAREST_EVEN", "IFFT"}},
        {"2", {"fill", "drop", "RFFT"}},  {"FILL_OR_DROP", {"fill", "drop"}},
        {"3", {"drop", "clip", "IRFFT"}}, {"PROMISE_IN_BOUNDS", {"drop", "clip"}},
    };
    int found = symbol_index(symbols, t->at, t->n);
    for (size_t i = 0; found < 0 && i < sizeof table / sizeof *table; i++) {
        if (!tn_i_token_is(t, table[i].jax)) continue;
        for (int k = 0; found < 0 && table[i].ours[k]; k++)
            found = symbol_index(symbols, table[i].ours[k], strlen(table[i].ours[k]));
    }
    return found;
}
