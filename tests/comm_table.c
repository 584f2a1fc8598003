/* Tables behind collectives: one collective, and all of them. */
#include "comm_table_i.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 64, MOST_PRINTED = 20 };

/* ---- ranks ---------------------------------------------------------------------------- */

static int64_t place(const checker *q, const int64_t *index) {
    int64_t at = 0;
    for (int a = 0; a < q->t->naxes; a++) at = at * q->t->extent[a] + index[a];
    return at;
}

group group_of(const checker *q, uint32_t axes) {
    const tn_comm_ops *t = q->t;
    group g = {.axes = axes, .ranks = 1};
    int64_t index[8];
    for (int a = 0; a < t->naxes; a++)
        if (axes >> a & 1) {
            g.ranks *= (int)t->extent[a];
            g.me = g.me * (int)t->extent[a] + (int)t->index[a];
        }
    for (int m = 0; m < g.ranks && m < MEMBERS; m++) {
        int rest = m;
        for (int a = t->naxes; a-- > 0;) {
            const bool along = axes >> a & 1;
            index[a] = along ? rest % t->extent[a] : t->index[a];
            if (along) rest /= (int)t->extent[a];
        }
        g.world[m] = place(q, index);
    }
    return g;
}

/* ---- what is said --------------------------------------------------------------------- */

void wrong(checker *q, const tn_collective *x, const char *format, ...) {
    static const char *const kind[] = {"allreduce", "bcast", "allgather", "reduce_scatter", "gather", "scatter",
                                       "alltoall",  "shift", "permute",   "scan",           "barrier"};
    static const char *const dtype[] = {"bool", "i32", "i64", "f32", "f64", "u32"};
    if (++q->failures > MOST_PRINTED || !q->log) return;
    char text[512];
    va_list ap;
    va_start(ap, format);
    (void)vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    const bool known = x->kind >= 0 && x->kind < TN_COMM_KINDS && x->dtype >= 0 && x->dtype < DTYPES;
    fprintf(q->log,
            "rank %lld: %s %s[%lld] over axes %#x (rank %d of %d) op=%d root=%d by=%d wrap=%d exclusive=%d reverse=%d "
            "ordered=%d pairs=%zu: %s\n",
            (long long)q->world, known ? kind[x->kind] : "?", known ? dtype[x->dtype] : "?", (long long)x->count,
            (unsigned)x->axes, q->g.me, q->g.ranks, x->op, x->root, x->by, x->wrap, x->exclusive, x->reverse,
            x->ordered, x->npairs, text);
    (void)fflush(q->log);
}

static void failed(checker *q, const tn_collective *x, const char *where, int status) {
    q->stop = true;
    wrong(q, x, "%s: status %d: %s", where, status, q->t->error(q->t->user));
}

/* ---- elements ------------------------------------------------------------------------- */

size_t dtype_bytes(int dtype) {
    static const size_t bytes[DTYPES] = {1, 4, 8, 4, 8, 4};
    return bytes[dtype];
}

double element(int dtype, const void *a, int64_t i) {
    switch (dtype) {
    case TN_BOOL: return ((const uint8_t *)a)[i];
    case TN_I32: return ((const int32_t *)a)[i];
    case TN_U32: return ((const uint32_t *)a)[i];
    case TN_I64: return (double)((const int64_t *)a)[i];
    case TN_F32: return (double)((const float *)a)[i];
    default: return ((const double *)a)[i];
    }
}

void set_element(int dtype, void *a, int64_t i, double to) {
    switch (dtype) {
    case TN_BOOL: ((uint8_t *)a)[i] = to != 0; break;
    case TN_I32: ((int32_t *)a)[i] = (int32_t)to; break;
    case TN_U32: ((uint32_t *)a)[i] = (uint32_t)to; break;
    case TN_I64: ((int64_t *)a)[i] = (int64_t)to; break;
    case TN_F32: ((float *)a)[i] = (float)to; break;
    default: ((double *)a)[i] = to; break;
    }
}

/* Sums of these stay below 2^24, as do products; few truth values are those that decide. */
static double exact(const tn_collective *x, int64_t world, int64_t i) {
    static const double factor[] = {1, -1, 2, 1, 3, -1, 1};
    const bool product = x->kind == TN_COMM_ALLREDUCE && x->op == TN_COMM_PROD,
               all = product || (x->kind == TN_COMM_ALLREDUCE && x->op == TN_COMM_MIN);
    if (x->dtype == TN_BOOL) return ((world * 5 + i * 3) % 7 == 1) != all;
    if (product) return x->dtype == TN_U32 ? fabs(factor[(world * 3 + i) % 7]) : factor[(world * 3 + i) % 7];
    if (x->dtype == TN_U32) return (double)((world * 37 + i * 11) % 101);
    return (double)((world * 37 + i * 11) % 101 - 50);
}

double operand(const flight *f, int m, int64_t i) {
    const int64_t w = f->g.world[m];
    if (f->how == EXACT) return exact(&f->x, w, i);
    const double v = 0.1 * (double)(w % 7 + 1) + 1.0 / (double)(i + 3);
    return f->x.dtype == TN_F32 ? (double)(float)v : v;
}

/* ---- what has to come out --------------------------------------------------------------- */

static double joined(const tn_collective *x, double a, double b) {
    const int op = x->kind == TN_COMM_ALLREDUCE ? x->op : TN_COMM_SUM;
    if (x->dtype == TN_BOOL) return op == TN_COMM_SUM || op == TN_COMM_MAX ? a != 0 || b != 0 : a != 0 && b != 0;
    if (op == TN_COMM_MAX) return a > b ? a : b;
    if (op == TN_COMM_MIN) return a < b ? a : b;
    if (x->dtype == TN_F32) return (double)(op == TN_COMM_PROD ? (float)a * (float)b : (float)a + (float)b);
    return op == TN_COMM_PROD ? a * b : a + b;
}

/* Of ranks first, first + step .. of the group, n of them, joined in this order. */
static double joined_over(const flight *f, int first, int step, int n, int64_t i) {
    if (n == 0) return 0;
    double v = operand(f, first, i);
    for (int k = 1; k < n; k++) v = joined(&f->x, v, operand(f, first + k * step, i));
    return v;
}

static double scanned(const flight *f, int64_t i) {
    const int P = f->g.ranks, k = f->g.me, before = f->x.reverse ? P - 1 - k : k;
    return joined_over(f, f->x.reverse ? P - 1 : 0, f->x.reverse ? -1 : 1, before + !f->x.exclusive, i);
}

static double shifted(const flight *f, int64_t i) {
    const int64_t P = f->g.ranks, from = (int64_t)f->g.me - f->x.by;
    if (f->x.wrap) return operand(f, (int)((from % P + P) % P), i);
    return from >= 0 && from < P ? operand(f, (int)from, i) : 0;
}

static double permuted(const flight *f, int64_t i) {
    for (size_t p = 0; p < f->x.npairs; p++)
        if (f->x.pairs[2 * p + 1] == f->g.me) return operand(f, f->x.pairs[2 * p], i);
    return 0;
}

double expected(const flight *f, int64_t i) {
    const int P = f->g.ranks, k = f->g.me;
    const int64_t n = f->x.count;
    switch (f->x.kind) {
    case TN_COMM_ALLREDUCE: return joined_over(f, 0, 1, P, i);
    case TN_COMM_BCAST: return operand(f, f->x.root, i);
    case TN_COMM_ALLGATHER: return operand(f, (int)(i / n), i % n);
    case TN_COMM_REDUCE_SCATTER: return joined_over(f, 0, 1, P, k * n + i);
    case TN_COMM_GATHER: return k == f->x.root ? operand(f, (int)(i / n), i % n) : 0;
    case TN_COMM_SCATTER: return operand(f, f->x.root, k * n + i);
    case TN_COMM_ALLTOALL: return operand(f, (int)(i / n), k * n + i % n);
    case TN_COMM_SHIFT: return shifted(f, i);
    case TN_COMM_PERMUTE: return permuted(f, i);
    default: return scanned(f, i);
    }
}

/* ---- one collective --------------------------------------------------------------------- */

tn_collective collective(const checker *q, int kind, int dtype, int64_t count) {
    return (tn_collective){
        .size = sizeof(tn_collective), .kind = kind, .dtype = dtype, .count = count, .axes = q->g.axes};
}

static int64_t operand_count(const flight *f) {
    const int k = f->x.kind;
    const bool all = k == TN_COMM_REDUCE_SCATTER || k == TN_COMM_SCATTER || k == TN_COMM_ALLTOALL;
    return k == TN_COMM_BARRIER ? 0 : f->x.count * (all ? f->g.ranks : 1);
}

static int64_t result_count(const flight *f) {
    const int k = f->x.kind;
    const bool all = k == TN_COMM_ALLGATHER || k == TN_COMM_GATHER || k == TN_COMM_ALLTOALL;
    return k == TN_COMM_BARRIER ? 0 : f->x.count * (all ? f->g.ranks : 1);
}

static unsigned char *guarded(size_t bytes, unsigned char with) {
    unsigned char *p = malloc(bytes + 2 * GUARD);
    if (!p) {
        puts("out of memory");
        exit(2);
    }
    memset(p, with, bytes + 2 * GUARD);
    return p + GUARD;
}

/* Frees; whether the guards are as they were. */
static bool release(unsigned char *p, size_t bytes, unsigned char with) {
    bool whole = true;
    for (size_t i = 0; i < GUARD; i++) whole = whole && p[bytes + i] == with && p[-1 - (ptrdiff_t)i] == with;
    free(p - GUARD);
    return whole;
}

/* What others may not read is nothing that could come out. */
static double held(const flight *f, int64_t i) {
    return f->x.kind == TN_COMM_SCATTER && f->g.me != f->x.root ? 77 : operand(f, f->g.me, i);
}

bool take_off(checker *q, flight *f, const tn_collective *x, values how) {
    *f = (flight){.x = *x, .g = q->g, .how = how};
    if (q->stop) return false;
    const int64_t n = operand_count(f);
    f->in_bytes = (size_t)n * dtype_bytes(x->dtype);
    f->out_bytes = (size_t)result_count(f) * dtype_bytes(x->dtype);
    f->in = guarded(f->in_bytes, 0xA5);
    f->out = guarded(f->out_bytes, 0x5A);
    for (int64_t i = 0; i < n; i++) set_element(x->dtype, f->in, i, held(f, i));
    f->request = &f->request; /* start has to write it */
    f->begun = true;
    const int status = q->t->start(q->t->user, &f->x, f->in, f->out, &f->request);
    if (status != TN_OK) failed(q, &f->x, "start", status);
    if (status != TN_OK) f->request = NULL;
    return status == TN_OK;
}

/* Bits, which are those of `want`. */
static bool is(int dtype, const void *a, int64_t i, double want) {
    unsigned char as[8];
    set_element(dtype, as, 0, want);
    return memcmp(as, (const unsigned char *)a + (size_t)i * dtype_bytes(dtype), dtype_bytes(dtype)) == 0;
}

static bool near(int dtype, double a, double b) {
    return fabs(a - b) <= (dtype == TN_F32 ? 3e-6 : 1e-14) * (fabs(a) + fabs(b));
}

static void compare(checker *q, const flight *f) {
    const int64_t n = result_count(f);
    const bool bits = f->how == EXACT || f->x.ordered;
    for (int64_t i = 0; i < n; i++) {
        const double want = expected(f, i), got = element(f->x.dtype, f->out, i);
        if (bits ? is(f->x.dtype, f->out, i, want) : near(f->x.dtype, want, got)) continue;
        wrong(q, &f->x, "element %lld is %.17g instead of %.17g", (long long)i, got, want);
        return;
    }
}

static void compare_operand(checker *q, const flight *f) {
    const int64_t n = operand_count(f);
    for (int64_t i = 0; i < n; i++) {
        if (is(f->x.dtype, f->in, i, held(f, i))) continue;
        wrong(q, &f->x, "operand %lld was changed", (long long)i);
        return;
    }
}

static bool replicates(int kind) {
    return kind == TN_COMM_ALLREDUCE || kind == TN_COMM_BCAST || kind == TN_COMM_ALLGATHER;
}

void land(checker *q, flight *f) {
    if (!f->begun) return;
    const group now = q->g;
    q->g = f->g;
    if (!q->stop && f->request) {
        const int status = q->t->wait(q->t->user, f->request);
        if (status != TN_OK) failed(q, &f->x, "wait", status);
    }
    if (!q->stop) {
        compare(q, f);
        compare_operand(q, f);
    }
    if (!q->stop && f->how == ROUNDED && replicates(f->x.kind)) same_bits(q, &f->x, f->out, f->out_bytes);
    if (!q->stop || q->g.ranks == 1) { /* otherwise others may still write there */
        if (!release(f->in, f->in_bytes, 0xA5)) wrong(q, &f->x, "wrote around the operand");
        if (!release(f->out, f->out_bytes, 0x5A)) wrong(q, &f->x, "wrote around the result");
    }
    f->begun = false;
    q->g = now;
}

void run(checker *q, const tn_collective *x, values how) {
    flight f;
    (void)take_off(q, &f, x, how);
    if (q->t->progress && !q->stop) q->t->progress(q->t->user);
    land(q, &f);
}

bool exchange(checker *q, const tn_collective *x, const void *in, void *out) {
    void *request = NULL;
    if (q->stop) return false;
    int status = q->t->start(q->t->user, x, in, out, &request);
    if (status != TN_OK)
        failed(q, x, "start", status);
    else if (request && (status = q->t->wait(q->t->user, request)) != TN_OK)
        failed(q, x, "wait", status);
    return status == TN_OK;
}

void same_bits(checker *q, const tn_collective *x, const void *p, size_t bytes) {
    uint64_t hash = 1469598103934665603u, all[MEMBERS];
    for (size_t i = 0; i < bytes; i++) hash = (hash ^ ((const unsigned char *)p)[i]) * 1099511628211u;
    const tn_collective gather = collective(q, TN_COMM_ALLGATHER, TN_I64, 1);
    if (!exchange(q, &gather, &hash, all)) return;
    for (int m = 0; m < q->g.ranks; m++)
        if (all[m] != hash) {
            wrong(q, x, "rank %d of %d has other bits", m, q->g.ranks);
            return;
        }
}

/* ---- all of them ------------------------------------------------------------------------ */

static void try_reductions(checker *q, int dtype, int64_t n) {
    tn_collective x = collective(q, TN_COMM_ALLREDUCE, dtype, n);
    for (x.op = TN_COMM_SUM; x.op <= TN_COMM_MIN; x.op++)
        for (int o = 0; o < 2; o++) {
            x.ordered = o;
            run(q, &x, EXACT);
        }
    x = collective(q, TN_COMM_REDUCE_SCATTER, dtype, n);
    run(q, &x, EXACT);
    x.ordered = true;
    run(q, &x, EXACT);
}

static void try_roots(checker *q, int dtype, int64_t n) {
    static const int kinds[] = {TN_COMM_BCAST, TN_COMM_GATHER, TN_COMM_SCATTER};
    for (int k = 0; k < 3; k++) {
        tn_collective x = collective(q, kinds[k], dtype, n);
        for (x.root = 0; x.root < q->g.ranks; x.root++) run(q, &x, EXACT);
    }
}

static void try_scans(checker *q, int dtype, int64_t n) {
    tn_collective x = collective(q, TN_COMM_SCAN, dtype, n);
    for (int which = 0; which < 8; which++) {
        x.exclusive = which & 1;
        x.reverse = which & 2;
        x.ordered = which & 4;
        run(q, &x, EXACT);
    }
}

static void try_shifts(checker *q, int dtype, int64_t n) {
    tn_collective x = collective(q, TN_COMM_SHIFT, dtype, n);
    for (x.by = -q->g.ranks - 1; x.by <= q->g.ranks + 1; x.by++)
        for (int w = 0; w < 2; w++) {
            x.wrap = w;
            run(q, &x, EXACT);
        }
    x.by = INT32_MIN;
    x.wrap = true;
    run(q, &x, EXACT);
    x.by = INT32_MAX;
    x.wrap = false;
    run(q, &x, EXACT);
}

/* None; a ring; all but one, backwards; the ends exchange. */
static void try_permutations(checker *q, int dtype, int64_t n) {
    const int P = q->g.ranks;
    int32_t ring[2 * MEMBERS], back[2 * MEMBERS];
    const int32_t ends[] = {0, P - 1, P - 1, 0};
    for (int m = 0; m < P; m++) {
        ring[2 * m] = m;
        ring[2 * m + 1] = (m + 1) % P;
        back[2 * m] = P - 1 - m;
        back[2 * m + 1] = m;
    }
    tn_collective x = collective(q, TN_COMM_PERMUTE, dtype, n);
    run(q, &x, EXACT);
    x.pairs = ring;
    x.npairs = (size_t)P;
    run(q, &x, EXACT);
    x.pairs = back;
    x.npairs = (size_t)P - 1;
    run(q, &x, EXACT);
    x.pairs = ends;
    x.npairs = P > 1 ? 2 : 1;
    run(q, &x, EXACT);
}

static void try_count(checker *q, int64_t n) {
    for (int dtype = 0; dtype < DTYPES && !q->stop; dtype++) {
        tn_collective x = collective(q, TN_COMM_ALLGATHER, dtype, n);
        run(q, &x, EXACT);
        x.kind = TN_COMM_ALLTOALL;
        run(q, &x, EXACT);
        try_reductions(q, dtype, n);
        try_scans(q, dtype, n);
        try_roots(q, dtype, n);
        try_shifts(q, dtype, n);
        try_permutations(q, dtype, n);
    }
}

/* Each kind once, from the last rank where there is a root. */
static void try_large(checker *q, int64_t n) {
    for (int kind = 0; kind < TN_COMM_BARRIER; kind++) {
        tn_collective x = collective(q, kind, TN_F64, n);
        x.root = q->g.ranks - 1;
        x.by = 1;
        run(q, &x, EXACT);
    }
    for (int op = 0; op <= TN_COMM_MIN; op++) {
        tn_collective x = collective(q, TN_COMM_ALLREDUCE, op ? TN_BOOL : TN_I32, n + op);
        x.op = op;
        run(q, &x, EXACT);
    }
}

static void try_axes(checker *q, uint32_t axes) {
    static const int64_t counts[] = {0, 1, 7, 1000};
    q->g = group_of(q, axes);
    if (q->g.ranks > MEMBERS) return;
    const tn_collective barrier = collective(q, TN_COMM_BARRIER, 0, 0);
    (void)exchange(q, &barrier, NULL, NULL);
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
        if (counts[k] <= q->most) try_count(q, counts[k]);
    if (q->most > 1000) try_large(q, q->most);
    check_exact_table(q);
    check_numbers(q);
}

static bool described(checker *q, const tn_comm_ops *t) {
    const tn_collective none = {.kind = TN_COMM_BARRIER};
    bool good = t->size == sizeof *t && t->naxes >= 1 && t->naxes <= 8 && t->start && t->wait && t->error;
    for (int a = 0; good && a < t->naxes; a++)
        good = t->name[a][0] && t->extent[a] >= 1 && t->index[a] >= 0 && t->index[a] < t->extent[a];
    if (!good) wrong(q, &none, "the table does not say what it must");
    return good;
}

int comm_table_check(const tn_comm_ops *t, int64_t most, FILE *log) {
    checker q = {.t = t, .log = log, .most = most};
    if (!described(&q, t)) return q.failures;
    q.world = place(&q, t->index);
    for (uint32_t axes = 1; axes < 1u << t->naxes; axes++) try_axes(&q, axes);
    check_overlap(&q);
    if (q.failures > MOST_PRINTED && log) fprintf(log, "rank %lld: %d failures\n", (long long)q.world, q.failures);
    return q.failures;
}
