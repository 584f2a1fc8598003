/* What a C programmer would write for the programs of this folder, in both dtypes: by_hand.inc and by_hand_models.inc,
 * twice. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define T       double
#define NAME(f) by_hand_##f##_f64
#define OWN(f)  f##_f64
#define M(f)    f
#include "by_hand.inc"
#undef T
#undef NAME
#undef OWN
#undef M
#define T       float
#define NAME(f) by_hand_##f##_f32
#define OWN(f)  f##_f32
#define M(x)    x##f
#include "by_hand.inc"
