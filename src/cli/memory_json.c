/* The plan of an arena as JSON: docs/memory-report.md. */
#include "cli/memory_plan.h"
#include "cli/json.h"
#include "prims/ids.h"

#include <inttypes.h>

size_t tn_i_memory_steps(const tn_i_memory_plan *a) {
    const tn_i_live *l = &a->live;
    return l->n - (tn_i_live_bytes(&l->step[l->n - 1]) == 0);
}

static const tn_fn *fused(const tn_i_eqn *e) { return e->prim->id == TN_P_fused ? tn_i_p(e)[1].u.fn : NULL; }

const tn_i_eqn *tn_i_memory_maker(const tn_i_memory_plan *a, tn_i_var v) {
    const tn_fn *f = a->plan->f;
    while (f->val[v].def < TN_DEF_LITERAL) {
        const tn_i_eqn *e = &f->eqn[f->val[v].def];
        const tn_fn *inner = fused(e);
        if (!inner) return e;
        v = inner->out[v - e->out];
        f = inner;
    }
    return NULL;
}

static void put_key(FILE *out, const char *name) { (void)fprintf(out, ", \"%s\": ", name); }

static void put_number(FILE *out, const char *name, uint64_t x) {
    put_key(out, name);
    (void)fprintf(out, "%" PRIu64, x);
}

/* An equation's primitive and place; "scope" where it has one. */
static void put_equation(FILE *out, const tn_i_eqn *e) {
    (void)fputs("\"primitive\": ", out);
    tn_i_json_text(out, e->prim->name);
    put_key(out, "file");
    tn_i_json_text(out, e->loc ? e->loc->file : "");
    put_number(out, "line", e->loc ? e->loc->line : 0);
    if (!e->loc || !e->loc->scope || !*e->loc->scope) return;
    put_key(out, "scope");
    tn_i_json_text(out, e->loc->scope);
}

static void put_step(FILE *out, const tn_i_memory_plan *a, size_t i) {
    const tn_fn *f = a->plan->f, *inner = NULL;
    (void)fputs(i ? ",\n    {" : "\n    {", out);
    if (i < f->neqn) {
        put_equation(out, &f->eqn[i]);
        inner = fused(&f->eqn[i]);
    } else {
        (void)fputs("\"primitive\": \"results\", \"file\": \"\", \"line\": 0", out);
    }
    put_number(out, "live", tn_i_live_bytes(&a->live.step[i]));
    if (inner) put_key(out, "operations");
    for (uint32_t k = 0; inner && k < inner->neqn; k++) {
        (void)fputs(k ? ", {" : "[{", out);
        put_equation(out, &inner->eqn[k]);
        (void)fputc('}', out);
    }
    (void)fputs(inner ? "]}" : "}", out);
}

/* Of a value: the number that it has in the program that runs, its type, and what makes it. */
static void put_value(FILE *out, const tn_i_memory_plan *a, tn_i_var v) {
    const tn_fn *f = a->plan->f;
    const tn_i_eqn *e = tn_i_memory_maker(a, v);
    char type[TN_I_TYPE_TEXT];
    (void)fprintf(out, "{\"value\": \"%%%" PRIu32 "\", \"type\": ", v);
    tn_i_json_text(out, tn_i_type_text(type, f->val[v].type));
    put_number(out, "step", f->val[v].def);
    (void)fputs(", ", out);
    put_equation(out, e);
    (void)fputc('}', out);
}

/* Values by the range that they lie in: the next of the same range, or UINT32_MAX. */
typedef struct chains {
    uint32_t *first, *next;
} chains;

static bool chains_new(const tn_i_live *l, chains *c) {
    *c = (chains){tn_i_alloc_array(l->ctx, l->nrange, sizeof *c->first),
                  tn_i_alloc_array(l->ctx, l->nval, sizeof *c->next)};
    if (!c->first || !c->next) return false;
    for (size_t k = 0; k < l->nrange; k++) c->first[k] = UINT32_MAX;
    for (uint32_t v = (uint32_t)l->nval; v-- > 0;) {
        const uint32_t k = l->range_of[v];
        if (k == UINT32_MAX) continue;
        c->next[v] = c->first[k];
        c->first[k] = v;
    }
    return true;
}

static void chains_free(const tn_i_live *l, chains *c) {
    tn_i_free(l->ctx, c->first, l->nrange * sizeof *c->first);
    tn_i_free(l->ctx, c->next, l->nval * sizeof *c->next);
}

static void put_range(FILE *out, const tn_i_memory_plan *a, const chains *c, size_t k) {
    static const char *const kind[] = {[TN_I_LIVE_VALUES] = "values",
                                       [TN_I_LIVE_SNAPSHOTS] = "snapshots",
                                       [TN_I_LIVE_SCRATCH] = "scratch",
                                       [TN_I_LIVE_COPY] = "copy"};
    const tn_i_live_range *r = &a->live.range[k];
    (void)fprintf(out, "%s\n    {\"kind\": \"%s\"", k ? "," : "", kind[r->kind]);
    put_number(out, "offset", (uint64_t)r->offset);
    put_number(out, "bytes", r->bytes);
    put_number(out, "room", r->room);
    put_number(out, "first", r->first);
    put_number(out, "last", r->last);
    (void)fputs(", \"values\": [", out);
    for (uint32_t v = c->first[k]; v != UINT32_MAX; v = c->next[v]) {
        if (v != c->first[k]) (void)fputs(", ", out);
        put_value(out, a, v);
    }
    (void)fputs("]}", out);
}

static bool put_policy(FILE *out, const tn_i_memory_plan *a) {
    const tn_i_live *l = &a->live;
    chains c;
    const bool ok = chains_new(l, &c);
    (void)fputs("\n  {\"policy\": ", out);
    tn_i_json_text(out, a->policy);
    put_number(out, "arena", a->plan->bytes);
    put_number(out, "most", l->most);
    put_number(out, "at", l->at);
    put_number(out, "kept", l->step[a->backward].kept);
    put_number(out, "backward", a->backward);
    (void)fputs(",\n   \"steps\": [", out);
    for (size_t i = 0; i < tn_i_memory_steps(a); i++) put_step(out, a, i);
    (void)fputs("],\n   \"ranges\": [", out);
    for (size_t k = 0; ok && k < l->nrange; k++) put_range(out, a, &c, k);
    (void)fputs("]}", out);
    chains_free(l, &c);
    return ok;
}

bool tn_i_memory_json(FILE *out, const char *title, size_t n, const tn_i_memory_plan *a) {
    bool ok = true;
    (void)fputs("{\"title\": ", out);
    tn_i_json_text(out, title);
    (void)fputs(", \"policies\": [", out);
    for (size_t k = 0; ok && k < n; k++) {
        if (k) (void)fputc(',', out);
        ok = put_policy(out, &a[k]);
    }
    (void)fputs("]}\n", out);
    return ok && !ferror(out);
}
