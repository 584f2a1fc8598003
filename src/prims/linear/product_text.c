/* Products of matrices in C that needs no library: panels are packed, tiles of the result are in registers.
 *
 * Vectors are those of GNU C, as long as the processor's that the file is compiled for; without GNU C they are numbers.
 * Products and sums become one instruction where there is one, as in BLIS. */
#include "prims/linear/product_text.h"

/* Of what is packed at once. */
#define ROWS     96
#define COLUMNS  512
#define DEPTH    256
#define TEXT(n)  TEXT_(n)
#define TEXT_(n) #n

static const char vector[] =
    "#ifndef TANSY_VECTOR_BYTES\n#if defined(__AVX512F__)\n#define TANSY_VECTOR_BYTES 64\n#elif defined(__AVX__)\n"
    "#define TANSY_VECTOR_BYTES 32\n#else\n#define TANSY_VECTOR_BYTES 16\n#endif\n#endif\n"
    "#ifdef __GNUC__\n#define TANSY_LANES_T (TANSY_VECTOR_BYTES / (int)sizeof(T))\n"
    "typedef T tn_i_vector_T __attribute__((vector_size(TANSY_VECTOR_BYTES), aligned(sizeof(T)), may_alias));\n"
    "#else\n#define TANSY_LANES_T 1\ntypedef T tn_i_vector_T;\n#endif\n";

static const char fused[] = "#if defined(__GNUC__) && !defined(__clang__)\n"
                            "#define TANSY_FUSED __attribute__((optimize(\"fp-contract=fast\")))\n"
                            "#else\n#define TANSY_FUSED\n#endif\n";

#define FUSE "\n#ifdef __clang__\n#pragma STDC FP_CONTRACT ON\n#endif\n"

/* out = the product of k columns of 6 numbers and k rows of two vectors. */
static const char tile[] = "TANSY_FUSED void tn_i_tile_T(int64_t k, const T *a, const T *b, T *out) {" FUSE
                           "tn_i_vector_T s0 = {0}, s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0;\n"
                           "tn_i_vector_T t0 = s0, t1 = s0, t2 = s0, t3 = s0, t4 = s0, t5 = s0;\n"
                           "for (int64_t p = 0; p < k; p++) {\n"
                           "const tn_i_vector_T x = *(const tn_i_vector_T *)(const void *)b;\n"
                           "const tn_i_vector_T y = *(const tn_i_vector_T *)(const void *)(b + TANSY_LANES_T);\n"
                           "s0 += a[0] * x;\nt0 += a[0] * y;\ns1 += a[1] * x;\nt1 += a[1] * y;\n"
                           "s2 += a[2] * x;\nt2 += a[2] * y;\ns3 += a[3] * x;\nt3 += a[3] * y;\n"
                           "s4 += a[4] * x;\nt4 += a[4] * y;\ns5 += a[5] * x;\nt5 += a[5] * y;\n"
                           "a += 6;\nb += 2 * TANSY_LANES_T;\n}\n"
                           "const tn_i_vector_T all[12] = {s0, t0, s1, t1, s2, t2, s3, t3, s4, t4, s5, t5};\n"
                           "memcpy(out, all, sizeof all);\n}\n";

/* Panels of w rows of an array of m rows and k columns, one column of a panel after another; what is missing is 0. */
static const char pack[] =
    "void tn_i_pack_T(int64_t m, int64_t k, const T *a, int64_t rs, int64_t cs, int64_t w, T *to) {\n"
    "for (int64_t i = 0; i < m; i += w) {\n"
    "const int64_t h = m - i < w ? m - i : w;\n"
    "if (cs == 1 && rs != 1) {\n"
    "for (int64_t r = 0; r < w; r++) {\n"
    "const T *const from = a + (i + r) * rs;\n"
    "if (r < h)\nfor (int64_t p = 0; p < k; p++) to[p * w + r] = from[p];\n"
    "else\nfor (int64_t p = 0; p < k; p++) to[p * w + r] = 0;\n"
    "}\n"
    "} else {\n"
    "for (int64_t p = 0; p < k; p++) {\n"
    "const T *const from = a + i * rs + p * cs;\n"
    "for (int64_t r = 0; r < h; r++) to[p * w + r] = from[r * rs];\n"
    "for (int64_t r = h; r < w; r++) to[p * w + r] = 0;\n"
    "}\n}\n"
    "to += w * k;\n}\n}\n";

/* A tile of c: h rows of w numbers become what is in s; more 1: they gain it, -1: lose it. */
static const char put[] =
    "void tn_i_put_tile_T(int64_t h, int64_t w, const T *s, T *c, int64_t rs, int64_t cs, int more) {\n"
    "for (int64_t i = 0; i < h; i++) {\n"
    "const T *const from = s + i * 2 * TANSY_LANES_T;\n"
    "T *const to = c + i * rs;\n"
    "if (more > 0)\nfor (int64_t j = 0; j < w; j++) to[j * cs] += from[j];\n"
    "else if (more < 0)\nfor (int64_t j = 0; j < w; j++) to[j * cs] -= from[j];\n"
    "else\nfor (int64_t j = 0; j < w; j++) to[j * cs] = from[j];\n"
    "}\n}\n";

/* y = a x: sums in 16 lanes of rows of 4; where columns are dense, of 64 rows by columns. */
static const char matvec[] =
    "TANSY_FUSED void tn_i_matvec_T(int64_t m, int64_t k, const T *a, int64_t rs, int64_t cs, const T *x, "
    "int64_t xs, T *y, int64_t ys, int more, T *room) {" FUSE
    "if (xs != 1) {\nfor (int64_t p = 0; p < k; p++) room[p] = x[p * xs];\nx = room;\n}\n"
    "if (rs == 1 && cs != 1) {\n"
    "for (int64_t i = 0; i < m; i += 64) {\n"
    "const int64_t h = m - i < 64 ? m - i : 64;\n"
    "T s[64] = {0};\n"
    "for (int64_t p = 0; p < k; p++) {\n"
    "const T *const from = a + i + p * cs;\n"
    "TANSY_SIMD\nfor (int64_t l = 0; l < h; l++) s[l] += from[l] * x[p];\n"
    "}\n"
    "for (int64_t l = 0; l < h; l++) y[(i + l) * ys] = more > 0 ? y[(i + l) * ys] + s[l] : more < 0 ? y[(i + l) * ys] "
    "- s[l] : s[l];\n"
    "}\nreturn;\n}\n"
    "for (int64_t i = 0; i < m; i += 4) {\n"
    "T s[4][16] = {{0}}, sum[4];\n"
    "const int64_t h = m - i < 4 ? m - i : 4;\n"
    "const T *const r0 = a + i * rs, *const r1 = h > 1 ? r0 + rs : r0, *const r2 = h > 2 ? r1 + rs : r0;\n"
    "const T *const r3 = h > 3 ? r2 + rs : r0;\n"
    "int64_t p = 0;\n"
    "for (; p + 16 <= k; p += 16) {\n"
    "TANSY_SIMD\nfor (int64_t l = 0; l < 16; l++) {\n"
    "s[0][l] += r0[(p + l) * cs] * x[p + l];\ns[1][l] += r1[(p + l) * cs] * x[p + l];\n"
    "s[2][l] += r2[(p + l) * cs] * x[p + l];\ns[3][l] += r3[(p + l) * cs] * x[p + l];\n}\n}\n"
    "for (int64_t l = 0; p + l < k; l++) {\n"
    "s[0][l] += r0[(p + l) * cs] * x[p + l];\ns[1][l] += r1[(p + l) * cs] * x[p + l];\n"
    "s[2][l] += r2[(p + l) * cs] * x[p + l];\ns[3][l] += r3[(p + l) * cs] * x[p + l];\n}\n"
    "for (int q = 0; q < 4; q++) {\n"
    "TANSY_SIMD\nfor (int l = 0; l < 8; l++) s[q][l] += s[q][l + 8];\n"
    "TANSY_SIMD\nfor (int l = 0; l < 4; l++) s[q][l] += s[q][l + 4];\n"
    "sum[q] = (s[q][0] + s[q][2]) + (s[q][1] + s[q][3]);\n}\n"
    "for (int64_t q = 0; q < h; q++) y[(i + q) * ys] = more > 0 ? y[(i + q) * ys] + sum[q] : more < 0 ? y[(i + q) * "
    "ys] - sum[q] : sum[q];\n"
    "}\n}\n";

/* c = a b, c += a b (more 1) or c -= a b (-1), of m x k and k x n; room has tn_i_c_product_room bytes. */
static const char product[] =
    "void tn_i_product_T(int64_t m, int64_t n, int64_t k, const T *a, int64_t ars, int64_t acs, const T *b, "
    "int64_t brs, int64_t bcs, T *c, int64_t crs, int64_t ccs, int more, T *room) {\n"
    "enum { ROWS = " TEXT(ROWS) ", COLUMNS = " TEXT(COLUMNS) ", DEPTH = " TEXT(
        DEPTH) " };\n"
               "if (n == 1) {\ntn_i_matvec_T(m, k, a, ars, acs, b, brs, c, crs, more, room);\nreturn;\n}\n"
               "if (m == 1) {\ntn_i_matvec_T(n, k, b, bcs, brs, a, acs, c, ccs, more, room);\nreturn;\n}\n"
               "const int64_t w = 2 * TANSY_LANES_T;\n"
               "for (int64_t j = 0; j < n; j += COLUMNS)\n"
               "for (int64_t p = 0; p < k; p += DEPTH) {\n"
               "const int64_t nj = n - j < COLUMNS ? n - j : COLUMNS, np = k - p < DEPTH ? k - p : DEPTH;\n"
               "T *const left = room + (nj + w - 1) / w * w * np;\n"
               "tn_i_pack_T(nj, np, b + p * brs + j * bcs, bcs, brs, w, room);\n"
               "for (int64_t i = 0; i < m; i += ROWS) {\n"
               "const int64_t ni = m - i < ROWS ? m - i : ROWS;\n"
               "tn_i_pack_T(ni, np, a + i * ars + p * acs, ars, acs, 6, left);\n"
               "for (int64_t y = 0; y < nj; y += w)\n"
               "for (int64_t x = 0; x < ni; x += 6) {\n"
               "T tile[12 * TANSY_LANES_T];\n"
               "tn_i_tile_T(np, left + x * np, room + y * np, tile);\n"
               "tn_i_put_tile_T(ni - x < 6 ? ni - x : 6, nj - y < w ? nj - y : w, tile, c + (i + x) * crs + (j + y) * "
               "ccs, crs, "
               "ccs, more ? more : p > 0);\n"
               "}\n}\n}\n}\n";

const tn_i_c_helper tn_i_product_helpers[] = {
    {"TANSY_FUSED", fused},   {"tn_i_vector_T", vector}, {"tn_i_tile_T", tile},       {"tn_i_pack_T", pack},
    {"tn_i_put_tile_T", put}, {"tn_i_matvec_T", matvec}, {"tn_i_product_T", product}, {NULL, NULL}};

/* Panels as wide as two vectors of 64 bytes. */
size_t tn_i_c_product_room(size_t size, int64_t m, int64_t n, int64_t k) {
    const size_t depth = k < DEPTH ? (size_t)k : DEPTH, rows = m < ROWS ? (size_t)m : ROWS;
    const size_t columns = n < COLUMNS ? (size_t)n : COLUMNS, w = 128 / size;
    if (n == 1 || m == 1) return (size_t)k * size;
    return depth * size * ((columns + w - 1) / w * w + (rows + 5) / 6 * 6);
}
