/* The drivers: every law on every primitive, dtype and sample, and on generated programs. */
#include "laws/copy64.h"
#include "laws/derive.h"
#include "laws/laws.h"
#include "laws/trial.h"
#include "prims/ids.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LAWS = 64, MOST_ATTEMPTS = 25, SHOWN = 2 /* programs, of those that fail */ };

typedef struct tally {
    long runs, failures, redraws, refusals;
    double ratio, used; /* largest costs found */
} tally;

typedef struct session {
    const laws_options *o;
    laws_result result;
    laws_memory memory;
    tally law[MOST_LAWS]; /* over everything */
    char most[MOST_LAWS][64], closest[MOST_LAWS][64];
} session;

static bool differentiable(const tn_fn *f) {
    laws_wrt w;
    bool out = false;
    for (uint32_t j = 0; j < f->nout; j++) out |= tn_i_is_float(f->val[f->out[j]].type->dtype);
    return out && laws_wrt_all(f, &w)->n > 0;
}

static bool applies(const session *s, const laws_law *law, const laws_trial *t) {
    if (s->o->law && strcmp(s->o->law, law->name) != 0) return false;
    if (law->flags & LAWS_ONCE) return false;
    if ((law->flags & LAWS_PRIMITIVES) && !t->prim) return false;
    if ((law->flags & LAWS_GENERATED) && t->prim) return false;
    if ((law->flags & LAWS_KERNELS) && t->f->held) return false; /* which have no kernels of their own */
    if ((law->flags & (LAWS_ROUNDED | LAWS_DIGITS)) && laws_holds_half(t->f)) return false;
    return !(law->flags & LAWS_DIFFERENTIABLE) || differentiable(t->f);
}

static bool stopped(const session *s) { return s->o->stop && s->result.failed > 0; }

/* Points that do not suit the law are drawn again, from the same seed. */
static void one_law(session *s, laws_trial *t, const laws_law *law, tally *k) {
    laws_trial_run(t, law);
    k->runs++;
    laws_trial other = {.memory = &(laws_memory){NULL, 0}};
    for (int attempt = 1; t->redraw && attempt < MOST_ATTEMPTS; attempt++) {
        k->redraws++;
        if (other.ctx) laws_trial_free(&other);
        if (!laws_trial_init(&other, s->o, t->prim, t->dtype, t->seed, attempt)) break;
        if (!applies(s, law, &other)) continue;
        laws_trial_run(&other, law);
        if (!other.redraw) break;
    }
    const laws_trial *last = other.ctx ? &other : t;
    if (last->failed) {
        k->failures++;
        if (!s->o->quiet) laws_trial_print(last, law, k->failures <= SHOWN);
    }
    k->refusals += last->refused;
    if (last->ratio > k->ratio) k->ratio = last->ratio;
    if (last->used > k->used) k->used = last->used;
    if (other.ctx) laws_trial_free(&other);
    laws_memory_drop(other.memory);
}

/* The case as a file, NAME-DTYPE-SAMPLE.tn. */
static bool written(const session *s, const laws_trial *t, const char *name, int dtype, long sample) {
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s-%s-%ld.tn", s->o->write, name, tn_i_dtype_name(dtype), sample);
    char *text = tn_fn_print(t->f, NULL);
    FILE *to = text ? fopen(path, "w") : NULL;
    const bool ok = to && fputs(text, to) >= 0;
    const bool closed = !to || fclose(to) == 0;
    tn_text_free(t->ctx, text);
    return ok && closed;
}

static void one_sample(session *s, const tn_prim *prim, int dtype, long sample, tally *k) {
    laws_trial t = {.memory = &s->memory};
    static const laws_law cases = {.name = "cases"};
    if (!laws_trial_init(&t, s->o, prim, dtype, s->o->seed + (uint64_t)sample, 0)) {
        k[MOST_LAWS].failures++;
        if (!s->o->quiet) laws_trial_print(&t, &cases, k[MOST_LAWS].failures <= SHOWN);
    } else if (s->o->write) {
        if (!written(s, &t, prim ? prim->name : "generated", dtype, sample)) k[MOST_LAWS].failures++;
    } else {
        for (int i = 0; laws_table[i].name && !(s->o->stop && k[MOST_LAWS].failures); i++)
            if (sample % laws_table[i].every == 0 && applies(s, &laws_table[i], &t)) {
                one_law(s, &t, &laws_table[i], &k[i]);
                if (s->o->stop && k[i].failures) break;
            }
    }
    k[MOST_LAWS].runs++;
    laws_trial_free(&t);
}

/* A sample's redraws and refusals are an honest exception, not a way around the law. */
static bool too_many(long exceptions, const tally *k) { return exceptions > 3 && 20 * exceptions > k->runs; }

static void count(session *s, const tn_prim *prim, int dtype, int i, const tally *k) {
    if (k->runs == 0) return;
    const char *law = i == MOST_LAWS ? "cases" : laws_table[i].name, *name = prim ? prim->name : "generated";
    bool failed = k->failures > 0;
    if (failed && !s->o->quiet)
        (void)printf("FAILED law %s %s %s: %ld of %ld\n", law, name, tn_i_dtype_name(dtype), k->failures, k->runs);
    if (!s->o->stop && (too_many(k->redraws, k) || too_many(k->refusals, k))) {
        failed = true;
        if (!s->o->quiet)
            (void)printf("FAILED law %s %s %s: %ld points redrawn, %ld refused in %ld samples\n", law, name,
                         tn_i_dtype_name(dtype), k->redraws, k->refusals, k->runs);
    }
    *(failed ? &s->result.failed : &s->result.passed) += 1;
    if (i == MOST_LAWS) return;
    tally *all = &s->law[i];
    all->runs += k->runs;
    all->redraws += k->redraws;
    all->refusals += k->refusals;
    if (k->ratio > all->ratio) {
        all->ratio = k->ratio;
        (void)snprintf(s->most[i], sizeof s->most[i], "%s %s", name, tn_i_dtype_name(dtype));
    }
    if (k->used > all->used) {
        all->used = k->used;
        (void)snprintf(s->closest[i], sizeof s->closest[i], "%s %s", name, tn_i_dtype_name(dtype));
    }
}

static void all_samples(session *s, const tn_prim *prim, int dtype, long n) {
    tally k[MOST_LAWS + 1];
    memset(k, 0, sizeof k);
    for (long sample = 0; sample < n; sample++) {
        one_sample(s, prim, dtype, sample, k);
        bool failed = false;
        for (int i = 0; i <= MOST_LAWS; i++) failed |= k[i].failures > 0;
        if (failed && s->o->stop) break;
    }
    for (int i = 0; i <= MOST_LAWS; i++) count(s, prim, dtype, i, &k[i]);
}

/* ---- over the registry ------------------------------------------------------------- */

static bool chosen(const session *s, const char *name) { return !s->o->prim || strcmp(s->o->prim, name) == 0; }

/* Of the parts of a run: primitives by turns, what is generated behind them, then the laws that are looked at once. */
static bool in_part(const session *s, long k) { return s->o->parts < 2 || k % s->o->parts == s->o->part % s->o->parts; }

static void primitives(session *s) {
    for (int id = 0; id < TN_NPRIMS; id++) {
        const tn_prim *prim = s->o->registry[id];
        if (!in_part(s, id) || !chosen(s, prim->name) || laws_of_ranks(prim) || laws_refuses(prim)) continue;
        long dtypes = 0;
        for (int d = 0; d < TN_NDTYPES; d++) dtypes += prim->dtypes >> d & 1;
        const long n = dtypes ? (s->o->n + dtypes - 1) / dtypes : 0;
        /* what takes nothing but arrays as long as a loop has no case of its own: tests/nesting has it in programs */
        const bool within_loops = !dtypes && prim->type && prim->flags & TN_F_STEPS;
        if ((!dtypes || !prim->type) && !within_loops) {
            s->result.failed++;
            if (!s->o->quiet) (void)printf("FAILED %s admits no dtype or has no type rule\n", prim->name);
        }
        for (int d = 0; d < TN_NDTYPES && !stopped(s); d++)
            if (prim->dtypes >> d & 1) all_samples(s, prim, d, n);
    }
}

static void once(session *s) {
    for (int i = 0; laws_table[i].name && !stopped(s); i++) {
        const laws_law *law = &laws_table[i];
        if (!(law->flags & LAWS_ONCE) || (s->o->law && strcmp(s->o->law, law->name) != 0)) continue;
        const tn_ctx_options opt = {.size = sizeof opt, .check = 1};
        laws_trial t = {.memory = &s->memory,
                        .backend = s->o->backend,
                        .seed = s->o->seed,
                        .ctx = tn_i_ctx_new(&opt, s->o->registry)};
        laws_release(t.memory);
        if (t.ctx) t.ctx->nests = s->o->nests;
        if (t.ctx)
            laws_trial_run(&t, law);
        else
            laws_fail(&t, "no memory");
        if (t.failed && !s->o->quiet) (void)printf("law %s: %s\n", law->name, t.why);
        *(t.failed ? &s->result.failed : &s->result.passed) += 1;
        tn_ctx_free(t.ctx);
    }
}

static void summary(const session *s) {
    for (int i = 0; laws_table[i].name; i++) {
        const tally *k = &s->law[i];
        if (k->runs == 0) continue;
        (void)printf("%-16s %9ld cases", laws_table[i].name, k->runs);
        if (k->redraws) (void)printf(", %ld redrawn", k->redraws);
        if (k->refusals) (void)printf(", %ld refused", k->refusals);
        if (k->ratio > 0) (void)printf(", largest multiple %.2f (%s)", k->ratio, s->most[i]);
        if (k->used > 0) (void)printf(", at most %.3g %% of what is allowed (%s)", 100 * k->used, s->closest[i]);
        (void)printf("\n");
    }
}

laws_result laws_run_all(const laws_options *o) {
    session *s = calloc(1, sizeof *s);
    laws_result result = {0, 1};
    if (!s) return result;
    s->o = o;
    if (!o->prim && !o->write && in_part(s, TN_NPRIMS + 1)) once(s);
    primitives(s);
    const bool generated = chosen(s, "generated") && in_part(s, TN_NPRIMS);
    for (int d = TN_F32; d <= TN_F64 && generated && !stopped(s); d++)
        all_samples(s, NULL, d, ((o->programs ? o->programs : o->n) + 1) / 2);
    if (!o->quiet) summary(s);
    result = s->result;
    laws_memory_drop(&s->memory);
    free(s);
    return result;
}
