/* print, progress and assert: equations without outputs that tell the observer of a call something, or stop it.
 *
 * They read values and make none, so no rule has anything to derive: they stay with the values they
 * read.  `effect` keeps them through every transformation, once and in order. */
#include "prims/c_text.h"
#include "prims/ids.h"
#include "prims/arrays/layout.h"
#include "prims/sample.h"
#include "prims/strips.h"

#include <stdio.h>
#include <string.h>

enum { MESSAGE, EVERY };

static const tn_i_spec specs[] = {{.name = "message", .kind = TN_K_STR}, {0}};

static const tn_i_spec progress_specs[] = {
    {.name = "message", .kind = TN_K_STR}, {.name = "every", .kind = TN_K_INT}, {0}};

static bool always(const tn_i_param *p) {
    (void)p;
    return true;
}

static bool type_print(tn_i_query *q) { return tn_i_outputs(q, 0); }

static bool type_progress(tn_i_query *q) {
    if (q->nin == 0) return tn_i_type_fail(q, -1, "needs the number of a step");
    if (q->in[0]->dtype != TN_I64) return tn_i_type_fail(q, 0, "must be i64, the number of a step");
    if (q->p[EVERY].u.i < 1) return tn_i_type_fail(q, -1, "every=%lld is not positive", (long long)q->p[EVERY].u.i);
    return tn_i_outputs(q, 0);
}

static bool type_assert(tn_i_query *q) {
    if (q->in[0]->dtype != TN_BOOL) return tn_i_type_fail(q, 0, "must be bool");
    return tn_i_outputs(q, 0);
}

/* Once, with what is batched as it is: all batch elements at a time. */
static void batch_effect(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    (void)batched, (void)out, (void)out_batched;
    (void)tn_i_emit_like(r->b, r->e, r->in);
}

static void cost_effect(const tn_i_query *q, tn_i_cost *cost) {
    *cost = (tn_i_cost){.equations = 1};
    for (uint32_t i = 0; i < q->nin; i++) cost->bytes += (double)tn_type_bytes(q->in[i]);
}

/* ---- telling --------------------------------------------------------------------------- */

static bool padded(size_t n, size_t *total) { return tn_i_add(*total, n, total) && tn_i_add(*total, -n & 63, total); }

/* The list of arrays, then room to make each row-major. */
static size_t scratch_effect(const tn_i_query *q) {
    size_t list, total = 0;
    if (!tn_i_mul(q->nin, sizeof(tn_effect_array), &list) || !padded(list, &total)) return SIZE_MAX;
    for (uint32_t i = 0; i < q->nin; i++)
        if (!padded(tn_type_bytes(q->in[i]), &total)) return SIZE_MAX;
    return total;
}

static bool is_dense(const tn_i_arr *a) {
    int64_t want[TN_MAX_RANK];
    tn_i_dense_strides(a->type, want);
    for (int d = 0; d < a->type->rank; d++)
        if (a->type->dim[d] > 1 && a->stride[d] != want[d]) return false;
    return true;
}

/* The operands as row-major arrays; those that are not are copied behind the list. */
static const tn_effect_array *arrays(const tn_i_kernel *k) {
    tn_effect_array *list = k->scratch;
    size_t at = 0;
    (void)padded(k->nin * sizeof *list, &at);
    for (uint32_t i = 0; i < k->nin; i++) {
        const tn_i_arr *a = &k->in[i];
        list[i] = (tn_effect_array){.type = a->type, .data = a->data};
        if (tn_i_count(a->type) && !is_dense(a)) {
            tn_i_arr copy = {.type = a->type, .data = (char *)k->scratch + at};
            tn_i_dense_strides(a->type, copy.stride);
            tn_i_copy_array(a, &copy);
            list[i].data = copy.data;
        }
        (void)padded(tn_type_bytes(a->type), &at);
    }
    return list;
}

static int tell(const tn_i_kernel *k, tn_effect_kind kind, const tn_effect_array *list) {
    if (!k->observer || !k->observer->call) return 0;
    const tn_effect e = {.size = sizeof e,
                         .kind = kind,
                         .message = k->p[MESSAGE].u.str,
                         .file = k->loc ? k->loc->file : "",
                         .line = k->loc ? (int)k->loc->line : 0,
                         .scope = k->loc ? k->loc->scope : "",
                         .n = k->nin,
                         .array = list};
    return k->observer->call(k->observer->user, &e);
}

static tn_status run_print(const tn_i_kernel *k) {
    if (!k->observer || !k->observer->call) return TN_OK;
    const int status = tell(k, TN_PRINT, arrays(k));
    if (!status) return TN_OK;
    (void)snprintf(k->message, 256, "the observer returned %d", status);
    return TN_ECALLBACK;
}

/* Whether any of the numbers is a multiple of `every`. */
static bool due(const tn_i_arr *steps, const int64_t *number, int64_t every) {
    const int64_t n = tn_i_count(steps->type);
    for (int64_t i = 0; i < n; i++)
        if (number[i] % every == 0) return true;
    return false;
}

static tn_status run_progress(const tn_i_kernel *k) {
    if (!k->observer || !k->observer->call) return TN_OK;
    const int64_t every = k->p[EVERY].u.i;
    if (k->in[0].type->rank == 0 && *(const int64_t *)k->in[0].data % every != 0) return TN_OK; /* nearly always */
    const tn_effect_array *list = arrays(k);
    if (!due(&k->in[0], list[0].data, every) || !tell(k, TN_PROGRESS, list)) return TN_OK;
    (void)snprintf(k->message, 256, "cancelled by the observer");
    return TN_ECANCELLED;
}

/* What the observer of a failure returns changes nothing: the call has failed. */
static tn_status run_assert(const tn_i_kernel *k) {
    const int64_t n = tn_i_count(k->in[0].type);
    if (n == 0) return TN_OK;
    const tn_effect_array *list = arrays(k);
    const unsigned char *data = list->data, *wrong = memchr(data, 0, (size_t)n);
    if (!wrong) return TN_OK;
    (void)tell(k, TN_ASSERT, list);
    if (k->in[0].type->rank == 0)
        (void)snprintf(k->message, 256, "%s", k->p[MESSAGE].u.str);
    else
        (void)snprintf(k->message, 256, "%.200s (element %lld of %lld)", k->p[MESSAGE].u.str, (long long)(wrong - data),
                       (long long)n);
    return TN_EASSERT;
}

/* ---- cases for the tests ------------------------------------------------------------------ */

static bool sample_print(tn_i_rng *g, int dtype, tn_i_case *c) {
    const int64_t more = tn_i_pick(g, 0, 2);
    tn_i_case_shape(g, c, 0, dtype, 0, 3);
    for (uint32_t i = 1; i <= (uint32_t)more; i++) tn_i_case_shape(g, c, i, i == 1 ? TN_I32 : TN_F64, 0, 3);
    c->p[MESSAGE] = (tn_i_param){.kind = TN_K_STR, .u.str = "values"};
    return true;
}

static void fill_true(tn_i_rng *r, const tn_i_case *c, uint32_t i, void *data) {
    (void)r;
    memset(data, 1, (size_t)tn_i_count(&c->in[i]));
}

static bool sample_progress(tn_i_rng *g, int dtype, tn_i_case *c) {
    if (!sample_print(g, dtype, c)) return false;
    const int64_t elements[2] = {tn_i_pick(g, 1, 3), tn_i_pick(g, 1, 3)};
    c->in[0] = tn_type_of(TN_I64, (size_t)tn_i_pick(g, 0, 2), elements); /* of several dimensions: of batch elements */
    c->p[EVERY] = (tn_i_param){.kind = TN_K_INT, .u.i = 1};
    return true;
}

static bool sample_assert(tn_i_rng *g, int dtype, tn_i_case *c) {
    tn_i_case_shape(g, c, 0, dtype, 0, 3);
    c->fill = fill_true;
    c->p[MESSAGE] = (tn_i_param){.kind = TN_K_STR, .u.str = "must hold"};
    return true;
}

static void c_assert(const tn_i_c_kernel *k) {
    tn_i_c_open_arr(k->t, "i", k->in[0].type);
    tn_i_text_put(k->t, "if (!in0[");
    tn_i_c_at_arr(k->t, "i", &k->in[0]);
    tn_i_text_put(k->t, "]) return 1; /* an assert does not hold */\n");
    tn_i_c_close(k->t, k->in[0].type->rank, k->in[0].type->dim);
}

/* In quotes, as C has it: nothing in it ends a literal, or is a trigraph. */
static void c_string(tn_i_text *t, const char *s) {
    tn_i_text_put(t, "\"");
    for (; *s; s++) {
        const unsigned char c = (unsigned char)*s;
        if (c < ' ' || c > '~')
            tn_i_text_put(t, "\\%03o", c);
        else if (c == '"' || c == '\\' || c == '?')
            tn_i_text_put(t, "\\%c", c);
        else
            tn_i_text_add(t, s, 1);
    }
    tn_i_text_put(t, "\"");
}

/* Operand i row-major: where it is, or copied to `at` bytes of the scratch. */
static void c_row_major(const tn_i_c_kernel *k, uint32_t i, size_t at) {
    const tn_i_arr *a = &k->in[i];
    if (tn_i_count(a->type) == 0 || is_dense(a)) {
        tn_i_text_put(k->t, "const void *const row%u = in%u;\n", (unsigned)i, (unsigned)i);
        return;
    }
    int64_t dense[TN_MAX_RANK];
    const char *type = tn_i_c_name(a->type->dtype);
    tn_i_dense_strides(a->type, dense);
    tn_i_text_put(k->t, "%s *const row%u = (%s *)(void *)(scratch + %zu);\n", type, (unsigned)i, type, at);
    tn_i_c_open_arr(k->t, "i", a->type);
    tn_i_text_put(k->t, "row%u[", (unsigned)i);
    tn_i_c_at(k->t, "i", a->type->rank, a->type->dim, dense);
    tn_i_text_put(k->t, "] = in%u[", (unsigned)i);
    tn_i_c_at_arr(k->t, "i", a);
    tn_i_text_put(k->t, "];\n");
    tn_i_c_close(k->t, a->type->rank, a->type->dim);
}

static void c_dimensions(const tn_i_c_kernel *k, uint32_t i) {
    const tn_type *t = k->in[i].type;
    if (t->rank == 0) return;
    tn_i_text_put(k->t, "static const int64_t dim%u[] = {", (unsigned)i);
    for (int d = 0; d < t->rank; d++) tn_i_text_put(k->t, "%s%lld", d ? ", " : "", (long long)t->dim[d]);
    tn_i_text_put(k->t, "};\n");
}

/* Declares `told`, the operands as the function takes them, and calls it. */
static void c_call(const tn_i_c_kernel *k, const char *name) {
    size_t at = 0;
    (void)padded(k->nin * sizeof(tn_effect_array), &at);
    for (uint32_t i = 0; i < k->nin; i++) {
        c_dimensions(k, i);
        c_row_major(k, i, at);
        (void)padded(tn_type_bytes(k->in[i].type), &at);
    }
    tn_i_text_put(k->t, "const tansy_array told[] = {");
    for (uint32_t i = 0; i < k->nin; i++) {
        tn_i_text_put(k->t, "%s{\"%s\", %d, ", i ? ", " : "", tn_i_dtype_name(k->in[i].type->dtype),
                      (int)k->in[i].type->rank);
        tn_i_text_put(k->t, k->in[i].type->rank ? "dim%u, row%u}" : "NULL, row%u}", (unsigned)i, (unsigned)i);
    }
    tn_i_text_put(k->t, "%s};\nif (%s(", k->nin ? "" : "{NULL, 0, NULL, NULL}", name);
    c_string(k->t, k->p[MESSAGE].u.str);
    tn_i_text_put(k->t, ", ");
    c_string(k->t, k->loc ? k->loc->file : "");
    tn_i_text_put(k->t, ", %u, %u, told)) return 5;\n", k->loc ? (unsigned)k->loc->line : 0, (unsigned)k->nin);
}

static void c_print(const tn_i_c_kernel *k) {
    *k->tells |= 1;
    c_call(k, "tansy_print");
}

static void c_progress(const tn_i_c_kernel *k) {
    *k->tells |= 2;
    tn_i_text_put(k->t, "int due = 0;\n");
    tn_i_c_open_arr(k->t, "i", k->in[0].type);
    tn_i_text_put(k->t, "due |= in0[");
    tn_i_c_at_arr(k->t, "i", &k->in[0]);
    tn_i_text_put(k->t, "] %% %lld == 0;\n", (long long)k->p[EVERY].u.i);
    tn_i_c_close(k->t, k->in[0].type->rank, k->in[0].type->dim);
    tn_i_text_put(k->t, "if (due) {\n");
    c_call(k, "tansy_progress");
    tn_i_text_put(k->t, "}\n");
}

const tn_prim tn_prim_print = {
    .id = TN_P_print,
    .name = "print",
    .doc = "tells the observer of the call its operands; no outputs, exactly once and in order",
    .nin = -1,
    .flags = TN_F_NODIFF | TN_F_STORED,
    .dtypes = TN_ANY,
    .params = specs,
    .type = type_print,
    .batch = batch_effect,
    .kernel = run_print,
    .c_kernel = c_print,
    .scratch = scratch_effect,
    .effect = always,
    .cost = cost_effect,
    .jvp_bound = 1,
    .transpose_bound = 1,
    .sample = sample_print,
};

const tn_prim tn_prim_progress = {
    .id = TN_P_progress,
    .name = "progress",
    .doc = "tells the observer its operands when operand 0, a step's number, is a multiple of `every`; it may cancel",
    .nin = -1,
    .flags = TN_F_NODIFF,
    .dtypes = 1u << TN_I64,
    .params = progress_specs,
    .type = type_progress,
    .batch = batch_effect,
    .kernel = run_progress,
    .c_kernel = c_progress,
    .scratch = scratch_effect,
    .effect = always,
    .cost = cost_effect,
    .jvp_bound = 1,
    .transpose_bound = 1,
    .sample = sample_progress,
};

const tn_prim tn_prim_assert = {
    .id = TN_P_assert,
    .name = "assert",
    .doc = "stops the call, telling its observer, unless all elements are true; no outputs",
    .nin = 1,
    .flags = TN_F_NODIFF,
    .dtypes = 1u << TN_BOOL,
    .params = specs,
    .type = type_assert,
    .batch = batch_effect,
    .kernel = run_assert,
    .c_kernel = c_assert,
    .scratch = scratch_effect,
    .effect = always,
    .cost = cost_effect,
    .jvp_bound = 1,
    .transpose_bound = 1,
    .sample = sample_assert,
};
