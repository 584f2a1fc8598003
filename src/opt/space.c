#include "base/machine.h"
#include "opt/space.h"

#include "opt/lookup.h"
#include "prims/held.h"
#include "prims/ids.h"

#include <string.h>

enum { MOST_VIEWS = 32, MOST_OPERANDS = 4 };

static const tn_type *type_of(const tn_fn *f, tn_i_var v) { return f->val[v].type; }

static bool plain(const tn_type *t) { return !tn_i_has_steps(t) && tn_i_count(t) > 0; }

bool tn_i_space_admits(const tn_fn *f, const tn_i_eqn *e) {
    for (uint32_t i = 0; i < e->nin; i++)
        if (!plain(type_of(f, tn_i_in(f, e)[i]))) return false;
    return e->nout == 1 && plain(type_of(f, e->out));
}

bool tn_i_space_loads(const tn_fn *f, const tn_i_eqn *e) {
    return e->nin == 1 && e->nout == 1 && tn_i_space_admits(f, e) &&
           tn_i_loads_held(e->prim, type_of(f, tn_i_in(f, e)[0])->dtype, type_of(f, e->out)->dtype);
}

void tn_i_space_far(const tn_fn *f, uint8_t *far) {
    for (uint32_t j = 0; j < f->nout; j++) far[f->out[j]] = 1;
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        const bool computes = tn_i_space_computes(f, e);
        for (uint32_t k = 0; k < e->nin; k++)
            if (!computes || (k == 0 && tn_i_may_look_up(e))) far[tn_i_in(f, e)[k]] = 1;
    }
}

/* The query of an equation with one output and few operands, whose types are put in `in` and *out. */
static tn_i_query query(const tn_fn *f, const tn_i_eqn *e, const tn_type **in, tn_type *out) {
    for (uint32_t i = 0; i < e->nin; i++) in[i] = type_of(f, tn_i_in(f, e)[i]);
    *out = *type_of(f, e->out);
    return (tn_i_query){.ctx = f->ctx, .prim = e->prim, .p = tn_i_p(e), .nin = e->nin, .nout = 1, .in = in, .out = out};
}

static unsigned axes_of(const tn_i_eqn *e) {
    unsigned set = 0;
    for (uint32_t i = 0; i < tn_i_p(e)[0].n; i++) set |= 1u << tn_i_p(e)[0].u.ints[i];
    return set;
}

/* Reduces something: of one element there is nothing to fold. */
static bool folds(const tn_fn *f, const tn_i_eqn *e) {
    if (e->prim->fold == TN_FOLD_NONE || e->nin != 1) return false;
    const tn_type *t = type_of(f, tn_i_in(f, e)[0]);
    const unsigned axes = axes_of(e);
    for (int d = 0; d < t->rank; d++)
        if ((axes >> d & 1) && t->dim[d] > 1) return true;
    return false;
}

bool tn_i_space_computes(const tn_fn *f, const tn_i_eqn *e) {
    const tn_type *in[MOST_OPERANDS];
    tn_type out, held[MOST_OPERANDS]; /* as nests have them in registers */
    const char *body;
    if (tn_i_space_weaves(f, e)) return true;
    if (!tn_i_space_admits(f, e) || e->nin == 0 || e->nin > MOST_OPERANDS) return false;
    tn_i_lookup k;
    if (folds(f, e) || tn_i_lookup_of(f, e, &k)) return true;
    if (!(e->prim->flags & TN_F_ELEMENTWISE) || e->prim->flags & TN_F_OFFLOAD) return false;
    const tn_i_query q = query(f, e, in, &out);
    for (uint32_t i = 0; i < e->nin; i++) {
        held[i] = *in[i];
        held[i].dtype = tn_i_holder(held[i].dtype);
        in[i] = &held[i];
    }
    out.dtype = tn_i_holder(out.dtype);
    return tn_i_scalar_body(&q, &body) != NULL;
}

static const tn_type *walked(const tn_fn *f, const tn_i_eqn *e) {
    return type_of(f, e->prim->fold || e->prim->id == TN_P_concatenate ? tn_i_in(f, e)[0] : e->out);
}

void tn_i_space_of(const tn_fn *f, const tn_i_eqn *e, tn_i_space *s) {
    const tn_type *t = walked(f, e);
    *s = (tn_i_space){.outer = -1};
    for (int d = 0; d < t->rank; d++)
        if (t->dim[d] > 1) s->size[s->nloop++] = t->dim[d];
}

bool tn_i_space_whole(const tn_i_space *s, const tn_type *t, int8_t loop[TN_MAX_RANK]) {
    uint32_t n = 0;
    for (int d = 0; d < t->rank; d++) {
        loop[d] = -1;
        if (t->dim[d] == 1) continue;
        if (n == s->nloop || s->size[n] != t->dim[d]) return false;
        loop[d] = (int8_t)n++;
    }
    return n == s->nloop;
}

uint32_t tn_i_space_mask(const tn_type *t, const int8_t loop[TN_MAX_RANK]) {
    uint32_t mask = 0;
    for (int d = 0; d < t->rank; d++)
        if (t->dim[d] > 1) mask |= 1u << loop[d];
    return mask;
}

static uint32_t first_loops(uint32_t n) { return (1u << n) - 1; }

static int64_t row_length(const tn_i_space *s, uint32_t outer) {
    int64_t n = 1;
    for (uint32_t l = outer; l < s->nloop; l++) n *= s->size[l];
    return n;
}

/* Computed in this nest, so that it can be read there without memory. */
static bool inside(const tn_i_member *x, uint32_t nest) { return x->part >= TN_PART_ELEMENT && x->nest == nest; }

/* ---- elementwise -------------------------------------------------------------------- */

typedef struct join {
    const tn_fn *f;
    const tn_i_member *m;
    uint32_t nest;
    bool placed, rows,
        elements; /* operands of the nest: with a map; values of rows; of elements, or spread over them */
    uint8_t row_phase, element_phase;
    int outer;
} join;

/* Operand v of an equation whose output has type t. */
static bool read_operand(join *j, tn_i_var v, const tn_type *t, tn_i_member *out) {
    const tn_i_member *x = &j->m[v];
    const tn_type *tv = type_of(j->f, v);
    if (!inside(x, j->nest)) return true;
    if (x->part == TN_PART_SINK) return false;
    if (x->part == TN_PART_ROW) {
        if (j->outer >= 0 && j->outer != x->outer) return false;
        j->outer = x->outer;
        j->rows = true;
        j->elements |= x->spread;
        if (x->phase > j->row_phase) j->row_phase = x->phase;
    } else {
        j->elements = true;
        if (x->phase > j->element_phase) j->element_phase = x->phase;
    }
    if (tv->rank != t->rank) return true; /* a number beside arrays */
    for (int d = 0; d < t->rank; d++) {
        if (t->dim[d] == 1) continue;
        if (j->placed && out->loop[d] != x->loop[d]) return false;
        out->loop[d] = x->loop[d];
    }
    j->placed = true;
    return true;
}

/* A number made of totals, which no element of so many can read again: computed here it would make one row of all
 * loops, and leave sums over the rows that there are to be folded across them. */
static bool stands_behind(const tn_i_space *s, const join *j) {
    return j->outer == 0 && s->nloop > 1 && (s->rows || row_length(s, 0) > TN_M_SHORT_ROW);
}

/* A value of each row, of nothing that the nest makes: read by rows that do. */
static bool of_rows(const tn_i_space *s, const tn_type *t, int8_t loop[TN_MAX_RANK]) {
    int n = 0;
    for (int d = 0; d < t->rank; d++) {
        loop[d] = -1;
        if (t->dim[d] == 1) continue;
        if (n >= s->outer || s->size[n] != t->dim[d]) return false;
        loop[d] = (int8_t)n++;
    }
    return n > 0 && n == s->outer;
}

static bool join_map(const tn_fn *f, const tn_i_eqn *e, tn_i_space *s, const tn_i_member *m, uint32_t nest,
                     tn_i_member *out) {
    const tn_type *t = type_of(f, e->out);
    join j = {.f = f, .m = m, .nest = nest, .outer = s->outer};
    for (uint32_t i = 0; i < e->nin; i++)
        if (!read_operand(&j, tn_i_in(f, e)[i], t, out)) return false;
    if (!j.placed && !j.elements && of_rows(s, t, out->loop))
        j.rows = true;
    else if (!j.placed && !tn_i_space_whole(s, t, out->loop)) {
        /* a number among the values of rows that are one row */
        if (tn_i_count(t) != 1 || !j.rows || j.elements) return false;
    }
    const uint32_t mask = tn_i_space_mask(t, out->loop);
    if (mask == first_loops(s->nloop) && (s->nloop || !j.rows)) {
        out->part = TN_PART_ELEMENT;
        out->phase = j.element_phase;
        if (j.rows && row_length(s, (uint32_t)j.outer) > TN_M_SHORT_ROW) return false;
        if (j.rows && j.row_phase + 1 > out->phase) out->phase = (uint8_t)(j.row_phase + 1);
    } else if (j.rows && !j.elements && mask == first_loops((uint32_t)j.outer)) {
        if (stands_behind(s, &j)) return false;
        out->part = TN_PART_ROW;
        out->phase = j.row_phase;
        out->outer = (uint8_t)j.outer;
    } else
        return false;
    s->outer = j.outer;
    return true;
}

/* ---- reductions ----------------------------------------------------------------------- */

/* What is kept are the first loops of rows, each of several values of rows of `outer` loops: a nest of its own has
 * these as its elements, and goes on with the results. */
static bool shorter_rows(const tn_i_space *s, uint32_t kept, uint32_t outer) {
    return kept && kept == first_loops((uint32_t)__builtin_popcount(kept)) && row_length(s, outer) >= TN_M_KEPT_ROW;
}

static bool join_fold(const tn_fn *f, const tn_i_eqn *e, tn_i_space *s, const tn_i_member *m, uint32_t nest,
                      tn_i_member *out) {
    const tn_i_var v = tn_i_in(f, e)[0];
    const tn_type *t = type_of(f, v);
    const tn_i_member *x = &m[v];
    const unsigned axes = axes_of(e);
    int8_t loop[TN_MAX_RANK];
    uint32_t over = 0, kept = 0;
    int last = -1, n = 0;
    if (inside(x, nest))
        memcpy(loop, x->loop, sizeof loop);
    else if (!tn_i_space_whole(s, t, loop))
        return false;
    if (inside(x, nest) &&
        (x->part == TN_PART_SINK || (x->part == TN_PART_ROW && s->outer >= 0 && s->outer != x->outer)))
        return false;
    for (int d = 0; d < t->rank; d++) {
        const bool moves = t->dim[d] > 1;
        if (!(axes >> d & 1)) {
            out->loop[n++] = moves ? loop[d] : -1;
            if (moves) kept |= 1u << loop[d];
        } else if (moves) {
            if (loop[d] < last) return false; /* the order of a fold is that of the operand */
            last = loop[d];
            over |= 1u << loop[d];
        }
    }
    const bool row = inside(x, nest) && x->part == TN_PART_ROW;
    out->phase = inside(x, nest) ? x->phase : 0;
    out->part = TN_PART_SINK;
    if (row) {
        s->outer = x->outer;
        out->phase = (uint8_t)(x->phase + x->spread);
    }
    if (row && !x->spread) return !shorter_rows(s, kept, x->outer);
    const uint32_t outer = s->nloop - (uint32_t)__builtin_popcount(over);
    if (kept == first_loops(outer) && (s->outer < 0 || s->outer == (int)outer)) {
        out->part = TN_PART_ROW;
        out->outer = (uint8_t)outer;
        s->rows |= outer > 0;
    }
    return true;
}

/* ---- woven ----------------------------------------------------------------------------- */

bool tn_i_space_weaves(const tn_fn *f, const tn_i_eqn *e) {
    if (e->prim->id != TN_P_concatenate || e->nin < 2 || e->nin > TN_M_WOVEN_ARRAYS || !tn_i_space_admits(f, e) ||
        tn_i_space_joins(f, e))
        return false;
    const int64_t along = tn_i_p(e)[0].u.i;
    for (uint32_t i = 0; i < e->nin; i++)
        if (type_of(f, tn_i_in(f, e)[i])->dim[along] != 1) return false;
    return true;
}

/* The loops of its output are those of its operands, whose types are alike. */
static bool join_woven(const tn_fn *f, const tn_i_eqn *e, tn_i_space *s, const tn_i_member *m, uint32_t nest,
                       tn_i_member *out) {
    const tn_type *t = type_of(f, tn_i_in(f, e)[0]);
    join j = {.f = f, .m = m, .nest = nest, .outer = s->outer};
    for (uint32_t i = 0; i < e->nin; i++)
        if (!read_operand(&j, tn_i_in(f, e)[i], t, out)) return false;
    if (j.rows || (!j.placed && !tn_i_space_whole(s, t, out->loop))) return false;
    if (tn_i_space_mask(t, out->loop) != first_loops(s->nloop)) return false;
    out->part = TN_PART_SINK;
    out->phase = j.element_phase;
    return true;
}

/* ---- looked up ------------------------------------------------------------------------- */

/* What is looked up in is in memory before the nest begins; and so are the indices of windows, which walk some of the
 * loops alone.  Others walk all of them, in one more dimension, of size 1. */
static bool join_lookup(const tn_fn *f, const tn_i_eqn *e, tn_i_space *s, const tn_i_member *m, uint32_t nest,
                        tn_i_member *out) {
    const tn_i_var *in = tn_i_in(f, e);
    const tn_type *t = type_of(f, e->out);
    tn_i_lookup k;
    if (!tn_i_lookup_of(f, e, &k) || inside(&m[in[0]], nest)) return false;
    const tn_i_member *x = &m[in[k.index]];
    if (!inside(x, nest)) {
        if (!tn_i_space_whole(s, t, out->loop)) return false;
    } else if (x->part != TN_PART_ELEMENT)
        return false;
    else
        for (int d = 0; d < TN_MAX_RANK; d++)
            if (k.batch[d] >= 0) out->loop[k.batch[d]] = x->loop[d];
    for (int d = 0; d < t->rank; d++)
        if (t->dim[d] > 1 && out->loop[d] < 0) return false;
    out->part = TN_PART_ELEMENT;
    out->phase = inside(x, nest) ? x->phase : 0;
    return tn_i_space_mask(t, out->loop) == first_loops(s->nloop);
}

bool tn_i_space_join(const tn_fn *f, const tn_i_eqn *e, tn_i_space *s, const tn_i_member *m, uint32_t nest,
                     tn_i_member *out) {
    tn_i_space next = *s;
    *out = (tn_i_member){.nest = nest};
    memset(out->loop, -1, sizeof out->loop);
    bool (*const how)(const tn_fn *, const tn_i_eqn *, tn_i_space *, const tn_i_member *, uint32_t, tn_i_member *) =
        e->prim->fold                     ? join_fold
        : e->prim->id == TN_P_concatenate ? join_woven
        : tn_i_may_look_up(e)             ? join_lookup
                                          : join_map;
    if (!how(f, e, &next, m, nest, out)) return false;
    if (out->phase >= TN_NEST_PHASES) return false;
    if (out->phase > next.phase) next.phase = out->phase;
    *s = next;
    return true;
}

/* ---- what nests make for themselves ------------------------------------------------------ */

bool tn_i_walks(const tn_fn *f, const tn_i_eqn *e, int8_t map[TN_MAX_RANK]) {
    const tn_type *in[MOST_OPERANDS];
    tn_type out;
    if (!e->prim->walks || e->nin != 1 || !tn_i_space_admits(f, e)) return false;
    const tn_i_query q = query(f, e, in, &out);
    return e->prim->walks(&q, map);
}

/* A view of a value of the nest; its new dimensions are those loops that the value does not walk. */
static bool view(const tn_fn *f, const tn_i_eqn *e, const tn_i_space *s, const tn_i_member *x, const int8_t *map,
                 tn_i_member *out) {
    const tn_type *t = type_of(f, e->out), *from = type_of(f, tn_i_in(f, e)[0]);
    const uint32_t taken = tn_i_space_mask(from, x->loop);
    uint32_t next = 0, more = 0;
    for (int d = 0; d < t->rank; d++) {
        if (t->dim[d] == 1) continue;
        if (map[d] >= 0 && from->dim[map[d]] > 1) {
            out->loop[d] = x->loop[map[d]];
            continue;
        }
        while (next < s->nloop && (taken >> next & 1)) next++;
        if (next == s->nloop || s->size[next] != t->dim[d]) return false;
        out->loop[d] = (int8_t)next++;
        more++;
    }
    out->part = x->part;
    out->phase = x->phase;
    out->outer = x->outer;
    out->spread = x->spread;
    if (more == 0) return true;
    out->spread = true;
    return x->part == TN_PART_ROW && !x->spread && more == s->nloop - x->outer;
}

void tn_i_space_lazy(const tn_fn *f, const tn_i_eqn *e, const tn_i_space *s, const tn_i_member *m, tn_i_member *out) {
    int8_t map[TN_MAX_RANK];
    tn_i_box box;
    *out = (tn_i_member){.nest = TN_NOVAR};
    memset(out->loop, -1, sizeof out->loop);
    if (e->prim->id == TN_P_iota && tn_i_space_admits(f, e)) out->part = TN_PART_FREE;
    if (e->prim->id == TN_P_pad && tn_i_box_of(f, e, &box)) out->part = TN_PART_PAD;
    if (tn_i_space_joins(f, e)) out->part = TN_PART_PAD;
    const bool loads = tn_i_space_loads(f, e);
    for (int d = 0; loads && d < TN_MAX_RANK; d++) map[d] = (int8_t)d;
    if (!loads && !tn_i_walks(f, e, map)) return;
    const tn_i_member *x = &m[tn_i_in(f, e)[0]];
    if (x->depth >= MOST_VIEWS) return;
    out->depth = (uint8_t)(x->depth + 1);
    if (x->part == TN_PART_FREE) out->part = TN_PART_FREE;
    if (x->part != TN_PART_ELEMENT && x->part != TN_PART_ROW) return;
    out->nest = x->nest;
    if (!view(f, e, s, x, map, out)) out->part = TN_PART_NONE;
}

bool tn_i_space_joins(const tn_fn *f, const tn_i_eqn *e) {
    if (e->prim->id != TN_P_concatenate || e->nin < 2 || e->nin > MOST_OPERANDS || !tn_i_space_admits(f, e))
        return false;
    const tn_type *t = type_of(f, e->out);
    int64_t run = 1;
    for (int d = (int)tn_i_p(e)[0].u.i; d < t->rank; d++) run *= t->dim[d];
    return run >= TN_M_WOVEN_RUN;
}

bool tn_i_box_of(const tn_fn *f, const tn_i_eqn *e, tn_i_box *box) {
    if (e->prim->id != TN_P_pad || !tn_i_space_admits(f, e)) return false;
    const tn_type *in = type_of(f, tn_i_in(f, e)[0]), *out = type_of(f, e->out);
    for (int d = 0; d < in->rank; d++) {
        const int64_t *config = tn_i_p(e)[0].u.ints + 3 * d;
        if (config[2] != 0 && in->dim[d] > 1) return false;
        if (out->dim[d] == 1 && (config[0] > 0 || config[0] <= -in->dim[d])) return false;
        box->low[d] = config[0];
    }
    return true;
}
