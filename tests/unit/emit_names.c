/* Programs as C beside others: what names they take, and what text of the user's may say.  (That all functions but the
 * program's are static is seen of every primitive in tests/emit.) */
#include "amount.h"
#include "tracing.h"

#include <tansy/emit.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char dir[] = "/tmp/tansy-emit-XXXXXX";

static int make_dir(void **state) {
    (void)state;
    return mkdtemp(dir) ? 0 : -1;
}
static int remove_dir(void **state) {
    char command[100];
    (void)state;
    (void)snprintf(command, sizeof command, "rm -r %s", dir);
    return system(command);
}

static void write_text(const char *name, const char *end, const char *text) {
    char path[200];
    (void)snprintf(path, sizeof path, "%s/%s%s", dir, name, end);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    (void)fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

/* NAME.c and NAME.h of a program's text, traced at `place`. */
static tn_status emit_at(const char *text, const char *place, const tn_emit_c_options *o, char message[512]) {
    char *source = NULL, *header = NULL;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = tn_fn_parse(c, text, strlen(text), place);
    if (!f) fail_msg("%s", tn_error(c));
    const tn_status status = tn_emit_c(f, o, &source, &header);
    if (message) (void)snprintf(message, 512, "%s", status == TN_OK ? "" : tn_error(c));
    if (status == TN_OK) {
        write_text(o->name, ".c", source);
        write_text(o->header ? o->header : o->name, o->header ? "" : ".h", header);
    }
    tn_text_free(c, source);
    tn_text_free(c, header);
    tn_ctx_free(c);
    return status;
}

static void emit(const char *text, const char *name) {
    char message[512];
    const tn_emit_c_options o = {.size = sizeof o, .name = name};
    if (emit_at(text, "text", &o, message) != TN_OK) fail_msg("%s: %s", name, message);
}

static bool runs(const char *command) { return system(command) == 0; }

#define STRICT "-std=c99 -pedantic -Wall -Wextra -Werror -I%s "

/* NAME.c to NAME.o, by both compilers. */
static void compile(const char *name) {
    static const char *const cc[] = {"cc", "gcc", "clang-16", "clang"};
    char command[600];
    int n = 0;
    for (size_t i = 0; i < sizeof cc / sizeof *cc; i++) {
        if (!in_share(i, 2)) continue; /* two names are mostly one compiler */
        (void)snprintf(command, sizeof command, "%s --version >/dev/null 2>&1", cc[i]);
        if (!runs(command)) continue;
        (void)snprintf(command, sizeof command, "%s " STRICT "-c -o %s/%s.o %s/%s.c", cc[i], dir, dir, name, dir, name);
        if (!runs(command)) fail_msg("%s", command);
        n++;
    }
    assert_true(n > 0);
}

/* ---- linking -------------------------------------------------------------------------- */

/* What needs functions that the C library lacks, shared by several primitives. */
static const char *const many[] = {
    "{ lambda x:f64[7] . let y = logistic x in (y,) }",
    "{ lambda x:f32[7] . let y = logistic x in (y,) }",
    "{ lambda x:f64[7] . let y = lgamma x in (y,) }",
    "{ lambda x:f64[7] . let y = digamma x in (y,) }",
    "{ lambda x:f64[7] . let y = erf_inv x in (y,) }",
    "{ lambda x:f64[7] . let y = logistic x  z = lgamma y  u = digamma z  v = erf_inv u in (v,) }",
    "{ lambda x:f64[7] . let y = sort[dimension=0 is_stable=True num_keys=1] x in (y,) }",
    "{ lambda x:f64[3,3] . let y = cholesky x in (y,) }",
    "{ lambda x:f64[1000] . let y = reduce_sum[axes=(0,)] x in (y,) }",
    "{ lambda x:f64[1000] . let y = reduce_max[axes=(0,)] x in (y,) }",
};
enum { MANY = sizeof many / sizeof *many };

/* Each twice, under two names; in one program, and with the library. */
static void many_link(void **state) {
    (void)state;
    char name[32], command[600], library[400] = "", text[4000] = "";
    for (int i = 0; i < 2 * MANY; i++) {
        (void)snprintf(name, sizeof name, "many_%d", i);
        emit(many[i % MANY], name);
        compile(name);
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "#include \"%s.h\"\n", name);
    }
    (void)snprintf(text + strlen(text), sizeof text - strlen(text), "int main(void) { return !(");
    for (int i = 0; i < 2 * MANY; i++)
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%smany_%d", i ? " && " : "", i);
    (void)snprintf(text + strlen(text), sizeof text - strlen(text), "); }\n");
    write_text("uses", ".c", text);
    (void)snprintf(command, sizeof command, "cc -std=c99 -I%s -o %s/uses %s/uses.c %s/many_*.o -lm && %s/uses", dir,
                   dir, dir, dir, dir);
    assert_true(runs(command));
    ssize_t n = readlink("/proc/self/exe", library, sizeof library - 30);
    for (int up = 0; n > 0 && up < 2; up++) *strrchr(library, '/') = 0;
    (void)strcat(library, "/libtansy.a");
    if (n <= 0 || access(library, R_OK) != 0) return;
    (void)snprintf(command, sizeof command, "ld -r -o %s/all.o %s/many_*.o --whole-archive %s", dir, dir, library);
    assert_true(runs(command));
}

/* ---- names -------------------------------------------------------------------------------- */

static const char sine[] = "{ lambda x:f64[7] . let y = sin x in (y,) }";

static void refused(const char *text, const tn_emit_c_options *o, const char *reason) {
    char message[512];
    assert_int_equal(emit_at(text, "text", o, message), TN_EINVAL);
    if (!strstr(message, reason)) fail_msg("'%s' does not say '%s'", message, reason);
}

static void names_of_others(void **state) {
    (void)state;
    static const char *const taken[] = {"auto",    "double",  "restrict", "inline", "_Bool",  "class",    "template",
                                        "sin",     "sinf",    "lgamma",   "printf", "malloc", "strlen",   "memcpy",
                                        "int64_t", "NULL",    "main",     "linux",  "errno",  "y0",       "read",
                                        "write",   "",        "1st",      "a-b",    "a b",    "\xc3\xa9", "_x",
                                        "__x",     "tansy_f", "tansy",    "a\nb",   "exit"};
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        refused(sine, &(tn_emit_c_options){.size = sizeof(tn_emit_c_options), .name = taken[i]},
                "is no name for a function");
    static const char *const fine[] = {"f",      "x",   "s",    "w",  "in",    "out", "work",
                                       "status", "in0", "out0", "v0", "total", "step"};
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) {
        emit(many[i % MANY], fine[i]);
        compile(fine[i]);
    }
    refused(many[3], &(tn_emit_c_options){.size = sizeof(tn_emit_c_options), .name = "digamma_near_root"}, "one name");
}

/* ---- the user's text ---------------------------------------------------------------------------- */

/* In comments and strings it stays there, and says what it said. */
static void places_and_messages(void **state) {
    (void)state;
    static const char *const place[] = {"*/ int bad; /*", "?\?/", "a\\",   "a\nb.c", "// x", "/*",
                                        "\xff\xfe",       "*",    "\"q\"", "%s%n"};
    static const char text[] =
        "{ lambda x:f64[3] . let y = sin x  () = print[message=\"a?\?/\\\\ \\\"q\\\" %%s */ /* \\n end\"] y in (y,) }";
    char name[32];
    for (size_t i = 0; i < sizeof place / sizeof *place; i++) {
        (void)snprintf(name, sizeof name, "place_%zu", i);
        const tn_emit_c_options o = {.size = sizeof o, .name = name};
        char message[512];
        if (emit_at(text, place[i], &o, message) != TN_OK) fail_msg("%s", message);
        compile(name);
    }
}

static void headers(void **state) {
    (void)state;
    static const char *const bad[] = {"",       "a\".h", "a\n#error x\n.h", "a\\b.h", "a//b.h",
                                      "a/*b.h", "a'.h",  "a?\?/b.h",        "\x7f"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refused(sine, &(tn_emit_c_options){.size = sizeof(tn_emit_c_options), .name = "f", .header = bad[i]},
                "#include does not admit");
    static const char *const good[] = {"a.h", "a*.h", "a b.h", "*.h", "a%s.h", "\xc3\xa9.h"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        const tn_emit_c_options o = {.size = sizeof o, .name = "headed", .header = good[i]};
        char message[512];
        if (emit_at(sine, "text", &o, message) != TN_OK) fail_msg("%s", message);
        compile("headed");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_link),
        cmocka_unit_test(names_of_others),
        cmocka_unit_test(places_and_messages),
        cmocka_unit_test(headers),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
