/* The products of a plan, for setting up the library that computes them. */
#ifndef TN_WARM_H
#define TN_WARM_H

#include "plan/plan.h"

/* Sets up for the largest product of each float dtype, nested programs included; false after an error. */
bool tn_i_warm_products(tn_ctx *c, const tn_i_plan *p, int threads);

#endif
