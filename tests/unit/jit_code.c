/* Code in memory that runs: kernels with tails, calls, constants, jumps; that it is never writable and executable; and
 * what happens where the system, or the user's allocator, gives no memory. */
#include "jit/seal.h"
#include "jit/x86.h"
#include "vec/vec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST = 70 };

static tn_i_jit sealed(tn_i_code *c) {
    tn_i_jit j;
    char why[TN_JIT_WHY];
    const tn_i_jit_result r = tn_i_jit_seal(c, &j, why);
    if (r != TN_JIT_OK) fail_msg("%s", r == TN_JIT_NONE ? why : tn_error(c->ctx));
    return j;
}

static bool runs(tn_i_isa isa) {
    if (tn_i_isa_best() >= isa) return true;
    (void)fprintf(stderr, "SKIPPED: this processor has no %s\n", isa == TN_ISA_AVX512 ? "AVX-512" : "AVX2");
    return false;
}

/* ---- kernels: rdi n, rsi x, rdx y, xmm0 a, xmm1 b ------------------------------------------- */

typedef void line(int64_t n, const double *x, double *y, double a, double b);

enum { N = TN_RDI, X = TN_RSI, Y = TN_RDX, AT = TN_RAX, LEFT = TN_RCX, TABLE = TN_R8 };

/* a * x + b of a vector at AT, under mask k1 or without. */
static void line_body(tn_i_code *c, unsigned size, bool masked) {
    const uint8_t k = masked ? 1 : 0, s = (uint8_t)size;
    const tn_i_x86_rm x = tn_i_x86_in(X, AT, 8, 0), y = tn_i_x86_in(Y, AT, 8, 0);
    tn_i_x86_vector(c, &(tn_i_x86_vec){.op = TN_X_vmulpd, .size = s, .reg = 2, .rm = x, .k = k, .zero = masked});
    tn_i_x86_v3(c, TN_X_vaddpd, size, 2, 2, tn_i_x86_r(1));
    tn_i_x86_vector(c, &(tn_i_x86_vec){.op = TN_X_vmovupd_to, .size = s, .reg = 2, .rm = y, .k = k});
}

/* k1: the LEFT lowest bits.  rax is used up. */
static void tail_512(tn_i_code *c) {
    tn_i_x86_set(c, TN_R9, -1);
    tn_i_x86_vector(c, &(tn_i_x86_vec){.op = TN_X_bzhi, .reg = TN_R9, .v = LEFT, .rm = tn_i_x86_r(TN_R9)});
    tn_i_x86_v2(c, TN_X_kmovb_k, 0, 1, tn_i_x86_r(TN_R9));
    line_body(c, 64, true);
}

/* ymm3: LEFT elements of ones, then zeros, out of a table. */
static void tail_256(tn_i_code *c) {
    const int64_t ones[8] = {-1, -1, -1, -1, 0, 0, 0, 0};
    const tn_i_jit_const table = tn_i_code_constant_of(c, ones, sizeof ones);
    tn_i_x86_g2(c, TN_X_lea, TABLE, tn_i_x86_pool(table));
    tn_i_x86_g1(c, TN_X_neg, tn_i_x86_r(LEFT));
    tn_i_x86_v2(c, TN_X_vmovdqu64, 32, 3, tn_i_x86_in(TABLE, LEFT, 8, 32));
    tn_i_x86_v3(c, TN_X_vmaskmovpd, 32, 2, 3, tn_i_x86_in(X, AT, 8, 0));
    tn_i_x86_v3(c, TN_X_vmulpd, 32, 2, 2, tn_i_x86_r(0));
    tn_i_x86_v3(c, TN_X_vaddpd, 32, 2, 2, tn_i_x86_r(1));
    tn_i_x86_v3(c, TN_X_vmaskmovpd_to, 32, 2, 3, tn_i_x86_in(Y, AT, 8, 0));
}

static tn_i_jit_label line_kernel(tn_i_code *c, unsigned size) {
    const int32_t width = (int32_t)size / 8;
    const tn_i_jit_label begin = tn_i_code_label(c), again = tn_i_code_label(c), tail = tn_i_code_label(c),
                         end = tn_i_code_label(c);
    tn_i_code_align(c, 32);
    tn_i_code_place(c, begin);
    tn_i_x86_v2(c, TN_X_vbroadcastsd, size, 0, tn_i_x86_r(0));
    tn_i_x86_v2(c, TN_X_vbroadcastsd, size, 1, tn_i_x86_r(1));
    tn_i_x86_general(c, &(tn_i_x86_gen){.op = TN_X_xor, .size = 4, .reg = AT, .rm = tn_i_x86_r(AT)});
    tn_i_x86_g2(c, TN_X_mov, LEFT, tn_i_x86_r(N));
    tn_i_x86_gi(c, TN_X_sub_i, tn_i_x86_r(LEFT), width);
    tn_i_x86_jump_if(c, TN_CC_L, tail);
    tn_i_code_align(c, 16);
    tn_i_code_place(c, again);
    if (size == 64) {
        line_body(c, size, false);
    } else {
        tn_i_x86_v3(c, TN_X_vmulpd, size, 2, 0, tn_i_x86_in(X, AT, 8, 0));
        tn_i_x86_v3(c, TN_X_vaddpd, size, 2, 2, tn_i_x86_r(1));
        tn_i_x86_v2(c, TN_X_vmovupd_to, size, 2, tn_i_x86_in(Y, AT, 8, 0));
    }
    tn_i_x86_gi(c, TN_X_add_i, tn_i_x86_r(AT), width);
    tn_i_x86_gi(c, TN_X_sub_i, tn_i_x86_r(LEFT), width);
    tn_i_x86_jump_if(c, TN_CC_GE, again);
    tn_i_code_place(c, tail);
    tn_i_x86_gi(c, TN_X_add_i, tn_i_x86_r(LEFT), width);
    tn_i_x86_jump_if(c, TN_CC_E, end);
    if (size == 64)
        tail_512(c);
    else
        tail_256(c);
    tn_i_code_place(c, end);
    tn_i_x86_g0(c, TN_X_vzeroupper);
    tn_i_x86_g0(c, TN_X_ret);
    return begin;
}

/* x ends where memory ends, so that reading beyond it is a fault; y is followed by what must stay. */
static void check_line(line *f) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const int zero = open("/dev/zero", O_RDWR);
    unsigned char *m = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE, zero, 0);
    (void)close(zero);
    assert_true(m != MAP_FAILED && mprotect(m + page, page, PROT_NONE) == 0);
    for (int64_t n = 0; n <= MOST; n++) {
        double *x = (double *)(void *)(m + page) - n, y[MOST + 16];
        for (int64_t i = 0; i < n; i++) x[i] = sin((double)i) * 3;
        for (int64_t i = 0; i < MOST + 16; i++) y[i] = -77;
        f(n, x, y, 1.1, 0.3);
        for (int64_t i = 0; i < MOST + 16; i++) {
            const double p = 1.1 * (i < n ? x[i] : 0), expected = i < n ? p + 0.3 : -77;
            if (memcmp(&y[i], &expected, 8)) fail_msg("n %d, element %d: %.17g", (int)n, (int)i, y[i]);
        }
    }
    assert_int_equal(munmap(m, 2 * page), 0);
}

/* Kernels of both instruction sets, in one mapping. */
static void test_lines(void **state) {
    (void)state;
    if (!runs(TN_ISA_AVX2)) skip();
    tn_ctx *ctx = tn_ctx_new(NULL);
    tn_i_code c;
    tn_i_code_begin(&c, ctx, TN_ISA_AVX512);
    const tn_i_jit_label narrow = line_kernel(&c, 32), wide = line_kernel(&c, 64);
    tn_i_jit j = sealed(&c);
    const size_t at[2] = {tn_i_code_place_of(&c, narrow), tn_i_code_place_of(&c, wide)};
    assert_int_equal(at[1] % 32, 0);
    tn_i_code_drop(&c);
    check_line((line *)tn_i_jit_at(&j, at[0]));
    if (runs(TN_ISA_AVX512)) check_line((line *)tn_i_jit_at(&j, at[1]));
    tn_i_jit_drop(ctx, &j);
    tn_i_jit_drop(ctx, &j); /* nothing is left to drop */
    tn_ctx_free(ctx);
}

/* ---- calls ------------------------------------------------------------------------------------ */

typedef void vector_call(const void *x, void *y);
typedef double number_call(double x);

/* y = f(x + x) of one vector; rbx keeps y, and aligns the stack. */
static void test_calls(void **state) {
    (void)state;
    if (!runs(TN_ISA_AVX2)) skip();
    const tn_i_vec e = tn_i_vec_math("exp", TN_ISA_AVX2, false);
    tn_ctx *ctx = tn_ctx_new(NULL);
    tn_i_code c;
    tn_i_code_begin(&c, ctx, TN_ISA_AVX2);
    const tn_i_jit_label vector = tn_i_code_label(&c), number = tn_i_code_label(&c);
    tn_i_code_place(&c, vector);
    if (e.itself) {
        tn_i_x86_g1(&c, TN_X_push, tn_i_x86_r(TN_RBX));
        tn_i_x86_g2(&c, TN_X_mov, TN_RBX, tn_i_x86_r(TN_RSI));
        tn_i_x86_v2(&c, TN_X_vmovupd, 32, 0, tn_i_x86_at(TN_RDI, 0));
        tn_i_x86_v3(&c, TN_X_vaddpd, 32, 0, 0, tn_i_x86_r(0));
        tn_i_x86_call(&c, e.itself());
        tn_i_x86_v2(&c, TN_X_vmovupd_to, 32, 0, tn_i_x86_at(TN_RBX, 0));
        tn_i_x86_g0(&c, TN_X_vzeroupper);
        tn_i_x86_g1(&c, TN_X_pop, tn_i_x86_r(TN_RBX));
        tn_i_x86_g0(&c, TN_X_ret);
    }
    tn_i_code_place(&c, number);
    tn_i_x86_gi(&c, TN_X_sub_i, tn_i_x86_r(TN_RSP), 8);
    tn_i_x86_v3(&c, TN_X_vaddsd, 0, 0, 0, tn_i_x86_r(0));
    tn_i_x86_call(&c, (void (*)(void))(double (*)(double))exp);
    tn_i_x86_gi(&c, TN_X_add_i, tn_i_x86_r(TN_RSP), 8);
    tn_i_x86_g0(&c, TN_X_ret);
    tn_i_jit j = sealed(&c);
    const double x[4] = {0, 0.25, -1, 3};
    double y[4];
    if (e.itself) {
        ((vector_call *)tn_i_jit_at(&j, tn_i_code_place_of(&c, vector)))(x, y);
        for (int i = 0; i < 4; i++) assert_true(fabs(y[i] / exp(2 * x[i]) - 1) < 1e-14);
    }
    assert_true(((number_call *)tn_i_jit_at(&j, tn_i_code_place_of(&c, number)))(0.7) == exp(1.4));
    tn_i_code_drop(&c);
    tn_i_jit_drop(ctx, &j);
    tn_ctx_free(ctx);
}

/* ---- constants ----------------------------------------------------------------------------------- */

typedef void reader(int32_t *out);

/* Constants of every size in an order that aligns none of them by itself, each told twice. */
static void test_constants(void **state) {
    (void)state;
    if (!runs(TN_ISA_AVX2)) skip();
    static const unsigned size[] = {4, 32, 8, 4, 64, 16, 8, 4};
    enum { COUNT = sizeof size / sizeof *size };
    int32_t value[COUNT][16], out[COUNT][16];
    tn_i_jit_const k[COUNT];
    tn_ctx *ctx = tn_ctx_new(NULL);
    tn_i_code c;
    tn_i_code_begin(&c, ctx, TN_ISA_AVX2);
    for (int i = 0; i < COUNT; i++)
        for (int l = 0; l < 16; l++) value[i][l] = 1000 * i + l;
    for (int i = 0; i < COUNT; i++) k[i] = tn_i_code_constant_of(&c, value[i], size[i]);
    for (int i = 0; i < COUNT; i++) assert_int_equal(tn_i_code_constant_of(&c, value[i], size[i]), k[i]);
    assert_int_equal(c.nconstant, COUNT);
    for (int i = 0; i < COUNT; i++)
        for (unsigned at = 0; at < size[i]; at += 4) {
            const tn_i_x86_rm to = tn_i_x86_at(TN_RDI, (int32_t)(64 * (unsigned)i + at));
            if (at == 0) tn_i_x86_g2(&c, TN_X_lea, TN_RAX, tn_i_x86_pool(k[i]));
            tn_i_x86_general(
                &c, &(tn_i_x86_gen){.op = TN_X_mov, .size = 4, .reg = TN_RCX, .rm = tn_i_x86_at(TN_RAX, (int32_t)at)});
            tn_i_x86_general(&c, &(tn_i_x86_gen){.op = TN_X_mov_to, .size = 4, .reg = TN_RCX, .rm = to});
        }
    tn_i_x86_general(&c, &(tn_i_x86_gen){.op = TN_X_cmp_i, .size = 4, .rm = tn_i_x86_pool(k[0]), .imm = 0});
    tn_i_x86_general(&c, &(tn_i_x86_gen){.op = TN_X_imul_i, .size = 4, .rm = tn_i_x86_pool(k[3]), .imm = 1000});
    tn_i_x86_general(&c, &(tn_i_x86_gen){.op = TN_X_mov_to, .size = 4, .rm = tn_i_x86_at(TN_RDI, 60)});
    tn_i_x86_v2i(&c, TN_X_vpermilpd, 32, 0, tn_i_x86_pool(k[1]), 0);
    tn_i_x86_v2(&c, TN_X_vmovups_to, 16, 0, tn_i_x86_at(TN_RDI, 16));
    tn_i_x86_g0(&c, TN_X_vzeroupper);
    tn_i_x86_g0(&c, TN_X_ret);
    tn_i_jit j = sealed(&c);
    for (int i = 0; i < COUNT; i++) {
        const size_t at = tn_i_code_constant_place(&c, k[i]);
        assert_int_equal(at % size[i], 0);
        assert_true(at >= c.length && at + size[i] <= c.size);
    }
    ((reader *)tn_i_jit_at(&j, 0))(out[0]);
    for (int i = 0; i < COUNT; i++) assert_memory_equal(out[i], value[i], size[i]);
    assert_int_equal(out[0][15], 3000 * 1000); /* relative to the end, which numbers stand in front of */
    const int32_t twice[4] = {1000, 1001, 1000, 1001};
    assert_memory_equal(&out[0][4], twice, sizeof twice);
    tn_i_code_drop(&c);
    tn_i_jit_drop(ctx, &j);
    tn_ctx_free(ctx);
}

/* Many of them, so that the table grows. */
static void test_many_constants(void **state) {
    (void)state;
    tn_ctx *ctx = tn_ctx_new(NULL);
    tn_i_code c;
    tn_i_code_begin(&c, ctx, TN_ISA_AVX2);
    for (int round = 0; round < 2; round++)
        for (uint64_t i = 0; i < 3000; i++) assert_int_equal(tn_i_code_constant_of(&c, &i, 8), i);
    assert_int_equal(c.nconstant, 3000);
    assert_true(tn_i_code_finish(&c));
    assert_int_equal(c.size, 3000 * 8);
    tn_i_code_drop(&c);
    tn_ctx_free(ctx);
}

/* ---- jumps ------------------------------------------------------------------------------------------ */

typedef int64_t count(int64_t n);

/* The sum of 1 .. n, by a loop whose body has `pad` bytes that do nothing, and a function that is called. */
static void check_jumps(tn_ctx *ctx, size_t pad) {
    tn_i_code c;
    tn_i_code_begin(&c, ctx, TN_ISA_AVX2);
    const tn_i_jit_label begin = tn_i_code_label(&c), again = tn_i_code_label(&c), end = tn_i_code_label(&c),
                         add = tn_i_code_label(&c), out = tn_i_code_label(&c);
    tn_i_code_place(&c, add);
    tn_i_x86_g2(&c, TN_X_add, TN_RAX, tn_i_x86_r(TN_RDI));
    tn_i_x86_g0(&c, TN_X_ret);
    tn_i_code_place(&c, begin);
    tn_i_x86_set(&c, TN_RAX, 0);
    tn_i_x86_address(&c, TN_R11, out);
    tn_i_code_place(&c, again);
    tn_i_x86_g2(&c, TN_X_test, TN_RDI, tn_i_x86_r(TN_RDI));
    tn_i_x86_jump_if(&c, TN_CC_LE, end);
    for (size_t at = c.length; c.length < at + pad;) tn_i_x86_g2(&c, TN_X_mov, TN_RCX, tn_i_x86_r(TN_RDX));
    tn_i_x86_call_label(&c, add);
    tn_i_x86_g1(&c, TN_X_dec, tn_i_x86_r(TN_RDI));
    tn_i_x86_jump(&c, again);
    tn_i_x86_g0(&c, TN_X_ud2);
    tn_i_code_place(&c, end);
    tn_i_x86_g1(&c, TN_X_jmp, tn_i_x86_r(TN_R11));
    tn_i_x86_g0(&c, TN_X_ud2);
    tn_i_code_place(&c, out);
    tn_i_x86_g0(&c, TN_X_ret);
    tn_i_jit j = sealed(&c);
    count *f = (count *)tn_i_jit_at(&j, tn_i_code_place_of(&c, begin));
    for (int64_t n = 0; n < 10; n++) assert_int_equal(f(n), n * (n + 1) / 2);
    tn_i_code_drop(&c);
    tn_i_jit_drop(ctx, &j);
}

static void test_jumps(void **state) {
    (void)state;
    if (!runs(TN_ISA_AVX2)) skip();
    tn_ctx *ctx = tn_ctx_new(NULL);
    for (size_t pad = 0; pad < 150; pad += 3) check_jumps(ctx, pad);
    check_jumps(ctx, 100000);
    tn_ctx_free(ctx);
}

typedef int64_t number(void);
static void test_numbers(void **state) {
    (void)state;
    if (!runs(TN_ISA_AVX2)) skip();
    static const int64_t x[] = {0,          1,         -1,        INT32_MAX,  INT32_MIN, (int64_t)INT32_MAX + 1,
                                UINT32_MAX, INT64_MAX, INT64_MIN, -4294967296};
    tn_ctx *ctx = tn_ctx_new(NULL);
    for (size_t i = 0; i < sizeof x / sizeof *x; i++)
        for (unsigned reg = TN_RAX; reg <= TN_R11; reg += TN_R11) {
            tn_i_code c;
            tn_i_code_begin(&c, ctx, TN_ISA_AVX2);
            tn_i_x86_set(&c, reg, x[i]);
            tn_i_x86_g2(&c, TN_X_mov, TN_RAX, tn_i_x86_r(reg));
            tn_i_x86_g0(&c, TN_X_ret);
            tn_i_jit j = sealed(&c);
            assert_int_equal(((number *)tn_i_jit_at(&j, 0))(), x[i]);
            tn_i_code_drop(&c);
            tn_i_jit_drop(ctx, &j);
        }
    tn_ctx_free(ctx);
}

/* ---- pages ---------------------------------------------------------------------------------------------- */

/* What may be done with the page at p, "r-xp"; empty: it is not mapped.  Returns how many maps may be written and
 * executed: none but those of a tool that this runs under. */
static int protection(const void *p, char of[8]) {
    int both = 0;
    FILE *f = fopen("/proc/self/maps", "r");
    char text[512];
    of[0] = 0;
    if (!f) skip();
    while (fgets(text, sizeof text, f)) {
        uintptr_t from, to;
        char rights[8];
        if (sscanf(text, "%" SCNxPTR "-%" SCNxPTR " %7s", &from, &to, rights) != 3) continue;
        both += strchr(rights, 'w') && strchr(rights, 'x');
        if ((uintptr_t)p >= from && (uintptr_t)p < to) memcpy(of, rights, sizeof rights);
    }
    (void)fclose(f);
    return both;
}

static tn_i_code little(tn_ctx *ctx) {
    tn_i_code c;
    tn_i_code_begin(&c, ctx, TN_ISA_AVX2);
    tn_i_x86_g0(&c, TN_X_ret);
    return c;
}

static void test_protection(void **state) {
    (void)state;
    char rights[8];
    tn_ctx *ctx = tn_ctx_new(NULL);
    const size_t before = tn_ctx_bytes(ctx);
    const int both = protection(NULL, rights);
    tn_i_code c = little(ctx);
    tn_i_jit j = sealed(&c);
    tn_i_code_drop(&c);
    assert_int_equal(tn_ctx_bytes(ctx), before + j.bytes);
    assert_int_equal(protection(j.base, rights), both);
    assert_string_equal(rights, "r-xp");
    const unsigned char *const was = j.base;
    tn_i_jit_drop(ctx, &j);
    assert_null(j.base);
    assert_int_equal(tn_ctx_bytes(ctx), before);
    (void)protection(was, rights); /* nothing is there, or what reading this list has put there */
    assert_null(strchr(rights, 'x'));
    tn_ctx_free(ctx);
}

static void test_refused_by_the_system(void **state) {
    (void)state;
    static const char *const call[] = {"", "mmap: ", "mprotect: "};
    for (uint8_t which = 1; which <= 2; which++) {
        tn_ctx *ctx = tn_ctx_new(NULL);
        tn_i_code c = little(ctx);
        tn_i_jit j;
        char why[TN_JIT_WHY];
        const size_t before = tn_ctx_bytes(ctx);
        ctx->no_code = which;
        assert_int_equal(tn_i_jit_seal(&c, &j, why), TN_JIT_NONE);
        assert_null(j.base);
        assert_ptr_equal(strstr(why, call[which]), why);
        assert_true(strlen(why) > strlen(call[which]));
        assert_int_equal(tn_last_status(ctx), TN_OK);
        assert_int_equal(tn_ctx_bytes(ctx), before);
        ctx->no_code = 0; /* what was written is still good */
        assert_int_equal(tn_i_jit_seal(&c, &j, why), TN_JIT_OK);
        tn_i_jit_drop(ctx, &j);
        tn_i_code_drop(&c);
        tn_ctx_free(ctx);
    }
}

/* ---- errors -------------------------------------------------------------------------------------------- */

typedef struct door {
    int left; /* requests that are granted; less than 0: all */
} door;

static void *counted(void *user, void *p, size_t old_size, size_t new_size) {
    door *d = user;
    (void)old_size;
    if (!new_size) {
        free(p);
        return NULL;
    }
    if (d->left == 0) return NULL;
    if (d->left > 0) d->left--;
    return realloc(p, new_size);
}

static bool write_and_seal(tn_ctx *ctx) {
    tn_i_code c;
    tn_i_jit j;
    char why[TN_JIT_WHY];
    tn_i_code_begin(&c, ctx, TN_ISA_AVX512);
    (void)line_kernel(&c, 32);
    (void)line_kernel(&c, 64);
    for (uint64_t k = 0; k < 40; k++)
        tn_i_x86_g2(&c, TN_X_add, TN_RAX, tn_i_x86_pool(tn_i_code_constant_of(&c, &k, 8)));
    const tn_i_jit_result r = tn_i_jit_seal(&c, &j, why);
    assert_true(r == TN_JIT_OK || r == TN_JIT_ERROR);
    if (r == TN_JIT_OK) tn_i_jit_drop(ctx, &j);
    tn_i_code_drop(&c);
    return r == TN_JIT_OK;
}

static void test_no_memory(void **state) {
    (void)state;
    for (int tight = 0; tight < 2; tight++) {
        door d = {-1};
        tn_ctx_options o = {.size = sizeof o, .realloc = counted, .user = &d};
        tn_ctx *ctx = tn_ctx_new(&o);
        const size_t before = tn_ctx_bytes(ctx);
        ctx->tight = tight;
        int k = 0;
        for (d.left = 0; !write_and_seal(ctx); d.left = ++k) {
            assert_int_equal(tn_last_status(ctx), TN_ENOMEM);
            assert_int_equal(tn_ctx_bytes(ctx), before);
            tn_error_clear(ctx);
        }
        assert_true(k > (tight ? 100 : 20));
        assert_int_equal(tn_ctx_bytes(ctx), before);
        tn_ctx_free(ctx);
    }
}

/* Pages count, and what a context may have says how many there may be. */
static void test_limit(void **state) {
    (void)state;
    tn_ctx *ctx = tn_ctx_new(NULL);
    tn_i_code c = little(ctx);
    tn_i_jit j;
    char why[TN_JIT_WHY];
    const size_t before = tn_ctx_bytes(ctx);
    ctx->opt.max_bytes = before + 1000;
    assert_int_equal(tn_i_jit_seal(&c, &j, why), TN_JIT_ERROR);
    assert_int_equal(tn_last_status(ctx), TN_ENOMEM);
    assert_non_null(strstr(tn_error(ctx), "max_bytes"));
    assert_int_equal(tn_ctx_bytes(ctx), before);
    tn_i_code_drop(&c);
    tn_ctx_free(ctx);
}

static void wrong(tn_ctx *ctx, tn_i_code *c, const char *what) {
    tn_i_jit j;
    char why[TN_JIT_WHY];
    assert_int_equal(tn_i_jit_seal(c, &j, why), TN_JIT_ERROR);
    assert_null(j.base);
    if (!strstr(tn_error(ctx), what)) fail_msg("'%s' instead of '%s'", tn_error(ctx), what);
    tn_i_code_drop(c);
    tn_error_clear(ctx);
}

static void test_wrong_use(void **state) {
    (void)state;
    tn_ctx *ctx = tn_ctx_new(NULL);
    tn_i_code c = little(ctx);
    tn_i_x86_jump(&c, tn_i_code_label(&c));
    wrong(ctx, &c, "a label: it has no place");
    c = little(ctx);
    const tn_i_jit_label l = tn_i_code_label(&c);
    tn_i_code_place(&c, l);
    tn_i_code_place(&c, l);
    wrong(ctx, &c, "a label: it is placed already");
    c = little(ctx);
    assert_true(tn_i_code_finish(&c));
    tn_i_x86_g0(&c, TN_X_ret);
    wrong(ctx, &c, "the code is finished");
    c = little(ctx);
    (void)tn_i_code_constant_of(&c, "123", 3);
    wrong(ctx, &c, "a constant: its size");
    tn_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),      cmocka_unit_test(test_calls),
        cmocka_unit_test(test_constants),  cmocka_unit_test(test_many_constants),
        cmocka_unit_test(test_jumps),      cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_protection), cmocka_unit_test(test_refused_by_the_system),
        cmocka_unit_test(test_no_memory),  cmocka_unit_test(test_limit),
        cmocka_unit_test(test_wrong_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
