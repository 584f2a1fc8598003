/* Memory for code: the one file that asks the system for pages, those of POSIX.
 *
 * They are private to the process, written once, and then executable: never both, which systems may refuse (SELinux's
 * execmem, seccomp, PaX).  What is refused is told in words, as another back end can do the same work. */
#include "jit/seal.h"

#include <stdint.h>

tn_i_jit_fn *tn_i_jit_at(const tn_i_jit *j, size_t at) { return (tn_i_jit_fn *)(uintptr_t)(j->base + at); }

#if defined(__unix__) || (defined(__APPLE__) && defined(__x86_64__))
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static tn_i_jit_result refused(char why[TN_JIT_WHY], const char *what, int reason) {
    char text[96] = "";
    if (strerror_r(reason, text, sizeof text) != 0) (void)snprintf(text, sizeof text, "error %d", reason);
    (void)snprintf(why, TN_JIT_WHY, "%s: %s", what, text);
    return TN_JIT_NONE;
}

static unsigned char *map(const tn_ctx *ctx, size_t bytes) {
    if (ctx->no_code == 1) {
        errno = EACCES;
        return MAP_FAILED;
    }
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static int protect(const tn_ctx *ctx, unsigned char *base, size_t bytes) {
    if (ctx->no_code == 2) {
        errno = EACCES;
        return -1;
    }
    return mprotect(base, bytes, PROT_READ | PROT_EXEC);
}

void tn_i_jit_drop(tn_ctx *ctx, tn_i_jit *j) {
    if (!j->base) return;
    (void)munmap(j->base, j->bytes);
    (void)tn_i_count_pages(ctx, j->bytes, 0);
    *j = (tn_i_jit){NULL, 0};
}

tn_i_jit_result tn_i_jit_seal(tn_i_code *c, tn_i_jit *out, char why[TN_JIT_WHY]) {
    *out = (tn_i_jit){NULL, 0};
    why[0] = 0;
    if (!tn_i_code_finish(c)) return TN_JIT_ERROR;
    const long page = sysconf(_SC_PAGESIZE);
    if (page <= 0) return refused(why, "sysconf", errno);
    const size_t bytes = (c->size / (size_t)page + 1) * (size_t)page;
    if (!tn_i_count_pages(c->ctx, 0, bytes)) return TN_JIT_ERROR;
    tn_i_jit j = {map(c->ctx, bytes), bytes};
    if (j.base == MAP_FAILED) {
        const int reason = errno;
        (void)tn_i_count_pages(c->ctx, bytes, 0);
        return refused(why, "mmap", reason);
    }
    tn_i_code_write(c, j.base);
    if (protect(c->ctx, j.base, bytes) != 0) {
        const int reason = errno;
        tn_i_jit_drop(c->ctx, &j);
        return refused(why, "mprotect", reason);
    }
    *out = j;
    return TN_JIT_OK;
}
#else
#include <stdio.h>

void tn_i_jit_drop(tn_ctx *ctx, tn_i_jit *j) { (void)ctx, (void)j; }

tn_i_jit_result tn_i_jit_seal(tn_i_code *c, tn_i_jit *out, char why[TN_JIT_WHY]) {
    *out = (tn_i_jit){NULL, 0};
    if (!tn_i_code_finish(c)) return TN_JIT_ERROR;
    (void)snprintf(why, TN_JIT_WHY, "code in memory: not available on this system");
    return TN_JIT_NONE;
}
#endif
