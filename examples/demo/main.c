/* The demo: a network and a regression on real data, written in C against
 * <tansy.h>.  usage: demo [--data DIR] [--out DIR] [--epochs N] [--seed N]
 * Exit status: 0 all aims met, 1 an aim missed or a failure, 2 bad usage. */
#include "demo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool number(const char *text, unsigned long long max, unsigned long long *out) {
    char *end;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0 && *out <= max;
}

static bool arguments(demo *d, int n, char **args) {
    for (int i = 1; i < n; i += 2) {
        const char *value = i + 1 < n ? args[i + 1] : NULL;
        unsigned long long k = 0;
        if (value && strcmp(args[i], "--data") == 0)
            d->data = value;
        else if (value && strcmp(args[i], "--out") == 0)
            d->out = value;
        else if (value && strcmp(args[i], "--epochs") == 0 && number(value, 10000, &k) && k > 0)
            d->epochs = (int)k;
        else if (value && strcmp(args[i], "--seed") == 0 && number(value, UINT64_MAX, &k))
            d->seed = k;
        else
            return false;
    }
    return true;
}

static bool run(demo *d) {
    table digits = {0}, breast_cancer = {0};
    bool ok = table_read(d->data, "digits.csv", PIXELS + 1, 0, &digits) &&
              table_classes(&digits, "digits.csv", PIXELS, CLASSES) &&
              table_read(d->data, "breast_cancer.csv", 31, 1, &breast_cancer) &&
              table_classes(&breast_cancer, "breast_cancer.csv", 30, 2);
    ok = ok && programs(d, &digits) && train(d, &digits) && newton(d, &breast_cancer);
    table_free(&digits);
    table_free(&breast_cancer);
    return ok;
}

int main(int n, char **args) {
    demo d = {.data = "examples/data", .epochs = 40, .seed = 1, .terminal = isatty(STDOUT_FILENO)};
    /* Beside the program, so that it goes where the build goes. */
    char *out = malloc(strlen(args[0]) + sizeof "-output");
    if (!out) return 1;
    (void)sprintf(out, "%s-output", args[0]);
    d.out = out;
    if (!arguments(&d, n, args)) {
        fprintf(stderr, "usage: %s [--data DIR] [--out DIR] [--epochs N] [--seed N]\n", args[0]);
        free(out);
        return 2;
    }
    const double start = seconds();
    d.ctx = tn_ctx_new(NULL);
    printf("Tansy %s: one demo, three jobs\n", tn_version());
    const bool ok = d.ctx ? run(&d) : false;
    if (!d.ctx) fprintf(stderr, "out of memory\n");
    if (ok) {
        heading(&d, 4, "What was aimed at");
        aims_print(&d);
        printf("\n   %.1f s in all\n", seconds() - start);
    }
    tn_ctx_free(d.ctx);
    free(out);
    return ok && d.missed == 0 ? 0 : 1;
}
