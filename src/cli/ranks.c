/* run --ranks: a program on all ranks of its grid, each a thread with a context of its own. */
#include "base/axes.h"
#include "cli/run.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct thread {
    tn_i_cli_rank rank;
    tn_ctx *c;
    tn_threads *all;
    pthread_t id;
    bool started;
} thread;

typedef struct ranks {
    const tn_i_cli *o;
    const tn_ctx *grid; /* the context that has it */
    thread *thread;
    int64_t n;
} ranks;

/* ---- running ---------------------------------------------------------------------------- */

static void *run_rank(void *arg) {
    thread *t = arg;
    const int number = (int)t->rank.number;
    tn_i_cli_call(&t->rank, tn_threads_rank(t->all, number));
    tn_threads_leave(t->all, number);
    return NULL;
}

static void run_all(const ranks *p) {
    for (int64_t r = 0; r < p->n; r++) {
        thread *t = &p->thread[r];
        t->started = pthread_create(&t->id, NULL, run_rank, t) == 0;
        if (t->started) continue;
        t->rank.status = TN_ENOMEM;
        (void)snprintf(t->rank.message, sizeof t->rank.message, "no thread can be made for rank %lld", (long long)r);
        tn_threads_leave(t->all, (int)r); /* the others need not wait for it */
    }
    for (int64_t r = 0; r < p->n; r++)
        if (p->thread[r].started) (void)pthread_join(p->thread[r].id, NULL);
}

/* What went wrong, each message once: most often it is the same on all ranks, and names one.  What failed by itself is
 * said before what others failed by. */
static bool all_good(const ranks *p) {
    bool good = true;
    for (int io = 0; io < 2; io++)
        for (int64_t r = 0; r < p->n; r++) {
            const tn_i_cli_rank *k = &p->thread[r].rank;
            bool said = k->status == TN_OK || (k->status == TN_EIO) != io;
            if (k->status != TN_OK) good = false;
            for (int64_t i = 0; i < r && !said; i++) said = strcmp(p->thread[i].rank.message, k->message) == 0;
            if (!said) tn_i_cli_say_rank(p->o, k->message);
        }
    return good;
}

/* ---- the results' way out ------------------------------------------------------------------ */

/* A line for each array that there is. */
static bool print_all(const ranks *p) {
    for (size_t j = 0; j < tn_fn_outputs(p->thread[0].rank.f); j++) {
        const tn_type t = tn_fn_output_type(p->thread[0].rank.f, j);
        for (int64_t r = 0; r < p->n; r++)
            if (tn_i_cli_first_of(p->grid, r, tn_i_over(&t)) && !tn_i_cli_print(p->o, &t, p->thread[r].rank.out[j]))
                return false;
    }
    return true;
}

static bool write_all(const ranks *p) {
    bool ok = true;
    for (int64_t r = 0; r < p->n && ok; r++) ok = tn_i_cli_write_rank(&p->thread[r].rank);
    return ok;
}

/* ---- all ranks ---------------------------------------------------------------------------------- */

/* Before any thread begins, so that what is wrong with a text or an operand is said once, and nobody waits. */
static bool prepare(const ranks *p, tn_threads *all, const char *text, size_t n) {
    const tn_ctx_options options = {.size = sizeof options, .check = 1};
    for (int64_t r = 0; r < p->n; r++) {
        thread *t = &p->thread[r];
        *t = (thread){.rank = {.o = p->o, .number = r, .named = true}, .c = tn_ctx_new(&options), .all = all};
        t->rank.f = t->c ? tn_fn_parse(t->c, text, n, tn_i_cli_shown(p->o)) : NULL;
        if (!t->rank.f) return tn_i_cli_bad(p->o, t->c) == TN_CLI_OK;
        if (!tn_i_cli_prepare(&t->rank)) return false;
    }
    return true;
}

static int run_on(const ranks *p, tn_threads *all, const char *text, size_t n) {
    int status = TN_CLI_BAD;
    if (prepare(p, all, text, n)) {
        run_all(p);
        if (all_good(p) && (p->o->out_dir ? write_all(p) : print_all(p))) status = TN_CLI_OK;
    }
    for (int64_t r = 0; r < p->n; r++) {
        tn_i_cli_release(&p->thread[r].rank);
        tn_ctx_free(p->thread[r].c);
    }
    return status;
}

int tn_i_cli_run_ranks(const tn_i_cli *o, const tn_ctx *c, const char *text, size_t n) {
    const tn_grid grid = {.naxes = (size_t)c->grid.naxes, .name = c->grid.name, .extent = c->grid.extent};
    ranks p = {.o = o, .grid = c, .n = tn_i_ranks(c, (1u << c->grid.naxes) - 1)};
    tn_ctx *own = tn_ctx_new(NULL); /* of what ranks share */
    tn_threads *all = own ? tn_threads_comm(own, &grid, o->wait ? (double)o->wait : 60) : NULL;
    int status = TN_CLI_BAD;
    if (!all) {
        (void)tn_i_cli_bad(o, own);
    } else if (!(p.thread = calloc((size_t)p.n, sizeof *p.thread))) {
        (void)fprintf(stderr, "run: out of memory\n");
    } else {
        status = run_on(&p, all, text, n);
    }
    free(p.thread);
    tn_threads_free(all);
    tn_ctx_free(own);
    return status;
}
