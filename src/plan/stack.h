/* Arrays with a dimension that is known when a loop has run (TN_I_STEPS).
 *
 * In memory such an array is a handle for each index in front of the first `?`: a range of entries of a chain.
 * A chain is pages that are filled one after another; the handles of one array share it, so that a loop within a loop
 * wastes one page and not one for each outer step.  An entry that has a `?` itself is handles again, whose entries
 * are in a chain of their own.  Chains are counted by the handles that point to them. */
#ifndef TN_STACK_H
#define TN_STACK_H

#include "base/base.h"

#define TN_I_PAGE_LEAST ((size_t)64 << 10)

typedef struct tn_i_chain {
    struct tn_i_chain *prev, *next; /* the living ones */
    struct tn_i_chain *child;       /* of the handles in its entries; NULL: there are none, or not yet */
    const tn_type *type;            /* of the array that it was made for */
    unsigned char **page;
    size_t npage, cpage;
    size_t entry, page_bytes;
    int64_t per_page, count;
    uint64_t refs;
    int64_t handles; /* in an entry */
    int skip;        /* dimensions of type in front of an entry */
    bool repeat;     /* one entry, which is every one */
} tn_i_chain;

typedef struct tn_i_handle {
    int64_t count; /* first, where the primitive `steps` reads it */
    int64_t start;
    tn_i_chain *chain;
} tn_i_handle;

/* The memory of a workspace's chains, kept from call to call.  No two threads use one. */
#define TN_I_BINS 32
typedef struct tn_i_stacks {
    tn_ctx *ctx;
    size_t bytes, limit;        /* now allocated; SIZE_MAX: no limit */
    unsigned char *given;       /* the caller's memory behind the workspace, or NULL */
    size_t left;                /* of it */
    struct tn_i_page_head *all; /* every allocation */
    struct tn_i_bin {
        size_t bytes;
        struct tn_i_page_head *head;
    } bin[TN_I_BINS]; /* free ones, by size */
    tn_i_chain *living;
} tn_i_stacks;

void tn_i_stacks_init(tn_i_stacks *s, tn_ctx *c, size_t limit, unsigned char *given, size_t bytes);
/* Gives all chains up: at the end of a call, however it ends. */
void tn_i_stacks_reset(tn_i_stacks *s);
static inline bool tn_i_stacks_used(const tn_i_stacks *s) { return s->living || s->given; } /* else it does nothing */
void tn_i_stacks_drop(tn_i_stacks *s);

/* Bytes of an array of this type where values live: its handles, if it has `?`.  SIZE_MAX: too many. */
size_t tn_i_memory_bytes(const tn_type *t);
/* How many handles those are; 0 where t has no `?` or no elements. */
int64_t tn_i_handles(const tn_type *t);
/* Bytes of an entry, where t has `?`. */
size_t tn_i_entry_bytes(const tn_type *t);

/* A new, empty array in uninitialized memory.  The functions that take memory return false when there is none. */
bool tn_i_stack_new(tn_i_stacks *s, const tn_type *t, tn_i_handle *h);
/* An array whose entries are all alike: entries with the strides given (in elements, of t's dimensions). */
bool tn_i_stack_repeat(tn_i_stacks *s, const tn_type *t, const int64_t *stride, const void *entry, tn_i_handle *h);
/* An array of one entry, of type t with `?` in front, becomes one whose entries are all like it. */
bool tn_i_stack_forever(tn_i_stacks *s, const tn_type *t, tn_i_handle *h);
/* from's entries, shared; `fresh`: to is uninitialized. */
void tn_i_stack_copy(tn_i_stacks *s, const tn_type *t, const tn_i_handle *from, tn_i_handle *to, bool fresh);
void tn_i_stack_release(tn_i_stacks *s, const tn_type *t, tn_i_handle *h);
/* Adds n entries, uninitialized or, where they are handles, empty.  The first time it sets where h starts. */
bool tn_i_stack_extend(tn_i_stacks *s, tn_i_handle *h, int64_t n);

/* Takes the last n of them back, which are no handles: they were the chain's last. */
static inline void tn_i_stack_shorten(tn_i_handle *h, int64_t n) {
    h->count -= n;
    h->chain->count -= n;
}

static inline unsigned char *tn_i_stack_entry(const tn_i_handle *h, int64_t i) {
    const tn_i_chain *c = h->chain;
    if (c->repeat) return c->page[0];
    const int64_t at = h->start + i;
    return c->page[at / c->per_page] + (size_t)(at % c->per_page) * c->entry;
}

/* Walks the entries of an array, one by one in one direction. */
typedef struct tn_i_cursor {
    const tn_i_handle *h;
    unsigned char *at;
    int64_t i, left; /* left: how often `at` may still be moved within the page */
} tn_i_cursor;

static inline void tn_i_cursor_seek(tn_i_cursor *w, int64_t i, int64_t by) {
    const tn_i_chain *c = w->h->chain;
    const int64_t in_page = (w->h->start + i) % c->per_page;
    w->i = i;
    w->at = tn_i_stack_entry(w->h, i);
    w->left = c->repeat ? INT64_MAX : by > 0 ? c->per_page - 1 - in_page : in_page;
}

static inline void tn_i_cursor_move(tn_i_cursor *w, int64_t by) {
    const tn_i_chain *c = w->h->chain;
    if (w->left-- > 0) {
        w->i += by;
        if (!c->repeat) w->at += by * (int64_t)c->entry;
        return;
    }
    tn_i_cursor_seek(w, w->i + by, by);
}

/* n entries on, all in the page. */
static inline void tn_i_cursor_skip(tn_i_cursor *w, int64_t by, int64_t n) {
    const tn_i_chain *c = w->h->chain;
    w->i += by * n;
    w->left -= n;
    if (!c->repeat) w->at += by * n * (int64_t)c->entry;
}

#endif
