#include "laws/array.h"

#include "prims/sample.h"

#include "naive.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory ------------------------------------------------------------------- */

enum { BLOCK = 1 << 18 };

typedef struct laws_block {
    struct laws_block *next;
    size_t size;
    _Alignas(64) unsigned char data[];
} laws_block;

/* The tests' own memory is not under test: without it there is nothing to report. */
static laws_block *block_new(size_t size) {
    const size_t bytes = (sizeof(laws_block) + size + 63) / 64 * 64;
    laws_block *k = aligned_alloc(64, bytes);
    if (!k) {
        (void)fprintf(stderr, "laws: out of memory\n");
        exit(3);
    }
    *k = (laws_block){.size = size};
    return k;
}

void *laws_alloc(laws_memory *m, size_t count, size_t size) {
    const size_t bytes = (count * size + 63) / 64 * 64;
    if (!m->block || m->block->size - m->used < bytes) {
        laws_block *k = block_new(bytes > BLOCK ? bytes : BLOCK);
        k->next = m->block;
        m->block = k;
        m->used = 0;
    }
    void *p = m->block->data + m->used;
    m->used += bytes;
    return memset(p, 0, bytes);
}

void laws_release(laws_memory *m) {
    while (m->block && m->block->next) {
        laws_block *k = m->block;
        m->block = k->next;
        free(k);
    }
    m->used = 0;
}

void laws_memory_drop(laws_memory *m) {
    laws_release(m);
    free(m->block);
    m->block = NULL;
}

/* ---- elements ------------------------------------------------------------------ */

laws_array laws_new(laws_memory *m, const tn_type *t) {
    if (tn_i_has_steps(t)) return (laws_array){.type = *t, .data = laws_alloc(m, 1, sizeof(tn_naive_tree))};
    return (laws_array){.type = *t, .data = laws_alloc(m, tn_type_bytes(t) + 1, 1)};
}

static void *owned_value(laws_memory *m, const tn_type *t, const void *value) {
    laws_array a = laws_new(m, t);
    if (tn_i_has_steps(t)) {
        *(tn_naive_tree *)a.data = *(const tn_naive_tree *)value;
        laws_own_tree(m, &a);
    } else
        memcpy(a.data, value, laws_bytes(&a));
    return a.data;
}

void laws_own_tree(laws_memory *m, laws_array *a) {
    tn_type entry = a->type;
    tn_naive_tree *s = a->data;
    void **mine = laws_alloc(m, (size_t)s->n + 1, sizeof *mine);
    memmove(entry.dim, entry.dim + 1, (size_t)--entry.rank * sizeof *entry.dim);
    for (int64_t i = 0; i < s->n; i++) {
        mine[i] = owned_value(m, &entry, s->entry[i]);
        free(s->entry[i]);
    }
    free(s->entry);
    s->entry = mine;
    s->room = s->n;
}

laws_array laws_copy(laws_memory *m, const laws_array *a) {
    laws_array b = laws_new(m, &a->type);
    memcpy(b.data, a->data, laws_bytes(a));
    return b;
}

double laws_get(const laws_array *a, int64_t i) {
    return tn_i_element(a->type.dtype, (const char *)a->data + i * (int64_t)tn_i_dtype_size(a->type.dtype));
}

void laws_put(laws_array *a, int64_t i, double x) { tn_i_put(a->type.dtype, a->data, i, x); }

void laws_random(tn_i_rng *r, laws_array *a) {
    const int64_t n = laws_count(a);
    for (int64_t i = 0; i < n; i++) laws_put(a, i, laws_is_float(a) ? tn_i_uniform(r, -1, 1) : 0);
}

laws_array laws_widened(laws_memory *m, const laws_array *a) {
    if (!laws_is_float(a) || a->type.dtype == TN_F64) return *a;
    tn_type t = a->type;
    t.dtype = TN_F64;
    laws_array b = laws_new(m, &t);
    for (int64_t i = 0; i < laws_count(a); i++) laws_put(&b, i, laws_get(a, i));
    return b;
}

/* ---- comparison ------------------------------------------------------------------ */

int64_t laws_bits_differ(const laws_array *a, const laws_array *b) {
    const size_t size = tn_i_dtype_size(a->type.dtype);
    if (!tn_type_equal(&a->type, &b->type)) return 0;
    if (memcmp(a->data, b->data, laws_bytes(a)) == 0) return -1;
    for (int64_t i = 0; i < laws_count(a); i++) {
        const char *x = (const char *)a->data + (size_t)i * size, *y = (const char *)b->data + (size_t)i * size;
        if (memcmp(x, y, size) == 0) continue;
        if (laws_is_float(a) && isnan(laws_get(a, i)) && isnan(laws_get(b, i))) continue;
        return i;
    }
    return -1;
}

int64_t laws_values_differ(const laws_array *a, const laws_array *b, double tolerance, double floor) {
    return laws_values_differ_more(a, b, tolerance, floor, NULL);
}

int64_t laws_values_differ_more(const laws_array *a, const laws_array *b, double tolerance, double floor,
                                const laws_array *slack) {
    if (!laws_is_float(a) || !laws_is_float(b)) return laws_bits_differ(a, b);
    if (a->type.rank != b->type.rank || laws_count(a) != laws_count(b)) return 0;
    for (int64_t i = 0; i < laws_count(a); i++) {
        const double x = laws_get(a, i), y = laws_get(b, i);
        if (x == y || (isnan(x) && isnan(y))) continue;
        const double scale = fmax(fmax(fabs(x), fabs(y)), floor);
        const double most = fmax(tolerance * scale, slack ? laws_get(slack, i) : 0);
        if (!(fabs(x - y) <= most) || isinf(scale)) return i;
    }
    return -1;
}

double laws_dot(const laws_array *a, const laws_array *b, double *scale) {
    double sum = 0;
    for (int64_t i = 0; i < laws_count(a); i++) {
        const double term = laws_get(a, i) * laws_get(b, i);
        sum += term;
        *scale += fabs(term);
    }
    return sum;
}

bool laws_finite(const laws_array *a) {
    for (int64_t i = 0; i < laws_count(a) && laws_is_float(a); i++)
        if (!isfinite(laws_get(a, i))) return false;
    return true;
}

double laws_largest(const laws_array *a) {
    double most = 0;
    for (int64_t i = 0; i < laws_count(a); i++) most = fmax(most, fabs(laws_get(a, i)));
    return most;
}
