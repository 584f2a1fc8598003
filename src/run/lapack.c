/* LAPACK's factorizations: the only file that knows it.  The _work forms with columns in order hand their arguments
 * through and allocate nothing; asked with -1 elements of room they tell how many they want. */
#include "prims/lapack.h"

#ifdef TN_LAPACK
#include <lapacke.h>

_Static_assert(sizeof(lapack_int) == sizeof(int32_t), "LAPACK with 32-bit integers");

bool tn_i_lapack_linked(void) { return true; }
const char *tn_i_lapack_version(void) { return "by LAPACKE"; }

static int64_t at_least_one(double told) { return told < 1 ? 1 : (int64_t)told; }

static lapack_int syevd(bool lower, int64_t n, double *a, double *w, double *work, int64_t nwork, int32_t *integers,
                        int64_t nintegers) {
    return LAPACKE_dsyevd_work(LAPACK_COL_MAJOR, 'V', lower ? 'L' : 'U', (lapack_int)n, a, (lapack_int)n, w, work,
                               (lapack_int)nwork, integers, (lapack_int)nintegers);
}

void tn_i_lapack_syevd_room(bool lower, int64_t n, tn_i_lapack_room *room) {
    double told = 0, none = 0;
    int32_t integers = 0;
    (void)syevd(lower, n, &none, &none, &told, -1, &integers, -1);
    *room = (tn_i_lapack_room){at_least_one(told), at_least_one(integers)};
}

bool tn_i_lapack_syevd(bool lower, int64_t n, double *a, double *w, const tn_i_lapack_room *room, double *work,
                       int32_t *integers) {
    return syevd(lower, n, a, w, work, room->work, integers, room->integers) == 0;
}

static lapack_int geev(bool vectors, int64_t n, double *a, double *re, double *im, double *v, double *work,
                       int64_t nwork) {
    double none;
    return LAPACKE_dgeev_work(LAPACK_COL_MAJOR, 'N', vectors ? 'V' : 'N', (lapack_int)n, a, (lapack_int)n, re, im,
                              &none, 1, v, (lapack_int)n, work, (lapack_int)nwork);
}

void tn_i_lapack_geev_room(bool vectors, int64_t n, tn_i_lapack_room *room) {
    double told = 0, none = 0;
    (void)geev(vectors, n, &none, &none, &none, &none, &told, -1);
    *room = (tn_i_lapack_room){at_least_one(told), 0};
}

bool tn_i_lapack_geev(bool vectors, int64_t n, double *a, double *re, double *im, double *v,
                      const tn_i_lapack_room *room, double *work) {
    return geev(vectors, n, a, re, im, v, work, room->work) == 0;
}

static lapack_int gees(bool vectors, int64_t n, double *a, double *re, double *im, double *q, double *work,
                       int64_t nwork) {
    lapack_int sorted = 0;
    lapack_logical none;
    return LAPACKE_dgees_work(LAPACK_COL_MAJOR, vectors ? 'V' : 'N', 'N', NULL, (lapack_int)n, a, (lapack_int)n,
                              &sorted, re, im, q, (lapack_int)n, work, (lapack_int)nwork, &none);
}

void tn_i_lapack_gees_room(bool vectors, int64_t n, tn_i_lapack_room *room) {
    double told = 0, none = 0;
    (void)gees(vectors, n, &none, &none, &none, &none, &told, -1);
    *room = (tn_i_lapack_room){at_least_one(told), 0};
}

bool tn_i_lapack_gees(bool vectors, int64_t n, double *a, double *re, double *im, double *q,
                      const tn_i_lapack_room *room, double *work) {
    return gees(vectors, n, a, re, im, q, work, room->work) == 0;
}

static lapack_int geqrf(int64_t m, int64_t n, double *a, double *tau, double *work, int64_t nwork) {
    return LAPACKE_dgeqrf_work(LAPACK_COL_MAJOR, (lapack_int)m, (lapack_int)n, a, (lapack_int)m, tau, work,
                               (lapack_int)nwork);
}

static lapack_int orgqr(int64_t m, int64_t n, int64_t columns, double *a, const double *tau, double *work,
                        int64_t nwork) {
    return LAPACKE_dorgqr_work(LAPACK_COL_MAJOR, (lapack_int)m, (lapack_int)columns, (lapack_int)(m < n ? m : n), a,
                               (lapack_int)m, tau, work, (lapack_int)nwork);
}

void tn_i_lapack_qr_room(int64_t m, int64_t n, int64_t columns, tn_i_lapack_room *room) {
    double none = 0, factor = 0, make = 0;
    (void)geqrf(m, n, &none, &none, &factor, -1);
    (void)orgqr(m, n, columns, &none, &none, &make, -1);
    *room = (tn_i_lapack_room){at_least_one(factor > make ? factor : make), 0};
}

bool tn_i_lapack_geqrf(int64_t m, int64_t n, double *a, double *tau, const tn_i_lapack_room *room, double *work) {
    return geqrf(m, n, a, tau, work, room->work) == 0;
}

bool tn_i_lapack_orgqr(int64_t m, int64_t n, int64_t columns, double *a, const double *tau,
                       const tn_i_lapack_room *room, double *work) {
    return orgqr(m, n, columns, a, tau, work, room->work) == 0;
}

static lapack_int gesdd(bool full, int64_t m, int64_t n, double *a, double *s, double *u, double *vt, double *work,
                        int64_t nwork, int32_t *integers) {
    const int64_t rows = full || n < m ? n : m; /* of vt */
    return LAPACKE_dgesdd_work(LAPACK_COL_MAJOR, full ? 'A' : 'S', (lapack_int)m, (lapack_int)n, a, (lapack_int)m, s, u,
                               (lapack_int)m, vt, (lapack_int)rows, work, (lapack_int)nwork, integers);
}

void tn_i_lapack_gesdd_room(bool full, int64_t m, int64_t n, tn_i_lapack_room *room) {
    double told = 0, none = 0;
    int32_t integers = 0;
    (void)gesdd(full, m, n, &none, &none, &none, &none, &told, -1, &integers);
    *room = (tn_i_lapack_room){at_least_one(told), 8 * (m < n ? m : n)};
}

bool tn_i_lapack_gesdd(bool full, int64_t m, int64_t n, double *a, double *s, double *u, double *vt,
                       const tn_i_lapack_room *room, double *work, int32_t *integers) {
    return gesdd(full, m, n, a, s, u, vt, work, room->work, integers) == 0;
}

#else

bool tn_i_lapack_linked(void) { return false; }
const char *tn_i_lapack_version(void) { return "none"; }

void tn_i_lapack_syevd_room(bool lower, int64_t n, tn_i_lapack_room *room) {
    (void)lower, (void)n;
    *room = (tn_i_lapack_room){1, 1};
}

bool tn_i_lapack_syevd(bool lower, int64_t n, double *a, double *w, const tn_i_lapack_room *room, double *work,
                       int32_t *integers) {
    (void)lower, (void)n, (void)a, (void)w, (void)room, (void)work, (void)integers;
    return false;
}

void tn_i_lapack_geev_room(bool vectors, int64_t n, tn_i_lapack_room *room) {
    (void)vectors, (void)n;
    *room = (tn_i_lapack_room){1, 1};
}

bool tn_i_lapack_geev(bool vectors, int64_t n, double *a, double *re, double *im, double *v,
                      const tn_i_lapack_room *room, double *work) {
    (void)vectors, (void)n, (void)a, (void)re, (void)im, (void)v, (void)room, (void)work;
    return false;
}

void tn_i_lapack_gees_room(bool vectors, int64_t n, tn_i_lapack_room *room) {
    (void)vectors, (void)n;
    *room = (tn_i_lapack_room){1, 1};
}

bool tn_i_lapack_gees(bool vectors, int64_t n, double *a, double *re, double *im, double *q,
                      const tn_i_lapack_room *room, double *work) {
    (void)vectors, (void)n, (void)a, (void)re, (void)im, (void)q, (void)room, (void)work;
    return false;
}

void tn_i_lapack_qr_room(int64_t m, int64_t n, int64_t columns, tn_i_lapack_room *room) {
    (void)m, (void)n, (void)columns;
    *room = (tn_i_lapack_room){1, 1};
}

bool tn_i_lapack_geqrf(int64_t m, int64_t n, double *a, double *tau, const tn_i_lapack_room *room, double *work) {
    (void)m, (void)n, (void)a, (void)tau, (void)room, (void)work;
    return false;
}

bool tn_i_lapack_orgqr(int64_t m, int64_t n, int64_t columns, double *a, const double *tau,
                       const tn_i_lapack_room *room, double *work) {
    (void)m, (void)n, (void)columns, (void)a, (void)tau, (void)room, (void)work;
    return false;
}

void tn_i_lapack_gesdd_room(bool full, int64_t m, int64_t n, tn_i_lapack_room *room) {
    (void)full, (void)m, (void)n;
    *room = (tn_i_lapack_room){1, 1};
}

bool tn_i_lapack_gesdd(bool full, int64_t m, int64_t n, double *a, double *s, double *u, double *vt,
                       const tn_i_lapack_room *room, double *work, int32_t *integers) {
    (void)full, (void)m, (void)n, (void)a, (void)s, (void)u, (void)vt, (void)room, (void)work, (void)integers;
    return false;
}

#endif
