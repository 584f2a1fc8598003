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

#define FRAME(name, statement)                                                                                   \
    tn_status name(tn_ctx *c, tn_exec *e, tn_work *wk, tn_fn *f, const tn_val *in, double s, int k, tn_type t) { \
        double x[3] = {0}, m[2][3] = {{0}}, *w = x;                                                              \
        float y[2] = {0};                                                                                        \
        const double *fixed = x;                                                                                 \
        static const int32_t table[2] = {1, 2};                                                                  \
        const void *const *raw = NULL;                                                                           \
        void *const *raw_out = NULL;                                                                             \
        tn_val v = in[0];                                                                                        \
        tn_status st = TN_OK;                                                                                    \
        MORE statement;                                                                                          \
        (void)c, (void)e, (void)wk, (void)f, (void)v, (void)t, (void)s, (void)k, (void)m, (void)w, (void)y,      \
            (void)fixed, (void)table, (void)raw, (void)raw_out;                                                  \
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
    tn::program p;                \
    (void)a, (void)b, (void)run, (void)cx, (void)p;
#else
#define MORE_HPP
#endif
#else
#define MORE
#endif
