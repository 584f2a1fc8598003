/* tn_compile, tn_exec_free: options, lifetime. */
#include "exec/exec.h"
#include "run/gemm_context.h"
#include "run/pages.h"
#include "base/parallel.h"
#include "plan/planner.h"
#include "plan/pool.h"
#include "run/profile.h"
#include "plan/strides.h"
#include "run/warm.h"

#include <string.h>

/* ---- lifetime -------------------------------------------------------------------- */

static size_t text_bytes(const char *s) { return s ? strlen(s) + 1 : 0; }

static void exec_destroy(tn_exec *e) {
    tn_ctx *c = e->ctx;
    while (e->works) {
        tn_work *w = e->works;
        e->works = w->next;
        tn_i_spill_close(&w->file);
        tn_i_stacks_drop(&w->stacks);
        tn_i_table_drop(c, w->table);
        tn_i_free(c, w->memory, e->work_bytes);
    }
    tn_i_profiles_drop(e->profiles);
    if (e->prev)
        e->prev->next = e->next;
    else if (c->execs == e)
        c->execs = e->next;
    if (e->next) e->next->prev = e->prev;
    tn_i_skeleton_drop(&e->skeleton);
    tn_i_table_drop(c, e->table);
    tn_i_free(c, e->alone, sizeof *e->alone);
    tn_i_free(c, e->over, e->f->nin * sizeof *e->over);
    tn_i_plan_free(c, e->plan);
    tn_i_assembled_drop(c, &e->assembled);
    tn_i_free(c, e->dir, text_bytes(e->dir));
    tn_i_free(c, e->odd, (size_t)e->f->nin + e->f->nout);
    tn_i_free(c, e->argument, ((size_t)e->f->nin + e->f->nout) * sizeof *e->argument);
    tn_i_fn_unref(e->f);
    tn_i_free(c, e, sizeof *e);
}

static void destroy_all(tn_ctx *c) {
    while (c->execs) exec_destroy(c->execs);
}

/* Holds f from now on, also when it fails. */
static tn_exec *exec_alloc(tn_fn *f) {
    tn_ctx *c = f->ctx;
    tn_exec *e = tn_i_alloc(c, sizeof *e);
    if (!e) {
        tn_i_fn_unref(f);
        return NULL;
    }
    e->ctx = c;
    e->f = f;
    e->refs = 1;
    atomic_init(&e->busy, false);
    tn_i_on_teardown(c, destroy_all);
    e->next = c->execs;
    if (c->execs) c->execs->prev = e;
    c->execs = e;
    return e;
}

void tn_i_exec_unref(tn_exec *e) {
    if (--e->refs == 0) exec_destroy(e);
}

void tn_exec_free(tn_exec *e) {
    if (!e) return;
    if (e->own) {
        tn_work *w = e->own;
        e->own = NULL;
        tn_work_free(w);
    }
    tn_i_exec_unref(e);
}

/* ---- options ------------------------------------------------------------------------ */

static bool bad(const tn_fn *f, const char *what, uint32_t i, const char *why) {
    (void)tn_i_fail(f->ctx, TN_EINVAL, NULL, "tn_compile: %s %u: %s", what, (unsigned)i, why);
    return false;
}

static bool same_strides(const tn_type *t, const int64_t *a, const int64_t *b) {
    int64_t x[TN_MAX_RANK], y[TN_MAX_RANK];
    tn_i_dense_strides(t, x);
    tn_i_dense_strides(t, y);
    if (a) memcpy(x, a, (size_t)t->rank * sizeof *x);
    if (b) memcpy(y, b, (size_t)t->rank * sizeof *y);
    for (int i = 0; i < t->rank; i++)
        if (t->dim[i] > 1 && x[i] != y[i]) return false;
    return true;
}

static const int64_t *strides_of(const int64_t *const *all, uint32_t i) { return all ? all[i] : NULL; }

static bool check_alias(const tn_fn *f, const tn_compile_options *o, uint8_t *taken) {
    for (uint32_t j = 0; j < f->nout; j++) {
        if (o->alias[j] < 0) continue;
        uint32_t i = (uint32_t)o->alias[j];
        const tn_type *t = f->val[f->out[j]].type;
        if (i >= f->nin) return bad(f, "alias of output", j, "there is no such input");
        if (f->val[i].type != t || !same_strides(t, strides_of(o->in_strides, i), strides_of(o->out_strides, j)))
            return bad(f, "alias of output", j, "the input has another type or other strides");
        if (taken[i]++) return bad(f, "alias of output", j, "another output has the same alias");
    }
    return true;
}

static bool check_aliases(const tn_fn *f, const tn_compile_options *o) {
    if (!o->alias) return true;
    uint8_t *taken = tn_i_alloc(f->ctx, f->nin);
    bool ok = taken && check_alias(f, o, taken);
    tn_i_free(f->ctx, taken, f->nin);
    return ok;
}

static bool check_options(const tn_fn *f, const tn_compile_options *o) {
    if (o->backend < TN_BACKEND_DEFAULT || o->backend > TN_BACKEND_STRIPS) {
        (void)tn_i_fail(f->ctx, TN_EINVAL, NULL, "tn_compile: backend %d is not known", o->backend);
        return false;
    }
    if (o->flush_subnormals && !TN_FP_CAN_FLUSH) {
        (void)tn_i_fail(f->ctx, TN_EINVAL, NULL, "tn_compile: subnormals cannot be flushed on this processor");
        return false;
    }
    if (o->math != TN_MATH_DEFAULT && o->math != TN_MATH_ACCURATE) {
        (void)tn_i_fail(f->ctx, TN_EINVAL, NULL, "tn_compile: math %d is not known", o->math);
        return false;
    }
    if (o->threads < 0 || !(o->cc_seconds >= 0)) {
        (void)tn_i_fail(f->ctx, TN_EINVAL, NULL, "tn_compile: %s is negative",
                        o->threads < 0 ? "threads" : "cc_seconds");
        return false;
    }
    if (o->spill_dir && !o->spill_dir[0]) {
        (void)tn_i_fail(f->ctx, TN_EINVAL, NULL,
                        "tn_compile: spill_dir is empty: it names a directory ('.' is the current one, NULL is none)");
        return false;
    }
    for (uint32_t i = 0; o->in_strides && i < f->nin; i++)
        if (o->in_strides[i] && !tn_i_strides_fit(f->val[i].type, o->in_strides[i]))
            return bad(f, "input", i, "its strides overflow the address space");
    for (uint32_t j = 0; o->out_strides && j < f->nout; j++) {
        const tn_type *t = f->val[f->out[j]].type;
        if (!o->out_strides[j]) continue;
        if (!tn_i_strides_fit(t, o->out_strides[j]))
            return bad(f, "output", j, "its strides overflow the address space");
        if (!tn_i_strides_apart(t, o->out_strides[j]))
            return bad(f, "output", j, "with its strides elements may overlap");
    }
    return check_aliases(f, o);
}

/* An array with `?` is handles of a workspace: its caller could not read it. */
static bool check_stacks(const tn_fn *f) {
    char text[TN_I_TYPE_TEXT];
    for (uint32_t i = 0; i < f->nin + f->nout; i++) {
        const bool in = i < f->nin;
        const tn_i_val *v = &f->val[in ? i : f->out[i - f->nin]];
        if (!tn_i_has_steps(v->type)) continue;
        (void)tn_i_fail(f->ctx, TN_EINVAL, in || v->def >= f->neqn ? f->loc : f->eqn[v->def].loc,
                        "tn_compile: %s %u (%s) has a length that a loop finds when it runs: such arrays cannot enter "
                        "or leave a program that runs, only loops within it read and write them",
                        in ? "input" : "output", (unsigned)(in ? i : i - f->nin), tn_i_type_text(text, v->type));
        return false;
    }
    return true;
}

/* ---- compiling -------------------------------------------------------------------------- */

/* The strides of all inputs one after another; *n numbers, *all NULL when every input is row-major. */
static bool flatten(const tn_fn *f, const int64_t *const *strides, int64_t **all, size_t *n) {
    *all = NULL;
    *n = 0;
    if (!strides) return true;
    for (uint32_t i = 0; i < f->nin; i++) *n += (size_t)f->val[i].type->rank;
    int64_t *at = *all = tn_i_alloc_array(f->ctx, *n, sizeof *at);
    if (!at) return false;
    for (uint32_t i = 0; i < f->nin; i++) {
        const tn_type *t = f->val[i].type;
        tn_i_dense_strides(t, at);
        if (strides[i]) memcpy(at, strides[i], (size_t)t->rank * sizeof *at);
        at += t->rank;
    }
    return true;
}

static bool make_plan(tn_exec *e, const tn_compile_options *o) {
    int64_t *in;
    size_t n;
    if (flatten(e->f, o->in_strides, &in, &n)) {
        const tn_i_layout layout = {.in = in,
                                    .out = o->out_strides,
                                    .alias = o->alias,
                                    .plain = o->backend == TN_BACKEND_REFERENCE,
                                    .accurate = o->math == TN_MATH_ACCURATE,
                                    .threads = o->threads};
        e->plan = tn_i_plan_new(e->f, &layout);
    }
    tn_i_free(e->ctx, in, n * sizeof *in);
    return e->plan != NULL;
}

/* Of the address of an element. */
static uint8_t odd_bits(int dtype) { return (uint8_t)(tn_i_dtype_size(dtype) - 1); }

static bool note_alignments(tn_exec *e) {
    const tn_fn *f = e->f;
    const size_t n = (size_t)f->nin + f->nout;
    if (n && !(e->odd = tn_i_alloc(e->ctx, n))) return false;
    for (uint32_t i = 0; i < f->nin; i++) e->odd[i] = odd_bits(f->val[i].type->dtype);
    for (uint32_t j = 0; j < f->nout; j++) e->odd[f->nin + j] = odd_bits(f->val[f->out[j]].type->dtype);
    return true;
}

static bool note_arguments(tn_exec *e, const tn_compile_options *o) {
    const tn_fn *f = e->f;
    const size_t n = (size_t)f->nin + f->nout;
    if (n && !(e->argument = tn_i_alloc_array(e->ctx, n, sizeof *e->argument))) return false;
    for (uint32_t i = 0; i < f->nin; i++)
        e->argument[i] = tn_i_argument_of(f->val[i].type, strides_of(o->in_strides, i));
    for (uint32_t j = 0; j < f->nout; j++) {
        tn_i_argument *a = &e->argument[f->nin + j];
        *a = tn_i_argument_of(f->val[f->out[j]].type, strides_of(o->out_strides, j));
        if (o->alias && o->alias[j] >= 0) a->over = (uint32_t)o->alias[j];
    }
    return true;
}

/* Whether all steps, of which there are several, are to be one loop program, else which of them: not where memory of
 * the caller's may be the same, nor for a C compiler, which takes its time for each. */
static bool note_all(tn_exec *e, const tn_compile_options *o) {
    tn_i_plan *p = e->plan;
    tn_i_all_steps *a = &e->all;
    if (o->backend == TN_BACKEND_NATIVE || o->alias || e->speaks || p->plain) return true;
    if (p->nstep + p->nmove < 2 && (p->nstep == 0 || p->step[0].kind == TN_STEP_NEST)) return true;
    a->size.own = true;
    a->is = tn_i_part_measure(p, &a->size) && tn_i_part_is_one(&a->size);
    if (!a->is) return tn_i_plan_segments(e->ctx, p, &a->bytes);
    if (tn_i_add(a->size.keeps, a->size.registers, &a->bytes)) return true;
    (void)tn_i_fail(e->ctx, TN_EOVERFLOW, NULL, "tn_compile: the workspace overflows the address space");
    return false;
}

/* The parts of a workspace follow each other, each on a multiple of TN_ARENA_ALIGN. */
static bool measure(tn_exec *e) {
    const tn_i_plan *p = e->plan;
    const size_t bits = (p->nstep + 7) / 8 + ((size_t)e->plan->f->nval + 7) / 8 + ((size_t)e->f->nout + 7) / 8;
    const size_t given = ((size_t)e->f->nin + e->f->nout) * sizeof(void *);
    const size_t part[] = {sizeof(tn_work), p->frame,     given,   bits,
                           p->bytes,        e->all.bytes, p->said, p->starts * sizeof(void *)};
    size_t n = TN_ARENA_ALIGN - 1;
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        if (part[i] && (!tn_i_add(n, part[i], &n) || !tn_i_add(n, TN_ARENA_ALIGN - 1, &n))) {
            (void)tn_i_fail(e->ctx, TN_EOVERFLOW, NULL, "tn_compile: the workspace overflows the address space");
            return false;
        }
    e->work_bytes = n;
    return true;
}

/* Values that are offloaded need a directory, in which a file can be made. */
static bool spill_dir(tn_exec *e, const char *dir) {
    if (e->plan->spill == 0) return true;
    if (!dir) {
        (void)tn_i_fail(
            e->ctx, TN_EINVAL, e->f->loc,
            "tn_compile: the program offloads %zu bytes: the option spill_dir must name a directory for them",
            e->plan->spill);
        return false;
    }
    if (!(e->dir = tn_i_alloc(e->ctx, text_bytes(dir)))) return false;
    memcpy(e->dir, dir, text_bytes(dir));
    tn_i_spill_file probe;
    char why[TN_I_SPILL_TEXT];
    tn_i_spill_open(&probe, e->dir);
    if (probe.fd < 0) {
        tn_i_spill_reason(&probe, why);
        (void)tn_i_fail(e->ctx, TN_EIO, NULL, "tn_compile: %s", why);
        return false;
    }
    tn_i_spill_close(&probe);
    return true;
}

/* The program that is planned. */
static tn_fn *to_run(const tn_fn *f, const tn_compile_options *o) {
    tn_fn *once = tn_i_contracted(f); /* while products are ordinary ones */
    tn_fn *g = once && o->strict_zero ? tn_i_strict(once) : once;
    tn_fn *h = g ? tn_i_prepared(g) : NULL;
    if (g != once) tn_i_fn_unref(once);
    tn_i_fn_unref(g);
    return h;
}

static bool make_loops(tn_exec *e, const tn_compile_options *o) {
    const tn_i_native_options n = {
        .cc = o->cc, .cache_dir = o->cache_dir, .cc_seconds = o->cc_seconds, .cache_bytes = o->cache_bytes};
    e->backend = o->backend;
    if (o->backend == TN_BACKEND_REFERENCE) return true;
    e->plan->called = tn_i_run_called;
    for (size_t i = 0; i < e->plan->nnested; i++) e->plan->nested[i]->called = tn_i_run_called;
    const bool ok = tn_i_assemble(e->ctx, e->plan, &e->all, o->backend, &n, &e->assembled);
    e->backend = e->assembled.backend;
    return ok;
}

/* ---- with other ranks ------------------------------------------------------------------ */

/* The axes that each input is replicated over, where calls are to look at that. */
static bool note_replicated(tn_exec *e, const tn_fn *f, const tn_compile_options *o) {
#ifdef TN_DEBUG
    const bool look = o->check_replicated >= 0;
#else
    const bool look = o->check_replicated > 0;
#endif
    const uint32_t all = (1u << e->ctx->grid.naxes) - 1;
    bool any = false;
    if (!look || tn_i_ranks(e->ctx, all) == 1 || !(f->varies || f->comm)) return true;
    if (f->nin && !(e->over = tn_i_alloc_array(e->ctx, f->nin, sizeof *e->over))) return false;
    for (uint32_t i = 0; i < f->nin; i++) {
        e->over[i] = all & ~tn_i_over(f->val[i].type);
        if (tn_i_ranks(e->ctx, e->over[i]) == 1) e->over[i] = 0;
        if (!tn_i_axes_text(e->ctx, e->over[i])) return false;
        any |= e->over[i] != 0;
    }
    e->speaks |= any;
    return true;
}

static bool set_talk(tn_exec *e, const tn_fn *f, const tn_compile_options *o) {
    const bool several = tn_i_ranks(e->ctx, (1u << e->ctx->grid.naxes) - 1) > 1;
    e->speaks = e->f->comm || e->f->varies;
    e->drains = several && o->on_failure == TN_COMM_DRAIN;
    if (!note_replicated(e, f, o)) return false;
    if (o->comm && !(e->table = tn_i_table_of(e->ctx, o->comm, "tn_compile"))) return false;
    if (!o->comm && e->speaks && !several) {
        if (!(e->alone = tn_i_alloc(e->ctx, sizeof *e->alone))) return false;
        (void)tn_i_null_comm_init(e->alone, e->ctx);
    }
    return true;
}

/* What else than the plan must be the same on all ranks. */
static uint64_t rules_of(const tn_exec *e) {
    uint64_t h = (uint64_t)e->drains << 1 | (e->over != NULL);
    for (uint32_t i = 0; e->over && i < e->f->nin; i++) h = tn_i_hash_u64(h, e->over[i]);
    return h;
}

static bool is_straight(const tn_exec *e) {
    const tn_i_plan *p = e->plan;
    bool is = !e->speaks && !e->dir && p->last_move == p->nmove && p->last_release == p->nrelease;
    for (size_t i = 0; is && i < p->nstep; i++) is = p->step[i].kind == TN_STEP_NEST;
    return is || (e->all.made.code && !e->all.size.calls);
}

/* A call that found no memory for its workspace would have nothing to tell the others with. */
static bool make_ready(tn_exec *e) {
    return !(e->speaks && e->drains && e->table) || (e->own = tn_work_new(e, NULL, 0)) != NULL;
}

static tn_exec *compile(const tn_fn *f, const tn_compile_options *given) {
    tn_compile_options o = *given;
    if (!o.threads) o.threads = f->ctx->opt.threads;
    if (!check_options(f, &o) || !check_stacks(f)) return NULL;
    tn_fn *g = to_run(f, &o);
    tn_exec *e = g ? exec_alloc(g) : NULL;
    if (!e) return NULL;
    e->threads = o.threads ? o.threads : 1;
    e->fp = o.flush_subnormals ? TN_FP_FLUSHING : TN_FP_DEFAULT;
    e->process = e->threads > 1 ? tn_i_process() : 0;
    e->most_stacks = o.stack_limit ? o.stack_limit : SIZE_MAX;
    e->observer = (tn_i_observer){.call = o.observer, .user = o.observer_user};
    if (note_alignments(e) && note_arguments(e, &o) && set_talk(e, f, &o) && make_plan(e, &o) && note_all(e, &o) &&
        measure(e) && spill_dir(e, o.spill_dir) &&
        tn_i_warm_products(e->ctx, e->plan, tn_i_gemm_threads(e->process, e->threads)) && make_loops(e, &o) &&
        (!e->speaks || tn_i_skeleton_of(e->plan, rules_of(e), &e->skeleton)) && make_ready(e)) {
        e->straight = is_straight(e);
        return e;
    }
    exec_destroy(e);
    return NULL;
}

/* All ranks have the same to say, or all fail; e NULL: this one has. */
static tn_exec *agreed(tn_ctx *c, const tn_comm_ops *ops, tn_exec *e) {
    tn_i_skeleton none = {0};
    const tn_i_skeleton *k = e && e->speaks ? &e->skeleton : NULL;
    bool ok = true;
    if (e && !k) k = (ok = tn_i_skeleton_of(e->plan, rules_of(e), &none)) ? &none : NULL;
    ok = tn_i_skeletons_agree(c, ops, k) && ok;
    tn_i_skeleton_drop(&none);
    if (ok || !e) return e;
    exec_destroy(e);
    return NULL;
}

tn_exec *tn_compile(const tn_fn *f, const tn_compile_options *opt) {
    tn_compile_options o = {.size = sizeof o};
    if (!tn_i_living(f)) { /* the error that made it NULL stands */
        if (opt && opt->size >= offsetof(tn_compile_options, comm) + sizeof opt->comm && opt->comm)
            (void)tn_i_skeletons_agree(NULL, opt->comm, NULL);
        return NULL;
    }
    if (!tn_i_options(f->ctx, "tn_compile_options", opt, &o, sizeof o)) return NULL;
    if (!o.comm) return compile(f, &o);
    tn_i_table *t = tn_i_table_of(f->ctx, o.comm, "tn_compile");
    if (t && !tn_i_table_enter(t)) {
        (void)tn_i_fail(f->ctx, TN_EBUSY, NULL, "tn_compile: the table of functions between ranks is used by a call");
        tn_i_table_drop(f->ctx, t);
        return NULL;
    }
    if (!t && f->ctx->status != TN_ENOMEM) return NULL; /* no table to speak with */
    tn_exec *e = agreed(f->ctx, o.comm, t ? compile(f, &o) : NULL);
    if (t) tn_i_table_leave(t);
    tn_i_table_drop(f->ctx, t);
    return e;
}

const char *tn_exec_communications(const tn_exec *e) {
    if (!e || e->skeleton.n < 2) return "";
    return e->skeleton.text.at + e->skeleton.line[1].text;
}

int tn_exec_backend(const tn_exec *e, const char **why) {
    if (why) *why = e ? e->assembled.native.why : "no executable";
    return e ? e->backend : -1;
}

size_t tn_exec_bytes(const tn_exec *e) { return e ? e->plan->bytes : 0; }
size_t tn_exec_bytes_per_step(const tn_exec *e) { return e ? e->plan->per_step : 0; }
size_t tn_exec_spill_bytes(const tn_exec *e) { return e ? e->plan->spill : 0; }
size_t tn_work_bytes(const tn_exec *e) { return e ? e->work_bytes : 0; }

/* ---- workspaces ------------------------------------------------------------------------------ */

static unsigned char *aligned(unsigned char *p) {
    return p + (TN_ARENA_ALIGN - (uintptr_t)p % TN_ARENA_ALIGN) % TN_ARENA_ALIGN;
}

static tn_work *lay_out(const tn_exec *e, unsigned char *memory) {
    const tn_i_plan *p = e->plan;
    tn_work *w = (tn_work *)(void *)aligned(memory);
    memset(w, 0, sizeof *w);
    unsigned char *at = aligned((unsigned char *)w + sizeof *w);
    w->exec = e;
    w->frame = (uintptr_t *)(void *)at;
    at = aligned(at + p->frame);
    w->given = (const void **)(void *)at;
    const size_t given = ((size_t)e->f->nin + e->f->nout) * sizeof *w->given;
    memset((void *)w->given, 0, given);
    w->skip = aligned(at + given);
    w->wanted = w->skip + (p->nstep + 7) / 8;
    w->absent = w->wanted + ((size_t)e->plan->f->nval + 7) / 8;
    w->arena = aligned(w->absent + ((size_t)e->f->nout + 7) / 8);
    w->all = aligned(w->arena + p->bytes);
    w->room = aligned(w->all + e->all.bytes);
    w->pending = (void **)(void *)aligned(w->room + p->said);
    w->file.fd = -1;
    if (e->dir) tn_i_spill_open(&w->file, e->dir);
    return w;
}

static tn_work *work_alloc(tn_exec *e) {
    unsigned char *memory = tn_i_workspace_alloc(e->ctx, e->work_bytes);
    if (!memory) return NULL;
    tn_work *w = lay_out(e, memory);
    w->memory = memory;
    tn_i_stacks_init(&w->stacks, e->ctx, e->most_stacks, NULL, 0);
    w->next = e->works;
    if (e->works) e->works->prev = w;
    e->works = w;
    e->refs++;
    return w;
}

tn_work *tn_work_new(const tn_exec *e, void *memory, size_t bytes) {
    if (!e) return NULL;
    if (!memory) return work_alloc((tn_exec *)(uintptr_t)e);
    if (bytes >= e->work_bytes) {
        tn_work *w = lay_out(e, memory);
        const size_t used = e->work_bytes + TN_ARENA_ALIGN;
        tn_i_stacks_init(&w->stacks, e->ctx, 0, aligned((unsigned char *)memory + e->work_bytes),
                         bytes > used ? bytes - used : 0);
        return w;
    }
    (void)tn_i_fail(e->ctx, TN_EINVAL, NULL, "tn_work_new: %zu bytes given, %zu needed", bytes, e->work_bytes);
    return NULL;
}

void tn_work_free(tn_work *w) {
    if (!w) return;
    tn_i_spill_close(&w->file);
    tn_i_table_drop(w->exec->ctx, w->table);
    w->table = NULL;
    if (!w->memory) return;
    tn_i_stacks_drop(&w->stacks);
    tn_exec *e = (tn_exec *)(uintptr_t)w->exec;
    if (w->prev)
        w->prev->next = w->next;
    else
        e->works = w->next;
    if (w->next) w->next->prev = w->prev;
    tn_i_free(e->ctx, w->memory, e->work_bytes);
    tn_i_exec_unref(e);
}

tn_status tn_work_comm(tn_work *w, const tn_comm_ops *ops) {
    if (!w) return TN_EINVAL;
    tn_ctx *c = w->exec->ctx;
    tn_i_table *t = ops ? tn_i_table_of(c, ops, "tn_work_comm") : NULL;
    if (ops && !t) return c->status;
    tn_i_table_drop(c, w->table);
    w->table = t;
    return TN_OK;
}

tn_status tn_work_observe(tn_work *w, tn_observer observer, void *user) {
    if (!w) return TN_EINVAL;
    w->observer = (tn_i_observer){.call = observer, .user = user};
    return TN_OK;
}
