/* advise: ways to have reverse mode, and what each would take. */
#include "cli/cli.h"
#include "cli/json.h"

#include <string.h>

/* Rows are told twice where they are a table: for its widths, and to be printed. */
typedef struct table {
    int policy, schedules, adjoint;
    size_t fit;
} table;

static int wider(int width, const char *text) {
    const size_t n = strlen(text);
    return n > (size_t)width && n < 64 ? (int)n : width;
}

static void widen(void *user, const tn_advice *a) {
    table *t = user;
    t->policy = wider(t->policy, a->policy);
    t->schedules = wider(t->schedules, a->schedules);
    t->adjoint = wider(t->adjoint, a->adjoint);
    t->fit += a->fits;
}

static void put_row(void *user, const tn_advice *a) {
    const table *t = user;
    (void)printf("%c %-4s  %-*s  %-*s  %-*s  ", a->best ? '*' : ' ', a->fits ? "yes" : "no", t->policy, a->policy,
                 t->schedules, a->schedules, t->adjoint, a->adjoint);
    if (a->error[0])
        (void)printf("%s\n", a->error);
    else
        (void)printf("%14.0f  %12.0f  %9.0f  %9.0f  %14.6g\n", a->bytes, a->spill_bytes, a->advances, a->recorded,
                     a->ns / 1000);
}

static void json_text(const char *name, const char *text) {
    (void)printf("\"%s\": ", name);
    tn_i_json_text(stdout, text);
    (void)printf(", ");
}

static void json_row(void *user, const tn_advice *a) {
    table *t = user;
    t->fit += a->fits;
    (void)printf("{");
    json_text("policy", a->policy);
    json_text("schedules", a->schedules);
    json_text("adjoint", a->adjoint);
    if (a->error[0])
        json_text("error", a->error);
    else
        (void)printf("\"bytes\": %.17g, \"bytes_per_step\": %.17g, \"spill_bytes\": %.17g, \"advances\": %.17g, "
                     "\"recorded\": %.17g, \"modelled_ns\": %.17g, ",
                     a->bytes, a->bytes_per_step, a->spill_bytes, a->advances, a->recorded, a->ns);
    (void)printf("\"fits\": %s, \"best\": %s}\n", a->fits ? "true" : "false", a->best ? "true" : "false");
}

/* The exit status says whether any way fits. */
int tn_i_cli_advise(const tn_i_cli *o, tn_fn *f) {
    const tn_wrt_list list = {o->nwrt, o->wrt}, *wrt = o->wrt ? &list : NULL;
    const tn_advise_options options = {.size = sizeof options,
                                       .bytes = o->has_bytes ? (size_t)o->bytes : 0,
                                       .steps = o->steps < 0 ? 0 : o->steps,
                                       .disk = o->disk < 0 ? 0 : o->disk};
    if (o->has_bytes && o->bytes == 0) return tn_i_cli_usage("--bytes of advise is above 0");
    table t = {.policy = 6, .schedules = 9, .adjoint = 7};
    if (tn_advise(f, wrt, &options, o->json ? json_row : widen, &t) != TN_OK) return tn_i_cli_bad(o, tn_fn_ctx(f));
    if (o->json) return t.fit ? TN_CLI_OK : TN_CLI_BAD;
    (void)printf("  %-4s  %-*s  %-*s  %-*s  %14s  %12s  %9s  %9s  %14s\n", "fits", t.policy, "policy", t.schedules,
                 "schedules", t.adjoint, "adjoint", "bytes", "spill bytes", "advances", "recorded", "modelled us");
    if (tn_advise(f, wrt, &options, put_row, &t) != TN_OK) return tn_i_cli_bad(o, tn_fn_ctx(f));
    return t.fit ? TN_CLI_OK : TN_CLI_BAD;
}
