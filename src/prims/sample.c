/* Random numbers and shapes for test cases. */
#include "prims/sample.h"

#include <math.h>
#include <string.h>

/* splitmix64: every seed is good, and a case is reproduced from one number. */
uint64_t tn_i_random(tn_i_rng *r) {
    uint64_t x = r->state += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

double tn_i_uniform(tn_i_rng *r, double lo, double hi) {
    const double u = (double)(tn_i_random(r) >> 11) * 0x1p-53;
    return lo + (hi - lo) * u;
}

int64_t tn_i_pick(tn_i_rng *r, int64_t lo, int64_t hi) {
    if (hi <= lo) return lo;
    const uint64_t span = (uint64_t)hi - (uint64_t)lo + 1; /* 0: all of int64_t */
    const uint64_t x = tn_i_random(r);
    return (int64_t)((uint64_t)lo + (span ? x % span : x));
}

void tn_i_sample_shape(tn_i_rng *r, tn_type *t, int dtype, int min_rank, int max_rank) {
    memset(t, 0, sizeof *t);
    t->dtype = dtype;
    t->rank = (int32_t)tn_i_pick(r, min_rank, max_rank);
    int64_t room = TN_SAMPLE_ELEMENTS;
    for (int i = 0; i < t->rank; i++) {
        t->dim[i] = tn_i_pick(r, 1, room < 5 ? room : 5);
        room /= t->dim[i];
    }
    if (t->rank > 0 && tn_i_pick(r, 0, 9) == 0) t->dim[tn_i_pick(r, 0, t->rank - 1)] = 0;
}

void tn_i_case_shape(tn_i_rng *r, tn_i_case *c, uint32_t i, int dtype, int min_rank, int max_rank) {
    tn_i_sample_shape(r, &c->in[i], dtype, min_rank, max_rank);
    if (c->nin <= i) c->nin = i + 1;
}

void tn_i_case_alike(tn_i_case *c, uint32_t i, uint32_t j, int dtype) {
    c->in[i] = c->in[j];
    c->in[i].dtype = dtype;
    if (c->nin <= i) c->nin = i + 1;
}

int64_t *tn_i_case_ints(tn_i_case *c, uint32_t n) {
    if (n > sizeof c->ints / sizeof c->ints[0] - c->nints) return NULL;
    int64_t *room = c->ints + c->nints;
    memset(room, 0, n * sizeof *room);
    c->nints += n;
    return room;
}

bool tn_i_case_list(tn_i_case *c, uint32_t k, uint32_t n, const int64_t *v) {
    int64_t *room = tn_i_case_ints(c, n);
    if (!room) return false;
    if (n) memcpy(room, v, n * sizeof *v);
    c->p[k] = (tn_i_param){.kind = TN_K_INTS, .n = n, .u.ints = room};
    return true;
}

/* Of integers the nearest whole number; of few bits it wraps. */
void tn_i_put(int dtype, void *data, int64_t at, double x) {
    const double whole = x != x ? 0 : rint(x), least = dtype == TN_I64 || dtype == TN_U64 ? -0x1p62 : INT32_MIN;
    const double most = dtype == TN_I64 || dtype == TN_U64 ? 0x1p62 : dtype == TN_I32 ? INT32_MAX : UINT32_MAX;
    if (tn_i_is_int(dtype)) x = fmin(fmax(whole, least), most);
    tn_i_element_set(dtype, (char *)data + at * (int64_t)tn_i_dtype_size(dtype), x);
}

static bool far_enough(const tn_i_domain *d, double x) {
    if ((d->at & TN_AT_ZERO) && fabs(x) < d->apart) return false;
    return !((d->at & TN_AT_INTEGERS) && fabs(x - rint(x)) < d->apart);
}

double tn_i_sample_number(tn_i_rng *r, const tn_i_domain *d, int dtype) {
    const bool unset = d->lo == 0 && d->hi == 0;
    const double lo = unset ? -2 : d->lo, hi = unset ? 2 : d->hi;
    const bool whole = !tn_i_is_float(dtype);
    tn_i_domain kept = *d;
    if (whole) kept.at &= ~(unsigned)TN_AT_INTEGERS; /* a whole number cannot be far from one */
    double x = lo;
    for (int tries = 0; tries < 1000; tries++) {
        x = whole ? (double)tn_i_pick(r, (int64_t)ceil(lo), (int64_t)floor(hi)) : tn_i_uniform(r, lo, hi);
        if (far_enough(&kept, x)) break;
    }
    return x;
}

void tn_i_fill_domain(tn_i_rng *r, const tn_i_case *c, uint32_t i, void *data) {
    const int dtype = c->in[i].dtype;
    const int64_t n = tn_i_count(&c->in[i]);
    for (int64_t k = 0; k < n; k++)
        tn_i_put(dtype, data, k,
                 dtype == TN_BOOL ? (double)tn_i_pick(r, 0, 1) : tn_i_sample_number(r, &c->domain[i], dtype));
}

void tn_i_fill_apart(tn_i_rng *r, const tn_i_case *c, uint32_t i, void *data) {
    const int dtype = c->in[i].dtype;
    const int64_t n = tn_i_count(&c->in[i]);
    int64_t order[TN_SAMPLE_ELEMENTS];
    if (n > TN_SAMPLE_ELEMENTS || !tn_i_is_float(dtype)) {
        tn_i_fill_domain(r, c, i, data);
        return;
    }
    for (int64_t k = 0; k < n; k++) { /* a random permutation, one place at a time */
        const int64_t at = tn_i_pick(r, 0, k);
        order[k] = order[at];
        order[at] = k;
    }
    for (int64_t k = 0; k < n; k++)
        tn_i_put(dtype, data, k, 0.05 * (double)(order[k] - n / 2) + tn_i_uniform(r, -0.01, 0.01));
}

void tn_i_fill_factors(tn_i_rng *r, const tn_i_case *c, uint32_t i, void *data) {
    const int64_t n = tn_i_count(&c->in[i]);
    for (int64_t k = 0; k < n; k++) {
        const double x = tn_i_uniform(r, 0.75, 1.25);
        const int64_t kind = tn_i_pick(r, 0, 19);
        tn_i_put(c->in[i].dtype, data, k, kind == 0 ? 0 : kind % 2 ? x : -x);
    }
}
