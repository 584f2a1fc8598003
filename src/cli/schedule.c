/* schedule: what bringing a loop's steps back takes, before there is a loop. */
#include "cli/cli.h"

#include <limits.h>
#include <string.h>

enum { TEXT = 256 };

/* The schedule of a mere name with the names of its arguments, or NULL. */
static const char *usage_of(const char *name) {
    const size_t n = strlen(name);
    const char *usage;
    for (size_t i = 0; (usage = tn_schedule_at(i)); i++)
        if (strncmp(usage, name, n) == 0 && (usage[n] == ':' || !usage[n])) return usage;
    return NULL;
}

/* NAME is a schedule's text, or its name alone: --checkpoints and --disk then are its arguments, if it has such. */
static bool text_of(const tn_i_cli *o, char text[TEXT]) {
    const char *usage = usage_of(o->file);
    int n = snprintf(text, TEXT, "%s", o->file);
    if (usage && strchr(usage, ':') && o->checkpoints >= 0 && n < TEXT)
        n += snprintf(text + n, (size_t)(TEXT - n), ":%lld", (long long)o->checkpoints);
    if (usage && strchr(usage, ',') && o->disk >= 0 && n < TEXT)
        n += snprintf(text + n, (size_t)(TEXT - n), ",%lld", (long long)o->disk);
    return n < TEXT;
}

static void print_counts(const tn_i_cli *o, const tn_schedule_counts *k) {
    const struct {
        const char *name;
        long long value;
    } row[] = {{"steps", k->steps},
               {"advances", k->advances},
               {"recorded", k->recorded},
               {"snapshots", k->snapshots},
               {"bytes", (long long)k->bytes},
               {"disk_snapshots", k->disk_snapshots},
               {"disk_writes", k->disk_writes},
               {"disk_reads", k->disk_reads},
               {"disk_bytes", (long long)k->disk_bytes}};
    if (o->json)
        (void)printf("{\"schedule\": \"%s\"", k->schedule);
    else
        (void)printf("%-16s %s\n", "schedule", k->schedule);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        if (o->json)
            (void)printf(", \"%s\": %lld", row[i].name, row[i].value);
        else
            (void)printf("%-16s %lld\n", row[i].name, row[i].value);
    }
    if (o->json) (void)printf("}\n");
}

int tn_i_cli_schedule(const tn_i_cli *o) {
    char text[TEXT];
    if (!o->file) return tn_i_cli_usage("schedule needs a name");
    if (o->narguments) return tn_i_cli_usage("schedule takes no argument '%s'", o->argument[0]);
    if (o->steps < 0) return tn_i_cli_usage("schedule needs --steps");
    if (strchr(o->file, ':') && (o->checkpoints >= 0 || o->disk >= 0))
        return tn_i_cli_usage("'%s' has its arguments: --checkpoints and --disk are those of a mere name", o->file);
    if (o->disk >= 0 && o->checkpoints < 0) return tn_i_cli_usage("--disk needs --checkpoints");
    if (!text_of(o, text)) return tn_i_cli_usage("the name of the schedule is too long");
    const tn_schedule_options sizes = {.size = sizeof sizes,
                                       .state_bytes = (size_t)o->state_bytes,
                                       .record_bytes = (size_t)o->record_bytes,
                                       .budget_bytes = (size_t)o->bytes,
                                       .step_ns = (double)o->step_ns,
                                       .unknown = o->unknown,
                                       .order = o->order < INT_MAX ? (int)o->order : INT_MAX};
    tn_schedule_counts k = {.size = sizeof k};
    tn_ctx *c = tn_ctx_new(NULL);
    const tn_status status = c ? tn_schedule_cost(c, text, o->steps, &sizes, &k) : TN_ENOMEM;
    if (status == TN_OK)
        print_counts(o, &k);
    else
        (void)fprintf(stderr, "tansy: %s\n", c ? tn_error(c) : tn_status_text(status));
    tn_ctx_free(c);
    return status == TN_OK ? TN_CLI_OK : TN_CLI_BAD;
}
