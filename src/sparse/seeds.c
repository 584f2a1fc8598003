#include "sparse/seeds.h"

#include "linearize/prune.h"
#include "prims/prim.h"
#include "vmap/vmap.h"

#include <string.h>

#define MOST_BYTES 512e6      /* of values that are computed here */
enum { MOST_OWN = 16 };       /* numbers of a small array */
enum { OTHER, MOVED, VALUE }; /* a value: made of residuals or constants; of tangents alone; such, and read by others */

typedef struct cut {
    const tn_fn *f;
    uint8_t *is;
    uint32_t *value, nvalue;
    tn_i_var *map, *io;
} cut;

/* ---- where residuals come in ---------------------------------------------------------------------- */

static void follow(cut *c, bool *varies) {
    const tn_fn *f = c->f;
    for (uint32_t i = 0; i < f->nin; i++) {
        varies[i] = i < f->nin - f->nlin;
        c->is[i] = varies[i] ? OTHER : MOVED;
    }
    for (uint32_t k = 0; k < f->neqn; k++) {
        const tn_i_eqn *e = &f->eqn[k];
        bool some = false, moved = false, alike = true;
        for (uint32_t i = 0; i < e->nin; i++) {
            some |= varies[tn_i_in(f, e)[i]];
            moved |= c->is[tn_i_in(f, e)[i]] == MOVED;
        }
        for (uint32_t j = 0; j < e->nout; j++)
            alike &= f->val[e->out + j].linear && !tn_i_has_steps(f->val[e->out + j].type);
        for (uint32_t j = 0; j < e->nout; j++) {
            c->is[e->out + j] = moved && !some && alike ? MOVED : OTHER;
            varies[e->out + j] = some || (moved && !alike);
        }
    }
}

static void read_by_others(cut *c, uint32_t v) {
    if (c->is[v] != MOVED) return;
    c->is[v] = VALUE;
    c->value[c->nvalue++] = v;
}

static void find_values(cut *c) {
    const tn_fn *f = c->f;
    for (uint32_t k = 0; k < f->neqn; k++) {
        const tn_i_eqn *e = &f->eqn[k];
        if (!e->nout || c->is[e->out] != OTHER) continue;
        for (uint32_t i = 0; i < e->nin; i++) read_by_others(c, tn_i_in(f, e)[i]);
    }
    for (uint32_t j = 0; j < f->nout; j++) read_by_others(c, f->out[j]);
}

static bool known_before(const cut *c, const tn_i_eqn *e) { return e->nout && c->is[e->out] != OTHER; }

/* (| x..) -> values: residuals are inputs that nobody reads, and stay away. */
static tn_fn *before(cut *c, const bool *varies) {
    const tn_fn *f = c->f;
    tn_i_builder b;
    tn_i_builder_init(&b, f->ctx);
    for (uint32_t v = 0; v < f->nval; v++) c->map[v] = TN_NOVAR;
    for (uint32_t i = f->nin - f->nlin; i < f->nin; i++) c->map[i] = tn_i_input(&b, f->val[i].type, true);
    for (uint32_t k = 0; k < f->neqn && !b.failed; k++) {
        const tn_i_eqn *e = &f->eqn[k];
        const bool constant = e->nout && c->is[e->out] == OTHER && !varies[e->out];
        if (known_before(c, e) || constant) tn_i_copy_eqn(&b, f, e, c->map);
    }
    for (uint32_t k = 0; k < c->nvalue; k++) c->io[k] = c->map[c->value[k]];
    return tn_i_finish(&b, c->nvalue, c->io);
}

static tn_fn *behind(cut *c) {
    const tn_fn *f = c->f;
    tn_i_builder b;
    tn_i_builder_init(&b, f->ctx);
    b.named_after = f;
    for (uint32_t v = 0; v < f->nval; v++) c->map[v] = TN_NOVAR;
    for (uint32_t i = 0; i < f->nin - f->nlin; i++) c->map[i] = tn_i_input(&b, f->val[i].type, false);
    for (uint32_t k = 0; k < c->nvalue; k++) c->map[c->value[k]] = tn_i_input(&b, f->val[c->value[k]].type, true);
    for (uint32_t k = 0; k < f->neqn && !b.failed; k++) {
        const tn_i_eqn *e = &f->eqn[k];
        b.region = e->region;
        if (!known_before(c, e)) tn_i_copy_eqn(&b, f, e, c->map);
    }
    b.region = 0;
    for (uint32_t j = 0; j < f->nout && !b.failed; j++) c->io[j] = tn_i_mapped(&b, f, c->map, f->out[j]);
    return tn_i_prune(tn_i_finish(&b, f->nout, c->io));
}

/* ---- running what is in front ------------------------------------------------------------------------- */

/* Seeds in, values out; the results are the caller's. */
static bool run(const tn_fn *f, int64_t colors, void *const *seeds, tn_i_seeded *s) {
    tn_ctx *c = f->ctx;
    bool *batched = tn_i_alloc_array(c, f->nin, sizeof *batched), ok = batched != NULL;
    for (uint32_t i = 0; ok && i < f->nin; i++) batched[i] = true;
    tn_fn *mapped = ok ? tn_i_vmap(f, colors, batched, true, NULL, NULL) : NULL,
          *here = mapped ? tn_i_in_memory(mapped) : NULL;
    tn_exec *e = here ? tn_compile(here, NULL) : NULL;
    s->data = tn_i_alloc_array(c, s->nvalue, sizeof *s->data);
    ok = e && s->data;
    for (uint32_t k = 0; ok && k < s->nvalue; k++)
        ok = (s->data[k] = tn_i_alloc(c, tn_type_bytes(s->type[k]) * (size_t)colors)) != NULL;
    if (ok && tn_call(e, (const void *const *)seeds, s->data) != TN_OK) {
        (void)tn_i_fail(c, TN_ENOMEM, NULL, "%s", tn_exec_error(e));
        ok = false;
    }
    tn_exec_free(e);
    tn_i_fn_unref(here);
    tn_i_fn_unref(mapped);
    tn_i_free(c, batched, f->nin * sizeof *batched);
    return ok;
}

static double bytes_of(const cut *c, int64_t colors) {
    double bytes = 0;
    for (uint32_t k = 0; k < c->nvalue; k++)
        bytes += (double)tn_type_bytes(c->f->val[c->value[k]].type) * (double)colors;
    return bytes;
}

/* The seeds as they are, before the whole program. */
static void stay(cut *c) {
    const tn_fn *f = c->f;
    for (uint32_t v = 0; v < f->nval; v++) c->is[v] = OTHER;
    for (uint32_t i = 0; i < f->nlin; i++) {
        c->value[i] = f->nin - f->nlin + i;
        c->is[c->value[i]] = VALUE;
    }
    c->nvalue = f->nlin;
}

static bool through(cut *c, bool *varies, int64_t colors, void *const *seeds, tn_i_seeded *s) {
    follow(c, varies);
    find_values(c);
    if (bytes_of(c, colors) > MOST_BYTES) stay(c);
    s->nvalue = c->nvalue;
    s->type = tn_i_alloc_array(s->ctx, s->nvalue, sizeof *s->type);
    tn_fn *front = s->type ? before(c, varies) : NULL;
    if (!front) return false;
    for (uint32_t k = 0; k < c->nvalue; k++) s->type[k] = c->f->val[c->value[k]].type;
    const bool ok = run(front, colors, seeds, s) && (s->behind = behind(c)) != NULL;
    tn_i_fn_unref(front);
    return ok;
}

bool tn_i_seeds_through(const tn_fn *linear, int64_t colors, void *const *seeds, tn_i_seeded *out) {
    tn_ctx *ctx = linear->ctx;
    cut c = {.f = linear};
    *out = (tn_i_seeded){.ctx = ctx, .colors = colors};
    const size_t n = (size_t)linear->nval + linear->nout;
    c.is = tn_i_alloc(ctx, linear->nval);
    c.value = tn_i_alloc_array(ctx, linear->nval, sizeof *c.value);
    c.map = tn_i_alloc_array(ctx, linear->nval, sizeof *c.map);
    c.io = tn_i_alloc_array(ctx, n, sizeof *c.io);
    bool *varies = tn_i_alloc_array(ctx, linear->nval, sizeof *varies);
    const bool ok = c.is && c.value && c.map && c.io && varies && through(&c, varies, colors, seeds, out);
    tn_i_free(ctx, c.is, linear->nval);
    tn_i_free(ctx, c.value, linear->nval * sizeof *c.value);
    tn_i_free(ctx, c.map, linear->nval * sizeof *c.map);
    tn_i_free(ctx, c.io, n * sizeof *c.io);
    tn_i_free(ctx, varies, linear->nval * sizeof *varies);
    if (!ok) tn_i_seeded_free(out);
    return ok;
}

void tn_i_seeded_free(tn_i_seeded *s) {
    if (!s->ctx) return;
    for (uint32_t k = 0; s->data && k < s->nvalue; k++)
        tn_i_free(s->ctx, s->data[k], tn_type_bytes(s->type[k]) * (size_t)s->colors);
    tn_i_free(s->ctx, s->data, s->nvalue * sizeof *s->data);
    tn_i_free(s->ctx, (void *)s->type, s->nvalue * sizeof *s->type);
    tn_i_fn_unref(s->behind);
    *s = (tn_i_seeded){0};
}

/* ---- constants ------------------------------------------------------------------------------------------ */

/* Whether all elements are those at index 0 of dimension d. */
static bool alike_along(const tn_type *t, size_t size, const char *data, int d) {
    int64_t outer = 1, inner = 1;
    for (int k = 0; k < d; k++) outer *= t->dim[k];
    for (int k = d + 1; k < t->rank; k++) inner *= t->dim[k];
    const size_t row = (size_t)inner * size;
    for (int64_t i = 0; i < outer; i++) {
        const char *first = data + (size_t)(i * t->dim[d]) * row;
        for (int64_t j = 1; j < t->dim[d]; j++)
            if (memcmp(first, first + (size_t)j * row, row) != 0) return false;
    }
    return true;
}

/* data without dimension d, of which index 0 stays; in place. */
static void drop(tn_type *t, size_t size, char *data, int d) {
    int64_t outer = 1, inner = 1;
    for (int k = 0; k < d; k++) outer *= t->dim[k];
    for (int k = d + 1; k < t->rank; k++) inner *= t->dim[k];
    const size_t row = (size_t)inner * size;
    for (int64_t i = 0; i < outer; i++) memmove(data + (size_t)i * row, data + (size_t)(i * t->dim[d]) * row, row);
    memmove(t->dim + d, t->dim + d + 1, (size_t)(t->rank - d - 1) * sizeof *t->dim);
    t->rank--;
}

static bool is_zero(const tn_type *t, const char *data) {
    for (int64_t i = 0, n = tn_i_count(t); i < n; i++) {
        uint64_t bits = 0;
        const size_t size = tn_i_dtype_size(t->dtype);
        memcpy(&bits, data + (size_t)i * size, size);
        if (!tn_i_zero_bits(t->dtype, bits)) return false;
    }
    return true;
}

bool tn_i_seeds_repeat(const tn_i_seeded *s) {
    for (uint32_t k = 0; k < s->nvalue; k++) {
        const tn_type *t = s->type[k];
        const size_t size = tn_i_dtype_size(t->dtype);
        for (int64_t c = 0; c < s->colors; c++) {
            const char *data = (const char *)s->data[k] + (size_t)c * tn_type_bytes(t);
            int64_t own = 1;
            for (int d = 0; d < t->rank && own; d++)
                if (!alike_along(t, size, data, d)) own *= t->dim[d];
            if (own > MOST_OWN) return false;
        }
    }
    return true;
}

tn_i_var tn_i_known_array(tn_i_builder *b, const tn_type *t, const void *data, bool symbolic) {
    if (symbolic && is_zero(t, data)) return TN_NOVAR;
    const size_t bytes = tn_type_bytes(t), size = tn_i_dtype_size(t->dtype);
    if (!bytes) return tn_i_zeros(b, t);
    char *copy = tn_i_alloc_raw(b->ctx, bytes);
    if (!copy) {
        b->failed = true;
        return TN_NOVAR;
    }
    memcpy(copy, data, bytes);
    tn_type s = *t;
    int64_t dims[TN_MAX_RANK];
    for (int d = 0; d < t->rank; d++) dims[d] = d;
    for (int d = s.rank; d-- > 0;) {
        if (!alike_along(&s, size, copy, d)) continue;
        drop(&s, size, copy, d);
        memmove(dims + d, dims + d + 1, (size_t)(s.rank - d) * sizeof *dims);
    }
    const tn_i_var k = tn_i_constant(b, &s, copy);
    tn_i_free(b->ctx, copy, bytes);
    return s.rank == t->rank ? k : tn_i_broadcast(b, k, t->rank, t->dim, dims);
}
