/* The builder: typing, folding and value numbering of equations as they are emitted. */
#include "base/fp_mode.h"
#include "ir/depends.h"
#include "ir/params.h"
#include "prims/held.h"
#include "prims/ids.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Part of the hash stands beside the value, so that most misses and every move are decided without it. */
typedef struct tn_i_slot {
    uint32_t hash, var; /* var + 1; 0: empty */
} tn_i_slot;

const tn_type tn_i_no_type = {.dtype = TN_F64};

void tn_i_builder_init(tn_i_builder *b, tn_ctx *c) {
    *b = (tn_i_builder){.ctx = c, .regions = 1, .failed = c->refused != NULL};
    if (c->refused) (void)tn_i_fail(c, TN_EINVAL, NULL, "%s", c->refused);
}

void tn_i_builder_drop(tn_i_builder *b) {
    tn_ctx *c = b->ctx;
    if (b->eqn)
        for (size_t i = 0; i < b->neqn; i++) tn_i_params_unref(c, b->eqn[i].params);
    tn_i_free(c, b->val, b->cval * sizeof *b->val);
    tn_i_free(c, b->eqn, b->ceqn * sizeof *b->eqn);
    tn_i_free(c, b->pool, b->cpool * sizeof *b->pool);
    tn_i_free(c, b->slot, b->cslot * sizeof *b->slot);
    tn_i_free(c, b->out_type, b->cout_type * sizeof *b->out_type);
    tn_i_free(c, (void *)b->in_type, b->cin_type * sizeof *b->in_type);
    tn_i_free(c, b->vary, b->cvary * sizeof *b->vary);
    if (b->depends) tn_i_memo_free(b->depends);
    tn_i_free(c, b->depends, b->depends ? sizeof *b->depends : 0);
    *b = (tn_i_builder){.ctx = c, .failed = true};
}

void tn_i_builder_fail(tn_i_builder *b, tn_status s, const char *fmt, ...) {
    if (b->failed) return;
    b->failed = true;
    va_list ap;
    va_start(ap, fmt);
    (void)tn_i_vfail(b->ctx, s, b->loc, fmt, ap);
    va_end(ap);
}

/* ---- value numbering --------------------------------------------------------- */

/* Where strict_zero would change something: a factor that is known, finite and not 0 rules it out. */
bool tn_i_strict_matters(const tn_i_builder *b, const tn_prim *prim, uint32_t nin, const tn_i_var *in) {
    double k;
    if (!prim->strict || nin == 0 || !tn_i_is_float(b->val[in[0]].type->dtype)) return false;
    for (uint32_t i = 0; i < nin && i < 2; i++) /* a third is added */
        if (tn_i_known_f64(b, in[i], &k) && isfinite(k) && k != 0) return false;
    return true;
}

static uint64_t hash_literal(int dtype, uint64_t bits) { return tn_i_hash_u64((uint64_t)dtype + 1, bits); }

static uint64_t hash_eqn(const tn_prim *prim, uint64_t params, uint32_t region, uint32_t nin, const tn_i_var *in) {
    uint64_t h = tn_i_hash_u64((uint64_t)prim->id << 32 | region, params);
    return tn_i_hash(h, in, nin * sizeof *in);
}

static bool grow_slots(tn_i_builder *b) {
    if (2 * (b->nslot + 1) <= b->cslot) return true;
    size_t capacity = b->cslot ? 2 * b->cslot : 64;
    tn_i_slot *slot = tn_i_alloc_array(b->ctx, capacity, sizeof *slot);
    if (!slot) return false;
    for (size_t i = 0; i < b->cslot; i++) {
        if (!b->slot[i].var) continue;
        size_t at = b->slot[i].hash & (capacity - 1);
        while (slot[at].var) at = (at + 1) & (capacity - 1);
        slot[at] = b->slot[i];
    }
    tn_i_free(b->ctx, b->slot, b->cslot * sizeof *slot);
    b->slot = slot;
    b->cslot = capacity;
    return true;
}

static void remember(tn_i_builder *b, uint64_t hash, tn_i_var v) {
    size_t at = (uint32_t)hash & (b->cslot - 1);
    while (b->slot[at].var) at = (at + 1) & (b->cslot - 1);
    b->slot[at] = (tn_i_slot){.hash = (uint32_t)hash, .var = v + 1};
    b->nslot++;
}

static tn_i_var find_eqn(const tn_i_builder *b, uint64_t hash, const tn_prim *prim, const tn_i_param *p, uint32_t np,
                         uint32_t nin, const tn_i_var *in) {
    if (!b->cslot) return TN_NOVAR;
    for (size_t at = (uint32_t)hash & (b->cslot - 1); b->slot[at].var; at = (at + 1) & (b->cslot - 1)) {
        if (b->slot[at].hash != (uint32_t)hash) continue;
        tn_i_var v = b->slot[at].var - 1;
        if (b->val[v].def == TN_DEF_LITERAL) continue;
        const tn_i_eqn *e = &b->eqn[b->val[v].def];
        if (e->prim != prim || e->region != b->region || e->nin != nin) continue;
        if (nin && memcmp(b->pool + e->in, in, nin * sizeof *in) != 0) continue;
        if (np && !tn_i_params_equal(e->params->v, p, np)) continue;
        return v;
    }
    return TN_NOVAR;
}

/* ---- values -------------------------------------------------------------------- */

/* `like`, if given, is an interned type that t often equals. */
static tn_i_var push_val(tn_i_builder *b, const tn_type *t, const tn_type *like, uint32_t def) {
    if (b->nval >= TN_DEF_LITERAL - 1) {
        tn_i_builder_fail(b, TN_ELIMIT, "a program may hold at most 2^32 values");
        return TN_NOVAR;
    }
    const tn_type *type = like && tn_i_type_same(like, t) ? like : tn_i_type(b->ctx, t);
    if (!type || !tn_i_grow(b->ctx, (void **)&b->val, &b->cval, b->nval + 1, sizeof *b->val)) {
        b->failed = true;
        return TN_NOVAR;
    }
    b->val[b->nval] = (tn_i_val){.type = type, .def = def};
    return (tn_i_var)b->nval++;
}

tn_i_var tn_i_input(tn_i_builder *b, const tn_type *t, bool linear) {
    if (b->failed) return TN_NOVAR;
    if (!tn_i_type_valid(t)) {
        tn_i_builder_fail(b, TN_ETYPE,
                          "input %u has no valid type (dtype, rank 0..%d, dimensions >= 0, countable size)",
                          (unsigned)b->nin, TN_MAX_RANK);
        return TN_NOVAR;
    }
    tn_i_var v = push_val(b, t, NULL, TN_DEF_INPUT);
    if (v == TN_NOVAR) return v;
    b->val[v].linear = linear;
    b->nin++;
    b->nlin += linear;
    return v;
}

tn_i_var tn_i_literal(tn_i_builder *b, int dtype, uint64_t bits) {
    if (b->failed) return TN_NOVAR;
    if (!grow_slots(b)) {
        b->failed = true;
        return TN_NOVAR;
    }
    uint64_t hash = hash_literal(dtype, bits);
    for (size_t at = (uint32_t)hash & (b->cslot - 1); b->slot[at].var; at = (at + 1) & (b->cslot - 1)) {
        if (b->slot[at].hash != (uint32_t)hash) continue;
        const tn_i_val *val = &b->val[b->slot[at].var - 1];
        if (val->def == TN_DEF_LITERAL && val->type->dtype == dtype && val->bits == bits) return b->slot[at].var - 1;
    }
    tn_type t = tn_type_of((tn_dtype)dtype, 0, NULL);
    tn_i_var v = push_val(b, &t, NULL, TN_DEF_LITERAL);
    if (v == TN_NOVAR) return v;
    b->val[v].bits = bits;
    b->val[v].zero = tn_i_zero_bits(dtype, bits);
    remember(b, hash, v);
    return v;
}

static uint64_t f64_bits(double x) {
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static uint64_t f32_bits(float x) {
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static float to_nearest(double x) {
    const volatile double from = x; /* read behind the mode's change, not converted in front of it */
    const tn_i_fp_mode mode = tn_i_fp_enter();
    volatile float y = (float)from;
    tn_i_fp_leave(mode);
    return y;
}

tn_i_var tn_i_literal_f64(tn_i_builder *b, int dtype, double x) {
    switch (dtype) {
    case TN_F64: return tn_i_literal(b, dtype, f64_bits(x));
    case TN_F32: return tn_i_literal(b, dtype, f32_bits(to_nearest(x)));
    case TN_F16:
    case TN_BF16: return tn_i_literal(b, dtype, tn_i_half_of(dtype, x));
    case TN_U64:
        if (x >= 0x1p63) return tn_i_literal(b, dtype, (uint64_t)x);
        return tn_i_literal_i64(b, dtype, (int64_t)x);
    default: return tn_i_literal_i64(b, dtype, (int64_t)x);
    }
}

tn_i_var tn_i_literal_i64(tn_i_builder *b, int dtype, int64_t x) {
    switch (dtype) {
    case TN_BOOL: return tn_i_literal(b, dtype, x != 0);
    case TN_I32:
    case TN_U32: return tn_i_literal(b, dtype, (uint32_t)x);
    case TN_I64:
    case TN_U64: return tn_i_literal(b, dtype, (uint64_t)x);
    case TN_I8:
    case TN_U8: return tn_i_literal(b, dtype, (uint8_t)x);
    case TN_I16:
    case TN_U16: return tn_i_literal(b, dtype, (uint16_t)x);
    default: return tn_i_literal_f64(b, dtype, (double)x);
    }
}

const tn_i_eqn *tn_i_def(const tn_i_builder *b, tn_i_var v) {
    if (v == TN_NOVAR || b->val[v].def >= TN_DEF_LITERAL) return NULL;
    return &b->eqn[b->val[v].def];
}

bool tn_i_known_scalar(const tn_i_builder *b, tn_i_var v, uint64_t *bits) {
    const tn_i_eqn *e = tn_i_def(b, v);
    if (e && e->prim->id == TN_P_pvary) e = tn_i_def(b, v = b->pool[e->in]);
    if (e && e->prim->id == TN_P_broadcast_in_dim) v = b->pool[e->in];
    if (v == TN_NOVAR || b->val[v].def != TN_DEF_LITERAL) return false;
    *bits = b->val[v].bits;
    return true;
}

bool tn_i_known_f64(const tn_i_builder *b, tn_i_var v, double *x) {
    uint64_t bits;
    if (!tn_i_known_scalar(b, v, &bits)) return false;
    unsigned char at[sizeof bits];
    tn_i_put_bits(b->val[v].type->dtype, at, bits);
    *x = tn_i_element(b->val[v].type->dtype, at);
    return true;
}

/* ---- typing ---------------------------------------------------------------------- */

bool tn_i_outputs(tn_i_query *q, uint32_t n) {
    tn_i_builder *b = q->b;
    if (b) {
        if (!tn_i_grow(b->ctx, (void **)&b->out_type, &b->cout_type, n, sizeof *b->out_type)) {
            b->failed = true;
            return false;
        }
        q->out = b->out_type;
    } else if (n > q->nout)
        return false; /* a re-check brings room for the outputs that the equation has */
    q->nout = n;
    if (n) memset(q->out, 0, n * sizeof *q->out);
    return true;
}

bool tn_i_type_fail(tn_i_query *q, int operand, const char *fmt, ...) {
    char reason[384], operands[384] = "", text[TN_I_TYPE_TEXT];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(reason, sizeof reason, fmt, ap);
    va_end(ap);
    size_t at = 0;
    for (uint32_t i = 0; i < q->nin && i < 6 && at < sizeof operands; i++)
        at += (size_t)snprintf(operands + at, sizeof operands - at, "%s%s", i ? ", " : "",
                               tn_i_type_text(text, q->in[i]));
    if (q->nin > 6 && at < sizeof operands) (void)snprintf(operands + at, sizeof operands - at, ", ...");
    char which[32] = "";
    if (operand >= 0) (void)snprintf(which, sizeof which, "operand %d: ", operand);
    const tn_i_loc *loc = q->b ? q->b->loc : NULL;
    if (q->b) q->b->failed = true;
    (void)tn_i_fail(q->ctx, TN_ETYPE, loc, "%s: %s%s (operands: %s)", q->prim->name, which, reason, operands);
    return false;
}

/* Room for what operands are to vary over as well. */
static bool room_to_vary(tn_i_builder *b, tn_i_query *q) {
    q->vary = NULL;
    if (b->raw || !b->ctx->grid.naxes || !(q->prim->flags & TN_F_OVER) || !q->nin) return true;
    if (!tn_i_grow(b->ctx, (void **)&b->vary, &b->cvary, q->nin, sizeof *b->vary)) return false;
    memset(b->vary, 0, q->nin * sizeof *b->vary);
    q->vary = b->vary;
    return true;
}

static bool typed(tn_i_builder *b, tn_i_query *q, const tn_i_var *in) {
    if (!room_to_vary(b, q)) {
        b->failed = true;
        return false;
    }
    if (!tn_i_grow(b->ctx, (void **)(void *)&b->in_type, &b->cin_type, q->nin, sizeof *b->in_type)) {
        b->failed = true;
        return false;
    }
    for (uint32_t i = 0; i < q->nin; i++) b->in_type[i] = b->val[in[i]].type;
    q->in = b->in_type;
    for (uint32_t i = 0; i < q->nin && !(q->prim->flags & TN_F_STEPS); i++)
        if (tn_i_has_steps(q->in[i]))
            return tn_i_type_fail(q, (int)i, "has a dimension known only when its loop has run: only loops read it");
    if (q->prim->nin >= 0 && (uint32_t)q->prim->nin != q->nin)
        return tn_i_type_fail(q, -1, "takes %d operand%s, not %u", q->prim->nin, q->prim->nin == 1 ? "" : "s",
                              (unsigned)q->nin);
    if (!q->prim->type(q) || !tn_i_type_over(q, b->val, in)) {
        b->failed = true;
        return false;
    }
    for (uint32_t j = 0; j < q->nout && !(q->prim->flags & TN_F_STEPS); j++)
        if (tn_i_has_steps(&q->out[j]))
            return tn_i_type_fail(q, -1, "its result has a dimension that only a loop can know");
    return true;
}

/* ---- folding ----------------------------------------------------------------------- */

static bool computed_as_another(const tn_i_query *q) {
    const int out = q->out[0].dtype, in = q->in[0]->dtype;
    bool held = tn_i_is_held(out);
    for (uint32_t i = 0; i < q->nin; i++) held |= tn_i_is_held(q->in[i]->dtype);
    return held && !tn_i_loads_held(q->prim, in, out) && !tn_i_stores_held(q->prim, in, out);
}

/* A pure equation of literals that yields one scalar is computed by its own kernel, so a
 * folded program has the bits of an unfolded one. */
static tn_i_var fold(tn_i_builder *b, const tn_i_query *q, const tn_i_var *in) {
    const tn_prim *prim = q->prim;
    if (!(prim->flags & TN_F_ELEMENTWISE) || (prim->flags & TN_F_NOFOLD) || q->nin == 0 || q->nin > 3 || q->nout != 1 ||
        q->out[0].rank != 0)
        return TN_NOVAR;
    uint64_t value[3], result = 0;
    const void *data[3];
    tn_i_arr arr[3], out;
    memset(arr, 0, sizeof arr);
    memset(&out, 0, sizeof out);
    for (uint32_t i = 0; i < q->nin; i++) {
        if (b->val[in[i]].def != TN_DEF_LITERAL) return TN_NOVAR;
        value[i] = b->val[in[i]].bits;
        data[i] = &value[i];
        arr[i] = (tn_i_arr){.type = q->in[i], .data = &value[i]};
    }
    out = (tn_i_arr){.type = &q->out[0], .data = &result};
    if (computed_as_another(q))
        return tn_i_held_fold(q, value, &result) ? tn_i_literal(b, q->out[0].dtype, result) : TN_NOVAR;
    if (prim->kernel) {
        char message[256];
        tn_i_kernel k = {.prim = prim,
                         .p = q->p,
                         .nin = q->nin,
                         .nout = 1,
                         .in = arr,
                         .out = &out,
                         .threads = 1,
                         .message = message};
        const tn_i_fp_mode mode = tn_i_fp_enter();
        const tn_status status = prim->kernel(&k);
        tn_i_fp_leave(mode);
        if (status != TN_OK) return TN_NOVAR;
    } else {
        tn_i_strip *strip = prim->strip[q->in[prim->strip_operand]->dtype];
        const int64_t stride[3] = {0, 0, 0};
        if (!strip) return TN_NOVAR;
        const tn_i_fp_mode mode = tn_i_fp_enter();
        strip(1, data, stride, &result, 0);
        tn_i_fp_leave(mode);
    }
    return tn_i_literal(b, q->out[0].dtype, result);
}

/* ---- equations ----------------------------------------------------------------------- */

/* All operands of one of the primitive's linear sets are zeros (the checker's rule too). */
static bool image_of_zeros(const tn_i_builder *b, const tn_i_eqn *e) {
    for (int k = 0; k < 2 && e->prim->linear[k]; k++) {
        bool some = false, all = true;
        for (uint32_t i = 0; i < e->nin; i++) {
            const bool member = e->prim->linear[k] == TN_ALL || (i < 32 && (e->prim->linear[k] >> i & 1));
            some |= member;
            all &= !member || b->val[b->pool[e->in + i]].zero;
        }
        if (some && all) return true;
    }
    return false;
}

/* A nested program may compute values that do not depend on its linear operands: folding what is
 * linear must leave those alone. */
static void mark_nested(tn_i_builder *b, const tn_i_eqn *e) {
    uint8_t *in = tn_i_alloc(b->ctx, e->nin), *out = tn_i_alloc(b->ctx, e->nout);
    if (!b->depends && (b->depends = tn_i_alloc(b->ctx, sizeof *b->depends)) != NULL)
        tn_i_memo_init(b->depends, b->ctx);
    bool ok = in && out && b->depends;
    for (uint32_t i = 0; i < e->nin && ok; i++) in[i] = b->val[b->pool[e->in + i]].linear;
    ok = ok && tn_i_depends(b->depends, e, in, out);
    for (uint32_t j = 0; j < e->nout && ok; j++) b->val[e->out + j].linear = out[j];
    if (!ok) b->failed = true;
    tn_i_free(b->ctx, in, e->nin);
    tn_i_free(b->ctx, out, e->nout);
}

/* A linear image of zeros is zero; an equation is linear when an operand is. */
static void mark(tn_i_builder *b, const tn_i_eqn *e) {
    const bool zero = image_of_zeros(b, e);
    bool linear = false;
    for (uint32_t i = 0; i < e->nin; i++) linear |= b->val[b->pool[e->in + i]].linear;
    for (uint32_t j = 0; j < e->nout; j++) {
        b->val[e->out + j].linear = linear;
        b->val[e->out + j].zero = zero;
    }
    if (linear && (e->prim->split || e->prim->depends)) mark_nested(b, e);
}

static bool push_eqn(tn_i_builder *b, const tn_i_query *q, const tn_i_params *shared, const tn_i_var *in) {
    if (b->ctx->opt.max_equations && b->neqn >= b->ctx->opt.max_equations) {
        tn_i_builder_fail(b, TN_ELIMIT, "a program may have at most %u equations (tn_ctx_options.max_equations)",
                          (unsigned)b->ctx->opt.max_equations);
        return false;
    }
    if (b->npool + q->nin > UINT32_MAX - 1 || b->neqn >= TN_DEF_LITERAL - 1) {
        tn_i_builder_fail(b, TN_ELIMIT, "a program may hold at most 2^32 operands");
        return false;
    }
    uint32_t np = tn_i_params_count(q->prim);
    if (!tn_i_grow(b->ctx, (void **)&b->eqn, &b->ceqn, b->neqn + 1, sizeof *b->eqn) ||
        !tn_i_grow(b->ctx, (void **)&b->pool, &b->cpool, b->npool + q->nin + 1, sizeof *b->pool)) /* never NULL */
        return false;
    const tn_i_params *params = NULL;
    if (np) {
        params = shared ? tn_i_params_ref(shared) : tn_i_params_copy(b->ctx, q->p, np);
        if (!params) return false;
    }
    tn_i_eqn *e = &b->eqn[b->neqn++];
    *e = (tn_i_eqn){.prim = q->prim,
                    .params = params,
                    .loc = b->loc,
                    .in = (uint32_t)b->npool,
                    .nin = q->nin,
                    .nout = q->nout,
                    .out = (tn_i_var)b->nval,
                    .region = b->region,
                    .linear = b->linear && tn_i_strict_matters(b, q->prim, q->nin, in)};
    if (q->nin) memcpy(b->pool + b->npool, in, q->nin * sizeof *in);
    b->npool += q->nin;
    for (uint32_t j = 0; j < q->nout; j++)
        if (push_val(b, &q->out[j], q->nin ? q->in[0] : NULL, (uint32_t)(b->neqn - 1)) == TN_NOVAR) return false;
    if (b->region >= b->regions) b->regions = b->region + 1;
    mark(b, e);
    return true;
}

static tn_i_var emit(tn_i_builder *b, const tn_prim *prim, const tn_i_param *p, const tn_i_params *shared, uint32_t nin,
                     const tn_i_var *in);

/* The same with operands that vary over vary[i] as well (of programs within), or over `all` (vary NULL). */
static tn_i_var emit_varied(tn_i_builder *b, const tn_prim *prim, const tn_i_param *p, const tn_i_params *shared,
                            uint32_t nin, const tn_i_var *in, const uint32_t *vary, uint32_t all) {
    tn_i_var few[8], *x = nin <= 8 ? few : tn_i_alloc_array(b->ctx, nin, sizeof *x), v = TN_NOVAR;
    uint32_t some[8], *over = nin <= 8 ? some : tn_i_alloc_array(b->ctx, nin, sizeof *over);
    if (!x || !over) b->failed = true;
    for (uint32_t i = 0; i < nin && !b->failed; i++) over[i] = vary ? vary[i] : all;
    for (uint32_t i = 0; i < nin && !b->failed; i++)
        x[i] = !vary && b->val[in[i]].def == TN_DEF_LITERAL ? in[i] : tn_i_vary(b, in[i], over[i]);
    if (!b->failed) v = emit(b, prim, p, shared, nin, x);
    if (nin > 8) tn_i_free(b->ctx, x, nin * sizeof *x);
    if (nin > 8) tn_i_free(b->ctx, over, nin * sizeof *over);
    return v;
}

/* Whether some operands of a local primitive vary over less than others; *all: what they vary over together. */
static bool uneven(const tn_i_builder *b, const tn_prim *prim, uint32_t nin, const tn_i_var *in, uint32_t *all) {
    *all = 0;
    if (b->raw || !b->ctx->grid.naxes || prim->flags & TN_F_OVER) return false;
    for (uint32_t i = 0; i < nin; i++) *all |= tn_i_over(b->val[in[i]].type);
    for (uint32_t i = 0; i < nin; i++)
        if (b->val[in[i]].def != TN_DEF_LITERAL && tn_i_over(b->val[in[i]].type) != *all) return true;
    return false;
}

static bool wants_more(const tn_i_query *q) {
    for (uint32_t i = 0; q->vary && i < q->nin; i++)
        if (q->vary[i]) return true;
    return false;
}

static tn_i_var emit(tn_i_builder *b, const tn_prim *prim, const tn_i_param *p, const tn_i_params *shared, uint32_t nin,
                     const tn_i_var *in) {
    uint32_t all;
    if (b->failed) return TN_NOVAR;
    for (uint32_t i = 0; i < nin; i++)
        if (in[i] == TN_NOVAR) {
            tn_i_builder_fail(b, TN_EINVAL, "%s: operand %u is missing", prim->name, (unsigned)i);
            return TN_NOVAR;
        }
    if (uneven(b, prim, nin, in, &all)) return emit_varied(b, prim, p, shared, nin, in, NULL, all);
    tn_i_query q = {.ctx = b->ctx, .prim = prim, .p = p, .nin = nin, .b = b};
    if (!typed(b, &q, in)) return TN_NOVAR;
    if (wants_more(&q)) return emit_varied(b, prim, p, shared, nin, in, q.vary, 0);
    const uint32_t over = q.nout == 1 ? tn_i_over(&q.out[0]) : 0;
    bool effect = prim->effect && prim->effect(p);
    uint32_t np = tn_i_params_count(prim);
    tn_i_var swapped[2];
    if (!b->raw && (prim->flags & TN_F_COMMUTES) && nin == 2 && in[0] > in[1]) {
        swapped[0] = in[1];
        swapped[1] = in[0];
        in = swapped;
    }
    uint64_t hash = hash_eqn(prim, shared ? shared->hash : np ? tn_i_params_hash(p, np) : 0, b->region, nin, in);
    if (!b->raw && !effect) {
        tn_i_var v = fold(b, &q, in);
        if (v == TN_NOVAR && prim->simplify && !b->failed) v = prim->simplify(b, p, nin, in, q.out);
        if (v == TN_NOVAR && !b->failed && (v = find_eqn(b, hash, prim, p, np, nin, in)) != TN_NOVAR && !b->linear)
            b->eqn[b->val[v].def].linear = false; /* the primal's value as well, and strict_zero leaves that alone */
        if (v != TN_NOVAR && !b->failed && over) v = tn_i_vary(b, v, over); /* what is folded varies as it did */
        if (v != TN_NOVAR || b->failed) return v;
        /* simplify may have emitted other equations and moved the scratch types */
        if (prim->simplify && !typed(b, &q, in)) return TN_NOVAR;
    }
    if (b->raw && b->numbered && !effect) {
        const tn_i_var v = find_eqn(b, hash, prim, p, np, nin, in);
        if (v != TN_NOVAR) return v;
    }
    if (!grow_slots(b) || !push_eqn(b, &q, shared, in)) {
        b->failed = true;
        return TN_NOVAR;
    }
    const tn_i_eqn *e = &b->eqn[b->neqn - 1];
    if (!effect && e->nout) remember(b, hash, e->out);
    return e->nout ? e->out : 0;
}

tn_i_var tn_i_emit(tn_i_builder *b, const tn_prim *prim, const tn_i_param *p, uint32_t nin, const tn_i_var *in) {
    return emit(b, prim, p, NULL, nin, in);
}

tn_i_var tn_i_emit_like(tn_i_builder *b, const tn_i_eqn *like, const tn_i_var *in) {
    return emit(b, like->prim, tn_i_p(like), like->params, like->nin, in);
}

tn_i_var tn_i_constant(tn_i_builder *b, const tn_type *t, const void *data) {
    if (b->failed) return TN_NOVAR;
    if (t->rank == 0) {
        return tn_i_literal(b, t->dtype, tn_i_bits_at(t->dtype, data));
    }
    tn_i_blob *k = tn_i_blob_new(b->ctx, t);
    if (!k) {
        b->failed = true;
        return TN_NOVAR;
    }
    size_t bytes = tn_type_bytes(t);
    if (bytes) memcpy(tn_i_blob_data(k), data, bytes);
    tn_i_blob_seal(k);
    tn_i_param p = {.kind = TN_K_BLOB, .u.blob = k};
    uint32_t region = b->region;
    b->region = 0; /* data never count as recomputation */
    tn_i_var v = tn_i_emit(b, tn_i_prim(b, TN_P_constant), &p, 0, NULL);
    b->region = region;
    tn_i_blob_unref(b->ctx, k);
    return v;
}
