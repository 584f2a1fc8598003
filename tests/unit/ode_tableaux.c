/* The Runge-Kutta tables: order conditions of every rooted tree, of y1, of the embedded solution and of the dense
 * output; row sums, ends of the dense output, stiff accuracy. */
#include "ode/tableaux.h"

#include <stdarg.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#define MAX_ORDER  9
#define MAX_STAGES 14

/* A rooted tree by the levels of its vertices in depth-first order: 0, 1, 2, 2, 1 .. */
typedef struct tree {
    int n, level[MAX_ORDER];
} tree;

/* The next one of n vertices (T. Beyer, S. M. Hedetniemi, SIAM J. Comput. 9, 1980), from the path to the star. */
static bool next_tree(tree *t) {
    int p = t->n - 1;
    while (p > 0 && t->level[p] == 1) p--;
    if (p <= 0) return false;
    int q = p - 1;
    while (t->level[q] != t->level[p] - 1) q--;
    for (int i = p; i < t->n; i++) t->level[i] = t->level[i - (p - q)];
    return true;
}

static tree first_tree(int n) {
    tree t = {.n = n};
    for (int i = 0; i < n; i++) t.level[i] = i;
    return t;
}

/* One past the subtree at vertex v. */
static int subtree_end(const tree *t, int v) {
    int e = v + 1;
    while (e < t->n && t->level[e] > t->level[v]) e++;
    return e;
}

/* Product of the sizes of all subtrees: 1 over the weight that an exact solution has. */
static double density(const tree *t) {
    double g = 1;
    for (int v = 0; v < t->n; v++) g *= subtree_end(t, v) - v;
    return g;
}

static double coefficient(const tn_i_tableau *m, size_t i, size_t j) {
    if (j < i) return tn_i_tableau_a(m, i, j);
    return j == i && i ? m->diagonal : 0;
}

/* w_i = product over the children of v of sum_j a_ij w_j(child). */
static void stage_weights(const tn_i_tableau *m, const tree *t, int v, double *w) {
    for (size_t i = 0; i < m->stages; i++) w[i] = 1;
    for (int u = v + 1, end = subtree_end(t, v); u < end; u = subtree_end(t, u)) {
        double below[MAX_STAGES];
        stage_weights(m, t, u, below);
        for (size_t i = 0; i < m->stages; i++) {
            double s = 0;
            for (size_t j = 0; j <= i; j++) s += coefficient(m, i, j) * below[j];
            w[i] *= s;
        }
    }
}

/* The largest defect |gamma sum_i b_i w_i - theta^n| over the trees of n vertices. */
static double defect(const tn_i_tableau *m, const double *b, double theta, int n, int *count) {
    double worst = 0;
    tree t = first_tree(n);
    do {
        double w[MAX_STAGES], s = 0;
        stage_weights(m, &t, 0, w);
        for (size_t i = 0; i < m->stages; i++) s += b[i] * w[i];
        worst = fmax(worst, fabs(density(&t) * s - pow(theta, n)));
        if (count) ++*count;
    } while (next_tree(&t));
    return worst;
}

/* Holds up to `order`, and at no more: a table that is better than it says is mistaken for another. */
static void has_order(const tn_i_tableau *m, const double *b, double theta, int order, const char *what) {
    for (int n = 1; n <= order; n++) {
        double d = defect(m, b, theta, n, NULL);
        if (!(d < 1e-12)) fail_msg("%s, %s: order %d at %g: %g", m->name, what, n, theta, d);
    }
    if (order < MAX_ORDER && !(defect(m, b, theta, order + 1, NULL) > 1e-6))
        fail_msg("%s, %s: higher than order %d at %g", m->name, what, order, theta);
}

static void every_tree_is_made_once(void **state) {
    (void)state;
    static const int count[] = {0, 1, 1, 2, 4, 9, 20, 48, 115, 286}; /* OEIS A000081 */
    const tn_i_tableau *euler = tn_i_tableau_find("Euler");
    for (int n = 1; n <= MAX_ORDER; n++) {
        int seen = 0;
        (void)defect(euler, euler->b, 1, n, &seen);
        assert_int_equal(seen, count[n]);
    }
}

static void solutions_have_their_order(void **state) {
    (void)state;
    for (size_t k = 0; tn_i_tableau_at(k); k++) {
        const tn_i_tableau *m = tn_i_tableau_at(k);
        assert_true(m->stages <= MAX_STAGES);
        has_order(m, m->b, 1, m->order, "solution");
    }
}

static void estimates_have_their_order(void **state) {
    (void)state;
    for (size_t k = 0; tn_i_tableau_at(k); k++) {
        const tn_i_tableau *m = tn_i_tableau_at(k);
        assert_true((m->e == NULL) == (m->embedded_order == 0));
        if (!m->e) continue;
        double embedded[MAX_STAGES];
        for (size_t i = 0; i < m->stages; i++) embedded[i] = m->b[i] - m->e[i];
        has_order(m, embedded, 1, m->embedded_order, "embedded");
    }
}

static void weights_at(const tn_i_tableau *m, double theta, double *b) {
    for (size_t i = 0; i < m->stages; i++) {
        b[i] = 0;
        for (size_t j = m->degree; j-- > 0;) b[i] = (b[i] + m->dense[i * m->degree + j]) * theta;
    }
}

static void dense_output_has_its_order(void **state) {
    (void)state;
    static const double theta[] = {0.125, 0.3, 0.5, 0.77, 0.9};
    for (size_t k = 0; tn_i_tableau_at(k); k++)
        for (size_t p = 0; p < sizeof theta / sizeof *theta; p++) {
            const tn_i_tableau *m = tn_i_tableau_at(k);
            double b[MAX_STAGES];
            weights_at(m, theta[p], b);
            has_order(m, b, theta[p], m->dense_order, "dense");
        }
}

/* y(t + theta h) ends in y1; where the last stage is the next step's first, its derivative is continuous as well. */
static void dense_output_meets_the_next_step(void **state) {
    (void)state;
    for (size_t k = 0; tn_i_tableau_at(k); k++) {
        const tn_i_tableau *m = tn_i_tableau_at(k);
        double b[MAX_STAGES];
        weights_at(m, 1, b);
        for (size_t i = 0; i < m->stages; i++) {
            double slope = 0, size = 1; /* of the terms, which cancel */
            for (size_t j = 0; j < m->degree; j++) {
                double term = (double)(j + 1) * m->dense[i * m->degree + j];
                slope += term;
                size += fabs(term);
            }
            if (!(fabs(b[i] - m->b[i]) < 2e-14)) fail_msg("%s: b_%zu(1) = %.17g", m->name, i, b[i]);
            assert_true(m->dense[i * m->degree] == (i == 0));
            if (m->first_same_as_last && !(fabs(slope - (i + 1 == m->stages)) < 2e-15 * size))
                fail_msg("%s: b_%zu'(1) = %.17g", m->name, i, slope);
        }
    }
}

static void rows_and_flags_agree(void **state) {
    (void)state;
    for (size_t k = 0; tn_i_tableau_at(k); k++) {
        const tn_i_tableau *m = tn_i_tableau_at(k);
        size_t last = m->stages - 1;
        bool same = last > 0;
        for (size_t i = 0; i < m->stages; i++) {
            double sum = 0;
            for (size_t j = 0; j <= i; j++) sum += coefficient(m, i, j);
            if (!(fabs(sum - m->c[i]) < 4e-15)) fail_msg("%s: row %zu sums to %.17g", m->name, i, sum);
            same = same && coefficient(m, last, i) == m->b[i];
        }
        assert_true(m->first_same_as_last == (same && m->c[last] == 1));
        assert_ptr_equal(tn_i_tableau_find(m->name), m);
    }
    assert_null(tn_i_tableau_find("tsit5"));
    assert_null(tn_i_tableau_find(NULL));
}

/* R(z) = det(1 - z A + z 1 b') / det(1 - z A), here by the stages of y' = z y. */
static double stability(const tn_i_tableau *m, double z) {
    double k[MAX_STAGES], y = 1;
    for (size_t i = 0; i < m->stages; i++) {
        double s = 1;
        for (size_t j = 0; j < i; j++) s += coefficient(m, i, j) * k[j];
        k[i] = z * s / (1 - (i ? m->diagonal : 0) * z);
        y += m->b[i] * k[i];
    }
    return y;
}

static void implicit_methods_damp_stiffness(void **state) {
    (void)state;
    static const char *const name[] = {"Kvaerno3", "Kvaerno5"};
    for (int k = 0; k < 2; k++) {
        const tn_i_tableau *m = tn_i_tableau_find(name[k]);
        double before = 1;
        for (double z = -1; z > -1e7; z *= 10) assert_true(fabs(stability(m, z)) < 1);
        for (double z = -1e3; z > -1e7; z *= 10) {
            assert_true(fabs(stability(m, z)) < 0.2 * before);
            before = fabs(stability(m, z));
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_tree_is_made_once),          cmocka_unit_test(solutions_have_their_order),
        cmocka_unit_test(estimates_have_their_order),       cmocka_unit_test(dense_output_has_its_order),
        cmocka_unit_test(dense_output_meets_the_next_step), cmocka_unit_test(rows_and_flags_agree),
        cmocka_unit_test(implicit_methods_damp_stiffness),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
