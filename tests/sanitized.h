/* Whether the sanitizers run: they multiply times, and look for what does not depend on how long a test is. */
#ifndef TN_TESTS_SANITIZED_H
#define TN_TESTS_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

#endif
