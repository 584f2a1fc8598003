/* Text laid out: a statement a line, indented, in lines of up to 120 characters. */
#include "cgen/helpers.h"

#include <string.h>

static bool is(const char *s, size_t n, const char *name) { return strlen(name) == n && strncmp(s, name, n) == 0; }

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
    const char *next = skip(s, " \n"), *end = tn_i_c_letter(*next) ? tn_i_c_token(next, &word) : next;
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
    bool word;
    add(l, ";", 1);
    if (l->parens || l->lists) return s;
    const char *next = skip(s, " ");
    if (next[0] == '/' && next[1] == '*') { /* what is said of it */
        s = tn_i_c_token(next, &word);
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
    const char *end = tn_i_c_token(s, &word);
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

void tn_i_c_lay_out(const char *text, tn_i_text *out) {
    layout l = {.out = out, .line = {.ctx = out->ctx}};
    for (const char *s = text; s && *s;) s = next_piece(&l, s);
    if (l.line.n) end_line(&l);
    out->failed |= l.line.failed;
    tn_i_text_free(&l.line);
}
