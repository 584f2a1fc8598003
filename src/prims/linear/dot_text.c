/* dot_general as C: a call of the product of matrices that is written with it, or of BLAS, for each index of what is no
 * dimension of a matrix; small ones, and those of integers, as plain sums. */
#include "base/machine.h"
#include "prims/linear/dot_text.h"

#include "prims/dims.h"
#include "prims/linear/dot.h"
#include "prims/linear/product_text.h"

#include <inttypes.h>
#include <string.h>

enum { LHS, RHS, OUT };        /* arrays */
enum { BATCH, M, N, K, SETS }; /* what a dimension is: of all three arrays, or of two of them */

/* A dimension, or several that lie in one another in all arrays that have them; by: 0 in the one that has not. */
typedef struct dim {
    int64_t n, by[3];
} dim;

typedef struct product {
    const tn_i_c_kernel *k;
    dim d[SETS][TN_MAX_RANK];
    int nd[SETS];
} product;

/* ---- dimensions ------------------------------------------------------------------------------- */

/* Behind the last one: that goes into it where all arrays walk it as one. */
static void add(product *p, int set, dim x) {
    dim *last = p->nd[set] ? &p->d[set][p->nd[set] - 1] : NULL;
    bool one = last != NULL;
    if (x.n == 1) return;
    for (int i = 0; i < 3 && one; i++) one = last->by[i] == x.by[i] * x.n;
    if (one) {
        last->n *= x.n;
        memcpy(last->by, x.by, sizeof x.by);
    } else
        p->d[set][p->nd[set]++] = x;
}

static void read(product *p) {
    const tn_i_arr *in = p->k->in, *out = &p->k->out[0];
    const tn_i_dots d = tn_i_dots_read(&p->k->p[0]);
    int at = 0;
    for (uint32_t i = 0; i < d.nbatch; i++, at++)
        add(p, BATCH,
            (dim){in[0].type->dim[d.batch[0][i]],
                  {in[0].stride[d.batch[0][i]], in[1].stride[d.batch[1][i]], out->stride[at]}});
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < in[side].type->rank; i++) {
            if (tn_i_dots_taken(&d, side) >> i & 1) continue;
            dim x = {in[side].type->dim[i], {0, 0, out->stride[at++]}};
            x.by[side] = in[side].stride[i];
            add(p, side ? N : M, x);
        }
    for (uint32_t i = 0; i < d.ncontract; i++)
        add(p, K,
            (dim){in[0].type->dim[d.contract[0][i]],
                  {in[0].stride[d.contract[0][i]], in[1].stride[d.contract[1][i]], 0}});
}

/* The longest of a set, which the product walks; the others are loops around it. */
static dim longest(const product *p, int set, int *which) {
    dim x = {1, {0, 0, 0}};
    *which = -1;
    for (int i = 0; i < p->nd[set]; i++)
        if (*which < 0 || p->d[set][i].n > x.n) x = p->d[set][ *which = i];
    return x;
}

/* ---- loops ---------------------------------------------------------------------------------------- */

static const char *const letter[SETS] = {"b", "m", "n", "k"};

static void open(const product *p, int set, int but) {
    for (int i = 0; i < p->nd[set]; i++)
        if (i != but)
            tn_i_text_put(p->k->t, "for (int64_t %s%d = 0; %s%d < %" PRId64 "; %s%d++) {\n", letter[set], i,
                          letter[set], i, p->d[set][i].n, letter[set], i);
}

static void close(const product *p, int set, int but) {
    for (int i = 0; i < p->nd[set]; i++)
        if (i != but) tn_i_text_put(p->k->t, "}\n");
}

/* " + m0 * 3", by the loops that are open. */
static void terms(const product *p, int array, const int but[SETS]) {
    for (int set = 0; set < SETS; set++)
        for (int i = 0; i < p->nd[set]; i++) {
            const int64_t by = p->d[set][i].by[array];
            if (i == but[set] || by == 0) continue;
            tn_i_text_put(p->k->t, by < 0 ? " - %s%d" : " + %s%d", letter[set], i);
            if (by != 1 && by != -1) tn_i_text_put(p->k->t, " * %" PRId64, by < 0 ? -by : by);
        }
}

/* ---- sums ------------------------------------------------------------------------------------------ */

static void put_sums(const product *p) {
    static const int none[SETS] = {-1, -1, -1, -1};
    tn_i_text *t = p->k->t;
    const int dtype = p->k->in[0].type->dtype;
    const char *type = tn_i_c_name(dtype);
    const char *u = dtype == TN_I32 || dtype == TN_U32 ? "uint32_t" : dtype == TN_I64 ? "uint64_t" : type;
    open(p, M, -1);
    open(p, N, -1);
    tn_i_text_put(t, "%s sum = 0;\n", u);
    open(p, K, -1);
    tn_i_text_put(t, "sum += (%s)in0[0", u);
    terms(p, LHS, none);
    tn_i_text_put(t, "] * (%s)in1[0", u);
    terms(p, RHS, none);
    tn_i_text_put(t, "];\n");
    close(p, K, -1);
    tn_i_text_put(t, "out0[0");
    terms(p, OUT, none);
    tn_i_text_put(t, "] = (%s)sum;\n", type);
    close(p, N, -1);
    close(p, M, -1);
}

/* ---- products of matrices ------------------------------------------------------------------------------ */

static void put_product(const product *p) {
    tn_i_text *t = p->k->t;
    const int dtype = p->k->in[0].type->dtype;
    int but[SETS] = {-1, -1, -1, -1};
    const dim m = longest(p, M, &but[M]), n = longest(p, N, &but[N]), k = longest(p, K, &but[K]);
    const size_t room = tn_i_c_product_room(tn_i_dtype_size(dtype), m.n, n.n, k.n);
    const char *more = "0";
    if (room > *p->k->shared) *p->k->shared = room;
    open(p, M, but[M]);
    open(p, N, but[N]);
    if (p->nd[K] > 1) {
        tn_i_text_put(t, "int more = 0;\n");
        more = "more";
    }
    open(p, K, but[K]);
    tn_i_text_put(t, "tansy_product_%s(%" PRId64 ", %" PRId64 ", %" PRId64 ", in0", tn_i_c_suffix(dtype), m.n, n.n,
                  k.n);
    terms(p, LHS, but);
    tn_i_text_put(t, ", %" PRId64 ", %" PRId64 ", in1", m.by[LHS], k.by[LHS]);
    terms(p, RHS, but);
    tn_i_text_put(t, ", %" PRId64 ", %" PRId64 ", out0", k.by[RHS], n.by[RHS]);
    terms(p, OUT, but);
    tn_i_text_put(t, ", %" PRId64 ", %" PRId64 ", %s, (%s *)(void *)shared);\n", m.by[OUT], n.by[OUT], more,
                  tn_i_c_name(dtype));
    if (p->nd[K] > 1) tn_i_text_put(t, "more = 1;\n");
    close(p, K, but[K]);
    close(p, N, but[N]);
    close(p, M, but[M]);
}

/* ---- BLAS --------------------------------------------------------------------------------------------- */

/* A matrix as BLAS takes it; false: it does not. */
static bool leading(int64_t rows, int64_t columns, int64_t rs, int64_t cs, bool *transposed, int64_t *by) {
    *transposed = !(cs == 1 || columns == 1);
    *by = *transposed ? cs : rows == 1 ? columns : rs;
    const int64_t least = *transposed ? rows : columns;
    return (!*transposed || rs == 1 || rows == 1) && *by >= least && *by <= INT32_MAX;
}

static bool put_blas(const product *p) {
    tn_i_text *t = p->k->t;
    int but[SETS] = {-1, -1, -1, -1};
    bool turned[3];
    int64_t by[3];
    if (p->nd[M] > 1 || p->nd[N] > 1 || p->nd[K] > 1) return false;
    const dim m = longest(p, M, &but[M]), n = longest(p, N, &but[N]), k = longest(p, K, &but[K]);
    if (m.n > INT32_MAX || n.n > INT32_MAX || k.n > INT32_MAX || k.n == 0) return false;
    if (!leading(m.n, k.n, m.by[LHS], k.by[LHS], &turned[LHS], &by[LHS]) ||
        !leading(k.n, n.n, k.by[RHS], n.by[RHS], &turned[RHS], &by[RHS]) ||
        !leading(m.n, n.n, m.by[OUT], n.by[OUT], &turned[OUT], &by[OUT]) || turned[OUT])
        return false;
    tn_i_text_put(t, "cblas_%s(CblasRowMajor, %s, %s, %" PRId64 ", %" PRId64 ", %" PRId64 ", 1, in0",
                  p->k->in[0].type->dtype == TN_F64 ? "dgemm" : "sgemm", turned[LHS] ? "CblasTrans" : "CblasNoTrans",
                  turned[RHS] ? "CblasTrans" : "CblasNoTrans", m.n, n.n, k.n);
    terms(p, LHS, but);
    tn_i_text_put(t, ", %" PRId64 ", in1", by[LHS]);
    terms(p, RHS, but);
    tn_i_text_put(t, ", %" PRId64 ", 0, out0", by[RHS]);
    terms(p, OUT, but);
    tn_i_text_put(t, ", %" PRId64 ");\n", by[OUT]);
    return true;
}

/* ---- all of it ---------------------------------------------------------------------------------------- */

static double multiplications(const product *p) {
    double n = 1;
    for (int set = M; set < SETS; set++)
        for (int i = 0; i < p->nd[set]; i++) n *= (double)p->d[set][i].n;
    return n;
}

void tn_i_c_dot(const tn_i_c_kernel *k) {
    product p = {.k = k};
    if (tn_i_count(k->out[0].type) == 0) return;
    read(&p);
    const bool floats = tn_i_is_float(k->in[0].type->dtype);
    open(&p, BATCH, -1);
    const bool blas = floats && k->cblas && put_blas(&p);
    if (!blas && floats && multiplications(&p) > TN_M_EMIT_PRODUCT)
        put_product(&p);
    else if (!blas)
        put_sums(&p);
    close(&p, BATCH, -1);
}
