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


def half(x, exponent_bits, mantissa_bits):
    """A float32 as one of 16 bits: as reduce_precision, but that subnormal numbers of these are kept."""
    from jax import lax

    rounded = reduce_precision(x, exponent_bits, mantissa_bits)
    if exponent_bits == 8:
        return rounded
    # Below 2**-14 they are multiples of 2**-24, which those of float32 from 0.5 to 1 are.
    number = lambda n: lax.full_like(x, n)
    few = lax.sub(lax.add(x, number(0.75)), number(0.75))
    few = lax.select(lax.eq(few, number(0)), lax.mul(x, number(0)), few)
    return lax.select(lax.lt(lax.abs(x), number(2**-14)), few, rounded)


def half_of_bits(bits, exponent_bits):
    """The float32 that is the float with these 16 bits, a uint32."""
    from jax import lax

    number = lambda n: lax.full_like(bits, n)
    if exponent_bits == 8:
        return lax.bitcast_convert_type(lax.shift_left(bits, number(16)), np.float32)
    sign = lax.shift_left(lax.bitwise_and(bits, number(0x8000)), number(16))
    size = lax.shift_left(lax.bitwise_and(bits, number(0x7FFF)), number(13))
    x = lax.bitcast_convert_type(size, np.float32)
    x = lax.mul(x, lax.full_like(x, 2.0**112))  # the exponents' biases are 127 and 15
    ends = lax.bitcast_convert_type(lax.bitwise_or(size, number(0x7F800000)), np.float32)
    x = lax.select(lax.ge(size, number(0x7C00 << 13)), ends, x)
    return lax.bitcast_convert_type(lax.bitwise_or(lax.bitcast_convert_type(x, np.uint32), sign), np.float32)


def bits_of_half(x, exponent_bits):
    """The 16 bits, as a uint32, of a float32 that is one of 16."""
    from jax import lax

    whole = lax.bitcast_convert_type(x, np.uint32)
    number = lambda n: lax.full_like(whole, n)
    if exponent_bits == 8:
        return lax.shift_right_logical(whole, number(16))
    sign = lax.shift_right_logical(lax.bitwise_and(whole, number(1 << 31)), number(16))
    small = lax.mul(lax.abs(x), lax.full_like(x, 2.0**-112))
    size = lax.shift_right_logical(lax.bitcast_convert_type(small, np.uint32), number(13))
    ends = lax.select(lax.ne(x, x), number(0x7E00), number(0x7C00))
    finite = lax.lt(lax.abs(x), lax.full_like(x, np.inf))
    return lax.bitwise_or(lax.select(finite, size, ends), sign)


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
