/* Loop programs from text (docs/loop-ir.md). */
#include "ir/lex.h"
#include "loop/inside.h"

#include "base/number.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct binding {
    const char *name; /* interned */
    uint32_t k;
} binding;

typedef struct parser {
    tn_ctx *ctx;
    const char *file;
    tn_i_lexer lexer;
    tn_i_token token; /* not yet read */
    tn_i_l_builder b;
    binding *slot; /* a hash table */
    size_t nslot, nbound;
    const tn_i_l_kernel *kernel;
    size_t nkernel;
} parser;

static bool wrong(parser *z, const char *fmt, ...) {
    char why[160];
    va_list ap;
    if (z->b.failed) return false;
    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    const tn_i_loc loc = {.file = z->file, .line = z->token.line, .col = z->token.col, .scope = ""};
    (void)tn_i_fail(z->ctx, TN_EPARSE, &loc, "%s", why);
    z->b.failed = true;
    return false;
}

/* ---- tokens ---- */

static void advance(parser *z) { tn_i_lex(&z->lexer, &z->token); }

static bool next_is(const parser *z, const char *word) { return !z->b.failed && tn_i_token_is(&z->token, word); }

static bool accept(parser *z, const char *word) {
    if (!next_is(z, word)) return false;
    advance(z);
    return true;
}

static bool expect(parser *z, const char *word) {
    if (z->b.failed) return false;
    return accept(z, word) || wrong(z, "expected `%s`", word);
}

static const char *word(parser *z, const char *what) {
    if (z->b.failed) return NULL;
    if (z->token.kind != TN_T_NAME) {
        wrong(z, "expected %s", what);
        return NULL;
    }
    const char *s = tn_i_string(z->ctx, z->token.at, z->token.n);
    if (!s) z->b.failed = true;
    advance(z);
    return s;
}

static int64_t integer(parser *z) {
    int64_t v = 0;
    if (z->b.failed) return 0;
    if (z->token.kind != TN_T_NUMBER || !tn_i_parse_i64(z->token.at, z->token.n, &v)) {
        wrong(z, "expected an integer");
        return 0;
    }
    advance(z);
    return v;
}

static int64_t integer_in(parser *z, int64_t lo, int64_t hi) {
    const tn_i_token at = z->token;
    const int64_t v = integer(z);
    if (!z->b.failed && (v < lo || v > hi)) {
        z->token = at;
        wrong(z, "expected a number from %" PRId64 " to %" PRId64, lo, hi);
    }
    return v;
}

static uint64_t number(parser *z, int dtype) {
    uint64_t bits = 0;
    double d;
    float f;
    if (z->b.failed) return 0;
    if (!tn_i_is_float(dtype)) {
        const int64_t v = integer_in(z, dtype == TN_I64 ? INT64_MIN : dtype == TN_I32 ? INT32_MIN : 0,
                                     dtype == TN_I64 ? INT64_MAX : dtype == TN_I32 ? INT32_MAX : 1);
        return dtype == TN_I32 ? (uint32_t)v : (uint64_t)v;
    }
    const bool ok = z->token.kind == TN_T_NUMBER && (dtype == TN_F64 ? tn_i_parse_f64(z->token.at, z->token.n, &d)
                                                                     : tn_i_parse_f32(z->token.at, z->token.n, &f));
    if (!ok) {
        wrong(z, "expected a number");
        return 0;
    }
    if (dtype == TN_F64)
        memcpy(&bits, &d, sizeof d);
    else
        memcpy(&bits, &f, sizeof f);
    advance(z);
    return bits;
}

static int one_of(parser *z, const char *what, int n, const char *(*name)(int i)) {
    for (int i = 0; i < n; i++)
        if (next_is(z, name(i))) {
            advance(z);
            return i;
        }
    wrong(z, "expected %s", what);
    return 0;
}

static const char *role_name(int i) {
    static const char *const roles[] = {"in", "out", "inout", "scratch", "const"};
    return roles[i];
}
static const char *code_name(int i) { return tn_i_l_rows[i].name; }
static int dtype(parser *z) { return one_of(z, "a dtype", TN_NDTYPES, tn_i_dtype_name); }
static int fold(parser *z) { return one_of(z, "a fold", TN_FOLD_ARGMIN + 1, tn_i_l_fold_name); }

/* ---- names ---- */

static binding *find(const parser *z, const char *name) {
    if (!z->nslot) return NULL;
    size_t i = (size_t)tn_i_hash_u64(0, (uint64_t)(uintptr_t)name) & (z->nslot - 1);
    while (z->slot[i].name && z->slot[i].name != name) i = (i + 1) & (z->nslot - 1);
    return &z->slot[i];
}

static bool grow_names(parser *z) {
    binding *old = z->slot;
    const size_t n = z->nslot;
    z->nslot = n ? 2 * n : 64;
    if (!(z->slot = tn_i_alloc_array(z->ctx, z->nslot, sizeof *z->slot))) {
        z->slot = old;
        z->nslot = n;
        z->b.failed = true;
        return false;
    }
    for (size_t i = 0; i < n; i++)
        if (old[i].name) *find(z, old[i].name) = old[i];
    tn_i_free(z->ctx, old, n * sizeof *old);
    return true;
}

static void bind(parser *z, const char *name, uint32_t k) {
    if (z->b.failed || (2 * z->nbound >= z->nslot && !grow_names(z))) return;
    binding *x = find(z, name);
    if (x->name) {
        wrong(z, "%s is defined twice", name);
        return;
    }
    *x = (binding){name, k};
    z->nbound++;
}

static uint32_t named(parser *z, const char *what) {
    const tn_i_token at = z->token;
    const char *name = word(z, what);
    const binding *x = name ? find(z, name) : NULL;
    if (x && x->name) return x->k;
    if (!z->b.failed) {
        z->token = at;
        wrong(z, "%s is not defined", name);
    }
    return TN_L_NONE;
}

static uint32_t value(parser *z) {
    const tn_i_token at = z->token;
    const uint32_t k = named(z, "a value");
    if (!z->b.failed && !tn_i_l_has_value(&z->b.p->op[k])) {
        z->token = at;
        wrong(z, "this is no value");
    }
    return k;
}

static uint32_t array_named(parser *z) {
    const tn_i_token at = z->token;
    const char *name = word(z, "an array");
    if (z->b.failed) return TN_L_NONE;
    for (uint32_t i = 0; i < z->b.p->narray; i++)
        if (z->b.p->array[i].name == name) return i;
    z->token = at;
    wrong(z, "there is no array %s", name);
    return TN_L_NONE;
}

/* ---- affine expressions ---- */

typedef struct operand {
    uint32_t value; /* TN_L_NONE: none */
    int64_t by, last;
} operand;

/* A name behind a factor: of a loop, or, where it may be, clamp(value, last) or a value. */
static void factor(parser *z, int64_t by, tn_i_affine *e, operand *x, bool clamps) {
    if (x && clamps && accept(z, "clamp")) {
        expect(z, "(");
        const uint32_t v = value(z);
        expect(z, ",");
        *x = (operand){v, by, integer(z)};
        expect(z, ")");
        return;
    }
    const tn_i_token at = z->token;
    const uint32_t k = named(z, "a loop");
    if (z->b.failed) return;
    if (z->b.p->op[k].kind == TN_L_FOR)
        *e = tn_i_affine_term(&z->b, *e, k, by);
    else if (x && !clamps && by == 1 && x->value == TN_L_NONE && tn_i_l_has_value(&z->b.p->op[k]))
        *x = (operand){k, 1, 0};
    else {
        z->token = at;
        wrong(z, "this is no loop");
    }
}

/* A number that is not yet read, with the sign that stands in front of it apart. */
static bool digits(parser *z, bool negative, int64_t *v) {
    char text[32];
    const size_t n = z->token.n;
    if (z->token.kind != TN_T_NUMBER || n > 30) return false;
    text[0] = '-';
    memcpy(text + negative, z->token.at, n);
    if (!tn_i_parse_i64(text, n + negative, v)) return false;
    advance(z);
    return true;
}

static tn_i_affine affine(parser *z, operand *x, bool clamps) {
    tn_i_affine e = {0};
    if (x) *x = (operand){.value = TN_L_NONE};
    for (bool first = true; !z->b.failed; first = false) {
        bool negative = false;
        if (accept(z, "-"))
            negative = true;
        else if (!accept(z, "+") && !first &&
                 !(z->token.kind == TN_T_NUMBER && (*z->token.at == '-' || *z->token.at == '+')))
            break;
        int64_t by = negative ? -1 : 1;
        const bool given = z->token.kind == TN_T_NUMBER;
        const uint32_t line = z->token.line;
        if (given && !digits(z, negative, &by)) wrong(z, "expected an integer");
        if (z->token.kind == TN_T_NAME && (!given || z->token.line == line)) /* else it is the next statement */
            factor(z, by, &e, x, clamps);
        else if (given)
            e = tn_i_affine_add(&z->b, e, 1, tn_i_affine_number(by));
        else
            wrong(z, "expected a number, or a loop");
    }
    return e;
}

/* ---- statements ---- */

static tn_i_l_where address(parser *z) {
    operand x;
    tn_i_l_where w = {.array = array_named(z), .mask = TN_L_NONE, .otherwise = TN_L_NONE};
    expect(z, "[");
    w.e = affine(z, &x, true);
    expect(z, "]");
    w.indexed = x.value != TN_L_NONE;
    w.index = x.value;
    w.by = x.by;
    w.last = x.last;
    return w;
}

static uint32_t reduction(parser *z, tn_i_affine *e) {
    const tn_i_token at = z->token;
    const uint32_t k = named(z, "a reduction");
    if (!z->b.failed && z->b.p->op[k].kind != TN_L_REDUCE) {
        z->token = at;
        wrong(z, "this is no reduction");
    }
    *e = (tn_i_affine){0};
    if (accept(z, "[")) {
        *e = affine(z, NULL, false);
        expect(z, "]");
    }
    return k;
}

static uint32_t load(parser *z, int t) {
    tn_i_l_where w = address(z);
    if (accept(z, "where")) {
        w.masked = true;
        w.mask = value(z);
        expect(z, "else");
        w.otherwise = value(z);
    }
    const tn_i_token at = z->token;
    const uint32_t k = tn_i_l_load(&z->b, &w);
    if (!z->b.failed && z->b.p->op[k].dtype != t) {
        z->token = at;
        wrong(z, "the array is of %s", tn_i_dtype_name(z->b.p->op[k].dtype));
    }
    return k;
}

static void store(parser *z) {
    tn_i_l_where w = address(z);
    expect(z, "=");
    const uint32_t x = value(z);
    if (accept(z, "where")) {
        w.masked = true;
        w.mask = value(z);
    }
    tn_i_l_store(&z->b, &w, x);
}

static uint32_t within(parser *z) {
    int64_t lo = INT64_MIN, hi = INT64_MAX;
    const tn_i_token at = z->token;
    tn_i_affine e = affine(z, NULL, false);
    expect(z, "<");
    if (accept(z, "=")) {
        if (e.n) {
            z->token = at;
            wrong(z, "expected an integer");
        }
        lo = e.at;
        e = affine(z, NULL, false);
        if (!accept(z, "<")) return tn_i_l_within(&z->b, lo, e, hi);
    }
    hi = integer(z);
    return tn_i_l_within(&z->b, lo, e, hi);
}

static uint32_t fn(parser *z, int t) {
    const tn_i_token at = z->token;
    const char *name = word(z, "a primitive");
    int prim = 0;
    int64_t param = 0;
    uint32_t nin = 0, in[3];
    while (name && prim < TN_NPRIMS && strcmp(z->ctx->prims[prim]->name, name) != 0) prim++;
    if (z->b.failed || prim == TN_NPRIMS || !(z->ctx->prims[prim]->flags & TN_F_ELEMENTWISE)) {
        z->token = at;
        wrong(z, "expected an elementwise primitive");
        return TN_L_NONE;
    }
    if (accept(z, "(")) {
        param = integer(z);
        expect(z, ")");
    }
    for (const uint32_t want = (uint32_t)z->ctx->prims[prim]->nin; !z->b.failed && nin < want && nin < 3; nin++)
        in[nin] = value(z);
    return z->b.failed ? TN_L_NONE : tn_i_l_fn(&z->b, t, prim, param, nin, in);
}

static uint32_t map(parser *z, int t) {
    const int code = one_of(z, "an operation", TN_L_NCODES, code_name);
    if (z->b.failed) return TN_L_NONE;
    if (code == TN_L_fn) return fn(z, t);
    tn_i_l_op o = tn_i_l_blank(TN_L_MAP, t);
    o.code = (uint8_t)code;
    o.nin = tn_i_l_rows[code].nin;
    for (int i = 0; i < o.nin; i++) o.in[i] = value(z);
    return tn_i_l_emit(&z->b, o, NULL);
}

/* What stands behind `name: dtype =`. */
static uint32_t defined(parser *z, int t) {
    tn_i_l_op o = tn_i_l_blank(TN_L_NUMBER, t);
    tn_i_affine e = {0};
    if (accept(z, "number")) {
        o.bits = number(z, t);
        return tn_i_l_emit(&z->b, o, NULL);
    }
    if (accept(z, "index")) {
        e = affine(z, NULL, false);
        return tn_i_l_index(&z->b, t, e);
    }
    if (accept(z, "within")) {
        o.kind = TN_L_WITHIN;
        return within(z);
    }
    if (accept(z, "load")) return load(z, t);
    if (accept(z, "reduce")) {
        const int f = fold(z);
        const int64_t n = z->token.kind == TN_T_NUMBER ? integer(z) : 1;
        return tn_i_l_reduce(&z->b, f, t, n);
    }
    if (accept(z, "total")) {
        o.kind = TN_L_TOTAL;
        o.in[0] = reduction(z, &e);
        return tn_i_l_emit(&z->b, o, &e);
    }
    if (accept(z, "halves")) {
        o.kind = TN_L_HALVES;
        o.code = (uint8_t)fold(z);
    } else if (accept(z, "carry"))
        o.kind = TN_L_CARRY;
    else if (accept(z, "last"))
        o.kind = TN_L_LAST;
    else if (accept(z, "join"))
        o.kind = TN_L_JOIN;
    else
        return map(z, t);
    o.in[0] = value(z);
    if (o.kind == TN_L_JOIN) o.in[1] = value(z);
    return z->b.failed ? TN_L_NONE : tn_i_l_emit(&z->b, o, NULL);
}

static void definition(parser *z) {
    const char *name = word(z, "a statement");
    expect(z, ":");
    const int t = dtype(z);
    expect(z, "=");
    if (z->b.failed) return;
    const uint32_t k = defined(z, t);
    if (!z->b.failed && z->b.p->op[k].dtype != t) wrong(z, "the value is of %s", tn_i_dtype_name(z->b.p->op[k].dtype));
    bind(z, name, k);
}

static uint32_t count(parser *z) {
    operand x = {.value = TN_L_NONE};
    if (!accept(z, "<")) return tn_i_l_for_ever(&z->b);
    if (!accept(z, "min")) {
        const int64_t n = integer(z);
        return tn_i_l_for_n(&z->b, n);
    }
    expect(z, "(");
    const int64_t most = integer(z);
    expect(z, ",");
    const tn_i_affine e = affine(z, &x, false);
    expect(z, ")");
    return tn_i_l_for_up_to(&z->b, most, e, x.value);
}

static void open_loop(parser *z) {
    const char *name = word(z, "a loop's name");
    const uint32_t k = count(z);
    for (;;) {
        if (accept(z, "vector"))
            tn_i_l_set_vector(&z->b, k, (int)integer_in(z, 1, 64));
        else if (accept(z, "parallel"))
            tn_i_l_set_parallel(&z->b, k);
        else if (accept(z, "unroll"))
            tn_i_l_set_unroll(&z->b, k, (int)integer_in(z, 1, 255));
        else
            break;
    }
    expect(z, "{");
    bind(z, name, k);
}

static int access_of(parser *z) {
    return accept(z, "read") ? TN_L_READ : accept(z, "write") ? TN_L_WRITE : accept(z, "update") ? TN_L_UPDATE : TN_L_INTEGER;
}

static void call(parser *z) {
    const char *name = word(z, "a kernel");
    tn_i_l_kernel own = {.name = name};
    for (size_t i = 0; name && i < z->nkernel; i++)
        if (strcmp(z->kernel[i].name, name) == 0) own = z->kernel[i];
    if (z->b.failed) return;
    tn_i_l_call(&z->b, tn_i_l_kernel_new(&z->b, name, own.run, own.data));
    expect(z, "(");
    for (bool first = true; !z->b.failed && !accept(z, ")"); first = false) {
        if (!first) expect(z, ",");
        const int access = access_of(z);
        if (access == TN_L_INTEGER) {
            tn_i_l_call_integer(&z->b, affine(z, NULL, false));
            continue;
        }
        const uint32_t array = array_named(z);
        expect(z, "[");
        const tn_i_affine e = affine(z, NULL, false);
        expect(z, ":");
        const int64_t n = integer(z);
        expect(z, "]");
        tn_i_l_call_array(&z->b, access, array, e, n);
    }
}

static void statement(parser *z) {
    tn_i_affine e;
    if (accept(z, "for"))
        open_loop(z);
    else if (accept(z, "if")) {
        tn_i_l_if(&z->b, value(z));
        expect(z, "{");
    } else if (accept(z, "}")) {
        if (!accept(z, "else")) {
            tn_i_l_close(&z->b);
            return;
        }
        tn_i_l_else(&z->b);
        expect(z, "{");
    } else if (accept(z, "store"))
        store(z);
    else if (accept(z, "into")) {
        const uint32_t r = reduction(z, &e);
        expect(z, "=");
        tn_i_l_into(&z->b, r, e, value(z));
    } else if (accept(z, "next")) {
        const uint32_t carry = value(z);
        expect(z, "=");
        tn_i_l_next(&z->b, carry, value(z));
    } else if (accept(z, "while"))
        tn_i_l_while(&z->b, value(z));
    else if (accept(z, "call"))
        call(z);
    else
        definition(z);
}

/* ---- the program ---- */

static void numbers(parser *z, const char *name, int t, int64_t n) {
    const size_t size = tn_i_dtype_size(t);
    size_t room = 0, have = 0;
    char *data = NULL;
    expect(z, "{");
    while (!z->b.failed && !next_is(z, "}") && (int64_t)have < n) {
        if (have) expect(z, ",");
        const uint64_t bits = number(z, t);
        if (z->b.failed) break;
        if (!tn_i_grow(z->ctx, (void **)(void *)&data, &room, have + 1, size)) {
            z->b.failed = true;
            break;
        }
        tn_i_l_put(t, data, (int64_t)have++, bits);
    }
    if (!z->b.failed && (int64_t)have != n) wrong(z, "expected %" PRId64 " numbers", n);
    expect(z, "}");
    (void)tn_i_l_const(&z->b, name, t, n, data, true);
    tn_i_free(z->ctx, data, room * size);
}

static void array(parser *z) {
    const char *name = word(z, "an array's name");
    for (uint32_t i = 0; name && !z->b.failed && i < z->b.p->narray; i++)
        if (z->b.p->array[i].name == name) wrong(z, "array %s is declared twice", name);
    expect(z, ":");
    const int t = dtype(z);
    expect(z, "[");
    const int64_t n = integer_in(z, 0, INT64_MAX / 8);
    expect(z, "]");
    const int role = one_of(z, "a role", TN_L_CONST + 1, role_name);
    uint32_t base = TN_L_NONE, align = 0;
    int64_t at = 0;
    if (role == TN_L_CONST)
        numbers(z, name, t, n);
    else {
        expect(z, "base");
        base = (uint32_t)integer_in(z, 0, 1 << 24);
    }
    if (accept(z, "at")) at = integer_in(z, 0, INT64_MAX);
    if (accept(z, "align")) align = (uint32_t)integer_in(z, 1, 1 << 20);
    if (z->b.failed) return;
    if (role != TN_L_CONST)
        (void)tn_i_l_array_new(&z->b, name, t, role, n, base, at, align);
    else {
        tn_i_l_array *a = &z->b.p->array[z->b.p->narray - 1];
        a->at = at;
        if (align) a->align = align;
    }
}

tn_i_loops *tn_i_l_parse(tn_ctx *c, const char *text, size_t n, const char *name, const tn_i_l_kernel *kernel,
                         size_t nkernel) {
    parser z = {.ctx = c, .kernel = kernel, .nkernel = nkernel};
    tn_i_l_begin(&z.b, c);
    if (!z.b.failed && !(z.file = tn_i_string(c, name, strlen(name)))) z.b.failed = true;
    tn_i_lex_start(&z.lexer, text, n);
    if (!z.b.failed) advance(&z);
    expect(&z, "loop");
    expect(&z, "{");
    while (accept(&z, "array")) array(&z);
    if (accept(&z, "arena")) {
        const int64_t bytes = integer_in(&z, 0, INT64_MAX);
        expect(&z, "base");
        tn_i_l_arena(&z.b, (uint32_t)integer_in(&z, 0, 1 << 24), bytes);
    }
    while (!z.b.failed && !(z.b.depth == 0 && next_is(&z, "}"))) statement(&z);
    expect(&z, "}");
    if (!z.b.failed && z.token.kind != TN_T_END) wrong(&z, "expected the end");
    tn_i_free(c, z.slot, z.nslot * sizeof *z.slot);
    return tn_i_l_end_unchecked(&z.b);
}
