/* Programs with inputs and outputs whose length a loop found, called as their headers say. */
#include "emit/written.h"

#include <tansy/emit.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The program, what is called with it, F standing for its name, and what that is to return. */
typedef struct example {
    const char *what, *program, *call;
    int status;
    int64_t capacity;
} example;

#define DOUBLE "program={ lambda x:f64[2] . let y:f64[2] = add x x in (y,) } num_consts=0 num_carry=0"
#define WORK   "double *w = emit_room(F_WORK_BYTES);\n"
#define END    "return emit_whole(w, F_WORK_BYTES) ? status : 99;\n"

static const example examples[] = {
    {"an input that is an output, twice, and what a loop makes of it",
     "{ lambda n:i64[] x:f64[?,2] . let y:f64[?,2] = scan[" DOUBLE "] n x in (x, y, x, y) }",
     "const int64_t n = 3;\nint64_t l[4] = {-1, -1, -1, -1};\nconst double x[6] = {1, 2, 3, 4, 5, 6};\n"
     "double y[4][F_OUT0_ELEMENTS];\n" WORK
     "const int status = F(&n, x, 3, y[0], &l[0], y[1], &l[1], y[2], &l[2], y[3], &l[3], w);\n"
     "for (int k = 0; k < 4; k++) {\nif (l[k] != 3) return 50 + k;\n"
     "for (int i = 0; i < 6; i++) {\nif (y[k][i] != (k % 2 + 1) * x[i]) return 60 + k;\n}\n}\n" END,
     0, 3},
    {"one more than there is room for", "{ lambda n:i64[] x:f64[?,2] . let y:f64[?,2] = scan[" DOUBLE "] n x in (y,) }",
     "const int64_t n = 3;\nint64_t l;\nconst double x[6] = {1, 2, 3, 4, 5, 6};\ndouble y[F_OUT0_ELEMENTS];\n" WORK
     "const int status = F(&n, x, 3, y, &l, w);\n" END,
     3, 2},
    {"an input that leaves with less room", "{ lambda x:f64[?,2] . let in (x,) }",
     "int64_t l;\nconst double x[6] = {1, 2, 3, 4, 5, 6};\ndouble y[F_OUT0_ELEMENTS];\n" WORK
     "const int status = F(x, 3, y, &l, w);\n" END,
     3, 2},
    {"no steps", "{ lambda n:i64[] x:f64[?,2] . let y:f64[?,2] = scan[" DOUBLE "] n x in (y,) }",
     "const int64_t n = 0;\nint64_t l = 9;\ndouble y[F_OUT0_ELEMENTS];\n" WORK
     "const int status = F(&n, NULL, 0, y, &l, w);\nif (l != 0) return 50;\n" END,
     0, 2},
    {"an array without end, which leaves as it came, and doubled",
     "{ lambda x:f64[?,2] . let n:i64[] = steps x y:f64[?,2] = scan[" DOUBLE "] n x in (x, y) }",
     "int64_t l[2];\nconst double x[2] = {1, 2};\ndouble y[2][F_OUT0_ELEMENTS];\n" WORK
     "const int status = F(x, INT64_MAX, y[0], &l[0], y[1], &l[1], w);\n"
     "for (int k = 0; k < 2; k++) {\nif (l[k] != INT64_MAX) return 50 + k;\n"
     "for (int i = 0; i < 2; i++) {\nif (y[k][i] != (k + 1) * x[i]) return 60 + k;\n}\n}\n" END,
     0, 1},
    {"of which a loop reads some entries",
     "{ lambda n:i64[] x:f64[?,2] . let y:f64[?,2] = scan[" DOUBLE "] n x in (y,) }",
     "const int64_t n = 3;\nint64_t l;\nconst double x[2] = {1, 2};\ndouble y[F_OUT0_ELEMENTS];\n" WORK
     "const int status = F(&n, x, INT64_MAX, y, &l, w);\nif (l != 3) return 50;\n"
     "for (int i = 0; i < 6; i++) {\nif (y[i] != 2 * x[i % 2]) return 60;\n}\n" END,
     0, 3},
    {"zeros without end",
     "{ lambda . let x:f64[?,2] = broadcast_in_dim[shape=(?,2) broadcast_dimensions=()] 0.0 in (x,) }",
     "int64_t l = 0;\ndouble y[F_OUT0_ELEMENTS] = {1, 1};\n" WORK
     "const int status = F(y, &l, w);\nif (l != INT64_MAX || y[0] != 0 || y[1] != 0) return 50;\n" END,
     0, 1},
    {"a negative length", "{ lambda x:f64[?,2] . let in (x,) }",
     "int64_t l;\nconst double x[2] = {1, 2};\ndouble y[F_OUT0_ELEMENTS];\n" WORK
     "const int status = F(x, -1, y, &l, w);\n" END,
     6, 2},
    {"lengths that differ",
     "{ lambda a:f64[?,2] b:f64[?,2] . let n:i64[] = steps a y:f64[?,2] = scan[program={ lambda x:f64[2] z:f64[2] . "
     "let "
     "y:f64[2] = add x z in (y,) } num_consts=0 num_carry=0] n a b in (y,) }",
     "int64_t l;\nconst double x[4] = {1, 2, 3, 4};\ndouble y[F_OUT0_ELEMENTS];\n" WORK
     "const int status = F(x, 1, x, 2, y, &l, w);\n" END,
     6, 2},
    {"fewer entries than a loop of which nothing is known but as it runs",
     "{ lambda m:i64[] x:f64[?,2] . let n:i64[] = add m 1:i64[] y:f64[?,2] = scan[" DOUBLE "] n x in (y,) }",
     "const int64_t m = 2;\nint64_t l;\nconst double x[4] = {1, 2, 3, 4};\ndouble y[F_OUT0_ELEMENTS];\n" WORK
     "const int status = F(&m, x, 2, y, &l, w);\n" END,
     4, 5},
    {"arrays in arrays, some of one entry for all", "{ lambda x:f64[2,?,?] . let in (x, x) }",
     "const int64_t n[2] = {3, 1}, m[4] = {2, 0, INT64_MAX, 1};\nconst double x[4] = {1, 2, 3, 4};\n"
     "int64_t l[2][2], k[2][F_OUT0_LENGTHS2];\ndouble y[2][F_OUT0_ELEMENTS];\n" WORK
     "const int status = F(x, n, m, y[0], l[0], k[0], y[1], l[1], k[1], w);\n"
     "for (int j = 0; j < 2; j++) {\n"
     "if (memcmp(l[j], n, sizeof n) || memcmp(k[j], m, sizeof m) || memcmp(y[j], x, sizeof x)) return 50 + j;\n}\n" END,
     0, 2},
    {"arrays in one that stands for all", "{ lambda x:f64[?,?,2] . let in (x,) }",
     "const int64_t m[1] = {2};\nconst double x[4] = {1, 2, 3, 4};\nint64_t l, k[F_OUT0_LENGTHS2];\n"
     "double y[F_OUT0_ELEMENTS];\n" WORK "const int status = F(x, INT64_MAX, m, y, &l, k, w);\n"
     "if (l != INT64_MAX || k[0] != 2 || memcmp(y, x, sizeof x)) return 50;\n" END,
     0, 2},
    {"arrays in arrays of which the last has no room", "{ lambda x:f64[?,?,2] . let in (x,) }",
     "const int64_t m[2] = {2, 1};\nconst double x[6] = {1, 2, 3, 4, 5, 6};\nint64_t l, k[F_OUT0_LENGTHS2];\n"
     "double y[F_OUT0_ELEMENTS];\n" WORK "const int status = F(x, 2, m, y, &l, k, w);\n" END,
     3, 2},
};

static void put_call(FILE *t, const char *text, const char *name, const char *upper) {
    for (const char *s = text; *s; s++) {
        const bool alone = s == text || !(strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZ_", s[-1]));
        if (*s == 'F' && alone && (s[1] == '_' || s[1] == '('))
            (void)fputs(s[1] == '_' ? upper : name, t);
        else
            (void)fputc(*s, t);
    }
}

static void add_example(emit_session *s, tn_ctx *c, const example *x) {
    char name[32], upper[32], *source, *header;
    size_t bytes;
    if (s->n == EMIT_MOST) return;
    const tn_fn *f = tn_fn_parse(c, x->program, strlen(x->program), "lengths");
    emit_record *r = &s->at[s->n];
    (void)snprintf(name, sizeof name, "case_%zu", s->n);
    (void)snprintf(upper, sizeof upper, "CASE_%zu", s->n);
    const tn_emit_c_options o = {.size = sizeof o, .name = name, .header = "empty.h", .capacity = x->capacity};
    if (!f || tn_emit_c(f, &o, &source, &header) != TN_OK) {
        emit_wrong(s, x->what, tn_error(c));
        return;
    }
    *r = (emit_record){.status = x->status};
    (void)snprintf(r->what, sizeof r->what, "%s: %.120s", name, x->what);
    FILE *t = open_memstream(&r->text, &bytes);
    (void)fprintf(t,
                  "%s%sint call_%zu(const void *const *in, void *const *out, void *work);\n"
                  "int call_%zu(const void *const *in, void *const *out, void *work) {\n(void)in, (void)out, "
                  "(void)work;\n",
                  header, source, s->n, s->n);
    put_call(t, x->call, name, upper);
    (void)fprintf(t, "}\nextern const long bytes_%zu;\nconst long bytes_%zu = 64;\n", s->n, s->n);
    (void)fclose(t);
    tn_text_free(c, source);
    tn_text_free(c, header);
    s->n++;
}

void emit_lengths(emit_session *s) {
    const tn_ctx_options opt = {.size = sizeof opt, .check = 1};
    tn_ctx *c = tn_ctx_new(&opt);
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) add_example(s, c, &examples[i]);
    tn_ctx_free(c);
}
