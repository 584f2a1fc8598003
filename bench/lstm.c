/* What does reverse mode keep of a recurrent network?  An LSTM over 64 steps (batch 32, width 128, f32): residual bytes
 * of its gradient with respect to the weights, workspace, what is computed again, and time, under each policy.  One
 * JSON line per policy.  The best that hands do is i, f, o, u and c of each step, 5,242,880 bytes: when min_bytes keeps
 * more, or the gradients' bits differ, the exit status is 1. */
#include "measure.h"
#include "recurrent.h"

#include <math.h>

enum { RUNS = 5, BY_HAND = 5 * LSTM_STEPS * LSTM_BATCH * LSTM_WIDTH * 4 };
enum { W = 4 * LSTM_WIDTH * LSTM_WIDTH, B = 4 * LSTM_WIDTH, GRADIENT = 2 * W + B };
enum { X = LSTM_STEPS * LSTM_BATCH * LSTM_WIDTH, H = LSTM_BATCH * LSTM_WIDTH };

static const char *const POLICY[] = {"everything_saveable", "dots_saveable", "nothing_saveable", "balanced",
                                     "min_bytes",           "min_cut"};

static float weights[GRADIENT], x[X], h[H], c0[H];

static void fill(void) {
    uint64_t state = 88172645463325252u;
    for (size_t i = 0; i < GRADIENT + X; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        const double v = (double)(state >> 11) * 0x1p-52 - 1;
        *(i < GRADIENT ? &weights[i] : &x[i - GRADIENT]) = (float)(i < GRADIENT ? 0.15 * v : v);
    }
}

typedef struct result {
    tn_residual_totals totals;
    size_t exec_bytes;
    double seconds;
    float g[GRADIENT];
} result;

static bool timed(const tn_fn *f, result *r) {
    tn_exec *e = tn_compile(f, NULL);
    double s[RUNS];
    float loss;
    bool ok = e != NULL;
    for (int i = -1; ok && i < RUNS; i++) {
        const double start = now();
        ok = tn_call(e, TN_INPUTS(weights, weights + W, weights + 2 * W, x, h, c0),
                     TN_OUTPUTS(&loss, r->g, r->g + W, r->g + 2 * W)) == TN_OK;
        if (i >= 0) s[i] = now() - start;
    }
    if (ok) {
        r->seconds = median(s, RUNS);
        r->exec_bytes = tn_exec_bytes(e);
    }
    tn_exec_free(e);
    return ok;
}

static bool measure(const tn_fn *f, const char *name, result *r) {
    const tn_policy *policy = tn_policy_by_name(name);
    tn_residuals *kept = tn_saved_residuals(f, tn_wrt(0, 1, 2), policy);
    tn_fn *g = kept ? tn_value_and_grad(f, tn_wrt(0, 1, 2), policy) : NULL;
    r->totals.size = sizeof r->totals;
    const bool ok = g && tn_residuals_total(kept, &r->totals) == TN_OK && timed(g, r);
    tn_residuals_free(kept);
    tn_fn_free(g);
    return ok;
}

int main(void) {
    static result first, r;
    const lstm m = {.steps = LSTM_STEPS, .batch = LSTM_BATCH, .width = LSTM_WIDTH};
    char cpu[128];
    int wrong = 0;
    cpu_model(cpu, sizeof cpu);
    fill();
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = c ? lstm_traced(c, &m) : NULL;
    for (size_t k = 0; k < sizeof POLICY / sizeof *POLICY; k++) {
        if (!f || !measure(f, POLICY[k], &r)) {
            fprintf(stderr, "lstm: %s\n", c ? tn_error(c) : "out of memory");
            tn_ctx_free(c);
            return 1;
        }
        if (k == 0) first = r;
        wrong += memcmp(r.g, first.g, sizeof r.g) != 0;
        wrong += strcmp(POLICY[k], "min_bytes") == 0 && r.totals.residual_bytes > BY_HAND;
        printf("{\"workload\": \"lstm\", \"policy\": \"%s\", \"steps\": %d, \"residual_bytes\": %.0f, \"peak_bytes\": "
               "%.0f, "
               "\"exec_bytes\": %zu, \"transcendentals_recomputed\": %.0f, \"seconds\": %.5f, \"cpu\": \"%s\"}\n",
               POLICY[k], LSTM_STEPS, r.totals.residual_bytes, r.totals.peak_bytes, r.exec_bytes,
               r.totals.recomputed_transcendentals, r.seconds, cpu);
    }
    if (wrong) fprintf(stderr, "lstm: more bytes than by hand, or other gradients\n");
    tn_ctx_free(c);
    return wrong != 0;
}
