/* Reading tables, and random numbers. */
#include "demo.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 4096 };

/* One line's numbers into cell; false after a message. */
static bool parse_line(const char *path, size_t number, const char *text, size_t cols, double *cell) {
    for (size_t j = 0; j < cols; j++) {
        char *end;
        cell[j] = strtod(text, &end);
        if (end == text || !isfinite(cell[j])) {
            fprintf(stderr, "%s:%zu: field %zu is not a number\n", path, number, j + 1);
            return false;
        }
        const bool last = j + 1 == cols;
        if (last ? end[strspn(end, " \t\r\n")] != '\0' : *end != ',') {
            fprintf(stderr, "%s:%zu: %zu fields were expected, separated by commas\n", path, number, cols);
            return false;
        }
        text = end + 1;
    }
    return true;
}

static bool grow(table *t, size_t *room) {
    if (t->rows < *room) return true;
    *room = *room ? *room * 2 : 256;
    double *cell = realloc(t->cell, *room * t->cols * sizeof *cell);
    if (cell) t->cell = cell;
    return cell != NULL;
}

static bool read_lines(FILE *f, const char *path, size_t skip, table *t) {
    char line[LINE];
    size_t room = 0;
    for (size_t number = 1; fgets(line, sizeof line, f); number++) {
        if (!strchr(line, '\n') && !feof(f)) {
            fprintf(stderr, "%s:%zu: the line is too long\n", path, number);
            return false;
        }
        if (number <= skip || line[strspn(line, " \t\r\n")] == '\0') continue;
        if (!grow(t, &room)) {
            fprintf(stderr, "%s: out of memory\n", path);
            return false;
        }
        if (!parse_line(path, number, line, t->cols, t->cell + t->rows * t->cols)) return false;
        t->rows++;
    }
    if (ferror(f))
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
    else if (t->rows == 0)
        fprintf(stderr, "%s: there are no rows\n", path);
    return !ferror(f) && t->rows > 0;
}

bool table_read(const char *folder, const char *name, size_t cols, size_t skip, table *out) {
    *out = (table){.cols = cols};
    char *path = path_join(folder, name);
    if (!path) return false;
    FILE *f = fopen(path, "r");
    if (!f) fprintf(stderr, "%s: %s (--data DIR says where the tables are)\n", path, strerror(errno));
    const bool ok = f && read_lines(f, path, skip, out);
    if (f) fclose(f);
    if (!ok) table_free(out);
    free(path);
    return ok;
}

void table_free(table *t) {
    free(t->cell);
    *t = (table){0};
}

bool table_classes(const table *t, const char *name, size_t col, int classes) {
    for (size_t i = 0; i < t->rows; i++) {
        const double k = t->cell[i * t->cols + col];
        if (k >= 0 && k < classes && k == floor(k)) continue;
        fprintf(stderr, "%s: row %zu: its class is %g, not one of 0..%d\n", name, i + 1, k, classes - 1);
        return false;
    }
    return true;
}

uint64_t rng_next(rng *r) {
    uint64_t z = r->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

double rng_uniform(rng *r) { return ((double)(rng_next(r) >> 12) + 0.5) * 0x1p-52; }

double rng_normal(rng *r) {
    const double radius = sqrt(-2 * log(rng_uniform(r)));
    return radius * cos(6.283185307179586 * rng_uniform(r));
}

void rng_shuffle(rng *r, size_t n, size_t *index) {
    for (size_t i = n; i > 1; i--) {
        const size_t j = (size_t)(rng_uniform(r) * (double)i);
        const size_t t = index[i - 1];
        index[i - 1] = index[j];
        index[j] = t;
    }
}
