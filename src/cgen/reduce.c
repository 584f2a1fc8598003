/* Reductions in their order (loop/loop.h), and halves.
 *
 * A reduction's state are numbers, TN_LANES of them and the entries of the counter, level by level, and how many there
 * were; of arg folds the best number, how many, and which it was. */
#include "cgen/inside.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool finds(const tn_i_l_op *r) { return r->code >= TN_FOLD_ARGMAX; }

/* ---- the state ---- */

/* How many elements may go into it, at most; 0: nobody knows. */
static uint64_t most_elements(const tn_i_cwriter *w, uint32_t r) {
    uint64_t all = 0;
    for (uint32_t i = w->note[r].chain; i != TN_L_NONE; i = w->note[i].chain) {
        uint64_t n = 1;
        for (uint32_t b = w->note[i].block; b != w->note[r].block && b != TN_L_NONE; b = w->note[b].block) {
            if (w->p->op[b].kind != TN_L_FOR) continue;
            const uint64_t by = (uint64_t)w->p->op[b].hi;
            if (by && n > (UINT64_C(1) << 62) / by) return 0;
            n *= by;
        }
        all += n;
        if (all >> 62) return 0;
    }
    return all ? all : 1;
}

int64_t tn_i_c_words(const tn_i_cwriter *w, uint32_t r) {
    if (finds(&w->p->op[r])) return 1;
    const uint64_t n = most_elements(w, r);
    int64_t levels = 0;
    if (n == 0) return TN_LANES + 56;
    for (uint64_t leaves = (n - 1) / TN_LEAF; leaves; leaves >>= 1) levels++;
    return TN_LANES + levels;
}

static void part(const tn_i_cwriter *w, uint32_t r, char letter, char text[TN_C_NAME]) {
    (void)snprintf(text, TN_C_NAME, "%s%c%" PRIu32, w->note[r].slot != TN_L_NONE ? "s->" : "", letter,
                   w->note[r].label);
}

void tn_i_c_reduce(tn_i_cwriter *w, uint32_t k) {
    const tn_i_l_op *o = &w->p->op[k];
    const char *type = tn_i_c_name(o->dtype);
    char n[TN_C_NAME], at[TN_C_NAME];
    const bool here = w->note[k].slot == TN_L_NONE;
    part(w, k, 'c', n);
    part(w, k, 'a', at);
    if (here) {
        tn_i_c_line(w, "%s r%" PRIu32 "[%" PRId64 "][%" PRId64 "] = {{0}};", type, w->note[k].label, o->hi,
                    tn_i_c_words(w, k));
        tn_i_c_line(w, "uint64_t %s[%" PRId64 "] = {0};", n, o->hi);
        if (finds(o)) tn_i_c_line(w, "int64_t %s[%" PRId64 "] = {0};", at, o->hi);
        return;
    }
    tn_i_c_line(w, "memset(%s, 0, sizeof %s);", n, n);
    if (finds(o)) tn_i_c_line(w, "memset(%s, 0, sizeof %s);", at, at);
}

void tn_i_c_into(tn_i_cwriter *w, uint32_t k) {
    const tn_i_l_op *o = &w->p->op[k], *r = &w->p->op[o->in[0]];
    char which[TN_C_AFFINE], s[TN_C_NAME], n[TN_C_NAME], at[TN_C_NAME], x[TN_C_NAME], fold[TN_C_NAME], name[TN_C_NAME];
    (void)snprintf(name, sizeof name, "tansy_into_%.60s", tn_i_fold_name(r->code, r->dtype, fold));
    tn_i_c_need(w->g, NULL, name);
    part(w, o->in[0], 'r', s);
    part(w, o->in[0], 'c', n);
    part(w, o->in[0], 'a', at);
    (void)tn_i_c_affine(w, &o->at, which);
    (void)tn_i_c_value(w, o->in[1], x);
    if (finds(r))
        tn_i_c_line(w, "%s(%s[%s], &%s[%s], &%s[%s], %s);", name, s, which, n, which, at, which, x);
    else
        tn_i_c_line(w, "%s(%s[%s], &%s[%s], %s);", name, s, which, n, which, x);
}

void tn_i_c_total(tn_i_cwriter *w, uint32_t k) {
    const tn_i_l_op *o = &w->p->op[k], *r = &w->p->op[o->in[0]];
    char which[TN_C_AFFINE], s[TN_C_NAME], n[TN_C_NAME], fold[TN_C_NAME], name[TN_C_NAME], define[TN_C_NAME];
    (void)tn_i_c_affine(w, &o->at, which);
    (void)tn_i_c_define(w, k, define);
    if (finds(r)) {
        part(w, o->in[0], 'a', s);
        tn_i_c_line(w, "%s(%s)%s[%s];", define, tn_i_c_name(o->dtype), s, which);
        return;
    }
    (void)snprintf(name, sizeof name, "tansy_total_%.60s", tn_i_fold_name(r->code, r->dtype, fold));
    tn_i_c_need(w->g, NULL, name);
    part(w, o->in[0], 'r', s);
    part(w, o->in[0], 'c', n);
    tn_i_c_line(w, "%s%s(%s[%s], %s[%s]);", define, name, s, which, n, which);
}

/* ---- halves ----
 *
 * h3[i]: what it reads in iteration i; in a vector loop in blocks around the loop, h3[i][l]. */

static bool next_halves(const tn_i_cwriter *w, uint32_t *k, uint32_t loop) {
    for (; *k < w->p->nop && w->note[*k].behind == loop; ++*k)
        if (w->p->op[*k].kind == TN_L_HALVES && w->note[*k].needed) return true;
    return false;
}

void tn_i_c_declare_halves(tn_i_cwriter *w, uint32_t loop) {
    int64_t n = 0;
    (void)tn_i_l_known_count(w->p, loop, &n);
    for (uint32_t k = w->p->op[loop].to + 1; next_halves(w, &k, loop); k++) {
        const char *type = tn_i_c_name(w->p->op[k].dtype);
        if (w->note[k].varies)
            tn_i_c_line(w, "%s h%" PRIu32 "[%" PRId64 "][%" PRId64 "];", type, w->note[k].label, n,
                        tn_i_c_room(w, w->note[k].lanes));
        else
            tn_i_c_line(w, "%s h%" PRIu32 "[%" PRId64 "];", type, w->note[k].label, n);
    }
}

void tn_i_c_keep(tn_i_cwriter *w, uint32_t loop) {
    char x[TN_C_NAME];
    for (uint32_t k = w->p->op[loop].to + 1; next_halves(w, &k, loop); k++) {
        const bool block = w->note[loop].blocks, lanes = w->note[k].varies;
        const uint32_t v = w->p->op[k].in[0], label = w->note[k].label;
        if (block || lanes) tn_i_c_open_lanes(w, block ? loop : w->note[k].lanes, false);
        (void)tn_i_c_value(w, v, x);
        if (block)
            tn_i_c_line(w, "h%" PRIu32 "[l] = %s;", label, x);
        else
            tn_i_c_line(w, "h%" PRIu32 "[i%" PRIu32 "]%s = %s;", label, w->note[loop].label, lanes ? "[l]" : "", x);
        if (block || lanes) tn_i_c_close_lanes(w);
    }
}

void tn_i_c_halves(tn_i_cwriter *w, uint32_t k) {
    const tn_i_l_op *o = &w->p->op[k];
    const bool lanes = w->note[k].varies;
    const char *l = lanes ? "[l]" : "";
    const uint32_t label = w->note[k].label;
    char fold[TN_C_NAME], name[TN_C_NAME], define[TN_C_NAME];
    int64_t n = 0;
    (void)tn_i_l_known_count(w->p, w->note[k].behind, &n);
    (void)snprintf(name, sizeof name, "tansy_%.60s", tn_i_fold_name(o->code, o->dtype, fold));
    tn_i_c_need(w->g, NULL, name);
    if (lanes) tn_i_c_declare(w, k);
    for (int64_t h = n / 2; h > 0; h /= 2) {
        if (w->g->native && !lanes && h >= 8) tn_i_c_line(w, "#pragma omp simd");
        tn_i_c_open_brace(w, "for (int j = 0; j < %" PRId64 "; j++) ", h);
        if (lanes) tn_i_c_open_lanes(w, w->note[k].lanes, false);
        tn_i_c_line(w, "h%" PRIu32 "[j]%s = %s(h%" PRIu32 "[j]%s, h%" PRIu32 "[j + %" PRId64 "]%s);", label, l, name,
                    label, l, label, h, l);
        if (lanes) tn_i_c_close_lanes(w);
        tn_i_c_close_brace(w);
    }
    if (lanes) tn_i_c_open_lanes(w, w->note[k].lanes, false);
    tn_i_c_line(w, "%sh%" PRIu32 "[0]%s;", tn_i_c_define(w, k, define), label, l);
    if (lanes) tn_i_c_close_lanes(w);
}
