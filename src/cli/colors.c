/* Colours of a pattern by partition and order, and the drawing of the one that is chosen. */
#include "cli/colors.h"
#include "cli/svg.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Colourings that would take minutes are left out. */
static const double MOST_WORK = 1e9;

static const struct {
    const char *shown, *name;
} partition[TN_I_CLI_PARTITIONS] = {
    {"columns", "column"}, {"rows", "row"}, {"both", "bidirectional"}, {"star", "star"}, {"acyclic", "acyclic"}};
static const struct {
    const char *shown, *name;
    int width;
} order[TN_I_CLI_ORDERS] = {{"natural", "natural", 9},
                            {"largest first", "largest_first", 15},
                            {"smallest last", "smallest_last", 15},
                            {"incidence", "incidence_degree", 11},
                            {"lattice", "lattice", 8}};

/* ---- what is coloured --------------------------------------------------------------------------- */

/* Entries that are constant are not coloured: they are computed once. */
static tn_sparsity *varying(tn_ctx *c, const tn_sparsity_arrays *a, int64_t *nnz) {
    int64_t *ptr = malloc(((size_t)a->rows + 1) * sizeof *ptr), *ind = malloc(((size_t)a->nnz + 1) * sizeof *ind);
    tn_sparsity *s = NULL;
    *nnz = 0;
    if (ptr && ind) {
        ptr[0] = 0;
        for (int64_t i = 0; i < a->rows; i++) {
            for (int64_t k = a->ptr[i]; k < a->ptr[i + 1]; k++)
                if (!a->constant || !a->constant[k]) ind[(*nnz)++] = a->ind[k];
            ptr[i + 1] = *nnz;
        }
        s = tn_sparsity_csr(c, a->rows, a->columns, ptr, ind);
    }
    free(ptr), free(ind);
    return s;
}

/* The shape of the one input that is differentiated. */
static void find_grid(const tn_fn *f, const tn_wrt_list *wrt, tn_coloring_options *o) {
    tn_type one = {0};
    size_t n = wrt ? wrt->n : 0;
    if (n == 1) one = tn_fn_input_type(f, (size_t)wrt->index[0]);
    for (size_t i = 0; !wrt && i < tn_fn_inputs(f); i++) {
        const tn_type t = tn_fn_input_type(f, i);
        if (t.dtype == TN_F32 || t.dtype == TN_F64) one = t, n++;
    }
    if (n != 1 || one.rank > 3) return;
    o->rank = one.rank;
    for (int d = 0; d < one.rank; d++) o->grid[d] = one.dim[d];
    for (int d = 0; d < one.rank; d++)
        if (!one.dim[d]) o->rank = 0;
}

static double work(const tn_sparsity_arrays *a, int64_t lines) {
    double sum = 0;
    for (int64_t i = 0; i < lines; i++)
        sum += (double)(a->ptr[i + 1] - a->ptr[i]) * (double)(a->ptr[i + 1] - a->ptr[i]);
    return sum;
}

/* ---- all of them ------------------------------------------------------------------------------------ */

static bool applies(const tn_i_cli_colors *k, const tn_sparsity_arrays *rows, const tn_sparsity_arrays *columns,
                    tn_partition p) {
    const bool graph = p == TN_COLOR_STAR || p == TN_COLOR_ACYCLIC;
    if (graph || (p != TN_COLOR_COLUMN && k->symmetric)) return graph && k->symmetric;
    if (p == TN_COLOR_BIDIRECTIONAL) return work(rows, rows->rows) + work(columns, columns->columns) < MOST_WORK;
    return (p == TN_COLOR_COLUMN ? work(rows, rows->rows) : work(columns, columns->columns)) < MOST_WORK;
}

static void count(tn_i_cli_colors *k, tn_coloring_options o) {
    for (int i = 0; i < TN_I_CLI_ORDERS; i++) {
        tn_coloring_arrays a = {.size = sizeof a};
        o.order = (tn_color_order)(TN_ORDER_NATURAL + i);
        tn_coloring *c = tn_color(k->part, &o); /* NULL: no lattice */
        if (c && tn_coloring_view(c, &a) == TN_OK) {
            k->forward[o.partition - 1][i] = a.forward;
            k->reverse[o.partition - 1][i] = a.reverse;
        }
        tn_coloring_free(c);
    }
}

/* Of a symmetric pattern, as of one that was found: its part does not know what it is a part of. */
static bool choose(tn_i_cli_colors *k, tn_coloring_options o) {
    tn_coloring_arrays a = {.size = sizeof a}, b = {.size = sizeof b};
    o.order = TN_ORDER_BEST;
    o.partition = k->symmetric ? TN_COLOR_STAR : TN_COLOR_AUTO;
    k->chosen = tn_color(k->part, &o);
    if (!k->chosen)
        o.partition = TN_COLOR_AUTO, k->chosen = tn_color(k->part, &o); /* one of (i,j), (j,i) is constant */
    if (o.partition == TN_COLOR_AUTO) return k->chosen != NULL;
    o.partition = TN_COLOR_COLUMN;
    tn_coloring *columns = k->forward[0][0] < 0 ? NULL : tn_color(k->part, &o);
    if (columns && tn_coloring_view(k->chosen, &a) == TN_OK && tn_coloring_view(columns, &b) == TN_OK &&
        b.forward < a.forward) {
        tn_coloring_free(k->chosen);
        k->chosen = columns;
    } else {
        tn_coloring_free(columns);
    }
    return true;
}

bool tn_i_cli_color(tn_ctx *c, const tn_fn *f, const tn_wrt_list *wrt, const tn_sparsity *s, tn_i_cli_colors *k) {
    tn_sparsity_arrays a = {.size = sizeof a}, rows = {.size = sizeof rows}, columns = {.size = sizeof columns};
    tn_coloring_options o = {.size = sizeof o};
    *k = (tn_i_cli_colors){0};
    if (tn_sparsity_view(s, TN_CSR, TN_FULL, &a) != TN_OK || !(k->part = varying(c, &a, &k->nnz)) ||
        tn_sparsity_view(k->part, TN_CSR, TN_FULL, &rows) != TN_OK ||
        tn_sparsity_view(k->part, TN_CSC, TN_FULL, &columns) != TN_OK)
        return false;
    k->symmetric = a.symmetric;
    find_grid(f, wrt, &o);
    for (int p = 0; p < TN_I_CLI_PARTITIONS; p++) {
        for (int i = 0; i < TN_I_CLI_ORDERS; i++) k->forward[p][i] = -1;
        o.partition = (tn_partition)(TN_COLOR_COLUMN + p);
        if (applies(k, &rows, &columns, o.partition)) count(k, o);
    }
    return choose(k, o);
}

void tn_i_cli_colors_free(tn_i_cli_colors *k) {
    tn_coloring_free(k->chosen);
    tn_sparsity_free(k->part);
}

/* ---- printing ----------------------------------------------------------------------------------------- */

static void print_count(const tn_i_cli_colors *k, int p, int i) {
    char text[64] = "-";
    const long long f = k->forward[p][i], r = k->reverse[p][i];
    if (f >= 0 && p + 1 == TN_COLOR_BIDIRECTIONAL)
        (void)snprintf(text, sizeof text, "%lld + %lld", f, r);
    else if (f >= 0)
        (void)snprintf(text, sizeof text, "%lld", f + r);
    if (i + 1 < TN_I_CLI_ORDERS)
        (void)printf("%-*s", order[i].width, text);
    else
        (void)printf("%s\n", text);
}

void tn_i_cli_colors_print(const tn_i_cli_colors *k, int64_t nnz) {
    tn_coloring_arrays a = {.size = sizeof a};
    (void)printf("%-17s", "colours");
    for (int i = 0; i < TN_I_CLI_ORDERS; i++)
        (void)printf("%-*s%s", i + 1 < TN_I_CLI_ORDERS ? order[i].width : 0, order[i].shown,
                     i + 1 < TN_I_CLI_ORDERS ? "" : "\n");
    for (int p = 0; p < TN_I_CLI_PARTITIONS; p++) {
        if (k->forward[p][0] < 0) continue;
        (void)printf("  %-15s", partition[p].shown);
        for (int i = 0; i < TN_I_CLI_ORDERS; i++) print_count(k, p, i);
    }
    if (tn_coloring_view(k->chosen, &a) != TN_OK) return;
    (void)printf("%-17s%s, %s: ", "chosen", partition[a.partition - 1].shown, order[a.order - TN_ORDER_NATURAL].shown);
    if (a.forward || !a.reverse) (void)printf("%lld forward", (long long)a.forward);
    if (a.reverse) (void)printf("%s%lld reverse", a.forward ? ", " : "", (long long)a.reverse);
    if (k->nnz < nnz) (void)printf(", for %lld entries that vary", (long long)k->nnz);
    (void)printf("\n");
}

void tn_i_cli_colors_json(const tn_i_cli_colors *k) {
    tn_coloring_arrays a = {.size = sizeof a};
    (void)printf("\"varying\": %lld, \"colors\": {", (long long)k->nnz);
    const char *comma = "";
    for (int p = 0; p < TN_I_CLI_PARTITIONS; p++) {
        if (k->forward[p][0] < 0) continue;
        (void)printf("%s\"%s\": {", comma, partition[p].name);
        comma = ", ";
        for (int i = 0; i < TN_I_CLI_ORDERS; i++) {
            (void)printf("%s\"%s\": ", i ? ", " : "", order[i].name);
            if (k->forward[p][i] < 0)
                (void)printf("null");
            else
                (void)printf("[%lld, %lld]", (long long)k->forward[p][i], (long long)k->reverse[p][i]);
        }
        (void)printf("}");
    }
    (void)printf("}");
    if (tn_coloring_view(k->chosen, &a) == TN_OK)
        (void)printf(", \"chosen\": {\"partition\": \"%s\", \"order\": \"%s\", \"forward\": %lld, \"reverse\": %lld}",
                     partition[a.partition - 1].name, order[a.order - TN_ORDER_NATURAL].name, (long long)a.forward,
                     (long long)a.reverse);
}

/* ---- drawing ------------------------------------------------------------------------------------------ */

/* No other column of row i has column j's colour: of both ways the entry is read forward. */
static bool alone(const tn_sparsity_arrays *s, const int32_t *column, int64_t i, int64_t j) {
    int same = 0;
    for (int64_t k = s->ptr[i]; k < s->ptr[i + 1]; k++) same += column[s->ind[k]] == column[j];
    return same == 1;
}

/* By which colour each entry is read: those of rows come behind those of columns. */
static void color_entries(const tn_sparsity_arrays *s, const tn_sparsity_arrays *part, const tn_coloring_arrays *k,
                          int32_t *colour) {
    for (int64_t i = 0; i < s->rows; i++)
        for (int64_t e = s->ptr[i]; e < s->ptr[i + 1]; e++) {
            const int64_t j = s->ind[e];
            const int32_t column = k->column ? k->column[j] : -1, row = k->row ? k->row[i] : -1;
            const bool forward = column >= 0 && (row < 0 || alone(part, k->column, i, j));
            colour[e] = s->constant && s->constant[e] ? -1 : forward || row < 0 ? column : row + (int32_t)k->forward;
        }
}

int tn_i_cli_spy(const tn_i_cli *o, const tn_sparsity *s, const tn_i_cli_colors *k) {
    tn_sparsity_arrays a = {.size = sizeof a}, part = {.size = sizeof part};
    tn_coloring_arrays c = {.size = sizeof c};
    char note[200];
    if (tn_sparsity_view(s, TN_CSR, TN_FULL, &a) != TN_OK ||
        tn_sparsity_view(k->part, TN_CSR, TN_FULL, &part) != TN_OK || tn_coloring_view(k->chosen, &c) != TN_OK)
        return tn_i_cli_say(o, "out of memory");
    int32_t *colour = malloc(((size_t)a.nnz + 1) * sizeof *colour);
    if (!colour) return tn_i_cli_say(o, "out of memory");
    color_entries(&a, &part, &c, colour);
    (void)snprintf(note, sizeof note, "%s of %lld x %lld, %lld entries", a.symmetric ? "Hessian" : "Jacobian",
                   (long long)a.rows, (long long)a.columns, (long long)a.nnz);
    const tn_i_spy spy = {.title = o->file,
                          .note = note,
                          .rows = a.rows,
                          .columns = a.columns,
                          .ptr = a.ptr,
                          .ind = a.ind,
                          .constant = a.constant,
                          .colour = colour,
                          .colours = c.forward + c.reverse};
    FILE *out = strcmp(o->svg, "-") == 0 ? stdout : fopen(o->svg, "w");
    bool ok = out && tn_i_svg_spy(out, &spy);
    if (out && out != stdout) ok = fclose(out) == 0 && ok;
    if (!ok) (void)fprintf(stderr, "%s: %s\n", o->svg, strerror(errno));
    free(colour);
    return ok ? TN_CLI_OK : TN_CLI_BAD;
}
