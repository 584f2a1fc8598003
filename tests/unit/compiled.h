/* Programs called once, compiled as a test says. */
#ifndef TN_COMPILED_H
#define TN_COMPILED_H

#include "tracing.h"

#include "exec/exec.h"

static inline void compiled_note_step(void *user, const tn_step *s) {
    if (!strcmp(s->kind, "loops") && !strcmp(s->runner, "strips")) *(const char **)user = s->why;
}

/* Why strips run loops of e; NULL: they run none. */
static inline const char *compiled_left_out(const tn_exec *e) {
    const char *why = NULL;
    assert_int_equal(tn_exec_steps(e, compiled_note_step, &why), TN_OK);
    return why;
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
