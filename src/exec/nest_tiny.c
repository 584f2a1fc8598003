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

/* A vector is read by one load, which waits if it was written by two stores, as compilers may write memcpy. */
TN_TARGET_AVX2 static inline void move_32(const char *from, char *to) {
    _mm256_storeu_si256((__m256i *)(void *)to, _mm256_loadu_si256((const __m256i *)(const void *)from));
}

#define RUN_VECTORS(name, words, FIRST)                                                               \
    TN_TARGET_AVX2 static void load_##name(const tn_i_number_op *o, char *reg) {                      \
        const char *from = side_at(reg, o->in[0], o->in[1]);                                          \
        char *to = reg + o->out;                                                                      \
        const int n = words * (int)o->in[2], width = words * (int)o->with.width;                      \
        int i = 0;                                                                                    \
        for (; i + 8 <= n; i += 8) move_32(from + 4 * i, to + 4 * i);                                 \
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
        for (; i + 8 <= n; i += 8) move_32(from + 4 * i, to + 4 * i);                                 \
        if (i < n) {                                                                                  \
            const __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(from + 4 * i));      \
            _mm256_maskstore_epi32((int *)(void *)to + i, words_below(n, i), v);                      \
        }                                                                                             \
        next(o, reg);                                                                                 \
    }
RUN_VECTORS(4, 1, _mm256_castps_si256(_mm256_broadcast_ss((const float *)(const void *)from)))
RUN_VECTORS(8, 2, _mm256_castpd_si256(_mm256_broadcast_sd((const double *)(const void *)from)))

/* A whole tile of so many bytes. */
#define RUN_WHOLE(bytes)                                                               \
    TN_TARGET_AVX2 static void load_##bytes(const tn_i_number_op *o, char *reg) {      \
        const char *from = side_at(reg, o->in[0], o->in[1]);                           \
        for (int i = 0; i < bytes; i += 32) move_32(from + i, reg + o->out + i);       \
        next(o, reg);                                                                  \
    }                                                                                  \
    TN_TARGET_AVX2 static void store_##bytes(const tn_i_number_op *o, char *reg) {     \
        char *to = side_at(reg, o->out, o->in[1]);                                     \
        for (int i = 0; to && i < bytes; i += 32) move_32(reg + o->in[0] + i, to + i); \
        next(o, reg);                                                                  \
    }
RUN_WHOLE(32)
RUN_WHOLE(64)
RUN_WHOLE(128)
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

typedef tn_i_tiny_maker maker;

/* Of all elements, from gather[at] on: one behind the other, as many as there are. */
static bool side_by_side(const tn_i_nest_code *c, uint32_t at, int64_t n, int size) {
    const int32_t *offset = c->gather + at;
    if (offset[0] == TN_NOT_PICKED) return false;
    for (int64_t i = 1; i < n; i++)
        if (offset[i] != offset[0] + i * size) return false;
    return true;
}

bool tn_i_tiny_dense(const tiny *x) {
    const tn_i_nest_instr *e = x->instr;
    return (e->kind == TN_CODE_PICK || (e->kind == TN_CODE_PUT && e->s[0] == 1)) &&
           side_by_side(x->code, e->walk, x->n, e->size);
}

/* Loads or stores n elements that are side by side. */
static tn_i_number_fn *side_of(const maker *m, const tn_i_nest_instr *e, int64_t n) {
    static tn_i_number_fn *const plain[][2] = {
        {load_uint8_t, store_uint8_t}, {load_uint32_t, store_uint32_t}, {load_uint64_t, store_uint64_t}};
#if TN_HAVE_ISA
    static tn_i_number_fn *const vectors[][2] = {{load_uint8_t, store_uint8_t}, {load_4, store_4}, {load_8, store_8}};
    static tn_i_number_fn *const whole[][2] = {{load_32, store_32}, {load_64, store_64}, {load_128, store_128}};
#endif
    const int size = e->size == 1 ? 0 : e->size == 4 ? 1 : 2, way = e->kind == TN_CODE_PUT;
#if TN_HAVE_ISA
    const int64_t bytes = n * e->size;
    if (m->vectors && n == m->width && bytes >= 32) return whole[bytes == 32 ? 0 : bytes == 64 ? 1 : 2][way];
    if (m->vectors) return vectors[size][way];
#endif
    (void)m, (void)n;
    return plain[size][way];
}

static uint32_t place_of(const maker *m, uint32_t v) {
    if (v == TN_NOVAR) return 0;
    return m->own && m->own[v] != TN_NOVAR ? m->own[v] : (uint32_t)m->code->value[v].offset;
}

static void add_side(maker *m, const tiny *x) {
    const tn_i_nest_instr *e = x->instr;
    const bool loads = e->kind == TN_CODE_PICK;
    const uint32_t tile = place_of(m, loads ? e->out : e->in[0]);
    m->op[m->nop++] =
        (tn_i_number_op){.run = side_of(m, e, x->n),
                         .out = loads ? tile : e->array,
                         .in = {loads ? e->array : tile, (uint32_t)m->code->gather[e->walk], (uint32_t)x->n},
                         .with.width = m->width};
}

/* Which operands are one number for all elements. */
static unsigned repeated(const tn_i_nest_instr *e) {
    unsigned mask = 0;
    for (uint32_t k = 0; k < e->nin; k++) mask |= (unsigned)(e->s[k] == 0) << k;
    return mask;
}

static tn_i_number_fn *lanes_of(const tn_i_nest_instr *e) { return e->lanes ? e->lanes[repeated(e)] : NULL; }

/* What runs an instruction over n elements; NULL: nothing here does. */
static tn_i_number_fn *run_of(const tn_i_nest_instr *e, int64_t n, int64_t rows) {
    switch ((tn_i_nest_code_kind)e->kind) {
    case TN_CODE_MAP:
        if (e->padded) return lanes_of(e) ? lanes_of(e) : run_strip;
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
    case TN_CODE_SINK: break;
    }
    return NULL;
}

/* Those that fill a tile to its end themselves. */
static bool fills(const tn_i_nest_instr *e) { return e->kind == TN_CODE_MAP || e->kind == TN_CODE_PICK; }

bool tn_i_tiny_add(maker *m, const tiny *from) {
    const tn_i_nest_instr *e = from->instr;
    if (tn_i_tiny_dense(from)) {
        add_side(m, from);
        return true;
    }
    tn_i_number_fn *run = run_of(e, from->n, from->rows);
    if (!run) return false;
    tiny *x = &m->small[m->nsmall++];
    tn_i_number_op *o = &m->op[m->nop++];
    *x = *from;
    x->width = m->width;
    *o = (tn_i_number_op){.run = run, .out = place_of(m, e->out)};
    for (uint32_t k = 0; k < e->nin && k < 3; k++) o->in[k] = place_of(m, e->in[k]);
    if (run == run_one)
        o->with.one = e->one;
    else if (e->kind == TN_CODE_MAP && run != run_strip)
        o->with.width = m->width;
    else
        o->with.more = x;
    if (e->padded && !fills(e) && x->n < m->width) {
        m->op[m->nop] = *o;
        m->op[m->nop++].run = run_pad;
    }
    return true;
}

static void list_section(const tn_i_nest_code *c, tn_i_nest_section part, int64_t n, int64_t rows, tiny **to) {
    for (uint32_t i = part.first; i < part.last; i++) *(*to)++ = (tiny){c, &c->instr[i], n, rows, 0};
}

uint32_t tn_i_tiny_order(const tn_i_nest *n, tiny *list) {
    const tn_i_nest_code *c = n->code;
    const int64_t all = n->rows * n->row;
    tiny *to = list;
    for (uint32_t i = c->once.first; i < c->once.last; i++) { /* over one element, or lasting for the whole block */
        const bool lasts = c->instr[i].lasting;
        *to++ = (tiny){c, &c->instr[i], lasts ? all : 1, lasts ? n->rows : 1, 0};
    }
    list_section(c, c->before, n->rows, n->rows, &to);
    for (uint32_t p = 0; p < n->nphase; p++) {
        list_section(c, c->elements[p], all, n->rows, &to);
        list_section(c, c->row[p], n->rows, n->rows, &to);
    }
    return (uint32_t)(to - list);
}

/* Half of the lanes where that is enough and leaves whole vectors; a quarter, for what needs no vectors of 64 bytes. */
static int64_t width_of(const tn_i_nest_code *c, int64_t n) {
    bool half = n <= TN_LANES / 2, quarter = n <= TN_LANES / 4;
    for (uint32_t i = 0; i < c->ninstr; i++) {
        const tn_i_nest_instr *e = &c->instr[i];
        half &= e->size != 4;
        quarter &= e->size == 8 && (e->kind != TN_CODE_MAP || !e->padded || lanes_of(e));
    }
    return half && quarter ? TN_LANES / 4 : half ? TN_LANES / 2 : TN_LANES;
}

maker tn_i_tiny_begin(const tn_i_nest *n, tn_i_number_op *op, tiny *small, tn_i_isa isa) {
    return (maker){.code = n->code,
                   .op = op,
                   .small = small,
                   .vectors = isa != TN_ISA_PLAIN,
                   .width = width_of(n->code, n->rows * n->row)};
}

bool tn_i_tiny_make(tn_ctx *ctx, tn_i_nest *n, tn_i_nest_code *c, tn_i_isa isa) {
    if (c->block < n->rows || n->scratch > UINT32_MAX || c->nvalue == 0) return true;
    tiny *list = tn_i_alloc_array(ctx, c->ninstr + 1u, sizeof *list);
    c->cnumber = 2 * (size_t)c->ninstr + 1;
    c->number = tn_i_alloc_array(ctx, c->cnumber, sizeof *c->number);
    c->small = tn_i_alloc_array(ctx, c->cnumber, sizeof *c->small);
    const bool ok = list && c->number && c->small;
    if (ok) {
        maker m = tn_i_tiny_begin(n, c->number, c->small, isa);
        const uint32_t count = tn_i_tiny_order(n, list);
        c->numbers = true;
        for (uint32_t i = 0; c->numbers && i < count; i++) c->numbers = tn_i_tiny_add(&m, &list[i]);
        c->number[m.nop] = (tn_i_number_op){.run = run_end};
        c->nnumber = m.nop;
    }
    tn_i_free(ctx, list, (c->ninstr + 1u) * sizeof *list);
    return ok;
}

void tn_i_tiny_drop(tn_ctx *ctx, tn_i_nest_code *c) { tn_i_free(ctx, c->small, c->cnumber * sizeof *c->small); }
