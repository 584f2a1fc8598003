/* Loops, a step after the other. */
#include "naive_i.h"

#include "control/loops/loop.h"

#include <stdlib.h>
#include <string.h>

/* ---- values ------------------------------------------------------------------------ */

static tn_type entry_of(const tn_type *t) {
    tn_type x = *t;
    (void)tn_i_entry_type(t, &x);
    return x;
}

void *tn_naive_new(const tn_type *t) {
    if (tn_i_has_steps(t)) return calloc(1, sizeof(tn_naive_tree));
    const size_t bytes = tn_type_bytes(t);
    return malloc(bytes ? bytes : 1);
}

void tn_naive_drop(const tn_type *t, void *value) {
    if (value && tn_i_has_steps(t)) {
        tn_naive_tree *s = value;
        const tn_type x = entry_of(t);
        for (int64_t i = 0; i < s->n; i++) tn_naive_drop(&x, s->entry[i]);
        free(s->entry);
    }
    free(value);
}

void *tn_naive_copy(const tn_type *t, const void *value) {
    void *copy = tn_naive_new(t);
    if (!copy || !tn_i_has_steps(t)) {
        if (copy && tn_type_bytes(t)) memcpy(copy, value, tn_type_bytes(t));
        return copy;
    }
    const tn_naive_tree *from = value;
    tn_naive_tree *s = copy;
    const tn_type x = entry_of(t);
    s->endless = from->endless;
    for (int64_t i = 0; i < from->n; i++)
        if (!tn_naive_put(t, s, i, tn_naive_copy(&x, from->entry[i]))) {
            tn_naive_drop(t, copy);
            return NULL;
        }
    return copy;
}

const void *tn_naive_entry(const tn_type *t, const void *value, int64_t i) {
    if (tn_i_has_steps(t)) {
        const tn_naive_tree *s = value;
        return s->n && s->endless ? s->entry[0] : i < s->n ? s->entry[i] : NULL;
    }
    const tn_type x = entry_of(t);
    return (const char *)value + (size_t)i * tn_type_bytes(&x);
}

bool tn_naive_put(const tn_type *t, void *value, int64_t i, void *entry) {
    const tn_type x = entry_of(t);
    if (!entry) return false;
    if (!tn_i_has_steps(t)) {
        const size_t bytes = tn_type_bytes(&x);
        if (bytes) memcpy((char *)value + (size_t)i * bytes, entry, bytes);
        free(entry);
        return true;
    }
    tn_naive_tree *s = value;
    if (i >= s->room) {
        void **more = realloc(s->entry, (size_t)(2 * i + 8) * sizeof *more);
        if (!more) {
            tn_naive_drop(&x, entry);
            return false;
        }
        s->entry = more;
        s->room = 2 * i + 8;
    }
    for (; s->n <= i; s->n++) s->entry[s->n] = NULL; /* a loop that runs backwards begins at the end */
    s->entry[i] = entry;
    return true;
}

/* ---- steps -------------------------------------------------------------------------- */

/* One loop while it runs: the body's inputs and outputs, types of the equation's. */
typedef struct running {
    const tn_fn *f, *body;
    const tn_i_eqn *e;
    void **value;
    tn_naive_errors *off;
    const void **in;
    void **out;
    uint32_t ncarry, carry_in, carry_out; /* the first carry among in and out, which are owned */
    bool index;
    int64_t number;
} running;

static const tn_type *operand_type(const running *r, uint32_t i) { return r->f->val[tn_i_in(r->f, r->e)[i]].type; }
static void *operand(const running *r, uint32_t i) { return r->value[tn_i_in(r->f, r->e)[i]]; }
static const tn_type *result_type(const running *r, uint32_t j) { return r->f->val[r->e->out + j].type; }

/* The carry operands from `carry0` on enter, those before them from `const0` on are the body's consts. */
static tn_status enter(running *r, uint32_t const0, uint32_t carry0) {
    r->in = calloc(r->body->nin + 1u, sizeof *r->in);
    r->out = calloc(r->body->nout + 1u, sizeof *r->out);
    if (!r->in || !r->out) return TN_ENOMEM;
    if (r->index) r->in[0] = &r->number;
    for (uint32_t i = const0; i < carry0; i++) r->in[r->index + i - const0] = operand(r, i);
    r->carry_in = r->index + carry0 - const0;
    for (uint32_t k = 0; k < r->ncarry; k++)
        if (!(r->in[r->carry_in + k] = tn_naive_copy(operand_type(r, carry0 + k), operand(r, carry0 + k))))
            return TN_ENOMEM;
    return TN_OK;
}

static void drop_carry(running *r) {
    for (uint32_t k = 0; k < r->ncarry; k++) {
        tn_naive_drop(result_type(r, k), (void *)(uintptr_t)r->in[r->carry_in + k]);
        r->in[r->carry_in + k] = NULL;
    }
}

/* One step: the carries go on, the ys become entries of the equation's outputs from y0 on. */
static tn_status step(running *r, uint32_t y0) {
    tn_status s = tn_naive_body(r->body, r->in, r->out, r->off);
    if (s != TN_OK) return s;
    drop_carry(r);
    for (uint32_t k = 0; k < r->ncarry; k++) r->in[r->carry_in + k] = r->out[k];
    for (uint32_t j = r->ncarry; j < r->body->nout; j++) {
        const uint32_t y = y0 + j - r->ncarry;
        if (!tn_naive_put(result_type(r, y), r->value[r->e->out + y], r->number, r->out[j])) s = TN_ENOMEM;
    }
    return s;
}

static tn_status leave(running *r, tn_status s) {
    if (r->in && s == TN_OK)
        for (uint32_t k = 0; k < r->ncarry; k++) {
            r->value[r->e->out + k] = (void *)(uintptr_t)r->in[r->carry_in + k];
            r->in[r->carry_in + k] = NULL;
        }
    if (r->in) drop_carry(r);
    free(r->in);
    free(r->out);
    return s;
}

static bool make_stacks(running *r, uint32_t y0) {
    bool ok = true;
    for (uint32_t j = y0; j < r->e->nout; j++)
        ok &= (r->value[r->e->out + j] = tn_naive_new(result_type(r, j))) != NULL;
    return ok;
}

tn_status tn_naive_scan(const tn_fn *f, const tn_i_eqn *e, void **value, tn_naive_errors *off) {
    tn_i_scan k;
    if (!tn_i_scan_read(tn_i_p(e), e->nin, &k)) return TN_EINVAL;
    running r = {.f = f, .body = k.body, .e = e, .value = value, .off = off, .ncarry = k.ncarry, .index = k.index};
    const int64_t n = k.counted ? *(const int64_t *)operand(&r, 0) : k.length;
    const bool endless = n == INT64_MAX && k.counted && !k.index && k.ncarry == 0 && k.nx > 0;
    tn_status s = make_stacks(&r, k.ncarry) ? enter(&r, k.const0, k.carry0) : TN_ENOMEM;
    for (int64_t at = 0; at < (endless ? 1 : n) && s == TN_OK; at++) {
        r.number = k.reverse ? n - 1 - at : at;
        for (uint32_t i = k.x0; i < e->nin && s == TN_OK; i++) {
            const void *x = tn_naive_entry(operand_type(&r, i), operand(&r, i), r.number);
            r.in[tn_i_scan_inner(&k, i)] = x;
            if (!x) s = TN_EINVAL;
        }
        if (s == TN_OK) s = step(&r, k.ncarry);
    }
    for (uint32_t j = 0; endless && j < e->nout; j++) ((tn_naive_tree *)value[e->out + j])->endless = true;
    return leave(&r, s);
}

static tn_status goes_on(const running *r, const tn_i_while *w, const void **in, bool *on) {
    void *out = NULL;
    for (uint32_t i = 0; i < w->ncond; i++) in[i] = operand(r, i);
    for (uint32_t k = 0; k < w->ncarry; k++) in[w->ncond + k] = r->in[r->carry_in + k];
    const tn_status s = tn_naive_body(w->cond, in, &out, r->off);
    *on = s == TN_OK && *(const uint8_t *)out;
    free(out);
    return s;
}

tn_status tn_naive_while(const tn_fn *f, const tn_i_eqn *e, void **value, tn_naive_errors *off) {
    tn_i_while w;
    if (!tn_i_while_read(tn_i_p(e), e->nin, &w)) return TN_EINVAL;
    running r = {.f = f, .body = w.body, .e = e, .value = value, .off = off, .ncarry = w.ncarry, .index = w.index};
    const void **in = calloc(w.cond->nin + 1u, sizeof *in);
    tn_status s = in && make_stacks(&r, w.ncarry) ? enter(&r, w.const0, w.carry0) : TN_ENOMEM;
    bool on = false;
    if (s == TN_OK) s = goes_on(&r, &w, in, &on);
    for (; s == TN_OK && on; r.number++) {
        s = step(&r, w.y0);
        if (s == TN_OK) s = goes_on(&r, &w, in, &on);
    }
    if (s == TN_OK && w.count) *(int64_t *)value[e->out + w.n_out] = r.number;
    free(in);
    return leave(&r, s);
}
