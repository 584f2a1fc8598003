/* Parameters: transient arrays on the way in, one counted block once an equation holds them. */
#include "ir/params.h"
#include "prims/prim.h"

#include <string.h>

const int64_t *tn_i_list(const tn_i_param *p, uint32_t lists, uint32_t j, uint32_t *n) {
    const int64_t *at = p->u.ints + lists;
    for (uint32_t i = 0; i < j; i++) at += p->u.ints[i];
    *n = (uint32_t)p->u.ints[j];
    return at;
}

uint32_t tn_i_params_count(const tn_prim *prim) {
    uint32_t n = 0;
    if (prim->params)
        while (prim->params[n].name) n++;
    return n;
}

static uint64_t hash_param(uint64_t h, const tn_i_param *p) {
    h = tn_i_hash_u64(h, (uint64_t)p->kind << 32 | p->n);
    switch (p->kind) {
    case TN_K_NONE: return h;
    case TN_K_INT:
    case TN_K_BOOL:
    case TN_K_DTYPE:
    case TN_K_AXES:
    case TN_K_SYM: return tn_i_hash_u64(h, (uint64_t)p->u.i);
    case TN_K_STR: return tn_i_hash(h, p->u.str, strlen(p->u.str));
    case TN_K_INTS:
    case TN_K_LISTS: return tn_i_hash(h, p->u.ints, p->n * sizeof *p->u.ints);
    case TN_K_FN: return tn_i_hash_u64(h, p->u.fn->hash);
    case TN_K_FNS:
        for (uint32_t i = 0; i < p->n; i++) h = tn_i_hash_u64(h, p->u.fns[i]->hash);
        return h;
    case TN_K_BLOB: return tn_i_hash_u64(h, p->u.blob->hash);
    case TN_K_TYPES:
        for (uint32_t i = 0; i < p->n; i++) h = tn_i_hash_u64(h, (uint64_t)(uintptr_t)p->u.types[i]);
        return h;
    case TN_K_NUMBER: return tn_i_hash_u64(h, (uint64_t)p->u.i);
    case TN_K_PTR: return tn_i_hash_u64(h, (uint64_t)(uintptr_t)p->u.ptr);
    }
    return h;
}

uint64_t tn_i_params_hash(const tn_i_param *p, uint32_t n) {
    uint64_t h = n;
    for (uint32_t i = 0; i < n; i++) h = hash_param(h, &p[i]);
    return h;
}

static bool blob_equal(const tn_i_blob *a, const tn_i_blob *b) {
    if (a == b) return true;
    return a->hash == b->hash && a->type == b->type &&
           memcmp(tn_i_blob_data(a), tn_i_blob_data(b), tn_type_bytes(a->type)) == 0;
}

static bool programs_equal(const tn_i_param *a, const tn_i_param *b) {
    for (uint32_t i = 0; i < a->n; i++)
        if (!tn_i_fn_equal(a->u.fns[i], b->u.fns[i])) return false;
    return true;
}

static bool param_equal(const tn_i_param *a, const tn_i_param *b) {
    if (a->kind != b->kind || a->n != b->n) return false;
    switch (a->kind) {
    case TN_K_NONE: return true;
    case TN_K_INT:
    case TN_K_BOOL:
    case TN_K_DTYPE:
    case TN_K_NUMBER:
    case TN_K_AXES:
    case TN_K_SYM: return a->u.i == b->u.i;
    case TN_K_STR: return strcmp(a->u.str, b->u.str) == 0;
    case TN_K_INTS:
    case TN_K_LISTS: return a->n == 0 || memcmp(a->u.ints, b->u.ints, a->n * sizeof *a->u.ints) == 0;
    case TN_K_FN: return tn_i_fn_equal(a->u.fn, b->u.fn);
    case TN_K_FNS: return programs_equal(a, b);
    case TN_K_BLOB: return blob_equal(a->u.blob, b->u.blob);
    case TN_K_TYPES: return a->n == 0 || memcmp(a->u.types, b->u.types, a->n * sizeof(void *)) == 0;
    case TN_K_PTR: return a->u.ptr == b->u.ptr;
    }
    return false;
}

bool tn_i_params_equal(const tn_i_param *a, const tn_i_param *b, uint32_t n) {
    if (a == b) return true;
    for (uint32_t i = 0; i < n; i++)
        if (!param_equal(&a[i], &b[i])) return false;
    return true;
}

static size_t list_bytes(const tn_i_param *p) {
    if (p->kind == TN_K_INTS || p->kind == TN_K_LISTS) return p->n * sizeof(int64_t);
    if (p->kind == TN_K_TYPES || p->kind == TN_K_FNS) return p->n * sizeof(void *);
    return 0;
}

/* Copies what p lists to `at`, and makes the copy q point there. */
static void copy_list(const tn_i_param *p, tn_i_param *q, void *at) {
    const void *from = NULL;
    switch (p->kind) {
    case TN_K_TYPES:
        from = p->u.types;
        q->u.types = (const tn_type *const *)at;
        break;
    case TN_K_FNS:
        from = p->u.fns;
        q->u.fns = (const tn_fn *const *)at;
        break;
    case TN_K_INTS:
    case TN_K_LISTS:
        from = p->u.ints;
        q->u.ints = (const int64_t *)at;
        break;
    default: return;
    }
    if (list_bytes(p)) memcpy(at, from, list_bytes(p));
}

uint32_t tn_i_programs(const tn_i_param *p, const tn_fn *const **f) {
    *f = p->kind == TN_K_FN ? &p->u.fn : p->u.fns;
    return p->kind == TN_K_FN ? 1 : p->kind == TN_K_FNS ? p->n : 0;
}

uint32_t tn_i_alternatives(const tn_i_eqn *e, const tn_fn *const **f) {
    *f = NULL;
    for (uint32_t k = 0; e->params && k < e->params->n; k++)
        if (e->params->v[k].kind == TN_K_FNS) return tn_i_programs(&e->params->v[k], f);
    return 0;
}

tn_i_params *tn_i_params_copy(tn_ctx *c, const tn_i_param *p, uint32_t n) {
    size_t bytes = sizeof(tn_i_params) + n * sizeof(tn_i_param);
    for (uint32_t i = 0; i < n; i++) bytes += list_bytes(&p[i]);
    tn_i_params *k = tn_i_alloc(c, bytes);
    if (!k) return NULL;
    *k = (tn_i_params){.refs = 1, .n = n, .bytes = bytes, .hash = tn_i_params_hash(p, n)};
    char *at = (char *)(k->v + n);
    for (uint32_t i = 0; i < n; i++) {
        k->v[i] = p[i];
        copy_list(&p[i], &k->v[i], at);
        at += list_bytes(&p[i]);
        const tn_fn *const *f;
        const uint32_t nf = tn_i_programs(&p[i], &f);
        for (uint32_t j = 0; j < nf; j++) (void)tn_i_fn_ref(f[j]);
        if (p[i].kind == TN_K_BLOB) ((tn_i_blob *)(uintptr_t)p[i].u.blob)->refs++;
    }
    return k;
}

const tn_i_params *tn_i_params_ref(const tn_i_params *k) {
    if (k) ((tn_i_params *)(uintptr_t)k)->refs++;
    return k;
}

void tn_i_params_unref(tn_ctx *c, const tn_i_params *ck) {
    tn_i_params *k = (tn_i_params *)(uintptr_t)ck;
    if (!k || --k->refs) return;
    for (uint32_t i = 0; i < k->n; i++) {
        const tn_fn *const *f;
        const uint32_t nf = tn_i_programs(&k->v[i], &f);
        for (uint32_t j = 0; j < nf; j++) tn_i_fn_unref(f[j]);
        if (k->v[i].kind == TN_K_BLOB) tn_i_blob_unref(c, k->v[i].u.blob);
    }
    tn_i_free(c, k, k->bytes);
}

/* ---- blobs ----------------------------------------------------------------- */

static size_t blob_bytes(const tn_type *t) { return sizeof(tn_i_blob) + tn_type_bytes(t); }

tn_i_blob *tn_i_blob_new(tn_ctx *c, const tn_type *t) {
    const tn_type *type = tn_i_type(c, t);
    size_t bytes;
    if (!type) return NULL;
    if (!tn_i_add(sizeof(tn_i_blob), tn_type_bytes(t), &bytes)) {
        (void)tn_i_fail(c, TN_EOVERFLOW, NULL, "size overflow in a constant");
        return NULL;
    }
    tn_i_blob *k = tn_i_alloc(c, bytes);
    if (k) *k = (tn_i_blob){.refs = 1, .type = type};
    return k;
}

bool tn_i_zero_bits(int dtype, uint64_t bits) {
    if (dtype == TN_F32) return (bits & 0x7FFFFFFFu) == 0;
    if (dtype == TN_F64) return (bits & 0x7FFFFFFFFFFFFFFFu) == 0;
    if (tn_i_is_half(dtype)) return (bits & 0x7FFFu) == 0;
    return bits == 0;
}

static bool all_zero(const tn_i_blob *k) {
    const size_t n = (size_t)tn_i_count(k->type), size = tn_i_dtype_size(k->type->dtype);
    const unsigned char *data = tn_i_blob_data(k);
    for (size_t i = 0; i < n; i++) {
        if (!tn_i_zero_bits(k->type->dtype, tn_i_bits_at(k->type->dtype, data + i * size))) return false;
    }
    return true;
}

void tn_i_blob_seal(tn_i_blob *k) {
    k->zero = all_zero(k);
    k->hash = tn_i_hash((uint64_t)k->type->dtype, tn_i_blob_data(k), tn_type_bytes(k->type));
    for (int i = 0; i < k->type->rank; i++) k->hash = tn_i_hash_u64(k->hash, (uint64_t)k->type->dim[i]);
}

void tn_i_blob_unref(tn_ctx *c, const tn_i_blob *ck) {
    tn_i_blob *k = (tn_i_blob *)(uintptr_t)ck;
    if (k && --k->refs == 0) tn_i_free(c, k, blob_bytes(k->type));
}
