/* The buffer: instructions, labels, and the pool of constants behind them (jit/code.h). */
#include "jit/code.h"

#include <string.h>

/* Distances have 32 bits; the rest of 2 GiB is for the pool. */
enum { MOST_TEXT = 1 << 30, MOST_DATA = 1 << 29 };
#define UNPLACED UINT32_MAX
enum { LARGEST = 64, SMALLEST = 4 };
/* Between instructions and pool stands what traps. */
enum { TRAP = 0xCC };

void tn_i_code_begin(tn_i_code *c, tn_ctx *ctx, tn_i_isa isa) { *c = (tn_i_code){.ctx = ctx, .isa = isa}; }

void tn_i_code_drop(tn_i_code *c) {
    tn_ctx *x = c->ctx;
    tn_i_free(x, c->text, c->capacity);
    tn_i_free(x, c->label, c->labels * sizeof *c->label);
    tn_i_free(x, c->fix, c->fixes * sizeof *c->fix);
    tn_i_free(x, c->constant, c->constants * sizeof *c->constant);
    tn_i_free(x, c->data, c->datas);
    tn_i_free(x, c->slot, c->slots * sizeof *c->slot);
    tn_i_code_begin(c, x, c->isa);
}

static bool grow(tn_i_code *c, void *p, size_t *capacity, size_t want, size_t size) {
    void *q;
    if (c->failed) return false;
    memcpy(&q, p, sizeof q);
    c->failed = !tn_i_grow(c->ctx, &q, capacity, want, size);
    memcpy(p, &q, sizeof q);
    return !c->failed;
}

static void limit(tn_i_code *c, const char *what) {
    if (!c->failed) (void)tn_i_fail(c->ctx, TN_ELIMIT, NULL, "code: too many %s", what);
    c->failed = true;
}

void tn_i_code_wrong(tn_i_code *c, const char *instruction, const char *reason) {
    if (!c->failed) (void)tn_i_fail(c->ctx, TN_EINVAL, NULL, "code: %s: %s", instruction, reason);
    c->failed = true;
}

uint8_t *tn_i_code_room(tn_i_code *c) {
    const bool usual = !c->failed && !c->finished && c->length <= MOST_TEXT;
    if (usual && c->length + TN_CODE_ROOM <= c->capacity) return c->text + c->length;
    if (c->length > MOST_TEXT) limit(c, "instructions");
    if (c->finished) tn_i_code_wrong(c, "an instruction", "the code is finished");
    return grow(c, &c->text, &c->capacity, c->length + TN_CODE_ROOM, 1) ? c->text + c->length : NULL;
}

/* ---- labels ----------------------------------------------------------------------------- */

tn_i_jit_label tn_i_code_label(tn_i_code *c) {
    if (c->nlabel >= MOST_TEXT) limit(c, "labels");
    if (!grow(c, &c->label, &c->labels, c->nlabel + 1, sizeof *c->label)) return 0;
    c->label[c->nlabel] = UNPLACED;
    return (tn_i_jit_label)c->nlabel++;
}

void tn_i_code_place(tn_i_code *c, tn_i_jit_label l) {
    if (c->failed) return;
    if (c->label[l] != UNPLACED)
        tn_i_code_wrong(c, "a label", "it is placed already");
    else
        c->label[l] = (uint32_t)c->length;
}

void tn_i_code_fix_later(tn_i_code *c, size_t at, size_t end, uint32_t target, bool pool) {
    if (!grow(c, &c->fix, &c->fixes, c->nfix + 1, sizeof *c->fix)) return;
    c->fix[c->nfix++] = (tn_i_code_fix){(uint32_t)at, (uint32_t)end, target, pool};
}

void tn_i_code_align(tn_i_code *c, size_t alignment) {
    /* What the manuals of both makers of processors recommend for 1 to 9 bytes. */
    static const uint8_t nop[9][9] = {{0x90},
                                      {0x66, 0x90},
                                      {0x0F, 0x1F, 0x00},
                                      {0x0F, 0x1F, 0x40, 0x00},
                                      {0x0F, 0x1F, 0x44, 0x00, 0x00},
                                      {0x66, 0x0F, 0x1F, 0x44, 0x00, 0x00},
                                      {0x0F, 0x1F, 0x80, 0x00, 0x00, 0x00, 0x00},
                                      {0x0F, 0x1F, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
                                      {0x66, 0x0F, 0x1F, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00}};
    for (size_t left = (0 - c->length) % alignment; left;) {
        const size_t n = left < 9 ? left : 9;
        uint8_t *p = tn_i_code_room(c);
        if (!p) return;
        memcpy(p, nop[n - 1], n);
        c->length += n;
        left -= n;
    }
}

/* ---- constants --------------------------------------------------------------------------- */

static size_t slot_of(const tn_i_code *c, const uint8_t *bytes, size_t size) {
    size_t i = (size_t)tn_i_hash(size, bytes, size) & (c->slots - 1);
    while (c->slot[i]) {
        const tn_i_code_constant *k = &c->constant[c->slot[i] - 1];
        if (k->size == size && !memcmp(c->data + k->at, bytes, size)) break;
        i = (i + 1) & (c->slots - 1);
    }
    return i;
}

/* At most half of the table is full. */
static bool more_slots(tn_i_code *c) {
    const size_t before = c->slots, now = before ? 2 * before : 16;
    if (2 * (c->nconstant + 1) <= before) return true;
    uint32_t *const slot = tn_i_alloc_array(c->ctx, now, sizeof *slot);
    if (!slot) {
        c->failed = true;
        return false;
    }
    tn_i_free(c->ctx, c->slot, before * sizeof *c->slot);
    c->slot = slot;
    c->slots = now;
    for (size_t i = 0; i < c->nconstant; i++)
        c->slot[slot_of(c, c->data + c->constant[i].at, c->constant[i].size)] = (uint32_t)i + 1;
    return true;
}

tn_i_jit_const tn_i_code_constant_of(tn_i_code *c, const void *bytes, size_t size) {
    if (size < SMALLEST || size > LARGEST || (size & (size - 1)))
        tn_i_code_wrong(c, "a constant", "its size is not 4, 8, 16, 32 or 64");
    if (c->ndata > MOST_DATA) limit(c, "constants");
    if (c->failed || !more_slots(c)) return 0;
    const size_t i = slot_of(c, bytes, size);
    if (c->slot[i]) return c->slot[i] - 1;
    if (!grow(c, &c->constant, &c->constants, c->nconstant + 1, sizeof *c->constant)) return 0;
    if (!grow(c, &c->data, &c->datas, c->ndata + size, 1)) return 0;
    memcpy(c->data + c->ndata, bytes, size);
    c->constant[c->nconstant++] = (tn_i_code_constant){.at = (uint32_t)c->ndata, .size = (uint32_t)size};
    c->ndata += size;
    c->slot[i] = (uint32_t)c->nconstant;
    return (tn_i_jit_const)(c->nconstant - 1);
}

/* ---- finishing ----------------------------------------------------------------------------- */

static size_t pool_begin(const tn_i_code *c) { return (c->length + LARGEST - 1) / LARGEST * LARGEST; }

/* The largest first, so that each is aligned. */
static void place_constants(tn_i_code *c) {
    size_t at = c->nconstant ? pool_begin(c) : c->length;
    for (size_t size = LARGEST; size >= SMALLEST; size /= 2)
        for (size_t i = 0; i < c->nconstant; i++) {
            if (c->constant[i].size != size) continue;
            c->constant[i].place = (uint32_t)at;
            at += size;
        }
    c->size = at;
}

bool tn_i_code_finish(tn_i_code *c) {
    if (c->failed || c->finished) return !c->failed;
    for (size_t i = 0; i < c->nlabel; i++)
        if (c->label[i] == UNPLACED) tn_i_code_wrong(c, "a label", "it has no place");
    if (c->failed) return false;
    place_constants(c);
    for (size_t i = 0; i < c->nfix; i++) {
        const tn_i_code_fix *f = &c->fix[i];
        const uint32_t to = f->pool ? c->constant[f->target].place : c->label[f->target], distance = to - f->end;
        memcpy(c->text + f->at, &distance, sizeof distance);
    }
    return c->finished = true;
}

void tn_i_code_write(const tn_i_code *c, uint8_t *out) {
    if (c->length) memcpy(out, c->text, c->length);
    if (c->nconstant) memset(out + c->length, TRAP, pool_begin(c) - c->length);
    for (size_t i = 0; i < c->nconstant; i++)
        memcpy(out + c->constant[i].place, c->data + c->constant[i].at, c->constant[i].size);
}

size_t tn_i_code_place_of(const tn_i_code *c, tn_i_jit_label l) { return c->label[l]; }
size_t tn_i_code_constant_place(const tn_i_code *c, tn_i_jit_const k) { return c->constant[k].place; }
