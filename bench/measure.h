/* What the benchmarks of loops share: clocks, memory, the processor's name. */
#ifndef TN_MEASURE_H
#define TN_MEASURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

/* Processor time, in seconds: other work on the machine is not in it. */
static inline double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline int rising(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts. */
static inline double median(double *x, size_t n) {
    qsort(x, n, sizeof *x, rising);
    return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

/* Of this process, in KiB. */
static inline long peak_rss(void) {
    struct rusage r;
    return getrusage(RUSAGE_SELF, &r) == 0 ? r.ru_maxrss : 0;
}

/* "" where the system does not tell. */
static inline void cpu_model(char *out, size_t room) {
    char line[256];
    *out = '\0';
    FILE *f = fopen("/proc/cpuinfo", "r");
    while (f && !*out && fgets(line, sizeof line, f)) {
        const char *value = strncmp(line, "model name", 10) == 0 ? strchr(line, ':') : NULL;
        if (value) (void)snprintf(out, room, "%.*s", (int)strcspn(value + 2, "\"\\\n"), value + 2);
    }
    if (f) fclose(f);
}

#endif
