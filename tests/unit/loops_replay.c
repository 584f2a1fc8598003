/* Loops with schedules: stacks that are made again have the bits of all_save, the steps and the slots that the schedule
 * tells, and no memory of their own.  Sweeps are written out, as derivatives of loops have them. */
#include "exec/exec.h"
#include "unit/meter.h"
#include "plan/live.h"
#include "plan/replay.h"
#include "amount.h"
#include "tracing.h"

#include <stdio.h>
#include <stdlib.h>

#define IN(...)  ((const void *const[]){__VA_ARGS__})
#define OUT(...) ((void *const[]){__VA_ARGS__})

/* ---- counting steps -------------------------------------------------------------------------- */

enum { LEVELS = 4, WIDE = 2 };

typedef struct counts {
    int64_t n[LEVELS];
} counts;

typedef struct ticker {
    counts *c;
    int level;
} ticker;

/* The identity, counted. */
static int tick(void *user, const void *const *in, void *const *out) {
    const ticker *t = user;
    t->c->n[t->level]++;
    memcpy(out[0], in[0], WIDE * sizeof(double));
    return 0;
}

static tn_ctx *counting(counts *n, ticker t[LEVELS]) {
    tn_ctx *c = checked();
    const tn_type type[1] = {tn_f64(WIDE)};
    for (int k = 0; k < LEVELS; k++) {
        char name[8];
        (void)snprintf(name, sizeof name, "tick%d", k + 1);
        t[k] = (ticker){n, k};
        assert_int_equal(tn_external_register(c, &(tn_external_spec){.size = sizeof(tn_external_spec),
                                                                     .name = name,
                                                                     .nin = 1,
                                                                     .nout = 1,
                                                                     .in = type,
                                                                     .out = type,
                                                                     .fn = tick,
                                                                     .user = &t[k]}),
                         TN_OK);
    }
    return c;
}

/* ---- texts ------------------------------------------------------------------------------------- */

typedef struct text {
    char s[16384];
    size_t n;
} text;

#ifdef __GNUC__
__attribute__((format(printf, 2, 3)))
#endif
static void
add(text *t, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    const int n = vsnprintf(t->s + t->n, sizeof t->s - t->n, fmt, ap);
    va_end(ap);
    assert_in_range(n, 0, sizeof t->s - t->n - 1);
    t->n += (size_t)n;
}

#define TICK(level) "external_call[name=\"tick" #level "\" mode=fn out=(f64[2],) batch=() effect=False linear=False]"

typedef struct form {
    int64_t steps;
    const char *schedule;
    bool counted; /* the number of steps is an operand */
    bool loop;    /* the first sweep is a while */
} form;

static const char *dim(const form *m) {
    static char buf[32];
    (void)snprintf(buf, sizeof buf, "%lld", (long long)m->steps);
    return m->counted ? "?" : buf;
}

static void length(text *t, const form *m) {
    if (!m->counted) add(t, "length=%lld ", (long long)m->steps);
    add(t, "schedule=\"%s\"", m->schedule);
}

/* Sweep 1: x <- sin(x) w + 0.1 i, with the sum of all x; its entries are x and cos(x). */
static void sweep_1(text *t, const form *m) {
    const char *body = "w:f64[2] x:f64[2] a:f64[2] . let v:f64[2] = " TICK(
        1) " x y:f64[2] = sin v z:f64[2] = mul y w "
           "c:f64[2] = cos v f:f64[] = convert_element_type[new_dtype=f64] i g:f64[] = mul f 0.1:f64[] "
           "h:f64[2] = add z g b:f64[2] = add a h in (h, b, v, c) }";
    if (m->loop) {
        /* the number of steps is carried to the condition by a carry of its own */
        add(t,
            "k0:i64[] = sub n n x1:f64[2] a1:f64[2] k1:i64[] m:i64[] xs:f64[?,2] cs:f64[?,2] = while[cond={ lambda "
            "n:i64[] x:f64[2] a:f64[2] k:i64[] . let p:bool[] = lt k n in (p) } body={ lambda i:i64[] w:f64[2] "
            "x:f64[2] a:f64[2] k:i64[] . let v:f64[2] = " TICK(
                1) " x y:f64[2] = sin v z:f64[2] = mul y w c:f64[2] = "
                   "cos v f:f64[] = convert_element_type[new_dtype=f64] i g:f64[] = mul f 0.1:f64[] h:f64[2] = add z g "
                   "b:f64[2] = add a h l:i64[] = add k 1:i64[] in (h, b, l, v, c) } cond_nconsts=1 body_nconsts=1 "
                   "index=True "
                   "count=True schedule=\"%s\"] n w x0 x0 k0 ",
            m->schedule);
        return;
    }
    add(t,
        "m:i64[] = add n 0:i64[] x1:f64[2] a1:f64[2] xs:f64[%s,2] cs:f64[%s,2] = scan[program={ lambda i:i64[] %s "
        "num_consts=1 num_carry=2 index=True ",
        dim(m), dim(m), body);
    length(t, m);
    add(t, "] %s w x0 x0 ", m->counted ? "m" : "");
}

/* Sweep 2, backwards: p <- cos(x) w p + x, from the end of sweep 1; its entries are p. */
static void sweep_2(text *t, const form *m) {
    add(t,
        "p1:f64[2] q1:f64[2] ps:f64[%s,2] = scan[program={ lambda w:f64[2] p:f64[2] q:f64[2] x:f64[2] c:f64[2] . let "
        "u:f64[2] = " TICK(2) " p r:f64[2] = mul c u s:f64[2] = mul r w o:f64[2] = add s x b:f64[2] = add q r "
                              "in (o, b, u) } num_consts=1 num_carry=2 reverse=True ",
        dim(m));
    length(t, m);
    add(t, "] %s w x1 x0 xs cs ", m->counted ? "m" : "");
}

/* Sweep 3: d <- cos(x) d + x, beside sweep 1; its entries are d. */
static void sweep_3(text *t, const form *m) {
    add(t,
        "d1:f64[2] ds:f64[%s,2] = scan[program={ lambda w:f64[2] d:f64[2] x:f64[2] c:f64[2] . let u:f64[2] = " TICK(
            3) " d r:f64[2] = mul c u s:f64[2] = mul r w o:f64[2] = add s x in (o, u) } num_consts=1 num_carry=1 ",
        dim(m));
    length(t, m);
    add(t, "] %s w p1 xs cs ", m->counted ? "m" : "");
}

/* Sweep 4, backwards, beside sweep 2: reads all. */
static void sweep_4(text *t, const form *m) {
    add(t,
        "e1:f64[2] = scan[program={ lambda w:f64[2] e:f64[2] x:f64[2] c:f64[2] p:f64[2] d:f64[2] . let u:f64[2] "
        "= " TICK(4) " e r:f64[2] = mul c u s:f64[2] = mul r w a:f64[2] = mul x p b:f64[2] = mul d 0.25:f64[] o:f64[2] "
                     "= add s "
                     "a q:f64[2] = add o b z:f64[2] = mul q 0.5:f64[] in (z) } num_consts=1 num_carry=1 reverse=True ");
    length(t, m);
    add(t, "] %s w d1 xs cs ps ds ", m->counted ? "m" : "");
}

static tn_fn *sweeps(tn_ctx *c, const form *m, int n) {
    text t = {.n = 0};
    add(&t, "{ lambda n:i64[] x0:f64[2] w:f64[2] . let ");
    sweep_1(&t, m);
    sweep_2(&t, m);
    if (n > 2) sweep_3(&t, m);
    if (n > 2) sweep_4(&t, m);
    add(&t, n > 2 ? "in (x1, a1, p1, q1, d1, e1) }" : "in (x1, a1, p1, q1) }");
    tn_fn *f = tn_fn_parse(c, t.s, t.n, "test.tn");
    if (!f) fail_msg("%s\n%s", tn_error(c), t.s);
    return f;
}

/* The picture of memory knows all of it. */
static void check_picture(const tn_exec *e) {
    tn_i_live l;
    assert_true(tn_i_live_of(e->plan, &l));
    assert_int_equal(l.top, tn_exec_bytes(e));
    assert_true(l.most <= l.top);
    tn_i_live_free(&l);
}

static tn_exec *compile(const tn_fn *f) {
    tn_exec *e = tn_compile(f, &(tn_compile_options){.size = sizeof(tn_compile_options), .spill_dir = "/tmp"});
    if (!e) fail_msg("%s", tn_error(tn_fn_ctx(f)));
    check_picture(e);
    return e;
}

static size_t run_sweeps(tn_ctx *c, const form *m, int n, counts *count, double out[6][2]) {
    tn_fn *f = sweeps(c, m, n);
    tn_exec *e = compile(f);
    const size_t bytes = tn_exec_bytes(e);
    for (int again = 0; again < 2; again++) {
        *count = (counts){{0}};
        memset(out, 0, 6 * sizeof *out);
        if (tn_call(e, IN(&m->steps, P(0.5, 1), P(0.9, 1.1)), OUT(out[0], out[1], out[2], out[3], out[4], out[5])) !=
            TN_OK)
            fail_msg("%s: %s", m->schedule, tn_exec_error(e));
        assert_null(e->own->stacks.living);
    }
    tn_exec_free(e);
    tn_fn_free(f);
    return bytes;
}

/* ---- bits and counts ---------------------------------------------------------------------------- */

static const char *const known[] = {"revolve:1",
                                    "revolve:3",
                                    "revolve:10",
                                    "mixed:1",
                                    "mixed:4",
                                    "online:3",
                                    "disk_revolve:2,100",
                                    "disk_revolve:1,3",
                                    "periodic:1",
                                    "periodic:4",
                                    "nothing",
                                    "auto",
                                    "disk_revolve:3,4,wd=1,rd=1"};
static const char *const unknown[] = {"online:1", "online:3", "online:10", "periodic:4", "periodic:1"};

/* A step of the first sweep runs as often as the schedule says, one of the second once. */
static void check_two(tn_ctx *c, const form *m, counts *count) {
    double want[6][2], got[6][2];
    const form all = {.steps = m->steps, .schedule = "all_save", .counted = m->counted, .loop = m->loop};
    (void)run_sweeps(c, &all, 2, count, want);
    assert_true(count->n[0] == m->steps && count->n[1] == m->steps);
    (void)run_sweeps(c, m, 2, count, got);
    assert_memory_equal(got, want, sizeof got);
    tn_schedule_counts s = {.size = sizeof s};
    const tn_schedule_options o = {
        .size = sizeof o, .state_bytes = 16, .record_bytes = 32, .unknown = m->counted || m->loop};
    assert_int_equal(tn_schedule_cost(c, m->schedule, m->steps, &o, &s), TN_OK);
    const bool told = strcmp(m->schedule, "auto") != 0; /* what it becomes depends on sizes that the planner finds */
    if ((told && count->n[0] != s.advances + s.recorded) || count->n[1] != m->steps)
        fail_msg("%s, %lld steps: %lld and %lld, expected %lld and %lld", m->schedule, (long long)m->steps,
                 (long long)count->n[0], (long long)count->n[1], (long long)(s.advances + s.recorded),
                 (long long)m->steps);
}

static void test_two_sweeps(void **state) {
    (void)state;
    static const int64_t steps[] = {0, 1, 2, 3, 7, 20, 57};
    counts n;
    ticker t[LEVELS];
    tn_ctx *c = counting(&n, t);
    for (size_t k = 0; k < COUNT(steps); k++) {
        for (size_t i = 0; i < COUNT(known); i++) check_two(c, &(form){steps[k], known[i], false, false}, &n);
        for (size_t i = 0; i < COUNT(unknown); i++) {
            check_two(c, &(form){steps[k], unknown[i], true, false}, &n);
            check_two(c, &(form){steps[k], unknown[i], true, true}, &n);
        }
    }
    tn_ctx_free(c);
}

/* The four sweeps of a second order: the second reversal brings two states back as one, and has sweep 2 beside it. */
static void test_four_sweeps(void **state) {
    (void)state;
    static const struct {
        int64_t steps;
        const char *schedule;
        bool counted, loop;
        int64_t one;
    } row[] = {{10, "revolve:3", false, false, 25},  {100, "revolve:5", false, false, 416},
               {100, "mixed:10", false, false, 237}, {1000, "revolve:10", false, false, 4636},
               {20, "nothing", false, false, 0},     {57, "disk_revolve:2,4", false, false, 0},
               {57, "online:4", true, false, 0},     {57, "online:4", true, true, 0},
               {20, "periodic:3", true, true, 0}};
    counts n;
    ticker t[LEVELS];
    tn_ctx *c = counting(&n, t);
    for (size_t k = 0; k < COUNT(row); k++) {
        double want[6][2], got[6][2];
        form m = {row[k].steps, "all_save", row[k].counted, row[k].loop};
        (void)run_sweeps(c, &m, 4, &n, want);
        for (int i = 0; i < LEVELS; i++) assert_int_equal(n.n[i], m.steps);
        m.schedule = row[k].schedule;
        (void)run_sweeps(c, &m, 4, &n, got);
        assert_memory_equal(got, want, sizeof got);
        tn_schedule_counts s = {.size = sizeof s};
        const tn_schedule_options o = {.size = sizeof o, .unknown = m.counted};
        assert_int_equal(tn_schedule_cost(c, m.schedule, m.steps, &o, &s), TN_OK);
        const int64_t one = s.advances + s.recorded;
        if (row[k].one) assert_int_equal(one, row[k].one);
        assert_int_equal(n.n[0], 2 * one);
        assert_int_equal(n.n[1], 2 * m.steps);
        assert_int_equal(n.n[2], one);
        assert_int_equal(n.n[3], m.steps);
    }
    tn_ctx_free(c);
}

/* ---- memory ---------------------------------------------------------------------------------------- */

#define WIDE_LOOPS                                                                                                     \
    "x1:f64[1000] b1:f64[100000] s1:f64[] xs:f64[400,1000] = scan[program={ lambda i:i64[] x:f64[1000] b:f64[100000] " \
    "s:f64[] . let y:f64[1000] = sin x u:f64[1] = slice[start_indices=(0,) limit_indices=(1,) strides=None] x "        \
    "c:f64[100000] = dynamic_update_slice b u i t:f64[] = reduce_sum[axes=(0,)] x r:f64[] = add s t in (y, c, r, x) "  \
    "} "                                                                                                               \
    "length=400 num_consts=0 num_carry=3 index=True schedule=\"%s\"] x0 b0 0.0:f64[] "                                 \
    "p1:f64[1000] = scan[program={ lambda p:f64[1000] x:f64[1000] . let c:f64[1000] = cos x q:f64[1000] = mul c p in " \
    "(q) } length=400 num_consts=0 num_carry=1 reverse=True] x1 xs "

/* Slots hold what entries depend on: not the buffer, nor the sum.  All memory is told before anything runs. */
static void test_memory(void **state) {
    (void)state;
    tn_ctx *c = checked();
    static const char *const schedule[] = {"all_save", "revolve:5", "revolve:20", "disk_revolve:3,50"};
    static const size_t entries[] = {400, 5, 20, 3};
    double *x = malloc(1000 * sizeof *x), *b = calloc(100000, sizeof *b), *out = malloc(100000 * sizeof *out);
    double p[2][1000], sum[2];
    assert_true(x && b && out);
    for (int i = 0; i < 1000; i++) x[i] = 1 + i * 1e-3;
    for (size_t k = 0; k < COUNT(schedule); k++) {
        text t = {.n = 0};
        add(&t, "{ lambda x0:f64[1000] b0:f64[100000] . let " WIDE_LOOPS "in (b1, s1, p1) }", schedule[k]);
        tn_fn *f = tn_fn_parse(c, t.s, t.n, "test.tn");
        if (!f) fail_msg("%s", tn_error(c));
        tn_exec *e = compile(f);
        /* the buffer, a state in two buffers and one of each that is brought back, records */
        assert_in_range(tn_exec_bytes(e), 800000 + 8000 * entries[k], 800000 + 8000 * (entries[k] + 9));
        assert_int_equal(tn_call(e, IN(x, b), OUT(out, &sum[k > 0], p[k > 0])), TN_OK);
        assert_true(out[0] == x[0] && out[1] == sin(x[0]));
        assert_true(sum[k > 0] == sum[0]);
        assert_memory_equal(p[k > 0], p[0], sizeof p[0]);
        tn_exec_free(e);
        tn_fn_free(f);
    }
    free(x);
    free(b);
    free(out);
    tn_ctx_free(c);
}

/* ---- readers, nesting, effects ---------------------------------------------------------------------- */

/* Two loops read one stack: the second takes snapshots of its own.  What is wanted otherwise has memory. */
static void test_readers(void **state) {
    (void)state;
    static const char *const uses[] = {"", "z:f64[8,2] = neg xs"};
    counts n;
    ticker t[LEVELS];
    tn_ctx *c = counting(&n, t);
    for (size_t k = 0; k < COUNT(uses); k++) {
        double want[3][2], got[3][2], z[16];
        for (int s = 0; s < 2; s++) {
            text p = {.n = 0};
            form m = {8, s ? "revolve:2" : "all_save", false, false};
            add(&p, "{ lambda n:i64[] x0:f64[2] w:f64[2] . let ");
            sweep_1(&p, &m);
            sweep_2(&p, &m);
            add(&p,
                "e1:f64[2] = scan[program={ lambda e:f64[2] x:f64[2] . let f:f64[2] = mul e x in (f) } length=8 "
                "num_consts=0 num_carry=1 reverse=True] p1 xs %s in (x1, p1, e1%s) }",
                uses[k], k ? ", z" : "");
            tn_fn *f = tn_fn_parse(c, p.s, p.n, "test.tn");
            if (!f) fail_msg("%s", tn_error(c));
            tn_exec *e = compile(f);
            double(*o)[2] = s ? got : want;
            n = (counts){{0}};
            assert_int_equal(tn_call(e, IN(&m.steps, P(0.5, 1), P(0.9, 1.1)), OUT(o[0], o[1], o[2], z)), TN_OK);
            const int64_t back = 8 + 14; /* t(8, 2) = 14 */
            assert_int_equal(n.n[0], s == 0 ? 8 : k == 0 ? 2 * back : back);
            tn_exec_free(e);
            tn_fn_free(f);
        }
        assert_memory_equal(got, want, sizeof got);
    }
    tn_ctx_free(c);
}

/* Operands of a loop that is run again live until then: in the spill file too, as views, and where a step could write
 * over them. */
static void test_operands(void **state) {
    (void)state;
    static const char *const schedule[] = {"all_save", "revolve:2", "mixed:3", "nothing"};
    tn_ctx *c = checked();
    double out[2][3][20], a[20], w[20];
    for (int i = 0; i < 20; i++) a[i] = 0.1 * i, w[i] = 1 + 0.02 * i;
    for (size_t k = 0; k < COUNT(schedule); k++) {
        text t = {.n = 0};
        add(&t,
            "{ lambda a:f64[20] w:f64[20] . let zero:f64[5] = broadcast_in_dim[shape=(5,) broadcast_dimensions=()] "
            "0.0:f64[] v:f64[20] = mul w 1.25:f64[] o:f64[20] = offload v x0:f64[20] = add a "
            "1.0:f64[] u:f64[20] = sin x0 r:f64[5,4] = reshape[new_sizes=(5,4)] u e:f64[4,5] = "
            "transpose[permutation=(1,0)] r y0:f64[20] = neg x0 z:f64[20] = cos o"
            " x1:f64[20] s:f64[5] xs:f64[4,20] = scan[program={ lambda o:f64[20] x:f64[20] s:f64[5] e:f64[5] . let "
            "y:f64[20] = sin x q:f64[20] = mul y o f:f64[5] = mul e 2.0:f64[] g:f64[] = reduce_sum[axes=(0,)] f "
            "h:f64[20] = add q g d:f64[5] = add s f in (h, d, x) } length=4 num_consts=1 num_carry=2 "
            "schedule=\"%s\"] o x0 zero e"
            " y1:f64[20] = scan[program={ lambda y:f64[20] . let n:f64[20] = cos y in (n) } length=3 num_consts=0 "
            "num_carry=1] y0"
            " p1:f64[20] = scan[program={ lambda p:f64[20] x:f64[20] . let c:f64[20] = cos x q:f64[20] = mul c p in "
            "(q) } length=4 num_consts=0 num_carry=1 reverse=True] x1 xs"
            " l:f64[20] = add p1 z m:f64[20] = add l y1 in (x1, m, s) }",
            schedule[k]);
        tn_fn *f = tn_fn_parse(c, t.s, t.n, "test.tn");
        if (!f) fail_msg("%s", tn_error(c));
        tn_exec *e = compile(f);
        assert_true(tn_exec_spill_bytes(e) >= 160);
        double(*o)[20] = out[k > 0];
        memset(o, 0, sizeof out[0]);
        for (int again = 0; again < 2; again++) assert_int_equal(tn_call(e, IN(a, w), OUT(o[0], o[1], o[2])), TN_OK);
        assert_memory_equal(out[k > 0], out[0], sizeof out[0]);
        tn_exec_free(e);
        tn_fn_free(f);
    }
    tn_ctx_free(c);
}

/* Entries that are stacks are made again as the others, and none is left. */
static void test_entries_that_are_stacks(void **state) {
    (void)state;
    tn_ctx *c = checked();
    static const char *const schedule[] = {"all_save", "revolve:2", "mixed:2"};
    double out[2][2];
    for (size_t k = 0; k < COUNT(schedule); k++) {
        text t = {.n = 0};
        add(&t,
            "{ lambda a:f64[] . let b:f64[] ks:i64[6] xs:f64[6] zss:f64[6,?] = scan[program={ lambda a:f64[] . let "
            "c:f64[] k:i64[] zs:f64[?] = while[cond={ lambda z:f64[] . let p:bool[] = lt z 9.0:f64[] in (p) } body={ "
            "lambda z:f64[] . let y:f64[] = mul z 1.5:f64[] in (y, z) } cond_nconsts=0 body_nconsts=0 count=True] a "
            "d:f64[] = mul c 0.2:f64[] in (d, k, a, zs) } length=6 num_consts=0 num_carry=1 schedule=\"%s\"] a "
            "e:f64[] = scan[program={ lambda e:f64[] k:i64[] x:f64[] zs:f64[?] . let f:f64[] = mul e x g:f64[] = "
            "scan[program={ lambda g:f64[] z:f64[] . let h:f64[] = mul g 0.5:f64[] i:f64[] = add h z in (i) } "
            "num_consts=0 num_carry=1 reverse=True] k f zs in (g) } length=6 num_consts=0 num_carry=1 reverse=True] "
            "a ks xs zss in (b, e) }",
            schedule[k]);
        tn_fn *f = tn_fn_parse(c, t.s, t.n, "test.tn");
        if (!f) fail_msg("%s", tn_error(c));
        tn_exec *e = compile(f);
        assert_int_equal(tn_call(e, IN(P(1)), OUT(&out[k > 0][0], &out[k > 0][1])), TN_OK);
        assert_memory_equal(out[k > 0], out[0], sizeof out[0]);
        assert_null(e->own->stacks.living);
        tn_exec_free(e);
        tn_fn_free(f);
    }
    tn_ctx_free(c);
}

typedef struct record {
    int n;
} record;

static int note(void *user, const tn_effect *e) {
    (void)e;
    ((record *)user)->n++;
    return 0;
}

/* In a loop's body, under another schedule; effects are heard once for each step, whatever runs again. */
static void test_nested_and_effects(void **state) {
    (void)state;
    tn_ctx *c = checked();
    static const char body[] =
        "{ lambda x0:f64[2] . let o:f64[2] os:f64[3,2] = scan[program={ lambda x0:f64[2] . let"
        " x1:f64[2] xs:f64[9,2] = scan[program={ lambda x:f64[2] . let () = print[message=\"step\"] y:f64[2] = sin x "
        "z:f64[2] = mul y 1.5:f64[] in (z, x) } length=9 num_consts=0 num_carry=1 schedule=\"%s\"] x0"
        " p1:f64[2] = scan[program={ lambda p:f64[2] x:f64[2] . let c:f64[2] = cos x q:f64[2] = mul c p in (q) } "
        "length=9 num_consts=0 num_carry=1 reverse=True] x1 xs r:f64[2] = add x1 p1 in (r, p1) } length=3 num_consts=0 "
        "num_carry=1 schedule=\"%s\"] x0"
        " b:f64[2] = scan[program={ lambda b:f64[2] o:f64[2] . let q:f64[2] = mul b o r:f64[2] = add q o in (r) } "
        "length=3 num_consts=0 num_carry=1 reverse=True] o os in (o, b) }";
    static const char *const schedule[][2] = {{"all_save", "all_save"},
                                              {"revolve:2", "all_save"},
                                              {"all_save", "nothing"},
                                              {"online:3", "revolve:1"},
                                              {"disk_revolve:1,2", "disk_revolve:1,1"}};
    double out[2][2][2];
    for (size_t k = 0; k < COUNT(schedule); k++) {
        text t = {.n = 0};
        add(&t, body, schedule[k][0], schedule[k][1]);
        tn_fn *f = tn_fn_parse(c, t.s, t.n, "test.tn");
        if (!f) fail_msg("%s", tn_error(c));
        record r = {0};
        tn_exec *e = tn_compile(
            f, &(tn_compile_options){
                   .size = sizeof(tn_compile_options), .spill_dir = "/tmp", .observer = note, .observer_user = &r});
        if (!e) fail_msg("%s", tn_error(c));
        assert_int_equal(tn_call(e, IN(P(0.5, 1)), OUT(out[k > 0][0], out[k > 0][1])), TN_OK);
        assert_int_equal(r.n, 27);
        assert_memory_equal(out[k > 0], out[0], sizeof out[0]);
        tn_exec_free(e);
        tn_fn_free(f);
    }
    tn_ctx_free(c);
}

/* ---- second order --------------------------------------------------------------------------------------- */

/* The linear identity and its transpose, counted apart. */
static int back_tick(void *user, const void *const *in, void *const *out) {
    const ticker *t = user;
    t->c->n[t->level + 1]++;
    memcpy(out[0], in[0], WIDE * sizeof(double));
    return 0;
}

static tn_fn *second_order(tn_ctx *c, int64_t steps, const char *schedule, bool reverse) {
    text t = {.n = 0};
    add(&t,
        "{ lambda x0:f64[2] w:f64[2] . let x1:f64[2] = scan[program={ lambda w:f64[2] x:f64[2] . let v:f64[2] = "
        "external_call[name=\"there\" mode=fn out=(f64[2],) batch=() effect=False linear=True] x y:f64[2] = sin v "
        "z:f64[2] = mul y w in (z) } length=%lld num_consts=1 num_carry=1 schedule=\"%s\"] w x0 s:f64[] = "
        "reduce_sum[axes=(0,)] x1 in (s) }",
        (long long)steps, schedule);
    tn_fn *f = tn_fn_parse(c, t.s, t.n, "test.tn");
    if (!f) fail_msg("%s", tn_error(c));
    tn_fn *g = tn_grad(f, NULL, NULL), *h = reverse ? tn_vjp(g, NULL, NULL) : tn_jvp(g, NULL);
    if (!h) fail_msg("%s", tn_error(c));
    tn_fn_free(f);
    tn_fn_free(g);
    return h;
}

/* Reverse over reverse of a loop: three times the steps of first order, and memory that steps do not add to; forward
 * over reverse has the counts of first order. */
static void test_second_order(void **state) {
    (void)state;
    static const char *const schedule[] = {"all_save", "revolve:3", "mixed:3", "periodic:5", "disk_revolve:2,3"};
    counts n;
    ticker t = {&n, 0};
    tn_ctx *c = checked();
    const tn_type type[1] = {tn_f64(WIDE)};
    assert_int_equal(tn_external_register(c, &(tn_external_spec){.size = sizeof(tn_external_spec),
                                                                 .name = "there",
                                                                 .nin = 1,
                                                                 .nout = 1,
                                                                 .in = type,
                                                                 .out = type,
                                                                 .fn = tick,
                                                                 .vjp = back_tick,
                                                                 .user = &t,
                                                                 .linear = true}),
                     TN_OK);
    for (int reverse = 0; reverse < 2; reverse++)
        for (size_t k = 0; k < COUNT(schedule); k++) {
            size_t bytes[2];
            double out[4][2];
            static double want[2][4][2];
            for (int longer = 0; longer < 2; longer++) {
                const int64_t steps = longer ? 100 : 20;
                tn_fn *h = second_order(c, steps, schedule[k], reverse);
                tn_exec *e = compile(h);
                bytes[longer] = tn_exec_bytes(e);
                n = (counts){{0}};
                memset(out, 0, sizeof out);
                if (tn_call(e, IN(P(0.5, 1), P(1.3, 1.1), P(1, 2), P(0.25, -1)), OUT(out[0], out[1], out[2], out[3])))
                    fail_msg("%s", tn_exec_error(e));
                if (k == 0) memcpy(want[longer], out, sizeof out);
                assert_memory_equal(out, want[longer], sizeof out);
                tn_schedule_counts s = {.size = sizeof s};
                assert_int_equal(tn_schedule_cost(c, schedule[k], steps, NULL, &s), TN_OK);
                const int64_t one = k == 0 ? steps : s.advances + s.recorded;
                if (reverse && k) {
                    /* states, and cotangents of cotangents, of which the last sweep does a part again */
                    assert_int_equal(n.n[0], 3 * one + steps);
                    /* cotangents of two sweeps, the first again beside the second */
                    assert_int_equal(n.n[1], 3 * steps);
                } else if (!reverse) {
                    assert_int_equal(n.n[0], 2 * one); /* a state and its tangent */
                    assert_int_equal(n.n[1], 2 * steps);
                }
                tn_exec_free(e);
                tn_fn_free(h);
            }
            if (k == 1 || k == 2) assert_int_equal(bytes[0], bytes[1]);
        }
    tn_ctx_free(c);
}

/* ---- failures ------------------------------------------------------------------------------------------ */

static tn_fn *wide_program(tn_ctx *c) {
    text t = {.n = 0};
    add(&t, "{ lambda x0:f64[1000] b0:f64[100000] . let " WIDE_LOOPS "in (b1, s1, p1) }", "mixed:3");
    return tn_fn_parse(c, t.s, t.n, "test.tn");
}

/* One whose loops are taken apart. */
static tn_fn *apart_program(tn_ctx *c) {
    static const char s[] =
        "{ lambda x0:f64[2] w:f64[2] . let x1:f64[2] = scan[program={ lambda w:f64[2] x:f64[2] . let y:f64[2] = sin x "
        "z:f64[2] = mul y w in (z) } length=20 num_consts=1 num_carry=1 schedule=\"revolve:3\"] w x0 s:f64[] = "
        "reduce_sum[axes=(0,)] x1 in (s) }";
    tn_fn *f = tn_fn_parse(c, s, sizeof s - 1, "test.tn"), *g = tn_grad(f, NULL, NULL), *h = tn_vjp(g, NULL, NULL);
    tn_fn_free(f);
    tn_fn_free(g);
    return h;
}

static void test_failing_allocations(void **state) {
    (void)state;
    for (int which = 0; which < 2; which++) {
        meter m = {0};
        tn_ctx *c = tn_ctx_new(
            &(tn_ctx_options){.size = sizeof(tn_ctx_options), .realloc = metered_realloc, .user = &m, .check = 1});
        tn_fn *f = which ? apart_program(c) : wide_program(c);
        if (!f) fail_msg("%s", tn_error(c));
        tn_exec_free(compile(f)); /* interned strings and types stay */
        const size_t before = m.living;
        for (size_t at = 1;; at += 1 + at / ((size_t)(SANITIZED ? 2 : amount(100, 20)))) {
            m.fail_at = m.calls + at;
            tn_exec *e = tn_compile(f, NULL);
            m.fail_at = 0;
            if (e) {
                tn_exec_free(e);
                assert_true(at > 100);
                break;
            }
            assert_int_equal(tn_last_status(c), TN_ENOMEM);
            assert_int_equal(m.living, before);
        }
        tn_fn_free(f);
        tn_ctx_free(c);
        assert_int_equal(m.living, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_sweeps),
        cmocka_unit_test(test_four_sweeps),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_readers),
        cmocka_unit_test(test_operands),
        cmocka_unit_test(test_entries_that_are_stacks),
        cmocka_unit_test(test_nested_and_effects),
        cmocka_unit_test(test_failing_allocations),
        cmocka_unit_test(test_second_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
