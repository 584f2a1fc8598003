#include "plan/stack.h"
#include "prims/arrays/layout.h"

#include <string.h>

#define ALIGN       64
#define PAGE_MOST   ((size_t)4 << 20)
#define TABLE_LEAST 16

/* ---- sizes ------------------------------------------------------------------------ */

static int first_steps(const tn_type *t) {
    for (int i = 0; i < t->rank; i++)
        if (t->dim[i] == TN_I_STEPS) return i;
    return -1;
}

int64_t tn_i_handles(const tn_type *t) {
    const int at = first_steps(t);
    int64_t n = 1;
    if (at < 0 || tn_i_count(t) == 0) return 0;
    for (int i = 0; i < at; i++) n *= t->dim[i];
    return n;
}

size_t tn_i_memory_bytes(const tn_type *t) {
    const int64_t n = tn_i_handles(t);
    size_t bytes;
    if (n == 0) return tn_type_bytes(t);
    return tn_i_mul((size_t)n, sizeof(tn_i_handle), &bytes) ? bytes : SIZE_MAX;
}

static tn_type entry_type(const tn_type *t) {
    const int skip = first_steps(t) + 1;
    return tn_type_of((tn_dtype)t->dtype, (size_t)(t->rank - skip), t->dim + skip);
}

size_t tn_i_entry_bytes(const tn_type *t) {
    const tn_type e = entry_type(t);
    return tn_i_memory_bytes(&e);
}

/* ---- pieces of memory ---------------------------------------------------------------- */

/* In front of each allocation, and 64 bytes with it. */
typedef struct tn_i_page_head {
    struct tn_i_page_head *next, *next_free;
    void *memory; /* as allocated; NULL: of the caller's memory */
    size_t bytes, all;
} piece;

static unsigned char *data_of(piece *k) { return (unsigned char *)k + ALIGN; }
static piece *piece_of(unsigned char *data) { return (piece *)(void *)(data - ALIGN); }

void tn_i_stacks_init(tn_i_stacks *s, tn_ctx *c, size_t limit, unsigned char *given, size_t bytes) {
    *s = (tn_i_stacks){.ctx = c, .limit = limit, .given = given, .left = given ? bytes : 0};
}

static void forget_free(tn_i_stacks *s) {
    for (size_t i = 0; i < TN_I_BINS; i++) s->bin[i] = (struct tn_i_bin){0};
}

/* Gives back what is free, and all the rest too when nothing is in use. */
static void trim(tn_i_stacks *s) {
    if (s->given) return;
    for (size_t i = 0; i < TN_I_BINS; i++)
        for (piece *k = s->bin[i].head; k; k = k->next_free) k->bytes = 0;
    forget_free(s);
    for (piece **at = &s->all; *at;) {
        piece *k = *at;
        if (k->bytes) {
            at = &k->next;
            continue;
        }
        *at = k->next;
        s->bytes -= k->all;
        tn_i_page_free(s->ctx, k->memory, k->all);
    }
}

static piece *from_bin(tn_i_stacks *s, size_t bytes) {
    for (size_t i = 0; i < TN_I_BINS; i++) {
        piece *k = s->bin[i].head;
        if (!k || s->bin[i].bytes != bytes) continue;
        s->bin[i].head = k->next_free;
        return k;
    }
    return NULL;
}

static piece *from_given(tn_i_stacks *s, size_t bytes) {
    if (bytes > SIZE_MAX - 2 * ALIGN || bytes + ALIGN > s->left) return NULL;
    piece *k = (piece *)(void *)s->given;
    *k = (piece){.bytes = bytes, .all = bytes + ALIGN};
    s->given += bytes + ALIGN;
    s->left -= bytes + ALIGN;
    s->bytes += bytes + ALIGN;
    return k;
}

static piece *from_context(tn_i_stacks *s, size_t bytes) {
    size_t all;
    if (!tn_i_add(bytes, 2 * (size_t)ALIGN, &all)) return NULL;
    if (all > s->limit || s->bytes > s->limit - all) trim(s);
    if (all > s->limit || s->bytes > s->limit - all) return NULL;
    unsigned char *memory = tn_i_page_alloc(s->ctx, all);
    if (!memory) return NULL;
    piece *k = (piece *)(void *)(memory + (ALIGN - (uintptr_t)memory % ALIGN) % ALIGN);
    *k = (piece){.memory = memory, .bytes = bytes, .all = all, .next = s->all};
    s->all = k;
    s->bytes += all;
    return k;
}

static void *take(tn_i_stacks *s, size_t bytes) {
    if (!tn_i_add(bytes, ALIGN - 1, &bytes)) return NULL;
    bytes &= ~(size_t)(ALIGN - 1);
    if (bytes == 0) bytes = ALIGN;
    piece *k = from_bin(s, bytes);
    if (!k) k = s->given ? from_given(s, bytes) : from_context(s, bytes);
    return k ? data_of(k) : NULL;
}

/* With too many sizes the rest waits for the next trim. */
static void give(tn_i_stacks *s, void *data) {
    if (!data) return;
    piece *k = piece_of(data);
    struct tn_i_bin *empty = NULL;
    for (size_t i = 0; i < TN_I_BINS; i++) {
        struct tn_i_bin *b = &s->bin[i];
        if (!b->head) {
            if (!empty) empty = b;
            continue;
        }
        if (b->bytes != k->bytes) continue;
        k->next_free = b->head;
        b->head = k;
        return;
    }
    if (!empty) {
        if (!s->given) k->bytes = 0;
        return;
    }
    k->next_free = NULL;
    *empty = (struct tn_i_bin){.bytes = k->bytes, .head = k};
}

/* ---- chains ------------------------------------------------------------------------------ */

static tn_i_chain *chain_new(tn_i_stacks *s, const tn_type *t, int skip) {
    tn_i_chain *c = take(s, sizeof *c);
    if (!c) return NULL;
    const tn_type rest = tn_type_of((tn_dtype)t->dtype, (size_t)(t->rank - skip), t->dim + skip);
    const size_t entry = tn_i_entry_bytes(&rest), target = entry > PAGE_MOST / 64         ? PAGE_MOST
                                                           : entry < TN_I_PAGE_LEAST / 64 ? TN_I_PAGE_LEAST
                                                                                          : 64 * entry;
    const tn_type of = entry_type(&rest);
    const int64_t per_page = entry < target ? (int64_t)(target / entry) : 1;
    *c = (tn_i_chain){.type = t,
                      .skip = skip + first_steps(&rest) + 1,
                      .entry = entry,
                      .per_page = per_page,
                      .page_bytes = (size_t)per_page * entry,
                      .handles = tn_i_handles(&of),
                      .next = s->living};
    if (s->living) s->living->prev = c;
    s->living = c;
    return c;
}

/* Without looking at what its entries point to. */
static void chain_free(tn_i_stacks *s, tn_i_chain *c) {
    if (c->prev)
        c->prev->next = c->next;
    else
        s->living = c->next;
    if (c->next) c->next->prev = c->prev;
    for (size_t i = 0; i < c->npage; i++) give(s, c->page[i]);
    give(s, c->page);
    give(s, c);
}

/* Recursion is as deep as a type has `?`. */
static void chain_unref(tn_i_stacks *s, tn_i_chain *c) {
    if (--c->refs) return;
    for (int64_t i = 0; c->handles && i < c->count; i++) {
        tn_i_handle *h = (tn_i_handle *)(void *)(c->page[i / c->per_page] + (size_t)(i % c->per_page) * c->entry);
        for (int64_t k = 0; k < c->handles; k++) chain_unref(s, h[k].chain);
    }
    if (c->child) chain_unref(s, c->child);
    chain_free(s, c);
}

void tn_i_stacks_reset(tn_i_stacks *s) {
    while (s->living) chain_free(s, s->living);
    if (!s->given) return;
    s->given -= s->bytes;
    s->left += s->bytes;
    s->bytes = 0;
    forget_free(s);
}

void tn_i_stacks_drop(tn_i_stacks *s) {
    while (s->all) {
        piece *k = s->all;
        s->all = k->next;
        tn_i_page_free(s->ctx, k->memory, k->all);
    }
    *s = (tn_i_stacks){.ctx = s->ctx};
}

/* ---- arrays --------------------------------------------------------------------------------- */

static void begin(tn_i_handle *h, int64_t n, tn_i_chain *c) {
    for (int64_t i = 0; i < n; i++) h[i] = (tn_i_handle){.chain = c};
    c->refs += (uint64_t)n;
}

bool tn_i_stack_new(tn_i_stacks *s, const tn_type *t, tn_i_handle *h) {
    tn_i_chain *c = chain_new(s, t, 0);
    if (c) begin(h, tn_i_handles(t), c);
    return c != NULL;
}

static bool add_page(tn_i_stacks *s, tn_i_chain *c) {
    if (c->npage == c->cpage) {
        const size_t most = c->cpage ? 2 * c->cpage : TABLE_LEAST;
        unsigned char **page = take(s, most * sizeof *page);
        if (!page) return false;
        if (c->npage) memcpy(page, c->page, c->npage * sizeof *page);
        give(s, c->page);
        c->page = page;
        c->cpage = most;
    }
    unsigned char *data = take(s, c->page_bytes);
    if (!data) return false;
    c->page[c->npage++] = data;
    return true;
}

static bool begin_entries(tn_i_stacks *s, tn_i_chain *c, int64_t from, int64_t to) {
    if (!c->child) {
        if (!(c->child = chain_new(s, c->type, c->skip))) return false;
        c->child->refs = 1;
    }
    for (int64_t i = from; i < to; i++)
        begin((tn_i_handle *)(void *)(c->page[i / c->per_page] + (size_t)(i % c->per_page) * c->entry), c->handles,
              c->child);
    return true;
}

bool tn_i_stack_extend(tn_i_stacks *s, tn_i_handle *h, int64_t n) {
    tn_i_chain *c = h->chain;
    if (h->count == 0) h->start = c->count;
    if (n > INT64_MAX - c->count) return false;
    const int64_t end = c->count + n;
    while (end > (int64_t)c->npage * c->per_page)
        if (!add_page(s, c)) return false;
    if (c->handles && !begin_entries(s, c, c->count, end)) return false;
    c->count = end;
    h->count += n;
    return true;
}

/* n handles of one chain of t without its first `skip` dimensions. */
static bool repeat(tn_i_stacks *s, const tn_type *t, int skip, const int64_t *stride, const void *entry, tn_i_handle *h,
                   int64_t n) {
    tn_i_chain *c = chain_new(s, t, skip);
    if (!c) return false;
    c->repeat = true;
    begin(h, n, c);
    for (int64_t i = 0; i < n; i++) h[i].count = INT64_MAX;
    c->per_page = c->count = 1;
    c->page_bytes = c->entry;
    if (!add_page(s, c)) return false;
    if (c->handles) return repeat(s, t, c->skip, stride, entry, (tn_i_handle *)(void *)c->page[0], c->handles);
    const tn_type of = tn_type_of((tn_dtype)t->dtype, (size_t)(t->rank - c->skip), t->dim + c->skip);
    tn_i_arr from = {.type = &of, .data = (void *)(uintptr_t)entry}, to = {.type = &of, .data = c->page[0]};
    memcpy(from.stride, stride + c->skip, (size_t)of.rank * sizeof *stride);
    tn_i_copy_array(&from, &to);
    return true;
}

bool tn_i_stack_repeat(tn_i_stacks *s, const tn_type *t, const int64_t *stride, const void *entry, tn_i_handle *h) {
    return repeat(s, t, 0, stride, entry, h, tn_i_handles(t));
}

bool tn_i_stack_forever(tn_i_stacks *s, const tn_type *t, tn_i_handle *h) {
    tn_i_chain *c = chain_new(s, t, 0);
    if (!c) return false;
    c->repeat = true;
    c->per_page = c->count = 1;
    c->page_bytes = c->entry;
    c->refs = 1;
    if (!add_page(s, c)) return false;
    memcpy(c->page[0], tn_i_stack_entry(h, 0), c->entry);
    for (int64_t i = 0; i < c->handles; i++) ((tn_i_handle *)(void *)c->page[0])[i].chain->refs++;
    chain_unref(s, h->chain);
    *h = (tn_i_handle){.count = INT64_MAX, .chain = c};
    return true;
}

void tn_i_stack_copy(tn_i_stacks *s, const tn_type *t, const tn_i_handle *from, tn_i_handle *to, bool fresh) {
    for (int64_t i = 0, n = tn_i_handles(t); i < n; i++) {
        from[i].chain->refs++;
        if (!fresh) chain_unref(s, to[i].chain);
        to[i] = from[i];
    }
}

void tn_i_stack_release(tn_i_stacks *s, const tn_type *t, tn_i_handle *h) {
    for (int64_t i = 0, n = tn_i_handles(t); i < n; i++) chain_unref(s, h[i].chain);
}
