/* Generated programs that run more or less than once: loops of a few steps, and one branch of several. */
#include "control/loops/loop.h"
#include "control/loops/loop_sample.h"
#include "laws/generator_i.h"
#include "prims/ids.h"

#include <string.h>

enum { MOST = 8, ENTRY = 24 /* elements */ };

/* The operands of a loop, and the types that its step sees. */
typedef struct draw {
    uint32_t nconst, ncarry, nx, ny, nin;
    bool index;
    tn_i_var v[MOST];
    tn_type type[MOST]; /* of the step's inputs, behind its number */
} draw;

static const tn_type *type_of(const laws_gen *g, tn_i_var v) { return tn_i_vtype(&g->b, v); }

static void add(laws_gen *g, draw *d, tn_i_var v) {
    d->type[d->nin] = *type_of(g, v);
    d->v[d->nin++] = v;
}

/* Entries are small, so that an array of them is. */
static tn_type entry_type(laws_gen *g) {
    const tn_type *t = type_of(g, laws_gen_real(g));
    return tn_i_count(t) <= ENTRY && t->rank < 4 ? *t : tn_type_of((tn_dtype)t->dtype, 0, NULL);
}

static draw draw_operands(laws_gen *g, bool entries, int64_t length) {
    draw d = {.nconst = (uint32_t)tn_i_pick(g->r, 0, 2), .ncarry = (uint32_t)tn_i_pick(g->r, 1, 2)};
    d.index = tn_i_pick(g->r, 0, 2) == 0;
    if (entries) {
        d.nx = (uint32_t)tn_i_pick(g->r, 0, 2);
        d.ny = (uint32_t)tn_i_pick(g->r, 0, 2);
    }
    for (uint32_t k = 0; k < d.nconst + d.ncarry; k++) add(g, &d, laws_gen_real(g));
    for (uint32_t k = 0; k < d.nx; k++) {
        tn_type stack, x = entry_type(g);
        const tn_i_var from = laws_gen_real(g);
        x.dtype = type_of(g, from)->dtype;
        (void)tn_i_stack_type(&x, length, &stack);
        add(g, &d, laws_gen_fit(g, from, &stack));
        d.type[d.nin - 1] = x;
    }
    return d;
}

static void keep(laws_gen *g, tn_i_var first, uint32_t n) {
    for (uint32_t j = 0; j < n && !g->b.failed; j++) laws_gen_keep(g, first + j);
}

/* (i, consts.., carry.., x..) -> carry.., y.. */
static const tn_fn *step_program(laws_gen *g, const draw *d) {
    tn_type in[1 + MOST], out[4];
    uint32_t n = 0;
    if (d->index) in[n++] = tn_type_of(TN_I64, 0, NULL);
    memcpy(in + n, d->type, d->nin * sizeof *in);
    memcpy(out, d->type + d->nconst, d->ncarry * sizeof *out);
    for (uint32_t k = 0; k < d->ny; k++) out[d->ncarry + k] = entry_type(g);
    return laws_generate_to(g, n + d->nin, in, (int)tn_i_pick(g->r, 1, 3), d->ncarry + d->ny, out);
}

static tn_i_param schedule(laws_gen *g, bool unknown_length) {
    const char *text = tn_i_sample_schedule(g->r, unknown_length);
    if (!text) return (tn_i_param){.kind = TN_K_NONE};
    return (tn_i_param){.kind = TN_K_STR, .u.str = tn_i_string(g->ctx, text, strlen(text))};
}

/* ---- stacks ---------------------------------------------------------------------------- */

/* A loop over the stacks of d, which are its last operands.  added: the first of them with another, if there is one of
 * its type, or with itself. */
static tn_i_var read_entries(laws_gen *g, tn_i_builder *b, const draw *d, const tn_fn *f, bool added, tn_i_var count,
                             const tn_i_var *given) {
    tn_i_var in[1 + MOST];
    const tn_i_param p[7] = {[TN_SCAN_PROGRAM] = {.kind = TN_K_FN, .u.fn = f},
                             [TN_SCAN_CONSTS] = {.kind = TN_K_INT, .u.i = d->nconst},
                             [TN_SCAN_CARRY] = {.kind = TN_K_INT, .u.i = d->ncarry},
                             [TN_SCAN_REVERSE] = {.kind = TN_K_BOOL, .u.i = tn_i_pick(g->r, 0, 1)},
                             [TN_SCAN_INDEX] = {.kind = TN_K_BOOL, .u.i = d->index},
                             [TN_SCAN_SCHEDULE] = schedule(g, true)};
    tn_i_var *x = in + 1 + d->nin - d->nx;
    in[0] = count;
    memcpy(in + 1, given, d->nin * sizeof *in);
    if (added) {
        const bool alike = tn_type_equal(tn_i_vtype(b, x[0]), tn_i_vtype(b, x[d->nx - 1]));
        x[0] = tn_i_add_values(b, x[0], x[alike ? d->nx - 1 : 0]);
    }
    return b->failed ? TN_NOVAR : tn_i_emit(b, tn_i_prim(b, TN_P_scan), p, 1 + d->nin, in);
}

/* The same in a program of its own, to which the stacks are inputs, and how many entries they have. */
static const tn_fn *reader(laws_gen *g, const draw *d, const tn_fn *f) {
    const tn_type whole = tn_type_of(TN_I64, 0, NULL);
    tn_i_builder b;
    tn_i_var in[1 + MOST], out;
    tn_i_builder_init(&b, g->ctx);
    in[0] = tn_i_input(&b, &whole, false);
    for (uint32_t i = 0; i < d->nin; i++) in[1 + i] = tn_i_input(&b, type_of(g, d->v[i]), false);
    out = read_entries(g, &b, d, f, tn_i_pick(g->r, 0, 1), in[0], in + 1);
    return tn_i_finish(&b, 1, &out);
}

static tn_i_var call(laws_gen *g, const draw *d, const tn_fn *f, tn_i_var count) {
    const tn_i_param p[2] = {{.kind = TN_K_STR, .u.str = tn_i_string(g->ctx, "reader", 6)},
                             {.kind = TN_K_FN, .u.fn = f}};
    tn_i_var in[1 + MOST] = {count};
    memcpy(in + 1, d->v, d->nin * sizeof *in);
    return tn_i_emit(&g->b, tn_i_prim(&g->b, TN_P_call), p, 1 + d->nin, in);
}

/* n stacks from v on, with as many entries as `count` says. */
static void read_stacks(laws_gen *g, tn_i_var count, tn_i_var v, uint32_t n) {
    draw d = {.nconst = (uint32_t)tn_i_pick(g->r, 0, 1), .ncarry = 1, .nx = n, .index = tn_i_pick(g->r, 0, 3) == 0};
    if (!n || g->b.failed) return;
    for (uint32_t k = 0; k < d.nconst + d.ncarry; k++) add(g, &d, laws_gen_real(g));
    for (uint32_t k = 0; k < n; k++) {
        add(g, &d, v + k);
        (void)tn_i_entry_type(type_of(g, v + k), &d.type[d.nin - 1]);
    }
    const bool apart = tn_i_pick(g->r, 0, 1);
    const tn_fn *f = step_program(g, &d), *own = f && apart ? reader(g, &d, f) : NULL;
    tn_i_var out = TN_NOVAR;
    if (own)
        out = call(g, &d, own, count);
    else if (f && !apart)
        out = read_entries(g, &g->b, &d, f, tn_i_pick(g->r, 0, 1), count, d.v);
    else
        g->b.failed = true;
    keep(g, out, 1);
    tn_i_fn_unref(own);
    tn_i_fn_unref(f);
}

/* ---- scan ------------------------------------------------------------------------------ */

static void scan(laws_gen *g, const tn_prim *prim) {
    const bool counted = tn_i_pick(g->r, 0, 3) == 0;
    const int64_t length = tn_i_pick(g->r, 0, 3);
    draw d = draw_operands(g, !counted, length);
    if (counted) d.ny = (uint32_t)tn_i_pick(g->r, 0, 2);
    const tn_fn *f = g->b.failed ? NULL : step_program(g, &d);
    tn_i_var in[1 + MOST];
    if (!f) {
        g->b.failed = true;
        return;
    }
    tn_i_param p[7] = {[TN_SCAN_PROGRAM] = {.kind = TN_K_FN, .u.fn = f},
                       [TN_SCAN_LENGTH] = {.kind = TN_K_INT, .u.i = length},
                       [TN_SCAN_CONSTS] = {.kind = TN_K_INT, .u.i = d.nconst},
                       [TN_SCAN_CARRY] = {.kind = TN_K_INT, .u.i = d.ncarry},
                       [TN_SCAN_REVERSE] = {.kind = TN_K_BOOL, .u.i = tn_i_pick(g->r, 0, 1)},
                       [TN_SCAN_INDEX] = {.kind = TN_K_BOOL, .u.i = d.index},
                       [TN_SCAN_SCHEDULE] = schedule(g, counted)};
    if (counted) {
        p[TN_SCAN_LENGTH].kind = TN_K_NONE;
        in[0] = laws_gen_whole(g, 0, 3);
    }
    memcpy(in + counted, d.v, d.nin * sizeof *in);
    const tn_i_var out = tn_i_emit(&g->b, prim, p, d.nin + counted, in);
    keep(g, out, d.ncarry + (counted ? 0 : d.ny));
    if (counted) read_stacks(g, in[0], out + d.ncarry, d.ny);
    tn_i_fn_unref(f);
}

/* ---- while --------------------------------------------------------------------------- */

/* Whether the elements of a carry, which steps leave between -1 and 1, sum up to less than most of that. */
static tn_i_var small(tn_i_builder *b, tn_i_var carry) {
    static const int64_t axes[TN_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
    const tn_type *t = tn_i_vtype(b, carry);
    const double most = 0.5 + 0.6 * (double)tn_i_count(t);
    const tn_i_var sum = tn_i_reduce_sum(b, carry, (uint32_t)t->rank, axes);
    return tn_i_op2(b, TN_P_lt, sum, tn_i_number_like(b, sum, most));
}

/* (n, carry.., k) -> k < n; sometimes as long as a carry is small, too, so that lanes stop on their own. */
static const tn_fn *condition(laws_gen *g, const draw *d) {
    const tn_type whole = tn_type_of(TN_I64, 0, NULL);
    const bool both = tn_i_pick(g->r, 0, 2) == 0;
    tn_i_builder b;
    tn_i_builder_init(&b, g->ctx);
    const tn_i_var n = tn_i_input(&b, &whole, false);
    for (uint32_t k = 0; k < d->ncarry; k++) (void)tn_i_input(&b, &d->type[d->nconst + k], false);
    tn_i_var out = tn_i_op2(&b, TN_P_lt, tn_i_input(&b, &whole, false), n);
    if (both) out = tn_i_op2(&b, TN_P_and, out, small(&b, 1));
    return tn_i_finish(&b, 1, &out);
}

/* f with a number that it counts up as its last carry. */
static const tn_fn *counting(laws_gen *g, const draw *d, const tn_fn *f) {
    const tn_type whole = tn_type_of(TN_I64, 0, NULL);
    tn_i_builder b;
    tn_i_var in[1 + MOST], out[5];
    tn_i_builder_init(&b, g->ctx);
    for (uint32_t i = 0; i < f->nin; i++) in[i] = tn_i_input(&b, f->val[i].type, false);
    const tn_i_var k = tn_i_input(&b, &whole, false);
    tn_i_inline(&b, f, in, out);
    memmove(out + d->ncarry + 1, out + d->ncarry, d->ny * sizeof *out);
    out[d->ncarry] = tn_i_op2(&b, TN_P_add, k, tn_i_literal_i64(&b, TN_I64, 1));
    return tn_i_finish(&b, d->ncarry + 1 + d->ny, out);
}

/* Where the loop begins or ends counting: for all batch elements alike where it has an effect, which vmap refuses else.
 */
static tn_i_var bound(laws_gen *g, const tn_fn *body, int64_t hi) {
    return body->effect ? tn_i_literal_i64(&g->b, TN_I64, tn_i_pick(g->r, 0, hi)) : laws_gen_whole(g, 0, hi);
}

static void while_loop(laws_gen *g, const tn_prim *prim) {
    draw d = draw_operands(g, false, 0);
    d.ny = (uint32_t)tn_i_pick(g->r, 0, 2);
    const tn_fn *f = g->b.failed ? NULL : step_program(g, &d), *body = f ? counting(g, &d, f) : NULL,
                *cond = body ? condition(g, &d) : NULL;
    tn_i_var in[2 + MOST];
    if (cond) {
        const bool count = d.ny || tn_i_pick(g->r, 0, 1);
        const tn_i_param p[7] = {[TN_WHILE_COND] = {.kind = TN_K_FN, .u.fn = cond},
                                 [TN_WHILE_BODY] = {.kind = TN_K_FN, .u.fn = body},
                                 [TN_WHILE_COND_CONSTS] = {.kind = TN_K_INT, .u.i = 1},
                                 [TN_WHILE_BODY_CONSTS] = {.kind = TN_K_INT, .u.i = d.nconst},
                                 [TN_WHILE_INDEX] = {.kind = TN_K_BOOL, .u.i = d.index},
                                 [TN_WHILE_COUNT] = {.kind = TN_K_BOOL, .u.i = count},
                                 [TN_WHILE_SCHEDULE] = schedule(g, true)};
        in[0] = bound(g, body, 3);
        memcpy(in + 1, d.v, d.nin * sizeof *in);
        in[1 + d.nin] = bound(g, body, 1);
        const tn_i_var out = tn_i_emit(&g->b, prim, p, 2 + d.nin, in);
        keep(g, out, d.ncarry + 1 + count);
        read_stacks(g, out + d.ncarry + 1, out + d.ncarry + 2, d.ny);
    } else
        g->b.failed = true;
    tn_i_fn_unref(cond);
    tn_i_fn_unref(body);
    tn_i_fn_unref(f);
}

/* ---- cond ------------------------------------------------------------------------------ */

static void cond(laws_gen *g, const tn_prim *prim) {
    const tn_fn *branch[3] = {NULL, NULL, NULL};
    const uint32_t n = (uint32_t)tn_i_pick(g->r, 1, 3), nout = (uint32_t)tn_i_pick(g->r, 1, 2);
    const draw d = draw_operands(g, false, 0);
    tn_type out[2];
    tn_i_var in[1 + MOST];
    for (uint32_t j = 0; j < nout; j++) out[j] = entry_type(g);
    for (uint32_t k = 0; k < n && !g->b.failed; k++)
        if (!(branch[k] = laws_generate_to(g, d.nin, d.type, (int)tn_i_pick(g->r, 1, 3), nout, out)))
            g->b.failed = true;
    if (!g->b.failed) {
        const tn_i_param p = {.kind = TN_K_FNS, .n = n, .u.fns = branch};
        in[0] = tn_i_convert(&g->b, laws_gen_whole(g, -1, 3), n == 2 && tn_i_pick(g->r, 0, 1) ? TN_BOOL : TN_I32);
        memcpy(in + 1, d.v, d.nin * sizeof *in);
        keep(g, tn_i_emit(&g->b, prim, &p, 1 + d.nin, in), nout);
    }
    for (uint32_t k = 0; k < n; k++) tn_i_fn_unref(branch[k]);
}

bool laws_generate_loop(laws_gen *g, const tn_prim *prim) {
    const bool branches = strcmp(prim->name, "cond") == 0;
    if (prim->id != TN_P_scan && prim->id != TN_P_while && !branches) return false;
    if (g->depth > 2) return true; /* deep enough */
    if (branches)
        cond(g, prim);
    else if (prim->id == TN_P_scan)
        scan(g, prim);
    else
        while_loop(g, prim);
    return true;
}
