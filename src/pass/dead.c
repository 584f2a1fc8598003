/* What no store, call or condition of a loop needs is left out, with stores to temporaries that nothing reads and
 * the loops that nothing is left of; and what a store does by itself to fit memory. */
#include "loop/overlaps.h"
#include "pass/inside.h"

#include <string.h>

enum { OVERLAPS = 1, LOADED = 2 };

typedef struct marker {
    const tn_i_loops *p;
    uint32_t *around; /* of each operation: the FOR, IF or ELSE that it stands in, or TN_L_NONE */
    bool *live;
    uint8_t *read; /* of each array: OVERLAPS, something that is live reads memory of it; LOADED, from it */
    tn_i_l_overlaps shared;
    bool changed;
} marker;

static void mark(marker *m, uint32_t k) {
    for (; k != TN_L_NONE && !m->live[k]; k = m->around[k]) {
        m->live[k] = true;
        m->changed = true;
    }
}

/* Memory of the array is read, and so is what overlaps it. */
static void mark_read(marker *m, uint32_t array) {
    if (m->read[array] & LOADED) return;
    m->read[array] |= LOADED;
    m->changed = true;
    size_t i;
    for (size_t last = tn_i_l_overlaps_of(&m->shared, m->p, array, &i); i < last; i++) {
        const uint32_t a = m->shared.span[i].array;
        if (tn_i_l_overlap(m->p, a, array)) m->read[a] |= OVERLAPS;
    }
}

/* What results have is read behind the program. */
static void mark_results(marker *m) {
    for (uint32_t a = 0; a < m->p->narray; a++)
        if (m->p->array[a].role == TN_L_OUT || m->p->array[a].role == TN_L_INOUT) mark_read(m, a);
}

static bool is_stored_for(const marker *m, const tn_i_l_op *o) { return o->kind == TN_L_STORE && m->read[o->which]; }

/* The block that a LAST, HALVES or JOIN stands behind. */
static uint32_t closed_before(const tn_i_loops *p, uint32_t k) {
    while (p->op[k].kind != TN_L_END) k--;
    return p->op[k].to;
}

/* Operand i of o: of a store that what memory has is made of. */
static uint32_t operand(const tn_i_loops *p, const tn_i_l_op *o, int i) {
    const uint32_t x = o->in[i];
    if (o->kind != TN_L_STORE || i != 2 || p->op[x].kind != TN_L_MAP) return x;
    const int fits = tn_i_l_fits(p->op[x].code);
    return fits >= 0 && fits == p->array[o->which].dtype ? p->op[x].in[0] : x;
}

static void look(marker *m, uint32_t k) {
    const tn_i_l_op *o = &m->p->op[k];
    const bool ends = o->kind == TN_L_END || o->kind == TN_L_ELSE;
    if (is_stored_for(m, o) || o->kind == TN_L_CALL || o->kind == TN_L_WHILE) mark(m, k);
    if ((o->kind == TN_L_INTO || o->kind == TN_L_NEXT) && m->live[o->in[0]]) mark(m, k);
    if (o->kind == TN_L_ELSE && m->live[k]) mark(m, o->which);
    if (!m->live[k] || ends) return;
    if (o->kind == TN_L_LOAD) mark_read(m, o->which);
    for (uint32_t i = 0; o->kind == TN_L_CALL && i < o->narg; i++)
        if (m->p->arg[o->arg + i].access != TN_L_INTEGER) mark_read(m, m->p->arg[o->arg + i].array);
    for (int i = 0; i < 3; i++)
        if (o->in[i] != TN_L_NONE) mark(m, operand(m->p, o, i));
    if (o->kind == TN_L_JOIN || o->kind == TN_L_LAST || o->kind == TN_L_HALVES) mark(m, closed_before(m->p, k));
}

static void copy_store(tn_i_l_copy *c, uint32_t k) {
    const tn_i_l_op *o = &c->p->op[k];
    const uint32_t x = o->in[2], was = c->value[x];
    c->value[x] = c->value[operand(c->p, o, 2)];
    tn_i_l_copy_op(c, k);
    c->value[x] = was;
}

static void copy_live(tn_i_l_copy *c, const marker *m) {
    for (uint32_t k = 0; k < m->p->nop && !c->b->failed; k++) {
        const tn_i_l_op *o = &m->p->op[k];
        const uint32_t of = o->kind == TN_L_END ? o->to : o->kind == TN_L_ELSE ? o->which : k;
        if (m->live[of] && o->kind == TN_L_STORE)
            copy_store(c, k);
        else if (m->live[of])
            tn_i_l_copy_op(c, k);
    }
}

tn_i_loops *tn_i_pass_dead(tn_i_loops *p, const tn_i_machine *machine) {
    tn_i_l_builder b;
    tn_i_l_copy c;
    (void)machine;
    tn_i_l_begin(&b, p->ctx);
    marker m = {.p = p, .changed = true};
    if (p->nop) m.live = tn_i_alloc_array(p->ctx, p->nop, sizeof *m.live);
    if (p->narray) m.read = tn_i_alloc_array(p->ctx, p->narray, sizeof *m.read);
    m.around = tn_i_l_around(p);
    if ((p->nop && (!m.live || !m.around)) || (p->narray && !m.read) || !tn_i_l_overlaps_find(&m.shared, p))
        b.failed = true;
    if (!b.failed) mark_results(&m);
    while (!b.failed && p->nop && m.changed) {
        m.changed = false;
        for (uint32_t k = p->nop; k-- > 0;) look(&m, k);
    }
    if (tn_i_l_copy_begin(&c, &b, p)) copy_live(&c, &m);
    tn_i_l_copy_end(&c);
    if (m.live) tn_i_free(p->ctx, m.live, p->nop * sizeof *m.live);
    if (m.read) tn_i_free(p->ctx, m.read, p->narray * sizeof *m.read);
    tn_i_l_overlaps_drop(p->ctx, &m.shared);
    tn_i_l_around_drop(p, m.around);
    tn_i_l_free(p);
    return tn_i_l_end(&b);
}
