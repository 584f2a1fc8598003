#include "exec/parallel.h"

#ifdef _OPENMP
#include <omp.h>

/* ThreadSanitizer does not see how libgomp's threads wait for each other. */
#ifdef __SANITIZE_THREAD__
void __tsan_acquire(void *address);
void __tsan_release(void *address);
static const char begun[1], ended[1]; /* addresses to tell it of */
#define HANDED_OVER(x) __tsan_release((void *)(uintptr_t)(x))
#define TAKEN_OVER(x)  __tsan_acquire((void *)(uintptr_t)(x))
#else
#define HANDED_OVER(x)
#define TAKEN_OVER(x)
#endif

bool tn_i_nest_threads(void) { return true; }

void tn_i_in_pieces(uint32_t threads, int64_t pieces, tn_i_pieces_fn *run, void *with) {
    HANDED_OVER(begun);
#pragma omp parallel num_threads(threads)
    {
        TAKEN_OVER(begun);
        const int64_t i = omp_get_thread_num(), n = omp_get_num_threads();
        run(with, (int)i, pieces * i / n, pieces * (i + 1) / n);
        HANDED_OVER(ended);
    }
    TAKEN_OVER(ended);
}
#else
bool tn_i_nest_threads(void) { return false; }

void tn_i_in_pieces(uint32_t threads, int64_t pieces, tn_i_pieces_fn *run, void *with) {
    (void)threads;
    run(with, 0, 0, pieces);
}
#endif
