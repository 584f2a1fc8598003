/* Functions of numbers, in no vector loop, are brought side by side: those of one name that do not wait for each other
 * stand one behind another, as many as a vector has elements, and what waits for them behind them.  A function of full
 * vectors takes as long for one number as for all (jit/walk_call.c).
 *
 * One walk over the operations that stand in a row, without blocks, carries and reductions: a function is put off until
 * there are as many like it as are wanted, or too much waits for it. */
#include "base/machine.h"
#include "loop/inside.h"
#include "pass/inside.h"

typedef struct packer {
    const tn_i_loops *p;
    const tn_i_machine *m;
    tn_i_l_copy c;
    uint32_t waits[TN_M_PACK_WAITING]; /* operations that are put off, in order */
    uint32_t n;
} packer;

static bool is_function(const packer *z, uint32_t k) {
    const tn_i_l_op *o = &z->p->op[k];
    return o->kind == TN_L_MAP && tn_i_l_vector_name(z->p, o);
}

/* All that operation k reads is written already. */
static bool is_ready(const packer *z, uint32_t k) {
    for (int i = 0; i < 3; i++) {
        const uint32_t x = z->p->op[k].in[i];
        if (x != TN_L_NONE && z->c.value[x] == TN_L_NONE) return false;
    }
    return true;
}

static bool is_access(const tn_i_l_op *o) { return o->kind == TN_L_LOAD || o->kind == TN_L_STORE; }

/* Memory is read and written in the order in which it was: one of the first n that wait goes before operation k. */
static bool comes_behind(const packer *z, uint32_t k, uint32_t n) {
    const tn_i_l_op *o = &z->p->op[k];
    for (uint32_t i = 0; i < n && is_access(o); i++) {
        const tn_i_l_op *before = &z->p->op[z->waits[i]];
        if (!is_access(before) || (o->kind == TN_L_LOAD && before->kind == TN_L_LOAD)) continue;
        if (tn_i_l_overlap(z->p, o->which, before->which)) return true;
    }
    return false;
}

/* Ready functions like k, at most as many as a vector has elements, from those that wait to what is written. */
static void write_like(packer *z, uint32_t k) {
    const uint32_t most = (uint32_t)z->m->vector / (uint32_t)tn_i_dtype_size(z->p->op[k].dtype);
    uint32_t left = 0, written = 0;
    for (uint32_t i = 0; i < z->n; i++) {
        const uint32_t j = z->waits[i];
        const bool now = written < most && tn_i_l_same_function(z->p, k, j) && is_ready(z, j);
        if (now) written++, tn_i_l_copy_op(&z->c, j);
        if (!now) z->waits[left++] = j;
    }
    z->n = left;
}

/* What waits for nothing any more, but functions. */
static void write_ready(packer *z) {
    uint32_t left = 0;
    for (uint32_t i = 0; i < z->n; i++) {
        const uint32_t k = z->waits[i];
        if (!is_function(z, k) && is_ready(z, k) && !comes_behind(z, k, left))
            tn_i_l_copy_op(&z->c, k);
        else
            z->waits[left++] = k;
    }
    z->n = left;
}

/* What waits first waits for nothing, so that it is a function. */
static void write_first(packer *z) {
    write_like(z, z->waits[0]);
    write_ready(z);
}

static bool are_enough(const packer *z, uint32_t k) {
    const uint32_t most = (uint32_t)z->m->vector / (uint32_t)tn_i_dtype_size(z->p->op[k].dtype);
    uint32_t n = 0;
    for (uint32_t i = 0; i < z->n; i++) n += tn_i_l_same_function(z->p, k, z->waits[i]) && is_ready(z, z->waits[i]);
    return n >= most;
}

static void take(packer *z, uint32_t k) {
    const bool ready = is_ready(z, k), function = is_function(z, k);
    if (ready && !function && !comes_behind(z, k, z->n)) {
        tn_i_l_copy_op(&z->c, k);
        return;
    }
    z->waits[z->n++] = k;
    if (ready && function && are_enough(z, k)) {
        write_like(z, k);
        write_ready(z);
    }
    while (z->n == TN_M_PACK_WAITING && !z->c.b->failed) write_first(z);
}

static void finish(packer *z) {
    while (z->n && !z->c.b->failed) write_first(z);
}

/* Operations from k on that stand in a row. */
static uint32_t row_from(const packer *z, uint32_t k, uint32_t *functions) {
    *functions = 0;
    for (; k < z->p->nop; k++) {
        const uint8_t kind = z->p->op[k].kind;
        if (kind > TN_L_LOAD && kind != TN_L_STORE) break;
        *functions += is_function(z, k);
    }
    return k;
}

static void copy(packer *z) {
    for (uint32_t k = 0; k < z->p->nop && !z->c.b->failed;) {
        const tn_i_l_op *o = &z->p->op[k];
        uint32_t functions, end = row_from(z, k, &functions);
        if (o->kind == TN_L_FOR && o->vector) end = o->to;
        if (end == k) end++;
        for (; k < end && functions > 1 && !z->c.b->failed; k++) take(z, k);
        finish(z);
        tn_i_l_copy_ops(&z->c, k, end);
        k = end;
    }
}

tn_i_loops *tn_i_pass_pack(tn_i_loops *p, const tn_i_machine *m) {
    tn_i_l_builder b;
    if (m->strips) return p;
    packer z = {.p = p, .m = m};
    tn_i_l_begin(&b, p->ctx);
    if (tn_i_l_copy_begin(&z.c, &b, p)) copy(&z);
    tn_i_l_copy_end(&z.c);
    tn_i_l_free(p);
    return tn_i_l_end(&b);
}
