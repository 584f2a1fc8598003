/* The two halves of a derivative, whose residuals may be as long as a loop was: the emitted primal program's outputs
 * enter the emitted linear one, and what comes out is what tn_compile makes of the derivative in one program. */
#include "emit/written.h"

#include "plan/stack.h"
#include "laws/derive.h"

#include <tansy/emit.h>
#include <tansy/ops.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the function that calls both ---------------------------------------------------------------- */

/* Memory with a guard behind it, of which exactly so much may be written, or read. */
const char emit_room[] =
    "#include <stdint.h>\n#include <stdlib.h>\n#include <string.h>\n"
    "void *emit_room(size_t bytes);\nvoid *emit_room(size_t bytes) {\n"
    "    unsigned char *p = malloc(bytes + 192), *at = p ? p + 128 - (size_t)p % 64 : NULL;\n"
    "    if (!p) abort();\n    memcpy(at - sizeof p, &p, sizeof p);\n    memset(at, 0xA5, bytes + 16);\n"
    "    return at;\n}\n"
    "int emit_whole(void *room, size_t bytes);\nint emit_whole(void *room, size_t bytes) {\n"
    "    unsigned char *at = room, *p;\n    int whole = 1;\n"
    "    for (size_t i = bytes; i < bytes + 16; i++) whole &= at[i] == 0xA5;\n"
    "    memcpy(&p, at - sizeof p, sizeof p);\n    free(p);\n    return whole;\n}\n"
    "void *emit_exact(void *room, size_t bytes);\nvoid *emit_exact(void *room, size_t bytes) {\n"
    "    void *p = malloc(bytes ? bytes : 1);\n    if (!p) abort();\n    memcpy(p, room, bytes);\n    return p;\n}\n"
    "size_t emit_sum(const int64_t *n, size_t arrays);\nsize_t emit_sum(const int64_t *n, size_t arrays) {\n"
    "    size_t sum = 0;\n    for (size_t i = 0; i < arrays; i++) sum += n[i] == INT64_MAX ? 1 : (size_t)n[i];\n"
    "    return sum;\n}\n";

/* Of a derivative of a program with nout outputs. */
typedef struct emit_half {
    const tn_fn *primal, *linear;
    uint32_t nout;
    bool spoilt; /* the linear program is told a wrong length */
} emit_half;

typedef struct writer {
    FILE *t;
    const emit_half *h;
    size_t number;
} writer;

static const tn_type *result(const tn_fn *f, uint32_t j) { return f->val[f->out[j]].type; }

static bool has_length(const tn_type *t) { return tn_i_has_steps(t) && tn_i_handles(t) > 0; }

static tn_type entry_of(const tn_type *t) {
    int skip = 0;
    while (t->dim[skip] != TN_I_STEPS) skip++;
    return tn_type_of((tn_dtype)t->dtype, (size_t)(t->rank - skip - 1), t->dim + skip + 1);
}

static int levels_of(const tn_type *t) {
    if (!has_length(t)) return 0;
    const tn_type entry = entry_of(t);
    return 1 + levels_of(&entry);
}

/* Memory for the primal program's outputs: those of the function itself are the test's. */
static void make_rooms(const writer *k) {
    const tn_fn *f = k->h->primal;
    for (uint32_t j = 0; j < f->nout; j++) {
        const tn_type *t = result(f, j);
        const bool own = j >= k->h->nout;
        if (own && has_length(t))
            (void)fprintf(k->t, "const size_t b%u = CASE_%zu_P_OUT%u_ELEMENTS * %zu;\n", (unsigned)j, k->number,
                          (unsigned)j, tn_i_dtype_size(t->dtype));
        else if (own)
            (void)fprintf(k->t, "const size_t b%u = %zu;\n", (unsigned)j, tn_type_bytes(t));
        (void)fprintf(k->t, own ? "void *r%u = emit_room(b%u);\n" : "void *r%u = out[%u];\n", (unsigned)j, (unsigned)j);
        for (int i = 1; i <= levels_of(t); i++) {
            if (i == 1)
                (void)fprintf(k->t, "const size_t b%u_1 = %zu;\n", (unsigned)j, (size_t)tn_i_handles(t) * 8);
            else
                (void)fprintf(k->t, "const size_t b%u_%d = CASE_%zu_P_OUT%u_LENGTHS%d * 8;\n", (unsigned)j, i,
                              k->number, (unsigned)j, i);
            (void)fprintf(k->t, "void *n%u_%d = emit_room(b%u_%d);\n", (unsigned)j, i, (unsigned)j, i);
        }
    }
}

static void call_primal(const writer *k) {
    const tn_fn *f = k->h->primal;
    (void)fprintf(k->t, "int whole = 1, status = case_%zu_p(", k->number);
    for (uint32_t i = 0; i < f->nin; i++) (void)fprintf(k->t, "in[%u], ", (unsigned)i);
    for (uint32_t j = 0; j < f->nout; j++) {
        (void)fprintf(k->t, "r%u, ", (unsigned)j);
        for (int i = 1; i <= levels_of(result(f, j)); i++) (void)fprintf(k->t, "n%u_%d, ", (unsigned)j, i);
    }
    (void)fprintf(k->t, "w);\nwhole &= emit_whole(w, CASE_%zu_P_WORK_BYTES);\n", k->number);
}

/* What is exactly as long as it is said to be takes the places of the rooms. */
static void copy_lengths(const writer *k, uint32_t j) {
    tn_type rest = *result(k->h->primal, j);
    (void)fprintf(k->t, "size_t e%u = 1;\n", (unsigned)j);
    for (int i = 1; has_length(&rest); i++, rest = entry_of(&rest))
        (void)fprintf(k->t,
                      "e%u *= status ? 0 : %lld;\nvoid *m%u_%d = emit_exact(n%u_%d, e%u * 8);\n"
                      "whole &= emit_whole(n%u_%d, b%u_%d);\ne%u = emit_sum(m%u_%d, e%u);\n",
                      (unsigned)j, (long long)tn_i_handles(&rest), (unsigned)j, i, (unsigned)j, i, (unsigned)j,
                      (unsigned)j, i, (unsigned)j, i, (unsigned)j, (unsigned)j, i, (unsigned)j);
    (void)fprintf(k->t, "void *x%u = emit_exact(r%u, e%u * %zu);\n", (unsigned)j, (unsigned)j, (unsigned)j,
                  tn_type_bytes(&rest));
}

static void copy_residuals(const writer *k) {
    const tn_fn *f = k->h->primal;
    for (uint32_t j = k->h->nout; j < f->nout; j++) {
        if (has_length(result(f, j)))
            copy_lengths(k, j);
        else
            (void)fprintf(k->t, "void *x%u = emit_exact(r%u, b%u);\n", (unsigned)j, (unsigned)j, (unsigned)j);
        (void)fprintf(k->t, "whole &= emit_whole(r%u, b%u);\n", (unsigned)j, (unsigned)j);
    }
}

/* The first length is another one. */
static void spoil(const writer *k) {
    const tn_fn *f = k->h->primal;
    for (uint32_t j = k->h->nout; j < f->nout; j++) {
        if (!has_length(result(f, j))) continue;
        (void)fprintf(k->t, "if (!status) --*(int64_t *)m%u_1;\n", (unsigned)j);
        return;
    }
}

static void call_linear(const writer *k) {
    const tn_fn *f = k->h->primal, *g = k->h->linear;
    const uint32_t nout = k->h->nout, nres = f->nout - nout;
    (void)fprintf(k->t, "w = emit_room(CASE_%zu_L_WORK_BYTES);\nif (!status) status = case_%zu_l(", k->number,
                  k->number);
    for (uint32_t j = nout; j < f->nout; j++) {
        (void)fprintf(k->t, "x%u, ", (unsigned)j);
        for (int i = 1; i <= levels_of(result(f, j)); i++)
            (void)fprintf(k->t, i == 1 && tn_i_handles(result(f, j)) == 1 ? "*(int64_t *)m%u_%d, " : "m%u_%d, ",
                          (unsigned)j, i);
    }
    for (uint32_t i = nres; i < g->nin; i++) (void)fprintf(k->t, "in[%u], ", (unsigned)(f->nin + i - nres));
    for (uint32_t j = 0; j < g->nout; j++) (void)fprintf(k->t, "out[%u], ", (unsigned)(nout + j));
    (void)fprintf(k->t, "w);\nwhole &= emit_whole(w, CASE_%zu_L_WORK_BYTES);\n", k->number);
}

static void give_up(const writer *k) {
    const tn_fn *f = k->h->primal;
    for (uint32_t j = k->h->nout; j < f->nout; j++) {
        (void)fprintf(k->t, "free(x%u);\n", (unsigned)j);
        for (int i = 1; i <= levels_of(result(f, j)); i++) (void)fprintf(k->t, "free(m%u_%d);\n", (unsigned)j, i);
    }
}

static void write_caller(const writer *k) {
    (void)fprintf(k->t,
                  "int call_%zu(const void *const *in, void *const *out, void *work);\n"
                  "int call_%zu(const void *const *in, void *const *out, void *work) {\n(void)in, (void)out, "
                  "(void)work;\nvoid *w = emit_room(CASE_%zu_P_WORK_BYTES);\n",
                  k->number, k->number, k->number);
    make_rooms(k);
    call_primal(k);
    copy_residuals(k);
    if (k->h->spoilt) spoil(k);
    call_linear(k);
    give_up(k);
    (void)fprintf(k->t, "return whole ? status : 99;\n}\nextern const long bytes_%zu;\nconst long bytes_%zu = 64;\n",
                  k->number, k->number);
}

/* ---- both programs -------------------------------------------------------------------------------------- */

static bool write_program(emit_session *s, const char *what, const tn_fn *f, char which, FILE *t) {
    char name[32], *source, *header;
    (void)snprintf(name, sizeof name, "case_%zu_%c", s->n, which);
    const tn_emit_c_options o = {.size = sizeof o, .name = name, .header = "empty.h", .capacity = s->capacity};
    if (tn_emit_c(f, &o, &source, &header) != TN_OK) {
        emit_wrong(s, what, tn_error(f->ctx));
        return false;
    }
    (void)fprintf(t, "%s%s", header, source);
    tn_text_free(f->ctx, source);
    tn_text_free(f->ctx, header);
    return true;
}

/* tn_compile refuses what has such inputs or outputs. */
static void check_refused(emit_session *s, const char *what, const tn_fn *f) {
    const tn_compile_options o = {.size = sizeof o};
    tn_exec *e = tn_compile(f, &o);
    if (e) emit_wrong(s, what, "an input or output of unknown length is not refused by tn_compile");
    tn_exec_free(e);
}

/* whole: what both compute. */
static bool add_half(emit_session *s, const char *what, const emit_half *h, const tn_fn *whole, const laws_array *x) {
    size_t bytes;
    if (s->n == EMIT_MOST || whole->nout > 500) return false;
    emit_record *r = &s->at[s->n];
    *r = (emit_record){.nin = whole->nin,
                       .nout = whole->nout,
                       .tolerance = s->tolerance > 0 ? s->tolerance : laws_rounding(whole),
                       .status = s->status};
    (void)snprintf(r->what, sizeof r->what, "case_%zu: %s", s->n, what);
    if (!emit_runs(s, whole, x, r)) return false;
    const writer k = {.t = open_memstream(&r->text, &bytes), .h = h, .number = s->n};
    const bool ok = write_program(s, what, h->primal, 'p', k.t) && write_program(s, what, h->linear, 'l', k.t);
    if (ok) write_caller(&k);
    (void)fclose(k.t);
    if (!ok) {
        free(r->text);
        emit_told_free(&r->told);
        return false;
    }
    r->x = emit_kept(s, x, whole->nin);
    s->n++;
    s->halves++;
    return true;
}

static bool some_length(const tn_fn *f) {
    bool some = false;
    for (uint32_t j = 0; j < f->nout; j++) some |= has_length(result(f, j));
    return some;
}

void emit_add_halves(emit_session *s, laws_trial *t, const char *what, bool spoilt) {
    char text[200];
    laws_wrt w;
    if (laws_wrt_all(t->f, &w)->n == 0 || laws_float_outputs(t->f) == 0) return;
    uint32_t n;
    const laws_array *v = laws_tangents(t, t->x, &w.list), *ct = laws_cotangents(t, t->f, &n);
    const tn_linearized l = tn_linearize(t->f, &w.list, NULL);
    if (!l.primal || !some_length(l.primal)) return;
    check_refused(s, what, l.primal);
    check_refused(s, what, l.linear);
    const tn_fn *jvp = tn_jvp(t->f, &w.list), *vjp = tn_vjp(t->f, &w.list, NULL), *back = tn_transpose(l.linear);
    emit_half h = {.primal = l.primal, .linear = l.linear, .nout = t->f->nout, .spoilt = spoilt};
    (void)snprintf(text, sizeof text, "halves of jvp of %.150s", what);
    if (jvp) (void)add_half(s, text, &h, jvp, laws_joined(t, t->x, t->f->nin, v, w.list.n));
    h.linear = back;
    (void)snprintf(text, sizeof text, "halves of vjp of %.150s", what);
    if (vjp && back) (void)add_half(s, text, &h, vjp, laws_joined(t, t->x, t->f->nin, ct, n));
}

/* ---- loops in loops ----------------------------------------------------------------------------------------- */

/* From the outermost on: w a loop that finds its length (within another, as many steps as that has done), s or r a loop
 * of three steps, or of three backwards, c a branch that is taken sometimes, k a region. */
typedef struct maze {
    const char *kind;
    const char *schedule;
    bool outermost;
    int64_t steps;
    tn_val w, i;
} maze;

static tn_val advanced(const maze *m, tn_val y);

static maze inner_of(const maze *m, tn_val i) {
    maze inner = *m;
    inner.kind++;
    inner.outermost = false;
    inner.i = i;
    return inner;
}

static tn_val goes_on(const tn_val *carry, void *user) {
    const maze *m = user;
    return tn_lt(carry[0], m->outermost ? tn_full(carry[0].ctx, tn_i64(), (double)m->steps) : m->i);
}

static void step_found(const tn_val *carry, tn_val *next, void *user) {
    const maze inner = inner_of(user, carry[0]);
    next[0] = tn_add(carry[0], 1);
    next[1] = advanced(&inner, carry[1]);
}

static void step_counted(tn_val i, const tn_val *carry, tn_val *next, void *user) {
    const maze inner = inner_of(user, i);
    next[0] = advanced(&inner, carry[0]);
}

static tn_val taken(const tn_val *in, void *user) {
    const maze inner = inner_of(user, ((const maze *)user)->i);
    return advanced(&inner, in[0]);
}

static tn_val not_taken(const tn_val *in, void *user) { return tn_mul(tn_mul(0.5, in[0]), ((const maze *)user)->w); }

static tn_val advanced(const maze *m, tn_val y) {
    tn_ctx *c = y.ctx;
    const tn_loop_options forth = {.size = sizeof forth, .schedule = m->schedule};
    const tn_loop_options back = {.size = sizeof back, .schedule = m->schedule, .reverse = true};
    const tn_val init[2] = {tn_full(c, tn_i64(), 0), y};
    tn_val out[2];
    void *user = (void *)(uintptr_t)m;
    switch (*m->kind) {
    case 'w': tn_while_loop(c, goes_on, step_found, user, 2, init, out, &forth); return out[1];
    case 's': tn_fori(c, 0, 3, step_counted, user, 1, &y, out, &forth); return out[0];
    case 'r': tn_fori(c, 0, 3, step_counted, user, 1, &y, out, &back); return out[0];
    case 'c': return tn_cond(m->outermost ? tn_lt(m->w, 0) : tn_lt(m->i, 2), taken, not_taken, user, 1, &y);
    case 'k': return tn_checkpoint(taken, NULL, user, 1, &y);
    default: return tn_add(y, tn_mul(0.1, tn_sin(tn_mul(m->w, y))));
    }
}

/* in: w, y0 */
static tn_val maze_of(const tn_val *in, void *user) {
    maze m = *(const maze *)user;
    const char *second = strchr(m.kind, '+');
    m.w = in[0];
    m.i = tn_full(in[0].ctx, tn_i64(), 2);
    const tn_val y = advanced(&m, in[1]);
    if (!second) return y;
    m.kind = second + 1; /* another one behind it */
    return advanced(&m, y);
}

typedef struct trial {
    maze m;
    double w;
    int64_t capacity;
    int status;
    bool spoilt;
} trial;

/* With exactly as much room as they need, or a step less. */
static const trial trials[] = {
    {{.kind = "w", .steps = 7}, 0.7, 7, 0, false},
    {{.kind = "w", .steps = 0}, 0.7, 1, 0, false},
    {{.kind = "w", .steps = 1}, 0.7, 1, 0, false},
    {{.kind = "w", .steps = 400}, 0.7, 0, 0, false},
    {{.kind = "w+w", .steps = 5}, 0.7, 5, 0, false},
    {{.kind = "ww", .steps = 5}, 0.7, 10, 0, false},
    {{.kind = "ww", .steps = 1}, 0.7, 1, 0, false},
    {{.kind = "www", .steps = 4}, 0.7, 6, 0, false},
    {{.kind = "ww+w", .steps = 40}, 0.7, 780, 0, false},
    {{.kind = "sw"}, 0.7, 2, 0, false},
    {{.kind = "rw"}, 0.7, 2, 0, false},
    {{.kind = "ssw"}, 0.7, 2, 0, false},
    {{.kind = "rsww"}, 0.7, 2, 0, false},
    {{.kind = "ws", .steps = 7}, 0.7, 7, 0, false},
    {{.kind = "wsw", .steps = 3}, 0.7, 3, 0, false},
    {{.kind = "wrw", .steps = 30}, 0.7, 30, 0, false},
    {{.kind = "cw"}, 0.7, 2, 0, false},
    {{.kind = "cw"}, -0.7, 2, 0, false},
    {{.kind = "cww"}, 0.7, 2, 0, false},
    {{.kind = "cww", .steps = 3}, -0.7, 3, 0, false},
    {{.kind = "wcw", .steps = 4}, 0.7, 8, 0, false},
    {{.kind = "wkw", .steps = 4}, 0.7, 6, 0, false},
    {{.kind = "w+kw", .steps = 4}, 0.7, 4, 0, false},
    {{.kind = "w", .steps = 30, .schedule = "periodic:4"}, 0.7, 30, 0, false},
    {{.kind = "w+w", .steps = 30, .schedule = "online:3"}, 0.7, 30, 0, false},
    {{.kind = "ww", .steps = 9, .schedule = "nothing"}, 0.7, 36, 0, false},
    {{.kind = "w", .steps = 7}, 0.7, 6, 3, false},
    {{.kind = "w", .steps = 1001}, 0.7, 1000, 3, false},
    {{.kind = "w+w", .steps = 5}, 0.7, 4, 3, false},
    {{.kind = "ww", .steps = 5}, 0.7, 9, 3, false},
    {{.kind = "www", .steps = 4}, 0.7, 5, 3, false},
    {{.kind = "ws", .steps = 7}, 0.7, 6, 3, false},
    {{.kind = "w", .steps = 7}, 0.7, 7, 6, true},
    {{.kind = "w", .steps = 0}, 0.7, 1, 6, true},
    {{.kind = "w+w", .steps = 5}, 0.7, 5, 6, true},
};

/* second: of the pullback of it, too. */
static void add_trial(emit_session *s, const trial *k, tn_dtype dtype, size_t rank, bool second) {
    char what[120];
    const int64_t dim[1] = {3};
    const tn_ctx_options opt = {.size = sizeof opt, .check = 1};
    laws_memory memory = {NULL, 0};
    laws_trial t = {.memory = &memory, .ctx = tn_ctx_new(&opt), .rng = {s->seed}};
    maze m = k->m;
    m.outermost = true;
    (void)snprintf(what, sizeof what, "'%s' of %lld steps, %s, w %g, room for %lld, %s rank %zu", m.kind,
                   (long long)m.steps, m.schedule ? m.schedule : "no schedule", k->w, (long long)k->capacity,
                   tn_i_dtype_name((int)dtype), rank);
    t.f = tn_trace(t.ctx, maze_of, &m, 2, TN_TYPES(tn_type_of(dtype, 0, NULL), tn_type_of(dtype, rank, dim)));
    if (!t.f) {
        emit_wrong(s, what, tn_error(t.ctx));
        tn_ctx_free(t.ctx);
        return;
    }
    laws_array *x = laws_alloc(&memory, 2, sizeof *x);
    for (uint32_t i = 0; i < 2; i++) {
        x[i] = laws_new(&memory, t.f->val[i].type);
        laws_random(&t.rng, &x[i]);
    }
    laws_put(&x[0], 0, k->w);
    t.x = x;
    s->capacity = k->capacity;
    s->status = k->status;
    emit_add_halves(s, &t, what, k->spoilt);
    laws_wrt w;
    uint32_t n;
    if (second && (t.f = tn_vjp(t.f, laws_wrt_all(t.f, &w), NULL))) {
        t.x = laws_joined(&t, x, 2, laws_cotangents(&t, t.f, &n), 1);
        (void)snprintf(what + strlen(what), sizeof what - strlen(what), ", vjp");
        emit_add_halves(s, &t, what, k->spoilt);
    }
    s->capacity = s->status = 0;
    tn_ctx_free(t.ctx);
    laws_memory_drop(&memory);
}

void emit_halves(emit_session *s) {
    const size_t n = sizeof trials / sizeof *trials, before = (size_t)s->halves;
    for (size_t i = 0; i < n; i++) {
        add_trial(s, &trials[i], TN_F64, 1, i < 1);
        add_trial(s, &trials[i], TN_F32, 0, false);
        if (i < 12) add_trial(s, &trials[i], TN_F64, 0, false);
        if (i < 12) add_trial(s, &trials[i], TN_F32, 1, false);
    }
    if ((size_t)s->halves - before != 4 * n + 48 + 2) emit_wrong(s, "halves", "are not all written");
}
