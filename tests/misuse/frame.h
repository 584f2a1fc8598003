/* The names that the statements of uses.txt use. */
#include <tansy/comm.h>
#include <tansy/sparse.h>
#ifdef __cplusplus
#include <vector>
#endif

tn_val one(const tn_val *in, void *user);
void many(const tn_val *in, tn_val *out, void *user);

#ifdef TANSY_HPP
/* Matrices as Eigen's. */
template <bool Rows> struct matrix {
    enum { IsRowMajor = Rows, IsVectorAtCompileTime = 0 };
    double *data() const { return nullptr; }
    long size() const { return 0; }
    long rows() const { return 0; }
    long cols() const { return 0; }
    long innerStride() const { return 1; }
    long outerStride() const { return 0; }
};
using by_rows = matrix<true>;
using by_columns = matrix<false>;
#endif
/* A struct that is described, others, and lists that make none. */
#define PAIR(F) F(f64, w, 2, 3) F(f64, b)
TN_STRUCT(pair, PAIR);
typedef struct before {
    double w[6];
    int64_t k;
} before;
#define BEFORE(F)     F(f64, w, 2, 3) F(i64, k)
#define TOO_LARGE(F)  F(f64, w, 3, 3)
#define TOO_SMALL(F)  F(f64, w, 3)
#define OF_FLOATS(F)  F(f64, k)
#define OF_NAMES(F)   F(f64, nobody)
#define WELL(F)       F(bool, on, 0) F(i32, k, 1, 2, 3, 4, 5, 6, 7, 8) F(struct, pair, p, 2)
#define NEGATIVE(F)   F(f64, w, 2, -3)
#define FRACTION(F)   F(f64, w, 2.5)
#define NINE(F)       F(f64, w, 1, 1, 1, 1, 1, 1, 1, 1, 1)
#define OF_BYTES(F)   F(u24, w, 2)
#define OF_NOTHING(F) /* no rows */
#define NO_PAIRS(F)   F(struct, pair, p, 0)
#define SQUARE(F)     F(struct, pair, p, 2, 2)
#define TWICE(F)      F(f64, w, 2) F(f64, w, 2)

#define FRAME(name, statement)                                                                                   \
    tn_status name(tn_ctx *c, tn_exec *e, tn_work *wk, tn_fn *f, const tn_val *in, double s, int k, tn_type t) { \
        double x[3] = {0}, m[2][3] = {{0}}, *w = x;                                                              \
        float y[2] = {0};                                                                                        \
        const double *fixed = x;                                                                                 \
        static const int32_t table[2] = {1, 2};                                                                  \
        const void *const *raw = NULL;                                                                           \
        void *const *raw_out = NULL;                                                                             \
        static pair p;                                                                                           \
        static const pair fixed_pair = {{{0}}, 0};                                                               \
        tn_val v = in[0];                                                                                        \
        tn_status st = TN_OK;                                                                                    \
        MORE statement;                                                                                          \
        (void)c, (void)e, (void)wk, (void)f, (void)v, (void)t, (void)s, (void)k, (void)m, (void)w, (void)y,      \
            (void)fixed, (void)table, (void)raw, (void)raw_out, (void)p, (void)fixed_pair;                       \
        return st;                                                                                               \
    }
#ifdef __cplusplus
#define MORE                            \
    std::vector<double> vector;         \
    const std::vector<double> constant; \
    (void)vector, (void)constant;       \
    MORE_HPP
#ifdef TANSY_HPP
#define MORE_HPP                  \
    tn::val a = in[0], b = in[1]; \
    tn::executable run;           \
    tn::context cx;               \
    tn::program program;          \
    (void)a, (void)b, (void)run, (void)cx, (void)program;
#else
#define MORE_HPP
#endif
#else
#define MORE
#endif
