/* First-order updates, of operators: optax's rules, in the order in which it computes them. */
#include "optim/optim.h"

#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* An operator that is being made of others: its name and the caller's place. */
typedef struct site {
    tn_ctx *c;
    const char *name, *file;
    int line;
} site;

#define ADD(x, y)         tn_add_at(TN_VAL(x), TN_VAL(y), s->file, s->line)
#define SUB(x, y)         tn_sub_at(TN_VAL(x), TN_VAL(y), s->file, s->line)
#define MUL(x, y)         tn_mul_at(TN_VAL(x), TN_VAL(y), s->file, s->line)
#define DIV(x, y)         tn_div_at(TN_VAL(x), TN_VAL(y), s->file, s->line)
#define POW(x, y)         tn_pow_at(TN_VAL(x), TN_VAL(y), s->file, s->line)
#define LT(x, y)          tn_lt_at(TN_VAL(x), TN_VAL(y), s->file, s->line)
#define MIN(x, y)         tn_minimum_at(TN_VAL(x), TN_VAL(y), s->file, s->line)
#define MAX(x, y)         tn_maximum_at(TN_VAL(x), TN_VAL(y), s->file, s->line)
#define WHERE(p, x, y)    tn_where_at(p, TN_VAL(x), TN_VAL(y), s->file, s->line)
#define CONVERT(x, dtype) tn_convert_at(x, dtype, s->file, s->line)
#define SQRT(x)           tn_sqrt_at(x, s->file, s->line)
#define SCALAR(x)         tn_full_at(s->c, tn_type_of(TN_F64, 0, NULL), TN_VAL(x), s->file, s->line)

static tn_val wrong(const site *s, tn_status status, const char *text) {
    return tn_fail_at(s->c, status, s->name, text, s->file, s->line);
}

static tn_dtype dtype_of(tn_val x) { return (tn_dtype)tn_val_type(x).dtype; }
static bool positive(double x) { return x > 0 && isfinite(x); }

/* ---- what is refused ------------------------------------------------------------------------- */

static const char *bad_rate(const tn_rate *r) {
    const bool set =
        r->kind || r->value != 0 || r->end != 0 || r->decay != 0 || r->warmup_from != 0 || r->steps || r->warmup;
    if (r->traced) return set ? "a rate of your own (traced) has nothing else" : NULL;
    if (r->kind < TN_RATE_CONSTANT || r->kind > TN_RATE_COSINE) return "the rate's kind is none of tn_rate_kind";
    if (!positive(r->value)) return "the rate's value is not above 0";
    if (!isfinite(r->end) || !isfinite(r->warmup_from)) return "the rate's end or warmup_from is not finite";
    if (r->warmup < 0) return "the rate's warmup is negative";
    if (r->kind != TN_RATE_CONSTANT && r->steps <= 0) return "the rate's steps are not above 0";
    if (r->kind == TN_RATE_EXPONENTIAL && !positive(r->decay)) return "the rate's decay is not above 0";
    return NULL;
}

const char *tn_i_optim_wrong(const tn_optim *o) {
    if (o->size != sizeof *o) return "tn_optim: its size is not set: write tn_optim o = {.size = sizeof o}";
    const bool adam = o->rule == TN_ADAM || o->rule == TN_ADAMW;
    if (o->rule != TN_SGD && !adam) return "the rule is none of tn_optim_rule";
    if (!(o->momentum >= 0 && o->momentum < 1)) return "momentum is not in [0, 1)";
    if (adam && (o->momentum > 0 || o->nesterov)) return "momentum and nesterov are TN_SGD's: Adam has b1";
    if (o->nesterov && o->momentum <= 0) return "nesterov needs a momentum";
    if (!adam && (o->b1 != 0 || o->b2 != 0 || o->eps != 0)) return "b1, b2 and eps are Adam's";
    if (!(o->b1 >= 0 && o->b1 < 1) || !(o->b2 >= 0 && o->b2 < 1)) return "b1 or b2 is not in (0, 1)";
    if (!(o->eps >= 0) || !isfinite(o->eps)) return "eps is negative or not finite";
    if (!(o->weight_decay >= 0) || !isfinite(o->weight_decay)) return "weight_decay is negative or not finite";
    if (o->weight_decay > 0 && o->rule != TN_ADAMW) return "weight_decay is TN_ADAMW's";
    if (!(o->clip >= 0) || !isfinite(o->clip)) return "clip is negative or not finite";
    return NULL;
}

/* Moments for each parameter. */
static size_t moments(const tn_optim *o) { return o->rule == TN_SGD ? o->momentum > 0 : 2; }

size_t tn_optim_state(const tn_optim *o, size_t n, const tn_type *params, tn_type *state) {
    if (!o || tn_i_optim_wrong(o) || (n && !params && state)) return 0;
    if (state) state[0] = tn_type_of(TN_I64, 0, NULL);
    for (size_t k = 0; state && k < moments(o) * n; k++) state[1 + k] = params[k % n];
    return 1 + moments(o) * n;
}

/* ---- rates ---------------------------------------------------------------------------------- */

/* `end` for steps -> 0 .. 1 as optax's linear_schedule goes from one to the other. */
static tn_val line(const site *s, tn_val step, int64_t steps, double from, double to) {
    const tn_val left = SUB(1.0, DIV(MIN(MAX(step, 0.0), (double)steps), (double)steps));
    return ADD(MUL(from - to, left), to);
}

static tn_val exponential(const site *s, const tn_rate *r, tn_val step) {
    const tn_val rate = MUL(r->value, POW(r->decay, DIV(step, (double)r->steps)));
    if (r->end == 0) return rate;
    return r->decay < 1 ? MAX(rate, r->end) : MIN(rate, r->end);
}

static tn_val cosine(const site *s, const tn_rate *r, tn_val step) {
    const double pi = 3.14159265358979323846, alpha = r->end / r->value;
    const tn_val angle = DIV(MUL(pi, MIN(step, (double)r->steps)), (double)r->steps);
    const tn_val falls = MUL(0.5, ADD(1.0, tn_cos_at(angle, s->file, s->line)));
    return MUL(r->value, ADD(MUL(1 - alpha, falls), alpha));
}

/* f64[] */
static tn_val rate_of(const site *s, const tn_rate *r, tn_val update) {
    if (r->traced) return CONVERT(*r->traced, TN_F64);
    const tn_val k = CONVERT(update, TN_F64), step = r->warmup ? MAX(SUB(k, (double)r->warmup), 0.0) : k;
    tn_val rate;
    switch (r->kind) {
    case TN_RATE_LINEAR: rate = line(s, step, r->steps, r->value, r->end); break;
    case TN_RATE_EXPONENTIAL: rate = exponential(s, r, step); break;
    case TN_RATE_COSINE: rate = cosine(s, r, step); break;
    default: rate = SCALAR(r->value); break;
    }
    if (!r->warmup) return rate;
    return WHERE(LT(k, (double)r->warmup), line(s, k, r->warmup, r->warmup_from, r->value), rate);
}

tn_val tn_optim_rate_at(const tn_rate *rate, tn_val update, const char *file, int line_) {
    const site s = {.c = tn_val_ctx(update), .name = "optim_rate", .file = file, .line = line_};
    if (!s.c) return (tn_val){.id = line_ > 0 ? (uint32_t)line_ : 0};
    const char *bad = rate ? bad_rate(rate) : "the rate is NULL";
    const tn_type t = tn_val_type(update);
    if (!bad && (t.rank != 0 || (t.dtype != TN_I64 && t.dtype != TN_I32)))
        bad = "the update's number is no i64 or i32 scalar";
    return bad ? wrong(&s, TN_EINVAL, bad) : rate_of(&s, rate, update);
}

/* ---- clipping --------------------------------------------------------------------------------- */

/* The norm of all gradients together, in their dtype, or f64 where they differ. */
static tn_val norm(const site *s, size_t n, const tn_val *g) {
    tn_val sum = TN_VAL(0.0);
    bool same = true;
    for (size_t i = 1; i < n; i++) same = same && dtype_of(g[i]) == dtype_of(g[0]);
    for (size_t i = 0; i < n; i++) {
        const tn_val part = tn_sum_squares_at(same ? g[i] : CONVERT(g[i], TN_F64), s->file, s->line);
        sum = i ? ADD(sum, part) : part;
    }
    return SQRT(sum);
}

static void clip(const site *s, size_t n, const tn_val *g, double most, tn_val *out) {
    if (!n) return;
    const tn_val length = norm(s, n, g), short_enough = LT(length, most);
    for (size_t i = 0; i < n; i++)
        out[i] = WHERE(short_enough, g[i], MUL(DIV(g[i], CONVERT(length, dtype_of(g[i]))), most));
}

static const char *bad_gradient(size_t n, const tn_val *g) {
    for (size_t i = 0; i < n; i++) {
        const tn_dtype d = dtype_of(g[i]);
        if (tn_val_ctx(g[i]) && d != TN_F32 && d != TN_F64) return "what is updated has to be arrays of floats";
    }
    return NULL;
}

static tn_ctx *context(size_t n, const tn_val *x) {
    tn_ctx *c = NULL;
    for (size_t i = 0; i < n && x && !c; i++) c = tn_val_ctx(x[i]);
    return c;
}

static void poison(tn_val *out, size_t n, int line_) {
    for (size_t i = 0; i < n && out; i++) out[i] = (tn_val){.id = line_ > 0 ? (uint32_t)line_ : 0};
}

void tn_optim_clip_at(size_t n, const tn_val *grads, double max_norm, tn_val *clipped, const char *file, int line_) {
    const site s = {.c = context(n, grads), .name = "optim_clip", .file = file, .line = line_};
    const char *bad = !positive(max_norm) ? "max_norm is not above 0" : !clipped ? "clipped is NULL" : NULL;
    if (s.c && !bad) bad = bad_gradient(n, grads);
    if (s.c && !bad) {
        clip(&s, n, grads, max_norm, clipped);
        return;
    }
    if (s.c) (void)wrong(&s, TN_EINVAL, bad);
    poison(clipped, n, line_);
}

/* ---- updates ------------------------------------------------------------------------------------ */

/* What all parameters share, f64: rate, and what moments that start at zero are divided by. */
typedef struct shared {
    tn_val rate, first, second;
} shared;

static double or_default(double x, double usual) { return x > 0 ? x : usual; }

/* t / (1 - b^k), where the correction is f64. */
static tn_val corrected(const site *s, tn_val t, tn_val by) { return DIV(t, CONVERT(by, dtype_of(t))); }

static tn_val adam(const site *s, const tn_optim *o, const shared *k, tn_val p, tn_val g, const tn_val *m, tn_val *to) {
    const double b1 = or_default(o->b1, 0.9), b2 = or_default(o->b2, 0.999);
    to[0] = ADD(MUL(1 - b1, g), MUL(b1, m[0]));
    to[1] = ADD(MUL(1 - b2, tn_square_at(g, s->file, s->line)), MUL(b2, m[1]));
    const tn_val root = SQRT(corrected(s, to[1], k->second));
    const tn_val move = DIV(corrected(s, to[0], k->first), ADD(root, or_default(o->eps, 1e-8)));
    return o->rule == TN_ADAMW ? ADD(move, MUL(or_default(o->weight_decay, 1e-4), p)) : move;
}

static tn_val sgd(const site *s, const tn_optim *o, tn_val g, const tn_val *m, tn_val *to) {
    if (o->momentum <= 0) return g;
    to[0] = ADD(g, MUL(o->momentum, m[0]));
    return o->nesterov ? ADD(g, MUL(o->momentum, to[0])) : to[0];
}

/* Parameter i of n; moments lie n apart. */
static void update_one(const site *s, const tn_optim *o, const shared *k, size_t n, size_t i, tn_val p, tn_val g,
                       const tn_val *state, tn_val *to_p, tn_val *to_state) {
    const size_t many = moments(o);
    tn_val m[2], next[2];
    for (size_t j = 0; j < many; j++) m[j] = state[1 + j * n + i];
    const tn_val move = o->rule == TN_SGD ? sgd(s, o, g, m, next) : adam(s, o, k, p, g, m, next);
    for (size_t j = 0; j < many; j++) to_state[1 + j * n + i] = next[j];
    *to_p = SUB(p, MUL(CONVERT(k->rate, dtype_of(p)), move));
}

static const char *bad_types(const tn_optim *o, size_t n, const tn_val *p, const tn_val *g, const tn_val *state) {
    const tn_type count = tn_val_type(state[0]);
    if (tn_val_ctx(state[0]) && (count.rank != 0 || count.dtype != TN_I64))
        return "the state's first array, the count of updates, is not i64[]";
    for (size_t i = 0; i < n; i++) {
        const tn_type t = tn_val_type(p[i]), tg = tn_val_type(g[i]);
        if (!tn_val_ctx(p[i]) || !tn_val_ctx(g[i]))
            continue; /* poison says so itself, and numbers where they are used */
        if (!tn_type_equal(&t, &tg)) return "a gradient has another type than its parameter";
        for (size_t j = 0; j < moments(o); j++) {
            const tn_type m = tn_val_type(state[1 + j * n + i]);
            if (tn_val_ctx(state[1 + j * n + i]) && !tn_type_equal(&t, &m))
                return "a moment of the state has another type than its parameter (tn_optim_state)";
        }
    }
    return bad_gradient(n, p);
}

static void update_all(const site *s, const tn_optim *o, size_t n, const tn_val *p, const tn_val *g,
                       const tn_val *state, tn_val *to_p, tn_val *to_state, tn_val *clipped) {
    const tn_val before = state[0], now = tn_add_at(before, tn_number_i64(1), s->file, s->line);
    shared k = {.rate = rate_of(s, &o->rate, before)};
    if (o->rule != TN_SGD) {
        k.first = SUB(1.0, POW(or_default(o->b1, 0.9), CONVERT(now, TN_F64)));
        k.second = SUB(1.0, POW(or_default(o->b2, 0.999), CONVERT(now, TN_F64)));
    }
    if (o->clip > 0) clip(s, n, g, o->clip, clipped);
    for (size_t i = 0; i < n; i++)
        update_one(s, o, &k, n, i, p[i], o->clip > 0 ? clipped[i] : g[i], state, &to_p[i], to_state);
    to_state[0] = now;
}

void tn_optim_update_at(const tn_optim *o, size_t n, const tn_val *params, const tn_val *grads, const tn_val *state,
                        tn_val *new_params, tn_val *new_state, const char *file, int line_) {
    site s = {.c = context(n, params), .name = "optim_update", .file = file, .line = line_};
    if (!s.c) s.c = context(1, state);
    const char *bad = !o ? "the options are NULL" : tn_i_optim_wrong(o);
    tn_status status = TN_EINVAL;
    if (!bad) bad = bad_rate(&o->rate);
    if (!bad && (!state || !new_state || (n && (!params || !grads || !new_params)))) bad = "an array of values is NULL";
    if (!bad && s.c && (bad = bad_types(o, n, params, grads, state))) status = TN_ETYPE;
    if (s.c && !bad) {
        tn_val *clipped = tn_i_alloc_array(s.c, n, sizeof *clipped);
        if (clipped) {
            update_all(&s, o, n, params, grads, state, new_params, new_state, clipped);
            tn_i_free(s.c, clipped, n * sizeof *clipped);
            return;
        }
        bad = tn_status_text(status = TN_ENOMEM);
    }
    if (s.c && bad) (void)wrong(&s, status, bad);
    poison(new_params, n, line_);
    poison(new_state, o ? 1 + (tn_i_optim_wrong(o) ? 0 : moments(o) * n) : 0, line_);
}
