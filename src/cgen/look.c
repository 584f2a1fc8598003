/* What is known of a program before a line is written. */
#include "cgen/inside.h"

static bool is_block(int kind) { return kind == TN_L_FOR || kind == TN_L_IF || kind == TN_L_ELSE; }

/* ---- where operations stand ---- */

static void places(tn_i_cwriter *w) {
    const tn_i_loops *p = w->p;
    uint32_t open[TN_L_DEPTH], depth = 0, values = 0, loops = 0, reductions = 0, behind = TN_L_NONE;
    for (uint32_t k = 0; k < p->nop; k++) {
        const tn_i_l_op *o = &p->op[k];
        tn_i_cnote *n = &w->note[k];
        const bool follows = o->kind == TN_L_LAST || o->kind == TN_L_HALVES || o->kind == TN_L_JOIN;
        if (o->kind == TN_L_END || o->kind == TN_L_ELSE) depth--;
        *n = (tn_i_cnote){.block = depth ? open[depth - 1] : TN_L_NONE,
                          .behind = follows ? behind : TN_L_NONE,
                          .chain = TN_L_NONE,
                          .slot = TN_L_NONE,
                          .lanes = TN_L_NONE,
                          .label = tn_i_l_has_value(o)      ? values++
                                   : o->kind == TN_L_FOR    ? loops++
                                   : o->kind == TN_L_REDUCE ? reductions++
                                                            : 0};
        if (is_block(o->kind)) open[depth++] = k;
        if (o->kind == TN_L_END)
            behind = o->to;
        else if (!follows)
            behind = TN_L_NONE;
        if (o->kind == TN_L_NEXT) w->note[o->in[0]].chain = k;
        if (o->kind == TN_L_INTO) {
            n->chain = w->note[o->in[0]].chain;
            w->note[o->in[0]].chain = k;
        }
        w->calls |= o->kind == TN_L_CALL;
    }
}

/* ---- what is needed ---- */

typedef struct marker {
    tn_i_cwriter *w;
    uint32_t *todo, n;
} marker;

static void mark(marker *m, uint32_t k) {
    if (k == TN_L_NONE || m->w->note[k].needed) return;
    m->w->note[k].needed = true;
    m->todo[m->n++] = k;
}

static void mark_whiles(marker *m, uint32_t loop) {
    const tn_i_l_op *op = m->w->p->op;
    for (uint32_t k = loop + 1; k < op[loop].to; k = op[k].kind == TN_L_FOR || op[k].kind == TN_L_IF ? op[k].to : k + 1)
        if (op[k].kind == TN_L_WHILE) mark(m, k);
}

static void mark_counted(const tn_i_cwriter *w, const tn_i_l_affine *a) {
    const tn_i_l_term *t = tn_i_l_terms(w->p, a);
    for (uint32_t i = 0; i < a->n; i++) w->note[t[i].loop].counted = true;
}

static void mark_what_it_needs(marker *m, uint32_t k) {
    const tn_i_loops *p = m->w->p;
    const tn_i_l_op *o = &p->op[k];
    const tn_i_cnote *n = &m->w->note[k];
    for (int i = 0; i < 3; i++) mark(m, o->in[i]);
    mark(m, n->block);
    mark(m, n->behind);
    mark_counted(m->w, &o->at);
    switch (o->kind) {
    case TN_L_CARRY: mark(m, n->chain); break;
    case TN_L_FOR: mark_whiles(m, k); break;
    case TN_L_ELSE: mark(m, o->which); break;
    case TN_L_HALVES: m->w->note[n->behind].keeps = true; break;
    case TN_L_REDUCE:
        for (uint32_t i = n->chain; i != TN_L_NONE; i = m->w->note[i].chain) mark(m, i);
        break;
    case TN_L_CALL:
        for (uint32_t i = 0; i < o->narg; i++) mark_counted(m->w, &p->arg[o->arg + i].at);
        break;
    default: break;
    }
}

static bool find_needed(tn_i_cwriter *w) {
    const tn_i_loops *p = w->p;
    marker m = {.w = w, .todo = tn_i_alloc_array(p->ctx, p->nop + 1u, sizeof *m.todo)};
    if (!m.todo) return false;
    for (uint32_t k = 0; k < p->nop; k++)
        if (p->op[k].kind == TN_L_STORE || p->op[k].kind == TN_L_CALL) mark(&m, k);
    while (m.n) mark_what_it_needs(&m, m.todo[--m.n]);
    tn_i_free(p->ctx, m.todo, (p->nop + 1u) * sizeof *m.todo);
    return true;
}

/* ---- vector loops ---- */

/* In blocks: what has loops, branches or calls inside, or is long, or whose numbers are read behind it. */
static bool in_blocks(const tn_i_cwriter *w, uint32_t loop) {
    const tn_i_l_op *op = w->p->op;
    uint32_t n = 0;
    if (w->note[loop].keeps) return true;
    for (uint32_t k = loop + 1; k < op[loop].to; k++) {
        if (!w->note[k].needed) continue;
        if (op[k].kind == TN_L_FOR || op[k].kind == TN_L_IF || w->note[k].call) return true;
        n += op[k].kind != TN_L_NUMBER;
    }
    return n > w->g->piece;
}

/* Bytes of the widest numbers in a loop. */
static int widest(const tn_i_cwriter *w, uint32_t loop) {
    const tn_i_l_op *op = w->p->op;
    size_t bytes = 4;
    for (uint32_t k = loop + 1; k < op[loop].to; k++)
        if (w->note[k].needed && tn_i_l_has_value(&op[k]) && tn_i_dtype_size(op[k].dtype) > bytes)
            bytes = tn_i_dtype_size(op[k].dtype);
    return (int)bytes;
}

static bool varies(const tn_i_cwriter *w, uint32_t k, uint32_t loop) {
    const tn_i_l_op *o = &w->p->op[k];
    bool so = o->kind == TN_L_CARRY || tn_i_l_by(w->p, &o->at, loop) != 0;
    for (int i = 0; i < 3; i++) so |= o->in[i] != TN_L_NONE && w->note[o->in[i]].varies;
    return so;
}

static void find_lanes(tn_i_cwriter *w) {
    uint32_t loop = TN_L_NONE;
    for (uint32_t k = 0; k < w->p->nop; k++) {
        const tn_i_l_op *o = &w->p->op[k];
        tn_i_cnote *n = &w->note[k];
        if (loop != TN_L_NONE && k == w->p->op[loop].to) loop = TN_L_NONE;
        if (o->kind == TN_L_FOR && n->needed && o->vector) {
            const uint8_t wide = (uint8_t)widest(w, k);
            for (uint32_t j = k + 1; j < o->to; j++) w->note[j].wide = wide;
        }
        if (o->kind == TN_L_FOR && n->needed && o->vector && in_blocks(w, k)) {
            n->blocks = true;
            loop = k;
            continue;
        }
        n->lanes = loop;
        n->varies = loop != TN_L_NONE && varies(w, k, loop);
    }
}

int64_t tn_i_c_block(const tn_i_cwriter *w, uint32_t loop, bool *only) {
    int64_t n;
    *only = false;
    *only = tn_i_l_known_count(w->p, loop, &n) && n <= TN_CGEN_BLOCK;
    return *only ? n : TN_CGEN_BLOCK;
}

/* Whole vectors, of at most 16 elements. */
int64_t tn_i_c_room(const tn_i_cwriter *w, uint32_t loop) {
    bool only;
    const int64_t n = tn_i_c_block(w, loop, &only);
    return w->g->native ? (n + 15) / 16 * 16 : n;
}

bool tn_i_c_look(tn_i_cwriter *w) {
    places(w);
    if (!find_needed(w)) return false;
    for (uint32_t k = 0; k < w->p->nop; k++)
        if (w->note[k].needed && w->p->op[k].kind == TN_L_MAP) w->note[k].call = tn_i_c_way(w, k);
    find_lanes(w);
    return !w->failed;
}
