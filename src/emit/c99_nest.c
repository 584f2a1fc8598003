/* Nests, and loops whose steps are little work, as functions that cgen prints: of the loop programs that all back ends
 * run (src/lower, src/pass), for vectors of no processor in particular. */
#include "emit/c99.h"
#include "exec/steps_report.h"
#include "lower/lower.h"

#include <inttypes.h>
#include <string.h>

/* What passes are told.  gcc and clang make vectors of 16 to 64 bytes of loops for ones of 64. */
static const tn_i_machine any_machine = {.vector = 64, .threads = 1, .worth = INT64_MAX};

typedef struct writer {
    tn_i_c99 *w;
    const tn_i_plan *p;
    const tn_i_step *s;
    const tn_i_loop *l; /* NULL: a nest */
    tn_i_loops *program;
    tn_i_text name, about;
} writer;

/* ---- what it is ---------------------------------------------------------------------------------- */

static bool same_place(const tn_i_loc *a, const tn_i_loc *b) {
    return a == b || (a && b && a->line == b->line && strcmp(a->file, b->file) == 0);
}

static bool tells(const tn_i_nest *n, uint32_t i) {
    return n->op[i].kind == TN_NEST_MAP || n->op[i].kind == TN_NEST_REDUCE;
}

/* "model.c:12: mul, add; model.c:13: exp" */
static void tell_nest(writer *k, const tn_i_nest *n) {
    const tn_i_eqn *last = NULL;
    for (uint32_t i = 0; i < n->nop; i++) {
        const tn_i_eqn *e = tells(n, i) ? n->op[i].eqn : NULL;
        if (!e || e == last) continue;
        if (last && same_place(last->loc, e->loc))
            tn_i_text_put(&k->about, ", %s", e->prim->name);
        else {
            if (k->about.n) tn_i_text_put(&k->about, "; ");
            if (e->loc && e->loc->file[0]) {
                tn_i_c99_put_plain(&k->about, e->loc->file);
                tn_i_text_put(&k->about, ":%u: ", (unsigned)e->loc->line);
            }
            tn_i_text_put(&k->about, "%s", e->prim->name);
        }
        last = e;
    }
}

static void tell_plan(writer *k, const tn_i_plan *p) {
    for (size_t i = 0; i < p->nstep; i++) {
        const tn_i_step *s = &p->step[i];
        if (s->kind == TN_STEP_NEST) tell_nest(k, s->u.nest);
        for (uint32_t j = 0; j < tn_i_step_programs(p, s); j++) {
            const tn_i_plan *inside = tn_i_step_program(p, s, j);
            if (inside) tell_plan(k, inside);
        }
    }
}

/* In lines of up to 120 characters. */
static void put_comment(tn_i_text *t, const char *s) {
    enum { WIDTH = 114 };
    size_t n = strlen(s);
    tn_i_text_put(t, "\n/* ");
    for (bool first = true; n; first = false) {
        size_t cut = n;
        if (n > WIDTH) {
            for (cut = WIDTH; cut > WIDTH / 2 && s[cut] != ' ';) cut--;
            if (s[cut] != ' ') cut = WIDTH;
        }
        if (!first) tn_i_text_put(t, "\n * ");
        tn_i_text_add(t, s, cut);
        s += cut + (s[cut] == ' ');
        n = strlen(s);
    }
    tn_i_text_put(t, " */");
}

/* ---- where its arrays are ------------------------------------------------------------------------ */

static void put_argument(writer *k, uint32_t i) {
    const bool input = i < k->p->f->nin;
    tn_i_text_put(&k->w->t, "(char *)%s%u", input ? "a" : "r", (unsigned)(input ? i : i - k->p->f->nin));
}

static void put_scratch(writer *k, size_t at) {
    tn_i_text_put(&k->w->t, "(char *)(w + %" PRId64 ")", k->s->scratch + (int64_t)at);
}

static void put_operand(writer *k, uint32_t i) {
    tn_i_text_put(&k->w->t, "(char *)");
    tn_i_c99_pointer(k->w, &k->w->t, k->p, tn_i_in(k->p->f, &k->p->f->eqn[k->s->eqn])[i], &k->p->arg[k->l->arg + i],
                     false);
}

static void put_output(writer *k, uint32_t j) {
    const tn_i_var v = k->p->f->eqn[k->s->eqn].out + j;
    tn_i_text_put(&k->w->t, "(char *)");
    tn_i_c99_pointer(k->w, &k->w->t, k->p, v, &k->p->place[v], true);
}

/* Entry i of the body's arguments (run/loop_run.c fills the frame in that order). */
static void put_of_body(writer *k, uint32_t i) {
    const tn_i_loop_shape *s = &k->l->shape;
    if (s->index && i-- == 0) {
        put_scratch(k, k->l->number);
        return;
    }
    const uint32_t operands = s->x0 + s->nx - s->const0;
    if (i < operands)
        put_operand(k, s->const0 + i);
    else if ((i -= operands) < s->ncarry) {
        const tn_i_pair *pair = tn_i_c99_pair(k->l, i);
        if (pair)
            put_scratch(k, pair->second);
        else
            put_operand(k, s->carry0 + i);
    } else
        put_output(k, s->y0 + (i - s->ncarry));
}

static void put_of_loop(writer *k, uint32_t entry) {
    const tn_i_loop *l = k->l;
    const size_t at = entry * sizeof(uintptr_t);
    if (entry == TN_BASE_ARENA)
        put_scratch(k, l->arena);
    else if (l->whole > TN_WHOLE_ALL && at == l->counts)
        tn_i_text_put(&k->w->t, "(char *)counts");
    else if (l->cond && at >= l->cond_frame) {
        const uint32_t i = (uint32_t)((at - l->cond_frame) / sizeof(uintptr_t)) - TN_BASE_ARGUMENTS;
        if (i < l->shape.ncond)
            put_operand(k, i);
        else
            tn_i_text_put(&k->w->t, "(char *)&more");
    } else
        put_of_body(k, entry - TN_BASE_ARGUMENTS);
}

static void put_entry(writer *k, uint32_t entry) {
    if (entry == TN_LOWER_SCRATCH)
        tn_i_text_put(&k->w->t, "(char *)s");
    else if (k->l)
        put_of_loop(k, entry);
    else if (entry == TN_BASE_ARENA)
        tn_i_text_put(&k->w->t, "(char *)w");
    else
        put_argument(k, entry - TN_BASE_ARGUMENTS);
}

static bool has_entry(const tn_i_loops *p, uint32_t entry) {
    if (entry == TN_LOWER_SCRATCH) return true; /* of what is not an array, too */
    for (uint32_t i = 0; i < p->narray; i++)
        if (p->array[i].role != TN_L_CONST && p->array[i].base == entry) return true;
    return false;
}

static uint32_t entries(const tn_i_loops *p) {
    uint32_t n = 1;
    for (uint32_t i = 0; i < p->narray; i++)
        if (p->array[i].role != TN_L_CONST && p->array[i].base >= n) n = p->array[i].base + 1;
    return n;
}

/* ---- the function and its call ------------------------------------------------------------------- */

static bool define(writer *k) {
    tn_i_text *t = &k->w->g.functions;
    k->program = k->program ? tn_i_passes(k->program, &any_machine, NULL) : NULL;
    if (!k->program) return false;
    tn_i_text_put(&k->name, "%s_loops%u", k->w->name, (unsigned)k->w->loops++);
    if (k->name.failed || k->about.failed) return false;
    t->ctx = k->w->ctx;
    put_comment(t, k->about.at ? k->about.at : "copies");
    return tn_i_cgen_add(&k->w->g, k->name.at, k->program);
}

static void call(writer *k) {
    tn_i_text *t = &k->w->t;
    const uint32_t n = entries(k->program);
    tn_i_text_put(t, "char *base[%u];\n", (unsigned)n);
    for (uint32_t i = 0; i < n; i++) {
        if (!has_entry(k->program, i)) continue;
        tn_i_text_put(t, "base[%u] = ", (unsigned)i);
        put_entry(k, i);
        tn_i_text_put(t, ";\n");
    }
    tn_i_text_put(t, "(void)%s(base);\n", k->name.at);
}

static void release(writer *k) {
    tn_i_l_free(k->program);
    tn_i_text_free(&k->name);
    tn_i_text_free(&k->about);
}

void tn_i_c99_nest(tn_i_c99 *w, const tn_i_plan *p, const tn_i_step *s, const tn_i_nest *n) {
    writer k = {.w = w, .p = p, .s = s, .name = {.ctx = w->ctx}, .about = {.ctx = w->ctx}};
    k.program = tn_i_lower_nest(w->ctx, n);
    tell_nest(&k, n);
    if (define(&k)) {
        tn_i_text_put(&w->t, "{\n");
        call(&k);
        tn_i_text_put(&w->t, "}\n");
    } else
        w->failed = true;
    release(&k);
}

bool tn_i_c99_whole(const tn_i_loop *l) { return l->whole == TN_WHOLE_ALL || l->whole == TN_WHILE_ALL; }

/* What is carried ends where it began. */
void tn_i_c99_whole_loop(tn_i_c99 *w, const tn_i_plan *p, const tn_i_step *s) {
    writer k = {.w = w, .p = p, .s = s, .l = &p->loop[s->loop], .name = {.ctx = w->ctx}, .about = {.ctx = w->ctx}};
    k.program = tn_i_lower_loop(w->ctx, k.l, false);
    if (k.l->cond) tell_plan(&k, k.l->cond);
    tell_plan(&k, k.l->body);
    if (define(&k)) {
        tn_i_text_put(&w->t, k.l->cond ? "{\nuint8_t more = 0;\nint64_t counts[2] = {0, 0};\n" : "{\n");
        call(&k);
        if (k.l->shape.steps != TN_NOVAR) {
            tn_i_text_put(&w->t, "*(int64_t *)(void *)");
            put_output(&k, k.l->shape.steps);
            tn_i_text_put(&w->t, " = counts[0];\n");
        }
        tn_i_text_put(&w->t, "}\n");
    } else
        w->failed = true;
    release(&k);
}
