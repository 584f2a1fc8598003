/* plan: what runs each step of a program, its share of the modelled time, and what ranks say to each other. */
#include "cli/cli.h"

/* *user: the share of the loops that strips run, for a reason, where another backend runs the program. */
static void put_step(void *user, const tn_step *s) {
    double *by_strips = user;
    char what[96];
    (void)snprintf(what, sizeof what, "%*s%s%s%s", 2 * s->depth, "", s->kind, *s->primitive ? " " : "", s->primitive);
    (void)printf("%6.1f %%  %11.0f  %-11s  %-32s", 100 * s->share, s->ns, s->runner, what);
    if (s->line) (void)printf("  line %d", s->line);
    if (s->operations > 1) (void)printf("  %zu operations", s->operations);
    if (*s->why) (void)printf("  by strips: %s", s->why);
    (void)printf("\n");
    if (*s->why) *by_strips += s->share;
}

int tn_i_cli_plan(const tn_i_cli *o, tn_fn *f) {
    const char *why;
    double by_strips = 0;
    tn_exec *e = tn_compile(f, &(tn_compile_options){.size = sizeof(tn_compile_options),
                                                     .strict_zero = o->strict_zero,
                                                     .spill_dir = o->spill_dir,
                                                     .threads = (int)o->threads,
                                                     .backend = o->backend});
    if (!e) return tn_i_cli_bad(o, tn_fn_ctx(f));
    const char *ran = tn_i_cli_backend(tn_exec_backend(e, &why));
    if (*why) (void)printf("runs by %s: %s\n", ran, why);
    (void)printf("share     modelled ns  runs in      step\n");
    const tn_status status = tn_exec_steps(e, put_step, &by_strips);
    if (by_strips > 0) (void)printf("%.1f %% of the modelled time is by strips\n", 100 * by_strips);
    const char *said = tn_exec_communications(e);
    if (*said) (void)printf("what ranks say to each other, in order:\n%s", said);
    tn_exec_free(e);
    return status == TN_OK ? TN_CLI_OK : tn_i_cli_bad(o, tn_fn_ctx(f));
}
