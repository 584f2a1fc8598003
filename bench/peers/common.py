"""What the peers' scripts share: one processor, the clock, the line that is printed."""
import json
import math
import os
import statistics
import sys
import time

SAMPLES, SAMPLE_SECONDS = 7, 0.02


def pin():
    """One processor and one thread; before NumPy or a peer is imported."""
    cpu = os.environ.get("PEERS_CPU")
    os.sched_setaffinity(0, {int(cpu) if cpu else min(os.sched_getaffinity(0))})
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"


def wanted(workload):
    only = os.environ.get("PEERS_ONLY", "")
    return not only or workload in only.split(",")


def samples(fn, longest=60.0):
    """Processor seconds of a call, SAMPLES times (fewer when they would take longer than `longest` together)."""
    fn()
    start = time.process_time()
    fn()
    once = max(time.process_time() - start, 1e-9)
    repeat = max(1, math.ceil(SAMPLE_SECONDS / once))
    count = max(1, min(SAMPLES, int(longest / (once * repeat))))
    out = []
    for _ in range(count):
        start = time.process_time()
        for _ in range(repeat):
            fn()
        out.append((time.process_time() - start) / repeat)
    return out


def emit(backend, workload, variant, n, dtype, seconds, **more):
    line = dict(workload=workload, variant=variant, n=n, dtype=dtype, backend=backend,
                median_s=float(f"{statistics.median(seconds):.4g}"), ratio_to_c=None, bytes=None, samples=len(seconds))
    line.update(more)
    print(json.dumps(line), flush=True)


def skip(backend, why):
    print(json.dumps(dict(backend=backend, skipped=str(why))), flush=True)
    sys.exit(0)
