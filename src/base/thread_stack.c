#include "base/thread_stack.h"

#include <pthread.h>
#ifdef __linux__
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif
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

#ifdef __linux__
/* The first thread's stack grows up to its limit; a C library may tell what there is of it by now (musl). */
static uintptr_t lowest_of(uintptr_t low, size_t bytes) {
    struct rlimit limit;
    if (syscall(SYS_gettid) != getpid() || getrlimit(RLIMIT_STACK, &limit) != 0) return low;
    if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur <= bytes || limit.rlim_cur > low + bytes) return low;
    return low + bytes - (uintptr_t)limit.rlim_cur;
}
#endif

size_t tn_i_stack_left(void) {
#ifdef __linux__
    pthread_attr_t attr;
    void *stack;
    size_t bytes;
    if (pthread_getattr_np(pthread_self(), &attr) != 0) return SIZE_MAX;
    const int failed = pthread_attr_getstack(&attr, &stack, &bytes);
    (void)pthread_attr_destroy(&attr);
    const uintptr_t here = (uintptr_t)&attr, high = (uintptr_t)stack + bytes;
    const uintptr_t low = failed ? 0 : lowest_of((uintptr_t)stack, bytes);
    return failed || here < low || here > high ? SIZE_MAX : (size_t)(here - low);
#else
    return SIZE_MAX;
#endif
}

uint32_t tn_i_nesting_within(size_t bytes) {
    const size_t levels = bytes > BESIDE ? (bytes - BESIDE) / LEVEL : 0;
    if (levels >= TN_MAX_NEST) return TN_MAX_NEST;
    return levels > 0 ? (uint32_t)levels : 1;
}
