/* What cannot be written, and what comments say. */
#include "emit/c99.h"
#include "tansy/emit.h"

#include <string.h>

void tn_i_c99_refuse(tn_i_c99 *w, const tn_i_eqn *e, const char *why) {
    if (!w->failed)
        (void)tn_i_fail(w->ctx, TN_ERULE, e ? e->loc : NULL, "%s: %s", e ? e->prim->name : "tn_emit_c", why);
    w->failed = true;
}

/* ---- comments -------------------------------------------------------------------------------- */

/* Nothing in it ends a comment or begins one, or is no character. */
void tn_i_c99_put_plain(tn_i_text *t, const char *s) {
    for (; *s; s++) {
        const bool odd = *s < ' ' || *s > '~' || *s == '\\';
        const char c = odd || (s[0] == '*' && s[1] == '/') || (s[0] == '/' && s[1] == '*') ? ' ' : *s;
        tn_i_text_add(t, &c, 1);
    }
}

void tn_i_c99_about(tn_i_text *t, const tn_i_eqn *e) {
    tn_i_text_put(t, "%s", e->prim->name);
    if (!e->loc || !e->loc->file[0]) return;
    tn_i_text_put(t, ", ");
    tn_i_c99_put_plain(t, e->loc->file);
    tn_i_text_put(t, ":%u", (unsigned)e->loc->line);
}
