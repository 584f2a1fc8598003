/* What primitives compute, in numbers that do not come from the library. */
#ifndef LAWS_GOLDENS_H
#define LAWS_GOLDENS_H

#include <stddef.h>

/* `program` is one equation of `prim`.  `how` is "" for its values, or jvp, vjp or grad in all
 * float inputs, or "says": what the observer of a call hears.  Numbers are dense, arrays separated by `;`. */
typedef struct laws_golden {
    const char *prim, *how, *program, *given, *want;
} laws_golden;

/* Written by record_goldens.py; each ends with a NULL primitive. */
extern const laws_golden laws_goldens_elementwise[], laws_goldens_axes[], laws_goldens_shapes[],
    laws_goldens_products[], laws_goldens_lapack[], laws_goldens_nested[], laws_goldens_loops[], laws_goldens_random[],
    laws_goldens_effects[];

#endif
