/* Arrays that depend on no input, such as the basis of a Jacobian, the slices and concatenations of it, and masks: they
 * are computed here, once, and are constants of the program; numbers that depend on none are literals.  Only where each
 * element is exact, so that it does not matter who computes it, and where reading it costs no more than making it. */
#include "base/machine.h"
#include "base/fp_mode.h"
#include "opt/fuse.h"
#include "opt/equations.h"
#include "prims/ids.h"
#include "prims/arrays/layout.h"

#include <string.h>

enum { MOST_OPERANDS = 8, ARRAY = 1, NUMBER = 2 };

typedef struct known {
    const tn_fn *f;
    void **data;    /* of each value: its elements, when it is known */
    uint8_t *worth; /* of each value: ARRAY, it is computed, not only repeated or counted; NUMBER, a literal is made */
} known;

static bool plain(const tn_i_eqn *e) {
    const tn_prim *p = e->prim;
    if (p->flags & (TN_F_NOFOLD | TN_F_COSTLY | TN_F_LOOP | TN_F_OFFLOAD | TN_F_INLINE)) return false;
    return !(p->effect && p->effect(tn_i_p(e))) && !p->scratch && !p->body;
}

bool tn_i_cheap(const tn_i_eqn *e, int in, int out) {
    const tn_prim *p = e->prim;
    return plain(e) && (p->flags & TN_F_ELEMENTWISE) && !p->vector[in] && !p->vector[out] && p->weight <= 4;
}

static bool exact(const tn_i_eqn *e, const tn_type *in, const tn_type *out) {
    const tn_prim *p = e->prim;
    if (!plain(e)) return false;
    if (p->id == TN_P_iota || p->id == TN_P_concatenate) return true;
    if (p->flags & TN_F_VIEW) return e->nin == 1 && p->kernel;
    return tn_i_cheap(e, in->dtype, out->dtype);
}

static size_t bytes_of(const known *k, tn_i_var v) {
    const size_t n = tn_type_bytes(k->f->val[v].type);
    return n < 8 ? 8 : n;
}

static bool run(known *k, const tn_i_eqn *e) {
    const tn_i_var *in = tn_i_in(k->f, e);
    tn_i_arr arr[MOST_OPERANDS], out = {.type = k->f->val[e->out].type, .data = k->data[e->out]};
    memset(arr, 0, sizeof arr);
    for (uint32_t i = 0; i < e->nin; i++) {
        arr[i].type = k->f->val[in[i]].type;
        arr[i].data = k->data[in[i]];
        tn_i_dense_strides(arr[i].type, arr[i].stride);
    }
    tn_i_dense_strides(out.type, out.stride);
    if (e->prim->kernel) {
        char message[256];
        const tn_i_kernel q = {.prim = e->prim,
                               .p = tn_i_p(e),
                               .nin = e->nin,
                               .nout = 1,
                               .in = arr,
                               .out = &out,
                               .threads = 1,
                               .message = message};
        return e->prim->kernel(&q) == TN_OK;
    }
    tn_i_strip *strip = e->prim->strip[arr[e->prim->strip_operand].type->dtype];
    const void *at[MOST_OPERANDS] = {NULL};
    int64_t stride[MOST_OPERANDS] = {0};
    for (uint32_t i = 0; i < e->nin; i++) {
        at[i] = arr[i].data;
        stride[i] = arr[i].type->rank > 0;
    }
    if (strip) strip(tn_i_count(out.type), at, stride, out.data, 1);
    return strip != NULL;
}

static bool small(const tn_type *t) {
    return !tn_i_has_steps(t) && tn_i_count(t) > 0 && tn_i_count(t) <= TN_M_CONSTANT_ELEMENTS;
}

/* A literal has the bits of one number, as memory does. */
static bool is_number(const tn_type *t) { return t->rank == 0 && !tn_i_has_steps(t) && !tn_i_is_held(t->dtype); }

/* Computes e's output where it can; false after an error. */
static bool know(known *k, const tn_i_eqn *e) {
    const tn_i_var *in = tn_i_in(k->f, e);
    const tn_type *t = e->nout == 1 ? k->f->val[e->out].type : NULL;
    if (!t || !small(t) || (t->rank == 0 && !is_number(t)) || e->nin > MOST_OPERANDS) return true;
    if (!exact(e, e->nin ? k->f->val[in[0]].type : t, t) || (e->nin == 0 && e->prim->id != TN_P_iota)) return true;
    bool worth =
        e->prim->flags & TN_F_ELEMENTWISE || (e->prim->id == TN_P_concatenate && tn_i_count(t) >= TN_M_CONSTANT_JOINED);
    for (uint32_t i = 0; i < e->nin; i++) {
        const tn_i_var v = in[i];
        if (tn_i_is_literal(k->f, v) && !k->data[v]) {
            if (!(k->data[v] = tn_i_alloc(k->f->ctx, bytes_of(k, v)))) return false;
            memcpy(k->data[v], &k->f->val[v].bits, 8);
        }
        if (!k->data[v]) return true;
        worth |= k->worth[v] == ARRAY;
    }
    if (!(k->data[e->out] = tn_i_alloc(k->f->ctx, bytes_of(k, e->out)))) return false;
    memset(k->data[e->out], 0, bytes_of(k, e->out));
    k->worth[e->out] = t->rank == 0 ? NUMBER : worth ? ARRAY : 0;
    const tn_i_fp_mode mode = tn_i_fp_enter();
    const bool ran = run(k, e);
    tn_i_fp_leave(mode);
    if (!ran) {
        tn_i_free(k->f->ctx, k->data[e->out], bytes_of(k, e->out));
        k->data[e->out] = NULL;
        k->worth[e->out] = 0;
    }
    return true;
}

/* An array that is a constant already. */
static bool remember(known *k, const tn_i_eqn *e) {
    const void *data = tn_i_constant_data(e);
    const tn_type *t = data ? k->f->val[e->out].type : NULL;
    if (!t || !small(t) || t->rank == 0) return true;
    if (!(k->data[e->out] = tn_i_alloc(k->f->ctx, bytes_of(k, e->out)))) return false;
    memcpy(k->data[e->out], data, tn_type_bytes(t));
    return true;
}

/* All elements have the bits of the first one, which a literal can have. */
static bool is_uniform(const tn_type *t, const char *data) {
    const size_t size = tn_i_dtype_size(t->dtype), n = tn_type_bytes(t);
    return !tn_i_is_held(t->dtype) && memcmp(data, data + size, n - size) == 0;
}

static bool put(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, tn_i_var *map, const void *with) {
    const known *k = with;
    if (e->nout != 1 || !k->data[e->out] || !k->worth[e->out]) return false;
    const tn_type *t = f->val[e->out].type;
    uint64_t bits = 0;
    if (t->rank && !is_uniform(t, k->data[e->out])) {
        map[e->out] = tn_i_constant(b, t, k->data[e->out]);
        return true;
    }
    memcpy(&bits, k->data[e->out], tn_i_dtype_size(t->dtype));
    const tn_i_var x = tn_i_literal(b, t->dtype, bits);
    map[e->out] = t->rank ? tn_i_broadcast(b, x, t->rank, t->dim, NULL) : x;
    return true;
}

static tn_fn *rewrite(const known *k) {
    const tn_fn *f = k->f;
    return tn_i_rewritten(f, NULL, f->neqn, put, k);
}

static bool of_literals(const tn_fn *f, const tn_i_eqn *e) {
    for (uint32_t i = 0; i < e->nin; i++)
        if (!tn_i_is_literal(f, tn_i_in(f, e)[i])) return false;
    return e->nin > 0 && e->nout == 1 && is_number(f->val[e->out].type);
}

static bool repeats_literal(const tn_fn *f, const tn_i_eqn *e) {
    return e->prim->id == TN_P_broadcast_in_dim && tn_i_is_literal(f, tn_i_in(f, e)[0]);
}

/* Nothing to compute without an iota, a constant, a literal that is repeated or an equation of literals. */
static bool counts(const tn_fn *f) {
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        const bool begins = e->prim->id == TN_P_iota || tn_i_constant_data(e) || repeats_literal(f, e);
        if (of_literals(f, e) || (begins && small(f->val[e->out].type))) return true;
    }
    return false;
}

tn_fn *tn_i_fold_constants(const tn_fn *f) {
    if (!counts(f)) return (tn_fn *)(uintptr_t)tn_i_fn_ref(f);
    tn_ctx *c = f->ctx;
    known k = {.f = f, .data = tn_i_alloc_array(c, f->nval, sizeof *k.data), .worth = tn_i_alloc(c, f->nval)};
    bool ok = k.data && k.worth, some = false;
    for (uint32_t i = 0; ok && i < f->neqn; i++) ok = remember(&k, &f->eqn[i]) && know(&k, &f->eqn[i]);
    for (uint32_t v = 0; ok && v < f->nval; v++) some |= k.data[v] && k.worth[v];
    tn_fn *g = !ok ? NULL : some ? rewrite(&k) : (tn_fn *)(uintptr_t)tn_i_fn_ref(f);
    for (uint32_t v = 0; k.data && v < f->nval; v++)
        if (k.data[v]) tn_i_free(c, k.data[v], bytes_of(&k, v));
    tn_i_free(c, k.data, f->nval * sizeof *k.data);
    tn_i_free(c, k.worth, f->nval);
    return g;
}
