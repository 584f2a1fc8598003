/* Loops whose carries are empty, unused, constant, integers or of no elements, under every schedule, of known and of
 * unknown length, as scan and as while: derivatives of first and second order have the bits of all_save, and the
 * reference's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <tansy.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct variant {
    const char *name, *type, *step; /* of m: f64[] and c: what is next in t: f64[] and d */
} variant;

static const variant variants[] = {
    {"empty", "f64[0]", "d:f64[0] = sin c s:f64[] = reduce_sum[axes=(0,)] c u:f64[] = sin m t:f64[] = add u s"},
    {"without elements", "f64[0,3]",
     "d:f64[0,3] = mul c c s:f64[] = reduce_sum[axes=(0,1)] c u:f64[] = cos s t:f64[] = mul m u"},
    {"unused", "f64[2]", "d:f64[2] = mul c 1.0 t:f64[] = sin m"},
    {"only read", "f64[2]", "d:f64[2] = mul c 1.0 s:f64[] = reduce_sum[axes=(0,)] c u:f64[] = mul s m t:f64[] = sin u"},
    {"constant", "f64[2]",
     "d:f64[2] = broadcast_in_dim[shape=(2,) broadcast_dimensions=()] 0.5:f64[] s:f64[] = reduce_sum[axes=(0,)] c "
     "u:f64[] = mul s m t:f64[] = sin u"},
    {"integer", "i64[]",
     "d:i64[] = add c 3:i64[] s:f64[] = convert_element_type[new_dtype=f64] c u:f64[] = mul 0.1:f64[] s "
     "v:f64[] = mul u m t:f64[] = sin v"},
    {"integers without elements", "i32[3,0]", "d:i32[3,0] = add c c t:f64[] = sin m"},
    {"bool", "bool[]", "d:bool[] = not c s:f64[] = sin m u:f64[] = cos m t:f64[] = select c s u"},
    {"state", "f64[2]",
     "k:f64[2] = broadcast_in_dim[shape=(2,) broadcast_dimensions=()] m e:f64[2] = mul k c d:f64[2] = sin e "
     "s:f64[] = reduce_sum[axes=(0,)] d t:f64[] = mul s m"},
};

typedef enum length { KNOWN, COUNTED, FOUND, LENGTHS } length;
static const char *const length_name[LENGTHS] = {"scan of known length", "scan of unknown length", "while"};

/* The program; `nothing else` than c is carried where `alone`. */
static int text_of(char *text, size_t room, const variant *v, length k, const char *schedule) {
    const char *head = "{ lambda n:i64[] m:f64[] c:%s . let ";
    int at = snprintf(text, room, head, v->type);
    if (k == FOUND)
        at +=
            snprintf(text + at, room - (size_t)at,
                     "z:i64[] a:f64[] b:%s = while[cond={ lambda n:i64[] i:i64[] m:f64[] c:%s . let p:bool[] = lt i n "
                     "in (p,) } body={ lambda i:i64[] m:f64[] c:%s . let j:i64[] = add i 1:i64[] %s in (j, t, d) } "
                     "cond_nconsts=1 body_nconsts=0 schedule=\"%s\"] n 0:i64[] m c",
                     v->type, v->type, v->type, v->step, schedule);
    else
        at +=
            snprintf(text + at, room - (size_t)at,
                     "a:f64[] b:%s = scan[program={ lambda m:f64[] c:%s . let %s in (t, d) } num_consts=0 num_carry=2 "
                     "%s schedule=\"%s\"] %s m c",
                     v->type, v->type, v->step, k == KNOWN ? "length=7" : "", schedule, k == KNOWN ? "" : "n");
    return at + snprintf(text + at, room - (size_t)at, " y:f64[] = sin a in (y,) }");
}

static void fill(void *p, const tn_type *t) {
    for (size_t i = 0; i < tn_type_elements(t); i++) {
        if (t->dtype == TN_F64) ((double *)p)[i] = 0.3 + 0.2 * (double)i;
        if (t->dtype == TN_I64) ((int64_t *)p)[i] = 7;
        if (t->dtype == TN_I32) ((int32_t *)p)[i] = 2;
        if (t->dtype == TN_BOOL) ((bool *)p)[i] = true;
    }
}

enum { MOST = 12, BYTES = 64 };
typedef struct results {
    size_t n;
    unsigned char data[MOST][BYTES];
} results;

static void run(const char *what, const tn_fn *f, int backend, results *r) {
    double room[MOST][BYTES / sizeof(double)];
    const void *in[MOST];
    void *out[MOST];
    assert_true(tn_fn_inputs(f) <= MOST && tn_fn_outputs(f) <= MOST);
    for (size_t i = 0; i < tn_fn_inputs(f); i++) {
        const tn_type t = tn_fn_input_type(f, i);
        assert_true(tn_type_bytes(&t) <= BYTES);
        fill(room[i], &t);
        in[i] = room[i];
    }
    *r = (results){.n = tn_fn_outputs(f)};
    for (size_t j = 0; j < r->n; j++) out[j] = r->data[j];
    const tn_compile_options o = {.size = sizeof o, .backend = backend};
    tn_exec *e = tn_compile(f, &o);
    if (!e) print_error("%s: %s\n", what, tn_error(tn_fn_ctx(f)));
    assert_non_null(e);
    for (int call = 0; call < 2; call++) {
        const tn_status s = tn_call(e, in, out);
        if (s != TN_OK) print_error("%s: %s\n", what, tn_exec_error(e));
        assert_int_equal(s, TN_OK);
    }
    tn_exec_free(e);
}

/* The gradient, forward over reverse and reverse over reverse. */
static tn_fn *derivative(const tn_fn *f, int order) {
    static const int m[] = {1};
    static const tn_wrt_list wrt = {1, m};
    tn_fn *g = tn_vjp(f, &wrt, NULL);
    if (order == 0) return g;
    tn_fn *h = order == 1 ? tn_jvp(g, &wrt) : tn_vjp(g, &wrt, NULL);
    tn_fn_free(g);
    return h;
}

static void compare(tn_ctx *c, const variant *v, length k, const char *schedule, const results *want, results *got) {
    char text[2048], what[256];
    (void)text_of(text, sizeof text, v, k, schedule);
    (void)snprintf(what, sizeof what, "%s, %s, %s", v->name, length_name[k], schedule);
    tn_fn *f = tn_fn_parse(c, text, strlen(text), what);
    if (!f) print_error("%s: %s\n", what, tn_error(c));
    assert_non_null(f);
    for (int order = 0; order < 3; order++) {
        tn_fn *g = derivative(f, order);
        if (!g) print_error("%s, derivative %d: %s\n", what, order, tn_error(c));
        assert_non_null(g);
        for (int backend = TN_BACKEND_DEFAULT; backend <= TN_BACKEND_REFERENCE; backend++) {
            results *r = &got[2 * order + backend];
            run(what, g, backend, r);
            if (!want) continue;
            if (memcmp(r, &want[2 * order + backend], sizeof *r) != 0)
                print_error("%s, derivative %d: other bits than all_save\n", what, order);
            assert_memory_equal(r, &want[2 * order + backend], sizeof *r);
        }
        tn_fn_free(g);
    }
    tn_fn_free(f);
}

/* "NAME" or "NAME:ARGUMENTS" with small numbers for them. */
static void with_numbers(char *text, size_t room, const char *schedule) {
    const char *colon = strchr(schedule, ':');
    const int name = (int)(colon ? colon - schedule : (long)strlen(schedule));
    const char *numbers = !colon ? "" : strncmp(schedule, "disk_revolve", (size_t)name) == 0 ? ":2,2" : ":2";
    (void)snprintf(text, room, "%.*s%s", name, schedule, strcmp(schedule, "auto") == 0 ? "" : numbers);
}

static bool known_only(const char *schedule) {
    return strncmp(schedule, "revolve", 7) == 0 || strncmp(schedule, "mixed", 5) == 0 ||
           strncmp(schedule, "disk", 4) == 0;
}

static void carries(void **state) {
    (void)state;
    size_t cells = 0;
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
        for (length k = KNOWN; k < LENGTHS; k++) {
            tn_ctx *c = tn_ctx_new(NULL);
            results want[6], got[6];
            compare(c, &variants[i], k, "all_save", NULL, want);
            for (size_t s = 0; tn_schedule_at(s); s++) {
                char schedule[64];
                with_numbers(schedule, sizeof schedule, tn_schedule_at(s));
                if ((k != KNOWN && known_only(schedule)) || strncmp(schedule, "disk", 4) == 0) continue;
                if (strncmp(schedule, "auto", 4) == 0) (void)snprintf(schedule, sizeof schedule, "auto");
                compare(c, &variants[i], k, schedule, want, got);
                cells++;
            }
            tn_ctx_free(c);
        }
    assert_true(cells >= 9 * (6 + 4 + 4));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(carries)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
