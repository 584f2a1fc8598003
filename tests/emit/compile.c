/* Compiling what was written, as strictly as a compiler can be told to, and running it. */
#include "emit/written.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of one file; gcc takes more than linear time where it looks at lines again (-Wmisleading-indentation). */
enum { EACH = 250, BYTES = 1 << 20 };
/* Programs that compute more are compiled to be fast. */
#define MUCH 1e7

/* The external functions of the sampler: squares, 2 x d as jvp and vjp, and the derivatives of those. */
#define SQUARE(T, name)                                         \
    "int " name "(const void *const *in, void *const *out);\n"  \
    "int " name "(const void *const *in, void *const *out) {\n" \
    "    const " T " *x = in[0];\n    " T " *y = out[0];\n"     \
    "    for (int i = 0; i < 3; i++) y[i] = x[i] * x[i];\n    return 0;\n}\n"
#define SLOPE(T, name)                                                  \
    "int " name "(const void *const *in, void *const *out);\n"          \
    "int " name "(const void *const *in, void *const *out) {\n"         \
    "    const " T " *x = in[0], *d = in[1];\n    " T " *y = out[0];\n" \
    "    for (int i = 0; i < 3; i++) y[i] = 2 * x[i] * d[i];\n    return 0;\n}\n"
#define SLOPE_JVP(T, name)                                                              \
    "int " name "(const void *const *in, void *const *out);\n"                          \
    "int " name "(const void *const *in, void *const *out) {\n"                         \
    "    const " T " *x = in[0], *d = in[1], *dx = in[2], *dd = in[3];\n    " T         \
    " *y = out[0];\n    for (int i = 0; i < 3; i++) y[i] = 2 * (dx[i] * d[i] + x[i] * " \
    "dd[i]);\n    return 0;\n}\n"
#define SLOPE_VJP(T, name)                                                                     \
    "int " name "(const void *const *in, void *const *out);\n"                                 \
    "int " name "(const void *const *in, void *const *out) {\n"                                \
    "    const " T " *x = in[0], *d = in[1], *ct = in[2];\n    " T                             \
    " *cx = out[0], *cd = out[1];\n    for (int i = 0; i < 3; i++) cx[i] = 2 * ct[i] * d[i], " \
    "cd[i] = 2 * ct[i] * x[i];\n    return 0;\n}\n"
#define SAMPLE(T, name)           \
    SQUARE(T, name)               \
    SLOPE(T, name "_jvp")         \
    SLOPE(T, name "_vjp")         \
    SLOPE_JVP(T, name "_jvp_jvp") \
    SLOPE_JVP(T, name "_vjp_jvp") SLOPE_VJP(T, name "_jvp_vjp") SLOPE_VJP(T, name "_vjp_vjp")
static const char externals[] = SAMPLE("float", "sample_f32") SAMPLE("double", "sample_f64");

/* What print and progress call: on to the test. */
static const char hooks[] =
    "#ifndef TANSY_ARRAY\n#define TANSY_ARRAY\n#include <stdint.h>\ntypedef struct tansy_array {\n"
    "    const char *type;\n    int rank;\n    const int64_t *dim;\n    const void *data;\n} tansy_array;\n#endif\n"
    "extern void *emit_to;\nvoid *emit_to;\n"
    "typedef void tell(void *, int, const char *, const char *, int);\nextern tell *emit_tell;\ntell *emit_tell;\n"
    "typedef void tell_array(void *, const char *, int, const int64_t *, const void *);\n"
    "extern tell_array *emit_tell_array;\ntell_array *emit_tell_array;\n"
    "static int hear(int kind, const char *m, const char *f, int line, int n, const tansy_array *a) {\n"
    "    emit_tell(emit_to, kind, m, f, line);\n"
    "    for (int i = 0; i < n; i++) emit_tell_array(emit_to, a[i].type, a[i].rank, a[i].dim, a[i].data);\n"
    "    return 0;\n}\n"
    "int tansy_print(const char *m, const char *f, int line, int n, const tansy_array *a);\n"
    "int tansy_print(const char *m, const char *f, int line, int n, const tansy_array *a) {\n"
    "    return hear(0, m, f, line, n, a);\n}\n"
    "int tansy_progress(const char *m, const char *f, int line, int n, const tansy_array *a);\n"
    "int tansy_progress(const char *m, const char *f, int line, int n, const tansy_array *a) {\n"
    "    return hear(1, m, f, line, n, a);\n}\n";

/* Programs of one file. */
typedef struct part {
    size_t number[EACH], n, bytes;
    const char *blas, *name; /* options for it; NULL: none is called */
    const char *optimize;
} part;

static bool write_files(const emit_session *s, const part *k, const char *path) {
    char empty[512];
    (void)snprintf(empty, sizeof empty, "%s/empty.h", s->dir);
    FILE *none = fopen(empty, "w"), *file = fopen(path, "w");
    if (none) (void)fclose(none);
    if (!file) return false;
    (void)fputs(externals, file);
    (void)fputs(hooks, file);
    (void)fputs(emit_room, file);
    for (size_t i = 0; i < k->n; i++) (void)fputs(s->at[k->number[i]].text, file);
    return fclose(file) == 0;
}

/* As users would: with vectors, and the C library's functions of them. */
#ifdef __x86_64__
#define AS_USERS "-O3 -march=native"
#else
#define AS_USERS "-O3"
#endif

/* Without any of that. */
#define PLAINLY "-O0 -DTANSY_LIBMVEC=0 -DTANSY_FMA=0"

#define STRICT "-std=c99 -pedantic -Wall -Wextra -Werror"

static bool compiled(const emit_session *s, const part *k, const char *from, const char *to) {
    char command[2048];
    (void)snprintf(command, sizeof command, "%s " STRICT " %s -ffp-contract=off -fPIC -shared -I%s -o %s %s %s -lm",
                   s->cc, k->optimize, s->dir, to, from, k->blas ? k->blas : "");
    if (system(command) != 0) return false;
    if (!s->other) return true;
    (void)snprintf(command, sizeof command, "%s " STRICT " -fsyntax-only -Qunused-arguments -I%s %s %s", s->other,
                   s->dir, from, k->blas ? k->blas : "");
    return system(command) == 0;
}

/* ---- running ----------------------------------------------------------------------------------- */

typedef int caller(const void *const *in, void *const *out, void *work);
typedef void teller(void *to, int kind, const char *message, const char *file, int line);
typedef void array_teller(void *to, const char *type, int rank, const int64_t *dim, const void *data);

static void tell(void *to, int kind, const char *message, const char *file, int line) {
    emit_told_add(to, kind, message, file, line);
}

static void tell_array(void *to, const char *type, int rank, const int64_t *dim, const void *data) {
    emit_told_array(to, type, rank, dim, data);
}

static void listen(void *library, emit_told *told) {
    void **to = dlsym(library, "emit_to");
    teller **by = dlsym(library, "emit_tell");
    array_teller **array = dlsym(library, "emit_tell_array");
    if (!to || !by || !array) return;
    *to = told;
    *by = tell;
    *array = tell_array;
}

static bool same_told(emit_session *s, const emit_record *r, const emit_told *told) {
    const char *why = emit_told_differ(&r->told, told, r->tolerance);
    if (why) emit_wrong(s, r->what, why);
    return !why;
}

static void compare(emit_session *s, const emit_record *r, laws_array *y) {
    char why[200];
    for (uint32_t j = 0; j < r->nout; j++) {
        const double largest = laws_is_float(&y[j]) ? laws_largest(&r->y[j]) : 0;
        const int64_t i = laws_values_differ_more(&r->y[j], &y[j], r->tolerance, fmax(1e-3, 1e-3 * largest),
                                                  r->slack ? &r->slack[j] : NULL);
        if (i < 0) continue;
        (void)snprintf(why, sizeof why, "output %u, element %lld: %.17g and not %.17g", (unsigned)j, (long long)i,
                       laws_get(&y[j], i), laws_get(&r->y[j], i));
        emit_wrong(s, r->what, why);
        return;
    }
    s->passed++;
}

/* What a call of a program takes. */
typedef struct memory {
    laws_memory own;
    laws_array *y;
    const void **in;
    void **out;
    unsigned char *work;
    size_t bytes, room;
} memory;

static bool set_out(memory *m, const emit_record *r, size_t bytes) {
    *m = (memory){.bytes = bytes, .room = (bytes + 63) / 64 * 64};
    m->y = laws_alloc(&m->own, r->nout + 1u, sizeof *m->y);
    m->in = laws_alloc(&m->own, r->nin + 1u, sizeof *m->in);
    m->out = laws_alloc(&m->own, r->nout + 1u, sizeof *m->out);
    m->work = aligned_alloc(64, m->room + 64);
    if (!m->work) return false;
    memset(m->work, 0xFF, m->room + 64);
    for (uint32_t i = 0; i < r->nin; i++) m->in[i] = r->x[i].data;
    for (uint32_t j = 0; j < r->nout; j++) {
        m->y[j] = laws_new(&m->own, &r->y[j].type);
        memset(m->y[j].data, 0xA5, laws_bytes(&m->y[j]));
        m->out[j] = m->y[j].data;
    }
    return true;
}

static bool guarded(const memory *m) {
    bool whole = true;
    for (size_t k = m->bytes; k < m->room + 64; k++) whole &= m->work[k] == 0xFF;
    return whole;
}

/* Twice, unless that takes long, in a workspace that is full of ones at first, with a guard behind it. */
static void run(emit_session *s, const emit_record *r, size_t number, void *library) {
    char name[32];
    emit_told told = {.n = 0};
    memory m;
    caller *call;
    if (r->unrun) {
        s->passed++;
        return;
    }
    (void)snprintf(name, sizeof name, "call_%zu", number);
    *(void **)(void *)&call = dlsym(library, name);
    (void)snprintf(name, sizeof name, "bytes_%zu", number);
    const long *bytes = dlsym(library, name);
    if (!call || !bytes || !set_out(&m, r, (size_t)*bytes)) {
        emit_wrong(s, r->what, "is not in the library, or there is no memory");
        return;
    }
    listen(library, &told);
    int status = call(m.in, m.out, m.work);
    if (status == r->status && r->work < 10 * MUCH) emit_told_clear(&told), status = call(m.in, m.out, m.work);
    if (status != r->status)
        emit_wrong(s, r->what, status ? "returns a status" : "returns 0 and not a status");
    else if (!guarded(&m))
        emit_wrong(s, r->what, "writes behind the workspace");
    else if (status)
        s->passed++;
    else if (same_told(s, r, &told))
        compare(s, r, m.y);
    emit_told_free(&told);
    free(m.work);
    laws_memory_drop(&m.own);
}

/* Programs link with each other and with whatever else there is: theirs is one name each.  The rest is the test's. */
static void check_names(emit_session *s, const char *library) {
    char command[700], name[256];
    (void)snprintf(command, sizeof command, "nm -D --defined-only %s | sed 's/.* //'", library);
    FILE *f = popen(command, "r");
    size_t n = 0;
    while (f && fgets(name, sizeof name, f)) {
        name[strcspn(name, "\n")] = 0;
        n += strncmp(name, "case_", 5) == 0;
        static const char *const own[] = {"case_", "call_",       "bytes_",        "sample_f",
                                          "emit_", "tansy_print", "tansy_progress"};
        bool known = false;
        for (size_t i = 0; i < sizeof own / sizeof *own; i++) known |= strncmp(name, own[i], strlen(own[i])) == 0;
        if (!known) emit_wrong(s, name, "is not static");
    }
    if (!f || pclose(f) != 0 || !n) emit_wrong(s, library, "has no names that nm finds");
}

static void check_part(emit_session *s, const part *k) {
    char from[512], to[512];
    if (k->n == 0) return;
    (void)snprintf(from, sizeof from, "%s/%s%zu_%zu.c", s->dir, k->name, k->number[0], strlen(k->optimize));
    (void)snprintf(to, sizeof to, "%s/%s%zu_%zu.so", s->dir, k->name, k->number[0], strlen(k->optimize));
    if (!write_files(s, k, from) || !compiled(s, k, from, to)) {
        emit_wrong(s, from, "does not compile");
        return;
    }
    void *library = dlopen(to, RTLD_NOW);
    if (!library) {
        emit_wrong(s, to, dlerror());
        return;
    }
    check_names(s, to);
    for (size_t i = 0; i < k->n; i++) run(s, &s->at[k->number[i]], k->number[i], library);
    (void)dlclose(library);
}

/* Whether it is in the share. */
static bool chosen(const emit_session *s, size_t i) {
    return s->share < 2 || (s->at[i].first && (i + s->turn) % s->firsts == 0) ||
           tn_i_hash_u64(s->seed + s->turn, i) % s->share == 0;
}

/* Those that compute much, or the others; blas: only those that call it, with these options.  The first file is
 * optimized as users would. */
static void check_some(emit_session *s, const char *name, const char *blas, bool much) {
    part k = {.blas = blas, .name = name, .optimize = much || !blas ? AS_USERS : PLAINLY};
    for (size_t i = 0; i < s->n; i++) {
        if (s->at[i].cblas != (blas != NULL) || (s->at[i].work > MUCH) != much || !chosen(s, i)) continue;
        k.number[k.n++] = i;
        k.bytes += strlen(s->at[i].text);
        if (k.n < EACH && k.bytes < BYTES) continue;
        check_part(s, &k);
        k = (part){.blas = blas, .name = name, .optimize = much ? AS_USERS : PLAINLY};
    }
    check_part(s, &k);
}

static bool answers(const char *command) {
    char all[600];
    (void)snprintf(all, sizeof all, "%s >/dev/null 2>&1", command);
    return system(all) == 0;
}

/* Its header wants POSIX, which -std=c99 leaves out. */
#define BLIS "-D_POSIX_C_SOURCE=200809L -lblis"

/* A reference that looks at its arguments, and the BLAS that is installed, if it has this interface. */
void emit_check(emit_session *s) {
    static const char blis[] =
        "echo '#include <cblas.h>\nint main(void) { cblas_dgemm(CblasRowMajor, CblasNoTrans, "
        "CblasNoTrans, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 1); }' | cc -std=c99 -xc - -o /dev/null " BLIS;
    s->other = answers("clang-16 --version") ? "clang-16" : NULL;
    check_some(s, "plain", NULL, false);
    check_some(s, "plain", NULL, true);
    check_some(s, "reference", "-Itests/emit/blas", false);
    if (answers(blis)) {
        check_some(s, "blis", BLIS, false);
        check_some(s, "blis", BLIS, true);
    } else
        (void)printf("no cblas.h for the installed BLIS: products are checked with tests/emit/blas alone\n");
}
