#include "control/loops/reschedule.h"

#include "control/loops/loop.h"
#include "ir/memo.h"

#include <string.h>

static const char kind;

/* Loops are met in the order in which programs are made again, whether to list them or to change them. */
typedef struct walk {
    tn_i_memo memo;
    const char *const *schedule; /* NULL: they are listed, in `found` */
    tn_i_auto_loops_of found;
    size_t met;
    bool all; /* also those that have another schedule than `auto`, or none */
    int depth;
} walk;

static const tn_fn *again(const tn_fn *f, walk *w);

/* ---- loops ---------------------------------------------------------------------------- */

static bool is_auto(const char *text) {
    return text && strncmp(text, "auto", 4) == 0 && (text[4] == 0 || text[4] == ':');
}

/* The bytes behind the colon, which the type rule has accepted. */
static size_t limit_of(const char *text) {
    size_t n = 0;
    for (const char *at = text + 4 + (text[4] == ':'); *at; at++)
        if (!tn_i_mul(n, 10, &n) || !tn_i_add(n, (size_t)(*at - '0'), &n)) return SIZE_MAX;
    return n;
}

static bool meet(walk *w, tn_ctx *c, const tn_i_eqn *e, tn_i_param *p) {
    tn_i_loop_eqn l;
    tn_i_loop_of(e->prim, p, e->nin, &l);
    if (!w->all && !is_auto(l.schedule)) return true;
    if (w->schedule) {
        tn_i_param *to = &p[l.is_while ? (int)TN_WHILE_SCHEDULE : (int)TN_SCAN_SCHEDULE];
        const char *text = w->schedule[w->met++];
        to->kind = TN_K_STR;
        return (to->u.str = tn_i_string(c, text, strlen(text))) != NULL;
    }
    tn_i_auto_loops_of *x = &w->found;
    if (!tn_i_grow(c, (void **)&x->loop, &x->capacity, x->n + 1, sizeof *x->loop)) return false;
    x->loop[x->n++] = (tn_i_auto_loop){.steps = l.is_while || l.length == TN_I_STEPS ? -1 : l.length,
                                       .limit = is_auto(l.schedule) ? limit_of(l.schedule) : 0,
                                       .schedule = l.schedule,
                                       .outermost = w->depth == 1};
    return true;
}

/* ---- programs --------------------------------------------------------------------------- */

static uint32_t listed(const tn_i_eqn *e) {
    uint32_t n = 0;
    for (uint32_t k = 0; e->params && k < e->params->n; k++)
        n += e->params->v[k].kind == TN_K_FNS ? e->params->v[k].n : 0;
    return n;
}

/* The programs that e holds; the lists among them are in what is returned, listed(e) programs. */
static const tn_fn **programs(tn_i_builder *b, const tn_i_eqn *e, tn_i_param *p, walk *w) {
    const tn_fn **list = tn_i_alloc_array(b->ctx, listed(e), sizeof *list);
    uint32_t n = 0;
    if (!list) b->failed = true;
    for (uint32_t k = 0; e->params && k < e->params->n && !b->failed; k++) {
        if (p[k].kind == TN_K_FN) {
            if ((p[k].u.fn = again(p[k].u.fn, w)) == NULL) b->failed = true;
        } else if (p[k].kind == TN_K_FNS) {
            const tn_fn *const *from = p[k].u.fns;
            p[k].u.fns = list + n;
            for (uint32_t i = 0; i < p[k].n && !b->failed; i++)
                if ((list[n++] = again(from[i], w)) == NULL) b->failed = true;
        }
    }
    return list;
}

static void step(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, tn_i_var *map, walk *w) {
    tn_i_param p[TN_MAX_PARAMS];
    for (uint32_t k = 0; e->params && k < e->params->n; k++) p[k] = e->params->v[k];
    if (e->prim->flags & TN_F_LOOP && !meet(w, b->ctx, e, p)) b->failed = true;
    const tn_fn **lists = programs(b, e, p, w);
    tn_i_var *in = tn_i_alloc_array(b->ctx, e->nin, sizeof *in);
    if (!in) b->failed = true;
    for (uint32_t i = 0; i < e->nin && !b->failed; i++) in[i] = tn_i_mapped(b, f, map, tn_i_in(f, e)[i]);
    b->loc = e->loc;
    b->region = e->region;
    b->linear = e->linear;
    const tn_i_var out = b->failed ? TN_NOVAR : tn_i_emit(b, e->prim, p, e->nin, in);
    for (uint32_t j = 0; j < e->nout && out != TN_NOVAR; j++) map[e->out + j] = out + j;
    tn_i_free(b->ctx, (void *)lists, listed(e) * sizeof *lists);
    tn_i_free(b->ctx, in, e->nin * sizeof *in);
}

static tn_fn *rebuild(const tn_fn *f, walk *w) {
    tn_i_builder b;
    tn_i_builder_init(&b, f->ctx);
    b.named_after = f;
    b.raw = true;
    b.regions = f->regions;
    b.mixed = f->mixed;
    tn_i_var *map = tn_i_map_new(f), *out = tn_i_alloc_array(f->ctx, f->nout, sizeof *out);
    if (!map || !out) b.failed = true;
    for (uint32_t i = 0; i < f->nin && !b.failed; i++)
        map[i] = tn_i_input(&b, f->val[i].type, (f->mixed || f->nlin) && f->val[i].linear);
    w->depth++;
    for (uint32_t i = 0; i < f->neqn && !b.failed; i++) step(&b, f, &f->eqn[i], map, w);
    w->depth--;
    for (uint32_t j = 0; j < f->nout && !b.failed; j++) out[j] = tn_i_mapped(&b, f, map, f->out[j]);
    tn_fn *g = tn_i_finish(&b, f->nout, out);
    if (map) tn_i_map_free(f, map);
    tn_i_free(f->ctx, out, f->nout * sizeof *out);
    return g;
}

/* The memo holds what it returns.  A program that holds none holds no loop. */
static const tn_fn *again(const tn_fn *f, walk *w) {
    const tn_i_memo_entry *e = tn_i_memo_find(&w->memo, &kind, f, NULL, 0);
    if (e) return e->result[0];
    tn_fn *g = f->depth < 2 ? (tn_fn *)(uintptr_t)tn_i_fn_ref(f) : rebuild(f, w);
    if (!g) return NULL;
    e = tn_i_memo_add(&w->memo, &kind, f, NULL, 0, g, NULL, NULL, 0);
    return e ? e->result[0] : NULL;
}

static tn_fn *walk_over(const tn_fn *f, walk *w) {
    tn_i_memo_init(&w->memo, f->ctx);
    tn_fn *g = rebuild(f, w);
    tn_i_memo_free(&w->memo);
    return g;
}

static bool list(const tn_fn *f, bool all, tn_i_auto_loops_of *out) {
    walk w = {.all = all};
    *out = (tn_i_auto_loops_of){0};
    if (f->depth < 2) return true;
    tn_fn *g = walk_over(f, &w);
    tn_i_fn_unref(g);
    if (g)
        *out = w.found;
    else
        tn_i_auto_loops_free(f->ctx, &w.found);
    return g != NULL;
}

bool tn_i_auto_loops(const tn_fn *f, tn_i_auto_loops_of *out) { return list(f, false, out); }
bool tn_i_all_loops(const tn_fn *f, tn_i_auto_loops_of *out) { return list(f, true, out); }

void tn_i_auto_loops_free(tn_ctx *c, tn_i_auto_loops_of *l) {
    tn_i_free(c, l->loop, l->capacity * sizeof *l->loop);
    *l = (tn_i_auto_loops_of){0};
}

tn_fn *tn_i_rescheduled(const tn_fn *f, const char *const *schedule) {
    walk w = {.schedule = schedule};
    return walk_over(f, &w);
}

tn_fn *tn_i_all_rescheduled(const tn_fn *f, const char *const *schedule) {
    walk w = {.schedule = schedule, .all = true};
    return walk_over(f, &w);
}
