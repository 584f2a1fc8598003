/* What the samplers of loops share: steps that are smooth in floats and mean something in every dtype. */
#ifndef TN_LOOP_SAMPLE_H
#define TN_LOOP_SAMPLE_H

#include "control/loops/loop.h"

tn_i_var tn_i_sample_sum(tn_i_builder *b, tn_i_var x, tn_i_var y); /* TN_NOVAR: none */
tn_i_var tn_i_sample_product(tn_i_builder *b, tn_i_var x, tn_i_var y);
tn_i_var tn_i_sample_bend(tn_i_builder *b, tn_i_var x); /* sin x; of integers -x, of bools their opposite */
/* A scalar, in the type of `like`; what has rank 1 or more already is left alone. */
tn_i_var tn_i_sample_spread(tn_i_builder *b, tn_i_var x, tn_i_var like);
/* A schedule's text, or NULL half of the time. */
const char *tn_i_sample_schedule(tn_i_rng *g, bool unknown_length);

bool tn_i_sample_scan(tn_i_rng *g, int dtype, tn_i_case *c);
bool tn_i_sample_while(tn_i_rng *g, int dtype, tn_i_case *c);

#endif
