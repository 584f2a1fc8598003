/* Tiny nests: at most TN_LANES elements, all of them in one tile.
 *
 * A block there is costs more to set up than to compute.  But it is the only one, so where everything lies in scratch
 * is known when a program is planned, and the instructions of nest_code.c become a program of numbers (prims/strips.h)
 * of which most are tiles: an operation is a jump, a few vectors, and a jump.  Nests with instructions that need more
 * than that are run as all others are. */
#include "exec/nest_code.h"

#include "base/isa.h"

#include <string.h>
#if TN_HAVE_ISA
#include <immintrin.h>
#endif

typedef struct tn_i_tiny tiny;

/* An instruction over n elements, of `rows` rows; tiles are filled up to `width` of them. */
struct tn_i_tiny {
    const tn_i_nest_code *code;
    const tn_i_nest_instr *instr;
    int64_t n, rows, width;
};

/* ---- running ----------------------------------------------------------------------------------- */

static inline void next(const tn_i_number_op *o, char *reg) { o[1].run(o + 1, reg); }
static void run_end(const tn_i_number_op *o, char *reg) { (void)o, (void)reg; }

/* Where arrays are is what scratch begins with; the addresses of values, which it otherwise begins with, are not
 * needed. */
static inline char *array_at(const char *reg, const tn_i_nest_instr *e) {
    return (*(char *const *const *)(const void *)reg)[e->array];
}

static void run_one(const tn_i_number_op *o, char *reg) {
    o->with.one(reg + o->in[0], reg + o->in[1], reg + o->in[2], reg + o->out);
    next(o, reg);
}

static void call_strip(const tn_i_number_op *o, char *reg) {
    const tiny *x = o->with.more;
    const void *const in[4] = {reg + o->in[0], reg + o->in[1], reg + o->in[2], NULL};
    x->instr->strip(x->instr->padded ? x->width : x->n, in, x->instr->s, reg + o->out, 1);
}

static void run_strip(const tn_i_number_op *o, char *reg) {
    call_strip(o, reg);
    next(o, reg);
}

/* Elements side by side, n of them at `offset` of an array, are loaded and stored without a look at the instruction:
 * all that is needed is in the operation.  Behind them a tile has the first one again. */
static inline char *side_at(const char *reg, uint32_t array, uint32_t offset) {
    char *at = (*(char *const *const *)(const void *)reg)[array];
    return at ? at + (int32_t)offset : NULL;
}

#define RUN_SIDE(T)                                                                           \
    static void load_##T(const tn_i_number_op *o, char *reg) {                                \
        const char *from = side_at(reg, o->in[0], o->in[1]);                                  \
        char *to = reg + o->out;                                                              \
        for (uint32_t i = 0; i < (uint32_t)o->with.width; i++)                                \
            memcpy(to + i * sizeof(T), from + (i < o->in[2] ? i : 0) * sizeof(T), sizeof(T)); \
        next(o, reg);                                                                         \
    }                                                                                         \
    static void store_##T(const tn_i_number_op *o, char *reg) {                               \
        char *to = side_at(reg, o->out, o->in[1]);                                            \
        for (uint32_t i = 0; to && i < o->in[2]; i++)                                         \
            memcpy(to + i * sizeof(T), reg + o->in[0] + i * sizeof(T), sizeof(T));            \
        next(o, reg);                                                                         \
    }
RUN_SIDE(uint8_t)
RUN_SIDE(uint32_t)
RUN_SIDE(uint64_t)

#if TN_HAVE_ISA
/* The same by whole vectors: what reads a tile by vectors waits for it if it was written by elements.  32-bit words; of
 * elements of 8 bytes two each. */
TN_TARGET_AVX2 static inline __m256i words_below(int n, int first) {
    const __m256i at = _mm256_add_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(first));
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), at);
}

#define RUN_VECTORS(name, words, FIRST)                                                               \
    TN_TARGET_AVX2 static void load_##name(const tn_i_number_op *o, char *reg) {                      \
        const char *from = side_at(reg, o->in[0], o->in[1]);                                          \
        char *to = reg + o->out;                                                                      \
        const int n = words * (int)o->in[2], width = words * (int)o->with.width;                      \
        int i = 0;                                                                                    \
        for (; i + 8 <= n; i += 8) memcpy(to + 4 * i, from + 4 * i, 32);                              \
        for (; i < width; i += 8) {                                                                   \
            const __m256i mask = words_below(n, i), again = FIRST;                                    \
            const __m256i v = _mm256_maskload_epi32((const int *)(const void *)from + i, mask);       \
            _mm256_storeu_si256((__m256i *)(void *)(to + 4 * i), _mm256_blendv_epi8(again, v, mask)); \
        }                                                                                             \
        next(o, reg);                                                                                 \
    }                                                                                                 \
    TN_TARGET_AVX2 static void store_##name(const tn_i_number_op *o, char *reg) {                     \
        char *to = side_at(reg, o->out, o->in[1]);                                                    \
        const char *from = reg + o->in[0];                                                            \
        const int n = to ? words * (int)o->in[2] : 0;                                                 \
        int i = 0;                                                                                    \
        for (; i + 8 <= n; i += 8) memcpy(to + 4 * i, from + 4 * i, 32);                              \
        if (i < n) {                                                                                  \
            const __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(from + 4 * i));      \
            _mm256_maskstore_epi32((int *)(void *)to + i, words_below(n, i), v);                      \
        }                                                                                             \
        next(o, reg);                                                                                 \
    }
RUN_VECTORS(4, 1, _mm256_castps_si256(_mm256_broadcast_ss((const float *)(const void *)from)))
RUN_VECTORS(8, 2, _mm256_castpd_si256(_mm256_broadcast_sd((const double *)(const void *)from)))
#endif

/* Any elements. */
static void run_pick(const tn_i_number_op *o, char *reg) {
    const tiny *x = o->with.more;
    const tn_i_nest_instr *e = x->instr;
    tn_i_nest_pick(e->size, x->code->gather + e->walk, array_at(reg, e), reg + o->in[0], e->s[0], reg + o->out);
    next(o, reg);
}

static void run_put(const tn_i_number_op *o, char *reg) {
    const tiny *x = o->with.more;
    const tn_i_nest_instr *e = x->instr;
    char *to = array_at(reg, e);
    if (to) tn_i_nest_put(e->size, x->code->gather + e->walk, reg + o->in[0], e->s[0], x->n, to);
    next(o, reg);
}

static void run_load(const tn_i_number_op *o, char *reg) {
    const tiny *x = o->with.more;
    tn_i_walk_load(&x->code->walk[x->instr->walk], x->instr->size, array_at(reg, x->instr), 0, x->n, reg + o->out);
    next(o, reg);
}

static void run_store(const tn_i_number_op *o, char *reg) {
    const tiny *x = o->with.more;
    const tn_i_nest_instr *e = x->instr;
    char *to = array_at(reg, e);
    if (to) tn_i_walk_store(&x->code->walk[e->walk], e->size, to, 0, x->n, reg + o->in[0], e->s[0]);
    next(o, reg);
}

static void run_iota(const tn_i_number_op *o, char *reg) {
    const tiny *x = o->with.more;
    const tn_i_nest_instr *e = x->instr;
    tn_i_walk_iota(&x->code->walk[e->walk], e->dtype, e->by, e->first, 0, x->n, reg + o->out);
    next(o, reg);
}

/* Each row's value for its elements, or one for all. */
static void run_spread(const tn_i_number_op *o, char *reg) {
    const tiny *x = o->with.more;
    const tn_i_nest_instr *e = x->instr;
    const int64_t rows = e->s[0] ? x->rows : 1, row = x->n / rows;
    for (int64_t r = 0; r < rows; r++)
        tn_i_repeat(e->size, reg + o->in[0] + r * e->size, reg + o->out + r * row * e->size, row);
    next(o, reg);
}

static void run_rows(const tn_i_number_op *o, char *reg) {
    const tiny *x = o->with.more;
    x->instr->fold->rows(reg + o->in[0], x->rows, x->n / x->rows, reg + o->out);
    next(o, reg);
}

static void run_pad(const tn_i_number_op *o, char *reg) {
    const tiny *x = o->with.more;
    const int size = x->instr->size;
    tn_i_repeat(size, reg + o->out, reg + o->out + x->n * size, x->width - x->n);
    next(o, reg);
}

void tn_i_tiny_run(const tn_i_nest_code *c, char *const *data, char *reg) {
    memcpy(reg, &data, sizeof data);
    for (uint32_t i = 0; i < c->nonce; i++) memcpy(reg + c->once_at + 8 * (size_t)i, &c->constant[i], 8);
    c->number->run(c->number, reg);
}

/* ---- making -------------------------------------------------------------------------------------- */

typedef struct maker {
    tn_i_nest_code *code;
    bool vectors;  /* of AVX2 are there */
    int64_t width; /* of all tiles */
} maker;

/* Of all elements, from gather[at] on: one behind the other, as many as there are. */
static bool side_by_side(const tn_i_nest_code *c, uint32_t at, int64_t n, int size) {
    const int32_t *offset = c->gather + at;
    if (offset[0] == TN_NOT_PICKED) return false;
    for (int64_t i = 1; i < n; i++)
        if (offset[i] != offset[0] + i * size) return false;
    return true;
}

/* Loads or stores e's elements, which are side by side. */
static tn_i_number_fn *side_of(const maker *m, const tn_i_nest_instr *e) {
    static tn_i_number_fn *const plain[][2] = {
        {load_uint8_t, store_uint8_t}, {load_uint32_t, store_uint32_t}, {load_uint64_t, store_uint64_t}};
#if TN_HAVE_ISA
    static tn_i_number_fn *const vectors[][2] = {{load_uint8_t, store_uint8_t}, {load_4, store_4}, {load_8, store_8}};
#endif
    const int size = e->size == 1 ? 0 : e->size == 4 ? 1 : 2, way = e->kind == TN_CODE_PUT;
#if TN_HAVE_ISA
    if (m->vectors) return vectors[size][way];
#endif
    (void)m;
    return plain[size][way];
}

static bool add_side(maker *m, const tn_i_nest_instr *e, int64_t n) {
    const tn_i_nest_code *c = m->code;
    if (e->kind != TN_CODE_PICK && (e->kind != TN_CODE_PUT || e->s[0] != 1)) return false;
    if (!side_by_side(c, e->walk, n, e->size)) return false;
    const uint32_t tile = (uint32_t)c->value[e->kind == TN_CODE_PICK ? e->out : e->in[0]].offset;
    tn_i_number_op *o = &m->code->number[m->code->nnumber++];
    *o = (tn_i_number_op){
        .run = side_of(m, e), .out = tile, .in = {e->array, (uint32_t)c->gather[e->walk], (uint32_t)n}};
    o->with.width = m->width;
    if (e->kind == TN_CODE_PUT) o->out = e->array, o->in[0] = tile;
    return true;
}

/* Which operands are one number for all elements. */
static unsigned repeated(const tn_i_nest_instr *e) {
    unsigned mask = 0;
    for (uint32_t k = 0; k < e->nin; k++) mask |= (unsigned)(e->s[k] == 0) << k;
    return mask;
}

/* What runs an instruction over n elements; NULL: nothing here does. */
static tn_i_number_fn *run_of(const tn_i_nest_instr *e, int64_t n, int64_t rows) {
    switch ((tn_i_nest_code_kind)e->kind) {
    case TN_CODE_MAP:
        if (e->padded) return e->lanes && e->lanes[repeated(e)] ? e->lanes[repeated(e)] : run_strip;
        if (n == 1 && e->number) return e->number;
        return n == 1 && e->one ? run_one : run_strip;
    case TN_CODE_LOAD: return run_load;
    case TN_CODE_PICK: return run_pick;
    case TN_CODE_PUT: return run_put;
    case TN_CODE_IOTA: return run_iota;
    case TN_CODE_SPREAD: return run_spread;
    case TN_CODE_STORE: return run_store;
    case TN_CODE_ROWS: return e->fold && rows > 0 ? run_rows : NULL;
    case TN_CODE_BOX:
    case TN_CODE_LOOKUP:
    case TN_CODE_SINK:
    case TN_CODE_CHAIN: break;
    }
    return NULL;
}

/* Those that fill a tile to its end themselves. */
static bool fills(const tn_i_nest_instr *e) { return e->kind == TN_CODE_MAP || e->kind == TN_CODE_PICK; }

static uint32_t place_of(const tn_i_nest_code *c, uint32_t v) {
    return v == TN_NOVAR ? 0 : (uint32_t)c->value[v].offset;
}

static bool add(maker *m, const tn_i_nest_instr *e, int64_t n, int64_t rows) {
    if (add_side(m, e, n)) return true;
    tn_i_nest_code *c = m->code;
    tn_i_number_fn *run = run_of(e, n, rows);
    if (!run) return false;
    tiny *x = &c->small[c->nsmall++];
    tn_i_number_op *o = &c->number[c->nnumber++];
    *x = (tiny){c, e, n, rows, m->width};
    *o = (tn_i_number_op){.run = run, .out = place_of(c, e->out)};
    for (uint32_t k = 0; k < e->nin && k < 3; k++) o->in[k] = place_of(c, e->in[k]);
    if (run == run_one)
        o->with.one = e->one;
    else if (e->kind == TN_CODE_MAP && run != run_strip)
        o->with.width = m->width;
    else
        o->with.more = x;
    if (e->padded && !fills(e) && n < m->width) {
        c->number[c->nnumber] = *o;
        c->number[c->nnumber++].run = run_pad;
    }
    return true;
}

static bool add_section(maker *m, const tn_i_nest_section *part, int64_t n, int64_t rows) {
    for (uint32_t i = part->first; i < part->last; i++)
        if (!add(m, &m->code->instr[i], n, rows)) return false;
    return true;
}

/* What is once is over one element, or lasts for the whole block. */
static bool add_once(maker *m, const tn_i_nest *n) {
    for (uint32_t i = m->code->once.first; i < m->code->once.last; i++) {
        const tn_i_nest_instr *e = &m->code->instr[i];
        if (!(e->lasting ? add(m, e, n->rows * n->row, n->rows) : add(m, e, 1, 1))) return false;
    }
    return true;
}

static bool translate(maker *m, const tn_i_nest *n) {
    const int64_t all = n->rows * n->row;
    bool ok = add_once(m, n) && add_section(m, &m->code->before, n->rows, n->rows);
    for (uint32_t p = 0; ok && p < n->nphase; p++)
        ok = add_section(m, &m->code->elements[p], all, n->rows) && add_section(m, &m->code->row[p], n->rows, n->rows);
    return ok;
}

/* Half of the lanes where that is enough and leaves whole vectors. */
static int64_t width_of(const tn_i_nest_code *c, int64_t n) {
    bool half = n <= TN_LANES / 2;
    for (uint32_t i = 0; i < c->ninstr; i++) half &= c->instr[i].size != 4;
    return half ? TN_LANES / 2 : TN_LANES;
}

bool tn_i_tiny_make(tn_ctx *ctx, tn_i_nest *n, tn_i_nest_code *c, tn_i_isa isa) {
    if (c->block < n->rows || n->scratch > UINT32_MAX || c->nvalue == 0) return true;
    maker m = {.code = c, .vectors = isa != TN_ISA_PLAIN, .width = width_of(c, n->rows * n->row)};
    c->cnumber = 2 * (size_t)c->ninstr + 1;
    c->number = tn_i_alloc_array(ctx, c->cnumber, sizeof *c->number);
    c->small = tn_i_alloc_array(ctx, c->cnumber, sizeof *c->small);
    if (!c->number || !c->small) return false;
    c->numbers = translate(&m, n);
    c->number[c->nnumber] = (tn_i_number_op){.run = run_end};
    return true;
}

void tn_i_tiny_drop(tn_ctx *ctx, tn_i_nest_code *c) { tn_i_free(ctx, c->small, c->cnumber * sizeof *c->small); }
