/* Joining, element by element: maxima and minima keep NaN, integers wrap around. */
#include "comm/join.h"

/* One loop: a is what is there, b what comes. */
#define EACH(e)                               \
    for (size_t i = 0; i < n; i++) {          \
        const element a = to[i], b = with[i]; \
        to[i] = (element)(e);                 \
    }

static void join_f64(int op, void *restrict first, const void *restrict second, size_t n) {
    typedef double element;
    element *restrict to = first;
    const element *restrict with = second;
    switch (op) {
    case TN_COMM_SUM: EACH(a + b) break;
    case TN_COMM_PROD: EACH(a * b) break;
    case TN_COMM_MAX: EACH(a > b || a != a ? a : b) break;
    default: EACH(a < b || a != a ? a : b) break;
    }
}

static void join_f32(int op, void *restrict first, const void *restrict second, size_t n) {
    typedef float element;
    element *restrict to = first;
    const element *restrict with = second;
    switch (op) {
    case TN_COMM_SUM: EACH(a + b) break;
    case TN_COMM_PROD: EACH(a * b) break;
    case TN_COMM_MAX: EACH(a > b || a != a ? a : b) break;
    default: EACH(a < b || a != a ? a : b) break;
    }
}

static void join_i64(int op, void *restrict first, const void *restrict second, size_t n) {
    typedef int64_t element;
    element *restrict to = first;
    const element *restrict with = second;
    switch (op) {
    case TN_COMM_SUM: EACH((uint64_t)a + (uint64_t)b) break;
    case TN_COMM_PROD: EACH((uint64_t)a * (uint64_t)b) break;
    case TN_COMM_MAX: EACH(a > b ? a : b) break;
    default: EACH(a < b ? a : b) break;
    }
}

static void join_i32(int op, void *restrict first, const void *restrict second, size_t n) {
    typedef int32_t element;
    element *restrict to = first;
    const element *restrict with = second;
    switch (op) {
    case TN_COMM_SUM: EACH((uint32_t)a + (uint32_t)b) break;
    case TN_COMM_PROD: EACH((uint32_t)a * (uint32_t)b) break;
    case TN_COMM_MAX: EACH(a > b ? a : b) break;
    default: EACH(a < b ? a : b) break;
    }
}

static void join_u32(int op, void *restrict first, const void *restrict second, size_t n) {
    typedef uint32_t element;
    element *restrict to = first;
    const element *restrict with = second;
    switch (op) {
    case TN_COMM_SUM: EACH(a + b) break;
    case TN_COMM_PROD: EACH(a * b) break;
    case TN_COMM_MAX: EACH(a > b ? a : b) break;
    default: EACH(a < b ? a : b) break;
    }
}

static void join_bool(int op, void *restrict first, const void *restrict second, size_t n) {
    typedef uint8_t element;
    element *restrict to = first;
    const element *restrict with = second;
    if (op == TN_COMM_SUM || op == TN_COMM_MAX) {
        EACH(a | b)
    } else {
        EACH(a & b)
    }
}

void tn_i_join(int dtype, int op, void *restrict to, const void *restrict with, size_t n) {
    switch (dtype) {
    case TN_BOOL: join_bool(op, to, with, n); break;
    case TN_I32: join_i32(op, to, with, n); break;
    case TN_U32: join_u32(op, to, with, n); break;
    case TN_I64: join_i64(op, to, with, n); break;
    case TN_F32: join_f32(op, to, with, n); break;
    default: join_f64(op, to, with, n); break;
    }
}
