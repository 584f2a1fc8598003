/* Native text, compiled by the system's compiler and loaded. */
#include "cgen/native.h"

#include "cgen/cache.h"
#include "cgen/cgen.h"
#include "cgen/compiler.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct job {
    tn_i_text text;
    const char *flags[24];
    uint64_t key[2];
} job;

/* ---- keys ------------------------------------------------------------------------------------ */

static uint64_t add_text(uint64_t h, const char *s) { return tn_i_hash(h, s, strlen(s)); }

static void make_key(job *j, const tn_i_compiler *cc) {
    for (int k = 0; k < 2; k++) {
        uint64_t h = tn_i_hash(k ? UINT64_C(0x5bd1e9955bd1e995) : 0, j->text.at, j->text.n);
        h = add_text(add_text(h, tn_version()), cc->path);
        h = tn_i_hash(h, cc->mark, sizeof cc->mark);
        for (int i = 0; j->flags[i]; i++) h = add_text(h, j->flags[i]);
        j->key[k] = h;
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
    if (!out->library || !dlsym(out->library, "tansy_programs")) {
        const char *said = dlerror();
        const char *reason = said ? strchr(said, ':') : NULL; /* behind the name */
        (void)snprintf(out->why, sizeof out->why, "what was compiled cannot be loaded%.300s", reason ? reason : "");
        if (out->library) (void)dlclose(out->library);
        out->library = NULL;
    }
    (void)close(fd);
    return out->library != NULL;
}

static bool compile_in(const tn_i_cache *k, const tn_i_work *w, const tn_i_compiler *cc, const job *j,
                       tn_i_native *out) {
    static const char *const what[] = {"-fPIC", "-shared", "-o", "program.so", "program.c", "-lm"};
    const char *argv[TN_I_ARGUMENTS] = {cc->path};
    int n = 1;
    if (!tn_i_file_write(w->dir, "program.c", j->text.at, j->text.n)) {
        (void)snprintf(out->why, sizeof out->why, "the program's text cannot be written");
        return false;
    }
    for (int i = 0; j->flags[i]; i++) argv[n++] = j->flags[i];
    for (size_t i = 0; i < sizeof what / sizeof *what; i++) argv[n++] = what[i];
    if (!tn_i_compiler_run(cc, w->dir, argv, out->why)) return false;
    const int fd = tn_i_cache_keep(k, w, out->why);
    return fd >= 0 && load(fd, j->key, out);
}

static void compile(const tn_i_cache *k, const tn_i_compiler *cc, const job *j, tn_i_native *out) {
    tn_i_work w;
    if (!tn_i_cache_begin(k, &w, out->why)) return;
    (void)compile_in(k, &w, cc, j, out);
    tn_i_cache_end(k, &w);
}

static tn_status find_or_compile(tn_ctx *c, job *j, const tn_i_native_options *o, tn_i_native *out) {
    tn_i_compiler cc = {.ctx = c, .seconds = o->cc_seconds};
    tn_i_cache k;
    const tn_status status = tn_i_cache_open(c, o, &k);
    if (status != TN_OK) return status;
    if (tn_i_compiler_find(o->cc ? o->cc : "cc", &cc, out->why)) {
        make_key(j, &cc);
        const int fd = tn_i_cache_find(&k, j->key);
        if (fd < 0 || !load(fd, j->key, out)) compile(&k, &cc, j, out);
    }
    tn_i_cache_close(&k);
    return TN_OK;
}

tn_status tn_i_native_load(tn_ctx *c, tn_i_cgen *g, const tn_i_native_options *o, tn_i_native *out) {
    job j = {.text = {.ctx = c}};
    *out = (tn_i_native){.library = NULL};
    tn_i_cgen_flags(g->isa, j.flags);
    const tn_status status = tn_i_cgen_file(g, &j.text) ? find_or_compile(c, &j, o, out) : TN_ENOMEM;
    if (status == TN_OK && out->library) {
        out->program = dlsym(out->library, "tansy_programs");
        out->table = g->table;
        out->ntable = g->ctable;
        g->table = NULL;
        g->ntable = g->ctable = 0;
        out->why[0] = 0;
    }
    tn_i_text_free(&j.text);
    return status;
}

void tn_i_native_drop(tn_ctx *c, tn_i_native *n) {
    if (n->library) (void)dlclose(n->library);
    tn_i_free(c, n->table, n->ntable * sizeof *n->table);
    *n = (tn_i_native){.library = NULL};
}
