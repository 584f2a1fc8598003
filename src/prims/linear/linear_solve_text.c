/* custom_linear_solve as JAX writes it: each program has constants of its own among the operands, those of matvec,
 * vecmat, solve and transpose_solve, and matvec says nothing of what it is linear in.  Here all programs read all.
 *
 * A complex right-hand side is its parts, [.., 2].  JAX transposes without conjugation; the transpose of what a does to
 * parts is that of its conjugate transpose: a^H x = c is a^T conj(x) = conj(c). */
#include "prims/scalar/complex.h"
#include "prims/ids.h"
#include "prims/linear/linear_solve_text.h"

enum { CONST_LENGTHS, JAXPRS, COMPLEX };
enum { MATVEC, VECMAT, SOLVE, TRANSPOSE_SOLVE, PROGRAMS };

static const char *const fields[] = {"matvec", "vecmat", "solve", "transpose_solve"};
static const tn_i_spec specs[] = {
    {.name = "const_lengths", .kind = TN_K_INTS, .lists = PROGRAMS, .record = "_LinearSolveTuple", .fields = fields},
    {.name = "jaxprs", .kind = TN_K_FNS, .lists = PROGRAMS, .record = "_LinearSolveTuple", .fields = fields},
    {.name = TN_I_COMPLEX_OPERANDS, .kind = TN_K_INTS, .otherwise = "those that are"},
    {0}};

typedef struct system {
    tn_i_builder *b;
    const tn_fn *f[PROGRAMS];  /* NULL: none */
    uint32_t at[PROGRAMS + 1]; /* where the constants of each begin; the right-hand sides */
    uint32_t n;
    bool symmetric;            /* matvec is its own transpose, without conjugation */
    const tn_i_param *complex; /* which operands are */
    const tn_i_var *in;
    tn_i_var *operand;            /* those that are kept */
    uint32_t nkept, to[PROGRAMS]; /* constants kept, and where those of each begin among them */
} system;

static bool refuse(const system *s, const char *why) {
    (void)tn_i_fail(s->b->ctx, TN_ETYPE, s->b->loc, "custom_linear_solve: %s", why);
    s->b->failed = true;
    return false;
}

static bool read_system(system *s, const tn_i_param *p, uint32_t nin) {
    const uint32_t nf = p[JAXPRS].n;
    int64_t at = 0;
    s->complex = &p[COMPLEX];
    if (nf != 2 && nf != PROGRAMS) return refuse(s, "vecmat and transpose_solve are given together");
    s->f[MATVEC] = p[JAXPRS].u.fns[0];
    s->f[SOLVE] = p[JAXPRS].u.fns[nf / 2];
    if (nf == PROGRAMS) {
        s->f[VECMAT] = p[JAXPRS].u.fns[1];
        s->f[TRANSPOSE_SOLVE] = p[JAXPRS].u.fns[3];
    }
    s->n = s->f[MATVEC]->nout;
    for (int k = 0; k < PROGRAMS; k++) {
        const int64_t n = p[CONST_LENGTHS].u.ints[k];
        if (n < 0 || n > nin - at) return refuse(s, "const_lengths are not those of the operands");
        s->at[k] = (uint32_t)at;
        at += n;
        if (s->f[k] && s->f[k]->nin != (uint32_t)n + s->n) return refuse(s, "const_lengths are not those of jaxprs");
        if (s->f[k] && s->f[k]->nout < s->n) return refuse(s, "a program of jaxprs has too few outputs");
    }
    s->at[PROGRAMS] = (uint32_t)at;
    return nin - at == s->n || refuse(s, "matvec has another number of outputs than there are right-hand sides");
}

/* One program on the same constants both ways. */
static bool is_symmetric(const system *s) {
    const uint32_t n = s->at[VECMAT] - s->at[MATVEC];
    if (!s->f[VECMAT] || s->at[SOLVE] - s->at[VECMAT] != n || !tn_i_fn_equal(s->f[MATVEC], s->f[VECMAT])) return false;
    for (uint32_t i = 0; i < n; i++)
        if (s->in[i] != s->in[n + i]) return false;
    return true;
}

static void keep_operands(system *s) {
    s->symmetric = is_symmetric(s);
    for (int k = 0; k < PROGRAMS; k++) {
        s->to[k] = s->nkept;
        if (!s->f[k] || k == VECMAT || (s->symmetric && k == TRANSPOSE_SOLVE)) continue;
        for (uint32_t i = s->at[k]; i < s->at[k + 1]; i++) s->operand[s->nkept++] = s->in[i];
    }
    for (uint32_t i = 0; i < s->n; i++) s->operand[s->nkept + i] = s->in[s->at[PROGRAMS] + i];
}

/* ---- complex right-hand sides --------------------------------------------------------------------------- */

static bool is_complex(const system *s, uint32_t j) {
    for (uint32_t i = 0; s->complex->kind != TN_K_NONE && i < s->complex->n; i++)
        if (s->complex->u.ints[i] == (int64_t)(s->n - 1 - j)) return true;
    return false;
}

static bool some_complex(const system *s) {
    for (uint32_t j = 0; j < s->n; j++)
        if (is_complex(s, j)) return true;
    return false;
}

/* Those of the n values that are complex, conjugate. */
static void conjugate(const system *s, tn_i_builder *b, tn_i_var *v) {
    for (uint32_t j = 0; j < s->n && !b->failed; j++) {
        if (!is_complex(s, j)) continue;
        tn_i_complex z = tn_i_complex_parts(b, v[j]);
        z = tn_i_complex_conj(b, z);
        v[j] = tn_i_complex_join(b, z);
    }
}

/* ---- programs of all ------------------------------------------------------------------------------------- */

/* Program k, of all operands.  That of the transpose is solve where a symmetric system is complex. */
static tn_fn *of_all(const system *s, int k) {
    const bool turned = k == TRANSPOSE_SOLVE;
    if (turned && s->symmetric) k = SOLVE;
    const tn_fn *f = s->f[k];
    const uint32_t nin = s->nkept + s->n, own = f->nin - s->n;
    const size_t room = (size_t)nin + f->nin + f->nout;
    tn_ctx *c = s->b->ctx;
    tn_i_builder b;
    tn_i_builder_init(&b, c);
    b.named_after = f;
    b.regions = f->regions;
    tn_i_var *in = tn_i_alloc_array(c, room, sizeof *in);
    if (!in) {
        tn_i_builder_drop(&b);
        return NULL;
    }
    tn_i_var *args = in + nin, *out = args + f->nin;
    for (uint32_t i = 0; i < nin; i++)
        in[i] = tn_i_input(&b, tn_i_vtype(s->b, s->operand[i]), k == MATVEC && i >= s->nkept);
    for (uint32_t i = 0; i < f->nin; i++) args[i] = in[i < own ? s->to[k] + i : s->nkept + (i - own)];
    if (turned) conjugate(s, &b, args + own);
    for (uint32_t i = 0; i < f->nin && !b.failed; i++)
        if (!tn_type_equal(f->val[i].type, tn_i_vtype(&b, args[i]))) {
            (void)tn_i_fail(c, TN_ETYPE, s->b->loc, "custom_linear_solve: %s takes another type as input %u", fields[k],
                            (unsigned)i);
            b.failed = true;
        }
    if (!b.failed) tn_i_inline(&b, f, args, out);
    if (turned) conjugate(s, &b, out);
    tn_fn *g = tn_i_finish(&b, k == SOLVE && !turned ? f->nout : s->n, out);
    tn_i_free(c, in, room * sizeof *in);
    return g;
}

static tn_i_var emit(system *s) {
    static const int kept[] = {MATVEC, SOLVE, TRANSPOSE_SOLVE};
    tn_i_param p[4] = {{0}};
    tn_fn *made[3] = {NULL, NULL, NULL};
    bool ok = true;
    tn_i_var first = TN_NOVAR;
    keep_operands(s);
    const bool transposed = s->symmetric ? some_complex(s) : s->f[TRANSPOSE_SOLVE] != NULL;
    for (int k = 0; k < (transposed ? 3 : 2) && ok; k++) {
        ok = (made[k] = of_all(s, kept[k])) != NULL;
        p[k] = (tn_i_param){.kind = TN_K_FN, .u.fn = made[k]};
    }
    if (s->symmetric && !transposed) p[3] = (tn_i_param){.kind = TN_K_BOOL, .u.i = 1};
    if (ok)
        first = tn_i_emit(s->b, tn_i_prim(s->b, TN_P_custom_linear_solve), p, s->nkept + s->n, s->operand);
    else
        s->b->failed = true;
    for (int k = 0; k < 3; k++) tn_i_fn_unref(made[k]);
    return first;
}

static tn_i_var written(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in) {
    system s = {.b = b, .in = in};
    if (!read_system(&s, p, nin)) return TN_NOVAR;
    s.operand = tn_i_alloc_array(b->ctx, nin, sizeof *s.operand);
    tn_i_var first = TN_NOVAR;
    if (s.operand)
        first = emit(&s);
    else
        b->failed = true;
    tn_i_free(b->ctx, s.operand, nin * sizeof *s.operand);
    return first;
}

const tn_prim tn_i_linear_solve_form = {
    .id = -1, .name = "custom_linear_solve", .nin = -1, .params = specs, .written = written};
