/* Schedules, without loops: every action is played on slots that know what they hold. */
#include "checkpoint/auto.h"
#include "checkpoint/revolve.h"
#include "checkpoint/script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- playing ----------------------------------------------------------------------------------------- */

typedef struct content {
    enum { EMPTY, STATE, RECORD } kind;
    int64_t step;
} content;

typedef struct player {
    content *slot[2], record; /* memory, disk; the working record */
    int64_t slots[2];
    int64_t state;  /* the working state enters this step */
    int64_t target; /* the step that has to come next in reverse; INT64_MAX in the forward pass */
    int64_t live;   /* the most slots in memory that hold something of a step up to the target */
    int64_t advances, recorded, writes, reads;
} player;

static tn_ctx *ctx(void) {
    static tn_ctx *c; /* one for the program: the tests of counts ask it ten thousands of times */
    if (!c) c = tn_ctx_new(NULL);
    return c;
}

static content *slot_of(player *p, const tn_i_act *a) {
    assert_in_range(a->slot, 0, p->slots[a->place] - 1);
    return &p->slot[a->place][a->slot];
}

static void count_live(player *p) {
    int64_t n = 0;
    for (int64_t i = 0; i < p->slots[0]; i++) n += p->slot[0][i].kind != EMPTY && p->slot[0][i].step <= p->target;
    if (n > p->live) p->live = n;
}

/* Writing or taping, in either direction. */
static void put(player *p, const tn_i_act *a, bool live) {
    assert_int_equal(a->step, p->state);
    if (a->kind == TN_I_RECORD) {
        assert_int_equal(a->slot, TN_I_WORKING);
        p->record = (content){RECORD, a->step};
    } else {
        *slot_of(p, a) = (content){a->kind == TN_I_KEEP ? RECORD : STATE, a->step};
        p->writes += a->place == TN_I_DISK;
        if (live) count_live(p);
    }
    p->recorded += a->kind != TN_I_STORE;
}

static void play_forward(player *p, const tn_i_act *a, int64_t i, bool live) {
    assert_int_equal(a->step, i);
    if (a->kind != TN_I_NONE) put(p, a, live);
    assert_true(a->kind == TN_I_NONE || a->kind == TN_I_STORE || a->kind == TN_I_KEEP || a->kind == TN_I_RECORD);
    p->advances += a->kind == TN_I_NONE || a->kind == TN_I_STORE;
    p->state = i + 1;
}

/* The wanted step's record is there. */
static void bring(player *p, const content *from, int64_t step) {
    assert_int_equal(from->kind, RECORD);
    assert_int_equal(from->step, step);
    assert_int_equal(step, p->target);
    p->target--;
}

static void play(player *p, const tn_i_act *a, bool live) {
    switch (a->kind) {
    case TN_I_ADVANCE:
        assert_int_equal(a->step, p->state);
        assert_true(a->n > 0);
        p->state += a->n;
        p->advances += a->n;
        assert_true(p->state <= p->target);
        return;
    case TN_I_STORE: put(p, a, live); return;
    case TN_I_KEEP:
        put(p, a, live);
        p->state++;
        return;
    case TN_I_RECORD:
        put(p, a, live);
        p->state = -1;
        bring(p, &p->record, a->step);
        return;
    case TN_I_RESTORE: {
        content *c = slot_of(p, a);
        assert_int_equal(c->kind, STATE);
        assert_int_equal(c->step, a->step);
        assert_true(a->step <= p->target);
        p->state = a->step;
        p->reads += a->place == TN_I_DISK;
        if (a->last) c->kind = EMPTY;
        return;
    }
    case TN_I_USE: {
        content *c = a->slot == TN_I_WORKING ? &p->record : slot_of(p, a);
        bring(p, c, a->step);
        c->kind = EMPTY;
        return;
    }
    default: fail_msg("action %d", (int)a->kind);
    }
}

/* Plays n steps and compares with what tn_schedule_cost says; `unknown` hides the number of steps. */
static tn_schedule_counts played(const char *text, int64_t n, bool unknown) {
    tn_ctx *c = ctx();
    const tn_schedule_options o = {.size = sizeof o, .state_bytes = 8, .record_bytes = 24, .unknown = unknown};
    tn_schedule_counts k = {.size = sizeof k};
    if (tn_schedule_cost(c, text, n, &o, &k) != TN_OK) fail_msg("%s", tn_error(c));
    tn_i_schedule *s = tn_i_schedule_new(c, text, unknown ? TN_I_UNKNOWN : n, &o);
    assert_non_null(s);
    const tn_i_schedule_slots x = tn_i_schedule_slots_of(s);
    player p = {.target = INT64_MAX};
    p.slots[0] = x.memory == TN_I_UNKNOWN ? 2 * n + 8 : x.memory;
    p.slots[1] = x.disk;
    for (int i = 0; i < 2; i++) p.slot[i] = calloc((size_t)p.slots[i] + 1, sizeof(content));
    void *memory = malloc(tn_i_schedule_bytes(s));
    memset(memory, 0xA5, tn_i_schedule_bytes(s));
    const size_t before = tn_ctx_bytes(c);
    const bool live = n <= 400; /* counting is quadratic */
    tn_i_schedule_run *run = tn_i_schedule_begin(s, memory);
    for (int64_t i = 0; i < n; i++) {
        const tn_i_act a = tn_i_schedule_forward(run, i);
        play_forward(&p, &a, i, live);
    }
    p.state = -1;
    p.target = n - 1;
    tn_i_schedule_turn(run, n);
    for (tn_i_act a; (a = tn_i_schedule_next(run)).kind != TN_I_DONE;) play(&p, &a, live);
    assert_int_equal(tn_i_schedule_next(run).kind, TN_I_DONE);
    assert_int_equal(tn_ctx_bytes(c), before);
    assert_int_equal(p.target, -1);
    const tn_i_schedule_tally t = tn_i_schedule_tally_of(run);
    const int64_t pairs[][2] = {{k.advances, p.advances},   {k.recorded, p.recorded},     {p.recorded, n},
                                {t.advances, p.advances},   {t.recorded, p.recorded},     {k.disk_writes, p.writes},
                                {k.disk_reads, p.reads},    {t.writes, p.writes},         {t.reads, p.reads},
                                {k.snapshots, t.snapshots}, {k.disk_snapshots, t.on_disk}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i][0] != pairs[i][1])
            fail_msg("%s, %lld steps, pair %zu: %lld and %lld", text, (long long)n, i, (long long)pairs[i][0],
                     (long long)pairs[i][1]);
    /* What online gives up at the turn is dead, and only it knows. */
    if (live && strncmp(text, "online", 6) != 0 && p.live != k.snapshots)
        fail_msg("%s, %lld steps: %lld slots alive, not %lld", text, (long long)n, (long long)p.live,
                 (long long)k.snapshots);
    for (int i = 0; i < 2; i++) free(p.slot[i]);
    free(memory);
    tn_i_schedule_free(s);
    return k;
}

static const char *text_of(const char *name, int64_t s) {
    static char text[64];
    (void)snprintf(text, sizeof text, "%s:%lld", name, (long long)s);
    return text;
}

/* All steps done, as the tables have them. */
static int64_t total(const char *text, int64_t n) {
    tn_schedule_counts k = {.size = sizeof k};
    if (tn_schedule_cost(ctx(), text, n, NULL, &k) != TN_OK) fail_msg("%s", tn_error(ctx()));
    assert_int_equal(k.recorded, n);
    return k.advances + k.recorded;
}

/* ---- by dynamic programming --------------------------------------------------------------------------- */

enum { STEPS = 160, SLOTS = 12 };
typedef int64_t table[SLOTS + 1][STEPS + 1];

/* t[s][n], by trying every split. */
static void fewest(table t) {
    for (int s = 1; s <= SLOTS; s++)
        for (int n = 0; n <= STEPS; n++) {
            t[s][n] = n <= 1 ? 0 : (int64_t)n * (n - 1) / 2;
            for (int m = 1; s > 1 && m < n; m++) {
                const int64_t x = m + t[s - 1][n - m] + t[s][m];
                if (x < t[s][n]) t[s][n] = x;
            }
        }
}

/* The same where a slot may hold a record: all steps done. */
static void fewest_mixed(table f) {
    for (int s = 0; s <= SLOTS; s++)
        for (int n = 0; n <= STEPS; n++) {
            f[s][n] = n <= 1 ? n : INT32_MAX;
            if (s == 0 || n <= 1) continue;
            f[s][n] = 1 + f[s - 1][n - 1];
            for (int i = 1; i < n; i++) {
                const int64_t x = i + f[s - 1][n - i] + f[s][i];
                if (x < f[s][n]) f[s][n] = x;
            }
        }
}

static void by_recurrence(void **state) {
    (void)state;
    static table t, f;
    fewest(t);
    fewest_mixed(f);
    for (int s = 1; s <= SLOTS; s++)
        for (int n = 0; n <= STEPS; n++) {
            assert_int_equal(tn_i_advances(n, s), t[s][n]);
            assert_int_equal(total(text_of("mixed", s), n), f[s][n]);
            assert_true(f[s][n] <= t[s][n] + n);
            if (n < 2) continue;
            const int64_t m = tn_i_split(n, s, NULL);
            assert_in_range(m, 1, n - 1);
            assert_int_equal(m + (s > 1 ? t[s - 1][n - m] : 0) + t[s][m], t[s][n]);
        }
}

static void every_small_loop(void **state) {
    (void)state;
    static table t, f;
    fewest(t);
    fewest_mixed(f);
    for (int64_t n = 0; n <= 64; n++) {
        assert_int_equal(played("all_save", n, false).advances, 0);
        assert_int_equal(played("all_save", n, true).snapshots, n);
        assert_int_equal(played("nothing", n, false).advances, n * (n - 1) / 2);
        assert_int_equal(played("nothing", n, true).advances, n * (n - 1) / 2 + n);
        for (int64_t s = 1; s <= 8; s++) {
            const tn_schedule_counts r = played(text_of("revolve", s), n, false);
            assert_int_equal(r.advances, t[s][n]);
            assert_int_equal(r.snapshots, n <= 1 ? 0 : s < n - 1 ? s : n - 1);
            assert_int_equal(r.bytes, 8 * r.snapshots);
            const tn_schedule_counts m = played(text_of("mixed", s), n, false);
            assert_int_equal(m.advances + n, f[s][n]);
            assert_int_equal(m.bytes, 24 * m.snapshots);
            const tn_schedule_counts o = played(text_of("online", s), n, true);
            assert_int_equal(o.advances, played(text_of("online", s), n, false).advances);
            assert_true(o.snapshots <= s);
            if (n) assert_true(o.advances <= t[s][n] + n);
            if (n <= s) assert_int_equal(o.advances, n);
            if (s + 1 <= n && n <= (s + 1) * (s + 2) / 2 - 1) assert_true(o.advances <= t[s][n] + 2);
            const tn_schedule_counts p = played(text_of("periodic", s), n, false);
            const int64_t blocks = (n + s - 1) / s;
            assert_int_equal(p.advances, n ? n - 1 + (blocks - 1) * (s - 1) : 0);
            assert_int_equal(played(text_of("periodic", s), n, true).advances, 2 * n - blocks);
            assert_true(p.snapshots <= blocks + (s > 2 ? s - 2 : 0));
        }
    }
}

/* ---- the tables of the design ---------------------------------------------------------------------------- */

static void revolve_table(void **state) {
    (void)state;
    static const int64_t slots[9] = {1, 2, 3, 5, 10, 20, 50, 100, 446};
    static const struct {
        int64_t n, t[9];
    } row[] = {{10, {45, 20, 15, 13, 9, 9, 9, 9, 9}},
               {100, {4950, 845, 490, 316, 222, 178, 148, 99, 99}},
               {446, {99235, 8439, 3987, 2214, 1420, 1085, 840, 790, 445}},
               {1000, {499500, 28820, 12155, 6284, 3636, 2747, 1948, 1898, 1552}},
               {10000, {49995000, 932820, 278730, 112868, 57624, 37976, 28622, 24747, 19552}},
               {80000, {3199960000, 21253400, 4578420, 1463990, 644418, 414220, 295196, 234747, 159552}},
               {100000, {4999950000, 29714304, 6176445, 1924980, 832040, 534220, 375196, 294747, 199552}}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        for (int k = 0; k < 9; k++) {
            assert_int_equal(total(text_of("revolve", slots[k]), row[i].n), row[i].t[k] + row[i].n);
            if (row[i].n <= 1000 || slots[k] >= 20)
                assert_int_equal(played(text_of("revolve", slots[k]), row[i].n, false).advances, row[i].t[k]);
        }
}

static void mixed_table(void **state) {
    (void)state;
    static const int64_t row[][3] = {{10, 1, 54},   {10, 2, 26},    {10, 3, 19},    {10, 5, 15},    {100, 3, 554},
                                     {100, 5, 352}, {100, 10, 237}, {100, 20, 184}, {100, 50, 150}, {446, 20, 1119}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const tn_schedule_counts k = played(text_of("mixed", row[i][1]), row[i][0], false);
        assert_int_equal(k.advances + k.recorded, row[i][2]);
    }
    for (int64_t s = 20; s <= 80; s += 15) /* as it says, at the size of real loops */
        assert_true(played(text_of("mixed", s), 80000, false).advances < tn_i_advances(80000, s));
}

static void disk_table(void **state) {
    (void)state;
    static const struct {
        int64_t n;
        const char *text;
        int64_t total, writes, reads;
    } row[] = {
        {10, "disk_revolve:2,2", 30, 0, 0},        {10, "disk_revolve:2,2,wd=0.1,rd=0.1", 24, 2, 2},
        {20, "disk_revolve:3,3", 55, 2, 2},        {20, "disk_revolve:3,3,wd=0.1,rd=0.1", 52, 3, 3},
        {50, "disk_revolve:3,5", 160, 5, 5},       {50, "disk_revolve:3,5,wd=0.1,rd=0.1", 145, 15, 20},
        {100, "disk_revolve:3,5", 355, 7, 12},     {100, "disk_revolve:3,5,rd=0.1,wd=0.1", 345, 15, 20},
        {100, "disk_revolve:5,10", 302, 10, 10},   {100, "disk_revolve:5,10,wd=0.1,rd=0.1", 283, 19, 29},
        {10, "disk_revolve:2,1000", 30, 0, 0}, /* as many as it likes */
        {20, "disk_revolve:3,1000", 55, 2, 2},     {50, "disk_revolve:3,1000", 135, 10, 10},
        {100, "disk_revolve:3,1000", 275, 22, 22}, {100, "disk_revolve:5,1000", 281, 13, 13},
        {100, "disk_revolve:3,0", 590, 0, 0},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const tn_schedule_counts k = played(row[i].text, row[i].n, false);
        assert_int_equal(k.advances + k.recorded, row[i].total);
        assert_int_equal(k.disk_writes, row[i].writes);
        assert_int_equal(k.disk_reads, row[i].reads);
    }
}

/* H-Revolve's recurrence in thousandths of a step, by trying every split. */
static void disk_recurrence(void **state) {
    (void)state;
    static const int64_t costs[][2] = {{2000, 2000}, {100, 100}, {0, 0}, {700, 300}, {0, 5000}, {12345, 1}};
    enum { N = 64, D = 4 };
    static int64_t a[N + 1], p[N + 1], o[N + 1], before[N + 1];
    for (int64_t s = 1; s <= 4; s++)
        for (size_t k = 0; k < sizeof costs / sizeof *costs; k++) {
            for (int64_t n = 0; n <= N; n++) before[n] = a[n] = 1000 * (n + tn_i_advances(n, s));
            for (int64_t d = 1; d <= D; d++, memcpy(before, o, sizeof o))
                for (int64_t n = 1; n <= N; n++) {
                    char text[160];
                    p[n] = a[n];
                    for (int64_t j = 1; j < n; j++) {
                        const int64_t x = 1000 * j + before[n - j] + costs[k][1] + p[j];
                        if (x < p[n]) p[n] = x;
                    }
                    o[n] = p[n] + costs[k][0] < a[n] ? p[n] + costs[k][0] : a[n];
                    if (n % 3 && n > 12) continue; /* all small ones, and each third */
                    (void)snprintf(text, sizeof text, "disk_revolve:%lld,%lld,wd=%lld.%03lld,rd=%lld.%03lld",
                                   (long long)s, (long long)d, (long long)costs[k][0] / 1000,
                                   (long long)costs[k][0] % 1000, (long long)costs[k][1] / 1000,
                                   (long long)costs[k][1] % 1000);
                    const tn_schedule_counts c = played(text, n, false);
                    assert_int_equal(1000 * (c.advances + c.recorded) + c.disk_writes * costs[k][0] +
                                         c.disk_reads * costs[k][1],
                                     o[n]);
                    assert_true(c.disk_snapshots <= d && c.snapshots <= s);
                }
        }
}

/* ---- online ------------------------------------------------------------------------------------------------ */

static void online_table(void **state) {
    (void)state;
    /* the design's column; where it names another, that other's */
    static const int64_t row[][3] = {
        {100, 3, 658},       {100, 10, 329},       {446, 2, 9331},       {446, 20, 1546},      {1000, 3, 13944},
        {1000, 10, 4816},    {1000, 20, 3786},     {1000, 50, 2950},     {1000, 446, 2554},    {10000, 5, 125275},
        {10000, 10, 68565},  {10000, 50, 38801},   {80000, 3, 4738420},  {80000, 10, 731469},  {80000, 20, 497171},
        {80000, 50, 376666}, {80000, 446, 239554}, {100000, 5, 2076389}, {100000, 20, 637707}, {100000, 446, 299554}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const tn_schedule_counts k = played(text_of("online", row[i][1]), row[i][0], true);
        if (k.advances + k.recorded > row[i][2])
            fail_msg("%lld steps, %lld slots: %lld, not %lld", (long long)row[i][0], (long long)row[i][1],
                     (long long)(k.advances + k.recorded), (long long)row[i][2]);
    }
    assert_int_equal(total("online:20", 80000), 497171);
    assert_int_equal(total("online:50", 80000), 376666);
}

/* The bounds, for all numbers of steps and slots there is time for. */
static void online_bounds(void **state) {
    (void)state;
    static const int64_t more[] = {13, 17, 20, 30, 39, 257, 300}; /* 257 and 300: without planning */
    for (int64_t k = 1; k <= 12 + (int64_t)(sizeof more / sizeof *more); k++) {
        const int64_t s = k <= 12 ? k : more[k - 13], exact = (s + 1) * (s + 2) / 2 - 1;
        const int64_t step = s > 100 ? 4999 : s > 12 ? 7 : 1;
        for (int64_t n = 1; n <= (s > 100 ? 5 * exact : exact + 400); n += step) {
            const int64_t offline = n + tn_i_advances(n, s), x = total(text_of("online", s), n);
            assert_in_range(x, offline, offline + n);
            if (n > s && n <= exact) assert_true(x <= offline + 2);
            if (n <= s) assert_int_equal(x, 2 * n);
        }
    }
}

/* Where states are kept, by the words of the design: one step after another, nothing skipped. */
typedef struct plain {
    int64_t s, i, o, p, n;
    bool saving;
    int64_t at[64], ordered[64];
} plain;

static int by_step(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static void plain_step(plain *q, int64_t step) {
    const int64_t s = q->s, stride = step / s > 1 ? step / s : 1;
    if (step < (s + 1) * (s + 2) / 2 - 1) {
        if (q->saving) {
            q->at[q->i] = step;
            if (q->i == q->n) q->n++;
            if (++q->i > q->o) q->i = 1;
        }
        if (step + 1 == q->p) q->saving = false;
        if (step == q->p) {
            q->p += q->o--;
            q->i = q->o;
            q->saving = q->o > 0;
        }
        memcpy(q->ordered, q->at, sizeof q->at);
        qsort(q->ordered, (size_t)q->n, sizeof *q->at, by_step);
        return;
    }
    if (step - q->ordered[q->n - 1] < stride || s == 1) return;
    if (q->n == s) {
        int64_t worst = 1, *P = q->ordered;
        P[s] = step;
        for (int64_t k = 1; k <= s - 1; k++)
            if (P[k + 1] - P[k - 1] <= P[worst + 1] - P[worst - 1]) worst = k;
        for (int64_t k = worst; k + 1 < s; k++) P[k] = P[k + 1];
        q->n--;
    }
    q->ordered[q->n++] = step;
}

static void online_forward(void **state) {
    (void)state;
    for (int64_t s = 1; s <= 40; s++) {
        tn_i_schedule *o = tn_i_schedule_new(ctx(), text_of("online", s), TN_I_UNKNOWN, NULL);
        void *memory = malloc(tn_i_schedule_bytes(o));
        tn_i_schedule_run *run = tn_i_schedule_begin(o, memory);
        plain q = {.s = s, .o = s, .p = s, .saving = true};
        int64_t held[64];
        for (int64_t k = 0; k < 64; k++) held[k] = -1;
        for (int64_t i = 0; i < 6000; i++) {
            const tn_i_act a = tn_i_schedule_forward(run, i);
            int64_t n = 0, now[64];
            if (a.kind == TN_I_STORE) {
                assert_in_range(a.slot, 0, s - 1);
                held[a.slot] = i;
            }
            plain_step(&q, i);
            for (int64_t k = 0; k < s; k++)
                if (held[k] >= 0) now[n++] = held[k];
            qsort(now, (size_t)n, sizeof *now, by_step);
            assert_int_equal(n, q.n);
            assert_memory_equal(now, q.ordered, (size_t)n * sizeof *now);
            assert_int_equal(held[0], 0);
        }
        free(memory);
        tn_i_schedule_free(o);
    }
}

/* What is given up at the turn: against the shortest path by trying every predecessor. */
static void online_planned(void **state) {
    (void)state;
    for (int64_t s = 2; s <= 24; s += s < 8 ? 1 : 8)
        for (int64_t n = (s + 1) * (s + 2) / 2; n <= 5000; n = n * 5 / 4 + 3) {
            static int64_t f[64][64];
            plain q = {.s = s, .o = s, .p = s, .saving = true};
            for (int64_t i = 0; i < n; i++) plain_step(&q, i);
            q.ordered[q.n] = n;
            int64_t best = INT64_MAX;
            for (int64_t m = 1; m <= q.n; m++) {
                for (int64_t j = m; j <= q.n; j++) {
                    f[m][j] = INT64_MAX;
                    for (int64_t i = m - 1; i < j; i++) {
                        if (m == 1 && i > 0) break;
                        const int64_t x =
                            (m == 1 ? 0 : f[m - 1][i]) + tn_i_advances(q.ordered[j] - q.ordered[i], s - m + 1);
                        if (x < f[m][j]) f[m][j] = x;
                    }
                }
                if (f[m][q.n] < best) best = f[m][q.n];
            }
            assert_int_equal(total(text_of("online", s), n), 2 * n + best);
        }
}

/* ---- written down ----------------------------------------------------------------------------------------------- */

/* Step i forward: what a script says of it. */
static tn_i_act written_forward(const tn_i_script *k, size_t *line, int64_t *done) {
    const tn_i_line *at = &k->line[*line];
    assert_true(*line < k->back);
    const tn_i_act a = {.kind = at->kind == TN_I_ADVANCE ? TN_I_NONE : at->kind, .place = at->place, .slot = at->slot};
    if (at->kind == TN_I_STORE) assert_int_equal(k->line[++*line].kind, TN_I_ADVANCE);
    if (++*done == k->line[*line].n) ++*line, *done = 0;
    return a;
}

static void same_acts(const char *text, int64_t n) {
    tn_i_schedule *s = tn_i_schedule_new(ctx(), text, n, NULL);
    tn_i_script *k;
    assert_non_null(s);
    assert_true(tn_i_script_new(s, n, TN_I_MOST_LINES, &k));
    assert_non_null(k);
    void *memory = malloc(tn_i_schedule_bytes(s));
    tn_i_schedule_run *run = tn_i_schedule_begin(s, memory);
    size_t line = 0;
    int64_t done = 0;
    for (int64_t i = 0; i < n; i++) {
        const tn_i_act a = tn_i_schedule_forward(run, i), b = written_forward(k, &line, &done);
        if (a.kind != b.kind || a.place != b.place || (a.kind != TN_I_NONE && a.slot != b.slot))
            fail_msg("%s, %lld steps: forward %lld", text, (long long)n, (long long)i);
    }
    assert_int_equal(line, k->back);
    tn_i_schedule_turn(run, n);
    for (tn_i_act a; (a = tn_i_schedule_next(run)).kind != TN_I_DONE; line++) {
        const tn_i_line *b = &k->line[line];
        assert_true(line < k->nline);
        if (a.kind != b->kind || a.place != b->place || a.slot != b->slot || a.step != b->step || a.n != b->n)
            fail_msg("%s, %lld steps: line %zu", text, (long long)n, line);
    }
    assert_int_equal(line, k->nline);
    free(memory);
    tn_i_script_free(k);
    tn_i_schedule_free(s);
}

static void written_down(void **state) {
    static const char *const TEXT[] = {"all_save", "revolve:3",        "revolve:32", "online:5", "mixed:4",
                                       "mixed:32", "disk_revolve:3,5", "periodic:7", "nothing"};
    (void)state;
    for (size_t i = 0; i < sizeof TEXT / sizeof *TEXT; i++)
        for (int64_t n = 0; n < 400; n = n < 12 ? n + 1 : n * 3 / 2) same_acts(TEXT[i], n);
    tn_i_script *k;
    tn_i_schedule *s = tn_i_schedule_new(ctx(), "revolve:20", TN_I_MOST_LINES, NULL);
    assert_true(tn_i_script_new(s, TN_I_MOST_LINES, TN_I_MOST_LINES, &k));
    assert_null(k); /* too long */
    tn_i_schedule_free(s);
}

/* ---- many at once ------------------------------------------------------------------------------------------------ */

/* One act is one of the ones that were told together. */
static void part_of(tn_i_act a, tn_i_act b, const char *text, int64_t n) {
    if (a.kind != b.kind || a.place != b.place || a.step != b.step || (a.kind != TN_I_NONE && a.slot != b.slot))
        fail_msg("%s, %lld steps: act %d of step %lld is %d of %lld", text, (long long)n, (int)a.kind,
                 (long long)a.step, (int)b.kind, (long long)b.step);
}

static tn_i_act next_by_steps(tn_i_schedule_run *run, int64_t *left) {
    static tn_i_act a;
    if (*left == 0) a = tn_i_schedule_next(run);
    if (a.kind != TN_I_ADVANCE) return a;
    if (*left == 0) *left = a.n;
    const tn_i_act one = {.kind = a.kind, .step = a.step + a.n - (*left)--};
    return one;
}

/* Acts that are told together, one by one, are those of tn_i_schedule_next; so are those of the script, where there is
 * one; of which ADVANCEs are steps. */
static void same_many(const char *text, int64_t n, bool known) {
    tn_i_schedule *s = tn_i_schedule_new(ctx(), text, known ? n : TN_I_UNKNOWN, NULL);
    tn_i_script *k = NULL;
    if (!s) fail_msg("%s", tn_error(ctx()));
    if (known) assert_true(tn_i_script_new(s, n, TN_I_MOST_LINES, &k));
    for (int written = 0; written <= (k != NULL); written++) {
        void *memory[2] = {malloc(tn_i_schedule_bytes(s)), malloc(tn_i_schedule_bytes(s))};
        tn_i_schedule_run *one = tn_i_schedule_begin(s, memory[0]), *many = tn_i_schedule_begin(s, memory[1]);
        tn_i_reading at = {.line = k ? k->line : NULL};
        for (int64_t i = 0; i < n;) {
            const int64_t most = n - i < 5 || i % 3 ? n - i : 4;
            tn_i_act a = written ? tn_i_script_forward_many(k, &at, most) : tn_i_schedule_forward_many(many, i, most);
            assert_in_range(a.n, 1, most);
            a.step = i;
            for (int64_t j = 0; j < a.n; j++, i++, a.step++, a.slot++)
                part_of(a, tn_i_schedule_forward(one, i), text, n);
        }
        tn_i_schedule_turn(one, n);
        tn_i_schedule_turn(many, n);
        if (written) assert_ptr_equal(at.line, k->back ? k->line + k->back : k->line);
        int64_t left = 0;
        for (tn_i_act a;
             (a = written ? tn_i_script_next_many(k, &at) : tn_i_schedule_next_many(many)).kind != TN_I_DONE;) {
            const bool down = a.kind == TN_I_RESTORE || a.kind == TN_I_USE,
                       pair = a.n && (a.kind == TN_I_STORE || a.kind == TN_I_RESTORE);
            const tn_i_act_kind then = a.kind == TN_I_STORE ? TN_I_ADVANCE : TN_I_RECORD;
            for (int64_t j = a.n ? a.n : 1; j > 0; j--) {
                part_of(a, next_by_steps(one, &left), text, n);
                if (pair) assert_int_equal(next_by_steps(one, &left).kind, then);
                a.step += down ? -1 : 1;
                if (a.kind != TN_I_ADVANCE) a.slot += down ? -1 : 1;
            }
        }
        assert_int_equal(tn_i_schedule_next(one).kind, TN_I_DONE);
        const tn_i_schedule_tally x = tn_i_schedule_tally_of(one), y = tn_i_schedule_tally_of(many);
        if (!written) {
            assert_int_equal(x.advances, y.advances);
            assert_int_equal(x.recorded, y.recorded);
            assert_int_equal(x.snapshots, y.snapshots);
            assert_int_equal(x.on_disk, y.on_disk);
            assert_int_equal(x.writes, y.writes);
            assert_int_equal(x.reads, y.reads);
        }
        free(memory[0]);
        free(memory[1]);
    }
    tn_i_script_free(k);
    tn_i_schedule_free(s);
}

static void many_at_once(void **state) {
    static const char *const TEXT[] = {"all_save", "revolve:1",        "revolve:3",  "revolve:32", "online:1",
                                       "online:5", "online:40",        "mixed:1",    "mixed:4",    "mixed:32",
                                       "nothing",  "disk_revolve:3,5", "periodic:1", "periodic:2", "periodic:7"};
    (void)state;
    for (size_t i = 0; i < sizeof TEXT / sizeof *TEXT; i++)
        for (int64_t n = 0; n < 1000; n = n < 12 ? n + 1 : n * 3 / 2) {
            same_many(TEXT[i], n, true);
            if (strncmp(TEXT[i], "revolve", 7) && strncmp(TEXT[i], "mixed", 5) && strncmp(TEXT[i], "disk", 4))
                same_many(TEXT[i], n, false);
        }
}

/* ---- what deciding takes -------------------------------------------------------------------------------------- */

static uint64_t work_of(const char *text, int64_t n) {
    tn_i_schedule *s = tn_i_schedule_new(ctx(), text, strncmp(text, "online", 6) == 0 ? TN_I_UNKNOWN : n, NULL);
    if (!s) fail_msg("%s", tn_error(ctx()));
    void *memory = malloc(tn_i_schedule_bytes(s));
    tn_i_schedule_run *run = tn_i_schedule_begin(s, memory);
    for (int64_t i = 0; i < n; i++) (void)tn_i_schedule_forward(run, i);
    tn_i_schedule_turn(run, n);
    while (tn_i_schedule_next(run).kind != TN_I_DONE) {
    }
    const uint64_t work = tn_i_schedule_tally_of(run).work;
    free(memory);
    tn_i_schedule_free(s);
    return work;
}

/* Numbers looked at per step; a decision looks at some logarithms, mixed at its slots, and the plan of online at
 * S^2 log S once. */
static void bounded_work(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t each, once;
    } row[] = {{"revolve:1", 1, 0},    {"revolve:2", 80, 0},         {"revolve:20", 80, 0},
               {"revolve:446", 80, 0}, {"mixed:20", 120, 0},         {"mixed:100", 300, 0},
               {"online:3", 80, 1000}, {"online:20", 80, 20000},     {"online:200", 80, 800000},
               {"online:446", 80, 0},  {"disk_revolve:5,5", 400, 0}, {"disk_revolve:20,20", 400, 0}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const int64_t n = 80000;
        const uint64_t work = work_of(row[i].text, n);
        if (work > row[i].each * (uint64_t)n + row[i].once)
            fail_msg("%s: %llu numbers looked at", row[i].text, (unsigned long long)work);
    }
    assert_true(work_of("revolve:20", 160000) < 3 * work_of("revolve:20", 80000));
    assert_true(work_of("mixed:20", 160000) < 3 * work_of("mixed:20", 80000));
    /* A binomial that does not fit is seen at once, and a square root of steps is not walked through. */
    uint64_t work = 0;
    assert_true(tn_i_split((int64_t)1 << 40, 2, &work) > 0);
    assert_true(work < 300);
    assert_int_equal(tn_i_binomial((int64_t)1 << 40, 1 << 20), INT64_MAX);
}

/* ---- sizes, texts, errors ---------------------------------------------------------------------------------------- */

static void large_loops(void **state) {
    (void)state;
    tn_schedule_counts k = {.size = sizeof k};
    const int64_t huge = (int64_t)1 << 40;
    assert_int_equal(tn_schedule_cost(ctx(), "revolve:50", huge, NULL, &k), TN_OK);
    assert_true(k.advances > huge);
    assert_int_equal(tn_schedule_cost(ctx(), "revolve:1", huge, NULL, &k), TN_EOVERFLOW);
    assert_non_null(strstr(tn_error(ctx()), "1099511627776"));
    assert_int_equal(tn_schedule_cost(ctx(), "mixed:1", huge, NULL, &k), TN_EOVERFLOW);
    assert_int_equal(tn_schedule_cost(ctx(), "online:1", huge, NULL, &k), TN_EOVERFLOW);
    assert_int_equal(tn_schedule_cost(ctx(), "online:50", huge, NULL, &k), TN_OK);
    assert_in_range(k.advances, tn_i_advances(huge, 50), tn_i_advances(huge, 50) + huge);
    assert_int_equal(tn_schedule_cost(ctx(), "all_save", INT64_MAX - 1, NULL, &k), TN_OK);
    assert_int_equal(tn_schedule_cost(ctx(), "periodic:100", INT64_MAX - 1, NULL, &k), TN_EOVERFLOW);
    assert_int_equal(tn_schedule_cost(ctx(), "revolve:100", INT64_MAX - 1, NULL, &k), TN_EOVERFLOW);
    const tn_schedule_options wide = {.size = sizeof wide, .state_bytes = SIZE_MAX / 2, .record_bytes = SIZE_MAX / 2};
    assert_int_equal(tn_schedule_cost(ctx(), "revolve:2", 10, &wide, &k), TN_OK);
    assert_int_equal(tn_schedule_cost(ctx(), "revolve:3", 10, &wide, &k), TN_EOVERFLOW);
    assert_int_equal(tn_schedule_cost(ctx(), "revolve:20000000", huge, NULL, &k), TN_ELIMIT);
    assert_int_equal(tn_schedule_cost(ctx(), "revolve:20000000", 100, NULL, &k), TN_OK);
    assert_int_equal(tn_schedule_cost(ctx(), "disk_revolve:20,20", huge, NULL, &k), TN_ELIMIT);
    assert_int_equal(tn_schedule_cost(ctx(), "disk_revolve:20,20", 80000, NULL, &k), TN_OK);
    assert_true(k.advances < tn_i_advances(80000, 20) && k.advances >= tn_i_advances(80000, 40));
}

static void texts(void **state) {
    (void)state;
    static const char *const same[][2] = {{"disk_revolve:3,5,wd=2.0,rd=2", "disk_revolve:3,5"},
                                          {"disk_revolve:3,5,rd=.5,wd=10", "disk_revolve:3,5,wd=10,rd=0.5"},
                                          {"disk_revolve:3,0,wd=0,rd=1.125", "disk_revolve:3,0,wd=0,rd=1.125"},
                                          {"revolve:7", "revolve:7"},
                                          {"all_save", "all_save"},
                                          {"auto", "all_save"}};
    static const char *const bad[] = {"",
                                      "revolved",
                                      "revolve",
                                      "revolve:",
                                      "revolve:0",
                                      "revolve:-1",
                                      "revolve:2,3",
                                      "revolve:2x",
                                      "revolve:2,",
                                      "revolve: 2",
                                      "all_save:1",
                                      "nothing:",
                                      "periodic",
                                      "periodic:0",
                                      "online:1e3",
                                      "mixed:x",
                                      "disk_revolve:3",
                                      "disk_revolve:3,-1",
                                      "disk_revolve:3,4,5",
                                      "disk_revolve:3,4,wd=",
                                      "disk_revolve:3,4,wd=-1",
                                      "disk_revolve:3,4,wd=0.0001",
                                      "disk_revolve:3,4,xd=1",
                                      "disk_revolve:3,4,wd=nan",
                                      "disk_revolve:wd=1,3,4",
                                      "revolve:3,wd=1",
                                      "revolve:99999999999999999999",
                                      "auto:0"};
    tn_schedule_counts k = {.size = sizeof k};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        assert_int_equal(tn_schedule_cost(ctx(), same[i][0], 20, NULL, &k), TN_OK);
        assert_string_equal(k.schedule, same[i][1]);
        assert_int_equal(tn_schedule_cost(ctx(), k.schedule, 20, NULL, &k), TN_OK);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (tn_schedule_cost(ctx(), bad[i], 20, NULL, &k) != TN_EINVAL) fail_msg("'%s' was taken", bad[i]);
        if (bad[i][0]) assert_non_null(strstr(tn_error(ctx()), i == 1 ? "no schedule" : "'"));
    }
    assert_int_equal(tn_i_schedule_check(ctx(), "online:3", true), TN_OK);
    assert_int_equal(tn_i_schedule_check(ctx(), "revolve:3", true), TN_EINVAL);
    assert_non_null(strstr(tn_error(ctx()), "number of steps"));
    bool known;
    size_t rows = 0;
    for (const char *text; (text = tn_i_schedule_example(rows, &known)); rows++) {
        assert_int_equal(tn_i_schedule_check(ctx(), text, false), TN_OK);
        assert_int_equal(tn_i_schedule_check(ctx(), text, true), known ? TN_EINVAL : TN_OK);
        for (int64_t n = 0; n < 30; n++) (void)played(text, n, false);
        const char *usage = tn_schedule_at(rows); /* the same name, and as many arguments */
        assert_int_equal(strcspn(usage, ":["), strcspn(text, ":["));
        assert_memory_equal(usage, text, strcspn(text, ":["));
        assert_int_equal(strchr(usage, ',') != NULL, strchr(text, ',') != NULL);
    }
    assert_int_equal(rows, 8);
    assert_null(tn_schedule_at(rows));
}

static void bad_calls(void **state) {
    (void)state;
    tn_schedule_counts k = {.size = sizeof k};
    const tn_schedule_options unknown = {.size = sizeof unknown, .unknown = 1}, none = {.size = 0},
                              negative = {.size = sizeof negative, .step_ns = -1};
    assert_int_equal(tn_schedule_cost(ctx(), NULL, 10, NULL, &k), TN_EINVAL);
    assert_int_equal(tn_schedule_cost(ctx(), "nothing", -1, NULL, &k), TN_EINVAL);
    assert_int_equal(tn_schedule_cost(ctx(), "nothing", 10, NULL, NULL), TN_EINVAL);
    assert_int_equal(tn_schedule_cost(ctx(), "mixed:2", 10, &unknown, &k), TN_EINVAL);
    assert_int_equal(tn_schedule_cost(ctx(), "nothing", 10, &none, &k), TN_EINVAL);
    assert_int_equal(tn_schedule_cost(ctx(), "auto", 10, &negative, &k), TN_EINVAL);
    /* A caller of an older struct gets what it has room for. */
    memset(&k, 0x5A, sizeof k);
    k.size = offsetof(tn_schedule_counts, recorded);
    assert_int_equal(tn_schedule_cost(ctx(), "nothing", 10, NULL, &k), TN_OK);
    assert_int_equal(k.advances, 45);
    assert_int_equal(k.size, offsetof(tn_schedule_counts, recorded));
    assert_int_equal(k.recorded, 0x5A5A5A5A5A5A5A5A);
}

static void automatic(void **state) {
    (void)state;
    static const struct {
        int64_t steps;
        tn_schedule_options sizes;
        const char *text;
    } row[] = {
        {1000, {.state_bytes = 1000, .record_bytes = 6000, .step_ns = 1e4}, "all_save"},
        {1000, {.state_bytes = 1000, .record_bytes = 6000, .step_ns = 1e4, .budget_bytes = 6000000}, "all_save"},
        {1000, {.state_bytes = 1000, .record_bytes = 6000, .step_ns = 1e4, .budget_bytes = 5999999}, "mixed:999"},
        {1000, {.state_bytes = 1000, .record_bytes = 6000, .step_ns = 1e4, .budget_bytes = 100000}, "revolve:100"},
        {1000, {.state_bytes = 1000, .record_bytes = 1000, .step_ns = 1e4, .budget_bytes = 10999}, "mixed:10"},
        {1000, {.state_bytes = 1000, .record_bytes = 0, .step_ns = 1e4, .budget_bytes = 1}, "all_save"},
        {1000, {.state_bytes = 1000, .record_bytes = 100, .step_ns = 1e4, .budget_bytes = 999}, "nothing"},
        {0, {.state_bytes = 1000, .record_bytes = 100, .budget_bytes = 1}, "all_save"},
        {-1, {.state_bytes = 1000, .record_bytes = 100}, "all_save"},
        {-1, {.state_bytes = 1000, .record_bytes = 100, .budget_bytes = 50500}, "online:50"},
        {-1, {.state_bytes = 1000, .record_bytes = 0, .budget_bytes = 50500}, "all_save"},
        {-1, {.state_bytes = 1000, .record_bytes = 100, .budget_bytes = 10}, "online:1"},
        /* computing a cheap step again is faster than fetching its large record */
        {100000, {.state_bytes = 8, .record_bytes = 80000, .step_ns = 10}, "revolve:99999"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char text[TN_I_AUTO_TEXT];
        tn_i_schedule_auto(row[i].steps, &row[i].sizes, text);
        assert_string_equal(text, row[i].text);
    }
    /* Within the budget, and never slower with a larger one. */
    double last = 1e300;
    for (size_t budget = 500; budget < 1 << 22; budget = budget * 3 / 2) {
        const tn_schedule_options o = {
            .size = sizeof o, .state_bytes = 1000, .record_bytes = 3000, .budget_bytes = budget, .step_ns = 1e6};
        tn_schedule_counts k = {.size = sizeof k};
        const tn_schedule_options sizes = {
            .size = sizeof sizes, .state_bytes = 1000, .record_bytes = 100, .step_ns = 1e4, .budget_bytes = 7};
        assert_int_equal(tn_schedule_cost(ctx(), "auto:999", 1000, &sizes, &k), TN_OK); /* what the text says goes */
        assert_string_equal(k.schedule, "nothing");
        assert_int_equal(tn_schedule_cost(ctx(), "auto", 1000, &o, &k), TN_OK);
        assert_true(k.bytes <= budget || k.snapshots == 1);
        const double steps = (double)(k.advances + k.recorded);
        assert_true(steps <= last);
        last = steps;
    }
    assert_true(last == 1000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_recurrence),  cmocka_unit_test(every_small_loop), cmocka_unit_test(revolve_table),
        cmocka_unit_test(mixed_table),    cmocka_unit_test(disk_table),       cmocka_unit_test(disk_recurrence),
        cmocka_unit_test(online_table),   cmocka_unit_test(online_bounds),    cmocka_unit_test(online_forward),
        cmocka_unit_test(online_planned), cmocka_unit_test(written_down),     cmocka_unit_test(many_at_once),
        cmocka_unit_test(bounded_work),   cmocka_unit_test(large_loops),      cmocka_unit_test(texts),
        cmocka_unit_test(bad_calls),      cmocka_unit_test(automatic),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tn_ctx_free(ctx());
    return failed;
}
