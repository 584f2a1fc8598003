/* The nests of a plan, its loops, and steps in a row, as loop programs; and these as machine code, as what a C compiler
 * makes of their text, or as strips. */
#include "base/machine.h"
#include "cgen/cgen.h"
#include "plan/assembled.h"
#include "base/parallel.h"
#include "jit/jit.h"
#include "lower/lower.h"
#include "pass/pass.h"
#include "strips/strips.h"
#include "vec/vec.h"

#include <stdio.h>
#include <string.h>

static bool is_much(const tn_i_part_size *k) { return k->work >= TN_M_THREAD_OPERATIONS; }

/* What is lowered: a nest, all steps of a loop, steps in a row of a group, a segment, or all of the plan. */
typedef struct source {
    const tn_i_plan *plan;
    const tn_i_nest *nest; /* or, of steps, the first of their bodies */
    const tn_i_loop *loop;
    const tn_i_group *group;
    const tn_i_segment *segment;
    tn_i_chunk_kind kind;
    bool all;
    bool much; /* work: steps for machine code, or to be run one by one, not for strips, which kernels are quicker than
                */
    size_t room; /* bytes of scratch memory */
} source;

/* What runs one of them. */
struct tn_i_compiled {
    source of;
    tn_i_made *made;
    tn_i_loops *p;        /* that code is made of, or that is evaluated; NULL: there is none */
    tn_i_loops *stripped; /* that strips run */
    tn_i_strips *strips;
    size_t strips_at; /* where their registers are in scratch memory */
    tn_i_l_run run;
    bool backwards;
    bool has_code;
    tn_i_jit_label at;
    uint32_t outputs; /* entries of the table of addresses in front of these are always there */
    uint32_t *needed, nneeded, cneeded;
};

/* ---- loop programs ------------------------------------------------------------------------------------ */

tn_i_machine tn_i_lower_machine(const tn_i_nest *n, int vector) {
    return (tn_i_machine){.vector = vector ? vector : TN_STRIPS_MOST,
                          .threads = (int)n->parts,
                          .worth = TN_M_THREAD_OPERATIONS,
                          .strips = vector == TN_LOWER_STRIPS};
}

tn_i_machine tn_i_lower_machine_alone(const tn_i_nest *n, int vector) {
    tn_i_machine m = tn_i_lower_machine(n, vector);
    m.threads = 1;
    return m;
}

static bool is_steps(const source *s) { return s->loop || s->group || s->segment || s->all; }

static tn_i_machine machine_of(const source *s, int vector) {
    return is_steps(s) ? tn_i_lower_machine_alone(s->nest, vector) : tn_i_lower_machine(s->nest, vector);
}

static tn_i_loops *lower(tn_ctx *c, const source *s) {
    if (s->all) return tn_i_lower_all(c, s->plan);
    if (s->loop) return tn_i_lower_loop(c, s->loop, true);
    if (s->group) return tn_i_lower_chunk(c, s->plan, s->group, s->kind);
    if (s->segment) return tn_i_lower_segment(c, s->plan, s->segment);
    return tn_i_lower_nest(c, s->nest);
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

/* Strips run all of it; what a C compiler was refused for stands in front. */
static bool no_code(tn_i_assembled *a, const char *why) {
    const size_t n = strlen(a->native.why);
    (void)snprintf(a->native.why + n, sizeof a->native.why - n, "%s%s", n ? "; " : "", why);
    a->backend = TN_BACKEND_STRIPS;
    return true;
}

static bool stays(tn_i_made *made, const char *why) {
    made->why = why;
    return true;
}

/* Some limit of loop programs was met: no error of the caller's, there are other ways to run it. */
static bool limited(tn_ctx *c) {
    if (c->status != TN_ELIMIT) return false;
    tn_error_clear(c);
    return true;
}

static bool add(tn_ctx *c, struct tn_i_compiled k, tn_i_assembled *out) {
    if (!tn_i_grow(c, (void **)(void *)&out->nest, &out->cnest, out->nnest + 1, sizeof *out->nest)) return false;
    out->nest[out->nnest++] = k;
    return true;
}

static bool add_loops(tn_ctx *c, tn_i_plan *p, tn_i_assembled *out) {
    for (size_t i = 0; i < p->nloop; i++) {
        tn_i_loop *l = &p->loop[i];
        const source s = {.plan = p, .nest = l->size.first, .loop = l, .much = is_much(&l->size), .room = l->nscratch};
        if (l->whole && !add(c, (struct tn_i_compiled){.of = s, .made = &l->made, .outputs = TN_BASE_ARGUMENTS}, out))
            return false;
    }
    return true;
}

static bool add_chunks(tn_ctx *c, tn_i_plan *p, tn_i_assembled *out) {
    for (size_t i = 0; i < p->ngroup; i++)
        for (tn_i_chunk_kind kind = 0; kind < TN_CHUNKS; kind++) {
            tn_i_group *g = &p->group[i];
            const source s = {
                .plan = p, .nest = g->chunk[kind].first, .group = g, .kind = kind, .room = g->nchunk_scratch};
            if (g->chunk[kind].is &&
                !add(c,
                     (struct tn_i_compiled){.of = s,
                                            .made = &g->chunk[kind].made,
                                            .outputs = tn_i_cell_entry(&g->actor[g->nactor - 1], 0)},
                     out))
                return false;
        }
    return true;
}

static bool add_segments(tn_ctx *c, tn_i_plan *p, tn_i_assembled *out) {
    for (size_t i = 0; i < p->nsegment; i++) {
        tn_i_segment *g = &p->segment[i];
        const source s = {.plan = p, .nest = g->size.first, .segment = g, .much = is_much(&g->size), .room = g->bytes};
        const struct tn_i_compiled k = {.of = s, .made = &g->made, .outputs = TN_BASE_ARGUMENTS + p->f->nin};
        if (!add(c, k, out)) return false;
    }
    return true;
}

static bool add_whole(tn_ctx *c, const tn_i_plan *p, tn_i_all_steps *all, tn_i_assembled *out) {
    const source s = {.plan = p, .nest = all->size.first, .all = true, .much = is_much(&all->size), .room = all->bytes};
    return !all->is || add(c, (struct tn_i_compiled){.of = s, .made = &all->made, .outputs = UINT32_MAX}, out);
}

static bool add_nests(tn_ctx *c, const tn_i_plan *p, tn_i_assembled *out) {
    for (size_t i = 0; i < p->nnest; i++) {
        tn_i_nest *n = p->nest[i];
        const source s = {.plan = p, .nest = n, .room = n->scratch};
        if (!add(c, (struct tn_i_compiled){.of = s, .made = &n->made, .outputs = TN_BASE_ARGUMENTS + p->f->nin}, out))
            return false;
    }
    return true;
}

/* The loop program that code is made of; without one where it does not fit the memory that was planned. */
static bool make_program(tn_ctx *c, struct tn_i_compiled *k) {
    const tn_i_machine m = machine_of(&k->of, vector());
    k->p = lower(c, &k->of);
    if (k->p && c->nests != TN_NESTS_LOWERED) k->p = tn_i_passes(k->p, &m, NULL);
    if (!k->p) return limited(c) && stays(k->made, "its loop program is too large");
    if ((size_t)k->p->bytes <= k->of.room) return find_needed(c, k);
    tn_i_l_free(k->p);
    k->p = NULL;
    return stays(k->made, "its loop program needs more memory than was planned");
}

/* ---- parts for threads --------------------------------------------------------------------------------- */

typedef struct shared {
    const tn_i_l_run *run;
    char *const *base;
    tn_i_l_part *part;
    tn_status status[TN_NEST_PARTS];
} shared;

static void run_parts(void *with, int thread, int64_t first, int64_t last) {
    shared *s = with;
    (void)thread;
    for (int64_t i = first; i < last; i++) s->status[i] = s->part(s->run, s->base, i);
}

static tn_status share(const tn_i_l_run *run, char *const *base, int64_t n, tn_i_l_part *part) {
    const struct tn_i_compiled *k = run->context;
    shared s = {.run = run, .base = base, .part = part};
    tn_i_in_pieces(k->of.nest->process, (uint32_t)n, n, run_parts, &s);
    for (int64_t i = 0; i < n; i++)
        if (s.status[i] != TN_OK) return s.status[i];
    return TN_OK;
}

/* ---- strips ------------------------------------------------------------------------------------------- */

static tn_status by_strips(const tn_i_l_run *run, char *const *base) {
    const struct tn_i_compiled *k = run->context;
    return tn_i_strips_run(k->strips, run, base, base[TN_LOWER_SCRATCH] + k->strips_at);
}

/* Registers for one thread, and for each of the parts that there may be. */
static size_t room_for(const struct tn_i_compiled *k, const tn_i_loops *p, const tn_i_machine *m) {
    const size_t taken = ((size_t)p->bytes + 63) & ~(size_t)63;
    return taken > k->of.room ? 0 : (k->of.room - taken) / (m->threads > 1 ? (size_t)m->threads + 1 : 1);
}

/* Where it does not fit with all passes (last NULL), *fits is false. */
static bool strip(tn_ctx *c, struct tn_i_compiled *k, tn_i_pass_fn *only, bool passes, bool *fits) {
    const tn_i_machine m = machine_of(&k->of, TN_LOWER_STRIPS);
    tn_i_loops *p = lower(c, &k->of);
    if (p && passes) p = only ? only(p, &m) : tn_i_passes(p, &m, NULL);
    *fits = p != NULL;
    if (!p) return limited(c);
    k->strips = tn_i_strips_new(p, tn_i_isa_best(), k->of.nest->accurate, room_for(k, p, &m), fits);
    if (k->strips) {
        k->stripped = p;
        k->strips_at = ((size_t)p->bytes + 63) & ~(size_t)63;
        return true;
    }
    tn_i_l_free(p);
    if (*fits && !limited(c)) return false;
    *fits = false;
    return true;
}

/* With all passes; for calls that code is not for, with the one that most depends on. */
static bool make_strips(tn_ctx *c, struct tn_i_compiled *k) {
    bool fits = false;
    if (!k->has_code && !strip(c, k, NULL, true, &fits)) return false;
    if (!fits && !strip(c, k, tn_i_pass_vectorize, true, &fits)) return false;
    return fits || strip(c, k, NULL, false, &fits);
}

/* ---- evaluation: for tests, and where even strips of one number do not fit --------------------------------- */

static tn_i_strip *function(void *user, const char *name) {
    const tn_i_nest *n = user;
    return tn_i_vec_math(name, tn_i_isa_best(), n->accurate).strip;
}

static tn_status evaluate(const tn_i_l_run *run, char *const *base) {
    const struct tn_i_compiled *k = run->context;
    const tn_i_l_eval_options o = {
        .run = run, .function = function, .user = (void *)(uintptr_t)k->of.nest, .backwards = k->backwards};
    return tn_i_l_eval(k->p, base, &o);
}

static void set(struct tn_i_compiled *k, tn_i_made_code *code, const char *by) {
    k->run.context = k;
    k->made->code = code;
    k->made->by = by;
    k->made->run = &k->run;
}

static bool set_evaluated(tn_ctx *c, tn_i_assembled *a) {
    for (size_t i = 0; i < a->nnest; i++) {
        struct tn_i_compiled *k = &a->nest[i];
        if (!make_program(c, k)) return false;
        k->backwards = c->nests == TN_NESTS_BACKWARDS;
        k->has_code = k->p != NULL;
        if (k->p) set(k, evaluate, "strips");
    }
    (void)no_code(a, "its loop programs are evaluated");
    return true;
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
    const tn_i_jit_options o = {.accurate = k->of.nest->accurate, .bounds = BOUNDS};
    const tn_i_jit_result r = tn_i_jit_compile(code, k->p, &o, &k->at, why);
    k->has_code = r == TN_JIT_OK;
    if (r == TN_JIT_NONE) (void)stays(k->made, "its loop program has no machine code");
    return r != TN_JIT_ERROR;
}

static bool seal(tn_i_code *code, tn_i_assembled *a) {
    char why[TN_JIT_WHY], refused[TN_JIT_WHY + 64];
    tn_i_jit pages;
    const tn_i_jit_result r = tn_i_jit_seal(code, &pages, why);
    if (r != TN_JIT_OK) {
        for (size_t i = 0; i < a->nnest; i++) a->nest[i].has_code = false;
        (void)snprintf(refused, sizeof refused, "the system refuses memory for machine code (%s)", why);
        return r == TN_JIT_NONE && no_code(a, refused);
    }
    a->code = pages.base;
    a->code_bytes = pages.bytes;
    for (size_t i = 0; i < a->nnest; i++) {
        struct tn_i_compiled *k = &a->nest[i];
        if (!k->has_code) continue;
        k->run.share = share;
        set(k, tn_i_jit_program(&pages, code, k->at), "assembler");
    }
    return true;
}

static bool has_code(void) { return tn_i_isa_best() == TN_ISA_AVX2 || tn_i_isa_best() == TN_ISA_AVX512; }

/* Every loop program has a reason of its own: the first one's is told. */
static bool none_compiled(tn_i_assembled *a) {
    char why[160];
    (void)snprintf(why, sizeof why, "none of its loops is machine code: %s", a->nest[0].made->why);
    return no_code(a, why);
}

static bool set_compiled(tn_ctx *c, tn_i_assembled *a) {
    tn_i_code code;
    bool ok = true, some = false;
    if (!has_code()) return no_code(a, "machine code is for x86-64 with AVX2, FMA and F16C: this processor is another");
    a->backend = TN_BACKEND_ASSEMBLER;
    tn_i_code_begin(&code, c, tn_i_isa_best());
    for (size_t i = 0; ok && i < a->nnest; i++) {
        ok = make_program(c, &a->nest[i]) && (!a->nest[i].p || compile(&code, &a->nest[i]));
        some |= a->nest[i].has_code;
    }
    if (ok && some)
        ok = seal(&code, a);
    else if (ok && a->nnest)
        ok = none_compiled(a);
    tn_i_code_drop(&code);
    return ok;
}

/* ---- C ---------------------------------------------------------------------------------------------------- */

/* What cannot be written as C is run by strips. */
static bool print(tn_ctx *c, tn_i_cgen *g, tn_i_assembled *a) {
    char name[32];
    for (size_t i = 0; i < a->nnest; i++) {
        struct tn_i_compiled *k = &a->nest[i];
        (void)snprintf(name, sizeof name, "nest%zu", i);
        if (!make_program(c, k)) return false;
        if (!k->p) continue;
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
        k->run = (tn_i_l_run){.share = share, .table = a->native.table};
        set(k, (tn_i_made_code *)(uintptr_t)*program++, "native");
    }
}

static void forget_programs(tn_ctx *c, tn_i_assembled *a) {
    for (size_t i = 0; i < a->nnest; i++) {
        struct tn_i_compiled *k = &a->nest[i];
        tn_i_l_free(k->p);
        tn_i_free(c, k->needed, k->cneeded * sizeof *k->needed);
        *k->made = (tn_i_made){.code = NULL};
        *k = (struct tn_i_compiled){.of = k->of, .made = k->made, .outputs = k->outputs};
    }
}

/* Where no compiler makes a library of it, a->native says why, and all is as before. */
static bool compile_text(tn_ctx *c, const tn_i_plan *root, const tn_i_native_options *o, tn_i_assembled *a) {
    tn_i_cgen g = {.ctx = c, .native = true, .isa = tn_i_isa_best(), .accurate = root->accurate};
    const bool ok = print(c, &g, a) && tn_i_native_load(c, &g, o, &a->native) == TN_OK;
    tn_i_cgen_free(&g);
    if (ok && a->native.library)
        set_printed(a);
    else if (ok)
        forget_programs(c, a);
    return ok;
}

/* ---- all of it -------------------------------------------------------------------------------------------- */

static bool add_all(tn_ctx *c, tn_i_plan *root, tn_i_all_steps *all, tn_i_assembled *out) {
    bool ok = add_whole(c, root, all, out) && add_segments(c, root, out) && add_loops(c, root, out) &&
              add_chunks(c, root, out);
    for (size_t i = 0; ok && i < root->nnested; i++)
        ok = add_segments(c, root->nested[i], out) && add_loops(c, root->nested[i], out) &&
             add_chunks(c, root->nested[i], out);
    ok = ok && add_nests(c, root, out);
    for (size_t i = 0; ok && i < root->nnested; i++) ok = add_nests(c, root->nested[i], out);
    return ok; /* they stay where they are from now on */
}

/* What has no code, and nests in calls that their code is not for.  Steps of loops that strips do not fit, or are not
 * for, run one by one. */
static bool set_stripped(tn_ctx *c, struct tn_i_compiled *k) {
    const bool steps = is_steps(&k->of);
    k->made->needed = k->needed;
    k->made->nneeded = k->nneeded;
    if (k->has_code && (steps || !k->nneeded)) return true;
    if (steps && k->of.much) return true;
    if (!make_strips(c, k)) return false;
    if (k->strips && k->has_code) {
        k->made->without = by_strips;
    } else if (k->strips) {
        k->made->nneeded = 0;
        k->run.share = share;
        set(k, by_strips, "strips");
    } else if (!steps) {
        tn_i_l_free(k->p);
        if (!(k->p = lower(c, &k->of))) return false;
        k->made->why = "its values do not fit the memory that was planned: one number at a time";
        k->made->without = evaluate;
        if (k->has_code) return true;
        k->made->nneeded = 0;
        set(k, evaluate, "strips");
    }
    return true;
}

static bool set_all_stripped(tn_ctx *c, tn_i_assembled *a) {
    for (size_t i = 0; i < a->nnest; i++)
        if (!set_stripped(c, &a->nest[i])) return false;
    return true;
}

static bool set_in_memory(tn_ctx *c, int backend, tn_i_assembled *out) {
    out->backend = TN_BACKEND_STRIPS;
    if (c->nests != TN_NESTS_BACKEND) return set_evaluated(c, out);
    return backend == TN_BACKEND_STRIPS || set_compiled(c, out);
}

bool tn_i_assemble(tn_ctx *c, tn_i_plan *root, tn_i_all_steps *all, int backend, const tn_i_native_options *native,
                   tn_i_assembled *out) {
    *out = (tn_i_assembled){.backend = backend};
    if (!add_all(c, root, all, out)) return false;
    if (backend == TN_BACKEND_NATIVE && !compile_text(c, root, native, out)) return false;
    if (!out->native.library && !set_in_memory(c, backend, out)) return false;
    if (backend == TN_BACKEND_ASSEMBLER && out->backend != backend) {
        (void)tn_i_fail(c, TN_EINVAL, NULL, "tn_compile: the backend TN_BACKEND_ASSEMBLER: %s", out->native.why);
        return false;
    }
    return set_all_stripped(c, out);
}

void tn_i_assembled_drop(tn_ctx *c, tn_i_assembled *a) {
    tn_i_jit pages = {.base = a->code, .bytes = a->code_bytes};
    for (size_t i = 0; i < a->nnest; i++) {
        tn_i_strips_free(a->nest[i].strips);
        tn_i_l_free(a->nest[i].stripped);
        tn_i_l_free(a->nest[i].p);
        tn_i_free(c, a->nest[i].needed, a->nest[i].cneeded * sizeof *a->nest[i].needed);
    }
    tn_i_free(c, a->nest, a->cnest * sizeof *a->nest);
    tn_i_jit_drop(c, &pages);
    tn_i_native_drop(c, &a->native);
    *a = (tn_i_assembled){.nnest = 0};
}
