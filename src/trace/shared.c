#include "trace/shared.h"

#include <string.h>

static void trace_one(tn_i_shared *k, tn_i_shared_program *t, bool optional) {
    tn_i_site *s = k->s;
    const bool none = !t->call.one && !t->call.many;
    if (s->b->failed || (none && optional)) return;
    if (none) {
        (void)tn_i_site_fail(s, TN_EINVAL, -1, "the callback %s is NULL", t->name);
        return;
    }
    const tn_i_loc *loc = s->b->loc;
    const tn_i_body body = {.one = t->call.one,
                            .many = t->call.many,
                            .user = k->user,
                            .nin = k->nown + (t->more ? k->nmore : 0),
                            .nout = t->nout,
                            .in = k->in,
                            .loc = loc};
    t->f = tn_i_trace_body(s->b->ctx, &body, &t->captured, &t->n);
    s->b->loc = loc;
    if (!t->f) tn_i_trace_adopt_error(s->t);
}

/* ---- operands ---------------------------------------------------------------------------------- */

static bool operand_types(tn_i_shared *k) {
    tn_i_site *s = k->s;
    if (s->b->failed) return false;
    k->in = tn_i_alloc_array(s->b->ctx, k->nown + k->nmore, sizeof *k->in);
    if (!k->in) s->b->failed = true;
    for (size_t i = 0; i < k->nown + k->nmore && k->in; i++)
        k->in[i] = *tn_i_site_type(s, s->v[i < k->nown ? i : k->more + i - k->nown]);
    return k->in != NULL;
}

static size_t place(const tn_i_shared *k, const tn_val *x) {
    size_t i = 0;
    while (i < k->n - k->nown && (k->captured[i].trace != x->trace || k->captured[i].id != x->id)) i++;
    return k->nown + i;
}

static bool all_operands(tn_i_shared *k) {
    tn_i_site *s = k->s;
    if (s->b->failed) return false;
    for (int i = 0; i < TN_SHARED_MOST; i++) k->most += k->program[i].n;
    k->captured = tn_i_alloc_array(s->b->ctx, k->most, sizeof *k->captured);
    k->v = tn_i_alloc_array(s->b->ctx, k->nown + k->most + k->nmore, sizeof *k->v);
    if (!k->captured || !k->v) {
        s->b->failed = true;
        return false;
    }
    memcpy(k->v, s->v, k->nown * sizeof *k->v);
    k->n = k->nown;
    for (int i = 0; i < TN_SHARED_MOST; i++)
        for (size_t j = 0; j < k->program[i].n; j++) {
            const tn_val *x = &k->program[i].captured[j];
            if (place(k, x) < k->n) continue;
            k->captured[k->n - k->nown] = *x;
            k->v[k->n++] = tn_i_site_resolve(s, x, -1);
        }
    return !s->b->failed;
}

/* ---- programs ---------------------------------------------------------------------------------- */

/* `in` is all operands and then the further inputs: in the order of t's inputs. */
static void arguments(const tn_i_shared *k, const tn_i_shared_program *t, const tn_i_var *in, tn_i_var *args) {
    const size_t more = t->more ? k->nmore : 0;
    memcpy(args, in, k->nown * sizeof *args);
    memcpy(args + k->nown, in + k->n, more * sizeof *args);
    for (size_t j = 0; j < t->n; j++) args[k->nown + more + j] = in[place(k, &t->captured[j])];
}

static void make_inputs(const tn_i_shared *k, const tn_i_shared_program *t, tn_i_builder *b, tn_i_var *in) {
    for (size_t i = 0; i < k->n; i++) in[i] = tn_i_input(b, tn_i_site_type(k->s, k->v[i]), false);
    for (size_t i = 0; i < k->nmore && t->more; i++) in[k->n + i] = tn_i_input(b, &k->in[k->nown + i], t->linear);
}

/* The traced program with all operands as its inputs. */
static bool widen(tn_i_shared *k, tn_i_shared_program *t) {
    tn_ctx *c = k->s->b->ctx;
    const size_t room = 2 * (k->n + k->nmore) + t->nout;
    if (!t->f) return true;
    tn_i_var *in = tn_i_alloc_array(c, room, sizeof *in);
    tn_fn *f = NULL;
    if (in) {
        tn_i_var *args = in + k->n + k->nmore, *out = args + k->n + k->nmore;
        tn_i_builder b;
        tn_i_builder_init(&b, c);
        b.named_after = t->f;
        make_inputs(k, t, &b, in);
        arguments(k, t, in, args);
        tn_i_inline(&b, t->f, args, out);
        f = tn_i_finish(&b, (uint32_t)t->nout, out);
    }
    tn_i_free(c, in, room * sizeof *in);
    if (f && t->linear && !c->check && !tn_i_check(f)) {
        tn_i_fn_unref(f);
        f = NULL;
    }
    if (!f) {
        tn_i_trace_adopt_error(k->s->t);
        return false;
    }
    tn_i_fn_unref(t->f);
    t->f = f;
    return true;
}

bool tn_i_shared_trace(tn_i_shared *k, unsigned optional) {
    if (!operand_types(k)) return false;
    for (int i = 0; i < TN_SHARED_MOST; i++)
        if (k->program[i].name) trace_one(k, &k->program[i], optional >> i & 1);
    if (!all_operands(k)) return false;
    for (int i = 0; i < TN_SHARED_MOST; i++)
        if (!widen(k, &k->program[i])) return false;
    return true;
}

void tn_i_shared_args(const tn_i_shared *k, tn_i_args *a) {
    for (int i = 0; i < TN_SHARED_MOST; i++)
        if (k->program[i].f) tn_i_args_fn(a, k->program[i].name, k->program[i].f);
}

void tn_i_shared_free(tn_i_shared *k) {
    tn_ctx *c = k->s->b->ctx;
    if (!c) return;
    for (int i = 0; i < TN_SHARED_MOST; i++) {
        tn_i_shared_program *t = &k->program[i];
        tn_i_fn_unref(t->f);
        if (t->captured) tn_i_free(c, t->captured, t->n * sizeof(tn_val));
    }
    if (k->in) tn_i_free(c, k->in, (k->nown + k->nmore) * sizeof *k->in);
    if (k->v) tn_i_free(c, k->v, (k->nown + k->most + k->nmore) * sizeof *k->v);
    if (k->captured) tn_i_free(c, k->captured, k->most * sizeof *k->captured);
}

/* ---- two lists of operands ------------------------------------------------------------------------ */

bool tn_i_join_lists(tn_i_lists *j, size_t nout, tn_val *out) {
    tn_ctx *c = j->c = tn_i_ctx_of(tn_i_ctx_of(NULL, j->nx, j->x), j->ny, j->y);
    j->all = j->few;
    if (!c || !tn_i_add(j->nx, j->ny, &j->n)) j->n = 0;
    if (c && ((j->nx && !j->x) || (j->ny && !j->y) || (j->n == 0 && j->ny))) {
        tn_i_site s;
        tn_i_site_begin(&s, j->name, c, j->file, j->line);
        (void)tn_i_site_fail(&s, TN_EINVAL, -1, "the %s are NULL, or too many", j->ny && !j->y ? j->y_name : j->x_name);
        tn_i_site_close_many(&s, TN_NOVAR, nout, out);
        return false;
    }
    if (j->n > 8 && !(j->all = tn_i_alloc_array(c, j->n, sizeof *j->all))) {
        if (c->trace) tn_i_trace_adopt_error(c->trace);
        j->n = 0;
    }
    if (j->n == 0) { /* `out` may be an operand: nothing is written before that is read */
        for (size_t i = 0; out && i < nout; i++) out[i] = (tn_val){.id = j->line > 0 ? (uint32_t)j->line : 0};
        return false;
    }
    if (j->nx) memcpy(j->all, j->x, j->nx * sizeof *j->all);
    if (j->ny) memcpy(j->all + j->nx, j->y, j->ny * sizeof *j->all);
    return true;
}

void tn_i_lists_free(tn_i_lists *j) {
    if (j->all && j->all != j->few) tn_i_free(j->c, j->all, j->n * sizeof *j->all);
}
