"""Inputs of calls that are no arrays of the program's type as they stand; complex ones are pairs of real numbers."""

import numpy as np

try:
    from ml_dtypes import bfloat16 as _bfloat16
except ImportError:  # NumPy has none
    _bfloat16 = None


def dtype(name):
    """NumPy's dtype of a program's; of bfloat16, which is ml_dtypes', without that its bits."""
    return np.dtype((_bfloat16 or np.uint16) if name == "bfloat16" else name)


def _rounded(x):
    """float32 as the bits of bfloat16: to nearest, ties to even."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    near = (bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))) >> np.uint32(16)
    return np.where(np.isnan(x), bits >> np.uint32(16) | np.uint32(0x40), near).astype(np.uint16)


def _halves(given, shape, i):
    """The bits of bfloat16, of an array of these or of bits, or of numbers."""
    array = np.asarray(given)
    if str(array.dtype) != "bfloat16" and array.dtype != np.uint16:
        if hasattr(given, "dtype") and not np.can_cast(array.dtype, np.uint8, "safe"):
            raise TypeError(f"input {i} is {array.dtype}, and the program's is bfloat16")
        array = _rounded(array.astype(np.float32))
    if array.shape != shape:
        raise TypeError(f"input {i} has the shape {array.shape}, and the program's is {shape}")
    return np.require(array, None, ["C_CONTIGUOUS", "ALIGNED"]).view(np.uint16)


def arrange(given, type, i):
    """`given` as an aligned, contiguous array of `type`, (dtype, shape); TypeError where its shape is another or its
    dtype would be rounded.  Numbers and lists take the program's dtype."""
    dtype, shape = type
    if dtype == "bfloat16":
        return _halves(given, shape, i)
    if isinstance(given, (np.ndarray, np.generic)):
        array = given
    elif hasattr(given, "__dlpack__") and not hasattr(given, "__array__"):
        array = np.from_dlpack(given)
    else:
        array = np.asarray(given)
    typed = isinstance(given, (np.ndarray, np.generic)) or hasattr(given, "dtype")
    if str(array.dtype) == {"float64": "complex128", "float32": "complex64"}.get(dtype) and (*array.shape, 2) == shape:
        array = np.ascontiguousarray(array)[..., None].view(dtype)
    if not np.can_cast(array.dtype, dtype, "safe" if typed else "same_kind"):
        raise TypeError(f"input {i} is {array.dtype}, and the program's is {dtype}")
    if array.shape != shape:
        raise TypeError(f"input {i} has the shape {array.shape}, and the program's is {shape}")
    return np.require(array, dtype, ["C_CONTIGUOUS", "ALIGNED"])
