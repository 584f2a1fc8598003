/* What `auto` becomes: the schedule with the least modelled time whose slots fit a budget. */
#ifndef TN_AUTO_H
#define TN_AUTO_H

#include "tansy.h"

#define TN_I_AUTO_TEXT 64

/* Writes the text of a schedule.  Known steps: the fastest of all_save, mixed and revolve with as many slots as the
 * budget holds, `nothing` where it holds none.  Unknown (steps < 0): all_save where there is no budget or records have
 * no bytes, else online with as many slots.  A pure function of its arguments; equals go to the first named. */
void tn_i_schedule_auto(int64_t steps, const tn_schedule_options *sizes, char text[TN_I_AUTO_TEXT]);

#endif
