/* Every public function that allocates: what it is given, and the call. */
#include "fault/programs.h"
#include "base/base.h"
#include "tansy/comm.h"
#include "tansy/emit.h"
#include "tansy/sparse.h"

#include <string.h>

/* ---- what is given ------------------------------------------------------------------------ */

static bool externals(world *w) { return register_externals(w->c) && (w->inner = inner_program(w)); }

static bool given(world *w) {
    const bool needs = w->stage->program == nested_program || w->stage->program == external_single_program;
    if (needs && !externals(w)) return false;
    w->given = w->stage->program(w);
    return w->given != NULL;
}

static tn_verdict out_of_memory(void *user, const tn_candidate *v) {
    (void)user, (void)v;
    return TN_OFFLOAD;
}
static const tn_policy offloading = {.size = sizeof offloading, .callback = out_of_memory};

static tn_val wave(const tn_val *in, void *user) {
    (void)user;
    return tn_sin(tn_sin(in[0]));
}
static tn_val waves(const tn_val *in, void *user) {
    return tn_sum(wave((const tn_val[]){tn_subfn("wave", wave, NULL, 1, in)}, user));
}

/* The gradient of a program of more than a few bytes, with residuals in a spill file. */
static tn_fn *spilling_program(world *w) {
    tn_fn *f = tn_trace(w->c, waves, NULL, 1, TN_TYPES(tn_f64(20))), *g = tn_grad(f, NULL, &offloading);
    tn_fn_free(f);
    return g;
}

/* The linear half of the program; the rest is released. */
static tn_fn *linear_part(world *w, tn_fn *f) {
    tn_linearized l = tn_linearize(f, NULL, w->stage->arg);
    tn_fn_free(f);
    tn_fn_free(l.primal);
    return l.linear;
}

static tn_fn *nested_linear(world *w) { return externals(w) ? linear_part(w, nested_program(w)) : NULL; }
static tn_fn *array_linear(world *w) { return linear_part(w, array_program(w)); }

static bool printed(world *w) {
    if (!given(w)) return false;
    w->source = w->owned = tn_fn_print(w->given, &w->length);
    return w->source != NULL;
}

static bool jax(world *w) {
    w->source = jax_text;
    w->length = strlen(jax_text);
    return true;
}

static bool runnable(world *w) { return given(w) && world_arguments(w, w->given); }
static bool compiled(world *w) { return runnable(w) && (w->exec = tn_compile(w->given, NULL)); }
static const tn_compile_options in_tmp = {.size = sizeof in_tmp, .spill_dir = "/tmp"};
static bool compiled_spilling(world *w) { return runnable(w) && (w->exec = tn_compile(w->given, &in_tmp)); }
static bool with_spilling_work(world *w) { return compiled_spilling(w) && (w->own = tn_work_new(w->exec, NULL, 0)); }
static bool with_work(world *w) { return compiled(w) && (w->own = tn_work_new(w->exec, NULL, 0)); }
static bool called(world *w) { return compiled(w) && tn_call(w->exec, (const void *const *)w->in, w->out) == TN_OK; }

/* Linear in both inputs without saying so; one equation mixes what is linear with what is not. */
static tn_val both(const tn_val *in, void *user) {
    (void)user;
    return tn_add(tn_mul(in[0], 2.0), tn_flip(in[1], 0));
}
static tn_fn *plain_linear(world *w) { return tn_trace(w->c, both, NULL, 2, TN_TYPES(tn_f64(3), tn_f64(3))); }

static const char mixed_text[] =
    "{ lambda x:f64[3] | dx:f64[3] . let\n"
    "    a:f64[3] b:f64[3] = call[name=\"both\" program={ lambda x:f64[3] dx:f64[3] . let\n"
    "        a:f64[3] = sin x b:f64[3] = cos x c:f64[3] = mul b dx in (a, c) }] x dx\n"
    "    c:f64[3] = mul a b\n"
    "  in (c,) }\n";
static tn_fn *mixed_linear(world *w) { return tn_fn_parse(w->c, mixed_text, sizeof mixed_text - 1, "mixed.tn"); }

static const char lengths_text[] = "{ lambda n:i64[] x:f64[?,2] y:f64[2,?,?] z:f64[?,2] . let\n"
                                   "    a:f64[?,2] = scan[program={ lambda x:f64[2] z:f64[2] . let\n"
                                   "        a:f64[2] = mul x z in (a,) } num_consts=0 num_carry=0] n x z\n"
                                   "  in (a, y, x) }\n";
static tn_fn *lengths_program(world *w) {
    return tn_fn_parse(w->c, lengths_text, sizeof lengths_text - 1, "lengths.tn");
}

/* ---- the calls -------------------------------------------------------------------------------- */

static bool made(world *w, tn_fn *f) { return (w->made[0] = f) != NULL; }
static const tn_policy *policy(const world *w) { return w->stage->arg; }

static bool run_register(world *w) {
    return register_cube(w->c, "a name that is long enough not to be there") == TN_OK;
}
static int nothing(void *user, const void *const *in, void *const *out) {
    (void)user;
    (void)in;
    (void)out;
    return 0;
}
static bool run_register_sparse(world *w) {
    static const int64_t ptr[3] = {0, 1, 2}, ind[2] = {1, 0};
    const tn_type t = tn_f64(2);
    tn_sparsity *s = tn_sparsity_csr(w->c, 2, 2, ptr, ind);
    const tn_external_spec x = {
        .size = sizeof x, .name = "crossed", .nin = 1, .nout = 1, .in = &t, .out = &t, .fn = nothing, .sparsity = s};
    const bool ok = s && tn_external_register(w->c, &x) == TN_OK;
    tn_sparsity_free(s);
    return ok;
}
static bool run_trace(world *w) { return made(w, w->stage->program(w)); }
static bool run_print(world *w) { return (w->text = tn_fn_print(w->given, NULL)) != NULL; }
static bool run_parse(world *w) { return made(w, tn_fn_parse(w->c, w->source, w->length, "fault.tn")); }
static bool run_check(world *w) { return tn_check(w->given) == TN_OK; }
static bool run_cost(world *w) {
    tn_cost_report r = {.size = sizeof r};
    if (tn_cost(w->given, &r) != TN_OK) return false;
    const double numbers[6] = {r.equations, r.flops, r.transcendentals, r.products, r.bytes, r.peak_bytes};
    memcpy(w->numbers, numbers, sizeof numbers);
    return true;
}

static bool run_residuals(world *w) {
    tn_residuals *r = tn_saved_residuals(w->given, NULL, policy(w));
    tn_residual_totals t = {.size = sizeof t};
    const bool ok = r && tn_residuals_total(r, &t) == TN_OK;
    const double numbers[6] = {(double)tn_residuals_count(r), t.residual_bytes, t.recomputed_flops, t.peak_bytes,
                               t.peak_forward_bytes,          t.modelled_ns};
    memcpy(w->numbers, numbers, sizeof numbers);
    tn_residuals_free(r);
    return ok;
}
static bool run_jvp(world *w) { return made(w, tn_jvp(w->given, NULL)); }
static bool run_linearize(world *w) {
    const tn_linearized l = tn_linearize(w->given, NULL, policy(w));
    w->made[0] = l.primal;
    w->made[1] = l.linear;
    return l.primal && l.linear;
}
static bool run_transpose(world *w) { return made(w, tn_transpose(w->given)); }
static bool run_vjp(world *w) { return made(w, tn_vjp(w->given, NULL, policy(w))); }
static bool run_grad(world *w) { return made(w, tn_grad(w->given, NULL, policy(w))); }
static bool run_value_and_grad(world *w) { return made(w, tn_value_and_grad(w->given, tn_wrt(1, 0), policy(w))); }
static bool run_value_and_grad_aux(world *w) { return made(w, tn_value_and_grad_aux(w->given, tn_wrt(0), policy(w))); }
static bool run_budget(world *w) {
    tn_budget_report r = {.size = sizeof r};
    if (tn_memory_budget(w->given, NULL, 1 << 20, &r) != TN_OK) return false;
    const double numbers[6] = {(double)r.least_bytes, (double)r.peak_bytes, r.recompute_ns,
                               (double)r.plans,       r.feasible,           r.exact};
    memcpy(w->numbers, numbers, sizeof numbers);
    return true;
}
/* One whose tables grow, for disk_revolve; one whose run has memory of its own. */
static bool run_schedules(world *w) {
    tn_schedule_counts k[2] = {{.size = sizeof *k}, {.size = sizeof *k}};
    if (tn_schedule_cost(w->c, "disk_revolve:2,3", 60, NULL, &k[0]) != TN_OK) return false;
    if (tn_schedule_cost(w->c, "online:3", 60, NULL, &k[1]) != TN_OK) return false;
    const double numbers[6] = {(double)k[0].advances,  (double)k[0].disk_writes, (double)k[0].disk_reads,
                               (double)k[0].snapshots, (double)k[1].advances,    (double)k[1].snapshots};
    memcpy(w->numbers, numbers, sizeof numbers);
    return true;
}
static bool run_hvp(world *w) { return made(w, tn_hvp(w->given, NULL, policy(w))); }
static bool run_jacfwd(world *w) { return made(w, tn_jacfwd(w->given, NULL, *(const size_t *)w->stage->arg)); }
static bool run_jacrev(world *w) { return made(w, tn_jacrev(w->given, NULL, NULL, *(const size_t *)w->stage->arg)); }
static bool run_hessian(world *w) {
    return made(w, tn_hessian(w->given, tn_wrt(0), NULL, *(const size_t *)w->stage->arg));
}

/* Patterns, and what they tell. */
static bool pattern_told(world *w, tn_sparsity *s) {
    tn_sparsity_arrays a = {.size = sizeof a}, b = {.size = sizeof b};
    const bool ok =
        s && tn_sparsity_view(s, TN_CSR, TN_FULL, &a) == TN_OK && tn_sparsity_view(s, TN_COO, TN_FULL, &b) == TN_OK;
    double constants = 0, warnings = 0;
    for (int64_t k = 0; ok && a.constant && k < a.nnz; k++) constants += a.constant[k];
    while (ok && tn_sparsity_warning(s, (size_t)warnings)) warnings++;
    if (ok) {
        const double numbers[6] = {(double)a.rows, (double)a.columns, (double)a.nnz,
                                   (double)b.nnz,  constants,         warnings};
        memcpy(w->numbers, numbers, sizeof numbers);
    }
    tn_sparsity_free(s);
    return ok;
}
static bool run_pattern(world *w) { return pattern_told(w, tn_jacobian_sparsity(w->given, NULL, NULL)); }
static bool run_hessian_pattern(world *w) { return pattern_told(w, tn_hessian_sparsity(w->given, NULL, NULL)); }
static bool run_pattern_at(world *w) {
    double zeros[64] = {0};
    const void *at[8] = {zeros, zeros, zeros, zeros, zeros, zeros, zeros, zeros};
    const tn_sparsity_options o = {.size = sizeof o, .at = at};
    return pattern_told(w, tn_jacobian_sparsity(w->given, NULL, &o));
}

/* Neighbours: [6] -> [6]; some entries are constant. */
static tn_val chain(const tn_val *in, void *user) {
    (void)user;
    return tn_sub(tn_mul(2.0, tn_flip(in[0], 0)), tn_mul(tn_exp(in[0]), tn_roll(in[0], 1, 0)));
}
static tn_val energy(const tn_val *in, void *user) { return tn_sum_squares(chain(in, user)); }
static tn_fn *chain_program(world *w) { return tn_trace(w->c, chain, NULL, 1, TN_TYPES(tn_f64(6))); }
static tn_fn *energy_program(world *w) { return tn_trace(w->c, energy, NULL, 1, TN_TYPES(tn_f64(6))); }

static bool run_sparse_jacobian(world *w) {
    const tn_coloring_options how = {.size = sizeof how, .partition = *(const tn_partition *)w->stage->arg};
    const tn_sparse_options o = {.size = sizeof o, .format = TN_CSC, .coloring = &how, .with_value = true};
    tn_sparsity *s = NULL;
    const bool ok = made(w, tn_sparse_jacobian(w->given, NULL, &o, &s));
    tn_sparsity_free(s);
    return ok;
}
static bool run_sparse_hessian(world *w) {
    const tn_coloring_options how = {.size = sizeof how, .partition = *(const tn_partition *)w->stage->arg};
    const tn_sparse_options o = {.size = sizeof o, .triangle = TN_LOWER, .coloring = &how};
    return made(w, tn_sparse_hessian(w->given, NULL, &o, NULL));
}
/* One of the caller's, which is tried. */
static bool run_given_pattern(world *w) {
    static const int64_t ptr[7] = {0, 6, 12, 18, 24, 30, 36};
    int64_t ind[36];
    for (int i = 0; i < 36; i++) ind[i] = i % 6;
    tn_sparsity *s = tn_sparsity_csr(w->c, 6, 6, ptr, ind);
    const double x[6] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6};
    const tn_sparse_options o = {.size = sizeof o, .sparsity = s};
    const bool ok = s && tn_sparsity_check(w->given, NULL, s, (const void *[]){x}) == TN_OK &&
                    made(w, tn_sparse_jacobian(w->given, NULL, &o, NULL));
    tn_sparsity_free(s);
    return ok;
}
/* An arrow whose hub is of more than one band of degrees, in each partition and order, then on a grid. */
static bool run_colors(world *w) {
    enum { N = 24, NNZ = 3 * N - 2 };
    int64_t row[NNZ], col[NNZ], n = 0;
    for (int64_t i = 0; i < N; i++) {
        row[n] = i, col[n++] = i;
        if (i) row[n] = i, col[n++] = 0, row[n] = 0, col[n++] = i;
    }
    tn_sparsity *s = tn_sparsity_coo(w->c, N, N, n, row, col);
    bool ok = s != NULL;
    tn_coloring_options o = {.size = sizeof o, .rank = 2, .grid = {4, N / 4, 0}};
    for (int p = TN_COLOR_AUTO; ok && p <= TN_COLOR_ACYCLIC; p++)
        for (int order = TN_ORDER_BEST; ok && order <= TN_ORDER_INCIDENCE_DEGREE; order++) {
            o.partition = (tn_partition)p, o.order = (tn_color_order)order;
            tn_coloring *k = tn_color(s, &o);
            ok = k != NULL;
            tn_coloring_free(k);
        }
    tn_sparsity_free(s);
    return ok;
}
static bool run_gauss_newton(world *w) { return made(w, tn_gauss_newton_product(w->given, NULL, NULL)); }
static bool run_lagrangian(world *w) {
    tn_fn *g = chain_program(w);
    const bool ok = g && made(w, tn_lagrangian(w->given, g));
    tn_fn_free(g);
    return ok;
}

static bool run_vmap(world *w) {
    const int *axes = w->stage->arg;
    return made(w, tn_vmap(w->given, 2, axes, axes ? axes + 3 : NULL));
}

static bool run_compile(world *w) { return (w->made_exec = tn_compile(w->given, NULL)) != NULL; }
static bool run_compile_spilling(world *w) { return (w->made_exec = tn_compile(w->given, &in_tmp)) != NULL; }

static bool run_compile_strict(world *w) {
    const tn_compile_options o = {.size = sizeof o, .strict_zero = true};
    return (w->made_exec = tn_compile(w->given, &o)) != NULL;
}

/* How long the texts are tells whether they are the same. */
static bool run_emit(world *w) {
    const tn_emit_c_options o = {.size = sizeof o, .name = "emitted"};
    char *source, *header;
    if (tn_emit_c(w->given, &o, &source, &header) != TN_OK) return false;
    w->numbers[0] = (double)strlen(source);
    w->numbers[1] = (double)strlen(header);
    tn_text_free(w->c, source);
    tn_text_free(w->c, header);
    return true;
}

/* All but the compiler: its text is made, and thrown away. */
static bool run_compile_native(world *w) {
    const tn_compile_options o = {.size = sizeof o, .backend = TN_BACKEND_NATIVE, .cc = "/no/compiler"};
    return (w->made_exec = tn_compile(w->given, &o)) != NULL;
}

/* Two ranks of one thread: what is begun is waited for later.  A rank without memory ends it for both. */
static bool rank_sums(const tn_comm_ops *o, double *x, double *sum, void **request) {
    const tn_collective c = {.size = sizeof c, .dtype = TN_F64, .count = 1, .axes = 1};
    return o->start(o->user, &c, x, sum, request) == TN_OK;
}
static bool run_threads(world *w) {
    static const char *const name = "w";
    static const int64_t two = 2;
    double x[2] = {1, 2}, sum[2] = {0, 0};
    void *request[2] = {NULL, NULL};
    tn_threads *t = tn_threads_comm(w->c, &(tn_grid){1, &name, &two}, 0);
    if (!t) return false;
    const tn_comm_ops *a = tn_threads_rank(t, 0), *b = tn_threads_rank(t, 1);
    const bool first = rank_sums(a, &x[0], &sum[0], &request[0]), second = rank_sums(b, &x[1], &sum[1], &request[1]);
    const bool ok = first && second && !request[1] && a->wait(a->user, request[0]) == TN_OK;
    if (!ok && !second && strcmp(a->error(a->user), b->error(b->user)) == 0)
        (void)tn_i_fail(w->c, TN_ENOMEM, NULL, "%s", b->error(b->user));
    memcpy(w->numbers, sum, sizeof sum);
    tn_threads_free(t);
    return ok;
}

static void ignore(void *user, const tn_lint_warning *x) { (void)user, (void)x; }
static bool run_lint(world *w) { return tn_lint(w->given, ignore, NULL) == TN_OK; }

/* Column-major matrices in and out, the vector updated in place. */
static bool run_compile_strides(world *w) {
    static const int64_t columns[] = {1, 3};
    const tn_compile_options o = {.size = sizeof o,
                                  .in_strides = (const int64_t *const[]){NULL, columns},
                                  .out_strides = (const int64_t *const[]){NULL, (const int64_t[]){1}, NULL},
                                  .alias = (const int[]){-1, 0, -1}};
    return (w->made_exec = tn_compile(w->given, &o)) != NULL;
}
static void add_step(void *user, const tn_profile_step *s) { *(double *)user += (double)s->calls + s->work.flops; }
/* A profile is made, takes a call, and tells. */
static bool run_profile(world *w) {
    tn_profile *p = tn_profile_new(w->exec);
    tn_profile_totals t = {.size = sizeof t};
    double told = 0;
    bool ok = p && tn_exec_profile(w->exec, p) == TN_OK;
    ok = ok && tn_call(w->exec, (const void *const *)w->in, w->out) == TN_OK;
    ok = ok && tn_profile_total(p, &t) == TN_OK && tn_profile_steps(p, add_step, &told) == TN_OK;
    const double numbers[6] = {(double)t.calls, t.work.flops, t.work.bytes, told, (double)t.replay.advances, 0};
    if (ok) memcpy(w->numbers, numbers, sizeof numbers);
    (void)tn_exec_profile(w->exec, NULL);
    tn_profile_free(p);
    return ok;
}
/* One loop of few steps, so that there are few ways. */
static const char advised_text[] = "{ lambda x:f64[3] . let\n"
                                   "    a:f64[3] = scan[program={ lambda x:f64[3] . let\n"
                                   "        a:f64[3] = sin x in (a,) } length=3 num_consts=0 num_carry=1] x\n"
                                   "  in (a,) }\n";
static tn_fn *advised_program(world *w) {
    return tn_fn_parse(w->c, advised_text, sizeof advised_text - 1, "advised.tn");
}
static void add_way(void *user, const tn_advice *a) {
    double *to = user;
    to[0]++;
    to[1] += a->bytes;
    to[2] += a->ns;
    to[3] += a->error[0] != 0;
}
static bool run_advise(world *w) {
    const tn_advise_options o = {.size = sizeof o, .disk = 1};
    double told[6] = {0};
    if (tn_advise(w->given, NULL, &o, add_way, told) != TN_OK) return false;
    memcpy(w->numbers, told, sizeof told);
    return true;
}
static bool run_work_new(world *w) { return (w->made_work = tn_work_new(w->exec, NULL, 0)) != NULL; }
static bool run_call(world *w) { return tn_call(w->exec, (const void *const *)w->in, w->out) == TN_OK; }
static bool run_call_in(world *w) { return tn_call_in(w->exec, w->own, (const void *const *)w->in, w->out) == TN_OK; }

static bool run_check_grads(world *w) {
    const tn_check_options o = {.size = sizeof o, .directions = 1, .tolerance = 1e-3};
    return tn_check_grads(w->given, (const void *const *)w->in, NULL, &o) == TN_OK;
}

static tn_val sine(const tn_val *in, void *user) { return (void)user, tn_sum(tn_sin(in[0])); }
static tn_fn *sine_program(world *w) { return tn_trace(w->c, sine, NULL, 1, TN_TYPES(tn_f64(3))); }

static void sine_step(tn_val i, const tn_val *x, tn_val *next, void *user) {
    (void)i, (void)user;
    next[0] = tn_sin(x[0]);
}
static tn_val sines_of(const tn_val *in, void *user) {
    const tn_loop_options o = {.size = sizeof o, .schedule = "auto"};
    const tn_loop_options own = {.size = sizeof own, .schedule = user ? "auto:300" : "auto"};
    tn_val x;
    tn_fori(NULL, 0, 2, sine_step, NULL, 1, in, &x, &o);
    if (user) tn_fori(NULL, 0, 3, sine_step, NULL, 1, &x, &x, &own);
    return tn_sum(x);
}
static tn_fn *auto_program(world *w) { return tn_trace(w->c, sines_of, NULL, 1, TN_TYPES(tn_f64(3))); }
static tn_fn *autos_program(world *w) { return tn_trace(w->c, sines_of, w, 1, TN_TYPES(tn_f64(3))); }

static tn_val sines_again(const tn_val *in, void *user) {
    (void)user;
    const tn_loop_options o = {.size = sizeof o, .schedule = "revolve:2"};
    tn_val x;
    tn_fori(NULL, 0, 5, sine_step, NULL, 1, in, &x, &o);
    return tn_sum(x);
}
/* The gradient of a loop that runs again from states that were kept. */
static tn_fn *revolved_program(world *w) {
    tn_fn *f = tn_trace(w->c, sines_again, NULL, 1, TN_TYPES(tn_f64(3))), *g = tn_grad(f, NULL, NULL);
    tn_fn_free(f);
    return g;
}

static tn_val below(const tn_val *x, void *user) { return (void)user, tn_lt(x[0], 2); }
static void sine_until(const tn_val *x, tn_val *next, void *user) {
    (void)user;
    next[0] = tn_add(x[0], 1);
    next[1] = tn_sin(x[1]);
}
static void sines_within(tn_val i, const tn_val *x, tn_val *next, void *user) {
    (void)i, (void)user;
    const tn_loop_options o = {.size = sizeof o, .schedule = "nothing"};
    const tn_val init[2] = {TN_VAL(0), x[0]};
    tn_val out[2];
    tn_while_loop(NULL, below, sine_until, NULL, 2, init, out, &o);
    next[0] = out[1];
}
static tn_val nest_of_sines(const tn_val *in, void *user) {
    (void)user;
    const tn_loop_options o = {.size = sizeof o, .schedule = "nothing"};
    tn_val x;
    tn_fori(NULL, 0, 2, sines_within, NULL, 1, in, &x, &o);
    return tn_sum(x);
}
static tn_val first_of(const tn_val *in, void *user) { return tn_sum(tn_apply(user, 1, in)); }
/* The gradient of a while in a loop, summed: its gradient takes loops in loops apart. */
static tn_fn *nest_program(world *w) {
    tn_fn *f = tn_trace(w->c, nest_of_sines, NULL, 1, TN_TYPES(tn_f64(3))), *g = tn_grad(f, NULL, NULL);
    tn_fn *h = tn_trace(w->c, first_of, g, 1, TN_TYPES(tn_f64(3)));
    tn_fn_free(f);
    tn_fn_free(g);
    return h;
}
/* Which merges loops when it is planned. */
static tn_fn *nest_twice_program(world *w) {
    tn_fn *f = nest_program(w), *g = tn_grad(f, NULL, NULL);
    tn_fn_free(f);
    return g;
}

/* ---- the list ------------------------------------------------------------------------------------ */

static tn_verdict sines(void *user, const tn_candidate *v) {
    (void)user;
    return strcmp(v->primitive, "sin") == 0 || v->line % 2 ? TN_SAVE : TN_RECOMPUTE;
}

static const tn_policy all = {.size = sizeof all, .name = "everything_saveable"};
static const tn_policy fewest = {.size = sizeof fewest, .name = "min_bytes"};
static const tn_policy none = {.size = sizeof none, .name = "nothing_saveable"};
static const tn_policy some = {.size = sizeof some, .callback = sines};
static const tn_policy within = {.size = sizeof within, .name = "memory_budget:1000000"};
static const tn_policy tight = {.size = sizeof tight, .name = "memory_budget:3000"};
static const size_t whole = 0, blocked = 2;
static const tn_partition by_columns = TN_COLOR_COLUMN, by_rows = TN_COLOR_ROW, both_ways = TN_COLOR_BIDIRECTIONAL,
                          by_stars = TN_COLOR_STAR, by_trees = TN_COLOR_ACYCLIC;
/* in_axes, then out_axes */
static const int axes[] = {1, TN_NOT_MAPPED, 0, 0, 0, 0};

#define TRACE(what, f) \
    { .name = what, .run = run_trace, .program = f }
#define ON(what, r, f) \
    { .name = what, .prepare = given, .run = r, .program = f }
#define WITH(what, r, f, a) \
    { .name = what, .prepare = given, .run = r, .program = f, .arg = a }
#define FROM(what, p, r, f) \
    { .name = what, .prepare = p, .run = r, .program = f }

const stage stages[] = {
    {.name = "external_register", .run = run_register, .keeps = true},
    {.name = "external_register with a pattern", .run = run_register_sparse, .keeps = true},
    FROM("trace nested", externals, run_trace, nested_program),
    TRACE("trace elementwise", elementwise_program),
    TRACE("trace arrays", array_program),
    TRACE("trace small", small_program),
    TRACE("trace loops", loop_program),
    FROM("parse loops", printed, run_parse, loop_program),
    ON("check loops", run_check, loop_program),
    ON("jvp loops", run_jvp, loop_program),
    ON("grad loops", run_grad, loop_program),
    ON("hvp loops", run_hvp, loop_program),
    ON("grad of a gradient, loops in loops", run_grad, nest_program),
    WITH("vjp loops, nothing saved", run_vjp, loop_program, &none),
    WITH("vjp recurrent, fewest bytes", run_vjp, recurrent_program, &fewest),
    TRACE("trace ode_solve", ode_program),
    TRACE("trace one way", one_way_program),
    ON("grad one way", run_grad, one_way_program),
    TRACE("trace forward only", forward_program),
    ON("jvp forward only", run_jvp, forward_program),
    ON("print nested", run_print, nested_program),
    ON("print arrays", run_print, array_program),
    FROM("parse nested", printed, run_parse, nested_program),
    FROM("parse elementwise", printed, run_parse, elementwise_program),
    FROM("parse arrays", printed, run_parse, array_program),
    FROM("parse linear", printed, run_parse, nested_linear),
    {.name = "parse jax", .prepare = jax, .run = run_parse},
    ON("check nested", run_check, nested_program),
    WITH("check linear", run_check, nested_linear, &none),
    ON("check arrays", run_check, array_program),
    ON("cost nested", run_cost, nested_program),
    ON("cost arrays", run_cost, array_program),
    WITH("residuals nested, nothing saved", run_residuals, nested_program, &none),
    WITH("residuals small, by callback", run_residuals, small_program, &some),
    ON("jvp nested", run_jvp, nested_program),
    ON("jvp elementwise", run_jvp, elementwise_program),
    ON("jvp arrays", run_jvp, array_program),
    WITH("linearize nested, everything saved", run_linearize, nested_program, &all),
    WITH("linearize nested, nothing saved", run_linearize, nested_program, &none),
    WITH("linearize nested, by callback", run_linearize, nested_program, &some),
    WITH("linearize arrays, nothing saved", run_linearize, array_program, &none),
    WITH("linearize small, by callback", run_linearize, small_program, &some),
    WITH("linearize nested, offloading", run_linearize, nested_program, &offloading),
    ON("transpose nested", run_transpose, nested_linear),
    WITH("transpose nested, recomputing", run_transpose, nested_linear, &none),
    ON("transpose arrays", run_transpose, array_linear),
    ON("transpose without linear inputs", run_transpose, plain_linear),
    ON("transpose mixed", run_transpose, mixed_linear),
    ON("vjp nested", run_vjp, nested_program),
    WITH("vjp small, nothing saved", run_vjp, small_program, &none),
    ON("grad nested", run_grad, nested_program),
    ON("grad elementwise", run_grad, elementwise_program),
    WITH("grad arrays, by callback", run_grad, array_program, &some),
    ON("value_and_grad nested", run_value_and_grad, nested_program),
    ON("value_and_grad_aux small", run_value_and_grad_aux, small_program),
    WITH("vjp within a budget", run_vjp, sine_program, &within),
    WITH("linearize within a budget", run_linearize, sine_program, &within),
    ON("memory_budget", run_budget, sine_program),
    {.name = "memory_budget of a loop", .prepare = given, .run = run_budget, .program = auto_program, .keeps = true},
    {.name = "grad of loops within a budget",
     .prepare = given,
     .run = run_grad,
     .program = autos_program,
     .arg = &tight,
     .keeps = true},
    ON("schedules", run_schedules, sine_program),
    ON("hvp nested", run_hvp, nested_program),
    WITH("hvp arrays, nothing saved", run_hvp, array_program, &none),
    WITH("jacfwd nested", run_jacfwd, nested_program, &whole),
    WITH("jacfwd small, blocked", run_jacfwd, small_program, &blocked),
    WITH("jacrev nested", run_jacrev, nested_program, &whole),
    WITH("jacrev small, blocked", run_jacrev, small_program, &blocked),
    WITH("hessian nested", run_hessian, nested_program, &whole),
    WITH("hessian nested, blocked", run_hessian, nested_program, &blocked),
    ON("pattern nested", run_pattern, nested_program),
    ON("pattern arrays", run_pattern, array_program),
    ON("pattern elementwise", run_pattern, elementwise_program),
    ON("pattern loops", run_pattern, loop_program),
    ON("pattern of loops that find their length", run_pattern, loops_program),
    ON("pattern of arrays at a point", run_pattern_at, array_program),
    ON("pattern of loops at a point", run_pattern_at, loop_program),
    ON("pattern of a Hessian", run_hessian_pattern, nested_program),
    ON("pattern of a Hessian of loops", run_hessian_pattern, loop_program),
    WITH("sparse_jacobian by columns", run_sparse_jacobian, chain_program, &by_columns),
    WITH("sparse_jacobian by rows", run_sparse_jacobian, chain_program, &by_rows),
    WITH("sparse_jacobian both ways", run_sparse_jacobian, chain_program, &both_ways),
    WITH("sparse_hessian", run_sparse_hessian, energy_program, &by_stars),
    WITH("sparse_hessian, substituted", run_sparse_hessian, energy_program, &by_trees),
    ON("sparse_jacobian, pattern given", run_given_pattern, chain_program),
    ON("color", run_colors, chain_program),
    ON("gauss_newton_product", run_gauss_newton, chain_program),
    ON("lagrangian", run_lagrangian, energy_program),
    ON("vmap nested", run_vmap, nested_program),
    ON("vmap elementwise", run_vmap, elementwise_program),
    ON("vmap arrays", run_vmap, array_program),
    WITH("vmap small, other axes", run_vmap, small_program, axes),
    ON("vmap linear", run_vmap, nested_linear),
    FROM("compile nested", runnable, run_compile, nested_program),
    FROM("compile elementwise", runnable, run_compile, elementwise_program),
    FROM("compile arrays", runnable, run_compile, array_program),
    FROM("compile columns", runnable, run_compile, columns_program),
    FROM("compile ring", runnable, run_compile, ring_program),
    FROM("compile loops", runnable, run_compile, loops_program),
    FROM("compile loops in loops", runnable, run_compile, nest_twice_program),
    FROM("compile nested, strict_zero", runnable, run_compile_strict, nested_program),
    FROM("emit_c elementwise", runnable, run_emit, elementwise_program),
    FROM("emit_c arrays", runnable, run_emit, array_program),
    FROM("emit_c loops", runnable, run_emit, loop_program),
    FROM("emit_c schedule", runnable, run_emit, revolved_program),
    FROM("emit_c loops that find their length", runnable, run_emit, loops_program),
    ON("emit_c of arrays as long as loops", run_emit, lengths_program),
    FROM("compile nested, native", runnable, run_compile_native, nested_program),
    FROM("compile arrays, native", runnable, run_compile_native, array_program),
    FROM("compile columns, native", runnable, run_compile_native, columns_program),
    FROM("compile loops, native", runnable, run_compile_native, loops_program),
    FROM("compile schedule, native", runnable, run_compile_native, revolved_program),
    ON("lint nested", run_lint, nested_program),
    ON("lint elementwise", run_lint, elementwise_program),
    ON("compile with strides", run_compile_strides, small_program),
    WITH("vjp of offloading", run_vjp, spilling_program, &offloading),
    FROM("compile with a spill file", runnable, run_compile_spilling, spilling_program),
    FROM("work_new", compiled, run_work_new, nested_program),
    FROM("profile nested", called, run_profile, nested_program),
    ON("advise chain", run_advise, energy_program),
    ON("advise loops", run_advise, advised_program),
    FROM("profile arrays", called, run_profile, array_program),
    FROM("work_new with a spill file", compiled_spilling, run_work_new, spilling_program),
    {.name = "call with a spill file",
     .prepare = compiled_spilling,
     .run = run_call,
     .program = spilling_program,
     .keeps = true},
    {.name = "call_in with a spill file",
     .prepare = with_spilling_work,
     .run = run_call_in,
     .program = spilling_program,
     .silent = true},
    {.name = "call", .prepare = compiled, .run = run_call, .program = nested_program, .keeps = true},
    {.name = "call again", .prepare = called, .run = run_call, .program = nested_program, .silent = true},
    {.name = "call_in", .prepare = with_work, .run = run_call_in, .program = nested_program, .silent = true},
    {.name = "trace ranks", .run = run_trace, .program = ranks_program},
    ON("jvp ranks", run_jvp, ranks_program),
    ON("vjp ranks", run_vjp, ranks_program),
    ON("hvp ranks", run_hvp, ranks_program),
    ON("vmap ranks", run_vmap, ranks_program),
    {.name = "threads_comm", .run = run_threads},
    FROM("check_grads nested", runnable, run_check_grads, nested_program),
    FROM("check_grads f32", runnable, run_check_grads, single_program),
    FROM("check_grads f32 external", runnable, run_check_grads, external_single_program),
    {0}};
