/* Drawings of memory over time, of sparsity patterns and of where time went, as SVG that needs nothing else. */
#ifndef TN_CLI_SVG_H
#define TN_CLI_SVG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* One line of the drawing: a derivative program under one policy. */
typedef struct tn_i_memory_line {
    const char *name;    /* the policy */
    const size_t *bytes; /* alive at each equation of the plan and, maybe, while results are copied: n of them */
    size_t n, equations;
    size_t backward; /* the first equation of the backward part, at most n */
    size_t kept;     /* bytes that the forward part leaves to the backward one */
    size_t peak;     /* of the arena: at least the most bytes alive */
} tn_i_memory_line;

/* The largest unit of which there is one in so many bytes, and its name; bytes as such text, with two digits. */
double tn_i_svg_unit(double bytes, const char **name);
void tn_i_svg_bytes(FILE *out, size_t bytes);

/* Draws all lines over each other, meeting where the backward parts begin.  Lines with very many
 * equations are drawn by the most bytes in each half pixel.  `title` is any text.  The same drawing gives
 * the same bytes, on every machine and in every locale.  False when the stream failed. */
bool tn_i_svg_memory(FILE *out, const char *title, size_t n, const tn_i_memory_line *line);

/* A pattern, by row, and what its entries are drawn like. */
typedef struct tn_i_spy {
    const char *title, *note; /* any text; the second stands below the first */
    int64_t rows, columns;
    const int64_t *ptr, *ind;
    const bool *constant;  /* per entry: drawn hollow; NULL: none is */
    const int32_t *colour; /* per entry, 0 .. colours - 1, or -1: drawn grey; NULL: all are drawn alike */
    int64_t colours;
} tn_i_spy;

/* Draws the entries as dots, a row as high as a column is wide; patterns of more than 512 rows or columns, or of too
 * many entries for that, as squares of several rows and columns, shaded by how many entries they have.  At most 200 kB.
 * The same drawing gives the same bytes.  False when the stream failed or there was no memory. */
bool tn_i_svg_spy(FILE *out, const tn_i_spy *s);

/* A bar of a drawing of where time went: a step, those that it runs behind it and one deeper. */
typedef struct tn_i_flame {
    double ns;
    int depth;
    const char *runner;
    char label[192], all[512]; /* any text: in the bar, as much as it has room for; and what a pointer on it shows */
} tn_i_flame;

/* Draws bars below `whole`, which is `ns` wide.  False when the stream failed. */
bool tn_i_svg_flames(FILE *out, const char *title, const char *whole, double ns, size_t n, const tn_i_flame *bar);

#endif
