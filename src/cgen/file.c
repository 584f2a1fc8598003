/* Whole files, and what native ones begin with.  One line of C a string. */
#include "cgen/inside.h"

#include <stddef.h>
#include <string.h>

/* Native text has no headers: they take as long as a small program. */
struct tansy_run {
    void *context;
    int (*share)(const struct tansy_run *, char *const *, int64_t,
                 int (*)(const struct tansy_run *, char *const *, int64_t));
    const void *const *table;
    const void *call;
    void *frame;
};
_Static_assert(sizeof(struct tansy_run) == sizeof(tn_i_l_run) &&
                   offsetof(struct tansy_run, share) == offsetof(tn_i_l_run, share) &&
                   offsetof(struct tansy_run, context) == offsetof(tn_i_l_run, context) &&
                   offsetof(struct tansy_run, table) == offsetof(tn_i_l_run, table),
               "what the text says of tn_i_l_run");
_Static_assert(sizeof(tn_status) == sizeof(int), "functions of the text return int for a tn_status");

/* clang-format off */
static const char *const prelude[] = {
    "typedef __INT8_TYPE__ int8_t;\n",
    "typedef __UINT8_TYPE__ uint8_t;\n",
    "typedef __INT16_TYPE__ int16_t;\n",
    "typedef __UINT16_TYPE__ uint16_t;\n",
    "typedef __INT32_TYPE__ int32_t;\n",
    "typedef __UINT32_TYPE__ uint32_t;\n",
    "typedef __INT64_TYPE__ int64_t;\n",
    "typedef __UINT64_TYPE__ uint64_t;\n",
    "typedef __UINTPTR_TYPE__ uintptr_t;\n",
    "#define INT32_MAX 2147483647\n",
    "#define INT32_MIN (-INT32_MAX - 1)\n",
    "#define INT64_MAX __INT64_MAX__\n",
    "#define INT64_MIN (-INT64_MAX - 1)\n",
    "#define UINT32_MAX 4294967295u\n",
    "#define INT64_C(x) ((int64_t)x##ll)\n",
    "#define UINT64_C(x) ((uint64_t)x##ull)\n",
    "#define NAN __builtin_nanf(\"\")\n",
    "#define INFINITY __builtin_inff()\n",
    "#define isfinite(x) __builtin_isfinite(x)\n",
    "#define isnan(x) __builtin_isnan(x)\n",
    "#define signbit(x) __builtin_signbit(x)\n",
    "#define sqrt __builtin_sqrt\n",
    "#define sqrtf __builtin_sqrtf\n",
    "#define fabs __builtin_fabs\n",
    "#define fabsf __builtin_fabsf\n",
    "#define floor __builtin_floor\n",
    "#define floorf __builtin_floorf\n",
    "#define ceil __builtin_ceil\n",
    "#define ceilf __builtin_ceilf\n",
    "#define rint __builtin_rint\n",
    "#define rintf __builtin_rintf\n",
    "#define trunc __builtin_trunc\n",
    "#define truncf __builtin_truncf\n",
    "#define copysign __builtin_copysign\n",
    "#define copysignf __builtin_copysignf\n",
    "#define fma __builtin_fma\n",
    "#define fmaf __builtin_fmaf\n",
    "#define memcpy __builtin_memcpy\n",
    "#define memset __builtin_memset\n",
    "#define TANSY_APART __attribute__((noinline))\n",
    "#ifndef __clang__ /* nor are the addresses of all arrays of a loop compared with each other */\n",
    "#pragma GCC optimize(\"no-tree-loop-distribution\", \"no-tree-loop-distribute-patterns\")\n",
    "#endif\n",
    "struct tansy_run;\n",
    "typedef int part_fn(const struct tansy_run *, char *const *, int64_t);\n",
    "struct tansy_run {\n",
    "    void *context;\n",
    "    int (*share)(const struct tansy_run *, char *const *, int64_t, part_fn *);\n",
    "    const void *const *table;\n",
    "    const void *call;\n",
    "    void *frame;\n",
    "};\n",
    "typedef int kernel_fn(const void *, const struct tansy_run *, char *const *, const int64_t *);\n",
    "typedef void strip_fn(int64_t, const void *const *, const int64_t *, void *, int64_t);\n",
    "static inline int tansy_zeros(uint64_t x, int width) { return x ? __builtin_ctzll(x) : width; }\n",
    "static const int64_t ones[3] = {1, 1, 1};\n",
    "static int tansy_share(const struct tansy_run *run, char *const *base, int64_t n, part_fn *part) {\n",
    "    int status = 0;\n",
    "    if (run->share) return run->share(run, base, n, part);\n",
    "    for (int64_t i = 0; i < n && !status; i++) status = part(run, base, i);\n",
    "    return status;\n",
    "}\n",
    "/* Functions of vectors, given whole vectors: of one number in each lane; over n elements, which are filled up. */\n",
    "#define FUNCTIONS(T, S, L) \\\n",
    "    typedef T S##x##L __attribute__((vector_size(sizeof(T) * L))); \\\n",
    "    static inline T tansy_one1_##S##x##L(const void *f, T x) { \\\n",
    "        S##x##L a; \\\n",
    "        for (int l = 0; l < L; l++) a[l] = x; \\\n",
    "        a = ((S##x##L (*)(S##x##L))f)(a); \\\n",
    "        return a[0]; \\\n",
    "    } \\\n",
    "    static inline T tansy_one2_##S##x##L(const void *f, T x, T y) { \\\n",
    "        S##x##L a, b; \\\n",
    "        for (int l = 0; l < L; l++) a[l] = x, b[l] = y; \\\n",
    "        a = ((S##x##L (*)(S##x##L, S##x##L))f)(a, b); \\\n",
    "        return a[0]; \\\n",
    "    } \\\n",
    "    static inline void tansy_all1_##S##x##L(const void *f, int64_t n, T *x, T *to) { \\\n",
    "        for (int64_t i = n; i % L; i++) x[i] = x[n - 1]; \\\n",
    "        for (int64_t i = 0; i < n; i += L) { \\\n",
    "            S##x##L a; \\\n",
    "            memcpy(&a, x + i, sizeof a); \\\n",
    "            a = ((S##x##L (*)(S##x##L))f)(a); \\\n",
    "            memcpy(to + i, &a, sizeof a); \\\n",
    "        } \\\n",
    "    } \\\n",
    "    static inline void tansy_all2_##S##x##L(const void *f, int64_t n, T *x, T *y, T *to) { \\\n",
    "        for (int64_t i = n; i % L; i++) x[i] = x[n - 1], y[i] = y[n - 1]; \\\n",
    "        for (int64_t i = 0; i < n; i += L) { \\\n",
    "            S##x##L a, b; \\\n",
    "            memcpy(&a, x + i, sizeof a); \\\n",
    "            memcpy(&b, y + i, sizeof b); \\\n",
    "            a = ((S##x##L (*)(S##x##L, S##x##L))f)(a, b); \\\n",
    "            memcpy(to + i, &a, sizeof a); \\\n",
    "        } \\\n",
    "    }\n",
    NULL};
/* clang-format on */

/* clang-format off */
static const char portable[] =
    "#include <float.h>\n"
    "#include <math.h>\n"
    "#include <stdint.h>\n"
    "#include <string.h>\n"
    "\n"
    "#ifdef __clang__\n"
    "#pragma STDC FP_CONTRACT OFF\n"
    "#endif\n"
    "\n";
static const char apart[] =
    "/* Parts of long functions, which stay apart: compilers take more than linear time. */\n"
    "#ifndef TANSY_APART\n"
    "#ifdef __GNUC__\n"
    "#define TANSY_APART __attribute__((noinline))\n"
    "#else\n"
    "#define TANSY_APART\n"
    "#endif\n"
    "#endif\n"
    "\n";
static const char simd[] =
    "/* Loops whose iterations may be computed side by side. */\n"
    "#ifndef TANSY_SIMD\n"
    "#if defined(__GNUC__) && !defined(__clang__)\n"
    "#define TANSY_SIMD _Pragma(\"GCC ivdep\") _Pragma(\"GCC unroll 1\")\n"
    "#else\n"
    "#define TANSY_SIMD\n"
    "#endif\n"
    "#endif\n"
    "\n";
static const char math[] =
    "/* Nobody reads errno.  glibc has functions of vectors, of 4 ulp, which gcc calls at -O3: not with\n"
    " * -DTANSY_LIBMVEC=0. */\n"
    "#ifndef TANSY_MATH\n"
    "#ifdef __GNUC__\n"
    "#define TANSY_MATH __attribute__((__const__))\n"
    "#else\n"
    "#define TANSY_MATH\n"
    "#endif\n"
    "#ifndef TANSY_LIBMVEC\n"
    "#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__)\n"
    "#define TANSY_LIBMVEC (__GLIBC__ > 2 ? 35 : __GLIBC_MINOR__)\n"
    "#else\n"
    "#define TANSY_LIBMVEC 0\n"
    "#endif\n"
    "#endif\n"
    "#if TANSY_LIBMVEC >= 22\n"
    "#define TANSY_MATH22 __attribute__((__simd__(\"notinbranch\"), __const__))\n"
    "#else\n"
    "#define TANSY_MATH22 TANSY_MATH\n"
    "#endif\n"
    "#if TANSY_LIBMVEC >= 35\n"
    "#define TANSY_MATH35 TANSY_MATH22\n"
    "#else\n"
    "#define TANSY_MATH35 TANSY_MATH\n"
    "#endif\n"
    "#endif\n"
    "\n";
/* clang-format on */

static bool says(const tn_i_text *t, const char *word) { return t->at && strstr(t->at, word); }

void tn_i_cgen_head(const tn_i_cgen *g, const tn_i_text *more, tn_i_text *out) {
    static const struct {
        const char *word, *text;
    } told[] = {{"TANSY_APART", apart}, {"TANSY_SIMD", simd}, {"TANSY_MATH", math}};
    tn_i_text_put(out, "%s", portable);
    for (int i = 0; i < 3; i++)
        if (says(&g->helpers, told[i].word) || says(&g->functions, told[i].word) || (more && says(more, told[i].word)))
            tn_i_text_put(out, "%s", told[i].text);
}

bool tn_i_cgen_file(tn_i_cgen *g, tn_i_text *out) {
    if (!g->native) tn_i_cgen_head(g, NULL, out);
    for (int i = 0; g->native && prelude[i]; i++) tn_i_text_put(out, "%s", prelude[i]);
    if (g->native)
        tn_i_text_put(out, "FUNCTIONS(double, f64, %d)\nFUNCTIONS(float, f32, %d)\n", tn_i_isa_bytes(g->isa) / 8,
                      tn_i_isa_bytes(g->isa) / 4);
    if (g->helpers.at) tn_i_text_add(out, g->helpers.at, g->helpers.n);
    if (g->constants.at) tn_i_text_add(out, g->constants.at, g->constants.n);
    if (g->functions.at) tn_i_text_add(out, g->functions.at, g->functions.n);
    if (g->native)
        tn_i_text_put(out,
                      "\ntypedef int program_fn(const struct tansy_run *, char *const *);\n"
                      "extern program_fn *const tansy_programs[];\nprogram_fn *const tansy_programs[] = {\n%s};\n",
                      g->list.at ? g->list.at : "0");
    return !g->failed && !out->failed;
}

void tn_i_cgen_free(tn_i_cgen *g) {
    tn_i_text_free(&g->helpers);
    tn_i_text_free(&g->constants);
    tn_i_text_free(&g->functions);
    tn_i_text_free(&g->list);
    tn_i_free(g->ctx, g->constant, g->cconstant * sizeof *g->constant);
    tn_i_free(g->ctx, g->table, g->ctable * sizeof *g->table);
    tn_i_free(g->ctx, g->written, g->cwritten);
    *g = (tn_i_cgen){.ctx = g->ctx};
}

/* No contraction, no other rounding and no other order than written; no errno and no traps, which nobody reads; arrays
 * of several types in one arena. */
void tn_i_cgen_flags(tn_i_isa isa, const char *flags[24]) {
    static const char *const all[] = {"-O3",
                                      "-std=gnu11",
                                      "-w",
                                      "-fopenmp-simd",
                                      "-ffp-contract=off",
                                      "-fno-math-errno",
                                      "-fno-trapping-math",
                                      "-fno-strict-aliasing",
                                      NULL};
    static const char *const sets[TN_ISA_ANY][8] = {[TN_ISA_AVX2] = {"-mavx2", "-mfma", NULL},
                                                    [TN_ISA_AVX512] = {"-mfma", "-mavx512f", "-mavx512dq", "-mavx512bw",
                                                                       "-mavx512vl", "-mprefer-vector-width=512",
                                                                       NULL}};
    int n = 0;
    for (int i = 0; all[i]; i++) flags[n++] = all[i];
    for (int i = 0; sets[isa][i]; i++) flags[n++] = sets[isa][i];
    flags[n] = NULL;
}
