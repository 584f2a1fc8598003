/* The dense derivative, which laws about sparse ones compare with. */
#ifndef LAWS_DENSE_H
#define LAWS_DENSE_H

#include "laws/derive.h"

/* Of float outputs k by inputs i in w, one array each. */
typedef struct laws_dense {
    const tn_fn *f;
    const tn_wrt_list *w;
    const laws_array *j;
    int64_t rows, columns;
} laws_dense;

/* Whether it is made at all: few entries, no effects. */
bool laws_dense_small(const laws_trial *t, const tn_fn *f, const tn_wrt_list *w);
/* At the trial's point; false after laws_fail, or where the point is redrawn: an entry is not finite. */
bool laws_dense_make(laws_trial *t, laws_dense *d, const tn_fn *f, const tn_wrt_list *w);
/* All entries, row-major. */
double *laws_dense_matrix(laws_trial *t, const laws_dense *d);

#endif
