#include "base/nearest.h"
#include "base/number.h"
#include "cli/cli.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* "0,2,none" as integers; `none` is -1 and only taken where it may stand. */
static bool int_list(const char *name, const char *text, bool none, int **out, size_t *n) {
    size_t most = 1;
    for (const char *s = text; *s; s++) most += *s == ',';
    free(*out);
    *n = 0;
    if (!(*out = malloc(most * sizeof **out))) return tn_i_cli_usage("out of memory") == TN_CLI_OK;
    for (const char *s = text;; s++) {
        const size_t length = strcspn(s, ",");
        int64_t x;
        if (none && length == 4 && memcmp(s, "none", 4) == 0)
            x = -1;
        else if (!tn_i_parse_i64(s, length, &x) || x < 0 || x > INT_MAX)
            return tn_i_cli_usage("--%s takes numbers%s separated by commas, not '%s'", name, none ? " or none" : "",
                                  text) == TN_CLI_OK;
        (*out)[(*n)++] = (int)x;
        s += length;
        if (!*s) return true;
    }
}

/* The numbers that `schedule` takes. */
static bool set_schedule(tn_i_cli *o, const char *name, const char *value) {
    const struct {
        const char *name;
        int64_t *to;
    } number[] = {{"steps", &o->steps},
                  {"checkpoints", &o->checkpoints},
                  {"disk", &o->disk},
                  {"state-bytes", &o->state_bytes},
                  {"record-bytes", &o->record_bytes},
                  {"step-ns", &o->step_ns},
                  {"order", &o->order}};
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) {
        if (strcmp(name, number[i].name) != 0) continue;
        const int64_t least = number[i].to == &o->order; /* 0 is what is not given */
        if (!tn_i_parse_i64(value, strlen(value), number[i].to) || *number[i].to < least)
            return tn_i_cli_usage("--%s takes a number%s, not '%s'", name, least ? " from 1 on" : "", value) ==
                   TN_CLI_OK;
    }
    return true;
}

/* How `time`, `check-grads` and Jacobians go about it. */
static bool set_try(tn_i_cli *o, const char *name, const char *value) {
    const struct {
        const char *name, *of;
        int64_t least, *to;
    } number[] = {{"runs", " of runs", 1, &o->runs},
                  {"block", " of vectors of the basis", 1, &o->block},
                  {"directions", " of directions", 1, &o->directions},
                  {"seed", "", 0, &o->seed}};
    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        if (strcmp(name, number[i].name) == 0 &&
            (!tn_i_parse_i64(value, strlen(value), number[i].to) || *number[i].to < number[i].least))
            return tn_i_cli_usage("--%s takes a number%s, not '%s'", name, number[i].of, value) == TN_CLI_OK;
    if (strcmp(name, "tolerance") != 0) return true;
    if (tn_i_parse_f64(value, strlen(value), &o->tolerance) && o->tolerance > 0) return true;
    return tn_i_cli_usage("--tolerance takes a number above 0, not '%s'", value) == TN_CLI_OK;
}

const char *tn_i_cli_backend(int backend) {
    static const char *const name[] = {[TN_BACKEND_DEFAULT] = "default",
                                       [TN_BACKEND_REFERENCE] = "reference",
                                       [TN_BACKEND_NATIVE] = "native",
                                       [TN_BACKEND_ASSEMBLER] = "assembler",
                                       [TN_BACKEND_STRIPS] = "strips"};
    return backend >= 0 && backend < (int)(sizeof name / sizeof *name) ? name[backend] : NULL;
}

/* What `run` runs with, and how it prints. */
static bool set_run(tn_i_cli *o, const char *name, const char *value) {
    if (strcmp(name, "digits") == 0 &&
        (!tn_i_parse_i64(value, strlen(value), &o->digits) || o->digits < 1 || o->digits > 17))
        return tn_i_cli_usage("--digits takes a number from 1 to 17, not '%s'", value) == TN_CLI_OK;
    if (strcmp(name, "ranks") == 0 && (!tn_i_parse_i64(value, strlen(value), &o->ranks) || o->ranks < 1))
        return tn_i_cli_usage("--ranks takes a number of ranks, not '%s'", value) == TN_CLI_OK;
    if (strcmp(name, "threads") == 0 &&
        (!tn_i_parse_i64(value, strlen(value), &o->threads) || o->threads < 1 || o->threads > 4096))
        return tn_i_cli_usage("--threads takes a number from 1 to 4096, not '%s'", value) == TN_CLI_OK;
    if (strcmp(name, "wait") == 0 && (!tn_i_parse_i64(value, strlen(value), &o->wait) || o->wait < 1))
        return tn_i_cli_usage("--wait takes a number of seconds, not '%s'", value) == TN_CLI_OK;
    if (strcmp(name, "backend") != 0) return true;
    for (o->backend = 0; tn_i_cli_backend(o->backend); o->backend++)
        if (strcmp(value, tn_i_cli_backend(o->backend)) == 0) return true;
    return tn_i_cli_usage("--backend is default, assembler, strips, native or reference, not '%s'", value) == TN_CLI_OK;
}

static bool set_option(tn_i_cli *o, const char *name, const char *value) {
    if (strcmp(name, "wrt") == 0) return int_list(name, value, false, &o->wrt, &o->nwrt);
    if (strcmp(name, "in-axes") == 0) return int_list(name, value, true, &o->in_axes, &o->nin_axes);
    if (strcmp(name, "out-axes") == 0) return int_list(name, value, true, &o->out_axes, &o->nout_axes);
    if (strcmp(name, "policy") == 0) o->policy = value;
    if (strcmp(name, "out") == 0) o->out_dir = value;
    if (strcmp(name, "svg") == 0) o->svg = value;
    if (strcmp(name, "html") == 0) o->html = value;
    if (strcmp(name, "output") == 0) o->output = value;
    if (strcmp(name, "name") == 0) o->name = value;
    if (strcmp(name, "spill-dir") == 0) o->spill_dir = value;
    if (strcmp(name, "after") == 0) o->after = value;
    if (strcmp(name, "isa") == 0) o->isa = value;
    if (strcmp(name, "mtx") == 0) o->mtx = value;
    if (strcmp(name, "known") == 0) o->known[o->nknown++] = value;
    if (strcmp(name, "part") == 0) {
        o->part = value;
        if (strcmp(value, "primal") != 0 && strcmp(value, "linear") != 0)
            return tn_i_cli_usage("--part is primal or linear, not '%s'", value) == TN_CLI_OK;
    }
    if (strcmp(name, "size") == 0) {
        o->has_size = tn_i_parse_i64(value, strlen(value), &o->size) && o->size >= 0;
        if (!o->has_size) return tn_i_cli_usage("--size takes a number, not '%s'", value) == TN_CLI_OK;
    }
    if (strcmp(name, "bytes") == 0) {
        o->has_bytes = tn_i_parse_i64(value, strlen(value), &o->bytes) && o->bytes >= 0;
        if (!o->has_bytes) return tn_i_cli_usage("--bytes takes a number, not '%s'", value) == TN_CLI_OK;
    }
    if (strcmp(name, "capacity") == 0 && (!tn_i_parse_i64(value, strlen(value), &o->capacity) || o->capacity < 1))
        return tn_i_cli_usage("--capacity takes a number of steps, not '%s'", value) == TN_CLI_OK;
    return set_run(o, name, value) && set_try(o, name, value) && set_schedule(o, name, value);
}

/* Which commands take an option; NULL ends. */
typedef struct option {
    const char *name, *commands[16];
    bool flag;
} option;

static const option options[] = {
    {"wrt",
     {"jvp", "linearize", "vjp", "grad", "hvp", "jacfwd", "jacrev", "hessian", "check-grads", "residuals", "policies",
      "budget", "advise", "memory", "sparsity", NULL},
     false},
    {"policy", {"linearize", "vjp", "grad", "hvp", "jacrev", "hessian", "residuals", "memory", NULL}, false},
    {"block", {"jacfwd", "jacrev", "hessian", NULL}, false},
    {"runs", {"time", "run", NULL}, false},
    {"profile", {"run", NULL}, true},
    {"tolerance", {"check-grads", NULL}, false},
    {"directions", {"check-grads", NULL}, false},
    {"seed", {"check-grads", NULL}, false},
    {"part", {"linearize", NULL}, false},
    {"size", {"vmap", NULL}, false},
    {"in-axes", {"vmap", NULL}, false},
    {"out-axes", {"vmap", NULL}, false},
    {"out", {"run", NULL}, false},
    {"digits", {"run", NULL}, false},
    {"ranks", {"run", NULL}, false},
    {"threads", {"run", "plan", "lower", NULL}, false},
    {"mpi", {"run", NULL}, true},
    {"wait", {"run", NULL}, false},
    {"backend", {"run", "time", "plan", NULL}, false},
    {"bytes", {"budget", "advise", "schedule", NULL}, false},
    {"steps", {"schedule", "advise", NULL}, false},
    {"checkpoints", {"schedule", NULL}, false},
    {"disk", {"schedule", "advise", NULL}, false},
    {"state-bytes", {"schedule", NULL}, false},
    {"record-bytes", {"schedule", NULL}, false},
    {"step-ns", {"schedule", NULL}, false},
    {"order", {"schedule", "check-grads", NULL}, false},
    {"unknown", {"schedule", NULL}, true},
    {"svg", {"run", "memory", "residuals", "policies", "sparsity", NULL}, false},
    {"html", {"memory", NULL}, false},
    {"json",
     {"run", "time", "cost", "residuals", "policies", "budget", "advise", "memory", "schedule", "sparsity", NULL},
     true},
    {"hessian", {"sparsity", NULL}, true},
    {"known", {"sparsity", NULL}, false},
    {"mtx", {"sparsity", NULL}, false},
    {"pareto", {"policies", NULL}, true},
    {"spill-dir", {"run", "time", "check-grads", "plan", "lower", NULL}, false},
    {"after", {"lower", NULL}, false},
    {"isa", {"lower", NULL}, false},
    {"c", {"lower", NULL}, true},
    {"lint", {"check", NULL}, true},
    {"output", {"emit-c", NULL}, false},
    {"name", {"emit-c", NULL}, false},
    {"cblas", {"emit-c", NULL}, true},
    {"capacity", {"emit-c", NULL}, false},
    {"strict-zero", {"run", "time", "emit-c", "plan", "lower", NULL}, true},
    {"flush-subnormals", {"run", "time", NULL}, true},
};

static const option *find_option(const char *name, size_t n, const char *command) {
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if (strlen(options[i].name) != n || memcmp(options[i].name, name, n) != 0) continue;
        for (size_t k = 0; options[i].commands[k]; k++)
            if (strcmp(options[i].commands[k], command) == 0) return &options[i];
    }
    return NULL;
}

/* Option i of those that a command takes. */
static const char *option_at(const void *command, size_t i) {
    for (size_t k = 0; k < sizeof options / sizeof *options; k++) {
        const char *name = options[k].name;
        if (find_option(name, strlen(name), command) && i-- == 0) return name;
    }
    return NULL;
}

/* Argument i is an option: reads it, and its value, which may be the next argument.  (getopt_long would take for
 * options the negative numbers that programs are given.) */
static bool read_option(int argc, char **argv, int *i, tn_i_cli *o) {
    const char *name = argv[*i] + 2;
    const size_t n = strcspn(name, "=");
    const option *x = find_option(name, n, o->command);
    char near[TN_I_NEAREST];
    if (!x)
        return tn_i_cli_usage("%s takes no option %s%s", o->command, argv[*i],
                              tn_i_nearest(near, name, n, option_at, o->command)) == TN_CLI_OK;
    if (x->flag) {
        o->json |= strcmp(x->name, "json") == 0;
        o->hessian |= strcmp(x->name, "hessian") == 0;
        o->pareto |= strcmp(x->name, "pareto") == 0;
        o->unknown |= strcmp(x->name, "unknown") == 0;
        o->lint |= strcmp(x->name, "lint") == 0;
        o->strict_zero |= strcmp(x->name, "strict-zero") == 0;
        o->flush |= strcmp(x->name, "flush-subnormals") == 0;
        o->cblas |= strcmp(x->name, "cblas") == 0;
        o->mpi |= strcmp(x->name, "mpi") == 0;
        o->profile |= strcmp(x->name, "profile") == 0;
        o->as_c |= strcmp(x->name, "c") == 0;
        return name[n] == 0 || tn_i_cli_usage("--%s takes no value", x->name) == TN_CLI_OK;
    }
    if (name[n] == '=') return set_option(o, x->name, name + n + 1);
    if (++*i == argc) return tn_i_cli_usage("--%s needs a value", x->name) == TN_CLI_OK;
    return set_option(o, x->name, argv[*i]);
}

bool tn_i_cli_options(int argc, char **argv, tn_i_cli *o) {
    bool plain = false;
    o->command = argv[1];
    o->steps = o->checkpoints = o->disk = -1;
    o->argument = malloc((size_t)argc * sizeof *o->argument);
    o->known = malloc((size_t)argc * sizeof *o->known);
    if (!o->argument || !o->known) return tn_i_cli_usage("out of memory") == TN_CLI_OK;
    for (int i = 2; i < argc; i++) {
        if (!plain && strcmp(argv[i], "--") == 0) {
            plain = true;
        } else if (!plain && strncmp(argv[i], "--", 2) == 0) {
            if (!read_option(argc, argv, &i, o)) return false;
        } else if (!plain && strcmp(argv[i], "-o") == 0 && strcmp(o->command, "emit-c") == 0) {
            if (++i == argc) return tn_i_cli_usage("-o needs a file") == TN_CLI_OK;
            o->output = argv[i];
        } else if (!o->file) {
            o->file = argv[i];
        } else {
            o->argument[o->narguments++] = argv[i];
        }
    }
    return true;
}

void tn_i_cli_options_free(tn_i_cli *o) {
    free(o->argument);
    free(o->known);
    free(o->wrt);
    free(o->in_axes);
    free(o->out_axes);
}
