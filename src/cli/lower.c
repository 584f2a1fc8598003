/* lower: what runs as loops, as loop programs after a pass, or as the C that TN_BACKEND_NATIVE compiles of these. */
#include "base/nearest.h"
#include "cli/cli.h"
#include "lower/lower.h"

#include <string.h>

static void print(void *user, const char *title, const char *text) {
    const tn_i_cli *o = user;
    (void)printf(o->as_c ? "/* %s */\n%s" : "# %s\n%s", title, text);
}

static const char *pass_at(const void *unused, size_t i) {
    (void)unused;
    return i == 0 ? "lower" : tn_i_pipeline[i - 1].name;
}

/* What tn_i_lower_text takes for it; false after a message. */
static bool pass_of(const char *name, const char **last) {
    char near[TN_I_NEAREST];
    *last = name;
    if (!name) return true;
    for (size_t i = 0; pass_at(NULL, i); i++) {
        if (strcmp(pass_at(NULL, i), name) != 0) continue;
        if (i == 0) *last = "";
        return true;
    }
    (void)tn_i_cli_usage("there is no pass '%s'%s", name, tn_i_nearest(near, name, strlen(name), pass_at, NULL));
    return false;
}

/* The processor that loops are made for. */
static bool isa_of(const char *name, int *vector) {
    static const struct {
        const char *name;
        int vector;
    } isa[] = {{"avx512", 64}, {"avx2", 32}, {"plain", 16}, {"strips", TN_LOWER_STRIPS}};
    *vector = isa[0].vector;
    if (!name) return true;
    for (size_t i = 0; i < sizeof isa / sizeof *isa; i++) {
        if (strcmp(isa[i].name, name) != 0) continue;
        *vector = isa[i].vector;
        return true;
    }
    (void)tn_i_cli_usage("--isa is avx512, avx2, plain or strips, not '%s'", name);
    return false;
}

int tn_i_cli_lower(const tn_i_cli *o, tn_fn *f) {
    const char *last;
    int vector;
    if (!pass_of(o->after, &last) || !isa_of(o->isa, &vector)) return TN_CLI_USAGE;
    tn_exec *e = tn_compile(f, &(tn_compile_options){.size = sizeof(tn_compile_options),
                                                     .strict_zero = o->strict_zero,
                                                     .threads = (int)o->threads,
                                                     .spill_dir = o->spill_dir});
    const bool ok = e && tn_i_lower_text(e, &(tn_i_lower_as){vector, last, o->as_c}, print, (void *)(uintptr_t)o);
    tn_exec_free(e);
    return ok ? TN_CLI_OK : tn_i_cli_bad(o, tn_fn_ctx(f));
}
