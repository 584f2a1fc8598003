/* run --profile: what each step took, as a table, as JSON, or drawn. */
#include "cli/json.h"
#include "cli/run.h"
#include "cli/svg.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- a table ------------------------------------------------------------------------------------ */

static void put_replay(const tn_profile_replay *k) {
    (void)fprintf(stderr, "%lld advances, %lld recorded, %lld snapshots (%lld saved, %lld loaded)",
                  (long long)k->advances, (long long)k->recorded, (long long)k->snapshots, (long long)k->saved,
                  (long long)k->loaded);
    if (k->disk_snapshots)
        (void)fprintf(stderr, ", %lld on disk (%lld written, %lld read)", (long long)k->disk_snapshots,
                      (long long)k->disk_writes, (long long)k->disk_reads);
}

static void put_row(void *user, const tn_profile_step *s) {
    const double *all = user;
    char what[96];
    if (s->calls == 0) return;
    (void)snprintf(what, sizeof what, "%*s%s%s%s", 2 * s->depth, "", s->kind, *s->primitive ? " " : "", s->primitive);
    (void)fprintf(stderr, "%6.1f %%  %11.0f  %11.0f  %9lld  %12.0f  %12.0f  %12.0f  %-11s  %-32s",
                  *all > 0 ? 100 * s->ns / *all : 0, s->ns, s->own_ns, (long long)s->calls, s->work.bytes,
                  s->work.flops, s->work.products, s->runner, what);
    if (s->line) (void)fprintf(stderr, "  %s:%d", s->file, s->line);
    if (s->replay.advances || s->replay.recorded) {
        (void)fputs("  ", stderr);
        put_replay(&s->replay);
    }
    (void)fputc('\n', stderr);
}

static tn_status print(const tn_profile *p, const tn_profile_totals *t) {
    double ns = t->ns;
    (void)fprintf(stderr, "%8s  %11s  %11s  %9s  %12s  %12s  %12s  %-11s  %s\n", "share", "ns", "own ns", "calls",
                  "bytes", "flops", "products", "runs in", "step");
    const tn_status status = tn_profile_steps(p, put_row, &ns);
    (void)fprintf(stderr,
                  "%lld call%s, %.0f ns, %.0f of them outside of steps: %.0f bytes, %.0f flops, %.0f transcendentals, "
                  "%.0f products",
                  (long long)t->calls, t->calls == 1 ? "" : "s", t->ns, t->own_ns, t->work.bytes, t->work.flops,
                  t->work.transcendentals, t->work.products);
    if (t->replay.advances || t->replay.recorded) {
        (void)fputs("; schedules: ", stderr);
        put_replay(&t->replay);
    }
    (void)fputc('\n', stderr);
    return status;
}

/* ---- JSON ------------------------------------------------------------------------------------------- */

static void json_numbers(double ns, double own_ns, const tn_profile_work *w, const tn_profile_replay *k) {
    (void)fprintf(stderr,
                  "\"ns\": %.0f, \"own_ns\": %.0f, \"bytes\": %.17g, \"flops\": %.17g, \"transcendentals\": %.17g, "
                  "\"products\": %.17g",
                  ns, own_ns, w->bytes, w->flops, w->transcendentals, w->products);
    if (!k->advances && !k->recorded) return;
    (void)fprintf(stderr,
                  ", \"replay\": {\"advances\": %lld, \"recorded\": %lld, \"saved\": %lld, \"loaded\": %lld, "
                  "\"snapshots\": %lld, \"disk_writes\": %lld, \"disk_reads\": %lld, \"disk_snapshots\": %lld}",
                  (long long)k->advances, (long long)k->recorded, (long long)k->saved, (long long)k->loaded,
                  (long long)k->snapshots, (long long)k->disk_writes, (long long)k->disk_reads,
                  (long long)k->disk_snapshots);
}

static void json_row(void *user, const tn_profile_step *s) {
    bool *first = user;
    (void)fprintf(stderr, "%s{\"kind\": ", *first ? "" : ", ");
    *first = false;
    tn_i_json_text(stderr, s->kind);
    (void)fputs(", \"primitive\": ", stderr);
    tn_i_json_text(stderr, s->primitive);
    (void)fputs(", \"file\": ", stderr);
    tn_i_json_text(stderr, s->file);
    (void)fprintf(stderr, ", \"line\": %d, \"depth\": %d, \"runner\": \"%s\", \"operations\": %zu, \"calls\": %lld, ",
                  s->line, s->depth, s->runner, s->operations, (long long)s->calls);
    json_numbers(s->ns, s->own_ns, &s->work, &s->replay);
    (void)fputc('}', stderr);
}

static tn_status print_json(const tn_profile *p, const tn_profile_totals *t) {
    bool first = true;
    (void)fprintf(stderr, "{\"calls\": %lld, ", (long long)t->calls);
    json_numbers(t->ns, t->own_ns, &t->work, &t->replay);
    (void)fputs(", \"steps\": [", stderr);
    const tn_status status = tn_profile_steps(p, json_row, &first);
    (void)fputs("]}\n", stderr);
    return status;
}

/* ---- a drawing ----------------------------------------------------------------------------------------- */

typedef struct bars {
    tn_i_flame *bar;
    size_t n, room;
    double ns;
} bars;

static void count_bar(void *user, const tn_profile_step *s) {
    (void)s;
    ++*(size_t *)user;
}

static void take_bar(void *user, const tn_profile_step *s) {
    bars *b = user;
    tn_i_flame *f = &b->bar[b->n++];
    const char *slash = strrchr(s->file, '/'), *name = *s->primitive ? s->primitive : s->kind;
    *f = (tn_i_flame){.ns = s->ns, .depth = s->depth, .runner = s->runner};
    if (s->line)
        (void)snprintf(f->label, sizeof f->label, "%s %s:%d", name, slash ? slash + 1 : s->file, s->line);
    else
        (void)snprintf(f->label, sizeof f->label, "%s", name);
    (void)snprintf(f->all, sizeof f->all,
                   "%s: %s, %.1f %%, %.0f ns in %lld calls, %.0f bytes, %.0f flops, %.0f products", f->label, s->kind,
                   b->ns > 0 ? 100 * s->ns / b->ns : 0, s->ns, (long long)s->calls, s->work.bytes, s->work.flops,
                   s->work.products);
}

static bool draw_to(FILE *out, const tn_i_cli *o, const tn_profile_totals *t, const bars *b) {
    char title[512], whole[128];
    const char *slash = strrchr(o->file, '/'), *file = slash ? slash + 1 : o->file;
    (void)snprintf(title, sizeof title, "Time of %s, step by step", strcmp(o->file, "-") == 0 ? "a program" : file);
    (void)snprintf(whole, sizeof whole, "%lld call%s, %.0f ns", (long long)t->calls, t->calls == 1 ? "" : "s", t->ns);
    return tn_i_svg_flames(out, title, whole, t->ns, b->n, b->bar);
}

static bool draw(const tn_i_cli *o, const tn_profile *p, const tn_profile_totals *t) {
    bars b = {.ns = t->ns};
    if (tn_profile_steps(p, count_bar, &b.room) != TN_OK || !(b.bar = calloc(b.room + 1, sizeof *b.bar)) ||
        tn_profile_steps(p, take_bar, &b) != TN_OK) {
        free(b.bar);
        (void)fprintf(stderr, "run: out of memory\n");
        return false;
    }
    FILE *out = fopen(o->svg, "w");
    bool ok = out && draw_to(out, o, t, &b);
    if (out && fclose(out) != 0) ok = false;
    if (!ok) (void)fprintf(stderr, "%s: %s\n", o->svg, strerror(errno));
    free(b.bar);
    return ok;
}

bool tn_i_cli_show_profile(const tn_i_cli_rank *r) {
    const tn_i_cli *o = r->o;
    tn_profile_totals t = {.size = sizeof t};
    tn_status status = tn_profile_total(r->profile, &t);
    if (status == TN_OK && (o->json || !o->svg)) status = o->json ? print_json(r->profile, &t) : print(r->profile, &t);
    if (status != TN_OK) return tn_i_cli_bad(o, tn_fn_ctx(r->f)) == TN_CLI_OK;
    return !o->svg || draw(o, r->profile, &t);
}
