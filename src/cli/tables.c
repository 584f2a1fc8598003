/* cost, prims, machine, version. */
#include "base/machine.h"
#include "cli/cli.h"
#include "ir/seen.h"
#include "prims/linear/gemm.h"
#include "prims/linear/lapack.h"
#include "prims/ids.h"

/* ---- cost ------------------------------------------------------------------------- */

/* What one step of a loop costs: its condition too.  false when e is no loop, or without memory. */
static bool step_cost(const tn_i_eqn *e, tn_i_cost *step) {
    *step = (tn_i_cost){0};
    for (uint32_t k = 0; e->prim->replayed && k < e->params->n; k++) {
        const tn_fn *const *g;
        tn_i_cost one;
        const uint32_t n = tn_i_programs(&e->params->v[k], &g);
        for (uint32_t j = 0; j < n; j++) {
            if (!tn_i_fn_cost(g[j], &one)) return false;
            step->equations += one.equations;
            step->flops += one.flops;
            step->transcendentals += one.transcendentals;
            step->products += one.products;
            step->bytes += one.bytes;
        }
    }
    return e->prim->replayed != NULL;
}

static void put_loop(const tn_i_cli *o, const tn_i_eqn *e, const tn_i_cost *k, size_t *count) {
    const uint32_t line = e->loc ? e->loc->line : 0;
    if (o->json)
        (void)printf("%s{\"primitive\": \"%s\", \"line\": %u, \"equations\": %.17g, \"flops\": %.17g, "
                     "\"transcendentals\": %.17g, \"products\": %.17g, \"bytes\": %.17g}",
                     *count ? ", " : ", \"loops\": [", e->prim->name, (unsigned)line, k->equations, k->flops,
                     k->transcendentals, k->products, k->bytes);
    else
        (void)printf(
            "a step of the %s in line %u: %.17g equations, %.17g flops, %.17g transcendentals, %.17g products, "
            "%.17g bytes\n",
            e->prim->name, (unsigned)line, k->equations, k->flops, k->transcendentals, k->products, k->bytes);
    ++*count;
}

/* Each loop, those inside others too; those of a program that runs at several places once.  false: no memory. */
static bool put_loops(const tn_i_cli *o, tn_i_seen *seen, const tn_fn *f, size_t *count) {
    uint32_t number;
    bool fresh;
    if (!tn_i_seen_add(seen, f, &number, &fresh)) return false;
    for (uint32_t i = 0; fresh && i < f->neqn && f->depth > 1; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        tn_i_cost k;
        if (step_cost(e, &k)) put_loop(o, e, &k, count);
        for (uint32_t p = 0; e->params && p < e->params->n; p++) {
            const tn_fn *const *g;
            const uint32_t n = tn_i_programs(&e->params->v[p], &g);
            for (uint32_t j = 0; j < n; j++)
                if (!put_loops(o, seen, g[j], count)) return false;
        }
    }
    return true;
}

int tn_i_cli_cost(const tn_i_cli *o, tn_fn *f) {
    tn_cost_report k = {.size = sizeof k};
    size_t loops = 0;
    if (tn_cost(f, &k) != TN_OK) return tn_i_cli_bad(o, tn_fn_ctx(f));
    const struct {
        const char *name;
        double value;
    } row[] = {{"equations", k.equations},    {"flops", k.flops}, {"transcendentals", k.transcendentals},
               {"products", k.products},      {"bytes", k.bytes}, {"peak_bytes", k.peak_bytes},
               {"spill_bytes", k.spill_bytes}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        if (o->json)
            (void)printf("%s\"%s\": %.17g", i ? ", " : "{", row[i].name, row[i].value);
        else
            (void)printf("%-16s %.17g\n", row[i].name, row[i].value);
    }
    tn_i_seen seen;
    tn_i_seen_init(&seen, tn_fn_ctx(f));
    const bool ok = put_loops(o, &seen, f, &loops);
    tn_i_seen_free(&seen);
    if (!ok) return tn_i_cli_bad(o, tn_fn_ctx(f));
    if (o->json) (void)printf(loops ? "]}\n" : "}\n");
    return TN_CLI_OK;
}

int tn_i_cli_budget(const tn_i_cli *o, tn_fn *f) {
    const tn_wrt_list list = {o->nwrt, o->wrt};
    tn_budget_report r = {.size = sizeof r};
    if (!o->has_bytes) return tn_i_cli_usage("budget needs --bytes");
    if (tn_memory_budget(f, o->wrt ? &list : NULL, (size_t)o->bytes, &r) != TN_OK) return tn_i_cli_bad(o, tn_fn_ctx(f));
    const struct {
        const char *name;
        double value;
    } row[] = {{"feasible", r.feasible},
               {"exact", r.exact},
               {"plans", (double)r.plans},
               {"least_bytes", (double)r.least_bytes},
               {"full_bytes", (double)r.full_bytes},
               {"peak_bytes", (double)r.peak_bytes},
               {"recompute_ns", r.recompute_ns},
               {"bound_ns", r.bound_ns},
               {"gap_ns", r.recompute_ns - r.bound_ns}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        if (o->json)
            (void)printf("%s\"%s\": %.17g", i ? ", " : "{", row[i].name, row[i].value);
        else
            (void)printf("%-16s %.17g\n", row[i].name, row[i].value);
    }
    if (r.schedules[0] && o->json) (void)printf(", \"schedules\": \"%s\"", r.schedules);
    if (r.schedules[0] && !o->json) (void)printf("%-16s %s\n", "schedules", r.schedules);
    if (o->json) (void)printf("}\n");
    return r.feasible ? TN_CLI_OK : TN_CLI_BAD;
}

static const char *arity(char *buf, size_t n, const tn_prim *p) {
    if (p->nin < 0) return "any";
    (void)snprintf(buf, n, "%d", p->nin);
    return buf;
}

/* "0 | 1", "0,1", "all": each alternative of operands an equation is jointly linear in */
static const char *linear_sets(char *buf, size_t n, const tn_prim *p) {
    size_t at = 0;
    if (p->linearity) return "by parameters";
    if (!p->linear[0]) return "-";
    if (p->linear[0] == TN_ALL) return "all";
    for (int k = 0; k < 2 && p->linear[k]; k++) {
        if (k) at += (size_t)snprintf(buf + at, n - at, " | ");
        for (int i = 0, any = 0; i < 32 && at < n; i++)
            if (p->linear[k] >> i & 1) at += (size_t)snprintf(buf + at, n - at, "%s%d", any++ ? "," : "", i);
    }
    return buf;
}

/* " [name name=(what holds when it is not given)]" */
static void put_params(const tn_i_spec *s) {
    bool any = false;
    for (; s && s->name; s++) {
        if (s->kind == TN_K_PTR) continue; /* no text has it */
        (void)printf("%s%s", any ? " " : " [", s->name);
        if (s->otherwise) (void)printf("=(%s)", s->otherwise);
        any = true;
    }
    if (any) (void)printf("]");
}

int tn_i_cli_prims(void) {
    (void)printf("%-22s %-8s %-14s %s\n", "primitive", "operands", "linear in", "what it computes [parameters]");
    for (int id = 0; id < TN_NPRIMS; id++) {
        const tn_prim *p = tn_i_registry[id];
        char count[16], sets[128];
        (void)printf("%-22s %-8s %-14s %s", p->name, arity(count, sizeof count, p), linear_sets(sets, sizeof sets, p),
                     p->doc);
        put_params(p->params);
        (void)printf("\n");
    }
    return TN_CLI_OK;
}

int tn_i_cli_machine(void) {
    static const struct {
        const char *name;
        double value;
        const char *unit, *what, *how;
    } row[] = {
#define TN_MACHINE(name, value, unit, what, how) {#name, value, unit, what, how},
#define TN_PRICE(member, name, ns, unit, how)    {name, ns, unit, "", how},
#include "base/machine.def"
#undef TN_MACHINE
#undef TN_PRICE
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        (void)printf("%-22s %10.8g %s%s%s [%s]\n", row[i].name, row[i].value, row[i].unit, *row[i].what ? ": " : "",
                     row[i].what, row[i].how);
    for (int id = 0; id < TN_NPRIMS; id++)
        if (tn_i_registry[id]->ns > 0)
            (void)printf("%-22s %10.6g ns: an element in f32 [calibrate]\n", tn_i_registry[id]->name,
                         tn_i_registry[id]->ns);
    return TN_CLI_OK;
}

int tn_i_cli_version(void) {
    (void)printf("tansy %s\nblis %s, kernels %s\nlapack %s\n", tn_version(), tn_i_gemm_version(), tn_i_gemm_kernels(),
                 tn_i_lapack_version());
    return TN_CLI_OK;
}
