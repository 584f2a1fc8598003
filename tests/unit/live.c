/* The picture of memory against the planner, and a slow reference: what is alive at each equation, and where
 * the backward part begins. */
#include "plan/live.h"
#include "plan/pool.h"
#include "prims/ids.h"
#include "prims/arrays/shape.h"
#include "tracing.h"
#include "unit/meter.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- hand programs -------------------------------------------------------------------- */

static tn_fn *parse(tn_ctx *c, const char *text) {
    tn_fn *f = tn_fn_parse(c, text, strlen(text), "test.tn");
    if (!f) fail_msg("%s", tn_error(c));
    return f;
}

/* Values, scratch and padding at each equation and at the end, as text: "values+scratch+padding(kept) ...". */
static void assert_live(const char *program, size_t bytes, const char *want) {
    tn_ctx *c = checked();
    tn_i_plan *p = tn_i_plan_plain(parse(c, program));
    tn_i_live l;
    char got[1000] = "";
    assert_non_null(p);
    assert_true(tn_i_live_of(p, &l));
    for (size_t i = 0; i < l.n; i++)
        (void)snprintf(got + strlen(got), sizeof got - strlen(got), "%s%zu+%zu+%zu(%zu)", i ? " " : "",
                       l.step[i].values, l.step[i].scratch, l.step[i].padding, l.step[i].kept);
    assert_string_equal(got, want);
    assert_int_equal(p->bytes, bytes);
    assert_int_equal(l.top, bytes);
    assert_true(l.most <= bytes);
    tn_i_live_free(&l);
    tn_i_plan_free(c, p);
    tn_ctx_free(c);
}

static void test_values_and_in_place(void **state) {
    (void)state;
    /* cos cannot write over a, which add reads; add and the last neg write over what dies; 800 bytes take 832 */
    assert_live("{ lambda x:f64[100] . let a:f64[100] = sin x b:f64[100] = cos a c:f64[100] = add b a"
                " d:f64[100] = neg c e:f64[100] = add d d s:f64[] = reduce_sum[axes=(0,)] e in (s,) }",
                1664, "800+0+32(0) 1600+0+64(832) 1600+0+64(1664) 800+0+32(832) 800+0+32(832) 800+0+32(832) 0+0+0(0)");
    /* a result that is read as well stays until it is copied out; what nothing reads is not there */
    assert_live("{ lambda x:f64[8] . let a:f64[8] = sin x dead:f64[8] = tan x b:f64[8] = cos a in (a, b) }", 64,
                "64+0+0(0) 64+0+0(64) 64+0+0(64) 64+0+0(64)");
    /* nor does it keep what it would read */
    assert_live("{ lambda x:f64[8] . let a:f64[8] = sin x s:f64[] = reduce_sum[axes=(0,)] a c:f64[] = neg s"
                " dead:f64[8] = tan a in (c,) }",
                128, "64+0+0(0) 72+0+0(64) 8+0+0(8) 0+0+0(0) 0+0+0(0)");
    assert_live("{ lambda x:f64[8] . let in (x,) }", 0, "0+0+0(0)");
}

static void test_views(void **state) {
    (void)state;
    /* one element of a keeps all of it */
    assert_live("{ lambda x:f64[16] . let a:f64[16] = sin x"
                " v:f64[1] = slice[start_indices=(15,) limit_indices=(16,) strides=None] a"
                " r:f64[1] = rev[dimensions=(0,)] v b:f64[32] = iota[dtype=f64 shape=(32,) dimension=0]"
                " c:f64[1] = neg r s:f64[] = reduce_sum[axes=(0,)] b in (c, s) }",
                384, "128+0+0(0) 128+0+0(128) 128+0+0(128) 384+0+0(128) 384+0+0(384) 256+0+0(256) 0+0+0(0)");
    /* a view of an input or of a constant is nothing */
    assert_live("{ lambda x:f64[2,3] . let a:f64[3,2] = transpose[permutation=(1, 0)] x"
                " k:f64[2] = constant[value=[1.0, 2.0]] b:f64[3,2] = neg a in (b, k) }",
                0, "0+0+0(0) 0+0+0(0) 0+0+0(0) 0+0+0(0)");
}

static void test_zero_size(void **state) {
    (void)state;
    /* no memory, though an empty view keeps what it looks at */
    assert_live("{ lambda x:f64[8] . let a:f64[8] = sin x"
                " e:f64[0] = slice[start_indices=(8,) limit_indices=(8,) strides=None] a b:f64[8] = cos a"
                " g:f64[0] = sin e h:f64[8] = neg b in (g, h) }",
                128, "64+0+0(0) 64+0+0(64) 128+0+0(64) 128+0+0(128) 64+0+0(64) 0+0+0(0)");
    /* but a view of an empty view does not */
    assert_live("{ lambda x:f64[8] . let a:f64[8] = sin x"
                " e:f64[0] = slice[start_indices=(0,) limit_indices=(0,) strides=None] a"
                " g:f64[0] = rev[dimensions=(0,)] e b:f64[8] = sin x c:f64[8] = cos b h:f64[0] = sin g in (h, c) }",
                64, "64+0+0(0) 64+0+0(64) 64+0+0(64) 64+0+0(0) 64+0+0(64) 0+0+0(0) 0+0+0(0)");
    assert_live("{ lambda x:f64[0,3] . let a:f64[0,3] = sin x s:f64[3] = reduce_sum[axes=(0,)] a t:f64[3] = neg s in "
                "(a, t) }",
                64, "0+0+0(0) 24+0+40(0) 24+0+40(64) 0+0+0(0)");
}

/* Nine of them take two units of 64 bytes, and count 8 each: an f32 and its padding. */
static void test_scalars(void **state) {
    (void)state;
    char text[1000] = "{ lambda x:f32[] . let ", want[1000] = "";
    for (int i = 0; i < 9; i++)
        (void)snprintf(text + strlen(text), sizeof text - strlen(text),
                       i ? "a%d:f32[] = sin a%d " : "a%d:f32[] = sin x ", i, i - 1);
    for (int i = 1; i < 9; i++)
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "b%d:f32[] = mul %s%d a%d ", i,
                       i > 1 ? "b" : "a", i - 1, i);
    (void)snprintf(text + strlen(text), sizeof text - strlen(text), "in (b8,) }");
    for (int i = 1; i <= 9; i++)
        (void)snprintf(want + strlen(want), sizeof want - strlen(want), "%d+0+%d(%d) ", 4 * i, 4 * i, 8 * (i - 1));
    for (int i = 9; i > 1; i--)
        (void)snprintf(want + strlen(want), sizeof want - strlen(want), "%d+0+%d(%d) ", 4 * i, 4 * i, 8 * i);
    (void)snprintf(want + strlen(want), sizeof want - strlen(want), "0+0+0(0)");
    assert_live(text, 128, want);
}

static void test_scratch_and_nested(void **state) {
    (void)state;
    /* sort's entries: 32 bytes for each of 5 elements */
    assert_live("{ lambda x:f64[5] . let a:f64[5] = sort[dimension=0 is_stable=True num_keys=1] x b:f64[5] = neg a in "
                "(b,) }",
                256, "40+160+56(0) 40+0+24(64) 0+0+0(0)");
    /* a nested program brings the bases of its call (2 + 1 + 1 pointers) and its arena of 128 bytes */
    assert_live("{ lambda x:f64[8] . let a:f64[8] = sin x b:f64[8] = call[name=\"f\" program={ lambda x:f64[8] . let "
                "y:f64[8] = sin x z:f64[8] = cos y u:f64[8] = mul z y in (u,) }] a c:f64[8] = add a b in (c,) }",
                320, "64+0+0(0) 128+192+0(64) 128+0+0(128) 0+0+0(0)");
}

/* Calls of one program with an operand in more layouts than are planned: the further ones are copied first. */
static tn_fn *shuffled(tn_ctx *c, uint32_t calls) {
    tn_i_builder b;
    const tn_type t = tn_f64(2, 2, 2, 2);
    const tn_i_param q[2] = {{.kind = TN_K_STR, .u.str = tn_i_string(c, "f", 1)},
                             {.kind = TN_K_FN,
                              .u.fn = parse(c, "{ lambda x:f64[2,2,2,2] . let y:f64[2,2,2] = reduce_sum[axes=(3,)] x "
                                               "in (y,) }")}};
    tn_i_var out[12];
    tn_i_builder_init(&b, c);
    tn_i_var x = tn_i_input(&b, &t, false);
    for (uint32_t k = 0; k < calls; k++) {
        int64_t axes[4] = {0, 1, 2, 3};
        for (uint32_t i = 4, m = k; i > 1; m /= i, i--) { /* the k-th permutation */
            const int64_t axis = axes[i - 1];
            axes[i - 1] = axes[m % i];
            axes[m % i] = axis;
        }
        tn_i_var y = tn_i_permute(&b, x, axes);
        out[k] = tn_i_emit(&b, tn_i_prim(&b, TN_P_call), q, 1, &y);
    }
    return tn_i_finish(&b, calls, out);
}

static void test_copied_operands(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = shuffled(c, 12);
    tn_i_plan *p = tn_i_plan_plain(f);
    tn_i_live l;
    assert_non_null(p);
    assert_true(tn_i_live_of(p, &l));
    assert_int_equal(l.top, p->bytes);
    int copied = 0;
    for (uint32_t i = 0; i < f->neqn; i++) copied += l.step[i].scratch == 128 + p->nested[0]->frame;
    assert_int_equal(copied, 12 - TN_MAX_LAYOUTS);
    tn_i_live_free(&l);
    tn_i_plan_free(c, p);

    /* outputs that share memory with inputs: a view of what will be overwritten is rescued at the end */
    const int alias[] = {0, -1};
    const tn_i_layout layout = {.alias = alias};
    f = parse(c, "{ lambda x:f64[500] . let a:f64[500] = neg x r:f64[250] = slice[start_indices=(0,) "
                 "limit_indices=(500,) strides=(2,)] x in (a, r) }");
    p = tn_i_plan_new(f, &layout);
    assert_non_null(p);
    assert_true(tn_i_live_of(p, &l));
    assert_int_equal(l.top, p->bytes);
    assert_int_equal(l.step[2].scratch, 2000);
    assert_int_equal(l.step[2].padding, 80);
    tn_i_live_free(&l);
    tn_i_plan_free(c, p);
    tn_ctx_free(c);
}

/* ---- a slow reference ---------------------------------------------------------------------- */

/* Marks the arena's bytes that hold elements of v. */
static void mark(const tn_i_plan *p, tn_i_var v, uint8_t *byte) {
    const tn_i_place *k = &p->place[v];
    const tn_type *t = p->f->val[v].type;
    const size_t size = tn_i_dtype_size(t->dtype);
    int64_t stride[TN_MAX_RANK], index[TN_MAX_RANK] = {0};
    int64_t first;
    if (!tn_i_place_arena(p, k, &first)) return;
    for (int i = t->rank, one = 1; i-- > 0; one *= (int)t->dim[i])
        stride[i] = k->stride == TN_DENSE ? one : p->number[k->stride + (uint32_t)i];
    for (int64_t n = tn_i_count(t); n > 0; n--) {
        int64_t at = first;
        for (int i = 0; i < t->rank; i++) at += index[i] * stride[i] * (int64_t)size;
        assert_true(at >= 0 && (size_t)at + size <= p->bytes);
        memset(byte + at, 1, size);
        for (int i = t->rank; i-- > 0 && ++index[i] == t->dim[i];) index[i] = 0;
    }
}

/* The last equation that reads v; -1: none. */
static int64_t last_reader(const tn_fn *f, tn_i_var v) {
    for (uint32_t j = 0; j < f->nout; j++)
        if (f->out[j] == v) return f->neqn;
    for (uint32_t i = f->neqn; i-- > 0;)
        for (uint32_t k = 0; k < f->eqn[i].nin; k++)
            if (tn_i_in(f, &f->eqn[i])[k] == v) return i;
    return -1;
}

static bool looks(const tn_fn *f) {
    for (uint32_t i = 0; i < f->neqn; i++)
        if (f->eqn[i].prim->flags & TN_F_VIEW) return true;
    return false;
}

/* Ranges are all of the bytes of a step, and no two have a byte in common at one time.  A step's scratch is in use
 * beside what it makes and reads. */
static void assert_ranges(const tn_i_plan *p, const tn_i_live *l) {
    for (size_t i = 0; i < l->n; i++) {
        size_t room = 0;
        for (size_t k = 0; k < l->nrange; k++) {
            const tn_i_live_range *r = &l->range[k];
            if (i < r->first || i > r->last) continue;
            room += r->room;
            assert_true(r->offset >= 0 && r->bytes <= r->room && (size_t)r->offset + r->room <= p->bytes);
            for (size_t m = 0; m < k; m++) {
                const tn_i_live_range *q = &l->range[m];
                if (i < q->first || i > q->last) continue;
                assert_true(q->offset + (int64_t)q->room <= r->offset || r->offset + (int64_t)r->room <= q->offset);
            }
        }
        assert_int_equal(room, tn_i_live_bytes(&l->step[i]));
    }
    for (tn_i_var v = 0; v < l->nval; v++) {
        if (l->range_of[v] == UINT32_MAX) continue;
        const tn_i_live_range *r = &l->range[l->range_of[v]];
        const uint32_t def = p->f->val[v].def;
        assert_int_equal(r->kind, TN_I_LIVE_VALUES);
        assert_true(def < TN_DEF_LITERAL && def >= r->first && def <= r->last);
        assert_true(last_reader(p->f, v) <= (int64_t)r->last);
    }
}

/* Of a program without dead equations.  What is alive lies in bytes counted as such, and without views those are all.
 */
static void assert_plan_profile(const tn_i_plan *p) {
    const tn_fn *f = p->f;
    tn_i_live l;
    assert_true(tn_i_live_of(p, &l));
    assert_int_equal(l.n, f->neqn + 1);
    assert_int_equal(l.top, p->bytes);
    assert_true(l.most <= p->bytes);
    uint8_t *byte = malloc(p->bytes + 1);
    const bool all = !looks(f) && !p->within; /* that is counted whole when its first part is made */
    size_t most = 0;
    for (uint32_t i = 0; i <= f->neqn; i++) {
        size_t alive = 0;
        memset(byte, 0, p->bytes);
        for (uint32_t v = f->nin; v < f->nval; v++) {
            const uint32_t def = f->val[v].def;
            if (def < TN_DEF_LITERAL && def <= i && (def == i || last_reader(f, v) >= (int64_t)i)) mark(p, v, byte);
        }
        for (size_t k = 0; k < p->bytes; k++) alive += byte[k];
        if (all)
            assert_int_equal(l.step[i].values, alive);
        else
            assert_true(l.step[i].values >= alive);
        assert_true(l.step[i].kept <= l.step[i].values + l.step[i].padding);
        if (tn_i_live_bytes(&l.step[i]) > most) most = tn_i_live_bytes(&l.step[i]);
    }
    assert_int_equal(most, l.most);
    assert_int_equal(tn_i_live_bytes(&l.step[l.at]), l.most);
    free(byte);
    assert_ranges(p, &l);
    tn_i_live_free(&l);
}

/* Equation by equation, and fused as tn_compile plans it. */
static void assert_profile(const tn_fn *f) {
    tn_i_plan *plain = tn_i_plan_plain(f), *fused = tn_i_plan_new(f, NULL);
    if (!plain || !fused) fail_msg("%s", tn_error(f->ctx));
    assert_plan_profile(plain);
    assert_plan_profile(fused);
    tn_i_plan_free(f->ctx, plain);
    tn_i_plan_free(f->ctx, fused);
}

/* ---- generated programs ----------------------------------------------------------------------- */

static const char *const shape[] = {"f64[4,4]", "f64[2,4]", "f64[]", "f64[0,4]", "f32[4,4]", "f64[16]"};
enum { A, B, S, E, F, V, SHAPES };

/* What takes which shapes to which; $ is an operand. */
static const struct {
    int in, out;
    bool looks;
    const char *text;
} op[] = {
    {A, A, false, "sin $"},
    {A, A, false, "exp $"},
    {A, A, false, "add $ $"},
    {A, A, false, "mul $ $"},
    {A, A, false, "dot_general[dimension_numbers=(((1,), (0,)), ((), ()))] $ $"},
    {A, A, false, "cumsum[axis=0 reverse=False] $"},
    {A, A, false, "sort[dimension=1 is_stable=True num_keys=1] $"},
    {A, A, false,
     "call[name=\"g\" program={ lambda x:f64[4,4] . let y:f64[4,4] = sin x z:f64[4,4] = cos y u:f64[4,4] = "
     "mul z y in (u,) }] $"},
    {A, F, false, "convert_element_type[new_dtype=f32] $"},
    {F, A, false, "convert_element_type[new_dtype=f64] $"},
    {F, F, false, "mul $ $"},
    {A, S, false, "reduce_sum[axes=(0, 1)] $"},
    {S, S, false, "sin $"},
    {S, S, false, "mul $ $"},
    {B, B, false, "tanh $"},
    {B, B, false, "sort[dimension=1 is_stable=True num_keys=1] $"},
    {B, B, false, "cumsum[axis=1 reverse=False] $"},
    {B, A, false, "concatenate[dimension=0] $ $"},
    {B, A, false, "concatenate[dimension=0] $ $"},
    {E, E, false, "sin $"},
    {E, S, false, "reduce_sum[axes=(0, 1)] $"},
    {V, V, false, "neg $"},
    {A, A, true, "transpose[permutation=(1, 0)] $"},
    {A, A, true, "rev[dimensions=(0,)] $"},
    {A, B, true, "slice[start_indices=(1, 0) limit_indices=(4, 4) strides=(2, 1)] $"},
    {A, E, true, "slice[start_indices=(4, 0) limit_indices=(4, 4) strides=None] $"},
    {A, V, true, "reshape[new_sizes=(16,)] $"},
    {V, A, true, "reshape[new_sizes=(4, 4)] $"},
    {S, A, true, "broadcast_in_dim[shape=(4, 4) broadcast_dimensions=()] $"},
};

static tn_fn *generate(tn_ctx *c, tn_i_rng *r, bool views) {
    enum { MOST = 30 };
    char text[12000] = "{ lambda v0:f64[4,4] v1:f64[2,4] v2:f64[] v3:f64[0,4] v4:f32[4,4] v5:f64[16] . let ";
    int of[SHAPES + MOST] = {A, B, S, E, F, V}, n = SHAPES;
    size_t at = strlen(text);
    while (n < SHAPES + MOST) {
        const size_t k = (size_t)tn_i_pick(r, 0, COUNT(op) - 1);
        if (op[k].looks && !views) continue;
        at += (size_t)snprintf(text + at, sizeof text - at, "v%d:%s = ", n, shape[op[k].out]);
        for (const char *s = op[k].text; *s; s++) {
            int x = (int)tn_i_pick(r, 0, n - 1);
            while (of[x] != op[k].in) x = (x + 1) % n;
            at += (size_t)(*s == '$' ? snprintf(text + at, sizeof text - at, "v%d", x)
                                     : snprintf(text + at, sizeof text - at, "%c", *s));
        }
        at += (size_t)snprintf(text + at, sizeof text - at, " ");
        of[n++] = op[k].out;
    }
    at += (size_t)snprintf(text + at, sizeof text - at, "in (v%d", n - 1);
    for (int64_t k = tn_i_pick(r, 0, 4); k > 0; k--)
        at += (size_t)snprintf(text + at, sizeof text - at, ", v%d", (int)tn_i_pick(r, 0, n - 1));
    (void)snprintf(text + at, sizeof text - at, ") }");
    return parse(c, text);
}

static void test_generated(void **state) {
    (void)state;
    static const char *const policy[] = {"everything_saveable", "nothing_saveable", "dots_saveable", "min_cut"};
    for (uint64_t seed = 1; seed <= 400; seed++) {
        tn_ctx *c = checked();
        tn_i_rng r = {.state = seed};
        tn_fn *f = generate(c, &r, seed % 2 == 0);
        const tn_policy how = {.size = sizeof how, .name = policy[seed / 2 % COUNT(policy)]};
        tn_fn *copy = tn_jvp(f, &(const tn_wrt_list){0, NULL}), *g = tn_vjp(f, NULL, &how);
        if (!g) fail_msg("%s", tn_error(c));
        assert_non_null(copy); /* f without its dead equations */
        assert_profile(copy);
        assert_profile(g);
        tn_i_plan *p = tn_i_plan_plain(f); /* dead equations and all */
        tn_i_live l;
        assert_true(p && tn_i_live_of(p, &l));
        assert_int_equal(l.top, p->bytes);
        tn_i_live_free(&l);
        tn_i_plan_free(c, p);
        tn_ctx_free(c);
    }
}

/* A concatenation of which one part is made where it is and another copied there. */
static void test_joined(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = parse(c, "{ lambda x:f64[40] . let a:f64[40] = cumsum[axis=0 reverse=False] x\n"
                        "b:f64[80] = concatenate[dimension=0] a x c:f64[80] = cumsum[axis=0 reverse=False] b\n"
                        "in (c,) }");
    tn_i_plan *p = tn_i_plan_new(f, NULL);
    tn_i_live l;
    assert_true(p && tn_i_live_of(p, &l));
    assert_int_equal(l.step[1].values, 640);
    assert_int_equal(l.step[1].scratch, 0);
    tn_i_live_free(&l);
    tn_i_plan_free(c, p);
    assert_profile(f);
    tn_ctx_free(c);
}

/* A hundred thousand equations of which half stay alive: linear in time, and the peak is where they are. */
static void test_long(void **state) {
    (void)state;
    enum { HALF = 50000 };
    tn_ctx *c = tn_ctx_new(NULL);
    tn_i_builder b;
    const tn_type t = tn_f64(16);
    tn_i_var *v = malloc(HALF * sizeof *v);
    tn_i_builder_init(&b, c);
    tn_i_var x = tn_i_input(&b, &t, false);
    for (int i = 0; i < HALF; i++) v[i] = x = tn_i_emit(&b, tn_i_prim(&b, TN_P_sin), NULL, 1, &x);
    for (int i = HALF; i-- > 0;) x = tn_i_emit(&b, tn_i_prim(&b, TN_P_mul), NULL, 2, (tn_i_var[]){x, v[i]});
    free(v);
    tn_fn *f = tn_i_finish(&b, 1, &x);
    tn_i_plan *p = tn_i_plan_plain(f);
    tn_i_live l;
    assert_true(p && tn_i_live_of(p, &l));
    assert_int_equal(l.top, p->bytes);
    assert_int_equal(l.most, HALF * 128); /* every product is written over its first factor */
    assert_int_equal(l.at, HALF - 1);
    assert_int_equal(l.step[HALF / 2].kept, HALF / 2 * 128);
    tn_i_live_free(&l);
    tn_i_plan_free(c, p);
    tn_ctx_free(c);
}

/* ---- out of memory --------------------------------------------------------------------------------- */

static void test_failing_allocations(void **state) {
    (void)state;
    meter m = {0};
    const tn_ctx_options opt = {.size = sizeof opt, .realloc = metered_realloc, .user = &m};
    tn_ctx *c = tn_ctx_new(&opt);
    tn_i_rng r = {.state = 7};
    tn_fn *f = generate(c, &r, true);
    tn_i_plan *p = tn_i_plan_plain(f);
    const size_t bytes = tn_ctx_bytes(c);
    size_t failures = 0;
    assert_non_null(p);
    for (bool done = false; !done; failures += !done) {
        tn_i_live l;
        uint32_t at;
        m = (meter){.fail_at = failures + 1};
        const bool ok = tn_i_live_of(p, &l) && tn_i_backward_begins(f, 1, 0, &at);
        done = m.calls < m.fail_at;
        assert_true(ok == done);
        if (!ok) assert_int_equal(tn_last_status(c), TN_ENOMEM);
        if (l.step) assert_int_equal(l.top, p->bytes);
        tn_i_live_free(&l);
        assert_int_equal(tn_ctx_bytes(c), bytes);
    }
    assert_true(failures >= 5);
    m.fail_at = 0;
    tn_i_plan_free(c, p);
    tn_ctx_free(c);
}

/* ---- forward and backward --------------------------------------------------------------------------- */

static const char network[] =
    "{ lambda x:f64[16] w:f64[16,16] u:f64[16,16] . let a:f64[16] = "
    "dot_general[dimension_numbers=(((0,), (0,)), ((), ()))] x w b:f64[16] = sin a c:f64[16] = "
    "dot_general[dimension_numbers=(((0,), (0,)), ((), ()))] b u d:f64[16] = tanh c e:f64[16] = exp d y:f64[] = "
    "reduce_sum[axes=(0,)] e in (y, d) }";

/* Bytes kept for the backward part, and how many equations it has. */
static size_t kept(tn_ctx *c, const tn_fn *f, const char *policy, uint32_t cotangents, uint32_t *backward) {
    const tn_policy how = {.size = sizeof how, .name = policy};
    tn_fn *g = tn_vjp(f, NULL, &how);
    tn_i_plan *p = g ? tn_i_plan_plain(g) : NULL;
    tn_i_live l;
    uint32_t at;
    if (!p) fail_msg("%s", tn_error(c));
    assert_true(tn_i_live_of(p, &l));
    assert_true(tn_i_backward_begins(g, f->nout, cotangents, &at));
    const size_t bytes = l.step[at].kept;
    uint32_t recomputed = 0;
    for (uint32_t i = 0; i < g->neqn; i++) recomputed += g->eqn[i].region != 0;
    for (uint32_t i = 0; i < at; i++) assert_int_equal(g->eqn[i].region, 0);
    assert_true((recomputed != 0) == (strcmp(policy, "everything_saveable") != 0));
    for (uint32_t j = 0; j < f->nout; j++) assert_true(g->val[g->out[j]].def < at);
    for (uint32_t j = f->nout; j < g->nout; j++) assert_true(g->val[g->out[j]].def >= at);
    *backward = g->neqn - at;
    tn_i_live_free(&l);
    tn_i_plan_free(c, p);
    tn_fn_free(g);
    return bytes;
}

static void test_backward_begins(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = parse(c, network);
    uint32_t all, none, dots, at;
    const size_t everything = kept(c, f, "everything_saveable", 2, &all);
    /* d is an output, which is copied at the end, and so in the arena until then */
    assert_int_equal(kept(c, f, "nothing_saveable", 2, &none), 128);
    assert_int_equal(kept(c, f, "dots_saveable", 2, &dots), 128 + 2 * 128);
    assert_true(everything > 128 + 2 * 128);
    assert_true(all < dots && dots < none);
    /* a program that is all forward, and one that is all backward */
    assert_true(tn_i_backward_begins(f, f->nout, 0, &at));
    assert_int_equal(at, f->neqn);
    f = parse(c, "{ lambda x:f64[3] ct:f64[3] . let a:f64[3] = neg ct in (x, a) }");
    assert_true(tn_i_backward_begins(f, 1, 1, &at));
    assert_int_equal(at, 0);
    /* an output of f that is known late */
    f = parse(c, "{ lambda x:f64[3] ct:f64[3] . let a:f64[3] = neg ct y:f64[3] = sin x b:f64[3] = neg y c:f64[3] = mul "
                 "a b in (y, c) }");
    assert_true(tn_i_backward_begins(f, 1, 1, &at));
    assert_int_equal(at, 3);
    tn_ctx_free(c);
}

/* ---- tn_memory_profile ------------------------------------------------------------------ */

typedef struct told {
    size_t n, most, kept_at, at;
    bool placed;
} told;

static void add_step(void *user, const tn_memory_step *s) {
    told *t = user;
    assert_int_equal(s->size, sizeof *s);
    assert_true(s->kept <= s->bytes);
    if (s->bytes > t->most) t->most = s->bytes;
    if (t->n == t->at) t->kept_at = s->kept;
    t->placed |= strcmp(s->file, "test.tn") == 0 && s->line > 0 && *s->primitive;
    t->n++;
}

static void test_profile(void **state) {
    static const char *const policies[] = {"everything_saveable", "nothing_saveable", "min_cut", "dots_saveable"};
    (void)state;
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        tn_ctx *c = checked();
        tn_fn *f = parse(c, network);
        const tn_policy p = {.size = sizeof p, .name = policies[i]};
        tn_memory_report r = {.size = sizeof r};
        assert_int_equal(tn_memory_profile(f, NULL, &p, &r, NULL, NULL), TN_OK);
        told t = {.at = r.backward};
        assert_int_equal(tn_memory_profile(f, NULL, &p, &r, add_step, &t), TN_OK);
        assert_int_equal(t.n, r.steps);
        assert_int_equal(t.most, r.most_bytes);
        assert_int_equal(t.kept_at, r.kept_bytes);
        assert_true(t.placed && r.backward < r.steps && r.most_bytes <= r.peak_bytes);
        tn_exec *e = tn_compile(tn_vjp(f, NULL, &p), NULL);
        assert_int_equal(tn_exec_bytes(e), r.peak_bytes);
        tn_exec_free(e);
        tn_ctx_free(c);
    }
}

static void test_profile_refused(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = parse(c, network), *whole = parse(c, "{ lambda n:i32[] . let m:i32[] = add n n in (m,) }");
    tn_memory_report r = {.size = sizeof r}, none = {0};
    const tn_policy p = {.size = sizeof p, .name = "no_such"};
    assert_int_equal(tn_memory_profile(NULL, NULL, NULL, &r, NULL, NULL), TN_EINVAL);
    assert_int_equal(tn_memory_profile(f, NULL, NULL, NULL, NULL, NULL), TN_EINVAL);
    assert_int_equal(tn_memory_profile(f, NULL, NULL, &none, NULL, NULL), TN_EINVAL);
    assert_non_null(strstr(tn_error(c), "tn_memory_profile: the report"));
    tn_error_clear(c);
    assert_int_equal(tn_memory_profile(f, NULL, &p, &r, NULL, NULL), TN_EINVAL);
    assert_non_null(strstr(tn_error(c), "no_such"));
    tn_error_clear(c);
    assert_int_equal(tn_memory_profile(whole, (&(tn_wrt_list){1, (const int[]){0}}), NULL, &r, NULL, NULL), TN_EINVAL);
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_joined),
        cmocka_unit_test(test_values_and_in_place),
        cmocka_unit_test(test_views),
        cmocka_unit_test(test_zero_size),
        cmocka_unit_test(test_scalars),
        cmocka_unit_test(test_scratch_and_nested),
        cmocka_unit_test(test_copied_operands),
        cmocka_unit_test(test_generated),
        cmocka_unit_test(test_long),
        cmocka_unit_test(test_failing_allocations),
        cmocka_unit_test(test_backward_begins),
        cmocka_unit_test(test_profile),
        cmocka_unit_test(test_profile_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
