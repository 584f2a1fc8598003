/* Loads, stores and calls. */
#include "cgen/inside.h"
#include "prims/held.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

TN_C_ONLY(
    clamp, static int64_t tn_i_clamp(int64_t i, int64_t last) { return i < 0      ? 0
                                                                       : i > last ? last
                                                                                  : i; })
static const tn_i_c_helper helpers[] = {{"tn_i_clamp", clamp}, {NULL, NULL}};

/* "p3[8 * i0 + 2 * tansy_clamp(v1, 9)]" */
static void element(tn_i_cwriter *w, const tn_i_l_op *o, char text[TN_C_AFFINE]) {
    char pointer[TN_C_NAME], at[TN_C_AFFINE], index[TN_C_NAME];
    (void)tn_i_c_pointer(w, o->which, pointer);
    (void)tn_i_c_affine(w, &o->at, at);
    if (o->in[0] == TN_L_NONE) {
        (void)snprintf(text, TN_C_AFFINE, "%s[%.1300s]", pointer, at);
        return;
    }
    tn_i_c_need(w->g, helpers, "tansy_clamp");
    char by[32] = "";
    if (o->lo != 1) (void)snprintf(by, sizeof by, o->lo < 0 ? "(%" PRId64 ") * " : "%" PRId64 " * ", o->lo);
    const bool alone = o->at.n == 0 && o->at.at == 0;
    (void)snprintf(text, TN_C_AFFINE, "%s[%.1100s%s%stansy_clamp(%s, INT64_C(%" PRId64 "))]", pointer, alone ? "" : at,
                   alone ? "" : " + ", by, tn_i_c_value(w, o->in[0], index), o->hi);
}

/* x as a number of `to`: where that, or `from`, is memory's dtype, the other its holder. */
static void converted(tn_i_cwriter *w, int from, int to, const char *x, tn_i_text *t) {
    const bool loads = tn_i_is_held(from);
    const tn_i_held_bodies *held = tn_i_held_bodies_of(loads ? from : to);
    const char *const name[3] = {x, x, x};
    if (from != to) tn_i_text_put(t, "(%s)", tn_i_c_name(to));
    if (from != to && held) {
        const char *text = loads ? held->load.text : held->store.text;
        tn_i_c_need(w->g, tn_i_half_helpers, text);
        tn_i_c_put(t, text, to, name);
    } else
        tn_i_text_put(t, "%s", x);
    w->failed |= t->failed;
}

void tn_i_c_load(tn_i_cwriter *w, uint32_t k) {
    const tn_i_l_op *o = &w->p->op[k];
    char at[TN_C_AFFINE], define[TN_C_NAME], mask[TN_C_NAME], other[TN_C_NAME];
    tn_i_text x = {.ctx = w->g->ctx};
    element(w, o, at);
    converted(w, w->p->array[o->which].dtype, o->dtype, at, &x);
    (void)tn_i_c_define(w, k, define);
    if (o->in[1] == TN_L_NONE)
        tn_i_c_line(w, "%s%s;", define, x.at ? x.at : "");
    else
        tn_i_c_line(w, "%s%s ? %s : %s;", define, tn_i_c_value(w, o->in[1], mask), x.at ? x.at : "",
                    tn_i_c_value(w, o->in[2], other));
    tn_i_text_free(&x);
}

void tn_i_c_store(tn_i_cwriter *w, uint32_t k) {
    const tn_i_l_op *o = &w->p->op[k];
    char at[TN_C_AFFINE], mask[TN_C_NAME], value[TN_C_NAME];
    tn_i_text x = {.ctx = w->g->ctx};
    element(w, o, at);
    if (o->update)
        tn_i_c_updated(w, k, at, tn_i_c_value(w, o->in[2], value), &x);
    else
        converted(w, w->p->op[o->in[2]].dtype, w->p->array[o->which].dtype, tn_i_c_value(w, o->in[2], value), &x);
    if (o->in[1] == TN_L_NONE)
        tn_i_c_line(w, "%s = %s;", at, x.at ? x.at : "");
    else
        tn_i_c_line(w, "if (%s) %s = %s;", tn_i_c_value(w, o->in[1], mask), at, x.at ? x.at : "");
    tn_i_text_free(&x);
}

/* ---- calls ---- */

static uint32_t put_arguments(tn_i_cwriter *w, const tn_i_l_op *o, bool numbers) {
    char at[TN_C_AFFINE], pointer[TN_C_NAME];
    uint32_t n = 0;
    for (uint32_t i = 0; i < o->narg; i++) {
        const tn_i_l_arg *a = &w->p->arg[o->arg + i];
        if ((a->access == TN_L_INTEGER) != numbers) continue;
        if (n++ == 0) tn_i_c_line(w, numbers ? "const int64_t number[] = {" : "char *const at[] = {");
        (void)tn_i_c_affine(w, &a->at, at);
        if (numbers)
            tn_i_c_line(w, "    %s,", at);
        else
            tn_i_c_line(w, "    (char *)(uintptr_t)(%s + (%s)),", tn_i_c_pointer(w, a->array, pointer), at);
    }
    if (n) tn_i_c_line(w, "};");
    return n;
}

void tn_i_c_call(tn_i_cwriter *w, uint32_t k) {
    const tn_i_l_op *o = &w->p->op[k];
    const tn_i_l_kernel *f = &w->p->kernel[o->which];
    tn_i_text name = {.ctx = w->g->ctx};
    tn_i_c_open_brace(w, "%s", "");
    const uint32_t arrays = put_arguments(w, o, false), numbers = put_arguments(w, o, true);
    const char *at = arrays ? "at" : "0", *number = numbers ? "number" : "0";
    w->status = true;
    if (w->g->native) {
        w->table = true;
        if (!f->run) {
            w->failed = true;
            (void)tn_i_fail(w->p->ctx, TN_ERULE, NULL, "%s: there is no such kernel", f->name);
        }
        tn_i_c_line(w, "status = ((kernel_fn *)T[%" PRIu32 "])(T[%" PRIu32 "], run, %s, %s);",
                    tn_i_c_address(w->g, (const void *)(uintptr_t)f->run), tn_i_c_address(w->g, f->data), at, number);
    } else if (w->g->kernel && w->g->kernel(w->g->user, f, &name) && name.at)
        tn_i_c_line(w, "status = %s(%s, %s);", name.at, at, number);
    else {
        if (!w->g->kernel) (void)tn_i_fail(w->p->ctx, TN_ERULE, NULL, "%s has no text in C", f->name);
        w->failed = true;
    }
    tn_i_c_line(w, "if (status) return status;");
    tn_i_c_close_brace(w);
    w->failed |= name.failed;
    tn_i_text_free(&name);
}
