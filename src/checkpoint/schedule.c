/* The table of schedules; their texts; runs as far as they are the same for all; counts. */
#include "checkpoint/schedule.h"

#include "base/nearest.h"
#include "base/number.h"
#include "checkpoint/auto.h"
#include "checkpoint/family.h"
#include "checkpoint/revolve.h"

#include <assert.h>
#include <math.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>

static const tn_i_family automatic = {
    .name = "auto", .usage = "auto[:BYTES]", .example = "auto", .optional = true}; /* becomes another: auto.c */

static const tn_i_family *const families[] = {
    &tn_i_all_save,     &tn_i_revolve,  &tn_i_online,  &tn_i_mixed,
    &tn_i_disk_revolve, &tn_i_periodic, &tn_i_nothing, &automatic,
};
enum { FAMILIES = sizeof families / sizeof *families };

const char *tn_i_schedule_example(size_t i, bool *known) {
    if (i >= FAMILIES) return NULL;
    if (known) *known = families[i]->known;
    return families[i]->example;
}

/* ---- texts ---------------------------------------------------------------------------------------------- */

enum { TEXT = 160, DEFAULT_COST = 2000 };

const char *tn_schedule_at(size_t i) { return i < FAMILIES ? families[i]->usage : NULL; }

/* How many arguments a schedule has. */
static int arguments(const tn_i_family *f) { return !strchr(f->usage, ':') ? 0 : strchr(f->usage, ',') ? 2 : 1; }

static const tn_i_family *find(const char *text, size_t n) {
    for (size_t i = 0; i < FAMILIES; i++)
        if (strlen(families[i]->name) == n && memcmp(families[i]->name, text, n) == 0) return families[i];
    return NULL;
}

static const char *name_at(const void *list, size_t i) {
    (void)list;
    return i < FAMILIES ? families[i]->name : NULL;
}

/* "wd=2.5": thousandths of a step. */
static bool read_cost(const char *text, size_t n, int64_t *cost) {
    double x;
    if (n < 4 || !tn_i_parse_f64(text + 3, n - 3, &x) || !(x >= 0 && x <= 1e6)) return false;
    *cost = (int64_t)(x * 1000 + 0.5);
    return fabs(x * 1000 - (double)*cost) < 1e-6;
}

/* Arguments by their place, then costs by their names. */
static bool read_arguments(tn_i_schedule *s, const char *text) {
    const int wanted = arguments(s->family);
    for (int i = 0;; i++) {
        const size_t n = strcspn(text, ",");
        if (i < wanted) {
            if (!tn_i_parse_i64(text, n, &s->argument[i]) || s->argument[i] < (i == 0)) return false;
        } else if (s->family->disk_costs && strncmp(text, "wd=", 3) == 0) {
            if (!read_cost(text, n, &s->write_cost)) return false;
        } else if (s->family->disk_costs && strncmp(text, "rd=", 3) == 0) {
            if (!read_cost(text, n, &s->read_cost)) return false;
        } else {
            return false;
        }
        if (!text[n]) return i + 1 >= wanted;
        text += n + 1;
    }
}

static void write_cost(char *text, const char *name, int64_t cost) {
    const size_t at = strlen(text);
    if (cost == DEFAULT_COST) return;
    (void)snprintf(text + at, TEXT - at, ",%s=%lld.%03lld", name, (long long)(cost / 1000), (long long)(cost % 1000));
    for (size_t n = strlen(text); text[n - 1] == '0' || text[n - 1] == '.'; n--) {
        const bool point = text[n - 1] == '.';
        text[n - 1] = 0;
        if (point) break;
    }
}

/* The text that all spellings of a schedule have in common. */
static bool canonical(tn_ctx *c, tn_i_schedule *s) {
    char text[TEXT];
    (void)snprintf(text, sizeof text, "%s", s->family->name);
    const bool none = s->family->optional && !s->argument[0];
    for (int i = 0; i < arguments(s->family) && !none; i++) {
        const size_t at = strlen(text);
        (void)snprintf(text + at, TEXT - at, "%c%lld", i ? ',' : ':', (long long)s->argument[i]);
    }
    if (s->family->disk_costs) {
        write_cost(text, "wd", s->write_cost);
        write_cost(text, "rd", s->read_cost);
    }
    return (s->text = tn_i_string(c, text, strlen(text))) != NULL;
}

static tn_status parse(tn_ctx *c, const char *text, bool unknown, tn_i_schedule *s) {
    const char *colon = strchr(text, ':');
    *s = (tn_i_schedule){.ctx = c, .argument = {1, 0}, .write_cost = DEFAULT_COST, .read_cost = DEFAULT_COST};
    s->family = find(text, colon ? (size_t)(colon - text) : strlen(text));
    if (!s->family) {
        const size_t n = colon ? (size_t)(colon - text) : strlen(text);
        char near[TN_I_NEAREST];
        return tn_i_fail(c, TN_EINVAL, NULL, "there is no schedule named '%.*s'%s", n < 64 ? (int)n : 64, text,
                         tn_i_nearest(near, text, n, name_at, NULL));
    }
    const tn_i_family *f = s->family;
    if (!arguments(f) && colon) return tn_i_fail(c, TN_EINVAL, NULL, "schedule '%s' takes no arguments", f->name);
    if (f->optional && !colon)
        s->argument[0] = 0;
    else if (arguments(f) && !(colon && read_arguments(s, colon + 1)))
        return tn_i_fail(c, TN_EINVAL, NULL, "'%s' is not '%s%s', with whole numbers from 1 on%s", text, f->usage,
                         f->disk_costs ? "[,wd=COST][,rd=COST]" : "",
                         f->disk_costs ? " (DISK from 0) and costs in steps, of at most three decimals" : "");
    if (f->known && unknown)
        return tn_i_fail(
            c, TN_EINVAL, NULL,
            "schedule '%s' wants to know the number of steps before the first, which this loop finds out at its "
            "end; online:CHECKPOINTS does not",
            text);
    return canonical(c, s) ? TN_OK : TN_ENOMEM;
}

tn_status tn_i_schedule_check(tn_ctx *c, const char *text, bool unknown) {
    tn_i_schedule s;
    return parse(c, text, unknown, &s);
}

/* ---- schedules -------------------------------------------------------------------------------------------- */

/* `auto`, once sizes and steps are known, is a text like others. */
static tn_status resolve(tn_ctx *c, int64_t steps, const tn_schedule_options *sizes, tn_i_schedule *s) {
    tn_schedule_options o = {.size = sizeof o};
    char text[TN_I_AUTO_TEXT];
    if (sizes) o = *sizes;
    if (s->argument[0]) o.budget_bytes = (size_t)s->argument[0];
    tn_i_schedule_auto(steps, &o, text);
    return parse(c, text, steps == TN_I_UNKNOWN, s);
}

static size_t aligned(size_t n) { return (n + 15) / 16 * 16; } /* of what was checked to be small */

/* The memory of a run: itself, what the family has, the stack, the slots. */
static tn_status measure(tn_i_schedule *s) {
    const tn_i_schedule_slots x = s->family->slots(s);
    s->kept = 0;
    s->own_bytes = 0;
    if (s->family->decide) {
        if (x.memory > TN_I_MOST_SLOTS || x.disk > TN_I_MOST_SLOTS)
            return tn_i_fail(s->ctx, TN_ELIMIT, NULL, "schedule '%s': at most %lld slots", s->text,
                             (long long)TN_I_MOST_SLOTS);
        s->kept = x.memory + x.disk;
    }
    if (s->family->own_bytes && !s->family->own_bytes(s, &s->own_bytes))
        return tn_i_fail(s->ctx, TN_EOVERFLOW, NULL, "schedule '%s': size overflow", s->text);
    s->run_bytes = aligned(sizeof(tn_i_schedule_run)) + aligned(s->own_bytes) +
                   (size_t)s->kept * (sizeof(tn_i_kept) + sizeof(int64_t));
    return TN_OK;
}

tn_i_schedule *tn_i_schedule_new(tn_ctx *c, const char *text, int64_t steps, const tn_schedule_options *sizes) {
    tn_i_schedule *s = tn_i_alloc(c, sizeof *s);
    if (!s) return NULL;
    tn_status status = parse(c, text, steps == TN_I_UNKNOWN, s);
    if (status == TN_OK && s->family == &automatic) status = resolve(c, steps, sizes, s);
    if (status == TN_OK) {
        s->steps = steps;
        status = measure(s);
    }
    if (status == TN_OK && s->family->prepare) status = s->family->prepare(s);
    if (status == TN_OK) return s;
    s->ctx = c;
    tn_i_schedule_free(s);
    return NULL;
}

void tn_i_schedule_free(tn_i_schedule *s) {
    if (!s) return;
    if (s->family && s->family->release) s->family->release(s);
    tn_i_free(s->ctx, s, sizeof *s);
}

const char *tn_i_schedule_text(const tn_i_schedule *s) { return s->text; }
tn_ctx *tn_i_schedule_context(const tn_i_schedule *s) { return s->ctx; }
tn_i_schedule_slots tn_i_schedule_slots_of(const tn_i_schedule *s) { return s->family->slots(s); }
size_t tn_i_schedule_bytes(const tn_i_schedule *s) { return s->run_bytes; }

/* ---- runs --------------------------------------------------------------------------------------------------- */

tn_i_schedule_run *tn_i_schedule_begin(const tn_i_schedule *s, void *memory) {
    tn_i_schedule_run *run = memory;
    char *at = memory;
    *run = (tn_i_schedule_run){.s = s, .steps = s->steps, .target = -1, .at = TN_I_UNKNOWN};
    run->own = at += aligned(sizeof *run);
    run->kept = (tn_i_kept *)(void *)(at += aligned(s->own_bytes));
    run->id = (int64_t *)(void *)(run->kept + s->kept);
    for (int64_t i = 0; i < s->kept; i++) run->id[i] = i;
    if (s->family->begin) s->family->begin(run);
    return run;
}

tn_i_act tn_i_schedule_forward(tn_i_schedule_run *run, int64_t i) {
    const tn_i_family *f = run->s->family;
    const tn_i_act a = f->forward ? f->forward(run, i) : tn_i_walk_forward(run, i);
    run->tally.advances += a.kind == TN_I_NONE || a.kind == TN_I_STORE;
    return tn_i_tallied(run, a);
}

/* Whether b, of the n-th step behind, goes on with what a does. */
static bool goes_on(const tn_i_act *a, const tn_i_act *b, int64_t n) {
    if (a->kind != b->kind || a->place != TN_I_MEMORY || b->place != TN_I_MEMORY || a->kind == TN_I_RECORD)
        return false;
    return a->kind == TN_I_NONE || b->slot == a->slot + n;
}

/* How many steps from i on, of n, keep nothing for sure. */
static int64_t skipped(const tn_i_schedule_run *run, int64_t i, int64_t n) {
    const tn_i_family *f = run->s->family;
    int64_t k = f->skips || !f->forward ? run->next - i : 0;
    if (run->steps != TN_I_UNKNOWN && k > run->steps - 1 - i) k = run->steps - 1 - i;
    return k < 0 ? 0 : k < n ? k : n;
}

tn_i_act tn_i_schedule_forward_many(tn_i_schedule_run *run, int64_t i, int64_t n) {
    tn_i_act a = run->is_told ? run->told : tn_i_schedule_forward(run, i);
    run->is_told = false;
    for (a.n = 1; a.n < n;) {
        if (a.kind == TN_I_NONE) {
            const int64_t k = skipped(run, i + a.n, n - a.n);
            run->tally.advances += k;
            a.n += k;
            if (a.n == n) break;
        }
        const tn_i_act b = tn_i_schedule_forward(run, i + a.n);
        if (!goes_on(&a, &b, a.n)) {
            run->told = b;
            run->is_told = true;
            break;
        }
        a.n++;
    }
    return a;
}

void tn_i_schedule_turn(tn_i_schedule_run *run, int64_t steps) {
    assert(run->s->steps == TN_I_UNKNOWN || run->s->steps == steps);
    run->steps = steps;
    run->target = steps - 1;
    run->at = TN_I_UNKNOWN;
    run->ahead = 0;
    if (run->s->family->turn) run->s->family->turn(run);
}

tn_i_act tn_i_schedule_next(tn_i_schedule_run *run) {
    const tn_i_family *f = run->s->family;
    return tn_i_tallied(run, f->next ? f->next(run) : tn_i_walk_next(run));
}

tn_i_act tn_i_schedule_next_many(tn_i_schedule_run *run) {
    const tn_i_family *f = run->s->family;
    const tn_i_act a = tn_i_tallied(run, f->next_many ? f->next_many(run) : tn_i_walk_next_many(run));
    if (a.kind == TN_I_STORE) run->tally.advances += a.n;
    if (a.kind == TN_I_RESTORE) run->tally.recorded += a.n;
    if (a.kind == TN_I_KEEP) run->tally.recorded += a.n - 1;
    return a;
}

tn_i_schedule_tally tn_i_schedule_tally_of(const tn_i_schedule_run *run) { return run->tally; }

/* ---- counts --------------------------------------------------------------------------------------------------- */

tn_status tn_i_schedule_count(const tn_i_schedule *s, int64_t steps, tn_i_schedule_tally *out) {
    return s->family->count(s, steps, out);
}

enum { MOST_ORDERS = 32 };

static tn_status does_not_fit(const tn_i_schedule *s, int64_t steps) {
    return tn_i_fail(s->ctx, TN_EOVERFLOW, NULL, "schedule '%s' for %lld steps: the counts do not fit 64 bits", s->text,
                     (long long)steps);
}

/* Each gradient around another keeps a sweep more beside each that there is, and has them run once more. */
static bool at_order(const tn_i_schedule *s, int64_t steps, int order, int64_t *advances) {
    if (s->family != &tn_i_all_save)
        *advances = tn_i_plus(*advances, tn_i_times(steps, (int64_t)order * (order - 1) / 2));
    return *advances != INT64_MAX;
}

static tn_status counts_of(const tn_i_schedule *s, int64_t steps, const tn_schedule_options *o, tn_schedule_counts *k) {
    tn_i_schedule_tally t;
    const tn_status status = s->family->count(s, steps, &t);
    const tn_i_schedule_slots x = s->family->slots(s);
    const size_t records = x.records ? o->record_bytes : 0, states = x.states ? o->state_bytes : 0;
    if (status != TN_OK) return status;
    if (t.advances == INT64_MAX || !at_order(s, steps, o->order, &t.advances)) return does_not_fit(s, steps);
    k->schedule = s->text;
    k->steps = steps;
    k->advances = t.advances;
    k->recorded = t.recorded;
    k->snapshots = t.snapshots;
    k->disk_snapshots = t.on_disk;
    k->disk_writes = t.writes;
    k->disk_reads = t.reads;
    if (tn_i_mul((size_t)t.snapshots, records > states ? records : states, &k->bytes) &&
        tn_i_mul((size_t)t.on_disk, states, &k->disk_bytes))
        return TN_OK;
    return does_not_fit(s, steps);
}

tn_status tn_schedule_cost(tn_ctx *c, const char *schedule, int64_t steps, const tn_schedule_options *opt,
                           tn_schedule_counts *out) {
    tn_schedule_options o = {.size = sizeof o};
    tn_schedule_counts k = {.size = sizeof k};
    if (!c) return TN_EINVAL;
    if (!schedule || steps < 0 || !out || out->size < sizeof out->size)
        return tn_i_fail(c, TN_EINVAL, NULL,
                         "tn_schedule_cost: a schedule, steps >= 0 and sizes of structs are wanted");
    if (!tn_i_options(c, "tn_schedule_options", opt, &o, sizeof o)) return TN_EINVAL;
    if (!(o.step_ns >= 0)) return tn_i_fail(c, TN_EINVAL, NULL, "tn_schedule_cost: step_ns is negative or NaN");
    if (o.order == 0) o.order = 1;
    if (o.order < 1 || o.order > MOST_ORDERS)
        return tn_i_fail(c, TN_EINVAL, NULL, "tn_schedule_cost: an order of 1 to %d is wanted, not %d", MOST_ORDERS,
                         o.order);
    if (!tn_i_mul(o.state_bytes, (size_t)1 << (o.order - 1), &o.state_bytes))
        return tn_i_fail(c, TN_EOVERFLOW, NULL, "tn_schedule_cost: the states of order %d do not fit", o.order);
    tn_i_schedule *s = tn_i_schedule_new(c, schedule, o.unknown ? TN_I_UNKNOWN : steps, &o);
    if (!s) return tn_last_status(c);
    const tn_status status = counts_of(s, steps, &o, &k);
    tn_i_schedule_free(s);
    if (status != TN_OK) return status;
    k.size = out->size;
    memcpy(out, &k, out->size < sizeof k ? out->size : sizeof k);
    return TN_OK;
}
