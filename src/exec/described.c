/* What is known of the arguments of a call, against what the program takes. */
#include "exec/described.h"

#include "exec/strides.h"

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
    if (b->dtype != TN_BUFFER_ANY && b->dtype != a->type->dtype) {
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

static void set(const void **address, const void *to, bool *moved) {
    if (*address == to) return;
    *address = to;
    *moved = true;
}

bool tn_i_take(const tn_i_argument *a, uint32_t n, const char *what, const void *const *given, const void **address,
               bool *moved, char *why, size_t size) {
    if (!tn_i_is_described(given, n)) {
        for (uint32_t i = 0; i < n; i++) set(&address[i], given ? given[i] : NULL, moved);
        return true;
    }
    const tn_buffer_list *list = given[1];
    if (list->n != n) return refuse_count(list->n < n ? a[list->n].type : NULL, n, what, list->n, why, size);
    for (uint32_t i = 0; i < n; i++) {
        if (!fits(&a[i], i, what, &list->v[i], why, size)) return false;
        set(&address[i], list->v[i].at.in, moved);
    }
    return true;
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
    if (!tn_i_is_described(given, (uint32_t)n)) {
        for (size_t i = 0; i < n; i++) at[i] = given ? given[i] : NULL;
        return TN_OK;
    }
    const tn_buffer_list *list = given[1];
    if (list->n != n) {
        (void)refuse_count(list->n < n ? &type[list->n] : NULL, n, "argument", list->n, why, size);
        return TN_EINVAL;
    }
    for (uint32_t i = 0; i < n; i++) {
        const tn_i_argument a = tn_i_argument_of(&type[i], NULL);
        if (!fits(&a, i, "argument", &list->v[i], why, size)) return TN_EINVAL;
        at[i] = list->v[i].at.in;
    }
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
