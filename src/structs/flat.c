/* The floats of a struct as one flat array: in memory, and as values of a trace. */
#include "structs/structs.h"

#include "base/base.h"

#include <stdio.h>
#include <string.h>

static bool is_float(const tn_i_member *m) { return tn_i_is_float(m->type->dtype); }

/* ---- in memory ------------------------------------------------------------------------------ */

typedef struct counting {
    size_t n;
    bool overflow;
} counting;

static bool count(void *user, const tn_i_member *m) {
    counting *k = user;
    if (is_float(m) && !tn_i_add(k->n, tn_type_elements(m->type), &k->n)) k->overflow = true;
    return !k->overflow;
}

size_t tn_struct_floats(const tn_struct *s) {
    counting k = {0};
    if (tn_struct_arrays(s)) (void)tn_i_struct_walk(s, count, &k);
    return k.overflow ? SIZE_MAX : k.n;
}

/* Whether arrays follow each other. */
typedef struct row {
    int dtype;
    size_t first, end; /* bytes; SIZE_MAX: there was none yet */
} row;

static bool follows(void *user, const tn_i_member *m) {
    row *r = user;
    const size_t bytes = tn_type_bytes(m->type);
    if (!is_float(m) || bytes == 0) return true;
    if (m->type->dtype != r->dtype || (r->end != SIZE_MAX && r->end != m->offset)) return false;
    if (r->end == SIZE_MAX) r->first = m->offset;
    r->end = m->offset + bytes;
    return true;
}

void *tn_struct_flat(const tn_struct *s, void *p, tn_dtype dtype) {
    row r = {.dtype = (int)dtype, .end = SIZE_MAX};
    if (!p || !tn_struct_arrays(s) || !tn_i_struct_walk(s, follows, &r) || r.end == SIZE_MAX) return NULL;
    return (char *)p + r.first;
}

typedef struct moving {
    char *in_struct;
    char *flat; /* where the next array's elements are */
    int dtype;  /* of flat */
    bool out;   /* of the struct */
} moving;

/* n floats of one dtype to another place, of another. */
static void copy(char *to, int to_dtype, const char *from, int from_dtype, size_t n) {
    if (to_dtype == from_dtype) {
        if (n) memcpy(to, from, n * tn_i_dtype_size(to_dtype));
        return;
    }
    for (size_t i = 0; i < n; i++) {
        double wide;
        float narrow;
        if (to_dtype == TN_F64) {
            memcpy(&narrow, from + i * sizeof narrow, sizeof narrow);
            wide = (double)narrow;
            memcpy(to + i * sizeof wide, &wide, sizeof wide);
        } else {
            memcpy(&wide, from + i * sizeof wide, sizeof wide);
            narrow = (float)wide;
            memcpy(to + i * sizeof narrow, &narrow, sizeof narrow);
        }
    }
}

static bool move(void *user, const tn_i_member *m) {
    moving *v = user;
    const size_t n = tn_type_elements(m->type);
    if (!is_float(m) || n == 0) return true;
    char *own = v->in_struct + m->offset;
    if (v->out)
        copy(v->flat, v->dtype, own, m->type->dtype, n);
    else
        copy(own, m->type->dtype, v->flat, v->dtype, n);
    v->flat += n * tn_i_dtype_size(v->dtype);
    return true;
}

static tn_status move_all(tn_ctx *c, const char *who, const tn_struct *s, tn_dtype dtype, size_t n, moving *v) {
    char why[TN_I_STRUCT_WRONG];
    size_t arrays;
    if (!c) return TN_EINVAL;
    if (!tn_i_struct_right(s, &arrays, why)) return tn_i_fail(c, TN_EINVAL, NULL, "%s: %s", who, why);
    const size_t floats = tn_struct_floats(s);
    const char *name = s->name ? s->name : "the struct";
    if (!tn_i_is_float((int)dtype))
        return tn_i_fail(c, TN_EINVAL, NULL, "%s: the flat array's dtype is neither TN_F32 nor TN_F64", who);
    if (n != floats)
        return tn_i_fail(c, TN_EINVAL, NULL, "%s: the flat array has %zu elements, %s has %zu floats", who, n, name,
                         floats);
    if (n && (!v->in_struct || !v->flat)) return tn_i_fail(c, TN_EINVAL, NULL, "%s: a pointer is NULL", who);
    v->dtype = (int)dtype;
    if (n) (void)tn_i_struct_walk(s, move, v);
    return TN_OK;
}

tn_status tn_struct_gather(tn_ctx *c, const tn_struct *s, const void *p, tn_dtype dtype, size_t n, void *flat) {
    moving v = {.in_struct = (char *)(uintptr_t)p, .flat = flat, .out = true};
    return move_all(c, "struct_gather", s, dtype, n, &v);
}

tn_status tn_struct_scatter(tn_ctx *c, const tn_struct *s, void *p, tn_dtype dtype, size_t n, const void *flat) {
    moving v = {.in_struct = p, .flat = (char *)(uintptr_t)flat};
    return move_all(c, "struct_scatter", s, dtype, n, &v);
}

/* ---- in a trace ------------------------------------------------------------------------------- */

/* An operator that is being made of others, over the arrays of a struct. */
typedef struct site {
    tn_ctx *c;
    const char *name, *file;
    int line;
    const tn_struct *s;
    const tn_val *in; /* values of all arrays */
    tn_val *out;
    tn_val *flat;   /* of those of floats: flat ones */
    int64_t *sizes; /* and how long they are */
    size_t n;
    bool f32; /* they all are */
    tn_status status;
    char why[TN_I_STRUCT_WRONG];
} site;

static tn_val poison(int line) { return (tn_val){.id = line > 0 ? (uint32_t)line : 0}; }

static bool measure(void *user, const tn_i_member *m) {
    site *q = user;
    if (!is_float(m)) return true;
    q->f32 = q->f32 && m->type->dtype == TN_F32;
    q->sizes[q->n++] = (int64_t)tn_type_elements(m->type);
    return true;
}

static bool has_type(void *user, const tn_i_member *m) {
    site *q = user;
    const tn_val x = q->in[m->number];
    const tn_type t = tn_val_type(x);
    char name[160], own[TN_TYPE_TEXT], wanted[TN_TYPE_TEXT];
    if (!is_float(m) || !tn_val_ctx(x) || tn_type_equal(&t, m->type))
        return true; /* poison says so itself, and numbers where they are used */
    (void)tn_i_member_name(m, name, sizeof name);
    (void)tn_type_print(&t, own, sizeof own);
    (void)tn_type_print(m->type, wanted, sizeof wanted);
    (void)snprintf(q->why, sizeof q->why, "%.64s.%s: expected %.120s, the value is %.120s",
                   q->s->name ? q->s->name : "struct", name, wanted, own);
    q->status = TN_ETYPE;
    return false;
}

static bool flatten(void *user, const tn_i_member *m) {
    site *q = user;
    if (!is_float(m)) return true;
    const int64_t n = (int64_t)tn_type_elements(m->type);
    const tn_val x = tn_reshape_at(q->in[m->number], tn_ints_of(1, &n), q->file, q->line);
    q->flat[q->n++] = q->f32 || m->type->dtype == TN_F64 ? x : tn_convert_at(x, TN_F64, q->file, q->line);
    return true;
}

static bool unflatten(void *user, const tn_i_member *m) {
    site *q = user;
    if (!is_float(m)) return true;
    const tn_val x = tn_reshape_at(q->flat[q->n++], tn_ints_of((size_t)m->type->rank, m->type->dim), q->file, q->line);
    q->out[m->number] = tn_val_ctx(x) && tn_val_type(x).dtype != m->type->dtype
                            ? tn_convert_at(x, (tn_dtype)m->type->dtype, q->file, q->line)
                            : x;
    return true;
}

static bool fails(site *q, tn_status status, const char *why) {
    q->status = status;
    (void)snprintf(q->why, sizeof q->why, "%s", why);
    return false;
}

/* Room for what is flat, and its sizes; false: why says why not. */
static bool prepare(site *q, size_t arrays) {
    q->flat = tn_i_alloc_array(q->c, arrays, sizeof *q->flat);
    q->sizes = tn_i_alloc_array(q->c, arrays, sizeof *q->sizes);
    if (!q->flat || !q->sizes) return fails(q, TN_ENOMEM, tn_status_text(TN_ENOMEM));
    q->f32 = true;
    (void)tn_i_struct_walk(q->s, measure, q);
    return q->n > 0 || fails(q, TN_EINVAL, "the struct has no arrays of floats");
}

static void release(site *q, size_t arrays) {
    tn_i_free(q->c, q->flat, arrays * sizeof *q->flat);
    tn_i_free(q->c, q->sizes, arrays * sizeof *q->sizes);
}

static tn_val raveled(site *q) {
    if (!tn_i_struct_walk(q->s, has_type, q)) return poison(q->line);
    const size_t n = q->n;
    q->n = 0;
    (void)tn_i_struct_walk(q->s, flatten, q);
    return tn_concatenate_at(tn_vals_of(n, q->flat), 0, q->file, q->line);
}

static void unraveled(site *q, tn_val flat) {
    const tn_type t = tn_val_type(flat);
    const size_t floats = tn_struct_floats(q->s), n = q->n;
    char text[TN_TYPE_TEXT];
    if (!tn_i_is_float(t.dtype) || t.rank != 1 || (uint64_t)t.dim[0] != floats) {
        (void)tn_type_print(&t, text, sizeof text);
        (void)snprintf(q->why, sizeof q->why, "%.64s has %zu floats: expected a vector of so many, the value is %.120s",
                       q->s->name ? q->s->name : "the struct", floats, text);
        q->status = TN_ETYPE;
        return;
    }
    tn_split_at(flat, tn_ints_of(n, q->sizes), 0, q->flat, q->file, q->line);
    q->n = 0;
    (void)tn_i_struct_walk(q->s, unflatten, q);
}

/* The context of the values of any array. */
static tn_ctx *context(const tn_val *vals, size_t arrays) {
    tn_ctx *c = NULL;
    for (size_t i = 0; i < arrays && vals && !c; i++) c = tn_val_ctx(vals[i]);
    return c;
}

tn_val tn_struct_ravel_at(const tn_struct *s, const tn_val *vals, const char *file, int line) {
    site q = {.name = "struct_ravel", .file = file, .line = line, .s = s, .in = vals};
    size_t arrays;
    tn_val flat = poison(line);
    const bool right = tn_i_struct_right(s, &arrays, q.why);
    q.c = context(vals, right ? arrays : 1);
    if (!q.c) return flat;
    if (!right) return tn_fail_at(q.c, TN_EINVAL, q.name, q.why, file, line);
    if (prepare(&q, arrays)) flat = raveled(&q);
    release(&q, arrays);
    return q.status ? tn_fail_at(q.c, q.status, q.name, q.why, file, line) : flat;
}

static bool make_poison(void *user, const tn_i_member *m) {
    site *q = user;
    if (is_float(m)) q->out[m->number] = poison(q->line);
    return true;
}

void tn_struct_unravel_at(const tn_struct *s, tn_val flat, tn_val *vals, const char *file, int line) {
    site q = {.c = tn_val_ctx(flat), .name = "struct_unravel", .file = file, .line = line, .s = s, .out = vals};
    size_t arrays;
    bool right = tn_i_struct_right(s, &arrays, q.why);
    if (!right) q.status = TN_EINVAL;
    if (right && !vals) right = fails(&q, TN_EINVAL, "the values are NULL");
    if (right) (void)tn_i_struct_walk(s, make_poison, &q);
    if (!q.c) return;
    if (right) {
        if (prepare(&q, arrays)) unraveled(&q, flat);
        release(&q, arrays);
    }
    if (q.status) (void)tn_fail_at(q.c, q.status, q.name, q.why, file, line);
}
