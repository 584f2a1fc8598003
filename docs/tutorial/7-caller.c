/* Calls what 7-emitting-c.c has written: no Tansy, and no memory but its own. */
#include "loss_grad.h"
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    const double w[2] = {1, -1}, x[8] = {1, 2, -1, 0.5, 0.3, -2, 2, 1}, y[4] = {0, 1, 2, 3};
    double loss, dw[2];
    void *work = aligned_alloc(LOSS_GRAD_WORK_ALIGN, LOSS_GRAD_WORK_BYTES);
    if (!work || loss_grad(w, x, y, &loss, dw, work)) return 1;
    printf("loss %.6f, gradient %.6f %.6f\n", loss, dw[0], dw[1]);
    free(work);
    return 0;
}
