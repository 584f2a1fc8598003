/* What is done to a loop program before a back end walks it, from top to bottom. */
#include "pass/pass.h"

#include <string.h>

const tn_i_pass tn_i_pipeline[] = {
    {"interchange", tn_i_pass_interchange},         /* loops over results, outside of those over elements */
    {"unroll", tn_i_pass_unroll},                   /* short loops where iterations follow one another */
    {"sums_straight", tn_i_pass_sums_straight},     /* reductions of few elements in one block */
    {"diagonals", tn_i_pass_diagonals},             /* loops few of whose iterations are not like the rest */
    {"conditions", tn_i_pass_conditions},           /* comparisons of the numbers of loops */
    {"partition", tn_i_pass_partition},             /* loops where conditions change */
    {"promote", tn_i_pass_promote},                 /* what a loop keeps in memory, in registers */
    {"rows", tn_i_pass_rows},                       /* functions behind the sums of rows, in loops of their own */
    {"fission", tn_i_pass_fission},                 /* loops that feed several reductions, one by one */
    {"sums", tn_i_pass_sums},                       /* reductions as leaves, lanes and counters */
    {"partition_sums", tn_i_pass_partition},        /* loops that fed reductions, where conditions change */
    {"hoist", tn_i_pass_hoist},                     /* what is the same in each iteration */
    {"collapse", tn_i_pass_collapse},               /* loops that walk on as one */
    {"fuse", tn_i_pass_fuse},                       /* loops whose results the next one loads, with that one */
    {"cse", tn_i_pass_cse},                         /* what is computed already */
    {"parallelize", tn_i_pass_parallelize},         /* outermost loops in parts for threads */
    {"vectorize_outer", tn_i_pass_vectorize_outer}, /* for strips, outer loops around short ones */
    {"unswitch", tn_i_pass_unswitch},               /* loops that load or store where one bool says */
    {"vectorize", tn_i_pass_vectorize},             /* innermost loops by vectors */
    {"dead", tn_i_pass_dead},                       /* what nobody needs */
    {"pack", tn_i_pass_pack},                       /* functions of numbers, side by side */
    {"share", tn_i_pass_share},                     /* scratch arrays that are not live together, in the same memory */
    {NULL, NULL},
};

tn_i_loops *tn_i_passes(tn_i_loops *p, const tn_i_machine *m, const char *last) {
    for (const tn_i_pass *k = tn_i_pipeline; p && k->name; k++) {
        p = k->run(p, m);
        if (last && strcmp(k->name, last) == 0) break;
    }
    return p;
}
