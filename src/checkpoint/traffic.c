/* The modelled time of a program: its arithmetic, and what of its values goes through memory.
 *
 * Equations that fuse are one pass over memory with those that read them, so a value is in memory only where something
 * wants it whole: the program's reader, an equation that does not fuse, or readers of several passes.  A *stage* stands
 * for such passes: an equation that does not fuse is one stage behind its operands, those that fuse are of the
 * stage of what reads them, so that what is computed again late belongs to its late reader.
 *
 * Where a value is found when it is read is told by how many bytes went through memory since it was last touched, as
 * in a cache that drops what was not used for longest; it is written to where it is furthest found.  Programs run
 * again and again: what was touched before this run is as far away as a whole run. */
#include "checkpoint/cost_model.h"
#include "ir/seen.h"
#include "prims/prim.h"

/* Times of the nested programs, by their number among those met. */
typedef struct times {
    const tn_i_cost_model *m;
    tn_i_seen seen;
    double *ns;
    size_t capacity;
} times;

#define NOWHERE UINT32_MAX

typedef struct traffic {
    const tn_fn *f;
    times *k;
    double *touched;    /* bytes that had gone through memory when value v last did */
    uint32_t *stage;    /* of value v: where it is made */
    uint32_t *read_by;  /* the last stage that read it, NOWHERE: none */
    uint8_t *in_memory; /* of value v */
    uint8_t *level;     /* furthest that a reader found it */
    double passed, ns;
} traffic;

static bool program_ns(const tn_fn *f, times *k, double *ns);

static bool nested_ns(const tn_fn *f, times *k, double *ns) {
    uint32_t number;
    bool fresh;
    if (!tn_i_seen_add(&k->seen, f, &number, &fresh) ||
        !tn_i_grow(f->ctx, (void **)&k->ns, &k->capacity, k->seen.n, sizeof *k->ns))
        return false;
    if (fresh) {
        double sum;
        if (!program_ns(f, k, &sum)) return false;
        k->ns[number] = sum;
    }
    *ns = k->ns[number];
    return true;
}

static bool is_view(const tn_i_eqn *e) { return e->prim->flags & TN_F_VIEW; }

/* What v is a view of. */
static tn_i_var viewed(const tn_fn *f, tn_i_var v) {
    while (f->val[v].def < TN_DEF_LITERAL && is_view(&f->eqn[f->val[v].def])) v = tn_i_in(f, &f->eqn[f->val[v].def])[0];
    return v;
}

/* ---- what is in memory --------------------------------------------------------------------- */

/* Stages as they are reached. */
static void find_first_stages(traffic *t) {
    const tn_fn *f = t->f;
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        uint32_t stage = 0;
        for (uint32_t k = 0; k < e->nin; k++)
            if (t->stage[tn_i_in(f, e)[k]] > stage) stage = t->stage[tn_i_in(f, e)[k]];
        if (!is_view(e) && !tn_i_fuses(e)) stage++;
        for (uint32_t v = e->out; v < e->out + e->nout; v++) t->stage[v] = stage;
    }
}

/* Backwards: what fuses goes to its readers' stage, and is in memory where these are several. */
static void find_what_is_in_memory(traffic *t) {
    const tn_fn *f = t->f;
    for (uint32_t v = 0; v < f->nin; v++) t->in_memory[v] = 1;
    for (uint32_t j = 0; j < f->nout; j++) t->in_memory[viewed(f, f->out[j])] = 1;
    for (uint32_t i = f->neqn; i-- > 0;) {
        const tn_i_eqn *e = &f->eqn[i];
        if (is_view(e) || e->nout == 0) continue;
        const bool fuses = tn_i_fuses(e);
        uint32_t stage = t->stage[e->out];
        for (uint32_t v = e->out; v < e->out + e->nout; v++) {
            if (!fuses) t->in_memory[v] = 1;
            if (fuses && !t->in_memory[v] && t->read_by[v] != NOWHERE) stage = t->stage[v] = t->read_by[v];
        }
        for (uint32_t k = 0; k < e->nin; k++) {
            const tn_i_var v = viewed(f, tn_i_in(f, e)[k]);
            if (!fuses || (t->read_by[v] != NOWHERE && t->read_by[v] != stage)) t->in_memory[v] = 1;
            t->read_by[v] = stage;
        }
    }
}

/* ---- what goes through it -------------------------------------------------------------------- */

static void touch(traffic *t, tn_i_var v, double bytes) {
    t->passed += bytes;
    t->touched[v] = t->passed;
}

/* Equations of one stage that fuse load an element once, and what they have made themselves not at all. */
static void read_value(traffic *t, const tn_i_eqn *e, tn_i_var v, double bytes) {
    const uint32_t stage = t->stage[e->out];
    if (!t->in_memory[v]) return;
    if (tn_i_fuses(e)) {
        if (t->read_by[v] == stage) return;
        t->read_by[v] = stage;
    }
    const tn_i_level level = tn_i_level_of(t->k->m, t->passed - t->touched[v] + bytes);
    if ((uint8_t)level > t->level[v]) t->level[v] = (uint8_t)level;
    t->ns += bytes * t->k->m->read[level];
    touch(t, v, bytes);
}

static void write_outputs(traffic *t, const tn_i_eqn *e) {
    for (uint32_t v = e->out; v < e->out + e->nout; v++) {
        if (!t->in_memory[v]) continue;
        t->read_by[v] = tn_i_fuses(e) ? t->stage[v] : NOWHERE;
        t->level[v] = (uint8_t)tn_i_level_of(t->k->m, (double)tn_type_bytes(t->f->val[v].type));
        touch(t, v, (double)tn_type_bytes(t->f->val[v].type));
    }
}

static double written_bytes(const tn_fn *f, const tn_i_eqn *e) {
    double bytes = 0;
    for (uint32_t v = e->out; v < e->out + e->nout; v++) bytes += (double)tn_type_bytes(f->val[v].type);
    return bytes;
}

static double operand_bytes(const tn_fn *f, const tn_i_eqn *e) {
    double bytes = 0;
    for (uint32_t k = 0; k < e->nin; k++) bytes += (double)tn_type_bytes(f->val[tn_i_in(f, e)[k]].type);
    return bytes;
}

/* Steps of a loop go over their arrays again and again: all that these are is near, or is not. */
static void loop_equation(traffic *t, const tn_i_eqn *e, const tn_i_cost *c) {
    const double arrays = operand_bytes(t->f, e) + written_bytes(t->f, e);
    t->ns += c->bytes * t->k->m->read[tn_i_level_of(t->k->m, arrays)];
    t->passed += arrays;
    for (uint32_t k = 0; k < e->nin; k++) t->touched[viewed(t->f, tn_i_in(t->f, e)[k])] = t->passed;
}

static bool equation(traffic *t, const tn_i_eqn *e) {
    const tn_fn *f = t->f;
    const tn_i_cost_model *m = t->k->m;
    tn_i_cost c;
    double ns;
    if (is_view(e) || e->nout == 0) return true;
    if (e->prim->body) {
        if (!nested_ns(tn_i_p(e)[e->prim->body - 1].u.fn, t->k, &ns)) return false;
        t->ns += ns;
        write_outputs(t, e);
        return true;
    }
    if (!tn_i_eqn_cost(f, e, &c)) return false;
    t->ns += m->equation + tn_i_computing_ns(m, f, e, &c);
    if (e->prim->flags & TN_F_LOOP)
        loop_equation(t, e, &c);
    else if (e->nin > 0) {
        const double operands = operand_bytes(f, e), read = c.bytes - written_bytes(f, e);
        for (uint32_t k = 0; k < e->nin; k++) {
            const tn_i_var v = tn_i_in(f, e)[k];
            const double bytes = (double)tn_type_bytes(f->val[v].type);
            if (read > 0) read_value(t, e, viewed(f, v), read < operands ? bytes * read / operands : bytes);
        }
    }
    write_outputs(t, e);
    return true;
}

/* Writing is counted when all readers are known. */
static void add_written(traffic *t) {
    const tn_fn *f = t->f;
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        if (is_view(e) || e->prim->body) continue;
        for (uint32_t v = e->out; v < e->out + e->nout; v++)
            if (t->in_memory[v]) t->ns += (double)tn_type_bytes(f->val[v].type) * t->k->m->write[t->level[v]];
    }
}

/* The second time values have places of the run before, which ended where this one begins. */
static bool run_twice(traffic *t) {
    const tn_fn *f = t->f;
    for (int time = 0; time < 2; time++) {
        const double before = t->passed;
        t->passed = t->ns = 0;
        for (uint32_t v = 0; v < f->nval; v++) {
            t->touched[v] -= before;
            t->read_by[v] = NOWHERE;
        }
        for (uint32_t i = 0; i < f->neqn; i++)
            if (!equation(t, &f->eqn[i])) return false;
    }
    add_written(t);
    return true;
}

static bool program_ns(const tn_fn *f, times *k, double *ns) {
    traffic t = {.f = f,
                 .k = k,
                 .touched = tn_i_alloc_array(f->ctx, f->nval, sizeof *t.touched),
                 .stage = tn_i_alloc_array(f->ctx, f->nval, sizeof *t.stage),
                 .read_by = tn_i_alloc_array(f->ctx, f->nval, sizeof *t.read_by),
                 .in_memory = tn_i_alloc(f->ctx, f->nval),
                 .level = tn_i_alloc(f->ctx, f->nval)};
    bool ok = t.touched && t.stage && t.read_by && t.in_memory && t.level;
    if (ok) {
        for (uint32_t v = 0; v < f->nval; v++) t.read_by[v] = NOWHERE;
        find_first_stages(&t);
        find_what_is_in_memory(&t);
        ok = run_twice(&t);
    }
    *ns = t.ns;
    tn_i_free(f->ctx, t.touched, f->nval * sizeof *t.touched);
    tn_i_free(f->ctx, t.stage, f->nval * sizeof *t.stage);
    tn_i_free(f->ctx, t.read_by, f->nval * sizeof *t.read_by);
    tn_i_free(f->ctx, t.in_memory, f->nval);
    tn_i_free(f->ctx, t.level, f->nval);
    return ok;
}

bool tn_i_modelled_ns(const tn_i_cost_model *m, const tn_fn *f, double *ns) {
    times k = {.m = m};
    tn_i_seen_init(&k.seen, f->ctx);
    const bool ok = program_ns(f, &k, ns);
    tn_i_free(f->ctx, k.ns, k.capacity * sizeof *k.ns);
    tn_i_seen_free(&k.seen);
    return ok;
}
