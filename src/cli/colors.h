/* sparsity: how many colours a pattern takes, and its drawing. */
#ifndef TN_CLI_COLORS_H
#define TN_CLI_COLORS_H

#include "cli/cli.h"
#include "tansy/sparse.h"

enum { TN_I_CLI_PARTITIONS = 5, TN_I_CLI_ORDERS = 5 };

/* By partition, from TN_COLOR_COLUMN on, and by order, from TN_ORDER_NATURAL on. */
typedef struct tn_i_cli_colors {
    tn_sparsity *part; /* the entries that vary: nnz of them */
    int64_t nnz;
    bool symmetric;
    int64_t forward[TN_I_CLI_PARTITIONS][TN_I_CLI_ORDERS], reverse[TN_I_CLI_PARTITIONS][TN_I_CLI_ORDERS]; /* -1: none */
    tn_coloring *chosen;
} tn_i_cli_colors;

/* Of s, which is f's; false where there was no memory.  Released in either case. */
bool tn_i_cli_color(tn_ctx *c, const tn_fn *f, const tn_wrt_list *wrt, const tn_sparsity *s, tn_i_cli_colors *k);
void tn_i_cli_colors_free(tn_i_cli_colors *k);
void tn_i_cli_colors_print(const tn_i_cli_colors *k, int64_t nnz);
void tn_i_cli_colors_json(const tn_i_cli_colors *k); /* members of an object */
/* Draws s to the file of --svg; the exit status. */
int tn_i_cli_spy(const tn_i_cli *o, const tn_sparsity *s, const tn_i_cli_colors *k);

#endif
