/* Operators that make random numbers of keys. */
#include "prims/ids.h"
#include "trace/trace.h"

tn_val tn_random_key_at(tn_ctx *c, int64_t seed, const char *file, int line) {
    tn_i_site s;
    const int64_t two = 2;
    const tn_type type = tn_type_of(TN_I32, 1, &two);
    const uint32_t words[2] = {(uint32_t)((uint64_t)seed >> 32), (uint32_t)(uint64_t)seed};
    tn_i_site_open(&s, "random_key", c, 0, NULL, NULL, 0, file, line);
    return tn_i_site_close(&s, s.b->failed ? TN_NOVAR : tn_i_constant(s.b, &type, words));
}

tn_val tn_random_split_at(tn_val key, int64_t n, const char *file, int line) {
    tn_i_site s;
    tn_i_args a;
    tn_i_var v;
    tn_i_site_open(&s, "random_split", NULL, 1, &key, &v, 0, file, line);
    tn_i_args_init(&a, &s, TN_P_random_split);
    tn_i_args_ints(&a, "shape", 1, &n);
    return tn_i_site_close(&s, tn_i_args_emit(&s, &a, 1, &v));
}

tn_val tn_random_fold_in_at(tn_val key, tn_val number, const char *file, int line) {
    const tn_val x[2] = {key, number};
    tn_i_site s;
    tn_i_var v[2];
    tn_i_site_open(&s, "random_fold_in", NULL, 2, x, v, 2, file, line);
    if (s.b->failed) return tn_i_site_close(&s, TN_NOVAR);
    const tn_type keys = *tn_i_site_type(&s, v[0]);
    tn_i_site_number(&s, 1, keys.dtype == TN_U32 && number.num.i >= 0 ? TN_U32 : TN_I32);
    if (s.b->failed) return tn_i_site_close(&s, TN_NOVAR);
    const int given = tn_i_site_type(&s, v[1])->dtype;
    if (given != keys.dtype && (given == TN_I32 || given == TN_U32) && (keys.dtype == TN_I32 || keys.dtype == TN_U32))
        v[1] = tn_i_convert(s.b, v[1], keys.dtype); /* the same bits */
    if (keys.rank > 1 && tn_i_site_type(&s, v[1])->rank == 0)
        v[1] = tn_i_do_broadcast_to(&s, v[1], keys.rank - 1, keys.dim);
    return tn_i_site_close(&s, tn_i_emit(s.b, tn_i_prim(s.b, TN_P_random_fold_in), NULL, 2, v));
}

/* The type rule sees to the dtype; ranks and sizes that are no type's must not reach it. */
static tn_val numbers(int id, const char *name, tn_val key, const tn_type *type, const char *file, int line) {
    tn_i_site s;
    tn_i_args a;
    tn_i_var v;
    tn_i_site_open(&s, name, NULL, 1, &key, &v, 0, file, line);
    if (s.b->failed) return tn_i_site_close(&s, TN_NOVAR);
    if (!tn_i_type_valid(type))
        return tn_i_site_close(&s, tn_i_site_fail(&s, TN_ETYPE, -1,
                                                  "no valid type (dtype, rank 0..%d, dimensions >= 0, countable size)",
                                                  TN_MAX_RANK));
    tn_i_args_init(&a, &s, id);
    tn_i_args_int(&a, "dtype", type->dtype);
    tn_i_args_ints(&a, "shape", (size_t)type->rank, type->dim);
    return tn_i_site_close(&s, tn_i_args_emit(&s, &a, 1, &v));
}

tn_val tn_random_bits_at(tn_val key, tn_type type, const char *file, int line) {
    return numbers(TN_P_random_bits, "random_bits", key, &type, file, line);
}
tn_val tn_random_uniform_at(tn_val key, tn_type type, const char *file, int line) {
    return numbers(TN_P_random_uniform, "random_uniform", key, &type, file, line);
}
tn_val tn_random_normal_at(tn_val key, tn_type type, const char *file, int line) {
    return numbers(TN_P_random_normal, "random_normal", key, &type, file, line);
}
