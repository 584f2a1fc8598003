/* Loops as text: ours and JAX's, and what is said of those that are malformed. */
#include "ir/ir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static char *printed(tn_ctx *c, const char *text) {
    tn_fn *f = tn_fn_parse(c, text, strlen(text), "t.tn");
    if (!f) fail_msg("%s", tn_error(c));
    assert_int_equal(tn_check(f), TN_OK);
    char *out = tn_fn_print(f, NULL);
    assert_non_null(out);
    tn_fn_free(f);
    return out;
}

/* Its normal form, which is its own. */
static void prints_as(const char *text, const char *expected) {
    tn_ctx *c = tn_ctx_new(NULL);
    char *once = printed(c, text), *twice = printed(c, once);
    assert_string_equal(once, expected);
    assert_string_equal(twice, expected);
    tn_text_free(c, once);
    tn_text_free(c, twice);
    tn_ctx_free(c);
}

static void refused(const char *text, const char *message) {
    tn_ctx *c = tn_ctx_new(NULL);
    assert_null(tn_fn_parse(c, text, strlen(text), "t.tn"));
    if (!strstr(tn_error(c), message)) fail_msg("%s\nis not\n%s", tn_error(c), message);
    tn_ctx_free(c);
}

static void test_ours(void **state) {
    (void)state;
    prints_as("{ lambda n:i64[] a:f64[] . let b c = scan[program={ lambda i:i64[] x:f64[] . let y:f64[] = sin x in (y, "
              "x) } num_consts=0 num_carry=1 index=True schedule=\"online:10\"] n a d = scan[program={ lambda c:f64[] "
              "x:f64[] . let d:f64[] = add c x in (d,) } num_consts=0 num_carry=1 reverse=True] n a c in (b,) }\n",
              "{ lambda a:i64[] b:f64[] . let\n"
              "    c:f64[] d:f64[?] = scan[\n"
              "        program={ lambda a:i64[] b:f64[] . let\n"
              "            c:f64[] = sin b\n"
              "          in (c, b) }\n"
              "        num_consts=0\n"
              "        num_carry=1\n"
              "        index=True\n"
              "        schedule=\"online:10\"\n"
              "      ] a b\n"
              "    e:f64[] = scan[\n"
              "        program={ lambda a:f64[] b:f64[] . let\n"
              "            c:f64[] = add a b\n"
              "          in (c,) }\n"
              "        num_consts=0\n"
              "        num_carry=1\n"
              "        reverse=True\n"
              "      ] a b d\n"
              "  in (c,) }\n");
    prints_as("{ lambda n:i64[] . let a:f64[?,3] = broadcast_in_dim[broadcast_dimensions=()] 0.0 b:f64[2,?] = "
              "broadcast_in_dim[broadcast_dimensions=()] 1.0 c:f64[] = scan[program={ lambda c:f64[] x:f64[3] . let in "
              "(c,) } num_consts=0 num_carry=1] n 0.5 a in (c,) }\n",
              "{ lambda a:i64[] . let\n"
              "    b:f64[?,3] = broadcast_in_dim[shape=(?, 3) broadcast_dimensions=()] 0.0:f64[]\n"
              "    c:f64[2,?] = broadcast_in_dim[shape=(2, ?) broadcast_dimensions=()] 1.0:f64[]\n"
              "    d:f64[] = scan[\n"
              "        program={ lambda a:f64[] b:f64[3] . let\n"
              "          in (a,) }\n"
              "        num_consts=0\n"
              "        num_carry=1\n"
              "      ] a 0.5:f64[] b\n"
              "  in (d,) }\n");
    prints_as("{ lambda a:f64[3] . let b:f64[3] k:i64[] n:i64[] = while[cond={ lambda m:i64[] x:f64[3] k:i64[] . let p "
              "= lt k m in (p,) } body={ lambda i:i64[] r:f64[] x:f64[3] k:i64[] . let y = sin x l = add k 1:i64[] in "
              "(y, l) } cond_nconsts=1 body_nconsts=1 index=True count=True schedule=\"online:4\"] 5:i64[] 0.5 a "
              "0:i64[] in (b, n) }\n",
              "{ lambda a:f64[3] . let\n"
              "    b:f64[3] c:i64[] d:i64[] = while[\n"
              "        cond={ lambda a:i64[] b:f64[3] c:i64[] . let\n"
              "            d:bool[] = lt c a\n"
              "          in (d,) }\n"
              "        body={ lambda a:i64[] b:f64[] c:f64[3] d:i64[] . let\n"
              "            e:f64[3] = sin c\n"
              "            f:i64[] = add d 1:i64[]\n"
              "          in (e, f) }\n"
              "        cond_nconsts=1\n"
              "        body_nconsts=1\n"
              "        index=True\n"
              "        count=True\n"
              "        schedule=\"online:4\"\n"
              "      ] 5:i64[] 0.5:f64[] a 0:i64[]\n"
              "  in (b, d) }\n");
}

static void test_jax(void **state) {
    (void)state;
    /* a scan, as an older JAX prints it */
    prints_as("{ lambda ; a:f64[] b:f64[10] c:f64[]. let\n"
              "    d:f64[] e:f64[10] = scan[\n"
              "      _split_transpose=False\n"
              "      jaxpr={ lambda ; f:f64[] g:f64[] h:f64[]. let\n"
              "          i:f64[] = mul g f\n"
              "          j:f64[] = convert_element_type[new_dtype=float64 weak_type=False] i\n"
              "          k:f64[] = add j h\n"
              "          l:f64[] = tanh k\n"
              "          m:f64[] = mul l 2.0\n"
              "        in (l, m) }\n"
              "      length=10\n"
              "      linear=(False, False, False)\n"
              "      num_carry=1\n"
              "      num_consts=1\n"
              "      reverse=False\n"
              "      unroll=1\n"
              "    ] c a b\n"
              "  in (d, e) }\n",
              "{ lambda a:f64[] b:f64[10] c:f64[] . let\n"
              "    d:f64[] e:f64[10] = scan[\n"
              "        program={ lambda a:f64[] b:f64[] c:f64[] . let\n"
              "            d:f64[] = mul b a\n"
              "            e:f64[] = convert_element_type[new_dtype=f64] d\n"
              "            f:f64[] = add e c\n"
              "            g:f64[] = tanh f\n"
              "            h:f64[] = mul g 2.0:f64[]\n"
              "          in (g, h) }\n"
              "        length=10\n"
              "        num_consts=1\n"
              "        num_carry=1\n"
              "        reverse=False\n"
              "      ] c a b\n"
              "  in (d, e) }\n");
    /* two carries, backwards, a number as the first */
    prints_as("{ lambda ; a:f64[] b:f64[10]. let\n"
              "    _:i64[] d:f64[] = scan[\n"
              "      jaxpr={ lambda ; e:i64[] f:f64[] g:f64[]. let\n"
              "          h:i64[] = add e 1:i64[]\n"
              "          j:f64[] = mul f g\n"
              "        in (h, j) }\n"
              "      length=10\n"
              "      num_carry=2\n"
              "      num_consts=0\n"
              "      reverse=True\n"
              "      unroll=1\n"
              "    ] 0:i64[] a b\n"
              "  in (d,) }\n",
              "{ lambda a:f64[] b:f64[10] . let\n"
              "    c:i64[] d:f64[] = scan[\n"
              "        program={ lambda a:i64[] b:f64[] c:f64[] . let\n"
              "            d:i64[] = add a 1:i64[]\n"
              "            e:f64[] = mul b c\n"
              "          in (d, e) }\n"
              "        length=10\n"
              "        num_consts=0\n"
              "        num_carry=2\n"
              "        reverse=True\n"
              "      ] 0:i64[] a b\n"
              "  in (d,) }\n");
    /* a while */
    prints_as("{ lambda ; a:f64[] b:f64[]. let\n"
              "    c:f64[] = while[\n"
              "      body_jaxpr={ lambda ; d:f64[] e:f64[]. let\n"
              "          f:f64[] = mul e e\n"
              "          g:f64[] = sub f d\n"
              "          h:f64[] = mul 2.0:f64[] e\n"
              "          i:f64[] = div g h\n"
              "          j:f64[] = sub e i\n"
              "        in (j,) }\n"
              "      body_nconsts=1\n"
              "      cond_jaxpr={ lambda ; k:f64[]. let p:bool[] = gt k 1e-09:f64[] in (p,) }\n"
              "      cond_nconsts=0\n"
              "    ] b a\n"
              "  in (c,) }\n",
              "{ lambda a:f64[] b:f64[] . let\n"
              "    c:f64[] = while[\n"
              "        cond={ lambda a:f64[] . let\n"
              "            b:bool[] = gt a 1e-09:f64[]\n"
              "          in (b,) }\n"
              "        body={ lambda a:f64[] b:f64[] . let\n"
              "            c:f64[] = mul b b\n"
              "            d:f64[] = sub c a\n"
              "            e:f64[] = mul 2.0:f64[] b\n"
              "            f:f64[] = div d e\n"
              "            g:f64[] = sub b f\n"
              "          in (g,) }\n"
              "        cond_nconsts=0\n"
              "        body_nconsts=1\n"
              "      ] b a\n"
              "  in (c,) }\n");
    /* a fori_loop to a number of steps found when it runs */
    prints_as("{ lambda ; a:f64[] b:i64[]. let\n"
              "    _:i64[] _:i64[] c:f64[] = while[\n"
              "      body_jaxpr={ lambda ; d:i64[] e:i64[] f:f64[]. let\n"
              "          g:i64[] = add d 1:i64[]\n"
              "          h:f64[] = mul f 1.5:f64[]\n"
              "          i:f64[] = convert_element_type[new_dtype=float64 weak_type=True] d\n"
              "          j:f64[] = add h i\n"
              "        in (g, e, j) }\n"
              "      body_nconsts=0\n"
              "      cond_jaxpr={ lambda ; k:i64[] l:i64[] m:f64[]. let\n"
              "          n:bool[] = lt k l\n"
              "        in (n,) }\n"
              "      cond_nconsts=0\n"
              "    ] 0:i64[] b a\n"
              "  in (c,) }\n",
              "{ lambda a:f64[] b:i64[] . let\n"
              "    c:i64[] d:i64[] e:f64[] = while[\n"
              "        cond={ lambda a:i64[] b:i64[] c:f64[] . let\n"
              "            d:bool[] = lt a b\n"
              "          in (d,) }\n"
              "        body={ lambda a:i64[] b:i64[] c:f64[] . let\n"
              "            d:i64[] = add a 1:i64[]\n"
              "            e:f64[] = mul c 1.5:f64[]\n"
              "            f:f64[] = convert_element_type[new_dtype=f64] a\n"
              "            g:f64[] = add e f\n"
              "          in (d, b, g) }\n"
              "        cond_nconsts=0\n"
              "        body_nconsts=0\n"
              "      ] 0:i64[] b a\n"
              "  in (e,) }\n");
    /* a loop in a loop, without carries, its closed-over constant in front */
    prints_as("{ lambda a:f64[2]; b:f64[3]. let\n"
              "    c:f64[3] = scan[\n"
              "      jaxpr={ lambda ; d:f64[2] e:f64[]. let\n"
              "          f:f64[] = scan[\n"
              "            jaxpr={ lambda ; g:f64[] h:f64[]. let i:f64[] = mul g h in (i,) }\n"
              "            length=2\n"
              "            num_carry=1\n"
              "            num_consts=0\n"
              "            reverse=False\n"
              "            unroll=2\n"
              "          ] e d\n"
              "        in (f,) }\n"
              "      length=3\n"
              "      num_carry=0\n"
              "      num_consts=1\n"
              "      reverse=False\n"
              "      unroll=1\n"
              "    ] a b\n"
              "  in (c,) }\n",
              "{ lambda a:f64[2] b:f64[3] . let\n"
              "    c:f64[3] = scan[\n"
              "        program={ lambda a:f64[2] b:f64[] . let\n"
              "            c:f64[] = scan[\n"
              "                program={ lambda a:f64[] b:f64[] . let\n"
              "                    c:f64[] = mul a b\n"
              "                  in (c,) }\n"
              "                length=2\n"
              "                num_consts=0\n"
              "                num_carry=1\n"
              "                reverse=False\n"
              "              ] b a\n"
              "          in (c,) }\n"
              "        length=3\n"
              "        num_consts=1\n"
              "        num_carry=0\n"
              "        reverse=False\n"
              "      ] a b\n"
              "  in (c,) }\n");
}

/* ---- malformed ------------------------------------------------------------------- */

#define SCAN(params)                                                                                                \
    "{ lambda a:f64[3] . let b:f64[] ys = scan[program={ lambda c:f64[] x:f64[] . let d:f64[] = add c x in (d, d) " \
    "} " params "] "
#define WHILE(cond, params)                                                       \
    "{ lambda a:f64[3] . let b:f64[3] = while[cond={ lambda x:f64[3] . let " cond \
    " } body={ lambda x:f64[3] . let y = sin x in (y,) } " params "] a in (b,) }"

static void test_malformed(void **state) {
    (void)state;
    refused(SCAN("length=2 num_consts=-1 num_carry=1") "0.0 a in (b,) }",
            "scan: the program has 2 inputs and 2 outputs, which do not fit -1 consts and 1 carries");
    refused(SCAN("length=2 num_consts=4294967296 num_carry=1") "0.0 a in (b,) }", "which do not fit 4294967296 consts");
    refused(SCAN("length=2 num_consts=0 num_carry=3") "0.0 a in (b,) }", "which do not fit 0 consts and 3 carries");
    refused(SCAN("length=2 num_carry=1") "0.0 a in (b,) }", "t.tn:1:38: scan needs the parameter num_consts");
    refused(SCAN("length=2 num_consts=0 num_carry=1") "0.0 a a in (b,) }", "scan: the program has 2 inputs");
    refused(SCAN("length=-2 num_consts=0 num_carry=1") "0.0 a in (b,) }", "the length is negative");
    refused(SCAN("length=-9223372036854775808 num_consts=0 num_carry=1") "0.0 a in (b,) }", "the length is negative");
    refused(SCAN("length=4 num_consts=0 num_carry=1") "0.0 a in (b,) }",
            "operand 1: is scanned over, but its first dimension is not the loop's length");
    refused(SCAN("length=3 num_consts=0 num_carry=1") "0.0 1.0 in (b,) }",
            "operand 1: is scanned over, but has rank 0");
    refused(SCAN("length=3 num_consts=0 num_carry=1") "0.0:f32[] a in (b,) }", "operand 0: the program takes f64[]");
    refused(SCAN("num_consts=0 num_carry=1") "0.5 0.0 a in (b,) }", "operand 0: the number of steps is an i64[]");
    refused(SCAN("num_consts=0 num_carry=1") "2:i64[] 0.0 a in (b,) }",
            "operand 2: is scanned over, but its first dimension is not the loop's length");
    refused(SCAN("length=3 num_consts=0 num_carry=1 index=True") "a in (b,) }",
            "first input, the step's number, is an i64[]");
    refused(SCAN("length=3 num_consts=0 num_carry=1 index=True") "in (b,) }", "do not fit 0 consts and 1 carries");
    refused(SCAN("length=3 num_consts=0 num_carry=1 linear=(False,") "0.0 a in (b,) }", "expected");
    refused(SCAN("length=3 num_consts=0 num_carry=1 unrolled=1") "0.0 a in (b,) }", "scan has no parameter 'unrolled'");
    refused(SCAN("length=3 num_consts=0 num_carry=1 jaxpr={ lambda . let in () }") "0.0 a in (b,) }",
            "parameter 'jaxpr' is given twice");
    refused("{ lambda a:f64[] . let b:f64[] = scan[program={ lambda c:f64[] . let in (2,) } length=3 num_consts=0 "
            "num_carry=1] a in (b,) }",
            "operand 0: is carried: enters as f64[], leaves the step as i32[]");
    refused("{ lambda a:f64[1,1,1,1,1,1,1,1] . let b = scan[program={ lambda c:f64[1,1,1,1,1,1,1,1] . let in (c,) } "
            "length=3 num_consts=1 num_carry=0] a in (b,) }",
            "entries of type f64[1,1,1,1,1,1,1,1] cannot be stacked: rank or size");
    refused("{ lambda a:f64[1000,1000] . let b = scan[program={ lambda c:f64[1000,1000] . let in (c,) } "
            "length=9223372036854775807 num_consts=1 num_carry=0] a in (b,) }",
            "cannot be stacked: rank or size");
    refused(SCAN("length=3 num_consts=0 num_carry=1 schedule=\"revolver\"") "0.0 a in (b,) }",
            "scan: there is no schedule named 'revolver'");
    refused(SCAN("length=3 num_consts=0 num_carry=1 schedule=\"revolve\"") "0.0 a in (b,) }",
            "scan: 'revolve' is not 'revolve:CHECKPOINTS'");
    refused(WHILE("in (True,)", "cond_nconsts=0 body_nconsts=0 schedule=\"revolve:3\""),
            "while: schedule 'revolve:3' wants to know the number of steps");
    refused(WHILE("in (x,)", "cond_nconsts=0 body_nconsts=0"), "must give one bool[]");
    refused(WHILE("in (x,)", "cond_nconsts=0 body_nconsts=0"), "must give one bool[]");
    refused(WHILE("in ()", "cond_nconsts=0 body_nconsts=0"), "must give one bool[]");
    refused(WHILE("in (True, True)", "cond_nconsts=0 body_nconsts=0"), "must give one bool[]");
    refused(WHILE("in (True,)", "cond_nconsts=1 body_nconsts=0"), "do not fit 1 and 0 consts");
    refused(WHILE("in (True,)", "cond_nconsts=0 body_nconsts=1"), "do not fit 0 and 1 consts");
    refused(WHILE("in (True,)", "cond_nconsts=0 body_nconsts=0 index=True"), "do not fit 0 and 0 consts");
    refused(WHILE("in (True,)", "cond_nconsts=0 body_nconsts=0 count=True"), "'while' has 2 outputs, not 1");
    refused(WHILE("in (True,)", "cond_nconsts=0 body_nconsts=0 reverse=True"), "while has no parameter 'reverse'");
    refused(WHILE("in (True,)", "cond_nconsts=0 body_nconsts=0 num_consts=0"), "while has no parameter 'num_consts'");
}

/* ---- `?` ---------------------------------------------------------------------------- */

#define STACK \
    "{ lambda n:i64[] k:i32[2] . let s:f64[?] = scan[program={ lambda . let in (1.0,) } num_consts=0 num_carry=0] n "

/* Only loops, and what passes values on, read and make arrays as long as a loop. */
static void test_steps(void **state) {
    (void)state;
    refused(STACK "t = sin s in (n,) }", "sin: operand 0: has a dimension known only when its loop has run");
    refused(STACK "t = add s 1.0 in (n,) }", "known only when its loop has run");
    refused(STACK "t = reduce_sum[axes=(0,)] s in (n,) }", "reduce_sum: operand 0: has a dimension known only");
    refused(STACK "t = concatenate[dimension=0] s s in (n,) }", "concatenate: operand 0: has a dimension known only");
    refused(STACK "t:f64[?] = iota[dimension=0] in (n,) }",
            "iota: its result has a dimension that only a loop can know");
    refused(STACK "t:f64[?] = random_uniform k in (n,) }", "random_uniform: its result has a dimension");
    refused(STACK "t:f64[?,0] = constant[value=[]] in (n,) }", "constant: its result has a dimension");
    refused(STACK "t:f64[3] = scan[program={ lambda x:f64[] . let in (x,) } length=3 num_consts=0 num_carry=0] s in "
                  "(n,) }",
            "its first dimension is not the loop's length");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ours),
        cmocka_unit_test(test_jax),
        cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
