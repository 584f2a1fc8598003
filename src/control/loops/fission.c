#include "control/loops/fission.h"

#include "control/loops/loop.h"
#include "control/loops/ways.h"
#include "ir/depends.h"
#include "ir/memo.h"
#include "linearize/prune.h"
#include "prims/ids.h"

#include <string.h>

typedef struct pass {
    const tn_fn *f;
    tn_ctx *ctx;
    tn_i_builder b;
    tn_i_var *map;
    tn_i_way *way;    /* of each value: of its entries */
    uint8_t *hoisted; /* of each value: entries to be made ahead of their loop */
    tn_i_memo depends;
    bool changed, hoisting; /* a round that computes entries ahead does nothing else */
} pass;

/* ---- which loops ------------------------------------------------------------------------ */

/* The loop of f whose entries v is, or NULL. */
static const tn_i_eqn *maker(const tn_fn *f, tn_i_var v) {
    const uint32_t def = f->val[v].def;
    tn_i_loop_eqn l;
    if (def >= f->neqn || !tn_i_has_way(&f->eqn[def])) return NULL;
    tn_i_loop_of(f->eqn[def].prim, tn_i_p(&f->eqn[def]), f->eqn[def].nin, &l);
    return v >= f->eqn[def].out + tn_i_loop_y0(&l) ? &f->eqn[def] : NULL;
}

static uint8_t way(bool reverse) { return reverse ? TN_BACKWARD : TN_FORWARD; }

static uint8_t own_way(const tn_i_scan *s) { return s->ncarry ? way(s->reverse) : 0; }

static bool any_bad(const pass *p, const tn_i_eqn *e, const tn_i_scan *s, bool reverse) {
    for (uint32_t k = 0; k < s->nx; k++)
        if (p->way[tn_i_in(p->f, e)[s->x0 + k]].bad & way(reverse)) return true;
    return false;
}

/* ---- entries that do not depend on what is carried ------------------------------------- */

/* Entry v, which is bad for a loop in `direction`, depends on nothing that is: what its maker carries, and entries that
 * were made in the maker's direction. */
static bool is_free(pass *p, const tn_i_eqn *m, const tn_i_scan *s, uint8_t direction, tn_i_var v, bool *is) {
    const uint32_t c0 = s->index + s->nconst, def = s->body->val[s->body->out[v - m->out]].def;
    *is = false;
    if (s->body->effect || def >= s->body->neqn) return true;
    uint8_t *in = tn_i_alloc(p->ctx, s->body->nin), *out = tn_i_alloc(p->ctx, s->body->nout);
    bool ok = in && out;
    for (uint32_t k = 0; ok && k < s->nx; k++) {
        const tn_i_way *of = &p->way[tn_i_in(p->f, m)[s->x0 + k]];
        const bool bad = s->ncarry ? of->ways & own_way(s) : of->bad & direction;
        in[c0 + s->ncarry + k] = bad ? TN_OF_LENGTH : 0;
    }
    if (ok) memset(in + c0, TN_OF_LENGTH, s->ncarry);
    ok = ok && tn_i_depends_through(&p->depends, s->body, in, out);
    *is = ok && !out[v - m->out];
    tn_i_free(p->ctx, in, s->body->nin);
    tn_i_free(p->ctx, out, s->body->nout);
    return ok;
}

static bool hoist_if_bad(pass *p, uint8_t direction, tn_i_var v) {
    const tn_i_eqn *m = maker(p->f, v);
    tn_i_scan s;
    bool is;
    if (!(p->way[v].bad & direction) || !m || m->prim->id != TN_P_scan) return true;
    (void)tn_i_scan_read(m->params->v, m->nin, &s);
    if (!is_free(p, m, &s, direction, v, &is)) return false;
    p->hoisted[v] |= is;
    p->hoisting |= is;
    for (uint32_t k = 0; !is && !s.ncarry && k < s.nx; k++)
        if (!hoist_if_bad(p, direction, tn_i_in(p->f, m)[s.x0 + k])) return false;
    return true;
}

/* What is bad for a loop only because it was computed in a loop the other way is computed ahead of that. */
static bool find_hoisted(pass *p) {
    tn_i_scan s;
    for (uint32_t i = 0; i < p->f->neqn; i++) {
        const tn_i_eqn *e = &p->f->eqn[i];
        if (e->prim->id != TN_P_scan || !tn_i_scan_read(e->params->v, e->nin, &s) || !s.ncarry) continue;
        for (uint32_t k = 0; k < s.nx; k++)
            if (!hoist_if_bad(p, way(s.reverse), tn_i_in(p->f, e)[s.x0 + k])) return false;
    }
    return true;
}

/* ---- sums ----------------------------------------------------------------------------------- */

static uint32_t uses_of(const tn_fn *f, tn_i_var v) {
    uint32_t n = 0;
    for (uint32_t k = 0; k < f->npool; k++) n += f->pool[k] == v;
    for (uint32_t j = 0; j < f->nout; j++) n += f->out[j] == v;
    return n;
}

/* Where what loop e only adds to operand `at` comes out; TN_NOVAR where it does something else with it. */
static tn_i_var added_by_loop(const tn_i_eqn *e, uint32_t at) {
    tn_i_loop_eqn l;
    if (e->prim->id != TN_P_scan && e->prim->id != TN_P_while) return TN_NOVAR;
    tn_i_loop_of(e->prim, tn_i_p(e), e->nin, &l);
    const uint32_t carry0 = tn_i_loop_carry0(&l), j = at - carry0;
    if (at < carry0 || j >= l.ncarry || !tn_i_is_sum(l.body, tn_i_loop_inner(&l, at), j)) return TN_NOVAR;
    return l.cond && uses_of(l.cond, l.ncond + j) ? TN_NOVAR : e->out + j;
}

static tn_i_var added_by(const tn_i_eqn *e, uint32_t at) {
    return e->prim->id == TN_P_add ? e->out : added_by_loop(e, at);
}

bool tn_i_is_sum(const tn_fn *f, uint32_t in, uint32_t out) {
    tn_i_var v = in;
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        for (uint32_t k = 0; k < e->nin; k++) {
            if (tn_i_in(f, e)[k] != v) continue;
            const tn_i_var sum = added_by(e, k);
            if (sum == TN_NOVAR || uses_of(f, v) != 1) return false;
            v = sum;
            break;
        }
    }
    return v != in && v == f->out[out] && uses_of(f, v) == 1;
}

/* ---- splitting ------------------------------------------------------------------------------------ */

typedef struct cut {
    const tn_i_eqn *e;
    tn_i_scan s;
    uint8_t *in, *out; /* of the body: what depends on entries of the other kind */
    uint8_t *wanted;   /* carries that what depends on them reads */
} cut;

/* A loop of sums, or that carries nothing, may run in the other direction as a whole. */
enum remedy { NONE, APART, TURNED };

static bool late_leaf(const cut *k, uint32_t j) { return k->out[j]; }

/* A carry that every step leaves as it was is a constant of the late part. */
static bool stays(const cut *k, uint32_t j) { return k->s.body->out[j] == k->s.index + k->s.nconst + j; }

/* Follows what depends on bad entries: nothing can be done where a carry that others read does. */
static bool follow(pass *p, cut *k, enum remedy *what) {
    const tn_i_scan *s = &k->s;
    const uint32_t c0 = s->index + s->nconst;
    bool any = false;
    for (uint32_t x = 0; x < s->nx; x++) {
        k->in[c0 + s->ncarry + x] = p->way[tn_i_in(p->f, k->e)[s->x0 + x]].bad & way(s->reverse) ? TN_OF_LENGTH : 0;
        any |= k->in[c0 + s->ncarry + x];
    }
    *what = NONE;
    if (!any || p->hoisting) return true;
    for (uint32_t n = 0; n <= s->ncarry; n++) {
        if (!tn_i_depends_through(&p->depends, s->body, k->in, k->out)) return false;
        for (uint32_t j = 0; j < s->ncarry; j++) k->in[c0 + j] |= k->out[j];
    }
    bool early = false;
    for (uint32_t j = 0; j < s->ncarry; j++) {
        early |= !k->out[j];
        if (k->out[j] && !tn_i_is_sum(s->body, c0 + j, j)) return true;
    }
    if (early)
        *what = APART;
    else if (!any_bad(p, k->e, s, !s->reverse))
        *what = TURNED;
    return true;
}

/* The body with the outputs of one part, all inputs. */
static tn_fn *outputs_of(const cut *k, bool late, tn_ctx *c) {
    const tn_fn *f = k->s.body;
    const tn_type **type = tn_i_alloc_array(c, f->nin, sizeof *type);
    uint32_t *from = tn_i_alloc_array(c, f->nin, sizeof *from), *out = tn_i_alloc_array(c, f->nout, sizeof *out), n = 0;
    tn_fn *g = NULL;
    if (type && from && out) {
        for (uint32_t i = 0; i < f->nin; i++) {
            type[i] = f->val[i].type;
            from[i] = i;
        }
        for (uint32_t j = 0; j < f->nout; j++)
            if ((k->out[j] != 0) == late) out[n++] = j;
        g = tn_i_rewire(f, &(tn_i_wiring){.nin = f->nin, .nout = n, .in = type, .from = from, .out = out});
    }
    tn_i_free(c, (void *)type, f->nin * sizeof *type);
    tn_i_free(c, from, f->nin * sizeof *from);
    tn_i_free(c, out, f->nout * sizeof *out);
    return tn_i_prune(g); /* nested programs, too, read no more than the part needs */
}

/* One part's loop, and where its operands are in the whole one: consts, its carries, xs, and for the late part the
 * entries that are the other's carries. */
typedef struct part {
    tn_fn *body;
    uint32_t *from; /* per operand: the whole loop's, or TN_WIRE_INPUT + a carry's number, whose entries it is */
    uint32_t nin, nconst, ncarry;
} part;

static bool reads_input(const tn_fn *g, uint32_t i) { return uses_of(g, i) != 0; }

static bool shape_part(const cut *k, bool late, const tn_fn *g, part *out, tn_ctx *c) {
    const tn_i_scan *s = &k->s;
    const tn_fn *f = s->body;
    const uint32_t c0 = s->index + s->nconst, room = f->nin + s->ncarry + 1, nout = g->nout + s->ncarry;
    const tn_type **type = tn_i_alloc_array(c, room, sizeof *type);
    uint32_t *from = tn_i_alloc_array(c, f->nin, sizeof *from), *outs = tn_i_alloc_array(c, nout, sizeof *outs);
    uint32_t n = 0, m = 0;
    *out = (part){.from = tn_i_alloc_array(c, room, sizeof *out->from)};
    if (type && from && outs && out->from) {
        if (s->counted) out->from[out->nin++] = 0;
        for (uint32_t i = 0; i < c0; i++) {
            from[i] = n;
            type[n++] = f->val[i].type;
            if (i >= s->index) out->from[out->nin++] = s->const0 + i - s->index;
        }
        for (uint32_t j = 0; late && j < s->ncarry; j++) {
            if (!k->wanted[j] || !stays(k, j)) continue;
            from[c0 + j] = n;
            type[n++] = f->val[c0 + j].type;
            out->from[out->nin++] = s->carry0 + j;
        }
        out->nconst = n - s->index;
        for (uint32_t j = 0; j < s->ncarry; j++) {
            if (late_leaf(k, j) != late) continue;
            from[c0 + j] = n;
            type[n++] = f->val[c0 + j].type;
            out->from[out->nin++] = s->carry0 + j;
            out->ncarry++;
        }
        for (uint32_t x = 0; x < s->nx; x++) {
            if (!reads_input(g, c0 + s->ncarry + x)) continue;
            from[c0 + s->ncarry + x] = n;
            type[n++] = f->val[c0 + s->ncarry + x].type;
            out->from[out->nin++] = s->x0 + x;
        }
        for (uint32_t j = 0; late && j < s->ncarry; j++) {
            if (!k->wanted[j] || stays(k, j)) continue;
            from[c0 + j] = n;
            type[n++] = f->val[c0 + j].type;
            out->from[out->nin++] = TN_WIRE_INPUT | j;
        }
        for (; m < g->nout; m++) outs[m] = m;
        for (uint32_t j = 0; !late && j < s->ncarry; j++)
            if (k->wanted[j] && !stays(k, j)) outs[m++] = TN_WIRE_INPUT | from[c0 + j];
        out->body = tn_i_rewire(g, &(tn_i_wiring){.nin = n, .nout = m, .in = type, .from = from, .out = outs});
    }
    tn_i_free(c, (void *)type, room * sizeof *type);
    tn_i_free(c, from, f->nin * sizeof *from);
    tn_i_free(c, outs, nout * sizeof *outs);
    return out->body != NULL;
}

/* Emits a part; `entries` are those of the early part's carries. */
static tn_i_var emit_part(pass *p, const cut *k, bool late, const part *t, const tn_i_var *entries) {
    tn_i_param q[TN_MAX_PARAMS];
    tn_i_var *in = tn_i_alloc_array(p->ctx, t->nin, sizeof *in);
    if (!in) return TN_NOVAR;
    for (uint32_t i = 0; i < t->nin; i++)
        in[i] = t->from[i] & TN_WIRE_INPUT ? entries[t->from[i] & ~TN_WIRE_INPUT]
                                           : tn_i_mapped(&p->b, p->f, p->map, tn_i_in(p->f, k->e)[t->from[i]]);
    memcpy(q, k->e->params->v, k->e->params->n * sizeof *q);
    q[TN_SCAN_PROGRAM].u.fn = t->body;
    q[TN_SCAN_CONSTS] = (tn_i_param){.kind = TN_K_INT, .u.i = t->nconst};
    q[TN_SCAN_CARRY] = (tn_i_param){.kind = TN_K_INT, .u.i = t->ncarry};
    q[TN_SCAN_REVERSE] = (tn_i_param){.kind = TN_K_BOOL, .u.i = k->s.reverse != late};
    const tn_i_var out = tn_i_emit(&p->b, k->e->prim, q, t->nin, in);
    tn_i_free(p->ctx, in, t->nin * sizeof *in);
    return out;
}

static void map_outputs(pass *p, const cut *k, bool late, tn_i_var first) {
    for (uint32_t j = 0; j < k->s.body->nout; j++)
        if ((k->out[j] != 0) == late) p->map[k->e->out + j] = first++;
}

static bool emit_both(pass *p, cut *k, const tn_fn *early, const tn_fn *late) {
    const tn_i_scan *s = &k->s;
    const uint32_t c0 = s->index + s->nconst, room = s->body->nin + s->ncarry + 1;
    part first = {0}, second = {0};
    tn_i_var *entries = tn_i_alloc_array(p->ctx, s->ncarry, sizeof *entries), v = TN_NOVAR;
    for (uint32_t j = 0; j < s->ncarry; j++) k->wanted[j] = !late_leaf(k, j) && reads_input(late, c0 + j);
    if (entries && shape_part(k, false, early, &first, p->ctx) && shape_part(k, true, late, &second, p->ctx))
        v = emit_part(p, k, false, &first, NULL);
    if (v != TN_NOVAR) {
        map_outputs(p, k, false, v);
        v += early->nout;
        for (uint32_t j = 0; j < s->ncarry; j++)
            if (k->wanted[j] && !stays(k, j)) entries[j] = v++;
        v = emit_part(p, k, true, &second, entries);
    }
    if (v != TN_NOVAR) map_outputs(p, k, true, v);
    tn_i_free(p->ctx, entries, s->ncarry * sizeof *entries);
    tn_i_free(p->ctx, first.from, room * sizeof *first.from);
    tn_i_free(p->ctx, second.from, room * sizeof *second.from);
    tn_fn_free(first.body);
    tn_fn_free(second.body);
    return v != TN_NOVAR;
}

/* ---- computing ahead ------------------------------------------------------------------------------ */

static uint32_t count_hoisted(const pass *p, const cut *k) {
    uint32_t n = 0;
    for (uint32_t j = k->s.ncarry; j < k->s.body->nout; j++) n += p->hoisted[k->e->out + j];
    return n;
}

/* The loop that makes the hoisted entries: no carries, the other way. */
static tn_i_var emit_ahead(pass *p, cut *k) {
    part t = {0};
    tn_i_var v = TN_NOVAR;
    const uint32_t room = k->s.body->nin + k->s.ncarry + 1;
    for (uint32_t j = 0; j < k->s.body->nout; j++) k->out[j] = p->hoisted[k->e->out + j];
    memset(k->wanted, 0, k->s.ncarry);
    for (uint32_t j = 0; j < k->s.ncarry; j++) k->out[j] = 0;
    tn_fn *g = outputs_of(k, true, p->ctx);
    if (g && shape_part(k, true, g, &t, p->ctx)) v = emit_part(p, k, true, &t, NULL);
    tn_fn_free(t.body);
    tn_i_free(p->ctx, t.from, room * sizeof *t.from);
    tn_fn_free(g);
    return v;
}

/* The body, reading what is hoisted as further xs. */
static tn_fn *body_behind(const pass *p, const cut *k) {
    const tn_fn *f = k->s.body;
    tn_i_builder b;
    tn_i_builder_init(&b, p->ctx);
    b.named_after = f;
    b.regions = f->regions;
    tn_i_var *map = tn_i_map_new(f), *out = tn_i_alloc_array(p->ctx, f->nout, sizeof *out), *instead;
    instead = tn_i_alloc_array(p->ctx, f->nout, sizeof *instead);
    uint32_t nout = 0;
    tn_fn *g = NULL;
    if (map && out && instead) {
        for (uint32_t i = 0; i < f->nin; i++) map[i] = tn_i_input(&b, f->val[i].type, false);
        for (uint32_t j = 0; j < f->nout; j++)
            if (p->hoisted[k->e->out + j]) instead[j] = tn_i_input(&b, f->val[f->out[j]].type, false);
        for (uint32_t i = 0; i < f->neqn && !b.failed; i++) {
            tn_i_copy_eqn(&b, f, &f->eqn[i], map);
            for (uint32_t j = 0; j < f->nout; j++)
                if (p->hoisted[k->e->out + j] && f->val[f->out[j]].def == i) map[f->out[j]] = instead[j];
        }
        for (uint32_t j = 0; j < f->nout && !b.failed; j++)
            if (!p->hoisted[k->e->out + j]) out[nout++] = tn_i_mapped(&b, f, map, f->out[j]);
        g = tn_i_finish(&b, nout, out);
    } else
        tn_i_builder_drop(&b);
    tn_i_map_free(f, map);
    tn_i_free(p->ctx, out, f->nout * sizeof *out);
    tn_i_free(p->ctx, instead, f->nout * sizeof *instead);
    return g;
}

static bool hoist(pass *p, cut *k, uint32_t n) {
    tn_i_var first = emit_ahead(p, k), *in = tn_i_alloc_array(p->ctx, k->e->nin + n, sizeof *in), v = TN_NOVAR;
    tn_fn *g = body_behind(p, k);
    if (first != TN_NOVAR && in && g) {
        tn_i_param q[TN_MAX_PARAMS];
        for (uint32_t i = 0; i < k->e->nin; i++) in[i] = tn_i_mapped(&p->b, p->f, p->map, tn_i_in(p->f, k->e)[i]);
        for (uint32_t i = 0; i < n; i++) in[k->e->nin + i] = first + i;
        memcpy(q, k->e->params->v, k->e->params->n * sizeof *q);
        q[TN_SCAN_PROGRAM].u.fn = g;
        v = g->nout ? tn_i_emit(&p->b, k->e->prim, q, k->e->nin + n, in) : 0;
    }
    for (uint32_t j = 0; j < k->s.body->nout && v != TN_NOVAR; j++)
        p->map[k->e->out + j] = p->hoisted[k->e->out + j] ? first++ : v++;
    tn_fn_free(g);
    tn_i_free(p->ctx, in, (k->e->nin + n) * sizeof *in);
    p->changed = true;
    return v != TN_NOVAR;
}

static bool turned(pass *p, const cut *k) {
    tn_i_param q[TN_MAX_PARAMS];
    tn_i_var *in = tn_i_alloc_array(p->ctx, k->e->nin, sizeof *in), v = TN_NOVAR;
    for (uint32_t i = 0; in && i < k->e->nin; i++) in[i] = tn_i_mapped(&p->b, p->f, p->map, tn_i_in(p->f, k->e)[i]);
    memcpy(q, k->e->params->v, k->e->params->n * sizeof *q);
    q[TN_SCAN_REVERSE] = (tn_i_param){.kind = TN_K_BOOL, .u.i = !k->s.reverse};
    if (in) v = tn_i_emit(&p->b, k->e->prim, q, k->e->nin, in);
    for (uint32_t j = 0; j < k->e->nout && v != TN_NOVAR; j++) p->map[k->e->out + j] = v + j;
    tn_i_free(p->ctx, in, k->e->nin * sizeof *in);
    p->changed = true;
    return v != TN_NOVAR;
}

static bool split_loop(pass *p, cut *k) {
    const uint32_t n = count_hoisted(p, k);
    if (n) return hoist(p, k, n);
    enum remedy what;
    if (!follow(p, k, &what)) return false;
    if (what == TURNED) return turned(p, k);
    if (what == NONE) {
        tn_i_copy_eqn(&p->b, p->f, k->e, p->map);
        return true;
    }
    tn_fn *early = outputs_of(k, false, p->ctx), *late = outputs_of(k, true, p->ctx);
    const bool ok = early && late && emit_both(p, k, early, late);
    p->changed = true;
    tn_fn_free(early);
    tn_fn_free(late);
    return ok;
}

static void step(pass *p, const tn_i_eqn *e) {
    cut k = {.e = e};
    p->b.loc = e->loc;
    p->b.region = e->region;
    p->b.linear = e->linear;
    const bool scan = e->prim->id == TN_P_scan && tn_i_scan_read(e->params->v, e->nin, &k.s) && !k.s.body->effect;
    if (!scan) {
        tn_i_copy_eqn(&p->b, p->f, e, p->map);
        return;
    }
    k.in = tn_i_alloc(p->ctx, k.s.body->nin);
    k.out = tn_i_alloc(p->ctx, k.s.body->nout);
    k.wanted = tn_i_alloc(p->ctx, k.s.ncarry);
    if (!k.in || !k.out || !k.wanted || !split_loop(p, &k)) p->b.failed = true;
    tn_i_free(p->ctx, k.in, k.s.body->nin);
    tn_i_free(p->ctx, k.out, k.s.body->nout);
    tn_i_free(p->ctx, k.wanted, k.s.ncarry);
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

static tn_fn *rebuild(pass *p) {
    const tn_fn *f = p->f;
    tn_i_builder_init(&p->b, p->ctx);
    p->b.named_after = f;
    p->b.regions = f->regions;
    p->b.mixed = f->mixed;
    for (uint32_t i = 0; i < f->nin; i++) p->map[i] = tn_i_input(&p->b, f->val[i].type, f->val[i].linear);
    for (uint32_t i = 0; i < f->neqn && !p->b.failed; i++) step(p, &f->eqn[i]);
    tn_i_var *out = tn_i_alloc_array(p->ctx, f->nout, sizeof *out);
    if (!out) p->b.failed = true;
    for (uint32_t j = 0; j < f->nout && !p->b.failed; j++) out[j] = tn_i_mapped(&p->b, f, p->map, f->out[j]);
    tn_fn *g = tn_i_finish(&p->b, f->nout, out);
    tn_i_free(p->ctx, out, f->nout * sizeof *out);
    return g;
}

static bool has_violation(const pass *p) {
    tn_i_scan s;
    for (uint32_t i = 0; i < p->f->neqn; i++) {
        const tn_i_eqn *e = &p->f->eqn[i];
        if (e->prim->id == TN_P_scan && tn_i_scan_read(e->params->v, e->nin, &s) && any_bad(p, e, &s, s.reverse))
            return true;
    }
    return false;
}

static tn_fn *once(tn_fn *f, const tn_i_ways *in, bool *changed) {
    pass p = {.f = f, .ctx = f->ctx};
    *changed = false;
    if (!(p.way = tn_i_alloc_array(f->ctx, f->nval, sizeof *p.way))) {
        tn_fn_free(f);
        return NULL;
    }
    for (uint32_t i = 0; in && i < f->nin; i++) p.way[i] = in[i].at[0];
    for (uint32_t i = 0; i < f->neqn; i++) tn_i_find_ways(f, &f->eqn[i], p.way);
    if (!has_violation(&p)) {
        tn_i_free(f->ctx, p.way, f->nval * sizeof *p.way);
        return f;
    }
    tn_i_memo_init(&p.depends, f->ctx);
    p.map = tn_i_map_new(f);
    p.hoisted = tn_i_alloc(f->ctx, f->nval);
    tn_fn *g = p.map && p.hoisted && find_hoisted(&p) ? rebuild(&p) : NULL;
    tn_i_free(f->ctx, p.hoisted, f->nval);
    *changed = p.changed;
    tn_i_map_free(f, p.map);
    tn_i_memo_free(&p.depends);
    tn_i_free(f->ctx, p.way, f->nval * sizeof *p.way);
    tn_fn_free(f);
    return g;
}

/* What is split may be read by loops that have to be split then. */
tn_fn *tn_i_fission_in(tn_fn *f, const tn_i_ways *in) {
    bool changed = true;
    bool split = false;
    for (int round = 0; f && changed && round < 16; round++) {
        f = once(f, in, &changed);
        split |= changed;
    }
    return split && f ? tn_i_prune(tn_i_fusion(f)) : f;
}
