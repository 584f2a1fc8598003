/* memory: what is alive in the arena of a vjp, under one policy or several: in figures, drawn, as JSON or as a page. */
#include "cli/memory_plan.h"
#include "cli/cli.h"
#include "cli/svg.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- the policies asked for ------------------------------------------------------ */

/* Whether text[0..n) begins a policy rather than going on with the arguments of the one before. */
static bool names_policy(const char *text, size_t n) {
    const char *colon = memchr(text, ':', n);
    const tn_policy *p;
    if (colon) n = (size_t)(colon - text);
    for (size_t i = 0; (p = tn_policy_at(i, NULL)) != NULL; i++)
        if (strlen(p->name) == n && memcmp(p->name, text, n) == 0) return true;
    return false;
}

/* Cuts "min_cut,save_only_these_names:a,b" into its policies, in place; returns how many. */
static size_t cut_policies(char *text, const char **policy) {
    size_t n = 0;
    policy[n++] = text;
    for (char *s = strchr(text, ','); s; s = strchr(s, ',')) {
        char *comma = s++;
        const bool arguments = memchr(policy[n - 1], ':', (size_t)(comma - policy[n - 1])) != NULL;
        if (arguments && !names_policy(s, strcspn(s, ","))) continue;
        *comma = 0;
        policy[n++] = s;
    }
    return n;
}

/* ---- profiles ----------------------------------------------------------------------- */

/* What is drawn and told of an arena. */
static bool take_line(const tn_i_memory_plan *a, tn_i_memory_line *line) {
    const tn_i_live *l = &a->live;
    size_t *bytes = malloc(l->n * sizeof *bytes);
    if (!bytes) return tn_i_cli_usage("out of memory") == TN_CLI_OK;
    for (size_t i = 0; i < l->n; i++) bytes[i] = tn_i_live_bytes(&l->step[i]);
    *line = (tn_i_memory_line){.name = a->policy,
                               .bytes = bytes,
                               .n = tn_i_memory_steps(a),
                               .equations = l->n - 1,
                               .backward = a->backward,
                               .kept = l->step[a->backward].kept,
                               .peak = a->plan->bytes};
    return true;
}

/* Of f's vjp under one policy. */
static bool plan(const tn_i_cli *o, const tn_fn *f, const char *text, tn_i_memory_plan *a) {
    const tn_wrt_list list = {o->nwrt, o->wrt};
    const tn_policy policy = {.size = sizeof policy, .name = text};
    const bool ok = tn_i_memory_planned(f, o->wrt ? &list : NULL, &policy, a);
    a->policy = text;
    if (ok) return true;
    (void)tn_i_cli_bad(o, tn_fn_ctx(f));
    tn_i_memory_drop(tn_fn_ctx(f), a);
    return false;
}

/* ---- what is shown --------------------------------------------------------------------- */

static void title_of(const tn_i_cli *o, char *title, size_t n) {
    const char *slash = strrchr(o->file, '/'), *file = slash ? slash + 1 : o->file;
    (void)snprintf(title, n, "Live bytes of %s and its derivative", strcmp(o->file, "-") == 0 ? "a program" : file);
}

/* Of n policies. */
typedef struct report {
    size_t n;
    tn_i_memory_plan *arena;
    tn_i_memory_line *line;
    char title[512];
} report;

static bool draw(FILE *out, const report *r) { return tn_i_svg_memory(out, r->title, r->n, r->line); }

static bool page(FILE *out, const report *r) { return tn_i_memory_page(out, r->title, r->n, r->arena); }

/* To a file, or standard output where it is named -. */
static int write_to(const char *path, bool (*put)(FILE *, const report *), const report *r) {
    if (strcmp(path, "-") == 0) return put(stdout, r) ? TN_CLI_OK : TN_CLI_BAD;
    FILE *out = fopen(path, "w");
    bool ok = out && put(out, r);
    if (out && fclose(out) != 0) ok = false;
    if (!ok) (void)fprintf(stderr, "%s: %s\n", path, strerror(errno));
    return ok ? TN_CLI_OK : TN_CLI_BAD;
}

static void print_lines(size_t n, const tn_i_memory_line *line) {
    (void)printf("%14s %14s %14s %9s %9s  policy\n", "peak", "most alive", "kept", "forward", "backward");
    for (size_t k = 0; k < n; k++) {
        size_t most = 0;
        for (size_t i = 0; i < line[k].n; i++)
            if (line[k].bytes[i] > most) most = line[k].bytes[i];
        (void)printf("%14zu %14zu %14zu %9zu %9zu  %s\n", line[k].peak, most, line[k].kept, line[k].backward,
                     line[k].equations - line[k].backward, line[k].name);
    }
}

/* Everything that is asked for; a table where nothing is. */
static int show(const tn_i_cli *o, const report *r) {
    int status = TN_CLI_OK;
    if (o->svg) status = write_to(o->svg, draw, r);
    if (status == TN_CLI_OK && o->html) status = write_to(o->html, page, r);
    if (status == TN_CLI_OK && o->json && strcmp(o->command, "memory") == 0 &&
        !tn_i_memory_json(stdout, r->title, r->n, r->arena))
        status = ferror(stdout) ? TN_CLI_BAD : tn_i_cli_bad(o, tn_fn_ctx(r->arena->made));
    if (!o->svg && !o->html && !o->json) print_lines(r->n, r->line);
    return status;
}

int tn_i_cli_draw_memory(const tn_i_cli *o, const tn_fn *f, size_t n, const char *const *policy) {
    int status = TN_CLI_BAD;
    report r = {.n = n, .arena = calloc(n + 1, sizeof *r.arena), .line = calloc(n + 1, sizeof *r.line)};
    size_t planned = 0, taken = 0;
    if (r.arena && r.line) {
        title_of(o, r.title, sizeof r.title);
        while (planned < n && plan(o, f, policy[planned], &r.arena[planned])) planned++;
        while (planned == n && taken < n && take_line(&r.arena[taken], &r.line[taken])) taken++;
        if (taken == n) status = show(o, &r);
    } else {
        (void)tn_i_cli_usage("out of memory");
    }
    for (size_t k = 0; k < taken; k++) free((void *)(uintptr_t)r.line[k].bytes);
    for (size_t k = 0; k < planned; k++) tn_i_memory_drop(tn_fn_ctx(f), &r.arena[k]);
    free(r.line);
    free(r.arena);
    return status;
}

int tn_i_cli_memory(const tn_i_cli *o, const tn_fn *f) {
    const int printed = o->json + (o->svg && strcmp(o->svg, "-") == 0) + (o->html && strcmp(o->html, "-") == 0);
    if (printed > 1) return tn_i_cli_usage("--json, --svg - and --html -: one of them has the standard output");
    const char *asked = o->policy ? o->policy : "everything_saveable,dots_saveable,min_cut,nothing_saveable";
    const size_t length = strlen(asked);
    char *text = malloc(length + 1);
    const char **policy = malloc((length + 1) * sizeof *policy);
    int status = TN_CLI_BAD;
    if (text && policy) {
        memcpy(text, asked, length + 1);
        const size_t n = cut_policies(text, policy);
        status = tn_i_cli_draw_memory(o, f, n, policy);
    } else
        (void)tn_i_cli_usage("out of memory");
    free(text);
    free(policy);
    return status;
}
