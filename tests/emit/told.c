/* What programs print. */
#include "emit/written.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void emit_told_clear(emit_told *t) { t->ntext = t->n = 0; }

void emit_told_free(emit_told *t) {
    free(t->x);
    *t = (emit_told){.n = 0};
}

static void add_text(emit_told *t, const char *text) {
    const size_t room = sizeof t->text - 1 - t->ntext, n = strlen(text) < room ? strlen(text) : room;
    memcpy(t->text + t->ntext, text, n + 1 <= room ? n + 1 : n);
    t->ntext += n;
    t->text[t->ntext] = 0;
}

void emit_told_add(emit_told *t, int kind, const char *message, const char *file, int line) {
    char text[300];
    (void)snprintf(text, sizeof text, "%d '%.100s' %.100s:%d\n", kind, message, file, line);
    add_text(t, text);
}

static double element(const char *type, const void *data, int64_t i) {
    if (strcmp(type, "f64") == 0) return ((const double *)data)[i];
    if (strcmp(type, "f32") == 0) return (double)((const float *)data)[i];
    if (strcmp(type, "i64") == 0) return (double)((const int64_t *)data)[i];
    if (strcmp(type, "i32") == 0) return (double)((const int32_t *)data)[i];
    return ((const uint8_t *)data)[i];
}

void emit_told_array(emit_told *t, const char *type, int rank, const int64_t *dim, const void *data) {
    char text[60];
    int64_t n = 1;
    add_text(t, type);
    for (int d = 0; d < rank; d++) {
        (void)snprintf(text, sizeof text, " %lld", (long long)dim[d]);
        add_text(t, text);
        n *= dim[d];
    }
    add_text(t, "\n");
    for (int64_t i = 0; i < n; i++) {
        if (t->n == t->most) {
            t->most = t->most ? 2 * t->most : 64;
            t->x = realloc(t->x, t->most * sizeof *t->x);
            if (!t->x) abort();
        }
        t->x[t->n++] = element(type, data, i);
    }
}

int emit_hear(void *user, const tn_effect *e) {
    emit_told *t = user;
    if (e->kind == TN_ASSERT) return 0;
    emit_told_add(t, e->kind == TN_PROGRESS, e->message, e->file, e->line);
    for (size_t i = 0; i < e->n; i++) {
        const tn_type *x = e->array[i].type;
        emit_told_array(t, tn_i_dtype_name(x->dtype), x->rank, x->dim, e->array[i].data);
    }
    return 0;
}

static bool near(double a, double b, double tolerance) {
    return a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= tolerance * fmax(1, fmax(fabs(a), fabs(b)));
}

const char *emit_told_differ(const emit_told *a, const emit_told *b, double tolerance) {
    if (a->ntext != b->ntext || memcmp(a->text, b->text, a->ntext) != 0) return "prints other texts, or shapes";
    if (a->n != b->n) return "prints another number of values";
    for (size_t i = 0; i < a->n; i++)
        if (!near(a->x[i], b->x[i], 100 * tolerance)) return "prints other values";
    return NULL;
}
