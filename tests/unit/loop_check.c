/* The checker of loop programs: each thing that it refuses, by its reason; and addresses that it must see through. */
#include "loop/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

static const char arrays[] = "loop {\n"
                             "array x: f64[10] in base 0\n"
                             "array y: f64[10] out base 1\n"
                             "array n: i64[10] inout base 2\n"
                             "array c: f64[2] const {1, 2}\n"
                             "array t: f64[8] scratch base 3\n"
                             "arena 64 base 3\n";

static tn_ctx *context(void) {
    tn_ctx *c = tn_ctx_new(NULL);
    assert_non_null(c);
    return c;
}

static bool holds(tn_ctx *c, const char *head, const char *text) {
    char all[4096];
    snprintf(all, sizeof all, "%s%s\n}", head, text);
    tn_i_loops *p = tn_i_l_parse(c, all, strlen(all), "text", NULL, 0);
    if (!p) print_error("%s\n%s\n", all, tn_error(c));
    assert_non_null(p);
    const bool ok = tn_i_l_check(p);
    tn_i_l_free(p);
    return ok;
}

static void fine(tn_ctx *c, const char *text) {
    const bool ok = holds(c, arrays, text);
    if (!ok) print_error("%s\n%s\n", text, tn_error(c));
    assert_true(ok);
}

static void bad_program(tn_ctx *c, const char *head, const char *text, const char *why) {
    const bool ok = holds(c, head, text);
    if (ok || !strstr(tn_error(c), why)) print_error("%s\n%s\n   not: %s\n", text, ok ? "is fine" : tn_error(c), why);
    assert_false(ok);
    assert_int_equal(tn_last_status(c), TN_ERULE);
    assert_non_null(strstr(tn_error(c), why));
}

static void bad(tn_ctx *c, const char *text, const char *why) { bad_program(c, arrays, text, why); }

static void test_addresses(void **state) {
    (void)state;
    tn_ctx *c = context();
    fine(c, "for i < 10 {\n v: f64 = load x[i]\n store y[-i + 9] = v\n}");
    bad(c, "for i < 11 {\n v: f64 = load x[i]\n}", "load x[i0]: index: it is not known to be less than 10");
    bad(c, "for i < 10 {\n v: f64 = load x[i - 1]\n}", "it is not known to be at least 0");
    bad(c, "v: f64 = load x[10]", "less than 10");
    bad(c, "v: f64 = load x[-1]", "at least 0");
    bad(c, "v: f64 = load x[0]\nfor i < 10 {\n store y[2 i] = v\n}", "less than 10");
    /* strips, triangles, a loop that never runs */
    fine(c, "for i < 3 {\n for j < min(4, -4 i + 10) {\n v: f64 = load x[4 i + j]\n}\n}");
    bad(c, "for i < 3 {\n for j < min(4, -4 i + 11) {\n v: f64 = load x[4 i + j]\n}\n}", "less than 10");
    fine(c, "for i < 10 {\n for j < min(10, -i + 10) {\n v: f64 = load x[i + j]\n}\n}");
    fine(c, "for i < 0 {\n v: f64 = load x[i + 99]\n}");
    bad(c, "for i < 1 {\n v: f64 = load x[i + 99]\n}", "less than 10");
    /* conditions: a box, both branches, one inside of another, a diagonal, a mask */
    fine(c, "for i < 12 {\n p: bool = within 1 <= i < 11\n if p {\n v: f64 = load x[i - 1]\n}\n}");
    bad(c, "for i < 12 {\n p: bool = within 1 <= i < 12\n if p {\n v: f64 = load x[i - 1]\n}\n}", "less than 10");
    fine(c, "for i < 12 {\n p: bool = within i < 2\n if p {\n} else {\n v: f64 = load x[i - 2]\n}\n}");
    bad(c, "for i < 12 {\n p: bool = within i < 2\n if p {\n} else {\n v: f64 = load x[i - 3]\n}\n}", "at least 0");
    bad(c, "for i < 12 {\n p: bool = within 2 <= i\n if p {\n} else {\n v: f64 = load x[9 i + 1]\n}\n}",
        "less than 10");
    fine(c, "for i < 12 {\n p: bool = within 2 <= i\n if p {\n} else {\n v: f64 = load x[9 i]\n}\n}");
    bad(c, "for i < 12 {\n p: bool = within 0 <= i < 2\n if p {\n} else {\n v: f64 = load x[i - 2]\n}\n}",
        "at least 0");
    fine(c, "for i < 20 {\n p: bool = within 3 <= i\n q: bool = within i < 13\n r: bool = and p q\n if r {\n v: f64 = "
            "load x[i - 3]\n}\n}");
    bad(c,
        "for i < 20 {\n p: bool = within 3 <= i\n q: bool = within i < 13\n r: bool = or p q\n if r {\n v: f64 = "
        "load x[i - 3]\n}\n}",
        "it is not known");
    fine(c,
         "for i < 99 {\n for j < 99 {\n p: bool = within 0 <= i - j < 10\n if p {\n v: f64 = load x[i - j]\n}\n}\n}");
    fine(c, "w: f64 = number 0\nfor i < 12 {\n p: bool = within i < 10\n v: f64 = load x[i] where p else w\n store "
            "y[i] = v where p\n}");
    bad(c,
        "w: f64 = number 0\nfor i < 12 {\n p: bool = within i < 10\n v: f64 = load x[i] where p else w\n store y[i] = "
        "v\n}",
        "less than 10");
    bad(c, "p: bool = within 0 < 1\nfor i < 12 {\n if p {\n v: f64 = load x[i]\n}\n}", "less than 10");
    /* computed indices and counts */
    fine(c, "v: i64 = load n[0]\nw: f64 = load x[clamp(v, 9)]\nu: f64 = load x[-3 clamp(v, 3) + 9]");
    bad(c, "v: i64 = load n[0]\nw: f64 = load x[2 clamp(v, 5)]", "less than 10");
    bad(c, "v: i64 = load n[0]\nw: f64 = load x[-3 clamp(v, 3) + 8]", "at least 0");
    bad(c, "v: i64 = load n[0]\nw: f64 = load x[clamp(v, -1)]", "negative");
    bad(c, "v: f64 = load x[0]\nw: f64 = load x[clamp(v, 1)]", "not an integer");
    fine(c, "v: i64 = load n[0]\nfor i < min(10, v) {\n w: f64 = load x[i]\n}");
    bad(c, "v: i64 = load n[0]\nfor i < min(11, v) {\n w: f64 = load x[i]\n}", "less than 10");
    bad(c, "p: bool = within 0 < 1\nfor i {\n while p\n w: f64 = load x[i]\n}", "it is not known");
    /* too large for any number */
    bad(c, "for i < 10 {\n v: f64 = load x[9223372036854775807 i]\n}", "it is not known");
    tn_ctx_free(c);
}

static void test_memory(void **state) {
    (void)state;
    tn_ctx *c = context();
    bad(c, "v: f64 = load x[0]\nstore x[0] = v", "x is read only");
    bad(c, "v: f64 = load x[0]\nstore c[0] = v", "c is read only");
    bad(c, "v: i64 = load n[0]\nstore y[0] = v", "operand 2 is of i64, not f64");
    bad(c, "v: f64 = load x[0]\nw: f64 = load y[0] where v else v", "operand 1 is of f64, not bool");
    bad(c, "v: i64 = load n[0]\np: bool = within 0 < 1\nw: f64 = load y[0] where p else v", "operand 2 is of i64");
    fine(c, "call f(read x[0 : 10], write y[1 : 9], update t[8 : 0], 7)\nfor i < 5 {\n call f(read x[2 i : 2], -i)\n}");
    bad(c, "call f(read x[1 : 10])", "argument 0: it is not known to be less than 10");
    bad(c, "call f(1, write x[0 : 1])", "argument 1: x is read only");
    bad(c, "for i < 6 {\n call f(read x[2 i : 2])\n}", "less than 10");
    bad_program(c, "loop {\narray x: f64[2] scratch base 0\n", "", "only these, are in the arena");
    bad_program(c, "loop {\narray x: f64[2] in base 0\narena 64 base 0\n", "", "only these, are in the arena");
    bad_program(c, "loop {\narray x: f64[9] scratch base 0\narena 64 base 0\n", "", "not within the arena");
    bad_program(c, "loop {\narray x: f64[2] in base 0 at 4\n", "", "a multiple of an element's size");
    bad_program(c, "loop {\narray x: f64[2] in base 0 align 24\n", "", "power of two");
    bad_program(c, "loop {\narray x: f64[2] in base 0 align 4\n", "", "less than an element's size");
    bad_program(c, "loop {\narray x: f64[1152921504606846975] in base 0 at 64\n", "", "too large");
    tn_ctx_free(c);
}

static void test_arithmetic(void **state) {
    (void)state;
    tn_ctx *c = context();
    fine(c, "v: f64 = load x[0]\nw: i64 = bits v\np: bool = lt v v\nu: f64 = select p v v\nq: f32 = convert p\nr: bool "
            "= signbit q");
    fine(c, "v: f64 = load x[0]\nw: f64 = fn pow v v\nu: f64 = fn integer_pow(-3) v\nm: f64 = fn polygamma v w");
    bad(c, "v: f64 = load x[0]\nw: i64 = load n[0]\nu: f64 = add v w", "operand 1 is of i64, not f64");
    bad(c, "p: bool = within 0 < 1\nu: bool = add p p", "not defined for bool");
    bad(c, "v: f64 = load x[0]\nu: f64 = and v v", "not defined for f64");
    bad(c, "v: i64 = load n[0]\nu: i64 = sqrt v", "not defined for i64");
    bad(c, "v: f64 = load x[0]\nu: f64 = lt v v", "the result is of bool");
    bad(c, "v: f64 = load x[0]\nu: f32 = add v v", "the result is of f64");
    bad(c, "v: f64 = load x[0]\nu: f64 = select v v v", "operand 0 is of f64, not bool");
    bad(c, "v: f64 = load x[0]\nu: i32 = bits v", "a float as an integer of its width");
    bad(c, "v: i64 = load n[0]\nu: i64 = bits v", "a float as an integer of its width");
    bad(c, "v: i64 = load n[0]\nu: i64 = fn tanh v", "tanh is not defined for i64");
    bad(c, "v: f64 = load x[0]\nu: f64 = fn add v v", "an operation of its own: add");
    bad(c, "v: f64 = load x[0]\nu: f32 = fn tanh v", "the result is of f64");
    bad(c, "v: bool = index 3", "an index is a number");
    tn_ctx_free(c);
}

static void test_scopes(void **state) {
    (void)state;
    tn_ctx *c = context();
    bad(c, "for i < 3 {\n v: f64 = load x[i]\n}\nw: f64 = neg v", "operand 0 is out of scope");
    bad(c, "p: bool = within 0 < 1\nif p {\n v: f64 = load x[0]\n} else {\n w: f64 = neg v\n}", "out of scope");
    bad(c, "for i < 3 {\n}\nv: f64 = load x[i]", "a loop is counted that is not open");
    bad(c, "for i < 3 {\n}\nfor j < min(3, i) {\n}", "a loop is counted that is not open");
    bad(c, "v: f64 = load x[0]\nif v {\n}", "operand 0 is of f64, not bool");
    bad(c, "for i < -1 {\n}", "negative");
    bad(c, "v: f64 = load x[0]\nfor i < min(3, v) {\n}", "not an integer");
    bad(c, "for i {\n}", "a loop without end");
    tn_ctx_free(c);
}

#define CARRY "v: f64 = load x[0]\nfor i < 3 {\n a: f64 = carry v\n"
static void test_carries(void **state) {
    (void)state;
    tn_ctx *c = context();
    fine(c, CARRY " b: f64 = carry v\n next a = b\n next b = a\n}\nd: f64 = last a\ne: f64 = last b");
    bad(c, CARRY "}", "a carry of this loop has no next");
    bad(c, CARRY "next a = a\nnext a = a\n}", "the carry has a next");
    bad(c, CARRY "next a = a\nb: f64 = neg a\n}", "it does not stand at the end of a loop");
    bad(c, CARRY "next v = a\n}", "operand 0 is no carry of this loop");
    bad(c, CARRY "w: i64 = load n[0]\nnext a = w\n}", "operand 1 is of i64, not f64");
    bad(c, CARRY "w: f64 = neg a\nb: f64 = carry w\nnext a = a\nnext b = b\n}", "at the beginning of a loop");
    bad(c, CARRY "b: f64 = carry a\nnext a = a\nnext b = b\n}", "not from outside of the loop");
    bad(c, "v: f64 = load x[0]\na: f64 = carry v", "at the beginning of a loop");
    bad(c, CARRY "for j < 2 {\nnext a = a\n}\n}", "no carry of this loop");
    bad(c, CARRY "next a = a\n}\nb: f64 = neg v\nd: f64 = last a", "does not stand behind a loop");
    bad(c, CARRY "next a = a\n}\nd: f64 = last v", "no carry of this loop");
    bad(c, "p: bool = within 0 < 1\nwhile p", "it does not stand in a loop itself");
    bad(c, "p: bool = within 0 < 1\nfor i < 3 {\nif p {\nwhile p\n}\n}", "it does not stand in a loop itself");
    fine(c, "for i < 16 {\n v: f64 = load c[0]\n}\nw: f64 = halves sum v");
    bad(c, "for i < 12 {\n v: f64 = load c[0]\n}\nw: f64 = halves sum v", "does not run 2, 4 ..");
    bad(c, "for i < 128 {\n v: f64 = load c[0]\n}\nw: f64 = halves sum v", "does not run 2, 4 ..");
    bad(c, "u: f64 = load c[0]\nfor i < 16 {\n v: f64 = load c[0]\n}\nw: f64 = halves sum u", "no value of this loop");
    bad(c, "for i < 16 {\n v: f64 = load c[0]\n}\nw: f64 = halves argmax v", "there is no such fold");
    tn_ctx_free(c);
}

#define IF "p: bool = within 0 < 1\nu: f64 = load x[0]\nif p {\n v: f64 = neg u\n}"
static void test_joins(void **state) {
    (void)state;
    tn_ctx *c = context();
    fine(c, IF " else {\n w: f64 = abs u\n}\na: f64 = join v w\nb: f64 = join v u\nd: f64 = join u w");
    fine(c, IF "\na: f64 = join v u");
    bad(c, IF "\na: f64 = join u v", "operand 1 is not of this branch");
    bad(c, IF " else {\n w: f64 = abs u\n}\na: f64 = join w v", "operand 0 is not of this branch");
    bad(c, IF "\nb: f64 = neg u\na: f64 = join v u", "does not stand behind an if");
    bad(c, IF "\na: f64 = join v p", "operand 1 is of another dtype");
    tn_ctx_free(c);
}

static void test_reductions(void **state) {
    (void)state;
    tn_ctx *c = context();
    fine(c, "r: f64 = reduce argmin 4\nfor i < 4 {\n v: f64 = load x[i]\n into r[i] = v\n w: i32 = total r[i]\n}");
    bad(c, "r: f64 = reduce sum 4\nfor i < 5 {\n v: f64 = load x[i]\n into r[i] = v\n}", "not known to be less than 4");
    bad(c, "r: f64 = reduce sum 4\nv: f64 = total r[4]", "not known to be less than 4");
    bad(c, "r: f64 = reduce sum 0", "0 reductions");
    bad(c, "r: bool = reduce sum", "bools are not summed");
    bad(c, "r: f64 = reduce none", "no such fold");
    bad(c, "r: f64 = reduce sum\nv: i64 = load n[0]\ninto r = v", "operand 1 is of i64");
    bad(c, "r: f64 = reduce argmax\nv: f64 = total r", "of another dtype");
    bad(c, "r: f64 = reduce sum\nv: i64 = total r", "of another dtype");
    bad(c, "for i < 3 {\n r: f64 = reduce sum\n}\nv: f64 = total r", "the reduction is out of scope");
    tn_ctx_free(c);
}

static void test_marks(void **state) {
    (void)state;
    tn_ctx *c = context();
    fine(c, "for i < 8 vector 8 {\n v: f64 = load x[i]\n for k < 2 {\n a: f64 = carry v\n next a = v\n}\n b: f64 = "
            "last a\n store y[i] = b\n}");
    bad(c, "for i < 8 vector 6 {\n}", "vectors of 6");
    bad(c, "for i < 8 vector 8 {\n for j < 8 vector 8 {\n}\n}", "a vector loop in a vector loop");
    bad(c, "for i < 8 vector 8 {\n for j < min(8, i) {\n}\n}", "the count changes in a vector loop");
    bad(c, "for i < 8 vector 8 {\n v: i64 = load n[i]\n for j < min(8, v) {\n}\n}",
        "the count changes in a vector loop");
    bad(c, "for i < 8 vector 8 {\n p: bool = within i < 3\n if p {\n}\n}", "the condition changes in a vector loop");
    bad(c, "v: f64 = load x[0]\nfor i < 8 vector 8 {\n store y[0] = v\n}", "does not move with the vector loop");
    bad(c, "v: f64 = load x[0]\nfor i < 8 vector 8 {\n a: f64 = carry v\n next a = a\n}",
        "do not depend on each other");
    bad(c, "p: bool = within 0 < 1\nfor i < 8 vector 8 {\n while p\n}", "do not depend on each other");
    bad(c, "for i < 8 vector 8 {\n call f()\n}", "a call in a vector loop");
    bad(c, "for i < 8 vector 8 {\n r: f64 = reduce sum 2\n}", "reductions side by side in a vector loop");
    bad(c, "v: f64 = load x[0]\nr: f64 = reduce sum\nfor i < 8 vector 8 {\n for j < 2 {\n into r = v\n}\n}",
        "a reduction in a block in a vector loop");
    bad(c, "v: f64 = load x[0]\nr: f64 = reduce sum 16\nfor i < 8 vector 8 {\n into r[2 i] = v\n}",
        "not next to each other in a vector loop");
    fine(c, "v: f64 = load x[0]\nr: f64 = reduce sum 8\ns: f64 = reduce sum\nfor i < 8 vector 8 {\n into r[i] = v\n"
            " into s = v\n}");
    fine(c, "v: f64 = load x[0]\nfor i < 8 vector 8 {\n r: f64 = reduce sum\n for j < 2 {\n into r = v\n}\n"
            " t: f64 = total r\n store y[i] = t\n}");
    fine(c, "for i < 2 parallel {\n v: f64 = load x[i]\n store y[i] = v\n}");
    bad(c, "v: f64 = load x[0]\nfor i < 2 parallel {\n store y[i] = v\n}", "from outside of a parallel loop");
    bad(c, "r: f64 = reduce sum\nfor i < 2 parallel {\n v: f64 = load x[i]\n into r = v\n}", "out of scope");
    bad(c, "for j < 2 {\n for i < 2 parallel {\n}\n}", "a parallel loop in a block");
    bad(c, "v: i64 = load n[0]\nfor i < min(2, v) parallel {\n}", "count of a parallel loop");
    bad(c, "for i < 2 vector 2 parallel {\n}", "both vector and parallel");
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_addresses),  cmocka_unit_test(test_memory),
                                       cmocka_unit_test(test_arithmetic), cmocka_unit_test(test_scopes),
                                       cmocka_unit_test(test_carries),    cmocka_unit_test(test_joins),
                                       cmocka_unit_test(test_reductions), cmocka_unit_test(test_marks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
