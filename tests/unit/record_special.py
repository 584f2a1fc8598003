"""Records tests/unit/special_table.h: values of special functions in several hundred digits, rounded to 21.

The incomplete gamma function is its series (DLMF 8.11.4), the incomplete beta function its own (8.17.8), in so many
digits that their complements are exact as well; derivatives are differences of these.  Needs mpmath; the tests don't.
From the root:  python3 tests/unit/record_special.py
"""
import math
import os
import random

import mpmath as m
from mpmath import mp, mpf

HERE = os.path.dirname(os.path.abspath(__file__))
draw = random.Random(22)
mp.dps = 400
H = mpf(10) ** -60


def p(a, x):
    term = sum = mpf(1)
    n = 1
    while term > sum * mpf(10) ** -(mp.dps - 5) or n < x - a:
        term *= x / (a + n)
        sum += term
        n += 1
    return m.exp(a * m.log(x) - x - m.loggamma(a + 1)) * sum


def derivative(a, x, n):
    """By differences, of error H^4."""
    y = [p(a + k * H, x) for k in range(-3, 4)]
    first = ((y[4] - y[2]) * 45 - (y[5] - y[1]) * 9 + (y[6] - y[0])) / (60 * H)
    second = ((y[4] + y[2]) * 270 - (y[5] + y[1]) * 27 + (y[6] + y[0]) * 2 - 490 * y[3]) / (180 * H * H)
    return second if n == 2 else first


def density(a, x):
    return m.exp((a - 1) * m.log(x) - x - m.loggamma(a))


def beta(a, b, x):
    def below(a, b, x, y):
        term = sum = mpf(1)
        n = 0
        while term > sum * mpf(10) ** -(mp.dps - 5) or (a + b + n) * x >= a + 1 + n:
            term *= (a + b + n) / (a + 1 + n) * x
            sum += term
            n += 1
            if n > 60000:
                return None
        return m.exp(a * m.log(x) + b * m.log(y) + m.loggamma(a + b) - m.loggamma(a + 1) - m.loggamma(b)) * sum

    if x < (a + 1) / (a + b + 2):
        return below(a, b, x, 1 - x)
    rest = below(b, a, 1 - x, x)
    return None if rest is None else 1 - rest


def gammas(n, low, high):
    """Around the mean, and anywhere."""
    for i in range(n):
        a = 10 ** draw.uniform(low, high)
        near = a * math.exp(draw.gauss(0, 1) * min(3, 3 / math.sqrt(a)))
        yield a, near if i % 3 else 10 ** draw.uniform(-4, 2.8)


def betas(n):
    for i in range(n):
        a, b = (10 ** draw.uniform(-4, 4) for _ in "ab")
        mean = a / (a + b)
        near = mean + draw.gauss(0, 2) * math.sqrt(mean * (1 - mean) / (a + b + 1))
        yield a, b, min(max(near, 1e-9), 1 - 1e-9) if i % 3 else draw.random() ** 3


tables = {}


def note(name, at, value):
    if value is not None and mpf(10) ** -290 < abs(value) < mpf(10) ** 290:
        tables.setdefault(name, []).append((*at, value))


for a, x in [*gammas(90, -4, 5), (20000.5, 20000.5), (0.5, 0.0003), (3.0, 3.0), (1e5, 99000.0)]:
    lower = p(mpf(a), mpf(x))
    note("igamma", (a, x), lower)
    if 1 - lower > 1e-5 or x > 1:
        note("igammac", (a, x), 1 - lower)
for a, x in [*gammas(40, -3, 3.5), *gammas(8, 4, 5), (20000.5, 20000.5)]:
    first = derivative(mpf(a), mpf(x), 1)
    note("igamma_grad_a", (a, x), first)
    note("random_gamma_grad", (a, x), -first / density(mpf(a), mpf(x)))
    if a < 1000:
        note("igamma_grad_aa", (a, x), derivative(mpf(a), mpf(x), 2))
for a, b, x in betas(90):
    note("betainc", (a, b, x), beta(mpf(a), mpf(b), mpf(x)))
for x in [10 ** draw.uniform(-8, 6) for _ in range(30)] + [21.999, 22.0, 22.001, 700.0, 1e10]:
    mp.dps = 60
    note("bessel_i0e", (x,), m.besseli(0, mpf(x)) * m.exp(-mpf(x)))
    note("bessel_i1e", (-x,), -m.besseli(1, mpf(x)) * m.exp(-mpf(x)))
mp.dps = 400
for s, q in [(1 + 10 ** draw.uniform(-6, 2.4), 10 ** draw.uniform(-3, 4)) for _ in range(30)] + [(2.0, 1.0), (1.5, 1e8)]:
    note("zeta", (s, q), m.zeta(mpf(s), mpf(q)))

with open(os.path.join(HERE, "special_table.h"), "w") as out:
    out.write("/* Recorded by record_special.py: arguments, and the value to 21 digits. */\n/* clang-format off */\n")
    for name, rows in tables.items():
        n = len(rows[0]) - 1
        out.write(f"static const struct {{ double x[{n}]; long double value; }} {name}_rows[] = {{\n")
        for *at, value in rows:
            out.write("    {{" + ", ".join(map(repr, at)) + f"}}, {mp.nstr(value, 21)}L}},\n")
        out.write("};\n")
    out.write("/* clang-format on */\n")
