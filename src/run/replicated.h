/* Whether inputs that are declared replicated over ranks are. */
#ifndef TN_REPLICATED_H
#define TN_REPLICATED_H

#include "run/talk.h"

/* over[i]: the axes of the grid that input i is replicated over, 0: it is not looked at; base[i]: where it is.  A rank
 * that has failed takes part.  Where they are not, that is a failure of all ranks that speak about this input, and
 * t->message says which it is. */
tn_status tn_i_replicated(tn_i_talk *t, const tn_i_plan *p, const uint32_t *over, const uintptr_t *base);

#endif
