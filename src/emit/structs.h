/* Structs of the library as generated C sees them, which has no headers of ours: a struct is a macro, declared in the
 * library's file for the compiler to compare with the real one, and written into the text as a line. */
#ifndef TN_STRUCTS_EMIT_H
#define TN_STRUCTS_EMIT_H

#include <stddef.h>

#define TN_TEXT(...) #__VA_ARGS__
#define TN_LINE(...) TN_TEXT(__VA_ARGS__) ";\n"

/* A member of struct s stands where it does in the library's type, and is as large. */
#define TN_SAME(type, s, member)                                                 \
    _Static_assert(offsetof(struct s, member) == offsetof(type, member) &&       \
                       sizeof((struct s){0}.member) == sizeof((type){0}.member), \
                   #type "." #member)

#endif
