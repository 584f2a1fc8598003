#include "base/thread_stack.h"

#include <pthread.h>
#include <tansy.h>

/* Bytes: what is needed beside the levels, as for a call of BLIS or of the C library; and for each, of what goes down
 * deepest (tests/unit/deep.c), which sanitizers make several times as large. */
#if defined __SANITIZE_ADDRESS__
#define SANITIZED 1
#elif defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifdef SANITIZED
enum { BESIDE = 512 << 10, LEVEL = 24 << 10 };
#else
enum { BESIDE = 64 << 10, LEVEL = 3 << 10 };
#endif

size_t tn_i_stack_left(void) {
#ifdef __linux__
    pthread_attr_t attr;
    void *lowest;
    size_t bytes;
    if (pthread_getattr_np(pthread_self(), &attr) != 0) return SIZE_MAX;
    const int failed = pthread_attr_getstack(&attr, &lowest, &bytes);
    (void)pthread_attr_destroy(&attr);
    const uintptr_t here = (uintptr_t)&bytes, low = (uintptr_t)lowest;
    return failed || here < low || here - low > bytes ? SIZE_MAX : (size_t)(here - low);
#else
    return SIZE_MAX;
#endif
}

uint32_t tn_i_nesting_within(size_t bytes) {
    const size_t levels = bytes > BESIDE ? (bytes - BESIDE) / LEVEL : 0;
    if (levels >= TN_MAX_NEST) return TN_MAX_NEST;
    return levels > 0 ? (uint32_t)levels : 1;
}
