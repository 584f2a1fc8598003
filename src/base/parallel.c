#include "base/parallel.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- processes ------------------------------------------------------------------------ */

/* Of /proc/self/stat: the number behind the name, in parentheses, and six others. */
static bool is_forked(void) {
    enum { FORKED = 0x40 }; /* PF_FORKNOEXEC of Linux */
    char text[512];
    unsigned flags = 0;
    const int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
    if (fd >= 0) (void)close(fd);
    text[n > 0 ? n : 0] = 0;
    const char *s = strrchr(text, ')');
    return s && sscanf(s + 1, " %*c %*d %*d %*d %*d %*d %u", &flags) == 1 && flags & FORKED;
}

long tn_i_process(void) { return is_forked() ? 0 : (long)getpid(); }

bool tn_i_same_process(long process) { return process == (long)getpid(); }

#ifdef _OPENMP
#include <omp.h>
#include <pthread.h>

/* ThreadSanitizer does not see how libgomp's threads wait for each other. */
#ifdef __SANITIZE_THREAD__
void __tsan_acquire(void *address);
void __tsan_release(void *address);
static const char begun[1], ended[1]; /* addresses to tell it of */
#define HANDED_OVER(x) __tsan_release((void *)(uintptr_t)(x))
#define TAKEN_OVER(x)  __tsan_acquire((void *)(uintptr_t)(x))
#else
#define HANDED_OVER(x)
#define TAKEN_OVER(x)
#endif

bool tn_i_nest_threads(void) { return true; }

/* ---- threads for one step --------------------------------------------------------------- */

enum { MOST = 64 };

typedef struct part {
    tn_i_pieces_fn *run;
    void *with;
    int thread;
    int64_t first, last;
    pthread_t id;
    bool started;
} part;

static void *run_part(void *of) {
    const part *p = of;
    p->run(p->with, p->thread, p->first, p->last);
    return NULL;
}

/* What cannot be started is run here. */
static void in_new_threads(uint32_t threads, int64_t pieces, tn_i_pieces_fn *run, void *with) {
    part p[MOST];
    const int n = threads < MOST ? (int)threads : MOST;
    for (int i = n - 1; i >= 0; i--) {
        p[i] = (part){.run = run, .with = with, .thread = i, .first = pieces * i / n, .last = pieces * (i + 1) / n};
        p[i].started = i > 0 && pthread_create(&p[i].id, NULL, run_part, &p[i]) == 0;
        if (!p[i].started) (void)run_part(&p[i]);
    }
    for (int i = 1; i < n; i++)
        if (p[i].started) (void)pthread_join(p[i].id, NULL);
}

/* ---- OpenMP's threads ---------------------------------------------------------------------- */

void tn_i_in_pieces(long process, uint32_t threads, int64_t pieces, tn_i_pieces_fn *run, void *with) {
    if (!tn_i_same_process(process)) {
        in_new_threads(threads, pieces, run, with);
        return;
    }
    const tn_i_fp_mode wanted = tn_i_fp_mode_now(); /* of the call that this is part of */
    HANDED_OVER(begun);
#pragma omp parallel num_threads(threads)
    {
        TAKEN_OVER(begun);
        const int64_t i = omp_get_thread_num(), n = omp_get_num_threads();
        const tn_i_fp_mode mode = tn_i_fp_enter_as(wanted);
        run(with, (int)i, pieces * i / n, pieces * (i + 1) / n);
        tn_i_fp_leave_from(mode, wanted);
        HANDED_OVER(ended);
    }
    TAKEN_OVER(ended);
}
void tn_i_threads_enter(long process, uint32_t threads, tn_i_fp_mode wanted) {
    if (!tn_i_same_process(process)) return; /* new ones have the mode of who makes them */
#pragma omp parallel num_threads(threads)
    (void)tn_i_fp_enter_as(wanted);
}
#else
bool tn_i_nest_threads(void) { return false; }

void tn_i_threads_enter(long process, uint32_t threads, tn_i_fp_mode wanted) {
    (void)process;
    (void)threads;
    (void)wanted;
}

void tn_i_in_pieces(long process, uint32_t threads, int64_t pieces, tn_i_pieces_fn *run, void *with) {
    (void)process;
    (void)threads;
    run(with, 0, 0, pieces);
}
#endif
