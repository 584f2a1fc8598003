/* Walking strided dimensions; reading and writing widened elements. */
#include "prims/dims.h"

void tn_i_dims_push(tn_i_dims *d, int64_t size, int64_t stride) {
    d->size[d->n] = size;
    d->stride[d->n++] = stride;
}

tn_i_dims tn_i_dims_of(const tn_i_arr *x, unsigned axes) {
    tn_i_dims d = {.n = 0};
    for (int i = 0; i < x->type->rank; i++)
        if (axes >> i & 1) tn_i_dims_push(&d, x->type->dim[i], x->stride[i]);
    return d;
}

void tn_i_dims_merge(tn_i_dims *d) {
    int n = 0;
    for (int i = 0; i < d->n; i++) {
        if (d->size[i] == 1) continue;
        /* the stride of an empty dimension is never used, and its product could overflow */
        if (n && d->size[i] > 0 && d->stride[n - 1] == d->stride[i] * d->size[i]) {
            d->size[n - 1] *= d->size[i];
            d->stride[n - 1] = d->stride[i];
            continue;
        }
        d->size[n] = d->size[i];
        d->stride[n++] = d->stride[i];
    }
    d->n = n;
}

int64_t tn_i_dims_count(const tn_i_dims *d) {
    int64_t count = 1;
    for (int i = 0; i < d->n; i++)
        if (d->size[i] == 0) return 0;
    for (int i = 0; i < d->n; i++) count *= d->size[i];
    return count;
}

void tn_i_cursor_start(tn_i_cursor *w, const tn_i_dims *d, int64_t position) {
    w->d = d;
    w->offset = 0;
    for (int i = d->n - 1; i >= 0; i--) {
        const int64_t size = d->size[i] > 0 ? d->size[i] : 1;
        w->at[i] = position % size;
        position /= size;
        w->offset += w->at[i] * d->stride[i];
    }
}

void tn_i_cursor_next(tn_i_cursor *w) {
    const tn_i_dims *d = w->d;
    for (int i = d->n - 1; i >= 0; i--) {
        w->offset += d->stride[i];
        if (++w->at[i] < d->size[i]) return;
        w->offset -= d->size[i] * d->stride[i];
        w->at[i] = 0;
    }
}

/* ---- elements -------------------------------------------------------------- */

void tn_i_load(int dtype, const void *data, int64_t first, int64_t stride, int64_t n, tn_i_wide *to) {
    switch (dtype) {
    case TN_BOOL: {
        const uint8_t *x = (const uint8_t *)data + first;
        for (int64_t i = 0; i < n; i++) to[i].i = x[i * stride];
        return;
    }
    case TN_I32: {
        const int32_t *x = (const int32_t *)data + first;
        for (int64_t i = 0; i < n; i++) to[i].i = x[i * stride];
        return;
    }
    case TN_U32: {
        const uint32_t *x = (const uint32_t *)data + first;
        for (int64_t i = 0; i < n; i++) to[i].i = x[i * stride];
        return;
    }
    case TN_I64: {
        const int64_t *x = (const int64_t *)data + first;
        for (int64_t i = 0; i < n; i++) to[i].i = x[i * stride];
        return;
    }
    case TN_F32: {
        const float *x = (const float *)data + first;
        for (int64_t i = 0; i < n; i++) to[i].d = (double)x[i * stride];
        return;
    }
    default: {
        const double *x = (const double *)data + first;
        for (int64_t i = 0; i < n; i++) to[i].d = x[i * stride];
    }
    }
}

void tn_i_store(int dtype, void *data, int64_t first, int64_t stride, int64_t n, const tn_i_wide *from) {
    switch (dtype) {
    case TN_BOOL: {
        uint8_t *x = (uint8_t *)data + first;
        for (int64_t i = 0; i < n; i++) x[i * stride] = from[i].i != 0;
        return;
    }
    case TN_I32: {
        int32_t *x = (int32_t *)data + first;
        for (int64_t i = 0; i < n; i++) x[i * stride] = (int32_t)(uint32_t)from[i].u;
        return;
    }
    case TN_U32: {
        uint32_t *x = (uint32_t *)data + first;
        for (int64_t i = 0; i < n; i++) x[i * stride] = (uint32_t)from[i].u;
        return;
    }
    case TN_I64: {
        int64_t *x = (int64_t *)data + first;
        for (int64_t i = 0; i < n; i++) x[i * stride] = from[i].i;
        return;
    }
    case TN_F32: {
        float *x = (float *)data + first;
        for (int64_t i = 0; i < n; i++) x[i * stride] = (float)from[i].d;
        return;
    }
    default: {
        double *x = (double *)data + first;
        for (int64_t i = 0; i < n; i++) x[i * stride] = from[i].d;
    }
    }
}

void tn_i_load_dims(int dtype, const void *data, const tn_i_dims *d, int64_t first, int64_t n, tn_i_wide *to) {
    if (n == 0) return;
    if (d->n == 0) {
        tn_i_load(dtype, data, 0, 0, 1, to);
        return;
    }
    tn_i_dims outer = *d;
    const int64_t size = d->size[--outer.n], stride = d->stride[outer.n];
    tn_i_cursor w;
    tn_i_cursor_start(&w, &outer, first / size);
    for (int64_t at = first % size; n > 0; at = 0, tn_i_cursor_next(&w)) {
        const int64_t run = n < size - at ? n : size - at;
        tn_i_load(dtype, data, w.offset + at * stride, stride, run, to);
        to += run;
        n -= run;
    }
}

unsigned tn_i_axis_set(uint32_t n, const int64_t *axes) {
    unsigned set = 0;
    for (uint32_t i = 0; i < n; i++) set |= 1u << axes[i];
    return set;
}

bool tn_i_admits(tn_i_query *q) {
    if (q->prim->dtypes >> q->in[0]->dtype & 1) return true;
    return tn_i_type_fail(q, 0, "%s is not defined for %s", q->prim->name, tn_i_dtype_name(q->in[0]->dtype));
}
