from os import PathLike
from pathlib import Path
from typing import Any, Callable, Iterable, Literal, NamedTuple, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

__version__: str
__all__: list[str]

_Wrt = int | Iterable[int] | None
_Axes = int | Sequence[int | None] | None
_Array = NDArray[Any]

class Error(Exception):
    status: str
    def __init__(self, message: str, status: str = "") -> None: ...

class Unsupported(Error):
    missing: dict[str, list[str]]
    def __init__(self, missing: dict[str, Iterable[str]]) -> None: ...

class Type(NamedTuple):
    dtype: str
    shape: tuple[int, ...]

class Residual(NamedTuple):
    type: str
    bytes: int
    verdict: Literal["saved", "recomputed", "offloaded", "input", "free"]
    primitive: str
    input: int
    place: str
    scope: str
    reader: str
    reader_place: str
    times: float
    rule: str

class Residuals(NamedTuple):
    entries: list[Residual]
    policy: str
    bytes: float
    offloaded_bytes: float
    recomputed_flops: float
    peak_bytes: float
    modelled_ns: float

class Profile(NamedTuple):
    policy: str
    bytes: list[int]
    backward: int
    kept: int
    peak: int

class Cost(NamedTuple):
    equations: float
    flops: float
    transcendentals: float
    products: float
    bytes: float
    peak_bytes: float
    spill_bytes: float

class Executable:
    def __call__(
        self, *args: ArrayLike, out: _Array | tuple[_Array | None, ...] | None = None
    ) -> Any: ...  # an array, or a tuple of them where there are several outputs, or none
    @property
    def backend(self) -> Literal["assembler", "strips", "native", "reference"]: ...
    @property
    def why(self) -> str: ...
    @property
    def bytes(self) -> int: ...
    @property
    def inputs(self) -> tuple[tuple[str, tuple[int, ...]], ...]: ...
    @property
    def outputs(self) -> tuple[tuple[str, tuple[int, ...]], ...]: ...

class Program:
    @property
    def inputs(self) -> tuple[Type, ...]: ...
    @property
    def outputs(self) -> tuple[Type, ...]: ...
    @property
    def linear_inputs(self) -> int: ...
    def check(self) -> Program: ...
    def jvp(self, wrt: _Wrt = None) -> Program: ...
    def linearize(self, wrt: _Wrt = None, policy: str | None = None) -> tuple[Program, Program]: ...
    def transpose(self) -> Program: ...
    def vjp(self, wrt: _Wrt = None, policy: str | None = None) -> Program: ...
    def grad(self, wrt: _Wrt = None, policy: str | None = None) -> Program: ...
    def value_and_grad(self, wrt: _Wrt = None, policy: str | None = None) -> Program: ...
    def hvp(self, wrt: _Wrt = None, policy: str | None = None) -> Program: ...
    def jacfwd(self, wrt: _Wrt = None, block: int = 0) -> Program: ...
    def jacrev(self, wrt: _Wrt = None, policy: str | None = None, block: int = 0) -> Program: ...
    def hessian(self, wrt: _Wrt = None, policy: str | None = None, block: int = 0) -> Program: ...
    def vmap(self, size: int, in_axes: _Axes = 0, out_axes: _Axes = 0) -> Program: ...
    def residuals(self, wrt: _Wrt = None, policy: str | None = None) -> Residuals: ...
    def memory_profile(self, wrt: _Wrt = None, policy: str | None = None) -> Profile: ...
    def memory(
        self, wrt: _Wrt = None, policy: str | Iterable[str | None] | None = ("min_cut", "everything_saveable"), title: str = ...
    ) -> str: ...
    def cost(self) -> Cost: ...
    def emit_c(
        self,
        path: str | PathLike[str],
        name: str | None = None,
        cblas: bool = False,
        strict_zero: bool = False,
        capacity: int = 0,
    ) -> tuple[Path, Path]: ...
    def compile(
        self,
        backend: Literal["default", "assembler", "strips", "native", "reference"] = "default",
        threads: int = 0,
        strict_zero: bool = False,
        accurate: bool = False,
        cc: str | PathLike[str] | None = None,
        cache_dir: str | PathLike[str] | None = None,
        flush_subnormals: bool = False,
    ) -> Executable: ...

class Function:
    def __call__(self, *args: Any) -> Any: ...  # of trees of arrays, a tree of arrays
    def program(self, *args: Any) -> Program: ...

def jit(f: Callable[..., Any] | Function, **options: Any) -> Function: ...
def grad(
    f: Callable[..., Any] | Function,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    policy: str | None = None,
    **options: Any,
) -> Function: ...
def value_and_grad(
    f: Callable[..., Any] | Function,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    policy: str | None = None,
    **options: Any,
) -> Function: ...
def parse(text: str, filename: str = "<text>") -> Program: ...
def from_jax(f: Any, *args: Any) -> Program: ...
def from_jaxpr(closed_jaxpr: Any) -> Program: ...
