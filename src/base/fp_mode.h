/* The floating-point mode that bits are promised in, whatever the caller has set: rounding to nearest, subnormals kept
 * (or flushed, where an executable is to do that), no traps.  What enters leaves: the caller's mode is back then, with
 * the exceptions raised meanwhile.
 *
 * Reading the mode takes a nanosecond or two; it is written only where it differs. */
#ifndef TN_FP_MODE_H
#define TN_FP_MODE_H

#include <stdint.h>

#if defined __x86_64__ && defined __GNUC__
#include <xmmintrin.h>

/* MXCSR, and above it the control word of the x87, which computes what is long double. */
typedef uint64_t tn_i_fp_mode;
enum { TN_FP_RAISED = 0x3F, TN_FP_CAN_FLUSH = 1 };
#define TN_FP_OF(mxcsr) (UINT64_C(0x037F) << 32 | (mxcsr))
#define TN_FP_DEFAULT   TN_FP_OF(0x1F80)
#define TN_FP_FLUSHING  TN_FP_OF(0x1F80 | 0x8040)

static inline uint16_t tn_i_x87_word(void) {
    uint16_t word;
    __asm__ __volatile__("fnstcw %0" : "=m"(word));
    return word;
}
static inline void tn_i_x87_set(tn_i_fp_mode mode) {
    const uint16_t word = (uint16_t)(mode >> 32);
    __asm__ __volatile__("fldcw %0" : : "m"(word));
}

/* The mode without what has been raised. */
static inline tn_i_fp_mode tn_i_fp_mode_now(void) {
    return (tn_i_fp_mode)tn_i_x87_word() << 32 | (_mm_getcsr() & ~(unsigned)TN_FP_RAISED);
}
static inline void tn_i_fp_change(tn_i_fp_mode from, tn_i_fp_mode to) {
    if ((uint32_t)from != (uint32_t)to) _mm_setcsr((uint32_t)to | (_mm_getcsr() & TN_FP_RAISED));
    if (from >> 32 != to >> 32) tn_i_x87_set(to);
}
static inline tn_i_fp_mode tn_i_fp_enter_as(tn_i_fp_mode wanted) {
    const tn_i_fp_mode mode = tn_i_fp_mode_now();
    tn_i_fp_change(mode, wanted);
    return mode;
}
static inline void tn_i_fp_leave_from(tn_i_fp_mode mode, tn_i_fp_mode wanted) { tn_i_fp_change(wanted, mode); }

#elif defined __aarch64__ && defined __GNUC__

/* FPCR; what is raised is in a register of its own. */
typedef uint64_t tn_i_fp_mode;
enum { TN_FP_DEFAULT = 0, TN_FP_FLUSHING = 1 << 24, TN_FP_CAN_FLUSH = 1 };

static inline tn_i_fp_mode tn_i_fp_mode_now(void) {
    uint64_t mode;
    __asm__ __volatile__("mrs %0, fpcr" : "=r"(mode));
    return mode;
}
static inline tn_i_fp_mode tn_i_fp_enter_as(tn_i_fp_mode wanted) {
    const uint64_t mode = tn_i_fp_mode_now();
    if (mode != wanted) __asm__ __volatile__("msr fpcr, %0" : : "r"(wanted));
    return mode;
}
static inline void tn_i_fp_leave_from(tn_i_fp_mode mode, tn_i_fp_mode wanted) {
    if (mode != wanted) __asm__ __volatile__("msr fpcr, %0" : : "r"(mode));
}

#else
#include <fenv.h>

typedef int tn_i_fp_mode;
enum { TN_FP_DEFAULT = FE_TONEAREST, TN_FP_FLUSHING = FE_TONEAREST, TN_FP_CAN_FLUSH = 0 };

static inline tn_i_fp_mode tn_i_fp_mode_now(void) { return fegetround(); }
static inline tn_i_fp_mode tn_i_fp_enter_as(tn_i_fp_mode wanted) {
    const int mode = fegetround();
    if (mode != wanted) (void)fesetround(wanted);
    return mode;
}
static inline void tn_i_fp_leave_from(tn_i_fp_mode mode, tn_i_fp_mode wanted) {
    if (mode != wanted) (void)fesetround(mode);
}
#endif

static inline tn_i_fp_mode tn_i_fp_enter(void) { return tn_i_fp_enter_as(TN_FP_DEFAULT); }
static inline void tn_i_fp_leave(tn_i_fp_mode mode) { tn_i_fp_leave_from(mode, TN_FP_DEFAULT); }

#endif
