/* Outermost loops whose iterations do not depend on each other are shared by threads: a parallel loop of as many parts
 * as there are threads, each of so many iterations in a row, and what is left over behind it.
 *
 * A part reads nothing from outside: what its iterations need of that is computed again in each.  Scratch memory in
 * which an iteration keeps what is its own is each part's own. */
#include "loop/inside.h"
#include "loop/overlaps.h"
#include "pass/inside.h"

#include <string.h>

typedef struct sharing {
    const tn_i_loops *p;
    const tn_i_machine *m;
    tn_i_l_copy c;
    bool *stored, *own;       /* of each array: somewhere in p; in the loop that is looked at, of an iteration alone */
    bool *needed;             /* of each operation outside: by the loop that is looked at */
    uint32_t *outside, *mine; /* values there, while a part is written; the parts' arrays in place of each own one */
    int64_t *stride;          /* from one part's to the next one's */
} sharing;

/* ---- which ---- */

static bool accesses(const tn_i_l_op *o) { return o->kind == TN_L_LOAD || o->kind == TN_L_STORE; }

static bool plain(const tn_i_loops *p, uint32_t k) {
    const uint32_t to = p->op[k].to;
    const uint8_t behind = to + 1 < p->nop ? p->op[to + 1].kind : TN_L_END;
    if (p->op[k].vector || p->op[k].parallel || behind == TN_L_LAST || behind == TN_L_HALVES) return false;
    for (uint32_t i = k + 1, depth = 0; i < to; i++) {
        const tn_i_l_op *o = &p->op[i];
        const bool left = depth == 0 && (o->kind == TN_L_CARRY || o->kind == TN_L_WHILE);
        if (left || o->kind == TN_L_CALL || o->parallel || (o->kind == TN_L_INTO && o->in[0] < k)) return false;
        depth += o->kind == TN_L_FOR;
        depth -= o->kind == TN_L_END && p->op[o->to].kind == TN_L_FOR;
    }
    return true;
}

/* Whether n iterations of loop k come to so many operations. */
static bool worth(const tn_i_loops *p, uint32_t k, int64_t n, int64_t least) {
    int64_t times[TN_L_DEPTH + 1] = {n < least ? n : least}, sum = 0;
    for (uint32_t i = k + 1, depth = 0; i < p->op[k].to && sum < least; i++) {
        const tn_i_l_op *o = &p->op[i];
        int64_t count = o->hi;
        if (o->kind == TN_L_END && p->op[o->to].kind == TN_L_FOR) depth--;
        sum += times[depth];
        if (o->kind != TN_L_FOR) continue;
        (void)tn_i_l_known_count(p, i, &count);
        times[depth + 1] = count < least && times[depth] * count < least ? times[depth] * count : least;
        depth++;
    }
    return sum >= least;
}

/* A value outside of all loops that can be computed anywhere. */
static bool repeatable(const sharing *z, const tn_i_l_op *o) {
    switch (o->kind) {
    case TN_L_NUMBER:
    case TN_L_INDEX:
    case TN_L_WITHIN:
    case TN_L_MAP: return o->at.n == 0;
    case TN_L_LOAD: return o->at.n == 0 && !z->stored[o->which];
    default: return false;
    }
}

static bool find_needed(sharing *z, uint32_t k) {
    const tn_i_loops *p = z->p;
    memset(z->needed, 0, p->nop * sizeof *z->needed);
    for (uint32_t i = p->op[k].to; i-- > 0;) {
        const tn_i_l_op *o = &p->op[i];
        if (i == k || (i < k && !z->needed[i])) continue;
        if (i < k && !repeatable(z, o)) return false;
        for (int j = 0; j < 3; j++)
            if (o->in[j] < k) z->needed[o->in[j]] = true;
    }
    return true;
}

/* Iterations of a part, a multiple of the vectors'; 0: the loop is not shared. */
static int64_t part_of(sharing *z, uint32_t k) {
    int64_t n;
    if (z->m->threads < 2 || !tn_i_l_known_count(z->p, k, &n) || !plain(z->p, k)) return 0;
    int64_t part = n / z->m->threads;
    if (part >= 4 * z->m->vector) part -= part % z->m->vector;
    const bool is = part > 0 && worth(z->p, k, n, z->m->worth) && tn_i_l_find_own(z->p, k, z->own) &&
                    find_needed(z, k) && tn_i_l_apart(z->p, k, n, z->own);
    return is ? part : 0;
}

/* ---- parts ---- */

static void make_own(sharing *z) {
    for (uint32_t i = 0; i < z->p->narray && !z->c.b->failed; i++) {
        const tn_i_l_array *a = &z->p->array[i];
        const int64_t size = (int64_t)tn_i_dtype_size(a->dtype);
        int64_t bytes, count;
        if (!z->own[i]) continue;
        if (!tn_i_mul_i64(a->count, size, &bytes) || !tn_i_add_i64(bytes, 63, &bytes) ||
            !tn_i_mul_i64(z->stride[i] = (bytes - bytes % 64) / size, z->m->threads, &count))
            tn_i_l_fail(z->c.b, TN_EOVERFLOW, "the parts of an array are too large");
        else
            z->mine[i] = tn_i_l_scratch(z->c.b, a->name, a->dtype, count, 0);
    }
}

static void copy_own(sharing *z, uint32_t k, uint32_t part) {
    const tn_i_l_op *o = &z->p->op[k];
    uint32_t *value = z->c.value;
    tn_i_l_where w = {.array = z->mine[o->which], .e = tn_i_l_copy_affine(&z->c, &o->at)};
    w.e = tn_i_affine_term(z->c.b, w.e, part, z->stride[o->which]);
    w.indexed = o->in[0] != TN_L_NONE;
    if (w.indexed) w.index = value[o->in[0]], w.by = o->lo, w.last = o->hi;
    w.masked = o->in[1] != TN_L_NONE;
    if (w.masked) w.mask = value[o->in[1]];
    if (w.masked && o->kind == TN_L_LOAD) w.otherwise = value[o->in[2]];
    if (o->kind == TN_L_LOAD)
        value[k] = tn_i_l_load(z->c.b, &w);
    else
        tn_i_l_store_like(z->c.b, o, &w, value[o->in[2]]);
}

static void copy_part(sharing *z, uint32_t k, int64_t n) {
    tn_i_l_builder *b = z->c.b;
    const uint32_t part = tn_i_l_for_n(b, z->m->threads);
    tn_i_l_set_parallel(b, part);
    for (uint32_t i = 0; i < k; i++)
        if (z->needed[i]) {
            z->outside[i] = z->c.value[i];
            tn_i_l_copy_op(&z->c, i);
        }
    const uint32_t loop = tn_i_l_for_n(b, n);
    tn_i_l_copy_loop(&z->c, k, tn_i_affine_term(b, tn_i_affine_loop(part, n, 0), loop, 1));
    for (uint32_t i = k + 1; i < z->p->op[k].to && !b->failed; i++) {
        const tn_i_l_op *o = &z->p->op[i];
        if (accesses(o) && z->own[o->which])
            copy_own(z, i, part);
        else
            tn_i_l_copy_op(&z->c, i);
    }
    tn_i_l_close(b);
    tn_i_l_close(b);
    for (uint32_t i = 0; i < k; i++)
        if (z->needed[i]) z->c.value[i] = z->outside[i];
}

static void copy_rest(sharing *z, uint32_t k, int64_t first) {
    int64_t n = 0;
    (void)tn_i_l_known_count(z->p, k, &n);
    if (first == n) return;
    const uint32_t loop = tn_i_l_for_n(z->c.b, n - first);
    tn_i_l_copy_loop(&z->c, k, tn_i_affine_loop(loop, 1, first));
    tn_i_l_copy_ops(&z->c, k + 1, z->p->op[k].to);
    tn_i_l_close(z->c.b);
}

static void copy_all(sharing *z) {
    for (uint32_t k = 0; k < z->p->nop && !z->c.b->failed; k++) {
        const uint8_t kind = z->p->op[k].kind;
        const bool block = kind == TN_L_FOR || kind == TN_L_IF;
        const int64_t part = kind == TN_L_FOR ? part_of(z, k) : 0;
        if (part) {
            make_own(z);
            copy_part(z, k, part);
            copy_rest(z, k, part * z->m->threads);
            k = z->p->op[k].to;
        } else if (block) { /* with all that is in it */
            uint32_t to = z->p->op[k].to;
            while (z->p->op[to].kind != TN_L_END) to = z->p->op[to].to;
            tn_i_l_copy_ops(&z->c, k, to + 1);
            k = to;
        } else
            tn_i_l_copy_op(&z->c, k);
    }
}

/* ---- the pass ---- */

/* Arrays whose memory something is stored to. */
static bool find_stored(sharing *z) {
    tn_i_l_overlaps shared;
    const bool ok = tn_i_l_overlaps_find(&shared, z->p);
    for (uint32_t k = 0; ok && k < z->p->nop; k++) {
        const uint32_t array = z->p->op[k].which;
        size_t i;
        if (z->p->op[k].kind != TN_L_STORE) continue;
        for (size_t last = tn_i_l_overlaps_of(&shared, z->p, array, &i); i < last; i++)
            z->stored[shared.span[i].array] |= tn_i_l_overlap(z->p, shared.span[i].array, array);
    }
    tn_i_l_overlaps_drop(z->p->ctx, &shared);
    return ok;
}

static bool begin(sharing *z) {
    tn_ctx *c = z->p->ctx;
    const uint32_t n = z->p->narray + 1, ops = z->p->nop;
    z->stored = tn_i_alloc_array(c, n, sizeof *z->stored);
    z->own = tn_i_alloc_array(c, n, sizeof *z->own);
    z->mine = tn_i_alloc_array(c, n, sizeof *z->mine);
    z->stride = tn_i_alloc_array(c, n, sizeof *z->stride);
    z->needed = tn_i_alloc_array(c, ops, sizeof *z->needed);
    z->outside = tn_i_alloc_array(c, ops, sizeof *z->outside);
    if (!z->stored || !z->own || !z->mine || !z->stride || !z->needed || !z->outside) return false;
    memset(z->stored, 0, n * sizeof *z->stored);
    return find_stored(z);
}

static void end(const sharing *z) {
    tn_ctx *c = z->p->ctx;
    const uint32_t n = z->p->narray + 1, ops = z->p->nop;
    if (z->stored) tn_i_free(c, z->stored, n * sizeof *z->stored);
    if (z->own) tn_i_free(c, z->own, n * sizeof *z->own);
    if (z->mine) tn_i_free(c, z->mine, n * sizeof *z->mine);
    if (z->stride) tn_i_free(c, z->stride, n * sizeof *z->stride);
    if (z->needed) tn_i_free(c, z->needed, ops * sizeof *z->needed);
    if (z->outside) tn_i_free(c, z->outside, ops * sizeof *z->outside);
}

tn_i_loops *tn_i_pass_parallelize(tn_i_loops *p, const tn_i_machine *m) {
    if (m->threads < 2 || p->nop == 0) return p;
    tn_i_l_builder b;
    sharing z = {.p = p, .m = m};
    tn_i_l_begin(&b, p->ctx);
    if (!begin(&z)) b.failed = true;
    if (tn_i_l_copy_begin(&z.c, &b, p)) copy_all(&z);
    tn_i_l_copy_end(&z.c);
    end(&z);
    tn_i_l_free(p);
    return tn_i_l_end(&b);
}
