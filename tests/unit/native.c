/* The native backend: its cache on disk, and what happens without a compiler.  (That it computes the
 * bits of the other back ends is a law: tests/laws/native.c.) */
#include "compiled.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 1003 };

static tn_val chain(const tn_val *in, void *user) {
    (void)user;
    return tn_sum(tn_tanh(tn_add(tn_mul(tn_sin(in[0]), in[0]), 0.5)));
}

static tn_fn *traced(tn_ctx *c) {
    tn_fn *f = tn_trace(c, chain, NULL, 1, TN_TYPES(tn_f64(N)));
    tn_fn *g = f ? tn_value_and_grad(f, tn_wrt(0), NULL) : NULL;
    if (!g) fail_msg("%s", tn_error(c));
    return g;
}

/* ---- directories ------------------------------------------------------------------ */

static void make_dir(char *dir, size_t n) {
    (void)snprintf(dir, n, "/tmp/tansy-native-XXXXXX");
    assert_non_null(mkdtemp(dir));
}

/* How many entries, and the name of the last. */
static int entries(const char *dir, char *name, size_t n) {
    DIR *d = opendir(dir);
    int count = 0;
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));)
        if (e->d_name[0] != '.' || strlen(e->d_name) > 2) {
            count++;
            if (name) (void)snprintf(name, n, "%s/%s", dir, e->d_name);
        }
    (void)closedir(d);
    return count;
}

static void remove_dir(const char *dir) {
    char name[512];
    (void)chmod(dir, 0700);
    while (entries(dir, name, sizeof name)) assert_int_equal(unlink(name), 0);
    assert_int_equal(rmdir(dir), 0);
}

/* ---- running ------------------------------------------------------------------------- */

static double x[N], dx[2][N], y[2];

/* Runs it by one backend; returns the one that ran. */
static int run_by(tn_ctx *c, const tn_fn *f, int backend, const char *cc, const char *dir, int at, char *why) {
    const tn_compile_options o = {.size = sizeof o, .backend = backend, .cc = cc, .cache_dir = dir};
    const char *said;
    tn_exec *e = tn_compile(f, &o);
    if (!e) fail_msg("%s", tn_error(c));
    for (int i = 0; i < N; i++) x[i] = cos(i);
    assert_int_equal(tn_call(e, TN_INPUTS(x), TN_OUTPUTS(&y[at], dx[at])), TN_OK);
    const int ran = tn_exec_backend(e, &said);
    if (why) (void)snprintf(why, 512, "%s", said);
    tn_exec_free(e);
    return ran;
}

static void same(void) {
    assert_memory_equal(&y[0], &y[1], sizeof y[0]);
    assert_memory_equal(dx[0], dx[1], sizeof dx[0]);
}

/* Functions of vectors that are chosen element by element: numbers on both sides of where they change. */
static tn_val chosen(const tn_val *in, void *user) {
    (void)user;
    const tn_val large = tn_mul(in[0], tn_exp(tn_mul(tn_abs(in[0]), 40.0)));
    return tn_add(tn_lgamma(tn_mul(in[0], 12.0)), tn_add(tn_sin(large), tn_cos(large)));
}

static void functions_of_elements(void **state) {
    (void)state;
    for (int size = 1; size <= N; size += size < 40 ? 1 : N - 40)
        for (int single = 0; single < 2; single++) {
            static float xf[N], yf[2][N];
            static double xd[N], yd[2][N];
            if (size > 3 && size < 35) size = 35;
            tn_ctx *c = checked();
            const tn_type t = single ? tn_f32(size) : tn_f64(size);
            tn_fn *f = tn_trace(c, chosen, NULL, 1, &t);
            if (!f) fail_msg("%s", tn_error(c));
            for (int i = 0; i < size; i++) xd[i] = cos(i), xf[i] = (float)xd[i];
            for (int native = 0; native < 2; native++) {
                const tn_compile_options o = {.size = sizeof o,
                                              .backend = native ? TN_BACKEND_NATIVE : TN_BACKEND_DEFAULT};
                tn_exec *e = tn_compile(f, &o);
                if (!e) fail_msg("%s", tn_error(c));
                assert_int_equal(tn_call(e, TN_INPUTS(single ? (void *)xf : (void *)xd),
                                         TN_OUTPUTS(single ? (void *)yf[native] : (void *)yd[native])),
                                 TN_OK);
                tn_exec_free(e);
            }
            if (single)
                assert_memory_equal(yf[0], yf[1], (size_t)size * sizeof(float));
            else
                assert_memory_equal(yd[0], yd[1], (size_t)size * sizeof(double));
            for (int i = 0; i < size; i++) assert_true(single || fabs(yd[0][i]) < 1e3);
            tn_ctx_free(c);
        }
}

static void runs_and_is_kept(void **state) {
    (void)state;
    char dir[64], why[512];
    make_dir(dir, sizeof dir);
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = traced(c);
    if (run_by(c, f, TN_BACKEND_DEFAULT, NULL, NULL, 0, why) == TN_BACKEND_ASSEMBLER) assert_string_equal(why, "");
    for (int time = 0; time < 2; time++) {
        assert_int_equal(run_by(c, f, TN_BACKEND_NATIVE, NULL, dir, 1, why), TN_BACKEND_NATIVE);
        assert_string_equal(why, "");
        same();
        assert_int_equal(entries(dir, NULL, 0), 1);
    }
    assert_int_equal(tn_exec_backend(NULL, NULL), -1);
    tn_ctx_free(c);
    remove_dir(dir);
}

static void without_a_compiler(void **state) {
    (void)state;
    char dir[64], why[512];
    make_dir(dir, sizeof dir);
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = traced(c);
    const int otherwise = run_by(c, f, TN_BACKEND_DEFAULT, NULL, NULL, 0, NULL);
    assert_int_equal(run_by(c, f, TN_BACKEND_NATIVE, "no-such-compiler", dir, 1, why), otherwise);
    assert_non_null(strstr(why, "no-such-compiler"));
    same();
    assert_int_equal(run_by(c, f, TN_BACKEND_NATIVE, "false", dir, 1, why), otherwise);
    assert_non_null(strstr(why, "the compiler failed"));
    same();
    assert_int_equal(entries(dir, NULL, 0), 0); /* and nothing is left behind */
    /* A name is a name: no shell reads it. */
    assert_int_equal(run_by(c, f, TN_BACKEND_NATIVE, "cc; touch /tmp/tansy-was-here", dir, 1, why), otherwise);
    assert_int_equal(access("/tmp/tansy-was-here", F_OK), -1);
    tn_ctx_free(c);
    remove_dir(dir);
}

static void refuse(tn_ctx *c, const tn_fn *f, const char *dir, const char *reason) {
    const tn_compile_options o = {.size = sizeof o, .backend = TN_BACKEND_NATIVE, .cache_dir = dir};
    assert_null(tn_compile(f, &o));
    assert_int_equal(tn_last_status(c), TN_EINVAL);
    if (!strstr(tn_error(c), reason)) fail_msg("'%s' does not say '%s'", tn_error(c), reason);
}

static void unsafe_directories(void **state) {
    (void)state;
    char dir[64], file[128];
    make_dir(dir, sizeof dir);
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = traced(c);
    assert_int_equal(chmod(dir, 0770), 0);
    refuse(c, f, dir, "can be written to by others");
    assert_int_equal(chmod(dir, 0702), 0);
    refuse(c, f, dir, "can be written to by others");
    assert_int_equal(chmod(dir, 0700), 0);
    refuse(c, f, "/no/such/directory", "does not exist");
    (void)snprintf(file, sizeof file, "%s/file", dir);
    (void)close(open(file, O_CREAT | O_WRONLY, 0600));
    refuse(c, f, file, "is not a directory");
    if (geteuid() != 0) refuse(c, f, "/", "belongs to another user");
    tn_ctx_free(c);
    remove_dir(dir);
}

/* A directory that cannot be written to: compiled elsewhere, run all the same.  (The superuser can write anywhere.) */
static void read_only_directory(void **state) {
    (void)state;
    char dir[64];
    make_dir(dir, sizeof dir);
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = traced(c);
    assert_int_equal(chmod(dir, 0500), 0);
    (void)run_by(c, f, TN_BACKEND_DEFAULT, NULL, NULL, 0, NULL);
    assert_int_equal(run_by(c, f, TN_BACKEND_NATIVE, NULL, dir, 1, NULL), TN_BACKEND_NATIVE);
    same();
    if (geteuid() != 0) assert_int_equal(entries(dir, NULL, 0), 0);
    tn_ctx_free(c);
    remove_dir(dir);
}

/* Another file in its place, as C libraries may keep what was loaded: a half of it, with a byte changed, or empty. */
static void breaks(const char *name, int how) {
    struct stat s;
    int fd = open(name, O_RDONLY);
    assert_int_equal(fstat(fd, &s), 0);
    const size_t n = (size_t)s.st_size, left = how == 0 ? n / 2 : how == 1 ? n : 0;
    char *bytes = malloc(n);
    assert_non_null(bytes);
    assert_int_equal(read(fd, bytes, n), (ssize_t)n);
    assert_int_equal(close(fd), 0);
    assert_int_equal(unlink(name), 0);
    bytes[n / 3] = '!';
    fd = open(name, O_WRONLY | O_CREAT, s.st_mode & 0777);
    assert_int_equal(write(fd, bytes, left), (ssize_t)left);
    assert_int_equal(close(fd), 0);
    free(bytes);
}

/* A file that is cut, or of which a byte has changed, is made anew and not run. */
static void broken_files(void **state) {
    (void)state;
    char dir[64], name[512];
    make_dir(dir, sizeof dir);
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = traced(c);
    (void)run_by(c, f, TN_BACKEND_DEFAULT, NULL, NULL, 0, NULL);
    (void)run_by(c, f, TN_BACKEND_NATIVE, NULL, dir, 1, NULL);
    for (int how = 0; how < 3; how++) {
        assert_int_equal(entries(dir, name, sizeof name), 1);
        breaks(name, how);
        y[1] = 0;
        assert_int_equal(run_by(c, f, TN_BACKEND_NATIVE, NULL, dir, 1, NULL), TN_BACKEND_NATIVE);
        same();
        assert_int_equal(entries(dir, NULL, 0), 1);
    }
    tn_ctx_free(c);
    remove_dir(dir);
}

static void racing_processes(void **state) {
    (void)state;
    enum { PROCESSES = 8 };
    char dir[64];
    pid_t child[PROCESSES];
    make_dir(dir, sizeof dir);
    for (int i = 0; i < PROCESSES; i++) {
        child[i] = fork();
        assert_true(child[i] >= 0);
        if (child[i] > 0) continue;
        tn_ctx *c = tn_ctx_new(NULL);
        tn_fn *f = traced(c);
        (void)run_by(c, f, TN_BACKEND_DEFAULT, NULL, NULL, 0, NULL);
        const int ran = run_by(c, f, TN_BACKEND_NATIVE, NULL, dir, 1, NULL);
        _exit(ran != TN_BACKEND_NATIVE || y[0] != y[1] || memcmp(dx[0], dx[1], sizeof dx[0]) != 0);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        assert_int_equal(waitpid(child[i], &status, 0), child[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    assert_int_equal(entries(dir, NULL, 0), 1);
    remove_dir(dir);
}

/* Values are named by number: none of their names may be a type's. */
static tn_val many_functions(const tn_val *in, void *user) {
    (void)user;
    tn_val v = in[0];
    for (int i = 0; i < 70; i++) v = tn_sin(v);
    return tn_mul(v, in[1]);
}

/* Both columns and what a mask chooses, `user` equations after the first. */
static tn_val some_columns(const tn_val *in, void *user) {
    tn_val v = in[0];
    for (int i = 0; i < *(const int *)user; i++) v = tn_tanh(v);
    const tn_val columns = tn_sum_axis(v, 0, TN_KEEPDIMS), mask = tn_gt(in[1], 0);
    return tn_add(columns, tn_sum_axis(tn_where(mask, v, tn_where(in[2], in[0], in[1])), 0, TN_KEEPDIMS));
}

enum { ROWS = 8, COLUMNS = 24 };

static void same_by_default(tn_ctx *c, const tn_fn *f, const void *const *in, const char *dir) {
    double out[2][ROWS * COLUMNS] = {{0}};
    if (!f) fail_msg("%s", tn_error(c));
    for (int native = 0; native < 2; native++) {
        const char *why;
        const int backend = native ? TN_BACKEND_NATIVE : TN_BACKEND_DEFAULT;
        const tn_compile_options o = {.size = sizeof o, .backend = backend, .cache_dir = dir};
        tn_exec *e = tn_compile(f, &o);
        if (!e) fail_msg("%s", tn_error(c));
        if (native && tn_exec_backend(e, &why) != backend) fail_msg("%s", why);
        assert_int_equal(tn_call(e, in, TN_OUTPUTS((void *)out[native])), TN_OK);
        tn_exec_free(e);
    }
    assert_memory_equal(out[0], out[1], sizeof out[0]);
}

static void names_are_no_types(void **state) {
    (void)state;
    char dir[64];
    double a[ROWS * COLUMNS], b[ROWS * COLUMNS];
    float a32[ROWS * COLUMNS], b32[ROWS * COLUMNS];
    uint8_t mask[ROWS * COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        a[i] = sin(i), b[i] = cos(3 * i), mask[i] = i % 3 == 0;
        a32[i] = (float)a[i], b32[i] = (float)b[i];
    }
    make_dir(dir, sizeof dir);
    tn_ctx *c = tn_ctx_new(NULL);
    const tn_fn *f = tn_trace(c, many_functions, NULL, 2, TN_TYPES(tn_f32(ROWS, COLUMNS), tn_f32()));
    const tn_fn *g = tn_trace(c, many_functions, NULL, 2, TN_TYPES(tn_f64(ROWS, COLUMNS), tn_f64()));
    same_by_default(c, f, TN_INPUTS(a32, b32), dir);
    same_by_default(c, g, TN_INPUTS(a, b), dir);
    for (int before = 2; before < 9; before++) {
        const tn_type t = tn_f32(ROWS, COLUMNS);
        const tn_fn *h = tn_trace(c, some_columns, &before, 3, TN_TYPES(t, t, tn_bool(ROWS, COLUMNS)));
        same_by_default(c, h, TN_INPUTS(a32, b32, mask), dir);
    }
    tn_ctx_free(c);
    remove_dir(dir);
}

/* A padded operand that is one number for all elements is read before any loop. */
static void padded_numbers(void **state) {
    (void)state;
    static const char text[] =
        "{ lambda u:f64[1] . let w:bool[4] = broadcast_in_dim[shape=(4,) broadcast_dimensions=()] False "
        "x:bool[2] = pad[padding_config=((0, -2, 0),)] w True v:f64[2] = pad[padding_config=((0, 1, 0),)] u 0.0 "
        "y:f64[2] = broadcast_in_dim[shape=(2,) broadcast_dimensions=()] 0.5 z:f64[2] = select x y v "
        "s:f64[] = reduce_sum[axes=(0,)] z r:f64[] = mul 2.0 s in (r,) }";
    char dir[64];
    const double u = 1.5;
    make_dir(dir, sizeof dir);
    tn_ctx *c = tn_ctx_new(NULL);
    const tn_fn *f = tn_fn_parse(c, text, sizeof text - 1, "padded.tn");
    if (!f) fail_msg("%s", tn_error(c));
    const tn_compile_options o = {.size = sizeof o, .backend = TN_BACKEND_NATIVE, .cache_dir = dir};
    tn_exec *e = tn_compile(f, &o);
    const char *why = "";
    double found;
    assert_non_null(e);
    if (tn_exec_backend(e, &why) != TN_BACKEND_NATIVE) fail_msg("%s", why);
    assert_int_equal(tn_call(e, TN_INPUTS(&u), TN_OUTPUTS(&found)), TN_OK);
    assert_true(found == 3);
    tn_exec_free(e);
    tn_ctx_free(c);
    remove_dir(dir);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_of_elements), cmocka_unit_test(runs_and_is_kept),
        cmocka_unit_test(without_a_compiler),    cmocka_unit_test(unsafe_directories),
        cmocka_unit_test(read_only_directory),   cmocka_unit_test(broken_files),
        cmocka_unit_test(racing_processes),      cmocka_unit_test(names_are_no_types),
        cmocka_unit_test(padded_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
