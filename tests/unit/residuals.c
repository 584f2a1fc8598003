/* The report of residuals: its entries, its totals against the programs, and against memory that is counted. */
#include "tracing.h"

#include "exec/exec.h"

#include <stdlib.h>

static tn_residuals *report(const tn_fn *f, const tn_wrt_list *wrt, const char *policy) {
    const tn_policy p = {.size = sizeof p, .name = policy};
    tn_residuals *r = tn_saved_residuals(f, wrt, policy ? &p : NULL);
    if (!r) fail_msg("%s: %s", policy ? policy : "(default)", tn_error(tn_fn_ctx(f)));
    return r;
}

static tn_residual_totals totals(const tn_residuals *r) {
    tn_residual_totals t = {.size = sizeof t};
    assert_int_equal(tn_residuals_total(r, &t), TN_OK);
    return t;
}

static tn_fn *parsed(tn_ctx *c, const char *text) {
    tn_fn *f = tn_fn_parse(c, text, strlen(text), "f.tn");
    if (!f) fail_msg("%s", tn_error(c));
    return f;
}

/* The only entry with this verdict that this primitive makes. */
static const tn_residual *entry(const tn_residuals *r, tn_residual_verdict verdict, const char *primitive) {
    const tn_residual *found = NULL;
    for (size_t i = 0; i < tn_residuals_count(r); i++) {
        const tn_residual *x = tn_residuals_at(r, i);
        if (x->verdict != verdict || strcmp(x->primitive, primitive) != 0) continue;
        assert_null(found);
        found = x;
    }
    if (!found) fail_msg("no %s %s", tn_residual_verdict_text(verdict), primitive);
    return found;
}

static size_t count(const tn_residuals *r, tn_residual_verdict verdict) {
    size_t n = 0;
    for (size_t i = 0; i < tn_residuals_count(r); i++) n += tn_residuals_at(r, i)->verdict == verdict;
    return n;
}

/* ---- programs ------------------------------------------------------------------------------------- */

static int wave_line;
static tn_val wave(const tn_val *in, void *user) {
    (void)user;
    tn_val y = tn_number_f64(0);
    tn_scope(in[0].ctx, "body") {
        wave_line = __LINE__ + 1;
        y = tn_sin(in[0]);
        y = tn_mul(y, in[1]);
    }
    return tn_sum(y);
}

static const char nested[] = "let block = { lambda x:f64[32,16] w:f64[16,16] . let\n"
                             "    a:f64[32,16] = dot_general[dimension_numbers=(([1], [0]), ([], []))] x w\n"
                             "    b:f64[32,16] = sin a\n"
                             "    c:f64[32,16] = mul b x\n"
                             "  in (c,) } in\n"
                             "let region = { lambda x:f64[32,16] w:f64[16,16] . let\n"
                             "    a:f64[32,16] = call[name=\"b\" program=block] x w\n"
                             "  in (a,) } in\n"
                             "{ lambda x:f64[32,16] w:f64[16,16] . let\n"
                             "    a:f64[32,16] = checkpoint[name=\"r\" program=region policy=\"dots_saveable\"] x w\n"
                             "    b:f64[32,16] = call[name=\"b\" program=block] a w\n"
                             "    c:f64[32,16] = call[name=\"b\" program=block] b w\n"
                             "    y:f64[] = reduce_sum[axes=(0, 1)] c\n"
                             "  in (y,) }\n";

static const char perceptron[] = "{ lambda x:f32[64,48] u:f32[48,32] v:f32[32,16] b:f32[32] . let\n"
                                 "    a:f32[64,32] = dot_general[dimension_numbers=(([1], [0]), ([], []))] x u\n"
                                 "    c:f32[64,32] = broadcast_in_dim[shape=(64, 32) broadcast_dimensions=(1,)] b\n"
                                 "    d:f32[64,32] = add a c\n"
                                 "    e:f32[64,32] = tanh d\n"
                                 "    f:f32[64,16] = dot_general[dimension_numbers=(([1], [0]), ([], []))] e v\n"
                                 "    g:f32[64,16] = exp f\n"
                                 "    h:f32[64,16] = cos g\n"
                                 "  in (h,) }\n";

/* No size is a multiple of the arena's unit. */
static const char odd[] = "{ lambda x:f64[7,5] u:f64[5,3] k:i32[7] . let\n"
                          "    a:f64[7,3] = dot_general[dimension_numbers=(([1], [0]), ([], []))] x u\n"
                          "    b:f64[7,3] = exp a\n"
                          "    c:f64[7] = reduce_sum[axes=(1,)] b\n"
                          "    d:f64[7] = convert_element_type[new_dtype=float64] k\n"
                          "    e:f64[7] = mul c d\n"
                          "    f:f64[7] = sin e\n"
                          "    g:bool[7] = gt f 0.0\n"
                          "    h:f64[7] = select g c f\n"
                          "    y:f64[] = reduce_sum[axes=(0,)] h\n"
                          "    z:f64[] = log y\n"
                          "  in (z, c) }\n";

static const char elementwise[] = "{ lambda x:f64[64] z:f64[64] . let\n"
                                  "    a:f64[64] = sin x\n"
                                  "    b:f64[64] = mul a z\n"
                                  "    c:f64[64] = exp b\n"
                                  "    d:f64[64] = tanh c\n"
                                  "    e:f64[64] = cos d\n"
                                  "    f:f64[64] = mul e a\n"
                                  "    g:f64[64] = sin f\n"
                                  "  in (g,) }\n";

static const char *const programs[] = {nested, perceptron, odd, elementwise};

/* Calls `each` with every program under every policy that takes no arguments. */
static void everywhere(void (*each)(const tn_fn *f, const char *policy)) {
    for (size_t k = 0; k < COUNT(programs); k++) {
        tn_ctx *c = checked();
        const tn_fn *f = parsed(c, programs[k]);
        const tn_policy *p;
        bool arguments;
        size_t n = 0;
        for (size_t i = 0; (p = tn_policy_at(i, &arguments)) != NULL; i++)
            if (!arguments) {
                each(f, p->name);
                n++;
            }
        assert_true(n >= 5);
        tn_ctx_free(c);
    }
}

/* ---- entries --------------------------------------------------------------------------------------- */

static void entries_say_where_and_why(void **state) {
    (void)state;
    tn_ctx *c = checked();
    const tn_fn *f = tn_trace(c, wave, NULL, 2, TN_TYPES(tn_f32(6), tn_f32(6)));
    assert_non_null(f);
    tn_residuals *r = report(f, NULL, "everything_saveable");
    assert_int_equal(tn_residuals_count(r), 3);
    const tn_residual *sine = entry(r, TN_RESIDUAL_SAVED, "sin"), *cosine = entry(r, TN_RESIDUAL_SAVED, "cos"),
                      *input = entry(r, TN_RESIDUAL_INPUT, "input");
    const tn_type t = tn_f32(6);
    assert_true(tn_type_equal(&sine->type, &t));
    assert_int_equal(sine->bytes, 24);
    assert_int_equal(sine->line, wave_line);
    assert_non_null(strstr(sine->file, "residuals.c"));
    assert_string_equal(sine->scope, "body");
    assert_string_equal(sine->reader, "fma"); /* of both products of its derivative */
    assert_int_equal(sine->reader_line, wave_line + 1);
    assert_string_equal(sine->rule, "everything_saveable");
    assert_int_equal(sine->input, -1);
    assert_int_equal(cosine->line, wave_line);
    assert_int_equal(cosine->reader_line, wave_line);
    assert_true(cosine->flops == 6 * 16 && cosine->transcendentals == 6 && cosine->ns > 0 && cosine->times == 1);
    assert_int_equal(input->input, 1);
    assert_string_equal(input->rule, "input");

    tn_residuals *none = report(f, NULL, "nothing_saveable");
    assert_int_equal(count(none, TN_RESIDUAL_SAVED), 0);
    assert_int_equal(count(none, TN_RESIDUAL_INPUT), 2);
    assert_string_equal(entry(none, TN_RESIDUAL_RECOMPUTED, "cos")->rule, "nothing_saveable");
    const tn_residual_totals t0 = totals(none);
    /* sin is computed twice; cos once, behind the boundary */
    assert_true(t0.recomputed_transcendentals == 6 && t0.behind_transcendentals == 12);
    assert_true(t0.residual_bytes == 0);

    /* With respect to the factor alone, only the sine is needed. */
    tn_residuals *one = report(f, tn_wrt(1), NULL);
    assert_int_equal(tn_residuals_count(one), 1);
    assert_true(totals(one).residual_bytes == 24);
    tn_ctx_free(c);
}

static void inner_places_and_rules_of_regions_are_told(void **state) {
    (void)state;
    tn_ctx *c = checked();
    const tn_fn *f = parsed(c, nested);
    tn_residuals *r = report(f, NULL, "everything_saveable");
    size_t region = 0, around = 0;
    for (size_t i = 0; i < tn_residuals_count(r); i++) {
        const tn_residual *x = tn_residuals_at(r, i);
        assert_string_equal(x->file, "f.tn");
        if (x->verdict == TN_RESIDUAL_SAVED && strcmp(x->rule, "dots_saveable") == 0) {
            region++; /* its product alone */
            assert_string_equal(x->primitive, "dot_general");
            assert_int_equal(x->line, 2);
        } else if (x->verdict == TN_RESIDUAL_SAVED) {
            around++;
            assert_string_equal(x->rule, "everything_saveable");
        } else if (x->verdict == TN_RESIDUAL_RECOMPUTED) {
            assert_string_equal(x->rule, "dots_saveable");
            assert_true(x->times == 1);
        }
        if (x->verdict == TN_RESIDUAL_SAVED && strcmp(x->primitive, "dot_general") == 0) {
            assert_string_equal(x->reader, "mul"); /* inside the linear half of the region's program */
            assert_int_equal(x->reader_line, 3);
        }
    }
    assert_int_equal(region, 1);
    assert_int_equal(around, 6); /* sin and cos of two blocks, what comes to them from the region and from the first */

    /* A shared program is listed once for each policy, with the number of its runs. */
    tn_residuals *none = report(f, NULL, "nothing_saveable");
    double sines[2] = {0, 0};
    for (size_t i = 0; i < tn_residuals_count(none); i++) {
        const tn_residual *x = tn_residuals_at(none, i);
        if (x->verdict != TN_RESIDUAL_RECOMPUTED || strcmp(x->primitive, "sin") != 0) continue;
        sines[strcmp(x->rule, "dots_saveable") == 0] += x->times;
    }
    assert_true(sines[0] == 2 && sines[1] == 1);
    tn_ctx_free(c);
}

static tn_verdict products(void *user, const tn_candidate *v) {
    (void)user;
    return strcmp(v->primitive, "exp") == 0 ? TN_SAVE : TN_RECOMPUTE;
}

static void callbacks_and_errors(void **state) {
    (void)state;
    tn_ctx *c = checked();
    const tn_fn *f = parsed(c, perceptron);
    const tn_policy by = {.size = sizeof by, .callback = products}, wrong = {.size = sizeof wrong, .name = "wrong"};
    tn_residuals *r = tn_saved_residuals(f, NULL, &by);
    assert_non_null(r);
    assert_int_equal(count(r, TN_RESIDUAL_SAVED), 1);
    assert_string_equal(entry(r, TN_RESIDUAL_SAVED, "exp")->rule, "callback");
    assert_string_equal(totals(r).policy, "callback");
    assert_null(tn_residuals_at(r, tn_residuals_count(r)));
    assert_int_equal(tn_residuals_total(r, NULL), TN_EINVAL);
    assert_int_equal(tn_residuals_total(NULL, NULL), TN_EINVAL);

    /* An older program's totals are shorter. */
    tn_residual_totals t;
    memset(&t, 0x5A, sizeof t);
    t.size = offsetof(tn_residual_totals, recomputed_flops);
    assert_int_equal(tn_residuals_total(r, &t), TN_OK);
    assert_true(t.residual_bytes == 64 * 16 * 4);
    assert_int_equal(t.size, offsetof(tn_residual_totals, recomputed_flops));
    assert_int_equal(*(unsigned char *)&t.recomputed_flops, 0x5A);

    assert_null(tn_saved_residuals(f, NULL, &wrong));
    assert_int_equal(tn_last_status(c), TN_EINVAL);
    assert_null(tn_saved_residuals(f, tn_wrt(9), NULL));
    assert_null(tn_saved_residuals(NULL, NULL, NULL));
    const size_t before = tn_ctx_bytes(c);
    tn_residuals_free(report(f, NULL, NULL));
    assert_int_equal(tn_ctx_bytes(c), before);
    tn_residuals_free(r);
    assert_true(tn_ctx_bytes(c) < before);
    tn_residuals_free(NULL);
    assert_int_equal(tn_residuals_count(NULL), 0);
    assert_null(tn_residuals_at(NULL, 0));
    assert_string_equal(tn_residual_verdict_text((tn_residual_verdict)99), "unknown");
    tn_ctx_free(c);
}

static void the_table_is_listed(void **state) {
    (void)state;
    const tn_policy *p;
    bool arguments, some = false;
    size_t n = 0;
    for (; (p = tn_policy_at(n, &arguments)) != NULL; n++) {
        assert_string_equal(tn_policy_by_name(p->name)->name, p->name);
        some |= arguments;
    }
    assert_true(n >= 10 && some);
    assert_null(tn_policy_at(SIZE_MAX, NULL));
}

/* ---- totals against the programs ------------------------------------------------------------------------- */

static tn_cost_report cost(const tn_fn *f) {
    tn_cost_report k = {.size = sizeof k};
    assert_int_equal(tn_cost(f, &k), TN_OK);
    return k;
}

static void adds_up(const tn_fn *f, const char *name) {
    const tn_policy policy = {.size = sizeof policy, .name = name},
                    all = {.size = sizeof all, .name = "everything_saveable"};
    tn_residuals *r = report(f, NULL, name);
    const tn_residual_totals t = totals(r);
    const tn_linearized l = tn_linearize(f, NULL, &policy), a = tn_linearize(f, NULL, &all);
    const tn_fn *back = tn_transpose(l.linear), *vjp = tn_vjp(f, NULL, &policy);
    assert_non_null(l.primal);
    assert_non_null(back);
    assert_string_equal(t.policy, name);

    /* What the primal program hands out beside its results, inputs apart; each is an entry. */
    double bytes = 0;
    size_t crossing = 0, inputs = 0;
    for (uint32_t j = f->nout; j < l.primal->nout; j++) {
        const tn_i_val *v = &l.primal->val[l.primal->out[j]];
        if (v->def == TN_DEF_INPUT)
            inputs++;
        else
            bytes += (double)tn_type_bytes(v->type), crossing++;
    }
    assert_true(t.residual_bytes + t.offloaded_bytes == bytes);
    assert_int_equal(count(r, TN_RESIDUAL_SAVED) + count(r, TN_RESIDUAL_OFFLOADED), crossing);
    assert_int_equal(count(r, TN_RESIDUAL_INPUT), inputs);

    /* Work conserved: the two halves do what they do when all is saved, and what is recomputed.  Regions
     * recompute under every policy, so that the difference of two policies is exact. */
    const tn_residual_totals ta = totals(report(f, NULL, "everything_saveable"));
    const double with = cost(l.primal).flops + cost(l.linear).flops,
                 without = cost(a.primal).flops + cost(a.linear).flops;
    assert_true(t.recomputed_flops >= 0 && t.recomputed_transcendentals >= 0);
    assert_true(with - without == t.recomputed_flops - ta.recomputed_flops);
    assert_true(t.flops - ta.flops == t.recomputed_flops - ta.recomputed_flops);
    assert_true(t.transcendentals - ta.transcendentals == t.recomputed_transcendentals - ta.recomputed_transcendentals);
    assert_true(t.behind_flops >= t.recomputed_flops);
    assert_true(t.behind_transcendentals >= t.recomputed_transcendentals);

    assert_true(t.peak_forward_bytes == cost(l.primal).peak_bytes);
    assert_true(t.peak_backward_bytes == cost(back).peak_bytes);
    assert_true(t.peak_bytes == cost(vjp).peak_bytes && t.equations == cost(vjp).equations);
    assert_true(t.modelled_ns > 0);
}

static void totals_are_those_of_the_programs(void **state) {
    (void)state;
    everywhere(adds_up);
}

/* ---- totals against memory ---------------------------------------------------------------------------------- */

/* Which bytes of the arena are written, with all outputs or with all but one: those that do not hold one of two
 * patterns any more.  (A byte that is written alike in both runs differs from at least one.)  Beyond the arena nothing
 * is written. */
typedef struct touched {
    size_t bytes, high;    /* how many, and one more than the last of them */
    size_t reported, work; /* of the arena; of the workspace */
} touched;

enum { GUARD = 4096 };

static void *numbers(const tn_type *t) {
    const size_t n = tn_type_elements(t);
    char *p = malloc(tn_type_bytes(t) + 1);
    assert_non_null(p);
    for (size_t i = 0; i < n; i++) {
        const double x = 0.25 + (double)(i * 37 % 101) / 404;
        if (t->dtype == TN_F64) ((double *)(void *)p)[i] = x;
        if (t->dtype == TN_F32) ((float *)(void *)p)[i] = (float)x;
        if (t->dtype == TN_I32) ((int32_t *)(void *)p)[i] = (int32_t)(i % 3);
        if (t->dtype == TN_BOOL) p[i] = (char)(i % 2);
    }
    return p;
}

static touched run_on_patterns(const tn_fn *f, int backend) {
    tn_exec *e = tn_compile(
        f, &(tn_compile_options){.size = sizeof(tn_compile_options), .spill_dir = "/tmp", .backend = backend});
    assert_non_null(e);
    void *in[16], *out[32];
    assert_true(f->nin <= COUNT(in) && f->nout <= COUNT(out));
    for (uint32_t i = 0; i < f->nin; i++) in[i] = numbers(f->val[i].type);
    for (uint32_t j = 0; j < f->nout; j++) out[j] = numbers(f->val[f->out[j]].type);
    touched t = {.reported = tn_exec_bytes(e), .work = tn_work_bytes(e)};
    unsigned char *seen = calloc(t.reported + 1, 1), *memory = malloc(t.work + GUARD);
    assert_true(seen && memory);
    for (uint32_t run = 0; run < 2 * (f->nout + 1); run++) {
        const int pattern = run % 2 ? 0x5A : 0xA5;
        void *given[32];
        for (uint32_t j = 0; j < f->nout; j++) given[j] = j == run / 2 ? NULL : out[j];
        memset(memory, pattern, t.work + GUARD);
        tn_work *w = tn_work_new(e, memory, t.work);
        assert_non_null(w);
        assert_true(w->arena >= memory && w->arena + t.reported <= memory + t.work);
        assert_int_equal(tn_call_in(e, w, (const void *const *)in, given), TN_OK);
        for (size_t i = 0; i < t.reported; i++) seen[i] |= w->arena[i] != pattern;
        for (unsigned char *p = w->arena + t.reported; p < memory + t.work + GUARD; p++)
            if (p < w->all || p >= w->all + e->all.bytes) assert_int_equal(*p, pattern); /* `all`: of small programs */
        tn_work_free(w);
    }
    for (size_t i = 0; i < t.reported; i++) {
        t.bytes += seen[i];
        if (seen[i]) t.high = i + 1;
    }
    for (uint32_t i = 0; i < f->nin; i++) free(in[i]);
    for (uint32_t j = 0; j < f->nout; j++) free(out[j]);
    free(seen);
    free(memory);
    tn_exec_free(e);
    return t;
}

/* The peak that is reported is the arena.  It is made of units of 64 bytes; what is written of it ends in its last
 * unit, where nothing is fused: nests have tiles which they may do without. */
static void reaches_its_end(const tn_fn *f, double reported, const char *name) {
    const touched t = run_on_patterns(f, TN_BACKEND_DEFAULT), r = run_on_patterns(f, TN_BACKEND_REFERENCE);
    assert_true((double)t.reported == reported);
    assert_true(t.bytes <= t.high && t.high <= t.reported);
    assert_true(r.bytes <= r.high && r.high <= r.reported);
    if (r.high + 64 <= r.reported) fail_msg("%s: %zu of %zu bytes", name, r.high, r.reported);
}

static void is_used(const tn_fn *f, const char *name) {
    const tn_policy policy = {.size = sizeof policy, .name = name};
    const tn_residual_totals t = totals(report(f, NULL, name));
    const tn_linearized l = tn_linearize(f, NULL, &policy);
    reaches_its_end(l.primal, t.peak_forward_bytes, name);
    reaches_its_end(tn_transpose(l.linear), t.peak_backward_bytes, name);
    reaches_its_end(tn_vjp(f, NULL, &policy), t.peak_bytes, name);
}

static void peaks_are_what_is_used(void **state) {
    (void)state;
    everywhere(is_used);
}

static int exact; /* pairs of a program and a policy that were compared */

/* Where every value fills its units there is no padding, and every byte of the arena is written. */
static void written_whole(const tn_fn *f) {
    const touched t = run_on_patterns(f, TN_BACKEND_REFERENCE);
    assert_int_equal(t.bytes, t.reported);
}

static void every_byte_is_used(const tn_fn *f, const char *name) {
    for (uint32_t v = 0; v < f->nval; v++)
        if (tn_type_bytes(f->val[v].type) % 64 != 0 && !tn_i_is_literal(f, v)) return;
    const tn_policy policy = {.size = sizeof policy, .name = name};
    const tn_residual_totals t = totals(report(f, NULL, name));
    if (t.offloaded_bytes > 0) return; /* checksums do not fill their unit */
    const tn_linearized l = tn_linearize(f, NULL, &policy);
    written_whole(l.primal);
    written_whole(tn_transpose(l.linear));
    written_whole(tn_vjp(f, NULL, &policy));
    exact++;
}

static void without_padding_the_peak_is_exact(void **state) {
    (void)state;
    exact = 0;
    everywhere(every_byte_is_used);
    assert_true(exact >= 2 * 5); /* two of the programs are so */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_say_where_and_why),
        cmocka_unit_test(inner_places_and_rules_of_regions_are_told),
        cmocka_unit_test(callbacks_and_errors),
        cmocka_unit_test(the_table_is_listed),
        cmocka_unit_test(totals_are_those_of_the_programs),
        cmocka_unit_test(peaks_are_what_is_used),
        cmocka_unit_test(without_padding_the_peak_is_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
