/* LAPACK's factorizations: the only file that knows it.  The _work forms with columns in order hand their arguments
 * through and allocate nothing; asked with -1 elements of room they tell how many they want. */
#include "prims/linear/lapack.h"

#ifdef TN_LAPACK
#include <lapacke.h>
#include <string.h>

_Static_assert(sizeof(lapack_int) == sizeof(int32_t), "LAPACK with 32-bit integers");

bool tn_i_lapack_linked(void) { return true; }
const char *tn_i_lapack_version(void) { return "by LAPACKE"; }

/* What LAPACK asked for, in elements, and `reals` beside it. */
static tn_i_lapack_room room_of(bool is_complex, double told, int64_t reals, int64_t integers) {
    const int64_t n = told < 1 ? 1 : (int64_t)told;
    return (tn_i_lapack_room){.work = n * (1 + is_complex) + reals, .told = n, .integers = integers < 1 ? 1 : integers};
}

static double *reals_of(bool is_complex, const tn_i_lapack_room *room, double *work) {
    return work + room->told * (1 + is_complex);
}

static lapack_complex_double *z(double *x) { return (lapack_complex_double *)(void *)x; }

static lapack_int syevd(bool is_complex, bool lower, int64_t n, double *a, double *w, double *work, int64_t told,
                        double *reals, int64_t nreals, int32_t *integers, int64_t nintegers) {
    const char side = lower ? 'L' : 'U';
    const lapack_int order = (lapack_int)n;
    if (is_complex)
        return LAPACKE_zheevd_work(LAPACK_COL_MAJOR, 'V', side, order, z(a), order, w, z(work), (lapack_int)told, reals,
                                   (lapack_int)nreals, integers, (lapack_int)nintegers);
    return LAPACKE_dsyevd_work(LAPACK_COL_MAJOR, 'V', side, order, a, order, w, work, (lapack_int)told, integers,
                               (lapack_int)nintegers);
}

void tn_i_lapack_syevd_room(bool is_complex, bool lower, int64_t n, tn_i_lapack_room *room) {
    double told[2] = {0, 0}, none[2] = {0, 0}, reals = 0;
    int32_t integers = 0;
    (void)syevd(is_complex, lower, n, none, none, told, -1, &reals, -1, &integers, -1);
    *room = room_of(is_complex, told[0], (int64_t)reals, integers);
}

bool tn_i_lapack_syevd(bool is_complex, bool lower, int64_t n, double *a, double *w, const tn_i_lapack_room *room,
                       double *work, int32_t *integers) {
    double *reals = reals_of(is_complex, room, work);
    return syevd(is_complex, lower, n, a, w, work, room->told, reals, room->work - (reals - work), integers,
                 room->integers) == 0;
}

/* reals: 2 n, of the real and of the imaginary parts of a real matrix's eigenvalues. */
static lapack_int geev(bool is_complex, bool vectors, int64_t n, double *a, double *w, double *v, double *work,
                       int64_t told, double *reals) {
    double none[2];
    const char job = vectors ? 'V' : 'N';
    const lapack_int order = (lapack_int)n;
    if (is_complex)
        return LAPACKE_zgeev_work(LAPACK_COL_MAJOR, 'N', job, order, z(a), order, z(w), z(none), 1, z(v), order,
                                  z(work), (lapack_int)told, reals);
    return LAPACKE_dgeev_work(LAPACK_COL_MAJOR, 'N', job, order, a, order, reals, reals + n, none, 1, v, order, work,
                              (lapack_int)told);
}

void tn_i_lapack_geev_room(bool is_complex, bool vectors, int64_t n, tn_i_lapack_room *room) {
    double told[2] = {0, 0}, none[2] = {0, 0};
    (void)geev(is_complex, vectors, n, none, none, none, told, -1, none);
    *room = room_of(is_complex, told[0], 2 * n, 0);
}

/* Column j of complex v by LAPACK's of a real matrix: of a pair of conjugates the columns j and j + 1 are the real and
 * the imaginary part of the one with im > 0, and the other one is its conjugate. */
static void unpack(int64_t n, const double *im, const double *packed, double *v) {
    for (int64_t j = 0, second = 0; j < n; j++) {
        const bool pair = im[j] != 0;
        const double *re = packed + (j - second) * n;
        for (int64_t i = 0; i < n; i++) {
            v[2 * (j * n + i)] = re[i];
            v[2 * (j * n + i) + 1] = !pair ? 0 : second ? -re[n + i] : re[n + i];
        }
        second = pair && !second;
    }
}

bool tn_i_lapack_geev(bool is_complex, bool vectors, int64_t n, double *a, double *w, double *v,
                      const tn_i_lapack_room *room, double *work) {
    double *re = reals_of(is_complex, room, work), *im = re + n;
    if (geev(is_complex, vectors, n, a, w, v, work, room->told, re) != 0) return false;
    if (is_complex) return true;
    for (int64_t i = 0; i < n; i++) {
        w[2 * i] = re[i];
        w[2 * i + 1] = im[i];
    }
    if (!vectors) return true;
    memcpy(a, v, (size_t)(n * n) * sizeof *a);
    unpack(n, im, a, v);
    return true;
}

/* reals: 3 n, the eigenvalues and what a complex matrix wants besides. */
static lapack_int gees(bool is_complex, int64_t n, double *a, double *q, double *work, int64_t told, double *reals) {
    lapack_int sorted = 0;
    lapack_logical none;
    const lapack_int order = (lapack_int)n;
    if (is_complex)
        return LAPACKE_zgees_work(LAPACK_COL_MAJOR, 'V', 'N', NULL, order, z(a), order, &sorted, z(reals), z(q), order,
                                  z(work), (lapack_int)told, reals + 2 * n, &none);
    return LAPACKE_dgees_work(LAPACK_COL_MAJOR, 'V', 'N', NULL, order, a, order, &sorted, reals, reals + n, q, order,
                              work, (lapack_int)told, &none);
}

void tn_i_lapack_gees_room(bool is_complex, int64_t n, tn_i_lapack_room *room) {
    double told[2] = {0, 0}, none[2] = {0, 0};
    (void)gees(is_complex, n, none, none, told, -1, none);
    *room = room_of(is_complex, told[0], 3 * n, 0);
}

bool tn_i_lapack_gees(bool is_complex, int64_t n, double *a, double *q, const tn_i_lapack_room *room, double *work) {
    return gees(is_complex, n, a, q, work, room->told, reals_of(is_complex, room, work)) == 0;
}

static lapack_int geqrf(bool is_complex, int64_t m, int64_t n, double *a, double *tau, double *work, int64_t told) {
    const lapack_int rows = (lapack_int)m, columns = (lapack_int)n;
    if (is_complex)
        return LAPACKE_zgeqrf_work(LAPACK_COL_MAJOR, rows, columns, z(a), rows, z(tau), z(work), (lapack_int)told);
    return LAPACKE_dgeqrf_work(LAPACK_COL_MAJOR, rows, columns, a, rows, tau, work, (lapack_int)told);
}

static lapack_int orgqr(bool is_complex, int64_t m, int64_t n, int64_t columns, double *a, const double *tau,
                        double *work, int64_t told) {
    const lapack_int rows = (lapack_int)m, width = (lapack_int)columns, k = (lapack_int)(m < n ? m : n);
    if (is_complex)
        return LAPACKE_zungqr_work(LAPACK_COL_MAJOR, rows, width, k, z(a), rows,
                                   (const lapack_complex_double *)(const void *)tau, z(work), (lapack_int)told);
    return LAPACKE_dorgqr_work(LAPACK_COL_MAJOR, rows, width, k, a, rows, tau, work, (lapack_int)told);
}

void tn_i_lapack_qr_room(bool is_complex, int64_t m, int64_t n, int64_t columns, tn_i_lapack_room *room) {
    double none[2] = {0, 0}, factor[2] = {0, 0}, make[2] = {0, 0};
    (void)geqrf(is_complex, m, n, none, none, factor, -1);
    (void)orgqr(is_complex, m, n, columns, none, none, make, -1);
    *room = room_of(is_complex, factor[0] > make[0] ? factor[0] : make[0], 0, 0);
}

bool tn_i_lapack_geqrf(bool is_complex, int64_t m, int64_t n, double *a, double *tau, const tn_i_lapack_room *room,
                       double *work) {
    return geqrf(is_complex, m, n, a, tau, work, room->told) == 0;
}

bool tn_i_lapack_orgqr(bool is_complex, int64_t m, int64_t n, int64_t columns, double *a, const double *tau,
                       const tn_i_lapack_room *room, double *work) {
    return orgqr(is_complex, m, n, columns, a, tau, work, room->told) == 0;
}

static lapack_int gesdd(bool is_complex, bool full, int64_t m, int64_t n, double *a, double *s, double *u, double *vt,
                        double *work, int64_t told, double *reals, int32_t *integers) {
    const lapack_int rows = (lapack_int)m, columns = (lapack_int)n;
    const lapack_int left = (lapack_int)(full || n < m ? n : m); /* rows of vt */
    const char job = full ? 'A' : 'S';
    if (is_complex)
        return LAPACKE_zgesdd_work(LAPACK_COL_MAJOR, job, rows, columns, z(a), rows, s, z(u), rows, z(vt), left,
                                   z(work), (lapack_int)told, reals, integers);
    return LAPACKE_dgesdd_work(LAPACK_COL_MAJOR, job, rows, columns, a, rows, s, u, rows, vt, left, work,
                               (lapack_int)told, integers);
}

/* zgesdd's manual: max(5 k^2 + 5 k, 2 max(m, n) k + 2 k^2 + k) real numbers. */
void tn_i_lapack_gesdd_room(bool is_complex, bool full, int64_t m, int64_t n, tn_i_lapack_room *room) {
    double told[2] = {0, 0}, none[2] = {0, 0};
    int32_t integers = 0;
    const int64_t k = m < n ? m : n, square = 5 * k * k + 5 * k, long_side = 2 * (m + n - k) * k + 2 * k * k + k;
    (void)gesdd(is_complex, full, m, n, none, none, none, none, told, -1, none, &integers);
    *room = room_of(is_complex, told[0], !is_complex ? 0 : square > long_side ? square : long_side, 8 * k);
}

bool tn_i_lapack_gesdd(bool is_complex, bool full, int64_t m, int64_t n, double *a, double *s, double *u, double *vt,
                       const tn_i_lapack_room *room, double *work, int32_t *integers) {
    return gesdd(is_complex, full, m, n, a, s, u, vt, work, room->told, reals_of(is_complex, room, work), integers) ==
           0;
}

#else

static void no_room(tn_i_lapack_room *room) { *room = (tn_i_lapack_room){.work = 1, .told = 1, .integers = 1}; }

bool tn_i_lapack_linked(void) { return false; }
const char *tn_i_lapack_version(void) { return "none"; }

void tn_i_lapack_syevd_room(bool is_complex, bool lower, int64_t n, tn_i_lapack_room *room) {
    (void)is_complex, (void)lower, (void)n;
    no_room(room);
}

bool tn_i_lapack_syevd(bool is_complex, bool lower, int64_t n, double *a, double *w, const tn_i_lapack_room *room,
                       double *work, int32_t *integers) {
    (void)is_complex, (void)lower, (void)n, (void)a, (void)w, (void)room, (void)work, (void)integers;
    return false;
}

void tn_i_lapack_geev_room(bool is_complex, bool vectors, int64_t n, tn_i_lapack_room *room) {
    (void)is_complex, (void)vectors, (void)n;
    no_room(room);
}

bool tn_i_lapack_geev(bool is_complex, bool vectors, int64_t n, double *a, double *w, double *v,
                      const tn_i_lapack_room *room, double *work) {
    (void)is_complex, (void)vectors, (void)n, (void)a, (void)w, (void)v, (void)room, (void)work;
    return false;
}

void tn_i_lapack_gees_room(bool is_complex, int64_t n, tn_i_lapack_room *room) {
    (void)is_complex, (void)n;
    no_room(room);
}

bool tn_i_lapack_gees(bool is_complex, int64_t n, double *a, double *q, const tn_i_lapack_room *room, double *work) {
    (void)is_complex, (void)n, (void)a, (void)q, (void)room, (void)work;
    return false;
}

void tn_i_lapack_qr_room(bool is_complex, int64_t m, int64_t n, int64_t columns, tn_i_lapack_room *room) {
    (void)is_complex, (void)m, (void)n, (void)columns;
    no_room(room);
}

bool tn_i_lapack_geqrf(bool is_complex, int64_t m, int64_t n, double *a, double *tau, const tn_i_lapack_room *room,
                       double *work) {
    (void)is_complex, (void)m, (void)n, (void)a, (void)tau, (void)room, (void)work;
    return false;
}

bool tn_i_lapack_orgqr(bool is_complex, int64_t m, int64_t n, int64_t columns, double *a, const double *tau,
                       const tn_i_lapack_room *room, double *work) {
    (void)is_complex, (void)m, (void)n, (void)columns, (void)a, (void)tau, (void)room, (void)work;
    return false;
}

void tn_i_lapack_gesdd_room(bool is_complex, bool full, int64_t m, int64_t n, tn_i_lapack_room *room) {
    (void)is_complex, (void)full, (void)m, (void)n;
    no_room(room);
}

bool tn_i_lapack_gesdd(bool is_complex, bool full, int64_t m, int64_t n, double *a, double *s, double *u, double *vt,
                       const tn_i_lapack_room *room, double *work, int32_t *integers) {
    (void)is_complex, (void)full, (void)m, (void)n, (void)a, (void)s, (void)u, (void)vt, (void)room, (void)work;
    (void)integers;
    return false;
}

#endif
