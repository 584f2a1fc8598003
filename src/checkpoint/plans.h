/* Policies that see the whole boundary: each fills save[] of a tn_i_plan_by. */
#ifndef TN_PLANS_H
#define TN_PLANS_H

#include "checkpoint/cost_model.h"
#include "linearize/linearize.h"

/* Fewest modelled nanoseconds of saving and recomputing, exactly; "costs=FILE" names another model. */
bool tn_i_plan_min_cut(const tn_i_plan_by *how, const tn_i_boundary *q, uint8_t *save);
/* Fewest bytes, where nothing costly (TN_F_COSTLY) is recomputed. */
bool tn_i_plan_min_bytes(const tn_i_plan_by *how, const tn_i_boundary *q, uint8_t *save);
/* Compute-bound values are saved and memory-bound ones recomputed, each by itself. */
bool tn_i_plan_balanced(const tn_i_plan_by *how, const tn_i_boundary *q, uint8_t *save);

/* min_cut by this model, and the modelled cost of its plan. */
bool tn_i_min_cut(const tn_i_cost_model *m, const tn_i_boundary *q, uint8_t *save, double *ns);

/* Whether f's equation i makes known values of others, or does something: what is neither is at hand. */
bool tn_i_makes_known(const tn_i_boundary *q, uint32_t i);

/* What doing equations again costs, and keeping values, per equation and per value of f. */
typedef struct tn_i_prices {
    const tn_i_boundary *q;
    const tn_i_cost_model *m;
    double *again, *keep;
} tn_i_prices;

/* Fills `again`: INFINITY for effects and what ranks speak in; nothing for what the primal program does for the linear one alone,
 * and so leaves undone when the linear one does it (but for views of a part).  false after TN_ENOMEM. */
bool tn_i_prices_new(tn_i_prices *p, const tn_i_boundary *q, const tn_i_cost_model *m);
void tn_i_prices_free(tn_i_prices *p);

/* Makes a plan with `keep` filled.  The price of a byte depends on where the saved values fit, and they on
 * the price: as prices rise with distance, the plan of the nearest level that its own saves fit is taken. */
typedef bool tn_i_planner_at(const tn_i_prices *p, uint8_t *save, double *ns);
bool tn_i_plan_by_level(const tn_i_prices *p, tn_i_planner_at *plan, uint8_t *save, double *ns);

#endif
