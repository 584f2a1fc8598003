/* What parses goes all the way: every transformation succeeds, or names a limit or a rule that is missing; what comes
 * out is checked, compiles and runs, and has the reference's bits.
 *
 * A hash of the text picks the schedule of its loops, the policy, the transformations and the numbers that go in: one
 * choice of each for an input, all of them over a corpus. */
#include "ir/ir.h"
#include "prims/ids.h"
#include "tansy/comm.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What one input may take: larger programs are right, too, but nothing is found in them that small ones do not show. */
enum { TEXT = 1 << 12, EQUATIONS = 120, FEW = 10, MEMORY = 256 << 20, BYTES = 1 << 14, SECONDS = 1 };
static const double WORK = 3e4;

typedef struct meter {
    size_t used;
} meter;

static void *metered(void *user, void *p, size_t old_size, size_t new_size) {
    meter *m = user;
    if (new_size > old_size && m->used - old_size + new_size > MEMORY) return NULL;
    if (new_size == 0) {
        free(p);
        p = NULL;
    } else if (!(p = realloc(p, new_size)))
        abort();
    m->used = m->used - old_size + new_size;
    return p;
}

static _Noreturn void wrong(const tn_fn *f, const char *what, const char *why) {
    (void)fprintf(stderr, "pipeline: %s: %s\n", what, why);
    char *text = f ? tn_fn_print(f, NULL) : NULL;
    if (text) (void)fprintf(stderr, "%s\n", text);
    abort();
}

/* ---- choices --------------------------------------------------------------------------------- */

typedef struct choices {
    uint64_t state;
} choices;

static uint64_t pick(choices *k, uint64_t n) {
    k->state = tn_i_hash_u64(k->state, 0x9e3779b97f4a7c15u);
    return (k->state >> 11) % n;
}

static const char *picked_schedule(choices *k) {
    static const char *const table[] = {"all_save",   "revolve:2", "online:3", "mixed:2",
                                        "periodic:2", "nothing",   "auto"};
    return table[pick(k, sizeof table / sizeof *table)];
}

/* Every policy of the table whose name is all of it, and one of each kind that has arguments; with `budget` the one
 * that tries thousands of plans. */
static tn_policy picked_policy(choices *k, bool budget) {
    static const char *const more[] = {
        "save_only_these_names:a", "save_any_names_but_these:a", "save_and_offload_only_these_names:a|b",
        "save_from_either_policy:dots_saveable|save_only_these_names:a", "memory_budget:100000000"};
    enum { MORE = sizeof more / sizeof *more };
    size_t n = 0;
    bool arguments;
    while (tn_policy_at(n, &arguments)) n++;
    const size_t i = (size_t)pick(k, n + MORE - !budget);
    const tn_policy *p = i < n ? tn_policy_at(i, &arguments) : NULL;
    if (p && !arguments) return *p;
    return (tn_policy){.size = sizeof(tn_policy), .name = more[i % MORE]};
}

/* The text with `schedule` for every loop; NULL where it has none.  Free with free. */
static char *rescheduled(const char *text, const char *schedule) {
    const char *const loops[] = {"scan[", "while["};
    const size_t n = strlen(text);
    size_t room = n + 1, met = 0;
    for (const char *at = text; *at; at++)
        for (int k = 0; k < 2; k++)
            if (strncmp(at, loops[k], strlen(loops[k])) == 0) room += strlen(schedule) + 16, met++;
    if (!met) return NULL;
    char *out = malloc(room), *to = out;
    if (!out) abort();
    for (const char *at = text; *at;) {
        if (strncmp(at, " schedule=\"", 11) == 0) {
            at += 11;
            while (*at && *at != '"') at++;
            at += *at == '"';
            continue;
        }
        const int k = strncmp(at, loops[0], 5) == 0 ? 0 : strncmp(at, loops[1], 6) == 0 ? 1 : -1;
        *to++ = *at++;
        if (k < 0) continue;
        for (size_t i = 1; i < strlen(loops[k]); i++) *to++ = *at++;
        to += snprintf(to, room - (size_t)(to - out), "schedule=\"%s\" ", schedule);
    }
    *to = 0;
    return out;
}

/* ---- what a program is ------------------------------------------------------------------------- */

typedef struct traits {
    size_t equations, programs;
    bool endless; /* a loop whose number of steps only a run tells */
    bool inexact; /* holds products, whose rounding differs, or functions of which vector libraries have their own */
} traits;

static void look(const tn_fn *f, traits *t) {
    if (t->equations > EQUATIONS || ++t->programs > EQUATIONS) return;
    t->equations += f->neqn;
    for (uint32_t i = 0; i < f->neqn && t->equations <= EQUATIONS; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        for (int d = 0; d < TN_NDTYPES; d++) t->inexact = t->inexact || e->prim->vector[d];
        if (e->prim->id == TN_P_while || (e->prim->id == TN_P_scan && tn_i_p(e)[1].kind != TN_K_INT)) t->endless = true;
        for (uint32_t k = 0; e->params && k < e->params->n; k++) {
            const tn_fn *const *g;
            const uint32_t n = tn_i_programs(&e->params->v[k], &g);
            for (uint32_t j = 0; j < n; j++) look(g[j], t);
        }
    }
}

/* Small enough to be derived: a text of doubling calls is a large program. */
static bool small(const tn_fn *f, traits *t, tn_i_cost *cost) {
    *t = (traits){.equations = 0};
    look(f, t);
    if (t->equations > EQUATIONS || t->programs > EQUATIONS || !tn_i_fn_cost(f, cost)) return false;
    t->inexact = t->inexact || cost->products > 0;
    return true;
}

/* ---- running --------------------------------------------------------------------------------------- */

static void fill(choices *k, void *data, const tn_type *t) {
    const size_t n = tn_type_elements(t);
    for (size_t i = 0; i < n; i++) {
        const uint64_t u = pick(k, 1 << 20);
        const double x = (double)u / (1 << 18) - 2;
        if (t->dtype == TN_F64) ((double *)data)[i] = u % 97 == 0 ? 0 : x;
        if (t->dtype == TN_F32) ((float *)data)[i] = u % 97 == 0 ? 0 : (float)x;
        if (t->dtype == TN_I64) ((int64_t *)data)[i] = (int64_t)(u % 5) - (u % 11 == 0);
        if (t->dtype == TN_I32) ((int32_t *)data)[i] = (int32_t)(u % 5) - (u % 11 == 0);
        if (t->dtype == TN_U32) ((uint32_t *)data)[i] = (uint32_t)(u % 5) - (u % 11 == 0);
        if (t->dtype == TN_BOOL) ((uint8_t *)data)[i] = u & 1;
    }
}

/* One more element than a type without any, and not a byte more than others: sanitizers see what is beyond. */
static void *room_for(const tn_type *t) {
    const size_t n = tn_type_bytes(t);
    void *p = malloc(n ? n : 1);
    if (!p) abort();
    memset(p, 0xA5, n ? n : 1);
    return p;
}

static bool same_number(const void *a, const void *b, int dtype, size_t i) {
    if (dtype == TN_F64) {
        const double x = ((const double *)a)[i], y = ((const double *)b)[i];
        if (x != x && y != y) return true;
    }
    if (dtype == TN_F32) {
        const float x = ((const float *)a)[i], y = ((const float *)b)[i];
        if (x != x && y != y) return true;
    }
    const size_t size = tn_i_dtype_size(dtype);
    return memcmp((const char *)a + i * size, (const char *)b + i * size, size) == 0;
}

static bool arguments_small(const tn_fn *f) {
    size_t bytes = 0, sum;
    for (uint32_t i = 0; i < f->nin + f->nout; i++) {
        const tn_i_var v = i < f->nin ? (tn_i_var)i : f->out[i - f->nin];
        const tn_type *t = f->val[v].type;
        if (t->dtype < 0 || t->dtype >= TN_NDTYPES)
            return false; /* stacks do not leave programs by the caller's memory */
        const size_t n = tn_type_bytes(t);
        if (n == SIZE_MAX || !tn_i_add(bytes, n, &sum) || sum > BYTES) return false;
        bytes = sum;
    }
    return true;
}

static bool expected(tn_status s) {
    return s == TN_OK || s == TN_ENOMEM || s == TN_EOVERFLOW || s == TN_ELIMIT || s == TN_EASSERT || s == TN_ECALLBACK;
}

/* The table of a rank to whom all others say what it says: what goes out comes back, however many ranks the grid has.
 */
static int echo(void *user, const tn_collective *x, const void *in, void *out, void **request) {
    const tn_comm_ops *t = user;
    const bool all = x->kind == TN_COMM_ALLGATHER || x->kind == TN_COMM_GATHER, pieces = x->kind == TN_COMM_ALLTOALL;
    const size_t bytes = x->kind == TN_COMM_BARRIER ? 0 : (size_t)x->count * tn_i_dtype_size(x->dtype);
    int64_t ranks = 1;
    for (int a = 0; a < t->naxes; a++) ranks *= x->axes >> a & 1 ? t->extent[a] : 1;
    *request = NULL;
    for (int64_t k = 0; bytes && k < (all || pieces ? ranks : 1); k++)
        memcpy((char *)out + (size_t)k * bytes, (const char *)in + (pieces ? (size_t)k * bytes : 0), bytes);
    return TN_OK;
}
static int no_wait(void *user, void *request) {
    (void)user, (void)request;
    return TN_EINVAL;
}
static const char *no_error(void *user) {
    (void)user;
    return "";
}

static tn_status run_by(const tn_fn *f, int backend, bool strict, void **in, void **out) {
    static const int64_t index[TN_MAX_RANK];
    const tn_i_grid *g = &f->ctx->grid;
    tn_comm_ops ops = {.size = sizeof ops,
                       .naxes = g->naxes,
                       .name = g->name,
                       .extent = g->extent,
                       .index = index,
                       .start = echo,
                       .wait = no_wait,
                       .error = no_error};
    ops.user = &ops;
    const tn_compile_options o = {.size = sizeof o,
                                  .backend = backend,
                                  .strict_zero = strict,
                                  .spill_dir = "/tmp",
                                  .comm = g->naxes ? &ops : NULL};
    tn_exec *e = tn_compile(f, &o);
    if (!e) return tn_last_status(f->ctx);
    tn_status s = tn_call(e, (const void *const *)in, out);
    if (s == TN_OK) s = tn_call(e, (const void *const *)in, out);
    if (!expected(s)) wrong(f, tn_status_text(s), tn_exec_error(e));
    tn_exec_free(e);
    return s;
}

static void compare(const tn_fn *f, choices *k, const traits *t) {
    void **in = calloc(f->nin + 1u, sizeof *in), **a = calloc(f->nout + 1u, sizeof *a),
         **b = calloc(f->nout + 1u, sizeof *b);
    if (!in || !a || !b) abort();
    for (uint32_t i = 0; i < f->nin; i++) fill(k, in[i] = room_for(f->val[i].type), f->val[i].type);
    for (uint32_t j = 0; j < f->nout; j++)
        a[j] = room_for(f->val[f->out[j]].type), b[j] = room_for(f->val[f->out[j]].type);
    const bool strict = pick(k, 4) == 0;
    const tn_status plain = run_by(f, TN_BACKEND_REFERENCE, strict, in, a),
                    fused = run_by(f, TN_BACKEND_DEFAULT, strict, in, b);
    if (plain == TN_OK && fused == TN_OK && !t->inexact)
        for (uint32_t j = 0; j < f->nout; j++) {
            const tn_type *type = f->val[f->out[j]].type;
            for (size_t i = 0; i < tn_type_elements(type); i++)
                if (!same_number(a[j], b[j], type->dtype, i)) wrong(f, "run", "an output differs from the reference's");
        }
    for (uint32_t i = 0; i < f->nin; i++) free(in[i]);
    for (uint32_t j = 0; j < f->nout; j++) free(a[j]), free(b[j]);
    free(in), free(a), free(b);
}

/* What may not end runs in a process of its own, which has some seconds. */
static void run(const tn_fn *f, choices *k) {
    traits t;
    tn_i_cost cost;
    if (!small(f, &t, &cost) || !arguments_small(f)) return;
    if (cost.flops > WORK || cost.bytes > 16 * WORK || cost.products > WORK) return;
    if (!t.endless) {
        compare(f, k, &t);
        return;
    }
    const pid_t child = fork();
    if (child < 0) return;
    if (child == 0) {
        (void)signal(SIGALRM, SIG_DFL); /* not the fuzzer's */
        (void)alarm(SECONDS);
        compare(f, k, &t);
        _exit(0);
    }
    int status = 0;
    (void)waitpid(child, &status, 0);
    if (WIFSIGNALED(status) ? WTERMSIG(status) != SIGALRM : WEXITSTATUS(status) != 0) abort();
}

/* ---- transforming -------------------------------------------------------------------------------------- */

/* More dimensions, or elements, than a type may have: batches and Jacobians have more than what they are of. */
static bool is_too_large(const char *why) { return strstr(why, "would have rank") || strstr(why, "overflows"); }

/* A program that parsed is refused by a transformation for nothing but limits, rules that a primitive does not have
 * (TN_ERULE) and arguments that do not suit (TN_EINVAL: a budget that cannot be kept, a schedule that wants a length).
 */
static tn_fn *made(const tn_fn *from, tn_fn *f, const char *what) {
    tn_ctx *c = from->ctx;
    if (f) {
        if (tn_check(f) != TN_OK && tn_last_status(c) != TN_ENOMEM) wrong(from, what, tn_error(c));
        return f;
    }
    const tn_status s = tn_last_status(c);
    if (s == TN_OK || !tn_error(c)[0]) wrong(from, what, "no error was recorded");
    if (s == TN_ETYPE && is_too_large(tn_error(c))) return NULL;
    if (s == TN_ELINEAR || s == TN_ETYPE || s == TN_EPARSE) wrong(from, what, tn_error(c));
    return NULL;
}

static bool is_float(const tn_type *t) { return t->dtype == TN_F32 || t->dtype == TN_F64; }

static bool differentiable(const tn_fn *f) {
    bool in = false, out = false;
    for (uint32_t i = 0; i < f->nin; i++) in = in || is_float(f->val[i].type);
    for (uint32_t j = 0; j < f->nout; j++) out = out || is_float(f->val[f->out[j]].type);
    return in && out && f->nlin == 0;
}

static tn_fn *transposed(const tn_fn *f, const tn_policy *p) {
    tn_linearized l = tn_linearize(f, NULL, p);
    tn_fn *primal = made(f, l.primal, "linearize"), *linear = made(f, l.linear, "linearize"), *t = NULL;
    if (linear) t = made(linear, tn_transpose(linear), "transpose");
    tn_fn_free(primal);
    tn_fn_free(linear);
    return t;
}

static tn_fn *batched(const tn_fn *f, choices *k) {
    return made(f, tn_vmap(f, 1 + (int64_t)pick(k, 3), NULL, NULL), "vmap");
}

static size_t elements(const tn_fn *f) {
    size_t most = 0;
    for (uint32_t i = 0; i < f->nin; i++) {
        const size_t n = tn_type_elements(f->val[i].type);
        most = n > most ? n : most;
    }
    return most;
}

/* One of the transformations; NULL where it does not apply. */
static tn_fn *derived(const tn_fn *f, size_t equations, choices *k) {
    const tn_policy p = picked_policy(k, equations <= FEW);
    const uint64_t way = pick(k, 8);
    if (way == 0) return batched(f, k);
    if (!differentiable(f)) return f->nlin ? made(f, tn_transpose(f), "transpose") : batched(f, k);
    if (way == 1) return made(f, tn_jvp(f, NULL), "jvp");
    if (way == 2) return transposed(f, &p);
    if (way == 3 && elements(f) <= 8) return made(f, tn_jacfwd(f, NULL, pick(k, 3)), "jacfwd");
    if (way == 4 && elements(f) <= 8) return made(f, tn_jacrev(f, NULL, &p, pick(k, 3)), "jacrev");
    return made(f, tn_vjp(f, NULL, &p), "vjp");
}

static void pipeline(tn_fn *f, choices *k) {
    traits t;
    tn_i_cost cost;
    run(f, k);
    for (int order = 0; order < 3; order++) {
        tn_fn *g = small(f, &t, &cost) ? derived(f, t.equations, k) : NULL;
        if (order) tn_fn_free(f);
        if (!g) return;
        run(g, k);
        f = g;
    }
    tn_fn_free(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > TEXT) return -1;
    meter m = {0};
    const tn_ctx_options o = {.size = sizeof o, .realloc = metered, .user = &m, .check = 1};
    tn_ctx *c = tn_ctx_new(&o);
    if (!c) return 0;
    choices k = {tn_i_hash(1, data, size)};
    tn_fn *f = tn_fn_parse(c, (const char *)data, size, "fuzz");
    const bool parsed = f != NULL;
    char *text = f && pick(&k, 2) ? tn_fn_print(f, NULL) : NULL,
         *with = text ? rescheduled(text, picked_schedule(&k)) : NULL;
    tn_fn *g = with ? tn_fn_parse(c, with, strlen(with), "schedule") : NULL; /* some want a known number of steps */
    if (f) pipeline(g ? g : f, &k);
    free(with);
    tn_text_free(c, text);
    tn_fn_free(g);
    tn_fn_free(f);
    tn_ctx_free(c);
    if (m.used) wrong(NULL, "memory", "not all of it was freed");
    return parsed ? 0 : -1;
}
