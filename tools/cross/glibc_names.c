/* Names that an archive compiled for glibc wants, for programs that are linked with musl (musl.sh). */
#include <ctype.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

int __vfprintf_chk(FILE *f, int flag, const char *fmt, va_list ap) {
    (void)flag;
    return vfprintf(f, fmt, ap);
}

int __fprintf_chk(FILE *f, int flag, const char *fmt, ...) {
    va_list ap;
    (void)flag;
    va_start(ap, fmt);
    const int written = vfprintf(f, fmt, ap);
    va_end(ap);
    return written;
}

int __printf_chk(int flag, const char *fmt, ...) {
    va_list ap;
    (void)flag;
    va_start(ap, fmt);
    const int written = vprintf(fmt, ap);
    va_end(ap);
    return written;
}

int __snprintf_chk(char *s, size_t n, int flag, size_t size, const char *fmt, ...) {
    va_list ap;
    (void)flag, (void)size;
    va_start(ap, fmt);
    const int written = vsnprintf(s, n, fmt, ap);
    va_end(ap);
    return written;
}

int __sprintf_chk(char *s, int flag, size_t size, const char *fmt, ...) {
    va_list ap;
    (void)flag;
    va_start(ap, fmt);
    const int written = vsnprintf(s, size, fmt, ap);
    va_end(ap);
    return written;
}

const int32_t **__ctype_toupper_loc(void) {
    static int32_t upper[128 + 256];
    static const int32_t *at = upper + 128;
    for (int i = 0; i < 256; i++) upper[128 + i] = toupper(i);
    return &at;
}
