#include "exec/skeleton.h"

#include "comm/collective.h"
#include "prims/ranks/collective_run.h"
#include "plan/loop.h"
#include "plan/replay.h"

#include <stdio.h>
#include <string.h>

/* ---- lines ---------------------------------------------------------------------------- */

typedef struct writer {
    tn_i_skeleton *k;
    uint32_t collectives;
    int depth;
    bool failed;
} writer;

static uint64_t fnv(uint64_t h, const void *p, size_t n) {
    for (size_t i = 0; i < n; i++) h = (h ^ ((const unsigned char *)p)[i]) * UINT64_C(1099511628211);
    return h;
}

static uint64_t before(const tn_i_skeleton *k) {
    return k->n ? k->line[k->n - 1].hash : UINT64_C(14695981039346656037);
}

/* A line, and what else tells it from others; where it stands in the source is for people. */
static void put(writer *w, const char *what, const void *more, size_t bytes, const tn_i_loc *loc) {
    tn_i_skeleton *k = w->k;
    if (w->failed || !tn_i_grow(k->ctx, (void **)(void *)&k->line, &k->room, k->n + 1, sizeof *k->line)) {
        w->failed = true;
        return;
    }
    uint64_t h = fnv(before(k), &w->depth, sizeof w->depth);
    h = fnv(h, what, strlen(what));
    h = fnv(h, more, bytes);
    k->line[k->n++] = (tn_i_line_of){.text = k->text.n, .hash = h, .number = w->collectives};
    tn_i_text_put(&k->text, "%*s%s", 2 * w->depth, "", what);
    if (loc && loc->file[0]) tn_i_text_put(&k->text, " (%s:%u)", loc->file, (unsigned)loc->line);
    tn_i_text_add(&k->text, "\n", 1);
    w->failed |= k->text.failed;
}

static void put_plan(writer *w, const tn_i_plan *p);

static void put_within(writer *w, const char *what, const tn_i_plan *p, const tn_i_loc *loc) {
    if (!p || !p->axes) return;
    put(w, what, NULL, 0, loc);
    w->depth++;
    put_plan(w, p);
    w->depth--;
}

/* ---- steps ----------------------------------------------------------------------------- */

/* The grid as a table, for texts. */
static tn_comm_ops grid_of(const tn_ctx *c) {
    return (tn_comm_ops){
        .size = sizeof(tn_comm_ops), .naxes = c->grid.naxes, .name = c->grid.name, .extent = c->grid.extent};
}

static void put_collective(writer *w, const tn_i_plan *p, const tn_i_step *s) {
    const tn_i_eqn *e = &p->f->eqn[s->eqn];
    tn_ctx *c = p->f->ctx;
    const tn_comm_ops grid = grid_of(c);
    char text[TN_I_COLLECTIVE_TEXT + 32];
    tn_collective x;
    if (!tn_i_is_collective(e)) return; /* a wait: where one is is each rank's affair */
    int32_t *pairs = tn_i_alloc(c, p->said + 1);
    if (!pairs) {
        w->failed = true;
        return;
    }
    tn_i_collective_of(p, s, &x, pairs);
    w->collectives++;
    (void)tn_i_collective_text(&grid, &x, text);
    (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s", x.overlap ? ", waited for later" : "");
    put(w, text, pairs, 2 * x.npairs * sizeof *pairs, e->loc);
    tn_i_free(c, pairs, p->said + 1);
}

static void put_loop(writer *w, const tn_i_plan *p, const tn_i_step *s) {
    const tn_i_loop *l = &p->loop[s->loop];
    const tn_i_loc *loc = p->f->eqn[s->eqn].loc;
    char text[64];
    (void)snprintf(text, sizeof text, "%lld steps:", (long long)l->shape.length);
    put_within(w, "to see whether to go on:", l->cond, loc);
    if (l->cond && !l->body->axes) put(w, "steps until then", NULL, 0, loc);
    put_within(w,
               l->cond                         ? "steps while it is so:"
               : l->shape.length == TN_I_STEPS ? "steps, as many as were found:"
                                               : text,
               l->body, loc);
}

/* Which steps run, and when, is what its schedules say. */
static void put_group(writer *w, const tn_i_plan *p, const tn_i_step *s) {
    static const char *const kind[TN_STEPS_OF] = {[TN_PLAIN] = "a step:", [TN_RECORDED] = "a recorded step:"};
    const tn_i_group *g = &p->group[s->loop];
    const tn_i_group *led = g->leads == TN_NOVAR ? NULL : &p->group[g->leads];
    const tn_i_loop_shape *self = &g->actor[g->nactor - 1].shape;
    const uint8_t how[] = {g->runs, g->taken, led != NULL, (uint8_t)self->reverse};
    char text[256];
    (void)snprintf(text, sizeof text, "%lld steps with schedule %s, snapshots for %s:", (long long)self->length,
                   g->schedule ? tn_i_schedule_text(g->schedule) : "none",
                   led && led->schedule ? tn_i_schedule_text(led->schedule) : "none");
    put(w, text, how, sizeof how, p->f->eqn[s->eqn].loc);
    w->depth++;
    for (uint32_t k = 0; k < g->nactor; k++) {
        const tn_i_actor *a = &g->actor[k];
        put(w, a->against ? "brought back:" : a->self ? "itself:" : "beside:", NULL, 0, p->f->eqn[a->eqn].loc);
        put_within(w, "to see whether to go on:", a->cond, NULL);
        for (int i = 0; i < TN_STEPS_OF; i++) put_within(w, kind[i], a->plan[i], NULL);
    }
    w->depth--;
}

static void put_branches(writer *w, const tn_i_plan *p, const tn_i_step *s) {
    const tn_i_fork *k = &p->fork[s->loop];
    char text[64];
    (void)snprintf(text, sizeof text, "one of %u:", (unsigned)k->n);
    put(w, text, NULL, 0, p->f->eqn[s->eqn].loc);
    w->depth++;
    for (uint32_t i = 0; i < k->n; i++) {
        (void)snprintf(text, sizeof text, "%u:", (unsigned)i);
        put_within(w, text, p->branch[k->branch + i], NULL);
    }
    w->depth--;
}

static void put_plan(writer *w, const tn_i_plan *p) {
    for (size_t i = 0; i < p->nstep && !w->failed; i++) {
        const tn_i_step *s = &p->step[i];
        if (!s->axes) continue;
        switch ((tn_i_step_kind)s->kind) {
        case TN_STEP_KERNEL: put_collective(w, p, s); break;
        case TN_STEP_LOOP: put_loop(w, p, s); break;
        case TN_STEP_GROUP: put_group(w, p, s); break;
        case TN_STEP_BRANCH: put_branches(w, p, s); break;
        case TN_STEP_BODY: put_plan(w, s->u.body); break;
        default: break;
        }
    }
}

bool tn_i_skeleton_of(const tn_i_plan *p, uint64_t begin, tn_i_skeleton *k) {
    char text[128];
    *k = (tn_i_skeleton){.ctx = p->f->ctx, .text = {.ctx = p->f->ctx}};
    writer w = {.k = k};
    (void)snprintf(text, sizeof text, "as tansy %s", tn_version());
    put(&w, text, &begin, sizeof begin, NULL);
    put_plan(&w, p);
    return !w.failed;
}

void tn_i_skeleton_drop(tn_i_skeleton *k) {
    if (!k->ctx) return;
    tn_i_text_free(&k->text);
    tn_i_free(k->ctx, k->line, k->room * sizeof *k->line);
    *k = (tn_i_skeleton){0};
}

/* ---- agreement ------------------------------------------------------------------------------ */

/* Of the first n lines; of more than there are another number each. */
static uint64_t hash_of(const tn_i_skeleton *k, size_t n) {
    const uint64_t h = k->line[(n < k->n ? n : k->n) - 1].hash;
    return n <= k->n ? h : h ^ (UINT64_C(0x9E3779B97F4A7C15) * (n - k->n));
}

static tn_status join(tn_i_talk *t, int op, int64_t *v, int64_t n) {
    int64_t out[4];
    const tn_collective x = {
        .size = sizeof x, .kind = TN_COMM_ALLREDUCE, .op = op, .dtype = TN_I64, .count = n, .axes = t->all};
    const tn_status status = tn_i_say(t, &x, v, out);
    if (status == TN_OK) memcpy(v, out, (size_t)n * sizeof *v);
    return status;
}

/* Whether all have the same first n lines. */
static tn_status same(tn_i_talk *t, const tn_i_skeleton *k, size_t n, bool *is) {
    const int64_t h = (int64_t)hash_of(k, n);
    int64_t v[2] = {h, ~h};
    const tn_status status = join(t, TN_COMM_MAX, v, 2);
    *is = v[0] == ~v[1];
    return status;
}

/* The first line, counted from 1, that is not the same; at least one is not. */
static tn_status first_difference(tn_i_talk *t, const tn_i_skeleton *k, size_t *line) {
    int64_t longest = (int64_t)k->n;
    tn_status status = join(t, TN_COMM_MAX, &longest, 1);
    size_t low = 0, high = (size_t)longest; /* the first low lines are the same, the first high ones are not */
    while (status == TN_OK && high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        bool is;
        status = same(t, k, middle, &is);
        if (is)
            low = middle;
        else
            high = middle;
    }
    *line = high;
    return status;
}

/* A line of another rank: its text, hash and number. */
typedef struct told {
    uint64_t hash;
    uint32_t number;
    char text[212];
} told;

static told line_of(const tn_i_skeleton *k, size_t line) {
    told x;
    memset(&x, 0, sizeof x);
    x.hash = hash_of(k, line);
    if (line > k->n) {
        x.number = k->line[k->n - 1].number + 1;
        (void)snprintf(x.text, sizeof x.text, "nothing more");
        return x;
    }
    const char *at = k->text.at + k->line[line - 1].text;
    at += strspn(at, " ");
    x.number = k->line[line - 1].number;
    (void)snprintf(x.text, sizeof x.text, "%.*s", (int)strcspn(at, "\n"), at);
    return x;
}

static tn_status hear(tn_i_talk *t, int64_t rank, told *x) {
    const told own = *x;
    const tn_collective c = {.size = sizeof c,
                             .kind = TN_COMM_BCAST,
                             .dtype = TN_I32,
                             .count = sizeof own / 4,
                             .axes = t->all,
                             .root = (int)rank};
    const tn_status status = tn_i_say(t, &c, &own, x);
    x->text[sizeof x->text - 1] = 0;
    return status;
}

static tn_status explain(tn_ctx *c, tn_i_talk *t, const tn_i_skeleton *k) {
    size_t line;
    tn_status status = first_difference(t, k, &line);
    if (status != TN_OK) return status;
    told first = line_of(k, line), other = first;
    status = hear(t, 0, &first);
    int64_t rank = other.hash == first.hash ? INT64_MAX : t->rank;
    if (status == TN_OK) status = join(t, TN_COMM_MIN, &rank, 1);
    if (status == TN_OK) status = hear(t, rank, &other);
    if (status != TN_OK) return status;
    return tn_i_fail(c, TN_EINVAL, NULL, "tn_compile: rank %lld differs at communication %u: %s there, %s on rank 0",
                     (long long)rank, (unsigned)(first.number < other.number ? first.number : other.number),
                     line == 1 ? "another version or other options of tn_compile" : other.text,
                     line == 1 ? "not so" : first.text);
}

bool tn_i_skeletons_agree(tn_ctx *c, const tn_comm_ops *ops, const tn_i_skeleton *k) {
    char message[TN_I_TALK_TEXT] = "";
    tn_i_talk t;
    tn_i_talk_begin(&t, ops, true);
    t.message = message;
    t.size = sizeof message;
    if (t.ranks == 1) return k != NULL;
    tn_status status = TN_OK;
    if (!k) {
        status = c && c->status != TN_OK ? c->status : TN_EINVAL;
        (void)snprintf(message, sizeof message, "%.500s", c ? c->message : "tn_compile: the program is NULL");
    }
    status = tn_i_talk_end(&t, status);
    bool is = false;
    if (status != TN_OK) {
        if (c) (void)tn_i_fail(c, status, NULL, "%s", message);
        return false;
    }
    status = same(&t, k, k->n, &is);
    if (status == TN_OK && is) return true;
    if (status == TN_OK) status = explain(c, &t, k);
    if (t.broken) (void)tn_i_fail(c, status, NULL, "%s", message);
    return false;
}
