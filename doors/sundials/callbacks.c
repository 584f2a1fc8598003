/* What solvers call.  Their types are SUNDIALS's; vectors that a callback has no use for are not looked at. */
#include "system.h"

#include <string.h>

/* The system of a user_data, which has `which`; NULL, with the message: it has not. */
static tn_sundials *asked(void *user, tn_sundials_kind kind, int which, const char *what) {
    tn_sundials *s = user;
    if (!s || s->refused) return NULL;
    if (s->kind == kind && s->p[which].exec) return s;
    (void)tn_sundials_i_fail(s, TN_EINVAL, "the system was made without %s", what);
    return NULL;
}

/* ---- one run each --------------------------------------------------------------------------- */

/* A program of (t, y, .. | v) into r; v NULL: of (t, y). */
static int along(tn_sundials *s, int which, double t, N_Vector y, N_Vector v, N_Vector r) {
    const double *state = tn_sundials_i_elements(s, "the state", y, s->n);
    const double *vector = v ? tn_sundials_i_elements(s, "the vector", v, s->n) : NULL;
    double *out = tn_sundials_i_elements(s, "the result", r, s->p[which].count);
    if (!state || !out || (v && !vector)) return -1;
    s->t = t;
    return tn_sundials_i_run(s, which, (const void *[]){&s->t, state}, (const void *[]){vector}, out);
}

/* The Jacobian's values, of a program of these leading inputs, to be written to m. */
static int jacobian(tn_sundials *s, const void *const *lead, SUNMatrix m, bool transposed) {
    if (!tn_sundials_i_fits(s, m, transposed)) return -1;
    const int answer = tn_sundials_i_run(s, PROGRAM_JACOBIAN, lead, (const void *[]){s->zero}, s->value);
    if (answer == 0) tn_sundials_i_fill(s, m, transposed, transposed ? -1 : 1);
    return answer;
}

static int ode_jacobian(void *user, double t, N_Vector y, SUNMatrix m, bool transposed) {
    tn_sundials *s = asked(user, TN_SUNDIALS_ODE, PROGRAM_JACOBIAN, "an ODE's Jacobian: TN_SUNDIALS_JACOBIAN");
    const double *state = s ? tn_sundials_i_elements(s, "the state", y, s->n) : NULL;
    if (!state) return -1;
    s->t = t;
    return jacobian(s, (const void *[]){&s->t, state}, m, transposed);
}

/* ---- CVODE, CVODES, ARKODE -------------------------------------------------------------------- */

int tn_sundials_rhs(double t, N_Vector y, N_Vector ydot, void *user_data) {
    tn_sundials *s = asked(user_data, TN_SUNDIALS_ODE, PROGRAM_F, "an ODE");
    return s ? along(s, PROGRAM_F, t, y, NULL, ydot) : -1;
}

int tn_sundials_rhs_explicit(double t, N_Vector y, N_Vector ydot, void *user_data) {
    tn_sundials *s = asked(user_data, TN_SUNDIALS_ODE, PROGRAM_EXPLICIT, "an explicit part");
    return s ? along(s, PROGRAM_EXPLICIT, t, y, NULL, ydot) : -1;
}

int tn_sundials_quad(double t, N_Vector y, N_Vector qdot, void *user_data) {
    tn_sundials *s = asked(user_data, TN_SUNDIALS_ODE, PROGRAM_QUAD, "g");
    return s ? along(s, PROGRAM_QUAD, t, y, NULL, qdot) : -1;
}

int tn_sundials_jac(double t, N_Vector y, N_Vector fy, SUNMatrix j, void *user_data, N_Vector tmp1, N_Vector tmp2,
                    N_Vector tmp3) {
    (void)fy, (void)tmp1, (void)tmp2, (void)tmp3;
    return ode_jacobian(user_data, t, y, j, false);
}

int tn_sundials_jtimes(N_Vector v, N_Vector jv, double t, N_Vector y, N_Vector fy, void *user_data, N_Vector tmp) {
    (void)fy, (void)tmp;
    tn_sundials *s = asked(user_data, TN_SUNDIALS_ODE, PROGRAM_TIMES, "an ODE's products: TN_SUNDIALS_TIMES");
    return s ? along(s, PROGRAM_TIMES, t, y, v, jv) : -1;
}

int tn_sundials_sens(int ns, double t, N_Vector y, N_Vector ydot, int i, N_Vector sensitivity, N_Vector sdot,
                     void *user_data, N_Vector tmp1, N_Vector tmp2) {
    (void)ns, (void)ydot, (void)tmp1, (void)tmp2;
    tn_sundials *s = asked(user_data, TN_SUNDIALS_ODE, PROGRAM_SENS, "sensitivities: TN_SUNDIALS_SENSITIVITIES");
    if (!s) return -1;
    const double *state = tn_sundials_i_elements(s, "the state", y, s->n);
    double *out = tn_sundials_i_elements(s, "the result", sdot, s->n);
    s->tangent[0] = tn_sundials_i_elements(s, "the sensitivity", sensitivity, s->n);
    if (!state || !out || !s->tangent[0]) return -1;
    s->t = t;
    if (i < s->np) s->unit[i] = 1;
    const int answer = tn_sundials_i_run(s, PROGRAM_SENS, (const void *[]){&s->t, state}, s->tangent, out);
    if (i < s->np) s->unit[i] = 0;
    return answer;
}

/* The elements of each vector into `all`, or out of it. */
static bool rows(tn_sundials *s, const char *what, N_Vector *v, double *all, bool out) {
    for (size_t i = 0; i < s->at_once; i++) {
        const size_t n = (size_t)s->n;
        double *x = tn_sundials_i_elements(s, what, v[i], s->n), *row = all + i * n;
        if (!x) return false;
        if (out)
            memcpy(x, row, n * sizeof *x);
        else
            memcpy(row, x, n * sizeof *x);
    }
    return true;
}

int tn_sundials_sens_all(int ns, double t, N_Vector y, N_Vector ydot, N_Vector *sensitivities, N_Vector *sdot,
                         void *user_data, N_Vector tmp1, N_Vector tmp2) {
    (void)ydot, (void)tmp1, (void)tmp2;
    tn_sundials *s = asked(user_data, TN_SUNDIALS_ODE, PROGRAM_SENS_ALL, "sensitivities at once: options.at_once");
    const double *state = s ? tn_sundials_i_elements(s, "the state", y, s->n) : NULL;
    if (!state) return -1;
    if (ns < 0 || (size_t)ns != s->at_once) {
        (void)tn_sundials_i_fail(s, TN_EINVAL, "%d sensitivities, where at_once is %zu", ns, s->at_once);
        return -1;
    }
    if (!rows(s, "the sensitivity", sensitivities, s->all, false)) return -1;
    s->t = t;
    const int answer = tn_sundials_i_run(s, PROGRAM_SENS_ALL, (const void *[]){&s->t, state}, s->tangents, s->all_dot);
    if (answer) return answer;
    return rows(s, "the result", sdot, s->all_dot, true) ? 0 : -1;
}

static const char adjoint[] = "the backward problem: TN_SUNDIALS_ADJOINT";

int tn_sundials_rhs_b(double t, N_Vector y, N_Vector lambda, N_Vector lambdadot, void *user_data) {
    tn_sundials *s = asked(user_data, TN_SUNDIALS_ODE, PROGRAM_RHS_B, adjoint);
    return s ? along(s, PROGRAM_RHS_B, t, y, lambda, lambdadot) : -1;
}

int tn_sundials_jac_b(double t, N_Vector y, N_Vector lambda, N_Vector f, SUNMatrix j, void *user_data, N_Vector tmp1,
                      N_Vector tmp2, N_Vector tmp3) {
    (void)lambda, (void)f, (void)tmp1, (void)tmp2, (void)tmp3;
    return ode_jacobian(user_data, t, y, j, true);
}

int tn_sundials_jtimes_b(N_Vector v, N_Vector jv, double t, N_Vector y, N_Vector lambda, N_Vector f, void *user_data,
                         N_Vector tmp) {
    (void)lambda, (void)f, (void)tmp;
    tn_sundials *s = asked(user_data, TN_SUNDIALS_ODE, PROGRAM_TIMES_B, adjoint);
    return s ? along(s, PROGRAM_TIMES_B, t, y, v, jv) : -1;
}

int tn_sundials_quad_b(double t, N_Vector y, N_Vector lambda, N_Vector qdot, void *user_data) {
    tn_sundials *s = asked(user_data, TN_SUNDIALS_ODE, PROGRAM_QUAD_B, "parameters to differentiate, or the adjoint");
    return s ? along(s, PROGRAM_QUAD_B, t, y, lambda, qdot) : -1;
}

/* ---- IDA, IDAS ----------------------------------------------------------------------------------- */

/* The point of a DAE's derivatives: (t, y, y', c). */
static bool point(tn_sundials *s, double t, double c, N_Vector y, N_Vector yp, const void *lead[4]) {
    s->t = t;
    s->c = c;
    lead[0] = &s->t;
    lead[1] = tn_sundials_i_elements(s, "the state", y, s->n);
    lead[2] = tn_sundials_i_elements(s, "its derivative", yp, s->n);
    lead[3] = &s->c;
    return lead[1] && lead[2];
}

int tn_sundials_residual(double t, N_Vector y, N_Vector yp, N_Vector r, void *user_data) {
    const void *lead[4];
    tn_sundials *s = asked(user_data, TN_SUNDIALS_DAE, PROGRAM_F, "a DAE");
    double *out = s ? tn_sundials_i_elements(s, "the residual", r, s->n) : NULL;
    return out && point(s, t, 0, y, yp, lead) ? tn_sundials_i_run(s, PROGRAM_F, lead, NULL, out) : -1;
}

int tn_sundials_residual_jac(double t, double c, N_Vector y, N_Vector yp, N_Vector r, SUNMatrix j, void *user_data,
                             N_Vector tmp1, N_Vector tmp2, N_Vector tmp3) {
    (void)r, (void)tmp1, (void)tmp2, (void)tmp3;
    const void *lead[4];
    tn_sundials *s = asked(user_data, TN_SUNDIALS_DAE, PROGRAM_JACOBIAN, "a DAE's Jacobian: TN_SUNDIALS_JACOBIAN");
    return s && point(s, t, c, y, yp, lead) ? jacobian(s, lead, j, false) : -1;
}

int tn_sundials_residual_jtimes(double t, N_Vector y, N_Vector yp, N_Vector r, N_Vector v, N_Vector jv, double c,
                                void *user_data, N_Vector tmp1, N_Vector tmp2) {
    (void)r, (void)tmp1, (void)tmp2;
    const void *lead[4];
    tn_sundials *s = asked(user_data, TN_SUNDIALS_DAE, PROGRAM_TIMES, "a DAE's products: TN_SUNDIALS_TIMES");
    if (!s || !point(s, t, c, y, yp, lead)) return -1;
    const double *x = tn_sundials_i_elements(s, "the vector", v, s->n);
    double *out = tn_sundials_i_elements(s, "the result", jv, s->n);
    return x && out ? tn_sundials_i_run(s, PROGRAM_TIMES, lead, (const void *[]){s->zero, x}, out) : -1;
}

/* ---- KINSOL ------------------------------------------------------------------------------------------ */

int tn_sundials_roots(N_Vector u, N_Vector r, void *user_data) {
    tn_sundials *s = asked(user_data, TN_SUNDIALS_ROOTS, PROGRAM_F, "roots");
    if (!s) return -1;
    const double *x = tn_sundials_i_elements(s, "the unknowns", u, s->n);
    double *out = tn_sundials_i_elements(s, "the residual", r, s->n);
    return x && out ? tn_sundials_i_run(s, PROGRAM_F, (const void *[]){x}, NULL, out) : -1;
}

int tn_sundials_roots_jac(N_Vector u, N_Vector r, SUNMatrix j, void *user_data, N_Vector tmp1, N_Vector tmp2) {
    (void)r, (void)tmp1, (void)tmp2;
    tn_sundials *s = asked(user_data, TN_SUNDIALS_ROOTS, PROGRAM_JACOBIAN, "roots' Jacobian: TN_SUNDIALS_JACOBIAN");
    const double *x = s ? tn_sundials_i_elements(s, "the unknowns", u, s->n) : NULL;
    return x ? jacobian(s, (const void *[]){x}, j, false) : -1;
}

int tn_sundials_roots_jtimes(N_Vector v, N_Vector jv, N_Vector u, int *new_u, void *user_data) {
    (void)new_u;
    tn_sundials *s = asked(user_data, TN_SUNDIALS_ROOTS, PROGRAM_TIMES, "roots' products: TN_SUNDIALS_TIMES");
    if (!s) return -1;
    const double *x = tn_sundials_i_elements(s, "the unknowns", u, s->n);
    const double *w = tn_sundials_i_elements(s, "the vector", v, s->n);
    double *out = tn_sundials_i_elements(s, "the result", jv, s->n);
    return x && w && out ? tn_sundials_i_run(s, PROGRAM_TIMES, (const void *[]){x}, (const void *[]){w}, out) : -1;
}
