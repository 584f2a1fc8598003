/* The header of a program that is written as C: what its function takes, needs and returns. */
#include "emit/c99.h"
#include "plan/loop.h"
#include "plan/replay.h"

#include <ctype.h>
#include <inttypes.h>

void tn_i_c99_upper(tn_i_text *t, const char *s) {
    for (; *s; s++) {
        const char c = (char)toupper((unsigned char)*s);
        tn_i_text_add(t, &c, 1);
    }
}

void tn_i_c99_prototype(const tn_i_c99 *w, tn_i_text *t) {
    const tn_fn *f = w->root->f;
    tn_i_text_put(t, "int %s(", w->name);
    for (uint32_t i = 0; i < f->nin; i++) {
        tn_i_text_put(t, "const %s *in%u, ", tn_i_c_name(f->val[i].type->dtype), (unsigned)i);
        tn_i_c99_lengths(t, f->val[i].type, true, i);
    }
    for (uint32_t j = 0; j < f->nout; j++) {
        tn_i_text_put(t, "%s *out%u, ", tn_i_c_name(f->val[f->out[j]].type->dtype), (unsigned)j);
        tn_i_c99_lengths(t, f->val[f->out[j]].type, false, j);
    }
    tn_i_text_put(t, "void *work)");
}

size_t tn_i_c99_static_bytes(const tn_i_c99 *w) {
    const size_t n = ((w->root->bytes + 63) & ~(size_t)63) + ((w->g.scratch + 63) & ~(size_t)63);
    return (n < 64 ? 64 : n) + tn_i_c99_arguments_bytes(w);
}

/* Whether there are pages behind that. */
static bool paged(const tn_i_c99 *w) {
    return w->stacks && (w->pages || w->step_pages || w->inner_bytes || w->root->per_step);
}

/* A macro's name. */
static void put_macro(const tn_i_c99 *w, tn_i_text *t, const char *what) {
    tn_i_c99_upper(t, w->name);
    tn_i_text_put(t, "_%s", what);
}

/* ---- what is said of it ----------------------------------------------------------------------- */

static void put_shape(tn_i_text *t, bool input, uint32_t i, const tn_type *type) {
    char text[TN_I_TYPE_TEXT];
    tn_i_text_put(t, " *   %s%u  %s", input ? "in" : "out", (unsigned)i, tn_i_type_text(text, type));
    tn_i_c99_say_lengths(t, type, input, i);
    if (type->rank > 1 && !tn_i_has_steps(type)) {
        int64_t stride[TN_MAX_RANK];
        tn_i_dense_strides(type, stride);
        tn_i_text_put(t, ", element strides");
        for (int d = 0; d < type->rank; d++) tn_i_text_put(t, " %" PRId64, stride[d]);
    }
    tn_i_text_put(t, "\n");
}

static void put_description(const tn_i_c99 *w, tn_i_text *t) {
    const tn_fn *f = w->root->f;
    tn_i_text_put(t, "/* %s, written by Tansy " TN_VERSION ".\n *\n", w->name);
    for (uint32_t i = 0; i < f->nin; i++) put_shape(t, true, i, f->val[i].type);
    for (uint32_t j = 0; j < f->nout; j++) put_shape(t, false, j, f->val[f->out[j]].type);
    tn_i_text_put(t, " *\n");
    tn_i_c99_say_arguments(w, t);
    tn_i_text_put(t, " * Arrays are row-major and share no memory with each other, unless both are read; bool is "
                     "uint8_t, 0 or 1.  `work` has\n * ");
    put_macro(w, t, "WORK_BYTES bytes, aligned to ");
    put_macro(w, t, "WORK_ALIGN");
    tn_i_text_put(t, ", of memory that malloc or the like gave; what it holds means\n * nothing between calls, and "
                     "calls at the same time need one each.  Nothing else is allocated or kept.\n *\n"
                     " * Returns 0, or what stopped it; outputs then hold anything. */\n");
}

/* Something is kept of each step, or leaves. */
static bool has_capacity(const tn_i_c99 *w) { return paged(w) || tn_i_c99_has_lengths(w, true); }

static void put_statuses(const tn_i_c99 *w, tn_i_text *t) {
    static const char *const status[] = {
        "ASSERT_FAILED 1     /* an assert does not hold */\n",
        "EXTERNAL_FAILED 2   /* an external function returned another value than 0 */\n",
        "CAPACITY_EXCEEDED 3 /* a loop wants to keep more steps than there is room for */\n",
        "SHORT_ARRAY 4       /* a loop runs for more steps than an array that it reads is long */\n",
        "STOPPED 5           /* tansy_print or tansy_progress returned another value than 0 */\n",
        "LENGTHS_DIFFER 6    /* what one loop is to read has several lengths, or a length is negative */\n"};
    for (size_t i = 0; i < sizeof status / sizeof *status; i++) {
        if (i == 2 && !has_capacity(w)) continue;
        if (i == 3 && !w->stacks) continue;
        if (i == 4 && !w->tells) continue;
        if (i == 5 && !tn_i_c99_has_lengths(w, false)) continue;
        tn_i_text_put(t, "#define ");
        put_macro(w, t, status[i]);
    }
}

/* ---- loops that find their length ----------------------------------------------------------------- */

static void put_loop(tn_i_text *t, const tn_i_eqn *e, size_t *n) {
    tn_i_text_put(t, *n ? ", " : "\n * Of: ");
    tn_i_c99_about(t, e);
    ++*n;
}

/* Each loop once: a place in a file may be that of many. */
static bool told(const tn_i_plan *root, size_t last, size_t end, const tn_i_eqn *e) {
    for (size_t i = 0; i <= last; i++) {
        const tn_i_plan *p = i ? root->nested[i - 1] : root;
        const size_t n = i == last ? end : p->nstep;
        for (size_t k = 0; k < n; k++) {
            const tn_i_eqn *x = &p->f->eqn[p->step[k].eqn];
            if ((p->step[k].kind == TN_STEP_LOOP || p->step[k].kind == TN_STEP_GROUP) && x->prim == e->prim &&
                x->loc == e->loc)
                return true;
        }
    }
    return false;
}

static bool is_counted(const tn_i_plan *p, const tn_i_step *s) {
    if (s->kind == TN_STEP_LOOP) return p->loop[s->loop].cond != NULL;
    if (s->kind != TN_STEP_GROUP) return false;
    const tn_i_group *g = &p->group[s->loop];
    return g->actor[g->nactor - 1].cond != NULL;
}

static void put_loops(const tn_i_c99 *w, tn_i_text *t) {
    enum { MOST = 8 };
    const tn_i_plan *root = w->root;
    size_t n = 0;
    for (size_t i = 0; i <= root->nnested && n < MOST; i++) {
        const tn_i_plan *p = i ? root->nested[i - 1] : root;
        for (size_t k = 0; k < p->nstep && n < MOST; k++)
            if (is_counted(p, &p->step[k]) && !told(root, i, k, &p->f->eqn[p->step[k].eqn]))
                put_loop(t, &p->f->eqn[p->step[k].eqn], &n);
    }
    tn_i_text_put(t, n == MOST ? ", ..." : n ? "." : "");
}

static void put_capacity(const tn_i_c99 *w, tn_i_text *t) {
    tn_i_text_put(t, "\n/* How many steps a loop may take that finds its length when it runs, where something is kept "
                     "of each step; a loop in such\n * a loop: in all its runs together.  It must be the same where "
                     "this header is included and where the source is compiled.");
    put_loops(w, t);
    tn_i_text_put(t, " */\n#ifndef ");
    put_macro(w, t, "CAPACITY\n#define ");
    put_macro(w, t, "CAPACITY ");
    tn_i_text_put(t, "%" PRId64 "\n#endif\n", w->capacity);
}

/* Pages for the steps, and those that are not full. */
static void put_work(const tn_i_c99 *w, tn_i_text *t) {
    tn_i_text_put(t, "#define ");
    put_macro(w, t, "WORK_ALIGN 64\n#define ");
    if (!paged(w)) {
        put_macro(w, t, "WORK_BYTES ");
        tn_i_text_put(t, "%zu\n", tn_i_c99_static_bytes(w));
        return;
    }
    const size_t page = tn_i_c99_page_bytes(w);
    put_macro(w, t, "WORK_BYTES \\\n");
    tn_i_text_put(t, "    ((size_t)%zu + (size_t)%zu * ((size_t)%zu + (size_t)%zu * (size_t)(",
                  tn_i_c99_static_bytes(w), page, w->pages + 1, tn_i_c99_step_bytes(w));
    put_macro(w, t, "CAPACITY");
    tn_i_text_put(t, ") / (size_t)%zu", page - TN_I_PAGE_HEAD);
    if (w->step_pages) {
        tn_i_text_put(t, " + (size_t)%zu * (size_t)(", w->step_pages);
        put_macro(w, t, "CAPACITY)");
    }
    tn_i_text_put(t, "))\n");
}

/* ---- what it tells ------------------------------------------------------------------------------------ */

static void put_hooks(const tn_i_c99 *w, tn_i_text *t) {
    static const char *const name[] = {"print", "progress"};
    if (!w->tells) return;
    tn_i_text_put(t, "\n/* To be defined where it is called: told what the program prints, with the file and line that "
                     "it was traced in, and n\n * row-major arrays, which are there until it returns.  Another value "
                     "than 0 stops the program. */\n#ifndef TANSY_ARRAY\n#define TANSY_ARRAY\n"
                     "typedef struct tansy_array {\n    const char *type; /* \"f64\", \"f32\", \"i64\", \"i32\" or "
                     "\"bool\" */\n    int rank;\n    const int64_t *dim;\n    const void *data;\n} tansy_array;\n"
                     "#endif\n");
    for (unsigned i = 0; i < 2; i++)
        if (w->tells >> i & 1)
            tn_i_text_put(t,
                          "extern int tansy_%s(const char *message, const char *file, int line, int n, const "
                          "tansy_array *array);\n",
                          name[i]);
}

void tn_i_c99_header(const tn_i_c99 *w, tn_i_text *t) {
    put_description(w, t);
    tn_i_text_put(t, "#ifndef ");
    put_macro(w, t, "H\n#define ");
    put_macro(w, t, "H\n\n#include <stddef.h>\n#include <stdint.h>\n\n");
    put_statuses(w, t);
    if (has_capacity(w)) put_capacity(w, t);
    tn_i_text_put(t, "\n");
    tn_i_c99_rooms(w, t);
    put_work(w, t);
    tn_i_text_put(t, "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
    put_hooks(w, t);
    tn_i_text_put(t, "\n");
    tn_i_text prototype = {.ctx = w->ctx};
    tn_i_c99_prototype(w, &prototype);
    tn_i_text_put(&prototype, ";\n");
    tn_i_c_lay_out(prototype.at, t);
    t->failed |= prototype.failed;
    tn_i_text_free(&prototype);
    tn_i_text_put(t, "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
}
