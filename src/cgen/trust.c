#include "cgen/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/auxv.h>
#endif

/* What a directory on the way is opened for: being passed through does not take the right to list it. */
#ifdef O_PATH
#define PASS (O_PATH | O_NOFOLLOW | O_CLOEXEC)
#else
#define PASS (O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC)
#endif

/* ---- the environment ------------------------------------------------------------------ */

bool tn_i_raised(void) {
#ifdef __linux__
    return getauxval(AT_SECURE) != 0;
#else
    return getuid() != geteuid() || getgid() != getegid();
#endif
}

const char *tn_i_env(const char *name) { return tn_i_raised() ? NULL : getenv(name); }

/* ---- directories ------------------------------------------------------------------------ */

enum { LINKS = 32 }; /* that are followed */

typedef struct walk {
    int at;               /* where it is; -1: nowhere */
    char rest[TN_I_PATH]; /* of the path */
    char name[TN_I_PATH]; /* the component that was looked at last */
    int links;
    const char *why; /* what is wrong with it */
    bool make;
} walk;

static bool move(walk *w, int next) {
    if (w->at >= 0) (void)close(w->at);
    w->at = next;
    return next >= 0;
}

static bool wrong(walk *w, const char *why) {
    w->why = why;
    return false;
}

/* Only this user and the superuser decide what its entries are. */
static bool look(walk *w, const struct stat *s) {
    if (s->st_uid != 0 && s->st_uid != geteuid()) return wrong(w, "belongs to another user");
    if (S_ISLNK(s->st_mode)) return true;
    if (!S_ISDIR(s->st_mode)) return wrong(w, "is not a directory");
    if (s->st_mode & (S_IWGRP | S_IWOTH) && !(s->st_mode & S_ISVTX)) return wrong(w, "can be written to by others");
    return true;
}

static bool begin(walk *w, int from, bool root) {
    const int fd = root ? open("/", PASS) : from >= 0 ? openat(from, ".", PASS) : open(".", PASS);
    struct stat s;
    if (fd < 0 || !move(w, fd) || fstat(fd, &s) != 0) return wrong(w, "does not exist or cannot be reached");
    return look(w, &s);
}

/* The first component goes to w->name; false: there is none left. */
static bool take(walk *w) {
    const char *s = w->rest + strspn(w->rest, "/");
    const size_t n = strcspn(s, "/");
    if (!n) return false;
    memcpy(w->name, s, n);
    w->name[n] = 0;
    memmove(w->rest, s + n, strlen(s + n) + 1);
    return true;
}

/* What the link says stands in front of the rest. */
static bool follow(walk *w) {
    char to[TN_I_PATH];
    const ssize_t n = readlinkat(w->at, w->name, to, sizeof to);
    const size_t rest = strlen(w->rest);
    if (n <= 0 || (size_t)n + 1 + rest >= sizeof w->rest || ++w->links > LINKS)
        return wrong(w, "is a symbolic link that cannot be followed");
    memmove(w->rest + n + 1, w->rest, rest + 1);
    memcpy(w->rest, to, (size_t)n);
    w->rest[n] = '/';
    return to[0] != '/' || begin(w, -1, true);
}

/* Goes to the component w->name. */
static bool step(walk *w) {
    struct stat s;
    int next = openat(w->at, w->name, PASS);
    if (next < 0 && errno == ENOENT && w->make && mkdirat(w->at, w->name, 0700) == 0)
        next = openat(w->at, w->name, PASS);
    if (next < 0 && errno == ELOOP) { /* without O_PATH a link cannot be opened */
        if (fstatat(w->at, w->name, &s, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISLNK(s.st_mode))
            return wrong(w, "does not exist or cannot be reached");
        return look(w, &s) && follow(w);
    }
    if (next < 0 || fstat(next, &s) != 0 || !look(w, &s)) {
        if (next < 0) (void)wrong(w, "does not exist or cannot be reached");
        if (next >= 0) (void)close(next);
        return false;
    }
    if (!S_ISLNK(s.st_mode)) return move(w, next);
    (void)close(next);
    return follow(w);
}

/* What was gone through last is what was meant. */
static int arrive(walk *w, tn_i_dir_kind kind) {
    struct stat s;
    const int fd = openat(w->at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &s) != 0)
        (void)wrong(w, "does not exist or cannot be reached");
    else if (kind == TN_DIR_OWN && s.st_uid != geteuid())
        (void)wrong(w, "belongs to another user");
    else if (kind == TN_DIR_OWN && s.st_mode & (S_IWGRP | S_IWOTH))
        (void)wrong(w, "can be written to by others");
    else
        return fd;
    if (fd >= 0) (void)close(fd);
    return -1;
}

int tn_i_dir_open(int from, const char *path, tn_i_dir_kind kind, bool make, char why[TN_I_WHY]) {
    walk w = {.at = -1, .make = make};
    int fd = -1;
    if (strlen(path) >= sizeof w.rest) {
        (void)snprintf(why, TN_I_WHY, "has too long a name");
        return -1;
    }
    memcpy(w.rest, path, strlen(path) + 1);
    bool ok = path[0] ? begin(&w, from, path[0] == '/') : wrong(&w, "has no name");
    while (ok && take(&w)) ok = step(&w);
    if (ok) fd = arrive(&w, kind);
    if (w.at >= 0) (void)close(w.at);
    if (fd >= 0) return fd;
    if (!ok && w.rest[strspn(w.rest, "/")])
        (void)snprintf(why, TN_I_WHY, "has '%.100s' on its way, which %s", w.name[0] ? w.name : "/", w.why);
    else
        (void)snprintf(why, TN_I_WHY, "%s", w.why);
    return -1;
}

/* ---- files ------------------------------------------------------------------------------ */

/* Not blocking: in a file's place may be what waits for a writer. */
int tn_i_file_open(int dir, const char *name, int flags) {
    struct stat s;
    const int fd = openat(dir, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return -1;
    if (fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_uid == geteuid() && !(s.st_mode & (S_IWGRP | S_IWOTH)))
        return fd;
    (void)close(fd);
    return -1;
}
