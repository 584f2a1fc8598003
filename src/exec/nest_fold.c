/* Reductions of nests, in the order that nest.h lays down, from blocks as they come. */
#include "exec/nest_code.h"

#include <string.h>

/* What a sink runs with. */
typedef struct sinking {
    const tn_i_nest_code *code;
    const tn_i_nest_sink *k;
    char *scratch, *parts;
    char *const *data;
    char *out;
} sinking;

/* ---- results ---- */

/* Most often it is one number, which compilers would copy as slowly as a block. */
static void move(char *to, const char *x, int64_t bytes) {
    if (bytes == 8)
        memcpy(to, x, 8);
    else if (bytes == 4)
        memcpy(to, x, 4);
    else
        memcpy(to, x, (size_t)bytes);
}

static void give(const sinking *z, int64_t at, int64_t n, const char *x) {
    const tn_i_nest_sink *k = z->k;
    if (k->out != TN_NOVAR)
        move(z->out, x, n * k->out_size);
    else if (z->data[k->array])
        tn_i_walk_store(&z->code->walk[k->walk], k->out_size, z->data[k->array], at, n, x, 1);
}

/* Whoever is wanted: index of the first greatest (or least) element, or of the first NaN. */
#define ARG(name, T, BETTER)                                                                           \
    static void name(const void *x, int64_t n, int64_t moves, int64_t s, void *best, int64_t *index) { \
        const T *a = x;                                                                                \
        T *b = best;                                                                                   \
        for (int64_t i = 0; i < n; i++) {                                                              \
            const int64_t k = moves ? i : 0, at = moves ? s : s + i;                                   \
            if (at == 0 || BETTER(a[i], b[k])) {                                                       \
                b[k] = a[i];                                                                           \
                index[k] = at;                                                                         \
            }                                                                                          \
        }                                                                                              \
    }
#define GREATER(a, b)   ((a) > (b))
#define LESS(a, b)      ((a) < (b))
#define GREATER_F(a, b) ((a) > (b) || ((a) != (a) && (b) == (b)))
#define LESS_F(a, b)    ((a) < (b) || ((a) != (a) && (b) == (b)))
ARG(argmax_b8, uint8_t, GREATER)
ARG(argmax_i32, int32_t, GREATER)
ARG(argmax_i64, int64_t, GREATER)
ARG(argmax_u32, uint32_t, GREATER)
ARG(argmax_f32, float, GREATER_F)
ARG(argmax_f64, double, GREATER_F)
ARG(argmin_b8, uint8_t, LESS)
ARG(argmin_i32, int32_t, LESS)
ARG(argmin_i64, int64_t, LESS)
ARG(argmin_u32, uint32_t, LESS)
ARG(argmin_f32, float, LESS_F)
ARG(argmin_f64, double, LESS_F)

typedef void arg_fn(const void *x, int64_t n, int64_t moves, int64_t s, void *best, int64_t *index);

static arg_fn *arg_of(const tn_i_nest_sink *k) {
    static arg_fn *const most[TN_NDTYPES] = {argmax_b8, argmax_i32, argmax_i64, argmax_f32, argmax_f64, argmax_u32};
    static arg_fn *const least[TN_NDTYPES] = {argmin_b8, argmin_i32, argmin_i64, argmin_f32, argmin_f64, argmin_u32};
    return (k->fold == TN_FOLD_ARGMAX ? most : least)[k->dtype];
}

/* i32 indices in place of i64 ones. */
static void narrow(const tn_i_nest_sink *k, int64_t *index, int64_t n) {
    if (k->out_dtype != TN_I32) return;
    for (int64_t i = 0; i < n; i++) {
        const int32_t at = (int32_t)index[i];
        memcpy((char *)index + i * 4, &at, sizeof at);
    }
}

void tn_i_arg_rows(const tn_i_nest_sink *k, const char *x, int64_t rows, int64_t row, char *out) {
    arg_fn *const fold = arg_of(k);
    for (int64_t r = 0; r < rows; r++) {
        uint64_t best = 0;
        int64_t index = 0;
        fold(x + r * row * k->size, row, 0, 0, &best, &index);
        narrow(k, &index, 1);
        memcpy(out + r * k->out_size, &index, k->out_size);
    }
}

/* ---- leaves ---- */

typedef struct leaf {
    const tn_i_nest_sink *k;
    char *lane, *stack;
    int64_t at, n; /* kept elements first..first+n-1 */
} leaf;

static void begin(const leaf *l) {
    const tn_i_nest_sink *k = l->k;
    if (!k->inner_kept) {
        k->kernel->begin(l->lane + l->at * TN_LANES * k->size);
        return;
    }
    if (l->n == k->kept) {
        tn_i_repeat(k->size, (const char *)&k->identity, l->lane, k->lanes * k->kept);
        return;
    }
    for (int64_t i = 0; i < k->lanes; i++)
        tn_i_repeat(k->size, (const char *)&k->identity, l->lane + (i * k->kept + l->at) * k->size, l->n);
}

/* Lanes by halves; what is left is lane 0. */
static char *halve(const leaf *l) {
    const tn_i_nest_sink *k = l->k;
    const int64_t size = k->size;
    if (!k->inner_kept) {
        char *a = l->lane + l->at * TN_LANES * size;
        k->kernel->halve(a);
        return a;
    }
    char *a = l->lane + l->at * size;
    for (int64_t half = k->lanes / 2; half > 0; half /= 2) {
        if (l->n == k->kept)
            k->kernel->into(a, a + half * k->kept * size, half * k->kept);
        else
            for (int64_t i = 0; i < half; i++)
                k->kernel->into(a + i * k->kept * size, a + (i + half) * k->kept * size, l->n);
    }
    return a;
}

static char *entry(const leaf *l, int level) { return l->stack + (level * l->k->kept + l->at) * l->k->size; }

static int ones(uint64_t i) {
    int n = 0;
    for (; i; i &= i - 1) n++;
    return n;
}

/* Entry number i of the counter; NULL, or, when it was the last one, the result. */
static const char *count(const leaf *l, char *x, uint64_t i, bool last) {
    int height = ones(i);
    for (int merge = __builtin_ctzll(i + 1); merge > 0; merge--) {
        l->k->kernel->into(entry(l, height - 1), x, l->n);
        x = entry(l, --height);
    }
    if (!last) {
        if (x != entry(l, height)) move(entry(l, height), x, l->n * l->k->size);
        return NULL;
    }
    while (height > 0) {
        l->k->kernel->into(entry(l, height - 1), x, l->n);
        x = entry(l, --height);
    }
    return x;
}

/* Leaf number i is complete: perhaps its piece, or all. */
static void complete(const sinking *z, const leaf *l, int64_t i, bool last, int64_t begins) {
    const tn_i_nest_sink *k = z->k;
    if (!k->leaves) {
        const char *x = count(l, halve(l), (uint64_t)i, last);
        if (x) give(z, begins * k->kept + l->at, l->n, x);
        return;
    }
    const int64_t of = i & (k->leaves - 1);
    const char *x = count(l, halve(l), (uint64_t)of, last || of == k->leaves - 1);
    if (x) move(z->parts + k->parts + (i / k->leaves * k->kept + l->at) * k->size, x, l->n * k->size);
}

/* ---- blocks ---- */

typedef struct place {
    int64_t fold, keep, begin; /* which element of its reduction, of the kept ones, of those in front */
    int64_t index, outer;      /* of the innermost group, and of the one around it */
} place;

static place place_of(const tn_i_nest_sink *k, int64_t at) {
    place p = {0};
    for (uint32_t g = k->ngroup; g-- > 0;) {
        const int64_t index = g ? at % k->group[g] : at;
        at = g ? at / k->group[g] : 0;
        p.fold += index * k->folds[g];
        p.keep += index * k->keeps[g];
        p.begin += index * k->begins[g];
        if (g + 1 == k->ngroup) p.index = index;
        if (g + 2 == k->ngroup) p.outer = index;
    }
    return p;
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* A run of elements that are kept side by side, or several such rows at once: lanes follow one another. */
static int64_t run_kept(const sinking *z, const place *p, const char *x, int64_t n) {
    const tn_i_nest_sink *k = z->k;
    const int64_t inner = k->group[k->ngroup - 1];
    int64_t run = least(n, inner - p->index), rows = 1;
    leaf l = {k, z->scratch + k->state, z->scratch + k->stack, p->keep, run};
    if (p->fold % TN_LEAF == 0) begin(&l);
    if (inner == k->kept && p->index == 0 && n >= 2 * inner) {
        rows = least(n / inner, TN_LANES - p->fold % TN_LANES);
        rows = least(rows, k->group[k->ngroup - 2] - p->outer);
    }
    k->kernel->into(l.lane + (p->fold % TN_LANES * k->kept + p->keep) * k->size, x, run * rows);
    const int64_t next = p->fold + rows;
    if (next % TN_LEAF == 0 || next == k->n) complete(z, &l, (next - 1) / TN_LEAF, next == k->n, p->begin);
    return run * rows;
}

/* A run of elements of one result. */
static int64_t run_folded(const sinking *z, const place *p, const char *x, int64_t n) {
    const tn_i_nest_sink *k = z->k;
    const int64_t run = least(n, k->group[k->ngroup - 1] - p->index);
    const leaf l = {k, z->scratch + k->state, z->scratch + k->stack, p->keep, 1};
    char *lane = l.lane + p->keep * TN_LANES * k->size;
    for (int64_t i = 0; i < run;) {
        const int64_t s = p->fold + i, m = least(run - i, TN_LEAF - s % TN_LEAF);
        const int64_t odd = s % TN_LANES, head = odd ? least(m, TN_LANES - odd) : 0;
        if (s % TN_LEAF == 0) begin(&l);
        if (head) k->kernel->into(lane + odd * k->size, x + i * k->size, head);
        k->kernel->lanes(lane, x + (i + head) * k->size, m - head);
        i += m;
        const int64_t next = s + m;
        if (next % TN_LEAF == 0 || next == k->n) complete(z, &l, (next - 1) / TN_LEAF, next == k->n, p->begin);
    }
    return run;
}

static int64_t run_arg(const sinking *z, const place *p, const char *x, int64_t n) {
    const tn_i_nest_sink *k = z->k;
    const int64_t run = least(n, k->group[k->ngroup - 1] - p->index), results = k->inner_kept ? run : 1;
    int64_t *index = (int64_t *)(void *)(z->scratch + k->stack) + p->keep;
    arg_of(k)(x, run, k->inner_kept, p->fold, z->scratch + k->state + p->keep * k->size, index);
    if (p->fold + (k->inner_kept ? 1 : run) == k->n) {
        narrow(k, index, results);
        give(z, p->begin * k->kept + p->keep, results, (const char *)index);
    }
    return run;
}

void tn_i_sink_run(const tn_i_nest_code *code, const tn_i_nest_sink *k, char *scratch, char *parts, char *const *data,
                   const char *x, int64_t at, int64_t n, char *out) {
    const sinking z = {code, k, scratch, parts, data, out};
    while (n > 0) {
        const place p = place_of(k, at);
        const int64_t run = k->arg          ? run_arg(&z, &p, x, n)
                            : k->inner_kept ? run_kept(&z, &p, x, n)
                                            : run_folded(&z, &p, x, n);
        at += run;
        n -= run;
        x += run * k->size;
    }
}

/* Pieces are entries of one level, as leaves are. */
void tn_i_sink_join(const tn_i_nest_code *code, const tn_i_nest_sink *k, char *scratch, char *parts, char *const *data,
                    char *out) {
    const sinking z = {code, k, scratch, parts, data, out};
    const leaf l = {k, scratch + k->state, scratch + k->stack, 0, k->kept};
    for (int64_t i = 0; i < code->pieces; i++) {
        const char *x = count(&l, parts + k->parts + i * k->kept * k->size, (uint64_t)i, i + 1 == code->pieces);
        if (x) give(&z, 0, k->kept, x);
    }
}
