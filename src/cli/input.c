/* What the tool reads: files, and the operands of `run`. */
#include "cli/cli.h"
#include "cli/json.h"
#include "base/npy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *read_stream(FILE *f, const char *name, size_t *n) {
    size_t capacity = 1 << 14;
    char *text = malloc(capacity);
    *n = 0;
    while (text) {
        *n += fread(text + *n, 1, capacity - *n, f);
        if (*n < capacity) break;
        char *more = capacity > SIZE_MAX / 2 ? NULL : realloc(text, 2 * capacity);
        if (!more) free(text);
        text = more;
        capacity *= 2;
    }
    if (!text) {
        (void)fprintf(stderr, "%s: out of memory\n", name);
    } else if (ferror(f)) {
        (void)fprintf(stderr, "%s: %s\n", name, strerror(errno));
        free(text);
        text = NULL;
    }
    return text;
}

char *tn_i_cli_read(const char *path, size_t *n) {
    if (strcmp(path, "-") == 0) return read_stream(stdin, "<stdin>", n);
    FILE *f = fopen(path, "rb");
    if (!f) {
        (void)fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return NULL;
    }
    char *text = read_stream(f, path, n);
    (void)fclose(f);
    return text;
}

static void *room_for(const tn_type *t, const char *name) {
    const size_t bytes = tn_type_bytes(t);
    void *data = bytes == SIZE_MAX ? NULL : calloc(1, bytes ? bytes : 1);
    if (!data) (void)fprintf(stderr, "%s: out of memory\n", name);
    return data;
}

static void *from_npy(const char *path, const tn_type *t, int number) {
    size_t n;
    char message[TN_I_NPY_MESSAGE];
    tn_i_npy npy;
    void *data = NULL;
    char *file = tn_i_cli_read(path, &n);
    if (!file) return NULL;
    if (!tn_i_npy_parse(file, n, &npy, message))
        (void)fprintf(stderr, "%s: %s\n", path, message);
    else if (!tn_type_equal(&npy.type, t))
        (void)fprintf(stderr, "%s: not of the type of input %d\n", path, number);
    else if ((data = room_for(t, path)) != NULL)
        tn_i_npy_copy(&npy, file, data);
    free(file);
    return data;
}

/* Whether somebody meant a file: it is there, or is named as arrays in files are. */
static bool is_file(const char *text) {
    const size_t n = strlen(text);
    return access(text, F_OK) == 0 || (n > 4 && strcmp(text + n - 4, ".npy") == 0);
}

void *tn_i_cli_operand(const char *text, const tn_type *t, int number) {
    tn_i_json_error error;
    if (*text == '@') return from_npy(text + 1, t, number);
    void *data = room_for(t, "run");
    if (!data || tn_i_json_read(text, strlen(text), t, data, &error)) return data;
    (void)fprintf(stderr, "argument %d:%zu: %s%s%s\n", number, error.at + 1, error.text,
                  is_file(text) ? "; a file is written @" : "", is_file(text) ? text : "");
    free(data);
    return NULL;
}
