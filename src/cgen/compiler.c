#include "cgen/compiler.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static const char usual[] = "/usr/bin:/bin";
enum { SECONDS = 600 };

/* ---- finding ------------------------------------------------------------------------- */

static bool is_program(const char *path, tn_i_compiler *out) {
    struct stat s;
    if (access(path, X_OK) != 0 || stat(path, &s) != 0 || !S_ISREG(s.st_mode)) return false;
    out->mark[0] = (int64_t)s.st_size;
    out->mark[1] = (int64_t)s.st_ino;
    out->mark[2] = (int64_t)s.st_dev;
    out->mark[3] = (int64_t)s.st_mtime;
    return true;
}

/* Absolute, for it will be started from another directory; nothing of it is resolved, as what a program does may depend
 * on its name. */
static bool join(const char *dir, size_t n, const char *name, char path[TN_I_PATH]) {
    size_t at = 0;
    if ((n ? dir : name)[0] != '/') {
        if (!getcwd(path, TN_I_PATH)) return false;
        at = strlen(path);
        if (at + 1 >= TN_I_PATH) return false;
        path[at++] = '/';
    }
    const int more = snprintf(path + at, TN_I_PATH - at, "%.*s%s%s", (int)n, dir, n ? "/" : "", name);
    return more > 0 && (size_t)more < TN_I_PATH - at;
}

static bool find(const char *name, tn_i_compiler *out) {
    const char *dirs = tn_i_raised() ? usual : getenv("PATH");
    if (strchr(name, '/')) return join("", 0, name, out->path) && is_program(out->path, out);
    for (const char *d = dirs; d && *d;) {
        const size_t n = strcspn(d, ":");
        if (n && n < TN_I_PATH && join(d, n, name, out->path) && is_program(out->path, out)) return true;
        d += n + (d[n] == ':');
    }
    return false;
}

bool tn_i_compiler_find(const char *name, tn_i_compiler *out, char why[TN_I_WHY]) {
    if (name[0] && find(name, out)) return true;
    (void)snprintf(why, TN_I_WHY, "there is no compiler '%.200s'", name);
    return false;
}

/* ---- running ---------------------------------------------------------------------------- */

/* The environment with temporary files where the compiler works; of a process with more rights than its caller none. */
static char **surroundings(tn_ctx *c, size_t *n) {
    static const char path[] = "PATH=/usr/bin:/bin", temp[] = "TMPDIR=.";
    const bool raised = tn_i_raised();
    size_t all = 0;
    while (!raised && environ && environ[all]) all++;
    *n = all + 3;
    char **out = tn_i_alloc_array(c, *n, sizeof *out);
    if (!out) return NULL;
    size_t k = 0;
    for (size_t i = 0; i < all; i++)
        if (strncmp(environ[i], temp, 7) != 0) out[k++] = environ[i];
    if (raised) out[k++] = (char *)(uintptr_t)path;
    out[k++] = (char *)(uintptr_t)temp;
    out[k] = NULL;
    return out;
}

static double now(void) {
    struct timespec t = {0, 0};
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Until it has ended, or is ended with all that it started: it leads a group of its own. */
static bool wait_for(pid_t child, double seconds, char why[TN_I_WHY]) {
    const struct timespec moment = {0, 2000000};
    const double until = now() + seconds;
    int status = 0;
    bool late = false;
    for (;;) {
        const pid_t ended = waitpid(child, &status, late ? 0 : WNOHANG);
        if (ended == child) break;
        if (ended < 0 && errno != EINTR)
            return errno == ECHILD; /* who ignores its children never learns: the file will tell */
        if (ended == 0 && now() > until) {
            late = true;
            (void)kill(-child, SIGKILL);
        }
        if (ended == 0 && !late) (void)nanosleep(&moment, NULL);
    }
    if (late) (void)snprintf(why, TN_I_WHY, "the compiler took longer than %g s", seconds);
    return !late && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* The first line in which the compiler says "error", for the notice. */
static void read_messages(int dir, char why[TN_I_WHY]) {
    char line[256];
    const int fd = tn_i_file_open(dir, "messages", O_RDONLY);
    FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;
    (void)snprintf(why, TN_I_WHY, "the compiler failed");
    while (f && fgets(line, sizeof line, f))
        if (strstr(line, "error")) {
            line[strcspn(line, "\n")] = 0;
            (void)snprintf(why, TN_I_WHY, "the compiler failed: %s", line);
            break;
        }
    if (f)
        (void)fclose(f);
    else if (fd >= 0)
        (void)close(fd);
}

static bool start(const tn_i_compiler *cc, int dir, const char *const *argv, char **env, pid_t *child) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t how;
    if (posix_spawn_file_actions_init(&actions) != 0) return false;
    if (posix_spawnattr_init(&how) != 0) {
        (void)posix_spawn_file_actions_destroy(&actions);
        return false;
    }
    int error = posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP);
    if (!error) error = posix_spawnattr_setpgroup(&how, 0);
    if (!error) error = posix_spawn_file_actions_addfchdir_np(&actions, dir);
    if (!error) error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!error) error = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (!error)
        error =
            posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "messages", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (!error) error = posix_spawn(child, cc->path, &actions, &how, (char *const *)(uintptr_t)argv, env);
    (void)posix_spawnattr_destroy(&how);
    (void)posix_spawn_file_actions_destroy(&actions);
    return !error;
}

bool tn_i_compiler_run(const tn_i_compiler *cc, int dir, const char *const *argv, char why[TN_I_WHY]) {
    size_t n = 0;
    pid_t child = 0;
    char **env = surroundings(cc->ctx, &n);
    const bool started = env && start(cc, dir, argv, env, &child);
    tn_i_free(cc->ctx, env, n * sizeof *env);
    if (!started) {
        (void)snprintf(why, TN_I_WHY, "the compiler '%.200s' cannot be started", cc->path);
        return false;
    }
    why[0] = 0;
    if (wait_for(child, cc->seconds > 0 ? cc->seconds : SECONDS, why)) return true;
    if (!why[0]) read_messages(dir, why);
    return false;
}
