/* The names that the statements of uses.txt use. */
#include <tansy/comm.h>
#include <tansy/sparse.h>
#ifdef __cplusplus
#include <vector>
#endif

tn_val one(const tn_val *in, void *user);
void many(const tn_val *in, tn_val *out, void *user);

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
    (void)vector, (void)constant;
#else
#define MORE
#endif
