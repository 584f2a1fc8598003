/* tansy COMMAND FILE.tn [options] [arguments]: the manual is docs/man/tansy.1. */
#include "base/nearest.h"
#include "cli/cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: tansy COMMAND FILE.tn [OPTIONS] [ARGUMENTS]      ('-' reads standard input)\n"
    "  check        scoping, types and linearity                           --lint\n"
    "  print        the program in its normal form\n"
    "  from-jax-text  the same, of JAX's text\n"
    "  jvp          (inputs, tangents) to (outputs, tangents)              --wrt 0,1\n"
    "  linearize    the primal program, then the linear one                --wrt --policy P --part primal|linear\n"
    "  transpose    the transpose of a linear program\n"
    "  vjp          (inputs, cotangents) to (outputs, cotangents)          --wrt --policy\n"
    "  grad         the gradient of a program with one scalar output       --wrt --policy\n"
    "  hvp          (inputs, a direction) to the Hessian's product with it  --wrt --policy\n"
    "  jacfwd       the Jacobian, column by column                         --wrt --block N\n"
    "  jacrev       the Jacobian, row by row                               --wrt --policy --block N\n"
    "  hessian      the Hessian of a program with one scalar output        --wrt --policy --block N\n"
    "  vmap         the program on batches                                 --size N --in-axes 0,none --out-axes 0\n"
    "  run          runs it: a JSON number or array, or @FILE.npy, each    --out DIR --spill-dir DIR --strict-zero\n"
    "                                                                      --digits N --backend NAME --threads N\n"
    "                                                                      --ranks N --wait SECONDS --mpi\n"
    "                                                                      --profile [--runs N --json --svg FILE]\n"
    "                                                                      --flush-subnormals\n"
    "  time         runs it many times: median and least of a call          --runs N --backend NAME --json\n"
    "                                                                      --spill-dir DIR --strict-zero\n"
    "                                                                      --flush-subnormals\n"
    "  check-grads  its derivatives at a point, against finite differences  --wrt --order 1|2 --tolerance T\n"
    "                                                                      --directions N --seed N --spill-dir DIR\n"
    "  emit-c       a C99 function and its header            -o FILE.c --name F --cblas --strict-zero\n"
    "                                                                      --capacity STEPS\n"
    "  cost         equations, flops, products, bytes                      --json\n"
    "  residuals    what the derivative keeps and recomputes, value by value --wrt --policy --json\n"
    "  policies     the same in one line per policy                        --wrt --json --pareto\n"
    "  budget       what the policy memory_budget:BYTES would choose       --bytes N --wrt --json\n"
    "  advise       policies, schedules, adjoints: bytes, steps, time       --bytes N --wrt --json --steps N --disk D\n"
    "  memory       live bytes of the vjp, equation by equation             --wrt --policy P,Q --json --svg FILE\n"
    "                                                                      --html FILE\n"
    "  plan         what runs each step, and its share of the modelled time --backend NAME --spill-dir DIR\n"
    "                                                                      --strict-zero --threads N\n"
    "  lower        what runs as loops, as loop programs after a pass       --after PASS --isa NAME --c\n"
    "                                                                      --spill-dir DIR --strict-zero --threads N\n"
    "  sparsity     which entries of the Jacobian may be nonzero            --wrt --hessian --json --mtx FILE\n"
    "                                                                      --svg FILE --known 1=@FILE.npy\n"
    "  schedule     what a loop's schedule NAME keeps and does again         --steps L --checkpoints S --disk D\n"
    "                                                  --state-bytes B --record-bytes B --bytes N --step-ns T "
    "--unknown\n"
    "                                                  --order P --json\n"
    "  prims        the table of primitives\n"
    "  machine      the numbers that decide what is fused, tiled, unrolled, put on threads; and prices\n"
    "  version      versions of tansy and BLIS\n";

int tn_i_cli_usage(const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    (void)fprintf(stderr, "tansy: ");
    (void)vfprintf(stderr, fmt, ap);
    (void)fprintf(stderr, " (tansy --help)\n");
    va_end(ap);
    return TN_CLI_USAGE;
}

const char *tn_i_cli_shown(const tn_i_cli *o) { return strcmp(o->file, "-") == 0 ? "<stdin>" : o->file; }

/* Messages that have no place of their own are about the file. */
int tn_i_cli_bad(const tn_i_cli *o, const tn_ctx *c) { return tn_i_cli_say(o, tn_error(c)); }

int tn_i_cli_say(const tn_i_cli *o, const char *message) {
    const char *file = tn_i_cli_shown(o);
    const size_t n = strlen(file);
    if (strncmp(message, file, n) == 0 && message[n] == ':')
        (void)fprintf(stderr, "%s\n", message);
    else
        (void)fprintf(stderr, "%s: %s\n", file, message);
    return TN_CLI_BAD;
}

static int print_program(const tn_i_cli *o, tn_ctx *c, const tn_fn *f) {
    size_t n;
    char *text = tn_fn_print(f, &n);
    if (!text) return tn_i_cli_bad(o, c);
    (void)fwrite(text, 1, n, stdout);
    tn_text_free(c, text);
    return TN_CLI_OK;
}

/* ---- transformations ------------------------------------------------------------ */

static int linearize(const tn_i_cli *o, tn_ctx *c, const tn_fn *f, const tn_wrt_list *wrt, const tn_policy *policy) {
    const tn_linearized l = tn_linearize(f, wrt, policy);
    if (!l.primal) return tn_i_cli_bad(o, c);
    int status = TN_CLI_OK;
    if (!o->part || strcmp(o->part, "primal") == 0) status = print_program(o, c, l.primal);
    if (status == TN_CLI_OK && (!o->part || strcmp(o->part, "linear") == 0)) status = print_program(o, c, l.linear);
    return status;
}

static int vmap(const tn_i_cli *o, tn_ctx *c, const tn_fn *f) {
    if (!o->has_size) return tn_i_cli_usage("vmap needs --size");
    if (o->in_axes && o->nin_axes != tn_fn_inputs(f))
        return tn_i_cli_usage("--in-axes has %zu entries for %zu inputs", o->nin_axes, tn_fn_inputs(f));
    if (o->out_axes && o->nout_axes != tn_fn_outputs(f))
        return tn_i_cli_usage("--out-axes has %zu entries for %zu outputs", o->nout_axes, tn_fn_outputs(f));
    const tn_fn *g = tn_vmap(f, o->size, o->in_axes, o->out_axes);
    return g ? print_program(o, c, g) : tn_i_cli_bad(o, c);
}

static int transform(const tn_i_cli *o, tn_ctx *c, const tn_fn *f) {
    const tn_wrt_list list = {o->nwrt, o->wrt}, *wrt = o->wrt ? &list : NULL;
    const tn_policy named = {.size = sizeof named, .name = o->policy}, *policy = o->policy ? &named : NULL;
    const tn_fn *g = NULL;
    if (strcmp(o->command, "linearize") == 0) return linearize(o, c, f, wrt, policy);
    if (strcmp(o->command, "vmap") == 0) return vmap(o, c, f);
    if (strcmp(o->command, "print") == 0 || strcmp(o->command, "from-jax-text") == 0) g = f;
    if (strcmp(o->command, "jvp") == 0) g = tn_jvp(f, wrt);
    if (strcmp(o->command, "transpose") == 0) g = tn_transpose(f);
    if (strcmp(o->command, "vjp") == 0) g = tn_vjp(f, wrt, policy);
    if (strcmp(o->command, "grad") == 0) g = tn_grad(f, wrt, policy);
    if (strcmp(o->command, "hvp") == 0) g = tn_hvp(f, wrt, policy);
    if (strcmp(o->command, "jacfwd") == 0) g = tn_jacfwd(f, wrt, (size_t)o->block);
    if (strcmp(o->command, "jacrev") == 0) g = tn_jacrev(f, wrt, policy, (size_t)o->block);
    if (strcmp(o->command, "hessian") == 0) g = tn_hessian(f, wrt, policy, (size_t)o->block);
    return g ? print_program(o, c, g) : tn_i_cli_bad(o, c);
}

/* ---- commands -------------------------------------------------------------------- */

static void print_warning(void *user, const tn_lint_warning *w) {
    (void)user;
    (void)fprintf(stderr, "%s\n", w->message);
}

static int on_program(const tn_i_cli *o, tn_ctx *c, tn_fn *f, const char *text, size_t n) {
    if (strcmp(o->command, "check") == 0) {
        if (tn_check(f) != TN_OK) return tn_i_cli_bad(o, c);
        if (o->lint && tn_lint(f, print_warning, NULL) != TN_OK) return tn_i_cli_bad(o, c);
        (void)printf("%s: ok\n", tn_i_cli_shown(o));
        return TN_CLI_OK;
    }
    if (strcmp(o->command, "run") == 0) return tn_i_cli_run(o, f, text, n);
    if (strcmp(o->command, "time") == 0) return tn_i_cli_time(o, f);
    if (strcmp(o->command, "check-grads") == 0) return tn_i_cli_check_grads(o, f);
    if (strcmp(o->command, "emit-c") == 0) return tn_i_cli_emit(o, f);
    if (strcmp(o->command, "cost") == 0) return tn_i_cli_cost(o, f);
    if (strcmp(o->command, "residuals") == 0) return tn_i_cli_residuals(o, f);
    if (strcmp(o->command, "policies") == 0) return tn_i_cli_policies(o, f);
    if (strcmp(o->command, "budget") == 0) return tn_i_cli_budget(o, f);
    if (strcmp(o->command, "advise") == 0) return tn_i_cli_advise(o, f);
    if (strcmp(o->command, "memory") == 0) return tn_i_cli_memory(o, f);
    if (strcmp(o->command, "sparsity") == 0) return tn_i_cli_sparsity(o, c, f);
    if (strcmp(o->command, "lower") == 0) return tn_i_cli_lower(o, f);
    if (strcmp(o->command, "plan") == 0) return tn_i_cli_plan(o, f);
    return transform(o, c, f);
}

/* Whether what follows the file are values of the program's inputs. */
static bool takes_values(const tn_i_cli *o) {
    return strcmp(o->command, "run") == 0 || strcmp(o->command, "time") == 0 || strcmp(o->command, "check-grads") == 0;
}

static int on_file(const tn_i_cli *o) {
    size_t n;
    if (!o->file) return tn_i_cli_usage("%s needs a file", o->command);
    if (o->narguments && !takes_values(o))
        return tn_i_cli_usage("%s takes no argument '%s'", o->command, o->argument[0]);
    if (o->mpi && strcmp(o->file, "-") == 0)
        return tn_i_cli_usage("--mpi needs a file: rank 0 alone has the standard input");
    char *text = tn_i_cli_read(o->file, &n);
    if (!text) return TN_CLI_BAD;
    const tn_ctx_options options = {.size = sizeof options, .check = 1};
    tn_ctx *c = tn_ctx_new(&options);
    tn_fn *f = tn_fn_parse(c, text, n, tn_i_cli_shown(o));
    const int status = f ? on_program(o, c, f, text, n) : tn_i_cli_bad(o, c);
    tn_ctx_free(c);
    free(text);
    return status;
}

/* The lines of usage about one command: its own, and those below it that go on. */
static int help(const char *command) {
    const size_t n = strlen(command);
    const char *line = strchr(usage, '\n') + 1;
    while (*line && (strncmp(line + 2, command, n) != 0 || line[2 + n] != ' ')) line = strchr(line, '\n') + 1;
    const char *end = strchr(line, '\n') + 1;
    while (strncmp(end, "   ", 3) == 0) end = strchr(end, '\n') + 1;
    const bool alone = strcmp(command, "prims") == 0 || strcmp(command, "version") == 0;
    const char *what = alone                              ? ""
                       : strcmp(command, "schedule") == 0 ? " NAME [OPTIONS]"
                                                          : " FILE.tn [OPTIONS] [ARGUMENTS]";
    return printf("usage: tansy %s%s      (more: man tansy)\n%.*s", command, what, (int)(end - line), line) < 0
               ? TN_CLI_BAD
               : TN_CLI_OK;
}

static bool asks_help(int argc, char **argv) {
    for (int i = 2; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0) return true;
    return false;
}

static int dispatch(int argc, char **argv) {
    static const char *const commands[] = {
        "check", "print",       "from-jax-text", "jvp",      "linearize", "transpose", "vjp",
        "grad",  "hvp",         "jacfwd",        "jacrev",   "vmap",      "run",       "time",
        "cost",  "residuals",   "policies",      "budget",   "memory",    "schedule",  "plan",
        "lower", "check-grads", "emit-c",        "sparsity", "hessian",   "advise",    NULL};
    if (argc < 2) {
        (void)fputs(usage, stderr);
        return TN_CLI_USAGE;
    }
    if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0))
        return fputs(usage, stdout) < 0 ? TN_CLI_BAD : TN_CLI_OK;
    if (strcmp(argv[1], "help") == 0) { /* help COMMAND is COMMAND --help */
        argv[1] = argv[2];
        argv[2] = "--help";
    }
    const bool version = strcmp(argv[1], "version") == 0 || strcmp(argv[1], "--version") == 0;
    const bool machine = strcmp(argv[1], "machine") == 0;
    if (version || machine || strcmp(argv[1], "prims") == 0) {
        if (asks_help(argc, argv) && argv[1][0] != '-') return help(argv[1]);
        if (argc > 2) return tn_i_cli_usage("%s takes no argument '%s'", argv[1], argv[2]);
        return version ? tn_i_cli_version() : machine ? tn_i_cli_machine() : tn_i_cli_prims();
    }
    for (size_t i = 0; commands[i]; i++) {
        if (strcmp(argv[1], commands[i]) != 0) continue;
        if (asks_help(argc, argv)) return help(argv[1]);
        const bool file = strcmp(argv[1], "schedule") != 0; /* its argument is no file's name */
        tn_i_cli o = {0};
        int status = TN_CLI_USAGE;
        if (tn_i_cli_options(argc, argv, &o)) status = file ? on_file(&o) : tn_i_cli_schedule(&o);
        tn_i_cli_options_free(&o);
        return status;
    }
    char near[TN_I_NEAREST];
    return tn_i_cli_usage("there is no command '%s'%s", argv[1],
                          tn_i_nearest(near, argv[1], strlen(argv[1]), tn_i_array_name, commands));
}

int main(int argc, char **argv) {
    (void)tn_blis_select();
    const int status = dispatch(argc, argv);
    if (fflush(stdout) == 0 && !ferror(stdout)) return status;
    (void)fprintf(stderr, "tansy: standard output: %s\n", strerror(errno));
    return TN_CLI_BAD;
}
