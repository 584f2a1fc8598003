/* Segments: of a plan that is no single loop program, because of a loop whose length is found when it runs and that
 * fills arrays, or of one with a schedule that is no outermost step, steps in a row that are one.  They are kernels
 * that move elements or scatter them, or scan, with the nests around them; and in programs that loops run step by step
 * any steps, each of which is entered again and again. */
#include "base/machine.h"
#include "plan/loop.h"
#include "plan/planner.h"

typedef struct finder {
    tn_ctx *ctx;
    size_t *bytes;
} finder;

/* From step i on, as many as are one program, the most. */
static bool longest(const tn_i_plan *p, size_t i, bool repeats, tn_i_segment *g) {
    tn_i_part_size size = {.work = 0};
    bool kernels = false, worth = repeats;
    *g = (tn_i_segment){.first = i};
    for (size_t k = i; k < p->nstep; k++) {
        if ((g->n == 0 && k - i == TN_M_SEGMENT_AHEAD) || !tn_i_part_add_step(p, &p->step[k], &size)) break;
        kernels |= p->step[k].kind == TN_STEP_KERNEL && tn_i_part_kernel(p, &p->step[k]) != TN_KERNEL_CALL;
        if (!tn_i_part_is_one(&size)) continue;
        g->n = k - i + 1;
        g->size = size;
        worth |= kernels;
    }
    return g->n > 1 && worth;
}

static bool add(finder *z, tn_i_plan *p, const tn_i_segment *g) {
    if (!tn_i_grow(z->ctx, (void **)(void *)&p->segment, &p->csegment, p->nsegment + 1, sizeof *p->segment))
        return false;
    tn_i_segment *own = &p->segment[p->nsegment++];
    *own = *g;
    p->step[g->first].segment = (uint32_t)p->nsegment;
    if (!tn_i_add(g->size.keeps, g->size.registers, &own->bytes)) {
        (void)tn_i_fail(z->ctx, TN_EOVERFLOW, NULL, "tn_compile: the workspace overflows the address space");
        return false;
    }
    if (own->bytes > *z->bytes) *z->bytes = own->bytes;
    return true;
}

static bool visit(finder *z, const tn_i_plan *p, bool repeats);

/* The programs that step s runs. */
static bool visit_inside(finder *z, const tn_i_plan *p, const tn_i_step *s, bool repeats) {
    if (s->kind == TN_STEP_BODY) return visit(z, s->u.body, repeats);
    if (s->kind == TN_STEP_LOOP) {
        const tn_i_loop *l = &p->loop[s->loop];
        return l->whole || (visit(z, l->body, true) && visit(z, l->cond, true));
    }
    bool ok = true;
    for (uint32_t i = 0; s->kind == TN_STEP_BRANCH && i < p->fork[s->loop].n && ok; i++)
        ok = visit(z, p->branch[p->fork[s->loop].branch + i], repeats);
    return ok;
}

static bool visit(finder *z, const tn_i_plan *known, bool repeats) {
    tn_i_plan *p = (tn_i_plan *)(uintptr_t)known;
    if (!p || p->segmented) return true;
    p->segmented = true;
    for (size_t i = 0; i < p->nstep; i++) {
        tn_i_segment g;
        if (longest(p, i, repeats, &g)) {
            if (!add(z, p, &g)) return false;
            i += g.n - 1;
        } else if (!visit_inside(z, p, &p->step[i], repeats))
            return false;
    }
    return true;
}

bool tn_i_plan_segments(tn_ctx *c, tn_i_plan *root, size_t *bytes) {
    finder z = {c, bytes};
    *bytes = 0;
    return visit(&z, root, false);
}
