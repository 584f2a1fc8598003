#include "laws/golden.h"

#include "laws/derive.h"
#include "laws/table.h"

#include <stdlib.h>
#include <string.h>

/* Reads the numbers of one array; false when there are too few. */
static bool read_array(const char **text, laws_array *a) {
    for (int64_t k = 0; k < laws_count(a); k++) {
        char *end;
        switch (a->type.dtype) {
        case TN_BOOL: ((uint8_t *)a->data)[k] = (uint8_t)strtol(*text, &end, 10); break;
        case TN_I32: ((int32_t *)a->data)[k] = (int32_t)strtol(*text, &end, 10); break;
        case TN_I64: ((int64_t *)a->data)[k] = strtoll(*text, &end, 10); break;
        case TN_F32: ((float *)a->data)[k] = strtof(*text, &end); break;
        default: ((double *)a->data)[k] = strtod(*text, &end);
        }
        if (end == *text) return false;
        *text = end;
    }
    *text += strspn(*text, "; ");
    return true;
}

static const tn_fn *parse(laws_trial *t, const laws_golden *row) {
    const tn_fn *f = tn_fn_parse(t->ctx, row->program, strlen(row->program), "golden");
    if (!f) laws_fail(t, "%s: %s", row->program, tn_error(t->ctx));
    return f;
}

static bool holds(laws_trial *t, const laws_golden *row) {
    const tn_fn *f = parse(t, row);
    if (!f) return false;
    t->shown = f;
    laws_array *x = laws_alloc(t->memory, f->nin + 1u, sizeof *x), *want = laws_alloc(t->memory, f->nout + 1u, sizeof *want);
    const char *in = row->in, *out = row->out;
    bool ok = true;
    for (uint32_t i = 0; i < f->nin; i++) {
        x[i] = laws_new(t->memory, f->val[i].type);
        ok = ok && read_array(&in, &x[i]);
    }
    for (uint32_t j = 0; j < f->nout; j++) {
        want[j] = laws_new(t->memory, f->val[f->out[j]].type);
        ok = ok && read_array(&out, &want[j]);
    }
    if (!ok || *in || *out) {
        laws_fail(t, "the table's row for %s does not fit the program", row->program);
        return false;
    }
    const laws_array *y = laws_run_new(t, f, x);
    if (!y) return false;
    if (!row->close) return laws_same_bits(t, "recorded and computed: output", want, y, f->nout);
    const bool f32 = f->val[f->out[0]].type->dtype == TN_F32;
    return laws_agree(t, "recorded and computed: output", want, y, f->nout, f32 ? 4e-7 : 4e-15, 0);
}

/* A primitive, and each of its dtypes, has a row. User code has no value of its own. */
void laws_golden_values(laws_trial *t) {
    int rows = 0;
    if (t->prim->id == TN_P_external_call) return;
    for (const laws_golden *row = laws_golden_table; row->prim; row++)
        if (strcmp(row->prim, t->prim->name) == 0 && strcmp(row->dtype, tn_i_dtype_name(t->dtype)) == 0) {
            rows++;
            if (!holds(t, row)) return;
        }
    /* the predicate decides a select's row: its cases are those of bool */
    if (!rows && t->prim->id != TN_P_select) laws_fail(t, "no value of %s is recorded for this dtype", t->prim->name);
}
