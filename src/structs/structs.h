/* Descriptions of C structs (tansy/structs.h): what is wrong with one, and all its arrays, one after another. */
#ifndef TN_STRUCTS_H
#define TN_STRUCTS_H

#include "tansy.h"

#define TN_I_STRUCT_NEST  16
#define TN_I_STRUCT_WRONG 512

/* Whether a description is as the header says; why, if not, names struct and field.  *arrays: how many it has. */
bool tn_i_struct_right(const tn_struct *s, size_t *arrays, char why[TN_I_STRUCT_WRONG]);

/* Where a field stands: within what, and in which of an array of structs (-1: there is one). */
typedef struct tn_i_place {
    const struct tn_i_place *up;
    const tn_field *field;
    int64_t index;
} tn_i_place;

/* An array. */
typedef struct tn_i_member {
    size_t number, offset; /* in the outermost struct */
    const tn_type *type;
    const tn_i_place *place;
} tn_i_member;

/* false: no more of them. */
typedef bool (*tn_i_member_fn)(void *user, const tn_i_member *m);
/* fn hears of all arrays, in order, until it says that it is enough; returns what it last said.  s is right. */
bool tn_i_struct_walk(const tn_struct *s, tn_i_member_fn fn, void *user);

/* "hidden[1].w", as snprintf writes it. */
size_t tn_i_member_name(const tn_i_member *m, char *text, size_t size);
/* Whether it has this name. */
bool tn_i_member_is(const tn_i_member *m, const char *name);

#endif
