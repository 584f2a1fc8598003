/* The modified Bessel functions e^-|x| I0(x) and e^-|x| I1(x) of vectors: included by special_set.h.
 *
 * With y = |x| < 8 quotients of polynomials in y, of I1 over y, in which no coefficient is negative; from there on
 * sqrt(16/y) times a polynomial in 16/y - 1, as Hankel's expansion (DLMF 10.40.1) would have it, where 16/y is no
 * subnormal number whatever y is.  All interpolate at Chebyshev's points: relative errors 4e-17, and 2e-9 of the short
 * ones, which are for f32. */
static const double i0e_p[] = {0x1.0000000000000p+0,  0x1.626dc740789e0p-4,  0x1.dda5c7f5ae2cfp-3,
                               0x1.42f05991d7a3ep-6,  0x1.7ad554b339ec2p-7,  0x1.d4c6d46ae2393p-11,
                               0x1.ab92f0dda45cep-13, 0x1.b3bd355b72a16p-17, 0x1.7be91167d0ea0p-20,
                               0x1.0398224ad1152p-24, 0x1.9f8001782f334p-29, 0x1.0a608e24d708dp-35};
static const double i0e_q[] = {
    0x1.0000000000000p+0,  0x1.1626dc74078b1p+0,  0x1.23b72ae57a669p-1,  0x1.87a6e16555fe9p-3,  0x1.7816535ffd97cp-5,
    0x1.11189b21e7656p-7,  0x1.34b5ea87e5eadp-10, 0x1.12b4512ca140bp-13, 0x1.7f033951e5c36p-17, 0x1.97ac0c47fe51dp-21,
    0x1.35a598c58b6f5p-25, 0x1.18d634a5e3f5bp-30, 0x1.4d92ff31d52a5p-39};
static const double i0e_far[] = {
    0x1.9bd428ad249a5p-4,   0x1.b87969bb93a48p-11, 0x1.1daa72b5e2366p-15,  0x1.75e5ee7822f78p-19,
    0x1.8e513accc76a3p-22,  0x1.3f49933733f90p-24, 0x1.7d0e5f25bc841p-26,  0x1.51d5f84cd03f6p-27,
    0x1.7257db9ed6674p-28,  0x1.02cf9254e7670p-29, -0x1.d3b411548af05p-30, -0x1.c9aa2ffce2ca1p-29,
    -0x1.62c3f99ada19fp-30, 0x1.f7410b7f70fd0p-30, 0x1.d29741886cb2dp-30,  -0x1.ac9afa081a33ep-31,
    -0x1.4d2b550bd6e76p-30, 0x1.2c4a86bc0bfefp-32, 0x1.499ae7b4d59c2p-31,  -0x1.2e287745e1a2ep-34,
    -0x1.9ae1031554e04p-33, 0x1.36172c123f453p-37, 0x1.de985e80c26e1p-36};
static const double i1e_p[] = {0x1.0000000000000p-1,  0x1.19311aa51fa84p-5,  0x1.b7224770bd934p-5,
                               0x1.cf9445524ccdcp-9,  0x1.9c26be5135ab5p-10, 0x1.87f74cb5b3e80p-14,
                               0x1.24fe0fdbec567p-16, 0x1.c0d102e0fef81p-21, 0x1.3e526aa8827d6p-24,
                               0x1.334bca9ab5c27p-29, 0x1.5f8d80c733a84p-34, 0x1.66d364bce0b55p-42};
static const double i1e_q[] = {
    0x1.0000000000000p+0,  0x1.119311aa51fa9p+0,  0x1.1a0a6c42bba50p-1,  0x1.741c50373cd08p-3,  0x1.5f281706fbe17p-5,
    0x1.f5862b8a48b0ep-8,  0x1.174210d1714e5p-10, 0x1.eb7eef748fd09p-14, 0x1.5589a3f28ed78p-17, 0x1.7084ce6c1bf4ap-21,
    0x1.27c30d3f0f263p-25, 0x1.3fe870e84b2adp-30, 0x1.5a4b4b50fab8ep-36};
static const double i1e_far[] = {
    0x1.8ebe783a84030p-4,   -0x1.3f796198ee5e3p-9,  -0x1.cbc54df1e8a30p-15, -0x1.f89c230c1c6c7p-19,
    -0x1.ec8e10cda9622p-22, -0x1.76136c8d9dbb3p-24, -0x1.ad8c9576be72ap-26, -0x1.7280f7124367dp-27,
    -0x1.91b62a0449ae7p-28, -0x1.20dfa102cdc55p-29, 0x1.d2f43270388f8p-30,  0x1.df68969b0012bp-29,
    0x1.89426861550d7p-30,  -0x1.fec28b5e30e16p-30, -0x1.f053fd33757dcp-30, 0x1.a62d3a5241febp-31,
    0x1.5e0ee1eae723fp-30,  -0x1.1ff732137576bp-32, -0x1.5873a50ddf275p-31, 0x1.1be99bbf474cep-34,
    0x1.ac4bf6a87bc29p-33,  -0x1.1f6f8a3689d3bp-37, -0x1.f23ff1f27dca9p-36};
static const double i0e_pf[] = {0x1.00000008cc995p+0,  0x1.98b773b36c475p-4, 0x1.d0f08a6167ec4p-3,
                                0x1.5e6ff87642bf2p-6,  0x1.4b122b621c529p-7, 0x1.7e6b5cedbe754p-11,
                                0x1.108b9ece98a49p-13, 0x1.b329ba1e973a6p-19};
static const double i0e_qf[] = {0x1.0000000000000p+0,  0x1.198b7978839f8p+0,  0x1.2752e1ab1126cp-1,
                                0x1.852df7760983bp-3,  0x1.6407849929830p-5,  0x1.d6c37917535cdp-8,
                                0x1.b0e38aa59e9c3p-11, 0x1.2c36eeee182b4p-14, 0x1.9494886c507ffp-22};
static const double i0e_farf[] = {0x1.9bd428ad249a5p-4,  0x1.b8796bd2e8153p-11, 0x1.1daa985443708p-15,
                                  0x1.75cb37f31d60bp-19, 0x1.8d544aec3b623p-22, 0x1.49c5ed2f4c189p-24,
                                  0x1.b7129c83cf544p-26, 0x1.10994e1ed13bap-27, 0x1.b9a6ad71afdc1p-31};
static const double i1e_pf[] = {0x1.00000000c50bcp-1,  0x1.7559283a875b8p-5,  0x1.97ef40c9dcce1p-5,
                                0x1.0e67a7a862574p-8,  0x1.321db7f84f4c2p-10, 0x1.290022c4c7b72p-14,
                                0x1.ad3aeb4e86594p-18, 0x1.adc82abcfd13dp-25};
static const double i1e_qf[] = {0x1.0000000000000p+0,  0x1.175592b5ad3aap+0,  0x1.21a9090c1693ap-1,
                                0x1.78346c04c4ccep-3,  0x1.52745159c98f2p-5,  0x1.b66f6d01740e7p-8,
                                0x1.96448da1f5fd4p-11, 0x1.0086d8144252ep-14, 0x1.2d5c6f073b77fp-19};
static const double i1e_farf[] = {0x1.8ebe783a84030p-4,   -0x1.3f79622136f8cp-9,  -0x1.cbc575bdc3d3fp-15,
                                  -0x1.f8810510370c3p-19, -0x1.eb82d24626b7bp-22, -0x1.809bfdfe04a7bp-24,
                                  -0x1.eaa3161ebf831p-26, -0x1.346b2279a1ce2p-27, -0x1.23284b6239293p-30};

#define BESSEL(name, order, p, q, far)                                                                      \
    static f64xn name(f64xn x) {                                                                            \
        const i64xn sign = (i64xn)x & (i64xn)(-(f64xn){0});                                                 \
        const f64xn y = (f64xn)((i64xn)x ^ sign);                                                           \
        const i64xn large = (i64xn)(y >= 8.0);                                                              \
        const f64xn above = choose(large, (f64xn){0} + 16.0, SERIES(series_f64, y, p));                     \
        const f64xn quotient = above / choose(large, y, SERIES(series_f64, y, q));                          \
        f64xn out = order ? y * quotient : quotient;                                                        \
        if (ANY(large)) out = choose(large, SQRT(quotient) * SERIES(series_f64, quotient - 1.0, far), out); \
        return order ? (f64xn)((i64xn)out | sign) : out;                                                    \
    }

BESSEL(bessel_i0e_any, 0, i0e_p, i0e_q, i0e_far)
BESSEL(bessel_i1e_any, 1, i1e_p, i1e_q, i1e_far)
BESSEL(bessel_i0e_short, 0, i0e_pf, i0e_qf, i0e_farf)
BESSEL(bessel_i1e_short, 1, i1e_pf, i1e_qf, i1e_farf)
