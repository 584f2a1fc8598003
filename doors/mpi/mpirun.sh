#!/bin/sh
# mpirun, on any number of ranks, in containers, for a minute at most.   usage: mpirun.sh MPIRUN ARGUMENT ..
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
    OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_btl_base_warn_component_unused=0 \
    PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
# The libraries behind MPI keep what they allocate.
export LSAN_OPTIONS="suppressions=$(dirname "$0")/leaks.supp:print_suppressions=0:fast_unwind_on_malloc=0"
exec timeout -k 5 "${TN_MPI_LIMIT:-60}" "$@"
