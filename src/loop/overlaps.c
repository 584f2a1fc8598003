#include "loop/overlaps.h"

#include <stdlib.h>

static int by_place(const void *x, const void *y) {
    const tn_i_l_span *a = x, *b = y;
    if (a->base != b->base) return a->base < b->base ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

static int64_t end_of(const tn_i_l_array *a) { return a->at + a->count * (int64_t)tn_i_dtype_size(a->dtype); }

bool tn_i_l_overlaps_find(tn_i_l_overlaps *z, const tn_i_loops *p) {
    *z = (tn_i_l_overlaps){.room = p->narray};
    if (p->narray && !(z->span = tn_i_alloc_array(p->ctx, p->narray, sizeof *z->span))) return false;
    for (uint32_t i = 0; i < p->narray; i++) {
        const tn_i_l_array *a = &p->array[i];
        if (a->base == TN_L_NONE || a->count == 0) continue;
        z->span[z->n++] = (tn_i_l_span){.base = a->base, .array = i, .at = a->at, .end = end_of(a)};
    }
    if (z->n) qsort(z->span, z->n, sizeof *z->span, by_place);
    for (size_t i = 0; i < z->n; i++) {
        tn_i_l_span *s = &z->span[i];
        const bool follows = i > 0 && s[-1].base == s->base && s[-1].far > s->end;
        s->far = follows ? s[-1].far : s->end;
    }
    return true;
}

void tn_i_l_overlaps_drop(tn_ctx *c, tn_i_l_overlaps *z) {
    tn_i_free(c, z->span, z->room * sizeof *z->span);
    *z = (tn_i_l_overlaps){.n = 0};
}

/* The first span that begins at or behind `at` in the base. */
static size_t behind(const tn_i_l_overlaps *z, uint32_t base, int64_t at) {
    const tn_i_l_span key = {.base = base, .at = at};
    size_t low = 0, high = z->n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (by_place(&z->span[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t tn_i_l_overlaps_of(const tn_i_l_overlaps *z, const tn_i_loops *p, uint32_t array, size_t *first) {
    const tn_i_l_array *a = &p->array[array];
    *first = 0;
    if (a->base == TN_L_NONE || a->count == 0) return 0;
    const size_t last = behind(z, a->base, end_of(a));
    *first = last;
    while (*first > 0 && z->span[*first - 1].base == a->base && z->span[*first - 1].far > a->at) --*first;
    return last;
}
