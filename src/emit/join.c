/* Arrays side by side, as C: copies of runs, or vectors that are put together. */
#include "emit/steps_emit.h"

#include "exec/strides.h"

#include <inttypes.h>
#include <string.h>

static void strides_at(const tn_i_plan *p, tn_i_var v, int64_t *stride) {
    const tn_i_place *k = &p->place[v];
    if (k->stride == TN_DENSE)
        tn_i_dense_strides(p->f->val[v].type, stride);
    else
        memcpy(stride, p->number + k->stride, (size_t)p->f->val[v].type->rank * sizeof *stride);
}

bool tn_i_joins_runs(const tn_i_plan *p, const tn_i_step *s) {
    enum { MOST = 16, LEAST_BYTES = 32 };
    const tn_i_eqn *e = &p->f->eqn[s->eqn];
    if (s->kind != TN_STEP_KERNEL || e->prim->id != TN_P_concatenate || e->nin > MOST) return false;
    if (p->place[e->out].stride != TN_DENSE) return false;
    for (uint32_t i = 0; i < e->nin; i++) {
        const tn_type *t = p->f->val[tn_i_in(p->f, e)[i]].type;
        int64_t stride[TN_MAX_RANK], run = 1, outer = 1;
        strides_at(p, tn_i_in(p->f, e)[i], stride);
        for (int d = t->rank; d-- > tn_i_p(e)[0].u.i;) {
            if (t->dim[d] > 1 && stride[d] != run && t->rank > 1) return false;
            run *= t->dim[d];
        }
        for (int d = 0; d < tn_i_p(e)[0].u.i; d++) outer *= t->dim[d];
        if (run == 0 || (outer > 1 && run * (int64_t)tn_i_dtype_size(t->dtype) < LEAST_BYTES)) return false;
    }
    return true;
}

/* ---- copies ------------------------------------------------------------------------------------------ */

/* A vector whose elements are not next to each other. */
static void join_apart(tn_i_module *m, const tn_i_plan *p, tn_i_var v, int64_t stride, int64_t at) {
    const tn_type *t = p->f->val[v].type;
    const char *type = tn_i_c_type(t->dtype);
    tn_i_text_put(&m->text,
                  "for (int64_t k = 0; k < INT64_C(%" PRId64 "); k++) ((%s *)(to + INT64_C(%" PRId64
                  ")))[k] = ((const %s *)",
                  t->dim[0], type, at, type);
    tn_i_emit_address(m, &p->place[v]);
    tn_i_text_put(&m->text, ")[k * INT64_C(%" PRId64 ")];\n", stride);
}

/* A loop for each dimension in front. */
static void join_runs(tn_i_module *m, const tn_i_plan *p, const tn_i_eqn *e) {
    const tn_type *out = p->f->val[e->out].type;
    const int along = (int)tn_i_p(e)[0].u.i;
    const int64_t size = (int64_t)tn_i_dtype_size(out->dtype);
    int64_t to[TN_MAX_RANK], from[TN_MAX_RANK], at = 0;
    tn_i_dense_strides(out, to);
    tn_i_text_put(&m->text, "{ char *const to = (char *)");
    tn_i_emit_address(m, &p->place[e->out]);
    tn_i_text_put(&m->text, ";\n");
    for (int d = 0; d < along; d++)
        tn_i_text_put(&m->text, "for (int64_t i%d = 0; i%d < INT64_C(%" PRId64 "); i%d++) {\n", d, d, out->dim[d], d);
    for (uint32_t i = 0; i < e->nin; i++) {
        const tn_i_var v = tn_i_in(p->f, e)[i];
        const tn_type *t = p->f->val[v].type;
        int64_t run = 1;
        strides_at(p, v, from);
        for (int d = along; d < t->rank; d++) run *= t->dim[d];
        if (t->rank == 1 && run > 1 && from[0] != 1) {
            join_apart(m, p, v, from[0], at * size);
            at += run;
            continue;
        }
        tn_i_text_put(&m->text, "memcpy(to + INT64_C(%" PRId64 ")", at * size);
        for (int d = 0; d < along; d++) tn_i_text_put(&m->text, " + i%d * INT64_C(%" PRId64 ")", d, to[d] * size);
        tn_i_text_put(&m->text, ", (const char *)");
        tn_i_emit_address(m, &p->place[v]);
        for (int d = 0; d < along; d++) tn_i_text_put(&m->text, " + i%d * INT64_C(%" PRId64 ")", d, from[d] * size);
        tn_i_text_put(&m->text, ", %" PRId64 "u);\n", run * size);
        at += t->dim[along] * to[along];
    }
    for (int d = 0; d < along; d++) tn_i_text_put(&m->text, "}\n");
    tn_i_text_put(&m->text, "}\n");
}

/* ---- few numbers --------------------------------------------------------------------------------------- */

enum { MOST_NUMBERS = 128 };

/* Few numbers, of vectors: they are stored as they will be read, vector by vector, for whoever reads a vector that two
 * stores have written waits until both are in the cache. */
static bool few_numbers(const tn_i_module *m, const tn_i_plan *p, const tn_i_eqn *e) {
    const tn_type *t = p->f->val[e->out].type;
    return t->rank == 1 && t->dim[0] <= MOST_NUMBERS && tn_i_is_float(t->dtype) &&
           m->bytes >= 2 * (int)tn_i_dtype_size(t->dtype);
}

/* Element `at` of the result is element *k of operand *i. */
static void find_element(const tn_i_plan *p, const tn_i_eqn *e, int64_t at, uint32_t *i, int64_t *k) {
    for (*i = 0; at >= p->f->val[tn_i_in(p->f, e)[*i]].type->dim[0]; (*i)++)
        at -= p->f->val[tn_i_in(p->f, e)[*i]].type->dim[0];
    *k = at;
}

static int64_t stride_of(const tn_i_plan *p, const tn_i_eqn *e, uint32_t i) {
    int64_t stride[TN_MAX_RANK];
    strides_at(p, tn_i_in(p->f, e)[i], stride);
    return stride[0];
}

/* Elements at .. at + n: what each operand has of them, over what those behind it have. */
static void put_numbers(tn_i_module *m, const tn_i_plan *p, const tn_i_eqn *e, const char *type, int lanes, int64_t at,
                        int64_t n) {
    uint32_t i, last;
    int64_t k, end;
    find_element(p, e, at, &i, &k);
    find_element(p, e, at + n - 1, &last, &end);
    if (i == last && n == lanes && stride_of(p, e, i) == 1) {
        tn_i_text_put(&m->text, "%sx%d_load(s%u + %" PRId64 ")", type, lanes, (unsigned)i, k);
        return;
    }
    for (uint32_t j = i; j <= last; j++) {
        const int64_t size = p->f->val[tn_i_in(p->f, e)[j]].type->dim[0];
        tn_i_text_put(&m->text, "%sx%d_box(s%u, %" PRId64 ", %" PRId64 ", 0, %" PRId64 ", ", type, lanes, (unsigned)j,
                      stride_of(p, e, j), k, size);
        k -= size;
    }
    tn_i_text_put(&m->text, "(%sx%d){0}", type, lanes);
    for (uint32_t j = i; j <= last; j++) tn_i_text_put(&m->text, ")");
}

static void join_numbers(tn_i_module *m, const tn_i_plan *p, const tn_i_eqn *e) {
    const tn_type *t = p->f->val[e->out].type;
    const char *type = tn_i_c_type(t->dtype);
    const int lanes = m->bytes / (int)tn_i_dtype_size(t->dtype);
    m->lanes |= 1u << lanes;
    tn_i_text_put(&m->text, "{ %s *const to = (%s *)", type, type);
    tn_i_emit_address(m, &p->place[e->out]);
    for (uint32_t i = 0; i < e->nin; i++) {
        tn_i_text_put(&m->text, ";\nconst %s *const s%u = (const %s *)", type, (unsigned)i, type);
        tn_i_emit_address(m, &p->place[tn_i_in(p->f, e)[i]]);
    }
    tn_i_text_put(&m->text, ";\n");
    for (int64_t at = 0, n; at < t->dim[0]; at += n) {
        n = t->dim[0] - at < lanes ? t->dim[0] - at : lanes;
        tn_i_text_put(&m->text, "%sx%d_%s(to + %" PRId64, type, lanes, n == lanes ? "store" : "put", at);
        if (n < lanes) tn_i_text_put(&m->text, ", 1, %" PRId64, n);
        tn_i_text_put(&m->text, ", ");
        put_numbers(m, p, e, type, lanes, at, n);
        tn_i_text_put(&m->text, ");\n");
    }
    tn_i_text_put(&m->text, "}\n");
}

void tn_i_emit_joined(tn_i_module *m, const tn_i_plan *p, const tn_i_step *s) {
    const tn_i_eqn *e = &p->f->eqn[s->eqn];
    (few_numbers(m, p, e) ? join_numbers : join_runs)(m, p, e);
}
