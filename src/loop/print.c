/* Loop programs as text (docs/loop-ir.md). */
#include "loop/inside.h"

#include "base/number.h"
#include "base/text.h"

#include <inttypes.h>
#include <string.h>

typedef struct printer {
    const tn_i_loops *p;
    tn_i_text t;
    uint32_t *name; /* of each operation: its number among values, loops, or reductions */
    int depth;
} printer;

static const char *const roles[] = {"in", "out", "inout", "temp", "scratch", "const"};

static void number(printer *w, int dtype, uint64_t bits) {
    char text[TN_I_NUMBER_TEXT];
    double d;
    float f;
    int32_t i;
    switch (dtype) {
    case TN_F64:
        memcpy(&d, &bits, sizeof d);
        tn_i_format_f64(text, d);
        tn_i_text_put(&w->t, "%s", text);
        break;
    case TN_F32:
        memcpy(&f, &bits, sizeof f);
        tn_i_format_f32(text, f);
        tn_i_text_put(&w->t, "%s", text);
        break;
    case TN_I32:
        memcpy(&i, &bits, sizeof i);
        tn_i_text_put(&w->t, "%" PRId32, i);
        break;
    case TN_BOOL: tn_i_text_put(&w->t, "%u", (unsigned)(bits & 0xff)); break;
    default: tn_i_text_put(&w->t, "%" PRId64, (int64_t)bits); break;
    }
}

static void array(printer *w, const tn_i_l_array *a) {
    tn_i_text_put(&w->t, "  array %s: %s[%" PRId64 "] %s", a->name, tn_i_dtype_name(a->dtype), a->count,
                  roles[a->role]);
    if (a->role == TN_L_CONST) {
        tn_i_text_put(&w->t, " {");
        for (int64_t i = 0; i < a->count; i++) {
            if (i) tn_i_text_put(&w->t, ", ");
            number(w, tn_i_holder(a->dtype), tn_i_l_get(a->dtype, a->data, i));
        }
        tn_i_text_put(&w->t, "}");
    } else
        tn_i_text_put(&w->t, " base %" PRIu32, a->base);
    if (a->at) tn_i_text_put(&w->t, " at %" PRId64, a->at);
    if (a->align != tn_i_dtype_size(a->dtype)) tn_i_text_put(&w->t, " align %" PRIu32, a->align);
    tn_i_text_put(&w->t, "\n");
}

static void value(printer *w, uint32_t k) { tn_i_text_put(&w->t, "v%" PRIu32, w->name[k]); }

/* A term, or the rest: with its sign where something stands in front. */
static void signed_by(printer *w, int64_t by, bool first, bool alone) {
    const uint64_t size = by < 0 ? 0u - (uint64_t)by : (uint64_t)by;
    tn_i_text_put(&w->t, "%s", first ? (by < 0 ? "-" : "") : by < 0 ? " - " : " + ");
    if (alone || size != 1) tn_i_text_put(&w->t, "%" PRIu64, size);
    if (!alone && size != 1) tn_i_text_put(&w->t, " ");
}

/* `zero`: written even where it is 0. */
static bool affine(printer *w, const tn_i_l_affine *a, bool zero) {
    const tn_i_l_term *t = tn_i_l_terms(w->p, a);
    for (uint32_t i = 0; i < a->n; i++) {
        signed_by(w, t[i].by, i == 0, false);
        tn_i_text_put(&w->t, "i%" PRIu32, w->name[t[i].loop]);
    }
    if (a->at || (zero && a->n == 0)) signed_by(w, a->at, a->n == 0, true);
    return a->n || a->at || zero;
}

static void address(printer *w, const tn_i_l_op *o) {
    tn_i_text_put(&w->t, "%s[", w->p->array[o->which].name);
    const bool some = affine(w, &o->at, o->in[0] == TN_L_NONE);
    if (o->in[0] != TN_L_NONE) {
        signed_by(w, o->lo, !some, false);
        tn_i_text_put(&w->t, "clamp(v%" PRIu32 ", %" PRId64 ")", w->name[o->in[0]], o->hi);
    }
    tn_i_text_put(&w->t, "]");
}

static void reduction(printer *w, const tn_i_l_op *o) {
    tn_i_text_put(&w->t, "r%" PRIu32, w->name[o->in[0]]);
    if (o->at.n == 0 && o->at.at == 0) return;
    tn_i_text_put(&w->t, "[");
    (void)affine(w, &o->at, true);
    tn_i_text_put(&w->t, "]");
}

static void operands(printer *w, const tn_i_l_op *o, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        tn_i_text_put(&w->t, " ");
        value(w, o->in[i]);
    }
}

static void call(printer *w, const tn_i_l_op *o) {
    static const char *const words[] = {"", "read ", "write ", "update "};
    tn_i_text_put(&w->t, "call %s(", w->p->kernel[o->which].name);
    for (uint32_t i = 0; i < o->narg; i++) {
        const tn_i_l_arg *a = &w->p->arg[o->arg + i];
        if (i) tn_i_text_put(&w->t, ", ");
        tn_i_text_put(&w->t, "%s", words[a->access]);
        if (a->access != TN_L_INTEGER) tn_i_text_put(&w->t, "%s[", w->p->array[a->array].name);
        (void)affine(w, &a->at, true);
        if (a->access != TN_L_INTEGER) tn_i_text_put(&w->t, " : %" PRId64 "]", a->count);
    }
    tn_i_text_put(&w->t, ")");
}

static void open_loop(printer *w, uint32_t k, const tn_i_l_op *o) {
    int64_t n;
    tn_i_text_put(&w->t, "for i%" PRIu32, w->name[k]);
    if (tn_i_l_known_count(w->p, k, &n) && o->at.at == o->hi)
        tn_i_text_put(&w->t, " < %" PRId64, n);
    else if (o->hi != INT64_MAX || o->in[0] != TN_L_NONE || o->at.n || o->at.at != INT64_MAX) {
        tn_i_text_put(&w->t, " < min(%" PRId64 ", ", o->hi);
        const bool some = affine(w, &o->at, o->in[0] == TN_L_NONE);
        if (o->in[0] != TN_L_NONE) tn_i_text_put(&w->t, "%sv%" PRIu32, some ? " + " : "", w->name[o->in[0]]);
        tn_i_text_put(&w->t, ")");
    }
    if (o->vector) tn_i_text_put(&w->t, " vector %d", o->vector);
    if (o->parallel) tn_i_text_put(&w->t, " parallel");
    if (o->unroll) tn_i_text_put(&w->t, " unroll %d", o->unroll);
    tn_i_text_put(&w->t, " {");
}

static void within(printer *w, const tn_i_l_op *o) {
    tn_i_text_put(&w->t, "within ");
    if (o->lo != INT64_MIN) tn_i_text_put(&w->t, "%" PRId64 " <= ", o->lo);
    (void)affine(w, &o->at, true);
    if (o->hi != INT64_MAX) tn_i_text_put(&w->t, " < %" PRId64, o->hi);
}

static void map(printer *w, const tn_i_l_op *o) {
    tn_i_text_put(&w->t, "%s", tn_i_l_rows[o->code].name);
    if (o->code == TN_L_fn) {
        const tn_prim *prim = w->p->ctx->prims[o->which];
        tn_i_text_put(&w->t, " %s", prim->name);
        if (prim->params) tn_i_text_put(&w->t, "(%" PRId64 ")", o->lo);
    }
    operands(w, o, o->nin);
}

/* What stands behind `=`. */
static void defined(printer *w, const tn_i_l_op *o) {
    switch (o->kind) {
    case TN_L_NUMBER:
        tn_i_text_put(&w->t, "number ");
        number(w, o->dtype, o->bits);
        break;
    case TN_L_INDEX:
        tn_i_text_put(&w->t, "index ");
        (void)affine(w, &o->at, true);
        break;
    case TN_L_WITHIN: within(w, o); break;
    case TN_L_MAP: map(w, o); break;
    case TN_L_LOAD:
        tn_i_text_put(&w->t, "load ");
        address(w, o);
        if (o->in[1] != TN_L_NONE)
            tn_i_text_put(&w->t, " where v%" PRIu32 " else v%" PRIu32, w->name[o->in[1]], w->name[o->in[2]]);
        break;
    case TN_L_CARRY:
    case TN_L_LAST:
        tn_i_text_put(&w->t, o->kind == TN_L_CARRY ? "carry" : "last");
        operands(w, o, 1);
        break;
    case TN_L_HALVES:
        tn_i_text_put(&w->t, "halves %s", tn_i_l_fold_name(o->code));
        operands(w, o, 1);
        break;
    case TN_L_JOIN:
        tn_i_text_put(&w->t, "join");
        operands(w, o, 2);
        break;
    default:
        tn_i_text_put(&w->t, "total ");
        reduction(w, o);
        break;
    }
}

static void statement(printer *w, uint32_t k, const tn_i_l_op *o) {
    switch (o->kind) {
    case TN_L_REDUCE:
        tn_i_text_put(&w->t, "r%" PRIu32 ": %s = reduce %s", w->name[k], tn_i_dtype_name(o->dtype),
                      tn_i_l_fold_name(o->code));
        if (o->hi != 1) tn_i_text_put(&w->t, " %" PRId64, o->hi);
        break;
    case TN_L_INTO:
        tn_i_text_put(&w->t, "into ");
        reduction(w, o);
        tn_i_text_put(&w->t, " = v%" PRIu32, w->name[o->in[1]]);
        break;
    case TN_L_STORE:
        if (o->update)
            tn_i_text_put(&w->t, "update %s ", tn_i_l_rows[o->code].name);
        else
            tn_i_text_put(&w->t, "store ");
        address(w, o);
        tn_i_text_put(&w->t, " = v%" PRIu32, w->name[o->in[2]]);
        if (o->in[1] != TN_L_NONE) tn_i_text_put(&w->t, " where v%" PRIu32, w->name[o->in[1]]);
        break;
    case TN_L_NEXT: tn_i_text_put(&w->t, "next v%" PRIu32 " = v%" PRIu32, w->name[o->in[0]], w->name[o->in[1]]); break;
    case TN_L_WHILE:
        tn_i_text_put(&w->t, "while");
        operands(w, o, 1);
        break;
    case TN_L_CALL: call(w, o); break;
    case TN_L_FOR: open_loop(w, k, o); break;
    case TN_L_IF:
        tn_i_text_put(&w->t, "if");
        operands(w, o, 1);
        tn_i_text_put(&w->t, " {");
        break;
    case TN_L_ELSE: tn_i_text_put(&w->t, "} else {"); break;
    case TN_L_END: tn_i_text_put(&w->t, "}"); break;
    default:
        tn_i_text_put(&w->t, "v%" PRIu32 ": %s = ", w->name[k], tn_i_dtype_name(o->dtype));
        defined(w, o);
        break;
    }
}

static void operation(printer *w, uint32_t k) {
    const tn_i_l_op *o = &w->p->op[k];
    if (o->kind == TN_L_END || o->kind == TN_L_ELSE) w->depth--;
    tn_i_text_put(&w->t, "%*s", 2 * w->depth + 2, "");
    statement(w, k, o);
    tn_i_text_put(&w->t, "\n");
    if (o->kind == TN_L_FOR || o->kind == TN_L_IF || o->kind == TN_L_ELSE) w->depth++;
}

static bool number_names(printer *w) {
    const tn_i_loops *p = w->p;
    uint32_t values = 0, loops = 0, reductions = 0;
    if (p->nop && !(w->name = tn_i_alloc_array(p->ctx, p->nop, sizeof *w->name))) return false;
    for (uint32_t k = 0; k < p->nop; k++) {
        if (tn_i_l_has_value(&p->op[k])) w->name[k] = values++;
        if (p->op[k].kind == TN_L_FOR) w->name[k] = loops++;
        if (p->op[k].kind == TN_L_REDUCE) w->name[k] = reductions++;
    }
    return true;
}

char *tn_i_l_print(const tn_i_loops *p, size_t *n) {
    printer w = {.p = p, .t = {.ctx = p->ctx}};
    char *text = NULL;
    if (number_names(&w)) {
        tn_i_text_put(&w.t, "loop {\n");
        for (uint32_t i = 0; i < p->narray; i++) array(&w, &p->array[i]);
        if (p->arena != TN_L_NONE) tn_i_text_put(&w.t, "  arena %" PRId64 " base %" PRIu32 "\n", p->bytes, p->arena);
        for (uint32_t k = 0; k < p->nop && !w.t.failed; k++) operation(&w, k);
        tn_i_text_put(&w.t, "}\n");
        if (!w.t.failed && (text = tn_i_owned_text(p->ctx, w.t.at, w.t.n)) && n) *n = w.t.n;
    }
    if (w.name) tn_i_free(p->ctx, w.name, p->nop * sizeof *w.name);
    tn_i_text_free(&w.t);
    return text;
}

void tn_i_l_statement(const tn_i_loops *p, uint32_t k, char *text, size_t n) {
    printer w = {.p = p, .t = {.ctx = p->ctx}};
    text[0] = 0;
    if (number_names(&w)) statement(&w, k, &p->op[k]);
    if (!w.t.failed && w.t.n) {
        const size_t m = w.t.n < n ? w.t.n : n - 1;
        memcpy(text, w.t.at, m);
        text[m] = 0;
    }
    if (w.name) tn_i_free(p->ctx, w.name, p->nop * sizeof *w.name);
    tn_i_text_free(&w.t);
}
