/* Implicit stages: z_i = h g f(t_i, w + z_i), one after the other (ESDIRK), by Newton's method with one matrix a step.
 * The iteration is never differentiated: a custom_root around what it found brings the implicit function theorem. */
#include "ode/solve.h"

/* Newton's method has done when what remains is this part of a tolerance. */
static const double enough = 0.01;
/* An adaptive step that needs more is made again, shorter; a constant one has no other chance. */
static int64_t iterations(const tn_i_ode *s) { return s->o.steps > 0 ? 100 : 10; }

/* The matrix 1 - h g df/dy at the step's beginning, factored; without derivative. */
typedef struct newton {
    tn_i_ode *s;
    const tn_i_ode_step *st;
    tn_val lu, permutation, t, gh; /* the stage's time; h g */
    tn_val divisor;                /* h g, but 1 for a step of no length, whose z are 0 */
    tn_val *w;                     /* [n]: the stage's state without z_i */
    tn_val *scale;                 /* [n]: what errors are compared with */
    tn_val *found;                 /* [n]: the solution */
    tn_ode_problem still;          /* with parameters that have no derivative */
} newton;

/* ---- all arrays as one vector ---------------------------------------------------------------------- */

tn_val tn_i_ode_joined(tn_i_ode *s, const tn_val *y) {
    tn_val *flat = tn_i_ode_values(s, s->n);
    if (!flat) return y[0];
    for (size_t j = 0; j < s->n; j++) flat[j] = tn_ravel_at(y[j], s->file, s->line);
    return tn_concatenate_at(tn_vals_of(s->n, flat), 0, s->file, s->line);
}

void tn_i_ode_apart(tn_i_ode *s, tn_val v, tn_val *y) {
    int64_t at = 0;
    for (size_t j = 0; j < s->n; j++) {
        const tn_type t = tn_val_type(s->p->y0[j]);
        const int64_t size = tn_size(s->p->y0[j]);
        const tn_val part = tn_slice_axis_at(v, at, at + size, 1, 0, s->file, s->line);
        y[j] = tn_reshape_at(part, tn_ints_of(t.rank > 0 ? (size_t)t.rank : 0, t.dim), s->file, s->line);
        at += size;
    }
}

/* ---- the matrix --------------------------------------------------------------------------------------- */

/* t, y (as a vector), params.. -> f (as a vector): a program of its own. */
static tn_val flat_field(const tn_val *in, void *user) {
    tn_i_ode outer = *(const tn_i_ode *)user, *s = &outer;
    tn_ode_problem p = *s->p;
    tn_val f = in[1];
    tn_i_arena_init(&s->arena, s->c);
    tn_val *y = tn_i_ode_values(s, s->n), *dy = tn_i_ode_values(s, s->n);
    if (y && dy) {
        tn_i_ode_apart(s, in[1], y);
        p.params = in + 2;
        s->p = &p;
        tn_i_ode_field(s, in[0], y, dy);
        f = tn_i_ode_joined(s, dy);
    }
    tn_i_arena_free(&s->arena);
    return f;
}

tn_val tn_i_ode_jacobian(tn_i_ode *s, tn_val t, const tn_val *y, const tn_val *params) {
    const size_t n = 2 + s->p->nparams;
    tn_val *in = tn_i_ode_values(s, n), j = t;
    tn_type *type = in ? tn_i_arena_alloc(&s->arena, n * sizeof *type) : NULL;
    if (!type) {
        tn_i_ode_fail(s, TN_ENOMEM, "%s", tn_status_text(TN_ENOMEM));
        return j;
    }
    in[0] = STOP(t);
    in[1] = STOP(tn_i_ode_joined(s, y));
    tn_i_ode_same_on_ranks(s, in[1], "the state", ": implicit solvers and steady states want it the same on all ranks");
    if (s->failed) return j;
    for (size_t i = 2; i < n; i++) in[i] = params[i - 2];
    for (size_t i = 0; i < n; i++) {
        type[i] = tn_val_type(in[i]);
        if (!tn_i_type_valid(&type[i])) return j; /* poison: the trace has failed */
    }
    tn_fn *f = tn_trace_at(s->c, flat_field, s, n, type, s->file, s->line), *jf = tn_jacfwd(f, tn_wrt(1), 0);
    if (jf)
        j = tn_apply_at(jf, n, in, s->file, s->line);
    else
        tn_i_ode_fail(s, tn_last_status(s->c), "in the field's Jacobian: %s", tn_error(s->c));
    tn_fn_free(jf);
    tn_fn_free(f);
    return j;
}

static bool newton_new(tn_i_ode *s, const tn_i_ode_step *st, newton *q) {
    *q = (newton){.s = s, .st = st, .w = tn_i_ode_values(s, s->n), .scale = tn_i_ode_values(s, s->n)};
    q->found = tn_i_ode_values(s, s->n);
    tn_val *params = tn_i_ode_values(s, s->p->nparams);
    if (!q->w || !q->scale || !q->found || !params) return false;
    for (size_t i = 0; i < s->p->nparams; i++) params[i] = STOP(s->p->params[i]);
    q->still = *s->p;
    q->still.params = params;
    const tn_dtype dtype = (tn_dtype)tn_val_type(st->y[0]).dtype;
    const int64_t m = (int64_t)s->elements;
    q->gh = MUL(st->h, s->m->diagonal);
    q->divisor = WHERE(EQ(q->gh, 0.0), 1.0, q->gh);
    for (size_t j = 0; j < s->n; j++) q->scale[j] = STOP(st->y[j]);
    const tn_val j = tn_i_ode_jacobian(s, st->t, st->y, params), one = tn_eye_at(s->c, dtype, m, m, s->file, s->line);
    if (s->failed) return false;
    const tn_val matrix = SUB(one, MUL(CONVERT(STOP(q->gh), dtype), j));
    tn_lu_at(matrix, &q->lu, NULL, &q->permutation, s->file, s->line);
    return true;
}

/* ---- the iteration -------------------------------------------------------------------------------------- */

/* r = z - h g f(t, w + z) */
static void remainder_of(tn_i_ode *s, tn_val t, tn_val gh, const tn_val *w, const tn_val *z, tn_val *r) {
    for (size_t j = 0; j < s->n; j++) r[j] = ADD(w[j], z[j]);
    tn_val *f = tn_i_ode_values(s, s->n);
    if (!f) return;
    tn_i_ode_field(s, t, r, f);
    for (size_t j = 0; j < s->n; j++) r[j] = SUB(z[j], MUL(tn_i_ode_like(s, gh, z[j]), f[j]));
}

/* The carry: iterations, the last change's norm, whether it is small enough, z [n]. */
enum { COUNT, NORM, DONE, Z };

static tn_val not_done(const tn_val *in, void *user) {
    const newton *q = user;
    tn_i_ode *s = q->s;
    return AND(AND(NOT(in[DONE]), LT(in[COUNT], iterations(s))), FINITE(in[NORM]));
}

static void iterate(const tn_val *in, tn_val *out, void *user) {
    const newton *q = user;
    tn_i_ode *s = q->s;
    const tn_ode_problem *p = s->p;
    tn_val *r = tn_i_ode_values(s, s->n), *d = tn_i_ode_values(s, s->n), *w = tn_i_ode_values(s, s->n);
    if (!r || !d || !w) return;
    for (size_t j = 0; j < s->n; j++) w[j] = STOP(q->w[j]);
    s->p = &q->still;
    remainder_of(s, STOP(q->t), STOP(q->gh), w, in + Z, r);
    s->p = p;
    const tn_val step = tn_lu_solve_at(q->lu, q->permutation, tn_i_ode_joined(s, r), 0, s->file, s->line);
    tn_i_ode_apart(s, step, d);
    const tn_val norm = tn_i_ode_norm(s, d, q->scale, q->scale), rate = DIV(norm, in[NORM]);
    /* What geometric convergence at this rate leaves; the first change has no rate. */
    const tn_val left = MUL(norm, DIV(rate, SUB(1.0, rate)));
    const tn_val geometric = AND(AND(LT(0, in[COUNT]), LT(rate, 1.0)), LT(left, enough));
    out[COUNT] = ADD(in[COUNT], 1);
    out[NORM] = norm;
    out[DONE] = OR(geometric, LE(norm, 1e-3 * enough));
    for (size_t j = 0; j < s->n; j++) out[Z + j] = SUB(in[Z + j], d[j]);
}

/* z, without derivative, from a first guess in z; zeros where it was not found.  Returns whether it was (bool). */
static tn_val found(newton *q, tn_val *z) {
    tn_i_ode *s = q->s;
    tn_val *carry = tn_i_ode_values(s, Z + s->n);
    if (!carry) return q->t;
    carry[COUNT] = SCALAR(tn_i64(), 0);
    carry[NORM] = SCALAR(tn_f64(), 1.0);
    carry[DONE] = tn_constant_at(s->c, tn_bool(), &(uint8_t){0}, s->file, s->line);
    for (size_t j = 0; j < s->n; j++) carry[Z + j] = STOP(z[j]);
    tn_i_ode_while(s, not_done, iterate, q, Z + s->n, carry, false);
    for (size_t j = 0; j < s->n; j++) z[j] = STOP(WHERE(carry[DONE], carry[Z + j], 0.0));
    return carry[DONE];
}

/* ---- a root with a derivative ------------------------------------------------------------------------------ */

static void stage_equation(const tn_val *in, tn_val *out, void *user) {
    const newton *q = user;
    remainder_of(q->s, q->t, q->gh, q->w, in, out);
}

static void stage_solution(const tn_val *in, tn_val *out, void *user) {
    const newton *q = user;
    (void)in;
    for (size_t j = 0; j < q->s->n; j++) out[j] = q->found[j];
}

/* Stage i: k_i and, in st->z, the stage's state. */
static void solve_stage(newton *q, tn_i_ode_step *st, size_t i) {
    tn_i_ode *s = q->s;
    tn_val *z = tn_i_ode_values(s, s->n);
    if (!z) return;
    for (size_t j = 0; j < s->n; j++) z[j] = MUL(tn_i_ode_like(s, q->gh, st->y[j]), st->k[(i - 1) * s->n + j]);
    const tn_val ok = found(q, z);
    st->converged = i > 1 ? AND(st->converged, ok) : ok;
    for (size_t j = 0; j < s->n; j++) q->found[j] = z[j];
    if (s->failed) return;
    tn_custom_root_many_at(stage_equation, stage_solution, NULL, q, s->n, z, 0, NULL, z, NULL, s->file, s->line);
    for (size_t j = 0; j < s->n; j++) {
        st->k[i * s->n + j] = DIV(z[j], tn_i_ode_like(s, q->divisor, z[j]));
        st->z[j] = ADD(q->w[j], z[j]);
    }
}

void tn_i_ode_step_implicit(tn_i_ode *s, tn_i_ode_step *st) {
    newton q;
    double a[16];
    if (!newton_new(s, st, &q)) return;
    for (size_t i = 1; i < s->m->stages && !s->failed; i++) {
        for (size_t j = 0; j < s->m->stages; j++) a[j] = j < i ? tn_i_tableau_a(s->m, i, j) : 0;
        q.t = tn_i_ode_stage_time(s, st, s->m->c[i]);
        tn_i_ode_moved(s, st, a, q.w);
        solve_stage(&q, st, i);
    }
}
