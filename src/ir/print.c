/* Programs as text (docs/ir.md).  The printed form is canonical: it depends on the contents of a program
 * alone, and the parser gives back the same program. */
#include "base/number.h"
#include "ir/seen.h"
#include "prims/prim.h"

#include <string.h>

typedef struct printer {
    tn_ctx *ctx;
    char *text;
    size_t n, capacity;
    bool failed;      /* the error is in the context */
    tn_i_seen seen;   /* nested programs */
    uint32_t *shared; /* per nested program: its number among those that stand in front, or 0 */
} printer;

/* The program being printed: the names of its values. */
typedef struct naming {
    const tn_fn *f;
    uint32_t *name; /* per value; literals have none */
    int indent;
} naming;

/* ---- bytes -------------------------------------------------------------------- */

static void put(printer *p, const char *s, size_t n) {
    size_t want;
    if (p->failed) return;
    if (!tn_i_add(p->n, n, &want) || !tn_i_add(want, 1, &want) ||
        !tn_i_grow(p->ctx, (void **)&p->text, &p->capacity, want, 1)) {
        p->failed = true;
        return;
    }
    memcpy(p->text + p->n, s, n);
    p->n += n;
}

static void puts_(printer *p, const char *s) { put(p, s, strlen(s)); }

static void put_u64(printer *p, uint64_t x) {
    char digits[24];
    size_t n = sizeof digits;
    do digits[--n] = (char)('0' + x % 10);
    while (x /= 10);
    put(p, digits + n, sizeof digits - n);
}

static void put_i64(printer *p, int64_t x) {
    if (x < 0) puts_(p, "-");
    put_u64(p, x < 0 ? 0 - (uint64_t)x : (uint64_t)x);
}

static void put_line(printer *p, int indent) {
    static const char blanks[] = "                                ";
    puts_(p, "\n");
    for (int step; indent > 0; indent -= step) {
        step = indent < (int)sizeof blanks - 1 ? indent : (int)sizeof blanks - 1;
        put(p, blanks, (size_t)step);
    }
}

static void put_type(printer *p, const tn_type *t) {
    char text[TN_I_TYPE_TEXT];
    puts_(p, tn_i_type_text(text, t));
}

static void put_string(printer *p, const char *s) {
    static const char hex[] = "0123456789abcdef";
    puts_(p, "\"");
    for (; *s; s++) {
        const unsigned char c = (unsigned char)*s;
        const char escaped[4] = {'\\', 'x', hex[c >> 4], hex[c & 15]};
        if (c == '"' || c == '\\') puts_(p, "\\");
        if (c < 0x20 || c == 0x7F)
            put(p, escaped, 4);
        else
            put(p, s, 1);
    }
    puts_(p, "\"");
}

/* ---- names -------------------------------------------------------------------- */

/* a, b, .., z, aa, ab, ..: the word's place in that order. */
static uint64_t rank_of(const char *word) {
    uint64_t rank = 0;
    for (; *word; word++) rank = rank * 26 + (uint64_t)(*word - 'a' + 1);
    return rank - 1;
}

static void put_name(printer *p, uint32_t number) {
    static const char *const skipped[] = {"in", "inf", "let", "nan", "stack", "lambda"}; /* by rank */
    uint64_t rank = number;
    for (size_t i = 0; i < sizeof skipped / sizeof *skipped; i++) rank += rank >= rank_of(skipped[i]);
    char name[16];
    size_t n = sizeof name;
    for (rank++; rank; rank = (rank - 1) / 26) name[--n] = (char)('a' + (rank - 1) % 26);
    put(p, name + n, sizeof name - n);
}

/* ---- numbers -------------------------------------------------------------------- */

static void put_element(printer *p, int dtype, const void *at) {
    char text[TN_I_ELEMENT_TEXT];
    put(p, text, tn_i_element_text(text, dtype, at));
}

static void put_literal(printer *p, const tn_i_val *v) {
    unsigned char bytes[8];
    tn_i_put_bits(v->type->dtype, bytes, v->bits);
    put_element(p, v->type->dtype, bytes);
    puts_(p, ":");
    put_type(p, v->type);
}

/* Nested lists; an array without elements is [], its type tells the shape. */
static void put_array(printer *p, const tn_type *t, const char *data) {
    const size_t size = tn_i_dtype_size(t->dtype);
    int64_t count = tn_i_count(t), index[TN_MAX_RANK] = {0};
    if (count == 0) puts_(p, "[");
    for (int64_t i = 0; i < count && !p->failed; i++) {
        int open = t->rank;
        while (open > 0 && index[open - 1] == 0) open--;
        if (i) puts_(p, ", ");
        for (int k = open; k < t->rank; k++) puts_(p, "[");
        put_element(p, t->dtype, data + (size_t)i * size);
        for (int k = t->rank - 1; k >= 0; k--) {
            if (++index[k] < t->dim[k]) break;
            index[k] = 0;
            puts_(p, "]");
        }
    }
    if (count == 0) puts_(p, "]");
}

/* ---- parameters ------------------------------------------------------------------ */

static void put_ints(printer *p, const int64_t *x, uint32_t n) {
    puts_(p, "(");
    for (uint32_t i = 0; i < n; i++) {
        if (i) puts_(p, ", ");
        if (x[i] == TN_I_STEPS)
            puts_(p, "?");
        else
            put_i64(p, x[i]);
    }
    puts_(p, n == 1 ? ",)" : ")");
}

static void put_groups(printer *p, const tn_i_param *v, uint32_t size) {
    const uint32_t n = v->n / size;
    puts_(p, "(");
    for (uint32_t i = 0; i < n; i++) {
        if (i) puts_(p, ", ");
        put_ints(p, v->u.ints + (size_t)i * size, size);
    }
    puts_(p, n == 1 ? ",)" : ")");
}

/* Four lists are two pairs, as in dot_general. */
static void put_lists(printer *p, const tn_i_spec *spec, const tn_i_param *v) {
    const bool pairs = spec->lists == 4 && !spec->fields;
    if (spec->fields) puts_(p, spec->record);
    puts_(p, pairs ? "((" : "(");
    for (uint32_t j = 0; j < spec->lists; j++) {
        uint32_t n;
        const int64_t *list = tn_i_list(v, spec->lists, j, &n);
        if (j) puts_(p, pairs && j == 2 ? "), (" : ", ");
        if (spec->fields) {
            puts_(p, spec->fields[j]);
            puts_(p, "=");
        }
        put_ints(p, list, n);
    }
    puts_(p, pairs ? "))" : ")");
}

static void put_types(printer *p, const tn_i_param *v) {
    puts_(p, "(");
    for (uint32_t i = 0; i < v->n; i++) {
        if (i) puts_(p, ", ");
        put_type(p, v->u.types[i]);
    }
    puts_(p, v->n == 1 ? ",)" : ")");
}

static void put_program(printer *p, const tn_fn *f, int indent);

static void put_nested(printer *p, const tn_fn *f, int indent) {
    uint32_t number;
    bool fresh;
    if (!tn_i_seen_add(&p->seen, f, &number, &fresh)) {
        p->failed = true;
        return;
    }
    if (!p->shared[number]) {
        put_program(p, f, indent);
        return;
    }
    puts_(p, "p");
    put_u64(p, p->shared[number]);
}

static void put_programs(printer *p, const tn_i_param *v, int indent) {
    puts_(p, "(");
    for (uint32_t i = 0; i < v->n; i++) {
        put_line(p, indent + 2);
        put_nested(p, v->u.fns[i], indent + 2);
        if (i + 1 < v->n || v->n == 1) puts_(p, ",");
    }
    put_line(p, indent);
    puts_(p, ")");
}

static void put_value(printer *p, const tn_i_spec *spec, const tn_i_param *v, int indent) {
    switch (v->kind) {
    case TN_K_INT: put_i64(p, v->u.i); break;
    case TN_K_BOOL: puts_(p, v->u.i ? "True" : "False"); break;
    case TN_K_DTYPE: puts_(p, tn_i_dtype_name((int)v->u.i)); break;
    case TN_K_SYM: puts_(p, spec->symbols[v->u.i]); break;
    case TN_K_AXES: puts_(p, tn_i_axes_text(p->ctx, (uint32_t)v->u.i)); break;
    case TN_K_STR: put_string(p, v->u.str); break;
    case TN_K_INTS:
        if (spec->lists)
            put_groups(p, v, spec->lists);
        else
            put_ints(p, v->u.ints, v->n);
        break;
    case TN_K_LISTS: put_lists(p, spec, v); break;
    case TN_K_FN: put_nested(p, v->u.fn, indent); break;
    case TN_K_FNS: put_programs(p, v, indent); break;
    case TN_K_BLOB: put_array(p, v->u.blob->type, tn_i_blob_data(v->u.blob)); break;
    case TN_K_TYPES: put_types(p, v); break;
    case TN_K_NUMBER: put_element(p, (int)v->n, &v->u.i); break;
    case TN_K_NONE:
    case TN_K_PTR: break;
    }
}

static bool printable(const tn_i_param *v) { return v->kind != TN_K_NONE && v->kind != TN_K_PTR; }

/* Parameters stand on one line, or one on each when a program is among them. */
static void put_params(printer *p, const tn_i_eqn *e, int indent) {
    const uint32_t n = e->params ? e->params->n : 0;
    uint32_t shown = e->region != 0 || e->linear;
    bool program = false;
    for (uint32_t k = 0; k < n; k++) {
        shown += printable(&e->params->v[k]);
        program |= e->params->v[k].kind == TN_K_FN || e->params->v[k].kind == TN_K_FNS;
    }
    if (!shown) return;
    puts_(p, "[");
    if (program) put_line(p, indent + 4);
    shown = 0;
    if (e->region) {
        puts_(p, "region=");
        put_u64(p, e->region);
        shown++;
    }
    if (e->linear) puts_(p, shown++ ? " linear=True" : "linear=True"); /* never beside a program */
    for (uint32_t k = 0; k < n; k++) {
        if (!printable(&e->params->v[k])) continue;
        if (shown++) {
            if (program)
                put_line(p, indent + 4);
            else
                puts_(p, " ");
        }
        puts_(p, e->prim->params[k].name);
        puts_(p, "=");
        put_value(p, &e->prim->params[k], &e->params->v[k], indent + 4);
    }
    if (program) put_line(p, indent + 2);
    puts_(p, "]");
}

/* ---- programs ------------------------------------------------------------------------ */

static void put_var(printer *p, const naming *s, tn_i_var v) {
    if (tn_i_is_literal(s->f, v))
        put_literal(p, &s->f->val[v]);
    else
        put_name(p, s->name[v]);
}

static void put_binder(printer *p, const naming *s, tn_i_var v) {
    put_name(p, s->name[v]);
    puts_(p, ":");
    put_type(p, s->f->val[v].type);
}

static void put_equation(printer *p, const naming *s, const tn_i_eqn *e) {
    put_line(p, s->indent + 4);
    if (e->nout == 0) puts_(p, "() ");
    for (uint32_t j = 0; j < e->nout; j++) {
        put_binder(p, s, e->out + j);
        puts_(p, " ");
    }
    puts_(p, "= ");
    puts_(p, e->prim->name);
    put_params(p, e, s->indent + 4);
    for (uint32_t i = 0; i < e->nin; i++) {
        puts_(p, " ");
        put_var(p, s, tn_i_in(s->f, e)[i]);
    }
}

static void put_body(printer *p, const naming *s) {
    const tn_fn *f = s->f;
    puts_(p, "{ lambda");
    for (uint32_t i = 0; i < f->nin; i++) {
        puts_(p, i == f->nin - f->nlin ? " | " : " ");
        put_binder(p, s, i);
    }
    puts_(p, " . let");
    for (uint32_t i = 0; i < f->neqn && !p->failed; i++) put_equation(p, s, &f->eqn[i]);
    put_line(p, s->indent + 2);
    puts_(p, "in (");
    for (uint32_t j = 0; j < f->nout; j++) {
        if (j) puts_(p, ", ");
        put_var(p, s, f->out[j]);
    }
    puts_(p, f->nout == 1 ? ",) }" : ") }");
}

static void put_program(printer *p, const tn_fn *f, int indent) {
    if (p->failed) return;
    naming s = {.f = f, .indent = indent, .name = tn_i_alloc_array(p->ctx, f->nval, sizeof *s.name)};
    if (!s.name) {
        p->failed = true;
        return;
    }
    uint32_t next = 0;
    for (uint32_t v = 0; v < f->nval; v++)
        if (!tn_i_is_literal(f, v)) s.name[v] = next++;
    put_body(p, &s);
    tn_i_free(p->ctx, s.name, f->nval * sizeof *s.name);
}

/* ---- nested programs that are used more than once ------------------------------------- */

typedef struct survey {
    tn_i_seen *seen;
    uint32_t *uses, *order; /* by number; numbers, inner programs first */
    size_t cuses, corder, norder;
} survey;

static bool count_uses(survey *s, const tn_fn *f);

static bool count_use(survey *s, const tn_fn *g) {
    tn_ctx *c = g->ctx;
    uint32_t number;
    bool fresh;
    if (!tn_i_seen_add(s->seen, g, &number, &fresh) ||
        !tn_i_grow(c, (void **)&s->uses, &s->cuses, s->seen->n, sizeof *s->uses))
        return false;
    if (!fresh) {
        s->uses[number]++;
        return true;
    }
    s->uses[number] = 1;
    if (!count_uses(s, g) || !tn_i_grow(c, (void **)&s->order, &s->corder, s->norder + 1, sizeof *s->order))
        return false;
    s->order[s->norder++] = number;
    return true;
}

static bool count_uses(survey *s, const tn_fn *f) {
    for (uint32_t i = 0; i < f->neqn && f->depth > 1; i++) {
        const tn_i_params *params = f->eqn[i].params;
        for (uint32_t k = 0; params && k < params->n; k++) {
            const tn_fn *const *g;
            const uint32_t n = tn_i_programs(&params->v[k], &g);
            for (uint32_t j = 0; j < n; j++)
                if (!count_use(s, g[j])) return false;
        }
    }
    return true;
}

static void put_shared(printer *p, const survey *s) {
    uint32_t next = 1;
    for (size_t i = 0; i < s->norder && !p->failed; i++) {
        const uint32_t number = s->order[i];
        if (s->uses[number] < 2) continue;
        puts_(p, "let p");
        put_u64(p, next);
        puts_(p, " = ");
        put_program(p, p->seen.fn[number], 0);
        puts_(p, " in\n");
        p->shared[number] = next++;
    }
}

static void put_grid(printer *p) {
    const tn_i_grid *g = &p->ctx->grid;
    puts_(p, "grid (");
    for (int a = 0; a < g->naxes; a++) {
        puts_(p, a ? ", " : "");
        puts_(p, g->name[a]);
        puts_(p, "=");
        put_i64(p, g->extent[a]);
    }
    puts_(p, ")\n");
}

char *tn_i_print(const tn_fn *f, size_t *n) {
    tn_ctx *c = f->ctx;
    printer p = {.ctx = c};
    tn_i_seen_init(&p.seen, c);
    survey s = {.seen = &p.seen};
    p.failed = !count_uses(&s, f);
    const size_t programs = p.seen.n;
    if (!p.failed && !(p.shared = tn_i_alloc_array(c, programs, sizeof *p.shared))) p.failed = true;
    if (f->varies || f->comm) put_grid(&p);
    if (!p.failed) put_shared(&p, &s);
    put_program(&p, f, 0);
    puts_(&p, "\n");
    if (!p.failed) p.text[p.n] = 0;
    tn_i_free(c, s.uses, s.cuses * sizeof *s.uses);
    tn_i_free(c, s.order, s.corder * sizeof *s.order);
    tn_i_free(c, p.shared, programs * sizeof *p.shared);
    tn_i_seen_free(&p.seen);
    char *exact = p.failed ? NULL : tn_i_alloc(c, p.n + 1);
    if (exact) memcpy(exact, p.text, p.n + 1);
    tn_i_free(c, p.text, p.capacity);
    if (exact && n) *n = p.n;
    return exact;
}
