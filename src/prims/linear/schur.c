/* schur: of square matrices, over leading batch dimensions, by LAPACK's gees. */
#include "prims/scalar/complex.h"
#include "prims/ids.h"
#include "prims/linear/lapack.h"
#include "prims/linear/matrices.h"
#include "prims/sample.h"
#include "prims/arrays/shape.h"

enum { VECTORS };
static const tn_i_spec params[] = {{.name = "compute_schur_vectors", .kind = TN_K_BOOL, .otherwise = "True"},
                                   {.name = NULL}};

static bool type_schur(tn_i_query *q) {
    const bool vectors = q->p[VECTORS].kind == TN_K_NONE || q->p[VECTORS].u.i;
    if (!tn_i_square_matrices(q) || !tn_i_lapack_operands(q) || !tn_i_outputs(q, q->nin * (1 + vectors))) return false;
    for (uint32_t j = 0; j < q->nout; j++) q->out[j] = *q->in[0];
    return true;
}

/* To Hessenberg form and some steps of QR, with vectors: some 13 n^3 multiply-adds; a complex one is four. */
static void cost_schur(const tn_i_query *q, tn_i_cost *cost) {
    const double n = (double)q->in[0]->dim[q->in[0]->rank - 1], elements = (double)tn_i_count(q->in[0]);
    tn_i_cost_copy(q, cost);
    cost->products += elements * n * (q->nin > 1 ? 52 : 13);
    cost->flops += elements * 40;
}

enum { MATRIX, Q, WORK, NROOMS };

static size_t lay_out(const tn_type *t, int parts, tn_i_lapack_room *room, size_t *at) {
    const int64_t n = t->dim[t->rank - 1];
    if (n == 0) return 0;
    tn_i_lapack_gees_room(parts > 1, n, room);
    return tn_i_lapack_rooms((const int64_t[NROOMS]){n * n * parts, n * n * parts, room->work}, NROOMS, at);
}

static size_t scratch_schur(const tn_i_query *q) {
    tn_i_lapack_room room;
    size_t at[NROOMS];
    return lay_out(q->in[0], (int)q->nin, &room, at);
}

/* q's columns get their phases: t's columns turn with them, and its rows the other way. */
static void turn_columns(int parts, int64_t n, double *t, double *q) {
    double turn[2];
    for (int64_t j = 0; j < n; j++) {
        tn_i_lapack_turn(parts, n, q + j * n * parts, parts, turn);
        const double was[2] = {t[j * (n + 1) * parts], t[j * (n + 1) * parts + parts - 1]};
        tn_i_lapack_times(parts, n, t + j * n * parts, parts, turn[0], turn[1]);
        tn_i_lapack_times(parts, n, t + j * parts, n * parts, turn[0], -turn[1]);
        t[j * (n + 1) * parts] = was[0]; /* which does not turn */
        t[j * (n + 1) * parts + parts - 1] = was[parts - 1];
    }
}

/* The vectors say what t's phases are, wanted or not. */
static tn_status kernel_schur(const tn_i_kernel *k) {
    const int64_t n = k->in[0].type->dim[tn_i_batch_rank(k->in[0].type)];
    tn_i_lapack_room room;
    tn_i_lapack_batch each;
    size_t place[NROOMS];
    tn_i_lapack_begin(&each, k);
    if (each.count == 0 || lay_out(k->in[0].type, each.parts, &room, place) == SIZE_MAX) return TN_OK;
    char *memory = k->scratch;
    double *t = (double *)(void *)(memory + place[MATRIX]), *q = (double *)(void *)(memory + place[Q]);
    double *work = (double *)(void *)(memory + place[WORK]);
    while (tn_i_lapack_next(&each, t)) {
        if (!tn_i_all_finite(each.parts * n * n, t) || !tn_i_lapack_gees(each.parts > 1, n, t, q, &room, work)) {
            tn_i_lapack_put_nan(&each);
            continue;
        }
        turn_columns(each.parts, n, t, q);
        tn_i_lapack_put(&each, each.parts, 0, t, n);
        if (k->nout > k->nin) tn_i_lapack_put(&each, each.parts, k->nin, q, n);
    }
    return TN_OK;
}

static bool sample(tn_i_rng *r, int dtype, tn_i_case *c) {
    tn_i_sample_square(r, dtype, c);
    if (tn_i_pick(r, 0, 1)) tn_i_case_alike(c, 1, 0, dtype);
    c->p[VECTORS] = (tn_i_param){.kind = TN_K_BOOL, .u.i = tn_i_pick(r, 0, 2) != 0};
    return true;
}

const tn_prim tn_prim_schur = {
    .id = TN_P_schur,
    .name = "schur",
    .doc =
        "(t, q), or t: a = q t q' for any square a, q' q = 1, t upper triangular but for blocks of 2 x 2 of complex "
        "pairs, (re t, im t, re q, im q) of re a, im a without these; f32 is computed in f64; NaN if a is not finite; "
        "no derivative",
    .nin = -1,
    .flags = TN_F_COSTLY,
    .dtypes = TN_WIDE_FLOATS,
    .params = params,
    .type = type_schur,
    .batch = tn_i_batch_parts,
    .kernel = kernel_schur,
    .complex_many = tn_i_complex_of_schur,
    .unrunnable = tn_i_no_lapack,
    .scratch = scratch_schur,
    .cost = cost_schur,
    .sample = sample,
};
