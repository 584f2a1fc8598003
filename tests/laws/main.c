/* usage: laws [--n N] [--programs M] [--seed S] [--only LAW] [--prim NAME] [--backend NAME] [--nests WHO] [--part K/N] [--list] [--write DIR]
 *
 * N samples of each primitive (shared among its dtypes) and M generated programs (N, if not told); costly laws take
 * part in every so many-th of them (`--list` says which).  Sample k of a run has seed S + k, so
 * `--n 1 --seed X --prim P --only L` repeats what failed with "seed X".  N = 20000 takes about
 * a quarter of an hour.  --part 2/8 takes the second eighth of the primitives.  --backend has programs run by default, reference, native, assembler or strips, where a law names
 * no backend; --nests has loops run by the evaluator of loop programs, as they are lowered, passed (after all passes) or
 * backwards (vector and parallel loops from the last iteration on).  With --write the cases are only written, as text, into a directory: seeds for tests/fuzz. */
#include "plan/assembled.h"
#include "laws/laws.h"
#include "prims/ids.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void list(void) {
    for (const laws_law *k = laws_table; k->name; k++)
        (void)printf("%-16s every %3d  %s\n", k->name, k->every, k->says);
}

static int usage(void) {
    (void)fprintf(stderr, "usage: laws [--n N] [--programs M] [--seed S] [--only LAW] [--prim NAME] [--backend NAME] [--nests WHO] [--part K/N] [--list] [--write DIR]\n");
    return 2;
}

static bool known_law(const char *name) {
    for (const laws_law *k = laws_table; k->name; k++)
        if (strcmp(k->name, name) == 0) return true;
    return false;
}

static bool known_prim(const char *name) {
    for (int i = 0; i < TN_NPRIMS; i++)
        if (strcmp(tn_i_registry[i]->name, name) == 0) return true;
    return strcmp(name, "generated") == 0;
}

static bool known_backend(const char *name, int *backend) {
    static const char *const names[] = {[TN_BACKEND_DEFAULT] = "default",
                                        [TN_BACKEND_REFERENCE] = "reference",
                                        [TN_BACKEND_NATIVE] = "native",
                                        [TN_BACKEND_ASSEMBLER] = "assembler",
                                        [TN_BACKEND_STRIPS] = "strips"};
    for (*backend = 0; *backend < (int)(sizeof names / sizeof *names); ++*backend)
        if (strcmp(names[*backend], name) == 0) return true;
    return false;
}

static bool known_nests(const char *name, uint8_t *nests) {
    static const char *const names[] = {[TN_NESTS_BACKEND] = "backend",
                                        [TN_NESTS_LOWERED] = "lowered",
                                        [TN_NESTS_PASSED] = "passed",
                                        [TN_NESTS_BACKWARDS] = "backwards"};
    for (*nests = 0; *nests < sizeof names / sizeof *names; ++*nests)
        if (strcmp(names[*nests], name) == 0) return true;
    return false;
}

int main(int argc, char **argv) {
    laws_options o = {.n = 100, .seed = 1, .registry = tn_i_registry};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--list") == 0) {
            list();
            return 0;
        }
        if (i + 1 == argc) return usage();
        if (strcmp(argv[i], "--n") == 0)
            o.n = strtol(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--programs") == 0)
            o.programs = strtol(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--seed") == 0)
            o.seed = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--only") == 0)
            o.law = argv[++i];
        else if (strcmp(argv[i], "--prim") == 0)
            o.prim = argv[++i];
        else if (strcmp(argv[i], "--backend") == 0) {
            if (!known_backend(argv[++i], &o.backend)) return usage();
        } else if (strcmp(argv[i], "--nests") == 0) {
            if (!known_nests(argv[++i], &o.nests)) return usage();
        } else if (strcmp(argv[i], "--part") == 0) {
            if (sscanf(argv[++i], "%ld/%ld", &o.part, &o.parts) != 2 || o.part < 1 || o.parts < o.part) return usage();
        } else if (strcmp(argv[i], "--write") == 0)
            o.write = argv[++i];
        else
            return usage();
    }
    if (o.n < 1 || o.programs < 0 || (o.law && !known_law(o.law)) || (o.prim && !known_prim(o.prim))) return usage();
    const laws_result r = laws_run_all(&o);
    (void)printf("%ld passed, %ld failed\n", r.passed, r.failed);
    return r.failed ? 1 : 0;
}
