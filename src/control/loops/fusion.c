/* A loop whose entries another loop in its direction reads becomes part of that, if it is one of sums, or its sums are
 * where the other's begin. */
#include "control/loops/fission.h"

#include "control/loops/loop.h"
#include "prims/ids.h"

#include <string.h>

typedef struct pair {
    const tn_fn *f;
    const tn_i_eqn *a, *e; /* a's entries are read by e */
    tn_i_scan sa, se;
    uint32_t *sum;  /* per carry of e: the carry of a that it goes on with, or TN_NOVAR */
    uint8_t *kept;  /* per y of a: others read it too */
    uint8_t *taken; /* per carry of a: one of e goes on with it */
} pair;

/* ---- which ------------------------------------------------------------------------------- */

static bool alike(const pair *p) {
    const tn_i_scan *a = &p->sa, *e = &p->se;
    return a->reverse == e->reverse && a->counted == e->counted && a->length == e->length && !a->body->effect &&
           (!a->counted || tn_i_in(p->f, p->a)[0] == tn_i_in(p->f, p->e)[0]);
}

static bool within(const pair *p, tn_i_var v) { return v >= p->a->out && v < p->a->out + p->a->nout; }

static bool read_by_others(const pair *p, tn_i_var v) {
    for (uint32_t i = 0; i < p->f->neqn; i++)
        for (uint32_t k = 0; k < p->f->eqn[i].nin; k++)
            if (&p->f->eqn[i] != p->e && tn_i_in(p->f, &p->f->eqn[i])[k] == v) return true;
    for (uint32_t j = 0; j < p->f->nout; j++)
        if (p->f->out[j] == v) return true;
    return false;
}

/* Nothing between the two reads what the first yields. */
static bool adjacent(const pair *p) {
    for (const tn_i_eqn *e = p->a + 1; e < p->e; e++)
        for (uint32_t k = 0; k < e->nin; k++)
            if (within(p, tn_i_in(p->f, e)[k])) return false;
    return true;
}

static bool sums(const pair *p) {
    const tn_i_scan *s = &p->sa;
    for (uint32_t j = 0; j < s->ncarry; j++)
        if (!tn_i_is_sum(s->body, s->index + s->nconst + j, j)) return false;
    return true;
}

/* How e reads a: entries as entries, sums as sums that it goes on with. */
static bool fits(pair *p) {
    const tn_i_scan *s = &p->se;
    bool any = false, goes_on = false;
    for (uint32_t i = 0; i < p->e->nin; i++) {
        const tn_i_var v = tn_i_in(p->f, p->e)[i];
        if (!within(p, v)) continue;
        const uint32_t j = v - p->a->out;
        if (i >= s->x0) {
            if (j < p->sa.ncarry) return false;
            any = true;
            continue;
        }
        const uint32_t leaf = i - s->carry0;
        if (i < s->carry0 || j >= p->sa.ncarry || p->taken[j] || read_by_others(p, v) ||
            !tn_i_is_sum(s->body, s->index + s->nconst + leaf, leaf))
            return false;
        p->sum[leaf] = j;
        p->taken[j] = 1;
        goes_on = true;
    }
    for (uint32_t k = 0; k < p->sa.ny; k++) p->kept[k] = read_by_others(p, p->a->out + p->sa.ncarry + k);
    return any && (goes_on || sums(p));
}

/* ---- the body of both --------------------------------------------------------------------- */

typedef struct both {
    tn_i_builder b;
    tn_i_var *args_a, *args_e, *outs_a, *outs_e, *out; /* of the bodies */
    uint32_t *operand;                                 /* per operand of the new loop: of a, or a's number + of e */
    uint32_t noperand, ncarry, nout;
} both;

static tn_i_var input(both *w, const tn_fn *f, uint32_t i, uint32_t operand) {
    w->operand[w->noperand++] = operand;
    return tn_i_input(&w->b, f->val[i].type, false);
}

static void make_inputs(both *w, const pair *p) {
    const tn_i_scan *a = &p->sa, *e = &p->se;
    const uint32_t na = p->a->nin, ca = a->index + a->nconst, ce = e->index + e->nconst;
    if (a->counted) w->operand[w->noperand++] = 0;
    if (a->index || e->index) {
        const tn_i_var i = tn_i_input(&w->b, (a->index ? a : e)->body->val[0].type, false);
        if (a->index) w->args_a[0] = i;
        if (e->index) w->args_e[0] = i;
    }
    for (uint32_t i = a->index; i < ca; i++) w->args_a[i] = input(w, a->body, i, a->const0 + i - a->index);
    for (uint32_t i = e->index; i < ce; i++) w->args_e[i] = input(w, e->body, i, na + e->const0 + i - e->index);
    for (uint32_t j = 0; j < a->ncarry; j++) w->args_a[ca + j] = input(w, a->body, ca + j, a->carry0 + j);
    for (uint32_t j = 0; j < e->ncarry; j++)
        if (p->sum[j] == TN_NOVAR) w->args_e[ce + j] = input(w, e->body, ce + j, na + e->carry0 + j);
    for (uint32_t k = 0; k < a->nx; k++)
        w->args_a[ca + a->ncarry + k] = input(w, a->body, ca + a->ncarry + k, a->x0 + k);
    for (uint32_t k = 0; k < e->nx; k++)
        if (!within(p, tn_i_in(p->f, p->e)[e->x0 + k]))
            w->args_e[ce + e->ncarry + k] = input(w, e->body, ce + e->ncarry + k, na + e->x0 + k);
}

static tn_fn *make_body(both *w, const pair *p) {
    const tn_i_scan *a = &p->sa, *e = &p->se;
    const uint32_t ce = e->index + e->nconst;
    make_inputs(w, p);
    tn_i_inline(&w->b, a->body, w->args_a, w->outs_a);
    for (uint32_t j = 0; j < e->ncarry; j++)
        if (p->sum[j] != TN_NOVAR) w->args_e[ce + j] = w->outs_a[p->sum[j]];
    for (uint32_t k = 0; k < e->nx; k++) {
        const tn_i_var v = tn_i_in(p->f, p->e)[e->x0 + k];
        if (within(p, v)) w->args_e[ce + e->ncarry + k] = w->outs_a[v - p->a->out];
    }
    tn_i_inline(&w->b, e->body, w->args_e, w->outs_e);
    for (uint32_t j = 0; j < a->ncarry; j++) w->out[w->nout++] = w->outs_a[j];
    for (uint32_t j = 0; j < e->ncarry; j++)
        if (p->sum[j] != TN_NOVAR)
            w->out[p->sum[j]] = w->outs_e[j];
        else
            w->out[w->nout++] = w->outs_e[j];
    w->ncarry = w->nout;
    for (uint32_t k = 0; k < a->ny; k++)
        if (p->kept[k]) w->out[w->nout++] = w->outs_a[a->ncarry + k];
    for (uint32_t k = 0; k < e->ny; k++) w->out[w->nout++] = w->outs_e[e->ncarry + k];
    return tn_i_finish(&w->b, w->nout, w->out);
}

/* ---- the program ------------------------------------------------------------------------------ */

static void map_outputs(const pair *p, tn_i_var *map, tn_i_var first, uint32_t ncarry) {
    const tn_i_scan *a = &p->sa, *e = &p->se;
    tn_i_var carry = first + a->ncarry, y = first + ncarry;
    for (uint32_t j = 0; j < a->ncarry; j++) map[p->a->out + j] = first + j;
    for (uint32_t j = 0; j < e->ncarry; j++) map[p->e->out + j] = p->sum[j] != TN_NOVAR ? first + p->sum[j] : carry++;
    for (uint32_t k = 0; k < a->ny; k++)
        if (p->kept[k]) map[p->a->out + a->ncarry + k] = y++;
    for (uint32_t k = 0; k < e->ny; k++) map[p->e->out + e->ncarry + k] = y++;
}

static void emit(tn_i_builder *b, const pair *p, tn_i_var *map, const both *w, const tn_fn *body) {
    tn_i_param q[TN_MAX_PARAMS];
    tn_i_var *in = tn_i_alloc_array(b->ctx, w->noperand, sizeof *in), v = TN_NOVAR;
    if (in && body) {
        for (uint32_t i = 0; i < w->noperand; i++) {
            const uint32_t k = w->operand[i];
            const tn_i_eqn *e = k < p->a->nin ? p->a : p->e;
            in[i] = tn_i_mapped(b, p->f, map, tn_i_in(p->f, e)[k < p->a->nin ? k : k - p->a->nin]);
        }
        memcpy(q, p->e->params->v, p->e->params->n * sizeof *q);
        q[TN_SCAN_PROGRAM].u.fn = body;
        q[TN_SCAN_CONSTS] = (tn_i_param){.kind = TN_K_INT, .u.i = (int64_t)p->sa.nconst + p->se.nconst};
        q[TN_SCAN_CARRY] = (tn_i_param){.kind = TN_K_INT, .u.i = w->ncarry};
        q[TN_SCAN_INDEX] = (tn_i_param){.kind = TN_K_BOOL, .u.i = p->sa.index || p->se.index};
        v = tn_i_emit(b, p->e->prim, q, w->noperand, in);
    }
    if (v == TN_NOVAR)
        b->failed = true;
    else
        map_outputs(p, map, v, w->ncarry);
    tn_i_free(b->ctx, in, w->noperand * sizeof *in);
}

static void emit_both(tn_i_builder *b, const pair *p, tn_i_var *map) {
    tn_ctx *c = b->ctx;
    const tn_fn *fa = p->sa.body, *fe = p->se.body;
    const uint32_t operands = p->a->nin + p->e->nin, outs = fa->nout + fe->nout;
    both w = {.args_a = tn_i_alloc_array(c, fa->nin, sizeof *w.args_a),
              .args_e = tn_i_alloc_array(c, fe->nin, sizeof *w.args_e),
              .outs_a = tn_i_alloc_array(c, fa->nout, sizeof *w.outs_a),
              .outs_e = tn_i_alloc_array(c, fe->nout, sizeof *w.outs_e),
              .out = tn_i_alloc_array(c, outs, sizeof *w.out),
              .operand = tn_i_alloc_array(c, operands, sizeof *w.operand)};
    tn_fn *body = NULL;
    if (w.args_a && w.args_e && w.outs_a && w.outs_e && w.out && w.operand) {
        tn_i_builder_init(&w.b, c);
        w.b.named_after = fe;
        w.b.regions = fa->regions > fe->regions ? fa->regions : fe->regions;
        body = make_body(&w, p);
    }
    emit(b, p, map, &w, body);
    tn_fn_free(body);
    tn_i_free(c, w.args_a, fa->nin * sizeof *w.args_a);
    tn_i_free(c, w.args_e, fe->nin * sizeof *w.args_e);
    tn_i_free(c, w.outs_a, fa->nout * sizeof *w.outs_a);
    tn_i_free(c, w.outs_e, fe->nout * sizeof *w.outs_e);
    tn_i_free(c, w.out, outs * sizeof *w.out);
    tn_i_free(c, w.operand, operands * sizeof *w.operand);
}

static tn_fn *rebuild(const pair *p) {
    const tn_fn *f = p->f;
    tn_i_builder b;
    tn_i_builder_init(&b, f->ctx);
    b.named_after = f;
    b.regions = f->regions;
    b.mixed = f->mixed;
    tn_i_var *map = tn_i_map_new(f), *out = tn_i_alloc_array(f->ctx, f->nout, sizeof *out);
    if (!map || !out) b.failed = true;
    for (uint32_t i = 0; i < f->nin && !b.failed; i++) map[i] = tn_i_input(&b, f->val[i].type, f->val[i].linear);
    for (uint32_t i = 0; i < f->neqn && !b.failed; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        b.loc = e->loc;
        b.region = e->region;
        b.linear = e->linear;
        if (e == p->e)
            emit_both(&b, p, map);
        else if (e != p->a)
            tn_i_copy_eqn(&b, f, e, map);
    }
    for (uint32_t j = 0; j < f->nout && !b.failed; j++) out[j] = tn_i_mapped(&b, f, map, f->out[j]);
    tn_fn *g = tn_i_finish(&b, f->nout, out);
    tn_i_map_free(f, map);
    tn_i_free(f->ctx, out, f->nout * sizeof *out);
    return g;
}

static bool read_scan(const tn_i_eqn *e, tn_i_scan *s) {
    return e->prim->id == TN_P_scan && tn_i_scan_read(e->params->v, e->nin, s);
}

/* Fuses the two, if that can be; *f is the result, NULL after an error. */
static bool try_pair(tn_fn **f, uint32_t a, uint32_t e) {
    tn_ctx *c = (*f)->ctx;
    pair p = {.f = *f, .a = &(*f)->eqn[a], .e = &(*f)->eqn[e]};
    if (!read_scan(p.a, &p.sa) || !read_scan(p.e, &p.se) || !alike(&p) || !adjacent(&p)) return false;
    p.sum = tn_i_alloc_array(c, p.se.ncarry, sizeof *p.sum);
    p.kept = tn_i_alloc(c, p.sa.ny);
    p.taken = tn_i_alloc(c, p.sa.ncarry);
    const bool room = p.sum && p.kept && p.taken;
    if (room) memset(p.sum, 0xFF, p.se.ncarry * sizeof *p.sum);
    const bool fit = room && fits(&p);
    tn_fn *g = fit ? rebuild(&p) : NULL;
    tn_i_free(c, p.sum, p.se.ncarry * sizeof *p.sum);
    tn_i_free(c, p.kept, p.sa.ny);
    tn_i_free(c, p.taken, p.sa.ncarry);
    if (room && !fit) return false;
    tn_fn_free(*f);
    *f = g;
    return true;
}

tn_fn *tn_i_fusion(tn_fn *f) {
    for (uint32_t e = 0; f && e < f->neqn; e++)
        for (uint32_t a = e; a-- > 0;)
            if (f->eqn[e].prim->id == TN_P_scan && f->eqn[a].prim->id == TN_P_scan && try_pair(&f, a, e)) {
                e = 0;
                break;
            }
    return f;
}
