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

/* A call of f compiled so, its outputs one after another, each from a multiple of 64 bytes; the exec, to be freed. */
static inline tn_exec *call_compiled(const tn_fn *f, const tn_compile_options *o, const void *const *in, char *out) {
    void *to[8];
    tn_exec *e = tn_compile(f, o);
    if (!e) fail_msg("%s", tn_error(tn_fn_ctx(f)));
    assert_true(f->nout <= COUNT(to));
    for (size_t i = 0, at = 0; i < f->nout; i++) {
        to[i] = out + at;
        at += (tn_type_bytes(f->val[f->out[i]].type) + 63) & ~(size_t)63;
    }
    assert_int_equal(tn_call(e, in, to), TN_OK);
    return e;
}

#endif
