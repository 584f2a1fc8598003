/* A program as the C that tn_emit_c writes, which the system's compiler made a library of. */
#include "general.h"

#include "tansy/emit.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool write_file(const char *path, const char *text, const char *more) {
    FILE *f = fopen(path, "w");
    if (!f) return false;
    const bool ok = fputs(text, f) >= 0 && fputs(more, f) >= 0;
    return fclose(f) == 0 && ok;
}

/* Every emitted function has parameters of its own: one that takes them as tn_call does. */
static void entry(const tn_fn *f, char *text, size_t room) {
    size_t k =
        (size_t)snprintf(text, room,
                         "\nint general_entry(const void *const *in, void *const *out, void *work);\n"
                         "size_t general_bytes(void);\nsize_t general_bytes(void) { return PROGRAM_WORK_BYTES; }\n"
                         "int general_entry(const void *const *in, void *const *out, void *work) {\n"
                         "    (void)in;\n    (void)out;\n    return program(");
    for (size_t i = 0; i < tn_fn_inputs(f) && k < room; i++) k += (size_t)snprintf(text + k, room - k, "in[%zu], ", i);
    for (size_t j = 0; j < tn_fn_outputs(f) && k < room; j++)
        k += (size_t)snprintf(text + k, room - k, "out[%zu], ", j);
    if (k < room) (void)snprintf(text + k, room - k, "work);\n}\n");
}

static void *compiled(const char *folder) {
    char command[400], library[100];
    const char *cc = getenv("BENCH_EMIT_CC");
    (void)snprintf(library, sizeof library, "%s/program.so", folder);
    (void)snprintf(command, sizeof command, "%s -std=c99 -march=native -shared -fPIC -o %s %s/program.c -lm",
                   cc ? cc : "cc -O3", library, folder);
    return system(command) == 0 ? dlopen(library, RTLD_NOW | RTLD_LOCAL) : NULL;
}

static void *library_of(const tn_fn *f, const char *source, const char *header) {
    char folder[] = "/tmp/general-XXXXXX", path[64], more[2000], command[80];
    void *library = NULL;
    if (!mkdtemp(folder)) return NULL;
    entry(f, more, sizeof more);
    (void)snprintf(path, sizeof path, "%s/program.h", folder);
    bool ok = write_file(path, header, "");
    (void)snprintf(path, sizeof path, "%s/program.c", folder);
    ok = ok && write_file(path, source, more);
    if (ok) library = compiled(folder);
    (void)snprintf(command, sizeof command, "rm -r %s", folder);
    if (!getenv("BENCH_EMIT_KEEP") && system(command) != 0) fprintf(stderr, "general: %s is left\n", folder);
    return library;
}

bool general_emit(const tn_fn *f, emitted *e) {
    const tn_emit_c_options o = {.size = sizeof o, .name = "program"};
    char *source = NULL, *header = NULL;
    *e = (emitted){.library = NULL};
    if (tn_emit_c(f, &o, &source, &header) != TN_OK) return false;
    e->library = library_of(f, source, header);
    tn_text_free(tn_fn_ctx(f), source);
    tn_text_free(tn_fn_ctx(f), header);
    if (!e->library) return false;
    size_t (*bytes)(void);
    *(void **)(void *)&bytes = dlsym(e->library, "general_bytes");
    *(void **)(void *)&e->run = dlsym(e->library, "general_entry");
    e->work = bytes && e->run ? aligned_alloc(64, (bytes() + 127) / 64 * 64) : NULL;
    return e->work != NULL;
}

void general_emit_free(emitted *e) {
    free(e->work);
    if (e->library) dlclose(e->library);
}
