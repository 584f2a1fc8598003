/* Loop programs made of nests, by evaluation, as machine code and by strips, against the plainest reading of nest.h:
 * every operation at every index, and reductions of lists.  Nests are made at random; all kernels that this processor
 * can run must give the same bits, in the memory that was planned. */
#include "amount.h"
#include "plan/plan.h"
#include "jit/jit.h"
#include "lower/lower.h"
#include "pass/pass.h"
#include "prims/ids.h"
#include "strips/strips.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 60000 };

/* ---- a nest and its memory ------------------------------------------------------------ */

typedef struct sample {
    tn_i_nest n;
    tn_i_nest_op op[TN_NEST_OPS];
    tn_i_nest_array array[TN_NEST_ARRAYS];
    tn_i_eqn eqn[TN_NEST_OPS];
    uint32_t seen[TN_NEST_OPS]; /* the phase from which an operation may be read */
    bool late[TN_NEST_OPS], closed[TN_NEST_OPS], load[TN_NEST_ARRAYS];
    uint64_t *memory[TN_NEST_ARRAYS]; /* of the array's own; 8 bytes an element are always enough */
    size_t elements[TN_NEST_ARRAYS];
    int shares[TN_NEST_ARRAYS]; /* the load's array whose memory it writes over, or which it is in another box, or -1 */
    uint32_t edges;             /* loads through boxes that leave out this much of a loop, and joins; 0: any boxes */
    tn_i_rng rng;
} sample;

static int64_t pick(sample *s, int64_t lo, int64_t hi) { return tn_i_pick(&s->rng, lo, hi); }
static uint32_t inner_of(const sample *s) {
    uint32_t mask = 0;
    for (uint32_t d = s->n.nouter; d < s->n.nloop; d++) mask |= 1u << d;
    return mask;
}

static void put(int dtype, void *at, double x) {
    const float f = (float)x;
    const int64_t l = fabs(x) < 1e15 ? (int64_t)(x * 1000) : INT64_MIN;
    const int32_t i = (int32_t)l;
    const uint8_t b = x > 0;
    switch (dtype) {
    case TN_F64: memcpy(at, &x, 8); break;
    case TN_F32: memcpy(at, &f, 4); break;
    case TN_I64: memcpy(at, &l, 8); break;
    case TN_I32: memcpy(at, &i, 4); break;
    default: memcpy(at, &b, 1); break;
    }
}

static void whole(int dtype, void *at, int64_t x) {
    const double d = (double)x;
    const float f = (float)x;
    const int32_t i = (int32_t)x;
    if (dtype == TN_F64 || dtype == TN_I64)
        memcpy(at, dtype == TN_F64 ? (const void *)&d : &x, 8);
    else
        memcpy(at, dtype == TN_F32 ? (const void *)&f : &i, 4);
}

static double special(sample *s) {
    static const double x[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1e-310, 1e300};
    return pick(s, 0, 40) ? tn_i_uniform(&s->rng, -2, 2) : x[pick(s, 0, 6)];
}

static uint32_t push(sample *s, tn_i_nest_op o) {
    if (s->n.nop >= TN_NEST_OPS) abort();
    s->op[s->n.nop] = o;
    s->op[s->n.nop].last = s->n.nop;
    return s->n.nop++;
}

/* ---- making one ---------------------------------------------------------------------------- */

static void make_loops(sample *s) {
    static const int64_t sizes[] = {2, 3, 5, 10, 16, 17, 33, 64, 100, 250, 300, 600, 1100, 2100};
    int64_t total = 1;
    s->n.nloop = 0;
    for (uint32_t want = (uint32_t)pick(s, 0, 4); s->n.nloop < want;) {
        const int64_t size = sizes[pick(s, 0, 13)];
        if (total * size > MOST) break;
        total *= size;
        s->n.size[s->n.nloop++] = size;
    }
    s->n.nouter = (uint32_t)pick(s, 0, s->n.nloop);
    s->n.rows = s->n.row = 1;
    for (uint32_t d = 0; d < s->n.nloop; d++) *(d < s->n.nouter ? &s->n.rows : &s->n.row) *= s->n.size[d];
    if (s->n.nouter == s->n.nloop && s->n.nloop) { /* rows have elements */
        s->n.nouter = 0;
        s->n.row = s->n.rows;
        s->n.rows = 1;
    }
}

/* Dense over the loops of `mask` in a random or their own order, 0 elsewhere. */
static void make_strides(sample *s, uint32_t a, uint32_t mask, bool ordered) {
    tn_i_nest_array *k = &s->array[a];
    uint32_t order[TN_MAX_RANK], n = 0;
    int64_t stride = 1, lowest = 0;
    for (uint32_t d = 0; d < s->n.nloop; d++)
        if (mask >> d & 1) order[n++] = d;
    for (uint32_t i = 0; !ordered && i + 1 < n; i++) {
        const uint32_t j = (uint32_t)pick(s, i, n - 1), t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
    for (uint32_t i = n; i-- > 0;) {
        const bool back = !ordered && pick(s, 0, 4) == 0;
        k->stride[order[i]] = back ? -stride : stride;
        if (back) lowest += stride * (s->n.size[order[i]] - 1);
        stride *= s->n.size[order[i]];
        if (!ordered && pick(s, 0, 5) == 0) stride += 3;
    }
    k->offset = lowest;
    s->elements[a] = (size_t)stride;
}

static uint32_t new_array(sample *s, int dtype, bool load, uint32_t mask, bool ordered) {
    const uint32_t a = s->n.narray++;
    s->array[a] = (tn_i_nest_array){.dtype = (uint8_t)dtype, .arg = a};
    s->load[a] = load;
    s->shares[a] = -1;
    make_strides(s, a, mask, ordered);
    return a;
}

static uint8_t level_of(const sample *s, uint32_t mask) {
    return mask & inner_of(s) ? TN_NEST_ELEMENT : mask ? TN_NEST_ROW : TN_NEST_ONCE;
}

static uint32_t make_number(sample *s, int dtype) {
    tn_i_nest_op o = {.kind = TN_NEST_NUMBER, .dtype = (uint8_t)dtype};
    put(dtype, &o.bits, tn_i_uniform(&s->rng, -2, 2));
    return push(s, o);
}

/* As another load, so that both may be one where their boxes do not matter. */
static uint32_t like(sample *s, uint32_t b, int dtype) {
    const uint32_t a = new_array(s, dtype, true, (1u << s->n.nloop) - 1, pick(s, 0, 2) != 0);
    if (b == TN_NOVAR) return a;
    while (s->shares[b] >= 0) b = (uint32_t)s->shares[b];
    s->array[a] = s->array[b];
    s->array[a].boxed = false;
    s->elements[a] = s->elements[b];
    s->shares[a] = (int)b;
    return a;
}

/* A box that leaves out little, or, from `cut` on or before it, the part of a join; before: what is read outside. */
static uint32_t make_edge(sample *s, int dtype, uint32_t of, uint32_t along, int64_t cut, uint32_t before) {
    const uint32_t fill = make_number(s, dtype), a = like(s, of, dtype);
    tn_i_nest_array *k = &s->array[a];
    k->boxed = true;
    k->fill = fill;
    for (uint32_t d = 0; d < s->n.nloop; d++) {
        k->lo[d] = cut >= 0 || pick(s, 0, 1) ? 0 : pick(s, 0, s->edges);
        k->hi[d] = s->n.size[d] - (cut >= 0 || pick(s, 0, 1) ? 0 : pick(s, 0, s->edges));
        if (k->hi[d] < k->lo[d]) k->hi[d] = k->lo[d];
    }
    if (cut >= 0) (before == TN_NOVAR ? k->hi : k->lo)[along] = cut;
    return push(s, (tn_i_nest_op){.kind = TN_NEST_LOAD,
                                  .dtype = (uint8_t)dtype,
                                  .level = inner_of(s) ? TN_NEST_ELEMENT : TN_NEST_ROW,
                                  .array = a,
                                  .nin = before != TN_NOVAR,
                                  .in = {before == TN_NOVAR ? 0 : before}});
}

static uint32_t make_join(sample *s, int dtype) {
    const uint32_t along = (uint32_t)pick(s, 0, s->n.nloop - 1), n = s->n.narray;
    const uint32_t of = n && pick(s, 0, 1) && s->load[n - 1] && s->array[n - 1].boxed ? n - 1 : TN_NOVAR;
    const int64_t size = s->n.size[along], cut = pick(s, 0, 1) ? 1 : pick(s, 0, 2) ? size - 1 : pick(s, 0, size);
    if (pick(s, 0, 1)) return make_edge(s, dtype, of, along, -1, TN_NOVAR);
    const uint32_t first = make_edge(s, dtype, of, along, cut, TN_NOVAR);
    const uint32_t second = make_edge(s, dtype, TN_NOVAR, along, cut, first);
    if (cut < size) s->array[s->op[second].array].hi[along] = size;
    return second;
}

static uint32_t make_load(sample *s, int dtype) {
    if (s->edges && s->n.nloop && pick(s, 0, 3)) return make_join(s, dtype);
    const uint32_t all = (1u << s->n.nloop) - 1;
    const uint32_t mask = pick(s, 0, 2) ? all : (uint32_t)pick(s, 0, all);
    const bool boxed = s->n.nloop > 0 && pick(s, 0, 5) == 0;
    const uint32_t fill = boxed ? make_number(s, dtype) : 0, a = new_array(s, dtype, true, mask, pick(s, 0, 2) != 0);
    tn_i_nest_array *k = &s->array[a];
    uint8_t level = level_of(s, mask);
    if (boxed) {
        k->boxed = true;
        k->fill = fill;
        level = TN_NEST_ELEMENT;
        for (uint32_t d = 0; d < s->n.nloop; d++) {
            k->lo[d] = pick(s, 0, s->n.size[d] / 2);
            k->hi[d] = pick(s, k->lo[d], s->n.size[d]);
        }
    }
    return push(
        s,
        (tn_i_nest_op){
            .kind = TN_NEST_LOAD, .dtype = (uint8_t)dtype, .level = level, .array = a, .before = level == TN_NEST_ROW});
}

static uint32_t make_iota(sample *s, int dtype) {
    if (s->n.nloop == 0) return make_number(s, dtype);
    const uint8_t loop = (uint8_t)pick(s, 0, s->n.nloop - 1);
    const uint8_t level = loop >= s->n.nouter ? TN_NEST_ELEMENT : TN_NEST_ROW;
    return push(s, (tn_i_nest_op){.kind = TN_NEST_IOTA,
                                  .dtype = (uint8_t)dtype,
                                  .level = level,
                                  .loop = loop,
                                  .by = pick(s, -2, 3),
                                  .first = pick(s, -5, 5),
                                  .before = level == TN_NEST_ROW});
}

/* An earlier value of the dtype, or a new number. */
static uint32_t any_value(sample *s, int dtype) {
    for (int try = 0; try < 20 && s->n.nop; try++) {
        const uint32_t v = (uint32_t)pick(s, 0, s->n.nop - 1);
        const tn_i_nest_op *o = &s->op[v];
        if (o->kind != TN_NEST_STORE && o->dtype == dtype && !s->closed[v]) return v;
    }
    return make_number(s, dtype);
}

/* The phase in which an operation of a level may read its operands. */
static uint8_t phase_of(const sample *s, const tn_i_nest_op *o) {
    uint32_t phase = 0;
    for (uint32_t i = 0; i < o->nin; i++) {
        const uint32_t v = o->in[i];
        const bool row = s->op[v].level != TN_NEST_ELEMENT && s->late[v];
        const uint32_t p = s->op[v].phase + (row && o->level == TN_NEST_ELEMENT ? 1u : 0u);
        if (p > phase && (row || s->op[v].level == TN_NEST_ELEMENT)) phase = p;
    }
    return (uint8_t)phase;
}

static bool is_shared(const sample *s, uint32_t array) {
    for (uint32_t a = 0; a < s->n.narray; a++)
        if (s->shares[a] == (int)array) return true;
    return false;
}

/* A LOAD or IOTA of elements as one of another phase: each is read in its own alone.  What is stored over is no more.
 */
static uint32_t again(sample *s, uint32_t v, uint8_t phase) {
    tn_i_nest_op o = s->op[v];
    if (o.kind == TN_NEST_LOAD && is_shared(s, o.array)) return make_number(s, o.dtype);
    o.phase = phase;
    o.crosses = false;
    return push(s, o);
}

static bool is_source(const tn_i_nest_op *o) {
    return o->level == TN_NEST_ELEMENT && (o->kind == TN_NEST_LOAD || o->kind == TN_NEST_IOTA);
}

/* Reads what o, which is not among the operations yet, reads of elements in the phase that it will have. */
static void reread(sample *s, tn_i_nest_op *o) {
    tn_i_nest_op settled = *o;
    for (uint32_t i = 0; i < o->nin; i++)
        if (s->op[o->in[i]].level > settled.level) settled.level = s->op[o->in[i]].level;
    const uint8_t phase = phase_of(s, &settled);
    for (uint32_t i = 0; i < o->nin; i++)
        if (is_source(&s->op[o->in[i]]) && s->op[o->in[i]].phase != phase) o->in[i] = again(s, o->in[i], phase);
}

static void settle(sample *s, uint32_t v) {
    tn_i_nest_op *o = &s->op[v];
    for (uint32_t i = 0; i < o->nin; i++) {
        if (s->op[o->in[i]].level > o->level) o->level = s->op[o->in[i]].level;
        s->late[v] |= s->late[o->in[i]] && s->op[o->in[i]].level != TN_NEST_ELEMENT;
    }
    if (o->level == TN_NEST_ELEMENT) s->late[v] = false;
    o->phase = phase_of(s, o);
    o->before = o->level == TN_NEST_ROW && !s->late[v];
    if (o->phase >= s->n.nphase) s->n.nphase = o->phase + 1u;
    for (uint32_t i = 0; i < o->nin; i++) {
        tn_i_nest_op *in = &s->op[o->in[i]];
        in->last = v;
        if (in->level == TN_NEST_ELEMENT && o->phase > in->phase) in->crosses = true;
    }
}

static uint32_t make_map(sample *s, int dtype) {
    static const tn_prim *const any[] = {
        &tn_prim_add,    &tn_prim_sub,    &tn_prim_mul,   &tn_prim_max,      &tn_prim_min, &tn_prim_neg,
        &tn_prim_square, &tn_prim_select, &tn_prim_abs,   &tn_prim_sign,     &tn_prim_div, &tn_prim_sin,
        &tn_prim_exp,    &tn_prim_tanh,   &tn_prim_atan2, &tn_prim_logistic, &tn_prim_erf};
    const tn_prim *prim = any[pick(s, 0, tn_i_is_float(dtype) ? 16 : 9)];
    tn_i_nest_op o = {.kind = TN_NEST_MAP, .dtype = (uint8_t)dtype, .nin = (uint8_t)prim->nin};
    if (prim == &tn_prim_select) {
        tn_i_nest_op lt = {.kind = TN_NEST_MAP, .dtype = TN_BOOL, .nin = 2};
        lt.in[0] = any_value(s, dtype);
        lt.in[1] = any_value(s, dtype);
        reread(s, &lt);
        const uint32_t v = push(s, lt);
        s->eqn[v] = (tn_i_eqn){.prim = &tn_prim_lt};
        s->op[v].eqn = &s->eqn[v];
        settle(s, v);
        o.in[0] = v;
    }
    for (uint32_t i = prim == &tn_prim_select; i < o.nin; i++) o.in[i] = any_value(s, dtype);
    if (pick(s, 0, 7) == 0) o.level = inner_of(s) ? TN_NEST_ELEMENT : TN_NEST_ONCE; /* more often than its operands */
    if (s->n.nouter && pick(s, 0, 7) == 0 && o.level == TN_NEST_ONCE) o.level = TN_NEST_ROW;
    reread(s, &o);
    const uint32_t v = push(s, o);
    s->eqn[v] = (tn_i_eqn){.prim = prim};
    s->op[v].eqn = &s->eqn[v];
    settle(s, v);
    return v;
}

static void make_store(sample *s, uint32_t v, uint32_t mask, uint8_t level, uint8_t phase, bool ordered) {
    if (s->n.narray >= TN_NEST_ARRAYS) return;
    const uint32_t a = new_array(s, s->op[v].dtype, false, mask, ordered);
    const uint32_t at = push(s, (tn_i_nest_op){.kind = TN_NEST_STORE,
                                               .dtype = s->op[v].dtype,
                                               .level = level,
                                               .nin = 1,
                                               .in = {v},
                                               .array = a,
                                               .phase = phase,
                                               .before = level == TN_NEST_ROW && !s->late[v]});
    s->op[v].last = at;
    if (s->op[v].level == TN_NEST_ELEMENT && phase > s->op[v].phase) s->op[v].crosses = true;
    s->late[at] = s->late[v];
}

static void make_reduce(sample *s, int dtype) {
    const uint32_t all = (1u << s->n.nloop) - 1, x = any_value(s, dtype), inner = inner_of(s);
    uint8_t fold = (uint8_t)pick(s, TN_FOLD_SUM, TN_FOLD_MIN);
    const bool row = inner && pick(s, 0, 1) && s->op[x].level == TN_NEST_ELEMENT;
    uint32_t over = row ? inner : (uint32_t)pick(s, 1, all);
    tn_i_nest_op o = {.kind = TN_NEST_REDUCE, .dtype = (uint8_t)dtype, .nin = 1, .in = {x}, .fold = fold};
    if (!all || s->op[x].level == TN_NEST_ONCE) return;
    if (s->op[x].level == TN_NEST_ROW) over &= ~inner;
    if (!over) return;
    if (!(over & (over - 1)) && pick(s, 0, 3) == 0) {
        o.fold = (uint8_t)pick(s, TN_FOLD_ARGMAX, TN_FOLD_ARGMIN);
        o.dtype = pick(s, 0, 1) ? TN_I32 : TN_I64;
    }
    o.over = over;
    const bool of_row = over == inner;
    o.level = s->op[x].level;
    const uint32_t v = push(s, o);
    settle(s, v);
    s->op[v].before = !of_row && o.level == TN_NEST_ROW && !s->late[x];
    if (!of_row) {
        s->late[v] = s->late[x] && o.level == TN_NEST_ROW;
        s->closed[v] = true;
        const uint32_t loops = o.level == TN_NEST_ROW ? all & ~inner : all;
        make_store(s, v, loops & ~over, o.level, s->op[v].phase, pick(s, 0, 2) != 0);
        return;
    }
    s->late[v] = true;
    s->op[v].level = s->n.nouter ? TN_NEST_ROW : TN_NEST_ONCE;
}

/* An output that takes over the memory of an operand that is walked alike and was loaded before. */
static void share(sample *s, uint32_t store) {
    const uint32_t a = s->op[store].array;
    for (uint32_t v = 0; v < store; v++) {
        const uint32_t b = s->op[v].array;
        if (s->op[v].kind != TN_NEST_LOAD || s->array[b].boxed || s->array[b].dtype != s->array[a].dtype) continue;
        if (s->op[v].level != s->op[store].level || s->op[v].phase > s->op[store].phase) continue;
        bool taken = s->shares[b] >= 0 || s->array[b].offset != s->array[a].offset;
        taken |= memcmp(s->array[b].stride, s->array[a].stride, sizeof s->array[a].stride) != 0;
        for (uint32_t k = 0; k < s->n.narray; k++) taken |= s->shares[k] == (int)b;
        for (uint32_t w = 0; w < s->n.nop; w++) taken |= w != v && s->op[w].kind == TN_NEST_LOAD && s->op[w].array == b;
        if (taken) continue;
        s->shares[a] = (int)b;
        return;
    }
}

/* The operation that reads v in a phase: of sources that walk elements there is one for each. */
static uint32_t in_phase(sample *s, const sample *from, uint32_t v, uint8_t phase, uint32_t (*to)[TN_NEST_PHASES]) {
    tn_i_nest_op o = from->op[v];
    if (to[v][0] != TN_NOVAR && (o.level != TN_NEST_ELEMENT || (o.kind != TN_NEST_LOAD && o.kind != TN_NEST_IOTA)))
        return to[v][0];
    if (to[v][phase] != TN_NOVAR) return to[v][phase];
    for (uint32_t i = 0; i < o.nin; i++) o.in[i] = in_phase(s, from, o.in[i], phase, to);
    o.phase = phase;
    return to[v][phase] = push(s, o);
}

static void separate_phases(sample *s) {
    static uint32_t to[TN_NEST_OPS][TN_NEST_PHASES];
    sample *from = malloc(sizeof *from);
    *from = *s;
    memset(to, 0xff, sizeof to);
    s->n.nop = 0;
    for (uint32_t v = 0; v < from->n.nop; v++) {
        tn_i_nest_op o = from->op[v];
        const bool source = o.level == TN_NEST_ELEMENT && (o.kind == TN_NEST_LOAD || o.kind == TN_NEST_IOTA);
        if (source) continue;
        for (uint32_t i = 0; i < o.nin; i++) o.in[i] = in_phase(s, from, o.in[i], o.phase, to);
        to[v][0] = push(s, o);
    }
    for (uint32_t a = 0; a < s->n.narray; a++)
        if (s->array[a].boxed) s->array[a].fill = to[s->array[a].fill][0];
    for (uint32_t v = 0; v < s->n.nop; v++) s->op[v].crosses = false;
    s->n.nphase = 0;
    tn_i_nest_note_readers(&s->n);
    free(from);
}

/* What is written over is not loaded again behind the store. */
static void part_late(sample *s) {
    for (uint32_t v = 0; v < s->n.nop; v++)
        for (uint32_t w = 0; s->op[v].kind == TN_NEST_STORE && w < s->n.nop; w++)
            if (s->op[w].kind == TN_NEST_LOAD && s->shares[s->op[v].array] == (int)s->op[w].array &&
                (w > v || s->op[w].phase > s->op[v].phase))
                s->shares[s->op[v].array] = -1;
}

static void make(sample *s, uint64_t seed, bool edges) {
    static const int dtypes[] = {TN_F64, TN_F64, TN_F32, TN_F32, TN_I64, TN_I32};
    *s = (sample){.rng = {seed}};
    s->edges = edges ? (uint32_t)pick(s, 1, 3) : 0;
    s->n.op = s->op;
    s->n.array = s->array;
    s->n.nphase = 1;
    make_loops(s);
    const int dtype = dtypes[pick(s, 0, 5)];
    for (int64_t i = pick(s, 1, edges ? 8 : 4); i > 0; i--) (void)make_load(s, dtype);
    const bool reduced = !edges || pick(s, 0, 2) == 0;
    if (pick(s, 0, 1)) (void)make_iota(s, dtype);
    for (int64_t i = pick(s, 1, 14); i > 0; i--) {
        if (pick(s, 0, 3) || !reduced || s->n.nphase >= TN_NEST_PHASES - 1)
            (void)make_map(s, dtype);
        else
            make_reduce(s, dtype);
        if (pick(s, 0, 3) == 0) {
            const uint32_t v = any_value(s, dtype), all = (1u << s->n.nloop) - 1;
            const uint8_t level = reduced && pick(s, 0, 3) ? s->op[v].level : TN_NEST_ELEMENT;
            const bool after = s->late[v] && level == TN_NEST_ELEMENT && s->op[v].level != TN_NEST_ELEMENT;
            const uint8_t phase = (uint8_t)(s->op[v].phase + after);
            const uint32_t mask = level == TN_NEST_ELEMENT ? all : level == TN_NEST_ROW ? all & ~inner_of(s) : 0;
            if (!inner_of(s) && level == TN_NEST_ELEMENT && s->n.nloop) continue;
            make_store(s, v, mask, level, phase, pick(s, 0, 2) != 0);
            if (phase >= s->n.nphase) s->n.nphase = phase + 1u;
        }
    }
    for (int t = 0; t < 3; t++) { /* something is stored, whatever was made */
        const uint32_t v = make_map(s, dtype), all = (1u << s->n.nloop) - 1;
        const uint8_t level = reduced || !s->n.nloop ? s->op[v].level : TN_NEST_ELEMENT;
        make_store(s, v,
                   level == TN_NEST_ELEMENT ? all
                   : level == TN_NEST_ROW   ? all & ~inner_of(s)
                                            : 0,
                   level, s->op[v].phase, true);
        if (t && s->op[s->n.nop - 1].kind == TN_NEST_STORE) share(s, s->n.nop - 1);
    }
    s->n.nin = s->n.narray;
    separate_phases(s);
    part_late(s);
}

static void fill_memory(sample *s) {
    for (uint32_t a = 0; a < s->n.narray; a++) {
        const size_t size = tn_i_dtype_size(s->array[a].dtype);
        s->memory[a] = calloc(s->elements[a] + 1, 8);
        for (size_t i = 0; s->load[a] && i < s->elements[a]; i++)
            put(s->array[a].dtype, (char *)s->memory[a] + i * size, special(s));
        if (s->load[a] && s->shares[a] >= 0) memcpy(s->memory[a], s->memory[s->shares[a]], s->elements[a] * size);
        if (!s->load[a]) memset(s->memory[a], 0x5a, s->elements[a] * size);
    }
}

/* ---- the plain reading ------------------------------------------------------------------------ */

static int64_t offset_at(const sample *s, const tn_i_nest_array *a, const int64_t *index) {
    int64_t offset = a->offset;
    for (uint32_t d = 0; d < s->n.nloop; d++) offset += index[d] * a->stride[d];
    return offset;
}

static bool inside(const sample *s, const tn_i_nest_array *a, const int64_t *index) {
    for (uint32_t d = 0; a->boxed && d < s->n.nloop; d++)
        if (index[d] < a->lo[d] || index[d] >= a->hi[d]) return false;
    return true;
}

static int64_t unravel(const sample *s, uint32_t mask, int64_t at, int64_t *index) {
    int64_t count = 1;
    for (uint32_t d = s->n.nloop; d-- > 0;)
        if (mask >> d & 1) {
            index[d] = at % s->n.size[d];
            at /= s->n.size[d];
            count *= s->n.size[d];
        }
    return count;
}

static int64_t ravel(const sample *s, const int64_t *index) {
    int64_t at = 0;
    for (uint32_t d = 0; d < s->n.nloop; d++) at = at * s->n.size[d] + index[d];
    return at;
}

static tn_i_one *body_of(const tn_i_nest_op *o, int in_dtype, tn_i_isa isa) {
    const tn_prim *prim = o->eqn->prim;
    if (prim->vector[o->dtype]) {
        const tn_i_vec v = tn_i_vec_math(prim->vector[o->dtype], isa, false);
        if (v.one) return v.one;
    }
    return tn_i_vec_strip(prim->strip[in_dtype], TN_ISA_PLAIN).one;
}

#define FOLD_OF(T, U)                                         \
    {                                                         \
        T x, y;                                               \
        memcpy(&x, a, sizeof x);                              \
        memcpy(&y, b, sizeof y);                              \
        if (fold == TN_FOLD_SUM) x = (T)((U)x + (U)y);        \
        if (fold == TN_FOLD_PROD) x = (T)((U)x * (U)y);       \
        if (fold == TN_FOLD_MAX) x = y > x || y != y ? y : x; \
        if (fold == TN_FOLD_MIN) x = y < x || y != y ? y : x; \
        memcpy(a, &x, sizeof x);                              \
        break;                                                \
    }

static void fold_in(int fold, int dtype, uint64_t *a, const uint64_t *b) {
    switch (dtype) {
    case TN_F64: FOLD_OF(double, double)
    case TN_F32: FOLD_OF(float, float)
    case TN_I64: FOLD_OF(int64_t, uint64_t)
    case TN_I32: FOLD_OF(int32_t, uint32_t)
    default: FOLD_OF(uint8_t, unsigned)
    }
}

static uint64_t reduce_list(int fold, int dtype, const uint64_t *x, int64_t n) {
    uint64_t stack[64], lane[TN_LANES];
    int level[64], height = 0;
    for (int64_t leaf = 0; leaf < n; leaf += TN_LEAF) {
        const int64_t m = n - leaf < TN_LEAF ? n - leaf : TN_LEAF;
        for (int l = 0; l < TN_LANES; l++) lane[l] = tn_i_l_identity(fold, dtype);
        for (int64_t i = 0; i < m; i++) fold_in(fold, dtype, &lane[i % TN_LANES], &x[leaf + i]);
        for (int half = TN_LANES / 2; half; half /= 2)
            for (int l = 0; l < half; l++) fold_in(fold, dtype, &lane[l], &lane[l + half]);
        stack[height] = lane[0];
        level[height++] = 0;
        while (height > 1 && level[height - 2] == level[height - 1]) {
            fold_in(fold, dtype, &stack[height - 2], &stack[height - 1]);
            level[--height - 1]++;
        }
    }
    for (; height > 1; height--) fold_in(fold, dtype, &stack[height - 2], &stack[height - 1]);
    return stack[0];
}

static bool better(int fold, int dtype, const uint64_t *a, const uint64_t *b) {
    double x = 0, y = 0;
    int64_t i = 0, j = 0;
    if (dtype == TN_F64) memcpy(&x, a, 8), memcpy(&y, b, 8);
    if (dtype == TN_F32) {
        float f, g;
        memcpy(&f, a, 4);
        memcpy(&g, b, 4);
        x = (double)f;
        y = (double)g;
    }
    if (dtype == TN_I64) memcpy(&i, a, 8), memcpy(&j, b, 8);
    if (dtype == TN_I32) {
        int32_t k, l;
        memcpy(&k, a, 4);
        memcpy(&l, b, 4);
        i = k;
        j = l;
    }
    if (x != x) return y == y;
    return fold == TN_FOLD_ARGMAX ? x > y || i > j : x < y || i < j;
}

static uint64_t reduce_values(int fold, int dtype, int out, const uint64_t *x, int64_t n) {
    if (fold != TN_FOLD_ARGMAX && fold != TN_FOLD_ARGMIN) return reduce_list(fold, dtype, x, n);
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        if (better(fold, dtype, &x[i], &x[best])) best = i;
    (void)out; /* little-endian: the low half is the i32 */
    return (uint64_t)best;
}

static void plain_reduce(const sample *s, const tn_i_nest_op *o, uint64_t *const *value, uint64_t *result,
                         uint64_t *list) {
    const uint32_t all = (1u << s->n.nloop) - 1, kept = all & ~o->over;
    int64_t index[TN_MAX_RANK] = {0}, other[TN_MAX_RANK];
    const int64_t results = unravel(s, kept, 0, index), n = unravel(s, o->over, 0, index);
    for (int64_t k = 0; k < results; k++) {
        (void)unravel(s, kept, k, index);
        for (int64_t i = 0; i < n; i++) {
            (void)unravel(s, o->over, i, index);
            list[i] = value[o->in[0]][ravel(s, index)];
        }
        const uint64_t x = reduce_values(o->fold, s->op[o->in[0]].dtype, o->dtype, list, n);
        memcpy(other, index, sizeof other);
        for (int64_t i = 0; i < n; i++) {
            (void)unravel(s, o->over, i, other);
            result[ravel(s, other)] = x;
        }
    }
}

static void plain_op(const sample *s, uint32_t v, uint64_t **value, uint64_t *const *memory, tn_i_isa isa) {
    const tn_i_nest_op *o = &s->op[v];
    const tn_i_nest_array *a = &s->array[o->array];
    const int64_t total = s->n.rows * s->n.row;
    const size_t size = tn_i_dtype_size(o->dtype);
    tn_i_one *one = o->kind == TN_NEST_MAP ? body_of(o, s->op[o->in[o->nin == 3]].dtype, isa) : NULL;
    if (o->kind == TN_NEST_REDUCE) {
        uint64_t *list = malloc((size_t)total * 8);
        plain_reduce(s, o, value, value[v], list);
        free(list);
        return;
    }
    for (int64_t i = 0; i < total; i++) {
        int64_t index[TN_MAX_RANK];
        (void)unravel(s, (1u << s->n.nloop) - 1, i, index);
        char *at =
            a && o->kind != TN_NEST_MAP ? (char *)memory[o->array] + offset_at(s, a, index) * (int64_t)size : NULL;
        if (o->kind == TN_NEST_NUMBER) value[v][i] = o->bits;
        if (o->kind == TN_NEST_LOAD) {
            if (inside(s, a, index))
                memcpy(&value[v][i], at, size);
            else
                value[v][i] = o->nin ? value[o->in[0]][i] : s->op[a->fill].bits;
        }
        if (o->kind == TN_NEST_IOTA) whole(o->dtype, &value[v][i], o->first + o->by * index[o->loop]);
        if (one)
            one(&value[o->in[0]][i], o->nin > 1 ? &value[o->in[1]][i] : NULL, o->nin > 2 ? &value[o->in[2]][i] : NULL,
                &value[v][i]);
        if (o->kind == TN_NEST_STORE) memcpy(at, &value[o->in[0]][i], size);
    }
}

static void plain(const sample *s, uint64_t *const *memory, tn_i_isa isa) {
    uint64_t *value[TN_NEST_OPS];
    for (uint32_t v = 0; v < s->n.nop; v++) value[v] = calloc((size_t)(s->n.rows * s->n.row), 8);
    for (uint32_t v = 0; v < s->n.nop; v++) plain_op(s, v, value, memory, isa);
    for (uint32_t v = 0; v < s->n.nop; v++) free(value[v]);
}

/* ---- comparing ---------------------------------------------------------------------------------- */

static bool is_nan(int dtype, const char *x) {
    double d;
    float f;
    if (dtype == TN_F64) return memcpy(&d, x, 8), d != d;
    if (dtype == TN_F32) return memcpy(&f, x, 4), f != f;
    return false;
}

/* Bits, except that one NaN is as good as another. */
static bool same(int dtype, const char *x, const char *y) {
    return memcmp(x, y, tn_i_dtype_size(dtype)) == 0 || (is_nan(dtype, x) && is_nan(dtype, y));
}

/* For whoever looks into a failure: the nest, and the two elements. */
static void show(const sample *s, const char *x, const char *y) {
    fprintf(stderr, "loops %u outer %u:", s->n.nloop, s->n.nouter);
    for (uint32_t d = 0; d < s->n.nloop; d++) fprintf(stderr, " %lld", (long long)s->n.size[d]);
    fprintf(stderr, "\ngot %016llx want %016llx\n", *(const unsigned long long *)(const void *)x,
            *(const unsigned long long *)(const void *)y);
    for (uint32_t v = 0; v < s->n.nop; v++) {
        const tn_i_nest_op *o = &s->op[v];
        fprintf(stderr, "%3u kind %d level %d dtype %d phase %d before %d array %u over %x fold %d crosses %d %s(", v,
                o->kind, o->level, o->dtype, o->phase, o->before, o->array, o->over, o->fold, o->crosses,
                o->eqn ? o->eqn->prim->name : "");
        for (uint32_t i = 0; i < o->nin; i++) fprintf(stderr, " %u", o->in[i]);
        fprintf(stderr, " )\n");
    }
    for (uint32_t a = 0; a < s->n.narray; a++) {
        fprintf(stderr, "array %u load %d shares %d boxed %d:", a, s->load[a], s->shares[a], s->array[a].boxed);
        for (uint32_t d = 0; d < s->n.nloop; d++) fprintf(stderr, " %lld", (long long)s->array[a].stride[d]);
        fprintf(stderr, "\n");
    }
}

static void compare(const sample *s, uint64_t seed, tn_i_isa isa, char *const *got, uint64_t *const *want, int absent) {
    for (uint32_t a = 0; a < s->n.narray; a++) {
        const size_t size = tn_i_dtype_size(s->array[a].dtype);
        if (s->load[a] || (int)a == absent) continue;
        for (size_t i = 0; i < s->elements[a]; i++) {
            const char *x = got[a] + i * size, *y = (const char *)want[a] + i * size;
            if (same(s->array[a].dtype, x, y)) continue;
            if (getenv("TN_NEST_SEED")) show(s, x, y);
            fail_msg("seed %llu, instruction set %d: array %u, element %zu of %zu", (unsigned long long)seed, (int)isa,
                     (unsigned)a, i, s->elements[a]);
        }
    }
}

/* ---- as loop programs ------------------------------------------------------------------------------ */

static tn_i_strip *function(void *unused, const char *name) {
    (void)unused;
    return tn_i_vec_math(name, tn_i_isa_best(), false).strip;
}

/* As machine code, or by evaluation. */
static tn_status run_as(const tn_i_loops *p, char *const *base, bool code, bool backwards) {
    const tn_i_l_eval_options o = {.function = function, .backwards = backwards};
    const tn_i_l_run run = {0};
    char why[TN_JIT_WHY];
    tn_i_jit pages;
    tn_i_jit_label at;
    tn_i_code buffer;
    if (!code || tn_i_isa_best() == TN_ISA_PLAIN) return tn_i_l_eval(p, base, &o);
    tn_i_code_begin(&buffer, p->ctx, tn_i_isa_best());
    if (tn_i_jit_compile(&buffer, p, NULL, &at, why) != TN_JIT_OK) fail_msg("no code: %s", why);
    if (tn_i_jit_seal(&buffer, &pages, why) != TN_JIT_OK) fail_msg("no code: %s", why);
    const tn_status status = tn_i_jit_program(&pages, &buffer, at)(&run, base);
    tn_i_jit_drop(p->ctx, &pages);
    tn_i_code_drop(&buffer);
    return status;
}

/* Entry 0 of the table is scratch memory, from 2 on the arrays that do not share another's memory. */
static void run_program(const sample *s, uint64_t seed, const tn_i_loops *p, uint64_t *const *want, const char *pass,
                        bool backwards, bool code) {
    char *base[2 + TN_NEST_ARRAYS], *got[TN_NEST_ARRAYS], *memory[TN_NEST_ARRAYS];
    if (!tn_i_l_check(p)) fail_msg("seed %llu, %s: %s", (unsigned long long)seed, pass, p->ctx->message);
    for (uint32_t a = 0; a < s->n.narray; a++) {
        got[a] = s->shares[a] >= 0 ? got[s->shares[a]] : malloc(s->elements[a] * 8 + 8);
        if (s->shares[a] < 0) memcpy(got[a], s->memory[a], s->elements[a] * 8);
        memory[a] = base[2 + a] = got[a];
    }
    base[0] = aligned_alloc(64, ((size_t)p->bytes + 63) / 64 * 64 + 64);
    memset(base[0], 0xa5, (size_t)p->bytes + 64);
    base[1] = NULL;
    if (run_as(p, base, code, backwards) != TN_OK)
        fail_msg("seed %llu, %s: %s", (unsigned long long)seed, pass, p->ctx->message);
    for (size_t i = 0; i < 64; i++) assert_int_equal((unsigned char)base[0][(size_t)p->bytes + i], 0xa5);
    if (getenv("TN_NEST_SEED")) {
        char *text = tn_i_l_print(p, &(size_t){0});
        fprintf(stderr, "after %s:\n%s\n", pass, text);
        tn_text_free(p->ctx, text);
    }
    compare(s, seed, tn_i_isa_best(), memory, want, -1);
    free(base[0]);
    for (uint32_t a = 0; a < s->n.narray; a++)
        if (s->shares[a] < 0) free(got[a]);
}

static tn_i_loops *lowered(tn_ctx *ctx, sample *s, uint64_t seed) {
    for (uint32_t a = 0; a < s->n.narray; a++) {
        s->array[a].base = TN_BASE_ARGUMENTS + (s->shares[a] >= 0 ? (uint32_t)s->shares[a] : a);
        s->array[a].at = s->array[a].offset * (int64_t)tn_i_dtype_size(s->array[a].dtype);
    }
    if (getenv("TN_NEST_SEED")) show(s, "12345678", "12345678");
    tn_i_loops *p = tn_i_lower_nest(ctx, &s->n);
    if (!p) fail_msg("seed %llu: %s", (unsigned long long)seed, ctx->message);
    return p;
}

/* As it is lowered, after all passes so far, and after each pass alone. */
static void check_lowered(tn_ctx *ctx, uint64_t seed, bool edges) {
    static const int bytes[] = {16, 32, 64};
    sample *s = malloc(sizeof *s);
    uint64_t *want[TN_NEST_ARRAYS];
    const tn_i_machine m = {.vector = bytes[seed % 3], .threads = (int)(seed % 5), .worth = 1};
    make(s, seed, edges);
    fill_memory(s);
    for (uint32_t a = 0; a < s->n.narray; a++) {
        want[a] = s->shares[a] >= 0 ? want[s->shares[a]] : malloc(s->elements[a] * 8 + 8);
        if (s->shares[a] < 0) memcpy(want[a], s->memory[a], s->elements[a] * 8);
    }
    plain(s, want, tn_i_isa_best());
    tn_i_loops *all = lowered(ctx, s, seed);
    run_program(s, seed, all, want, "lowering", false, false);
    for (const tn_i_pass *k = tn_i_pipeline; k->name; k++) {
        tn_i_loops *p = k->run(lowered(ctx, s, seed), &m);
        all = k->run(all, &m);
        if (!p || !all) fail_msg("seed %llu, %s: %s", (unsigned long long)seed, k->name, ctx->message);
        run_program(s, seed, p, want, k->name, seed & 1, false);
        run_program(s, seed, all, want, k->name, false, false);
        tn_i_l_free(p);
    }
    run_program(s, seed, all, want, "all passes", true, false);
    run_program(s, seed, all, want, "all passes, as code", false, true);
    tn_i_l_free(all);
    for (uint32_t a = 0; a < s->n.narray; a++) {
        if (s->shares[a] < 0) free(want[a]);
        free(s->memory[a]);
    }
    free(s);
}

/* ---- all of it --------------------------------------------------------------------------------------- */

static tn_i_loops *after_passes(tn_ctx *ctx, sample *s, uint64_t seed, int vector) {
    const tn_i_machine m = {.vector = vector ? vector : 512, .threads = 1, .worth = 1, .strips = !vector};
    tn_i_loops *p = tn_i_passes(lowered(ctx, s, seed), &m, NULL);
    if (!p) fail_msg("seed %llu: %s", (unsigned long long)seed, ctx->message);
    return p;
}

/* By strips, in the memory that was planned, with an output that nobody wants.  In a few nests passes make what takes
 * more: misfits. */
static void check(tn_ctx *ctx, uint64_t seed, tn_i_isa isa, bool edges, uint64_t *misfits) {
    static const int bytes[] = {16, 32, 64};
    sample *s = malloc(sizeof *s);
    char *base[2 + TN_NEST_ARRAYS] = {NULL}, *got[TN_NEST_ARRAYS];
    bool fits = true;
    size_t at;
    make(s, seed, edges);
    fill_memory(s);
    const int absent = pick(s, 0, 5) ? -1 : (int)s->n.narray - 1;
    for (uint32_t a = 0; a < s->n.narray; a++) {
        got[a] = s->shares[a] >= 0 ? got[s->shares[a]] : malloc(s->elements[a] * 8 + 8);
        if (s->shares[a] < 0) memcpy(got[a], s->memory[a], s->elements[a] * 8);
        base[2 + a] = (int)a == absent ? NULL : got[a];
    }
    if (!tn_i_nest_ready(ctx, &s->n)) fail_msg("seed %llu: %s", (unsigned long long)seed, ctx->message);
    for (size_t k = 0; k < 3; k++) {
        tn_i_loops *p = after_passes(ctx, s, seed, bytes[k]);
        *misfits += isa == TN_ISA_PLAIN && (size_t)p->bytes > s->n.scratch;
        tn_i_l_free(p);
    }
    tn_i_loops *p = after_passes(ctx, s, seed, 0);
    tn_i_strips *strips = NULL;
    for (int passes = 1; !strips && passes >= 0; passes--) {
        if (!passes) tn_i_l_free(p), p = lowered(ctx, s, seed);
        at = ((size_t)p->bytes + 63) & ~(size_t)63;
        if (at <= s->n.scratch) strips = tn_i_strips_new(p, isa, false, s->n.scratch - at, &fits);
        *misfits += isa == TN_ISA_PLAIN && !strips;
    }
    if (!strips)
        fail_msg("seed %llu: %s", (unsigned long long)seed, fits ? ctx->message : "strips need more than was planned");
    char *scratch = base[0] = aligned_alloc(64, (s->n.scratch + 63) / 64 * 64 + 64);
    memset(scratch, 0xa5, s->n.scratch + 64);
    assert_int_equal(tn_i_strips_run(strips, NULL, base, scratch + at), TN_OK);
    for (size_t i = 0; i < 64; i++) assert_int_equal((unsigned char)scratch[s->n.scratch + i], 0xa5);
    plain(s, s->memory, isa);
    compare(s, seed, isa, got, s->memory, absent);
    tn_i_strips_free(strips);
    tn_i_l_free(p);
    free(scratch);
    for (uint32_t a = 0; a < s->n.narray; a++) {
        if (s->shares[a] < 0) free(got[a]);
        free(s->memory[a]);
    }
    free(s);
}

static void check_all(bool edges) {
    const char *only = getenv("TN_NEST_SEED"), *many = getenv("TN_NESTS");
    const uint64_t first = only ? strtoull(only, NULL, 10) : 1, usual = (uint64_t)amount(300, 100),
                   n = only   ? 1
                       : many ? strtoull(many, NULL, 10)
                              : usual;
    uint64_t misfits = 0;
    tn_ctx *ctx = tn_ctx_new(NULL);
    for (uint64_t seed = first; seed < first + n; seed++)
        for (int isa = TN_ISA_PLAIN; isa <= (int)tn_i_isa_best(); isa++)
            check(ctx, seed, (tn_i_isa)isa, edges, &misfits);
    assert_true(only || misfits <= n / 20); /* of four programs each */
    tn_ctx_free(ctx);
}

static void random_nests(void **unused) {
    (void)unused;
    check_all(false);
}

/* Nests that are cut where boxes begin and end. */
static void random_edges(void **unused) {
    (void)unused;
    check_all(true);
}

static void random_programs(void **unused) {
    const char *only = getenv("TN_NEST_SEED"), *many = getenv("TN_NESTS");
    const uint64_t first = only ? strtoull(only, NULL, 10) : 1, usual = (uint64_t)amount(100, 30),
                   n = only   ? 1
                       : many ? strtoull(many, NULL, 10)
                              : usual;
    tn_ctx *ctx = tn_ctx_new(NULL);
    (void)unused;
    for (uint64_t seed = first; seed < first + n; seed++)
        for (int edges = 0; edges < 2; edges++) check_lowered(ctx, seed, edges);
    tn_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_nests), cmocka_unit_test(random_edges),
                                       cmocka_unit_test(random_programs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
