#include "api/residual_rows.h"

#include "checkpoint/cost_model.h"
#include "ir/seen.h"
#include "prims/prim.h"

#include <string.h>

/* The program that equation e runs once and that partial evaluation splits with it, or NULL. */
static const tn_fn *body_of(const tn_i_eqn *e) {
    return e->prim->split && e->prim->body ? tn_i_p(e)[e->prim->body - 1].u.fn : NULL;
}

/* The policy that equation e brings for what it runs, or the one around it. */
static const char *policy_of(const tn_i_eqn *e, const char *around) {
    const tn_i_spec *s = e->prim->params;
    for (size_t k = 0; s && s[k].name; k++)
        if (strcmp(s[k].name, "policy") == 0 && tn_i_p(e)[k].kind == TN_K_STR) return tn_i_p(e)[k].u.str;
    return around;
}

/* ---- who makes a value ----------------------------------------------------------------------- */

typedef struct maker {
    const tn_fn *f;
    const tn_i_eqn *e; /* NULL: an input or a literal */
    tn_i_var v;        /* in f */
} maker;

/* Where v of f is made, as deep inside nested programs as it is: in through the equation that runs one,
 * out again where a program only hands an input on. */
static maker maker_of(const tn_fn *f, tn_i_var v) {
    maker way[TN_MAX_NEST]; /* the equations that run the program looked at */
    size_t depth = 0;
    for (;;) {
        const uint32_t def = f->val[v].def;
        if (def == TN_DEF_INPUT && depth > 0) {
            const maker *up = &way[--depth];
            const uint32_t i = tn_i_from_outside(up->e, v);
            if (i == TN_NOVAR) return *up; /* what enters a step: the loop makes it */
            f = up->f;
            v = tn_i_in(f, up->e)[i];
            continue;
        }
        const tn_i_eqn *e = def < TN_DEF_LITERAL ? &f->eqn[def] : NULL;
        tn_i_var inside = TN_NOVAR;
        const tn_fn *body = e ? tn_i_made_inside(e, v - e->out, &inside) : NULL;
        const maker here = {.f = f, .e = e, .v = v};
        if (!body || depth == TN_MAX_NEST) return here;
        way[depth++] = here;
        v = inside;
        f = body;
    }
}

/* ---- who reads a value ------------------------------------------------------------------------ */

/* Of one linear program: the first linear equation that depends on a value that is not linear,
 * and the value through which it does. */
typedef struct reading {
    uint32_t *eqn;   /* TN_NOVAR: none */
    uint32_t *via;   /* by which of its operands */
    uint8_t *output; /* the value is a result */
    double times;    /* runs of the program */
    const char *policy;
} reading;

typedef struct report {
    tn_ctx *ctx;
    tn_i_seen programs; /* the linear program and those it runs */
    reading *reading;   /* of each */
    size_t nreading, capacity;
    const tn_fn *f;
    const tn_i_parts *parts;
    const char *policy;
    tn_i_residual_rows *out;
} report;

static bool is_linear(const tn_fn *f, const tn_i_eqn *e) { return e->nout && f->val[e->out].linear; }

static void reads(reading *r, const tn_fn *f, uint32_t i) {
    const tn_i_eqn *e = &f->eqn[i];
    const tn_i_var *in = tn_i_in(f, e);
    const bool linear = is_linear(f, e);
    tn_i_var first = e->out;
    for (uint32_t j = 1; j < e->nout; j++)
        if (r->eqn[e->out + j] < r->eqn[first]) first = e->out + j;
    for (uint32_t k = 0; k < e->nin; k++) {
        if (linear && !f->val[in[k]].linear && r->eqn[in[k]] != i) {
            r->eqn[in[k]] = i;
            r->via[in[k]] = k;
        }
        if (linear || e->nout == 0) continue;
        if (r->eqn[first] < r->eqn[in[k]]) {
            r->eqn[in[k]] = r->eqn[first];
            r->via[in[k]] = r->via[first];
        }
        for (uint32_t j = 0; j < e->nout; j++) r->output[in[k]] |= r->output[e->out + j];
    }
}

static bool reading_new(report *z, const tn_fn *f, const char *policy) {
    if (!tn_i_grow(z->ctx, (void **)&z->reading, &z->capacity, z->nreading + 1, sizeof *z->reading)) return false;
    reading *r = &z->reading[z->nreading++];
    *r = (reading){.eqn = tn_i_alloc_array(z->ctx, f->nval, sizeof *r->eqn),
                   .via = tn_i_alloc_array(z->ctx, f->nval, sizeof *r->via),
                   .output = tn_i_alloc(z->ctx, f->nval),
                   .policy = policy};
    if (!r->eqn || !r->via || !r->output) return false;
    memset(r->eqn, 0xFF, f->nval * sizeof *r->eqn);
    for (uint32_t j = 0; j < f->nout; j++) r->output[f->out[j]] = 1;
    for (uint32_t i = f->neqn; i-- > 0;) reads(r, f, i);
    return true;
}

/* The linear program, and linear programs that it runs, each once. */
static bool find_programs(report *z) {
    uint32_t number;
    bool fresh;
    if (!tn_i_seen_add(&z->programs, z->parts->linear, &number, &fresh)) return false;
    if (!reading_new(z, z->parts->linear, z->policy)) return false;
    for (size_t k = 0; k < z->programs.n; k++) {
        const tn_fn *f = z->programs.fn[k];
        for (uint32_t i = 0; i < f->neqn; i++) {
            const tn_i_eqn *e = &f->eqn[i];
            if (!is_linear(f, e) || !body_of(e)) continue;
            if (!tn_i_seen_add(&z->programs, body_of(e), &number, &fresh)) return false;
            if (fresh && !reading_new(z, body_of(e), policy_of(e, z->reading[k].policy))) return false;
        }
    }
    return true;
}

/* A program is deeper than those that it runs. */
static bool count_times(report *z) {
    uint32_t number;
    bool fresh;
    z->reading[0].times = 1;
    for (uint32_t depth = z->parts->linear->depth; depth > 0; depth--)
        for (size_t k = 0; k < z->programs.n; k++) {
            const tn_fn *f = z->programs.fn[k];
            for (uint32_t i = 0; f->depth == depth && i < f->neqn; i++) {
                const tn_i_eqn *e = &f->eqn[i];
                if (!is_linear(f, e) || !body_of(e)) continue;
                if (!tn_i_seen_add(&z->programs, body_of(e), &number, &fresh)) return false;
                z->reading[number].times += z->reading[k].times;
            }
        }
    return true;
}

/* Goes on to the operand of its reader, an equation that runs a program, inside. */
static bool enter(report *z, uint32_t *k, tn_i_var *v, const tn_i_eqn *reader) {
    bool fresh;
    *v = z->reading[*k].via[*v];
    return tn_i_seen_add(&z->programs, body_of(reader), k, &fresh);
}

/* The equation that reads v of program number k first, or NULL. */
static const tn_i_eqn *reader_at(const report *z, uint32_t k, tn_i_var v) {
    const uint32_t i = z->reading[k].eqn[v];
    return i == TN_NOVAR ? NULL : &z->programs.fn[k]->eqn[i];
}

/* The same as deep inside as it is. */
static bool reader_of(report *z, uint32_t k, tn_i_var v, const tn_i_eqn **reader) {
    *reader = NULL;
    for (const tn_i_eqn *e; (e = reader_at(z, k, v)) != NULL;) {
        *reader = e;
        if (!body_of(e)) return true;
        if (!enter(z, &k, &v, e)) return false;
    }
    return true;
}

/* Who let value `made` of the primal program reach input v of the linear one: of the programs, one inside the
 * other, whose two halves make and read it, the innermost; their halves stand for one equation of the user's. */
static bool rule_of(report *z, tn_i_var made, tn_i_var v, const char **rule) {
    const tn_fn *f = z->parts->known;
    uint32_t k = 0;
    *rule = z->policy;
    for (;;) {
        const uint32_t def = f->val[made].def;
        const tn_i_eqn *by = def < TN_DEF_LITERAL ? &f->eqn[def] : NULL, *reader = reader_at(z, k, v);
        if (!by || !reader || by->loc != reader->loc || !body_of(by) || !body_of(reader)) return true;
        *rule = policy_of(by, *rule);
        made = body_of(by)->out[made - by->out];
        f = body_of(by);
        if (!enter(z, &k, &v, reader)) return false;
    }
}

/* ---- rows ------------------------------------------------------------------------------------- */

static bool cost_of(const tn_fn *f, const tn_i_eqn *e, tn_residual *r) {
    tn_i_cost cost;
    if (!tn_i_eqn_cost(f, e, &cost) || !tn_i_recompute_ns(&tn_i_shipped_costs, f, e, &r->ns)) return false;
    r->flops = cost.flops;
    r->transcendentals = cost.transcendentals;
    return true;
}

static void place_of(const tn_i_loc *loc, tn_residual *r) {
    r->file = loc ? loc->file : "";
    r->line = loc ? (int)loc->line : 0;
    r->scope = loc ? loc->scope : "";
}

/* A row for value v of program number k. */
static bool add_row(report *z, uint32_t k, tn_i_var v, const maker *m, tn_residual *r) {
    const tn_type *t = z->programs.fn[k]->val[v].type;
    const tn_i_eqn *reader;
    r->size = sizeof *r;
    r->type = *t;
    r->bytes = tn_type_bytes(t);
    r->times = z->reading[k].times;
    place_of(m->e ? m->e->loc : z->f->loc, r);
    if (!reader_of(z, k, v, &reader)) return false;
    const tn_i_loc *loc = reader ? reader->loc : NULL;
    r->reader = reader ? reader->prim->name : "output";
    r->reader_file = loc ? loc->file : "";
    r->reader_line = loc ? (int)loc->line : 0;
    if (!tn_i_grow(z->ctx, (void **)&z->out->row, &z->out->capacity, z->out->n + 1, sizeof *z->out->row)) return false;
    z->out->row[z->out->n++] = *r;
    return true;
}

static bool is_read(const report *z, uint32_t k, tn_i_var v) {
    return z->reading[k].eqn[v] != TN_NOVAR || z->reading[k].output[v];
}

/* What crosses the boundary: inputs of the linear program that are not linear. */
static bool add_crossing(report *z, uint32_t k) {
    const tn_fn *known = z->parts->known;
    tn_i_var v = known->out[z->f->nout + k];
    maker m = maker_of(known, v);
    tn_residual r = {.input = -1, .verdict = TN_RESIDUAL_SAVED};
    while (m.e && (m.e->prim->flags & TN_F_OFFLOAD)) {
        r.verdict = TN_RESIDUAL_OFFLOADED;
        m = maker_of(m.f, tn_i_in(m.f, m.e)[0]);
    }
    if (!rule_of(z, v, k, &r.rule)) return false;
    if (m.e) {
        r.primitive = m.e->prim->name;
        if (!cost_of(m.f, m.e, &r)) return false;
    } else if (m.f == known && m.v < known->nin) {
        r.verdict = TN_RESIDUAL_INPUT;
        r.input = (int)m.v;
        r.primitive = r.rule = "input";
    } else {
        r.verdict = TN_RESIDUAL_FREE;
        r.primitive = r.rule = "constant";
    }
    return add_row(z, 0, k, &m, &r);
}

/* Equation e of program number k is not linear: it makes again, or first, what linear ones read. */
static bool add_made(report *z, uint32_t k, const tn_i_eqn *e) {
    const tn_fn *f = z->programs.fn[k];
    tn_residual r = {.input = -1, .verdict = TN_RESIDUAL_FREE};
    const bool view = (e->prim->flags & TN_F_VIEW) != 0;
    if (!cost_of(f, e, &r)) return false;
    for (uint32_t v = e->out; v < e->out + e->nout; v++) {
        if (!is_read(z, k, v)) continue;
        const maker m = maker_of(f, v);
        r.primitive = m.e ? m.e->prim->name : e->prim->name;
        r.verdict = e->nin == 0 || view ? TN_RESIDUAL_FREE : TN_RESIDUAL_RECOMPUTED;
        r.rule = e->nin == 0 ? "constant" : view ? "view" : z->reading[k].policy;
        if (!add_row(z, k, v, &m, &r)) return false;
        r.flops = r.transcendentals = r.ns = 0; /* the other outputs come with the first */
    }
    return true;
}

static bool add_rows(report *z) {
    const tn_fn *linear = z->parts->linear;
    for (uint32_t k = 0; k < z->parts->nres; k++)
        if (is_read(z, 0, k) && !linear->val[k].linear && !add_crossing(z, k)) return false;
    for (uint32_t k = 0; k < z->programs.n; k++) {
        const tn_fn *f = z->programs.fn[k];
        for (uint32_t i = 0; i < f->neqn; i++)
            if (!is_linear(f, &f->eqn[i]) && !add_made(z, k, &f->eqn[i])) return false;
    }
    return true;
}

bool tn_i_residual_rows_of(const tn_fn *f, const tn_i_parts *parts, const char *policy, tn_i_residual_rows *out) {
    report z = {.ctx = f->ctx, .f = f, .parts = parts, .policy = policy, .out = out};
    tn_i_seen_init(&z.programs, z.ctx);
    const bool ok = find_programs(&z) && count_times(&z) && add_rows(&z);
    for (size_t k = 0; k < z.nreading; k++) {
        const size_t n = z.programs.fn[k]->nval;
        tn_i_free(z.ctx, z.reading[k].eqn, n * sizeof *z.reading[k].eqn);
        tn_i_free(z.ctx, z.reading[k].via, n * sizeof *z.reading[k].via);
        tn_i_free(z.ctx, z.reading[k].output, n);
    }
    tn_i_free(z.ctx, z.reading, z.capacity * sizeof *z.reading);
    tn_i_seen_free(&z.programs);
    return ok;
}

void tn_i_residual_rows_free(tn_ctx *c, tn_i_residual_rows *rows) {
    tn_i_free(c, rows->row, rows->capacity * sizeof *rows->row);
    *rows = (tn_i_residual_rows){0};
}
