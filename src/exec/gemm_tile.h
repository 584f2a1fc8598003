/* A micro-kernel of BLIS 0.9, written once: c = beta c + alpha a b for packed panels a (MR x k, by columns) and b
 * (k x NR, by rows).  gemm_context.c includes this for each dtype and instruction set, with TILE (the function's name),
 * REAL, VEC, LANES, MV (vectors in a column: MR = MV LANES), NR, and the instructions. */

#define MR (MV * LANES)

TARGET static void TILE(dim_t m, dim_t n, dim_t k, REAL *restrict alpha, REAL *restrict a, REAL *restrict b,
                        REAL *restrict beta, REAL *restrict c, inc_t rs, inc_t cs, auxinfo_t *data, cntx_t *context) {
    VEC sum[NR][MV];
    (void)data, (void)context;
    UNROLL for (int j = 0; j < NR; j++) UNROLL for (int v = 0; v < MV; v++) sum[j][v] = ZERO();
    for (dim_t p = 0; p < k; p++, a += MR, b += NR) {
        /* c is fetched in the last steps: earlier its columns, often a power of two apart, would be gone again */
        const dim_t column = p + n - k;
        if (column >= 0) {
            __builtin_prefetch(c + column * cs, 1);
            __builtin_prefetch(c + column * cs + (m - 1) * rs, 1);
        }
        VEC x[MV];
        UNROLL for (int v = 0; v < MV; v++) x[v] = LOAD(a + v * LANES);
        UNROLL for (int j = 0; j < NR; j++) {
            const VEC y = SPREAD(b[j]);
            UNROLL for (int v = 0; v < MV; v++) sum[j][v] = MULADD(x[v], y, sum[j][v]);
        }
    }
    const VEC scale = SPREAD(*alpha), keep = SPREAD(*beta);
    UNROLL for (int j = 0; j < NR; j++) UNROLL for (int v = 0; v < MV; v++) sum[j][v] = MUL(sum[j][v], scale);
    if (m == MR && n == NR && rs == 1) {
        const bool overwrite = *beta == 0;
        UNROLL for (int j = 0; j < NR; j++) UNROLL for (int v = 0; v < MV; v++) {
            REAL *to = c + j * cs + v * LANES;
            STORE(to, overwrite ? sum[j][v] : ADD(MUL(LOAD(to), keep), sum[j][v]));
        }
        return;
    }
    REAL whole[NR * MR];
    UNROLL for (int j = 0; j < NR; j++) UNROLL for (int v = 0; v < MV; v++)
        STORE(whole + j * MR + v * LANES, sum[j][v]);
    for (dim_t j = 0; j < n; j++)
        for (dim_t i = 0; i < m; i++) {
            REAL *to = c + i * rs + j * cs;
            *to = *beta == 0 ? whole[j * MR + i] : *to * *beta + whole[j * MR + i];
        }
}

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
