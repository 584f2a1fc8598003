/* Out of memory, everywhere: fault [--work N] [--at K] [NAME..]: stages whose names contain one of these; --work 0
 * leaves no allocation out, --at K is the K-th alone. */
#include "fault/sweep.h"
#include "sanitized.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORK = SANITIZED ? 300000 : 3000000 };

/* A context is one allocation: there is no context to hold the reason. */
static bool no_context(void) {
    memory m = {0};
    const tn_ctx_options o = {.size = sizeof o, .realloc = memory_realloc, .user = &m};
    memory_arm(&m, 1, FAULT_ONE);
    tn_ctx *c = tn_ctx_new(&o);
    bool ok = !c && m.failed == 1 && tn_last_status(c) == TN_ENOMEM && tn_error(c)[0];
    memory_disarm(&m);
    c = tn_ctx_new(&o);
    ok = ok && c && tn_ctx_bytes(c) == m.bytes && m.calls == 1;
    tn_ctx_free(c);
    ok = ok && !m.blocks && !m.wrong[0];
    printf("%s tn_ctx_new\n", ok ? "ok    " : "FAILED");
    return ok;
}

static bool wanted(const char *name, int n, char **names) {
    for (int i = 0; i < n; i++)
        if (strstr(name, names[i])) return true;
    return n == 0;
}

int main(int argc, char **argv) {
    sweep_options o = {.work = WORK};
    int passed = 0, failed = 0, at = 1;
    for (; at + 1 < argc && argv[at][0] == '-'; at += 2) {
        const size_t n = (size_t)strtoul(argv[at + 1], NULL, 10);
        if (strcmp(argv[at], "--work") == 0)
            o.work = n;
        else
            o.only_at = n;
    }
    if (no_context())
        passed++;
    else
        failed++;
    for (const stage *s = stages; s->name; s++)
        if (wanted(s->name, argc - at, argv + at)) sweep(s, &o, &passed, &failed);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
