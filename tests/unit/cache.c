/* Where native code is compiled and kept: who may decide of it, what stands in its way, what is left of it. */
#include "tracing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/auxv.h>
#endif

enum { PATH = 600 };
static const struct timespec moment = {0, 20000000};
static const uid_t nobody = 65534;

/* ---- programs ------------------------------------------------------------------------- */

static tn_val scaled(const tn_val *in, void *user) { return tn_mul(tn_sin(in[0]), *(const double *)user); }

/* Compiles and runs x -> by sin(x); which backend did. */
static int compute(double by, const tn_compile_options *options, char *why) {
    tn_compile_options o = options ? *options : (tn_compile_options){.size = sizeof o};
    double x = 1, y[2] = {0, 0};
    int ran = -1;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = tn_trace(c, scaled, &by, 1, TN_TYPES(tn_f64()));
    for (int native = 0; native < 2; native++) {
        o.size = sizeof o;
        o.backend = native ? TN_BACKEND_NATIVE : TN_BACKEND_DEFAULT;
        const char *said;
        tn_exec *e = tn_compile(f, &o);
        if (!e) fail_msg("%s", tn_error(c));
        assert_int_equal(tn_call(e, TN_INPUTS(&x), TN_OUTPUTS(&y[native])), TN_OK);
        ran = tn_exec_backend(e, &said);
        if (why) (void)snprintf(why, 512, "%s", said);
        tn_exec_free(e);
    }
    assert_true(y[0] == y[1]);
    tn_ctx_free(c);
    return ran;
}

static int run_in(const char *dir, double by) {
    char why[512];
    const int ran = compute(by, &(tn_compile_options){.cache_dir = dir}, why);
    if (ran != TN_BACKEND_NATIVE) print_message("%s\n", why);
    return ran;
}

/* Says why this directory is refused; "": it is not. */
static const char *refused(const char *dir) {
    static char said[512];
    const double by = 2;
    const tn_compile_options o = {.size = sizeof o, .backend = TN_BACKEND_NATIVE, .cache_dir = dir};
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = tn_trace(c, scaled, (void *)(uintptr_t)&by, 1, TN_TYPES(tn_f64()));
    tn_exec *e = tn_compile(f, &o);
    (void)snprintf(said, sizeof said, "%s", e ? "" : tn_error(c));
    if (!e) assert_int_equal(tn_last_status(c), TN_EINVAL);
    tn_exec_free(e);
    tn_ctx_free(c);
    return said;
}

#define assert_refused(dir, reason)                                                                    \
    do {                                                                                               \
        const char *why_ = refused(dir);                                                               \
        if (!strstr(why_, (reason))) fail_msg("'%s' is not refused as '%s': '%s'", dir, reason, why_); \
    } while (0)

/* ---- directories ------------------------------------------------------------------------- */

static char top[64]; /* of the test that runs */

static const char *in_top(const char *name) {
    static char path[4][PATH];
    static int next;
    next = (next + 1) % 4;
    (void)snprintf(path[next], PATH, "%s/%s", top, name);
    return path[next];
}

static int make_top(void **state) {
    (void)state;
    (void)snprintf(top, sizeof top, "/tmp/tansy-cache-XXXXXX");
    return mkdtemp(top) ? 0 : -1;
}

static void remove_all(const char *dir) {
    char path[PATH];
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        (void)snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        if (unlink(path) != 0) remove_all(path);
    }
    if (d) (void)closedir(d);
    (void)rmdir(dir);
}

static int remove_top(void **state) {
    (void)state;
    remove_all(top);
    return 0;
}

/* How many entries but . and .. */
static int entries(const char *dir, char last[PATH]) {
    int n = 0;
    DIR *d = opendir(dir);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        if (last) (void)snprintf(last, PATH, "%s/%s", dir, e->d_name);
        n++;
    }
    (void)closedir(d);
    return n;
}

static void make(const char *dir, mode_t mode) {
    assert_int_equal(mkdir(dir, 0700), 0);
    assert_int_equal(chmod(dir, mode), 0);
}

static void write_script(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    (void)fputs(text, f);
    (void)fclose(f);
    assert_int_equal(chmod(path, 0700), 0);
}

/* Whoever can put another directory in its place decides what is run. */
static void directories_on_the_way(void **state) {
    (void)state;
    make(in_top("a"), 0755);
    make(in_top("a/b"), 0700);
    assert_string_equal(refused(in_top("a/b")), "");
    assert_string_equal(refused(in_top("./a//../a/b/")), "");
    assert_int_equal(chmod(in_top("a"), 0777), 0);
    assert_refused(in_top("a/b"), "has 'a' on its way, which can be written to by others");
    assert_int_equal(chmod(in_top("a"), 0775), 0);
    assert_refused(in_top("a/b"), "on its way, which can be written to by others");
    assert_int_equal(chmod(in_top("a"), 01777), 0);
    assert_string_equal(refused(in_top("a/b")), "");
    assert_int_equal(chmod(in_top("a/b"), 01777), 0); /* not where programs are */
    assert_refused(in_top("a/b"), "' can be written to by others");
    assert_int_equal(chmod(in_top("a/b"), 0700), 0);
    assert_int_equal(symlink("a", in_top("link")), 0);
    assert_string_equal(refused(in_top("link/b")), "");
    assert_int_equal(symlink(in_top("link/b"), in_top("again")), 0);
    assert_string_equal(refused(in_top("again")), "");
    assert_int_equal(symlink("loop", in_top("loop")), 0);
    assert_refused(in_top("loop"), "is a symbolic link that cannot be followed");
    assert_refused(in_top("a/c"), "does not exist");
    assert_refused(in_top("c/b"), "has 'c' on its way, which does not exist");
    assert_refused("", "has no name");
    if (geteuid() != 0) return;
    assert_int_equal(lchown(in_top("link"), nobody, nobody), 0);
    assert_refused(in_top("link/b"), "has 'link' on its way, which belongs to another user");
    assert_refused(in_top("again"), "belongs to another user");
    assert_int_equal(chmod(in_top("a"), 0700), 0);
    assert_int_equal(chown(in_top("a"), nobody, nobody), 0);
    assert_refused(in_top("a/b"), "has 'a' on its way, which belongs to another user");
}

static void names_are_no_options(void **state) {
    (void)state;
    char here[PATH];
    assert_non_null(getcwd(here, sizeof here));
    make(in_top("-fplugin=x"), 0700);
    make(in_top("bin"), 0700);
    write_script(in_top("bin/cc"), "#!/bin/sh\nexec cc \"$@\"\n");
    assert_int_equal(chdir(top), 0);
    const int ran = compute(2, &(tn_compile_options){.cache_dir = "-fplugin=x", .cc = "bin/cc"}, NULL);
    const int n = entries("-fplugin=x", NULL);
    assert_int_equal(chdir(here), 0);
    assert_int_equal(ran, TN_BACKEND_NATIVE);
    assert_int_equal(n, 1);
}

/* What was looked at is what is used, whatever stands there by then. */
static void swapped_while_compiling(void **state) {
    (void)state;
    char script[3 * PATH];
    make(in_top("a"), 0700);
    (void)snprintf(script, sizeof script, "#!/bin/sh\nmv %s/a %s/b && mkdir -m 777 %s/a && exec cc \"$@\"\n", top, top,
                   top);
    write_script(in_top("cc"), script);
    assert_int_equal(compute(2, &(tn_compile_options){.cache_dir = in_top("a"), .cc = in_top("cc")}, NULL),
                     TN_BACKEND_NATIVE);
    assert_int_equal(entries(in_top("a"), NULL), 0);
    assert_int_equal(entries(in_top("b"), NULL), 1);
}

/* Two programs that are loaded from descriptors of one number are two. */
static void programs_at_once(void **state) {
    (void)state;
    enum { N = 5 };
    tn_ctx *c = tn_ctx_new(NULL);
    tn_exec *e[2][N];
    for (int time = 0; time < 2; time++)
        for (int i = 0; i < N; i++) {
            double by = i;
            tn_fn *f = tn_trace(c, scaled, &by, 1, TN_TYPES(tn_f64()));
            e[time][i] =
                tn_compile(f, &(tn_compile_options){
                                  .size = sizeof(tn_compile_options), .backend = TN_BACKEND_NATIVE, .cache_dir = top});
            if (!e[time][i]) fail_msg("%s", tn_error(c));
            assert_int_equal(tn_exec_backend(e[time][i], NULL), TN_BACKEND_NATIVE);
        }
    assert_int_equal(entries(top, NULL), N);
    for (int time = 0; time < 2; time++)
        for (int i = 0; i < N; i++) {
            double x = 1, y = -1, first = 0;
            assert_int_equal(tn_call(e[time][i], TN_INPUTS(&x), TN_OUTPUTS(&y)), TN_OK);
            assert_int_equal(tn_call(e[time][1], TN_INPUTS(&x), TN_OUTPUTS(&first)), TN_OK);
            assert_true(y == i * first);
        }
    tn_ctx_free(c);
}

/* ---- what stands in the way ----------------------------------------------------------------- */

/* In a program's place is what would block, or never end. */
static void no_files(void **state) {
    (void)state;
    char name[PATH];
    make(in_top("a"), 0700);
    (void)alarm(60);
    for (int kind = 0; kind < 4; kind++) {
        assert_int_equal(run_in(in_top("a"), 2), TN_BACKEND_NATIVE);
        assert_int_equal(entries(in_top("a"), name), 1);
        assert_int_equal(unlink(name), 0);
        if (kind == 0) assert_int_equal(mkfifo(name, 0600), 0);
        if (kind == 1) assert_int_equal(symlink("/dev/zero", name), 0);
        if (kind == 2) make(name, 0700);
        if (kind == 3) assert_int_equal(symlink("elsewhere", name), 0);
        assert_int_equal(run_in(in_top("a"), 2), TN_BACKEND_NATIVE);
        (void)rmdir(name);
    }
    char why[512];
    assert_int_equal(mkfifo(in_top("cc"), 0700), 0);
    assert_int_not_equal(compute(3, &(tn_compile_options){.cache_dir = in_top("a"), .cc = in_top("cc")}, why),
                         TN_BACKEND_NATIVE);
    assert_non_null(strstr(why, "there is no compiler"));
    write_script(in_top("made"), "#!/bin/sh\nmkfifo program.so messages2\nrm messages\nmkfifo messages\n");
    assert_int_not_equal(compute(3, &(tn_compile_options){.cache_dir = in_top("a"), .cc = in_top("made")}, why),
                         TN_BACKEND_NATIVE);
    assert_non_null(strstr(why, "cannot be read"));
    write_script(in_top("failed"), "#!/bin/sh\nrm messages\nmkfifo messages\nexit 1\n");
    assert_int_not_equal(compute(3, &(tn_compile_options){.cache_dir = in_top("a"), .cc = in_top("failed")}, why),
                         TN_BACKEND_NATIVE);
    assert_non_null(strstr(why, "the compiler failed"));
    (void)alarm(0);
}

static bool is_gone(const char *file) {
    long pid = 0;
    FILE *f = fopen(file, "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%ld", &pid), 1);
    (void)fclose(f);
    for (int i = 0; i < 200; i++) { /* whoever adopted it has yet to hear of it */
        char line[64] = "";
        (void)snprintf(line, sizeof line, "/proc/%ld/stat", pid);
        FILE *s = fopen(line, "r");
        char how = 'X';
        if (s) {
            if (fscanf(s, "%*d (%*[^)]) %c", &how) != 1) how = 'X';
            (void)fclose(s);
        }
        if (how == 'X' || how == 'Z') return true;
        (void)nanosleep(&moment, NULL);
    }
    return false;
}

/* With all that it started. */
static void endless_compiler(void **state) {
    (void)state;
    char script[3 * PATH], why[512];
    make(in_top("a"), 0700);
    (void)snprintf(script, sizeof script,
                   "#!/bin/sh\nsleep 1000 &\necho $! >%s/first\necho $$ >%s/second\nsleep 1000\n", top, top);
    write_script(in_top("cc"), script);
    (void)alarm(100);
    assert_int_not_equal(
        compute(2, &(tn_compile_options){.cache_dir = in_top("a"), .cc = in_top("cc"), .cc_seconds = 1}, why),
        TN_BACKEND_NATIVE);
    (void)alarm(0);
    assert_ptr_equal(strstr(why, "the compiler took longer than 1 s"), why);
    assert_true(is_gone(in_top("first")) && is_gone(in_top("second")));
    assert_int_equal(entries(in_top("a"), NULL), 0);
}

static void options_that_are_refused(void **state) {
    (void)state;
    const double by = 2;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = tn_trace(c, scaled, (void *)(uintptr_t)&by, 1, TN_TYPES(tn_f64()));
    assert_null(tn_compile(f, &(tn_compile_options){.size = sizeof(tn_compile_options), .cc_seconds = -1}));
    assert_non_null(strstr(tn_error(c), "cc_seconds"));
    assert_null(tn_compile(f, &(tn_compile_options){.size = sizeof(tn_compile_options), .spill_dir = ""}));
    assert_int_equal(tn_last_status(c), TN_EINVAL);
    assert_non_null(strstr(tn_error(c), "spill_dir is empty"));
    tn_ctx_free(c);
}

/* ---- what is left ----------------------------------------------------------------------------- */

/* Of a process that died while it compiled; a living one's stays. */
static void left_by_the_dead(void **state) {
    (void)state;
    make(in_top("a"), 0700);
    make(in_top("a/.work-dead"), 0700);
    make(in_top("a/.work-living"), 0700);
    make(in_top("a/others"), 0700);
    write_script(in_top("a/.work-dead/program.c"), "int x;");
    write_script(in_top("a/.work-dead/cc123.s"), "");
    const int fd = open(in_top("a/.work-living"), O_RDONLY | O_DIRECTORY);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    assert_int_equal(run_in(in_top("a"), 2), TN_BACKEND_NATIVE);
    assert_int_equal(access(in_top("a/.work-dead"), F_OK), -1);
    assert_int_equal(access(in_top("a/.work-living"), F_OK), 0);
    assert_int_equal(access(in_top("a/others"), F_OK), 0);
    (void)close(fd);
    assert_int_equal(run_in(in_top("a"), 3), TN_BACKEND_NATIVE);
    assert_int_equal(access(in_top("a/.work-living"), F_OK), -1);
}

static off_t size_of(const char *dir) {
    char name[PATH];
    struct stat s;
    assert_int_equal(entries(dir, name), 1);
    assert_int_equal(stat(name, &s), 0);
    return s.st_size;
}

/* Above the limit those go that were not used longest. */
static void old_programs(void **state) {
    (void)state;
    struct stat s;
    char first[PATH];
    make(in_top("a"), 0700);
    assert_int_equal(run_in(in_top("a"), 1), TN_BACKEND_NATIVE);
    const tn_compile_options o = {.cache_dir = in_top("a"), .cache_bytes = (size_t)size_of(in_top("a")) * 5 / 2};
    (void)entries(in_top("a"), first);
    write_script(in_top("a/notes.so"), "not one of ours");
    for (int i = 2; i < 5; i++) {
        (void)nanosleep(&moment, NULL);
        assert_int_equal(compute(i, &o, NULL), TN_BACKEND_NATIVE);
        assert_int_equal(compute(1, &o, NULL), TN_BACKEND_NATIVE);
        assert_int_equal(entries(in_top("a"), NULL), 3);
        assert_int_equal(stat(first, &s), 0); /* used all the time */
    }
    assert_int_equal(access(in_top("a/notes.so"), F_OK), 0);
}

/* ---- more rights than the caller ------------------------------------------------------------------ */

enum { NOT_RAISED = 77 };

static int run_raised(void) {
#ifdef __linux__
    if (!getauxval(AT_SECURE)) return NOT_RAISED;
    return compute(2, NULL, NULL) != TN_BACKEND_NATIVE && access("/usr/bin/cc", X_OK) == 0;
#else
    return NOT_RAISED;
#endif
}

static bool copy_self(const char *to) {
    static char block[1 << 16];
    FILE *in = fopen("/proc/self/exe", "rb"), *out = fopen(to, "wb");
    size_t n;
    while (in && out && (n = fread(block, 1, sizeof block, in)) > 0) (void)fwrite(block, 1, n, out);
    const bool ok = in && out;
    if (in) (void)fclose(in);
    return out && fclose(out) == 0 && ok;
}

/* Another user, or another group of this user's, to run it as. */
static bool give_rights(const char *program) {
    gid_t group[64];
    if (geteuid() == 0) return chown(program, nobody, nobody) == 0 && chmod(program, 04755) == 0;
    for (int i = 0, n = getgroups(64, group); i < n; i++)
        if (group[i] != getegid()) return chown(program, (uid_t)-1, group[i]) == 0 && chmod(program, 02755) == 0;
    return false;
}

/* Nothing of what the caller's environment names is run or written to. */
static void more_rights_than_the_caller(void **state) {
    (void)state;
    char script[2 * PATH];
    assert_int_equal(chmod(top, 0755), 0);
    make(in_top("home"), 0777);
    make(in_top("cache"), 0777);
    make(in_top("temp"), 01777);
    make(in_top("bin"), 0755);
    make(in_top("was"), 0777);
    (void)snprintf(script, sizeof script,
                   "#!/bin/sh\ntouch %s/was/here-$(basename $0)\nexec /usr/bin/$(basename $0) \"$@\"\n", top);
    static const char *const programs[] = {"bin/cc", "bin/as", "bin/ld"};
    for (int i = 0; i < 3; i++) {
        write_script(in_top(programs[i]), script);
        assert_int_equal(chmod(in_top(programs[i]), 0755), 0);
    }
    assert_true(copy_self(in_top("program")));
    if (!give_rights(in_top("program"))) skip();
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)setenv("PATH", in_top("bin"), 1);
        (void)setenv("COMPILER_PATH", in_top("bin"), 1);
        (void)setenv("HOME", in_top("home"), 1);
        (void)setenv("XDG_CACHE_HOME", in_top("cache"), 1);
        (void)setenv("TMPDIR", in_top("temp"), 1);
        (void)execl(in_top("program"), "program", "raised", (char *)NULL);
        _exit(127);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == NOT_RAISED || WEXITSTATUS(status) == 127) skip();
    assert_int_equal(WEXITSTATUS(status), 0);
    static const char *const untouched[] = {"home", "cache", "temp", "was"};
    for (int i = 0; i < 4; i++) assert_int_equal(entries(in_top(untouched[i]), NULL), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_top, remove_top)

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        TEST(directories_on_the_way),
        TEST(names_are_no_options),
        TEST(swapped_while_compiling),
        TEST(programs_at_once),
        TEST(no_files),
        TEST(endless_compiler),
        TEST(options_that_are_refused),
        TEST(left_by_the_dead),
        TEST(old_programs),
        TEST(more_rights_than_the_caller),
    };
    if (argc > 1 && strcmp(argv[1], "raised") == 0) return run_raised();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
