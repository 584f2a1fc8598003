#ifndef TN_OPTIM_H
#define TN_OPTIM_H

#include <tansy/optim.h>

/* What does not suit in the options, but for the rate; NULL: nothing. */
const char *tn_i_optim_wrong(const tn_optim *o);

#endif
