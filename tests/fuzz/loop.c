/* Any text as a loop program: it parses to one that prints as itself, and runs within its arrays where the checker says
 * so; or fails cleanly; also without memory. */
#include "loop/loop.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_WORK = 20000, MOST_BYTES = 1 << 20 };

typedef struct meter {
    size_t used, limit;
    size_t left; /* allocations until one fails; 0: none does */
} meter;

static void *metered(void *user, void *p, size_t old_size, size_t new_size) {
    meter *m = user;
    if (new_size > old_size && (m->used - old_size + new_size > m->limit || (m->left && --m->left == 0))) return NULL;
    if (new_size == 0) {
        free(p);
        p = NULL;
    } else if (!(p = realloc(p, new_size)))
        abort();
    m->used = m->used - old_size + new_size;
    return p;
}

static void must(bool ok) {
    if (!ok) abort();
}

static void round_trip(tn_ctx *c, const tn_i_loops *p) {
    size_t n, again;
    char *text = tn_i_l_print(p, &n);
    must(text || tn_last_status(c) == TN_ENOMEM);
    if (!text) return;
    tn_i_loops *q = tn_i_l_parse(c, text, n, "printed", NULL, 0);
    must(q || tn_last_status(c) == TN_ENOMEM);
    char *same = q ? tn_i_l_print(q, &again) : NULL;
    must(!same || (n == again && memcmp(text, same, n) == 0));
    tn_text_free(c, same);
    tn_i_l_free(q);
    tn_text_free(c, text);
}

/* Whether it runs at most so many operations, and its arrays are small. */
static bool is_small(const tn_i_loops *p) {
    double work = 0, times = 1;
    int64_t bytes = p->bytes;
    for (uint32_t i = 0; i < p->narray; i++) {
        const tn_i_l_array *a = &p->array[i];
        if (a->count > MOST_BYTES || a->at > MOST_BYTES) return false;
        bytes += a->at + a->count * (int64_t)tn_i_dtype_size(a->dtype);
    }
    for (uint32_t k = 0; k < p->nop; k++) {
        const tn_i_l_op *o = &p->op[k];
        if (o->kind == TN_L_FOR) times *= (double)o->hi + 1;
        if (o->kind == TN_L_END && p->op[o->to].kind == TN_L_FOR) times /= (double)p->op[o->to].hi + 1;
        if (o->kind == TN_L_REDUCE && o->hi > 1000) return false;
        work += times;
    }
    return work < MOST_WORK && bytes < MOST_BYTES && p->nbase < 100;
}

/* Each base is as long as its arrays, so that a sanitizer sees what is behind. */
static void evaluate(tn_ctx *c, const tn_i_loops *p) {
    char *base[100] = {0};
    size_t bytes[100] = {0};
    for (uint32_t i = 0; i < p->narray; i++) {
        const tn_i_l_array *a = &p->array[i];
        if (a->role == TN_L_CONST) continue;
        const size_t end = (size_t)a->at + (size_t)a->count * tn_i_dtype_size(a->dtype);
        if (end > bytes[a->base]) bytes[a->base] = end;
    }
    for (uint32_t b = 0; b < p->nbase; b++) must((base[b] = calloc(1, bytes[b] ? bytes[b] : 1)));
    const tn_status s = tn_i_l_eval(p, base, NULL);
    must(s == TN_OK || s == TN_ENOMEM || (s == TN_ERULE && p->nkernel)); /* a kernel that is not there */
    (void)c;
    for (uint32_t b = 0; b < p->nbase; b++) free(base[b]);
}

static void run(const uint8_t *data, size_t size, size_t fail_at) {
    meter m = {.limit = (size_t)64 << 20, .left = fail_at};
    tn_ctx_options options = {.size = sizeof options, .realloc = metered, .user = &m, .check = -1};
    tn_ctx *c = tn_ctx_new(&options);
    if (!c) return;
    tn_i_loops *p = tn_i_l_parse(c, (const char *)data, size, "fuzz", NULL, 0);
    if (!p) must(tn_last_status(c) != TN_OK && tn_error(c)[0]);
    if (p) {
        const bool ok = tn_i_l_check(p);
        if (!fail_at) round_trip(c, p);
        if (ok && is_small(p)) evaluate(c, p);
    }
    tn_i_l_free(p);
    tn_ctx_free(c);
    must(m.used == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    run(data, size, 0);
    run(data, size, 1 + tn_i_hash(0, data, size) % 200);
    return 0;
}
