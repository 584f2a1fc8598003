/* tn_emit_c: the files. */
#include "base/machine.h"
#include "emit/c99_group.h"
#include "run/talk.h"
#include "tansy/emit.h"

#include <stdio.h>
#include <string.h>

enum { TN_I_CAPACITY = 1000 };

/* ---- functions ---------------------------------------------------------------------------- */

static void mention_unused(tn_i_text *t, const char *body, const char *name) {
    if (!tn_i_c_names(body, name)) tn_i_text_put(t, "(void)%s;\n", name);
}

/* The function's text from its body. */
static void wrap(tn_i_c99 *w, const tn_i_plan *p, int piece) {
    tn_i_text *t = &w->functions;
    char name[24];
    const char *body = w->t.at ? w->t.at : "";
    tn_i_text_put(t, "\nstatic int ");
    tn_i_c99_function(w, t, p);
    if (piece >= 0) tn_i_text_put(t, "_%d", piece);
    tn_i_text_put(t, "(");
    tn_i_c99_parameters(w, t, p);
    tn_i_text_put(t, ") {\n");
    if (tn_i_c_names(body, "status")) tn_i_text_put(t, "int status = 0;\n");
    for (uint32_t i = 0; i < p->f->nin; i++) {
        (void)snprintf(name, sizeof name, "a%u", (unsigned)i);
        mention_unused(t, body, name);
    }
    for (uint32_t j = 0; j < p->f->nout; j++) {
        (void)snprintf(name, sizeof name, "r%u", (unsigned)j);
        mention_unused(t, body, name);
    }
    mention_unused(t, body, "w");
    mention_unused(t, body, "s");
    if (w->stacks) mention_unused(t, body, "stacks");
    if (w->quiet) mention_unused(t, body, "quiet");
    tn_i_c99_stack_helpers(w, body);
    tn_i_c99_schedule_helpers(w, body);
    tn_i_text_add(t, body, w->t.n);
    tn_i_text_put(t, "return 0;\n}\n");
    w->t.n = 0;
    if (w->t.at) w->t.at[0] = 0;
}

static void put_call_of_piece(tn_i_c99 *w, const tn_i_plan *p, int piece) {
    tn_i_text_put(&w->t, "status = ");
    tn_i_c99_function(w, &w->t, p);
    tn_i_text_put(&w->t, "_%d(", piece);
    for (uint32_t i = 0; i < p->f->nin; i++) tn_i_text_put(&w->t, "a%u, ", (unsigned)i);
    for (uint32_t j = 0; j < p->f->nout; j++) tn_i_text_put(&w->t, "r%u, ", (unsigned)j);
    tn_i_text_put(&w->t, "w, s%s%s);\nif (status) return status;\n", w->stacks ? ", stacks" : "",
                  w->quiet ? ", quiet" : "");
}

static void write_leave(tn_i_c99 *w, const tn_i_plan *p) {
    for (size_t i = p->last_move; i < p->nmove; i++) tn_i_c99_move(w, p, &p->move[i]);
    for (size_t i = p->last_release; i < p->nrelease; i++) tn_i_c99_stack_release(w, p, &p->release[i]);
}

static void write_plan(tn_i_c99 *w, const tn_i_plan *p) {
    const bool whole = p->nstep <= TN_M_EMIT_STEPS;
    int pieces = 0;
    for (size_t i = 0; i < p->nstep && !w->failed; i++) {
        tn_i_c99_step(w, p, &p->step[i]);
        if (!whole && (i % TN_M_EMIT_STEPS == TN_M_EMIT_STEPS - 1 || i + 1 == p->nstep)) wrap(w, p, pieces++);
    }
    for (int k = 0; k < pieces; k++) put_call_of_piece(w, p, k);
    write_leave(w, p);
    wrap(w, p, -1);
}

static void declare_plan(tn_i_c99 *w, tn_i_text *t, const tn_i_plan *p) {
    tn_i_text_put(t, "static int ");
    tn_i_c99_function(w, t, p);
    tn_i_text_put(t, "(");
    tn_i_c99_parameters(w, t, p);
    tn_i_text_put(t, ");\n");
}

/* ---- the function that users call ------------------------------------------------------------- */

/* Pages are from what is left of the workspace. */
static void put_stacks(tn_i_c99 *w, tn_i_text *t, size_t page_bytes) {
    tn_i_text_put(t, "tansy_stacks stacks;\nstacks.next = w + %zu;\nstacks.end = w + ", tn_i_c99_static_bytes(w));
    tn_i_c99_upper(t, w->name);
    tn_i_text_put(t, "_WORK_BYTES;\nstacks.unused = NULL;\nstacks.page_bytes = %zu;\n", page_bytes);
}

/* What the function does before and after it calls that of the plan. */
static void put_entry(tn_i_c99 *w, const char *enter, const char *leave) {
    tn_i_text *t = &w->functions;
    const tn_fn *f = w->root->f;
    const bool lengths = tn_i_c99_has_lengths(w, false);
    tn_i_text_put(t, "\n");
    tn_i_c99_prototype(w, t);
    tn_i_text_put(t, " {\nunsigned char *const w = (unsigned char *)work;\n");
    if (w->stacks) put_stacks(w, t, tn_i_c99_page_bytes(w));
    tn_i_text_put(t, lengths ? "int status;\n%sstatus = %s_main(" : "%sreturn %s_main(", enter, w->name);
    for (uint32_t i = 0; i < f->nin; i++) tn_i_c99_put_argument(w, t, true, i);
    for (uint32_t j = 0; j < f->nout; j++) tn_i_c99_put_argument(w, t, false, j);
    tn_i_text_put(t, "w, w + %zu%s%s);\n", (w->root->bytes + 63) & ~(size_t)63, w->stacks ? ", &stacks" : "",
                  w->quiet ? ", 0" : "");
    if (lengths) tn_i_text_put(t, "if (status) return status;\n%sreturn 0;\n", leave);
    tn_i_text_put(t, "}\n");
}

/* Overlapping of an input and an output is not allowed for: no alias was given to the plan. */
static void write_entry(tn_i_c99 *w) {
    tn_i_text enter = {.ctx = w->ctx}, leave = {.ctx = w->ctx};
    tn_i_c99_enter_arguments(w, &enter);
    tn_i_c99_leave_arguments(w, &leave);
    put_entry(w, enter.at ? enter.at : "", leave.at ? leave.at : "");
    w->failed |= enter.failed || leave.failed;
    tn_i_text_free(&enter);
    tn_i_text_free(&leave);
}

static void put_source(tn_i_c99 *w, const char *header, tn_i_text *t) {
    tn_i_text all = {.ctx = w->ctx};
    tn_i_text_put(t, "/* %s, written by Tansy " TN_VERSION ": see ", w->name);
    tn_i_c99_put_plain(t, header);
    tn_i_text_put(t, ". */\n#include \"%s\"\n\n", header);
    tn_i_cgen_head(&w->g, &w->functions, t);
    if (w->uses_cblas) tn_i_text_put(t, "#include <cblas.h>\n\n");
    if (w->g.helpers.at) tn_i_text_add(t, w->g.helpers.at, w->g.helpers.n);
    if (w->g.constants.at) tn_i_text_add(t, w->g.constants.at, w->g.constants.n);
    if (w->g.functions.at) tn_i_text_add(t, w->g.functions.at, w->g.functions.n);
    if (w->outside.at) tn_i_text_add(&all, w->outside.at, w->outside.n);
    tn_i_text_put(&all, "\n");
    for (size_t i = 0; i < w->root->nnested; i++)
        if (w->called[i]) declare_plan(w, &all, w->root->nested[i]);
    if (w->functions.at) tn_i_text_add(&all, w->functions.at, w->functions.n);
    tn_i_c_lay_out(all.at, t);
    t->failed |= all.failed;
    tn_i_text_free(&all);
}

/* ---- the public function ------------------------------------------------------------------------- */

static bool valid_name(tn_ctx *c, const char *name) {
    const char *is = tn_i_c_refuses(name);
    if (is)
        (void)tn_i_fail(c, TN_EINVAL, NULL,
                        "tn_emit_c: '%.100s' is no name for a function of C: it is %s; option `name` gives another",
                        name, is);
    return !is;
}

/* What #include "..." takes to mean itself (C99 6.4.7), under any name. */
static bool valid_header(tn_ctx *c, const char *header) {
    static const char *const not [] = {"\"", "'", "\\", "//", "/*", "??"};
    const char *bad = header[0] ? NULL : "nothing";
    for (size_t i = 0; i < sizeof not / sizeof *not ; i++)
        if (strstr(header, not [i])) bad = not [i];
    for (const char *s = header; *s; s++)
        if ((unsigned char)*s < ' ' || *s == 127) bad = "a control character";
    if (bad)
        (void)tn_i_fail(c, TN_EINVAL, NULL, "tn_emit_c: the header's name has %s in it, which #include does not admit",
                        bad);
    return !bad;
}

static bool declares(const tn_i_text *outside, const char *name) {
    char text[160];
    (void)snprintf(text, sizeof text, " %.140s(", name);
    return outside->at && strstr(outside->at, text) != NULL;
}

/* The program, external functions, and those that it is written with have names of their own. */
static bool names_differ(tn_i_c99 *w) {
    bool same = declares(&w->outside, w->name);
    const char *line = w->g.written, *const end = line ? line + w->g.nwritten : line;
    for (; line < end && !same; line += strcspn(line, "\n") + 1) {
        char name[160];
        (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(line, "\n"), line);
        same = strcmp(name, w->name) == 0 || declares(&w->outside, name);
    }
    if (w->failed || !same) return !w->failed;
    (void)tn_i_fail(w->ctx, TN_EINVAL, NULL,
                    "tn_emit_c: '%s' and another function that it is written with, or calls, would have one name",
                    w->name);
    return false;
}

static void release(tn_i_c99 *w) {
    tn_i_text *const text[] = {&w->outside, &w->functions, &w->t};
    tn_i_cgen_free(&w->g);
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) tn_i_text_free(text[i]);
    tn_i_free(w->ctx, w->called, w->called ? w->root->nnested + 1 : 0);
    tn_i_free(w->ctx, w->level, w->clevel * sizeof *w->level);
}

/* Steps of a loop are done again for others. */
static bool runs_again(const tn_i_plan *p) {
    for (size_t i = 0; i < p->ngroup; i++)
        if (p->group[i].nactor > 1) return true;
    return false;
}

static bool write_all(tn_i_c99 *w, const char *header, tn_i_text *source, tn_i_text *head) {
    const size_t n = w->root->nnested;
    if (!(w->called = tn_i_alloc(w->ctx, n + 1))) return false;
    w->stacks = tn_i_c99_has_stacks(w->root) || tn_i_c99_has_lengths(w, false);
    w->quiet = runs_again(w->root);
    for (size_t i = 0; i < n; i++) w->quiet |= runs_again(w->root->nested[i]);
    if (w->stacks) tn_i_c99_stack_helpers(w, "tansy_stacks");
    write_plan(w, w->root);
    for (size_t i = 0; i < n && !w->failed;) { /* what is called, until nothing more is */
        if (w->called[i] != 1) {
            i++;
            continue;
        }
        w->called[i] = 2;
        write_plan(w, w->root->nested[i]);
        i = 0;
    }
    if (!w->failed && !names_differ(w)) w->failed = true;
    if (!w->failed) write_entry(w);
    if (!w->failed) {
        put_source(w, header, source);
        tn_i_c99_header(w, head);
    }
    return !(w->failed || w->g.failed || w->g.helpers.failed || w->g.constants.failed || w->g.functions.failed ||
             w->g.list.failed || w->outside.failed || w->functions.failed || w->t.failed || source->failed ||
             head->failed);
}

static char *owned(tn_ctx *c, const tn_i_text *t) { return tn_i_owned_text(c, t->at ? t->at : "", t->n); }

static tn_status emit(const tn_fn *f, const tn_emit_c_options *o, const char *name, char **source, char **header) {
    tn_ctx *c = f->ctx;
    const tn_i_layout layout = {.handles = true};
    tn_i_plan *p = tn_i_plan_new(f, &layout);
    if (!p) return c->status;
    tn_i_c99 w = {.ctx = c,
                  .name = name,
                  .root = p,
                  .cblas = o->cblas,
                  .capacity = o->capacity > 0 ? o->capacity : TN_I_CAPACITY,
                  .g = {.ctx = c,
                        .prefix = name,
                        .libm = true,
                        .constants = {.ctx = c},
                        .helpers = {.ctx = c},
                        .functions = {.ctx = c},
                        .list = {.ctx = c}},
                  .outside = {.ctx = c},
                  .functions = {.ctx = c},
                  .t = {.ctx = c}};
    tn_i_text file = {.ctx = c}, text = {.ctx = c}, head = {.ctx = c};
    if (o->header)
        tn_i_text_put(&file, "%s", o->header);
    else
        tn_i_text_put(&file, "%s.h", name);
    bool ok = file.at && !file.failed && write_all(&w, file.at, &text, &head);
    if (ok) ok = (*source = owned(c, &text)) != NULL && (*header = owned(c, &head)) != NULL;
    if (!ok) {
        tn_text_free(c, *source);
        *source = NULL;
    }
    release(&w);
    tn_i_text_free(&file);
    tn_i_text_free(&text);
    tn_i_text_free(&head);
    tn_i_plan_free(c, p);
    return ok ? TN_OK : c->status;
}

/* C that is written has no table of functions between ranks. */
static bool without_ranks(const tn_fn *f) {
    const tn_i_eqn *e = tn_i_first_speaking(f);
    if (!e) return true;
    (void)tn_i_fail(f->ctx, TN_ERULE, e->loc,
                    "tn_emit_c: %s: programs over several ranks cannot be written as C: run them with tn_call",
                    tn_i_speech(e));
    return false;
}

tn_status tn_emit_c(const tn_fn *f, const tn_emit_c_options *opt, char **source, char **header) {
    tn_emit_c_options o = {.size = sizeof o};
    if (source) *source = NULL;
    if (header) *header = NULL;
    if (!tn_i_living(f)) return TN_EINVAL; /* the error that made it NULL stands */
    if (!source || !header) return tn_i_fail(f->ctx, TN_EINVAL, NULL, "tn_emit_c: no place for the texts");
    if (!tn_i_options(f->ctx, "tn_emit_c_options", opt, &o, sizeof o)) return TN_EINVAL;
    if (o.capacity < 0) return tn_i_fail(f->ctx, TN_EINVAL, NULL, "tn_emit_c: the capacity is negative");
    const char *name = o.name ? o.name : f->name && f->name[0] ? f->name : "f";
    if (!valid_name(f->ctx, name) || (o.header && !valid_header(f->ctx, o.header))) return f->ctx->status;
    tn_fn *g = o.strict_zero ? tn_i_strict(f) : (tn_fn *)(uintptr_t)tn_i_fn_ref(f);
    tn_fn *h = g ? tn_i_prepared(g) : NULL;
    tn_i_fn_unref(g);
    if (h && !without_ranks(h)) {
        tn_i_fn_unref(h);
        return f->ctx->status;
    }
    const tn_status status = h ? emit(h, &o, name, source, header) : f->ctx->status;
    tn_i_fn_unref(h);
    return status;
}
