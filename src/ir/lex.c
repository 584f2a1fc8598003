#include "ir/lex.h"

#include <string.h>

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool is_word(char c) { return is_letter(c) || is_digit(c); }
static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'; }

void tn_i_lex_start(tn_i_lexer *x, const char *text, size_t n) {
    *x = (tn_i_lexer){.at = text, .end = text + n, .line_start = text, .line = 1};
}

static void skip_blanks(tn_i_lexer *x) {
    for (; x->at < x->end; x->at++) {
        if (*x->at == '#')
            while (x->at + 1 < x->end && x->at[1] != '\n') x->at++;
        else if (!is_blank(*x->at))
            return;
        if (*x->at == '\n') {
            x->line++;
            x->line_start = x->at + 1;
        }
    }
}

/* The text from s on is `word`, and the word ends there. */
static bool word_at(const char *s, const char *end, const char *word) {
    const size_t n = strlen(word);
    return (size_t)(end - s) >= n && memcmp(s, word, n) == 0 && (s + n == end || !is_word(s[n]));
}

/* Where the number at s ends, or NULL when none begins there. */
static const char *number_end(const char *s, const char *end) {
    const char *p = s;
    if (*p == '-' || *p == '+') p++;
    if (p == end) return NULL;
    if (word_at(p, end, "inf")) return p + 3;
    if (word_at(p, end, "nan")) {
        p += 3;
        if (end - p < 3 || memcmp(p, ":0x", 3) != 0) return p;
        for (p += 3; p < end && is_word(*p); p++) {
        }
        return p;
    }
    if (!is_digit(*p) && !(*p == '.' && p + 1 < end && is_digit(p[1]))) return NULL;
    const bool hex = p + 1 < end && *p == '0' && (p[1] == 'x' || p[1] == 'X');
    for (p++; p < end; p++) {
        const bool sign = *p == '-' || *p == '+', exponent = hex ? (p[-1] | 32) == 'p' : (p[-1] | 32) == 'e';
        if (!is_word(*p) && *p != '.' && !(sign && exponent)) break;
    }
    return p;
}

static const char *string_end(const char *s, const char *end) {
    for (const char *p = s + 1; p < end && *p != '\n'; p++) {
        if (*p == *s) return p + 1;
        if (*p == '\\' && p + 1 < end && p[1] != '\n') p++;
    }
    return NULL;
}

void tn_i_lex(tn_i_lexer *x, tn_i_token *t) {
    skip_blanks(x);
    const char *s = x->at, *after = s;
    *t = (tn_i_token){.kind = TN_T_END, .line = x->line, .col = (uint32_t)(s - x->line_start) + 1, .at = s};
    if (s == x->end) return;
    if ((after = number_end(s, x->end)) != NULL) {
        t->kind = TN_T_NUMBER;
    } else if (is_letter(*s)) {
        t->kind = TN_T_NAME;
        for (after = s; after < x->end && is_word(*after); after++) {
        }
    } else if (*s == '"' || *s == '\'') {
        after = string_end(s, x->end);
        t->kind = after ? TN_T_STRING : TN_T_BAD;
        if (!after) after = s + 1;
    } else {
        t->kind = TN_T_MARK;
        after = s + 1;
    }
    t->n = (size_t)(after - s);
    x->at = after;
}

bool tn_i_token_is(const tn_i_token *t, const char *word) {
    return (t->kind == TN_T_NAME || t->kind == TN_T_MARK || t->kind == TN_T_NUMBER) && strlen(word) == t->n &&
           memcmp(t->at, word, t->n) == 0;
}

bool tn_i_token_reserved(const tn_i_token *t) {
    static const char *const words[] = {"inf", "nan", "True", "False", "None"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (tn_i_token_is(t, words[i])) return true;
    return false;
}
