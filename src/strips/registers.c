/* Where values are: numbers of 8 bytes, strips, and areas of reductions.  Strips are as long as the room
 * allows, so that places are told first and addresses when all are. */
#include "base/machine.h"
#include "strips/inside.h"

uint32_t tn_i_s_take(tn_i_s_places *z, bool strip) {
    const uint32_t tag = strip ? TN_S_STRIP : 0;
    uint32_t *n = strip ? &z->nstrip : &z->nnumber;
    if (z->nfree[strip]) return z->free[strip][--z->nfree[strip]];
    if (*n >= TN_S_NUMBER_OF / 8) {
        if (!z->failed) (void)tn_i_fail(z->ctx, TN_ELIMIT, NULL, "loop program: too many values at once");
        z->failed = true;
        return tag;
    }
    return tag | (*n)++;
}

static void give_area(tn_i_s_places *z, uint32_t place) {
    for (uint32_t i = 0; i < z->narea; i++)
        if (z->area[i].place == place) z->area[i].free = true;
}

void tn_i_s_give(tn_i_s_places *z, uint32_t place) {
    const bool strip = place & TN_S_STRIP;
    if (z->failed) return;
    if (place & TN_S_AREA)
        give_area(z, place);
    else if (!tn_i_grow(z->ctx, (void **)(void *)&z->free[strip], &z->cfree[strip], z->nfree[strip] + (size_t)1,
                        sizeof *z->free[strip]))
        z->failed = true;
    else
        z->free[strip][z->nfree[strip]++] = place;
}

static bool fail_area(tn_i_s_places *z) {
    if (!z->failed) (void)tn_i_fail(z->ctx, TN_ELIMIT, NULL, "loop program: reductions take too much memory");
    z->failed = true;
    return false;
}

static bool round_up(size_t *bytes) {
    if (!tn_i_add(*bytes, 63, bytes)) return false;
    *bytes &= ~(size_t)63;
    return true;
}

/* Areas of one size are used again. */
static uint32_t new_area(tn_i_s_places *z, size_t bytes) {
    const size_t at = z->bytes;
    if (!tn_i_add(z->bytes, bytes, &z->bytes) || z->bytes > TN_S_NUMBER_OF) return fail_area(z), TN_S_AREA;
    if (!tn_i_grow(z->ctx, (void **)(void *)&z->area, &z->carea, z->narea + (size_t)1, sizeof *z->area)) {
        z->failed = true;
        return TN_S_AREA;
    }
    z->area[z->narea] = (tn_i_s_area_of){.place = TN_S_AREA | (uint32_t)at, .bytes = bytes};
    return z->area[z->narea++].place;
}

uint32_t tn_i_s_area(tn_i_s_places *z, size_t bytes) {
    if (!round_up(&bytes)) return fail_area(z), TN_S_AREA;
    for (uint32_t i = 0; i < z->narea; i++)
        if (z->area[i].free && z->area[i].bytes == bytes) {
            z->area[i].free = false;
            return z->area[i].place;
        }
    return new_area(z, bytes);
}

void tn_i_s_places_drop(tn_i_s_places *z) {
    for (int i = 0; i < 2; i++) tn_i_free(z->ctx, z->free[i], z->cfree[i] * sizeof *z->free[i]);
    tn_i_free(z->ctx, z->area, z->carea * sizeof *z->area);
}

/* Areas, then numbers, then strips. */
typedef struct layout {
    size_t number, strip, each;
} layout;

static uint32_t settled(const layout *l, uint32_t place) {
    const uint32_t k = place & TN_S_NUMBER_OF;
    if (place & TN_S_CONST) return TN_S_CONST | k * 8;
    if (place & TN_S_AREA) return k;
    return (uint32_t)(place & TN_S_STRIP ? l->strip + k * l->each : l->number + k * (size_t)8);
}

static int64_t strip_of(const tn_i_s_places *z, size_t fixed, int64_t most, size_t room) {
    if (fixed > room) return 0;
    if (!z->nstrip) return most;
    const size_t n = (room - fixed) / 8 / z->nstrip;
    int64_t strip = n < (size_t)most ? (int64_t)n : most;
    if (strip > TN_LANES) strip -= strip % TN_LANES;
    return strip;
}

bool tn_i_s_settle(tn_i_strips *s, const tn_i_s_places *z, int64_t most, size_t room) {
    layout l = {.number = z->bytes};
    l.strip = (l.number + z->nnumber * (size_t)8 + 63) & ~(size_t)63;
    room &= ~(size_t)63;
    s->strip = strip_of(z, l.strip, most, room);
    if (s->strip < 1) return false;
    l.each = (size_t)s->strip * 8;
    s->bytes = (l.strip + z->nstrip * l.each + 63) & ~(size_t)63;
    if (s->bytes >= TN_S_CONST) return false;
    for (uint32_t k = 0; k < s->nop; k++) {
        tn_i_s_op *e = &s->op[k];
        e->out = settled(&l, e->out);
        for (int i = 0; i < 3; i++) e->in[i] = settled(&l, e->in[i]);
        if (e->kind == TN_S_FOR || e->kind == TN_S_VECTOR || e->kind == TN_S_PARALLEL || e->kind == TN_S_KEEP ||
            e->kind == TN_S_HALVES)
            e->slot = settled(&l, e->slot);
    }
    for (uint32_t k = 0; k < s->nterm; k++) s->term[k].at = settled(&l, s->term[k].at);
    for (uint32_t k = 0; k < s->nsum; k++) s->sum[k].area = settled(&l, s->sum[k].area);
    return true;
}

int64_t tn_i_strips_lanes(int64_t bytes) {
    int64_t lanes = TN_M_STRIP_LANES;
    while (lanes > TN_LANES && lanes * bytes > TN_M_STRIP_BYTES) lanes /= 2;
    return lanes;
}
