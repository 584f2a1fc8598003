/* tansy/exec.h - programs that run: compiling them, calls, what they tell their caller, and profiles.
 *
 * SPDX-License-Identifier: MIT
 *
 * Included by tansy.h, whose rules for errors, ownership and threads hold here. */
#include "../tansy.h" /* which includes this header where it belongs, also when this one came first */

#ifndef TANSY_EXEC_H
#define TANSY_EXEC_H

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Compiling ----------------------------------------------------------------------------- */

/* Effects: what `tn_print`, `tn_progress` and `tn_assert` (<tansy/ops.h>) say while a program
 * runs, in the program's order, each exactly once a run.  The library itself
 * prints nothing: it calls the observer of the work. */
typedef enum tn_effect_kind { TN_PRINT, TN_ASSERT, TN_PROGRESS } tn_effect_kind;
typedef struct tn_effect_array {
    const tn_type *type;
    const void *data; /* row-major */
} tn_effect_array;
/* A print, a progress that is due, or an assert that fails (one that holds is not told).  All of it is
 * valid during the call of the observer only. */
typedef struct tn_effect {
    size_t size; /* sizeof(tn_effect) of the library */
    tn_effect_kind kind;
    const char *message; /* as given to tn_print, tn_progress or tn_assert */
    const char *file;    /* the user's line, "" and 0 when not known */
    int line;
    const char *scope; /* tn_scope, "" outside */
    size_t n;          /* TN_ASSERT: 1, the condition; TN_PROGRESS: the step's number is the first */
    const tn_effect_array *array;
} tn_effect;
/* Called on the thread of the call.  0 goes on; anything else stops the call
 * with TN_ECALLBACK, of a progress with TN_ECANCELLED (an assert has failed: TN_EASSERT whatever is returned).
 * No exception and no longjmp may cross, and the work may not be called again. */
typedef int (*tn_observer)(void *user, const tn_effect *e);

/* Who runs a program's loops, into which elementwise equations and reductions are fused.  All have the same bits, but
 * for elementwise functions of the reference, which differ by what the C library's and vectorized functions differ.
 * tn_exec_backend says which one runs. */
typedef enum tn_backend {
    TN_BACKEND_DEFAULT,   /* the assembler where it can be had, else strips; needs no compiler */
    TN_BACKEND_REFERENCE, /* no loops: one kernel for each equation; slow and plain, to compare with */
    TN_BACKEND_NATIVE,    /* C, compiled by the system's compiler; where that cannot be done, as the default */
    /* Machine code that tn_compile makes in memory, on x86-64 with AVX2 or AVX-512.  TN_EINVAL, with the reason, where
     * the processor is another, the system refuses memory for code, or no loop of a program that has loops can be
     * machine code.  Where only some can, the others run by strips, and tn_step.why says why. */
    TN_BACKEND_ASSEMBLER,
    TN_BACKEND_STRIPS /* portable functions of strips of at most 512 elements: on any processor, and without code in
                         memory; several times slower on short rows */
} tn_backend;

/* Whose elementwise functions a program calls, other than with TN_BACKEND_REFERENCE, which calls the C library's.
 * Whatever is chosen, an equation has the same bits wherever it is fused, on processors with the same vectors. */
typedef enum tn_math {
    TN_MATH_DEFAULT, /* vector functions that came with the C library, and what they lack; at most 4 ulp, lgamma below
                        0 5 (docs/execution.md) */
    TN_MATH_ACCURATE /* at most 1 ulp (erfc 1.5): SLEEF, if it was there when the library was built; else the C
                        library's functions of one number, at most 3 ulp and several times slower */
} tn_math;

/* What a rank of several does that fails in a call (bad buffers, an assert, a callback, memory, an observer that
 * cancels).  TN_COMM_DRAIN: it goes on with what it has to say to the others, NaN (0 for integers), and computes
 * nothing else; then the call ends with one status on all ranks, and a message that names the rank.  For that every
 * call ends with a message, as does every step of a `while` in which ranks speak.  TN_COMM_RETURN: it returns at once,
 * and the others wait for it, for ever or as long as their table does. */
typedef enum tn_on_failure { TN_COMM_DRAIN, TN_COMM_RETURN } tn_on_failure;
typedef struct tn_compile_options {
    size_t size; /* sizeof(tn_compile_options) */
    /* For products, and for fused steps of 16384 elements or more (where the library was built with OpenMP, each thread
     * has scratch of its own in the workspace); 0: the context's.  The bits of fused steps do not depend on it. */
    int threads;
    /* Element strides per input and output (rank of them each); NULL, or a NULL
     * entry: row-major.  So column-major matrices enter without a copy. */
    const int64_t *const *in_strides;
    const int64_t *const *out_strides;
    /* alias[j] = i: output j may be the same memory as input i (same type and
     * strides); -1: shares no memory with any input.  NULL: all -1. */
    const int *alias;
    /* Hears of the effects of tn_call, with observer_user.  NULL: nobody. */
    tn_observer observer;
    void *observer_user;
    /* An existing directory (not "", the name is copied) for what the program offloads (TN_OFFLOAD).  Each workspace
     * opens a file of its own there, which has no name and is gone when the workspace or the process is.  Values
     * of more than 64 bytes are written when they are computed and read back in front of their first reader,
     * with a checksum; the disk's room is needed from the first call on.  NULL: a program that offloads is refused. */
    const char *spill_dir;
    /* 0 times an infinity or NaN is 0 in the linear program: a cotangent that is 0, as of the branch that
     * tn_where does not take, stays 0 whatever partial it meets, so that the derivative of
     * where(x > 0, sqrt(x), 0) at 0 is 0 and not NaN.  It changes products and quotients (mul, div) that came
     * out of a linear program (those of tn_linearize, tn_transpose and what is made of them, at every order; the
     * text form marks them linear=True), where their result would be NaN, and nothing else: not the primal
     * program, not matrix products and solves (dot_general, triangular_solve), not user code. Where the
     * primal program computes the same product, its value stands. Costs a comparison per element. */
    bool strict_zero;
    /* The most bytes that each workspace may allocate for stacks, the arrays of loops whose length is found when they
     * run (tn_exec_bytes_per_step); a call that needs more fails with TN_ENOMEM.  0: no limit. */
    size_t stack_limit;
    int backend; /* a tn_backend */
    /* TN_BACKEND_NATIVE: the compiler, a path or a name to be found in PATH that takes the arguments of cc (NULL:
     * "cc"), and an existing directory for compiled programs (NULL: $XDG_CACHE_HOME/tansy or ~/.cache/tansy, made where
     * it is missing).  What is in the directory is run, so it must be the user's own and not writable to others, and
     * nobody but the user and the superuser may be able to put another in its place: each directory and symbolic link
     * on its way is theirs and not writable to others, or sticky, as /tmp.  A program is compiled once for each
     * compiler and kind of processor; processes may share the directory, and what is in it may be removed at any time.
     * The compiler is started without a shell, in a directory of its own.  Where this cannot be done the program runs
     * as by TN_BACKEND_DEFAULT (tn_exec_backend says why).  A process with more rights than its caller (set-user-ID and
     * the like) takes nothing of this from the environment: "cc" is looked for in /usr/bin and /bin, and without a
     * cache_dir nothing is kept. */
    const char *cc;
    const char *cache_dir;
    int math;           /* a tn_math */
    double cc_seconds;  /* how long the compiler may take, before it is ended and the default runs (0: 600) */
    size_t cache_bytes; /* of programs in cache_dir: above it those that were not used longest are removed (0: 1 GiB) */
    /* Programs over a grid of ranks (<tansy/comm.h>): who moves the data between them.  The table is borrowed until
     * tn_exec_free; its axes are those of the context's grid.  NULL: none, which will do where the grid has one rank.
     * Compiling with a table is a collective call of all ranks: they agree on what they will say to each other, in
     * which order, and all fail with one status and message where they do not, or where one of them fails. */
    const tn_comm_ops *comm;
    int on_failure;       /* a tn_on_failure */
    int check_replicated; /* compare the bits of inputs that are declared replicated over ranks, by one message a call
                             (TN_EINVAL): 0: in debug builds; 1: yes; -1: no */
    /* Calls take numbers below the smallest normal one of their dtype (2^-126, 2^-1022) for 0, as operands and results,
     * as XLA does on CPUs: processors may take a hundred times as long for each, of which adjoints of long solves, and
     * weights that are next to nothing, can have many.  Products do so too.  The bits are then those of one back end:
     * functions may round differently there.  TN_EINVAL where the processor cannot (all but x86-64 and arm64). */
    bool flush_subnormals;
} tn_compile_options;

/* Plans f: order, liveness, buffers.  NULL on failure.  Warms BLIS's pools
 * with a product of the largest size; note that BLIS itself aborts when it is
 * out of memory.  TN_EINVAL when an option is wrong, spill_dir is missing or TN_BACKEND_ASSEMBLER cannot be had, TN_EIO
 * when no file can be made in spill_dir.  Cost: linear in equations.
 *
 * A program over many short rows, as tn_vmap makes them of functions of few numbers, may be planned by columns (not
 * with TN_BACKEND_REFERENCE).  There a product of the linear program with a number that is known to be 0 when it is
 * compiled, as most tangents of the basis of tn_jacfwd and tn_jacrev are, is 0 even against an infinite partial, where
 * arithmetic has NaN, and a 0 may have another sign (docs/execution.md, "Columns"). */
TN_API tn_exec *tn_compile(const tn_fn *f, const tn_compile_options *opt);
TN_API void tn_exec_free(tn_exec *e);
/* The backend (a tn_backend, never TN_BACKEND_DEFAULT) that runs e.  *why (unless NULL) says why it is another than was
 * asked for: of TN_BACKEND_NATIVE, that there was no compiler, or it failed; of that and TN_BACKEND_DEFAULT, why strips
 * run, as that the processor has no AVX2 or the system refuses memory for code.  Else it is "", also for what was asked
 * for by name, and for the default where the assembler runs.  A program without loops has TN_BACKEND_ASSEMBLER by
 * default where the processor has the code.  The text lives as long as e.  Any thread; cost: none.  -1: e is NULL. */
TN_API int tn_exec_backend(const tn_exec *e, const char **why);
/* What e says to other ranks, in order, a line each, with the loops around it; "" where it says nothing.  Lives as long
 * as e. */
TN_API const char *tn_exec_communications(const tn_exec *e);
/* A step of an executable. */
typedef struct tn_step {
    size_t size;      /* sizeof(tn_step) of the library */
    const char *kind; /* "loops", "product", "kernel", "copy", "spill file"; of what runs programs, whose steps follow,
                         one deeper: "program", "branches", "steps", "steps and stacks" */
    const char *primitive; /* of the equation, of loops of the last of those that are fused; "" for copies */
    const char *file;      /* of the user's line; "" and 0: not known */
    int line;
    int depth;          /* 0: of the program itself */
    const char *runner; /* "native", "assembler", "strips", "reference": the tn_backend of loops; "library": a function
                           that is compiled in, copies, and loops whose steps are walked one by one */
    const char *why;    /* why strips run loops of a program that another backend runs, or run them one number at a
                           time; "" otherwise */
    size_t operations;  /* of loops: those on elements, on rows and on arrays together; else 1 */
    double ns, share;   /* modelled (docs/execution.md): of one run, and of that of the whole, from 0 to 1 */
} tn_step;
typedef void (*tn_step_fn)(void *user, const tn_step *s);
/* What runs where: fn hears of each step in the order in which they run, those of programs within a step behind it,
 * each program where it is first met.  A loop of unknown length counts as one step of it.  What the strings point to
 * lives as long as e.  fn is called on this thread.  TN_EINVAL when e or fn is NULL; TN_ENOMEM.  Cost: linear in the
 * steps. `tansy plan FILE.tn --backend native` prints them. */
TN_API tn_status tn_exec_steps(const tn_exec *e, tn_step_fn fn, void *user);
/* Memory over time: what is alive in the arena of tn_vjp(f, wrt, policy) while each of its steps runs, as tn_compile
 * plans it; nothing runs. `tansy memory` draws it, and so does the method `memory` of a Python program. */
typedef struct tn_memory_report {
    size_t size;       /* sizeof(tn_memory_report), set by the caller */
    size_t steps;      /* of the plan, fused equations being one; the last one copies results to the caller */
    size_t backward;   /* the first step of the backward part; steps - 1 where there is none */
    size_t kept_bytes; /* what the forward part leaves to the backward one */
    size_t most_bytes; /* the most that is alive at once */
    size_t peak_bytes; /* of the arena, with what packing loses: tn_exec_bytes of the reverse mode's executable */
} tn_memory_report;
typedef struct tn_memory_step {
    size_t size;  /* sizeof(tn_memory_step) of the library */
    size_t bytes; /* alive: operands, results, workspace and what alignment adds; a nested program is its peak */
    size_t kept;  /* of these, made by earlier steps */
    const char *primitive; /* "" for the copies at the end */
    const char *file;      /* of the code that traced it; "" where that is not known */
    int line;
} tn_memory_step;
typedef void (*tn_memory_fn)(void *user, const tn_memory_step *s);
/* Fills *out, and tells fn, unless it is NULL, of each step in order, on this thread; fn may not use f's context, and
 * strings live during the call.  Called by the thread of f's context; what is made meanwhile is freed.  TN_OK;
 * TN_EINVAL (f NULL, the report's size, wrt, policy) and what tn_vjp and tn_compile fail with; TN_ENOMEM.  Cost: that
 * of tn_vjp and of a plan, linear in the program. */
TN_API tn_status tn_memory_profile(const tn_fn *f, const tn_wrt_list *wrt, const tn_policy *policy,
                                   tn_memory_report *out, tn_memory_fn fn, void *user);

/* Bytes of a call's arena, where its values live, padding included; known before anything runs.  tn_work_bytes has what
 * a workspace holds besides: places of arguments, and scratch memory of small programs that run as one loop program. */
TN_API size_t tn_exec_bytes(const tn_exec *e);
/* Bytes that each step adds to those of a call, for the stacks of loops whose length is found when they run: of all
 * stacks that are alive at once, their entries for one step.  They are in pages of at most 4 MiB, or one entry, of
 * which the last of each stack is filled in part.  0: tn_exec_bytes is all.  Cost: none. */
TN_API size_t tn_exec_bytes_per_step(const tn_exec *e);
/* Bytes of each workspace's spill file, which are not among those; 0 when nothing is offloaded. */
TN_API size_t tn_exec_spill_bytes(const tn_exec *e);

/* ---- Calls --------------------------------------------------------------------------------- */

/* The arguments of a call.  TN_INPUTS(w, &b) and TN_OUTPUTS(&y, NULL) carry what the compiler knows of each: how many
 * there are, the element type, and the bytes of what is an array and not a pointer.  Where it does not fit the
 * program, and where an output shares memory with an input (but by tn_compile_options.alias) or with another output,
 * the call is refused and nothing runs: TN_EINVAL, and the message (tn_exec_error, tn_work_error) names the operand.
 * What the compiler does not know is taken as it is: pointers to void, to char or to structs without a description.
 * A number, or for outputs a pointer to const, does not compile.  At most 32 arguments, which live for one statement;
 * one with a comma of its own stands in parentheses.  Cost: some nanoseconds per argument, and once more where its
 * address is another than in the last call.
 *   Plain arrays of pointers, (const void *[]){w, &b} or TN_RAW_INPUTS(w, &b) and TN_RAW_OUTPUTS(&y), are the form
 * without these checks: as many pointers as the program has inputs, else memory behind the array is read.
 *   What TN_INPUTS and TN_OUTPUTS make is no such array, and only functions of this library read it: it has two
 * pointers, tn_described and the list of what is described.  So a list of your own, of any length, is
 * (const void *[]){tn_described, &list}.  A program without inputs looks at none. */
#define TN_BUFFER_ANY  (-1) /* elements: not known */
#define TN_BUFFER_NONE (-2) /* elements that no array has, as long double */
#define TN_BUFFER_IN   (-3) /* no array: `at` points to a tn_struct_in, which stands for several arguments */
#define TN_BUFFER_OUT  (-4) /* to a tn_struct_out */
typedef struct tn_buffer {
    union {
        const void *in;
        void *out;
    } at;
    size_t bytes; /* 0: not known */
    int dtype;    /* of its elements: a tn_dtype, or one of those above */
} tn_buffer;
typedef struct tn_buffer_list {
    size_t n;
    const tn_buffer *v;
} tn_buffer_list;
TN_API extern const char tn_described[];
/* A C struct of arrays, described once (<tansy/structs.h>, which has the macros and functions for it), and one in
 * memory as an argument: TN_STRUCT_IN(mlp, &p) and TN_STRUCT_OUT(mlp, &p) in the lists above. */
typedef struct tn_struct tn_struct;
typedef struct tn_field {
    const char *name;
    size_t offset;       /* in bytes from the struct's beginning */
    tn_type type;        /* an array; with `of`: rank 0, one struct, or rank 1, an array of so many */
    const tn_struct *of; /* a nested struct; NULL: an array of numbers */
} tn_field;
struct tn_struct {
    const char *name;
    size_t bytes; /* sizeof the C struct */
    size_t n;     /* of its fields, in the order of their offsets */
    const tn_field *field;
};
typedef enum tn_struct_part { TN_STRUCT_ALL, TN_STRUCT_FLOATS } tn_struct_part;
typedef struct tn_struct_in {
    const tn_struct *of;
    const void *at;
    int part; /* a tn_struct_part: all its arrays, or those of floats, as gradients have them */
} tn_struct_in;
typedef struct tn_struct_out {
    const tn_struct *of;
    void *at;
    int part;
} tn_struct_out;
/* What `given` (TN_INPUTS(..), or an array of pointers) has for n arguments of these types, as addresses in at[0] ..:
 * for functions of your own that are given arguments.  NULL where there is none; everywhere if given is NULL.
 * TN_EINVAL, with the argument in `why` (size bytes; may be NULL), where a described list has another count, element
 * type or fewer bytes than dense arrays of these types; at is then written in part.  Any thread; allocates nothing. */
TN_API tn_status tn_take_arguments(size_t n, const tn_type *type, const void *const *given, const void **at, char *why,
                                   size_t size);

/* Runs with the executable's own workspace.  in[i], out[j] point to user
 * buffers, naturally aligned; out[j] NULL: that output is not written.
 * Allocates nothing after the first call (in none, where several ranks compiled together), except pages for stacks
 * (tn_exec_bytes_per_step): from the
 * context, on this thread (a realloc of your own must then allow it), kept for the next call and freed with the
 * workspace.  TN_EBUSY when another thread is in
 * tn_call of the same executable; TN_EINVAL (buffers, see above); TN_ECALLBACK; TN_ECANCELLED; TN_EASSERT; TN_ENOMEM at
 * the first call, and where stacks find no memory or reach stack_limit; TN_EIO when the spill file cannot be written
 * (disk full) or does not give back what was written.  After a failure while it runs outputs may have been written in
 * part, and the next call begins anew.
 * The floating-point mode that this thread is in (rounding, flushed subnormals, traps: fesetround, feenableexcept,
 * MXCSR) does not matter: the program runs in the default one (or as tn_compile_options.flush_subnormals says), and
 * this thread has its own again when the call returns, with the exceptions that were raised (docs/execution.md, "What
 * must not depend on fusion"). */
TN_API tn_status tn_call(tn_exec *e, const void *const *in, void *const *out);

/* A workspace, one per thread.  `memory` of at least tn_work_bytes(e) bytes, or
 * NULL to allocate (then from the executable's context, by its thread).  With memory of the caller's, stacks are
 * in what is left of it beyond tn_work_bytes(e), and a call for which that is too little fails with TN_ENOMEM.
 * tn_work_free closes the spill file; where there is one, it must be called for
 * caller's memory too, before the executable is freed.  When the file cannot be
 * opened, each call says so (TN_EIO). */
TN_API size_t tn_work_bytes(const tn_exec *e);
TN_API tn_work *tn_work_new(const tn_exec *e, void *memory, size_t bytes);
TN_API void tn_work_free(tn_work *w);
TN_API tn_status tn_call_in(const tn_exec *e, tn_work *w, const void *const *in, void *const *out);
/* Who hears of effects in calls with this workspace from now on; NULL, as at
 * first: nobody, then prints are passed over.  An assert that fails ends the
 * call with TN_EASSERT in any case, and tn_work_error has its text and
 * file:line.  TN_EINVAL when w is NULL.  Workspaces have observers of their own,
 * so threads need not share one.  Cost: a few stores; no memory. */
TN_API tn_status tn_work_observe(tn_work *w, tn_observer observer, void *user);
/* Who moves the data between ranks in calls with this workspace from now on, in place of tn_compile_options.comm; NULL:
 * that one again.  Calls at the same time need a table each: TN_EBUSY where one is used by another call in this
 * context.  The table is borrowed until tn_work_free.  TN_EINVAL when w is NULL or the table is not of the context's
 * grid; TN_ENOMEM. */
TN_API tn_status tn_work_comm(tn_work *w, const tn_comm_ops *ops);
/* The message of the last failed call with this workspace (or of tn_call). */
TN_API const char *tn_work_error(const tn_work *w);
TN_API const char *tn_exec_error(const tn_exec *e);

/* ---- Profiles ------------------------------------------------------------------------------ */

/* Profiles: what each step of calls took, where it stands in the user's program, and what schedules did again.  A
 * profile is of one executable, and adds up the calls of the workspaces that it is given to, until it is reset.
 *     tn_profile *p = tn_profile_new(e);
 *     tn_exec_profile(e, p);
 *     .. tn_call(e, ..) ..
 *     tn_profile_steps(p, print_step, NULL);
 * A call with a profile reads a clock twice for each step, some 50 ns; without one it tests a pointer for each program
 * that it runs.  Results have the same bits.  Loops whose steps are a few numbers, which run in registers, are timed as
 * a whole: their steps have calls and work, and a time of 0.  `tansy run --profile FILE.tn ..` prints one. */
/* A profile of e, with nothing in it; it keeps e alive.  Called by the thread of e's context, which owns it.  NULL: e
 * is NULL, or TN_ENOMEM.  Memory and cost: linear in the steps of all programs, each where it is run from, but at most
 * 65,536: where calls within calls make more, the deepest programs are left out and are time of the step that runs
 * them. */
TN_API tn_profile *tn_profile_new(const tn_exec *e);
/* NULL is fine.  Workspaces whose memory the caller gave must have been given another, or NULL, before. */
TN_API void tn_profile_free(tn_profile *p);
/* Nothing is in it any more; NULL is fine.  Not during a call. */
TN_API void tn_profile_reset(tn_profile *p);
/* Calls with this workspace, or of tn_call, add to p from now on; NULL, as at first: to none.  Not during a call;
 * workspaces that are called at the same time have profiles of their own, else a call fails with TN_EBUSY.  TN_EINVAL
 * when w or e is NULL or, with a message (tn_work_error, tn_exec_error), where p is of another executable.  p is
 * borrowed until then or tn_work_free. */
TN_API tn_status tn_work_profile(tn_work *w, tn_profile *p);
TN_API tn_status tn_exec_profile(tn_exec *e, tn_profile *p);
/* Adds what is in `from` to `to`: those of threads together are one.  TN_EINVAL when one is NULL, both are one, or they
 * are of different executables.  Not during calls with either. */
TN_API tn_status tn_profile_add(tn_profile *to, const tn_profile *from);
/* Work of calls, as tn_cost counts it: flops are weighted, products are multiply-adds.  Bytes are those that steps read
 * and write, each array of a set of loops once. */
typedef struct tn_profile_work {
    double flops, transcendentals, products, bytes;
} tn_profile_work;
/* What a schedule did in a step of kind "steps and stacks": over a gradient's steps they are the counts of
 * tn_schedule_counts.  All 0 in other steps. */
typedef struct tn_profile_replay {
    int64_t advances, recorded;      /* evaluations of the loops' steps that kept nothing, and that made their record */
    int64_t saved, loaded;           /* states and records into slots in memory and out of them */
    int64_t disk_writes, disk_reads; /* likewise on disk */
    int64_t snapshots, disk_snapshots; /* slots that were used */
} tn_profile_replay;
/* A step where it is run from; strings live as long as the executable. */
typedef struct tn_profile_step {
    size_t size;                         /* sizeof(tn_profile_step) of the library */
    const char *kind, *primitive, *file; /* this, `line`, `depth`, `runner` and `operations` as in tn_step */
    int line, depth;
    const char *runner;
    size_t operations;
    int64_t calls;        /* how often it ran, also as a lap of a loop that is timed as a whole */
    double ns, own_ns;    /* of all its runs; own_ns without that of the steps of the programs that it runs */
    tn_profile_work work; /* of all its runs, those of the programs that it runs among them */
    tn_profile_replay replay;
} tn_profile_step;
typedef void (*tn_profile_fn)(void *user, const tn_profile_step *s);
/* fn hears of each step in the order in which they run, the steps of programs within a step behind it and one deeper,
 * also of those that have not run.  On this thread; not during a call.  TN_EINVAL when p or fn is NULL; TN_ENOMEM.
 * Cost: linear in the steps. */
TN_API tn_status tn_profile_steps(const tn_profile *p, tn_profile_fn fn, void *user);
typedef struct tn_profile_totals {
    size_t size;              /* sizeof(tn_profile_totals), set by the caller */
    int64_t calls;            /* of the executable, those that failed among them */
    double ns, own_ns;        /* of the calls; own_ns: outside of steps */
    tn_profile_work work;     /* of all steps */
    tn_profile_replay replay; /* of all schedules; snapshots: of that which had the most */
} tn_profile_totals;
/* Fills *out up to the size it states.  TN_EINVAL when p or out is NULL, or the size is not set; TN_ENOMEM. */
TN_API tn_status tn_profile_total(const tn_profile *p, tn_profile_totals *out);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
