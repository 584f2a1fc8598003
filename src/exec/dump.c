/* Text of a plan: one line per step, with the places it reads and writes. */
#include "plan/replay.h"

#include <inttypes.h>
#include <stdio.h>

typedef struct text {
    char *buf;
    size_t n, used;
} text;

static void put(text *t, const char *fmt, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 2, 3)))
#endif
    ;

static void put(text *t, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    int k = vsnprintf(t->used < t->n ? t->buf + t->used : NULL, t->used < t->n ? t->n - t->used : 0, fmt, ap);
    va_end(ap);
    if (k > 0) t->used += (size_t)k;
}

static void put_place(text *t, const tn_i_plan *p, const tn_i_place *k, const tn_type *type) {
    if (tn_i_count(type) == 0) {
        put(t, " empty");
        return;
    }
    if (k->base == TN_BASE_ABSOLUTE)
        put(t, " data");
    else if (k->base == TN_BASE_ARENA)
        put(t, " @%" PRId64, k->offset);
    else if (k->base - TN_BASE_ARGUMENTS < p->f->nin)
        put(t, " in%u+%" PRId64, (unsigned)(k->base - TN_BASE_ARGUMENTS), k->offset);
    else
        put(t, " out%u+%" PRId64, (unsigned)(k->base - TN_BASE_ARGUMENTS - p->f->nin), k->offset);
    if (k->stride == TN_DENSE) return;
    put(t, "(");
    for (int i = 0; i < type->rank; i++) put(t, "%s%" PRId64, i ? "," : "", p->number[k->stride + (uint32_t)i]);
    put(t, ")");
}

static void put_move(text *t, const tn_i_plan *p, const tn_i_move *m) {
    const tn_type *type = p->f->val[m->v].type;
    put(t, "copy");
    put_place(t, p, &m->to, type);
    put(t, " <-");
    put_place(t, p, &m->from, type);
    put(t, "\n");
}

static void put_transfer(text *t, const tn_i_plan *p, const tn_i_transfer *k, bool spill) {
    put(t, spill ? "spill file+%" PRIu64 " <-" : "fetch", k->file);
    put_place(t, p, &k->memory, p->f->val[k->v].type);
    if (!spill) put(t, " <- file+%" PRIu64, k->file);
    put(t, "\n");
}

/* The loops, those of rows before the bar, and how often they run over a row. */
static void put_nest(text *t, const tn_i_nest *n) {
    put(t, ";");
    for (uint32_t l = 0; l < n->nloop; l++) put(t, "%s%" PRId64, l == n->nouter && l ? " | " : " ", n->size[l]);
    put(t, "%s%u operations in %u phases", n->nloop ? "; " : " ", (unsigned)n->nop, (unsigned)n->nphase);
}

static void put_step(text *t, const tn_i_plan *p, const tn_i_step *s) {
    const tn_fn *f = p->f;
    const tn_i_eqn *e = &f->eqn[s->eqn];
    if (s->kind == TN_STEP_MOVE) {
        put_move(t, p, &p->move[s->loop]);
        return;
    }
    if (s->kind == TN_STEP_RELEASE) {
        put(t, "release @%" PRId64 "\n", p->release[s->loop].offset);
        return;
    }
    if (s->kind == TN_STEP_SPILL || s->kind == TN_STEP_FETCH) {
        put_transfer(t, p, &p->transfer[s->loop], s->kind == TN_STEP_SPILL);
        return;
    }
    put(t, "%s", e->prim->name);
    if (s->kind == TN_STEP_GROUP) {
        const tn_i_group *g = &p->group[s->loop];
        put(t, " with %u loops beside it; %zu bytes at @%" PRId64, (unsigned)g->nactor - 1, g->bytes, s->scratch);
        if (g->schedule) put(t, "; %s, slots at @%" PRId64, tn_i_schedule_text(g->schedule), g->memory);
        put(t, "\n");
        return;
    }
    for (uint32_t j = 0; j < e->nout; j++) put_place(t, p, &p->place[e->out + j], f->val[e->out + j].type);
    put(t, " <-");
    for (uint32_t i = 0; i < e->nin; i++) {
        tn_i_var v = tn_i_in(f, e)[i];
        const tn_i_place *k = s->kind == TN_STEP_BODY     ? &p->arg[s->loop + i]
                              : s->kind == TN_STEP_LOOP   ? &p->arg[p->loop[s->loop].arg + i]
                              : s->kind == TN_STEP_BRANCH ? &p->arg[p->fork[s->loop].arg + i]
                                                          : &p->place[v];
        put_place(t, p, k, f->val[v].type);
    }
    if (s->kind == TN_STEP_LOOP) {
        const tn_i_loop *l = &p->loop[s->loop];
        put(t, "; plan of %zu bytes, %u carries in two buffers, at @%" PRId64, l->body->bytes, (unsigned)l->npair,
            s->scratch);
    }
    if (s->kind == TN_STEP_BRANCH)
        put(t, "; one of %u plans in %zu bytes at @%" PRId64, (unsigned)p->fork[s->loop].n, p->fork[s->loop].bytes,
            s->scratch);
    if (s->kind == TN_STEP_STRIP) put(t, "; %u loops", (unsigned)s->loops);
    if (s->kind == TN_STEP_NEST) put_nest(t, s->u.nest);
    if (s->kind == TN_STEP_BODY) put(t, "; plan of %zu bytes at @%" PRId64, s->u.body->bytes, s->scratch);
    put(t, "\n");
}

size_t tn_i_plan_text(const tn_i_plan *p, char *buf, size_t n) {
    text t = {.buf = buf, .n = n};
    if (n) buf[0] = 0;
    put(&t, "arena %zu\n", p->bytes);
    for (size_t i = 0; i < p->nstep; i++) put_step(&t, p, &p->step[i]);
    for (size_t i = p->last_move; i < p->nmove; i++) put_move(&t, p, &p->move[i]);
    return t.used;
}
