/* The native backend: a plan's C text, compiled by the system's compiler and loaded.
 *
 * The compiler is started with a vector of arguments; no shell sees them, and the program's text only as a file.  What
 * cannot be done, as where there is no compiler, is no error: the interpreter computes the same bits. */
#include "exec/native.h"

#include "emit/cache.h"
#include "emit/compiler.h"
#include "emit/emit.h"
#include "exec/profile.h"
#include "vec/vec.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

/* ---- keys ------------------------------------------------------------------------------------ */

static uint64_t add_text(uint64_t h, const char *s) { return tn_i_hash(h, s, strlen(s)); }

static void make_key(const tn_i_text *t, const tn_i_compiler *cc, const machine *m, uint64_t key[2]) {
    for (int k = 0; k < 2; k++) {
        uint64_t h = tn_i_hash(k ? UINT64_C(0x5bd1e9955bd1e995) : 0, t->at, t->n);
        h = add_text(add_text(h, tn_version()), cc->path);
        h = tn_i_hash(h, cc->mark, sizeof cc->mark);
        for (int i = 0; flags[i]; i++) h = add_text(h, flags[i]);
        for (int i = 0; m->flags[i]; i++) h = add_text(h, m->flags[i]);
        key[k] = h;
    }
}

/* ---- loading ----------------------------------------------------------------------------------- */

/* The loader gives what it has already loaded by a name, and a descriptor's number is soon another file's: so the name
 * says the key as well, a slash or a slash and a dot for each bit. */
static void name_descriptor(int fd, const uint64_t key[2], char path[TN_I_PATH]) {
    size_t n = (size_t)snprintf(path, TN_I_PATH, "/proc/self/fd");
    for (int bit = 0; bit < 128; bit++) {
        path[n++] = '/';
        if (key[bit / 64] >> bit % 64 & 1) path[n++] = '.';
    }
    (void)snprintf(path + n, TN_I_PATH - n, "/%d", fd);
}

/* The file that was read, whatever stands in its place by now; closes it. */
static bool load(int fd, const uint64_t key[2], tn_i_native *out) {
    char path[TN_I_PATH];
    name_descriptor(fd, key, path);
    out->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!out->library || !dlsym(out->library, "tansy_plans")) {
        const char *said = dlerror();
        const char *reason = said ? strchr(said, ':') : NULL; /* behind the name */
        (void)snprintf(out->why, sizeof out->why, "what was compiled cannot be loaded%.300s", reason ? reason : "");
        if (out->library) (void)dlclose(out->library);
        out->library = NULL;
    }
    (void)close(fd);
    return out->library != NULL;
}

static bool compile_in(const tn_i_cache *k, const tn_i_work *w, const tn_i_compiler *cc, const machine *m,
                       const tn_i_text *t, const uint64_t key[2], tn_i_native *out) {
    const char *argv[TN_I_ARGUMENTS] = {cc->path};
    int n = 1;
    if (!tn_i_file_write(w->dir, "program.c", t->at, t->n)) {
        (void)snprintf(out->why, sizeof out->why, "the program's text cannot be written");
        return false;
    }
    for (int i = 0; flags[i]; i++) argv[n++] = flags[i];
    for (int i = 0; m->flags[i]; i++) argv[n++] = m->flags[i];
    argv[n++] = "-o";
    argv[n++] = "program.so";
    argv[n++] = "program.c";
    argv[n++] = "-lm";
    if (!tn_i_compiler_run(cc, w->dir, argv, out->why)) return false;
    const int fd = tn_i_cache_keep(k, w, out->why);
    return fd >= 0 && load(fd, key, out);
}

static bool compile(const tn_i_cache *k, const tn_i_compiler *cc, const machine *m, const tn_i_text *t,
                    const uint64_t key[2], tn_i_native *out) {
    tn_i_work w;
    if (!tn_i_cache_begin(k, &w, out->why)) return false;
    const bool ok = compile_in(k, &w, cc, m, t, key, out);
    tn_i_cache_end(k, &w);
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
    tn_i_compiler cc = {.ctx = c, .seconds = o->cc_seconds};
    uint64_t key[2];
    tn_i_cache k;
    const tn_status status = tn_i_cache_open(c, o, &k);
    if (status != TN_OK) return status;
    if (tn_i_compiler_find(o->cc ? o->cc : "cc", &cc, out->why)) {
        make_key(t, &cc, m, key);
        const int fd = tn_i_cache_find(&k, key);
        if (fd < 0 || !load(fd, key, out)) (void)compile(&k, &cc, m, t, key, out);
    }
    tn_i_cache_close(&k);
    return TN_OK;
}

tn_status tn_i_native_load(tn_ctx *c, tn_i_plan *root, const tn_i_native_options *o, tn_i_native *out) {
    const tn_i_isa isa = tn_i_isa_best();
    const machine *m = &machines[isa];
    tn_i_module module = {.ctx = c, .text = {.ctx = c}, .isa = isa, .bytes = m->bytes, .profile = o->profile};
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
        module.table[TN_TABLE_NOTE_ENTER] = (const void *)(uintptr_t)tn_i_profile_enter;
        module.table[TN_TABLE_NOTE_LEAVE] = (const void *)(uintptr_t)tn_i_profile_leave;
        module.table[TN_TABLE_NOTE_STEPS] = (const void *)(uintptr_t)tn_i_profile_steps;
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
