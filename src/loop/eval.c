/* Running loop programs, one operation and one number at a time: what they mean. */
#include "loop/inside.h"
#include "prims/strips.h"

#include <string.h>

enum { LEVELS = 64 };

/* How an operation is computed. */
typedef struct body {
    tn_i_strip *strip; /* NULL: the primitive's kernel, or tn_i_l_compute */
    uint32_t slot;     /* REDUCE, HALVES: where their numbers begin */
} body;

typedef struct machine {
    const tn_i_loops *p;
    const tn_i_l_eval_options *o;
    char *const *base;
    const tn_i_l_run *run;
    uint64_t *value, *pending; /* of operations; pending: what a CARRY is in the next iteration */
    int64_t *iter, *count;     /* of FORs */
    body *body;
    uint64_t *slot;
    size_t nslot;
    tn_status status;
} machine;

static bool breaks(machine *m, uint32_t k, const char *why) {
    char text[256];
    tn_i_l_statement(m->p, k, text, sizeof text);
    m->status = tn_i_fail(m->p->ctx, TN_ERULE, NULL, "loop program: %s: %s", text, why);
    return false;
}

/* ---- addresses ---- */

static int64_t sum(const machine *m, const tn_i_l_affine *a) {
    const tn_i_l_term *t = tn_i_l_terms(m->p, a);
    uint64_t v = (uint64_t)a->at;
    for (uint32_t i = 0; i < a->n; i++) v += (uint64_t)t[i].by * (uint64_t)m->iter[t[i].loop];
    return (int64_t)v;
}

static int64_t integer(const machine *m, uint32_t k) {
    return m->p->op[k].dtype == TN_I32 ? (int32_t)(uint32_t)m->value[k] : (int64_t)m->value[k];
}

static char *start(const machine *m, uint32_t array) {
    const tn_i_l_array *a = &m->p->array[array];
    return a->role == TN_L_CONST ? (char *)(uintptr_t)a->data : m->base[a->base] + a->at;
}

/* The element; false, with an error, where there is none. */
static bool element(machine *m, uint32_t k, int64_t *at) {
    const tn_i_l_op *o = &m->p->op[k];
    *at = sum(m, &o->at);
    if (o->in[0] != TN_L_NONE) {
        int64_t i = integer(m, o->in[0]);
        i = i < 0 ? 0 : i > o->hi ? o->hi : i;
        *at += o->lo * i;
    }
    return (*at >= 0 && *at < m->p->array[o->which].count) || breaks(m, k, "outside of the array");
}

static bool load(machine *m, uint32_t k) {
    const tn_i_l_op *o = &m->p->op[k];
    int64_t at;
    if (o->in[1] != TN_L_NONE && !m->value[o->in[1]]) {
        m->value[k] = m->value[o->in[2]];
        return true;
    }
    if (!element(m, k, &at)) return false;
    m->value[k] = tn_i_l_get(m->p->array[o->which].dtype, start(m, o->which), at);
    return true;
}

static bool store(machine *m, uint32_t k) {
    const tn_i_l_op *o = &m->p->op[k];
    int64_t at;
    if (o->in[1] != TN_L_NONE && !m->value[o->in[1]]) return true;
    if (!element(m, k, &at)) return false;
    const int dtype = m->p->array[o->which].dtype;
    char *array = start(m, o->which);
    uint64_t x = m->value[o->in[2]];
    if (o->update) {
        const uint64_t there = tn_i_l_get(dtype, array, at), given = x;
        m->body[k].strip(1, (const void *const[2]){&there, &given}, (const int64_t[2]){1, 1}, &x, 1);
    }
    tn_i_l_put(dtype, array, at, x);
    return true;
}

/* ---- arithmetic ---- */

static bool has_primitive(const tn_i_l_op *o) { return o->code == TN_L_fn || tn_i_l_rows[o->code].prim >= 0; }

static tn_i_strip *strip_of(const machine *m, const tn_i_l_op *o) {
    const char *name = tn_i_l_vector_name(m->p, o);
    tn_i_strip *vector = name && m->o->function ? m->o->function(m->o->user, name) : NULL;
    return vector ? vector : tn_i_l_body(m->p, o);
}

static bool map(machine *m, uint32_t k) {
    static const int64_t strides[3] = {1, 1, 1};
    const tn_i_l_op *o = &m->p->op[k];
    uint64_t x[3] = {0}, out = 0;
    for (int i = 0; i < o->nin; i++) x[i] = m->value[o->in[i]];
    const void *in[3] = {&x[0], &x[1], &x[2]};
    if (!has_primitive(o))
        out = tn_i_l_compute(o->code, m->p->op[o->in[0]].dtype, o->dtype, x[0], x[1]);
    else if (m->body[k].strip)
        m->body[k].strip(1, in, strides, &out, 1);
    else if (tn_i_l_by_kernel(m->p, o, x, &out) != TN_OK)
        return breaks(m, k, "the primitive has no such scalar body");
    m->value[k] = out;
    return true;
}

static uint64_t index_of(const machine *m, const tn_i_l_op *o) {
    const int64_t i = sum(m, &o->at);
    const double d = (double)i;
    const float f = (float)i;
    uint64_t bits = 0;
    switch (o->dtype) {
    case TN_F64: memcpy(&bits, &d, sizeof d); return bits;
    case TN_F32: memcpy(&bits, &f, sizeof f); return bits;
    case TN_I32:
    case TN_U32: return (uint32_t)i;
    default: return (uint64_t)i;
    }
}

/* ---- reductions ----
 *
 * Each has how many elements there were, its lanes, and the entries of the counter, level by level; of arg folds the
 * best so far is lane 0, and its number lane 1. */
enum { WORDS = 1 + TN_LANES + LEVELS };

static uint64_t *state(const machine *m, uint32_t r, const tn_i_l_affine *at) {
    return m->slot + m->body[r].slot + (size_t)sum(m, at) * WORDS;
}

static void into_arg(const tn_i_l_op *r, uint64_t *s, uint64_t x) {
    if (tn_i_l_better(r->code, r->dtype, s[0] == 0, s[1], x)) {
        s[1] = x;
        s[2] = s[0];
    }
    s[0]++;
}

static void halve(int fold, int dtype, uint64_t *x, int64_t n) {
    for (int64_t h = n / 2; h > 0; h /= 2)
        for (int64_t l = 0; l < h; l++) x[l] = tn_i_l_fold(fold, dtype, x[l], x[l + h]);
}

/* The leaf of elements so far becomes an entry: leaf number `leaf`, from 0. */
static int enter(const tn_i_l_op *r, uint64_t *s, uint64_t leaf) {
    uint64_t *lane = s + 1, *entry = s + 1 + TN_LANES;
    int height = 0;
    halve(r->code, r->dtype, lane, TN_LANES);
    for (uint64_t i = leaf; i; i &= i - 1) height++;
    uint64_t x = lane[0];
    for (uint64_t i = leaf; i & 1; i >>= 1) {
        height--;
        x = tn_i_l_fold(r->code, r->dtype, entry[height], x);
    }
    entry[height] = x;
    return height + 1;
}

static void into(machine *m, const tn_i_l_op *o) {
    const tn_i_l_op *r = &m->p->op[o->in[0]];
    uint64_t *s = state(m, o->in[0], &o->at), *lane = s + 1;
    const uint64_t x = m->value[o->in[1]];
    if (r->code >= TN_FOLD_ARGMAX) {
        into_arg(r, s, x);
        return;
    }
    if (s[0] % TN_LEAF == 0) {
        if (s[0]) (void)enter(r, s, s[0] / TN_LEAF - 1);
        for (int l = 0; l < TN_LANES; l++) lane[l] = tn_i_l_identity(r->code, r->dtype);
    }
    lane[s[0] % TN_LANES] = tn_i_l_fold(r->code, r->dtype, lane[s[0] % TN_LANES], x);
    s[0]++;
}

static uint64_t total(const machine *m, const tn_i_l_op *o) {
    const tn_i_l_op *r = &m->p->op[o->in[0]];
    uint64_t s[WORDS];
    memcpy(s, state(m, o->in[0], &o->at), sizeof s); /* more may go into it afterwards */
    if (r->code >= TN_FOLD_ARGMAX) return s[0] == 0 ? 0 : o->dtype == TN_I32 ? (uint32_t)s[2] : s[2];
    if (s[0] == 0) return tn_i_l_identity(r->code, r->dtype);
    int height = enter(r, s, (s[0] - 1) / TN_LEAF);
    uint64_t *entry = s + 1 + TN_LANES, x = entry[--height];
    while (height > 0) {
        height--;
        x = tn_i_l_fold(r->code, r->dtype, entry[height], x);
    }
    return x;
}

/* ---- blocks ---- */

static int64_t count_of(const machine *m, const tn_i_l_op *o) {
    int64_t n = sum(m, &o->at);
    const int64_t more = o->in[0] != TN_L_NONE ? integer(m, o->in[0]) : 0;
    if (!tn_i_add_i64(n, more, &n)) n = more < 0 ? 0 : o->hi;
    return n < 0 ? 0 : n < o->hi ? n : o->hi;
}

/* Carries as they leave are in `value`. */
static void take_pending(const machine *m, uint32_t loop) {
    for (uint32_t c = loop + 1; m->p->op[c].kind == TN_L_CARRY; c++) m->value[c] = m->pending[c];
}

/* Not where elements enter reductions or update memory, which they do in order. */
static bool backwards(const machine *m, const tn_i_l_op *o) {
    return m->o->backwards && (o->parallel || (o->vector && tn_i_l_any_order(m->p, (uint32_t)(o - m->p->op))));
}

static uint32_t begin_loop(machine *m, uint32_t k) {
    const tn_i_l_op *o = &m->p->op[k];
    m->count[k] = count_of(m, o);
    m->iter[k] = backwards(m, o) ? m->count[k] - 1 : 0;
    for (uint32_t c = k + 1; m->p->op[c].kind == TN_L_CARRY; c++) m->value[c] = m->value[m->p->op[c].in[0]];
    return m->count[k] ? k + 1 : o->to + 1;
}

/* What HALVES behind the loop read of this iteration. */
static void keep_halves(const machine *m, uint32_t end, int64_t i) {
    for (uint32_t k = end + 1; k < m->p->nop && (m->p->op[k].kind == TN_L_HALVES || m->p->op[k].kind == TN_L_LAST); k++)
        if (m->p->op[k].kind == TN_L_HALVES) m->slot[m->body[k].slot + (size_t)i] = m->value[m->p->op[k].in[0]];
}

static uint32_t end_loop(machine *m, uint32_t end) {
    const uint32_t k = m->p->op[end].to;
    const tn_i_l_op *o = &m->p->op[k];
    keep_halves(m, end, m->iter[k]);
    take_pending(m, k);
    m->iter[k] += backwards(m, o) ? -1 : 1;
    return m->iter[k] >= 0 && m->iter[k] < m->count[k] ? k + 1 : end + 1;
}

static uint64_t halves(const machine *m, uint32_t k) {
    const tn_i_l_op *o = &m->p->op[k];
    uint64_t x[TN_L_HALVED];
    uint32_t end = k;
    while (m->p->op[end].kind != TN_L_END) end--;
    const int64_t n = m->count[m->p->op[end].to];
    memcpy(x, m->slot + m->body[k].slot, sizeof x);
    halve(o->code, o->dtype, x, n);
    return x[0];
}

/* Which branch was taken is kept as the count of its IF. */
static uint64_t join(const machine *m, uint32_t k) {
    uint32_t end = k;
    while (m->p->op[end].kind != TN_L_END) end--;
    return m->value[m->p->op[k].in[m->count[m->p->op[end].to] ? 0 : 1]];
}

static uint32_t begin_if(machine *m, uint32_t k) {
    const tn_i_l_op *o = &m->p->op[k];
    m->count[k] = m->value[o->in[0]] != 0;
    return m->count[k] ? k + 1 : o->to + 1;
}

static uint32_t loop_around(const machine *m, uint32_t k) {
    for (k--; m->p->op[k].kind != TN_L_FOR; k--)
        if (m->p->op[k].kind == TN_L_END) k = m->p->op[k].to;
    return k;
}

/* ---- calls ---- */

enum { ARGUMENTS = 64 };

static bool call(machine *m, uint32_t k) {
    const tn_i_l_op *o = &m->p->op[k];
    const tn_i_l_kernel *f = &m->p->kernel[o->which];
    char *at[ARGUMENTS] = {0};
    int64_t number[ARGUMENTS] = {0};
    uint32_t nat = 0, nnumber = 0;
    if (!f->run || o->narg > ARGUMENTS) return breaks(m, k, f->run ? "too many arguments" : "there is no such kernel");
    for (uint32_t i = 0; i < o->narg; i++) {
        const tn_i_l_arg *a = &m->p->arg[o->arg + i];
        const int64_t e = sum(m, &a->at);
        if (a->access == TN_L_INTEGER) {
            number[nnumber++] = e;
            continue;
        }
        const tn_i_l_array *x = &m->p->array[a->array];
        if (e < 0 || e > x->count - a->count) return breaks(m, k, "outside of an array");
        at[nat++] = start(m, a->array) + e * (int64_t)tn_i_dtype_size(x->dtype);
    }
    m->status = f->run(f->data, m->run, at, number);
    return m->status == TN_OK;
}

/* ---- all of it ---- */

/* Runs operation k; what comes next. */
static uint32_t step(machine *m, uint32_t k) {
    const tn_i_l_op *o = &m->p->op[k];
    bool ok = true;
    switch (o->kind) {
    case TN_L_NUMBER: m->value[k] = o->bits; break;
    case TN_L_INDEX: m->value[k] = index_of(m, o); break;
    case TN_L_WITHIN: {
        const int64_t e = sum(m, &o->at);
        m->value[k] = o->lo <= e && (e < o->hi || o->hi == INT64_MAX);
        break;
    }
    case TN_L_MAP: ok = map(m, k); break;
    case TN_L_LOAD: ok = load(m, k); break;
    case TN_L_LAST: m->value[k] = m->value[o->in[0]]; break;
    case TN_L_HALVES: m->value[k] = halves(m, k); break;
    case TN_L_JOIN: m->value[k] = join(m, k); break;
    case TN_L_TOTAL: m->value[k] = total(m, o); break;
    case TN_L_REDUCE: memset(m->slot + m->body[k].slot, 0, (size_t)o->hi * WORDS * sizeof *m->slot); break;
    case TN_L_INTO: into(m, o); break;
    case TN_L_STORE: ok = store(m, k); break;
    case TN_L_NEXT: m->pending[o->in[0]] = m->value[o->in[1]]; break;
    case TN_L_WHILE:
        if (!m->value[o->in[0]]) return m->p->op[loop_around(m, k)].to + 1;
        break;
    case TN_L_CALL: ok = call(m, k); break;
    case TN_L_FOR: return begin_loop(m, k);
    case TN_L_IF: return begin_if(m, k);
    case TN_L_ELSE: return o->to + 1;
    case TN_L_END: return m->p->op[o->to].kind == TN_L_FOR ? end_loop(m, k) : k + 1;
    default: break; /* a CARRY is what it is when its iteration begins */
    }
    return ok ? k + 1 : m->p->nop;
}

static bool prepare(machine *m) {
    const tn_i_loops *p = m->p;
    size_t words = 0;
    for (uint32_t k = 0; k < p->nop; k++) {
        const tn_i_l_op *o = &p->op[k];
        size_t more = 0;
        m->body[k].slot = (uint32_t)words;
        if (o->kind == TN_L_MAP) m->body[k].strip = strip_of(m, o);
        if (o->kind == TN_L_STORE && o->update) m->body[k].strip = tn_i_l_body(p, o);
        if (o->kind == TN_L_HALVES) more = TN_L_HALVED;
        if ((o->kind == TN_L_REDUCE && !tn_i_mul((size_t)o->hi, WORDS, &more)) || !tn_i_add(words, more, &words) ||
            words > UINT32_MAX)
            return tn_i_fail(p->ctx, TN_EOVERFLOW, NULL, "loop program: too many reductions"), false;
    }
    m->nslot = words;
    return !words || (m->slot = tn_i_alloc_array(p->ctx, words, sizeof *m->slot));
}

tn_status tn_i_l_eval(const tn_i_loops *p, char *const *base, const tn_i_l_eval_options *o) {
    static const tn_i_l_eval_options none = {0};
    static const tn_i_l_run nobody = {0};
    const size_t n = p->nop;
    machine m = {.p = p, .o = o ? o : &none, .base = base};
    m.run = m.o->run ? m.o->run : &nobody;
    if (n == 0) return TN_OK;
    m.value = tn_i_alloc_array(p->ctx, n, sizeof *m.value);
    m.pending = tn_i_alloc_array(p->ctx, n, sizeof *m.pending);
    m.iter = tn_i_alloc_array(p->ctx, n, sizeof *m.iter);
    m.count = tn_i_alloc_array(p->ctx, n, sizeof *m.count);
    m.body = tn_i_alloc_array(p->ctx, n, sizeof *m.body);
    if (!m.value || !m.pending || !m.iter || !m.count || !m.body || !prepare(&m))
        m.status = p->ctx->status;
    else
        for (uint32_t k = 0; k < n;) k = step(&m, k);
    tn_i_free(p->ctx, m.slot, m.nslot * sizeof *m.slot);
    if (m.body) tn_i_free(p->ctx, m.body, n * sizeof *m.body);
    if (m.count) tn_i_free(p->ctx, m.count, n * sizeof *m.count);
    if (m.iter) tn_i_free(p->ctx, m.iter, n * sizeof *m.iter);
    if (m.pending) tn_i_free(p->ctx, m.pending, n * sizeof *m.pending);
    if (m.value) tn_i_free(p->ctx, m.value, n * sizeof *m.value);
    return m.status;
}
