/* Calls of programs with loops, put in place: a stack that a call yields, or takes, is then made and read in one
 * program. Whether a loop has a schedule makes no difference, so that sums are taken in one order under every schedule.
 *
 * A program that calls another twice, which does the same, and so on, would have twice as many equations for each:
 * where it would have too many, its calls stay, and stacks that pass through them are kept. */
#include "control/loops/replay.h"
#include "ir/seen.h"
#include "prims/ids.h"

/* Equations of a program whose calls were put in place, beside one for each that it has. */
enum { MOST = 4096 };

/* ---- which --------------------------------------------------------------------------------- */

static bool is_loop(const tn_i_eqn *e) { return e->prim->replayed != NULL; }

bool tn_i_holds_loops(const tn_fn *f, bool *found) {
    *found = false;
    return f->depth < 2 || tn_i_any_equation(f, is_loop, found);
}

bool tn_i_runs_loops(const tn_i_eqn *e, bool *found) {
    *found = false;
    for (uint32_t i = 0; e->params && i < e->params->n && !*found; i++) {
        const tn_fn *const *g;
        const uint32_t n = tn_i_programs(&e->params->v[i], &g);
        for (uint32_t j = 0; j < n && !*found; j++)
            if (!tn_i_any_equation(g[j], is_loop, found)) return false;
    }
    return true;
}

static bool goes_in_place(const tn_i_eqn *e, bool regions, bool *goes) {
    *goes = e->prim->flags & TN_F_INLINE && (regions || e->prim->id == TN_P_call);
    return !*goes || tn_i_runs_loops(e, goes);
}

static const tn_fn *program_of(const tn_i_eqn *e) { return tn_i_p(e)[e->prim->body - 1].u.fn; }

/* ---- how many equations --------------------------------------------------------------------- */

/* Of each program that was asked for; a number more than MOST stands for any. */
typedef struct sizes {
    tn_i_seen seen;
    uint64_t *of;
    size_t capacity;
    bool regions;
} sizes;

static bool size_of(sizes *z, const tn_fn *f, uint64_t *size) {
    uint32_t number;
    bool fresh, goes;
    uint64_t n = 0;
    if (!tn_i_seen_add(&z->seen, f, &number, &fresh)) return false;
    if (fresh) {
        for (uint32_t i = 0; i < f->neqn && n <= MOST; i++) {
            uint64_t one = 1;
            if (!goes_in_place(&f->eqn[i], z->regions, &goes)) return false;
            if (goes && !size_of(z, program_of(&f->eqn[i]), &one)) return false;
            n += one;
        }
        if (!tn_i_grow(f->ctx, (void **)(void *)&z->of, &z->capacity, (size_t)number + 1, sizeof *z->of)) return false;
        z->of[number] = n;
    }
    *size = z->of[number];
    return true;
}

/* Whether any call of f's is to be put in place, and that makes no more equations than may be. */
static bool may_go(const tn_fn *f, bool regions, bool *may) {
    sizes z = {.regions = regions};
    uint64_t sum = 0;
    bool ok = true, goes;
    *may = false;
    tn_i_seen_init(&z.seen, f->ctx);
    for (uint32_t i = 0; i < f->neqn && ok; i++) {
        uint64_t one = 0;
        ok = goes_in_place(&f->eqn[i], regions, &goes);
        if (!ok || !goes) continue;
        *may = true;
        ok = size_of(&z, program_of(&f->eqn[i]), &one);
        sum += one;
    }
    *may = *may && sum <= MOST + (uint64_t)f->neqn;
    tn_i_free(f->ctx, z.of, z.capacity * sizeof *z.of);
    tn_i_seen_free(&z.seen);
    return ok;
}

/* ---- in place -------------------------------------------------------------------------------- */

bool tn_i_copying_begin(tn_i_copying *k, const tn_fn *f) {
    *k = (tn_i_copying){.map = tn_i_map_new(f)};
    tn_i_builder_init(&k->b, f->ctx);
    k->b.named_after = f;
    k->b.regions = f->regions;
    k->r = (tn_i_rule){.b = &k->b, .f = f};
    if (!k->map) return false;
    for (uint32_t i = 0; i < f->nin; i++) k->map[i] = tn_i_input(&k->b, f->val[i].type, i >= f->nin - f->nlin);
    return true;
}

tn_fn *tn_i_copying_end(tn_i_copying *k, const tn_fn *f, bool ok) {
    tn_i_var *out = ok ? tn_i_alloc_array(f->ctx, f->nout, sizeof *out) : NULL;
    tn_fn *g = NULL;
    k->b.region = 0;
    if (out) {
        for (uint32_t j = 0; j < f->nout && !k->b.failed; j++) out[j] = tn_i_mapped(&k->b, f, k->map, f->out[j]);
        g = tn_i_finish(&k->b, f->nout, out);
        tn_i_free(f->ctx, out, f->nout * sizeof *out);
    } else
        tn_i_builder_drop(&k->b);
    if (k->map) tn_i_map_free(f, k->map);
    return g;
}

void tn_i_copying_enter(tn_i_copying *k, const tn_i_eqn *e) {
    k->b.region = e->region;
    k->b.loc = e->loc;
    k->r.e = e;
    k->r.p = tn_i_p(e);
}

static void put_in_place(tn_i_copying *k, const tn_fn *f, const tn_i_eqn *e) {
    tn_ctx *c = f->ctx;
    tn_i_var *in = tn_i_alloc_array(c, e->nin, sizeof *in), *out = tn_i_alloc_array(c, e->nout, sizeof *out);
    if (!in || !out) k->b.failed = true;
    for (uint32_t i = 0; i < e->nin && !k->b.failed; i++) in[i] = tn_i_mapped(&k->b, f, k->map, tn_i_in(f, e)[i]);
    if (in && out) tn_i_inline(&k->b, program_of(e), in, out);
    for (uint32_t j = 0; j < e->nout && !k->b.failed; j++) k->map[e->out + j] = out[j];
    tn_i_free(c, in, e->nin * sizeof *in);
    tn_i_free(c, out, e->nout * sizeof *out);
}

/* The calls of programs with loops that f has.  Takes f over. */
static tn_fn *called_once(tn_fn *f, bool regions) {
    tn_i_copying k;
    bool ok = tn_i_copying_begin(&k, f), goes;
    for (uint32_t i = 0; ok && i < f->neqn && !k.b.failed; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        tn_i_copying_enter(&k, e);
        ok = goes_in_place(e, regions, &goes);
        if (ok && goes)
            put_in_place(&k, f, e);
        else if (ok)
            tn_i_copy_eqn(&k.b, f, e, k.map);
    }
    tn_fn *g = tn_i_copying_end(&k, f, ok);
    tn_i_fn_unref(f);
    return g;
}

tn_fn *tn_i_calls_in_place(const tn_fn *f, bool regions) {
    tn_fn *g = (tn_fn *)(uintptr_t)tn_i_fn_ref(f);
    for (bool may = true; g;) {
        if (!may_go(g, regions, &may)) {
            tn_i_fn_unref(g);
            return NULL;
        }
        if (!may) return g;
        g = called_once(g, regions);
    }
    return NULL;
}

tn_fn *tn_i_loops_in_place(tn_fn *f) {
    bool found = false;
    tn_fn *g = NULL;
    if (f && tn_i_holds_loops(f, &found))
        g = found ? tn_i_calls_in_place(f, false) : (tn_fn *)(uintptr_t)tn_i_fn_ref(f);
    tn_i_fn_unref(f);
    return g;
}
