/* Inputs and outputs whose length a loop finds, as C: entries one after another in the caller's memory, and numbers
 * beside them that say how many there are.  The plan reads and fills them as it does its own (c99_stack.c): what
 * enters, and what one loop alone fills, is a chain over that memory; other outputs are copied there. */
#include "emit/c99.h"
#include "plan/loop.h"
#include "plan/stack.h"

#include <inttypes.h>

/* In the workspace, of each: two chains, then its handles. */
enum { CHAINS = 2 * TN_I_PAGE_HEAD, HANDLE = sizeof(tn_i_handle) };

/* ---- what is called ----------------------------------------------------------------------------- */

static const char over[] =
    "/* A chain over memory of the caller's, with room for `most` entries; it is never given up. */\n"
    "static void tansy_over(tansy_chain *c, const tansy_level *level, const void *data, int64_t most) {\n"
    "memset(c, 0, sizeof *c);\nc->last = c->seen = &c->page;\nc->data = (unsigned char *)data;\nc->level = level;\n"
    "c->per_page = INT64_MAX;\nc->most = most;\nc->users = 1;\n}\n";

static const char given[] =
    "/* Makes n arrays as long as `length` says, and, further on in it, those in their entries.  The elements are in\n"
    " * `data`, two chains: of the second an entry is every one of its array. */\n"
    "static int tansy_given(tansy_stacks *s, const tansy_level *level, tansy_stack *h, int64_t n, tansy_chain *data, "
    "const int64_t **length) {\n"
    "for (int64_t i = 0; i < n; i++) {\n"
    "const int64_t count = *length[0]++;\nconst int64_t entries = count == INT64_MAX ? 1 : count;\nint status;\n"
    "if (count < 0) return 6;\n"
    "if (!level->handles) {\n"
    "h[i].count = count;\nh[i].start = data->count;\nh[i].chain = data + (count == INT64_MAX);\n"
    "h[i].chain->users++;\ndata->count += entries;\ncontinue;\n}\n"
    "if (count == INT64_MAX) {\n"
    "status = tansy_new(s, level, &h[i], 1);\nif (status) return status;\nh[i].chain->repeats = 1;\n}\n"
    "if (!level[1].handles && !h[i].chain->child) {\nh[i].chain->child = data;\ndata->users++;\n}\n"
    "status = tansy_extend(s, &h[i], entries);\nif (status) return status;\n"
    "for (int64_t k = 0; k < entries; k++) {\n"
    "status = tansy_given(s, level + 1, (tansy_stack *)tansy_slot(h[i].chain, h[i].start + k), level->handles, data, "
    "length + 1);\nif (status) return status;\n}\n"
    "h[i].count = count;\n}\nreturn 0;\n}\n";

static const char enter[] =
    "/* An input with so many `?`: `own` is two chains, then n arrays. */\n"
    "static int tansy_enter(tansy_stacks *s, const tansy_level *level, int levels, unsigned char *own, int64_t n, "
    "const void *data, const int64_t **length) {\n"
    "tansy_chain *const c = (tansy_chain *)(void *)own;\n"
    "tansy_stack *const h = (tansy_stack *)(void *)(own + 256);\n"
    "tansy_over(c, level + levels - 1, data, 0);\ntansy_over(c + 1, level + levels - 1, data, 0);\nc[1].repeats = 1;\n"
    "if (levels > 1) {\nconst int status = tansy_new(s, level, h, n);\nif (status) return status;\n}\n"
    "return tansy_given(s, level, h, n, c, length);\n}\n";

static const char into[] =
    "/* An output that one loop fills: `own` as above. */\n"
    "static void tansy_into(const tansy_level *level, unsigned char *own, void *data, int64_t most) {\n"
    "tansy_chain *const c = (tansy_chain *)(void *)own;\ntansy_over(c, level, data, most);\n"
    "tansy_start((tansy_stack *)(void *)(own + 256), 1, c, 0);\n}\n";

static const char taken[] =
    "/* Tells how long n arrays are, and those in their entries, and copies what is not in `data` yet, as that of the\n"
    " * chain `own` is.  There is room for so many entries. */\n"
    "static int tansy_taken(const tansy_level *level, const tansy_stack *h, int64_t n, const void *own, "
    "unsigned char **data, int64_t **length, int64_t *room) {\n"
    "for (int64_t i = 0; i < n; i++) {\n"
    "const int64_t entries = h[i].count == INT64_MAX ? 1 : h[i].count;\n"
    "if (entries > *room) return 3;\n*room -= entries;\n*length[0]++ = h[i].count;\n"
    "for (int64_t k = 0; h[i].chain != own && k < entries; k++) {\n"
    "const void *entry = tansy_entry(&h[i], k);\n"
    "if (level->handles) {\n"
    "const int status = tansy_taken(level + 1, (const tansy_stack *)entry, level->handles, own, data, length + 1, "
    "room + 1);\nif (status) return status;\ncontinue;\n}\n"
    "memcpy(*data, entry, (size_t)level->bytes);\n*data += level->bytes;\n}\n}\nreturn 0;\n}\n";

static const char differ[] = "/* Unless one of them has no end. */\n"
                             "static int tansy_differ(int64_t a, int64_t b) {\n"
                             "return a != b && a != INT64_MAX && b != INT64_MAX;\n}\n";

static const tn_i_c_helper helpers[] = {{"tansy_over", over}, {"tansy_given", given}, {"tansy_enter", enter},
                                        {"tansy_into", into}, {"tansy_taken", taken}, {"tansy_differ", differ},
                                        {NULL, NULL}};

/* Before these, of which the first n are called, those of stacks that they call. */
static void need_stacks(tn_i_c99 *w, const char *text, size_t n) {
    tn_i_c99_stack_helpers(w, text);
    for (size_t i = 0; i < n; i++)
        if (tn_i_c_names(text, helpers[i].name)) need_stacks(w, helpers[i].text, i);
}

static void need(tn_i_c99 *w, const char *text) {
    need_stacks(w, text, sizeof helpers / sizeof *helpers - 1);
    tn_i_c_need(&w->g, helpers, text);
}

/* ---- which there are -------------------------------------------------------------------------------- */

static const tn_type *type_of(const tn_i_c99 *w, bool input, uint32_t i) {
    const tn_fn *f = w->root->f;
    return f->val[input ? i : f->out[i]].type;
}

/* One array, of what one loop stacks. */
static bool simple(const tn_type *t) { return tn_i_c99_levels(t) == 1 && tn_i_handles(t) == 1; }

static size_t own_bytes(const tn_type *t) {
    if (!tn_i_c99_is_stack(t)) return 0;
    return CHAINS + (((size_t)tn_i_handles(t) * HANDLE + 63) & ~(size_t)63);
}

size_t tn_i_c99_arguments_bytes(const tn_i_c99 *w) {
    const tn_fn *f = w->root->f;
    size_t n = 0;
    for (uint32_t i = 0; i < f->nin; i++) n += own_bytes(type_of(w, true, i));
    for (uint32_t j = 0; j < f->nout; j++) n += own_bytes(type_of(w, false, j));
    return n;
}

bool tn_i_c99_has_lengths(const tn_i_c99 *w, bool outputs) {
    const tn_fn *f = w->root->f;
    bool some = false;
    for (uint32_t i = 0; !outputs && i < f->nin; i++) some |= tn_i_c99_is_stack(type_of(w, true, i));
    for (uint32_t j = 0; j < f->nout; j++) some |= tn_i_c99_is_stack(type_of(w, false, j));
    return some;
}

static bool has_nested(const tn_i_c99 *w) {
    const tn_fn *f = w->root->f;
    bool some = false;
    for (uint32_t k = 0; k < f->nin + f->nout; k++) {
        const tn_type *t = k < f->nin ? type_of(w, true, k) : type_of(w, false, k - f->nin);
        some |= tn_i_c99_is_stack(t) && !simple(t);
    }
    return some;
}

/* ---- names ------------------------------------------------------------------------------------------- */

/* in2_length; where there are several: in2_lengths, and in2_lengths2 of the second `?`. */
static void put_name(tn_i_text *t, bool input, uint32_t i, const tn_type *type, int64_t level) {
    const bool several = level > 1 || tn_i_handles(type) > 1;
    tn_i_text_put(t, "%s%u_length%s", input ? "in" : "out", (unsigned)i, several ? "s" : "");
    if (level > 1) tn_i_text_put(t, "%d", (int)level);
}

void tn_i_c99_lengths(tn_i_text *t, const tn_type *type, bool input, uint32_t i) {
    if (!tn_i_c99_is_stack(type)) return;
    for (int64_t k = 1; k <= tn_i_c99_levels(type); k++) {
        const bool number = input && k == 1 && tn_i_handles(type) == 1;
        tn_i_text_put(t, number ? "int64_t " : input ? "const int64_t *" : "int64_t *");
        put_name(t, input, i, type, k);
        tn_i_text_put(t, ", ");
    }
}

/* ---- what is said of them ------------------------------------------------------------------------------ */

void tn_i_c99_say_lengths(tn_i_text *t, const tn_type *type, bool input, uint32_t i) {
    if (!tn_i_c99_is_stack(type)) return;
    tn_i_text_put(t, simple(type) ? ", length: " : ", lengths: ");
    for (int64_t k = 1; k <= tn_i_c99_levels(type); k++) {
        tn_i_text_put(t, k > 1 ? ", " : !input && tn_i_handles(type) == 1 ? "*" : "");
        put_name(t, input, i, type, k);
    }
}

void tn_i_c99_say_arguments(const tn_i_c99 *w, tn_i_text *t) {
    const bool nested = has_nested(w);
    if (!tn_i_c99_has_lengths(w, false)) return;
    tn_i_text_put(
        t, " * `?` is a length that a loop found when it ran.  The array is its entries, one after another, and its "
           "length says\n * how many there are; INT64_MAX: one, which is every one.  What one loop reads has one "
           "length.\n");
    if (nested)
        tn_i_text_put(t,
                      " * Of an array like f64[5,?] there are 5, one after another, and 5 lengths.  One like f64[?,?] "
                      "has as many lengths2 as\n * it is long, and what they count stands one after another.\n");
    if (tn_i_c99_has_lengths(w, true)) {
        tn_i_text_put(t, nested ? " * Outputs have room for as many elements, and lengths2, as "
                                : " * Outputs have room for as many elements as ");
        tn_i_c99_upper(t, w->name);
        tn_i_text_put(t, nested ? "_OUT..._ELEMENTS and ..._LENGTHS2 say.\n" : "_OUT..._ELEMENTS say.\n");
    }
    tn_i_text_put(t, " *\n");
}

/* How many arrays there are at a level, all in all; behind the first for each step that there is room for. */
static int64_t arrays_at(const tn_type *t, int64_t level) {
    tn_type rest = *t;
    int64_t n = 1;
    for (int64_t k = 0; k < level; k++) {
        n *= tn_i_handles(&rest);
        rest = tn_i_c99_entry(&rest);
    }
    return n;
}

static int64_t elements_of_entry(const tn_type *t) {
    tn_type rest = *t;
    while (tn_i_has_steps(&rest)) rest = tn_i_c99_entry(&rest);
    return tn_i_count(&rest);
}

/* n for each step that there is room for. */
static void put_room(const tn_i_c99 *w, tn_i_text *t, const char *type, int64_t n) {
    if (n != 1) tn_i_text_put(t, "(%s)%" PRId64 " * ", type, n);
    tn_i_text_put(t, "(%s)(", type);
    tn_i_c99_upper(t, w->name);
    tn_i_text_put(t, "_CAPACITY)");
}

static void put_rooms(const tn_i_c99 *w, tn_i_text *t, const tn_type *type, uint32_t j) {
    const int64_t n = tn_i_c99_levels(type);
    for (int64_t k = 2; k <= n; k++) {
        tn_i_text_put(t, "#define ");
        tn_i_c99_upper(t, w->name);
        tn_i_text_put(t, "_OUT%u_LENGTHS%d (", (unsigned)j, (int)k);
        put_room(w, t, "size_t", arrays_at(type, k));
        tn_i_text_put(t, ")\n");
    }
    tn_i_text_put(t, "#define ");
    tn_i_c99_upper(t, w->name);
    tn_i_text_put(t, "_OUT%u_ELEMENTS (", (unsigned)j);
    put_room(w, t, "size_t", arrays_at(type, n) * elements_of_entry(type));
    tn_i_text_put(t, ")\n");
}

void tn_i_c99_rooms(const tn_i_c99 *w, tn_i_text *t) {
    for (uint32_t j = 0; j < w->root->f->nout; j++)
        if (tn_i_c99_is_stack(type_of(w, false, j))) put_rooms(w, t, type_of(w, false, j), j);
}

/* ---- the function that users call: before ----------------------------------------------------------------- */

static size_t own_at(const tn_i_c99 *w, bool input, uint32_t i) {
    const uint32_t nin = w->root->f->nin;
    size_t at = tn_i_c99_static_bytes(w) - tn_i_c99_arguments_bytes(w);
    for (uint32_t k = 0; k < (input ? i : nin); k++) at += own_bytes(type_of(w, true, k));
    for (uint32_t j = 0; !input && j < i; j++) at += own_bytes(type_of(w, false, j));
    return at;
}

static void put_own(const tn_i_c99 *w, tn_i_text *t, bool input, uint32_t i) {
    tn_i_text_put(t, "w + %zu", own_at(w, input, i));
}

static void put_handles(const tn_i_c99 *w, tn_i_text *t, bool input, uint32_t i) {
    tn_i_text_put(t, "(tansy_stack *)(void *)(w + %zu)", own_at(w, input, i) + CHAINS);
}

static void put_level(tn_i_c99 *w, tn_i_text *t, const tn_type *type) {
    tn_i_text_put(t, "%s_l%u", w->name, (unsigned)tn_i_c99_level(w, type));
}

/* A list of where the lengths are. */
static void put_lengths(tn_i_text *t, const tn_type *type, bool input, uint32_t i) {
    tn_i_text_put(t, "%sint64_t *length[] = {", input ? "const " : "");
    for (int64_t k = 1; k <= tn_i_c99_levels(type); k++) {
        tn_i_text_put(t, k > 1 ? ", " : input && tn_i_handles(type) == 1 ? "&" : "");
        put_name(t, input, i, type, k);
    }
    tn_i_text_put(t, "};\n");
}

/* Handles in entries are in pages, of which some are not full; arrays of one entry that is every one have their own. */
static void count_given(tn_i_c99 *w, const tn_type *type) {
    const int64_t n = tn_i_c99_levels(type);
    w->pages += (size_t)(n - 1) * (size_t)(tn_i_handles(type) + 1);
    for (int64_t k = 2; k <= n; k++) w->inner_bytes += (size_t)arrays_at(type, k) * HANDLE;
}

static void write_given(tn_i_c99 *w, tn_i_text *t, uint32_t i) {
    const tn_type *type = type_of(w, true, i);
    count_given(w, type);
    tn_i_text_put(t, "{\n");
    put_lengths(t, type, true, i);
    tn_i_text_put(t, "status = tansy_enter(&stacks, ");
    put_level(w, t, type);
    tn_i_text_put(t, ", %d, ", (int)tn_i_c99_levels(type));
    put_own(w, t, true, i);
    tn_i_text_put(t, ", %" PRId64 ", in%u, length);\nif (status) return status;\n}\n", tn_i_handles(type), (unsigned)i);
}

/* Empty. */
static void write_output(tn_i_c99 *w, tn_i_text *t, uint32_t j) {
    const tn_type *type = type_of(w, false, j);
    tn_i_text_put(t, simple(type) ? "tansy_into(" : "status = tansy_new(&stacks, ");
    put_level(w, t, type);
    tn_i_text_put(t, ", ");
    if (simple(type)) {
        put_own(w, t, false, j);
        tn_i_text_put(t, ", out%u, ", (unsigned)j);
        put_room(w, t, "int64_t", 1);
        tn_i_text_put(t, ");\n");
        return;
    }
    put_handles(w, t, false, j);
    tn_i_text_put(t, ", %" PRId64 ");\nif (status) return status;\n", tn_i_handles(type));
    tn_i_c99_count_pages(w, type);
    w->inner_bytes += (size_t)tn_i_handles(type) * tn_i_entry_bytes(type);
}

static bool is_length(const tn_fn *f, tn_i_var v) {
    return v < f->nin && tn_i_c99_is_stack(f->val[v].type) && tn_i_handles(f->val[v].type) == 1;
}

/* Inputs that one loop reads, and, where it is an input too, the number of its steps. */
static void write_agreement(const tn_fn *f, const tn_i_eqn *e, tn_i_text *t) {
    const tn_i_var *in = tn_i_in(f, e);
    tn_i_loop_shape s;
    tn_i_var first = TN_NOVAR;
    if (!tn_i_loop_read(e, &s) || s.cond || s.length != TN_I_STEPS) return;
    for (uint32_t x = s.x0; x < s.x0 + s.nx; x++) {
        if (!is_length(f, in[x]) || in[x] == first) continue;
        if (first != TN_NOVAR)
            tn_i_text_put(t, "if (tansy_differ(in%u_length, in%u_length)) return 6;\n", (unsigned)first,
                          (unsigned)in[x]);
        else if (in[0] < f->nin)
            tn_i_text_put(t, "if (tansy_differ(*in%u, in%u_length)) return 6;\n", (unsigned)in[0], (unsigned)in[x]);
        if (first == TN_NOVAR) first = in[x];
    }
}

void tn_i_c99_enter_arguments(tn_i_c99 *w, tn_i_text *t) {
    const tn_fn *f = w->root->f;
    for (uint32_t k = 0; k < f->neqn; k++) write_agreement(f, &f->eqn[k], t);
    for (uint32_t i = 0; i < f->nin; i++)
        if (tn_i_c99_is_stack(type_of(w, true, i))) write_given(w, t, i);
    for (uint32_t j = 0; j < f->nout; j++)
        if (tn_i_c99_is_stack(type_of(w, false, j))) write_output(w, t, j);
    if (t->at) need(w, t->at);
}

void tn_i_c99_put_argument(const tn_i_c99 *w, tn_i_text *t, bool input, uint32_t i) {
    if (tn_i_c99_is_stack(type_of(w, input, i)))
        put_handles(w, t, input, i);
    else
        tn_i_text_put(t, "%s%u", input ? "in" : "out", (unsigned)i);
    tn_i_text_put(t, ", ");
}

/* ---- and behind --------------------------------------------------------------------------------------------- */

static void write_taken(tn_i_c99 *w, tn_i_text *t, uint32_t j) {
    const tn_type *type = type_of(w, false, j);
    tn_i_text_put(t, "{\nunsigned char *data = (unsigned char *)out%u;\n", (unsigned)j);
    put_lengths(t, type, false, j);
    tn_i_text_put(t, "int64_t room[] = {");
    for (int64_t k = 1; k <= tn_i_c99_levels(type); k++) {
        tn_i_text_put(t, k > 1 ? ", " : "");
        put_room(w, t, "int64_t", arrays_at(type, k));
    }
    tn_i_text_put(t, "};\nstatus = tansy_taken(");
    put_level(w, t, type);
    tn_i_text_put(t, ", ");
    put_handles(w, t, false, j);
    tn_i_text_put(t, ", %" PRId64 ", ", tn_i_handles(type));
    put_own(w, t, false, j);
    tn_i_text_put(t, ", &data, length, room);\nif (status) return status;\n}\n");
}

void tn_i_c99_leave_arguments(tn_i_c99 *w, tn_i_text *t) {
    for (uint32_t j = 0; j < w->root->f->nout; j++)
        if (tn_i_c99_is_stack(type_of(w, false, j))) write_taken(w, t, j);
    if (t->at) need(w, t->at);
}
