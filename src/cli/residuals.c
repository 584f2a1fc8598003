/* residuals, policies: what derivatives keep and recompute, as tables or JSON. */
#include "base/base.h"
#include "cli/cli.h"
#include "cli/json.h"

#include <stdlib.h>
#include <string.h>

/* ---- pieces ----------------------------------------------------------------------------------- */

static void json_text(const char *name, const char *text) {
    (void)printf("\"%s\": ", name);
    tn_i_json_text(stdout, text);
}

static void json_number(const char *name, double x) { (void)printf("\"%s\": %.17g", name, x); }

static void type_text(char *buf, size_t n, const tn_type *t) {
    size_t at = (size_t)snprintf(buf, n, "%s[", tn_i_dtype_name(t->dtype));
    for (int i = 0; i < t->rank; i++) /* `?`: as long as its loop; the bytes are those of one step */
        at += t->dim[i] < 0 ? (size_t)snprintf(buf + at, n - at, "%s?", i ? "," : "")
                            : (size_t)snprintf(buf + at, n - at, "%s%lld", i ? "," : "", (long long)t->dim[i]);
    (void)snprintf(buf + at, n - at, "]");
}

/* "file:line scope", what is known of it. */
static void place_text(char *buf, size_t n, const char *file, int line, const char *scope) {
    buf[0] = 0;
    if (file[0]) (void)snprintf(buf, n, "%s:%d%s%s", file, line, scope[0] ? " " : "", scope);
}

/* Totals by name, in the order they are shown. */
typedef struct total {
    const char *name;
    double value;
} total;

enum { TOTALS = 13 };

static void totals_of(const tn_residual_totals *t, total out[TOTALS]) {
    const total all[TOTALS] = {{"residual_bytes", t->residual_bytes},
                               {"offloaded_bytes", t->offloaded_bytes},
                               {"recomputed_flops", t->recomputed_flops},
                               {"recomputed_transcendentals", t->recomputed_transcendentals},
                               {"behind_flops", t->behind_flops},
                               {"behind_transcendentals", t->behind_transcendentals},
                               {"peak_forward_bytes", t->peak_forward_bytes},
                               {"peak_backward_bytes", t->peak_backward_bytes},
                               {"peak_bytes", t->peak_bytes},
                               {"equations", t->equations},
                               {"flops", t->flops},
                               {"transcendentals", t->transcendentals},
                               {"modelled_ns", t->modelled_ns}};
    memcpy(out, all, sizeof all);
}

static void json_totals(const tn_residual_totals *t) {
    total all[TOTALS];
    totals_of(t, all);
    for (int i = 0; i < TOTALS; i++) {
        if (i) (void)printf(", ");
        json_number(all[i].name, all[i].value);
    }
}

/* ---- residuals ----------------------------------------------------------------------------------- */

enum { CELL = 320, COLUMNS = 10 };
typedef char cells[COLUMNS][CELL];

static const cells heading = {"bytes",      "type",      "verdict", "made by",         "at",
                              "read first", "reader at", "flops",   "transcendentals", "rule"};
static const bool right[COLUMNS] = {true, false, false, false, false, false, false, true, true, false};

static void row_text(const tn_residual *r, cells c) {
    (void)snprintf(c[0], CELL, "%zu", r->bytes);
    type_text(c[1], CELL, &r->type);
    (void)snprintf(c[2], CELL, "%s", tn_residual_verdict_text(r->verdict));
    if (r->input >= 0)
        (void)snprintf(c[3], CELL, "input %d", r->input);
    else
        (void)snprintf(c[3], CELL, "%s", r->primitive);
    place_text(c[4], CELL, r->file, r->line, r->scope);
    (void)snprintf(c[5], CELL, "%s", r->reader);
    place_text(c[6], CELL, r->reader_file, r->reader_line, "");
    (void)snprintf(c[7], CELL, "%.6g", r->flops * r->times);
    (void)snprintf(c[8], CELL, "%.6g", r->transcendentals * r->times);
    (void)snprintf(c[9], CELL, "%s", r->rule);
}

static void widen(const cells c, int width[COLUMNS]) {
    for (int k = 0; k < COLUMNS; k++)
        if ((int)strlen(c[k]) > width[k]) width[k] = (int)strlen(c[k]);
}

static void print_row(const cells c, const int width[COLUMNS]) {
    for (int k = 0; k < COLUMNS; k++) {
        const bool last = k + 1 == COLUMNS;
        (void)printf("%s%*s", k ? "  " : "", last ? 0 : right[k] ? width[k] : -width[k], c[k]);
    }
    (void)putchar('\n');
}

static void print_table(const tn_residuals *r) {
    int width[COLUMNS] = {0};
    cells c;
    widen(heading, width);
    for (size_t i = 0; i < tn_residuals_count(r); i++) {
        row_text(tn_residuals_at(r, i), c);
        widen((const char(*)[CELL])c, width);
    }
    print_row(heading, width);
    for (size_t i = 0; i < tn_residuals_count(r); i++) {
        row_text(tn_residuals_at(r, i), c);
        print_row((const char(*)[CELL])c, width);
    }
}

static void print_totals(const tn_residual_totals *t) {
    total all[TOTALS];
    totals_of(t, all);
    (void)printf("\n%-28s%s\n", "policy", t->policy);
    if (t->schedules[0]) (void)printf("%-28s%s\n", "schedules", t->schedules);
    for (int i = 0; i < TOTALS; i++) (void)printf("%-28s%.17g\n", all[i].name, all[i].value);
}

static void json_row(const tn_residual *r) {
    char type[CELL];
    type_text(type, sizeof type, &r->type);
    const struct {
        const char *name, *text;
    } texts[] = {{"type", type},
                 {"verdict", tn_residual_verdict_text(r->verdict)},
                 {"primitive", r->primitive},
                 {"file", r->file},
                 {"scope", r->scope},
                 {"reader", r->reader},
                 {"reader_file", r->reader_file},
                 {"rule", r->rule}};
    const total numbers[] = {{"bytes", (double)r->bytes},
                             {"line", r->line},
                             {"reader_line", r->reader_line},
                             {"flops", r->flops},
                             {"transcendentals", r->transcendentals},
                             {"ns", r->ns},
                             {"times", r->times}};
    (void)printf("{");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        json_text(texts[i].name, texts[i].text);
        (void)printf(", ");
    }
    if (r->input >= 0) (void)printf("\"input\": %d, ", r->input);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (i) (void)printf(", ");
        json_number(numbers[i].name, numbers[i].value);
    }
    (void)printf("}");
}

static void print_json(const tn_residuals *r, const tn_residual_totals *t) {
    (void)printf("{");
    json_text("policy", t->policy);
    if (t->schedules[0]) {
        (void)printf(", ");
        json_text("schedules", t->schedules);
    }
    (void)printf(", \"residuals\": [");
    for (size_t i = 0; i < tn_residuals_count(r); i++) {
        if (i) (void)printf(", ");
        json_row(tn_residuals_at(r, i));
    }
    (void)printf("], \"totals\": {");
    json_totals(t);
    (void)printf("}}\n");
}

int tn_i_cli_residuals(const tn_i_cli *o, tn_fn *f) {
    const tn_wrt_list list = {o->nwrt, o->wrt};
    const tn_policy named = {.size = sizeof named, .name = o->policy};
    tn_residuals *r = tn_saved_residuals(f, o->wrt ? &list : NULL, o->policy ? &named : NULL);
    tn_residual_totals t = {.size = sizeof t};
    if (!r || tn_residuals_total(r, &t) != TN_OK) return tn_i_cli_bad(o, tn_fn_ctx(f));
    if (o->json) {
        print_json(r, &t);
    } else {
        print_table(r);
        print_totals(&t);
    }
    tn_residuals_free(r);
    return o->svg ? tn_i_cli_draw_memory(o, f, 1, (const char *const[]){o->policy ? o->policy : "min_cut"}) : TN_CLI_OK;
}

/* ---- policies ------------------------------------------------------------------------------------- */

enum { NAME = 64, BUDGETS = 9, MOST = 256 };

typedef struct line {
    char policy[NAME], error[CELL];
    tn_residual_totals t;
    bool ok, front;
} line;

static void measure(const tn_i_cli *o, const tn_fn *f, const char *policy, line *l) {
    const tn_wrt_list list = {o->nwrt, o->wrt};
    const tn_policy named = {.size = sizeof named, .name = policy};
    tn_residuals *r = tn_saved_residuals(f, o->wrt ? &list : NULL, &named);
    *l = (line){.t.size = sizeof l->t};
    (void)snprintf(l->policy, NAME, "%s", policy);
    l->ok = r && tn_residuals_total(r, &l->t) == TN_OK;
    if (!l->ok) (void)snprintf(l->error, CELL, "%s", tn_error(tn_fn_ctx(f)));
    tn_residuals_free(r);
}

/* Budgets from half the least peak that a policy of the table reaches to the greatest. */
static size_t sweep(const tn_i_cli *o, const tn_fn *f, line *l, size_t n) {
    double least = 0, greatest = 0;
    bool any = false;
    for (size_t i = 0; tn_policy_at(i, NULL); i++) any |= strcmp(tn_policy_at(i, NULL)->name, "memory_budget") == 0;
    if (!any) {
        (void)fprintf(stderr, "tansy: there is no policy memory_budget: --pareto sweeps no budgets\n");
        return n;
    }
    any = false;
    for (size_t i = 0; i < n; i++) {
        if (!l[i].ok) continue;
        const double peak = l[i].t.peak_bytes;
        if (!any || peak < least) least = peak;
        if (!any || peak > greatest) greatest = peak;
        any = true;
    }
    double before = -1;
    for (int k = 0; k < BUDGETS && any && n < MOST; k++) {
        char policy[NAME];
        const double budget = (double)(int64_t)(least / 2 + (greatest - least / 2) * k / (BUDGETS - 1));
        if (budget == before) continue;
        (void)snprintf(policy, NAME, "memory_budget:%.0f", before = budget);
        measure(o, f, policy, &l[n++]);
    }
    return n;
}

static bool better(const tn_residual_totals *a, const tn_residual_totals *b) {
    return a->peak_bytes <= b->peak_bytes && a->modelled_ns <= b->modelled_ns &&
           (a->peak_bytes < b->peak_bytes || a->modelled_ns < b->modelled_ns);
}

static void mark_front(line *l, size_t n) {
    for (size_t i = 0; i < n; i++) {
        l[i].front = l[i].ok;
        for (size_t j = 0; j < n; j++) l[i].front &= !(l[j].ok && better(&l[j].t, &l[i].t));
    }
}

static void print_line(const tn_i_cli *o, const line *l, int width) {
    if (o->json) {
        (void)printf("{");
        json_text("policy", l->policy);
        (void)printf(", ");
        if (l->ok)
            json_totals(&l->t);
        else
            json_text("error", l->error);
        if (o->pareto && l->ok) (void)printf(", \"front\": %s", l->front ? "true" : "false");
        (void)printf("}\n");
        return;
    }
    const tn_residual_totals *t = &l->t;
    if (o->pareto) (void)printf("%c ", l->front ? '*' : ' ');
    if (l->ok)
        (void)printf("%-*s  %14.0f  %16.6g  %15.6g  %12.0f  %12.6g\n", width, l->policy, t->residual_bytes,
                     t->recomputed_flops, t->recomputed_transcendentals, t->peak_bytes, t->modelled_ns / 1000);
    else
        (void)printf("%-*s  %s\n", width, l->policy, l->error);
}

int tn_i_cli_policies(const tn_i_cli *o, tn_fn *f) {
    const tn_policy *p;
    bool arguments, any = false;
    int width = 0;
    size_t n = 0;
    line *l = calloc(MOST, sizeof *l);
    if (!l) return tn_i_cli_usage("out of memory");
    for (size_t i = 0; (p = tn_policy_at(i, &arguments)) && n < MOST; i++)
        if (!arguments) measure(o, f, p->name, &l[n++]);
    for (size_t i = 0; i < n; i++) any |= l[i].ok;
    if (!any) { /* the fault is the program's, the same for all */
        free(l);
        return tn_i_cli_bad(o, tn_fn_ctx(f));
    }
    if (o->pareto) n = sweep(o, f, l, n);
    mark_front(l, n);
    for (size_t i = 0; i < n; i++)
        if ((int)strlen(l[i].policy) > width) width = (int)strlen(l[i].policy);
    if (!o->json)
        (void)printf("%s%-*s  %14s  %16s  %15s  %12s  %12s\n", o->pareto ? "  " : "", width, "policy", "residual bytes",
                     "recomputed flops", "transcendentals", "peak bytes", "modelled us");
    for (size_t i = 0; i < n; i++) print_line(o, &l[i], width);
    free(l);
    static const char *const drawn[] = {"everything_saveable", "dots_saveable", "min_cut", "nothing_saveable"};
    return o->svg ? tn_i_cli_draw_memory(o, f, sizeof drawn / sizeof *drawn, drawn) : TN_CLI_OK;
}
