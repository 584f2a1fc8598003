/* C text by the identifier: types that are put in, helpers that are named, and how lines are laid out. */
#include "emit/c99.h"
#include "tansy/emit.h"

#include <string.h>

void tn_i_c99_refuse(tn_i_c99 *w, const tn_i_eqn *e, const char *why) {
    if (!w->failed)
        (void)tn_i_fail(w->ctx, TN_ERULE, e ? e->loc : NULL, "%s: %s", e ? e->prim->name : "tn_emit_c", why);
    w->failed = true;
}

/* ---- identifiers -------------------------------------------------------------------- */

static bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool digit(char c) { return c >= '0' && c <= '9'; }

static const char *whole_comment(const char *s) {
    const char *end = strstr(s, "*/");
    return end ? end + 2 : s + strlen(s);
}

/* The end of the word, number, string, comment or single character at s; *word: it is an identifier. */
static const char *token_end(const char *s, bool *word) {
    *word = letter(*s);
    if (*word) {
        while (letter(*s) || digit(*s)) s++;
        return s;
    }
    if (*s == '"') {
        for (s++; *s && *s != '"'; s++)
            if (*s == '\\' && s[1]) s++;
        return *s ? s + 1 : s;
    }
    if (s[0] == '/' && s[1] == '*') return whole_comment(s);
    if (!digit(*s) && !(*s == '.' && digit(s[1]))) return s + 1;
    const bool hex = s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
    while (letter(*s) || digit(*s) || *s == '.' || ((*s == '+' || *s == '-') && (hex ? s[-1] == 'p' : s[-1] == 'e')))
        s++;
    return s;
}

static bool is(const char *s, size_t n, const char *name) { return strlen(name) == n && strncmp(s, name, n) == 0; }

bool tn_i_c99_names(const char *text, const char *identifier) {
    bool word;
    for (const char *s = text; s && *s;) {
        const char *end = token_end(s, &word);
        if (word && is(s, (size_t)(end - s), identifier)) return true;
        s = end;
    }
    return false;
}

static const char *const suffix[TN_NDTYPES] = {
    [TN_BOOL] = "b8", [TN_I32] = "i32", [TN_I64] = "i64", [TN_F32] = "f32", [TN_F64] = "f64", [TN_U32] = "u32"};
static const char *const unsigned_name[TN_NDTYPES] = {
    [TN_BOOL] = "uint8_t", [TN_I32] = "uint32_t", [TN_I64] = "uint64_t",
    [TN_F32] = "float",    [TN_F64] = "double",   [TN_U32] = "uint32_t"};

static const char *const lowest[TN_NDTYPES] = {
    [TN_BOOL] = "0",        [TN_I32] = "INT32_MIN",         [TN_I64] = "INT64_MIN",
    [TN_F32] = "-INFINITY", [TN_F64] = "-(double)INFINITY", [TN_U32] = "0"};
static const char *const highest[TN_NDTYPES] = {
    [TN_BOOL] = "1",       [TN_I32] = "INT32_MAX",        [TN_I64] = "INT64_MAX",
    [TN_F32] = "INFINITY", [TN_F64] = "(double)INFINITY", [TN_U32] = "UINT32_MAX"};

static void put_word(tn_i_text *t, const char *s, size_t n, int dtype, const char *const *name) {
    if (name && n == 1 && *s >= 'x' && *s <= 'z')
        tn_i_text_put(t, "%s", name[*s - 'x']);
    else if (is(s, n, "T"))
        tn_i_text_put(t, "%s", tn_i_c_name(dtype));
    else if (is(s, n, "U"))
        tn_i_text_put(t, "%s", unsigned_name[dtype]);
    else if (is(s, n, "bool"))
        tn_i_text_put(t, "int");
    else if (is(s, n, "true"))
        tn_i_text_put(t, "1");
    else if (is(s, n, "false"))
        tn_i_text_put(t, "0");
    else if (is(s, n, "LOWEST"))
        tn_i_text_put(t, "%s", lowest[dtype]);
    else if (is(s, n, "HIGHEST"))
        tn_i_text_put(t, "%s", highest[dtype]);
    else if (n > 2 && strncmp(s, "M_", 2) == 0) {
        tn_i_text_add(t, s + 2, n - 2);
        if (dtype == TN_F32) tn_i_text_put(t, "f");
    } else if (n > 5 && strncmp(s, "tn_i_", 5) == 0) {
        tn_i_text_put(t, "tansy_");
        put_word(t, s + 5, n - 5, dtype, NULL);
    } else if (n > 2 && strncmp(s + n - 2, "_T", 2) == 0) {
        tn_i_text_add(t, s, n - 1);
        tn_i_text_put(t, "%s", suffix[dtype]);
    } else
        tn_i_text_add(t, s, n);
}

void tn_i_c99_put(tn_i_text *t, const char *text, int dtype, const char *const *name) {
    bool word;
    for (const char *s = text; *s;) {
        const char *end = token_end(s, &word);
        if (word)
            put_word(t, s, (size_t)(end - s), dtype, name);
        else
            tn_i_text_add(t, s, (size_t)(end - s));
        /* a product that was laid out as a pointer's declaration */
        if (name && *s == '*' && s > text && s[-1] == ' ' && (letter(s[1]) || s[1] == '(')) tn_i_text_put(t, " ");
        s = end;
    }
}

/* ---- helpers -------------------------------------------------------------------------- */

/* The helper that a word names, and the dtype by which; NULL: none. */
static const tn_i_c_helper *find(const tn_i_c_helper *helpers, const char *s, size_t n, int *dtype) {
    for (const tn_i_c_helper *h = helpers; h && h->name; h++) {
        const size_t all = strlen(h->name);
        *dtype = TN_F64;
        if (n == all && strncmp(s, h->name, n) == 0) return h;
        if (all < 2 || strcmp(h->name + all - 2, "_T") != 0 || n < all) continue;
        for (int k = 0; k < TN_NDTYPES; k++) {
            const size_t more = strlen(suffix[k]);
            *dtype = k;
            if (n == all - 1 + more && strncmp(s, h->name, all - 1) == 0 && strncmp(s + all - 1, suffix[k], more) == 0)
                return h;
        }
    }
    return NULL;
}

static bool seen(tn_i_c99 *w, const char *name, int dtype) {
    for (size_t i = 0; i < w->nwritten; i++)
        if (w->written[i].helper == name && w->written[i].dtype == dtype) return true;
    if (!tn_i_grow(w->ctx, (void **)(void *)&w->written, &w->cwritten, w->nwritten + 1, sizeof *w->written)) {
        w->failed = true;
        return true;
    }
    w->written[w->nwritten++] = (tn_i_c99_written){.helper = name, .dtype = dtype};
    return false;
}

/* One that the library shares among its files; every program has its own. */
static bool is_function(const char *text) {
    static const char *const other[] = {"static", "typedef", "struct", "enum", "#"};
    bool word;
    for (text += strspn(text, " \n"); text[0] == '/' && text[1] == '*'; text += strspn(text, " \n"))
        text = whole_comment(text);
    const size_t n = (size_t)(token_end(text, &word) - text);
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (is(text, n, other[i])) return false;
    return true;
}

/* Guarded, so that several programs may be in one file. */
static void write_helper(tn_i_c99 *w, const tn_i_c_helper *helpers, const tn_i_c_helper *h, int dtype) {
    if (seen(w, h->name, dtype)) return;
    tn_i_text text = {.ctx = w->ctx}, name = {.ctx = w->ctx};
    tn_i_c99_put(&text, h->text, dtype, NULL);
    tn_i_c99_put(&name, h->name, dtype, NULL);
    if (text.at && name.at) {
        tn_i_c99_need(w, helpers, text.at);
        tn_i_text_put(&w->helpers, "#ifndef TANSY_HAS_%s\n#define TANSY_HAS_%s\n", name.at, name.at);
        if (is_function(text.at)) tn_i_text_put(&w->helpers, "static ");
        tn_i_c99_lay_out(text.at, &w->helpers);
        tn_i_text_put(&w->helpers, "#endif\n");
    }
    w->failed |= text.failed || name.failed;
    tn_i_text_free(&text);
    tn_i_text_free(&name);
}

/* As it was called in the library: tansy_digamma is tn_i_digamma. */
static void need_special(tn_i_c99 *w, const tn_i_c_helper *own, const char *s, size_t n) {
    char name[64] = "tn_i_";
    int dtype;
    if (n <= 6 || n >= sizeof name || strncmp(s, "tansy_", 6) != 0) return;
    memcpy(name + 5, s + 6, n - 6);
    const tn_i_c_helper *h = find(own, name, n - 1, &dtype);
    const tn_i_c_helper *const all = h ? own : tn_i_special_helpers;
    if (!h) h = find(all, name, n - 1, &dtype);
    if (h) write_helper(w, all, h, dtype);
}

void tn_i_c99_need(tn_i_c99 *w, const tn_i_c_helper *helpers, const char *text) {
    bool word;
    int dtype;
    for (const char *s = text; s && *s;) {
        const char *end = token_end(s, &word);
        const tn_i_c_helper *h = word ? find(helpers, s, (size_t)(end - s), &dtype) : NULL;
        if (h)
            write_helper(w, helpers, h, dtype);
        else if (word)
            need_special(w, helpers, s, (size_t)(end - s));
        s = end;
    }
}

/* ---- layout ------------------------------------------------------------------------------ */

enum { WIDTH = 118, DEEPEST = 256 };

typedef struct layout {
    tn_i_text *out;
    tn_i_text line;
    int depth, parens, lists;
    bool loop[DEEPEST]; /* the block at this depth is that of a `do` */
} layout;

/* Breaks at spaces. */
static void end_line(layout *l) {
    const char *s = l->line.at;
    size_t n = l->line.n;
    while (n && s[n - 1] == ' ') n--;
    for (bool first = true; n; first = false) {
        const int depth = first ? l->depth : l->depth + 1;
        const size_t room = depth * 4 < WIDTH - 40 ? (size_t)(WIDTH - depth * 4) : 40;
        size_t cut = n;
        if (n > room) {
            for (cut = room; cut > room / 2 && !(s[cut] == ' ' && strchr(",;{", s[cut - 1])); cut--) {
            }
            for (cut = cut > room / 2 ? cut : room; cut > 0 && s[cut] != ' '; cut--) {
            }
            for (; (cut == 0 || s[cut] != ' ') && cut < n; cut++) {
            }
        }
        for (int i = 0; i < depth; i++) tn_i_text_put(l->out, "    ");
        tn_i_text_add(l->out, s, cut);
        tn_i_text_put(l->out, "\n");
        while (cut < n && s[cut] == ' ') cut++;
        s += cut;
        n -= cut;
    }
    l->line.n = 0;
}

static void add(layout *l, const char *s, size_t n) {
    if (l->line.n || *s != ' ') tn_i_text_add(&l->line, s, n);
}

/* The line ends in a type in parentheses behind `return`: what follows is its value. */
static bool returns_literal(const char *s, size_t k) {
    int depth = 0;
    if (k == 0 || s[k - 1] != ')') return false;
    while (k > 0) {
        k--;
        depth += (s[k] == ')') - (s[k] == '(');
        if (depth == 0) break;
    }
    while (k && s[k - 1] == ' ') k--;
    return k >= 6 && strncmp(s + k - 6, "return", 6) == 0;
}

static void open_brace(layout *l) {
    size_t k = l->line.n;
    while (k && l->line.at[k - 1] == ' ') k--;
    const char before = k ? l->line.at[k - 1] : 0;
    const bool value = l->line.at && returns_literal(l->line.at, k);
    add(l, "{", 1);
    if (l->parens || l->lists || before == '=' || before == ',' || value) {
        l->lists++;
        return;
    }
    const bool loop = k == 2 && strncmp(l->line.at, "do", 2) == 0;
    end_line(l);
    l->depth++;
    if (l->depth < DEEPEST) l->loop[l->depth] = loop;
}

static const char *skip(const char *s, const char *what) { return s + strspn(s, what); }

/* Behind a block's end may stand else, the while of a do, the name of a type. */
static const char *close_brace(layout *l, const char *s) {
    if (l->lists) {
        add(l, "}", 1);
        l->lists--;
        return s;
    }
    if (l->line.n) end_line(l);
    const bool loop = l->depth > 0 && l->depth < DEEPEST && l->loop[l->depth];
    if (l->depth) l->depth--;
    add(l, "}", 1);
    bool word;
    const char *next = skip(s, " \n"), *end = letter(*next) ? token_end(next, &word) : next;
    const size_t n = (size_t)(end - next);
    if (*next == ';') return next;
    if (is(next, n, "else") || (loop && is(next, n, "while")) || (n && *end == ';')) {
        add(l, " ", 1);
        return next;
    }
    end_line(l);
    return s;
}

static const char *directive(layout *l, const char *s) {
    const size_t n = strcspn(s, "\n");
    tn_i_text_add(l->out, s, n);
    tn_i_text_put(l->out, "\n");
    return s[n] ? s + n + 1 : s + n;
}

static const char *end_statement(layout *l, const char *s) {
    add(l, ";", 1);
    if (l->parens || l->lists) return s;
    const char *next = skip(s, " ");
    if (next[0] == '/' && next[1] == '*') { /* what is said of it */
        s = whole_comment(next);
        add(l, " ", 1);
        add(l, next, (size_t)(s - next));
    }
    end_line(l);
    return s;
}

static const char *line_feed(layout *l, const char *s) {
    if (l->parens || l->lists)
        add(l, " ", 1);
    else if (l->line.n)
        end_line(l);
    else if (*s == '\n')
        tn_i_text_put(l->out, "\n");
    return s;
}

static const char *next_piece(layout *l, const char *s) {
    bool word;
    if (l->line.n == 0 && *s == '#') return directive(l, s);
    const char *end = token_end(s, &word);
    switch (*s) {
    case '\n': return line_feed(l, s + 1);
    case '{': open_brace(l); return s + 1;
    case '}': return close_brace(l, s + 1);
    case ';': return end_statement(l, s + 1);
    case '(': l->parens++; break;
    case ')': l->parens--; break;
    default: break;
    }
    add(l, s, (size_t)(end - s));
    return end;
}

void tn_i_c99_lay_out(const char *text, tn_i_text *out) {
    layout l = {.out = out, .line = {.ctx = out->ctx}};
    for (const char *s = text; s && *s;) s = next_piece(&l, s);
    if (l.line.n) end_line(&l);
    out->failed |= l.line.failed;
    tn_i_text_free(&l.line);
}

/* ---- comments -------------------------------------------------------------------------------- */

/* Nothing in it ends a comment or begins one, or is no character. */
void tn_i_c99_put_plain(tn_i_text *t, const char *s) {
    for (; *s; s++) {
        const bool odd = *s < ' ' || *s > '~' || *s == '\\';
        const char c = odd || (s[0] == '*' && s[1] == '/') || (s[0] == '/' && s[1] == '*') ? ' ' : *s;
        tn_i_text_add(t, &c, 1);
    }
}

void tn_i_c99_about(tn_i_text *t, const tn_i_eqn *e) {
    tn_i_text_put(t, "%s", e->prim->name);
    if (!e->loc || !e->loc->file[0]) return;
    tn_i_text_put(t, ", ");
    tn_i_c99_put_plain(t, e->loc->file);
    tn_i_text_put(t, ":%u", (unsigned)e->loc->line);
}
