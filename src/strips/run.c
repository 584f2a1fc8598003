/* Running strips: one instruction after another. */
#include "strips/inside.h"

#include <string.h>

static int64_t integer(const tn_i_s_state *t, const tn_i_s_op *e) {
    const char *x = tn_i_s_in(t, e, 0);
    return e->index == TN_I32 ? *(const int32_t *)(const void *)x : *(const int64_t *)(const void *)x;
}

static bool truth(const tn_i_s_state *t, const tn_i_s_op *e) { return *tn_i_s_in(t, e, 0) != 0; }

/* ---- arithmetic ---- */

static void map(const tn_i_s_state *t, const tn_i_s_op *e) {
    if (!e->varies && e->one) {
        e->one(tn_i_s_in(t, e, 0), tn_i_s_in(t, e, 1), tn_i_s_in(t, e, 2), tn_i_s_out(t, e));
        return;
    }
    const void *in[4] = {tn_i_s_in(t, e, 0), tn_i_s_in(t, e, 1), tn_i_s_in(t, e, 2), NULL};
    e->strip(e->varies ? t->n : 1, in, e->s, tn_i_s_out(t, e), 1);
}

static bool by_kernel(tn_i_s_state *t, const tn_i_s_op *e) {
    const tn_i_loops *p = t->s->p;
    const tn_i_l_op *o = &p->op[e->op];
    const int64_t n = e->varies ? t->n : 1;
    char *out = tn_i_s_out(t, e);
    for (int64_t i = 0; i < n; i++) {
        uint64_t in[3] = {0}, x;
        for (int k = 0; k < o->nin; k++) in[k] = tn_i_l_get(p->op[o->in[k]].dtype, tn_i_s_in(t, e, k), i * e->s[k]);
        t->status = tn_i_l_by_kernel(p, o, in, &x);
        if (t->status != TN_OK) return false;
        tn_i_l_put(o->dtype, out, i, x);
    }
    return true;
}

static void halves(const tn_i_s_state *t, const tn_i_s_op *e) {
    char *x = t->reg + e->slot;
    uint64_t a, b;
    for (int64_t h = e->last / 2; h > 0; h /= 2)
        for (int64_t l = 0; l < h; l++) {
            a = tn_i_l_get(e->dtype, x, l);
            b = tn_i_l_get(e->dtype, x, l + h);
            tn_i_l_put(e->dtype, x, l, tn_i_l_fold((int)e->by, e->dtype, a, b));
        }
    memcpy(t->reg + e->out, x, e->size);
}

static void keep(const tn_i_s_state *t, const tn_i_s_op *e) {
    char *to = t->reg + e->slot + *tn_i_s_number(t, e->in[1]) * e->size;
    tn_i_s_copy(e->size, tn_i_s_in(t, e, 0), e->s[0], to, e->varies ? t->n : 1);
}

static void join(const tn_i_s_state *t, const tn_i_s_op *e) {
    const int k = *tn_i_s_number(t, e->in[2]) ? 0 : 1;
    tn_i_s_copy(e->size, tn_i_s_in(t, e, k), e->s[k], t->reg + e->out, e->varies ? t->n : 1);
}

/* ---- kernels ---- */

enum { ARGUMENTS = 64 };

/* Its arguments' expressions are in the instructions behind it. */
static bool call(tn_i_s_state *t, const tn_i_s_op *e) {
    const tn_i_loops *p = t->s->p;
    const tn_i_l_op *o = &p->op[e->op];
    const tn_i_l_kernel *f = &p->kernel[o->which];
    char *at[ARGUMENTS] = {0};
    int64_t number[ARGUMENTS] = {0};
    uint32_t nat = 0, nnumber = 0;
    if (!f->run || o->narg > ARGUMENTS) {
        t->status = TN_ERULE;
        return false;
    }
    for (uint32_t i = 0; i < o->narg; i++) {
        const tn_i_l_arg *a = &p->arg[o->arg + i];
        const tn_i_l_array *x = &p->array[a->array];
        const int64_t k = tn_i_s_sum_of(t, e + 1 + i);
        if (a->access == TN_L_INTEGER)
            number[nnumber++] = k;
        else
            at[nat++] = (x->role == TN_L_CONST ? (char *)(uintptr_t)x->data : t->base[x->base] + x->at) +
                        k * (int64_t)tn_i_dtype_size(x->dtype);
    }
    t->status = f->run(f->data, t->run, at, number);
    return t->status == TN_OK;
}

/* ---- loops ---- */

/* How many iterations there are. */
static int64_t count(const tn_i_s_state *t, const tn_i_s_op *e) {
    int64_t n = tn_i_s_sum_of(t, e);
    const int64_t more = e->index < TN_NDTYPES ? integer(t, e) : 0;
    if (!tn_i_add_i64(n, more, &n)) n = more < 0 ? 0 : e->last;
    return n < 0 ? 0 : n < e->last ? n : e->last;
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static uint32_t begin_loop(tn_i_s_state *t, const tn_i_s_op *e, uint32_t k) {
    const int64_t n = count(t, e);
    *tn_i_s_number(t, e->out) = 0;
    *tn_i_s_number(t, e->slot) = n;
    if (n && e->kind == TN_S_VECTOR) t->n = least(n, least(e->by, t->s->strip));
    return n ? k + 1 : e->to;
}

static uint32_t end_loop(tn_i_s_state *t, uint32_t k) {
    const tn_i_s_op *e = &t->s->op[k];
    return ++*tn_i_s_number(t, e->out) < *tn_i_s_number(t, e->slot) ? k + 1 : e->to;
}

static uint32_t end_vector(tn_i_s_state *t, uint32_t k) {
    const tn_i_s_op *e = &t->s->op[k];
    const int64_t at = *tn_i_s_number(t, e->out) += t->n, n = *tn_i_s_number(t, e->slot);
    t->n = at < n ? least(n - at, least(e->by, t->s->strip)) : 1;
    return at < n ? k + 1 : e->to;
}

static void run_from(tn_i_s_state *t, uint32_t k);

/* What a part of a parallel loop is told, in front of what the program is. */
typedef struct sharing {
    tn_i_l_run run;
    const tn_i_s_state *of;
    uint32_t loop;
} sharing;

static tn_status part(const tn_i_l_run *run, char *const *base, int64_t i) {
    const sharing *s = (const sharing *)(const void *)run;
    const tn_i_s_op *e = &s->of->s->op[s->loop];
    tn_i_s_state t = {.s = s->of->s, .run = s->of->run, .base = base, .room = s->of->room, .n = 1, .status = TN_OK};
    t.reg = t.room + (size_t)(i + 1) * t.s->bytes;
    *tn_i_s_number(&t, e->out) = i;
    run_from(&t, s->loop + 1);
    return t.status;
}

static void in_parts(tn_i_s_state *t, const tn_i_s_op *e, uint32_t k) {
    const int64_t n = count(t, e);
    const sharing s = {*t->run, t, k};
    if (t->run->share) {
        t->status = t->run->share(&s.run, t->base, n, part);
        return;
    }
    for (int64_t i = 0; i < n && t->status == TN_OK; i++) {
        *tn_i_s_number(t, e->out) = i;
        run_from(t, k + 1);
    }
}

/* ---- all of it ---- */

static void run_from(tn_i_s_state *t, uint32_t k) {
    const tn_i_s_op *op = t->s->op;
    for (;;) {
        const tn_i_s_op *e = &op[k++];
        switch ((tn_i_s_kind)e->kind) {
        case TN_S_MAP: map(t, e); break;
        case TN_S_KERNEL:
            if (!by_kernel(t, e)) return;
            break;
        case TN_S_COPY:
            tn_i_s_copy(e->size, tn_i_s_in(t, e, 0), e->s[0], tn_i_s_out(t, e), e->varies ? t->n : 1);
            break;
        case TN_S_INDEX: tn_i_s_index(t, e); break;
        case TN_S_WITHIN: tn_i_s_within(t, e); break;
        case TN_S_PLACE: tn_i_s_place(t, e); break;
        case TN_S_LOAD: tn_i_s_load(t, e); break;
        case TN_S_STORE: tn_i_s_store(t, e); break;
        case TN_S_JOIN: join(t, e); break;
        case TN_S_KEEP: keep(t, e); break;
        case TN_S_HALVES: halves(t, e); break;
        case TN_S_REDUCE: tn_i_s_empty(t, e); break;
        case TN_S_INTO: tn_i_s_into(t, e); break;
        case TN_S_TOTAL: tn_i_s_total(t, e); break;
        case TN_S_WHILE:
            if (!truth(t, e)) k = e->to;
            break;
        case TN_S_CALL:
            if (e->op == TN_L_NONE) break;
            if (!call(t, e)) return;
            break;
        case TN_S_FOR:
        case TN_S_VECTOR: k = begin_loop(t, e, k - 1); break;
        case TN_S_PARALLEL:
            in_parts(t, e, k - 1);
            if (t->status != TN_OK) return;
            k = e->to;
            break;
        case TN_S_IF:
            *tn_i_s_number(t, e->out) = truth(t, e);
            if (!truth(t, e)) k = e->to;
            break;
        case TN_S_GO: k = e->to; break;
        case TN_S_END: k = end_loop(t, e->to); break;
        case TN_S_VECTOR_END: k = end_vector(t, e->to); break;
        case TN_S_STOP: return;
        }
    }
}

tn_status tn_i_strips_run(const tn_i_strips *s, const tn_i_l_run *run, char *const *base, char *room) {
    static const tn_i_l_run nobody = {0};
    tn_i_s_state t = {
        .s = s, .run = run ? run : &nobody, .base = base, .reg = room, .room = room, .n = 1, .status = TN_OK};
    run_from(&t, 0);
    return t.status;
}
