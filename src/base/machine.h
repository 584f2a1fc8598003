/* The numbers of the machine table that the sources use: TN_M_NAME is NAME of base/machine.def, which says what each is
 * and how it was found. */
#ifndef TN_MACHINE_TABLE_H
#define TN_MACHINE_TABLE_H

enum {
#define TN_MACHINE(name, value, unit, what, how) TN_M_##name = value,
#define TN_PRICE(member, name, ns, unit, how)
#include "base/machine.def"
#undef TN_MACHINE
#undef TN_PRICE
};

#endif
