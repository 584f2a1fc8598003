#include "base/axes.h"

#include <stdio.h>
#include <string.h>

size_t tn_i_dtype_size(int dtype) {
    static const size_t size[TN_NDTYPES] = {1, 4, 8, 4, 8, 4, 1, 2, 1, 2, 8, 2, 2};
    return dtype >= 0 && dtype < TN_NDTYPES ? size[dtype] : 0;
}

const char *tn_i_dtype_name(int dtype) {
    static const char *const name[TN_NDTYPES] = {"bool", "i32", "i64", "f32", "f64", "u32", "i8",
                                                 "i16",  "u8",  "u16", "u64", "f16", "bf16"};
    return dtype >= 0 && dtype < TN_NDTYPES ? name[dtype] : "?";
}

int tn_i_holder(int dtype) {
    switch (dtype) {
    case TN_I8:
    case TN_I16: return TN_I32;
    case TN_U8:
    case TN_U16: return TN_U32;
    case TN_U64: return TN_I64;
    case TN_F16:
    case TN_BF16: return TN_F32;
    default: return dtype;
    }
}

tn_type tn_type_of(tn_dtype dtype, size_t rank, const int64_t *dims) {
    tn_type t;
    memset(&t, 0, sizeof t);
    t.dtype = (int32_t)dtype;
    if (rank > TN_MAX_RANK || (rank && !dims)) {
        t.rank = -1;
        return t;
    }
    t.rank = (int32_t)rank;
    for (size_t i = 0; i < rank; i++) t.dim[i] = dims[i];
    return t;
}

size_t tn_type_elements(const tn_type *t) {
    if (!t || t->rank < 0 || t->rank > TN_MAX_RANK) return SIZE_MAX;
    /* zero sizes must not hide an overflow of the others: strides are computed from all of them */
    size_t n = 1;
    bool zero = false;
    for (int i = 0; i < t->rank; i++) {
        if (t->dim[i] == TN_I_STEPS) continue;
        if (t->dim[i] < 0) return SIZE_MAX;
        zero |= t->dim[i] == 0;
        if (t->dim[i] && !tn_i_mul(n, (size_t)t->dim[i], &n)) return SIZE_MAX;
    }
    if (n > INT64_MAX / 16) return SIZE_MAX;
    return zero ? 0 : n;
}

size_t tn_type_bytes(const tn_type *t) {
    size_t n = tn_type_elements(t), bytes;
    if (n == SIZE_MAX || t->dtype < 0 || t->dtype >= TN_NDTYPES) return SIZE_MAX;
    return tn_i_mul(n, tn_i_dtype_size(t->dtype), &bytes) ? bytes : SIZE_MAX;
}

bool tn_type_equal(const tn_type *a, const tn_type *b) {
    if (!a || !b) return a == b;
    if (a->dtype != b->dtype || a->rank != b->rank || a->rank > TN_MAX_RANK) return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dim[i] != b->dim[i]) return false;
    return true;
}

bool tn_i_has_steps(const tn_type *t) {
    for (int i = 0; i < t->rank; i++)
        if (t->dim[i] == TN_I_STEPS) return true;
    return false;
}

bool tn_i_type_valid(const tn_type *t) { return tn_type_bytes(t) != SIZE_MAX; }

bool tn_i_given_types(tn_ctx *c, const tn_i_loc *loc, const char *who, const char *what, size_t n, const tn_type *t) {
    for (size_t i = 0; i < n; i++) {
        if (t[i].dtype == TN_NDTYPES && t[i].rank == 0) /* as TN_TYPES ends */
            return tn_i_fail(c, TN_EINVAL, loc, "%s: there are %zu %ss, and TN_TYPES has %zu types", who, n, what, i) ==
                   TN_OK;
        if (t[i].varying && t[i].rank >= 0 && t[i].varying->ctx != c)
            return tn_i_fail(c, TN_EINVAL, loc, "%s: %s %zu varies over axes of another context", who, what, i) ==
                   TN_OK;
        if (!tn_i_type_valid(&t[i]) || tn_i_has_steps(&t[i]))
            return tn_i_fail(c, TN_ETYPE, loc,
                             "%s: %s %zu has no valid type (dtype, rank 0..%d, dimensions >= 0, countable size)", who,
                             what, i, TN_MAX_RANK) == TN_OK;
    }
    return true;
}

int64_t tn_i_count(const tn_type *t) { return (int64_t)tn_type_elements(t); }

const char *tn_i_type_text(char buf[TN_I_TYPE_TEXT], const tn_type *t) {
    size_t at = (size_t)snprintf(buf, TN_I_TYPE_TEXT, "%s[", tn_i_dtype_name(t->dtype));
    for (int i = 0; i < t->rank && i < TN_MAX_RANK; i++)
        at += t->dim[i] == TN_I_STEPS
                  ? (size_t)snprintf(buf + at, TN_I_TYPE_TEXT - at, "%s?", i ? "," : "")
                  : (size_t)snprintf(buf + at, TN_I_TYPE_TEXT - at, "%s%lld", i ? "," : "", (long long)t->dim[i]);
    at += (size_t)snprintf(buf + at, TN_I_TYPE_TEXT - at, "]");
    if (t->varying) (void)snprintf(buf + at, TN_I_TYPE_TEXT - at, "{V:%s}", t->varying->text);
    return buf;
}
