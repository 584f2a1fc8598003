/* What a loop keeps in memory from one iteration to the next is a carry, and what it stores and loads again in one
 * iteration is the value itself (LLVM: scalar promotion, forwarding of stores).
 *
 * A cell is an element whose address is the same in all iterations, and which nothing in the loop touches but loads and
 * stores of the loop's own block and of IFs in it, of its dtype and without a mask.  Where the first of them in an
 * iteration is a load, or one of them is in an IF, the cell is a carry: loaded once in front of the loop, stored once
 * behind it, and behind an IF joined of what its branches leave.  Else memory is written as before, but the last of
 * several stores of an iteration is enough.
 *
 * Memory is used again: a value of another dtype that is stored, loaded and then overwritten by the cell's own store,
 * all in one iteration, is a cell of its own, of which memory has nothing.
 *
 * A loop that a WHILE leaves must find in memory what was stored until then: of a carry nothing is stored in an
 * iteration before it may be left, and of another cell all is before or all behind. */
#include "pass/inside.h"

#include <string.h>

enum { MOST_ACCESSES = 4096 };

typedef struct access {
    uint32_t op, array; /* op: of the program; of a CALL one for each argument */
    int64_t lo, hi;     /* bytes from its base; of an address that changes all that the array has */
    uint32_t cell;      /* TN_L_NONE: it may be anywhere */
} access;

typedef struct cell {
    int64_t lo;
    uint32_t base, load; /* load: an access that says where it is */
    uint8_t dtype;
    bool fit, carried, stored, first; /* first: it was met */
    bool passes;                      /* overwritten in the same iteration, before anything else looks */
    uint32_t value, carry;            /* in the new program, as the walk goes */
    uint32_t from, last;              /* the first store to it, and the last one */
} cell;

typedef struct promoter {
    const tn_i_loops *p;
    tn_i_l_copy c;
    uint32_t *around, *cell_of; /* cell_of: of each operation, 1 + its cell, or 0 */
    uint32_t *height;           /* of each FOR */
    bool *halved;
    access *a;
    cell *cell;
    size_t na, ca, ncell, ccell;
    uint32_t leaves[2]; /* the first and the last WHILE of the loop's own; 0: there is none */
    uint32_t *branch;   /* for each IF that is open: each cell's value in front of it, and at its ELSE */
    size_t nbranch, cbranch;
} promoter;

/* ---- what is touched ------------------------------------------------------------------------------------------- */

static bool add(promoter *z, uint32_t op, uint32_t array, int64_t lo, int64_t hi, uint32_t at) {
    if (!tn_i_grow(z->p->ctx, (void **)(void *)&z->a, &z->ca, z->na + 1, sizeof *z->a)) {
        z->c.b->failed = true;
        return false;
    }
    z->a[z->na++] = (access){op, array, lo, hi, at};
    return true;
}

static bool add_anywhere(promoter *z, uint32_t op, uint32_t array) {
    const tn_i_l_array *a = &z->p->array[array];
    return add(z, op, array, a->at, a->at + a->count * (int64_t)tn_i_dtype_size(a->dtype), TN_L_NONE);
}

static uint32_t cell_at(promoter *z, uint32_t base, int64_t lo, uint8_t dtype) {
    for (size_t i = 0; i < z->ncell; i++)
        if (z->cell[i].base == base && z->cell[i].lo == lo && z->cell[i].dtype == dtype) return (uint32_t)i;
    if (!tn_i_grow(z->p->ctx, (void **)(void *)&z->cell, &z->ccell, z->ncell + 1, sizeof *z->cell)) {
        z->c.b->failed = true;
        return TN_L_NONE;
    }
    z->cell[z->ncell] = (cell){.base = base, .lo = lo, .dtype = dtype, .fit = true, .value = TN_L_NONE};
    return (uint32_t)z->ncell++;
}

/* Operation i stands in the block of loop k, or in IFs of it. */
static bool is_own(const promoter *z, uint32_t k, uint32_t i) {
    uint32_t out = z->around[i];
    while (out != TN_L_NONE && out != k && z->p->op[out].kind != TN_L_FOR) out = z->around[out];
    return out == k;
}

/* A load or a store of loop k's own, at an address that is a number. */
static bool add_access(promoter *z, uint32_t k, uint32_t i) {
    const tn_i_l_op *o = &z->p->op[i];
    const tn_i_l_array *a = &z->p->array[o->which];
    const int64_t size = (int64_t)tn_i_dtype_size(a->dtype);
    if (!is_own(z, k, i) || o->at.n || o->in[0] != TN_L_NONE || o->in[1] != TN_L_NONE || a->role == TN_L_CONST ||
        z->halved[i] || o->update)
        return add_anywhere(z, i, o->which);
    const int64_t lo = a->at + o->at.at * size;
    const uint32_t at = cell_at(z, a->base, lo, a->dtype);
    if (at == TN_L_NONE || !add(z, i, o->which, lo, lo + size, at)) return false;
    cell *e = &z->cell[at];
    if (!e->first) e->carried = o->kind == TN_L_LOAD, e->load = i;
    e->first = true;
    e->carried |= z->around[i] != k;
    e->stored |= o->kind == TN_L_STORE;
    if (o->kind != TN_L_STORE) return true;
    if (!e->last) e->from = i;
    e->last = i;
    return true;
}

static bool add_all(promoter *z, uint32_t k) {
    const tn_i_loops *p = z->p;
    for (uint32_t i = k + 1; i < p->op[k].to; i++) {
        const tn_i_l_op *o = &p->op[i];
        if (o->kind == TN_L_WHILE && z->around[i] == k) {
            if (!z->leaves[0]) z->leaves[0] = i;
            z->leaves[1] = i;
        }
        if ((o->kind == TN_L_LOAD || o->kind == TN_L_STORE) && !add_access(z, k, i)) return false;
        for (uint32_t j = 0; o->kind == TN_L_CALL && j < o->narg; j++)
            if (p->arg[o->arg + j].access != TN_L_INTEGER && !add_anywhere(z, i, p->arg[o->arg + j].array))
                return false;
        if (z->na > MOST_ACCESSES) return false;
    }
    return true;
}

static bool is_store(const promoter *z, const access *a) {
    const tn_i_l_op *o = &z->p->op[a->op];
    return o->kind != TN_L_LOAD; /* a CALL may write */
}

static bool left_as_it_is(const promoter *z, const cell *e) {
    if (!z->leaves[0] || e->from > z->leaves[1]) return true;
    return !e->carried && e->last < z->leaves[0];
}

/* All of x, in the loop's own block, is between two accesses to y, the second of which overwrites it. */
static bool passes(const promoter *z, uint32_t k, size_t x, size_t y) {
    const cell *a = &z->cell[x], *b = &z->cell[y];
    uint32_t first = UINT32_MAX, last = 0, next = UINT32_MAX;
    if (a->base != b->base || a->lo != b->lo || tn_i_dtype_size(a->dtype) != tn_i_dtype_size(b->dtype)) return false;
    if (a->carried || z->leaves[0]) return false;
    for (size_t i = 0; i < z->na; i++) {
        if (z->a[i].cell != x) continue;
        if (z->around[z->a[i].op] != k) return false;
        if (z->a[i].op < first) first = z->a[i].op;
        if (z->a[i].op > last) last = z->a[i].op;
    }
    for (size_t i = 0; i < z->na; i++) {
        const uint32_t op = z->a[i].op;
        if (z->a[i].cell != y) continue;
        if (op > first && op < last) return false;
        if (op > last && op < next) next = op;
    }
    return next != UINT32_MAX && z->p->op[next].kind == TN_L_STORE && z->around[next] == k;
}

/* Cells that something else touches stay in memory. */
static void refuse(promoter *z, uint32_t k) {
    for (size_t i = 0; i < z->ncell; i++) z->cell[i].fit = z->cell[i].stored && left_as_it_is(z, &z->cell[i]);
    for (size_t i = 0; i < z->na; i++) {
        const access *a = &z->a[i];
        const uint32_t base = z->p->array[a->array].base;
        for (size_t j = 0; j < z->ncell; j++) {
            cell *e = &z->cell[j];
            const int64_t end = e->lo + (int64_t)tn_i_dtype_size(e->dtype);
            if (a->cell == j || base != e->base || a->lo >= end || e->lo >= a->hi || !(e->stored || is_store(z, a)))
                continue;
            if (a->cell != TN_L_NONE && passes(z, k, j, a->cell))
                e->passes = true;
            else if (a->cell == TN_L_NONE || !passes(z, k, a->cell, j))
                e->fit = false;
        }
    }
    for (size_t i = 0; i < z->na; i++)
        if (z->a[i].cell != TN_L_NONE && z->cell[z->a[i].cell].fit) z->cell_of[z->a[i].op] = 1 + z->a[i].cell;
}

/* Whether there is any in loop k. */
static bool find(promoter *z, uint32_t k) {
    const tn_i_l_op *o = &z->p->op[k];
    int64_t n;
    z->na = z->ncell = 0;
    z->leaves[0] = z->leaves[1] = 0;
    if (o->kind != TN_L_FOR || o->vector || o->parallel || (tn_i_l_known_count(z->p, k, &n) && n < 1)) return false;
    if (!add_all(z, k)) return false;
    refuse(z, k);
    for (size_t i = 0; i < z->ncell; i++)
        if (z->cell[i].fit) return true;
    return false;
}

/* ---- the new loop ----------------------------------------------------------------------------------------------- */

static uint32_t load_of(promoter *z, const cell *e) {
    const tn_i_l_op *o = &z->p->op[e->load];
    return tn_i_l_load_at(z->c.b, o->which, tn_i_affine_number(o->at.at));
}

/* An access to a cell: false, it has to be done as it is. */
static bool through(promoter *z, uint32_t i) {
    const tn_i_l_op *o = &z->p->op[i];
    if (!z->cell_of[i]) return false;
    cell *e = &z->cell[z->cell_of[i] - 1];
    if (o->kind == TN_L_LOAD) {
        z->c.value[i] = e->value;
        return true;
    }
    e->value = tn_i_l_in_memory(z->c.b, e->dtype, z->c.value[o->in[2]]);
    return e->carried || e->passes || e->last != i;
}

static bool keeps_branches(const promoter *z, uint32_t k, uint32_t i) {
    bool some = false;
    for (size_t j = 0; j < z->ncell; j++) some |= z->cell[j].fit && z->cell[j].carried;
    return some && is_own(z, k, i);
}

/* In front of an IF. */
static void open_branch(promoter *z) {
    const size_t n = z->ncell;
    if (!tn_i_grow(z->p->ctx, (void **)(void *)&z->branch, &z->cbranch, z->nbranch + 2 * n, sizeof *z->branch)) {
        z->c.b->failed = true;
        return;
    }
    for (size_t j = 0; j < n; j++) z->branch[z->nbranch + j] = z->branch[z->nbranch + n + j] = z->cell[j].value;
    z->nbranch += 2 * n;
}

/* At the ELSE: what the first branch has left, and again what was in front of it. */
static void turn_branch(promoter *z) {
    const size_t n = z->ncell;
    uint32_t *before = z->branch + z->nbranch - 2 * n, *left = before + n;
    for (size_t j = 0; j < n; j++) {
        left[j] = z->cell[j].value;
        z->cell[j].value = before[j];
    }
}

/* Behind the END. */
static void join_branches(promoter *z, bool has_else) {
    const size_t n = z->ncell;
    if (!has_else) turn_branch(z);
    const uint32_t *left = z->branch + z->nbranch - n;
    for (size_t j = 0; j < n; j++)
        if (z->cell[j].fit && z->cell[j].carried && left[j] != z->cell[j].value)
            z->cell[j].value = tn_i_l_join(z->c.b, left[j], z->cell[j].value);
    z->nbranch -= 2 * n;
}

static void copy_own(promoter *z, uint32_t i) {
    const tn_i_l_op *o = &z->p->op[i];
    const uint32_t opens = o->kind == TN_L_END ? o->to : TN_L_NONE;
    if (o->kind == TN_L_IF) open_branch(z);
    if (o->kind == TN_L_ELSE) turn_branch(z);
    tn_i_l_copy_op(&z->c, i);
    if (opens != TN_L_NONE && z->p->op[opens].kind == TN_L_IF && !z->c.b->failed)
        join_branches(z, z->p->op[z->p->op[opens].to].kind == TN_L_ELSE);
}

static void copy_body(promoter *z, uint32_t k, uint32_t first, uint32_t last) {
    for (uint32_t i = first; i < last && !z->c.b->failed; i++) {
        if (through(z, i)) continue;
        if (z->p->op[i].kind >= TN_L_IF && keeps_branches(z, k, i))
            copy_own(z, i);
        else
            tn_i_l_copy_op(&z->c, i);
    }
}

/* Copies loop k with its cells; what is behind it and what belongs to it. */
static uint32_t copy_loop(promoter *z, uint32_t k) {
    const tn_i_loops *p = z->p;
    tn_i_l_builder *b = z->c.b;
    const uint32_t end = p->op[k].to;
    uint32_t i = k + 1, next = end;
    for (size_t j = 0; j < z->ncell; j++)
        if (z->cell[j].fit && z->cell[j].carried) z->cell[j].value = load_of(z, &z->cell[j]);
    tn_i_l_copy_op(&z->c, k);
    while (p->op[i].kind == TN_L_CARRY) tn_i_l_copy_op(&z->c, i++);
    while (p->op[next - 1].kind == TN_L_NEXT) next--;
    for (size_t j = 0; j < z->ncell; j++)
        if (z->cell[j].fit && z->cell[j].carried)
            z->cell[j].value = z->cell[j].carry = tn_i_l_carry(b, z->cell[j].value);
    copy_body(z, k, i, next);
    tn_i_l_copy_ops(&z->c, next, end);
    for (size_t j = 0; j < z->ncell; j++)
        if (z->cell[j].fit && z->cell[j].carried) tn_i_l_next(b, z->cell[j].carry, z->cell[j].value);
    tn_i_l_copy_op(&z->c, end);
    for (size_t j = 0; j < z->ncell; j++)
        if (z->cell[j].fit && z->cell[j].carried) z->cell[j].value = tn_i_l_last(b, z->cell[j].carry);
    for (i = end + 1; i < p->nop && (p->op[i].kind == TN_L_LAST || p->op[i].kind == TN_L_HALVES); i++)
        tn_i_l_copy_op(&z->c, i);
    for (size_t j = 0; j < z->ncell; j++) {
        const tn_i_l_op *o = &p->op[z->cell[j].last];
        if (z->cell[j].fit && z->cell[j].carried)
            tn_i_l_store_at(b, o->which, tn_i_affine_number(o->at.at), z->cell[j].value);
    }
    return i;
}

/* Of each FOR how many loops are in each other in it; returns the most. */
static uint32_t find_heights(promoter *z) {
    uint32_t most = 0;
    for (uint32_t k = z->p->nop; k-- > 0;) {
        uint32_t out = z->around[k];
        if (z->p->op[k].kind != TN_L_FOR) continue;
        while (out != TN_L_NONE && z->p->op[out].kind != TN_L_FOR) out = z->around[out];
        if (z->height[k] > most) most = z->height[k];
        if (out != TN_L_NONE && z->height[out] <= z->height[k]) z->height[out] = z->height[k] + 1;
    }
    return most;
}

/* Of loops with so many inside, or none; *most: the most there are. */
static tn_i_loops *promote(tn_i_loops *p, uint32_t height, uint32_t *most) {
    const size_t n = (size_t)p->nop + 1;
    tn_i_l_builder b;
    promoter z = {.p = p};
    tn_i_l_begin(&b, p->ctx);
    z.around = tn_i_l_around(p);
    z.cell_of = tn_i_alloc_array(p->ctx, 2 * n, sizeof *z.cell_of);
    z.halved = tn_i_l_halved(p);
    if ((p->nop && !z.around) || !z.cell_of || !z.halved) b.failed = true;
    if (tn_i_l_copy_begin(&z.c, &b, p)) {
        z.height = z.cell_of + n;
        *most = find_heights(&z);
        for (uint32_t k = 0; k < p->nop && !b.failed;) {
            if (p->op[k].kind == TN_L_FOR && z.height[k] == height && find(&z, k))
                k = copy_loop(&z, k);
            else
                tn_i_l_copy_op(&z.c, k++);
        }
    }
    tn_i_l_copy_end(&z.c);
    if (z.branch) tn_i_free(p->ctx, z.branch, z.cbranch * sizeof *z.branch);
    if (z.cell) tn_i_free(p->ctx, z.cell, z.ccell * sizeof *z.cell);
    if (z.a) tn_i_free(p->ctx, z.a, z.ca * sizeof *z.a);
    if (z.cell_of) tn_i_free(p->ctx, z.cell_of, 2 * n * sizeof *z.cell_of);
    tn_i_l_halved_drop(p, z.halved);
    tn_i_l_around_drop(p, z.around);
    tn_i_l_free(p);
    return tn_i_l_end(&b);
}

/* From the innermost loops outwards: what one of them loads in front and stores behind may be a carry of the next. */
tn_i_loops *tn_i_pass_promote(tn_i_loops *p, const tn_i_machine *m) {
    uint32_t most = 0;
    (void)m;
    for (uint32_t height = 0; p && height <= most; height++) p = promote(p, height, &most);
    return p;
}
