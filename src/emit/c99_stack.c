/* Arrays whose length loops find when they run (plan/stack.h), as C: chains of pages of one size, from the end of the
 * workspace.  A capacity, in steps, says how many pages there are. */
#include "emit/c99.h"
#include "plan/loop.h"
#include "plan/replay.h"
#include "plan/stack.h"

#include <inttypes.h>
#include <string.h>

enum { HEAD = TN_I_PAGE_HEAD };

/* ---- what is called ----------------------------------------------------------------------- */

static const char types[] =
    "/* Arrays whose length a loop finds: their entries are in chains of pages, which are all of one size. */\n"
    "typedef struct tansy_level {\nint64_t bytes, handles; /* of an entry; the arrays in it, or 0: it is elements */\n"
    "} tansy_level;\n"
    "typedef struct tansy_page {\nstruct tansy_page *before, *after;\n} tansy_page;\n"
    "typedef struct tansy_chain {\n"
    "tansy_page page; /* the first one begins with its chain */\n"
    "tansy_page *last, *seen; /* seen: where an entry was last looked for; its first one is number `from`, at `data` "
    "*/\n"
    "unsigned char *data;\n"
    "struct tansy_chain *child; /* of the arrays in its entries */\n"
    "const tansy_level *level;\n"
    "int64_t count, per_page, from, users, most; /* most: how many entries there may be */\n"
    "int repeats; /* one entry is every one */\n"
    "} tansy_chain;\n"
    "typedef struct tansy_stack {\nint64_t count, start;\ntansy_chain *chain;\n} tansy_stack;\n"
    "typedef struct tansy_stacks {\n"
    "unsigned char *next, *end; /* memory that was never used */\n"
    "tansy_page *unused;\nsize_t page_bytes;\n} tansy_stacks;\n";

static const char take[] =
    "static void *tansy_take(tansy_stacks *s) {\n"
    "tansy_page *p = s->unused;\n"
    "if (p) {\ns->unused = p->after;\n} else if (s->page_bytes <= (size_t)(s->end - s->next)) {\n"
    "p = (tansy_page *)(void *)s->next;\ns->next += s->page_bytes;\n}\n"
    "if (p) p->before = p->after = NULL;\nreturn p;\n}\n";

static const char link[] = "static tansy_chain *tansy_link(tansy_stacks *s, const tansy_level *level) {\n"
                           "tansy_chain *c = (tansy_chain *)tansy_take(s);\nif (!c) return NULL;\n"
                           "c->last = c->seen = &c->page;\nc->data = (unsigned char *)c + 128;\n"
                           "c->child = NULL;\nc->level = level;\n"
                           "c->count = c->from = c->users = 0;\nc->most = INT64_MAX;\nc->repeats = 0;\n"
                           "c->per_page = (int64_t)(s->page_bytes - 128) / level->bytes;\nreturn c;\n}\n";

static const char slot[] = "/* Entries are looked for one after another, in either direction. */\n"
                           "static void *tansy_slot(tansy_chain *c, int64_t at) {\n"
                           "while (at < c->from) {\nc->seen = c->seen->before;\nc->from -= c->per_page;\n"
                           "c->data = (unsigned char *)c->seen + 128;\n}\n"
                           "while (at - c->from >= c->per_page) {\nc->seen = c->seen->after;\nc->from += c->per_page;\n"
                           "c->data = (unsigned char *)c->seen + 128;\n}\n"
                           "return c->data + (at - c->from) * c->level->bytes;\n}\n";

static const char entry[] = "static void *tansy_entry(const tansy_stack *h, int64_t i) {\n"
                            "return tansy_slot(h->chain, h->chain->repeats ? h->start : h->start + i);\n}\n";

static const char leave[] = "static void tansy_leave(tansy_stacks *s, tansy_chain *c) {\n"
                            "if (--c->users) return;\n"
                            "for (int64_t i = 0; c->level->handles && i < c->count; i++) {\n"
                            "tansy_stack *h = (tansy_stack *)tansy_slot(c, i);\n"
                            "for (int64_t k = 0; k < c->level->handles; k++) tansy_leave(s, h[k].chain);\n}\n"
                            "if (c->child) tansy_leave(s, c->child);\n"
                            "c->last->after = s->unused;\ns->unused = &c->page;\n}\n";

static const char drop[] = "static void tansy_drop(tansy_stacks *s, tansy_stack *h, int64_t n) {\n"
                           "for (int64_t i = 0; i < n; i++) tansy_leave(s, h[i].chain);\n}\n";

static const char start[] = "static void tansy_start(tansy_stack *h, int64_t n, tansy_chain *c, int64_t count) {\n"
                            "for (int64_t i = 0; i < n; i++) {\n"
                            "h[i].count = count;\nh[i].start = 0;\nh[i].chain = c;\n}\nc->users += n;\n}\n";

static const char make_new[] = "/* n empty arrays in one chain; 3: there is no page left. */\n"
                               "static int tansy_new(tansy_stacks *s, const tansy_level *level, tansy_stack *h, "
                               "int64_t n) {\n"
                               "tansy_chain *c = tansy_link(s, level);\nif (!c) return 3;\n"
                               "tansy_start(h, n, c, 0);\nreturn 0;\n}\n";

static const char extend[] =
    "/* n more entries, of any value, or, where they are arrays, empty. */\n"
    "static int tansy_extend(tansy_stacks *s, tansy_stack *h, int64_t n) {\n"
    "tansy_chain *c = h->chain;\nif (n > c->most - c->count) return 3;\nif (h->count == 0) h->start = c->count;\n"
    "for (; n > 0; n--) {\n"
    "if (c->count && c->count % c->per_page == 0) {\n"
    "tansy_page *page = (tansy_page *)tansy_take(s);\nif (!page) return 3;\n"
    "page->before = c->last;\nc->last->after = page;\nc->last = page;\n}\n"
    "if (c->level->handles) {\n"
    "if (!c->child) {\nc->child = tansy_link(s, c->level + 1);\nif (!c->child) return 3;\nc->child->users = 1;\n}\n"
    "tansy_start((tansy_stack *)tansy_slot(c, c->count), c->level->handles, c->child, 0);\n}\n"
    "c->count++;\nh->count++;\n}\nreturn 0;\n}\n";

static const char repeat[] =
    "/* n arrays that repeat one entry: its place, NULL where there is no page left. */\n"
    "static void *tansy_repeat(tansy_stacks *s, const tansy_level *level, tansy_stack *h, int64_t n) {\n"
    "for (;; level++) {\n"
    "tansy_chain *c = tansy_link(s, level);\nif (!c) return NULL;\n"
    "c->repeats = 1;\nc->count = 1;\ntansy_start(h, n, c, INT64_MAX);\n"
    "if (!level->handles) return tansy_slot(c, 0);\n"
    "h = (tansy_stack *)tansy_slot(c, 0);\nn = level->handles;\n}\n}\n";

static const char forever[] =
    "/* Of an array with one entry: one that repeats it. */\n"
    "static int tansy_forever(tansy_stacks *s, tansy_stack *h) {\n"
    "const tansy_level *level = h->chain->level;\n"
    "tansy_chain *c = tansy_link(s, level);\nif (!c) return 3;\n"
    "memcpy(tansy_slot(c, 0), tansy_entry(h, 0), (size_t)level->bytes);\n"
    "for (int64_t k = 0; k < level->handles; k++) ((tansy_stack *)tansy_slot(c, 0))[k].chain->users++;\n"
    "c->repeats = 1;\nc->count = 1;\n"
    "tansy_leave(s, h->chain);\ntansy_start(h, 1, c, INT64_MAX);\nreturn 0;\n}\n";

static const char share[] =
    "/* The same arrays; `fresh`: there are none at `to` yet. */\n"
    "static void tansy_share(tansy_stacks *s, const tansy_stack *from, tansy_stack *to, int64_t n, int fresh) {\n"
    "for (int64_t i = 0; from != to && i < n; i++) {\n"
    "from[i].chain->users++;\nif (!fresh) tansy_leave(s, to[i].chain);\nto[i] = from[i];\n}\n}\n";

static const tn_i_c_helper helpers[] = {{"tansy_stacks", types},    {"tansy_take", take},
                                        {"tansy_link", link},       {"tansy_slot", slot},
                                        {"tansy_entry", entry},     {"tansy_leave", leave},
                                        {"tansy_drop", drop},       {"tansy_start", start},
                                        {"tansy_new", make_new},    {"tansy_extend", extend},
                                        {"tansy_repeat", repeat},   {"tansy_share", share},
                                        {"tansy_forever", forever}, {NULL, NULL}};

void tn_i_c99_stack_helpers(tn_i_c99 *w, const char *text) { tn_i_c_need(&w->g, helpers, text); }

/* ---- levels --------------------------------------------------------------------------------------- */

tn_type tn_i_c99_entry(const tn_type *t) {
    int skip = 0;
    while (t->dim[skip] != TN_I_STEPS) skip++;
    return tn_type_of((tn_dtype)t->dtype, (size_t)(t->rank - skip - 1), t->dim + skip + 1);
}

int64_t tn_i_c99_levels(const tn_type *t) {
    tn_type rest = *t;
    int64_t n = 0;
    for (; tn_i_has_steps(&rest); n++) rest = tn_i_c99_entry(&rest);
    return n;
}

static void define(tn_i_c99 *w, const tn_type *t, uint32_t id) {
    tn_type rest = *t;
    tn_i_text_put(&w->g.constants, "static const tansy_level %s_l%u[] = {", w->name, (unsigned)id);
    for (bool first = true; tn_i_has_steps(&rest); first = false) {
        rest = tn_i_c99_entry(&rest);
        const int64_t n = tn_i_handles(&rest);
        const size_t bytes = tn_i_memory_bytes(&rest);
        tn_i_text_put(&w->g.constants, first ? "{%zu, %" PRId64 "}" : ", {%zu, %" PRId64 "}", bytes, n);
        if (bytes > w->largest_entry) w->largest_entry = bytes;
    }
    tn_i_text_put(&w->g.constants, "};\n");
}

uint32_t tn_i_c99_level(tn_i_c99 *w, const tn_type *t) {
    for (size_t i = 0; i < w->nlevel; i++)
        if (tn_type_equal(w->level[i], t)) return (uint32_t)i;
    if (!tn_i_grow(w->ctx, (void **)(void *)&w->level, &w->clevel, w->nlevel + 1, sizeof *w->level)) {
        w->failed = true;
        return 0;
    }
    w->level[w->nlevel] = t;
    define(w, t, (uint32_t)w->nlevel);
    return (uint32_t)w->nlevel++;
}

/* Chains are made for t at one place of the text, `alive` of them at a time: a page each is not full, and what arrays
 * in entries need is in no plan's figure. */
static void count_pages(tn_i_c99 *w, const tn_type *t, size_t alive, bool each_step) {
    tn_type rest = *t;
    size_t in_all = 1;
    *(each_step ? &w->step_pages : &w->pages) += (size_t)tn_i_c99_levels(t) * alive;
    for (bool first = true; tn_i_has_steps(&rest); first = false) {
        in_all *= (size_t)tn_i_handles(&rest);
        rest = tn_i_c99_entry(&rest);
        if (!first) w->inner_bytes += in_all * tn_i_memory_bytes(&rest);
    }
}

void tn_i_c99_count_pages(tn_i_c99 *w, const tn_type *t) { count_pages(w, t, 1, false); }

/* ---- what is written ----------------------------------------------------------------------------------- */

bool tn_i_c99_is_stack(const tn_type *t) { return tn_i_has_steps(t) && tn_i_handles(t) > 0; }

void tn_i_c99_stack_new(tn_i_c99 *w, const tn_type *t, int64_t at, size_t alive, bool each_step) {
    count_pages(w, t, alive, each_step);
    tn_i_text_put(&w->t,
                  "status = tansy_new(stacks, %s_l%u, (tansy_stack *)(void *)(w + %" PRId64 "), %" PRId64
                  ");\nif (status) return status;\n",
                  w->name, (unsigned)tn_i_c99_level(w, t), at, tn_i_handles(t));
}

void tn_i_c99_stack_output(tn_i_c99 *w, const tn_i_plan *p, tn_i_var v) {
    const tn_type *t = p->f->val[v].type;
    if (p->place[v].base == TN_BASE_ARENA && tn_i_c99_is_stack(t))
        tn_i_c99_stack_new(w, t, p->place[v].offset, 1, false);
}

void tn_i_c99_stack_release(tn_i_c99 *w, const tn_i_plan *p, const tn_i_release *k) {
    tn_i_text_put(&w->t, "tansy_drop(stacks, (tansy_stack *)(void *)(w + %" PRId64 "), %" PRId64 ");\n", k->offset,
                  tn_i_handles(p->f->val[k->v].type));
}

/* One entry, which is at m->from with strides, becomes a stack that repeats it. */
static void write_repeat(tn_i_c99 *w, const tn_i_plan *p, const tn_i_move *m, const tn_type *t) {
    tn_i_text *o = &w->t;
    const char *type = tn_i_c_name(t->dtype);
    tn_type one = *t;
    while (tn_i_has_steps(&one)) one = tn_i_c99_entry(&one);
    const int skip = t->rank - one.rank;
    int64_t dense[TN_MAX_RANK];
    tn_i_dense_strides(&one, dense);
    tn_i_text_put(o, "{\nconst %s *const from = ", type);
    tn_i_c99_pointer(w, o, p, m->v, &m->from, false);
    tn_i_text_put(o, ";\n%s *const to = (%s *)tansy_repeat(stacks, %s_l%u, ", type, type, w->name,
                  (unsigned)tn_i_c99_level(w, t));
    tn_i_c99_pointer(w, o, p, m->v, &m->to, true);
    tn_i_text_put(o, ", %" PRId64 ");\nif (!to) return 3;\n", tn_i_handles(t));
    tn_i_c_open(o, "i", one.rank, one.dim);
    tn_i_text_put(o, "to[");
    tn_i_c_at(o, "i", one.rank, one.dim, dense);
    tn_i_text_put(o, "] = from[");
    tn_i_c_at(o, "i", one.rank, one.dim, p->number + m->from.stride + skip);
    tn_i_text_put(o, "];\n");
    tn_i_c_close(o, one.rank, one.dim);
    tn_i_text_put(o, "}\n");
}

void tn_i_c99_stack_move(tn_i_c99 *w, const tn_i_plan *p, const tn_i_move *m) {
    const tn_type *t = p->f->val[m->v].type;
    const bool fresh = m->to.base < TN_BASE_ARGUMENTS + p->f->nin;
    if (!tn_i_c99_is_stack(t)) return;
    if (m->from.stride != TN_DENSE) {
        count_pages(w, t, 1, p != w->root && !fresh);
        if (!fresh) {
            tn_i_text_put(&w->t, "tansy_drop(stacks, ");
            tn_i_c99_pointer(w, &w->t, p, m->v, &m->to, true);
            tn_i_text_put(&w->t, ", %" PRId64 ");\n", tn_i_handles(t));
        }
        write_repeat(w, p, m, t);
        return;
    }
    if (p != w->root && !fresh) count_pages(w, t, 1, true);
    tn_i_text_put(&w->t, "tansy_share(stacks, ");
    tn_i_c99_pointer(w, &w->t, p, m->v, &m->from, false);
    tn_i_text_put(&w->t, ", ");
    tn_i_c99_pointer(w, &w->t, p, m->v, &m->to, true);
    tn_i_text_put(&w->t, ", %" PRId64 ", %d);\n", tn_i_handles(t), fresh);
}

/* ---- the memory ------------------------------------------------------------------------------------------ */

static bool group_has(const tn_i_group *g) {
    if (g->growing) return true;
    for (uint32_t i = 0; i < g->nactor; i++) {
        const tn_i_actor *a = &g->actor[i];
        for (uint32_t x = 0; x < a->shape.nx; x++)
            if (a->source[x].actor == TN_NOVAR && a->source[x].stack) return true;
        for (uint32_t y = 0; y < a->nentry; y++)
            if ((a->entry[y].stack && !a->entry[y].again) || a->entry[y].inner) return true;
    }
    return false;
}

static bool plan_has(const tn_i_plan *p) {
    bool some = p->nrelease > 0;
    for (size_t i = 0; i < p->nmove; i++) some |= p->move[i].stack;
    for (size_t i = 0; i < p->nloop; i++) some |= p->loop[i].stacks || p->loop[i].ncursor > 0;
    for (size_t i = 0; i < p->nstep; i++) some |= p->step[i].stacks;
    for (size_t i = 0; i < p->ngroup; i++) some |= group_has(&p->group[i]);
    return some;
}

bool tn_i_c99_has_stacks(const tn_i_plan *root) {
    bool some = plan_has(root);
    for (size_t i = 0; i < root->nnested; i++) some |= plan_has(root->nested[i]);
    return some;
}

/* Several entries of the larger kinds. */
size_t tn_i_c99_page_bytes(const tn_i_c99 *w) {
    const size_t e = w->largest_entry, some = e * 8 < 1024   ? 1024
                                              : e * 8 > 8192 ? (e > 8192 ? e : 8192 / e * e)
                                                             : e * 8;
    return (HEAD + some + 63) & ~(size_t)63;
}

/* Of a step, with what is left over at the end of pages of the least convenient entries. */
size_t tn_i_c99_step_bytes(const tn_i_c99 *w) {
    const size_t room = tn_i_c99_page_bytes(w) - HEAD;
    double waste = 1;
    for (size_t i = 0; i < w->nlevel; i++) {
        tn_type rest = *w->level[i];
        while (tn_i_has_steps(&rest)) {
            rest = tn_i_c99_entry(&rest);
            const size_t e = tn_i_memory_bytes(&rest);
            const double by = (double)room / (double)(room / e * e);
            if (by > waste) waste = by;
        }
    }
    return (size_t)((double)(w->root->per_step + w->inner_bytes) * waste) + 1;
}
