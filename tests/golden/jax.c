/* Programs as JAX prints them (tests/golden/jax, recorded by record.py): value, gradient and
 * Hessian-vector product against JAX's own, to rounding. */
#include "tansy.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 16 };

typedef struct numbers {
    double *v;
    size_t n;
} numbers;

typedef struct golden {
    numbers in[MOST], grad[MOST], tangent[MOST], hvp[MOST], value;
    size_t nin, ngrad, ntangent, nhvp;
    int wrt[MOST];
    size_t nwrt;
} golden;

static char *slurp(const char *path, size_t *n) {
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    char *text = NULL;
    *n = 0;
    for (size_t room = 0, got = 1; got;) {
        if (*n == room) text = realloc(text, room = room ? 2 * room : 65536);
        got = text ? fread(text + *n, 1, room - *n, f) : 0;
        *n += got;
    }
    fclose(f);
    return text;
}

static numbers read_numbers(const char *s, const char *end) {
    numbers r = {malloc((size_t)(end - s + 1) * sizeof(double)), 0};
    while (r.v && s < end) {
        char *next;
        double x = strtod(s, &next);
        if (next == s || next > end) break;
        r.v[r.n++] = x;
        s = next;
    }
    return r;
}

static void read_line(golden *g, const char *s, const char *end) {
    numbers r = {NULL, 0};
    const char *space = memchr(s, ' ', (size_t)(end - s));
    size_t tag = space ? (size_t)(space - s) : (size_t)(end - s);
    r = read_numbers(s + tag, end);
    if (!strncmp(s, "in", tag) && g->nin < MOST)
        g->in[g->nin++] = r;
    else if (!strncmp(s, "grad", tag) && g->ngrad < MOST)
        g->grad[g->ngrad++] = r;
    else if (!strncmp(s, "tangent", tag) && g->ntangent < MOST)
        g->tangent[g->ntangent++] = r;
    else if (!strncmp(s, "hvp", tag) && g->nhvp < MOST)
        g->hvp[g->nhvp++] = r;
    else if (!strncmp(s, "value", tag))
        g->value = r;
    else {
        for (size_t i = 0; i < r.n && i < MOST; i++) g->wrt[g->nwrt++] = (int)r.v[i];
        free(r.v);
    }
}

static void read_golden(golden *g, const char *text, size_t n) {
    for (const char *s = text, *end = text + n; s < end;) {
        const char *stop = memchr(s, '\n', (size_t)(end - s));
        if (!stop) stop = end;
        if (stop - s > 3 && !memcmp(s, "#= ", 3)) read_line(g, s + 3, stop);
        s = stop + 1;
    }
}

static void free_golden(golden *g) {
    for (size_t i = 0; i < MOST; i++) free(g->in[i].v), free(g->grad[i].v), free(g->tangent[i].v), free(g->hvp[i].v);
    free(g->value.v);
}

static void *buffer(tn_type t, const numbers *from) {
    size_t n = tn_type_elements(&t);
    char *data = calloc(n + 1, 8);
    for (size_t i = 0; data && from && i < n && i < from->n; i++) {
        if (t.dtype == TN_F64)
            ((double *)(void *)data)[i] = from->v[i];
        else if (t.dtype == TN_I64)
            ((int64_t *)(void *)data)[i] = (int64_t)from->v[i];
        else if (t.dtype == TN_I32)
            ((int32_t *)(void *)data)[i] = (int32_t)from->v[i];
    }
    return data;
}

/* Runs f on the inputs and tangents; compares its outputs. */
static int compare(const char *what, const tn_fn *f, const golden *g, const numbers *want, size_t nwant) {
    void *in[2 * MOST] = {NULL}, *out[MOST] = {NULL};
    size_t nin = tn_fn_inputs(f), nout = tn_fn_outputs(f);
    int bad = nout != nwant || nin > 2 * MOST;
    for (size_t i = 0; !bad && i < nin; i++)
        in[i] = buffer(tn_fn_input_type(f, i), i < g->nin ? &g->in[i] : &g->tangent[i - g->nin]);
    for (size_t j = 0; !bad && j < nout; j++) out[j] = buffer(tn_fn_output_type(f, j), NULL);
    tn_exec *e = bad ? NULL : tn_compile(f, NULL);
    if (!e || tn_call(e, (const void *const *)in, out) != TN_OK) bad = 1;
    for (size_t j = 0; !bad && j < nout; j++) {
        tn_type t = tn_fn_output_type(f, j);
        double scale = 1;
        bad |= t.dtype != TN_F64 || tn_type_elements(&t) != want[j].n;
        for (size_t k = 0; !bad && k < want[j].n; k++) scale = fmax(scale, fabs(want[j].v[k]));
        for (size_t k = 0; !bad && k < want[j].n; k++) {
            double got = ((double *)out[j])[k];
            if (fabs(got - want[j].v[k]) <= 2e-13 * scale) continue;
            printf("    %s %zu[%zu]: %.17g, JAX has %.17g\n", what, j, k, got, want[j].v[k]);
            bad = 1;
        }
    }
    for (size_t i = 0; i < 2 * MOST; i++) free(in[i]);
    for (size_t j = 0; j < MOST; j++) free(out[j]);
    return bad;
}

static int check_file(const char *dir, const char *name) {
    char path[512];
    size_t n;
    golden g = {0};
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    char *text = slurp(path, &n);
    tn_ctx_options o = {.size = sizeof o, .check = 1};
    tn_ctx *c = tn_ctx_new(&o);
    int bad = !text || !c;
    if (!bad) {
        read_golden(&g, text, n);
        tn_wrt_list wrt = {g.nwrt, g.wrt};
        tn_fn *f = tn_fn_parse(c, text, n, path), *d = tn_grad(f, &wrt, NULL), *h = tn_hvp(f, &wrt, NULL);
        tn_fn *low = tn_grad(f, &wrt, tn_policy_by_name("nothing_saveable"));
        bad = !d || !h || !low || compare("value", f, &g, &g.value, 1) || compare("gradient", d, &g, g.grad, g.ngrad) ||
              compare("gradient", low, &g, g.grad, g.ngrad) || compare("hvp", h, &g, g.hvp, g.nhvp);
    }
    printf("%s  %s%s%s\n", bad ? "FAIL" : "ok  ", name, bad ? ": " : "", bad ? tn_error(c) : "");
    free_golden(&g);
    free(text);
    tn_ctx_free(c);
    return bad;
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

int main(int argc, char **argv) {
    const char *dir = argc > 1 ? argv[1] : "tests/golden/jax";
    char *names[256];
    int n = 0, failed = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e; d && n < 256 && (e = readdir(d)) != NULL;) {
        size_t len = strlen(e->d_name);
        if (len > 3 && !strcmp(e->d_name + len - 3, ".tn") && (names[n] = malloc(len + 1)))
            memcpy(names[n++], e->d_name, len + 1);
    }
    if (d) closedir(d);
    qsort(names, (size_t)n, sizeof *names, by_name);
    for (int i = 0; i < n; i++) {
        failed += check_file(dir, names[i]);
        free(names[i]);
    }
    printf("%d passed, %d failed\n", n - failed, failed);
    return n == 0 || failed;
}
