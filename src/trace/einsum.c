/* einsum: a spec's letters become labels, then pairs of operands are contracted. */
#include "trace/trace.h"

#include <string.h>

/* Labels: a..z 0..25, A..Z 26..51; the axes of "..." from the last one on 52..59. */
enum { ELLIPSIS = 52, MAX_OPERANDS = 64, MAX_LABELS = 60 };

typedef struct term {
    tn_i_var v;
    int n;
    int8_t l[TN_MAX_RANK];
} term;

typedef struct einsum {
    tn_i_site *s;
    term *x;
    int n, nout;
    int8_t out[TN_MAX_RANK];
    int64_t size[MAX_LABELS]; /* -1: unused */
    int uses[MAX_LABELS];     /* occurrences in the operands */
    int dots;                 /* axes that "..." stands for */
} einsum;

static int letter(char c) { return c >= 'a' && c <= 'z' ? c - 'a' : c >= 'A' && c <= 'Z' ? 26 + c - 'A' : -1; }
static char name_of(int l) { return (char)(l < 26 ? 'a' + l : l < ELLIPSIS ? 'A' + l - 26 : '.'); }

static bool bad_spec(const einsum *e, const char *spec, const char *why) {
    (void)tn_i_site_fail(e->s, TN_EINVAL, -1, "'%.80s': %s", spec, why);
    return false;
}

/* ---- reading the spec ------------------------------------------------------------------- */

/* One term of at most `room` labels (`dots` of them for "..."); ends at ',', '-' or the end. */
static bool read_term(const einsum *e, const char *spec, const char **at, int dots, int room, int8_t *l, int *n) {
    bool seen = false;
    *n = 0;
    for (; **at && **at != ',' && **at != '-'; (*at)++) {
        if (**at == ' ') continue;
        int more = 1, label = letter(**at);
        if (strncmp(*at, "...", 3) == 0) {
            if (seen) return bad_spec(e, spec, "'...' twice in one term");
            seen = true;
            *at += 2;
            more = dots;
        } else if (label < 0)
            return bad_spec(e, spec, "letters, ',', '->' and '...' only");
        if (*n + more > room) return bad_spec(e, spec, "a term names more axes than its operand has");
        for (int k = more; k-- > 0;) l[(*n)++] = (int8_t)(label < 0 ? ELLIPSIS + k : label);
    }
    return true;
}

/* Axes of the operand that the term leaves to "...". */
static bool count_dots(const einsum *e, const char *spec, const char *at, int rank, int *dots) {
    int letters = 0;
    bool has = false;
    for (; *at && *at != ',' && *at != '-'; at++) {
        if (letter(*at) >= 0) letters++;
        if (strncmp(at, "...", 3) == 0) {
            has = true;
            at += 2;
        }
    }
    *dots = has ? rank - letters : 0;
    if (letters == rank || (has && letters < rank)) return true;
    return bad_spec(e, spec,
                    letters > rank ? "a term names more axes than its operand has"
                                   : "a term names fewer axes than its operand has");
}

static bool read_inputs(einsum *e, const char *spec, const char **at) {
    for (int i = 0; i < e->n; i++) {
        int rank = tn_i_site_type(e->s, e->x[i].v)->rank, dots;
        if (!count_dots(e, spec, *at, rank, &dots) || !read_term(e, spec, at, dots, rank, e->x[i].l, &e->x[i].n))
            return false;
        if (dots > e->dots) e->dots = dots;
        if (i + 1 < e->n && **at != ',') return bad_spec(e, spec, "fewer terms than operands");
        if (i + 1 < e->n) (*at)++;
    }
    return **at == ',' ? bad_spec(e, spec, "more terms than operands") : true;
}

/* "..." and then the letters that occur once, in the order of their codes. */
static bool implicit_output(einsum *e, const char *spec) {
    for (int k = e->dots; k-- > 0;) e->out[e->nout++] = (int8_t)(ELLIPSIS + k);
    for (char c = 'A'; c <= 'z'; c++) {
        int l = letter(c);
        if (l < 0 || e->uses[l] != 1) continue;
        if (e->nout == TN_MAX_RANK) return bad_spec(e, spec, "the result has more than 8 axes");
        e->out[e->nout++] = (int8_t)l;
    }
    return true;
}

static bool read_output(einsum *e, const char *spec, const char *at) {
    if (!*at) return implicit_output(e, spec);
    if (at[0] != '-' || at[1] != '>') return bad_spec(e, spec, "'-' must be '->'");
    at += 2;
    if (!read_term(e, spec, &at, e->dots, TN_MAX_RANK, e->out, &e->nout)) return false;
    if (*at) return bad_spec(e, spec, "text behind the result");
    int dots = 0;
    for (int i = 0; i < e->nout; i++) {
        dots += e->out[i] >= ELLIPSIS;
        if (e->uses[e->out[i]] == 0) return bad_spec(e, spec, "the result has a letter that no operand has");
        for (int j = 0; j < i; j++)
            if (e->out[j] == e->out[i]) return bad_spec(e, spec, "the result repeats a letter");
    }
    return dots == e->dots ? true : bad_spec(e, spec, "the result lacks '...'");
}

/* ---- sizes -------------------------------------------------------------------------------- */

static bool measure(einsum *e) {
    for (int i = 0; i < e->n; i++)
        for (int k = 0; k < e->x[i].n; k++) {
            int l = e->x[i].l[k];
            int64_t d = tn_i_site_type(e->s, e->x[i].v)->dim[k], *size = &e->size[l];
            e->uses[l]++;
            if (*size < 0 || (l >= ELLIPSIS && *size == 1))
                *size = d;
            else if (*size != d && !(l >= ELLIPSIS && d == 1)) {
                (void)tn_i_site_fail(e->s, TN_ETYPE, i, "axis %d, '%c', has size %lld, elsewhere %lld", k, name_of(l),
                                     (long long)d, (long long)*size);
                return false;
            }
        }
    return true;
}

/* Axes of "..." that are only repeated go; axes with one letter become their diagonal. */
static void simplify(einsum *e, term *x) {
    const tn_type *t = tn_i_site_type(e->s, x->v);
    uint32_t ones = 0;
    int n = 0;
    for (int k = 0; k < x->n; k++) {
        if (x->l[k] >= ELLIPSIS && t->dim[k] == 1 && e->size[x->l[k]] != 1)
            ones |= 1u << k;
        else
            x->l[n++] = x->l[k];
    }
    x->n = n;
    x->v = tn_i_do_squeeze(e->s, x->v, ones);
    for (int b = 1; b < x->n; b++)
        for (int a = 0; a < b; a++) {
            if (x->l[a] != x->l[b]) continue;
            int8_t same = x->l[a];
            x->v = tn_i_do_diagonal(e->s, x->v, a, b);
            memmove(x->l + b, x->l + b + 1, (size_t)(x->n - b - 1));
            memmove(x->l + 1, x->l, (size_t)a);
            x->l[0] = same;
            x->n--;
            b = 0; /* labels have moved: look again */
            break;
        }
}

/* ---- contracting ------------------------------------------------------------------------------ */

static bool has(const term *x, int l) { return memchr(x->l, l, (size_t)x->n) != NULL; }

/* Whether label l is still wanted once terms i and j are one. */
static bool wanted(const einsum *e, int i, int j, int l) {
    if (memchr(e->out, l, (size_t)e->nout)) return true;
    for (int k = 0; k < e->n; k++)
        if (k != i && k != j && has(&e->x[k], l)) return true;
    return false;
}

/* The labels of the product of terms i and j, as dot_general orders them. */
static int pair_labels(const einsum *e, int i, int j, int8_t *l) {
    const term *x = &e->x[i], *y = &e->x[j];
    int n = 0;
    for (int k = 0; k < x->n; k++)
        if (has(y, x->l[k]) && wanted(e, i, j, x->l[k])) l[n++] = x->l[k];
    for (int k = 0; k < x->n; k++)
        if (!has(y, x->l[k]) && wanted(e, i, j, x->l[k])) l[n++] = x->l[k];
    for (int k = 0; k < y->n; k++)
        if (!has(x, y->l[k]) && wanted(e, i, j, y->l[k])) l[n++] = y->l[k];
    return n;
}

static void smallest_pair(const einsum *e, int *bi, int *bj) {
    double best = -1;
    *bi = 0;
    *bj = 1;
    for (int i = 0; i < e->n && e->n > 2; i++)
        for (int j = i + 1; j < e->n; j++) {
            int8_t l[2 * TN_MAX_RANK];
            int n = pair_labels(e, i, j, l);
            double size = 1;
            for (int k = 0; k < n; k++) size *= (double)e->size[l[k]];
            if (best >= 0 && size >= best) continue;
            best = size;
            *bi = i;
            *bj = j;
        }
}

static tn_i_var contract(einsum *e) {
    tn_i_site *s = e->s;
    while (e->n > 1 && !s->b->failed) {
        int i, j, n;
        int8_t l[2 * TN_MAX_RANK];
        smallest_pair(e, &i, &j);
        n = pair_labels(e, i, j, l);
        if (e->n == 2) memcpy(l, e->out, (size_t)(n = e->nout));
        tn_i_var v = tn_i_do_contract(s, e->x[i].v, e->x[i].l, e->x[j].v, e->x[j].l, n, l);
        if (v == TN_NOVAR) return v;
        e->x[i] = (term){.v = v, .n = n};
        memcpy(e->x[i].l, l, (size_t)n);
        e->x[j] = e->x[--e->n];
    }
    return tn_i_do_arrange(s, e->x[0].v, e->x[0].l, e->nout, e->out);
}

static tn_i_var run(einsum *e, const char *spec) {
    const char *at = spec;
    if (!read_inputs(e, spec, &at) || !measure(e) || !read_output(e, spec, at)) return TN_NOVAR;
    for (int i = 0; i < e->n && !e->s->b->failed; i++) simplify(e, &e->x[i]);
    return contract(e);
}

tn_val tn_einsum_at(const char *spec, tn_val_list x, const char *file, int line) {
    tn_i_site s;
    tn_i_var v[MAX_OPERANDS];
    term terms[MAX_OPERANDS];
    size_t n = x.n < MAX_OPERANDS ? x.n : MAX_OPERANDS;
    tn_i_site_open(&s, "einsum", NULL, n, x.v, v, 0, file, line);
    if (n < x.n) (void)tn_i_site_fail(&s, TN_EINVAL, -1, "at most %d operands, not %zu", (int)MAX_OPERANDS, x.n);
    if (!spec) (void)tn_i_site_fail(&s, TN_EINVAL, -1, "the spec is NULL");
    if (!tn_i_do_numbers(&s)) return tn_i_site_close(&s, TN_NOVAR);
    einsum e = {.s = &s, .x = terms, .n = (int)n};
    memset(e.size, 0xFF, sizeof e.size);
    memset(terms, 0, sizeof terms);
    for (size_t i = 0; i < n; i++) terms[i].v = v[i];
    return tn_i_site_close(&s, run(&e, spec));
}
