#include "emit/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- directories -------------------------------------------------------------------- */

/* NULL when only this user can write to it. */
static const char *unsafe(const char *dir) {
    struct stat s;
    if (stat(dir, &s) != 0) return "does not exist or cannot be reached";
    if (!S_ISDIR(s.st_mode)) return "is not a directory";
    if (s.st_uid != geteuid()) return "belongs to another user";
    if (s.st_mode & (S_IWGRP | S_IWOTH)) return "can be written to by others";
    return NULL;
}

/* $XDG_CACHE_HOME/tansy or ~/.cache/tansy, made where it is missing. */
static bool default_dir(char dir[TN_I_PATH]) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n = 0;
    if (cache && cache[0] == '/')
        n = snprintf(dir, TN_I_PATH, "%s", cache);
    else if (home && home[0] == '/')
        n = snprintf(dir, TN_I_PATH, "%s/.cache", home);
    if (n <= 0 || n + 8 >= TN_I_PATH) return false;
    (void)mkdir(dir, 0700);
    memcpy(dir + n, "/tansy", 7);
    (void)mkdir(dir, 0700);
    return !unsafe(dir);
}

tn_status tn_i_cache_open(tn_ctx *c, const char *dir, tn_i_cache *k) {
    *k = (tn_i_cache){.given = dir != NULL};
    if (!dir) {
        if (!default_dir(k->dir)) k->dir[0] = 0;
        return TN_OK;
    }
    const char *why = strlen(dir) + 64 < TN_I_PATH ? unsafe(dir) : "has too long a name";
    if (why)
        return tn_i_fail(c, TN_EINVAL, NULL,
                         "tn_compile: cache_dir '%.200s' %s: programs in it are run as they are found", dir, why);
    memcpy(k->dir, dir, strlen(dir) + 1);
    return TN_OK;
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
    if (fstat(fd, &s) != 0 || !S_ISREG(s.st_mode) || s.st_uid != geteuid() || s.st_mode & (S_IWGRP | S_IWOTH))
        return false;
    if (s.st_size <= (off_t)sizeof told || pread(fd, &told, sizeof told, s.st_size - (off_t)sizeof told) != sizeof told)
        return false;
    const size_t n = (size_t)s.st_size - sizeof told;
    return memcmp(told.mark, mark, sizeof mark) == 0 && told.bytes == n && read_all(fd, n, &hash) && told.hash == hash;
}

bool tn_i_cache_find(tn_i_cache *k, const uint64_t key[2]) {
    if (!k->dir[0]) return false;
    (void)snprintf(k->file, sizeof k->file, "%s/%016" PRIx64 "%016" PRIx64 ".so", k->dir, key[0], key[1]);
    const int fd = open(k->file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return false;
    const bool ok = whole(fd);
    (void)close(fd);
    return ok;
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

bool tn_i_file_write(const char *path, const char *text, size_t n) {
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) return false;
    const bool ok = write_all(fd, text, n);
    return close(fd) == 0 && ok;
}

static bool add_sum(const char *path) {
    struct stat s;
    sum told;
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return false;
    memcpy(told.mark, mark, sizeof mark);
    bool ok =
        fchmod(fd, 0600) == 0 && fstat(fd, &s) == 0 && s.st_size > 0 && read_all(fd, (size_t)s.st_size, &told.hash);
    told.bytes = ok ? (uint64_t)s.st_size : 0;
    ok = ok && write_all(fd, (const char *)&told, sizeof told);
    return close(fd) == 0 && ok;
}

/* ---- compiling aside ------------------------------------------------------------------------ */

bool tn_i_cache_begin(const tn_i_cache *k, char work[TN_I_PATH], char why[TN_I_WHY]) {
    const char *temp = getenv("TMPDIR");
    if (k->dir[0]) {
        (void)snprintf(work, TN_I_PATH, "%.4000s/.work-XXXXXX", k->dir);
        if (mkdtemp(work)) return true;
    }
    (void)snprintf(work, TN_I_PATH, "%.4000s/tansy-XXXXXX", temp && temp[0] == '/' ? temp : "/tmp");
    if (mkdtemp(work)) return true;
    (void)snprintf(why, TN_I_WHY, "there is no directory to compile in: '%.200s' and '%.200s' cannot be written to",
                   k->dir, work);
    work[0] = 0;
    return false;
}

bool tn_i_cache_keep(tn_i_cache *k, const char *work, char path[TN_I_PATH + 64], char why[TN_I_WHY]) {
    (void)snprintf(path, TN_I_PATH + 64, "%s/program.so", work);
    if (!add_sum(path)) {
        (void)snprintf(why, TN_I_WHY, "what was compiled cannot be written to '%.200s'", work);
        return false;
    }
    if (k->file[0] && rename(path, k->file) == 0) (void)snprintf(path, TN_I_PATH + 64, "%s", k->file);
    return true;
}

void tn_i_cache_end(const char *work) {
    static const char *const file[] = {"program.c", "program.so", "messages"};
    char path[TN_I_PATH + 64];
    if (!work[0]) return;
    for (size_t i = 0; i < sizeof file / sizeof *file; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", work, file[i]);
        (void)unlink(path);
    }
    (void)rmdir(work);
}
