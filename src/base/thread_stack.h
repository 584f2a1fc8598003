/* How deep programs may nest, by the stack that there is: transformations go down one program after the other. */
#ifndef TN_THREAD_STACK_H
#define TN_THREAD_STACK_H

#include <stddef.h>
#include <stdint.h>

/* Bytes that the thread has left; SIZE_MAX: nobody knows. */
size_t tn_i_stack_left(void);
/* Levels that these bytes hold. */
uint32_t tn_i_nesting_within(size_t bytes);

#endif
