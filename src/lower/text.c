/* The loop programs of an executable's nests, for people: step by step, after a pass. */
#include "exec/exec.h"
#include "lower/lower.h"

#include <stdio.h>

typedef struct teller {
    tn_ctx *ctx;
    int vector;
    const char *last;
    tn_i_lower_tell *tell;
    void *user;
} teller;

static tn_i_loops *program(const teller *t, const tn_i_nest *n) {
    tn_i_loops *p = tn_i_lower_nest(t->ctx, n);
    const tn_i_machine m = tn_i_lower_machine(n, t->vector);
    return t->last && !*t->last ? p : tn_i_passes(p, &m, t->last);
}

/* In its text's place: nothing is left out without a word. */
static bool tell_none(const teller *t, const char *title) {
    t->tell(t->user, title, "# no loop program: an array that a caller's negative strides walk\n");
    return true;
}

static bool tell_nest(const teller *t, const tn_i_plan *p, size_t plan, size_t step) {
    const tn_i_loc *loc = p->f->eqn[p->step[step].eqn].loc;
    char title[256];
    const tn_i_nest *nest = p->nest[p->step[step].loop];
    size_t n;
    int at = snprintf(title, sizeof title, plan ? "program %zu, step %zu" : "step %zu", plan ? plan : step, step);
    if (loc && loc->line && at > 0 && (size_t)at < sizeof title)
        (void)snprintf(title + at, sizeof title - (size_t)at, ", line %u", (unsigned)loc->line);
    if (!tn_i_lower_admits(nest)) return tell_none(t, title);
    tn_i_loops *loops = program(t, nest);
    char *text = loops ? tn_i_l_print(loops, &n) : NULL;
    if (text) t->tell(t->user, title, text);
    if (text) tn_text_free(t->ctx, text);
    tn_i_l_free(loops);
    return text != NULL;
}

static bool tell_plan(const teller *t, const tn_i_plan *p, size_t plan) {
    for (size_t i = 0; i < p->nstep; i++)
        if (p->step[i].kind == TN_STEP_NEST && !tell_nest(t, p, plan, i)) return false;
    return true;
}

bool tn_i_lower_text(const tn_exec *e, int vector, const char *last, tn_i_lower_tell *tell, void *user) {
    const teller t = {e->ctx, vector, last, tell, user};
    bool ok = tell_plan(&t, e->plan, 0);
    for (size_t i = 0; ok && i < e->plan->nnested; i++) ok = tell_plan(&t, e->plan->nested[i], i + 1);
    return ok;
}
