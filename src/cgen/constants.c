/* Known numbers as arrays of the file (C99), each once. */
#include "cgen/inside.h"

#include <inttypes.h>
#include <string.h>

static const char *prefix_of(const tn_i_cgen *g) { return g->prefix ? g->prefix : "tansy"; }

static void define(tn_i_cgen *g, size_t id, int64_t count) {
    const tn_i_cgen_constant *k = &g->constant[id];
    tn_i_text *t = &g->constants;
    const size_t size = tn_i_dtype_size(k->dtype);
    tn_i_text_put(t, "static const %s %s_k%zu[%" PRId64 "] = {", tn_i_c_name(k->dtype), prefix_of(g), id,
                  count ? count : 1);
    for (int64_t i = 0; i < count; i++) {
        uint64_t bits = 0;
        memcpy(&bits, k->data + (size_t)i * size, size);
        tn_i_text_put(t, "%s", i ? (i % 8 ? ", " : ",\n    ") : "");
        tn_i_c_literal(t, k->dtype, bits);
    }
    tn_i_text_put(t, count ? "};\n" : "0};\n");
}

bool tn_i_c_constant(tn_i_cgen *g, int dtype, const void *data, int64_t count, tn_i_text *t) {
    const size_t size = tn_i_dtype_size(dtype), bytes = (size_t)count * size;
    const uintptr_t at = (uintptr_t)data;
    size_t id = 0;
    for (; id < g->nconstant; id++) {
        const uintptr_t from = (uintptr_t)g->constant[id].data;
        if (g->constant[id].dtype == dtype && from <= at && at + bytes <= from + g->constant[id].bytes &&
            (at - from) % size == 0)
            break;
    }
    if (id == g->nconstant) {
        if (!tn_i_grow(g->ctx, (void **)(void *)&g->constant, &g->cconstant, id + 1, sizeof *g->constant))
            return !(g->failed = true);
        if (!g->constants.ctx) g->constants.ctx = g->ctx;
        g->constant[g->nconstant++] = (tn_i_cgen_constant){data, bytes, dtype};
        define(g, id, count);
    }
    const size_t first = (at - (uintptr_t)g->constant[id].data) / size;
    tn_i_text_put(t, first ? "(%s_k%zu + %zu)" : "%s_k%zu", prefix_of(g), id, first);
    g->failed |= g->constants.failed;
    return !g->failed;
}
