/* Lowering: the operations of a nest, first by the loops of the draft, then by those that run. */
#include "base/machine.h"
#include "plan/draft.h"
#include "opt/lookup.h"
#include "prims/ids.h"

#include <string.h>

/* ---- the first form ---------------------------------------------------------------------- */

/* An operation without a phase; loads are shared by all that read them. */
typedef struct first {
    tn_i_nest_op op;
    uint32_t vary; /* the loops that move its value */
    uint32_t span; /* the loops that its equation's output walks, or, of a REDUCE, its operand */
    uint8_t phase; /* of a STORE: no sooner */
    bool last;     /* of a STORE: behind all loads */
} first;

typedef struct lowering {
    const tn_i_draft *d;
    tn_ctx *ctx;
    const int64_t (*stride)[TN_MAX_RANK];
    const bool *over;
    first *op;
    size_t nop, cop;
    tn_i_nest_array *array;
    size_t narray, carray;
    uint32_t *op_of; /* of each value of the body: computed ones and literals; or TN_NOVAR */
    tn_i_space s;
    tn_i_nest *n;
    tn_i_nest_op *out; /* the second form */
    size_t nout, cout;
    uint32_t *at; /* of each operation of the first form, by phase: in the second */
} lowering;

static const tn_type *type_of(const lowering *w, tn_i_var v) { return w->d->f->val[v].type; }

static bool add(lowering *w, const first *o, uint32_t *at) {
    if (!tn_i_grow(w->ctx, (void **)&w->op, &w->cop, w->nop + 1, sizeof *w->op)) return false;
    *at = (uint32_t)w->nop;
    w->op[w->nop++] = *o;
    return true;
}

/* ---- arrays ------------------------------------------------------------------------------- */

static tn_i_nest_array array_of(const lowering *w, uint32_t arg, const tn_type *t, const int8_t *loop) {
    tn_i_nest_array a = {.arg = arg, .dtype = (uint8_t)t->dtype};
    for (uint32_t l = 0; l < w->s.nloop; l++) a.hi[l] = w->s.size[l];
    for (int k = 0; k < t->rank; k++)
        if (t->dim[k] > 1) a.stride[loop[k]] = w->stride[arg][k];
    return a;
}

static bool same_array(const lowering *w, const tn_i_nest_array *a, const tn_i_nest_array *b) {
    const size_t n = w->s.nloop * sizeof *a->stride;
    return a->arg == b->arg && a->boxed == b->boxed && a->offset == b->offset && a->fill == b->fill &&
           memcmp(a->stride, b->stride, n) == 0 && memcmp(a->lo, b->lo, n) == 0 && memcmp(a->hi, b->hi, n) == 0;
}

static uint32_t moved_by(const lowering *w, const tn_i_nest_array *a) {
    uint32_t mask = 0;
    for (uint32_t l = 0; l < w->s.nloop; l++)
        if (a->stride[l] || (a->boxed && (a->lo[l] > 0 || a->hi[l] < w->s.size[l]))) mask |= 1u << l;
    return mask;
}

static bool add_array(lowering *w, const tn_i_nest_array *a, uint32_t *at) {
    if (!tn_i_grow(w->ctx, (void **)&w->array, &w->carray, w->narray + 1, sizeof *w->array)) return false;
    *at = (uint32_t)w->narray;
    w->array[w->narray++] = *a;
    return true;
}

/* o: what else is known of the operation. */
static bool load_as(lowering *w, const tn_i_nest_array *a, first o, uint32_t *at) {
    o.op.kind = TN_NEST_LOAD;
    o.op.dtype = (uint8_t)tn_i_holder(a->dtype);
    o.vary |= moved_by(w, a);
    for (uint32_t i = 0; i < w->nop; i++) {
        const first *x = &w->op[i];
        if (x->op.kind != TN_NEST_LOAD || !same_array(w, &w->array[x->op.array], a)) continue;
        if (x->op.nin != o.op.nin || x->op.in[0] != o.op.in[0] || x->vary != o.vary) continue;
        *at = i;
        return true;
    }
    return add_array(w, a, &o.op.array) && add(w, &o, at);
}

static bool load(lowering *w, const tn_i_nest_array *a, uint32_t *at) {
    const first o = {.vary = 0};
    return load_as(w, a, o, at);
}

/* ---- operands ------------------------------------------------------------------------------- */

static bool number(lowering *w, int dtype, uint64_t bits, uint32_t *at) {
    const first o = {
        .op = {.kind = TN_NEST_NUMBER, .dtype = (uint8_t)tn_i_holder(dtype), .bits = tn_i_held_bits(dtype, bits)}};
    for (uint32_t i = 0; i < w->nop; i++) { /* what is filled with one number is one load */
        const tn_i_nest_op *x = &w->op[i].op;
        if (x->kind != TN_NEST_NUMBER || x->dtype != o.op.dtype || x->bits != o.op.bits) continue;
        *at = i;
        return true;
    }
    return add(w, &o, at);
}

static bool iota(lowering *w, const tn_i_eqn *e, const int8_t *loop, uint32_t *at) {
    const int64_t d = tn_i_p(e)[2].u.i;
    const tn_type *t = type_of(w, e->out);
    if (t->dim[d] == 1) return number(w, t->dtype, 0, at);
    const first o = {.op = {.kind = TN_NEST_IOTA, .dtype = (uint8_t)t->dtype, .loop = (uint8_t)loop[d], .by = 1},
                     .vary = 1u << loop[d]};
    return add(w, &o, at);
}

static bool operand(lowering *w, tn_i_var v, const int8_t *loop, uint32_t *at);

static bool pad(lowering *w, const tn_i_eqn *e, const int8_t *loop, uint32_t *at) {
    const tn_i_var *in = tn_i_in(w->d->f, e);
    const tn_type *t = type_of(w, in[0]), *to = type_of(w, e->out);
    int8_t none[TN_MAX_RANK];
    tn_i_box box;
    tn_i_nest_array a = {.arg = in[0], .dtype = (uint8_t)t->dtype, .boxed = true};
    (void)tn_i_box_of(w->d->f, e, &box);
    for (uint32_t l = 0; l < w->s.nloop; l++) a.hi[l] = w->s.size[l];
    for (int k = 0; k < t->rank; k++) {
        const int64_t stride = t->dim[k] > 1 ? w->stride[a.arg][k] : 0;
        a.offset -= box.low[k] * stride;
        if (to->dim[k] == 1) continue;
        a.stride[loop[k]] = stride;
        a.lo[loop[k]] = box.low[k] > 0 ? box.low[k] : 0;
        a.hi[loop[k]] = box.low[k] + t->dim[k];
        if (a.hi[loop[k]] > to->dim[k]) a.hi[loop[k]] = to->dim[k];
        if (a.hi[loop[k]] < a.lo[loop[k]]) a.hi[loop[k]] = a.lo[loop[k]];
    }
    memset(none, -1, sizeof none);
    return operand(w, in[1], none, &a.fill) && load(w, &a, at);
}

/* Operand k of a concatenation, which begins at `from`. */
static tn_i_nest_array part_of(const lowering *w, const tn_i_eqn *e, uint32_t k, int64_t from, const int8_t *loop) {
    const tn_i_var v = tn_i_in(w->d->f, e)[k];
    const tn_type *t = type_of(w, v), *to = type_of(w, e->out);
    const int64_t along = tn_i_p(e)[0].u.i;
    tn_i_nest_array a = {.arg = v, .dtype = (uint8_t)t->dtype, .boxed = true};
    for (uint32_t l = 0; l < w->s.nloop; l++) a.hi[l] = w->s.size[l];
    for (int d = 0; d < t->rank; d++)
        if (to->dim[d] > 1) a.stride[loop[d]] = t->dim[d] > 1 ? w->stride[v][d] : 0;
    a.offset = -from * (t->dim[along] > 1 ? w->stride[v][along] : 0);
    a.lo[loop[along]] = from;
    a.hi[loop[along]] = from + t->dim[along];
    return a;
}

/* Arrays side by side: outside of each the one before is read. */
static bool joined(lowering *w, const tn_i_eqn *e, const int8_t *loop, uint32_t *at) {
    const tn_type *to = type_of(w, e->out);
    first o = {.vary = tn_i_space_mask(to, loop)};
    uint32_t zero;
    int64_t from = 0;
    if (!number(w, to->dtype, 0, &zero)) return false;
    for (uint32_t k = 0; k < e->nin; k++) {
        tn_i_nest_array a = part_of(w, e, k, from, loop);
        a.fill = zero;
        if (!load_as(w, &a, o, at)) return false;
        o.op.nin = 1;
        o.op.in[0] = *at;
        from += type_of(w, tn_i_in(w->d->f, e)[k])->dim[tn_i_p(e)[0].u.i];
    }
    return true;
}

/* The operation whose value is v, whose dimensions walk these loops. */
static bool operand(lowering *w, tn_i_var v, const int8_t *loop, uint32_t *at) {
    const tn_fn *f = w->d->f;
    int8_t here[TN_MAX_RANK], map[TN_MAX_RANK], there[TN_MAX_RANK];
    memcpy(here, loop, sizeof here);
    while (w->op_of[v] == TN_NOVAR && v >= f->nin && !tn_i_is_literal(f, v)) {
        const tn_i_eqn *e = &f->eqn[f->val[v].def];
        if (e->prim->id == TN_P_iota) return iota(w, e, here, at);
        if (e->prim->id == TN_P_pad) return pad(w, e, here, at);
        if (e->prim->id == TN_P_concatenate) return joined(w, e, here, at);
        if (tn_i_space_loads(f, e)) {
            v = tn_i_in(f, e)[0];
            continue;
        }
        (void)tn_i_walks(f, e, map);
        const tn_type *t = type_of(w, v);
        v = tn_i_in(f, e)[0];
        memset(there, -1, sizeof there);
        for (int d = 0; d < t->rank; d++)
            if (map[d] >= 0) there[map[d]] = here[d];
        memcpy(here, there, sizeof here);
    }
    *at = w->op_of[v];
    if (*at != TN_NOVAR) return true;
    if (v >= f->nin) return number(w, type_of(w, v)->dtype, f->val[v].bits, &w->op_of[v]) && (*at = w->op_of[v], true);
    const tn_i_nest_array a = array_of(w, v, type_of(w, v), here);
    return load(w, &a, at);
}

/* ---- equations ------------------------------------------------------------------------------- */

static bool map(lowering *w, const tn_i_eqn *e) {
    const tn_i_var *in = tn_i_in(w->d->f, e);
    const tn_type *t = type_of(w, e->out);
    const tn_i_member *m = &w->d->m[e->out];
    int8_t none[TN_MAX_RANK];
    memset(none, -1, sizeof none);
    first o = {.op = {.kind = TN_NEST_MAP, .dtype = (uint8_t)tn_i_holder(t->dtype), .nin = (uint8_t)e->nin, .eqn = e},
               .span = tn_i_space_mask(t, m->loop)};
    for (uint32_t k = 0; k < e->nin; k++) {
        if (!operand(w, in[k], type_of(w, in[k])->rank == t->rank ? m->loop : none, &o.op.in[k])) return false;
        o.vary |= w->op[o.op.in[k]].vary;
    }
    return add(w, &o, &w->op_of[e->out]);
}

static bool look_up(lowering *w, const tn_i_eqn *e) {
    const tn_i_var *in = tn_i_in(w->d->f, e);
    const tn_type *t = type_of(w, e->out), *x = type_of(w, in[0]);
    const int8_t *walked = w->d->m[e->out].loop;
    tn_i_nest_array a = {.arg = in[0], .dtype = (uint8_t)t->dtype};
    int8_t loop[TN_MAX_RANK];
    tn_i_lookup k;
    first o = {.op = {.kind = TN_NEST_LOOKUP, .dtype = (uint8_t)tn_i_holder(t->dtype), .nin = 1, .eqn = e},
               .span = tn_i_space_mask(t, walked)};
    (void)tn_i_lookup_of(w->d->f, e, &k);
    for (uint32_t l = 0; l < w->s.nloop; l++) a.hi[l] = w->s.size[l];
    for (int d = 0; d < x->rank; d++) {
        a.offset += k.start[d] * w->stride[in[0]][d];
        if (k.walk[d] >= 0 && t->dim[k.walk[d]] > 1) a.stride[walked[k.walk[d]]] = w->stride[in[0]][d];
    }
    memset(loop, -1, sizeof loop);
    for (int d = 0; d < TN_MAX_RANK; d++)
        if (k.batch[d] >= 0) loop[d] = walked[k.batch[d]];
    if (!operand(w, in[k.index], loop, &o.op.in[0]) || !add_array(w, &a, &o.op.array)) return false;
    o.vary = w->op[o.op.in[0]].vary | moved_by(w, &a);
    o.op.by = w->stride[in[0]][k.along];
    o.op.first = k.last;
    o.op.fills = k.fills;
    o.op.bits = tn_i_held_bits(t->dtype, k.bits);
    return add(w, &o, &w->op_of[e->out]);
}

static bool reduce(lowering *w, const tn_i_eqn *e) {
    const tn_i_var v = tn_i_in(w->d->f, e)[0];
    const tn_type *t = type_of(w, v);
    int8_t loop[TN_MAX_RANK];
    first o = {.op = {.kind = TN_NEST_REDUCE,
                      .dtype = (uint8_t)type_of(w, e->out)->dtype,
                      .fold = (uint8_t)e->prim->fold,
                      .nin = 1,
                      .eqn = e}};
    if (w->d->m[v].part >= TN_PART_ELEMENT)
        memcpy(loop, w->d->m[v].loop, sizeof loop);
    else
        (void)tn_i_space_whole(&w->s, t, loop);
    for (uint32_t k = 0; k < tn_i_p(e)[0].n; k++) {
        const int64_t d = tn_i_p(e)[0].u.ints[k];
        if (t->dim[d] > 1) o.op.over |= 1u << loop[d];
    }
    if (!operand(w, v, loop, &o.op.in[0])) return false;
    o.span = tn_i_space_mask(t, loop);
    o.vary = o.span & ~o.op.over;
    return add(w, &o, &w->op_of[e->out]);
}

/* Output j, whose parts have one index of a dimension each, and are alike else. */
static bool store_parts(lowering *w, uint32_t j, const tn_i_eqn *e) {
    const tn_i_member *m = &w->d->m[e->out];
    const tn_type *t = type_of(w, tn_i_in(w->d->f, e)[0]);
    const uint32_t arg = w->d->f->nin + j;
    for (uint32_t k = 0; k < e->nin; k++) {
        tn_i_nest_array a = array_of(w, arg, t, m->loop);
        first o = {.op = {.kind = TN_NEST_STORE, .dtype = (uint8_t)tn_i_holder(t->dtype), .nin = 1},
                   .span = tn_i_space_mask(t, m->loop),
                   .phase = m->phase,
                   .last = w->over && w->over[j]};
        uint32_t at;
        a.offset = k * w->stride[arg][tn_i_p(e)[0].u.i];
        if (!operand(w, tn_i_in(w->d->f, e)[k], m->loop, &o.op.in[0]) || !add_array(w, &a, &o.op.array) ||
            !add(w, &o, &at))
            return false;
    }
    return true;
}

static bool store(lowering *w, uint32_t j) {
    const tn_i_var v = w->d->f->out[j];
    const tn_i_eqn *e = &w->d->f->eqn[w->d->f->val[v].def];
    if (e->prim->id == TN_P_concatenate) return store_parts(w, j, e);
    const tn_type *t = type_of(w, v);
    const tn_i_member *m = &w->d->m[v];
    const tn_i_nest_array a = array_of(w, w->d->f->nin + j, t, m->loop);
    first o = {.op = {.kind = TN_NEST_STORE, .dtype = (uint8_t)tn_i_holder(t->dtype), .nin = 1},
               .span = tn_i_space_mask(t, m->loop),
               .phase = m->part == TN_PART_ELEMENT ? m->phase : 0,
               .last = w->over && w->over[j]};
    uint32_t at;
    return operand(w, v, m->loop, &o.op.in[0]) && add_array(w, &a, &o.op.array) && add(w, &o, &at);
}

static bool first_form(lowering *w) {
    const tn_fn *f = w->d->f;
    memset(w->op_of, 0xFF, f->nval * sizeof *w->op_of);
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        const uint8_t part = w->d->m[e->out].part;
        if (part < TN_PART_ELEMENT || w->d->m[e->out].depth) continue; /* what readers make of it */
        if (e->prim->id == TN_P_concatenate) continue;                 /* its stores are all there is */
        if (tn_i_space_loads(f, e)) continue;
        if (!(e->prim->fold ? reduce : tn_i_may_look_up(e) ? look_up : map)(w, e)) return false;
    }
    for (uint32_t j = 0; j < f->nout; j++)
        if (!store(w, j)) return false;
    return true;
}

/* ---- loops -------------------------------------------------------------------------------------- */

static bool along(const lowering *w, uint32_t l) {
    for (size_t i = 0; i < w->nop; i++)
        if (w->op[i].op.kind == TN_NEST_IOTA && w->op[i].op.loop == l) return true;
    return false;
}

static bool boxed(const lowering *w, const tn_i_nest_array *a, uint32_t l) {
    return a->boxed && (a->lo[l] > 0 || a->hi[l] < w->s.size[l]);
}

/* Loops l and l + 1 can be one. */
static bool mergeable(const lowering *w, uint32_t l) {
    if (w->s.outer == (int)l + 1 || along(w, l) || along(w, l + 1)) return false;
    for (size_t i = 0; i < w->narray; i++) {
        const tn_i_nest_array *a = &w->array[i];
        if (a->stride[l] != a->stride[l + 1] * w->s.size[l + 1] || boxed(w, a, l) || boxed(w, a, l + 1)) return false;
    }
    for (size_t i = 0; i < w->nop; i++) {
        const uint32_t over = w->op[i].op.over, span = w->op[i].span;
        if ((over >> l & 1) != (over >> (l + 1) & 1) || (span >> l & 1) != (span >> (l + 1) & 1)) return false;
    }
    return true;
}

/* A mask without bit l, which bit l + 1 stands for too. */
static uint32_t without(uint32_t mask, uint32_t l) {
    const uint32_t low = mask & ((1u << l) - 1);
    return low | (mask >> (l + 1)) << l;
}

static void cut(int64_t *v, uint32_t l, uint32_t n) { memmove(v + l, v + l + 1, (n - l - 1) * sizeof *v); }

static void merge(lowering *w, uint32_t l) {
    tn_i_space *s = &w->s;
    for (size_t i = 0; i < w->narray; i++) {
        tn_i_nest_array *a = &w->array[i];
        cut(a->stride, l, s->nloop);
        cut(a->lo, l, s->nloop);
        cut(a->hi, l, s->nloop);
        a->lo[l] = 0;
        a->hi[l] = s->size[l] * s->size[l + 1];
    }
    for (size_t i = 0; i < w->nop; i++) {
        first *o = &w->op[i];
        o->vary = without(o->vary | (o->vary >> l & 1) << (l + 1), l);
        o->span = without(o->span, l);
        o->op.over = without(o->op.over, l);
        if (o->op.kind == TN_NEST_IOTA && o->op.loop > l) o->op.loop--;
    }
    s->size[l + 1] *= s->size[l];
    cut(s->size, l, s->nloop);
    s->nloop--;
    if (s->outer > (int)l) s->outer--;
}

static bool reduces(const lowering *w) {
    for (size_t i = 0; i < w->nop; i++)
        if (w->op[i].op.kind == TN_NEST_REDUCE) return true;
    return false;
}

/* All reductions are over loops l to the last, or over none of them. */
static bool agree(const lowering *w, uint32_t l) {
    const uint32_t inner = ((1u << w->s.nloop) - 1) & ~((1u << l) - 1);
    for (size_t i = 0; i < w->nop; i++) {
        const uint32_t over = w->op[i].op.over & inner;
        if (w->op[i].op.kind == TN_NEST_REDUCE && over != 0 && over != inner) return false;
    }
    return true;
}

/* How many loops walk the rows, where no row's value is read again: as few as reductions allow; without any, so many
 * that a row is of some length. */
static void choose_outer(lowering *w) {
    tn_i_space *s = &w->s;
    if (s->outer >= 0) return;
    uint32_t outer = s->nloop;
    int64_t row = 1;
    const bool some = reduces(w);
    while (outer > 0 && (some ? agree(w, outer - 1) : row < TN_M_LONG_ROW)) row *= s->size[--outer];
    s->outer = (int)outer;
}

static void choose_loops(lowering *w) {
    for (uint32_t l = w->s.nloop; l-- > 1;)
        if (mergeable(w, l - 1)) merge(w, l - 1);
    choose_outer(w);
}

/* ---- the second form -------------------------------------------------------------------------------- */

static uint32_t inner_loops(const lowering *w) { return ((1u << w->s.nloop) - 1) & ~((1u << w->s.outer) - 1); }

static uint8_t level_of(const lowering *w, uint32_t moved) {
    return moved & inner_loops(w) ? TN_NEST_ELEMENT : TN_NEST_ROW;
}

static bool put(lowering *w, const tn_i_nest_op *o, uint32_t *at) {
    if (!tn_i_grow(w->ctx, (void **)&w->out, &w->cout, w->nout + 1, sizeof *w->out)) return false;
    *at = (uint32_t)w->nout;
    w->out[w->nout++] = *o;
    return true;
}

static bool source(const tn_i_nest_op *o) {
    return o->kind == TN_NEST_LOAD || o->kind == TN_NEST_NUMBER || o->kind == TN_NEST_IOTA;
}

/* The operation of the second form that is operand i of the first in a phase. */
static bool read_in(lowering *w, uint32_t i, uint8_t phase, uint32_t *to) {
    tn_i_nest_op o = w->op[i].op;
    if (!source(&o)) {
        *to = w->at[(size_t)i * TN_NEST_PHASES];
        return true;
    }
    o.level = w->op[i].vary == 0 ? TN_NEST_ONCE : level_of(w, w->op[i].vary);
    o.before = o.level == TN_NEST_ROW;
    if (o.level != TN_NEST_ELEMENT) phase = 0;
    o.phase = phase;
    uint32_t *at = &w->at[(size_t)i * TN_NEST_PHASES + phase];
    if (*at == TN_NOVAR) {
        tn_i_nest_array *a = o.kind == TN_NEST_LOAD ? &w->array[o.array] : NULL;
        uint32_t fill;
        if (a && a->boxed && !read_in(w, a->fill, 0, &fill)) return false;
        if (o.nin && !read_in(w, o.in[0], phase, &o.in[0])) return false;
        if (!put(w, &o, at)) return false;
        at = &w->at[(size_t)i * TN_NEST_PHASES + phase];
    }
    *to = *at;
    return true;
}

/* When an operation of this level can read what the first form's i makes. */
static uint8_t known_in(const lowering *w, uint32_t i, uint8_t level, bool *before) {
    const tn_i_nest_op *o = &w->op[i].op;
    if (source(o)) {
        *before &= (w->op[i].vary & inner_loops(w)) == 0;
        return 0;
    }
    o = &w->out[w->at[(size_t)i * TN_NEST_PHASES]];
    if (o->level == TN_NEST_ELEMENT) {
        *before = false;
        return o->phase;
    }
    *before &= o->before;
    return (uint8_t)(o->phase + (level == TN_NEST_ELEMENT && !o->before));
}

/* A reduction's own level is that of its operand; its value is of the row when it is over all inner loops. */
static bool second(lowering *w, uint32_t i) {
    const first *f = &w->op[i];
    tn_i_nest_op o = f->op;
    const bool folds = o.kind == TN_NEST_REDUCE, row = folds && o.over == inner_loops(w);
    const bool sunk = o.kind == TN_NEST_STORE && w->op[o.in[0]].op.kind == TN_NEST_REDUCE &&
                      w->out[w->at[(size_t)o.in[0] * TN_NEST_PHASES]].over != inner_loops(w);
    const bool maps = o.kind == TN_NEST_MAP || o.kind == TN_NEST_LOOKUP;
    const uint8_t runs = level_of(w, maps ? f->vary : f->span);
    bool before = true;
    for (uint32_t k = 0; k < o.nin; k++) {
        const uint8_t p = known_in(w, o.in[k], runs, &before);
        if (p > o.phase) o.phase = p;
    }
    if (f->phase > o.phase) o.phase = f->phase;
    o.level = row ? TN_NEST_ROW : runs;
    o.before = runs == TN_NEST_ROW && before && !row;
    if (sunk) {
        const tn_i_nest_op *r = &w->out[w->at[(size_t)o.in[0] * TN_NEST_PHASES]];
        o.level = r->level;
        o.phase = r->phase;
        o.before = r->before;
    }
    for (uint32_t k = 0; k < o.nin; k++)
        if (!read_in(w, f->op.in[k], o.phase, &o.in[k])) return false;
    return put(w, &o, &w->at[(size_t)i * TN_NEST_PHASES]);
}

/* Stores that write over what is loaded come last. */
static bool second_form(lowering *w) {
    for (uint32_t i = 0; i < w->nop; i++)
        if (!source(&w->op[i].op) && w->op[i].op.kind != TN_NEST_STORE && !second(w, i)) return false;
    for (int last = 0; last <= 1; last++)
        for (uint32_t i = 0; i < w->nop; i++)
            if (w->op[i].op.kind == TN_NEST_STORE && w->op[i].last == last && !second(w, i)) return false;
    return true;
}

void tn_i_nest_note_readers(tn_i_nest *n) {
    for (uint32_t i = 0; i < n->nop; i++) n->op[i].last = i;
    for (uint32_t i = 0; i < n->nop; i++) {
        const tn_i_nest_op *o = &n->op[i];
        for (uint32_t k = 0; k < o->nin; k++) {
            tn_i_nest_op *x = &n->op[o->in[k]];
            x->last = i;
            if (x->level == TN_NEST_ELEMENT && o->phase > x->phase) x->crosses = true;
        }
        if (o->kind == TN_NEST_LOAD && n->array[o->array].boxed) n->op[n->array[o->array].fill].last = i;
        if (o->phase >= n->nphase) n->nphase = o->phase + 1u;
    }
}

static bool whole(lowering *w) {
    tn_i_nest *n = w->n;
    n->nloop = w->s.nloop;
    n->nouter = (uint32_t)w->s.outer;
    n->rows = n->row = 1;
    for (uint32_t l = 0; l < n->nloop; l++) {
        n->size[l] = w->s.size[l];
        *(l < n->nouter ? &n->rows : &n->row) *= n->size[l];
    }
    n->nin = w->d->f->nin;
    n->nout = w->d->f->nout;
    for (size_t i = 0; i < w->narray; i++)
        if (w->array[i].boxed) w->array[i].fill = w->at[(size_t)w->array[i].fill * TN_NEST_PHASES];
    if (!(n->op = tn_i_alloc_array(w->ctx, w->nout, sizeof *n->op))) return false;
    n->nop = n->allocated = (uint32_t)w->nout;
    memcpy(n->op, w->out, w->nout * sizeof *n->op);
    if (!(n->array = tn_i_alloc_array(w->ctx, w->narray, sizeof *n->array))) return false;
    n->narray = (uint32_t)w->narray;
    memcpy(n->array, w->array, w->narray * sizeof *n->array);
    if (!tn_i_nest_find_one_hot(w->ctx, n, w->d, w->over)) return false;
    tn_i_nest_note_readers(n);
    return true;
}

static bool lower(lowering *w) {
    if (!first_form(w)) return false;
    choose_loops(w);
    const size_t n = w->nop * TN_NEST_PHASES;
    if (!(w->at = tn_i_alloc_array(w->ctx, n, sizeof *w->at))) return false;
    memset(w->at, 0xFF, n * sizeof *w->at);
    const bool ok = second_form(w) && whole(w);
    tn_i_free(w->ctx, w->at, n * sizeof *w->at);
    return ok;
}

/* What fuse.c makes is. */
static bool within_limits(const lowering *w) {
    if (w->n->narray <= TN_NEST_ARRAYS && w->n->nop <= TN_NEST_OPS && w->n->nphase <= TN_NEST_PHASES) return true;
    (void)tn_i_fail(w->ctx, TN_ELIMIT, w->d->f->loc, "fused: %u arrays and %u operations are too many for one nest",
                    (unsigned)w->n->narray, (unsigned)w->n->nop);
    return false;
}

tn_i_nest *tn_i_nest_new(const tn_i_draft *d, const int64_t (*stride)[TN_MAX_RANK], const bool *over, bool accurate,
                         int threads) {
    tn_ctx *c = d->f->ctx;
    lowering w = {.d = d, .ctx = c, .stride = stride, .over = over, .s = d->s, .n = tn_i_alloc(c, sizeof *w.n)};
    w.op_of = tn_i_alloc_array(c, d->f->nval, sizeof *w.op_of);
    if (w.n) w.n->accurate = accurate, w.n->threads = threads;
    const bool ok = w.n && w.op_of && lower(&w) && within_limits(&w) && tn_i_nest_ready(c, w.n);
    tn_i_free(c, w.op, w.cop * sizeof *w.op);
    tn_i_free(c, w.array, w.carray * sizeof *w.array);
    tn_i_free(c, w.out, w.cout * sizeof *w.out);
    tn_i_free(c, w.op_of, d->f->nval * sizeof *w.op_of);
    if (ok) return w.n;
    tn_i_nest_free(c, w.n);
    return NULL;
}

void tn_i_nest_free(tn_ctx *c, tn_i_nest *n) {
    if (!n) return;
    tn_i_free(c, n->op, n->allocated * sizeof *n->op);
    tn_i_free(c, n->hot, n->nhot * sizeof *n->hot);
    tn_i_free(c, n->array, n->narray * sizeof *n->array);
    tn_i_free(c, n, sizeof *n);
}
