/* Solutions found by any program: roots, and linear systems. */
#include "prims/ids.h"
#include "trace/shared.h"

enum { F, SOLVE, LINEAR_SOLVE };

/* max |f(x)|, without a derivative.  Nothing of it stays in a program that does not use it. */
static tn_i_var residual_norm(const tn_i_shared *k, size_t nx, tn_i_var x) {
    tn_i_site *s = k->s;
    if (x == TN_NOVAR || s->b->failed) return TN_NOVAR;
    tn_i_var *at = tn_i_alloc_array(s->b->ctx, k->n + nx, sizeof *at), norm;
    if (!at) {
        s->b->failed = true;
        return TN_NOVAR;
    }
    tn_i_var *const r = at + k->n;
    for (size_t i = 0; i < k->n; i++) {
        at[i] = i < nx ? x + (tn_i_var)i : k->v[i];
        if (tn_i_is_float(tn_i_site_type(s, at[i])->dtype)) at[i] = tn_i_do1(s, TN_P_stop_gradient, at[i]);
    }
    tn_i_inline(s->b, k->program[F].f, at, r);
    norm = tn_i_literal_f64(s->b, k->in[0].dtype, 0);
    for (size_t j = 0; j < nx; j++) {
        const tn_i_var size = tn_i_do1(s, TN_P_abs, r[j]);
        norm =
            tn_i_do2(s, TN_P_max, norm, tn_i_do_reduce(s, TN_P_reduce_max, size, tn_i_all_axes(k->in[j].rank), false));
    }
    tn_i_free(s->b->ctx, at, (k->n + nx) * sizeof *at);
    return norm;
}

/* ---- custom_root -------------------------------------------------------------------------------- */

static void custom_root(const tn_i_callback *f, void *user, size_t nx, size_t n, const tn_val *operand, tn_val *x,
                        tn_val *residual, const char *file, int line) {
    tn_i_site s;
    tn_i_shared k = {.s = &s, .nown = n, .nmore = nx, .user = user};
    tn_i_var first = TN_NOVAR, norm = TN_NOVAR;
    k.program[F] = (tn_i_shared_program){.name = "f", .call = f[F], .nout = nx};
    k.program[SOLVE] = (tn_i_shared_program){.name = "solve", .call = f[SOLVE], .nout = nx};
    k.program[LINEAR_SOLVE] = (tn_i_shared_program){
        .name = "linear_solve", .call = f[LINEAR_SOLVE], .more = true, .linear = true, .nout = nx};
    tn_i_site_open_many(&s, "custom_root", NULL, n, operand, 0, file, line);
    if (nx == 0) (void)tn_i_site_fail(&s, TN_EINVAL, -1, "there is no unknown");
    if (tn_i_shared_trace(&k, 1u << LINEAR_SOLVE)) {
        tn_i_args a;
        tn_i_args_init(&a, &s, TN_P_custom_root);
        tn_i_shared_args(&k, &a);
        tn_i_args_int(&a, "batch", 0);
        first = tn_i_args_emit(&s, &a, k.n, k.v);
        if (residual) norm = residual_norm(&k, nx, first);
    }
    tn_i_shared_free(&k);
    tn_i_site_close_many(&s, first, nx, x);
    if (residual) tn_i_site_close_many(&s, norm, 1, residual);
}

/* Unknowns and parameters in one list. */
static void root_of(const tn_i_callback *f, void *user, size_t nx, const tn_val *x0, size_t np, const tn_val *p,
                    tn_val *x, tn_val *residual, const char *file, int line) {
    tn_i_lists j = {.name = "custom_root",
                    .x_name = "unknowns",
                    .y_name = "parameters",
                    .nx = nx,
                    .ny = np,
                    .x = x0,
                    .y = p,
                    .file = file,
                    .line = line};
    if (tn_i_join_lists(&j, nx, x))
        custom_root(f, user, nx, j.n, j.all, x, residual, file, line);
    else if (residual)
        *residual = (tn_val){.id = line > 0 ? (uint32_t)line : 0};
    tn_i_lists_free(&j);
}

tn_val tn_custom_root_at(tn_trace_fn f, tn_trace_fn solve, tn_trace_fn linear_solve, void *user, tn_val x0, size_t n,
                         const tn_val *p, tn_val *residual, const char *file, int line) {
    const tn_i_callback all[] = {{.one = f}, {.one = solve}, {.one = linear_solve}};
    tn_val x;
    root_of(all, user, 1, &x0, n, p, &x, residual, file, line);
    return x;
}

void tn_custom_root_many_at(tn_trace_many_fn f, tn_trace_many_fn solve, tn_trace_many_fn linear_solve, void *user,
                            size_t nx, const tn_val *x0, size_t n, const tn_val *p, tn_val *x, tn_val *residual,
                            const char *file, int line) {
    const tn_i_callback all[] = {{.many = f}, {.many = solve}, {.many = linear_solve}};
    root_of(all, user, nx, x0, n, p, x, residual, file, line);
}

/* ---- custom_linear_solve ------------------------------------------------------------------------ */

enum { MATVEC, TRANSPOSE_SOLVE = 2 };

static bool same_callback(tn_i_callback f, tn_i_callback g) { return f.one == g.one && f.many == g.many; }

/* operand: np parameters, then the right-hand sides. */
static void linear_solve(const tn_i_callback *f, void *user, size_t np, size_t nx, size_t naux, const tn_val *operand,
                         tn_val *out, const char *file, int line) {
    const bool symmetric = same_callback(f[SOLVE], f[TRANSPOSE_SOLVE]);
    tn_i_site s;
    tn_i_shared k = {.s = &s, .nown = np, .nmore = nx, .more = np, .user = user};
    tn_i_var first = TN_NOVAR;
    k.program[MATVEC] =
        (tn_i_shared_program){.name = "matvec", .call = f[MATVEC], .more = true, .linear = true, .nout = nx};
    k.program[SOLVE] = (tn_i_shared_program){.name = "solve", .call = f[SOLVE], .more = true, .nout = nx + naux};
    if (!symmetric)
        k.program[TRANSPOSE_SOLVE] =
            (tn_i_shared_program){.name = "transpose_solve", .call = f[TRANSPOSE_SOLVE], .more = true, .nout = nx};
    tn_i_site_open_many(&s, "custom_linear_solve", NULL, np + nx, operand, 0, file, line);
    if (nx == 0) (void)tn_i_site_fail(&s, TN_EINVAL, -1, "there is no right-hand side");
    if (tn_i_shared_trace(&k, 1u << TRANSPOSE_SOLVE)) {
        tn_i_args a;
        tn_i_args_init(&a, &s, TN_P_custom_linear_solve);
        tn_i_shared_args(&k, &a);
        if (symmetric) tn_i_args_int(&a, "symmetric", true);
        for (size_t i = 0; i < nx; i++) k.v[k.n + i] = s.v[np + i];
        first = tn_i_args_emit(&s, &a, k.n + nx, k.v);
    }
    tn_i_shared_free(&k);
    tn_i_site_close_many(&s, first, nx + naux, out);
}

static void linear_solve_of(const tn_i_callback *f, void *user, size_t n, const tn_val *p, size_t nx, const tn_val *b,
                            size_t naux, tn_val *out, const char *file, int line) {
    tn_i_lists j = {.name = "custom_linear_solve",
                    .x_name = "parameters",
                    .y_name = "right-hand sides",
                    .nx = n,
                    .ny = nx,
                    .x = p,
                    .y = b,
                    .file = file,
                    .line = line};
    if (tn_i_join_lists(&j, nx + naux, out)) linear_solve(f, user, n, nx, naux, j.all, out, file, line);
    tn_i_lists_free(&j);
}

tn_val tn_custom_linear_solve_at(tn_trace_fn matvec, tn_trace_fn solve, tn_trace_fn transpose_solve, void *user,
                                 size_t n, const tn_val *p, tn_val b, const char *file, int line) {
    const tn_i_callback all[] = {{.one = matvec}, {.one = solve}, {.one = transpose_solve}};
    tn_val x;
    linear_solve_of(all, user, n, p, 1, &b, 0, &x, file, line);
    return x;
}

void tn_custom_linear_solve_many_at(tn_trace_many_fn matvec, tn_trace_many_fn solve, tn_trace_many_fn transpose_solve,
                                    void *user, size_t n, const tn_val *p, size_t nx, const tn_val *b, size_t naux,
                                    tn_val *out, const char *file, int line) {
    const tn_i_callback all[] = {{.many = matvec}, {.many = solve}, {.many = transpose_solve}};
    linear_solve_of(all, user, n, p, nx, b, naux, out, file, line);
}
