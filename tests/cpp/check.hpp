/* What the tests of tansy.hpp share. */
#ifndef CHECK_HPP
#define CHECK_HPP

#include <tansy.hpp>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

inline int passed = 0, failed = 0;

inline void check_at(bool ok, const char *what, const std::string &more, const char *file, int line) {
    if (ok)
        passed++;
    else {
        failed++;
        std::printf("%s:%d: %s\n%s\n", file, line, what, more.c_str());
    }
}
#define CHECK(x) check_at(static_cast<bool>(x), #x, "", __FILE__, __LINE__)
#define CHECK_HAS(x, has) \
    check_at(std::string(x).find(has) != std::string::npos, #x " has no " #has, x, __FILE__, __LINE__)

/* x, where it throws a tn::error: its message has `has`, its status is s. */
#define CHECK_THROWS(x, s, has)                                                                                \
    do {                                                                                                       \
        std::string thrown_message = "nothing was thrown";                                                     \
        tn_status thrown_status = TN_OK;                                                                       \
        try {                                                                                                  \
            x;                                                                                                 \
        } catch (const tn::error &thrown_error) {                                                              \
            thrown_message = thrown_error.what();                                                              \
            thrown_status = thrown_error.status();                                                             \
        }                                                                                                      \
        check_at(thrown_status == (s), #x, thrown_message, __FILE__, __LINE__);                                \
        check_at(thrown_message.find(has) != std::string::npos, #x " has not " #has, thrown_message, __FILE__, \
                 __LINE__);                                                                                    \
    } while (0)

inline int report() {
    std::printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}

#endif
