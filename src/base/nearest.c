#include "base/nearest.h"

#include <stdio.h>
#include <string.h>

enum { LONGEST = 63 };

const char *tn_i_array_name(const void *list, size_t i) { return ((const char *const *)list)[i]; }

/* Letters put in, left out or replaced (Levenshtein), row by row. */
static size_t changes(const char *a, size_t n, const char *b, size_t m) {
    size_t row[LONGEST + 1];
    for (size_t j = 0; j <= m; j++) row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t least = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < least) least = row[j] + 1;
            if (row[j - 1] + 1 < least) least = row[j - 1] + 1;
            row[j] = least;
        }
    }
    return row[m];
}

/* Twice the changes; a name that goes on where the text ends was cut short, and one that the text goes on from is
 * nearer than others as far away. */
static size_t distance(const char *text, size_t n, const char *name) {
    const size_t m = strlen(name), d = m > LONGEST ? LONGEST : changes(text, n, name, m), both = n < m ? n : m;
    if (both < 3 || d == 0 || memcmp(text, name, both) != 0) return 2 * d;
    return n < m ? 1 : 2 * d - 1;
}

const char *tn_i_nearest(char buf[TN_I_NEAREST], const char *text, size_t n, tn_i_name_at *at, const void *list) {
    size_t best = 2 * (n / 3 + 2); /* more is another word */
    const char *name;
    buf[0] = 0;
    if (n > LONGEST) return buf;
    for (size_t i = 0; (name = at(list, i)) != NULL; i++) {
        const size_t d = distance(text, n, name);
        if (d == 0 || d >= best || d >= 2 * n) continue; /* 0: the name is known, and wrong for another reason */
        best = d;
        (void)snprintf(buf, TN_I_NEAREST, "; did you mean '%s'?", name);
    }
    return buf;
}
