/* Programs from text (docs/ir.md gives the grammar). */
#include "ir/parse.h"

#include "base/nearest.h"
#include "prims/ids.h"

#include <stdio.h>
#include <string.h>

/* ---- tokens and errors ------------------------------------------------------------- */

void tn_i_next(tn_i_parser *p) { tn_i_lex(&p->lex, &p->tok); }

const char *tn_i_word_text(char buf[TN_I_WORD_TEXT], const tn_i_token *t) {
    const size_t most = TN_I_WORD_TEXT - 8, n = t->n < most ? t->n : most;
    if (t->kind == TN_T_END) return memcpy(buf, "the end of the text", sizeof "the end of the text");
    char *o = buf;
    *o++ = '\'';
    for (size_t i = 0; i < n; i++) *o++ = t->at[i] >= ' ' && t->at[i] <= '~' ? t->at[i] : '?';
    (void)strcpy(o, n < t->n ? "...'" : "'");
    return buf;
}

bool tn_i_parse_fail(tn_i_parser *p, const tn_i_token *at, const char *fmt, ...) {
    const tn_i_loc loc = {.file = p->file, .line = at->line, .col = at->col, .scope = ""};
    va_list ap;
    va_start(ap, fmt);
    (void)tn_i_vfail(p->ctx, TN_EPARSE, &loc, fmt, ap);
    va_end(ap);
    return false;
}

bool tn_i_unexpected(tn_i_parser *p, const char *expected) {
    char word[TN_I_WORD_TEXT];
    if (p->tok.kind == TN_T_BAD) return tn_i_parse_fail(p, &p->tok, "a string without an end");
    return tn_i_parse_fail(p, &p->tok, "expected %s, not %s", expected, tn_i_word_text(word, &p->tok));
}

bool tn_i_accept(tn_i_parser *p, const char *mark) {
    if (!tn_i_token_is(&p->tok, mark)) return false;
    tn_i_next(p);
    return true;
}

bool tn_i_expect(tn_i_parser *p, const char *mark) {
    char quoted[TN_I_WORD_TEXT];
    if (tn_i_accept(p, mark)) return true;
    (void)snprintf(quoted, sizeof quoted, "'%s'", mark);
    return tn_i_unexpected(p, quoted);
}

static bool set_place(tn_i_parser *p, tn_i_scope *s, const tn_i_token *t) {
    s->b.loc = tn_i_loc_of(p->ctx, p->file, t->line, t->col, "");
    return s->b.loc != NULL;
}

/* ---- binders -------------------------------------------------------------------------- */

static bool define(tn_i_parser *p, tn_i_scope *s, const tn_i_token *name, tn_i_var v, bool vague) {
    char word[TN_I_WORD_TEXT];
    if (tn_i_is_dropped(name)) return tn_i_parse_drop(s, v, vague);
    if (tn_i_names_find(&s->names, name->at, name->n) != UINT32_MAX)
        return tn_i_parse_fail(p, name, "%s is defined twice", tn_i_word_text(word, name));
    return tn_i_names_add(&s->names, name->at, name->n, v);
}

static bool define_pairs(tn_i_parser *p, tn_i_scope *s, const tn_i_token *name, tn_i_var pairs, bool vague) {
    const tn_i_complex none = {TN_NOVAR, TN_NOVAR};
    uint32_t z;
    return tn_i_parse_complex_value(p, s, pairs, none, &z) && define(p, s, name, z, vague);
}

static bool binder(tn_i_parser *p, tn_i_binder *out) {
    tn_type t;
    *out = (tn_i_binder){.name = p->tok};
    if (p->tok.kind != TN_T_NAME || tn_i_token_reserved(&p->tok)) return tn_i_unexpected(p, "a name");
    tn_i_next(p);
    if (!tn_i_accept(p, ":")) return true;
    const bool ok = tn_i_parse_type(p, &t, &out->complex) && (out->type = tn_i_type(p->ctx, &t)) != NULL;
    out->key = p->of_keys;
    return ok;
}

/* `a:f64[3] b:f64[] | c:f64[] .`; JAX sets its inputs off by ';' */
static bool inputs(tn_i_parser *p, tn_i_scope *s) {
    bool linear = false, behind = false;
    size_t constants = 0;
    char word[TN_I_WORD_TEXT];
    while (!tn_i_accept(p, ".")) {
        tn_i_binder x;
        if (!linear && tn_i_accept(p, "|")) {
            linear = true;
            continue;
        }
        if (tn_i_accept(p, ";")) {
            if (!behind && !linear) constants = s->nconstant;
            behind = true;
            continue;
        }
        if (!binder(p, &x)) return false;
        if (!x.type) return tn_i_parse_fail(p, &x.name, "input %s needs a type", tn_i_word_text(word, &x.name));
        if (!set_place(p, s, &x.name)) return false;
        const tn_type *t = x.complex ? tn_i_parse_pairs_type(p, x.type) : x.type;
        const tn_i_var v = t ? tn_i_input(&s->b, t, linear) : TN_NOVAR;
        if (v == TN_NOVAR || !(x.complex ? define_pairs(p, s, &x.name, v, false) : define(p, s, &x.name, v, false)))
            return false;
        if (!tn_i_parse_own_constant(p, s, &x.name, v)) return false;
    }
    s->nconstant = constants;
    return true;
}

/* What an equation defines, up to and with '='. */
static bool left_side(tn_i_parser *p, tn_i_reading *r) {
    r->binder0 = p->nbinder;
    if (tn_i_accept(p, "(")) return tn_i_expect(p, ")") && tn_i_expect(p, "=");
    const char *behind = p->tok.at + p->tok.n;
    if (p->tok.kind == TN_T_NAME && behind < p->lex.end && *behind == '[')
        return true; /* JAX's, of what has no outputs */
    do {
        tn_i_binder x;
        if (!binder(p, &x) || !tn_i_grow(p->ctx, (void **)&p->binder, &p->cbinder, p->nbinder + 1, sizeof *p->binder))
            return false;
        p->binder[p->nbinder++] = x;
    } while (!tn_i_accept(p, "="));
    r->nbinder = p->nbinder - r->binder0;
    return true;
}

/* ---- primitives ------------------------------------------------------------------------- */

static size_t prim_place(const tn_i_parser *p, const char *name, size_t n) {
    size_t at = (size_t)tn_i_hash(0, name, n) & (TN_I_PRIM_SLOTS - 1);
    while (p->prim[at] && (strlen(p->prim[at]->name) != n || memcmp(p->prim[at]->name, name, n) != 0))
        at = (at + 1) & (TN_I_PRIM_SLOTS - 1);
    return at;
}

static void list_primitives(tn_i_parser *p) {
    for (int id = 0; id < TN_NPRIMS; id++) {
        const tn_prim *prim = p->ctx->prims[id];
        p->prim[prim_place(p, prim->name, strlen(prim->name))] = prim;
    }
}

static const char *primitive_at(const void *list, size_t i) {
    return i < TN_NPRIMS ? ((const tn_prim *const *)list)[i]->name : NULL;
}

static bool primitive(tn_i_parser *p, tn_i_reading *r) {
    char word[TN_I_WORD_TEXT];
    if (p->tok.kind != TN_T_NAME) return tn_i_unexpected(p, "a primitive");
    r->name = p->tok;
    tn_i_next(p);
    if (tn_i_token_is(&p->tok, "-") && p->tok.at == r->name.at + r->name.n) { /* scatter-add */
        tn_i_next(p);
        r->name.n = (size_t)(p->tok.at + p->tok.n - r->name.at);
        tn_i_next(p);
    }
    r->prim = p->prim[prim_place(p, r->name.at, r->name.n)];
    if (!r->prim) r->prim = tn_i_jax_form(&r->name);
    if (r->prim) return true;
    r->jax = tn_i_jax_primitive(&r->name);
    if (tn_i_token_is(&r->name, "custom_vjp_call"))
        return tn_i_parse_fail(p, &r->name, "custom_vjp_call: a text does not hold its rule, a function of Python");
    if (!r->jax) {
        char near[TN_I_NEAREST];
        return tn_i_parse_fail(p, &r->name, "there is no primitive %s%s", tn_i_word_text(word, &r->name),
                               tn_i_nearest(near, r->name.at, r->name.n, primitive_at, p->ctx->prims));
    }
    if (r->jax->id >= 0) r->prim = p->ctx->prims[r->jax->id];
    return true;
}

/* ---- equations ------------------------------------------------------------------------------ */

static bool as_many(tn_i_parser *p, const tn_i_reading *r, uint32_t n) {
    char word[TN_I_WORD_TEXT];
    if (r->nbinder == n) return true;
    return tn_i_parse_fail(p, &r->name, "%s has %u output%s, not %zu", tn_i_word_text(word, &r->name), (unsigned)n,
                           n == 1 ? "" : "s", r->nbinder);
}

/* The new equation's outputs are `first` and on, or those of `out`, `n` of them. */
static bool define_outputs(tn_i_parser *p, tn_i_scope *s, const tn_i_reading *r, tn_i_var first, const tn_i_var *out,
                           uint32_t n) {
    char word[TN_I_WORD_TEXT], declared[TN_I_TYPE_TEXT], inferred[TN_I_TYPE_TEXT];
    if (!as_many(p, r, n)) return false;
    for (uint32_t j = 0; j < n; j++) {
        const tn_i_binder *x = &p->binder[r->binder0 + j];
        const tn_i_var v = out ? out[j] : first + j;
        const tn_type *t = tn_i_vtype(&s->b, v), *want = x->complex ? tn_i_parse_pairs_type(p, x->type) : x->type;
        if (x->complex && !want) return false;
        if (want && want != t)
            return tn_i_parse_fail(p, &x->name, "%s is declared %s, but is %s", tn_i_word_text(word, &x->name),
                                   tn_i_type_text(declared, want), tn_i_type_text(inferred, t));
        const bool vague = j < 64 && r->vague >> j & 1;
        if (!(x->complex ? define_pairs(p, s, &x->name, v, vague) : define(p, s, &x->name, v, vague))) return false;
    }
    return true;
}

static bool define_complex(tn_i_parser *p, tn_i_scope *s, const tn_i_reading *r, uint32_t n, const tn_i_complex *out) {
    char word[TN_I_WORD_TEXT], declared[TN_I_TYPE_TEXT], inferred[TN_I_TYPE_TEXT];
    if (!as_many(p, r, n)) return false;
    for (uint32_t j = 0; j < n; j++) {
        const tn_i_binder *x = &p->binder[r->binder0 + j];
        const tn_type *t = tn_i_vtype(&s->b, out[j].re);
        const bool complex = tn_i_is_complex(out[j]);
        uint32_t name = out[j].re;
        if (x->type && (x->type != t || x->complex != complex))
            return tn_i_parse_fail(p, &x->name, "%s is declared %s%s, but is %s%s", tn_i_word_text(word, &x->name),
                                   x->complex ? "complex, with parts " : "", tn_i_type_text(declared, x->type),
                                   complex ? "complex, with parts " : "", tn_i_type_text(inferred, t));
        if (complex && !tn_i_parse_complex_value(p, s, TN_NOVAR, out[j], &name)) return false;
        if (!define(p, s, &x->name, name, false)) return false;
    }
    return true;
}

static tn_i_var emit_as(tn_i_scope *s, const tn_i_reading *r, uint32_t nin, const tn_i_var *in) {
    const tn_i_var first = r->prim->written ? r->prim->written(&s->b, r->p, nin, in) : TN_NOVAR;
    if (first != TN_NOVAR || s->b.failed || r->prim->id < 0) return first;
    return tn_i_emit(&s->b, r->prim, r->p, nin, in);
}

/* As many copies as there are operands. */
static bool emit_copies(tn_i_parser *p, tn_i_scope *s, const tn_i_reading *r, uint32_t nin, const tn_i_var *in) {
    if (nin == 0) return tn_i_parse_fail(p, &r->name, "a copy has one operand or more");
    return define_outputs(p, s, r, TN_NOVAR, in, nin);
}

/* Of a form with several results. */
static bool emit_many(tn_i_parser *p, tn_i_scope *s, const tn_i_reading *r, uint32_t nin, const tn_i_var *in) {
    tn_i_var few[8], *out = few;
    const size_t most = r->nbinder;
    if (most > 8 && !(out = tn_i_alloc_array(p->ctx, most, sizeof *out))) return false;
    const uint32_t n = r->prim->written_many(&s->b, r->p, nin, in, (uint32_t)most, out);
    const bool ok = n && !s->b.failed && define_outputs(p, s, r, TN_NOVAR, out, n);
    if (out != few) tn_i_free(p->ctx, out, most * sizeof *out);
    return ok;
}

static bool emit_one(tn_i_parser *p, tn_i_scope *s, const tn_i_reading *r, uint32_t nin, const tn_i_var *in) {
    const tn_i_var first = emit_as(s, r, nin, in);
    if (s->b.failed || first == TN_NOVAR) return false;
    /* a form gives the outputs of its last equation, or one value */
    const tn_i_eqn *last = s->b.neqn ? &s->b.eqn[s->b.neqn - 1] : NULL;
    const bool whole = r->prim->id >= 0 || (last && first == last->out);
    return define_outputs(p, s, r, first, NULL, whole ? last->nout : 1);
}

static bool emit(tn_i_parser *p, tn_i_scope *s, tn_i_reading *r) {
    const size_t nin = p->noperand - r->operand0;
    tn_i_var few[8], *in = few;
    if (r->prim && r->prim->bind && !r->prim->bind(p->ctx, r->p)) return false;
    if (nin > 8 && !(in = tn_i_alloc_array(p->ctx, nin, sizeof *in))) return false;
    for (size_t i = 0; i < nin; i++) in[i] = p->operand[r->operand0 + i].var;
    const bool ok = !r->prim                ? emit_copies(p, s, r, (uint32_t)nin, in)
                    : r->prim->written_many ? emit_many(p, s, r, (uint32_t)nin, in)
                                            : emit_one(p, s, r, (uint32_t)nin, in);
    if (in != few) tn_i_free(p->ctx, in, nin * sizeof *in);
    return ok;
}

/* Operands, what is left out of parameters, the equation itself. */
static bool rest_of_equation(tn_i_parser *p, tn_i_scope *s, tn_i_reading *r) {
    tn_i_complex out[TN_I_COMPLEX_RESULTS];
    s->b.region = r->region;
    s->b.linear = r->linear;
    if (tn_i_parse_is_complex(p, r)) {
        const uint32_t n = tn_i_parse_complex_equation(p, s, r, out);
        return n && define_complex(p, s, r, n, out);
    }
    return tn_i_parse_pair_operands(p, s, r) && tn_i_parse_constants(p, s, r) && tn_i_resolve_operands(p, s, r) &&
           tn_i_complete_params(p, s, r) && emit(p, s, r);
}

static bool equation(tn_i_parser *p, tn_i_scope *s) {
    const size_t ntypes = p->ntypes, nints = p->nints, noperand = p->noperand, nbinder = p->nbinder;
    tn_i_reading r = {0};
    s->b.region = 0;
    s->b.linear = false;
    const bool ok = left_side(p, &r) && primitive(p, &r) && tn_i_parse_params(p, s, &r) &&
                    tn_i_parse_operands(p, s, &r) && set_place(p, s, &r.name) && rest_of_equation(p, s, &r);
    tn_i_release_params(p, &r);
    p->ntypes = ntypes;
    p->nints = nints;
    p->noperand = noperand;
    p->nbinder = nbinder;
    return ok;
}

/* ---- programs --------------------------------------------------------------------------------- */

/* Keywords are names too, as in what JAX prints of long programs: only `in` may stand where a name may.  It begins the
 * outputs unless the brackets behind it are the left side, `()`, of an equation behind the operand `in`. */
bool tn_i_ends_body(const tn_i_parser *p) {
    tn_i_lexer lex = p->lex;
    tn_i_token t;
    if (!tn_i_token_is(&p->tok, "in")) return false;
    tn_i_lex(&lex, &t);
    if (!tn_i_token_is(&t, "(")) return false;
    tn_i_lex(&lex, &t);
    if (!tn_i_token_is(&t, ")")) return true;
    tn_i_lex(&lex, &t);
    return !tn_i_token_is(&t, "=");
}

/* `in (a, 2.0)`; on success *f is the program. */
static bool outputs(tn_i_parser *p, tn_i_scope *s, const tn_fn **f) {
    tn_i_var *out = NULL;
    size_t n = 0, capacity = 0;
    bool ok = tn_i_expect(p, "(");
    while (ok && !tn_i_accept(p, ")")) {
        tn_i_operand o;
        ok = tn_i_parse_operand(p, s, &o);
        if (ok && o.dropped) ok = tn_i_parse_dropped_output(p, s, n, &o);
        if (ok && (o.z != TN_NOVAR || o.complex))
            ok = (o.var = tn_i_parse_complex_operand(p, s, &o)) != TN_NOVAR;
        else if (ok && o.var == TN_NOVAR)
            ok = (o.var = tn_i_parse_untyped(p, s, &o)) != TN_NOVAR;
        ok = ok && tn_i_grow(p->ctx, (void **)&out, &capacity, n + 1, sizeof *out);
        if (ok) out[n++] = o.var;
        ok = ok && (tn_i_token_is(&p->tok, ")") || tn_i_expect(p, ","));
    }
    ok = ok && (n <= UINT32_MAX || tn_i_parse_fail(p, &p->tok, "too many outputs"));
    if (ok) ok = (*f = tn_i_finish(&s->b, (uint32_t)n, out)) != NULL && tn_i_parse_close(p, s, f);
    tn_i_free(p->ctx, out, capacity * sizeof *out);
    return ok;
}

static bool body(tn_i_parser *p, tn_i_scope *s, const tn_fn **f) {
    const tn_i_token start = p->tok;
    if (!tn_i_expect(p, "{") || !tn_i_expect(p, "lambda") || !inputs(p, s) || !tn_i_expect(p, "let")) return false;
    while (!tn_i_ends_body(p)) {
        if (p->tok.kind == TN_T_END) return tn_i_unexpected(p, "an equation or 'in'");
        if (!equation(p, s)) return false;
        (void)tn_i_accept(p, ";"); /* as JAX separates those of one line */
    }
    tn_i_next(p);
    if (!set_place(p, s, &start)) return false;
    return outputs(p, s, f);
}

bool tn_i_parse_program(tn_i_parser *p, uint32_t depth, const tn_fn **out) {
    if (depth > p->ctx->most_nesting)
        return tn_i_parse_fail(p, &p->tok, "programs are nested deeper than %u%s", (unsigned)p->ctx->most_nesting,
                               tn_i_why_no_deeper(p->ctx));
    tn_i_scope s = {.depth = depth, .caller = p->caller};
    const tn_fn *f = NULL;
    p->caller = NULL;
    tn_i_builder_init(&s.b, p->ctx);
    s.b.raw = true;
    tn_i_names_init(&s.names, p->ctx);
    bool ok = body(p, &s, &f);
    tn_i_builder_drop(&s.b);
    tn_i_names_free(&s.names);
    tn_i_free(p->ctx, s.z, s.cz * sizeof *s.z);
    tn_i_free(p->ctx, s.constant, s.cconstant * sizeof *s.constant);
    tn_i_free(p->ctx, s.dropped, s.cdropped * sizeof *s.dropped);
    ok = ok && tn_i_expect(p, "}");
    if (ok)
        *out = f;
    else if (f)
        tn_i_fn_unref(f);
    return ok;
}

/* A definition that was read before its turn. */
static bool pass_over(tn_i_parser *p) {
    int64_t open = 0;
    do {
        if (p->tok.kind == TN_T_END) return tn_i_unexpected(p, "'in'");
        open += tn_i_token_is(&p->tok, "{") - tn_i_token_is(&p->tok, "}");
        tn_i_next(p);
    } while (open || !tn_i_token_is(&p->tok, "in"));
    return tn_i_expect(p, "in");
}

bool tn_i_parse_shared(tn_i_parser *p, uint32_t depth) {
    const tn_i_token name = p->tok;
    const tn_fn *f;
    char word[TN_I_WORD_TEXT];
    if (name.kind != TN_T_NAME || tn_i_token_reserved(&name)) return tn_i_unexpected(p, "a program's name");
    tn_i_next(p);
    const uint32_t known = tn_i_names_find(&p->programs, name.at, name.n);
    if (known != UINT32_MAX && p->program[known].at == name.at) return pass_over(p);
    if (known != UINT32_MAX) return tn_i_parse_fail(p, &name, "%s is defined twice", tn_i_word_text(word, &name));
    const tn_i_definition here = {.at = name.at, .outer = p->open};
    p->open = &here;
    const bool ok = tn_i_expect(p, "=") && tn_i_parse_program(p, depth, &f);
    p->open = here.outer;
    if (!ok) return false;
    if (!tn_i_grow(p->ctx, (void **)&p->program, &p->cprogram, p->nprogram + 1, sizeof *p->program)) {
        tn_i_fn_unref(f);
        return false;
    }
    p->program[p->nprogram++] = (tn_i_shared_text){f, name.at};
    return tn_i_names_add(&p->programs, name.at, name.n, (uint32_t)(p->nprogram - 1)) && tn_i_expect(p, "in");
}

/* Whether the program defined there is being read: it may not be of itself. */
static bool is_open(const tn_i_parser *p, const char *at) {
    for (const tn_i_definition *d = p->open; d; d = d->outer)
        if (d->at == at) return true;
    return false;
}

/* Goes to the definition of a name, behind its `let`, wherever it is among those of the definitions that are open;
 * false: there is none. */
static bool go_to(tn_i_parser *p, const tn_i_token *name) {
    int64_t level = 0;
    p->lex = p->lets.lex;
    p->tok = p->lets.tok;
    while (p->tok.kind != TN_T_END) {
        const bool let = tn_i_token_is(&p->tok, "let") && level == 0;
        level += tn_i_token_is(&p->tok, "{") - tn_i_token_is(&p->tok, "}");
        tn_i_next(p);
        if (let && p->tok.n == name->n && memcmp(p->tok.at, name->at, name->n) == 0) return !is_open(p, p->tok.at);
    }
    return false;
}

uint32_t tn_i_shared_program(tn_i_parser *p, const tn_i_token *name, uint32_t depth) {
    char word[TN_I_WORD_TEXT];
    uint32_t k = tn_i_names_find(&p->programs, name->at, name->n);
    if (k != UINT32_MAX) return k;
    const tn_i_lexer lex = p->lex;
    const tn_i_token tok = p->tok, wanted = *name;
    const bool there = p->lets.lex.at && go_to(p, &wanted);
    const bool ok = there && tn_i_parse_shared(p, depth);
    p->lex = lex;
    p->tok = tok;
    if (!there) (void)tn_i_parse_fail(p, &tok, "there is no program %s", tn_i_word_text(word, &wanted));
    return ok ? tn_i_names_find(&p->programs, wanted.at, wanted.n) : UINT32_MAX;
}

/* `grid (r=2, c=4)`, in front of programs that collectives stand in. */
static bool grid(tn_i_parser *p) {
    const tn_i_token start = p->tok;
    char name[TN_MAX_AXES][24];
    const char *names[TN_MAX_AXES];
    int64_t extent[TN_MAX_AXES];
    tn_grid g = {.name = names, .extent = extent};
    if (!tn_i_expect(p, "grid") || !tn_i_expect(p, "(")) return false;
    while (!tn_i_accept(p, ")")) {
        if (p->tok.kind != TN_T_NAME) return tn_i_unexpected(p, "the name of an axis");
        if (g.naxes == TN_MAX_AXES) return tn_i_parse_fail(p, &p->tok, "a grid has at most %d axes", TN_MAX_AXES);
        const size_t n = p->tok.n < sizeof *name - 1 ? p->tok.n : sizeof *name - 1;
        memcpy(name[g.naxes], p->tok.at, n);
        name[g.naxes][n] = 0;
        names[g.naxes] = name[g.naxes];
        tn_i_next(p);
        if (!tn_i_expect(p, "=") || !tn_i_parse_int(p, &extent[g.naxes++])) return false;
        if (!tn_i_token_is(&p->tok, ")") && !tn_i_expect(p, ",")) return false;
    }
    const tn_i_loc loc = {.file = p->file, .line = start.line, .col = start.col, .scope = ""};
    return tn_i_grid_set(p->ctx, &loc, "tn_fn_parse", &g);
}

static bool whole_text(tn_i_parser *p, const tn_fn **out) {
    const tn_fn *f;
    if (tn_i_token_is(&p->tok, "grid") && !grid(p)) return false;
    p->lets = (tn_i_one_hot_element){p->lex, p->tok};
    while (tn_i_accept(p, "let"))
        if (!tn_i_parse_shared(p, 2)) return false;
    if (!tn_i_parse_program(p, 1, &f)) return false;
    const bool ok = p->tok.kind == TN_T_END || tn_i_unexpected(p, "the end of the text");
    if (ok && (p->ctx->check || tn_i_check(f))) {
        *out = f;
        return true;
    }
    tn_i_fn_unref(f);
    return false;
}

tn_fn *tn_i_parse(tn_ctx *c, const char *text, size_t n, const char *filename) {
    const tn_fn *f = NULL;
    tn_i_parser *p = tn_i_alloc(c, sizeof *p);
    if (!p) return NULL;
    *p = (tn_i_parser){.ctx = c};
    const char *file = filename ? filename : "text";
    p->file = tn_i_string(c, file, strlen(file));
    tn_i_names_init(&p->programs, c);
    if (p->file) {
        list_primitives(p);
        tn_i_lex_start(&p->lex, text, n);
        tn_i_next(p);
        if (!whole_text(p, &f)) f = NULL;
    }
    while (p->nclosed) tn_i_fn_unref(p->closed[--p->nclosed].f);
    while (p->nprogram) tn_i_fn_unref(p->program[--p->nprogram].f);
    tn_i_names_free(&p->programs);
    tn_i_free(c, p->program, p->cprogram * sizeof *p->program);
    tn_i_free(c, p->binder, p->cbinder * sizeof *p->binder);
    tn_i_free(c, p->ints, p->cints * sizeof *p->ints);
    tn_i_free(c, (void *)p->types, p->ctypes * sizeof *p->types);
    tn_i_free(c, p->constant, p->cconstant * sizeof *p->constant);
    tn_i_free(c, p->closed, p->cclosed * sizeof *p->closed);
    tn_i_free(c, p->operand, p->coperand * sizeof *p->operand);
    tn_i_free(c, p, sizeof *p);
    return (tn_fn *)(uintptr_t)f;
}
