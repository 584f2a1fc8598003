/* What may be believed of what surrounds a process: its environment, and directories whose files are run as code. */
#ifndef TN_CGEN_TRUST_H
#define TN_CGEN_TRUST_H

#include "cgen/native.h"

enum { TN_I_PATH = 4096 };

/* Whether the process has more rights than whoever started it (AT_SECURE: set-user-ID, set-group-ID, capabilities). */
bool tn_i_raised(void);
/* The environment's variable; NULL where it is not set, and in a process with more rights than its caller. */
const char *tn_i_env(const char *name);

typedef enum tn_i_dir_kind {
    TN_DIR_OWN,   /* this user's, not writable to others */
    TN_DIR_SHARED /* or writable to others but sticky, as /tmp: what one makes in it stays one's own */
} tn_i_dir_kind;

/* Opens a directory, from the descriptor `from` where path is relative (-1: the current directory), of which nobody but
 * this user and the superuser can change what stands on the way: each directory and symbolic link belongs to one of the
 * two and is not writable to others, unless it is sticky.  Every one is looked at by its descriptor and the next one
 * opened from it.  `make`: what is missing is made, for this user alone.  -1 with a reason that follows a name. */
int tn_i_dir_open(int from, const char *path, tn_i_dir_kind kind, bool make, char why[TN_I_WHY]);
/* A regular file of this user's that others cannot write to, in that directory; -1: there is none. */
int tn_i_file_open(int dir, const char *name, int flags);

#endif
