/* Tokens of the text form (docs/ir.md). */
#ifndef TN_LEX_H
#define TN_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum tn_i_token_kind {
    TN_T_END,
    TN_T_NAME,   /* identifiers and reserved words */
    TN_T_NUMBER, /* what begins like a number, inf and nan with it; not yet known to be one */
    TN_T_STRING, /* with its quotes */
    TN_T_MARK,   /* one character of anything else */
    TN_T_BAD     /* a string without an end */
} tn_i_token_kind;

typedef struct tn_i_token {
    tn_i_token_kind kind;
    uint32_t line, col; /* from 1; columns count bytes */
    const char *at;
    size_t n;
} tn_i_token;

/* A place in the text; copies may be kept to read from there again. */
typedef struct tn_i_lexer {
    const char *at, *end, *line_start;
    uint32_t line;
} tn_i_lexer;

void tn_i_lex_start(tn_i_lexer *x, const char *text, size_t n);
void tn_i_lex(tn_i_lexer *x, tn_i_token *t);

bool tn_i_token_is(const tn_i_token *t, const char *word); /* a name, a number or a mark spelled so */
bool tn_i_token_reserved(const tn_i_token *t);             /* a word that names no value */

#endif
