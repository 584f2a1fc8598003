/* Where the entries of a plan's table of addresses are, once the plan is part of a loop program. */
#include "plan/plan.h"
#include "lower/nest_i.h"

tn_i_lower_place tn_i_lower_entry(const tn_i_lower_place *frame, uint32_t base) {
    return frame ? frame[base] : (tn_i_lower_place){.base = base};
}

tn_i_lower_place tn_i_lower_inside(const tn_i_lower_place *frame, const tn_i_place *k) {
    tn_i_lower_place q = tn_i_lower_entry(frame, k->base);
    q.at += k->offset;
    return q;
}

void tn_i_lower_walk(tn_i_lower_place *q, const tn_i_lower_steps *s, int64_t by) {
    const int64_t far = (s->n - 1) * (by < 0 ? -by : by);
    if (by == 0) return;
    q->more += far;
    q->first += (by < 0 ? far : 0) + by * s->first;
    if (s->loop == TN_L_NONE) return;
    q->walk[q->n].loop = s->loop;
    q->walk[q->n++].by = by * s->every;
}

tn_i_affine tn_i_lower_step(const tn_i_lower_steps *s, int64_t by, int64_t more) {
    const int64_t at = by * s->first + more;
    return s->loop == TN_L_NONE ? tn_i_affine_number(at) : tn_i_affine_loop(s->loop, by * s->every, at);
}

uint32_t tn_i_lower_array(tn_i_l_builder *b, const tn_i_lower_place *q, const char *name, int dtype, int role,
                          int64_t count, int64_t at, uint32_t align) {
    count += q->more / (int64_t)tn_i_dtype_size(dtype);
    if (q->base == TN_BASE_ABSOLUTE)
        return tn_i_l_const(b, name, dtype, count, (const void *)(uintptr_t)(q->at + at), false);
    return tn_i_l_array_new(b, name, dtype, role, count, q->base, q->at + at, align);
}

tn_i_affine tn_i_lower_first(tn_i_l_builder *b, const tn_i_lower_place *q, int dtype) {
    const int64_t size = (int64_t)tn_i_dtype_size(dtype);
    tn_i_affine e = tn_i_affine_number(q->first / size);
    for (uint32_t i = 0; i < q->n; i++) e = tn_i_affine_term(b, e, q->walk[i].loop, q->walk[i].by / size);
    return e;
}
