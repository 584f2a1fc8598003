/* The C of a program's native code for AVX-512, which need not run here. */
#ifndef TN_NATIVE_TEXT_H
#define TN_NATIVE_TEXT_H

#include "tracing.h"

#include "emit/emit.h"
#include "exec/exec.h"

/* For tn_i_text_free. */
static inline tn_i_text native_code(const tn_exec *e) {
    tn_i_module m = {.ctx = e->ctx, .text = {.ctx = e->ctx}, .isa = TN_ISA_AVX512, .bytes = 64};
    (void)tn_i_module_address(&m, NULL);
    assert_true(tn_i_emit_module(&m, e->plan));
    tn_i_text_put(&m.text, "%c", 0);
    const tn_i_text text = m.text;
    m.text = (tn_i_text){.ctx = e->ctx};
    tn_i_module_free(&m);
    return text;
}

static inline bool native_code_has(const tn_exec *e, const char *part) {
    tn_i_text text = native_code(e);
    const bool has = strstr(text.at, part) != NULL;
    tn_i_text_free(&text);
    return has;
}

static inline bool native_text_has(const tn_fn *f, const char *part) {
    tn_exec *e = tn_compile(f, NULL);
    assert_non_null(e);
    const bool has = native_code_has(e, part);
    tn_exec_free(e);
    return has;
}

#endif
