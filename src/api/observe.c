/* An observer for a FILE: what a program says, as text. */
#include "base/number.h"
#include "ir/ir.h"
#include "tansy/effects.h"

#include <stdio.h>
#include <string.h>

static void put_element(FILE *f, int dtype, const unsigned char *at) {
    char text[TN_I_ELEMENT_TEXT];
    (void)tn_i_element_text(text, dtype, at);
    (void)fputs(text, f);
}

/* Nested lists, as the type has dimensions; one without elements is []. */
static void put_array(FILE *f, const tn_type *t, const unsigned char *at) {
    const int64_t n = tn_i_count(t);
    int64_t row[TN_MAX_RANK + 1] = {[0] = n};
    if (n == 0) (void)fputs("[]", f);
    for (int d = 0; d < t->rank && n; d++) row[d + 1] = row[d] / t->dim[d];
    for (int64_t i = 0; i < n; i++, at += tn_i_dtype_size(t->dtype)) {
        if (i) (void)fputs(", ", f);
        for (int d = 0; d < t->rank; d++)
            if (i % row[d] == 0) (void)fputc('[', f);
        put_element(f, t->dtype, at);
        for (int d = 0; d < t->rank; d++)
            if ((i + 1) % row[d] == 0) (void)fputc(']', f);
    }
}

int tn_observe_file(void *file, const tn_effect *e) {
    FILE *f = file;
    if (!f || !e) return 1;
    if (e->file && e->file[0]) (void)fprintf(f, "%s:%d: ", e->file, e->line);
    (void)fprintf(f, "%s%s", e->kind == TN_ASSERT ? "assertion failed: " : "", e->message ? e->message : "");
    for (size_t i = 0; e->array && i < e->n; i++) {
        char text[TN_I_TYPE_TEXT];
        (void)fprintf(f, "%s%s ", i ? ", " : ": ", tn_i_type_text(text, e->array[i].type));
        put_array(f, e->array[i].type, e->array[i].data);
    }
    return fputc('\n', f) == EOF || ferror(f);
}
