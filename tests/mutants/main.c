/* usage: mutants [--prim NAME] [--n N] [--share S [--seed K]] [--list] [--caught]
 *
 * Breaks one rule of one primitive at a time; the laws must catch every mutant, and must let the
 * unbroken copy of each descriptor pass.  A mutant is caught as soon as any law fails: first the
 * one that states the rule, then all of them over N samples (200), over generated programs and over
 * ten times as many samples.  What fails unbroken as well catches none.
 *
 * --share S takes one primitive in S, and of it a dozen mutants or a few more: which ones, seed K tells. */
#include "mutants/mutant.h"
#include "prims/ids.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct run {
    const char *prim;
    long n, share, passed, failed;
    uint64_t seed;
    bool list, caught;
    bool generated; /* the laws hold for generated programs, nothing broken */
} run;

/* The laws that state what a part must do. */
static const char *const first_laws[NPARTS][3] = {[PART_PARTIAL] = {"jvp"},
                                                  [PART_JVP] = {"jvp"},
                                                  [PART_PRIMAL] = {"jvp"},
                                                  [PART_ZERO] = {"jvp"},
                                                  [PART_TRANSPOSE] = {"vjp", "linear"},
                                                  [PART_BATCH] = {"vmap"},
                                                  [PART_LINEAR] = {"linear", "declared"},
                                                  [PART_LINEARITY] = {"linear", "declared"},
                                                  [PART_STRIP] = {"goldens", "compiled"},
                                                  [PART_KERNEL] = {"goldens"},
                                                  [PART_VIEW] = {"compiled"},
                                                  [PART_SIMPLIFY] = {"simplify", "jacobian"},
                                                  [PART_COMMUTES] = {"simplify"},
                                                  [PART_SPLIT] = {"linearize"},
                                                  [PART_PRUNE] = {"vjp", "pruned"}};

/* Whether a law fails with m (NULL: nothing) in the place of its primitive.  Strips and simplifications are not told
 * their primitive, and have to be pointed at it. */
static bool noticed(mutant *m, const char *law, const char *prim, long n) {
    const tn_prim *registry[TN_NPRIMS];
    memcpy(registry, tn_i_registry, sizeof registry);
    if (m) {
        mutant_wrap_rules(m);
        mutant_wrap_kernels(m);
        registry[m->prim.id] = &m->prim;
    }
    const laws_options o = {
        .n = n, .seed = 1, .law = law, .prim = prim, .registry = registry, .quiet = true, .stop = true};
    return laws_run_all(&o).failed > 0;
}

/* What is not broken must hold, or nothing is caught by it. */
static bool holds(run *r, mutant *unbroken, const char *prim, long n) {
    const bool held = !noticed(unbroken, NULL, prim, n);
    *(held ? &r->passed : &r->failed) += 1;
    if (!held) (void)printf("FAILED %s: the laws do not hold for %ld samples with nothing broken\n", prim, n);
    return held;
}

/* The law that caught m; NULL: none did.  unbroken: its primitive, over which all laws hold for n samples. */
static const char *caught_by(run *r, mutant *m, mutant *unbroken) {
    const char *prim = m->prim.name;
    for (int k = 0; k < 3 && first_laws[m->part][k]; k++)
        if (noticed(m, first_laws[m->part][k], prim, r->n / 5)) return first_laws[m->part][k];
    if (noticed(m, NULL, prim, r->n)) return "all laws";
    if (r->generated && noticed(m, NULL, "generated", r->n)) return "generated programs";
    return noticed(m, NULL, prim, 10 * r->n) && holds(r, unbroken, prim, 10 * r->n) ? "all laws, of many samples"
                                                                                    : NULL;
}

static void one(run *r, mutant *m, mutant *unbroken) {
    if (r->list) {
        (void)printf("%s\n", m->name);
        return;
    }
    const char *law = caught_by(r, m, unbroken);
    *(law ? &r->passed : &r->failed) += 1;
    if (!law)
        (void)printf("SURVIVED %s%s\n", m->name, m->hits ? "" : " (never reached)");
    else if (r->caught)
        (void)printf("%s: %s\n", m->name, law);
    (void)fflush(stdout);
}

/* A share of n: every step-th, from a place that the seed tells; n all of them. */
static size_t share_of(const run *r, const char *prim, size_t n, size_t *step) {
    enum { MUTANTS = 12 };
    *step = r->share && n > MUTANTS ? n / MUTANTS : 1;
    return tn_i_hash(r->seed, prim, strlen(prim)) / 2 % *step;
}

static bool has_share(const run *r, int id) {
    tn_i_rng g = {r->seed};
    return !r->share || (id + tn_i_pick(&g, 0, r->share - 1)) % r->share == 0;
}

static void primitive(run *r, const tn_prim *prim) {
    mutant unbroken;
    mutants list = {NULL, 0, 0};
    size_t step;
    mutant_init(&unbroken, prim, PART_NONE, NEGATED, -1, -1);
    (void)holds(r, &unbroken, prim->name, r->n);
    mutants_of(&list, &unbroken);
    for (size_t k = share_of(r, prim->name, list.n, &step); k < list.n; k += step) one(r, &list.v[k], &unbroken);
    free(list.v);
}

static int usage(void) {
    (void)fprintf(stderr, "usage: mutants [--prim NAME] [--n N] [--share S [--seed K]] [--list] [--caught]\n");
    return 2;
}

static bool read_arguments(run *r, int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--list") == 0)
            r->list = true;
        else if (strcmp(argv[i], "--caught") == 0)
            r->caught = true;
        else if (i + 1 == argc)
            return false;
        else if (strcmp(argv[i], "--prim") == 0)
            r->prim = argv[++i];
        else if (strcmp(argv[i], "--n") == 0)
            r->n = strtol(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--share") == 0)
            r->share = strtol(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--seed") == 0)
            r->seed = strtoull(argv[++i], NULL, 10);
        else
            return false;
    }
    return r->n > 0 && r->share >= 0;
}

int main(int argc, char **argv) {
    run r = {.n = 200};
    if (!read_arguments(&r, argc, argv)) return usage();
    if (r.share)
        (void)printf("of one primitive in %ld: --share %ld --seed %llu\n", r.share, r.share,
                     (unsigned long long)r.seed);
    r.generated = !r.list && holds(&r, NULL, "generated", r.n);
    for (int id = 0; id < TN_NPRIMS; id++)
        if (!laws_of_ranks(tn_i_registry[id]) && !laws_refuses(tn_i_registry[id]) &&
            (!r.prim ? has_share(&r, id) : strcmp(r.prim, tn_i_registry[id]->name) == 0))
            primitive(&r, tn_i_registry[id]);
    if (!r.list) (void)printf("%ld passed, %ld failed\n", r.passed, r.failed);
    return r.failed ? 1 : 0;
}
