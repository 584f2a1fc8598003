/* Numbers are printed as integers and hundredths, so that no locale can change them. */
#include "cli/svg_text.h"

#include <inttypes.h>
#include <stdbool.h>

enum { ROOM = 60 };

const char *const tn_i_svg_colour[TN_I_SVG_COLOURS] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                       "#e69f00", "#56b4e9", "#000000"};

void tn_i_svg_number(FILE *out, double x) {
    const uint64_t k = (uint64_t)(x * 100 + 0.5);
    (void)fprintf(out, "%" PRIu64, k / 100);
    if (k % 10)
        (void)fprintf(out, ".%02" PRIu64, k % 100);
    else if (k % 100)
        (void)fprintf(out, ".%" PRIu64, k % 100 / 10);
}

void tn_i_svg_attribute(FILE *out, const char *name, double x) {
    (void)fprintf(out, " %s='", name);
    tn_i_svg_number(out, x);
    (void)fputc('\'', out);
}

/* Bytes of the character that begins here: 1 to 4, or 0 where the text is not UTF-8. */
static size_t character(const unsigned char *s) {
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
void tn_i_svg_text(FILE *out, const char *text, size_t room) {
    const unsigned char *s = (const unsigned char *)text;
    for (size_t n = 1; *s && room-- > 0; s += n) {
        n = character(s);
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

void tn_i_svg_begin_text(FILE *out, double x, double y, const char *more) {
    (void)fputs("<text", out);
    tn_i_svg_attribute(out, "x", x);
    tn_i_svg_attribute(out, "y", y);
    (void)fprintf(out, "%s>", more);
}

void tn_i_svg_label(FILE *out, double x, double y, const char *more, const char *text) {
    tn_i_svg_begin_text(out, x, y, more);
    tn_i_svg_text(out, text, ROOM);
    (void)fputs("</text>\n", out);
}

void tn_i_svg_line(FILE *out, double x0, double y0, double x1, double y1, const char *more) {
    (void)fputs("<line", out);
    tn_i_svg_attribute(out, "x1", x0);
    tn_i_svg_attribute(out, "y1", y0);
    tn_i_svg_attribute(out, "x2", x1);
    tn_i_svg_attribute(out, "y2", y1);
    (void)fprintf(out, "%s/>\n", more);
}

/* 1, 2 or 5 times a power of ten: the smallest with at most `wanted` steps to x. */
uint64_t tn_i_svg_step(double x, int wanted) {
    for (uint64_t power = 1;; power *= 10)
        for (uint64_t k = 1; k <= 5; k += k == 1 ? 1 : 3)
            if ((double)(k * power) * wanted >= x) return k * power;
}

void tn_i_svg_open(FILE *out, int width, int height, int font, const char *title) {
    (void)fprintf(out,
                  "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %d' width='%d' height='%d' role='img' "
                  "font-family='Helvetica, Arial, sans-serif' font-size='%d' fill='#1a1a1a'>\n<title>",
                  width, height, width, height, font);
    tn_i_svg_text(out, title, SIZE_MAX);
    (void)fprintf(out, "</title>\n<rect width='%d' height='%d' fill='#fff'/>\n", width, height);
}
