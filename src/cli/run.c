/* run: one execution, operands from the command line, results as JSON or .npy. */
#include "cli/cli.h"
#include "cli/json.h"
#include "cli/npy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void free_buffers(void **p, size_t n) {
    for (size_t i = 0; p && i < n; i++) free(p[i]);
    free(p);
}

static void **operands(const tn_i_cli *o, const tn_fn *f) {
    const size_t n = tn_fn_inputs(f);
    void **in = calloc(n + 1, sizeof *in);
    for (size_t i = 0; in && i < n; i++) {
        const tn_type t = tn_fn_input_type(f, i);
        if ((in[i] = tn_i_cli_operand(o->argument[i], &t, (int)i))) continue;
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
        return NULL;
    }
    if (!out) (void)fprintf(stderr, "run: out of memory\n");
    return out;
}

static bool write_npy(const char *dir, size_t number, const tn_type *t, const void *data) {
    char path[4096];
    if (snprintf(path, sizeof path, "%s/%zu.npy", dir, number) >= (int)sizeof path) {
        (void)fprintf(stderr, "%s: the path is too long\n", dir);
        return false;
    }
    FILE *f = fopen(path, "wb");
    bool ok = f && tn_i_npy_write(f, t, data);
    if (f && fclose(f) != 0) ok = false;
    if (!ok) (void)fprintf(stderr, "%s: %s\n", path, strerror(errno));
    return ok;
}

static bool write_all(const tn_i_cli *o, const tn_fn *f, void *const *out) {
    if (o->out_dir && mkdir(o->out_dir, 0777) != 0 && errno != EEXIST) {
        (void)fprintf(stderr, "%s: %s\n", o->out_dir, strerror(errno));
        return false;
    }
    for (size_t j = 0; j < tn_fn_outputs(f); j++) {
        const tn_type t = tn_fn_output_type(f, j);
        if (!(o->out_dir ? write_npy(o->out_dir, j, &t, out[j])
                         : tn_i_json_put(stdout, &t, out[j], (int)o->digits) && fputc('\n', stdout) != EOF))
            return false;
    }
    return true;
}

/* One line a print; an assert that fails is the call's own message. */
static int tell(void *user, const tn_effect *e) {
    const tn_i_cli *o = user;
    if (e->kind == TN_ASSERT) return 0;
    (void)fputs(e->message, stderr);
    for (size_t i = 0; i < e->n; i++) {
        (void)fputs(i ? " " : ": ", stderr);
        (void)tn_i_json_put(stderr, e->array[i].type, e->array[i].data, (int)o->digits);
    }
    (void)fputc('\n', stderr);
    return 0;
}

int tn_i_cli_run(const tn_i_cli *o, tn_fn *f) {
    const size_t n = tn_fn_inputs(f);
    if ((size_t)o->narguments != n)
        return tn_i_cli_usage("the program takes %zu argument%s, not %d", n, n == 1 ? "" : "s", o->narguments);
    int status = TN_CLI_BAD;
    void **in = operands(o, f), **out = in ? results(f) : NULL;
    const tn_compile_options options = {.size = sizeof options,
                                        .observer = tell,
                                        .observer_user = (void *)(uintptr_t)o,
                                        .spill_dir = o->spill_dir,
                                        .strict_zero = o->strict_zero,
                                        .backend = o->backend};
    tn_exec *e = out ? tn_compile(f, &options) : NULL;
    if (out && !e) (void)tn_i_cli_bad(o, tn_fn_ctx(f));
    if (e && tn_call(e, (const void *const *)in, out) != TN_OK)
        (void)tn_i_cli_say(o, tn_exec_error(e));
    else if (e && write_all(o, f, out))
        status = TN_CLI_OK;
    tn_exec_free(e);
    free_buffers(in, n);
    free_buffers(out, tn_fn_outputs(f));
    return status;
}
