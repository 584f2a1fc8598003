/* Compiled programs on disk.
 *
 * A file's name is a hash of the text, the flags, the compiler and this library's version; behind the shared object
 * stands a sum of it, so that what a crash left half written is made anew.  Files are made aside and renamed: processes
 * that make the same one at the same time each load a whole one.  Programs in a directory are code that is run: one
 * that others can write to, or that is not this user's, is refused. */
#ifndef TN_EMIT_CACHE_H
#define TN_EMIT_CACHE_H

#include "exec/native.h"

enum { TN_I_PATH = 4096 };

typedef struct tn_i_cache {
    char dir[TN_I_PATH]; /* "" : none; files are made in a directory of their own that is removed */
    char file[TN_I_PATH + 64];
    bool given; /* the caller named dir */
} tn_i_cache;

/* Finds the directory, makes the default one where it is missing.  TN_EINVAL: what is given must not be used. */
tn_status tn_i_cache_open(tn_ctx *c, const char *dir, tn_i_cache *k);
/* The file for this key; whether it is there, whole. */
bool tn_i_cache_find(tn_i_cache *k, const uint64_t key[2]);
/* A new directory for compiling in, in the cache or, where that cannot be written to, among temporary files. */
bool tn_i_cache_begin(const tn_i_cache *k, char work[TN_I_PATH], char why[TN_I_WHY]);
/* work/program.so, with its sum, becomes the cache's file, if it can; else it stays, and *path is it. */
bool tn_i_cache_keep(tn_i_cache *k, const char *work, char path[TN_I_PATH + 64], char why[TN_I_WHY]);
/* Removes what a compilation left. */
void tn_i_cache_end(const char *work);

bool tn_i_file_write(const char *path, const char *text, size_t n);

#endif
