/* A cost model from a file: lines of a name and a number, as bench/calibrate writes them. */
#include "checkpoint/cost_model.h"

#include "base/number.h"
#include "prims/ids.h"

#include <stdio.h>
#include <string.h>

enum { LINE = 256 };

/* The number that `name` stands for in m, or NULL. */
static double *entry(tn_i_cost_model *m, const char *name) {
    static const char *const level[TN_I_LEVELS] = {"l1", "l2", "l3", "dram"};
    const char *dot = strchr(name, '.');
    if (!dot) {
        if (strcmp(name, "equation") == 0) return &m->equation;
        if (strcmp(name, "flop") == 0) return &m->flop;
        if (strcmp(name, "message") == 0) return &m->message;
        if (strcmp(name, "message_byte") == 0) return &m->message_byte;
        return strcmp(name, "product") == 0 ? &m->product : NULL;
    }
    const size_t n = (size_t)(dot - name);
    if (n == 7 && memcmp(name, "element", n) == 0) {
        for (int id = 0; id < TN_NPRIMS; id++)
            if (strcmp(tn_i_registry[id]->name, dot + 1) == 0) return &m->element[id];
        return NULL;
    }
    for (int k = 0; k < TN_I_LEVELS; k++) {
        if (strcmp(level[k], dot + 1) != 0) continue;
        if (n == 4 && memcmp(name, "read", n) == 0) return &m->read[k];
        if (n == 5 && memcmp(name, "write", n) == 0) return &m->write[k];
        if (n == 8 && memcmp(name, "capacity", n) == 0 && k < TN_I_DRAM) return &m->capacity[k];
    }
    return NULL;
}

/* "name number", or nothing; cuts the line into its words. */
static bool read_line(tn_i_cost_model *m, char *line) {
    static const char *const blanks = " \t\r\n";
    char *name = line + strspn(line, blanks), *number = name + strcspn(name, blanks);
    if (*name == '\0') return true;
    if (*number) *number++ = '\0';
    number += strspn(number, blanks);
    const size_t n = strcspn(number, blanks);
    double *to = entry(m, name), x;
    if (!to || number[n + strspn(number + n, blanks)] || !tn_i_parse_f64(number, n, &x) || !(x >= 0 && x < 1e18))
        return false;
    *to = x;
    return true;
}

bool tn_i_cost_model_read(tn_ctx *c, const char *path, tn_i_cost_model *m) {
    char line[LINE];
    unsigned number = 0;
    bool ok = true;
    *m = tn_i_shipped_costs;
    m->named = true;
    for (int id = 0; id < TN_NPRIMS; id++) m->element[id] = tn_i_registry[id]->ns;
    FILE *f = fopen(path, "r");
    while (f && ok && fgets(line, sizeof line, f)) {
        number++;
        ok = strlen(line) < LINE - 1 && read_line(m, line);
    }
    const bool readable = f && !ferror(f);
    if (f) (void)fclose(f);
    if (!readable)
        (void)tn_i_fail(c, TN_EIO, NULL, "the cost table '%s' cannot be read", path);
    else if (!ok)
        (void)tn_i_fail(c, TN_EPARSE, NULL, "%s:%u: not the name and the number of a cost", path, number);
    return readable && ok;
}
