/* Pads of what is computed, and joined slices of it, as computing with what is padded or joined: with the numbers
 *
 *     y = (b - a^2) 100;  z = pad y by -0        become        z = ((pad b by -0) - (pad a by 0)^2) 100
 *
 * so that what reads z computes it in its own loops, from arrays that are in memory anyway, and y needs no memory. Both
 * programs compute the same bits: operands are padded with numbers of which the same operations make what y was padded
 * with; where there are none, and where computing once more costs more than memory, all stays as it is. */
#include "base/machine.h"
#include "checkpoint/cost_model.h"
#include "opt/fuse.h"
#include "opt/equations.h"
#include "opt/space.h"
#include "prims/ids.h"
#include "prims/arrays/shape.h"

#include <string.h>

enum { MOST_NODES = 40, MOST_LEAVES = 5, MOST_VIEWS = 4, MOST_PARTS = 4, MOST_AGAIN = 3, MOST_OPERANDS = 4 };

typedef enum kind { LEAF, NUMBER, COMPUTED } kind;

/* A value that the padded one is made of.  Those that are computed come behind their operands. */
typedef struct node {
    kind kind;
    tn_i_var v;
    tn_i_strip *strip;
    uint32_t in[MOST_OPERANDS]; /* nodes */
    uint64_t bits, try[4];      /* what is read outside; of a LEAF what may be */
    uint32_t ntry;
    double ns;
} node;

typedef struct shift {
    const tn_fn *f;
    tn_i_builder *b;
    tn_i_var *map, *moved; /* moved: values as the equation at hand wants them */
    uint32_t *uses;        /* of each value, by what is still needed */
    uint32_t *last;        /* of each value: the last equation that reads it, or a view of it */
    uint8_t *again;        /* of each equation: how often it is computed elsewhere */
    uint32_t *at;          /* of each value: its node, plus 1 */
    node node[MOST_NODES];
    uint32_t nnode;
    tn_i_var base;                                /* what is padded or joined, behind slices */
    const tn_i_eqn *view[MOST_PARTS][MOST_VIEWS]; /* of each operand that is moved: slices, the one of base first */
    uint32_t nview[MOST_PARTS], nparts;
    bool rows; /* short rows are joined: only what is made of little */
} shift;

static const tn_i_eqn *def_of(const shift *s, tn_i_var v) {
    const uint32_t def = s->f->val[v].def;
    return def < s->f->neqn ? &s->f->eqn[def] : NULL;
}

static const tn_type *type_of(const shift *s, tn_i_var v) { return s->f->val[v].type; }

/* ---- what it is made of ------------------------------------------------------------------ */

static bool is_computed(const shift *s, tn_i_var v) {
    const tn_i_eqn *e = def_of(s, v);
    return e && !e->prim->fold && e->prim->id != TN_P_concatenate && tn_i_space_computes(s->f, e);
}

/* A number in every element. */
static bool is_number(const shift *s, tn_i_var v, tn_i_var *number) {
    const tn_i_eqn *e = def_of(s, v);
    *number = v;
    if (e && e->prim->id == TN_P_broadcast_in_dim) *number = tn_i_in(s->f, e)[0];
    return tn_i_is_literal(s->f, *number);
}

/* A constant, or the repetition of something smaller, which is joined instead. */
static bool is_light(const shift *s, tn_i_var v) {
    const tn_i_eqn *e = def_of(s, v);
    if (!e) return false;
    if (e->prim->id == TN_P_broadcast_in_dim)
        return tn_i_count(type_of(s, tn_i_in(s->f, e)[0])) * TN_M_AGAIN_SMALLER <= tn_i_count(type_of(s, v));
    return tn_i_constant_data(e) && tn_i_count(type_of(s, v)) <= TN_M_CONSTANT_ELEMENTS;
}

/* In memory whatever is done here: no value that some nest computes, but perhaps slices of one. */
static bool is_leaf(const shift *s, tn_i_var v) {
    const tn_i_eqn *e = def_of(s, v);
    if (is_light(s, v)) return true;
    for (; e && (e->prim->flags & TN_F_VIEW) && e->nin == 1; e = def_of(s, v)) {
        if (e->prim->id == TN_P_slice) return true;
        v = tn_i_in(s->f, e)[0];
    }
    return !is_computed(s, v) && !(e && (e->prim->id == TN_P_iota || e->prim->id == TN_P_pad));
}

static bool alike(const tn_type *a, const tn_type *b) {
    return a->rank == b->rank && memcmp(a->dim, b->dim, (size_t)a->rank * sizeof *a->dim) == 0;
}

static bool set_strip(const shift *s, const tn_i_eqn *e, node *k) {
    tn_type out = *type_of(s, e->out);
    const tn_type *in[MOST_OPERANDS];
    const char *body;
    for (uint32_t i = 0; i < e->nin; i++) in[i] = type_of(s, tn_i_in(s->f, e)[i]);
    const tn_i_query q = {
        .ctx = s->f->ctx, .prim = e->prim, .p = tn_i_p(e), .nin = e->nin, .nout = 1, .in = in, .out = &out};
    const double n = (double)tn_i_count(&out);
    k->strip = tn_i_scalar_body(&q, &body);
    if (!k->strip) return false;
    if (!tn_i_recompute_ns(&tn_i_shipped_costs, s->f, e, &k->ns)) { /* no memory */
        s->b->failed = true;
        return false;
    }
    k->ns -= tn_i_shipped_costs.equation;
    return k->ns <= TN_M_AGAIN_NS * n;
}

static void try_number(const shift *s, node *k, double x) {
    const int dtype = type_of(s, k->v)->dtype;
    unsigned char at[8];
    tn_i_element_set(dtype, at, x);
    k->try[k->ntry++] = tn_i_bits_at(dtype, at);
}

static void set_tries(const shift *s, node *k) {
    try_number(s, k, 0);
    if (tn_i_is_float(type_of(s, k->v)->dtype)) try_number(s, k, -0.0);
    try_number(s, k, 1);
}

static bool collect(shift *s, tn_i_var v, const tn_type *t, uint32_t *at);

static bool collect_operands(shift *s, const tn_i_eqn *e, const tn_type *t, node *k) {
    if (e->nin > MOST_OPERANDS || s->again[s->f->val[e->out].def] >= MOST_AGAIN) return false;
    for (uint32_t i = 0; i < e->nin; i++)
        if (!collect(s, tn_i_in(s->f, e)[i], t, &k->in[i])) return false;
    return set_strip(s, e, k);
}

/* The nodes of v, of type t's shape; false: v is not made of little. */
static bool collect(shift *s, tn_i_var v, const tn_type *t, uint32_t *at) {
    tn_i_var number;
    node k = {.v = v};
    if (!tn_i_is_literal(s->f, v) && s->at[v]) return *at = s->at[v] - 1, true;
    if (is_number(s, v, &number)) {
        k.kind = NUMBER;
        k.bits = s->f->val[number].bits;
    } else if (!alike(type_of(s, v), t))
        return false;
    else if (is_computed(s, v)) {
        k.kind = COMPUTED;
        if (!collect_operands(s, def_of(s, v), t, &k)) return false;
    } else if (is_leaf(s, v))
        set_tries(s, &k);
    else
        return false;
    if (s->nnode == MOST_NODES) return false;
    *at = s->nnode;
    if (!tn_i_is_literal(s->f, v)) s->at[v] = s->nnode + 1;
    s->node[s->nnode++] = k;
    return true;
}

static void forget(shift *s) {
    for (uint32_t i = 0; i < s->nnode; i++)
        if (!tn_i_is_literal(s->f, s->node[i].v)) s->at[s->node[i].v] = 0;
    s->nnode = 0;
}

/* ---- what is read outside ------------------------------------------------------------------ */

static void compute(const shift *s, node *k) {
    static const int64_t still[MOST_OPERANDS] = {0};
    const void *in[MOST_OPERANDS] = {0};
    for (uint32_t i = 0; i < MOST_OPERANDS; i++) in[i] = &s->node[k->in[i]].bits;
    k->bits = 0;
    k->strip(1, in, still, &k->bits, 1);
}

/* Numbers for the leaves of which the base, computed, is `want`. */
static bool find_fills(shift *s, uint64_t want) {
    uint32_t digit[MOST_LEAVES] = {0}, leaf[MOST_LEAVES], n = 0;
    for (uint32_t i = 0; i < s->nnode; i++) {
        if (s->node[i].kind != LEAF) continue;
        if (n == MOST_LEAVES) return false;
        leaf[n++] = i;
    }
    for (;;) {
        uint32_t d = 0;
        for (uint32_t i = 0; i < n; i++) s->node[leaf[i]].bits = s->node[leaf[i]].try[digit[i]];
        for (uint32_t i = 0; i < s->nnode; i++)
            if (s->node[i].kind == COMPUTED) compute(s, &s->node[i]);
        if (s->node[s->nnode - 1].bits == want) return true;
        while (d < n && ++digit[d] == s->node[leaf[d]].ntry) digit[d++] = 0;
        if (d == n) return false;
    }
}

/* ---- whether it pays ------------------------------------------------------------------------- */

/* Operand v of what pads or joins: slices of the base. */
static bool add_part(shift *s, tn_i_var v) {
    const tn_i_eqn *e = def_of(s, v), *path[MOST_VIEWS];
    uint32_t n = 0;
    while (e && e->prim->id == TN_P_slice) {
        if (n == MOST_VIEWS) return false;
        path[n++] = e;
        v = tn_i_in(s->f, e)[0];
        e = def_of(s, v);
    }
    if (s->nparts == MOST_PARTS || (s->nparts && v != s->base)) return false;
    s->base = v;
    for (uint32_t i = 0; i < n; i++) s->view[s->nparts][i] = path[n - 1 - i];
    s->nview[s->nparts++] = n;
    return true;
}

/* How often the base is read by slices that nothing else reads. */
static uint32_t own_uses(const shift *s) {
    uint32_t n = 0;
    for (uint32_t k = 0; k < s->nparts; k++) {
        uint32_t i = s->nview[k];
        while (i > 0 && s->uses[s->view[k][i - 1]->out] == 1) i--;
        n += i == 0;
    }
    return n;
}

/* left: uses of each node once the base has `own` fewer; what has none is computed nowhere else any more. */
static void uses_left(const shift *s, uint32_t own, uint32_t *left) {
    for (uint32_t i = 0; i < s->nnode; i++)
        left[i] = tn_i_is_literal(s->f, s->node[i].v) ? UINT32_MAX : s->uses[s->node[i].v];
    left[s->nnode - 1] -= own;
    for (uint32_t i = s->nnode; i-- > 0;) {
        const node *k = &s->node[i];
        if (left[i] || k->kind != COMPUTED) continue;
        for (uint32_t j = 0; j < def_of(s, k->v)->nin; j++) left[k->in[j]]--;
    }
}

/* Arrays that are kept longer than they were. */
static uint32_t kept_longer(const shift *s, uint32_t eqn) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->nnode; i++) {
        tn_i_var v = s->node[i].v;
        const tn_i_eqn *e;
        if (s->node[i].kind != LEAF || is_light(s, v)) continue;
        while ((e = def_of(s, v)) && (e->prim->flags & TN_F_VIEW) && e->nin == 1) v = tn_i_in(s->f, e)[0];
        n += v >= s->f->nin && s->last[v] < eqn;
    }
    return n;
}

static bool pays(const shift *s, uint32_t eqn, const uint32_t *left) {
    const tn_i_cost_model *m = &tn_i_shipped_costs;
    const tn_type *t = type_of(s, s->base);
    const bool gone = left[s->nnode - 1] == 0, written = s->last[s->base] == s->f->neqn;
    double again = 0;
    for (uint32_t i = 0; i < s->nnode; i++)
        if (s->node[i].kind == COMPUTED && left[i]) again += s->node[i].ns;
    if (kept_longer(s, eqn) > gone) return false;
    return again * TN_M_AGAIN_PERCENT / 100 <=
           m->equation + tn_i_save_ns(m, t, tn_i_level_of(m, 2 * (double)tn_type_bytes(t)), written);
}

static void commit_uses(shift *s, const uint32_t *left) {
    for (uint32_t k = 0; k < s->nparts; k++)
        for (uint32_t i = s->nview[k]; i-- > 0 && --s->uses[s->view[k][i]->out] == 0;) continue;
    for (uint32_t i = 0; i < s->nnode; i++) {
        const node *k = &s->node[i];
        if (tn_i_is_literal(s->f, k->v)) continue;
        s->uses[k->v] = left[i] + (k->kind == LEAF);
        if (k->kind == COMPUTED && left[i]) s->again[s->f->val[k->v].def]++;
    }
}

/* ---- the new equations -------------------------------------------------------------------------- */

/* Of a leaf what e makes of the base: its k-th operand. */
static tn_i_var part_of(shift *s, uint32_t k, tn_i_var v) {
    tn_i_var x = tn_i_mapped(s->b, s->f, s->map, v);
    for (uint32_t i = 0; i < s->nview[k] && x != TN_NOVAR; i++)
        x = tn_i_emit(s->b, s->view[k][i]->prim, tn_i_p(s->view[k][i]), 1, &x);
    return x;
}

/* The k-th part of x, which is repeated along all but `dims`; *all: it is all of x. */
static tn_i_var part_of_row(shift *s, uint32_t k, const tn_type *t, tn_i_var x, const int64_t *dims, bool *all) {
    for (uint32_t i = 0; i < s->nview[k] && x != TN_NOVAR; i++) {
        const tn_i_param *p = tn_i_p(s->view[k][i]);
        int64_t start[TN_MAX_RANK], limit[TN_MAX_RANK], step[TN_MAX_RANK];
        bool some = false;
        for (int d = 0; d < t->rank; d++) {
            const bool moves = t->dim[d] > 1;
            const int64_t size = tn_i_vtype(s->b, x)->dim[d];
            start[d] = moves ? p[0].u.ints[dims[d]] : 0;
            limit[d] = moves ? p[1].u.ints[dims[d]] : 1;
            step[d] = moves && p[2].kind != TN_K_NONE ? p[2].u.ints[dims[d]] : 1;
            some |= start[d] > 0 || limit[d] < size || step[d] != 1;
        }
        if (some) x = tn_i_slice(s->b, x, start, limit, step);
        *all &= !some;
    }
    return x;
}

/* What e joins of v, the repetition of something smaller: the repetition of what is joined of that.  TN_NOVAR: it has
 * parts that differ where nothing is joined. */
static tn_i_var repeat_joined(shift *s, const tn_i_eqn *e, tn_i_var v) {
    const tn_i_eqn *of = def_of(s, v);
    const tn_i_var small = tn_i_in(s->f, of)[0];
    const tn_type *t = type_of(s, small), *out = type_of(s, e->out);
    const int64_t *dims = tn_i_p(of)[1].u.ints;
    tn_i_var part[MOST_PARTS], x = tn_i_mapped(s->b, s->f, s->map, small);
    int along = -1;
    bool all = true;
    for (int d = 0; d < t->rank; d++)
        if (dims[d] == tn_i_p(e)[0].u.i && t->dim[d] > 1) along = d;
    for (uint32_t k = 0; k < s->nparts; k++) part[k] = part_of_row(s, k, t, x, dims, &all);
    if (along >= 0)
        x = tn_i_concatenate(s->b, s->nparts, part, along);
    else if (!all)
        return TN_NOVAR;
    return tn_i_broadcast(s->b, x, out->rank, out->dim, dims);
}

static tn_i_var move_leaf(shift *s, const tn_i_eqn *e, const node *k) {
    tn_i_var in[MOST_PARTS];
    if (e->prim->id == TN_P_concatenate && def_of(s, k->v) && def_of(s, k->v)->prim->id == TN_P_broadcast_in_dim) {
        const tn_i_var x = repeat_joined(s, e, k->v);
        if (x != TN_NOVAR) return x;
    }
    for (uint32_t i = 0; i < s->nparts; i++) in[i] = part_of(s, i, k->v);
    if (e->prim->id == TN_P_concatenate) return tn_i_emit(s->b, e->prim, tn_i_p(e), e->nin, in);
    in[1] = tn_i_literal(s->b, type_of(s, k->v)->dtype, k->bits);
    return tn_i_emit(s->b, e->prim, tn_i_p(e), 2, in);
}

static void emit_moved(shift *s, const tn_i_eqn *e) {
    const tn_type *t = type_of(s, e->out);
    for (uint32_t i = 0; i < s->nnode; i++) {
        const node *k = &s->node[i];
        const tn_i_eqn *of = tn_i_is_literal(s->f, k->v) ? NULL : def_of(s, k->v);
        if (k->kind == COMPUTED)
            tn_i_copy_eqn(s->b, s->f, of, s->moved);
        else if (k->kind == LEAF)
            s->moved[k->v] = move_leaf(s, e, k);
        else if (of) /* of a number */
            s->moved[k->v] =
                tn_i_broadcast(s->b, tn_i_mapped(s->b, s->f, s->map, tn_i_in(s->f, of)[0]), t->rank, t->dim, NULL);
    }
    s->map[e->out] = s->moved[s->base];
    for (uint32_t i = 0; i < s->nnode; i++)
        if (!tn_i_is_literal(s->f, s->node[i].v)) s->moved[s->node[i].v] = TN_NOVAR;
}

/* ---- programs --------------------------------------------------------------------------------------- */

static bool parts_of(shift *s, const tn_i_eqn *e, uint64_t *fill) {
    const tn_i_var *in = tn_i_in(s->f, e);
    tn_i_box box;
    s->nparts = 0;
    s->rows = false;
    *fill = 0;
    if (e->prim->id == TN_P_pad) {
        if (!tn_i_box_of(s->f, e, &box) || !tn_i_is_literal(s->f, in[1])) return false;
        *fill = s->f->val[in[1]].bits;
        return add_part(s, in[0]);
    }
    if (e->prim->id != TN_P_concatenate || e->nin > MOST_PARTS || !tn_i_space_admits(s->f, e)) return false;
    s->rows = !tn_i_space_joins(s->f, e);
    for (uint32_t i = 0; i < e->nin; i++)
        if (!add_part(s, in[i])) return false;
    return true;
}

/* e, if it is done otherwise. */
static bool rewrite(shift *s, uint32_t i) {
    const tn_i_eqn *e = &s->f->eqn[i];
    uint32_t at, left[MOST_NODES];
    uint64_t fill;
    if (s->uses[e->out] == 0 || !parts_of(s, e, &fill) || !is_computed(s, s->base)) return false;
    bool ok = collect(s, s->base, type_of(s, s->base), &at);
    for (uint32_t k = 0; ok && s->rows && k < s->nnode; k++) ok = s->node[k].kind != LEAF || is_light(s, s->node[k].v);
    if (ok) uses_left(s, own_uses(s), left);
    ok = ok && pays(s, i, left) && (e->prim->id != TN_P_pad || find_fills(s, fill));
    if (ok) {
        commit_uses(s, left);
        s->b->region = e->region;
        s->b->loc = e->loc;
        emit_moved(s, e);
    }
    forget(s);
    return ok;
}

/* Uses by what an output needs, and by effects; the last reader, through views. */
static void count_uses(shift *s) {
    const tn_fn *f = s->f;
    for (uint32_t j = 0; j < f->nout; j++) s->uses[f->out[j]]++, s->last[f->out[j]] = f->neqn;
    for (uint32_t i = f->neqn; i-- > 0;) {
        const tn_i_eqn *e = &f->eqn[i];
        bool live = tn_i_eqn_effect(e);
        uint32_t last = i;
        for (uint32_t j = 0; j < e->nout; j++) live |= s->uses[e->out + j] != 0;
        if ((e->prim->flags & TN_F_VIEW) && e->nin == 1 && s->last[e->out] > i) last = s->last[e->out];
        for (uint32_t k = 0; live && k < e->nin; k++) {
            const tn_i_var v = tn_i_in(f, e)[k];
            s->uses[v]++;
            if (last > s->last[v]) s->last[v] = last;
        }
    }
}

static tn_fn *rewritten(shift *s) {
    const tn_fn *f = s->f;
    tn_i_builder *b = s->b;
    tn_i_builder_init(b, f->ctx);
    b->raw = true;
    b->named_after = f;
    count_uses(s);
    for (uint32_t i = 0; i < f->nin; i++) s->map[i] = tn_i_input(b, f->val[i].type, false);
    for (uint32_t i = 0; i < f->neqn && !b->failed; i++) {
        if (rewrite(s, i)) continue;
        b->region = f->eqn[i].region;
        tn_i_copy_eqn(b, f, &f->eqn[i], s->map);
    }
    tn_i_var *out = tn_i_alloc_array(f->ctx, f->nout, sizeof *out);
    tn_fn *g = NULL;
    if (out) {
        for (uint32_t j = 0; j < f->nout && !b->failed; j++) out[j] = tn_i_mapped(b, f, s->map, f->out[j]);
        g = tn_i_finish(b, f->nout, out);
    } else
        tn_i_builder_drop(b);
    tn_i_free(f->ctx, out, f->nout * sizeof *out);
    return g;
}

static tn_fn *shifted(const tn_fn *f) {
    tn_i_builder b;
    shift s = {.f = f,
               .b = &b,
               .map = tn_i_map_new(f),
               .moved = tn_i_map_new(f),
               .uses = tn_i_alloc_array(f->ctx, f->nval, sizeof *s.uses),
               .last = tn_i_alloc_array(f->ctx, f->nval, sizeof *s.last),
               .at = tn_i_alloc_array(f->ctx, f->nval, sizeof *s.at),
               .again = tn_i_alloc(f->ctx, f->neqn)};
    tn_fn *g = s.map && s.moved && s.uses && s.last && s.at && s.again ? rewritten(&s) : NULL;
    if (s.map) tn_i_map_free(f, s.map);
    if (s.moved) tn_i_map_free(f, s.moved);
    tn_i_free(f->ctx, s.uses, f->nval * sizeof *s.uses);
    tn_i_free(f->ctx, s.last, f->nval * sizeof *s.last);
    tn_i_free(f->ctx, s.at, f->nval * sizeof *s.at);
    tn_i_free(f->ctx, s.again, f->neqn);
    return g;
}

tn_fn *tn_i_shifted(const tn_fn *f) {
    for (uint32_t i = 0; i < f->neqn; i++)
        if (f->eqn[i].prim->id == TN_P_pad || f->eqn[i].prim->id == TN_P_concatenate) return shifted(f);
    return (tn_fn *)(uintptr_t)tn_i_fn_ref(f);
}
