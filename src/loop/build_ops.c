/* Making loop programs: operations. */
#include "loop/inside.h"
#include "prims/ids.h"

#include <string.h>

static int dtype_of(const tn_i_l_builder *b, uint32_t x) {
    return b->failed || x >= b->p->nop ? TN_F64 : b->p->op[x].dtype;
}

/* An operation that must have this operand. */
static uint32_t emit_of(tn_i_l_builder *b, tn_i_l_op o, uint32_t x, const tn_i_affine *e) {
    if (!b->failed && x == TN_L_NONE) tn_i_l_fail(b, TN_ERULE, "an operand is missing");
    return tn_i_l_emit(b, o, e);
}

static tn_i_l_op unary(int kind, int dtype, uint32_t x) {
    tn_i_l_op o = tn_i_l_blank(kind, dtype);
    o.in[0] = x;
    return o;
}

uint32_t tn_i_l_number(tn_i_l_builder *b, int dtype, uint64_t bits) {
    tn_i_l_op o = tn_i_l_blank(TN_L_NUMBER, dtype);
    const size_t size = tn_i_dtype_size(dtype);
    o.bits = size == 8 ? bits : bits & (((uint64_t)1 << size * 8) - 1);
    return tn_i_l_emit(b, o, NULL);
}

uint32_t tn_i_l_number_f64(tn_i_l_builder *b, int dtype, double x) {
    uint64_t bits = 0;
    const float f = (float)x;
    if (dtype == TN_F64)
        memcpy(&bits, &x, sizeof x);
    else if (dtype == TN_F32)
        memcpy(&bits, &f, sizeof f);
    else
        bits = dtype == TN_BOOL ? x != 0 : (uint64_t)(int64_t)x;
    return tn_i_l_number(b, dtype, bits);
}

uint32_t tn_i_l_index(tn_i_l_builder *b, int dtype, tn_i_affine e) {
    return tn_i_l_emit(b, tn_i_l_blank(TN_L_INDEX, dtype), &e);
}

uint32_t tn_i_l_within(tn_i_l_builder *b, int64_t lo, tn_i_affine e, int64_t hi) {
    tn_i_l_op o = tn_i_l_blank(TN_L_WITHIN, TN_BOOL);
    o.lo = lo;
    o.hi = hi;
    return tn_i_l_emit(b, o, &e);
}

/* A number that operations see as it is, whatever mode the processor is in (subnormal ones may be zeros to it). */
static bool is_number(const tn_i_l_builder *b, uint32_t k) {
    if (k >= b->p->nop) return false; /* that is an error */
    const tn_i_l_op *o = &b->p->op[k];
    const uint64_t exponent = o->dtype == TN_F64 ? UINT64_C(0x7ff) << 52 : UINT64_C(0xff) << 23;
    return o->kind == TN_L_NUMBER && (!tn_i_is_float(o->dtype) || o->bits & exponent || !(o->bits & (exponent - 1)));
}

/* Operation o, or what a number chooses, or the integer or the bool that it is of numbers. */
static uint32_t folded(tn_i_l_builder *b, tn_i_l_op o) {
    static const int64_t strides[2] = {1, 1};
    uint64_t x[2] = {0}, out = 0;
    if (o.code == TN_L_select && is_number(b, o.in[0])) return o.in[b->p->op[o.in[0]].bits & 1 ? 1 : 2];
    bool numbers = o.nin <= 2 && !tn_i_is_float(o.dtype);
    for (int i = 0; i < o.nin && numbers; i++) {
        numbers = is_number(b, o.in[i]);
        x[i] = b->p->op[o.in[i]].bits;
    }
    tn_i_strip *strip = numbers ? tn_i_l_body(b->p, &o) : NULL;
    if (!strip) return tn_i_l_emit(b, o, NULL);
    strip(1, (const void *const[2]){&x[0], &x[1]}, strides, &out, 1);
    return tn_i_l_number(b, o.dtype, out);
}

static uint32_t map(tn_i_l_builder *b, tn_i_l_code code, int dtype, uint32_t x, uint32_t y, uint32_t z) {
    tn_i_l_op o = tn_i_l_blank(TN_L_MAP, dtype);
    o.code = (uint8_t)code;
    o.nin = tn_i_l_rows[code].nin;
    o.in[0] = x;
    if (o.nin > 1) o.in[1] = y;
    if (o.nin > 2) o.in[2] = z;
    for (int i = 0; i < o.nin; i++)
        if (!b->failed && o.in[i] == TN_L_NONE) tn_i_l_fail(b, TN_ERULE, "an operand is missing");
    return b->failed ? TN_L_NONE : folded(b, o);
}

uint32_t tn_i_l_map(tn_i_l_builder *b, tn_i_l_code code, uint32_t x, uint32_t y, uint32_t z) {
    const tn_i_l_row *r = &tn_i_l_rows[code];
    return map(b, code, r->result == TN_L_BOOL ? TN_BOOL : dtype_of(b, r->nin > 1 ? y : x), x, y, z);
}

uint32_t tn_i_l_convert(tn_i_l_builder *b, int dtype, uint32_t x) {
    return map(b, TN_L_convert, dtype, x, TN_L_NONE, TN_L_NONE);
}

uint32_t tn_i_l_bits(tn_i_l_builder *b, int dtype, uint32_t x) {
    return map(b, TN_L_bits, dtype, x, TN_L_NONE, TN_L_NONE);
}

uint32_t tn_i_l_in_memory(tn_i_l_builder *b, int dtype, uint32_t x) {
    const tn_i_l_code code = tn_i_l_as(dtype);
    if (b->failed || code == TN_L_fn) return x;
    if (x < b->p->nop && b->p->op[x].kind == TN_L_MAP && b->p->op[x].code == code) return x;
    return tn_i_l_map(b, code, x, TN_L_NONE, TN_L_NONE);
}

uint32_t tn_i_l_fold_first(tn_i_l_builder *b, int fold, int dtype, uint32_t x) {
    if (fold != TN_FOLD_SUM || !tn_i_is_float(dtype)) return x;
    return tn_i_l_map(b, TN_L_add, tn_i_l_number(b, dtype, 0), x, TN_L_NONE);
}

uint32_t tn_i_l_fn(tn_i_l_builder *b, int dtype, int prim, int64_t param, uint32_t nin, const uint32_t *in) {
    if (b->failed) return TN_L_NONE;
    if (prim < 0 || prim >= TN_NPRIMS || nin > 3 || nin == 0) {
        tn_i_l_fail(b, TN_ERULE, "this is no elementwise primitive");
        return TN_L_NONE;
    }
    tn_i_l_op o = tn_i_l_blank(TN_L_MAP, dtype);
    o.code = TN_L_fn;
    o.nin = (uint8_t)nin;
    o.which = (uint32_t)prim;
    o.lo = param;
    for (uint32_t i = 0; i < nin; i++) o.in[i] = in[i];
    return emit_of(b, o, in[0], NULL);
}

/* ---- memory ---- */

static uint32_t access(tn_i_l_builder *b, tn_i_l_op o, const tn_i_l_where *w) {
    if (b->failed) return TN_L_NONE;
    if (w->array >= b->p->narray) {
        tn_i_l_fail(b, TN_ERULE, "this is no array");
        return TN_L_NONE;
    }
    o.which = w->array;
    if (w->indexed) {
        o.in[0] = w->index;
        o.lo = w->by;
        o.hi = w->last;
    }
    if (w->masked) o.in[1] = w->mask;
    if ((w->indexed && w->index == TN_L_NONE) || (w->masked && w->mask == TN_L_NONE))
        tn_i_l_fail(b, TN_ERULE, "an operand is missing");
    return tn_i_l_emit(b, o, &w->e);
}

uint32_t tn_i_l_load(tn_i_l_builder *b, const tn_i_l_where *w) {
    if (b->failed) return TN_L_NONE;
    tn_i_l_op o = tn_i_l_blank(TN_L_LOAD, w->array < b->p->narray ? tn_i_holder(b->p->array[w->array].dtype) : 0);
    if (w->masked) {
        o.in[2] = w->otherwise;
        if (w->otherwise == TN_L_NONE) tn_i_l_fail(b, TN_ERULE, "an operand is missing");
    }
    return access(b, o, w);
}

static void store(tn_i_l_builder *b, const tn_i_l_where *w, bool update, uint8_t code, uint32_t x) {
    if (b->failed) return;
    tn_i_l_op o = tn_i_l_blank(TN_L_STORE, dtype_of(b, x));
    o.in[2] = x;
    o.update = update;
    o.code = code;
    if (x == TN_L_NONE) tn_i_l_fail(b, TN_ERULE, "an operand is missing");
    (void)access(b, o, w);
}

void tn_i_l_store(tn_i_l_builder *b, const tn_i_l_where *w, uint32_t x) { store(b, w, false, 0, x); }

void tn_i_l_update(tn_i_l_builder *b, const tn_i_l_where *w, tn_i_l_code code, uint32_t x) {
    store(b, w, true, (uint8_t)code, x);
}

void tn_i_l_store_like(tn_i_l_builder *b, const tn_i_l_op *o, const tn_i_l_where *w, uint32_t x) {
    store(b, w, o->update, o->code, x);
}

/* Element e of a constant array is known, or all of them are the same. */
static bool is_known(const tn_i_l_array *a, const tn_i_affine *e) {
    const char *const data = a->data;
    const size_t size = tn_i_dtype_size(a->dtype);
    if (!data || e->at < 0 || e->at >= a->count) return false;
    return e->n == 0 || memcmp(data, data + size, (size_t)(a->count - 1) * size) == 0;
}

uint32_t tn_i_l_load_at(tn_i_l_builder *b, uint32_t array, tn_i_affine e) {
    const tn_i_l_array *a = !b->failed && array < b->p->narray ? &b->p->array[array] : NULL;
    if (a && is_known(a, &e)) return tn_i_l_number(b, tn_i_holder(a->dtype), tn_i_l_get(a->dtype, a->data, e.at));
    return tn_i_l_load(b, &(tn_i_l_where){.array = array, .e = e});
}

void tn_i_l_store_at(tn_i_l_builder *b, uint32_t array, tn_i_affine e, uint32_t x) {
    tn_i_l_store(b, &(tn_i_l_where){.array = array, .e = e}, x);
}

/* ---- loops ---- */

uint32_t tn_i_l_carry(tn_i_l_builder *b, uint32_t first) {
    return emit_of(b, unary(TN_L_CARRY, dtype_of(b, first), first), first, NULL);
}

void tn_i_l_next(tn_i_l_builder *b, uint32_t carry, uint32_t x) {
    tn_i_l_op o = unary(TN_L_NEXT, 0, carry);
    o.in[1] = x;
    (void)emit_of(b, o, carry == TN_L_NONE ? carry : x, NULL);
}

void tn_i_l_while(tn_i_l_builder *b, uint32_t p) { (void)emit_of(b, unary(TN_L_WHILE, 0, p), p, NULL); }

uint32_t tn_i_l_last(tn_i_l_builder *b, uint32_t carry) {
    return emit_of(b, unary(TN_L_LAST, dtype_of(b, carry), carry), carry, NULL);
}

uint32_t tn_i_l_halves(tn_i_l_builder *b, int fold, uint32_t x) {
    tn_i_l_op o = unary(TN_L_HALVES, dtype_of(b, x), x);
    o.code = (uint8_t)fold;
    return emit_of(b, o, x, NULL);
}

uint32_t tn_i_l_join(tn_i_l_builder *b, uint32_t x, uint32_t y) {
    tn_i_l_op o = unary(TN_L_JOIN, dtype_of(b, x), x);
    o.in[1] = y;
    return emit_of(b, o, x == TN_L_NONE ? x : y, NULL);
}

/* ---- reductions ---- */

uint32_t tn_i_l_reduce(tn_i_l_builder *b, int fold, int dtype, int64_t count) {
    tn_i_l_op o = tn_i_l_blank(TN_L_REDUCE, dtype);
    o.code = (uint8_t)fold;
    o.hi = count;
    return tn_i_l_emit(b, o, NULL);
}

void tn_i_l_into(tn_i_l_builder *b, uint32_t reduce, tn_i_affine e, uint32_t x) {
    tn_i_l_op o = unary(TN_L_INTO, dtype_of(b, x), reduce);
    o.in[1] = x;
    (void)emit_of(b, o, reduce == TN_L_NONE ? reduce : x, &e);
}

uint32_t tn_i_l_total(tn_i_l_builder *b, uint32_t reduce, tn_i_affine e, int dtype) {
    tn_i_l_op o = unary(TN_L_TOTAL, dtype_of(b, reduce), reduce);
    if (!b->failed && reduce < b->p->nop && b->p->op[reduce].code >= TN_FOLD_ARGMAX) o.dtype = (uint8_t)dtype;
    return emit_of(b, o, reduce, &e);
}

/* ---- calls ---- */

void tn_i_l_call(tn_i_l_builder *b, uint32_t kernel) {
    if (b->failed) return;
    tn_i_l_op o = tn_i_l_blank(TN_L_CALL, 0);
    o.which = kernel;
    o.arg = (uint32_t)b->p->narg;
    if (kernel >= b->p->nkernel) tn_i_l_fail(b, TN_ERULE, "this is no kernel");
    (void)tn_i_l_emit(b, o, NULL);
}

static void argument(tn_i_l_builder *b, tn_i_l_arg a, const tn_i_affine *e) {
    if (b->failed) return;
    tn_i_loops *p = b->p;
    tn_i_l_op *call = p->nop ? &p->op[p->nop - 1] : NULL;
    if (!call || call->kind != TN_L_CALL) {
        tn_i_l_fail(b, TN_ERULE, "an argument without a call");
        return;
    }
    if (!tn_i_l_hold(b, e, &a.at)) return;
    if (p->narg >= UINT32_MAX - 1 ||
        !tn_i_grow(b->ctx, (void **)(void *)&p->arg, &p->carg, p->narg + 1, sizeof *p->arg)) {
        b->failed = true;
        return;
    }
    p->arg[p->narg++] = a;
    call->narg++;
}

void tn_i_l_call_array(tn_i_l_builder *b, int access, uint32_t array, tn_i_affine e, int64_t count) {
    if (!b->failed && array >= b->p->narray) tn_i_l_fail(b, TN_ERULE, "this is no array");
    argument(b, (tn_i_l_arg){.access = (uint8_t)access, .array = array, .count = count}, &e);
}

void tn_i_l_call_integer(tn_i_l_builder *b, tn_i_affine e) {
    argument(b, (tn_i_l_arg){.access = TN_L_INTEGER, .array = TN_L_NONE}, &e);
}
