/* Chains of links (vec/chain.h) against the same operations one number at a time, bit for bit, on all instruction sets
 * that this processor has: every link by itself, and random chains with slots, sums, and a last block that is not
 * whole. */
#include "vec/chain.h"
#include "vec/vec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

enum { BLOCKS = 3, MOST = (BLOCKS + 1) * TN_CHAIN_BLOCK / 4, VALUES = 4, SLOTS = 3, LENGTH = 40 };

/* Doubles hold both; f says that numbers are floats, and each operation is rounded as one. */
typedef struct machine {
    const tn_i_chain_set *set;
    bool f;
    tn_i_rng rng;
    int64_t n; /* elements */
    _Alignas(64) char value[VALUES][MOST * 8], slot[SLOTS][TN_CHAIN_BLOCK], result[MOST * 8], lane[TN_LANES * 8];
    char one[8];
    double wants[MOST], kept[SLOTS][MOST], lanes[TN_LANES];
    int64_t limit;
} machine;

static double get(const machine *m, const char *at, int64_t i) {
    double d;
    float f;
    if (!m->f) return memcpy(&d, at + i * 8, 8), d;
    return memcpy(&f, at + i * 4, 4), (double)f;
}

static void put(const machine *m, char *at, int64_t i, double x) {
    const float f = (float)x;
    memcpy(at + i * (m->f ? 4 : 8), m->f ? (const void *)&f : (const void *)&x, m->f ? 4 : 8);
}

static double special(machine *m) {
    static const double x[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1e-40, 1e38, 1.0};
    return tn_i_pick(&m->rng, 0, 20) ? tn_i_uniform(&m->rng, -2, 2) : x[tn_i_pick(&m->rng, 0, 7)];
}

static double greater(double x, double y) { return x > y || x != x ? x : x < y || y != y ? y : signbit(x) ? y : x; }
static double less(double x, double y) { return x < y || x != x ? x : x > y || y != y ? y : signbit(x) ? x : y; }

/* Doubles are wide enough for one operation on floats to be rounded twice unharmed, but for fma. */
static double round_to(const machine *m, double x) { return m->f ? (double)(float)x : x; }
static double times(const machine *m, double x, double y) { return round_to(m, x * y); }
static double contract(const machine *m, double x, double y, double z) {
    return m->f ? (double)fmaf((float)x, (float)y, (float)z) : fma(x, y, z);
}

static double plain(const machine *m, int op, double a, double x, double y) {
    switch (op) {
    case TN_LINK_LOAD: return x;
    case TN_LINK_NEG: return -a;
    case TN_LINK_ABS: return fabs(a);
    case TN_LINK_SQRT: return round_to(m, sqrt(a));
    case TN_LINK_TWICE: return round_to(m, a + a);
    case TN_LINK_SQUARE: return times(m, a, a);
    case TN_LINK_CUBE: return times(m, a, times(m, a, a));
    case TN_LINK_FOURTH: return times(m, times(m, a, a), times(m, a, a));
    case TN_LINK_INVERSE: return round_to(m, 1 / a);
    case TN_LINK_ADD: return round_to(m, a + x);
    case TN_LINK_SUB: return round_to(m, a - x);
    case TN_LINK_RSUB: return round_to(m, x - a);
    case TN_LINK_MUL: return times(m, a, x);
    case TN_LINK_DIV: return round_to(m, a / x);
    case TN_LINK_RDIV: return round_to(m, x / a);
    case TN_LINK_MAX: return greater(a, x);
    case TN_LINK_RMAX: return greater(x, a);
    case TN_LINK_MIN: return less(a, x);
    case TN_LINK_RMIN: return less(x, a);
    case TN_LINK_SUM: return round_to(m, x + y);
    case TN_LINK_DIFFERENCE: return round_to(m, x - y);
    case TN_LINK_PRODUCT: return times(m, x, y);
    case TN_LINK_SQUARE_ADD: return contract(m, a, a, x);
    case TN_LINK_SQUARE_SUB: return contract(m, a, a, -x);
    case TN_LINK_SQUARE_RSUB: return contract(m, -a, a, x);
    case TN_LINK_FMA: return contract(m, a, x, y);
    case TN_LINK_FMS: return contract(m, a, x, -y);
    case TN_LINK_FNMA: return contract(m, -a, x, y);
    case TN_LINK_FMA_TO: return contract(m, x, y, a);
    case TN_LINK_FMS_TO: return contract(m, x, y, -a);
    case TN_LINK_FNMA_TO: return contract(m, -x, y, a);
    default: fail_msg("link %d", op); return 0;
    }
}

/* An operand: where it is for the chain, and element i of it. */
typedef struct operand {
    int from;
    const char *at;
    const double *kept;
} operand;

static operand any(machine *m, bool slots) {
    const int from = (int)tn_i_pick(&m->rng, 0, 2), v = (int)tn_i_pick(&m->rng, 0, VALUES - 1);
    if (from == TN_FROM_ONE) return (operand){from, m->one, NULL};
    if (from == TN_FROM_DENSE || !slots) return (operand){TN_FROM_DENSE, m->value[v], NULL};
    return (operand){from, m->slot[v % SLOTS], m->kept[v % SLOTS]};
}

static double element(const machine *m, const operand *o, int64_t i) {
    return o->kept ? o->kept[i] : get(m, o->at, o->from == TN_FROM_ONE ? 0 : i);
}

static void fill(machine *m, int64_t n) {
    const int64_t wide = m->set->block / (m->f ? 4 : 8);
    m->n = n;
    for (int v = 0; v < VALUES; v++)
        for (int64_t i = 0; i < n + wide; i++) put(m, m->value[v], i, special(m));
    put(m, m->one, 0, special(m));
    for (int l = 0; l < TN_LANES; l++) put(m, m->lane, l, m->lanes[l] = tn_i_pick(&m->rng, 0, 1) ? 0.0 : -0.0);
}

static void add(const machine *m, tn_i_link *l, int op, const operand *x, const operand *y) {
    void (*const fn)(void) = m->set->link[op][x ? x->from : 0][y ? y->from : 0];
    assert_true(fn != NULL);
    *l = (tn_i_link){fn, x ? x->at : NULL, y ? y->at : NULL};
}

static int operands(int op) {
    return op >= TN_LINK_FMA || (op >= TN_LINK_SUM && op <= TN_LINK_PRODUCT) ? 2
                                                                             : op >= TN_LINK_ADD || op == TN_LINK_LOAD;
}

/* An operation, in the chain and one number at a time. */
static void step(machine *m, tn_i_link *l, int op, bool slots) {
    const int n = operands(op);
    const operand x = any(m, slots), y = any(m, slots);
    add(m, l, op, n > 0 ? &x : NULL, n > 1 ? &y : NULL);
    for (int64_t i = 0; i < m->n; i++) m->wants[i] = plain(m, op, m->wants[i], element(m, &x, i), element(m, &y, i));
}

/* Whole blocks, then as much of one as there is: slots and results are of blocks. */
static void run(machine *m, tn_i_link *l) {
    const int64_t size = m->f ? 4 : 8, bytes = m->n * size;
    m->limit = bytes;
    const int64_t done = m->set->run(l, 0, bytes);
    assert_int_equal(done, bytes - bytes % m->set->block);
    if (done == bytes) return;
    for (tn_i_link *k = l; k->x; k++) { /* dense operands move on */
        for (int v = 0; v < VALUES; v++) {
            if (k->x == m->value[v]) k->x += done;
            if (k->y == m->value[v]) k->y += done;
        }
        if (k->x == m->result) k->x += done;
    }
    m->limit = bytes - done;
    assert_int_equal(m->set->run(l, 0, m->set->block), m->set->block);
}

static void same(const machine *m, const char *got, const double *want, int64_t n, const char *what, int64_t of) {
    const size_t size = m->f ? 4 : 8;
    char x[8];
    for (int64_t i = 0; i < n; i++) {
        put(m, x, 0, want[i]);
        if (memcmp(got + (size_t)i * size, x, size) == 0 || (isnan(want[i]) && isnan(get(m, got, i)))) continue;
        fail_msg("%s %lld, element %lld of %lld: %.17g, not %.17g", what, (long long)of, (long long)i, (long long)n,
                 get(m, got, i), want[i]);
    }
}

static void each_link(machine *m) {
    static const int none[] = {TN_LINK_STORE, TN_LINK_FOLD, TN_LINK_END};
    for (int op = 0; op < TN_LINKS; op++)
        for (int round = 0; round < 30; round++) {
            tn_i_link l[4];
            const operand result = {TN_FROM_DENSE, m->result, NULL};
            if (op == none[0] || op == none[1] || op == none[2]) continue;
            fill(m, 2 * m->set->block / (m->f ? 4 : 8));
            step(m, &l[0], TN_LINK_LOAD, false);
            step(m, &l[1], op, false);
            add(m, &l[2], TN_LINK_STORE, &result, NULL);
            add(m, &l[3], TN_LINK_END, NULL, NULL);
            run(m, l);
            same(m, m->result, m->wants, m->n, "link", op);
        }
}

/* Lanes in the order of exec/nest.h. */
static void fold(machine *m) {
    for (int64_t i = 0; i < m->n; i++) {
        double *l = &m->lanes[i % TN_LANES];
        *l = round_to(m, *l + m->wants[i]);
    }
}

static void random_chain(machine *m, int64_t seed) {
    static const int never[] = {TN_LINK_STORE, TN_LINK_FOLD, TN_LINK_END};
    const int64_t most = BLOCKS * m->set->block / (m->f ? 4 : 8);
    const operand result = {TN_FROM_DENSE, m->result, NULL};
    tn_i_link l[2 * LENGTH + 8];
    int n = 0, stored = 0;
    fill(m, tn_i_pick(&m->rng, 1, most));
    step(m, &l[n++], TN_LINK_LOAD, false);
    for (int64_t k = tn_i_pick(&m->rng, 1, LENGTH); k > 0; k--) {
        const int op = (int)tn_i_pick(&m->rng, 0, TN_LINKS - 1);
        if (op == never[1] || op == never[2]) continue;
        if (op != never[0]) {
            step(m, &l[n++], op, stored >= SLOTS);
            continue;
        }
        const operand slot = {TN_FROM_SLOT, m->slot[stored % SLOTS], NULL};
        add(m, &l[n++], op, &slot, NULL);
        memcpy(m->kept[stored++ % SLOTS], m->wants, sizeof m->wants);
    }
    add(m, &l[n++], TN_LINK_STORE, &result, NULL);
    l[n++] = (tn_i_link){m->set->link[TN_LINK_FOLD][0][0], m->lane, (const char *)&m->limit};
    add(m, &l[n++], TN_LINK_END, NULL, NULL);
    for (int i = 0; i + 1 < n; i++)
        if (!l[i].x) l[i].x = m->one; /* only the end has none */
    fold(m);
    run(m, l);
    same(m, m->result, m->wants, m->n, "chain", seed);
    same(m, m->lane, m->lanes, TN_LANES, "lanes of chain", seed);
}

static void parts_of_blocks(machine *m) {
    char from[TN_CHAIN_BLOCK], to[TN_CHAIN_BLOCK + 1], back[TN_CHAIN_BLOCK + 1];
    for (int i = 0; i < TN_CHAIN_BLOCK; i++) from[i] = (char)(i % 100 + 1);
    for (int64_t n = 0; n < m->set->block; n += m->f ? 4 : 8) {
        memset(to, 77, sizeof to);
        memset(back, 77, sizeof back);
        m->set->widen(to, from, n);
        m->set->narrow(back, to, n);
        for (int64_t i = 0; i < m->set->block; i++) {
            assert_int_equal(to[i], i < n ? from[i] : 0);
            assert_int_equal(back[i], i < n ? from[i] : 77);
        }
        assert_int_equal(to[m->set->block], 77);
    }
}

static void chains(void **unused) {
    static machine m; /* too large for the stack */
    (void)unused;
    for (int isa = TN_ISA_PLAIN; isa <= (int)tn_i_isa_best(); isa++)
        for (int f = 0; f <= 1; f++) {
            m = (machine){.set = tn_i_chain_of(f ? TN_F32 : TN_F64, (tn_i_isa)isa), .f = f, .rng = {7}};
            if (!m.set) continue;
            assert_true(m.set->block <= TN_CHAIN_BLOCK);
            each_link(&m);
            parts_of_blocks(&m);
            for (int64_t seed = 0; seed < 300; seed++) random_chain(&m, seed);
        }
    assert_null(tn_i_chain_of(TN_I32, TN_ISA_PLAIN));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(chains)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
