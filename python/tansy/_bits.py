"""Primitives of JAX that are the bits of a float, as functions of integers: with jax.lax, so that from_jax has programs
of them."""

import numpy as np

_PARTS = {"float64": (np.int64, 11, 52), "float32": (np.int32, 8, 23)}  # an integer of its size; exponent, mantissa


def reduce_precision(x, exponent_bits, mantissa_bits):
    """As IEEE 754 has it: mantissas to nearest, ties to even, large numbers infinite, subnormal ones 0."""
    from jax import lax

    whole, exponents, mantissas = _PARTS[str(x.dtype)]
    number = lambda n: lax.full_like(x, whole(n), whole)
    bits = lax.bitcast_convert_type(x, whole)
    drop = mantissas - mantissa_bits
    if drop > 0:
        odd = lax.bitwise_and(lax.shift_right_logical(bits, number(drop)), number(1))
        up = lax.add(odd, number((1 << (drop - 1)) - 1))
        bits = lax.bitwise_and(lax.add(bits, up), number(-(1 << drop)))
    if exponent_bits < exponents:
        infinite = ((1 << exponents) - 1) << mantissas
        sign = lax.bitwise_and(bits, number(np.iinfo(whole).min))
        exponent = lax.bitwise_and(bits, number(infinite))
        bias, less = (1 << (exponents - 1)) - 1, (1 << (exponent_bits - 1)) - 1
        large = lax.gt(exponent, number((bias + less) << mantissas))
        small = lax.le(exponent, number((bias - less) << mantissas))
        bits = lax.select(large, lax.bitwise_or(sign, number(infinite)), bits)
        bits = lax.select(small, sign, bits)
    return lax.select(lax.ne(x, x), x, lax.bitcast_convert_type(bits, x.dtype))


def nextafter(x, y):
    """The float beside x towards y; of equals y."""
    from jax import lax

    whole = _PARTS[str(x.dtype)][0]
    number = lambda n: lax.full_like(x, whole(n), whole)
    bits = lax.bitcast_convert_type(x, whole)
    zero = lax.full_like(x, 0)
    outwards = lax.eq(lax.lt(x, y), lax.gt(x, zero))
    beside = lax.add(bits, lax.select(outwards, number(1), number(-1)))
    sign = lax.bitwise_and(lax.bitcast_convert_type(y, whole), number(np.iinfo(whole).min))
    beside = lax.select(lax.eq(x, zero), lax.bitwise_or(sign, number(1)), beside)
    moved = lax.select(lax.eq(x, y), y, lax.bitcast_convert_type(beside, x.dtype))
    return lax.select(lax.bitwise_or(lax.ne(x, x), lax.ne(y, y)), lax.add(x, y), moved)
