/* The links of one dtype and instruction set: included by the file of each, which is compiled for it (math_set.h says
 * why).  Before, the file defines SET, the end of the table's name; BYTES of a vector; REAL, an element; WHOLE, an
 * integer as wide; NARROW, whether that is of 4 bytes; FMA(x, y, z) and ROOT(x) of vectors; WIDEN and CUT, which move
 * parts of blocks; and CLEAR, which is due before code for vectors of 16 bytes runs again.
 *
 * A link ends in a call of the next one: compilers make a jump of it, so that vectors stay where they are.  Eight of
 * them are what calling conventions pass in registers. */
#define PASTE_(a, b) a##_##b
#define PASTE(a, b)  PASTE_(a, b)
#define NAME(x)      PASTE(x, SET)
#define VEC          NAME(vec)
#define BITS         NAME(bits)
#define LOOSE        NAME(loose)
#define LINK         NAME(link_fn)

typedef REAL VEC __attribute__((vector_size(BYTES)));
typedef WHOLE BITS __attribute__((vector_size(BYTES)));
typedef REAL LOOSE __attribute__((vector_size(BYTES), aligned(1), may_alias));
typedef void LINK(const tn_i_link *p, int64_t off, VEC, VEC, VEC, VEC, VEC, VEC, VEC, VEC);

/* What a link is handed, and how it ends. */
#define HEAD(name)                                                                                                  \
    static void NAME(name)(const tn_i_link *p, int64_t off, VEC a0, VEC a1, VEC a2, VEC a3, VEC a4, VEC a5, VEC a6, \
                           VEC a7)
#define NEXT ((LINK *)p[1].fn)(p + 1, off, a0, a1, a2, a3, a4, a5, a6, a7);

static inline VEC NAME(all)(REAL x) { return x - (VEC){0}; }
static inline VEC NAME(choose)(BITS m, VEC x, VEC y) { return (VEC)(((BITS)x & m) | ((BITS)y & ~m)); }
#define ALL    NAME(all)
#define CHOOSE NAME(choose)

/* Operands: dense (0), in a slot (1), one number (2). */
#define GET_X0   const char *x = p->x + off;
#define GET_Y0   const char *y = p->y + off;
#define GET_X1   const char *x = p->x;
#define GET_Y1   const char *y = p->y;
#define GET_X2   const VEC x = ALL(*(const REAL *)(const void *)p->x);
#define GET_Y2   const VEC y = ALL(*(const REAL *)(const void *)p->y);
#define AT(p, k) (*(LOOSE *)(uintptr_t)((p) + (k)*BYTES))
#define X0(k)    AT(x, k)
#define Y0(k)    AT(y, k)
#define X1(k)    AT(x, k)
#define Y1(k)    AT(y, k)
#define X2(k)    x
#define Y2(k)    y
#define NONE(k)  a0

#define EIGHT(E, X, Y)      \
    a0 = E(a0, X(0), Y(0)); \
    a1 = E(a1, X(1), Y(1)); \
    a2 = E(a2, X(2), Y(2)); \
    a3 = E(a3, X(3), Y(3)); \
    a4 = E(a4, X(4), Y(4)); \
    a5 = E(a5, X(5), Y(5)); \
    a6 = E(a6, X(6), Y(6)); \
    a7 = E(a7, X(7), Y(7));

#define OF_NONE(name, E)     \
    HEAD(name) {             \
        EIGHT(E, NONE, NONE) \
        NEXT                 \
    }
#define OF_ONE_KIND(name, kind, E) \
    HEAD(name##kind) { GET_X##kind EIGHT(E, X##kind, NONE) NEXT }
#define OF_ONE(name, E)     \
    OF_ONE_KIND(name, 0, E) \
    OF_ONE_KIND(name, 1, E) \
    OF_ONE_KIND(name, 2, E)
#define OF_TWO_KIND(name, i, j, E) \
    HEAD(name##i##j) { GET_X##i GET_Y##j EIGHT(E, X##i, Y##j) NEXT }
#define OF_TWO(name, E)        \
    OF_TWO_KIND(name, 0, 0, E) \
    OF_TWO_KIND(name, 0, 1, E) \
    OF_TWO_KIND(name, 0, 2, E) \
    OF_TWO_KIND(name, 1, 0, E) \
    OF_TWO_KIND(name, 1, 1, E) \
    OF_TWO_KIND(name, 1, 2, E) \
    OF_TWO_KIND(name, 2, 0, E) \
    OF_TWO_KIND(name, 2, 1, E) \
    OF_TWO_KIND(name, 2, 2, E)

/* ---- arithmetic ------------------------------------------------------------------------- */

#define DO_LOAD(a, x, y)    (x)
#define DO_NEG(a, x, y)     (-(a))
#define DO_ABS(a, x, y)     ((VEC)((BITS)(a) & ~(BITS)ALL((REAL)-0.0)))
#define DO_SQRT(a, x, y)    ((VEC)ROOT(a))
#define DO_TWICE(a, x, y)   ((a) + (a))
#define DO_SQUARE(a, x, y)  ((a) * (a))
#define DO_CUBE(a, x, y)    ((a) * ((a) * (a)))
#define DO_FOURTH(a, x, y)  (((a) * (a)) * ((a) * (a)))
#define DO_INVERSE(a, x, y) (ALL(1) / (a))
#define DO_ADD(a, x, y)     ((a) + (x))
#define DO_SUB(a, x, y)     ((a) - (x))
#define DO_RSUB(a, x, y)    ((x) - (a))
#define DO_MUL(a, x, y)     ((a) * (x))
#define DO_DIV(a, x, y)     ((a) / (x))
#define DO_RDIV(a, x, y)    ((x) / (a))
/* prims/extreme.c */
static inline VEC NAME(greater)(VEC x, VEC y) {
    const BITS first = (BITS)(x > y) | (BITS)(x != x), second = (BITS)(x < y) | (BITS)(y != y);
    return CHOOSE(first, x, CHOOSE(second | ((BITS)x < 0), y, x));
}
static inline VEC NAME(less)(VEC x, VEC y) {
    const BITS first = (BITS)(x < y) | (BITS)(x != x), second = (BITS)(x > y) | (BITS)(y != y);
    return CHOOSE(first, x, CHOOSE(second | ((BITS)x >= 0), y, x));
}
#define DO_MAX(a, x, y)         NAME(greater)(a, x)
#define DO_RMAX(a, x, y)        NAME(greater)(x, a)
#define DO_MIN(a, x, y)         NAME(less)(a, x)
#define DO_RMIN(a, x, y)        NAME(less)(x, a)
#define DO_SUM(a, x, y)         ((x) + (y))
#define DO_DIFFERENCE(a, x, y)  ((x) - (y))
#define DO_PRODUCT(a, x, y)     ((x) * (y))
#define DO_SQUARE_ADD(a, x, y)  ((VEC)FMA(a, a, x))
#define DO_SQUARE_SUB(a, x, y)  ((VEC)FMA(a, a, -(x)))
#define DO_SQUARE_RSUB(a, x, y) ((VEC)FMA(-(a), a, x))
#define DO_FMA(a, x, y)         ((VEC)FMA(a, x, y))
#define DO_FMS(a, x, y)         ((VEC)FMA(a, x, -(y)))
#define DO_FNMA(a, x, y)        ((VEC)FMA(-(a), x, y))
#define DO_FMA_TO(a, x, y)      ((VEC)FMA(x, y, a))
#define DO_FMS_TO(a, x, y)      ((VEC)FMA(x, y, -(a)))
#define DO_FNMA_TO(a, x, y)     ((VEC)FMA(-(x), y, a))

OF_ONE(load, DO_LOAD)
OF_NONE(neg, DO_NEG)
OF_NONE(absolute, DO_ABS)
OF_NONE(root, DO_SQRT)
OF_NONE(twice, DO_TWICE)
OF_NONE(square, DO_SQUARE)
OF_NONE(cube, DO_CUBE)
OF_NONE(fourth, DO_FOURTH)
OF_NONE(inverse, DO_INVERSE)
OF_ONE(add, DO_ADD)
OF_ONE(sub, DO_SUB)
OF_ONE(rsub, DO_RSUB)
OF_ONE(mul, DO_MUL)
OF_ONE(div, DO_DIV)
OF_ONE(rdiv, DO_RDIV)
OF_ONE(max, DO_MAX)
OF_ONE(rmax, DO_RMAX)
OF_ONE(min, DO_MIN)
OF_ONE(rmin, DO_RMIN)
OF_ONE(square_add, DO_SQUARE_ADD)
OF_ONE(square_sub, DO_SQUARE_SUB)
OF_ONE(square_rsub, DO_SQUARE_RSUB)
OF_TWO(sum, DO_SUM)
OF_TWO(difference, DO_DIFFERENCE)
OF_TWO(product, DO_PRODUCT)
OF_TWO(fma, DO_FMA)
OF_TWO(fms, DO_FMS)
OF_TWO(fnma, DO_FNMA)
OF_TWO(fma_to, DO_FMA_TO)
OF_TWO(fms_to, DO_FMS_TO)
OF_TWO(fnma_to, DO_FNMA_TO)

/* ---- memory ----------------------------------------------------------------------------- */

#define STORE(kind)                \
    HEAD(store##kind) {            \
        GET_X##kind AT(x, 0) = a0; \
        AT(x, 1) = a1;             \
        AT(x, 2) = a2;             \
        AT(x, 3) = a3;             \
        AT(x, 4) = a4;             \
        AT(x, 5) = a5;             \
        AT(x, 6) = a6;             \
        AT(x, 7) = a7;             \
        NEXT                       \
    }
STORE(0)
STORE(1)

enum { NAME(per) = BYTES / sizeof(REAL), NAME(lane_vectors) = TN_LANES / NAME(per) };

/* A block's worth of all bits, then as much of none. */
static const WHOLE NAME(mask)[16 * NAME(per)] = {
#define ONES8 -1, -1, -1, -1, -1, -1, -1, -1
    ONES8, ONES8,
#if BYTES >= 32 || NARROW
    ONES8, ONES8,
#endif
#if BYTES >= 64 || (BYTES >= 32 && NARROW)
    ONES8, ONES8, ONES8, ONES8,
#endif
#if BYTES >= 64 && NARROW
    ONES8, ONES8, ONES8, ONES8, ONES8, ONES8, ONES8, ONES8,
#endif
};

/* Adding -0 changes no number. */
#define PART(k)      a##k = CHOOSE((BITS)AT(mask, k), a##k, none);
#define ADD_LANES(k) l[(k) % NAME(lane_vectors)] += a##k;
#define ADD_ALL      ADD_LANES(0) ADD_LANES(1) ADD_LANES(2) ADD_LANES(3) ADD_LANES(4) ADD_LANES(5) ADD_LANES(6) ADD_LANES(7)

__attribute__((noinline)) static void NAME(fold_part)(const tn_i_link *p, int64_t off, VEC a0, VEC a1, VEC a2, VEC a3,
                                                      VEC a4, VEC a5, VEC a6, VEC a7) {
    const int64_t left = *(const int64_t *)(const void *)p->y - off;
    const char *x = p->x, *mask = (const char *)NAME(mask) + 8 * BYTES - left;
    const VEC none = ALL((REAL)-0.0);
    VEC l[NAME(lane_vectors)];
    PART(0)
    PART(1)
    PART(2) PART(3) PART(4) PART(5) PART(6) PART(7) for (int k = 0; k < NAME(lane_vectors); k++) l[k] = AT(x, k);
    ADD_ALL
    for (int k = 0; k < NAME(lane_vectors); k++) AT(x, k) = l[k];
}

HEAD(fold) {
    const char *x = p->x;
    const int64_t left = *(const int64_t *)(const void *)p->y - off;
    if (left < 8 * BYTES)
        NAME(fold_part)(p, off, a0, a1, a2, a3, a4, a5, a6, a7);
    else {
        VEC l[NAME(lane_vectors)];
        for (int k = 0; k < NAME(lane_vectors); k++) l[k] = AT(x, k);
        ADD_ALL
        for (int k = 0; k < NAME(lane_vectors); k++) AT(x, k) = l[k];
    }
    NEXT
}

HEAD(end) { (void)p, (void)off, (void)a0, (void)a1, (void)a2, (void)a3, (void)a4, (void)a5, (void)a6, (void)a7; }

static int64_t NAME(run)(const tn_i_link *first, int64_t from, int64_t bytes) {
    int64_t off = from;
    const VEC a = {0};
    for (; off + 8 * BYTES <= bytes; off += 8 * BYTES) ((LINK *)first->fn)(first, off, a, a, a, a, a, a, a, a);
    CLEAR
    return off;
}

#define FN(name) ((void (*)(void))NAME(name))
#define ROW_NONE(name) \
    {                  \
        { FN(name) }   \
    }
#define ROW_ONE(name)                                 \
    {                                                 \
        {FN(name##0)}, {FN(name##1)}, { FN(name##2) } \
    }
#define ROW_TWO(name)                                                                             \
    {                                                                                             \
        {FN(name##00), FN(name##01), FN(name##02)}, {FN(name##10), FN(name##11), FN(name##12)}, { \
            FN(name##20), FN(name##21), FN(name##22)                                              \
        }                                                                                         \
    }

const tn_i_chain_set PASTE(tn_i_chain, SET) = {
    .link = {[TN_LINK_LOAD] = ROW_ONE(load),
             [TN_LINK_STORE] = {{FN(store0)}, {FN(store1)}},
             [TN_LINK_FOLD] = ROW_NONE(fold),
             [TN_LINK_END] = ROW_NONE(end),
             [TN_LINK_NEG] = ROW_NONE(neg),
             [TN_LINK_ABS] = ROW_NONE(absolute),
             [TN_LINK_SQRT] = ROW_NONE(root),
             [TN_LINK_TWICE] = ROW_NONE(twice),
             [TN_LINK_SQUARE] = ROW_NONE(square),
             [TN_LINK_CUBE] = ROW_NONE(cube),
             [TN_LINK_FOURTH] = ROW_NONE(fourth),
             [TN_LINK_INVERSE] = ROW_NONE(inverse),
             [TN_LINK_ADD] = ROW_ONE(add),
             [TN_LINK_SUB] = ROW_ONE(sub),
             [TN_LINK_RSUB] = ROW_ONE(rsub),
             [TN_LINK_MUL] = ROW_ONE(mul),
             [TN_LINK_DIV] = ROW_ONE(div),
             [TN_LINK_RDIV] = ROW_ONE(rdiv),
             [TN_LINK_MAX] = ROW_ONE(max),
             [TN_LINK_RMAX] = ROW_ONE(rmax),
             [TN_LINK_MIN] = ROW_ONE(min),
             [TN_LINK_RMIN] = ROW_ONE(rmin),
             [TN_LINK_SUM] = ROW_TWO(sum),
             [TN_LINK_DIFFERENCE] = ROW_TWO(difference),
             [TN_LINK_PRODUCT] = ROW_TWO(product),
             [TN_LINK_SQUARE_ADD] = ROW_ONE(square_add),
             [TN_LINK_SQUARE_SUB] = ROW_ONE(square_sub),
             [TN_LINK_SQUARE_RSUB] = ROW_ONE(square_rsub),
             [TN_LINK_FMA] = ROW_TWO(fma),
             [TN_LINK_FMS] = ROW_TWO(fms),
             [TN_LINK_FNMA] = ROW_TWO(fnma),
             [TN_LINK_FMA_TO] = ROW_TWO(fma_to),
             [TN_LINK_FMS_TO] = ROW_TWO(fms_to),
             [TN_LINK_FNMA_TO] = ROW_TWO(fnma_to)},
    .run = NAME(run),
    .widen = WIDEN,
    .narrow = CUT,
    .block = 8 * BYTES,
};

#undef SET
#undef REAL
#undef WHOLE
#undef FMA
#undef NARROW
#undef ROOT
