"""Inputs of calls that are no arrays of the program's type as they stand; complex ones are pairs of real numbers."""

import numpy as np


def arrange(given, type, i):
    """`given` as an aligned, contiguous array of `type`, (dtype, shape); TypeError where its shape is another or its
    dtype would be rounded.  Numbers and lists take the program's dtype."""
    dtype, shape = type
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
