/* The memory report: a page that needs nothing else, with a drawing of each arena and the data behind it.  What lies
 * under a pointer is found in the data, so that ranges too small to be seen are told as well. */
#include "cli/memory_plan.h"
#include "cli/memory_script.h"
#include "cli/svg.h"
#include "cli/svg_writer.h"

#include <stdlib.h>

enum { WIDTH = 1000, HEIGHT = 400, LIVE = 100, MOST_DRAWN = 5000, TICKS = 5 };

typedef struct page {
    FILE *out;
    double top; /* bytes at the upper edge of all drawings */
} page;

/* ---- drawings ------------------------------------------------------------------------- */

static double x_of(const tn_i_memory_plan *a, size_t step) {
    return WIDTH * (double)step / (double)tn_i_memory_steps(a);
}

static double y_of(const page *p, double bytes) { return HEIGHT * (1 - bytes / p->top); }

static const char *look_of(const tn_i_memory_plan *a, const tn_i_live_range *r) {
    if (r->kind == TN_I_LIVE_SNAPSHOTS) return " class='range snapshots'";
    if (r->kind != TN_I_LIVE_VALUES) return " class='range working'";
    if (r->first >= a->backward) return " class='range backward'";
    return r->last >= a->backward ? " class='range saved'" : " class='range forward'";
}

static double area(const tn_i_live_range *r) { return (double)r->room * ((double)(r->last - r->first) + 1); }

static int larger(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* The area from which on a range is drawn, so that about MOST_DRAWN are; false without memory. */
static bool least_drawn(const tn_i_live *l, double *least) {
    *least = 0;
    if (l->nrange <= MOST_DRAWN) return true;
    double *all = malloc(l->nrange * sizeof *all);
    if (!all) return false;
    for (size_t k = 0; k < l->nrange; k++) all[k] = area(&l->range[k]);
    qsort(all, l->nrange, sizeof *all, larger);
    *least = all[MOST_DRAWN - 1];
    free(all);
    return true;
}

static void put_ground(const page *p, const tn_i_memory_plan *a, double height) {
    const double middle = x_of(a, a->backward < tn_i_memory_steps(a) ? a->backward : tn_i_memory_steps(a));
    svg_rect(p->out, 0, 0, middle, height, " fill='#f1f4f8'");
    svg_rect(p->out, middle, 0, WIDTH - middle, height, " fill='#fbf8f2'");
    svg_line(p->out, middle, 0, middle, height, " stroke='#222' stroke-width='1.5'");
}

/* The step at which most is alive. */
static void put_peak(const page *p, const tn_i_memory_plan *a, double height) {
    const double x = (x_of(a, a->live.at) + x_of(a, a->live.at + 1)) / 2;
    if (a->live.most) svg_line(p->out, x, 0, x, height, " stroke='#d55e00' stroke-dasharray='5 4'");
}

static double tick(const page *p, double *unit, const char **name) {
    *unit = tn_i_svg_unit(p->top, name);
    return *unit > 1 ? svg_step(p->top / *unit, TICKS) : (double)svg_whole_step(p->top, TICKS);
}

static void put_arena(const page *p, const tn_i_memory_plan *a, double least) {
    const char *name;
    double unit;
    const double step = tick(p, &unit, &name);
    svg_open_scaled(p->out, WIDTH, HEIGHT, "arena");
    put_ground(p, a, HEIGHT);
    for (int k = 1; k * step * unit < p->top; k++)
        svg_line(p->out, 0, y_of(p, k * step * unit), WIDTH, y_of(p, k * step * unit), " stroke='#ccd1d9'");
    for (size_t k = 0; k < a->live.nrange; k++) {
        const tn_i_live_range *r = &a->live.range[k];
        const double x = x_of(a, r->first), y = y_of(p, (double)r->offset + (double)r->room);
        if (area(r) < least) continue;
        svg_rect(p->out, x, y, x_of(a, (size_t)r->last + 1) - x, HEIGHT * (double)r->room / p->top, look_of(a, r));
    }
    const double y = y_of(p, (double)a->plan->bytes);
    svg_line(p->out, 0, y, WIDTH, y, " stroke='#1a1a1a' stroke-dasharray='2 4'");
    put_peak(p, a, HEIGHT);
    svg_rect(p->out, 0, 0, 0, 0, " class='on'");
    svg_close(p->out);
}

/* Bytes alive, a step as wide as above it. */
static void put_live(const page *p, const tn_i_memory_plan *a) {
    const size_t n = tn_i_memory_steps(a);
    svg_open_scaled(p->out, WIDTH, LIVE, "live");
    put_ground(p, a, LIVE);
    (void)fprintf(p->out, "<path d='M0 %d", LIVE);
    for (size_t i = 0; i < n; i++) {
        (void)fputc('V', p->out);
        svg_number(p->out, LIVE * (1 - (double)tn_i_live_bytes(&a->live.step[i]) / p->top));
        (void)fputc('H', p->out);
        svg_number(p->out, x_of(a, i + 1));
    }
    (void)fprintf(p->out, "V%dz'/>\n", LIVE);
    put_peak(p, a, LIVE);
    svg_close(p->out);
}

/* Ticks stand beside the arena, which has all but LIVE's share of the height: their places are its per cent. */
static void put_ticks(const page *p) {
    const char *name;
    double unit;
    const double step = tick(p, &unit, &name);
    (void)fputs("<div class='y'>", p->out);
    for (int k = 0; k * step * unit <= p->top * 0.97; k++) {
        (void)fputs("<span style='bottom:", p->out);
        svg_number(p->out, 100 * k * step * unit / p->top);
        (void)fputs("%'>", p->out);
        svg_number(p->out, k * step);
        (void)fprintf(p->out, " %s</span>", name);
    }
    (void)fputs("</div>\n", p->out);
}

/* ---- text ------------------------------------------------------------------------------- */

static void put_place(FILE *out, const tn_i_loc *at) {
    if (!at || !at->line) return;
    (void)fputs(" (", out);
    svg_text(out, at->file, SIZE_MAX);
    (void)fprintf(out, ":%u)", (unsigned)at->line);
}

static void put_peak_text(FILE *out, const tn_i_memory_plan *a) {
    const tn_fn *f = a->plan->f;
    const tn_i_eqn *e = a->live.at < f->neqn ? &f->eqn[a->live.at] : NULL;
    (void)fputs("<p>Arena ", out);
    tn_i_svg_bytes(out, a->plan->bytes);
    (void)fputs("; most alive ", out);
    tn_i_svg_bytes(out, a->live.most);
    if (a->live.most) (void)fprintf(out, ", in step %zu: %s", a->live.at, e ? e->prim->name : "results");
    if (a->live.most && e) put_place(out, e->loc);
    (void)fputs("; kept for the backward part ", out);
    tn_i_svg_bytes(out, a->live.step[a->backward].kept);
    (void)fputs(".</p>\n", out);
}

static void put_figure(const page *p, const tn_i_memory_plan *a, size_t k, double least) {
    static const char *const key[][2] = {{"ArrowLeft", "\xe2\x86\x90"},
                                         {"ArrowRight", "\xe2\x86\x92"},
                                         {"ArrowUp", "\xe2\x86\x91"},
                                         {"ArrowDown", "\xe2\x86\x93"},
                                         {"p", "peak"},
                                         {"+", "+"},
                                         {"-", "\xe2\x88\x92"},
                                         {"0", "whole"}};
    static const char *const said[] = {"the step before",     "the next step", "the range above",
                                       "the range below",     "the peak",      "fewer steps, larger",
                                       "more steps, smaller", "all steps"};
    (void)fprintf(p->out, "<div class='figure'>\n<div class='halves'><b class='ahead'>\xe2\x86\x90 forward</b>"
                          "<b class='behind'>backward \xe2\x86\x92</b></div>\n<div class='axis'>");
    put_ticks(p);
    (void)fprintf(
        p->out,
        "</div>\n<div class='plot' tabindex='0' role='application' data-top='%.0f' aria-labelledby='policy%zu' "
        "aria-describedby='keys'>\n",
        p->top, k);
    put_arena(p, a, least);
    put_live(p, a);
    (void)fputs(
        "<div class='cursor'></div>\n</div>\n<div class='x'><span class='from'></span>"
        "<span class='to'></span></div>\n<div class='peak'><b>\xe2\x96\xb2 peak</b></div>\n</div>\n<div class='keys'>",
        p->out);
    for (size_t i = 0; i < sizeof key / sizeof *key; i++)
        (void)fprintf(p->out, "<button type='button' data-key='%s' aria-label='%s'>%s</button>", key[i][0], said[i],
                      key[i][1]);
    (void)fputs("</div>\n<output aria-live='polite'></output>\n<details open><summary></summary>\n"
                "<div class='scroll' tabindex='0'><table><thead><tr><th class='n'>bytes</th><th class='n'>address</th>"
                "<th>type</th><th>primitive</th><th>at</th><th>steps</th><th>why</th></tr></thead><tbody></tbody>"
                "</table></div></details>\n",
                p->out);
}

static bool put_policy(const page *p, const tn_i_memory_plan *a, size_t k) {
    double least;
    size_t left = 0;
    if (!least_drawn(&a->live, &least)) return false;
    (void)fprintf(p->out, "<section>\n<h2 id='policy%zu'>", k);
    svg_text(p->out, a->policy, SIZE_MAX);
    (void)fputs("</h2>\n", p->out);
    put_peak_text(p->out, a);
    for (size_t i = 0; i < a->live.nrange; i++) left += area(&a->live.range[i]) < least;
    if (left)
        (void)fprintf(p->out, "<p>%zu of %zu ranges, the smallest, are not drawn; the pointer finds them.</p>\n", left,
                      a->live.nrange);
    if (tn_i_memory_steps(a))
        put_figure(p, a, k, least);
    else
        (void)fputs("<p>It has no steps.</p>\n", p->out);
    (void)fputs("</section>\n", p->out);
    return true;
}

static void put_table(FILE *out, size_t n, const tn_i_memory_plan *a) {
    (void)fputs("<div class='scroll' tabindex='0'><table><thead><tr><th>policy</th><th class='n'>arena</th>"
                "<th class='n'>most alive</th><th class='n'>kept</th><th class='n'>forward steps</th>"
                "<th class='n'>backward steps</th></tr></thead><tbody>\n",
                out);
    for (size_t k = 0; k < n; k++) {
        const size_t bytes[] = {a[k].plan->bytes, a[k].live.most, a[k].live.step[a[k].backward].kept};
        (void)fprintf(out, "<tr><td><a href='#policy%zu'>", k);
        svg_text(out, a[k].policy, SIZE_MAX);
        (void)fputs("</a></td>", out);
        for (int i = 0; i < 3; i++) {
            (void)fputs("<td class='n'>", out);
            tn_i_svg_bytes(out, bytes[i]);
            (void)fputs("</td>", out);
        }
        (void)fprintf(out, "<td class='n'>%u</td><td class='n'>%zu</td></tr>\n", (unsigned)a[k].backward,
                      a[k].live.n - 1 - a[k].backward);
    }
    (void)fputs("</tbody></table></div>\n", out);
}

static void put_head(FILE *out, const char *title) {
    (void)fputs("<!DOCTYPE html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n"
                "<meta name='viewport' content='width=device-width, initial-scale=1'>\n<title>",
                out);
    svg_text(out, title, SIZE_MAX);
    (void)fprintf(out, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<h1>", page_style);
    svg_text(out, title, SIZE_MAX);
    (void)fputs(
        "</h1>\n<p>The arena of each policy, as it is planned: addresses upwards, steps to the right; below it "
        "the bytes "
        "that are alive. The dotted line is the arena's end, the dashed one where most is alive.</p>\n"
        "<p class='key'><span><i class='saved'></i>kept for the backward part</span> <span><i "
        "class='forward'></i>forward</span> "
        "<span><i class='backward'></i>backward</span> <span><i class='snapshots'></i>snapshots of loops</span> "
        "<span><i class='working'></i>scratch and copies</span></p>\n"
        "<p id='keys'>In a drawing <kbd>\xe2\x86\x90</kbd> <kbd>\xe2\x86\x92</kbd> go to other steps (with "
        "<kbd>Shift</kbd> "
        "by ten), <kbd>\xe2\x86\x91</kbd> <kbd>\xe2\x86\x93</kbd> to other ranges, <kbd>Home</kbd> "
        "<kbd>End</kbd> to the "
        "first and the last step, <kbd>p</kbd> to the peak; <kbd>+</kbd> <kbd>-</kbd> <kbd>0</kbd> show fewer, "
        "more and "
        "all steps.</p>\n<noscript><p>Without scripts the drawings stand still.</p></noscript>\n",
        out);
}

/* JSON within a page: no text in it can end the element. */
static void put_data(FILE *out, const char *text) {
    (void)fputs("<script type='application/json' id='data'>\n", out);
    for (; *text; text++)
        if (*text == '<')
            (void)fputs("\\u003c", out);
        else
            (void)fputc(*text, out);
    (void)fputs("</script>\n", out);
}

static bool put_scripts(FILE *out, const char *title, size_t n, const tn_i_memory_plan *a) {
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    bool ok = memory && tn_i_memory_json(memory, title, n, a);
    if (memory) ok &= fclose(memory) == 0;
    if (ok) {
        put_data(out, text);
        (void)fprintf(out, "<script>\n%s%s%s</script>\n", page_words, page_plot, page_look);
    }
    free(text);
    return ok;
}

bool tn_i_memory_page(FILE *out, const char *title, size_t n, const tn_i_memory_plan *a) {
    page p = {.out = out, .top = 1};
    bool ok = true;
    for (size_t k = 0; k < n; k++)
        if ((double)a[k].plan->bytes * 1.02 > p.top) p.top = (double)a[k].plan->bytes * 1.02;
    put_head(out, title);
    put_table(out, n, a);
    for (size_t k = 0; ok && k < n; k++) ok = put_policy(&p, &a[k], k);
    ok = ok && put_scripts(out, title, n, a);
    (void)fputs("</body>\n</html>\n", out);
    return ok && !ferror(out);
}
