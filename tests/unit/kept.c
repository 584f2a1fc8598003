/* What crosses from the primal program to the linear one: nothing larger than it need be. */
#include "ir/ir.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

static tn_ctx *checked(void) {
    tn_ctx_options o = {.size = sizeof o, .check = 1};
    return tn_ctx_new(&o);
}

static tn_fn *parsed(tn_ctx *c, const char *text) {
    tn_fn *f = tn_fn_parse(c, text, strlen(text), "test.tn");
    if (!f) fail_msg("%s", tn_error(c));
    return f;
}

static tn_linearized split(tn_ctx *c, const tn_fn *f, const char *policy) {
    const tn_policy p = {.size = sizeof p, .name = policy};
    const tn_linearized l = tn_linearize(f, NULL, &p);
    if (!l.linear) fail_msg("%s: %s", policy, tn_error(c));
    return l;
}

/* Types of the residuals that are not inputs, as "f64[3] bool[2]". */
static void kept(char text[256], const char *program, const char *policy) {
    tn_ctx *c = checked();
    const tn_fn *f = parsed(c, program);
    const tn_linearized l = split(c, f, policy);
    size_t at = 0;
    text[0] = 0;
    for (uint32_t j = f->nout; j < l.primal->nout; j++) {
        char type[TN_I_TYPE_TEXT];
        if (l.primal->out[j] < l.primal->nin) continue;
        const tn_type *t = l.primal->val[l.primal->out[j]].type;
        at += (size_t)snprintf(text + at, 256 - at, "%s%s", at ? " " : "", tn_i_type_text(type, t));
    }
    tn_ctx_free(c);
}

static void assert_kept(const char *program, const char *policy, const char *types) {
    char text[256];
    kept(text, program, policy);
    assert_string_equal(text, types);
}

static void masks_are_bytes(void **state) {
    (void)state;
    static const char all[] = "everything_saveable";
    assert_kept("{ lambda x:f64[9] . let z:f64[9] = broadcast_in_dim 0.0 y = max x z in (y,) }", all,
                "bool[9] bool[9]");
    assert_kept("{ lambda x:f32[9] y:f32[9] . let z = min x y in (z,) }", all, "bool[9] bool[9] bool[9]");
    assert_kept("{ lambda x:f32[9] . let y = abs x in (y,) }", all, "bool[9]");
    assert_kept("{ lambda x:f64[4,9] . let y = reduce_max[axes=(1,)] x in (y,) }", all, "bool[4,9] f64[4]");
    assert_kept("{ lambda x:f64[4,9] . let y = reduce_max[axes=()] x in (y,) }", all, "");
    assert_kept("{ lambda x:f64[9] y:f64[9] . let m = lt x y z = select m x y in (z,) }", all, "bool[9]");
}

static void views_cross_as_what_they_view(void **state) {
    (void)state;
    static const char spread[] = "{ lambda x:f64[] y:f64[9] . let s = sin x t = name[name=\"t\"] s"
                                 " b:f64[9] = broadcast_in_dim t c = name[name=\"b\"] b z = mul c y in (z,) }";
    assert_kept(spread, "everything_saveable", "f64[] f64[]"); /* sin x, cos x */
    assert_kept(spread, "save_only_these_names:b", "f64[]");
    assert_kept(spread, "save_only_these_names:t", "f64[]");
    assert_kept(spread, "save_only_these_names:other", "");
    /* a slice is smaller than what it is cut from */
    assert_kept(
        "{ lambda x:f64[9] . let s = sin x b = slice[start_indices=(0,) limit_indices=(2,)] s c = mul b b in (c,) }",
        "save_only_these_names:b", "");
}

/* A residual for each input of a nested program would be cos a; but the region does not read it. */
static void nested_programs_take_what_they_read(void **state) {
    (void)state;
    assert_kept("{ lambda x:f64[9] . let a = sin x"
                " b = call[name=\"f\" program={ lambda u:f64[9] v:f64[9] . let w = exp v in (w,) }] a x in (b,) }",
                "everything_saveable", "f64[9]");
    assert_kept("{ lambda x:f64[9] . let a = sin x"
                " b d = checkpoint[name=\"f\" policy=\"nothing_saveable\""
                " program={ lambda u:f64[9] v:f64[9] . let w = exp v in (w, u) }] a x c = mul b x in (c,) }",
                "everything_saveable", "f64[9]");
}

/* Nothing may be saved: also not what a region inside passes through. */
static void passing_through_saves_nothing(void **state) {
    (void)state;
    static const char program[] =
        "{ lambda x:f64[9] . let a = sin x"
        " b = checkpoint[name=\"f\" policy=\"everything_saveable\" program={ lambda u:f64[9] . let in (u,) }] a"
        " c = sin b in (c,) }";
    assert_kept(program, "nothing_saveable", "");
    assert_kept(program, "save_only_these_names:a", "");
}

/* With respect to c alone the region's tangent is zero, which only the nested program shows. */
static void tangents_known_to_be_zero(void **state) {
    (void)state;
    static const char region[] = "checkpoint[name=\"r\" policy=\"nothing_saveable\" program="
                                 "{ lambda x:f64[3] y:f64[3] . let in (x, y) }]";
    char text[1024];
    (void)snprintf(text, sizeof text,
                   "{ lambda a:f64[3] c:f64[3] . let h = custom_jvp["
                   "call={ lambda a:f64[3] c:f64[3] . let x y = %s c a in (y,) }"
                   "jvp={ lambda a:f64[3] c:f64[3] | d:f64[3] e:f64[3] . let x y = %s e d in (y,) }] a c in (h,) }",
                   region, region);
    tn_ctx *c = checked();
    const tn_fn *f = parsed(c, text);
    const tn_linearized l = tn_linearize(f, tn_wrt(1), NULL);
    if (!l.linear) fail_msg("%s", tn_error(c));
    assert_true(l.linear->nin == 1);
    assert_true(l.linear->val[l.linear->out[0]].zero);
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masks_are_bytes),
        cmocka_unit_test(views_cross_as_what_they_view),
        cmocka_unit_test(nested_programs_take_what_they_read),
        cmocka_unit_test(passing_through_saves_nothing),
        cmocka_unit_test(tangents_known_to_be_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
