#include "checkpoint/auto.h"

#include "checkpoint/cost_model.h"
#include "checkpoint/family.h"
#include "checkpoint/revolve.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* As many slots of `bytes` as the budget holds and n steps have a use for. */
static int64_t slots_in(const tn_schedule_options *o, size_t bytes, int64_t most) {
    if (!o->budget_bytes || !bytes) return most;
    const size_t n = o->budget_bytes / bytes;
    return n < (size_t)most ? (int64_t)n : most;
}

/* Bytes that are written and read again once, among `all` that are kept at a time. */
static double moved(double bytes, double all) {
    const tn_i_cost_model *m = &tn_i_shipped_costs;
    const tn_i_level level = tn_i_level_of(m, all);
    return bytes * (m->write[level] + m->read[level]);
}

/* Of n steps with this many slots: each step's slot is taken to be written and read once. */
static double modelled(const tn_i_family *f, int64_t n, int64_t slots, size_t bytes, double step_ns) {
    const tn_i_schedule s = {.family = f, .argument = {slots}, .steps = n};
    tn_i_schedule_tally t;
    if (f->count(&s, n, &t) != TN_OK || t.advances == INT64_MAX) return INFINITY;
    const double each = (double)bytes;
    return ((double)t.advances + (double)t.recorded) * step_ns + moved((double)n * each, (double)t.snapshots * each);
}

static void known(int64_t n, const tn_schedule_options *o, char text[TN_I_AUTO_TEXT]) {
    const int64_t most = n > 1 ? n - 1 : 1;
    const size_t either = o->state_bytes > o->record_bytes ? o->state_bytes : o->record_bytes;
    const struct {
        const tn_i_family *family;
        size_t bytes;
        int64_t slots;
    } all[] = {{&tn_i_all_save, o->record_bytes, slots_in(o, o->record_bytes, n)},
               {&tn_i_mixed, either, slots_in(o, either, most)},
               {&tn_i_revolve, o->state_bytes, slots_in(o, o->state_bytes, most)}};
    double least = INFINITY;
    (void)snprintf(text, TN_I_AUTO_TEXT, "nothing");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const int64_t slots = all[i].slots;
        if (slots < 1 || (i == 0 && slots < n)) continue;
        const double ns = modelled(all[i].family, n, slots, all[i].bytes, o->step_ns);
        if (ns >= least) continue;
        least = ns;
        if (i == 0)
            (void)snprintf(text, TN_I_AUTO_TEXT, "%s", all[i].family->name);
        else
            (void)snprintf(text, TN_I_AUTO_TEXT, "%s:%lld", all[i].family->name, (long long)slots);
    }
}

void tn_i_schedule_auto(int64_t steps, const tn_schedule_options *sizes, char text[TN_I_AUTO_TEXT]) {
    if (steps == 0 || (steps < 0 && (!sizes->budget_bytes || !sizes->record_bytes))) {
        (void)snprintf(text, TN_I_AUTO_TEXT, "all_save");
    } else if (steps < 0) {
        const int64_t slots = slots_in(sizes, sizes->state_bytes ? sizes->state_bytes : 1, TN_I_MOST_SLOTS);
        (void)snprintf(text, TN_I_AUTO_TEXT, "online:%lld", (long long)(slots > 0 ? slots : 1));
    } else {
        known(steps, sizes, text);
    }
}
