/* Parameters: `[name=value ..]`, in any order, each read as its primitive's descriptor says. */
#include "ir/parse.h"
#include "prims/ids.h"

#include <string.h>

/* ---- lists of integers ---------------------------------------------------------- */

bool tn_i_parse_push_int(tn_i_parser *p, int64_t x) {
    if (!tn_i_grow(p->ctx, (void **)&p->ints, &p->cints, p->nints + 1, sizeof *p->ints)) return false;
    p->ints[p->nints++] = x;
    return true;
}

/* "(" or "[": what closes it, or NULL after an error. */
static const char *open_tuple(tn_i_parser *p) {
    if (tn_i_accept(p, "(")) return ")";
    if (tn_i_accept(p, "[")) return "]";
    (void)tn_i_unexpected(p, "a tuple");
    return NULL;
}

static bool separator(tn_i_parser *p, const char *close) {
    return tn_i_token_is(&p->tok, close) || tn_i_expect(p, ",");
}

/* Pushes the integers of a tuple; *n how many. */
static bool int_tuple(tn_i_parser *p, int64_t *n) {
    const char *close = open_tuple(p);
    int64_t x;
    *n = 0;
    if (!close) return false;
    for (; !tn_i_accept(p, close); ++*n) {
        const bool steps = tn_i_accept(p, "?");
        if (steps) x = TN_I_STEPS;
        if ((!steps && !tn_i_parse_int(p, &x)) || !tn_i_parse_push_int(p, x) || !separator(p, close)) return false;
    }
    return true;
}

static bool group_tuple(tn_i_parser *p, int64_t size) {
    const char *close = open_tuple(p);
    if (!close) return false;
    while (!tn_i_accept(p, close)) {
        const tn_i_token at = p->tok;
        int64_t n;
        if (!int_tuple(p, &n)) return false;
        if (n != size) return tn_i_parse_fail(p, &at, "expected %d numbers in a tuple", (int)size);
        if (!separator(p, close)) return false;
    }
    return true;
}

/* The lists of a record or of nested tuples, the lengths in front of them all. */
static bool one_list(tn_i_parser *p, size_t base, uint32_t j) {
    int64_t n;
    if (!int_tuple(p, &n)) return false;
    p->ints[base + j] = n;
    return true;
}

static bool nested_lists(tn_i_parser *p, const tn_i_spec *spec, size_t base) {
    const uint32_t pair = spec->lists == 4 ? 2 : spec->lists;
    const char *outer = open_tuple(p), *inner = NULL;
    if (!outer) return false;
    for (uint32_t j = 0; j < spec->lists; j++) {
        if (pair != spec->lists && j % pair == 0 && !(inner = open_tuple(p))) return false;
        if (!one_list(p, base, j)) return false;
        const bool last = (j + 1) % pair == 0;
        if (!last && !tn_i_expect(p, ",")) return false;
        if (!last) continue;
        (void)tn_i_accept(p, ",");
        if (inner && !tn_i_expect(p, inner)) return false;
        if (inner && j + 1 < spec->lists && !tn_i_expect(p, ",")) return false;
        if (inner && j + 1 == spec->lists) (void)tn_i_accept(p, ",");
    }
    return tn_i_expect(p, outer);
}

/* Moves the integers from `from` on to `to` <= from + their count, within the stack: rotates. */
static bool move_list(tn_i_parser *p, size_t to, size_t from) {
    const size_t n = p->nints - from, gap = from - to;
    int64_t *copy = tn_i_alloc_array(p->ctx, n, sizeof *copy);
    if (!copy) return false;
    if (n) memcpy(copy, p->ints + from, n * sizeof *copy);
    memmove(p->ints + to + n, p->ints + to, gap * sizeof *copy);
    if (n) memcpy(p->ints + to, copy, n * sizeof *copy);
    tn_i_free(p->ctx, copy, n * sizeof *copy);
    return true;
}

static bool record_field(tn_i_parser *p, const tn_i_spec *spec, size_t base, uint32_t *given) {
    char word[TN_I_WORD_TEXT];
    const tn_i_token name = p->tok;
    uint32_t j = 0;
    while (j < spec->lists && !tn_i_token_is(&name, spec->fields[j])) j++;
    if (j == spec->lists)
        return tn_i_parse_fail(p, &name, "%s has no field %s", spec->record, tn_i_word_text(word, &name));
    if (*given >> j & 1) return tn_i_parse_fail(p, &name, "field %s is given twice", tn_i_word_text(word, &name));
    *given |= 1u << j;
    tn_i_next(p);
    size_t to = base + spec->lists;
    const size_t from = p->nints;
    for (uint32_t i = 0; i < j; i++) to += (size_t)p->ints[base + i];
    return tn_i_expect(p, "=") && one_list(p, base, j) && (to == from || move_list(p, to, from));
}

/* Fields in any order; one that is left out is empty. */
static bool record(tn_i_parser *p, const tn_i_spec *spec, size_t base) {
    uint32_t given = 0;
    if (!tn_i_expect(p, spec->record) || !tn_i_expect(p, "(")) return false;
    while (!tn_i_accept(p, ")"))
        if (!record_field(p, spec, base, &given) || !separator(p, ")")) return false;
    return true;
}

static bool lists(tn_i_parser *p, const tn_i_spec *spec) {
    const size_t base = p->nints;
    for (uint32_t j = 0; j < spec->lists; j++)
        if (!tn_i_parse_push_int(p, 0)) return false;
    return spec->fields ? record(p, spec, base) : nested_lists(p, spec, base);
}

/* ---- other values ----------------------------------------------------------------- */

static bool push_type(tn_i_parser *p, const tn_type *t) {
    if (!tn_i_grow(p->ctx, (void **)(void *)&p->types, &p->ctypes, p->ntypes + 1, sizeof *p->types)) return false;
    p->types[p->ntypes++] = t;
    return true;
}

static bool type_tuple(tn_i_parser *p) {
    const char *close = open_tuple(p);
    if (!close) return false;
    while (!tn_i_accept(p, close)) {
        tn_type t;
        const tn_type *type;
        if (!tn_i_parse_type(p, &t, NULL) || !(type = tn_i_type(p->ctx, &t)) || !push_type(p, type)) return false;
        if (!separator(p, close)) return false;
    }
    return true;
}

/* CLIP, clip, 1 or GatherScatterMode.CLIP */
static bool symbol(tn_i_parser *p, const tn_i_spec *spec, int64_t *out) {
    char word[TN_I_WORD_TEXT];
    tn_i_token t = p->tok;
    if (t.kind != TN_T_NAME && t.kind != TN_T_NUMBER && t.kind != TN_T_STRING) return tn_i_unexpected(p, "a name");
    tn_i_next(p);
    while (t.kind == TN_T_NAME && tn_i_accept(p, ".")) {
        t = p->tok;
        if (t.kind != TN_T_NAME) return tn_i_unexpected(p, "a name");
        tn_i_next(p);
    }
    *out = tn_i_jax_symbol(&t, spec->symbols);
    if (*out < 0)
        return tn_i_parse_fail(p, &t, "%s is not one of the values of %s", tn_i_word_text(word, &t), spec->name);
    return true;
}

/* A program with shared ones of its own, as JAX writes some parameters: `let f = {..} in {..}`. */
static bool with_shared(tn_i_parser *p, const tn_i_scope *s, const tn_fn **f) {
    const tn_i_names outer = p->programs;
    const tn_i_one_hot_element lets = p->lets;
    bool ok = true;
    tn_i_names_init(&p->programs, p->ctx);
    p->lets = (tn_i_one_hot_element){p->lex, p->tok};
    while (ok && tn_i_accept(p, "let")) ok = tn_i_parse_shared(p, s->depth + 2);
    ok = ok && tn_i_parse_program(p, s->depth + 1, f);
    tn_i_names_free(&p->programs);
    p->programs = outer;
    p->lets = lets;
    return ok;
}

/* caller: the equation whose outputs are those of the program, or NULL. */
static bool program(tn_i_parser *p, const tn_i_scope *s, tn_i_reading *caller, const tn_fn **f) {
    if (tn_i_token_is(&p->tok, "let")) return with_shared(p, s, f);
    if (p->tok.kind == TN_T_NAME) {
        const uint32_t k = tn_i_shared_program(p, &p->tok, s->depth + 1);
        if (k == UINT32_MAX) return false;
        *f = tn_i_fn_ref(p->program[k].f);
        tn_i_next(p);
        return true;
    }
    p->caller = caller;
    return tn_i_parse_program(p, s->depth + 1, f);
}

/* Appends f, taken over, to the programs of v, which owns the list. */
static bool push_program(tn_i_parser *p, tn_i_param *v, const tn_fn *f) {
    const tn_fn **list = tn_i_alloc_array(p->ctx, (size_t)v->n + 1, sizeof *list);
    if (!list) {
        tn_i_fn_unref(f);
        return false;
    }
    if (v->n) memcpy(list, v->u.fns, v->n * sizeof *list);
    tn_i_free(p->ctx, (void *)(uintptr_t)v->u.fns, v->n * sizeof *list);
    list[v->n++] = f;
    v->u.fns = list;
    return true;
}

/* A field of a record, in their order. */
static bool field(tn_i_parser *p, const tn_i_spec *spec, uint32_t j) {
    return (j > 0 || (tn_i_expect(p, spec->record) && tn_i_expect(p, "("))) && tn_i_expect(p, spec->fields[j]) &&
           tn_i_expect(p, "=");
}

static bool field_ends(tn_i_parser *p, const tn_i_spec *spec, uint32_t j) {
    return j + 1 < spec->lists ? tn_i_expect(p, ",") : tn_i_expect(p, ")");
}

/* Those that are not None. */
static bool program_record(tn_i_parser *p, const tn_i_scope *s, const tn_i_spec *spec, tn_i_param *v) {
    const tn_fn *f;
    *v = (tn_i_param){.kind = TN_K_FNS, .u.fns = NULL};
    for (uint32_t j = 0; j < spec->lists; j++) {
        if (!field(p, spec, j)) return false;
        if (!tn_i_accept(p, "None") && (!program(p, s, NULL, &f) || !push_program(p, v, f))) return false;
        if (!field_ends(p, spec, j)) return false;
    }
    return true;
}

static bool int_record(tn_i_parser *p, const tn_i_spec *spec) {
    int64_t x;
    for (uint32_t j = 0; j < spec->lists; j++)
        if (!field(p, spec, j) || !tn_i_parse_int(p, &x) || !tn_i_parse_push_int(p, x) || !field_ends(p, spec, j))
            return false;
    return true;
}

static bool programs(tn_i_parser *p, const tn_i_scope *s, tn_i_param *v) {
    const char *close = open_tuple(p);
    const tn_fn *f;
    if (!close) return false;
    *v = (tn_i_param){.kind = TN_K_FNS, .u.fns = NULL};
    while (!tn_i_accept(p, close)) {
        if (!program(p, s, NULL, &f) || !push_program(p, v, f)) return false;
        (void)tn_i_accept(p, ","); /* JAX writes none */
    }
    return true;
}

/* An integer; JAX writes some as a tuple of one. */
static bool integer(tn_i_parser *p, int64_t *out) {
    const char *close = NULL;
    if (tn_i_token_is(&p->tok, "(") || tn_i_token_is(&p->tok, "[")) close = open_tuple(p);
    if (!tn_i_parse_int(p, out)) return false;
    if (!close) return true;
    (void)tn_i_accept(p, ",");
    return tn_i_expect(p, close);
}

/* In ((..), None, ..), lists of words, the place of the first that has one of the symbols, or is None. */
static bool place_of(tn_i_parser *p, const tn_i_spec *spec, int64_t *out) {
    const tn_i_token at = p->tok;
    int64_t n = 0;
    *out = -1;
    if (!tn_i_expect(p, "(")) return false;
    for (; !tn_i_accept(p, ")"); n++) {
        bool is = tn_i_accept(p, "None");
        if (!is && !tn_i_expect(p, "(")) return false;
        while (!is && p->tok.kind == TN_T_STRING) {
            const char *word;
            if (!tn_i_parse_string(p, &word)) return false;
            for (int i = 0; spec->symbols[i]; i++)
                if (*out < 0 && strcmp(word, spec->symbols[i]) == 0) *out = n;
            (void)tn_i_accept(p, ",");
        }
        if (!is && !tn_i_expect(p, ")")) return false;
        if (is && *out < 0) *out = n;
        if (!separator(p, ")")) return false;
    }
    return *out >= 0 || tn_i_parse_fail(p, &at, "%s has nothing for %s", spec->name, spec->symbols[0]);
}

static bool boolean(tn_i_parser *p, int64_t *out) {
    *out = tn_i_token_is(&p->tok, "True");
    if (!*out && !tn_i_token_is(&p->tok, "False")) return tn_i_unexpected(p, "True or False");
    tn_i_next(p);
    return true;
}

/* Of any dtype: its bits are those of an i64, an f64 or a truth value, as n says. */
static bool number(tn_i_parser *p, tn_i_param *v) {
    char word[TN_I_WORD_TEXT];
    uint64_t bits;
    bool boxed;
    if (!tn_i_parse_boxed(p, &boxed)) return false;
    const tn_i_token at = p->tok;
    const bool truth = tn_i_token_is(&at, "True") || tn_i_token_is(&at, "False");
    if (!truth && at.kind != TN_T_NUMBER) return tn_i_unexpected(p, "a number");
    const int spelled = tn_i_spelled_dtype(&at), dtype = spelled == TN_I32 ? TN_I64 : spelled;
    if (!tn_i_parse_bits(&at, dtype, &bits))
        return tn_i_parse_fail(p, &at, "%s is no number", tn_i_word_text(word, &at));
    v->n = (uint32_t)dtype;
    memcpy(&v->u.i, &bits, sizeof bits);
    tn_i_next(p);
    return tn_i_parse_unboxed(p, boxed);
}

static bool array(tn_i_parser *p, const tn_i_reading *r, tn_i_param *v) {
    tn_i_blob *k;
    const tn_type *type = r->nbinder ? p->binder[r->binder0].type : NULL;
    if (!tn_i_parse_array(p, type, &k)) return false;
    v->u.blob = k;
    v->kind = TN_K_BLOB;
    return true;
}

/* ---- values as they stand ---------------------------------------------------- */

/* Reads over one value, whatever it is: a word or number, what is bracketed, `a.b(c)`. */
static bool skip_value(tn_i_parser *p) {
    for (size_t depth = 0;;) {
        const tn_i_token_kind kind = p->tok.kind;
        const char c = kind == TN_T_MARK ? *p->tok.at : ' ';
        const bool close = c == ')' || c == ']' || c == '}' || c == '>';
        if (kind == TN_T_END || kind == TN_T_BAD || (close && depth == 0)) return tn_i_unexpected(p, "a value");
        tn_i_next(p);
        if (c == '(' || c == '[' || c == '{' || c == '<') depth++;
        if (close) depth--;
        if (depth || c == '.') continue;
        if (!tn_i_token_is(&p->tok, ".") && !tn_i_token_is(&p->tok, "(")) return true;
    }
}

/* The words of a value. */
static bool as_written(tn_i_parser *p, const char **out) {
    const char *at = p->tok.at;
    if (!skip_value(p)) return false;
    const char *end = p->tok.at;
    while (end > at && strchr(" \t\r\n", end[-1])) end--;
    return (*out = tn_i_string(p->ctx, at, (size_t)(end - at))) != NULL;
}

/* `({ lambda .. }, <object ..>, True)`: the program, when there is one in front. */
static bool first_program(tn_i_parser *p, tn_i_scope *s, tn_i_param *v) {
    const char *close = open_tuple(p);
    if (!close) return false;
    if (tn_i_token_is(&p->tok, "{") || tn_i_token_is(&p->tok, "let")) {
        if (!program(p, s, NULL, &v->u.fn)) return false;
        v->kind = TN_K_FN;
        if (!separator(p, close)) return false;
    }
    while (!tn_i_accept(p, close))
        if (!skip_value(p) || !separator(p, close)) return false;
    return true;
}

/* A policy as JAX has it, which is a function or an object. */
static bool is_policy(const tn_i_reading *r, const tn_i_spec *spec) {
    return r->prim->id == TN_P_checkpoint && strcmp(spec->name, "policy") == 0;
}

static bool policy(tn_i_parser *p, const char **out) {
    const tn_i_token at = p->tok;
    const char *text;
    if (!as_written(p, &text)) return false;
    if (!tn_i_jax_policy(p->ctx, text, out))
        return tn_i_parse_fail(p, &at, "a policy that the text does not tell: %.60s", text);
    return *out != NULL;
}

/* The value of parameter k; what it holds is owned by r->p[k] from the moment its kind is set. */
static bool value(tn_i_parser *p, tn_i_scope *s, tn_i_reading *r, uint32_t k) {
    const tn_i_spec *spec = &r->prim->params[k];
    tn_i_param *v = &r->p[k];
    int dtype;
    int64_t n;
    bool ok = false;
    if (spec->otherwise && tn_i_accept(p, "None")) return true;
    r->at[k] = spec->kind == TN_K_TYPES ? p->ntypes : p->nints;
    switch (spec->kind) {
    case TN_K_FN:
        if (spec->lists) return first_program(p, s, v);
        ok = program(p, s, r->prim->id == TN_P_call ? r : NULL, &v->u.fn);
        if (ok) v->kind = TN_K_FN;
        return ok;
    case TN_K_FNS: return spec->fields ? program_record(p, s, spec, v) : programs(p, s, v);
    case TN_K_BLOB: return array(p, r, v);
    case TN_K_NUMBER:
        ok = number(p, v);
        if (ok) v->kind = TN_K_NUMBER;
        return ok;
    case TN_K_INT: ok = spec->symbols ? place_of(p, spec, &v->u.i) : integer(p, &v->u.i); break;
    case TN_K_BOOL: ok = boolean(p, &v->u.i); break;
    case TN_K_SYM: ok = symbol(p, spec, &v->u.i); break;
    case TN_K_AXES: ok = tn_i_parse_axes(p, &v->u.i); break;
    case TN_K_STR:
        ok = is_policy(r, spec) && p->tok.kind != TN_T_STRING ? policy(p, &v->u.str)
             : spec->lists                                    ? as_written(p, &v->u.str)
                                                              : tn_i_parse_string(p, &v->u.str);
        break;
    case TN_K_DTYPE:
        ok = tn_i_parse_dtype(p, &dtype);
        v->u.i = dtype;
        break;
    case TN_K_INTS:
        ok = spec->fields ? int_record(p, spec) : spec->lists ? group_tuple(p, spec->lists) : int_tuple(p, &n);
        break;
    case TN_K_LISTS: ok = lists(p, spec); break;
    case TN_K_TYPES: ok = type_tuple(p); break;
    case TN_K_NONE:
    case TN_K_PTR: return tn_i_parse_fail(p, &p->tok, "parameter %s cannot be written as text", spec->name);
    }
    if (!ok) return false;
    const size_t count = (spec->kind == TN_K_TYPES ? p->ntypes : p->nints) - r->at[k];
    if (count > UINT32_MAX) return tn_i_parse_fail(p, &p->tok, "parameter %s is too long", spec->name);
    v->n = (uint32_t)count;
    v->kind = spec->kind;
    return true;
}

/* ---- parameters that are not ours ---------------------------------------------------- */

/* The rest of a sentence, which JAX does not quote. */
static bool skip_words(tn_i_parser *p) {
    for (;;) {
        tn_i_lexer lex = p->lex;
        tn_i_token t;
        tn_i_lex(&lex, &t);
        if (tn_i_token_is(&p->tok, "]") || (p->tok.kind == TN_T_NAME && tn_i_token_is(&t, "="))) return true;
        if (p->tok.kind == TN_T_END) return tn_i_unexpected(p, "']'");
        tn_i_next(p);
    }
}

static bool skip_only(tn_i_parser *p, const tn_i_token *name, const char *const *only) {
    char word[TN_I_WORD_TEXT], what[TN_I_WORD_TEXT];
    for (int i = 0; only[i]; i++)
        if (tn_i_accept(p, only[i])) return true;
    return tn_i_parse_fail(p, &p->tok, "%s of parameter %s is not supported", tn_i_word_text(what, &p->tok),
                           tn_i_word_text(word, name));
}

static bool foreign(tn_i_parser *p, const tn_i_reading *r, const tn_i_token *name) {
    char word[TN_I_WORD_TEXT];
    const char *const *only;
    if (r->jax && r->jax->drop && tn_i_token_is(name, r->jax->drop)) return skip_value(p);
    if (!r->prim) return skip_value(p) && skip_words(p);
    if (!tn_i_jax_ignored(r->prim, name, &only))
        return tn_i_parse_fail(p, name, "%s has no parameter %s", r->prim->name, tn_i_word_text(word, name));
    return only ? skip_only(p, name, only) : skip_value(p);
}

/* ---- the list -------------------------------------------------------------------------- */

static bool region(tn_i_parser *p, tn_i_reading *r) {
    const tn_i_token at = p->tok;
    int64_t n;
    if (!tn_i_parse_int(p, &n)) return false;
    if (n < 0 || n >= 1 << 24) return tn_i_parse_fail(p, &at, "a region is a number from 0 to 2^24 - 1");
    r->region = (uint32_t)n;
    return true;
}

static bool linear(tn_i_parser *p, tn_i_reading *r) {
    r->linear = tn_i_token_is(&p->tok, "True");
    if (!r->linear && !tn_i_token_is(&p->tok, "False")) return tn_i_unexpected(p, "True or False");
    tn_i_next(p);
    return true;
}

static bool once(tn_i_parser *p, bool *given, const tn_i_token *name) {
    char word[TN_I_WORD_TEXT];
    if (*given) return tn_i_parse_fail(p, name, "parameter %s is given twice", tn_i_word_text(word, name));
    *given = true;
    return true;
}

static uint32_t find_param(const tn_i_reading *r, const tn_i_token *name) {
    const char *ours = r->prim ? tn_i_jax_param(r->prim, name) : NULL;
    for (uint32_t k = 0; k < r->nparam; k++) {
        const char *spec = r->prim->params[k].name;
        if (tn_i_token_is(name, spec)) return k;
        if (ours && strcmp(ours, spec) == 0) return k;
        if (r->jax && r->jax->program && strcmp(spec, "program") == 0 && tn_i_token_is(name, r->jax->program)) return k;
    }
    return UINT32_MAX;
}

static void count_params(tn_i_reading *r) {
    for (r->nparam = 0; r->prim && r->prim->params && r->prim->params[r->nparam].name; r->nparam++) {
    }
}

bool tn_i_parse_params(tn_i_parser *p, tn_i_scope *s, tn_i_reading *r) {
    char word[TN_I_WORD_TEXT];
    count_params(r);
    if (!tn_i_accept(p, "[")) return true;
    while (!tn_i_accept(p, "]")) {
        const tn_i_token name = p->tok;
        if (name.kind != TN_T_NAME) return tn_i_unexpected(p, "a parameter's name or ']'");
        tn_i_next(p);
        if (!tn_i_expect(p, "=")) return false;
        const tn_prim *form = r->given || r->jax ? NULL : tn_i_jax_form_by(r->prim, &name, &p->tok);
        if (form) {
            r->prim = form;
            count_params(r);
        }
        const uint32_t k = find_param(r, &name);
        if (k == UINT32_MAX) {
            const bool ours = !tn_i_token_is(&p->tok, "("); /* JAX marks operands so, in a tuple */
            const bool ok = tn_i_token_is(&name, "region")           ? once(p, &r->region_given, &name) && region(p, r)
                            : tn_i_token_is(&name, "linear") && ours ? once(p, &r->linear_given, &name) && linear(p, r)
                                                                     : foreign(p, r, &name);
            if (!ok) return false;
            continue;
        }
        if (r->given >> k & 1)
            return tn_i_parse_fail(p, &name, "parameter %s is given twice", tn_i_word_text(word, &name));
        r->given |= 1u << k;
        if (!value(p, s, r, k)) return false;
    }
    return true;
}

void tn_i_release_params(tn_i_parser *p, tn_i_reading *r) {
    for (uint32_t k = 0; k < r->nparam; k++) {
        const tn_fn *const *f;
        const uint32_t n = tn_i_programs(&r->p[k], &f);
        for (uint32_t i = 0; i < n; i++) tn_i_fn_unref(f[i]);
        if (r->p[k].kind == TN_K_FNS) tn_i_free(p->ctx, (void *)(uintptr_t)f, n * sizeof *f);
        if (r->p[k].kind == TN_K_BLOB) tn_i_blob_unref(p->ctx, r->p[k].u.blob);
        r->p[k].kind = TN_K_NONE;
    }
}

/* ---- what may be left out ------------------------------------------------------------------ */

static bool is_one_of(const char *name, const char *const *names) {
    for (; *names; names++)
        if (strcmp(*names, name) == 0) return true;
    return false;
}

/* The types of all that is on the left. */
static bool derive_results(tn_i_parser *p, tn_i_reading *r, uint32_t k) {
    r->at[k] = p->ntypes;
    for (size_t j = 0; j < r->nbinder; j++) {
        const tn_i_binder *x = &p->binder[r->binder0 + j];
        const tn_type *t = x->complex ? tn_i_parse_pairs_type(p, x->type) : x->type;
        if (!x->type) return tn_i_parse_fail(p, &x->name, "%s needs a type here", r->prim->name);
        if (!t || !push_type(p, t)) return false;
    }
    r->p[k] = (tn_i_param){.kind = TN_K_TYPES, .n = (uint32_t)r->nbinder};
    return true;
}

/* Shape and dtype follow from the type written on the left, dimensions from a scalar operand. */
static bool derive(tn_i_parser *p, tn_i_scope *s, tn_i_reading *r, uint32_t k) {
    static const char *const shapes[] = {"shape", "new_sizes", "slice_sizes", NULL}, *const dtypes[] = {
                                                                                         "dtype", "new_dtype", NULL};
    const tn_i_spec *spec = &r->prim->params[k];
    const tn_type *left = r->nbinder ? p->binder[r->binder0].type : NULL;
    tn_i_param *v = &r->p[k];
    if (spec->kind == TN_K_PTR) return true;
    if (spec->kind == TN_K_TYPES && strcmp(spec->name, "results") == 0) return derive_results(p, r, k);
    if (spec->kind == TN_K_DTYPE && left && is_one_of(spec->name, dtypes)) {
        const int whole = left->dtype == TN_F32 ? TN_I_C64 : TN_I_C128;
        *v = (tn_i_param){.kind = TN_K_DTYPE, .u.i = p->binder[r->binder0].complex ? whole : left->dtype};
        return true;
    }
    r->at[k] = p->nints;
    if (spec->kind == TN_K_INTS && left && is_one_of(spec->name, shapes)) {
        for (int i = 0; i < left->rank; i++)
            if (!tn_i_parse_push_int(p, left->dim[i])) return false;
        *v = (tn_i_param){.kind = TN_K_INTS, .n = (uint32_t)left->rank};
        return true;
    }
    if (strcmp(spec->name, "broadcast_dimensions") == 0 && p->noperand > r->operand0) {
        const tn_i_operand *o = &p->operand[r->operand0];
        if (o->var == TN_NOVAR || tn_i_vtype(&s->b, o->var)->rank == 0) {
            *v = (tn_i_param){.kind = TN_K_INTS};
            return true;
        }
    }
    return tn_i_parse_fail(p, &r->name, "%s needs the parameter %s", r->prim->name, spec->name);
}

bool tn_i_complete_params(tn_i_parser *p, tn_i_scope *s, tn_i_reading *r) {
    if (!tn_i_parse_key_params(p, s, r)) return false;
    for (uint32_t k = 0; k < r->nparam; k++)
        if (r->p[k].kind == TN_K_NONE && !r->prim->params[k].otherwise && !derive(p, s, r, k)) return false;
    for (uint32_t k = 0; k < r->nparam; k++) {
        tn_i_param *v = &r->p[k];
        if (v->kind == TN_K_INTS || v->kind == TN_K_LISTS) v->u.ints = v->n ? p->ints + r->at[k] : NULL;
        if (v->kind == TN_K_TYPES) v->u.types = v->n ? p->types + r->at[k] : NULL;
    }
    return true;
}
