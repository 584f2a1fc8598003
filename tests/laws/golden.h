/* Values of every primitive that do not come from this library. */
#ifndef LAWS_GOLDEN_H
#define LAWS_GOLDEN_H

#include <stdbool.h>
#include <stddef.h>

typedef struct laws_golden {
    const char *prim, *dtype, *program; /* text of a program around the primitive */
    const char *in, *out;               /* numbers row-major, arrays separated by ';' */
    bool close;                         /* up to rounding; else exactly */
} laws_golden;

/* Ended by a NULL name. */
extern const laws_golden laws_golden_table[];

#endif
