/* Policies of jax.checkpoint as JAX prints them, by the names that they have here. */
#include "ir/parse.h"

#include <string.h>

static bool begins(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

/* `<function dots_saveable at 0x..>`: one of the functions that make policies has its names where no text does. */
static bool of_function(tn_ctx *c, const char *text, const char **name) {
    static const char head[] = "<function ";
    if (!begins(text, head)) return false;
    const char *at = text + sizeof head - 1, *end = strstr(at, " at ");
    if (!end || memchr(at, '.', (size_t)(end - at))) return false;
    *name = tn_i_string(c, at, (size_t)(end - at));
    return true;
}

/* `SaveOnlyTheseNames(saveable_names=frozenset({'a', 'b'}))`: what is quoted. */
static const char *of_names(tn_ctx *c, const char *text, const char *kind) {
    const size_t room = strlen(text) + strlen(kind) + 2;
    char *made = tn_i_alloc(c, room), *to = made;
    if (!made) return NULL;
    memcpy(to, kind, strlen(kind));
    to += strlen(kind);
    for (const char *open = strchr(text, '\''), *close; open; open = strchr(close + 1, '\'')) {
        if (!(close = strchr(open + 1, '\''))) break;
        *to = to == made + strlen(kind) ? ':' : ',';
        to++;
        memcpy(to, open + 1, (size_t)(close - open - 1));
        to += close - open - 1;
    }
    const char *name = tn_i_string(c, made, (size_t)(to - made));
    tn_i_free(c, made, room);
    return name;
}

static bool is_word(const char *text) {
    for (; *text; text++)
        if (*text != '_' && (*text < 'a' || *text > 'z')) return false;
    return true;
}

bool tn_i_jax_policy(tn_ctx *c, const char *text, const char **name) {
    const char *kind = begins(text, "SaveOnlyTheseNames(")     ? "save_only_these_names"
                       : begins(text, "SaveAnyNamesButThese(") ? "save_any_names_but_these"
                                                               : NULL;
    if (kind) return *name = of_names(c, text, kind), true;
    *name = begins(text, "DotsSaveable(only_if_no_batch_dims=True)")    ? "dots_with_no_batch_dims_saveable"
            : begins(text, "DotsSaveable(only_if_no_batch_dims=False)") ? "dots_saveable"
            : is_word(text)                                             ? text
                                                                        : NULL;
    return *name ? true : of_function(c, text, name);
}
