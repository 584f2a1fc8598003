/* Vector loops in blocks: what is between loops, branches and calls is a loop over the block.
 *
 *     for (int64_t b0 = 0; b0 < n0; b0 += 64) {
 *         const int64_t m0 = n0 - b0 < 64 ? n0 - b0 : 64;
 *         double v1[64];
 *         for (int64_t l = 0; l < m0; l++) {
 *             const int64_t i0 = b0 + l;
 *             v1[l] = p0[i0];
 *         }
 *         ...
 *
 * Of a loop that runs at most TN_CGEN_BLOCK times, a number that is known, there is one block, and i0 is l. */
#include "cgen/inside.h"

#include <inttypes.h>

void tn_i_c_open_lanes(tn_i_cwriter *w, uint32_t loop, bool counted) {
    const uint32_t label = w->note[loop].label;
    bool only;
    const int64_t n = tn_i_c_block(w, loop, &only);
    tn_i_c_line(w, w->g->native ? "#pragma omp simd" : "TANSY_SIMD");
    if (only)
        tn_i_c_open_brace(w, "for (int64_t l = 0; l < %" PRId64 "; l++) ", n);
    else
        tn_i_c_open_brace(w, "for (int64_t l = 0; l < m%" PRIu32 "; l++) ", label);
    if (counted && only) tn_i_c_line(w, "const int64_t i%" PRIu32 " = l;", label);
    if (counted && !only) tn_i_c_line(w, "const int64_t i%" PRIu32 " = b%" PRIu32 " + l;", label, label);
    w->inside = loop;
}

void tn_i_c_close_lanes(tn_i_cwriter *w) {
    w->inside = TN_L_NONE;
    tn_i_c_close_brace(w);
}

/* Of the loop over the block that k is in. */
static bool belongs(const tn_i_cwriter *w, uint32_t k, uint32_t j) {
    const tn_i_cnote *n = &w->note[j];
    if (n->fn != w->cur || n->lanes != w->note[k].lanes) return false;
    const int kind = w->p->op[j].kind;
    if (!n->needed || kind == TN_L_NUMBER) return kind <= TN_L_TOTAL && n->block == w->note[k].block;
    return n->run == w->note[k].run && n->run;
}

static uint32_t next_needed(const tn_i_cwriter *w, uint32_t j, uint32_t end) {
    while (j < end && (!w->note[j].needed || w->p->op[j].kind == TN_L_NUMBER)) j++;
    return j;
}

/* Whether one of them counts the vector loop. */
static bool counts(const tn_i_cwriter *w, uint32_t k, uint32_t end) {
    const uint32_t loop = w->note[k].lanes;
    for (uint32_t j = k; j < end; j++)
        if (w->note[j].needed && tn_i_l_by(w->p, &w->p->op[j].at, loop)) return true;
    return false;
}

uint32_t tn_i_c_run(tn_i_cwriter *w, uint32_t k, uint32_t last) {
    uint32_t end = k + 1;
    while (end < last && belongs(w, k, end)) end++;
    if (w->note[k].call && w->note[k].varies) {
        tn_i_c_call_block(w, k);
        return end;
    }
    bool some = false;
    for (uint32_t j = next_needed(w, k, end); j < end; j = next_needed(w, j + 1, end)) {
        const tn_i_cnote *n = &w->note[j];
        if (!n->varies)
            tn_i_c_operation(w, j);
        else if (n->array && w->p->op[j].kind <= TN_L_TOTAL)
            tn_i_c_declare(w, j);
        some |= n->varies;
    }
    if (!some) return end;
    tn_i_c_open_lanes(w, w->note[k].lanes, counts(w, k, end));
    for (uint32_t j = next_needed(w, k, end); j < end; j = next_needed(w, j + 1, end)) {
        if (!w->note[j].varies) continue;
        if (w->p->op[j].kind == TN_L_NEXT) {
            tn_i_c_next(w, j, end);
            break;
        }
        tn_i_c_operation(w, j);
    }
    tn_i_c_close_lanes(w);
    return end;
}

static void begin_block(tn_i_cwriter *w, uint32_t k) {
    const uint32_t label = w->note[k].label, slot = w->note[k].slot;
    if (slot == TN_L_NONE) return;
    tn_i_c_line(w, "s->i64[%" PRIu32 "] = b%" PRIu32 ";", slot, label);
    tn_i_c_line(w, "s->i64[%" PRIu32 "] = m%" PRIu32 ";", slot + 1, label);
}

void tn_i_c_blocks(tn_i_cwriter *w, uint32_t k) {
    const tn_i_l_op *o = &w->p->op[k];
    const uint32_t label = w->note[k].label;
    bool only;
    const int64_t n = tn_i_c_block(w, k, &only);
    if (only && n == 0) return;
    tn_i_c_declare_halves(w, k);
    if (only)
        tn_i_c_open_brace(w, "%s", "");
    else {
        tn_i_c_open_brace(w, "for (int64_t b%" PRIu32 " = 0; b%" PRIu32 " < n%" PRIu32 "; b%" PRIu32 " += %d) ", label,
                          label, label, label, TN_CGEN_BLOCK);
        tn_i_c_line(w,
                    "const int64_t m%" PRIu32 " = n%" PRIu32 " - b%" PRIu32 " < %d ? n%" PRIu32 " - b%" PRIu32 " : %d;",
                    label, label, label, TN_CGEN_BLOCK, label, label, TN_CGEN_BLOCK);
        begin_block(w, k);
    }
    tn_i_c_body(w, k + 1, o->to);
    tn_i_c_keep(w, k);
    tn_i_c_close_brace(w);
}
