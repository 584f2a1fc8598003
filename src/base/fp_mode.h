/* The floating-point mode that bits are promised in, whatever the caller has set: rounding to nearest, subnormals kept,
 * no traps.  What enters leaves: the caller's mode is back then, with the exceptions raised meanwhile.
 *
 * Reading the mode takes a nanosecond or two; it is written only where it differs. */
#ifndef TN_FP_MODE_H
#define TN_FP_MODE_H

#include <stdint.h>

#if defined __x86_64__
#include <xmmintrin.h>

typedef unsigned tn_i_fp_mode;
enum { TN_FP_RAISED = 0x3F, TN_FP_DEFAULT = 0x1F80 };

static inline tn_i_fp_mode tn_i_fp_mode_now(void) { return _mm_getcsr(); }
static inline tn_i_fp_mode tn_i_fp_enter(void) {
    const unsigned mode = _mm_getcsr();
    if ((mode & ~(unsigned)TN_FP_RAISED) != TN_FP_DEFAULT) _mm_setcsr(TN_FP_DEFAULT | (mode & TN_FP_RAISED));
    return mode;
}
static inline int tn_i_fp_differs(tn_i_fp_mode mode) { return (mode & ~(unsigned)TN_FP_RAISED) != TN_FP_DEFAULT; }
static inline void tn_i_fp_leave(tn_i_fp_mode mode) {
    if (tn_i_fp_differs(mode)) _mm_setcsr(mode | (_mm_getcsr() & TN_FP_RAISED));
}

#elif defined __aarch64__ && defined __GNUC__

/* FPCR; what is raised is in a register of its own. */
typedef uint64_t tn_i_fp_mode;

static inline tn_i_fp_mode tn_i_fp_mode_now(void) {
    uint64_t mode;
    __asm__ __volatile__("mrs %0, fpcr" : "=r"(mode));
    return mode;
}
static inline tn_i_fp_mode tn_i_fp_enter(void) {
    const uint64_t mode = tn_i_fp_mode_now(), none = 0;
    if (mode) __asm__ __volatile__("msr fpcr, %0" : : "r"(none));
    return mode;
}
static inline int tn_i_fp_differs(tn_i_fp_mode mode) { return mode != 0; }
static inline void tn_i_fp_leave(tn_i_fp_mode mode) {
    if (mode) __asm__ __volatile__("msr fpcr, %0" : : "r"(mode));
}

#else
#include <fenv.h>

typedef int tn_i_fp_mode;

static inline int tn_i_fp_differs(tn_i_fp_mode mode) { return mode != FE_TONEAREST; }
static inline tn_i_fp_mode tn_i_fp_mode_now(void) { return fegetround(); }
static inline tn_i_fp_mode tn_i_fp_enter(void) {
    const int mode = fegetround();
    if (tn_i_fp_differs(mode)) (void)fesetround(FE_TONEAREST);
    return mode;
}
static inline void tn_i_fp_leave(tn_i_fp_mode mode) {
    if (tn_i_fp_differs(mode)) (void)fesetround(mode);
}
#endif

#endif
