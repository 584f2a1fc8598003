/* The nests of a plan as loop programs, and these as machine code, or as what a C compiler makes of their text. */
#include "cgen/cgen.h"
#include "exec/assembled.h"
#include "exec/nest_code.h"
#include "exec/parallel.h"
#include "jit/jit.h"
#include "lower/lower.h"
#include "pass/pass.h"
#include "vec/vec.h"

#include <stdio.h>

/* What runs one of them. */
struct tn_i_compiled {
    tn_i_loops *p;
    const tn_i_nest *nest; /* or, of a loop, the first of its body */
    tn_i_made *made;
    tn_i_l_run run;
    bool backwards;
    bool has_code;
    tn_i_jit_label at;
    uint32_t outputs; /* entries of the table of addresses in front of these are always there */
    uint32_t *needed, nneeded, cneeded;
};

/* ---- loop programs ------------------------------------------------------------------------------------ */

tn_i_machine tn_i_lower_machine(const tn_i_nest *n, int vector) {
    const tn_i_nest_code *code = n->code;
    const int threads = code->threads < TN_LOWER_SHARED ? (int)code->threads : TN_LOWER_SHARED;
    return (tn_i_machine){.vector = vector, .threads = threads, .worth = TN_WORTH_THREADS};
}

tn_i_machine tn_i_lower_machine_alone(const tn_i_nest *n, int vector) {
    tn_i_machine m = tn_i_lower_machine(n, vector);
    m.threads = 1;
    return m;
}

/* Bytes of this processor's vectors. */
static int vector(void) { return tn_i_isa_bytes(tn_i_isa_best()); }

static bool among(const uint32_t *list, uint32_t n, uint32_t x) {
    for (uint32_t i = 0; i < n; i++)
        if (list[i] == x) return true;
    return false;
}

/* What may be missing in a call: memory of the caller's, from the first output on. */
static bool find_needed(tn_ctx *c, struct tn_i_compiled *k) {
    const tn_i_loops *p = k->p;
    k->needed = tn_i_alloc_array(c, k->cneeded = p->narray, sizeof *k->needed);
    for (uint32_t i = 0; i < p->narray && k->needed; i++) {
        const tn_i_l_array *a = &p->array[i];
        if (a->role == TN_L_CONST || a->base == TN_LOWER_SCRATCH || a->base < k->outputs) continue;
        if (!among(k->needed, k->nneeded, a->base)) k->needed[k->nneeded++] = a->base;
    }
    return k->needed || p->narray == 0;
}

/* The interpreter runs it. */
static bool stays(tn_i_made *made, const char *why) {
    made->why = why;
    return true;
}

/* Takes p, as it is lowered; NULL after an error.  What needs more memory than the plan has for it stays with the
 * interpreter. */
static bool add(tn_ctx *c, tn_i_loops *p, const tn_i_machine *m, size_t room, struct tn_i_compiled k,
                tn_i_assembled *out) {
    if (p && c->nests != TN_NESTS_LOWERED) p = tn_i_passes(p, m, NULL);
    if (!p && c->status == TN_ELIMIT) { /* no error of the caller's: the interpreter has it */
        tn_error_clear(c);
        return stays(k.made, "its loops are not lowered");
    }
    if (!p) return false;
    if ((size_t)p->bytes > room) {
        tn_i_l_free(p);
        return stays(k.made, "its loop program needs more memory than was planned");
    }
    if (!tn_i_grow(c, (void **)(void *)&out->nest, &out->cnest, out->nnest + 1, sizeof *out->nest)) {
        tn_i_l_free(p);
        return false;
    }
    k.p = p;
    out->nest[out->nnest] = k;
    return find_needed(c, &out->nest[out->nnest++]);
}

static bool add_nest(tn_ctx *c, const tn_i_plan *p, tn_i_nest *n, tn_i_assembled *out) {
    const tn_i_machine m = tn_i_lower_machine(n, vector());
    const struct tn_i_compiled k = {.nest = n, .made = &n->made, .outputs = TN_BASE_ARGUMENTS + p->f->nin};
    if (!tn_i_lower_admits(n)) return stays(&n->made, "loops of this kind are not lowered");
    return add(c, tn_i_lower_nest(c, n), &m, n->scratch, k, out);
}

static bool add_loop(tn_ctx *c, tn_i_loop *l, tn_i_assembled *out) {
    const tn_i_machine m = tn_i_lower_machine_alone(l->size.first, vector());
    if (!tn_i_lower_admits_loop(l)) return true;
    const struct tn_i_compiled k = {.nest = l->size.first, .made = &l->made, .outputs = TN_BASE_ARGUMENTS};
    return add(c, tn_i_lower_loop(c, l, true), &m, l->nscratch, k, out);
}

static bool add_chunk(tn_ctx *c, const tn_i_plan *p, tn_i_group *g, tn_i_chunk_kind kind, tn_i_assembled *out) {
    if (!g->chunk[kind].is || !tn_i_lower_admits_chunk(g, kind)) return true;
    const tn_i_nest *first = g->chunk[kind].first;
    const tn_i_machine m = tn_i_lower_machine_alone(first, vector());
    const struct tn_i_compiled k = {
        .nest = first, .made = &g->chunk[kind].made, .outputs = tn_i_cell_entry(&g->actor[g->nactor - 1], 0)};
    return add(c, tn_i_lower_chunk(c, p, g, kind), &m, g->nchunk_scratch, k, out);
}

static bool add_loops(tn_ctx *c, tn_i_plan *p, tn_i_assembled *out) {
    bool ok = true;
    for (size_t i = 0; ok && i < p->nloop; i++) ok = !p->loop[i].whole || add_loop(c, &p->loop[i], out);
    for (size_t i = 0; ok && i < p->ngroup; i++)
        for (tn_i_chunk_kind kind = 0; ok && kind < TN_CHUNKS; kind++) ok = add_chunk(c, p, &p->group[i], kind, out);
    return ok;
}

static bool add_nests(tn_ctx *c, const tn_i_plan *p, tn_i_assembled *out) {
    for (size_t i = 0; i < p->nnest; i++)
        if (!add_nest(c, p, p->nest[i], out)) return false;
    return true;
}

/* ---- parts for threads --------------------------------------------------------------------------------- */

typedef struct shared {
    const tn_i_l_run *run;
    char *const *base;
    tn_i_l_part *part;
    tn_status status[TN_LOWER_SHARED];
} shared;

static void run_parts(void *with, int thread, int64_t first, int64_t last) {
    shared *s = with;
    (void)thread;
    for (int64_t i = first; i < last; i++) s->status[i] = s->part(s->run, s->base, i);
}

static tn_status share(const tn_i_l_run *run, char *const *base, int64_t n, tn_i_l_part *part) {
    const struct tn_i_compiled *k = run->context;
    const tn_i_nest_code *code = k->nest->code;
    shared s = {.run = run, .base = base, .part = part};
    tn_i_in_pieces(code->process, (uint32_t)n, n, run_parts, &s);
    for (int64_t i = 0; i < n; i++)
        if (s.status[i] != TN_OK) return s.status[i];
    return TN_OK;
}

/* ---- evaluation, for tests ---------------------------------------------------------------------------- */

static tn_i_strip *function(void *user, const char *name) {
    const tn_i_nest *n = user;
    return tn_i_vec_math(name, tn_i_isa_best(), n->accurate).strip;
}

static tn_status evaluate(const tn_i_l_run *run, char *const *base) {
    const struct tn_i_compiled *k = run->context;
    const tn_i_l_eval_options o = {
        .run = run, .function = function, .user = (void *)(uintptr_t)k->nest, .backwards = k->backwards};
    return tn_i_l_eval(k->p, base, &o);
}

static void set(struct tn_i_compiled *k, tn_i_l_compiled *run) {
    *k->made = (tn_i_made){.code = run, .run = &k->run, .needed = k->needed, .nneeded = k->nneeded};
}

static void set_evaluated(tn_ctx *c, tn_i_assembled *a) {
    for (size_t i = 0; i < a->nnest; i++) {
        struct tn_i_compiled *k = &a->nest[i];
        k->backwards = c->nests == TN_NESTS_BACKWARDS;
        k->run = (tn_i_l_run){.context = k};
        set(k, evaluate);
    }
}

/* ---- machine code ------------------------------------------------------------------------------------- */

/* No sanitizer sees what machine code does: with one (DEBUG=1) each address is compared with its array. */
#ifdef TN_DEBUG
#define BOUNDS true
#else
#define BOUNDS false
#endif

static bool compile(tn_i_code *code, struct tn_i_compiled *k) {
    char why[TN_JIT_WHY];
    const tn_i_jit_options o = {.accurate = k->nest->accurate, .bounds = BOUNDS};
    const tn_i_jit_result r = tn_i_jit_compile(code, k->p, &o, &k->at, why);
    k->has_code = r == TN_JIT_OK;
    if (r == TN_JIT_NONE) (void)stays(k->made, "its loop program has no machine code");
    return r != TN_JIT_ERROR;
}

static bool seal(tn_i_code *code, tn_i_assembled *a) {
    char why[TN_JIT_WHY];
    tn_i_jit pages;
    const tn_i_jit_result r = tn_i_jit_seal(code, &pages, why);
    if (r != TN_JIT_OK) return r == TN_JIT_NONE;
    a->code = pages.base;
    a->code_bytes = pages.bytes;
    for (size_t i = 0; i < a->nnest; i++) {
        struct tn_i_compiled *k = &a->nest[i];
        if (!k->has_code) continue;
        k->run = (tn_i_l_run){.context = k, .share = share};
        set(k, tn_i_jit_program(&pages, code, k->at));
    }
    return true;
}

static bool has_code(void) { return tn_i_isa_best() == TN_ISA_AVX2 || tn_i_isa_best() == TN_ISA_AVX512; }

static bool set_compiled(tn_ctx *c, tn_i_assembled *a) {
    tn_i_code code;
    bool ok = true, some = false;
    tn_i_code_begin(&code, c, tn_i_isa_best());
    for (size_t i = 0; ok && i < a->nnest; i++) {
        ok = compile(&code, &a->nest[i]);
        some |= a->nest[i].has_code;
    }
    if (ok && some) ok = seal(&code, a);
    tn_i_code_drop(&code);
    return ok;
}

/* ---- C ---------------------------------------------------------------------------------------------------- */

/* What cannot be written as C stays with the interpreter. */
static bool print(tn_ctx *c, tn_i_cgen *g, tn_i_assembled *a) {
    char name[32];
    for (size_t i = 0; i < a->nnest; i++) {
        struct tn_i_compiled *k = &a->nest[i];
        (void)snprintf(name, sizeof name, "nest%zu", i);
        k->has_code = tn_i_cgen_add(g, name, k->p);
        if (g->failed) return false;
        if (k->has_code) continue;
        (void)stays(k->made, "its loop program has no text in C");
        tn_error_clear(c);
    }
    return true;
}

static void set_printed(tn_i_assembled *a) {
    const void *const *program = a->native.program;
    for (size_t i = 0; i < a->nnest; i++) {
        struct tn_i_compiled *k = &a->nest[i];
        if (!k->has_code) continue;
        k->run = (tn_i_l_run){.context = k, .share = share, .table = a->native.table};
        set(k, (tn_i_l_compiled *)(uintptr_t)*program++);
        k->made->native = true;
    }
}

static bool compile_text(tn_ctx *c, const tn_i_plan *root, const tn_i_native_options *o, tn_i_assembled *a) {
    tn_i_cgen g = {.ctx = c, .native = true, .isa = tn_i_isa_best(), .accurate = root->accurate};
    const bool ok = print(c, &g, a) && tn_i_native_load(c, &g, o, &a->native) == TN_OK;
    tn_i_cgen_free(&g);
    if (ok && a->native.library) set_printed(a);
    return ok;
}

/* ---- all of it -------------------------------------------------------------------------------------------- */

static bool add_all(tn_ctx *c, tn_i_plan *root, tn_i_assembled *out) {
    bool ok = add_loops(c, root, out);
    for (size_t i = 0; ok && i < root->nnested; i++) ok = add_loops(c, root->nested[i], out);
    ok = ok && add_nests(c, root, out);
    for (size_t i = 0; ok && i < root->nnested; i++) ok = add_nests(c, root->nested[i], out);
    return ok; /* they stay where they are from now on */
}

bool tn_i_assemble(tn_ctx *c, tn_i_plan *root, const tn_i_native_options *native, tn_i_assembled *out) {
    *out = (tn_i_assembled){.nnest = 0};
    if (!native && (c->nests == TN_NESTS_TILES || (c->nests == TN_NESTS_CODE && !has_code()))) return true;
    if (!add_all(c, root, out)) return false;
    if (native && !compile_text(c, root, native, out)) return false;
    if (out->native.library) return true;
    if (c->nests == TN_NESTS_CODE) return !has_code() || set_compiled(c, out);
    set_evaluated(c, out);
    return true;
}

void tn_i_assembled_drop(tn_ctx *c, tn_i_assembled *a) {
    tn_i_jit pages = {.base = a->code, .bytes = a->code_bytes};
    for (size_t i = 0; i < a->nnest; i++) {
        tn_i_l_free(a->nest[i].p);
        tn_i_free(c, a->nest[i].needed, a->nest[i].cneeded * sizeof *a->nest[i].needed);
    }
    tn_i_free(c, a->nest, a->cnest * sizeof *a->nest);
    tn_i_jit_drop(c, &pages);
    tn_i_native_drop(c, &a->native);
    *a = (tn_i_assembled){.nnest = 0};
}
