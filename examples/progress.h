/* A progress bar, for the examples that take a while. */
/* Include it before all others: isatty is of POSIX. */
#ifndef PROGRESS_H
#define PROGRESS_H

#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <unistd.h>

/* One line with a bar, written again and again; `part` is done, of 1.  What is no terminal gets the last text alone. */
static inline void progress(double part, const char *text) {
    enum { WIDTH = 24 };
    char bar[WIDTH + 1] = {0};
    if (!isatty(STDOUT_FILENO)) {
        if (part >= 1) printf("  %s\n", text);
        return;
    }
    for (int i = 0; i < WIDTH; i++) bar[i] = i < WIDTH * part ? '#' : '.';
    printf("\r\033[K  [%s] %s%s", bar, text, part >= 1 ? "\n" : "");
    fflush(stdout);
}

#endif
