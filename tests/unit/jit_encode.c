/* Every instruction of the assembler's tables, in every form, with registers, masks, numbers and addresses at random:
 * its bytes are those that `as` makes of its text; where another encoding means the same, objdump reads both alike. */
#include "jit/x86.h"
#include "prims/prim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TIMES = 6, SLOT = 16, TRAP = 0xCC, TEXT = 160 };
enum { MOST_CASES = 60000 };

/* ---- cases ------------------------------------------------------------------------------ */

typedef struct sample {
    bool general;
    tn_i_x86_vec v;
    tn_i_x86_gen g;
    size_t at, length;
} sample;

typedef struct samples {
    tn_i_code *code;
    tn_i_rng rng;
    tn_i_jit_const constant[5]; /* of 4 to 64 bytes */
    sample *of;
    size_t n;
} samples;

static unsigned pick(samples *s, unsigned lo, unsigned hi) { return (unsigned)tn_i_pick(&s->rng, lo, hi); }

static int32_t displacement(samples *s, unsigned unit) {
    static const int32_t far[] = {0, 127, 128, -128, -129, 4095, INT32_MAX, INT32_MIN};
    switch (pick(s, 0, 3)) {
    case 0: return 0;
    case 1: return (int32_t)pick(s, 0, 300) - 150;
    case 2: return ((int32_t)pick(s, 0, 300) - 150) * (int32_t)unit;
    default: return far[pick(s, 0, 7)];
    }
}

static tn_i_x86_rm memory(samples *s, unsigned unit) {
    const unsigned base = pick(s, 0, 15), scale = 1u << pick(s, 0, 3);
    unsigned index = pick(s, 0, 15);
    if (index == TN_RSP || pick(s, 0, 2) == 0) return tn_i_x86_at(base, displacement(s, unit));
    return tn_i_x86_in(base, index, scale, displacement(s, unit));
}

static tn_i_x86_rm constant(samples *s, unsigned bytes) {
    unsigned k = 0;
    while (k < 4 && 4u << k < bytes) k++;
    return tn_i_x86_pool(s->constant[k]);
}

/* Each in a slot of its own, so that one that is wrong spoils no other. */
static void encode(samples *s, sample x) {
    tn_i_code *c = s->code;
    if (s->n == MOST_CASES) fail_msg("more cases than there is room for");
    while (c->length % SLOT) {
        uint8_t *p = tn_i_code_room(c);
        assert_non_null(p);
        *p = TRAP;
        c->length++;
    }
    x.at = c->length;
    if (x.general)
        tn_i_x86_general(c, &x.g);
    else
        tn_i_x86_vector(c, &x.v);
    if (c->failed) fail_msg("%s", tn_error(c->ctx));
    x.length = c->length - x.at;
    assert_in_range(x.length, 1, SLOT - 1);
    s->of[s->n++] = x;
}

/* ---- vectors ---------------------------------------------------------------------------- */

/* The operand in a place ('r', 'v', 'm', 's', 'i') of a form: its kind, or 0. */
static char kind_of(const char *text, char place) {
    for (const char *p = text; *p; p++)
        if (*p == place && (p == text || p[-1] == ' ')) return p[1] ? p[1] : ' ';
    return 0;
}

static uint8_t register_of(samples *s, char kind, bool evex) {
    if (!kind) return 0;
    if (kind == 'k') return (uint8_t)pick(s, 0, 7);
    if (strchr("dgsbn", kind)) return (uint8_t)pick(s, 0, 15);
    return (uint8_t)pick(s, 0, evex ? 31 : 15);
}

static void put_indices(samples *s, tn_i_x86_vec *i, bool evex) {
    while (i->rm.index == i->reg || i->rm.index == i->v || i->reg == i->v) {
        i->rm.index = register_of(s, 'v', evex);
        i->v = evex ? 0 : register_of(s, 'v', evex);
        i->reg = register_of(s, 'v', evex);
    }
}

enum { IN_REGISTER, IN_MEMORY, IN_POOL, SPREAD, MEANS };

static bool possible(const tn_i_x86_row *r, int means, bool evex) {
    const tn_i_x86_form *f = &tn_i_x86_forms[r->form];
    if (means == IN_REGISTER) return f->flags & TN_FORM_R;
    if (means == IN_POOL && f->flags & TN_FORM_V) return false;
    if (means == SPREAD) return evex && f->flags & TN_FORM_M && r->tuple <= TN_TUPLE_HALF;
    return f->flags & TN_FORM_M;
}

static void vector_case(samples *s, unsigned op, unsigned size, int means, bool evex) {
    const tn_i_x86_row *r = &tn_i_x86_rows[op];
    const tn_i_x86_form *f = &tn_i_x86_forms[r->form];
    tn_i_x86_vec i = {.op = (uint16_t)op, .size = (uint8_t)size};
    i.reg = register_of(s, kind_of(f->text, 'r'), evex);
    i.v = register_of(s, kind_of(f->text, 'v'), evex);
    i.imm = (uint8_t)(f->flags & TN_FORM_S ? pick(s, 0, 15) : f->flags & TN_FORM_I ? pick(s, 0, 255) : 0);
    const unsigned bytes = tn_i_x86_memory(r, size, means == SPREAD);
    if (means == IN_REGISTER)
        i.rm = tn_i_x86_r(register_of(s, kind_of(f->text, 'm'), evex));
    else if (means == IN_POOL)
        i.rm = constant(s, bytes);
    else
        i.rm = memory(s, bytes);
    if (means == SPREAD) i.rm = tn_i_x86_spread(i.rm);
    if (f->flags & TN_FORM_V) {
        i.rm.index = register_of(s, 'v', evex);
        i.rm.scale = (uint8_t)(1u << pick(s, 0, 3));
        put_indices(s, &i, evex);
    }
    if (evex && f->mask != TN_MASK_NONE) i.k = (uint8_t)pick(s, 0, 7);
    if (f->mask == TN_MASK_NEEDED && !i.k) i.k = 1;
    const bool store = f->text[0] == 'm' && means != IN_REGISTER;
    if (i.k && f->mask == TN_MASK_ZEROES && !store) i.zero = pick(s, 0, 1);
    encode(s, (sample){.v = i});
}

static void vectors(samples *s) {
    for (unsigned op = 0; op < TN_X_VECTORS; op++)
        for (unsigned size = 16; size <= 64; size *= 2)
            for (int means = 0; means < MEANS; means++)
                for (int evex = 0; evex < 2; evex++) {
                    const tn_i_x86_row *r = &tn_i_x86_rows[op];
                    if (!(r->sizes & size / 16) || (evex ? !r->evex[0] : !r->vex[0] || size == 64)) continue;
                    if (!possible(r, means, evex)) continue;
                    for (int k = 0; k < TIMES; k++) vector_case(s, op, size, means, evex);
                }
}

static const tn_i_x86_gen_row *gen_row(unsigned op) { return &tn_i_x86_gen_rows[op - TN_X_GENERAL]; }

/* ---- general registers ----------------------------------------------------------------------- */

static int32_t number(samples *s, uint8_t special) {
    static const int32_t some[] = {127, 128, -128, -129, INT32_MAX, INT32_MIN};
    if (special == TN_GEN_IMM8) return (int32_t)pick(s, 2, 31);
    return pick(s, 0, 1) ? some[pick(s, 0, 5)] : (int32_t)pick(s, 2, 100);
}

static void generals(samples *s) {
    for (unsigned op = TN_X_GENERAL; op < TN_X_BEHIND_GENERALS; op++)
        for (unsigned size = 4; size <= 8; size *= 2)
            for (int means = 0; means < SPREAD; means++) {
                const tn_i_x86_gen_form *f = &tn_i_x86_gen_forms[gen_row(op)->form];
                const bool alone = f->special == TN_GEN_ALONE;
                if (!alone && !(f->flags & (means == IN_REGISTER ? TN_GEN_R : TN_GEN_M))) continue;
                for (int k = 0; k < (alone ? 1 : 2 * TIMES); k++) {
                    tn_i_x86_gen i = {.op = (uint16_t)op, .size = (uint8_t)size, .cc = (uint8_t)pick(s, 0, 15)};
                    i.reg = register_of(s, kind_of(f->text, 'r'), false);
                    i.imm = number(s, f->special);
                    i.rm = means == IN_REGISTER ? tn_i_x86_r(pick(s, 0, 15))
                           : means == IN_MEMORY ? memory(s, 1)
                                                : constant(s, 8);
                    encode(s, (sample){.general = true, .g = i});
                }
            }
}

/* ---- text ------------------------------------------------------------------------------------ */

typedef struct text {
    char of[TEXT];
    size_t n;
} text;

__attribute__((format(printf, 2, 3))) static void say(text *t, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    const int n = vsnprintf(t->of + t->n, TEXT - t->n, fmt, ap);
    va_end(ap);
    assert_in_range(n, 0, (int)(TEXT - t->n) - 1);
    t->n += (size_t)n;
}

static void say_general(text *t, unsigned reg, unsigned size) {
    static const char *const name[3][16] = {{"al", "cl", "dl", "bl", "spl", "bpl", "sil", "dil"},
                                            {"eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi"},
                                            {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi"}};
    static const char *const end[3] = {"b", "d", ""};
    const int row = size == 1 ? 0 : size == 4 ? 1 : 2;
    if (reg < 8)
        say(t, "%s", name[row][reg]);
    else
        say(t, "r%u%s", reg, end[row]);
}

static unsigned vector_bytes(char kind, unsigned size) {
    static const char kinds[] = "vhqe";
    const char *at = strchr(kinds, kind);
    const unsigned bytes = kind == 'x' ? 16 : kind == 'y' ? 32 : size >> (at ? at - kinds : 0);
    return bytes < 16 ? 16 : bytes;
}

static void say_vector(text *t, unsigned reg, unsigned bytes) {
    say(t, "%cmm%u", bytes == 16 ? 'x' : bytes == 32 ? 'y' : 'z', reg);
}

static void say_register(text *t, char kind, unsigned reg, unsigned size) {
    switch (kind) {
    case 'k': say(t, "k%u", reg); break;
    case 'b': say_general(t, reg, 1); break;
    case 'd': say_general(t, reg, 4); break;
    case 'g': say_general(t, reg, 8); break;
    case 's': say_general(t, reg, size); break;
    default: say_vector(t, reg, vector_bytes(kind, size));
    }
}

/* The address of a constant is told from the end of the instruction on. */
static void say_address(text *t, const samples *s, const sample *x, const tn_i_x86_rm *rm, char kind, unsigned size) {
    if (rm->kind == TN_RM_POOL) {
        say(t, "[rip+%zu]", tn_i_code_constant_place(s->code, rm->constant) - (x->at + x->length));
        return;
    }
    say(t, "[");
    say_general(t, rm->reg, 8);
    if (rm->index != TN_NO_REGISTER) {
        say(t, "+");
        if (kind == 'V' || kind == 'H')
            say_vector(t, rm->index, vector_bytes(kind == 'V' ? 'v' : 'h', size));
        else
            say_general(t, rm->index, 8);
        say(t, "*%d", rm->scale);
    }
    if (rm->disp) say(t, "%+d", rm->disp);
    say(t, "]");
}

static void say_width(text *t, unsigned bytes) {
    switch (bytes) {
    case 1: say(t, "byte ptr "); break;
    case 2: say(t, "word ptr "); break;
    case 4: say(t, "dword ptr "); break;
    case 8: say(t, "qword ptr "); break;
    case 0: break;
    default: say(t, "%cmmword ptr ", bytes == 16 ? 'x' : bytes == 32 ? 'y' : 'z');
    }
}

static bool wants_evex(const tn_i_x86_vec *i, const tn_i_x86_row *r, unsigned size) {
    const tn_i_x86_rm *rm = &i->rm;
    const bool high = (rm->kind == TN_RM_REGISTER && rm->reg > 15) ||
                      (rm->kind == TN_RM_MEMORY && rm->index > 15 && rm->index != TN_NO_REGISTER);
    return !r->vex[0] || size == 64 || i->k || rm->spread || i->reg > 15 || i->v > 15 || high;
}

static void say_operand(text *t, const samples *s, const sample *x, const char *p, unsigned size) {
    const tn_i_x86_vec *i = &x->v;
    const tn_i_x86_row *r = &tn_i_x86_rows[i->op];
    if (*p == 'i') say(t, "%u", (unsigned)i->imm);
    if (*p == 's') say_vector(t, i->imm, size);
    if (*p == 'r') say_register(t, p[1], i->reg, size);
    if (*p == 'v') say_register(t, p[1], i->v, size);
    if (*p != 'm') return;
    if (i->rm.kind == TN_RM_REGISTER) {
        say_register(t, p[1], i->rm.reg, size);
        return;
    }
    say_width(t, tn_i_x86_memory(r, size, i->rm.spread));
    say_address(t, s, x, &i->rm, p[1], size);
    if (i->rm.spread) say(t, "{1to%u}", (r->tuple == TN_TUPLE_HALF ? size / 2 : size) / r->elem);
}

static text text_of_vector(const samples *s, const sample *x) {
    const tn_i_x86_row *r = &tn_i_x86_rows[x->v.op];
    const unsigned size = x->v.size;
    text t = {.n = 0};
    say(&t, "%s ", wants_evex(&x->v, r, size) ? r->evex : r->vex);
    for (const char *begin = tn_i_x86_forms[r->form].text, *p = begin; *p; p++) {
        if (p != begin && p[-1] != ' ') continue;
        if (p != begin) say(&t, ", ");
        say_operand(&t, s, x, p, size);
        if (p == begin && x->v.k) say(&t, "{k%u}%s", (unsigned)x->v.k, x->v.zero ? "{z}" : "");
    }
    return t;
}

static text text_of_general(const samples *s, const sample *x) {
    static const char *const cc[16] = {"o", "no", "b", "ae", "e", "ne", "be", "a",
                                       "s", "ns", "p", "np", "l", "ge", "le", "g"};
    const tn_i_x86_gen *i = &x->g;
    const tn_i_x86_gen_row *r = gen_row(i->op);
    const tn_i_x86_gen_form *f = &tn_i_x86_gen_forms[r->form];
    text t = {.n = 0};
    say(&t, "%s%s ", r->name, f->special == TN_GEN_CC ? cc[i->cc] : "");
    for (const char *p = f->text; *p; p++) {
        if (p != f->text && p[-1] != ' ') continue;
        if (p != f->text) say(&t, ", ");
        if (*p == 'i') say(&t, "%d", i->imm);
        if (*p == 'c') say(&t, "cl");
        if (*p == 'r') say_register(&t, p[1], i->reg, i->size);
        if (*p != 'm') continue;
        if (i->rm.kind == TN_RM_REGISTER) {
            say_register(&t, p[1], i->rm.reg, i->size);
        } else {
            const char k = p[1];
            say_width(&t, k == 'b' ? 1 : k == 'd' ? 4 : k == 'g' ? 8 : k == 'n' ? 0 : i->size);
            say_address(&t, s, x, &i->rm, k, 8);
        }
    }
    return t;
}

static text text_of(const samples *s, const sample *x) {
    return x->general ? text_of_general(s, x) : text_of_vector(s, x);
}

/* ---- what others say -------------------------------------------------------------------------- */

static char folder[64];

static void write_file(const char *name, const void *p, size_t n) {
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(p, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

/* All of it; the caller frees it. */
static char *read_file(const char *name, size_t *n) {
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    *n = (size_t)ftell(f);
    rewind(f);
    char *p = malloc(*n + 1);
    assert_non_null(p);
    assert_int_equal(fread(p, 1, *n, f), *n);
    p[*n] = 0;
    assert_int_equal(fclose(f), 0);
    return p;
}

__attribute__((format(printf, 1, 2))) static bool runs(const char *fmt, ...) {
    char command[512], inside[640];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(command, sizeof command, fmt, ap);
    va_end(ap);
    (void)snprintf(inside, sizeof inside, "cd %s && %s", folder, command);
    return system(inside) == 0;
}

static bool tools(void) {
    for (const char *const *t = (const char *const[]){"as", "objcopy", "objdump", NULL}; *t; t++)
        if (!runs("%s --version >/dev/null 2>&1", *t)) {
            (void)fprintf(stderr, "SKIPPED: encodings are not compared, as there is no `%s` (binutils)\n", *t);
            return false;
        }
    return runs("printf '.intel_syntax noprefix\\nvmovdqu8 zmm1{k1}, zmm2\\n' | as -o probe.o 2>/dev/null") ||
           (fprintf(stderr, "SKIPPED: encodings are not compared, as `as` does not know AVX-512\n"), false);
}

static char *assembled(const samples *s) {
    const size_t most = s->n * (TEXT + 16) + 64;
    char *source = malloc(most);
    assert_non_null(source);
    size_t n = (size_t)snprintf(source, most, ".intel_syntax noprefix\n");
    for (size_t i = 0; i < s->n; i++)
        n += (size_t)snprintf(source + n, most - n, ".p2align 4,0xcc\n%s\n", text_of(s, &s->of[i]).of);
    n += (size_t)snprintf(source + n, most - n, ".p2align 4,0xcc\n");
    write_file("all.s", source, n);
    free(source);
    if (!runs("as -o all.o all.s && objcopy -O binary -j .text all.o all.bin"))
        fail_msg("`as` refuses what its text says: %s/all.s", folder);
    char *bytes = read_file("all.bin", &n);
    assert_int_equal(n, s->n * SLOT);
    return bytes;
}

/* What objdump reads in slots: a line each, without addresses, bytes, and comments (where rip leads to). */
static char *disassembled(const char *name, const uint8_t *slots, size_t n) {
    size_t length;
    write_file("slots.bin", slots, n);
    assert_true(runs("objdump -D -b binary -m i386:x86-64 -M intel slots.bin --no-show-raw-insn | "
                     "sed -n 's/ *#.*//; s/^ *[0-9a-f]*:[\\t ]*//p' | grep -v '^int3' >%s",
                     name));
    return read_file(name, &length);
}

static size_t next_line(const char *p) {
    const char *end = strchr(p, '\n');
    return end ? (size_t)(end - p) + 1 : strlen(p);
}

/* Those whose bytes differ, by what objdump reads; returns how many there are. */
static void compare_meanings(const samples *s, const size_t *which, size_t n, const uint8_t *ours,
                             const uint8_t *theirs) {
    if (!n) return;
    char *const a = disassembled("ours.txt", ours, n * SLOT), *const b = disassembled("theirs.txt", theirs, n * SLOT);
    const char *p = a, *q = b;
    size_t wrong = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t np = next_line(p), nq = next_line(q);
        if ((np != nq || memcmp(p, q, np) != 0) && wrong++ < 20)
            print_error("%s\n    ours   %.*s    theirs %.*s", text_of(s, &s->of[which[i]]).of, (int)np, p, (int)nq, q);
        p += np;
        q += nq;
    }
    free(a);
    free(b);
    if (wrong) fail_msg("%zu instructions are encoded wrongly", wrong);
}

static void compare(const samples *s, const uint8_t *image) {
    char *const theirs = assembled(s);
    size_t *const which = malloc(s->n * sizeof *which), differ = 0, longer = 0;
    uint8_t *const a = malloc(s->n * SLOT), *const b = malloc(s->n * SLOT);
    assert_true(which && a && b);
    for (size_t i = 0; i < s->n; i++) {
        const uint8_t *ours = image + s->of[i].at, *other = (const uint8_t *)theirs + i * SLOT;
        if (!memcmp(ours, other, SLOT)) continue;
        size_t length = SLOT;
        while (length && other[length - 1] == TRAP) length--;
        longer += s->of[i].length > length;
        memcpy(a + differ * SLOT, ours, SLOT);
        memcpy(b + differ * SLOT, other, SLOT);
        which[differ++] = i;
    }
    compare_meanings(s, which, differ, a, b);
    print_message("%zu instructions; %zu in other bytes than `as` makes, %zu in more\n", s->n, differ, longer);
    free(theirs);
    free(which);
    free(a);
    free(b);
}

static void test_encodings(void **state) {
    (void)state;
    if (!tools()) skip();
    tn_ctx *ctx = tn_ctx_new(NULL);
    tn_i_code code;
    tn_i_code_begin(&code, ctx, TN_ISA_AVX512);
    samples s = {.code = &code, .rng = {20}, .of = malloc(MOST_CASES * sizeof *s.of)};
    assert_non_null(s.of);
    for (unsigned k = 0; k < 5; k++) {
        uint8_t bytes[64];
        for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)pick(&s, 0, 255);
        s.constant[k] = tn_i_code_constant_of(&code, bytes, 4u << k);
    }
    vectors(&s);
    generals(&s);
    tn_i_code_align(&code, SLOT);
    if (!tn_i_code_finish(&code)) fail_msg("%s", tn_error(ctx));
    uint8_t *image = malloc(code.size);
    assert_non_null(image);
    tn_i_code_write(&code, image);
    for (size_t i = 0; i < s.n; i++) memset(image + s.of[i].at + s.of[i].length, TRAP, SLOT - s.of[i].length);
    compare(&s, image);
    free(image);
    free(s.of);
    tn_i_code_drop(&code);
    tn_ctx_free(ctx);
}

/* ---- what cannot be encoded -------------------------------------------------------------------- */

static void refused(tn_ctx *ctx, tn_i_isa isa, tn_i_x86_vec i, const char *name) {
    tn_i_code c;
    tn_error_clear(ctx);
    tn_i_code_begin(&c, ctx, isa);
    tn_i_x86_vector(&c, &i);
    if (!c.failed || !strstr(tn_error(ctx), name)) fail_msg("%s is not refused: '%s'", name, tn_error(ctx));
    assert_int_equal(c.length, 0);
    assert_false(tn_i_code_finish(&c));
    tn_i_code_drop(&c);
}

static void test_refusals(void **state) {
    (void)state;
    tn_ctx *ctx = tn_ctx_new(NULL);
    const tn_i_x86_rm x1 = tn_i_x86_r(1), m = tn_i_x86_at(TN_RAX, 0);
    for (unsigned op = 0; op < TN_X_VECTORS; op++) {
        const tn_i_x86_row *r = &tn_i_x86_rows[op];
        const tn_i_x86_form *f = &tn_i_x86_forms[r->form];
        const uint8_t size = r->sizes & 1 ? 16 : r->sizes & 2 ? 32 : 64;
        const uint8_t k = f->mask == TN_MASK_NEEDED ? 1 : 0;
        const char *name = r->vex[0] ? r->vex : r->evex;
        const bool indexed = f->flags & TN_FORM_V;
        const tn_i_x86_rm rm = indexed ? tn_i_x86_in(TN_RAX, 3, 1, 0) : f->flags & TN_FORM_R ? x1 : m;
        const tn_i_x86_vec i = {.op = (uint16_t)op, .size = size, .k = k, .rm = rm, .v = 2};
        tn_i_x86_vec j = i;
        if (!r->vex[0] || f->flags & TN_FORM_K) refused(ctx, TN_ISA_AVX2, i, name);
        j.reg = 32;
        refused(ctx, TN_ISA_AVX512, j, name);
        j = i;
        j.reg = 16;
        refused(ctx, TN_ISA_AVX2, j, name);
        j = i;
        j.rm = f->flags & TN_FORM_R ? tn_i_x86_spread(x1) : x1;
        refused(ctx, TN_ISA_AVX512, j, name);
        j = i;
        j.zero = true;
        j.k = 0;
        refused(ctx, TN_ISA_AVX512, j, name);
        j = i;
        j.k = 8;
        refused(ctx, TN_ISA_AVX512, j, name);
        if (r->sizes & (r->sizes - 1)) {
            j = i;
            j.size = 0;
            refused(ctx, TN_ISA_AVX512, j, name);
        }
        if (indexed && f->text[0] == 'r') {
            j = i;
            j.reg = 3;
            refused(ctx, TN_ISA_AVX512, j, name);
        }
    }
    tn_ctx_free(ctx);
}

static void test_refusals_of_addresses(void **state) {
    (void)state;
    tn_ctx *ctx = tn_ctx_new(NULL);
    const tn_i_x86_gen bad[] = {
        {.op = TN_X_add, .size = 8, .reg = 16, .rm = tn_i_x86_r(1)},
        {.op = TN_X_add, .size = 8, .reg = 1, .rm = tn_i_x86_r(16)},
        {.op = TN_X_add, .size = 2, .reg = 1, .rm = tn_i_x86_r(1)},
        {.op = TN_X_add, .size = 8, .reg = 1, .rm = tn_i_x86_in(TN_RAX, TN_RSP, 1, 0)},
        {.op = TN_X_add, .size = 8, .reg = 1, .rm = tn_i_x86_in(TN_RAX, TN_RCX, 3, 0)},
        {.op = TN_X_add, .size = 8, .reg = 1, .rm = tn_i_x86_at(16, 0)},
        {.op = TN_X_lea, .size = 8, .reg = 1, .rm = tn_i_x86_r(1)},
        {.op = TN_X_push, .size = 8, .rm = tn_i_x86_at(TN_RAX, 0)},
        {.op = TN_X_shl_i, .size = 8, .rm = tn_i_x86_r(1), .imm = 256},
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        tn_i_code c;
        tn_i_code_begin(&c, ctx, TN_ISA_AVX512);
        tn_i_x86_general(&c, &bad[k]);
        if (!c.failed || !strstr(tn_error(ctx), gen_row(bad[k].op)->name)) fail_msg("case %zu", k);
        tn_i_code_drop(&c);
    }
    tn_i_code c;
    tn_i_code_begin(&c, ctx, TN_ISA_AVX512);
    tn_i_x86_g2(&c, TN_X_vaddpd, 1, tn_i_x86_r(1));
    assert_true(c.failed && strstr(tn_error(ctx), "none on general registers"));
    tn_i_code_begin(&c, ctx, TN_ISA_AVX512);
    tn_i_x86_v2(&c, TN_X_add, 32, 1, tn_i_x86_r(1));
    assert_true(c.failed && strstr(tn_error(ctx), "none on vectors"));
    tn_ctx_free(ctx);
}

int main(void) {
    const char *temp = getenv("TMPDIR");
    (void)snprintf(folder, sizeof folder, "%.40s/tansy-jit-XXXXXX", temp && *temp ? temp : "/tmp");
    if (!mkdtemp(folder)) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_encodings),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_refusals_of_addresses),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (!failed) (void)runs("rm -f all.* slots.bin ours.txt theirs.txt probe.o && rmdir %s", folder);
    return failed;
}
