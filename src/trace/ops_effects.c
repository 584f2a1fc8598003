/* Operators without values: print, progress, assert and fail. */
#include "prims/ids.h"
#include "trace/trace.h"

#include <string.h>

/* `every` 0: not a parameter. */
static void emit(tn_i_site *s, int id, const char *text, int64_t every) {
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
    if (every) tn_i_args_int(&a, "every", every);
    (void)tn_i_args_emit(s, &a, s->n, s->v);
}

void tn_print_at(tn_ctx *c, const char *text, size_t n, const tn_val *x, const char *file, int line) {
    tn_i_site s;
    tn_i_site_open_many(&s, "print", c, n, x, 0, file, line);
    emit(&s, TN_P_print, text, 0);
    tn_i_site_close_many(&s, TN_NOVAR, 0, NULL);
}

void tn_progress_at(tn_ctx *c, const char *text, tn_val step, int64_t every, size_t n, const tn_val *x,
                    const char *file, int line) {
    tn_i_site s;
    tn_val few[8] = {step};
    if (n > 7 || (n && !x)) {
        (void)tn_fail_at(c, TN_EINVAL, "progress", n > 7 ? "more than 7 values" : "the values are NULL", file, line);
        return;
    }
    if (n) memcpy(few + 1, x, n * sizeof *x);
    tn_i_site_open_many(&s, "progress", c, 1 + n, few, 0, file, line);
    if (!s.b->failed && every < 1)
        (void)tn_i_site_fail(&s, TN_EINVAL, -1, "every is not positive");
    else
        emit(&s, TN_P_progress, text, every);
    tn_i_site_close_many(&s, TN_NOVAR, 0, NULL);
}

void tn_assert_at(tn_val cond, const char *text, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    tn_i_site_open(&s, "assert", NULL, 1, &cond, &v, 0, file, line);
    emit(&s, TN_P_assert, text, 0);
    tn_i_site_close_many(&s, TN_NOVAR, 0, NULL);
}

tn_val tn_fail_at(tn_ctx *c, tn_status status, const char *who, const char *text, const char *file, int line) {
    tn_i_site s;
    tn_i_site_begin(&s, who ? who : "", c, file, line);
    (void)tn_i_site_fail(&s, status == TN_OK ? TN_EINVAL : status, -1, "%s", text ? text : "");
    return tn_i_site_close(&s, TN_NOVAR);
}
