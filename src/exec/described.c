/* What is known of the arguments of a call, against what the program takes. */
#include "exec/described.h"

#include "plan/strides.h"
#include "structs/structs.h"

#include <stdio.h>

const char tn_described[] = "tn_described";

tn_i_argument tn_i_argument_of(const tn_type *t, const int64_t *stride) {
    tn_i_argument a = {.type = t, .over = UINT32_MAX};
    const int64_t bytes = (int64_t)tn_i_dtype_size(t->dtype);
    if (tn_i_count(t) == 0) return a;
    int64_t dense[TN_MAX_RANK];
    tn_i_dense_strides(t, dense);
    if (!stride) stride = dense;
    a.high = bytes;
    for (int i = 0; i < t->rank; i++)
        *(stride[i] < 0 ? &a.low : &a.high) += t->dim[i] > 1 ? (t->dim[i] - 1) * stride[i] * bytes : 0;
    return a;
}

/* ---- one list ----------------------------------------------------------------------- */

static bool refuse(char *why, size_t size, const char *what, uint32_t i, const tn_type *t, const char *reason) {
    char text[TN_I_TYPE_TEXT];
    (void)snprintf(why, size, "%s %u (%s) %s", what, (unsigned)i, tn_i_type_text(text, t), reason);
    return false;
}

/* missing: the type of the first that is. */
static bool refuse_count(const tn_type *missing, size_t n, const char *what, size_t given, char *why, size_t size) {
    char text[TN_I_TYPE_TEXT];
    if (missing)
        (void)snprintf(why, size, "%zu %ss are given, the program has %zu: %s %zu (%s) is missing", given, what, n,
                       what, given, tn_i_type_text(text, missing));
    else
        (void)snprintf(why, size, "%zu %ss are given, the program has %zu", given, what, n);
    return false;
}

static bool fits(const tn_i_argument *a, uint32_t i, const char *what, const tn_buffer *b, char *why, size_t size) {
    char reason[96];
    if (!b->at.in) return true; /* looked at later: an output may be absent, an input without elements too */
    /* C's pointers tell how wide integers are; with or without a sign they are the same memory, and halves are bits */
    const int want = a->type->dtype;
    const bool alike = tn_i_is_int(b->dtype) && (tn_i_is_int(want) || tn_i_is_half(want)) &&
                       tn_i_dtype_size(b->dtype) == tn_i_dtype_size(want);
    if (b->dtype != TN_BUFFER_ANY && b->dtype != a->type->dtype && !alike) {
        (void)snprintf(reason, sizeof reason, "is given a buffer of %s",
                       b->dtype == TN_BUFFER_NONE ? "elements that no array has" : tn_i_dtype_name(b->dtype));
        return refuse(why, size, what, i, a->type, reason);
    }
    if (b->bytes && a->low == 0 && b->bytes < (uint64_t)a->high) {
        (void)snprintf(reason, sizeof reason, "takes %lld bytes and is given an array of %zu", (long long)a->high,
                       b->bytes);
        return refuse(why, size, what, i, a->type, reason);
    }
    return true;
}

/* Arguments that are being taken: for the program's, or for those of these types. */
typedef struct taking {
    const tn_i_argument *a;
    const tn_type *type; /* where a is NULL */
    const char *what;
    const void **address;
    uint32_t i; /* the next one */
    bool moved;
    char *why;
    size_t size;
} taking;

static tn_i_argument next_argument(const taking *t) {
    return t->a ? t->a[t->i] : tn_i_argument_of(&t->type[t->i], NULL);
}

static const tn_type *next_type(const taking *t) { return t->a ? t->a[t->i].type : &t->type[t->i]; }

static void set(taking *t, const void *to) {
    const void **address = &t->address[t->i++];
    if (t->a && *address == to) return; /* else nothing is there yet */
    *address = to;
    t->moved = true;
}

/* ---- structs ------------------------------------------------------------------------ */

static bool is_struct(const tn_buffer *b) { return b->dtype == TN_BUFFER_IN || b->dtype == TN_BUFFER_OUT; }

/* A struct, with where it is. */
typedef struct given_struct {
    const tn_struct *of;
    const char *at;
    bool floats;
    taking *t;
    size_t n; /* of its arrays that count */
} given_struct;

static given_struct struct_of(taking *t, const tn_buffer *b) {
    if (b->dtype == TN_BUFFER_IN) {
        const tn_struct_in *s = b->at.in;
        return s ? (given_struct){s->of, s->at, s->part == TN_STRUCT_FLOATS, t, 0} : (given_struct){.t = t};
    }
    const tn_struct_out *s = b->at.out;
    return s ? (given_struct){s->of, s->at, s->part == TN_STRUCT_FLOATS, t, 0} : (given_struct){.t = t};
}

static bool count_member(void *user, const tn_i_member *m) {
    given_struct *g = user;
    g->n += !g->floats || tn_i_is_float(m->type->dtype);
    return true;
}

static bool refuse_member(const given_struct *g, const tn_i_member *m, const tn_type *wanted) {
    char name[160], reason[TN_I_TYPE_TEXT + 256], text[TN_I_TYPE_TEXT];
    (void)tn_i_member_name(m, name, sizeof name);
    (void)snprintf(reason, sizeof reason, "is given %.64s.%s, which is %s", g->of->name ? g->of->name : "a struct",
                   name, tn_i_type_text(text, m->type));
    return refuse(g->t->why, g->t->size, g->t->what, g->t->i, wanted, reason);
}

static bool take_member(void *user, const tn_i_member *m) {
    given_struct *g = user;
    if (g->floats && !tn_i_is_float(m->type->dtype)) return true;
    const tn_i_argument a = next_argument(g->t);
    const bool inside = a.low == 0 && (uint64_t)a.high <= tn_type_bytes(m->type);
    if (!tn_type_equal(m->type, a.type) || !inside) return refuse_member(g, m, a.type);
    set(g->t, g->at ? g->at + m->offset : NULL);
    return true;
}

/* ---- all that are given --------------------------------------------------------------- */

/* How many arguments a list stands for; false where a struct's description is wrong. */
static bool count_given(taking *t, const tn_buffer_list *list, size_t *n) {
    char wrong[TN_I_STRUCT_WRONG];
    size_t arrays;
    *n = 0;
    for (size_t k = 0; k < list->n; k++) {
        if (!is_struct(&list->v[k])) {
            ++*n;
            continue;
        }
        given_struct g = struct_of(t, &list->v[k]);
        if (!tn_i_struct_right(g.of, &arrays, wrong)) {
            (void)snprintf(t->why, t->size, "%s %zu: %s", t->what, *n, wrong);
            return false;
        }
        (void)tn_i_struct_walk(g.of, count_member, &g);
        *n += g.n;
    }
    return true;
}

static bool take_list(taking *t, size_t n, const tn_buffer_list *list) {
    size_t given;
    if (!count_given(t, list, &given)) return false;
    if (given != n) {
        t->i = given < n ? (uint32_t)given : 0;
        return refuse_count(given < n ? next_type(t) : NULL, n, t->what, given, t->why, t->size);
    }
    for (size_t k = 0; k < list->n; k++) {
        if (is_struct(&list->v[k])) {
            given_struct g = struct_of(t, &list->v[k]);
            if (!tn_i_struct_walk(g.of, take_member, &g)) return false;
            continue;
        }
        const tn_i_argument a = next_argument(t);
        if (!fits(&a, t->i, t->what, &list->v[k], t->why, t->size)) return false;
        set(t, list->v[k].at.in);
    }
    return true;
}

bool tn_i_take(const tn_i_argument *a, uint32_t n, const char *what, const void *const *given, const void **address,
               bool *moved, char *why, size_t size) {
    taking t = {.a = a, .what = what, .address = address, .why = why, .size = size};
    bool ok = true;
    if (tn_i_is_described(given, n))
        ok = take_list(&t, n, given[1]);
    else
        for (uint32_t i = 0; i < n; i++) set(&t, given ? given[i] : NULL);
    if (t.moved) *moved = true;
    return ok;
}

tn_status tn_take_arguments(size_t n, const tn_type *type, const void *const *given, const void **at, char *why,
                            size_t size) {
    char none[1];
    if (!why || !size) {
        why = none;
        size = sizeof none;
    }
    why[0] = 0;
    if (n == 0) return TN_OK;
    if (!type || !at || n > UINT32_MAX) {
        (void)snprintf(why, size, "tn_take_arguments: type or at is NULL");
        return TN_EINVAL;
    }
    taking t = {.type = type, .what = "argument", .address = at, .why = why, .size = size};
    if (tn_i_is_described(given, (uint32_t)n)) return take_list(&t, n, given[1]) ? TN_OK : TN_EINVAL;
    for (size_t i = 0; i < n; i++) at[i] = given ? given[i] : NULL;
    return TN_OK;
}

/* ---- memory that is shared ------------------------------------------------------------ */

static bool overlap(const tn_i_argument *a, const void *x, const tn_i_argument *b, const void *y) {
    if (!x || !y || a->low == a->high || b->low == b->high) return false;
    const uintptr_t p = (uintptr_t)x, q = (uintptr_t)y;
    return p + (uintptr_t)a->low < q + (uintptr_t)b->high && q + (uintptr_t)b->low < p + (uintptr_t)a->high;
}

static bool refuse_shared(const tn_i_argument *a, uint32_t nin, uint32_t j, uint32_t k, char *why, size_t size) {
    char text[TN_I_TYPE_TEXT];
    const bool in = k < nin;
    (void)snprintf(why, size, "output %u (%s) shares memory with %s %u%s", (unsigned)(j - nin),
                   tn_i_type_text(text, a[j].type), in ? "input" : "output", (unsigned)(in ? k : k - nin),
                   !in              ? ""
                   : a[j].over == k ? ", but does not begin where it does"
                                    : ", and tn_compile_options.alias does not say so");
    return false;
}

bool tn_i_apart(const tn_i_argument *a, uint32_t nin, uint32_t nout, const void *const *address, char *why,
                size_t size) {
    for (uint32_t j = nin; j < nin + nout; j++)
        for (uint32_t k = 0; k < j; k++) {
            if (!overlap(&a[j], address[j], &a[k], address[k])) continue;
            if (a[j].over == k && address[j] == address[k]) continue;
            return refuse_shared(a, nin, j, k, why, size);
        }
    return true;
}
