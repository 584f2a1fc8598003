/* Loops whose steps are little work, run as one loop program: random ones, of all lengths, shapes and dtypes, forwards
 * and in reverse, of a known number of steps or one that a condition finds, with conditions and loops in their steps,
 * have the bits of the reference; so have their gradients, which walk what was kept of as many steps, and calls that
 * leave outputs out.  Profiles count what is in a step as often whoever runs its loop program.
 *
 * So have loops with schedules, whose steps in a row are one loop program, under all schedules: the bits of the
 * reference, which goes step by step, and those of no schedule; and they tell a profile of as many steps, slots and
 * acts. */
#include "exec/exec.h"
#include "plan/replay.h"
#include "amount.h"
#include "sanitized.h"

#include <tansy.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 8192, ROOM = 40 * 80 };

static unsigned draw(uint64_t *s, unsigned n) {
    *s = *s * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(*s >> 33) % n;
}

/* ---- programs -------------------------------------------------------------------------------------- */

typedef struct body {
    char text[TEXT];
    size_t n;
    const char *type, *dtype, *dims;
    char name[32][4];
    unsigned names, made, temps;
} body;

static void put(body *b, const char *format, ...) {
    va_list list;
    va_start(list, format);
    b->n += (size_t)vsnprintf(b->text + b->n, TEXT - b->n, format, list);
    va_end(list);
}

static const char *any(body *b, uint64_t *s) { return b->name[draw(s, b->names)]; }

/* t: the largest of x's elements, or x. */
static void largest(body *b, const char *t, const char *x) {
    const bool f = *b->dtype == 'f';
    if (*b->dims)
        put(b, "    %s:%s[] = reduce_max[axes=(%s)] %s\n", t, b->dtype, strchr(b->dims, ',') ? "0, 1" : "0,", x);
    else
        put(b, "    %s:%s[] = add %s %s:%s[]\n", t, b->dtype, x, f ? "0.0" : "0", b->dtype);
}

static void write_choice(body *b, uint64_t *s, const char *out, const char *x, const char *y) {
    const bool f = *b->dtype == 'f';
    const unsigned t = b->temps++;
    const char *type = b->type;
    char top[16];
    (void)snprintf(top, sizeof top, "ta%u", t);
    largest(b, top, x);
    put(b, "    tb%u:bool[] = gt %s %s:%s[]\n", t, top, f ? "0.25" : "2", b->dtype);
    if (draw(s, 2)) {
        put(b,
            "    %s:%s = cond[branches=({ lambda a:%s b:%s . let c:%s = sub a b in (c,) }, { lambda a:%s b:%s . let "
            "c:%s = mul a b d:%s = max c a in (d,) })] tb%u %s %s\n",
            out, type, type, type, type, type, type, type, type, t, x, y);
        return;
    }
    put(b, "    tc%u:bool[] = gt %s %s:%s[]\n    td%u:i32[] = convert_element_type[new_dtype=i32] tb%u\n", t, top,
        f ? "0.75" : "5", b->dtype, t, t);
    put(b, "    te%u:i32[] = convert_element_type[new_dtype=i32] tc%u\n    tf%u:i32[] = add td%u te%u\n", t, t, t, t,
        t);
    put(b, "    tg%u:i32[] = sub tf%u %u:i32[]\n", t, t, draw(s, 2));
    put(b,
        "    %s:%s = cond[branches=({ lambda a:%s b:%s . let c:%s = neg a in (c,) }, { lambda a:%s b:%s . let in (b,) "
        "}, "
        "{ lambda a:%s b:%s . let c:%s = min a b in (c,) })] tg%u %s %s\n",
        out, type, type, type, type, type, type, type, type, type, t, x, y);
}

static void write_inner_scan(body *b, uint64_t *s, const char *out, const char *x, const char *y) {
    const unsigned t = b->temps++, n = draw(s, 5);
    const char *type = b->type;
    put(b, "    th%u:%s ti%u:%s[%u%s%s] = scan[program={ lambda k:%s a:%s . let b:%s = sub a k ", t, type, t, b->dtype,
        n, *b->dims ? "," : "", b->dims, type, type, type);
    if (draw(s, 2))
        put(b, "c:%s = max b k in (c, b) }", type);
    else {
        body in = {.type = type, .dtype = b->dtype, .dims = b->dims, .temps = 50};
        write_choice(&in, s, "c", "a", "b");
        put(b, "%s in (c, a) }", in.text);
    }
    put(b, " length=%u num_consts=1 num_carry=1 reverse=%s] %s %s\n", n, draw(s, 2) ? "True" : "False", x, y);
    put(b, "    tj%u:%s = reduce_sum[axes=(0,)] ti%u\n    %s:%s = add th%u tj%u\n", t, type, t, out, type, t, t);
}

static void write_inner_while(body *b, uint64_t *s, const char *out, const char *x, const char *y) {
    const unsigned t = b->temps++;
    const bool f = *b->dtype == 'f';
    const char *type = b->type;
    body in = {.type = type, .dtype = b->dtype, .dims = b->dims};
    largest(&in, "f", "a");
    put(b,
        "    %s:%s tk%u:i64[] = while[cond_jaxpr={ lambda a:%s i:i64[] . let %s g:bool[] = lt f %s:%s[] h:bool[] = lt "
        "i "
        "%u:i64[] o:bool[] = and g h in (o,) } cond_nconsts=0 body_jaxpr={ lambda k:%s a:%s i:i64[] . let c:%s = add a "
        "k "
        "j:i64[] = add i 1:i64[] in (c, j) } body_nconsts=1] %s %s 0:i64[]\n",
        out, type, t, type, in.text, f ? "0.8" : "7", b->dtype, draw(s, 5), type, type, type, x, y);
}

static void equation(body *b, uint64_t *s) {
    static const char *const two[] = {"add", "sub", "mul", "max"};
    static void (*const more[])(body *, uint64_t *, const char *, const char *,
                                const char *) = {write_choice, write_inner_scan, write_inner_while};
    char out[4];
    (void)snprintf(out, sizeof out, "v%c", 'a' + (int)b->made++);
    const char *x = any(b, s), *y = any(b, s);
    const unsigned kind = draw(s, 24);
    if (kind < 3)
        more[kind](b, s, out, x, y);
    else if (kind < 21)
        put(b, "    %s:%s = %s %s %s\n", out, b->type, two[draw(s, 4)], x, y);
    else
        put(b, "    %s:%s = neg %s\n", out, b->type, x);
    memcpy(b->name[b->names++], out, sizeof out);
}

/* { k, p, q, x -> two carries and an entry }: what is carried may change places, or stay. */
static void write_body(body *b, uint64_t *s) {
    put(b, "{ lambda k:%s p:%s q:%s x:%s . let\n", b->type, b->type, b->type, b->type);
    static const char in[4][4] = {"k", "p", "q", "x"};
    memcpy(b->name, in, sizeof in);
    b->names = 4;
    for (unsigned i = 1 + draw(s, 9); i > 0; i--) equation(b, s);
    put(b, "  in (%s, %s, %s) }", any(b, s), any(b, s), any(b, s));
}

/* dtype [n] for entries, where the entry's dimensions are `dims`. */
static void write_program(body *b, uint64_t *s, const char *dtype, const char *dims, int n, const char *schedule) {
    static char inner[TEXT];
    char type[40], all[48];
    (void)snprintf(type, sizeof type, "%s[%s]", dtype, dims);
    (void)snprintf(all, sizeof all, "%s[%d%s%s]", dtype, n, *dims ? "," : "", dims);
    body one = {.type = type, .dtype = dtype, .dims = dims};
    write_body(&one, s);
    memcpy(inner, one.text, one.n + 1);
    b->n = 0;
    put(b, "{ lambda k:%s p:%s q:%s x:%s . let\n", type, type, type, all);
    put(b, "    c:%s d:%s y:%s = scan[program=%s length=%d num_consts=1 num_carry=2 reverse=%s%s] k p q x\n", type,
        type, all, inner, n, draw(s, 2) ? "True" : "False", schedule);
    put(b, "  in (c, d, y) }");
}

/* Steps until their number is n, or a carry's first element is beyond r; out: also how many. */
static void write_while(body *b, uint64_t *s, const char *dtype, const char *dims, const char *schedule) {
    static char inner[TEXT];
    char type[40], first[400] = "    f:%s[] = copy p\n";
    (void)snprintf(type, sizeof type, "%s[%s]", dtype, dims);
    body one = {.type = type, .dtype = dtype, .dims = dims};
    put(&one, "{ lambda k:%s p:%s q:%s i:i64[] . let\n", type, type, type);
    static const char in[3][4] = {"k", "p", "q"};
    memcpy(one.name, in, sizeof in);
    one.names = 3;
    for (unsigned i = 1 + draw(s, 9); i > 0; i--) equation(&one, s);
    put(&one, "    j:i64[] = add i 1:i64[]\n  in (%s, %s, j) }", any(&one, s), any(&one, s));
    memcpy(inner, one.text, one.n + 1);
    if (*dims)
        (void)snprintf(first, sizeof first, "    f:%s[] = reduce_max[axes=(%s)] p\n", dtype,
                       strchr(dims, ',') ? "0, 1" : "0,");
    else
        (void)snprintf(first, sizeof first, "    f:%s[] = add p %s:%s[]\n", dtype, *dtype == 'f' ? "0.0" : "0", dtype);
    b->n = 0;
    put(b, "{ lambda k:%s p:%s q:%s n:i64[] r:%s[] . let\n", type, type, type, dtype);
    put(b,
        "    c:%s d:%s m:i64[] = while[cond_jaxpr={ lambda n:i64[] r:%s[] p:%s q:%s i:i64[] . let\n%s"
        "    g:bool[] = le f r\n    h:bool[] = lt i n\n    o:bool[] = and g h\n  in (o,) } cond_nconsts=2 "
        "body_jaxpr=%s body_nconsts=1%s] n r k p q 0:i64[]\n",
        type, type, dtype, type, type, first, inner, schedule);
    put(b, "  in (c, d, m) }");
}

/* ---- comparing ------------------------------------------------------------------------------------------ */

static tn_exec *compile(tn_fn *f, int backend) {
    const tn_compile_options o = {.size = sizeof o, .backend = backend};
    tn_exec *e = tn_compile(f, &o);
    if (!e) fail_msg("%s", tn_error(tn_fn_ctx(f)));
    return e;
}

/* Numbers that stay numbers for some steps. */
static void fill(void *at, size_t bytes, int dtype, uint64_t *s) {
    for (size_t i = 0; i * 4 < bytes; i++) {
        const double x = (double)(int)draw(s, 2001) / 1000 - 1;
        if (dtype == TN_F64 && i * 8 < bytes) ((double *)at)[i] = x;
        if (dtype == TN_F32) ((float *)at)[i] = (float)x;
        if (dtype == TN_I32) ((int32_t *)at)[i] = (int32_t)draw(s, 20) - 10;
        if (dtype == TN_I64 && i * 8 < bytes) ((int64_t *)at)[i] = draw(s, 9) ? (int64_t)draw(s, 40) : 0;
    }
}

/* Which NaN it is nobody says. */
static void settle(void *at, size_t bytes, int dtype) {
    for (size_t i = 0; dtype == TN_F64 && i * 8 < bytes; i++)
        if (((double *)at)[i] != ((double *)at)[i]) memset((double *)at + i, 0xFF, 8);
    for (size_t i = 0; dtype == TN_F32 && i * 4 < bytes; i++)
        if (((float *)at)[i] != ((float *)at)[i]) memset((float *)at + i, 0xFF, 4);
}

/* All outputs, and then all but one of them, by both. */
static void agree(tn_fn *f, uint64_t seed, const char *text) {
    static double in[8][ROOM], out[2][8][ROOM];
    const void *const ins[8] = {in[0], in[1], in[2], in[3], in[4], in[5], in[6], in[7]};
    uint64_t s = seed;
    tn_exec *e[2] = {compile(f, TN_BACKEND_REFERENCE), compile(f, 0)};
    const int nout = (int)tn_fn_outputs(f);
    for (size_t i = 0; i < tn_fn_inputs(f); i++) {
        const tn_type t = tn_fn_input_type(f, i);
        fill(in[i], tn_type_bytes(&t), t.dtype, &s);
    }
    for (int without = -1; without < nout; without++)
        for (int w = 0; w < 2; w++) {
            void *outs[8] = {0};
            memset(out[w], 0, sizeof out[w]);
            for (int j = 0; j < nout; j++) outs[j] = w && j == without ? NULL : out[w][j];
            assert_int_equal(tn_call(e[w], ins, outs), TN_OK);
            for (int j = 0; w && j < nout; j++) {
                const tn_type t = tn_fn_output_type(f, (size_t)j);
                const size_t bytes = tn_type_bytes(&t);
                settle(out[0][j], bytes, t.dtype);
                settle(out[1][j], bytes, t.dtype);
                if (j != without && memcmp(out[0][j], out[1][j], bytes))
                    fail_msg("output %d without %d, seed %llu\n%s", j, without, (unsigned long long)seed, text);
            }
        }
    tn_exec_free(e[0]);
    tn_exec_free(e[1]);
}

/* How many loops over arrays run as machine code, and how many as all steps of a loop. */
static void note(void *user, const tn_step *step) {
    if (!strcmp(step->runner, "assembler")) ((int *)user)[!strcmp(step->kind, "steps")]++;
}

/* ---- tests --------------------------------------------------------------------------------------------------- */

static void one(const char *dtype, const char *dims, int n, uint64_t seed) {
    static body b;
    uint64_t s = seed;
    tn_ctx *c = tn_ctx_new(NULL);
    write_program(&b, &s, dtype, dims, n, "");
    tn_fn *f = tn_fn_parse(c, b.text, b.n, "whole");
    if (!f) fail_msg("%s\n%s", tn_error(c), b.text);
    agree(f, seed, b.text);
    if (*dtype == 'f' && seed % 3 == 0) {
        tn_fn *g = tn_vjp(f, tn_wrt(0, 1, 3), NULL);
        if (!g) fail_msg("%s", tn_error(c));
        agree(g, seed, b.text);
        tn_fn_free(g);
    }
    tn_fn_free(f);
    tn_ctx_free(c);
}

static void found(const char *dtype, const char *dims, uint64_t seed) {
    static body b;
    uint64_t s = seed;
    tn_ctx *c = tn_ctx_new(NULL);
    write_while(&b, &s, dtype, dims, "");
    tn_fn *f = tn_fn_parse(c, b.text, b.n, "found");
    if (!f) fail_msg("%s\n%s", tn_error(c), b.text);
    agree(f, seed, b.text);
    if (*dtype == 'f') {
        tn_fn *g = tn_vjp(f, tn_wrt(0, 1), NULL);
        if (!g) fail_msg("%s", tn_error(c));
        agree(g, seed, b.text);
        tn_fn_free(g);
    }
    tn_fn_free(f);
    tn_ctx_free(c);
}

static void test_found(void **state) {
    static const char *const dtypes[] = {"f64", "f32", "i32"};
    static const char *const dims[] = {"", "1", "3", "8", "17", "2,3"};
    (void)state;
    for (unsigned d = 0; d < 3; d++)
        for (unsigned k = 0; k < 6; k++)
            for (uint64_t seed = 0; seed < (uint64_t)(SANITIZED ? 4 : amount(40, 12)); seed++)
                found(dtypes[d], dims[k], seed + 10000 * k);
}

/* More steps than are done at once, and than a page has entries; and that all of these loops are machine code. */
static void test_long(void **state) {
    static const char text[] =
        "{ lambda a:f64[] k:f64[] n:i64[] . let\n"
        "    b:f64[] m:i64[] = while[cond_jaxpr={ lambda n:i64[] b:f64[] i:i64[] . let p:bool[] = lt i n in (p,) } "
        "cond_nconsts=1 body_jaxpr={ lambda k:f64[] b:f64[] i:i64[] . let\n"
        "        c:f64[] = mul b k\n        e:f64[] = add c 0.1:f64[]\n        j:i64[] = add i 1:i64[]\n      in (e, "
        "j) } body_nconsts=1] n k a 0:i64[]\n  in (b,) }";
    static const int64_t steps[] = {0, 1, 2, 8191, 8192, 8193, 16385, 200003};
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = tn_fn_parse(c, text, sizeof text - 1, "long");
    tn_fn *g = f ? tn_grad(f, tn_wrt(0, 1), NULL) : NULL;
    if (!g) fail_msg("%s", tn_error(c));
    const double a = 0.3, k = 0.99999;
    double d[2][8][2];
    for (int w = 0; w < 2; w++) {
        tn_exec *e = compile(g, w ? 0 : TN_BACKEND_REFERENCE);
        int made[2] = {0};
        for (int i = 0; i < 8; i++)
            assert_int_equal(
                tn_call(e, (const void *const[]){&a, &k, &steps[i]}, (void *const[]){&d[w][i][0], &d[w][i][1]}), TN_OK);
        assert_int_equal(tn_exec_steps(e, note, made), TN_OK);
        if (made[0]) assert_int_equal(made[1], 2);
        tn_exec_free(e);
    }
    assert_memory_equal(d[0], d[1], sizeof d[0]);
    tn_exec *e = compile(f, 0);
    int made[2] = {0};
    assert_int_equal(tn_exec_steps(e, note, made), TN_OK);
    if (made[0]) assert_int_equal(made[1], 1);
    tn_exec_free(e);
    tn_fn_free(g);
    tn_fn_free(f);
    tn_ctx_free(c);
}

/* ---- what profiles count ----------------------------------------------------------------------------- */

typedef struct calls {
    size_t n;
    int64_t calls[4096];
} calls;

static void take_calls(void *user, const tn_profile_step *step) {
    calls *t = user;
    assert_true(t->n < sizeof t->calls / sizeof *t->calls);
    t->calls[t->n++] = (int64_t)step->calls;
}

/* Of loop programs, as a backend runs them or, of the default, as `nests` says. */
static void profile_of(tn_ctx *c, tn_fn *f, int backend, int nests, uint64_t seed, calls *t) {
    static double in[8][ROOM], out[8][ROOM];
    const void *const ins[8] = {in[0], in[1], in[2], in[3], in[4], in[5], in[6], in[7]};
    void *const outs[8] = {out[0], out[1], out[2], out[3], out[4], out[5], out[6], out[7]};
    uint64_t s = seed;
    c->nests = (uint8_t)nests;
    tn_exec *e = compile(f, backend);
    c->nests = TN_NESTS_BACKEND;
    tn_profile *p = tn_profile_new(e);
    for (size_t i = 0; i < tn_fn_inputs(f); i++) {
        const tn_type type = tn_fn_input_type(f, i);
        fill(in[i], tn_type_bytes(&type), type.dtype, &s);
    }
    t->n = 0;
    assert_int_equal(tn_exec_profile(e, p), TN_OK);
    for (int k = 0; k < 2; k++) assert_int_equal(tn_call(e, ins, outs), TN_OK);
    assert_int_equal(tn_profile_steps(p, take_calls, t), TN_OK);
    tn_profile_free(p);
    tn_exec_free(e);
}

/* By strips; by loop programs, evaluated; by machine code. */
static void counted(const char *dtype, const char *dims, int n, bool pull, uint64_t seed) {
    static body b;
    static calls t[3];
    uint64_t s = seed;
    tn_ctx *c = tn_ctx_new(NULL);
    if (n < 0)
        write_while(&b, &s, dtype, dims, "");
    else
        write_program(&b, &s, dtype, dims, n, n % 2 ? " schedule=\"revolve:2\"" : "");
    tn_fn *f = tn_fn_parse(c, b.text, b.n, "counted"), *g = f && pull ? tn_vjp(f, tn_wrt(0, 1), NULL) : NULL;
    if (!f || (pull && !g)) fail_msg("%s\n%s", tn_error(c), b.text);
    profile_of(c, g ? g : f, TN_BACKEND_STRIPS, TN_NESTS_BACKEND, seed, &t[0]);
    profile_of(c, g ? g : f, TN_BACKEND_DEFAULT, TN_NESTS_PASSED, seed, &t[1]);
    profile_of(c, g ? g : f, TN_BACKEND_DEFAULT, TN_NESTS_BACKEND, seed, &t[2]);
    for (int k = 1; k < 3; k++)
        for (size_t i = 0; i < t[0].n; i++)
            if (t[k].n != t[0].n || t[k].calls[i] != t[0].calls[i])
                fail_msg("step %zu: %lld calls, not %lld\n%s", i, (long long)t[k].calls[i], (long long)t[0].calls[i],
                         b.text);
    tn_fn_free(g);
    tn_fn_free(f);
    tn_ctx_free(c);
}

static void test_counted(void **state) {
    static const char *const dims[] = {"", "3", "17"};
    (void)state;
    for (unsigned k = 0; k < 3; k++)
        for (uint64_t seed = 0; seed < (uint64_t)(SANITIZED ? 8 : amount(60, 20)); seed++)
            for (int n = -1; n < 6; n += 3) counted(seed % 2 ? "f32" : "f64", dims[k], n, seed % 4 < 2, seed + 100 * k);
}

static void test_random(void **state) {
    static const char *const dtypes[] = {"f64", "f32", "i32"};
    static const char *const dims[] = {"", "1", "3", "8", "17", "2,3", "0"};
    static const int lengths[] = {0, 1, 2, 3, 7, 40};
    (void)state;
    for (unsigned d = 0; d < 3; d++)
        for (unsigned k = 0; k < 7; k++)
            for (unsigned n = 0; n < 6; n++)
                for (uint64_t seed = 0; seed < (uint64_t)(SANITIZED ? 1 : amount(12, 4)); seed++)
                    one(dtypes[d], dims[k], lengths[n], seed + 100 * n + 10000 * k);
}

/* A loop in a loop: each is one loop program, where there is code. */
static void test_nested(void **state) {
    static const char text[] =
        "{ lambda a:f64[3] x:f64[5,3] . let\n"
        "    b:f64[3] y:f64[5,4,3] = scan[program={ lambda c:f64[3] e:f64[3] . let\n"
        "        d:f64[3] z:f64[4,3] = scan[program={ lambda k:f64[3] p:f64[3] . let\n"
        "            q:f64[3] = mul p k\n            r:f64[3] = add q 0.5:f64[]\n          in (r, p) } length=4 "
        "num_consts=1 "
        "num_carry=1 reverse=True] e c\n      in (d, z) } length=5 num_consts=0 num_carry=1] a x\n  in (b, y) }";
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = tn_fn_parse(c, text, sizeof text - 1, "nested");
    if (!f) fail_msg("%s", tn_error(c));
    agree(f, 7, text);
    int made[2] = {0};
    tn_exec *e = compile(f, 0);
    assert_int_equal(tn_exec_steps(e, note, made), TN_OK);
    if (made[0]) assert_int_equal(made[1], 2);
    tn_exec_free(e);
    tn_fn_free(f);
    tn_ctx_free(c);
}

/* ---- with schedules ------------------------------------------------------------------------------------------ */

enum { MANY = 16 }; /* inputs or outputs */

static tn_fn *parsed(tn_ctx *c, const body *b) {
    tn_fn *f = tn_fn_parse(c, b->text, b->n, "scheduled");
    if (!f) fail_msg("%s\n%s", tn_error(c), b->text);
    return f;
}

static tn_fn *pulled(const tn_fn *f, int order) {
    tn_fn *g = tn_vjp(f, tn_wrt(0, 1), NULL);
    if (!g) fail_msg("%s", tn_error(tn_fn_ctx(f)));
    if (order < 2) return g;
    tn_fn *h = pulled(g, order - 1);
    tn_fn_free(g);
    return h;
}

static tn_exec *profiled(tn_fn *f, int backend) {
    const tn_compile_options o = {.size = sizeof o, .backend = backend, .spill_dir = "/tmp"};
    tn_exec *e = tn_compile(f, &o);
    if (!e) fail_msg("%s", tn_error(tn_fn_ctx(f)));
    return e;
}

/* What a call makes, and what it tells of schedules. */
static tn_profile_replay play(tn_fn *f, int backend, uint64_t seed, bool last, double out[MANY][ROOM]) {
    static double in[MANY][ROOM];
    const void *ins[MANY];
    void *outs[MANY] = {0};
    tn_exec *e = profiled(f, backend);
    tn_profile *p = tn_profile_new(e);
    tn_profile_totals t = {.size = sizeof t};
    const int nout = (int)tn_fn_outputs(f);
    uint64_t s = seed;
    assert_true(nout <= MANY && tn_fn_inputs(f) <= MANY);
    for (size_t i = 0; i < tn_fn_inputs(f); i++) {
        const tn_type type = tn_fn_input_type(f, i);
        fill(in[i], tn_type_bytes(&type), type.dtype, &s);
        ins[i] = in[i];
    }
    for (int j = 0; j < nout; j++) outs[j] = j || last || nout == 1 ? out[j] : NULL;
    assert_int_equal(tn_exec_profile(e, p), TN_OK);
    if (tn_call(e, ins, outs) != TN_OK) fail_msg("%s", tn_error(tn_fn_ctx(f)));
    for (int j = 0; j < nout; j++) {
        const tn_type type = tn_fn_output_type(f, (size_t)j);
        settle(out[j], tn_type_bytes(&type), type.dtype);
    }
    assert_int_equal(tn_profile_total(p, &t), TN_OK);
    assert_int_equal(tn_exec_profile(e, NULL), TN_OK);
    tn_profile_free(p);
    tn_exec_free(e);
    return t.replay;
}

static void same_bits(const tn_fn *f, double x[MANY][ROOM], double y[MANY][ROOM], const char *what, const char *text) {
    for (int j = 0; j < (int)tn_fn_outputs(f); j++) {
        const tn_type t = tn_fn_output_type(f, (size_t)j);
        if (memcmp(x[j], y[j], tn_type_bytes(&t))) fail_msg("output %d: not %s\n%s", j, what, text);
    }
}

/* The program with a schedule and the same without one. */
static void compare(tn_fn *f, tn_fn *without, int order, uint64_t seed, const char *text) {
    static double out[3][MANY][ROOM];
    tn_fn *g = pulled(f, order), *h = pulled(without, order);
    for (int last = 0; last < 2; last++) {
        memset(out, 0, sizeof out);
        const tn_profile_replay a = play(g, TN_BACKEND_REFERENCE, seed, last, out[0]),
                                b = play(g, 0, seed, last, out[1]);
        (void)play(h, 0, seed, last, out[2]);
        same_bits(g, out[0], out[1], "the reference's", text);
        same_bits(g, out[2], out[1], "those without a schedule", text);
        if (memcmp(&a, &b, sizeof a)) fail_msg("another profile than the reference's\n%s", text);
    }
    tn_fn_free(h);
    tn_fn_free(g);
}

static const char *const schedules[] = {"revolve:1",        "revolve:3", "revolve:20", "mixed:2",
                                        "mixed:3",          "mixed:20",  "periodic:4", "periodic:9",
                                        "disk_revolve:2,2", "online:3",  "nothing"};
enum { SCHEDULES = sizeof schedules / sizeof *schedules };

static void scheduled(const char *dtype, const char *dims, int n, const char *schedule, int order, uint64_t seed) {
    static body b[2];
    char text[64];
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f[2];
    (void)snprintf(text, sizeof text, " schedule=\"%s\"", schedule);
    for (int k = 0; k < 2; k++) {
        uint64_t s = seed;
        if (n < 0)
            write_while(&b[k], &s, dtype, dims, k ? "" : text);
        else
            write_program(&b[k], &s, dtype, dims, n, k ? "" : text);
        f[k] = parsed(c, &b[k]);
    }
    compare(f[0], f[1], order, seed, b[0].text);
    tn_fn_free(f[0]);
    tn_fn_free(f[1]);
    tn_ctx_free(c);
}

static void test_scheduled(void **state) {
    static const char *const dtypes[] = {"f64", "f32"};
    static const char *const dims[] = {"", "1", "3", "17", "2,3", "0"};
    static const int lengths[] = {0, 1, 2, 7, 40};
    (void)state;
    for (unsigned d = 0; d < 2; d++)
        for (unsigned m = 0; m < 6; m++)
            for (unsigned n = 0; n < 5; n++)
                for (unsigned k = 0; k < SCHEDULES; k++)
                    for (uint64_t seed = 0; seed < 2; seed++)
                        if (SANITIZED ? (d + m + n + k + seed) % 13 == 0
                                      : in_share(d + m + n + k + seed, 3)) /* they take long */
                            scheduled(dtypes[d], dims[m], lengths[n], schedules[k], 1,
                                      seed + 7 * k + 100 * n + 10000 * m);
}

/* Steps that a condition counts: slots of any number, and a part of them at a time. */
static void test_scheduled_found(void **state) {
    static const char *const unknown[] = {"online:1", "online:3", "online:30", "periodic:1", "periodic:3", "nothing"};
    static const char *const dims[] = {"", "3", "17"};
    (void)state;
    for (unsigned m = 0; m < 3; m++)
        for (unsigned k = 0; k < 6; k++)
            for (uint64_t seed = 0; seed < (uint64_t)(SANITIZED ? 1 : amount(6, 2)); seed++)
                scheduled(seed % 2 ? "f32" : "f64", dims[m], -1, unknown[k], 1, seed + 10 * k + 1000 * m);
}

/* Sweeps beside each other, which are brought back together, and one that takes snapshots for the next. */
static void test_scheduled_twice(void **state) {
    (void)state;
    for (unsigned k = 0; k < SCHEDULES; k++)
        for (uint64_t seed = 0; seed < (uint64_t)(SANITIZED ? 1 : amount(3, 1)); seed++)
            scheduled("f64", "3", 11, schedules[k], 2, seed + 10 * k);
}

static size_t chunks_made(const tn_exec *e) {
    size_t n = 0;
    for (size_t i = 0; i < e->plan->ngroup; i++)
        for (int k = 0; k < TN_CHUNKS; k++) n += e->plan->group[i].chunk[k].made.code != NULL;
    return n;
}

/* More acts than are written down before a run, of steps that know their number; and that all of it is machine code. */
static void test_scheduled_long(void **state) {
    static const char *const schedule[] = {"revolve:40", "mixed:40", "periodic:60", "online:40"};
    enum { STEPS = 20011 };
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    double d[5][2];
    const double a = 0.3, k = 0.99999;
    for (int i = 0; i < 5; i++) {
        char text[800];
        const int n = snprintf(text, sizeof text,
                               "{ lambda a:f64[] k:f64[] . let\n"
                               "    b:f64[] = scan[program={ lambda i:i64[] k:f64[] b:f64[] . let\n"
                               "        x:f64[] = convert_element_type[new_dtype=f64] i\n"
                               "        y:f64[] = mul x 0.0001:f64[]\n"
                               "        c:f64[] = mul b k\n        e:f64[] = mul c c\n        f:f64[] = sub y e\n"
                               "        g:f64[] = mul f 0.01:f64[]\n        h:f64[] = add g c\n"
                               "      in (h,) } length=%d num_consts=1 num_carry=1 index=True%s%s%s] k a\n  in (b,) }",
                               STEPS, i ? " schedule=\"" : "", i ? schedule[i - 1] : "", i ? "\"" : "");
        tn_fn *f = tn_fn_parse(c, text, (size_t)n, "long");
        tn_fn *g = f ? tn_grad(f, tn_wrt(0, 1), NULL) : NULL;
        if (!g) fail_msg("%s", tn_error(c));
        tn_exec *e = compile(g, 0);
        int made[2] = {0};
        assert_int_equal(tn_call(e, (const void *const[]){&a, &k}, (void *const[]){&d[i][0], &d[i][1]}), TN_OK);
        assert_int_equal(tn_exec_steps(e, note, made), TN_OK);
        if (i && made[0]) assert_true(chunks_made(e) >= 4);
        assert_memory_equal(d[0], d[i], sizeof d[0]);
        tn_exec_free(e);
        tn_fn_free(g);
        tn_fn_free(f);
    }
    tn_ctx_free(c);
}

/* More slots than a page has, of steps that a condition counts; a sweep of as many steps as were found stores them too.
 */
static void test_scheduled_pages(void **state) {
    static const char *const schedule[] = {"", " schedule=\"periodic:1\"", " schedule=\"periodic:300\"",
                                           " schedule=\"online:2000\""};
    static double d[4][MANY];
    const double x = 0.3, k = 0.99999;
    const int64_t n = 5003;
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    for (int order = 1; order <= 2; order++)
        for (int i = 0; i < 4; i++) {
            char text[800];
            const void *in[MANY];
            void *out[MANY];
            const int bytes = snprintf(
                text, sizeof text,
                "{ lambda a:f64[] k:f64[] n:i64[] . let\n"
                "    b:f64[] m:i64[] = while[cond_jaxpr={ lambda n:i64[] b:f64[] i:i64[] . let p:bool[] = lt i n in "
                "(p,) } "
                "cond_nconsts=1 body_jaxpr={ lambda k:f64[] b:f64[] i:i64[] . let\n"
                "        c:f64[] = mul b k\n        d:f64[] = mul c c\n        e:f64[] = sub 0.1:f64[] d\n"
                "        j:i64[] = add i 1:i64[]\n      in (e, j) } body_nconsts=1%s] n k a 0:i64[]\n  in (b,) }",
                schedule[i]);
            tn_fn *f = tn_fn_parse(c, text, (size_t)bytes, "pages");
            if (!f) fail_msg("%s", tn_error(c));
            tn_fn *g = pulled(f, order);
            tn_exec *e = compile(g, 0);
            for (size_t j = 0; j < tn_fn_inputs(g); j++) in[j] = j == 2 ? (const void *)&n : j == 1 ? &k : &x;
            for (size_t j = 0; j < tn_fn_outputs(g); j++) out[j] = &d[i][j];
            if (tn_call(e, in, out) != TN_OK) fail_msg("%s", tn_error(c));
            assert_memory_equal(d[0], d[i], tn_fn_outputs(g) * sizeof d[0][0]);
            tn_exec_free(e);
            tn_fn_free(g);
            tn_fn_free(f);
        }
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random),          cmocka_unit_test(test_counted),
                                       cmocka_unit_test(test_found),           cmocka_unit_test(test_long),
                                       cmocka_unit_test(test_nested),          cmocka_unit_test(test_scheduled),
                                       cmocka_unit_test(test_scheduled_found), cmocka_unit_test(test_scheduled_twice),
                                       cmocka_unit_test(test_scheduled_long),  cmocka_unit_test(test_scheduled_pages)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
