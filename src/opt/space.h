/* What fits into one nest: for fuse.c, which chooses, and nest.c, which lowers what was chosen. */
#ifndef TN_SPACE_H
#define TN_SPACE_H

#include "base/machine.h"
#include "prims/prim.h"

/* The most of one nest. */
enum { TN_NEST_ARRAYS = 256, TN_NEST_OPS = 1024, TN_NEST_PHASES = 8 };

/* The index space: the dimensions, but those of size 1, of the first equation that is computed in it. */
typedef struct tn_i_space {
    uint32_t nloop;
    int64_t size[TN_MAX_RANK];
    int outer;      /* how many loops walk the rows, once an equation has read a value of a row; else -1 */
    uint32_t phase; /* the last one */
    bool rows;      /* something is summed over rows that are not all of it */
} tn_i_space;

typedef enum tn_i_part {
    TN_PART_NONE,    /* in memory, or of another nest */
    TN_PART_FREE,    /* literals, iota, and views of them: every nest makes them for itself */
    TN_PART_PAD,     /* an array in memory amid copies of a number, or some side by side */
    TN_PART_ELEMENT, /* walks all loops */
    TN_PART_ROW,     /* walks the first `outer` ones: a reduction over the others, or made of such */
    TN_PART_SINK     /* another reduction, or what is woven of others: nothing in the nest reads it */
} tn_i_part;

/* What a value is to a nest. */
typedef struct tn_i_member {
    uint32_t nest;
    uint8_t part, phase, outer;
    bool spread;              /* a view of a row's value that walks all loops */
    uint8_t depth;            /* views on the way to what was computed */
    int8_t loop[TN_MAX_RANK]; /* of each dimension; -1: of size 1 */
} tn_i_member;

/* An equation between values with elements, all of known shape. */
bool tn_i_space_admits(const tn_fn *f, const tn_i_eqn *e);
/* An array of a dtype that is held as one of its holder, as loads of a nest have it; and, of each value, whether
 * something else than what nests compute reads it. */
bool tn_i_space_loads(const tn_fn *f, const tn_i_eqn *e);
void tn_i_space_far(const tn_fn *f, uint8_t *far);
/* Can be computed in some nest. */
bool tn_i_space_computes(const tn_fn *f, const tn_i_eqn *e);
/* The space of a nest that begins with e. */
void tn_i_space_of(const tn_fn *f, const tn_i_eqn *e, tn_i_space *s);
/* e computed in nest `nest`, whose space is *s; m: of each value of f.  What its output is, and what becomes of the
 * space, or false: it does not fit there. */
bool tn_i_space_join(const tn_fn *f, const tn_i_eqn *e, tn_i_space *s, const tn_i_member *m, uint32_t nest,
                     tn_i_member *out);
/* An equation that nests make for themselves, or read through: iota, pads, what only walks its operand otherwise. */
void tn_i_space_lazy(const tn_fn *f, const tn_i_eqn *e, const tn_i_space *s, const tn_i_member *m, tn_i_member *out);

/* The dimension of its operand that each dimension of e's output walks; false: e is not so. */
bool tn_i_walks(const tn_fn *f, const tn_i_eqn *e, int8_t map[TN_MAX_RANK]);
/* The loops of each dimension, but those of size 1, of a value that walks all of them in order. */
bool tn_i_space_whole(const tn_i_space *s, const tn_type *t, int8_t loop[TN_MAX_RANK]);
uint32_t tn_i_space_mask(const tn_type *t, const int8_t loop[TN_MAX_RANK]);

/* Where a pad puts its operand: index o of the result is o - low of the operand, if that lies in it. */
typedef struct tn_i_box {
    int64_t low[TN_MAX_RANK];
} tn_i_box;
bool tn_i_box_of(const tn_fn *f, const tn_i_eqn *e, tn_i_box *box);
/* Few arrays side by side, which nests read each through its box. */
bool tn_i_space_joins(const tn_fn *f, const tn_i_eqn *e);
/* Arrays of which each is one index of the result, such as the columns of a matrix: a nest of their space stores each
 * where it goes. */
bool tn_i_space_weaves(const tn_fn *f, const tn_i_eqn *e);

#endif
