/* From a nest to what the interpreter runs: which values are tiles, and in which order what runs. */
#include "exec/nest_make.h"

#include <string.h>

enum { LONG_ROW = TN_LEAF, SHORT_ROW = TN_LEAF / 2 };

static bool is_over(const maker *m, const tn_i_nest_op *o, uint32_t d) {
    return d < m->nest->nloop && o->over >> d & 1;
}

/* ---- walks ----------------------------------------------------------------------------- */

static void walk_push(tn_i_nest_walk *w, int64_t size, int64_t stride) {
    const uint32_t d = w->n - 1;
    if (w->n && (size == 1 || w->stride[d] == stride * size)) {
        if (size == 1) return;
        w->size[d] *= size;
        w->stride[d] = stride;
        return;
    }
    if (w->n && w->size[d] == 1) w->n--;
    w->size[w->n] = size;
    w->stride[w->n++] = stride;
}

static bool walk_new(maker *m, const tn_i_nest_walk *w, uint32_t *at) {
    if (!tn_i_grow(m->ctx, (void **)&m->code->walk, &m->code->cwalk, m->code->nwalk + 1u, sizeof *w)) return false;
    *at = m->code->nwalk;
    m->code->walk[m->code->nwalk++] = *w;
    return true;
}

/* An array over the first `loops` loops of the nest. */
static tn_i_nest_walk walk_of(const tn_i_nest *n, const int64_t *stride, uint32_t loops) {
    tn_i_nest_walk w = {.n = 0};
    for (uint32_t d = 0; d < loops; d++) walk_push(&w, n->size[d], stride[d]);
    if (w.n == 0) walk_push(&w, 1, 0);
    return w;
}

/* Whether a block of the space is dense in the array. */
static bool dense(const maker *m, const tn_i_nest_array *a) {
    const tn_i_nest *n = m->nest;
    tn_i_nest_walk w = {.n = 0};
    for (uint32_t d = m->many ? 0 : n->nouter; d < n->nloop; d++) walk_push(&w, n->size[d], a->stride[d]);
    return !a->boxed && (w.n == 0 || (w.n == 1 && (w.stride[0] == 1 || w.size[0] == 1)));
}

static bool moved_by(const tn_i_nest *n, const tn_i_nest_array *a, uint32_t first, uint32_t last) {
    for (uint32_t d = first; d < last; d++)
        if (n->size[d] > 1 && (a->stride[d] || a->boxed)) return true;
    return false;
}

/* ---- instructions ------------------------------------------------------------------------ */

static tn_i_nest_instr *emit(maker *m, uint8_t kind, uint32_t out, int dtype) {
    tn_i_nest_code *c = m->code;
    if (!tn_i_grow(m->ctx, (void **)&c->instr, &c->cinstr, c->ninstr + 1u, sizeof *c->instr)) return NULL;
    if (out != TN_NOVAR && m->at[out] == TN_NOVAR) m->at[out] = m->last[out] = c->ninstr;
    tn_i_nest_instr *i = &c->instr[c->ninstr++];
    *i = (tn_i_nest_instr){
        .kind = kind, .out = out, .dtype = (uint8_t)dtype, .size = size_of(dtype), .array = TN_NOVAR, .sink = TN_NOVAR};
    return i;
}

static void reads(maker *m, tn_i_nest_instr *i, uint32_t value, int64_t stride) {
    i->s[i->nin] = stride;
    i->in[i->nin++] = value;
    m->last[value] = m->code->ninstr - 1;
}

/* The value of operation v for an instruction of rate r; one for each row is spread over the elements. */
static bool read(maker *m, uint32_t v, rate r, uint32_t *value, int64_t *stride) {
    const rate of = m->rate[v];
    *value = v;
    *stride = of == r;
    if (r == ROW) *stride = of == ROW;
    if (of != ROW || r != ELEMENT || !m->many) return true;
    *stride = 1;
    if (m->spread[v] == TN_NOVAR) {
        const uint32_t s = m->code->nvalue++;
        m->spread[v] = s;
        tn_i_nest_instr *i = emit(m, TN_CODE_SPREAD, s, m->nest->op[v].dtype);
        if (!i) return false;
        i->spread = tn_i_vec_spread(i->size, m->isa);
        reads(m, i, v, 1);
    }
    *value = m->spread[v];
    return true;
}

/* A tile of one repeated value, for what wants an operand in memory. */
static bool spread_once(maker *m, uint32_t v, rate r, uint32_t *value) {
    int64_t stride;
    if (!read(m, v, r, value, &stride)) return false;
    if (stride) return true;
    *value = m->code->nvalue++;
    tn_i_nest_instr *i = emit(m, TN_CODE_SPREAD, *value, m->nest->op[v].dtype);
    if (!i) return false;
    reads(m, i, v, 0);
    return true;
}

bool tn_i_nest_kernel(tn_ctx *c, const tn_i_nest *n, const tn_i_nest_op *o, tn_i_isa isa, bool accurate,
                      tn_i_vec *out) {
    const tn_prim *prim = o->eqn->prim;
    tn_type type[4], result = tn_type_of(o->dtype, 0, NULL);
    const tn_type *in[4] = {0};
    bool alike = true;
    for (uint32_t i = 0; i < o->nin && i < 4; i++) {
        type[i] = tn_type_of(n->op[o->in[i]].dtype, 0, NULL);
        in[i] = &type[i];
        alike &= type[i].dtype == o->dtype;
    }
    if (alike && prim->vector[o->dtype]) {
        *out = tn_i_vec_math(prim->vector[o->dtype], isa, accurate);
        if (out->strip) return true;
    }
    const tn_i_query q = {
        .ctx = c, .prim = prim, .p = tn_i_p(o->eqn), .nin = o->nin, .nout = 1, .in = in, .out = &result};
    const char *body;
    tn_i_strip *strip = tn_i_scalar_body(&q, &body);
    *out = strip ? tn_i_vec_strip(strip, isa) : (tn_i_vec){.strip = NULL};
    if (out->strip) return true;
    (void)tn_i_fail(c, TN_ERULE, o->eqn->loc, "%s: has no scalar body to be fused by", prim->name);
    return false;
}

static void compute_by(tn_i_nest_instr *e, const tn_i_vec *k) {
    e->strip = k->strip;
    e->one = k->one;
    e->number = k->number;
    e->lanes = k->lanes;
}

/* The instruction just made computes what alone v reads: the two are made one.  Repeated operands come where the
 * kernels have loops for them. */
static bool join(maker *m, uint32_t v) {
    const tn_i_nest_op *o = &m->nest->op[v];
    tn_i_nest_instr *e = m->code->ninstr > m->begin ? &m->code->instr[m->code->ninstr - 1] : NULL;
    if (!e || e->kind != TN_CODE_MAP || e->nin != 2 || o->nin != 2 || e->dtype != o->dtype) return false;
    const uint32_t u = e->out;
    const int at = o->in[0] == u ? 0 : 1;
    if (o->in[at] != u || o->in[1 - at] == u || m->readers[u] != 1 || m->rate[u] != m->rate[v]) return false;
    const uint32_t z = o->in[1 - at];
    if (m->rate[v] == ELEMENT && m->rate[z] == ROW && m->many && m->spread[z] == TN_NOVAR) return false;
    tn_i_vec k;
    bool swaps;
    uint32_t value;
    int64_t stride;
    if (!tn_i_vec_pair(m->nest->op[u].eqn->prim, o->eqn->prim, at, o->dtype, m->isa, &k, &swaps)) return false;
    if (!read(m, z, (rate)m->rate[v], &value, &stride)) return false;
    if (swaps && e->s[0] == 0 && e->s[1] == 1) {
        const uint32_t x = e->in[0];
        e->in[0] = e->in[1];
        e->in[1] = x;
        e->s[0] = 1;
        e->s[1] = 0;
    }
    m->at[u] = TN_NOVAR; /* nowhere */
    m->at[v] = m->last[v] = m->code->ninstr - 1;
    e->out = v;
    compute_by(e, &k);
    reads(m, e, value, stride);
    return true;
}

static bool emit_map(maker *m, uint32_t v) {
    const tn_i_nest_op *o = &m->nest->op[v];
    if (join(m, v)) return true;
    uint32_t value[4];
    int64_t stride[4];
    for (uint32_t i = 0; i < o->nin; i++)
        if (!read(m, o->in[i], m->rate[v], &value[i], &stride[i])) return false;
    tn_i_vec k;
    if (!tn_i_nest_kernel(m->ctx, m->nest, o, m->isa, m->accurate, &k)) return false;
    tn_i_nest_instr *e = emit(m, TN_CODE_MAP, v, o->dtype);
    if (!e) return false;
    compute_by(e, &k);
    for (uint32_t i = 0; i < o->nin; i++) reads(m, e, value[i], stride[i]);
    return true;
}

static bool emit_lookup(maker *m, uint32_t v) {
    const tn_i_nest_op *o = &m->nest->op[v];
    uint32_t value;
    int64_t stride;
    if (!read(m, o->in[0], (rate)m->rate[v], &value, &stride)) return false;
    tn_i_nest_instr *e = emit(m, TN_CODE_LOOKUP, v, o->dtype);
    if (!e) return false;
    e->array = o->array;
    e->by = o->by;
    e->first = o->first;
    e->s[1] = size_of(m->nest->op[o->in[0]].dtype);
    e->s[2] = o->fills;
    e->s[3] = (int64_t)o->bits;
    reads(m, e, value, stride);
    return true;
}

/* The same for every block: copied or counted once, before the first one. */
static bool lasting(const maker *m, uint32_t v) {
    const tn_i_nest *n = m->nest;
    const tn_i_nest_op *o = &n->op[v];
    if (m->rate[v] != ELEMENT || !m->code->whole || n->rows == 1) return false;
    if (o->kind == TN_NEST_IOTA) return o->loop >= m->cycle;
    if (o->kind != TN_NEST_LOAD) return false;
    const tn_i_nest_array *a = &n->array[o->array];
    for (uint32_t d = 0; d < n->nouter; d++)
        if (a->boxed && (a->lo[d] > 0 || a->hi[d] < n->size[d])) return false;
    if (a->boxed) return false;
    return !dense(m, a) && !moved_by(n, a, 0, m->cycle);
}

/* Loops d .. nouter-1 move an element's operand, and those before them do not. */
static bool comes_again(const maker *m, uint32_t d) {
    const tn_i_nest *n = m->nest;
    for (uint32_t v = 0; v < n->nop; v++) {
        const tn_i_nest_op *o = &n->op[v];
        if (o->kind != TN_NEST_LOAD || o->level != TN_NEST_ELEMENT) continue;
        const tn_i_nest_array *a = &n->array[o->array];
        if (!a->boxed && a->stride[d] && !moved_by(n, a, 0, d)) return true;
    }
    return false;
}

/* What only the last loops over rows move, such as the means of f64[n,25,10] - f64[25,10], is the same for every block
 * that has whole rounds of these.  Blocks of rows that are summed keep to the lanes of that instead. */
static void find_cycle(maker *m) {
    const tn_i_nest *n = m->nest;
    int64_t round = 1;
    bool sums = false;
    m->cycle = n->nouter;
    m->round = 1;
    for (uint32_t v = 0; v < n->nop; v++) sums |= n->op[v].kind == TN_NEST_REDUCE && !of_row(n, &n->op[v]);
    for (uint32_t d = n->nouter; m->many && !sums && d-- > 1;) {
        round *= n->size[d];
        if (round * n->row > TN_LEAF) return;
        if (comes_again(m, d)) m->cycle = d, m->round = round;
    }
}

static bool emit_iota(maker *m, uint32_t v) {
    const tn_i_nest *n = m->nest;
    const tn_i_nest_op *o = &n->op[v];
    int64_t stride[TN_MAX_RANK] = {0};
    uint32_t walk;
    stride[o->loop] = 1;
    const tn_i_nest_walk w = walk_of(n, stride, m->rate[v] == ELEMENT ? n->nloop : m->rate[v] == ROW ? n->nouter : 0);
    tn_i_nest_instr *e;
    if (!walk_new(m, &w, &walk) || !(e = emit(m, TN_CODE_IOTA, v, o->dtype))) return false;
    e->walk = walk;
    e->lasting = lasting(m, v);
    e->by = o->by;
    e->first = o->first;
    return true;
}

/* Box e lies beside that of value v: together they leave out nothing. */
static void note_join(maker *m, tn_i_nest_instr *e, uint32_t v) {
    if (m->readers[v] != 1 || m->nest->op[v].kind != TN_NEST_LOAD || !m->nest->array[m->nest->op[v].array].boxed)
        return;
    tn_i_nest_instr *before = &m->code->instr[m->at[v]];
    e->s[2] |= TN_BOX_OVER;
    if (m->nest->op[v].nin == 0) before->s[2] |= TN_BOX_FIRST;
}

static bool emit_load(maker *m, uint32_t v) {
    const tn_i_nest *n = m->nest;
    const tn_i_nest_op *o = &n->op[v];
    const tn_i_nest_array *a = &n->array[o->array];
    const uint32_t loops = m->rate[v] == ELEMENT ? n->nloop : m->rate[v] == ROW ? n->nouter : 0;
    const tn_i_nest_walk w = walk_of(n, a->stride, loops);
    uint32_t walk;
    if (!walk_new(m, &w, &walk)) return false;
    if (m->rate[v] == ELEMENT && dense(m, a) && !m->copied[v] && !m->code->tiny) {
        m->code->value[v] = (tn_i_nest_value){TN_VALUE_MEMORY, size_of(o->dtype), o->array, walk, SIZE_MAX};
        m->at[v] = m->last[v] = m->code->ninstr;
        return true;
    }
    tn_i_nest_instr *e = emit(m, a->boxed ? TN_CODE_BOX : TN_CODE_LOAD, v, o->dtype);
    if (!e) return false;
    e->array = o->array;
    e->walk = walk;
    e->lasting = lasting(m, v);
    if (a->boxed) {
        int64_t stride = 0;
        uint32_t value = a->fill;
        if (o->nin && !read(m, o->in[0], (rate)m->rate[v], &value, &stride)) return false;
        e = &m->code->instr[m->code->ninstr - 1];
        reads(m, e, value, stride);
        e->s[1] = loops;
        if (o->nin) note_join(m, e, o->in[0]);
    }
    return true;
}

/* ---- reductions ---------------------------------------------------------------------------- */

/* The STORE that reads v, or NULL. */
static const tn_i_nest_op *store_of(const maker *m, uint32_t v) {
    for (uint32_t i = v + 1; i < m->nest->nop; i++)
        if (m->nest->op[i].kind == TN_NEST_STORE && m->nest->op[i].in[0] == v) return &m->nest->op[i];
    return NULL;
}

static void push_group(tn_i_nest_sink *k, bool reduced, bool *was, int64_t size) {
    if (k->ngroup && *was == reduced) {
        k->group[k->ngroup - 1] *= size;
        return;
    }
    *was = reduced;
    k->folds[k->ngroup] = reduced;
    k->group[k->ngroup++] = size;
}

/* Loops of the operation's space, `loops` of them, in groups; steps of each group, and how many results there are. */
static void group_loops(const maker *m, const tn_i_nest_op *o, uint32_t loops, tn_i_nest_sink *k) {
    bool was = false;
    int64_t folds = 1, keeps = 1, begins = 1;
    uint32_t first = 0;
    for (uint32_t d = 0; d < loops; d++) push_group(k, is_over(m, o, d), &was, m->nest->size[d]);
    if (k->ngroup == 0 || (k->ngroup == 1 && !k->folds[0])) push_group(k, true, &was, 1);
    while (!k->folds[first]) first++;
    k->inner_kept = !k->folds[k->ngroup - 1];
    for (uint32_t g = k->ngroup; g-- > 0;)
        if (k->folds[g]) {
            k->folds[g] = folds;
            folds *= k->group[g];
        } else if (g > first) {
            k->keeps[g] = keeps;
            keeps *= k->group[g];
        } else {
            k->begins[g] = begins;
            begins *= k->group[g];
        }
    k->n = folds;
    k->kept = keeps;
}

static int64_t lanes_of(int64_t n) {
    int64_t lanes = 1;
    while (lanes < n && lanes < TN_LANES) lanes *= 2;
    return lanes;
}

/* Where the results go: the kept loops of the array that is stored to. */
static bool sink_store(maker *m, const tn_i_nest_op *o, uint32_t v, uint32_t loops, tn_i_nest_sink *k) {
    const tn_i_nest_op *store = store_of(m, v);
    tn_i_nest_walk w = {.n = 0};
    if (!store) {
        (void)tn_i_fail(m->ctx, TN_ERULE, NULL, "a reduction over outer loops is not stored");
        return false;
    }
    k->out = TN_NOVAR;
    k->array = store->array;
    for (uint32_t d = 0; d < loops; d++)
        if (!is_over(m, o, d)) walk_push(&w, m->nest->size[d], m->nest->array[store->array].stride[d]);
    if (w.n == 0) walk_push(&w, 1, 0);
    return walk_new(m, &w, &k->walk);
}

static bool new_sink(maker *m, uint32_t v, uint32_t loops, uint32_t *at) {
    const tn_i_nest_op *o = &m->nest->op[v];
    tn_i_nest_code *c = m->code;
    const int dtype = m->nest->op[o->in[0]].dtype;
    tn_i_nest_sink k = {.fold = o->fold, .dtype = (uint8_t)dtype, .size = size_of(dtype), .out_dtype = o->dtype};
    k.out_size = size_of(o->dtype);
    k.arg = o->fold == TN_FOLD_ARGMAX || o->fold == TN_FOLD_ARGMIN;
    k.out = v;
    k.identity = tn_i_fold_identity(o->fold, dtype);
    k.kernel = tn_i_vec_fold_of(o->fold, dtype, m->isa);
    group_loops(m, o, loops, &k);
    k.lanes = k.inner_kept ? lanes_of(k.n) : TN_LANES;
    for (uint64_t leaves = ((uint64_t)k.n - 1) / TN_LEAF + 1; leaves > 1; leaves = (leaves + 1) / 2) k.levels++;
    k.levels += k.n > TN_LEAF;
    if (!k.kernel && !k.arg) {
        (void)tn_i_fail(m->ctx, TN_ERULE, NULL, "no reduction of this kind");
        return false;
    }
    if (!of_row(m->nest, o) && !sink_store(m, o, v, loops, &k)) return false;
    if (!tn_i_grow(m->ctx, (void **)&c->sink, &c->csink, c->nsink + 1u, sizeof k)) return false;
    *at = c->nsink;
    c->sink[c->nsink++] = k;
    return true;
}

/* Where a reduction runs: among the elements, or once for each row. */
static bool of_elements(const tn_i_nest *n, const tn_i_nest_op *o) {
    return (o->over & inner_mask(n)) != 0 || (o->level == TN_NEST_ELEMENT && !of_row(n, o));
}

static bool emit_reduce(maker *m, uint32_t v) {
    const tn_i_nest *n = m->nest;
    const tn_i_nest_op *o = &n->op[v];
    const bool elements = of_elements(n, o), row = of_row(n, o);
    uint32_t value = o->in[0], sink = TN_NOVAR;
    if (!spread_once(m, o->in[0], elements ? ELEMENT : ROW, &value)) return false;
    if (!new_sink(m, v, elements ? n->nloop : n->nouter, &sink)) return false;
    const bool rows = row && m->code->whole;
    tn_i_nest_instr *e = emit(m, rows ? TN_CODE_ROWS : TN_CODE_SINK, row ? v : TN_NOVAR, o->dtype);
    if (!e) return false;
    e->fold = m->code->sink[sink].kernel;
    e->sink = sink;
    reads(m, e, value, 1);
    return true;
}

/* ---- stores ------------------------------------------------------------------------------------ */

/* An output may be where an operand was, but only if both are walked alike. */
bool tn_i_nest_may_share(const tn_i_nest *n, const tn_i_nest_op *load, const tn_i_nest_array *a) {
    if (load->kind != TN_NEST_LOAD) return false;
    const tn_i_nest_array *b = &n->array[load->array];
    bool alike = size_of(a->dtype) == size_of(b->dtype) && a->offset == b->offset;
    for (uint32_t d = 0; d < n->nloop; d++) alike &= a->stride[d] == b->stride[d];
    return alike;
}

/* Whether v is an operand that may share memory with array a and is read behind instruction `at`. */
static bool read_after(const maker *m, uint32_t v, const tn_i_nest_array *a, uint32_t at) {
    if (!tn_i_nest_may_share(m->nest, &m->nest->op[v], a) || m->at[v] == TN_NOVAR) return false;
    return m->at[v] > at || (m->code->value[v].where == TN_VALUE_MEMORY && m->last[v] > at);
}

static bool read_later(const maker *m, const tn_i_nest_array *a, uint32_t at) {
    for (uint32_t v = 0; v < m->nest->nop; v++)
        if (read_after(m, v, a, at)) return true;
    return false;
}

/* Operands that a store may write over while they are still to be read: they must be copied first. */
static bool copy_shared(maker *m) {
    bool found = false;
    for (uint32_t i = 0; i < m->code->ninstr; i++) {
        const tn_i_nest_instr *e = &m->code->instr[i];
        if (e->kind != TN_CODE_STORE) continue;
        for (uint32_t v = 0; v < m->nest->nop; v++)
            if (read_after(m, v, &m->nest->array[e->array], i) && !m->copied[v]) {
                m->copied[v] = 1;
                found = true;
            }
    }
    return found;
}

/* A result that is nothing but stored densely is computed in its place.  Readers of operands that come later have been
 * emitted by then: stores are looked at when all is. */
static bool in_place(const maker *m, uint32_t v, const tn_i_nest_op *store) {
    const tn_i_nest_op *o = &m->nest->op[v];
    const tn_i_nest_array *a = &m->nest->array[store->array];
    if (m->rate[v] != ELEMENT || store->level != TN_NEST_ELEMENT || m->code->tiny) return false;
    if (o->kind != TN_NEST_MAP || m->code->value[v].where != TN_VALUE_NONE) return false;
    if (!m->code->whole && o->crosses) return false;
    return dense(m, a) && a->dtype == o->dtype && !read_later(m, a, m->at[v]);
}

static bool emit_store(maker *m, uint32_t v) {
    const tn_i_nest *n = m->nest;
    const tn_i_nest_op *o = &n->op[v], *of = &n->op[o->in[0]];
    if (of->kind == TN_NEST_REDUCE && !of_row(n, of)) return true; /* its sink does */
    const rate r = (rate)m->rate[v];
    const tn_i_nest_walk w = walk_of(n, n->array[o->array].stride, r == ELEMENT ? n->nloop : r == ROW ? n->nouter : 0);
    uint32_t value, walk;
    int64_t stride;
    if (!walk_new(m, &w, &walk) || !read(m, o->in[0], r, &value, &stride)) return false;
    tn_i_nest_instr *e = emit(m, TN_CODE_STORE, TN_NOVAR, of->dtype);
    if (!e) return false;
    e->array = o->array;
    e->walk = walk;
    reads(m, e, value, stride);
    return true;
}

static bool emit_op(maker *m, uint32_t v) {
    switch ((tn_i_nest_kind)m->nest->op[v].kind) {
    case TN_NEST_NUMBER: return true; /* in the image */
    case TN_NEST_LOAD: return emit_load(m, v);
    case TN_NEST_IOTA: return emit_iota(m, v);
    case TN_NEST_MAP: return emit_map(m, v);
    case TN_NEST_LOOKUP: return emit_lookup(m, v);
    case TN_NEST_REDUCE: return emit_reduce(m, v);
    case TN_NEST_STORE: return emit_store(m, v);
    }
    return true;
}

/* ---- the order ------------------------------------------------------------------------------------ */

static void set_rates(maker *m) {
    const tn_i_nest *n = m->nest;
    for (uint32_t v = 0; v < n->nop; v++) {
        const tn_i_nest_op *o = &n->op[v];
        const bool row = of_row(n, o);
        for (uint32_t i = 0; i < o->nin && o->kind != TN_NEST_REDUCE; i++) m->late[v] |= m->late[o->in[i]];
        for (uint32_t i = 0; i < o->nin; i++) m->readers[o->in[i]]++;
        if (o->kind == TN_NEST_LOAD && n->array[o->array].boxed) m->readers[n->array[o->array].fill]++;
        if (row) m->late[v] = 1;
        rate r = o->level == TN_NEST_ELEMENT ? ELEMENT : o->level == TN_NEST_ROW ? ROW : ONCE;
        if (r == ONCE && m->late[v]) r = ROW;
        if (row) r = ROW;
        m->rate[v] = (uint8_t)r;
    }
}

/* Which part of the code an operation runs in: 0 once, 1 before the phases, then elements and rows of each phase. */
static uint32_t part_of(const maker *m, uint32_t v) {
    const tn_i_nest_op *o = &m->nest->op[v];
    if (lasting(m, v)) return 0;
    if (o->kind == TN_NEST_REDUCE) {
        if (of_elements(m->nest, o)) return 2 + 2u * o->phase;
        return m->late[o->in[0]] || of_row(m->nest, o) ? 3 + 2u * o->phase : 1;
    }
    if (m->rate[v] == ELEMENT) return 2 + 2u * o->phase;
    if (m->rate[v] == ONCE) return 0;
    return m->late[v] ? 3 + 2u * o->phase : 1;
}

static bool emit_part(maker *m, uint32_t part) {
    uint32_t *list = m->order, n = 0;
    for (uint32_t v = 0; v < m->nest->nop; v++)
        if (part_of(m, v) == part) list[n++] = v;
    for (uint32_t i = 0; i < n; i++)
        if (!emit_op(m, list[i])) return false;
    return true;
}

static bool emit_all(maker *m) {
    tn_i_nest_code *c = m->code;
    tn_i_nest_section *part[2 + 2 * TN_NEST_PHASES] = {&c->once, &c->before};
    for (uint32_t p = 0; p < TN_NEST_PHASES; p++) {
        part[2 + 2 * p] = &c->elements[p];
        part[3 + 2 * p] = &c->row[p];
    }
    for (uint32_t i = 0; i < 2 + 2 * m->nest->nphase; i++) {
        part[i]->first = m->begin = c->ninstr;
        if (!emit_part(m, i)) return false;
        part[i]->last = c->ninstr;
    }
    return true;
}

/* Stores whose operand can be computed where it is stored are not needed. */
static void place_stores(maker *m) {
    tn_i_nest_code *c = m->code;
    for (uint32_t i = 0; i < c->ninstr; i++) {
        tn_i_nest_instr *e = &c->instr[i];
        const uint32_t v = e->in[0];
        if (e->kind != TN_CODE_STORE || v >= m->nest->nop) continue;
        const tn_i_nest_op store = {.kind = TN_NEST_STORE,
                                    .level = e->s[0] && m->rate[v] == ELEMENT ? TN_NEST_ELEMENT : TN_NEST_ROW,
                                    .array = e->array};
        if (!in_place(m, v, &store)) continue;
        c->value[v] = (tn_i_nest_value){TN_VALUE_MEMORY, e->size, e->array, e->walk, 0};
        e->nin = 0; /* nothing to do */
    }
}

/* ---- all of it ------------------------------------------------------------------------------------------- */

static size_t values_most(const tn_i_nest *n) { return 4 * (size_t)n->nop + 2; }

static void forget_code(maker *m) {
    tn_i_nest_code *c = m->code;
    c->ninstr = c->nwalk = c->nsink = 0;
    c->nvalue = m->nest->nop;
    memset(c->value, 0, c->cvalue * sizeof *c->value);
    memset(m->at, 0xff, 4 * c->cvalue * sizeof *m->at);
}

static bool emit_code(maker *m) {
    memset(m->copied, 0, m->nest->nop);
    do {
        forget_code(m);
        if (!emit_all(m)) return false;
    } while (copy_shared(m));
    place_stores(m);
    return true;
}

static bool make_code(maker *m) {
    if (!emit_code(m) || !tn_i_nest_place(m)) return false;
    return !m->code->tiny || tn_i_tiny_make(m->ctx, m->nest, m->code, m->isa);
}

static bool make_tiles(maker *m) {
    tn_i_nest *n = m->nest;
    tn_i_nest_code *c = m->code;
    c->whole = n->row <= LONG_ROW;
    c->tiny = c->whole && n->rows <= TN_LANES && n->rows * n->row <= TN_LANES;
    m->many = n->rows > 1 && n->row <= SHORT_ROW;
    c->value = tn_i_alloc_array(m->ctx, values_most(n), sizeof *c->value);
    if (!c->value) return false;
    c->cvalue = values_most(n);
    m->last = m->at + c->cvalue;
    m->spread = m->at + 2 * c->cvalue;
    m->group = m->at + 3 * c->cvalue;
    m->order = m->at + 4 * c->cvalue;
    set_rates(m);
    find_cycle(m);
    for (uint32_t v = 0; v < n->nop; v++) m->nrow += m->rate[v] == ROW;
    return make_code(m);
}

static bool make(maker *m) {
    const size_t nop = m->nest->nop, most = values_most(m->nest);
    if (m->nest->rows == 1 && m->nest->row == 1) return tn_i_scalar_make(m->ctx, m->nest, m->code, m->isa, m->accurate);
    const size_t bytes = 3 * nop, words = 4 * most + nop;
    m->rate = tn_i_alloc(m->ctx, bytes);
    m->readers = tn_i_alloc_array(m->ctx, nop, sizeof *m->readers);
    m->at = tn_i_alloc_array(m->ctx, words, sizeof *m->at);
    if (m->rate && m->at) {
        m->late = m->rate + nop;
        m->copied = m->late + nop;
    }
    const bool ok = m->rate && m->at && m->readers && make_tiles(m);
    tn_i_free(m->ctx, m->readers, nop * sizeof *m->readers);
    tn_i_free(m->ctx, m->rate, bytes);
    tn_i_free(m->ctx, m->at, words * sizeof *m->at);
    return ok;
}

static bool make_all(maker *m) {
    return make(m) && tn_i_nest_cut(m->ctx, m->nest);
}

bool tn_i_nest_prepare(tn_ctx *c, tn_i_nest *nest, tn_i_isa isa, bool accurate) {
    tn_i_nest_code *code = tn_i_alloc(c, sizeof *code);
    if (!code) return false;
    maker m = {.ctx = c, .nest = nest, .code = code, .isa = isa, .accurate = accurate};
    code->nop = nest->nop;
    nest->code = code;
    bool done = false;
    if (tn_i_nest_split(c, nest, isa, accurate, &done) && (done || make_all(&m))) return true;
    tn_i_nest_drop(c, nest);
    return false;
}

bool tn_i_nest_ready(tn_ctx *c, tn_i_nest *n) { return tn_i_nest_prepare(c, n, tn_i_isa_best(), n->accurate); }

void tn_i_nest_drop(tn_ctx *c, tn_i_nest *nest) {
    tn_i_nest_code *k = nest->code;
    nest->code = NULL;
    if (!k) return;
    tn_i_nest_drop_parts(c, k);
    tn_i_free(c, k->instr, k->cinstr * sizeof *k->instr);
    tn_i_free(c, k->value, k->cvalue * sizeof *k->value);
    tn_i_free(c, k->walk, k->cwalk * sizeof *k->walk);
    tn_i_free(c, k->sink, k->csink * sizeof *k->sink);
    tn_i_tiny_drop(c, k);
    tn_i_free(c, k->number, k->cnumber * sizeof *k->number);
    tn_i_free(c, k->many, (k->nop + 1) * sizeof *k->many);
    tn_i_free(c, k->load, (k->nop + 1) * sizeof *k->load);
    tn_i_free(c, k->gather, k->cgather * sizeof *k->gather);
    tn_i_free(c, k->constant, (k->nop + 1) * 8);
    tn_i_free(c, k->moving, (k->nmoving + (size_t)1) * sizeof *k->moving);
    tn_i_free(c, k, sizeof *k);
}
