/* The workloads, in the order of the table. */
#ifndef BENCH_SUITE_H
#define BENCH_SUITE_H

#include "../c/by_hand.h"
#include "../harness.h"

bench_workload suite_chain, suite_cheap, suite_rosenbrock, suite_poly9, suite_scalar, suite_jacobian, suite_burgers,
    suite_tsit5, suite_mlp, suite_logreg, suite_transformer, suite_cnn, suite_gmm, suite_bundle, suite_calls;

#endif
