/* Linked into a program with -Wl,--wrap=tn_compile,--wrap=tn_call: what it compiles, and what it first calls that with,
 * is written to the folder that TANSY_RECORD names, as NUMBER.tn and NUMBER.in (the operands, one after another). Calls
 * after the first few do nothing, so that no one waits for what is repeated. */
#include <tansy.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

tn_exec *__real_tn_compile(const tn_fn *f, const tn_compile_options *o);
tn_exec *__wrap_tn_compile(const tn_fn *f, const tn_compile_options *o);
tn_status __real_tn_call(tn_exec *e, const void *const *in, void *const *out);
tn_status __wrap_tn_call(tn_exec *e, const void *const *in, void *const *out);

enum { MOST = 64, CALLS = 3 };

static struct program {
    const tn_exec *exec;
    char *text;
    size_t nin;
    tn_type *type; /* of each operand */
    bool plain;    /* operands are row-major */
    int calls;
} program[MOST];
static size_t programs;

/* Of a program that may be given up before it is called. */
static void note(struct program *p, const tn_fn *f) {
    char *text = tn_fn_print(f, NULL);
    p->nin = tn_fn_inputs(f);
    p->type = malloc((p->nin + 1) * sizeof *p->type);
    p->text = malloc(text ? strlen(text) + 1 : 1);
    if (!text || !p->type || !p->text) abort();
    memcpy(p->text, text, strlen(text) + 1);
    for (size_t i = 0; i < p->nin; i++) p->type[i] = tn_fn_input_type(f, i);
    tn_text_free(tn_fn_ctx(f), text);
}

tn_exec *__wrap_tn_compile(const tn_fn *f, const tn_compile_options *o) {
    tn_exec *e = __real_tn_compile(f, o);
    if (!e || programs == MOST) return e;
    struct program *p = &program[programs++];
    *p = (struct program){.exec = e, .plain = !o || (!o->in_strides && !o->out_strides)};
    note(p, f);
    return e;
}

static FILE *opened(const struct program *p, const char *ending) {
    char path[600];
    const char *dir = getenv("TANSY_RECORD");
    (void)snprintf(path, sizeof path, "%s/%d.%s", dir ? dir : ".", (int)(p - program), ending);
    return fopen(path, "wb");
}

static void record(const struct program *p, const void *const *in) {
    FILE *operands = opened(p, "in"), *text = opened(p, "tn");
    const void **at = malloc((p->nin + 1) * sizeof *at);
    if (!at || tn_take_arguments(p->nin, p->type, in, at, NULL, 0) != TN_OK) abort();
    for (size_t i = 0; operands && i < p->nin; i++) (void)fwrite(at[i], 1, tn_type_bytes(&p->type[i]), operands);
    free(at);
    if (text) (void)fputs(p->text, text);
    if (operands) (void)fclose(operands);
    if (text) (void)fclose(text);
}

tn_status __wrap_tn_call(tn_exec *e, const void *const *in, void *const *out) {
    struct program *p = NULL;
    for (size_t k = 0; k < programs; k++)
        if (program[k].exec == e) p = &program[k]; /* the latest: an address may be used again */
    if (p && p->plain && p->calls == 0) record(p, in);
    if (p && p->calls++ >= CALLS) return TN_OK;
    return __real_tn_call(e, in, out);
}
