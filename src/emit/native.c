/* The native backend: a plan's C text, compiled by the system's compiler and loaded.
 *
 * The compiler is started with a vector of arguments; no shell sees them, and the program's text only as a file.  What
 * cannot be done, as where there is no compiler, is no error: the interpreter computes the same bits. */
#include "exec/native.h"

#include "emit/cache.h"
#include "emit/emit.h"
#include "vec/vec.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* ---- machines ------------------------------------------------------------------------- */

typedef struct machine {
    int bytes; /* of its vectors */
    const char *flags[8];
} machine;

/* As the interpreter's kernels (base/isa.h). */
static const machine machines[] = {
    [TN_ISA_PLAIN] = {16, {NULL}},
    [TN_ISA_AVX2] = {32, {"-mavx2", "-mfma"}},
    [TN_ISA_AVX512] = {64,
                       {"-mfma", "-mavx512f", "-mavx512dq", "-mavx512bw", "-mavx512vl", "-mprefer-vector-width=512"}}};

/* No contraction, no other rounding and no other order than written; no errno and no traps, which nobody reads. */
static const char *const flags[] = {"-O2",
                                    "-std=gnu11",
                                    "-fPIC",
                                    "-shared",
                                    "-w",
                                    "-ffp-contract=off",
                                    "-fno-math-errno",
                                    "-fno-trapping-math",
                                    "-fwrapv",
                                    "-fno-strict-aliasing",
                                    NULL};

/* ---- the compiler ----------------------------------------------------------------------- */

enum { ARGUMENTS = 32 };

/* Where PATH finds it, and what tells one installation from the next. */
static bool find_compiler(const char *name, char path[TN_I_PATH], struct stat *s) {
    const char *dirs = getenv("PATH");
    if (strchr(name, '/')) {
        (void)snprintf(path, TN_I_PATH, "%s", name);
        return strlen(name) < TN_I_PATH && access(path, X_OK) == 0 && stat(path, s) == 0;
    }
    for (const char *d = dirs; d && *d;) {
        const size_t n = strcspn(d, ":");
        if (n && n + strlen(name) + 2 < TN_I_PATH) {
            (void)snprintf(path, TN_I_PATH, "%.*s/%s", (int)n, d, name);
            if (access(path, X_OK) == 0 && stat(path, s) == 0 && S_ISREG(s->st_mode)) return true;
        }
        d += n + (d[n] == ':');
    }
    return false;
}

static bool wait_for(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return errno == ECHILD; /* who ignores its children never learns: the file will tell */
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* The first line in which the compiler says "error", for the notice. */
static void read_messages(const char *path, char why[TN_I_WHY]) {
    char line[256];
    FILE *f = fopen(path, "r");
    (void)snprintf(why, TN_I_WHY, "the compiler failed");
    while (f && fgets(line, sizeof line, f))
        if (strstr(line, "error")) {
            line[strcspn(line, "\n")] = 0;
            (void)snprintf(why, TN_I_WHY, "the compiler failed: %s", line);
            break;
        }
    if (f) (void)fclose(f);
}

static bool run_compiler(const char *cc, const machine *m, const char *work, char why[TN_I_WHY]) {
    char source[TN_I_PATH + 16], object[TN_I_PATH + 16], messages[TN_I_PATH + 16];
    const char *argv[ARGUMENTS] = {cc};
    int n = 1;
    (void)snprintf(source, sizeof source, "%s/program.c", work);
    (void)snprintf(object, sizeof object, "%s/program.so", work);
    (void)snprintf(messages, sizeof messages, "%s/messages", work);
    for (int i = 0; flags[i]; i++) argv[n++] = flags[i];
    for (int i = 0; m->flags[i]; i++) argv[n++] = m->flags[i];
    argv[n++] = "-o";
    argv[n++] = object;
    argv[n++] = source;
    argv[n++] = "-lm";
    argv[n] = NULL;
    posix_spawn_file_actions_t actions;
    pid_t child;
    if (posix_spawn_file_actions_init(&actions) != 0) return false;
    int error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!error) error = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (!error)
        error = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, messages, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (!error) error = posix_spawn(&child, cc, &actions, NULL, (char *const *)(uintptr_t)argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    if (error) {
        (void)snprintf(why, TN_I_WHY, "the compiler '%.200s' cannot be started", cc);
        return false;
    }
    if (wait_for(child) && access(object, R_OK) == 0) return true;
    read_messages(messages, why);
    return false;
}

/* ---- keys ------------------------------------------------------------------------------------ */

static uint64_t add_text(uint64_t h, const char *s) { return tn_i_hash(h, s, strlen(s)); }

static void make_key(const tn_i_text *t, const char *cc, const struct stat *s, const machine *m, uint64_t key[2]) {
    for (int k = 0; k < 2; k++) {
        uint64_t h = tn_i_hash(k ? UINT64_C(0x5bd1e9955bd1e995) : 0, t->at, t->n);
        h = add_text(add_text(h, tn_version()), cc);
        const int64_t told[] = {(int64_t)s->st_size, (int64_t)s->st_ino, (int64_t)s->st_dev, (int64_t)s->st_mtime};
        h = tn_i_hash(h, told, sizeof told);
        for (int i = 0; flags[i]; i++) h = add_text(h, flags[i]);
        for (int i = 0; m->flags[i]; i++) h = add_text(h, m->flags[i]);
        key[k] = h;
    }
}

/* ---- loading ----------------------------------------------------------------------------------- */

static bool load(const char *path, tn_i_native *out) {
    out->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (out->library && dlsym(out->library, "tansy_plans")) return true;
    const char *said = dlerror();
    (void)snprintf(out->why, sizeof out->why, "'%.200s' cannot be loaded: %.200s", path, said ? said : "");
    if (out->library) (void)dlclose(out->library);
    out->library = NULL;
    return false;
}

static bool compile(tn_i_cache *k, const char *cc, const machine *m, const tn_i_text *t, tn_i_native *out) {
    char work[TN_I_PATH], source[TN_I_PATH + 64], path[TN_I_PATH + 64];
    if (!tn_i_cache_begin(k, work, out->why)) return false;
    (void)snprintf(source, sizeof source, "%s/program.c", work);
    bool ok = tn_i_file_write(source, t->at, t->n);
    if (!ok) (void)snprintf(out->why, sizeof out->why, "the program's text cannot be written to '%.200s'", work);
    ok = ok && run_compiler(cc, m, work, out->why) && tn_i_cache_keep(k, work, path, out->why) && load(path, out);
    tn_i_cache_end(work);
    return ok;
}

static void set_plans(tn_i_plan *root, tn_i_native *n) {
    typedef tn_status native(const tn_i_plan *p, const tn_i_run *r, uintptr_t *frame);
    const void *const *plans = dlsym(n->library, "tansy_plans");
    for (size_t i = 0; i <= root->nnested; i++) {
        tn_i_plan *p = i ? root->nested[i - 1] : root;
        p->native = (native *)(uintptr_t)plans[i];
        p->table = n->table;
    }
}

static tn_status find_or_compile(tn_ctx *c, const tn_i_text *t, const machine *m, const tn_i_native_options *o,
                                 tn_i_native *out) {
    const char *name = o->cc ? o->cc : "cc";
    char cc[TN_I_PATH];
    struct stat s;
    uint64_t key[2];
    tn_i_cache k;
    const tn_status status = tn_i_cache_open(c, o->cache_dir, &k);
    if (status != TN_OK) return status;
    if (!find_compiler(name, cc, &s)) {
        (void)snprintf(out->why, sizeof out->why, "there is no compiler '%.200s'", name);
        return TN_OK;
    }
    make_key(t, cc, &s, m, key);
    if (tn_i_cache_find(&k, key) && load(k.file, out)) return TN_OK;
    (void)compile(&k, cc, m, t, out);
    return TN_OK;
}

tn_status tn_i_native_load(tn_ctx *c, tn_i_plan *root, const tn_i_native_options *o, tn_i_native *out) {
    const tn_i_isa isa = tn_i_isa_best();
    const machine *m = &machines[isa];
    tn_i_module module = {.ctx = c, .text = {.ctx = c}, .isa = isa, .bytes = m->bytes};
    tn_i_text text = {.ctx = c};
    *out = (tn_i_native){.library = NULL};
    (void)tn_i_module_address(&module, NULL);
    tn_status status = TN_ENOMEM;
    if (tn_i_emit_module(&module, root) && tn_i_module_text(&module, &text)) {
        module.table[TN_TABLE_STEP] = (const void *)(uintptr_t)tn_i_run_step;
        module.table[TN_TABLE_PRODUCT] = (const void *)(uintptr_t)tn_i_multiply_bare_at;
        module.table[TN_TABLE_LEAVE] = (const void *)(uintptr_t)tn_i_run_leave;
        module.table[TN_TABLE_GROUP_ENTER] = (const void *)(uintptr_t)tn_i_group_enter;
        module.table[TN_TABLE_GROUP_DISK] = (const void *)(uintptr_t)tn_i_group_disk;
        status = find_or_compile(c, &text, m, o, out);
    }
    if (status == TN_OK && out->library) {
        out->table = module.table;
        out->ntable = module.ctable;
        module.table = NULL;
        module.ctable = 0;
        out->why[0] = 0;
        set_plans(root, out);
    }
    tn_i_text_free(&text);
    tn_i_module_free(&module);
    return status;
}

void tn_i_native_drop(tn_ctx *c, tn_i_native *n) {
    if (n->library) (void)dlclose(n->library);
    tn_i_free(c, n->table, n->ntable * sizeof *n->table);
    *n = (tn_i_native){.library = NULL};
}
