/* What a program says while it runs. */
#ifndef LAWS_EFFECTS_H
#define LAWS_EFFECTS_H

#include "laws/laws.h"

typedef struct laws_said {
    laws_memory *memory;
    uint32_t calls, n; /* times the observer was called; arrays of the first time */
    tn_effect_kind kind;
    laws_array *array;
} laws_said;

/* An observer (of a laws_said) that keeps what it is told first. */
int laws_listen(void *user, const tn_effect *e);

#endif
