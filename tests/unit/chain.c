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
    double wants[TN_LINK_REGISTERS][MOST], kept[SLOTS][MOST], lanes[TN_LANES];
    int stored; /* slots */
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

/* What operation `op` makes of three numbers. */
static double plain(const machine *m, int op, double r, double s, double t) {
    switch (op) {
    case TN_LINK_LOAD: return r;
    case TN_LINK_NEG: return -r;
    case TN_LINK_ABS: return fabs(r);
    case TN_LINK_SQRT: return round_to(m, sqrt(r));
    case TN_LINK_CUBE: return times(m, r, times(m, r, r));
    case TN_LINK_FOURTH: return times(m, times(m, r, r), times(m, r, r));
    case TN_LINK_INVERSE: return round_to(m, 1 / r);
    case TN_LINK_ADD: return round_to(m, r + s);
    case TN_LINK_SUB: return round_to(m, r - s);
    case TN_LINK_MUL: return times(m, r, s);
    case TN_LINK_DIV: return round_to(m, r / s);
    case TN_LINK_MAX: return greater(r, s);
    case TN_LINK_MIN: return less(r, s);
    case TN_LINK_FMA: return contract(m, r, s, t);
    case TN_LINK_FMS: return contract(m, r, s, -t);
    case TN_LINK_FNMA: return contract(m, -r, s, t);
    default: fail_msg("link %d", op); return 0;
    }
}

static int operands(int op) { return op >= TN_LINK_FMA ? 3 : op >= TN_LINK_ADD ? 2 : 1; }

static void fill(machine *m, int64_t n) {
    const int64_t wide = m->set->block / (m->f ? 4 : 8);
    m->n = n;
    for (int v = 0; v < VALUES; v++)
        for (int64_t i = 0; i < n + wide; i++) put(m, m->value[v], i, special(m));
    put(m, m->one, 0, special(m));
    for (int l = 0; l < TN_LANES; l++) put(m, m->lane, l, m->lanes[l] = tn_i_pick(&m->rng, 0, 1) ? 0.0 : -0.0);
}

/* Some operand in memory: dense, a slot that has been stored, or one number. */
static tn_i_link memory(machine *m, int from) {
    const int v = (int)tn_i_pick(&m->rng, 0, VALUES - 1);
    if (from == TN_FROM_ONE) return (tn_i_link){NULL, m->one, 0};
    if (m->stored && tn_i_pick(&m->rng, 0, 1)) return (tn_i_link){NULL, m->slot[v % m->stored], 0};
    return (tn_i_link){NULL, m->value[v], -1};
}

/* Element i of an operand, of the link `l`. */
static double element(const machine *m, const tn_i_link *l, int from, int64_t i) {
    if (from < TN_LINK_REGISTERS) return m->wants[from][i];
    if (from == TN_FROM_ONE) return get(m, m->one, 0);
    if (l->moves) return get(m, l->x, i);
    return m->kept[(l->x - m->slot[0]) / TN_CHAIN_BLOCK][i];
}

/* A link of any form that there is, in the chain and one number at a time; false: there is no such form. */
static bool step(machine *m, tn_i_link *l, int op, int to, const int *from) {
    const void *place = m->set->link(op, to, from[0], from[1], from[2]);
    int where = TN_FROM_ONE;
    if (!place) return false;
    for (int k = 0; k < operands(op); k++)
        if (from[k] == TN_FROM_MEMORY) where = TN_FROM_MEMORY;
    *l = memory(m, where);
    l->to = place;
    for (int64_t i = 0; i < m->n; i++)
        m->wants[to][i] = plain(m, op, element(m, l, from[0], i), element(m, l, from[1], i), element(m, l, from[2], i));
    return true;
}

static bool any_step(machine *m, tn_i_link *l, int op) {
    int from[3];
    for (int k = 0; k < 3; k++) from[k] = (int)tn_i_pick(&m->rng, 0, k < operands(op) ? TN_FROM_ONE : 0);
    return step(m, l, op, (int)tn_i_pick(&m->rng, 0, TN_LINK_REGISTERS - 1), from);
}

static int load_all(machine *m, tn_i_link *l) {
    for (int k = 0; k < TN_LINK_REGISTERS; k++) assert_true(step(m, l++, TN_LINK_LOAD, k, (int[3]){TN_FROM_MEMORY}));
    return TN_LINK_REGISTERS;
}

static int finish(machine *m, tn_i_link *l, int from, bool folds) {
    int n = 0;
    l[n++] = (tn_i_link){m->set->link(TN_LINK_STORE, 0, from, 0, 0), m->result, -1};
    if (folds) l[n++] = (tn_i_link){m->set->link(TN_LINK_FOLD, 0, from, 0, 0), m->lane, 0};
    l[n++] = (tn_i_link){m->set->link(TN_LINK_END, 0, 0, 0, 0), m->one, 0};
    for (int i = 0; i < n; i++) assert_non_null(l[i].to);
    return n;
}

/* Whole blocks, then as much of one as there is: slots and results are of blocks. */
static void run(machine *m, tn_i_link *l, int n) {
    const int64_t size = m->f ? 4 : 8, bytes = m->n * size;
    const int64_t half = bytes / 2 / m->set->block * m->set->block;
    assert_int_equal(m->set->run(l, 0, half, bytes), half);
    const int64_t done = m->set->run(l, half, bytes, bytes);
    assert_int_equal(done, bytes - bytes % m->set->block);
    if (done == bytes) return;
    const int64_t lane = done % (TN_LANES * size), left = bytes - done;
    for (int i = 0; i < n; i++) l[i].x += (done - lane) & l[i].moves;
    assert_int_equal(m->set->run(l, lane, lane + m->set->block, lane + left), lane + m->set->block);
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

/* All forms: those of a few operands in memory are not there, all others are. */
static void each_link(machine *m) {
    int forms = 0;
    for (int op = 0; op < TN_LINKS; op++) {
        if (op == TN_LINK_STORE || op == TN_LINK_FOLD || op == TN_LINK_END) continue;
        for (int k = 0; k < TN_LINK_REGISTERS * 125; k++) {
            const int from[3] = {k / 25 % 5, k / 5 % 5, k % 5};
            tn_i_link l[8];
            if ((operands(op) < 3 && from[2]) || (operands(op) < 2 && from[1])) continue;
            fill(m, 2 * m->set->block / (m->f ? 4 : 8));
            m->stored = 0;
            int n = load_all(m, l);
            if (!step(m, &l[n], op, k / 125, from)) continue;
            n += 1 + finish(m, &l[n + 1], k / 125, false);
            run(m, l, n);
            same(m, m->result, m->wants[k / 125], m->n, "link", op);
            forms++;
        }
    }
    assert_int_equal(forms, 708);
}

/* Lanes in the order of exec/nest.h. */
static void fold(machine *m, int from) {
    for (int64_t i = 0; i < m->n; i++) {
        double *l = &m->lanes[i % TN_LANES];
        *l = round_to(m, *l + m->wants[from][i]);
    }
}

static void random_chain(machine *m, int64_t seed) {
    const int64_t most = BLOCKS * m->set->block / (m->f ? 4 : 8);
    const int last = (int)tn_i_pick(&m->rng, 0, TN_LINK_REGISTERS - 1);
    tn_i_link l[LENGTH + 8];
    fill(m, tn_i_pick(&m->rng, 1, most));
    m->stored = 0;
    int n = load_all(m, l);
    for (int64_t k = tn_i_pick(&m->rng, 1, LENGTH); k > 0; k--) {
        const int op = (int)tn_i_pick(&m->rng, 0, TN_LINKS - 1), from = (int)tn_i_pick(&m->rng, 0, 2);
        if (op == TN_LINK_FOLD || op == TN_LINK_END) continue;
        if (op != TN_LINK_STORE) {
            n += any_step(m, &l[n], op);
            continue;
        }
        if (m->stored == SLOTS) continue;
        l[n++] = (tn_i_link){m->set->link(op, 0, from, 0, 0), m->slot[m->stored], 0};
        memcpy(m->kept[m->stored++], m->wants[from], sizeof m->wants[from]);
    }
    n += finish(m, &l[n], last, true);
    fold(m, last);
    run(m, l, n);
    same(m, m->result, m->wants[last], m->n, "chain", seed);
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
