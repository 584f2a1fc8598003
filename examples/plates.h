/* What the examples of plates share: a progress bar, and temperatures as colours, as SVG. */
/* Include it before all others: isatty is of POSIX. */
#ifndef PLATES_H
#define PLATES_H

#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif

#include "../src/cli/svg_writer.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

enum { PLATES_COLOURS = 32, PLATES_SIDE = 320, PLATES_GAP = 20, PLATES_TOP = 30 };

/* One line, written again and again.  What is no terminal gets none. */
static inline void plates_bar(int done, int all, double objective) {
    if (!isatty(STDERR_FILENO)) return;
    fprintf(stderr, "\r  [");
    for (int i = 0; i < 40; i++) fputc(40 * done >= (i + 1) * all ? '#' : '.', stderr);
    fprintf(stderr, "] %3d of %d, objective %.3e%s", done, all, objective, done == all ? "\n" : "");
    (void)fflush(stderr);
}

static inline int plates_colour(double x) {
    const int k = (int)floor(x / 1.1 * PLATES_COLOURS);
    return k < 0 ? 0 : k >= PLATES_COLOURS ? PLATES_COLOURS - 1 : k;
}

/* Runs of points of one colour are rectangles of one path. */
static inline void plates_panel(FILE *out, int left, const char *title, int n, const double *u) {
    fprintf(out, "<g shape-rendering='crispEdges' transform='translate(%d,%d) scale(%g)'>\n", left, PLATES_TOP,
            (double)PLATES_SIDE / n);
    for (int c = 0; c < PLATES_COLOURS; c++) {
        const double x = (double)c / (PLATES_COLOURS - 1);
        fprintf(out, "<path fill='rgb(%.0f,%.0f,%.0f)' d='", 255 * fmin(1, 2 * x), 255 * fmax(0, fmin(1, 2 * x - 0.7)),
                255 * fmax(0, fmin(0.25 + x, 1.2 - 2 * x)));
        for (int i = 0; i < n; i++)
            for (int j = 0, end; j < n; j = end) {
                for (end = j + 1; end < n && plates_colour(u[i * n + end]) == plates_colour(u[i * n + j]);) end++;
                if (plates_colour(u[i * n + j]) == c) fprintf(out, "M%d %dh%dv1h-%dz", j, i, end - j, end - j);
            }
        fprintf(out, "'/>\n");
    }
    fprintf(out, "</g>\n");
    svg_label(out, left, 20, "", title);
}

/* Three plates of n x n points, side by side. */
static inline bool plates_draw(const char *path, const char *what, int n, const char *const title[3],
                               const double *const plate[3]) {
    FILE *out = fopen(path, "w");
    if (!out) return false;
    svg_open(out, 3 * PLATES_SIDE + 4 * PLATES_GAP, PLATES_SIDE + PLATES_TOP + PLATES_GAP, 14, what);
    for (int k = 0; k < 3; k++) plates_panel(out, PLATES_GAP + k * (PLATES_SIDE + PLATES_GAP), title[k], n, plate[k]);
    svg_close(out);
    return fclose(out) == 0;
}

#endif
