/* The same where there is std::source_location. */
#include "places.cpp"
