"""Tansy: programs of arrays, their derivatives, and both as executables and C source.

    import tansy
    f = tansy.from_jax(loss, w, x)              # or tansy.parse(text)
    run = f.grad(wrt=0).compile()               # NumPy arrays in and out
    f.value_and_grad(wrt=0).emit_c("loss.c")    # C99 that needs no Tansy
    slope = tansy.grad(loss)(w, x)              # the same as a function of JAX's trees

Programs are values: each transformation gives a new one, and they nest in any order.  docs/ir.md has their text,
docs/jax.md what becomes of JAX's primitives."""

from ._core import Executable, version as __version__
from ._errors import Error, Unsupported
from ._functions import Function, grad, jit, value_and_grad
from ._jax import from_jax, from_jaxpr
from ._memory import Profile
from ._program import Cost, Program, Residual, Residuals, Type, parse

__all__ = [
    "Cost", "Error", "Executable", "Function", "Profile", "Program", "Residual", "Residuals", "Type", "Unsupported",
    "from_jax", "from_jaxpr", "grad", "jit", "parse", "value_and_grad",
]  # fmt: skip
