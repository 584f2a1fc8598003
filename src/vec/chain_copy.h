/* The last block of a chain where no instruction moves a part of a vector; BYTES: of one. */
#include <string.h>

static void widen(char *to, const char *from, int64_t bytes) {
    memcpy(to, from, (size_t)bytes);
    memset(to + bytes, 0, (size_t)(WIDTH * BYTES - bytes));
}

static void cut(char *to, const char *from, int64_t bytes) { memcpy(to, from, (size_t)bytes); }
