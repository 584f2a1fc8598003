/* collective and rank_index: what the primitives of programs over many ranks become before such a program runs
 * (control/local.c), when no type says any more what it varies over.
 *
 * A collective is a call of the table of functions behind it (tn_comm_ops).  For the passes that plan a program it is
 * an effect: it runs as often as it stands there, and effects keep their order, so that all ranks start the same
 * collectives one after the other whatever else differs between them. */
#include "prims/ranks/collective_run.h"

#include "prims/ids.h"
#include "prims/arrays/layout.h"

#include <stdio.h>
#include <string.h>

static const char *const kinds[] = {"allreduce",  "bcast", "allgather", "reduce_scatter", "gather",  "scatter",
                                    "all_to_all", "shift", "permute",   "scan",           "barrier", NULL};
static const char *const ops[] = {"sum", "prod", "max", "min", NULL};

/* clang-format off */
#define COLLECTIVE \
    [TN_I_COLLECTIVE_KIND] = {.name = "kind", .kind = TN_K_SYM, .symbols = kinds}, \
    [TN_I_COLLECTIVE_OP] = {.name = "op", .kind = TN_K_SYM, .otherwise = "sum", .symbols = ops}, \
    [TN_I_COLLECTIVE_AXES] = {.name = "axes", .kind = TN_K_AXES}, \
    [TN_I_COLLECTIVE_ROOT] = {.name = "root", .kind = TN_K_INT, .otherwise = "0"}, \
    [TN_I_COLLECTIVE_BY] = {.name = "by", .kind = TN_K_INT, .otherwise = "0"}, \
    [TN_I_COLLECTIVE_WRAP] = {.name = "wrap", .kind = TN_K_BOOL, .otherwise = "False"}, \
    [TN_I_COLLECTIVE_EXCLUSIVE] = {.name = "exclusive", .kind = TN_K_BOOL, .otherwise = "False"}, \
    [TN_I_COLLECTIVE_REVERSE] = {.name = "reverse", .kind = TN_K_BOOL, .otherwise = "False"}, \
    [TN_I_COLLECTIVE_ORDERED] = {.name = "ordered", .kind = TN_K_BOOL, .otherwise = "False"}, \
    [TN_I_COLLECTIVE_PAIRS] = {.name = "pairs", .kind = TN_K_INTS, .lists = 2, .otherwise = "none"}
/* clang-format on */

static const tn_i_spec specs[] = {COLLECTIVE, {0}};
static const tn_i_spec start_specs[] = {
    COLLECTIVE, [TN_I_COLLECTIVE_HELD] = {.name = "held", .kind = TN_K_BOOL, .otherwise = "False"}, {0}};

static const tn_i_spec index_specs[] = {{.name = "axes", .kind = TN_K_AXES}, {0}};

static const char only[] = "stands only in programs that are about to run: derive the program that was traced";

/* ---- types ------------------------------------------------------------------------ */

static bool in_grid(tn_i_query *q, uint32_t axes) {
    if (axes && axes >> q->ctx->grid.naxes == 0) return true;
    return tn_i_type_fail(q, -1, "axes are none of the context's grid");
}

/* Each source once, each target once. */
static bool distinct(tn_i_query *q, const tn_i_param *v, int64_t ranks) {
    for (uint32_t i = 0; i < v->n; i++) {
        if (v->u.ints[i] < 0 || v->u.ints[i] >= ranks)
            return tn_i_type_fail(q, -1, "pairs name rank %lld, of %lld", (long long)v->u.ints[i], (long long)ranks);
        for (uint32_t k = i % 2; k < i; k += 2)
            if (v->u.ints[k] == v->u.ints[i])
                return tn_i_type_fail(q, -1, "rank %lld is a %s twice", (long long)v->u.ints[i],
                                      i % 2 ? "target" : "source");
    }
    return true;
}

static bool parameters_fit(tn_i_query *q, int64_t ranks) {
    const int64_t root = q->p[TN_I_COLLECTIVE_ROOT].u.i, by = q->p[TN_I_COLLECTIVE_BY].u.i;
    if (q->p[TN_I_COLLECTIVE_ROOT].kind == TN_K_INT && (root < 0 || root >= ranks))
        return tn_i_type_fail(q, -1, "root=%lld is none of %lld ranks", (long long)root, (long long)ranks);
    if (q->p[TN_I_COLLECTIVE_BY].kind == TN_K_INT && (by > INT32_MAX || by < -INT32_MAX))
        return tn_i_type_fail(q, -1, "by=%lld is too far", (long long)by);
    if (q->p[TN_I_COLLECTIVE_PAIRS].kind != TN_K_INTS) return true;
    return distinct(q, &q->p[TN_I_COLLECTIVE_PAIRS], ranks);
}

static bool takes_pieces(int kind) {
    return kind == TN_COMM_REDUCE_SCATTER || kind == TN_COMM_SCATTER || kind == TN_COMM_ALLTOALL;
}

static bool type_collective(tn_i_query *q) {
    const int kind = (int)q->p[TN_I_COLLECTIVE_KIND].u.i;
    const uint32_t axes = (uint32_t)q->p[TN_I_COLLECTIVE_AXES].u.i, nin = kind != TN_COMM_BARRIER;
    if (!in_grid(q, axes)) return false;
    const int64_t ranks = tn_i_ranks(q->ctx, axes);
    if (!parameters_fit(q, ranks)) return false;
    if (q->nin != nin) return tn_i_type_fail(q, -1, "kind=%s takes %u operands", kinds[kind], (unsigned)nin);
    if (kind == TN_COMM_BARRIER) return tn_i_outputs(q, 0);
    if (q->in[0]->varying) return tn_i_type_fail(q, 0, "its type has a mark: collective %s", only);
    tn_type t = *q->in[0];
    if (takes_pieces(kind) && (t.rank == 0 || t.dim[0] != ranks))
        return tn_i_type_fail(q, 0, "must have %lld rows, one for each rank", (long long)ranks);
    if (kind == TN_COMM_REDUCE_SCATTER || kind == TN_COMM_SCATTER)
        return tn_i_output(q, t.dtype, t.rank - 1, t.dim + 1);
    if (kind != TN_COMM_ALLGATHER && kind != TN_COMM_GATHER) return tn_i_output_type(q, &t);
    if (t.rank == TN_MAX_RANK) return tn_i_type_fail(q, 0, "has no room for a dimension of ranks");
    memmove(t.dim + 1, t.dim, (size_t)t.rank * sizeof *t.dim);
    t.dim[0] = ranks;
    t.rank++;
    return tn_i_output_type(q, &t);
}

/* The result, the request, and the operand where it is held. */
static bool type_start(tn_i_query *q) {
    const bool held = q->p[TN_I_COLLECTIVE_HELD].kind == TN_K_BOOL && q->p[TN_I_COLLECTIVE_HELD].u.i;
    const uint32_t recorded = q->nout;
    if (!type_collective(q)) return false;
    if (q->nout != 1) return tn_i_type_fail(q, -1, "a barrier is not started and waited for");
    const tn_type result = q->out[0];
    q->nout = recorded;
    if (!tn_i_outputs(q, held ? 3 : 2)) return false;
    q->out[0] = result;
    q->out[1] = tn_type_of(TN_I64, 0, NULL);
    if (held) q->out[2] = *q->in[0];
    return true;
}

static bool type_wait(tn_i_query *q) {
    if (q->in[1]->dtype != TN_I64 || q->in[1]->rank) return tn_i_type_fail(q, 1, "the request is an i64[]");
    return in_grid(q, (uint32_t)q->p[0].u.i) && tn_i_output_type(q, q->in[0]);
}

static bool type_index(tn_i_query *q) { return in_grid(q, (uint32_t)q->p[0].u.i) && tn_i_output(q, TN_I64, 0, NULL); }

/* ---- no derivatives ------------------------------------------------------------------- */

static void jvp_collective(tn_i_rule *r, const tn_i_var *din, tn_i_var *dout) {
    (void)din, (void)dout;
    tn_i_rule_fail(r, TN_ERULE, -1, "%s", only);
}

static void transpose_collective(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    (void)ct, (void)ct_in;
    tn_i_rule_fail(r, TN_ERULE, -1, "%s", only);
}

static void batch_collective(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    (void)batched, (void)out, (void)out_batched;
    tn_i_rule_fail(r, TN_ERULE, -1, "%s", only);
}

/* ---- running -------------------------------------------------------------------------- */

void tn_i_collective_read(const tn_i_param *p, int64_t ranks, const tn_type *in, tn_collective *x) {
    *x = (tn_collective){.size = sizeof *x,
                         .kind = (int)p[TN_I_COLLECTIVE_KIND].u.i,
                         .axes = (uint32_t)p[TN_I_COLLECTIVE_AXES].u.i,
                         .dtype = in ? in->dtype : TN_BOOL,
                         .count = in ? tn_i_count(in) : 0};
    if (takes_pieces(x->kind)) x->count /= ranks;
    if (p[TN_I_COLLECTIVE_OP].kind == TN_K_SYM) x->op = (int)p[TN_I_COLLECTIVE_OP].u.i;
    if (p[TN_I_COLLECTIVE_ROOT].kind == TN_K_INT) x->root = (int)p[TN_I_COLLECTIVE_ROOT].u.i;
    if (p[TN_I_COLLECTIVE_BY].kind == TN_K_INT) x->by = (int)p[TN_I_COLLECTIVE_BY].u.i;
    x->wrap = p[TN_I_COLLECTIVE_WRAP].kind == TN_K_BOOL && p[TN_I_COLLECTIVE_WRAP].u.i;
    x->exclusive = p[TN_I_COLLECTIVE_EXCLUSIVE].kind == TN_K_BOOL && p[TN_I_COLLECTIVE_EXCLUSIVE].u.i;
    x->reverse = p[TN_I_COLLECTIVE_REVERSE].kind == TN_K_BOOL && p[TN_I_COLLECTIVE_REVERSE].u.i;
    x->ordered = p[TN_I_COLLECTIVE_ORDERED].kind == TN_K_BOOL && p[TN_I_COLLECTIVE_ORDERED].u.i;
    if (p[TN_I_COLLECTIVE_PAIRS].kind == TN_K_INTS) x->npairs = p[TN_I_COLLECTIVE_PAIRS].n / 2;
}

const char *tn_i_collective_name(int kind) { return kinds[kind]; }
const char *tn_i_collective_op(int op) { return ops[op]; }

static bool padded(size_t n, size_t *total) { return tn_i_add(*total, n, total) && tn_i_add(*total, -n & 63, total); }

static size_t pairs_bytes(const tn_i_param *p) {
    return p[TN_I_COLLECTIVE_PAIRS].kind == TN_K_INTS ? p[TN_I_COLLECTIVE_PAIRS].n * sizeof(int32_t) : 0;
}

/* The pairs, then room to make the operand row-major. */
static size_t scratch_collective(const tn_i_query *q) {
    size_t total = 0;
    if (!padded(pairs_bytes(q->p), &total)) return SIZE_MAX;
    return q->nin == 0 || padded(tn_type_bytes(q->in[0]), &total) ? total : SIZE_MAX;
}

static bool is_dense(const tn_i_arr *a) {
    int64_t want[TN_MAX_RANK];
    tn_i_dense_strides(a->type, want);
    for (int d = 0; d < a->type->rank; d++)
        if (a->type->dim[d] > 1 && a->stride[d] != want[d]) return false;
    return true;
}

static const void *operand(const tn_i_kernel *k) {
    if (k->nin == 0) return NULL;
    if (tn_i_count(k->in[0].type) == 0 || is_dense(&k->in[0])) return k->in[0].data;
    size_t at = 0;
    (void)padded(pairs_bytes(k->p), &at);
    tn_i_arr copy = {.type = k->in[0].type, .data = (char *)k->scratch + at};
    tn_i_dense_strides(copy.type, copy.stride);
    tn_i_copy_array(&k->in[0], &copy);
    return copy.data;
}

static int64_t ranks_along(const tn_comm_ops *comm, uint32_t axes) {
    int64_t n = 1;
    for (int a = 0; a < comm->naxes; a++)
        if (axes >> a & 1) n *= comm->extent[a];
    return n;
}

static tn_status no_table(const tn_i_kernel *k) {
    (void)snprintf(k->message, 256, "there is no table of functions behind it");
    return TN_EINVAL;
}

/* in: the operand, dense. */
static tn_status start(const tn_i_kernel *k, const void *in, bool overlap, void **request) {
    const tn_comm_ops *comm = k->comm;
    tn_collective x;
    const tn_i_param *pairs = &k->p[TN_I_COLLECTIVE_PAIRS];
    tn_i_collective_read(k->p, ranks_along(comm, (uint32_t)k->p[TN_I_COLLECTIVE_AXES].u.i),
                         k->nin ? k->in[0].type : NULL, &x);
    int32_t *pair = k->scratch;
    for (uint32_t i = 0; i < 2 * x.npairs; i++) pair[i] = (int32_t)pairs->u.ints[i];
    x.pairs = x.npairs ? pair : NULL;
    x.overlap = overlap;
    *request = NULL;
    const int status = comm->start(comm->user, &x, in, k->nout ? k->out[0].data : NULL, request);
    if (status != TN_OK) (void)snprintf(k->message, 256, "%s", comm->error(comm->user));
    return (tn_status)status;
}

static tn_status finish(const tn_i_kernel *k, void *request) {
    const int status = request ? k->comm->wait(k->comm->user, request) : TN_OK;
    if (status != TN_OK) (void)snprintf(k->message, 256, "%s", k->comm->error(k->comm->user));
    return (tn_status)status;
}

static tn_status run_collective(const tn_i_kernel *k) {
    void *request;
    if (!k->comm) return no_table(k);
    const tn_status status = start(k, operand(k), false, &request);
    return status == TN_OK ? finish(k, request) : status;
}

/* An operand that is not dense and not held would be put together where others write meanwhile. */
static tn_status run_start(const tn_i_kernel *k) {
    const void *in = k->in[0].data;
    void *request = NULL;
    if (!k->comm) return no_table(k);
    const bool dense = tn_i_count(k->in[0].type) == 0 || is_dense(&k->in[0]);
    if (k->nout == 3) {
        tn_i_copy_array(&k->in[0], &k->out[2]);
        in = k->out[2].data;
    } else if (!dense)
        in = operand(k);
    tn_status status = start(k, in, true, &request);
    if (status == TN_OK && !dense && k->nout < 3) {
        status = finish(k, request);
        request = NULL;
    }
    *(int64_t *)k->out[1].data = (int64_t)(intptr_t)request;
    return status;
}

static tn_status run_wait(const tn_i_kernel *k) {
    if (!k->comm) return no_table(k);
    const tn_status status = finish(k, (void *)(intptr_t) * (const int64_t *)k->in[1].data);
    if (status == TN_OK && k->out[0].data != k->in[0].data) tn_i_copy_array(&k->in[0], &k->out[0]);
    return status;
}

static tn_status run_index(const tn_i_kernel *k) {
    const uint32_t axes = (uint32_t)k->p[0].u.i;
    int64_t at = 0;
    if (!k->comm) return no_table(k);
    for (int a = 0; a < k->comm->naxes; a++)
        if (axes >> a & 1) at = at * k->comm->extent[a] + k->comm->index[a];
    *(int64_t *)k->out[0].data = at;
    return TN_OK;
}

static bool always(const tn_i_param *p) {
    (void)p;
    return true;
}

static void cost_collective(const tn_i_query *q, tn_i_cost *cost) {
    *cost = (tn_i_cost){.equations = 1};
    for (uint32_t i = 0; i < q->nin; i++) cost->bytes += (double)tn_type_bytes(q->in[i]);
    for (uint32_t j = 0; j < q->nout; j++) cost->bytes += (double)tn_type_bytes(&q->out[j]);
}

/* No test draws them: they need a grid and a table, and have no rules. */
const tn_prim tn_prim_collective = {
    .id = TN_P_collective,
    .name = "collective",
    .doc = "what all ranks along axes call together, in programs that are about to run",
    .nin = -1,
    .flags = TN_F_COMM | TN_F_NOFOLD,
    .params = specs,
    .type = type_collective,
    .jvp = jvp_collective,
    .transpose = transpose_collective,
    .batch = batch_collective,
    .kernel = run_collective,
    .scratch = scratch_collective,
    .effect = always,
    .cost = cost_collective,
};

const tn_prim tn_prim_collective_start = {
    .id = TN_P_collective_start,
    .name = "collective_start",
    .doc = "starts a collective: its result, for collective_wait alone, and a request; held: the operand as well",
    .nin = 1,
    .flags = TN_F_COMM | TN_F_NOFOLD,
    .params = start_specs,
    .type = type_start,
    .jvp = jvp_collective,
    .transpose = transpose_collective,
    .batch = batch_collective,
    .kernel = run_start,
    .scratch = scratch_collective,
    .effect = always,
    .cost = cost_collective,
};

const tn_prim tn_prim_collective_wait = {
    .id = TN_P_collective_wait,
    .name = "collective_wait",
    .doc = "waits for a collective that was started: its result; the last operand is that one's, and stays until then",
    .nin = 3,
    .flags = TN_F_COMM | TN_F_NOFOLD | TN_F_INPLACE,
    .params = index_specs,
    .type = type_wait,
    .jvp = jvp_collective,
    .transpose = transpose_collective,
    .batch = batch_collective,
    .kernel = run_wait,
    .effect = always, /* what has started is waited for, whoever reads it */
    .cost = cost_collective,
};

/* ---- emitting --------------------------------------------------------------------------- */

tn_i_var tn_i_collective_start(tn_i_builder *b, const tn_i_param *p, tn_i_var x) {
    tn_i_param q[TN_I_COLLECTIVE_PARAMS + 1];
    const tn_i_eqn *e = tn_i_def(b, x);
    memcpy(q, p, TN_I_COLLECTIVE_PARAMS * sizeof *q);
    q[TN_I_COLLECTIVE_HELD] = (tn_i_param){.kind = TN_K_NONE};
    if (e && e->prim->flags & TN_F_VIEW) q[TN_I_COLLECTIVE_HELD] = (tn_i_param){.kind = TN_K_BOOL, .u.i = 1};
    return tn_i_emit(b, tn_i_prim(b, TN_P_collective_start), q, 1, &x);
}

tn_i_var tn_i_collective_wait(tn_i_builder *b, const tn_i_param *p, tn_i_var result, tn_i_var request, tn_i_var held) {
    const tn_i_var in[3] = {result, request, held};
    return tn_i_emit(b, tn_i_prim(b, TN_P_collective_wait), &p[TN_I_COLLECTIVE_AXES], 3, in);
}

bool tn_i_is_collective(const tn_i_eqn *e) {
    return e->prim->id == TN_P_collective || e->prim->id == TN_P_collective_start;
}

bool tn_i_waits(const tn_i_eqn *e) { return e->prim->id == TN_P_collective_wait; }

const tn_prim tn_prim_rank_index = {
    .id = TN_P_rank_index,
    .name = "rank_index",
    .doc = "the number of this rank along axes, in programs that are about to run; the last axis is the fastest",
    .nin = 0,
    .flags = TN_F_NOFOLD | TN_F_NODIFF,
    .params = index_specs,
    .type = type_index,
    .batch = batch_collective,
    .kernel = run_index,
    .cost = cost_collective,
};
