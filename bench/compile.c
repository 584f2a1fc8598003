/* What does making a program cost?  Tracing, differentiating and compiling a
 * chain of n equations, for growing n: the time per equation must stay level.
 * One JSON line per stage and size, and one for all that a gradient takes (trace, grad, compile), by the equations of
 * the function itself; the shortest of several repetitions. */
#include <tansy.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { STAGES = 5 };
static const char *const STAGE[STAGES] = {"trace", "jvp", "grad", "compile_grad", "trace, grad and compile"};

typedef struct sample {
    double seconds[STAGES];
    size_t equations[STAGES];  /* of the program the stage made, or was given to compile */
    double bytes_per_equation; /* all that the context holds, over all equations */
} sample;

/* Processor time: other load does not count. */
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Four equations a round, none of which can be merged with another. */
static tn_val chain(const tn_val *in, void *user) {
    const size_t rounds = *(const size_t *)user / 4;
    tn_val x = in[0];
    for (size_t i = 0; i < rounds; i++) {
        tn_val a = tn_mul(x, in[1]);
        tn_val b = tn_sin(a);
        x = tn_tanh(tn_add(b, a));
    }
    return tn_sum(x);
}

/* The library's message, and false. */
static bool failed(const tn_ctx *c) {
    fprintf(stderr, "compile: %s\n", c ? tn_error(c) : "out of memory");
    return false;
}

static bool measure(size_t n, sample *s) {
    tn_ctx *c = tn_ctx_new(NULL);
    if (!c) return failed(c);
    double t[STAGES] = {now()};
    tn_fn *f = tn_trace(c, chain, &n, TN_ARGS(tn_f64(8), tn_f64(8)));
    t[1] = now();
    tn_fn *j = tn_jvp(f, NULL);
    t[2] = now();
    tn_fn *g = tn_grad(f, NULL, NULL);
    t[3] = now();
    tn_exec *e = tn_compile(g, NULL);
    t[4] = now();
    const bool ok = j && e;
    if (ok) {
        const tn_fn *made[STAGES] = {f, j, g, g, f};
        for (int i = 0; i < STAGES; i++) {
            s->seconds[i] = i + 1 < STAGES ? t[i + 1] - t[i] : t[4] - t[2] + t[1] - t[0];
            s->equations[i] = tn_fn_equations(made[i]);
        }
        s->bytes_per_equation = (double)tn_ctx_bytes(c) / (double)(s->equations[0] + s->equations[1] + s->equations[2]);
    } else
        (void)failed(c);
    tn_ctx_free(c);
    return ok;
}

/* "" where the system does not tell. */
static void cpu_model(char *out, size_t room) {
    char line[256];
    *out = '\0';
    FILE *f = fopen("/proc/cpuinfo", "r");
    while (f && !*out && fgets(line, sizeof line, f)) {
        const char *value = strncmp(line, "model name", 10) == 0 ? strchr(line, ':') : NULL;
        if (value) (void)snprintf(out, room, "%.*s", (int)strcspn(value + 2, "\"\\\n"), value + 2);
    }
    if (f) fclose(f);
}

int main(void) {
    char cpu[128];
    cpu_model(cpu, sizeof cpu);
    for (size_t n = 1000; n <= 100000; n *= 10) {
        const int repetitions = n < 100000 ? 10 : 3;
        sample best, s;
        for (int i = 0; i < repetitions; i++) {
            if (!measure(n, &s)) return 1;
            if (i == 0) best = s;
            for (int k = 0; k < STAGES; k++)
                if (s.seconds[k] < best.seconds[k]) best.seconds[k] = s.seconds[k];
        }
        for (int k = 0; k < STAGES; k++)
            printf("{\"bench\": \"compile\", \"stage\": \"%s\", \"chain\": %zu, \"equations\": %zu, "
                   "\"us_per_equation\": %.3f, \"bytes_per_equation\": %.0f, \"cpu\": \"%s\"}\n",
                   STAGE[k], n, best.equations[k], 1e6 * best.seconds[k] / (double)best.equations[k],
                   best.bytes_per_equation, cpu);
    }
    return 0;
}
