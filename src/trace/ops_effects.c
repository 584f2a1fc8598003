/* Operators without values: print and assert. */
#include "trace/trace.h"

#include <string.h>

static void emit(tn_i_site *s, int id, const char *text) {
    tn_i_args a;
    if (s->b->failed) return;
    if (!text) {
        (void)tn_i_site_fail(s, TN_EINVAL, -1, "the text is NULL");
        return;
    }
    const char *message = tn_i_string(s->b->ctx, text, strlen(text));
    if (!message) {
        s->b->failed = true;
        return;
    }
    tn_i_args_init(&a, s, id);
    tn_i_args_str(&a, "message", message);
    (void)tn_i_args_emit(s, &a, s->n, s->v);
}

void tn_print_at(tn_ctx *c, const char *text, size_t n, const tn_val *x, const char *file, int line) {
    tn_i_site s;
    tn_i_site_open_many(&s, "print", c, n, x, 0, file, line);
    emit(&s, TN_P_print, text);
    tn_i_site_close_many(&s, TN_NOVAR, 0, NULL);
}

void tn_assert_at(tn_val cond, const char *text, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    tn_i_site_open(&s, "assert", NULL, 1, &cond, &v, 0, file, line);
    emit(&s, TN_P_assert, text);
    tn_i_site_close_many(&s, TN_NOVAR, 0, NULL);
}
