/* What is asked about a description, and the arguments that are made of it. */
#include "structs/structs.h"

#include "base/base.h"

#include <limits.h>
#include <string.h>

enum { MORE = 31 }; /* types beside a struct's */

tn_status tn_struct_check(tn_ctx *c, const tn_struct *s) {
    char why[TN_I_STRUCT_WRONG];
    size_t arrays;
    if (tn_i_struct_right(s, &arrays, why)) return TN_OK;
    return c ? tn_i_fail(c, TN_EINVAL, NULL, "struct_check: %s", why) : TN_EINVAL;
}

size_t tn_struct_arrays(const tn_struct *s) {
    char why[TN_I_STRUCT_WRONG];
    size_t arrays;
    (void)tn_i_struct_right(s, &arrays, why);
    return arrays;
}

/* ---- one array ------------------------------------------------------------------------------- */

typedef struct search {
    size_t number;
    const char *wanted; /* its name; NULL: its number is */
    char *text;         /* where its name goes, `size` bytes */
    size_t size;
    tn_type type;
    size_t offset, length;
} search;

static bool look(void *user, const tn_i_member *m) {
    search *q = user;
    if (q->wanted ? !tn_i_member_is(m, q->wanted) : m->number != q->number) return true;
    q->number = m->number;
    q->type = *m->type;
    q->offset = m->offset;
    if (q->text || !q->size) q->length = tn_i_member_name(m, q->text, q->size);
    return false;
}

static bool find(const tn_struct *s, search *q) { return tn_struct_arrays(s) && !tn_i_struct_walk(s, look, q); }

tn_type tn_struct_type(const tn_struct *s, size_t i) {
    search q = {.number = i};
    return find(s, &q) ? q.type : tn_type_of(TN_NDTYPES, TN_MAX_RANK + 1, NULL);
}

size_t tn_struct_offset(const tn_struct *s, size_t i) {
    search q = {.number = i};
    return find(s, &q) ? q.offset : SIZE_MAX;
}

size_t tn_struct_name(const tn_struct *s, size_t i, char *text, size_t size) {
    search q = {.number = i, .text = text, .size = text ? size : 0};
    if (q.size) text[0] = 0;
    return find(s, &q) ? q.length : 0;
}

size_t tn_struct_find(const tn_struct *s, const char *name) {
    search q = {.wanted = name};
    return name && find(s, &q) ? q.number : SIZE_MAX;
}

/* ---- arguments --------------------------------------------------------------------------------- */

static bool add_type(void *user, const tn_i_member *m) {
    tn_type *types = user;
    types[m->number] = *m->type;
    return true;
}

size_t tn_struct_types(const tn_struct *s, tn_type *types) {
    const size_t n = tn_struct_arrays(s);
    if (n && types) (void)tn_i_struct_walk(s, add_type, types);
    return n;
}

const tn_type *tn_struct_args(const tn_struct *s, tn_type *types, size_t n, const tn_type *more) {
    if (!types) return NULL;
    const size_t own = n <= MORE ? tn_struct_types(s, types) : 0, others = own && more ? n : 0;
    if (others) memcpy(types + own, more, others * sizeof *more);
    types[own + others] = (tn_type){.dtype = TN_NDTYPES}; /* the end, as that of TN_TYPES */
    return types;
}

typedef struct wanted {
    size_t first, n;
    int *index;
} wanted;

static bool add_index(void *user, const tn_i_member *m) {
    wanted *w = user;
    if (!tn_i_is_float(m->type->dtype)) return true;
    if (w->first > (size_t)INT_MAX - m->number) return false;
    w->index[w->n++] = (int)(w->first + m->number);
    return true;
}

const tn_wrt_list *tn_struct_wrt(const tn_struct *s, size_t first, int *index, tn_wrt_list *list) {
    wanted w = {.first = first, .index = index};
    if (!index || !list) return NULL;
    if (!tn_struct_arrays(s) || !tn_i_struct_walk(s, add_index, &w)) {
        index[0] = -1; /* an input that no program has */
        w.n = 1;
    }
    *list = (tn_wrt_list){w.n, index};
    return list;
}
