#include "fault/memory.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FRESH = 0xA5, RELEASED = 0xDD };

#define ALIVE 0x51CE5A11B10CC0DEu

typedef struct block {
    _Alignas(max_align_t) struct block *prev, *next;
    size_t size;
    uint64_t mark;
} block;

static void wrong(memory *m, const char *what, size_t given, size_t real) {
    if (!m->wrong[0]) (void)snprintf(m->wrong, sizeof m->wrong, "%s (%zu given, %zu recorded)", what, given, real);
}

static bool fails(memory *m) {
    m->calls++;
    const bool now = m->fail_at && (m->mode == FAULT_ONE ? m->calls == m->fail_at : m->calls >= m->fail_at);
    m->failed += now;
    return now;
}

static void *take(memory *m, size_t size) {
    if (size > SIZE_MAX - sizeof(block) || fails(m)) return NULL;
    block *b = malloc(sizeof *b + size);
    if (!b) return NULL;
    *b = (block){.next = m->blocks, .size = size, .mark = ALIVE};
    if (m->blocks) m->blocks->prev = b;
    m->blocks = b;
    m->bytes += size;
    return memset(b + 1, FRESH, size);
}

static void give(memory *m, block *b) {
    if (b->prev)
        b->prev->next = b->next;
    else
        m->blocks = b->next;
    if (b->next) b->next->prev = b->prev;
    m->bytes -= b->size;
    memset(b + 1, RELEASED, b->size);
    b->mark = 0;
    free(b);
}

void *memory_realloc(void *user, void *p, size_t old_size, size_t new_size) {
    memory *m = user;
    block *b = p ? (block *)p - 1 : NULL;
    if (b && b->mark != ALIVE) {
        wrong(m, "a pointer that is no block", old_size, 0);
        return NULL;
    }
    if ((b ? b->size : 0) != old_size) wrong(m, "an old size that is not the block's", old_size, b ? b->size : 0);
    if (!b && !new_size) wrong(m, "a release of NULL", old_size, 0);
    void *q = new_size ? take(m, new_size) : NULL;
    if (b && q) memcpy(q, p, b->size < new_size ? b->size : new_size);
    if (b && (q || !new_size)) give(m, b);
    return q;
}

void memory_arm(memory *m, size_t fail_at, fault_mode mode) {
    m->calls = m->failed = 0;
    m->fail_at = fail_at;
    m->mode = mode;
}

void memory_disarm(memory *m) { memory_arm(m, 0, FAULT_ONE); }

void memory_release(memory *m) {
    while (m->blocks) give(m, m->blocks);
}
