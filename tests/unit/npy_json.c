/* Arrays in and out of the tool: .npy files, also hostile ones, and JSON. */
#include "cli/json.c"
#include "base/npy.c"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <locale.h>
#include <math.h>
#include <stdlib.h>

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

/* ---- .npy ---- */

typedef struct file {
    unsigned char bytes[1024];
    size_t size;
} file;

/* A file of one format version with this header text, padded as NumPy does. */
static file file_of(int version, const char *header, const void *data, size_t bytes) {
    file f = {.size = version == 1 ? 10 : 12};
    const size_t n = strlen(header), length = (f.size + n + 1 + 63) / 64 * 64 - f.size;
    memcpy(f.bytes, "\x93NUMPY", 6);
    f.bytes[6] = (unsigned char)version;
    f.bytes[8] = (unsigned char)length;
    f.bytes[9] = (unsigned char)(length >> 8);
    memset(f.bytes + f.size, ' ', length - 1);
    memcpy(f.bytes + f.size, header, n);
    f.size += length;
    f.bytes[f.size - 1] = '\n';
    assert_true(f.size + bytes <= sizeof f.bytes);
    memcpy(f.bytes + f.size, data, bytes);
    f.size += bytes;
    return f;
}

/* Parses from, and copies to, memory of exactly the right size, so that a
 * sanitized build sees every step outside. */
static bool read_exactly(const file *f, size_t size, tn_i_npy *npy, void **out, char *message) {
    unsigned char *bytes = malloc(size + 1);
    assert_non_null(bytes);
    memcpy(bytes + 1, f->bytes, size);
    *out = NULL;
    const bool ok = tn_i_npy_parse(bytes + 1, size, npy, message);
    assert_int_equal(ok, message[0] == '\0');
    if (ok) {
        *out = malloc(tn_type_bytes(&npy->type) + 1);
        assert_non_null(*out);
        tn_i_npy_copy(npy, bytes + 1, *out);
    }
    free(bytes);
    return ok;
}

static void expect_npy(const file *f, tn_type type, const void *want) {
    char message[TN_I_NPY_MESSAGE];
    tn_i_npy npy;
    void *got;
    if (!read_exactly(f, f->size, &npy, &got, message)) fail_msg("refused: %s", message);
    assert_true(tn_type_equal(&npy.type, &type));
    if (tn_type_bytes(&type)) assert_memory_equal(got, want, tn_type_bytes(&type));
    free(got);
}

static void test_npy_kinds(void **state) {
    (void)state;
    const double want[6] = {1, 2, 3, 4, 5, -6.5}, fortran[6] = {1, 4, 2, 5, 3, -6.5};
    for (int version = 1; version <= 3; version++) {
        file f = file_of(version, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }", want, sizeof want);
        expect_npy(&f, tn_f64(2, 3), want);
        f = file_of(version, "{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3), }", fortran, sizeof want);
        expect_npy(&f, tn_f64(2, 3), want);
    }
    file f = file_of(1, "{\"shape\":(2L,3L),\"descr\":\"=f8\",\"fortran_order\":False}", want, sizeof want);
    expect_npy(&f, tn_f64(2, 3), want);
    f = file_of(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (), }", want + 5, sizeof want[0]);
    expect_npy(&f, tn_f64(), want + 5);
    f = file_of(1, "{'descr': '<f8', 'fortran_order': True, 'shape': (6,), }", want, sizeof want);
    expect_npy(&f, tn_f64(6), want);
    f = file_of(1, "{'descr': '<f8', 'fortran_order': True, 'shape': (3, 0, 2), }", want, 0);
    expect_npy(&f, tn_f64(3, 0, 2), want);
    const unsigned char raw[4] = {0, 1, 2, 255}, bools[4] = {0, 1, 1, 1};
    f = file_of(1, "{'descr': '|b1', 'fortran_order': False, 'shape': (2, 2), }", raw, sizeof raw);
    expect_npy(&f, tn_bool(2, 2), bools);
}

static void test_npy_byte_order(void **state) {
    (void)state;
    const unsigned char i4[] = {0x01, 0x02, 0x03, 0x04, 0xff, 0xff, 0xff, 0xfe},
                        f4[] = {0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0};
    const unsigned char i8[] = {0x80, 0, 0, 0, 0, 0, 0, 1}, f8[] = {0x40, 0x08, 0, 0, 0, 0, 0, 0};
    const int32_t want_i4[] = {0x01020304, -2};
    const float want_f4[] = {1, -2};
    const int64_t want_i8[] = {-INT64_MAX};
    const double want_f8[] = {3};
    file f = file_of(1, "{'descr': '>i4', 'fortran_order': False, 'shape': (2,), }", i4, sizeof i4);
    expect_npy(&f, tn_i32(2), want_i4);
    f = file_of(1, "{'descr': '>f4', 'fortran_order': True, 'shape': (2, 1), }", f4, sizeof f4);
    expect_npy(&f, tn_f32(2, 1), want_f4);
    f = file_of(2, "{'descr': '>i8', 'fortran_order': False, 'shape': (1,), }", i8, sizeof i8);
    expect_npy(&f, tn_i64(1), want_i8);
    f = file_of(3, "{'descr': '>f8', 'fortran_order': False, 'shape': (), }", f8, sizeof f8);
    expect_npy(&f, tn_f64(), want_f8);
    const unsigned char little[] = {0x04, 0x03, 0x02, 0x01, 0xfe, 0xff, 0xff, 0xff};
    f = file_of(1, "{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }", little, sizeof little);
    expect_npy(&f, tn_i32(2), want_i4);
    const uint32_t want_u4[] = {0x01020304, 0xfffffffe};
    f = file_of(1, "{'descr': '<u4', 'fortran_order': False, 'shape': (2,), }", little, sizeof little);
    expect_npy(&f, tn_u32(2), want_u4);
}

static void test_npy_fortran_rank_4(void **state) {
    (void)state;
    int32_t want[2 * 3 * 4 * 5], in[2 * 3 * 4 * 5];
    for (int a = 0; a < 2; a++)
        for (int b = 0; b < 3; b++)
            for (int c = 0; c < 4; c++)
                for (int d = 0; d < 5; d++) {
                    const int32_t x = a * 1000 + b * 100 + c * 10 + d;
                    want[((a * 3 + b) * 4 + c) * 5 + d] = x;
                    in[a + 2 * (b + 3 * (c + 4 * d))] = x;
                }
    const file f = file_of(1, "{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3, 4, 5), }", in, sizeof in);
    expect_npy(&f, tn_i32(2, 3, 4, 5), want);
}

static void test_npy_refused(void **state) {
    (void)state;
    static const struct {
        const char *header, *message;
    } cases[] = {
        {"{'descr': '<f3', 'fortran_order': False, 'shape': (), }", "dtype '<f3' is not supported"},
        {"{'descr': '|i3', 'fortran_order': False, 'shape': (), }", "dtype '|i3'"},
        {"{'descr': '|u3', 'fortran_order': False, 'shape': (), }", "dtype '|u3'"},
        {"{'descr': '<i5', 'fortran_order': False, 'shape': (), }", "dtype '<i5'"},
        {"{'descr': '<u5', 'fortran_order': False, 'shape': (), }", "dtype '<u5'"},
        {"{'descr': '<u9', 'fortran_order': False, 'shape': (), }", "dtype '<u9'"},
        {"{'descr': '<c16', 'fortran_order': False, 'shape': (), }", "dtype '<c16'"},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (), }", "dtype '|O'"},
        {"{'descr': '', 'fortran_order': False, 'shape': (), }", "dtype ''"},
        {"{'descr': '<', 'fortran_order': False, 'shape': (), }", "dtype '<'"},
        {"{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (), }", "structured"},
        {"{'descr': 8, 'fortran_order': False, 'shape': (), }", "not a string"},
        {"{'descr': '<f8', 'fortran_order': 0, 'shape': (), }", "neither True nor False"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': 3, }", "not a tuple"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (-3,), }", "non-negative"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (3 3), }", "non-negative"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1), }", "more than 8"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,), }", "64 bits"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 8), }", "overflows"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296, 0), }", "overflows"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2305843009213693952,), }", "overflows"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }", "8 of the array's 8000000000000"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }", "8 of the array's 16 bytes"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (1,", "not a tuple"},
        {"{'descr': '<f8', 'fortran_order': False, }", "lacks 'shape'"},
        {"{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (), }", "twice the key 'descr'"},
        {"{'descr': '<f8', 'order': False, 'shape': (), }", "an unknown key 'order'"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': ()", "not closed"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (), } 1", "goes on"},
        {"{'descr': '<f8", "not a string"},
        {"{3: 4}", "string keys"},
        {"[]", "not a dictionary"},
        {"", "not a dictionary"},
    };
    const double x = 1;
    char message[TN_I_NPY_MESSAGE];
    tn_i_npy npy;
    void *out;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const file f = file_of(1, cases[i].header, &x, sizeof x);
        if (read_exactly(&f, f.size, &npy, &out, message)) fail_msg("%s was read", cases[i].header);
        if (!strstr(message, cases[i].message)) fail_msg("%s: %s", cases[i].header, message);
    }
}

static void test_npy_hostile(void **state) {
    (void)state;
    const double data[4] = {1, 2, 3, 4};
    char message[TN_I_NPY_MESSAGE];
    tn_i_npy npy;
    void *out;
    for (int version = 1; version <= 3; version++) {
        const file good =
            file_of(version, "{'descr': '>f8', 'fortran_order': True, 'shape': (2, 2), }", data, sizeof data);
        for (size_t size = 0; size < good.size; size++) assert_false(read_exactly(&good, size, &npy, &out, message));
        for (size_t at = 0; at < good.size - sizeof data; at++) {
            for (int byte = 0; byte < 256; byte++) {
                file f = good;
                f.bytes[at] = (unsigned char)byte;
                (void)read_exactly(&f, f.size, &npy, &out, message);
                free(out);
            }
        }
        file f = good; /* header lengths far beyond the file */
        memset(f.bytes + 8, 0xff, version == 1 ? 2 : 4);
        assert_false(read_exactly(&f, f.size, &npy, &out, message));
        assert_non_null(strstr(message, "ends within its header"));
        f = good;
        f.bytes[6] = 4;
        assert_false(read_exactly(&f, f.size, &npy, &out, message));
        assert_non_null(strstr(message, "format 4.0"));
    }
}

/* What `write` puts into a stream. */
static file written(bool (*write)(FILE *, const tn_type *, const void *), tn_type type, const void *data) {
    file f = {.size = 0};
    FILE *stream = tmpfile();
    assert_non_null(stream);
    assert_true(write(stream, &type, data));
    rewind(stream);
    f.size = fread(f.bytes, 1, sizeof f.bytes, stream);
    assert_true(f.size < sizeof f.bytes);
    assert_int_equal(fclose(stream), 0);
    return f;
}

static void expect_npy_round_trip(tn_type type, const void *data) {
    const file f = written(tn_i_npy_write, type, data);
    assert_int_equal((f.size - tn_type_bytes(&type)) % 64, 0);
    expect_npy(&f, type, data);
}

static void test_npy_write(void **state) {
    (void)state;
    const double f64[6] = {1, -0.0, 3, 1e300, INFINITY, 5e-324};
    const float f32[2] = {1.5f, -2};
    const int32_t i32[2] = {INT32_MIN, 7};
    const int64_t i64[2] = {INT64_MIN, INT64_MAX};
    const unsigned char b[2] = {1, 0};
    expect_npy_round_trip(tn_f64(2, 3), f64);
    expect_npy_round_trip(tn_f64(), f64);
    expect_npy_round_trip(tn_f64(0), f64);
    expect_npy_round_trip(tn_f64(3, 0, 5), f64);
    expect_npy_round_trip(tn_f64(1, 1, 1, 1, 1, 1, 3, 2), f64);
    expect_npy_round_trip(tn_f32(2), f32);
    expect_npy_round_trip(tn_i32(2, 1), i32);
    expect_npy_round_trip(tn_i64(1, 2), i64);
    expect_npy_round_trip(tn_bool(2), b);
    expect_npy_round_trip(tn_f64(0, INT64_MAX / 64), f64);
    const file f = written(tn_i_npy_write, tn_bool(2), b);
    assert_memory_equal(f.bytes, "\x93NUMPY\x01\0\x76\0{'descr': '|b1', 'fortran_order': False, 'shape': (2,), } ", 68);
    assert_int_equal(f.bytes[127], '\n');
}

/* ---- JSON ---- */

static void expect_scan(const char *text, tn_type want) {
    tn_i_json_error error;
    tn_type type;
    if (!tn_i_json_scan(text, strlen(text), &type, &error)) fail_msg("%s: at %zu: %s", text, error.at, error.text);
    if (!tn_type_equal(&type, &want)) fail_msg("%s has another type", text);
}

static void test_json_scan(void **state) {
    (void)state;
    expect_scan("3", tn_i64());
    expect_scan(" -3.5e2\n", tn_f64());
    expect_scan("true", tn_bool());
    expect_scan("NaN", tn_f64());
    expect_scan("-Infinity", tn_f64());
    expect_scan("nan:0x7fc00001", tn_f64());
    expect_scan("[]", tn_f64(0));
    expect_scan("[[], [ ]]", tn_f64(2, 0));
    expect_scan("[[[],[]],[[],[]],[[],[]]]", tn_f64(3, 2, 0));
    expect_scan("[1, 2, 3]", tn_i64(3));
    expect_scan("[1, 2.0, 3]", tn_f64(3));
    expect_scan("[1, true]", tn_f64(2));
    expect_scan("[[true,false]]", tn_bool(1, 2));
    expect_scan("[9223372036854775807]", tn_i64(1));
    expect_scan("[9223372036854775808]", tn_f64(1));
    expect_scan("\t[ [1\r,2 ] , [3,4],[5,6]]  ", tn_i64(3, 2));
    expect_scan("[[[[[[[[1],[2]]]]]]]]", tn_i64(1, 1, 1, 1, 1, 1, 2, 1));
}

static void test_json_errors(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t at;
        const char *message;
    } cases[] = {
        {"", 0, "ends"},
        {"  ", 2, "ends"},
        {"[", 1, "ends"},
        {"[1,", 3, "ends"},
        {"[1", 2, "',' or ']'"},
        {"[1 2]", 3, "',' or ']'"},
        {"[1,]", 3, "']' where"},
        {"[,1]", 1, "',' where"},
        {"]", 0, "']' where"},
        {"1]", 1, "follows"},
        {"[1]]", 3, "follows"},
        {"[1] 2", 4, "follows"},
        {"null", 0, "'null' is not a number"},
        {"[1, abc]", 4, "'abc'"},
        {"[1e]", 1, "'1e'"},
        {"\"a\"", 0, "'\"' where"},
        {"{}", 0, "'{' where"},
        {"[\x01]", 1, "byte 0x01"},
        {"[\xc3\xa4]", 1, "byte 0xc3"},
        {"[[1,2],[3]]", 9, "a list of 1 after lists of 2"},
        {"[[1],[2,3]]", 9, "a list of 2 after lists of 1"},
        {"[[1],[]]", 6, "a list of 0 after lists of 1"},
        {"[[],[1]]", 6, "a list of 1 after lists of 0"},
        {"[1,[2]]", 3, "a list where a number"},
        {"[[1],2]", 5, "a number where a list"},
        {"[[],1]", 4, "a number where a list"},
        {"[[],[[]]]", 5, "a list where a number"},
        {"[[[1]],[]]", 8, "a list of 0 after lists of 1"},
        {"[[[]],[]]", 7, "list"},
        {"[[[[[[[[[1]]]]]]]]]", 8, "deeper than 8"},
        {"1_000", 0, "'1_000'"},
        {"--1", 0, "'--1'"},
        {"[1,,2]", 3, "',' where"},
        {"abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz", 0, "'abcdefghijklmnopqrstuvwxyzabcdef' is"},
    };
    tn_i_json_error error;
    tn_type type;
    for (size_t i = 0; i < COUNT(cases); i++) {
        if (tn_i_json_scan(cases[i].text, strlen(cases[i].text), &type, &error))
            fail_msg("'%s' was read", cases[i].text);
        if (error.at != cases[i].at || !strstr(error.text, cases[i].message))
            fail_msg("'%s': at %zu: %s", cases[i].text, error.at, error.text);
    }
    assert_false(tn_i_json_scan("12\0", 3, &type, &error)); /* a zero byte is no end */
}

static void expect_read(const char *text, tn_type type, const void *want) {
    unsigned char got[256];
    tn_i_json_error error;
    const size_t bytes = tn_type_bytes(&type);
    assert_true(bytes <= sizeof got);
    if (!tn_i_json_read(text, strlen(text), &type, got, &error)) fail_msg("%s: at %zu: %s", text, error.at, error.text);
    if (bytes) assert_memory_equal(got, want, bytes);
}

static void test_json_read(void **state) {
    (void)state;
    expect_read("[[1, 2.5], [-0.0, 1e-3]]", tn_f64(2, 2), (const double[]){1, 2.5, -0.0, 1e-3});
    expect_read("[Infinity, -Infinity]", tn_f64(2), (const double[]){INFINITY, -INFINITY});
    expect_read("0.1", tn_f32(), (const float[]){0.1f});
    /* rounded to f64 first, this would become a tie and go down */
    expect_read("1.00000005960464477540", tn_f32(), (const float[]){1.00000011920928955f});
    expect_read("[-9223372036854775808, 9223372036854775807, 9007199254740993]", tn_i64(3),
                (const int64_t[]){INT64_MIN, INT64_MAX, 9007199254740993});
    expect_read("[-2147483648, 2147483647]", tn_i32(2), (const int32_t[]){INT32_MIN, INT32_MAX});
    expect_read("[true, false, 1, 0]", tn_bool(4), (const unsigned char[]){1, 0, 1, 0});
    expect_read("[]", tn_f64(0), NULL);
    expect_read("[]", tn_i32(0, 3), NULL);
    expect_read("[[], []]", tn_f32(2, 0, 7), NULL);
    expect_read("nan:0x7ff8000000000001", tn_f64(), (const uint64_t[]){0x7ff8000000000001u});
    expect_read("nan:0x7fc00001", tn_f32(), (const uint32_t[]){0x7fc00001u});
    expect_read("NaN", tn_f32(), (const uint32_t[]){0x7fc00000u});
}

static void test_json_read_errors(void **state) {
    (void)state;
    const struct {
        const char *text;
        tn_type type;
        size_t at;
        const char *message;
    } cases[] = {
        {"[1,2]", tn_f64(3), 0, "shape [2], but f64[3]"},
        {"1", tn_f64(1), 0, "shape [], but f64[1]"},
        {"[1]", tn_f64(), 0, "shape [1], but f64[]"},
        {"[[1],[2]]", tn_i32(2), 0, "shape [2,1], but i32[2]"},
        {"[]", tn_f64(3, 0), 0, "shape [0], but f64[3,0]"},
        {"[[]]", tn_f64(0), 0, "shape [1,0], but f64[0]"},
        {"[]", tn_f64(), 0, "shape [0], but f64[]"},
        {"[1, 2.0]", tn_i64(2), 4, "2.0 is not an integer"},
        {"[1, 1e3]", tn_i32(2), 4, "1e3 is not an integer"},
        {"[true]", tn_i32(1), 1, "true is not an integer"},
        {"NaN", tn_i64(), 0, "NaN is not an integer"},
        {"[0, 2147483648]", tn_i32(2), 4, "2147483648 does not fit i32"},
        {"-9223372036854775809", tn_i64(), 0, "does not fit i64"},
        {"[1, true]", tn_f64(2), 4, "true is not a number"},
        {"2", tn_bool(), 0, "neither true nor false"},
        {"1.0", tn_bool(), 0, "neither true nor false"},
        {"nan:0x7ff8000000000001", tn_f32(), 0, "is not a number of f32"},
        {"nan:0x7fc00001", tn_f64(), 0, "is not a number of f64"},
        {"[1,", tn_f64(2), 3, "ends"},
    };
    unsigned char out[64];
    tn_i_json_error error;
    for (size_t i = 0; i < COUNT(cases); i++) {
        if (tn_i_json_read(cases[i].text, strlen(cases[i].text), &cases[i].type, out, &error))
            fail_msg("%s was read", cases[i].text);
        if (error.at != cases[i].at || !strstr(error.text, cases[i].message))
            fail_msg("%s: at %zu: %s", cases[i].text, error.at, error.text);
    }
}

static void expect_written(tn_type type, const void *data, const char *want) {
    file f = written(tn_i_json_write, type, data);
    f.bytes[f.size] = '\0';
    assert_string_equal((const char *)f.bytes, want);
    f.bytes[--f.size] = '\0';
    expect_read((const char *)f.bytes, type, data);
}

static void test_json_write(void **state) {
    (void)state;
    const double f64[4] = {1, 0.1, -INFINITY, -0.0};
    expect_written(tn_f64(), f64 + 1, "0.10000000000000001\n");
    expect_written(tn_f64(2, 2), f64, "[[1, 0.10000000000000001], [-Infinity, -0]]\n");
    expect_written(tn_f64(2, 1, 2), f64, "[[[1, 0.10000000000000001]], [[-Infinity, -0]]]\n");
    expect_written(tn_f32(2), (const float[]){0.1f, 3e38f}, "[0.10000000149011612, 3.0000000054977558e+38]\n");
    expect_written(tn_i32(1, 2), (const int32_t[]){INT32_MIN, 7}, "[[-2147483648, 7]]\n");
    expect_written(tn_i64(2), (const int64_t[]){INT64_MIN, INT64_MAX}, "[-9223372036854775808, 9223372036854775807]\n");
    expect_written(tn_bool(3), (const unsigned char[]){1, 0, 1}, "[true, false, true]\n");
    expect_written(tn_f64(0), NULL, "[]\n");
    expect_written(tn_f64(0, 3), NULL, "[]\n");
    expect_written(tn_f64(2, 0), NULL, "[[], []]\n");
    expect_written(tn_f64(1, 2, 0, 4), NULL, "[[[], []]]\n");
    expect_written(tn_i64(1, 1, 1, 1, 1, 1, 1, 1), (const int64_t[]){5}, "[[[[[[[[5]]]]]]]]\n");
    double nan[1] = {NAN};
    file f = written(tn_i_json_write, tn_f64(1), nan);
    assert_memory_equal(f.bytes, "[NaN]\n", f.size);
}

static void test_json_decimal_comma(void **state) {
    if (!setlocale(LC_ALL, "de_DE.UTF-8") || strcmp(localeconv()->decimal_point, ",") != 0) {
        print_message("no de_DE.UTF-8 here (localedef makes one, LOCPATH names its folder)\n");
        skip();
    }
    test_json_write(state);
    test_json_read(state);
    (void)setlocale(LC_ALL, "C");
}

/* A million numbers, one list or a list each. */
static void test_json_large(void **state) {
    (void)state;
    enum { N = 1000000 };
    char *text = malloc((size_t)N * 8 + 2);
    int64_t *out = malloc((size_t)N * sizeof *out);
    tn_i_json_error error;
    assert_non_null(text);
    assert_non_null(out);
    for (int nested = 0; nested < 2; nested++) {
        size_t n = 0;
        text[n++] = '[';
        for (int i = 0; i < N; i++) n += (size_t)sprintf(text + n, nested ? "[%d]," : "%d,", i % 1000);
        text[n - 1] = ']';
        const tn_type type = nested ? tn_i64(N, 1) : tn_i64(N);
        assert_true(tn_i_json_read(text, n, &type, out, &error));
        for (int i = 0; i < N; i++) assert_true(out[i] == i % 1000);
    }
    free(out);
    free(text);
}

/* No text, however broken, is read beyond its end. */
static void test_json_hostile(void **state) {
    (void)state;
    static const char parts[] = "[[[]]],,,01-.eE+xNaInfinitytruefals \n\"{}";
    uint32_t random = 1;
    for (int i = 0; i < 100000; i++) {
        size_t n = (size_t)(i % 24);
        char *text = malloc(n + 1);
        tn_i_json_error error;
        tn_type type;
        assert_non_null(text);
        for (size_t k = 0; k < n; k++) {
            random = random * 1664525u + 1013904223u;
            text[k] = parts[(random >> 8) % (sizeof parts - 1)];
        }
        text = realloc(text, n + !n);
        assert_non_null(text);
        if (tn_i_json_scan(text, n, &type, &error)) {
            double *out = malloc(tn_type_elements(&type) * sizeof *out + 1);
            type.dtype = TN_F64;
            (void)tn_i_json_read(text, n, &type, out, &error);
            free(out);
        } else {
            assert_true(error.at <= n && error.text[0] != '\0');
        }
        free(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_npy_kinds),          cmocka_unit_test(test_npy_byte_order),
        cmocka_unit_test(test_npy_fortran_rank_4), cmocka_unit_test(test_npy_refused),
        cmocka_unit_test(test_npy_hostile),        cmocka_unit_test(test_npy_write),
        cmocka_unit_test(test_json_scan),          cmocka_unit_test(test_json_errors),
        cmocka_unit_test(test_json_read),          cmocka_unit_test(test_json_read_errors),
        cmocka_unit_test(test_json_write),         cmocka_unit_test(test_json_decimal_comma),
        cmocka_unit_test(test_json_large),         cmocka_unit_test(test_json_hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
