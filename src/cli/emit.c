/* emit-c: FILE.c and FILE.h, or the source alone on standard output. */
#include "cli/cli.h"
#include "tansy/emit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool written(const char *path, const char *text) {
    FILE *file = fopen(path, "wb");
    const bool ok = file && fputs(text, file) >= 0;
    const bool closed = file && fclose(file) == 0;
    if (!ok || !closed) (void)fprintf(stderr, "%s: %s\n", path, strerror(errno));
    return ok && closed;
}

/* Of path without its folders, what a function may be called: "my-f.c" is my_f. */
static void name_of(const char *path, char *name, size_t n) {
    const char *base = strrchr(path, '/');
    base = base ? base + 1 : path;
    const char *dot = strrchr(base, '.');
    size_t k = 0;
    if (*base == '_' || (*base >= '0' && *base <= '9')) name[k++] = 'f';
    for (const char *s = base; *s && s != dot && k + 1 < n; s++) {
        const bool fits = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9');
        name[k++] = fits ? *s : '_';
    }
    name[k] = 0;
}

/* "f.c": "f.h". */
static char *header_path(const char *path) {
    const size_t n = strlen(path);
    char *out = malloc(n + 3);
    if (!out) return NULL;
    memcpy(out, path, n + 1);
    if (n > 2 && strcmp(path + n - 2, ".c") == 0) out[n - 2] = 0;
    return strcat(out, ".h");
}

int tn_i_cli_emit(const tn_i_cli *o, const tn_fn *f) {
    char name[101], *source, *header, *beside = o->output ? header_path(o->output) : NULL;
    if (o->output && !beside) return tn_i_cli_usage("out of memory");
    name_of(o->output ? o->output : strcmp(o->file, "-") == 0 ? "f" : o->file, name, sizeof name);
    const char *base = beside ? strrchr(beside, '/') : NULL;
    const tn_emit_c_options opt = {.size = sizeof opt,
                                   .name = o->name ? o->name : name,
                                   .header = base ? base + 1 : beside,
                                   .cblas = o->cblas,
                                   .strict_zero = o->strict_zero,
                                   .capacity = o->capacity};
    int status = TN_CLI_OK;
    if (tn_emit_c(f, &opt, &source, &header) != TN_OK)
        status = tn_i_cli_bad(o, tn_fn_ctx(f));
    else if (!o->output)
        status = fputs(source, stdout) < 0 ? TN_CLI_BAD : TN_CLI_OK;
    else if (!written(o->output, source) || !written(beside, header))
        status = TN_CLI_BAD;
    tn_text_free(tn_fn_ctx(f), source);
    tn_text_free(tn_fn_ctx(f), header);
    free(beside);
    return status;
}
