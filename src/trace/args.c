/* Parameters by name. */
#include "trace/trace.h"

#include <string.h>

void tn_i_args_init(tn_i_args *a, const tn_i_site *s, int id) {
    memset(a, 0, sizeof *a);
    a->prim = s->b->ctx ? tn_i_prim(s->b, id) : NULL;
}

/* The slot of a parameter; remembers a name that the primitive does not have. */
static tn_i_param *slot(tn_i_args *a, const char *name, const tn_i_spec **spec) {
    const tn_i_spec *k = a->prim ? a->prim->params : NULL;
    for (uint32_t i = 0; k && k[i].name; i++)
        if (strcmp(k[i].name, name) == 0) {
            if (spec) *spec = &k[i];
            a->p[i].kind = k[i].kind;
            return &a->p[i];
        }
    a->unknown = name;
    return NULL;
}

bool tn_i_args_has(const tn_i_args *a, const char *name) {
    const tn_i_spec *k = a->prim ? a->prim->params : NULL;
    for (uint32_t i = 0; k && k[i].name; i++)
        if (strcmp(k[i].name, name) == 0) return true;
    return false;
}

void tn_i_args_int(tn_i_args *a, const char *name, int64_t i) {
    tn_i_param *p = slot(a, name, NULL);
    if (p) p->u.i = i;
}

void tn_i_args_ints(tn_i_args *a, const char *name, size_t n, const int64_t *v) {
    tn_i_param *p = slot(a, name, NULL);
    if (!p) return;
    p->n = (uint32_t)n;
    p->u.ints = v;
}

void tn_i_args_str(tn_i_args *a, const char *name, const char *str) {
    tn_i_param *p = slot(a, name, NULL);
    if (p) p->u.str = str;
}

void tn_i_args_sym(tn_i_args *a, const char *name, const char *symbol) {
    const tn_i_spec *spec = NULL;
    tn_i_param *p = slot(a, name, &spec);
    if (!p) return;
    for (int64_t i = 0; spec->symbols && spec->symbols[i]; i++)
        if (strcmp(spec->symbols[i], symbol) == 0) {
            p->u.i = i;
            return;
        }
    a->unknown = symbol;
}

void tn_i_args_fn(tn_i_args *a, const char *name, const tn_fn *f) {
    tn_i_param *p = slot(a, name, NULL);
    if (p) p->u.fn = f;
}

/* Which of the caller's lists is the spec's list `j`. */
static size_t list_of(const tn_i_spec *spec, size_t j, size_t n, const char *const *fields) {
    if (!fields || !spec->fields) return j;
    for (size_t i = 0; i < n; i++)
        if (strcmp(spec->fields[j], fields[i]) == 0) return i;
    return n;
}

void tn_i_args_lists(tn_i_args *a, const char *name, size_t n, const char *const *fields, const tn_int_list *lists) {
    const tn_i_spec *spec = NULL;
    tn_i_param *p = slot(a, name, &spec);
    if (!p) return;
    size_t count = spec->lists, at = count;
    for (size_t j = 0; j < count; j++) {
        size_t i = list_of(spec, j, n, fields), m = i < n ? lists[i].n : 0;
        if (m > TN_MAX_RANK || at + m > sizeof a->room / sizeof *a->room) {
            a->unknown = name;
            return;
        }
        a->room[j] = (int64_t)m;
        if (m) memcpy(a->room + at, lists[i].v, m * sizeof *a->room);
        at += m;
    }
    p->n = (uint32_t)at;
    p->u.ints = a->room;
}

tn_i_var tn_i_args_emit(tn_i_site *s, const tn_i_args *a, size_t n, const tn_i_var *in) {
    if (s->b->failed) return TN_NOVAR;
    if (a->unknown) return tn_i_site_fail(s, TN_EINVAL, -1, "%s has no parameter '%s'", a->prim->name, a->unknown);
    return tn_i_emit(s->b, a->prim, a->p, (uint32_t)n, in);
}
