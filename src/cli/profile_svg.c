/* A profile as a flame graph that hangs down: a bar for each step, as wide as the time it took, below the step that ran
 * it. */
#include "cli/svg.h"
#include "cli/svg_writer.h"

#include <string.h>

enum { WIDTH = 960, LEFT = 24, RIGHT = 936, HEAD = 84, ROW = 26, FOOT = 24, DEEPEST = 256, LETTER = 8 };
static const double SHOWN = 0.3; /* pixels: narrower bars are left out */

/* Who runs a step has a colour. */
static const char *const runner[] = {"native", "strips", "library", "assembler", "reference"};
enum { RUNNERS = sizeof runner / sizeof *runner };

static const char *colour_of(const char *name) {
    for (int k = 0; k < RUNNERS; k++)
        if (strcmp(runner[k], name) == 0) return svg_colour((size_t)k);
    return "#777777";
}

static void put_bar(FILE *out, double x, double y, double width, const char *colour, const char *label,
                    const char *all) {
    char look[96];
    (void)fputs("<g><title>", out);
    svg_text(out, all, SIZE_MAX);
    (void)fputs("</title>", out);
    (void)snprintf(look, sizeof look, " fill='%s' fill-opacity='0.35' stroke='#fff' stroke-width='0.5'", colour);
    svg_rect(out, x, y, width, ROW - 2, look);
    if (width > 3 * LETTER) {
        svg_begin_text(out, x + 5, y + 17, "");
        svg_text(out, label, (size_t)(width / LETTER) - 1);
        (void)fputs("</text>", out);
    }
    (void)fputs("</g>\n", out);
}

static void put_legend(FILE *out, size_t n, const tn_i_flame *bar) {
    double x = LEFT;
    for (int k = 0; k < RUNNERS; k++) {
        bool any = false;
        for (size_t i = 0; i < n; i++) any |= strcmp(bar[i].runner, runner[k]) == 0;
        if (!any) continue;
        char look[64];
        (void)snprintf(look, sizeof look, " fill='%s' fill-opacity='0.35'", colour_of(runner[k]));
        svg_rect(out, x, 52, 14, 14, look);
        svg_label(out, x + 20, 64, " fill='#555'", runner[k]);
        x += 50 + LETTER * (double)strlen(runner[k]);
    }
}

/* Each bar begins where the one beside it ends, the first where the one above it begins. */
static void put_bars(FILE *out, double ns, size_t n, const tn_i_flame *bar) {
    double at[DEEPEST + 2] = {LEFT, LEFT};
    for (size_t i = 0; i < n; i++) {
        const int d = bar[i].depth + 1;
        if (d > DEEPEST) continue;
        const double x = at[d], width = ns > 0 ? (RIGHT - LEFT) * bar[i].ns / ns : 0;
        at[d] += width;
        at[d + 1] = x;
        if (width >= SHOWN)
            put_bar(out, x, HEAD + ROW * (double)d, width, colour_of(bar[i].runner), bar[i].label, bar[i].all);
    }
}

bool tn_i_svg_flames(FILE *out, const char *title, const char *whole, double ns, size_t n, const tn_i_flame *bar) {
    int deepest = 0;
    for (size_t i = 0; i < n; i++)
        if (bar[i].depth + 1 > deepest && bar[i].depth < DEEPEST) deepest = bar[i].depth + 1;
    const int height = HEAD + ROW * (deepest + 1) + FOOT;
    svg_open(out, WIDTH, height, 13, title);
    svg_label(out, LEFT, 34, " font-size='19' font-weight='bold'", title);
    put_legend(out, n, bar);
    put_bar(out, LEFT, HEAD, RIGHT - LEFT, "#777777", whole, whole);
    put_bars(out, ns, n, bar);
    svg_close(out);
    return !ferror(out);
}
