/* Kernels of small products, for the REAL, VEC and instructions of the file that includes this: tiles of c in
 * registers, a row of b at a time, each element of a spread over a vector. */

/* `full`: the last vector is a whole one, which needs no mask. */
INLINE void NAME(tile)(int rows, int vectors, bool full, const tn_i_tile *t) {
    const REAL *a = t->a, *b = t->b;
    REAL *c = t->c;
    const int64_t k = t->k, ars = t->ars, acs = t->acs, brs = t->brs, crs = t->crs;
    const int whole = vectors - 1, rest = (int)t->width - whole * LANES;
    const MASK mask = FIRST(rest);
    for (int64_t i = 0; i < t->count; i++, a += t->anext, b += t->bnext, c += t->cnext) {
        VEC sum[TN_TILE_ROWS][TN_TILE_VECTORS];
        int64_t down = crs, up = ars;
        HIDE(down);
        HIDE(up);
        UNROLL for (int r = 0; r < rows; r++) UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = ZERO();
        if (t->accumulate) UNROLL for (int r = 0; r < rows; r++) {
                UNROLL for (int v = 0; v < whole; v++) sum[r][v] = LOAD(c + r * down + v * LANES);
                const REAL *const last = c + r * down + whole * LANES;
                sum[r][whole] = full ? LOAD(last) : LOAD_SOME(last, mask);
            }
        const REAL *x = a, *y = b;
        for (int64_t p = 0; p < k; p++, x += acs, y += brs) {
            VEC row[TN_TILE_VECTORS];
            UNROLL for (int v = 0; v < whole; v++) row[v] = LOAD(y + v * LANES);
            row[whole] = full ? LOAD(y + whole * LANES) : LOAD_SOME(y + whole * LANES, mask);
            UNROLL for (int r = 0; r < rows; r++) {
                const VEC factor = SPREAD(x[r * up]);
                UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = MULADD(factor, row[v], sum[r][v]);
            }
        }
        UNROLL for (int r = 0; r < rows; r++) {
            UNROLL for (int v = 0; v < whole; v++) STORE(c + r * down + v * LANES, sum[r][v]);
            if (full)
                STORE(c + r * down + whole * LANES, sum[r][whole]);
            else
                STORE_SOME(c + r * down + whole * LANES, mask, sum[r][whole]);
        }
    }
}

/* Elements of a through offsets; rows of b are whole vectors. */
INLINE void NAME(indirect)(int rows, int vectors, const tn_i_tile *t) {
    const REAL *x[TN_TILE_ROWS], *y = t->b;
    REAL *const c = t->c;
    const int64_t k = t->k, brs = t->brs, crs = t->crs, *const inner = t->inner;
    const int whole = vectors - 1;
    const MASK mask = FIRST((int)t->width - whole * LANES);
    VEC sum[TN_TILE_ROWS][TN_TILE_VECTORS];
    UNROLL for (int r = 0; r < rows; r++) x[r] = (const REAL *)t->a + t->row[r];
    UNROLL for (int r = 0; r < rows; r++) UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = ZERO();
    if (t->accumulate) UNROLL for (int r = 0; r < rows; r++) {
            UNROLL for (int v = 0; v < whole; v++) sum[r][v] = LOAD(c + r * crs + v * LANES);
            sum[r][whole] = LOAD_SOME(c + r * crs + whole * LANES, mask);
        }
    for (int64_t p = 0; p < k; p++, y += brs) {
        const int64_t at = inner[p];
        VEC row[TN_TILE_VECTORS];
        UNROLL for (int v = 0; v < vectors; v++) row[v] = LOAD(y + v * LANES);
        UNROLL for (int r = 0; r < rows; r++) {
            const VEC factor = SPREAD(x[r][at]);
            UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = MULADD(factor, row[v], sum[r][v]);
        }
    }
    UNROLL for (int r = 0; r < rows; r++) {
        UNROLL for (int v = 0; v < whole; v++) STORE(c + r * crs + v * LANES, sum[r][v]);
        STORE_SOME(c + r * crs + whole * LANES, mask, sum[r][whole]);
    }
}

#define TILE(rows, vectors)                                                                                   \
    TARGET static void NAME(tile##rows##vectors)(const tn_i_tile *t) { NAME(tile)(rows, vectors, false, t); } \
    TARGET static void NAME(full##rows##vectors)(const tn_i_tile *t) { NAME(tile)(rows, vectors, true, t); }  \
    TARGET static void NAME(indirect##rows##vectors)(const tn_i_tile *t) { NAME(indirect)(rows, vectors, t); }
#define TILES(rows) TILE(rows, 1) TILE(rows, 2) TILE(rows, 3)
TILES(1)
TILES(2)
TILES(3)
TILES(4)
#if TALLEST == 8
TILES(8)
#else
TILE(6, 1)
TILE(6, 2)
TILE(8, 1)
#endif

TARGET static void NAME(clear)(int64_t m, int64_t n, bool left, void *c, int64_t crs) {
    REAL *row = c;
    for (int64_t i = 0; i < m; i++, row += crs) {
        const int64_t upto = left ? (i < n ? i : n) : n;
        int64_t j = left ? 0 : i + 1;
        for (; j + LANES <= upto; j += LANES) STORE(row + j, ZERO());
        if (j < upto) STORE_SOME(row + j, FIRST((int)(upto - j)), ZERO());
    }
}

TARGET static void NAME(turn)(int64_t rows, int64_t columns, const void *from, int64_t rs, void *to, int64_t ld) {
    const REAL *x = from;
    REAL *y = to;
    const int64_t upto = columns - columns % BLOCK;
    int64_t i = 0;
    for (; i + BLOCK <= rows; i += BLOCK)
        for (int64_t j = 0; j < upto; j += BLOCK) TURN(x + i + j * rs, rs, y + i * ld + j, ld);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t j = r < i ? upto : 0; j < columns; j++) y[r * ld + j] = x[r + j * rs];
}

INLINE void NAME(copy)(const REAL *from, int64_t rs, REAL *to, int64_t ld) {
    UNROLL for (int i = 0; i < SQUARE; i++) {
        if (SQUARE == LANES)
            STORE(to + i * ld, LOAD(from + i * rs));
        else
            STORE_SOME(to + i * ld, FIRST(SQUARE), LOAD_SOME(from + i * rs, FIRST(SQUARE)));
    }
}

/* Squares beside the diagonal go to two places; those on it are put together of both halves; columns that are left over
 * go one by one. */
TARGET static void NAME(mirror)(int64_t n, bool lower, const void *from, int64_t rs, void *to) {
    const REAL *x = from;
    REAL *y = to, other[SQUARE * SQUARE];
    const int64_t upto = n - n % SQUARE, down = lower ? rs : 1, right = lower ? 1 : rs;
    for (int64_t i = 0; i < upto; i += SQUARE) {
        const REAL *corner = x + i * (rs + 1), *half = lower ? corner : other;
        const int64_t next = lower ? rs : SQUARE;
        if (lower)
            TURN_SQUARE(corner, rs, y + i * (n + 1), n);
        else {
            TURN_SQUARE(corner, rs, other, SQUARE);
            if (x != y) NAME(copy)(corner, rs, y + i * (n + 1), n);
        }
        UNROLL for (int r = 1; r < SQUARE; r++)
            STORE_SOME(y + (i + r) * n + i, FIRST(r), LOAD_SOME(half + r * next, FIRST(r)));
        for (int64_t j = i + SQUARE; j < upto; j += SQUARE) {
            const REAL *square = x + i * right + j * down;
            REAL *above = y + i * n + j, *below = y + j * n + i;
            if (x != y) NAME(copy)(square, rs, lower ? below : above, n);
            TURN_SQUARE(square, rs, lower ? above : below, n);
        }
    }
    for (int64_t j = upto; j < n; j++)
        for (int64_t i = 0; i <= j; i++) y[i * n + j] = y[j * n + i] = x[i * right + j * down];
}

/* ---- matrix times vector ---------------------------------------------------------- */

/* Of every four lines the first two: the processor goes on from there by itself, and fetching all would keep so many of
 * its buffers busy that nothing was gained. */
INLINE void NAME(fetch)(uintptr_t from, int bytes) {
    UNROLL for (int at = 0; at < bytes; at += 256) {
        _mm_prefetch((const char *)(from + (uintptr_t)at), _MM_HINT_T1);
        _mm_prefetch((const char *)(from + (uintptr_t)at + 64), _MM_HINT_T1);
    }
}

/* y += some rows, each times its factor, which are summed first: y is read and written once for them. */
INLINE void NAME(add)(int rows, int64_t n, const REAL *x, int64_t xs, const REAL *b, int64_t brs, bool accumulate,
                      REAL *y, uintptr_t ahead) {
    VEC factor[TN_EIGHT];
    UNROLL for (int r = 0; r < rows; r++) factor[r] = SPREAD(x[r * xs]);
    int64_t j = 0;
    for (; j + LANES <= n; j += LANES) {
        VEC sum = ZERO();
        UNROLL for (int r = 0; r < rows; r++) sum = MULADD(factor[r], LOAD(b + r * brs + j), sum);
        STORE(y + j, accumulate ? ADD(LOAD(y + j), sum) : sum);
        if (ahead) NAME(fetch)(ahead + (uintptr_t)(j * rows) * sizeof *y, rows * LANES * (int)sizeof *y);
    }
    if (j == n) return;
    const MASK mask = FIRST((int)(n - j));
    VEC sum = ZERO();
    UNROLL for (int r = 0; r < rows; r++) sum = MULADD(factor[r], LOAD_SOME(b + r * brs + j, mask), sum);
    STORE_SOME(y + j, mask, accumulate ? ADD(LOAD_SOME(y + j, mask), sum) : sum);
}

/* Part of y stays in the first cache while all rows pass. */
TARGET static void NAME(add_rows)(int64_t k, int64_t n, const void *x, int64_t xs, const void *b, int64_t brs,
                                  bool accumulate, void *y, uintptr_t ahead) {
    enum { PART = TN_M_GEMM_ROWS_BYTES / (int)sizeof(REAL) };
    for (int64_t j = 0; j < n; j += PART) {
        const int64_t part = n - j < PART ? n - j : PART;
        const REAL *row = (const REAL *)b + j, *factor = x;
        REAL *to = (REAL *)y + j;
        int64_t p = 0;
        for (; p + TN_EIGHT <= k; p += TN_EIGHT) {
            NAME(add)(TN_EIGHT, part, factor + p * xs, xs, row + p * brs, brs, accumulate || p, to, ahead);
            if (ahead) ahead += TN_EIGHT * (uintptr_t)part * sizeof *to;
        }
        for (; p < k; p++) NAME(add)(1, part, factor + p * xs, xs, row + p * brs, brs, accumulate || p, to, 0);
    }
}

/* Some columns times x: `ways` vectors of partial sums each, added in pairs, then halves of the lanes. */
INLINE void NAME(dot)(int columns, int ways, int64_t k, const REAL *x, const REAL *b, int64_t bcs, bool accumulate,
                      REAL *y, int64_t ys) {
    VEC sum[4][8];
    UNROLL for (int c = 0; c < columns; c++) UNROLL for (int w = 0; w < ways; w++) sum[c][w] = ZERO();
    int64_t p = 0;
    for (; p + ways * LANES <= k; p += ways * LANES) UNROLL for (int w = 0; w < ways; w++) {
            const VEC factor = LOAD(x + p + w * LANES);
            UNROLL for (int c = 0; c < columns; c++) sum[c][w] =
                MULADD(factor, LOAD(b + c * bcs + p + w * LANES), sum[c][w]);
        }
    for (; p + LANES <= k; p += LANES) {
        const VEC factor = LOAD(x + p);
        UNROLL for (int c = 0; c < columns; c++) sum[c][0] = MULADD(factor, LOAD(b + c * bcs + p), sum[c][0]);
    }
    if (p < k) {
        const MASK mask = FIRST((int)(k - p));
        const VEC factor = LOAD_SOME(x + p, mask);
        UNROLL for (int c = 0; c < columns; c++) sum[c][0] =
            MULADD(factor, LOAD_SOME(b + c * bcs + p, mask), sum[c][0]);
    }
    UNROLL for (int c = 0; c < columns; c++) UNROLL for (int half = ways / 2; half > 0; half /= 2)
        UNROLL for (int w = 0; w < half; w++) sum[c][w] = ADD(sum[c][w], sum[c][w + half]);
#ifdef REDUCE4
    if (columns == 4 && ys == 1 && !accumulate) {
        REDUCE4(sum[0][0], sum[1][0], sum[2][0], sum[3][0], y);
        return;
    }
#endif
    UNROLL for (int c = 0; c < columns; c++) {
        const REAL total = REDUCE(sum[c][0]);
        y[c * ys] = accumulate ? y[c * ys] + total : total;
    }
}

/* Each column's order of additions is the same, wherever it stands. */
TARGET static void NAME(dots)(int64_t k, int64_t n, const void *x, const void *b, int64_t bcs, bool accumulate, void *y,
                              int64_t ys) {
    const REAL *column = b;
    REAL *to = y;
    int64_t j = 0;
    if (k < WAYS * LANES) { /* one vector of sums has all */
        for (; j + 4 <= n; j += 4) NAME(dot)(4, 1, k, x, column + j * bcs, bcs, accumulate, to + j * ys, ys);
        for (; j < n; j++) NAME(dot)(1, 1, k, x, column + j * bcs, bcs, accumulate, to + j * ys, ys);
        return;
    }
    for (; j + 4 <= n; j += 4) NAME(dot)(4, WAYS, k, x, column + j * bcs, bcs, accumulate, to + j * ys, ys);
    for (; j < n; j++) NAME(dot)(1, WAYS, k, x, column + j * bcs, bcs, accumulate, to + j * ys, ys);
}

/* Two vectors and two columns: as many sums as of one vector and four. */
INLINE void NAME(dot_two)(int columns, int ways, int64_t k, const REAL *const x[2], const REAL *b, int64_t bcs,
                          int64_t j, void *const y[2]) {
    VEC sum[2][2][WAYS];
    UNROLL for (int q = 0; q < 2; q++) UNROLL for (int c = 0; c < columns; c++) UNROLL for (int w = 0; w < ways; w++)
        sum[q][c][w] = ZERO();
    int64_t p = 0;
    for (; ways > 1 && p + ways * LANES <= k; p += ways * LANES) UNROLL for (int w = 0; w < ways; w++) {
            const VEC one = LOAD(x[0] + p + w * LANES), other = LOAD(x[1] + p + w * LANES);
            UNROLL for (int c = 0; c < columns; c++) {
                const VEC column = LOAD(b + c * bcs + p + w * LANES);
                sum[0][c][w] = MULADD(one, column, sum[0][c][w]);
                sum[1][c][w] = MULADD(other, column, sum[1][c][w]);
            }
        }
    for (; p < k; p += LANES) {
        const MASK mask = FIRST(k - p < LANES ? (int)(k - p) : LANES);
        const VEC one = LOAD_SOME(x[0] + p, mask), other = LOAD_SOME(x[1] + p, mask);
        UNROLL for (int c = 0; c < columns; c++) {
            const VEC column = LOAD_SOME(b + c * bcs + p, mask);
            sum[0][c][0] = MULADD(one, column, sum[0][c][0]);
            sum[1][c][0] = MULADD(other, column, sum[1][c][0]);
        }
    }
    UNROLL for (int q = 0; q < 2; q++) UNROLL for (int c = 0; c < columns; c++) {
        UNROLL for (int half = ways / 2; half > 0; half /= 2) UNROLL for (int w = 0; w < half; w++) sum[q][c][w] =
            ADD(sum[q][c][w], sum[q][c][w + half]);
        ((REAL *)y[q])[j + c] = REDUCE(sum[q][c][0]);
    }
}

TARGET static void NAME(dots_of_two)(int64_t k, int64_t n, const void *const x[2], const void *b, int64_t bcs,
                                     void *const y[2]) {
    const REAL *const vector[2] = {x[0], x[1]}, *column = b;
    int64_t j = 0;
    if (k < WAYS * LANES) {
        for (; j + 2 <= n; j += 2) NAME(dot_two)(2, 1, k, vector, column + j * bcs, bcs, j, y);
        for (; j < n; j++) NAME(dot_two)(1, 1, k, vector, column + j * bcs, bcs, j, y);
        return;
    }
    for (; j + 2 <= n; j += 2) NAME(dot_two)(2, WAYS, k, vector, column + j * bcs, bcs, j, y);
    for (; j < n; j++) NAME(dot_two)(1, WAYS, k, vector, column + j * bcs, bcs, j, y);
}

/* Row after row: every line of c is written once, in order; products are added to 0, as in tiles. */
TARGET static void NAME(outer)(int64_t m, int64_t n, const void *x, int64_t xs, const void *b, void *c, int64_t crs) {
    const REAL *row = b, *factor = x;
    const MASK mask = FIRST((int)(n % LANES));
    for (int64_t i = 0; i < m; i++) {
        REAL *to = (REAL *)c + i * crs;
        const VEC y = SPREAD(factor[i * xs]);
        int64_t j = 0;
        for (; j + LANES <= n; j += LANES) STORE(to + j, MULADD(y, LOAD(row + j), ZERO()));
        if (j < n) STORE_SOME(to + j, mask, MULADD(y, LOAD_SOME(row + j, mask), ZERO()));
    }
}

#define ROW_OF_TILES(kind, rows) [rows] = {NULL, NAME(kind##rows##1), NAME(kind##rows##2), NAME(kind##rows##3)}
#define LOW_TILES(kind)          ROW_OF_TILES(kind, 1), ROW_OF_TILES(kind, 2), ROW_OF_TILES(kind, 3), ROW_OF_TILES(kind, 4)
#if TALLEST == 8
#define HEIGHTS \
    { 0, 8, 8, 8 }
#define ALL_TILES(kind) \
    { LOW_TILES(kind), ROW_OF_TILES(kind, 8) }
#else /* half as many registers */
#define HEIGHTS \
    { 0, 8, 6, 4 }
#define ALL_TILES(kind)                                                                               \
    {                                                                                                 \
        LOW_TILES(kind), [6] = {NULL, NAME(kind##61), NAME(kind##62)}, [8] = { NULL, NAME(kind##81) } \
    }
#endif
static const tn_i_small NAME(table) = {
    .lanes = LANES,
    .rows = HEIGHTS,
    .tile = ALL_TILES(tile),
    .full = ALL_TILES(full),
    .indirect = ALL_TILES(indirect),
    .clear = NAME(clear),
    .turn = NAME(turn),
    .mirror = NAME(mirror),
    .add_rows = NAME(add_rows),
    .dots = NAME(dots),
    .dots_of_two = NAME(dots_of_two),
    .outer = NAME(outer),
};

#undef ROW_OF_TILES
#undef LOW_TILES
#undef HEIGHTS
#undef ALL_TILES
#undef TILES
#undef TILE
#undef NAME
#undef REAL
#undef VEC
#undef LANES
#undef MASK
#undef FIRST
#undef ZERO
#undef LOAD
#undef LOAD_SOME
#undef STORE
#undef STORE_SOME
#undef SPREAD
#undef MULADD
#undef ADD
#undef MUL
#undef BLOCK
#undef TURN
#undef SQUARE
#undef TURN_SQUARE
#undef WAYS
#undef REDUCE
#undef REDUCE4
