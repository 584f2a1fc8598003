/* What the examples draw: line charts as SVG. */
#ifndef PICTURE_H
#define PICTURE_H

#include "../src/cli/svg_writer.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define BLUE   "#0072b2"
#define ORANGE "#d55e00"
#define GREY   "#8a8a8a"

/* A page with panels; what is drawn goes to the last panel. */
typedef struct picture {
    FILE *file;
    double left, top, width, height; /* of the panel, in pixels */
    double x[2], y[2];               /* its ranges */
    bool log_y;                      /* the next panels' heights are logarithms of y, which is above 0 */
    const char *unit;                /* behind the numbers of the next panels' y axes, or NULL */
    int legend;                      /* entries so far */
} picture;

/* A page on a file that is open; svg_close ends it. */
static inline void picture_begin(picture *p, FILE *file, int width, int height, const char *title) {
    *p = (picture){.file = file};
    svg_open(file, width, height, 13, title);
    svg_label(file, 24, 32, " font-size='17' font-weight='bold'", title);
}

static inline bool picture_open(picture *p, const char *path, int width, int height, const char *title) {
    FILE *file = fopen(path, "w");
    if (!file) {
        perror(path);
        return false;
    }
    picture_begin(p, file, width, height, title);
    return true;
}

static inline bool picture_close(picture *p, const char *path) {
    svg_close(p->file);
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

static inline double picture_x(const picture *p, double x) {
    return p->left + p->width * (x - p->x[0]) / (p->x[1] - p->x[0]);
}

static inline double picture_y(const picture *p, double y) {
    const double *r = p->y;
    const double part = p->log_y ? log(r[1] / y) / log(r[1] / r[0]) : (r[1] - y) / (r[1] - r[0]);
    return p->top + p->height * part;
}

static inline void picture_x_tick(picture *p, double x) {
    const double at = picture_x(p, x), bottom = p->top + p->height;
    svg_line(p->file, at, bottom, at, bottom + 5, " stroke='#555'");
    svg_begin_text(p->file, at, bottom + 20, " text-anchor='middle'");
    fprintf(p->file, "%.4g</text>\n", x + 0.0);
}

static inline void picture_y_tick(picture *p, double y) {
    const double at = picture_y(p, y);
    svg_line(p->file, p->left, at, p->left + p->width, at, " stroke='#e4e4e4'");
    svg_begin_text(p->file, p->left - 8, at + 4, " text-anchor='end'");
    fprintf(p->file, "%.4g%s</text>\n", y + 0.0, p->unit ? p->unit : "");
}

/* 1, 2 and 5 times the powers of ten; the powers alone where there are many. */
static inline void picture_log_ticks(picture *p) {
    const bool all = p->y[1] < 2000 * p->y[0];
    for (double power = pow(10, floor(log10(p->y[0]))); power <= p->y[1]; power *= 10)
        for (int k = 1; k <= 5; k = k == 1 ? 2 : k + 3)
            if ((k == 1 || all) && k * power >= p->y[0] && k * power <= p->y[1]) picture_y_tick(p, k * power);
}

/* A panel for x and y in these ranges, with its axes. */
static inline void picture_panel(picture *p, double left, double top, double width, double height, const double x[2],
                                 const double y[2], const char *title, const char *x_label) {
    p->left = left, p->top = top, p->width = width, p->height = height;
    p->x[0] = x[0], p->x[1] = x[1] > x[0] ? x[1] : x[0] + 1;
    p->y[0] = y[0], p->y[1] = y[1] > y[0] ? y[1] : y[0] + 1;
    p->legend = 0;
    const double bottom = top + height, right = left + width;
    const double dx = svg_step(p->x[1] - p->x[0], 5), dy = svg_step(p->y[1] - p->y[0], 5);
    if (p->log_y) picture_log_ticks(p);
    for (double k = ceil(p->y[0] / dy); !p->log_y && k * dy <= p->y[1]; k++) picture_y_tick(p, k * dy);
    for (double k = ceil(p->x[0] / dx); k * dx <= p->x[1]; k++) picture_x_tick(p, k * dx);
    svg_line(p->file, left, top, left, bottom, " stroke='#555'");
    svg_line(p->file, left, bottom, right, bottom, " stroke='#555'");
    svg_label(p->file, left, top - 12, " font-weight='bold'", title);
    svg_label(p->file, left + width / 2, bottom + 40, " text-anchor='middle'", x_label);
}

/* A line through n points, x[0], x[dx], .. and y[0], y[dy], ..; dash "none" or as SVG has it.  It ends at the panel's
 * border. */
static inline void picture_line(picture *p, int n, const double *x, int dx, const double *y, int dy, const char *colour,
                                const char *dash) {
    bool pen = false;
    svg_begin_window(p->file, p->left, p->top, p->width, p->height);
    fprintf(p->file, "<path fill='none' stroke='%s' stroke-width='2' stroke-dasharray='%s' d='", colour, dash);
    for (int i = 0; i < n; i++) {
        const double a = picture_x(p, x[i * dx]), b = picture_y(p, y[i * dy]);
        const bool here = isfinite(a) && isfinite(b) && fabs(a) < 1e6 && fabs(b) < 1e6;
        if (here) svg_point(p->file, pen ? 'L' : 'M', a, b);
        pen = here;
    }
    fputs("'/>\n", p->file);
    svg_close(p->file);
}

static inline void picture_dot(picture *p, double x, double y, double r, const char *colour, const char *more) {
    char look[128];
    (void)snprintf(look, sizeof look, " fill='%s'%s", colour, more);
    svg_circle(p->file, picture_x(p, x), picture_y(p, y), r, look);
}

static inline void picture_dots(picture *p, int n, const double *x, int dx, const double *y, int dy,
                                const char *colour) {
    for (int i = 0; i < n; i++) picture_dot(p, x[i * dx], y[i * dy], 3, colour, " fill-opacity='0.7'");
}

/* One more entry of the legend at the panel's top; dash NULL: dots. */
static inline void picture_legend(picture *p, const char *colour, const char *dash, const char *text) {
    const double x = p->left + p->width - 330 + 120 * p->legend++, y = p->top - 16;
    char look[128];
    (void)snprintf(look, sizeof look, " stroke='%s' stroke-width='2' stroke-dasharray='%s'", colour, dash ? dash : "");
    if (dash) svg_line(p->file, x, y, x + 24, y, look);
    (void)snprintf(look, sizeof look, " fill='%s'", colour);
    if (!dash) svg_circle(p->file, x + 18, y, 3, look);
    svg_label(p->file, x + 30, y + 4, "", text);
}

#endif
