#ifndef TN_SPEECH_H
#define TN_SPEECH_H

#include "plan/plan.h"

bool tn_i_step_is_collective(const tn_i_plan *p, const tn_i_step *s);
bool tn_i_step_is_wait(const tn_i_plan *p, const tn_i_step *s);
/* Room for the pairs of ranks of a collective. */
size_t tn_i_pairs_bytes(const tn_i_eqn *e);
/* Notes what the steps of p say, which is planned, and so are the programs in it. */
void tn_i_note_speech(tn_i_plan *p);

#endif
