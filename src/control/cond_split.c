/* Partial evaluation of cond.  Each branch is split under the boundary's policy.  The known cond gives the known
 * outputs and *slots*: slot s holds a residual of one type, of whichever branch was taken, so that there are as many as
 * the branch with the most residuals of that type has.  Residuals that are operands or known outputs are no slots. */
#include "control/cond.h"
#include "ir/depends.h"

#include <string.h>

/* Where a residual comes from. */
#define OPERAND 0u
#define OUTPUT  (1u << 30)
#define SLOT    (2u << 30)
#define KIND    (3u << 30)

typedef struct split {
    tn_i_rule *r;
    const bool *unknown; /* of the operands behind the index */
    const tn_i_plan_by *how;
    tn_i_made m;
    tn_ctx *c;
    uint32_t nin, nout, nknown; /* operands behind the index; outputs; known ones among these */
    bool *unknown_out;          /* in any branch */
    const tn_i_memo_entry **part;
    uint32_t **source; /* per branch and residual */
    const tn_type **slot;
    uint32_t *taken; /* per slot: 1 + the last branch that took it */
    bool *offload;   /* per slot */
    size_t nslot, cslot, ctaken, coffload;
    uint32_t *operand_of; /* of the nknown-th known input of a branch */
    /* what emitting needs: operands and outputs that are residuals, then slots to offload */
    uint32_t *facts;
    size_t nfacts;
} split;

/* ---- the parts of one branch ------------------------------------------------------- */

/* flags: nres as uint32, from_input[nres] */
static uint32_t residuals(const tn_i_memo_entry *e) {
    uint32_t n;
    memcpy(&n, e->flags, sizeof n);
    return n;
}

static const uint32_t *from_inputs(const tn_i_memo_entry *e) { return (const uint32_t *)(const void *)e->flags + 1; }

static const tn_i_memo_entry *keep_parts(split *s, const tn_fn *f, const void *key, size_t nkey, tn_i_parts *p,
                                         const void *kind) {
    const size_t n = (1 + (size_t)p->nres) * sizeof(uint32_t);
    const tn_i_memo_entry *e = NULL;
    uint32_t *flags = tn_i_alloc(s->c, n);
    if (flags) {
        flags[0] = p->nres;
        if (p->nres) memcpy(flags + 1, p->from_input, p->nres * sizeof *flags);
        e = tn_i_memo_add(s->r->memo, kind, f, key, nkey, p->known, p->linear, flags, n);
        p->known = p->linear = NULL;
    }
    tn_i_free(s->c, flags, n);
    return e;
}

/* Outputs unknown in any branch are the linear program's in this one too. */
static const tn_i_memo_entry *parts_of(split *s, const tn_fn *f) {
    static const char kind;
    const size_t nkey = sizeof s->how->name + 1 + s->nin + s->nout;
    unsigned char *key = tn_i_alloc(s->c, nkey), *at = key;
    if (!key) return NULL;
    memcpy(at, &s->how->name, sizeof s->how->name); /* tells policies apart, and outlives the walk */
    at += sizeof s->how->name;
    *at++ = s->how->region;
    for (uint32_t i = 0; i < s->nin; i++) *at++ = s->unknown[i];
    for (uint32_t j = 0; j < s->nout; j++) *at++ = s->unknown_out[j];
    const tn_i_memo_entry *e = tn_i_memo_find(s->r->memo, &kind, f, key, nkey);
    tn_i_parts p = {0};
    if (!e && tn_i_partial_eval(f, s->unknown, s->unknown_out, false, s->how, s->r->memo, &p)) {
        bool agrees = true;
        for (uint32_t j = 0; j < s->nout; j++) agrees &= p.out_unknown[j] == s->unknown_out[j];
        if (agrees)
            e = keep_parts(s, f, key, nkey, &p, &kind);
        else
            tn_i_rule_fail(s->r, TN_ERULE, -1,
                           "a branch has an unknown output that does not depend on what is unknown");
    }
    tn_i_parts_free(&p);
    tn_i_free(s->c, key, nkey);
    return e;
}

static bool find_unknown_outputs(split *s) {
    uint8_t *in = tn_i_alloc(s->c, s->nin), *out = tn_i_alloc(s->c, s->nout);
    bool ok = in && out;
    for (uint32_t i = 0; ok && i < s->nin; i++) in[i] = s->unknown[i];
    for (uint32_t k = 0; ok && k < s->m.n; k++) {
        ok = tn_i_depends_through(s->r->memo, tn_i_branch(s->r, k), in, out);
        for (uint32_t j = 0; ok && j < s->nout; j++) s->unknown_out[j] |= out[j] != 0;
    }
    for (uint32_t j = 0; ok && j < s->nout; j++) s->nknown += !s->unknown_out[j];
    tn_i_free(s->c, in, s->nin);
    tn_i_free(s->c, out, s->nout);
    return ok;
}

/* ---- where residuals come from ------------------------------------------------------- */

/* The first slot of the type that branch k has not taken; a new one if there is none.  Stacks are of one branch each:
 * under a batched index those of two could not be one. */
static bool take_slot(split *s, uint32_t k, const tn_type *t, uint32_t *slot) {
    size_t i = tn_i_has_steps(t) ? s->nslot : 0;
    while (i < s->nslot && (s->taken[i] == k + 1 || !tn_i_type_same(s->slot[i], t))) i++;
    if (i == s->nslot) {
        if (!tn_i_grow(s->c, (void **)(void *)&s->slot, &s->cslot, i + 1, sizeof *s->slot) ||
            !tn_i_grow(s->c, (void **)&s->taken, &s->ctaken, i + 1, sizeof *s->taken) ||
            !tn_i_grow(s->c, (void **)&s->offload, &s->coffload, i + 1, sizeof *s->offload))
            return false;
        s->slot[i] = t;
        s->offload[i] = false;
        s->nslot++;
    }
    s->taken[i] = k + 1;
    *slot = (uint32_t)i;
    return true;
}

static bool is_offloaded(const tn_fn *f, tn_i_var v) {
    return f->val[v].def < TN_DEF_LITERAL && f->eqn[f->val[v].def].prim->flags & TN_F_OFFLOAD;
}

static bool find_source(split *s, uint32_t k, uint32_t from, tn_i_var v, uint32_t *source) {
    const tn_fn *known = s->part[k]->result[0];
    uint32_t j = 0, slot = 0;
    if (from != TN_NOVAR) {
        *source = OPERAND | s->operand_of[from];
        return true;
    }
    while (j < s->nknown && known->out[j] != v) j++;
    if (j == s->nknown && !take_slot(s, k, known->val[v].type, &slot)) return false;
    *source = j < s->nknown ? OUTPUT | j : SLOT | slot;
    if (j == s->nknown && is_offloaded(known, v)) s->offload[slot] = true;
    return true;
}

static bool find_sources(split *s, uint32_t k) {
    const tn_i_memo_entry *e = s->part[k];
    const uint32_t nres = residuals(e), *from = from_inputs(e);
    uint32_t out = s->nknown; /* behind its outputs the known program has the residuals that are no inputs */
    s->source[k] = tn_i_alloc_array(s->c, nres, sizeof **s->source);
    if (!s->source[k]) return false;
    for (uint32_t i = 0; i < nres; i++) {
        const tn_i_var v = from[i] == TN_NOVAR ? e->result[0]->out[out++] : TN_NOVAR;
        if (!find_source(s, k, from[i], v, &s->source[k][i])) return false;
    }
    return true;
}

/* ---- arranging ------------------------------------------------------------------------- */

static uint32_t *operand_fact(const split *s, uint32_t i) { return s->facts + 1 + i; }
static uint32_t *output_fact(const split *s, uint32_t j) { return s->facts + 1 + s->nin + j; }

/* facts: nslot; whether an operand, then a known output, is a residual; whether a slot is offloaded */
static bool note_facts(split *s) {
    s->nfacts = 1 + (size_t)s->nin + s->nknown + s->nslot;
    s->facts = tn_i_alloc_array(s->c, s->nfacts, sizeof *s->facts);
    if (!s->facts) return false;
    s->facts[0] = (uint32_t)s->nslot;
    for (uint32_t k = 0; k < s->m.n; k++)
        for (uint32_t i = 0; i < residuals(s->part[k]); i++) {
            const uint32_t source = s->source[k][i], at = source & ~KIND;
            if ((source & KIND) == OPERAND) *operand_fact(s, at) = 1;
            if ((source & KIND) == OUTPUT) *output_fact(s, at) = 1;
        }
    for (size_t i = 0; i < s->nslot; i++) s->facts[1 + s->nin + s->nknown + i] = s->offload[i];
    return true;
}

typedef struct room {
    const tn_type **in, **out_type;
    uint32_t *from, *out, *number; /* number: of each operand, known output and slot among the linear inputs */
    bool *linear;
    size_t n;
} room;

static bool room_init(split *s, room *m) {
    m->n = 2 * (size_t)s->nin + 2 * (size_t)s->nout + s->nslot;
    for (uint32_t k = 0; k < s->m.n; k++) m->n += residuals(s->part[k]);
    m->in = tn_i_alloc_array(s->c, m->n, sizeof *m->in);
    m->out_type = tn_i_alloc_array(s->c, m->n, sizeof *m->out_type);
    m->from = tn_i_alloc_array(s->c, m->n, sizeof *m->from);
    m->out = tn_i_alloc_array(s->c, m->n, sizeof *m->out);
    m->number = tn_i_alloc_array(s->c, m->n, sizeof *m->number);
    m->linear = tn_i_alloc_array(s->c, m->n, sizeof *m->linear);
    return m->in && m->out_type && m->from && m->out && m->number && m->linear;
}

static void room_free(split *s, room *m) {
    tn_i_free(s->c, (void *)m->in, m->n * sizeof *m->in);
    tn_i_free(s->c, (void *)m->out_type, m->n * sizeof *m->out_type);
    tn_i_free(s->c, m->from, m->n * sizeof *m->from);
    tn_i_free(s->c, m->out, m->n * sizeof *m->out);
    tn_i_free(s->c, m->number, m->n * sizeof *m->number);
    tn_i_free(s->c, m->linear, m->n * sizeof *m->linear);
}

/* known operands -> known outputs, slots; those that this branch does not take are zeros */
static bool arrange_known(split *s, uint32_t k, room *m) {
    const tn_i_memo_entry *e = s->part[k];
    const tn_fn *f = e->result[0];
    const tn_i_arrangement w = {.nin = f->nin,
                                .nout = s->nknown + (uint32_t)s->nslot,
                                .in = m->in,
                                .from = m->from,
                                .out = m->out,
                                .out_type = m->out_type,
                                .bare = s->nknown};
    for (uint32_t i = 0; i < f->nin; i++) {
        m->in[i] = f->val[i].type;
        m->from[i] = i;
    }
    for (uint32_t j = 0; j < s->nknown; j++) m->out[j] = j;
    for (uint32_t j = 0; j < s->nslot; j++) {
        m->out[s->nknown + j] = TN_NOVAR;
        m->out_type[s->nknown + j] = s->slot[j];
    }
    for (uint32_t i = 0, out = s->nknown; i < residuals(e); i++) {
        const uint32_t source = s->source[k][i];
        if ((source & KIND) == SLOT) m->out[s->nknown + (source & ~KIND)] = out;
        out += from_inputs(e)[i] == TN_NOVAR;
    }
    return (s->m.f[k] = tn_i_arrange(f, &w)) != NULL;
}

/* The inputs of the linear programs: operands, known outputs and slots that are residuals, then what is unknown. */
static uint32_t number_inputs(split *s, room *m) {
    uint32_t n = 0, known = 0;
    for (uint32_t i = 0; i < s->nin; i++) {
        m->number[i] = n;
        if (*operand_fact(s, i)) m->in[n++] = s->r->in_type[1 + i];
    }
    for (uint32_t j = 0; j < s->nout; j++) {
        if (s->unknown_out[j]) continue;
        m->number[s->nin + known] = n;
        if (*output_fact(s, known++)) m->in[n++] = s->r->out_type[j];
    }
    for (uint32_t j = 0; j < s->nslot; j++) {
        m->number[s->nin + known + j] = n;
        m->in[n++] = s->slot[j];
    }
    return n;
}

static bool arrange_linear(split *s, uint32_t k, room *m) {
    const tn_i_memo_entry *e = s->part[k];
    const tn_fn *f = e->result[1];
    const uint32_t nres = residuals(e), nknown = number_inputs(s, m);
    uint32_t n = nknown;
    for (uint32_t i = 0; i < s->nin; i++)
        if (s->unknown[i]) m->in[n++] = s->r->in_type[1 + i];
    for (uint32_t i = 0; i < n; i++) m->linear[i] = i >= nknown;
    for (uint32_t i = 0; i < nres; i++) {
        const uint32_t kind = s->source[k][i] & KIND, at = s->source[k][i] & ~KIND;
        m->from[i] = m->number[at + (kind == OPERAND ? 0 : kind == OUTPUT ? s->nin : s->nin + s->nknown)];
    }
    for (uint32_t i = nres; i < f->nin; i++) m->from[i] = nknown + i - nres;
    for (uint32_t j = 0; j < f->nout; j++) m->out[j] = j;
    const tn_i_arrangement w = {
        .nin = n, .nout = f->nout, .in = m->in, .linear = m->linear, .from = m->from, .out = m->out, .bare = f->nout};
    return (s->m.g[k] = tn_i_arrange(f, &w)) != NULL;
}

static bool make(split *s) {
    room m = {0};
    uint32_t n = 0;
    s->part = tn_i_alloc_array(s->c, s->m.n, sizeof *s->part);
    s->source = tn_i_alloc_array(s->c, s->m.n, sizeof *s->source);
    s->operand_of = tn_i_alloc_array(s->c, s->nin, sizeof *s->operand_of);
    bool ok = s->part && s->source && s->operand_of;
    for (uint32_t i = 0; ok && i < s->nin; i++)
        if (!s->unknown[i]) s->operand_of[n++] = i;
    for (uint32_t k = 0; ok && k < s->m.n; k++)
        ok = (s->part[k] = parts_of(s, tn_i_branch(s->r, k))) != NULL && find_sources(s, k);
    if (ok) {
        ok = room_init(s, &m) && note_facts(s);
        for (uint32_t k = 0; ok && k < s->m.n; k++) ok = arrange_known(s, k, &m) && arrange_linear(s, k, &m);
        room_free(s, &m);
    }
    return ok;
}

static void split_free(split *s) {
    for (uint32_t k = 0; k < s->m.n && s->source && s->part; k++)
        if (s->part[k]) tn_i_free(s->c, s->source[k], residuals(s->part[k]) * sizeof **s->source);
    tn_i_free(s->c, (void *)s->part, s->m.n * sizeof *s->part);
    tn_i_free(s->c, (void *)s->source, s->m.n * sizeof *s->source);
    tn_i_free(s->c, s->operand_of, s->nin * sizeof *s->operand_of);
    tn_i_free(s->c, s->unknown_out, s->nout * sizeof *s->unknown_out);
    tn_i_free(s->c, (void *)s->slot, s->cslot * sizeof *s->slot);
    tn_i_free(s->c, s->taken, s->ctaken * sizeof *s->taken);
    tn_i_free(s->c, s->offload, s->coffload * sizeof *s->offload);
    tn_i_free(s->c, s->facts, s->nfacts * sizeof *s->facts);
    if (s->m.ctx) tn_i_made_end(&s->m);
}

/* ---- emitting -------------------------------------------------------------------------------- */

static bool any_effect(uint32_t n, const tn_fn *const *f) {
    for (uint32_t k = 0; k < n; k++)
        if (f[k]->effect) return true;
    return false;
}

/* in: room for all operands of the linear cond */
static void emit(split *s, tn_i_var *in, tn_i_var *out) {
    tn_i_rule *r = s->r;
    const uint32_t *fact = (const uint32_t *)(const void *)s->m.flags, nslot = *fact++;
    uint32_t n = 1;
    in[0] = r->in[0];
    for (uint32_t i = 0; i < s->nin; i++)
        if (!s->unknown[i]) in[n++] = r->in[1 + i];
    const tn_fn *const *known = s->m.f, *const *linear = s->m.g;
    tn_i_var first = known[0]->nout || any_effect(s->m.n, known) ? tn_i_cond_emit(r, s->m.n, known, in) : 0;
    if (first == TN_NOVAR) return;
    n = 1;
    for (uint32_t i = 0; i < s->nin; i++)
        if (*fact++) in[n++] = r->in[1 + i];
    for (uint32_t j = 0; j < s->nout; j++) {
        if (s->unknown_out[j]) continue;
        out[j] = first;
        if (*fact++) in[n++] = first;
        first++;
    }
    for (uint32_t i = 0; i < nslot; i++, first++) in[n++] = *fact++ ? tn_i_offload(r->b, first) : first;
    for (uint32_t i = 0; i < s->nin; i++)
        if (s->unknown[i]) in[n++] = r->in[1 + i];
    first = linear[0]->nout || any_effect(s->m.n, linear) ? tn_i_cond_emit(r, s->m.n, linear, in) : 0;
    for (uint32_t j = 0; j < s->nout && first != TN_NOVAR; j++)
        if (s->unknown_out[j]) out[j] = first++;
}

/* An index that is not known leaves nothing to split. */
static void unsplit(tn_i_rule *r, tn_i_var *out) {
    const tn_i_var first = tn_i_emit_like(r->b, r->e, r->in);
    for (uint32_t j = 0; j < r->nout && first != TN_NOVAR; j++) out[j] = first + j;
}

void tn_i_cond_split(tn_i_rule *r, const bool *unknown, tn_i_var *out, const tn_i_plan_by *how) {
    static const char kind;
    tn_ctx *c = r->b->ctx;
    split s = {.r = r, .unknown = unknown + 1, .how = how, .c = c, .nin = r->nin - 1, .nout = r->nout};
    if (unknown[0]) {
        unsplit(r, out);
        return;
    }
    const size_t nextra = sizeof how->name + 1 + s.nin;
    unsigned char *extra = tn_i_alloc(c, nextra);
    s.unknown_out = tn_i_alloc_array(c, s.nout, sizeof *s.unknown_out);
    bool ok = extra && s.unknown_out;
    if (ok) {
        memcpy(extra, &how->name, sizeof how->name);
        extra[sizeof how->name] = how->region;
        for (uint32_t i = 0; i < s.nin; i++) extra[sizeof how->name + 1 + i] = unknown[1 + i];
        ok = tn_i_made_begin(&s.m, r, &kind, extra, nextra) && find_unknown_outputs(&s);
    }
    if (ok && !s.m.found) ok = make(&s) && tn_i_made_keep(&s.m, r, &kind, s.facts, s.nfacts * sizeof *s.facts);
    const size_t width = ok ? (size_t)r->nin + s.m.g[0]->nin + 1 : 0;
    tn_i_var *in = ok ? tn_i_alloc_array(c, width, sizeof *in) : NULL;
    if (in)
        emit(&s, in, out);
    else
        r->b->failed = true;
    tn_i_free(c, in, width * sizeof *in);
    tn_i_free(c, extra, nextra);
    split_free(&s);
}
