/* The links of one chain: for nest_chain.c, which finds out what a chain is made of, and nest_links.c. */
#ifndef TN_NEST_LINKS_H
#define TN_NEST_LINKS_H

#include "exec/nest_make.h"

/* Instructions `first` to `last`, operations of one dtype, and sinks behind them up to `sinks` that are links too. */
typedef struct tn_i_nest_run {
    maker *m;
    uint32_t first, last, sinks;
    tn_i_nest_chain chain;
    uint32_t slot[TN_CHAIN_SLOTS]; /* the last instruction that reads it */
    uint32_t nslot;
    bool full;                         /* more slots, ends or links than there are */
    uint32_t holds[TN_LINK_REGISTERS]; /* values, or TN_NOVAR */
    uint32_t next[TN_CHAIN_LINKS][3];  /* of each operation: which one reads each operand next */
    uint32_t nop;
    uint32_t cost; /* of the links, a fourth of a register's operation each */
} tn_i_nest_run;

static inline const tn_i_nest_instr *tn_i_run_instr(const tn_i_nest_run *r, uint32_t i) {
    return &r->m->code->instr[i];
}
static inline bool tn_i_run_maps(const tn_i_nest_run *r, uint32_t i) {
    return tn_i_run_instr(r, i)->kind == TN_CODE_MAP;
}

/* Something outside of the run reads v, or it is a result. */
static inline bool tn_i_run_leaves(const tn_i_nest_run *r, uint32_t v) {
    return r->m->code->value[v].where == TN_VALUE_MEMORY || r->m->last[v] >= r->sinks;
}

/* Whether a link of this set does what operation o does. */
bool tn_i_links_do(const tn_i_chain_set *set, const tn_i_nest_op *o);
/* Of all operations of the run; `full`, and `last` at the one that was too much. */
bool tn_i_links_make(tn_i_nest_run *r);

/* nest_depth.c: another order of the run, `list` of instructions counted from the first; false: there is none. */
bool tn_i_run_deepen(const tn_i_nest_run *r, uint32_t *list);
/* Puts the instructions of the run in such an order.  False after an error. */
bool tn_i_run_arrange(const tn_i_nest_run *r, const uint32_t *list);

#endif
