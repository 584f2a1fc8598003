/* run --mpi: a program as one of the ranks that mpirun has started.  The library that knows MPI is loaded when it is
 * asked for, so that the tool needs none. */
#include "base/axes.h"
#include "cli/run.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef struct tn_mpi tn_mpi;

/* <tansy/mpi.h>, which this cannot include: it includes MPI's. */
typedef struct door {
    tn_mpi *(*world)(const tn_grid *grid);
    tn_status (*status)(const tn_mpi *m);
    const char *(*error)(const tn_mpi *m);
    const tn_comm_ops *(*ops)(const tn_mpi *m);
    int (*rank)(const tn_mpi *m);
    tn_status (*limit)(tn_mpi *m, double seconds);
    void (*free)(tn_mpi *m);
} door;

static bool find(void *library, const char *name, void *to) {
    void *p = dlsym(library, name);
    memcpy(to, &p, sizeof p);
    return p;
}

static bool load(door *d) {
    static const char name[] = "libtansy-mpi.so.0";
    void *l = dlopen(name, RTLD_NOW | RTLD_GLOBAL); /* of which MPI's own plugins may want to see something */
    if (l && find(l, "tn_mpi_world", &d->world) && find(l, "tn_mpi_status", &d->status) &&
        find(l, "tn_mpi_error", &d->error) && find(l, "tn_mpi_ops", &d->ops) && find(l, "tn_mpi_rank", &d->rank) &&
        find(l, "tn_mpi_limit", &d->limit) && find(l, "tn_mpi_free", &d->free))
        return true;
    const char *why = dlerror();
    (void)fprintf(stderr, "run --mpi: %s cannot be loaded: %s (make doors makes it where there is an MPI)\n", name,
                  why ? why : "no reason is known");
    return false;
}

/* ---- among the ranks ---------------------------------------------------------------------- */

typedef struct world {
    tn_i_cli_rank rank;
    const tn_comm_ops *t;
    uint32_t axes; /* all */
    int64_t ranks;
} world;

static bool exchange(const world *w, int kind, int op, int dtype, int64_t count, const void *in, void *out) {
    const tn_collective x = {.size = sizeof x, .kind = kind, .op = op, .dtype = dtype, .count = count, .axes = w->axes};
    void *request = NULL;
    int status = w->t->start(w->t->user, &x, in, out, &request);
    if (!status && request) status = w->t->wait(w->t->user, request);
    if (status) (void)fprintf(stderr, "rank %lld: %s\n", (long long)w->rank.number, w->t->error(w->t->user));
    return !status;
}

/* Whether all ranks could do what they have just done, so that none waits for one that could not. */
static bool all_could(const world *w, bool could) {
    const int32_t mine = could;
    int32_t all = 0;
    return exchange(w, TN_COMM_ALLREDUCE, TN_COMM_MIN, TN_I32, 1, &mine, &all) && all;
}

static int64_t hash(const char *text) {
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++) h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return (int64_t)h;
}

/* Whether no rank before this one has the same message. */
static bool is_news(const world *w) {
    const int64_t mine = hash(w->rank.message);
    int64_t *all = malloc((size_t)w->ranks * sizeof *all);
    bool news = true;
    if (all_could(w, all) && exchange(w, TN_COMM_ALLGATHER, 0, TN_I64, 1, &mine, all))
        for (int64_t r = 0; r < w->rank.number; r++) news = news && all[r] != mine;
    free(all);
    return news;
}

/* Each message once: most often it is the same on all ranks, and names one.  Where messages are what failed, each rank
 * tells. */
static void say(const world *w) {
    if (w->rank.status == TN_EIO || is_news(w)) tn_i_cli_say_rank(w->rank.o, w->rank.message);
}

/* ---- the results' way out ------------------------------------------------------------------- */

/* Rank 0 prints what all have.  The others' result is zeros, of the same size. */
static bool print_gathered(const world *w, const tn_type *t, const void *own) {
    const size_t bytes = tn_type_bytes(t);
    char *all = malloc((size_t)w->ranks * bytes + 1);
    bool ok =
        all_could(w, all != NULL) && exchange(w, TN_COMM_GATHER, 0, t->dtype, (int64_t)tn_type_elements(t), own, all);
    for (int64_t r = 0; r < w->ranks && w->rank.number == 0 && ok; r++)
        if (tn_i_cli_first_of(tn_fn_ctx(w->rank.f), r, tn_i_over(t)))
            ok = tn_i_cli_print(w->rank.o, t, all + (size_t)r * bytes);
    free(all);
    return ok;
}

/* To the end, whatever fails: others wait. */
static bool print_all(const world *w) {
    bool ok = true;
    for (size_t j = 0; j < tn_fn_outputs(w->rank.f); j++) {
        const tn_type t = tn_fn_output_type(w->rank.f, j);
        if (tn_i_over(&t))
            ok = print_gathered(w, &t, w->rank.out[j]) && ok;
        else if (w->rank.number == 0)
            ok = tn_i_cli_print(w->rank.o, &t, w->rank.out[j]) && ok;
    }
    return ok;
}

/* ---- one rank --------------------------------------------------------------------------------- */

static bool run(world *w) {
    if (!all_could(w, tn_i_cli_prepare(&w->rank))) return false;
    tn_i_cli_call(&w->rank, w->t);
    if (w->rank.status != TN_OK) {
        say(w);
        return false;
    }
    return all_could(w, w->rank.o->out_dir ? tn_i_cli_write_rank(&w->rank) : print_all(w));
}

int tn_i_cli_run_mpi(const tn_i_cli *o, tn_fn *f) {
    const tn_ctx *c = tn_fn_ctx(f);
    const tn_grid grid = {.naxes = (size_t)c->grid.naxes, .name = c->grid.name, .extent = c->grid.extent};
    door d;
    if (!load(&d)) return TN_CLI_BAD;
    tn_mpi *m = d.world(&grid);
    int status = TN_CLI_BAD;
    if (d.status(m) != TN_OK || d.limit(m, (double)o->wait) != TN_OK) {
        if (!m || d.rank(m) == 0) (void)tn_i_cli_say(o, d.error(m));
    } else {
        world w = {.rank = {.o = o, .number = d.rank(m), .named = true, .f = f}, .t = d.ops(m)};
        w.axes = (1u << c->grid.naxes) - 1;
        w.ranks = tn_i_ranks(c, w.axes);
        if (run(&w)) status = TN_CLI_OK;
        tn_i_cli_release(&w.rank);
    }
    d.free(m);
    return status;
}
