/* How fast is Tansy beside hand-written C?  BENCHMARKS.md has the last table. */
#include "suite.h"

static bench_workload *const WORKLOAD[] = {
    suite_chain, suite_cheap,  suite_rosenbrock,  suite_poly9, suite_scalar, suite_jacobian, suite_burgers, suite_tsit5,
    suite_mlp,   suite_logreg, suite_transformer, suite_cnn,   suite_gmm,    suite_bundle,   suite_calls,
};

int main(int argc, char **argv) { return bench_main(argc, argv, sizeof WORKLOAD / sizeof *WORKLOAD, WORKLOAD); }
