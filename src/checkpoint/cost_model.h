/* What computing and keeping values is modelled to cost, in nanoseconds.
 *
 * "Compute-bound" is no property of a primitive: a value is compute-bound when making it
 * again costs more than keeping it. */
#ifndef TN_COST_MODEL_H
#define TN_COST_MODEL_H

#include "base/machine.h"
#include "prims/ids.h"

/* Where data that are used again later are found: as many bytes as fit there. */
typedef enum tn_i_level { TN_I_L1, TN_I_L2, TN_I_L3, TN_I_DRAM, TN_I_LEVELS } tn_i_level;

typedef struct tn_i_cost_model {
    double equation;                              /* each equation that runs */
    double flop;                                  /* a weighted flop (tn_i_cost) on 4 bytes, outside products */
    double product;                               /* a multiply-add of a product, on 4 bytes */
    double read[TN_I_LEVELS], write[TN_I_LEVELS]; /* a byte */
    double capacity[TN_I_LEVELS - 1];             /* bytes */
    double message, message_byte;                 /* a message between ranks, and each byte of it */
    bool named;                /* read from a file, which may say what an element takes; else blocks do (`.ns`) */
    double element[TN_NPRIMS]; /* an element of 4 bytes of an elementwise primitive; 0: by its weight, in flops */
} tn_i_cost_model;

/* The one that plans are made with: a constant, so that plans are the same on every machine. */
extern const tn_i_cost_model tn_i_shipped_costs;
/* The shipped one, with the numbers that a file of lines "name number" gives; false after TN_EIO or TN_EPARSE. */
bool tn_i_cost_model_read(tn_ctx *c, const char *path, tn_i_cost_model *m);

tn_i_level tn_i_level_of(const tn_i_cost_model *m, double bytes);

/* The arithmetic of e alone, which c counts. */
double tn_i_computing_ns(const tn_i_cost_model *m, const tn_fn *f, const tn_i_eqn *e, const tn_i_cost *c);

/* Computed where it is read, in one pass with its readers: nothing of it is written and read again. */
bool tn_i_fuses(const tn_i_eqn *e);

/* Recomputing equation e where it is wanted: elementwise equations, and what only moves
 * elements of a few arrays, fuse with their reader, so that nothing of them is read or written; data and views cost
 * nothing, but for views of a part, so that an argument is not held for the sake of an element; others read and write
 * their arrays. false after TN_ENOMEM. */
bool tn_i_recompute_ns(const tn_i_cost_model *m, const tn_fn *f, const tn_i_eqn *e, double *ns);

/* The same of a part of what e does, whose operations are counted: of steps of a loop. */
double tn_i_part_ns(const tn_i_cost_model *m, const tn_fn *f, const tn_i_eqn *e, const tn_i_cost *c);

/* Whether e is a view of a part of what it views. */
bool tn_i_narrows(const tn_fn *f, const tn_i_eqn *e);

/* Keeping a value across the boundary: written once, unless it is written anyway, and read once by
 * way of `level`.  Further readers pay the same for a recomputed value as for a kept one. */
double tn_i_save_ns(const tn_i_cost_model *m, const tn_type *t, tn_i_level level, bool written_anyway);

/* One run of f after others, nested programs each time they run: what its equations compute, and what of it goes
 * through memory (checkpoint/traffic.c).  false after an error. */
bool tn_i_modelled_ns(const tn_i_cost_model *m, const tn_fn *f, double *ns);
/* The same as plans are told: each equation as if it were done again where it is wanted.  What a plan adds to a
 * program's time is the difference of two such sums, and what it keeps. */
bool tn_i_planned_ns(const tn_i_cost_model *m, const tn_fn *f, double *ns);
/* Keeping the residuals between the two programs of a linearization; arguments among them are free.
 * *bytes (may be NULL): how many they are. */
double tn_i_residuals_ns(const tn_i_cost_model *m, const tn_fn *primal, const tn_fn *linear, double *bytes);

#endif
