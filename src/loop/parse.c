/* Loop programs from text (docs/loop-ir.md). */
#include "loop/parse.h"
#include "prims/ids.h"

#include <inttypes.h>
#include <string.h>

static const char *role_name(int i) {
    static const char *const roles[] = {"in", "out", "inout", "temp", "scratch", "const"};
    return roles[i];
}
static const char *code_name(int i) { return tn_i_l_rows[i].name; }
static int dtype(tn_i_reader *z) { return tn_i_read_one_of(z, "a dtype", TN_I_OWN_DTYPES, tn_i_dtype_name); }
static int memory_dtype(tn_i_reader *z) { return tn_i_read_one_of(z, "a dtype", TN_NDTYPES, tn_i_dtype_name); }
static int fold(tn_i_reader *z) { return tn_i_read_one_of(z, "a fold", TN_FOLD_ARGMIN + 1, tn_i_l_fold_name); }

/* ---- statements ---- */

static tn_i_l_where address(tn_i_reader *z) {
    tn_i_read_index x;
    tn_i_l_where w = {.array = tn_i_read_array_named(z), .mask = TN_L_NONE, .otherwise = TN_L_NONE};
    tn_i_read_expect(z, "[");
    w.e = tn_i_read_affine(z, &x, true);
    tn_i_read_expect(z, "]");
    w.indexed = x.value != TN_L_NONE;
    w.index = x.value;
    w.by = x.by;
    w.last = x.last;
    return w;
}

static uint32_t reduction(tn_i_reader *z, tn_i_affine *e) {
    const tn_i_token at = z->token;
    const uint32_t k = tn_i_read_named(z, "a reduction");
    if (!z->b.failed && z->b.p->op[k].kind != TN_L_REDUCE) {
        z->token = at;
        tn_i_read_wrong(z, "this is no reduction");
    }
    *e = (tn_i_affine){0};
    if (tn_i_read_accept(z, "[")) {
        *e = tn_i_read_affine(z, NULL, false);
        tn_i_read_expect(z, "]");
    }
    return k;
}

static uint32_t load(tn_i_reader *z, int t) {
    tn_i_l_where w = address(z);
    if (tn_i_read_accept(z, "where")) {
        w.masked = true;
        w.mask = tn_i_read_value(z);
        tn_i_read_expect(z, "else");
        w.otherwise = tn_i_read_value(z);
    }
    const tn_i_token at = z->token;
    const uint32_t k = tn_i_l_load(&z->b, &w);
    if (!z->b.failed && z->b.p->op[k].dtype != t) {
        z->token = at;
        tn_i_read_wrong(z, "the array is of %s", tn_i_dtype_name(z->b.p->op[k].dtype));
    }
    return k;
}

static void store(tn_i_reader *z, bool update) {
    const int code = update ? tn_i_read_one_of(z, "an operation", TN_L_fn, code_name) : 0;
    if (z->b.failed) return;
    tn_i_l_where w = address(z);
    tn_i_read_expect(z, "=");
    const uint32_t x = tn_i_read_value(z);
    if (tn_i_read_accept(z, "where")) {
        w.masked = true;
        w.mask = tn_i_read_value(z);
    }
    if (update)
        tn_i_l_update(&z->b, &w, (tn_i_l_code)code, x);
    else
        tn_i_l_store(&z->b, &w, x);
}

static uint32_t within(tn_i_reader *z) {
    int64_t lo = INT64_MIN, hi = INT64_MAX;
    const tn_i_token at = z->token;
    tn_i_affine e = tn_i_read_affine(z, NULL, false);
    tn_i_read_expect(z, "<");
    if (tn_i_read_accept(z, "=")) {
        if (e.n) {
            z->token = at;
            tn_i_read_wrong(z, "expected an integer");
        }
        lo = e.at;
        e = tn_i_read_affine(z, NULL, false);
        if (!tn_i_read_accept(z, "<")) return tn_i_l_within(&z->b, lo, e, hi);
    }
    hi = tn_i_read_integer(z);
    return tn_i_l_within(&z->b, lo, e, hi);
}

static uint32_t fn(tn_i_reader *z, int t) {
    const tn_i_token at = z->token;
    const char *name = tn_i_read_word(z, "a primitive");
    int prim = 0;
    int64_t param = 0;
    uint32_t nin = 0, in[3];
    while (name && prim < TN_NPRIMS && strcmp(z->ctx->prims[prim]->name, name) != 0) prim++;
    if (z->b.failed || prim == TN_NPRIMS || !(z->ctx->prims[prim]->flags & TN_F_ELEMENTWISE)) {
        z->token = at;
        tn_i_read_wrong(z, "expected an elementwise primitive");
        return TN_L_NONE;
    }
    if (tn_i_read_accept(z, "(")) {
        param = tn_i_read_integer(z);
        tn_i_read_expect(z, ")");
    }
    for (const uint32_t want = (uint32_t)z->ctx->prims[prim]->nin; !z->b.failed && nin < want && nin < 3; nin++)
        in[nin] = tn_i_read_value(z);
    return z->b.failed ? TN_L_NONE : tn_i_l_fn(&z->b, t, prim, param, nin, in);
}

static uint32_t map(tn_i_reader *z, int t) {
    const int code = tn_i_read_one_of(z, "an operation", TN_L_NCODES, code_name);
    if (z->b.failed) return TN_L_NONE;
    if (code == TN_L_fn) return fn(z, t);
    tn_i_l_op o = tn_i_l_blank(TN_L_MAP, t);
    o.code = (uint8_t)code;
    o.nin = tn_i_l_rows[code].nin;
    for (int i = 0; i < o.nin; i++) o.in[i] = tn_i_read_value(z);
    return tn_i_l_emit(&z->b, o, NULL);
}

/* What stands behind `name: dtype =`. */
static uint32_t defined(tn_i_reader *z, int t) {
    tn_i_l_op o = tn_i_l_blank(TN_L_NUMBER, t);
    tn_i_affine e = {0};
    if (tn_i_read_accept(z, "number")) {
        o.bits = tn_i_read_number(z, t);
        return tn_i_l_emit(&z->b, o, NULL);
    }
    if (tn_i_read_accept(z, "index")) {
        e = tn_i_read_affine(z, NULL, false);
        return tn_i_l_index(&z->b, t, e);
    }
    if (tn_i_read_accept(z, "within")) {
        o.kind = TN_L_WITHIN;
        return within(z);
    }
    if (tn_i_read_accept(z, "load")) return load(z, t);
    if (tn_i_read_accept(z, "reduce")) {
        const int f = fold(z);
        const int64_t n = z->token.kind == TN_T_NUMBER ? tn_i_read_integer(z) : 1;
        return tn_i_l_reduce(&z->b, f, t, n);
    }
    if (tn_i_read_accept(z, "total")) {
        o.kind = TN_L_TOTAL;
        o.in[0] = reduction(z, &e);
        return tn_i_l_emit(&z->b, o, &e);
    }
    if (tn_i_read_accept(z, "halves")) {
        o.kind = TN_L_HALVES;
        o.code = (uint8_t)fold(z);
    } else if (tn_i_read_accept(z, "carry"))
        o.kind = TN_L_CARRY;
    else if (tn_i_read_accept(z, "last"))
        o.kind = TN_L_LAST;
    else if (tn_i_read_accept(z, "join"))
        o.kind = TN_L_JOIN;
    else
        return map(z, t);
    o.in[0] = tn_i_read_value(z);
    if (o.kind == TN_L_JOIN) o.in[1] = tn_i_read_value(z);
    return z->b.failed ? TN_L_NONE : tn_i_l_emit(&z->b, o, NULL);
}

static void definition(tn_i_reader *z) {
    const char *name = tn_i_read_word(z, "a statement");
    tn_i_read_expect(z, ":");
    const int t = dtype(z);
    tn_i_read_expect(z, "=");
    if (z->b.failed) return;
    const uint32_t k = defined(z, t);
    if (!z->b.failed && z->b.p->op[k].dtype != t)
        tn_i_read_wrong(z, "the value is of %s", tn_i_dtype_name(z->b.p->op[k].dtype));
    tn_i_read_bind(z, name, k);
}

static uint32_t count(tn_i_reader *z) {
    tn_i_read_index x = {.value = TN_L_NONE};
    if (!tn_i_read_accept(z, "<")) return tn_i_l_for_ever(&z->b);
    if (!tn_i_read_accept(z, "min")) {
        const int64_t n = tn_i_read_integer(z);
        return tn_i_l_for_n(&z->b, n);
    }
    tn_i_read_expect(z, "(");
    const int64_t most = tn_i_read_integer(z);
    tn_i_read_expect(z, ",");
    const tn_i_affine e = tn_i_read_affine(z, &x, false);
    tn_i_read_expect(z, ")");
    return tn_i_l_for_up_to(&z->b, most, e, x.value);
}

static void open_loop(tn_i_reader *z) {
    const char *name = tn_i_read_word(z, "a loop's name");
    const uint32_t k = count(z);
    for (;;) {
        if (tn_i_read_accept(z, "vector"))
            tn_i_l_set_vector(&z->b, k, (int)tn_i_read_integer_in(z, 1, 64));
        else if (tn_i_read_accept(z, "parallel"))
            tn_i_l_set_parallel(&z->b, k);
        else if (tn_i_read_accept(z, "unroll"))
            tn_i_l_set_unroll(&z->b, k, (int)tn_i_read_integer_in(z, 1, 255));
        else
            break;
    }
    tn_i_read_expect(z, "{");
    tn_i_read_bind(z, name, k);
}

static int access_of(tn_i_reader *z) {
    return tn_i_read_accept(z, "read")     ? TN_L_READ
           : tn_i_read_accept(z, "write")  ? TN_L_WRITE
           : tn_i_read_accept(z, "update") ? TN_L_UPDATE
                                           : TN_L_INTEGER;
}

static void call(tn_i_reader *z) {
    const char *name = tn_i_read_word(z, "a kernel");
    tn_i_l_kernel own = {.name = name};
    for (size_t i = 0; name && i < z->nkernel; i++)
        if (strcmp(z->kernel[i].name, name) == 0) own = z->kernel[i];
    if (z->b.failed) return;
    tn_i_l_call(&z->b, tn_i_l_kernel_new(&z->b, name, own.run, own.data));
    tn_i_read_expect(z, "(");
    for (bool first = true; !z->b.failed && !tn_i_read_accept(z, ")"); first = false) {
        if (!first) tn_i_read_expect(z, ",");
        const int access = access_of(z);
        if (access == TN_L_INTEGER) {
            tn_i_l_call_integer(&z->b, tn_i_read_affine(z, NULL, false));
            continue;
        }
        const uint32_t array = tn_i_read_array_named(z);
        tn_i_read_expect(z, "[");
        const tn_i_affine e = tn_i_read_affine(z, NULL, false);
        tn_i_read_expect(z, ":");
        const int64_t n = tn_i_read_integer(z);
        tn_i_read_expect(z, "]");
        tn_i_l_call_array(&z->b, access, array, e, n);
    }
}

static void statement(tn_i_reader *z) {
    tn_i_affine e;
    if (tn_i_read_accept(z, "for"))
        open_loop(z);
    else if (tn_i_read_accept(z, "if")) {
        tn_i_l_if(&z->b, tn_i_read_value(z));
        tn_i_read_expect(z, "{");
    } else if (tn_i_read_accept(z, "}")) {
        if (!tn_i_read_accept(z, "else")) {
            tn_i_l_close(&z->b);
            return;
        }
        tn_i_l_else(&z->b);
        tn_i_read_expect(z, "{");
    } else if (tn_i_read_accept(z, "store"))
        store(z, false);
    else if (tn_i_read_accept(z, "update"))
        store(z, true);
    else if (tn_i_read_accept(z, "into")) {
        const uint32_t r = reduction(z, &e);
        tn_i_read_expect(z, "=");
        tn_i_l_into(&z->b, r, e, tn_i_read_value(z));
    } else if (tn_i_read_accept(z, "next")) {
        const uint32_t carry = tn_i_read_value(z);
        tn_i_read_expect(z, "=");
        tn_i_l_next(&z->b, carry, tn_i_read_value(z));
    } else if (tn_i_read_accept(z, "while"))
        tn_i_l_while(&z->b, tn_i_read_value(z));
    else if (tn_i_read_accept(z, "call"))
        call(z);
    else
        definition(z);
}

/* ---- the program ---- */

static void numbers(tn_i_reader *z, const char *name, int t, int64_t n) {
    const size_t size = tn_i_dtype_size(t);
    size_t room = 0, have = 0;
    char *data = NULL;
    tn_i_read_expect(z, "{");
    while (!z->b.failed && !tn_i_read_next_is(z, "}") && (int64_t)have < n) {
        if (have) tn_i_read_expect(z, ",");
        const uint64_t bits = tn_i_read_number(z, tn_i_holder(t));
        if (z->b.failed) break;
        if (!tn_i_grow(z->ctx, (void **)(void *)&data, &room, have + 1, size)) {
            z->b.failed = true;
            break;
        }
        tn_i_l_put(t, data, (int64_t)have, bits);
        if (tn_i_l_get(t, data, (int64_t)have++) != bits)
            tn_i_read_wrong(z, "%s has no such number", tn_i_dtype_name(t));
    }
    if (!z->b.failed && (int64_t)have != n) tn_i_read_wrong(z, "expected %" PRId64 " numbers", n);
    tn_i_read_expect(z, "}");
    (void)tn_i_l_const(&z->b, name, t, n, data, true);
    tn_i_free(z->ctx, data, room * size);
}

static void array(tn_i_reader *z) {
    const char *name = tn_i_read_word(z, "an array's name");
    for (uint32_t i = 0; name && !z->b.failed && i < z->b.p->narray; i++)
        if (z->b.p->array[i].name == name) tn_i_read_wrong(z, "array %s is declared twice", name);
    tn_i_read_expect(z, ":");
    const int t = memory_dtype(z);
    tn_i_read_expect(z, "[");
    const int64_t n = tn_i_read_integer_in(z, 0, INT64_MAX / 8);
    tn_i_read_expect(z, "]");
    const int role = tn_i_read_one_of(z, "a role", TN_L_CONST + 1, role_name);
    uint32_t base = TN_L_NONE, align = 0;
    int64_t at = 0;
    if (role == TN_L_CONST)
        numbers(z, name, t, n);
    else {
        tn_i_read_expect(z, "base");
        base = (uint32_t)tn_i_read_integer_in(z, 0, 1 << 24);
    }
    if (tn_i_read_accept(z, "at")) at = tn_i_read_integer_in(z, INT64_MIN, INT64_MAX);
    if (tn_i_read_accept(z, "align")) align = (uint32_t)tn_i_read_integer_in(z, 1, 1 << 20);
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
    tn_i_reader z = {.ctx = c, .kernel = kernel, .nkernel = nkernel};
    tn_i_l_begin(&z.b, c);
    if (!z.b.failed && !(z.file = tn_i_string(c, name, strlen(name)))) z.b.failed = true;
    tn_i_lex_start(&z.lexer, text, n);
    if (!z.b.failed) tn_i_read_advance(&z);
    tn_i_read_expect(&z, "loop");
    tn_i_read_expect(&z, "{");
    while (tn_i_read_accept(&z, "array")) array(&z);
    if (tn_i_read_accept(&z, "arena")) {
        const int64_t bytes = tn_i_read_integer_in(&z, 0, INT64_MAX);
        tn_i_read_expect(&z, "base");
        tn_i_l_arena(&z.b, (uint32_t)tn_i_read_integer_in(&z, 0, 1 << 24), bytes);
    }
    while (!z.b.failed && !(z.b.depth == 0 && tn_i_read_next_is(&z, "}"))) statement(&z);
    tn_i_read_expect(&z, "}");
    if (!z.b.failed && z.token.kind != TN_T_END) tn_i_read_wrong(&z, "expected the end");
    tn_i_free(c, z.slot, z.nslot * sizeof *z.slot);
    return tn_i_l_end_unchecked(&z.b);
}
