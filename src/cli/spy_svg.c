/* Where the entries of a pattern are: a dot each, or squares that are shaded by how many they hold.
 * Places are whole numbers in a group that is scaled, so that an entry takes ten bytes. */
#include "cli/svg.h"
#include "cli/svg_writer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEFT = 76,
    TOP = 134,
    SIDE = 640, /* the longer side, in pixels, unless entries would be very large */
    LARGEST = 24,
    RIGHT = 24,
    BOTTOM = 30,
    NARROWEST = 560,
    MOST_DOTS = 512,
    BYTES = 180000, /* for places; the rest takes less than 20 kB */
    PLACE = 12,     /* bytes of one, at most */
    LEVELS = 8,
    TICKS = 8,
    SHOWN = 18 /* colours in the legend */
};

typedef struct plot {
    FILE *out;
    const tn_i_spy *s;
    int64_t side; /* rows and columns in a square: 1 for dots */
    bool dots;
    int64_t rows, columns; /* squares */
    uint32_t *count;       /* entries in each square; NULL for dots */
    uint32_t most;
    double unit; /* pixels of a square's side */
} plot;

/* ---- squares ------------------------------------------------------------------------------------------- */

static int level(const plot *p, uint32_t count) {
    return count ? (int)(((uint64_t)count * LEVELS + p->most - 1) / p->most) : 0;
}

static void count_entries(plot *p) {
    p->most = 0;
    memset(p->count, 0, (size_t)(p->rows * p->columns) * sizeof *p->count);
    for (int64_t i = 0; i < p->s->rows; i++)
        for (int64_t k = p->s->ptr[i]; k < p->s->ptr[i + 1]; k++) {
            uint32_t *n = &p->count[i / p->side * p->columns + p->s->ind[k] / p->side];
            if (*n < UINT32_MAX) ++*n;
            if (*n > p->most) p->most = *n;
        }
}

/* Writes runs of squares of one level, or only counts them. */
static int64_t runs(const plot *p, int of, bool write) {
    int64_t n = 0;
    for (int64_t i = 0; i < p->rows; i++)
        for (int64_t j = 0; j < p->columns; j++) {
            const uint32_t *row = p->count + i * p->columns;
            const int64_t begin = j;
            if (level(p, row[j]) != of) continue;
            while (j + 1 < p->columns && level(p, row[j + 1]) == of) j++;
            if (write) (void)fprintf(p->out, "M%" PRId64 " %" PRId64 "h%" PRId64, begin, i, j + 1 - begin);
            n++;
        }
    return n;
}

static void resize(plot *p, int64_t squares) {
    const int64_t longer = p->s->rows > p->s->columns ? p->s->rows : p->s->columns;
    p->side = (longer + squares - 1) / squares;
    if (p->side < 1) p->side = 1;
    p->rows = (p->s->rows + p->side - 1) / p->side;
    p->columns = (p->s->columns + p->side - 1) / p->side;
}

/* As many squares as there is room for. */
static bool choose_squares(plot *p) {
    static const int64_t squares[] = {512, 384, 256, 192, 128};
    for (size_t i = 0; i < sizeof squares / sizeof *squares; i++) {
        int64_t n = 0;
        resize(p, squares[i]);
        if (!p->count) p->count = malloc((size_t)(p->rows * p->columns + 1) * sizeof *p->count);
        if (!p->count) return false;
        count_entries(p);
        for (int l = 1; l <= LEVELS; l++) n += runs(p, l, false);
        if (n * PLACE <= BYTES) break;
    }
    return true;
}

static void put_squares(const plot *p) {
    for (int l = 1; l <= LEVELS; l++) {
        if (!runs(p, l, false)) continue;
        (void)fprintf(p->out, "<path stroke='%s' stroke-opacity='.%d' d='", svg_colour(0), 19 + 10 * l);
        (void)runs(p, l, true);
        (void)fputs("'/>\n", p->out);
    }
}

/* ---- dots ------------------------------------------------------------------------------------------------ */

static bool is_constant(const plot *p, int64_t k) { return p->s->constant && p->s->constant[k]; }

/* Colours behind the first ones: around the circle by the golden angle, each time round darker or lighter. */
static void put_colour(FILE *out, int64_t c) {
    if (c < 0)
        (void)fputs("#555", out);
    else if (c < SVG_COLOURS - 1) /* black is not told from grey */
        (void)fputs(svg_colour((size_t)c), out);
    else
        (void)fprintf(out, "hsl(%" PRId64 ",65%%,%" PRId64 "%%)", c * 137 % 360, 35 + c % 3 * 12);
}

static int64_t put_dots_of(const plot *p, int64_t colour, bool write) {
    int64_t n = 0;
    for (int64_t i = 0; i < p->s->rows; i++)
        for (int64_t k = p->s->ptr[i]; k < p->s->ptr[i + 1]; k++)
            if ((p->s->colour ? p->s->colour[k] : 0) == colour) {
                if (write) (void)fprintf(p->out, "M%" PRId64 " %" PRId64 "h0", p->s->ind[k], i);
                n++;
            }
    return n;
}

static void put_hollows(const plot *p) {
    (void)fputs("<path stroke='#fff' stroke-width='.46' d='", p->out);
    for (int64_t i = 0; i < p->s->rows; i++)
        for (int64_t k = p->s->ptr[i]; k < p->s->ptr[i + 1]; k++)
            if (is_constant(p, k)) (void)fprintf(p->out, "M%" PRId64 " %" PRId64 "h0", p->s->ind[k], i);
    (void)fputs("'/>\n", p->out);
}

static void put_dots(const plot *p) {
    const int64_t colours = p->s->colour ? p->s->colours : 1;
    for (int64_t c = -1; c < colours; c++) {
        if (!put_dots_of(p, c, false)) continue;
        (void)fputs("<path stroke='", p->out);
        put_colour(p->out, c);
        (void)fputs("' d='", p->out);
        (void)put_dots_of(p, c, true);
        (void)fputs("'/>\n", p->out);
    }
    if (p->s->constant) put_hollows(p);
}

static bool dots_fit(const tn_i_spy *s) {
    int64_t places = s->rows ? s->ptr[s->rows] : 0;
    if (s->rows > MOST_DOTS || s->columns > MOST_DOTS) return false;
    for (int64_t k = 0; s->constant && s->rows && k < s->ptr[s->rows]; k++) places += s->constant[k];
    if (s->colour) places += 6 * s->colours; /* a path each */
    return places * PLACE <= BYTES;
}

/* ---- axes and legend ------------------------------------------------------------------------------------ */

static void put_tick(const plot *p, double at, bool across, uint64_t i) {
    const double x = across ? LEFT + at : LEFT, y = across ? TOP : TOP + at;
    svg_line(p->out, x, y, across ? x : x - 5, across ? y - 5 : y, " stroke='#555'");
    svg_begin_text(p->out, across ? x : x - 9, across ? y - 9 : y + 4.5,
                   across ? " text-anchor='middle'" : " text-anchor='end'");
    (void)fprintf(p->out, "%" PRIu64 "</text>\n", i);
}

/* Index i stands in the middle of its row or column. */
static void put_ticks(const plot *p, int64_t n, bool across) {
    const double pixels = p->unit / (double)p->side;
    const int64_t longer = p->s->rows > p->s->columns ? p->s->rows : p->s->columns;
    const uint64_t step = svg_whole_step((double)longer, TICKS);
    for (uint64_t i = 0; i < (uint64_t)n; i += step) put_tick(p, ((double)i + 0.5) * pixels, across, i);
}

static void put_frame(const plot *p) {
    const double cell = p->unit / (double)p->side;
    svg_rect(p->out, LEFT, TOP, cell * (double)p->s->columns, cell * (double)p->s->rows,
             " fill='#fbfbfc' stroke='#555' stroke-width='.8'");
    put_ticks(p, p->s->columns, true);
    put_ticks(p, p->s->rows, false);
    svg_label(p->out, LEFT, TOP - 30, " fill='#555'", "column \xe2\x86\x92");
    (void)fputs("<text fill='#555' text-anchor='end' transform='translate(18 ", p->out);
    svg_number(p->out, TOP);
    (void)fputs(") rotate(-90)'>\xe2\x86\x90 row</text>\n", p->out);
}

static void put_circle(const plot *p, double x, double y, int64_t colour, bool hollow) {
    (void)fputs("<circle", p->out);
    svg_attribute(p->out, "cx", x);
    svg_attribute(p->out, "cy", y);
    (void)fputs(hollow ? " r='4' fill='#fff' stroke-width='2.4' stroke='" : " r='5' fill='", p->out);
    put_colour(p->out, colour);
    (void)fputs("'/>\n", p->out);
}

static void put_dot_legend(const plot *p, double y) {
    double x = LEFT;
    const int64_t colours = p->s->colour ? p->s->colours : 0;
    if (colours) {
        svg_begin_text(p->out, x, y, " fill='#555'");
        (void)fprintf(p->out, "%" PRId64 " colour%s</text>\n", colours, colours > 1 ? "s" : "");
        x += 84;
    }
    for (int64_t c = 0; c < colours && c < SHOWN; c++, x += 16) put_circle(p, x, y - 4.5, c, false);
    if (colours > SHOWN) svg_label(p->out, x, y, "", "\xe2\x80\xa6");
    if (!p->s->constant) return;
    x += colours ? 28 : 6;
    put_circle(p, x, y - 4.5, colours ? -1 : 0, true);
    svg_label(p->out, x + 12, y, " fill='#555'", "constant");
}

static void put_square_legend(const plot *p, double y) {
    for (int l = 1; l <= LEVELS; l++) {
        char fill[64];
        (void)snprintf(fill, sizeof fill, " fill='%s' fill-opacity='.%d'", svg_colour(0), 19 + 10 * l);
        svg_rect(p->out, LEFT + 14 * (l - 1), y - 12, 14, 14, fill);
    }
    svg_begin_text(p->out, LEFT + 14 * LEVELS + 12, y, " fill='#555'");
    (void)fprintf(p->out, "1 to %" PRIu32 " entries in squares of %" PRId64 " x %" PRId64 "</text>\n", p->most, p->side,
                  p->side);
}

/* ---- the whole -------------------------------------------------------------------------------------------- */

static void put_places(const plot *p) {
    (void)fprintf(p->out, "<g fill='none' stroke-width='%s' stroke-linecap='%s'%s transform='translate(",
                  p->dots ? ".86" : "1", p->dots ? "round" : "butt", p->dots ? "" : " shape-rendering='crispEdges'");
    svg_number(p->out, LEFT + (p->dots ? p->unit / 2 : 0)); /* lines are drawn along their middle */
    (void)fputc(' ', p->out);
    svg_number(p->out, TOP + p->unit / 2);
    (void)fputs(") scale(", p->out);
    svg_number(p->out, p->unit);
    (void)fputs(")'>\n", p->out);
    if (p->dots)
        put_dots(p);
    else
        put_squares(p);
    (void)fputs("</g>\n", p->out);
}

/* Pixels of a square, to hundredths, as they are printed. */
static double unit_of(const plot *p) {
    const int64_t longer = p->rows > p->columns ? p->rows : p->columns;
    const double unit = longer ? (double)SIDE / (double)longer : 1;
    return (double)(int64_t)((unit < LARGEST ? unit : LARGEST) * 100) / 100;
}

static void put_head(const plot *p, int width, int height) {
    svg_open(p->out, width, height, 14, p->s->title);
    svg_label(p->out, LEFT, 30, " font-size='19' font-weight='bold'", p->s->title);
    svg_label(p->out, LEFT, 54, "", p->s->note);
}

bool tn_i_svg_spy(FILE *out, const tn_i_spy *s) {
    plot p = {.out = out, .s = s, .side = 1, .dots = dots_fit(s), .rows = s->rows, .columns = s->columns};
    if (!p.dots && !choose_squares(&p)) return false;
    p.unit = unit_of(&p);
    const int wide = (int)(p.unit / (double)p.side * (double)s->columns) + LEFT + RIGHT;
    put_head(&p, wide > NARROWEST ? wide : NARROWEST, (int)(p.unit / (double)p.side * (double)s->rows) + TOP + BOTTOM);
    if (p.dots)
        put_dot_legend(&p, 80);
    else
        put_square_legend(&p, 80);
    put_frame(&p);
    put_places(&p);
    svg_close(out);
    free(p.count);
    return !ferror(out);
}
