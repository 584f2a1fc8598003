#include "fault/sweep.h"
#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a world ------------------------------------------------------------------------ */

static void fill(const tn_type *t, void *data) {
    const size_t n = tn_type_elements(t);
    for (size_t i = 0; i < n; i++) {
        const double x = 0.25 + (double)(i * 7 % 11) / 22;
        switch (t->dtype) {
        case TN_F64: ((double *)data)[i] = x; break;
        case TN_F32: ((float *)data)[i] = (float)x; break;
        case TN_I64: ((int64_t *)data)[i] = (int64_t)(i % 2); break;
        case TN_U32: ((uint32_t *)data)[i] = (uint32_t)(i % 2); break;
        case TN_I32: ((int32_t *)data)[i] = (int32_t)(i % 2); break;
        default: ((unsigned char *)data)[i] = i % 2;
        }
    }
}

static void *buffer(tn_type t) {
    void *p = calloc(1, tn_type_bytes(&t) + 1);
    if (p) fill(&t, p);
    return p;
}

bool world_arguments(world *w, const tn_fn *f) {
    const size_t room = sizeof w->in / sizeof *w->in;
    bool ok = f && tn_fn_inputs(f) <= room && tn_fn_outputs(f) <= room;
    w->nin = ok ? tn_fn_inputs(f) : 0;
    w->nout = ok ? tn_fn_outputs(f) : 0;
    for (size_t i = 0; i < w->nin; i++) ok = (w->in[i] = buffer(tn_fn_input_type(f, i))) && ok;
    for (size_t j = 0; j < w->nout; j++) ok = (w->out[j] = buffer(tn_fn_output_type(f, j))) && ok;
    return ok;
}

/* Where one allocation fails, every growth is one, and all results are checked; where all fail, nothing is unusual. */
static bool world_open(world *w, const stage *s, fault_mode mode) {
    *w = (world){.stage = s};
    w->c = tn_ctx_new(&(tn_ctx_options){
        .size = sizeof(tn_ctx_options), .realloc = memory_realloc, .user = &w->m, .check = mode == FAULT_ONE ? 1 : -1});
    if (w->c) w->c->no_code = 1; /* pages of code count as bytes, and are not the allocator's */
    return w->c && (!s->prepare || s->prepare(w));
}

static void release_made(world *w) {
    tn_fn_free(w->made[0]);
    tn_fn_free(w->made[1]);
    tn_work_free(w->made_work);
    tn_exec_free(w->made_exec);
    tn_text_free(w->c, w->text);
    w->made[0] = w->made[1] = NULL;
    w->made_work = NULL;
    w->made_exec = NULL;
    w->text = NULL;
}

/* Frees the context with all that prepare left in it. */
static void world_close(world *w) {
    tn_text_free(w->c, w->owned);
    tn_ctx_free(w->c);
    for (size_t i = 0; i < w->nin; i++) free(w->in[i]);
    for (size_t j = 0; j < w->nout; j++) free(w->out[j]);
    w->c = NULL;
}

/* Bytes outstanding apart from what a context keeps for good: interned strings, types and places. */
static size_t transient(const world *w) {
    const tn_ctx *c = w->c;
    const size_t slots = (size_t)c->strings.capacity + c->types.capacity + c->locs.capacity;
    return w->m.bytes - c->arena.bytes - slots * sizeof(void *);
}

/* ---- what a call gave, as text ---------------------------------------------------------- */

static void describe_bytes(FILE *to, tn_type t, const void *data) {
    const size_t n = tn_type_bytes(&t);
    for (size_t i = 0; i < n; i++) (void)fprintf(to, "%02x", ((const unsigned char *)data)[i]);
    (void)fputc('\n', to);
}

static void describe_fn(FILE *to, const tn_fn *f) {
    if (!f) return;
    char *text = tn_fn_print(f, NULL);
    (void)fprintf(to, "%s\n", text ? text : "no text");
    tn_text_free(tn_fn_ctx(f), text);
}

static void describe_exec(FILE *to, world *w, tn_exec *e) {
    const tn_status s = tn_call(e, (const void *const *)w->in, w->out);
    (void)fprintf(to, "%zu bytes, %s %s\n", tn_exec_bytes(e), tn_status_text(s), tn_exec_error(e));
}

static char *describe(world *w) {
    char *text = NULL;
    size_t n;
    FILE *to = open_memstream(&text, &n);
    if (!to) return NULL;
    describe_fn(to, w->made[0]);
    describe_fn(to, w->made[1]);
    if (w->text) (void)fputs(w->text, to);
    if (w->made_exec) describe_exec(to, w, w->made_exec);
    if (w->made_work) (void)tn_call_in(w->exec, w->made_work, (const void *const *)w->in, w->out);
    for (size_t j = 0; j < w->nout; j++) describe_bytes(to, tn_fn_output_type(w->given, j), w->out[j]);
    for (size_t i = 0; i < sizeof w->numbers / sizeof *w->numbers; i++) (void)fprintf(to, "%.17g ", w->numbers[i]);
    (void)fclose(to);
    return text;
}

/* ---- one run -------------------------------------------------------------------------------- */

typedef struct result {
    bool fired;       /* an allocation failed */
    size_t calls;     /* allocations asked for */
    char reason[512]; /* why the run is wrong; "" if it is not */
} result;

static void blame(result *r, const char *what, const char *detail) {
    if (!r->reason[0]) (void)snprintf(r->reason, sizeof r->reason, "%s%s%.300s", what, detail[0] ? ": " : "", detail);
}

static bool made_something(const world *w) {
    return w->made[0] || w->made[1] || w->made_exec || w->made_work || w->text;
}

static void check_context(const world *w, result *r, const char *when) {
    char text[128];
    if (w->c->trace || w->c->scope[0] || w->c->linearity) blame(r, "a trace, scope or check is still open", when);
    if (w->m.wrong[0]) blame(r, "the allocator was misused", w->m.wrong);
    if (tn_ctx_bytes(w->c) == w->m.bytes) return;
    (void)snprintf(text, sizeof text, "%s: %zu, really %zu", when, tn_ctx_bytes(w->c), w->m.bytes);
    blame(r, "tn_ctx_bytes is wrong", text);
}

static void check_failure(const world *w, result *r, bool ok, size_t before) {
    char text[128];
    if (ok) blame(r, "the call succeeded without the memory", "");
    if (tn_last_status(w->c) != TN_ENOMEM) blame(r, "the status is not TN_ENOMEM", tn_error(w->c));
    if (!strstr(tn_error(w->c), "out of memory")) blame(r, "the message does not say so", tn_error(w->c));
    if (!ok && made_something(w)) blame(r, "a failed call gave something", "");
    (void)snprintf(text, sizeof text, "%zu bytes, %zu before", transient(w), before);
    if (!ok && transient(w) != before) blame(r, "the failed call holds memory", text);
}

static void check_success(world *w, result *r, bool ok, size_t before, const char *expected) {
    if (!ok) blame(r, "the call fails without a reason", tn_error(w->c));
    if (ok && tn_last_status(w->c) != TN_OK) blame(r, "success leaves an error", tn_error(w->c));
    char *text = ok ? describe(w) : NULL;
    if (ok && (!text || strcmp(text, expected) != 0)) blame(r, "the result is another one", "");
    free(text);
    release_made(w);
    if (!w->stage->keeps && transient(w) != before) blame(r, "what was made is not all released", "");
}

static void run_once(const stage *s, size_t k, fault_mode mode, const char *expected, result *r) {
    world w;
    *r = (result){.fired = false};
    if (!world_open(&w, s, mode)) {
        blame(r, "the stage cannot be prepared", tn_error(w.c));
        world_close(&w);
        memory_release(&w.m);
        return;
    }
    const size_t before = transient(&w);
    tn_error_clear(w.c);
    w.c->tight = mode == FAULT_ONE;
    memory_arm(&w.m, k, mode);
    bool ok = s->run(&w);
    r->fired = w.m.failed > 0;
    r->calls = w.m.calls;
    memory_disarm(&w.m);
    w.c->tight = false;
    check_context(&w, r, "after the call");
    if (r->fired) {
        check_failure(&w, r, ok, before);
        release_made(&w);
        tn_error_clear(w.c);
        if (!ok) ok = s->run(&w); /* the context is usable: the same call, this time with memory */
    }
    check_success(&w, r, ok, before, expected);
    check_context(&w, r, "in the end");
    world_close(&w);
    if (w.m.bytes || w.m.blocks) blame(r, "tn_ctx_free leaves memory behind", "");
    if (w.m.wrong[0]) blame(r, "the allocator was misused", w.m.wrong);
    memory_release(&w.m);
}

/* What the call gives when nothing fails; NULL after a message. */
static char *reference(const stage *s, fault_mode mode, size_t *calls) {
    world w;
    char *text = NULL;
    bool ok = world_open(&w, s, mode);
    if (ok) w.c->tight = mode == FAULT_ONE;
    memory_arm(&w.m, 0, mode);
    ok = ok && s->run(&w);
    *calls = w.m.calls;
    if (w.c) w.c->tight = false;
    if (ok)
        text = describe(&w);
    else
        printf("FAILED %s: without a fault: %s\n", s->name, tn_error(w.c));
    release_made(&w);
    world_close(&w);
    memory_release(&w.m);
    return text;
}

/* ---- all runs ---------------------------------------------------------------------------------- */

enum { SHOWN = 8 };

static int sweep_mode(const stage *s, const sweep_options *o, fault_mode mode, const char *expected, size_t calls) {
    static const char *const modes[] = {"one fails", "the rest fails"};
    const size_t stride = o->work ? calls * calls / o->work + 1 : 1;
    size_t runs = 0, bad = 0;
    result r = {.fired = true};
    for (size_t k = o->only_at ? o->only_at : 1; r.fired; k += stride) {
        run_once(s, k, mode, expected, &r);
        runs += r.fired;
        if (r.reason[0] && bad++ < SHOWN) printf("  allocation %zu: %s\n", k, r.reason);
        if (o->only_at || (r.reason[0] && !r.fired)) break;
    }
    if (s->silent && calls) bad++, printf("  it allocates %zu times\n", calls);
    printf("%s %s, %s: %zu allocations, %zu runs", bad ? "FAILED" : "ok    ", s->name, modes[mode], calls, runs);
    if (stride > 1) printf(" (every %zuth)", stride);
    if (bad) printf(", %zu wrong", bad);
    printf("\n");
    return bad == 0;
}

void sweep(const stage *s, const sweep_options *o, int *passed, int *failed) {
    for (fault_mode mode = FAULT_ONE; mode <= FAULT_ALL; mode++) {
        size_t calls;
        char *expected = reference(s, mode, &calls);
        if (expected && sweep_mode(s, o, mode, expected, calls))
            ++*passed;
        else
            ++*failed;
        free(expected);
        (void)fflush(stdout);
    }
}
