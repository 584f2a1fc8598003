/* The demo's parts.  Only <tansy.h> is used of the library. */
#ifndef DEMO_H
#define DEMO_H

#include <tansy.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- data.c: tables of numbers ------------------------------------------------- */

typedef struct table {
    size_t rows, cols;
    double *cell; /* row-major */
} table;

/* Reads comma-separated numbers, `cols` a line, after `skip` lines; blank lines
 * do not count.  False after a message on stderr that names file and line. */
bool table_read(const char *folder, const char *name, size_t cols, size_t skip, table *out);
void table_free(table *t);
/* Whether column `col` holds whole numbers 0..classes-1 only; a message if not. */
bool table_classes(const table *t, const char *name, size_t col, int classes);

/* Random numbers: splitmix64, so that a seed means the same everywhere. */
typedef struct rng {
    uint64_t state;
} rng;
uint64_t rng_next(rng *r);
double rng_uniform(rng *r); /* in (0, 1) */
double rng_normal(rng *r);
void rng_shuffle(rng *r, size_t n, size_t *index);

/* ---- report.c: what the reader sees --------------------------------------------- */

typedef struct demo {
    const char *data, *out; /* folders */
    tn_ctx *ctx;
    int epochs;
    uint64_t seed;
    bool terminal; /* stdout is one */
    int aims, missed;
    char aim[8][128];
} demo;

double seconds(void);
void heading(demo *d, int number, const char *text);
/* Records an aim; they are listed at the end and decide the exit status. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
void aim(demo *d, bool met, const char *format, ...);
void aims_print(const demo *d);
/* A bar on a terminal, redrawn in place; elsewhere a line now and then.  The
 * text goes behind it. */
void progress(const demo *d, int done, int all, const char *text);
/* "FOLDER/name" in memory to be freed; NULL after a message. */
char *path_join(const char *folder, const char *name);
/* The library's last error, or that memory is out; always false. */
bool failed(const demo *d, const char *doing);
bool file_write(const demo *d, const char *name, const char *text, size_t n);

/* ---- chart.c: line charts as SVG -------------------------------------------------- */

typedef struct panel {
    const char *title, *unit; /* unit: behind the numbers of the y axis */
    bool log_scale;           /* of y */
    const double *line[2];    /* y at x = 1, 2, .., n; finite, and positive on a log scale */
} panel;
/* Two panels side by side, n >= 1 points a line.  False after a message. */
bool chart_write(const demo *d, const char *name, const char *title, const char *x_label, const char *const label[2],
                 size_t n, const panel panels[2]);

/* ---- mlp.c: the model, written once ------------------------------------------------- */

enum { PIXELS = 64, HIDDEN = 128, CLASSES = 10, BATCH = 32 };

/* The parameters, and the state of their optimizer. */
#define MLP(F)                  \
    F(f64, w1, PIXELS, HIDDEN)  \
    F(f64, b1, HIDDEN)          \
    F(f64, w2, HIDDEN, CLASSES) \
    F(f64, b2, CLASSES)
TN_STRUCT(mlp, MLP);
#define ADAM(F) F(i64, count) F(struct, mlp, m) F(struct, mlp, v)
TN_STRUCT(adam, ADAM);

void mlp_init(rng *r, mlp *p);
/* Row i of the table: pixels in 0..1, and the class. */
void digit(const table *digits, size_t i, double x[PIXELS], int32_t *y);

tn_fn *mlp_loss(tn_ctx *c, int64_t rows);                /* (mlp, x, y) -> loss */
tn_fn *mlp_evaluate(tn_ctx *c, int64_t rows);            /* the same inputs -> (loss, accuracy in %) */
tn_fn *mlp_step(tn_ctx *c, int64_t rows, int64_t steps); /* one of so many steps of Adam, see there */

/* ---- the three jobs: false after a message; missed aims are no failure ---------------- */

bool programs(demo *d, const table *digits);      /* programs.c */
bool train(demo *d, const table *digits);         /* train.c, which also draws the chart */
bool newton(demo *d, const table *breast_cancer); /* newton.c */

#endif
