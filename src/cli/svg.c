/* Memory over time: axes with round ticks, one stepped line per policy, a legend in figures. */
#include "cli/svg.h"
#include "cli/svg_writer.h"

#include <inttypes.h>
#include <string.h>

enum {
    WIDTH = 960,
    LEFT = 84,
    RIGHT = 936,
    PLOT = 360,
    HEAD = 66,
    ROW = 22,
    FOOT = 62,
    WANTED_X = 12,
    WANTED_Y = 6,
    NAME = 46
};

static const char *const dash[] = {"", " stroke-dasharray='11 11'", " stroke-dasharray='4 18'"};
enum { DASHES = sizeof dash / sizeof *dash };

typedef struct plot {
    FILE *out;
    const tn_i_memory_line *line;
    size_t n;
    size_t before, after; /* the most equations of a forward and of a backward part */
    double top;           /* bytes at the upper edge */
    double y0, y1;        /* lower and upper edge, in pixels */
    double unit;          /* bytes in one unit of the axis */
    const char *unit_name;
    uint64_t ytick; /* tenths of a unit between ticks */
} plot;

/* ---- bytes ------------------------------------------------------------------------ */

static const struct {
    double bytes;
    const char *name;
} units[] = {{1024.0 * 1024 * 1024 * 1024, "TiB"},
             {1024.0 * 1024 * 1024, "GiB"},
             {1024.0 * 1024, "MiB"},
             {1024, "KiB"},
             {1, "B"}};

/* The largest unit of which there is one. */
static size_t unit_of(double bytes) {
    size_t k = 0;
    while (units[k].bytes > bytes && units[k].bytes > 1) k++;
    return k;
}

double tn_i_svg_unit(double bytes, const char **name) {
    const size_t k = unit_of(bytes);
    *name = units[k].name;
    return units[k].bytes;
}

/* With two digits behind the point, so that figures stand under each other. */
void tn_i_svg_bytes(FILE *out, size_t bytes) {
    const size_t k = unit_of((double)bytes);
    const uint64_t hundredths = (uint64_t)((double)bytes / units[k].bytes * 100 + 0.5);
    if (units[k].bytes > 1)
        (void)fprintf(out, "%" PRIu64 ".%02" PRIu64 " %s", hundredths / 100, hundredths % 100, units[k].name);
    else
        (void)fprintf(out, "%zu B", bytes);
}

static void put_bytes_at(FILE *out, double x, double y, size_t bytes) {
    svg_begin_text(out, x, y, " text-anchor='end'");
    tn_i_svg_bytes(out, bytes);
    (void)fputs("</text>\n", out);
}

/* ---- scales -------------------------------------------------------------------------- */

static plot scaled(FILE *out, size_t n, const tn_i_memory_line *line) {
    plot p = {.out = out, .line = line, .n = n, .before = 1, .after = 1, .y1 = HEAD + ROW * ((double)n + 1) + 34};
    size_t most = 1;
    for (size_t k = 0; k < n; k++) {
        const tn_i_memory_line *l = &line[k];
        if (l->backward > p.before) p.before = l->backward;
        if (l->n - l->backward > p.after) p.after = l->n - l->backward;
        if (l->peak > most) most = l->peak;
        for (size_t i = 0; i < l->n; i++)
            if (l->bytes[i] > most) most = l->bytes[i];
    }
    /* Room for the name of a half. */
    if (p.before < p.after / 7) p.before = p.after / 7;
    if (p.after < p.before / 7) p.after = p.before / 7;
    p.unit = tn_i_svg_unit((double)most, &p.unit_name);
    p.ytick = svg_whole_step((double)most / p.unit * 10, WANTED_Y);
    if (p.unit == 1) p.ytick = svg_whole_step((double)most, WANTED_Y) * 10;
    const double step = (double)p.ytick * p.unit / 10;
    p.top = step * (double)((uint64_t)((double)most / step * 1.0001) + 1);
    p.y0 = p.y1 + PLOT;
    return p;
}

/* Equations from the boundary on, negative before it. */
static double x_of(const plot *p, double equations) {
    return LEFT + (RIGHT - LEFT) * ((double)p->before + equations) / (double)(p->before + p->after);
}

static double y_of(const plot *p, double bytes) { return p->y0 - (p->y0 - p->y1) * bytes / p->top; }

/* ---- axes -------------------------------------------------------------------------------- */

static void put_half(const plot *p, double from, double to, const char *fill) {
    svg_rect(p->out, from, p->y1, to - from, p->y0 - p->y1, fill);
}

static void put_x_ticks(const plot *p, uint64_t step, size_t most, double sign) {
    for (uint64_t i = step; i <= most; i += step) {
        const double x = x_of(p, sign * (double)i);
        svg_line(p->out, x, p->y0, x, p->y0 + 5, " stroke='#555'");
        svg_begin_text(p->out, x, p->y0 + 20, " text-anchor='middle'");
        (void)fprintf(p->out, "%" PRIu64 "</text>\n", i);
    }
}

static void put_y_ticks(const plot *p) {
    for (uint64_t i = 0;; i += p->ytick) {
        const double bytes = (double)i / 10 * p->unit;
        if (bytes > p->top * 1.0001) return;
        const double y = y_of(p, bytes);
        svg_line(p->out, LEFT, y, RIGHT, y, i ? " stroke='#ccd1d9' stroke-width='0.8'" : " stroke='#555'");
        svg_begin_text(p->out, LEFT - 8, y + 4.5, " text-anchor='end'");
        svg_number(p->out, (double)i / 10);
        (void)fprintf(p->out, " %s</text>\n", p->unit_name);
    }
}

static void put_axes(const plot *p) {
    const double middle = x_of(p, 0), name = p->y1 - 9;
    put_half(p, LEFT, middle, " fill='#f1f4f8'");
    put_half(p, middle, RIGHT, " fill='#fbf8f2'");
    put_y_ticks(p);
    const uint64_t step = svg_whole_step((double)(p->before + p->after), WANTED_X);
    put_x_ticks(p, step, p->before, -1);
    put_x_ticks(p, step, p->after, 1);
    svg_line(p->out, middle, p->y1 - 24, middle, p->y0 + 5, " stroke='#222' stroke-width='1.5'");
    svg_label(p->out, middle - 10, name, " text-anchor='end' font-weight='bold'", "\xe2\x86\x90 forward");
    svg_label(p->out, middle + 10, name, " font-weight='bold'", "backward \xe2\x86\x92");
    svg_begin_text(p->out, middle, p->y0 + 20, " text-anchor='middle'");
    (void)fputs("0</text>\n", p->out);
    svg_label(p->out, (LEFT + RIGHT) / 2.0, p->y0 + 44, " text-anchor='middle' fill='#555'",
              "steps before and after the end of the forward part");
}

/* ---- lines -------------------------------------------------------------------------------- */

/* The most bytes of equations i.. that share half a pixel; *i moves behind them. */
static size_t level(const plot *p, const tn_i_memory_line *l, size_t *i) {
    const double half_pixels = 2.0 * (RIGHT - LEFT) / (double)(p->before + p->after);
    const size_t end =
        half_pixels >= 1 ? *i + 1 : (size_t)((double)((size_t)((double)*i * half_pixels) + 1) / half_pixels);
    size_t most = l->bytes[(*i)++];
    for (; *i < end && *i < l->n && *i != l->backward; (*i)++)
        if (l->bytes[*i] > most) most = l->bytes[*i];
    return most;
}

/* The path of a line: from the axis up, in steps, and down again. */
static void put_path(const plot *p, const tn_i_memory_line *l) {
    double x = x_of(p, -(double)l->backward), last = -1;
    (void)fputc('M', p->out);
    svg_number(p->out, x);
    (void)fputc(' ', p->out);
    svg_number(p->out, p->y0);
    for (size_t i = 0; i < l->n;) {
        const double y = y_of(p, (double)level(p, l, &i));
        if (y != last) {
            if (last >= 0) {
                (void)fputc('H', p->out);
                svg_number(p->out, x);
            }
            (void)fputc('V', p->out);
            svg_number(p->out, y);
            last = y;
        }
        x = x_of(p, (double)i - (double)l->backward);
    }
    (void)fputc('H', p->out);
    svg_number(p->out, x);
    (void)fputc('V', p->out);
    svg_number(p->out, p->y0);
}

static double width_of(const plot *p, size_t k) {
    const double step = p->n > 6 ? 4.5 / (double)(p->n - 1) : 0.9;
    return 2.2 + step * (double)(p->n - 1 - k);
}

/* Dashed when the colours are used up, and when an equal line would vanish underneath. */
static const char *dash_of(const plot *p, size_t k) {
    const tn_i_memory_line *l = &p->line[k];
    size_t n = k / SVG_COLOURS;
    for (size_t i = 0; i < k; i++) {
        const tn_i_memory_line *m = &p->line[i];
        n += l->n > 0 && l->n == m->n && l->backward == m->backward &&
             memcmp(l->bytes, m->bytes, l->n * sizeof *l->bytes) == 0;
    }
    return dash[n < DASHES ? n : DASHES - 1];
}

/* Earlier lines are wider, so that they show where later ones run over them. */
static void put_profile(const plot *p, size_t k) {
    const tn_i_memory_line *l = &p->line[k];
    const char *c = svg_colour(k);
    if (l->n == 0) return;
    (void)fputs("<path d='", p->out);
    put_path(p, l);
    (void)fprintf(p->out, "' fill='%s' fill-opacity='0.05' stroke='%s' stroke-linejoin='round'%s", c, c, dash_of(p, k));
    svg_attribute(p->out, "stroke-width", width_of(p, k));
    (void)fputs("><title>", p->out);
    svg_text(p->out, l->name, SIZE_MAX);
    (void)fputs("</title></path>\n", p->out);
}

/* The arena, as a thin line over the whole length, and the first place where most is alive. */
static void put_peak(const plot *p, size_t k) {
    const tn_i_memory_line *l = &p->line[k];
    size_t at = 0;
    char stroke[64];
    if (l->n == 0) return;
    for (size_t i = 1; i < l->n; i++)
        if (l->bytes[i] > l->bytes[at]) at = i;
    const double y = y_of(p, (double)l->peak), begin = -(double)l->backward;
    (void)snprintf(stroke, sizeof stroke, " stroke='%s' stroke-dasharray='2 4'", svg_colour(k));
    svg_line(p->out, x_of(p, begin), y, x_of(p, begin + (double)l->n), y, stroke);
    (void)snprintf(stroke, sizeof stroke, " fill='#fff' stroke='%s' stroke-width='2.5'", svg_colour(k));
    svg_circle(p->out, x_of(p, begin + (double)at + 0.5), y_of(p, (double)l->bytes[at]), 4.5, stroke);
}

/* ---- the legend ------------------------------------------------------------------------------ */

enum { PEAK = 620, MOST = 770 };

static void put_row(const plot *p, size_t k) {
    const tn_i_memory_line *l = &p->line[k];
    const double y = HEAD + ROW * ((double)k + 1);
    char more[128];
    size_t most = 0;
    for (size_t i = 0; i < l->n; i++)
        if (l->bytes[i] > most) most = l->bytes[i];
    (void)snprintf(more, sizeof more, " stroke='%s' stroke-width='4'%s", svg_colour(k), dash_of(p, k));
    svg_line(p->out, LEFT, y - 4.5, LEFT + 30, y - 4.5, more);
    svg_begin_text(p->out, LEFT + 40, y, "");
    svg_text(p->out, l->name, NAME);
    (void)fputs("</text>\n", p->out);
    put_bytes_at(p->out, PEAK, y, l->peak);
    put_bytes_at(p->out, MOST, y, most);
    put_bytes_at(p->out, RIGHT, y, l->kept);
}

static void put_legend(const plot *p) {
    static const char head[] = " text-anchor='end' fill='#555'";
    svg_label(p->out, LEFT + 40, HEAD, " fill='#555'", "policy");
    svg_label(p->out, PEAK, HEAD, head, "peak: the arena (dotted)");
    svg_label(p->out, MOST, HEAD, head, "most alive (ring)");
    svg_label(p->out, RIGHT, HEAD, head, "kept for backward");
    for (size_t k = 0; k < p->n; k++) put_row(p, k);
}

/* ---- the whole --------------------------------------------------------------------------------- */

bool tn_i_svg_memory(FILE *out, const char *title, size_t n, const tn_i_memory_line *line) {
    const plot p = scaled(out, n, line);
    const int height = (int)p.y0 + FOOT;
    svg_open(out, WIDTH, height, 14, title);
    svg_label(out, LEFT, 34, " font-size='19' font-weight='bold'", title);
    put_legend(&p);
    put_axes(&p);
    for (size_t k = 0; k < n; k++) put_profile(&p, k);
    for (size_t k = 0; k < n; k++) put_peak(&p, k);
    svg_close(out);
    return !ferror(out);
}
