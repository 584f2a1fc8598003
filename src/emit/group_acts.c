/* Groups whose length is found while they run, or whose schedule does too much for a script, as C.
 *
 * The text asks the library's schedule what to do, an act at a time, and does it itself: steps, snapshots in memory and
 * entries of stacks, which it finds a page at a time.  The library makes pages, slots of which there may be any number,
 * and errors. */
#include "emit/group_emit.h"
#include "emit/structs.h"

#include "exec/stack.h"

#include <inttypes.h>

/* clang-format off */
#define ACT struct act { int kind, place; int64_t slot, step, n; _Bool last; }
#define CHAIN struct chain { struct chain *prev, *next, *child; const void *type; unsigned char **page; \
    size_t npage, cpage, entry, page_bytes; int64_t per_page, count; uint64_t refs; int64_t handles; int skip; _Bool repeat; }
#define HANDLE struct handle { int64_t count, start; struct chain *chain; }
/* clang-format on */
ACT;
CHAIN;
HANDLE;
TN_SAME(tn_i_act, act, kind);
TN_SAME(tn_i_act, act, place);
TN_SAME(tn_i_act, act, slot);
TN_SAME(tn_i_act, act, step);
TN_SAME(tn_i_act, act, n);
TN_SAME(tn_i_act, act, last);
TN_SAME(tn_i_chain, chain, page);
TN_SAME(tn_i_chain, chain, npage);
TN_SAME(tn_i_chain, chain, entry);
TN_SAME(tn_i_chain, chain, per_page);
TN_SAME(tn_i_chain, chain, count);
TN_SAME(tn_i_chain, chain, handles);
TN_SAME(tn_i_chain, chain, repeat);
TN_SAME(tn_i_handle, handle, count);
TN_SAME(tn_i_handle, handle, start);
TN_SAME(tn_i_handle, handle, chain);
_Static_assert(sizeof(struct act) == sizeof(tn_i_act), "tn_i_act has more members");

/* clang-format off */
static const char text[] =
    TN_LINE(ACT)
    TN_LINE(CHAIN)
    TN_LINE(HANDLE)
    "typedef struct act forward_fn(void *, int64_t);\n"
    "typedef struct act next_fn(void *);\n"
    "typedef int group_fn(const struct plan *, const struct run *, uintptr_t *, size_t);\n"
    "typedef int count_fn(const struct plan *, const struct run *, uintptr_t *, size_t, int64_t);\n"
    "typedef int turn_fn(const struct plan *, const struct run *, uintptr_t *, size_t, int, int64_t);\n"
    "typedef int slot_fn(const struct plan *, const struct run *, uintptr_t *, size_t, int, int64_t, uintptr_t *);\n"
    "/* The entries first .. end - 1 of a stack, those of one page. */\n"
    "struct cursor { int64_t first, end; uintptr_t base, by; };\n"
    "static void seek(struct cursor *c, const struct handle *h, int64_t i) {\n"
    "    const struct chain *k = h->chain;\n"
    "    const int64_t page = k->repeat ? 0 : (h->start + i) / k->per_page;\n"
    "    c->first = k->repeat ? 0 : page * k->per_page - h->start;\n"
    "    c->end = k->repeat ? 0x7fffffffffffffff : c->first + k->per_page;\n"
    "    c->by = k->repeat ? 0 : k->entry;\n"
    "    c->base = (uintptr_t)k->page[page];\n"
    "}\n"
    "INLINE uintptr_t entry_of(struct cursor *c, uintptr_t h, int64_t i) {\n"
    "    if (i < c->first || i >= c->end) seek(c, (const struct handle *)h, i);\n"
    "    return c->base + (uintptr_t)(i - c->first) * c->by;\n"
    "}\n"
    "/* One more entry, where its page is there. */\n"
    "INLINE int push(uintptr_t at) {\n"
    "    struct handle *const h = (struct handle *)at;\n"
    "    struct chain *const c = h->chain;\n"
    "    if (h->count == 0 || c->handles || c->count == (int64_t)c->npage * c->per_page) return 0;\n"
    "    h->count++;\n"
    "    c->count++;\n"
    "    return 1;\n"
    "}\n";
/* clang-format on */
const char *const tn_i_group_acts_text = text;

typedef tn_i_group_writer writer;

/* ---- calls of the library ----------------------------------------------------------------- */

static size_t step_of(const writer *k) { return (size_t)(k->s - k->p->step); }

static void put_function(writer *k, const char *type, const void *f) {
    tn_i_text_put(k->t, "((%s *)T[%u])(", type, (unsigned)tn_i_module_address(k->m, f));
}

#define ADDRESS(f) ((const void *)(uintptr_t)(f))

/* Begins a call, up to arguments behind the step. */
static void open_call(writer *k, const char *type, const void *f) {
    tn_i_text_put(k->t, "status = ");
    put_function(k, type, f);
    tn_i_text_put(k->t, "P, R, F, %zu", step_of(k));
}

static void close_call(writer *k) {
    tn_i_text_put(k->t, ");\n");
    tn_i_put_group_check(k);
}

/* ---- stacks ------------------------------------------------------------------------------- */

static unsigned number_of(const writer *k, const tn_i_actor *a) { return (unsigned)(a - k->g->actor); }

static void put_output(writer *k, const tn_i_actor *a, uint32_t y) {
    tn_i_emit_address(k->m, &k->p->place[k->p->f->eqn[a->eqn].out + a->shape.y0 + y]);
}

static bool reads_stack(const tn_i_actor *a, uint32_t x) {
    return a->source[x].stack && (a->self || a->reads[a->shape.x0 + x]);
}

static bool makes_stack(const tn_i_entry *y) { return y->stack && !y->again; }

void tn_i_declare_group_cursors(writer *k) {
    for (uint32_t i = 0; i < k->g->nactor; i++) {
        const tn_i_actor *a = &k->g->actor[i];
        for (uint32_t x = 0; x < a->shape.nx; x++)
            if (reads_stack(a, x)) tn_i_text_put(k->t, "struct cursor x%u_%u = {0};\n", (unsigned)i, (unsigned)x);
        for (uint32_t y = 0; y < a->nentry; y++)
            if (makes_stack(&a->entry[y]))
                tn_i_text_put(k->t, "struct cursor y%u_%u = {0};\n", (unsigned)i, (unsigned)a->entry[y].y);
    }
    if (k->g->schedule && k->g->growing) tn_i_text_put(k->t, "struct cursor own = {0};\n");
    if (k->led && k->led->growing) tn_i_text_put(k->t, "struct cursor led = {0};\n");
}

void tn_i_put_stack_x(writer *k, const tn_i_actor *a, uint32_t x) {
    tn_i_text_put(k->t, "entry_of(&x%u_%u, ", number_of(k, a), (unsigned)x);
    tn_i_put_group_operand(k, a, a->shape.x0 + x);
    tn_i_text_put(k->t, ", *number)");
}

void tn_i_put_stack_y(writer *k, const tn_i_actor *a, const tn_i_entry *y) {
    tn_i_text_put(k->t, "entry_of(&y%u_%u, ", number_of(k, a), (unsigned)y->y);
    put_output(k, a, y->y);
    tn_i_text_put(k->t, ", *number)");
}

void tn_i_put_group_claim(writer *k) {
    bool any = k->g->schedule && k->g->taken && !k->g->script;
    for (uint32_t i = 0; i < k->g->nactor; i++) {
        for (uint32_t x = 0; x < k->g->actor[i].shape.nx; x++) any |= k->g->actor[i].source[x].stack;
        for (uint32_t y = 0; y < k->g->actor[i].nentry; y++) any |= makes_stack(&k->g->actor[i].entry[y]);
    }
    if (!any) return;
    open_call(k, "count_fn", ADDRESS(tn_i_group_claim));
    tn_i_text_put(k->t, ", n");
    close_call(k);
}

void tn_i_put_group_push(writer *k) {
    for (uint32_t y = 0; y < k->self->nentry; y++) {
        if (!makes_stack(&k->self->entry[y])) continue;
        tn_i_text_put(k->t, "if (!push(");
        put_output(k, k->self, k->self->entry[y].y);
        tn_i_text_put(k->t, ")) {\n");
        open_call(k, "count_fn", ADDRESS(tn_i_group_push));
        tn_i_text_put(k->t, ", %u", (unsigned)y);
        close_call(k);
        tn_i_text_put(k->t, "}\n");
    }
}

/* ---- the condition --------------------------------------------------------------------------- */

void tn_i_declare_group_condition(writer *k) {
    const tn_i_actor *a = k->self;
    uint32_t at = TN_BASE_ARGUMENTS;
    if (!a->cond) return;
    tn_i_text_put(k->t, "b8 answer = 0;\nuintptr_t C[%zu] __attribute__((aligned(64)));\nC[0] = 0; C[1] = S + %zuu;\n",
                  (a->cond->frame + sizeof(uintptr_t) - 1) / sizeof(uintptr_t), k->g->arena);
    for (uint32_t i = 0; i < a->shape.ncond; i++) {
        tn_i_text_put(k->t, "C[%u] = ", (unsigned)at++);
        tn_i_put_group_operand(k, a, i);
        tn_i_text_put(k->t, ";\n");
    }
    tn_i_text_put(k->t, "C[%u] = (uintptr_t)&answer;\n", (unsigned)(at + a->nleaf));
}

void tn_i_put_group_condition(writer *k) {
    const tn_i_actor *a = k->self;
    for (uint32_t j = 0; j < a->nleaf; j++)
        tn_i_text_put(k->t, "C[%u] = L[%u].now;\n", (unsigned)(TN_BASE_ARGUMENTS + a->shape.ncond + j),
                      tn_i_group_leaf(k, a, j));
    tn_i_text_put(k->t, "status = ");
    tn_i_emit_call(k->m, a->cond, "&inner");
    tn_i_text_put(k->t, ", C);\n");
    tn_i_put_group_check(k);
    tn_i_text_put(k->t, "if (!answer) break;\n");
}

/* ---- schedules --------------------------------------------------------------------------------- */

static void put_run(writer *k, const tn_i_group *g) {
    tn_i_text_put(k->t, "(void *)(F[1] + (uintptr_t)INT64_C(%" PRId64 "))", g->memory + (int64_t)g->run);
}

void tn_i_put_group_begin(writer *k) {
    open_call(k, "group_fn", ADDRESS(tn_i_group_begin));
    close_call(k);
}

void tn_i_put_group_turn(writer *k, const tn_i_group *g) {
    open_call(k, "turn_fn", ADDRESS(tn_i_group_turn));
    tn_i_text_put(k->t, ", %d, n", g == k->g);
    close_call(k);
}

void tn_i_put_group_release(writer *k) {
    if (!k->g->growing) return;
    open_call(k, "group_fn", ADDRESS(tn_i_group_release));
    close_call(k);
}

void tn_i_put_forward_act(writer *k, const tn_i_group *g, const char *nth) {
    tn_i_text_put(k->t, "const struct act act = ");
    put_function(k, "forward_fn", ADDRESS(tn_i_schedule_forward));
    put_run(k, g);
    tn_i_text_put(k->t, ", %s), *const line = &act;\n", nth);
}

void tn_i_put_next_act(writer *k) {
    tn_i_text_put(k->t, "const struct act act = ");
    put_function(k, "next_fn", ADDRESS(tn_i_schedule_next));
    put_run(k, k->g);
    tn_i_text_put(k->t, "), *const line = &act;\n");
}

void tn_i_put_growing_slot(writer *k, const tn_i_group *g, const char *name) {
    const int64_t at = g->memory + (int64_t)g->slots;
    tn_i_text_put(k->t, "if (line->slot < ((const struct handle *)(F[1] + (uintptr_t)INT64_C(%" PRId64 ")))->count)\n",
                  at);
    tn_i_text_put(k->t, "%s = entry_of(&%s, F[1] + (uintptr_t)INT64_C(%" PRId64 "), line->slot);\nelse {\n", name,
                  g == k->g ? "own" : "led", at);
    open_call(k, "slot_fn", ADDRESS(tn_i_group_slot));
    tn_i_text_put(k->t, ", %d, line->slot, &%s", g == k->g, name);
    close_call(k);
    tn_i_text_put(k->t, "}\n");
}
