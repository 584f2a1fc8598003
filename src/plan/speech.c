/* What a plan says to other ranks: over which axes each step speaks, and the most that it takes at once. */
#include "plan/speech.h"
#include "plan/loop.h"
#include "plan/replay.h"
#include "comm/collective.h"
#include "prims/ranks/collective_run.h"
#include "prims/ids.h"

bool tn_i_step_is_collective(const tn_i_plan *p, const tn_i_step *s) {
    return s->kind == TN_STEP_KERNEL && tn_i_is_collective(&p->f->eqn[s->eqn]);
}

bool tn_i_step_is_wait(const tn_i_plan *p, const tn_i_step *s) {
    return s->kind == TN_STEP_KERNEL && tn_i_waits(&p->f->eqn[s->eqn]);
}

static size_t padded(size_t n) { return (n + 63) & ~(size_t)63; }

size_t tn_i_pairs_bytes(const tn_i_eqn *e) { return padded(tn_i_p(e)[TN_I_COLLECTIVE_PAIRS].n * sizeof(int32_t)); }

/* Types are valid, so that three of them and the pairs are no more than an address space. */
static size_t room_of(const tn_i_plan *p, const tn_i_eqn *e) {
    size_t n = tn_i_pairs_bytes(e);
    if (e->nin) n += padded(tn_type_bytes(p->f->val[tn_i_in(p->f, e)[0]].type));
    if (e->nout) n += padded(tn_type_bytes(p->f->val[e->out].type));
    return n;
}

static void add(tn_i_plan *p, tn_i_step *s, const tn_i_plan *inner) {
    if (!inner) return;
    s->axes = (uint8_t)(s->axes | inner->axes);
    p->starts += inner->starts;
    if (p->said < inner->said) p->said = inner->said;
}

static void note_group(tn_i_plan *p, tn_i_step *s) {
    const tn_i_group *g = &p->group[s->loop];
    for (uint32_t k = 0; k < g->nactor; k++) {
        add(p, s, g->actor[k].cond);
        for (int i = 0; i < TN_STEPS_OF; i++) add(p, s, g->actor[k].plan[i]);
    }
}

static void note_step(tn_i_plan *p, tn_i_step *s) {
    s->axes = 0;
    if (tn_i_step_is_collective(p, s)) {
        const size_t room = room_of(p, &p->f->eqn[s->eqn]);
        s->axes = (uint8_t)tn_i_p(&p->f->eqn[s->eqn])[TN_I_COLLECTIVE_AXES].u.i;
        if (p->said < room) p->said = room;
        p->starts += p->f->eqn[s->eqn].prim->id == TN_P_collective_start;
    } else if (tn_i_step_is_wait(p, s))
        s->axes = (uint8_t)tn_i_p(&p->f->eqn[s->eqn])->u.i;
    else if (s->kind == TN_STEP_BODY)
        add(p, s, s->u.body);
    else if (s->kind == TN_STEP_LOOP) {
        add(p, s, p->loop[s->loop].body);
        add(p, s, p->loop[s->loop].cond);
    } else if (s->kind == TN_STEP_GROUP)
        note_group(p, s);
    for (uint32_t k = 0; s->kind == TN_STEP_BRANCH && k < p->fork[s->loop].n; k++)
        add(p, s, p->branch[p->fork[s->loop].branch + k]);
}

void tn_i_note_speech(tn_i_plan *p) {
    p->axes = 0;
    p->said = 0;
    p->starts = 0;
    for (size_t i = 0; i < p->nstep && p->f->comm; i++) {
        note_step(p, &p->step[i]);
        p->axes |= p->step[i].axes;
    }
}
