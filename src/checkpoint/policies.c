/* The table of policies: one function and one row each.
 *
 * A policy by rule says of each equation, alone, whether what it makes may be saved
 * (JAX's policies, same names and meaning); a policy by plan sees the whole boundary. */
#include "checkpoint/policies.h"

#include "base/nearest.h"
#include "checkpoint/budget.h"
#include "checkpoint/plans.h"
#include "prims/ids.h"

#include <string.h>

/* ---- by rule -------------------------------------------------------------------------- */

typedef tn_verdict rule(const char *arguments, const tn_i_eqn *e);

static tn_verdict everything_saveable(const char *arguments, const tn_i_eqn *e) {
    (void)arguments, (void)e;
    return TN_SAVE;
}

static tn_verdict nothing_saveable(const char *arguments, const tn_i_eqn *e) {
    (void)arguments, (void)e;
    return TN_RECOMPUTE;
}

static tn_verdict dots_saveable(const char *arguments, const tn_i_eqn *e) {
    (void)arguments;
    return e->prim->id == TN_P_dot_general ? TN_SAVE : TN_RECOMPUTE;
}

static tn_verdict dots_with_no_batch_dims_saveable(const char *arguments, const tn_i_eqn *e) {
    if (!dots_saveable(arguments, e)) return TN_RECOMPUTE;
    const int64_t *length = tn_i_p(e)[0].u.ints; /* contracting lhs, rhs, then batch lhs, rhs */
    return length[2] == 0 && length[3] == 0 ? TN_SAVE : TN_RECOMPUTE;
}

static tn_verdict offload_dot_with_no_batch_dims(const char *arguments, const tn_i_eqn *e) {
    return dots_with_no_batch_dims_saveable(arguments, e) ? TN_OFFLOAD : TN_RECOMPUTE;
}

/* Whether the comma-separated list, which ends at `end`, holds this name. */
static bool holds(const char *list, const char *end, const char *name, size_t n) {
    for (const char *at = list; at && at < end;) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        size_t length = (size_t)((comma ? comma : end) - at);
        if (length == n && memcmp(at, name, n) == 0) return true;
        at = comma ? comma + 1 : NULL;
    }
    return false;
}

/* Whether the list holds the name that equation e gives. */
static bool listed(const char *list, const tn_i_eqn *e) {
    const char *name = tn_i_p(e)[0].u.str;
    return holds(list, list + strlen(list), name, strlen(name));
}

static bool is_name(const tn_i_eqn *e) { return e->prim->id == TN_P_name; }

static tn_verdict save_only_these_names(const char *arguments, const tn_i_eqn *e) {
    return is_name(e) && listed(arguments, e) ? TN_SAVE : TN_RECOMPUTE;
}

static tn_verdict save_any_names_but_these(const char *arguments, const tn_i_eqn *e) {
    return is_name(e) && !listed(arguments, e) ? TN_SAVE : TN_RECOMPUTE;
}

static tn_verdict save_anything_except_these_names(const char *arguments, const tn_i_eqn *e) {
    return !is_name(e) || !listed(arguments, e) ? TN_SAVE : TN_RECOMPUTE;
}

/* "a,b|c,d": names that are saved, and names that are offloaded. */
static tn_verdict save_and_offload_only_these_names(const char *arguments, const tn_i_eqn *e) {
    if (!is_name(e)) return TN_RECOMPUTE;
    const char *name = tn_i_p(e)[0].u.str, *bar = strchr(arguments, '|'), *end = bar ? bar : strchr(arguments, 0);
    if (holds(arguments, end, name, strlen(name))) return TN_SAVE;
    return bar && listed(bar + 1, e) ? TN_OFFLOAD : TN_RECOMPUTE;
}

/* There are two lists, and no name is in both. */
static bool two_lists(const char *arguments) {
    const char *bar = strchr(arguments, '|');
    if (!bar || strchr(bar + 1, '|')) return false;
    const char *last = bar + 1, *end = last + strlen(last);
    for (const char *at = arguments; at < bar;) {
        const char *comma = memchr(at, ',', (size_t)(bar - at)), *stop = comma ? comma : bar;
        if (holds(last, end, at, (size_t)(stop - at))) return false;
        at = stop + 1;
    }
    return true;
}

/* ---- the table --------------------------------------------------------------------------- */

static bool by_rule(const tn_i_plan_by *how, const tn_i_boundary *q, uint8_t *save);
static bool by_callback(const tn_i_plan_by *how, const tn_i_boundary *q, uint8_t *save);
static rule either;

static const struct row {
    tn_policy policy;
    rule *rule;                                                                   /* by rule, or */
    bool (*plan)(const tn_i_plan_by *how, const tn_i_boundary *q, uint8_t *save); /* by plan */
    bool arguments;
    const char *example; /* "name:arguments", where it has some */
} rows[] = {
#define ROW(text, rule, plan, arguments) \
    { {.size = sizeof(tn_policy), .name = text}, rule, plan, arguments, NULL }
#define ROW_FOR(text, rule, plan, like) \
    { {.size = sizeof(tn_policy), .name = text}, rule, plan, true, text ":" like }
    ROW("everything_saveable", everything_saveable, by_rule, false),
    ROW("nothing_saveable", nothing_saveable, by_rule, false),
    ROW("dots_saveable", dots_saveable, by_rule, false),
    ROW("checkpoint_dots", dots_saveable, by_rule, false),
    ROW("dots_with_no_batch_dims_saveable", dots_with_no_batch_dims_saveable, by_rule, false),
    ROW("checkpoint_dots_with_no_batch_dims", dots_with_no_batch_dims_saveable, by_rule, false),
    ROW_FOR("save_only_these_names", save_only_these_names, by_rule, "a,c"),
    ROW_FOR("save_any_names_but_these", save_any_names_but_these, by_rule, "a,c"),
    ROW_FOR("save_anything_except_these_names", save_anything_except_these_names, by_rule, "a,c"),
    ROW("offload_dot_with_no_batch_dims", offload_dot_with_no_batch_dims, by_rule, false),
    ROW_FOR("save_and_offload_only_these_names", save_and_offload_only_these_names, by_rule, "a|c"),
    ROW_FOR("save_from_either_policy", either, by_rule, "dots_saveable|save_only_these_names:b"),
    ROW_FOR("save_from_both_policies", either, by_rule,
            "dots_saveable|save_only_these_names:b"), /* JAX's older name of the same */
    ROW("min_cut", NULL, tn_i_plan_min_cut, false),
    ROW("min_bytes", NULL, tn_i_plan_min_bytes, false),
    ROW("balanced", NULL, tn_i_plan_balanced, false),
    ROW("recompute_memory_bound", NULL, tn_i_plan_balanced, false), /* Burn's name of the same */
    ROW(TN_I_BUDGET, NULL, NULL, true),                             /* of whole programs: checkpoint/budget.h */
#undef ROW
#undef ROW_FOR
};
enum { ROWS = sizeof rows / sizeof *rows };

/* The row whose name is text[0..n). */
static const struct row *find(const char *text, size_t n) {
    for (size_t i = 0; i < ROWS; i++)
        if (strlen(rows[i].policy.name) == n && memcmp(rows[i].policy.name, text, n) == 0) return &rows[i];
    return NULL;
}

static const char *name_at(const void *list, size_t i) {
    (void)list;
    return i < ROWS ? rows[i].policy.name : NULL;
}

/* ---- combinations: "save_from_either_policy:first|second" ----------------------------------- */

/* One side of an either: its row and its own arguments (up to `end`), which must fit `room`. */
enum { ROOM = 512 };

static const struct row *side(const char *at, const char *end, char arguments[ROOM]) {
    const char *colon = memchr(at, ':', (size_t)(end - at)), *stop = colon ? colon : end;
    const struct row *row = find(at, (size_t)(stop - at));
    size_t n = colon ? (size_t)(end - colon - 1) : 0;
    if (!row || !row->rule || row->rule == either || n >= ROOM || (colon != NULL) != row->arguments) return NULL;
    if (row->rule == offload_dot_with_no_batch_dims || row->rule == save_and_offload_only_these_names) return NULL;
    if (n) memcpy(arguments, colon + 1, n);
    arguments[n] = 0;
    return row;
}

static tn_verdict either(const char *arguments, const tn_i_eqn *e) {
    char own[ROOM];
    for (const char *at = arguments; at;) {
        const char *bar = strchr(at, '|'), *end = bar ? bar : at + strlen(at);
        const struct row *row = side(at, end, own);
        if (row && row->rule(own, e)) return TN_SAVE;
        at = bar ? bar + 1 : NULL;
    }
    return TN_RECOMPUTE;
}

static bool sides_known(const char *arguments) {
    char own[ROOM];
    int n = 0;
    for (const char *at = arguments; at; n++) {
        const char *bar = strchr(at, '|'), *end = bar ? bar : at + strlen(at);
        if (!side(at, end, own)) return false;
        at = bar ? bar + 1 : NULL;
    }
    return n >= 2;
}

static const tn_i_eqn *maker(const tn_fn *f, tn_i_var *v);

/* What makes output j of an equation that runs one of several programs: the first of them that does not merely fill it
 * with a number or hand something on; if all do, the equation itself. */
static const tn_i_eqn *chosen(const tn_i_eqn *e, uint32_t j) {
    const tn_fn *const *branch;
    const uint32_t n = tn_i_alternatives(e, &branch);
    for (uint32_t k = 0; k < n; k++) {
        tn_i_var v = branch[k]->out[j];
        const tn_i_eqn *made = maker(branch[k], &v);
        if (made && !(made->prim->flags & TN_F_VIEW)) return made;
    }
    return e;
}

/* The equation that makes f's value *v, at any depth, before it was offloaded.  NULL: it is passed through, an input
 * (*v) or a literal (TN_NOVAR). */
static const tn_i_eqn *maker(const tn_fn *f, tn_i_var *v) {
    const tn_fn *const *branch;
    while (*v != TN_NOVAR && f->val[*v].def < TN_DEF_LITERAL) {
        const tn_i_eqn *e = &f->eqn[f->val[*v].def];
        if (e->prim->flags & TN_F_OFFLOAD) {
            *v = tn_i_in(f, e)[0];
            continue;
        }
        if (tn_i_alternatives(e, &branch)) return chosen(e, *v - e->out);
        tn_i_var inside;
        const tn_fn *g = tn_i_made_inside(e, *v - e->out, &inside);
        if (!g) return e;
        const tn_i_eqn *made = maker(g, &inside);
        if (made) return made;
        const uint32_t i = inside == TN_NOVAR ? inside : tn_i_from_outside(e, inside);
        if (inside != TN_NOVAR && i == TN_NOVAR) return e; /* what enters a step: the loop makes it */
        *v = i == TN_NOVAR ? i : tn_i_in(f, e)[i];
    }
    if (*v != TN_NOVAR && tn_i_is_literal(f, *v)) *v = TN_NOVAR;
    return NULL;
}

/* What a nested program hands out goes by the equation inside that makes it; what it passes through, by what
 * that is outside. */
static tn_verdict verdict(rule *of, const char *arguments, const tn_i_boundary *q, tn_i_var v) {
    const tn_i_eqn *made = maker(q->f, &v);
    return made ? of(arguments, made) : TN_SAVE;
}

/* ---- plans ------------------------------------------------------------------------------------- */

static bool by_rule(const tn_i_plan_by *how, const tn_i_boundary *q, uint8_t *save) {
    const tn_fn *f = q->f;
    const char *colon = strchr(how->name, ':');
    const struct row *row = find(how->name, colon ? (size_t)(colon - how->name) : strlen(how->name));
    const char *arguments = colon ? colon + 1 : "";
    for (tn_i_var v = 0; v < f->nval; v++)
        if (q->known[v] && f->val[v].def < TN_DEF_LITERAL) save[v] = (uint8_t)verdict(row->rule, arguments, q, v);
    return true;
}

/* The user's verdict on each known value that an equation makes. */
static bool by_callback(const tn_i_plan_by *how, const tn_i_boundary *q, uint8_t *save) {
    const tn_fn *f = q->f;
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        for (uint32_t j = 0; j < e->nout; j++) {
            if (!q->known[e->out + j]) continue;
            const tn_candidate v = {.size = sizeof v,
                                    .primitive = e->prim->name,
                                    .file = e->loc ? e->loc->file : "",
                                    .line = e->loc ? (int)e->loc->line : 0,
                                    .scope = e->loc ? e->loc->scope : "",
                                    .type = *f->val[e->out + j].type};
            const tn_verdict said = how->callback(how->user, &v);
            save[e->out + j] = said == TN_SAVE || said == TN_OFFLOAD ? (uint8_t)said : TN_RECOMPUTE;
        }
    }
    return true;
}

const tn_policy *tn_policy_at(size_t i, bool *arguments) {
    if (i >= ROWS) return NULL;
    if (arguments) *arguments = rows[i].arguments;
    return &rows[i].policy;
}

const char *tn_i_policy_text(size_t i) {
    if (i >= ROWS || !rows[i].plan) return NULL;
    return rows[i].example ? rows[i].example : rows[i].policy.name;
}

/* min_cut alone has arguments that it may do without. */
static bool names_costs(const struct row *row, const char *colon) {
    static const char costs[] = ":costs=";
    return row->plan == tn_i_plan_min_cut && strncmp(colon, costs, sizeof costs - 1) == 0 && colon[sizeof costs - 1];
}

bool tn_i_plan_of_text(tn_ctx *c, const char *text, tn_i_plan_by *out) {
    const char *colon = strchr(text, ':');
    const struct row *row = find(text, colon ? (size_t)(colon - text) : strlen(text));
    tn_status s = TN_EINVAL;
    if (!row) {
        const size_t n = colon ? (size_t)(colon - text) : strlen(text);
        char near[TN_I_NEAREST];
        (void)tn_i_fail(c, s, NULL, "there is no policy named '%.*s'%s", n < 64 ? (int)n : 64, text,
                        tn_i_nearest(near, text, n, name_at, NULL));
    } else if (!row->plan)
        (void)tn_i_fail(c, s, NULL, "policy '%s' plans whole programs: it can be no part of one", row->policy.name);
    else if (row->arguments && !colon)
        (void)tn_i_fail(c, s, NULL, "policy '%s' wants arguments: '%s:a,b'", text, text);
    else if (!row->arguments && colon && !names_costs(row, colon))
        (void)tn_i_fail(c, s, NULL, "policy '%s' takes no arguments", row->policy.name);
    else if (row->rule == either && !sides_known(colon + 1))
        (void)tn_i_fail(
            c, s, NULL,
            "'%s' wants two or more policies that decide by equation, as in '%s:dots_saveable|save_only_these_names:a'",
            text, row->policy.name);
    else if (row->rule == save_and_offload_only_these_names && !two_lists(colon + 1))
        (void)tn_i_fail(c, s, NULL, "'%s' wants names to save and others to offload, as in '%s:a,b|c,d'", text,
                        row->policy.name);
    else {
        *out = (tn_i_plan_by){.name = text, .plan = row->plan, .across = row->plan == tn_i_plan_min_bytes};
        return true;
    }
    return false;
}

bool tn_i_plan_of(tn_ctx *c, const tn_policy *policy, tn_i_plan_by *out) {
    tn_policy p = {.size = sizeof p, .name = "min_cut"}; /* the default */
    if (policy) p.name = NULL;
    if (!tn_i_options(c, "tn_policy", policy, &p, sizeof p)) return false;
    if (p.callback) {
        *out = (tn_i_plan_by){.name = "callback", .plan = by_callback, .callback = p.callback, .user = p.user};
        return true;
    }
    if (p.name) return tn_i_plan_of_text(c, p.name, out);
    (void)tn_i_fail(c, TN_EINVAL, NULL, "tn_policy: neither a name nor a callback is given");
    return false;
}
