/* What drawings are written with: numbers, text and shapes as SVG, the same bytes on every machine and in every locale.
 * The tool and the examples share it; it needs nothing of the library. */
#ifndef TN_CLI_SVG_WRITER_H
#define TN_CLI_SVG_WRITER_H

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Okabe and Ito's colours that stand on white, told apart by the colour-blind. */
enum { SVG_COLOURS = 7 };
static inline const char *svg_colour(size_t k) {
    static const char *const colour[SVG_COLOURS] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                    "#e69f00", "#56b4e9", "#000000"};
    return colour[k % SVG_COLOURS];
}

/* ---- numbers -------------------------------------------------------------------------- */

/* To hundredths, as integers, so that no locale can change them; 0 for what is no number of a drawing. */
static inline void svg_number(FILE *out, double x) {
    const bool drawn = x > -1e12 && x < 1e12;
    const uint64_t k = drawn ? (uint64_t)((x < 0 ? -x : x) * 100 + 0.5) : 0;
    (void)fprintf(out, "%s%" PRIu64, x < 0 && k ? "-" : "", k / 100);
    if (k % 10)
        (void)fprintf(out, ".%02" PRIu64, k % 100);
    else if (k % 100)
        (void)fprintf(out, ".%" PRIu64, k % 100 / 10);
}

/* " name='x'" */
static inline void svg_attribute(FILE *out, const char *name, double x) {
    (void)fprintf(out, " %s='", name);
    svg_number(out, x);
    (void)fputc('\'', out);
}

/* Tenths of a pixel are enough for a curve. */
static inline double svg_tenths(double x) {
    return x > -1e12 && x < 1e12 ? (double)(int64_t)(x * 10 + (x < 0 ? -0.5 : 0.5)) / 10 : 0;
}

/* A command of a path: M, L. */
static inline void svg_point(FILE *out, char command, double x, double y) {
    (void)fputc(command, out);
    svg_number(out, svg_tenths(x));
    (void)fputc(' ', out);
    svg_number(out, svg_tenths(y));
}

/* 1, 2 or 5 times a power of ten: the smallest with at most `wanted` steps to x, above 0. */
static inline double svg_step(double x, int wanted) {
    double power = 1;
    if (!(x > 0) || x > 1e300) return 1;
    while (power * wanted >= x) power /= 10;
    while (power * 10 * wanted < x) power *= 10;
    for (int k = 1; k <= 5; k = k == 1 ? 2 : k + 3)
        if (power * k * wanted >= x) return power * k;
    return power * 10;
}

/* The same in whole numbers, from 1 on. */
static inline uint64_t svg_whole_step(double x, int wanted) {
    const double step = svg_step(x, wanted);
    return step > 1 ? (uint64_t)(step + 0.5) : 1;
}

/* ---- text ----------------------------------------------------------------------------- */

/* Bytes of the character that begins here: 1 to 4, or 0 where the text is not UTF-8. */
static inline size_t svg_character(const unsigned char *s) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const size_t n = s[0] < 0x80 ? 1 : s[0] < 0xC2 ? 0 : s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : s[0] < 0xF5 ? 4 : 0;
    uint32_t code = n < 2 ? s[0] : s[0] & (0x7Fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xC0) != 0x80) return 0;
        code = code << 6 | (s[i] & 0x3F);
    }
    const bool unsaid = (code >= 0xD800 && code < 0xE000) || code == 0xFFFE || code == 0xFFFF || code > 0x10FFFF;
    return n && code >= least[n] && !unsaid ? n : 0;
}

/* At most `room` characters of any text, as XML; '?' for what XML has no way to say. */
static inline void svg_text(FILE *out, const char *text, size_t room) {
    const unsigned char *s = (const unsigned char *)text;
    for (size_t n = 1; *s && room-- > 0; s += n) {
        n = svg_character(s);
        if (n == 0 || *s < 32 || *s == 127)
            (void)fputc('?', out);
        else if (*s == '&' || *s == '<' || *s == '>')
            (void)fputs(*s == '&' ? "&amp;" : *s == '<' ? "&lt;" : "&gt;", out);
        else
            (void)fwrite(s, 1, n, out);
        if (n == 0) n = 1;
    }
    if (*s) (void)fputs("\xe2\x80\xa6", out);
}

/* A text element: begun, with more attributes, or whole, of at most 60 characters. */
static inline void svg_begin_text(FILE *out, double x, double y, const char *more) {
    (void)fputs("<text", out);
    svg_attribute(out, "x", x);
    svg_attribute(out, "y", y);
    (void)fprintf(out, "%s>", more);
}

static inline void svg_label(FILE *out, double x, double y, const char *more, const char *text) {
    svg_begin_text(out, x, y, more);
    svg_text(out, text, 60);
    (void)fputs("</text>\n", out);
}

/* ---- shapes: with more attributes ------------------------------------------------------- */

static inline void svg_line(FILE *out, double x0, double y0, double x1, double y1, const char *more) {
    (void)fputs("<line", out);
    svg_attribute(out, "x1", x0);
    svg_attribute(out, "y1", y0);
    svg_attribute(out, "x2", x1);
    svg_attribute(out, "y2", y1);
    (void)fprintf(out, "%s/>\n", more);
}

static inline void svg_rect(FILE *out, double x, double y, double width, double height, const char *more) {
    (void)fputs("<rect", out);
    svg_attribute(out, "x", x);
    svg_attribute(out, "y", y);
    svg_attribute(out, "width", width);
    svg_attribute(out, "height", height);
    (void)fprintf(out, "%s/>\n", more);
}

static inline void svg_circle(FILE *out, double x, double y, double r, const char *more) {
    (void)fputs("<circle", out);
    svg_attribute(out, "cx", x);
    svg_attribute(out, "cy", y);
    svg_attribute(out, "r", r);
    (void)fprintf(out, "%s/>\n", more);
}

/* ---- the whole ------------------------------------------------------------------------ */

/* A drawing within the drawing, which ends at its border. */
static inline void svg_begin_window(FILE *out, double x, double y, double width, double height) {
    (void)fputs("<svg", out);
    svg_attribute(out, "x", x);
    svg_attribute(out, "y", y);
    svg_attribute(out, "width", width);
    svg_attribute(out, "height", height);
    (void)fputs(" viewBox='", out);
    svg_number(out, x);
    (void)fputc(' ', out);
    svg_number(out, y);
    (void)fputc(' ', out);
    svg_number(out, width);
    (void)fputc(' ', out);
    svg_number(out, height);
    (void)fputs("'>\n", out);
}

/* A drawing within a page of HTML, stretched to the place that the page's style gives its class. */
static inline void svg_open_scaled(FILE *out, int width, int height, const char *class_name) {
    (void)fprintf(out, "<svg class='%s' viewBox='0 0 %d %d' preserveAspectRatio='none' aria-hidden='true'>\n",
                  class_name, width, height);
}

/* The end of a drawing, or of one within. */
static inline void svg_close(FILE *out) { (void)fputs("</svg>\n", out); }

/* The head of a drawing: its size, its title and a white ground. */
static inline void svg_open(FILE *out, int width, int height, int font, const char *title) {
    (void)fprintf(out,
                  "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %d' width='%d' height='%d' role='img' "
                  "font-family='Helvetica, Arial, sans-serif' font-size='%d' fill='#1a1a1a'>\n<title>",
                  width, height, width, height, font);
    svg_text(out, title, SIZE_MAX);
    (void)fprintf(out, "</title>\n<rect width='%d' height='%d' fill='#fff'/>\n", width, height);
}

#endif
