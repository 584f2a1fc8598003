#include "run/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- reasons ------------------------------------------------------------------------ */

static bool because(const tn_i_spill_file *s, int reason, const char *what, char why[TN_I_SPILL_TEXT]) {
    char text[128] = "";
    if (strerror_r(reason, text, sizeof text) != 0) (void)snprintf(text, sizeof text, "error %d", reason);
    (void)snprintf(why, TN_I_SPILL_TEXT, "spill file in '%.200s': %s: %s", s->dir, what, text);
    return false;
}

void tn_i_spill_reason(const tn_i_spill_file *s, char why[TN_I_SPILL_TEXT]) {
    (void)because(s, s->reason, "cannot be created", why);
}

/* ---- opening ------------------------------------------------------------------------- */

/* A name that nobody else has, gone again before anything is written. */
void tn_i_spill_open(tn_i_spill_file *s, const char *dir) {
    char path[4096];
    *s = (tn_i_spill_file){.dir = dir, .fd = -1, .reason = EEXIST, .process = (long)getpid()};
    for (unsigned k = 0; k < 1000 && s->fd < 0 && s->reason == EEXIST; k++) {
        int n = snprintf(path, sizeof path, "%s/tansy-%ld-%" PRIxPTR "-%u.spill", dir, (long)getpid(), (uintptr_t)s, k);
        if (n < 0 || (size_t)n >= sizeof path) {
            s->reason = ENAMETOOLONG;
            return;
        }
        do s->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        while (s->fd < 0 && errno == EINTR);
        s->reason = s->fd < 0 ? errno : 0;
    }
    if (s->fd < 0 || unlink(path) == 0) return;
    s->reason = errno;
    tn_i_spill_close(s);
}

void tn_i_spill_close(tn_i_spill_file *s) {
    if (s->fd >= 0) (void)close(s->fd);
    s->fd = -1;
}

void tn_i_spill_mine(tn_i_spill_file *s) {
    if (s->process == (long)getpid()) return;
    tn_i_spill_close(s);
    tn_i_spill_open(s, s->dir);
}

/* ---- checksums ------------------------------------------------------------------------- */

/* Each step is a bijection of h for a given word and of the word for a given h: one changed word always shows. */
static uint64_t stir(uint64_t h, uint64_t word) {
    h = (h ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    return h << 29 | h >> 35;
}

/* Four lanes, so that it keeps up with memory; the offset counts, so that values cannot change places. */
static uint64_t checksum(uint64_t at, const void *data, size_t n) {
    const unsigned char *s = data;
    uint64_t lane[4] = {at, UINT64_C(0x243F6A8885A308D3), UINT64_C(0x13198A2E03707344), n}, word[4];
    for (; n >= sizeof word; s += sizeof word, n -= sizeof word) {
        memcpy(word, s, sizeof word);
        for (int k = 0; k < 4; k++) lane[k] = stir(lane[k], word[k]);
    }
    memset(word, 0, sizeof word);
    if (n) memcpy(word, s, n);
    uint64_t h = 0;
    for (int k = 0; k < 4; k++) h = stir(h, stir(lane[k], word[k]));
    return h;
}

/* ---- transfers ---------------------------------------------------------------------------- */

bool tn_i_spill_write(const tn_i_spill_file *s, uint64_t at, const void *data, size_t n, uint64_t *sum,
                      char why[TN_I_SPILL_TEXT]) {
    const char *from = data;
    for (size_t done = 0; done < n;) {
        ssize_t k = pwrite(s->fd, from + done, n - done, (off_t)(at + done));
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return because(s, k < 0 ? errno : ENOSPC, "cannot be written", why);
        done += (size_t)k;
    }
    *sum = checksum(at, data, n);
    return true;
}

bool tn_i_spill_read(const tn_i_spill_file *s, uint64_t at, void *data, size_t n, uint64_t sum,
                     char why[TN_I_SPILL_TEXT]) {
    char *to = data;
    for (size_t done = 0; done < n;) {
        ssize_t k = pread(s->fd, to + done, n - done, (off_t)(at + done));
        if (k < 0 && errno == EINTR) continue;
        if (k < 0) return because(s, errno, "cannot be read", why);
        if (k == 0) {
            (void)snprintf(why, TN_I_SPILL_TEXT, "spill file in '%.200s': %zu of %zu bytes are missing", s->dir,
                           n - done, n);
            return false;
        }
        done += (size_t)k;
    }
    if (checksum(at, data, n) == sum) return true;
    (void)snprintf(why, TN_I_SPILL_TEXT, "spill file in '%.200s': %zu bytes were altered since they were written",
                   s->dir, n);
    return false;
}

void tn_i_spill_ahead(const tn_i_spill_file *s, uint64_t at, size_t n) {
#ifdef POSIX_FADV_WILLNEED
    (void)posix_fadvise(s->fd, (off_t)at, (off_t)n, POSIX_FADV_WILLNEED);
#else
    (void)s, (void)at, (void)n;
#endif
}
