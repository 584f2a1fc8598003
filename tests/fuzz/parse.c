/* Any text: it parses to a checked program that prints as itself, or fails cleanly; also without memory. */
#include "ir/ir.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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

static void must_or_memory(tn_ctx *c, bool ok) {
    must(ok || tn_last_status(c) == TN_ENOMEM || tn_last_status(c) == TN_EOVERFLOW);
}

/* The printed program parses, and prints the same. */
static void round_trip(tn_ctx *c, const tn_fn *f) {
    size_t n, again;
    char *text = tn_fn_print(f, &n);
    must_or_memory(c, text != NULL);
    if (!text) return;
    tn_fn *g = tn_fn_parse(c, text, n, "printed");
    must_or_memory(c, g != NULL);
    char *same = tn_fn_print(g, &again);
    must(!same || (n == again && memcmp(text, same, n) == 0));
    tn_text_free(c, same);
    tn_fn_free(g);
    tn_text_free(c, text);
}

static void run(const uint8_t *data, size_t size, size_t fail_at) {
    meter m = {.limit = (size_t)64 << 20, .left = fail_at};
    tn_ctx_options options = {.size = sizeof options, .realloc = metered, .user = &m, .check = -1};
    tn_ctx *c = tn_ctx_new(&options);
    if (!c) return;
    tn_fn *f = tn_fn_parse(c, (const char *)data, size, "fuzz");
    if (!f) must(tn_last_status(c) != TN_OK && tn_error(c)[0]);
    if (f) {
        tn_i_cost cost;
        must_or_memory(c, tn_i_check(f));
        must_or_memory(c, tn_i_fn_cost(f, &cost));
        if (!fail_at) round_trip(c, f);
    }
    tn_fn_free(f);
    must(c->fns == NULL);
    tn_ctx_free(c);
    must(m.used == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    run(data, size, 0);
    run(data, size, 1 + tn_i_hash(0, data, size) % 200);
    return 0;
}
