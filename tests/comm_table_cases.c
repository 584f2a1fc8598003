/* Tables behind collectives: exact values, what rounds or is NaN, many at once, and what is refused. */
#include "comm_table_i.h"

#include <math.h>
#include <string.h>

/* ---- values for three ranks, written down ------------------------------------------------ */

static void exactly(checker *q, tn_collective x, const double *in, size_t n, const double *want) {
    double out[8];
    memset(out, 0x5A, sizeof out);
    if (!exchange(q, &x, in, out)) return;
    for (size_t i = 0; i < n; i++)
        if (out[i] != want[i]) {
            wrong(q, &x, "value %zu is %g instead of %g", i, out[i], want[i]);
            return;
        }
}

static tn_collective with(tn_collective x, int op, int root, int by, bool wrap) {
    x.op = op;
    x.root = root;
    x.by = by;
    x.wrap = wrap;
    return x;
}

static tn_collective scan(tn_collective x, bool exclusive, bool reverse) {
    x.exclusive = exclusive;
    x.reverse = reverse;
    return x;
}

void check_exact_table(checker *q) {
    if (q->g.ranks != 3) return;
    const int k = q->g.me;
    const double x[] = {k + 1, 10 * (k + 1)}, X[] = {k + 1, (k + 1) * 2, (k + 1) * 3},
                 Z[] = {10 * k, 10 * k + 1, 10 * k + 2};
    static const double shifted[4][2] = {{0, 0}, {1, 10}, {2, 20}}, wrapped[3][2] = {{3, 30}, {1, 10}, {2, 20}},
                        scanned[3][2] = {{1, 10}, {3, 30}, {6, 60}}, before[3][2] = {{0, 0}, {1, 10}, {3, 30}},
                        behind[3][2] = {{6, 60}, {5, 50}, {3, 30}}, sums[3] = {6, 12, 18};
    const tn_collective reduce = collective(q, TN_COMM_ALLREDUCE, TN_F64, 2),
                        shift = collective(q, TN_COMM_SHIFT, TN_F64, 2),
                        prefix = collective(q, TN_COMM_SCAN, TN_F64, 2);
    exactly(q, reduce, x, 2, (const double[]){6, 60});
    exactly(q, with(reduce, TN_COMM_MAX, 0, 0, false), x, 2, (const double[]){3, 30});
    exactly(q, with(reduce, TN_COMM_MIN, 0, 0, false), x, 2, (const double[]){1, 10});
    exactly(q, with(reduce, TN_COMM_PROD, 0, 0, false), x, 2, (const double[]){6, 6000});
    exactly(q, with(collective(q, TN_COMM_BCAST, TN_F64, 2), 0, 1, 0, false), x, 2, (const double[]){2, 20});
    exactly(q, collective(q, TN_COMM_ALLGATHER, TN_F64, 2), x, 6, (const double[]){1, 10, 2, 20, 3, 30});
    exactly(q, collective(q, TN_COMM_REDUCE_SCATTER, TN_F64, 1), X, 1, &sums[k]);
    exactly(q, collective(q, TN_COMM_ALLTOALL, TN_F64, 1), Z, 3, (const double[]){k, 10 + k, 20 + k});
    exactly(q, with(shift, 0, 0, 1, false), x, 2, shifted[k]);
    exactly(q, with(shift, 0, 0, 1, true), x, 2, wrapped[k]);
    exactly(q, scan(prefix, false, false), x, 2, scanned[k]);
    exactly(q, scan(prefix, true, false), x, 2, before[k]);
    exactly(q, scan(prefix, false, true), x, 2, behind[k]);
}

/* ---- numbers -------------------------------------------------------------------------------- */

/* A NaN on rank m in the middle of three; it is the maximum, and the minimum, wherever it stands. */
static void check_nan(checker *q, int dtype, int op, int m) {
    const tn_collective x = with(collective(q, TN_COMM_ALLREDUCE, dtype, 3), op, 0, 0, false);
    unsigned char in[24], out[24] = {0};
    const double mine = q->g.me, last = q->g.ranks - 1;
    for (int i = 0; i < 3; i++) set_element(dtype, in, i, i == 1 && q->g.me == m ? (double)NAN : mine);
    if (!exchange(q, &x, in, out)) return;
    const double a = element(dtype, out, 0), b = element(dtype, out, 1), c = element(dtype, out, 2);
    const double want = op == TN_COMM_MAX ? last : 0;
    if (a != want || !isnan(b) || c != want) wrong(q, &x, "a NaN on rank %d: %g %g %g", m, a, b, c);
    same_bits(q, &x, out, 3 * dtype_bytes(dtype));
}

/* Opposite infinities, and zeros of both signs: the same bits everywhere. */
static void check_limits(checker *q, int dtype, int op) {
    const tn_collective x = with(collective(q, TN_COMM_ALLREDUCE, dtype, 4), op, 0, 0, false);
    unsigned char in[32], out[32] = {0};
    const bool odd = q->g.me & 1;
    set_element(dtype, in, 0, odd ? -(double)INFINITY : (double)INFINITY);
    set_element(dtype, in, 1, odd ? -0.0 : 0.0);
    set_element(dtype, in, 2, odd ? 0.0 : -0.0);
    set_element(dtype, in, 3, odd ? 1e-30 : -1e30);
    if (exchange(q, &x, in, out)) same_bits(q, &x, out, 4 * dtype_bytes(dtype));
}

/* Beyond what f64 holds: integers are not converted; sums wrap around. */
static void check_integers(checker *q) {
    const int64_t odd = ((int64_t)1 << 53) + 1, P = q->g.ranks;
    const uint32_t high = (uint32_t)INT32_MAX - 5;
    int64_t wide = odd + q->g.me, out = 0;
    int32_t narrow = (int32_t)high, sum = 0;
    tn_collective x = with(collective(q, TN_COMM_ALLREDUCE, TN_I64, 1), TN_COMM_MAX, 0, 0, false);
    if (exchange(q, &x, &wide, &out) && out != odd + P - 1) wrong(q, &x, "%lld of 2^53 + 1 ..", (long long)out);
    x.op = TN_COMM_SUM;
    if (exchange(q, &x, &wide, &out) && out != odd * P + P * (P - 1) / 2)
        wrong(q, &x, "%lld of 2^53 + 1 ..", (long long)out);
    x.dtype = TN_I32;
    if (exchange(q, &x, &narrow, &sum) && (uint32_t)sum != high * (uint32_t)P)
        wrong(q, &x, "%d instead of a wrapped sum", (int)sum);
}

/* What rounds: to rounding and the same bits everywhere, or, ordered, just those of rank order. */
static void check_rounding(checker *q, int dtype, int64_t n) {
    for (int o = 0; o < 2; o++) {
        tn_collective x = collective(q, TN_COMM_ALLREDUCE, dtype, n);
        x.ordered = o;
        run(q, &x, ROUNDED);
        x.op = TN_COMM_PROD;
        run(q, &x, ROUNDED);
        x.op = 0;
        x.kind = TN_COMM_REDUCE_SCATTER;
        run(q, &x, ROUNDED);
        x.kind = TN_COMM_SCAN;
        for (int which = 0; which < 4; which++) {
            x.exclusive = which & 1;
            x.reverse = which & 2;
            run(q, &x, ROUNDED);
        }
    }
}

void check_numbers(checker *q) {
    static const int floats[] = {TN_F32, TN_F64};
    for (int d = 0; d < 2; d++) {
        for (int m = 0; m < q->g.ranks; m++) {
            check_nan(q, floats[d], TN_COMM_MAX, m);
            check_nan(q, floats[d], TN_COMM_MIN, m);
        }
        for (int op = TN_COMM_SUM; op <= TN_COMM_MIN; op++) check_limits(q, floats[d], op);
        for (int64_t n = 1; n <= 10000 && n <= q->most; n *= 10) check_rounding(q, floats[d], n + (n > 1));
    }
    check_integers(q);
}

/* ---- many at once ------------------------------------------------------------------------------ */

enum { FLIGHTS = 12, ROUNDS = 60 };

static uint32_t next(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Any collective over any axes: the same on all ranks, because `state` is. */
static tn_collective any(checker *q, uint32_t *state, int32_t *ring) {
    static const int64_t counts[] = {0, 1, 5, 300, 20000};
    q->g = group_of(q, 1 + next(state) % ((1u << q->t->naxes) - 1));
    const int P = q->g.ranks;
    int64_t n = counts[next(state) % 5];
    if (n > q->most) n = 1;
    tn_collective x = collective(q, (int)(next(state) % TN_COMM_KINDS), (int)(next(state) % DTYPES), n);
    if (x.kind == TN_COMM_ALLREDUCE) x.op = (int)(next(state) % 4);
    x.root = (int)(next(state) % (uint32_t)P);
    x.by = (int)(next(state) % 5) - 2;
    x.wrap = next(state) & 1;
    x.exclusive = next(state) & 1;
    x.reverse = next(state) & 1;
    x.ordered = next(state) & 1;
    x.overlap = next(state) & 1;
    for (int m = 0; m < P; m++) {
        ring[2 * m] = m;
        ring[2 * m + 1] = (m + 1) % P;
    }
    if (x.kind == TN_COMM_PERMUTE) {
        x.npairs = (size_t)P;
        x.pairs = ring;
    }
    return x;
}

/* Each rank waits in an order of its own. */
static void shuffle(uint32_t *state, int *order) {
    for (int i = 0; i < FLIGHTS; i++) order[i] = i;
    for (int i = FLIGHTS - 1; i > 0; i--) {
        const int k = (int)(next(state) % (uint32_t)(i + 1)), was = order[i];
        order[i] = order[k];
        order[k] = was;
    }
}

void check_overlap(checker *q) {
    uint32_t common = 12345, own = (uint32_t)q->world * 977u + 1;
    int32_t ring[FLIGHTS][2 * MEMBERS];
    flight f[FLIGHTS];
    int order[FLIGHTS];
    for (uint32_t axes = 1; axes < 1u << q->t->naxes; axes++)
        if (group_of(q, axes).ranks > MEMBERS) return;
    for (int round = 0; round < ROUNDS && !q->stop; round++) {
        for (int i = 0; i < FLIGHTS; i++) {
            const tn_collective x = any(q, &common, ring[i]);
            (void)take_off(q, &f[i], &x, EXACT);
            if (q->t->progress && !q->stop && next(&own) % 3 == 0) q->t->progress(q->t->user);
        }
        shuffle(&own, order);
        for (int i = 0; i < FLIGHTS; i++) land(q, &f[order[i]]);
    }
}

/* ---- what is refused ------------------------------------------------------------------------------ */

static void refused(checker *q, const char *what, tn_collective x) {
    double in[8 * MEMBERS] = {0}, out[8 * MEMBERS] = {0};
    void *request = NULL;
    const int status = q->t->start(q->t->user, &x, in, out, &request);
    const char *why = q->t->error(q->t->user);
    if (status != TN_EINVAL) wrong(q, &x, "%s: status %d instead of TN_EINVAL", what, status);
    if (status != TN_OK && (!why || !why[0])) wrong(q, &x, "%s: refused without a reason", what);
    if (status == TN_OK && request) (void)q->t->wait(q->t->user, request);
}

static tn_collective permutation(const checker *q, const int32_t *pairs, size_t n) {
    tn_collective x = collective(q, TN_COMM_PERMUTE, TN_F64, 2);
    x.pairs = pairs;
    x.npairs = n;
    return x;
}

int comm_table_refused(const tn_comm_ops *t, FILE *log) {
    checker q = {.t = t, .log = log};
    q.g = group_of(&q, (1u << t->naxes) - 1);
    for (int a = 0; a < t->naxes; a++) q.world = q.world * t->extent[a] + t->index[a];
    const int P = q.g.ranks;
    if (P > MEMBERS) return 0;
    const tn_collective sum = collective(&q, TN_COMM_ALLREDUCE, TN_F64, 2),
                        root = collective(&q, TN_COMM_BCAST, TN_F64, 2);
    tn_collective x = sum;
    x.size = 0;
    refused(&q, "a size that is not set", x);
    x = sum;
    x.axes |= 1u << t->naxes;
    refused(&q, "an axis that is not there", x);
    x.axes = 0;
    refused(&q, "no axis", x);
    x = sum;
    x.count = -1;
    refused(&q, "a negative count", x);
    x = sum;
    x.dtype = TN_NDTYPES;
    refused(&q, "no dtype", x);
    x = sum;
    x.kind = TN_COMM_KINDS;
    refused(&q, "no kind", x);
    refused(&q, "no op", with(sum, TN_COMM_MIN + 1, 0, 0, false));
    refused(&q, "a root behind the last rank", with(root, 0, P, 0, false));
    refused(&q, "a root before the first rank", with(root, 0, -1, 0, false));
    refused(&q, "pairs that are NULL", permutation(&q, NULL, 1));
    refused(&q, "a source that is no rank", permutation(&q, (const int32_t[]){P, 0}, 1));
    refused(&q, "a target that is no rank", permutation(&q, (const int32_t[]){0, -1}, 1));
    refused(&q, "a source twice", permutation(&q, (const int32_t[]){0, 0, 0, P - 1}, 2));
    refused(&q, "a target twice", permutation(&q, (const int32_t[]){0, 0, P - 1, 0}, 2));
    x = sum;
    double one = 1, out[MEMBERS] = {0};
    x.count = 1;
    if (exchange(&q, &x, &one, out) && out[0] != P)
        wrong(&q, &x, "a sum after refusals is %g instead of %d", out[0], P);
    return q.failures;
}
