#include "base/axes.h"
#include "base/thread_stack.h"

/* Bytes by which a later version's options may be larger than ours; more is no size at all. */
enum { ROOM_FOR_MORE = 1024 };

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *libc_realloc(void *user, void *p, size_t old_size, size_t new_size) {
    (void)user, (void)old_size;
    if (new_size == 0) {
        free(p);
        return NULL;
    }
    return realloc(p, new_size);
}

/* ---- status and error ------------------------------------------------------ */

const char *tn_version(void) { return TN_VERSION; }

const char *tn_status_text(tn_status s) {
    switch (s) {
#define STATUS_CASE(name, code, text) \
    case name: return text;
        TN_STATUS_LIST(STATUS_CASE)
#undef STATUS_CASE
    }
    return "unknown status";
}

const char *tn_error(const tn_ctx *c) { return c ? c->message : "no context"; }
tn_status tn_last_status(const tn_ctx *c) { return c ? c->status : TN_ENOMEM; }

void tn_error_clear(tn_ctx *c) {
    if (!c) return;
    c->status = TN_OK;
    c->message[0] = 0;
}

static int format_loc(char *buf, size_t n, const tn_i_loc *loc) {
    if (!loc || !loc->file[0]) return 0;
    if (loc->col) return snprintf(buf, n, "%s:%u:%u: ", loc->file, (unsigned)loc->line, (unsigned)loc->col);
    return snprintf(buf, n, "%s:%u: ", loc->file, (unsigned)loc->line);
}

tn_status tn_i_vfail(tn_ctx *c, tn_status s, const tn_i_loc *loc, const char *fmt, va_list ap) {
    char text[sizeof c->message]; /* arguments may point into c->message */
    int used = format_loc(text, sizeof text, loc);
    size_t at = used < 0 ? 0 : (size_t)used;
    if (at < sizeof text) (void)vsnprintf(text + at, sizeof text - at, fmt, ap);
    memcpy(c->message, text, sizeof text);
    c->message[sizeof c->message - 1] = 0;
    c->status = s;
    return s;
}

tn_status tn_i_fail(tn_ctx *c, tn_status s, const tn_i_loc *loc, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    (void)tn_i_vfail(c, s, loc, fmt, ap);
    va_end(ap);
    return s;
}

/* ---- memory ---------------------------------------------------------------- */

bool tn_i_mul(size_t a, size_t b, size_t *out) {
    if (b != 0 && a > SIZE_MAX / b) return false;
    *out = a * b;
    return true;
}

bool tn_i_add(size_t a, size_t b, size_t *out) {
    if (a > SIZE_MAX - b) return false;
    *out = a + b;
    return true;
}

bool tn_i_mul_i64(int64_t a, int64_t b, int64_t *out) {
    if (a == 0 || b == 0) {
        *out = 0;
        return true;
    }
    if (a == -1 || b == -1) {
        int64_t other = a == -1 ? b : a;
        if (other == INT64_MIN) return false;
        *out = -other;
        return true;
    }
    if (a > 0 ? (b > 0 ? a > INT64_MAX / b : b < INT64_MIN / a) : (b > 0 ? a < INT64_MIN / b : a < INT64_MAX / b))
        return false;
    *out = a * b;
    return true;
}

bool tn_i_add_i64(int64_t a, int64_t b, int64_t *out) {
    if (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b) return false;
    *out = a + b;
    return true;
}

/* Threads that are in calls allocate too. */
static void count_bytes(tn_ctx *c, size_t old_size, size_t new_size) {
    const size_t change = new_size - old_size; /* modulo 2^n */
    const size_t now = atomic_fetch_add_explicit(&c->bytes, change, memory_order_relaxed) + change;
    size_t peak = atomic_load_explicit(&c->peak, memory_order_relaxed);
    while (now > peak &&
           !atomic_compare_exchange_weak_explicit(&c->peak, &peak, now, memory_order_relaxed, memory_order_relaxed)) {
    }
}

/* Whether the context's limit leaves room; what is freed makes room for others. */
static bool within_limit(const tn_ctx *c, size_t old_size, size_t new_size) {
    if (!c->opt.max_bytes || new_size <= old_size) return true;
    const size_t now = atomic_load_explicit(&c->bytes, memory_order_relaxed), more = new_size - old_size;
    return now <= c->opt.max_bytes && more <= c->opt.max_bytes - now;
}

static bool room_for(tn_ctx *c, size_t old_size, size_t new_size) {
    if (within_limit(c, old_size, new_size)) return true;
    (void)tn_i_fail(c, TN_ENOMEM, NULL, "out of memory: %zu bytes more than the %zu of tn_ctx_options.max_bytes",
                    new_size - old_size, c->opt.max_bytes);
    return false;
}

static void *door(tn_ctx *c, void *p, size_t old_size, size_t new_size) {
    if (!room_for(c, old_size, new_size)) return NULL;
    void *q = c->opt.realloc(c->opt.user, p, old_size, new_size);
    if (!q && new_size) {
        (void)tn_i_fail(c, TN_ENOMEM, NULL, "out of memory: %zu bytes", new_size);
        return NULL;
    }
    count_bytes(c, old_size, new_size);
    return q;
}

bool tn_i_count_pages(tn_ctx *c, size_t before, size_t now) {
    if (!room_for(c, before, now)) return false;
    count_bytes(c, before, now);
    return true;
}

void *tn_i_page_alloc(tn_ctx *c, size_t bytes) {
    void *p = within_limit(c, 0, bytes) ? c->opt.realloc(c->opt.user, NULL, 0, bytes) : NULL;
    if (p) count_bytes(c, 0, bytes);
    return p;
}

void tn_i_page_free(tn_ctx *c, void *p, size_t bytes) {
    (void)c->opt.realloc(c->opt.user, p, bytes, 0);
    count_bytes(c, bytes, 0);
}

void *tn_i_alloc_raw(tn_ctx *c, size_t bytes) { return door(c, NULL, 0, bytes); }

void *tn_i_alloc(tn_ctx *c, size_t bytes) {
    size_t n = bytes ? bytes : 1;
    void *p = tn_i_alloc_raw(c, n);
    if (p) memset(p, 0, n);
    return p;
}

void *tn_i_alloc_array(tn_ctx *c, size_t count, size_t size) {
    size_t bytes;
    if (!tn_i_mul(count, size, &bytes)) {
        (void)tn_i_fail(c, TN_EOVERFLOW, NULL, "size overflow: %zu elements of %zu bytes", count, size);
        return NULL;
    }
    return tn_i_alloc(c, bytes);
}

void tn_i_free(tn_ctx *c, void *p, size_t bytes) {
    if (p) (void)door(c, p, bytes ? bytes : 1, 0);
}

bool tn_i_grow(tn_ctx *c, void **p, size_t *capacity, size_t want, size_t size) {
    if (want <= *capacity) return true;
    size_t next = *capacity < 8 ? 8 : *capacity + *capacity / 2, bytes;
    if (next < want || c->tight) next = want;
    if (!tn_i_mul(next, size, &bytes)) {
        (void)tn_i_fail(c, TN_EOVERFLOW, NULL, "size overflow: %zu elements of %zu bytes", next, size);
        return false;
    }
    void *q = door(c, *p, *capacity * size, bytes);
    if (!q) return false;
    *p = q;
    *capacity = next;
    return true;
}

typedef struct tn_i_chunk {
    struct tn_i_chunk *next;
    size_t size, pad[2];
} tn_i_chunk;

void tn_i_arena_init(tn_i_arena *a, tn_ctx *c) { *a = (tn_i_arena){.ctx = c}; }

void *tn_i_arena_alloc(tn_i_arena *a, size_t bytes) {
    size_t n, total;
    if (!tn_i_add(bytes, 15, &n) || !tn_i_add(n &= ~(size_t)15, sizeof(tn_i_chunk), &total)) {
        (void)tn_i_fail(a->ctx, TN_EOVERFLOW, NULL, "size overflow: %zu bytes", bytes);
        return NULL;
    }
    if (!a->chunk || a->chunk->size - a->used < n || a->ctx->tight) {
        size_t size = a->chunk ? 2 * a->chunk->size : 1024;
        if (size > 1u << 20) size = 1u << 20;
        if (size < total || a->ctx->tight) size = total;
        tn_i_chunk *k = door(a->ctx, NULL, 0, size);
        if (!k) return NULL;
        *k = (tn_i_chunk){.next = a->chunk, .size = size};
        a->chunk = k;
        a->used = sizeof *k;
        a->bytes += size;
    }
    void *p = (char *)a->chunk + a->used;
    a->used += n;
    memset(p, 0, n);
    return p;
}

void tn_i_arena_free(tn_i_arena *a) {
    while (a->chunk) {
        tn_i_chunk *next = a->chunk->next;
        tn_i_free(a->ctx, a->chunk, a->chunk->size);
        a->chunk = next;
    }
    a->used = a->bytes = 0;
}

/* ---- context --------------------------------------------------------------- */

static const char *bad_options(const void *given, size_t known, size_t *size) {
    memcpy(size, given, sizeof *size);
    if (*size < sizeof *size || *size > known + ROOM_FOR_MORE) return "its size is not set";
    for (size_t i = known; i < *size; i++)
        if (((const unsigned char *)given)[i]) return "it has members that this version of the library does not know";
    return NULL;
}

bool tn_i_options(tn_ctx *c, const char *type, const void *given, void *own, size_t known) {
    size_t size;
    if (!given) return true;
    const char *bad = bad_options(given, known, &size);
    if (bad) {
        (void)tn_i_fail(c, TN_EINVAL, NULL, "%s: %s (%zu): write %s options = {.size = sizeof options, ..}", type, bad,
                        size, type);
        return false;
    }
    memcpy(own, given, size < known ? size : known);
    return true;
}

static void limit_nesting(tn_ctx *c) {
    const uint32_t by_stack = tn_i_nesting_within(tn_i_stack_left()), asked = c->opt.max_nesting;
    c->by_stack = by_stack < TN_MAX_NEST && (!asked || by_stack < asked);
    c->most_nesting = c->by_stack ? by_stack : asked && asked < TN_MAX_NEST ? asked : TN_MAX_NEST;
}

tn_ctx *tn_i_ctx_new(const tn_ctx_options *opt, const tn_prim *const *prims) {
    tn_ctx_options o = {.size = sizeof o};
    size_t size = 0;
    const bool refused = opt && bad_options(opt, sizeof o, &size);
    if (opt && !refused) memcpy(&o, opt, size < sizeof o ? size : sizeof o);
    if (!o.realloc) o.realloc = libc_realloc;
    tn_ctx *c = o.realloc(o.user, NULL, 0, sizeof *c + TN_I_HEADS);
    if (!c) return NULL;
    memset(c, 0, sizeof *c);
    c->opt = o;
    limit_nesting(c);
    c->bytes = c->peak = sizeof *c + TN_I_HEADS;
    c->heads = c + 1;
#ifdef TN_DEBUG
    c->check = o.check >= 0;
#else
    c->check = o.check > 0;
#endif
    c->contract = o.contract >= 0;
    c->scope = "";
    c->prims = prims;
    tn_i_arena_init(&c->arena, c);
    if (refused)
        (void)tn_i_options(c, "tn_ctx_options", opt, &o, sizeof o);
    else
        (void)tn_i_grid_set(c, NULL, "tn_ctx_options", &o.grid);
    c->opt.grid = (tn_grid){0};
    if (c->status != TN_OK) {
        c->refused = tn_i_string(c, c->message, strlen(c->message));
        if (!c->refused) c->refused = "tn_ctx_new: out of memory";
    }
    return c;
}

void tn_i_on_teardown(tn_ctx *c, void (*f)(tn_ctx *)) {
    for (size_t i = 0; i < sizeof c->teardown / sizeof *c->teardown; i++) {
        if (c->teardown[i] == f) return;
        if (!c->teardown[i]) {
            c->teardown[i] = f;
            return;
        }
    }
}

static void intern_free(tn_ctx *c, tn_i_intern *t) { tn_i_free(c, t->slot, t->capacity * sizeof *t->slot); }

void tn_ctx_free(tn_ctx *c) {
    if (!c) return;
    if (c->trace) { /* its callback runs on what would be freed */
        (void)tn_i_fail(c, TN_EINVAL, NULL, "tn_ctx_free: a callback of tn_trace is running; nothing was freed");
        return;
    }
    for (size_t i = sizeof c->teardown / sizeof *c->teardown; i-- > 0;)
        if (c->teardown[i]) c->teardown[i](c);
    if (c->strings.slot) intern_free(c, &c->strings);
    if (c->types.slot) intern_free(c, &c->types);
    if (c->locs.slot) intern_free(c, &c->locs);
    tn_i_arena_free(&c->arena);
    (void)c->opt.realloc(c->opt.user, c, sizeof *c + TN_I_HEADS, 0);
}

size_t tn_ctx_bytes(const tn_ctx *c) { return c ? c->bytes : 0; }
size_t tn_ctx_peak_bytes(const tn_ctx *c) { return c ? c->peak : 0; }
