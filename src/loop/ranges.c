/* How large an affine expression can be, by the loops and conditions around it.
 *
 * Facts are inequalities f <= most between affine expressions: of a loop, 0 <= i, i <= hi - 1, and i <= e - 1 where its
 * count is e alone; of a condition, its bounds.  To bound an expression, the innermost loop that it counts is
 * eliminated by one fact in which that is the innermost, then the next, until a number is left; each choice of facts
 * gives a bound, and one that is good enough is looked for. */
#include "loop/inside.h"

enum { FACTS = 256, TRIES = 20000, CONJUNCTS = 32 };

typedef struct fact {
    tn_i_affine f;
    int64_t most;
} fact;

/* What is known in one place of a program. */
typedef struct finder {
    const tn_i_l_known *z;
    uint32_t nfact, tries;
    bool never;                /* a condition around it is of numbers, and false: it is never asked for */
    uint32_t depth, top, mask; /* the place: the blocks that are open, of which these are the innermost, and the mask */
    fact fact[FACTS];
} finder;

/* a + by x, its terms sorted; false where a number is too large. */
static bool add(tn_i_affine *a, int64_t by, const tn_i_affine *x) {
    int64_t more;
    if (!tn_i_mul_i64(by, x->at, &more) || !tn_i_add_i64(a->at, more, &a->at)) return false;
    for (uint32_t i = 0; i < x->n; i++) {
        uint32_t j = 0;
        if (!tn_i_mul_i64(by, x->term[i].by, &more)) return false;
        while (j < a->n && a->term[j].loop < x->term[i].loop) j++;
        if (j < a->n && a->term[j].loop == x->term[i].loop) {
            if (!tn_i_add_i64(a->term[j].by, more, &a->term[j].by)) return false;
            if (a->term[j].by == 0)
                for (a->n--; j < a->n; j++) a->term[j] = a->term[j + 1];
            continue;
        }
        if (a->n == TN_L_TERMS) return false;
        for (uint32_t m = a->n++; m > j; m--) a->term[m] = a->term[m - 1];
        a->term[j] = (tn_i_l_term){x->term[i].loop, more};
    }
    return true;
}

static void know(finder *w, tn_i_affine f, int64_t most) {
    if (w->nfact < FACTS && f.n) w->fact[w->nfact++] = (fact){f, most};
}

static tn_i_affine negative(tn_i_affine e) {
    tn_i_affine a = {0};
    if (!add(&a, -1, &e)) a = (tn_i_affine){0}; /* nothing is known of it */
    return a;
}

static void know_loop(finder *w, uint32_t k) {
    const tn_i_l_op *o = &w->z->p->op[k];
    const tn_i_affine i = tn_i_affine_loop(k, 1, 0);
    know(w, negative(i), 0);
    int64_t n;
    if (tn_i_l_known_count(w->z->p, k, &n))
        know(w, i, n - 1);
    else if (o->hi != INT64_MAX)
        know(w, i, o->hi - 1);
    if (o->in[0] != TN_L_NONE) return;
    tn_i_affine f = negative(tn_i_l_affine_of(w->z->p, &o->at));
    if (f.n && add(&f, 1, &i)) know(w, f, -1);
}

/* lo <= e < hi, or that it is not so. */
static void know_within(finder *w, const tn_i_l_op *o, bool so) {
    const tn_i_affine e = tn_i_l_affine_of(w->z->p, &o->at);
    if (e.n == 0 && so != (o->lo <= e.at && (e.at < o->hi || o->hi == INT64_MAX))) w->never = true;
    if (so) {
        if (o->hi != INT64_MAX && o->hi != INT64_MIN) know(w, e, o->hi - 1);
        if (o->lo != INT64_MIN) know(w, negative(e), -o->lo);
    } else if (o->lo == INT64_MIN && o->hi > INT64_MIN + 1)
        know(w, negative(e), -o->hi);
    else if (o->hi == INT64_MAX && o->lo != INT64_MIN)
        know(w, e, o->lo - 1);
}

static void know_condition(finder *w, uint32_t p, bool so) {
    uint32_t left[CONJUNCTS], n = 0;
    left[n++] = p;
    while (n > 0) {
        const tn_i_l_op *o = &w->z->p->op[left[--n]];
        if (o->kind == TN_L_WITHIN)
            know_within(w, o, so);
        else if (so && o->kind == TN_L_MAP && o->code == TN_L_and && n + 2 <= CONJUNCTS) {
            left[n++] = o->in[0];
            left[n++] = o->in[1];
        }
    }
}

static void gather(finder *w) {
    const tn_i_l_known *z = w->z;
    for (uint32_t d = 0; d < z->depth; d++) {
        const tn_i_l_op *o = &z->p->op[z->open[d]];
        if (o->kind == TN_L_FOR)
            know_loop(w, z->open[d]);
        else if (o->kind == TN_L_IF)
            know_condition(w, o->in[0], true);
        else if (o->kind == TN_L_ELSE)
            know_condition(w, z->p->op[o->which].in[0], false);
    }
    if (z->mask != TN_L_NONE) know_condition(w, z->mask, true);
}

/* Which fact comes after `from` by which the innermost loop of e can be eliminated; nfact: none. */
static uint32_t next_fact(const finder *w, const tn_i_affine *e, uint32_t from) {
    const tn_i_l_term *t = &e->term[e->n - 1];
    for (; from < w->nfact; from++) {
        const tn_i_l_term *s = &w->fact[from].f.term[w->fact[from].f.n - 1];
        if (s->loop == t->loop && (s->by > 0) == (t->by > 0) && s->by != 0 && t->by % s->by == 0) break;
    }
    return from;
}

static bool search(finder *w, tn_i_affine e, int64_t bound) {
    tn_i_affine at[2 * TN_L_TERMS]; /* what is left to bound after so many eliminations */
    uint32_t tried[2 * TN_L_TERMS] = {0};
    int depth = 0;
    at[0] = e;
    while (depth >= 0 && w->tries++ < TRIES) {
        const tn_i_affine *x = &at[depth];
        if (x->n == 0 && x->at <= bound) return true;
        const uint32_t i = x->n == 0 || depth + 1 == 2 * TN_L_TERMS ? w->nfact : next_fact(w, x, tried[depth]);
        if (i == w->nfact) {
            depth--;
            continue;
        }
        tried[depth] = i + 1;
        const fact *f = &w->fact[i];
        const int64_t by = x->term[x->n - 1].by / f->f.term[f->f.n - 1].by;
        tn_i_affine rest = *x, most = {.at = f->most};
        if (!add(&rest, -by, &f->f) || !add(&rest, by, &most)) continue;
        at[++depth] = rest;
        tried[depth] = 0;
    }
    return false;
}

void *tn_i_l_room(tn_ctx *c) {
    finder *w = tn_i_alloc(c, sizeof *w);
    if (w) w->z = NULL; /* nothing is gathered */
    return w;
}

void tn_i_l_room_drop(tn_ctx *c, void *room) { tn_i_free(c, room, room ? sizeof(finder) : 0); }

/* What was gathered for the question before holds as long as the same blocks are open. */
static void gather_once(finder *w, const tn_i_l_known *z) {
    const uint32_t top = z->depth ? z->open[z->depth - 1] : TN_L_NONE;
    const bool same = w->z && w->depth == z->depth && w->top == top && w->mask == z->mask;
    w->z = z;
    w->tries = 0;
    if (same) return;
    w->nfact = 0;
    w->never = false;
    w->depth = z->depth;
    w->top = top;
    w->mask = z->mask;
    gather(w);
}

bool tn_i_l_at_most(const tn_i_l_known *z, tn_i_affine e, int64_t bound) {
    if (e.n == 0 && e.at <= bound) return true;
    finder *w = z->room ? z->room : tn_i_l_room(z->p->ctx);
    if (!w) return false;
    gather_once(w, z);
    const bool ok = w->never || search(w, e, bound);
    if (!z->room) tn_i_l_room_drop(z->p->ctx, w);
    return ok;
}

bool tn_i_l_at_least(const tn_i_l_known *z, tn_i_affine e, int64_t bound) {
    const tn_i_affine minus = negative(e);
    if (e.n == 0 && e.at >= bound) return true;
    const bool is = minus.n || (e.n == 0 && e.at != INT64_MIN);
    return is && bound != INT64_MIN && tn_i_l_at_most(z, minus, -bound);
}
