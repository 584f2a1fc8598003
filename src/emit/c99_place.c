/* Where values are, as C: pointers to arguments, to the workspace and to constants. */
#include "emit/c99.h"
#include "plan/stack.h"

#include <inttypes.h>
#include <string.h>

void tn_i_c99_strides(const tn_i_plan *p, const tn_type *t, const tn_i_place *k, int64_t *stride) {
    memset(stride, 0, TN_MAX_RANK * sizeof *stride);
    if (k->stride == TN_DENSE)
        tn_i_dense_strides(t, stride);
    else
        memcpy(stride, p->number + k->stride, (size_t)t->rank * sizeof *stride);
}

/* ---- constants ------------------------------------------------------------------------ */

/* The value that a chain of views begins with. */
static tn_i_var origin(const tn_fn *f, tn_i_var v) {
    while (f->val[v].def < f->neqn && !tn_i_constant_data(&f->eqn[f->val[v].def])) {
        const tn_i_eqn *e = &f->eqn[f->val[v].def];
        if (e->nin == 0) break;
        v = tn_i_in(f, e)[0];
    }
    return v;
}

static void put_constant(tn_i_c99 *w, tn_i_text *t, const tn_i_plan *p, tn_i_var v, const tn_i_place *k) {
    const tn_fn *f = p->f;
    const tn_i_var from = origin(f, v);
    const bool equation = f->val[from].def < f->neqn;
    const void *data = equation ? tn_i_constant_data(&f->eqn[f->val[from].def]) : &f->val[from].bits;
    const tn_type *type = f->val[from].type;
    const int64_t offset = data ? k->offset - (int64_t)(uintptr_t)data : -1;
    if (!data || offset < 0 || (size_t)offset >= tn_type_bytes(type) || type->dtype != f->val[v].type->dtype) {
        tn_i_c99_refuse(w, NULL, "a constant was not found");
        return;
    }
    const size_t size = tn_i_dtype_size(type->dtype);
    const int64_t first = offset / (int64_t)size;
    tn_i_text_put(t, first ? "(" : "");
    w->failed |= !tn_i_c_constant(&w->g, type->dtype, data, tn_i_count(type), t);
    if (first) tn_i_text_put(t, " + %" PRId64 ")", first);
}

/* ---- pointers ---------------------------------------------------------------------------- */

static const tn_type *argument_type(const tn_i_plan *p, uint32_t i) {
    return i < p->f->nin ? p->f->val[i].type : p->f->val[p->f->out[i - p->f->nin]].type;
}

int64_t tn_i_c99_unit(const tn_i_plan *p, tn_i_var v, const tn_i_place *k) {
    const tn_type *t = p->f->val[v].type;
    return tn_i_c99_is_stack(t) && k->stride == TN_DENSE ? (int64_t)sizeof(tn_i_handle)
                                                         : (int64_t)tn_i_dtype_size(t->dtype);
}

void tn_i_c99_pointer(tn_i_c99 *w, tn_i_text *t, const tn_i_plan *p, tn_i_var v, const tn_i_place *k, bool write) {
    const tn_type *type = p->f->val[v].type;
    const char *name = tn_i_c99_is_stack(type) && k->stride == TN_DENSE ? "tansy_stack" : tn_i_c_name(type->dtype);
    const char *is_const = write ? "" : "const ";
    if (tn_i_count(type) == 0) {
        tn_i_text_put(t, "(%s%s *)(void *)w", is_const, name);
        return;
    }
    if (k->base == TN_BASE_ABSOLUTE) {
        put_constant(w, t, p, v, k);
        return;
    }
    if (k->base == TN_BASE_ARENA) {
        tn_i_text_put(t, "(%s%s *)(void *)(w + %" PRId64 ")", is_const, name, k->offset);
        return;
    }
    const uint32_t i = k->base - TN_BASE_ARGUMENTS;
    const tn_type *of = argument_type(p, i);
    const bool input = i < p->f->nin;
    const int64_t size = (int64_t)tn_i_dtype_size(type->dtype);
    const bool same = of->dtype == type->dtype && !tn_i_has_steps(of) && !tn_i_has_steps(type);
    if (same && k->offset % size == 0) {
        if (input && write)
            tn_i_text_put(t, "((%s *)a%u", name, (unsigned)i);
        else
            tn_i_text_put(t, "(%s%u", input ? "a" : "r", (unsigned)(input ? i : i - p->f->nin));
        if (k->offset)
            tn_i_text_put(t, " %s %" PRId64, k->offset < 0 ? "-" : "+",
                          (k->offset < 0 ? -k->offset : k->offset) / size);
        tn_i_text_put(t, ")");
        return;
    }
    tn_i_text_put(t, "(%s%s *)(%svoid *)((%sunsigned char *)%s%u + %" PRId64 ")", is_const, name, is_const, is_const,
                  input ? "a" : "r", (unsigned)(input ? i : i - p->f->nin), k->offset);
}

/* ---- functions ------------------------------------------------------------------------------ */

void tn_i_c99_function(tn_i_c99 *w, tn_i_text *t, const tn_i_plan *p) {
    size_t i = 0;
    if (p == w->root) {
        tn_i_text_put(t, "%s_main", w->name);
        return;
    }
    while (i < w->root->nnested && w->root->nested[i] != p) i++;
    tn_i_text_put(t, "%s_part%zu", w->name, i);
}

static void put_parameter(tn_i_text *t, const tn_type *type, const char *letter, uint32_t i, bool input) {
    const bool stack = tn_i_c99_is_stack(type);
    tn_i_text_put(t, "%s%s *%s%u, ", input ? "const " : "", stack ? "void" : tn_i_c_name(type->dtype), letter,
                  (unsigned)i);
}

void tn_i_c99_parameters(tn_i_c99 *w, tn_i_text *t, const tn_i_plan *p) {
    for (uint32_t i = 0; i < p->f->nin; i++) put_parameter(t, p->f->val[i].type, "a", i, true);
    for (uint32_t j = 0; j < p->f->nout; j++) put_parameter(t, p->f->val[p->f->out[j]].type, "r", j, false);
    tn_i_text_put(t, "unsigned char *w, unsigned char *s%s%s", w->stacks ? ", tansy_stacks *stacks" : "",
                  w->quiet ? ", int quiet" : "");
}
