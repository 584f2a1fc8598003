/* How much of what differs in numbers alone a test repeats: all of it in make check-long (LONG=1, or TN_TESTS_LONG in
 * the environment of a test), elsewhere as much as still has each kind of what is looked at; where the sanitizers
 * multiply times, less. */
#ifndef TN_TESTS_AMOUNT_H
#define TN_TESTS_AMOUNT_H

#include "sanitized.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

static inline bool tests_long(void) {
    const char *text = getenv("TN_TESTS_LONG");
    return text && *text;
}

/* Of samples, steps or lengths. */
static inline int amount(int all, int less) { return tests_long() ? all : less; }

/* Whether it is the turn of a costly case: each is looked at once in so many runs, which make check numbers (TURN). */
static inline bool in_turn(size_t at, size_t turns) {
    const char *turn = getenv("TURN");
    return tests_long() || (at + (turn ? strtoul(turn, NULL, 10) : 0)) % turns == 0;
}

/* Whether a case of a table is one of those that are looked at, one in `share`: `at` is the sum of its indices, so that
 * every value of each index is met. */
static inline bool in_share(size_t at, size_t share) {
    return tests_long() || at % (SANITIZED ? 4 * share + 1 : share) == 0;
}

#endif
