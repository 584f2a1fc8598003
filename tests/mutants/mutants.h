/* Mutants: copies of the registry in which one rule of one primitive is wrong. */
#ifndef MUTANTS_H
#define MUTANTS_H

#include "prims/prim.h"

/* One way to break a descriptor.  make fills `copy` (already a copy of p, with copy->original = p)
 * for variant `i`; false when p has nothing to break there. what: for the list of survivors. */
typedef struct mutation {
    const char *name;
    int variants;
    bool (*make)(const tn_prim *p, int i, tn_prim *copy, char what[64]);
} mutation;

extern const mutation mutations[]; /* ended by a NULL name */

/* By theme. */
bool mutant_partial(const tn_prim *p, int i, tn_prim *copy, char what[64]);
bool mutant_jvp(const tn_prim *p, int i, tn_prim *copy, char what[64]);
bool mutant_transpose(const tn_prim *p, int i, tn_prim *copy, char what[64]);
bool mutant_batch(const tn_prim *p, int i, tn_prim *copy, char what[64]);
bool mutant_linear(const tn_prim *p, int i, tn_prim *copy, char what[64]);
bool mutant_linearity(const tn_prim *p, int i, tn_prim *copy, char what[64]);
bool mutant_kernel(const tn_prim *p, int i, tn_prim *copy, char what[64]);
bool mutant_strip(const tn_prim *p, int i, tn_prim *copy, char what[64]);

/* Wrong versions of a value: k 0: negated, 1: times 1.001 (integers: plus one; bools: not). */
tn_i_var wrong_value(tn_i_builder *b, tn_i_var v, int k);

#endif
