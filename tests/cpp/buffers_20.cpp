/* The same with std::span. */
#include "buffers.cpp"
