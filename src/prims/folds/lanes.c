#include "base/machine.h"
#include "prims/folds/lanes.h"

#include "prims/arrays/layout.h"

const tn_i_spec tn_i_scan_params[] = {
    {.name = "axis", .kind = TN_K_INT}, {.name = "reverse", .kind = TN_K_BOOL}, {.name = NULL}};

/* The dimensions other than the axis, of which neighbours that are one run in all arrays are joined. */
typedef struct box {
    int n;
    int64_t size[TN_MAX_RANK], x[TN_MAX_RANK], a[TN_MAX_RANK], out[TN_MAX_RANK];
} box;

static void push(box *b, int64_t size, int64_t x, int64_t a, int64_t out) {
    const int last = b->n - 1;
    if (last >= 0 && b->x[last] == x * size && b->a[last] == a * size && b->out[last] == out * size) {
        b->size[last] *= size;
        b->x[last] = x;
        b->a[last] = a;
        b->out[last] = out;
        return;
    }
    b->size[b->n] = size;
    b->x[b->n] = x;
    b->a[b->n] = a;
    b->out[b->n++] = out;
}

/* Lanes along the last dimension of the box, of which there is one. */
static void scan_along(tn_i_scan *scan, tn_i_lanes *k, const box *b, size_t size) {
    const int d = b->n - 1;
    const bool dense = b->x[d] == 1 && b->out[d] == 1 && (!k->a || b->a[d] == 1);
    const int64_t most = dense ? TN_M_SCAN_WIDTH : TN_SCAN_ABREAST;
    k->xl = b->x[d];
    k->al = k->a ? b->a[d] : b->x[d];
    k->ol = b->out[d];
    for (int64_t i = 0; i < b->size[d]; i += k->w) {
        k->w = b->size[d] - i < most ? b->size[d] - i : most;
        scan(k);
        k->x = tn_i_at(k->x, size, k->w * k->xl);
        if (k->a) k->a = tn_i_at(k->a, size, k->w * k->al);
        k->out = tn_i_at_mut(k->out, size, k->w * k->ol);
    }
}

tn_status tn_i_scan_run(const tn_i_kernel *q, const tn_i_arr *x, const tn_i_arr *a, tn_i_scan *scan) {
    const tn_type *t = x->type;
    const int axis = (int)q->p[TN_SCAN_AXIS].u.i;
    const size_t size = tn_i_dtype_size(t->dtype);
    const bool reverse = q->p[TN_SCAN_REVERSE].u.i != 0;
    const int64_t sign = reverse ? -1 : 1, first = reverse ? t->dim[axis] - 1 : 0;
    int64_t dense[TN_MAX_RANK], index[TN_MAX_RANK];
    box b; /* set part by part: all of it takes longer than a short scan */
    b.n = 0;
    if (tn_i_count(t) == 0) return TN_OK;
    tn_i_dense_strides(t, dense);
    for (int d = 0; d < t->rank; d++)
        if (d != axis && t->dim[d] > 1) push(&b, t->dim[d], x->stride[d], a ? a->stride[d] : x->stride[d], dense[d]);
    if (b.n == 0) push(&b, 1, 0, 0, 0);
    for (int d = 0; d < b.n; d++) index[d] = 0;
    tn_i_lanes k = {.n = t->dim[axis], .xs = sign * x->stride[axis], .os = sign * dense[axis]};
    k.as = a ? sign * a->stride[axis] : k.xs;
    for (int d;;) {
        int64_t from = first * x->stride[axis], by = a ? first * a->stride[axis] : 0, to = first * dense[axis];
        for (d = 0; d < b.n - 1; d++) {
            from += index[d] * b.x[d];
            by += index[d] * b.a[d];
            to += index[d] * b.out[d];
        }
        k.x = tn_i_at(x->data, size, from);
        k.a = a ? tn_i_at(a->data, size, by) : NULL;
        k.out = tn_i_at_mut(q->out->data, size, to);
        scan_along(scan, &k, &b, size);
        for (d = b.n - 2; d >= 0 && ++index[d] == b.size[d]; d--) index[d] = 0;
        if (d < 0) return TN_OK;
    }
}

/* ---- C text ---- */

/* The last dimension behind the axis: so many elements lie side by side, and 64 of them are scanned at once. */
static int beside(const tn_type *t, int axis) {
    for (int d = t->rank - 1; d > axis; d--)
        if (t->dim[d] > 1) return d;
    return -1;
}

static void put_place(tn_i_text *t, const tn_type *type, const tn_i_arr *a, int axis, int along) {
    tn_i_text_put(t, "[at * (%lld) + ", (long long)a->stride[axis]);
    tn_i_c_at_axes(t, "i", type, a->stride, ~(1u << axis) & ~(along < 0 ? 0 : 1u << along));
    if (along >= 0) tn_i_text_put(t, " + (first + l) * (%lld)", (long long)a->stride[along]);
    tn_i_text_put(t, "]");
}

static void put_begin(tn_i_text *t, const char *type, const tn_i_c_state *state, bool many) {
    for (; state->name; state++)
        if (many)
            tn_i_text_put(t, "%s %ss[64];\nfor (int l = 0; l < 64; l++) %ss[l] = %s;\n", type, state->name, state->name,
                          state->begin);
        else
            tn_i_text_put(t, "%s %s = %s;\n", type, state->name, state->begin);
}

/* One element: the states are variables while it is dealt with. */
static void put_element(const tn_i_c_kernel *k, const tn_i_c_scanned *s, const char *type, int axis, int along) {
    const tn_type *t = k->in[s->x].type;
    const int operand[2] = {s->x, s->a};
    const tn_i_c_state *state = s->state;
    for (int q = 0; along >= 0 && state[q].name; q++)
        tn_i_text_put(k->t, "%s %s = %ss[l];\n", type, state[q].name, state[q].name);
    for (int i = 0; i < 2 && operand[i] >= 0; i++) {
        tn_i_text_put(k->t, "const %s %c = in%d", type, i ? 'a' : 'x', operand[i]);
        put_place(k->t, t, &k->in[operand[i]], axis, along);
        tn_i_text_put(k->t, ";\n");
    }
    tn_i_text_put(k->t, "%sout0", s->each);
    put_place(k->t, t, &k->out[0], axis, along);
    tn_i_text_put(k->t, " = (%s)y;\n", tn_i_c_name(t->dtype));
    for (int q = 0; along >= 0 && state[q].name; q++)
        tn_i_text_put(k->t, "%ss[l] = %s;\n", state[q].name, state[q].name);
}

/* Floats are summed as double, as the kernels do. */
void tn_i_c_scan(const tn_i_c_kernel *k, const tn_i_c_scanned *s) {
    const tn_type *t = k->in[s->x].type;
    const int axis = (int)k->p[TN_SCAN_AXIS].u.i, along = beside(t, axis);
    const unsigned others = ~(1u << axis) & ~(along < 0 ? 0 : 1u << along);
    const char *type = tn_i_is_float(t->dtype) ? "double" : "int64_t";
    const long long n = (long long)t->dim[axis], m = along < 0 ? 1 : (long long)t->dim[along];
    tn_i_c_open_axes(k->t, "i", t, others);
    if (along >= 0)
        tn_i_text_put(k->t,
                      "for (int64_t first = 0; first < %lld; first += 64) {\n"
                      "const int64_t width = %lld - first < 64 ? %lld - first : 64;\n",
                      m, m, m);
    put_begin(k->t, type, s->state, along >= 0);
    tn_i_text_put(k->t, "for (int64_t j = 0; j < %lld; j++) {\nconst int64_t at = ", n);
    if (k->p[TN_SCAN_REVERSE].u.i)
        tn_i_text_put(k->t, "%lld - j;\n", n - 1);
    else
        tn_i_text_put(k->t, "j;\n");
    if (along >= 0) tn_i_text_put(k->t, "TANSY_SIMD\nfor (int64_t l = 0; l < width; l++) {\n");
    put_element(k, s, type, axis, along);
    tn_i_text_put(k->t, along >= 0 ? "}\n}\n}\n" : "}\n");
    tn_i_c_close_axes(k->t, t, others);
}
