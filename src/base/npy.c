#include "base/npy.h"

#include "base/base.h"
#include "base/number.h"

#include <inttypes.h>
#include <string.h>

/* What is left of the header's text, and where to complain. */
typedef struct header_text {
    const char *at, *end;
    char *message;
} header_text;

static bool fail(char *message, const char *text) {
    (void)snprintf(message, TN_I_NPY_MESSAGE, "%s", text);
    return false;
}

static void skip_blanks(header_text *c) {
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\n' || *c->at == '\t' || *c->at == '\r')) c->at++;
}

static bool take(header_text *c, char want) {
    skip_blanks(c);
    if (c->at == c->end || *c->at != want) return false;
    c->at++;
    return true;
}

static bool take_literal(header_text *c, const char *word) {
    const size_t n = strlen(word);
    skip_blanks(c);
    if ((size_t)(c->end - c->at) < n || memcmp(c->at, word, n) != 0) return false;
    c->at += n;
    return true;
}

/* A quoted string without escapes, cut to fit. */
static bool take_string(header_text *c, char *out, size_t capacity) {
    skip_blanks(c);
    if (c->at == c->end || (*c->at != '\'' && *c->at != '"')) return false;
    const char quote = *c->at++;
    size_t n = 0;
    for (; c->at < c->end && *c->at != quote; c->at++)
        if (n + 1 < capacity) out[n++] = *c->at >= ' ' && *c->at <= '~' ? *c->at : '?';
    out[n] = '\0';
    if (c->at == c->end) return false;
    c->at++;
    return true;
}

static bool host_is_little(void) {
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first == 1;
}

static const struct {
    char code[3];
    tn_dtype dtype;
    /* NumPy has no bf16: what ml_dtypes has under that name is saved as two bytes of anything. */
} dtypes[] = {{"b1", TN_BOOL}, {"i4", TN_I32}, {"i8", TN_I64}, {"u4", TN_U32}, {"f4", TN_F32},
              {"f8", TN_F64},  {"i1", TN_I8},  {"i2", TN_I16}, {"u1", TN_U8},  {"u2", TN_U16},
              {"u8", TN_U64},  {"f2", TN_F16}, {"V2", TN_BF16}};

static bool take_descr(header_text *c, tn_i_npy *npy) {
    char descr[24];
    if (take(c, '['))
        return fail(c->message, "structured dtypes are not supported; use f2, f4, f8, i1..i8, u1..u8 or b1 (V2: bf16)");
    if (!take_string(c, descr, sizeof descr)) return fail(c->message, "the header's 'descr' is not a string");
    const bool ordered = descr[0] != '\0' && strchr("<>|=", descr[0]) != NULL;
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        if (strcmp(descr + ordered, dtypes[i].code) != 0) continue;
        npy->type.dtype = (int32_t)dtypes[i].dtype;
        const bool several = tn_i_dtype_size((int)dtypes[i].dtype) > 1;
        npy->swapped = several && descr[0] == (host_is_little() ? '>' : '<');
        return true;
    }
    (void)snprintf(c->message, TN_I_NPY_MESSAGE,
                   "dtype '%s' is not supported; use f2, f4, f8, i1..i8, u1..u8 or b1 (V2: bf16)", descr);
    return false;
}

static bool take_fortran_order(header_text *c, tn_i_npy *npy) {
    npy->fortran_order = take_literal(c, "True");
    return npy->fortran_order || take_literal(c, "False") ||
           fail(c->message, "the header's 'fortran_order' is neither True nor False");
}

static bool take_shape(header_text *c, tn_i_npy *npy) {
    if (!take(c, '(')) return fail(c->message, "the header's 'shape' is not a tuple");
    npy->type.rank = 0;
    while (!take(c, ')')) {
        skip_blanks(c);
        const char *digits = c->at;
        while (c->at < c->end && *c->at >= '0' && *c->at <= '9') c->at++;
        const size_t n = (size_t)(c->at - digits);
        if (npy->type.rank == TN_MAX_RANK) return fail(c->message, "the array has more than 8 dimensions");
        if (n == 0) return fail(c->message, "the header's 'shape' is not a tuple of non-negative integers");
        if (!tn_i_parse_i64(digits, n, &npy->type.dim[npy->type.rank++]))
            return fail(c->message, "a dimension is larger than 64 bits");
        (void)take(c, 'L'); /* as Python 2 wrote it */
        if (!take(c, ',') && (c->at == c->end || *c->at != ')'))
            return fail(c->message, "the header's 'shape' is not a tuple of non-negative integers");
    }
    return true;
}

static bool parse_dict(header_text *c, tn_i_npy *npy) {
    static const struct {
        const char *key;
        bool (*read)(header_text *, tn_i_npy *);
    } entries[] = {{"descr", take_descr}, {"fortran_order", take_fortran_order}, {"shape", take_shape}};
    bool seen[] = {false, false, false};
    if (!take(c, '{')) return fail(c->message, "the header is not a dictionary");
    while (!take(c, '}')) {
        char key[24];
        size_t i = 0;
        if (!take_string(c, key, sizeof key) || !take(c, ':'))
            return fail(c->message, "the header is not a dictionary with string keys");
        while (i < 3 && strcmp(key, entries[i].key) != 0) i++;
        if (i == 3 || seen[i]) {
            (void)snprintf(c->message, TN_I_NPY_MESSAGE, "the header has %s key '%s'",
                           i == 3 ? "an unknown" : "twice the", key);
            return false;
        }
        if (!entries[i].read(c, npy)) return false;
        seen[i] = true;
        skip_blanks(c);
        if (!take(c, ',') && (c->at == c->end || *c->at != '}'))
            return fail(c->message, "the header's dictionary is not closed");
    }
    skip_blanks(c);
    if (c->at != c->end) return fail(c->message, "the header goes on after its dictionary");
    for (size_t i = 0; i < 3; i++) {
        if (seen[i]) continue;
        (void)snprintf(c->message, TN_I_NPY_MESSAGE, "the header lacks '%s'", entries[i].key);
        return false;
    }
    return true;
}

/* Where the header's text is, from the fixed bytes before it. */
static bool find_header(const unsigned char *file, size_t size, size_t *at, size_t *length, char *message) {
    if (size < 8 || memcmp(file, "\x93NUMPY", 6) != 0) return fail(message, "this is not a .npy file");
    if (file[6] < 1 || file[6] > 3 || file[7] != 0) {
        (void)snprintf(message, TN_I_NPY_MESSAGE, ".npy format %d.%d is not supported", file[6], file[7]);
        return false;
    }
    const size_t width = file[6] == 1 ? 2 : 4;
    *at = 8 + width;
    *length = 0;
    if (size < *at) return fail(message, "the file ends within its header");
    for (size_t i = width; i-- > 0;) *length = *length << 8 | file[8 + i];
    if (*length > size - *at) return fail(message, "the file ends within its header");
    return true;
}

bool tn_i_npy_parse(const void *file, size_t size, tn_i_npy *npy, char message[TN_I_NPY_MESSAGE]) {
    const unsigned char *bytes = file;
    size_t at = 0, length = 0;
    memset(npy, 0, sizeof *npy);
    message[0] = '\0';
    if (!find_header(bytes, size, &at, &length, message)) return false;
    header_text c = {(const char *)bytes + at, (const char *)bytes + at + length, message};
    if (!parse_dict(&c, npy)) return false;
    npy->data_at = at + length;
    const size_t need = tn_type_bytes(&npy->type), have = size - npy->data_at;
    if (need == SIZE_MAX) return fail(message, "the array's size overflows");
    if (need > have) {
        (void)snprintf(message, TN_I_NPY_MESSAGE, "the file holds %zu of the array's %zu bytes", have, need);
        return false;
    }
    return true;
}

static void copy_element(unsigned char *out, const unsigned char *in, size_t size, bool swapped) {
    if (!swapped) {
        memcpy(out, in, size);
        return;
    }
    for (size_t i = 0; i < size; i++) out[i] = in[size - 1 - i];
}

static void copy_fortran(const tn_i_npy *npy, const unsigned char *in, unsigned char *out, size_t size, size_t count) {
    const int rank = npy->type.rank;
    const int64_t *dim = npy->type.dim;
    size_t stride[TN_MAX_RANK], at = 0;
    int64_t index[TN_MAX_RANK] = {0};
    for (int d = 0; d < rank; d++) stride[d] = d ? stride[d - 1] * (size_t)dim[d - 1] : size;
    for (size_t i = 0; i < count; i++) {
        copy_element(out + i * size, in + at, size, npy->swapped);
        for (int d = rank; d-- > 0;) {
            at += stride[d];
            if (++index[d] < dim[d]) break;
            at -= stride[d] * (size_t)dim[d];
            index[d] = 0;
        }
    }
}

void tn_i_npy_copy(const tn_i_npy *npy, const void *file, void *out) {
    const unsigned char *in = (const unsigned char *)file + npy->data_at;
    unsigned char *to = out;
    const size_t size = tn_i_dtype_size(npy->type.dtype), count = tn_type_elements(&npy->type);
    if (count == 0) return;
    if (npy->fortran_order && npy->type.rank > 1) {
        copy_fortran(npy, in, to, size, count);
    } else if (npy->swapped) {
        for (size_t i = 0; i < count; i++) copy_element(to + i * size, in + i * size, size, true);
    } else {
        memcpy(to, in, count * size);
    }
    if (npy->type.dtype == TN_BOOL)
        for (size_t i = 0; i < count; i++) to[i] = to[i] != 0;
}

size_t tn_i_npy_header(const tn_type *type, char header[TN_I_NPY_HEADER]) {
    const size_t room = TN_I_NPY_HEADER;
    const char *code = "";
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++)
        if ((int32_t)dtypes[i].dtype == type->dtype) code = dtypes[i].code;
    const char order = tn_i_dtype_size(type->dtype) == 1 ? '|' : host_is_little() ? '<' : '>';
    size_t n = 10;
    n += (size_t)snprintf(header + n, room - n, "{'descr': '%c%s', 'fortran_order': False, 'shape': (", order, code);
    for (int d = 0; d < type->rank; d++)
        n += (size_t)snprintf(header + n, room - n, "%s%" PRId64, d ? ", " : "", type->dim[d]);
    n += (size_t)snprintf(header + n, room - n, "%s), }", type->rank == 1 ? "," : "");
    while (n % 64 != 63) header[n++] = ' ';
    header[n++] = '\n';
    memcpy(header, "\x93NUMPY\x01\0", 8);
    header[8] = (char)((n - 10) & 255);
    header[9] = (char)((n - 10) >> 8);
    return n;
}

bool tn_i_npy_write(FILE *f, const tn_type *type, const void *data) {
    char header[TN_I_NPY_HEADER];
    const size_t n = tn_i_npy_header(type, header), bytes = tn_type_bytes(type);
    return fwrite(header, 1, n, f) == n && (bytes == 0 || fwrite(data, 1, bytes, f) == bytes);
}
