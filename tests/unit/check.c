/* The checker: linearity from text, and programs that no builder would make. */
#include "ir/ir.h"
#include "prims/ids.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static tn_fn *parse(tn_ctx *c, const char *text) { return tn_fn_parse(c, text, strlen(text), "f.tn"); }

static void accepted(const char *text) {
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = parse(c, text);
    if (!f) fail_msg("%s\n%s", tn_error(c), text);
    assert_int_equal(tn_check(f), TN_OK);
    /* what checks is transposed */
    if (tn_fn_linear_inputs(f)) {
        tn_fn *t = tn_transpose(f);
        if (!t) fail_msg("%s\n%s", tn_error(c), text);
        assert_int_equal(tn_check(t), TN_OK);
    }
    tn_ctx_free(c);
}

static void refused(const char *text, const char *message) {
    tn_ctx *c = tn_ctx_new(NULL);
    if (parse(c, text)) fail_msg("accepted: %s", text);
    if (tn_last_status(c) != TN_ELINEAR || !strstr(tn_error(c), message))
        fail_msg("expected '%s', got %d '%s' for\n%s", message, (int)tn_last_status(c), tn_error(c), text);
    assert_null(c->fns);
    tn_ctx_free(c);
}

/* ---- linearity -------------------------------------------------------------------- */

#define X "{ lambda x:f64[3] | u:f64[3] v:f64[3] . let\n "

static void test_linear(void **state) {
    (void)state;
    accepted(X "a = mul x u\n b = add a v\n c = neg b\n in (c, u) }");
    accepted(X "a = sin x\n b = exp a\n c = mul u b\n d = sub c v\n in (d,) }");
    accepted(X "a = reduce_sum[axes=(0,)] u\n b = broadcast_in_dim[shape=(3,) broadcast_dimensions=()] a\n c = div b x "
               "in (c,) }");
    accepted(X "a = dot_general[dimension_numbers=(((0,), (0,)), ((), ()))] x u in (a,) }");
    accepted(X "a = concatenate[dimension=0] u v in (a,) }");
    accepted(X "p = gt x 0.0:f64[] a = select p u v in (a,) }");
    accepted(X "p = gt x 0.0:f64[] s = mul x x in (u,) }");    /* what is not linear may stand beside */
    accepted("{ lambda x:f64[3] . let a = mul x x in (a,) }"); /* nothing is linear */
    accepted("{ lambda x:f64[3] i:i32[] | u:f64[3] . let a = dynamic_slice[slice_sizes=(1,)] u i in (a,) }");
}

static void test_zeros(void **state) {
    (void)state;
    accepted(X "a = add u 0.0:f64[]\n in (a, 0.0:f64[], -0.0:f64[]) }");
    accepted(X "z:f64[3] = broadcast_in_dim[broadcast_dimensions=()] 0.0:f64[]\n w = neg z\n y = add w z\n a = sub u "
               "y\n in (a, y) }");
    accepted(X "z = reduce_sum[axes=(0,)] u y = mul 0.0 z in (y,) }");
    /* what is made of zeros without arithmetic is zero: by conversion, broadcast, reshape, as data, in programs */
    accepted(X "z:f64[] = convert_element_type[new_dtype=f64] 0:i64[] p = gt x 0.0:f64[] a = select p u z in (a,) }");
    accepted(X "i:i32[3] = constant[value=[0, 0, 0]] z = convert_element_type[new_dtype=f64] i a = add z u in (a,) }");
    accepted(X "b:bool[3] = broadcast_in_dim[shape=(3,) broadcast_dimensions=()] False:bool[]\n z = "
               "convert_element_type[new_dtype=f64] b a = sub u z in (a,) }");
    accepted(X "z:f64[3] = constant[value=[0.0, -0.0, 0.0]] a = add u z in (a, z) }");
    accepted(X "k:f64[1,3] = constant[value=[[0.0, 0.0, 0.0]]] z = reshape[new_sizes=(3,)] k a = sub z u in (a,) }");
    accepted(X "z = call[name=\"zero\" program={ lambda p:f64[3] . let i:i64[3] = constant[value=[0, 0, 0]]\n y = "
               "convert_element_type[new_dtype=f64] i in (y,) }] x\n a = add z u in (a,) }");
    accepted(X "s:f64[] = scan[program={ lambda c:f64[] . let d = add c c in (d,) } num_consts=0 num_carry=1 length=4] "
               "0.0\n z = broadcast_in_dim[shape=(3,) broadcast_dimensions=()] s a = add z u in (a,) }");
    /* .. and what reads it beside a linear value in a nested program, which sees an operand as any other */
    accepted(X
             "s:f64[] = scan[program={ lambda c:f64[] . let d = add c c in (d,) } num_consts=0 num_carry=1 length=4] "
             "0.0\n z = broadcast_in_dim[shape=(3,) broadcast_dimensions=()] s a = call[name=\"add\" program={ lambda "
             "p:f64[3] q:f64[3] . let r = add p q in (r,) }] z u in (a,) }");
    refused(X "z:f64[3] = constant[value=[0.0, 1.0, 0.0]] a = add u z in (a,) }", "add: operand 1 is not linear");
    refused(X "i:i32[3] = constant[value=[0, 1, 0]] z = convert_element_type[new_dtype=f64] i a = add z u in (a,) }",
            "add: operand 0 is not linear");
    refused(X "a = add u 1.0:f64[]\n in (a,) }",
            "f.tn:2:6: add: operand 1 is not linear, but operand 0 is (add is linear in operands 0 and 1 jointly)");
    refused(X "a = add x u\n in (a,) }", "add: operand 0 is not linear, but operand 1 is");
    refused(X "p = gt x 0.0:f64[] a = select p u x in (a,) }", "operand 2 is not linear, but operand 1 is");
    refused(X "a = concatenate[dimension=0] u x in (a,) }",
            "concatenate: operand 1 is not linear, but operand 0 is (concatenate is linear in all operands jointly)");
}

static void test_not_linear(void **state) {
    (void)state;
    refused(X "a = mul x u\n b = sin a in (b,) }",
            "f.tn:3:6: sin: operand 0 depends on a linear input, but sin is not linear in any operand");
    refused(X "a = mul u v in (a,) }",
            "mul: operands 0 and 1 both depend on linear inputs, but mul is linear in one at a time");
    refused(X "a = mul u u in (a,) }", "mul: operands 0 and 1 both depend");
    refused(X "a = div x u in (a,) }", "div: operand 1 depends on a linear input, but div is not linear in it");
    refused(X "a = div u v in (a,) }", "div: operand 1 depends on a linear input, but div is not linear in it");
    refused(X "p = gt u v in (u,) }", "gt: operand 0 depends on a linear input");
    refused(X "a = mul x x in (u, a) }",
            "f.tn:2:6: output 1 is not linear: it does not depend on a linear input, in f64[3] = mul f64[3] f64[3]");
    refused(X "in (u, x) }", "output 1 is not linear: it is an input that is not linear");
    refused(X "in (1.0:f64[],) }", "output 0 is not linear: it is a number other than zero");
    refused(X "a = stop_gradient u in (a,) }", "stop_gradient");
    refused(X "a = convert_element_type[new_dtype=i32] u in (a,) }", "convert_element_type");
    refused("{ lambda | i:i32[3] . let in (i,) }", "linear input 0 is not of a float dtype");
}

static void test_nested(void **state) {
    (void)state;
#define CALL(body) \
    X "a = call[name=\"f\" program={ lambda p:f64[3] q:f64[3] . let\n  " body "\n in (r,) }] x u\n in (a,) }"
    accepted(CALL("r = mul p q"));
    accepted(CALL("s = sin p r = mul q s"));
    refused(CALL("r = add p q"), "f.tn:3:7: add: operand 0 is not linear, but operand 1 is");
    refused(CALL("r = sin q"), "f.tn:3:7: sin: operand 0 depends");
    refused(CALL("r = sin p"), "output 0 is not linear");
    refused("{ lambda x:f64[3] . let a = linear_call[f={lambda|u:f64[3]. let a = sin u in (a,)} ft={lambda|u:f64[3]. "
            "let in (u,)}] x in (a,) }",
            "sin: operand 0 depends");
}

static void test_check_linear(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = parse(c, "{ lambda x:f64[] y:f64[] . let a = mul x y b = neg y in (a, b, x, 0.0:f64[]) }");
    const uint8_t none[2] = {TN_NONLINEAR, TN_NONLINEAR}, first[2] = {TN_LINEAR, TN_NONLINEAR},
                  both[2] = {TN_LINEAR, TN_LINEAR}, zero[2] = {TN_NONLINEAR, TN_ZERO};
    const uint8_t of_none[4] = {TN_NONLINEAR, TN_NONLINEAR, TN_NONLINEAR, TN_ZERO},
                  of_first[4] = {TN_LINEAR, TN_NONLINEAR, TN_LINEAR, TN_ZERO},
                  of_zero[4] = {TN_ZERO, TN_ZERO, TN_NONLINEAR, TN_ZERO};
    uint8_t out[4];
    assert_non_null(f);
    assert_true(tn_i_check_linear(f, none, out));
    assert_memory_equal(out, of_none, 4);
    assert_true(tn_i_check_linear(f, first, out));
    assert_memory_equal(out, of_first, 4);
    assert_true(tn_i_check_linear(f, zero, out));
    assert_memory_equal(out, of_zero, 4);
    assert_int_equal(tn_last_status(c), TN_OK);
    assert_false(tn_i_check_linear(f, both, out));
    assert_int_equal(tn_last_status(c), TN_ELINEAR);
    assert_null(c->linearity);
    tn_ctx_free(c);
}

/* ---- programs broken by hand ----------------------------------------------------------- */

typedef void breaking(tn_fn *f);

static const tn_type *const no_type;
static void break_operand(tn_fn *f) { f->pool[f->eqn[0].in] = f->nval; }
static void break_order(tn_fn *f) { f->pool[f->eqn[0].in] = f->eqn[1].out; }
static void break_pool(tn_fn *f) { f->eqn[1].in = f->npool; }
static void break_outputs(tn_fn *f) { f->eqn[1].out = f->eqn[0].out; }
static void break_def(tn_fn *f) { f->val[f->eqn[0].out].def = 1; }
static void break_result(tn_fn *f) { f->out[0] = f->nval + 3; }
static void break_type(tn_fn *f) { f->val[f->eqn[1].out].type = f->val[f->eqn[0].out].type; }
static void break_no_type(tn_fn *f) { f->val[0].type = no_type; }
static void break_input(tn_fn *f) { f->val[0].def = TN_DEF_LITERAL; }
static void break_arity(tn_fn *f) { f->eqn[0].nin = 1; }
static void break_params(tn_fn *f) { f->eqn[1].prim = f->ctx->prims[TN_P_neg]; }
static void break_kind(tn_fn *f) { ((tn_i_params *)(uintptr_t)f->eqn[1].params)->v[0].kind = TN_K_INT; }
static void break_axes(tn_fn *f) { ((int64_t *)(uintptr_t)f->eqn[1].params->v[0].u.ints)[0] = 5; }
static void break_linear(tn_fn *f) { f->nlin = 1; }

static void test_broken(void **state) {
    (void)state;
    static const struct {
        breaking *f;
        tn_status status;
        const char *message;
    } table[] = {
        {break_operand, TN_EINVAL, "an operand that does not exist"},
        {break_order, TN_EINVAL,
         "f.tn:2:6: mul: operand 0 is used before it is defined (in f64[3] = mul f64[] f64[3])"},
        {break_pool, TN_EINVAL, "operands outside the pool"},
        {break_outputs, TN_EINVAL, "a value that its equation does not make"},
        {break_def, TN_EINVAL, "a value that its equation does not make"},
        {break_result, TN_EINVAL, "an output that does not exist"},
        {break_type, TN_ETYPE, "f.tn:3:6: reduce_sum: output 0 is f64[], recorded as f64[3]"},
        {break_no_type, TN_EINVAL, "a value without a valid type"},
        {break_input, TN_EINVAL, "inputs do not come first"},
        {break_arity, TN_ETYPE, "mul: takes 2 operands"},
        {break_params, TN_EINVAL, "neg: has 0 parameters"},
        {break_kind, TN_EINVAL, "parameter axes is missing or of another kind"},
        {break_axes, TN_ETYPE, "f.tn:3:6: reduce_sum: "},
        {break_linear, TN_ELINEAR, "mul: operands 0 and 1 both depend"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        tn_ctx *c = tn_ctx_new(NULL);
        tn_fn *f = parse(c, "{ lambda x:f64[3] . let\n a = mul x x\n b = reduce_sum[axes=(0,)] a\n in (b,) }");
        assert_non_null(f);
        assert_int_equal(tn_check(f), TN_OK);
        table[i].f(f);
        assert_int_equal(tn_check(f), table[i].status);
        if (!strstr(tn_error(c), table[i].message)) fail_msg("expected '%s', got '%s'", table[i].message, tn_error(c));
        if (table[i].f == break_kind) ((tn_i_params *)(uintptr_t)f->eqn[1].params)->v[0].kind = TN_K_INTS;
        tn_ctx_free(c);
    }
    assert_int_equal(tn_check(NULL), TN_EINVAL);
}

/* ---- costs ------------------------------------------------------------------------------ */

static void test_cost(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = parse(c, "{ lambda x:f64[10] . let a = sin x b = mul a x c = call[name=\"f\" program={lambda x:f64[10]. "
                        "let a = add x x in (a,)}] b in (c,) }");
    tn_i_cost cost, one;
    assert_non_null(f);
    assert_true(tn_i_fn_cost(f, &cost));
    assert_true(cost.equations == 3 && cost.flops == 160 + 10 + 10 && cost.transcendentals == 10 && cost.products == 0);
    assert_true(cost.bytes == 160 + 240 + 240);
    assert_true(tn_i_eqn_cost(f, &f->eqn[1], &one));
    assert_true(one.equations == 1 && one.flops == 10 && one.bytes == 240);
    tn_ctx_free(c);
}

/* A claim about programs whose residuals are a permutation or want to be positive can be tried, too. */
static void test_claims_have_points(void **state) {
    (void)state;
    static const char *const texts[] = {
        "{ lambda a:f64[3,3] p:i32[3] x:f64[3,1] . let y:f64[3,1] = linear_call["
        " f={ lambda a:f64[3,3] p:i32[3] | x:f64[3,1] . let y:f64[3,1] = lu_solve[transposed=False] a p x in (y,) }"
        " ft={ lambda a:f64[3,3] p:i32[3] | x:f64[3,1] . let z:f64[3,1] = neg x w:f64[3,1] = neg z"
        " y:f64[3,1] = lu_solve[transposed=True] a p w in (y,) } ] a p x in (y,) }",
        "{ lambda a:f64[9] x:f64[9] . let y:f64[9] = linear_call["
        " f={ lambda a:f64[9] | x:f64[9] . let b:f64[9] = acosh a c:f64[9] = log a d:f64[9] = add b c y:f64[9] = mul d "
        "x in (y,) }"
        " ft={ lambda a:f64[9] | x:f64[9] . let b:f64[9] = acosh a c:f64[9] = log a d:f64[9] = add b c z:f64[9] = neg x"
        " w:f64[9] = neg z y:f64[9] = mul w d in (y,) } ] a x in (y,) }",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        tn_ctx *c = tn_ctx_new(NULL);
        tn_fn *f = tn_fn_parse(c, texts[i], strlen(texts[i]), "claim.tn");
        if (!f || tn_check(f) != TN_OK) fail_msg("%s", tn_error(c));
        tn_ctx_free(c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_linear),       cmocka_unit_test(test_zeros),
        cmocka_unit_test(test_not_linear),   cmocka_unit_test(test_nested),
        cmocka_unit_test(test_check_linear), cmocka_unit_test(test_broken),
        cmocka_unit_test(test_cost),         cmocka_unit_test(test_claims_have_points),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
