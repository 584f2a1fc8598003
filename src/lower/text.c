/* The loop programs of an executable's nests, for people: step by step, after a pass. */
#include "cgen/cgen.h"
#include "exec/exec.h"
#include "lower/lower.h"

#include <stdio.h>

typedef struct teller {
    tn_ctx *ctx;
    tn_i_lower_as as;
    tn_i_lower_tell *tell;
    void *user;
} teller;

static void title_of(const tn_i_plan *p, size_t plan, size_t step, const char *what, char title[256]) {
    const tn_i_loc *loc = p->f->eqn[p->step[step].eqn].loc;
    int at = plan ? snprintf(title, 256, "program %zu, step %zu%s", plan, step, what)
                  : snprintf(title, 256, "step %zu%s", step, what);
    if (loc && loc->line && at > 0 && at < 256)
        (void)snprintf(title + at, 256 - (size_t)at, ", line %u", (unsigned)loc->line);
}

static bool tell_c(const teller *t, const char *title, const tn_i_loops *p) {
    const tn_i_isa isa = t->as.vector == 64 ? TN_ISA_AVX512 : t->as.vector == 32 ? TN_ISA_AVX2 : TN_ISA_PLAIN;
    tn_i_cgen g = {.ctx = t->ctx, .native = true, .isa = isa};
    tn_i_text text = {.ctx = t->ctx};
    bool ok = tn_i_cgen_add(&g, "program", p);
    if (ok && g.helpers.at) tn_i_text_put(&text, "%s", g.helpers.at);
    if (ok) tn_i_text_put(&text, "%s", g.functions.at);
    ok = ok && !text.failed;
    if (ok) t->tell(t->user, title, text.at);
    tn_i_text_free(&text);
    tn_i_cgen_free(&g);
    return ok;
}

/* Takes p, as it is lowered. */
static bool tell_program(const teller *t, const char *title, tn_i_loops *p, const tn_i_machine *m) {
    size_t n;
    if (p && !(t->as.last && !*t->as.last)) p = tn_i_passes(p, m, t->as.last);
    if (p && t->as.c) {
        const bool ok = tell_c(t, title, p);
        tn_i_l_free(p);
        return ok;
    }
    char *text = p ? tn_i_l_print(p, &n) : NULL;
    if (text) t->tell(t->user, title, text);
    if (text) tn_text_free(t->ctx, text);
    tn_i_l_free(p);
    return text != NULL;
}

static bool tell_nest(const teller *t, const tn_i_plan *p, size_t plan, size_t step) {
    const tn_i_nest *nest = p->nest[p->step[step].loop];
    const tn_i_machine m = tn_i_lower_machine(nest, t->as.vector);
    char title[256];
    title_of(p, plan, step, "", title);
    return tell_program(t, title, tn_i_lower_nest(t->ctx, nest), &m);
}

static bool tell_loop(const teller *t, const tn_i_plan *p, size_t plan, size_t step) {
    const tn_i_loop *l = &p->loop[p->step[step].loop];
    const tn_i_machine m = tn_i_lower_machine_alone(l->size.first, t->as.vector);
    char title[256];
    title_of(p, plan, step, ", all steps of a loop", title);
    return tell_program(t, title, tn_i_lower_loop(t->ctx, l, false), &m);
}

static bool tell_group(const teller *t, const tn_i_plan *p, size_t plan, size_t step) {
    static const char *const what[TN_CHUNKS] = {
        [TN_CHUNK_FORWARD] = ", steps of a loop",
        [TN_CHUNK_FORWARD_STORE] = ", steps of a loop whose states go into slots",
        [TN_CHUNK_FORWARD_KEEP] = ", steps of a loop whose records go into slots",
        [TN_CHUNK_ADVANCE] = ", steps that run again",
        [TN_CHUNK_STORE] = ", steps that run again, whose states go into slots",
        [TN_CHUNK_KEEP] = ", steps that run again, whose records go into slots",
        [TN_CHUNK_BACK] = ", steps back, from states in slots",
        [TN_CHUNK_USE] = ", steps back, from records in slots"};
    const tn_i_group *g = &p->group[p->step[step].loop];
    bool ok = true;
    for (tn_i_chunk_kind kind = 0; ok && kind < TN_CHUNKS; kind++) {
        char title[256];
        if (!g->chunk[kind].is) continue;
        const tn_i_machine m = tn_i_lower_machine_alone(g->chunk[kind].first, t->as.vector);
        title_of(p, plan, step, what[kind], title);
        ok = tell_program(t, title, tn_i_lower_chunk(t->ctx, p, g, kind), &m);
    }
    return ok;
}

static bool tell_segment(const teller *t, const tn_i_plan *p, size_t plan, size_t step) {
    char title[256], last[32];
    const tn_i_segment *g = &p->segment[p->step[step].segment - 1];
    const tn_i_machine m = tn_i_lower_machine_alone(g->size.first, t->as.vector);
    (void)snprintf(last, sizeof last, " to %zu", g->first + g->n - 1);
    title_of(p, plan, step, last, title);
    return tell_program(t, title, tn_i_lower_segment(t->ctx, p, g), &m);
}

static bool tell_plan(const teller *t, const tn_i_plan *p, size_t plan) {
    for (size_t i = 0; i < p->nstep; i++) {
        if (p->step[i].segment && !tell_segment(t, p, plan, i)) return false;
        if (p->step[i].kind == TN_STEP_NEST && !tell_nest(t, p, plan, i)) return false;
        if (p->step[i].kind == TN_STEP_LOOP && p->loop[p->step[i].loop].whole && !tell_loop(t, p, plan, i))
            return false;
        if (p->step[i].kind == TN_STEP_GROUP && !tell_group(t, p, plan, i)) return false;
    }
    return true;
}

static bool tell_all(const teller *t, const tn_exec *e) {
    if (!e->all.is) return true;
    const tn_i_machine m = tn_i_lower_machine_alone(e->all.size.first, t->as.vector);
    return tell_program(t, "all steps", tn_i_lower_all(t->ctx, e->plan), &m);
}

bool tn_i_lower_text(const tn_exec *e, const tn_i_lower_as *as, tn_i_lower_tell *tell, void *user) {
    const teller t = {e->ctx, *as, tell, user};
    bool ok = tell_all(&t, e) && tell_plan(&t, e->plan, 0);
    for (size_t i = 0; ok && i < e->plan->nnested; i++) ok = tell_plan(&t, e->plan->nested[i], i + 1);
    return ok;
}
