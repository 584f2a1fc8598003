#include "base/machine.h"
#include "plan/strides.h"

#include <string.h>

void tn_i_normalize(const tn_type *t, int64_t *stride) {
    int64_t dense[TN_MAX_RANK];
    tn_i_dense_strides(t, dense);
    for (int i = 0; i < t->rank; i++)
        if (t->dim[i] <= 1 && t->dim[i] != TN_I_STEPS) stride[i] = dense[i];
}

bool tn_i_strides_dense(const tn_type *t, const int64_t *stride) {
    int64_t dense[TN_MAX_RANK];
    if (tn_i_has_steps(t)) return false;
    tn_i_dense_strides(t, dense);
    for (int i = 0; i < t->rank; i++)
        if (t->dim[i] > 1 && stride[i] != dense[i]) return false;
    return true;
}

bool tn_i_strides_fit(const tn_type *t, const int64_t *stride) {
    int64_t reach = 0, span;
    for (int i = 0; i < t->rank; i++) {
        if (t->dim[i] <= 1) continue;
        if (stride[i] == INT64_MIN) return false;
        if (!tn_i_mul_i64(stride[i] < 0 ? -stride[i] : stride[i], t->dim[i] - 1, &span)) return false;
        if (!tn_i_add_i64(reach, span, &reach)) return false;
    }
    return reach <= INT64_MAX / 16;
}

bool tn_i_strides_apart(const tn_type *t, const int64_t *stride) {
    bool done[TN_MAX_RANK] = {false};
    int64_t reach = 0;
    for (int round = 0; round < t->rank; round++) {
        int next = -1;
        int64_t least = 0;
        for (int i = 0; i < t->rank; i++) {
            int64_t s = stride[i] < 0 ? -stride[i] : stride[i];
            if (done[i] || (next >= 0 && s >= least)) continue;
            next = i;
            least = s;
        }
        done[next] = true;
        if (t->dim[next] <= 1) continue;
        if (least <= reach) return false;
        reach += least * (t->dim[next] - 1);
    }
    return true;
}

static bool mergeable(uint32_t arrays, const int64_t *outer, const int64_t (*stride)[TN_MAX_RANK], int dim, int64_t n) {
    for (uint32_t k = 0; k < arrays; k++)
        if (outer[1 + k] != stride[k][dim] * n) return false;
    return true;
}

/* A short innermost loop costs a call of the strip for a few elements each. */
static void choose_inner(uint32_t loops, uint32_t width, int64_t *loop) {
    if (loops < 2 || loop[(loops - 1) * width] >= TN_M_SHORT_LOOP) return;
    uint32_t longest = loops - 1;
    for (uint32_t i = 0; i < loops; i++)
        if (loop[i * width] > loop[longest * width]) longest = i;
    int64_t moved[TN_LOOP_WIDTH(TN_LOOP_ARRAYS)];
    memcpy(moved, loop + longest * width, width * sizeof *moved);
    memmove(loop + longest * width, loop + (longest + 1) * width, (loops - 1 - longest) * width * sizeof *moved);
    memcpy(loop + (loops - 1) * width, moved, width * sizeof *moved);
}

uint32_t tn_i_collapse(const tn_type *t, uint32_t arrays, const int64_t (*stride)[TN_MAX_RANK], int64_t *loop) {
    const uint32_t width = TN_LOOP_WIDTH(arrays);
    uint32_t loops = 0;
    for (int i = 0; i < t->rank; i++) {
        if (t->dim[i] == 1) continue;
        int64_t *at = loop + loops * width;
        if (loops && mergeable(arrays, at - width, stride, i, t->dim[i])) {
            at -= width;
            at[0] *= t->dim[i];
        } else {
            at[0] = t->dim[i];
            loops++;
        }
        for (uint32_t k = 0; k < arrays; k++) at[1 + k] = stride[k][i];
    }
    choose_inner(loops, width, loop);
    return loops;
}
