/* Pairs of operations that are common enough to be one: a sum or a difference one term of which is a product, and a
 * product one factor of which is a sum or a difference.  Both are rounded, as if they stood alone. */
#include "prims/ids.h"
#include "prims/strips.h"
#include "vec/vec.h"

#define PAIR(name, body)                                     \
    TN_LOOP3_OF(name, f32, float, float, float, float, body) \
    TN_LOOP3_OF(name, f64, double, double, double, double, body)

PAIR(product_plus, x *y + z)
PAIR(product_minus, x *y - z)
PAIR(minus_product, z - x * y)
PAIR(sum_times, (x + y) * z)
PAIR(difference_times, (x - y) * z)

#define BOTH(name) \
    { [TN_F32] = name##_f32, [TN_F64] = name##_f64 }

typedef struct row {
    int first, second;
    int at;     /* which operand of the second the first is; -1: either */
    bool swaps; /* the first's operands may change places */
    tn_i_strip *strip[TN_NDTYPES];
} row;

bool tn_i_vec_pair(const tn_prim *first, const tn_prim *second, int at, int dtype, tn_i_isa isa, tn_i_vec *v,
                   bool *swaps) {
    static const row rows[] = {
        {TN_P_mul, TN_P_add, -1, true, BOTH(product_plus)},      {TN_P_mul, TN_P_sub, 0, true, BOTH(product_minus)},
        {TN_P_mul, TN_P_sub, 1, true, BOTH(minus_product)},      {TN_P_add, TN_P_mul, -1, true, BOTH(sum_times)},
        {TN_P_sub, TN_P_mul, -1, false, BOTH(difference_times)},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const row *r = &rows[i];
        if (first->id != r->first || second->id != r->second || (r->at >= 0 && r->at != at) || !r->strip[dtype])
            continue;
        if (first->original || second->original) continue; /* copies that tests have broken */
        *v = tn_i_vec_strip(r->strip[dtype], isa);
        *swaps = r->swaps;
        return true;
    }
    return false;
}
