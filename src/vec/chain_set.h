/* The links of one dtype and instruction set: included by the file of each, which is compiled for it (math_set.h says
 * why).  Before, the file defines SET, the end of the table's name; BYTES of a vector; WIDTH, the vectors of a block, 4
 * or 8; REAL, an element; WHOLE, an integer as wide; ROOT(x) of vectors; FMA(x, y, z) of vectors, or, if there is no
 * instruction for it, CONTRACT(x, y, z) of elements; WIDEN and CUT, which move parts of blocks; and CLEAR, which is due
 * before code for vectors of 16 bytes runs again.
 *
 * All links are places in one function, so that the vectors of the three registers are variables of it, which the
 * compiler keeps in registers of the processor throughout; a link ends in a jump to the next one. */
#define PASTE_(a, b) a##_##b
#define PASTE(a, b)  PASTE_(a, b)
#define NAME(x)      PASTE(x, SET)
#define VEC          NAME(vec)
#define BITS         NAME(bits)
#define LOOSE        NAME(loose)

typedef REAL VEC __attribute__((vector_size(BYTES)));
typedef WHOLE BITS __attribute__((vector_size(BYTES)));
typedef REAL LOOSE __attribute__((vector_size(BYTES), aligned(1), may_alias));

static inline VEC NAME(all)(REAL x) { return x - (VEC){0}; }
static inline VEC NAME(choose)(BITS m, VEC x, VEC y) { return (VEC)(((BITS)x & m) | ((BITS)y & ~m)); }
#define ALL    NAME(all)
#define CHOOSE NAME(choose)

/* ---- arithmetic ------------------------------------------------------------------------- */

#define DO_LOAD(r)    (r)
#define DO_NEG(r)     (-(r))
#define DO_ABS(r)     ((VEC)((BITS)(r) & ~(BITS)ALL((REAL)-0.0)))
#define DO_SQRT(r)    ((VEC)ROOT(r))
#define DO_CUBE(r)    ((r) * ((r) * (r)))
#define DO_FOURTH(r)  (((r) * (r)) * ((r) * (r)))
#define DO_INVERSE(r) (ALL(1) / (r))
#define DO_ADD(r, s)  ((r) + (s))
#define DO_SUB(r, s)  ((r) - (s))
#define DO_MUL(r, s)  ((r) * (s))
#define DO_DIV(r, s)  ((r) / (s))
/* prims/extreme.c */
static inline VEC NAME(greater)(VEC x, VEC y) {
    const BITS first = (BITS)(x > y) | (BITS)(x != x), second = (BITS)(x < y) | (BITS)(y != y);
    return CHOOSE(first, x, CHOOSE(second | ((BITS)x < 0), y, x));
}
static inline VEC NAME(less)(VEC x, VEC y) {
    const BITS first = (BITS)(x < y) | (BITS)(x != x), second = (BITS)(x > y) | (BITS)(y != y);
    return CHOOSE(first, x, CHOOSE(second | ((BITS)x >= 0), y, x));
}
#define DO_MAX(r, s)     NAME(greater)(r, s)
#define DO_MIN(r, s)     NAME(less)(r, s)
#define DO_FMA(r, s, t)  ((VEC)FMA(r, s, t))
#define DO_FMS(r, s, t)  ((VEC)FMA(r, s, -(t)))
#define DO_FNMA(r, s, t) ((VEC)FMA(-(r), s, t))

/* ---- the forms of links ------------------------------------------------------------------ */

/* Vector k of an operand: of registers A, B and C, in memory (M), one number (N). */
#define V_A(k)   A##k
#define V_B(k)   B##k
#define V_C(k)   C##k
#define V_M(k)   AT(x, k)
#define V_N(k)   number
#define AT(x, k) (*(LOOSE *)(uintptr_t)((x) + (k)*BYTES))
#define GET_A
#define GET_B
#define GET_C
#define GET_M const char *x = p->x + (off & p->moves);
#define GET_N const VEC number = ALL(*(const REAL *)(const void *)p->x);

#if WIDTH == 8
#define EACH(F) F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7)
#else
#define EACH(F) F(0) F(1) F(2) F(3)
#endif
#define NEXT \
    p++;     \
    goto * p->to;

/* G(op, d, r, ...) of each form; to all registers d. */
#define TO(G, ...)             G(__VA_ARGS__, A) G(__VA_ARGS__, B) G(__VA_ARGS__, C)
#define EACH_REGISTER(F, ...)  F(__VA_ARGS__, A) F(__VA_ARGS__, B) F(__VA_ARGS__, C)
#define FORMS_LOAD(G, op)      TO(G, op, M) TO(G, op, N)
#define FORMS_ONE(G, op)       TO(G, op, A) TO(G, op, B) TO(G, op, C)
#define FORMS_SQUARES(G, op)   TO(G, op, A, A) TO(G, op, B, B) TO(G, op, C, C)
#define FORMS_PAIRS(G, op)     TO(G, op, A, B) TO(G, op, A, C) TO(G, op, B, C)
#define FORMS_REVERSED(G, op)  TO(G, op, B, A) TO(G, op, C, A) TO(G, op, C, B)
#define FORMS_WITH(G, op, s)   TO(G, op, A, s) TO(G, op, B, s) TO(G, op, C, s)
#define FORMS_OF(G, op, r)     TO(G, op, r, A) TO(G, op, r, B) TO(G, op, r, C)
#define FORMS_EVEN(G, op)      FORMS_SQUARES(G, op) FORMS_PAIRS(G, op) FORMS_WITH(G, op, M) FORMS_WITH(G, op, N)
#define FORMS_REGISTERS(G, op) FORMS_SQUARES(G, op) FORMS_PAIRS(G, op) FORMS_REVERSED(G, op)
#define FORMS_ANY(G, op)       FORMS_EVEN(G, op) FORMS_REVERSED(G, op) FORMS_OF(G, op, M) FORMS_OF(G, op, N)
#define FORMS_FACTORS(G, op, t) \
    TO(G, op, A, A, t) TO(G, op, B, B, t) TO(G, op, C, C, t) TO(G, op, A, B, t) TO(G, op, A, C, t) TO(G, op, B, C, t)
#define FORMS_TIMES(G, op, t) \
    TO(G, op, A, M, t) TO(G, op, B, M, t) TO(G, op, C, M, t) TO(G, op, A, N, t) TO(G, op, B, N, t) TO(G, op, C, N, t)
#define FORMS_THREE(G, op)  \
    FORMS_FACTORS(G, op, A) \
    FORMS_FACTORS(G, op, B) \
    FORMS_FACTORS(G, op, C) \
    FORMS_FACTORS(G, op, M) FORMS_FACTORS(G, op, N) FORMS_TIMES(G, op, A) FORMS_TIMES(G, op, B) FORMS_TIMES(G, op, C)

#define ALL_ONES(G)     \
    FORMS_LOAD(G, LOAD) \
    FORMS_ONE(G, NEG) FORMS_ONE(G, ABS) FORMS_ONE(G, SQRT) FORMS_ONE(G, CUBE) FORMS_ONE(G, FOURTH) FORMS_ONE(G, INVERSE)
#define ALL_TWOS(G)    \
    FORMS_EVEN(G, ADD) \
    FORMS_ANY(G, SUB) FORMS_EVEN(G, MUL) FORMS_REGISTERS(G, DIV) FORMS_REGISTERS(G, MAX) FORMS_REGISTERS(G, MIN)
#define ALL_THREES(G) FORMS_THREE(G, FMA) FORMS_THREE(G, FMS) FORMS_THREE(G, FNMA)

#define PLACE1(op, r, d)       op##_##d##_##r
#define PLACE2(op, r, s, d)    op##_##d##_##r##_##s
#define PLACE3(op, r, s, t, d) op##_##d##_##r##_##s##_##t

/* ---- sums ----------------------------------------------------------------------------------- */

enum {
    NAME(per) = BYTES / sizeof(REAL),
    NAME(lane_vectors) = TN_LANES / NAME(per),
    NAME(lane_bytes) = TN_LANES * sizeof(REAL),
    NAME(folded) = NAME(lane_vectors) < WIDTH ? NAME(lane_vectors) : WIDTH /* lanes of a block: all, or one half */
};

/* A block's worth of all bits, then as much of none. */
#define ONES8  255, 255, 255, 255, 255, 255, 255, 255
#define ONES64 ONES8, ONES8, ONES8, ONES8, ONES8, ONES8, ONES8, ONES8
static const unsigned char NAME(mask)[2 * WIDTH * BYTES] = {
    ONES64,
#if WIDTH * BYTES >= 128
    ONES64,
#endif
#if WIDTH * BYTES >= 512
    ONES64, ONES64, ONES64, ONES64, ONES64, ONES64,
#endif
};

#ifndef FMA
/* ---- without an instruction ---- */

/* Element i of an operand. */
static REAL NAME(element)(VEC (*reg)[WIDTH], const tn_i_link *p, int64_t off, int from, int i) {
    const char *at = from < TN_LINK_REGISTERS ? (const char *)reg[from] : p->x;
    REAL x;
    if (from == TN_FROM_MEMORY) at += off & p->moves;
    if (from == TN_FROM_ONE) i = 0;
    memcpy(&x, at + (size_t)i * sizeof x, sizeof x);
    return x;
}

/* Registers are in memory for it, so that they need not be there for other links. */
__attribute__((noinline)) static void NAME(contract)(VEC (*reg)[WIDTH], const tn_i_link *p, int64_t off, int op, int to,
                                                     int r, int s, int t) {
    for (int i = 0; i < WIDTH * NAME(per); i++) {
        const REAL x = NAME(element)(reg, p, off, r, i), y = NAME(element)(reg, p, off, s, i),
                   z = NAME(element)(reg, p, off, t, i);
        const REAL f = CONTRACT(op == TN_LINK_FNMA ? -x : x, y, op == TN_LINK_FMS ? -z : z);
        memcpy((char *)reg[to] + (size_t)i * sizeof f, &f, sizeof f);
    }
}
#endif

/* ---- the machine ---------------------------------------------------------------------------- */

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic" /* addresses of labels */

enum { NAME(ones) = TN_LINK_ADD, NAME(twos) = TN_LINK_FMA - TN_LINK_ADD, NAME(threes) = TN_LINKS - TN_LINK_FMA };

typedef struct NAME(places) {
    const void *one[NAME(ones)][TN_LINK_REGISTERS][TN_LINK_FROMS];
    const void *two[NAME(twos)][TN_LINK_REGISTERS][TN_LINK_FROMS][TN_LINK_FROMS];
    const void *three[NAME(threes)][TN_LINK_REGISTERS][TN_LINK_FROMS][TN_LINK_FROMS][TN_LINK_FROMS];
} NAME(places);

#define TN_FROM_M         TN_FROM_MEMORY
#define TN_FROM_N         TN_FROM_ONE
#define ROW1(op, r, d)    [TN_LINK_##op][TN_FROM_##d][TN_FROM_##r] = &&PLACE1(op, r, d),
#define ROW2(op, r, s, d) [TN_LINK_##op - TN_LINK_ADD][TN_FROM_##d][TN_FROM_##r][TN_FROM_##s] = &&PLACE2(op, r, s, d),
#define ROW3(op, r, s, t, d) \
    [TN_LINK_##op - TN_LINK_FMA][TN_FROM_##d][TN_FROM_##r][TN_FROM_##s][TN_FROM_##t] = &&PLACE3(op, r, s, t, d),

/* Runs the links, or says where they are. */
__attribute__((noinline)) static int64_t NAME(machine)(const tn_i_link *first, int64_t off, int64_t bytes,
                                                       int64_t valid, const NAME(places) * *places) {
    static const NAME(places) table = {
        .one = {ALL_ONES(ROW1)[TN_LINK_END][0][0] = &&END_A, [TN_LINK_STORE][0] = {&&STORE_A, &&STORE_B, &&STORE_C},
                [TN_LINK_FOLD][0] = {&&FOLD_A, &&FOLD_B, &&FOLD_C}},
        .two = {ALL_TWOS(ROW2)},
        .three = {ALL_THREES(ROW3)}};
    const tn_i_link *p = first;
#define DECLARE(k) VEC A##k = {0}, B##k = {0}, C##k = {0};
    EACH(DECLARE)
#ifndef FMA
    VEC kept[TN_LINK_REGISTERS][WIDTH];
#endif
    if (places) {
        *places = &table;
        return 0;
    }
    if (off + WIDTH * BYTES > bytes) return off;
    goto * p->to;

#define EACH1(k, op, r, d)       d##k = DO_##op(V_##r(k));
#define EACH2(k, op, r, s, d)    d##k = DO_##op(V_##r(k), V_##s(k));
#define EACH3(k, op, r, s, t, d) d##k = DO_##op(V_##r(k), V_##s(k), V_##t(k));
#if WIDTH == 8
#define VECTORS(F, ...) \
    F(0, __VA_ARGS__)   \
    F(1, __VA_ARGS__)   \
    F(2, __VA_ARGS__) F(3, __VA_ARGS__) F(4, __VA_ARGS__) F(5, __VA_ARGS__) F(6, __VA_ARGS__) F(7, __VA_ARGS__)
#else
#define VECTORS(F, ...) F(0, __VA_ARGS__) F(1, __VA_ARGS__) F(2, __VA_ARGS__) F(3, __VA_ARGS__)
#endif
#define BODY1(op, r, d) PLACE1(op, r, d) : {GET_##r VECTORS(EACH1, op, r, d) NEXT}
#define BODY2(op, r, s, d) \
    PLACE2(op, r, s, d) : { GET_##r GET_##s VECTORS(EACH2, op, r, s, d) NEXT }
#ifdef FMA
#define BODY3(op, r, s, t, d) \
    PLACE3(op, r, s, t, d) : { GET_##r GET_##s GET_##t VECTORS(EACH3, op, r, s, t, d) NEXT }
#else
#define KEEP(k)  kept[0][k] = A##k, kept[1][k] = B##k, kept[2][k] = C##k;
#define AGAIN(k) A##k = kept[0][k], B##k = kept[1][k], C##k = kept[2][k];
#define BODY3(op, r, s, t, d)                                                                           \
    PLACE3(op, r, s, t, d) : {                                                                          \
        EACH(KEEP)                                                                                      \
        NAME(contract)(kept, p, off, TN_LINK_##op, TN_FROM_##d, TN_FROM_##r, TN_FROM_##s, TN_FROM_##t); \
        EACH(AGAIN)                                                                                     \
        NEXT                                                                                            \
    }
#endif
    ALL_ONES(BODY1)
    ALL_TWOS(BODY2)
    ALL_THREES(BODY3)

#define TO_MEMORY(k, r) AT(x, k) = r##k;
#define STORE(r)        STORE_##r : {GET_M VECTORS(TO_MEMORY, r) NEXT}
    STORE(A)
    STORE(B)
    STORE(C)

/* Adding -0 changes no number. */
#define ADD_ALL(k, r)  l[(k) % NAME(folded)] += r##k;
#define ADD_PART(k, r) l[(k) % NAME(folded)] += CHOOSE((BITS)AT(mask, k), r##k, none);
#define FOLD(r)                                                                                        \
    FOLD_##r : {                                                                                       \
        char *x = (char *)(uintptr_t)p->x + (NAME(lane_vectors) > WIDTH ? off % NAME(lane_bytes) : 0); \
        VEC l[NAME(folded)];                                                                           \
        for (int k = 0; k < NAME(folded); k++) l[k] = AT(x, k);                                        \
        if (valid - off >= WIDTH * BYTES) {                                                            \
            VECTORS(ADD_ALL, r)                                                                        \
        } else {                                                                                       \
            const char *mask = (const char *)NAME(mask) + WIDTH * BYTES - (valid - off);               \
            const VEC none = ALL((REAL)-0.0);                                                          \
            VECTORS(ADD_PART, r)                                                                       \
        }                                                                                              \
        for (int k = 0; k < NAME(folded); k++) AT(x, k) = l[k];                                        \
        NEXT                                                                                           \
    }
    FOLD(A)
    FOLD(B)
    FOLD(C)

END_A:
    off += WIDTH * BYTES;
    if (off + WIDTH * BYTES > bytes) return off;
    p = first;
    goto * p->to;
}
#pragma GCC diagnostic pop

static const void *NAME(place_of)(int op, int to, int r, int s, int t) {
    const NAME(places) * places;
    (void)NAME(machine)(NULL, 0, 0, 0, &places);
    if (op < TN_LINK_ADD) return places->one[op][to][r];
    if (op < TN_LINK_FMA) return places->two[op - TN_LINK_ADD][to][r][s];
    return places->three[op - TN_LINK_FMA][to][r][s][t];
}

static int64_t NAME(run)(const tn_i_link *first, int64_t from, int64_t bytes, int64_t valid) {
    const int64_t done = NAME(machine)(first, from, bytes, valid, NULL);
    CLEAR
    return done;
}

const tn_i_chain_set PASTE(tn_i_chain, SET) = {
    .link = NAME(place_of), .run = NAME(run), .widen = WIDEN, .narrow = CUT, .block = WIDTH * BYTES};

#undef SET
#undef REAL
#undef WHOLE
#undef FMA
#undef ROOT
#undef CONTRACT
