/* Functions that the text calls, and the text of primitives: types are put in, names looked for. */
#include "cgen/helpers.h"

#include "cgen/inside.h"
#include "prims/linear/product_text.h"

#include <string.h>

/* ---- identifiers ---- */

bool tn_i_c_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool digit(char c) { return c >= '0' && c <= '9'; }

/* The end of the word, number, string, comment or single character at s; *word: it is an identifier. */
const char *tn_i_c_token(const char *s, bool *word) {
    *word = tn_i_c_letter(*s);
    if (*word) {
        while (tn_i_c_letter(*s) || digit(*s)) s++;
        return s;
    }
    if (*s == '"') {
        for (s++; *s && *s != '"'; s++)
            if (*s == '\\' && s[1]) s++;
        return *s ? s + 1 : s;
    }
    if (s[0] == '/' && s[1] == '*') {
        const char *end = strstr(s, "*/");
        return end ? end + 2 : s + strlen(s);
    }
    if (!digit(*s) && !(*s == '.' && digit(s[1]))) return s + 1;
    const bool hex = s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
    while (tn_i_c_letter(*s) || digit(*s) || *s == '.' ||
           ((*s == '+' || *s == '-') && (hex ? s[-1] == 'p' : s[-1] == 'e')))
        s++;
    return s;
}

static bool is(const char *s, size_t n, const char *name) { return strlen(name) == n && strncmp(s, name, n) == 0; }

bool tn_i_c_names(const char *text, const char *identifier) {
    bool word;
    for (const char *s = text; s && *s;) {
        const char *end = tn_i_c_token(s, &word);
        if (word && is(s, (size_t)(end - s), identifier)) return true;
        s = end;
    }
    return false;
}

/* ---- types ---- */

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
    else if (is(s, n, "true") || is(s, n, "false"))
        tn_i_text_put(t, *s == 't' ? "1" : "0");
    else if (is(s, n, "LOWEST") || is(s, n, "HIGHEST"))
        tn_i_text_put(t, "%s", *s == 'L' ? lowest[dtype] : highest[dtype]);
    else if (n > 2 && strncmp(s, "M_", 2) == 0) {
        tn_i_text_add(t, s + 2, n - 2);
        if (dtype == TN_F32) tn_i_text_put(t, "f");
    } else if (n > 5 && strncmp(s, "tn_i_", 5) == 0) {
        tn_i_text_put(t, "tansy_");
        put_word(t, s + 5, n - 5, dtype, NULL);
    } else if (n > 2 && strncmp(s + n - 2, "_T", 2) == 0) {
        tn_i_text_add(t, s, n - 1);
        tn_i_text_put(t, "%s", tn_i_c_suffix(dtype));
    } else
        tn_i_text_add(t, s, n);
}

void tn_i_c_put(tn_i_text *t, const char *text, int dtype, const char *const *name) {
    bool word;
    for (const char *s = text; *s;) {
        const char *end = tn_i_c_token(s, &word);
        if (word)
            put_word(t, s, (size_t)(end - s), dtype, name);
        else
            tn_i_text_add(t, s, (size_t)(end - s));
        /* a product that was laid out as a pointer's declaration */
        if (name && *s == '*' && s > text && s[-1] == ' ' && (tn_i_c_letter(s[1]) || s[1] == '('))
            tn_i_text_put(t, " ");
        s = end;
    }
}

/* ---- helpers ---- */

bool tn_i_c_once(tn_i_cgen *g, const char *name) {
    const size_t n = strlen(name);
    const char *s = g->written, *const end = s ? s + g->nwritten : s;
    for (; s < end; s += strcspn(s, "\n") + 1)
        if (strncmp(s, name, n) == 0 && s[n] == '\n') return false;
    if (!tn_i_grow(g->ctx, (void **)(void *)&g->written, &g->cwritten, g->nwritten + n + 2, 1)) {
        g->failed = true;
        return false;
    }
    memcpy(g->written + g->nwritten, name, n);
    memcpy(g->written + g->nwritten + n, "\n", 2);
    g->nwritten += n + 1;
    return true;
}

/* The word s is `name` with a dtype for its T, and tansy_ for tn_i_. */
static bool stands_for(const char *name, const char *s, size_t n, int *dtype) {
    size_t all = strlen(name);
    if (all > 5 && strncmp(name, "tn_i_", 5) == 0) {
        if (n < 6 || strncmp(s, "tansy_", 6) != 0) return false;
        name += 5, all -= 5, s += 6, n -= 6;
    }
    *dtype = TN_F64;
    if (n == all && strncmp(s, name, n) == 0) return true;
    if (all < 2 || strcmp(name + all - 2, "_T") != 0 || n < all || strncmp(s, name, all - 1) != 0) return false;
    for (*dtype = 0; *dtype < TN_NDTYPES; ++*dtype)
        if (is(s + all - 1, n - all + 1, tn_i_c_suffix(*dtype))) return true;
    return false;
}

static const tn_i_c_helper *find(const tn_i_c_helper *helpers, const char *s, size_t n, int *dtype) {
    for (const tn_i_c_helper *h = helpers; h && h->name; h++)
        if (stands_for(h->name, s, n, dtype)) return h;
    return NULL;
}

/* One that the library shares among its files; every text has its own. */
static bool is_function(const char *text) {
    static const char *const other[] = {"static", "extern", "typedef", "struct", "enum", "#"};
    bool word;
    for (text += strspn(text, " \n"); text[0] == '/' && text[1] == '*'; text += strspn(text, " \n"))
        text = tn_i_c_token(text, &word);
    const size_t n = (size_t)(tn_i_c_token(text, &word) - text);
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (is(text, n, other[i])) return false;
    return true;
}

static void write_helper(tn_i_cgen *g, const tn_i_c_helper *helpers, const tn_i_c_helper *h, int dtype) {
    tn_i_text text = {.ctx = g->ctx}, name = {.ctx = g->ctx};
    tn_i_c_put(&name, h->name, dtype, NULL);
    if (name.at && tn_i_c_once(g, name.at)) {
        tn_i_c_put(&text, h->text, dtype, NULL);
        tn_i_c_need(g, helpers, text.at);
        tn_i_text_put(&g->helpers, "#ifndef TANSY_HAS_%s\n#define TANSY_HAS_%s\n", name.at, name.at);
        if (text.at && is_function(text.at)) tn_i_text_put(&g->helpers, "static ");
        tn_i_c_lay_out(text.at, &g->helpers);
        tn_i_text_put(&g->helpers, "#endif\n");
    }
    g->failed |= text.failed || name.failed;
    tn_i_text_free(&text);
    tn_i_text_free(&name);
}

void tn_i_c_need(tn_i_cgen *g, const tn_i_c_helper *helpers, const char *text) {
    const tn_i_c_helper *const all[] = {helpers, tn_i_fold_helpers, tn_i_special_helpers, tn_i_product_helpers,
                                        g->libm ? tn_i_c_libm_helpers : NULL};
    bool word;
    int dtype;
    for (const char *s = text; s && *s;) {
        const char *end = tn_i_c_token(s, &word);
        for (int i = 0; word && i < 5; i++) {
            const tn_i_c_helper *h = find(all[i], s, (size_t)(end - s), &dtype);
            if (!h) continue;
            write_helper(g, all[i], h, dtype);
            break;
        }
        s = end;
    }
}

/* ---- the table ---- */

uint32_t tn_i_c_address(tn_i_cgen *g, const void *p) {
    for (size_t i = 0; i < g->ntable; i++)
        if (g->table[i] == p) return (uint32_t)i;
    if (!tn_i_grow(g->ctx, (void **)(void *)&g->table, &g->ctable, g->ntable + 1, sizeof *g->table)) {
        g->failed = true;
        return 0;
    }
    g->table[g->ntable] = p;
    return (uint32_t)g->ntable++;
}
