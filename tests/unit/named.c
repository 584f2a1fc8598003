/* What the header and the manual page list is what the tables have: policies and schedules, both ways. */
#include <tansy.h>

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char *contents(const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f) fail_msg("no %s", path);
    char *text = calloc(1, 1 << 20);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 20) - 1, f) > 0);
    (void)fclose(f);
    return text;
}

/* What stands from `from` to `to`, both of which must be there. */
static char *part(const char *path, const char *from, const char *to) {
    char *text = contents(path), *begin = strstr(text, from), *end = begin ? strstr(begin, to) : NULL;
    if (!end) fail_msg("%s: nothing from '%s' to '%s'", path, from, to);
    *end = 0;
    char *copy = strdup(begin);
    free(text);
    return copy;
}

static bool part_of_name(char c) { return isalnum((unsigned char)c) || c == '_'; }

static bool has(const char *text, const char *name, size_t n) {
    for (const char *at = text; (at = strstr(at, name)) != NULL; at++)
        if ((at == text || !part_of_name(at[-1])) && !part_of_name(at[n])) return true;
    return false;
}

static void lists_policies(const char *path, const char *text) {
    const tn_policy *p;
    for (size_t i = 0; (p = tn_policy_at(i, NULL)) != NULL; i++)
        if (!has(text, p->name, strlen(p->name))) fail_msg("%s: no policy %s", path, p->name);
}

static void lists_schedules(const char *path, const char *text) {
    const char *usage;
    for (size_t i = 0; (usage = tn_schedule_at(i)) != NULL; i++) {
        char name[64] = {0};
        memcpy(name, usage, strcspn(usage, ":["));
        if (!has(text, name, strlen(name))) fail_msg("%s: no schedule %s", path, name);
    }
}

static bool is_policy(const char *name, size_t n) {
    const tn_policy *p;
    for (size_t i = 0; (p = tn_policy_at(i, NULL)) != NULL; i++)
        if (strlen(p->name) == n && memcmp(p->name, name, n) == 0) return true;
    return false;
}

/* The bold words of the manual's paragraph. */
static void knows_policies(const char *text) {
    size_t found = 0;
    for (const char *at = text; (at = strstr(at, "\n.B")) != NULL; at++) {
        const char *word = at + strcspn(at, " ") + 1;
        const size_t n = strspn(word, "abcdefghijklmnopqrstuvwxyz_");
        if (n < 5 || n != strcspn(word, " :\\\n")) continue; /* options, commands */
        if (!is_policy(word, n) && strncmp(word, "memory", n) != 0 && strncmp(word, "auto", n) != 0)
            fail_msg("docs/man/tansy.1: there is no policy %.*s", (int)n, word);
        found++;
    }
    assert_true(found > 10);
}

static void test_policies(void **state) {
    (void)state;
    char *manual = part("docs/man/tansy.1", ".BI \\-\\-policy", "\n.TP"),
         *header = part("include/tansy.h", "typedef struct tn_policy {", "const char *name;");
    lists_policies("docs/man/tansy.1", manual);
    lists_policies("include/tansy.h", header);
    knows_policies(manual);
    free(manual);
    free(header);
}

static void test_schedules(void **state) {
    (void)state;
    char *manual = contents("docs/man/tansy.1"), *header = contents("include/tansy.h");
    lists_schedules("docs/man/tansy.1", manual);
    lists_schedules("include/tansy.h", header);
    free(manual);
    free(header);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_policies), cmocka_unit_test(test_schedules)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
