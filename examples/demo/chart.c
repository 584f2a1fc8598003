/* Line charts as SVG: two panels side by side, and a legend for both. */
#include "../picture.h"
#include "demo.h"

#include <stdlib.h>

static const double left[2] = {66, 546};
enum { WIDTH = 960, HEIGHT = 420, PANEL_W = 388, PANEL_H = 270, TOP = 84 };
/* The second line is dashed as well, so that both are told apart in grey. */
static const char *const colour[2] = {BLUE, ORANGE}, *const dash[2] = {"none", "7 4"};

/* Room at both ends: whole steps, or on a log scale a part of the range. */
static void widen(double range[2], bool log_scale) {
    if (log_scale) {
        const double part = pow(fmax(1.25, range[1] / range[0]), 0.04);
        range[0] /= part, range[1] *= part;
        return;
    }
    if (!(range[1] > range[0])) return;
    const double step = svg_step(range[1] - range[0], 5);
    range[0] = floor(range[0] / step) * step;
    range[1] = ceil(range[1] / step) * step;
}

static void draw_panel(picture *p, const panel *a, double at, const char *x_label, size_t n, const double *x) {
    double range[2] = {DBL_MAX, -DBL_MAX};
    const double ends[2] = {1, n > 1 ? (double)n : 2};
    for (int k = 0; k < 2; k++) picture_range(range, (int)n, a->line[k], 1);
    if (range[0] > range[1]) range[0] = range[1] = 1;
    widen(range, a->log_scale);
    p->log_y = a->log_scale;
    p->unit = a->unit;
    picture_panel(p, at, TOP, PANEL_W, PANEL_H, ends, range, a->title, x_label);
    for (int k = 0; k < 2; k++) picture_line(p, (int)n, x, 1, a->line[k], 1, colour[k], dash[k]);
}

static void draw_legend(picture *p, const char *const label[2]) {
    p->left = WIDTH - PANEL_W, p->width = PANEL_W, p->top = 46; /* above the panels */
    p->legend = 0;
    for (int k = 0; k < 2; k++) picture_legend(p, colour[k], dash[k], label[k]);
}

bool chart_write(const demo *d, const char *name, const char *title, const char *x_label, const char *const label[2],
                 size_t n, const panel panels[2]) {
    char *text = NULL;
    size_t size = 0;
    double *x = malloc(n * sizeof *x);
    FILE *file = x ? open_memstream(&text, &size) : NULL;
    bool ok = file != NULL;
    if (ok) {
        picture p;
        picture_begin(&p, file, WIDTH, HEIGHT, title);
        for (size_t i = 0; i < n; i++) x[i] = (double)i + 1;
        for (int i = 0; i < 2; i++) draw_panel(&p, &panels[i], left[i], x_label, n, x);
        draw_legend(&p, label);
        svg_close(file);
        ok = !ferror(file);
        ok &= fclose(file) == 0;
    }
    if (!ok) fprintf(stderr, "%s: out of memory\n", name);
    ok = ok && file_write(d, name, text, size);
    free(text);
    free(x);
    return ok;
}
