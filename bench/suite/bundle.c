/* ADBench's bundle adjustment: the sparse Jacobian of all reprojection errors, block by block: vmap of the Jacobian of
 * one observation's two errors in its camera, point and weight. */
#include "suite.h"

#include <math.h>
#include <string.h>

typedef struct scene {
    long cameras, points;
    c_bundle b;
    double *rows, *weights; /* what C writes: [p, 2, 15], [p] */
} scene;

static void by_hand(void *data) {
    const scene *s = data;
    c_bundle_jacobian(&s->b, s->rows, s->weights);
}

/* ---- for Tansy
 * ---------------------------------------------------------------------------------------------------------- */

static tn_val part(tn_val x, int64_t from, int64_t to) { return tn_slice_axis(x, from, to, 1, 0); }

static tn_val cross(tn_val a, tn_val b) {
    return tn_sub(tn_mul(tn_roll(a, -1, 0), tn_roll(b, -2, 0)), tn_mul(tn_roll(a, -2, 0), tn_roll(b, -1, 0)));
}

/* By Rodrigues' formula, which has a limit at r = 0. */
static tn_val rotate(tn_val r, tn_val x) {
    const tn_val square = tn_sum_squares(r), none = tn_eq(square, 0), th = tn_sqrt(tn_where(none, 1, square));
    const tn_val c = tn_cos(th), w = tn_div(r, th), turned = cross(w, x), along = tn_mul(w, tn_sum(tn_mul(w, x)));
    const tn_val any = tn_add(tn_add(tn_mul(x, c), tn_mul(turned, tn_sin(th))), tn_mul(along, tn_sub(1, c)));
    return tn_where(none, tn_add(x, cross(r, x)), any);
}

/* in: camera [11], point [3], weight, feature [2] -> [2] */
static tn_val error(const tn_val *in, void *user) {
    (void)user;
    const tn_val cam = in[0], x = rotate(part(cam, 0, 3), tn_sub(in[1], part(cam, 3, 6)));
    const tn_val uv = tn_div(part(x, 0, 2), tn_at(x, 2)), rho = tn_sum_squares(uv);
    const tn_val bend = tn_add(1, tn_mul(rho, tn_add(tn_at(cam, 9), tn_mul(tn_at(cam, 10), rho))));
    const tn_val at = tn_add(tn_mul(uv, tn_mul(tn_at(cam, 6), bend)), part(cam, 7, 9));
    return tn_mul(in[2], tn_sub(at, in[3]));
}

/* in: cameras, points, weights, features, indices [2, p]; user: the Jacobian of every observation */
static void sparse(const tn_val *in, tn_val *out, void *user) {
    const int64_t p = tn_dim(in[2], 0);
    const tn_val camera = tn_take(in[0], tn_at(in[4], 0), 0, TN_CLIP_INDICES),
                 point = tn_take(in[1], tn_at(in[4], 1), 0, TN_CLIP_INDICES);
    tn_val j[3];
    tn_apply_many(user, 4, (const tn_val[]){camera, point, in[2], in[3]}, 3, j);
    out[0] = tn_concatenate(tn_vals(j[0], j[1], tn_reshape(j[2], p, 2, 1)), 2);
    out[1] = tn_mul(-2, in[2]);
}

static tn_fn *program(bench *b, const scene *s, bool forward) {
    const int64_t p = s->b.p;
    tn_fn *f = tn_trace(bench_ctx(b), error, NULL, TN_ARGS(tn_f64(11), tn_f64(3), tn_f64(), tn_f64(2)));
    tn_fn *j = forward ? tn_jacfwd(f, tn_wrt(0, 1, 2), 0) : tn_jacrev(f, tn_wrt(0, 1, 2), NULL, 0);
    tn_fn *all = tn_vmap(j, p, NULL, NULL);
    if (!all) return NULL;
    return tn_trace_many(bench_ctx(b), sparse, all,
                         TN_ARGS(tn_f64(s->cameras, 11), tn_f64(s->points, 3), tn_f64(p), tn_f64(p, 2), tn_i32(2, p)),
                         2);
}

/* ---- data
 * ------------------------------------------------------------------------------------------------------------------ */

static void run(bench *b, scene *s, const char *variant, bool forward) {
    const c_bundle *d = &s->b;
    bench_run(b, &(bench_case){.workload = "ba",
                               .variant = variant,
                               .n = d->p,
                               .dtype = TN_F64,
                               .fn = program(b, s, forward),
                               .in = TN_RAW_INPUTS(d->camera, d->point, d->weight, d->feature, d->index),
                               .c = by_hand,
                               .data = s,
                               .want = TN_RAW_OUTPUTS(s->rows, s->weights),
                               .tolerance = 1e-12});
}

/* As many as ADBench's first problem has, around cameras and points like its own, every one different. */
static void scattered(bench *b) {
    static const double LIKE[11] = {-0.758453,  -1.109613, -0.845551, 34.556073, 39.676747, 53.881673,
                                    419.194514, 5.864426,  -8.518870, 0.087812,  0.002739};
    enum { CAMERAS = 49, POINTS = 7776, P = 31843 };
    double *camera = bench_memory(b, CAMERAS * 11 * 8), *point = bench_memory(b, POINTS * 3 * 8);
    double *weight = bench_memory(b, P * 8), *feature = bench_memory(b, P * 2 * 8);
    int32_t *index = bench_memory(b, 2 * P * 4);
    scene s = {CAMERAS, POINTS, {P, camera, point, weight, feature, index}, NULL, NULL};
    s.rows = bench_memory(b, P * 30 * 8);
    s.weights = bench_memory(b, P * 8);
    bench_fill_f64(camera, CAMERAS * 11, 0.9, 1.1, 1);
    for (int i = 0; i < CAMERAS * 11; i++) camera[i] *= LIKE[i % 11];
    bench_fill_f64(point, POINTS * 3, 0, 8, 2);
    bench_fill_f64(weight, P, 0.1, 1, 3);
    bench_fill_f64(feature, P * 2, -900, 900, 4);
    for (int i = 0; i < P; i++) {
        index[i] = i * 17 % CAMERAS;
        index[P + i] = (int32_t)((long)i * 7919 % POINTS);
    }
    run(b, &s, "jacfwd", true);
    run(b, &s, "jacrev", false);
}

static bool section(FILE *f, const char *name, double *x, size_t n) {
    char word[32];
    size_t count;
    if (fscanf(f, "%31s %zu", word, &count) != 2 || strcmp(word, name) || count != n) return false;
    for (size_t i = 0; i < n; i++)
        if (fscanf(f, "%lf", &x[i]) != 1) return false;
    return true;
}

/* Five cameras of which one does not turn, random observations; rows and weights by ADBench's own C++. */
static bool read_golden(bench *b, FILE *f, scene *s, double *skipped, double *want) {
    double *camera = bench_memory(b, 55 * 8), *point = bench_memory(b, 36 * 8), *weight = bench_memory(b, 40 * 8);
    double *feature = bench_memory(b, 80 * 8);
    int32_t *index = bench_memory(b, 80 * 4);
    if (fscanf(f, "%ld %ld %ld", &s->cameras, &s->points, &s->b.p) != 3 || s->cameras != 5 || s->points != 12 ||
        s->b.p != 40)
        return false;
    s->b = (c_bundle){40, camera, point, weight, feature, index};
    s->rows = bench_memory(b, 40 * 30 * 8);
    s->weights = bench_memory(b, 40 * 8);
    if (!section(f, "cams", camera, 55) || !section(f, "X", point, 36) || !section(f, "w", weight, 40) ||
        !section(f, "obs", skipped, 80))
        return false;
    for (int i = 0; i < 80; i++) index[(i & 1) * 40 + i / 2] = (int32_t)skipped[i];
    return section(f, "feats", feature, 80) && section(f, "reproj_err", skipped, 80) &&
           section(f, "w_err", skipped, 40) && section(f, "J_rows", skipped, 121) &&
           section(f, "J_cols", skipped, 1240) && section(f, "J_vals", want, 1240);
}

static void varied(bench *b) {
    char path[512];
    scene s = {.rows = NULL};
    double *skipped = bench_memory(b, 1240 * 8), *want = bench_memory(b, 1240 * 8), worst = 0, scale = 0;
    (void)snprintf(path, sizeof path, "%s/ba_varied.golden.txt", bench_data(b));
    FILE *f = fopen(path, "r");
    const bool ok = f && read_golden(b, f, &s, skipped, want);
    if (f) fclose(f);
    if (!ok) {
        bench_failed(b, "ba", "no data");
        return;
    }
    by_hand(&s);
    for (int i = 0; i < 1240; i++) {
        worst = fmax(worst, fabs((i < 1200 ? s.rows[i] : s.weights[i - 1200]) - want[i]));
        scale = fmax(scale, fabs(want[i]));
    }
    if (!(worst <= 1e-12 * scale)) bench_failed(b, "ba", "C does not give ADBench's numbers");
    run(b, &s, "varied", true);
}

void suite_bundle(bench *b) {
    if (!bench_wants(b, "ba")) return;
    varied(b);
    if (!bench_quick(b)) scattered(b);
}
