#include "cgen/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 1 << 30 }; /* bytes, where the caller says nothing */

/* ---- directories -------------------------------------------------------------------- */

/* $XDG_CACHE_HOME/tansy or ~/.cache/tansy, made where it is missing. */
static int default_dir(void) {
    const char *cache = tn_i_env("XDG_CACHE_HOME"), *home = tn_i_env("HOME");
    char why[TN_I_WHY];
    int at = -1, dir = -1;
    if (cache && cache[0] == '/')
        at = tn_i_dir_open(-1, cache, TN_DIR_SHARED, true, why);
    else if (home && home[0] == '/' && (dir = tn_i_dir_open(-1, home, TN_DIR_SHARED, false, why)) >= 0)
        at = tn_i_dir_open(dir, ".cache", TN_DIR_SHARED, true, why);
    if (dir >= 0) (void)close(dir);
    dir = at >= 0 ? tn_i_dir_open(at, "tansy", TN_DIR_OWN, true, why) : -1;
    if (at >= 0) (void)close(at);
    return dir;
}

tn_status tn_i_cache_open(tn_ctx *c, const tn_i_native_options *o, tn_i_cache *k) {
    char why[TN_I_WHY];
    *k = (tn_i_cache){.ctx = c, .most = o->cache_bytes ? o->cache_bytes : MOST};
    k->dir = o->cache_dir ? tn_i_dir_open(-1, o->cache_dir, TN_DIR_OWN, false, why) : default_dir();
    if (!o->cache_dir || k->dir >= 0) return TN_OK;
    return tn_i_fail(c, TN_EINVAL, NULL,
                     "tn_compile: cache_dir '%.200s' %.200s: programs in it are run as they are found", o->cache_dir,
                     why);
}

void tn_i_cache_close(tn_i_cache *k) {
    if (k->dir >= 0) (void)close(k->dir);
    k->dir = -1;
}

/* ---- files ------------------------------------------------------------------------------ */

typedef struct sum {
    char mark[8];
    uint64_t bytes, hash;
} sum;
static const char mark[8] = "tansySO";

static bool read_all(int fd, size_t n, uint64_t *hash) {
    unsigned char block[1 << 14];
    *hash = 0;
    while (n > 0) {
        const size_t want = n < sizeof block ? n : sizeof block;
        size_t got = 0;
        while (got < want) {
            const ssize_t r = read(fd, block + got, want - got);
            if (r < 0 && errno == EINTR) continue;
            if (r <= 0) return false;
            got += (size_t)r;
        }
        *hash = tn_i_hash(*hash, block, want);
        n -= want;
    }
    return true;
}

static bool whole(int fd) {
    struct stat s;
    sum told;
    uint64_t hash;
    if (fstat(fd, &s) != 0) return false;
    if (s.st_size <= (off_t)sizeof told || pread(fd, &told, sizeof told, s.st_size - (off_t)sizeof told) != sizeof told)
        return false;
    const size_t n = (size_t)s.st_size - sizeof told;
    return memcmp(told.mark, mark, sizeof mark) == 0 && told.bytes == n && read_all(fd, n, &hash) && told.hash == hash;
}

int tn_i_cache_find(tn_i_cache *k, const uint64_t key[2]) {
    (void)snprintf(k->file, sizeof k->file, "%016" PRIx64 "%016" PRIx64 ".so", key[0], key[1]);
    const int fd = k->dir >= 0 ? tn_i_file_open(k->dir, k->file, O_RDONLY) : -1;
    if (fd < 0) return -1;
    if (whole(fd)) {
        (void)futimens(fd, NULL); /* it was asked for */
        return fd;
    }
    (void)close(fd);
    return -1;
}

static bool write_all(int fd, const char *text, size_t n) {
    while (n > 0) {
        const ssize_t w = write(fd, text, n);
        if (w < 0 && errno == EINTR) continue;
        if (w <= 0) return false;
        text += w;
        n -= (size_t)w;
    }
    return true;
}

bool tn_i_file_write(int dir, const char *name, const char *text, size_t n) {
    const int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return false;
    const bool ok = write_all(fd, text, n);
    return close(fd) == 0 && ok;
}

static bool add_sum(int fd) {
    struct stat s;
    sum told;
    memcpy(told.mark, mark, sizeof mark);
    if (fstat(fd, &s) != 0 || s.st_size <= 0 || !read_all(fd, (size_t)s.st_size, &told.hash)) return false;
    told.bytes = (uint64_t)s.st_size;
    return write_all(fd, (const char *)&told, sizeof told);
}

int tn_i_cache_keep(const tn_i_cache *k, const tn_i_work *w, char why[TN_I_WHY]) {
    static const char made[] = "program.so";
    (void)fchmodat(w->dir, made, 0600, 0); /* the compiler made it for whom the process makes files */
    const int fd = tn_i_file_open(w->dir, made, O_RDWR);
    if (fd >= 0 && add_sum(fd)) {
        if (k->dir >= 0) (void)renameat(w->dir, made, k->dir, k->file);
        return fd;
    }
    (void)snprintf(why, TN_I_WHY, "what was compiled cannot be read and written again");
    if (fd >= 0) (void)close(fd);
    return -1;
}

/* ---- compiling aside ------------------------------------------------------------------------ */

static const char *prefix(bool apart) { return apart ? ".tansy-work-" : ".work-"; }

/* Its files, and itself. */
static void remove_work(int at, int dir, const char *name) {
    const int again = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* with a position of its own */
    DIR *d = again >= 0 ? fdopendir(again) : NULL;
    for (struct dirent *e; d && (e = readdir(d)) != NULL;)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) (void)unlinkat(dir, e->d_name, 0);
    if (d)
        (void)closedir(d);
    else if (again >= 0)
        (void)close(again);
    (void)unlinkat(at, name, AT_REMOVEDIR);
}

/* A directory of this user's that nobody works in; locked from now on.  -1: it is none. */
static int lock_work(int at, const char *name) {
    struct stat s, now;
    const int dir = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0) return -1;
    if (fstat(dir, &s) == 0 && s.st_uid == geteuid() && flock(dir, LOCK_EX | LOCK_NB) == 0 &&
        fstatat(at, name, &now, AT_SYMLINK_NOFOLLOW) == 0 && now.st_ino == s.st_ino && now.st_dev == s.st_dev)
        return dir;
    (void)close(dir);
    return -1;
}

/* Who removes what the dead left may take a new one for theirs before it is locked: then there is the next name. */
static bool make_work(tn_i_work *w) {
    for (unsigned i = 0; i < 100; i++) {
        struct timespec now = {0, 0};
        (void)clock_gettime(CLOCK_REALTIME, &now);
        (void)snprintf(w->name, sizeof w->name, "%s%ld-%lx-%u", prefix(w->apart), (long)getpid(),
                       (unsigned long)now.tv_nsec, i);
        if (mkdirat(w->at, w->name, 0700) != 0) {
            if (errno == EEXIST) continue;
            return false;
        }
        w->dir = lock_work(w->at, w->name);
        if (w->dir >= 0) return true;
    }
    return false;
}

bool tn_i_cache_begin(const tn_i_cache *k, tn_i_work *w, char why[TN_I_WHY]) {
    const char *temp = tn_i_env("TMPDIR");
    char reason[TN_I_WHY];
    *w = (tn_i_work){.at = k->dir, .dir = -1};
    if (w->at >= 0 && make_work(w)) return true;
    w->apart = true;
    w->at = temp && temp[0] == '/' ? tn_i_dir_open(-1, temp, TN_DIR_SHARED, false, reason) : -1;
    if (w->at >= 0 && make_work(w)) return true;
    if (w->at >= 0) (void)close(w->at);
    w->at = tn_i_dir_open(-1, temp = "/tmp", TN_DIR_SHARED, false, reason);
    if (w->at >= 0 && make_work(w)) return true;
    (void)snprintf(why, TN_I_WHY, "there is no directory to compile in: '/tmp' %.400s",
                   w->at < 0 ? reason : "cannot be written to");
    if (w->at >= 0) (void)close(w->at);
    w->at = -1;
    return false;
}

/* ---- what is left ---------------------------------------------------------------------------- */

typedef struct kept {
    struct timespec asked;
    size_t bytes;
    char name[48];
} kept;

typedef struct sweep {
    kept *file;
    size_t n, room, bytes;
} sweep;

static void note(const tn_i_cache *k, const char *name, sweep *z) {
    struct stat s;
    const size_t n = strlen(name);
    if (n != strlen(k->file) || strspn(name, "0123456789abcdef") != n - 3 || strcmp(name + n - 3, ".so") != 0) return;
    if (fstatat(k->dir, name, &s, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(s.st_mode)) return;
    if (!tn_i_grow(k->ctx, (void **)(void *)&z->file, &z->room, z->n + 1, sizeof *z->file)) return;
    kept *f = &z->file[z->n++];
    f->asked = s.st_mtim;
    f->bytes = (size_t)s.st_size;
    memcpy(f->name, name, n + 1);
    z->bytes += f->bytes;
}

static int by_time(const void *a, const void *b) {
    const struct timespec *x = &((const kept *)a)->asked, *y = &((const kept *)b)->asked;
    if (x->tv_sec != y->tv_sec) return x->tv_sec < y->tv_sec ? -1 : 1;
    return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

static void drop_old(const tn_i_cache *k, sweep *z) {
    if (z->bytes > k->most) qsort(z->file, z->n, sizeof *z->file, by_time);
    for (size_t i = 0; i < z->n && z->bytes > k->most; i++) {
        (void)unlinkat(k->dir, z->file[i].name, 0);
        z->bytes -= z->file[i].bytes;
    }
    tn_i_free(k->ctx, z->file, z->room * sizeof *z->file);
}

static void drop_dead(int at, const char *name) {
    const int dir = lock_work(at, name);
    if (dir < 0) return;
    remove_work(at, dir, name);
    (void)close(dir);
}

void tn_i_cache_end(const tn_i_cache *k, tn_i_work *w) {
    const char *work = prefix(w->apart);
    sweep z = {.file = NULL};
    remove_work(w->at, w->dir, w->name);
    (void)close(w->dir);
    const int again = openat(w->at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = again >= 0 ? fdopendir(again) : NULL;
    for (struct dirent *e; d && (e = readdir(d)) != NULL;)
        if (strncmp(e->d_name, work, strlen(work)) == 0)
            drop_dead(w->at, e->d_name);
        else if (!w->apart)
            note(k, e->d_name, &z);
    if (d)
        (void)closedir(d);
    else if (again >= 0)
        (void)close(again);
    drop_old(k, &z);
    if (w->apart) (void)close(w->at);
}
