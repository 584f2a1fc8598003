/* A schedule's actions written down before a run, where the number of steps is known: whoever follows them decides
 * nothing, and sees what comes next. */
#ifndef TN_SCRIPT_H
#define TN_SCRIPT_H

#include "checkpoint/schedule.h"

enum { TN_I_MOST_LINES = 1 << 15 }; /* of one that a plan has: half a megabyte */

/* An action, smaller. */
typedef struct tn_i_line {
    uint8_t kind, place;
    int32_t slot, step, n;
} tn_i_line;

/* line[0 .. back): forward, steps that keep nothing as ADVANCE, after what is stored before them; then reverse, without
 * DONE. */
typedef struct tn_i_script {
    tn_ctx *ctx;
    tn_i_line *line;
    size_t nline, back, cline;
    int64_t steps;
} tn_i_script;

/* Who follows one: a line, and how many of its steps are done. */
typedef struct tn_i_reading {
    const tn_i_line *line;
    int64_t done;
} tn_i_reading;
/* As tn_i_schedule_forward_many and tn_i_schedule_next_many. */
tn_i_act tn_i_script_forward_many(const tn_i_script *k, tn_i_reading *at, int64_t n);
tn_i_act tn_i_script_next_many(const tn_i_script *k, tn_i_reading *at);

/* What s, which was made for `steps` steps, does: *out, or NULL where that takes more than `most` lines, of numbers
 * that fit a line's.  false after an error. */
bool tn_i_script_new(const tn_i_schedule *s, int64_t steps, size_t most, tn_i_script **out);
void tn_i_script_free(tn_i_script *k); /* NULL is fine */

#endif
