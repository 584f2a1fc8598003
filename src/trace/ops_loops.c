/* Loops: the callback of a step becomes the program of one equation.
 *
 * A step is traced with its number in front, then what it carries, then the entries it reads; what it captures
 * follows.  The equation wants what is the same in every step in front, and the number only where it is read. */
#include "control/loops/loop.h"
#include "control/vary.h"
#include "prims/ids.h"
#include "tansy/loops.h"
#include "trace/trace.h"

#include <stdio.h>
#include <string.h>

/* One loop being traced. Its operands are x: the carries, then the xs. */
typedef struct loop {
    tn_i_site s;
    tn_ctx *c;
    tn_val *x;
    size_t ncarry, nx, ny;
    tn_i_var count; /* the number of steps, found when the program runs, or TN_NOVAR */
    int64_t length; /* else this */
    tn_type *in;    /* of the step: its number, carries, entries */
    size_t room;    /* elements of x and in */
    tn_loop_options options;
} loop;

/* A program and the values that it captured. */
typedef struct step {
    tn_fn *f;
    tn_val *captured;
    size_t ncaptured;
    bool index; /* its number is its first input */
} step;

/* ---- operands ------------------------------------------------------------------------ */

static bool take(loop *l, size_t n, const tn_val *init, const tn_val *xs) {
    if ((l->ncarry && !init) || (l->nx && !xs)) {
        (void)tn_i_site_fail(&l->s, TN_EINVAL, -1, "the %s are NULL", l->ncarry && !init ? "initial carries" : "xs");
        return false;
    }
    l->room = n + 1;
    l->x = tn_i_alloc_array(l->c, l->room, sizeof *l->x);
    l->in = tn_i_alloc_array(l->c, l->room, sizeof *l->in);
    tn_i_var *v = tn_i_alloc_array(l->c, l->room, sizeof *v);
    if (v) {
        l->s.v = v;
        l->s.own = l->room;
    }
    if (!l->x || !l->in || !v) {
        l->s.b->failed = true;
        return false;
    }
    if (l->ncarry) memcpy(l->x, init, l->ncarry * sizeof *init);
    if (l->nx) memcpy(l->x + l->ncarry, xs, l->nx * sizeof *xs);
    for (size_t i = 0; i < n; i++) v[i] = TN_NOVAR;
    l->s.x = l->x;
    l->s.n = n;
    return true;
}

/* A whole number is i64, a floating one has the dtype of the first float array. Literals come into being where the
 * program's text has them: behind what bounds are made of. */
static bool take_numbers(loop *l) {
    int real = TN_F64;
    for (size_t i = l->s.n; i-- > 0;)
        if (l->s.v[i] != TN_NOVAR && tn_i_is_float(tn_i_site_type(&l->s, l->s.v[i])->dtype))
            real = tn_i_site_type(&l->s, l->s.v[i])->dtype;
    for (size_t i = 0; i < l->ncarry && !l->s.b->failed; i++) {
        const tn_val *x = &l->x[i];
        if (tn_i_is_number(x)) tn_i_site_number(&l->s, i, x->trace == 1 ? real : x->trace == 3 ? TN_BOOL : TN_I64);
    }
    return !l->s.b->failed;
}

/* A length that is yet to be read of the xs. */
enum { OF_XS = -1 };

/* Opens the site and takes the operands; false after a failure, when the loop is to be closed all the same. */
static bool begin(loop *l, const char *name, tn_ctx *c, const tn_val *init, const tn_val *xs,
                  const tn_loop_options *options, const char *file, int line) {
    const bool few = l->ncarry <= INT32_MAX && l->nx <= INT32_MAX && l->ny <= INT32_MAX;
    if (few) c = tn_i_ctx_of(tn_i_ctx_of(c, l->ncarry, init), l->nx, xs);
    tn_i_site_begin(&l->s, name, c, file, line);
    l->c = c;
    l->count = TN_NOVAR;
    l->options.size = sizeof l->options;
    if (l->s.b->failed) return false;
    if (!tn_i_options(l->c, "tn_loop_options", options, &l->options, sizeof l->options)) {
        char why[sizeof l->c->message];
        memcpy(why, l->c->message, sizeof why);
        (void)tn_i_site_fail(&l->s, TN_EINVAL, -1, "%s", why);
        return false;
    }
    if (!few) {
        (void)tn_i_site_fail(&l->s, TN_EINVAL, -1, "too many operands or results");
        return false;
    }
    if (!take(l, l->ncarry + l->nx, init, xs)) return false;
    for (size_t i = 0; i < l->s.n; i++)
        if (i >= l->ncarry || !tn_i_is_number(&l->x[i])) l->s.v[i] = tn_i_site_resolve(&l->s, &l->x[i], (int)i);
    return !l->s.b->failed;
}

static void finish(loop *l, tn_i_var first, tn_val *carry, tn_val *ys) {
    tn_i_site_close_many(&l->s, first, carry ? l->ncarry : 0, carry);
    tn_i_site_close_many(&l->s, first == TN_NOVAR ? first : first + (tn_i_var)l->ncarry, ys ? l->ny : 0, ys);
    if (l->x) tn_i_free(l->c, l->x, l->room * sizeof *l->x);
    if (l->in) tn_i_free(l->c, l->in, l->room * sizeof *l->in);
}

/* The length that xs have; entries' types into `entry`. */
static bool read_xs(loop *l, tn_type *entry) {
    for (size_t k = 0; k < l->nx; k++) {
        const size_t i = l->ncarry + k;
        const tn_type *t = tn_i_site_type(&l->s, l->s.v[i]);
        if (!tn_i_entry_type(t, &entry[k])) {
            (void)tn_i_site_fail(&l->s, TN_ETYPE, (int)i, "xs %zu has rank 0: it has no entries", k);
            return false;
        }
        if (l->length == OF_XS) l->length = t->dim[0];
        if (l->length == t->dim[0]) continue;
        (void)tn_i_site_fail(&l->s, TN_EINVAL, (int)i, "xs %zu has %lld entries where the loop has %lld steps", k,
                             (long long)t->dim[0], (long long)l->length);
        return false;
    }
    return true;
}

/* ---- the programs ---------------------------------------------------------------------- */

/* The types of the step's inputs are in l->in[0 .. nin). */
static bool trace(loop *l, tn_i_body *body, step *p) {
    const tn_i_loc *loc = l->s.b->loc;
    *p = (step){0};
    body->loc = loc;
    p->f = tn_i_trace_body(l->c, body, &p->captured, &p->ncaptured);
    l->s.b->loc = loc;
    if (!p->f) tn_i_trace_adopt_error(l->s.t);
    return p->f != NULL;
}

static void drop(loop *l, step *p) {
    if (p->captured) tn_i_free(l->c, p->captured, p->ncaptured * sizeof *p->captured);
    tn_i_fn_unref(p->f);
}

static bool is_read(const tn_fn *f, tn_i_var v) {
    for (uint32_t i = 0; i < f->npool; i++)
        if (f->pool[i] == v) return true;
    for (uint32_t j = 0; j < f->nout; j++)
        if (f->out[j] == v) return true;
    return false;
}

/* What was captured comes in front; the step's number, `lead` inputs of p->f, goes where nothing reads it. */
static bool arrange(loop *l, step *p, uint32_t lead) {
    const tn_fn *f = p->f;
    const uint32_t ncaptured = (uint32_t)p->ncaptured, others = f->nin - lead - ncaptured;
    p->index = lead && is_read(f, 0);
    if (ncaptured == 0 && p->index == (lead > 0)) return true;
    const tn_type **in = tn_i_alloc_array(l->c, f->nin, sizeof *in);
    uint32_t *from = tn_i_alloc_array(l->c, f->nin, sizeof *from), *out = tn_i_alloc_array(l->c, f->nout, sizeof *out);
    tn_fn *g = NULL;
    if (in && from && out) {
        uint32_t n = 0;
        if (lead) from[0] = 0; /* of no meaning when it is not read */
        if (p->index) in[n++] = f->val[0].type;
        for (uint32_t i = 0; i < ncaptured; i++) from[lead + others + i] = n++;
        for (uint32_t i = 0; i < others; i++) from[lead + i] = n++;
        for (uint32_t i = lead; i < f->nin; i++) in[from[i]] = f->val[i].type;
        for (uint32_t j = 0; j < f->nout; j++) out[j] = j;
        const tn_i_wiring w = {.nin = n, .nout = f->nout, .in = in, .from = from, .out = out};
        g = tn_i_rewire(f, &w);
    }
    tn_i_free(l->c, (void *)(uintptr_t)in, f->nin * sizeof *in);
    tn_i_free(l->c, from, f->nin * sizeof *from);
    tn_i_free(l->c, out, f->nout * sizeof *out);
    tn_i_fn_unref(f);
    p->f = g;
    if (!g) tn_i_trace_adopt_error(l->s.t);
    return g != NULL;
}

/* " (made at file:line)" of an output of f. */
static void made_at(const tn_fn *f, uint32_t j, size_t room, char *text) {
    const uint32_t def = f->val[f->out[j]].def;
    const tn_i_loc *loc = def < f->neqn ? f->eqn[def].loc : NULL;
    text[0] = 0;
    if (loc) (void)snprintf(text, room, " (made at %s:%u)", loc->file, (unsigned)loc->line);
}

/* Carries leave the step with the types that they entered it with, ys can be stacked. */
static bool check_results(loop *l, const tn_fn *f) {
    char enters[TN_I_TYPE_TEXT], leaves[TN_I_TYPE_TEXT], made[160];
    tn_type stack;
    for (uint32_t j = 0; j < f->nout && !l->s.b->failed; j++) {
        const tn_type *have = f->val[f->out[j]].type;
        (void)tn_i_type_text(leaves, have);
        made_at(f, j, sizeof made, made);
        if (j < l->ncarry && !tn_type_equal(&l->in[1 + j], have))
            (void)tn_i_site_fail(&l->s, TN_ETYPE, -1, "carry %u enters the step as %s and leaves it as %s%s",
                                 (unsigned)j, tn_i_type_text(enters, &l->in[1 + j]), leaves, made);
        else if (j >= l->ncarry && !tn_i_stack_type(have, l->length, &stack))
            (void)tn_i_site_fail(&l->s, TN_ETYPE, -1,
                                 "y %u of the step is %s%s, and %lld of them are too large for an array",
                                 (unsigned)(j - l->ncarry), leaves, made, (long long)l->length);
    }
    return !l->s.b->failed;
}

/* ---- the equations ------------------------------------------------------------------------ */

static bool set_schedule(loop *l, tn_i_args *a) {
    const char *text = l->options.schedule;
    if (!text) return true;
    const char *interned = tn_i_string(l->c, text, strlen(text));
    if (interned)
        tn_i_args_str(a, "schedule", interned);
    else
        l->s.b->failed = true;
    return interned != NULL;
}

static void put_captured(loop *l, const step *p, tn_i_var *v, size_t *n) {
    for (size_t i = 0; i < p->ncaptured; i++) v[(*n)++] = tn_i_site_resolve(&l->s, &p->captured[i], -1);
}

static tn_i_var emit(loop *l, const tn_i_args *a, const step *cond, const step *body) {
    const size_t room = 1 + cond->ncaptured + body->ncaptured + l->s.n;
    tn_i_var *v = tn_i_alloc_array(l->c, room, sizeof *v), first = TN_NOVAR;
    size_t n = 0;
    if (!v) {
        l->s.b->failed = true;
        return TN_NOVAR;
    }
    if (l->count != TN_NOVAR) v[n++] = l->count;
    put_captured(l, cond, v, &n);
    put_captured(l, body, v, &n);
    if (l->s.n) memcpy(v + n, l->s.v, l->s.n * sizeof *v);
    first = tn_i_args_emit(&l->s, a, n + l->s.n, v);
    tn_i_free(l->c, v, room * sizeof *v);
    return first;
}

/* ---- scan ------------------------------------------------------------------------------------ */

/* What the trace of a step calls, and with what. */
typedef struct caller {
    tn_scan_fn scan;
    tn_fori_fn fori;
    tn_trace_many_fn many;
    void *user;
    size_t ncarry;
    const tn_val *lower; /* what is added to the step's number, or NULL */
    const char *file;
    int line;
} caller;

static void call_step(const tn_val *in, tn_val *out, void *user) {
    const caller *k = user;
    const tn_val *carry = in + 1;
    if (k->scan)
        k->scan(carry, carry + k->ncarry, out, out + k->ncarry, k->user);
    else if (k->many)
        k->many(carry, out, k->user);
    else
        k->fori(k->lower ? tn_add_at(*k->lower, in[0], k->file, k->line) : in[0], carry, out, k->user);
}

/* A step is traced again while carries leave it varying over more than they entered it with: over[i]. */
static bool settled(loop *l, const tn_fn *f, uint32_t *over) {
    bool same = true;
    for (uint32_t j = 0; j < l->ncarry; j++) {
        const uint32_t leaves = tn_i_over(f->val[f->out[j]].type);
        same &= !(leaves & ~over[j]);
        over[j] |= leaves;
    }
    return same;
}

static bool set_inputs(loop *l, const uint32_t *over) {
    for (size_t i = 0; i < l->s.n; i++)
        if (!tn_i_axes_of(l->c, tn_i_over(&l->in[1 + i]) | over[i], &l->in[1 + i].varying)) return false;
    return true;
}

static bool trace_settled(loop *l, tn_i_body *body, uint32_t *over, step *p) {
    for (;;) {
        if (!set_inputs(l, over)) return false;
        if (!trace(l, body, p) || !check_results(l, p->f)) return false;
        if (settled(l, p->f, over)) break;
        drop(l, p);
        *p = (step){0};
    }
    p->f = tn_i_outputs_over(p->f, over);
    return p->f != NULL;
}

/* The step, with everything in it varying over `all`, which decides how often it runs. */
static bool trace_step(loop *l, const caller *k, uint32_t all, step *p) {
    if (!take_numbers(l)) return false;
    l->in[0] = tn_type_of(TN_I64, 0, NULL);
    for (size_t i = 0; i < l->ncarry; i++) l->in[1 + i] = *tn_i_site_type(&l->s, l->s.v[i]);
    tn_i_body body = {.many = call_step,
                      .user = (void *)(uintptr_t)k,
                      .nin = 1 + l->s.n,
                      .nout = l->ncarry + l->ny,
                      .in = l->in,
                      .stepping = TN_STEP_INPUT,
                      .over = all,
                      .ncarry = l->ncarry};
    const size_t room = l->s.n + l->ny; /* carries; then xs on the way in, ys on the way out */
    uint32_t *over = tn_i_alloc_array(l->c, room, sizeof *over);
    for (size_t i = 0; over && i < room; i++) over[i] = all;
    for (size_t i = 0; over && i < l->ncarry; i++) over[i] |= tn_i_over(&l->in[1 + i]);
    const bool ok = over && trace_settled(l, &body, over, p) && arrange(l, p, 1);
    tn_i_free(l->c, over, room * sizeof *over);
    if (!ok) l->s.b->failed = true;
    return ok;
}

static tn_i_var scan(loop *l, const caller *k) {
    const step none = {0};
    step p = {0};
    tn_i_args a;
    tn_i_var first = TN_NOVAR;
    tn_i_args_init(&a, &l->s, TN_P_scan);
    const uint32_t all = l->count == TN_NOVAR ? 0 : tn_i_over(tn_i_site_type(&l->s, l->count));
    if (trace_step(l, k, all, &p) && set_schedule(l, &a)) {
        tn_i_args_fn(&a, "program", p.f);
        if (l->count == TN_NOVAR) tn_i_args_int(&a, "length", l->length);
        tn_i_args_int(&a, "num_consts", (int64_t)p.ncaptured);
        tn_i_args_int(&a, "num_carry", (int64_t)l->ncarry);
        if (l->options.reverse) tn_i_args_int(&a, "reverse", true);
        if (p.index) tn_i_args_int(&a, "index", true);
        first = emit(l, &a, &none, &p);
    }
    drop(l, &p);
    return first;
}

static bool known_length(loop *l) {
    if (l->length < OF_XS)
        (void)tn_i_site_fail(&l->s, TN_EINVAL, -1, "the length %lld is negative", (long long)l->length);
    else if (l->length == OF_XS)
        (void)tn_i_site_fail(&l->s, TN_EINVAL, -1, "without xs a length is needed (TN_NO_STEPS: none)");
    return !l->s.b->failed;
}

/* What is told of the arguments, as far as it is known here; whether that can be is looked at once there is a site.
 * Which site that is operands tell, whatever size says. */
static tn_scan_args told(const tn_scan_args *given) {
    enum { OPERANDS = offsetof(tn_scan_args, reverse) };
    tn_scan_args a = {0};
    const size_t size = given && given->size > OPERANDS ? given->size : OPERANDS;
    if (given) memcpy(&a, given, size < sizeof a ? size : sizeof a);
    return a;
}

static bool fits(loop *l, const tn_scan_args *given) {
    tn_scan_args a;
    if (given && tn_i_options(l->c, "tn_scan_args", given, &a, sizeof a)) return true;
    char why[sizeof l->c->message];
    memcpy(why, given ? l->c->message : "the arguments are NULL", given ? sizeof why : sizeof "the arguments are NULL");
    (void)tn_i_site_fail(&l->s, TN_EINVAL, -1, "%s", why);
    return false;
}

void tn_scan_at(tn_ctx *c, tn_scan_fn f, void *user, const tn_scan_args *args, const char *file, int line) {
    const tn_scan_args a = told(args);
    const tn_loop_options o = {.size = sizeof o, .reverse = a.reverse, .schedule = a.schedule};
    const caller k = {.scan = f, .user = user, .ncarry = a.ncarry};
    loop l = {.ncarry = a.ncarry, .nx = a.nx, .ny = a.ny};
    l.length = a.length == TN_LENGTH_OF_XS ? OF_XS : a.length == TN_NO_STEPS ? 0 : a.length;
    tn_i_var first = TN_NOVAR;
    if (begin(&l, "scan", c, a.init, a.xs, &o, file, line) && fits(&l, args)) {
        if (!f)
            (void)tn_i_site_fail(&l.s, TN_EINVAL, -1, "the callback is NULL");
        else if (read_xs(&l, l.in + 1 + a.ncarry) && known_length(&l))
            first = scan(&l, &k);
    }
    finish(&l, first, a.carry, a.ys);
}

/* ---- fori ---------------------------------------------------------------------------------------- */

/* A bound: true and its number when that is known; else *v is an i64[]. */
static bool bound(loop *l, const char *which, tn_val *x, int64_t *number, tn_i_var *v) {
    uint64_t bits;
    *v = TN_NOVAR;
    if (tn_i_is_number(x)) {
        const tn_i_site outer = l->s;
        l->s.x = x;
        l->s.v = v;
        l->s.n = 1;
        tn_i_site_number(&l->s, 0, TN_I64);
        l->s.x = outer.x;
        l->s.v = outer.v;
        l->s.n = outer.n;
    } else
        *v = tn_i_site_resolve(&l->s, x, -1);
    if (*v == TN_NOVAR) return false;
    const tn_type *t = tn_i_site_type(&l->s, *v);
    char text[TN_I_TYPE_TEXT];
    if (t->rank || !tn_i_is_index(t->dtype)) {
        (void)tn_i_site_fail(&l->s, TN_ETYPE, -1, "the %s bound is %s, not i64[] or i32[]", which,
                             tn_i_type_text(text, t));
        return false;
    }
    *v = tn_i_convert(l->s.b, *v, TN_I64);
    if (*v == TN_NOVAR) return false;
    *x = tn_i_value(l->c, l->s.t->serial, *v);
    if (!tn_i_known_scalar(l->s.b, *v, &bits)) return false;
    memcpy(number, &bits, sizeof bits);
    return true;
}

static bool bounds(loop *l, tn_val *lower, tn_val *upper) {
    int64_t from = 0, to = 0;
    tn_i_var low, high;
    const bool known_low = bound(l, "lower", lower, &from, &low), known_high = bound(l, "upper", upper, &to, &high);
    if (l->s.b->failed) return false;
    if (!known_low || !known_high) {
        l->count = known_low && from == 0 ? high : tn_i_op2(l->s.b, TN_P_sub, high, low);
        l->length = TN_I_STEPS;
        return l->count != TN_NOVAR;
    }
    if (from < 0 && to > INT64_MAX + from) {
        (void)tn_i_site_fail(&l->s, TN_EOVERFLOW, -1, "there are too many numbers from %lld to %lld", (long long)from,
                             (long long)to);
        return false;
    }
    l->length = to > from ? to - from : 0;
    return true;
}

void tn_fori_at(tn_ctx *c, tn_val lower, tn_val upper, tn_fori_fn f, void *user, size_t n, const tn_val *init,
                tn_val *out, const tn_loop_options *options, const char *file, int line) {
    const bool from_zero = tn_i_is_number(&lower) && lower.trace == 2 && lower.num.i == 0;
    const caller k = {
        .fori = f, .user = user, .ncarry = n, .lower = from_zero ? NULL : &lower, .file = file, .line = line};
    loop l = {.ncarry = n};
    tn_i_var first = TN_NOVAR;
    c = tn_i_ctx_of(tn_i_ctx_of(c, 1, &lower), 1, &upper);
    if (begin(&l, "fori", c, init, NULL, options, file, line)) {
        if (!f)
            (void)tn_i_site_fail(&l.s, TN_EINVAL, -1, "the callback is NULL");
        else if (bounds(&l, &lower, &upper))
            first = scan(&l, &k);
    }
    finish(&l, first, out, NULL);
}

/* ---- while ----------------------------------------------------------------------------------------- */

static bool trace_condition(loop *l, tn_trace_fn cond, void *user, step *p) {
    char text[TN_I_TYPE_TEXT], made[160];
    tn_i_body body = {
        .one = cond, .user = user, .nin = l->ncarry, .nout = 1, .in = l->in + 1, .stepping = TN_STEP_REFUSED};
    if (!trace(l, &body, p)) return false;
    const tn_type *t = p->f->val[p->f->out[0]].type;
    made_at(p->f, 0, sizeof made, made);
    if (t->dtype != TN_BOOL || t->rank) {
        (void)tn_i_site_fail(&l->s, TN_ETYPE, -1, "the condition is %s%s, not bool[]", tn_i_type_text(text, t), made);
        return false;
    }
    return arrange(l, p, 0);
}

/* Where ranks go on for different numbers of steps, all that the step takes and gives varies as the condition does. */
static bool trace_both(loop *l, tn_trace_fn cond, const caller *k, step *p, step *q) {
    for (uint32_t all = 0, before;;) {
        before = all;
        if (!trace_step(l, k, all, p)) return false;
        for (size_t i = 0; i < l->ncarry; i++) l->in[1 + i] = *p->f->val[p->f->out[i]].type;
        if (!trace_condition(l, cond, k->user, q)) return false;
        all |= tn_i_over(q->f->val[q->f->out[0]].type);
        if (all == before) return true;
        drop(l, p);
        drop(l, q);
        *p = *q = (step){0};
    }
}

static tn_i_var while_loop(loop *l, tn_trace_fn cond, const caller *k) {
    step p = {0}, q = {0};
    tn_i_args a;
    tn_i_var first = TN_NOVAR;
    tn_i_args_init(&a, &l->s, TN_P_while);
    if (trace_both(l, cond, k, &p, &q) && set_schedule(l, &a)) {
        tn_i_args_fn(&a, "cond", q.f);
        tn_i_args_fn(&a, "body", p.f);
        tn_i_args_int(&a, "cond_nconsts", (int64_t)q.ncaptured);
        tn_i_args_int(&a, "body_nconsts", (int64_t)p.ncaptured);
        if (p.index) tn_i_args_int(&a, "index", true);
        first = emit(l, &a, &q, &p);
    }
    drop(l, &p);
    drop(l, &q);
    return first;
}

void tn_while_loop_at(tn_ctx *c, tn_trace_fn cond, tn_trace_many_fn body, void *user, size_t n, const tn_val *init,
                      tn_val *out, const tn_loop_options *options, const char *file, int line) {
    const caller k = {.many = body, .user = user, .ncarry = n};
    loop l = {.ncarry = n};
    tn_i_var first = TN_NOVAR;
    if (begin(&l, "while_loop", c, init, NULL, options, file, line)) {
        if (!cond || !body)
            (void)tn_i_site_fail(&l.s, TN_EINVAL, -1, "the %s is NULL", cond ? "body" : "condition");
        else if (l.options.reverse)
            (void)tn_i_site_fail(&l.s, TN_EINVAL, -1, "a loop of unknown length has no last step to begin with");
        else
            first = while_loop(&l, cond, &k);
    }
    finish(&l, first, out, NULL);
}

/* ---- the step's number ---------------------------------------------------------------------------------- */

tn_val tn_loop_step_at(tn_ctx *c, const char *file, int line) {
    tn_i_site s;
    tn_i_var v = TN_NOVAR;
    tn_i_site_begin(&s, "loop_step", c, file, line);
    const tn_i_trace *t = s.t;
    while (t && t->stepping == TN_STEP_NONE) t = t->parent;
    if (s.t && t && t->stepping == TN_STEP_INPUT) {
        const tn_val number = tn_i_value(c, t->serial, 0);
        v = tn_i_site_resolve(&s, &number, -1);
    } else if (s.t)
        (void)tn_i_site_fail(&s, TN_EINVAL, -1, "%s",
                             t ? "a condition has no step; carry a number" : "no step of a loop is being traced");
    return tn_i_site_close(&s, v);
}
