/* A description looked at, and walked through. */
#include "structs/structs.h"

#include "base/base.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- what is wrong ------------------------------------------------------------------------------ */

static bool wrong(char *why, const tn_struct *s, size_t i, const char *what) {
    const char *name = s->name && *s->name ? s->name : "a struct";
    const char *field = i < s->n && s->field[i].name ? s->field[i].name : "";
    (void)snprintf(why, TN_I_STRUCT_WRONG, "%.120s%s%.120s%s", name, *field ? "." : "", field, what);
    return false;
}

static size_t many(const tn_field *f) { return f->type.rank ? (size_t)f->type.dim[0] : 1; }

static bool right(const tn_struct *s, int depth, size_t *arrays, char *why);

/* The bytes of a field, and its arrays. */
static bool right_field(const tn_struct *s, size_t i, int depth, size_t *bytes, size_t *arrays, char *why) {
    const tn_field *f = &s->field[i];
    *arrays = 1;
    if (!f->name || !*f->name) return wrong(why, s, s->n, ": a field has no name");
    if (!f->of) {
        if (!tn_i_type_valid(&f->type) || tn_i_has_steps(&f->type))
            return wrong(why, s, i, ": its type is none that an array has");
        *bytes = tn_type_bytes(&f->type);
        return f->offset % tn_i_dtype_size(f->type.dtype) == 0 || wrong(why, s, i, ": its offset is not aligned");
    }
    if (f->type.rank < 0 || f->type.rank > 1 || (f->type.rank == 1 && f->type.dim[0] <= 0))
        return wrong(why, s, i, ": structs nest alone (rank 0), or some of them in a row (rank 1)");
    if (!right(f->of, depth + 1, arrays, why)) return false;
    return (tn_i_mul(f->of->bytes, many(f), bytes) && tn_i_mul(*arrays, many(f), arrays)) ||
           wrong(why, s, i, ": its size overflows");
}

/* Fields that do not overlap make the walk's length one that is bounded by the struct's bytes, also where it contains
 * itself, until that is too deep. */
static bool right(const tn_struct *s, int depth, size_t *arrays, char *why) {
    size_t end = 0;
    *arrays = 0;
    if (!s->n || !s->field) return wrong(why, s, s->n, " has no fields");
    if (depth > TN_I_STRUCT_NEST) return wrong(why, s, s->n, ": structs are nested more than 16 deep");
    for (size_t i = 0; i < s->n; i++) {
        size_t bytes, behind, more;
        if (!right_field(s, i, depth, &bytes, &more, why)) return false;
        if (s->field[i].offset < end) return wrong(why, s, i, ": begins before the field in front of it ends");
        if (!tn_i_add(s->field[i].offset, bytes, &behind) || behind > s->bytes)
            return wrong(why, s, i, ": ends behind the struct");
        if (!tn_i_add(*arrays, more, arrays) || *arrays > INT32_MAX)
            return wrong(why, s, i, ": there are too many arrays");
        end = behind;
    }
    return true;
}

bool tn_i_struct_right(const tn_struct *s, size_t *arrays, char why[TN_I_STRUCT_WRONG]) {
    *arrays = 0;
    if (s && right(s, 1, arrays, why)) return true;
    *arrays = 0;
    if (!s) (void)snprintf(why, TN_I_STRUCT_WRONG, "the description of the struct is NULL");
    return false;
}

/* ---- all arrays ----------------------------------------------------------------------------------- */

typedef struct walk {
    tn_i_member_fn fn;
    void *user;
    size_t number;
} walk;

static bool walk_through(walk *w, const tn_struct *s, size_t base, const tn_i_place *up) {
    for (size_t i = 0; i < s->n; i++) {
        const tn_field *f = &s->field[i];
        tn_i_place here = {up, f, -1};
        if (!f->of) {
            const tn_i_member m = {w->number++, base + f->offset, &f->type, &here};
            if (!w->fn(w->user, &m)) return false;
            continue;
        }
        for (size_t k = 0; k < many(f); k++) {
            if (f->type.rank) here.index = (int64_t)k;
            if (!walk_through(w, f->of, base + f->offset + k * f->of->bytes, &here)) return false;
        }
    }
    return true;
}

bool tn_i_struct_walk(const tn_struct *s, tn_i_member_fn fn, void *user) {
    walk w = {fn, user, 0};
    return walk_through(&w, s, 0, NULL);
}

static void append(char *text, size_t size, size_t *n, const char *more) {
    const size_t length = strlen(more), room = *n < size ? size - *n : 0;
    if (room) {
        const size_t fits = length < room ? length : room - 1;
        memcpy(text + *n, more, fits);
        text[*n + fits] = 0;
    }
    *n += length;
}

static void name_of(const tn_i_place *p, char *text, size_t size, size_t *n) {
    char index[32];
    if (p->up) {
        name_of(p->up, text, size, n);
        append(text, size, n, ".");
    }
    append(text, size, n, p->field->name);
    if (p->index < 0) return;
    (void)snprintf(index, sizeof index, "[%" PRId64 "]", p->index);
    append(text, size, n, index);
}

size_t tn_i_member_name(const tn_i_member *m, char *text, size_t size) {
    size_t n = 0;
    name_of(m->place, text, size, &n);
    return n;
}

/* The rest of *text behind the name of a place, if it begins with that. */
static bool take_name(const tn_i_place *p, const char **text) {
    char index[32] = "";
    if (p->up) {
        if (!take_name(p->up, text) || **text != '.') return false;
        ++*text;
    }
    if (p->index >= 0) (void)snprintf(index, sizeof index, "[%" PRId64 "]", p->index);
    const size_t n = strlen(p->field->name), more = strlen(index);
    if (strncmp(*text, p->field->name, n) != 0 || strncmp(*text + n, index, more) != 0) return false;
    *text += n + more;
    return true;
}

bool tn_i_member_is(const tn_i_member *m, const char *name) { return take_name(m->place, &name) && !*name; }
