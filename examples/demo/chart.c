/* Line charts as SVG: two panels side by side, with axes, ticks and a legend. */
#include "demo.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 960, HEIGHT = 420, PANEL_W = 388, PANEL_H = 270, TOP = 84, MAX_TICKS = 12 };
static const int LEFT[2] = {66, 546};
/* Distinct for the colour-blind, and in grey; the second line is dashed as well. */
static const char *const COLOUR[2] = {"#0072b2", "#d55e00"}, *const DASH[2] = {"none", "7 4"};

/* Text that grows; `failed` sticks. */
typedef struct text {
    char *data;
    size_t n, room;
    bool failed;
} text;

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void
put(text *t, const char *format, ...) {
    char line[512];
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof line) t->failed = true;
    if (t->failed) return;
    if (t->n + (size_t)n > t->room) {
        const size_t room = 2 * t->room + sizeof line;
        char *data = realloc(t->data, room);
        t->failed = !data;
        if (!data) return;
        t->data = data;
        t->room = room;
    }
    for (int i = 0; i < n; i++) t->data[t->n++] = line[i];
}

/* ---- axes ---- */

typedef struct axis {
    double lo, hi; /* log10 of the bounds on a log scale */
    int ticks;
    double tick[MAX_TICKS];
} axis;

/* 1, 2 or 5 times a power of ten, so that about `wanted` steps cover the range. */
static double nice_step(double range, int wanted) {
    const double power = pow(10, floor(log10(range / wanted))), lead = range / wanted / power;
    return power * (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10);
}

static axis linear_axis(double lo, double hi, int wanted, bool widen) {
    if (hi <= lo) hi = lo + 1;
    const double step = nice_step(hi - lo, wanted);
    const long first = lrint((widen ? floor : ceil)(lo / step)), last = lrint((widen ? ceil : floor)(hi / step));
    axis a = {.lo = widen ? (double)first * step : lo, .hi = widen ? (double)last * step : hi};
    for (long k = first; k <= last && a.ticks < MAX_TICKS; k++) a.tick[a.ticks++] = (double)k * step;
    return a;
}

/* Ticks at 1, 2, 5 of each decade, or at decades alone when there are many. */
static axis log_axis(double lo, double hi) {
    axis a = {.lo = log10(lo), .hi = log10(hi)};
    if (a.hi - a.lo < 0.1) a.hi = a.lo + 0.1;
    const double pad = 0.04 * (a.hi - a.lo);
    a.lo -= pad;
    a.hi += pad;
    const bool all = a.hi - a.lo < 3.3;
    for (int decade = (int)floor(a.lo); decade <= (int)ceil(a.hi); decade++)
        for (int k = 1; k <= 5; k = k == 1 ? 2 : k + 3) {
            const double at = decade + log10(k);
            if ((k == 1 || all) && at >= a.lo && at <= a.hi && a.ticks < MAX_TICKS) a.tick[a.ticks++] = at;
        }
    return a;
}

static axis y_axis(const panel *p, size_t n) {
    double lo = DBL_MAX, hi = -DBL_MAX;
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < n; i++) {
            const double y = p->line[k][i];
            if (!isfinite(y) || (p->log_scale && y <= 0)) continue;
            lo = fmin(lo, y);
            hi = fmax(hi, y);
        }
    if (lo > hi) lo = hi = 1;
    return p->log_scale ? log_axis(lo, hi) : linear_axis(lo, hi, 6, true);
}

static double place(const axis *a, double v) { return (v - a->lo) / (a->hi - a->lo); }

/* ---- drawing ---- */

static void draw_axes(text *t, const panel *p, int left, const axis *x, const axis *y, const char *x_label) {
    const int bottom = TOP + PANEL_H;
    put(t, "<text x='%d' y='%d' class='title'>%s</text>\n", left, TOP - 14, p->title);
    for (int k = 0; k < y->ticks; k++) {
        const double at = bottom - PANEL_H * place(y, y->tick[k]);
        put(t, "<path class='grid' d='M%d %.1fh%d'/>\n", left, at, PANEL_W);
        put(t, "<text x='%d' y='%.1f' text-anchor='end'>%.4g%s</text>\n", left - 8, at + 4,
            p->log_scale ? pow(10, y->tick[k]) : y->tick[k], p->unit);
    }
    for (int k = 0; k < x->ticks; k++) {
        const double at = left + PANEL_W * place(x, x->tick[k]);
        put(t, "<path class='axis' d='M%.1f %dv5'/>\n", at, bottom);
        put(t, "<text x='%.1f' y='%d' text-anchor='middle'>%g</text>\n", at, bottom + 20, x->tick[k]);
    }
    put(t, "<path class='axis' d='M%d %dV%dH%d'/>\n", left, TOP, bottom, left + PANEL_W);
    put(t, "<text x='%d' y='%d' text-anchor='middle'>%s</text>\n", left + PANEL_W / 2, bottom + 42, x_label);
}

static void draw_line(text *t, const panel *p, int k, int left, const axis *x, const axis *y, size_t n) {
    bool pen = false;
    put(t, "<path fill='none' stroke='%s' stroke-width='2' stroke-dasharray='%s' stroke-linejoin='round' d='",
        COLOUR[k], DASH[k]);
    for (size_t i = 0; i < n; i++) {
        const double v = p->line[k][i];
        if (!isfinite(v) || (p->log_scale && v <= 0)) {
            pen = false;
            continue;
        }
        put(t, "%s%.1f %.1f", pen ? "L" : "M", left + PANEL_W * place(x, (double)i + 1),
            TOP + PANEL_H * (1 - place(y, p->log_scale ? log10(v) : v)));
        pen = true;
    }
    put(t, "'/>\n");
}

static void draw_legend(text *t, const char *const label[2]) {
    for (int k = 0; k < 2; k++) {
        const int x = WIDTH - 330 + 160 * k;
        put(t, "<path stroke='%s' stroke-width='2' stroke-dasharray='%s' d='M%d 30h30'/>\n", COLOUR[k], DASH[k], x);
        put(t, "<text x='%d' y='34'>%s</text>\n", x + 38, label[k]);
    }
}

bool chart_write(const demo *d, const char *name, const char *title, const char *x_label, const char *const label[2],
                 size_t n, const panel panels[2]) {
    text t = {0};
    put(&t, "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %d' width='%d' height='%d' role='img'>\n", WIDTH,
        HEIGHT, WIDTH, HEIGHT);
    put(&t, "<title>%s</title>\n<style>\n", title);
    put(&t, "text { font: 13px system-ui, 'DejaVu Sans', Helvetica, Arial, sans-serif; fill: #333 }\n");
    put(&t, ".title { font-size: 15px; font-weight: 600 }\n.head { font-size: 18px; font-weight: 600 }\n");
    put(&t, ".grid { stroke: #e4e4e4 }\n.axis { stroke: #555; fill: none }\n</style>\n");
    put(&t, "<rect width='%d' height='%d' fill='#fff'/>\n", WIDTH, HEIGHT);
    put(&t, "<text x='%d' y='36' class='head'>%s</text>\n", LEFT[0], title);
    draw_legend(&t, label);
    const axis x = linear_axis(1, n > 1 ? (double)n : 2, 8, false);
    for (int i = 0; i < 2; i++) {
        const axis y = y_axis(&panels[i], n);
        draw_axes(&t, &panels[i], LEFT[i], &x, &y, x_label);
        for (int k = 0; k < 2; k++) draw_line(&t, &panels[i], k, LEFT[i], &x, &y, n);
    }
    put(&t, "</svg>\n");
    if (t.failed) fprintf(stderr, "%s: out of memory\n", name);
    const bool ok = !t.failed && file_write(d, name, t.data, t.n);
    free(t.data);
    return ok;
}
