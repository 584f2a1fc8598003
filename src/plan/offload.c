/* What is offloaded: when it is written to the spill file, when it is fetched, and where it lies there.
 *
 * A value is written where its `offload` stands and fetched in front of its first reader, which may be a view
 * of it.  From there to its last reader it lives in the arena like any other.  `offload` of what is in the
 * file already writes nothing: both values share a piece of the file, and each is fetched for itself. */
#include "plan/planner.h"

/* Remembering the checksum of a value takes memory too: small values are not worth a file. */
#define WORTHWHILE ((size_t)TN_ARENA_ALIGN)

static bool is_offload(const tn_i_eqn *e) { return (e->prim->flags & TN_F_OFFLOAD) != 0; }

bool tn_i_spills(const tn_i_planner *z, const tn_i_eqn *e) {
    return is_offload(e) && z->uses[e->out] && z->out_of[e->out] == TN_NOVAR &&
           !tn_i_has_steps(z->f->val[e->out].type) && tn_type_bytes(z->f->val[e->out].type) > WORTHWHILE;
}

static tn_i_spilled *spilled(const tn_i_planner *z, tn_i_var v) {
    return z->spill_of && z->spill_of[v] != TN_NOBLOCK ? &z->spilled[z->spill_of[v]] : NULL;
}

/* Room for what is spilled in the program, if anything is: readers that are `offload` themselves want no memory. */
bool tn_i_spill_init(tn_i_planner *z) {
    const tn_fn *f = z->f;
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->neqn; i++) n += z->live[i] && tn_i_spills(z, &f->eqn[i]);
    if (n == 0) return true;
    z->cspilled = n;
    tn_i_pool_init(&z->file, z->ctx);
    z->spill_of = tn_i_alloc_array(z->ctx, f->nval, sizeof *z->spill_of);
    z->spilled = tn_i_alloc_array(z->ctx, n, sizeof *z->spilled);
    if (!z->spill_of || !z->spilled) return false;
    for (uint32_t v = 0; v < f->nval; v++) z->spill_of[v] = TN_NOBLOCK;
    n = 0;
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        if (!z->live[i] || !tn_i_spills(z, e)) continue;
        tn_i_spilled *from = spilled(z, tn_i_in(f, e)[0]);
        if (from) from->offloads++;
        z->spilled[n] = (tn_i_spilled){.left = z->uses[e->out]};
        z->spill_of[e->out] = n++;
    }
    return true;
}

void tn_i_spill_drop(tn_i_planner *z) {
    if (z->cspilled) tn_i_pool_drop(&z->file);
    tn_i_free(z->ctx, z->spill_of, z->f->nval * sizeof *z->spill_of);
    tn_i_free(z->ctx, z->spilled, z->cspilled * sizeof *z->spilled);
    tn_i_free(z->ctx, z->piece, z->cpiece * sizeof *z->piece);
}

/* ---- pieces of the file ------------------------------------------------------------------ */

static bool piece_new(tn_i_planner *z, size_t bytes, uint32_t *piece) {
    if (!tn_i_grow(z->ctx, (void **)&z->piece, &z->cpiece, z->npiece + 1, sizeof *z->piece)) return false;
    tn_i_piece *k = &z->piece[z->npiece];
    *k = (tn_i_piece){0};
    if (!tn_i_pool_take(&z->file, bytes, &k->at) || !tn_i_block_new(z, sizeof(uint64_t), 0, &k->sum)) return false;
    *piece = (uint32_t)z->npiece++;
    return true;
}

static void piece_unref(tn_i_planner *z, uint32_t piece) {
    tn_i_piece *k = &z->piece[piece];
    if (--k->refs) return;
    tn_i_pool_give(&z->file, &k->at);
    tn_i_block_release(z, k->sum);
}

static bool add_transfer(tn_i_planner *z, uint32_t eqn, tn_i_var v, const tn_i_place *memory, uint32_t piece,
                         tn_i_step_kind kind) {
    tn_i_plan *p = z->p;
    const tn_i_step s = {.eqn = eqn, .kind = (uint8_t)kind, .loop = (uint32_t)p->ntransfer};
    if (!tn_i_grow(z->ctx, (void **)&p->transfer, &p->ctransfer, p->ntransfer + 1, sizeof *p->transfer)) return false;
    p->transfer[p->ntransfer++] = (tn_i_transfer){.memory = *memory,
                                                  .file = z->piece[piece].at.offset,
                                                  .sum = (int64_t)z->block[z->piece[piece].sum].slot.offset,
                                                  .bytes = tn_type_bytes(z->f->val[v].type),
                                                  .v = v,
                                                  .ahead = kind == TN_STEP_FETCH ? 0 : TN_NOVAR};
    return tn_i_step_add(z, &s);
}

/* ---- writing ------------------------------------------------------------------------------- */

/* The file holds values row-major; what is laid out otherwise is copied first. */
static bool write_out(tn_i_planner *z, const tn_i_eqn *e, uint32_t eqn, uint32_t piece) {
    tn_i_var v = tn_i_in(z->f, e)[0];
    tn_i_place from = z->p->place[v];
    if (from.stride == TN_DENSE) return add_transfer(z, eqn, v, &from, piece, TN_STEP_SPILL);
    uint32_t copy;
    if (!tn_i_block_new(z, tn_type_bytes(z->f->val[v].type), 0, &copy)) return false;
    const tn_i_place to = {.offset = (int64_t)z->block[copy].slot.offset, .base = TN_BASE_ARENA, .stride = TN_DENSE};
    bool ok = tn_i_step_move(z, eqn, v, &from, &to) && add_transfer(z, eqn, v, &to, piece, TN_STEP_SPILL);
    tn_i_block_release(z, copy);
    return ok;
}

bool tn_i_spill_equation(tn_i_planner *z, uint32_t eqn) {
    const tn_i_eqn *e = &z->f->eqn[eqn];
    tn_i_spilled *s = spilled(z, e->out), *from = spilled(z, tn_i_in(z->f, e)[0]);
    if (from)
        s->piece = from->piece;
    else if (!piece_new(z, tn_type_bytes(z->f->val[e->out].type), &s->piece) || !write_out(z, e, eqn, s->piece))
        return false;
    z->piece[s->piece].refs += s->offloads + (z->uses[e->out] > s->offloads);
    if (from) piece_unref(z, s->piece);
    return true;
}

/* ---- fetching ------------------------------------------------------------------------------ */

static bool fetch(tn_i_planner *z, uint32_t eqn, tn_i_var v, tn_i_spilled *s) {
    uint32_t b;
    if (!tn_i_block_new(z, tn_type_bytes(z->f->val[v].type), s->left, &b)) return false;
    z->block_of[v] = b;
    z->p->place[v] =
        (tn_i_place){.offset = (int64_t)z->block[b].slot.offset, .base = TN_BASE_ARENA, .stride = TN_DENSE};
    s->fetched = true;
    if (!add_transfer(z, eqn, v, &z->p->place[v], s->piece, TN_STEP_FETCH)) return false;
    piece_unref(z, s->piece);
    return true;
}

bool tn_i_spill_fetch(tn_i_planner *z, uint32_t eqn) {
    const tn_i_eqn *e = &z->f->eqn[eqn];
    if (!z->spill_of || tn_i_spills(z, e)) return true;
    for (uint32_t i = 0; i < e->nin; i++) {
        tn_i_var v = tn_i_in(z->f, e)[i];
        tn_i_spilled *s = spilled(z, v);
        if (s && !s->fetched && !fetch(z, eqn, v, s)) return false;
    }
    const tn_i_group *g = tn_i_group_of(z, eqn);
    for (uint32_t k = 0; g && k < g->nactor; k++)
        for (uint32_t i = 0; i < g->actor[k].nin; i++) {
            const tn_i_var v = tn_i_in(z->f, &z->f->eqn[g->actor[k].eqn])[i];
            tn_i_spilled *s = g->actor[k].reads[i] ? spilled(z, v) : NULL;
            if (s && !s->fetched && !fetch(z, eqn, v, s)) return false;
        }
    return true;
}

void tn_i_spill_used(tn_i_planner *z, tn_i_var v) {
    tn_i_spilled *s = spilled(z, v);
    if (s && !s->fetched) s->left--;
}

/* ---- the file as a whole --------------------------------------------------------------------- */

/* Nested programs use the part behind the program's own pieces, one after another. */
bool tn_i_spill_finish(tn_i_planner *z) {
    tn_i_plan *p = z->p;
    uint32_t next = TN_NOVAR;
    for (size_t i = p->ntransfer; i-- > 0;) {
        bool fetches = p->transfer[i].ahead != TN_NOVAR;
        p->transfer[i].ahead = next;
        if (fetches) next = (uint32_t)i;
    }
    p->own_spill = z->cspilled ? tn_i_pool_bytes(&z->file) : 0;
    p->slots_at = p->own_spill;
    if (tn_i_add(p->own_spill, p->slots, &p->own_spill) && tn_i_add(p->own_spill, z->nested_spill, &p->spill) &&
        p->spill <= INT64_MAX)
        return true;
    (void)tn_i_fail(z->ctx, TN_EOVERFLOW, z->f->loc, "the spill file of the program is too large");
    return false;
}
