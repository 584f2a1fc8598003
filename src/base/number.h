/* Numbers as text, exactly and without the C locale.
 *
 * Every float a format function writes is read back by its parse function to
 * the same bits.  Nothing allocates, nothing depends on rounding mode or
 * locale, any number of threads may call at once. */
#ifndef TN_NUMBER_H
#define TN_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TN_I_NUMBER_TEXT 40

/* The shortest decimal that reads back to x, the one nearest to x among
 * several; in Python's layout, so always visibly a float: 1.0, 1e-05, 1e+16,
 * -0.0, inf, nan.  A NaN other than the positive quiet one without payload
 * gives its bits: nan:0x7ff8000000000001.  Returns the length; NUL-terminated. */
size_t tn_i_format_f64(char buf[TN_I_NUMBER_TEXT], double x);
size_t tn_i_format_f32(char buf[TN_I_NUMBER_TEXT], float x);

/* x as printf's %.17g writes it in the C locale, but NaN, Infinity and
 * -Infinity as Python's json does. */
size_t tn_i_format_json_f64(char buf[TN_I_NUMBER_TEXT], double x);

/* The n bytes at s, all of them, as a number: decimal (1, -1., .5, 1e5),
 * hexadecimal (0x1.8p+3), [+-]inf, Infinity, nan, NaN, or nan:0x and the bits
 * of a NaN.  Correctly rounded to nearest even from as many digits as there
 * are; too large gives an infinity, too small zero.  False when it is none. */
bool tn_i_parse_f64(const char *s, size_t n, double *out);
bool tn_i_parse_f32(const char *s, size_t n, float *out);

/* [+-]digits; false for anything else and when it doesn't fit. */
bool tn_i_parse_i64(const char *s, size_t n, int64_t *out);

#endif
