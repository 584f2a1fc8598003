/* The C text of dot_general. */
#ifndef TN_DOT_TEXT_H
#define TN_DOT_TEXT_H

#include "prims/c_text.h"

void tn_i_c_dot(const tn_i_c_kernel *k);

#endif
