/* Room for calling rules over one program: sized once for its widest equation. */
#ifndef TN_FRAME_H
#define TN_FRAME_H

#include "ir/memo.h"
#include "prims/prim.h"

typedef struct tn_i_frame {
    tn_i_rule r;
    size_t width;
    tn_i_var *in, *out; /* the rule's operands and outputs */
    tn_i_var *a, *c;    /* tangents or cotangents in and out */
    const tn_type **in_type, **out_type;
    bool *flag, *mark; /* per operand or output */
} tn_i_frame;

bool tn_i_frame_init(tn_i_frame *w, tn_i_builder *b, const tn_fn *f, tn_i_memo *memo);
void tn_i_frame_free(tn_i_frame *w);
/* Sets up the rule for e: types, parameters, counts; the builder's place and region. */
void tn_i_frame_enter(tn_i_frame *w, const tn_i_eqn *e);

#endif
