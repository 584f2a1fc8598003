/* Messages begin as early and are waited for as late as their operands and readers allow.
 *
 * A collective stands where the program has it: a gradient's sums over ranks at the end, since what they belong to
 * stands at the beginning.  Here each becomes two equations: one that starts it, right behind what makes its operand,
 * and one that waits for it, right in front of what first reads it.  They start in the order of the program, which is
 * that of all ranks.  Where nothing is computed in between it stays one equation, which tables run faster.  Sums over
 * the same axes that start one behind the other are one sum of all of them where the time a message takes by itself
 * would count: neighbours are joined up to five times as many bytes as are sent in that time. */
#include "control/overlap.h"

#include "checkpoint/cost_model.h"
#include "prims/ranks/collective_run.h"
#include "prims/ids.h"

#include <string.h>

typedef struct message {
    uint32_t eqn;
    uint32_t after; /* it starts behind this equation; TN_NOVAR: in front of all */
    uint32_t read;  /* the first equation that reads the result, or neqn */
    uint32_t last;  /* of those that are joined with it, which start where this one does; else itself */
    bool split;
    uint32_t before;                /* of those that are waited for at the same place, or TN_NOVAR */
    tn_i_var result, request, held; /* of what has started */
} message;

typedef struct order {
    const tn_fn *f;
    tn_i_builder b;
    tn_i_var *map;
    message *m;
    uint32_t n, next; /* messages; the first that has not started */
    uint32_t *of;     /* of each equation: its message, or TN_NOVAR */
    uint32_t *waits;  /* of each equation, and the end: the last message that is waited for there, or TN_NOVAR */
} order;

static bool is_message(const tn_i_eqn *e) { return e->prim->id == TN_P_collective && e->nin == 1 && e->nout == 1; }

/* What collectives may not be moved across: whoever hears of it, or speaks in it. */
static bool is_fixed(const tn_i_eqn *e) {
    return !is_message(e) && ((e->prim->effect && e->prim->effect(tn_i_p(e))) || tn_i_speaks(e));
}

static bool moves_nothing(const tn_i_eqn *e) { return (e->prim->flags & TN_F_VIEW) != 0 || e->nin == 0; }

enum { MOST_VIEWS = 16 };

/* What v is a view of, through so many views of one operand. */
static tn_i_var viewed(const tn_fn *f, tn_i_var v) {
    for (int k = 0; k < MOST_VIEWS && f->val[v].def < f->neqn; k++) {
        const tn_i_eqn *e = &f->eqn[f->val[v].def];
        if (!(e->prim->flags & TN_F_VIEW) || e->nin != 1 || e->nout != 1) break;
        v = tn_i_in(f, e)[0];
    }
    return v;
}

/* ---- where ----------------------------------------------------------------------------- */

static uint32_t later(uint32_t a, uint32_t b) { return a == TN_NOVAR ? b : b == TN_NOVAR || a > b ? a : b; }

static void find_starts(order *o) {
    const tn_fn *f = o->f;
    uint32_t fixed = TN_NOVAR, previous = TN_NOVAR;
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        if (is_fixed(e)) fixed = i;
        if (o->of[i] == TN_NOVAR) continue;
        message *m = &o->m[o->of[i]];
        const uint32_t def = f->val[viewed(f, tn_i_in(f, e)[0])].def;
        m->after = later(later(fixed, previous), def < f->neqn ? def : TN_NOVAR);
        if (def < f->neqn && o->of[def] != TN_NOVAR) m->after = i; /* that is waited for in front of this one */
        previous = m->after;
    }
}

static void find_reads(order *o) {
    const tn_fn *f = o->f;
    for (uint32_t k = 0; k < o->n; k++) o->m[k].read = f->neqn;
    for (uint32_t i = f->neqn; i-- > 0;)
        for (uint32_t j = 0; j < f->eqn[i].nin; j++) {
            const uint32_t def = f->val[tn_i_in(f, &f->eqn[i])[j]].def;
            if (def < f->neqn && o->of[def] != TN_NOVAR) o->m[o->of[def]].read = i;
        }
}

/* Whether equation i, which reads a message, reads it for some of its elements only: then others are computed meanwhile
 * (plan/interior.c). */
static bool reads_in_part(const tn_fn *f, uint32_t i) { return i < f->neqn && f->eqn[i].prim->flags & TN_F_PLACES; }

/* Whether equation i may run in the loops that read a message in part, whose elements are those of type t. */
static bool runs_along(const order *o, uint32_t i, const tn_type *t) {
    const tn_i_eqn *e = &o->f->eqn[i];
    if (moves_nothing(e)) return true;
    if (!(e->prim->flags & (TN_F_ELEMENTWISE | TN_F_PLACES)) || e->nout != 1) return false;
    const tn_type *own = o->f->val[e->out].type;
    return own->rank == t->rank && memcmp(own->dim, t->dim, (size_t)t->rank * sizeof *t->dim) == 0;
}

/* Loops that read it in part run, but for their edges, before it is waited for.  So that what they read besides is
 * computed in them as well, and not in loops of its own ahead, it is waited for in front of all of that. */
static void wait_before_loops(const order *o, message *m) {
    const tn_type *t = o->f->val[o->f->eqn[m->read].out].type;
    const uint32_t first = m->after == TN_NOVAR ? 0 : m->after + 1;
    while (m->read > first) {
        const uint32_t i = m->read - 1, k = o->of[i];
        const bool started = k != TN_NOVAR && (o->m[k].after == TN_NOVAR || o->m[k].after < i);
        if (k == TN_NOVAR ? !runs_along(o, i, t) : !started) return;
        m->read = i;
    }
}

/* Whether something is computed between start and wait. */
static void find_split(order *o) {
    for (uint32_t k = 0; k < o->n; k = o->m[k].last + 1) {
        message *m = &o->m[k];
        m->split = reads_in_part(o->f, m->read);
        if (m->split) wait_before_loops(o, m);
        for (uint32_t i = m->after == TN_NOVAR ? 0 : m->after + 1; i < m->read && !m->split; i++)
            m->split = o->of[i] == TN_NOVAR && !moves_nothing(&o->f->eqn[i]);
        if (!m->split) continue;
        m->before = o->waits[m->read];
        o->waits[m->read] = k;
    }
}

/* ---- together ---------------------------------------------------------------------------- */

static double bytes_of(const order *o, const message *m) {
    return (double)tn_type_bytes(o->f->val[o->f->eqn[m->eqn].out].type);
}

static bool same_sum(const order *o, const message *a, const message *b) {
    const tn_i_eqn *d = &o->f->eqn[a->eqn], *e = &o->f->eqn[b->eqn];
    const tn_i_param *p = tn_i_p(d);
    return p[TN_I_COLLECTIVE_KIND].u.i == TN_COMM_ALLREDUCE && p[TN_I_COLLECTIVE_OP].u.i == TN_COMM_SUM &&
           tn_i_eqn_same(d, e) && d->region == e->region &&
           o->f->val[d->out].type->dtype == o->f->val[e->out].type->dtype;
}

/* Message k and those behind it that join it: all of them are known before the first of them is read. */
static void join(order *o, uint32_t k) {
    const double most = 5 * tn_i_shipped_costs.message / tn_i_shipped_costs.message_byte;
    message *m = &o->m[k];
    double bytes = bytes_of(o, m);
    uint32_t read = m->read;
    for (uint32_t j = k + 1; j < o->n && same_sum(o, m, &o->m[j]); j++) {
        const message *x = &o->m[j];
        bytes += bytes_of(o, x);
        if (bytes > most || (x->after != TN_NOVAR && x->after >= read)) return;
        if (x->read < read) read = x->read;
        m->last = j;
    }
}

static void find_joined(order *o) {
    for (uint32_t k = 0; k < o->n; k = o->m[k].last + 1) {
        message *m = &o->m[k];
        join(o, k);
        for (uint32_t j = k; j <= m->last; j++)
            if (o->m[j].read < m->read) m->read = o->m[j].read;
        m->after = o->m[m->last].after;
    }
}

/* ---- the equations ------------------------------------------------------------------------- */

/* Views are made where a message starts, which may be ahead of their place. */
static void make_views(order *o, tn_i_var v) {
    const tn_i_var from = viewed(o->f, v);
    tn_i_var path[MOST_VIEWS];
    uint32_t n = 0;
    for (; v != from && o->map[v] == TN_NOVAR; v = tn_i_in(o->f, &o->f->eqn[o->f->val[v].def])[0]) path[n++] = v;
    while (n > 0 && !o->b.failed) {
        const tn_i_eqn *e = &o->f->eqn[o->f->val[path[--n]].def];
        o->b.region = e->region;
        tn_i_copy_eqn(&o->b, o->f, e, o->map);
    }
}

static tn_i_var operand(order *o, const message *m) {
    const tn_i_var v = tn_i_in(o->f, &o->f->eqn[m->eqn])[0];
    make_views(o, v);
    o->b.region = o->f->eqn[m->eqn].region;
    return tn_i_mapped(&o->b, o->f, o->map, tn_i_in(o->f, &o->f->eqn[m->eqn])[0]);
}

static tn_i_var flat(order *o, tn_i_var x) {
    const int64_t n = o->b.failed ? 0 : tn_i_count(tn_i_vtype(&o->b, x));
    return tn_i_reshape(&o->b, x, 1, &n);
}

/* The operands, one behind the other. */
static tn_i_var joined(order *o, uint32_t k) {
    const message *m = &o->m[k];
    tn_ctx *c = o->f->ctx;
    const uint32_t n = m->last - k + 1;
    const tn_i_param axis = {.kind = TN_K_INT, .u.i = 0};
    if (n == 1) return operand(o, m);
    tn_i_var *v = tn_i_alloc_array(c, n, sizeof *v), all = TN_NOVAR;
    if (!v) o->b.failed = true;
    for (uint32_t j = 0; j < n && !o->b.failed; j++) v[j] = flat(o, operand(o, &o->m[k + j]));
    if (!o->b.failed) all = tn_i_emit(&o->b, tn_i_prim(&o->b, TN_P_concatenate), &axis, n, v);
    tn_i_free(c, v, n * sizeof *v);
    return all;
}

/* The results, each for itself. */
static void apart(order *o, uint32_t k, tn_i_var all) {
    const message *m = &o->m[k];
    const tn_fn *f = o->f;
    int64_t at = 0;
    if (m->last == k) o->map[f->eqn[m->eqn].out] = all;
    for (uint32_t j = k; m->last > k && j <= m->last && !o->b.failed; j++) {
        const tn_i_var out = f->eqn[o->m[j].eqn].out;
        const tn_type *t = f->val[out].type;
        const int64_t end = at + tn_i_count(t);
        const tn_i_param p[3] = {{.kind = TN_K_INTS, .n = 1, .u.ints = &at},
                                 {.kind = TN_K_INTS, .n = 1, .u.ints = &end}};
        const tn_i_var part = tn_i_emit(&o->b, tn_i_prim(&o->b, TN_P_slice), p, 1, &all);
        o->map[out] = tn_i_reshape(&o->b, part, t->rank, t->dim);
        at = end;
    }
}

static void start(order *o, uint32_t k) {
    message *m = &o->m[k];
    const tn_i_eqn *e = &o->f->eqn[m->eqn];
    tn_i_builder *b = &o->b;
    b->loc = e->loc;
    b->region = e->region;
    const tn_i_var x = joined(o, k);
    if (!m->split) {
        apart(o, k, b->failed ? TN_NOVAR : tn_i_emit(b, e->prim, tn_i_p(e), 1, &x));
        return;
    }
    m->result = tn_i_collective_start(b, tn_i_p(e), x);
    m->request = m->result == TN_NOVAR ? TN_NOVAR : m->result + 1;
    const tn_i_eqn *made = b->failed ? NULL : tn_i_def(b, m->result);
    m->held = made && made->nout == 3 ? m->result + 2 : x;
}

static void wait(order *o, uint32_t k) {
    const message *m = &o->m[k];
    o->b.loc = o->f->eqn[m->eqn].loc;
    o->b.region = o->f->eqn[m->eqn].region;
    apart(o, k, tn_i_collective_wait(&o->b, tn_i_p(&o->f->eqn[m->eqn]), m->result, m->request, m->held));
}

/* All that starts behind equation i, or is waited for in front of it. */
static void starts_behind(order *o, uint32_t i) {
    for (; o->next < o->n && o->m[o->next].after == i && !o->b.failed; o->next = o->m[o->next].last + 1)
        start(o, o->next);
}

static void waits_before(order *o, uint32_t i) {
    for (uint32_t k = o->waits[i]; k != TN_NOVAR && !o->b.failed; k = o->m[k].before) wait(o, k);
}

static void emit_all(order *o) {
    const tn_fn *f = o->f;
    for (uint32_t i = 0; i < f->nin && !o->b.failed; i++) o->map[i] = tn_i_input(&o->b, f->val[i].type, false);
    starts_behind(o, TN_NOVAR);
    for (uint32_t i = 0; i < f->neqn && !o->b.failed; i++) {
        waits_before(o, i);
        o->b.region = f->eqn[i].region;
        o->b.linear = tn_i_of_linear(f, &f->eqn[i]);
        const bool made = f->eqn[i].nout == 1 && o->map[f->eqn[i].out] != TN_NOVAR;
        if (o->of[i] == TN_NOVAR && !made) tn_i_copy_eqn(&o->b, f, &f->eqn[i], o->map);
        o->b.linear = false;
        starts_behind(o, i);
    }
    waits_before(o, f->neqn);
    o->b.region = 0;
}

static tn_fn *rewritten(order *o) {
    const tn_fn *f = o->f;
    tn_i_var *out = tn_i_alloc_array(f->ctx, f->nout, sizeof *out);
    tn_i_builder_init(&o->b, f->ctx);
    o->b.named_after = f;
    o->b.regions = f->regions;
    if (!out) o->b.failed = true;
    if (!o->b.failed) emit_all(o);
    for (uint32_t j = 0; j < f->nout && !o->b.failed; j++) out[j] = tn_i_mapped(&o->b, f, o->map, f->out[j]);
    tn_fn *g = tn_i_finish(&o->b, f->nout, out);
    tn_i_free(f->ctx, out, f->nout * sizeof *out);
    return g;
}

static tn_fn *overlapped(const tn_fn *f, uint32_t n) {
    tn_ctx *c = f->ctx;
    order o = {.f = f,
               .map = tn_i_map_new(f),
               .m = tn_i_alloc_array(c, n, sizeof *o.m),
               .of = tn_i_alloc_array(c, f->neqn, sizeof *o.of),
               .waits = tn_i_alloc_array(c, (size_t)f->neqn + 1, sizeof *o.waits)};
    tn_fn *g = NULL;
    if (o.map && o.m && o.of && o.waits) {
        memset(o.waits, 0xFF, ((size_t)f->neqn + 1) * sizeof *o.waits);
        for (uint32_t i = 0; i < f->neqn; i++) {
            o.of[i] = is_message(&f->eqn[i]) ? o.n : TN_NOVAR;
            if (o.of[i] != TN_NOVAR) o.m[o.n] = (message){.eqn = i, .last = o.n}, o.n++;
        }
        find_starts(&o);
        find_reads(&o);
        find_joined(&o);
        find_split(&o);
        g = rewritten(&o);
    }
    if (o.map) tn_i_map_free(f, o.map);
    tn_i_free(c, o.m, n * sizeof *o.m);
    tn_i_free(c, o.of, f->neqn * sizeof *o.of);
    tn_i_free(c, o.waits, ((size_t)f->neqn + 1) * sizeof *o.waits);
    return g;
}

tn_fn *tn_i_overlapped(tn_fn *f) {
    uint32_t n = 0;
    for (uint32_t i = 0; f && i < f->neqn; i++) n += is_message(&f->eqn[i]);
    if (!n) return f;
    tn_fn *g = overlapped(f, n);
    tn_i_fn_unref(f);
    return g;
}
