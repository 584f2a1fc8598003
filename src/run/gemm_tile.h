/* A micro-kernel of BLIS 0.9, written once: c = beta c + alpha a b for packed panels a (MR x k, by columns) and b
 * (k x NR, by rows).  gemm_context.c includes this for each dtype and instruction set, with TILE (the function's name),
 * REAL, VEC, LANES, MV (vectors in a column: MR = MV LANES), NR, the instructions, and BLIS_CALLS
 * (attributes of what BLIS calls).
 *
 * At the edges of c there are fewer rows and columns than in the panels: whole vectors of rows, or where a column is
 * one vector columns by eights, are left out.  An element's sum is the same in every tile. */

#define MR         (MV * LANES)
#define JOIN(a, b) a##b
#define SOME_OF(a) JOIN(a, _some)

TARGET static inline __attribute__((always_inline)) void SOME_OF(TILE)(int vectors, int columns, dim_t m, dim_t n,
                                                                       dim_t k, const REAL *alpha, const REAL *a,
                                                                       const REAL *b, const REAL *beta, REAL *c,
                                                                       inc_t rs, inc_t cs) {
    VEC sum[NR][MV];
    UNROLL for (int j = 0; j < columns; j++) UNROLL for (int v = 0; v < vectors; v++) sum[j][v] = ZERO();
    for (dim_t p = 0; p < k; p++, a += MR, b += NR) {
        /* c is fetched in the last steps: earlier its columns, often a power of two apart, would be gone again */
        const dim_t column = p + n - k;
        if (column >= 0) {
            __builtin_prefetch(c + column * cs, 1);
            __builtin_prefetch(c + column * cs + (m - 1) * rs, 1);
        }
        VEC x[MV];
        UNROLL for (int v = 0; v < vectors; v++) x[v] = LOAD(a + v * LANES);
        UNROLL for (int j = 0; j < columns; j++) {
            const VEC y = SPREAD(b[j]);
            UNROLL for (int v = 0; v < vectors; v++) sum[j][v] = MULADD(x[v], y, sum[j][v]);
        }
    }
    const VEC scale = SPREAD(*alpha), keep = SPREAD(*beta);
    UNROLL for (int j = 0; j < columns; j++) UNROLL for (int v = 0; v < vectors; v++) sum[j][v] = MUL(sum[j][v], scale);
    if (m == vectors * LANES && rs == 1) {
        const bool overwrite = *beta == 0;
        UNROLL for (int j = 0; j < columns; j++) {
            if (j >= n) return;
            UNROLL for (int v = 0; v < vectors; v++) {
                REAL *to = c + j * cs + v * LANES;
                STORE(to, overwrite ? sum[j][v] : ADD(MUL(LOAD(to), keep), sum[j][v]));
            }
        }
        return;
    }
    REAL whole[NR * MR];
    UNROLL for (int j = 0; j < columns; j++) UNROLL for (int v = 0; v < vectors; v++)
        STORE(whole + j * MR + v * LANES, sum[j][v]);
    for (dim_t j = 0; j < n; j++)
        for (dim_t i = 0; i < m; i++) {
            REAL *to = c + i * rs + j * cs;
            *to = *beta == 0 ? whole[j * MR + i] : *to * *beta + whole[j * MR + i];
        }
}

BLIS_CALLS TARGET static void TILE(dim_t m, dim_t n, dim_t k, REAL *restrict alpha, REAL *restrict a, REAL *restrict b,
                                   REAL *restrict beta, REAL *restrict c, inc_t rs, inc_t cs, auxinfo_t *data,
                                   cntx_t *context) {
    enum { BY = MV == 1 ? 8 : LANES, ONE = MV == 1 ? 8 : NR, TWO = MV == 1 ? 16 : NR };
    (void)data, (void)context;
    switch (((MV == 1 ? n : m) + BY - 1) / BY) {
    case 1: SOME_OF(TILE)(1, ONE, m, n, k, alpha, a, b, beta, c, rs, cs); break;
    case 2: SOME_OF(TILE)(MV == 1 ? 1 : 2, TWO, m, n, k, alpha, a, b, beta, c, rs, cs); break;
    default: SOME_OF(TILE)(MV, NR, m, n, k, alpha, a, b, beta, c, rs, cs); break;
    }
}

#undef JOIN
#undef SOME_OF
#undef TILE
#undef REAL
#undef VEC
#undef LANES
#undef MV
#undef NR
#undef MR
#undef TARGET
#undef ZERO
#undef LOAD
#undef STORE
#undef SPREAD
#undef MUL
#undef ADD
#undef MULADD
