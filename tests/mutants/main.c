/* usage: mutants [--prim NAME] [--n N] [--list] [--caught]
 *
 * Breaks one rule of one primitive at a time; the laws must catch every mutant, and must let the
 * unbroken copy of each descriptor pass.  A mutant is caught as soon as any law fails: first the
 * one that states the rule, then all of them over N samples (200), over generated programs and over
 * ten times as many samples. */
#include "mutants/mutant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct run {
    const char *prim;
    long n, passed, failed;
    bool list, caught;
} run;

/* The laws that state what a part must do. */
static const char *const first_laws[NPARTS][3] = {[PART_PARTIAL] = {"jvp"},
                                                  [PART_JVP] = {"jvp"},
                                                  [PART_PRIMAL] = {"jvp"},
                                                  [PART_ZERO] = {"jvp"},
                                                  [PART_TRANSPOSE] = {"vjp", "linear"},
                                                  [PART_BATCH] = {"vmap"},
                                                  [PART_LINEAR] = {"linear"},
                                                  [PART_LINEARITY] = {"linear"},
                                                  [PART_STRIP] = {"goldens", "compiled"},
                                                  [PART_KERNEL] = {"goldens"},
                                                  [PART_VIEW] = {"compiled"},
                                                  [PART_SIMPLIFY] = {"simplify"},
                                                  [PART_COMMUTES] = {"simplify"},
                                                  [PART_SPLIT] = {"linearize"},
                                                  [PART_PRUNE] = {"vjp"}};

static bool noticed(const mutant *m, const char *law, const char *prim, long n) {
    const tn_prim *registry[TN_NPRIMS];
    memcpy(registry, tn_i_registry, sizeof registry);
    registry[m->prim.id] = &m->prim;
    const laws_options o = {
        .n = n, .seed = 1, .law = law, .prim = prim, .registry = registry, .quiet = true, .stop = true};
    return laws_run_all(&o).failed > 0;
}

/* The law that caught it; NULL: none did. */
static const char *caught_by(const run *r, const mutant *m) {
    for (int k = 0; k < 3 && first_laws[m->part][k]; k++)
        if (noticed(m, first_laws[m->part][k], m->prim.name, r->n / 5)) return first_laws[m->part][k];
    if (noticed(m, NULL, m->prim.name, r->n)) return "all laws";
    if (noticed(m, NULL, "generated", r->n)) return "generated programs";
    return noticed(m, NULL, m->prim.name, 10 * r->n) ? "all laws, of many samples" : NULL;
}

static void one(run *r, mutant *m) {
    mutant_wrap_rules(m);
    mutant_wrap_kernels(m);
    if (r->list) {
        (void)printf("%s\n", m->name);
        return;
    }
    const char *law = caught_by(r, m);
    *(law ? &r->passed : &r->failed) += 1;
    if (!law)
        (void)printf("SURVIVED %s%s\n", m->name, m->hits ? "" : " (never reached)");
    else if (r->caught)
        (void)printf("%s: %s\n", m->name, law);
    (void)fflush(stdout);
}

static void primitive(run *r, const tn_prim *prim) {
    mutant control;
    mutants list = {NULL, 0, 0};
    mutant_init(&control, prim, PART_NONE, NEGATED, -1, -1);
    mutant_wrap_rules(&control);
    mutant_wrap_kernels(&control);
    const bool broken = noticed(&control, NULL, prim->name, r->n);
    *(broken ? &r->failed : &r->passed) += 1;
    if (broken) (void)printf("FAILED %s: the laws do not hold for its unbroken copy\n", prim->name);
    mutants_of(&list, &control);
    for (size_t k = 0; k < list.n; k++) one(r, &list.v[k]);
    free(list.v);
}

static int usage(void) {
    (void)fprintf(stderr, "usage: mutants [--prim NAME] [--n N] [--list] [--caught]\n");
    return 2;
}

int main(int argc, char **argv) {
    run r = {.n = 200};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--list") == 0)
            r.list = true;
        else if (strcmp(argv[i], "--caught") == 0)
            r.caught = true;
        else if (i + 1 == argc)
            return usage();
        else if (strcmp(argv[i], "--prim") == 0)
            r.prim = argv[++i];
        else if (strcmp(argv[i], "--n") == 0)
            r.n = strtol(argv[++i], NULL, 10);
        else
            return usage();
    }
    if (r.n < 1) return usage();
    for (int id = 0; id < TN_NPRIMS; id++) {
        if (r.prim && strcmp(r.prim, tn_i_registry[id]->name) != 0) continue;
        primitive(&r, tn_i_registry[id]);
    }
    if (!r.list) (void)printf("%ld passed, %ld failed\n", r.passed, r.failed);
    return r.failed ? 1 : 0;
}
