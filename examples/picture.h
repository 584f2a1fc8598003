/* What the examples of differential equations share: a progress bar, and line charts as SVG. */
/* Include it before all others: isatty is of POSIX. */
#ifndef PICTURE_H
#define PICTURE_H

#define _POSIX_C_SOURCE 200809L

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BLUE   "#0072b2"
#define ORANGE "#d55e00"
#define GREY   "#8a8a8a"

/* ---- progress -------------------------------------------------------------- */

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

/* ---- pictures -------------------------------------------------------------- */

/* A page with panels; what is drawn goes to the last panel. */
typedef struct picture {
    FILE *file;
    double left, top, width, height; /* of the panel, in pixels */
    double x[2], y[2];               /* its ranges */
    int legend;                      /* entries so far */
} picture;

static inline bool picture_open(picture *p, const char *path, double width, double height, const char *title) {
    *p = (picture){.file = fopen(path, "w")};
    if (!p->file) {
        perror(path);
        return false;
    }
    fprintf(p->file, "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %g %g' width='%g' height='%g' role='img'>\n",
            width, height, width, height);
    fprintf(p->file, "<title>%s</title>\n<style>\n", title);
    fprintf(p->file, "text { font: 13px system-ui, 'DejaVu Sans', Helvetica, Arial, sans-serif; fill: #333 }\n"
                     ".head { font-size: 17px; font-weight: 600 }\n.axis { stroke: #555; fill: none }\n"
                     ".grid { stroke: #e4e4e4 }\n</style>\n");
    fprintf(p->file, "<rect width='%g' height='%g' fill='#fff'/>\n", width, height);
    fprintf(p->file, "<text x='24' y='32' class='head'>%s</text>\n", title);
    return true;
}

static inline bool picture_close(picture *p, const char *path) {
    fprintf(p->file, "</svg>\n");
    const bool bad = ferror(p->file) != 0;
    if (!fclose(p->file) && !bad) return true;
    fprintf(stderr, "%s: not written\n", path);
    return false;
}

/* Widens a range, empty at first as {DBL_MAX, -DBL_MAX}, so that v[0], v[stride], .. are in it. */
static inline void picture_range(double range[2], int n, const double *v, int stride) {
    for (int i = 0; i < n; i++) {
        const double at = v[i * stride];
        if (!isfinite(at)) continue;
        range[0] = fmin(range[0], at);
        range[1] = fmax(range[1], at);
    }
}

/* 1, 2 or 5 times a power of ten, so that some five steps cover the range. */
static inline double picture_step(const double range[2]) {
    const double power = pow(10, floor(log10((range[1] - range[0]) / 5))), lead = (range[1] - range[0]) / 5 / power;
    return power * (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10);
}

static inline double picture_x(const picture *p, double x) {
    return p->left + p->width * (x - p->x[0]) / (p->x[1] - p->x[0]);
}

static inline double picture_y(const picture *p, double y) {
    return p->top + p->height * (p->y[1] - y) / (p->y[1] - p->y[0]);
}

/* A panel for x and y in these ranges, with its axes. */
static inline void picture_panel(picture *p, double left, double top, double width, double height, const double x[2],
                                 const double y[2], const char *title, const char *x_label) {
    p->left = left, p->top = top, p->width = width, p->height = height;
    p->x[0] = x[0], p->x[1] = x[1] > x[0] ? x[1] : x[0] + 1;
    p->y[0] = y[0], p->y[1] = y[1] > y[0] ? y[1] : y[0] + 1;
    p->legend = 0;
    const double bottom = top + height, dx = picture_step(p->x), dy = picture_step(p->y);
    for (double k = ceil(p->y[0] / dy); k * dy <= p->y[1]; k++) {
        const double at = picture_y(p, k * dy);
        fprintf(p->file, "<path class='grid' d='M%g %.1fh%g'/>\n", left, at, width);
        fprintf(p->file, "<text x='%g' y='%.1f' text-anchor='end'>%.4g</text>\n", left - 8, at + 4, k * dy + 0.0);
    }
    for (double k = ceil(p->x[0] / dx); k * dx <= p->x[1]; k++) {
        const double at = picture_x(p, k * dx);
        fprintf(p->file, "<path class='axis' d='M%.1f %gv5'/>\n", at, bottom);
        fprintf(p->file, "<text x='%.1f' y='%g' text-anchor='middle'>%.4g</text>\n", at, bottom + 20, k * dx + 0.0);
    }
    fprintf(p->file, "<path class='axis' d='M%g %gV%gH%g'/>\n", left, top, bottom, left + width);
    fprintf(p->file, "<text x='%g' y='%g' font-weight='600'>%s</text>\n", left, top - 12, title);
    fprintf(p->file, "<text x='%g' y='%g' text-anchor='middle'>%s</text>\n", left + width / 2, bottom + 40, x_label);
}

/* A line through n points, x[0], x[dx], .. and y[0], y[dy], ..; dash "none" or as SVG has it.  It ends at the panel's
 * border. */
static inline void picture_line(picture *p, int n, const double *x, int dx, const double *y, int dy, const char *colour,
                                const char *dash) {
    bool pen = false;
    fprintf(p->file, "<svg x='%g' y='%g' width='%g' height='%g' viewBox='%g %g %g %g'>\n", p->left, p->top, p->width,
            p->height, p->left, p->top, p->width, p->height);
    fprintf(p->file, "<path fill='none' stroke='%s' stroke-width='2' stroke-dasharray='%s' d='", colour, dash);
    for (int i = 0; i < n; i++) {
        const double a = picture_x(p, x[i * dx]), b = picture_y(p, y[i * dy]);
        const bool here = isfinite(a) && isfinite(b) && fabs(a) < 1e6 && fabs(b) < 1e6;
        if (here) fprintf(p->file, "%s%.1f %.1f", pen ? "L" : "M", a, b);
        pen = here;
    }
    fprintf(p->file, "'/>\n</svg>\n");
}

static inline void picture_dots(picture *p, int n, const double *x, int dx, const double *y, int dy,
                                const char *colour) {
    for (int i = 0; i < n; i++)
        fprintf(p->file, "<circle cx='%.1f' cy='%.1f' r='3' fill='%s' fill-opacity='0.7'/>\n", picture_x(p, x[i * dx]),
                picture_y(p, y[i * dy]), colour);
}

/* One more entry of the legend at the panel's top; dash NULL: dots. */
static inline void picture_legend(picture *p, const char *colour, const char *dash, const char *text) {
    const double x = p->left + p->width - 330 + 120 * p->legend++, y = p->top - 16;
    if (dash)
        fprintf(p->file, "<path stroke='%s' stroke-width='2' stroke-dasharray='%s' d='M%g %gh24'/>\n", colour, dash, x,
                y);
    else
        fprintf(p->file, "<circle cx='%g' cy='%g' r='3' fill='%s'/>\n", x + 18, y, colour);
    fprintf(p->file, "<text x='%g' y='%g'>%s</text>\n", x + 30, y + 4, text);
}

#endif
