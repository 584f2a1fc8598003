/* A nest as plain loops.  The value of operation 7 is v7, the array 2 is p2, loop 1 counts i1.
 *
 * Reductions of rows, and of everything to one number, are in the order of exec/nest.h, by functions that collect
 * leaves; those with many results side by side take their elements one after another. */
#include "emit/c99.h"

#include <inttypes.h>
#include <string.h>

/* ---- the writer ------------------------------------------------------------------------------ */

typedef struct writer {
    tn_i_c99 *w;
    tn_i_text *t;
    const tn_i_plan *p;
    const tn_i_step *s;
    const tn_i_nest *n;
    uint32_t inner; /* mask of the inner loops */
    bool used[TN_NEST_OPS];
    bool aside[TN_NEST_OPS]; /* a number that is a variable */
    size_t at[TN_NEST_OPS];  /* offset at s of buffers and columns */
    int64_t kept[TN_NEST_OPS];
    int64_t by[TN_NEST_OPS][TN_MAX_RANK];
} writer;

static bool of_row(const writer *k, const tn_i_nest_op *o) { return o->kind == TN_NEST_REDUCE && o->over == k->inner; }

static bool sunk(const writer *k, const tn_i_nest_op *o) {
    const tn_i_nest_op *x = &k->n->op[o->in[0]];
    return o->kind == TN_NEST_STORE && x->kind == TN_NEST_REDUCE && !of_row(k, x);
}

static bool finds(const tn_i_nest_op *o) { return o->fold == TN_FOLD_ARGMAX || o->fold == TN_FOLD_ARGMIN; }

static int folded(const writer *k, const tn_i_nest_op *o) { return k->n->op[o->in[0]].dtype; }

static void fold_name(const writer *k, const tn_i_nest_op *o, char name[32]) {
    tn_i_fold_name(o->fold, folded(k, o), name);
}

/* ---- what is known before a line is written ------------------------------------------------------ */

/* A literal may stand in the text of arithmetic. */
static bool plain_body(const char *body) { return body && !strchr(body, '?') && !strchr(body, '!'); }

static const char *body_of(const writer *k, const tn_i_nest_op *o) {
    tn_type in[4] = {{0}}, out = {.dtype = o->dtype};
    const tn_type *type[4] = {&in[0], &in[1], &in[2], &in[3]};
    const char *body = NULL;
    for (uint32_t i = 0; i < o->nin && i < 4; i++) in[i].dtype = k->n->op[o->in[i]].dtype;
    const tn_i_query q = {
        .ctx = k->w->ctx, .prim = o->eqn->prim, .p = tn_i_p(o->eqn), .nin = o->nin, .nout = 1, .in = type, .out = &out};
    (void)tn_i_scalar_body(&q, &body);
    return body;
}

static void look_at_reader(writer *k, const tn_i_nest_op *o) {
    const char *body = o->kind == TN_NEST_MAP ? body_of(k, o) : NULL;
    for (uint32_t j = 0; j < o->nin; j++) {
        const tn_i_nest_op *from = &k->n->op[o->in[j]];
        k->used[o->in[j]] = true;
        if (from->kind != TN_NEST_NUMBER) continue;
        const bool literal = o->kind == TN_NEST_STORE || (plain_body(body) && tn_i_is_float(from->dtype));
        if (!literal) k->aside[o->in[j]] = true;
    }
    if (o->kind != TN_NEST_LOAD || !k->n->array[o->array].boxed) return;
    const uint32_t fill = k->n->array[o->array].fill;
    k->used[fill] = true;
}

static void take(size_t *end, size_t bytes, size_t *at) {
    *at = (*end + 63) & ~(size_t)63;
    *end = *at + bytes;
}

static void plan_memory(writer *k) {
    const tn_i_nest *n = k->n;
    size_t end = 0;
    for (uint32_t i = 0; i < n->nop; i++) {
        const tn_i_nest_op *o = &n->op[i];
        if (o->crosses) take(&end, (size_t)n->row * tn_i_dtype_size(o->dtype), &k->at[i]);
        if (o->kind != TN_NEST_REDUCE) continue;
        k->kept[i] = 1;
        for (uint32_t l = n->nloop; l-- > 0;) {
            if (o->over >> l & 1 || (of_row(k, o) && l < n->nouter)) continue;
            if (o->level == TN_NEST_ROW && l >= n->nouter) continue;
            k->by[i][l] = k->kept[i];
            k->kept[i] *= n->size[l];
        }
        if (k->kept[i] > 1) take(&end, (size_t)k->kept[i] * (finds(o) ? 24 : tn_i_dtype_size(folded(k, o))), &k->at[i]);
    }
    if (end > k->w->shared) k->w->shared = end;
}

/* ---- pieces of text ---------------------------------------------------------------------------------- */

static void put_index(writer *k, const int64_t *by) { tn_i_c_at(k->t, "i", (int)k->n->nloop, k->n->size, by); }

/* The number of the element in its row. */
static void put_element(writer *k) {
    int64_t by[TN_MAX_RANK] = {0}, n = 1;
    for (uint32_t l = k->n->nloop; l-- > k->n->nouter;) {
        by[l] = n;
        n *= k->n->size[l];
    }
    put_index(k, by);
}

static void put_array(writer *k, const tn_i_nest_array *a, uint32_t number) {
    tn_i_text_put(k->t, "p%u[", (unsigned)number);
    if (a->offset) tn_i_text_put(k->t, "%" PRId64 " + ", a->offset);
    put_index(k, a->stride);
    tn_i_text_put(k->t, "]");
}

static void put_value(writer *k, tn_i_text *t, uint32_t i, const tn_i_nest_op *reader) {
    const tn_i_nest_op *o = &k->n->op[i];
    if (o->kind == TN_NEST_NUMBER && !k->aside[i]) {
        tn_i_text number = {.ctx = k->w->ctx};
        tn_i_c_number(&number, o->dtype, &o->bits);
        const bool parens = number.at && number.at[0] == '-';
        tn_i_text_put(t, parens ? "(%s)" : "%s", number.at ? number.at : "0");
        t->failed |= number.failed;
        tn_i_text_free(&number);
        return;
    }
    if (o->crosses && reader && reader->phase > o->phase) {
        tn_i_text_put(t, "b%u[", (unsigned)i);
        tn_i_text *was = k->t;
        k->t = t;
        put_element(k);
        k->t = was;
        tn_i_text_put(t, "]");
        return;
    }
    tn_i_text_put(t, "v%u", (unsigned)i);
}

static void define(writer *k, uint32_t i) {
    tn_i_text_put(k->t, "const %s v%u = ", tn_i_c_name(k->n->op[i].dtype), (unsigned)i);
}

/* ---- operations ------------------------------------------------------------------------------------------ */

static void write_load(writer *k, uint32_t i) {
    const tn_i_nest_op *o = &k->n->op[i];
    const tn_i_nest_array *a = &k->n->array[o->array];
    bool some = false;
    define(k, i);
    for (uint32_t l = 0; a->boxed && l < k->n->nloop; l++) {
        if (a->lo[l] <= 0 && a->hi[l] >= k->n->size[l]) continue;
        if (a->lo[l] > 0)
            tn_i_text_put(k->t, "%si%u >= %" PRId64, some ? " && " : "", (unsigned)l, a->lo[l]), some = true;
        if (a->hi[l] < k->n->size[l])
            tn_i_text_put(k->t, "%si%u < %" PRId64, some ? " && " : "", (unsigned)l, a->hi[l]), some = true;
    }
    if (some) tn_i_text_put(k->t, " ? ");
    put_array(k, a, o->array);
    if (some) {
        tn_i_text_put(k->t, " : ");
        put_value(k, k->t, o->nin ? o->in[0] : a->fill, NULL);
    }
    tn_i_text_put(k->t, ";\n");
}

/* The index is clipped; where it says so, others than that are given a number. */
static void write_lookup(writer *k, uint32_t i) {
    const tn_i_nest_op *o = &k->n->op[i];
    const tn_i_nest_array *a = &k->n->array[o->array];
    tn_i_text x = {.ctx = k->w->ctx};
    put_value(k, &x, o->in[0], o);
    const char *at = x.at ? x.at : "0";
    define(k, i);
    if (o->fills) {
        tn_i_text_put(k->t, "%s < 0 || %s > %" PRId64 " ? ", at, at, o->first);
        tn_i_c_number(k->t, o->dtype, &o->bits);
        tn_i_text_put(k->t, " : ");
    }
    tn_i_text_put(k->t, "p%u[", (unsigned)o->array);
    if (a->offset) tn_i_text_put(k->t, "%" PRId64 " + ", a->offset);
    tn_i_text_put(k->t, "(%s < 0 ? 0 : %s > %" PRId64 " ? %" PRId64 " : (int64_t)%s) * (%" PRId64 ")];\n", at, at,
                  o->first, o->first, at, o->by);
    k->t->failed |= x.failed;
    tn_i_text_free(&x);
}

static void write_iota(writer *k, uint32_t i) {
    const tn_i_nest_op *o = &k->n->op[i];
    define(k, i);
    tn_i_text_put(k->t, o->dtype == TN_I32 ? "(int32_t)(uint32_t)(" : "(%s)(", tn_i_c_name(o->dtype));
    if (o->loop < k->n->nloop && k->n->size[o->loop] != 1) {
        tn_i_text_put(k->t, "i%u", (unsigned)o->loop);
        if (o->by != 1) tn_i_text_put(k->t, " * (%" PRId64 ")", o->by);
        if (o->first) tn_i_text_put(k->t, " + (%" PRId64 ")", o->first);
    } else
        tn_i_text_put(k->t, "%" PRId64, o->first);
    tn_i_text_put(k->t, ");\n");
}

/* Compilers warn of a variable that is compared with itself: it has another name then. */
static void name_again(writer *k, uint32_t i, const char *body, tn_i_text operand[3]) {
    const tn_i_nest_op *o = &k->n->op[i];
    if (!strpbrk(body, "<>=")) return;
    for (uint32_t j = 1; j < o->nin; j++)
        for (uint32_t h = 0; h < j; h++) {
            if (o->in[h] != o->in[j] || !operand[j].at) continue;
            tn_i_text_put(k->t, "const %s v%u_%u = %s;\n", tn_i_c_name(k->n->op[o->in[j]].dtype), (unsigned)i,
                          (unsigned)j, operand[j].at);
            operand[j].n = 0;
            tn_i_text_put(&operand[j], "v%u_%u", (unsigned)i, (unsigned)j);
            break;
        }
}

static void write_map(writer *k, uint32_t i) {
    const tn_i_nest_op *o = &k->n->op[i];
    const char *body = body_of(k, o), *name[3] = {"", "", ""};
    tn_i_text operand[3];
    if (!body || o->nin > 3) {
        tn_i_c99_refuse(k->w, o->eqn, "has no text in C");
        return;
    }
    for (uint32_t j = 0; j < 3; j++) {
        operand[j] = (tn_i_text){.ctx = k->w->ctx};
        if (j < o->nin) put_value(k, &operand[j], o->in[j], o);
    }
    name_again(k, i, body, operand);
    for (uint32_t j = 0; j < 3; j++)
        if (operand[j].at) name[j] = operand[j].at;
    define(k, i);
    const size_t from = k->t->n;
    const bool cast = tn_i_is_int(o->dtype) && body[0] != 'x';
    if (cast) tn_i_text_put(k->t, "(%s)(", tn_i_c_name(o->dtype));
    tn_i_c99_put(k->t, body, o->dtype, name);
    tn_i_text_put(k->t, cast ? "); /* " : "; /* ");
    if (k->t->at) tn_i_c99_need(k->w, o->eqn->prim->c_helpers, k->t->at + from);
    tn_i_c99_about(k->t, o->eqn);
    tn_i_text_put(k->t, " */\n");
    for (uint32_t j = 0; j < 3; j++) {
        k->t->failed |= operand[j].failed;
        tn_i_text_free(&operand[j]);
    }
}

static void write_fold(writer *k, uint32_t i) {
    const tn_i_nest_op *o = &k->n->op[i];
    char name[32];
    fold_name(k, o, name);
    if (k->kept[i] > 1 && !finds(o)) {
        tn_i_text_put(k->t, "f%u[", (unsigned)i);
        put_index(k, k->by[i]);
        tn_i_text_put(k->t, "] = join_%s(f%u[", name, (unsigned)i);
        put_index(k, k->by[i]);
        tn_i_text_put(k->t, "], ");
    } else if (k->kept[i] > 1) {
        tn_i_text_put(k->t, "add_%s(&f%u[", name, (unsigned)i);
        put_index(k, k->by[i]);
        tn_i_text_put(k->t, "], ");
    } else
        tn_i_text_put(k->t, "add_%s(&f%u, ", name, (unsigned)i);
    put_value(k, k->t, o->in[0], o);
    tn_i_text_put(k->t, ");\n");
}

static void write_op(writer *k, uint32_t i) {
    const tn_i_nest_op *o = &k->n->op[i];
    switch ((tn_i_nest_kind)o->kind) {
    case TN_NEST_LOAD:
        if (k->used[i]) write_load(k, i);
        break;
    case TN_NEST_NUMBER:
        if (!k->aside[i]) break;
        define(k, i);
        tn_i_c_number(k->t, o->dtype, &o->bits);
        tn_i_text_put(k->t, ";\n");
        break;
    case TN_NEST_IOTA:
        if (k->used[i]) write_iota(k, i);
        break;
    case TN_NEST_MAP:
        if (k->used[i]) write_map(k, i);
        break;
    case TN_NEST_LOOKUP:
        if (k->used[i]) write_lookup(k, i);
        break;
    case TN_NEST_REDUCE: write_fold(k, i); return;
    case TN_NEST_STORE:
        put_array(k, &k->n->array[o->array], o->array);
        tn_i_text_put(k->t, " = ");
        put_value(k, k->t, o->in[0], o);
        tn_i_text_put(k->t, ";\n");
        return;
    }
    if (!o->crosses || !k->used[i]) return;
    tn_i_text_put(k->t, "b%u[", (unsigned)i);
    put_element(k);
    tn_i_text_put(k->t, "] = v%u;\n", (unsigned)i);
}

/* ---- declarations -------------------------------------------------------------------------------------------- */

static void declare_arrays(writer *k) {
    const tn_i_eqn *e = &k->p->f->eqn[k->s->eqn];
    for (uint32_t i = 0; i < k->n->narray; i++) {
        const tn_i_nest_array *a = &k->n->array[i];
        bool stored = false, loaded = false;
        for (uint32_t j = 0; j < k->n->nop; j++) {
            const tn_i_nest_op *o = &k->n->op[j];
            stored |= o->kind == TN_NEST_STORE && o->array == i;
            loaded |= (o->kind == TN_NEST_LOAD || o->kind == TN_NEST_LOOKUP) && o->array == i && k->used[j];
        }
        for (uint32_t j = 0; j < k->n->nspot; j++) loaded |= k->n->spot[j].column == i || k->n->spot[j].value == i;
        if (!stored && !loaded) continue;
        const tn_i_var v = a->arg < k->n->nin ? tn_i_in(k->p->f, e)[a->arg] : e->out + (a->arg - k->n->nin);
        tn_i_text_put(k->t, "%s%s *const p%u = ", stored ? "" : "const ", tn_i_c_name(a->dtype), (unsigned)i);
        tn_i_c99_pointer(k->w, k->t, k->p, v, &k->p->place[v], stored);
        tn_i_text_put(k->t, ";\n");
    }
}

static void declare_fold(writer *k, uint32_t i) {
    const tn_i_nest_op *o = &k->n->op[i];
    char name[32], named[40] = "join_";
    fold_name(k, o, name);
    const int dtype = folded(k, o);
    const bool many = k->kept[i] > 1;
    tn_i_c99_need(k->w, tn_i_fold_helpers, many && !finds(o) ? strcat(named, name) : name);
    if (!many) {
        tn_i_text_put(k->t, "%s f%u;\n", name, (unsigned)i);
        if (!of_row(k, o)) tn_i_text_put(k->t, "begin_%s(&f%u);\n", name, (unsigned)i);
        return;
    }
    tn_i_text_put(k->t, "%s *const f%u = (%s *)(void *)(s + %zu);\n", finds(o) ? name : tn_i_c_name(dtype), (unsigned)i,
                  finds(o) ? name : tn_i_c_name(dtype), k->at[i]);
    tn_i_text_put(k->t, "for (int64_t k = 0; k < %" PRId64 "; k++) ", k->kept[i]);
    if (finds(o)) {
        tn_i_text_put(k->t, "begin_%s(&f%u[k]);\n", name, (unsigned)i);
        return;
    }
    tn_i_text_put(k->t, "f%u[k] = ", (unsigned)i);
    tn_i_c99_put(k->t,
                 o->fold == TN_FOLD_SUM    ? "0"
                 : o->fold == TN_FOLD_PROD ? "1"
                 : o->fold == TN_FOLD_MAX  ? "LOWEST"
                                           : "HIGHEST",
                 dtype, NULL);
    tn_i_text_put(k->t, ";\n");
}

static void declare(writer *k) {
    declare_arrays(k);
    for (uint32_t i = 0; i < k->n->nop; i++) {
        const tn_i_nest_op *o = &k->n->op[i];
        if (o->kind == TN_NEST_REDUCE && !(of_row(k, o) && k->kept[i] == 1)) declare_fold(k, i);
        if (!o->crosses) continue;
        tn_i_text_put(k->t, "%s *const b%u = (%s *)(void *)(s + %zu);\n", tn_i_c_name(o->dtype), (unsigned)i,
                      tn_i_c_name(o->dtype), k->at[i]);
    }
}

/* ---- loops ------------------------------------------------------------------------------------------------------- */

static void open(writer *k, uint32_t first, uint32_t end) {
    for (uint32_t l = first; l < end; l++)
        tn_i_text_put(k->t, "for (int64_t i%u = 0; i%u < %" PRId64 "; i%u++) {\n", (unsigned)l, (unsigned)l,
                      k->n->size[l], (unsigned)l);
}

static void close(writer *k, uint32_t first, uint32_t end) {
    for (uint32_t l = first; l < end; l++) tn_i_text_put(k->t, "}\n");
}

static bool of_elements(const writer *k, const tn_i_nest_op *o, uint32_t phase) {
    if (o->phase != phase || o->before || sunk(k, o)) return false;
    return o->level == TN_NEST_ELEMENT || of_row(k, o);
}

static void write_phase(writer *k, uint32_t phase) {
    const tn_i_nest *n = k->n;
    bool some = false;
    char name[32];
    for (uint32_t i = 0; i < n->nop; i++) {
        some |= of_elements(k, &n->op[i], phase);
        if (!of_row(k, &n->op[i]) || n->op[i].phase != phase) continue;
        declare_fold(k, i);
        fold_name(k, &n->op[i], name);
        tn_i_text_put(k->t, "begin_%s(&f%u);\n", name, (unsigned)i);
    }
    if (some) {
        if (n->nouter == n->nloop) tn_i_text_put(k->t, "{\n");
        open(k, n->nouter, n->nloop);
        for (uint32_t i = 0; i < n->nop; i++)
            if (of_elements(k, &n->op[i], phase)) write_op(k, i);
        close(k, n->nouter, n->nloop);
        if (n->nouter == n->nloop) tn_i_text_put(k->t, "}\n");
    }
    for (uint32_t i = 0; i < n->nop; i++) {
        const tn_i_nest_op *o = &n->op[i];
        if (o->phase != phase || o->level != TN_NEST_ROW || o->before || sunk(k, o)) continue;
        if (!of_row(k, o)) {
            write_op(k, i);
            continue;
        }
        fold_name(k, o, name);
        if (!k->used[i]) {
            tn_i_text_put(k->t, "(void)end_%s(&f%u);\n", name, (unsigned)i);
            continue;
        }
        define(k, i);
        tn_i_text_put(k->t, "%send_%s(&f%u); /* ", finds(o) && o->dtype == TN_I32 ? "(int32_t)" : "", name,
                      (unsigned)i);
        tn_i_c99_about(k->t, o->eqn);
        tn_i_text_put(k->t, " */\n");
    }
}

static void write_rows(writer *k) {
    const tn_i_nest *n = k->n;
    open(k, 0, n->nouter);
    for (uint32_t i = 0; i < n->nop; i++)
        if (n->op[i].before && n->op[i].level != TN_NEST_ONCE && !sunk(k, &n->op[i])) write_op(k, i);
    for (uint32_t phase = 0; phase < n->nphase; phase++) write_phase(k, phase);
    close(k, 0, n->nouter);
}

/* A result of a reduction that is no value of rows, for all places of its array. */
static void write_sum(writer *k, uint32_t i) {
    const tn_i_nest *n = k->n;
    const tn_i_nest_op *o = &n->op[i], *from = &n->op[o->in[0]];
    uint32_t opened = 0;
    char name[32];
    fold_name(k, from, name);
    for (uint32_t l = 0; l < n->nloop; l++) {
        if (!k->by[o->in[0]][l]) continue;
        open(k, l, l + 1);
        opened++;
    }
    put_array(k, &n->array[o->array], o->array);
    tn_i_text_put(k->t, " = ");
    if (finds(from) && from->dtype == TN_I32) tn_i_text_put(k->t, "(int32_t)");
    if (k->kept[o->in[0]] == 1 || finds(from)) tn_i_text_put(k->t, "end_%s(&", name);
    tn_i_text_put(k->t, "f%u", (unsigned)o->in[0]);
    if (k->kept[o->in[0]] > 1) {
        tn_i_text_put(k->t, "[");
        put_index(k, k->by[o->in[0]]);
        tn_i_text_put(k->t, "]");
    }
    tn_i_text_put(k->t, k->kept[o->in[0]] == 1 || finds(from) ? "); /* " : "; /* ");
    tn_i_c99_about(k->t, from->eqn);
    tn_i_text_put(k->t, " */\n");
    close(k, 0, opened);
}

/* An element of an array, by the variables of all loops but the innermost. */
static void put_of_row(writer *k, uint32_t array, const char *innermost) {
    const tn_i_nest_array *a = &k->n->array[array];
    tn_i_text_put(k->t, "p%u[%lld", (unsigned)array, (long long)a->offset);
    for (uint32_t d = 0; d + 1 < k->n->nloop; d++)
        if (a->stride[d]) tn_i_text_put(k->t, " + i%u * %lld", (unsigned)d, (long long)a->stride[d]);
    if (innermost) tn_i_text_put(k->t, " + %s * %lld", innermost, (long long)a->stride[k->n->nloop - 1]);
    tn_i_text_put(k->t, "]");
}

/* As tn_i_nest_put_spots. */
static void write_spots(writer *k) {
    const tn_i_nest *n = k->n;
    for (uint32_t q = 0; q < n->nspot; q++) {
        const tn_i_nest_spot *s = &n->spot[q];
        for (uint32_t d = 0; d + 1 < n->nloop; d++)
            tn_i_text_put(k->t, "for (int64_t i%u = 0; i%u < %lld; i%u++) {\n", (unsigned)d, (unsigned)d,
                          (long long)n->size[d], (unsigned)d);
        tn_i_text_put(k->t, "const int64_t j = ");
        put_of_row(k, s->column, NULL);
        tn_i_text_put(k->t, "; /* the element of the row that is another number */\nif (j >= 0 && j < %lld) ",
                      (long long)n->size[n->nloop - 1]);
        put_of_row(k, s->store, "j");
        tn_i_text_put(k->t, " = ");
        put_of_row(k, s->value, NULL);
        tn_i_text_put(k->t, ";\n");
        for (uint32_t d = 0; d + 1 < n->nloop; d++) tn_i_text_put(k->t, "}\n");
    }
}

void tn_i_c99_nest(tn_i_c99 *w, const tn_i_plan *p, const tn_i_step *s, const tn_i_nest *n) {
    writer *k = tn_i_alloc(w->ctx, sizeof *k);
    if (!k) {
        w->failed = true;
        return;
    }
    k->w = w;
    k->t = &w->t;
    k->p = p;
    k->s = s;
    k->n = n;
    k->inner = ((1u << n->nloop) - 1) & ~((1u << n->nouter) - 1);
    for (uint32_t i = 0; i < n->nop; i++) look_at_reader(k, &n->op[i]);
    plan_memory(k);
    tn_i_text_put(k->t, "{\n");
    declare(k);
    for (uint32_t i = 0; i < n->nop; i++)
        if (n->op[i].level == TN_NEST_ONCE) write_op(k, i);
    write_rows(k);
    for (uint32_t i = 0; i < n->nop; i++)
        if (sunk(k, &n->op[i])) write_sum(k, i);
    write_spots(k);
    tn_i_text_put(k->t, "}\n");
    tn_i_free(w->ctx, k, sizeof *k);
}

/* ---- elementwise equations that are no nest ------------------------------------------------------------------------
 */

void tn_i_c99_elementwise(tn_i_c99 *w, const tn_i_plan *p, const tn_i_eqn *e) {
    const tn_fn *f = p->f;
    const tn_type *t = f->val[e->out].type, *type[4] = {NULL};
    tn_type out = *t;
    const char *body = NULL, *name[3] = {"", "", ""};
    tn_i_text operand[3];
    int64_t stride[TN_MAX_RANK];
    for (uint32_t i = 0; i < e->nin && i < 4; i++) type[i] = f->val[tn_i_in(f, e)[i]].type;
    const tn_i_query q = {
        .ctx = w->ctx, .prim = e->prim, .p = tn_i_p(e), .nin = e->nin, .nout = 1, .in = type, .out = &out};
    (void)tn_i_scalar_body(&q, &body);
    if (!body || e->nin > 3) {
        tn_i_c99_refuse(w, e, "has no text in C");
        return;
    }
    tn_i_text_put(&w->t, "{\n");
    tn_i_c_open(&w->t, "i", t->rank, t->dim);
    for (uint32_t i = 0; i < e->nin; i++) {
        const tn_i_var v = tn_i_in(f, e)[i];
        tn_i_text_put(&w->t, "const %s v%u = (", tn_i_c_name(type[i]->dtype), (unsigned)i);
        tn_i_c99_pointer(w, &w->t, p, v, &p->place[v], false);
        tn_i_text_put(&w->t, ")[");
        tn_i_c99_strides(p, type[i], &p->place[v], stride);
        tn_i_c_at(&w->t, "i", type[i]->rank, type[i]->dim, stride);
        tn_i_text_put(&w->t, "];\n");
    }
    for (uint32_t i = 0; i < 3; i++) {
        operand[i] = (tn_i_text){.ctx = w->ctx};
        tn_i_text_put(&operand[i], "v%u", (unsigned)i);
        if (operand[i].at) name[i] = operand[i].at;
    }
    tn_i_text_put(&w->t, "(");
    tn_i_c99_pointer(w, &w->t, p, e->out, &p->place[e->out], true);
    tn_i_text_put(&w->t, ")[");
    tn_i_c99_strides(p, t, &p->place[e->out], stride);
    tn_i_c_at(&w->t, "i", t->rank, t->dim, stride);
    tn_i_text_put(&w->t, "] = (%s)(", tn_i_c_name(t->dtype));
    const size_t from = w->t.n;
    tn_i_c99_put(&w->t, body, t->dtype, name);
    if (w->t.at) tn_i_c99_need(w, e->prim->c_helpers, w->t.at + from);
    tn_i_text_put(&w->t, ");\n");
    tn_i_c_close(&w->t, t->rank, t->dim);
    tn_i_text_put(&w->t, "}\n");
    for (uint32_t i = 0; i < 3; i++) {
        w->t.failed |= operand[i].failed;
        tn_i_text_free(&operand[i]);
    }
}
