/* What the rules of cond share: its branches, and programs brought to one signature. */
#ifndef TN_COND_H
#define TN_COND_H

#include "control/nested.h"

enum { TN_COND_BRANCHES };

/* The branches are transformed one by one and then arranged, so that all have the same inputs and outputs: the union of
 * what each of them needs and gives. */
typedef struct tn_i_arrangement {
    uint32_t nin, nout;
    const tn_type *const *in;       /* types of the new inputs */
    const bool *linear;             /* which of them are linear, or NULL */
    bool mixed;                     /* as in tn_i_builder */
    const uint32_t *from;           /* per input of the program: which new input it is */
    const uint32_t *out;            /* per new output: the program's output, or TN_NOVAR: zeros of .. */
    const tn_type *const *out_type; /* .. these types; NULL where no output is zeros */
    const bool *widen;              /* outputs that get a batch of this size in front, or NULL */
    int64_t batch;
    uint32_t bare; /* outputs from this one on are not offloaded: that is done outside */
} tn_i_arrangement;
/* A new reference; NULL after an error. */
const tn_fn *tn_i_arrange(const tn_fn *f, const tn_i_arrangement *w);

/* The branches that a transformation makes of all branches together, made once per walk. */
typedef struct tn_i_made {
    tn_ctx *ctx;
    uint32_t n;
    bool found;                 /* in the memo */
    const tn_fn **f, **g;       /* n results each (g: may be NULL), of the memo once found or kept */
    const unsigned char *flags; /* facts about them */
    unsigned char *key;
    size_t nkey;
} tn_i_made;
/* false after TN_ENOMEM.  `extra`: what the result depends on besides the branches. */
bool tn_i_made_begin(tn_i_made *m, const tn_i_rule *r, const void *kind, const void *extra, size_t nextra);
/* Hands f and g over to the memo. */
bool tn_i_made_keep(tn_i_made *m, const tn_i_rule *r, const void *kind, const void *flags, size_t nflags);
void tn_i_made_end(tn_i_made *m);

static inline const tn_fn *tn_i_branch(const tn_i_rule *r, uint32_t k) { return r->p[TN_COND_BRANCHES].u.fns[k]; }
static inline uint32_t tn_i_branch_count(const tn_i_rule *r) { return r->p[TN_COND_BRANCHES].n; }
/* The rule's equation with other branches; in[0] is the index. */
tn_i_var tn_i_cond_emit(tn_i_rule *r, uint32_t n, const tn_fn *const *f, const tn_i_var *in);

void tn_i_cond_split(tn_i_rule *r, const bool *unknown, tn_i_var *out, const tn_i_plan_by *how);
void tn_i_cond_batch(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched);

#endif
