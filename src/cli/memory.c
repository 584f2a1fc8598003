/* memory: what is alive in the arena of a vjp, under one policy or several, in figures or drawn. */
#include "cli/cli.h"
#include "cli/svg.h"
#include "exec/live.h"

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

static uint32_t float_outputs(const tn_fn *f) {
    uint32_t n = 0;
    for (size_t j = 0; j < tn_fn_outputs(f); j++) {
        const int dtype = tn_fn_output_type(f, j).dtype;
        n += dtype == TN_F32 || dtype == TN_F64;
    }
    return n;
}

static bool take_line(size_t peak, const tn_i_live *l, uint32_t backward, tn_i_memory_line *line) {
    size_t *bytes = malloc(l->n * sizeof *bytes);
    if (!bytes) return tn_i_cli_usage("out of memory") == TN_CLI_OK;
    for (size_t i = 0; i < l->n; i++) bytes[i] = tn_i_live_bytes(&l->step[i]);
    line->bytes = bytes;
    line->n = l->n - (bytes[l->n - 1] == 0); /* nothing to see while results are copied */
    line->equations = l->n - 1;
    line->backward = backward;
    line->kept = l->step[backward].kept;
    line->peak = peak;
    return true;
}

/* The profile of f's vjp under one policy, as tn_compile plans it: equations that are fused are one; nothing runs. */
static bool profile(const tn_i_cli *o, const tn_fn *f, const char *text, tn_i_memory_line *line) {
    tn_ctx *c = tn_fn_ctx(f);
    const tn_wrt_list list = {o->nwrt, o->wrt};
    const tn_policy policy = {.size = sizeof policy, .name = text};
    tn_i_live l = {0};
    uint32_t backward;
    line->name = text;
    tn_fn *made = tn_vjp(f, o->wrt ? &list : NULL, &policy), *g = made ? tn_i_prepared(made) : NULL;
    tn_i_plan *p = g ? tn_i_plan_new(g, NULL) : NULL;
    bool ok =
        p && tn_i_live_of(p, &l) && tn_i_backward_begins(p->f, (uint32_t)tn_fn_outputs(f), float_outputs(f), &backward);
    if (!ok) (void)tn_i_cli_bad(o, c);
    ok = ok && take_line(p->bytes, &l, backward, line);
    tn_i_live_free(&l);
    tn_i_plan_free(c, p);
    tn_fn_free(g);
    tn_fn_free(made);
    return ok;
}

/* ---- what is shown --------------------------------------------------------------------- */

static int write_svg(const tn_i_cli *o, size_t n, const tn_i_memory_line *line) {
    char title[512];
    const char *slash = strrchr(o->file, '/'), *file = slash ? slash + 1 : o->file;
    (void)snprintf(title, sizeof title, "Live bytes of %s and its derivative",
                   strcmp(o->file, "-") == 0 ? "a program" : file);
    if (strcmp(o->svg, "-") == 0) return tn_i_svg_memory(stdout, title, n, line) ? TN_CLI_OK : TN_CLI_BAD;
    FILE *out = fopen(o->svg, "w");
    bool ok = out && tn_i_svg_memory(out, title, n, line);
    if (out && fclose(out) != 0) ok = false;
    if (!ok) (void)fprintf(stderr, "%s: %s\n", o->svg, strerror(errno));
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

int tn_i_cli_draw_memory(const tn_i_cli *o, const tn_fn *f, size_t n, const char *const *policy) {
    int status = TN_CLI_BAD;
    tn_i_memory_line *line = calloc(n + 1, sizeof *line);
    if (!line) return tn_i_cli_usage("out of memory"), TN_CLI_BAD;
    size_t done = 0;
    while (done < n && profile(o, f, policy[done], &line[done])) done++;
    if (done == n) {
        status = o->svg ? write_svg(o, n, line) : TN_CLI_OK;
        if (!o->svg) print_lines(n, line);
    }
    for (size_t k = 0; k < done; k++) free((void *)(uintptr_t)line[k].bytes);
    free(line);
    return status;
}

int tn_i_cli_memory(const tn_i_cli *o, const tn_fn *f) {
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
