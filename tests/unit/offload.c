/* Offloading: residuals that wait in a spill file, and what happens when the file does not keep them. */
#include "prims/prim.h"
#include "tracing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define FN(p) ((const void *const *)(p))

static char dir[] = "/tmp/tansy-offload-XXXXXX";

static int make_dir(void **state) {
    (void)state;
    return mkdtemp(dir) ? 0 : -1;
}
/* Nothing may be left in it. */
static int remove_dir(void **state) {
    (void)state;
    return rmdir(dir);
}

static const tn_compile_options *spilling(void) {
    static tn_compile_options o = {.size = sizeof o};
    o.spill_dir = dir;
    return &o;
}

static tn_exec *compiled(const tn_fn *f) {
    if (!f) fail_msg("the program was not made");
    tn_exec *e = tn_compile(f, spilling());
    if (!e) fail_msg("%s", tn_error(f->ctx));
    return e;
}

static void call(tn_exec *e, const void *const *in, void *const *out) {
    if (tn_call(e, in, out) != TN_OK) fail_msg("%s", tn_exec_error(e));
}

static tn_policy named(const char *name) { return (tn_policy){.size = sizeof(tn_policy), .name = name}; }

static tn_verdict everything(void *user, const tn_candidate *v) {
    (void)user, (void)v;
    return TN_OFFLOAD;
}
static const tn_policy all_out = {.size = sizeof all_out, .callback = everything};

static int files(void) {
    int n = 0;
    DIR *d = opendir(dir);
    assert_non_null(d);
    while (readdir(d)) n++;
    (void)closedir(d);
    return n - 2;
}

/* Descriptors of spill files that this process has open; the last of them in *fd. */
static int open_files(int *fd) {
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    assert_non_null(d);
    for (const struct dirent *x; (x = readdir(d)) != NULL;) {
        char path[300], target[4096] = "";
        (void)snprintf(path, sizeof path, "/proc/self/fd/%s", x->d_name);
        if (readlink(path, target, sizeof target - 1) < 0 || strncmp(target, dir, strlen(dir)) != 0) continue;
        n++;
        if (fd) *fd = atoi(x->d_name);
    }
    (void)closedir(d);
    return n;
}

/* ---- a network ------------------------------------------------------------------------- */

enum { SIDE = 32, LAYERS = 6 };

static tn_val network(const tn_val *in, void *user) {
    tn_val x = in[0];
    for (int i = 0; i < (user ? *(const int *)user : LAYERS); i++)
        x = tn_tanh(tn_checkpoint_name(tn_matmul(x, in[1]), i % 2 ? "odd" : "even"));
    return tn_sum(tn_mul(x, x));
}

static tn_fn *traced(tn_ctx *c) {
    return tn_trace(c, network, NULL, 2, (tn_type[]){tn_f64(SIDE, SIDE), tn_f64(SIDE, SIDE)});
}

typedef struct network_data {
    double x[SIDE * SIDE], w[SIDE * SIDE], ct[2][SIDE * SIDE], out[4][SIDE * SIDE];
} network_data;

static network_data *data(void) {
    network_data *d = calloc(1, sizeof *d);
    assert_non_null(d);
    for (int i = 0; i < SIDE * SIDE; i++) {
        d->x[i] = sin(0.1 * i);
        d->w[i] = 0.2 * cos(0.3 * i);
        d->ct[0][i] = cos(0.7 * i);
        d->ct[1][i] = sin(0.9 * i);
    }
    return d;
}

static uint32_t count(const tn_fn *f, const char *prim) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->neqn; i++) n += strcmp(f->eqn[i].prim->name, prim) == 0;
    return n;
}

/* ---- policies ------------------------------------------------------------------------------ */

static void policies_offload_what_they_say(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = traced(c);
    static const struct {
        const char *policy;
        uint32_t offloads;
    } row[] = {{"everything_saveable", 0},
               {"offload_dot_with_no_batch_dims", LAYERS},
               {"save_and_offload_only_these_names:even|odd", LAYERS / 2},
               {"save_and_offload_only_these_names:odd,even|none", 0},
               {"save_and_offload_only_these_names:none|odd,even", LAYERS},
               {"save_and_offload_only_these_names:|even", LAYERS / 2}};
    for (size_t i = 0; i < COUNT(row); i++) {
        const tn_policy p = named(row[i].policy);
        const tn_linearized l = tn_linearize(f, NULL, &p);
        assert_non_null(l.primal);
        assert_int_equal(count(l.primal, "offload"), row[i].offloads);
        assert_int_equal(count(l.linear, "offload"), 0);
    }
    assert_non_null(tn_policy_by_name("offload_dot_with_no_batch_dims"));
    tn_ctx_free(c);
}

static void malformed_policies_are_refused(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = traced(c);
    static const char *const bad[] = {"save_and_offload_only_these_names",
                                      "save_and_offload_only_these_names:a",
                                      "save_and_offload_only_these_names:a|b|c",
                                      "save_and_offload_only_these_names:a,b|c,b",
                                      "offload_dot_with_no_batch_dims:a",
                                      "save_from_either_policy:dots_saveable|offload_dot_with_no_batch_dims"};
    for (size_t i = 0; i < COUNT(bad); i++) {
        const tn_policy p = named(bad[i]);
        assert_null(tn_grad(f, NULL, &p));
        assert_int_equal(tn_last_status(c), TN_EINVAL);
    }
    tn_ctx_free(c);
}

/* ---- the same gradients in less memory -------------------------------------------------------- */

static void gradients_are_equal_and_the_arena_smaller(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = traced(c);
    network_data *d = data();
    const tn_policy everything_saved = named("everything_saveable"), dots = named("dots_with_no_batch_dims_saveable"),
                    offload = named("offload_dot_with_no_batch_dims");
    tn_exec *e[4] = {compiled(tn_grad(f, NULL, &everything_saved)), compiled(tn_grad(f, NULL, &dots)),
                     compiled(tn_grad(f, NULL, &offload)), compiled(tn_grad(f, NULL, &all_out))};
    call(e[0], FN(((const void *[]){d->x, d->w})), (void *[]){d->out[0], d->out[1]});
    for (int k = 1; k < 4; k++)
        for (int again = 0; again < 2; again++) {
            memset(d->out[2], 0xA5, 2 * sizeof d->out[2]);
            call(e[k], FN(((const void *[]){d->x, d->w})), (void *[]){d->out[2], d->out[3]});
            assert_memory_equal(d->out[2], d->out[0], 2 * sizeof d->out[0]);
        }
    assert_int_equal(tn_exec_spill_bytes(e[0]), 0);
    assert_int_equal(tn_exec_spill_bytes(e[2]), LAYERS * sizeof d->x);
    assert_true(tn_exec_bytes(e[2]) < tn_exec_bytes(e[1]) && tn_exec_bytes(e[3]) < tn_exec_bytes(e[0]));
    tn_cost_report r = {.size = sizeof r};
    assert_int_equal(tn_cost(e[2] ? tn_grad(f, NULL, &offload) : NULL, &r), TN_OK);
    assert_true(r.peak_bytes == (double)tn_exec_bytes(e[2]) && r.spill_bytes == (double)tn_exec_spill_bytes(e[2]));
    free(d);
    tn_ctx_free(c);
}

/* What the arena holds besides one layer's arrays is 8 bytes for each value in the file. */
static void the_arena_does_not_grow_with_depth(void **state) {
    (void)state;
    tn_ctx *c = checked();
    const tn_policy saved = named("dots_with_no_batch_dims_saveable"),
                    offload = named("offload_dot_with_no_batch_dims");
    const tn_policy *policy[] = {&saved, &offload, &all_out};
    const size_t matrix = sizeof(double) * SIDE * SIDE;
    for (int k = 0; k < 3; k++) {
        int depth[] = {LAYERS, 3 * LAYERS};
        size_t bytes[2];
        for (int i = 0; i < 2; i++) {
            tn_fn *f = tn_trace(c, network, &depth[i], 2, (tn_type[]){tn_f64(SIDE, SIDE), tn_f64(SIDE, SIDE)});
            bytes[i] = tn_exec_bytes(compiled(tn_grad(f, NULL, policy[k])));
        }
        if (k == 0)
            assert_true(bytes[1] == bytes[0] + 2 * LAYERS * matrix);
        else
            assert_true(bytes[1] <= bytes[0] + 2 * LAYERS * 2 * sizeof(double) + 64);
    }
    tn_ctx_free(c);
}

static void second_derivatives_are_equal(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = traced(c);
    network_data *d = data();
    const tn_policy saved = named("everything_saveable"), offload = named("offload_dot_with_no_batch_dims"),
                    none = named("nothing_saveable");
    const tn_fn *want_hvp = tn_hvp(f, NULL, &saved), *want_vjp = tn_vjp(tn_grad(f, NULL, &saved), NULL, &saved);
    tn_exec *hvp = compiled(want_hvp), *vjp = compiled(want_vjp);
    double *got = malloc(4 * sizeof d->x);
    assert_non_null(got);
    const void *in[] = {d->x, d->w, d->ct[0], d->ct[1]};
    void *to[] = {got, got + SIDE * SIDE, got + 2 * SIDE * SIDE, got + 3 * SIDE * SIDE};
    const tn_policy *outer[] = {&offload, &saved, &none, &all_out}, *inner[] = {&offload, &all_out};
    for (size_t i = 0; i < COUNT(inner); i++) {
        tn_exec *e = compiled(tn_hvp(f, NULL, inner[i]));
        call(hvp, FN(in), (void *[]){d->out[0], d->out[1]});
        call(e, FN(in), to);
        close_to(got, d->out[0], 2 * SIDE * SIDE, 1e-12);
        assert_true(tn_exec_spill_bytes(e) > 0 && tn_exec_bytes(e) < tn_exec_bytes(hvp));
        for (size_t k = 0; k < COUNT(outer); k++) {
            e = compiled(tn_vjp(tn_grad(f, NULL, inner[i]), NULL, outer[k]));
            call(vjp, FN(in), (void *[]){d->out[0], d->out[1], d->out[2], d->out[3]});
            call(e, FN(in), to);
            close_to(got, d->out[0], 4 * SIDE * SIDE, 1e-12);
            assert_true(tn_exec_spill_bytes(e) > 0);
            if (outer[k] == &all_out) assert_true(tn_exec_bytes(e) < tn_exec_bytes(vjp));
        }
    }
    free(got);
    free(d);
    tn_ctx_free(c);
}

static tn_val two_layers(const tn_val *in, void *user) {
    (void)user;
    return tn_tanh(tn_matmul(tn_tanh(tn_matmul(in[0], in[1])), in[1]));
}
static tn_val regions(const tn_val *in, void *user) {
    tn_val x = in[0];
    for (int i = 0; i < LAYERS / 2; i++)
        x = user ? tn_checkpoint(two_layers, user, NULL, 2, tn_vals(x, in[1]).v)
                 : tn_subfn("two", two_layers, NULL, 2, tn_vals(x, in[1]).v);
    return tn_sum(tn_mul(x, x));
}

static void regions_that_offload_are_checked(void **state) {
    (void)state;
    tn_ctx *c = checked();
    network_data *d = data();
    tn_policy offload = named("offload_dot_with_no_batch_dims");
    const tn_fn *f = tn_trace(c, regions, &offload, 2, (tn_type[]){tn_f64(SIDE, SIDE), tn_f64(SIDE, SIDE)});
    tn_check_options o = {.size = sizeof o, .directions = 1, .spill_dir = dir};
    if (tn_check_grads(f, FN(((const void *[]){d->x, d->w})), NULL, &o) != TN_OK) fail_msg("%s", tn_error(c));
    o.spill_dir = NULL;
    assert_int_equal(tn_check_grads(f, FN(((const void *[]){d->x, d->w})), NULL, &o), TN_EINVAL);
    assert_non_null(strstr(tn_error(c), "spill_dir"));
    free(d);
    tn_ctx_free(c);
}

/* A gradient with offloads of its own, run inside of another program. */
static tn_val nested_gradient(const tn_val *in, void *user) {
    return tn_apply(user, 2, tn_vals(tn_sin(in[0]), in[1]).v);
}

static void nested_programs_offload(void **state) {
    (void)state;
    tn_ctx *c = checked();
    network_data *d = data();
    tn_policy offload = named("offload_dot_with_no_batch_dims"), saved = named("everything_saveable");
    const tn_type t[] = {tn_f64(SIDE, SIDE), tn_f64(SIDE, SIDE)};
    const tn_fn *plain = tn_trace(c, regions, NULL, 2, t), *region = tn_trace(c, regions, &offload, 2, t);
    tn_exec *want = compiled(tn_grad(plain, NULL, &saved));
    tn_exec *e[] = {compiled(tn_grad(plain, NULL, &offload)), compiled(tn_grad(plain, NULL, &all_out)),
                    compiled(tn_grad(region, NULL, &saved)), compiled(tn_grad(region, NULL, &offload))};
    call(want, FN(((const void *[]){d->x, d->w})), (void *[]){d->out[0], d->out[1]});
    for (size_t k = 0; k < COUNT(e); k++) {
        call(e[k], FN(((const void *[]){d->x, d->w})), (void *[]){d->out[2], d->out[3]});
        assert_memory_equal(d->out[2], d->out[0], 2 * sizeof d->out[0]);
        assert_true(tn_exec_spill_bytes(e[k]) >= LAYERS * sizeof d->x && tn_exec_bytes(e[k]) < tn_exec_bytes(want));
    }
    tn_fn *outs[] = {tn_grad(plain, tn_wrt(0), &saved), tn_grad(plain, tn_wrt(0), &offload)};
    for (int k = 0; k < 2; k++) {
        const tn_fn *g = tn_trace(c, nested_gradient, outs[k], 2, t);
        tn_exec *run_it = compiled(tn_vjp(g, tn_wrt(0), &offload));
        if (k) assert_true(tn_exec_spill_bytes(run_it) > 0);
        call(run_it, FN(((const void *[]){d->x, d->w, d->ct[0]})), (void *[]){d->out[2 * k], d->out[2 * k + 1]});
    }
    close_to(d->out[2], d->out[0], 2 * SIDE * SIDE, 1e-12);
    free(d);
    tn_ctx_free(c);
}

static void batches_offload(void **state) {
    (void)state;
    tn_ctx *c = checked();
    network_data *d = data();
    const tn_policy offload = named("offload_dot_with_no_batch_dims");
    tn_fn *g = tn_grad(traced(c), tn_wrt(0), &offload);
    tn_exec *one = compiled(g), *two = compiled(tn_vmap(g, 2, (const int[]){0, TN_NOT_MAPPED}, NULL));
    assert_int_equal(tn_exec_spill_bytes(two), 2 * tn_exec_spill_bytes(one));
    double *x = malloc(2 * sizeof d->x);
    assert_non_null(x);
    memcpy(x, d->x, sizeof d->x);
    memcpy(x + SIDE * SIDE, d->ct[0], sizeof d->x);
    call(one, FN(((const void *[]){d->x, d->w})), (void *[]){d->out[0]});
    call(one, FN(((const void *[]){d->ct[0], d->w})), (void *[]){d->out[1]});
    call(two, FN(((const void *[]){x, d->w})), (void *[]){d->out[2]});
    close_to(d->out[2], d->out[0], 2 * SIDE * SIDE, 1e-13);
    free(x);
    free(d);
    tn_ctx_free(c);
}

/* ---- dtypes and shapes ---------------------------------------------------------------------------- */

static tn_fn *parsed(tn_ctx *c, const char *text) {
    tn_fn *f = tn_fn_parse(c, text, strlen(text), "test.tn");
    if (!f) fail_msg("%s", tn_error(c));
    return f;
}

static void every_dtype_comes_back(void **state) {
    (void)state;
    enum { N = 100 };
    tn_ctx *c = checked();
    for (int dtype = 0; dtype < TN_NDTYPES; dtype++) {
        char text[500];
        (void)snprintf(text, sizeof text,
                       "{ lambda x:%s[10,10] . let\n"
                       "    t = transpose[permutation=(1,0)] x\n" /* strided where it is written */
                       "    a = offload t\n"
                       "    b = offload a\n" /* in the file already */
                       "    s = slice[start_indices=(2,0) limit_indices=(5,10) strides=None] a\n"
                       "    r = rev[dimensions=(0,)] b\n"
                       "    e = offload b\n"
                       "    u = rev[dimensions=(0,)] e in (s, r, u, e) }",
                       tn_i_dtype_name(dtype));
        unsigned char x[N * 8], s[N * 8], r[N * 8], u[N * 8], b[N * 8];
        const size_t n = tn_i_dtype_size(dtype);
        for (size_t i = 0; i < N * n; i++) x[i] = dtype == TN_BOOL ? i % 3 == 0 : (unsigned char)(i * 37);
        for (size_t i = 1; i < N * n && tn_i_is_half(dtype); i += 2) x[i] &= 0xbb; /* no NaN */
        tn_exec *e = compiled(parsed(c, text));
        assert_int_equal(tn_exec_spill_bytes(e), (N * n + 63) / 64 * 64); /* one piece for both */
        call(e, FN(((const void *[]){x})), (void *[]){s, r, u, b});
        for (size_t i = 0; i < 10; i++)
            for (size_t k = 0; k < 10; k++) {
                if (i < 3) assert_memory_equal(s + (i * 10 + k) * n, x + (k * 10 + i + 2) * n, n);
                assert_memory_equal(r + (i * 10 + k) * n, x + (k * 10 + 9 - i) * n, n);
                assert_memory_equal(u + (i * 10 + k) * n, x + (k * 10 + 9 - i) * n, n);
                assert_memory_equal(b + (i * 10 + k) * n, x + (k * 10 + i) * n, n);
            }
    }
    tn_ctx_free(c);
}

/* Small values, empty ones and results of the program stay in memory: no directory is needed. */
static void some_values_stay(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = parsed(c, "{ lambda x:f64[8] y:f64[0,1000] z:f64[100] . let\n"
                         "    a = offload x  b = neg a  d = offload y  e = neg d  g = offload z\n"
                         "    h = offload 2.0:f64[]  in (b, e, g, h) }");
    tn_exec *e = tn_compile(f, NULL);
    assert_non_null(e);
    assert_int_equal(tn_exec_spill_bytes(e), 0);
    double x[8] = {1, 2, 3}, z[100] = {4, 5}, b[8], g[100], h, none;
    call(e, FN(((const void *[]){x, &none, z})), (void *[]){b, &none, g, &h});
    assert_true(b[2] == -3 && g[1] == 5 && h == 2);
    tn_ctx_free(c);
}

/* The file grows with what is out at one time, not with all that ever is. */
static void the_file_is_used_again(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_exec *e = compiled(parsed(c, "{ lambda x:f64[1000] . let\n"
                                    "    a = offload x  b = sin a  d = offload b  e = sin d  g = offload e\n"
                                    "    h = sin g  in (h,) }"));
    assert_int_equal(tn_exec_spill_bytes(e), 8000);
    double x[1000], y[1000];
    for (int i = 0; i < 1000; i++) x[i] = i;
    call(e, FN(((const void *[]){x})), (void *[]){y});
    assert_true(fabs(y[7] - sin(sin(sin(7)))) < 1e-14);
    tn_ctx_free(c);
}

static tn_val chain(const tn_val *in, void *user) {
    (void)user;
    return tn_sum(tn_sin(tn_sin(in[0])));
}

static void a_large_value_comes_back(void **state) {
    (void)state;
    enum { N = 13 << 20 }; /* 104 MiB */
    tn_ctx *c = checked();
    tn_exec *e = compiled(tn_grad(tn_trace(c, chain, NULL, 1, (tn_type[]){tn_f64(N)}), NULL, &all_out));
    double *x = malloc(2 * sizeof(double) * N);
    assert_non_null(x);
    for (int64_t i = 0; i < N; i++) x[i] = 1e-3 * (double)i;
    call(e, FN(((const void *[]){x})), (void *[]){x + N});
    assert_true(tn_exec_spill_bytes(e) >= sizeof(double) * N);
    for (int64_t i = 0; i < N; i += 999983) close_to(&x[N + i], P(cos(x[i]) * cos(sin(x[i]))), 1, 1e-15);
    free(x);
    tn_ctx_free(c);
}

/* ---- the file ------------------------------------------------------------------------------------------ */

static void a_directory_is_needed(void **state) {
    (void)state;
    tn_ctx *c = checked();
    const tn_policy offload = named("offload_dot_with_no_batch_dims");
    tn_fn *g = tn_grad(traced(c), NULL, &offload);
    assert_null(tn_compile(g, NULL));
    assert_int_equal(tn_last_status(c), TN_EINVAL);
    assert_non_null(strstr(tn_error(c), "spill_dir"));
    tn_compile_options o = {.size = sizeof o, .spill_dir = "/nowhere/at/all"};
    assert_null(tn_compile(g, &o));
    assert_int_equal(tn_last_status(c), TN_EIO);
    assert_non_null(strstr(tn_error(c), "'/nowhere/at/all'"));
    char name[5000];
    memset(name, 'a', sizeof name);
    name[sizeof name - 1] = 0;
    o.spill_dir = name;
    assert_null(tn_compile(g, &o));
    assert_int_equal(tn_last_status(c), TN_EIO);
    o.size = offsetof(tn_compile_options, spill_dir); /* a program compiled against an older header */
    o.spill_dir = dir;
    assert_null(tn_compile(g, &o));
    assert_int_equal(tn_last_status(c), TN_EINVAL);
    tn_ctx_free(c);
}

static void nothing_is_left(void **state) {
    (void)state;
    tn_ctx *c = checked();
    network_data *d = data();
    tn_exec *e = compiled(tn_grad(traced(c), NULL, &all_out));
    assert_int_equal(open_files(NULL), 0);
    void *memory = malloc(tn_work_bytes(e));
    assert_non_null(memory);
    tn_work *own = tn_work_new(e, NULL, 0), *given = tn_work_new(e, memory, tn_work_bytes(e));
    assert_non_null(own);
    assert_non_null(given);
    int fd;
    assert_int_equal(open_files(&fd), 2);
    assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    assert_int_equal(files(), 0); /* they have no names */
    assert_int_equal(tn_call_in(e, own, FN(((const void *[]){d->x, d->w})), (void *[]){d->out[0], d->out[1]}), TN_OK);
    assert_int_equal(tn_call_in(e, given, FN(((const void *[]){d->x, d->w})), (void *[]){d->out[2], d->out[3]}), TN_OK);
    assert_memory_equal(d->out[2], d->out[0], 2 * sizeof d->out[0]);
    tn_work_free(given);
    assert_int_equal(open_files(NULL), 1);
    tn_work_free(own);
    assert_int_equal(open_files(NULL), 0);
    call(e, FN(((const void *[]){d->x, d->w})), (void *[]){d->out[0], d->out[1]});
    assert_non_null(tn_work_new(e, NULL, 0));
    assert_int_equal(open_files(NULL), 2);
    tn_ctx_free(c);
    assert_int_equal(open_files(NULL), 0);
    assert_int_equal(files(), 0);
    free(memory);
    free(d);
}

/* A workspace that finds no file says so at each call. */
static void no_descriptor_is_left(void **state) {
    (void)state;
    tn_ctx *c = checked();
    network_data *d = data();
    tn_exec *e = compiled(tn_grad(traced(c), NULL, &all_out));
    struct rlimit before, few;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    few.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    tn_work *w = tn_work_new(e, NULL, 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_non_null(w);
    assert_int_equal(tn_call_in(e, w, FN(((const void *[]){d->x, d->w})), (void *[]){d->out[0], d->out[1]}), TN_EIO);
    assert_non_null(strstr(tn_work_error(w), strerror(EMFILE)));
    free(d);
    tn_ctx_free(c);
}

static void a_full_disk_is_an_error(void **state) {
    (void)state;
    tn_ctx *c = checked();
    network_data *d = data();
    tn_exec *e = compiled(tn_grad(traced(c), NULL, &all_out));
    const void *in[] = {d->x, d->w};
    void *out[] = {d->out[0], d->out[1]};
    struct rlimit before, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    small = before;
    for (rlim_t limit = 0; limit < 3 * sizeof d->x; limit += sizeof d->x / 2 + 1) { /* a short write in between */
        small.rlim_cur = limit;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        tn_status status = tn_call(e, FN(in), out);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_int_equal(status, TN_EIO);
        assert_non_null(strstr(tn_exec_error(e), "offload: spill file in '"));
        assert_non_null(strstr(tn_exec_error(e), strerror(EFBIG)));
        assert_non_null(strstr(tn_exec_error(e), "offload.c:")); /* the user's line */
    }
    (void)signal(SIGXFSZ, handler);
    call(e, FN(in), out); /* and all is well again */
    free(d);
    tn_ctx_free(c);
}

/* ---- a file that somebody changes ----------------------------------------------------------------------- */

enum { VANDAL = 1000 };
typedef struct vandal {
    int how;
    long at;
} vandal;

static int copy(void *user, const void *const *in, void *const *out) {
    (void)user;
    memcpy(out[0], in[0], VANDAL * sizeof(double));
    return 0;
}

/* In the backward pass, when all residuals are out. */
static int harm(void *user, const void *const *in, void *const *out) {
    const vandal *v = user;
    int fd = -1;
    unsigned char byte;
    memcpy(out[0], in[1], VANDAL * sizeof(double));
    if (v->how && open_files(&fd) != 1) return 1;
    switch (v->how) {
    case 1:
        if (pread(fd, &byte, 1, v->at) != 1) return 1;
        byte ^= 1;
        return pwrite(fd, &byte, 1, v->at) != 1;
    case 2: return ftruncate(fd, v->at);
    default: return 0;
    }
}

static tn_val harmed(const tn_val *in, void *user) {
    (void)user;
    tn_val x = tn_sin(tn_sin(in[0]));
    return tn_sum(tn_external(in[0].ctx, "copy", 1, &x));
}

static void an_altered_file_is_an_error(void **state) {
    (void)state;
    tn_ctx *c = checked();
    vandal v = {0};
    const tn_type t[] = {tn_f64(VANDAL)};
    const tn_external_spec spec = {.size = sizeof spec,
                                   .name = "copy",
                                   .nin = 1,
                                   .nout = 1,
                                   .in = t,
                                   .out = t,
                                   .fn = copy,
                                   .vjp = harm,
                                   .user = &v};
    assert_int_equal(tn_external_register(c, &spec), TN_OK);
    tn_exec *e = compiled(tn_grad(tn_trace(c, harmed, NULL, 1, t), NULL, &all_out));
    double x[VANDAL], dx[VANDAL], want[VANDAL];
    for (int i = 0; i < VANDAL; i++) x[i] = 0.01 * i;
    call(e, FN(((const void *[]){x})), (void *[]){want});
    const long bytes = (long)tn_exec_spill_bytes(e);
    assert_true(bytes >= (long)sizeof x);
    static const char *const why[] = {NULL, "altered", "missing"};
    for (int how = 1; how <= 2; how++)
        for (v.at = 0; v.at < (long)sizeof x; v.at += 499) {
            v.how = how;
            assert_int_equal(tn_call(e, FN(((const void *[]){x})), (void *[]){dx}), TN_EIO);
            assert_non_null(strstr(tn_exec_error(e), why[how]));
            assert_non_null(strstr(tn_exec_error(e), dir));
        }
    v.how = 0;
    call(e, FN(((const void *[]){x})), (void *[]){dx});
    assert_memory_equal(dx, want, sizeof dx);
    tn_ctx_free(c);
}

/* ---- several threads ---------------------------------------------------------------------------------------- */

typedef struct thread {
    pthread_t id;
    const tn_exec *e;
    network_data *d;
    tn_status status;
} thread;

static void *many_calls(void *user) {
    thread *t = user;
    void *memory = malloc(tn_work_bytes(t->e));
    tn_work *w = memory ? tn_work_new(t->e, memory, tn_work_bytes(t->e)) : NULL;
    t->status = w ? TN_OK : TN_ENOMEM;
    for (int i = 0; i < 20 && t->status == TN_OK; i++)
        t->status =
            tn_call_in(t->e, w, FN(((const void *[]){t->d->x, t->d->w})), (void *[]){t->d->out[0], t->d->out[1]});
    tn_work_free(w);
    free(memory);
    return NULL;
}

static void threads_have_files_of_their_own(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_exec *e = compiled(tn_grad(traced(c), NULL, &all_out));
    thread t[4];
    for (int k = 0; k < 4; k++) {
        t[k] = (thread){.e = e, .d = data()};
        for (int i = 0; i < SIDE * SIDE; i++) t[k].d->x[i] *= k;
        assert_int_equal(pthread_create(&t[k].id, NULL, many_calls, &t[k]), 0);
    }
    for (int k = 0; k < 4; k++) {
        assert_int_equal(pthread_join(t[k].id, NULL), 0);
        assert_int_equal(t[k].status, TN_OK);
        network_data *d = t[k].d;
        call(e, FN(((const void *[]){d->x, d->w})), (void *[]){d->out[2], d->out[3]});
        assert_memory_equal(d->out[2], d->out[0], 2 * sizeof d->out[0]);
        free(d);
    }
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(policies_offload_what_they_say),
        cmocka_unit_test(malformed_policies_are_refused),
        cmocka_unit_test(gradients_are_equal_and_the_arena_smaller),
        cmocka_unit_test(the_arena_does_not_grow_with_depth),
        cmocka_unit_test(second_derivatives_are_equal),
        cmocka_unit_test(nested_programs_offload),
        cmocka_unit_test(regions_that_offload_are_checked),
        cmocka_unit_test(batches_offload),
        cmocka_unit_test(every_dtype_comes_back),
        cmocka_unit_test(some_values_stay),
        cmocka_unit_test(the_file_is_used_again),
        cmocka_unit_test(a_large_value_comes_back),
        cmocka_unit_test(a_directory_is_needed),
        cmocka_unit_test(nothing_is_left),
        cmocka_unit_test(no_descriptor_is_left),
        cmocka_unit_test(a_full_disk_is_an_error),
        cmocka_unit_test(an_altered_file_is_an_error),
        cmocka_unit_test(threads_have_files_of_their_own),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
