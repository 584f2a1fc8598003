"""Programs: a thin coat over tansy._core."""

import operator
import re
from pathlib import Path
from typing import NamedTuple

from . import _core, _memory
from ._errors import Error

_DERIVATIVES = ("jvp", "transpose", "vjp", "grad", "value_and_grad", "hvp", "jacfwd", "jacrev", "hessian")
_BACKENDS = ("default", "reference", "native", "assembler", "strips")
_SHORT = {"bool": "bool", "float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16"}
_SHORT |= {f"{kind}int{bits}": f"{kind or 'i'}{bits}" for kind in ("", "u") for bits in (8, 16, 32, 64)}


class Type(NamedTuple):
    """The type of an array: NumPy's name of its dtype, and its shape."""

    dtype: str
    shape: tuple

    def __str__(self):
        return f"{_SHORT[self.dtype]}[{','.join(map(str, self.shape))}]"


class Residual(NamedTuple):
    """A value that a derivative's linear program reads (tn_residual in tansy.h)."""

    type: str
    bytes: int
    verdict: str  # "saved", "recomputed", "offloaded", "input", "free"
    primitive: str
    input: int
    place: str
    scope: str
    reader: str
    reader_place: str
    times: float
    rule: str


class Residuals(NamedTuple):
    """What a derivative keeps under a policy: its entries, and totals (tn_residual_totals)."""

    entries: list
    policy: str
    bytes: float
    offloaded_bytes: float
    recomputed_flops: float
    peak_bytes: float
    modelled_ns: float

    def __str__(self):
        rows = [f"{r.verdict:<10} {r.bytes:>10} {r.type:<16} {r.primitive:<20} {r.place}" for r in self.entries]
        return "\n".join([*rows, f"{self.bytes:.0f} bytes saved, peak {self.peak_bytes:.0f}, policy {self.policy}"])


class Cost(NamedTuple):
    """The static cost of one run (tn_cost_report)."""

    equations: float
    flops: float
    transcendentals: float
    products: float
    bytes: float
    peak_bytes: float
    spill_bytes: float


def _numbers(x):
    return None if x is None else tuple(operator.index(i) for i in (x if hasattr(x, "__iter__") else (x,)))


def _axes(x, n):
    if x is None:
        return None
    if not hasattr(x, "__iter__"):
        return (operator.index(x),) * n
    return tuple(None if i is None else operator.index(i) for i in x)


class _Places:
    """From the lines of a text that was made of a JAX program to the lines of the user's Python."""

    def __init__(self, filename, lines):
        self.filename, self.lines = filename, lines
        self.pattern = re.compile(re.escape(filename) + r":(\d+)(?::\d+)?")

    def at(self, line):
        place = self.lines[line - 1] if 0 < line <= len(self.lines) else ""
        return place or f"{self.filename}:{line}"

    def put(self, text):
        return self.pattern.sub(lambda m: self.at(int(m.group(1))), text)


def _parse(text, filename, lines=(), callbacks=()):
    places = _Places(filename, lines)
    try:
        return Program(_core.parse(text, filename, callbacks), places)
    except Error as e:
        raise Error(places.put(str(e)), e.status) from None


def parse(text, filename="<text>"):
    """The program of a text (docs/ir.md); its messages speak of `filename`:line:column.  tansy.Error where it is
    malformed, badly typed, or claims to be linear and is not."""
    return _parse(text, filename)


class Program:
    """An immutable, typed list of equations.  str(program) is its text.

    `wrt` is the number of an input, or some of them; None stands for all float inputs.  `policy` is the name of what a
    derivative keeps and what it computes again ("everything_saveable", "save_only_these_names:a,b",
    "memory_budget:1000000" ..); None is min_cut.  Each method raises tansy.Error with the place in the program.
    Programs may be used from many threads; those that came of one text wait for each other while they are
    transformed or compiled."""

    __slots__ = ("_fn", "_places", "__weakref__")

    def __init__(self, fn, places):
        self._fn, self._places = fn, places

    def _do(self, method, *args):
        try:
            return getattr(self._fn, method)(*args)
        except Error as e:
            raise Error(self._places.put(str(e)), e.status) from None

    def _derive(self, what, wrt=None, policy=None, block=0):
        return Program(self._do("derive", _DERIVATIVES.index(what), _numbers(wrt), policy, block), self._places)

    def __str__(self):
        return self._do("text")

    def __repr__(self):
        types = lambda all: ", ".join(map(str, all))
        return f"<tansy.Program ({types(self.inputs)}) -> ({types(self.outputs)})>"

    @property
    def inputs(self):
        """The types of the inputs, linear ones last."""
        return tuple(Type(*t) for t in self._fn.types(False))

    @property
    def outputs(self):
        """The types of the outputs."""
        return tuple(Type(*t) for t in self._fn.types(True))

    @property
    def linear_inputs(self):
        """How many of the inputs, the last ones, are linear."""
        return self._fn.linear_inputs()

    def check(self):
        """Verifies scoping, types and linearity; raises tansy.Error, or returns the program."""
        self._do("check")
        return self

    def jvp(self, wrt=None):
        """(x.., dx of wrt..) -> (y.., dy of the float outputs..)."""
        return self._derive("jvp", wrt)

    def linearize(self, wrt=None, policy=None):
        """Two programs: x.. -> (y.., residuals..), and (residuals.. | dx of wrt..) -> dy.. ."""
        return tuple(Program(f, self._places) for f in self._do("linearize", _numbers(wrt), policy))

    def transpose(self):
        """Of a linear program: (residuals.. | ct of the outputs..) -> ct of the linear inputs.. ."""
        return self._derive("transpose")

    def vjp(self, wrt=None, policy=None):
        """(x.., ct of the float outputs..) -> (y.., ct of wrt..)."""
        return self._derive("vjp", wrt, policy)

    def grad(self, wrt=None, policy=None):
        """x.. -> gradient in each of wrt; the program has one output, a float scalar."""
        return self._derive("grad", wrt, policy)

    def value_and_grad(self, wrt=None, policy=None):
        """x.. -> (y, aux.., gradients of y..) of x.. -> (y, aux..)."""
        return self._derive("value_and_grad", wrt, policy)

    def hvp(self, wrt=None, policy=None):
        """(x.., v of wrt..) -> H v for each of wrt: forward over reverse."""
        return self._derive("hvp", wrt, policy)

    def jacfwd(self, wrt=None, block=0):
        """x.. -> dy/dx for each float output and each of wrt, y.shape + x.shape, by columns; `block` of them at once."""
        return self._derive("jacfwd", wrt, None, block)

    def jacrev(self, wrt=None, policy=None, block=0):
        """As jacfwd, by rows."""
        return self._derive("jacrev", wrt, policy, block)

    def hessian(self, wrt=None, policy=None, block=0):
        """x.. -> for each pair of wrt the second derivatives, x_i.shape + x_j.shape."""
        return self._derive("hessian", wrt, policy, block)

    def vmap(self, size, in_axes=0, out_axes=0):
        """The program over a new axis of `size`: in_axes and out_axes are its place in each input and output, one
        number for all of them or one each; None for an input that is the same everywhere."""
        axes = _axes(in_axes, len(self.inputs)), _axes(out_axes, len(self.outputs))
        return Program(self._do("vmap", operator.index(size), *axes), self._places)

    def residuals(self, wrt=None, policy=None):
        """What the derivative keeps, computes again and reads, before anything runs."""
        rows, totals = self._do("residuals", _numbers(wrt), policy)
        at = self._places.at
        entries = [
            Residual(*r[:5], at(r[6]) if r[6] else "", r[7], r[8], at(r[9]) if r[9] else "", *r[10:]) for r in rows
        ]
        return Residuals(entries, *totals)

    def memory_profile(self, wrt=None, policy=None):
        """What is alive in the arena of vjp(wrt, policy) at each of its steps (Profile), before anything runs."""
        return _memory.Profile(policy or "min_cut", *self._do("memory", _numbers(wrt), policy))

    def memory(self, wrt=None, policy=("min_cut", "everything_saveable"), title="Live bytes of a program and its derivative"):
        """memory_profile under a policy, or under each of several, drawn: the text of an SVG."""
        policies = (policy,) if policy is None or isinstance(policy, str) else policy
        return _memory.draw([self.memory_profile(wrt, p) for p in policies], title)

    def cost(self):
        """The static cost of one run."""
        return Cost(*self._do("cost"))

    def emit_c(self, path, name=None, cblas=False, strict_zero=False, capacity=0):
        """Writes a C99 function that needs no Tansy (docs/emit-c.md) to `path`, "dir/loss.c", and its header beside
        it, "dir/loss.h"; the function is called as the file is, or `name`.  Returns both paths."""
        path = Path(path)
        name = path.stem if name is None else name
        header = path.with_suffix(".h")
        source, declared = self._do("emit_c", name, header.name, cblas, strict_zero, capacity)
        path.write_text(self._places.put(source))
        header.write_text(declared)
        return path, header

    def compile(self, backend="default", threads=0, strict_zero=False, accurate=False, cc=None, cache_dir=None,
                flush_subnormals=False):
        """An executable for NumPy arrays.  `backend` is "default" ("assembler" where it can be had, else "strips"),
        "assembler" (machine code in memory; Error where it cannot be had), "strips" (portable), "native" (C that the
        compiler `cc` makes; the default where there is none, see Executable.why) or "reference"; `threads` 0 is one.
        `flush_subnormals`: calls take numbers below the smallest normal one for 0, as XLA does."""
        if backend not in _BACKENDS:
            raise ValueError(f"there is no backend {backend!r}: {', '.join(_BACKENDS)}")
        paths = [None if p is None else str(p) for p in (cc, cache_dir)]
        return self._do("compile", _BACKENDS.index(backend), threads, int(accurate), strict_zero, *paths,
                        flush_subnormals)
