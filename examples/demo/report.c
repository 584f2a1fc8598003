/* What the reader sees: headings, progress, aims; and files. */
#include "demo.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void heading(demo *d, int number, const char *text) {
    printf(d->terminal ? "\n\033[1m%d. %s\033[0m\n\n" : "\n%d. %s\n\n", number, text);
    fflush(stdout);
}

void aim(demo *d, bool met, const char *format, ...) {
    const int room = (int)(sizeof d->aim / sizeof *d->aim);
    if (!met) d->missed++;
    if (d->aims == room) return;
    char *text = d->aim[d->aims++];
    const int n = snprintf(text, sizeof *d->aim, "   %s  ", met ? "ok    " : "MISSED");
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text + n, sizeof *d->aim - (size_t)n, format, args);
    va_end(args);
}

void aims_print(const demo *d) {
    for (int i = 0; i < d->aims; i++) puts(d->aim[i]);
}

void progress(const demo *d, int done, int all, const char *text) {
    enum { WIDTH = 24 };
    if (!d->terminal) {
        if (done == 1 || done % 5 == 0 || done == all) printf("   epoch %3d/%d  %s\n", done, all, text);
        fflush(stdout);
        return;
    }
    char bar[WIDTH + 1] = {0};
    for (int i = 0; i < WIDTH; i++) bar[i] = i < WIDTH * done / all ? '#' : '.';
    printf("\r   [%s] %3d/%d  %s\033[K%s", bar, done, all, text, done == all ? "\n" : "");
    fflush(stdout);
}

char *path_join(const char *folder, const char *name) {
    const size_t n = strlen(folder) + strlen(name) + 2;
    char *path = malloc(n);
    if (path)
        (void)snprintf(path, n, "%s/%s", folder, name);
    else
        fprintf(stderr, "out of memory\n");
    return path;
}

bool failed(const demo *d, const char *doing) {
    const char *why = tn_error(d->ctx);
    fprintf(stderr, "%s: %s\n", doing, *why ? why : "out of memory");
    return false;
}

bool file_write(const demo *d, const char *name, const char *text, size_t n) {
    char *path = path_join(d->out, name);
    if (!path) return false;
    bool ok = mkdir(d->out, 0777) == 0 || errno == EEXIST;
    FILE *f = ok ? fopen(path, "w") : NULL;
    ok = f && fwrite(text, 1, n, f) == n;
    if (f) ok &= fclose(f) == 0;
    if (!ok) fprintf(stderr, "%s: %s\n", path, strerror(errno));
    free(path);
    return ok;
}
