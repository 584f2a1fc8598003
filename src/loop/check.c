/* Whether a loop program is well formed and stays within its arrays. */
#include "loop/inside.h"
#include "loop/places.h"
#include "prims/ids.h"
#include "prims/strips.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* What is known of an operation once it was met. */
typedef struct note {
    uint32_t scope; /* the block that it stands in; TN_L_NONE: none */
    uint8_t depth;  /* blocks around it, itself not counted */
    bool varies;    /* within the vector loop that is open: not one number for all its iterations */
    bool done;      /* CARRY: it has a NEXT; FOR: it has a WHILE */
} note;

typedef struct checker {
    const tn_i_loops *p;
    note *note;
    uint32_t k; /* the operation that is looked at */
    const tn_i_l_op *o;
    uint32_t open[TN_L_DEPTH], depth;
    uint32_t closed;           /* the END that only LASTs, HALVES and JOINs stand behind, or TN_L_NONE */
    uint32_t vector, parallel; /* the open loops, or TN_L_NONE */
    void *room;                /* tn_i_l_room */
    uint32_t empty;            /* the open loop that never runs, or TN_L_NONE */
} checker;

static bool bad(const checker *z, const char *fmt, ...) {
    char why[256], text[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    tn_i_l_statement(z->p, z->k, text, sizeof text);
    (void)tn_i_fail(z->p->ctx, TN_ERULE, NULL, "loop program: %s: %s", text, why);
    return false;
}

/* ---- scopes ---- */

static bool stands_open(const checker *z, uint32_t scope, uint32_t depth) {
    return depth <= z->depth && (depth == 0 || z->open[depth - 1] == scope);
}

static uint32_t innermost(const checker *z) { return z->depth ? z->open[z->depth - 1] : TN_L_NONE; }

static bool seen(const checker *z, uint32_t v) {
    return v < z->k && stands_open(z, z->note[v].scope, z->note[v].depth) &&
           (z->parallel == TN_L_NONE || v > z->parallel);
}

static bool value(const checker *z, int i) {
    const uint32_t v = z->o->in[i];
    if (v == TN_L_NONE) return bad(z, "operand %d is missing", i);
    if (v >= z->k || !tn_i_l_has_value(&z->p->op[v])) return bad(z, "operand %d is no value", i);
    if (seen(z, v)) return true;
    return bad(z,
               z->parallel != TN_L_NONE && v < z->parallel ? "operand %d is from outside of a parallel loop"
                                                           : "operand %d is out of scope",
               i);
}

static bool value_of(const checker *z, int i, int dtype) {
    if (!value(z, i)) return false;
    const int is = z->p->op[z->o->in[i]].dtype;
    return is == dtype || bad(z, "operand %d is of %s, not %s", i, tn_i_dtype_name(is), tn_i_dtype_name(dtype));
}

static bool integer(const checker *z, int i) {
    if (!value(z, i)) return false;
    const int is = z->p->op[z->o->in[i]].dtype;
    return tn_i_is_index(is) || bad(z, "operand %d is of %s, not an integer with a sign", i, tn_i_dtype_name(is));
}

static bool varies(const checker *z, uint32_t v) { return v != TN_L_NONE && z->note[v].varies; }

static bool affine(const checker *z, const tn_i_l_affine *a) {
    const tn_i_l_term *t = tn_i_l_terms(z->p, a);
    for (uint32_t i = 0; i < a->n; i++) {
        const uint32_t loop = t[i].loop;
        if (loop >= z->k || z->p->op[loop].kind != TN_L_FOR || !stands_open(z, loop, z->note[loop].depth + 1u) ||
            z->note[loop].depth >= z->depth)
            return bad(z, "a loop is counted that is not open");
        if (t[i].by == 0 || (i && t[i - 1].loop >= loop)) return bad(z, "terms are not in order");
    }
    return true;
}

/* ---- memory ---- */

static bool never_runs(const checker *z) { return z->empty != TN_L_NONE; }

/* [first, first + more] and [first + less, first] are elements of the n there are. */
static bool in_range(const checker *z, const tn_i_l_affine *a, uint32_t mask, int64_t less, int64_t more, int64_t n,
                     const char *what) {
    const tn_i_l_known known = {z->p, z->open, z->depth, mask, z->room};
    const tn_i_affine e = tn_i_l_affine_of(z->p, a);
    int64_t bound;
    if (never_runs(z)) return true;
    if (!tn_i_mul_i64(less, -1, &bound) || !tn_i_l_at_least(&known, e, bound))
        return bad(z, "%s: it is not known to be at least 0", what);
    if (!tn_i_mul_i64(more, -1, &bound) || !tn_i_add_i64(n - 1, bound, &bound) || !tn_i_l_at_most(&known, e, bound))
        return bad(z, "%s: it is not known to be less than %lld", what, (long long)n);
    return true;
}

static bool access(const checker *z) {
    const tn_i_l_op *o = z->o;
    if (o->which >= z->p->narray) return bad(z, "there is no such array");
    const tn_i_l_array *a = &z->p->array[o->which];
    int64_t step = 0;
    if (!affine(z, &o->at)) return false;
    if (o->in[0] != TN_L_NONE) {
        if (!integer(z, 0)) return false;
        if (o->hi < 0) return bad(z, "the largest index is negative");
        if (!tn_i_mul_i64(o->lo, o->hi, &step)) return bad(z, "the address is too large");
    }
    if (o->in[1] != TN_L_NONE && !value_of(z, 1, TN_BOOL)) return false;
    return in_range(z, &o->at, o->in[1], step < 0 ? step : 0, step > 0 ? step : 0, a->count, "index");
}

static bool load(const checker *z) {
    const tn_i_l_op *o = z->o;
    if (!access(z)) return false;
    if (o->dtype != tn_i_holder(z->p->array[o->which].dtype)) return bad(z, "the array is of another dtype");
    if (o->in[1] == TN_L_NONE) return o->in[2] == TN_L_NONE || bad(z, "a value without a condition");
    return value_of(z, 2, o->dtype);
}

/* In a vector loop nothing else touches what it touches. */
static bool update(const checker *z) {
    const tn_i_l_op *o = z->o;
    const tn_i_l_array *a = &z->p->array[o->which];
    if (o->code != TN_L_add && o->code != TN_L_mul && o->code != TN_L_max && o->code != TN_L_min)
        return bad(z, "an update is by add, mul, max or min");
    if (a->dtype == TN_BOOL || tn_i_is_held(a->dtype)) return bad(z, "%s is not updated", tn_i_dtype_name(a->dtype));
    for (uint32_t i = z->vector; z->vector != TN_L_NONE && i < z->p->op[z->vector].to; i++) {
        const tn_i_l_op *x = &z->p->op[i];
        if (i != z->k && (x->kind == TN_L_LOAD || x->kind == TN_L_STORE) && !tn_i_l_never_meet(z->p, z->vector, x, o))
            return bad(z, "something else in the vector loop touches %s", a->name);
    }
    return true;
}

static bool store(const checker *z) {
    const tn_i_l_op *o = z->o;
    if (!access(z)) return false;
    const tn_i_l_array *a = &z->p->array[o->which];
    if (a->role == TN_L_IN || a->role == TN_L_CONST) return bad(z, "%s is read only", a->name);
    if (!value_of(z, 2, tn_i_holder(a->dtype))) return false;
    if (z->vector != TN_L_NONE && !varies(z, o->in[0]) && tn_i_l_by(z->p, &o->at, z->vector) == 0)
        return bad(z, "the address does not move with the vector loop");
    return !o->update || update(z);
}

static bool call(const checker *z) {
    const tn_i_l_op *o = z->o;
    if (z->vector != TN_L_NONE) return bad(z, "a call in a vector loop");
    if (o->which >= z->p->nkernel) return bad(z, "there is no such kernel");
    for (uint32_t i = 0; i < o->narg; i++) {
        const tn_i_l_arg *x = &z->p->arg[o->arg + i];
        char what[32];
        if (!affine(z, &x->at)) return false;
        if (x->access == TN_L_INTEGER) continue;
        if (x->array >= z->p->narray) return bad(z, "argument %u: there is no such array", i);
        const tn_i_l_array *a = &z->p->array[x->array];
        if (x->access != TN_L_READ && (a->role == TN_L_IN || a->role == TN_L_CONST))
            return bad(z, "argument %u: %s is read only", i, a->name);
        if (x->count < 0) return bad(z, "argument %u: a negative count", i);
        snprintf(what, sizeof what, "argument %u", i);
        /* of no elements, the address itself: one behind the last is fine */
        if (!in_range(z, &x->at, TN_L_NONE, 0, x->count ? x->count - 1 : 0, a->count + (x->count == 0), what))
            return false;
    }
    return true;
}

/* ---- arithmetic ---- */

static bool fn(const checker *z) {
    const tn_i_l_op *o = z->o;
    if (o->which >= TN_NPRIMS) return bad(z, "there is no such primitive");
    const tn_prim *prim = z->p->ctx->prims[o->which];
    if (!(prim->flags & TN_F_ELEMENTWISE) || prim->nin != o->nin)
        return bad(z, "this is no elementwise primitive of %d", o->nin);
    for (int code = 0; code < TN_L_fn; code++)
        if (tn_i_l_rows[code].prim == prim->id && (code == TN_L_convert || tn_i_l_rows[code].param == o->lo))
            return bad(z, "this is an operation of its own: %s", tn_i_l_rows[code].name);
    for (int i = 0; i < o->nin; i++) {
        if (!value(z, i)) return false;
        const int is = z->p->op[o->in[i]].dtype;
        if (!(prim->dtypes >> is & 1) && i == prim->strip_operand)
            return bad(z, "%s is not defined for %s", prim->name, tn_i_dtype_name(is));
        if (is != z->p->op[o->in[0]].dtype && !prim->choose) return bad(z, "operand %d is of another dtype", i);
    }
    const int want = prim->id == TN_P_is_finite ? TN_BOOL : z->p->op[o->in[0]].dtype;
    return o->dtype == want || bad(z, "the result is of %s", tn_i_dtype_name(want));
}

static bool map(const checker *z) {
    const tn_i_l_op *o = z->o;
    if (o->code == TN_L_fn) return fn(z);
    if (o->code > TN_L_fn) return bad(z, "there is no such operation");
    const tn_i_l_row *r = &tn_i_l_rows[o->code];
    const int first = o->code == TN_L_select;
    if (o->nin != r->nin) return bad(z, "it takes %d operands", r->nin);
    if (first && !value_of(z, 0, TN_BOOL)) return false;
    for (int i = first; i < o->nin; i++)
        if (!(i == first ? value(z, i) : value_of(z, i, z->p->op[o->in[first]].dtype))) return false;
    const int is = z->p->op[o->in[first]].dtype;
    if (!(r->dtypes >> is & 1)) return bad(z, "it is not defined for %s", tn_i_dtype_name(is));
    if (o->code == TN_L_bits)
        return (tn_i_dtype_size(is) == tn_i_dtype_size(o->dtype) && tn_i_is_float(is) == tn_i_is_int(o->dtype) &&
                o->dtype != TN_BOOL) ||
               bad(z, "bits are of a float as an integer of its width, or back");
    if (o->code == TN_L_convert &&
        ((is == TN_U32 && tn_i_is_float(o->dtype)) || (o->dtype == TN_U32 && tn_i_is_float(is))))
        return bad(z, "u32 and floats are converted by way of an i64");
    const int want = r->result == TN_L_SAME ? is : r->result == TN_L_BOOL ? TN_BOOL : o->dtype;
    return o->dtype == want || bad(z, "the result is of %s", tn_i_dtype_name(want));
}

static bool folds(const checker *z, int fold, int dtype, bool args) {
    if (fold < TN_FOLD_SUM || fold > (args ? TN_FOLD_ARGMIN : TN_FOLD_MIN)) return bad(z, "there is no such fold");
    return dtype != TN_BOOL || fold > TN_FOLD_PROD || bad(z, "bools are not summed");
}

/* ---- loops and blocks ---- */

static bool power_of_two(int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

static bool loop_marks(checker *z) {
    const tn_i_l_op *o = z->o;
    if (o->vector) {
        if (!power_of_two(o->vector) || o->vector < 2 || o->vector > 64) return bad(z, "vectors of %d", o->vector);
        if (z->vector != TN_L_NONE) return bad(z, "a vector loop in a vector loop");
        if (o->hi == INT64_MAX) return bad(z, "a vector loop without end");
        z->vector = z->k;
    }
    if (!o->parallel) return true;
    if (z->depth) return bad(z, "a parallel loop in a block");
    if (o->vector) return bad(z, "a loop both vector and parallel");
    if (o->in[0] != TN_L_NONE || o->hi == INT64_MAX) return bad(z, "the count of a parallel loop is not known");
    z->parallel = z->k;
    return true;
}

static bool open_block(checker *z) {
    if (z->depth == TN_L_DEPTH) return bad(z, "blocks are nested too deep");
    z->open[z->depth++] = z->k;
    return true;
}

static bool open_loop(checker *z) {
    const tn_i_l_op *o = z->o;
    int64_t n;
    if (!affine(z, &o->at) || (o->in[0] != TN_L_NONE && !integer(z, 0))) return false;
    if (o->hi < 0) return bad(z, "the most that it runs is negative");
    if (o->hi == INT64_MAX && (o->in[0] != TN_L_NONE || o->at.n || o->at.at != INT64_MAX))
        return bad(z, "the most that it runs is not known");
    if (z->vector != TN_L_NONE && (varies(z, o->in[0]) || tn_i_l_by(z->p, &o->at, z->vector)))
        return bad(z, "the count changes in a vector loop");
    if (!loop_marks(z) || !open_block(z)) return false;
    if (z->empty == TN_L_NONE && tn_i_l_known_count(z->p, z->k, &n) && n == 0) z->empty = z->k;
    return true;
}

static bool open_if(checker *z) {
    if (!value_of(z, 0, TN_BOOL)) return false;
    if (varies(z, z->o->in[0])) return bad(z, "the condition changes in a vector loop");
    return open_block(z);
}

static bool open_else(checker *z) {
    const uint32_t k = innermost(z);
    if (k == TN_L_NONE || z->p->op[k].kind != TN_L_IF || z->o->which != k || z->p->op[k].to != z->k)
        return bad(z, "there is no if");
    z->open[z->depth - 1] = z->k;
    return true;
}

static bool close_block(checker *z) {
    const uint32_t k = innermost(z);
    if (k == TN_L_NONE) return bad(z, "no block is open");
    const tn_i_l_op *block = &z->p->op[k];
    const uint32_t begin = block->kind == TN_L_ELSE ? block->which : k;
    if (block->to != z->k || z->o->to != begin) return bad(z, "it closes another block");
    if (block->kind == TN_L_FOR) {
        for (uint32_t c = k + 1; z->p->op[c].kind == TN_L_CARRY; c++)
            if (!z->note[c].done) return bad(z, "a carry of this loop has no next");
        if (block->hi == INT64_MAX && !z->note[k].done) return bad(z, "a loop without end");
    }
    z->depth--;
    if (z->vector == k) z->vector = TN_L_NONE;
    if (z->parallel == k) z->parallel = TN_L_NONE;
    if (z->empty == k) z->empty = TN_L_NONE;
    z->closed = z->k;
    return true;
}

static const tn_i_l_op *loop_around(const checker *z) {
    const uint32_t k = innermost(z);
    return k != TN_L_NONE && z->p->op[k].kind == TN_L_FOR ? &z->p->op[k] : NULL;
}

static bool carry(const checker *z) {
    const tn_i_l_op *loop = loop_around(z), *before = z->k ? z->o - 1 : NULL;
    if (!loop || (before->kind != TN_L_CARRY && before != loop))
        return bad(z, "it does not stand at the beginning of a loop");
    if (loop->vector || loop->parallel) return bad(z, "iterations of this loop do not depend on each other");
    if (!value_of(z, 0, z->o->dtype)) return false;
    return z->note[z->o->in[0]].scope != innermost(z) || bad(z, "operand 0 is not from outside of the loop");
}

static bool next(checker *z) {
    const tn_i_l_op *o = z->o;
    if (!loop_around(z) || z->k + 1 == z->p->nop || (o[1].kind != TN_L_NEXT && o[1].kind != TN_L_END))
        return bad(z, "it does not stand at the end of a loop");
    if (!value(z, 0) || !value_of(z, 1, z->p->op[o->in[0]].dtype)) return false;
    if (z->p->op[o->in[0]].kind != TN_L_CARRY || z->note[o->in[0]].scope != innermost(z))
        return bad(z, "operand 0 is no carry of this loop");
    if (z->note[o->in[0]].done) return bad(z, "the carry has a next");
    z->note[o->in[0]].done = true;
    return true;
}

static bool leave(checker *z) {
    const tn_i_l_op *loop = loop_around(z);
    if (!loop) return bad(z, "it does not stand in a loop itself");
    if (loop->vector || loop->parallel) return bad(z, "iterations of this loop do not depend on each other");
    if (!value_of(z, 0, TN_BOOL)) return false;
    if (varies(z, z->o->in[0])) return bad(z, "the condition changes in a vector loop");
    z->note[innermost(z)].done = true;
    return true;
}

/* The block that was closed just before, of this kind; TN_L_NONE: none. */
static uint32_t behind(const checker *z, int kind) {
    const uint32_t k = z->closed == TN_L_NONE ? TN_L_NONE : z->p->op[z->closed].to;
    return k != TN_L_NONE && z->p->op[k].kind == kind ? k : TN_L_NONE;
}

static bool last(const checker *z) {
    const uint32_t loop = behind(z, TN_L_FOR), c = z->o->in[0];
    if (loop == TN_L_NONE) return bad(z, "it does not stand behind a loop");
    if (c >= z->k || z->p->op[c].kind != TN_L_CARRY || z->note[c].scope != loop)
        return bad(z, "operand 0 is no carry of this loop");
    return z->o->dtype == z->p->op[c].dtype || bad(z, "the carry is of another dtype");
}

static bool halves(const checker *z) {
    const uint32_t loop = behind(z, TN_L_FOR), x = z->o->in[0];
    int64_t n;
    if (loop == TN_L_NONE) return bad(z, "it does not stand behind a loop");
    if (!tn_i_l_known_count(z->p, loop, &n) || !power_of_two(n) || n < 2 || n > TN_L_HALVED)
        return bad(z, "the loop does not run 2, 4 .. %d times", TN_L_HALVED);
    if (z->p->op[loop].parallel || z->note[loop].done) return bad(z, "the loop is parallel, or may be left");
    if (x >= z->k || !tn_i_l_has_value(&z->p->op[x]) || z->note[x].scope != loop)
        return bad(z, "operand 0 is no value of this loop");
    if (z->o->dtype != z->p->op[x].dtype) return bad(z, "operand 0 is of another dtype");
    return folds(z, z->o->code, z->o->dtype, false);
}

static bool join(const checker *z) {
    const uint32_t k = behind(z, TN_L_IF);
    if (k == TN_L_NONE) return bad(z, "it does not stand behind an if");
    const uint32_t block[2] = {k, z->p->op[k].to};
    for (int i = 0; i < 2; i++) {
        const uint32_t v = z->o->in[i];
        if (v >= z->k || !tn_i_l_has_value(&z->p->op[v])) return bad(z, "operand %d is no value", i);
        const bool within = z->note[v].scope == block[i] && v > block[i] && z->p->op[block[i]].kind != TN_L_END;
        if (!within && (v > k || !seen(z, v))) return bad(z, "operand %d is not of this branch", i);
        if (z->p->op[v].dtype != z->o->dtype) return bad(z, "operand %d is of another dtype", i);
    }
    return true;
}

/* ---- reductions ---- */

static bool reduces(const checker *z) {
    const tn_i_l_op *o = z->o;
    const uint32_t r = o->in[0];
    if (z->vector != TN_L_NONE && r < z->vector) {
        const int64_t by = tn_i_l_by(z->p, &o->at, z->vector);
        if (innermost(z) != z->vector) return bad(z, "a reduction in a block in a vector loop");
        if (by != 0 && by != 1) return bad(z, "results that are not next to each other in a vector loop");
    }
    if (r >= z->k || z->p->op[r].kind != TN_L_REDUCE) return bad(z, "this is no reduction");
    if (!seen(z, r)) return bad(z, "the reduction is out of scope");
    if (!affine(z, &o->at) || !in_range(z, &o->at, TN_L_NONE, 0, 0, z->p->op[r].hi, "reduction")) return false;
    if (o->kind == TN_L_INTO) return value_of(z, 1, z->p->op[r].dtype);
    const bool arg = z->p->op[r].code >= TN_FOLD_ARGMAX;
    return (arg ? tn_i_is_index(o->dtype) : o->dtype == z->p->op[r].dtype) || bad(z, "the result is of another dtype");
}

static bool reduce(const checker *z) {
    if (z->vector != TN_L_NONE && z->o->hi != 1) return bad(z, "reductions side by side in a vector loop");
    if (z->o->hi < 1) return bad(z, "%lld reductions", (long long)z->o->hi);
    return folds(z, z->o->code, z->o->dtype, true);
}

/* ---- all of it ---- */

static bool number(const checker *z) {
    const size_t size = tn_i_dtype_size(z->o->dtype);
    if (size < 8 && z->o->bits >> size * 8) return bad(z, "there are bits beside the number");
    return z->o->dtype != TN_BOOL || z->o->bits < 2 || bad(z, "a bool is 0 or 1");
}

static bool operation(checker *z) {
    const tn_i_l_op *o = z->o;
    if (tn_i_l_has_value(o) && o->dtype >= TN_I_OWN_DTYPES) return bad(z, "there is no such dtype");
    switch (o->kind) {
    case TN_L_NUMBER: return number(z);
    case TN_L_INDEX: return o->dtype == TN_BOOL ? bad(z, "an index is a number") : affine(z, &o->at);
    case TN_L_WITHIN: return affine(z, &o->at);
    case TN_L_MAP: return map(z);
    case TN_L_LOAD: return load(z);
    case TN_L_CARRY: return carry(z);
    case TN_L_LAST: return last(z);
    case TN_L_HALVES: return halves(z);
    case TN_L_JOIN: return join(z);
    case TN_L_TOTAL:
    case TN_L_INTO: return reduces(z);
    case TN_L_REDUCE: return reduce(z);
    case TN_L_STORE: return store(z);
    case TN_L_NEXT: return next(z);
    case TN_L_WHILE: return leave(z);
    case TN_L_CALL: return call(z);
    case TN_L_FOR: return open_loop(z);
    case TN_L_IF: return open_if(z);
    case TN_L_ELSE: return open_else(z);
    case TN_L_END: return close_block(z);
    default: return bad(z, "there is no such operation");
    }
}

/* Whether it is other numbers in the iterations of the vector loop; a carry may become so. */
static bool made_varying(const checker *z) {
    const tn_i_l_op *o = z->o;
    if (z->vector == TN_L_NONE) return false;
    const bool own = o->kind == TN_L_TOTAL && o->in[0] > z->vector;
    bool so = o->kind == TN_L_CARRY || own || tn_i_l_by(z->p, &o->at, z->vector) != 0;
    for (int i = 0; i < 3; i++) so |= varies(z, o->in[i]);
    return so;
}

static bool arrays(const tn_i_loops *p) {
    for (uint32_t i = 0; i < p->narray; i++) {
        const tn_i_l_array *a = &p->array[i];
        const char *why = NULL;
        const int64_t size = a->dtype < TN_NDTYPES ? (int64_t)tn_i_dtype_size(a->dtype) : 0;
        int64_t bytes = 0, end = 0;
        const bool scratch = a->role == TN_L_SCRATCH, constant = a->role == TN_L_CONST;
        if (!size || a->role > TN_L_CONST)
            why = "there is no such dtype, or role";
        else if (a->count < 0 || !tn_i_mul_i64(a->count, size, &bytes) || !tn_i_add_i64(a->at, bytes, &end))
            why = "it is too large";
        else if (a->at % size)
            why = "it does not begin at a multiple of an element's size";
        else if (!power_of_two(a->align) || a->align < size)
            why = "its alignment is no power of two, or less than an element's size";
        else if (constant ? a->base != TN_L_NONE || (a->count && !a->data) : a->base >= p->nbase)
            why = "it has no base, or a constant has one";
        else if (!constant && scratch != (a->base == p->arena))
            why = "scratch arrays, and only these, are in the arena";
        else if (scratch && (end > p->bytes || a->at % a->align))
            why = "it is not within the arena, or not aligned there";
        for (uint32_t j = 0; !why && j < i; j++)
            if (p->array[j].name == a->name) why = "there are two of this name";
        if (why) return tn_i_fail(p->ctx, TN_ERULE, NULL, "loop program: array %s: %s", a->name, why), false;
    }
    return true;
}

bool tn_i_l_check(const tn_i_loops *p) {
    checker z = {.p = p, .closed = TN_L_NONE, .vector = TN_L_NONE, .parallel = TN_L_NONE, .empty = TN_L_NONE};
    if (!arrays(p)) return false;
    if (p->nop && !(z.note = tn_i_alloc_array(p->ctx, p->nop, sizeof *z.note))) return false;
    bool ok = (z.room = tn_i_l_room(p->ctx)) != NULL;
    for (z.k = 0; ok && z.k < p->nop; z.k++) {
        z.o = &p->op[z.k];
        note *n = &z.note[z.k];
        *n = (note){.scope = innermost(&z), .depth = (uint8_t)z.depth};
        const bool vector = z.vector != TN_L_NONE; /* a FOR is not in itself */
        ok = operation(&z);
        if (ok && vector) n->varies = made_varying(&z);
        const bool behind_block = z.o->kind == TN_L_LAST || z.o->kind == TN_L_HALVES || z.o->kind == TN_L_JOIN;
        if (z.o->kind != TN_L_END && !behind_block) z.closed = TN_L_NONE;
    }
    if (ok && z.depth) {
        z.k = z.open[z.depth - 1];
        ok = bad(&z, "the block is not closed");
    }
    tn_i_l_room_drop(p->ctx, z.room);
    if (z.note) tn_i_free(p->ctx, z.note, p->nop * sizeof *z.note);
    return ok;
}
