/* sparsity: which entries of a derivative may be nonzero, in a few numbers and colours, as JSON, a picture or a
 * MatrixMarket file. */
#include "cli/colors.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- known inputs --------------------------------------------------------------------------------- */

/* What --known says of inputs, by input; false after a message. */
static bool read_known(const tn_i_cli *o, const tn_fn *f, void **known, int *status) {
    for (int i = 0; i < o->nknown; i++) {
        char *end;
        errno = 0;
        const unsigned long long k = strtoull(o->known[i], &end, 10);
        if (end == o->known[i] || *end != '=' || errno || k >= tn_fn_inputs(f)) {
            *status = tn_i_cli_usage("--known is NUMBER=VALUE of one of the %zu inputs, not '%s'", tn_fn_inputs(f),
                                     o->known[i]);
            return false;
        }
        const tn_type t = tn_fn_input_type(f, (size_t)k);
        *status = TN_CLI_BAD;
        free(known[k]);
        if (!(known[k] = tn_i_cli_operand(end + 1, &t, (int)k))) return false;
    }
    *status = TN_CLI_OK;
    return true;
}

/* ---- numbers ---------------------------------------------------------------------------------------- */

typedef struct facts {
    int64_t constant, below, above, longest_row, longest_column;
    double density;
} facts;

static void look_at(const tn_sparsity_arrays *a, const tn_sparsity_arrays *columns, facts *x) {
    *x = (facts){.density = a->rows && a->columns ? (double)a->nnz / (double)a->rows / (double)a->columns : 0.0};
    for (int64_t i = 0; i < a->rows; i++) {
        if (a->ptr[i + 1] - a->ptr[i] > x->longest_row) x->longest_row = a->ptr[i + 1] - a->ptr[i];
        for (int64_t k = a->ptr[i]; k < a->ptr[i + 1]; k++) {
            if (i - a->ind[k] > x->below) x->below = i - a->ind[k];
            if (a->ind[k] - i > x->above) x->above = a->ind[k] - i;
            x->constant += a->constant && a->constant[k];
        }
    }
    for (int64_t j = 0; j < columns->columns; j++)
        if (columns->ptr[j + 1] - columns->ptr[j] > x->longest_column)
            x->longest_column = columns->ptr[j + 1] - columns->ptr[j];
}

static void print_plain(const tn_sparsity *s, const tn_sparsity_arrays *a, const facts *x, const tn_i_cli_colors *k) {
    (void)printf("%-17s%lld x %lld%s\n", "rows x columns", (long long)a->rows, (long long)a->columns,
                 a->symmetric ? ", symmetric" : "");
    (void)printf("%-17s%lld\n", "entries", (long long)a->nnz);
    (void)printf("%-17s%.3g %%\n", "density", 100 * x->density);
    (void)printf("%-17s%lld\n", "constant entries", (long long)x->constant);
    (void)printf("%-17s%lld below, %lld above the diagonal\n", "bandwidth", (long long)x->below, (long long)x->above);
    (void)printf("%-17s%lld\n%-17s%lld\n", "longest row", (long long)x->longest_row, "longest column",
                 (long long)x->longest_column);
    tn_i_cli_colors_print(k, a->nnz);
    for (size_t i = 0; tn_sparsity_warning(s, i); i++) (void)printf("warning: %s\n", tn_sparsity_warning(s, i));
}

static void print_quoted(const char *text) {
    (void)putchar('"');
    for (const unsigned char *s = (const unsigned char *)text; *s; s++) {
        if (*s == '"' || *s == '\\')
            (void)printf("\\%c", *s);
        else if (*s < 0x20)
            (void)printf("\\u%04x", (unsigned)*s);
        else
            (void)putchar(*s);
    }
    (void)putchar('"');
}

static void print_json(const tn_sparsity *s, const tn_sparsity_arrays *a, const facts *x, const tn_i_cli_colors *k) {
    (void)printf("{\"rows\": %lld, \"columns\": %lld, \"nnz\": %lld, \"density\": %.17g, \"constant\": %lld, ",
                 (long long)a->rows, (long long)a->columns, (long long)a->nnz, x->density, (long long)x->constant);
    (void)printf(
        "\"below\": %lld, \"above\": %lld, \"longest_row\": %lld, \"longest_column\": %lld, \"symmetric\": %s, ",
        (long long)x->below, (long long)x->above, (long long)x->longest_row, (long long)x->longest_column,
        a->symmetric ? "true" : "false");
    tn_i_cli_colors_json(k);
    (void)printf(", \"warnings\": [");
    for (size_t i = 0; tn_sparsity_warning(s, i); i++) {
        if (i) (void)printf(", ");
        print_quoted(tn_sparsity_warning(s, i));
    }
    (void)printf("]}\n");
}

/* ---- MatrixMarket ------------------------------------------------------------------------------------- */

static int write_mtx(const char *path, const tn_sparsity_arrays *a) {
    FILE *f = fopen(path, "w");
    if (f) {
        (void)fprintf(f, "%%%%MatrixMarket matrix coordinate pattern general\n%lld %lld %lld\n", (long long)a->rows,
                      (long long)a->columns, (long long)a->nnz);
        for (int64_t i = 0; i < a->rows; i++)
            for (int64_t k = a->ptr[i]; k < a->ptr[i + 1]; k++)
                (void)fprintf(f, "%lld %lld\n", (long long)i + 1, (long long)a->ind[k] + 1);
    }
    const bool written = f && !ferror(f);
    if ((!f || fclose(f) == 0) && written) return TN_CLI_OK;
    (void)fprintf(stderr, "%s: %s\n", path, strerror(errno));
    return TN_CLI_BAD;
}

/* ---- the command ---------------------------------------------------------------------------------------- */

static int show(const tn_i_cli *o, const tn_sparsity *s, const tn_i_cli_colors *k) {
    tn_sparsity_arrays rows = {.size = sizeof rows}, columns = {.size = sizeof columns};
    if (tn_sparsity_view(s, TN_CSR, TN_FULL, &rows) != TN_OK || tn_sparsity_view(s, TN_CSC, TN_FULL, &columns) != TN_OK)
        return tn_i_cli_say(o, "out of memory");
    facts x;
    look_at(&rows, &columns, &x);
    const bool drawn = o->svg && strcmp(o->svg, "-") == 0; /* there is nothing else then */
    if (!drawn && o->json) print_json(s, &rows, &x, k);
    if (!drawn && !o->json) print_plain(s, &rows, &x, k);
    const int status = o->svg ? tn_i_cli_spy(o, s, k) : TN_CLI_OK;
    return status == TN_CLI_OK && o->mtx ? write_mtx(o->mtx, &rows) : status;
}

static int color_and_show(const tn_i_cli *o, tn_ctx *c, const tn_fn *f, const tn_wrt_list *wrt, const tn_sparsity *s) {
    tn_i_cli_colors k;
    const int status = tn_i_cli_color(c, f, wrt, s, &k) ? show(o, s, &k) : tn_i_cli_say(o, "out of memory");
    tn_i_cli_colors_free(&k);
    return status;
}

int tn_i_cli_sparsity(const tn_i_cli *o, tn_ctx *c, const tn_fn *f) {
    const tn_wrt_list list = {o->nwrt, o->wrt}, *wrt = o->wrt ? &list : NULL;
    const size_t n = tn_fn_inputs(f);
    void **known = calloc(n + 1, sizeof *known);
    int status = TN_CLI_BAD;
    if (!known) return tn_i_cli_say(o, "out of memory");
    if (read_known(o, f, known, &status)) {
        const tn_sparsity_options options = {.size = sizeof options, .known = (const void *const *)known};
        tn_sparsity *s = o->hessian ? tn_hessian_sparsity(f, wrt, &options) : tn_jacobian_sparsity(f, wrt, &options);
        status = s ? color_and_show(o, c, f, wrt, s) : tn_i_cli_bad(o, c);
        tn_sparsity_free(s);
    }
    for (size_t i = 0; i < n; i++) free(known[i]);
    free(known);
    return status;
}
