"""Records tests/unit/derivative_table.h: first and second derivatives of every elementwise primitive, by their closed
forms in numbers of several hundred digits, rounded once.

Arguments go over the whole range of exponents, and close to where derivatives are large, small or 0.  Most are f32, so
that one row serves both dtypes.  Needs mpmath; the tests don't.  From the root:  python3 tests/unit/record_derivatives.py
"""
import math
import os
import random
import struct

from mpmath import mp, mpf

HERE = os.path.dirname(os.path.abspath(__file__))
INF, NAN = math.inf, math.nan
draw = random.Random(17)
families = []


def f32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def number(e, single=True, top=1.0):
    """A number of exponent e whose digits are all in use; of f32 where that has it."""
    m = 1 + draw.random() * top
    x = math.ldexp(m, e)
    return f32(x) if single and -126 <= e <= 126 else x


def rounded(x):
    if isinstance(x, float):
        return x
    try:
        return float(x)
    except OverflowError:
        return INF if x > 0 else -INF


def text(x):
    if math.isnan(x):
        return "NAN"
    if math.isinf(x):
        return "-INFINITY" if x < 0 else "INFINITY"
    if x == int(x) and abs(x) < 1000:
        return str(int(x)) if x or math.copysign(1, x) > 0 else "-0.0"
    head, _, tail = x.hex().partition("p")
    return (head.rstrip("0").rstrip(".") if "." in head else head) + "p" + tail.lstrip("+")


def family(name, points, derivatives, edges=(), params="", wrt=None, digits=700, nin=1):
    """derivatives(*x): the first, then the second of each pair of operands, by rows."""
    mp.dps = digits
    rows = []
    for p in points:
        p = p if isinstance(p, tuple) else (p,)
        rows.append(p + tuple(rounded(d) for d in derivatives(*map(mpf, p))))
    rows += [tuple(float(x) for x in e) for e in edges]
    families.append((name, params, nin, wrt if wrt is not None else (1 << nin) - 1, rows))


# ---- arguments ---------------------------------------------------------------------------------------

SMALL = (-1070, -1022, -700, -500, -300, -140, -120, -100, -62, -53, -40, -30, -27, -24, -20, -13, -11, -8, -5, -4, -3)
MIDDLE = (-2, -1, -1, 0, 0, 1, 1, 2)
LARGE = (3, 4, 5, 6, 7, 9, 12, 20, 26, 28, 40, 50, 60, 63, 80, 100, 126, 300, 500, 515, 700, 1000, 1023)


def signed(xs):
    return [x if i % 2 else -x for i, x in enumerate(xs)]


def of(*exponents):
    return [number(e) for e in exponents]


def evenly(lo, hi, n, single=True):
    xs = [lo + (hi - lo) * (i + draw.random()) / n for i in range(n)]
    return [f32(x) for x in xs] if single else xs


LINE = signed(of(*SMALL, *MIDDLE, *LARGE))
ABOVE = of(*SMALL, *MIDDLE, *LARGE)
CLOSE = [2.0**-k * (1 + j / 4) for k, j in ((2, 1), (3, 2), (6, 3), (10, 1), (16, 2), (21, 0), (23, 0), (30, 1), (45, 3), (52, 0))]
UNIT = signed(of(*SMALL, -2, -2, -1, -1)) + [s * (1 - d) for d in CLOSE for s in (1, -1)]

NAN1 = (NAN, NAN, NAN)
one = mpf(1)


# ---- operands of one kind ------------------------------------------------------------------------------

def sech2(x):
    e = mp.exp(-2 * abs(x))
    return 4 * e / (1 + e) ** 2


def slope(x):
    e = mp.exp(-abs(x))
    return e / (1 + e) ** 2


def bell(x, k):
    return k * mp.exp(-x * x)


EXPS = evenly(-745, 709, 24, False) + evenly(-100, 88, 16) + signed(of(*SMALL, *MIDDLE))
TAILS = signed(evenly(0, 20, 12) + evenly(17, 90, 10) + evenly(90, 380, 8, False)) + signed(of(*SMALL, *MIDDLE))
BELL = signed(evenly(0, 6, 14) + evenly(5, 10, 8) + evenly(10, 27, 12, False)) + signed(of(*SMALL, *MIDDLE, 100, 600, 1000))

family("neg", [1.5], lambda x: (-1.0, 0.0))
family("abs", signed(of(-1000, -1, 3, 1000)), lambda x: (1.0 if x > 0 else -1.0, 0.0), [NAN1[:1] + (-1, 0)])
family("square", LINE, lambda x: (2 * x, 2.0), [(0, 0, 2), (INF, INF, 2)])
family("sqrt", ABOVE, lambda x: (1 / (2 * mp.sqrt(x)), -1 / (4 * mp.sqrt(x) ** 3)), [(INF, 0, 0), (0, INF, -INF), NAN1])
family("rsqrt", ABOVE, lambda x: (-1 / (2 * mp.sqrt(x) ** 3), 3 / (4 * mp.sqrt(x) ** 5)), [(INF, 0, 0), NAN1])
family("cbrt", LINE, lambda x: (mp.cbrt(x * x) ** -1 / 3, -2 / (9 * mp.cbrt(abs(x)) ** 5) * mp.sign(x)), [(0, INF, -INF), (INF, 0, 0), NAN1])
family("exp", EXPS, lambda x: (mp.exp(x),) * 2, [(0, 1, 1), (-INF, 0, 0), (INF, INF, INF), NAN1])
family("exp2", evenly(-1074, 1023, 20, False) + evenly(-126, 127, 16) + signed(of(*SMALL, *MIDDLE)),
       lambda x: (2**x * mp.ln(2), 2**x * mp.ln(2) ** 2), [(-INF, 0, 0), (INF, INF, INF), NAN1])
family("expm1", EXPS, lambda x: (mp.exp(x),) * 2, [(0, 1, 1), (-INF, 0, 0), (INF, INF, INF), NAN1])
family("log", ABOVE + [1 - d for d in CLOSE], lambda x: (1 / x, -1 / x**2), [(INF, 0, 0), (0, INF, -INF), NAN1])
family("log1p", of(*SMALL, *MIDDLE, *LARGE) + [-x for x in of(*SMALL)] + [d - 1 for d in CLOSE],
       lambda x: (1 / (1 + x), -1 / (1 + x) ** 2), [(INF, 0, 0), (-1, INF, -INF), NAN1])
family("sin", LINE, lambda x: (mp.cos(x), -mp.sin(x)), [(0, 1, 0), (INF, NAN, NAN), NAN1])
family("cos", LINE, lambda x: (-mp.sin(x), -mp.cos(x)), [(0, 0, -1), (INF, NAN, NAN), NAN1])
family("tan", LINE, lambda x: (1 / mp.cos(x) ** 2, 2 * mp.sin(x) / mp.cos(x) ** 3), [(0, 1, 0), (INF, NAN, NAN), NAN1])
family("asin", UNIT, lambda x: (1 / mp.sqrt(1 - x * x), x / mp.sqrt(1 - x * x) ** 3), [(0, 1, 0), (1, INF, INF), (-1, INF, -INF), NAN1])
family("acos", UNIT, lambda x: (-1 / mp.sqrt(1 - x * x), -x / mp.sqrt(1 - x * x) ** 3), [(0, -1, 0), (1, -INF, -INF), (-1, -INF, INF), NAN1])
family("atan", LINE, lambda x: (1 / (1 + x * x), -2 * x / (1 + x * x) ** 2), [(0, 1, 0), NAN1])
family("sinh", EXPS, lambda x: (mp.cosh(x), mp.sinh(x)), [(0, 1, 0), (INF, INF, INF), (-INF, INF, -INF), NAN1])
family("cosh", EXPS, lambda x: (mp.sinh(x), mp.cosh(x)), [(0, 0, 1), (INF, INF, INF), (-INF, -INF, INF), NAN1])
family("tanh", TAILS, lambda x: (sech2(x), -2 * mp.tanh(x) * sech2(x)), [(0, 1, 0), (INF, 0, 0), (-INF, 0, 0), NAN1])
family("asinh", LINE, lambda x: (1 / mp.sqrt(1 + x * x), -x / mp.sqrt(1 + x * x) ** 3), [(0, 1, 0), (INF, 0, 0), NAN1])
family("acosh", [1 + d for d in CLOSE] + of(*MIDDLE[5:], *LARGE), lambda x: (1 / mp.sqrt(x * x - 1), -x / mp.sqrt(x * x - 1) ** 3), [(INF, 0, 0), NAN1])
family("atanh", UNIT, lambda x: (1 / (1 - x * x), 2 * x / (1 - x * x) ** 2), [(0, 1, 0), (1, INF, INF), (-1, INF, -INF), NAN1])
family("logistic", TAILS + signed(evenly(370, 745, 8, False)), lambda x: (slope(x), -slope(x) * mp.tanh(x / 2)),
       [(0, 0.25, 0), (INF, 0, 0), (-INF, 0, 0), NAN1])
K = lambda: 2 / mp.sqrt(mp.pi)
family("erf", BELL, lambda x: (bell(x, K()), -2 * x * bell(x, K())), [(INF, 0, 0), NAN1])
family("erfc", BELL, lambda x: (bell(x, -K()), 2 * x * bell(x, K())), [(INF, 0, 0), NAN1])


def erf_inv(x):
    y = mp.erfinv(x)
    d = mp.sqrt(mp.pi) / 2 * mp.exp(y * y)
    return d, 2 * y * d * d


family("erf_inv", UNIT, erf_inv, [NAN1], digits=80)
GAMMA = of(-1022, -700, -300, -120, -62, -30, -13, -5, -2, -1, 0, 0, 1, 1, 2, 3, 4, 6, 9, 20, 50, 100, 126, 300, 700, 1000)
BELOW = [-0.3, -1.25, -2.75, -7.125, -30.3125]
family("lgamma", GAMMA + BELOW, lambda x: (mp.psi(0, x), mp.psi(1, x)), [NAN1], digits=400)
family("digamma", GAMMA + BELOW, lambda x: (mp.psi(1, x), mp.psi(2, x)), [NAN1], digits=400)
family("polygamma", [(float(m), x) for m in (0, 1, 3) for x in GAMMA[3:-3] + [2.5, 33.0]],
       lambda m, x: (mp.psi(int(m) + 1, x), mp.psi(int(m) + 2, x)), nin=2, wrt=2, digits=400)
for y in (-7, -4, -3, -2, -1, 3, 4, 7, 13, 16):
    family("integer_pow", signed(of(-300, -140, -40, -20, -9, -5, -2, -1, 0, 1, 2, 4, 8, 20, 41, 140, 300)),
           lambda x: (y * x ** (y - 1), y * (y - 1) * x ** (y - 2)), params=f"[y={y}]")

# ---- several operands ------------------------------------------------------------------------------------


def pairs(xs, ys, n):
    return [(draw.choice(xs), draw.choice(ys)) for _ in range(n)]


PLAIN = signed(of(-500, -100, -30, -3, -1, 0, 1, 2, 30, 100, 500))
NEAR = signed(of(-3, -2, -1, 0, 1, 2, 3, 5))
none2, none3 = (0.0,) * 3, (0.0,) * 6
family("add", [(1.5, 2.5)], lambda x, y: (1.0, 1.0) + none2, nin=2)
family("sub", [(1.5, 2.5)], lambda x, y: (1.0, -1.0) + none2, nin=2)
family("mul", pairs(PLAIN, PLAIN, 6), lambda x, y: (y, x, 0.0, 1.0, 0.0), nin=2)
family("strict_mul", pairs(PLAIN, PLAIN, 6), lambda x, y: (y, x, 0.0, 1.0, 0.0), nin=2)
for name in ("div", "strict_div"):
    family(name, pairs(PLAIN, PLAIN, 24) + pairs(NEAR, NEAR, 12),
           lambda x, y: (1 / y, -x / y**2, 0.0, -1 / y**2, 2 * x / y**3), nin=2)
family("rem", [(7.5, 2.0), (-7.5, 2.0), (1e300, 3e299), (5.0, -3.0)],
       lambda x, y: (1.0, -mpf(int(x / y))) + none2, nin=2)
family("max", [(1.5, 2.5), (2.5, 1.5)], lambda x, y: (float(x > y), float(x < y)) + none2, nin=2)
family("min", [(1.5, 2.5), (2.5, 1.5)], lambda x, y: (float(x < y), float(x > y)) + none2, nin=2)


def arc(x, y):
    r = x * x + y * y
    return y / r, -x / r, -2 * x * y / r**2, (x - y) * (x + y) / r**2, 2 * x * y / r**2


BESIDE_DIAGONALS = [(1.3125, 1.3125 + 2**-20), (-3.71875, 3.71875 + 2**-19), (96.59375, -96.59375 - 2**-14)]
family("atan2", BESIDE_DIAGONALS + pairs(PLAIN, PLAIN, 16) + pairs(of(-500, -300, 100, 300, 510), of(-510, -290, 110, 310, 500), 16) + pairs(NEAR, NEAR, 24), arc, nin=2)


def power(x, y):
    p, l = x**y, mp.ln(x) if x > 0 else mpf(0)
    return y * p / x, l * p, y * (y - 1) * p / x**2, p / x * (1 + y * l), l * l * p


family("pow", [p for p in pairs([abs(x) for x in PLAIN + NEAR], NEAR + [1 / 3, -1 / 3, 1e-3, 1e-20, 0.5, -0.5, 1.5, 2.0, 3.0, 20.7], 90)
               if 1e-300 < rounded(mpf(p[0]) ** mpf(p[1])) < 1e300], power, [(INF, 0.25, 0, INF, 0, INF, INF)][:0], nin=2)


def product_sum(sign_product, sign_z):
    def derivatives(x, y, z):
        return (sign_product * y, sign_product * x, sign_z, 0.0, sign_product, 0.0, 0.0, 0.0, 0.0)

    return derivatives


for name in ("fma", "strict_fma"):
    for form, s, z in (("add", 1.0, 1.0), ("sub", 1.0, -1.0), ("rsub", -1.0, 1.0)):
        family(name, [p + (1.25,) for p in pairs(PLAIN, PLAIN, 3)], product_sum(s, z), params=f"[form={form}]", nin=3)
family("clamp", [(-1.0, 0.5, 1.0), (-1.0, 2.5, 1.0), (-1.0, -2.5, 1.0)],
       lambda a, x, b: (float(x < a), float(a < x < b), float(x > b)) + none3, nin=3)

with open(os.path.join(HERE, "derivative_table.h"), "w") as out:
    out.write("/* Recorded by record_derivatives.py: arguments, first derivatives, second derivatives. */\n/* clang-format off */\n")
    for i, (name, params, nin, wrt, rows) in enumerate(families):
        out.write(f"static const double row{i}[] = {{ /* {name}{params} */\n")
        for r in rows:
            out.write(",".join(text(x) for x in r) + ",\n")
        out.write("};\n")
    out.write("static const family families[] = {\n")
    for i, (name, params, nin, wrt, rows) in enumerate(families):
        out.write(f'{{"{name}","{params}",{nin},{wrt},sizeof row{i}/sizeof*row{i},row{i}}},\n')
    out.write("};\n/* clang-format on */\n")
