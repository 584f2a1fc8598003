/* What a misspelt name was probably meant to be. */
#ifndef TN_NEAREST_H
#define TN_NEAREST_H

#include <stddef.h>

/* Name i of a list, NULL behind the last. */
typedef const char *tn_i_name_at(const void *list, size_t i);
const char *tn_i_array_name(const void *list, size_t i); /* of an array of texts that ends in NULL */

/* Writes "; did you mean 'NAME'?" into buf for the name with the fewest changes of a letter from text[0..n), or
 * nothing where none is near; returns buf.  Names of more than 63 letters are near to none. */
#define TN_I_NEAREST 96
const char *tn_i_nearest(char buf[TN_I_NEAREST], const char *text, size_t n, tn_i_name_at *at, const void *list);

#endif
