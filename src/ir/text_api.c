/* The public functions that look at programs: text, counts and types. */
#include "ir/parse.h"

#include <string.h>

void tn_fn_free(tn_fn *f) {
    if (tn_i_living(f)) tn_i_fn_unref(f);
}
tn_ctx *tn_fn_ctx(const tn_fn *f) { return f ? f->ctx : NULL; }
size_t tn_fn_inputs(const tn_fn *f) { return f ? f->nin : 0; }
size_t tn_fn_linear_inputs(const tn_fn *f) { return f ? f->nlin : 0; }
size_t tn_fn_outputs(const tn_fn *f) { return f ? f->nout : 0; }
size_t tn_fn_equations(const tn_fn *f) { return f ? f->neqn : 0; }

tn_type tn_fn_input_type(const tn_fn *f, size_t i) {
    return f && i < f->nin ? *f->val[i].type : tn_type_of(TN_NDTYPES, TN_MAX_RANK + 1, NULL);
}

tn_type tn_fn_output_type(const tn_fn *f, size_t i) {
    return f && i < f->nout ? *f->val[f->out[i]].type : tn_type_of(TN_NDTYPES, TN_MAX_RANK + 1, NULL);
}

/* ---- types ---------------------------------------------------------------------- */

size_t tn_type_print(const tn_type *t, char *text, size_t size) {
    char all[TN_I_TYPE_TEXT] = "?";
    if (t && tn_i_type_valid(t)) (void)tn_i_type_text(all, t);
    const size_t n = strlen(all), m = n < size ? n : size ? size - 1 : 0;
    if (!text || !size) return n;
    memcpy(text, all, m);
    text[m] = 0;
    return n;
}

tn_status tn_type_parse(tn_ctx *c, const char *text, tn_type *t) {
    const tn_type none = tn_type_of(TN_NDTYPES, TN_MAX_RANK + 1, NULL);
    if (t) *t = none;
    if (!c) return TN_EINVAL;
    if (!text || !t) return tn_i_fail(c, TN_EINVAL, NULL, "tn_type_parse: %s is NULL", text ? "the type" : "the text");
    tn_type read;
    if (!tn_i_type_of_text(c, text, &read)) return c->status;
    *t = read;
    return TN_OK;
}

/* ---- text ----------------------------------------------------------------------- */

/* The bytes of a text stand in front of it, for tn_text_free. */
typedef union header {
    size_t bytes;
    max_align_t align;
} header;

char *tn_i_owned_text(tn_ctx *c, const char *text, size_t n) {
    size_t bytes;
    header *h = tn_i_add(n + 1, sizeof *h, &bytes) ? tn_i_alloc(c, bytes) : NULL;
    if (!h) return NULL;
    h->bytes = bytes;
    char *out = memcpy(h + 1, text, n);
    out[n] = 0;
    return out;
}

char *tn_fn_print(const tn_fn *f, size_t *n) {
    size_t length;
    if (n) *n = 0;
    if (!tn_i_living(f)) return NULL;
    char *text = tn_i_print(f, &length), *out = NULL;
    if (!text) return NULL;
    out = tn_i_owned_text(f->ctx, text, length);
    if (out && n) *n = length;
    tn_i_free(f->ctx, text, length + 1);
    return out;
}

void tn_text_free(tn_ctx *c, char *text) {
    if (!c || !text) return;
    header *h = (header *)(void *)text - 1;
    tn_i_free(c, h, h->bytes);
}
