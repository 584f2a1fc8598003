/* Every function of the headers, called with nothing where something is wanted, outside and inside of a trace, each
 * time in a process of its own: none may crash or hang, and what is refused where there is a context has a message. */
#define _POSIX_C_SOURCE 200809L
#include <tansy.h>
#include <tansy/comm.h>
#include <tansy/complex.h>
#include <tansy/effects.h>
#include <tansy/emit.h>
#include <tansy/ode.h>
#include <tansy/krylov.h>
#include <tansy/optim.h>
#include <tansy/random.h>
#include <tansy/sparse.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct entry {
    const char *name;
    void (*call)(int bad);
    int parameters;
} entry;

/* Which parameters are zero: one of them, by number, or one of these. */
enum {
    NONE = -1,
    ALL = -2,
    COUNTED = -3,     /* all but counts, which are as large as can be */
    BUT_HANDLES = -4, /* all but contexts, programs, executables and workspaces */
    GARBAGE = -5,     /* none, but values, types and numbers are what memory happened to hold */
    FIRST = GARBAGE
};

/* ---- what stands where nothing is zero ------------------------------------------------ */

static tn_ctx *ctx;
static tn_fn *fn;
static tn_exec *exec;
static tn_work *work;
static tn_residuals *residuals;
static tn_profile *profile;
static const tn_advise_options *no_advice; /* what stands for nothing */
static tn_sparsity *sparsity;
static tn_coloring *coloring;
static tn_threads *threads;
static const tn_comm_ops *table_of_rank;
static const tn_struct structure = {"s", 24, 1, (const tn_field[]){{"x", 0, {TN_F64, 1, {3}, NULL}, NULL}}};
static tn_wrt_list list;
static const tn_grid grid = {1, (const char *const[]){"w"}, (const int64_t[]){2}};
static void *sink;    /* a FILE, for those who write to what `user` points to */
static char *no_text; /* a text of the library's own */
static tn_val x, values[8], results[8];
static tn_type types[8];
static int64_t numbers[8];
static double room[512];
static const void *inputs[8];
static void *outputs[8];

static tn_val one(const tn_val *in, void *user) {
    (void)user;
    return tn_sum(tn_mul(in[0], 2));
}
static void many(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    out[0] = tn_mul(in[0], 2);
}
static void scanned(const tn_val *carry, const tn_val *xs, tn_val *next, tn_val *y, void *user) {
    (void)user, (void)xs;
    y[0] = next[0] = carry[0];
}
static void counted(tn_val i, const tn_val *carry, tn_val *next, void *user) {
    (void)user, (void)i;
    next[0] = carry[0];
}
static int heard(void *user, const tn_effect *e) { return !user && !e; }
static void told(void *user, const tn_step *s) { (void)user, (void)s; }
static void profiled(void *user, const tn_profile_step *s) { (void)user, (void)s; }
static void advised(void *user, const tn_advice *a) { (void)user, (void)a; }
static void linted(void *user, const tn_lint_warning *w) { (void)user, (void)w; }

/* ---- parameters and results -------------------------------------------------------------- */

static int handles; /* whether the call was given one that keeps a message */

#define HANDLE(a)           \
    _Generic((a),           \
        tn_ctx *: 1,        \
        const tn_ctx *: 1,  \
        tn_fn *: 1,         \
        const tn_fn *: 1,   \
        tn_exec *: 1,       \
        const tn_exec *: 1, \
        tn_work *: 1,       \
        const tn_work *: 1, \
        default: 0)
#define GOOD(a)                                                            \
    _Generic((a),                                                          \
        tn_ctx *: (const void *)&ctx,                                      \
        const tn_ctx *: (const void *)&ctx,                                \
        tn_fn *: (const void *)&fn,                                        \
        const tn_fn *: (const void *)&fn,                                  \
        tn_exec *: (const void *)&exec,                                    \
        const tn_exec *: (const void *)&exec,                              \
        tn_work *: (const void *)&work,                                    \
        tn_residuals *: (const void *)&residuals,                          \
        const tn_residuals *: (const void *)&residuals,                    \
        tn_profile *: (const void *)&profile,                              \
        const tn_profile *: (const void *)&profile,                        \
        tn_sparsity *: (const void *)&sparsity,                            \
        const tn_sparsity *: (const void *)&sparsity,                      \
        tn_coloring *: (const void *)&coloring,                            \
        const tn_coloring *: (const void *)&coloring,                      \
        tn_threads *: (const void *)&threads,                              \
        const tn_comm_ops *: (const void *)&table_of_rank,                 \
        const tn_grid *: (const void *)&(const tn_grid *){&grid},          \
        const tn_struct *: (const void *)&(const tn_struct *){&structure}, \
        tn_wrt_list *: (const void *)&(tn_wrt_list *){&list},              \
        char *: (const void *)&no_text,                                    \
        void *: (const void *)&sink,                                       \
        const tn_work *: (const void *)&work,                              \
        tn_val: (const void *)&x,                                          \
        tn_complex: (const void *)&(tn_complex){x, x},                     \
        tn_type: (const void *)types,                                      \
        const tn_type *: (const void *)&(const tn_type *){types},          \
        const tn_val *: (const void *)&(const tn_val *){values},           \
        tn_val *: (const void *)&(tn_val *){results},                      \
        size_t: (const void *)&(size_t){1},                                \
        int64_t: (const void *)&(int64_t){1},                              \
        double: (const void *)&(double){1},                                \
        tn_val_list: (const void *)&(tn_val_list){1, values},              \
        tn_int_list: (const void *)&(tn_int_list){1, numbers},             \
        const char *: (const void *)&(const char *){"name"},               \
        const void *const *: (const void *)&(const void *const *){inputs}, \
        void *const *: (const void *)&(void *const *){outputs},            \
        tn_trace_fn: (const void *)&(tn_trace_fn){one},                    \
        tn_trace_many_fn: (const void *)&(tn_trace_many_fn){many},         \
        tn_scan_fn: (const void *)&(tn_scan_fn){scanned},                  \
        tn_fori_fn: (const void *)&(tn_fori_fn){counted},                  \
        tn_observer: (const void *)&(tn_observer){heard},                  \
        tn_lint_fn: (const void *)&(tn_lint_fn){linted},                   \
        tn_step_fn: (const void *)&(tn_step_fn){told},                     \
        tn_profile_fn: (const void *)&(tn_profile_fn){profiled},           \
        tn_advice_fn: (const void *)&(tn_advice_fn){advised},              \
        const tn_advise_options *: (const void *)&no_advice,               \
        default: NULL)
#define POINTER 5 /* what __builtin_classify_type says of one */
#define GARBLED(a)                                               \
    _Generic((a),                                                \
        tn_val: garbage,                                         \
        tn_complex: garbage,                                     \
        tn_type: garbage,                                        \
        int: garbage,                                            \
        tn_dtype: garbage,                                       \
        double: garbage,                                         \
        const tn_val *: (const void *)&(const void *){garbage},  \
        const tn_type *: (const void *)&(const void *){garbage}, \
        default: NULL)
#define FILL(a, bad, k)                                                                      \
    (memset(&(a), 0, sizeof(a)),                                                             \
     fill(&(a), sizeof(a), (bad) == GARBAGE && GARBLED(a) ? GARBLED(a) : GOOD(a), HANDLE(a), \
          __builtin_classify_type(a) == POINTER, _Generic((a), size_t: 1, default: 0), bad, k))

static unsigned char garbage[4096]; /* what stands in memory that nobody has set */

static void fill(void *a, size_t size, const void *good, int handle, int pointer, int count, int bad, int k) {
    static void *some = room;
    const size_t most = SIZE_MAX;
    const int filled = bad == NONE || bad == GARBAGE || (bad >= 0 && bad != k) || (bad == BUT_HANDLES && handle);
    handles |= handle && filled;
    if (filled && good) memcpy(a, good, size);
    if (filled && !good && pointer) memcpy(a, &some, size);
    if (bad == COUNTED && count) memcpy(a, &most, size);
}

static const char *name;

static void result(const void *r, int status, int pointer, int bad) {
    const int failed = status ? *(const tn_status *)r != TN_OK : pointer && !*(void *const *)r;
    if (!failed || !handles || bad != BUT_HANDLES) return;
    if (tn_error(ctx)[0] || tn_exec_error(exec)[0] || tn_work_error(work)[0]) return;
    fprintf(stderr, "failed without a message\n");
    _exit(3);
}
#define RESULT(r) \
    result(&(r), __builtin_types_compatible_p(__typeof__(r), tn_status), __builtin_classify_type(r) == POINTER, bad)

/* ---- running ------------------------------------------------------------------------------ */

static const entry *now;
static int how;

static tn_val within(const tn_val *in, void *user) {
    (void)user;
    x = in[0];
    for (int i = 0; i < 8; i++) values[i] = results[i] = x;
    now->call(how);
    return x;
}

static void child(int traced) {
    alarm(60);
    name = now->name;
    if (!traced)
        now->call(how);
    else if (!tn_trace(ctx, within, NULL, TN_ARGS(tn_f64(3))) && !tn_error(ctx)[0] && strcmp(name, "tn_error_clear")) {
        fprintf(stderr, "the trace failed without a message\n");
        _exit(4);
    }
    fflush(NULL);
    _exit(0);
}

static int ends_well(int traced) {
    fflush(NULL);
    const pid_t p = fork();
    if (p == 0) child(traced);
    int status = 0;
    waitpid(p, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return 1;
    printf("%s, %s %d%s: %s %d\n", now->name, how >= 0 ? "without parameter" : "case", how, traced ? " in a trace" : "",
           WIFEXITED(status) ? "exit" : "signal", WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    return 0;
}

static int prepare(void) {
    ctx = tn_ctx_new(NULL);
    fn = tn_trace(ctx, one, NULL, TN_ARGS(tn_f64(3)));
    exec = tn_compile(fn, NULL);
    work = tn_work_new(exec, NULL, 0);
    sink = fopen("/dev/null", "w");
    residuals = tn_saved_residuals(fn, NULL, NULL);
    profile = tn_profile_new(exec);
    sparsity = tn_jacobian_sparsity(fn, NULL, NULL);
    coloring = tn_color(sparsity, NULL);
    threads = tn_threads_comm(ctx, &grid, 0);
    table_of_rank = tn_threads_rank(threads, 0);
    memset(garbage, 0xA5, sizeof garbage);
    for (int i = 0; i < 8; i++) {
        types[i] = tn_f64(3);
        inputs[i] = room;
        outputs[i] = room + 8;
    }
    return work != NULL;
}
