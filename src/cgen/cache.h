/* Compiled programs on disk.
 *
 * A file's name is a hash of the text, the flags, the compiler and this library's version; behind the shared object
 * stands a sum of it, so that what a crash left half written is made anew.  Files are made aside and renamed: processes
 * that make the same one at the same time each load a whole one.  Programs in a directory are code that is run, so the
 * directory is one that nobody else decides of (cgen/trust.h), it is a descriptor from then on, and a file is loaded
 * from the descriptor by which it was read.
 *
 * Who compiles holds a lock on a directory `.work-...` for itself: those that nobody holds are left from processes
 * that died, and are removed, as are the programs that were not asked for longest when there is too much of them. */
#ifndef TN_CGEN_CACHE_H
#define TN_CGEN_CACHE_H

#include "cgen/trust.h"

typedef struct tn_i_cache {
    tn_ctx *ctx;
    int dir;       /* -1: none; programs are made in a directory of their own that is removed */
    size_t most;   /* bytes of programs that are kept */
    char file[48]; /* of the program that was asked for last */
} tn_i_cache;

/* Where a program is compiled. */
typedef struct tn_i_work {
    int at;     /* the directory that it is in */
    int dir;    /* itself; locked */
    bool apart; /* among temporary files */
    char name[48];
} tn_i_work;

/* Finds the directory, makes the default one where it is missing.  TN_EINVAL: what is given must not be used. */
tn_status tn_i_cache_open(tn_ctx *c, const tn_i_native_options *o, tn_i_cache *k);
void tn_i_cache_close(tn_i_cache *k);
/* The file for this key, if it is there and whole: a descriptor that the caller closes; else -1. */
int tn_i_cache_find(tn_i_cache *k, const uint64_t key[2]);
/* A new directory for compiling in, in the cache or, where that cannot be written to, among temporary files. */
bool tn_i_cache_begin(const tn_i_cache *k, tn_i_work *w, char why[TN_I_WHY]);
/* The directory's program.so, with its sum, becomes the cache's file, if it can: its descriptor, that the caller
 * closes; -1: it cannot be read. */
int tn_i_cache_keep(const tn_i_cache *k, const tn_i_work *w, char why[TN_I_WHY]);
/* Removes the directory, those of processes that died, and programs that are too many. */
void tn_i_cache_end(const tn_i_cache *k, tn_i_work *w);

bool tn_i_file_write(int dir, const char *name, const char *text, size_t n);

#endif
