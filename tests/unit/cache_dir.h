/* Directories of native code that a test makes and takes away with the files in them. */
#ifndef TN_CACHE_DIR_H
#define TN_CACHE_DIR_H

#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

/* Fails where a directory is in it. */
static inline void cache_dir_remove(const char *dir) {
    char name[600];
    DIR *d = opendir(dir);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        (void)snprintf(name, sizeof name, "%s/%s", dir, e->d_name);
        (void)unlink(name); /* . and .. stay */
    }
    (void)closedir(d);
    assert_int_equal(rmdir(dir), 0);
}

#endif
