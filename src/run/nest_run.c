/* Running nests: the loop programs that were made of them (lower/plan.c). */
#include "loop/loop.h"
#include "plan/nest.h"
#include "run/run.h"

/* Entry 0 of the table is the scratch memory meanwhile (lower/lower.h). */
tn_status tn_i_run_made(const tn_i_made *m, const tn_i_run *r, uintptr_t *base, uintptr_t scratch) {
    tn_i_made_code *code = tn_i_made_for(m, base) ? m->code : m->without;
    tn_i_l_run run = *m->run;
    run.call = r;
    run.frame = base;
    base[TN_BASE_ABSOLUTE] = scratch;
    const tn_status status = code(&run, (char *const *)(void *)base);
    base[TN_BASE_ABSOLUTE] = 0;
    return status;
}

tn_status tn_i_run_nest(const tn_i_step *s, uintptr_t *base) {
    return tn_i_run_made(&s->u.nest->made, NULL, base, base[TN_BASE_ARENA] + (uintptr_t)s->scratch);
}
