/* run: one execution, operands from the command line, results as JSON or .npy. */
#include "cli/run.h"

#include "base/axes.h"
#include "cli/json.h"
#include "base/npy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- operands and results ------------------------------------------------------------ */

static void free_buffers(void **p, size_t n) {
    for (size_t i = 0; p && i < n; i++) free(p[i]);
    free(p);
}

char *tn_i_cli_for_rank(const char *text, int64_t number) {
    static const char mark[] = "{rank}";
    char digits[24];
    const size_t n = sizeof mark - 1, width = (size_t)snprintf(digits, sizeof digits, "%lld", (long long)number);
    size_t marks = 0;
    for (const char *s = strstr(text, mark); s; s = strstr(s + n, mark)) marks++;
    char *to = malloc(strlen(text) + marks * width + 1), *at = to;
    while (to && *text) {
        const bool here = strncmp(text, mark, n) == 0;
        if (here)
            memcpy(at, digits, width);
        else
            *at = *text;
        at += here ? width : 1;
        text += here ? n : 1;
    }
    if (to) *at = 0;
    return to;
}

/* Without a grid, {rank} is any other text. */
static void *operand(const tn_i_cli_rank *r, size_t i) {
    const tn_type t = tn_fn_input_type(r->f, i);
    const char *text = r->o->argument[i];
    if (r->number < 0) return tn_i_cli_operand(text, &t, (int)i);
    char *own = tn_i_cli_for_rank(text, r->number);
    void *data = own ? tn_i_cli_operand(own, &t, (int)i) : NULL;
    if (!own) (void)fprintf(stderr, "run: out of memory\n");
    free(own);
    return data;
}

static void **operands(const tn_i_cli_rank *r) {
    const size_t n = tn_fn_inputs(r->f);
    void **in = calloc(n + 1, sizeof *in);
    if (!in) (void)fprintf(stderr, "run: out of memory\n");
    for (size_t i = 0; in && i < n; i++) {
        if ((in[i] = operand(r, i))) continue;
        free_buffers(in, n);
        return NULL;
    }
    return in;
}

static void **results(const tn_fn *f) {
    const size_t n = tn_fn_outputs(f);
    void **out = calloc(n + 1, sizeof *out);
    for (size_t j = 0; out && j < n; j++) {
        const tn_type t = tn_fn_output_type(f, j);
        const size_t bytes = tn_type_bytes(&t);
        if ((out[j] = malloc(bytes ? bytes : 1))) continue;
        free_buffers(out, n);
        out = NULL;
    }
    if (!out) (void)fprintf(stderr, "run: out of memory\n");
    return out;
}

bool tn_i_cli_prepare(tn_i_cli_rank *r) { return (r->in = operands(r)) && (r->out = results(r->f)); }

void tn_i_cli_release(tn_i_cli_rank *r) {
    tn_profile_free(r->profile);
    tn_exec_free(r->e);
    if (r->in) free_buffers(r->in, tn_fn_inputs(r->f));
    if (r->out) free_buffers(r->out, tn_fn_outputs(r->f));
    r->e = NULL;
    r->profile = NULL;
    r->in = r->out = NULL;
}

/* ---- the results' way out -------------------------------------------------------------- */

static bool make_directory(const char *dir) {
    if (mkdir(dir, 0777) == 0 || errno == EEXIST) return true;
    (void)fprintf(stderr, "%s: %s\n", dir, strerror(errno));
    return false;
}

static bool write_npy(const tn_i_cli_rank *r, size_t j, const char *path) {
    const tn_type t = tn_fn_output_type(r->f, j);
    FILE *f = fopen(path, "wb");
    bool ok = f && tn_i_npy_write(f, &t, r->out[j]);
    if (f && fclose(f) != 0) ok = false;
    if (!ok) (void)fprintf(stderr, "%s: %s\n", path, strerror(errno));
    return ok;
}

static bool write_output(const tn_i_cli_rank *r, size_t j, const char *dir, bool own) {
    const tn_type t = tn_fn_output_type(r->f, j);
    const bool numbered = !own && tn_i_over(&t) && r->named;
    char path[4096];
    if (!own && !numbered && r->number > 0) return true;
    const int n = numbered ? snprintf(path, sizeof path, "%s/%zu.%lld.npy", dir, j, (long long)r->number)
                           : snprintf(path, sizeof path, "%s/%zu.npy", dir, j);
    if (n < (int)sizeof path) return write_npy(r, j, path);
    (void)fprintf(stderr, "%s: the path is too long\n", dir);
    return false;
}

bool tn_i_cli_write_rank(const tn_i_cli_rank *r) {
    const bool own = r->named && strstr(r->o->out_dir, "{rank}");
    char *dir = own ? tn_i_cli_for_rank(r->o->out_dir, r->number) : strdup(r->o->out_dir);
    if (!dir) (void)fprintf(stderr, "run: out of memory\n");
    bool ok = dir && make_directory(dir);
    for (size_t j = 0; j < tn_fn_outputs(r->f) && ok; j++) ok = write_output(r, j, dir, own);
    free(dir);
    return ok;
}

bool tn_i_cli_print(const tn_i_cli *o, const tn_type *t, const void *data) {
    return tn_i_json_put(stdout, t, data, (int)o->digits) && fputc('\n', stdout) != EOF;
}

bool tn_i_cli_first_of(const tn_ctx *c, int64_t rank, uint32_t over) {
    for (int a = c->grid.naxes; a--; rank /= c->grid.extent[a])
        if (!(over >> a & 1) && rank % c->grid.extent[a]) return false;
    return true;
}

static bool print_all(const tn_i_cli_rank *r) {
    for (size_t j = 0; j < tn_fn_outputs(r->f); j++) {
        const tn_type t = tn_fn_output_type(r->f, j);
        if (!tn_i_cli_print(r->o, &t, r->out[j])) return false;
    }
    return true;
}

void tn_i_cli_say_rank(const tn_i_cli *o, const char *message) {
    if (strstr(message, tn_i_cli_shown(o)))
        (void)fprintf(stderr, "%s\n", message);
    else
        (void)tn_i_cli_say(o, message);
}

/* ---- running ------------------------------------------------------------------------------ */

/* One line a print; an assert that fails is the call's own message. */
static int tell(void *user, const tn_effect *e) {
    const tn_i_cli_rank *r = user;
    if (e->kind == TN_ASSERT) return 0;
    flockfile(stderr); /* ranks say whole lines */
    if (r->named) (void)fprintf(stderr, "rank %lld: ", (long long)r->number);
    (void)fputs(e->message, stderr);
    for (size_t i = 0; i < e->n; i++) {
        (void)fputs(i ? " " : ": ", stderr);
        (void)tn_i_json_put(stderr, e->array[i].type, e->array[i].data, (int)r->o->digits);
    }
    (void)fputc('\n', stderr);
    funlockfile(stderr);
    return 0;
}

/* Another back end than was asked for by name. */
static void tell_backend(const tn_i_cli_rank *r) {
    const char *why;
    const int ran = tn_exec_backend(r->e, &why);
    if (r->number > 0 || r->o->backend == TN_BACKEND_DEFAULT || ran == r->o->backend) return;
    (void)fprintf(stderr, "runs by %s: %s\n", tn_i_cli_backend(ran), why);
}

void tn_i_cli_call(tn_i_cli_rank *r, const tn_comm_ops *comm) {
    tn_ctx *c = tn_fn_ctx(r->f);
    const tn_compile_options options = {.size = sizeof options,
                                        .observer = tell,
                                        .observer_user = r,
                                        .spill_dir = r->o->spill_dir,
                                        .strict_zero = r->o->strict_zero,
                                        .flush_subnormals = r->o->flush,
                                        .backend = r->o->backend,
                                        .threads = (int)r->o->threads,
                                        .comm = comm,
                                        .check_replicated = comm ? 1 : 0};
    r->e = tn_compile(r->f, &options);
    if (r->e && r->o->profile && !(r->profile = tn_profile_new(r->e))) {
        tn_exec_free(r->e); /* the message is the context's */
        r->e = NULL;
    }
    if (r->e) tell_backend(r);
    r->status = r->e ? tn_exec_profile(r->e, r->profile) : tn_last_status(c);
    for (int64_t n = 0; r->status == TN_OK && (n == 0 || n < r->o->runs); n++)
        r->status = tn_call(r->e, (const void *const *)r->in, r->out);
    if (r->status != TN_OK)
        (void)snprintf(r->message, sizeof r->message, "%s", r->e ? tn_exec_error(r->e) : tn_error(c));
}

static int run_one(const tn_i_cli *o, tn_fn *f) {
    tn_i_cli_rank r = {.o = o, .number = tn_fn_ctx(f)->grid.naxes ? 0 : -1, .f = f};
    int status = TN_CLI_BAD;
    if (tn_i_cli_prepare(&r)) {
        tn_i_cli_call(&r, NULL);
        if (r.status != TN_OK)
            (void)tn_i_cli_say(o, r.message);
        else if ((o->out_dir ? tn_i_cli_write_rank(&r) : print_all(&r)) &&
                 (!o->profile || (fflush(stdout) == 0 && tn_i_cli_show_profile(&r))))
            status = TN_CLI_OK;
    }
    tn_i_cli_release(&r);
    return status;
}

/* Ranks are asked for, so that nobody runs a program of a thousand by accident. */
static int wrong_ranks(const tn_i_cli *o, tn_ctx *c, int64_t ranks) {
    char text[256];
    if (!o->ranks)
        (void)snprintf(text, sizeof text, "the program's grid %s has %lld ranks: run it with --ranks %lld",
                       tn_i_axes_text(c, (1u << c->grid.naxes) - 1), (long long)ranks, (long long)ranks);
    else if (!c->grid.naxes)
        (void)snprintf(text, sizeof text, "the program has no grid of ranks to run on --ranks %lld",
                       (long long)o->ranks);
    else
        (void)snprintf(text, sizeof text, "the program's grid %s has %lld rank%s, not %lld (--ranks)",
                       tn_i_axes_text(c, (1u << c->grid.naxes) - 1), (long long)ranks, ranks == 1 ? "" : "s",
                       (long long)o->ranks);
    return tn_i_cli_say(o, text);
}

int tn_i_cli_arguments(const tn_i_cli *o, const tn_fn *f) {
    const size_t inputs = tn_fn_inputs(f);
    if ((size_t)o->narguments == inputs) return TN_CLI_OK;
    return tn_i_cli_usage("the program takes %zu argument%s, not %d", inputs, inputs == 1 ? "" : "s", o->narguments);
}

int tn_i_cli_alone(const tn_i_cli *o, const tn_fn *f) {
    tn_ctx *c = tn_fn_ctx(f);
    const int64_t ranks = tn_i_ranks(c, (1u << c->grid.naxes) - 1);
    char text[256];
    if (ranks == 1) return TN_CLI_OK;
    (void)snprintf(text, sizeof text, "the program's grid %s has %lld ranks: %s runs programs of one",
                   tn_i_axes_text(c, (1u << c->grid.naxes) - 1), (long long)ranks, o->command);
    return tn_i_cli_say(o, text);
}

int tn_i_cli_run(const tn_i_cli *o, tn_fn *f, const char *text, size_t n) {
    tn_ctx *c = tn_fn_ctx(f);
    const int64_t ranks = tn_i_ranks(c, (1u << c->grid.naxes) - 1);
    if (tn_i_cli_arguments(o, f) != TN_CLI_OK) return TN_CLI_USAGE;
    if (!o->profile && (o->json || o->svg || o->runs))
        return tn_i_cli_usage("--%s of run is for --profile", o->json ? "json" : o->svg ? "svg" : "runs");
    if (o->svg && strcmp(o->svg, "-") == 0)
        return tn_i_cli_usage("--svg of run names a file: results are on standard output");
    if (o->profile && (o->mpi || ranks > 1)) return tn_i_cli_usage("--profile is for programs of one rank");
    if (o->mpi && o->ranks) return tn_i_cli_usage("--ranks are threads, --mpi has those of mpirun: one of them");
    if (o->mpi) return c->grid.naxes ? tn_i_cli_run_mpi(o, f) : tn_i_cli_say(o, "the program has no grid of ranks");
    if (o->ranks ? o->ranks != ranks || !c->grid.naxes : ranks > 1) return wrong_ranks(o, c, ranks);
    return ranks > 1 ? tn_i_cli_run_ranks(o, c, text, n) : run_one(o, f);
}
