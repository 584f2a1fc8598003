/* Making loop programs: arrays, affine expressions, and the end. */
#include "loop/inside.h"

#include <string.h>

void tn_i_l_fail(tn_i_l_builder *b, tn_status s, const char *why) {
    if (!b->failed) (void)tn_i_fail(b->ctx, s, NULL, "loop program: %s", why);
    b->failed = true;
}

void tn_i_l_begin(tn_i_l_builder *b, tn_ctx *c) {
    *b = (tn_i_l_builder){.ctx = c, .p = tn_i_alloc(c, sizeof *b->p), .forgotten = TN_L_NONE};
    b->failed = !b->p;
    if (b->failed) return;
    b->p->ctx = c;
    b->p->arena = TN_L_NONE;
    tn_i_arena_init(&b->p->memory, c);
}

tn_i_loops *tn_i_l_end_unchecked(tn_i_l_builder *b) {
    tn_i_loops *p = b->p;
    if (!b->failed && b->depth) tn_i_l_fail(b, TN_ERULE, "a block is open at the end");
    tn_i_free(b->ctx, (void *)b->name, b->cname * sizeof *b->name);
    b->p = NULL;
    if (!b->failed) return p;
    tn_i_l_free(p);
    return NULL;
}

tn_i_loops *tn_i_l_end(tn_i_l_builder *b) {
    tn_i_loops *p = tn_i_l_end_unchecked(b);
    if (!p || !b->ctx->check || (b->copied && p->nop == b->copied) || tn_i_l_check(p)) return p;
    tn_i_l_free(p);
    return NULL;
}

/* ---- arrays and kernels ---- */

/* Where it is in the table, or would be. */
static size_t slot_of(const tn_i_l_builder *b, const char *name) {
    size_t i = (size_t)tn_i_hash_u64(0, (uintptr_t)name) & (b->cname - 1);
    while (b->name[i] && b->name[i] != name) i = (i + 1) & (b->cname - 1);
    return i;
}

static bool taken(const tn_i_l_builder *b, const char *name) { return b->cname && b->name[slot_of(b, name)]; }

/* At most half full. */
static bool grow_names(tn_i_l_builder *b) {
    const char **const was = b->name;
    const size_t n = b->cname;
    if (2 * (b->nname + 1) <= n) return true;
    b->cname = n ? 2 * n : 32;
    if (!(b->name = tn_i_alloc_array(b->ctx, b->cname, sizeof *b->name))) {
        b->name = was;
        b->cname = n;
        return false;
    }
    for (size_t i = 0; i < n; i++)
        if (was[i]) b->name[slot_of(b, was[i])] = was[i];
    tn_i_free(b->ctx, (void *)was, n * sizeof *was);
    return true;
}

static bool take(tn_i_l_builder *b, const char *name) {
    if (!grow_names(b)) return false;
    const size_t i = slot_of(b, name);
    b->nname += !b->name[i];
    b->name[i] = name;
    return true;
}

/* A word, and not one that is there. */
static const char *name_of(tn_i_l_builder *b, const char *name) {
    char word[48];
    size_t n = 0;
    for (; name[n] && n < 32; n++) {
        const char c = name[n];
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        word[n] = letter || (n > 0 && c >= '0' && c <= '9') ? c : '_';
    }
    if (n == 0) word[n++] = 'a';
    const char *made = tn_i_string(b->ctx, word, n);
    for (uint32_t k = b->p->narray; made && taken(b, made); k++) {
        char digits[12];
        size_t d = 0, at = n;
        for (uint32_t i = k; d == 0 || i; i /= 10) digits[d++] = (char)('0' + i % 10);
        word[at++] = '_';
        while (d > 0) word[at++] = digits[--d];
        made = tn_i_string(b->ctx, word, at);
    }
    if (!made) b->failed = true;
    return made;
}

uint32_t tn_i_l_array_as(tn_i_l_builder *b, tn_i_l_array a) {
    if (b->failed) return TN_L_NONE;
    tn_i_loops *p = b->p;
    if (!take(b, a.name) ||
        !tn_i_grow(b->ctx, (void **)(void *)&p->array, &p->carray, (size_t)p->narray + 1, sizeof *p->array)) {
        b->failed = true;
        return TN_L_NONE;
    }
    if (a.base != TN_L_NONE && a.base >= p->nbase) p->nbase = a.base + 1;
    p->array[p->narray] = a;
    return p->narray++;
}

static uint32_t add_array(tn_i_l_builder *b, tn_i_l_array a, const char *name) {
    if (b->failed) return TN_L_NONE;
    a.name = name_of(b, name);
    return tn_i_l_array_as(b, a);
}

uint32_t tn_i_l_array_new(tn_i_l_builder *b, const char *name, int dtype, int role, int64_t count, uint32_t base,
                          int64_t at, uint32_t align) {
    if (role == TN_L_OUT && base == b->forgotten) role = TN_L_TEMP;
    return add_array(b,
                     (tn_i_l_array){.dtype = (uint8_t)dtype,
                                    .role = (uint8_t)role,
                                    .align = align ? align : (uint32_t)tn_i_dtype_size(dtype),
                                    .count = count,
                                    .base = base,
                                    .at = at},
                     name);
}

uint32_t tn_i_l_const(tn_i_l_builder *b, const char *name, int dtype, int64_t count, const void *data, bool copy) {
    const uint32_t size = (uint32_t)tn_i_dtype_size(dtype);
    if (b->failed) return TN_L_NONE;
    if (copy || count == 0) {
        size_t bytes;
        if (count < 0 || !tn_i_mul((size_t)count, size, &bytes)) {
            tn_i_l_fail(b, TN_EOVERFLOW, "a constant is too large");
            return TN_L_NONE;
        }
        void *own = tn_i_arena_alloc(&b->p->memory, bytes ? bytes : 1);
        if (!own) {
            b->failed = true;
            return TN_L_NONE;
        }
        if (bytes) memcpy(own, data, bytes);
        data = own;
    }
    return add_array(b,
                     (tn_i_l_array){.dtype = (uint8_t)dtype,
                                    .role = TN_L_CONST,
                                    .align = size,
                                    .count = count,
                                    .base = TN_L_NONE,
                                    .data = data,
                                    .own = copy},
                     name);
}

void tn_i_l_arena(tn_i_l_builder *b, uint32_t base, int64_t bytes) {
    if (b->failed) return;
    b->p->arena = base;
    b->p->bytes = bytes;
    if (base >= b->p->nbase) b->p->nbase = base + 1;
}

uint32_t tn_i_l_scratch(tn_i_l_builder *b, const char *name, int dtype, int64_t count, uint32_t align) {
    if (b->failed) return TN_L_NONE;
    tn_i_loops *p = b->p;
    const int64_t to = align ? align : 64;
    int64_t bytes, at, end;
    if (p->arena == TN_L_NONE) tn_i_l_arena(b, p->nbase, 0);
    if (!tn_i_add_i64(p->bytes, to - 1, &at) || !tn_i_mul_i64(count, (int64_t)tn_i_dtype_size(dtype), &bytes) ||
        ((at -= at % to), !tn_i_add_i64(at, bytes, &end))) {
        tn_i_l_fail(b, TN_EOVERFLOW, "the arena is too large");
        return TN_L_NONE;
    }
    p->bytes = end;
    return tn_i_l_array_new(b, name, dtype, TN_L_SCRATCH, count, p->arena, at, (uint32_t)to);
}

uint32_t tn_i_l_kernel_new(tn_i_l_builder *b, const char *name, tn_i_l_kernel_fn *run, const void *data) {
    if (b->failed) return TN_L_NONE;
    tn_i_loops *p = b->p;
    const char *own = tn_i_string(b->ctx, name, strlen(name));
    for (uint32_t i = 0; own && i < p->nkernel; i++)
        if (p->kernel[i].name == own && p->kernel[i].run == run && p->kernel[i].data == data) return i;
    if (!own ||
        !tn_i_grow(b->ctx, (void **)(void *)&p->kernel, &p->ckernel, (size_t)p->nkernel + 1, sizeof *p->kernel)) {
        b->failed = true;
        return TN_L_NONE;
    }
    p->kernel[p->nkernel] = (tn_i_l_kernel){own, run, data};
    return p->nkernel++;
}

/* ---- affine expressions ---- */

tn_i_affine tn_i_affine_term(tn_i_l_builder *b, tn_i_affine a, uint32_t loop, int64_t by) {
    uint32_t i = 0;
    while (i < a.n && a.term[i].loop < loop) i++;
    if (i < a.n && a.term[i].loop == loop) {
        if (!tn_i_add_i64(a.term[i].by, by, &a.term[i].by)) tn_i_l_fail(b, TN_EOVERFLOW, "an address is too large");
        if (a.term[i].by == 0) memmove(a.term + i, a.term + i + 1, (--a.n - i) * sizeof *a.term);
        return a;
    }
    if (by == 0) return a;
    if (a.n == TN_L_TERMS) {
        tn_i_l_fail(b, TN_ELIMIT, "an address counts too many loops");
        return a;
    }
    memmove(a.term + i + 1, a.term + i, (a.n++ - i) * sizeof *a.term);
    a.term[i] = (tn_i_l_term){loop, by};
    return a;
}

tn_i_affine tn_i_affine_add(tn_i_l_builder *b, tn_i_affine a, int64_t by, tn_i_affine x) {
    int64_t more;
    bool ok = tn_i_mul_i64(by, x.at, &more) && tn_i_add_i64(a.at, more, &a.at);
    for (uint32_t i = 0; ok && i < x.n; i++) {
        ok = tn_i_mul_i64(by, x.term[i].by, &more);
        if (ok) a = tn_i_affine_term(b, a, x.term[i].loop, more);
    }
    if (!ok) tn_i_l_fail(b, TN_EOVERFLOW, "an address is too large");
    return a;
}

bool tn_i_l_hold(tn_i_l_builder *b, const tn_i_affine *e, tn_i_l_affine *a) {
    tn_i_loops *p = b->p;
    if (e->n == 0) {
        *a = (tn_i_l_affine){.at = e->at};
        return true;
    }
    tn_i_affine sorted = {.at = e->at};
    for (uint32_t i = 0; i < e->n; i++) {
        const uint32_t loop = e->term[i].loop;
        if (loop >= p->nop || p->op[loop].kind != TN_L_FOR) tn_i_l_fail(b, TN_ERULE, "an address counts no loop");
        if (b->failed) return false;
        sorted = tn_i_affine_term(b, sorted, loop, e->term[i].by);
    }
    *a = (tn_i_l_affine){.at = e->at, .first = (uint32_t)p->nterm, .n = sorted.n};
    if (b->failed) return false;
    if (sorted.n == 0) {
        a->first = 0;
        return true;
    }
    if (p->nterm > UINT32_MAX - sorted.n ||
        !tn_i_grow(b->ctx, (void **)(void *)&p->term, &p->cterm, p->nterm + sorted.n, sizeof *p->term)) {
        b->failed = true;
        return false;
    }
    memcpy(p->term + p->nterm, sorted.term, sorted.n * sizeof *p->term);
    p->nterm += sorted.n;
    return true;
}

/* ---- operations ---- */

uint32_t tn_i_l_emit(tn_i_l_builder *b, tn_i_l_op o, const tn_i_affine *e) {
    if (b->failed) return TN_L_NONE;
    tn_i_loops *p = b->p;
    if (e && !tn_i_l_hold(b, e, &o.at)) return TN_L_NONE;
    for (int i = 0; i < 3; i++)
        if (o.in[i] != TN_L_NONE &&
            (o.in[i] >= p->nop || !(tn_i_l_has_value(&p->op[o.in[i]]) || p->op[o.in[i]].kind == TN_L_REDUCE))) {
            tn_i_l_fail(b, TN_ERULE, "an operand is no value");
            return TN_L_NONE;
        }
    if (p->nop >= TN_L_NONE - 1) {
        tn_i_l_fail(b, TN_ELIMIT, "too many operations");
        return TN_L_NONE;
    }
    if (!tn_i_grow(b->ctx, (void **)(void *)&p->op, &p->cop, (size_t)p->nop + 1, sizeof *p->op)) {
        b->failed = true;
        return TN_L_NONE;
    }
    p->op[p->nop] = o;
    return p->nop++;
}

static void open_block(tn_i_l_builder *b, uint32_t k) {
    if (b->failed) return;
    if (b->depth == TN_L_DEPTH) {
        tn_i_l_fail(b, TN_ELIMIT, "blocks are nested too deep");
        return;
    }
    b->open[b->depth++] = k;
}

uint32_t tn_i_l_for_up_to(tn_i_l_builder *b, int64_t most, tn_i_affine e, uint32_t count) {
    tn_i_l_op o = tn_i_l_blank(TN_L_FOR, 0);
    o.in[0] = count;
    o.hi = most;
    const uint32_t k = tn_i_l_emit(b, o, &e);
    open_block(b, k);
    return k;
}

uint32_t tn_i_l_for_n(tn_i_l_builder *b, int64_t n) { return tn_i_l_for_up_to(b, n, tn_i_affine_number(n), TN_L_NONE); }

uint32_t tn_i_l_for_ever(tn_i_l_builder *b) {
    return tn_i_l_for_up_to(b, INT64_MAX, tn_i_affine_number(INT64_MAX), TN_L_NONE);
}

static tn_i_l_op *loop_of(tn_i_l_builder *b, uint32_t loop) {
    if (b->failed) return NULL;
    if (loop < b->p->nop && b->p->op[loop].kind == TN_L_FOR) return &b->p->op[loop];
    tn_i_l_fail(b, TN_ERULE, "this is no loop");
    return NULL;
}

void tn_i_l_set_vector(tn_i_l_builder *b, uint32_t loop, int width) {
    tn_i_l_op *o = loop_of(b, loop);
    if (o) o->vector = (uint8_t)width;
}

void tn_i_l_set_parallel(tn_i_l_builder *b, uint32_t loop) {
    tn_i_l_op *o = loop_of(b, loop);
    if (o) o->parallel = true;
}

void tn_i_l_set_unroll(tn_i_l_builder *b, uint32_t loop, int by) {
    tn_i_l_op *o = loop_of(b, loop);
    if (o) o->unroll = (uint8_t)by;
}

void tn_i_l_if(tn_i_l_builder *b, uint32_t p) {
    tn_i_l_op o = tn_i_l_blank(TN_L_IF, 0);
    o.in[0] = p;
    open_block(b, tn_i_l_emit(b, o, NULL));
}

void tn_i_l_else(tn_i_l_builder *b) {
    if (b->failed) return;
    if (!b->depth || b->p->op[b->open[b->depth - 1]].kind != TN_L_IF) {
        tn_i_l_fail(b, TN_ERULE, "else without an if");
        return;
    }
    const uint32_t k = tn_i_l_emit(b, tn_i_l_blank(TN_L_ELSE, 0), NULL);
    if (b->failed) return;
    b->p->op[k].which = b->open[b->depth - 1];
    b->p->op[b->open[b->depth - 1]].to = k;
    b->open[b->depth - 1] = k;
}

void tn_i_l_close(tn_i_l_builder *b) {
    if (b->failed) return;
    if (!b->depth) {
        tn_i_l_fail(b, TN_ERULE, "no block is open");
        return;
    }
    const uint32_t opener = b->open[b->depth - 1];
    tn_i_l_op o = tn_i_l_blank(TN_L_END, 0);
    o.to = b->p->op[opener].kind == TN_L_ELSE ? b->p->op[opener].which : opener;
    const uint32_t k = tn_i_l_emit(b, o, NULL);
    if (b->failed) return;
    b->p->op[opener].to = k;
    b->depth--;
}
